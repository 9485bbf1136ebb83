/*
 * status.c — `shipmyagent status`: ask the running service over its own HTTP API.
 */
#include "cli.h"

#include "api.h"
#include "commands.h"
#include "log_read.h"
#include "sizes.h"
#include "sma/buf.h"
#include "sma/sys.h"
#include "status_head.h"

#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

static void print_text(const char *name, const char *text)
{
    printf("  %-18s ", name);
    sma_cli_print_clean(sma_str(text));
    putchar('\n');
}

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), end_len = strlen(end);
    return len >= end_len && strcasecmp(name + len - end_len, end) == 0;
}

static void put_members(struct sma_buf *buf, const json_t *object);

/* For people: sizes and times with their units, no exponents. `--json` has the exact numbers. */
static void put_scalar(struct sma_buf *buf, const char *name, const json_t *value)
{
    char text[32];
    if (json_is_string(value)) {
        sma_buf_put_text(buf, json_string_value(value));
    } else if (json_is_integer(value)) {
        long long number = (long long)json_integer_value(value);
        snprintf(text, sizeof text, "%lld", number);
        if (number >= 1000 && ends_with(name, "bytes"))
            sma_cli_format_bytes(number, text);
        sma_buf_put_text(buf, text);
    } else if (json_is_real(value)) {
        double number = json_real_value(value);
        sma_buf_printf(buf, number < 10 ? "%.2f" : "%.0f", number);
    } else if (json_is_object(value)) {
        sma_buf_put_text(buf, "(");
        put_members(buf, value);
        sma_buf_put_text(buf, ")");
    } else {
        SMA_AUTO(sma_freep) char *dump = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        sma_buf_put_text(buf, dump == NULL ? "?" : dump);
    }
}

/* {"waiting":1,"open":2} is read more easily as "waiting 1, open 2". */
static void put_members(struct sma_buf *buf, const json_t *object)
{
    const char *name;
    json_t *value;
    bool has_one = false;
    json_object_foreach((json_t *)object, name, value)
    {
        sma_buf_printf(buf, "%s%s ", has_one ? ", " : "", name);
        put_scalar(buf, name, value);
        has_one = true;
    }
}

static void print_value(const char *name, const json_t *value)
{
    struct sma_buf buf;
    sma_buf_init(&buf, SMA_CLI_ANSWER_BYTES_MAX);
    if (json_is_object(value))
        put_members(&buf, value);
    else if (!json_is_array(value) || json_array_size(value) > 0)
        put_scalar(&buf, name, value);
    print_text(name, buf.len == 0 ? "none" : buf.ptr);
    sma_buf_fini(&buf);
}

/* "2026-11-22T20:01:02.345Z" is read more easily as "2026-11-22 21:01:02", local time. */
static void put_time(struct sma_buf *buf, const char *before, const char *time)
{
    char local[32];
    if (time[0] == '\0')
        return;
    sma_cli_log_local_time(time, local);
    sma_buf_printf(buf, "%s%s", before, local);
}

static void put_last_error(struct sma_buf *buf, const json_t *object)
{
    const json_t *error = json_object_get(object, "lastError");
    if (error == NULL)
        return;
    put_time(buf, "; last error ", sma_cli_log_text(error, "time"));
    sma_buf_printf(buf, ": %s", sma_cli_log_text(error, "text"));
}

static void print_buf(const char *name, struct sma_buf *buf)
{
    print_text(name, buf->len == 0 ? "?" : buf->ptr);
    sma_buf_fini(buf);
}

static void print_platform(const char *name, const json_t *platform)
{
    struct sma_buf buf;
    bool is_up = json_is_true(json_object_get(platform, "connected"));
    sma_buf_init(&buf, 4096);
    sma_buf_put_text(&buf, is_up ? "connected" : "NOT CONNECTED");
    put_time(&buf, " since ", sma_cli_log_text(platform, "since"));
    put_time(&buf, ", last event ", sma_cli_log_text(platform, "lastEventAt"));
    if (sma_cli_log_text(platform, "proxy")[0] != '\0')
        sma_buf_printf(&buf, ", through proxy %s", sma_cli_log_text(platform, "proxy"));
    put_last_error(&buf, platform);
    print_buf(name, &buf);
}

static void print_model(const char *name, const json_t *model)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 4096);
    sma_buf_put_text(&buf, sma_cli_log_text(model, "state"));
    put_time(&buf, " until ", sma_cli_log_text(model, "cooledUntil"));
    put_time(&buf, ", last answer ", sma_cli_log_text(model, "lastAnswerAt"));
    put_last_error(&buf, model);
    print_buf(name, &buf);
}

/* Members that have a form of their own. @return whether this is one */
static bool print_known(const char *name, const json_t *value)
{
    const char *inner_name;
    json_t *inner;
    bool are_platforms = strcmp(name, "platforms") == 0;
    if (!are_platforms && strcmp(name, "models") != 0)
        return false;
    puts(name);
    json_object_foreach((json_t *)value, inner_name, inner)
    {
        if (are_platforms)
            print_platform(inner_name, inner);
        else
            print_model(inner_name, inner);
    }
    return true;
}

static bool is_among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* What the lines at the top say in words. */
static bool is_said(const char *name)
{
    static const char *const said[] = {"llm", "pid", "connections", "timestamp"};
    return is_among(name, said, SMA_COUNT_OF(said));
}

/* The lines that the tools actor wrote at its start: what holds commands, who is asked about
 * what. */
static void print_belts(const char *state_dir)
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/belts", state_dir);
    SMA_AUTO(sma_freep) char *lines = NULL;
    size_t len;
    if (sma_sys_read_file(sma_sys_real(), path, 8192, &lines, &len, NULL) != SMA_ERR_OK)
        return;
    puts("tools");
    for (char *at = lines, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        *end = '\0';
        char *colon = strstr(at, ": ");
        if (colon == NULL)
            continue;
        *colon = '\0';
        print_text(at, colon + 2);
    }
}

static void print_member(const char *name, const json_t *value)
{
    const char *inner_name;
    json_t *inner;
    if (!json_is_object(value)) {
        print_value(name, value);
        return;
    }
    if (json_object_size(value) == 0 || print_known(name, value))
        return;
    printf("%s\n", name);
    json_object_foreach((json_t *)value, inner_name, inner) print_value(inner_name, inner);
}

/* The owner's questions first: does it run, where, who answers, what waits; then who is connected.
 * The rest is for whoever looks for a fault. */
static void print_members(const struct sma_cli_api *api, const json_t *root)
{
    static const char *const first[] = {"status", "agent", "version", "degraded"};
    static const char *const next[] = {"platforms", "models", "mcp"};
    const char *name;
    json_t *value;
    for (size_t i = 0; i < SMA_COUNT_OF(first); i++)
        if (json_object_get(root, first[i]) != NULL)
            print_member(first[i], json_object_get(root, first[i]));
    sma_cli_status_head(api, root);
    for (size_t i = 0; i < SMA_COUNT_OF(next); i++)
        print_member(next[i], json_object_get(root, next[i]));
    print_belts(api->state_dir);
    puts("\nInternals, for finding faults:");
    json_object_foreach((json_t *)root, name, value)
    {
        if (!is_said(name) && !is_among(name, first, SMA_COUNT_OF(first)) &&
            !is_among(name, next, SMA_COUNT_OF(next)))
            print_member(name, value);
    }
    sma_cli_print_sizes(api->state_dir);
}

static int print_answer(const struct sma_cli_api *api, const struct sma_buf *answer)
{
    json_t *root = json_loadb(answer->ptr, answer->len, 0, NULL);
    bool is_object = json_is_object(root);
    if (is_object)
        print_members(api, root);
    json_decref(root);
    return is_object ? 0 : sma_cli_fail("status: the service's answer is not JSON");
}

int sma_cli_status(int argc, char **argv)
{
    bool is_json = false;
    int option;
    while ((option = sma_cli_option(&sma_cli_command_status, argc, argv)) != -1) {
        if (option != 'j')
            return 1;
        is_json = true;
    }
    struct sma_cli_api api;
    const char *folder = optind < argc ? argv[optind] : ".";
    int status = sma_cli_api_open("status", folder, &api);
    if (status == SMA_CLI_NOT_RUNNING)
        sma_cli_api_say_not_running(folder);
    if (status != 0)
        return status;
    struct sma_buf answer;
    long http = 0;
    sma_buf_init(&answer, SMA_CLI_ANSWER_BYTES_MAX);
    status = sma_cli_api_call(&api, "status", "/api/status", NULL, &answer, &http);
    if (status == 0 && http != 200)
        status = sma_cli_fail("status: %s answered HTTP %ld", api.base, http);
    if (status == 0 && is_json)
        status = fwrite(answer.ptr, 1, answer.len, stdout) != answer.len || puts("") < 0;
    else if (status == 0)
        status = print_answer(&api, &answer);
    sma_buf_fini(&answer);
    return status;
}

static const struct sma_cli_command_option OPTIONS[] = {
    {"json", 'j', false, SMA_VALUE_NONE, NULL, NULL, "the service's own answer, as JSON"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_status = {
    .name = "status",
    .run = sma_cli_status,
    .place = "[FOLDER]",
    .summary = "what the running service is doing",
    .usage = "shipmyagent status [FOLDER] [--json]\n",
    .options = OPTIONS,
    .text =
        "Asks the running service: address, model, owner, open runs and what they wait for, "
        "tokens of today, troubles;\n"
        "since when each platform is connected, how each model answers; then what helps to find "
        "faults.\n"
        "Exit status 0: running; 1: it does not answer, or does not let you in; 3: not "
        "running.\n"
        "The user who runs the service is let in by .ship/api-token; another one puts the API "
        "token\n"
        "into the variable SMA_API_TOKEN. The same holds for approvals, grants and pair.\n",
    .first = SMA_VALUE_FOLDER,
};
