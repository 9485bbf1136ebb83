/* visible.c — see visible.h. */
#include "visible.h"

#include "runtime/json/json_read.h"
#include "sma/buf.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>

/* An object or a list that is being walked. */
struct place
{
    json_t *tree;
    void *at; /* the next member of an object */
    size_t index;
    const char *key; /* under which it stands */
};

static bool is_one_of(const char *word, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strcmp(word, *words) == 0)
            return true;
    return false;
}

/* Members that nobody sees. Source: cards 1.0 and 2.0 and message contents of Feishu, messages of
 * the Bot API (as documented). */
static bool is_hidden(const char *key)
{
    static const char *const names[] = {
        "id",        "style",     "template",  "color",   "width",  "height",   "mode",
        "size",      "value",     "behaviors", "config",  "icon",   "schema",   "locale",
        "uuid",      "direction", "layout",    "padding", "margin", "entities", "card_link",
        "multi_url", "expanded",  "is_short",  NULL};
    static const char *const ends[] = {"_id",    "_key",   "_ids",     "_token", "_style", "_size",
                                       "_align", "_color", "_spacing", "_mode",  "_width", NULL};
    size_t len = strlen(key);
    for (size_t i = 0; ends[i] != NULL; i++)
        if (len > strlen(ends[i]) && strcmp(key + len - strlen(ends[i]), ends[i]) == 0)
            return true;
    return is_one_of(key, names);
}

static void put_number(const json_t *value, const char *key, char *text, size_t text_size)
{
    int64_t number = json_integer_value(value);
    bool is_time = strstr(key, "time") != NULL || strstr(key, "date") != NULL;
    if (json_is_real(value))
        snprintf(text, text_size, "%g", json_real_value(value));
    else if (json_is_boolean(value))
        snprintf(text, text_size, "%s", json_is_true(value) ? "yes" : "no");
    else if (!is_time || number < 100000000)
        snprintf(text, text_size, "%lld", (long long)number);
    else {
        struct sma_buf time;
        sma_buf_init(&time, text_size);
        sma_buf_put_iso_time(&time, number < 100000000000 ? number * 1000 : number);
        snprintf(text, text_size, "%.*s", (int)time.len, time.len == 0 ? "" : time.ptr);
        sma_buf_fini(&time);
    }
}

static void show(const char *key, const json_t *parent, const json_t *value, sma_visible_fn *each,
                 void *user)
{
    char text[64];
    if (json_is_string(value)) {
        each(user, key, parent, sma_json_str_of(value));
    } else if (json_is_number(value) || json_is_boolean(value)) {
        put_number(value, key, text, sizeof text);
        each(user, key, parent, sma_str(text));
    }
}

/* The next child of the place; NULL: there is none. Of translations the first alone. */
static json_t *next_child(struct place *place, const char **ret_key)
{
    if (json_is_array(place->tree)) {
        *ret_key = place->key;
        return json_array_get(place->tree, place->index++);
    }
    while (place->at != NULL) {
        const char *key = json_object_iter_key(place->at);
        json_t *child = json_object_iter_value(place->at);
        bool is_translated = strncmp(place->key, "i18n", 4) == 0;
        bool is_repeated =
            strncmp(key, "i18n_", 5) == 0 && json_object_get(place->tree, key + 5) != NULL;
        place->at = is_translated ? NULL : json_object_iter_next(place->tree, place->at);
        *ret_key = key;
        if (!is_hidden(key) && !is_repeated)
            return child;
    }
    return NULL;
}

static bool push(struct sma_buf *stack, const json_t *tree, const char *key)
{
    json_t *owned = (json_t *)tree; /* iterators want it; nothing is changed */
    struct place place = {.tree = owned, .at = json_object_iter(owned), .key = key};
    sma_buf_put(stack, (const char *)&place, sizeof place);
    return stack->err == SMA_ERR_OK;
}

bool sma_visible_walk(const json_t *tree, sma_visible_fn *each, void *user)
{
    struct sma_buf stack;
    sma_buf_init(&stack, 64 * 1024);
    bool is_whole = push(&stack, tree, "");
    size_t count = 0;
    while (is_whole && stack.len > 0) {
        struct place place;
        const char *key;
        memcpy(&place, stack.ptr + stack.len - sizeof place, sizeof place);
        const json_t *child = next_child(&place, &key);
        memcpy(stack.ptr + stack.len - sizeof place, &place, sizeof place);
        if (child == NULL)
            stack.len -= sizeof place;
        else if (++count > SMA_VISIBLE_NODE_COUNT_MAX)
            is_whole = false;
        else if (json_is_object(child) || json_is_array(child))
            is_whole = push(&stack, child, key);
        else
            show(key, place.tree, child, each, user);
    }
    sma_buf_fini(&stack);
    return is_whole;
}
