/* message_row.c — a message becomes a row, and its answer is prepared. See intake.h. */
#include "intake_priv.h"
#include "message_parts.h"
#include "people.h"
#include "record.h"
#include "store.h"

/* what the adapter says, the mark of an aside, whose words they are */

static struct sma_str message_id_of(const struct sma_ingress *in)
{
    if (in->kind == SMA_EVENT_MESSAGE || in->kind == SMA_EVENT_CONTROL)
        return in->event_key;
    return in->route.message_id;
}

void sma_store_format_facts(struct sma_store *store, const struct sma_ingress *in,
                            const struct store_acceptance *how)
{
    sma_buf_clear(&store->scratch.parts);
    sma_store_message_parts_put(&store->scratch.parts, in->parts, in->part_count);
    struct store_facts facts = {
        .route = in->route,
        .context = in->context,
        .wall_ms = in->wall_ms,
        .accepted_ms = sma_ctx_wall(store->ctx),
        .group_key = in->group_key,
        .preparation = in->preparation,
        .wants_role = how->wants_role,
        .is_role_open = how->is_role_open,
        .control = how->wants_role || how->is_run_command ? in->control : 0,
        .is_apart = in->is_forward || how->is_run_command ||
                    (in->kind == SMA_EVENT_CONTROL && in->is_edited),
        .is_behind = in->is_behind,
        .change = in->change,
        .is_group = in->is_group,
        .is_admin = in->is_group && in->role == SMA_ROLE_ADMIN,
        .may_answer = how->may_answer,
        .is_else_ignored = how->is_else_ignored,
        .is_judged = how->is_judged,
        .request_id = how->request_id,
        .why = sma_str(sma_reason_text(how->why)->word),
        /* The line would give back something else than what came, or there is none. */
        .has_text = how->is_press || how->is_unkept || in->change != SMA_CHANGE_NONE ||
                    !sma_utf8_is_valid(in->text),
        .text = in->text,
        .parts = sma_buf_str(&store->scratch.parts),
    };
    if (in->change != SMA_CHANGE_NONE)
        facts.route.message_id = in->target_id;
    if (facts.route.message_id.len == 0)
        facts.route.message_id = message_id_of(in);
    sma_buf_clear(&store->scratch.facts);
    sma_store_facts_put(&store->scratch.facts, &facts);
    if (store->scratch.facts.err == SMA_ERR_OK)
        store->scratch.facts.err = store->scratch.parts.err;
}

/* Under each name that he can be looked for by. */
static SMA_CHECKED enum sma_err put_contact(struct sma_store *store, const struct sma_ingress *in,
                                            struct sma_str name)
{
    const struct sma_route *route = &in->route;
    if (name.len == 0)
        return SMA_ERR_OK;
    return sma_state_contact_put(store->state,
                                 &(struct sma_state_contact){.channel = route->channel,
                                                             .user_name = name,
                                                             .chat_id = route->chat_id,
                                                             .chat_key = route->chat_key,
                                                             .chat_type = route->chat_type,
                                                             .thread_id = route->thread_id,
                                                             .user_id = route->user_id,
                                                             .message_id = message_id_of(in),
                                                             .wall_ms = in->wall_ms});
}

/* Strangers write no contacts: names are free, and one who bears another's would get what is meant
 * for the other. */
static SMA_CHECKED enum sma_err remember_person(struct sma_store *store,
                                                const struct store_chat *chat,
                                                const struct sma_ingress *in)
{
    const struct sma_route *route = &in->route;
    if (route->user_name.len == 0 ||
        sma_str_is_equal(sma_channel_home(route->channel), SMA_STR("api")) ||
        sma_store_standing(store, chat, route, in->is_group) == SMA_STANDING_STRANGER)
        return SMA_ERR_OK;
    if (in->display_name.len == 0 && in->handle.len == 0)
        return put_contact(store, in, route->user_name);
    SMA_TRY(put_contact(store, in, in->display_name));
    return put_contact(store, in, in->handle);
}

enum sma_err sma_store_remember_name(struct sma_store *store, const struct store_chat *chat,
                                     const struct store_facts *facts)
{
    const struct sma_ingress in = {.route = facts->route,
                                   .event_key = facts->route.message_id,
                                   .wall_ms = facts->wall_ms,
                                   .is_group = facts->is_group};
    return remember_person(store, chat, &in);
}

enum sma_err sma_store_save_cursor(struct sma_store *store, const struct sma_ingress *in)
{
    if (in->cursor_name.len == 0)
        return SMA_ERR_OK;
    enum sma_err err = sma_store_begin(store);
    return err != SMA_ERR_OK
               ? err
               : sma_state_cursor_set(store->state, in->cursor_name, in->cursor_value);
}

/* "[edited] new words", under an id of its own, with the id of the message that it is about. What
 * was said before stays where it was written. */
static SMA_CHECKED enum sma_err place_change_line(struct sma_store *store, struct store_chat *chat,
                                                  const struct sma_ingress *in, int64_t *ret_offset)
{
    bool is_edit = in->change == SMA_CHANGE_EDIT;
    struct sma_buf text, meta;
    sma_buf_init(&text, SMA_TEXT_BYTES_MAX + 64);
    sma_buf_init(&meta, SMA_META_BYTES_MAX);
    sma_buf_put_text(&text, is_edit ? "[edited] " : "[withdrawn]");
    if (is_edit)
        sma_buf_put_str(&text, in->text);
    sma_buf_put_text(&meta, is_edit ? "{\"editOf\":" : "{\"recallOf\":");
    sma_buf_put_json_string(&meta, in->target_id);
    sma_buf_put_char(&meta, '}');
    enum sma_err err = text.err != SMA_ERR_OK ? text.err : meta.err;
    if (err == SMA_ERR_OK)
        err = sma_store_place_line(store, chat,
                                   &(struct sma_history_entry){.wall_ms = in->wall_ms,
                                                               .channel = in->route.channel,
                                                               .chat_id = in->route.chat_id,
                                                               .chat_key = in->route.chat_key,
                                                               .user_id = in->route.user_id,
                                                               .message_id = in->event_key,
                                                               .role = SMA_STR("user"),
                                                               .text = sma_buf_str(&text),
                                                               .meta_json = sma_buf_str(&meta)},
                                   ret_offset);
    sma_buf_fini(&text);
    sma_buf_fini(&meta);
    return err;
}

/* The meta object of a line that is a command or a decision: those are for the program, and a model
 * that reads the history would take them for words to itself. */
static void put_aside_meta(struct sma_buf *meta, struct sma_str own, unsigned control)
{
    bool has_own = own.len > 2 && own.ptr[0] == '{' && own.ptr[own.len - 1] == '}';
    bool is_clear = control == SMA_CONTROL_CLEAR || control == SMA_CONTROL_NEW;
    const char *what = is_clear ? "clear" : control != SMA_CONTROL_NONE ? "command" : "decision";
    sma_buf_printf(meta, "{\"aside\":\"%s\"", what);
    if (has_own) {
        sma_buf_put_char(meta, ',');
        sma_buf_put(meta, own.ptr + 1, own.len - 1);
    } else {
        sma_buf_put_char(meta, '}');
    }
}

/* Does it name files, and shortly enough? */
static bool has_files(struct sma_str preparation)
{
    return preparation.len > 0 && preparation.len <= SMA_ATTACHMENT_META_BYTES_MAX &&
           memmem(preparation.ptr, preparation.len, "\"path\":", 7) != NULL;
}

/* With how its files are asked for at the platform: download_attachment does so again. */
static void put_file_meta(struct sma_buf *meta, struct sma_str own, struct sma_str preparation)
{
    bool has_own = own.len > 2 && own.ptr[0] == '{' && own.ptr[own.len - 1] == '}';
    sma_buf_put(meta, has_own ? own.ptr : "{", has_own ? own.len - 1 : 1);
    sma_buf_put_text(meta, has_own ? ",\"files\":" : "\"files\":");
    sma_buf_put_str(meta, preparation);
    sma_buf_put_char(meta, '}');
}

/* The meta object of a line with whose words it has: "<channel>:chat:<chat>:user:<user>". */
static void put_actor_meta(struct sma_buf *meta, const struct sma_ingress *in, struct sma_str own)
{
    struct sma_str parts[] = {in->route.channel, SMA_STR(":chat:"), in->route.chat_id,
                              SMA_STR(":user:"), in->route.user_id};
    char key[3 * SMA_ID_BYTES_MAX + 64];
    size_t len = 0;
    bool has_own = own.len > 2 && own.ptr[0] == '{' && own.ptr[own.len - 1] == '}';
    for (size_t i = 0; i < SMA_COUNT_OF(parts); i++) {
        if (parts[i].len > sizeof key - len || in->route.user_id.len == 0) {
            sma_buf_put_str(meta, own);
            return;
        }
        memcpy(key + len, parts[i].ptr, parts[i].len);
        len += parts[i].len;
    }
    sma_buf_put(meta, has_own ? own.ptr : "{", has_own ? own.len - 1 : 1);
    sma_buf_put_text(meta, has_own ? ",\"actorKey\":" : "\"actorKey\":");
    sma_buf_put_json_string(meta, (struct sma_str){key, len});
    sma_buf_put_char(meta, '}');
}

static SMA_CHECKED enum sma_err place_user_line(struct sma_store *store, struct store_chat *chat,
                                                const struct sma_ingress *in,
                                                const struct store_acceptance *how,
                                                int64_t *ret_offset)
{
    if (in->change != SMA_CHANGE_NONE)
        return place_change_line(store, chat, in, ret_offset);
    if (how->is_press || how->is_unkept || (in->text.len == 0 && in->kind != SMA_EVENT_MESSAGE)) {
        *ret_offset = SMA_STATE_NO_LINE;
        sma_buf_clear(&store->scratch.line);
        return SMA_ERR_OK;
    }
    struct sma_buf *meta = &store->scratch.meta;
    SMA_AUTO(sma_buf_fini) struct sma_buf marked;
    sma_buf_init(&marked, SMA_META_BYTES_MAX + 64);
    sma_buf_clear(meta);
    bool is_aside = how->is_aside || in->kind == SMA_EVENT_CONTROL;
    if (is_aside)
        put_aside_meta(&marked, in->meta_json,
                       in->kind == SMA_EVENT_CONTROL ? in->control : SMA_CONTROL_NONE);
    struct sma_str own = is_aside ? sma_buf_str(&marked) : in->meta_json;
    SMA_AUTO(sma_buf_fini) struct sma_buf with_files;
    sma_buf_init(&with_files, SMA_META_BYTES_MAX + SMA_ATTACHMENT_META_BYTES_MAX + 128);
    if (has_files(in->preparation)) {
        put_file_meta(&with_files, own, in->preparation);
        own = sma_buf_str(&with_files);
    }
    put_actor_meta(meta, in, own);
    if (marked.err != SMA_ERR_OK || with_files.err != SMA_ERR_OK || meta->err != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    return sma_store_place_line(store, chat,
                                &(struct sma_history_entry){.wall_ms = in->wall_ms,
                                                            .channel = in->route.channel,
                                                            .chat_id = in->route.chat_id,
                                                            .chat_key = in->route.chat_key,
                                                            .user_id = in->route.user_id,
                                                            .message_id = message_id_of(in),
                                                            .role = SMA_STR("user"),
                                                            .text = in->text,
                                                            .meta_json = sma_buf_str(meta)},
                                ret_offset);
}

/* What comes under a former key of the chat is claimed under that one. */
static uint32_t claim_id_of(const struct sma_store *store, const struct store_chat *chat,
                            const struct sma_ingress *in)
{
    if (sma_str_is_equal(sma_store_chat_key(chat), in->route.chat_key))
        return chat->state->claim_id;
    return sma_state_claim_id(store->state, in->route.chat_key);
}

enum sma_err sma_store_write_row(struct sma_store *store, struct store_chat *chat,
                                 const struct sma_ingress *in, const struct store_acceptance *how,
                                 uint64_t *ret_seq)
{
    int64_t offset;
    enum sma_err err = place_user_line(store, chat, in, how, &offset);
    if (err == SMA_ERR_OK)
        err = sma_store_save_cursor(store, in);
    if (err != SMA_ERR_OK)
        return err;
    sma_store_format_facts(store, in, how);
    if (store->scratch.facts.err != SMA_ERR_OK)
        return store->scratch.facts.err;
    err = sma_state_accept(store->state,
                           &(struct sma_state_message){.chat = chat->state,
                                                       .claim_id = claim_id_of(store, chat, in),
                                                       .kind = in->kind,
                                                       .state = (uint8_t)how->row_state,
                                                       .run_seq = how->leader,
                                                       .body_hash = in->body_hash,
                                                       .event_key = in->event_key,
                                                       .user_id = in->route.user_id,
                                                       .generation = chat->state->generation,
                                                       .history_offset = offset,
                                                       .line = sma_buf_str(&store->scratch.line),
                                                       .facts = sma_buf_str(&store->scratch.facts)},
                           ret_seq);
    if (err == SMA_ERR_OK)
        err = remember_person(store, chat, in);
    return err;
}

void sma_store_accept_later(struct sma_store *store, const struct sma_msg *question,
                            const struct sma_accepted *accepted)
{
    const struct sma_ingress *ingress =
        SMA_MSG_BODY((struct sma_msg *)question, struct sma_ingress);
    struct sma_accepted body = *accepted;
    body.chat_key = ingress->route.chat_key;
    body.user_id = ingress->route.user_id;
    if (ingress->kind == SMA_EVENT_SAY && body.seq != 0)
        body.outbox_id = sma_state_outbox_id(body.seq, STORE_NOTICE_STEP, 0);
    body.message_id = ingress->event_key;
    struct sma_msg *answer = sma_store_made(store, sma_msg_make_accepted(&body));
    sma_store_answer_later(store, question, &answer, ingress->stamps.read_ns);
}
