/* status_head.c — see status_head.h. */
#include "status_head.h"

#include "log_read.h"
#include "sma/plural.h"
#include "sma/text.h"

#include <stdio.h>

#define OPEN_COUNT_MAX 20 /* open runs that are shown */

void sma_cli_format_bytes(long long bytes, char *text)
{
    static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
    double number = (double)bytes;
    size_t unit = 0;
    while (number >= 1000 && unit + 1 < SMA_COUNT_OF(units)) {
        number /= 1000;
        unit++;
    }
    snprintf(text, 32, unit == 0 ? "%.0f %s" : "%.1f %s", number, units[unit]);
}

void sma_cli_format_duration(long long ms, char *text)
{
    long long minutes = ms / 60000;
    if (ms < 1000)
        snprintf(text, 32, "%lld ms", ms);
    else if (minutes < 1)
        snprintf(text, 32, "%.1f s", (double)ms / 1000);
    else if (minutes < 60)
        snprintf(text, 32, "%lld min", minutes);
    else if (minutes < 48 * 60)
        snprintf(text, 32, "%lld h %lld min", minutes / 60, minutes % 60);
    else
        snprintf(text, 32, "%lld days", minutes / (24 * 60));
}

static long long number_of(const json_t *object, const char *name)
{
    return (long long)json_integer_value(json_object_get(object, name));
}

static void print_title(const char *title)
{
    printf("  %-18s ", title);
}

static void print_text(const char *text)
{
    sma_cli_print_clean(sma_str(text));
}

/* A new reference, or NULL: then it is left out. */
static json_t *ask(const struct sma_cli_api *api, const char *path)
{
    struct sma_buf answer;
    json_t *root = NULL;
    long http = 0;
    sma_buf_init(&answer, SMA_CLI_ANSWER_BYTES_MAX);
    if (sma_cli_api_get(api, "status", path, &root, &answer, &http) != 0)
        root = NULL;
    sma_buf_fini(&answer);
    return root;
}

/* Of those that were paired; those of ship.json it names itself. */
static void print_owners(const struct sma_cli_api *api)
{
    json_t *root = ask(api, "/api/pairings"), *person;
    size_t i, count = 0;
    json_array_foreach(json_object_get(root, "people"), i, person)
    {
        if (strcmp(sma_cli_log_text(person, "role"), "owner") != 0)
            continue;
        fputs(count++ == 0 ? "" : ", ", stdout);
        print_text(sma_cli_log_text(person, "channel"));
        putchar(':');
        print_text(sma_cli_log_text(person, "userId"));
    }
    puts(count == 0 ? "as ship.json says (permissions.roles)" : "");
    json_decref(root);
}

static void print_owner(const struct sma_cli_api *api, const json_t *store)
{
    const json_t *owner = json_object_get(store, "owner");
    const char *platform = sma_cli_log_text(owner, "platform");
    if (owner == NULL || platform[0] == '\0')
        return; /* nobody but who is at this machine can talk to it */
    print_title("owner");
    if (json_is_true(json_object_get(owner, "isKnown"))) {
        print_owners(api);
        return;
    }
    printf("NOBODY yet: write to the bot on %s and run the command that it answers with\n",
           platform);
}

static void print_counts(const json_t *store)
{
    const json_t *runs = json_object_get(store, "runs");
    print_title("runs");
    printf("%lld open, %lld waiting, %lld wait for people, %lld for a model; since the start "
           "%lld answered, %lld failed\n",
           number_of(runs, "open"), number_of(json_object_get(store, "queue"), "waiting"),
           number_of(runs, "parked"), number_of(runs, "waitingForModel"),
           number_of(runs, "answered"), number_of(runs, "failed"));
}

static void print_today(const json_t *store)
{
    const json_t *today = json_object_get(store, "usageToday");
    print_title("tokens today");
    printf("%lld in (%lld from caches), %lld out, %lld request%s",
           number_of(today, "input") + number_of(today, "written") + number_of(today, "cached"),
           number_of(today, "cached"), number_of(today, "output"), number_of(today, "requests"),
           SMA_S(number_of(today, "requests")));
    if (number_of(today, "costNano") > 0)
        printf(", cost %.4f", (double)number_of(today, "costNano") / 1e9);
    putchar('\n');
}

/* What somebody has to act on, a line each. */
static void print_troubles(const json_t *store)
{
    const char *part;
    json_t *line, *trouble;
    size_t i;
    json_object_foreach(json_object_get(store, "trouble"), part, line)
    {
        print_title("TROUBLE");
        print_text(part);
        fputs(": ", stdout);
        print_text(json_string_value(line) == NULL ? "" : json_string_value(line));
        putchar('\n');
    }
    json_array_foreach(json_object_get(store, "troubles"), i, trouble)
    {
        print_title("TROUBLE");
        print_text(sma_cli_log_text(trouble, "what"));
        fputs("; ", stdout);
        print_text(sma_cli_log_text(trouble, "remedy"));
        putchar('\n');
    }
}

static void print_open_run(const json_t *run)
{
    char line[64];
    snprintf(line, sizeof line, "run %s", sma_cli_log_text(run, "runId"));
    print_title(line);
    printf("%s, ", sma_cli_log_text(run, "status"));
    print_text(sma_cli_log_text(run, "chatKey"));
    if (sma_cli_log_text(run, "waitsFor")[0] != '\0') {
        fputs(", waits for ", stdout);
        print_text(sma_cli_log_text(run, "waitsFor"));
    }
    putchar('\n');
}

static void print_open(const struct sma_cli_api *api, const json_t *store)
{
    char path[64];
    json_t *run;
    size_t i;
    if (number_of(json_object_get(store, "runs"), "open") +
            number_of(json_object_get(store, "runs"), "parked") +
            number_of(json_object_get(store, "runs"), "waitingForModel") +
            number_of(json_object_get(store, "queue"), "waiting") ==
        0)
        return;
    snprintf(path, sizeof path, "/api/runs?status=open&limit=%d", OPEN_COUNT_MAX);
    json_t *root = ask(api, path);
    json_array_foreach(json_object_get(root, "runs"), i, run) print_open_run(run);
    if (json_object_get(root, "next") != NULL)
        printf("  %-18s `shipmyagent runs --open` lists all\n", "...");
    json_decref(root);
}

void sma_cli_status_head(const struct sma_cli_api *api, const json_t *root)
{
    char up[32];
    const json_t *store = json_object_get(root, "store"), *llm = json_object_get(root, "llm");
    sma_cli_format_duration(number_of(store, "uptimeMs"), up);
    print_title("address");
    printf("%s, pid %lld, up %s\n", api->base, number_of(root, "pid"), up);
    print_title("model");
    print_text(sma_cli_log_text(llm, "provider"));
    putchar(' ');
    print_text(sma_cli_log_text(llm, "model"));
    putchar('\n');
    print_owner(api, store);
    print_counts(store);
    print_open(api, store);
    print_today(store);
    print_troubles(store);
}
