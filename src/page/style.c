/* style.c — see style.h. */
#include "page/style_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- elements ---------------------------------------------------------------------------------- */
struct style_element *style_element_open(const struct style_sheets *sheets,
                                         struct style_element *parent, const char *name,
                                         const char *const *attributes)
{
    size_t len = 1, class_count = 0;
    const char *classes = "", *id = NULL;
    for (size_t i = 0; attributes != NULL && attributes[i] != NULL; i += 2) {
        const char *value = attributes[i + 1] == NULL ? "" : attributes[i + 1];
        len += strlen(attributes[i]) + strlen(value) + 2;
        classes = strcmp(attributes[i], "class") == 0 ? value : classes;
        id = strcmp(attributes[i], "id") == 0 ? value : id;
    }
    for (const char *at = classes; *at != '\0'; at += strcspn(at, " \t\r\n\f"), class_count++)
        at += strspn(at, " \t\r\n\f");
    struct style_element *element =
        malloc(sizeof *element + class_count * sizeof element->classes[0] + len);
    if (element == NULL)
        return NULL;
    *element =
        (struct style_element){.parent = parent, .name = css_hash(name, strlen(name), false)};
    element->id = id == NULL ? 0 : css_hash(id, strlen(id), !sheets->is_quirky);
    for (const char *at = classes; *at != '\0'; at += strcspn(at, " \t\r\n\f")) {
        at += strspn(at, " \t\r\n\f");
        element->classes[element->class_count++] =
            css_hash(at, strcspn(at, " \t\r\n\f"), !sheets->is_quirky);
    }
    char *out = element->attributes = (char *)&element->classes[class_count];
    for (size_t i = 0; attributes != NULL && attributes[i] != NULL; i += 2) {
        out = stpcpy(out, attributes[i]) + 1;
        out = stpcpy(out, attributes[i + 1] == NULL ? "" : attributes[i + 1]) + 1;
    }
    *out = '\0';
    if (parent == NULL)
        return element;
    element->place = ++parent->child_count;
    element->previous = parent->last_child;
    return element;
}

/* With its children, of which only those stand there that something may ask for. */
struct style_element *style_element_close(struct style_sheets *sheets,
                                          struct style_element *element)
{
    struct style_element *parent = element->parent;
    for (struct style_element *child = element->last_child, *previous; child != NULL;
         child = previous) {
        previous = child->previous;
        free(child);
        sheets->element_count--;
    }
    element->last_child = NULL;
    while (sheets->variables.count > 0 &&
           sheets->variables.items[sheets->variables.count - 1].element == element)
        sheets->variables.count--;
    if (parent == NULL || !sheets->has_siblings) {
        free(element);
        return parent;
    }
    parent->last_child = element;
    if (++sheets->element_count > STYLE_ELEMENT_COUNT_MAX)
        sheets->is_spent = true;
    return parent;
}

/* -- asking ------------------------------------------------------------------------------------ */
struct asking
{
    struct style_sheets *sheets;
    struct style_element *element;
    uint64_t weights[STYLE_PROPERTY_COUNT];
    struct said winners[STYLE_PROPERTY_COUNT];
};

static void take(struct asking *asking, const struct said *said, enum origin origin,
                 uint64_t weight)
{
    struct style_sheets *sheets = asking->sheets;
    sheets->step_count++;
    weight |= ORIGIN(origin) | (said->is_important ? IMPORTANT : 0);
    if (said->property == STYLE_PROPERTY_COUNT) {
        struct variable variable = {said->hash, asking->element, said->text, weight};
        (void)PUSH(sheets, &sheets->variables, variable);
        return;
    }
    if (weight < asking->weights[said->property])
        return;
    asking->weights[said->property] = weight;
    asking->winners[said->property] = *said;
}

static void ask_bucket(struct asking *asking, uint32_t key)
{
    struct style_sheets *sheets = asking->sheets;
    for (uint32_t at = sheets->buckets[key % BUCKET_COUNT]; at != 0 && !sheets->is_spent;) {
        const struct rule *rule = &sheets->rules.items[at - 1];
        const struct selector *selector = &sheets->selectors.items[rule->selector];
        at = rule->next;
        sheets->step_count++;
        if (selector->key != key || !style_fits(sheets, sheets->tests.items + selector->first,
                                                selector->count, asking->element))
            continue;
        uint64_t weight = (uint64_t)selector->specificity << ORDER_BITS | rule->order;
        for (uint32_t i = 0; i < rule->count; i++)
            take(asking, &sheets->said.items[rule->first + i],
                 rule->is_browser ? ORIGIN_BROWSER : ORIGIN_RULE, weight);
    }
}

static void ask_declarations(struct asking *asking, const char *text, enum origin origin)
{
    struct said_list list = {NULL};
    style_read_declarations(asking->sheets, (struct css_text){text, text + strlen(text)}, &list);
    for (size_t i = 0; i < list.count; i++)
        take(asking, &list.items[i], origin, i);
    free(list.items);
}

/* The text of a custom property at this element; NULL: it has none. */
static const struct css_text *find_variable(struct style_sheets *sheets, uint32_t name)
{
    const struct variable *found = NULL;
    for (size_t i = sheets->variables.count; i-- > 0; sheets->step_count++) {
        const struct variable *one = &sheets->variables.items[i];
        if (found != NULL && one->element != found->element)
            break;
        if (one->name == name && (found == NULL || one->weight > found->weight))
            found = one;
    }
    return found == NULL ? NULL : &found->text;
}

/* A value that is one var() as a whole is what that says; of others with a var() in them nothing is
   known, nor where a sheet in another file may say it. */
static struct style_value resolve(struct style_sheets *sheets, const struct said *said)
{
    struct css_text text = said->text;
    struct style_values values = {.items = {{0}}};
    struct style_value *ret = &values.items[said->property];
    for (int i = 0; i < REPLACED_MAX; i++) {
        struct css_text rest = text;
        struct css_token token = css_next_solid(&rest);
        if (token.kind != CSS_FUNCTION || strcmp(token.text, "var") != 0)
            break;
        struct css_text inner = css_inside(&rest, ")");
        struct css_token name = css_next_solid(&inner), comma = css_next_solid(&inner);
        const struct css_text *found = find_variable(sheets, name.exact);
        bool has_other = is_sign(&comma, ',');
        if (!css_is_end(rest) || (found == NULL && !has_other && sheets->is_linked))
            return style_of_word(STYLE_UNKNOWN);
        if (found == NULL && !has_other)
            return *ret;
        text = found != NULL ? *found : inner;
    }
    if (style_row_parse(said->row, text, &values) != 0 && ret->kind == STYLE_LATER)
        *ret = style_of_word(STYLE_UNKNOWN);
    return *ret;
}

static void work_out(struct asking *asking, const struct style_values *outer,
                     struct style_values *ret)
{
    struct style_sheets *sheets = asking->sheets;
    ret->said = 0;
    float outer_px = outer == NULL ? 16 : outer->items[STYLE_FONT_SIZE].parts[0];
    for (unsigned i = 0; i < STYLE_PROPERTY_COUNT; i++) {
        struct style_value value = asking->winners[i].value;
        if (value.kind == STYLE_LATER)
            value = resolve(sheets, &asking->winners[i]);
        bool is_same = i == STYLE_COLOR && value.kind == STYLE_WORD && value.word == STYLE_CURRENT;
        if (value.kind == STYLE_INHERIT || is_same ||
            (value.kind == STYLE_UNSET && i < STYLE_INHERITED_COUNT))
            value = outer == NULL ? (struct style_value){.kind = STYLE_INITIAL} : outer->items[i];
        if (value.kind == STYLE_UNSET)
            value.kind = STYLE_INITIAL;
        if (i == STYLE_FONT_SIZE && value.kind != STYLE_LENGTH)
            value = (struct style_value){.kind = STYLE_LENGTH, .parts = {16}};
        if (value.kind == STYLE_LENGTH) {
            float em = i == STYLE_FONT_SIZE ? outer_px : ret->items[STYLE_FONT_SIZE].parts[0];
            value.parts[0] += value.parts[1] * em + value.parts[3] * sheets->root_px;
            value.parts[1] = value.parts[3] = 0;
        }
        ret->items[i] = value;
        ret->said |= asking->weights[i] >= ORIGIN(ORIGIN_HINT) ? 1ull << i : 0;
    }
    if (outer == NULL)
        sheets->root_px = ret->items[STYLE_FONT_SIZE].parts[0];
    const struct style_value *display = &ret->items[STYLE_DISPLAY];
    for (unsigned i = STYLE_INHERITED_COUNT; i < STYLE_PROPERTY_COUNT; i++)
        if (i != STYLE_DISPLAY && display->kind == STYLE_WORD &&
            display->word == STYLE_DISPLAY_CONTENTS)
            ret->items[i] = (struct style_value){.kind = STYLE_INITIAL}; /* it has no box */
}

bool style_sheets_ask(struct style_sheets *sheets, struct style_element *element, const char *hints,
                      const struct style_values *outer, struct style_values *ret_values)
{
    struct asking asking = {.sheets = sheets, .element = element};
    const char *own = style_element_attribute(element, "style");
    uint32_t last = 0;
    ask_bucket(&asking, 0);
    ask_bucket(&asking, element->name);
    if (element->id != 0)
        ask_bucket(&asking, element->id);
    for (uint32_t i = 0; i < element->class_count; last = element->classes[i++])
        if (element->classes[i] != last)
            ask_bucket(&asking, element->classes[i]);
    ask_declarations(&asking, hints, ORIGIN_HINT);
    if (own != NULL)
        ask_declarations(&asking, own, ORIGIN_OWN);
    work_out(&asking, outer, ret_values);
    if (sheets->step_count > STYLE_STEP_COUNT_MAX)
        sheets->is_spent = true;
    return !sheets->has_failed;
}
