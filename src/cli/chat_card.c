/* chat_card.c — see chat_card.h. */
#include "chat_card.h"

#include "chat_markdown.h"
#include "chat_screen.h"
#include "sma/text.h"

static struct sma_str text_of(const json_t *root, const char *member)
{
    const json_t *text = json_object_get(root, member);
    if (!json_is_string(text))
        return SMA_STR("");
    return (struct sma_str){json_string_value(text), json_string_length(text)};
}

void sma_chat_cards_fini(struct sma_chat_cards *cards)
{
    for (unsigned i = 0; i < cards->count; i++)
        json_decref(cards->roots[i]);
    cards->count = 0;
}

const json_t *sma_chat_cards_top(const struct sma_chat_cards *cards)
{
    return cards->count == 0 ? NULL : cards->roots[cards->count - 1];
}

static void take_out(struct sma_chat_cards *cards, unsigned index)
{
    json_decref(cards->roots[index]);
    cards->count--;
    memmove(cards->roots + index, cards->roots + index + 1,
            (cards->count - index) * sizeof cards->roots[0]);
}

static unsigned find(const struct sma_chat_cards *cards, struct sma_str id)
{
    unsigned i = 0;
    while (i < cards->count && !sma_str_is_equal(text_of(cards->roots[i], "id"), id))
        i++;
    return i;
}

bool sma_chat_cards_add(struct sma_chat_cards *cards, json_t *root, uint64_t now_ns)
{
    if (find(cards, text_of(root, "id")) < cards->count)
        return false;
    if (json_array_size(json_object_get(root, "buttons")) == 0)
        return true;
    if (cards->count == CHAT_CARD_COUNT_MAX)
        take_out(cards, 0);
    cards->roots[cards->count++] = json_incref(root);
    cards->shown_ns = now_ns;
    return true;
}

bool sma_chat_cards_drop(struct sma_chat_cards *cards, struct sma_str id, uint64_t now_ns)
{
    unsigned index = find(cards, id);
    if (index == cards->count)
        return false;
    bool was_top = index + 1 == cards->count;
    take_out(cards, index);
    cards->shown_ns = was_top ? now_ns : cards->shown_ns;
    return was_top && cards->count > 0;
}

/* -- keys -------------------------------------------------------------------------------------- */
/* Of a button's data, "sa1:id:item:action:signature": what it does. '\0': it is no such data. */
static char action_of(const json_t *button)
{
    const char *at = json_string_value(json_object_get(button, "data"));
    for (int colons = 0; at != NULL && colons < 3; colons++) {
        at = strchr(at, ':');
        at = at == NULL ? NULL : at + 1;
    }
    return at == NULL ? '\0' : *at;
}

/* The button that y or n stands for: of several the one for all, which is not one of an item. */
static size_t find_action(const json_t *buttons, char action)
{
    size_t found = json_array_size(buttons);
    for (size_t i = 0; i < json_array_size(buttons); i++) {
        const json_t *button = json_array_get(buttons, i);
        const char *data = json_string_value(json_object_get(button, "data"));
        bool is_all = data != NULL && strstr(data, ":*:") != NULL;
        if (action_of(button) == action && (is_all || found == json_array_size(buttons)))
            found = i;
        if (action_of(button) == action && is_all)
            break;
    }
    return found;
}

const json_t *sma_chat_cards_choice(const struct sma_chat_cards *cards, struct sma_str key,
                                    uint64_t now_ns)
{
    const json_t *buttons = json_object_get(sma_chat_cards_top(cards), "buttons");
    if (buttons == NULL || key.len != 1 || now_ns - cards->shown_ns < CHAT_CARD_CALM_NS)
        return NULL;
    char byte = key.ptr[0];
    if (byte >= '1' && byte <= '9')
        return json_array_get(buttons, (size_t)(byte - '1'));
    return byte == 'y' || byte == 'n' ? json_array_get(buttons, find_action(buttons, byte)) : NULL;
}

void sma_chat_cards_put_keys(struct sma_buf *buf, const struct sma_chat_cards *cards)
{
    const json_t *buttons = json_object_get(sma_chat_cards_top(cards), "buttons");
    size_t yes = find_action(buttons, 'y'), no = find_action(buttons, 'n');
    for (size_t i = 0; i < json_array_size(buttons) && i < 9; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : "  ");
        if (i == yes || i == no)
            sma_buf_put_text(buf, i == yes ? "y/" : "n/");
        sma_buf_printf(buf, "%zu ", i + 1);
        sma_chat_put_clean(buf, text_of(json_array_get(buttons, i), "text"));
    }
}

/* -- words ------------------------------------------------------------------------------------- */
void sma_chat_card_put(struct sma_buf *buf, const json_t *root, bool is_styled)
{
    bool has_buttons = json_array_size(json_object_get(root, "buttons")) > 0;
    sma_buf_put_text(buf, is_styled ? "\x1b[1;33m" : "");
    sma_chat_put_clean(buf, text_of(root, "title"));
    sma_buf_put_text(buf, is_styled ? "\x1b[0m\n" : "\n");
    if (has_buttons && is_styled)
        sma_chat_put_markdown(buf, text_of(root, "text"));
    else
        sma_chat_put_clean(buf, text_of(root, "plain"));
    if (buf->len > 0 && buf->ptr[buf->len - 1] != '\n')
        sma_buf_put_char(buf, '\n');
}

void sma_chat_card_put_outcome(struct sma_buf *buf, const json_t *root)
{
    struct sma_str text = text_of(root, "plain");
    struct sma_buf clean;
    sma_buf_init(&clean, 65536);
    sma_chat_put_clean(&clean, text.len == 0 ? text_of(root, "title") : text);
    while (clean.len > 0 && clean.ptr[clean.len - 1] == '\n')
        clean.len--;
    for (size_t i = 0; i < clean.len; i++) {
        if (clean.ptr[i] == '\n')
            sma_buf_put_text(buf, " · ");
        else
            sma_buf_put_char(buf, clean.ptr[i]);
    }
    sma_buf_fini(&clean);
}
