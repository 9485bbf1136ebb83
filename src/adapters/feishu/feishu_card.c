/* feishu_card.c — requests for consent, their outcomes, and reactions: what is sent for them. See
 * feishu_out.h. */
#include "feishu_out.h"

#include "sma/text.h"

#define PLAIN_BYTES_MAX (64 * 1024)
#define EMOJI_BYTES_MAX 64
#define CLEAN_BYTES_MAX (4 * SMA_TEXT_BYTES_MAX)

/* -- cards ------------------------------------------------------------------------------------- */
static void put_value(struct sma_buf *buf, struct sma_str data)
{
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_key(buf, FEISHU_CONSENT_VALUE);
    sma_buf_put_json_string(buf, data);
    sma_buf_put_char(buf, '}');
}

/* The values stand one behind the other; their slices can be cut when the buffer grows no more. */
static void make_buttons(struct feishu_consent *consent)
{
    size_t ends[SMA_CARD_BUTTON_COUNT_MAX] = {0};
    const struct sma_card *card = &consent->card;
    for (uint32_t i = 0; i < card->button_count; i++) {
        put_value(&consent->values, card->buttons[i].data);
        ends[i] = consent->values.len;
    }
    for (uint32_t i = 0; i < card->button_count && consent->values.err == SMA_ERR_OK; i++) {
        size_t from = i == 0 ? 0 : ends[i - 1];
        const char *action = card->buttons[i].is_approval ? "primary" : "danger";
        consent->buttons[i] =
            (struct feishu_button){.label = card->buttons[i].text,
                                   .value_json = {consent->values.ptr + from, ends[i] - from},
                                   .type = action,
                                   .row = card->buttons[i].row};
    }
}

enum sma_err feishu_consent_open(const struct feishu_part *part, struct feishu_consent *ret_consent)
{
    struct feishu_consent consent = {0};
    enum sma_err err = sma_card_parse(part->text, &consent.card);
    if (err != SMA_ERR_OK)
        return err;
    sma_buf_init(&consent.markdown, CLEAN_BYTES_MAX);
    sma_buf_init(&consent.plain, CLEAN_BYTES_MAX);
    sma_buf_init(&consent.values, SMA_CARD_BUTTON_COUNT_MAX * 8 * SMA_CARD_DATA_BYTES_MAX);
    feishu_put_clean_text(&consent.markdown, consent.card.text, true);
    struct sma_str plain = consent.card.plain;
    plain.len = sma_utf8_cut(plain, PLAIN_BYTES_MAX);
    feishu_put_clean_text(&consent.plain, plain, false);
    make_buttons(&consent);
    err = consent.markdown.err != SMA_ERR_OK ? consent.markdown.err
          : consent.plain.err != SMA_ERR_OK  ? consent.plain.err
                                             : consent.values.err;
    if (err != SMA_ERR_OK)
        feishu_consent_fini(&consent);
    else
        *ret_consent = consent;
    return err;
}

void feishu_consent_fini(struct feishu_consent *consent)
{
    sma_card_fini(&consent->card);
    sma_buf_fini(&consent->markdown);
    sma_buf_fini(&consent->plain);
    sma_buf_fini(&consent->values);
    *consent = (struct feishu_consent){0};
}

struct feishu_card feishu_consent_card(const struct feishu_consent *consent)
{
    return (struct feishu_card){.title = consent->card.title,
                                .template = consent->card.is_outcome ? "grey" : "orange",
                                .markdown = sma_buf_str(&consent->markdown),
                                .buttons = consent->buttons,
                                .button_count = consent->card.button_count};
}

/* -- reactions --------------------------------------------------------------------------------- */
/* Source: the platform's list of emoji_type for reactions. Several emoji may mean one of them. */
static const struct
{
    const char *emoji, *type;
} reactions[] = {
    {"👍", "THUMBSUP"},     {"👎", "ThumbsDown"},    {"👌", "OK"},
    {"🆗", "OK"},           {"❤", "HEART"},         {"💔", "HEARTBROKEN"},
    {"🔥", "Fire"},         {"🎉", "PARTY"},         {"🥳", "PARTY"},
    {"👏", "APPLAUSE"},     {"🙏", "THANKS"},        {"💪", "MUSCLE"},
    {"🤝", "SHAKE"},     {"👋", "WAVE"},          {"🫡", "SALUTE"},
    {"🤞", "LUCK"},      {"✅", "DONE"},          {"✔", "CheckMark"},
    {"☑", "CheckMark"},    {"❌", "CrossMark"},     {"💯", "Hundred"},
    {"➕", "JIAYI"},        {"➖", "MinusOne"},      {"👀", "GLANCE"},
    {"🙂", "SMILE"},     {"😊", "BLUSH"},         {"😄", "LAUGH"},
    {"😁", "LAUGH"},        {"😆", "LAUGH"},         {"😂", "LOL"},
    {"🤣", "LOL"},       {"😉", "WINK"},          {"😍", "LOVE"},
    {"🥰", "LOVE"},      {"😘", "KISS"},          {"😎", "SMART"},
    {"🤔", "THINKING"},  {"😮", "WOW"},           {"🤩", "WOW"},
    {"😱", "TERROR"},       {"😨", "SHOCKED"},       {"😭", "SOB"},
    {"😢", "CRY"},          {"😡", "ANGRY"},         {"😠", "ANGRY"},
    {"😅", "SWEAT"},        {"🙄", "SPEECHLESS"}, {"🤦", "FACEPALM"},
    {"🤷", "Shrug"},     {"😴", "SLEEP"},         {"🥱", "YAWN"},
    {"🤒", "SICK"},      {"🤮", "PUKE"},       {"🤗", "HUG"},
    {"🤫", "SHHH"},      {"🤡", "ClownFace"},  {"💩", "POOP"},
    {"💀", "SKULL"},        {"🌹", "ROSE"},          {"🍺", "BEER"},
    {"🎂", "CAKE"},         {"🎁", "GIFT"},          {"☕", "Coffee"},
    {"🏆", "Trophy"},       {"📌", "Pin"},           {"⏰", "Alarm"},
    {"📢", "Loudspeaker"},  {"🎵", "Music"},         {"🎄", "XmasTree"},
    {"⛄", "Snowman"},      {"☃", "Snowman"},       {"🎆", "FIREWORKS"},
    {"🧧", "REDPACKET"}, {"💣", "BOMB"},          {"⚽", "Soccer"},
    {"🏀", "Basketball"},   {"💋", "LIPS"},          {"😏", "SMIRK"},
    {"🤪", "CRAZY"},     {"😵", "DIZZY"},
};

const char *feishu_reaction_find(struct sma_str emoji)
{
    char bare[EMOJI_BYTES_MAX];
    size_t len = 0;
    emoji = sma_str_trim(emoji);
    if (emoji.len == 0 || emoji.len > sizeof bare || !sma_utf8_is_valid(emoji))
        return NULL;
    for (size_t at = 0, size; at < emoji.len; at += size) {
        unsigned char lead = (unsigned char)emoji.ptr[at];
        size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
        const char *one = emoji.ptr + at;
        bool is_selector = size == 3 && memcmp(one, "\xEF\xB8\x8F", 3) == 0;
        bool is_tone = size == 4 && memcmp(one, "\xF0\x9F\x8F", 3) == 0 &&
                       (unsigned char)one[3] >= 0xBB; /* U+1F3FB to U+1F3FF: skin */
        if (is_selector || is_tone)
            continue;
        memcpy(bare + len, one, size);
        len += size;
    }
    for (size_t i = 0; i < SMA_COUNT_OF(reactions); i++)
        if (sma_str_is_equal((struct sma_str){bare, len}, sma_str(reactions[i].emoji)) ||
            sma_str_is_equal_nocase(emoji, sma_str(reactions[i].type)))
            return reactions[i].type;
    return NULL;
}

void feishu_put_reaction_path(struct sma_buf *buf, struct sma_str message_id)
{
    feishu_put_message_path(buf, message_id);
    sma_buf_put_text(buf, "/reactions");
}

void feishu_put_reaction(struct sma_buf *buf, const char *emoji_type)
{
    sma_buf_put_text(buf, "{\"reaction_type\":{\"emoji_type\":");
    sma_buf_put_json_string(buf, sma_str(emoji_type));
    sma_buf_put_text(buf, "}}");
}
