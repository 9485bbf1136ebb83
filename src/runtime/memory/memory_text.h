/*
 * memory_text.h — a memory file as people see it: Markdown, one fact a bullet line.
 *
 *   - Ann drinks tea, never coffee. <!-- memory: preference, importance 7, 2026-11-23 -->
 *   - The stand-up is at ten. <!-- memory: in telegram%3Agroup%3A-1001 -->
 *   - a line that somebody wrote by hand
 *
 * The mark at the end is ours and may be missing: then the fact is of kind "fact", of importance 5,
 * and belongs to nobody but the person of the file (project.md: to everybody). `in` names the group
 * that it was said in; there it stays. Words of a mark that nobody knows are passed over. A mark
 * that does not end is broken: its line is left alone and not recalled, since what it kept to
 * itself is not known any more. Headings, prose, code fences and comments are no facts.
 *
 * Invariants: reading changes nothing; what is written keeps every other byte of the file.
 * Threads:    any; no state.
 * Limits:     SMA_MEMORY_*_MAX (limits.h).
 */
#ifndef SMA_RUNTIME_MEMORY_TEXT_H
#define SMA_RUNTIME_MEMORY_TEXT_H

#include "sma/buf.h"

enum sma_memory_kind
{
    SMA_MEMORY_FACT, /* also what says nothing of its kind */
    SMA_MEMORY_PREFERENCE,
    SMA_MEMORY_ENTITY,
    SMA_MEMORY_TASK,
    SMA_MEMORY_KIND_COUNT
};
#define SMA_MEMORY_IMPORTANCE_USUAL 5

const char *sma_memory_kind_name(enum sma_memory_kind kind);
/** false: none of the names. */
bool sma_memory_kind_find(struct sma_str name, enum sma_memory_kind *ret_kind);

struct sma_memory_line
{
    struct sma_str text;  /* of the file, without bullet and mark */
    struct sma_str group; /* the chat key of `in`; "" = none. Of the reader, until its next line */
    struct sma_str tags;  /* of the file, blanks between them; "" = none */
    enum sma_memory_kind kind;
    uint8_t importance; /* 1..10 */
    size_t start, end;  /* the whole line in the file, its line feed included */
};

struct sma_memory_reader
{
    struct sma_str bytes;
    size_t at;
    bool is_in_fence, is_in_comment;
    uint32_t broken_count; /* lines that were passed over for their mark */
    struct sma_buf group;
};
/** @bytes  borrowed until fini */
void sma_memory_reader_init(struct sma_memory_reader *reader, struct sma_str bytes);
void sma_memory_reader_fini(struct sma_memory_reader *reader);
/** The next fact. false: there is none. */
bool sma_memory_reader_next(struct sma_memory_reader *reader, struct sma_memory_line *ret_line);
/** Can this be read and written at all: UTF-8, without NUL? */
bool sma_memory_is_readable(struct sma_str bytes);

/** Append the line of a fact, with its mark and line feed. text: as sma_memory_put_clean leaves
 *  it. */
void sma_memory_put_line(struct sma_buf *buf, const struct sma_memory_line *line, int64_t wall_ms);
/** Append a text as it may stand in one line: blanks instead of line feeds and control characters,
 *  no comment of HTML. */
void sma_memory_put_clean(struct sma_buf *buf, struct sma_str text);

#endif
