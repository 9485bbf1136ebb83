/*
 * hunt.c — random commands: whatever the policy allows starts only the programs and writes only the
 * files that it may.
 *
 * Aim: the direction of proof of the command policy. Method: texts of the generator are decided;
 * each that is `allow` is run by sh and by bash in the scratch system, and the oracle judges what
 * the observer saw. Every text that was ever a violation is tried first (the file `seeds`).
 *
 *   policy_hunt [--count N] [--seed N] [--jobs N] [--seeds FILE] [--first] [--one] [--list N]
 *     --seed   of the first text; the n-th has seed+n          --one   this seed alone, and
 *       everything that it does
 *     --first  stop at the first violation                       --text  a text instead of seeds
 *       (with --policy N)
 *     --list   print the texts and run nothing                   --all    tell every violation, not
 *       one of each kind
 *     --allowed  print the seeds whose texts are allowed and run nothing
 *     --only     a file of seeds, one a line: these instead of --count
 * Without --count and --seed: SMA_HUNT_COUNT, else 100,000; SMA_SEED, else 1.
 * Exit: 0 no violation, 1 violations, 77 this machine has no namespaces or no seccomp for us.
 */
#include "generate.h"
#include "observe.h"
#include "oracle.h"
#include "project.h"

#include "runtime/files/check.h"
#include "runtime/policy/shell.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOB_COUNT_MAX 64
#define TOLD_COUNT_MAX 256
#define EXIT_SKIPPED 77
#define SEEDS_BYTES_MAX (1 << 20)

struct options
{
    uint64_t count, seed;
    unsigned jobs, policy;
    const char *text;
    char *seeds, *only; /* the contents of files: the scratch system does not have them */
    bool stops_at_first, is_one, is_list, tells_all, is_decided_only;
};

/* What the workers share; each counts in its own place. */
struct shared
{
    struct
    {
        uint64_t tried, allowed, run, late, full, violations;
    } jobs[JOB_COUNT_MAX];
    volatile bool is_over;
};

struct worker
{
    const struct options *options;
    struct shared *shared;
    unsigned index;
    struct observer *observer;
    struct sma_tool_rules *rules[PROJECT_POLICY_COUNT]; /* as the service has them */
    struct sma_shell *shell;
    struct observation *seen;
    int report;
};

/* One violation, as it goes to the parent: less than PIPE_BUF, so that it comes whole. */
struct report
{
    uint64_t seed; /* UINT64_MAX: a text of the seeds file */
    unsigned policy;
    bool is_bash;
    struct violation violation;
    char text[3200];
};

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool is_dirty(const struct observation *seen)
{
    for (uint32_t i = 0; i < seen->count; i++) {
        const struct saw *saw = &seen->items[i];
        if ((saw->kind == SAW_WRITE || saw->kind == SAW_REMOVE || saw->kind == SAW_CHANGE) &&
            (strncmp(saw->path, "/home", 5) == 0 || strncmp(saw->path, "/tmp", 4) == 0))
            return true;
    }
    return seen->is_full || seen->is_late;
}

static void show(const struct observation *seen)
{
    for (uint32_t i = 0; i < seen->count; i++) {
        const struct saw *saw = &seen->items[i];
        printf("    %s %s (%s) by %s", saw_kind_name(saw->kind), saw->path, saw->call, saw->by);
        for (uint32_t k = 0; k < saw->arg_count; k++)
            printf(" [%s]", saw->args[k]);
        printf("\n");
    }
}

/* Decide about one text and, where it is allowed, run it; true: a violation was reported. */
static bool try_text(struct worker *worker, const char *text, unsigned policy, uint64_t seed)
{
    static const char *const shells[] = {"/bin/sh", "/bin/bash"};
    struct sma_policy_decision decision;
    bool is_told = false, is_verbose = worker->options->is_one;
    sma_tool_rules_decide(worker->rules[policy], worker->shell, sma_str(text), &decision);
    worker->shared->jobs[worker->index].tried++;
    if (is_verbose)
        printf("%s\n  policy %u: %s (%s)\n", text, policy,
               sma_policy_verdict_name(decision.verdict), decision.reason);
    if (decision.verdict != SMA_POLICY_ALLOW)
        return false;
    worker->shared->jobs[worker->index].allowed++;
    if (worker->options->is_decided_only) {
        printf("%llu\n", (unsigned long long)seed);
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        struct report report = {.seed = seed, .policy = policy, .is_bash = i == 1};
        observer_run(worker->observer, shells[i], text, worker->seen);
        worker->shared->jobs[worker->index].run++;
        worker->shared->jobs[worker->index].late += worker->seen->is_late;
        worker->shared->jobs[worker->index].full += worker->seen->is_full;
        if (is_verbose) {
            printf("  %s: status %d%s\n", shells[i], worker->seen->status,
                   worker->seen->is_late ? ", late" : "");
            show(worker->seen);
        }
        if (oracle_find(worker->shell, policy, worker->seen, &report.violation)) {
            worker->shared->jobs[worker->index].violations++;
            snprintf(report.text, sizeof report.text, "%s", text);
            is_told = write(worker->report, &report, sizeof report) == sizeof report;
        }
        if (is_dirty(worker->seen))
            project_reset();
    }
    return is_told;
}

/* A line of the seeds file: the policy's number, a blank, the text with \n, \t and \\ as in C. */
static void try_line(struct worker *worker, const char *line, size_t len)
{
    char text[GENERATE_BYTES_MAX];
    size_t to = 0;
    if (len < 3 || line[0] < '0' || line[0] >= '0' + PROJECT_POLICY_COUNT || line[1] != ' ')
        return; /* a comment */
    for (size_t i = 2; i < len && to + 1 < sizeof text; i++) {
        bool is_escape = line[i] == '\\' && i + 1 < len && strchr("nt\\", line[i + 1]) != NULL;
        if (is_escape)
            i++;
        text[to++] = !is_escape ? line[i] : line[i] == 'n' ? '\n' : line[i] == 't' ? '\t' : '\\';
    }
    text[to] = '\0';
    (void)try_text(worker, text, (unsigned)(line[0] - '0'), UINT64_MAX); /* counted there */
}

static void try_seeds(struct worker *worker)
{
    unsigned index = 0;
    for (const char *line = worker->options->seeds; line != NULL && *line != '\0'; index++) {
        const char *end = strchrnul(line, '\n');
        if (index % worker->options->jobs == worker->index)
            try_line(worker, line, (size_t)(end - line));
        line = *end == '\0' ? end : end + 1;
    }
}

/* In the scratch system: the rules hold the project's folder. */
static bool load_rules(struct worker *worker)
{
    static char project[] = OBSERVER_PROJECT;
    for (size_t i = 0; i < PROJECT_POLICY_COUNT; i++) {
        struct sma_error error;
        char *permissions = strdup(PROJECT_POLICIES[i]);
        struct sma_config config = {.project_dir = project, .permissions_json = permissions};
        enum sma_err err = sma_tool_rules_create(&config, &worker->rules[i], &error);
        free(permissions);
        if (err != SMA_ERR_OK) {
            fprintf(stderr, "hunt: policy %zu: %s\n", i, error.text);
            return false;
        }
    }
    return true;
}

static bool set_up(struct worker *worker)
{
    char why[256];
    /* every second worker is an ordinary user: what root may and he may not differs */
    unsigned uid = worker->index % 2 == 0 ? 0 : 1000;
    worker->shell = sma_shell_create();
    worker->seen = calloc(1, sizeof *worker->seen);
    worker->observer =
        worker->shell == NULL || worker->seen == NULL ? NULL : observer_enter(uid, why, sizeof why);
    if (worker->observer == NULL)
        fprintf(stderr, "hunt: no scratch system: %s\n", why);
    else if (!project_make())
        fprintf(stderr, "hunt: no scratch project\n");
    else
        return load_rules(worker);
    return false;
}

static void try_seed(struct worker *worker, uint64_t seed)
{
    char text[GENERATE_BYTES_MAX];
    unsigned policy;
    generate(seed, text, &policy);
    if (try_text(worker, text, policy, seed) && worker->options->stops_at_first)
        worker->shared->is_over = true;
}

static void try_range(struct worker *worker)
{
    const struct options *options = worker->options;
    uint64_t count = options->only == NULL ? options->count : 0;
    for (uint64_t i = worker->index; i < count && !worker->shared->is_over; i += options->jobs)
        try_seed(worker, options->seed + i);
}

static void try_only(struct worker *worker)
{
    unsigned index = 0;
    for (char *line = worker->options->only;
         line != NULL && *line != '\0' && !worker->shared->is_over; index++) {
        uint64_t seed = strtoull(line, NULL, 10);
        line = strchrnul(line, '\n');
        line += *line == '\n';
        if (index % worker->options->jobs == worker->index)
            try_seed(worker, seed);
    }
}

static void work(struct worker *worker)
{
    const struct options *options = worker->options;
    if (!set_up(worker))
        _exit(EXIT_SKIPPED);
    if (options->text != NULL) {
        (void)try_text(worker, options->text, options->policy, UINT64_MAX); /* counted there */
    } else {
        try_seeds(worker);
        try_range(worker);
        try_only(worker);
    }
    fflush(stdout);
    observer_leave(worker->observer);
    _exit(0);
}

/* -- the parent -------------------------------------------------------------------------------- */
static void put_escaped(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n' || *text == '\t' || *text == '\\')
            printf("\\%c", *text == '\n' ? 'n' : *text == '\t' ? 't' : '\\');
        else
            putchar(*text);
    }
}

/* One of each kind is told in full. */
static void tell(const struct options *options, const struct report *report, double begun)
{
    static char told[TOLD_COUNT_MAX][sizeof report->violation.signature];
    static size_t told_count;
    for (size_t i = 0; i < told_count && !options->tells_all; i++)
        if (strcmp(told[i], report->violation.signature) == 0)
            return;
    if (told_count < TOLD_COUNT_MAX)
        strcpy(told[told_count++], report->violation.signature);
    if (report->seed == UINT64_MAX)
        printf("VIOLATION [%s] of the seeds, %s, %.1f s\n", report->violation.signature,
               report->is_bash ? "bash" : "sh", seconds() - begun);
    else
        printf("VIOLATION [%s] --seed %llu, %s, %.1f s\n", report->violation.signature,
               (unsigned long long)report->seed, report->is_bash ? "bash" : "sh",
               seconds() - begun);
    printf("  %u ", report->policy);
    put_escaped(report->text);
    printf("\n  %s\n", report->violation.what);
    fflush(stdout);
}

static int sum_up(const struct options *options, const struct shared *shared, double begun)
{
    uint64_t tried = 0, allowed = 0, run = 0, late = 0, full = 0, violations = 0;
    for (unsigned i = 0; i < options->jobs; i++) {
        tried += shared->jobs[i].tried;
        allowed += shared->jobs[i].allowed;
        run += shared->jobs[i].run;
        late += shared->jobs[i].late;
        full += shared->jobs[i].full;
        violations += shared->jobs[i].violations;
    }
    double took = seconds() - begun;
    printf("hunt: %llu commands from seed %llu, %llu allowed (%.0f %%), %llu runs, %llu late, %llu "
           "cut, %llu violations, "
           "%.0f s, %.2f ms a run\n",
           (unsigned long long)tried, (unsigned long long)options->seed,
           (unsigned long long)allowed, tried == 0 ? 0 : 100.0 * (double)allowed / (double)tried,
           (unsigned long long)run, (unsigned long long)late, (unsigned long long)full,
           (unsigned long long)violations, took,
           run == 0 ? 0 : took * 1000 * options->jobs / (double)run);
    return violations != 0;
}

static int hunt(const struct options *options)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ends[2], worst = 0;
    double begun = seconds();
    if (shared == MAP_FAILED || pipe2(ends, O_CLOEXEC) != 0)
        return 1;
    fflush(stdout);
    for (unsigned i = 0; i < options->jobs; i++) {
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* a hunt that is stopped leaves nobody */
            struct worker worker = {
                .options = options, .shared = shared, .index = i, .report = ends[1]};
            close(ends[0]);
            work(&worker);
        }
        if (child < 0)
            return 1;
    }
    close(ends[1]);
    struct report report;
    while (read(ends[0], &report, sizeof report) == sizeof report)
        tell(options, &report, begun);
    for (int status; wait(&status) > 0;) {
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
        worst = code > worst ? code : worst;
    }
    return worst != 0 ? worst : sum_up(options, shared, begun);
}

static void list(const struct options *options)
{
    char text[GENERATE_BYTES_MAX];
    unsigned policy;
    for (uint64_t i = 0; i < options->count; i++) {
        generate(options->seed + i, text, &policy);
        printf("%llu %u ", (unsigned long long)(options->seed + i), policy);
        put_escaped(text);
        printf("\n");
    }
}

static char *read_seeds(const char *path)
{
    FILE *file = fopen(path, "re");
    char *bytes = calloc(1, SEEDS_BYTES_MAX);
    if (file == NULL || bytes == NULL || fread(bytes, 1, SEEDS_BYTES_MAX - 1, file) == 0) {
        fprintf(stderr, "hunt: no seeds in %s\n", path);
        exit(2);
    }
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    const char *count = getenv("SMA_HUNT_COUNT"), *seed = getenv("SMA_SEED");
    struct options options = {.count = count != NULL ? strtoull(count, NULL, 10) : 100000,
                              .seed = seed != NULL ? strtoull(seed, NULL, 10) : 1,
                              .jobs = 2};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        options.stops_at_first |= strcmp(name, "--first") == 0;
        options.is_one |= strcmp(name, "--one") == 0;
        options.is_list |= strcmp(name, "--list") == 0;
        options.tells_all |= strcmp(name, "--all") == 0;
        options.is_decided_only |= strcmp(name, "--allowed") == 0;
        if (strstr("--first --one --list --allowed", name) != NULL || strcmp(name, "--all") == 0)
            continue;
        i++;
        if (strcmp(name, "--count") == 0)
            options.count = strtoull(value, NULL, 10);
        else if (strcmp(name, "--seed") == 0)
            options.seed = strtoull(value, NULL, 10);
        else if (strcmp(name, "--jobs") == 0)
            options.jobs = (unsigned)strtoul(value, NULL, 10);
        else if (strcmp(name, "--policy") == 0)
            options.policy = (unsigned)strtoul(value, NULL, 10) % PROJECT_POLICY_COUNT;
        else if (strcmp(name, "--text") == 0)
            options.text = value;
        else if (strcmp(name, "--seeds") == 0)
            options.seeds = read_seeds(value);
        else if (strcmp(name, "--only") == 0)
            options.only = read_seeds(value);
        else
            return fprintf(stderr, "hunt: unknown option %s; see the head of hunt.c\n", name), 2;
    }
    if (options.text != NULL || options.is_one) {
        options.is_one = true;
        options.jobs = 1;
        options.count = 1;
    }
    if (options.jobs == 0 || options.jobs > JOB_COUNT_MAX)
        options.jobs = 2;
    if (options.is_list)
        return list(&options), 0;
    return hunt(&options);
}
