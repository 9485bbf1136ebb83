/*
 * markdown.h — the text of a web page, as Markdown that a model reads.
 *
 * libxml2's HTML parser tells elements and text as they come; no tree is made. Kept: headings,
 * paragraphs, lists, quotes, code, tables, links with their addresses made whole, the descriptions
 * of pictures. Left out: scripts, styles, forms, text that people cannot see (visible.h) and
 * characters that do not show: hidden text is how a page speaks to a model behind a person's back.
 * Invariants: the result is valid UTF-8 and no longer than was allowed.
 * Limits:  SMA_MARKDOWN_DEPTH_MAX elements in each other, at which reading ends; addresses of links
 *          over SMA_MARKDOWN_URL_BYTES_MAX are left out.
 * Threads: one at a time.
 */
#ifndef SMA_PAGE_MARKDOWN_H
#define SMA_PAGE_MARKDOWN_H

#include <stdbool.h>
#include <stddef.h>

#define SMA_MARKDOWN_DEPTH_MAX 512
#define SMA_MARKDOWN_URL_BYTES_MAX 2000
#define SMA_MARKDOWN_TITLE_BYTES_MAX 300

struct sma_markdown
{
    char *text; /* NUL-terminated; sma_markdown_fini */
    size_t len;
    char title[SMA_MARKDOWN_TITLE_BYTES_MAX + 1]; /* one line; "" = none */
    bool is_cut; /* there is more than fits, or it was nested too deep */
};

/** Let libxml2 read what it reads once. */
void sma_markdown_load(void);
/**
 * @html  valid UTF-8 without NUL characters
 * @base  address of the page, for links; may be ""
 * @max   bytes of the text
 * @return false: out of memory
 */
bool sma_markdown_from_html(const char *html, size_t len, const char *base, size_t max,
                            struct sma_markdown *ret_markdown);
/** A text as it is, without characters that do not show. The rest as above. */
bool sma_markdown_from_text(const char *text, size_t len, size_t max,
                            struct sma_markdown *ret_markdown);
void sma_markdown_fini(struct sma_markdown *markdown); /* accepts a zeroed struct */

#endif
