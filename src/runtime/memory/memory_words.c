/* memory_words.c — see memory_words.h. */
#include "runtime/memory/memory_words.h"

#include "sma/limits.h"
#include "sma/text.h"

#include <string.h>

#define WORD_BYTES_MAX 60 /* a longer run is cut: nobody asks for it whole */

/* One character; 0 at the end. Invalid bytes are blanks. */
static uint32_t next_point(struct sma_str text, size_t *at)
{
    const unsigned char *ptr = (const unsigned char *)text.ptr + *at;
    size_t left = text.len - *at;
    if (left == 0)
        return 0;
    size_t len = ptr[0] < 0x80 ? 1 : ptr[0] >= 0xF0 ? 4 : ptr[0] >= 0xE0 ? 3 : 2;
    if (len > left || (len > 1 && ptr[0] < 0xC2)) {
        (*at)++;
        return ' ';
    }
    static const unsigned char masks[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t point = ptr[0] & masks[len];
    for (size_t i = 1; i < len; i++)
        point = point << 6 | (ptr[i] & 0x3F);
    *at += len;
    return point == 0 ? ' ' : point;
}

static bool is_pictograph(uint32_t point)
{
    return (point >= 0x3040 && point <= 0x30FF) || (point >= 0x3400 && point <= 0x4DBF) ||
           (point >= 0x4E00 && point <= 0x9FFF) || (point >= 0xAC00 && point <= 0xD7A3) ||
           (point >= 0xF900 && point <= 0xFAFF) || (point >= 0x20000 && point <= 0x3FFFF);
}

/* Of other scripts: what unicode61 calls letter or digit is told apart there; here it suffices that
 * nothing else is taken for one that would cut a word in two. */
static bool is_letter(uint32_t point)
{
    if (point < 0x80)
        return (point >= '0' && point <= '9') || (point >= 'a' && point <= 'z') ||
               (point >= 'A' && point <= 'Z');
    if (point < 0xC0 || point == 0xD7 || point == 0xF7)
        return point == 0xAA || point == 0xB5 || point == 0xBA;
    return !(point >= 0x2000 && point <= 0x2BFF) && !(point >= 0x3000 && point <= 0x303F) &&
           !(point >= 0xFE00 && point <= 0xFE6F) && !(point >= 0xFF00 && point <= 0xFF0F) &&
           !(point >= 0xFF1A && point <= 0xFF20) && !(point >= 0xE000 && point <= 0xF8FF) &&
           point < 0x1F000;
}

struct scan
{
    struct sma_str text;
    size_t at;
    /* the pictograph before, when what stands there now is its neighbour */
    size_t before;
    bool has_before, has_pair;
    struct sma_str pair;
};

/* Words in their order; of pictographs each one and each pair. */
static bool next_word(struct scan *scan, struct sma_str *ret_word)
{
    if (scan->has_pair) {
        scan->has_pair = false;
        *ret_word = scan->pair;
        return true;
    }
    size_t start = scan->at, end = scan->at;
    for (uint32_t point; (point = next_point(scan->text, &end)) != 0; start = end) {
        if (is_pictograph(point)) {
            scan->at = end;
            *ret_word = (struct sma_str){scan->text.ptr + start, end - start};
            if (scan->has_before) {
                scan->has_pair = true;
                scan->pair = (struct sma_str){scan->text.ptr + scan->before, end - scan->before};
            }
            scan->before = start;
            scan->has_before = true;
            return true;
        }
        scan->has_before = false;
        if (!is_letter(point))
            continue;
        size_t next = end;
        for (uint32_t other; (other = next_point(scan->text, &next)) != 0; end = next)
            if (is_pictograph(other) || !is_letter(other))
                break;
        scan->at = end;
        *ret_word = (struct sma_str){scan->text.ptr + start, end - start};
        ret_word->len = sma_utf8_cut(*ret_word, WORD_BYTES_MAX);
        return true;
    }
    scan->at = end;
    return false;
}

static void put_word(struct sma_buf *buf, int64_t audience, struct sma_str word)
{
    sma_buf_put_i64(buf, audience);
    sma_buf_put_char(buf, 'z');
    sma_buf_put_str(buf, word);
}

void sma_memory_put_words(struct sma_buf *buf, int64_t audience, struct sma_str text)
{
    struct scan scan = {.text = text};
    struct sma_str word;
    while (buf->err == SMA_ERR_OK && next_word(&scan, &word)) {
        if (buf->len > 0)
            sma_buf_put_char(buf, ' ');
        put_word(buf, audience, word);
    }
}

/* -- questions --------------------------------------------------------------------------------- */
static bool is_common(struct sma_str word)
{
    static const char *const common[] = {
        "a",    "an",   "and",   "are", "as",    "at",   "be",   "but",  "by",  "can", "do",
        "for",  "from", "had",   "has", "have",  "he",   "her",  "his",  "how", "i",   "if",
        "in",   "is",   "it",    "its", "me",    "my",   "not",  "of",   "on",  "or",  "our",
        "she",  "so",   "that",  "the", "their", "them", "they", "this", "to",  "was", "we",
        "what", "when", "which", "who", "will",  "with", "you",  "your"};
    for (size_t i = 0; i < SMA_COUNT_OF(common); i++)
        if (sma_str_is_equal_nocase(word, sma_str(common[i])))
            return true;
    return false;
}

struct choice
{
    struct sma_str words[SMA_MEMORY_QUERY_WORD_COUNT_MAX];
    uint32_t count, newest; /* the second half is a ring: the last words of the text */
};

static bool has_word(const struct choice *choice, struct sma_str word)
{
    for (uint32_t i = 0; i < choice->count; i++)
        if (sma_str_is_equal_nocase(choice->words[i], word))
            return true;
    return false;
}

static void choose(struct choice *choice, struct sma_str word)
{
    const uint32_t room = SMA_COUNT_OF(choice->words), half = room / 2;
    if (is_common(word) || has_word(choice, word))
        return;
    if (choice->count < room) {
        choice->words[choice->count++] = word;
        return;
    }
    choice->words[half + choice->newest] = word;
    choice->newest = (choice->newest + 1) % (room - half);
}

/* A single character says little where it has a neighbour: then the pair is asked for. */
static void choose_words(struct choice *choice, struct sma_str text)
{
    struct scan scan = {.text = text};
    struct sma_str word, single = {0};
    while (next_word(&scan, &word)) {
        size_t at = 0;
        bool is_single = is_pictograph(next_point(word, &at)) && at == word.len;
        if (!is_single) {
            if (single.len > 0 && word.ptr + word.len != single.ptr + single.len)
                choose(choice, single);
            choose(choice, word);
            single = (struct sma_str){0};
            continue;
        }
        bool is_paired = scan.has_pair; /* its pair with the one before comes next */
        if (single.len > 0 && !is_paired)
            choose(choice, single);
        single = is_paired ? (struct sma_str){0} : word;
    }
    if (single.len > 0)
        choose(choice, single);
}

uint32_t sma_memory_choose_words(struct sma_str text, struct sma_str *words)
{
    struct choice choice = {.count = 0};
    choose_words(&choice, text);
    memcpy(words, choice.words, choice.count * sizeof *words);
    return choice.count;
}

void sma_memory_put_question(struct sma_buf *buf, int64_t audience, struct sma_str word)
{
    sma_buf_put_char(buf, '"');
    put_word(buf, audience, word);
    sma_buf_put_char(buf, '"');
}
