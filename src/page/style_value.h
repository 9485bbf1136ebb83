/*
 * style_value.h — the properties that decide whether people can see a text, one row each in
 * style_value.c, and what their values are. A value that is not valid is none: it changes nothing.
 *
 * Lengths are sums of px, em, percent and rem; colours have parts of 0 to 255 and an alpha of 0 to
 * 1. What is valid but is not worked out (math, colours of other spaces, pictures) is not known.
 * Source: CSS 2.2; Values 4; Color 4; Transforms 1; Masking 1.
 */
#ifndef SMA_PAGE_STYLE_VALUE_H
#define SMA_PAGE_STYLE_VALUE_H

#include "page/css.h"

#define STYLE_WIDTH_PX 1280
#define STYLE_HEIGHT_PX 800
#define STYLE_COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

/* clang-format off */
enum style_property
{
    STYLE_FONT_SIZE, /* first: the others' em */
    STYLE_VISIBILITY, STYLE_COLOR, STYLE_FILL, STYLE_SHADOW, STYLE_STROKE, STYLE_INDENT,
    STYLE_LETTER_SPACING, STYLE_COLOR_SCHEME,
    STYLE_INHERITED_COUNT, /* up to here */
    STYLE_DISPLAY = STYLE_INHERITED_COUNT,
    STYLE_OPACITY, STYLE_CONTENT_VISIBILITY,
    STYLE_GROUND, STYLE_GROUND_IMAGE, STYLE_GROUND_CLIP, /* in this order */
    STYLE_FILTER, /* parts: its opacity, 1 = it changes colours */
    STYLE_BLEND, STYLE_POSITION, STYLE_FLOAT,
    STYLE_TOP, STYLE_RIGHT, STYLE_BOTTOM, STYLE_LEFT, /* sides are in this order */
    STYLE_MARGIN_TOP, STYLE_MARGIN_RIGHT, STYLE_MARGIN_BOTTOM, STYLE_MARGIN_LEFT,
    STYLE_PADDING_TOP, STYLE_PADDING_RIGHT, STYLE_PADDING_BOTTOM, STYLE_PADDING_LEFT,
    STYLE_WIDTH, STYLE_MAX_WIDTH, STYLE_MIN_WIDTH,
    STYLE_HEIGHT, STYLE_MAX_HEIGHT, STYLE_MIN_HEIGHT,
    STYLE_OVERFLOW_X, STYLE_OVERFLOW_Y, STYLE_CLIP, STYLE_CLIP_PATH,
    STYLE_TRANSFORM, /* parts: x, y, the least scale */
    STYLE_ZOOM,
    STYLE_PROPERTY_COUNT,
};
enum style_kind
{
    STYLE_UNSET, STYLE_INHERIT, STYLE_INITIAL, /* unset: nothing is said */
    STYLE_WORD, STYLE_NUMBER, STYLE_LENGTH, STYLE_COLOR_VALUE, STYLE_PARTS,
    STYLE_LATER, /* has var(): known when its element is */
};
/* clang-format on */
/* Places of words in the rows' lists. */
enum style_word
{
    STYLE_NONE = 0,
    STYLE_HIDES = 1,
    STYLE_DISPLAY_CONTENTS = 1,
    STYLE_DISPLAY_INLINE = 2,
    STYLE_DISPLAY_FLEX = 3, /* ... to GRID: its children are blocks */
    STYLE_DISPLAY_INLINE_GRID = 6,
    STYLE_VISIBLE = 0,
    STYLE_POSITION_STATIC = 0,
    STYLE_POSITION_ABSOLUTE = 3,
    STYLE_POSITION_FIXED = 4,
    STYLE_CLIP_TEXT = 3,
    STYLE_SCHEME_DARK = 2,
    STYLE_CURRENT = 254,
    STYLE_UNKNOWN = 255, /* it is valid; nothing more is known */
};
struct style_value
{
    uint8_t kind, word;
    float parts[4]; /* number: the first; length: px, em, percent, rem; colour: red ... alpha */
};
struct style_values
{
    struct style_value items[STYLE_PROPERTY_COUNT];
    uint64_t said; /* bit 1 << property: by the page, of this element itself */
};

/** A row of the table: a property or one that stands for several. -1: there is none. */
int style_row_find(const struct css_token *name);
/**
 * @values  what the row's properties get; the others are not touched
 * @return  bit 1 << property for each that got one; 0: the text is not valid
 */
uint64_t style_row_parse(int row, struct css_text text, struct style_values *values);

/* -- style_color.c: numbers and colours, for the rows ------------------------------------------ */
enum style_measure
{
    STYLE_OF_NUMBER,
    STYLE_OF_LENGTH,
    STYLE_OF_OTHER, /* angles, in degrees */
    STYLE_OF_MATH,  /* calc() and its like: valid, not worked out */
};
struct style_quantity
{
    enum style_measure measure;
    float parts[4]; /* as of struct style_value */
};
/** first: the token just read. false: there is no number; in may have moved then, as below. */
bool style_read_quantity(struct css_text *in, const struct css_token *first,
                         struct style_quantity *ret);
/** What it comes to in px, where letters have 16 px; of a number: itself. */
double style_plain(const struct style_quantity *quantity);
double style_share(const struct style_quantity *quantity); /* 0.5 and 50% */
bool style_read_color(struct css_text *in, const struct css_token *first, struct style_value *ret);

static inline struct style_value style_of_word(unsigned word)
{
    return (struct style_value){.kind = STYLE_WORD, .word = (uint8_t)word};
}

#endif
