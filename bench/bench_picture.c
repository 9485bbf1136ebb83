/*
 * bench_picture — a request with ten pictures: made by a run, and its bytes brought to where the
 * network takes them, against one memcpy of the same bytes.
 *   bench_picture [--quick] [--json FILE]
 */
#include "bench.h"
#include "unit/agent/run_driver.h"

#include <fcntl.h>

#define PICTURE_COUNT 10
#define CHUNK_BYTES 65536 /* of libcurl's uploads */
#define RUN_COUNT_MAX 15

static size_t picture_bytes = 4 * 1024 * 1024;
static char path[] = "/tmp/sma-picture-XXXXXX";
static int file;

/* As the model actor does: text is copied, files are read. */
static size_t send_all(const struct driver *driver, char *chunk)
{
    struct sma_model_ask ask;
    char *bytes = driver_request(driver, &ask);
    size_t sent = ask.body.len;
    for (uint32_t i = 0; i < ask.file_count; i++)
        for (size_t at = 0; at < picture_bytes;) {
            ssize_t len = pread(file, chunk, CHUNK_BYTES, (off_t)at);
            if (len <= 0)
                abort();
            at += (size_t)len;
            sent += (size_t)len;
        }
    free(bytes);
    return sent;
}

static void begin(struct driver *driver, struct sma_part *parts)
{
    static const struct sma_config_llm llm = {.api = SMA_LLM_MESSAGES,
                                              .provider = "anthropic",
                                              .model = "claude-sonnet-4-5",
                                              .base_url = "https://api.anthropic.com",
                                              .api_key = "k",
                                              .effort = "",
                                              .anthropic_version = "2023-06-01"};
    const struct sma_config_llm *llms[] = {&llm};
    driver_init(driver, SMA_LLM_MESSAGES);
    driver_targets(driver, llms, 1);
    for (size_t i = 0; i < PICTURE_COUNT; i++)
        parts[i] = (struct sma_part){
            .kind = SMA_PART_IMAGE, .path = SMA_STR("a.png"), .mime = SMA_STR("image/png")};
    driver->order.parts = parts;
    driver->order.part_count = PICTURE_COUNT;
    driver_start(driver);
    for (uint32_t i = 0; i < PICTURE_COUNT; i++) {
        char start[5];
        snprintf(start, sizeof start, "%04x", i);
        driver_encoded_at(driver, i, &parts[i], start, NULL);
    }
}

int main(int argc, char **argv)
{
    struct driver driver;
    struct sma_part parts[PICTURE_COUNT];
    double build[RUN_COUNT_MAX], whole[RUN_COUNT_MAX], ratio[RUN_COUNT_MAX];
    bench_open(argc, argv, "picture");
    size_t count = bench_is_quick ? 3 : RUN_COUNT_MAX;
    char *from = malloc(picture_bytes), *to = malloc(picture_bytes), *chunk = malloc(CHUNK_BYTES);
    file = mkstemp(path);
    if (from == NULL || to == NULL || chunk == NULL || file < 0)
        abort();
    memset(from, 'A', picture_bytes);
    memset(to, 'B', picture_bytes);
    if (write(file, from, picture_bytes) != (ssize_t)picture_bytes)
        abort();
    begin(&driver, parts);
    for (size_t i = 0; i < count; i++) {
        struct sma_model_ask ask;
        uint64_t at = bench_now_ns();
        for (size_t k = 0; k < PICTURE_COUNT; k++) {
            memcpy(to, from, picture_bytes);
            __asm__ volatile("" ::"r"(to) : "memory");
        }
        uint64_t copied_ns = bench_now_ns() - at;
        at = bench_now_ns();
        free(driver_request(&driver, &ask));
        build[i] = (double)(bench_now_ns() - at) / 1e3;
        at = bench_now_ns();
        (void)send_all(&driver, chunk);
        uint64_t sent_ns = bench_now_ns() - at;
        whole[i] = (double)sent_ns / 1e3;
        ratio[i] = (double)sent_ns / (double)copied_ns;
    }
    bench_row("ten pictures: request made", bench_median(build, count), "us", NAN, NAN, NULL);
    bench_row("ten pictures: 40 MiB brought out", bench_median(whole, count), "us", NAN,
              bench_median(ratio, count), "<= 2");
    driver_fini(&driver);
    unlink(path);
    close(file);
    free(from);
    free(to);
    free(chunk);
    return bench_close();
}
