/*
 * runs.c — `shipmyagent runs`: which messages are answered, wait, failed, and what they wait for.
 */
#include "cli.h"

#include "api.h"
#include "commands.h"
#include "log_read.h"
#include "sma/text.h"
#include "status_head.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

struct runs_options
{
    const char *chat, *status;
    int64_t limit;
    bool is_json;
};

static int read_options(int argc, char **argv, struct runs_options *options)
{
    int option;
    while ((option = sma_cli_option(&sma_cli_command_runs, argc, argv)) != -1) {
        if (option == '?')
            return 1;
        if (option == 'o')
            options->status = "open";
        if (option == 'f')
            options->status = "failed";
        if (option == 'c')
            options->chat = optarg;
        options->is_json = options->is_json || option == 'j';
        if (option == 'n' && sma_parse_i64(sma_str(optarg), 1, 200, &options->limit) != SMA_ERR_OK)
            return sma_cli_fail("runs: --limit is a number from 1 to 200, not %s", optarg);
    }
    if (argc - optind > 1)
        return sma_cli_fail("runs: only one folder can be asked; what is %s for?",
                            argv[optind + 1]);
    return 0;
}

static void put_path(struct sma_buf *path, const struct runs_options *options)
{
    sma_buf_printf(path, "/api/runs?limit=%lld", (long long)options->limit);
    if (options->status != NULL)
        sma_buf_printf(path, "&status=%s", options->status);
    if (options->chat != NULL) {
        sma_buf_put_text(path, "&chatKey=");
        sma_cli_put_encoded(path, options->chat);
    }
}

/* What became of it, or what it waits for. */
static void print_fate(const json_t *run)
{
    const char *waits = sma_cli_log_text(run, "waitsFor"),
               *reason = sma_cli_log_text(run, "reason");
    const json_t *took = json_object_get(run, "durationMs");
    char text[32];
    if (waits[0] != '\0') {
        fputs("waits for ", stdout);
        sma_cli_print_clean(sma_str(waits));
    } else if (reason[0] != '\0') {
        sma_cli_print_clean(sma_str(reason));
    } else if (took != NULL) {
        sma_cli_format_duration((long long)json_integer_value(took), text);
        fputs(text, stdout);
    }
}

static void print_run(const json_t *run)
{
    char time[32];
    const char *name = sma_cli_log_text(run, "userName"), *user = sma_cli_log_text(run, "userId");
    sma_cli_log_local_time(sma_cli_log_text(run, "acceptedAt"), time);
    printf("%-8s %-19s %-17s ", sma_cli_log_text(run, "runId"), time,
           sma_cli_log_text(run, "status"));
    sma_cli_print_clean(sma_str(sma_cli_log_text(run, "chatKey")));
    fputs("  ", stdout);
    sma_cli_print_clean(sma_str(name[0] != '\0' ? name : user));
    fputs("  ", stdout);
    print_fate(run);
    putchar('\n');
}

static void print_runs(const json_t *root, const struct runs_options *options)
{
    const json_t *runs = json_object_get(root, "runs");
    if (json_array_size(runs) == 0) {
        puts("none");
        return;
    }
    printf("%-8s %-19s %-17s %s\n", "run", "accepted", "status", "chat, person, what became of it");
    for (size_t i = 0; i < json_array_size(runs); i++)
        print_run(json_array_get(runs, i));
    if (json_object_get(root, "next") != NULL)
        printf("... and older ones (--limit %lld)\n", (long long)options->limit);
}

static int run_runs(int argc, char **argv)
{
    struct runs_options options = {.limit = 20};
    struct sma_cli_api api;
    struct sma_buf path, answer;
    json_t *root = NULL;
    long http = 0;
    int status = read_options(argc, argv, &options);
    if (status != 0)
        return status;
    const char *folder = optind < argc ? argv[optind] : ".";
    status = sma_cli_api_open("runs", folder, &api);
    if (status == SMA_CLI_NOT_RUNNING) {
        sma_cli_api_say_not_running(folder);
        puts("`shipmyagent logs` shows what happened");
    }
    if (status != 0)
        return status;
    sma_buf_init(&path, 4096);
    sma_buf_init(&answer, SMA_CLI_ANSWER_BYTES_MAX);
    put_path(&path, &options);
    status = path.err != SMA_ERR_OK
                 ? sma_cli_fail("runs: the chat key is too long")
                 : sma_cli_api_get(&api, "runs", path.ptr, &root, &answer, &http);
    if (status == 0 && root == NULL)
        status = sma_cli_fail("runs: %s answered HTTP %ld", api.base, http);
    if (status == 0 && options.is_json)
        printf("%.*s\n", (int)answer.len, answer.ptr);
    else if (status == 0)
        print_runs(root, &options);
    json_decref(root);
    sma_buf_fini(&path);
    sma_buf_fini(&answer);
    return status;
}

static const struct sma_cli_command_option OPTIONS[] = {
    {"open", 'o', false, SMA_VALUE_NONE, NULL, NULL, "only those that are not over"},
    {"failed", 'f', false, SMA_VALUE_NONE, NULL, NULL, "only those that failed or were refused"},
    {"chat", 'c', false, SMA_VALUE_CHAT, NULL, "KEY", "only this chat, e.g. telegram:chat:1001"},
    {"limit", 'n', true, SMA_VALUE_TEXT, NULL, "N", "the newest N, 200 at most (default: 20)"},
    {"json", 'j', false, SMA_VALUE_NONE, NULL, NULL, "the service's own answer, as JSON"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_runs = {
    .name = "runs",
    .run = run_runs,
    .place = "[FOLDER]",
    .summary = "messages, newest first: answered, waiting (for what), failed, ignored",
    .usage = "shipmyagent runs [FOLDER] [--open|--failed] [--chat KEY] [--limit N] [--json]\n",
    .options = OPTIONS,
    .text = "A reason such as not_addressed is explained by `shipmyagent why`; `shipmyagent trace "
            "RUN` tells the rest.\n"
            "Exit status 0: shown; 1: the service refused; 3: no service runs.\n",
    .first = SMA_VALUE_FOLDER,
};
