/*
 * What a long conversation costs: deciding whether it is too long, and building a request of it;
 * memory of a session as large as a window of a million tokens.
 *
 *   bench_context [--quick]
 *
 * One run on a session of this many bytes (turns of 2.5 kB), as the agent does it: session_fit and
 * the decision, the size, the bytes. memcpy of the same bytes stands beside it.
 */
#include "unit/agent/run_driver.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TURN_BYTES 1250 /* of the message, and of the answer */

static double now_us(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec * 1e6 + (double)at.tv_nsec / 1e3;
}

static void fill(struct driver *d, size_t bytes)
{
    char text[TURN_BYTES], user[TURN_BYTES + 64], answer[TURN_BYTES + 64];
    memset(text, 'w', sizeof text);
    for (size_t i = 6; i < sizeof text; i += 7)
        text[i] = ' ';
    snprintf(user, sizeof user, "{\"role\":\"user\",\"content\":\"%.*s\"}", TURN_BYTES - 64, text);
    snprintf(answer, sizeof answer, "{\"role\":\"assistant\",\"content\":\"%.*s\"}",
             TURN_BYTES - 64, text);
    struct sma_str fragments[] = {sma_str(user), sma_str(answer)};
    struct sma_str block = {text, TURN_BYTES - 64};
    const struct sma_stored_turn turn = {.message_count = 2,
                                         .block_count = 1,
                                         .blocks = &block,
                                         .fragment_count = 2,
                                         .fragments = fragments,
                                         .text = block,
                                         .key = sma_str(d->settings->targets[0].key)};
    for (uint64_t seq = 1; d->session->bytes < bytes; seq++)
        CHECK_OK(sma_session_append(d->sessions, d->session, seq, &turn));
    d->order.seq = 1000000;
}

static void measure(size_t bytes, int rounds)
{
    struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    struct sma_config_llm large = d.config.llm;
    const struct sma_config_llm *llm = &large;
    large.context_tokens = 4000000;
    driver_targets(&d, &llm, 1);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    fill(&d, bytes);
    size_t memory = mallinfo2().uordblks + mallinfo2().hblkhd - before;
    driver_start(&d);
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
    size_t size = sma_run_request_size(d.run);
    char *request = malloc(size), *copy = malloc(size);
    CHECK(request != NULL && copy != NULL);
    double decide = 0, build = 0, plain = 0;
    for (int i = 0; i < rounds; i++) {
        struct sma_model_ask ask = {0};
        double start = now_us();
        driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_CLEARED}); /* asks anew */
        double decided = now_us();
        sma_run_request_write(d.run, request, &ask);
        double built = now_us();
        memcpy(copy, request, size);
        double copied = now_us();
        decide += decided - start;
        build += built - decided;
        plain += copied - built;
    }
    printf("session %.1f MB, %u turns: decide %.1f us, build %.1f us (memcpy %.1f us), "
           "memory %.2f MB\n",
           (double)bytes / 1e6, d.session->turn_count, decide / rounds, build / rounds,
           plain / rounds, (double)memory / 1e6);
    free(request);
    free(copy);
    driver_fini(&d);
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 && strcmp(argv[1], "--quick") == 0 ? 50 : 500;
    measure(20000, rounds);
    measure(1000000, rounds);
    measure(5000000, rounds / 5);
    return 0;
}
