/*
 * seen.c — `shipmyagent trace` and `shipmyagent usage`: what the running service tells of one
 * message, and of its costs.
 */
#include "cli.h"
#include "log_read.h"

#include "api.h"
#include "commands.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BY_COUNT_MAX 20 /* lines of one list */

/* GET path as JSON; exit status, 0 with *ret_root. */
static int get_json(const char *command, const char *folder, const char *path, json_t **ret_root,
                    struct sma_buf *answer)
{
    struct sma_cli_api api;
    long http = 0;
    int status = sma_cli_api_open(command, folder, &api);
    if (status == SMA_CLI_NOT_RUNNING)
        sma_cli_api_say_not_running(folder);
    if (status == 0)
        status = sma_cli_api_get(&api, command, path, ret_root, answer, &http);
    if (status == 0 && *ret_root == NULL)
        return sma_cli_fail("%s: the service knows no such run or message", command);
    return status;
}

static long long number_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static void print_json(const struct sma_buf *answer)
{
    (void)fwrite(answer->ptr, 1, answer->len, stdout);
    puts("");
}

/* -- trace ------------------------------------------------------------------------------------- */
/* One line of the table: a moment and what happened. */
struct moment
{
    long long at_us;
    const json_t *object;
    bool is_delivery;
};

/* "2026-11-22T20:01:02.345Z" in microseconds; 0 = it is none. */
static long long parse_time(const char *text)
{
    struct tm parts = {0};
    int ms = 0;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
               &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &ms) != 7)
        return 0;
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    return (long long)timegm(&parts) * 1000000 + ms * 1000LL;
}

static int compare_moments(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;
    return a->at_us < b->at_us ? -1 : a->at_us > b->at_us;
}

static void print_words(const json_t *object)
{
    static const char *const skipped[] = {"stage", "at",      "atUs",    "madeAt",
                                          "step",  "endedAt", "outboxId"};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        bool is_skipped = false;
        for (size_t i = 0; i < SMA_COUNT_OF(skipped); i++)
            is_skipped = is_skipped || strcmp(name, skipped[i]) == 0;
        if (is_skipped || json_is_false(value) ||
            (json_is_integer(value) && json_integer_value(value) == 0))
            continue;
        printf("  %s ", name);
        if (json_is_string(value))
            sma_cli_print_clean(sma_str(json_string_value(value)));
        else if (json_is_real(value))
            printf("%.1f", json_real_value(value));
        else if (json_is_integer(value))
            printf("%lld", (long long)json_integer_value(value));
        else
            fputs("yes", stdout);
    }
    puts("");
}

static void print_moment(const struct moment *moment, long long first_us)
{
    char after[32] = "";
    if (moment->at_us > 0)
        snprintf(after, sizeof after, "+%.1f", (double)(moment->at_us - first_us) / 1000);
    printf("%12s  %-12s", after,
           moment->is_delivery ? "delivery" : sma_cli_log_text(moment->object, "stage"));
    print_words(moment->object);
}

/* Stages in their order, deliveries where they ended (or were made). */
static void print_moments(const json_t *trace)
{
    const json_t *stages = json_object_get(trace, "stages"),
                 *deliveries = json_object_get(trace, "deliveries");
    size_t stage_count = json_array_size(stages), delivery_count = json_array_size(deliveries);
    struct moment *moments = calloc(stage_count + delivery_count + 1, sizeof *moments);
    size_t count = 0;
    long long first_us = 0, last_us = 0;
    if (moments == NULL)
        return;
    for (size_t i = 0; i < stage_count; i++) {
        const json_t *stage = json_array_get(stages, i);
        long long at_us = number_of(stage, "atUs");
        last_us = at_us > last_us ? at_us : last_us; /* what has no time stays where it stands */
        moments[count++] = (struct moment){at_us > 0 ? at_us : last_us, stage, false};
    }
    for (size_t i = 0; i < delivery_count; i++) {
        const json_t *delivery = json_array_get(deliveries, i);
        long long ended_us = parse_time(sma_cli_log_text(delivery, "endedAt"));
        moments[count++] = (struct moment){
            ended_us > 0 ? ended_us : parse_time(sma_cli_log_text(delivery, "madeAt")), delivery,
            true};
    }
    qsort(moments, count, sizeof *moments, compare_moments);
    for (size_t i = 0; i < count && first_us == 0; i++)
        first_us = moments[i].at_us;
    puts("  after (ms)  what");
    for (size_t i = 0; i < count; i++)
        print_moment(&moments[i], first_us);
    free(moments);
}

static void print_member(const char *title, const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (value == NULL)
        return;
    printf("%-10s ", title);
    if (json_is_string(value))
        sma_cli_print_clean(sma_str(json_string_value(value)));
    else
        printf("%lld", (long long)json_integer_value(value));
    puts("");
}

static void print_trace(const json_t *trace)
{
    print_member("run", trace, "runId");
    print_member("chat", trace, "chatKey");
    print_member("person", trace, "userId");
    print_member("name", trace, "userName");
    print_member("message", trace, "messageId");
    print_member("accepted", trace, "acceptedAt");
    print_member("status", trace, "status");
    print_member("took (ms)", trace, "durationMs");
    const json_t *usage = json_object_get(trace, "usage");
    if (usage != NULL) {
        printf("%-10s", "usage");
        print_words(usage);
    }
    print_moments(trace);
}

/* A number is a run, unless --message says that it is a message. */
static void put_trace_path(struct sma_buf *path, const char *what, bool is_message)
{
    int64_t number;
    if (!is_message && sma_parse_i64(sma_str(what), 1, INT64_MAX, &number) == SMA_ERR_OK) {
        sma_buf_printf(path, "/api/runs/%lld/trace", (long long)number);
    } else {
        sma_buf_put_text(path, "/api/trace?message=");
        sma_cli_put_encoded(path, what);
    }
}

int sma_cli_trace(int argc, char **argv)
{
    bool is_json = false, is_message = false;
    int option;
    while ((option = sma_cli_option(&sma_cli_command_trace, argc, argv)) != -1) {
        if (option != 'j' && option != 'm')
            return 1;
        is_json = is_json || option == 'j';
        is_message = is_message || option == 'm';
    }
    if (optind >= argc || argc - optind > 2)
        return sma_cli_fail("trace: name one run, or one message by the platform's id; see "
                            "`shipmyagent help trace`");
    struct sma_buf path, answer;
    json_t *root = NULL;
    sma_buf_init(&path, 1000);
    sma_buf_init(&answer, SMA_CLI_ANSWER_BYTES_MAX);
    put_trace_path(&path, argv[optind], is_message);
    int status = path.err != SMA_ERR_OK
                     ? sma_cli_fail("trace: the id is too long")
                     : get_json("trace", optind + 1 < argc ? argv[optind + 1] : ".", path.ptr,
                                &root, &answer);
    if (status == 0 && is_json)
        print_json(&answer);
    else if (status == 0)
        print_trace(root);
    if (status == 0)
        json_decref(root);
    sma_buf_fini(&path);
    sma_buf_fini(&answer);
    return status;
}

/* -- usage ------------------------------------------------------------------------------------- */
static void print_sum(const json_t *sum, const char *name)
{
    long long cost = number_of(sum, "costNano");
    printf("%9lld %11lld %11lld %11lld", number_of(sum, "requests"),
           number_of(sum, "input") + number_of(sum, "written"), number_of(sum, "cached"),
           number_of(sum, "output"));
    if (cost > 0)
        printf(" %10.4f  ", (double)cost / 1e9);
    else
        printf(" %10s  ", "-");
    sma_cli_print_clean(sma_str(name[0] == '\0' ? "other" : name));
    puts("");
}

static void print_sums(const json_t *root, const char *list_name, const char *key)
{
    const json_t *list = json_object_get(root, list_name);
    size_t count = json_array_size(list);
    printf("%9s %11s %11s %11s %10s  %s\n", "requests", "input", "cached", "output", "cost", key);
    for (size_t i = 0; i < count && i < BY_COUNT_MAX; i++)
        print_sum(json_array_get(list, i), sma_cli_log_text(json_array_get(list, i), key));
    if (count > BY_COUNT_MAX)
        printf("... and %zu more; --json shows them\n", count - BY_COUNT_MAX);
    print_sum(json_object_get(root, "total"), "total");
}

static const struct
{
    const char *word, *list, *key;
} bys[] = {{"day", "days", "day"},
           {"chat", "chats", "chatKey"},
           {"person", "persons", "person"},
           {"platform", "platforms", "platform"},
           {"model", "targets", "target"}};

struct usage_options
{
    bool is_json;
    int64_t days;
    size_t by;
};

static int read_usage_options(int argc, char **argv, struct usage_options *options)
{
    int option;
    while ((option = sma_cli_option(&sma_cli_command_usage, argc, argv)) != -1) {
        if (option == 'j') {
            options->is_json = true;
        } else if (option == 'd') {
            if (sma_parse_i64(sma_str(optarg), 1, SMA_USAGE_DAYS, &options->days) != SMA_ERR_OK)
                return sma_cli_fail("usage: --days is a number from 1 to %d", SMA_USAGE_DAYS);
        } else if (option == 'b') {
            options->by = 0;
            while (options->by < SMA_COUNT_OF(bys) && strcmp(bys[options->by].word, optarg) != 0)
                options->by++;
            if (options->by == SMA_COUNT_OF(bys))
                return sma_cli_fail("usage: --by is day, chat, person, platform or model");
        } else {
            return 1;
        }
    }
    return 0;
}

int sma_cli_usage(int argc, char **argv)
{
    struct usage_options options = {.days = 30};
    int status = read_usage_options(argc, argv, &options);
    if (status != 0)
        return status;
    char path[64];
    struct sma_buf answer;
    json_t *root = NULL;
    snprintf(path, sizeof path, "/api/usage?days=%lld", (long long)options.days);
    sma_buf_init(&answer, SMA_CLI_ANSWER_BYTES_MAX);
    status = get_json("usage", optind < argc ? argv[optind] : ".", path, &root, &answer);
    if (status == 0 && options.is_json) {
        print_json(&answer);
    } else if (status == 0) {
        printf("%s to %s (local time of the service)\n", sma_cli_log_text(root, "from"),
               sma_cli_log_text(root, "to"));
        print_sums(root, bys[options.by].list, bys[options.by].key);
    }
    if (status == 0)
        json_decref(root);
    sma_buf_fini(&answer);
    return status;
}

static const struct sma_cli_command_option TRACE_OPTIONS[] = {
    {"message", 'm', false, SMA_VALUE_NONE, NULL, NULL,
     "the number is a message's id of its platform"},
    {"json", 'j', false, SMA_VALUE_NONE, NULL, NULL, "the service's own answer, as JSON"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_trace = {
    .name = "trace",
    .run = sma_cli_trace,
    .place = "RUN",
    .summary = "what happened to one message, and how long it took",
    .usage = "shipmyagent trace RUN|MESSAGE [FOLDER] [--message] [--json]\n",
    .options = TRACE_OPTIONS,
    .text = "The life of one message: read, claimed, begun, each answer of a model (target, time "
            "to the first token,\n"
            "tokens), each call, each wait, each delivery. RUN is the number in the log and in "
            "HTTP's runId; MESSAGE is\n"
            "the platform's id. No words of people are shown.\n"
            "Exit status 0: shown; 1: not known; 3: no service runs.\n",
    .first = SMA_VALUE_RUN,
};

static const struct sma_cli_command_option USAGE_OPTIONS[] = {
    {"days", 'd', false, SMA_VALUE_TEXT, NULL, "N", "the last N days (default: 30)"},
    {"by", 'b', false, SMA_VALUE_WORDS, "day|chat|person|platform|model", NULL,
     "what is added up (default: day)"},
    {"json", 'j', false, SMA_VALUE_NONE, NULL, NULL, "the service's own answer, as JSON"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_usage = {
    .name = "usage",
    .run = sma_cli_usage,
    .place = "[FOLDER]",
    .summary = "what the models used: tokens and cost",
    .usage =
        "shipmyagent usage [FOLDER] [--days N] [--by day|chat|person|platform|model] [--json]\n",
    .options = USAGE_OPTIONS,
    .text = "Requests, tokens and cost of the models; days are those of the service's local time.\n"
            "The cost is an estimate by llm.prices or a table of list prices, \"-\" where no price "
            "is known.\n",
    .first = SMA_VALUE_FOLDER,
};
