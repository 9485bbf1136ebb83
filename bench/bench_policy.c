/*
 * bench_policy — how long one decision about a command takes: parse, unwrap, rules.
 *
 * The commands are those of the tests (ordinary ones and bypasses), each decided alone and timed by
 * itself, the rules those of the tests (50), then with 1,000 more that match nothing. Beside it the
 * largest command that is read at all.
 */
#include "bench.h"

#include "runtime/policy/policy.h"
#include "runtime/policy/shell.h"
#include "unit/approval/bypasses.h"

#define ROUND_COUNT 200
#define EXTRA_RULE_COUNT 900

static struct sma_shell *shell;

static uint64_t time_once(const struct sma_policy *policy, struct sma_str command)
{
    struct sma_policy_query query = {.command = command,
                                     .project_dir = SMA_STR("/home/someone/project")};
    struct sma_policy_decision decision;
    uint64_t begin = bench_now_ns();
    sma_policy_decide(policy, shell, &query, &decision);
    uint64_t took = bench_now_ns() - begin;
    if (decision.reason[0] == '\0')
        abort();
    return took;
}

static void report(const char *name, const struct sma_policy *policy, const char *const *commands,
                   size_t count, const char *target)
{
    size_t rounds = bench_is_quick ? ROUND_COUNT / 10 : ROUND_COUNT;
    uint64_t *samples = malloc(rounds * count * sizeof *samples);
    if (samples == NULL)
        abort();
    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < count; i++)
            samples[round * count + i] = time_once(policy, sma_str(commands[i]));
    bench_sort(samples, rounds * count);
    char line[96];
    static const double quantiles[] = {0.5, 0.99, 0.999};
    static const char *const names[] = {"p50", "p99", "p99.9"};
    for (size_t i = 0; i < SMA_COUNT_OF(quantiles); i++) {
        snprintf(line, sizeof line, "%s, %s", name, names[i]);
        bench_row(line, (double)bench_quantile(samples, rounds * count, quantiles[i]) / 1e3, "us",
                  NAN, NAN, i == 1 ? target : NULL);
    }
    free(samples);
}

/* The rules of the tests and many that match nothing. */
static struct sma_policy *load_many_rules(void)
{
    size_t size = strlen(BYPASS_PERMISSIONS) + EXTRA_RULE_COUNT * 24;
    char *text = malloc(size);
    if (text == NULL)
        abort();
    const char *list = strstr(BYPASS_PERMISSIONS, "\"allow\":[") + strlen("\"allow\":[");
    size_t len = (size_t)(list - BYPASS_PERMISSIONS);
    memcpy(text, BYPASS_PERMISSIONS, len);
    for (int i = 0; i < EXTRA_RULE_COUNT; i++)
        len += (size_t)snprintf(text + len, size - len, "\"unused%d sub\",", i);
    snprintf(text + len, size - len, "%s", list);
    struct sma_policy *policy = NULL;
    if (sma_policy_load(text, &policy, NULL) != SMA_ERR_OK)
        abort();
    free(text);
    return policy;
}

static void report_largest(const struct sma_policy *policy)
{
    static char text[SMA_SHELL_TEXT_BYTES_MAX];
    memset(text, 'x', sizeof text);
    memcpy(text, "echo '", 6);
    text[sizeof text - 1] = '\'';
    uint64_t samples[64];
    for (size_t i = 0; i < SMA_COUNT_OF(samples); i++)
        samples[i] = time_once(policy, (struct sma_str){text, sizeof text});
    bench_sort(samples, SMA_COUNT_OF(samples));
    bench_row("a command of 64 KiB, p50",
              (double)bench_quantile(samples, SMA_COUNT_OF(samples), 0.5) / 1e3, "us", NAN, NAN,
              NULL);
}

int main(int argc, char **argv)
{
    bench_open(argc, argv, "policy");
    struct sma_policy *policy = NULL;
    shell = sma_shell_create();
    if (shell == NULL || sma_policy_load(BYPASS_PERMISSIONS, &policy, NULL) != SMA_ERR_OK)
        abort();
    report("ordinary commands", policy, ORDINARY, ORDINARY_COUNT, "<=20 us");
    report("bypass attempts", policy, BYPASSES, BYPASS_COUNT, "<=20 us");
    struct sma_policy *many = load_many_rules();
    report("ordinary commands, 950 rules", many, ORDINARY, ORDINARY_COUNT, NULL);
    report_largest(policy);
    sma_policy_destroy(policy);
    sma_policy_destroy(many);
    sma_shell_destroy(shell);
    return bench_close();
}
