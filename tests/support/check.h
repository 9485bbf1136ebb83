/*
 * check.h — the whole test framework: a failed check prints where and what, and the program ends
 * with status 1. A test program calls its cases by RUN(case) from main and returns check_summary().
 */
#ifndef SMA_TEST_CHECK_H
#define SMA_TEST_CHECK_H

#include "sma/base.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int check_case_count;

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

#define CHECK_OK(call)                                                        \
    do {                                                                      \
        enum sma_err check_err_ = (call);                                     \
        if (check_err_ != SMA_ERR_OK) {                                       \
            fprintf(stderr, "%s:%d: %s gave %s\n", __FILE__, __LINE__, #call, \
                    sma_err_name(check_err_));                                \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

#define CHECK_ERR(expected, call)                                                        \
    do {                                                                                 \
        enum sma_err check_err_ = (call);                                                \
        if (check_err_ != (expected)) {                                                  \
            fprintf(stderr, "%s:%d: %s gave %s, wanted %s\n", __FILE__, __LINE__, #call, \
                    sma_err_name(check_err_), sma_err_name(expected));                   \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

#define CHECK_INT(expected, actual)                                                          \
    do {                                                                                     \
        long long check_a_ = (long long)(expected), check_b_ = (long long)(actual);          \
        if (check_a_ != check_b_) {                                                          \
            fprintf(stderr, "%s:%d: %s is %lld, wanted %lld\n", __FILE__, __LINE__, #actual, \
                    check_b_, check_a_);                                                     \
            exit(1);                                                                         \
        }                                                                                    \
    } while (0)

static inline void check_text_at(const char *file, int line, const char *name,
                                 struct sma_str wanted, struct sma_str actual)
{
    if (sma_str_is_equal(wanted, actual))
        return;
    fprintf(stderr, "%s:%d: %s differs\n  wanted: %.*s\n  actual: %.*s\n", file, line, name,
            (int)wanted.len, wanted.len == 0 ? "" : wanted.ptr, (int)actual.len,
            actual.len == 0 ? "" : actual.ptr);
    exit(1);
}
/* expected: C string; actual: struct sma_str */
#define CHECK_STR(expected, actual) \
    check_text_at(__FILE__, __LINE__, #actual, sma_str(expected), (actual))
/* both C strings */
#define CHECK_TEXT(expected, actual) \
    check_text_at(__FILE__, __LINE__, #actual, sma_str(expected), sma_str(actual))

#define RUN(test_case)                          \
    do {                                        \
        test_case();                            \
        check_case_count++;                     \
        fprintf(stderr, "ok %s\n", #test_case); \
    } while (0)

static inline int check_summary(void)
{
    fprintf(stderr, "%d cases passed\n", check_case_count);
    return 0;
}

#endif
