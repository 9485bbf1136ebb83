/*
 * prometheus.h — a strict reader of the text format 0.0.4: what it takes, Prometheus takes, and
 * `promtool check metrics` has nothing to say about. For tests.
 */
#ifndef SMA_TEST_PROMETHEUS_H
#define SMA_TEST_PROMETHEUS_H

#include "support/check.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A histogram's buckets grow, the last is +Inf and is its count. */
struct buckets
{
    double seen, total;
    bool has_total;
};

static void follow_buckets(struct buckets *buckets, const char *line, double number)
{
    size_t len = strcspn(line, "{ ");
    bool is_bucket = len > 7 && strncmp(line + len - 7, "_bucket", 7) == 0;
    if (is_bucket) {
        CHECK(number >= buckets->seen && !buckets->has_total);
        buckets->seen = number;
        buckets->has_total = strncmp(line + len, "{le=\"+Inf\"} ", 12) == 0;
        buckets->total = number;
    } else if (buckets->has_total && len > 6 && strncmp(line + len - 6, "_count", 6) == 0) {
        CHECK(number == buckets->total);
        *buckets = (struct buckets){0};
    }
}

static bool is_name_char(char c, bool is_first)
{
    return isalpha((unsigned char)c) || c == '_' || c == ':' ||
           (!is_first && isdigit((unsigned char)c));
}

static const char *skip_name(const char *at)
{
    CHECK(is_name_char(*at, true));
    while (is_name_char(*at, false))
        at++;
    return at;
}

/* Of {a="b",c="d"}: escapes are \\ \" \n alone. */
static const char *skip_labels(const char *at)
{
    CHECK(*at == '{');
    do {
        at = skip_name(at + 1);
        CHECK(at[0] == '=' && at[1] == '"');
        for (at += 2; *at != '"'; at++) {
            CHECK(*at != '\0' && *at != '\n');
            if (*at == '\\') {
                at++;
                CHECK(*at == '\\' || *at == '"' || *at == 'n');
            }
        }
        at++;
    } while (*at == ',');
    CHECK(*at == '}');
    return at + 1;
}

/* Every family is headed once, before its samples, and a sample stands once. */
static void is_prometheus_text(const char *text)
{
    char family[128] = "";
    struct buckets buckets = {0};
    const char *line = text;
    while (*line != '\0') {
        const char *end = strchr(line, '\n');
        CHECK(end != NULL);
        if (strncmp(line, "# HELP ", 7) == 0) {
            const char *name_end = skip_name(line + 7);
            snprintf(family, sizeof family, "%.*s", (int)(name_end - line - 7), line + 7);
            CHECK(*name_end == ' ' && name_end + 1 < end);
            char again[200];
            snprintf(again, sizeof again, "# HELP %s ", family);
            CHECK(strstr(end, again) == NULL);
            snprintf(again, sizeof again, "# TYPE %s ", family);
            CHECK(strncmp(end + 1, again, strlen(again)) == 0);
            bool is_counter = strncmp(end + 1 + strlen(again), "counter\n", 8) == 0;
            size_t len = strlen(family);
            CHECK(!is_counter || (len > 6 && strcmp(family + len - 6, "_total") == 0));
        } else if (line[0] != '#') {
            const char *at = skip_name(line);
            CHECK(strncmp(line, family, strlen(family)) == 0);
            if (*at == '{')
                at = skip_labels(at);
            char sample[600];
            snprintf(sample, sizeof sample, "\n%.*s ", (int)(at - line), line);
            CHECK(strstr(end, sample) == NULL);
            CHECK(*at == ' ');
            char *number_end;
            double number = strtod(at + 1, &number_end);
            CHECK(number_end == end);
            follow_buckets(&buckets, line, number);
        }
        line = end + 1;
    }
}

#endif
