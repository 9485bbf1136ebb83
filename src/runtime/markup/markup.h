/*
 * markup.h — Markdown as flat text with marks over it, and that cut into parts. No platform in it.
 *
 * Markdown (CommonMark with tables, strike-through and task lists; raw HTML is ordinary text)
 * becomes one UTF-8 text as a person would read it, and a list of marks: this range is bold, this
 * is a link to there. What chats have no mark for
 * becomes text: bullets, numbers and indentation of lists, "> " of quotes inside quotes, a line of
 * dashes for a rule, tables as aligned columns under a PRE mark, links of unwanted schemes as "text
 * (target)". Cutting happens on the flat text, where a length is what the platform counts and a
 * mark can be closed and opened again; see docs/adr/0010-markup.md.
 *
 * Invariants: the text is valid UTF-8, ranges lie on code point boundaries and are not empty; marks
 *             are sorted by `from`, outer before inner, and nest properly; no mark contains another
 *             of its own kind; CODE and PRE contain none.
 * Threads:    the owner only; no state outside the structs.
 * Limits:     SMA_MARKUP_*; over one of them the text is kept as it came, without marks. Nothing is
 * ever lost.
 */
#ifndef SMA_MARKUP_H
#define SMA_MARKUP_H

#include "sma/buf.h"

#define SMA_MARKUP_SOURCE_BYTES_MAX (512 * 1024) /* a longer Markdown text is kept as it is */
/* flat text of the above: indentation and tables make it longer */
#define SMA_MARKUP_TEXT_BYTES_MAX (4 * 1024 * 1024)
#define SMA_MARKUP_COUNT_MAX 65536       /* marks of one text */
#define SMA_MARKUP_TARGET_BYTES_MAX 2048 /* of a link; a longer one stands in the text */
#define SMA_MARKUP_LANGUAGE_BYTES_MAX 32 /* of a code block; a longer name is dropped */
#define SMA_MARKUP_UNITS_MIN 16          /* the smallest part that is accepted */

enum sma_mark_kind
{
    SMA_MARK_BOLD,
    SMA_MARK_ITALIC,
    SMA_MARK_STRIKE,
    SMA_MARK_QUOTE,
    SMA_MARK_LINK, /* detail: the target, never empty */
    SMA_MARK_CODE,
    SMA_MARK_PRE, /* detail: the language, may be empty; [A-Za-z0-9+#._-] only */
    SMA_MARK_KIND_COUNT
};
struct sma_mark
{
    uint8_t kind;          /* enum sma_mark_kind */
    uint32_t from, to;     /* bytes of the text, to exclusive */
    struct sma_str detail; /* valid as long as the markup */
};
struct sma_markup
{
    struct sma_buf text;
    struct sma_mark *marks;
    uint32_t mark_count, mark_room;
    struct sma_buf details; /* private: what the details of the marks point into */
    bool is_plain;          /* nothing was read as Markdown: the text is the source */
};
struct sma_markup_options
{
    /* Schemes of links that become marks, with colon, lower case, ended by NULL; NULL = http: and
     * https: */
    const char *const *link_schemes;
};

/** Prepare an empty markup. Allocates: no. */
void sma_markup_init(struct sma_markup *markup);
/** Free it; accepts a zeroed struct. */
void sma_markup_fini(struct sma_markup *markup);
/**
 * Read Markdown. Where it cannot be read (over a limit, or nothing visible would be left of it:
 * "***", a lone link definition), the text is the source as it came and is_plain is set. Invalid
 * UTF-8 becomes U+FFFD.
 * @options may be NULL
 * @return OK | NOMEM (the markup is empty then)
 * Thread: any.   Blocks: no.   Allocates: yes. Time: linear in the source, but for input made to be
 * slow.
 */
SMA_CHECKED enum sma_err sma_markup_parse(struct sma_markup *markup, struct sma_str source,
                                          const struct sma_markup_options *options);
/** Take a text as it is, without marks. Invalid UTF-8 becomes U+FFFD. OK | NOMEM | TOOBIG. */
SMA_CHECKED enum sma_err sma_markup_set_plain(struct sma_markup *markup, struct sma_str source);
/** Does a reader see nothing of this text (white space, zero-width and control characters only)? */
bool sma_text_is_blank(struct sma_str text);

/* -- cutting ----------------------------------------------------------------------------------- */
struct sma_markup_limits
{
    /* UTF-16 units of one part's text; 0 = no limit, else >= SMA_MARKUP_UNITS_MIN */
    uint32_t units_max;
    /*
     * Bytes of one part as written for the platform; 0 = no limit, else >= 16 KiB. Counted from
     * above: a byte of text one, & < > " six, a mark mark_bytes and six for each byte of its
     * detail.
     */
    uint32_t bytes_max, mark_bytes;
};
struct sma_markup_part
{
    uint32_t index;      /* 0, 1, ... */
    uint32_t from;       /* where text begins in the whole text */
    struct sma_str text; /* never blank */
    /* clipped to the part, from and to count from its beginning; borrowed for the call */
    const struct sma_mark *marks;
    uint32_t mark_count;
};
typedef void sma_markup_part_fn(void *user, const struct sma_markup_part *part);
/**
 * Call `each` for every part in order; not at all for a blank text.
 *
 * Where to cut, best first: before a PRE, at an empty line, at a line end, between words (rather
 * outside links and code), between grapheme clusters. Only a cluster that is longer than a whole
 * part is cut between code points. A PRE that must be cut is cut at line ends as long as it has any
 * near. What is left out: white space at both ends of a part (inside PRE: newlines at its end, one
 * newline at its beginning), and parts that would be blank. Nothing else.
 * @return OK | NOMEM | BADINPUT (a limit below its minimum)
 * Thread: any.   Allocates: the clipped marks.   Time: linear.
 */
SMA_CHECKED enum sma_err sma_markup_split(const struct sma_markup *markup,
                                          const struct sma_markup_limits *limits,
                                          sma_markup_part_fn *each, void *user);

#endif
