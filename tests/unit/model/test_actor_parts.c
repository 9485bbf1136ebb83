/*
 * Aim: files stand in a request byte for byte, however often it is repeated, and never in memory as
 *      a whole; what is gone or changed is not sent and is named; the log shows no bytes.
 * Method: the real model actor, real files, fake_model (which judges pictures by their bytes) and
 *         a raw server that keeps what came.
 */
#include "harness.h"
#include "raw_server.h"
#include "runtime/model/wire_part.h"
#include "support/check.h"
#include "support/patience.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static char folder[64], path[128];

/* A PNG of this many base64 bytes. */
static void write_png(size_t len)
{
    char *text = malloc(len);
    CHECK(text != NULL && len % 4 == 0 && len >= 16);
    memset(text, 'A', len);
    memcpy(text, "iVBORw0KGgoA", 12);
    for (size_t i = 12; i < len; i++)
        text[i] = (char)('a' + i % 25);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fwrite(text, 1, len, file) == len);
    CHECK(fclose(file) == 0);
    free(text);
}

static bool is_bare; /* the target is known to take no data: URLs */

static size_t ask(struct harness *harness, const struct sma_config_llm *llm, const char *mime,
                  const char *text, size_t len)
{
    struct sma_part part = {
        .kind = SMA_PART_IMAGE, .mime = sma_str(mime), .hash = SMA_STR(HASH), .length = len};
    struct sma_block_part place = {.part = &part};
    struct sma_target target;
    struct sma_buf body;
    struct sma_str block = sma_str(text), hash, bytes;
    size_t at = 0, start;
    sma_target_init(&target, llm);
    CHECK(!is_bare || sma_target_refuse(&target, SMA_STR(SMA_REFUSES_DATA_URLS)));
    sma_buf_init(&body, SMA_REQUEST_BYTES_MAX);
    target.wire->put_head(&body, &target, (struct sma_str){0}, NULL, 0);
    sma_wire_put_user_parts(&body, target.wire, &target, &block, 1, &place, 1);
    target.wire->put_tail(&body, &target, (struct sma_str){0});
    bytes = sma_buf_str(&body);
    CHECK(sma_part_find_marker(bytes, &at, &start, &hash));
    memmove(body.ptr + start, body.ptr + at, body.len - at);
    bytes.len -= at - start;
    struct harness_file file = {.offset = start, .length = len, .path = path};
    size_t record = harness_ask_files(harness, llm, bytes, &file, 1);
    sma_buf_fini(&body);
    return record;
}

CASE(each_wire_sends_a_picture)
{
    write_png(400000);
    for (int api = SMA_LLM_CHAT; api <= SMA_LLM_MESSAGES; api++) {
        struct sma_config_llm llm = harness_llm((enum sma_llm_api)api);
        struct harness *harness = harness_create(&llm, NULL);
        llm.base_url = harness_url(harness);
        harness_check_said(harness_wait(harness, ask(harness, &llm, "image/png", "hi", 400000)),
                           "hi");
        /* the type is not that of the bytes: told apart from other refusals */
        const struct harness_record *record =
            harness_wait(harness, ask(harness, &llm, "image/jpeg", "hi", 400000));
        CHECK_INT(SMA_MODEL_FAILED, record->status);
        CHECK_INT(SMA_MODEL_FAILURE_PICTURE, record->trouble);
        CHECK_TEXT("", record->refused);
        harness_destroy(harness);
    }
}

CASE(a_picture_goes_out_again_with_each_repetition)
{
    static const char *const texts[] = {"a [[fault:503 retry-after-ms=20 times=2]]",
                                        "b [[fault:reset]]", "c [[fault:cut]]",
                                        "d [[fault:silence ms=9000]]"};
    struct sma_config_llm llm = harness_llm(SMA_LLM_MESSAGES);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    llm.base_url = harness_url(harness);
    write_png(600000);
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++)
        harness_check_said(harness_wait(harness, ask(harness, &llm, "image/png", texts[i], 600000)),
                           texts[i]);
}

CASE(refusals_say_what_is_refused)
{
    const char *const blind[] = {"--blind", NULL};
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    struct harness *harness = harness_create(&llm, blind);
    llm.base_url = harness_url(harness);
    write_png(4000);
    const struct harness_record *record =
        harness_wait(harness, ask(harness, &llm, "image/png", "hi", 4000));
    CHECK_INT(SMA_MODEL_FAILURE_PICTURE, record->trouble);
    CHECK_TEXT(SMA_REFUSES_IMAGES, record->refused);
    harness_destroy(harness);
    harness = harness_create(&llm, NULL);
    llm.base_url = harness_url(harness);
    write_png(5242884);
    record = harness_wait(harness, ask(harness, &llm, "image/png", "hi", 5242884));
    CHECK_INT(SMA_MODEL_FAILURE_PICTURE, record->trouble);
    CHECK(strstr(record->error, "image exceeds 5 MB") != NULL);
    harness_destroy(harness);
}

CASE(glm_takes_bare_base64)
{
    const char *const glm[] = {"--profile", "glm", NULL};
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    llm.model = "glm-5.3-flash";
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, glm);
    llm.base_url = harness_url(harness);
    write_png(4000);
    const struct harness_record *record =
        harness_wait(harness, ask(harness, &llm, "image/png", "hi", 4000));
    CHECK_INT(SMA_MODEL_FAILURE_PICTURE, record->trouble);
    CHECK_TEXT(SMA_REFUSES_DATA_URLS, record->refused);
    is_bare = true;
    record = harness_wait(harness, ask(harness, &llm, "image/png", "hi", 4000));
    is_bare = false;
    CHECK_INT(SMA_MODEL_OK, record->status);
}

CASE(what_is_gone_or_changed_is_named)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    llm.base_url = harness_url(harness);
    write_png(4000);
    const struct harness_record *record =
        harness_wait(harness, ask(harness, &llm, "image/png", "hi", 4004));
    CHECK_INT(SMA_MODEL_FAILURE_FILE, record->trouble);
    CHECK_TEXT(path, record->refused);
    record = harness_wait(harness, ask(harness, &llm, "image/png", "hi", 3996)); /* it has grown */
    CHECK_INT(SMA_MODEL_FAILURE_FILE, record->trouble);
    char other[160]; /* a link to a file of this length */
    snprintf(other, sizeof other, "%s/other", folder);
    CHECK(rename(path, other) == 0 && symlink(other, path) == 0);
    record = harness_wait(harness, ask(harness, &llm, "image/png", "hi", 4000));
    CHECK_INT(SMA_MODEL_FAILURE_FILE, record->trouble);
    CHECK(unlink(path) == 0 && unlink(other) == 0);
    record = harness_wait(harness, ask(harness, &llm, "image/png", "hi", 4000));
    CHECK_INT(SMA_MODEL_FAILURE_FILE, record->trouble);
    CHECK_TEXT(path, record->refused);
    CHECK_INT(0, harness_requests(harness, NULL)); /* nothing of it has left */
}

/* Of the length that it had: as a power cut leaves it, or made to end the string it stands in. */
CASE(what_is_no_base64_is_named)
{
    static const char *const others[] = {"\0\0\0\0", "\"}]}"};
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    llm.base_url = harness_url(harness);
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++) {
        write_png(400000);
        int descriptor = open(path, O_WRONLY);
        CHECK(descriptor >= 0 && pwrite(descriptor, others[i], 4, 300000) == 4);
        close(descriptor);
        const struct harness_record *record =
            harness_wait(harness, ask(harness, &llm, "image/png", "hi", 400000));
        CHECK_INT(SMA_MODEL_FAILED, record->status);
        CHECK_INT(SMA_MODEL_FAILURE_FILE, record->trouble);
        CHECK_TEXT(path, record->refused);
    }
}

CASE(the_log_shows_no_bytes)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    llm.logs_messages = true;
    setenv("SMA_LOG_LLM_PAYLOAD", "1", 1);
    struct harness *harness = harness_create(&llm, NULL);
    llm.base_url = harness_url(harness);
    write_png(4000);
    (void)harness_wait(harness, ask(harness, &llm, "image/png", "hi", 4000));
    harness_wait_log(harness, "===== LLM RESPONSE BEGIN");
    CHECK_INT(2, harness_log_count(harness, "base64,[picture 4000 bytes]"));
    CHECK_INT(0, harness_log_count(harness, "iVBORw0KGgo"));
    harness_destroy(harness);
    unsetenv("SMA_LOG_LLM_PAYLOAD");
}

/* -- byte for byte ----------------------------------------------------------------------------- */
static void answer(void *user, size_t number, const char *request, char *response, size_t size)
{
    (void)user, (void)request;
    if (number == 0)
        raw_fail(response, size, 503, "retry-after-ms: 5\r\n", "{}");
    else
        raw_say(response, size, "ok");
}

CASE(every_byte_is_that_of_the_file)
{
    static const char start[] = "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"";
    SMA_AUTO(raw_server_destroyp) struct raw_server *server = raw_server_create(answer, NULL);
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", raw_server_port(server));
    llm.base_url = url;
    struct harness *harness = harness_create(&llm, NULL);
    write_png(300000);
    size_t len = sizeof start - 1;
    struct harness_file twice[] = {{len, 300000, path}, {len, 300000, path}};
    struct sma_str body =
        SMA_STR("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"\"}]}");
    const struct harness_record *record =
        harness_wait(harness, harness_ask_files(harness, &llm, body, twice, 2));
    CHECK_TEXT("ok", record->text);
    CHECK_INT(2, raw_server_count(server));
    char *file = calloc(1, 300001);
    int descriptor = open(path, O_RDONLY);
    CHECK(file != NULL && read(descriptor, file, 300000) == 300000);
    close(descriptor);
    for (size_t i = 0; i < 2; i++) {
        const char *request = raw_server_request(server, i);
        char wanted[64];
        snprintf(wanted, sizeof wanted, "Content-Length: %zu", body.len + 600000);
        CHECK(strstr(request, wanted) != NULL);
        const char *sent = strstr(request, "\r\n\r\n");
        CHECK(sent != NULL && strlen(sent + 4) == body.len + 600000);
        CHECK(memcmp(sent + 4, body.ptr, len) == 0);
        CHECK(memcmp(sent + 4 + len, file, 300000) == 0);
        CHECK(memcmp(sent + 4 + len + 300000, file, 300000) == 0);
        CHECK_TEXT("\"}]}", sent + 4 + len + 600000);
    }
    free(file);
    harness_destroy(harness);
}

/* -- memory ------------------------------------------------------------------------------------ */
#define LARGE_BYTES 40000000

static long peak_kb(void)
{
    char line[128];
    long kb = -1;
    FILE *file = fopen("/proc/self/status", "r");
    CHECK(file != NULL);
    while (fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kb = strtol(line + 6, NULL, 10);
    fclose(file);
    return kb;
}

static void forget_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "w");
    CHECK(file != NULL && fputs("5", file) >= 0);
    CHECK(fclose(file) == 0);
}

/* The promise is 1.15 times its bytes. It is read when the network has room: a sixth, for what else
 * the program does meanwhile. */
CASE(a_picture_is_never_in_memory_as_a_whole)
{
    const char *const lax[] = {"--lax", NULL};
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    llm.first_byte_ms = llm.total_ms =
        PATIENCE_AWAIT_MS - 1000; /* the other side has to take it in */
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, lax);
    llm.base_url = harness_url(harness);
    write_png(LARGE_BYTES);
    harness_check_said(harness_wait(harness, ask(harness, &llm, "image/png", "a", LARGE_BYTES)),
                       "a");
    forget_peak();
    long before_kb = peak_kb();
    harness_check_said(harness_wait(harness, ask(harness, &llm, "image/png", "b", LARGE_BYTES)),
                       "b");
    CHECK(peak_kb() - before_kb < LARGE_BYTES / 1024 / 6);
}

int main(void)
{
    snprintf(folder, sizeof folder, "/tmp/sma-parts-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/%s.b64", folder, HASH);
    check_run_cases(NULL);
    (void)unlink(path);
    (void)rmdir(folder);
    return check_summary();
}
