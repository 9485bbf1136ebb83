/*
 * charset.h — text of a page in whatever encoding, as UTF-8.
 *
 * In order: a byte order mark, the header's charset, <meta charset> in the first 4096 bytes, UTF-8
 * if it is valid, else windows-1252 (WHATWG's order, without its guesses). What cannot be read
 * becomes U+FFFD. Converters are made before the program locks itself in: glibc reads them from
 * files.
 * Source: encoding.spec.whatwg.org, labels of the encodings that are still met.
 * Threads: one.
 */
#ifndef SMA_PAGE_CHARSET_H
#define SMA_PAGE_CHARSET_H

#include <stdbool.h>
#include <stddef.h>

/** Open the converters, so that no file is needed later. */
void sma_charset_load(void);
/**
 * @label    of the Content-Type header; NULL or "" = none
 * @is_html  look into the text, too
 * @ret_len  of the result, at most 4 times len and some
 * @return   malloc'ed valid UTF-8 without NUL characters, NUL-terminated; NULL: out of memory
 */
char *sma_charset_to_utf8(const char *bytes, size_t len, const char *label, bool is_html,
                          size_t *ret_len);

#endif
