/* schema_mend.c — see schema_mend.h. */
#include "schema_mend.h"

#include "runtime/json/json_read.h"
#include "sma/buf.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#define NUMBER_MAX 9007199254740992.0 /* 2^53 */
#define KEY_BYTES_MAX 64
#define REF_HOP_COUNT_MAX 8
#define NOTE_BYTES_MAX 2000

enum shape
{
    DROP,   /* refused by some, said by few */
    NUMBER, /* finite and at most 2^53 */
    COUNT,  /* a whole one from 0 on */
    WORDS,
    PATTERN, /* without what only some dialects know */
    FLAG,
    LIST,    /* not empty */
    SCHEMA,  /* true and false become {} */
    SCHEMAS, /* a list of them, not empty */
    MAP,     /* an object of them */
    OPEN,    /* a flag or a schema */
};
static const struct keyword
{
    const char *name;
    enum shape shape;
} keywords[] = {
    {"$schema", DROP},
    {"$id", DROP},
    {"id", DROP},
    {"$anchor", DROP},
    {"$comment", DROP},
    {"$dynamicRef", DROP},
    {"$dynamicAnchor", DROP},
    {"$recursiveRef", DROP},
    {"$recursiveAnchor", DROP},
    {"$vocabulary", DROP},
    {"patternProperties", DROP},
    {"prefixItems", DROP},
    {"additionalItems", DROP},
    {"dependencies", DROP},
    {"dependentRequired", DROP},
    {"dependentSchemas", DROP},
    {"unevaluatedItems", DROP},
    {"unevaluatedProperties", DROP},
    {"propertyNames", DROP},
    {"contains", DROP},
    {"minContains", DROP},
    {"maxContains", DROP},
    {"if", DROP},
    {"then", DROP},
    {"else", DROP},
    {"not", DROP},
    {"maximum", NUMBER},
    {"minimum", NUMBER},
    {"exclusiveMaximum", NUMBER},
    {"exclusiveMinimum", NUMBER},
    {"multipleOf", NUMBER},
    {"maxLength", COUNT},
    {"minLength", COUNT},
    {"maxItems", COUNT},
    {"minItems", COUNT},
    {"maxProperties", COUNT},
    {"minProperties", COUNT},
    {"description", WORDS},
    {"title", WORDS},
    {"format", WORDS},
    {"$ref", WORDS},
    {"pattern", PATTERN},
    {"uniqueItems", FLAG},
    {"nullable", FLAG},
    {"readOnly", FLAG},
    {"writeOnly", FLAG},
    {"deprecated", FLAG},
    {"enum", LIST},
    {"examples", LIST},
    {"required", LIST},
    {"items", SCHEMA},
    {"additionalProperties", OPEN},
    {"anyOf", SCHEMAS},
    {"oneOf", SCHEMAS},
    {"allOf", SCHEMAS},
    {"properties", MAP},
    {"$defs", MAP},
    {"definitions", MAP},
};

/* -- one keyword ------------------------------------------------------------------------------- */
static bool is_plain_pattern(const char *pattern)
{
    return strstr(pattern, "(?") == NULL && strstr(pattern, "\\p") == NULL &&
           strstr(pattern, "\\P") == NULL && strstr(pattern, "[:") == NULL;
}

static bool fits(const json_t *value, enum shape shape)
{
    double number = json_number_value(value);
    switch (shape) {
    case DROP:
        return false;
    case NUMBER:
        return json_is_number(value) && isfinite(number) && fabs(number) <= NUMBER_MAX;
    case COUNT:
        return json_is_integer(value) && number >= 0 && number <= NUMBER_MAX;
    case WORDS:
        return json_is_string(value);
    case PATTERN:
        return json_is_string(value) && is_plain_pattern(json_string_value(value));
    case FLAG:
        return json_is_boolean(value);
    case LIST:
    case SCHEMAS:
        return json_array_size(value) > 0;
    case MAP:
        return json_is_object(value);
    case SCHEMA:
        return json_is_object(value) || json_is_boolean(value) || json_is_array(value);
    case OPEN:
        return json_is_boolean(value) || json_is_object(value);
    }
    return false;
}

static enum shape shape_of(const char *name, bool *ret_is_known)
{
    for (size_t i = 0; i < SMA_COUNT_OF(keywords); i++)
        if (strcmp(name, keywords[i].name) == 0) {
            *ret_is_known = true;
            return keywords[i].shape;
        }
    *ret_is_known = false;
    return DROP;
}

/* -- what belongs together --------------------------------------------------------------------- */
static bool is_type(const char *name)
{
    static const char *const types[] = {"object",  "array",   "string", "number",
                                        "integer", "boolean", "null"};
    for (size_t i = 0; name != NULL && i < SMA_COUNT_OF(types); i++)
        if (strcmp(name, types[i]) == 0)
            return true;
    return false;
}

/* One word, or no type at all: several types become alternatives. */
static void mend_type(json_t *node)
{
    json_t *type = json_object_get(node, "type"), *kept = json_array();
    for (size_t i = 0; i < json_array_size(type); i++) {
        const char *name = json_string_value(json_array_get(type, i));
        if (is_type(name) && strcmp(name, "null") != 0)
            (void)json_array_append_new(kept, json_pack("{s:s}", "type", name));
    }
    if (json_array_size(kept) == 1)
        (void)json_object_set(node, "type", json_object_get(json_array_get(kept, 0), "type"));
    else if (json_is_array(type) || !is_type(json_string_value(type)))
        (void)json_object_del(node, "type");
    if (json_array_size(kept) > 1 && json_object_get(node, "anyOf") == NULL)
        (void)json_object_set(node, "anyOf", kept);
    json_decref(kept);
}

static bool is_key(const char *key)
{
    size_t len = strlen(key);
    return len > 0 && len <= KEY_BYTES_MAX &&
           strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == len;
}

/* Names that a provider refuses are left out, and told; what is required must be there, once. */
static void mend_names(json_t *node, struct sma_buf *note)
{
    json_t *properties = json_object_get(node, "properties"), *value, *kept = json_array();
    const char *key;
    void *next;
    json_object_foreach_safe(properties, next, key, value)
    {
        if (is_key(key))
            continue;
        sma_buf_printf(note, "%s\"%.64s\"", note->len == 0 ? "" : ", ", key);
        (void)json_object_del(properties, key);
    }
    json_t *required = json_object_get(node, "required");
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        bool is_new = name != NULL && json_object_get(properties, name) != NULL;
        for (size_t k = 0; is_new && k < json_array_size(kept); k++)
            is_new = strcmp(name, json_string_value(json_array_get(kept, k))) != 0;
        if (is_new)
            (void)json_array_append(kept, json_array_get(required, i));
    }
    if (json_array_size(kept) > 0)
        (void)json_object_set(node, "required", kept);
    else
        (void)json_object_del(node, "required");
    json_decref(kept);
}

/* Only a definition that is there may be pointed at. */
static void mend_ref(const json_t *root, json_t *node)
{
    const char *ref = json_string_value(json_object_get(node, "$ref"));
    static const char *const places[] = {"$defs", "definitions"};
    bool is_there = false;
    for (size_t i = 0; ref != NULL && i < SMA_COUNT_OF(places); i++) {
        char prefix[20];
        size_t len = (size_t)snprintf(prefix, sizeof prefix, "#/%s/", places[i]);
        is_there |= strncmp(ref, prefix, len) == 0 &&
                    json_is_object(json_object_get(json_object_get(root, places[i]), ref + len));
    }
    if (!is_there)
        (void)json_object_del(node, "$ref");
}

static void mend_node(const json_t *root, json_t *node, struct sma_buf *note)
{
    json_t *value;
    const char *key;
    void *next;
    json_object_foreach_safe(node, next, key, value)
    {
        bool is_known, is_null = json_is_null(value);
        enum shape shape = shape_of(key, &is_known);
        if (is_null || (is_known && !fits(value, shape)))
            (void)json_object_del(node, key);
    }
    mend_type(node);
    mend_ref(root, node);
    const json_t *items = json_object_get(node, "items");
    const char *type = json_string_value(json_object_get(node, "type"));
    bool is_list = type != NULL && strcmp(type, "array") == 0;
    if (items != NULL ? !json_is_object(items) : is_list)
        (void)json_object_set_new(node, "items", json_object()); /* any: a tuple, true, nothing */
    mend_names(node, note);
}

/* -- the whole --------------------------------------------------------------------------------- */
static void push(struct sma_buf *stack, json_t *node)
{
    if (json_is_object(node))
        sma_buf_put(stack, (const char *)&node, sizeof(json_t *));
}

static void push_children(struct sma_buf *stack, json_t *node)
{
    for (size_t i = 0; i < SMA_COUNT_OF(keywords); i++) {
        json_t *value = json_object_get(node, keywords[i].name), *child;
        enum shape shape = keywords[i].shape;
        size_t index;
        const char *key;
        if (shape == SCHEMA || shape == OPEN)
            push(stack, value);
        if (shape == SCHEMAS)
            json_array_foreach(value, index, child)
            {
                if (!json_is_object(child))
                    (void)json_array_set_new(value, index, json_object());
                push(stack, json_array_get(value, index));
            }
        if (shape != MAP)
            continue;
        void *next;
        json_object_foreach_safe(value, next, key, child)
        {
            if (!json_is_object(child)) /* true, false, and what is no schema */
                (void)json_object_set_new(value, key, json_object());
            push(stack, json_object_get(value, key));
        }
    }
}

static bool mend_all(json_t *root, struct sma_buf *note)
{
    struct sma_buf stack;
    sma_buf_init(&stack, (SMA_SCHEMA_NODE_COUNT_MAX + 1) * sizeof root);
    push(&stack, root);
    size_t count = 0;
    while (stack.err == SMA_ERR_OK && stack.len > 0 && ++count <= SMA_SCHEMA_NODE_COUNT_MAX) {
        json_t *node;
        stack.len -= sizeof node;
        memcpy(&node, stack.ptr + stack.len, sizeof node);
        mend_node(root, node, note);
        push_children(&stack, node);
    }
    bool is_whole = stack.err == SMA_ERR_OK && stack.len == 0;
    sma_buf_fini(&stack);
    return is_whole;
}

/* A root that points at one of its definitions is that definition. */
static void follow_ref(json_t *root)
{
    for (int i = 0; i < REF_HOP_COUNT_MAX; i++) {
        const char *ref = json_string_value(json_object_get(root, "$ref"));
        const char *slash = ref == NULL ? NULL : strrchr(ref, '/');
        static const char *const places[] = {"$defs", "definitions"};
        json_t *target = NULL;
        for (size_t k = 0; slash != NULL && target == NULL && k < SMA_COUNT_OF(places); k++)
            target = json_deep_copy(json_object_get(json_object_get(root, places[k]), slash + 1));
        (void)json_object_del(root, "$ref");
        if (target == NULL)
            return;
        (void)json_object_update(root, target);
        json_decref(target);
    }
    (void)json_object_del(root, "$ref"); /* a circle */
}

/* The branches of a root, in its own properties: providers take an object alone there. Of
 * alternatives that is required which all require. */
static void fold(json_t *root, const char *word, struct sma_buf *note)
{
    json_t *branches = json_incref(json_object_get(root, word)), *branch, *common = NULL, *child;
    bool is_all = strcmp(word, "allOf") == 0;
    size_t index;
    const char *key;
    (void)json_object_del(root, word);
    json_t *properties = json_object_get(root, "properties");
    json_array_foreach(branches, index, branch)
    {
        follow_ref(branch);
        json_t *required = json_object_get(branch, "required");
        json_object_foreach(json_object_get(branch, "properties"), key,
                            child) if (json_object_get(properties, key) == NULL)(void)
            json_object_set_new(properties, key, json_deep_copy(child));
        size_t i;
        if (json_array_size(required) > 0)
            sma_buf_put_text(note, note->len > 0 ? " or {" : is_all ? "all of: {" : "one of: {");
        json_array_foreach(required, i, child)
            sma_buf_printf(note, "%s%.64s", i == 0 ? "" : ", ", json_string_value(child));
        sma_buf_put_text(note, json_array_size(required) > 0 ? "}" : "");
        json_t *kept = json_array(), *name;
        json_array_foreach(is_all || common == NULL ? required : common, i, name)
        {
            bool is_common = is_all || common == NULL;
            size_t k;
            json_t *other;
            json_array_foreach(required, k, other) is_common |= json_equal(name, other) != 0;
            if (is_common)
                (void)json_array_append(kept, name);
        }
        if (is_all && common != NULL)
            (void)json_array_extend(kept, common);
        json_decref(common);
        common = kept;
    }
    json_t *own = json_object_get(root, "required");
    if (json_is_array(own))
        (void)json_array_extend(own, common);
    else if (json_array_size(common) > 0)
        (void)json_object_set(root, "required", common);
    json_decref(common);
    json_decref(branches);
}

static void tell(json_t *root, const char *before, const struct sma_buf *note)
{
    struct sma_buf text;
    if (note->len == 0)
        return;
    sma_buf_init(&text, 64 * 1024);
    sma_buf_put_str(&text, sma_json_str(root, "description"));
    sma_buf_printf(&text, "%s(%s", text.len > 0 ? " " : "", before);
    sma_buf_put_str(&text, sma_buf_str(note));
    sma_buf_put_text(&text, note->err == SMA_ERR_OK ? ")" : " ...)");
    if (text.err == SMA_ERR_OK)
        (void)json_object_set_new(root, "description", json_stringn(text.ptr, text.len));
    sma_buf_fini(&text);
}

bool sma_schema_mend(json_t *schema)
{
    static const char *const words[] = {"oneOf", "anyOf", "allOf"};
    struct sma_buf choices, left;
    sma_buf_init(&choices, NOTE_BYTES_MAX);
    sma_buf_init(&left, NOTE_BYTES_MAX);
    follow_ref(schema);
    (void)json_object_set_new(schema, "type", json_string("object"));
    if (!json_is_object(json_object_get(schema, "properties")))
        (void)json_object_set_new(schema, "properties", json_object());
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++)
        if (json_array_size(json_object_get(schema, words[i])) > 0)
            fold(schema, words[i], &choices);
        else
            (void)json_object_del(schema, words[i]);
    (void)json_object_del(schema, "enum");
    (void)json_object_del(schema, "const");
    bool is_whole = mend_all(schema, &left);
    tell(schema, "", &choices);
    tell(schema, "left out, because their names are not taken: ", &left);
    sma_buf_fini(&choices);
    sma_buf_fini(&left);
    return is_whole;
}
