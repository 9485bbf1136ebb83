/* named.c — see named.h. */
#include "runtime/web/named.h"

#include "runtime/web/url.h"
#include "sma/text.h"

#include <strings.h>

#define CANDIDATE_COUNT_MAX 256 /* in one message; what comes behind is not looked at */

static bool is_host_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '.';
}

/* Writing without blanks between words: a host may stand right beside it. Length of the character
 * that begins there; 0: it is another one. */
static size_t cjk(const char *at, size_t left)
{
    const uint8_t *byte = (const uint8_t *)at;
    if (left < 3)
        return 0;
    uint32_t code =
        (uint32_t)(byte[0] & 0x0f) << 12 | (uint32_t)(byte[1] & 0x3f) << 6 | (byte[2] & 0x3f);
    if ((byte[0] & 0xf0) == 0xe0 &&
        ((code >= 0x2e80 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7a3) ||
         (code >= 0xf900 && code <= 0xfaff) || (code >= 0xff00 && code <= 0xffef) ||
         (code >= 0x2010 && code <= 0x201f)))
        return 3;
    return left >= 4 && (byte[0] & 0xf8) == 0xf0 && (byte[1] & 0x30) != 0 ? 4 : 0;
}

static bool is_same(const char *left, const char *right)
{
    if (strncmp(left, "www.", 4) == 0 && strchr(left + 4, '.') != NULL)
        left += 4;
    if (strncmp(right, "www.", 4) == 0 && strchr(right + 4, '.') != NULL)
        right += 4;
    return strcmp(left, right) == 0;
}

/* Endings of files that are endings of names, too. */
static bool is_file(struct sma_str name)
{
    static const char *const ends[] = {".md", ".sh", ".py", ".rs", ".zip", ".mov", ".cc",
                                       ".pl", ".so", ".ps", ".mm", ".ml",  ".pm"};
    if (name.len > 4 && strncasecmp(name.ptr, "www.", 4) == 0)
        return false;
    for (size_t i = 0; i < SMA_COUNT_OF(ends); i++) {
        size_t len = strlen(ends[i]);
        if (name.len > len && strncasecmp(name.ptr + name.len - len, ends[i], len) == 0)
            return true;
    }
    return false;
}

/* https://host:port/path in the text: the host alone, by the reader that fetches. */
static bool is_in_url(struct sma_str url, const char *host)
{
    struct sma_web_url read;
    struct sma_buf why;
    sma_buf_init(&why, 1000);
    bool is_good = sma_web_url_read(url, &read, &why) == SMA_ERR_OK;
    sma_buf_fini(&why);
    return is_good && is_same(read.host, host);
}

/* Up to what ends an address in running text. */
static size_t url_end(struct sma_str words, size_t at)
{
    while (at < words.len && (unsigned char)words.ptr[at] > 0x20 &&
           strchr("\"'<>`|\\^{}", words.ptr[at]) == NULL) {
        if (((unsigned char)words.ptr[at] & 0x80) != 0 &&
            cjk(words.ptr + at, words.len - at) == 3 && (unsigned char)words.ptr[at] == 0xef)
            break; /* full-width punctuation */
        if (words.len - at >= 3 && memcmp(words.ptr + at, "\xe3\x80", 2) == 0)
            break; /* 、。「」 */
        at++;
    }
    return at;
}

static size_t scheme_at(struct sma_str words, size_t at)
{
    struct sma_str rest = {words.ptr + at, words.len - at};
    if (rest.len > 8 && strncasecmp(rest.ptr, "https://", 8) == 0)
        return 8;
    return rest.len > 7 && strncasecmp(rest.ptr, "http://", 7) == 0 ? 7 : 0;
}

/* A host that stands there alone. *at: behind it. */
static bool is_alone(struct sma_str words, size_t begin, size_t end, const char *host)
{
    char read[SMA_WEB_HOST_BYTES];
    bool is_free_before = begin == 0;
    if (begin > 0) {
        char before = words.ptr[begin - 1];
        is_free_before = ((unsigned char)before & 0x80) == 0
                             ? strchr(" \t\r\n\"'(<[`,;:!?*>|", before) != NULL
                             : (begin >= 3 && cjk(words.ptr + begin - 3, 3) == 3) ||
                                   (begin >= 4 && cjk(words.ptr + begin - 4, 4) == 4);
    }
    bool is_free_behind = end == words.len;
    if (end < words.len)
        is_free_behind = ((unsigned char)words.ptr[end] & 0x80) == 0
                             ? strchr(" \t\r\n\"')>]`,;:!?*<|/#", words.ptr[end]) != NULL
                             : cjk(words.ptr + end, words.len - end) > 0;
    while (end > begin && words.ptr[end - 1] == '.')
        end--; /* the end of a sentence */
    struct sma_str name = {words.ptr + begin, end - begin};
    if (!is_free_before || !is_free_behind || name.len == 0 || name.ptr[0] == '.' ||
        memchr(name.ptr, '.', name.len) == NULL || is_file(name))
        return false;
    return sma_web_host_read(name, read) && is_same(read, host);
}

bool sma_web_is_named(struct sma_str words, const char *host)
{
    size_t count = 0;
    for (size_t at = 0; at < words.len && count < CANDIDATE_COUNT_MAX;) {
        bool is_word = at > 0 && (is_host_byte(words.ptr[at - 1]) || words.ptr[at - 1] == '=');
        if (scheme_at(words, at) > 0 && !is_word) {
            size_t end = url_end(words, at), shown = end;
            while (shown > at && strchr(".,;:!?)]*", words.ptr[shown - 1]) != NULL)
                shown--;
            size_t plain = at; /* 看看https://example.com的首页: up to what is no ASCII, too */
            while (plain < shown && ((unsigned char)words.ptr[plain] & 0x80) == 0)
                plain++;
            count++;
            if (is_in_url((struct sma_str){words.ptr + at, shown - at}, host) ||
                is_in_url((struct sma_str){words.ptr + at, plain - at}, host))
                return true;
            at = end;
            continue;
        }
        if (!is_host_byte(words.ptr[at])) {
            at++;
            continue;
        }
        size_t end = at;
        while (end < words.len && is_host_byte(words.ptr[end]))
            end++;
        struct sma_str run = {words.ptr + at, end - at};
        if (memchr(run.ptr, '.', run.len) != NULL) {
            count++;
            if (is_alone(words, at, end, host))
                return true;
        }
        /* what hangs on it, a path or a query, names nobody */
        bool is_scheme = end < words.len && words.ptr[end] == ':';
        at = !is_scheme && end < words.len && strchr("/@=?&", words.ptr[end]) != NULL
                 ? url_end(words, end)
                 : end;
    }
    return false;
}
