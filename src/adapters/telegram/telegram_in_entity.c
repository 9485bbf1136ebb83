/*
 * telegram_in_entity.c — entities count in UTF-16 units, the text is UTF-8. Mentions are found and
 * taken out by range, never by looking for "@name" in the text, where it may be part of an address
 * or of another bot's name.
 */
#include "telegram_in_priv.h"

#define UNITS_MAX (INT64_C(1) << 40) /* beyond any text; keeps sums from overflowing */

static size_t bytes_of(unsigned char lead)
{
    if (lead < 0x80)
        return 1;
    if (lead < 0xe0)
        return 2;
    return lead < 0xf0 ? 3 : 4;
}

/* Bytes before unit `unit`. Inside a surrogate pair: after the whole character if is_up, else
 * before it. */
static size_t byte_at_unit(struct sma_str text, int64_t unit, bool is_up)
{
    int64_t units = 0;
    size_t at = 0;
    while (at < text.len && units < unit) {
        size_t len = bytes_of((unsigned char)text.ptr[at]);
        int64_t width = len == 4 ? 2 : 1;
        if (units + width > unit && !is_up)
            break;
        units += width;
        at += len;
    }
    return at < text.len ? at : text.len;
}

bool telegram_in_range(struct sma_str text, int64_t offset, int64_t length,
                       struct telegram_range *ret_range)
{
    if (length <= 0 || offset >= UNITS_MAX || offset <= -UNITS_MAX)
        return false;
    int64_t end_unit = offset + (length < UNITS_MAX ? length : UNITS_MAX);
    int64_t start_unit = offset < 0 ? 0 : offset;
    if (end_unit <= start_unit)
        return false;
    size_t start = byte_at_unit(text, start_unit, true);
    struct sma_str rest = {text.ptr + start, text.len - start};
    /* Half a pair at the start has moved `start` by one unit more than was asked for. */
    int64_t passed = (int64_t)sma_utf16_length((struct sma_str){text.ptr, start});
    if (text.len == 0 || end_unit <= passed)
        return false;
    size_t end = start + byte_at_unit(rest, end_unit - passed, false);
    if (end <= start)
        return false;
    *ret_range = (struct telegram_range){start, end};
    return true;
}

static struct sma_str cut_out(struct sma_str text, struct telegram_range range)
{
    return (struct sma_str){text.ptr + range.start, range.end - range.start};
}

bool telegram_in_is_bot_named(const struct telegram_bot *bot, struct sma_str mention)
{
    return bot->username.len > 0 && mention.len > 1 && mention.ptr[0] == '@' &&
           sma_str_is_equal_nocase((struct sma_str){mention.ptr + 1, mention.len - 1},
                                   bot->username);
}

/* Keep them sorted and apart; what overlaps one that is there is the same place of the text. */
void telegram_in_add_mention(struct telegram_marks *marks, struct telegram_range range)
{
    size_t at = marks->mention_count;
    if (at == TELEGRAM_MENTION_COUNT_MAX)
        return;
    for (size_t i = 0; i < marks->mention_count; i++)
        if (range.start < marks->mentions[i].end && marks->mentions[i].start < range.end)
            return;
    for (; at > 0 && marks->mentions[at - 1].start > range.start; at--)
        marks->mentions[at] = marks->mentions[at - 1];
    marks->mentions[at] = range;
    marks->mention_count++;
}

static void read_entity(const struct telegram_bot *bot, struct sma_str text, const json_t *entity,
                        struct telegram_marks *marks)
{
    struct sma_str type = telegram_in_str(entity, "type");
    bool is_command = sma_str_is_equal(type, SMA_STR("bot_command"));
    bool is_mention = sma_str_is_equal(type, SMA_STR("mention"));
    bool is_named = sma_str_is_equal(type, SMA_STR("text_mention"));
    const json_t *offset_json = json_object_get(entity, "offset");
    struct telegram_range range;
    if ((!is_command && !is_mention && !is_named) || !json_is_integer(offset_json))
        return;
    int64_t offset = (int64_t)json_integer_value(offset_json);
    if (is_command && offset != 0)
        return;
    if (is_named && telegram_in_int(telegram_in_object(entity, "user"), "id") != bot->id)
        return;
    if (!telegram_in_range(text, offset, telegram_in_int(entity, "length"), &range))
        return;
    if (is_command) {
        if (text.ptr[0] == '/')
            marks->command = cut_out(text, range);
        return;
    }
    if (is_named || telegram_in_is_bot_named(bot, cut_out(text, range)))
        telegram_in_add_mention(marks, range);
}

void telegram_in_read_marks(const struct telegram_bot *bot, struct sma_str text,
                            const json_t *entities, struct telegram_marks *ret_marks)
{
    *ret_marks = (struct telegram_marks){.command = SMA_STR("")};
    size_t count = json_array_size(entities);
    for (size_t i = 0; i < count && i < TELEGRAM_ENTITY_COUNT_MAX && text.len > 0; i++)
        read_entity(bot, text, json_array_get(entities, i), ret_marks);
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static size_t count_lines(struct sma_str space)
{
    size_t count = 0;
    for (size_t i = 0; i < space.len; i++)
        count += space.ptr[i] == '\n';
    return count;
}

static bool ends_in_space(const struct sma_buf *buf, size_t base)
{
    return buf->len > base && is_space(buf->ptr[buf->len - 1]);
}

/* What stays of the white space around a gap that is neither at the beginning nor at the end. */
static struct sma_str choose_space(struct sma_str before, struct sma_str after, char next)
{
    if (after.len == 0)
        return memchr(",.;:!?)]}", next, 9) == NULL ? before : SMA_STR(""); /* "thanks @bot, do" */
    return before.len == 0 || count_lines(after) > count_lines(before) ? after : before;
}

void telegram_in_put_stripped(struct sma_buf *buf, struct sma_str text,
                              const struct telegram_marks *marks)
{
    size_t at = 0, base = buf->len;
    for (size_t i = 0; i < marks->mention_count; i++) {
        struct telegram_range gap = marks->mentions[i];
        size_t left = gap.start, right = gap.end;
        while (left > at && is_space(text.ptr[left - 1]))
            left--;
        while (right < text.len && is_space(text.ptr[right]))
            right++;
        sma_buf_put(buf, text.ptr + at, left - at);
        at = right;
        if (right == text.len) {
            while (ends_in_space(buf, base))
                buf->ptr[--buf->len] = '\0';
        } else if (buf->len > base && !ends_in_space(buf, base)) {
            sma_buf_put_str(buf, choose_space((struct sma_str){text.ptr + left, gap.start - left},
                                              (struct sma_str){text.ptr + gap.end, right - gap.end},
                                              text.ptr[right]));
        }
    }
    if (at < text.len)
        sma_buf_put(buf, text.ptr + at, text.len - at);
}
