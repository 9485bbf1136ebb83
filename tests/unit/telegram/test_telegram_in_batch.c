/*
 * Aim: whole getUpdates answers, sound and broken: one unreadable update costs itself alone and
 *      keeps its number; an answer that is none costs nothing. And entity ranges: UTF-16 to bytes.
 *      Method: bodies by hand, tables.
 */
#include "sma/reasons.h"
#include "telegram_in_support.h"

#include "adapters/telegram/telegram_in_priv.h"

#define EVENT_COUNT_MAX 2048

static struct
{
    size_t count;
    struct
    {
        int64_t update_id;
        bool is_ingress;
        char why[64], text[64], key[32];
    } events[EVENT_COUNT_MAX];
} list;

static void copy(char *field, size_t size, struct sma_str text)
{
    size_t len = text.len < size ? text.len : size - 1;
    memcpy(field, len == 0 ? "" : text.ptr, len);
    field[len] = '\0';
}

static void add(void *user, const struct telegram_event *event)
{
    CHECK(user == &list);
    CHECK(list.count < EVENT_COUNT_MAX);
    size_t at = list.count++;
    list.events[at].update_id = event->update_id;
    list.events[at].is_ingress = event->kind == TELEGRAM_INGRESS;
    copy(list.events[at].why, sizeof list.events[at].why, sma_str(event->why));
    copy(list.events[at].text, sizeof list.events[at].text, event->ingress.text);
    copy(list.events[at].key, sizeof list.events[at].key, event->ingress.event_key);
}

static enum sma_err parse(struct sma_str body, struct sma_error *error)
{
    /* An exact copy: reading past the end is seen by the sanitizer. */
    char *copy_of_body = malloc(body.len == 0 ? 1 : body.len);
    CHECK(copy_of_body != NULL);
    memcpy(copy_of_body, body.len == 0 ? "" : body.ptr, body.len);
    list.count = 0;
    enum sma_err err = telegram_updates_parse(
        &test_options, (struct sma_str){copy_of_body, body.len}, add, &list, error);
    free(copy_of_body);
    return err;
}

static void parse_ok(const char *body)
{
    struct sma_error error = {0};
    enum sma_err err = parse(sma_str(body), &error);
    if (err != SMA_ERR_OK)
        fprintf(stderr, "%s: %s\n", body, error.text);
    CHECK_OK(err);
}

#define MESSAGE(id, text)                                     \
    "{\"update_id\":" #id ",\"message\":{\"message_id\":" #id \
    ",\"date\":1750000000,\"chat\":{\"id\":7,"                \
    "\"type\":\"private\"},\"text\":\"" text "\"}}"

static void a_sound_answer_gives_its_updates_in_order(void)
{
    parse_ok("{\"ok\":true,\"result\":[]}");
    CHECK_INT(0, list.count);
    parse_ok(" { \"result\" : [ " MESSAGE(3, "a") " ,\n" MESSAGE(
        9, "b") "\t] , \"description\":\"[{\\\"]\", \"ok\" : true } \r\n");
    CHECK_INT(2, list.count);
    CHECK_INT(3, list.events[0].update_id);
    CHECK_TEXT("a", list.events[0].text);
    CHECK_INT(9, list.events[1].update_id);
    CHECK_TEXT("9", list.events[1].key);
    parse_ok("{\"ok\":false,\"ok\":true,\"result\":[" MESSAGE(3, "a") "],\"result\":[" MESSAGE(
        4, "b") "]}");
    CHECK_INT(1, list.count);
    CHECK_INT(4, list.events[0].update_id); /* the last of equal members, as in the updates */
}

static void what_is_no_answer_gives_nothing(void)
{
    static const char *const bodies[] = {
        "",
        " ",
        "null",
        "[]",
        "true",
        "<html><body>502 Bad Gateway</body></html>",
        "{}",
        "{\"ok\":true}",
        "{\"ok\":true,\"result\":true}",
        "{\"ok\":true,\"result\":{}}",
        "{\"ok\":true,\"result\":null}",
        "{\"ok\":\"true\",\"result\":[]}",
        "{\"ok\":1,\"result\":[]}",
        "{\"ok\":false,\"error_code\":409,\"description\":\"Conflict\"}",
        "{\"ok\":true,\"result\":[" MESSAGE(3, "a"),
        "{\"ok\":true,\"result\":[" MESSAGE(3, "a") "]",
        "{\"ok\":true,\"result\":[" MESSAGE(3, "a") "]} x",
        "{\"ok\":true,\"result\":[" MESSAGE(3, "a") ",]}",
        "{\"ok\":true,\"result\":[" MESSAGE(3, "a") " " MESSAGE(4, "b") "]}",
        "{\"ok\":true,,\"result\":[]}",
        "{\"ok\" true,\"result\":[]}",
        "{\"ok\":,\"result\":[]}",
        "{ok:true,\"result\":[]}",
        "{\"ok\":true,\"result\":[\"",
        "{\"ok\":true,\"result\":[\"\\",
        "{\"ok\":true,\"result\":[],\"result\":7}",
        "\xef\xbb\xbf{\"ok\":true,\"result\":[]",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(bodies); i++) {
        struct sma_error error = {0};
        enum sma_err err = parse(sma_str(bodies[i]), &error);
        if (err != SMA_ERR_BADINPUT || list.count != 0)
            fprintf(stderr, "%s gave %s and %zu events\n", bodies[i], sma_err_name(err),
                    list.count);
        CHECK(err == SMA_ERR_BADINPUT && list.count == 0 && error.text[0] != '\0');
    }
}

/* Cut at every byte: never a crash, never half a list. */
static void an_answer_cut_anywhere_gives_nothing(void)
{
    static const char body[] =
        "{\"ok\":true,\"result\":[" MESSAGE(3, "a\\u00e9\\\"") "," MESSAGE(4, "😀") "]}";
    struct sma_error error;
    for (size_t len = 0; len < sizeof body - 1; len++) {
        CHECK_ERR(SMA_ERR_BADINPUT, parse((struct sma_str){body, len}, &error));
        CHECK_INT(0, list.count);
    }
    CHECK_OK(parse((struct sma_str){body, sizeof body - 1}, &error));
    CHECK_INT(2, list.count);
}

static void a_broken_update_costs_itself_alone(void)
{
    static const struct
    {
        const char *update;
        int64_t update_id;
        const char *why;
    } rows[] = {
        {"7", 0, "not a JSON object"},
        {"null", 0, "not a JSON object"},
        {"\"text\"", 0, "not a JSON object"},
        {"[]", 0, "not a JSON object"},
        {"{}", 0, SMA_WHY_UNSUPPORTED "a kind of update that is not handled"},
        {"{\"update_id\":5}", 5, SMA_WHY_UNSUPPORTED "a kind of update that is not handled"},
        {"{\"update_id\":\"5\"}", 0, SMA_WHY_UNSUPPORTED "a kind of update that is not handled"},
        {"{\"update_id\":5.0}", 0, SMA_WHY_UNSUPPORTED "a kind of update that is not handled"},
        {"{\"update_id\":-5}", 0, SMA_WHY_UNSUPPORTED "a kind of update that is not handled"},
        {"{\"update_id\":9007199254740992}", 0,
         SMA_WHY_UNSUPPORTED "a kind of update that is not handled"},
        {"{\"update_id\":9007199254740991}", 9007199254740991,
         SMA_WHY_UNSUPPORTED "a kind of update that is not handled"},
        {"{\"update_id\":5,\"update_id\":6}", 6,
         SMA_WHY_UNSUPPORTED "a kind of update that is not handled"},
        {"{\"update_id\":5,\"message\":{]}", 5, "not a JSON object"},
        {"{\"message\":{\"x\":nope},\"update_id\":5}", 5, "not a JSON object"},
        {"{\"message\":{\"x\":99999999999999999999},\"update_id\":5}", 5, "not a JSON object"},
        {"{\"message\":{\"x\":1e999},\"update_id\": 5 }", 5, "not a JSON object"},
        {"{\"a\\u0000b\":1,\"update_id\":5}", 5,
         SMA_WHY_UNSUPPORTED "a kind of update that is not handled"},
        {"{\"update_id\":5,\"update_id\":\"x\",\"message\":nope}", 5, "not a JSON object"},
        {"{\"update_id\":5,\"message\":[],\"callback_query\":\"\"}", 5,
         SMA_WHY_UNSUPPORTED "a kind of update that is not handled"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char body[1024];
        snprintf(body, sizeof body, "{\"ok\":true,\"result\":[%s,%s,%s]}", MESSAGE(3, "a"),
                 rows[i].update, MESSAGE(8, "b"));
        parse_ok(body);
        CHECK_INT(3, list.count);
        CHECK(list.events[0].is_ingress && list.events[2].is_ingress && !list.events[1].is_ingress);
        CHECK_INT(rows[i].update_id, list.events[1].update_id);
        CHECK_TEXT(rows[i].why, list.events[1].why);
        CHECK_TEXT("b", list.events[2].text);
    }
}

static void broken_text_is_repaired(void)
{
    static const struct
    {
        const char *text, *wanted;
    } rows[] = {
        {"a\xff\xfe"
         "b",
         "a\xef\xbf\xbd\xef\xbf\xbd"
         "b"},
        {"\xe4\xbd", "\xef\xbf\xbd"},
        {"\\ud83d", "\xef\xbf\xbd"},
        {"\\ude00x", "\xef\xbf\xbdx"},
        {"\\ud83d\\ud83d\\ude00", "\xef\xbf\xbd😀"},
        {"\\ud83d\\n", "\xef\xbf\xbd\n"},
        {"a\\u0000b", "a\xef\xbf\xbd"
                      "b"},
        {"a\x01\tb", "a  b"},
        {"\xff\\\\ud83d\\\"", "\xef\xbf\xbd\\ud83d\""},
        {"\xff\\u4e2d", "\xef\xbf\xbd中"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char body[512];
        snprintf(body, sizeof body,
                 "{\"ok\":true,\"result\":[{\"update_id\":4,\"message\":{\"message_id\":2,\"chat\":"
                 "{\"id\":7,"
                 "\"type\":\"private\"},\"text\":\"%s\"}}]}",
                 rows[i].text);
        parse_ok(body);
        CHECK_INT(1, list.count);
        CHECK(list.events[0].is_ingress);
        CHECK_TEXT(rows[i].wanted, list.events[0].text);
    }
}

static void put_nested(struct sma_buf *body, size_t depth)
{
    /* The update is one level, the message another. */
    sma_buf_put_text(
        body,
        "{\"update_id\":5,\"message\":{\"message_id\":2,\"chat\":{\"id\":7,\"type\":\"private\"},"
        "\"text\":\"deep\",\"x\":");
    for (size_t i = 2; i < depth; i++)
        sma_buf_put_char(body, '[');
    for (size_t i = 2; i < depth; i++)
        sma_buf_put_char(body, ']');
    sma_buf_put_text(body, "}}");
}

static void deep_nesting_is_passed_by(void)
{
    static const size_t depths[] = {SMA_JSON_DEPTH_MAX - 1, SMA_JSON_DEPTH_MAX,
                                    SMA_JSON_DEPTH_MAX + 1, 100000};
    for (size_t i = 0; i < SMA_COUNT_OF(depths); i++) {
        struct sma_buf body;
        struct sma_error error = {0};
        sma_buf_init(&body, 1 << 20);
        sma_buf_put_text(&body, "{\"ok\":true,\"result\":[");
        put_nested(&body, depths[i]);
        sma_buf_put_text(&body, "," MESSAGE(8, "b") "]}");
        CHECK_OK(parse(sma_buf_str(&body), &error));
        CHECK_INT(2, list.count);
        CHECK_INT(5, list.events[0].update_id);
        CHECK_INT(i < 2, list.events[0].is_ingress);
        CHECK_TEXT(i < 2 ? "" : "nested too deeply", list.events[0].why);
        CHECK(list.events[1].is_ingress);
        sma_buf_fini(&body);
    }
}

static void more_updates_than_any_platform_sends_are_no_answer(void)
{
    for (int over = -1; over <= 1; over++) {
        struct sma_buf body;
        struct sma_error error = {0};
        sma_buf_init(&body, 1 << 20);
        sma_buf_put_text(&body, "{\"ok\":true,\"result\":[{}");
        for (int i = 1; i < TELEGRAM_UPDATES_COUNT_MAX + over; i++)
            sma_buf_put_text(&body, ",{}");
        sma_buf_put_text(&body, "]}");
        enum sma_err err = parse(sma_buf_str(&body), &error);
        CHECK_ERR(over > 0 ? SMA_ERR_BADINPUT : SMA_ERR_OK, err);
        CHECK_INT(over > 0 ? 0 : TELEGRAM_UPDATES_COUNT_MAX + over, list.count);
        sma_buf_fini(&body);
    }
}

static void a_webhook_body_is_one_object(void)
{
    static const char *const bad[] = {"", "7", "[]", "{", "{} {}", "\"{}\"", "{\"a\":\"}"};
    struct sma_error error = {0};
    list.count = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT,
                  telegram_update_parse(&test_options, sma_str(bad[i]), add, &list, &error));
    CHECK_INT(0, list.count);
    CHECK_OK(telegram_update_parse(&test_options, SMA_STR(" " MESSAGE(3, "a") "\n"), add, &list,
                                   &error));
    CHECK_OK(telegram_update_parse(&test_options, SMA_STR("{\"update_id\":4,\"x\":nope}"), add,
                                   &list, &error));
    CHECK_INT(2, list.count);
    CHECK(list.events[0].is_ingress && !list.events[1].is_ingress);
    CHECK_INT(4, list.events[1].update_id);
}

/* -- memory ------------------------------------------------------------------------------------ */

static size_t allocations_left;

static void *scarce_malloc(size_t size)
{
    if (allocations_left == 0)
        return NULL;
    allocations_left--;
    return malloc(size);
}

/* However little memory there is, no update is taken for a broken one: its message would be
 * lost. */
static void without_memory_no_update_is_passed_by(void)
{
    static const char body[] = "{\"ok\":true,\"result\":[" MESSAGE(3, "a") "," MESSAGE(4, "b") "]}";
    size_t sound_count = 0;
    json_set_alloc_funcs(scarce_malloc, free);
    for (size_t limit = 0; limit < 400; limit++) {
        struct sma_error error = {0};
        allocations_left = limit;
        enum sma_err err = parse((struct sma_str){body, sizeof body - 1}, &error);
        CHECK(err == SMA_ERR_OK || err == SMA_ERR_NOMEM);
        CHECK(err == SMA_ERR_NOMEM ? list.count < 2 : list.count == 2);
        for (size_t i = 0; i < list.count; i++)
            CHECK(list.events[i].is_ingress && list.events[i].update_id == (int64_t)i + 3);
        sound_count += err == SMA_ERR_OK;
    }
    json_set_alloc_funcs(malloc, free);
    CHECK(sound_count > 0 && sound_count < 400);
}

/* -- entity ranges ----------------------------------------------------------------------------- */

static void ranges_count_units_and_give_bytes(void)
{
    static const struct
    {
        const char *text;
        int64_t offset, length;
        const char *wanted; /* NULL = nothing there */
    } rows[] = {
        {"abc", 0, 3, "abc"},
        {"abc", 1, 1, "b"},
        {"abc", 3, 1, NULL},
        {"abc", 2, 9, "c"},
        {"abc", 0, 0, NULL},
        {"abc", 0, -1, NULL},
        {"abc", -1, 2, "a"},
        {"abc", -2, 2, NULL},
        {"abc", INT64_MAX, INT64_MAX, NULL},
        {"abc", INT64_MIN, INT64_MAX, NULL},
        {"abc", 1, INT64_MAX, "bc"},
        {"", 0, 1, NULL},
        {"é中😀x", 0, 1, "é"},
        {"é中😀x", 1, 1, "中"},
        {"é中😀x", 2, 2, "😀"},
        {"é中😀x", 4, 1, "x"},
        {"é中😀x", 0, 5, "é中😀x"},
        {"é中😀x", 2, 1, NULL}, /* the first half of the pair only */
        {"é中😀x", 3, 1, NULL}, /* the second half only */
        {"é中😀x", 3, 2, "x"},  /* from the second half on */
        {"é中😀x", 1, 2, "中"}, /* up to the first half */
        {"😀😀", 1, 2, NULL},    /* two halves */
        {"😀😀", 1, 3, "😀"},
        {"👩‍👩‍👧x", 8, 1, "x"}, /* five code points, eight units */
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_str text = sma_str(rows[i].text);
        struct telegram_range range = {99, 99};
        bool is_found = telegram_in_range(text, rows[i].offset, rows[i].length, &range);
        if (is_found != (rows[i].wanted != NULL))
            fprintf(stderr, "row %zu\n", i);
        CHECK_INT(rows[i].wanted != NULL, is_found);
        if (!is_found) {
            CHECK(range.start == 99 && range.end == 99);
            continue;
        }
        CHECK(range.end <= text.len);
        CHECK_STR(rows[i].wanted,
                  ((struct sma_str){text.ptr + range.start, range.end - range.start}));
    }
}

/* Every range of a text with all widths is a run of whole characters inside it. */
static void every_range_is_whole_characters(void)
{
    struct sma_str text = SMA_STR("aé中😀b😀");
    for (int64_t offset = -3; offset < 12; offset++)
        for (int64_t length = -1; length < 14; length++) {
            struct telegram_range range;
            if (!telegram_in_range(text, offset, length, &range))
                continue;
            struct sma_str part = {text.ptr + range.start, range.end - range.start};
            CHECK(range.start < range.end && range.end <= text.len);
            CHECK(sma_utf8_is_valid(part));
            CHECK((int64_t)sma_utf16_length(part) <= length);
        }
}

static void the_vectors_entities_give_their_texts(void)
{
    json_t *root =
        json_load_file(SMA_SOURCE_DIR "/tests/vectors/telegram/updates-handmade.json", 0, NULL);
    size_t i, count = 0;
    json_t *row;
    CHECK(root != NULL);
    json_array_foreach(json_object_get(root, "updates"), i, row)
    {
        const json_t *wanted = json_object_get(row, "entity_text");
        const json_t *message = json_object_get(json_object_get(row, "update"), "message");
        bool has_text = json_object_get(message, "text") != NULL;
        struct sma_str text = telegram_in_str(message, has_text ? "text" : "caption");
        const json_t *entities =
            json_object_get(message, has_text ? "entities" : "caption_entities");
        CHECK_INT(json_array_size(wanted), json_array_size(entities));
        for (size_t k = 0; k < json_array_size(wanted); k++, count++) {
            const json_t *entity = json_array_get(entities, k);
            struct telegram_range range;
            CHECK(telegram_in_range(text, telegram_in_int(entity, "offset"),
                                    telegram_in_int(entity, "length"), &range));
            CHECK_STR(json_string_value(json_array_get(wanted, k)),
                      ((struct sma_str){text.ptr + range.start, range.end - range.start}));
        }
    }
    CHECK_INT(5, count);
    json_decref(root);
}

int main(void)
{
    RUN(a_sound_answer_gives_its_updates_in_order);
    RUN(what_is_no_answer_gives_nothing);
    RUN(an_answer_cut_anywhere_gives_nothing);
    RUN(a_broken_update_costs_itself_alone);
    RUN(broken_text_is_repaired);
    RUN(deep_nesting_is_passed_by);
    RUN(more_updates_than_any_platform_sends_are_no_answer);
    RUN(a_webhook_body_is_one_object);
    RUN(without_memory_no_update_is_passed_by);
    RUN(ranges_count_units_and_give_bytes);
    RUN(every_range_is_whole_characters);
    RUN(the_vectors_entities_give_their_texts);
    return check_summary();
}
