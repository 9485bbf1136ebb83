/*
 * history_match.c — does a text hold the keyword? A regular expression with bounds on its work, and
 * a fast test on raw lines that spares most of them from being parsed.
 */
#include "history_priv.h"

#include "sma/text.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define MATCH_COUNT_MAX 100000 /* backtracking points from one start */
#define MATCH_HEAP_KB_MAX 8192
#define MATCH_CALLOUT_COUNT_MAX 20000000 /* steps of one search */
#define MATCH_WINDOW_NS_MAX 10000000u    /* one window, time of the processor */
#define MATCH_TOTAL_NS_MAX 2000000000u   /* one search */
#define CLOCK_CALLOUT_COUNT 16           /* steps between two looks at the clock */
#define WINDOW_BYTES 3072  /* a long text is looked at in pieces of so many bytes ... */
#define OVERLAP_BYTES 1024 /* ... that have so many in common: where two meet no match is longer */
static_assert(OVERLAP_BYTES >= SMA_HISTORY_KEYWORD_BYTES_MAX, "a plain keyword is found anywhere");
#define NEEDLE_BYTES_MAX 128

struct history_matcher
{
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    uint64_t callout_count, window_start_ns, spent_ns;
    /* Bytes that a line must hold, apart from ASCII case, unless it holds \u escapes; empty = no
     * such test. */
    unsigned char needle[NEEDLE_BYTES_MAX];
    size_t needle_len;
    size_t shift[256]; /* Horspool: how far to go when this byte stands at the needle's end */
};

static unsigned char fold(unsigned char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte + 32) : byte;
}

/* -- the test on raw lines --------------------------------------------------------------------- */
static bool is_plain(struct sma_str keyword)
{
    for (size_t i = 0; i < keyword.len; i++) {
        if (keyword.ptr[i] == '\0' || strchr("\\^$.|?*+()[]{}", keyword.ptr[i]) != NULL)
            return false;
    }
    return true;
}

/* Bytes of the character at text that stand in a line just so: ASCII that JSON does not escape, or
 * a character of the CJK and Hangul blocks (three bytes, no case). 0 = neither. */
static size_t safe_char_len(const unsigned char *text, size_t len)
{
    if (text[0] >= 0x20 && text[0] < 0x7F)
        return text[0] == '"' || text[0] == '\\' || text[0] == '/' ? 0 : 1;
    if (len < 3 || text[0] < 0xE2 || text[0] > 0xED)
        return 0;
    unsigned code = (text[0] & 0x0Fu) << 12 | (text[1] & 0x3Fu) << 6 | (text[2] & 0x3Fu);
    return (code >= 0x2E80 && code <= 0x9FFF) || (code >= 0xAC00 && code <= 0xD7A3) ? 3 : 0;
}

/* Take the longest run of safe characters of a plain keyword. */
static void choose_needle(struct history_matcher *matcher, struct sma_str keyword)
{
    const unsigned char *text = (const unsigned char *)keyword.ptr;
    size_t best = 0, best_len = 0, start = 0;
    for (size_t at = 0; at < keyword.len;) {
        size_t len = safe_char_len(text + at, keyword.len - at);
        if (len == 0 || at + len - start > NEEDLE_BYTES_MAX)
            start = len == 0 ? at + 1 : at;
        at += len == 0 ? 1 : len;
        if (at > start && at - start > best_len) {
            best = start;
            best_len = at - start;
        }
    }
    matcher->needle_len = best_len;
    for (size_t i = 0; i < best_len; i++)
        matcher->needle[i] = fold(text[best + i]);
    for (size_t i = 0; i < SMA_COUNT_OF(matcher->shift); i++)
        matcher->shift[i] = best_len;
    for (size_t i = 0; i + 1 < best_len; i++) {
        unsigned char byte = matcher->needle[i];
        matcher->shift[byte] = best_len - 1 - i;
        if (byte >= 'a' && byte <= 'z')
            matcher->shift[byte - 32] = best_len - 1 - i;
    }
}

static bool holds_needle(const struct history_matcher *matcher, const unsigned char *text,
                         size_t len)
{
    size_t needle_len = matcher->needle_len;
    for (size_t at = 0; at + needle_len <= len;) {
        size_t i = needle_len;
        while (i > 0 && fold(text[at + i - 1]) == matcher->needle[i - 1])
            i--;
        if (i == 0)
            return true;
        at += matcher->shift[text[at + needle_len - 1]];
    }
    return false;
}

bool history_matcher_may_match(const struct history_matcher *matcher, struct sma_str line)
{
    return matcher->needle_len == 0 ||
           holds_needle(matcher, (const unsigned char *)line.ptr, line.len) ||
           memmem(line.ptr, line.len, "\\u", 2) != NULL;
}

/* -- matching ---------------------------------------------------------------------------------- */
/* Not the clock on the wall: that others have the machine must not make an error of a search. */
static uint64_t processor_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Match limits count backtracking, not the scanning between: so steps are counted and timed,
 * too. */
static int on_callout(pcre2_callout_block *block, void *data)
{
    (void)block;
    struct history_matcher *matcher = data;
    if (++matcher->callout_count > MATCH_CALLOUT_COUNT_MAX)
        return PCRE2_ERROR_CALLOUT;
    if (matcher->callout_count % CLOCK_CALLOUT_COUNT != 0)
        return 0;
    uint64_t window_ns = processor_ns() - matcher->window_start_ns;
    return window_ns > MATCH_WINDOW_NS_MAX || matcher->spent_ns + window_ns > MATCH_TOTAL_NS_MAX
               ? PCRE2_ERROR_CALLOUT
               : 0;
}

static pcre2_code *compile(struct sma_str keyword, uint32_t options)
{
    int number;
    size_t offset;
    return pcre2_compile((PCRE2_SPTR)keyword.ptr, keyword.len,
                         options | PCRE2_CASELESS | PCRE2_UTF | PCRE2_AUTO_CALLOUT, &number,
                         &offset, NULL);
}

static enum sma_err prepare_code(struct history_matcher *matcher, struct sma_str keyword,
                                 struct sma_error *error)
{
    /* The options make it read patterns as JavaScript does where the two differ: \uXXXX, [], unset
     * references. */
    matcher->code = compile(keyword, PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
                                         PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C);
    bool is_literal = matcher->code == NULL || is_plain(keyword);
    if (matcher->code == NULL)
        matcher->code = compile(keyword, PCRE2_LITERAL);
    if (matcher->code == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for a search");
    matcher->data = pcre2_match_data_create(1, NULL);
    matcher->context = pcre2_match_context_create(NULL);
    if (matcher->data == NULL || matcher->context == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for a search");
    (void)pcre2_set_match_limit(matcher->context, MATCH_COUNT_MAX); /* these cannot fail */
    (void)pcre2_set_depth_limit(matcher->context, MATCH_COUNT_MAX);
    (void)pcre2_set_heap_limit(matcher->context, MATCH_HEAP_KB_MAX);
    (void)pcre2_set_callout(matcher->context, on_callout, matcher);
    if (is_literal)
        choose_needle(matcher, keyword);
    return SMA_ERR_OK;
}

enum sma_err history_matcher_create(struct sma_str keyword, struct history_matcher **ret_matcher,
                                    struct sma_error *error)
{
    if (keyword.len > SMA_HISTORY_KEYWORD_BYTES_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "the keyword is longer than %d bytes; use a shorter one",
                        SMA_HISTORY_KEYWORD_BYTES_MAX);
    if (!sma_utf8_is_valid(keyword))
        return sma_fail(error, SMA_ERR_BADINPUT, "the keyword is not valid UTF-8");
    struct history_matcher *matcher = calloc(1, sizeof *matcher);
    if (matcher == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for a search");
    enum sma_err err = prepare_code(matcher, keyword, error);
    if (err != SMA_ERR_OK) {
        history_matcher_destroy(matcher);
        return err;
    }
    *ret_matcher = matcher;
    return SMA_ERR_OK;
}

void history_matcher_destroy(struct history_matcher *matcher)
{
    if (matcher == NULL)
        return;
    pcre2_match_context_free(matcher->context);
    pcre2_match_data_free(matcher->data);
    pcre2_code_free(matcher->code);
    free(matcher);
}

/* The end of a character at or before `at`. */
static size_t character_start(struct sma_str text, size_t at)
{
    while (at > 0 && at < text.len && ((unsigned char)text.ptr[at] & 0xC0) == 0x80)
        at--;
    return at;
}

static int match_window(struct history_matcher *matcher, struct sma_str text, size_t from,
                        size_t to)
{
    matcher->window_start_ns = processor_ns();
    /* The text comes out of the JSON parser, which lets no other than valid UTF-8 through. What
     * stands before the window can be looked back at; ^ and $ are the ends of the text. */
    uint32_t options = PCRE2_NO_UTF_CHECK | (to < text.len ? PCRE2_NOTEOL : 0);
    int status = pcre2_match(matcher->code, (PCRE2_SPTR)(text.ptr == NULL ? "" : text.ptr), to,
                             from, options, matcher->data, matcher->context);
    matcher->spent_ns += processor_ns() - matcher->window_start_ns;
    return status;
}

enum sma_err history_matcher_match(struct history_matcher *matcher, struct sma_str text, size_t *at,
                                   bool *ret_matches, struct sma_error *error)
{
    size_t to = text.len - *at <= WINDOW_BYTES + OVERLAP_BYTES
                    ? text.len
                    : character_start(text, *at + WINDOW_BYTES + OVERLAP_BYTES);
    int status = match_window(matcher, text, *at, to);
    if (status == PCRE2_ERROR_MATCHLIMIT || status == PCRE2_ERROR_DEPTHLIMIT ||
        status == PCRE2_ERROR_HEAPLIMIT || status == PCRE2_ERROR_CALLOUT)
        return sma_fail(error, SMA_ERR_TOOBIG,
                        "the keyword is a pattern that takes too much work to match; use a simpler "
                        "one or a plain word");
    if (status == PCRE2_ERROR_NOMEMORY)
        return sma_fail(error, SMA_ERR_NOMEM, "no memory for a search");
    *ret_matches = status >= 0; /* every other error means that the text cannot match */
    *at = *ret_matches || to == text.len ? text.len : character_start(text, *at + WINDOW_BYTES);
    return SMA_ERR_OK;
}
