/*
 * load_main.c — the program `bench`, which `shipmyagent bench` becomes.
 */
#include "load.h"
#include "load_platform.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OPEN_CHATS 50
#define CHAT_COUNT_MAX 900 /* as many as connections of HTTP */
#define MESSAGE_COUNT_MAX 2000000
#define WARM_UP_S 60
#define SETTLE_LOOK_NS 10000000

/* -- messages ---------------------------------------------------------------------------------- */
static void run_load(const struct load_place *place, struct load_chats *chats,
                     const struct load_plan *plan, struct load_run *run)
{
    run->end_ns = run->start_ns + (uint64_t)(plan->seconds * 1e9);
    size_t due = plan->is_open ? (size_t)(plan->rate * plan->seconds + 0.5) : 0;
    for (size_t i = 0; i < due; i++)
        load_run_add(run, run->start_ns + (uint64_t)((double)i * 1e9 / plan->rate),
                     (unsigned)(i % plan->chats));
    if (chats != NULL)
        load_chats_run(chats, plan, run);
    else
        load_http_run(place, plan, run);
}

/* Each chat says one thing that does not count: files are made, connections and pages are there.
 * @return false: not one was answered */
static bool warm_up(const struct load_place *place, struct load_chats *chats,
                    const struct load_plan *plan, size_t *ret_count)
{
    struct load_plan warm = *plan;
    struct load_run run = {.count_max = plan->chats, .start_ns = load_now_ns()};
    warm.is_open = false;
    warm.seconds = WARM_UP_S;
    size_t answered = 0;
    run_load(place, chats, &warm, &run);
    for (size_t i = 0; i < run.count; i++)
        answered += run.samples[i].outcome == LOAD_ANSWERED;
    *ret_count = run.count;
    free(run.samples);
    if (answered == 0 && !load_is_interrupted)
        fprintf(stderr, "bench: not one of %zu messages was answered before the measurement\n",
                *ret_count);
    return answered > 0;
}

/* -- the whole --------------------------------------------------------------------------------- */
static bool write_json(const json_t *report, const char *path)
{
    if (path == NULL || json_dump_file(report, path, JSON_INDENT(2)) == 0)
        return true;
    fprintf(stderr, "bench: %s: %s\n", path, strerror(errno));
    return false;
}

static int judge(const struct load_plan *plan, const json_t *baseline, const json_t *report)
{
    const json_t *messages = json_object_get(report, "messages");
    int status = baseline == NULL ? 0 : load_compare(baseline, report);
    if (!write_json(report, plan->json))
        return 2;
    if (status == 0 && json_integer_value(json_object_get(messages, "unanswered")) > 0)
        return 1;
    return status;
}

/* The platform has an answer before the service has counted it, and a busy machine makes that gap
 * long: counts are read when nothing is under way. */
static bool read_settled(const struct load_place *place, const struct load_plan *plan,
                         struct load_reading *ret)
{
    for (uint64_t until = load_now_ns() + (uint64_t)plan->patience_ms * 1000000u;
         !load_is_quiet(place) && load_now_ns() < until && !load_is_interrupted;)
        nanosleep(&(struct timespec){0, SETTLE_LOOK_NS}, NULL);
    return load_read(place, ret);
}

static int measure(struct load_place *place, struct load_chats *chats, const struct load_plan *plan,
                   const json_t *baseline)
{
    struct load_reading readings[2] = {{0}, {0}};
    struct load_run run = {0};
    int status = 2;
    if (!warm_up(place, chats, plan, &run.first) || !read_settled(place, plan, &readings[0]))
        return status;
    run.start_ns = load_now_ns(); /* from this line on everything counts, a stall of ours, too */
    printf("measuring\n");
    fflush(stdout);
    run_load(place, chats, plan, &run);
    if (load_is_interrupted)
        fprintf(stderr, "bench: interrupted\n");
    else if (read_settled(place, plan, &readings[1])) {
        json_t *report = load_report(plan, place, &run, readings);
        load_print(report);
        status = judge(plan, baseline, report);
        json_decref(report);
    }
    load_reading_fini(&readings[0]);
    load_reading_fini(&readings[1]);
    free(run.samples);
    return status;
}

static int drive(const struct load_plan *plan, const json_t *baseline)
{
    struct load_place place = {0};
    struct load_chats *chats = NULL;
    json_t *adapter = NULL;
    int status = 2;
    if (strcmp(plan->platform, "http") != 0) {
        chats = load_chats_open(plan);
        adapter = load_chats_adapter(chats);
    }
    if (load_place_make(&place) && load_start_model(&place, plan) &&
        load_copy(&place, plan, adapter) && load_start_service(&place, plan) &&
        (chats == NULL || load_chats_await_ready(chats))) {
        printf("a copy of %s in %s, process %d, http://127.0.0.1:%d\n", plan->folder, place.folder,
               (int)place.service.pid, place.service.port);
        printf("%s, %s, %u chats, %g s; the model answers after %ld ms\n", plan->platform,
               plan->is_open ? "open loop" : "closed loop", plan->chats, plan->seconds,
               plan->model_ms);
        fflush(stdout);
        status = measure(&place, chats, plan, baseline);
    }
    json_decref(adapter);
    load_place_remove(&place);
    load_chats_close(chats);
    return load_is_interrupted ? 130 : status;
}

/* -- options ----------------------------------------------------------------------------------- */
static bool complain(const char *what, const char *value)
{
    fprintf(stderr, "bench: %s%s; see `shipmyagent help bench`\n", what, value);
    return false;
}

static bool take_number(const char *text, double least, double most, double *ret)
{
    char *end = NULL;
    errno = 0;
    *ret = strtod(text, &end);
    return (errno == 0 && end != text && *end == '\0' && *ret >= least && *ret <= most) ||
           complain("not a number in its range: ", text);
}

static bool take_option(struct load_plan *plan, int option)
{
    double value = 0;
    if (option == 'P')
        plan->program = optarg;
    else if (option == 'j')
        plan->json = optarg;
    else if (option == 'b')
        plan->baseline = optarg;
    else if (option == 'p')
        plan->platform = optarg;
    else if (option == 'r')
        return take_number(optarg, 0.1, 100000, &plan->rate);
    else if (option == 'd')
        return take_number(optarg, 1, 86400, &plan->seconds);
    else if (option == 'c' || option == 'n') {
        if (!take_number(optarg, 1, CHAT_COUNT_MAX, &value))
            return false;
        plan->is_open = option == 'n';
        plan->chats = (unsigned)value;
    } else if (option == 'm') {
        if (!take_number(optarg, 0, 600000, &value))
            return false;
        plan->model_ms = (long)value;
    } else
        return false; /* getopt has said which */
    return true;
}

static bool check(struct load_plan *plan, bool is_closed)
{
    if (plan->program == NULL)
        return complain("start it as `shipmyagent bench`", "");
    if (plan->platform == NULL)
        return complain("say --platform telegram, feishu, qq or http", "");
    if (strcmp(plan->platform, "http") != 0 && load_platform_find(plan->platform) == NULL)
        return complain("there is no platform ", plan->platform);
    if (is_closed == (plan->rate > 0))
        return complain("say either --rate or --closed", "");
    plan->is_open = !is_closed;
    if (plan->rate * plan->seconds > MESSAGE_COUNT_MAX)
        return complain("that is more than 2000000 messages", "");
    return true;
}

static bool parse(struct load_plan *plan, int argc, char **argv)
{
    static const struct option options[] = {
        {"program", required_argument, NULL, 'P'},  {"platform", required_argument, NULL, 'p'},
        {"rate", required_argument, NULL, 'r'},     {"closed", required_argument, NULL, 'c'},
        {"chats", required_argument, NULL, 'n'},    {"duration", required_argument, NULL, 'd'},
        {"model-ms", required_argument, NULL, 'm'}, {"json", required_argument, NULL, 'j'},
        {"compare", required_argument, NULL, 'b'},  {NULL, 0, NULL, 0}};
    bool is_closed = false, has_chats = false;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (!take_option(plan, option))
            return false;
        is_closed |= option == 'c';
        has_chats |= option == 'n';
    }
    if (is_closed && has_chats)
        return complain("--closed says how many chats there are; --chats belongs to --rate", "");
    if (optind < argc)
        plan->folder = argv[optind++];
    if (optind < argc)
        return complain("one folder only; what is this for: ", argv[optind]);
    return check(plan, is_closed);
}

/* Read before the measurement: a file that is not there is no reason to wait for it. */
static bool read_baseline(const struct load_plan *plan, json_t **ret)
{
    json_error_t error;
    *ret = NULL;
    if (plan->baseline == NULL)
        return true;
    *ret = json_load_file(plan->baseline, 0, &error);
    return *ret != NULL || complain("no baseline: ", error.text);
}

int main(int argc, char **argv)
{
    struct load_plan plan = {
        .folder = ".", .is_open = true, .seconds = 10, .chats = OPEN_CHATS, .patience_ms = 30000};
    json_t *baseline;
    if (!parse(&plan, argc, argv) || !read_baseline(&plan, &baseline))
        return 2;
    load_catch_interrupts();
    int status = drive(&plan, baseline);
    json_decref(baseline);
    return status;
}
