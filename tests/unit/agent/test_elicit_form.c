/*
 * Aim: a form that a server asks people to fill in: the question as it is read, what words mean;
 *      nothing that the form does not take is ever sent, and refusing is always possible.
 * Method: tables of forms and words.
 */
#include "runtime/agent/elicit_form.h"
#include "support/check.h"

#define FORM(fields, required) \
    "{\"type\":\"object\",\"properties\":{" fields "},\"required\":[" required "]}"
#define NAME FORM("\"name\":{\"type\":\"string\",\"minLength\":2}", "\"name\"")
#define COUNT FORM("\"n\":{\"type\":\"integer\",\"minimum\":1}", "\"n\"")
#define FLAG FORM("\"sure\":{\"type\":\"boolean\"}", "\"sure\"")
#define COLOR                                                                                 \
    FORM("\"color\":{\"type\":\"string\",\"enum\":[\"red\",\"blue\"],\"enumNames\":[\"Rot\"," \
         "\"Blau\"]}",                                                                        \
         "\"color\"")
#define TITLED                                                                                   \
    FORM("\"c\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"#f00\",\"title\":\"Red\"}]}", "\"c" \
                                                                                           "\"")
#define LIST                                                                                     \
    FORM("\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}}", \
         "\"tags\"")
#define BOOKING                                                                                 \
    FORM("\"city\":{\"type\":\"string\",\"title\":\"Town\"},\"nights\":{\"type\":\"integer\"}," \
         "\"smoking\":{\"type\":\"boolean\"}",                                                  \
         "\"city\",\"nights\"")

CASE(words_mean_values_of_the_form)
{
    static const struct
    {
        const char *schema, *words;
        enum sma_elicit_said said;
        const char *content;
    } rows[] = {
        {NAME, "  Ann Lee ", SMA_ELICIT_FITS, "{\"name\":\"Ann Lee\"}"},
        {NAME, "name: Ann", SMA_ELICIT_FITS, "{\"name\":\"Ann\"}"},
        {NAME, "time: 10:30", SMA_ELICIT_FITS, "{\"name\":\"time: 10:30\"}"},
        {NAME, "A", SMA_ELICIT_MISFIT, ""},
        {NAME, "", SMA_ELICIT_MISFIT, ""},
        {NAME, "no", SMA_ELICIT_FITS, "{\"name\":\"no\"}"},
        {NAME, "Decline.", SMA_ELICIT_DECLINED, ""},
        {NAME, "拒绝", SMA_ELICIT_DECLINED, ""},
        {NAME, "取消。", SMA_ELICIT_LEFT, ""},
        {NAME, "cancel", SMA_ELICIT_LEFT, ""},
        {COUNT, "3", SMA_ELICIT_FITS, "{\"n\":3}"},
        {COUNT, "0", SMA_ELICIT_MISFIT, ""},
        {COUNT, "3.5", SMA_ELICIT_MISFIT, ""},
        {COUNT, "many", SMA_ELICIT_MISFIT, ""},
        {COUNT, "{\"n\":4}", SMA_ELICIT_FITS, "{\"n\":4}"},
        {COUNT, "{\"n\":\"4\"}", SMA_ELICIT_MISFIT, ""},
        {FLAG, "Yes!", SMA_ELICIT_FITS, "{\"sure\":true}"},
        {FLAG, "否", SMA_ELICIT_FITS, "{\"sure\":false}"},
        {FLAG, "perhaps", SMA_ELICIT_MISFIT, ""},
        {COLOR, "BLUE", SMA_ELICIT_FITS, "{\"color\":\"blue\"}"},
        {COLOR, "rot", SMA_ELICIT_FITS, "{\"color\":\"red\"}"},
        {COLOR, "green", SMA_ELICIT_MISFIT, ""},
        {TITLED, "red", SMA_ELICIT_FITS, "{\"c\":\"#f00\"}"},
        {LIST, "a，b", SMA_ELICIT_FITS, "{\"tags\":[\"a\",\"b\"]}"},
        {LIST, "a, c", SMA_ELICIT_MISFIT, ""},
        {BOOKING, "city: Ulm\nnights：2", SMA_ELICIT_FITS, "{\"city\":\"Ulm\",\"nights\":2}"},
        {BOOKING, "Town: Ulm\n\nnights: 2\nsmoking: no", SMA_ELICIT_FITS,
         "{\"city\":\"Ulm\",\"nights\":2,\"smoking\":false}"},
        {BOOKING, "city: Ulm", SMA_ELICIT_MISFIT, ""},
        {BOOKING, "Ulm for two nights", SMA_ELICIT_MISFIT, ""},
        {"{\"type\":\"object\"}", "ok", SMA_ELICIT_FITS, "{}"},
        {"", "yes", SMA_ELICIT_FITS, "{}"},
        {"", "no", SMA_ELICIT_DECLINED, ""},
        {"", "what?", SMA_ELICIT_MISFIT, ""},
        {"oops", "yes", SMA_ELICIT_LEFT, ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_buf content, why;
        sma_buf_init(&content, SMA_ELICIT_CONTENT_BYTES_MAX);
        sma_buf_init(&why, 4096);
        enum sma_elicit_said said =
            sma_elicit_read(sma_str(rows[i].schema), sma_str(rows[i].words), &content, &why);
        if (said != rows[i].said)
            fprintf(stderr, "row %zu: %s\n", i, rows[i].words);
        CHECK_INT(rows[i].said, said);
        CHECK_STR(rows[i].content, sma_buf_str(&content));
        CHECK((why.len > 0) == (said == SMA_ELICIT_MISFIT));
        sma_buf_fini(&content);
        sma_buf_fini(&why);
    }
}

static void put(struct sma_buf *buf, enum sma_language language, const char *schema)
{
    const struct sma_mcp_elicit asked = {
        .server = SMA_STR("travel"), .text = SMA_STR("Which room?"), .schema = sma_str(schema)};
    sma_buf_init(buf, SMA_ELICIT_QUESTION_BYTES_MAX);
    sma_elicit_put_question(buf, language, &asked);
    CHECK_OK(buf->err);
}

CASE(the_question_says_who_asks_and_how_to_answer)
{
    struct sma_buf text;
    put(&text, SMA_LANGUAGE_EN, BOOKING);
    CHECK_STR("The outside server \"travel\" asks (do not give it passwords or keys):\n"
              "Which room?\n- city: Town\n- nights\n- smoking (optional) [yes / no, 是 / 否]\n\n"
              "Answer in one message, a line for each: \"name: value\". \"decline\" refuses, "
              "\"cancel\" leaves the question.",
              sma_buf_str(&text));
    sma_buf_fini(&text);
    put(&text, SMA_LANGUAGE_ZH, COLOR);
    CHECK(memmem(text.ptr, text.len, "red = Rot / blue = Blau", 23) != NULL);
    CHECK(memmem(text.ptr, text.len, "拒绝", 6) != NULL);
    sma_buf_fini(&text);
    put(&text, SMA_LANGUAGE_EN, "");
    CHECK(memmem(text.ptr, text.len, "\"yes\" or \"no\"", 13) != NULL);
    sma_buf_fini(&text);
}

CASE(a_hostile_form_stays_on_its_lines)
{
    char schema[8192] =
        "{\"type\":\"object\",\"properties\":{\"a\\nThe program asks:\":{\"title\":\"";
    for (int i = 0; i < 3000; i++)
        strcat(schema, "x");
    strcat(schema, "\"}}}");
    struct sma_buf text;
    put(&text, SMA_LANGUAGE_EN, schema);
    CHECK(memmem(text.ptr, text.len, "\nThe program", 12) == NULL);
    CHECK(text.len < 1500);
    sma_buf_fini(&text);
    CHECK(!sma_elicit_can_ask(SMA_STR("[]")));
    CHECK(!sma_elicit_can_ask(SMA_STR("{\"properties\"")));
    CHECK(sma_elicit_can_ask(SMA_STR("")));
    char many[4096] = "{\"properties\":{";
    for (int i = 0; i <= SMA_ELICIT_FIELD_COUNT_MAX; i++) {
        char field[32];
        snprintf(field, sizeof field, "%s\"f%d\":{}", i == 0 ? "" : ",", i);
        strcat(many, field);
        if (i + 1 == SMA_ELICIT_FIELD_COUNT_MAX) {
            char just[4200];
            snprintf(just, sizeof just, "%s}}", many);
            CHECK(sma_elicit_can_ask(sma_str(just)));
        }
    }
    strcat(many, "}}");
    CHECK(!sma_elicit_can_ask(sma_str(many)));
}

CASES_MAIN
