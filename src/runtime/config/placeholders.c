/*
 * placeholders.c — `${NAME}` values of ship.json become what the environment says.
 * Source: protocols/project.md §2.2.
 */
#include "config_priv.h"

#include "sma/limits.h"
#include <stdio.h>
#include <stdlib.h>

#define PATH_BYTES_MAX 256
#define DEFAULT_DEPTH_MAX 4

/* The variable of a value that is exactly ${NAME} with NAME of A-Z 0-9 _, else false. */
static bool read_placeholder(const char *value, char *name, size_t name_max)
{
    size_t len = strlen(value);
    if (len < 4 || value[0] != '$' || value[1] != '{' || value[len - 1] != '}' ||
        len - 3 >= name_max)
        return false;
    for (size_t i = 2; i < len - 1; i++) {
        char byte = value[i];
        if (!((byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_'))
            return false;
        name[i - 2] = byte;
    }
    name[len - 3] = '\0';
    return true;
}

/* ${NAME:-text} and ${NAME-text}: the variable, else this text (the first of them also where it is
 * empty). @return the text behind the sign, to be freed; NULL: it is none, or no memory */
static char *read_default(const char *value, char *name, size_t name_max, bool *ret_is_for_empty)
{
    char head[160];
    size_t len = strlen(value), at = strcspn(value, "-");
    if (len < 5 || at >= len || value[len - 1] != '}' || at + 1 >= sizeof head)
        return NULL;
    *ret_is_for_empty = value[at - 1] == ':';
    snprintf(head, sizeof head, "%.*s}", (int)(at - *ret_is_for_empty), value);
    if (!read_placeholder(head, name, name_max))
        return NULL;
    return strndup(value + at + 1, len - at - 2);
}

/* The first ${NAME} anywhere in a value. */
static bool find_inside(const char *value, char *name, size_t name_max)
{
    char piece[128];
    for (const char *at = value; (at = strstr(at, "${")) != NULL; at += 2) {
        const char *end = strchr(at, '}');
        size_t len = end == NULL ? 0 : (size_t)(end - at) + 1;
        if (len == 0 || len >= sizeof piece)
            continue;
        memcpy(piece, at, len);
        piece[len] = '\0';
        if (read_placeholder(piece, name, name_max))
            return true;
    }
    return false;
}

struct place
{
    json_t *node;
    void *iterator; /* of an object */
    size_t index;   /* of a list */
    size_t path_len;
};

struct walk
{
    struct place stack[SMA_JSON_DEPTH_MAX];
    size_t depth;
    char path[PATH_BYTES_MAX];
    const struct sma_variables *variables;
};

/* Notations of other programs for what the environment says: here they are text. */
static bool is_foreign(const char *value)
{
    static const struct
    {
        const char *begin, *end;
    } forms[] = {{"$", ""}, {"%", "%"}, {"{{", "}}"}, {"{env:", "}"}, {"env:", ""}, {"$env:", ""}};
    size_t len = strlen(value);
    for (size_t i = 0; i < SMA_COUNT_OF(forms); i++) {
        size_t begin = strlen(forms[i].begin), end = strlen(forms[i].end);
        if (len <= begin + end || strncmp(value, forms[i].begin, begin) != 0 ||
            strcmp(value + len - end, forms[i].end) != 0)
            continue;
        size_t name = strspn(value + begin, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_. ");
        if (name == len - begin - end && strpbrk(value + begin, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
            return true;
    }
    return false;
}

/* The value a string becomes: itself (NULL), a new string, or json_null() as the mark of a missing
 * variable. */
static json_t *replace_string(struct walk *walk, const char *key, json_t *value)
{
    char name[128], path[PATH_BYTES_MAX * 2];
    const struct sma_variables *variables = walk->variables;
    snprintf(path, sizeof path, "%s%s%s", walk->path, walk->path[0] == '\0' ? "" : ".", key);
    if (!json_is_string(value))
        return NULL;
    const char *text = json_string_value(value);
    SMA_AUTO(sma_freep) char *kept = NULL;
    for (int depth = 0; depth < DEFAULT_DEPTH_MAX; depth++) { /* a default may have one again */
        bool is_for_empty = false;
        char *otherwise = read_default(text, name, sizeof name, &is_for_empty);
        if (otherwise == NULL)
            break;
        free(kept);
        text = kept = otherwise;
        const char *given = variables->find(variables->user, name);
        if (given != NULL && (given[0] != '\0' || !is_for_empty))
            return json_string(given);
    }
    if (kept != NULL && strstr(kept, "${") == NULL)
        return json_string(kept);
    if (!read_placeholder(text, name, sizeof name)) {
        const char *open = strstr(text, "${");
        bool is_strange =
            ((open != NULL && strchr(open, '}') != NULL && !find_inside(text, name, sizeof name)) ||
             is_foreign(text)) &&
            strcmp(key, "apiKey") != 0;
        if (is_strange && variables->unknown != NULL)
            variables->unknown(variables->user, path, text);
        if (variables->inside != NULL && find_inside(text, name, sizeof name))
            variables->inside(variables->user, path, name);
        return kept == NULL ? NULL : json_string(kept);
    }
    const char *found = variables->find(variables->user, name);
    if (found != NULL)
        return json_string(found);
    variables->missing(variables->user, path, name);
    return json_null();
}

static void enter(struct walk *walk, json_t *node, const char *key)
{
    struct place *place = &walk->stack[walk->depth++];
    place->node = node;
    place->iterator = json_is_object(node) ? json_object_iter(node) : NULL;
    place->index = 0;
    place->path_len = strlen(walk->path);
    size_t room = sizeof walk->path - place->path_len;
    snprintf(walk->path + place->path_len, room, "%s%s",
             place->path_len == 0 || key[0] == '\0' ? "" : ".", key);
}

static enum sma_err visit(struct walk *walk, const char *key, json_t *child, json_t **ret_new)
{
    *ret_new = replace_string(walk, key, child);
    if (*ret_new != NULL || !(json_is_object(child) || json_is_array(child)))
        return SMA_ERR_OK;
    if (walk->depth == SMA_JSON_DEPTH_MAX)
        return SMA_ERR_TOOBIG;
    enter(walk, child, key);
    return SMA_ERR_OK;
}

static enum sma_err step_object(struct walk *walk, struct place *place)
{
    const char *key = json_object_iter_key(place->iterator);
    json_t *child = json_object_iter_value(place->iterator);
    void *iterator = place->iterator;
    place->iterator = json_object_iter_next(place->node, iterator);
    json_t *node = place->node, *fresh = NULL;
    enum sma_err err = visit(walk, key, child, &fresh);
    if (err != SMA_ERR_OK || fresh == NULL)
        return err;
    if (json_is_null(fresh)) {
        char *copy = strdup(key); /* the key belongs to the member that goes */
        if (copy == NULL)
            return SMA_ERR_NOMEM;
        json_object_del(node, copy);
        free(copy);
        return SMA_ERR_OK;
    }
    return json_object_iter_set_new(node, iterator, fresh) == 0 ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

static enum sma_err step_list(struct walk *walk, struct place *place)
{
    char key[24];
    snprintf(key, sizeof key, "%zu", place->index);
    size_t index = place->index++;
    json_t *node = place->node, *fresh = NULL;
    enum sma_err err = visit(walk, key, json_array_get(node, index), &fresh);
    if (err != SMA_ERR_OK || fresh == NULL)
        return err;
    if (json_is_null(fresh)) {
        json_array_remove(node, index);
        walk->stack[walk->depth - 1].index--;
        return SMA_ERR_OK;
    }
    return json_array_set_new(node, index, fresh) == 0 ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

enum sma_err sma_config_substitute(json_t *root, const struct sma_variables *variables)
{
    struct walk walk = {.variables = variables};
    enter(&walk, root, "");
    while (walk.depth > 0) {
        struct place *place = &walk.stack[walk.depth - 1];
        bool is_object = json_is_object(place->node);
        bool is_at_end =
            is_object ? place->iterator == NULL : place->index >= json_array_size(place->node);
        if (is_at_end) {
            walk.path[place->path_len] = '\0';
            walk.depth--;
            continue;
        }
        SMA_TRY(is_object ? step_object(&walk, place) : step_list(&walk, place));
    }
    return SMA_ERR_OK;
}
