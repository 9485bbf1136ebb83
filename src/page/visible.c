/* visible.c — see visible.h. */
#include "page/visible.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FONT_PX_LEAST 4.0F /* nobody reads smaller letters */
#define OPACITY_LEAST 0.1F
#define COLOR_STEP_LEAST 40.0F   /* of 255, in the colour that differs most: less is not seen */
#define OUTSIDE_PX 500.0F        /* so far to the left or above is outside of every screen */
#define BEYOND_PX 4000.0F        /* ... to the right or below */
#define BOX_PX_LEAST 1.5F        /* a box that is cut to this shows nothing */
#define SPACING_EM_LEAST (-0.5F) /* letters that stand in each other */

struct look
{
    struct style_values values;
    float opacity, scale;
    float x, y; /* moved by */
    struct style_value ground;
    bool is_text_unknown, is_recolored, has_ink; /* ink: of a ground that fills the letters */
};
struct visible
{
    struct style_sheets *sheets;
    struct style_element *element;
    unsigned depth, depth_max;
    struct look *looks; /* depth_max + 2; the first is that of the page */
};

/* -- values ------------------------------------------------------------------------------------ */
static unsigned word(const struct style_values *values, enum style_property property)
{
    return values->items[property].kind == STYLE_WORD ? values->items[property].word : 0;
}

static bool is_kind(const struct style_values *values, enum style_property property,
                    enum style_kind kind)
{
    return values->items[property].kind == kind;
}

static float number(const struct style_values *values, enum style_property property, float usual)
{
    return is_kind(values, property, STYLE_NUMBER) ? values->items[property].parts[0] : usual;
}

/* Of a length in px; percent are of the screen's width. */
static float pixels(const struct style_values *values, enum style_property property)
{
    const struct style_value *value = &values->items[property];
    return value->kind == STYLE_LENGTH ? value->parts[0] + value->parts[2] * STYLE_WIDTH_PX / 100
                                       : 0;
}

static struct style_value color(float red, float green, float blue, float alpha)
{
    return (struct style_value){.kind = STYLE_COLOR_VALUE, .parts = {red, green, blue, alpha}};
}

static bool is_known(const struct style_value *value)
{
    return value->kind == STYLE_COLOR_VALUE;
}

static struct style_value over(struct style_value upper, const struct style_value *lower)
{
    if (!is_known(&upper) || (upper.parts[3] < 1 && !is_known(lower)))
        return style_of_word(STYLE_UNKNOWN);
    for (int i = 0; i < 3; i++)
        upper.parts[i] = upper.parts[i] * upper.parts[3] + lower->parts[i] * (1 - upper.parts[3]);
    upper.parts[3] = 1;
    return upper;
}

static struct style_value text_color(const struct look *look)
{
    const struct style_value *fill = &look->values.items[STYLE_FILL],
                             *text = &look->values.items[STYLE_COLOR];
    bool is_own =
        fill->kind != STYLE_INITIAL && !(fill->kind == STYLE_WORD && fill->word == STYLE_CURRENT);
    if (is_own)
        return *fill;
    if (look->is_text_unknown)
        return style_of_word(STYLE_UNKNOWN);
    return text->kind == STYLE_INITIAL ? color(0, 0, 0, 1) : *text;
}

/* -- a look of an element and the one around it ------------------------------------------------ */
/* Where sheets in other files exist, nobody knows the colours of an element that they may name. */
static void take_colors(struct look *look, bool may_be_named)
{
    struct style_values *values = &look->values;
    const uint64_t grounds = 1ull << STYLE_GROUND | 1ull << STYLE_GROUND_IMAGE;
    struct style_value ground = values->items[STYLE_GROUND];
    if ((values->said & (1ull << STYLE_COLOR)) != 0)
        look->is_text_unknown = false;
    else if (may_be_named)
        look->is_text_unknown = true;
    if (ground.kind == STYLE_WORD && ground.word == STYLE_CURRENT)
        ground = text_color(look);
    look->has_ink = word(values, STYLE_GROUND_CLIP) == STYLE_CLIP_TEXT ||
                    (look->has_ink && (values->said & grounds) == 0);
    if (word(values, STYLE_GROUND_IMAGE) != STYLE_NONE ||
        (may_be_named && (values->said & grounds) == 0))
        look->ground = style_of_word(STYLE_UNKNOWN);
    else if (ground.kind != STYLE_INITIAL && !look->has_ink)
        look->ground = over(ground, &look->ground);
    look->is_recolored = look->is_recolored || (is_kind(values, STYLE_FILTER, STYLE_PARTS) &&
                                                values->items[STYLE_FILTER].parts[1] > 0);
    look->is_recolored = look->is_recolored || word(values, STYLE_BLEND) != STYLE_NONE;
}

static void take_place(struct look *look)
{
    const struct style_values *values = &look->values;
    unsigned position = word(values, STYLE_POSITION);
    if (position != STYLE_POSITION_STATIC) {
        bool has_left = is_kind(values, STYLE_LEFT, STYLE_LENGTH),
             has_top = is_kind(values, STYLE_TOP, STYLE_LENGTH);
        look->x += has_left ? pixels(values, STYLE_LEFT) : -pixels(values, STYLE_RIGHT);
        look->y += has_top ? pixels(values, STYLE_TOP) : -pixels(values, STYLE_BOTTOM);
    }
    look->x += pixels(values, STYLE_MARGIN_LEFT);
    look->y += pixels(values, STYLE_MARGIN_TOP);
    if (is_kind(values, STYLE_TRANSFORM, STYLE_PARTS)) {
        look->x += values->items[STYLE_TRANSFORM].parts[0];
        look->y += values->items[STYLE_TRANSFORM].parts[1];
        look->scale *= values->items[STYLE_TRANSFORM].parts[2];
    }
    look->scale *= number(values, STYLE_ZOOM, 1);
}

/* Of a box that shows nothing beyond its sides: is there no room? Before: the padding's sides. */
static bool is_flat(const struct style_values *values, enum style_property size,
                    enum style_property before)
{
    enum style_property most = size + 1, least = size + 2, behind = before + 2; /* in order */
    float room = pixels(values, before) + pixels(values, behind);
    for (enum style_property limit = size; limit <= most; limit++)
        if (is_kind(values, limit, STYLE_LENGTH) &&
            (size == STYLE_WIDTH || values->items[limit].parts[2] == 0) && /* percent of what? */
            fmaxf(pixels(values, limit), pixels(values, least)) + room <= BOX_PX_LEAST)
            return true;
    return false;
}

static bool is_cut_away(const struct style_values *values, const struct look *outer)
{
    const struct style_value *display = &values->items[STYLE_DISPLAY];
    unsigned around = word(&outer->values, STYLE_DISPLAY);
    bool is_placed = word(values, STYLE_POSITION) >= STYLE_POSITION_ABSOLUTE;
    bool is_inline = (display->kind == STYLE_INITIAL || display->word == STYLE_DISPLAY_INLINE) &&
                     !is_placed && word(values, STYLE_FLOAT) == 0 &&
                     !(around >= STYLE_DISPLAY_FLEX && around <= STYLE_DISPLAY_INLINE_GRID);
    if (word(values, STYLE_CLIP_PATH) == STYLE_HIDES ||
        (is_placed && word(values, STYLE_CLIP) == STYLE_HIDES))
        return true;
    if (is_inline || (word(values, STYLE_OVERFLOW_X) == STYLE_VISIBLE &&
                      word(values, STYLE_OVERFLOW_Y) == STYLE_VISIBLE))
        return false;
    return is_flat(values, STYLE_WIDTH, STYLE_PADDING_RIGHT) ||
           is_flat(values, STYLE_HEIGHT, STYLE_PADDING_TOP);
}

/* -- elements ---------------------------------------------------------------------------------- */
/* Colours before there were styles: <font color=white>, <td bgcolor=#fff>, <body text=...>. */
static void write_hints(const struct style_element *element, const char *name, char *out,
                        size_t size)
{
    static const struct
    {
        const char *element, *attribute, *property;
    } rows[] = {{"font", "color", "color"},
                {"body", "text", "color"},
                {NULL, "bgcolor", "background-color"}};
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < STYLE_COUNT_OF(rows); i++) {
        const char *value = rows[i].element != NULL && strcmp(rows[i].element, name) != 0
                                ? NULL
                                : style_element_attribute(element, rows[i].attribute);
        if (value != NULL && strlen(value) < 30 && strpbrk(value, ";(){}[]\"'\\/!") == NULL)
            len += (size_t)snprintf(out + len, size - len, "%s:%s;%s:#%s;", rows[i].property, value,
                                    rows[i].property, value);
    }
    if (style_element_attribute(element, "background") != NULL && strlen(name) <= 5)
        (void)snprintf(out + len, size - len, "background-image:url(x)");
}

struct visible *visible_create(struct style_sheets *sheets, unsigned depth_max)
{
    struct visible *visible = calloc(1, sizeof *visible);
    if (visible == NULL)
        return NULL;
    visible->sheets = sheets;
    visible->depth_max = depth_max;
    visible->looks = calloc(depth_max + 2, sizeof *visible->looks);
    if (visible->looks == NULL) {
        visible_destroy(visible);
        return NULL;
    }
    struct look *page = &visible->looks[0];
    for (int i = 0; i < STYLE_PROPERTY_COUNT; i++)
        page->values.items[i].kind = STYLE_INITIAL;
    page->opacity = page->scale = 1;
    page->ground = color(255, 255, 255, 1);
    return visible;
}

void visible_destroy(struct visible *visible)
{
    if (visible == NULL)
        return;
    while (visible->element != NULL)
        visible->element = style_element_close(visible->sheets, visible->element);
    free(visible->looks);
    free(visible);
}

enum visible_what visible_open(struct visible *visible, const char *name,
                               const char *const *attributes)
{
    const struct look *outer = &visible->looks[visible->depth];
    bool is_page = strcmp(name, "html") == 0 || strcmp(name, "body") == 0,
         is_first = visible->element == NULL;
    char hints[512];
    if (visible->depth > visible->depth_max)
        return VISIBLE_GONE;
    struct style_element *element =
        style_element_open(visible->sheets, visible->element, name, attributes);
    if (element == NULL)
        return VISIBLE_FAILED;
    visible->element = element;
    struct look *look = &visible->looks[visible->depth + 1];
    *look = *outer;
    write_hints(element, name, hints, sizeof hints);
    if (!style_sheets_ask(visible->sheets, element, hints, is_first ? NULL : &outer->values,
                          &look->values))
        return VISIBLE_FAILED;
    if (style_sheets_are_spent(visible->sheets))
        return VISIBLE_SPENT;
    struct style_values *values = &look->values;
    const char *id = style_element_attribute(element, "id");
    bool is_named = is_first || id != NULL || style_element_attribute(element, "class") != NULL;
    if (is_first && word(values, STYLE_COLOR_SCHEME) == STYLE_SCHEME_DARK)
        look->ground = style_of_word(STYLE_UNKNOWN);
    take_colors(look, is_named && style_sheets_are_linked(visible->sheets));
    take_place(look);
    look->opacity *=
        fminf(1, number(values, STYLE_OPACITY, 1)) *
        (is_kind(values, STYLE_FILTER, STYLE_PARTS) ? values->items[STYLE_FILTER].parts[0] : 1);
    bool is_none =
        is_kind(values, STYLE_DISPLAY, STYLE_WORD) && word(values, STYLE_DISPLAY) == STYLE_NONE;
    if (is_page) { /* a page that shows itself by a script is shown */
        look->opacity = 1;
        values->items[STYLE_VISIBILITY].kind = STYLE_INITIAL;
    } else if (is_none || is_cut_away(values, outer) || look->opacity < OPACITY_LEAST ||
               word(values, STYLE_CONTENT_VISIBILITY) == STYLE_HIDES) {
        visible->element = style_element_close(visible->sheets, element);
        return VISIBLE_GONE;
    }
    visible->depth++;
    return VISIBLE_SEEN;
}

void visible_close(struct visible *visible)
{
    if (visible->depth == 0)
        return;
    visible->element = style_element_close(visible->sheets, visible->element);
    visible->depth--;
}

/* -- asking ------------------------------------------------------------------------------------ */
static bool is_there(const struct look *look)
{
    float x = look->x, y = look->y;
    return word(&look->values, STYLE_VISIBILITY) == STYLE_VISIBLE && x > -OUTSIDE_PX &&
           x < BEYOND_PX && y > -OUTSIDE_PX && y < BEYOND_PX;
}

/* Does a text of this colour stand out from its ground? */
static bool is_ink(const struct look *look, struct style_value ink)
{
    if (!is_known(&ink))
        return true;
    ink.parts[3] *= look->opacity;
    if (ink.parts[3] < OPACITY_LEAST)
        return false;
    if (!is_known(&look->ground) || look->is_recolored)
        return true;
    struct style_value shown = over(ink, &look->ground);
    float most = 0;
    for (int i = 0; i < 3; i++)
        most = fmaxf(most, fabsf(shown.parts[i] - look->ground.parts[i]));
    return most >= COLOR_STEP_LEAST;
}

bool visible_is_text_seen(const struct visible *visible)
{
    const struct look *look = &visible->looks[visible->depth];
    const struct style_values *values = &look->values;
    float px = visible->depth == 0 ? 16 : values->items[STYLE_FONT_SIZE].parts[0];
    float left = look->x + pixels(values, STYLE_INDENT);
    if (!is_there(look) || px * look->scale < FONT_PX_LEAST || left <= -OUTSIDE_PX ||
        left >= BEYOND_PX || pixels(values, STYLE_LETTER_SPACING) <= SPACING_EM_LEAST * px)
        return false;
    return look->has_ink || word(values, STYLE_SHADOW) == STYLE_UNKNOWN ||
           word(values, STYLE_STROKE) == STYLE_UNKNOWN || is_ink(look, text_color(look));
}

bool visible_is_picture_seen(const struct visible *visible)
{
    return is_there(&visible->looks[visible->depth]);
}
