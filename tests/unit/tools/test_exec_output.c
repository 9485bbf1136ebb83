/*
 * test_exec_output.c — results at and around their bound, whatever the bytes.
 */
#include "runtime/exec/exec_output.h"

#include "sma/limits.h"
#include "sma/text.h"
#include "support/check.h"

#include <jansson.h>

static struct sma_secrets *secrets;

/* Feeds `len` bytes of a repeated pattern in pieces of `step`. */
static void feed(struct sma_exec_stream *stream, const char *pattern, size_t pattern_len,
                 size_t len, size_t step)
{
    char *all = malloc(len + 1);
    CHECK(all != NULL);
    for (size_t i = 0; i < len; i++)
        all[i] = pattern[i % pattern_len];
    for (size_t at = 0; at < len; at += step) {
        struct sma_buf clean;
        sma_buf_init(&clean, 1024 * 1024);
        size_t piece = len - at < step ? len - at : step;
        sma_exec_stream_put(stream, secrets, (struct sma_str){all + at, piece}, at + piece == len,
                            &clean);
        CHECK_OK(clean.err);
        sma_buf_fini(&clean);
    }
    free(all);
}

CASE(every_length_and_pattern_fits)
{
    static const struct
    {
        const char *text;
        size_t len;
    } patterns[] = {{"a", 1},    {"\n", 1},           {"\1", 1},
                    {"\xff", 1}, {"\xe4\xb8\xad", 3}, {"\xf0\x9f\x98\x80", 4},
                    {"\"\\", 2}, {"a\0b", 3},         {"\xe4\xb8", 2}};
    static const size_t lengths[] = {0,     1,     2,     14000, 28600, 30000, 32767,  32768,
                                     32769, 40000, 49151, 49152, 49153, 60000, 200000, 200003};
    for (size_t p = 0; p < SMA_COUNT_OF(patterns); p++) {
        for (size_t l = 0; l < SMA_COUNT_OF(lengths); l++) {
            for (size_t other = 0; other < 2; other++) {
                struct sma_exec_stream out, err;
                sma_exec_stream_init(&out);
                sma_exec_stream_init(&err);
                feed(&out, patterns[p].text, patterns[p].len, lengths[l], 4097);
                if (other == 1)
                    feed(&err, "\x02", 1, 100000, 65536);
                struct sma_buf buf;
                sma_buf_init(&buf, SMA_TOOL_RESULT_BYTES_MAX); /* not a byte more */
                struct sma_exec_outcome outcome = {
                    .has_exit_code = true,
                    .log = SMA_STR("20261122T000000-0123456789abcdef.log"),
                    .note = SMA_STR("Ended: because of \"this\" and that")};
                CHECK(sma_exec_put_result(&buf, &out, &err, &outcome));
                CHECK_OK(buf.err);
                json_t *root = json_loadb(buf.ptr, buf.len, JSON_ALLOW_NUL, NULL);
                CHECK(root != NULL);
                bool is_cut = json_is_true(json_object_get(root, "truncated"));
                CHECK(is_cut || (lengths[l] <= 32769 && other == 0));
                json_decref(root);
                sma_buf_fini(&buf);
                sma_exec_stream_fini(&out);
                sma_exec_stream_fini(&err);
            }
        }
    }
}

CASE(head_and_tail_are_the_real_ones)
{
    struct sma_exec_stream out, err;
    sma_exec_stream_init(&out);
    sma_exec_stream_init(&err);
    struct sma_buf clean, buf;
    sma_buf_init(&clean, 4 * 1024 * 1024);
    for (int i = 0; i < 20000; i++) {
        char line[32];
        int len = snprintf(line, sizeof line, "line %d\n", i);
        sma_exec_stream_put(&out, secrets, (struct sma_str){line, (size_t)len}, i == 19999, &clean);
    }
    sma_buf_init(&buf, SMA_TOOL_RESULT_BYTES_MAX);
    struct sma_exec_outcome outcome = {.log = SMA_STR("x.log")};
    CHECK(!sma_exec_put_result(&buf, &out, &err, &outcome));
    json_t *root = json_loadb(buf.ptr, buf.len, 0, NULL);
    const char *text = json_string_value(json_object_get(root, "stdout"));
    CHECK(text != NULL && strncmp(text, "line 0\nline 1\n", 14) == 0);
    CHECK_TEXT("line 19998\nline 19999", text + strlen(text) - 21);
    /* what is kept and what is said to be left out make up the whole */
    unsigned long long left = 0;
    const char *note = strstr(text, "\n[... ");
    CHECK(note != NULL && sscanf(note, "\n[... %llu bytes", &left) == 1);
    const char *end = strstr(note, "...]\n");
    CHECK(end != NULL);
    CHECK_INT(clean.len, (size_t)(note - text) + left + strlen(end + 5) + 1);
    CHECK(json_object_get(root, "exitCode") == NULL);
    json_decref(root);
    sma_buf_fini(&buf);
    sma_buf_fini(&clean);
    sma_exec_stream_fini(&out);
    sma_exec_stream_fini(&err);
}

int main(void)
{
    struct sma_config config = {.project_dir = "/nowhere",
                                .state_dir = "/nowhere/.ship",
                                .api_token = "",
                                .permissions_json = ""};
    config.llm.api_key = "sk-canary-0123456789";
    CHECK_OK(sma_secrets_create(&config, &secrets));
    check_run_cases(NULL);
    sma_secrets_destroy(secrets);
    return check_summary();
}
