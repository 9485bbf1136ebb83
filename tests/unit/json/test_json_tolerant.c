/*
 * Aim: what a stranger sent is not lost for one bad character, and what is stored is read as it is.
 * Method: the same texts by both readers.
 */
#include "runtime/json/json_arena.h"
#include "support/check.h"

#define BAD "\xEF\xBF\xBD" /* U+FFFD */

static void check_text(struct sma_str json, const char *wanted)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    CHECK_OK(sma_json_load_brief(json, false, &root));
    CHECK_STR(wanted, sma_json_str(root, "t"));
}

CASE(one_bad_character_costs_itself)
{
    check_text(SMA_STR("{\"t\":\"half \\ud83d of it\"}"), "half " BAD " of it");
    check_text(SMA_STR("{\"t\":\"\\ude00\\ud83d\"}"), BAD BAD);
    check_text(SMA_STR("{\"t\":\"\\ud83d\\ude00 whole, \\ud83d half\"}"),
               "\xF0\x9F\x98\x80 whole, " BAD " half");
    check_text(SMA_STR("{\"t\":\"a\\u0000b\"}"), "a" BAD "b");
    check_text(SMA_STR("{\"t\":\"a\xff\xfe b\"}"), "a" BAD BAD " b");
    check_text(SMA_STR("{\"t\":\"a\nb\"}"), "a b");
    check_text(SMA_STR("{\"t\":\"\\\\ud83d stays\"}"), "\\ud83d stays");
    check_text(SMA_STR("{\"t\":\"\xe4\xb8\xad\\n\"}"), "\xe4\xb8\xad\n");
}

CASE(what_is_no_json_is_refused)
{
    static const char *const texts[] = {"", "{", "{\"t\":}", "\\ud83d", "{\"t\":\"\\u00zz\"}"};
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        json_t *root = NULL;
        CHECK_ERR(SMA_ERR_BADINPUT, sma_json_load_brief(sma_str(texts[i]), i % 2 == 0, &root));
        CHECK(root == NULL);
    }
}

/* Arguments of a call that waits for approval must not change while they wait. */
CASE(what_is_stored_is_read_as_it_is)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    CHECK_OK(sma_json_load(SMA_STR("{\"t\":\"a\\u0000b\"}"), &root));
    CHECK_INT(3, sma_json_str(root, "t").len);
    CHECK(sma_json_str(root, "t").ptr[1] == '\0');
    json_decref(root);
    CHECK_OK(sma_json_load_brief(SMA_STR("{\"t\":\"a\\u0000\\ud83d\"}"), true, &root));
    CHECK_INT(5, sma_json_str(root, "t").len); /* an id that holds a NUL can be refused */
}

int main(void)
{
    sma_json_arena_install();
    check_run_cases(NULL);
    return check_summary();
}
