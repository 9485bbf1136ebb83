/* word.c — see word.h. */
#include "word.h"

#include <string.h>

bool sma_adapter_is_visible(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.ptr[i] <= 0x20 || (unsigned char)text.ptr[i] >= 0x7f)
            return false;
    return true;
}

bool sma_adapter_copy_word(struct sma_str word, char *to, size_t size)
{
    if (word.len == 0 || word.len >= size || !sma_adapter_is_visible(word))
        return false;
    memcpy(to, word.ptr, word.len);
    to[word.len] = '\0';
    return true;
}
