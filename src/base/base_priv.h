/*
 * base_priv.h — what the files of base share: one step of UTF-8 decoding.
 */
#ifndef SMA_BASE_PRIV_H
#define SMA_BASE_PRIV_H

#include "sma/base.h"

/**
 * Look at the first character of `left` > 0 bytes.
 * @return bytes of a well-formed character (1..4), or minus the bytes of the maximal ill-formed
 *         subpart (-1..-3), which is what one U+FFFD stands for.  Source: Unicode 15, table 3-7 and
 *         section 3.9 (U+FFFD substitution).
 */
static inline int sma_utf8_step(const unsigned char *bytes, size_t left)
{
    unsigned char first = bytes[0];
    if (first < 0x80)
        return 1;
    if (first < 0xC2 || first > 0xF4)
        return -1;
    int want = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    for (int i = 1; i < want; i++) {
        if ((size_t)i >= left || bytes[i] < low || bytes[i] > high)
            return -i;
        low = 0x80;
        high = 0xBF;
    }
    return want;
}

#endif
