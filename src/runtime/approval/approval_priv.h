/*
 * approval_priv.h — what the files about cards and answers share: showing untrusted text, and the
 * words of an answer.
 */
#ifndef SMA_APPROVAL_PRIV_H
#define SMA_APPROVAL_PRIV_H

#include "runtime/approval/answer.h"
#include "runtime/approval/card.h"

/* -- showing what a stranger or a model wrote (show.c) ----------------------------------------- */
/* Text in which everything that does not show, or changes how the rest shows, stands as \n, \x1b or
 * \u{202E}. With keeps_lines, line feeds and tabs stay. Cut to bytes_max of the source with a
 * notice that says so. */
bool sma_display_text(struct sma_buf *buf, struct sma_str text, size_t bytes_max, bool keeps_lines,
                      enum sma_language language);
/* The same on one line as a Markdown code span that it cannot leave. */
bool sma_display_span(struct sma_buf *buf, struct sma_str text, size_t bytes_max,
                      enum sma_language language);
/* As a fenced block that it cannot leave; is_markdown false: each line behind "| ". */
bool sma_display_block(struct sma_buf *buf, struct sma_str text, size_t bytes_max, const char *info,
                       bool is_markdown, enum sma_language language);

/* -- the words of an answer (answer_words.c) --------------------------------------------------- */
#define ANSWER_BYTES_MAX 2000u /* nobody agrees at greater length; a longer one is for the model */
#define ANSWER_TOKEN_COUNT_MAX 128u

enum token_kind
{
    TOKEN_UNKNOWN, /* nothing can be agreed to with one of these in it */
    TOKEN_AGREE,
    TOKEN_REFUSE,
    TOKEN_NEGATE, /* turns the AGREE after it into REFUSE */
    TOKEN_ALL,    /* strong when it stands for itself; the weak one may also follow numbers */
    TOKEN_NONE,
    TOKEN_REST,
    TOKEN_ONLY,
    TOKEN_EXCEPT,
    TOKEN_NUMBERS, /* mask */
    TOKEN_QUOTED,  /* text: what stands in the quotes */
    TOKEN_TIME,    /* seconds, or SMA_GRANT_ALWAYS */
    TOKEN_ONCE,
    TOKEN_BECAUSE,
    TOKEN_COMMA,
    TOKEN_AND,
    TOKEN_TO,
    TOKEN_FOR,
    TOKEN_FILLER, /* changes nothing */
    TOKEN_THANKS,
    TOKEN_PLACE, /* "in this chat" */
};
struct token
{
    enum token_kind kind;
    bool
        /* verdicts: a verb that may have what is meant behind it; NEGATE: may stand alone */
        is_strong;
    uint64_t mask;       /* NUMBERS */
    int64_t seconds;     /* TIME; or SMA_GRANT_ALWAYS */
    struct sma_str text; /* QUOTED: the inside; slice of the message */
    size_t from, to;     /* bytes of the message */
};
struct words
{
    uint32_t count;
    bool is_whole; /* false: there was more than fits */
    struct token tokens[ANSWER_TOKEN_COUNT_MAX];
};

/* The tables (answer_table.c). Of several words that fit the longest counts. */
struct answer_word
{
    const char *text;
    enum token_kind kind;
    bool is_strong;
};
struct answer_unit
{
    const char *text;
    int64_t seconds;
    bool is_letter; /* only right behind the digits */
};
struct answer_count
{
    const char *text;
    int64_t number; /* 0 = a half */
};
struct answer_change
{
    uint32_t from;  /* code point */
    const char *to; /* not longer than what it stands for */
};
extern const struct answer_word answer_dictionary[];
extern const struct answer_unit answer_units[];
extern const struct answer_count answer_counts[];
extern const struct answer_change answer_changes[];
extern const size_t answer_word_count, answer_unit_count, answer_number_count, answer_change_count;

void sma_answer_words(struct sma_str text, uint32_t item_count, struct words *words);

/* -- what they mean together (answer_read.c) --------------------------------------------------- */
/* Fill masks, grant and reason of *answer when all the words together say something, and one thing
 * only. */
bool sma_answer_decide(struct sma_str text, const struct words *words,
                       const struct sma_request *request, struct sma_answer *answer);

#endif
