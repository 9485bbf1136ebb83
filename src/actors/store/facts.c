/*
 * The opaque bytes kept beside a row. Version 1: version byte, flags, wall time, ten fields of
 * 4-byte length and bytes. Version 2, for rows that still need something before they run: version
 * byte, flags, wall time, control byte, two more fields. Version 3, for words that may be the
 * answer to a request: one more field. Behind all of it tails may follow: a mark, 4-byte length and
 * bytes; a version that does not know a mark passes over it.
 */
#include "facts.h"

#include <jansson.h>
#include <stdlib.h>

#define FACTS_VERSION 1
#define FACTS_VERSION_MORE 2
#define FACTS_VERSION_WORDS 3
#define FACTS_VERSION_FUTURE_MAX 15 /* more is no version, but damage */
#define FACTS_FIELD_COUNT 10
#define FACTS_FIELD_COUNT_MORE 12
#define FACTS_FIELD_COUNT_MAX 13
#define FACTS_HAS_TEXT 1
#define FACTS_WANTS_ROLE 2
#define FACTS_IS_GROUP 4
#define FACTS_IS_ADMIN 8
#define FACTS_MAY_ANSWER 16
#define FACTS_ELSE_IGNORED 32
#define FACTS_IS_JUDGED 64
#define FACTS_HAS_ACCEPTED 128 /* eight bytes more behind the fields */
#define FACTS_TAIL_PARTS 'P'
#define FACTS_TAIL_CHANGE 'c'   /* one byte */
#define FACTS_TAIL_APART 'a'    /* without bytes */
#define FACTS_TAIL_BEHIND 'b'   /* likewise */
#define FACTS_TAIL_RETRY 'r'    /* likewise */
#define FACTS_TAIL_OPEN 'o'     /* likewise */
#define FACTS_TAIL_FALLBACK 'f' /* likewise */
#define FACTS_TAIL_WHY 'w'      /* a word */

static size_t field_count(int version)
{
    return version == FACTS_VERSION        ? FACTS_FIELD_COUNT
           : version == FACTS_VERSION_MORE ? FACTS_FIELD_COUNT_MORE
                                           : FACTS_FIELD_COUNT_MAX;
}

static void put_field(struct sma_buf *buf, struct sma_str field)
{
    uint32_t len = (uint32_t)field.len;
    sma_buf_put(buf, &len, sizeof len);
    sma_buf_put_str(buf, field);
}

void sma_store_facts_put(struct sma_buf *buf, const struct store_facts *facts)
{
    const struct sma_route *route = &facts->route;
    const struct sma_str fields[FACTS_FIELD_COUNT_MAX] = {
        route->channel,     route->chat_id,
        route->chat_type,   route->thread_id,
        route->message_id,  route->user_id,
        route->user_name,   route->language,
        facts->context,     facts->has_text ? facts->text : (struct sma_str){NULL, 0},
        facts->preparation, facts->group_key,
        facts->request_id,
    };
    bool has_more = facts->preparation.len > 0 || facts->group_key.len > 0 || facts->wants_role ||
                    facts->control != 0;
    int version = facts->request_id.len > 0 ? FACTS_VERSION_WORDS
                  : has_more                ? FACTS_VERSION_MORE
                                            : FACTS_VERSION;
    sma_buf_put_char(buf, (char)version);
    sma_buf_put_char(
        buf,
        (char)((facts->has_text ? FACTS_HAS_TEXT : 0) | (facts->wants_role ? FACTS_WANTS_ROLE : 0) |
               (facts->is_group ? FACTS_IS_GROUP : 0) | (facts->is_admin ? FACTS_IS_ADMIN : 0) |
               (facts->may_answer ? FACTS_MAY_ANSWER : 0) |
               (facts->is_else_ignored ? FACTS_ELSE_IGNORED : 0) |
               (facts->is_judged ? FACTS_IS_JUDGED : 0) |
               (facts->accepted_ms != 0 ? FACTS_HAS_ACCEPTED : 0)));
    sma_buf_put(buf, &facts->wall_ms, sizeof facts->wall_ms);
    if (version != FACTS_VERSION)
        sma_buf_put_char(buf, (char)facts->control);
    for (size_t i = 0; i < field_count(version); i++)
        put_field(buf, fields[i]);
    if (facts->accepted_ms != 0)
        sma_buf_put(buf, &facts->accepted_ms, sizeof facts->accepted_ms);
    if (facts->parts.len > 0) {
        sma_buf_put_char(buf, FACTS_TAIL_PARTS);
        put_field(buf, facts->parts);
    }
    if (facts->change != 0) {
        sma_buf_put_char(buf, FACTS_TAIL_CHANGE);
        put_field(buf, (struct sma_str){(const char *)&facts->change, 1});
    }
    const struct
    {
        bool is_set;
        char mark;
    } flags[] = {{facts->is_retry, FACTS_TAIL_RETRY},
                 {facts->is_apart, FACTS_TAIL_APART},
                 {facts->is_fallback, FACTS_TAIL_FALLBACK},
                 {facts->is_behind, FACTS_TAIL_BEHIND},
                 {facts->is_role_open, FACTS_TAIL_OPEN}};
    for (size_t i = 0; i < SMA_COUNT_OF(flags); i++)
        if (flags[i].is_set) {
            sma_buf_put_char(buf, flags[i].mark);
            put_field(buf, SMA_STR(""));
        }
    if (facts->why.len > 0) {
        sma_buf_put_char(buf, FACTS_TAIL_WHY);
        put_field(buf, facts->why);
    }
}

static SMA_CHECKED enum sma_err get_tails(struct sma_str bytes, struct store_facts *facts)
{
    for (uint32_t len; bytes.len > 0;) {
        char mark = bytes.ptr[0];
        if (bytes.len < 1 + sizeof len)
            return SMA_ERR_CORRUPT;
        memcpy(&len, bytes.ptr + 1, sizeof len);
        bytes = (struct sma_str){bytes.ptr + 1 + sizeof len, bytes.len - 1 - sizeof len};
        if (bytes.len < len)
            return SMA_ERR_CORRUPT;
        if (mark == FACTS_TAIL_PARTS)
            facts->parts = (struct sma_str){bytes.ptr, len};
        if (mark == FACTS_TAIL_CHANGE && len == 1)
            facts->change = (uint8_t)bytes.ptr[0];
        if (mark == FACTS_TAIL_WHY)
            facts->why = (struct sma_str){bytes.ptr, len};
        facts->is_apart |= mark == FACTS_TAIL_APART;
        facts->is_behind |= mark == FACTS_TAIL_BEHIND;
        facts->is_fallback |= mark == FACTS_TAIL_FALLBACK;
        facts->is_retry |= mark == FACTS_TAIL_RETRY;
        facts->is_role_open |= mark == FACTS_TAIL_OPEN;
        bytes = (struct sma_str){bytes.ptr + len, bytes.len - len};
    }
    return SMA_ERR_OK;
}

enum sma_err sma_store_facts_get(struct sma_str bytes, struct store_facts *ret_facts)
{
    struct store_facts facts = {0};
    size_t at = 2 + sizeof facts.wall_ms;
    if (bytes.len < at + 1 || bytes.ptr[0] < FACTS_VERSION || bytes.ptr[0] > FACTS_VERSION_WORDS)
        return SMA_ERR_CORRUPT;
    int version = bytes.ptr[0];
    facts.has_text = (bytes.ptr[1] & FACTS_HAS_TEXT) != 0;
    facts.wants_role = (bytes.ptr[1] & FACTS_WANTS_ROLE) != 0;
    facts.is_group = (bytes.ptr[1] & FACTS_IS_GROUP) != 0;
    facts.is_admin = (bytes.ptr[1] & FACTS_IS_ADMIN) != 0;
    facts.may_answer = (bytes.ptr[1] & FACTS_MAY_ANSWER) != 0;
    facts.is_else_ignored = (bytes.ptr[1] & FACTS_ELSE_IGNORED) != 0;
    facts.is_judged = (bytes.ptr[1] & FACTS_IS_JUDGED) != 0;
    memcpy(&facts.wall_ms, bytes.ptr + 2, sizeof facts.wall_ms);
    if (version != FACTS_VERSION)
        facts.control = (uint8_t)bytes.ptr[at++];
    struct sma_str *fields[FACTS_FIELD_COUNT_MAX] = {
        &facts.route.channel,    &facts.route.chat_id,
        &facts.route.chat_type,  &facts.route.thread_id,
        &facts.route.message_id, &facts.route.user_id,
        &facts.route.user_name,  &facts.route.language,
        &facts.context,          &facts.text,
        &facts.preparation,      &facts.group_key,
        &facts.request_id,
    };
    for (size_t i = 0; i < field_count(version); i++) {
        uint32_t len;
        if (bytes.len - at < sizeof len)
            return SMA_ERR_CORRUPT;
        memcpy(&len, bytes.ptr + at, sizeof len);
        at += sizeof len;
        if (bytes.len - at < len)
            return SMA_ERR_CORRUPT;
        *fields[i] = (struct sma_str){bytes.ptr + at, len};
        at += len;
    }
    bool has_accepted = (bytes.ptr[1] & FACTS_HAS_ACCEPTED) != 0;
    if (has_accepted && bytes.len - at < sizeof facts.accepted_ms)
        return SMA_ERR_CORRUPT;
    if (has_accepted) {
        memcpy(&facts.accepted_ms, bytes.ptr + at, sizeof facts.accepted_ms);
        at += sizeof facts.accepted_ms;
    }
    SMA_TRY(get_tails((struct sma_str){bytes.ptr + at, bytes.len - at}, &facts));
    *ret_facts = facts;
    return SMA_ERR_OK;
}

bool sma_store_facts_is_newer(struct sma_str bytes)
{
    return bytes.len > 0 && bytes.ptr[0] > FACTS_VERSION_WORDS &&
           bytes.ptr[0] <= FACTS_VERSION_FUTURE_MAX;
}

enum sma_err sma_store_line_text(struct sma_str line, struct sma_buf *buf)
{
    json_t *root = json_loadb(line.ptr, line.len, JSON_ALLOW_NUL, NULL);
    json_t *text = json_object_get(root, "text");
    enum sma_err err = SMA_ERR_CORRUPT;
    if (json_is_string(text)) {
        sma_buf_put(buf, json_string_value(text), json_string_length(text));
        err = buf->err;
    }
    json_decref(root);
    return err;
}
