/* same_text.c — see same_text.h. Texts are brought to a form in which equal bytes mean the same. */
#include "runtime/agent/same_text.h"

#include "sma/limits.h"
#include "sma/text.h"

/* Of Chinese: 。！； ：… as they are in UTF-8; each ends a sentence like its ASCII sister. */
static const char *const wide_ends[] = {"\xe3\x80\x82", "\xef\xbc\x81", "\xef\xbc\x9b",
                                        "\xef\xbc\x9a", "\xe2\x80\xa6"};
#define WIDE_COLON "\xef\xbc\x9a"
#define WIDE_QUESTION "\xef\xbc\x9f"

static bool is_blank(unsigned char c)
{
    return c <= ' ' || c == 0x7f;
}

static bool is_mark(char c)
{
    return c == '*' || c == '_' || c == '`' || c == '~' || c == '#' || c == '>';
}

static bool is_word(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c >= 0x80;
}

/* A mark of Markdown, which nobody sees: not the one of "C#", "x > 5", "a_b", "2*3". */
static bool is_markdown(struct sma_str text, size_t at, bool is_at_line_start)
{
    char c = text.ptr[at];
    if (c == '#' || c == '>')
        return is_at_line_start;
    bool is_inside = at > 0 && at + 1 < text.len && is_word((unsigned char)text.ptr[at - 1]) &&
                     is_word((unsigned char)text.ptr[at + 1]);
    if (c == '~')
        return (at > 0 && text.ptr[at - 1] == '~') ||
               (at + 1 < text.len && text.ptr[at + 1] == '~');
    return c == '`' || ((c == '*' || c == '_') && !is_inside);
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

/* What stands before a byte. */
enum begin
{
    BEGIN_NOTHING,
    BEGIN_LINE,     /* or a colon: an entry of a list begins so, too */
    BEGIN_SENTENCE, /* or the text */
};

/* The comparable form: what counts, and for each byte what begins there. */
struct plain
{
    struct sma_buf bytes, begins;
};

/* Where in a text we are. */
struct place
{
    enum begin begin;
    bool is_line_start,
        is_number; /* only white space and marks, or digits too, since the line began */
    bool has_digit;
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

static enum begin later(enum begin a, enum begin b)
{
    return a > b ? a : b;
}

/* The end of a sentence: what begins behind it? "2. SQLite" is one entry of a list. */
static enum begin behind_end(const struct place *place, struct sma_str end)
{
    if (end.ptr[0] == ':' || sma_str_is_equal(end, SMA_STR(WIDE_COLON)))
        return BEGIN_LINE;
    return end.ptr[0] == '.' && place->is_number && place->has_digit ? BEGIN_NOTHING
                                                                     : BEGIN_SENTENCE;
}

static void put_byte(struct plain *plain, struct place *place, unsigned char c)
{
    sma_buf_put_char(&plain->bytes, (char)(c >= 'A' && c <= 'Z' ? c + 32 : c));
    sma_buf_put_char(&plain->begins, (char)place->begin);
    bool is_digit = c >= '0' && c <= '9';
    place->begin = BEGIN_NOTHING;
    place->is_line_start = false;
    place->is_number &= is_digit;
    place->has_digit |= is_digit;
}

static void put(struct plain *plain, struct sma_str text)
{
    struct place place = {BEGIN_SENTENCE, true, true, false};
    for (size_t i = 0; i < text.len && is_good(plain);) {
        unsigned char c = (unsigned char)text.ptr[i];
        bool is_wide = sma_str_starts_with((struct sma_str){text.ptr + i, text.len - i},
                                           SMA_STR(WIDE_QUESTION));
        size_t end_len = c == '?' || is_wide ? 0 : end_at(text, i);
        if (c == '?' || is_wide) {
            place.begin = BEGIN_NOTHING;
            put_byte(plain, &place, '?');
            place.begin = BEGIN_SENTENCE;
        } else if (end_len > 0) {
            place.begin =
                later(place.begin, behind_end(&place, (struct sma_str){text.ptr + i, end_len}));
        } else if (!is_blank(c) && !is_markdown(text, i, place.is_line_start)) {
            put_byte(plain, &place, c);
        }
        if (c == '\n')
            place = (struct place){later(place.begin, BEGIN_LINE), true, true, false};
        i += end_len > 0 ? end_len : is_wide ? 3 : 1;
    }
}

/* Shorter parts are words that may stand anywhere, as entries of a list: whole sentences of them
 * count. */
#define PART_BYTES_MIN 24

/* Found as whole sentences or lines, and reaching beyond `least`. */
static bool is_found(const struct plain *said, struct sma_str wanted, size_t least)
{
    size_t len = said->bytes.len;
    enum begin bound = wanted.len < PART_BYTES_MIN ? BEGIN_SENTENCE : BEGIN_LINE;
    for (size_t at = 0; at + wanted.len <= len; at++) {
        size_t end = at + wanted.len;
        if (said->begins.ptr[at] >= (char)bound && end > least &&
            (end == len || said->begins.ptr[end] >= (char)bound) &&
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
