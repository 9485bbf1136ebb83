/* msg.c — one allocation a message: header, body, room for strings. */
#include "sma/msg.h"

#include <stdlib.h>

#define MSG_MAGIC 0x4D53474Du
#define ROOM_ALIGN 16u

static size_t align_up(size_t bytes)
{
    return (bytes + ROOM_ALIGN - 1) & ~(size_t)(ROOM_ALIGN - 1);
}

struct sma_msg *sma_msg_create(unsigned kind, size_t body_bytes, size_t space)
{
    if (body_bytes > UINT32_MAX / 2 || space > UINT32_MAX / 2)
        return NULL;
    size_t fixed = sizeof(struct sma_msg) + align_up(body_bytes);
    struct sma_msg *msg = malloc(fixed + space);
    if (msg == NULL)
        return NULL;
    memset(msg, 0, fixed); /* not the room: every piece of it is written when it is given out */
    msg->magic = MSG_MAGIC;
    msg->kind = (uint16_t)kind;
    msg->body_bytes = (uint32_t)body_bytes;
    msg->space_bytes = (uint32_t)space;
    return msg;
}

void sma_msg_destroy(struct sma_msg *msg)
{
    if (msg == NULL)
        return;
    SMA_ASSERT(msg->magic == MSG_MAGIC);
    msg->magic = 0;
    free(msg);
}

void sma_msg_destroyp(struct sma_msg **msg)
{
    sma_msg_destroy(*msg);
    *msg = NULL;
}

void *sma_msg_body(struct sma_msg *msg, size_t at_least)
{
    SMA_ASSERT(msg->magic == MSG_MAGIC);
    SMA_ASSERT(msg->body_bytes >= at_least);
    return msg->body;
}

/* Reckoned from the allocation, not from the member: what inlines this would think of the body's
 * first field as the whole. */
static char *room_of(struct sma_msg *msg)
{
    char *start = (char *)msg;
    __asm__("" : "+r"(start));
    return start + offsetof(struct sma_msg, body) + align_up(msg->body_bytes);
}

struct sma_str sma_msg_dup(struct sma_msg *msg, struct sma_str text)
{
    SMA_ASSERT(msg->magic == MSG_MAGIC);
    SMA_ASSERT(text.len < msg->space_bytes - msg->space_used);
    char *to = room_of(msg) + msg->space_used;
    if (text.len > 0 && text.ptr != NULL)
        memcpy(to, text.ptr, text.len);
    to[text.len] = '\0';
    msg->space_used += (uint32_t)text.len + 1;
    return (struct sma_str){to, text.len};
}

void *sma_msg_space(struct sma_msg *msg, size_t bytes)
{
    SMA_ASSERT(msg->magic == MSG_MAGIC);
    size_t at = align_up(msg->space_used);
    SMA_ASSERT(at <= msg->space_bytes && bytes <= msg->space_bytes - at);
    char *to = room_of(msg) + at;
    memset(to, 0, bytes);
    msg->space_used = (uint32_t)(at + bytes);
    return to;
}

char *sma_msg_fill(struct sma_msg *msg, struct sma_str slice)
{
    SMA_ASSERT(msg->magic == MSG_MAGIC);
    char *room = room_of(msg);
    size_t at = (size_t)(slice.ptr - room);
    SMA_ASSERT(at <= msg->space_used && slice.len <= msg->space_used - at);
    return room + at;
}
