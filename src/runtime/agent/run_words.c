/* run_words.c — words of people and of the model, put together and made harmless. */
#include "run_priv.h"
#include "sma/text.h"

#include <stdio.h>

#define OVERLAP_BYTES_MAX 400
#define OVERLAP_BYTES_MIN 12 /* shorter ones are chance, but for the last word */

/* A model can be talked into telling the word that our blocks begin with. It still serves nobody:
 * in what people write it is crossed out, in the same way each time, so that the bytes of a session
 * stay. */
void run_print_word(const struct sma_run *run, char word[17])
{
    snprintf(word, 17, "%016llx", (unsigned long long)run->order->facts_word);
}

void run_cross_out(const struct sma_run *run, char *text, size_t len)
{
    char word[17];
    run_print_word(run, word);
    if (run->order->facts_word == 0)
        return;
    for (char *at = text; (at = memmem(at, len - (size_t)(at - text), word, sizeof word - 1));)
        memset(at, '-', sizeof word - 1);
}

static bool is_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* How much of the end of `parts` stands at the beginning of the next part again: the last word, or
 * a longer piece. */
static size_t overlap(struct sma_str parts, struct sma_str text)
{
    size_t most = parts.len < text.len ? parts.len : text.len;
    for (size_t len = most < OVERLAP_BYTES_MAX ? most : OVERLAP_BYTES_MAX; len >= OVERLAP_BYTES_MIN;
         len--)
        if (memcmp(parts.ptr + parts.len - len, text.ptr, len) == 0)
            return len;
    struct sma_str word = {parts.ptr, parts.len};
    while (word.len > 0 && (unsigned char)word.ptr[word.len - 1] <= ' ')
        word.len--;
    size_t start = word.len;
    while (start > 0 && (unsigned char)parts.ptr[start - 1] > ' ' && parts.len - start < most)
        start--;
    word = (struct sma_str){parts.ptr + start, word.len - start};
    return word.len > 0 && sma_str_starts_with(text, word) ? parts.len - start : 0;
}

void run_join_part(struct sma_buf *parts, struct sma_str text)
{
    if (parts->len == 0 || parts->err != SMA_ERR_OK || text.len == 0) {
        sma_buf_put_str(parts, text);
        return;
    }
    size_t again = overlap(sma_buf_str(parts), text);
    parts->len -= again;
    /* Templates of chats drop the blank that a part would begin with. */
    if (again == 0 && memchr("\"'(", parts->ptr[parts->len - 1], 3) == NULL &&
        (unsigned char)parts->ptr[parts->len - 1] > ' ' &&
        (unsigned char)parts->ptr[parts->len - 1] < 0x80 && is_word(text.ptr[0]))
        sma_buf_put_char(parts, ' ');
    sma_buf_put_str(parts, text);
}
