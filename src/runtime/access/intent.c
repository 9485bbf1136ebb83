/* The intent gate of access.h: a short list of words and marks, in two languages. */
#include "runtime/access/access.h"

static bool is_word_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_';
}

static char lower(char byte)
{
    return (char)(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
}

static bool stands_at(struct sma_str text, size_t at, struct sma_str word)
{
    if (text.len - at < word.len)
        return false;
    for (size_t i = 0; i < word.len; i++)
        if (lower(text.ptr[at + i]) != word.ptr[i])
            return false;
    return true;
}

/* ... and ends there. */
static bool is_word_at(struct sma_str text, size_t at, struct sma_str word)
{
    size_t end = at + word.len;
    return stands_at(text, at, word) && (end == text.len || !is_word_byte(text.ptr[end]));
}

static bool contains(struct sma_str text, struct sma_str part)
{
    return memmem(text.ptr, text.len, part.ptr, part.len) != NULL;
}

static struct sma_str trim(struct sma_str text)
{
    while (text.len > 0 && strchr(" \t\r\n\v\f", text.ptr[0]) != NULL && text.ptr[0] != '\0') {
        text.ptr++;
        text.len--;
    }
    return text;
}

/* What the person wrote, without the lines that stand for attachments. */
static struct sma_str skip_attachments(struct sma_str text)
{
    const struct sma_str mark = SMA_STR("@attach ");
    text = trim(text);
    while (stands_at(text, 0, mark)) {
        const char *newline = memchr(text.ptr, '\n', text.len);
        if (newline == NULL)
            return (struct sma_str){text.ptr + text.len, 0};
        text = trim((struct sma_str){newline + 1, text.len - (size_t)(newline + 1 - text.ptr)});
    }
    return text;
}

/* "@" and two word bytes: somebody is spoken to, and it is not the bot (that would have been a
 * mention). An address of electronic mail is no handle. */
static bool has_handle(struct sma_str text)
{
    for (size_t i = 0; i + 2 < text.len; i++)
        if (text.ptr[i] == '@' && is_word_byte(text.ptr[i + 1]) && is_word_byte(text.ptr[i + 2]) &&
            (i == 0 || !is_word_byte(text.ptr[i - 1])))
            return true;
    return false;
}

static bool has_english_word(struct sma_str text)
{
    static const struct sma_str words[] = {
        {"you", 3}, {"u", 1}, {"bot", 3}, {"agent", 5}, {"ai", 2}};
    for (size_t at = 0; at < text.len; at++) {
        if (at > 0 && is_word_byte(text.ptr[at - 1]))
            continue;
        for (size_t i = 0; i < SMA_COUNT_OF(words); i++)
            if (is_word_at(text, at, words[i]))
                return true;
    }
    return false;
}

static bool has_chinese_word(struct sma_str text)
{
    static const char *const words[] = {"你",   "您",     "机器人", "助理", "AI",
                                        "同学", "能不能", "可以",   "帮我", "帮忙"};
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++)
        if (contains(text, sma_str(words[i])))
            return true;
    return false;
}

/* Chinese writes no blanks between words, so there every beginning counts. */
static bool has_opener(struct sma_str text)
{
    static const char *const chinese[] = {"继续",   "再来", "然后呢", "为啥",
                                          "为什么", "怎么", "如何"};
    static const char *const english[] = {"what", "why", "how", "help"};
    for (size_t i = 0; i < SMA_COUNT_OF(chinese); i++)
        if (stands_at(text, 0, sma_str(chinese[i])))
            return true;
    for (size_t i = 0; i < SMA_COUNT_OF(english); i++)
        if (is_word_at(text, 0, sma_str(english[i])))
            return true;
    return false;
}

bool sma_access_is_meant(struct sma_str text)
{
    text = skip_attachments(text);
    if (text.len == 0 || has_handle(text))
        return false;
    return contains(text, SMA_STR("?")) || contains(text, SMA_STR("？")) ||
           has_english_word(text) || has_chinese_word(text) || has_opener(text);
}
