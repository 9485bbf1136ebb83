/* session_parts.c — see session_parts.h and session.h. */
#include "runtime/agent/session_parts.h"

#include "runtime/agent/session.h"

#define TEXT_COUNT 5

static void list_texts(struct sma_part *part, struct sma_str *texts[TEXT_COUNT])
{
    struct sma_str *all[TEXT_COUNT] = {&part->path, &part->name, &part->mime, &part->hash,
                                       &part->note};
    memcpy(texts, all, sizeof all);
}

size_t sma_session_parts_bytes(const struct sma_stored_turn *turn)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < turn->part_count; i++) {
        const struct sma_part *part = &turn->parts[i].part;
        bytes += part->path.len + part->name.len + part->mime.len + part->hash.len + part->note.len;
    }
    return bytes;
}

void sma_session_copy_parts(char **at, const struct sma_stored_turn *from,
                            struct sma_stored_turn *to)
{
    for (uint32_t i = 0; i < from->part_count; i++) {
        struct sma_str *texts[TEXT_COUNT];
        to->parts[i] = from->parts[i];
        list_texts(&to->parts[i].part, texts);
        for (size_t k = 0; k < TEXT_COUNT; k++) {
            struct sma_str text = *texts[k];
            texts[k]->ptr = *at;
            if (text.len > 0)
                memcpy(*at, text.ptr, text.len);
            *at += text.len;
        }
    }
}

/* -- hiding ------------------------------------------------------------------------------------ */
/* Thinking that is bound to what stood there is not sent again. */
static void mark_moved(struct sma_session *session)
{
    for (uint32_t i = 0; i < session->turn_count; i++)
        session->turns[i]->state.is_moved = true;
}

/* hash empty: all of the turn. */
static uint32_t hide(struct sma_session_turn *turn, struct sma_str hash)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < turn->stored.part_count; i++) {
        struct sma_stored_part *part = &turn->stored.parts[i];
        bool is_meant = hash.len == 0 || sma_str_is_equal(hash, part->part.hash);
        if (!is_meant || part->is_hidden || part->part.note.len > 0 || part->part.hash.len == 0)
            continue;
        part->is_hidden = true;
        count++;
    }
    return count;
}

uint32_t sma_session_hide_parts(struct sma_session *session, uint32_t keep)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i + keep < session->turn_count; i++)
        count += hide(session->turns[i], (struct sma_str){0});
    if (count > 0)
        mark_moved(session);
    return count;
}

uint32_t sma_session_hide_part(struct sma_session *session, struct sma_str hash)
{
    uint32_t count = 0;
    for (uint32_t i = 0; hash.len > 0 && i < session->turn_count; i++)
        count += hide(session->turns[i], hash);
    if (count > 0)
        mark_moved(session);
    return count;
}

uint32_t sma_session_hide_oldest_parts(struct sma_session *session)
{
    uint32_t count = 0;
    for (uint32_t i = 0; count == 0 && i < session->turn_count; i++)
        count = hide(session->turns[i], (struct sma_str){0});
    if (count > 0)
        mark_moved(session);
    return count;
}

uint32_t sma_session_count_parts(const struct sma_session *session, const struct sma_target *target,
                                 uint64_t *bytes)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < session->turn_count; i++) {
        const struct sma_stored_turn *turn = &session->turns[i]->stored;
        for (uint32_t k = 0; k < turn->part_count; k++) {
            if (turn->parts[k].is_hidden || !sma_part_is_shown(target, &turn->parts[k].part))
                continue;
            *bytes += turn->parts[k].part.length;
            count++;
        }
    }
    return count;
}
