/*
 * bench.h — what every benchmark shares: the clock, percentiles, a readable table on stdout, JSON
 * in a file.
 *
 * Use: bench_open(argc, argv, "mailbox") once, bench_row(...) for each figure, return
 * bench_close(). Options understood: --json FILE, --quick.  One thread prints.
 */
#ifndef SMA_BENCH_H
#define SMA_BENCH_H

#include "sma/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define BENCH_TOKEN "the-token-of-the-benchmarks" /* api.token of the services that are asked */
#define BENCH_TOKEN_LINE "X-Api-Token: " BENCH_TOKEN "\r\n"

static FILE *bench_json;
static bool bench_is_quick;
static int bench_row_count;
static int bench_miss_count;

static inline uint64_t bench_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline int bench_compare_u64(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static inline void bench_sort(uint64_t *values, size_t count)
{
    qsort(values, count, sizeof *values, bench_compare_u64);
}

/** Quantile q (0..1) of a sorted array, nearest rank; 0 when empty. */
static inline uint64_t bench_quantile(const uint64_t *sorted, size_t count, double q)
{
    if (count == 0)
        return 0;
    size_t rank = (size_t)(q * (double)count);
    return sorted[rank < count ? rank : count - 1];
}

static inline int bench_compare_double(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/** Median; sorts the values. */
static inline double bench_median(double *values, size_t count)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, bench_compare_double);
    return count % 2 == 1 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static inline void bench_open(int argc, char **argv, const char *name)
{
    const char *path = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0 && i + 1 < argc)
            path = argv[++i];
        else if (strcmp(argv[i], "--quick") == 0)
            bench_is_quick = true;
        else {
            fprintf(stderr, "usage: %s [--quick] [--json FILE]\n", argv[0]);
            exit(2);
        }
    }
    struct utsname machine;
    uname(&machine);
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    printf("bench_%s%s, %s, %ld cores, Linux %s %s\n", name, bench_is_quick ? " (quick)" : "", date,
           cores, machine.release, machine.machine);
    printf("%-46s %14s %-8s %14s %7s  %s\n", "what", "measured", "unit", "reference", "ratio",
           "target");
    if (path == NULL)
        return;
    bench_json = fopen(path, "we");
    if (bench_json == NULL) {
        fprintf(stderr, "cannot write %s\n", path);
        exit(1);
    }
    fprintf(
        bench_json,
        "{\"bench\":\"%s\",\"date\":\"%s\",\"cores\":%ld,\"kernel\":\"%s\",\"quick\":%s,\"rows\":[",
        name, date, cores, machine.release, bench_is_quick ? "true" : "false");
}

static inline void bench_json_number(const char *key, double number)
{
    if (isfinite(number))
        fprintf(bench_json, ",\"%s\":%.6g", key, number);
    else
        fprintf(bench_json, ",\"%s\":null", key);
}

/**
 * One figure. `reference` and `ratio` may be NAN when there is none. `target` is a text such as "<=
 * 3", ">= 0.5" (on the ratio), "<= 15 ns" (with a unit: on the value), or NULL.
 */
static inline void bench_row(const char *name, double value, const char *unit, double reference,
                             double ratio, const char *target)
{
    char reference_text[32] = "-", ratio_text[32] = "-", target_text[80] = "";
    if (isfinite(reference))
        snprintf(reference_text, sizeof reference_text, "%.2f", reference);
    if (isfinite(ratio))
        snprintf(ratio_text, sizeof ratio_text, "%.2f", ratio);
    bool is_met = true;
    if (target != NULL) {
        char *rest;
        double bound = strtod(target + 2, &rest);
        double figure =
            *rest != '\0' ? value : ratio; /* a unit behind the number: about the value itself */
        is_met = target[0] == '<' ? figure <= bound : figure >= bound;
        bench_miss_count += !is_met;
        snprintf(target_text, sizeof target_text, "%s %s", target, is_met ? "ok" : "MISSED");
    }
    printf("%-46s %14.2f %-8s %14s %7s  %s\n", name, value, unit, reference_text, ratio_text,
           target_text);
    fflush(stdout);
    if (bench_json == NULL)
        return;
    fprintf(bench_json, "%s{\"name\":\"%s\",\"unit\":\"%s\"", bench_row_count++ > 0 ? "," : "",
            name, unit);
    bench_json_number("value", value);
    bench_json_number("reference", reference);
    bench_json_number("ratio", ratio);
    if (target != NULL)
        fprintf(bench_json, ",\"target\":\"%s\",\"met\":%s", target, is_met ? "true" : "false");
    fputc('}', bench_json);
}

/** Finish the table and the file. @return 0: a missed target is a line in the table, not a failed
 *  program. */
static inline int bench_close(void)
{
    printf("%d target(s) missed\n", bench_miss_count);
    if (bench_json == NULL)
        return 0;
    fprintf(bench_json, "],\"missed\":%d}\n", bench_miss_count);
    if (fclose(bench_json) != 0) {
        fprintf(stderr, "cannot finish the JSON file\n");
        return 1;
    }
    return 0;
}

#endif
