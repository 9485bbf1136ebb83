/* style_select.c — selectors: see style_priv.h. */
#include "page/style_priv.h"

#include <stdlib.h>
#include <string.h>

/* -- selectors --------------------------------------------------------------------------------- */
struct reading
{
    struct style_sheets *sheets;
    unsigned depth; /* lists in lists */
    struct test tests[TEST_COUNT_MAX];
    unsigned count, specificity;
    uint32_t key;
    bool is_unknown;
};

static bool add_test(struct reading *reading, struct test test, unsigned specificity)
{
    if (reading->count == TEST_COUNT_MAX)
        return false;
    reading->tests[reading->count++] = test;
    reading->specificity += specificity;
    return true;
}

static bool read_attribute(struct reading *reading, struct css_text in)
{
    struct css_token name = css_next_solid(&in), token = css_next_solid(&in);
    struct test test = {.kind = TEST_ATTRIBUTE, .hash = name.hash};
    if (name.kind != CSS_WORD)
        return false;
    if (token.kind == CSS_END)
        return add_test(reading, test, 1u << 8);
    test.sign = token.kind == CSS_SIGN ? token.sign : '\0';
    if (test.sign != '=' && (test.sign == '\0' || strchr("^$*~|", test.sign) == NULL ||
                             (token = css_next(&in), !is_sign(&token, '='))))
        return false;
    struct css_token value = css_next_solid(&in), flag = css_next_solid(&in);
    if ((value.kind != CSS_WORD && value.kind != CSS_STRING) ||
        (flag.kind != CSS_END && css_place(&flag, "i s") < 0))
        return false;
    test.is_exact = !css_is_word(&flag, "i");
    if (value.len >= sizeof value.raw)
        test.kind = TEST_NEVER;
    test.text = style_keep(reading->sheets, value.raw, strlen(value.raw));
    return test.text != NULL && add_test(reading, test, 1u << 8);
}

/* What stands behind ":". What is valid, but not known while a page is read, makes the rule one of
   which nothing is known. */
static bool read_pseudo(struct reading *reading, struct css_text *in)
{
    static const char states[] = "hover focus focus-within focus-visible active visited target "
                                 "placeholder-shown before after first-line first-letter";
    static const char unknown[] =
        "has lang dir nth-last-child nth-of-type nth-last-of-type last-child only-child "
        "first-of-type last-of-type only-of-type empty enabled disabled checked required optional "
        "read-only read-write valid invalid open default indeterminate modal popover-open "
        "fullscreen autofill host state defined";
    static const char lists[] = "is where matches -webkit-any not";
    struct css_token token = css_next(in);
    struct test test = {.kind = TEST_NEVER};
    bool is_part = is_sign(&token, ':'); /* no element */
    unsigned specificity = 1u << 8;
    token = is_part ? css_next(in) : token;
    if (token.kind != CSS_WORD && token.kind != CSS_FUNCTION)
        return false;
    struct css_text inner = token.kind == CSS_FUNCTION ? css_inside(in, ")") : *in;
    int list = token.kind == CSS_FUNCTION ? css_place(&token, lists) : -1;
    if (is_part || css_place(&token, states) >= 0) {
        return add_test(reading, test, specificity);
    } else if (css_is_word(&token, "root")) {
        test.kind = TEST_ROOT;
    } else if (css_place(&token, "link any-link") >= 0) {
        test.kind = TEST_LINK;
    } else if (css_is_word(&token, "first-child")) {
        test = (struct test){.kind = TEST_PLACE, .hash = 1};
    } else if (token.kind == CSS_FUNCTION && strcmp(token.text, "nth-child") == 0) {
        struct css_token number = css_next_solid(&inner);
        test = (struct test){.kind = TEST_PLACE, .hash = (uint32_t)number.number};
        reading->is_unknown = number.kind != CSS_NUMBER || number.len > 0 || !css_is_end(inner);
    } else if (list >= 0 && reading->depth < NESTED_MAX) {
        struct style_sheets *sheets = reading->sheets;
        test.kind = list == 4 ? TEST_NOT_IN_LIST : TEST_IN_LIST;
        test.hash = style_read_list(sheets, inner, reading->depth + 1);
        if (test.hash == NO_LIST)
            return false;
        specificity = 0;
        for (uint32_t at = test.hash; at != NO_LIST; at = sheets->selectors.items[at].next) {
            const struct selector *one = &sheets->selectors.items[at];
            reading->is_unknown = reading->is_unknown || (list == 4 && one->is_unknown);
            if (list != 1 && one->specificity > specificity)
                specificity = one->specificity;
        }
    } else {
        reading->is_unknown = true;
        return list < 0 && css_place(&token, unknown) >= 0;
    }
    return add_test(reading, test, specificity);
}

static bool read_simple(struct reading *reading, const struct css_token *token, struct css_text *in)
{
    struct test test = {.kind = TEST_ALWAYS};
    bool is_quirky = reading->sheets->is_quirky;
    unsigned specificity = 0;
    if (token->kind == CSS_WORD) {
        test = (struct test){.kind = TEST_NAME, .hash = token->hash};
        specificity = 1;
    } else if (token->kind == CSS_HASH) {
        test = (struct test){.kind = TEST_ID, .hash = is_quirky ? token->hash : token->exact};
        specificity = 1u << 16;
    } else if (is_sign(token, '.')) {
        struct css_token name = css_next(in);
        if (name.kind != CSS_WORD)
            return false;
        test = (struct test){.kind = TEST_CLASS, .hash = is_quirky ? name.hash : name.exact};
        specificity = 1u << 8;
    } else if (is_sign(token, '[')) {
        return read_attribute(reading, css_inside(in, "]"));
    } else if (is_sign(token, ':')) {
        return read_pseudo(reading, in);
    } else if (!is_sign(token, '*')) {
        return false;
    }
    if (test.kind == TEST_ID || (test.kind == TEST_CLASS && reading->key == 0))
        reading->key = test.hash;
    return add_test(reading, test, specificity);
}

static bool add_between(struct reading *reading, char sign)
{
    static const char signs[] = " >+~";
    enum test_kind kind = (enum test_kind)(TEST_INSIDE + (strchr(signs, sign) - signs));
    reading->sheets->has_siblings = reading->sheets->has_siblings || kind >= TEST_NEXT;
    reading->key = 0;
    return add_test(reading, (struct test){.kind = (uint8_t)kind}, 0);
}

/* The selector of the element itself decides in which bucket it is looked for. */
static uint32_t key_of(const struct reading *reading)
{
    for (unsigned i = reading->count;
         reading->key == 0 && i-- > 0 && reading->tests[i].kind < TEST_INSIDE;)
        if (reading->tests[i].kind == TEST_NAME)
            return reading->tests[i].hash;
    return reading->key;
}

/* false: it is not valid */
static bool read_selector(struct reading *reading, struct css_text in)
{
    char between = '\0';
    for (struct css_token token = css_next_solid(&in); token.kind != CSS_END;
         token = css_next(&in)) {
        if (token.kind == CSS_BLANK) {
            between = between == '\0' ? ' ' : between;
            continue;
        }
        if (token.kind == CSS_SIGN && strchr(">+~", token.sign) != NULL) {
            if (reading->count == 0 || (between != '\0' && between != ' '))
                return false;
            between = token.sign;
            continue;
        }
        unsigned last = between != '\0' || reading->count == 0
                            ? TEST_INSIDE
                            : reading->tests[reading->count - 1].kind;
        if ((between != '\0' && !add_between(reading, between)) ||
            (token.kind == CSS_WORD && last < TEST_INSIDE) || /* ".a", a comment, and "b" */
            !read_simple(reading, &token, &in))
            return false;
        between = '\0';
    }
    return (between == '\0' || between == ' ') && (reading->count > 0 || reading->is_unknown);
}

uint32_t style_read_list(struct style_sheets *sheets, struct css_text in, unsigned depth)
{
    uint32_t first = NO_LIST;
    for (bool is_last = false; !is_last;) {
        struct reading reading = {.sheets = sheets, .depth = depth};
        struct css_text one = css_until(&in, ",");
        is_last = css_next(&in).kind == CSS_END;
        if (sheets->selectors.count >= STYLE_RULE_COUNT_MAX ||
            sheets->tests.count >= STYLE_SAID_COUNT_MAX)
            sheets->is_spent = true;
        if (sheets->is_spent || !read_selector(&reading, one))
            return NO_LIST;
        struct selector selector = {.first = (uint32_t)sheets->tests.count,
                                    .count = reading.count,
                                    .specificity = reading.specificity,
                                    .key = key_of(&reading),
                                    .next = first,
                                    .is_unknown = reading.is_unknown};
        for (unsigned i = 0; i < reading.count; i++)
            if (!PUSH(sheets, &sheets->tests, reading.tests[i]))
                return NO_LIST;
        first = (uint32_t)sheets->selectors.count;
        if (!PUSH(sheets, &sheets->selectors, selector))
            return NO_LIST;
    }
    return first;
}

/* -- does it fit? ------------------------------------------------------------------------------ */
const char *style_element_attribute(const struct style_element *element, const char *name)
{
    for (const char *at = element->attributes; *at != '\0';) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, name) == 0)
            return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

static bool has_value(const struct test *test, const char *value)
{
    int (*compare)(const char *, const char *, size_t) = test->is_exact ? strncmp : strncasecmp;
    size_t len = strlen(test->text), value_len = strlen(value);
    switch (test->sign) {
    case '=':
        return len == value_len && compare(value, test->text, len) == 0;
    case '^':
        return len > 0 && compare(value, test->text, len) == 0;
    case '$':
        return len > 0 && value_len >= len &&
               compare(value + value_len - len, test->text, len) == 0;
    case '*':
        return len > 0 &&
               (test->is_exact ? strstr(value, test->text) : strcasestr(value, test->text)) != NULL;
    case '|':
        return compare(value, test->text, len) == 0 && (value[len] == '\0' || value[len] == '-');
    default:
        for (size_t word; *value != '\0'; value += word + (value[word] != '\0')) {
            word = strcspn(value, " \t\r\n\f");
            if (word == len && len > 0 && compare(value, test->text, len) == 0)
                return true;
        }
        return false;
    }
}

static bool has_attribute(struct style_sheets *sheets, const struct test *test,
                          const struct style_element *element)
{
    for (const char *at = element->attributes; *at != '\0';) {
        size_t len = strlen(at);
        const char *value = at + len + 1;
        size_t value_len = strlen(value);
        sheets->step_count += 1 + (len + value_len) / 16;
        if (css_hash(at, len, false) == test->hash)
            return test->sign == '\0' || has_value(test, value);
        at = value + value_len + 1;
    }
    return false;
}

static bool fits_list(struct style_sheets *sheets, uint32_t list,
                      const struct style_element *element);

static bool fits_test(struct style_sheets *sheets, const struct test *test,
                      const struct style_element *element)
{
    switch (test->kind) {
    case TEST_ALWAYS:
        return true;
    case TEST_NAME:
        return element->name == test->hash;
    case TEST_ID:
        return element->id == test->hash;
    case TEST_CLASS:
        sheets->step_count += element->class_count / 4;
        for (uint32_t i = 0; i < element->class_count; i++)
            if (element->classes[i] == test->hash)
                return true;
        return false;
    case TEST_ATTRIBUTE:
        return has_attribute(sheets, test, element);
    case TEST_ROOT:
        return element->parent == NULL;
    case TEST_LINK:
        return element->name == css_hash("a", 1, false) &&
               style_element_attribute(element, "href") != NULL;
    case TEST_IN_LIST:
        return fits_list(sheets, test->hash, element);
    case TEST_NOT_IN_LIST:
        return !fits_list(sheets, test->hash, element);
    case TEST_PLACE:
        return element->place == test->hash;
    default:
        return false;
    }
}

/* Depth: as many as there are combinators in it. */
bool style_fits(struct style_sheets *sheets, const struct test *first, size_t count,
                const struct style_element *element)
{
    while (count > 0) {
        const struct test *test = &first[--count];
        if (++sheets->step_count > STYLE_STEP_COUNT_MAX) {
            sheets->is_spent = true;
            return false;
        }
        if (test->kind < TEST_INSIDE) {
            if (!fits_test(sheets, test, element))
                return false;
            continue;
        }
        bool is_above = test->kind <= TEST_CHILD;
        bool is_near = test->kind == TEST_CHILD || test->kind == TEST_NEXT;
        element = is_above ? element->parent : element->previous;
        for (; element != NULL && !is_near;
             element = is_above ? element->parent : element->previous)
            if (style_fits(sheets, first, count, element))
                return true;
        if (element == NULL)
            return false;
    }
    return true;
}

static bool fits_list(struct style_sheets *sheets, uint32_t list,
                      const struct style_element *element)
{
    for (; list != NO_LIST; list = sheets->selectors.items[list].next) {
        const struct selector *selector = &sheets->selectors.items[list];
        if (!selector->is_unknown &&
            style_fits(sheets, sheets->tests.items + selector->first, selector->count, element))
            return true;
    }
    return false;
}
