/* feishu_mention.c — mentions: placeholders and tags become names. See feishu_event.h. */
#include "feishu_event_priv.h"

#include "runtime/text/attach.h"
#include "sma/text.h"

#define AT_TAG_BYTES_MAX 256

bool feishu_is_bot_id(const struct feishu_reading *reading, struct sma_str open_id)
{
    return open_id.len > 0 && sma_str_is_equal(open_id, reading->options->bot_open_id);
}

void feishu_read_mentions(struct feishu_reading *reading, const json_t *mentions)
{
    size_t count = json_array_size(mentions);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(mentions, i), *id = sma_json_get(item, "id");
        /* An object in events; a plain open_id in answers of the REST calls. */
        struct sma_str open_id =
            json_is_string(id) ? sma_json_str_of(id) : sma_json_str(id, "open_id");
        struct feishu_mention mention = {.key = sma_json_str(item, "key"),
                                         .name = sma_json_str(item, "name"),
                                         .is_bot = feishu_is_bot_id(reading, open_id)};
        reading->is_bot_mentioned = reading->is_bot_mentioned || mention.is_bot;
        if (sma_str_starts_with(mention.key, SMA_STR("@_")) &&
            reading->mention_count < FEISHU_MENTION_COUNT_MAX)
            reading->mentions[reading->mention_count++] = mention;
    }
}

/* The longest key that stands at the head of text: "@_user_1" does not stand at the head of
 * "@_user_10". */
static const struct feishu_mention *find_mention(const struct feishu_reading *reading,
                                                 struct sma_str text)
{
    const struct feishu_mention *found = NULL;
    for (size_t i = 0; i < reading->mention_count; i++) {
        const struct feishu_mention *mention = &reading->mentions[i];
        if (!sma_str_starts_with(text, mention->key) ||
            (found != NULL && found->key.len >= mention->key.len))
            continue;
        char next = text.len > mention->key.len ? text.ptr[mention->key.len] : ' ';
        if (next < '0' || next > '9')
            found = mention;
    }
    return found;
}

static void put_name(struct sma_buf *buf, struct sma_str name)
{
    sma_buf_put_char(buf, '@');
    sma_attach_put_label(buf, name, SMA_NAME_BYTES_MAX);
}

void feishu_put_mention(struct feishu_reading *reading, struct sma_buf *buf, struct sma_str who,
                        struct sma_str name)
{
    const struct feishu_mention *mention = NULL;
    for (size_t i = 0; i < reading->mention_count && mention == NULL; i++) {
        if (sma_str_is_equal(reading->mentions[i].key, who))
            mention = &reading->mentions[i];
    }
    if (feishu_is_bot_id(reading, who) || (mention != NULL && mention->is_bot)) {
        reading->is_bot_removed = true;
        return;
    }
    if (mention != NULL && mention->name.len > 0)
        name = mention->name;
    if (sma_str_is_equal(who, SMA_STR("all")) || sma_str_is_equal(who, SMA_STR("@_all")))
        name = name.len > 0 ? name : SMA_STR("all");
    if (name.len > 0)
        put_name(buf, name);
    else
        sma_attach_put_label(buf, who, SMA_NAME_BYTES_MAX);
}

/* Value of user_id="..." or open_id="..." in the inside of an <at> tag. */
static struct sma_str at_target(struct sma_str inside)
{
    static const char *const names[] = {"user_id=\"", "open_id=\"", "id=\""};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        const char *at = memmem(inside.ptr, inside.len, names[i], strlen(names[i]));
        if (at == NULL)
            continue;
        at += strlen(names[i]);
        size_t left = (size_t)(inside.ptr + inside.len - at);
        const char *end = memchr(at, '"', left);
        if (end != NULL)
            return (struct sma_str){at, (size_t)(end - at)};
    }
    return (struct sma_str){"", 0};
}

/* `<at user_id="ou_...">Name</at>` at the head of text. @return its length, 0 = it is not one */
static size_t put_at_tag(struct feishu_reading *reading, struct sma_buf *buf, struct sma_str text)
{
    if (!sma_str_starts_with(text, SMA_STR("<at ")))
        return 0;
    size_t limit = text.len < AT_TAG_BYTES_MAX ? text.len : AT_TAG_BYTES_MAX;
    const char *open_end = memchr(text.ptr, '>', limit);
    if (open_end == NULL)
        return 0;
    const char *name = open_end + 1;
    size_t left = (size_t)(text.ptr + text.len - name);
    const char *close =
        memmem(name, left < SMA_NAME_BYTES_MAX ? left : SMA_NAME_BYTES_MAX, "</at>", 5);
    struct sma_str who = at_target((struct sma_str){text.ptr, (size_t)(open_end - text.ptr)});
    if (close == NULL || who.len == 0)
        return 0;
    struct sma_str shown = {name, (size_t)(close - name)};
    if (shown.len > 0 && shown.ptr[0] == '@')
        shown = (struct sma_str){shown.ptr + 1, shown.len - 1};
    feishu_put_mention(reading, buf, who, shown);
    return (size_t)(close + 5 - text.ptr);
}

/* What stands at text's head and is a mention. @return its length in text, 0 = none */
static size_t put_mention_at(struct feishu_reading *reading, struct sma_buf *buf,
                             struct sma_str text)
{
    if (text.ptr[0] == '<')
        return put_at_tag(reading, buf, text);
    const struct feishu_mention *mention = find_mention(reading, text);
    if (mention != NULL) {
        feishu_put_mention(reading, buf, mention->key, mention->name);
        return mention->key.len;
    }
    if (sma_str_starts_with(text, SMA_STR("@_all"))) {
        feishu_put_mention(reading, buf, SMA_STR("@_all"), SMA_STR(""));
        return 5;
    }
    return 0;
}

static bool ends_blank(const struct sma_buf *buf)
{
    return buf->len == 0 || strchr(" \t\n", buf->ptr[buf->len - 1]) != NULL;
}

void feishu_put_resolved(struct feishu_reading *reading, struct sma_buf *buf, struct sma_str text)
{
    size_t from = 0;
    for (size_t i = 0; i < text.len;) {
        if (text.ptr[i] != '@' && text.ptr[i] != '<') {
            i++;
            continue;
        }
        sma_buf_put(buf, text.ptr + from, i - from);
        from = i;
        size_t before = buf->len;
        size_t used = put_mention_at(reading, buf, (struct sma_str){text.ptr + i, text.len - i});
        i += used > 0 ? used : 1;
        if (used == 0)
            continue;
        /* Where the bot's name was taken out, one of the two gaps beside it goes too. */
        while (buf->len == before && ends_blank(buf) && i < text.len && text.ptr[i] == ' ')
            i++;
        from = i;
    }
    sma_buf_put(buf, text.ptr + from, text.len - from);
}
