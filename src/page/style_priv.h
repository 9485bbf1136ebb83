/*
 * style_priv.h — what the parts of style.h share: style_select.c reads selectors and asks whether
 * they fit, style_sheet.c reads sheets, style.c asks them about an element.
 */
#ifndef SMA_PAGE_STYLE_PRIV_H
#define SMA_PAGE_STYLE_PRIV_H

#include "page/style.h"

#define BUCKET_COUNT 8192
#define TEST_COUNT_MAX 96 /* of one selector; one with more fits nothing */
#define NESTED_MAX 8      /* selectors in selectors, conditions in conditions */
#define REPLACED_MAX 64   /* variables in variables */
#define NO_LIST UINT32_MAX

#define IMPORTANT (1ull << 63)
#define ORIGIN(origin) ((uint64_t)(origin) << 60)
#define ORDER_BITS 26 /* below the 32 of the specificity */
/* clang-format off */
enum origin { ORIGIN_BROWSER, ORIGIN_HINT, ORIGIN_RULE, ORIGIN_OWN };
enum test_kind
{
    TEST_ALWAYS, TEST_NEVER, TEST_NAME, TEST_ID, TEST_CLASS, TEST_ATTRIBUTE, TEST_ROOT, TEST_LINK,
    TEST_IN_LIST, TEST_NOT_IN_LIST, TEST_PLACE,
    /* From here on: what stands between two elements' tests. */
    TEST_INSIDE, TEST_CHILD, TEST_NEXT, TEST_LATER,
};
/* clang-format on */
struct test
{
    uint8_t kind;
    char sign; /* of an attribute: "=", or that before it; '\0': it is there */
    bool is_exact;
    uint32_t hash; /* or the first selector of a list, or the place of :nth-child() */
    const char *text;
};
struct selector
{
    uint32_t first, count, specificity, key, next; /* next: of its list */
    bool is_unknown;
};
struct said
{
    uint8_t property; /* STYLE_PROPERTY_COUNT: a custom property, hash is its name */
    bool is_important;
    int16_t row;
    uint32_t hash;
    struct style_value value;
    struct css_text text;
};
struct said_list
{
    struct said *items;
    size_t count, room;
};
struct rule
{
    uint32_t selector, next, first, count, order; /* next: of its bucket; + 1, 0 = none */
    bool is_browser;
};
struct variable
{
    uint32_t name;
    const struct style_element *element;
    struct css_text text;
    uint64_t weight;
};
#define LIST(type)          \
    struct                  \
    {                       \
        type *items;        \
        size_t count, room; \
    }
struct style_sheets
{
    uint32_t buckets[BUCKET_COUNT];
    LIST(struct rule) rules;
    LIST(struct selector) selectors;
    LIST(struct test) tests;
    LIST(struct variable) variables;
    LIST(char *) texts;
    struct said_list said;
    size_t element_count;
    uint64_t step_count;
    float root_px;
    bool is_quirky, is_linked, is_spent, has_failed, has_siblings, is_browser;
};
struct style_element
{
    struct style_element *parent, *previous, *last_child;
    char *attributes; /* name, value, ... as texts behind each other; "" = the end */
    uint32_t name, id, place, child_count, class_count;
    uint32_t classes[];
};

#define PUSH(sheets, list, item)                                               \
    (style_grow(sheets, (void **)&(list)->items, (list)->count, &(list)->room, \
                sizeof *(list)->items) &&                                      \
     ((list)->items[(list)->count++] = (item), true))

bool style_grow(struct style_sheets *sheets, void **items, size_t count, size_t *room, size_t size);
/** A copy that lives as long as the sheets. NULL: out of memory */
const char *style_keep(struct style_sheets *sheets, const char *text, size_t len);

static inline bool is_sign(const struct css_token *token, char sign)
{
    return token->kind == CSS_SIGN && token->sign == sign;
}

/** Selectors with commas between. The first, or NO_LIST: one is not valid. */
uint32_t style_read_list(struct style_sheets *sheets, struct css_text in, unsigned depth);
bool style_fits(struct style_sheets *sheets, const struct test *first, size_t count,
                const struct style_element *element);
/** "name: value; ...": those that are valid, behind those that are in the list. */
void style_read_declarations(struct style_sheets *sheets, struct css_text in,
                             struct said_list *list);

#endif
