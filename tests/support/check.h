/*
 * check.h — the whole test framework: a failed check prints where and what, and the program ends
 * with status 1. A case is CASE(name) { ... }. CASES_MAIN at the end of a file runs its cases in
 * their order, or the one that an argument names; a main that has more to do calls
 * check_run_cases() and returns check_summary(). RUN(function) is one case more.
 */
#ifndef SMA_TEST_CHECK_H
#define SMA_TEST_CHECK_H

#include "sma/base.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_case_count;
static struct
{
    void (*run)(void);
    const char *name;
    int number; /* constructors have no order: an optimizing compiler turns it round */
} check_cases[64];
static size_t check_cases_len;

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

static inline void check_add_case(void (*run)(void), const char *name, int number)
{
    size_t at = check_cases_len++;
    if (at == SMA_COUNT_OF(check_cases))
        abort();
    for (; at > 0 && check_cases[at - 1].number > number; at--)
        check_cases[at] = check_cases[at - 1];
    check_cases[at].run = run;
    check_cases[at].name = name;
    check_cases[at].number = number;
}

#define CASE(name)                                                  \
    static void name(void);                                         \
    static void __attribute__((constructor)) name##_is_a_case(void) \
    {                                                               \
        check_add_case(name, #name, __COUNTER__);                   \
    }                                                               \
    static void name(void)

/* What is to be done behind every case of this file. */
static void (*check_after_each)(void);
#define AFTER_EACH(call)                                           \
    static void check_after(void)                                  \
    {                                                              \
        call;                                                      \
    }                                                              \
    static void __attribute__((constructor)) check_has_after(void) \
    {                                                              \
        check_after_each = check_after;                            \
    }

/* ENDING(x_destroy, struct x) makes x_destroyp: SMA_AUTO(x_destroyp) struct x *x ends with its
 * block. */
#define ENDING(destroy, type)                \
    static inline void destroy##p(type **it) \
    {                                        \
        destroy(*it);                        \
    }

/* wanted: the name of one, or NULL for all */
static inline void check_run_cases(const char *wanted)
{
    for (size_t i = 0; i < check_cases_len; i++) {
        if (wanted != NULL && strcmp(wanted, check_cases[i].name) != 0)
            continue;
        check_cases[i].run();
        if (check_after_each != NULL)
            check_after_each();
        check_case_count++;
        fprintf(stderr, "ok %s\n", check_cases[i].name);
    }
    CHECK(check_case_count > 0);
}

#define CASES_MAIN                                  \
    int main(int argc, char **argv)                 \
    {                                               \
        check_run_cases(argc > 1 ? argv[1] : NULL); \
        return check_summary();                     \
    }

/* The arguments of the program, which are these, as pointers to const char *. */
#define CASES_MAIN_GIVEN(...)                        \
    int main(int argc, char **argv)                  \
    {                                                \
        const char **const given[] = {__VA_ARGS__};  \
        CHECK(argc == (int)SMA_COUNT_OF(given) + 1); \
        for (int i = 1; i < argc; i++)               \
            *given[i - 1] = argv[i];                 \
        check_run_cases(NULL);                       \
        return check_summary();                      \
    }

static inline int check_summary(void)
{
    fprintf(stderr, "%d cases passed\n", check_case_count);
    return 0;
}

#endif
