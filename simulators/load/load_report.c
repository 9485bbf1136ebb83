/*
 * load_report.c — what was measured, as JSON and as people read it.
 */
#include "load.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define BUCKET_COUNT_MAX 64
#define BAR_COUNT_MAX 48
#define BAR_WIDTH 44
#define MS 1e6 /* nanoseconds */
/* Of a generator that was late by more, and by more than this share of the p99, it is said. */
#define LATE_MS 1.0
#define LATE_SHARE 0.1

/* clang-format off */
static const struct
{
    const char *name, *what;
} STAGES[] = {
    {"read_to_durable", "read to durable"},
    {"durable_to_model", "durable to model request"},
    {"read_to_model", "read to model request"},
    {"model_first_token", "model, first token"},
    {"model_total", "model, whole answer"},
    {"delivery_attempt", "sending the reply"},
    {"read_to_reply", "read to reply accepted"},
    {"run_total", "run"},
    {"store_commit", "one commit and its sync"},
};
/* clang-format on */

/* -- samples ----------------------------------------------------------------------------------- */
static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

struct values
{
    uint64_t *ns;
    size_t count;
};

static struct values make_values(size_t count)
{
    struct values values = {malloc((count + 1) * sizeof(uint64_t)), 0};
    if (values.ns == NULL)
        abort();
    return values;
}

/* The smallest value that so large a share of all is not above; 0 when there is none. */
static double at_ms(const struct values *values, double share)
{
    if (values->count == 0)
        return 0;
    size_t rank = (size_t)ceil(share * (double)values->count);
    return (double)values->ns[rank == 0 ? 0 : rank - 1] / MS;
}

/* Latencies, sorted, of the answered messages that were due in [from, to). */
static struct values latencies_of(const struct load_run *run, uint64_t from, uint64_t to)
{
    struct values values = make_values(run->count);
    for (size_t i = 0; i < run->count; i++) {
        const struct load_sample *sample = &run->samples[i];
        if (sample->outcome == LOAD_ANSWERED && sample->due_ns >= from && sample->due_ns < to)
            values.ns[values.count++] = sample->done_ns - sample->due_ns;
    }
    qsort(values.ns, values.count, sizeof *values.ns, compare);
    return values;
}

static json_t *quantiles(const struct values *values)
{
    return json_pack("{s:f,s:f,s:f,s:f,s:f}", "p50", at_ms(values, 0.5), "p90", at_ms(values, 0.9),
                     "p99", at_ms(values, 0.99), "p999", at_ms(values, 0.999), "max",
                     at_ms(values, 1));
}

static json_t *count_messages(const struct load_run *run, size_t due)
{
    size_t counts[4] = {0}, sent = 0;
    for (size_t i = 0; i < run->count; i++) {
        counts[run->samples[i].outcome]++;
        sent += run->samples[i].sent_ns != 0;
    }
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I}", "due", (json_int_t)due, "sent", (json_int_t)sent,
                     "answered", (json_int_t)counts[LOAD_ANSWERED], "refused",
                     (json_int_t)counts[LOAD_REFUSED], "broken", (json_int_t)counts[LOAD_BROKEN],
                     "unanswered", (json_int_t)counts[LOAD_UNANSWERED]);
}

/* How late this program sent what was due. */
static json_t *judge_generator(const struct load_run *run, double p99)
{
    struct values late = make_values(run->count);
    size_t held = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct load_sample *sample = &run->samples[i];
        held += sample->is_held;
        if (sample->sent_ns != 0 && !sample->is_held)
            late.ns[late.count++] =
                sample->sent_ns > sample->due_ns ? sample->sent_ns - sample->due_ns : 0;
    }
    qsort(late.ns, late.count, sizeof *late.ns, compare);
    double late_ms = at_ms(&late, 0.99), late_max = at_ms(&late, 1);
    free(late.ns);
    return json_pack("{s:f,s:f,s:I,s:b}", "lateP99Ms", late_ms, "lateMaxMs", late_max, "heldBack",
                     (json_int_t)held, "wasBottleneck",
                     late_ms > LATE_MS && late_ms > LATE_SHARE * p99);
}

static json_t *quarters(const struct load_run *run)
{
    json_t *list = json_array();
    uint64_t step = (run->end_ns - run->start_ns) / LOAD_QUARTER_COUNT;
    for (unsigned i = 0; i < LOAD_QUARTER_COUNT; i++) {
        uint64_t from = run->start_ns + i * step;
        struct values values =
            latencies_of(run, from, i + 1 == LOAD_QUARTER_COUNT ? UINT64_MAX : from + step);
        json_array_append_new(list, json_real(at_ms(&values, 0.5)));
        free(values.ns);
    }
    return list;
}

/* Bars of 1, 2, 5, 10, 20, 50 ... microseconds; those without a message at both ends left out. */
static json_t *make_bars(const struct values *values)
{
    json_t *bars = json_array();
    double from = 0, to = 0.001;
    for (size_t i = 0, seen = 0; i < BAR_COUNT_MAX && seen < values->count; i++) {
        size_t before = seen;
        while (seen < values->count && (double)values->ns[seen] / MS < to)
            seen++;
        if (seen > 0)
            json_array_append_new(bars, json_pack("{s:f,s:f,s:I}", "fromMs", from, "toMs", to,
                                                  "count", (json_int_t)(seen - before)));
        from = to;
        to *= i % 3 == 1 ? 2.5 : 2;
    }
    return bars;
}

/* -- what the service says --------------------------------------------------------------------- */
static double counter(const char *metrics, const char *name)
{
    char line[96];
    snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(metrics, line);
    return at == NULL ? 0 : strtod(at + strlen(line), NULL);
}

/* Cumulative, as the service tells them. @return how many */
static size_t read_buckets(const char *metrics, const char *name, double *bounds, double *counts)
{
    char prefix[96];
    size_t count = 0;
    snprintf(prefix, sizeof prefix, "sma_%s_seconds_bucket{le=\"", name);
    for (const char *at = metrics; (at = strstr(at, prefix)) != NULL && count < BUCKET_COUNT_MAX;) {
        at += strlen(prefix);
        const char *brace = strstr(at, "} ");
        bounds[count] = strncmp(at, "+Inf", 4) == 0 ? INFINITY : strtod(at, NULL);
        counts[count++] = brace == NULL ? 0 : strtod(brace + 2, NULL);
    }
    return count;
}

struct stage
{
    double bounds[BUCKET_COUNT_MAX], counts[BUCKET_COUNT_MAX]; /* between the two readings */
    size_t count;
};

/* The upper bound of the bucket it lies in: never too good, and at most the width of a bucket too
 * bad. Beyond the last bound: that one. */
static double bucket_ms(const struct stage *stage, double share)
{
    double total = stage->count == 0 ? 0 : stage->counts[stage->count - 1], last = 0;
    for (size_t i = 0; i < stage->count; i++) {
        if (isfinite(stage->bounds[i]))
            last = stage->bounds[i];
        if (stage->counts[i] >= share * total)
            break;
    }
    return last * 1000;
}

static json_t *make_stage(const struct load_reading readings[2], size_t row)
{
    struct stage stage, before;
    before.count =
        read_buckets(readings[0].metrics, STAGES[row].name, before.bounds, before.counts);
    stage.count = read_buckets(readings[1].metrics, STAGES[row].name, stage.bounds, stage.counts);
    if (stage.count == 0 || stage.count != before.count)
        return NULL;
    for (size_t i = 0; i < stage.count; i++)
        stage.counts[i] -= before.counts[i];
    double total = stage.counts[stage.count - 1];
    if (total <= 0)
        return NULL;
    return json_pack("{s:s,s:s,s:I,s:f,s:f,s:f,s:f,s:f}", "name", STAGES[row].name, "what",
                     STAGES[row].what, "count", (json_int_t)total, "p50", bucket_ms(&stage, 0.5),
                     "p90", bucket_ms(&stage, 0.9), "p99", bucket_ms(&stage, 0.99), "p999",
                     bucket_ms(&stage, 0.999), "max", bucket_ms(&stage, 1));
}

static json_t *make_stages(const struct load_reading readings[2])
{
    json_t *list = json_array();
    for (size_t i = 0; i < SMA_COUNT_OF(STAGES); i++) {
        json_t *stage = make_stage(readings, i);
        if (stage != NULL)
            json_array_append_new(list, stage);
    }
    return list;
}

static json_t *per_message(const struct load_reading readings[2], double answered)
{
    double count = answered > 0 ? answered : 1;
    return json_pack("{s:f,s:f,s:f}", "cpuMs",
                     (readings[1].cpu_s - readings[0].cpu_s) * 1000 / count, "bytesWritten",
                     (double)(readings[1].written_bytes - readings[0].written_bytes) / count,
                     "syncs",
                     (counter(readings[1].metrics, "sma_store_syncs_total") -
                      counter(readings[0].metrics, "sma_store_syncs_total")) /
                         count);
}

/* What the service refused, by its own count: of a platform nobody else knows. */
static json_t *service_counts(const struct load_reading readings[2])
{
    static const struct
    {
        const char *member, *name;
    } rows[] = {{"accepted", "sma_ingress_accepted_total"},
                {"refused", "sma_ingress_refused_total"},
                {"busy", "sma_ingress_busy_total"},
                {"runsFailed", "sma_runs_failed_total"},
                {"modelErrors", "sma_model_errors_total"},
                {"sendsRepeated", "sma_deliveries_retried_total"},
                {"sendsFailed", "sma_deliveries_failed_total"}};
    json_t *tree = json_object();
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        json_object_set_new(tree, rows[i].member,
                            json_integer((json_int_t)(counter(readings[1].metrics, rows[i].name) -
                                                      counter(readings[0].metrics, rows[i].name))));
    return tree;
}

static json_t *about_machine(const struct load_place *place)
{
    struct utsname machine;
    double load[1] = {0};
    uname(&machine);
    (void)!getloadavg(load, 1);
    return json_pack("{s:I,s:s,s:s,s:f,s:b}", "cores", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN),
                     "kernel", machine.release, "architecture", machine.machine, "loadAverage",
                     load[0], "isInMemory", place->is_in_memory);
}

json_t *load_report(const struct load_plan *plan, const struct load_place *place,
                    const struct load_run *run, const struct load_reading readings[2])
{
    struct values all = latencies_of(run, 0, UINT64_MAX);
    json_t *messages = count_messages(run, run->count);
    uint64_t last = run->end_ns;
    for (size_t i = 0; i < run->count; i++)
        if (run->samples[i].done_ns > last)
            last = run->samples[i].done_ns;
    json_t *report = json_pack("{s:i,s:s,s:s,s:f,s:i,s:f,s:i,s:o}", "version", 1, "platform",
                               plan->platform, "mode", plan->is_open ? "open" : "closed", "rate",
                               plan->rate, "chats", (int)plan->chats, "seconds", plan->seconds,
                               "modelMs", (int)plan->model_ms, "messages", messages);
    json_object_set_new(report, "answeredPerSecond",
                        json_real((double)all.count * 1e9 / (double)(last - run->start_ns)));
    json_object_set_new(report, "latencyMs", quantiles(&all));
    json_object_set_new(report, "quartersP50Ms", quarters(run));
    json_object_set_new(report, "generator", judge_generator(run, at_ms(&all, 0.99)));
    json_object_set_new(report, "stages", make_stages(readings));
    json_object_set_new(report, "perMessage", per_message(readings, (double)all.count));
    json_object_set_new(report, "service", service_counts(readings));
    json_object_set_new(report, "histogram", make_bars(&all));
    json_object_set_new(report, "machine", about_machine(place));
    free(all.ns);
    return report;
}

/* -- as people read it ------------------------------------------------------------------------- */
static double number(const json_t *tree, const char *block, const char *name)
{
    return json_number_value(
        json_object_get(block == NULL ? tree : json_object_get(tree, block), name));
}

static void print_row(const char *what, const json_t *row)
{
    printf("  %-26s %9.2f %9.2f %9.2f %9.2f %9.2f\n", what, number(row, NULL, "p50"),
           number(row, NULL, "p90"), number(row, NULL, "p99"), number(row, NULL, "p999"),
           number(row, NULL, "max"));
}

static void print_bars(const json_t *bars)
{
    double most = 0;
    size_t i;
    const json_t *bar;
    json_array_foreach(bars, i, bar) most = fmax(most, number(bar, NULL, "count"));
    printf("\nmessage due to answer, ms:\n");
    json_array_foreach(bars, i, bar)
    {
        double count = number(bar, NULL, "count");
        int width = (int)ceil(count * BAR_WIDTH / most);
        printf("  %9.4g - %-9.4g |%.*s%*s %.0f\n", number(bar, NULL, "fromMs"),
               number(bar, NULL, "toMs"), width, "############################################",
               BAR_WIDTH - width, "", count);
    }
}

static void print_warnings(const json_t *report)
{
    if (json_is_true(json_object_get(json_object_get(report, "generator"), "wasBottleneck")))
        printf("\nThe generator was late by p99 %.1f ms (max %.1f): it, or this machine, was the "
               "bottleneck.\nWhat stands above is of both; ask for less, or for fewer other things "
               "at the same time.\n",
               number(report, "generator", "lateP99Ms"), number(report, "generator", "lateMaxMs"));
    if (number(report, "generator", "heldBack") > 0)
        printf(
            "\n%.0f messages were sent late because every connection waited for the service: it "
            "answers less than this rate,\nand latency grows as long as that lasts. That wait is "
            "counted above, and is no lateness of the generator.\n",
            number(report, "generator", "heldBack"));
    if (json_is_true(json_object_get(json_object_get(report, "machine"), "isInMemory")))
        printf("\nThe copy lay in memory (tmpfs), where a sync costs nothing: set TMPDIR to a "
               "folder on the disk.\n");
    if (number(report, "messages", "answered") < 1000)
        printf("\nUnder 1000 answers: p99.9 says no more than the maximum.\n");
}

void load_print(const json_t *report)
{
    size_t i;
    const json_t *stage;
    printf("\n%-28s %9s %9s %9s %9s %9s\n", "milliseconds", "p50", "p90", "p99", "p99.9", "max");
    print_row("message due to answer", json_object_get(report, "latencyMs"));
    printf("  of it, as the service counts (each the upper bound of its bucket):\n");
    json_array_foreach(json_object_get(report, "stages"), i, stage)
        print_row(json_string_value(json_object_get(stage, "what")), stage);
    print_bars(json_object_get(report, "histogram"));
    printf("\nmessages    %.0f due, %.0f sent, %.0f answered (%.1f/s), %.0f refused, %.0f broken "
           "off, %.0f unanswered\n",
           number(report, "messages", "due"), number(report, "messages", "sent"),
           number(report, "messages", "answered"), number(report, NULL, "answeredPerSecond"),
           number(report, "messages", "refused"), number(report, "messages", "broken"),
           number(report, "messages", "unanswered"));
    printf("the service accepted %.0f, busy %.0f, refused %.0f, runs failed %.0f, sends repeated "
           "%.0f\n",
           number(report, "service", "accepted"), number(report, "service", "busy"),
           number(report, "service", "refused"), number(report, "service", "runsFailed"),
           number(report, "service", "sendsRepeated"));
    printf("a message   %.2f ms of processor, %.0f bytes written, %.2f syncs\n",
           number(report, "perMessage", "cpuMs"), number(report, "perMessage", "bytesWritten"),
           number(report, "perMessage", "syncs"));
    printf("generator   late by p99 %.2f ms, max %.2f ms\n",
           number(report, "generator", "lateP99Ms"), number(report, "generator", "lateMaxMs"));
    print_warnings(report);
}
