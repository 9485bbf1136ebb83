/* schema_check.c — see schema_check.h. */
#include "runtime/tools/schema_check.h"

#include "sma/text.h"

#include <jansson.h>
#include <math.h>

#define PATH_DEPTH_MAX 16     /* of what a message names */
#define SHOWN_BYTES_MAX 80    /* of a name, a value */
#define SHOWN_CHOICE_COUNT 12 /* of an enum */
#define POINTER_BYTES_MAX 256 /* of a $ref */

/* One step of the path from the arguments to a value. */
struct place
{
    const struct place *parent;
    const char *key; /* NULL: index */
    size_t index;
};

struct checking
{
    const json_t *root;
    struct sma_buf *why; /* NULL: not told, another form may fit */
    uint32_t step_count;
    uint32_t depth;
};

static bool check(struct checking *checking, const json_t *schema, const json_t *value,
                  const struct place *place);

/* -- what is wrong ----------------------------------------------------------------------------- */
static void put_text(struct sma_buf *buf, const char *text)
{
    struct sma_str shown = sma_str(text);
    bool is_long = shown.len > SHOWN_BYTES_MAX;
    shown.len = is_long ? sma_utf8_cut(shown, SHOWN_BYTES_MAX) : shown.len;
    sma_buf_put_str(buf, shown);
    if (is_long)
        sma_buf_put_text(buf, "...");
}

static void put_place(struct sma_buf *buf, const struct place *place)
{
    const struct place *path[PATH_DEPTH_MAX];
    size_t count = 0;
    for (const struct place *at = place; at != NULL && count < PATH_DEPTH_MAX; at = at->parent)
        path[count++] = at;
    if (count == 0)
        sma_buf_put_text(buf, "the arguments");
    for (size_t i = count; i > 0; i--) {
        const struct place *at = path[i - 1];
        if (at->key == NULL) {
            sma_buf_printf(buf, "[%zu]", at->index);
            continue;
        }
        if (i != count)
            sma_buf_put_char(buf, '.');
        put_text(buf, at->key);
    }
}

/* Begins the clause. NULL: nobody is told. */
static struct sma_buf *tell(struct checking *checking, const struct place *place)
{
    struct sma_buf *why = checking->why;
    if (why == NULL)
        return NULL;
    if (place != NULL)
        sma_buf_put_char(why, '"');
    put_place(why, place);
    if (place != NULL)
        sma_buf_put_char(why, '"');
    sma_buf_put_text(why, ": ");
    return why;
}

static bool fail(struct checking *checking, const struct place *place, const char *text)
{
    struct sma_buf *why = tell(checking, place);
    if (why != NULL)
        sma_buf_put_text(why, text);
    return false;
}

static bool fail_bound(struct checking *checking, const struct place *place, const char *words,
                       double bound)
{
    struct sma_buf *why = tell(checking, place);
    if (why != NULL)
        sma_buf_printf(why, "%s %.15g", words, bound);
    return false;
}

static const char *type_name(const json_t *value)
{
    static const char *const names[] = {
        [JSON_OBJECT] = "object",  [JSON_ARRAY] = "array", [JSON_STRING] = "string",
        [JSON_INTEGER] = "number", [JSON_REAL] = "number", [JSON_TRUE] = "boolean",
        [JSON_FALSE] = "boolean",  [JSON_NULL] = "null"};
    return names[json_typeof(value)];
}

/* -- words of a schema ------------------------------------------------------------------------- */
static bool is_type(const json_t *value, const char *name)
{
    if (strcmp(name, "integer") == 0)
        return json_is_integer(value) ||
               (json_is_real(value) && rint(json_real_value(value)) == json_real_value(value));
    for (size_t i = 0; i < 6; i++) {
        static const char *const known[] = {"object", "array",   "string",
                                            "number", "boolean", "null"};
        if (strcmp(name, known[i]) == 0)
            return strcmp(type_name(value), name) == 0;
    }
    return true; /* a word of another time */
}

static bool check_type(struct checking *checking, const json_t *type, const json_t *value,
                       const struct place *place)
{
    bool fits = !json_is_string(type) && json_array_size(type) == 0;
    size_t count = json_is_array(type) ? json_array_size(type) : json_is_string(type);
    for (size_t i = 0; i < count && !fits; i++) {
        const char *name = json_string_value(json_is_array(type) ? json_array_get(type, i) : type);
        fits = name == NULL || is_type(value, name);
    }
    if (fits)
        return true;
    struct sma_buf *why = tell(checking, place);
    if (why == NULL)
        return false;
    sma_buf_put_text(why, "expected ");
    for (size_t i = 0; i < count && i < SHOWN_CHOICE_COUNT; i++) {
        sma_buf_put_text(why, i == 0 ? "" : " or ");
        put_text(why, json_string_value(json_is_array(type) ? json_array_get(type, i) : type));
    }
    sma_buf_put_text(why, ", got ");
    sma_buf_put_text(why, type_name(value));
    return false;
}

static void put_value(struct sma_buf *buf, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    put_text(buf, text == NULL ? "?" : text);
    free(text);
}

/* 1 and 1.0 are one number. */
static bool is_same(const json_t *a, const json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b) != 0;
}

static bool check_choice(struct checking *checking, const json_t *schema, const json_t *value,
                         const struct place *place)
{
    const json_t *constant = json_object_get(schema, "const");
    const json_t *choices = json_object_get(schema, "enum");
    if (constant == NULL && !json_is_array(choices))
        return true;
    size_t count = constant != NULL ? 1 : json_array_size(choices);
    for (size_t i = 0; i < count; i++) {
        if (++checking->step_count > SMA_SCHEMA_STEP_COUNT_MAX)
            return true;
        if (is_same(constant != NULL ? constant : json_array_get(choices, i), value))
            return true;
    }
    struct sma_buf *why = tell(checking, place);
    if (why == NULL)
        return false;
    sma_buf_put_text(why, "expected ");
    for (size_t i = 0; i < count && i < SHOWN_CHOICE_COUNT; i++) {
        sma_buf_put_text(why, i == 0 ? "" : " or ");
        put_value(why, constant != NULL ? constant : json_array_get(choices, i));
    }
    if (count > SHOWN_CHOICE_COUNT)
        sma_buf_printf(why, " or %zu others", count - SHOWN_CHOICE_COUNT);
    sma_buf_put_text(why, ", got ");
    put_value(why, value);
    return false;
}

static bool get_bound(const json_t *schema, const char *word, double *ret_bound)
{
    const json_t *bound = json_object_get(schema, word);
    if (!json_is_number(bound))
        return false;
    *ret_bound = json_number_value(bound);
    return true;
}

static bool check_number(struct checking *checking, const json_t *schema, double number,
                         const struct place *place)
{
    double bound;
    if (get_bound(schema, "minimum", &bound) && number < bound)
        return fail_bound(checking, place, "must be at least", bound);
    if (get_bound(schema, "maximum", &bound) && number > bound)
        return fail_bound(checking, place, "must be at most", bound);
    if (get_bound(schema, "exclusiveMinimum", &bound) && number <= bound)
        return fail_bound(checking, place, "must be more than", bound);
    if (get_bound(schema, "exclusiveMaximum", &bound) && number >= bound)
        return fail_bound(checking, place, "must be less than", bound);
    return true;
}

static bool check_string(struct checking *checking, const json_t *schema, const json_t *value,
                         const struct place *place)
{
    double bound;
    size_t length = 0;
    const char *text = json_string_value(value);
    for (size_t i = 0; i < json_string_length(value); i++)
        length += ((unsigned char)text[i] & 0xC0) != 0x80;
    if (get_bound(schema, "minLength", &bound) && (double)length < bound)
        return fail_bound(checking, place, "characters must be at least", bound);
    if (get_bound(schema, "maxLength", &bound) && (double)length > bound)
        return fail_bound(checking, place, "characters must be at most", bound);
    return true;
}

static bool check_array(struct checking *checking, const json_t *schema, const json_t *value,
                        const struct place *place)
{
    double bound;
    const json_t *items = json_object_get(schema, "items"), *item;
    size_t i;
    if (get_bound(schema, "minItems", &bound) && (double)json_array_size(value) < bound)
        return fail_bound(checking, place, "elements must be at least", bound);
    if (get_bound(schema, "maxItems", &bound) && (double)json_array_size(value) > bound)
        return fail_bound(checking, place, "elements must be at most", bound);
    if (!json_is_object(items) && !json_is_boolean(items))
        return true;
    size_t from = json_array_size(json_object_get(schema, "prefixItems"));
    json_array_foreach(value, i, item)
    {
        if (i >= from && !check(checking, items, item, &(struct place){place, NULL, i}))
            return false;
    }
    return true;
}

static bool check_required(struct checking *checking, const json_t *schema, const json_t *value,
                           const struct place *place)
{
    const json_t *required = json_object_get(schema, "required"), *name;
    size_t i;
    if (!json_is_array(required))
        return true;
    json_array_foreach(required, i, name)
    {
        const char *key = json_string_value(name);
        if (++checking->step_count > SMA_SCHEMA_STEP_COUNT_MAX)
            return true;
        if (key != NULL && json_object_get(value, key) == NULL)
            return fail(checking, &(struct place){place, key, 0}, "is missing");
    }
    return true;
}

static bool check_object(struct checking *checking, const json_t *schema, const json_t *value,
                         const struct place *place)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    if (json_object_size(json_object_get(schema, "patternProperties")) > 0)
        others = NULL; /* which members those are is not known here */
    if (!check_required(checking, schema, value, place))
        return false;
    const char *key;
    json_t *member;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        const struct place at = {place, key, 0};
        const json_t *inner = json_object_get(properties, key);
        if (inner == NULL && json_is_false(others))
            return fail(checking, &at, "is not known to this tool");
        if (inner == NULL)
            inner = others;
        if (inner != NULL && !check(checking, inner, member, &at))
            return false;
    }
    return true;
}

/* -- schemas of schemas ------------------------------------------------------------------------ */
static bool fits_quietly(struct checking *checking, const json_t *schema, const json_t *value)
{
    struct sma_buf *why = checking->why;
    checking->why = NULL;
    bool fits = check(checking, schema, value, NULL);
    checking->why = why;
    return fits;
}

static bool check_forms(struct checking *checking, const json_t *schema, const json_t *value,
                        const struct place *place)
{
    static const char *const words[] = {"anyOf", "oneOf"};
    const json_t *form;
    size_t i;
    for (size_t k = 0; k < SMA_COUNT_OF(words); k++) {
        const json_t *forms = json_object_get(schema, words[k]);
        bool fits = json_array_size(forms) == 0;
        json_array_foreach(forms, i, form)
        {
            fits = fits || fits_quietly(checking, form, value);
        }
        if (fits)
            continue;
        if (json_array_size(forms) == 1) /* then it can be said exactly */
            return check(checking, json_array_get(forms, 0), value, place);
        struct sma_buf *why = tell(checking, place);
        if (why != NULL)
            sma_buf_printf(why, "fits none of the %zu forms that the schema allows",
                           json_array_size(forms));
        return false;
    }
    const json_t *all = json_object_get(schema, "allOf");
    json_array_foreach(all, i, form)
    {
        if (!check(checking, form, value, place))
            return false;
    }
    return true;
}

/* Writes one name of a JSON pointer, without ~0 and ~1. */
static const char *take_name(const char *at, char *name)
{
    size_t len = 0;
    for (; *at != '\0' && *at != '/'; at++) {
        char byte = *at;
        if (byte == '~' && (at[1] == '0' || at[1] == '1'))
            byte = *++at == '0' ? '~' : '/';
        name[len++] = byte;
    }
    name[len] = '\0';
    return at;
}

/* "#/$defs/name"; NULL: it leads elsewhere, or nowhere. */
static const json_t *follow(const json_t *root, const char *pointer)
{
    char name[POINTER_BYTES_MAX + 1];
    if (pointer[0] != '#' || strlen(pointer) > POINTER_BYTES_MAX)
        return NULL;
    const char *at = pointer + 1;
    while (*at == '/' && root != NULL) {
        at = take_name(at + 1, name);
        root = json_object_get(root, name); /* places in lists are not followed */
    }
    return *at == '\0' ? root : NULL;
}

static bool check_words(struct checking *checking, const json_t *schema, const json_t *value,
                        const struct place *place)
{
    const char *pointer = json_string_value(json_object_get(schema, "$ref"));
    const json_t *target = pointer == NULL ? NULL : follow(checking->root, pointer);
    if (target != NULL && !check(checking, target, value, place))
        return false;
    if (!check_type(checking, json_object_get(schema, "type"), value, place) ||
        !check_choice(checking, schema, value, place))
        return false;
    if (json_is_object(value) && !check_object(checking, schema, value, place))
        return false;
    if (json_is_array(value) && !check_array(checking, schema, value, place))
        return false;
    if (json_is_string(value) && !check_string(checking, schema, value, place))
        return false;
    if (json_is_number(value) && !check_number(checking, schema, json_number_value(value), place))
        return false;
    return check_forms(checking, schema, value, place);
}

static bool check(struct checking *checking, const json_t *schema, const json_t *value,
                  const struct place *place)
{
    if (json_is_false(schema))
        return fail(checking, place, "is not allowed");
    if (!json_is_object(schema) || checking->depth >= SMA_SCHEMA_DEPTH_MAX ||
        ++checking->step_count > SMA_SCHEMA_STEP_COUNT_MAX)
        return true;
    checking->depth++;
    bool fits = check_words(checking, schema, value, place);
    checking->depth--;
    return fits;
}

bool sma_schema_fits(const json_t *schema, const json_t *value, struct sma_buf *why)
{
    struct checking checking = {.root = schema, .why = why};
    return check(&checking, schema, value, NULL);
}
