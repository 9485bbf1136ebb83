/*
 * html_reader.h — the platform's reading of parse_mode HTML, strict: what it would refuse, and what
 * we have no reason to write, fails the test.
 */
#ifndef SMA_TEST_HTML_READER_H
#define SMA_TEST_HTML_READER_H

#include "runtime/markup/markup.h"

#define HTML_MARK_COUNT_MAX 8192

struct html_mark
{
    uint8_t kind; /* enum sma_mark_kind */
    size_t from, to;
    struct sma_buf detail;
};
struct html
{
    struct sma_buf text;
    struct html_mark marks[HTML_MARK_COUNT_MAX];
    size_t mark_count;
};
/** Read; NULL when it is good, else what is wrong. The result is to be freed either way. */
const char *html_read(struct sma_str source, struct html *html);
void html_free(struct html *html);

#endif
