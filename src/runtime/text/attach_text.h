/*
 * attach_text.h — a text of the assistant line by line: which lines ask for a file to be sent.
 *
 * A line inside code never does, for whoever explains how files are sent shows such lines: fenced
 * blocks (CommonMark 4.5; also at any depth of a list, an open one to the end of the text) and code
 * spans that go over several lines. The same for every platform.
 * Threads: no state but the reader's. Blocks: no. Time: linear in the text.
 */
#ifndef SMA_RUNTIME_FILES_ATTACH_TEXT_H
#define SMA_RUNTIME_FILES_ATTACH_TEXT_H

#include "attach.h"

struct sma_attach_reader
{
    struct sma_str text;
    size_t at; /* of the next line */
    /* the reader's own */
    size_t fence_len, fence_indent; /* 0 = outside fenced code */
    char fence_mark;
    size_t span_end;  /* a code span is open until here; 0 = none was */
    uint32_t unended; /* lengths of backtick runs that this paragraph does not close, as bits */
};
struct sma_attach_item
{
    struct sma_str line; /* with its line feed */
    bool is_fenced;      /* of fenced code, its fences included */
    bool is_code;        /* that, or it begins inside a code span */
    bool is_attachment;
    struct sma_attach_line attachment; /* of is_attachment */
};
void sma_attach_reader_init(struct sma_attach_reader *reader, struct sma_str text);
/** The next line. false: there is none. */
bool sma_attach_next(struct sma_attach_reader *reader, struct sma_attach_item *ret_item);

/** The next line that asks for a file. false: there is none. */
bool sma_attach_next_file(struct sma_attach_reader *reader, struct sma_attach_line *ret_line);
/**
 * Append the lines that do not.
 * @is_growing  the text is still being written: a last line that may become such a line is left out
 * @return      how many lines asked for a file
 */
size_t sma_attach_put_rest(struct sma_buf *buf, struct sma_str text, bool is_growing);

#endif
