/* qq_card.c — requests for consent and their outcomes: their words and buttons. See qq_out.h;
 * Source: protocols/qq.md §6.2. */
#include "qq_out.h"

#include "runtime/delivery/split.h"
#include "sma/text.h"

#define WORDS_BYTES_MAX (4 * SMA_TEXT_BYTES_MAX)

static void take_first(void *user, const struct sma_split_part *part)
{
    struct sma_buf *buf = user;
    if (part->index == 0) {
        sma_buf_put_str(buf, part->body);
        sma_buf_put_str(buf, part->suffix);
    } else if (part->index == 1) {
        sma_buf_put_text(buf, "\n…");
    }
}

/* One message: what does not fit can be read in the list of requests. */
static SMA_CHECKED enum sma_err make_words(struct sma_buf *buf, const struct sma_card *card,
                                           struct sma_str text, bool is_markdown)
{
    struct sma_buf whole;
    sma_buf_init(&whole, WORDS_BYTES_MAX);
    sma_buf_init(buf, WORDS_BYTES_MAX);
    if (!card->is_outcome && card->title.len > 0) { /* the text of an outcome says it itself */
        sma_buf_put_text(&whole, is_markdown ? "**" : "");
        qq_put_clean_text(&whole, card->title, is_markdown);
        sma_buf_put_text(&whole, is_markdown ? "**\n\n" : "\n");
    }
    qq_put_clean_text(&whole, text, is_markdown);
    enum sma_err err = whole.err;
    if (err == SMA_ERR_OK)
        err = sma_text_split(sma_buf_str(&whole), QQ_PART_UNITS_LARGE, take_first, buf);
    sma_buf_fini(&whole);
    return err != SMA_ERR_OK ? err : buf->err;
}

static void make_buttons(struct qq_card *card)
{
    for (uint32_t i = 0; i < card->card.button_count; i++) {
        const struct sma_card_button *button = &card->card.buttons[i];
        card->ids[i][0] = (char)('a' + i); /* at most SMA_CARD_BUTTON_COUNT_MAX of them */
        card->ids[i][1] = '\0';
        card->buttons[i] = (struct qq_button){.label = button->text,
                                              .data = button->data,
                                              .is_primary = button->is_approval,
                                              .row = button->row};
    }
}
_Static_assert(SMA_CARD_BUTTON_COUNT_MAX <= 26, "a letter names each button");
_Static_assert(SMA_CARD_BUTTON_COUNT_MAX <= QQ_BUTTON_COUNT_MAX, "every button has a place");

enum sma_err qq_card_open(const struct qq_part *part, struct qq_card *ret_card)
{
    *ret_card = (struct qq_card){0};
    enum sma_err err = sma_card_parse(part->card_json, &ret_card->card);
    if (err != SMA_ERR_OK)
        return err;
    const struct sma_card *card = &ret_card->card;
    if (card->button_count > 0) /* without buttons there is nothing to win by Markdown */
        err = make_words(&ret_card->markdown, card, card->text, true);
    if (err == SMA_ERR_OK)
        err = make_words(&ret_card->plain, card, card->plain, false);
    if (err == SMA_ERR_OK && ret_card->plain.len == 0)
        err = SMA_ERR_BADINPUT; /* nothing to read */
    if (err != SMA_ERR_OK)
        qq_card_fini(ret_card);
    else
        make_buttons(ret_card);
    return err;
}

size_t qq_card_put_buttons(const struct qq_card *card, struct qq_button *buttons)
{
    for (uint32_t i = 0; i < card->card.button_count; i++) {
        buttons[i] = card->buttons[i];
        buttons[i].id = sma_str(card->ids[i]);
    }
    return card->card.button_count;
}

void qq_card_fini(struct qq_card *card)
{
    sma_card_fini(&card->card);
    sma_buf_fini(&card->markdown);
    sma_buf_fini(&card->plain);
    *card = (struct qq_card){0};
}
