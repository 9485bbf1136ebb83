/*
 * fake_feishu_kit.c — CardKit: cards that are made first, sent once by their id, and changed by
 * operations whose numbers rise; as strict as the platform. Source: protocols/feishu.md §9.3; the
 * codes 3003xx are unconfirmed.
 */
#include "fake_feishu_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define CARD_BODY_BYTES_MAX (30u * 1024)
#define CONTENT_CHARS_MAX 100000
#define NO_CARD 300301
#define NO_ELEMENT 300313
#define NOT_STREAMING 300309
#define WRONG_SEQUENCE 300317

static struct kit_card *card_of(const struct fake_feishu *fake, const char *id)
{
    size_t at = strncmp(id, "7", 1) == 0 ? fake_feishu_index(fake, id) : 0;
    return at == 0 ? NULL : fake->kit_cards[at - 1];
}

static bool is_streaming(const struct fake_feishu *fake, const struct kit_card *card)
{
    return card->is_streaming &&
           (int64_t)((platform_now_ns() - card->streaming_ns) / 1000000u) < fake->kit_stream_ms;
}

/* -- what a card holds ------------------------------------------------------------------------- */
/* The tree as content of a message, its words and mode into the card, and the message that shows
 * it. tree is taken over. @return false: refused, nothing has changed */
static bool set_tree(struct fake_feishu_call *call, struct kit_card *card, json_t *tree)
{
    struct fake_feishu_wrong wrong;
    char *text = NULL, *content = tree == NULL ? NULL : json_dumps(tree, JSON_COMPACT);
    bool is_shared = false;
    const char *schema = platform_text(tree, "schema", "");
    bool is_good = content != NULL && strcmp(schema, "2.0") == 0;
    if (!is_good)
        fake_feishu_refuse(call, 400, 300305, "card json is invalid: schema must be 2.0");
    else if (!fake_feishu_check_content(call->fake, "interactive", content, &text, &is_shared,
                                        &wrong)) {
        fake_feishu_refuse(call, 400, wrong.code, wrong.text);
        is_good = false;
    }
    if (!is_good) {
        free(content);
        json_decref(tree);
        return false;
    }
    json_decref(card->tree);
    card->tree = tree;
    bool was_streaming = card->is_streaming;
    card->is_streaming = platform_flag(json_object_get(tree, "config"), "streaming_mode", false);
    if (card->is_streaming && !was_streaming)
        card->streaming_ns = platform_now_ns();
    if (card->note != NULL) {
        free(card->note->content);
        free(card->note->text);
        card->note->content = content;
        card->note->text = text;
        card->note->is_shared = is_shared;
        card->note->edit_count++;
        fake_feishu_notice_reply(call->fake, card->note);
        return true;
    }
    free(content);
    free(text);
    return true;
}

/* data of {"type":"card_json","data":"..."}; NULL: refused. */
static json_t *parse_card(struct fake_feishu_call *call, const json_t *given)
{
    const char *data = platform_text(given, "data", NULL);
    if (strcmp(platform_text(given, "type", ""), "card_json") != 0 || data == NULL) {
        fake_feishu_refuse(call, 400, 99992402,
                           "field validation failed: type must be card_json, data a string");
        return NULL;
    }
    if (call->request->body.len > CARD_BODY_BYTES_MAX) {
        fake_feishu_refuse(call, 400, 300307, "the card is too large");
        return NULL;
    }
    json_t *tree = json_loads(data, 0, NULL);
    if (!json_is_object(tree)) {
        fake_feishu_refuse(call, 400, 300305, "card json is invalid");
        json_decref(tree);
        return NULL;
    }
    return tree;
}

static json_t *find_element(const json_t *tree, const char *id)
{
    json_t *elements = json_object_get(json_object_get(tree, "body"), "elements"), *element;
    size_t i;
    json_array_foreach(elements, i, element)
    {
        if (strcmp(platform_text(element, "element_id", ""), id) == 0 && id[0] != '\0')
            return element;
    }
    return NULL;
}

/* -- calls ------------------------------------------------------------------------------------- */
void fake_feishu_kit_create(struct fake_feishu_call *call)
{
    struct fake_feishu *fake = call->fake;
    json_t *tree = parse_card(call, call->body);
    if (tree == NULL)
        return;
    struct kit_card *card = calloc(1, sizeof *card);
    if (card == NULL || (card->times = json_array()) == NULL)
        abort();
    if (fake_feishu_is_flooded(call, &fake->kit_rate, fake->app_per_second, 99991400)) {
        json_decref(tree);
        json_decref(card->times);
        free(card);
        return;
    }
    if (!set_tree(call, card, tree)) {
        json_decref(card->times);
        free(card);
        return;
    }
    snprintf(card->id, sizeof card->id, "7%018llu", (unsigned long long)++fake->number);
    fake->kit_cards =
        platform_grow(fake->kit_cards, fake->kit_count, &fake->kit_room, sizeof(struct kit_card *));
    fake_feishu_set_index(fake, card->id, fake->kit_count);
    fake->kit_cards[fake->kit_count++] = card;
    fake_feishu_answer(call, json_pack("{s:s}", "card_id", card->id));
}

/* The card of an operation; its number is taken. NULL: refused. */
static struct kit_card *begin_operation(struct fake_feishu_call *call)
{
    struct fake_feishu *fake = call->fake;
    struct kit_card *card = card_of(fake, call->id);
    const json_t *sequence = json_object_get(call->body, "sequence");
    if (card == NULL) {
        fake_feishu_refuse(call, 400, NO_CARD, "the card does not exist");
        return NULL;
    }
    if (fake_feishu_is_flooded(call, &fake->kit_rate, fake->app_per_second, 99991400) ||
        fake_feishu_is_flooded(call, &card->rate, fake->kit_per_second, 99991400)) {
        fake_feishu_complain(fake, "card %s is changed too fast", card->id);
        return NULL;
    }
    if (!json_is_integer(sequence) || json_integer_value(sequence) <= card->sequence ||
        json_integer_value(sequence) > INT32_MAX) {
        fake->kit_wrong_sequences++;
        fake_feishu_refuse(call, 400, WRONG_SEQUENCE, "sequence number compare failed");
        return NULL;
    }
    if (strlen(platform_text(call->body, "uuid", "")) > 64) {
        fake_feishu_refuse(call, 400, 99992402, "field validation failed: uuid");
        return NULL;
    }
    card->sequence = json_integer_value(sequence);
    json_array_append_new(card->times, json_integer((json_int_t)(platform_now_ns() / 1000000u)));
    return card;
}

void fake_feishu_kit_content(struct fake_feishu_call *call)
{
    struct kit_card *card = begin_operation(call);
    const char *content = platform_text(call->body, "content", NULL);
    if (card == NULL)
        return;
    json_t *tree = json_deep_copy(card->tree), *element = find_element(tree, call->second);
    const char *tag = platform_text(element, "tag", "");
    if (element == NULL || (strcmp(tag, "markdown") != 0 && strcmp(tag, "plain_text") != 0))
        fake_feishu_refuse(call, 400, NO_ELEMENT, "the element does not exist");
    else if (!is_streaming(call->fake, card))
        fake_feishu_refuse(call, 400, NOT_STREAMING, "streaming mode is closed");
    else if (content == NULL || content[0] == '\0' ||
             sma_utf16_length(sma_str(content)) > CONTENT_CHARS_MAX)
        fake_feishu_refuse(call, 400, 99992402, "field validation failed: content");
    else {
        const char *before = platform_text(element, "content", "");
        bool is_typed = strncmp(content, before, strlen(before)) == 0;
        card->typed_count += is_typed;
        json_object_set_new(element, "content", json_string(content));
        if (set_tree(call, card, json_incref(tree)))
            fake_feishu_answer(call, json_object());
    }
    json_decref(tree);
}

void fake_feishu_kit_settings(struct fake_feishu_call *call)
{
    struct kit_card *card = begin_operation(call);
    json_t *settings =
        card == NULL ? NULL : json_loads(platform_text(call->body, "settings", ""), 0, NULL);
    const json_t *mode = json_object_get(json_object_get(settings, "config"), "streaming_mode");
    if (card == NULL)
        return;
    if (!json_is_boolean(mode)) {
        fake_feishu_refuse(call, 400, 99992402, "field validation failed: settings");
    } else {
        card->is_streaming = json_is_true(mode);
        json_object_set_new(json_object_get(card->tree, "config"), "streaming_mode",
                            json_boolean(card->is_streaming));
        card->streaming_ns = platform_now_ns();
        fake_feishu_answer(call, json_object());
    }
    json_decref(settings);
}

void fake_feishu_kit_replace(struct fake_feishu_call *call)
{
    struct kit_card *card = begin_operation(call);
    json_t *tree = card == NULL ? NULL : parse_card(call, json_object_get(call->body, "card"));
    if (tree != NULL && set_tree(call, card, tree))
        fake_feishu_answer(call, json_object());
}

/* -- messages ---------------------------------------------------------------------------------- */
struct kit_card *fake_feishu_kit_of(struct fake_feishu_call *call, const char *content,
                                    bool *ret_is_refused)
{
    json_t *tree = json_loads(content, 0, NULL);
    const json_t *data = json_object_get(tree, "data");
    struct kit_card *card = NULL;
    *ret_is_refused = false;
    if (strcmp(platform_text(tree, "type", ""), "card") == 0) {
        card = card_of(call->fake, platform_text(data, "card_id", ""));
        *ret_is_refused = card == NULL || card->note != NULL;
        if (*ret_is_refused)
            fake_feishu_refuse(call, 400, 230099,
                               card == NULL ? "Failed to create card content, ext=ErrCode: 11314; "
                                              "ErrMsg: card not exists;"
                                            : "Failed to create card content, ext=ErrCode: 11313; "
                                              "ErrMsg: a card is sent once;");
    }
    json_decref(tree);
    return card;
}

bool fake_feishu_kit_check(struct fake_feishu_call *call, const struct kit_card *card,
                           char **ret_text, bool *ret_is_shared)
{
    struct fake_feishu_wrong wrong;
    char *content = json_dumps(card->tree, JSON_COMPACT);
    bool is_good = fake_feishu_check_content(call->fake, "interactive", content, ret_text,
                                             ret_is_shared, &wrong);
    free(content);
    return is_good;
}

void fake_feishu_kit_show(struct kit_card *card, struct note *note)
{
    card->note = note;
    free(note->content);
    note->content = json_dumps(card->tree, JSON_COMPACT);
}

/* -- looking ----------------------------------------------------------------------------------- */
json_t *fake_feishu_kit_list(void *user, const json_t *command)
{
    struct fake_feishu *fake = user;
    json_t *list = json_array();
    (void)command;
    for (size_t i = 0; i < fake->kit_count; i++) {
        const struct kit_card *card = fake->kit_cards[i];
        json_array_append_new(
            list, json_pack("{s:s,s:s,s:I,s:b,s:b,s:i,s:O,s:O}", "id", card->id, "message_id",
                            card->note == NULL ? "" : card->note->id, "sequence",
                            (json_int_t)card->sequence, "is_streaming", is_streaming(fake, card),
                            "is_recalled", card->note != NULL && card->note->is_recalled, "typed",
                            (int)card->typed_count, "written_ms", card->times, "card", card->tree));
    }
    return json_pack("{s:o}", "cards", list);
}

bool fake_feishu_kit_is_shown(const struct fake_feishu *fake, const struct note *note)
{
    for (size_t i = 0; i < fake->kit_count; i++)
        if (fake->kit_cards[i]->note == note)
            return true;
    return false;
}

size_t fake_feishu_kit_unfinished(const struct fake_feishu *fake)
{
    size_t count = 0;
    for (size_t i = 0; i < fake->kit_count; i++) {
        const struct kit_card *card = fake->kit_cards[i];
        count += card->is_streaming && card->note != NULL && !card->note->is_recalled;
    }
    return count;
}

void fake_feishu_kit_free(struct fake_feishu *fake)
{
    for (size_t i = 0; i < fake->kit_count; i++) {
        json_decref(fake->kit_cards[i]->tree);
        json_decref(fake->kit_cards[i]->times);
        free(fake->kit_cards[i]);
    }
    free(fake->kit_cards);
}
