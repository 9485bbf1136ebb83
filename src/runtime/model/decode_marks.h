/*
 * decode_marks.h — what models write in their own tongue where a server did not take it out of the
 * text: marks of thought and notations of calls, and where they may stand.
 *
 * A mark is an element (<think>, <ns:tool_call>, <invoke name="x">), a control token
 * (<|tool_calls_begin|>, in any bars), a word in brackets ([TOOL_CALLS]), or one of few literals.
 * What it means is told by its name, folded to letters and without "begin" and "end": a table of
 * words, so that notations nobody has seen are known by the words that they are made of. A mark
 * counts where it cannot be a word of a sentence: at the beginning of a line, control tokens (which
 * no keyboard makes) anywhere; never in a code block, a block quote or between backticks.
 * Threads: any; no state.
 */
#ifndef SMA_MODEL_DECODE_MARKS_H
#define SMA_MODEL_DECODE_MARKS_H

#include "sma/buf.h"

enum sma_notation_kind
{
    SMA_NOTATION_NONE,
    SMA_NOTATION_THOUGHT,
    SMA_NOTATION_THOUGHT_END,
    SMA_NOTATION_CALLS,     /* calls begin */
    SMA_NOTATION_ELEMENT,   /* a call begins: the element holds its name */
    SMA_NOTATION_CALLS_END, /* they end, or one of them; what stands behind may be the next */
    SMA_NOTATION_BETWEEN,   /* between a call's name and its arguments */
    SMA_NOTATION_RESULT,    /* a result that the model made up: what follows is of no use */
    SMA_NOTATION_ANSWER,    /* around an answer as a whole */
    SMA_NOTATION_ANSWER_END,
    SMA_NOTATION_END,  /* of an answer; nobody reads it */
    SMA_NOTATION_TURN, /* of somebody else: the model went on by itself */
};
#define SMA_NOTATIONS(kind) (1u << (kind))
#define SMA_NOTATIONS_OF_CALLS \
    (SMA_NOTATIONS(SMA_NOTATION_CALLS) | SMA_NOTATIONS(SMA_NOTATION_ELEMENT))

struct sma_notation
{
    enum sma_notation_kind kind; /* NONE: there is none */
    struct sma_str text;
    bool is_control; /* a token, not a word: it counts anywhere */
    bool is_weak;    /* words of a language: it counts where what follows is what it announces */
    bool is_open;    /* NONE: the text ends before it can be told */
    bool stands;     /* sma_notation_next: where a mark of its kind may */
    bool is_inline;  /* sma_notation_next: a word of a sentence, by what stands around it */
};

/** The mark of one of these kinds (SMA_NOTATIONS) that text begins with at `at`. */
struct sma_notation sma_notation_at(struct sma_str text, size_t at, unsigned kinds);
/** Behind '<': where the name of a mark begins, without '/', a namespace in bars (<｜DSML｜invoke)
 *  and blanks around them. *ret_bar: bytes of the bar in front of it; 0 = none. */
size_t sma_notation_name_at(struct sma_str text, size_t at, bool *ret_is_end, bool *ret_is_spaced,
                            size_t *ret_bar);
/* Where one stands in a text: is it code, and could a mark of words stand here? From the beginning
 * of a line: {.at = ..., .is_line_start = true}. */
struct sma_notation_cursor
{
    size_t at;
    bool is_ticked, is_line_start, is_indented, is_behind_empty;
    unsigned char before; /* the last byte that is no blank; 0 = the text begins */
    char fence;           /* of the block of code that is open, */
    size_t fence_len;     /* and how many of it opened it; 0 = none is */
};
/** Does `at`, at or behind the cursor, stand in code or in a quotation? The cursor goes there. */
bool sma_notation_is_code(struct sma_notation_cursor *cursor, struct sma_str text, size_t at);
/** The next mark at or behind the cursor that is no code; *ret_at is where. */
struct sma_notation sma_notation_next(struct sma_notation_cursor *cursor, struct sma_str text,
                                      unsigned kinds, size_t *ret_at);
/** Length of what may be shown while more arrives: without an end that may become a mark. */
size_t sma_notation_hold(struct sma_str text);
/** Is this mark quoted in the JSON of the request? */
bool sma_notation_is_quoted(struct sma_str request, const struct sma_notation *mark);
/** Is the first of the calls in this region, or one behind a mark of its own, quoted there, however
 *  its white space is written? */
bool sma_notation_is_block_quoted(struct sma_str request, struct sma_str region);
/** Behind white space, and marks of byte order. */
size_t sma_notation_skip_space(struct sma_str text, size_t at);

/**
 * What of a text is for people, without thoughts.
 * @request   of the answer; a mark that stands there is talked about and may be a word
 * @is_whole  nothing more arrives: a thought that never ends and leaves nothing else is the answer
 * @visible   cleared; holds the result where that is not one piece of text
 * @thought   may be NULL; what was left out is appended
 * @return    a slice of text or of visible
 */
struct sma_str sma_notation_visible(struct sma_str text, struct sma_str request, bool is_whole,
                                    struct sma_buf *visible, struct sma_buf *thought);

#endif
