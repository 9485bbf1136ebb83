/*
 * logs.c — `shipmyagent logs`: what happened, from the files of .ship/logs. No service is asked, so
 * it works while none runs.
 */
#include "cli.h"

#include "api.h"
#include "commands.h"
#include "log_read.h"
#include "sma/actor.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINE_COUNT_DEFAULT 200

struct logs_options
{
    struct sma_cli_log_wanted wanted;
    size_t count_max;
    bool has_count, is_followed, is_json;
};

static const char *colour_of(const char *level)
{
    int number = sma_cli_log_level(level);
    return number == SMA_LOG_ERROR ? "\033[31m" : number == SMA_LOG_WARN ? "\033[33m" : "";
}

static void print_details(const json_t *details)
{
    SMA_AUTO(sma_freep) char *text = json_dumps(details, JSON_COMPACT);
    if (text == NULL)
        return;
    putchar(' ');
    sma_cli_print_clean(sma_str(text));
}

static bool print_line(void *user, json_t *root)
{
    const struct logs_options *options = user;
    if (options->is_json) {
        (void)json_dumpf(root, stdout, JSON_COMPACT);
        return putchar('\n') != EOF;
    }
    char time[32];
    const char *level = sma_cli_log_text(root, "level");
    const char *colour = isatty(STDOUT_FILENO) == 1 ? colour_of(level) : "";
    const json_t *details = json_object_get(root, "details");
    sma_cli_log_local_time(sma_cli_log_text(root, "timestamp"), time);
    printf("%s", colour);
    sma_cli_print_clean(sma_str(time)); /* a file that somebody wrote in has any */
    printf(" %-6s ", sma_cli_log_level(level) < 0 ? "?" : level);
    sma_cli_print_clean(sma_str(sma_cli_log_text(root, "message")));
    /* A line of traffic says the same in words. */
    if (details != NULL && sma_cli_log_text(details, "event")[0] == '\0')
        print_details(details);
    return fputs(colour[0] == '\0' ? "\n" : "\033[0m\n", stdout) >= 0;
}

static int read_value(int option, const char *value, struct logs_options *options)
{
    int64_t number;
    struct sma_cli_log_wanted *wanted = &options->wanted;
    if (option == 'c')
        wanted->chat = value;
    if (option == 'r')
        wanted->run = value;
    if (option == 'm')
        wanted->message = value;
    if (option == 's' &&
        !sma_cli_log_parse_since(value, sma_sys_real()->wall_ms(NULL), &wanted->since_ms))
        return sma_cli_fail("logs: --since is a time ago (30s, 10m, 2h, 7d) or a moment "
                            "(2026-11-23T09:00:00), not %s",
                            value);
    if (option == 'l' && (wanted->level = sma_cli_log_level(value)) < 0)
        return sma_cli_fail("logs: --level is debug, info, action, warn or error, not %s", value);
    if (option == 'n') {
        if (sma_parse_i64(sma_str(value), 0, 1000000, &number) != SMA_ERR_OK)
            return sma_cli_fail("logs: --limit is a number of lines up to 1000000, not %s", value);
        options->count_max = (size_t)number;
        options->has_count = true;
    }
    return 0;
}

static int read_options(int argc, char **argv, struct logs_options *options)
{
    int option, status = 0;
    while (status == 0 && (option = sma_cli_option(&sma_cli_command_logs, argc, argv)) != -1) {
        if (option == '?')
            return 1;
        options->is_followed = options->is_followed || option == 'f';
        options->is_json = options->is_json || option == 'j';
        status = read_value(option, optarg, options);
    }
    if (status == 0 && argc - optind > 1)
        status =
            sma_cli_fail("logs: only one folder can be read; what is %s for?", argv[optind + 1]);
    return status;
}

static int run_logs(int argc, char **argv)
{
    struct logs_options options = {.wanted.level = SMA_LOG_INFO};
    int status = read_options(argc, argv, &options);
    if (status != 0)
        return status;
    bool is_narrow = options.wanted.since_ms != 0 || options.wanted.run != NULL ||
                     options.wanted.message != NULL;
    if (!options.has_count) /* what was asked for exactly is shown whole */
        options.count_max = is_narrow ? SIZE_MAX : LINE_COUNT_DEFAULT;
    char state_dir[PATH_MAX];
    const char *folder = optind < argc ? argv[optind] : ".";
    if (snprintf(state_dir, sizeof state_dir, "%s/.ship", folder) >= (int)sizeof state_dir)
        return sma_cli_fail("logs: the name of the folder is too long");
    return options.is_followed ? sma_cli_log_follow(state_dir, &options.wanted, options.count_max,
                                                    print_line, &options)
                               : sma_cli_log_each(state_dir, &options.wanted, options.count_max,
                                                  print_line, &options);
}

static const struct sma_cli_command_option OPTIONS[] = {
    {"follow", 'f', true, SMA_VALUE_NONE, NULL, NULL, "go on with what is written from now on"},
    {"chat", 'c', false, SMA_VALUE_CHAT, NULL, "KEY",
     "only this chat, e.g. telegram:chat:1001; with * at the end all that begin so"},
    {"since", 's', false, SMA_VALUE_TEXT, NULL, "TIME",
     "not before: 30s 10m 2h 7d ago, or 2026-11-23T09:00:00 (local time, or with Z)"},
    {"level", 'l', false, SMA_VALUE_WORDS, "debug|info|action|warn|error", NULL,
     "at least this level (default: info)"},
    {"run", 'r', false, SMA_VALUE_RUN, NULL, "N", "only what concerns this run"},
    {"message", 'm', false, SMA_VALUE_TEXT, NULL, "ID", "only this message, by its platform's id"},
    {"limit", 'n', true, SMA_VALUE_TEXT, NULL, "N",
     "the last N lines (default: 200; all with --since, --run or --message)"},
    {"json", 'j', false, SMA_VALUE_NONE, NULL, NULL, "lines as they stand in the files"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_logs = {
    .name = "logs",
    .run = run_logs,
    .place = "[FOLDER]",
    .summary = "what happened, also while nothing runs",
    .usage = "shipmyagent logs [FOLDER] [-f] [--chat KEY] [--since TIME] [--level LEVEL] [--run N] "
             "[--json]\n",
    .options = OPTIONS,
    .text = "Reads .ship/logs of FOLDER; times are local. No words of people, models or commands "
            "are in it.\n"
            "Exit status 0: shown; 1: there is nothing to read.\n",
    .first = SMA_VALUE_FOLDER,
};
