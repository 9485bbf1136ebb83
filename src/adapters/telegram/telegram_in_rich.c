/*
 * telegram_in_rich.c — a rich message (Bot API 10.1) has blocks in the place of `text`: flattened
 * to plain text, since the model needs the words, not the layout. The walk keeps its own stack: no
 * recursion on input.
 */
#include "telegram_in_priv.h"

#define FRAME_COUNT_MAX SMA_JSON_DEPTH_MAX

struct frame
{
    const json_t *value; /* array or object */
    size_t next;         /* child to visit */
    size_t start;        /* of its text in the buffer */
    char between;        /* written after each child that wrote something; 0 = nothing */
};

struct walk
{
    const struct telegram_bot *bot;
    struct sma_buf *buf;
    struct telegram_marks *marks;
    size_t base, command_end;
    struct frame frames[FRAME_COUNT_MAX];
    size_t frame_count;
};

/* The members that hold text, in reading order, and what stands between the children of a list. */
static const struct
{
    const char *name;
    char between;
} members[] = {
    {"title", 0},      {"summary", '\n'},       {"text", 0},
    {"expression", 0}, {"alternative_text", 0}, {"blocks", '\n'},
    {"items", '\n'},   {"cells", '\n'},         {"caption", 0},
    {"credit", 0},
};

static void visit(struct walk *walk, const json_t *value, char between)
{
    if (json_is_string(value))
        sma_buf_put(walk->buf, json_string_value(value), json_string_length(value));
    if ((!json_is_array(value) && !json_is_object(value)) || walk->frame_count == FRAME_COUNT_MAX)
        return;
    walk->frames[walk->frame_count++] =
        (struct frame){.value = value, .start = walk->buf->len, .between = between};
}

/* An object is complete: was it something that names us? */
static void leave(struct walk *walk, const struct frame *frame)
{
    struct sma_str type = telegram_in_str(frame->value, "type");
    struct telegram_range range = {frame->start - walk->base, walk->buf->len - walk->base};
    if (range.end == range.start)
        return;
    struct sma_str text = {walk->buf->ptr + frame->start, range.end - range.start};
    const json_t *user = telegram_in_object(frame->value, "user");
    if ((sma_str_is_equal(type, SMA_STR("mention")) && telegram_in_is_bot_named(walk->bot, text)) ||
        (sma_str_is_equal(type, SMA_STR("text_mention")) &&
         telegram_in_int(user, "id") == walk->bot->id))
        telegram_in_add_mention(walk->marks, range);
    if (sma_str_is_equal(type, SMA_STR("bot_command")) && range.start == 0 && text.ptr[0] == '/')
        walk->command_end = range.end;
}

static void put_between(struct walk *walk, const struct frame *frame)
{
    const struct sma_buf *buf = walk->buf;
    if (frame->between != 0 && buf->len > frame->start && buf->ptr[buf->len - 1] != '\n')
        sma_buf_put_char(walk->buf, frame->between);
}

/* One step: the next child of the innermost frame, or out of it. */
static void step(struct walk *walk)
{
    struct frame *frame = &walk->frames[walk->frame_count - 1];
    if (json_is_array(frame->value)) {
        bool has_more = frame->next < json_array_size(frame->value);
        if (frame->next > 0 && (has_more || frame->between == '\n'))
            put_between(walk, frame);
        if (has_more) {
            const json_t *child = json_array_get(frame->value, frame->next++);
            /* A row of a table is a list in a list. */
            visit(walk, child, frame->between == '\n' && json_is_array(child) ? '\t' : 0);
            return;
        }
    } else if (frame->next < SMA_COUNT_OF(members)) {
        size_t member = frame->next++;
        if (members[member].between == '\n' && walk->buf->len > frame->start &&
            telegram_in_has(frame->value, members[member].name) &&
            walk->buf->ptr[walk->buf->len - 1] != '\n')
            sma_buf_put_char(walk->buf, '\n');
        visit(walk, json_object_get(frame->value, members[member].name), members[member].between);
        return;
    } else {
        leave(walk, frame);
    }
    walk->frame_count--;
}

void telegram_in_put_rich_text(const struct telegram_bot *bot, const json_t *rich_message,
                               struct sma_buf *buf, struct telegram_marks *ret_marks)
{
    struct walk walk = {.bot = bot, .buf = buf, .marks = ret_marks, .base = buf->len};
    *ret_marks = (struct telegram_marks){.command = SMA_STR("")};
    visit(&walk, rich_message, 0);
    while (walk.frame_count > 0 && buf->err == SMA_ERR_OK)
        step(&walk);
    if (buf->err != SMA_ERR_OK || buf->len == walk.base)
        return;
    while (buf->len > walk.base && memchr(" \t\n", buf->ptr[buf->len - 1], 3) != NULL)
        buf->ptr[--buf->len] = '\0';
    size_t len = buf->len - walk.base;
    ret_marks->command =
        (struct sma_str){buf->ptr + walk.base, walk.command_end < len ? walk.command_end : len};
    for (size_t i = 0; i < ret_marks->mention_count; i++)
        if (ret_marks->mentions[i].end > len)
            ret_marks->mention_count = i;
}
