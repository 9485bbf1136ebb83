/*
 * css.h — the tokens of a style sheet, read one by one from its text; nothing is copied or kept.
 *
 * Comments are nothing, escapes are undone, strings, addresses and blocks are passed over whole.
 * Source: CSS Syntax 3 §4, §5.
 */
#ifndef SMA_PAGE_CSS_H
#define SMA_PAGE_CSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct css_text
{
    const char *at, *end;
};
/* clang-format off */
enum css_kind
{
    CSS_END, CSS_BLANK, CSS_WORD,
    CSS_FUNCTION, /* with its "(" */
    CSS_AT, CSS_HASH, CSS_STRING, CSS_URL,
    CSS_NUMBER, /* text: its unit, "%" or "" */
    CSS_BAD,    /* a string or an address that ends nowhere */
    CSS_SIGN,   /* any other byte */
};
/* clang-format on */
struct css_token
{
    enum css_kind kind;
    char sign; /* of CSS_SIGN; of CSS_FUNCTION "(" */
    double number;
    char text[128], raw[128]; /* in small letters, and as it is; what is longer is cut */
    size_t len;               /* of the whole, uncut */
    uint32_t hash, exact;     /* of the whole; hash: of its small letters. Never 0 */
};

uint32_t css_hash(const char *text, size_t len, bool is_exact);
struct css_token css_next(struct css_text *in);
/** The next that is no blank. */
struct css_token css_next_solid(struct css_text *in);
/**
 * All up to the first of the signs `stops` that stands in no block; in->at is left at it. "{" may
 * be a stop; else blocks are passed over.
 */
struct css_text css_until(struct css_text *in, const char *stops);
/** All up to the end of the block or function that was entered; in->at is behind it. */
struct css_text css_inside(struct css_text *in, const char *end);
bool css_is_end(struct css_text in);
bool css_is_word(const struct css_token *token, const char *word); /* CSS_WORD, in small letters */
/** Place in a list "one two three"; -1: not in it. */
int css_place(const struct css_token *token, const char *list);

#endif
