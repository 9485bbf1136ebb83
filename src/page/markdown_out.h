/*
 * markdown_out.h — the text that grows: white space, line prefixes, and where it ends.
 *
 * Blanks and line breaks are owed until something follows them, so that nothing ends in them.
 * Characters that do not show are dropped here, for every text.
 */
#ifndef SMA_PAGE_MARKDOWN_OUT_H
#define SMA_PAGE_MARKDOWN_OUT_H

#include <stdbool.h>
#include <stddef.h>

#define MARKDOWN_PREFIX_DEPTH_MAX 16

struct markdown_out
{
    char *ptr;
    size_t len, cap, max;
    bool is_cut, has_failed;
    bool owes_blank;
    unsigned owed_lines;
    bool is_at_line;    /* nothing stands in this line but its prefix */
    bool is_after_mark; /* ... and the mark of a list's item: what comes stands beside it */
    /* of each further line: '>' a quote, ' ' two blanks of a list */
    char prefix[MARKDOWN_PREFIX_DEPTH_MAX];
    unsigned prefix_count, hidden_prefix_count; /* of deeper ones only the number is kept */
};

bool markdown_out_init(struct markdown_out *out, size_t max);
/** Bytes that stand there as they are, after what is owed. */
void markdown_out_put(struct markdown_out *out, const char *bytes, size_t len);
void markdown_out_text(struct markdown_out *out, const char *text);
/** Running text: white space becomes one blank. */
void markdown_out_flow(struct markdown_out *out, const char *bytes, size_t len);
/** Text whose lines stay. */
void markdown_out_lines(struct markdown_out *out, const char *bytes, size_t len);
/** What follows stands in a new line; count 2: after an empty one. */
void markdown_out_break(struct markdown_out *out, unsigned count);
/** "- ", "1. " */
void markdown_out_mark(struct markdown_out *out, const char *mark);
void markdown_out_push(struct markdown_out *out, char prefix);
void markdown_out_pop(struct markdown_out *out);
/** Does the character at `at` not show? ret_len: its bytes. */
bool markdown_is_hidden(const char *at, size_t left, size_t *ret_len);

#endif
