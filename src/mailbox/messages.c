/*
 * messages.c — made from message_table.h: names, sizes and copies of all messages; what a webhook's
 * headers say.
 */
#include "sma/messages.h"
#include "sma/text.h"

#define ROOM_ALIGN 16u /* what one sma_msg_space may cost besides its bytes */

const char *sma_msg_kind_name(unsigned kind)
{
    static const char *const names[SMA_MSG_KIND_COUNT] = {
        [SMA_MSG_NONE] = "NONE",
#define MSG(kind, name, class, from, to, body) [SMA_MSG_##kind] = #kind,
#include "sma/message_table.h"
    };
    return kind < SMA_MSG_KIND_COUNT ? names[kind] : "UNKNOWN";
}

/* -- room: bytes behind the body that its texts and lists take --------------------------------- */
typedef size_t room_fn(const void *body);
typedef void copy_fn(struct sma_msg *msg, void *body);
typedef void place_fn(void *body, const char *base);

static size_t room_text(const void *text)
{
    return ((const struct sma_str *)text)->len + 1;
}

static size_t room_list(const void *items, uint32_t count, size_t item_bytes, room_fn *room_of)
{
    size_t room = count == 0 ? 0 : ROOM_ALIGN + count * item_bytes;
    for (uint32_t i = 0; items != NULL && i < count; i++)
        room += room_of((const char *)items + i * item_bytes);
    return room;
}

/* clang-format off */
#define BODY(struct_name) \
    static size_t room_##struct_name(const void *body) \
    { \
        const struct struct_name *it = body; \
        size_t room = 0; \
        (void)it;
#define FIELD(type, name)
#define FIXED(type, name, count)
#define TEXT(name) room += room_text(&it->name);
#define TEXTS(count, names) \
        room += room_list(it->names, it->count, sizeof *it->names, room_text);
#define PART(struct_name, name) room += room_##struct_name(&it->name);
#define LIST(struct_name, count, names) \
        room += room_list(it->names, it->count, sizeof *it->names, room_##struct_name);
#define END \
        return room; \
    }
#include "sma/message_table.h"
/* clang-format on */

/* -- copies: every slice of a body that was copied bit by bit gets its own bytes in the message  */
static void copy_text(struct sma_msg *msg, void *text)
{
    struct sma_str *it = text;
    *it = sma_msg_dup(msg, *it);
}

static void *copy_list(struct sma_msg *msg, const void *items, uint32_t count, size_t item_bytes,
                       copy_fn *copy)
{
    if (count == 0)
        return NULL;
    char *to = sma_msg_space(msg, count * item_bytes);
    if (items == NULL)
        return to;
    memcpy(to, items, count * item_bytes);
    for (uint32_t i = 0; i < count; i++)
        copy(msg, to + i * item_bytes);
    return to;
}

/* clang-format off */
#define BODY(struct_name) \
    static void copy_##struct_name(struct sma_msg *msg, void *body) \
    { \
        struct struct_name *it = body; \
        (void)it; \
        (void)msg;
#define FIELD(type, name)
#define FIXED(type, name, count)
#define TEXT(name) copy_text(msg, &it->name);
#define TEXTS(count, names) \
        it->names = copy_list(msg, it->names, it->count, sizeof *it->names, copy_text);
#define PART(struct_name, name) copy_##struct_name(msg, &it->name);
#define LIST(struct_name, count, names) \
        it->names = copy_list(msg, it->names, it->count, sizeof *it->names, copy_##struct_name);
#define END \
    }
#include "sma/message_table.h"
/* clang-format on */

/* -- places: offsets become slices ------------------------------------------------------------- */
static void place_text(void *text, const char *base)
{
    struct sma_str *it = text;
    it->ptr = base + (uintptr_t)it->ptr;
}

static void place_list(void *items, uint32_t count, size_t item_bytes, const char *base,
                       place_fn *place)
{
    for (uint32_t i = 0; i < count; i++)
        place((char *)items + i * item_bytes, base);
}

/* clang-format off */
#define BODY(struct_name) \
    static void place_##struct_name(void *body, const char *base) \
    { \
        struct struct_name *it = body; \
        (void)it; \
        (void)base;
#define FIELD(type, name)
#define FIXED(type, name, count)
#define TEXT(name) place_text(&it->name, base);
#define TEXTS(count, names) \
        place_list(it->names, it->count, sizeof *it->names, base, place_text);
#define PART(struct_name, name) place_##struct_name(&it->name, base);
#define LIST(struct_name, count, names) \
        place_list(it->names, it->count, sizeof *it->names, base, place_##struct_name);
#define END \
    }
#include "sma/message_table.h"
/* clang-format on */

/* -- by kind ----------------------------------------------------------------------------------- */
struct shape
{
    size_t body_bytes;
    room_fn *room;
    copy_fn *copy;
    place_fn *place;
};

static const struct shape shapes[SMA_MSG_KIND_COUNT] = {
#define MSG(kind, name, class, from, to, body) \
    [SMA_MSG_##kind] = {sizeof(struct body), room_##body, copy_##body, place_##body},
#include "sma/message_table.h"
};

struct sma_msg *sma_msg_make(unsigned kind, const void *body)
{
    SMA_ASSERT(kind > SMA_MSG_NONE && kind < SMA_MSG_KIND_COUNT);
    const struct shape *shape = &shapes[kind];
    struct sma_msg *msg = sma_msg_create(kind, shape->body_bytes, shape->room(body));
    if (msg == NULL)
        return NULL;
    memcpy(msg->body, body, shape->body_bytes);
    shape->copy(msg, msg->body);
    return msg;
}

void sma_msg_place(unsigned kind, void *body, const char *base)
{
    SMA_ASSERT(kind > SMA_MSG_NONE && kind < SMA_MSG_KIND_COUNT);
    shapes[kind].place(body, base);
}

size_t sma_route_space(const struct sma_route *route)
{
    return room_sma_route(route);
}

struct sma_route sma_route_dup(struct sma_msg *msg, const struct sma_route *route)
{
    struct sma_route copy = *route;
    copy_sma_route(msg, &copy);
    return copy;
}

/* One line of the headers is `name: value CR LF`; the parser that took them has refused everything
 * else. */
struct sma_str sma_webhook_header(const struct sma_webhook *webhook, const char *name)
{
    size_t name_len = strlen(name);
    struct sma_str rest = webhook->headers;
    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t line_len = end == NULL ? rest.len : (size_t)(end - rest.ptr) + 1;
        struct sma_str line = {rest.ptr, line_len};
        if (line.len > name_len && line.ptr[name_len] == ':' &&
            sma_str_is_equal_nocase((struct sma_str){line.ptr, name_len}, sma_str(name)))
            return sma_str_trim((struct sma_str){line.ptr + name_len + 1, line.len - name_len - 1});
        rest = (struct sma_str){rest.ptr + line_len, rest.len - line_len};
    }
    return (struct sma_str){NULL, 0};
}
