/*
 * Aim: a card that a model writes shows something, opens addresses, and does nothing else: nobody's
 * press on it can be a decision, nobody is rung for. Method: cards and the sentence for each.
 */
#include "runtime/tools/tools.h"
#include "support/check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/tools/card_check.h"

/* What is said of the card; "" = it is taken. */
static const char *said_of(const char *json)
{
    static char said[1024];
    struct sma_buf why;
    char *text = NULL;
    json_t *card = json_loads(json, JSON_DECODE_ANY, NULL);
    sma_buf_init(&why, sizeof said);
    enum sma_err err = sma_card_check(card, &text, &why);
    CHECK_INT(err == SMA_ERR_OK ? 0 : SMA_ERR_BADINPUT, err);
    CHECK_INT(err != SMA_ERR_OK, why.len > 0);
    CHECK_INT(err == SMA_ERR_OK, text != NULL);
    snprintf(said, sizeof said, "%.*s", (int)why.len, why.len == 0 ? "" : why.ptr);
    free(text);
    json_decref(card);
    sma_buf_fini(&why);
    return said;
}

#define NEW(elements) "{\"schema\":\"2.0\",\"body\":{\"elements\":[" elements "]}}"
#define OLD(elements) "{\"elements\":[" elements "]}"
#define TEXT "{\"tag\":\"markdown\",\"content\":\"**hello**\"}"
#define BUTTON(members) \
    "{\"tag\":\"button\",\"text\":{\"tag\":\"plain_text\",\"content\":\"x\"}" members "}"

CASE(each_card_is_taken_or_said_why_not)
{
    static const struct
    {
        const char *card, *said; /* a part of it; NULL = it is taken */
    } rows[] = {
        {NEW(TEXT), NULL},
        {OLD(TEXT), NULL},
        {"{\"schema\":\"1.0\",\"elements\":[" TEXT "]}", NULL},
        {NEW(BUTTON(",\"behaviors\":[{\"type\":\"open_url\",\"default_url\":\"https://a.b\"}]")),
         NULL},
        {OLD("{\"tag\":\"action\",\"actions\":[" BUTTON(",\"url\":\"https://a.b\"") "]}"), NULL},
        {NEW("{\"tag\":\"markdown\",\"content\":\"a <atom> and 1 < at\"}"), NULL},
        {"[]", "Expected \"card\": an object"},
        {"7", "Expected \"card\": an object"},
        {"nonsense", "Expected \"card\": an object"},
        {"{}", "shows nothing"},
        {NEW(""), "shows nothing"},
        {"{\"schema\":\"2.0\",\"elements\":[" TEXT "]}", "shows nothing"},
        {"{\"schema\":\"3.0\",\"elements\":[" TEXT "]}", "\"2.0\" or \"1.0\""},
        {"{\"schema\":2,\"elements\":[" TEXT "]}", "\"2.0\" or \"1.0\""},
        {"{\"type\":\"template\",\"data\":{\"template_id\":\"x\"}}", "shows nothing"},
        {NEW(BUTTON(",\"behaviors\":[{\"type\":\"callback\",\"value\":{\"k\":\"v\"}}]")),
         "do nothing else"},
        {NEW(BUTTON(",\"behaviors\":[{\"type\":\"callback\"}]")), "do nothing else"},
        {NEW(BUTTON(",\"behaviors\":[{}]")), "do nothing else"},
        {NEW(BUTTON(",\"behaviors\":{\"type\":\"callback\"}")), "is a list"},
        {OLD("{\"tag\":\"action\",\"actions\":[" BUTTON(",\"value\":{\"sma\":\"sa1:x\"}") "]}"),
         "do nothing else"},
        {NEW("{\"tag\":\"column_set\",\"columns\":[{\"tag\":\"column\",\"elements\":[" BUTTON(
             ",\"value\":\"x\"") "]}]}"),
         "do nothing else"},
        {NEW(BUTTON(",\"form_action_type\":\"submit\"")), "do nothing else"},
        {NEW("{\"tag\":\"form\",\"elements\":[]}"), "nothing to fill in"},
        {NEW("{\"tag\":\"Select_Static\"}"), "nothing to fill in"},
        {NEW("{\"tag\":\"markdown\",\"content\":\"<at id=all></at>\"}"), "cannot mention"},
        {NEW("{\"tag\":\"markdown\",\"content\":\"a <AT user_id=\\\"ou_1\\\">\"}"),
         "cannot mention"},
        {NEW("{\"tag\":\"markdown\",\"content\":\"<at\\nid=all>\"}"), "cannot mention"},
        {NEW("\"<at id=all>\""), "cannot mention"},
        {NEW(BUTTON(",\"url\":\"javascript:x\"")), "begin with https://"},
        {NEW(BUTTON(",\"multi_url\":{\"url\":\"https://a.b\",\"ios_url\":\"file:///x\"}")),
         "begin with https://"},
        {NEW(BUTTON(",\"url\":7")), "begin with https://"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        const char *said = said_of(rows[i].card);
        bool is_as_wanted = rows[i].said == NULL ? said[0] == '\0'
                                                 : strstr(said, rows[i].said) != NULL &&
                                                       strstr(said, "Nothing was sent.") != NULL;
        if (!is_as_wanted)
            fprintf(stderr, "   %s: %s\n", rows[i].card, said);
        CHECK(is_as_wanted);
    }
}

/* A card around a markdown text of so many bytes. */
static const char *said_of_text(size_t len, char byte)
{
    char *json = calloc(1, len + 200);
    size_t at = (size_t)sprintf(json, "{\"elements\":[{\"content\":\"");
    memset(json + at, byte, len);
    strcpy(json + at + len, "\",\"tag\":\"markdown\"}]}");
    const char *said = said_of(json);
    free(json);
    return said;
}

CASE(a_card_has_a_size)
{
    size_t around = strlen("{\"elements\":[{\"content\":\"\",\"tag\":\"markdown\"}]}");
    for (int more = -1; more <= 1; more++) {
        size_t len = (size_t)((int)SMA_CARD_JSON_BYTES_MAX - (int)around + more);
        CHECK_INT(more > 0, strstr(said_of_text(len, 'x'), "over 20 KB") != NULL);
    }
    json_t *quotes =
        json_pack("{s:[{s:s,s:s%}]}", "elements", "tag", "markdown", "content", "", (size_t)0);
    char text[9000];
    memset(text, '"', sizeof text); /* 18,000 bytes in the card, 36,000 in the request */
    json_object_set_new(json_array_get(json_object_get(quotes, "elements"), 0), "content",
                        json_stringn(text, sizeof text));
    char *json = json_dumps(quotes, JSON_COMPACT);
    CHECK(strstr(said_of(json), "over 20 KB") != NULL);
    free(json);
    json_decref(quotes);
}

static json_t *nested(unsigned depth)
{
    json_t *value = json_pack("{s:s}", "tag", "hr");
    for (unsigned i = 0; i < depth; i++)
        value = json_pack("[o]", value);
    return json_pack("{s:o}", "elements", json_pack("[o]", value));
}

CASE(a_card_has_a_depth_and_a_number_of_parts)
{
    static const unsigned depths[] = {1, 12, 13, 14, 100};
    for (size_t i = 0; i < SMA_COUNT_OF(depths); i++) {
        json_t *card = nested(depths[i]);
        char *json = json_dumps(card, JSON_COMPACT);
        /* the card, its list, the lists, the element, its tag */
        bool is_good = depths[i] + 4 <= SMA_CARD_JSON_DEPTH_MAX + 1;
        CHECK_INT(!is_good, strstr(said_of(json), "too deeply") != NULL);
        free(json);
        json_decref(card);
    }
    for (int more = 0; more <= 1; more++) {
        json_t *list = json_array(); /* with the card and the list: 2 + n */
        for (int i = 0; i < SMA_CARD_JSON_NODE_COUNT_MAX - 2 + more; i++)
            json_array_append_new(list, json_null());
        json_t *card = json_pack("{s:o}", "elements", list);
        char *json = json_dumps(card, JSON_COMPACT);
        CHECK_INT(more, strstr(said_of(json), "too many parts") != NULL);
        free(json);
        json_decref(card);
    }
}

/* As an object and as its text; what goes out is what was checked. */
CASE(the_argument_is_the_card)
{
    static const char *const calls[] = {
        "{\"card\":" OLD(TEXT) "}",
        "{\"card\":\"{\\\"elements\\\":[{\\\"tag\\\":\\\"markdown\\\",\\\"content\\\":\\\"**hello**"
        "\\\"}]}\"}",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(calls); i++) {
        struct sma_tool_args args = {0};
        struct sma_buf why;
        sma_buf_init(&why, 1024);
        CHECK_OK(sma_tool_args_parse(SMA_TOOL_SEND_CARD, sma_str(calls[i]), &args, &why));
        CHECK_STR(OLD(TEXT), args.content);
        sma_tool_args_fini(&args);
        sma_buf_fini(&why);
    }
    static const char *const bad[] = {"{}", "{\"card\":null}", "{\"card\":\"{\"}",
                                      "{\"card\":" OLD(TEXT) ",\"chat\":\"x\"}"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++) {
        struct sma_tool_args args = {0};
        struct sma_buf why;
        sma_buf_init(&why, 1024);
        CHECK_INT(SMA_ERR_BADINPUT,
                  sma_tool_args_parse(SMA_TOOL_SEND_CARD, sma_str(bad[i]), &args, &why));
        sma_buf_fini(&why);
    }
}

CASES_MAIN
