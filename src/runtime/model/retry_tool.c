/* retry_tool.c — which tool of the request a refusal is about: what a stranger's server offers must
 * not make every request fail. See retry.h.
 *
 * Providers say it by place ("tools.12.custom.input_schema", "tools[3].function.parameters",
 * "tools[0].function_declarations[5]", "['body', 'tools', 3]"), by name ("Invalid schema for
 * function 'x'"), or by a keyword or property of its schema alone. The request itself says which
 * tool that is.
 */
#include "retry_priv.h"

#include "runtime/model/target.h"
#include "sma/text.h"

#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define TOKEN_BYTES_MAX 64

static const json_t *spec_of(const json_t *tool)
{
    const json_t *inner = json_object_get(tool, "function"); /* Chat Completions */
    return inner == NULL ? tool : inner;
}

static const char *name_of(const json_t *tool)
{
    const char *name = json_string_value(json_object_get(spec_of(tool), "name"));
    return name == NULL ? "" : name;
}

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || byte == '-' || byte == '$';
}

/* -- by place ---------------------------------------------------------------------------------- */
/* The number behind a list's name and at least one sign of a path. */
static const json_t *find_place(const json_t *tools, const char *said)
{
    static const char *const lists[] = {"function_declarations", "tools"}; /* the innermost first */
    for (size_t i = 0; i < SMA_COUNT_OF(lists); i++)
        for (const char *at = said; (at = strstr(at, lists[i])) != NULL;) {
            at += strlen(lists[i]);
            size_t signs = strspn(at, ".[]/'\"\\, ");
            bool is_path = strcspn(at, ".[]/'\"\\") < signs && signs <= 5;
            if (!is_path || !isdigit((unsigned char)at[signs]))
                continue;
            const json_t *tool = json_array_get(tools, (size_t)strtoul(at + signs, NULL, 10));
            if (tool != NULL)
                return tool;
        }
    return NULL;
}

/* -- by name ----------------------------------------------------------------------------------- */
static bool says_name(const char *said, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = said; len > 0 && (at = strcasestr(at, name)) != NULL; at += len) {
        if ((at > said && is_name_byte(at[-1])) || is_name_byte(at[len]))
            continue;
        bool is_quoted = at > said && strchr("'\"`", at[-1]) != NULL;
        if (is_quoted || strpbrk(name, "_-") != NULL) /* else it may be a word of a sentence */
            return true;
    }
    return false;
}

static const json_t *find_name(const json_t *tools, const char *said)
{
    const json_t *found = NULL;
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);
        if (says_name(said, name_of(tool)) &&
            (found == NULL || strlen(name_of(tool)) > strlen(name_of(found))))
            found = tool;
    }
    return found;
}

/* -- by a word of its schema ------------------------------------------------------------------- */
/* The only tool whose schema has this key. */
static const json_t *only_with_key(const json_t *tools, char *const *schemas, const char *word)
{
    char key[TOKEN_BYTES_MAX + 4];
    const json_t *found = NULL;
    snprintf(key, sizeof key, "\"%s\":", word);
    for (size_t i = 0; i < json_array_size(tools); i++) {
        if (schemas[i] == NULL || strcasestr(schemas[i], key) == NULL)
            continue;
        if (found != NULL)
            return NULL;
        found = json_array_get(tools, i);
    }
    return found;
}

/* Words that are quoted, or pieces of a path. */
static const json_t *find_word(const json_t *tools, const char *said)
{
    size_t count = json_array_size(tools);
    char **schemas = calloc(count, sizeof *schemas);
    const json_t *found = NULL;
    for (size_t i = 0; schemas != NULL && i < count; i++) {
        const json_t *spec = spec_of(json_array_get(tools, i));
        const json_t *schema = json_object_get(spec, "parameters");
        schema = schema == NULL ? json_object_get(spec, "input_schema") : schema;
        schemas[i] = json_dumps(schema, JSON_COMPACT); /* NULL: of a tool without, too */
    }
    for (const char *at = said; schemas != NULL && found == NULL && *at != '\0';) {
        size_t len = 0;
        while (is_name_byte(at[len]))
            len++;
        bool is_marked = at > said && strchr("'\"`./[>", at[-1]) != NULL;
        if (len >= 3 && len <= TOKEN_BYTES_MAX && is_marked) {
            char word[TOKEN_BYTES_MAX + 1];
            snprintf(word, sizeof word, "%.*s", (int)len, at);
            found = only_with_key(tools, schemas, word);
        }
        at += len + (len == 0);
    }
    for (size_t i = 0; schemas != NULL && i < count; i++)
        free(schemas[i]);
    free(schemas);
    return found;
}

/* -- the answer -------------------------------------------------------------------------------- */
bool sma_retry_find_tool(const struct sma_failure *failure, char *ret_member, size_t size)
{
    /* Members of every tool, which can be left out of all (target.h); and how many there may be. */
    static const char others[] = "cache_control|strict|eager_input|too many tools|tool_choice|"
                                 "number of tools|tools: array|maximum number|"
                                 "\"body\",\"tools\"]|\"function\"]*required";
    const char *said = failure->error.said, *param = failure->error.param;
    if (failure->tools.len == 0 || sma_retry_has(said, others) ||
        !(sma_retry_has(said, "tool|function|schema") || strncmp(param, "tools", 5) == 0))
        return false;
    json_t *tools = json_loadb(failure->tools.ptr, failure->tools.len, 0, NULL); /* NULL: none */
    const json_t *tool = find_place(tools, param);
    tool = tool == NULL ? find_place(tools, said) : tool;
    tool = tool == NULL ? find_name(tools, said) : tool;
    if (tool == NULL && strstr(said, "schema") != NULL)
        tool = find_word(tools, said);
    size_t len = tool == NULL ? 0 : strlen(name_of(tool));
    bool is_found = len > 0 && sizeof SMA_REFUSES_TOOL + len <= size;
    if (is_found)
        snprintf(ret_member, size, SMA_REFUSES_TOOL "%s", name_of(tool));
    json_decref(tools);
    return is_found;
}
