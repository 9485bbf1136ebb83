/*
 * why.c — `shipmyagent why`: what became of a message, or of the last ones of a chat, in words, and
 * what can be done about it. The service is asked; what it does not know, and all of it while it
 * does not run, the log tells.
 */
#include "why.h"

#include "api.h"
#include "cli.h"
#include "commands.h"
#include "log_read.h"
#include "sma/plural.h"
#include "sma/reasons.h"
#include "sma/text.h"
#include "status_head.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MESSAGE_COUNT_DEFAULT 10
#define PAGE_COUNT 200

struct why
{
    struct sma_cli_api api;
    const char *what, *chat; /* chat: of the message; NULL = of any */
    int64_t limit;
    bool is_run, is_json, is_running;
};

static void print_text(const char *text)
{
    sma_cli_print_clean(sma_str(text));
}

void sma_cli_why_print_time(const char *time)
{
    char local[32];
    sma_cli_log_local_time(time, local);
    printf("%-19s  ", local);
}

void sma_cli_why_explain(const char *word)
{
    const struct sma_reason_text *text = sma_reason_text(sma_reason_of_word(sma_str(word)));
    if (text->word[0] != '\0')
        printf("  %s\n  What to do: %s\n", text->sentence, text->remedy);
}

/* GET path. 0 with *ret_root, which is NULL when there is no such thing. */
static int ask(const struct why *why, const char *path, json_t **ret_root)
{
    struct sma_buf answer;
    long http = 0;
    sma_buf_init(&answer, SMA_CLI_ANSWER_BYTES_MAX);
    int status = sma_cli_api_get(&why->api, "why", path, ret_root, &answer, &http);
    sma_buf_fini(&answer);
    return status;
}

/* -- what failed ------------------------------------------------------------------------------- */
/* Of the last question to a model: stage `model` of a trace. */
static const struct
{
    const char *word, *sentence, *remedy;
} failures[] = {
    {"transient", "The model could not be reached, or its server failed.",
     "See `models` of `shipmyagent status`; add llm.fallbacks for such hours."},
    {"rate", "The provider limits how often or how much may be asked.",
     "Wait, lower agent.concurrency, or raise the limit with the provider."},
    {"quota", "The provider's credit or quota is used up.", "Top it up with the provider."},
    {"auth", "The provider does not take the API key.", "Set llm.apiKey, then send SIGHUP."},
    {"no_model", "The provider has no model of this name.", "Set llm.model, then send SIGHUP."},
    {"member", "The provider refuses a member of the request.",
     "See `shipmyagent logs --run` for which; take it out of llm."},
    {"session", "The provider refuses the conversation so far.", "Write /new in the chat."},
    {"context_length", "The conversation is longer than the model takes.",
     "Write /compact or /new in the chat."},
    {"request", "The provider refuses the request.", "See `shipmyagent logs --run` for its words."},
    {"setup", "The request could not be made: address, certificate or configuration.",
     "Run `shipmyagent doctor`."},
    {"filtered", "The provider's filter kept the answer back.", "Ask in other words."},
    {"refused", "The model refused to answer.", "Ask in other words."},
};

static void print_failure(const json_t *trace)
{
    const char *outcome = "";
    size_t index;
    json_t *stage;
    const json_t *repeated = NULL;
    json_array_foreach(json_object_get(trace, "stages"), index, stage)
    {
        if (strcmp(sma_cli_log_text(stage, "stage"), "model") == 0)
            outcome = sma_cli_log_text(stage, "outcome");
        if (strcmp(sma_cli_log_text(stage, "stage"), "repeated") == 0)
            repeated = stage;
    }
    if (repeated != NULL)
        printf("  The model called %s %lld times in a row with the same result.\n"
               "  What to do: say what is missing, or choose a model that is better with tools.\n",
               sma_cli_log_text(repeated, "tool"),
               (long long)json_integer_value(json_object_get(repeated, "times")));
    for (size_t i = 0; i < SMA_COUNT_OF(failures); i++)
        if (strcmp(outcome, failures[i].word) == 0)
            printf("  %s\n  What to do: %s\n", failures[i].sentence, failures[i].remedy);
}

/* What stands in the way of a model right now. */
static void print_models(const struct why *why)
{
    json_t *status = NULL;
    const char *name;
    json_t *model;
    if (ask(why, "/api/status", &status) != 0 || status == NULL)
        return;
    json_object_foreach(json_object_get(status, "models"), name, model)
    {
        const json_t *error = json_object_get(model, "lastError");
        if (error == NULL || strcmp(sma_cli_log_text(model, "state"), "ok") == 0)
            continue;
        fputs("  ", stdout);
        print_text(name);
        fputs(": ", stdout);
        print_text(sma_cli_log_text(error, "text"));
        putchar('\n');
    }
    json_decref(status);
}

/* -- where it stands --------------------------------------------------------------------------- */
/* What is asked, from the list of open requests. */
static void print_request(const struct why *why, const char *id)
{
    json_t *root = NULL, *request, *item;
    size_t i, k;
    if (id[0] == '\0' || ask(why, "/api/approvals", &root) != 0 || root == NULL)
        return;
    json_array_foreach(json_object_get(root, "approvals"), i, request)
    {
        if (strcmp(sma_cli_log_text(request, "id"), id) != 0)
            continue;
        json_array_foreach(json_object_get(request, "items"), k, item)
        {
            fputs("  Asked: ", stdout);
            print_text(sma_cli_log_text(item, "title")[0] != '\0'
                           ? sma_cli_log_text(item, "title")
                           : sma_cli_log_text(item, "description"));
            putchar('\n');
        }
    }
    json_decref(root);
    printf("  What to do: `shipmyagent approvals approve %.6s` or `reject %.6s`.\n", id, id);
}

static void print_open(const struct why *why, const json_t *trace, const char *status)
{
    const char *waits = sma_cli_log_text(trace, "waitsFor");
    if (strcmp(status, "running") == 0)
        printf("It is being answered by run %s.", sma_cli_log_text(trace, "runId"));
    else
        fputs("It waits", stdout);
    if (waits[0] != '\0') {
        fputs(" for ", stdout);
        print_text(waits);
    }
    if (json_integer_value(json_object_get(trace, "position")) > 0)
        printf("; %lld go before it",
               (long long)json_integer_value(json_object_get(trace, "position")));
    puts(strcmp(status, "running") == 0 ? "" : ".");
    print_request(why, sma_cli_log_text(trace, "approvalId"));
    if (strcmp(status, "waiting_for_model") == 0)
        print_models(why);
}

static void print_duration(const char *before, const json_t *object, const char *name)
{
    char text[32];
    const json_t *ms = json_object_get(object, name);
    if (ms == NULL)
        return;
    sma_cli_format_duration((long long)json_integer_value(ms), text);
    printf("%s%s", before, text);
}

/* Of one delivery. */
static void print_delivery(const json_t *delivery)
{
    const char *state = sma_cli_log_text(delivery, "state"),
               *error = sma_cli_log_text(delivery, "error");
    long long attempts = (long long)json_integer_value(json_object_get(delivery, "attempts"));
    if (strcmp(state, "sent") == 0)
        fputs("  Delivered", stdout);
    else if (strcmp(state, "failed") == 0)
        fputs("  NOT delivered", stdout);
    else if (strcmp(state, "unknown") == 0)
        fputs("  Perhaps delivered: the platform did not say", stdout);
    else
        fputs("  Not delivered yet", stdout);
    fputs(" (", stdout);
    print_text(sma_cli_log_text(delivery, "platform"));
    if (attempts > 1)
        printf(", %lld attempt%s", attempts, SMA_S(attempts));
    putchar(')');
    if (error[0] != '\0') {
        fputs(": ", stdout);
        print_text(error);
    }
    putchar('\n');
}

/* Something is on its way: how its platform stands. */
static void print_platform(const struct why *why, const char *name)
{
    json_t *status = NULL;
    if (name[0] == '\0' || ask(why, "/api/status", &status) != 0 || status == NULL)
        return;
    const json_t *platform = json_object_get(json_object_get(status, "platforms"), name);
    const json_t *error = json_object_get(platform, "lastError");
    if (platform != NULL && !json_is_true(json_object_get(platform, "connected")))
        puts("  Its platform is not connected.");
    if (error != NULL) {
        printf("  Its last error: ");
        print_text(sma_cli_log_text(error, "text"));
        putchar('\n');
    }
    json_decref(status);
}

static void print_deliveries(const struct why *why, const json_t *trace)
{
    size_t i;
    json_t *delivery;
    bool is_open = false;
    json_array_foreach(json_object_get(trace, "deliveries"), i, delivery)
    {
        const char *state = sma_cli_log_text(delivery, "state");
        is_open |= strcmp(state, "waiting") == 0 || strcmp(state, "begun") == 0;
        print_delivery(delivery);
    }
    if (is_open)
        print_platform(why, sma_cli_log_text(trace, "platform"));
}

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(word, words[i]) == 0)
            return true;
    return false;
}

static void print_fate(const struct why *why, const json_t *trace)
{
    static const char *const open[] = {"waiting", "running", "parked", "waiting_for_model"};
    const char *status = sma_cli_log_text(trace, "status"),
               *reason = sma_cli_log_text(trace, "reason");
    if (reason[0] != '\0') {
        printf("It was not answered: %s.\n", reason);
        sma_cli_why_explain(reason);
    } else if (is_one_of(status, open, SMA_COUNT_OF(open))) {
        print_open(why, trace, status);
    } else if (strcmp(status, "done") == 0) {
        printf("It was answered by run %s", sma_cli_log_text(trace, "runId"));
        print_duration(" in ", trace, "durationMs");
        puts(".");
    } else if (strcmp(status, "cancelled") == 0) {
        puts("It was stopped: by /stop, /clear, or because it was taken back.");
    } else if (strcmp(status, "failed") == 0) {
        printf("Run %s failed", sma_cli_log_text(trace, "runId"));
        print_duration(" after ", trace, "durationMs");
        puts(".");
        print_failure(trace);
        print_models(why);
    } else {
        printf("It was not answered (%s); older versions do not say why.\n", status);
    }
    print_deliveries(why, trace);
}

static void print_trace(const struct why *why, const json_t *trace)
{
    fputs("Message ", stdout);
    print_text(sma_cli_log_text(trace, "messageId"));
    fputs(" of ", stdout);
    print_text(sma_cli_log_text(trace, "chatKey"));
    if (sma_cli_log_text(trace, "userId")[0] != '\0') {
        const char *name = sma_cli_log_text(trace, "userName");
        fputs(" by ", stdout);
        print_text(name);
        fputs(name[0] != '\0' ? " (" : "", stdout);
        print_text(sma_cli_log_text(trace, "userId"));
        fputs(name[0] != '\0' ? ")" : "", stdout);
    }
    if (sma_cli_log_text(trace, "acceptedAt")[0] != '\0') {
        char local[32];
        sma_cli_log_local_time(sma_cli_log_text(trace, "acceptedAt"), local);
        printf(", %s", local);
    }
    putchar('\n');
    print_fate(why, trace);
}

/* -- one message ------------------------------------------------------------------------------- */
static int tell_log(const struct why *why, const struct sma_cli_why_log *asked)
{
    size_t count = 0;
    int status = sma_cli_why_log(why->api.state_dir, asked, &count);
    if (status != 0 || count > 0 || asked->has_rows)
        return status;
    if (!why->is_running)
        return sma_cli_fail("why: the log files know nothing of %s; state.db may: start the "
                            "service and ask again",
                            why->what);
    return sma_cli_fail("why: neither the service nor .ship/logs knows %s: is it the platform's "
                        "id, and does the platform show this bot what is said there? "
                        "`shipmyagent doctor` looks",
                        why->what);
}

/* The number of this message in a page of its chat; *next: the page before, 0 = there is none. */
static int find_in_page(const struct why *why, long long *number, long long *next)
{
    struct sma_buf path;
    json_t *root = NULL, *run;
    size_t i;
    sma_buf_init(&path, 4096);
    sma_buf_printf(&path, "/api/runs?limit=%d", PAGE_COUNT);
    if (*next > 0)
        sma_buf_printf(&path, "&before=%lld", *next);
    sma_buf_put_text(&path, "&chatKey=");
    sma_cli_put_encoded(&path, why->chat);
    int status = path.err != SMA_ERR_OK ? sma_cli_fail("why: the chat key is too long")
                                        : ask(why, path.ptr, &root);
    sma_buf_fini(&path);
    *next = strtoll(sma_cli_log_text(root, "next"), NULL, 10);
    json_array_foreach(json_object_get(root, "runs"), i, run)
    {
        if (*number != 0 || strcmp(sma_cli_log_text(run, "messageId"), why->what) != 0)
            continue;
        const json_t *own = json_object_get(run, "messageSeq"); /* another run answers it, too */
        *number = own != NULL ? (long long)json_integer_value(own)
                              : strtoll(sma_cli_log_text(run, "runId"), NULL, 10);
    }
    json_decref(root);
    return status;
}

/* Ids of some platforms are a chat's own: message 5 is in every chat. */
static int find_in_chat(const struct why *why, struct sma_buf *path)
{
    long long number = 0, next = 0;
    int status;
    do
        status = find_in_page(why, &number, &next);
    while (status == 0 && number == 0 && next > 0);
    sma_buf_printf(path, "/api/runs/%lld/trace", number == 0 ? INT64_MAX : number);
    return status;
}

static int put_path(const struct why *why, struct sma_buf *path)
{
    if (why->chat != NULL && why->is_running)
        return find_in_chat(why, path);
    sma_buf_put_text(path, why->is_run ? "/api/runs/" : "/api/trace?message=");
    sma_cli_put_encoded(path, why->what);
    sma_buf_put_text(path, why->is_run ? "/trace" : "");
    return 0;
}

static int tell_message(const struct why *why)
{
    struct sma_buf path;
    json_t *trace = NULL;
    sma_buf_init(&path, 4096);
    int status = put_path(why, &path);
    if (status == 0 && path.err != SMA_ERR_OK)
        status = sma_cli_fail("why: the id is too long");
    else if (status == 0 && why->is_running)
        status = ask(why, path.ptr, &trace);
    sma_buf_fini(&path);
    if (status == 0 && trace != NULL && why->is_json) {
        (void)json_dumpf(trace, stdout, JSON_COMPACT);
        putchar('\n');
    } else if (status == 0 && trace != NULL) {
        print_trace(why, trace);
    } else if (status == 0) {
        status = tell_log(why, &(struct sma_cli_why_log){
                                   .message = why->what, .chat = why->chat, .count = SIZE_MAX});
    }
    json_decref(trace);
    return status;
}

/* -- a chat ------------------------------------------------------------------------------------ */
static void print_run(const json_t *run)
{
    const char *reason = sma_cli_log_text(run, "reason"),
               *waits = sma_cli_log_text(run, "waitsFor");
    sma_cli_why_print_time(sma_cli_log_text(run, "acceptedAt"));
    print_text(sma_cli_log_text(run, "messageId"));
    enum sma_reason why = sma_reason_of_word(sma_str(reason));
    const char *status = sma_cli_log_text(run, "status");
    bool is_unanswered = strcmp(status, "ignored") == 0 || strcmp(status, "busy") == 0;
    if (is_unanswered && why != SMA_REASON_NONE) /* the row's word says less */
        status = sma_reason_text(why)->kind == SMA_REASON_IS_REFUSED ? "refused" : "ignored";
    printf("  %s", status);
    if (!is_unanswered)
        printf(" (run %s)", sma_cli_log_text(run, "runId"));
    if (reason[0] != '\0' || waits[0] != '\0') {
        fputs(waits[0] != '\0' ? ", waits for " : ": ", stdout);
        print_text(waits[0] != '\0' ? waits : reason);
    }
    putchar('\n');
}

/* Oldest first, as people read; each reason is explained once; the newest message whole. */
static int print_runs(const struct why *why, const json_t *runs)
{
    bool is_explained[SMA_REASON_COUNT] = {false};
    size_t count = json_array_size(runs);
    for (size_t i = count; i-- > 0;) {
        const json_t *run = json_array_get(runs, i);
        print_run(run);
        enum sma_reason reason = sma_reason_of_word(sma_str(sma_cli_log_text(run, "reason")));
        if (reason != SMA_REASON_NONE && !is_explained[reason] && i > 0)
            sma_cli_why_explain(sma_cli_log_text(run, "reason"));
        is_explained[reason] = true;
    }
    if (count == 0)
        return 0;
    char path[96];
    json_t *trace = NULL;
    snprintf(path, sizeof path, "/api/runs/%.32s/trace",
             sma_cli_log_text(json_array_get(runs, 0), "runId"));
    int status = ask(why, path, &trace);
    if (status == 0 && trace != NULL) {
        putchar('\n');
        print_trace(why, trace);
    }
    json_decref(trace);
    return status;
}

static int tell_chat(const struct why *why)
{
    struct sma_buf path;
    json_t *root = NULL;
    int status = 0;
    sma_buf_init(&path, 4096);
    sma_buf_printf(&path, "/api/runs?limit=%lld&chatKey=", (long long)why->limit);
    sma_cli_put_encoded(&path, why->what);
    if (path.err != SMA_ERR_OK)
        status = sma_cli_fail("why: the chat key is too long");
    else if (why->is_running)
        status = ask(why, path.ptr, &root);
    sma_buf_fini(&path);
    const json_t *runs = json_object_get(root, "runs");
    if (status == 0 && why->is_json && root != NULL) {
        (void)json_dumpf(root, stdout, JSON_COMPACT);
        putchar('\n');
    } else if (status == 0) {
        status = print_runs(why, runs);
        if (status == 0) /* and what has no row: bots' messages, unknown kinds */
            status =
                tell_log(why, &(struct sma_cli_why_log){.chat = why->what,
                                                        .count = (size_t)why->limit * 4,
                                                        .has_rows = json_array_size(runs) > 0});
    }
    json_decref(root);
    return status;
}

/* -- the command ------------------------------------------------------------------------------- */
static int read_options(int argc, char **argv, struct why *why)
{
    int option;
    while ((option = sma_cli_option(&sma_cli_command_why, argc, argv)) != -1) {
        if (option == '?')
            return 1;
        why->is_json = why->is_json || option == 'j';
        why->is_run = why->is_run || option == 'r';
        if (option == 'c')
            why->chat = optarg;
        if (option == 'n' && sma_parse_i64(sma_str(optarg), 1, 200, &why->limit) != SMA_ERR_OK)
            return sma_cli_fail("why: --limit is a number from 1 to 200, not %s", optarg);
    }
    if (optind >= argc || argc - optind > 2)
        return sma_cli_fail("why: name one message by its platform's id, or one chat by its key; "
                            "see `shipmyagent help why`");
    why->what = argv[optind];
    return 0;
}

/* "telegram:chat:1001": a platform, a kind, an id. */
static bool is_chat_key(const char *what)
{
    const char *first = strchr(what, ':');
    return first != NULL && first != what && strchr(first + 1, ':') != NULL;
}

static bool has_logs(const struct sma_cli_api *api)
{
    char path[sizeof api->state_dir + 8];
    snprintf(path, sizeof path, "%s/logs", api->state_dir);
    return access(path, F_OK) == 0 || errno != ENOENT;
}

static int run_why(int argc, char **argv)
{
    struct why why = {.limit = MESSAGE_COUNT_DEFAULT};
    int status = read_options(argc, argv, &why);
    if (status != 0)
        return status;
    status = sma_cli_api_open("why", optind + 1 < argc ? argv[optind + 1] : ".", &why.api);
    if (status != 0 && status != SMA_CLI_NOT_RUNNING)
        return status;
    why.is_running = status == 0;
    if (!why.is_running && !has_logs(&why.api))
        return sma_cli_fail("why: there is no %s/logs: the service has never run here; name the "
                            "folder of the project behind the message",
                            why.api.state_dir);
    if (!why.is_running) {
        puts("No service runs; the log files know:");
        fflush(stdout); /* before what may be said on standard error */
    }
    return is_chat_key(why.what) && !why.is_run ? tell_chat(&why) : tell_message(&why);
}

static const struct sma_cli_command_option OPTIONS[] = {
    {"run", 'r', false, SMA_VALUE_NONE, NULL, NULL, "the number is a run's, as in the log"},
    {"chat", 'c', false, SMA_VALUE_CHAT, NULL, "KEY",
     "the message of this chat: Telegram counts each chat's from 1 on"},
    {"limit", 'n', true, SMA_VALUE_TEXT, NULL, "N",
     "the last N messages of a chat, 200 at most (default: 10)"},
    {"json", 'j', false, SMA_VALUE_NONE, NULL, NULL, "the service's own answer, as JSON"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_why = {
    .name = "why",
    .run = run_why,
    .place = "MESSAGE",
    .summary = "why a message was not answered, and what to do about it",
    .usage = "shipmyagent why MESSAGE [FOLDER] [--chat KEY] [--json]\n"
             "shipmyagent why CHAT [FOLDER] [--limit N] [--json]\n"
             "shipmyagent why RUN [FOLDER] --run [--json]\n",
    .options = OPTIONS,
    .text = "MESSAGE is the platform's id (the newest message that has it), CHAT a key such as "
            "telegram:chat:1001.\n"
            "Answered, waiting (for what), ignored, "
            "refused, failed, delivered or not: with the reason and the remedy.\n"
            "While no service runs the log files are read.\n"
            "Exit status 0: told; 1: nothing is known of it.\n",
    .first = SMA_VALUE_CHAT,
};
