/*
 * One event comes in: is it known, is it allowed, is there room; then its row, its history line and
 * its cursor go into the open transaction, and its answer is kept until that is durable.
 */
#include "budget.h"
#include "consent.h"
#include "intake_priv.h"
#include "item.h"
#include "outbox.h"
#include "people.h"
#include "record.h"
#include "runs.h"
#include "store.h"

#include "sma/commands.h"

#include "runtime/approval/card.h"

#define FULL_RETRY_MS 5000 /* what is refused because all places are taken may come again */

/* Why nothing is taken. */
struct obstacle
{
    enum sma_reason why; /* NONE: nothing stands in the way */
    struct sma_str text;
    uint32_t retry_after_ms;
};

/* -- answers ----------------------------------------------------------------------------------- */
static void refuse_now(struct sma_store *store, const struct sma_msg *question,
                       const struct obstacle *obstacle)
{
    const struct sma_ingress *in = SMA_MSG_BODY((struct sma_msg *)question, struct sma_ingress);
    const struct sma_accepted accepted = {.verdict = SMA_VERDICT_REFUSED,
                                          .retry_after_ms = obstacle->retry_after_ms,
                                          .reason = obstacle->text,
                                          .why = (uint8_t)obstacle->why};
    struct sma_msg *answer = sma_store_made(store, sma_msg_make_accepted(&accepted));
    SMA_METRIC_ADD(ingress_refused_total, 1);
    sma_store_count_refused(store, question->from);
    sma_store_log_unanswered(store, question->from,
                             &(struct sma_unanswered){.reason = obstacle->why,
                                                      .chat_key = in->route.chat_key,
                                                      .user_id = in->route.user_id,
                                                      .message_id = in->event_key});
    sma_ctx_answer(store->ctx, question, &answer);
}

/* Empty when everything is within its limits. */
static struct sma_str find_excess(const struct sma_ingress *in)
{
    const struct sma_route *route = &in->route;
    if (route->chat_key.len == 0 || route->chat_key.len > SMA_CHAT_KEY_BYTES_MAX)
        return SMA_STR("the chat key is empty or too long");
    if (in->event_key.len == 0 || in->event_key.len > SMA_ID_BYTES_MAX)
        return SMA_STR("the message id is empty or too long");
    if (in->text.len > SMA_TEXT_BYTES_MAX || in->context.len > SMA_TEXT_BYTES_MAX)
        return SMA_STR("the message text is too long");
    if (in->preparation.len > SMA_TEXT_BYTES_MAX)
        return SMA_STR("the message's preparation is too long");
    if (in->migrated_from.len > SMA_CHAT_KEY_BYTES_MAX)
        return SMA_STR("the chat key before the migration is too long");
    if (in->meta_json.len > SMA_META_BYTES_MAX)
        return SMA_STR("the message's meta data is too long");
    const struct sma_str ids[] = {
        route->channel,   route->chat_id,   route->chat_type, route->thread_id, route->message_id,
        route->user_id,   route->user_name, route->language,  in->cursor_name,  in->group_key,
        in->display_name, in->handle,       in->target_id};
    for (size_t i = 0; i < SMA_COUNT_OF(ids); i++)
        if (ids[i].len > SMA_ID_BYTES_MAX)
            return SMA_STR("an id of the message is too long");
    return (struct sma_str){NULL, 0};
}

/* -- what is written --------------------------------------------------------------------------- */
/* How it goes on. */
struct store_start
{
    bool is_now; /* RUN leaves before the commit */
    bool is_held, wants_role;
    bool is_role_open;         /* with wants_role: it runs whatever the role is */
    struct store_group *group; /* the album that it leads */
};

/* -- new events -------------------------------------------------------------------------------- */
/* In the queue, or on its way. group: the album that it leads. */
static SMA_CHECKED enum sma_err queue_message(struct sma_store *store, struct store_chat *chat,
                                              struct sma_msg **msg, uint64_t seq,
                                              const struct store_start *start)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    struct sma_accepted accepted = {.verdict = SMA_VERDICT_ACCEPTED, .seq = seq};
    if (start->is_now) {
        sma_store_start_now(store, chat, in, seq);
        sma_store_accept_later(store, *msg, &accepted);
        return SMA_ERR_OK;
    }
    SMA_TRY(sma_store_queue_accepted(store, chat, seq, in->route.user_id, start->is_held));
    chat->has_behind |= in->is_behind;
    sma_store_note_addition(store, chat);
    if (sma_store_wants_quiet(store, &in->route))
        sma_store_await_quiet(store, chat);
    if (start->group != NULL)
        SMA_TRY(sma_store_group_lead(store, start->group, seq));
    if (start->wants_role || in->preparation.len > 0)
        SMA_TRY(sma_store_hold(store, chat, seq, &in->route, start->group, false));
    accepted.position = sma_queue_waiting(store->queue) - 1; /* it is the newest */
    sma_store_accept_later(store, *msg, &accepted);
    if (!start->wants_role || start->is_role_open)
        sma_store_consider_busy(store, chat, msg, seq);
    return SMA_ERR_OK;
}

/* A piece of an album whose first piece waits already. */
static SMA_CHECKED enum sma_err join_group(struct sma_store *store, struct store_group *group,
                                           struct sma_msg *msg)
{
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    struct store_acceptance how = {.row_state = SMA_ROW_WAITING, .leader = group->leader};
    struct sma_accepted accepted = {.verdict = SMA_VERDICT_ACCEPTED};
    SMA_TRY(sma_store_write_row(store, group->chat, in, &how, &accepted.seq));
    SMA_TRY(sma_store_group_join(store, group, accepted.seq));
    if (in->preparation.len > 0)
        SMA_TRY(sma_store_hold(store, group->chat, accepted.seq, &in->route, group, false));
    sma_store_group_settle(store, group);
    accepted.position = sma_queue_position(store->queue, group->chat->id, group->leader);
    sma_store_accept_later(store, msg, &accepted);
    return SMA_ERR_OK;
}

/* Claimed and in the history, and that is all; of strangers not without end. */
static SMA_CHECKED enum sma_err record(struct sma_store *store, struct store_chat *chat,
                                       struct sma_msg *msg, enum store_late late,
                                       enum sma_reason why)
{
    struct store_stranger said = {.in = *SMA_MSG_BODY(msg, struct sma_ingress)};
    const struct sma_ingress *in = &said.in;
    bool is_stranger;
    uint64_t seq;
    SMA_TRY(sma_store_is_stranger(store, in, &is_stranger));
    if (is_stranger)
        sma_store_bound_stranger(store, SMA_MSG_BODY(msg, struct sma_ingress), &said);
    bool may_be_upgraded =
        in->kind == SMA_EVENT_MESSAGE && said.fate == SMA_STRANGER_KEPT && late == STORE_IN_TIME;
    struct store_acceptance how = {.row_state = may_be_upgraded ? SMA_ROW_IGNORED : SMA_ROW_DONE,
                                   .why = why,
                                   .is_unkept = said.fate >= SMA_STRANGER_UNKEPT};
    SMA_TRY(sma_store_write_row(store, chat, in, &how, &seq));
    if (may_be_upgraded && in->group_key.len > 0 && !in->is_record_only) {
        struct store_group *group = sma_store_group_find(store, chat, in->group_key);
        if (group == NULL)
            group = sma_store_group_begin(store, chat, in->group_key);
        if (group == NULL)
            return SMA_ERR_NOMEM;
        sma_store_group_record(store, group, seq);
    }
    if (late == STORE_TOO_OLD || late == STORE_OVERTAKEN)
        SMA_TRY(sma_store_late_notice(store, chat, in, seq));
    if (in->has_joined && said.fate != SMA_STRANGER_SILENT)
        SMA_TRY(sma_store_greet(store, chat, in, seq));
    sma_store_accept_later(
        store, msg,
        &(struct sma_accepted){.verdict = SMA_VERDICT_IGNORED, .seq = seq, .why = (uint8_t)why});
    return SMA_ERR_OK;
}

/* What he is told who may not. */
static SMA_CHECKED enum sma_err tell_turned_away(struct sma_store *store, struct store_chat *chat,
                                                 const struct store_stranger *said,
                                                 const struct sma_access_outcome *outcome,
                                                 uint64_t seq)
{
    const struct sma_ingress *in = &said->in;
    if (said->fate == SMA_STRANGER_SILENT)
        return SMA_ERR_OK;
    if (outcome->decision == SMA_ACCESS_PAIR)
        return sma_store_ask_pairing(store, chat, in, seq, said->fate == SMA_STRANGER_KEPT);
    if (!in->is_group || outcome->is_outside)
        return sma_store_stranger_notice(store, chat, in, seq);
    return sma_store_refusal_notice(store, chat, &in->route, seq);
}

/* He may not, or not yet: a stranger's message is kept until his pairing, if it is not too much. */
static SMA_CHECKED enum sma_err turn_away(struct sma_store *store, struct store_chat *chat,
                                          struct sma_msg *msg,
                                          const struct sma_access_outcome *outcome)
{
    struct store_stranger said = {.in = *SMA_MSG_BODY(msg, struct sma_ingress)};
    const struct sma_ingress *in = &said.in;
    bool is_of_pairing = outcome->decision == SMA_ACCESS_PAIR;
    if (is_of_pairing || outcome->is_outside || !in->is_group)
        sma_store_bound_stranger(store, SMA_MSG_BODY(msg, struct sma_ingress), &said);
    bool is_kept = is_of_pairing && in->kind == SMA_EVENT_MESSAGE && !in->is_group &&
                   said.fate == SMA_STRANGER_KEPT;
    struct store_acceptance how = {.row_state = is_kept ? SMA_ROW_IGNORED : SMA_ROW_BUSY,
                                   .why = outcome->reason,
                                   .is_unkept = said.fate >= SMA_STRANGER_UNKEPT};
    uint64_t seq;
    enum sma_err err = sma_store_write_row(store, chat, in, &how, &seq);
    if (err == SMA_ERR_OK)
        err = tell_turned_away(store, chat, &said, outcome, seq);
    if (err == SMA_ERR_OK)
        sma_store_accept_later(store, msg,
                               &(struct sma_accepted){.verdict = SMA_VERDICT_IGNORED,
                                                      .seq = seq,
                                                      .why = (uint8_t)outcome->reason});
    return err;
}

/* An owner answers a pairing: carried out at once, nothing for the model. */
static SMA_CHECKED enum sma_err answer_pairing(struct sma_store *store, struct store_chat *chat,
                                               struct sma_msg *msg)
{
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    struct store_acceptance how = {.row_state = SMA_ROW_DONE, .is_aside = true};
    uint64_t seq;
    enum sma_err err = sma_store_write_row(store, chat, in, &how, &seq);
    if (err == SMA_ERR_OK)
        err = sma_store_note_person(store, chat, in);
    if (err == SMA_ERR_OK)
        err = sma_store_answer_pairing(store, in, seq);
    if (err == SMA_ERR_OK)
        sma_store_accept_later(store, msg,
                               &(struct sma_accepted){.verdict = SMA_VERDICT_ACCEPTED, .seq = seq});
    return err;
}

/* Nothing more may wait at all. Nothing of the message is kept, so a flood costs no disk; whoever
 * brought it brings it again, and every message of this adapter waits with it (adr 0030). */
static SMA_CHECKED enum sma_err make_wait(struct sma_store *store, const struct sma_msg *msg)
{
    const uint64_t interval = SMA_NOTICE_INTERVAL_S * UINT64_C(1000000000);
    uint64_t now = sma_ctx_now(store->ctx), *told_ns = &store->intake->full_told_ns;
    if (*told_ns == 0 || now - *told_ns >= interval) {
        *told_ns = now | 1;
        sma_ctx_log(store->ctx, SMA_LOG_WARN,
                    "%u messages wait and no more are taken until some are answered; platforms "
                    "bring them again (queue.waitingMax)",
                    sma_queue_waiting(store->queue));
    }
    refuse_now(store, msg,
               &(struct obstacle){.why = SMA_REASON_QUEUE_FULL,
                                  .text = SMA_STR("too many messages are waiting in all chats"),
                                  .retry_after_ms = FULL_RETRY_MS});
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err refuse_for_bound(struct sma_store *store, struct store_chat *chat,
                                                 struct sma_msg *msg)
{
    if (sma_queue_is_full(store->queue))
        return make_wait(store, msg);
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    struct store_acceptance how = {.row_state = SMA_ROW_BUSY, .why = SMA_REASON_CHAT_FULL};
    struct sma_accepted accepted = {.verdict = SMA_VERDICT_BUSY,
                                    .why = SMA_REASON_CHAT_FULL,
                                    .retry_after_ms = SMA_NOTICE_INTERVAL_S * 1000,
                                    .reason = SMA_STR("too many messages are waiting")};
    enum sma_err err = sma_store_write_row(store, chat, in, &how, &accepted.seq);
    if (err == SMA_ERR_OK)
        err = sma_store_full_notice(store, chat, in, accepted.seq);
    if (err == SMA_ERR_OK)
        sma_store_accept_later(store, msg, &accepted);
    return err;
}

/* When an accepted message starts, and what it leads. NOMEM. */
static SMA_CHECKED enum sma_err plan_start(struct sma_store *store, struct store_chat *chat,
                                           const struct sma_ingress *in,
                                           const struct sma_access_outcome *outcome,
                                           struct store_start *ret_start)
{
    struct store_start start = {.wants_role = outcome->decision == SMA_ACCESS_ASK_ROLE ||
                                              outcome->learns_role,
                                .is_role_open = outcome->learns_role};
    if (in->group_key.len > 0) {
        start.group = sma_store_group_find(store, chat, in->group_key);
        /* Its leader waits already, and this is a copy of a piece that was recorded: by itself,
         * then. */
        if (start.group != NULL && start.group->leader != 0)
            start.group = NULL;
        else if (start.group == NULL)
            start.group = sma_store_group_begin(store, chat, in->group_key);
        if (start.group == NULL && sma_store_group_find(store, chat, in->group_key) == NULL)
            return SMA_ERR_NOMEM;
    }
    start.is_held = start.wants_role || in->preparation.len > 0 || start.group != NULL;
    start.is_now = !start.is_held && !sma_store_wants_quiet(store, &in->route) &&
                   sma_store_may_start_now(store, chat, in->route.user_id);
    *ret_start = start;
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err accept_control(struct sma_store *store, struct store_chat *chat,
                                               struct sma_msg *msg);

static bool may_be_answered(const struct sma_access_outcome *outcome)
{
    return outcome->decision == SMA_ACCESS_RUN || outcome->decision == SMA_ACCESS_ASK_ROLE;
}

/* "more", where something was cut: the command, as if it had its slash. */
static SMA_CHECKED enum sma_err take_word(struct sma_store *store, struct store_chat *chat,
                                          struct sma_msg *msg, bool *ret_is_taken)
{
    struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    enum sma_control control;
    SMA_TRY(sma_store_output_word(store, chat, in, &control));
    *ret_is_taken = control != SMA_CONTROL_NONE;
    if (!*ret_is_taken)
        return SMA_ERR_OK;
    in->kind = SMA_EVENT_CONTROL;
    in->control = (uint8_t)control;
    return accept_control(store, chat, msg);
}

static SMA_CHECKED enum sma_err accept_message(struct sma_store *store, struct store_chat *chat,
                                               struct sma_msg **msg)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    struct sma_access_outcome outcome;
    enum store_late late;
    bool is_pairing = false;
    enum sma_err err = sma_store_judge_in_time(store, chat, in, &outcome, &late);
    if (err == SMA_ERR_OK)
        err = sma_store_is_pairing_answer(store, in, &is_pairing);
    if (err != SMA_ERR_OK)
        return err;
    if (is_pairing)
        return answer_pairing(store, chat, *msg);
    bool is_turned_away =
        outcome.decision == SMA_ACCESS_REFUSE || outcome.decision == SMA_ACCESS_PAIR;
    bool is_taken = false;
    if (late == STORE_IN_TIME)
        err = sma_store_words(store, chat, *msg, &outcome, &is_taken);
    if (err == SMA_ERR_OK && !is_taken && late == STORE_IN_TIME && may_be_answered(&outcome))
        err = take_word(store, chat, *msg, &is_taken);
    if (err != SMA_ERR_OK || is_taken)
        return err;
    bool is_piece = in->kind == SMA_EVENT_MESSAGE && in->group_key.len > 0 && !in->is_record_only;
    struct store_group *group = is_piece ? sma_store_group_find(store, chat, in->group_key) : NULL;
    if (group != NULL && group->leader != 0 && !is_turned_away)
        return join_group(store, group, *msg);
    if (outcome.decision == SMA_ACCESS_RECORD)
        return record(store, chat, *msg, late, outcome.reason);
    if (is_turned_away)
        return turn_away(store, chat, *msg, &outcome);
    if (sma_queue_check(store->queue, chat->id) != SMA_ERR_OK)
        return refuse_for_bound(store, chat, *msg);

    struct store_start start;
    struct store_share share;
    uint64_t seq;
    SMA_TRY(sma_store_share_ask(store, chat, in, &share));
    if (share.over.scope != SMA_BUDGET_NONE)
        return sma_store_share_refuse(store, chat, *msg, &share);
    err = plan_start(store, chat, in, &outcome, &start);
    if (err != SMA_ERR_OK)
        return err;
    struct store_acceptance how = {.row_state = start.is_now ? SMA_ROW_RUNNING : SMA_ROW_WAITING,
                                   .wants_role = start.wants_role,
                                   .is_role_open = start.is_role_open};
    err = sma_store_write_row(store, chat, in, &how, &seq);
    if (err == SMA_ERR_OK)
        err = sma_store_note_person(store, chat, in);
    if (err == SMA_ERR_OK)
        err = sma_store_share_take(store, chat, &in->route, seq, &share);
    if (err == SMA_ERR_OK && outcome.decision == SMA_ACCESS_RUN)
        err = sma_store_admit(store, chat, &in->route, &outcome);
    return err != SMA_ERR_OK ? err : queue_message(store, chat, msg, seq, &start);
}

/* It is for administrators, and whether its author is one only the platform knows. */
static bool depends_on_role(struct sma_store *store, const struct store_chat *chat,
                            const struct sma_ingress *in)
{
    const struct sma_command *command = sma_command_of((enum sma_control)in->control);
    return command != NULL && (command->traits & SMA_COMMAND_RULES) != 0 && in->is_group &&
           in->role == SMA_ROLE_UNKNOWN && sma_control_argument(in->text).len > 0 &&
           (in->control != SMA_CONTROL_MODEL ||
            !sma_store_choice_is_free(store, chat, &in->route)) &&
           !sma_store_role_is_known(store, chat, &in->route, true);
}

/* A command: carried out at once, or when the role of its author is known. */
static SMA_CHECKED enum sma_err accept_control(struct sma_store *store, struct store_chat *chat,
                                               struct sma_msg *msg)
{
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    struct sma_access_outcome outcome;
    enum store_late late;
    enum sma_err err = sma_store_judge_in_time(store, chat, in, &outcome, &late);
    if (err != SMA_ERR_OK)
        return err;
    if (outcome.decision == SMA_ACCESS_RECORD)
        return record(store, chat, msg, late, outcome.reason);
    if (outcome.decision == SMA_ACCESS_REFUSE || outcome.decision == SMA_ACCESS_PAIR)
        return turn_away(store, chat, msg, &outcome);
    bool wants_role = outcome.decision == SMA_ACCESS_ASK_ROLE || depends_on_role(store, chat, in);
    if (wants_role && chat->held_count >= SMA_CHAT_WAITING_COUNT_MAX)
        return refuse_for_bound(store, chat, msg);
    struct store_acceptance how = {.row_state = wants_role ? SMA_ROW_WAITING : SMA_ROW_RUNNING,
                                   .wants_role = wants_role};
    uint64_t seq;
    err = sma_store_write_row(store, chat, in, &how, &seq);
    if (err == SMA_ERR_OK && wants_role)
        err = sma_store_hold(store, chat, seq, &in->route, NULL, true);
    if (err == SMA_ERR_OK && outcome.decision == SMA_ACCESS_RUN)
        err = sma_store_admit(store, chat, &in->route, &outcome);
    if (err == SMA_ERR_OK && !wants_role)
        err = sma_store_control(store, chat, in, seq);
    if (err == SMA_ERR_OK)
        sma_store_accept_later(store, msg,
                               &(struct sma_accepted){.verdict = SMA_VERDICT_ACCEPTED, .seq = seq});
    return err;
}

/* In a group it is everybody's conversation. */
static bool may_compact(struct sma_store *store, const struct store_chat *chat,
                        const struct sma_ingress *in)
{
    return !in->is_group || in->role == SMA_ROLE_ADMIN ||
           sma_store_standing(store, chat, &in->route, true) >= SMA_STANDING_ADMIN;
}

/* /compact asks the model, so it is a run: it waits its turn like a message. */
static SMA_CHECKED enum sma_err accept_compaction(struct sma_store *store, struct store_chat *chat,
                                                  struct sma_msg **msg)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    struct sma_access_outcome outcome;
    enum store_late late;
    SMA_TRY(sma_store_judge_in_time(store, chat, in, &outcome, &late));
    if (outcome.decision != SMA_ACCESS_RUN || !may_compact(store, chat, in))
        return accept_control(store, chat, *msg);
    if (sma_queue_check(store->queue, chat->id) != SMA_ERR_OK)
        return refuse_for_bound(store, chat, *msg);
    struct store_share share;
    SMA_TRY(sma_store_share_ask(store, chat, in, &share));
    if (share.over.scope != SMA_BUDGET_NONE)
        return sma_store_share_refuse(store, chat, *msg, &share);
    struct store_start start = {.is_now = sma_store_may_start_now(store, chat, in->route.user_id)};
    struct store_acceptance how = {.row_state = start.is_now ? SMA_ROW_RUNNING : SMA_ROW_WAITING,
                                   .is_run_command = true};
    uint64_t seq;
    SMA_TRY(sma_store_write_row(store, chat, in, &how, &seq));
    SMA_TRY(sma_store_share_take(store, chat, &in->route, seq, &share));
    SMA_TRY(sma_store_admit(store, chat, &in->route, &outcome));
    return queue_message(store, chat, msg, seq, &start);
}

/* A message that would open a chat and then find no place in it leaves no chat behind. */
static bool is_without_place(struct sma_store *store, const struct sma_ingress *in)
{
    return in->kind == SMA_EVENT_MESSAGE && in->addressed != SMA_ADDRESSED_NONE &&
           !in->is_record_only && sma_queue_is_full(store->queue) &&
           sma_state_chat_get(store->state, in->route.chat_key) == NULL;
}

/* One more chat of strangers than a day has room for: nothing is kept of it. A copy is passed over
 * in the same way. */
static SMA_CHECKED enum sma_err pass_over(struct sma_store *store, struct sma_msg *msg,
                                          enum sma_reason why)
{
    enum sma_err err = sma_store_save_cursor(store, SMA_MSG_BODY(msg, struct sma_ingress));
    if (err == SMA_ERR_OK)
        sma_store_accept_later(
            store, msg,
            &(struct sma_accepted){.verdict = SMA_VERDICT_IGNORED, .why = (uint8_t)why});
    return err;
}

static SMA_CHECKED enum sma_err accept_new(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    if (is_without_place(store, in))
        return make_wait(store, *msg);
    if (in->kind == SMA_EVENT_SAY)
        return sma_store_say(store, *msg);
    if (in->change != SMA_CHANGE_NONE)
        return sma_store_change(store, *msg);
    enum sma_err err = sma_store_begin(store);
    if (err != SMA_ERR_OK)
        return err;
    struct sma_state_chat *state_chat;
    bool may_open;
    SMA_TRY(sma_store_adopt(store, in));
    err = sma_store_may_open_chat(store, in, &may_open);
    if (err == SMA_ERR_OK && !may_open)
        return pass_over(store, *msg, SMA_REASON_STRANGERS_FULL);
    if (err == SMA_ERR_OK)
        err = sma_state_chat_open(store->state, in->route.chat_key, in->route.channel, &state_chat);
    if (err != SMA_ERR_OK)
        return err;
    struct store_chat *chat = sma_store_chat(store, state_chat);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    if (in->is_group)
        sma_store_note_role(store, chat, in->route.user_id, (enum sma_role)in->role);
    if (in->kind == SMA_EVENT_CALLBACK && sma_card_is_ours(in->text))
        return sma_store_press(store, chat, *msg);
    if (in->kind != SMA_EVENT_CONTROL)
        return accept_message(store, chat, msg);
    return in->control == SMA_CONTROL_COMPACT ? accept_compaction(store, chat, msg)
                                              : accept_control(store, chat, *msg);
}

/* -- known events ------------------------------------------------------------------------------ */
struct old_row
{
    struct sma_store *store;
    uint32_t generation;
    int64_t offset;
    bool is_withdrawn, is_edited; /* since; its words are then in scratch.text */
};

static enum sma_err copy_old(void *user, const struct sma_state_message *message)
{
    struct old_row *old = user;
    old->generation = message->generation;
    old->offset = message->history_offset;
    struct store_facts facts = {0};
    if (message->facts.len > 0)
        SMA_TRY(sma_store_facts_get(message->facts, &facts));
    old->is_withdrawn = facts.change == SMA_CHANGE_RECALL;
    old->is_edited = facts.has_text;
    sma_buf_clear(&old->store->scratch.text);
    sma_buf_put_str(&old->store->scratch.text, facts.text);
    SMA_TRY(old->store->scratch.text.err);
    sma_buf_clear(&old->store->scratch.line);
    sma_buf_put_str(&old->store->scratch.line, message->line);
    return old->store->scratch.line.err;
}

/* What was recorded only would run now, if there were a budget for it. */
static SMA_CHECKED enum sma_err leave_recorded(struct sma_store *store, struct store_chat *chat,
                                               const struct sma_msg *msg, uint64_t seq,
                                               const struct store_share *share)
{
    const struct sma_ingress *in = SMA_MSG_BODY((struct sma_msg *)msg, struct sma_ingress);
    SMA_TRY(sma_store_share_notice(store, chat, &in->route, seq, share));
    sma_store_accept_later(store, msg,
                           &(struct sma_accepted){.verdict = SMA_VERDICT_DUPLICATE,
                                                  .seq = seq,
                                                  .why = (uint8_t)sma_store_share_why(share)});
    return SMA_ERR_OK;
}

/* A copy that is addressed to us of something we had only recorded: now it runs. Its line stays
 * where it is. */
static SMA_CHECKED enum sma_err upgrade(struct sma_store *store, struct store_chat *chat,
                                        struct sma_msg **msg, uint64_t seq,
                                        const struct sma_access_outcome *outcome)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    struct old_row old = {.store = store};
    struct store_share share;
    SMA_TRY(sma_store_begin(store));
    SMA_TRY(sma_state_message_get(store->state, seq, copy_old, &old));
    if (old.is_withdrawn) {
        sma_store_accept_later(
            store, *msg, &(struct sma_accepted){.verdict = SMA_VERDICT_DUPLICATE, .seq = seq});
        return SMA_ERR_OK;
    }
    SMA_TRY(sma_store_share_ask(store, chat, in, &share));
    if (share.over.scope != SMA_BUDGET_NONE)
        return leave_recorded(store, chat, *msg, seq, &share);
    struct sma_ingress as_it_is = *in;
    SMA_AUTO(sma_freep) char *words = NULL;
    if (old.is_edited) {
        words = strndup(sma_buf_str(&store->scratch.text).ptr, store->scratch.text.len);
        if (words == NULL)
            return SMA_ERR_NOMEM;
        as_it_is.text = sma_str(words);
    }
    enum sma_err err = sma_store_share_take(store, chat, &in->route, seq, &share);
    if (err != SMA_ERR_OK)
        return err;
    struct store_start start;
    err = plan_start(store, chat, in, outcome, &start);
    if (err != SMA_ERR_OK)
        return err;
    start.is_now = start.is_now && !old.is_edited; /* the words of the row, not of this copy */
    sma_store_format_facts(store, &as_it_is,
                           &(struct store_acceptance){.wants_role = start.wants_role,
                                                      .is_role_open = start.is_role_open,
                                                      .is_unkept = old.is_edited});
    if (store->scratch.facts.err != SMA_ERR_OK)
        return store->scratch.facts.err;
    err = sma_state_upgrade(
        store->state,
        &(struct sma_state_message){.seq = seq,
                                    .chat = chat->state,
                                    .kind = in->kind,
                                    .state = start.is_now ? SMA_ROW_RUNNING : SMA_ROW_WAITING,
                                    .body_hash = in->body_hash,
                                    .event_key = in->event_key,
                                    .user_id = in->route.user_id,
                                    .generation = old.generation,
                                    .history_offset = old.offset,
                                    .line = sma_buf_str(&store->scratch.line),
                                    .facts = sma_buf_str(&store->scratch.facts)});
    if (err == SMA_ERR_OK && outcome->decision == SMA_ACCESS_RUN)
        err = sma_store_admit(store, chat, &in->route, outcome);
    return err != SMA_ERR_OK ? err : queue_message(store, chat, msg, seq, &start);
}

static bool is_other_event(const struct sma_ingress *in, const struct sma_state_head *head)
{
    if (in->body_hash == 0 || head->body_hash == 0)
        return false;
    return in->body_hash != head->body_hash || !sma_str_is_equal(in->route.user_id, head->user_id);
}

static SMA_CHECKED enum sma_err answer_known(struct sma_store *store, struct store_chat *chat,
                                             struct sma_msg **msg,
                                             const struct sma_state_head *head)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    uint64_t seq = head->seq;
    if (is_other_event(in, head)) {
        sma_store_accept_later(
            store, *msg,
            &(struct sma_accepted){
                .verdict = SMA_VERDICT_CONFLICT,
                .seq = seq,
                .why = SMA_REASON_CONFLICT,
                .reason = SMA_STR(
                    "this message id was used before with another body or by another user")});
        return SMA_ERR_OK;
    }
    bool is_upgrade = head->state == SMA_ROW_IGNORED && in->kind == SMA_EVENT_MESSAGE &&
                      in->addressed != SMA_ADDRESSED_NONE && sma_store_disk_level(store) == 0;
    struct sma_access_outcome outcome = {.decision = SMA_ACCESS_RECORD};
    enum store_late late;
    enum sma_err err =
        is_upgrade ? sma_store_judge_in_time(store, chat, in, &outcome, &late) : SMA_ERR_OK;
    bool may_run = may_be_answered(&outcome);
    if (err == SMA_ERR_OK && may_run && sma_queue_is_full(store->queue))
        return make_wait(store, *msg);
    if (err == SMA_ERR_OK)
        err = sma_store_save_cursor(store, in);
    bool has_room = sma_queue_check(store->queue, chat->id) == SMA_ERR_OK;
    if (err == SMA_ERR_OK && may_run && has_room)
        return upgrade(store, chat, msg, seq, &outcome);
    if (err == SMA_ERR_OK && may_run)
        err = sma_store_begin(store);
    if (err == SMA_ERR_OK && may_run)
        err = sma_store_full_notice(store, chat, in, seq);
    if (err != SMA_ERR_OK)
        return err;
    sma_store_accept_later(store, *msg,
                           &(struct sma_accepted){.verdict = SMA_VERDICT_DUPLICATE,
                                                  .seq = seq,
                                                  .why = SMA_REASON_DUPLICATE});
    return SMA_ERR_OK;
}

/* OK: *ret_head is the older row; NOTFOUND: the event is new. */
static SMA_CHECKED enum sma_err find_known(struct sma_store *store, const struct sma_ingress *in,
                                           struct store_chat **ret_chat,
                                           struct sma_state_head *ret_head)
{
    struct sma_state_chat *state_chat = sma_state_chat_get(store->state, in->route.chat_key);
    if (state_chat == NULL)
        return SMA_ERR_NOTFOUND;
    uint32_t claim_id = sma_str_is_equal(state_chat->key, in->route.chat_key)
                            ? state_chat->claim_id
                            : sma_state_claim_id(store->state, in->route.chat_key);
    enum sma_err err =
        sma_state_claim_find(store->state, claim_id, in->kind, in->event_key, ret_head);
    if (err != SMA_ERR_OK)
        return err;
    *ret_chat = sma_store_chat(store, state_chat);
    return *ret_chat == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

static struct obstacle stop_by(enum sma_reason why, const char *text)
{
    return (struct obstacle){.why = why, .text = sma_str(text), .retry_after_ms = STORE_RETRY_MS};
}

/* Why nothing new can be taken now. */
static struct obstacle find_obstacle(struct sma_store *store, const struct sma_ingress *in)
{
    sma_store_check_disk(store);
    bool is_control = in->kind == SMA_EVENT_CONTROL || in->kind == SMA_EVENT_CALLBACK;
    if (sma_store_disk_level(store) > (is_control ? 1 : 0) || sma_store_is_history_stuck(store))
        return stop_by(SMA_REASON_DISK_FULL, "the disk is full; please try again later");
    if (sma_state_is_claims_full(store->state))
        return stop_by(
            SMA_REASON_NOT_STORED,
            "too many message ids are remembered; intake resumes when old ones may be forgotten");
    if (sma_store_deferred_count(store) >= SMA_BATCH_COUNT_MAX)
        return stop_by(SMA_REASON_QUEUE_FULL, "too many commands at once; please try again");
    return (struct obstacle){.why = SMA_REASON_NONE};
}

struct taking
{
    struct sma_msg **msg;
    struct obstacle obstacle; /* why nothing was taken */
};

static enum sma_err take_one(struct sma_store *store, void *ctx)
{
    struct taking *taking = ctx;
    const struct sma_ingress *in = SMA_MSG_BODY(*taking->msg, struct sma_ingress);
    struct store_chat *chat = NULL;
    struct sma_state_head head;
    enum sma_err err = find_known(store, in, &chat, &head);
    if (err == SMA_ERR_NOTFOUND && in->kind == SMA_EVENT_MESSAGE &&
        sma_control_word(in->text) != SMA_CONTROL_NONE) {
        struct sma_ingress word = *in; /* it was a command when it came the first time */
        word.kind = SMA_EVENT_CONTROL;
        err = find_known(store, &word, &chat, &head);
    }
    if (err == SMA_ERR_OK)
        return answer_known(store, chat, taking->msg, &head);
    if (err != SMA_ERR_NOTFOUND)
        return err;
    taking->obstacle = find_obstacle(store, in);
    if (taking->obstacle.why != SMA_REASON_NONE)
        return SMA_ERR_OK;
    return accept_new(store, taking->msg);
}

/* Something that is damaged stands in its way, for good. Refused it would come again and again, and
 * with it everything behind it on its platform; so it is passed over, and the trouble is named. */
static enum sma_err pass_over_damage(struct sma_store *store, void *ctx)
{
    const struct taking *taking = ctx;
    enum sma_err err = sma_store_begin(store);
    return err == SMA_ERR_OK ? pass_over(store, *taking->msg, SMA_REASON_DAMAGED) : err;
}

static void take(struct sma_store *store, struct sma_msg **msg)
{
    struct taking taking = {.msg = msg};
    const struct sma_route *route = &SMA_MSG_BODY(*msg, struct sma_ingress)->route;
    struct store_item item = {.step = take_one,
                              .on_damage = pass_over_damage,
                              .ctx = &taking,
                              .name = "incoming message",
                              .remedy =
                                  "it was not taken: send it again under another id; if there "
                                  "are more of these, look at the disk",
                              .chat_key = route->chat_key};
    enum sma_err err = sma_store_item(store, &item);
    if (err != SMA_ERR_OK)
        sma_store_fail_batch(store, err); /* the others are refused with it */
    if (err != SMA_ERR_OK || item.is_stuck)
        taking.obstacle =
            stop_by(SMA_REASON_NOT_STORED, "the message could not be stored; please try again");
    if (taking.obstacle.why != SMA_REASON_NONE)
        refuse_now(store, *msg, &taking.obstacle);
}

void sma_store_ingress(struct sma_store *store, struct sma_msg **msg)
{
    struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    in->stamps.claimed_ns = sma_ctx_now(store->ctx);
    /* Not every platform says whose message is answered: an answer to ours is meant for us. */
    if (in->is_group && in->addressed == SMA_ADDRESSED_NONE && in->is_reply && !in->is_forward &&
        sma_store_is_ours(store, in->route.chat_key, in->reply_to_id))
        in->addressed = SMA_ADDRESSED_REPLY;
    struct sma_str reason = find_excess(in);
    if (reason.len > 0) {
        refuse_now(store, *msg, &(struct obstacle){.why = SMA_REASON_OVER_LIMIT, .text = reason});
        return;
    }
    if (store->is_draining) {
        const struct obstacle stopping = stop_by(SMA_REASON_STOPPING, "the service is stopping");
        refuse_now(store, *msg, &stopping);
        return;
    }
    if (in->kind == SMA_EVENT_NOTE && in->migrated_from.len > 0)
        sma_store_migrate(store, in, &reason);
    if (reason.len > 0)
        refuse_now(store, *msg,
                   &(struct obstacle){.why = SMA_REASON_NOT_STORED,
                                      .text = reason,
                                      .retry_after_ms = STORE_RETRY_MS});
    else
        take(store, msg);
}
