/* style_sheet.c — sheets: see style_priv.h and style.h. */
#include "page/style_priv.h"

#include <stdlib.h>
#include <string.h>

bool style_grow(struct style_sheets *sheets, void **items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room == 0 ? 64 : *room * 2;
    void *larger = realloc(*items, more * size);
    sheets->has_failed = sheets->has_failed || larger == NULL;
    if (larger == NULL)
        return false;
    *items = larger;
    *room = more;
    return true;
}
const char *style_keep(struct style_sheets *sheets, const char *text, size_t len)
{
    char *copy = strndup(text, len);
    if (copy == NULL || !PUSH(sheets, &sheets->texts, copy)) {
        free(copy);
        sheets->has_failed = true;
        return NULL;
    }
    return copy;
}

/* -- conditions -------------------------------------------------------------------------------- */
enum is_met
{
    IS_UNKNOWN = -1,
    IS_NOT,
    IS_MET,
};

/* Of a screen as most people have one. Source: Media Queries 4. */
static const struct
{
    const char *name;
    double number;
    const char *word; /* which of its words it is, or NULL: it is compared */
} FEATURES[] = {{"width", STYLE_WIDTH_PX, NULL},
                {"height", STYLE_HEIGHT_PX, NULL},
                {"color", 8, NULL},
                {"orientation", 1, "landscape"},
                {"hover", 1, "hover"},
                {"prefers-color-scheme", 1, "light"},
                {"prefers-reduced-motion", 0, "no-preference"},
                {"scripting", 1, "enabled"}};

/* "(min-width: 40em)", "(width >= 40em)", "(color)", "(hover: hover)" */
static enum is_met ask_media(struct css_text in)
{
    struct css_token name = css_next_solid(&in), sign = css_next_solid(&in);
    bool is_least = strncmp(name.text, "min-", 4) == 0,
         is_most = strncmp(name.text, "max-", 4) == 0;
    bool is_below = is_most || is_sign(&sign, '<'), is_above = is_least || is_sign(&sign, '>');
    bool is_equal = !(is_sign(&sign, '<') || is_sign(&sign, '>'));
    const char *plain = name.text + (is_least || is_most ? 4 : 0);
    struct css_token value = css_next_solid(&in);
    if (is_sign(&value, '=')) {
        is_equal = true;
        value = css_next_solid(&in);
    }
    for (size_t i = 0; name.kind == CSS_WORD && i < STYLE_COUNT_OF(FEATURES); i++) {
        struct style_quantity quantity;
        double is = FEATURES[i].number;
        if (strcmp(FEATURES[i].name, plain) != 0)
            continue;
        if (sign.kind == CSS_END)
            return is != 0 ? IS_MET : IS_NOT;
        if (FEATURES[i].word != NULL)
            return css_is_word(&value, FEATURES[i].word) ? IS_MET : IS_NOT;
        if (!style_read_quantity(&in, &value, &quantity) || quantity.measure > STYLE_OF_LENGTH ||
            !css_is_end(in))
            return IS_UNKNOWN;
        double than = style_plain(&quantity);
        return (is_below && is < than) || (is_above && is > than) || (is_equal && is == than);
    }
    return IS_UNKNOWN;
}

/* "(display: grid)": what this reads browsers know; of others nothing is known. */
static enum is_met ask_supports(struct css_text in)
{
    struct css_token name = css_next_solid(&in), colon = css_next_solid(&in);
    struct style_values values;
    int row = name.kind == CSS_WORD && is_sign(&colon, ':') ? style_row_find(&name) : -1;
    return row >= 0 && style_row_parse(row, in, &values) != 0 ? IS_MET : IS_UNKNOWN;
}

static enum is_met join(bool is_or, enum is_met one, enum is_met other)
{
    enum is_met decides = is_or ? IS_MET : IS_NOT;
    return one == decides || other == decides         ? decides
           : one == IS_UNKNOWN || other == IS_UNKNOWN ? IS_UNKNOWN
                                                      : one;
}

static enum is_met ask(struct css_text in, bool is_media, unsigned depth)
{
    enum is_met result = IS_UNKNOWN;
    bool is_not = false, is_or = false, has_one = false;
    for (struct css_token token; (token = css_next_solid(&in)).kind != CSS_END;) {
        enum is_met one = IS_UNKNOWN;
        if (css_is_word(&token, "not") && !has_one) {
            is_not = !is_not;
            continue;
        }
        if (css_place(&token, "and or only") >= 0) {
            is_or = token.text[1] == 'r';
            continue;
        }
        if (is_sign(&token, '(')) {
            struct css_text inner = css_inside(&in, ")"), rest = inner;
            struct css_token first = css_next_solid(&rest);
            bool is_group = is_sign(&first, '(') || css_is_word(&first, "not");
            one = is_group   ? depth < NESTED_MAX ? ask(inner, is_media, depth + 1) : IS_UNKNOWN
                  : is_media ? ask_media(inner)
                             : ask_supports(inner);
        } else if (token.kind == CSS_FUNCTION) {
            (void)css_inside(&in, ")");
        } else if (token.kind == CSS_WORD && is_media) {
            one = css_place(&token, "all screen") >= 0;
        }
        result = has_one ? join(is_or, result, one) : one;
        has_one = true;
    }
    return result == IS_UNKNOWN || !is_not ? result : !result;
}

static bool is_media_met(struct css_text in)
{
    bool is_met = css_is_end(in);
    while (!is_met && !css_is_end(in))
        is_met = ask(css_inside(&in, ","), true, 0) == IS_MET;
    return is_met;
}

/* -- declarations and rules -------------------------------------------------------------------- */
/* Without "!important" at its end; was it there? */
static bool take_important(struct css_text *in)
{
    struct css_text rest = *in;
    for (;;) {
        const char *at = rest.at;
        struct css_token token = css_next_solid(&rest);
        struct css_text behind = rest;
        if (token.kind == CSS_END)
            return false;
        if (!is_sign(&token, '!') || (token = css_next_solid(&behind), !css_is_end(behind)) ||
            !css_is_word(&token, "important"))
            continue;
        in->end = at;
        return true;
    }
}

/* "name: value" */
static void read_declaration(struct style_sheets *sheets, struct css_text in,
                             struct said_list *list)
{
    struct css_token name = css_next_solid(&in), colon = css_next_solid(&in);
    struct style_values values;
    if (name.kind != CSS_WORD || !is_sign(&colon, ':'))
        return;
    struct said said = {.is_important = take_important(&in), .hash = name.exact};
    uint64_t targets = 0;
    said.text = in;
    if (name.text[0] == '-' && name.text[1] == '-') {
        said.property = STYLE_PROPERTY_COUNT;
        (void)PUSH(sheets, list, said);
        return;
    }
    int row = style_row_find(&name);
    said.row = (int16_t)row;
    targets = row < 0 ? 0 : style_row_parse(row, in, &values);
    for (uint64_t left = targets; left != 0 && !sheets->has_failed; left &= left - 1) {
        said.property = (uint8_t)__builtin_ctzll(left);
        said.value = values.items[said.property];
        (void)PUSH(sheets, list, said);
    }
}

void style_read_declarations(struct style_sheets *sheets, struct css_text in,
                             struct said_list *list)
{
    while (in.at < in.end && !sheets->is_spent && !sheets->has_failed) {
        read_declaration(sheets, css_until(&in, ";{"), list);
        if (in.at < in.end && *in.at++ == '{') /* a rule in a rule is not read */
            (void)css_inside(&in, "}");
        sheets->is_spent = list->count + STYLE_PROPERTY_COUNT > STYLE_SAID_COUNT_MAX;
    }
}

static void read_rule(struct style_sheets *sheets, struct css_text prelude, struct css_text body)
{
    uint32_t first = (uint32_t)sheets->said.count, order = (uint32_t)sheets->rules.count;
    uint32_t at = style_read_list(sheets, prelude, 0);
    if (at != NO_LIST)
        style_read_declarations(sheets, body, &sheets->said);
    for (; at != NO_LIST; at = sheets->selectors.items[at].next) {
        const struct selector *selector = &sheets->selectors.items[at];
        uint32_t *bucket = &sheets->buckets[selector->key % BUCKET_COUNT];
        struct rule rule = {.selector = at,
                            .next = *bucket,
                            .first = first,
                            .count = (uint32_t)sheets->said.count - first,
                            .order = order, /* of one list: the most specific decides */
                            .is_browser = sheets->is_browser};
        sheets->is_spent = sheets->is_spent || sheets->rules.count >= STYLE_RULE_COUNT_MAX;
        if (rule.count > 0 && !selector->is_unknown && !sheets->is_spent &&
            PUSH(sheets, &sheets->rules, rule))
            *bucket = (uint32_t)sheets->rules.count;
    }
}

/* "@name prelude {": is the block entered? The order of layers is that of the sheet. */
static bool enters(const struct css_token *name, struct css_text prelude)
{
    int which = css_place(name, "layer media supports");
    return which == 0 || (which == 1 && is_media_met(prelude)) ||
           (which == 2 && ask(prelude, false, 0) == IS_MET);
}

static void read_sheet(struct style_sheets *sheets, struct css_text in)
{
    unsigned depth = 0; /* of the blocks that were entered */
    while (!sheets->has_failed && !sheets->is_spent) {
        struct css_text rest = in;
        struct css_token token = css_next_solid(&rest);
        if (token.kind == CSS_END)
            return;
        if (is_sign(&token, '}') && depth > 0) {
            in = rest;
            depth--;
            continue;
        }
        bool is_at = token.kind == CSS_AT;
        if (is_at)
            in = rest;
        struct css_text prelude = css_until(&in, is_at ? "{;}" : depth > 0 ? "{}" : "{");
        if (is_at && strcmp(token.text, "import") == 0)
            sheets->is_linked = true;
        char stop = in.at < in.end ? *in.at : '\0';
        in.at += stop == ';' || stop == '{' || (stop == '}' && depth == 0);
        if (stop == '{' && is_at && enters(&token, prelude))
            depth++;
        else if (stop == '{' && is_at)
            (void)css_inside(&in, "}");
        else if (stop == '{')
            read_rule(sheets, prelude, css_inside(&in, "}"));
    }
}

bool style_is_media_met(const char *media)
{
    return media == NULL || is_media_met((struct css_text){media, media + strlen(media)});
}

bool style_sheets_add(struct style_sheets *sheets, const char *text, size_t len)
{
    size_t skipped = strspn(text, " \t\r\n\f");
    if (strncmp(text + skipped, "<!--", 4) == 0) /* from before there were styles */
        skipped += 4;
    const char *copy = style_keep(sheets, text + skipped, len - skipped);
    if (copy != NULL)
        read_sheet(sheets, (struct css_text){copy, copy + strlen(copy)});
    return !sheets->has_failed;
}

/* What browsers say before every page. Source: HTML, "Rendering". */
static const char BROWSER[] =
    "address,article,aside,blockquote,body,center,dd,details,dialog,dir,div,dl,dt,fieldset,"
    "figcaption,figure,footer,form,h1,h2,h3,h4,h5,h6,header,hgroup,hr,html,legend,li,listing,main,"
    "menu,nav,ol,optgroup,option,p,plaintext,pre,search,section,slot,summary,ul,xmp{display:block}"
    "area,base,basefont,datalist,link,meta,noembed,noframes,param,rp,script,style,template,"
    "[hidden],dialog:not([open]),[popover]{display:none}"
    "table{display:table}tr{display:table-row}td,th{display:table-cell}"
    "button,img,input,meter,progress,select,textarea{display:inline-block}"
    "h1{font-size:2em}small,sub,sup{font-size:smaller}rt{font-size:50%}"
    "a:link{color:linktext}mark{color:marktext;background-color:mark}";

struct style_sheets *style_sheets_create(bool is_quirky)
{
    struct style_sheets *sheets = calloc(1, sizeof *sheets);
    if (sheets == NULL)
        return NULL;
    sheets->is_quirky = is_quirky;
    sheets->root_px = 16;
    sheets->is_browser = true;
    if (!style_sheets_add(sheets, BROWSER, sizeof BROWSER - 1)) {
        style_sheets_destroy(sheets);
        return NULL;
    }
    sheets->is_browser = false;
    return sheets;
}

void style_sheets_destroy(struct style_sheets *sheets)
{
    if (sheets == NULL)
        return;
    for (size_t i = 0; i < sheets->texts.count; i++)
        free(sheets->texts.items[i]);
    free(sheets->texts.items);
    free(sheets->rules.items);
    free(sheets->selectors.items);
    free(sheets->tests.items);
    free(sheets->variables.items);
    free(sheets->said.items);
    free(sheets);
}

void style_sheets_set_linked(struct style_sheets *sheets)
{
    sheets->is_linked = true;
}

bool style_sheets_are_linked(const struct style_sheets *sheets)
{
    return sheets->is_linked;
}

bool style_sheets_are_spent(const struct style_sheets *sheets)
{
    return sheets->is_spent;
}
