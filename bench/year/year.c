/*
 * year — make a project folder as it looks after a year: state.db of today's schema, .ship/chats
 * with archives, people, standing permissions, parked requests, strangers.
 *
 *   year --binary SHIPMYAGENT --model FAKE_MODEL --out DIR [--messages N] [--chats N] [--claims N]
 *   [--turns N] [--text BYTES]
 *        [--grants N] [--parked N] [--people N] [--strangers N] [--deliveries N] [--days N]
 *        [--no-history]
 *
 * The real service does each thing once in a scratch project; what it left is multiplied (year.h).
 * DIR must not exist. DIR/year.json says what was made. The project's ship.json is for a Telegram
 * server on a port that whoever starts it puts in (bench_year does).
 */
#include "year.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

void year_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("year: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

static void usage(void)
{
    fputs(
        "usage: year --binary PATH --model PATH --out DIR [--messages N] [--chats N] [--claims N]\n"
        "            [--turns N] [--text BYTES] [--grants N] [--parked N] [--people N] "
        "[--strangers N]\n"
        "            [--deliveries N] [--days N] [--no-history]\n"
        "  --messages  said in the year (10,000,000); each has an answer\n"
        "  --claims    of them still in state.db (1,000,000), --turns kept a chat (60)\n"
        "  --text      bytes of what a person says (120); the answer repeats it\n",
        stderr);
    exit(2);
}

static void read_options(int argc, char **argv, struct year_options *options)
{
    struct
    {
        const char *name;
        uint64_t *number;
    } numbers[] = {{"--messages", &options->messages},   {"--chats", &options->chats},
                   {"--claims", &options->claims},       {"--grants", &options->grants},
                   {"--parked", &options->parked},       {"--people", &options->people},
                   {"--strangers", &options->strangers}, {"--deliveries", &options->deliveries}};
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(name, "--no-history") == 0) {
            options->has_history = false;
            continue;
        }
        if (value == NULL)
            usage();
        i++;
        bool is_known = true;
        if (strcmp(name, "--binary") == 0)
            options->binary = value;
        else if (strcmp(name, "--model") == 0)
            options->model = value;
        else if (strcmp(name, "--out") == 0)
            options->out = value;
        else if (strcmp(name, "--turns") == 0)
            options->turns = (uint32_t)strtoul(value, NULL, 10);
        else if (strcmp(name, "--text") == 0)
            options->text_bytes = (uint32_t)strtoul(value, NULL, 10);
        else if (strcmp(name, "--days") == 0)
            options->days = (uint32_t)strtoul(value, NULL, 10);
        else
            is_known = false;
        for (size_t j = 0; j < SMA_COUNT_OF(numbers) && !is_known; j++)
            if (strcmp(name, numbers[j].name) == 0) {
                *numbers[j].number = strtoull(value, NULL, 10);
                is_known = true;
            }
        if (!is_known)
            usage();
    }
    options->binary = options->binary == NULL ? NULL : realpath(options->binary, NULL);
    if (options->binary == NULL || options->model == NULL || options->out == NULL ||
        options->chats == 0 || options->messages < options->chats || options->text_bytes < 20 ||
        options->text_bytes > 4000 || options->days == 0)
        usage();
}

static void make_folders(const struct year_options *options)
{
    static const char *const names[] = {"", "/.ship", "/.ship/chats"};
    char path[512];
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        snprintf(path, sizeof path, "%s%s", options->out, names[i]);
        if (mkdir(path, 0700) != 0)
            year_die("%s cannot be made, or is there already", path);
    }
    snprintf(path, sizeof path, "%s/Agent.md", options->out);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        year_die("%s cannot be written", path);
    fputs("# helper\n", file);
    fclose(file);
}

static void write_manifest(const struct year_plan *plan, const struct year_mould *mould,
                           double seconds)
{
    const struct year_options *options = plan->options;
    char path[512];
    snprintf(path, sizeof path, "%s/year.json", options->out);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        year_die("%s cannot be written", path);
    uint64_t total = plan->before[plan->rounds];
    fprintf(
        file,
        "{\"messages\":%llu,\"chats\":%llu,\"claims\":%llu,\"turns\":%u,\"grants\":%llu,"
        "\"parked\":%llu,\"people\":%llu,\"strangers\":%llu,\"deliveries\":%llu,\"firstId\":%llu,"
        "\"turnSeqs\":%u,\"seconds\":%.1f}\n",
        (unsigned long long)total, (unsigned long long)options->chats,
        (unsigned long long)(options->claims < total ? options->claims : total), options->turns,
        (unsigned long long)options->grants, (unsigned long long)options->parked,
        (unsigned long long)options->people, (unsigned long long)options->strangers,
        (unsigned long long)options->deliveries, (unsigned long long)YEAR_ID_FIRST,
        mould->seqs[YEAR_TURN], seconds);
    fclose(file);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
    struct year_options options = {.messages = 10000000,
                                   .chats = 50000,
                                   .claims = 1000000,
                                   .turns = 60,
                                   .text_bytes = 120,
                                   .grants = 60000,
                                   .parked = 10000,
                                   .days = 365,
                                   .has_history = true};
    read_options(argc, argv, &options);
    if (options.people < options.chats)
        options.people = options.chats;
    signal(SIGPIPE, SIG_IGN);
    double begun = now_s();
    struct year_mould mould;
    struct year_plan plan;
    year_mould_make(&options, &mould);
    year_plan_make(&options, mould.seqs[YEAR_TURN], &plan);
    make_folders(&options);
    double made = now_s();
    year_write_database(&plan, &mould);
    double written = now_s();
    if (options.has_history)
        year_write_history(&plan, &mould);
    double ended = now_s();
    write_manifest(&plan, &mould, ended - begun);
    printf("year: %llu messages in %llu chats: mould %.1f s, database %.1f s, history %.1f s\n",
           (unsigned long long)plan.before[plan.rounds], (unsigned long long)options.chats,
           made - begun, written - made, ended - written);
    year_plan_end(&plan);
    year_mould_end(&mould);
    return 0;
}
