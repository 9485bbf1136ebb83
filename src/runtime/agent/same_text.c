/* same_text.c — see same_text.h. Texts are brought to a form in which equal bytes mean the same. */
#include "runtime/agent/same_text.h"

#include "sma/limits.h"
#include "sma/text.h"

/* Of Chinese: 。！； ：… as they are in UTF-8; each ends a sentence like its ASCII sister. */
static const char *const wide_ends[] = {"\xe3\x80\x82", "\xef\xbc\x81", "\xef\xbc\x9b",
                                        "\xef\xbc\x9a", "\xe2\x80\xa6"};
#define WIDE_QUESTION "\xef\xbc\x9f"

static bool is_blank(unsigned char c)
{
    return c <= ' ' || c == 0x7f;
}

static bool is_mark(char c)
{
    return c == '*' || c == '_' || c == '`' || c == '~' || c == '#' || c == '>';
}

/* The bytes of a sentence's end at `at`; 0 = none there. "1.5" and "a:b" have none. */
static size_t end_at(struct sma_str text, size_t at)
{
    struct sma_str rest = {text.ptr + at, text.len - at};
    for (size_t i = 0; i < SMA_COUNT_OF(wide_ends); i++)
        if (sma_str_starts_with(rest, sma_str(wide_ends[i])))
            return 3;
    if (memchr(".!;:", rest.ptr[0], 4) == NULL)
        return 0;
    size_t next = 1;
    while (next < rest.len && is_mark(rest.ptr[next]))
        next++;
    return next >= rest.len || is_blank((unsigned char)rest.ptr[next]) ? 1 : 0;
}

/* The comparable form: what counts, and for each byte whether a sentence or line begins there. */
struct plain
{
    struct sma_buf bytes, begins;
};

static void init(struct plain *plain)
{
    sma_buf_init(&plain->bytes, 2 * SMA_REQUEST_BYTES_MAX);
    sma_buf_init(&plain->begins, 2 * SMA_REQUEST_BYTES_MAX);
}

static void fini(struct plain *plain)
{
    sma_buf_fini(&plain->bytes);
    sma_buf_fini(&plain->begins);
}

static bool is_good(const struct plain *plain)
{
    return plain->bytes.err == SMA_ERR_OK && plain->begins.err == SMA_ERR_OK;
}

static void put(struct plain *plain, struct sma_str text)
{
    bool begins = true;
    for (size_t i = 0; i < text.len && is_good(plain);) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool is_question =
            c == '?' || sma_str_starts_with((struct sma_str){text.ptr + i, text.len - i},
                                            SMA_STR(WIDE_QUESTION));
        size_t end_len = is_question ? 0 : end_at(text, i);
        if (!is_question && end_len == 0 && !is_blank(c) && !is_mark((char)c)) {
            sma_buf_put_char(&plain->bytes, (char)(c >= 'A' && c <= 'Z' ? c + 32 : c));
            sma_buf_put_char(&plain->begins, begins ? 1 : 0);
            begins = false;
        } else if (is_question) {
            sma_buf_put_char(&plain->bytes, '?');
            sma_buf_put_char(&plain->begins, 0);
        }
        begins |= is_question || end_len > 0 || c == '\n';
        i += end_len > 0 ? end_len : is_question && c != '?' ? 3 : 1;
    }
}

/* Found as whole sentences, and reaching beyond `least`. */
static bool is_found(const struct plain *said, struct sma_str wanted, size_t least)
{
    size_t len = said->bytes.len;
    for (size_t at = 0; at + wanted.len <= len; at++) {
        size_t end = at + wanted.len;
        if (said->begins.ptr[at] && end > least && (end == len || said->begins.ptr[end]) &&
            memcmp(said->bytes.ptr + at, wanted.ptr, wanted.len) == 0)
            return true;
    }
    return false;
}

bool sma_text_is_said(struct sma_str text, struct sma_str said, size_t last)
{
    struct plain wanted, whole;
    init(&wanted);
    init(&whole);
    put(&wanted, text);
    put(&whole, (struct sma_str){said.ptr, last});
    size_t least = whole.bytes.len;
    put(&whole, (struct sma_str){said.ptr + last, said.len - last});
    bool is_said = is_good(&wanted) && is_good(&whole);
    if (is_said &&
        wanted.bytes.len == 0) /* marks alone say something only when nothing else does */
        is_said = sma_str_is_equal(sma_str_trim(text), sma_str_trim(said));
    else if (is_said)
        is_said = is_found(&whole, sma_buf_str(&wanted.bytes), least);
    fini(&wanted);
    fini(&whole);
    return is_said;
}

bool sma_text_is_same(struct sma_str a, struct sma_str b)
{
    return sma_text_is_said(a, b, 0) && sma_text_is_said(b, a, 0);
}
