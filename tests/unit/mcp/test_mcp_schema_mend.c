/*
 * Aim: whatever schema a server of a stranger lists, the request that all chats share is taken.
 * Method: the refusals that were reported, one by one; then schemas by chance, valid ones and
 * broken ones, against the rules that providers publish, written here a second time.
 */
#include "runtime/mcp/schema_mend.h"
#include "support/check.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* -- the providers ----------------------------------------------------------------------------- */
/* Why a provider refuses it; NULL: it does not. */
static const char *refusal_of_node(const json_t *root, const json_t *node)
{
    static const char *const numbers[] = {"maximum",  "minimum",          "maxLength",
                                          "minItems", "exclusiveMinimum", "multipleOf"};
    static const char *const lists[] = {"anyOf", "oneOf", "allOf", "enum", "required"};
    const char *key, *type = json_string_value(json_object_get(node, "type"));
    const json_t *value, *items = json_object_get(node, "items");
    if (!json_is_object(node))
        return "not an object";
    json_object_foreach((json_t *)node, key,
                        value) if (json_is_null(value)) return "a keyword is null";
    if (json_object_get(node, "type") != NULL && type == NULL)
        return "type is no word";
    if (type != NULL && strcmp(type, "array") == 0 && items == NULL)
        return "array schema missing items";
    if (items != NULL && !json_is_object(items))
        return "items is no schema";
    for (size_t i = 0; i < SMA_COUNT_OF(numbers); i++) {
        value = json_object_get(node, numbers[i]);
        if (value != NULL && (!json_is_number(value) || fabs(json_number_value(value)) > 9.1e15))
            return "int too big to convert";
    }
    for (size_t i = 0; i < SMA_COUNT_OF(lists); i++) {
        value = json_object_get(node, lists[i]);
        if (value != NULL && json_array_size(value) == 0)
            return "a list is empty, or none";
    }
    value = json_object_get(node, "properties");
    if (value != NULL && !json_is_object(value))
        return "properties is no object";
    json_object_foreach((json_t *)value, key,
                        items) if (strlen(key) > 64 || strlen(key) == 0 ||
                                   strpbrk(key, " $/:\"'") !=
                                       NULL) return "Property keys should match pattern";
    const json_t *name;
    size_t i;
    json_array_foreach(json_object_get(node, "required"), i,
                       name) if (!json_is_string(name) ||
                                 json_object_get(value, json_string_value(name)) ==
                                     NULL) return "required names what is not there";
    const char *ref = json_string_value(json_object_get(node, "$ref"));
    if (ref != NULL && (strncmp(ref, "#/$defs/", 8) != 0 ||
                        json_object_get(json_object_get(root, "$defs"), ref + 8) == NULL))
        return "a reference that leads nowhere";
    return NULL;
}

static const char *refusal(const json_t *root, const json_t *node, int depth)
{
    static const char *const maps[] = {"properties", "$defs"};
    static const char *const lists[] = {"anyOf", "oneOf", "allOf"};
    const char *why = refusal_of_node(root, node), *key;
    const json_t *child;
    size_t k;
    if (depth == 0 &&
        (json_object_get(node, "anyOf") != NULL || json_object_get(node, "oneOf") != NULL ||
         json_object_get(node, "allOf") != NULL))
        return "no alternatives at the top level";
    if (depth > 60)
        return NULL;
    for (size_t i = 0; why == NULL && i < SMA_COUNT_OF(maps); i++)
        json_object_foreach((json_t *)json_object_get(node, maps[i]), key, child) why =
            why != NULL ? why : refusal(root, child, depth + 1);
    for (size_t i = 0; why == NULL && i < SMA_COUNT_OF(lists); i++)
        json_array_foreach(json_object_get(node, lists[i]), k, child) why =
            why != NULL ? why : refusal(root, child, depth + 1);
    if (why == NULL && json_object_get(node, "items") != NULL)
        why = refusal(root, json_object_get(node, "items"), depth + 1);
    return why;
}

/* -- what was reported ------------------------------------------------------------------------- */
CASE(each_reported_refusal_is_mended)
{
    static const struct
    {
        const char *schema, *mended;
    } rows[] = {
        {"{\"type\":\"object\",\"properties\":{\"pages\":{\"type\":\"array\"}}}",
         "{\"type\":\"object\",\"properties\":{\"pages\":{\"type\":\"array\",\"items\":{}}}}"},
        {"{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":null}",
         "{\"type\":\"object\",\"properties\":{\"a\":{}}}"},
        {"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"maximum\":"
         "9223372036854775807,\"minimum\":1}}}",
         "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\",\"minimum\":1}}}"},
        {"{\"type\":\"object\",\"properties\":{\"n\":{\"type\":[\"string\",\"null\"]},\"m\":{"
         "\"type\":[\"string\",\"number\"]}}}",
         "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"string\"},\"m\":{\"anyOf\":[{"
         "\"type\":\"string\"},{\"type\":\"number\"}]}}}"},
        {"{\"type\":\"object\",\"properties\":{\"t\":{\"type\":\"array\",\"items\":[{\"type\":"
         "\"string\"}]},\"any\":true},\"required\":[\"any\",\"any\",\"gone\"]}",
         "{\"type\":\"object\",\"properties\":{\"t\":{\"type\":\"array\",\"items\":{}},\"any\":{}},"
         "\"required\":[\"any\"]}"},
        {"{\"type\":\"object\",\"properties\":{\"$top\":{\"type\":\"integer\"},\"q\":{}},"
         "\"required\":[\"$top\",\"q\"]}",
         "{\"type\":\"object\",\"properties\":{\"q\":{}},\"required\":[\"q\"],\"description\":\"("
         "left out, because their names are not taken: \\\"$top\\\")\"}"},
        {"{\"oneOf\":[{\"properties\":{\"content\":{\"type\":\"string\"},\"name\":{}},\"required\":"
         "[\"name\",\"content\"]},{\"properties\":{\"source_url\":{},\"name\":{}},\"required\":["
         "\"source_url\",\"name\"]}],\"description\":\"a page\"}",
         "{\"description\":\"a page (one of: {name, content} or {source_url, name})\",\"type\":"
         "\"object\",\"properties\":{\"content\":{\"type\":\"string\"},\"name\":{},\"source_url\":{"
         "}},\"required\":[\"name\"]}"},
        {"{\"$ref\":\"#/$defs/"
         "Args\",\"$defs\":{\"Args\":{\"type\":\"object\",\"properties\":{\"x\":"
         "{\"$ref\":\"#/$defs/X\"},\"y\":{\"$ref\":\"https://e.org/y\"}}},\"X\":{\"type\":"
         "\"string\"}}}",
         "{\"$defs\":{\"Args\":{\"type\":\"object\",\"properties\":{\"x\":{\"$ref\":\"#/$defs/X\"},"
         "\"y\":{}}},\"X\":{\"type\":\"string\"}},\"type\":\"object\",\"properties\":{\"x\":{"
         "\"$ref\":\"#/$defs/X\"},\"y\":{}}}"},
        {"{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"string\",\"pattern\":\"(?i)a\","
         "\"exclusiveMinimum\":true,\"enum\":[]}},\"additionalProperties\":false}",
         "{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"string\"}},"
         "\"additionalProperties\":false}"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        json_t *schema = json_loads(rows[i].schema, 0, NULL);
        CHECK(schema != NULL && refusal(schema, schema, 0) != NULL);
        CHECK(sma_schema_mend(schema));
        char *text = json_dumps(schema, JSON_COMPACT);
        CHECK_TEXT(rows[i].mended, text);
        CHECK_TEXT("", refusal(schema, schema, 0) == NULL ? "" : refusal(schema, schema, 0));
        free(text);
        json_decref(schema);
    }
}

/* What every provider takes is not touched: the cache of the provider knows it. */
CASE(a_good_schema_stays_byte_for_byte)
{
    static const char good[] =
        "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\"description\":\"d\","
        "\"enum\":[\"a\",\"b\"]},\"n\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":100},\"l\":{"
        "\"type\":\"array\",\"items\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}}},"
        "\"required\":[\"path\"],\"additionalProperties\":false}";
    json_t *schema = json_loads(good, 0, NULL);
    CHECK(sma_schema_mend(schema));
    char *text = json_dumps(schema, JSON_COMPACT);
    CHECK_TEXT(good, text);
    free(text);
    json_decref(schema);
}

/* -- by chance --------------------------------------------------------------------------------- */
static uint64_t chance = 1;
static unsigned roll(unsigned below)
{
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(chance >> 33) % below;
}

static json_t *any_value(void)
{
    static const char *const values[] = {"null",
                                         "true",
                                         "-1",
                                         "9223372036854775807",
                                         "1e300",
                                         "\"w\"",
                                         "[]",
                                         "{}",
                                         "[1]",
                                         "[null]",
                                         "\"object\"",
                                         "[\"a\",\"a\"]",
                                         "[true]",
                                         "0.5",
                                         "{\"type\":\"array\"}"};
    return json_loads(values[roll(SMA_COUNT_OF(values))], JSON_DECODE_ANY, NULL);
}

static json_t *any_schema(int depth)
{
    static const char *const words[] = {
        "type",        "items",       "required",   "maximum",
        "minimum",     "maxLength",   "enum",       "anyOf",
        "oneOf",       "allOf",       "not",        "$ref",
        "pattern",     "properties",  "$defs",      "additionalProperties",
        "const",       "prefixItems", "if",         "title",
        "description", "default",     "multipleOf", "exclusiveMinimum",
        "minItems",    "$schema",     "id",         "format",
        "x-own"};
    static const char *const names[] = {"a", "b", "$top", "with space", "ok_1", "", "a/b", "名"};
    static const char *const types[] = {"object", "array", "string", "integer", "any", "null"};
    json_t *schema = json_object();
    if (roll(3) > 0)
        json_object_set_new(schema, "type", json_string(types[roll(SMA_COUNT_OF(types))]));
    for (unsigned i = roll(6); i > 0; i--)
        json_object_set_new(schema, words[roll(SMA_COUNT_OF(words))], any_value());
    if (depth > 4)
        return schema;
    json_t *properties = json_object(), *list = json_array();
    for (unsigned i = roll(4); i > 0; i--)
        json_object_set_new(properties, names[roll(SMA_COUNT_OF(names))],
                            roll(5) == 0 ? any_value() : any_schema(depth + 1));
    for (unsigned i = roll(3); i > 0; i--)
        json_array_append_new(list, roll(5) == 0 ? any_value() : any_schema(depth + 1));
    if (roll(2) == 0)
        json_object_set(schema, roll(4) == 0 ? "$defs" : "properties", properties);
    if (roll(3) == 0)
        json_object_set(schema, words[7 + roll(3)], list);
    if (roll(4) == 0)
        json_object_set_new(schema, "items", any_schema(depth + 1));
    if (roll(4) == 0)
        json_object_set_new(schema, "$ref", json_string(roll(2) == 0 ? "#/$defs/a" : "x.json"));
    if (roll(4) == 0)
        json_object_set_new(schema, "required", json_pack("[s,s,n]", "a", "gone"));
    json_decref(properties);
    json_decref(list);
    return schema;
}

CASE(no_schema_is_refused)
{
    for (int i = 0; i < 20000; i++) {
        chance = (uint64_t)i;
        json_t *schema = any_schema(0);
        bool is_mended = sma_schema_mend(schema);
        const char *why = is_mended ? refusal(schema, schema, 0) : NULL;
        if (why != NULL) {
            char *text = json_dumps(schema, 0);
            fprintf(stderr, "seed %d: %s: %s\n", i, why, text);
            free(text);
        }
        CHECK(why == NULL && is_mended);
        json_decref(schema);
    }
}

CASES_MAIN
