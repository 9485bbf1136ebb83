/*
 * PREPARE and PREPARED: what must be fetched, or known of a person, before an accepted message
 * starts.
 *
 * A message that needs something is a waiting row like any other; in the queue it is held. After
 * its commit its adapter is asked, at most so many questions at once; what PREPARED says is written
 * into the row before the run may start, so a restart asks again only for what is not there, and a
 * resumed run finds what it had. Questions live in memory: the rows say what is to be asked.
 *
 * A question ends without answer SMA_PREPARE_S after it was asked. One that has no place yet waits
 * as long as the adapter answers others; when that has been silent for so long, it ends too.
 */
#include "consent.h"
#include "intake_priv.h"
#include "item.h"
#include "message_parts.h"
#include "outbox.h"
#include "people.h"
#include "profile.h"
#include "record.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "sma/commands.h"

#define PREPARE_NS (SMA_PREPARE_S * UINT64_C(1000000000))

/* -- lists ------------------------------------------------------------------------------------- */

/* -- reading the queue again ------------------------------------------------------------------- */
void sma_store_reset_holds(struct sma_store *store)
{
    while (store->intake->damaged.first != NULL)
        sma_store_question_remove(store, store->intake->damaged.first);
    for (uint32_t i = 0; i <= store->adapter_count; i++) {
        struct store_desk *desk =
            &store->intake->desks[i < store->adapter_count ? i : SMA_ADAPTER_COUNT_MAX];
        while (desk->unasked.first != NULL)
            sma_store_question_remove(store, desk->unasked.first);
        for (struct store_question *question = desk->asked.first; question != NULL;
             question = question->next) {
            question->chat->held_count--;
            question->chat = NULL;
            question->group = NULL;
            question->is_seen = false;
        }
    }
    sma_store_groups_reset(store, false);
}

void sma_store_drop_lost_questions(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->adapter_count; i++)
        for (struct store_question *question = store->intake->desks[i].asked.first, *next;
             question != NULL; question = next) {
            next = question->next;
            if (!question->is_seen)
                sma_store_question_remove(store, question);
        }
}

void sma_store_forget_holds(struct sma_store *store)
{
    sma_store_reset_holds(store);
    sma_store_groups_reset(store, true);
    sma_store_drop_lost_questions(store);
}

/* The album of a waiting row, made again from it and the rows that wait for it. */
static SMA_CHECKED enum sma_err gather_again(struct sma_store *store, struct store_chat *chat,
                                             const struct sma_state_message *message,
                                             const struct store_facts *facts,
                                             struct store_group **ret_group)
{
    bool is_piece = message->run_seq != 0;
    uint64_t leader = is_piece ? message->run_seq : message->seq;
    struct store_group *group = sma_store_group_of_leader(store, leader);
    enum sma_err err = SMA_ERR_OK;
    if (group == NULL) { /* a piece may be older than its leader */
        group = sma_store_group_begin(store, chat, facts->group_key);
        err = group == NULL ? SMA_ERR_NOMEM : sma_store_group_lead(store, group, leader);
    }
    if (err == SMA_ERR_OK && is_piece)
        sma_store_group_touch(store, group);
    *ret_group = group;
    return err;
}

/* The row of this question cannot be read: it is ended with the next batch, and nobody waits behind
 * it. */
static void set_damaged(struct sma_store *store, struct store_question *question)
{
    sma_store_question_unlink(store, question);
    question->is_damaged = true;
    sma_store_question_link(store, question);
}

/* A command that is in no queue, so nobody else would come upon it. */
static SMA_CHECKED enum sma_err hold_damaged(struct sma_store *store,
                                             const struct sma_state_message *message)
{
    struct store_chat *chat = sma_store_chat(store, message->chat);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    enum sma_err err =
        sma_store_hold(store, chat, message->seq, &(struct sma_route){0}, NULL, true);
    if (err == SMA_ERR_OK)
        set_damaged(store, sma_store_map_get(&store->intake->questions, message->seq));
    return err;
}

/* Its platform is not configured now: an answer would find no way. It waits for a start that has
 * the platform again. */
static bool is_platform_absent(struct sma_store *store, const struct sma_route *route)
{
    if (sma_access_is_trusted_channel(route->channel) || sma_store_adapter_of(store, route) >= 0)
        return false;
    if (!store->intake->is_absence_told)
        sma_store_boot_line(store, SMA_LOG_WARN,
                            "messages of %.*s wait, which is not configured: they are answered "
                            "when it is again",
                            (int)route->channel.len, route->channel.ptr);
    store->intake->is_absence_told = true;
    return true;
}

enum sma_err sma_store_hold_again(struct sma_store *store, const struct sma_state_message *message,
                                  bool *ret_is_held)
{
    struct store_facts facts;
    bool is_control = message->kind != SMA_EVENT_MESSAGE;
    *ret_is_held = false;
    if (sma_store_facts_get(message->facts, &facts) !=
        SMA_ERR_OK) /* of others the run will say it */
        return is_control ? hold_damaged(store, message) : SMA_ERR_OK;
    bool has_question = facts.preparation.len > 0 || facts.wants_role || facts.may_answer;
    is_control = is_control && !facts.is_retry;
    *ret_is_held = !is_control && is_platform_absent(store, &facts.route);
    if (*ret_is_held)
        return SMA_ERR_OK;
    if (!has_question && !facts.is_judged && facts.group_key.len == 0)
        return SMA_ERR_OK;
    struct store_chat *chat = sma_store_chat(store, message->chat);
    struct store_group *group = NULL;
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    if (facts.is_judged)
        return sma_store_judge_again(store, chat, message->seq, facts.request_id, ret_is_held);
    *ret_is_held = true;
    SMA_TRY(facts.group_key.len > 0 && !is_control
                ? gather_again(store, chat, message, &facts, &group)
                : SMA_ERR_OK);
    if (has_question)
        SMA_TRY(sma_store_hold(store, chat, message->seq, &facts.route, group, is_control));
    return SMA_ERR_OK;
}

/* -- asking ------------------------------------------------------------------------------------ */
struct asking
{
    struct sma_store *store;
    struct store_question *question;
    struct sma_msg *msg;
};

static enum sma_err make_question(void *user, const struct sma_state_message *message)
{
    struct asking *asking = user;
    struct store_facts facts;
    SMA_TRY(sma_store_facts_get(message->facts, &facts));
    sma_store_follow_route(message->chat, &facts.route);
    facts.route.adapter =
        (uint8_t)asking->store->adapters[asking->question->adapter].adapter->actor;
    const struct sma_prepare prepare = {.seq = message->seq,
                                        .route = facts.route,
                                        .preparation = facts.preparation,
                                        .wants_role = facts.wants_role || facts.may_answer,
                                        .is_role_open = facts.is_role_open && !facts.may_answer};
    asking->msg = sma_store_made(asking->store, sma_msg_make_prepare(&prepare));
    return SMA_ERR_OK;
}

/* @return false: no further question can be asked now */
static bool ask(struct sma_store *store, struct store_question *question)
{
    enum sma_actor_id actor = store->adapters[question->adapter].adapter->actor;
    struct asking asking = {.store = store, .question = question};
    enum sma_err err = sma_state_message_get(store->state, question->seq, make_question, &asking);
    if (sma_store_is_damage(store, err)) {
        set_damaged(store, question);
        return true;
    }
    if (err != SMA_ERR_OK)
        return false; /* weather: with the next batch */
    uint64_t now = sma_ctx_now(store->ctx), ask_id;
    if (sma_ctx_ask(store->ctx, actor, &asking.msg, now + PREPARE_NS, &ask_id) != SMA_ERR_OK) {
        sma_msg_destroyp(&asking.msg); /* the adapter has ended: the row waits for the next start */
        return false;
    }
    sma_store_question_unlink(store, question);
    question->ask_id = ask_id;
    question->since_ns = store->intake->desks[question->adapter].busy_ns = now;
    sma_store_question_link(store, question);
    return true;
}

void sma_store_ask_questions(struct sma_store *store)
{
    if (!sma_store_may_write(store))
        return;
    for (uint32_t i = 0; i < store->adapter_count; i++) {
        struct store_desk *desk = &store->intake->desks[i];
        while (desk->unasked.first != NULL && desk->asked.count < SMA_ASK_PREPARE_COUNT_MAX &&
               sma_ctx_ask_room(store->ctx, store->adapters[i].adapter->actor) > 0)
            if (!ask(store, desk->unasked.first))
                break;
    }
}

/* -- what follows ------------------------------------------------------------------------------ */
struct conclusion
{
    struct sma_store *store;
    struct store_chat *chat;
    struct store_group *group;
    uint64_t seq;
    uint8_t role; /* enum sma_role */
    struct sma_str context, user_name;
    const struct sma_part *parts;
    uint32_t part_count;
    /* of the row */
    bool is_waiting, is_control, is_refused;
    bool is_run_command;         /* nothing is wanted any more: its turn comes */
    bool may_answer, wants_role; /* an answer to a request is looked at before the rest */
};

static SMA_CHECKED enum sma_err refuse_row(struct sma_store *store, uint64_t seq)
{
    enum sma_err err = sma_state_finish(
        store->state, &(struct sma_state_finish){.seq = seq,
                                                 .state = SMA_ROW_BUSY,
                                                 .outcome = SMA_OUTCOME_CANCELLED,
                                                 .wall_ms = sma_ctx_wall(store->ctx)});
    if (err == SMA_ERR_OK)
        sma_store_note_finished(store, seq);
    return err == SMA_ERR_EXISTS ? SMA_ERR_OK : err;
}

/* The row keeps why, and the log tells. */
static SMA_CHECKED enum sma_err note_refused(struct conclusion *end, struct store_facts *facts,
                                             struct sma_str message_id)
{
    struct sma_store *store = end->store;
    facts->why = sma_str(sma_reason_text(SMA_REASON_NOT_ADMIN)->word);
    sma_buf_clear(&store->scratch.facts);
    sma_store_facts_put(&store->scratch.facts, facts);
    SMA_TRY(store->scratch.facts.err);
    SMA_TRY(sma_state_set_facts(store->state, end->seq, sma_buf_str(&store->scratch.facts)));
    sma_store_log_unanswered(store, SMA_ACTOR_STORE,
                             &(struct sma_unanswered){.reason = SMA_REASON_NOT_ADMIN,
                                                      .seq = end->seq,
                                                      .platform = facts->route.channel,
                                                      .chat_key = sma_store_chat_key(end->chat),
                                                      .user_id = facts->route.user_id,
                                                      .message_id = message_id});
    return SMA_ERR_OK;
}

/* The person may not: the message and every piece of it are over. */
static SMA_CHECKED enum sma_err refuse_all(struct conclusion *end, const struct sma_route *route)
{
    struct sma_store *store = end->store;
    uint64_t piece;
    enum sma_err err = refuse_row(store, end->seq);
    while (err == SMA_ERR_OK && sma_store_take_collected(store, end->seq, &piece)) {
        sma_store_release(store, piece);
        err = refuse_row(store, piece);
    }
    if (err == SMA_ERR_OK)
        err = sma_store_refusal_notice(store, end->chat, route, end->seq);
    (void)sma_queue_remove(store->queue, end->chat->id, end->seq); /* a command is not in it */
    sma_store_release(store, end->seq);
    return err;
}

static SMA_CHECKED enum sma_err carry_out(struct conclusion *end, const struct store_facts *facts,
                                          struct sma_str line)
{
    struct sma_buf text; /* its words come after the command */
    sma_buf_init(&text, SMA_TEXT_BYTES_MAX);
    enum sma_err err = SMA_ERR_OK;
    if (facts->has_text)
        sma_buf_put_str(&text, facts->text);
    else if (line.len > 0)
        err = sma_store_line_text(line, &text);
    struct sma_ingress command = {.route = facts->route,
                                  .kind = SMA_EVENT_CONTROL,
                                  .control = facts->control,
                                  .is_group = facts->is_group,
                                  .is_forward = facts->is_apart,
                                  .text = sma_buf_str(&text)};
    if (err == SMA_ERR_OK)
        err = text.err;
    if (err == SMA_ERR_OK)
        err = sma_store_control(end->store, end->chat, &command, end->seq);
    sma_buf_fini(&text);
    return err;
}

/* The row gets what was found; nothing is left to ask. */
static SMA_CHECKED enum sma_err write_found(struct conclusion *end, struct store_facts *facts)
{
    struct sma_store *store = end->store;
    sma_buf_clear(&store->scratch.text);
    sma_buf_put_str(&store->scratch.text, facts->context);
    if (facts->context.len > 0 && end->context.len > 0)
        sma_buf_put_text(&store->scratch.text, "\n\n");
    sma_buf_put_str(&store->scratch.text, end->context);
    facts->context = sma_buf_str(&store->scratch.text);
    sma_buf_clear(&store->scratch.parts);
    sma_buf_put_str(&store->scratch.parts, facts->parts);
    sma_store_message_parts_put(&store->scratch.parts, end->parts, end->part_count);
    facts->parts = sma_buf_str(&store->scratch.parts);
    if (end->user_name.len > 0 && facts->route.user_name.len == 0) {
        facts->route.user_name = end->user_name;
        SMA_TRY(sma_store_remember_name(store, end->chat, facts));
    }
    facts->preparation = SMA_STR("");
    facts->wants_role = facts->is_role_open = false;
    facts->is_admin = facts->is_admin || (facts->is_group && end->role == SMA_ROLE_ADMIN);
    sma_buf_clear(&store->scratch.facts);
    sma_store_facts_put(&store->scratch.facts, facts);
    if (store->scratch.text.err != SMA_ERR_OK || store->scratch.parts.err != SMA_ERR_OK ||
        store->scratch.facts.err != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    return sma_state_set_facts(store->state, end->seq, sma_buf_str(&store->scratch.facts));
}

static enum sma_err conclude_row(void *user, const struct sma_state_message *message)
{
    struct conclusion *end = user;
    struct sma_store *store = end->store;
    struct store_facts facts;
    enum sma_err err = sma_store_facts_get(message->facts, &facts);
    if (err != SMA_ERR_OK || message->state != SMA_ROW_WAITING)
        return err;
    end->is_waiting = true;
    end->is_control = message->kind != SMA_EVENT_MESSAGE;
    sma_store_follow_route(message->chat, &facts.route);
    if (!sma_store_is_let_in(store, &facts.route))
        end->role = SMA_ROLE_UNKNOWN; /* asked when it was, or by a version that asked everywhere */
    if (facts.wants_role || facts.may_answer)
        sma_store_note_role(store, end->chat, facts.route.user_id, (enum sma_role)end->role);
    if (facts.may_answer) {
        end->may_answer = true;
        end->wants_role = facts.wants_role;
        return SMA_ERR_OK;
    }
    if (facts.wants_role) {
        const struct sma_command *command = sma_command_of((enum sma_control)facts.control);
        bool judges_itself =
            end->is_control && command != NULL && (command->traits & SMA_COMMAND_RULES) != 0;
        end->is_refused = end->role != SMA_ROLE_ADMIN && !judges_itself && !facts.is_role_open;
        if (end->is_refused) {
            SMA_TRY(note_refused(end, &facts, message->event_key));
            return refuse_all(end, &facts.route);
        }
        if (end->role == SMA_ROLE_ADMIN)
            err = sma_store_admit(store, end->chat, &facts.route,
                                  &(struct sma_access_outcome){.opens_window = true});
    }
    end->is_run_command = end->is_control && sma_store_is_run_command(&facts);
    if (err == SMA_ERR_OK && end->is_control && !end->is_run_command)
        return carry_out(end, &facts, message->line);
    return err == SMA_ERR_OK ? write_found(end, &facts) : err;
}

/* The question is over, with what the adapter said or without. */
static SMA_CHECKED enum sma_err conclude(struct sma_store *store, struct store_question *question,
                                         const struct sma_prepared *prepared)
{
    struct conclusion end = {.store = store,
                             .chat = question->chat,
                             .group = question->group,
                             .seq = question->seq,
                             .role = prepared->role,
                             .context = prepared->context,
                             .user_name = prepared->user_name,
                             .parts = prepared->parts,
                             .part_count = prepared->part_count};
    sma_store_question_remove(store, question);
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_state_message_get(store->state, end.seq, conclude_row, &end);
    if (err == SMA_ERR_OK && end.may_answer) {
        bool is_over, may_run = !end.wants_role || end.role == SMA_ROLE_ADMIN;
        end.may_answer = false;
        err = sma_store_conclude_answer(store, end.chat, end.seq, may_run, &is_over);
        if (err != SMA_ERR_OK || is_over)
            return err;
        err = sma_state_message_get(store->state, end.seq, conclude_row, &end);
    }
    if (err == SMA_ERR_OK && end.is_waiting && end.is_run_command && !end.is_refused)
        return sma_queue_push_accepted(store->queue, end.chat->id, end.seq);
    if (err != SMA_ERR_OK || !end.is_waiting || end.is_control || end.is_refused)
        return err;
    if (end.group != NULL)
        sma_store_group_settle(store, end.group);
    else
        sma_queue_set_held(store->queue, end.chat->id, end.seq, false);
    sma_store_note_addition(store, end.chat);
    return SMA_ERR_OK;
}

struct concluding
{
    uint64_t seq;
    uint32_t chat_id;
    const struct sma_prepared *prepared; /* NULL: its row cannot be read */
};

static enum sma_err conclude_one(struct sma_store *store, void *ctx)
{
    const struct concluding *it = ctx;
    struct store_question *question = sma_store_map_get(&store->intake->questions, it->seq);
    if (question == NULL)
        return SMA_ERR_OK;
    return it->prepared != NULL ? conclude(store, question, it->prepared) : SMA_ERR_CORRUPT;
}

static enum sma_err tell_failed(void *user, const struct sma_state_message *message)
{
    struct conclusion *end = user;
    struct sma_store *store = end->store;
    struct store_facts facts;
    if (sma_store_facts_get(message->facts, &facts) != SMA_ERR_OK)
        return SMA_ERR_OK; /* nobody knows where to say it */
    sma_store_follow_route(message->chat, &facts.route);
    sma_buf_clear(&store->scratch.text);
    sma_notice_format(&store->scratch.text, sma_store_language(store, &facts.route),
                      SMA_NOTICE_GIVEN_UP);
    return sma_store_tell(store, &facts.route, end->seq, sma_buf_str(&store->scratch.text));
}

static SMA_CHECKED enum sma_err fail_row(struct sma_store *store, uint64_t seq)
{
    const struct sma_state_finish finish = {.seq = seq,
                                            .state = SMA_ROW_GIVEN_UP,
                                            .outcome = SMA_OUTCOME_GIVEN_UP,
                                            .wall_ms = sma_ctx_wall(store->ctx)};
    enum sma_err err = sma_state_finish(store->state, &finish);
    if (err == SMA_ERR_OK) {
        sma_store_note_finished(store, seq);
        err = sma_store_tell_hooks(store, &finish);
    }
    return err == SMA_ERR_EXISTS ? SMA_ERR_OK : err;
}

/* A piece that is damaged: its leader's run will say that it cannot be read. */
static void leave_piece(struct sma_store *store, uint64_t seq)
{
    struct store_question *question = sma_store_map_get(&store->intake->questions, seq);
    struct store_group *group = question != NULL ? question->group : NULL;
    if (question != NULL)
        sma_store_question_remove(store, question);
    if (group != NULL)
        sma_store_group_settle(store, group);
}

/* It is never run without what it waited for, which may be the word of a platform on who may: it is
 * over, with its pieces. */
static enum sma_err fail_one(struct sma_store *store, void *ctx)
{
    const struct concluding *it = ctx;
    struct conclusion end = {.store = store, .seq = it->seq};
    struct sma_state_head head;
    uint64_t piece;
    enum sma_err err = sma_state_head_get(store->state, it->seq, &head);
    if (err != SMA_ERR_OK || head.state != SMA_ROW_WAITING)
        return err;
    if (head.run_seq != 0) {
        leave_piece(store, it->seq);
        return SMA_ERR_OK;
    }
    err = sma_state_message_get(store->state, it->seq, tell_failed, &end);
    if (err == SMA_ERR_OK || sma_store_is_damage(store, err))
        err = fail_row(store, it->seq);
    while (err == SMA_ERR_OK && sma_store_take_collected(store, it->seq, &piece)) {
        sma_store_release(store, piece);
        err = fail_row(store, piece);
    }
    (void)sma_queue_remove(store->queue, it->chat_id, it->seq); /* a command is not in it */
    sma_store_release(store, it->seq);
    return err;
}

/* The question is over; what is damaged is its own trouble. */
static SMA_CHECKED enum sma_err conclude_item(struct sma_store *store,
                                              const struct store_question *question,
                                              const struct sma_prepared *prepared)
{
    struct concluding it = {
        .seq = question->seq, .chat_id = question->chat->id, .prepared = prepared};
    struct store_item item = {.step = conclude_one,
                              .on_damage = fail_one,
                              .ctx = &it,
                              .name = "message",
                              .remedy = "send it again; if there are more of these, look at the "
                                        "disk and at docs/notes/store.md",
                              .number = question->seq,
                              .chat_key = sma_store_chat_key(question->chat)};
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_store_item(store, &item);
    question = item.is_stuck ? sma_store_map_get(&store->intake->questions, it.seq) : NULL;
    if (question != NULL) /* not even ended: left alone until the next start */
        sma_store_question_remove(store, (struct store_question *)(uintptr_t)question);
    return err;
}

void sma_store_prepared(struct sma_store *store, struct sma_msg **msg)
{
    struct sma_prepared prepared = *SMA_MSG_BODY(*msg, struct sma_prepared);
    struct store_question *question = sma_store_map_get(&store->intake->questions, prepared.seq);
    if (store->is_draining || question == NULL || question->ask_id != (*msg)->ask_id)
        return; /* stopped, too late, or the service is: the row says what is still to be asked */
    store->intake->desks[question->adapter].busy_ns = sma_ctx_now(store->ctx);
    if (prepared.context.len > SMA_TEXT_BYTES_MAX)
        prepared.context.len = sma_utf8_cut(prepared.context, SMA_TEXT_BYTES_MAX);
    enum sma_err err = conclude_item(store, question, &prepared);
    if (err != SMA_ERR_OK)
        sma_store_fail_batch(store, err); /* and the question comes again */
}

/* -- time -------------------------------------------------------------------------------------- */
/* When a question that has no place gives up: after the same silence of its adapter. */
static uint64_t silence_end(const struct store_desk *desk)
{
    uint64_t since = desk->unasked.first->since_ns;
    return (since > desk->busy_ns ? since : desk->busy_ns) + PREPARE_NS;
}

static struct store_question *find_expired(struct sma_store *store, uint64_t now)
{
    for (uint32_t i = 0; i < store->adapter_count; i++) {
        struct store_desk *desk = &store->intake->desks[i];
        if (desk->asked.first != NULL && desk->asked.first->since_ns + PREPARE_NS <= now)
            return desk->asked.first;
        bool is_stuck = desk->unasked.first != NULL && desk->asked.first == NULL &&
                        sma_ctx_ask_room(store->ctx, store->adapters[i].adapter->actor) == 0;
        if (is_stuck && silence_end(desk) <= now)
            return desk->unasked.first;
    }
    return NULL;
}

enum sma_err sma_store_expire_questions(struct sma_store *store)
{
    uint64_t now = sma_ctx_now(store->ctx);
    if (store->is_draining || sma_store_disk_level(store) >= 2)
        return SMA_ERR_OK;
    while (store->intake->damaged.first != NULL) {
        SMA_TRY(conclude_item(store, store->intake->damaged.first, NULL));
    }
    for (struct store_question *question; (question = find_expired(store, now)) != NULL;) {
        sma_ctx_log(store->ctx, SMA_LOG_WARN,
                    "message %llu of %s was not prepared within %d s and goes on without",
                    (unsigned long long)question->seq, question->chat->key, SMA_PREPARE_S);
        SMA_TRY(conclude_item(store, question, &(struct sma_prepared){0}));
    }
    return SMA_ERR_OK;
}

uint64_t sma_store_questions_wake(const struct sma_store *store)
{
    uint64_t wake = UINT64_MAX;
    if (store->is_draining)
        return wake;
    if (store->intake->damaged.first != NULL)
        return 0;
    for (uint32_t i = 0; i < store->adapter_count; i++) {
        const struct store_desk *desk = &store->intake->desks[i];
        uint64_t at = UINT64_MAX;
        if (desk->asked.first != NULL)
            at = desk->asked.first->since_ns + PREPARE_NS;
        else if (desk->unasked.first != NULL &&
                 sma_ctx_ask_room(store->ctx, store->adapters[i].adapter->actor) == 0)
            at = silence_end(desk);
        if (at < wake)
            wake = at;
    }
    return wake;
}

void sma_store_count_questions(const struct sma_store *store, uint32_t *ret_asked,
                               uint32_t *ret_waiting)
{
    *ret_asked = *ret_waiting = 0;
    for (uint32_t i = 0; i <= SMA_ADAPTER_COUNT_MAX; i++) {
        *ret_asked += store->intake->desks[i].asked.count;
        *ret_waiting += store->intake->desks[i].unasked.count;
    }
}
