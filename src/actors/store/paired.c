/* A pairing is answered: by DECIDE, or by an owner who writes "pair CODE" in his own chat; and the
 * list of who waits. */
#include "facts.h"
#include "intake.h"
#include "item.h"
#include "people.h"
#include "people_priv.h"
#include "runs.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#include <stdlib.h>

/* -- a code is answered ------------------------------------------------------------------------ */
struct kept
{
    struct sma_store *store;
    bool is_released;
};

/* The row waits like any other from now on. An album's piece goes alone: its quiet time is long
 * over. */
static enum sma_err release_row(void *user, const struct sma_state_message *message)
{
    struct kept *kept = user;
    struct sma_store *store = kept->store;
    struct store_facts facts;
    struct store_chat *chat = sma_store_chat(store, message->chat);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    uint64_t seq = message->seq;
    if (message->state != SMA_ROW_IGNORED ||
        sma_store_facts_get(message->facts, &facts) != SMA_ERR_OK ||
        sma_queue_check(store->queue, chat->id) != SMA_ERR_OK)
        return SMA_ERR_OK;
    bool is_held = facts.preparation.len > 0;
    enum sma_err err = SMA_ERR_OK;
    if (facts.group_key.len > 0) {
        struct sma_buf alone;
        facts.group_key = SMA_STR("");
        sma_buf_init(&alone, 4 * SMA_TEXT_BYTES_MAX);
        sma_store_facts_put(&alone, &facts);
        err = alone.err != SMA_ERR_OK ? alone.err
                                      : sma_state_set_facts(store->state, seq, sma_buf_str(&alone));
        sma_buf_fini(&alone);
    }
    if (err == SMA_ERR_OK)
        err = sma_state_set_row_state(store->state, seq, SMA_ROW_WAITING);
    chat->has_behind |= facts.is_behind;
    if (err == SMA_ERR_OK)
        err = sma_store_queue_accepted(store, chat, seq, message->user_id, is_held);
    if (err == SMA_ERR_OK && is_held)
        err = sma_store_hold(store, chat, seq, &facts.route, NULL, false);
    kept->is_released = err == SMA_ERR_OK;
    return err;
}

/* What was kept starts now. *ret_is_whole: nothing the person wrote is left out. */
static SMA_CHECKED enum sma_err
release_kept(struct sma_store *store, const struct store_pairing *pairing, bool *ret_is_whole)
{
    const json_t *list = json_object_get(pairing->root, "kept");
    const struct sma_state_chat *chat = sma_state_chat_get(store->state, pairing->route.chat_key);
    /* Behind a later message there is no place for an earlier one. */
    bool is_possible = chat != NULL && sma_queue_chat_waiting(store->queue, chat->id) == 0;
    *ret_is_whole = is_possible && !pairing->has_more && json_array_size(list) > 0;
    for (size_t i = 0; i < json_array_size(list) && is_possible; i++) {
        struct kept kept = {.store = store};
        uint64_t seq = (uint64_t)json_integer_value(json_array_get(list, i));
        enum sma_err err = sma_state_message_get(store->state, seq, release_row, &kept);
        if (err != SMA_ERR_OK && !sma_store_is_damage(store, err))
            return err; /* one that cannot be read is not run */
        *ret_is_whole = *ret_is_whole && kept.is_released;
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err let_in(struct sma_store *store, const struct store_pairing *pairing,
                                       enum sma_access_standing standing)
{
    bool is_whole = false;
    SMA_TRY(release_kept(store, pairing, &is_whole));
    if (!pairing->is_group)
        SMA_TRY(sma_store_stranger_stays(store, pairing->route.chat_key));
    if (standing >= SMA_ACCESS_ADMIN && !pairing->is_group)
        SMA_TRY(sma_store_note_home(store, &pairing->route));
    sma_buf_clear(&store->scratch.text);
    sma_notice_format(&store->scratch.text, sma_store_language(store, &pairing->route),
                      is_whole ? SMA_NOTICE_PAIRED : SMA_NOTICE_PAIRED_AGAIN);
    return sma_store_pairing_say(store, &pairing->route, pairing->seq, STORE_PAIRED_CALL);
}

struct answer
{
    bool is_approved;
    enum sma_access_standing standing;
    const struct sma_route *by;
    int status;
    bool is_group; /* what is answered for */
    char name[SMA_PAIRING_NAME_BYTES_MAX + 1], channel[32];
};

/* A group gets no role: who administers it is the platform's to say from now on. */
static SMA_CHECKED enum sma_err write_group(struct sma_store *store, struct answer *answer,
                                            const struct sma_route *route)
{
    answer->is_group = true;
    answer->status = 400;
    if (answer->is_approved && answer->standing > SMA_ACCESS_MEMBER)
        return SMA_ERR_OK;
    sma_pairing_name(answer->name, route->chat_id);
    (void)snprintf(answer->channel, sizeof answer->channel, "%.*s", (int)route->channel.len,
                   route->channel.ptr);
    answer->status = 200;
    return sma_store_group_say(store, route, answer->is_approved ? "paired" : "rejected",
                               answer->by);
}

static SMA_CHECKED enum sma_err write_answer(struct sma_store *store, struct answer *answer,
                                             const struct sma_route *person, const char *code)
{
    sma_store_pairing_name(answer->name, person);
    (void)snprintf(answer->channel, sizeof answer->channel, "%.*s", (int)person->channel.len,
                   person->channel.ptr);
    enum sma_access_standing standing =
        answer->is_approved ? answer->standing : SMA_ACCESS_STRANGER;
    enum sma_err err = sma_store_person_put(store, person->channel, person->user_id, standing,
                                            answer->is_approved ? "paired" : "rejected");
    answer->status = 200;
    if (err == SMA_ERR_OK)
        sma_store_pairing_audit(store, answer->is_approved ? "approved" : "rejected", person, code,
                                sma_access_standing_name(standing), answer->by);
    return err;
}

static SMA_CHECKED enum sma_err answer_code(struct sma_store *store, const char *code,
                                            struct answer *answer)
{
    struct store_pairing pairing = {0};
    enum sma_err err = sma_store_pairing_read(store, code, &pairing);
    answer->status = 404;
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
    if (sma_store_pairing_is_old(store, pairing.created_ms))
        answer->status = 410;
    else
        err = pairing.is_group ? write_group(store, answer, &pairing.route)
                               : write_answer(store, answer, &pairing.route, code);
    if (err == SMA_ERR_OK && answer->status != 400) /* else the code waits for a better answer */
        err = sma_store_pairing_remove(store, &pairing);
    if (err == SMA_ERR_OK && answer->status == 200 && answer->is_approved)
        err = let_in(store, &pairing, answer->standing);
    sma_store_pairing_fini(&pairing);
    return err;
}

/* "telegram:chat:-1001234" or "qq:group:A1B2": a group by its chat's id. false: the key is
 * something else. */
static bool read_group_key(struct sma_str key, struct sma_route *ret_group)
{
    static const char *const kinds[] = {"chat:", "group:", "channel:"};
    char plain[2 * SMA_ID_BYTES_MAX + 2];
    const char *colon = memchr(key.ptr, ':', key.len);
    struct sma_str rest = {colon + 1, key.len - (size_t)(colon + 1 - key.ptr)}, chat, channel, id;
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++) {
        struct sma_str kind = sma_str(kinds[i]);
        if (!sma_str_starts_with(rest, kind) || key.len >= sizeof plain)
            continue;
        /* The same rules as for a person's: read as "<channel>:<id>". */
        (void)snprintf(plain, sizeof plain, "%.*s:%.*s", (int)(colon - key.ptr), key.ptr,
                       (int)(rest.len - kind.len), rest.ptr + kind.len);
        if (!sma_access_key_split(sma_str(plain), &channel, &chat, &id) ||
            memchr(id.ptr, ':', id.len) != NULL)
            return false;
        *ret_group = (struct sma_route){.channel = {key.ptr, channel.len},
                                        .chat_id = {rest.ptr + kind.len, id.len}};
        return true;
    }
    return false;
}

static SMA_CHECKED enum sma_err
answer_group_key(struct sma_store *store, const struct sma_route *group, struct answer *answer)
{
    struct store_pairing pairing = {0};
    if (sma_access_is_trusted_channel(group->channel))
        return SMA_ERR_OK;
    enum sma_err err = sma_store_pairing_of(store, group, true, &pairing);
    if (err == SMA_ERR_NOTFOUND)
        return write_group(store, answer, group);
    if (err == SMA_ERR_OK)
        err = answer_code(store, pairing.code, answer);
    sma_store_pairing_fini(&pairing);
    return err;
}

/* On Telegram ids below zero are chats; as the author of a message one stands for its anonymous
 * administrators, whoever they are. Who meant the group gives nobody a role by it. */
static bool is_other_kind(const struct sma_route *route, bool is_group)
{
    struct sma_str id = is_group ? route->chat_id : route->user_id;
    bool is_below_zero = id.len > 0 && id.ptr[0] == '-';
    return sma_bot_is_of(route->channel, "telegram") && is_below_zero != is_group;
}

/* "telegram:1001" instead of a code: somebody who is known by his id. */
static SMA_CHECKED enum sma_err answer_key(struct sma_store *store, struct sma_str key,
                                           struct answer *answer)
{
    struct sma_route person = {0};
    struct sma_str chat;
    struct store_pairing pairing = {0};
    answer->status = 400;
    if (read_group_key(key, &person))
        return is_other_kind(&person, true) ? SMA_ERR_OK : answer_group_key(store, &person, answer);
    if (!sma_access_key_split(key, &person.channel, &chat, &person.user_id) || chat.len > 0 ||
        sma_str_starts_with(person.user_id, SMA_STR("group:")) ||
        sma_str_starts_with(person.user_id, SMA_STR("channel:")) ||
        sma_access_is_trusted_channel(person.channel) || is_other_kind(&person, false))
        return SMA_ERR_OK;
    enum sma_err err = sma_store_pairing_of(store, &person, false, &pairing);
    if (err == SMA_ERR_NOTFOUND)
        return write_answer(store, answer, &person, "");
    if (err == SMA_ERR_OK)
        err = answer_code(store, pairing.code, answer);
    sma_store_pairing_fini(&pairing);
    return err;
}

static SMA_CHECKED enum sma_err answer_pairing(struct sma_store *store, struct sma_str id,
                                               struct answer *answer)
{
    struct sma_pairing_code code;
    if (memchr(id.len > 0 ? id.ptr : "", ':', id.len) != NULL)
        return answer_key(store, id, answer);
    answer->status = 404;
    return sma_pairing_read_code(id, &code) ? answer_code(store, code.text, answer) : SMA_ERR_OK;
}

/* -- DECIDE ------------------------------------------------------------------------------------ */
static void format_line(char *line, size_t line_max, const struct answer *answer)
{
    switch (answer->status) {
    case 200:
        if (answer->is_group && answer->is_approved)
            (void)snprintf(line, line_max,
                           "the group %s is let in; who administers it on %s is an administrator "
                           "there.",
                           answer->name, answer->channel);
        else if (answer->is_approved)
            (void)snprintf(line, line_max, "%s (%s) may talk now, as %s.", answer->name,
                           answer->channel, sma_access_standing_name(answer->standing));
        else
            (void)snprintf(line, line_max, "%s (%s) was refused.", answer->name, answer->channel);
        break;
    case 400:
        (void)snprintf(line, line_max,
                       answer->is_group
                           ? "a group is let in without --role; who administers it is said by its "
                             "platform"
                           : "give a pairing code, a person as \"telegram:1001\" or a group as "
                             "\"telegram:chat:-1001\"; the roles are member, admin and owner");
        break;
    case 403:
        (void)snprintf(line, line_max, "only an owner may answer a pairing");
        break;
    case 503:
        (void)snprintf(line, line_max, "nothing was changed: it could not be stored; try again");
        break;
    case 410:
        (void)snprintf(line, line_max,
                       "this code is too old; the person gets a new one with the next message");
        break;
    default:
        (void)snprintf(line, line_max,
                       "there is no such code, or it was answered; `shipmyagent pair` lists them");
        break;
    }
}

static SMA_CHECKED enum sma_err carry_out(struct sma_store *store, const struct sma_decide *decide,
                                          struct answer *answer)
{
    answer->status = 403;
    if (sma_store_standing(store, NULL, &decide->route, false) < SMA_STANDING_OWNER)
        return SMA_ERR_OK;
    answer->status = 400;
    if (decide->standing > SMA_STANDING_OWNER)
        return SMA_ERR_OK;
    enum sma_err err = sma_store_begin(store);
    return err == SMA_ERR_OK ? answer_pairing(store, decide->id, answer) : err;
}

void sma_store_decide_pairing(struct sma_store *store, struct sma_msg **question)
{
    const struct sma_decide *decide = SMA_MSG_BODY(*question, struct sma_decide);
    struct answer answer = {.is_approved = decide->is_approved,
                            .standing = (enum sma_access_standing)decide->standing,
                            .by = &decide->route};
    if (decide->standing == SMA_STANDING_STRANGER)
        answer.standing = SMA_ACCESS_MEMBER; /* not said */
    enum sma_err err = carry_out(store, decide, &answer);
    if (err != SMA_ERR_OK) {
        sma_store_fail_batch(store, err);
        answer.status = 503;
    }
    char line[256];
    format_line(line, sizeof line, &answer);
    const struct sma_decided decided = {.status = answer.status, .text = sma_str(line)};
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_decided(&decided));
    if (err == SMA_ERR_OK)
        sma_store_answer_later(store, *question, &msg, 0);
    else
        sma_ctx_answer(store->ctx, *question, &msg);
}

/* -- an owner writes "pair CODE" --------------------------------------------------------------- */
static SMA_CHECKED enum sma_err has_code(struct sma_store *store, const char *code, bool *ret_has)
{
    struct store_pairing pairing = {0};
    enum sma_err err = sma_store_pairing_read(store, code, &pairing);
    *ret_has = err == SMA_ERR_OK;
    sma_store_pairing_fini(&pairing);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

enum sma_err sma_store_is_pairing_answer(struct sma_store *store, const struct sma_ingress *in,
                                         bool *ret_is_answer)
{
    struct sma_pairing_words words;
    *ret_is_answer = false;
    /* Somebody else's words that an owner passes on, or edits, let nobody in. */
    if (in->kind != SMA_EVENT_MESSAGE || in->is_group || in->is_record_only || in->is_forward ||
        in->is_edited || sma_access_is_trusted_channel(in->route.channel))
        return SMA_ERR_OK;
    if (!sma_pairing_read_words(in->text, &words) ||
        sma_store_standing(store, NULL, &in->route, false) < SMA_STANDING_OWNER)
        return SMA_ERR_OK;
    enum sma_err err = has_code(store, words.code.text, ret_is_answer);
    if (err == SMA_ERR_OK && !*ret_is_answer)
        err = sma_store_program_has_code(store, words.code.text, ret_is_answer);
    *ret_is_answer = *ret_is_answer || words.is_only_pairing;
    return err;
}

enum sma_err sma_store_answer_pairing(struct sma_store *store, const struct sma_ingress *in,
                                      uint64_t seq)
{
    struct sma_pairing_words words;
    if (!sma_pairing_read_words(in->text, &words))
        return SMA_ERR_BADINPUT;
    bool is_program;
    SMA_TRY(sma_store_program_has_code(store, words.code.text, &is_program));
    if (is_program)
        return sma_store_program_answer(store, in, seq, words.code.text, words.is_approved);
    struct answer answer = {
        .is_approved = words.is_approved, .standing = SMA_ACCESS_MEMBER, .by = &in->route};
    SMA_TRY(answer_code(store, words.code.text, &answer));
    enum sma_language language = sma_store_language(store, &in->route);
    enum sma_notice done = answer.is_group ? SMA_NOTICE_PAIR_GROUP_DONE : SMA_NOTICE_PAIR_DONE;
    sma_buf_clear(&store->scratch.text);
    if (answer.status == 200)
        sma_notice_format(&store->scratch.text, language,
                          answer.is_approved ? done : SMA_NOTICE_PAIR_REFUSED, answer.name,
                          answer.channel);
    else
        sma_notice_format(&store->scratch.text, language, SMA_NOTICE_PAIR_UNKNOWN);
    return sma_store_pairing_say(store, &in->route, seq, 0);
}
