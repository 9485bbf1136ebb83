/*
 * Aim: the promises of messages.h and message_table.h: a made message owns all that it points at,
 * costs one allocation and is made whole or not at all; the rows agree with each other;
 * ARCHITECTURE.md shows them.
 * Method: bodies of every kind are filled by what the table says of them, and compared with a
 * second body filled alike after the first one's memory was overwritten. The linker wraps malloc.
 *   test_messages --print   prints the table of ARCHITECTURE.md
 */
#include "sma/messages.h"
#include "support/check.h"

#include <ctype.h>

/* -- memory ------------------------------------------------------------------------------------ */
static size_t allocation_count;
static bool has_no_memory;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

void *__wrap_malloc(size_t bytes)
{
    allocation_count++;
    return has_no_memory ? NULL : __real_malloc(bytes);
}

/* -- bodies filled by the table ---------------------------------------------------------------- */
struct filler
{
    max_align_t memory[4096];
    size_t used;
    unsigned number; /* of what was filled in last */
};

static void *take(struct filler *filler, size_t bytes)
{
    size_t units = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t);
    CHECK(filler->used + units <= SMA_COUNT_OF(filler->memory));
    void *taken = &filler->memory[filler->used];
    filler->used += units;
    return taken;
}

static void fill_bytes(struct filler *filler, void *to, size_t bytes)
{
    memset(to, (int)(++filler->number & 0x7f), bytes);
}

/* Every fourth is empty. */
static void fill_text(struct filler *filler, void *to)
{
    size_t len = filler->number % 4 == 3 ? 0 : 1 + filler->number % 29;
    char *bytes = take(filler, len);
    fill_bytes(filler, bytes, len);
    *(struct sma_str *)to = (struct sma_str){bytes, len};
}

static void *fill_list(struct filler *filler, uint32_t count, size_t item_bytes,
                       void (*fill)(struct filler *filler, void *item))
{
    char *items = take(filler, count * item_bytes);
    for (uint32_t i = 0; i < count; i++)
        fill(filler, items + i * item_bytes);
    return items;
}

/* clang-format off */
#define BODY(struct_name) \
    static void fill_##struct_name(struct filler *filler, void *body) \
    { \
        struct struct_name *it = body;
#define FIELD(type, name) fill_bytes(filler, &it->name, sizeof it->name);
#define FIXED(type, name, count) fill_bytes(filler, it->name, sizeof it->name);
#define TEXT(name) fill_text(filler, &it->name);
#define TEXTS(count, names) \
        it->count = ++filler->number % 4; \
        it->names = fill_list(filler, it->count, sizeof *it->names, fill_text);
#define PART(struct_name, name) fill_##struct_name(filler, &it->name);
#define LIST(struct_name, count, names) \
        it->count = ++filler->number % 4; \
        it->names = fill_list(filler, it->count, sizeof *it->names, fill_##struct_name);
#define END \
    }
#include "sma/message_table.h"
/* clang-format on */

static void same_bytes(const void *wanted, const void *made, size_t bytes)
{
    CHECK(memcmp(wanted, made, bytes) == 0);
}

static void same_text(const void *wanted, const void *made)
{
    const struct sma_str *text = made;
    check_text_at(__FILE__, __LINE__, "a text", *(const struct sma_str *)wanted, *text);
    CHECK_INT('\0', text->ptr[text->len]);
}

static void same_list(const void *wanted, const void *made, uint32_t count, size_t item_bytes,
                      void (*same)(const void *wanted, const void *made))
{
    CHECK(count > 0 || made == NULL);
    for (uint32_t i = 0; i < count; i++)
        same((const char *)wanted + i * item_bytes, (const char *)made + i * item_bytes);
}

/* clang-format off */
#define BODY(struct_name) \
    static void same_##struct_name(const void *wanted_body, const void *made_body) \
    { \
        const struct struct_name *wanted = wanted_body, *made = made_body;
#define FIELD(type, name) same_bytes(&wanted->name, &made->name, sizeof made->name);
#define FIXED(type, name, count) same_bytes(wanted->name, made->name, sizeof made->name);
#define TEXT(name) same_text(&wanted->name, &made->name);
#define TEXTS(count, names) \
        CHECK_INT(wanted->count, made->count); \
        same_list(wanted->names, made->names, made->count, sizeof *made->names, same_text);
#define PART(struct_name, name) same_##struct_name(&wanted->name, &made->name);
#define LIST(struct_name, count, names) \
        CHECK_INT(wanted->count, made->count); \
        same_list(wanted->names, made->names, made->count, sizeof *made->names, same_##struct_name);
#define END \
    }
#include "sma/message_table.h"
/* clang-format on */

struct kind
{
    unsigned number;
    size_t body_bytes;
    void (*fill)(struct filler *filler, void *body);
    void (*same)(const void *wanted, const void *made);
};

static const struct kind kinds[] = {
#define MSG(kind, name, class, from, to, body) \
    {SMA_MSG_##kind, sizeof(struct body), fill_##body, same_##body},
#include "sma/message_table.h"
};

static void *fill(const struct kind *kind, struct filler *filler, unsigned number)
{
    *filler = (struct filler){.number = number};
    void *body = take(filler, kind->body_bytes);
    kind->fill(filler, body);
    return body;
}

/* -- making ------------------------------------------------------------------------------------ */
CASE(a_message_owns_all_that_it_points_at)
{
    static struct filler given, wanted;
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        for (unsigned number = 0; number < 8; number++) {
            const void *given_body = fill(&kinds[i], &given, number);
            const void *wanted_body = fill(&kinds[i], &wanted, number);
            struct sma_msg *msg = sma_msg_make(kinds[i].number, given_body);
            CHECK(msg != NULL);
            CHECK_INT(kinds[i].number, msg->kind);
            CHECK_INT(kinds[i].body_bytes, msg->body_bytes);
            memset(&given, 0xdd, sizeof given);
            kinds[i].same(wanted_body, sma_msg_body(msg, kinds[i].body_bytes));
            sma_msg_destroy(msg);
        }
    }
}

CASE(a_message_is_one_allocation)
{
    static struct filler given;
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        const void *body = fill(&kinds[i], &given, 1);
        size_t before = allocation_count;
        struct sma_msg *msg = sma_msg_make(kinds[i].number, body);
        CHECK(msg != NULL);
        CHECK_INT(1, allocation_count - before);
        sma_msg_destroy(msg);
    }
}

CASE(without_memory_nothing_is_made)
{
    static struct filler given;
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        const void *body = fill(&kinds[i], &given, 1);
        has_no_memory = true;
        struct sma_msg *msg = sma_msg_make(kinds[i].number, body);
        has_no_memory = false;
        CHECK(msg == NULL);
    }
}

CASE(more_than_a_message_can_hold_is_refused)
{
    struct sma_query query = {.chat_key = {"", SIZE_MAX / 4}};
    CHECK(sma_msg_make_query(&query) == NULL);
    struct sma_history_lines lines = {.line_count = UINT32_MAX};
    CHECK(sma_msg_make_history_lines(&lines) == NULL);
}

CASE(length_without_bytes_is_room_for_the_maker)
{
    struct sma_model_ask ask = {.body = {NULL, 5}, .chat_key = SMA_STR("a")};
    struct sma_msg *msg = sma_msg_make_model(&ask);
    CHECK(msg != NULL);
    const struct sma_model_ask *made = SMA_MSG_BODY(msg, struct sma_model_ask);
    memcpy(sma_msg_fill(msg, made->body), "write", 5);
    CHECK_STR("write", made->body);
    CHECK_STR("a", made->chat_key);
    sma_msg_destroy(msg);

    struct sma_step_done done = {.delivery_count = 2};
    msg = sma_msg_make_step_done(&done);
    CHECK(msg != NULL);
    const struct sma_step_done *answer = SMA_MSG_BODY(msg, struct sma_step_done);
    CHECK_INT(2, answer->delivery_count);
    CHECK_INT(0, answer->deliveries[1].outbox_id);
    CHECK_INT(0, answer->deliveries[1].error.len);
    sma_msg_destroy(msg);
}

CASE(collected_offsets_become_slices)
{
    const char base[] = "onetwothree";
    struct sma_learned_fact fact = {.target = {(const char *)3, 3}, .member = {(const char *)6, 5}};
    struct sma_learned learned = {.fact_count = 1, .facts = &fact};
    sma_msg_place(SMA_MSG_LEARNED, &learned, base);
    CHECK_STR("two", fact.target);
    CHECK_STR("three", fact.member);

    struct sma_run_order order = {.text = {(const char *)0, 3},
                                  .route.user_id = {(const char *)3, 3}};
    sma_msg_place(SMA_MSG_RUN, &order, base);
    CHECK_STR("one", order.text);
    CHECK_STR("two", order.route.user_id);
}

/* -- the rows ---------------------------------------------------------------------------------- */
struct row
{
    const char *kind, *from, *to, *class;
    const char *answer; /* ASK: the kind that answers */
};

static const struct row rows[] = {
#define ASK(answer) "ASK", #answer
#define ANSWER "ANSWER", NULL
#define SIGNAL "SIGNAL", NULL
#define HANDOFF "HANDOFF", NULL
#define MSG(kind, name, class, from, to, body) {#kind, #from, #to, class},
#include "sma/message_table.h"
};

/* With the second ways of the same kinds. */
static const struct row ways[] = {
#define MSG(kind, name, class, from, to, body) {#kind, #from, #to, class},
#define ALSO(kind, from, to) {#kind, #from, #to, NULL, NULL},
#include "sma/message_table.h"
#undef ASK
#undef ANSWER
#undef SIGNAL
#undef HANDOFF
};

static const struct lane
{
    const char *from, *to;
    unsigned capacity, signals, asks;
} lanes[] = {
#define LANE(from, to, capacity, signals, asks) {#from, #to, capacity, signals, asks},
#include "sma/message_table.h"
};

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static const struct row *row_of(const char *kind)
{
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        if (is(rows[i].kind, kind))
            return &rows[i];
    CHECK(!"the table has this kind");
    return NULL;
}

static const char *class_of(const struct row *way)
{
    return row_of(way->kind)->class;
}

CASE(every_way_has_a_lane_that_fits)
{
    for (size_t i = 0; i < SMA_COUNT_OF(ways); i++) {
        const struct lane *lane = NULL;
        for (size_t j = 0; j < SMA_COUNT_OF(lanes); j++)
            if (is(lanes[j].from, ways[i].from) && is(lanes[j].to, ways[i].to))
                lane = &lanes[j];
        CHECK(lane != NULL);
        CHECK((is(class_of(&ways[i]), "SIGNAL") ? lane->signals : lane->capacity) > 0);
        CHECK(!is(class_of(&ways[i]), "ASK") || lane->asks > 0);
    }
}

CASE(every_question_has_its_answer_and_every_answer_its_question)
{
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        unsigned count = 0;
        for (size_t j = 0; j < SMA_COUNT_OF(rows); j++)
            count += rows[j].answer != NULL && is(rows[j].answer, rows[i].kind);
        CHECK_INT(is(rows[i].class, "ANSWER"), count);
        if (rows[i].answer == NULL)
            continue;
        const struct row *answer = row_of(rows[i].answer);
        CHECK(is(answer->from, rows[i].to) && is(answer->to, rows[i].from));
    }
}

/* -- the document ------------------------------------------------------------------------------ */
#define DOCUMENT_BEGIN "<!-- made of include/sma/message_table.h by test_messages --print -->\n"
#define DOCUMENT_END "<!-- end -->\n"

static void put_actor(struct sma_buf *text, const char *name)
{
    if (is(name, "ANY"))
        sma_buf_put_text(text, "every actor");
    else
        for (; *name != '\0'; name++)
            sma_buf_put_char(text, (char)tolower((unsigned char)*name));
}

static void put_count(struct sma_buf *text, unsigned count)
{
    if (count == 0)
        sma_buf_put_text(text, "– | ");
    else
        sma_buf_printf(text, "%u | ", count);
}

static void put_kinds(struct sma_buf *text, const struct lane *lane, const char *class,
                      const char *title)
{
    unsigned count = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(ways); i++) {
        const struct row *way = &ways[i];
        if (!is(way->from, lane->from) || !is(way->to, lane->to) || !is(class_of(way), class))
            continue;
        if (count++ == 0 && text->ptr[text->len - 2] != '|')
            sma_buf_put_text(text, "; ");
        sma_buf_printf(text, "%s %s", count == 1 ? title : ",", way->kind);
    }
}

static void put_table(struct sma_buf *text)
{
    sma_buf_put_text(text, "| from → to | capacity | asks | signals | carries |\n"
                           "|---|---|---|---|---|\n");
    for (size_t i = 0; i < SMA_COUNT_OF(lanes); i++) {
        sma_buf_put_text(text, "| ");
        put_actor(text, lanes[i].from);
        sma_buf_put_text(text, is(lanes[i].from, lanes[i].to) ? " → another " : " → ");
        put_actor(text, lanes[i].to);
        sma_buf_put_text(text, " | ");
        put_count(text, lanes[i].capacity);
        put_count(text, lanes[i].asks);
        put_count(text, lanes[i].signals);
        put_kinds(text, &lanes[i], "HANDOFF", "hands off");
        put_kinds(text, &lanes[i], "ASK", "asks");
        put_kinds(text, &lanes[i], "ANSWER", "answers");
        put_kinds(text, &lanes[i], "SIGNAL", "signals");
        sma_buf_put_text(text, " |\n");
    }
}

CASE(architecture_shows_the_table)
{
    struct sma_buf made, document;
    sma_buf_init(&made, 1 << 16);
    sma_buf_init(&document, 1 << 20);
    sma_buf_put_text(&made, DOCUMENT_BEGIN);
    put_table(&made);
    sma_buf_put_text(&made, DOCUMENT_END);
    CHECK_OK(made.err);
    FILE *file = fopen(SMA_SOURCE_DIR "/ARCHITECTURE.md", "r");
    CHECK(file != NULL);
    char line[4096];
    while (fgets(line, sizeof line, file) != NULL)
        sma_buf_put_text(&document, line);
    (void)fclose(file);
    sma_buf_put_char(&document, '\0');
    sma_buf_put_char(&made, '\0');
    CHECK_OK(document.err);
    if (strstr(document.ptr, made.ptr) == NULL)
        fprintf(stderr, "ARCHITECTURE.md should have:\n%s", made.ptr);
    CHECK(strstr(document.ptr, made.ptr) != NULL);
    sma_buf_fini(&made);
    sma_buf_fini(&document);
}

static int print(void)
{
    struct sma_buf text;
    sma_buf_init(&text, 1 << 16);
    sma_buf_put_text(&text, DOCUMENT_BEGIN);
    put_table(&text);
    sma_buf_put_text(&text, DOCUMENT_END);
    printf("%.*s", (int)text.len, text.ptr);
    sma_buf_fini(&text);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && is(argv[1], "--print"))
        return print();
    check_run_cases(NULL);
    return check_summary();
}
