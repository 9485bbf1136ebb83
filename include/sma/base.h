/*
 * base.h — the words every room uses: errors, checked results, slices, assertions.
 *
 * Invariants: 0 is success; out-parameters named ret_x are untouched on failure.
 * Threads:    everything here is free of state.
 */
#ifndef SMA_BASE_H
#define SMA_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SMA_CHECKED __attribute__((warn_unused_result))
#define SMA_PRINTF(fmt_index, first_index) __attribute__((format(printf, fmt_index, first_index)))
#define SMA_AUTO(destructor) __attribute__((cleanup(destructor)))
/* Moves ownership out of an SMA_AUTO variable: yields the pointer and leaves NULL behind. */
#define SMA_TAKE(pointer)                           \
    (__extension__({                                \
        __typeof__(pointer) sma_taken_ = (pointer); \
        (pointer) = NULL;                           \
        sma_taken_;                                 \
    }))
#define SMA_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define SMA_NS_PER_S UINT64_C(1000000000)
#define SMA_NS_PER_MS UINT64_C(1000000)

#define SMA_ERR_MAP(X)                      \
    X(OK, "success")                        \
    X(NOMEM, "out of memory")               \
    X(FULL, "queue or buffer at its limit") \
    X(EMPTY, "nothing there")               \
    X(GONE, "actor has ended")              \
    X(BADINPUT, "input rejected")           \
    X(TOOBIG, "input over its limit")       \
    X(NOTFOUND, "not found")                \
    X(EXISTS, "already there")              \
    X(BUSY, "held by someone else")         \
    X(TIMEOUT, "deadline passed")           \
    X(NOSPACE, "disk full")                 \
    X(CORRUPT, "stored data damaged")       \
    X(UNSUPPORTED, "not supported")         \
    X(IO, "operating system call failed")

enum sma_err
{
#define X(name, text) SMA_ERR_##name,
    SMA_ERR_MAP(X)
#undef X
        SMA_ERR_COUNT
};

/** Pass an error on: return it when the call did not answer OK. For functions that return
 *  enum sma_err and have nothing to undo that SMA_AUTO does not. */
#define SMA_TRY(...)                               \
    do {                                           \
        enum sma_err sma_try_err_ = (__VA_ARGS__); \
        if (sma_try_err_ != SMA_ERR_OK)            \
            return sma_try_err_;                   \
    } while (0)

/** @return a constant text for err; never NULL. Thread: any. */
const char *sma_err_text(enum sma_err err);
/** @return the constant name without prefix, e.g. "NOMEM". Thread: any. */
const char *sma_err_name(enum sma_err err);

/* Detail of one failure, owned by the caller, filled where it happened, shown once at the edge that
 * decides. */
struct sma_error
{
    enum sma_err code;
    int os_errno; /* 0 when no system call was involved */
    char text[496];
};

/** Fill *error (may be NULL) and return code, so that `return sma_fail(e, code, ...)` reads as one
 *  act. */
enum sma_err sma_fail(struct sma_error *error, enum sma_err code, const char *format, ...)
    SMA_PRINTF(3, 4);
/** Like sma_fail, for a failed system call: appends strerror(os_errno). */
enum sma_err sma_fail_os(struct sma_error *error, int os_errno, const char *format, ...)
    SMA_PRINTF(3, 4);

/* A borrowed run of bytes; never owns, need not end in NUL. ptr may be NULL only when len is 0. */
struct sma_str
{
    const char *ptr;
    size_t len;
};

#define SMA_STR(literal) ((struct sma_str){"" literal, sizeof(literal) - 1})

static inline struct sma_str sma_str(const char *text) /* NULL gives the empty slice */
{
    /* Of an array, which is never NULL, GCC would otherwise follow both ways and warn of one. */
    __asm__("" : "+r"(text));
    return (struct sma_str){text, text == NULL ? 0 : strlen(text)};
}

static inline bool sma_str_is_equal(struct sma_str a, struct sma_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/** SMA_ASSERT: stays on in release. Programmer errors and broken invariants only, never input, I/O,
 *  time, memory. */
_Noreturn void sma_assert_failed(const char *expression, const char *file, int line);
#define SMA_ASSERT(condition)                                  \
    do {                                                       \
        if (__builtin_expect(!(condition), 0))                 \
            sma_assert_failed(#condition, __FILE__, __LINE__); \
    } while (0)
#ifdef NDEBUG
#define SMA_ASSERT_SLOW(condition) ((void)0)
#else
#define SMA_ASSERT_SLOW(condition) SMA_ASSERT(condition)
#endif

/** free() for SMA_AUTO(sma_freep) on any pointer variable. */
static inline void sma_freep(void *pointer_to_pointer)
{
    extern void free(void *);
    void *victim;
    memcpy(&victim, pointer_to_pointer, sizeof victim);
    free(victim);
}

#endif
