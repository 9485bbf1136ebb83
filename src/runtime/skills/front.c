/* front.c — see front.h. */
#include "runtime/skills/front.h"

#include "sma/limits.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <yaml.h>

/* -- where it stands --------------------------------------------------------------------------- */
static struct sma_str take_line(struct sma_str *text)
{
    const char *end = text->len == 0 ? NULL : memchr(text->ptr, '\n', text->len);
    size_t len = end == NULL ? text->len : (size_t)(end - text->ptr);
    struct sma_str line = {text->ptr, len};
    text->ptr += end == NULL ? len : len + 1;
    text->len -= end == NULL ? len : len + 1;
    return line;
}

static bool is_line(struct sma_str line, const char *wanted)
{
    size_t len = strlen(wanted);
    if (line.len < len || memcmp(line.ptr, wanted, len) != 0)
        return false;
    return sma_str_trim((struct sma_str){line.ptr + len, line.len - len}).len == 0;
}

/* @return OK, an empty slice when there is none | BADINPUT: it has no end, or is too long */
static enum sma_err find_front(struct sma_str text, struct sma_str *ret_front,
                               struct sma_error *error)
{
    *ret_front = (struct sma_str){"", 0};
    if (text.len >= 3 && memcmp(text.ptr, "\xef\xbb\xbf", 3) == 0)
        text = (struct sma_str){text.ptr + 3, text.len - 3};
    if (text.len == 0 || !is_line(take_line(&text), "---"))
        return SMA_ERR_OK;
    const char *begin = text.ptr;
    while (text.len > 0) {
        const char *at = text.ptr;
        struct sma_str line = take_line(&text);
        if (!is_line(line, "---") && !is_line(line, "..."))
            continue;
        if ((size_t)(at - begin) > SMA_SKILL_FRONT_BYTES_MAX)
            return sma_fail(error, SMA_ERR_BADINPUT, "its front matter has more than %d bytes",
                            SMA_SKILL_FRONT_BYTES_MAX);
        *ret_front = (struct sma_str){begin, (size_t)(at - begin)};
        return SMA_ERR_OK;
    }
    return sma_fail(error, SMA_ERR_BADINPUT,
                    "its front matter has no end: expected a line \"---\"");
}

/* -- from events to JSON ----------------------------------------------------------------------- */
struct builder
{
    yaml_parser_t parser;
    json_t *open[SMA_SKILL_FRONT_DEPTH_MAX]; /* borrowed, but open[0], which is root */
    char *keys[SMA_SKILL_FRONT_DEPTH_MAX];   /* of an object: the key whose value comes next */
    size_t depth, value_count;
    json_t *root;
    bool is_over;
    struct sma_error *error;
};

static enum sma_err refuse(const struct builder *builder, const yaml_event_t *event,
                           const char *reason)
{
    return sma_fail(builder->error, SMA_ERR_BADINPUT, "its front matter, line %zu: %s",
                    event->start_mark.line + 2, reason);
}

static bool is_number(const char *text, size_t len)
{
    size_t from = text[0] == '-' ? 1 : 0;
    if (len == from || len > 15 + from)
        return false;
    for (size_t i = from; i < len; i++)
        if (text[i] < '0' || text[i] > '9')
            return false;
    return len == from + 1 || text[from] != '0';
}

/* Quoted: a text. Else what the core schema of YAML makes of it, without broken numbers. */
static json_t *make_scalar(const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
        if (len == 0 || strcmp(text, "~") == 0 || strcmp(text, "null") == 0)
            return json_null();
        if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
            return json_boolean(text[0] == 't');
        if (is_number(text, len))
            return json_integer(strtoll(text, NULL, 10));
    }
    return json_stringn(text, len);
}

/* Takes value. */
static enum sma_err add(struct builder *builder, const yaml_event_t *event, json_t *value)
{
    if (value == NULL)
        return SMA_ERR_NOMEM;
    enum sma_err err = SMA_ERR_OK;
    if (++builder->value_count > SMA_SKILL_FRONT_NODE_COUNT_MAX) {
        json_decref(value);
        return refuse(builder, event, "it holds too many values");
    }
    if (builder->depth == 0) {
        json_decref(builder->root);
        builder->root = value;
        return SMA_ERR_OK;
    }
    json_t *parent = builder->open[builder->depth - 1];
    char **key = &builder->keys[builder->depth - 1];
    if (json_is_array(parent))
        err = json_array_append_new(parent, value) == 0 ? SMA_ERR_OK : SMA_ERR_NOMEM;
    else
        err = json_object_set_new(parent, *key, value) == 0 ? SMA_ERR_OK : SMA_ERR_NOMEM;
    free(*key);
    *key = NULL;
    return err;
}

static bool wants_key(const struct builder *builder)
{
    return builder->depth > 0 && json_is_object(builder->open[builder->depth - 1]) &&
           builder->keys[builder->depth - 1] == NULL;
}

static enum sma_err on_scalar(struct builder *builder, const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    if (memchr(text, '\0', event->data.scalar.length) != NULL)
        return refuse(builder, event, "it holds a NUL character");
    if (!wants_key(builder))
        return add(builder, event, make_scalar(event));
    if (strcmp(text, "<<") == 0)
        return refuse(builder, event, "merges are not read");
    builder->keys[builder->depth - 1] = strdup(text);
    return builder->keys[builder->depth - 1] == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

static enum sma_err on_open(struct builder *builder, const yaml_event_t *event)
{
    if (wants_key(builder))
        return refuse(builder, event, "a key must be a text");
    if (builder->depth == SMA_SKILL_FRONT_DEPTH_MAX)
        return refuse(builder, event, "it is nested too deeply");
    json_t *value = event->type == YAML_SEQUENCE_START_EVENT ? json_array() : json_object();
    SMA_TRY(add(builder, event, value));
    builder->open[builder->depth++] = value;
    return SMA_ERR_OK;
}

static enum sma_err on_event(struct builder *builder, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return on_scalar(builder, event);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return on_open(builder, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        SMA_ASSERT(builder->depth > 0);
        builder->depth--;
        return SMA_ERR_OK;
    case YAML_ALIAS_EVENT:
        return refuse(builder, event, "aliases (*name) are not read");
    case YAML_DOCUMENT_END_EVENT:
    case YAML_STREAM_END_EVENT:
        builder->is_over = true;
        return SMA_ERR_OK;
    default:
        return SMA_ERR_OK;
    }
}

static enum sma_err build(struct builder *builder, struct sma_str front)
{
    yaml_event_t event;
    if (yaml_parser_initialize(&builder->parser) == 0)
        return SMA_ERR_NOMEM;
    yaml_parser_set_encoding(&builder->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&builder->parser, (const unsigned char *)front.ptr, front.len);
    enum sma_err err = SMA_ERR_OK;
    while (err == SMA_ERR_OK && !builder->is_over) {
        if (yaml_parser_parse(&builder->parser, &event) == 0) {
            bool is_memory = builder->parser.error == YAML_MEMORY_ERROR;
            err = is_memory ? SMA_ERR_NOMEM
                            : sma_fail(builder->error, SMA_ERR_BADINPUT,
                                       "its front matter is not YAML: line %zu: %s",
                                       builder->parser.problem_mark.line + 2,
                                       builder->parser.problem == NULL ? "it cannot be read"
                                                                       : builder->parser.problem);
            break;
        }
        err = on_event(builder, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&builder->parser);
    for (size_t i = 0; i < SMA_SKILL_FRONT_DEPTH_MAX; i++)
        free(builder->keys[i]);
    return err;
}

/* -- what is wanted of it ---------------------------------------------------------------------- */
static char *dup_scalar(const json_t *root, const char *name)
{
    const json_t *value = json_object_get(root, name);
    if (json_is_string(value))
        return strdup(json_string_value(value));
    return json_is_integer(value) || json_is_boolean(value) ? json_dumps(value, JSON_ENCODE_ANY)
                                                            : NULL;
}

static char *dup_any(const json_t *root, const char *name)
{
    const json_t *value = json_object_get(root, name);
    return value == NULL || json_is_null(value) ? NULL
                                                : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

enum sma_err sma_skill_front_parse(struct sma_str text, struct sma_skill_front *ret_front,
                                   struct sma_error *error)
{
    static const char *const tools[] = {"allowed-tools", "allowedTools", "allowed_tools"};
    struct sma_str front;
    struct builder builder = {.error = error};
    if (!sma_utf8_is_valid(text))
        return sma_fail(error, SMA_ERR_BADINPUT, "it is not written in UTF-8");
    SMA_TRY(find_front(text, &front, error));
    struct sma_skill_front found = {0};
    enum sma_err err = front.len == 0 ? SMA_ERR_OK : build(&builder, front);
    if (err == SMA_ERR_OK && builder.root != NULL && !json_is_object(builder.root) &&
        !json_is_null(builder.root))
        err = sma_fail(error, SMA_ERR_BADINPUT, "its front matter is no list of keys and values");
    if (err == SMA_ERR_OK) {
        found.name = dup_scalar(builder.root, "name");
        found.description = dup_scalar(builder.root, "description");
        found.license = dup_scalar(builder.root, "license");
        found.metadata = dup_any(builder.root, "metadata");
        for (size_t i = 0; i < SMA_COUNT_OF(tools) && found.allowed_tools == NULL; i++)
            found.allowed_tools = dup_any(builder.root, tools[i]);
        *ret_front = found;
    }
    json_decref(builder.root);
    return err;
}

void sma_skill_front_fini(struct sma_skill_front *front)
{
    free(front->name);
    free(front->description);
    free(front->license);
    free(front->allowed_tools);
    free(front->metadata);
    *front = (struct sma_skill_front){0};
}
