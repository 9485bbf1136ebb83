/*
 * chaos_main.c — the program `chaos`, which `shipmyagent chaos` becomes: a copy of a project's
 * configuration is killed (SIGKILL) again and again while people write to it in the chats of a
 * simulated Telegram; then everybody must have an answer.
 *
 * The people write at a steady rate, also while the service is down: what the platform was told
 * waits there. At the end one quiet life answers the rest, and what the chats show is counted.
 */
#include "load/lives.h"
#include "load/load.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define CHATS 20
#define KILL_COUNT_MAX 100000
#define LIFE_MS 300      /* of a life that became ready, at most */
#define START_LIFE_MS 30 /* of one that is killed while it starts, at most */
#define START_RARITY 4   /* one life in so many is */
#define QUIET_MS 60000   /* without one more answer while something is open at the end */
#define LOOK_MS 500      /* between two looks then */
#define QUIET_LOOKS 6    /* so often nothing was under way: nothing more comes */

struct chaos
{
    struct load_plan plan;
    struct load_place place;
    struct load_chats *chats;
    struct load_run run;
    struct life *lives;
    size_t kills, life_count;
    uint64_t random;
    double *start_ms; /* of the lives that became ready */
    size_t start_count, early_count;
    bool is_broken; /* it ended by itself, or did not start */
};

/* What the chats show of one message. */
struct seen
{
    unsigned count;
    uint64_t last_ns;
};
struct tally
{
    struct chaos *chaos;
    struct seen *seen;
    size_t windows, twice, given_up;
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* -- people ------------------------------------------------------------------------------------ */
/* They say what is due by now. */
static void talk(struct chaos *chaos)
{
    struct load_run *run = &chaos->run;
    for (;;) {
        uint64_t due = run->start_ns + (uint64_t)((double)run->count * 1e9 / chaos->plan.rate);
        if (due > load_now_ns())
            return;
        size_t index = load_run_add(run, due, (unsigned)(run->count % chaos->plan.chats));
        load_chats_say(chaos->chats, run, index);
    }
}

static void pause_ms(long ms)
{
    struct timespec wait = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&wait, NULL);
}

/* @return false: the service has ended meanwhile */
static bool live_for(struct chaos *chaos, uint64_t ms)
{
    for (uint64_t until = load_now_ns() + ms * 1000000u;
         load_now_ns() < until && !load_is_interrupted; pause_ms(1)) {
        talk(chaos);
        if (waitpid(chaos->place.service.pid, NULL, WNOHANG) != 0)
            return false;
    }
    return true;
}

/* -- lives ------------------------------------------------------------------------------------- */
static bool complain(struct chaos *chaos, const char *what)
{
    load_complain("%s; its output:", what);
    load_show_output(&chaos->place);
    chaos->is_broken = true;
    return false;
}

/* Until it can be asked. People go on writing. */
static bool await_ready(struct chaos *chaos, uint64_t start_ns)
{
    for (uint64_t until = start_ns + QUIET_MS * 1000000ull;
         load_now_ns() < until && !load_is_interrupted;) {
        if (load_is_ready(&chaos->place)) {
            chaos->start_ms[chaos->start_count++] = (double)(load_now_ns() - start_ns) / 1e6;
            return true;
        }
        if (!live_for(chaos, 1)) {
            chaos->place.service.pid = 0;
            return complain(chaos, "the service ended while it started");
        }
    }
    return load_is_interrupted ? false : complain(chaos, "the service did not become ready");
}

static void kill_it(struct chaos *chaos)
{
    struct load_child *service = &chaos->place.service;
    int status = 0;
    kill(service->pid, SIGKILL);
    if (waitpid(service->pid, &status, 0) == service->pid &&
        !(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
        complain(chaos, "the service ended by itself");
    service->pid = 0;
}

/* One life: started, written to, killed. @return false: it broke */
static bool live_once(struct chaos *chaos)
{
    struct life *life = &chaos->lives[chaos->life_count++];
    bool is_early = next_random(&chaos->random) % START_RARITY == 0;
    load_chats_catch_up(chaos->chats);
    life->start_ns = load_now_ns();
    life->is_killed = true;
    if (!load_spawn_service(&chaos->place, &chaos->plan))
        return complain(chaos, "the service cannot be started");
    if (!is_early && !await_ready(chaos, life->start_ns))
        return false;
    if (!live_for(chaos, next_random(&chaos->random) % (is_early ? START_LIFE_MS : LIFE_MS))) {
        chaos->place.service.pid = 0;
        return complain(chaos, "the service ended by itself");
    }
    chaos->early_count += !load_is_ready(&chaos->place);
    kill_it(chaos);
    life->end_ns = load_now_ns();
    return !chaos->is_broken;
}

static size_t answered_count(const struct chaos *chaos)
{
    size_t count = 0;
    for (size_t i = 0; i < chaos->run.count; i++)
        count += chaos->run.samples[i].outcome == LOAD_ANSWERED;
    return count;
}

/* Everybody has an answer, and nothing is under way; or nothing has been under way for a while. A
 * slow machine works off what waits for as long as it takes: what is late is not lost. */
static void await_quiet(struct chaos *chaos)
{
    unsigned quiet = 0;
    size_t answered = answered_count(chaos);
    for (uint64_t until = load_now_ns() + QUIET_MS * 1000000ull;
         load_now_ns() < until && !load_is_interrupted && quiet < QUIET_LOOKS;) {
        size_t now_answered = answered_count(chaos);
        if (now_answered != answered)
            until = load_now_ns() + QUIET_MS * 1000000ull;
        answered = now_answered;
        bool is_all = load_chats_await_all(chaos->chats, &chaos->run, LOOK_MS),
             is_quiet = load_is_quiet(&chaos->place) && load_chats_is_drained(chaos->chats);
        if (is_all && is_quiet)
            return;
        quiet = is_quiet ? quiet + 1 : 0;
    }
}

/* The last life answers what is left, and is asked to end. */
static bool live_to_the_end(struct chaos *chaos)
{
    struct life *life = &chaos->lives[chaos->life_count++];
    load_chats_catch_up(chaos->chats);
    life->start_ns = load_now_ns();
    if (!load_spawn_service(&chaos->place, &chaos->plan) || !await_ready(chaos, life->start_ns))
        return false;
    await_quiet(chaos);
    load_stop(&chaos->place.service);
    life->end_ns = load_now_ns();
    return !load_is_interrupted;
}

/* -- what came of it --------------------------------------------------------------------------- */
static void count_answer(void *user, const char *text, bool has_number, size_t number, uint64_t ns)
{
    struct tally *tally = user;
    const struct chaos *chaos = tally->chaos;
    if (!has_number) {
        tally->given_up += strstr(text, "given it up") != NULL || strstr(text, "已放弃") != NULL;
        return;
    }
    if (number >= chaos->run.count)
        return;
    struct seen *seen = &tally->seen[number];
    if (seen->count++ > 0) {
        bool is_window = lives_are_window(chaos->lives, chaos->life_count, seen->last_ns, ns);
        tally->windows += is_window;
        tally->twice += !is_window;
    }
    seen->last_ns = ns;
}

/* @return what SQLite says of state.db: "ok", or what is wrong; free it */
static char *check_state(const struct chaos *chaos)
{
    char path[PATH_MAX + 32], *result = NULL;
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    snprintf(path, sizeof path, "%s/.ship/state.db", chaos->place.folder);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        result = strdup((const char *)sqlite3_column_text(statement, 0));
    else
        result = strdup(db == NULL ? "cannot be opened" : sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return result;
}

static int compare(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static json_t *report(struct chaos *chaos)
{
    struct tally tally = {.chaos = chaos, .seen = calloc(chaos->run.count + 1, sizeof *tally.seen)};
    size_t once = 0, more = 0, unanswered = 0;
    if (tally.seen == NULL)
        abort();
    load_chats_visit(chaos->chats, count_answer, &tally);
    for (size_t i = 0; i < chaos->run.count; i++) {
        once += tally.seen[i].count == 1;
        more += tally.seen[i].count > 1;
        unanswered += tally.seen[i].count == 0;
    }
    free(tally.seen);
    size_t given_up = tally.given_up < unanswered ? tally.given_up : unanswered;
    qsort(chaos->start_ms, chaos->start_count, sizeof *chaos->start_ms, compare);
    char *state = check_state(chaos);
    json_t *tree = json_pack(
        "{s:i,s:I,s:I,s:{s:I,s:I,s:I,s:I,s:I,s:I,s:I},s:{s:f,s:f},s:s}", "version", 1, "kills",
        (json_int_t)chaos->kills, "killsWhileStarting", (json_int_t)chaos->early_count, "messages",
        "sent", (json_int_t)chaos->run.count, "answeredOnce", (json_int_t)once, "answeredMore",
        (json_int_t)more, "repeatedInWindow", (json_int_t)tally.windows, "repeatedElsewhere",
        (json_int_t)tally.twice, "givenUp", (json_int_t)given_up, "lost",
        (json_int_t)(unanswered - given_up), "startMs", "p50",
        chaos->start_count == 0 ? 0 : chaos->start_ms[chaos->start_count / 2], "max",
        chaos->start_count == 0 ? 0 : chaos->start_ms[chaos->start_count - 1], "state",
        state == NULL ? "not checked" : state);
    free(state);
    return tree;
}

static long long number(const json_t *tree, const char *block, const char *name)
{
    return (long long)json_number_value(json_object_get(json_object_get(tree, block), name));
}

static int print(const json_t *tree)
{
    const char *state = json_string_value(json_object_get(tree, "state"));
    printf("killed      %lld times, %lld of them while it started\n",
           (long long)json_integer_value(json_object_get(tree, "kills")),
           (long long)json_integer_value(json_object_get(tree, "killsWhileStarting")));
    printf("messages    %lld sent, %lld answered once, %lld more than once, %lld given up (and "
           "said so)\n",
           number(tree, "messages", "sent"), number(tree, "messages", "answeredOnce"),
           number(tree, "messages", "answeredMore"), number(tree, "messages", "givenUp"));
    printf("repeated    %lld in the documented window (killed between the platform's taking an "
           "answer and the receipt), %lld elsewhere\n",
           number(tree, "messages", "repeatedInWindow"),
           number(tree, "messages", "repeatedElsewhere"));
    printf("LOST        %lld\n", number(tree, "messages", "lost"));
    printf("start       p50 %lld ms, max %lld ms until it could be asked\n",
           number(tree, "startMs", "p50"), number(tree, "startMs", "max"));
    printf("state.db    %s\n", state);
    return number(tree, "messages", "lost") == 0 &&
                   number(tree, "messages", "repeatedElsewhere") == 0 && strcmp(state, "ok") == 0
               ? 0
               : 1;
}

/* -- the whole --------------------------------------------------------------------------------- */
static bool open_world(struct chaos *chaos)
{
    chaos->lives = calloc(chaos->kills + 1, sizeof *chaos->lives);
    chaos->start_ms = calloc(chaos->kills + 1, sizeof *chaos->start_ms);
    if (chaos->lives == NULL || chaos->start_ms == NULL)
        abort();
    chaos->chats = load_chats_open(&chaos->plan);
    json_t *adapter = load_chats_adapter(chaos->chats);
    bool is_open = load_place_make(&chaos->place) &&
                   load_start_model(&chaos->place, &chaos->plan) &&
                   load_copy(&chaos->place, &chaos->plan, adapter);
    json_decref(adapter);
    return is_open;
}

static int drive(struct chaos *chaos)
{
    int status = 2;
    if (open_world(chaos)) {
        printf("a copy of %s in %s is killed %zu times\n", chaos->plan.folder, chaos->place.folder,
               chaos->kills);
        fflush(stdout);
        chaos->run.start_ns = load_now_ns();
        while (chaos->life_count < chaos->kills && !load_is_interrupted && live_once(chaos))
            continue;
        if (!chaos->is_broken && !load_is_interrupted && live_to_the_end(chaos)) {
            json_t *tree = report(chaos);
            status = print(tree);
            if (chaos->plan.json != NULL &&
                json_dump_file(tree, chaos->plan.json, JSON_INDENT(2)) != 0) {
                load_complain("%s: %s", chaos->plan.json, strerror(errno));
                status = 2;
            }
            json_decref(tree);
        } else if (chaos->is_broken)
            status = 1;
    }
    load_place_remove(&chaos->place);
    load_chats_close(chaos->chats);
    free(chaos->run.samples);
    free(chaos->lives);
    free(chaos->start_ms);
    return load_is_interrupted ? 130 : status;
}

static bool refuse(const char *what, const char *value)
{
    return load_complain("%s%s; see `shipmyagent help chaos`", what, value);
}

static bool take_number(const char *text, double least, double most, double *ret)
{
    char *end = NULL;
    *ret = strtod(text, &end);
    return (end != text && *end == '\0' && *ret >= least && *ret <= most) ||
           refuse("not a number in its range: ", text);
}

static bool take_option(struct chaos *chaos, int option)
{
    double value = 0;
    if (option == 'P')
        chaos->plan.program = optarg;
    else if (option == 'j')
        chaos->plan.json = optarg;
    else if (option == 'r')
        return take_number(optarg, 0.1, 1000, &chaos->plan.rate);
    else if (option == 'k' || option == 's') {
        if (!take_number(optarg, option == 'k', option == 'k' ? KILL_COUNT_MAX : 1e15, &value))
            return false;
        if (option == 'k')
            chaos->kills = (size_t)value;
        else
            chaos->random = (uint64_t)value;
    } else
        return false; /* getopt has said which */
    return true;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"program", required_argument, NULL, 'P'}, {"kills", required_argument, NULL, 'k'},
        {"rate", required_argument, NULL, 'r'},    {"seed", required_argument, NULL, 's'},
        {"json", required_argument, NULL, 'j'},    {NULL, 0, NULL, 0}};
    struct chaos chaos = {.plan = {.folder = ".",
                                   .platform = "telegram",
                                   .is_open = true,
                                   .rate = 20,
                                   .chats = CHATS},
                          .random = (uint64_t)time(NULL)};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (!take_option(&chaos, option))
            return 2;
    if (optind < argc)
        chaos.plan.folder = argv[optind++];
    if (optind < argc && !refuse("one folder only; what is this for: ", argv[optind]))
        return 2;
    if (chaos.plan.program == NULL && !refuse("start it as `shipmyagent chaos`", ""))
        return 2;
    if (chaos.kills == 0 && !refuse("say how often: --kills N", ""))
        return 2;
    load_catch_interrupts();
    printf("seed %llu\n", (unsigned long long)chaos.random);
    return drive(&chaos);
}
