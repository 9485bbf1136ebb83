/* style_value.c — see style_value.h. */
#include "page/style_value.h"

#include <math.h>
#include <string.h>

#define ARGUMENT_MAX 64  /* of a function; more make it not valid */
#define FAR_PX 1e6F      /* moved so far that nothing else matters */
#define BLUR_PX_MOST 6.0 /* nobody reads through more */
#define BIT(id) (1ull << STYLE_##id)
#define FOUR(id) (15ull << STYLE_##id)

struct row;
/** One value of the row's; first: the token just read. false: it is not valid. */
typedef bool reader(const struct row *row, struct css_text *in, const struct css_token *first,
                    struct style_value *ret);
struct row
{
    const char *name;
    reader *read;
    uint64_t targets; /* bits of properties: 1; 2 or 4 get as many values; 3 get theirs at once */
    const char *words;
};

/* For sides that are not given: the value of which stands for them. */
static const unsigned SIDES[4][4] = {{0, 0, 0, 0}, {0, 1, 0, 1}, {0, 1, 2, 1}, {0, 1, 2, 3}};

/* -- values of one part ------------------------------------------------------------------------ */
static bool read_word(const struct row *row, struct css_text *in, const struct css_token *first,
                      struct style_value *ret)
{
    int place = first->kind == CSS_WORD && row->words != NULL ? css_place(first, row->words) : -1;
    (void)in;
    *ret = style_of_word((unsigned)place);
    return place >= 0;
}

static bool read_length(const struct row *row, struct css_text *in, const struct css_token *first,
                        struct style_value *ret)
{
    struct style_quantity one;
    if (read_word(row, in, first, ret))
        return true;
    if (!style_read_quantity(in, first, &one) || one.measure == STYLE_OF_OTHER ||
        (one.measure == STYLE_OF_NUMBER && one.parts[0] != 0))
        return false;
    *ret = (struct style_value){.kind = STYLE_LENGTH};
    memcpy(ret->parts, one.parts, sizeof ret->parts);
    if (one.measure == STYLE_OF_MATH)
        *ret = style_of_word(STYLE_UNKNOWN);
    return true;
}

/* A length that is not below 0. */
static bool read_size(const struct row *row, struct css_text *in, const struct css_token *first,
                      struct style_value *ret)
{
    return (first->kind != CSS_NUMBER || first->number >= 0) && read_length(row, in, first, ret);
}

static bool read_number(const struct row *row, struct css_text *in, const struct css_token *first,
                        struct style_value *ret)
{
    struct style_quantity one;
    if (read_word(row, in, first, ret))
        return true;
    if (!style_read_quantity(in, first, &one) ||
        (one.measure != STYLE_OF_NUMBER && one.parts[2] == 0 && one.measure != STYLE_OF_MATH))
        return false;
    *ret = (struct style_value){.kind = STYLE_NUMBER, .parts = {(float)style_share(&one)}};
    if (one.measure == STYLE_OF_MATH)
        *ret = style_of_word(STYLE_UNKNOWN);
    return true;
}

static bool read_color(const struct row *row, struct css_text *in, const struct css_token *first,
                       struct style_value *ret)
{
    (void)row;
    return style_read_color(in, first, ret);
}

static bool read_font_size(const struct row *row, struct css_text *in,
                           const struct css_token *first, struct style_value *ret)
{
    static const char words[] =
        "xx-small x-small small medium large x-large xx-large xxx-large smaller larger";
    static const float sizes[] = {9, 10, 13, 16, 18, 24, 32, 48, 0.83F, 1.2F};
    static const struct row plainly = {.name = ""};
    int word = first->kind == CSS_WORD ? css_place(first, words) : -1;
    (void)row;
    if (word < 0 && !read_size(&plainly, in, first, ret))
        return false;
    if (word >= 0) {
        *ret = (struct style_value){.kind = STYLE_LENGTH};
        ret->parts[word >= 8] = sizes[word];
    }
    ret->parts[1] += ret->parts[2] / 100;
    ret->parts[2] = 0;
    return true;
}

/* -- values of many parts: they read to the end ------------------------------------------------ */
static bool read_font(const struct row *row, struct css_text *in, const struct css_token *first,
                      struct style_value *ret)
{
    struct css_token token = *first;
    *ret = (struct style_value){.kind = STYLE_LENGTH, .parts = {13}};
    if (css_place(first, "caption icon menu message-box small-caption status-bar") >= 0)
        return true;
    while (css_place(&token, row->words) >= 0 ||
           (token.kind == CSS_NUMBER && token.len == 0 && token.number >= 1))
        token = css_next_solid(in);
    if (!read_font_size(row, in, &token, ret))
        return false;
    token = css_next_solid(in);
    if (token.kind == CSS_SIGN && token.sign == '/') { /* the height of lines */
        (void)css_next_solid(in);
        token = css_next_solid(in);
    }
    in->at = in->end;
    return token.kind == CSS_WORD || token.kind == CSS_STRING;
}

static bool read_picture(const struct row *row, struct css_text *in, const struct css_token *first,
                         struct style_value *ret)
{
    static const char end[] = "gradient", others[] = "url image-set -webkit-image-set cross-fade";
    size_t at = first->len < sizeof end ? 0 : first->len - (sizeof end - 1);
    bool is_gradient = first->len < sizeof first->text && strcmp(first->text + at, end) == 0;
    if (first->kind == CSS_WORD)
        return row->words != NULL && read_word(row, in, first, ret);
    *ret = style_of_word(STYLE_UNKNOWN);
    if (first->kind == CSS_FUNCTION && (is_gradient || css_place(first, others) >= 0))
        (void)css_inside(in, ")");
    else if (first->kind != CSS_URL)
        return false;
    if (row->read == read_picture) /* others may lie below it */
        in->at = in->end;
    return true;
}

/* Colour, picture and clip of a background. */
static bool read_ground(const struct row *row, struct css_text *in, const struct css_token *first,
                        struct style_value *ret)
{
    static const struct row pictures = {.name = ""};
    struct style_quantity quantity;
    struct style_value one;
    ret[0] = (struct style_value){.kind = STYLE_INITIAL};
    ret[1] = ret[2] = style_of_word(STYLE_NONE);
    for (struct css_token token = *first; token.kind != CSS_END; token = css_next_solid(in)) {
        if (read_word(row, in, &token, &one))
            ret[2] = one.word <= STYLE_CLIP_TEXT ? one : ret[2];
        else if (read_picture(&pictures, in, &token, &one))
            ret[1] = one;
        else if (ret[0].kind == STYLE_INITIAL && style_read_color(in, &token, &one))
            ret[0] = one;
        else if (!(token.kind == CSS_SIGN && (token.sign == '/' || token.sign == ',')) &&
                 !style_read_quantity(in, &token, &quantity))
            return false;
    }
    return true;
}

/* Shadows and outlines of letters: there, or not. */
static bool read_ink(const struct row *row, struct css_text *in, const struct css_token *first,
                     struct style_value *ret)
{
    in->at = in->end;
    if (!read_word(row, in, first, ret))
        *ret = style_of_word(STYLE_UNKNOWN);
    return true;
}

/* Numbers behind each other, with blanks or commas between, up to the word "at" or "round". */
static bool read_arguments(struct css_text in, struct style_quantity *ret, unsigned *ret_count)
{
    *ret_count = 0;
    for (;;) {
        struct css_token token = css_next_solid(&in);
        if (token.kind == CSS_END || css_place(&token, "at round") >= 0)
            return true;
        if (token.kind == CSS_SIGN && token.sign == ',')
            continue;
        bool is_auto = css_is_word(&token, "auto"), is_far = *ret_count == 1 || *ret_count == 2;
        if (*ret_count == ARGUMENT_MAX ||
            (!is_auto && !style_read_quantity(&in, &token, &ret[*ret_count])))
            return false;
        if (is_auto)
            ret[*ret_count] = (struct style_quantity){.parts = {is_far ? FAR_PX : 0}};
        (*ret_count)++;
    }
}

static bool read_filter(const struct row *row, struct css_text *in, const struct css_token *first,
                        struct style_value *ret)
{
    struct style_quantity list[ARGUMENT_MAX] = {{0}};
    unsigned count;
    *ret = (struct style_value){.kind = STYLE_PARTS, .parts = {1}};
    for (struct css_token token = *first; token.kind != CSS_END; token = css_next_solid(in)) {
        int which = css_place(&token, row->words);
        if (which == 0) /* none */
            return css_is_end(*in);
        if (token.kind != CSS_URL && (token.kind != CSS_FUNCTION || which < 0))
            return false;
        bool has_number = token.kind == CSS_FUNCTION &&
                          read_arguments(css_inside(in, ")"), list, &count) && count == 1;
        if (which == 1 && has_number)
            ret->parts[0] *= (float)fmin(style_share(&list[0]), 1);
        else if (which == 2 && has_number && style_plain(&list[0]) >= BLUR_PX_MOST)
            ret->parts[0] = 0;
        else if (which != 1 && which != 2)
            ret->parts[1] = 1;
    }
    return true;
}

/* parts: x, y, the least scale. Percent are of the element, whose size is not known. */
static bool move(const char *name, const struct style_quantity *args, unsigned count, float *parts)
{
    size_t len = strlen(name);
    bool is_y = len > 0 && name[len - 1] == 'y', is_z = len > 0 && name[len - 1] == 'z';
    if (count == 0)
        return false;
    for (unsigned i = 0; i < count && i < 2 && !is_z; i++) {
        double own = args[i].parts[2], px = style_plain(&args[i]);
        if (strncmp(name, "translate", 9) == 0)
            parts[is_y ? 1 : i] += own >= 500 || own <= -500
                                       ? copysignf(FAR_PX, (float)own)
                                       : (float)(px - own * STYLE_WIDTH_PX / 100);
        else if (strncmp(name, "scale", 5) == 0 && args[i].measure != STYLE_OF_MATH)
            parts[2] = fminf(parts[2], fabsf((float)style_share(&args[i])));
    }
    return true;
}

static bool read_transform(const struct row *row, struct css_text *in,
                           const struct css_token *first, struct style_value *ret)
{
    struct style_quantity list[ARGUMENT_MAX];
    unsigned count;
    *ret = (struct style_value){.kind = STYLE_PARTS, .parts = {0, 0, 1}};
    for (struct css_token token = *first; token.kind != CSS_END; token = css_next_solid(in)) {
        if (css_is_word(&token, "none"))
            return css_is_end(*in) && first->kind == CSS_WORD;
        if (token.kind != CSS_FUNCTION || css_place(&token, row->words) < 0 ||
            !read_arguments(css_inside(in, ")"), list, &count) ||
            !move(token.text, list, count, ret->parts))
            return false;
    }
    return true;
}

/* What is left of a box when this shape is cut out of it: nothing? */
static bool is_empty(int shape, const struct style_quantity *args, unsigned count)
{
    switch (shape) {
    case 0: /* inset(top right bottom left) */
        for (unsigned side = 0; side < 2; side++) {
            const struct style_quantity *a = &args[SIDES[count - 1][side]],
                                        *b = &args[SIDES[count - 1][side + 2]];
            if (a->parts[2] + b->parts[2] >= 99 ||
                style_plain(a) + style_plain(b) >= 2.0 * STYLE_WIDTH_PX)
                return true;
        }
        return false;
    case 1: /* circle(radius) */
    case 2: /* ellipse(x y) */
        return style_plain(&args[0]) <= 1;
    default: /* rect(top right bottom left) */
        return count == 4 && (style_plain(&args[2]) - style_plain(&args[0]) <= 1 ||
                              style_plain(&args[1]) - style_plain(&args[3]) <= 1);
    }
}

/* clip and clip-path */
static bool read_clip(const struct row *row, struct css_text *in, const struct css_token *first,
                      struct style_value *ret)
{
    struct style_quantity args[ARGUMENT_MAX];
    unsigned count = 0;
    int shape = css_place(first, "inset circle ellipse rect polygon path xywh shape");
    if (first->kind == CSS_URL || (first->kind == CSS_WORD && css_place(first, row->words) >= 0)) {
        *ret = style_of_word(STYLE_NONE);
        return true;
    }
    if (first->kind != CSS_FUNCTION || shape < 0)
        return false;
    bool is_valid = read_arguments(css_inside(in, ")"), args, &count) && (shape > 0 || count <= 4);
    bool hides = is_valid && count > 0 && shape <= 3 && is_empty(shape, args, count);
    for (unsigned i = 0; i < count; i++)
        hides = hides && args[i].measure != STYLE_OF_MATH;
    *ret = style_of_word(hides ? STYLE_HIDES : STYLE_NONE);
    return is_valid || shape > 0;
}

/* -- the table --------------------------------------------------------------------------------- */
#define LIMITS "none min-content max-content stretch -webkit-fill-available fit-content"
#define SIZES LIMITS " auto"
#define BOXES "border-box padding-box content-box"
#define FLOWS "visible hidden clip scroll auto overlay"
/* clang-format off */
static const struct row ROWS[] = {
    {"display", read_word, BIT(DISPLAY), "none contents inline flex inline-flex grid inline-grid "
     "block inline-block list-item table inline-table table-row table-cell table-row-group "
     "table-caption table-header-group table-footer-group flow-root -webkit-box -webkit-flex"},
    {"visibility", read_word, BIT(VISIBILITY), "visible hidden collapse"},
    {"content-visibility", read_word, BIT(CONTENT_VISIBILITY), "visible hidden auto"},
    {"position", read_word, BIT(POSITION), "static relative sticky absolute fixed"},
    {"float", read_word, BIT(FLOAT), "none left right inline-start inline-end"},
    {"mix-blend-mode", read_word, BIT(BLEND), "normal lighten screen darken multiply overlay "
     "color-dodge color-burn hard-light soft-light difference exclusion hue saturation color"},
    {"color-scheme", read_word, BIT(COLOR_SCHEME), "normal light dark"},
    {"color", read_color, BIT(COLOR), NULL},
    {"-webkit-text-fill-color", read_color, BIT(FILL), NULL},
    {"background-color", read_color, BIT(GROUND), NULL},
    {"background-image", read_picture, BIT(GROUND_IMAGE), "none"},
    {"background-clip", read_word, BIT(GROUND_CLIP), BOXES " text"},
    {"background", read_ground, 7ull << STYLE_GROUND, BOXES " text none repeat no-repeat repeat-x "
     "repeat-y space round scroll fixed local left right top bottom center cover contain auto"},
    {"text-shadow", read_ink, BIT(SHADOW), "none"},
    {"-webkit-text-stroke", read_ink, BIT(STROKE), "none"},
    {"filter", read_filter, BIT(FILTER), "none opacity blur brightness contrast invert drop-shadow "
     "url grayscale sepia saturate hue-rotate"},
    {"opacity", read_number, BIT(OPACITY), NULL}, {"zoom", read_number, BIT(ZOOM), "normal reset"},
    {"font-size", read_font_size, BIT(FONT_SIZE), NULL},
    {"font", read_font, BIT(FONT_SIZE), "normal italic oblique small-caps bold lighter condensed"},
    {"text-indent", read_length, BIT(INDENT), NULL},
    {"letter-spacing", read_length, BIT(LETTER_SPACING), "normal"},
    {"top", read_length, BIT(TOP), "auto"}, {"right", read_length, BIT(RIGHT), "auto"},
    {"bottom", read_length, BIT(BOTTOM), "auto"}, {"left", read_length, BIT(LEFT), "auto"},
    {"inset", read_length, FOUR(TOP), "auto"},
    {"inset-inline-start", read_length, BIT(LEFT), "auto"},
    {"margin", read_length, FOUR(MARGIN_TOP), "auto"},
    {"margin-top", read_length, BIT(MARGIN_TOP), "auto"},
    {"margin-left", read_length, BIT(MARGIN_LEFT), "auto"},
    {"margin-inline-start", read_length, BIT(MARGIN_LEFT), "auto"},
    {"padding", read_size, FOUR(PADDING_TOP), NULL},
    {"padding-top", read_size, BIT(PADDING_TOP), NULL},
    {"padding-right", read_size, BIT(PADDING_RIGHT), NULL},
    {"padding-bottom", read_size, BIT(PADDING_BOTTOM), NULL},
    {"padding-left", read_size, BIT(PADDING_LEFT), NULL},
    {"width", read_size, BIT(WIDTH), SIZES}, {"height", read_size, BIT(HEIGHT), SIZES},
    {"inline-size", read_size, BIT(WIDTH), SIZES}, {"block-size", read_size, BIT(HEIGHT), SIZES},
    {"max-width", read_size, BIT(MAX_WIDTH), LIMITS},
    {"max-height", read_size, BIT(MAX_HEIGHT), LIMITS},
    {"min-width", read_size, BIT(MIN_WIDTH), SIZES},
    {"min-height", read_size, BIT(MIN_HEIGHT), SIZES},
    {"overflow", read_word, BIT(OVERFLOW_X) | BIT(OVERFLOW_Y), FLOWS},
    {"overflow-x", read_word, BIT(OVERFLOW_X), FLOWS},
    {"overflow-y", read_word, BIT(OVERFLOW_Y), FLOWS},
    {"clip", read_clip, BIT(CLIP), "auto"},
    {"clip-path", read_clip, BIT(CLIP_PATH), "none margin-box fill-box stroke-box view-box " BOXES},
    {"transform", read_transform, BIT(TRANSFORM), "translate translatex translatey translatez "
     "translate3d scale scalex scaley scalez scale3d rotate rotatex rotatey rotatez rotate3d skew "
     "skewx skewy matrix matrix3d perspective"},
    {"all", NULL, (1ull << STYLE_PROPERTY_COUNT) - 1, NULL},
};
/* clang-format on */

int style_row_find(const struct css_token *name)
{
    static const char prefix[] = "-webkit-";
    bool has_prefix = strncmp(name->text, prefix, sizeof prefix - 1) == 0;
    for (size_t i = 0; name->len < sizeof name->text && i < STYLE_COUNT_OF(ROWS); i++)
        if (strcmp(ROWS[i].name, name->text) == 0 ||
            (has_prefix && strcmp(ROWS[i].name, name->text + sizeof prefix - 1) == 0))
            return (int)i;
    return -1;
}

static bool has_variable(struct css_text in)
{
    for (struct css_token token; (token = css_next(&in)).kind != CSS_END;)
        if (token.kind == CSS_FUNCTION && css_place(&token, "var env") >= 0)
            return true;
    return false;
}

uint64_t style_row_parse(int index, struct css_text text, struct style_values *values)
{
    const struct row *row = &ROWS[index];
    struct style_value found[4];
    unsigned count = 0, side = 0, sides = (unsigned)__builtin_popcountll(row->targets);
    bool is_later = has_variable(text);
    struct css_token token = css_next_solid(&text);
    int wide = token.kind == CSS_WORD && css_is_end(text)
                   ? css_place(&token, "unset inherit initial revert revert-layer")
                   : -1;
    if (token.kind == CSS_END)
        return 0;
    for (; wide < 0 && !is_later && token.kind != CSS_END; token = css_next_solid(&text))
        if (row->read == NULL || count == sides || !row->read(row, &text, &token, &found[count++]))
            return 0;
    for (uint64_t left = row->targets; left != 0; left &= left - 1, side++) {
        struct style_value *value = &values->items[__builtin_ctzll(left)];
        if (is_later)
            *value = (struct style_value){.kind = STYLE_LATER};
        else if (wide >= 0)
            *value = (struct style_value){.kind = (uint8_t)(wide < 3 ? STYLE_UNSET + wide : 0)};
        else
            *value = found[sides == 4                   ? SIDES[count - 1][side]
                           : sides == 3 || side < count ? side
                                                        : 0];
    }
    return row->targets;
}
