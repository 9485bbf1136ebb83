/* openapi.c — see openapi.h. */
#include "openapi.h"

#include "check.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 32

const json_t *openapi_document(void)
{
    static json_t *document;
    json_error_t error;
    if (document == NULL)
        document = json_load_file(SMA_SOURCE_DIR "/docs/openapi.json", 0, &error);
    if (document == NULL)
        fprintf(stderr, "docs/openapi.json:%d: %s\n", error.line, error.text);
    CHECK(document != NULL);
    return document;
}

SMA_PRINTF(2, 3)
static bool differs(char why[200], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, 200, format, args);
    va_end(args);
    return false;
}

static const json_t *resolve(const json_t *schema)
{
    const char *name = json_string_value(json_object_get(schema, "$ref"));
    static const char prefix[] = "#/components/schemas/";
    if (name == NULL)
        return schema;
    CHECK(strncmp(name, prefix, strlen(prefix)) == 0);
    const json_t *all =
        json_object_get(json_object_get(openapi_document(), "components"), "schemas");
    const json_t *found = json_object_get(all, name + strlen(prefix));
    CHECK(found != NULL);
    return found;
}

static bool has_type(const char *name, const json_t *value)
{
    return strcmp(name, "object") == 0    ? json_is_object(value)
           : strcmp(name, "array") == 0   ? json_is_array(value)
           : strcmp(name, "string") == 0  ? json_is_string(value)
           : strcmp(name, "integer") == 0 ? json_is_integer(value)
           : strcmp(name, "number") == 0  ? json_is_number(value)
           : strcmp(name, "boolean") == 0 ? json_is_boolean(value)
                                          : strcmp(name, "null") == 0 && json_is_null(value);
}

static bool fits_type(const json_t *type, const json_t *value)
{
    size_t i;
    const json_t *one;
    if (json_is_string(type))
        return has_type(json_string_value(type), value);
    json_array_foreach((json_t *)type, i,
                       one) if (has_type(json_string_value(one), value)) return true;
    return false;
}

static bool fits(const json_t *schema, const json_t *value, int depth, char why[200]);

static bool fits_object(const json_t *schema, const json_t *value, int depth, char why[200])
{
    const json_t *properties = json_object_get(schema, "properties"), *one;
    const char *name;
    size_t i;
    json_array_foreach(json_object_get(schema, "required"), i, one)
    {
        if (json_object_get(value, json_string_value(one)) == NULL)
            return differs(why, "member %s is missing", json_string_value(one));
    }
    json_object_foreach((json_t *)value, name, one)
    {
        const json_t *of = json_object_get(properties, name);
        char inner[200];
        if (of == NULL && json_is_false(json_object_get(schema, "additionalProperties")))
            return differs(why, "member %s is not described", name);
        if (of != NULL && !fits(of, one, depth + 1, inner))
            return differs(why, "%s: %.150s", name, inner);
    }
    return true;
}

static bool fits_array(const json_t *schema, const json_t *value, int depth, char why[200])
{
    const json_t *items = json_object_get(schema, "items"), *one;
    char inner[200];
    size_t i;
    json_array_foreach((json_t *)value, i, one)
    {
        if (items != NULL && !fits(items, one, depth + 1, inner))
            return differs(why, "[%zu]: %.150s", i, inner);
    }
    return true;
}

static bool fits_choice(const json_t *choices, const json_t *value, int depth, char why[200])
{
    unsigned count = 0;
    const json_t *one;
    size_t i;
    json_array_foreach((json_t *)choices, i, one) count += fits(one, value, depth + 1, why);
    return count == 1 || differs(why, "fits %u of the choices", count);
}

static bool is_among(const json_t *words, const json_t *value)
{
    const json_t *one;
    size_t i;
    json_array_foreach((json_t *)words, i, one) if (json_equal(one, value)) return true;
    return false;
}

static void check_keywords(const json_t *schema)
{
    static const char *const known[] = {
        "type",      "const",  "enum",       "properties", "required", "additionalProperties",
        "items",     "oneOf",  "$ref",       "minimum",    "maximum",  "maxItems",
        "maxLength", "format", "description"};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)schema, name, value)
    {
        bool is_known = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known |= strcmp(known[i], name) == 0;
        if (!is_known)
            fprintf(stderr, "docs/openapi.json: keyword %s is not read\n", name);
        CHECK(is_known);
    }
}

static bool fits(const json_t *given, const json_t *value, int depth, char why[200])
{
    const json_t *schema = resolve(given), *of;
    CHECK(depth < DEPTH_MAX);
    check_keywords(schema);
    if ((of = json_object_get(schema, "type")) != NULL && !fits_type(of, value))
        return differs(why, "is of another type");
    if ((of = json_object_get(schema, "const")) != NULL && !json_equal(of, value))
        return differs(why, "has another value");
    if ((of = json_object_get(schema, "enum")) != NULL && !is_among(of, value))
        return differs(why, "\"%.100s\" is none of the words", json_string_value(value));
    if ((of = json_object_get(schema, "oneOf")) != NULL && !fits_choice(of, value, depth, why))
        return false;
    if (json_is_object(value))
        return fits_object(schema, value, depth, why);
    return !json_is_array(value) || fits_array(schema, value, depth, why);
}

bool openapi_fits(const json_t *schema, const json_t *value, char why[200])
{
    return fits(schema, value, 0, why);
}

/* -- answers ----------------------------------------------------------------------------------- */
static bool fits_template(const char *pattern, const char *path)
{
    while (*pattern != '\0' && *path != '\0') {
        if (strcmp(pattern, "{file}") == 0)
            return true; /* all that follows, as "*file" in the table of routes */
        if (*pattern == '{') {
            pattern += strcspn(pattern, "}") + 1;
            size_t len = strcspn(path, "/");
            if (len == 0)
                return false;
            path += len;
        } else if (*pattern++ != *path++) {
            return false;
        }
    }
    return *pattern == '\0' && *path == '\0';
}

const char *openapi_path(const char *path)
{
    const char *pattern;
    json_t *value;
    json_object_foreach(json_object_get(openapi_document(), "paths"), pattern, value)
    {
        if (fits_template(pattern, path))
            return pattern;
    }
    return NULL;
}

static const json_t *find_operation(const char *request, const char **ret_pattern)
{
    char method[16] = "", path[512] = "";
    CHECK(sscanf(request, "%15s %511s", method, path) == 2);
    path[strcspn(path, "?")] = '\0';
    for (char *at = method; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
    *ret_pattern = openapi_path(path);
    return *ret_pattern == NULL
               ? NULL
               : json_object_get(
                     json_object_get(json_object_get(openapi_document(), "paths"), *ret_pattern),
                     strcmp(method, "head") == 0 ? "get" : method);
}

static const json_t *media_of(const json_t *content, const char *type)
{
    char media[64];
    snprintf(media, sizeof media, "%.*s", (int)strcspn(type, ";"), type);
    return json_object_get(content, media);
}

static bool fits_media(const json_t *media, const char *type, const char *body, char why[200])
{
    if (strncmp(type, "application/json", 16) != 0)
        return true;
    json_t *value = json_loads(body, JSON_DECODE_ANY, NULL);
    bool is_right = value != NULL ? openapi_fits(json_object_get(media, "schema"), value, why)
                                  : differs(why, "is no JSON");
    json_decref(value);
    return is_right;
}

bool openapi_describes(const char *request, int status, const char *type, const char *body,
                       char why[200])
{
    const char *pattern;
    char number[8];
    const json_t *operation = find_operation(request, &pattern), *response;
    snprintf(number, sizeof number, "%d", status);
    if (operation == NULL) /* not served: said with a status of its own */
        return status >= 400 || status == 204 || differs(why, "%s is not described", request);
    const json_t *responses = json_object_get(operation, "responses");
    response = json_object_get(responses, number);
    if (response == NULL && status < 400)
        return differs(why, "status %d is not described", status);
    if (response == NULL)
        response = json_object_get(responses, "default");
    const json_t *content = json_object_get(response, "content");
    if (content == NULL || type[0] == '\0')
        return body[0] == '\0' || strncmp(request, "HEAD", 4) == 0 ||
               differs(why, "there is a body, and none is described");
    const json_t *media = media_of(content, type);
    if (media == NULL)
        return differs(why, "%.60s is not described for %d", type, status);
    return strncmp(request, "HEAD", 4) == 0 || fits_media(media, type, body, why);
}
