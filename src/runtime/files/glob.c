/* glob.c — patterns of paths. See file_rules.h. */
#include "runtime/files/file_rules.h"

#include "sma/text.h"

#include <stdlib.h>

#define ALTERNATIVE_COUNT_MAX 64 /* that braces may give; beyond it nothing fits */

static size_t char_len(struct sma_str text, size_t at)
{
    size_t len = 1;
    while (at + len < text.len && ((unsigned char)text.ptr[at + len] & 0xc0) == 0x80)
        len++;
    return len;
}

/* One name: * any characters, ? one. Goes back to the last star only, so the time is the product of
 * the lengths. */
static bool fits_name(struct sma_str pattern, struct sma_str name)
{
    size_t p = 0, n = 0, star = SIZE_MAX, from = 0;
    while (n < name.len) {
        if (p < pattern.len && pattern.ptr[p] == '*') {
            star = p++;
            from = n;
        } else if (p < pattern.len && pattern.ptr[p] == '?') {
            p++;
            n += char_len(name, n);
        } else if (p < pattern.len && pattern.ptr[p] == name.ptr[n]) {
            p++;
            n++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++from;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '*')
        p++;
    return p == pattern.len;
}

/* The part that begins at *at; *at goes behind its slash, or to SIZE_MAX behind the last one. */
static struct sma_str take_part(struct sma_str text, size_t *at)
{
    const char *slash = memchr(text.ptr + *at, '/', text.len - *at);
    size_t end = slash == NULL ? text.len : (size_t)(slash - text.ptr);
    struct sma_str part = {text.ptr + *at, end - *at};
    *at = slash == NULL ? SIZE_MAX : end + 1;
    return part;
}

/* Part by part; the same way back to the last ** only. */
static bool fits_parts(struct sma_str pattern, struct sma_str path)
{
    size_t p = pattern.len == 0 ? SIZE_MAX : 0, n = path.len == 0 ? SIZE_MAX : 0;
    size_t star = SIZE_MAX, from = 0;
    bool has_star = false;
    while (n != SIZE_MAX) {
        size_t next_p = p, next_n = n;
        struct sma_str part = p == SIZE_MAX ? SMA_STR("") : take_part(pattern, &next_p);
        struct sma_str name = take_part(path, &next_n);
        if (p != SIZE_MAX && sma_str_is_equal(part, SMA_STR("**"))) {
            has_star = true;
            star = p = next_p;
            from = n;
            if (star == SIZE_MAX)
                return true;
        } else if (p != SIZE_MAX && fits_name(part, name)) {
            p = next_p;
            n = next_n;
        } else if (has_star) {
            p = star;
            (void)take_part(path, &from); /* one part more belongs to the ** */
            n = from;
        } else {
            return false;
        }
    }
    return p == SIZE_MAX;
}

static struct sma_str strip(struct sma_str pattern)
{
    while (pattern.len > 0 && pattern.ptr[0] == '/')
        pattern = (struct sma_str){pattern.ptr + 1, pattern.len - 1};
    while (pattern.len > 1 && pattern.ptr[0] == '.' && pattern.ptr[1] == '/')
        pattern = (struct sma_str){pattern.ptr + 2, pattern.len - 2};
    return pattern;
}

static bool fits_plain(struct sma_str pattern, struct sma_str path)
{
    pattern = strip(pattern);
    if (pattern.len == 0 || sma_str_is_equal(pattern, SMA_STR(".")))
        return true;
    if (pattern.ptr[pattern.len - 1] == '/') { /* docs/ */
        struct sma_str folder = {pattern.ptr, pattern.len - 1};
        const char *slash = memchr(folder.ptr, '*', folder.len);
        if (slash == NULL)
            return path.len > folder.len && sma_str_starts_with(path, folder) &&
                   path.ptr[folder.len] == '/';
        pattern = folder;
    }
    bool has_slash = memchr(pattern.ptr, '/', pattern.len) != NULL;
    bool has_star = memchr(pattern.ptr, '*', pattern.len) != NULL ||
                    memchr(pattern.ptr, '?', pattern.len) != NULL;
    if (!has_slash && has_star && !sma_str_is_equal(pattern, SMA_STR("**"))) {
        const char *last = path.len == 0 ? NULL : memrchr(path.ptr, '/', path.len);
        struct sma_str name = path;
        if (last != NULL)
            name = (struct sma_str){last + 1, path.len - (size_t)(last + 1 - path.ptr)};
        return fits_name(pattern, name);
    }
    return fits_parts(pattern, path);
}

/* The first {a,b} of a pattern; false when there is none. */
static bool find_braces(struct sma_str pattern, size_t *ret_open, size_t *ret_close)
{
    const char *open = pattern.len == 0 ? NULL : memchr(pattern.ptr, '{', pattern.len);
    if (open == NULL)
        return false;
    const char *close = memchr(open, '}', pattern.len - (size_t)(open - pattern.ptr));
    if (close == NULL)
        return false;
    *ret_open = (size_t)(open - pattern.ptr);
    *ret_close = (size_t)(close - pattern.ptr);
    return true;
}

/* Every alternative of the first braces, with what follows still to be looked at: depth is bounded
 * by the counter. */
static bool fits_any(struct sma_str pattern, struct sma_str path, unsigned *left)
{
    size_t open, close;
    if (*left == 0)
        return false;
    if (!find_braces(pattern, &open, &close)) {
        --*left;
        return fits_plain(pattern, path);
    }
    char *one = malloc(pattern.len + 1);
    bool fits = false;
    size_t from = open + 1;
    for (size_t i = from; one != NULL && !fits && i <= close; i++) {
        if (i < close && pattern.ptr[i] != ',')
            continue;
        size_t len = open;
        memcpy(one, pattern.ptr, open);
        memcpy(one + len, pattern.ptr + from, i - from);
        len += i - from;
        memcpy(one + len, pattern.ptr + close + 1, pattern.len - close - 1);
        len += pattern.len - close - 1;
        fits = fits_any((struct sma_str){one, len}, path, left);
        from = i + 1;
    }
    free(one);
    return fits;
}

bool sma_glob_fits(struct sma_str pattern, struct sma_str path)
{
    unsigned left = ALTERNATIVE_COUNT_MAX;
    if (pattern.len > SMA_FILE_RULES_PATTERN_BYTES_MAX)
        return false;
    return fits_any(pattern, path, &left);
}
