/* card_check.c — see card_check.h. */
#include "runtime/tools/card_check.h"

#include "sma/text.h"

#include <stdlib.h>

struct card_check
{
    struct sma_buf *why;
    uint32_t node_count;
    bool is_bad;
};

static void refuse(struct card_check *check, const char *sentence)
{
    if (check->is_bad)
        return; /* the first reason is enough */
    check->is_bad = true;
    sma_buf_put_text(check->why, sentence);
    sma_buf_put_text(check->why, " Nothing was sent.");
}

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(word, list[i]) == 0)
            return true;
    return false;
}

/* <at id=all>, <at user_id="...">: whoever is named is rung for. */
static bool has_mention(struct sma_str text)
{
    for (size_t i = 0; i + 3 < text.len; i++)
        if (text.ptr[i] == '<' && strncasecmp(text.ptr + i + 1, "at", 2) == 0 &&
            memchr(" \t\r\n\v\f/>", text.ptr[i + 3], 8) != NULL)
            return true;
    return false;
}

static void check_address(struct card_check *check, const json_t *value)
{
    struct sma_str text = {json_string_value(value), json_string_length(value)};
    bool is_good =
        json_is_string(value) && (text.len == 0 || sma_str_starts_with(text, SMA_STR("https://")) ||
                                  sma_str_starts_with(text, SMA_STR("http://")));
    if (!is_good)
        refuse(check, "Addresses in the card begin with https:// or http://.");
}

static void check_string(struct card_check *check, const char *key, const json_t *value)
{
    /* What waits for an answer, and the one who is rung for. */
    static const char *const tags[] = {"form",
                                       "input",
                                       "select_static",
                                       "multi_select_static",
                                       "select_person",
                                       "multi_select_person",
                                       "select_img",
                                       "date_picker",
                                       "picker_time",
                                       "picker_datetime",
                                       "checker",
                                       "overflow",
                                       "at"};
    struct sma_str text = {json_string_value(value), json_string_length(value)};
    if (has_mention(text))
        refuse(check, "A card cannot mention people: write names as plain words.");
    if (strcmp(key, "tag") == 0 && is_one_of(json_string_value(value), tags, SMA_COUNT_OF(tags)))
        refuse(check, "A card of yours has nothing to fill in or choose from: nobody reads it. Ask "
                      "in words.");
}

static void check_member(struct card_check *check, const char *key, const json_t *value)
{
    static const char *const addresses[] = {"url", "default_url", "android_url", "ios_url",
                                            "pc_url"};
    static const char *const calls[] = {"value", "form_action_type", "action_type"};
    if (is_one_of(key, calls, SMA_COUNT_OF(calls)))
        refuse(check, "Buttons of the card can open addresses (behaviors of type open_url, or url) "
                      "and do nothing else.");
    if (strcmp(key, "behaviors") == 0 && !json_is_array(value))
        refuse(check, "\"behaviors\" is a list.");
    if (is_one_of(key, addresses, SMA_COUNT_OF(addresses)))
        check_address(check, value);
    if (json_is_string(value))
        check_string(check, key, value);
}

static void check_behaviors(struct card_check *check, const json_t *list)
{
    const json_t *item;
    size_t i;
    json_array_foreach(list, i, item)
    {
        const char *type = json_string_value(json_object_get(item, "type"));
        if (type == NULL || strcmp(type, "open_url") != 0)
            refuse(check, "Buttons of the card can open addresses (behaviors of type open_url, or "
                          "url) and do nothing else.");
    }
}

/* Depth is bounded. */
static void walk(struct card_check *check, const json_t *value, unsigned depth)
{
    const char *key;
    const json_t *item;
    size_t i;
    if (depth > SMA_CARD_JSON_DEPTH_MAX || ++check->node_count > SMA_CARD_JSON_NODE_COUNT_MAX)
        refuse(check, "The card is nested too deeply or has too many parts (16 levels, 2000).");
    if (check->is_bad)
        return;
    if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, key, item)
        {
            check_member(check, key, item);
            if (strcmp(key, "behaviors") == 0)
                check_behaviors(check, item);
            walk(check, item, depth + 1);
        }
        return;
    }
    json_array_foreach(value, i, item)
    {
        if (json_is_string(item))
            check_string(check, "", item);
        walk(check, item, depth + 1);
    }
}

static void check_form(struct card_check *check, const json_t *card)
{
    const json_t *schema = json_object_get(card, "schema");
    const char *name = json_string_value(schema);
    bool is_new = name != NULL && strcmp(name, "2.0") == 0;
    if (!json_is_object(card))
        refuse(check, "Expected \"card\": an object with Feishu's card JSON.");
    else if (schema != NULL && !is_new && (name == NULL || strcmp(name, "1.0") != 0))
        refuse(check, "\"schema\" of the card is \"2.0\" or \"1.0\".");
    const json_t *elements =
        json_object_get(is_new ? json_object_get(card, "body") : card, "elements");
    if (json_array_size(elements) == 0)
        refuse(check,
               "The card shows nothing: expected a list with elements in \"body\": "
               "{\"elements\": [...]} with \"schema\": \"2.0\", or in \"elements\" without.");
}

static bool is_too_long(const char *text)
{
    size_t len = strlen(text), escaped = len;
    for (size_t i = 0; i < len; i++)
        escaped += text[i] == '"' || text[i] == '\\';
    return len > SMA_CARD_JSON_BYTES_MAX || escaped > SMA_CARD_JSON_ESCAPED_MAX;
}

enum sma_err sma_card_check(const json_t *card, char **ret_text, struct sma_buf *why)
{
    struct card_check check = {.why = why};
    check_form(&check, card);
    if (!check.is_bad)
        walk(&check, card, 0);
    if (check.is_bad)
        return SMA_ERR_BADINPUT;
    char *text = json_dumps(card, JSON_COMPACT);
    if (text == NULL)
        return SMA_ERR_NOMEM;
    if (is_too_long(text)) {
        free(text);
        refuse(&check, "The card is over 20 KB: show less, or send a file.");
        return SMA_ERR_BADINPUT;
    }
    *ret_text = text;
    return SMA_ERR_OK;
}

char *sma_card_lines(struct sma_str card)
{
    json_t *root = json_loadb(card.ptr, card.len, 0, NULL);
    char *lines = root == NULL ? NULL : json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    return lines;
}
