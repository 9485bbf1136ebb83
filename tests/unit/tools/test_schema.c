/*
 * Aim: arguments that do not fit a stranger's schema are told exactly, those that fit pass, and no
 * schema, however made, takes long or deep.
 */
#include "runtime/tools/schema_check.h"
#include "support/check.h"

#include <jansson.h>

static bool fits(const char *schema, const char *value, struct sma_buf *why)
{
    json_t *form = json_loads(schema, JSON_DECODE_ANY, NULL);
    json_t *given = json_loads(value, JSON_DECODE_ANY, NULL);
    CHECK(form != NULL && given != NULL);
    sma_buf_init(why, 64 * 1024);
    bool is_fit = sma_schema_fits(form, given, why);
    CHECK(why->err == SMA_ERR_OK && is_fit == (why->len == 0));
    json_decref(form);
    json_decref(given);
    return is_fit;
}

#define OBJECT(members) "{\"type\":\"object\",\"properties\":{" members "}}"

CASE(wrong_arguments_are_told)
{
    static const struct
    {
        const char *schema, *value, *said; /* NULL: fits */
    } rows[] = {
        {"{}", "{\"a\":1}", NULL},
        {"true", "{}", NULL},
        {"false", "{}", "the arguments: is not allowed"},
        {"{\"type\":\"object\"}", "[]", "the arguments: expected object, got array"},
        {OBJECT("\"a\":{\"type\":\"string\"}"), "{\"a\":7}", "\"a\": expected string, got number"},
        {OBJECT("\"a\":{\"type\":[\"string\",\"null\"]}"), "{\"a\":null}", NULL},
        {OBJECT("\"a\":{\"type\":[\"string\",\"null\"]}"), "{\"a\":true}",
         "\"a\": expected string or null, got boolean"},
        {OBJECT("\"a\":{\"type\":\"integer\"}"), "{\"a\":7}", NULL},
        {OBJECT("\"a\":{\"type\":\"integer\"}"), "{\"a\":7.0}", NULL},
        {OBJECT("\"a\":{\"type\":\"integer\"}"), "{\"a\":7.5}",
         "\"a\": expected integer, got number"},
        {OBJECT("\"a\":{\"type\":\"number\"}"), "{\"a\":7.5}", NULL},
        {OBJECT("\"a\":{\"type\":\"wonder\"}"), "{\"a\":7.5}", NULL},
        {"{\"required\":[\"a\",\"b\"]}", "{\"a\":1}", "\"b\": is missing"},
        {"{\"required\":[\"a\",7]}", "{\"a\":1}", NULL},
        {OBJECT("\"a\":{\"enum\":[\"x\",\"y\",1]}"), "{\"a\":\"y\"}", NULL},
        {OBJECT("\"a\":{\"enum\":[\"x\",\"y\",1]}"), "{\"a\":1.0}", NULL},
        {OBJECT("\"a\":{\"enum\":[\"x\",\"y\",1]}"), "{\"a\":\"z\"}",
         "\"a\": expected \"x\" or \"y\" or 1, got \"z\""},
        {OBJECT("\"a\":{\"const\":\"x\"}"), "{\"a\":\"y\"}", "\"a\": expected \"x\", got \"y\""},
        {OBJECT("\"a\":{\"minimum\":1,\"maximum\":3}"), "{\"a\":0}", "\"a\": must be at least 1"},
        {OBJECT("\"a\":{\"minimum\":1,\"maximum\":3}"), "{\"a\":1}", NULL},
        {OBJECT("\"a\":{\"minimum\":1,\"maximum\":3}"), "{\"a\":3.5}", "\"a\": must be at most 3"},
        {OBJECT("\"a\":{\"exclusiveMinimum\":1}"), "{\"a\":1}", "\"a\": must be more than 1"},
        {OBJECT("\"a\":{\"exclusiveMaximum\":1}"), "{\"a\":1}", "\"a\": must be less than 1"},
        {OBJECT("\"a\":{\"exclusiveMinimum\":true}"), "{\"a\":1}", NULL},
        {OBJECT("\"a\":{\"minLength\":2,\"maxLength\":3}"), "{\"a\":\"\\u00e4\"}",
         "\"a\": characters must be at least 2"},
        {OBJECT("\"a\":{\"minLength\":2,\"maxLength\":3}"), "{\"a\":\"\\u00e4\\u00e4\\u00e4\"}",
         NULL},
        {OBJECT("\"a\":{\"minLength\":2,\"maxLength\":3}"), "{\"a\":\"abcd\"}",
         "\"a\": characters must be at most 3"},
        {OBJECT("\"a\":{\"type\":\"array\",\"items\":{\"type\":\"number\"},\"maxItems\":2}"),
         "{\"a\":[1,\"b\"]}", "\"a[1]\": expected number, got string"},
        {OBJECT("\"a\":{\"type\":\"array\",\"items\":{\"type\":\"number\"},\"maxItems\":2}"),
         "{\"a\":[1,2,3]}", "\"a\": elements must be at most 2"},
        {OBJECT("\"a\":{\"minItems\":1}"), "{\"a\":[]}", "\"a\": elements must be at least 1"},
        {"{\"properties\":{\"a\":{}},\"additionalProperties\":false}", "{\"a\":1,\"b\":2}",
         "\"b\": is not known to this tool"},
        {"{\"properties\":{\"a\":{}},\"additionalProperties\":{\"type\":\"string\"}}",
         "{\"a\":1,\"b\":2}", "\"b\": expected string, got number"},
        {"{\"patternProperties\":{\"^b\":{}},\"additionalProperties\":false}", "{\"b\":2}", NULL},
        {OBJECT("\"a\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}"), "{\"a\":null}",
         NULL},
        {OBJECT("\"a\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}"), "{\"a\":1}",
         "\"a\": fits none of the 2 forms that the schema allows"},
        {OBJECT("\"a\":{\"oneOf\":[{\"type\":\"string\"}]}"), "{\"a\":1}",
         "\"a\": expected string, got number"},
        {OBJECT("\"a\":{\"oneOf\":[{\"pattern\":\"x\"},{\"pattern\":\"y\"}]}"), "{\"a\":\"x\"}",
         NULL},
        {OBJECT("\"a\":{\"allOf\":[{\"type\":\"string\"},{\"minLength\":2}]}"), "{\"a\":\"x\"}",
         "\"a\": characters must be at least 2"},
        {"{\"$defs\":{\"p\":{\"type\":\"string\"}},"
         "\"properties\":{\"a\":{\"$ref\":\"#/$defs/p\"}}}",
         "{\"a\":1}", "\"a\": expected string, got number"},
        {"{\"$defs\":{\"p/q\":{\"type\":\"string\"}},"
         "\"properties\":{\"a\":{\"$ref\":\"#/$defs/p~1q\"}}}",
         "{\"a\":1}", "\"a\": expected string, got number"},
        {OBJECT("\"a\":{\"$ref\":\"https://example.org/x.json\"}"), "{\"a\":1}", NULL},
        {OBJECT("\"a\":{\"$ref\":\"#/nowhere\"}"), "{\"a\":1}", NULL},
        {OBJECT("\"a\":{\"$ref\":\"#\"}"), "{\"a\":1}", "\"a\": expected object, got number"},
        {OBJECT("\"a\":{\"pattern\":\"(a+)+$\"}"), "{\"a\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\"}",
         NULL},
        {OBJECT("\"o\":" OBJECT("\"l\":{\"items\":" OBJECT("\"x\":{\"type\":\"string\"}") "}")),
         "{\"o\":{\"l\":[{},{\"x\":1}]}}", "\"o.l[1].x\": expected string, got number"},
        {"{\"type\":7,\"enum\":7,\"required\":7,\"properties\":7,\"items\":7,\"anyOf\":7,"
         "\"minimum\":\"a\",\"$ref\":7}",
         "{\"a\":1}", NULL},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_buf why;
        bool is_fit = fits(rows[i].schema, rows[i].value, &why);
        const char *said = rows[i].said == NULL ? "" : rows[i].said;
        if (is_fit != (rows[i].said == NULL) ||
            !sma_str_is_equal(sma_buf_str(&why), sma_str(said))) {
            fprintf(stderr, "row %zu: \"%.*s\", wanted \"%s\"\n", i, (int)why.len, why.ptr, said);
            exit(1);
        }
        sma_buf_fini(&why);
    }
}

/* A schema that asks itself again and again, twice at every turn. */
CASE(bombs_do_not_go_off)
{
    static const char *const bombs[] = {
        "{\"$ref\":\"#\"}",
        "{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}],\"allOf\":[{\"$ref\":\"#\"}]}",
        "{\"$defs\":{\"a\":{\"anyOf\":[{\"$ref\":\"#/$defs/b\"},{\"$ref\":\"#/$defs/b\"}],"
        "\"type\":\"null\"},\"b\":{\"anyOf\":[{\"$ref\":\"#/$defs/a\"},{\"$ref\":\"#/$defs/a\"}],"
        "\"type\":\"null\"}},\"$ref\":\"#/$defs/a\"}",
        "{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"oneOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"},"
        "{\"$ref\":\"#\"}]}",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(bombs); i++) {
        struct sma_buf why;
        (void)fits(bombs[i], "{\"a\":{\"a\":{\"a\":{}}}}", &why);
        sma_buf_fini(&why);
    }
}

/* Many elements against many forms: the steps end, and what is beyond counts as fitting. */
CASE(steps_are_bounded)
{
    static const int counts[] = {SMA_SCHEMA_STEP_COUNT_MAX - 2, SMA_SCHEMA_STEP_COUNT_MAX - 1,
                                 SMA_SCHEMA_STEP_COUNT_MAX};
    for (size_t i = 0; i < SMA_COUNT_OF(counts); i++) {
        json_t *schema = json_loads("{\"items\":{\"type\":\"string\"}}", 0, NULL);
        json_t *list = json_array();
        for (int k = 1; k < counts[i]; k++)
            CHECK(json_array_append_new(list, json_string("a")) == 0);
        CHECK(json_array_append_new(list, json_integer(1)) == 0); /* the last one does not fit */
        struct sma_buf why;
        sma_buf_init(&why, 1000);
        /* one step for the list, one for each element */
        CHECK(sma_schema_fits(schema, list, &why) == (counts[i] + 1 > SMA_SCHEMA_STEP_COUNT_MAX));
        sma_buf_fini(&why);
        json_decref(schema);
        json_decref(list);
    }
}

CASE(depth_is_bounded)
{
    for (int depth = SMA_SCHEMA_DEPTH_MAX - 2; depth <= SMA_SCHEMA_DEPTH_MAX; depth++) {
        json_t *schema = json_pack("{ss}", "type", "string"), *value = json_integer(1);
        for (int i = 0; i < depth; i++) {
            schema = json_pack("{so}", "items", schema);
            value = json_pack("[o]", value);
        }
        struct sma_buf why;
        sma_buf_init(&why, 10000);
        CHECK(sma_schema_fits(schema, value, &why) == (depth + 1 > SMA_SCHEMA_DEPTH_MAX));
        CHECK(why.err == SMA_ERR_OK);
        sma_buf_fini(&why);
        json_decref(schema);
        json_decref(value);
    }
}

CASES_MAIN
