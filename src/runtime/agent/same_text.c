/* same_text.c — see same_text.h. Texts are brought to a form in which equal bytes mean the same. */
#include "runtime/agent/same_text.h"

#include "sma/limits.h"
#include "sma/text.h"

#include <ctype.h>

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

#define CLOSING_BYTES_MAX 60

/* Longer ones first where one begins like another; of ASCII whole words count. Source: what models
 * write behind a tool that has sent the answer (as seen). */
static const struct
{
    const char *words;
    bool is_done;
} closing_words[] = {
    {"done sent posted delivered answered replied responded shared complete completed finished "
     "above ok okay",
     true},
    {"all the a an i i've ive have has been was is it its it's as message messages reply response "
     "answer to you your user chat group channel in this see please that my and via already just "
     "successfully now set and with no further action needed required nothing more add there here",
     false},
    {"发送完毕 发送成功 发送 回复 答复 完成 搞定 如上 见上 以上 好的 已发送 已发 发给 发到", true},
    {"消息 已经 已 了 给 你 您 的 内容 回答 答案 上面 上方 请 查收 查看 全部 都 在 群里 用户 成功 "
     "无需 其他 操作",
     false},
};

/* The longest of the words that `text` begins with. @return its length, 0 = none */
static size_t closing_word(struct sma_str text, bool *is_done)
{
    bool is_ascii = (unsigned char)text.ptr[0] < 0x80;
    size_t len = 0, best = 0;
    while (is_ascii && len < text.len &&
           (isalpha((unsigned char)text.ptr[len]) || text.ptr[len] == '\''))
        len++;
    for (size_t i = 0; i < SMA_COUNT_OF(closing_words); i++)
        for (const char *at = closing_words[i].words, *end; *at != '\0'; at = end + (*end == ' ')) {
            end = strchrnul(at, ' ');
            size_t word = (size_t)(end - at);
            bool is_it = is_ascii ? word == len && strncasecmp(at, text.ptr, word) == 0
                                  : word <= text.len && memcmp(at, text.ptr, word) == 0;
            if (!is_it || word <= best)
                continue;
            best = word;
            *is_done = closing_words[i].is_done;
        }
    return best;
}

/* Signs between words: none that asks, counts or names. */
static size_t sign_at(struct sma_str text)
{
    static const char *const wide[] = {"。", "！", "，", "、", "：", "…", "～", "—", "（", "）"};
    if ((unsigned char)text.ptr[0] < 0x80)
        return text.ptr[0] != '\0' && strchr(" .,!-()[]\r\n*_:~`", text.ptr[0]) != NULL;
    for (size_t i = 0; i < SMA_COUNT_OF(wide); i++)
        if (sma_str_starts_with(text, sma_str(wide[i])))
            return strlen(wide[i]);
    unsigned char first = (unsigned char)text.ptr[0];
    unsigned char second = text.len > 1 ? (unsigned char)text.ptr[1] : 0;
    if (first == 0xF0 && second == 0x9F && text.len >= 4) /* U+1F000 and on: pictures */
        return 4;
    bool is_picture = (first == 0xE2 && second >= 0x86 && second <= 0xAF) || /* U+2180 and on */
                      sma_str_starts_with(text, SMA_STR("\xEF\xB8\x8F")) ||
                      sma_str_starts_with(text, SMA_STR("\xE2\x80\x8D"));
    return is_picture && text.len >= 3 ? 3 : 0;
}

/* Every word of it is one of these; at least one says that something was done. */
bool sma_text_is_closing(struct sma_str text)
{
    char room[CLOSING_BYTES_MAX];
    bool has_done = false;
    text = sma_str_trim(text);
    if (text.len == 0 || text.len > CLOSING_BYTES_MAX)
        return false;
    size_t len = 0; /* with one kind of apostrophe */
    for (size_t i = 0; i < text.len; i++) {
        bool is_curly = text.len - i >= 3 && memcmp(text.ptr + i, "’", 3) == 0;
        room[len++] = is_curly ? '\'' : text.ptr[i];
        i += is_curly ? 2 : 0;
    }
    for (size_t i = 0, step; i < len; i += step) {
        struct sma_str rest = {room + i, len - i};
        bool is_done = false;
        step = closing_word(rest, &is_done);
        has_done |= is_done;
        step = step > 0 ? step : sign_at(rest);
        if (step == 0)
            return false;
    }
    return has_done;
}
