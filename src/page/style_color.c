/* style_color.c — numbers and colours in values: see style_value.h. */
#include "page/style_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FONT_PX_USUAL 16

/* -- numbers ----------------------------------------------------------------------------------- */
#define ANGLES_FROM 17 /* in this list */
/* clang-format off */
static const struct unit { const char *name; unsigned part; double factor; } UNITS[] = {
    {"", 0, 1}, {"px", 0, 1}, {"em", 1, 1}, {"%", 2, 1}, {"rem", 3, 1}, {"pt", 0, 4.0 / 3},
    {"pc", 0, 16}, {"in", 0, 96}, {"cm", 0, 37.8}, {"mm", 0, 3.78}, {"q", 0, 0.945}, {"ex", 1, 0.5},
    {"ch", 1, 0.5}, {"lh", 1, 1.2}, {"vw", 0, 12.8}, {"vh", 0, 8}, {"dvh", 0, 8},
    {"deg", 0, 1}, {"rad", 0, 57.3}, {"turn", 0, 360},
};
/* clang-format on */

double style_plain(const struct style_quantity *quantity)
{
    const float *parts = quantity->parts;
    return parts[0] + (parts[1] + parts[3]) * FONT_PX_USUAL + parts[2] * STYLE_WIDTH_PX / 100;
}

double style_share(const struct style_quantity *quantity)
{
    return quantity->parts[2] != 0 ? quantity->parts[2] / 100 : quantity->parts[0];
}

bool style_read_quantity(struct css_text *in, const struct css_token *first,
                         struct style_quantity *ret)
{
    if (first->kind == CSS_FUNCTION && css_place(first, "calc min max clamp -webkit-calc") >= 0) {
        (void)css_inside(in, ")");
        *ret = (struct style_quantity){.measure = STYLE_OF_MATH};
        return true;
    }
    for (size_t i = 0; first->kind == CSS_NUMBER && i < STYLE_COUNT_OF(UNITS); i++)
        if (strcmp(UNITS[i].name, first->text) == 0) {
            *ret = (struct style_quantity){.measure = i == 0            ? STYLE_OF_NUMBER
                                                      : i < ANGLES_FROM ? STYLE_OF_LENGTH
                                                                        : STYLE_OF_OTHER};
            ret->parts[UNITS[i].part] = (float)(first->number * UNITS[i].factor);
            if (UNITS[i].part == 2 && first->number == 0)
                ret->parts[2] = 1e-9F; /* 0% is still a percentage */
            return true;
        }
    return false;
}

/* -- colours ----------------------------------------------------------------------------------- */
/* Source: CSS Color 4 §6; system colours as Chromium has them in a light scheme. */
static const char NAMES[] =
    " aliceblue:f0f8ff antiquewhite:faebd7 aqua:00ffff aquamarine:7fffd4 azure:f0ffff"
    " beige:f5f5dc bisque:ffe4c4 black:000000 blanchedalmond:ffebcd blue:0000ff"
    " blueviolet:8a2be2 brown:a52a2a burlywood:deb887 cadetblue:5f9ea0 chartreuse:7fff00"
    " chocolate:d2691e coral:ff7f50 cornflowerblue:6495ed cornsilk:fff8dc crimson:dc143c"
    " cyan:00ffff darkblue:00008b darkcyan:008b8b darkgoldenrod:b8860b darkgray:a9a9a9"
    " darkgreen:006400 darkgrey:a9a9a9 darkkhaki:bdb76b darkmagenta:8b008b darkolivegreen:556b2f"
    " darkorange:ff8c00 darkorchid:9932cc darkred:8b0000 darksalmon:e9967a darkseagreen:8fbc8f"
    " darkslateblue:483d8b darkslategray:2f4f4f darkslategrey:2f4f4f darkturquoise:00ced1"
    " darkviolet:9400d3 deeppink:ff1493 deepskyblue:00bfff dimgray:696969 dimgrey:696969"
    " dodgerblue:1e90ff firebrick:b22222 floralwhite:fffaf0 forestgreen:228b22 fuchsia:ff00ff"
    " gainsboro:dcdcdc ghostwhite:f8f8ff gold:ffd700 goldenrod:daa520 gray:808080 green:008000"
    " greenyellow:adff2f grey:808080 honeydew:f0fff0 hotpink:ff69b4 indianred:cd5c5c"
    " indigo:4b0082 ivory:fffff0 khaki:f0e68c lavender:e6e6fa lavenderblush:fff0f5"
    " lawngreen:7cfc00 lemonchiffon:fffacd lightblue:add8e6 lightcoral:f08080 lightcyan:e0ffff"
    " lightgoldenrodyellow:fafad2 lightgray:d3d3d3 lightgreen:90ee90 lightgrey:d3d3d3"
    " lightpink:ffb6c1 lightsalmon:ffa07a lightseagreen:20b2aa lightskyblue:87cefa"
    " lightslategray:778899 lightslategrey:778899 lightsteelblue:b0c4de lightyellow:ffffe0"
    " lime:00ff00 limegreen:32cd32 linen:faf0e6 magenta:ff00ff maroon:800000"
    " mediumaquamarine:66cdaa mediumblue:0000cd mediumorchid:ba55d3 mediumpurple:9370db"
    " mediumseagreen:3cb371 mediumslateblue:7b68ee mediumspringgreen:00fa9a"
    " mediumturquoise:48d1cc mediumvioletred:c71585 midnightblue:191970 mintcream:f5fffa"
    " mistyrose:ffe4e1 moccasin:ffe4b5 navajowhite:ffdead navy:000080 oldlace:fdf5e6"
    " olive:808000 olivedrab:6b8e23 orange:ffa500 orangered:ff4500 orchid:da70d6"
    " palegoldenrod:eee8aa palegreen:98fb98 paleturquoise:afeeee palevioletred:db7093"
    " papayawhip:ffefd5 peachpuff:ffdab9 peru:cd853f pink:ffc0cb plum:dda0dd powderblue:b0e0e6"
    " purple:800080 rebeccapurple:663399 red:ff0000 rosybrown:bc8f8f royalblue:4169e1"
    " saddlebrown:8b4513 salmon:fa8072 sandybrown:f4a460 seagreen:2e8b57 seashell:fff5ee"
    " sienna:a0522d silver:c0c0c0 skyblue:87ceeb slateblue:6a5acd slategray:708090"
    " slategrey:708090 snow:fffafa springgreen:00ff7f steelblue:4682b4 tan:d2b48c teal:008080"
    " thistle:d8bfd8 tomato:ff6347 turquoise:40e0d0 violet:ee82ee wheat:f5deb3 white:ffffff"
    " whitesmoke:f5f5f5 yellow:ffff00 yellowgreen:9acd32 canvas:ffffff canvastext:000000"
    " linktext:0000ee buttonface:efefef buttontext:000000 field:ffffff fieldtext:000000"
    " highlight:3367d1 highlighttext:ffffff mark:ffff00 marktext:000000 graytext:808080 ";

static struct style_value of_rgb(const double *parts)
{
    struct style_value color = {.kind = STYLE_COLOR_VALUE};
    for (int i = 0; i < 4; i++)
        color.parts[i] = (float)fmax(0, fmin(i == 3 ? 1 : 255, parts[i]));
    return color;
}

static bool read_hex(const char *text, size_t len, struct style_value *ret)
{
    size_t step = len > 4 ? 2 : 1;
    double parts[4] = {0, 0, 0, 255};
    if ((len != 3 && len != 4 && len != 6 && len != 8) || strspn(text, "0123456789abcdef") < len)
        return false;
    for (size_t i = 0; i < len / step; i++) {
        char digits[3] = {text[i * step], text[i * step + step - 1]};
        parts[i] = (double)strtoul(digits, NULL, 16);
    }
    parts[3] /= 255;
    *ret = of_rgb(parts);
    return true;
}

static bool find_name(const char *name, struct style_value *ret)
{
    char wanted[40];
    int len = snprintf(wanted, sizeof wanted, " %s:", name);
    const char *at = (size_t)len >= sizeof wanted ? NULL : strstr(NAMES, wanted);
    return at != NULL && read_hex(at + len, 6, ret);
}

/* Hue in degrees, the others of 1. Source: CSS Color 4 §7.1. */
static double of_hue(double hue, double saturation, double lightness, double offset)
{
    double k = fmod(offset + hue / 30, 12), a = saturation * fmin(lightness, 1 - lightness);
    k = k < 0 ? k + 12 : k;
    return 255 * (lightness - a * fmax(-1, fmin(fmin(k - 3, 9 - k), 1)));
}

static bool read_function(const struct css_token *name, struct css_text in, struct style_value *ret)
{
    static const char others[] = "hwb lab lch oklab oklch color color-mix light-dark";
    int function = css_place(name, "rgb rgba hsl hsla");
    double parts[4] = {0, 0, 0, 1};
    unsigned count = 0;
    bool is_unknown = css_place(name, others) >= 0, is_hue = function >= 2;
    *ret = style_of_word(STYLE_UNKNOWN);
    for (struct css_token token; !is_unknown && (token = css_next_solid(&in)).kind != CSS_END;) {
        struct style_quantity one = {0};
        if (token.kind == CSS_SIGN && (token.sign == ',' || (token.sign == '/' && count == 3)))
            continue;
        if (css_is_word(&token, "from"))
            return true;
        if (count == 4 || function < 0 ||
            (!css_is_word(&token, "none") && !style_read_quantity(&in, &token, &one)))
            return false;
        is_unknown = one.measure == STYLE_OF_MATH;
        parts[count] = count == 3 || one.parts[2] == 0 ? style_share(&one)
                                                       : one.parts[2] * (is_hue ? 1 : 2.55);
        count++;
    }
    if (is_unknown || count < 3)
        return is_unknown;
    if (is_hue) {
        double hue = parts[0], saturation = fmax(0, fmin(1, parts[1] / 100));
        double lightness = parts[2] / 100;
        parts[0] = of_hue(hue, saturation, lightness, 0);
        parts[1] = of_hue(hue, saturation, lightness, 8);
        parts[2] = of_hue(hue, saturation, lightness, 4);
    }
    *ret = of_rgb(parts);
    return true;
}

bool style_read_color(struct css_text *in, const struct css_token *first, struct style_value *ret)
{
    if (first->kind == CSS_HASH)
        return read_hex(first->text, first->len, ret);
    if (css_is_word(first, "transparent"))
        return read_hex("0000", 4, ret);
    if (css_is_word(first, "currentcolor")) {
        *ret = style_of_word(STYLE_CURRENT);
        return true;
    }
    if (first->kind != CSS_FUNCTION)
        return first->kind == CSS_WORD && find_name(first->text, ret);
    struct css_text rest = *in;
    if (!read_function(first, css_inside(&rest, ")"), ret))
        return false;
    *in = rest;
    return true;
}
