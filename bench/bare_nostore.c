/*
 * bare_nostore.c — the reference of bench_ingress: the real HTTP adapter and the real mailboxes in
 * front of a store that keeps nothing and says "accepted" at once. Prints its port; ends on
 * SIGTERM.
 */
#include "adapters/http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    uint64_t *seq = state;
    if ((*msg)->kind == SMA_MSG_LIFE) {
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
        return;
    }
    if ((*msg)->kind != SMA_MSG_INGRESS)
        return;
    struct sma_msg *answer = SMA_MSG_NEW(SMA_MSG_ACCEPTED, struct sma_accepted, 0);
    if (answer == NULL)
        sma_ctx_fatal(ctx, "out of memory");
    SMA_MSG_BODY(answer, struct sma_accepted)->verdict = SMA_VERDICT_ACCEPTED;
    SMA_MSG_BODY(answer, struct sma_accepted)->seq = ++*seq;
    sma_ctx_answer(ctx, *msg, &answer);
}

int main(void)
{
    static const struct sma_actor_ops store_ops = {.name = "store", .handle = handle};
    uint64_t seq = 0;
    char dir[] = "/tmp/sma-nostore-XXXXXX", state_dir[64];
    if (mkdtemp(dir) == NULL)
        return 1;
    snprintf(state_dir, sizeof state_dir, "%s/.ship", dir);
    struct sma_config config = {.project_dir = dir,
                                .state_dir = state_dir,
                                .name = "bare",
                                .version = "1",
                                .start_host = "127.0.0.1",
                                .api_token = "the-token-of-the-benchmarks"}; /* BENCH_TOKEN */
    struct sma_system *system = sma_system_create(&(struct sma_system_options){0});
    struct sma_error error = {0};
    void *http = NULL;
    if (system == NULL || sma_http_adapter_ops.create(&config, NULL, &http, &error) != SMA_ERR_OK ||
        sma_system_add(system, SMA_ACTOR_STORE, &store_ops, &seq) != SMA_ERR_OK ||
        sma_system_add(system, SMA_ACTOR_ADAPTER_0, sma_http_adapter_ops.actor, http) !=
            SMA_ERR_OK ||
        sma_system_start(system, &error) != SMA_ERR_OK) {
        fprintf(stderr, "bare_nostore: %s\n", error.text);
        return 1;
    }
    printf("%d\n", sma_http_port(http));
    fflush(stdout);
    int status = sma_system_supervise(system, &(struct sma_supervise_options){.stop_fd = -1});
    sma_system_destroy(system);
    sma_http_adapter_ops.destroy(http);
    (void)rmdir(state_dir);
    (void)rmdir(dir);
    return status;
}
