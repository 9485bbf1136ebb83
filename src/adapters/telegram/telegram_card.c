/*
 * telegram_card.c — requests for consent, their outcomes, and reactions: what is sent for them. See
 * telegram_out.h;
 * Source: Bot API, Inline keyboards, editMessageText, setMessageReaction, ReactionTypeEmoji.
 */
#include "telegram_out_priv.h"

#include "sma/text.h"

#define ROW_BUTTON_COUNT_MAX 8 /* more in a row cannot be read on a telephone */
#define ELLIPSIS "\n\xE2\x80\xA6"
#define EMOJI_BYTES_MAX 64

/* -- parts ------------------------------------------------------------------------------------- */
struct forms
{
    struct sma_buf *html, *plain;
};

static void on_first(void *user, const struct sma_markup_part *part)
{
    struct forms *forms = user;
    if (part->index > 1)
        return;
    if (part->index == 1) { /* one message: the rest can be read in the list of requests */
        if (forms->html->len > 0)
            sma_buf_put_text(forms->html, ELLIPSIS);
        sma_buf_put_text(forms->plain, ELLIPSIS);
        return;
    }
    if (part->mark_count > 0)
        telegram_put_html(forms->html, part);
    sma_buf_put_str(forms->plain, part->text);
}

enum sma_err telegram_card_open(const struct telegram_part *part, struct telegram_card *ret_card)
{
    *ret_card = (struct telegram_card){0};
    enum sma_err err = sma_card_parse(part->card_json, &ret_card->card);
    if (err != SMA_ERR_OK)
        return err;
    const struct sma_card *card = &ret_card->card;
    struct sma_markup markup;
    struct sma_buf text;
    struct forms forms = {&ret_card->html, &ret_card->plain};
    sma_buf_init(&text, card->title.len + card->text.len + 16);
    sma_buf_init(&ret_card->html, 2 * TELEGRAM_PART_BYTES_MAX);
    sma_buf_init(&ret_card->plain, TELEGRAM_PART_UNITS * 3 + 16);
    sma_markup_init(&markup);
    if (!card->is_outcome && card->title.len > 0) { /* the text of an outcome says it itself */
        sma_buf_put_text(&text, "**");
        sma_buf_put_str(&text, card->title);
        sma_buf_put_text(&text, "**\n\n");
    }
    sma_buf_put_str(&text, card->text);
    err = text.err;
    if (err == SMA_ERR_OK)
        err = sma_markup_parse(&markup, sma_buf_str(&text), &telegram_markup_options);
    if (err == SMA_ERR_OK)
        err = sma_markup_split(&markup, &telegram_markup_limits, on_first, &forms);
    sma_markup_fini(&markup);
    sma_buf_fini(&text);
    if (err == SMA_ERR_OK)
        err = ret_card->html.err != SMA_ERR_OK ? ret_card->html.err : ret_card->plain.err;
    if (err == SMA_ERR_OK && ret_card->plain.len == 0)
        err = SMA_ERR_BADINPUT; /* nothing to read */
    if (err != SMA_ERR_OK)
        telegram_card_fini(ret_card);
    return err;
}

void telegram_card_without_buttons(struct telegram_card *card)
{
    struct sma_buf words;
    sma_buf_init(&words, TELEGRAM_PART_UNITS * 3 + 16);
    telegram_put_cut(&words, card->card.plain, TELEGRAM_PART_UNITS);
    if (words.err != SMA_ERR_OK || words.len == 0) {
        sma_buf_fini(&words);
        return;
    }
    sma_buf_fini(&card->plain);
    card->plain = words;
}

void telegram_card_fini(struct telegram_card *card)
{
    sma_card_fini(&card->card);
    sma_buf_fini(&card->html);
    sma_buf_fini(&card->plain);
    *card = (struct telegram_card){0};
}

/* -- bodies ------------------------------------------------------------------------------------ */
/* One button the platform refuses would take the whole message with it. */
static bool is_takeable(const struct sma_card_button *button)
{
    return button->data.len > 0 && button->data.len <= TELEGRAM_BUTTON_DATA_BYTES_MAX &&
           !sma_text_is_blank(button->text);
}

void telegram_put_keyboard(struct sma_buf *buf, const struct sma_card *card)
{
    uint32_t row = 0, in_row = 0, count = 0;
    for (uint32_t i = 0; i < card->button_count; i++) {
        const struct sma_card_button *button = &card->buttons[i];
        if (!is_takeable(button))
            continue;
        bool is_new_row = count == 0 || button->row != row || in_row == ROW_BUTTON_COUNT_MAX;
        if (count == 0) {
            sma_buf_put_json_key(buf, "reply_markup");
            sma_buf_put_text(buf, "{\"inline_keyboard\":[[");
        } else {
            sma_buf_put_text(buf, is_new_row ? "],[" : ",");
        }
        in_row = is_new_row ? 1 : in_row + 1;
        row = button->row;
        count++;
        sma_buf_put_text(buf, "{\"text\":");
        sma_buf_put_json_string(buf, button->text);
        sma_buf_put_json_key(buf, "callback_data");
        sma_buf_put_json_string(buf, button->data);
        sma_buf_put_char(buf, '}');
    }
    if (count > 0)
        sma_buf_put_text(buf, "]]}");
}

/* -- reactions --------------------------------------------------------------------------------- */
/* The only ones the platform takes (Bot API, ReactionTypeEmoji), without variation selectors. */
static const char *const reactions[] = {
    "👍",    "👎",          "❤",    "🔥",    "🥰",        "👏", "😁",    "🤔", "🤯", "😱",
    "🤬", "😢",          "🎉",    "🤩", "🤮",        "💩", "🙏",    "👌",    "🕊", "🤡",
    "🥱", "🥴",       "😍",    "🐳",    "❤‍🔥",  "🌚", "🌭", "💯",    "🤣", "⚡",
    "🍌",    "🏆",          "💔",    "🤨", "😐",           "🍓", "🍾", "💋",    "🖕", "😈",
    "😴",    "😭",          "🤓", "👻",    "👨‍💻", "👀", "🎃",    "🙈",    "😇",    "😨",
    "🤝", "✍",          "🤗", "🫡", "🎅",           "🎄", "☃",    "💅",    "🤪", "🗿",
    "🆒",    "💘",          "🙉",    "🦄", "😘",           "💊", "🙊",    "😎",    "👾",    "🤷‍♂",
    "🤷", "🤷‍♀", "😡"};

/* Models write "❤️" and "👍🏽" where the platform's list has "❤" and "👍". */
static void put_bare(struct sma_buf *buf, struct sma_str emoji)
{
    for (size_t at = 0, len; at < emoji.len; at += len) {
        unsigned char lead = (unsigned char)emoji.ptr[at];
        len = lead >= 0xF0   ? 4
              : lead >= 0xE0 ? 3
              : lead >= 0xC0 ? 2
                             : 1; /* valid: looked at before */
        struct sma_str one = {emoji.ptr + at, len};
        bool is_selector = sma_str_is_equal(one, SMA_STR("\xEF\xB8\x8F"));
        bool is_tone = len == 4 && memcmp(one.ptr, "\xF0\x9F\x8F", 3) == 0 &&
                       (unsigned char)one.ptr[3] >= 0xBB; /* U+1F3FB to U+1F3FF */
        if (!is_selector && !is_tone)
            sma_buf_put_str(buf, one);
    }
}

const char *telegram_reaction_find(struct sma_str emoji)
{
    const char *found = NULL;
    struct sma_buf bare;
    emoji = sma_str_trim(emoji);
    if (emoji.len == 0 || emoji.len > EMOJI_BYTES_MAX || !sma_utf8_is_valid(emoji))
        return NULL;
    sma_buf_init(&bare, EMOJI_BYTES_MAX + 1);
    put_bare(&bare, emoji);
    for (size_t i = 0; i < SMA_COUNT_OF(reactions) && found == NULL && bare.len > 0; i++)
        if (sma_str_is_equal(sma_buf_str(&bare), sma_str(reactions[i])))
            found = reactions[i];
    sma_buf_fini(&bare);
    return found;
}
