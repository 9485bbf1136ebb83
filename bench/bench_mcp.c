/*
 * bench_mcp — a call of a tool over stdio, from the agent's question to its answer, against the
 * same line written to the same server by a program that does nothing else.
 *
 * Both are taken in turn in the same run; what a call costs more than the bare pipe is ours.
 */
#include "bench.h"

#include "unit/mcp/actor_world.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#ifndef SMA_FAKE_MCP
#define SMA_FAKE_MCP "fake_mcp" /* the build says where it is */
#endif
#define CALL_COUNT_MAX 400 /* of one round */
#define ROUND_COUNT 2

static uint64_t actor_ns[CALL_COUNT_MAX * ROUND_COUNT], bare_ns[CALL_COUNT_MAX * ROUND_COUNT];

/* -- the bare pipe ----------------------------------------------------------------------------- */
struct bare
{
    pid_t pid;
    FILE *to, *from;
    char *line;
    size_t size;
};

static void bare_open(struct bare *bare)
{
    int in[2], out[2];
    *bare = (struct bare){.line = NULL};
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    bare->pid = fork();
    if (bare->pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execl(SMA_FAKE_MCP, SMA_FAKE_MCP, "good", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    bare->to = fdopen(in[1], "w");
    bare->from = fdopen(out[0], "r");
    CHECK(bare->pid > 0 && bare->to != NULL && bare->from != NULL);
}

static uint64_t bare_call(struct bare *bare, int id)
{
    uint64_t begin = bench_now_ns();
    fprintf(
        bare->to,
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
        "\"arguments\":{\"message\":\"hi\"},\"_meta\":{\"progressToken\":%d}}}\n",
        id, id);
    CHECK(fflush(bare->to) == 0);
    CHECK(getline(&bare->line, &bare->size, bare->from) > 0);
    uint64_t took = bench_now_ns() - begin;
    CHECK(strstr(bare->line, "\"hi\"") != NULL);
    return took;
}

static void bare_close(struct bare *bare)
{
    fclose(bare->to);
    fclose(bare->from);
    free(bare->line);
    CHECK(waitpid(bare->pid, NULL, 0) == bare->pid);
}

/* -- both -------------------------------------------------------------------------------------- */
int main(int argc, char **argv)
{
    bench_open(argc, argv, "mcp");
    size_t per_round = bench_is_quick ? 100 : CALL_COUNT_MAX, count = 0;
    struct bare bare;
    for (int round = 0; round < ROUND_COUNT; round++) {
        struct world *world = world_create((const char *const[]){"a", "good", NULL}, "");
        world_await_state(world, "a", SMA_MCP_CONNECTED);
        bare_open(&bare); /* waited for before world_destroy, which counts what is left */
        for (size_t i = 0; i < per_round; i++, count++) {
            const struct world_call *call = world_do(world, "a", "echo", "{\"message\":\"hi\"}");
            CHECK_INT(SMA_MCP_OK, call->outcome);
            actor_ns[count] = call->answered_ns - call->asked_ns;
            bare_ns[count] = bare_call(&bare, (int)i + 1);
        }
        bare_close(&bare);
        world_destroy(world);
    }
    bench_sort(actor_ns, count);
    bench_sort(bare_ns, count);
    double actor = (double)bench_quantile(actor_ns, count, 0.5) / 1e3;
    double pipe = (double)bench_quantile(bare_ns, count, 0.5) / 1e3;
    bench_row("MCP call over stdio, p50", actor, "us", pipe, actor / pipe, NULL);
    bench_row("MCP call over stdio, p99", (double)bench_quantile(actor_ns, count, 0.99) / 1e3, "us",
              (double)bench_quantile(bare_ns, count, 0.99) / 1e3, NAN, NULL);
    bench_row("of it ours, p50", actor - pipe, "us", NAN, NAN, "<= 300 us");
    return bench_close();
}
