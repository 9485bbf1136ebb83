/*
 * Presses of buttons and words, JUDGE and JUDGED: how answers of people come out of a chat.
 *
 * A press is decided when it comes; what the person is shown goes back with ACCEPTED. Words mean a
 * request only when meant.c says so, and are read by rules (runtime/approval/answer.h). What only
 * looks like an answer waits in the queue as any message while the agent reads it; the agent may
 * find a refusal in it, never consent. In a group the platform may have to be asked first whether
 * somebody administers it: then the row waits for PREPARED as commands do.
 * Invariant: a message that decided something starts no run; one that did not is treated as any
 * other.
 */
#include "consent_priv.h"
#include "intake.h"
#include "outbox.h"
#include "people.h"
#include "record.h"
#include "runs.h"
#include "store.h"

#define CHATTER_BYTES_MAX 1000 /* of a group: longer ones are not read as answers */
#define TEXT_BYTES_MAX ((size_t)4 * 1024 * 1024)

/* -- what is said about a request -------------------------------------------------------------- */
struct reading
{
    struct store_case it;
    struct sma_answer answer;
    uint64_t permitted;
    bool is_role_open;
    bool is_cut; /* its card does not show all of it */
};

static SMA_CHECKED enum sma_err read_words(struct sma_store *store, struct store_approval *approval,
                                           const struct sma_route *route, struct sma_str text,
                                           struct reading *ret_reading)
{
    SMA_TRY(sma_store_case_open(store, approval, &ret_reading->it));
    sma_answer_read(text, &ret_reading->it.request, &ret_reading->answer);
    ret_reading->is_role_open = false;
    ret_reading->permitted = 0;
    ret_reading->is_cut =
        ret_reading->answer.approved_mask != 0 && sma_card_is_cut(&ret_reading->it.request);
    if (ret_reading->answer.kind != SMA_ANSWER_NO)
        ret_reading->permitted =
            sma_store_permitted(store, &ret_reading->it, route, &ret_reading->is_role_open);
    return SMA_ERR_OK;
}

static bool decides(const struct reading *reading)
{
    return sma_words_decide(&(struct sma_words){.kind = reading->answer.kind,
                                                .approved = reading->answer.approved_mask,
                                                .refused = reading->answer.refused_mask,
                                                .permitted = reading->permitted});
}

static SMA_CHECKED enum sma_err rule_words(struct sma_store *store, struct reading *reading,
                                           const struct sma_route *route,
                                           struct store_decision *ret_decision)
{
    struct store_word word = {.route = route,
                              .approved = reading->answer.approved_mask,
                              .refused = reading->answer.refused_mask,
                              .response = reading->answer.response,
                              .grant_rule = reading->answer.grant_rule,
                              .grant_s = reading->answer.grant_s,
                              .via = "words"};
    return sma_store_rule(store, &reading->it, &word, ret_decision);
}

/* The row is over: what was decided is its result. */
static SMA_CHECKED enum sma_err finish(struct sma_store *store, uint64_t seq,
                                       const struct store_decision *decision)
{
    enum sma_err err = sma_state_finish(
        store->state, &(struct sma_state_finish){.seq = seq,
                                                 .state = SMA_ROW_DONE,
                                                 .outcome = SMA_OUTCOME_OK,
                                                 .is_success = decision->status == 200,
                                                 .output = sma_str(decision->text),
                                                 .wall_ms = sma_ctx_wall(store->ctx)});
    if (err == SMA_ERR_OK)
        sma_store_note_finished(store, seq);
    return err;
}

/* Words that decided: the outcome's card is the answer, unless there is more to say or nothing was
 * decided. */
static SMA_CHECKED enum sma_err finish_words(struct sma_store *store, const struct sma_route *route,
                                             uint64_t seq, const struct store_decision *decision)
{
    SMA_TRY(finish(store, seq, decision));
    if (decision->needs_telling || decision->status != 200)
        SMA_TRY(sma_store_tell(store, route, seq, sma_str(decision->text)));
    return SMA_ERR_OK;
}

/* A person who may not: told once in a while. */
static SMA_CHECKED enum sma_err tell_refusal(struct sma_store *store, struct store_chat *chat,
                                             const struct sma_route *route, uint64_t seq,
                                             enum sma_notice notice)
{
    if (!sma_store_may_refuse_again(store, chat))
        return SMA_ERR_OK;
    sma_buf_clear(&store->scratch.text);
    sma_notice_format(&store->scratch.text, sma_store_language(store, route), notice);
    return sma_store_tell(store, route, seq, sma_buf_str(&store->scratch.text));
}

/* Words that would decide, if it were clear what they mean. it: the one request, if there is one
 * only. */
static SMA_CHECKED enum sma_err tell_unclear(struct sma_store *store, struct store_chat *chat,
                                             const struct sma_route *route,
                                             const struct store_case *it)
{
    return sma_store_ask_which(store, chat, route, sma_state_next_seq(store->state),
                               it == NULL ? NULL : &it->request.items[0].title);
}

/* -- presses ----------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err rule_press(struct sma_store *store, const struct sma_route *route,
                                           struct sma_str data, struct store_decision *ret_decision)
{
    struct sma_card_press press;
    char id[SMA_STATE_APPROVAL_ID_BYTES + 1] = "";
    if (sma_card_verify(store->consent->key, data, &press) != SMA_ERR_OK) {
        sma_store_rule_late(store, route, SMA_STR(""), ret_decision);
        return SMA_ERR_OK;
    }
    for (size_t i = 0; i < sizeof press.id; i++)
        snprintf(id + 2 * i, 3, "%02x", press.id[i]);
    struct store_approval *approval = sma_store_approval_by_id(store, sma_str(id));
    if (approval == NULL) {
        sma_store_rule_late(store, route, sma_str(id), ret_decision);
        return SMA_ERR_OK;
    }
    struct store_case it;
    enum sma_err err = sma_store_case_open(store, approval, &it);
    if (err == SMA_ERR_CORRUPT && approval->is_broken) {
        sma_store_rule_late(store, route, SMA_STR(""), ret_decision);
        return SMA_ERR_OK;
    }
    if (err != SMA_ERR_OK)
        return err;
    uint64_t mask = press.item == 0 ? sma_store_case_mask(&it) : UINT64_C(1) << (press.item - 1);
    bool is_refusal = press.action == SMA_CARD_REFUSE;
    struct store_word word = {.route = route,
                              .approved = is_refusal ? 0 : mask,
                              .refused = is_refusal ? mask : 0,
                              .via = "button"};
    if (press.action == SMA_CARD_TEN_MINUTES)
        word.grant_s = 600;
    if (press.action == SMA_CARD_ALWAYS)
        word.grant_s = SMA_GRANT_ALWAYS;
    if (press.action == SMA_CARD_PROGRAM)
        word.grant_s = SMA_GRANT_PROGRAM;
    err = sma_store_rule(store, &it, &word, ret_decision);
    sma_store_case_fini(&it);
    return err;
}

enum sma_err sma_store_press(struct sma_store *store, struct store_chat *chat, struct sma_msg *msg)
{
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    struct store_decision decision = {.status = 403};
    bool is_program, is_ruled, is_told;
    SMA_TRY(sma_store_program_press(store, in, &is_program, &is_ruled, &is_told));
    if (is_program) {
        decision.status = is_ruled ? 200 : 403;
        snprintf(decision.text, sizeof decision.text, "%.*s", (int)store->scratch.text.len,
                 store->scratch.text.ptr);
    } else {
        SMA_TRY(rule_press(store, &in->route, in->text, &decision));
    }
    bool is_held = decision.status == 403 && decision.is_role_open &&
                   chat->held_count < SMA_CHAT_WAITING_COUNT_MAX;
    struct store_acceptance how = {.row_state = is_held ? SMA_ROW_WAITING : SMA_ROW_DONE,
                                   .may_answer = is_held,
                                   .is_press = true};
    bool has_decided = decision.status == 200;
    bool is_taken = is_held || has_decided;
    struct sma_accepted accepted = {.verdict =
                                        is_taken ? SMA_VERDICT_ACCEPTED : SMA_VERDICT_IGNORED,
                                    .why = is_taken ? SMA_REASON_NONE : SMA_REASON_PRESS_LATE};
    how.why = (enum sma_reason)accepted.why;
    SMA_TRY(sma_store_write_row(store, chat, in, &how, &accepted.seq));
    if (is_ruled && !is_told)
        SMA_TRY(sma_store_tell(store, &in->route, accepted.seq, sma_str(decision.text)));
    if (is_held)
        SMA_TRY(sma_store_hold(store, chat, accepted.seq, &in->route, NULL, true));
    if (is_held) { /* who may is being asked: what comes of it, the card says */
        sma_buf_clear(&store->scratch.text);
        sma_notice_format(&store->scratch.text, sma_store_language(store, &in->route),
                          SMA_NOTICE_BUTTON_TAKEN);
        snprintf(decision.text, sizeof decision.text, "%.*s", (int)store->scratch.text.len,
                 store->scratch.text.ptr);
    }
    accepted.notice = sma_str(decision.text);
    sma_store_accept_later(store, msg, &accepted);
    return SMA_ERR_OK;
}

/* -- judgements -------------------------------------------------------------------------------- */

/* Does the agent read it by now, about this very request? */
static bool is_out(const struct store_consent *consent, uint64_t seq, const char *id)
{
    for (uint32_t i = 0; i < consent->out_count; i++)
        if (consent->out[i].seq == seq)
            return strcmp(consent->out[i].id, id) == 0;
    return false;
}

static SMA_CHECKED enum sma_err begin_judgement(struct sma_store *store, struct store_chat *chat,
                                                uint64_t seq, struct store_approval *approval)
{
    struct store_consent *consent = store->consent;
    if (!sma_store_grow(&consent->judgements, consent->judgement_count, &consent->judgement_cap,
                        sizeof *consent->judgements))
        return SMA_ERR_NOMEM;
    struct store_judgement *judgement = &consent->judgements[consent->judgement_count++];
    *judgement = (struct store_judgement){
        .seq = seq, .chat = chat, .is_sent = is_out(consent, seq, approval->id)};
    snprintf(judgement->id, sizeof judgement->id, "%s", approval->id);
    sma_store_approval_judging(store, approval, 1);
    return SMA_ERR_OK;
}

void sma_store_keep_judgements(struct sma_store *store)
{
    struct store_consent *consent = store->consent;
    for (uint32_t i = 0; i < consent->judgement_count; i++) {
        if (!consent->judgements[i].is_sent)
            continue;
        sma_store_need(store, sma_store_grow(&consent->out, consent->out_count, &consent->out_cap,
                                             sizeof *consent->out));
        consent->out[consent->out_count] = consent->judgements[i];
        consent->out[consent->out_count++].chat = NULL;
    }
    consent->judgement_count = 0;
}

enum sma_err sma_store_judge_again(struct sma_store *store, struct store_chat *chat, uint64_t seq,
                                   struct sma_str request_id, bool *ret_is_held)
{
    struct store_approval *approval = sma_store_approval_by_id(store, request_id);
    *ret_is_held = approval != NULL && store->consent->judgement_count < STORE_JUDGEMENT_COUNT_MAX;
    return *ret_is_held ? begin_judgement(store, chat, seq, approval) : SMA_ERR_OK;
}

/* The text of a message that waits. */
static SMA_CHECKED enum sma_err put_text(const struct sma_state_message *message,
                                         struct sma_buf *text)
{
    struct store_facts facts;
    enum sma_err err = sma_store_facts_get(message->facts, &facts);
    if (err == SMA_ERR_OK && facts.has_text)
        sma_buf_put_str(text, facts.text);
    else if (err == SMA_ERR_OK)
        err = sma_store_line_text(message->line, text);
    return err == SMA_ERR_OK ? text->err : err;
}

static void send_judge(struct sma_store *store, const struct store_judgement *judgement,
                       struct sma_str text, struct sma_str request)
{
    const struct sma_judge judge = {.seq = judgement->seq,
                                    .approval_id = sma_str(judgement->id),
                                    .chat_key = sma_store_chat_key(judgement->chat),
                                    .text = text,
                                    .request_json = request};
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_judge(&judge));
    sma_store_send_now(store, SMA_ACTOR_AGENT, &msg);
}

/* What cannot be read is not sent: its request ends it by its clock, or the row by its run. */
static void ask_agent(struct sma_store *store, struct store_judgement *judgement)
{
    struct sma_state_rows rows = {0};
    struct sma_state_message message;
    struct sma_state_approval row;
    struct sma_buf text;
    sma_buf_init(&text, TEXT_BYTES_MAX);
    enum sma_err err = sma_state_message_read(store->state, judgement->seq, &rows, &message);
    if (err == SMA_ERR_OK)
        err = put_text(&message, &text);
    if (err == SMA_ERR_OK)
        err = sma_state_approval_read(store->state, sma_str(judgement->id), &rows, &row);
    if (err == SMA_ERR_OK) {
        judgement->is_sent = true;
        send_judge(store, judgement, sma_buf_str(&text), row.request);
    }
    sma_buf_fini(&text);
    sma_state_rows_free(&rows);
}

void sma_store_send_judgements(struct sma_store *store)
{
    struct store_consent *consent = store->consent;
    consent->out_count = 0; /* what is still to be read has been found again */
    for (uint32_t i = 0; i < consent->judgement_count && !store->is_draining; i++)
        if (!consent->judgements[i].is_sent)
            ask_agent(store, &consent->judgements[i]);
}

/* -- words ------------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err decide_now(struct sma_store *store, struct store_chat *chat,
                                           struct sma_msg *msg, struct reading *reading)
{
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    struct store_acceptance how = {.row_state = SMA_ROW_RUNNING, .is_aside = true};
    struct sma_accepted accepted = {.verdict = SMA_VERDICT_ACCEPTED};
    struct store_decision decision;
    enum sma_err err = sma_store_write_row(store, chat, in, &how, &accepted.seq);
    if (err == SMA_ERR_OK)
        err = rule_words(store, reading, &in->route, &decision);
    if (err == SMA_ERR_OK)
        err = finish_words(store, &in->route, accepted.seq, &decision);
    if (err == SMA_ERR_OK)
        sma_store_accept_later(store, msg, &accepted);
    return err;
}

/* Waits in the queue until its author's role is known, or until the agent has read it. */
static SMA_CHECKED enum sma_err hold_words(struct sma_store *store, struct store_chat *chat,
                                           struct sma_msg *msg, struct store_approval *approval,
                                           const struct sma_access_outcome *outcome, bool is_judged)
{
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    bool asks = outcome->decision == SMA_ACCESS_ASK_ROLE;
    struct store_acceptance how = {.row_state = SMA_ROW_WAITING,
                                   .wants_role = !is_judged && asks,
                                   .may_answer = !is_judged,
                                   .is_judged = is_judged,
                                   .request_id = sma_str(approval->id),
                                   .is_else_ignored = !asks && outcome->decision != SMA_ACCESS_RUN};
    struct sma_accepted accepted = {.verdict = SMA_VERDICT_ACCEPTED};
    SMA_TRY(sma_store_write_row(store, chat, in, &how, &accepted.seq));
    if (outcome->decision == SMA_ACCESS_RUN)
        SMA_TRY(sma_store_admit(store, chat, &in->route, outcome));
    SMA_TRY(sma_queue_push_held(store->queue, chat->id, accepted.seq));
    SMA_TRY(is_judged ? begin_judgement(store, chat, accepted.seq, approval)
                      : sma_store_hold(store, chat, accepted.seq, &in->route, NULL, false));
    accepted.position = sma_queue_waiting(store->queue) - 1;
    sma_store_accept_later(store, msg, &accepted);
    return SMA_ERR_OK;
}

static enum sma_words_fate weigh(const struct sma_store *store, const struct reading *reading,
                                 enum sma_meant meant, const struct sma_ingress *in,
                                 const struct sma_access_outcome *outcome)
{
    return sma_words_weigh(&(struct sma_words){
        .kind = reading->answer.kind,
        .approved = reading->answer.approved_mask,
        .refused = reading->answer.refused_mask,
        .permitted = reading->permitted,
        .meant = meant,
        .is_addressed = in->addressed != SMA_ADDRESSED_NONE || meant == SMA_MEANT_CARD,
        .is_role_open = reading->is_role_open,
        .is_cut = reading->is_cut,
        .may_run = outcome->decision == SMA_ACCESS_RUN,
        .asks_role = outcome->decision == SMA_ACCESS_ASK_ROLE,
        .is_full = store->consent->judgement_count >= STORE_JUDGEMENT_COUNT_MAX});
}

struct weighing
{
    struct store_meant meant;
    const struct sma_access_outcome *outcome;
};

/* Of the first item that nobody has decided about. */
static struct sma_str open_title(const struct store_case *it)
{
    uint64_t mask = sma_store_case_mask(it);
    return mask == 0 ? SMA_STR("") : it->request.items[__builtin_ctzll(mask)].title;
}

static SMA_CHECKED enum sma_err ask_plainly(struct sma_store *store, struct store_chat *chat,
                                            const struct sma_route *route, uint64_t seq,
                                            const struct store_case *it)
{
    enum sma_notice notice =
        sma_card_is_cut(&it->request) ? SMA_NOTICE_APPROVAL_CUT : SMA_NOTICE_APPROVAL_PLAINLY;
    struct sma_str title = open_title(it);
    return sma_store_ask_plainly(store, chat, route, seq,
                                 &(struct store_plea){.notice = notice, .title = title});
}

static SMA_CHECKED enum sma_err act_on_words(struct sma_store *store, struct store_chat *chat,
                                             struct sma_msg *msg, struct reading *reading,
                                             const struct weighing *weighing, bool *ret_is_taken)
{
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    struct store_approval *approval = reading->it.approval;
    const struct sma_access_outcome *outcome = weighing->outcome;
    enum sma_words_fate what = weigh(store, reading, weighing->meant.how, in, outcome);
    bool has_room = sma_queue_check(store->queue, chat->id) == SMA_ERR_OK;
    *ret_is_taken = what == SMA_WORDS_DECIDE ||
                    (has_room && (what == SMA_WORDS_WAIT_FOR_ROLE || what == SMA_WORDS_JUDGED));
    if (what == SMA_WORDS_REFUSED)
        return tell_refusal(store, chat, &in->route, sma_state_next_seq(store->state),
                            SMA_NOTICE_APPROVAL_NOT_YOURS);
    if (what == SMA_WORDS_UNCLEAR) {
        bool is_one = weighing->meant.how != SMA_MEANT_ONE_OF_SEVERAL;
        return tell_unclear(store, chat, &in->route, is_one ? &reading->it : NULL);
    }
    if (what == SMA_WORDS_TOO_LITTLE)
        return ask_plainly(store, chat, &in->route, sma_state_next_seq(store->state), &reading->it);
    if (!*ret_is_taken)
        return SMA_ERR_OK;
    if (what == SMA_WORDS_DECIDE)
        return decide_now(store, chat, msg, reading);
    return hold_words(store, chat, msg, approval, outcome, what == SMA_WORDS_JUDGED);
}

static SMA_CHECKED enum sma_err take_words(struct sma_store *store, struct store_chat *chat,
                                           struct sma_msg *msg,
                                           const struct sma_access_outcome *outcome,
                                           bool *ret_is_taken)
{
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    const struct sma_said said = {.reply_to_id = in->reply_to_id,
                                  .sent_ms = in->sent_ms,
                                  .addressed = in->addressed,
                                  .is_group = in->is_group,
                                  .is_reply = in->is_reply,
                                  .is_forward = in->is_forward,
                                  .is_edited = in->is_edited};
    struct weighing weighing = {.outcome = outcome};
    if (in->is_record_only || in->group_key.len > 0 || (in->preparation.len > 0 && !in->is_whole) ||
        in->text.len == 0 ||
        (in->addressed == SMA_ADDRESSED_NONE && in->text.len > CHATTER_BYTES_MAX))
        return SMA_ERR_OK;
    enum sma_err err = sma_store_find_meant(store, chat, &said, &weighing.meant);
    struct store_approval *approval = weighing.meant.approval;
    if (err != SMA_ERR_OK || approval == NULL)
        return err;
    struct reading reading;
    err = read_words(store, approval, &in->route, in->text, &reading);
    if (err != SMA_ERR_OK)
        return approval->is_broken ? SMA_ERR_OK : err;
    err = act_on_words(store, chat, msg, &reading, &weighing, ret_is_taken);
    sma_store_case_fini(&reading.it);
    return err;
}

enum sma_err sma_store_words(struct sma_store *store, struct store_chat *chat, struct sma_msg *msg,
                             const struct sma_access_outcome *outcome, bool *ret_is_taken)
{
    const struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    *ret_is_taken = false;
    if (chat->approval_count == 0 || in->kind != SMA_EVENT_MESSAGE)
        return SMA_ERR_OK;
    return take_words(store, chat, msg, outcome, ret_is_taken);
}

/* -- held rows --------------------------------------------------------------------------------- */
struct held
{
    struct sma_state_rows rows;
    struct sma_buf text_buf;
    struct store_facts facts; /* slices into rows */
    struct sma_str text;
    uint8_t kind;
};

static SMA_CHECKED enum sma_err read_held(struct sma_store *store, const struct store_chat *chat,
                                          uint64_t seq, struct held *held)
{
    struct sma_state_message message;
    *held = (struct held){0};
    sma_buf_init(&held->text_buf, TEXT_BYTES_MAX);
    SMA_TRY(sma_state_message_read(store->state, seq, &held->rows, &message));
    SMA_TRY(sma_store_facts_get(message.facts, &held->facts));
    SMA_TRY(put_text(&message, &held->text_buf));
    held->kind = message.kind;
    held->text = sma_buf_str(&held->text_buf);
    sma_store_follow_route(chat->state, &held->facts.route);
    return SMA_ERR_OK;
}

static void end_held(struct held *held)
{
    sma_buf_fini(&held->text_buf);
    sma_state_rows_free(&held->rows);
}

static SMA_CHECKED enum sma_err write_facts(struct sma_store *store, uint64_t seq,
                                            const struct store_facts *facts)
{
    sma_buf_clear(&store->scratch.facts);
    sma_store_facts_put(&store->scratch.facts, facts);
    enum sma_err err = store->scratch.facts.err;
    return err == SMA_ERR_OK
               ? sma_state_set_facts(store->state, seq, sma_buf_str(&store->scratch.facts))
               : err;
}

static SMA_CHECKED enum sma_err conclude_press(struct sma_store *store, struct store_chat *chat,
                                               uint64_t seq, const struct held *held)
{
    struct store_decision decision;
    SMA_TRY(rule_press(store, &held->facts.route, held->text, &decision));
    SMA_TRY(finish(store, seq, &decision));
    if ((decision.needs_telling || decision.status != 200) &&
        sma_store_may_refuse_again(store, chat))
        SMA_TRY(sma_store_tell(store, &held->facts.route, seq, sma_str(decision.text)));
    return SMA_ERR_OK;
}

/* Only recorded: it was no answer, and would not have run without one. */
static SMA_CHECKED enum sma_err ignore(struct sma_store *store, struct store_chat *chat,
                                       uint64_t seq)
{
    (void)sma_queue_remove(store->queue, chat->id, seq);
    sma_store_note_finished(store, seq);
    return sma_state_set_row_state(store->state, seq, SMA_ROW_IGNORED);
}

static SMA_CHECKED enum sma_err conclude_words(struct sma_store *store, struct store_chat *chat,
                                               uint64_t seq, bool may_run, struct held *held,
                                               bool *ret_is_over)
{
    /* What they mean was found when they came; another request that is open by now, its author has
     * not seen. */
    struct store_approval *approval = sma_store_approval_by_id(store, held->facts.request_id);
    struct reading reading;
    enum sma_err err = SMA_ERR_OK;
    bool is_judged = false;
    held->facts.may_answer = false;
    if (approval != NULL) {
        err = read_words(store, approval, &held->facts.route, held->text, &reading);
        if (err != SMA_ERR_OK)
            return approval->is_broken ? write_facts(store, seq, &held->facts) : err;
        *ret_is_over = decides(&reading);
        is_judged = reading.answer.kind == SMA_ANSWER_MAYBE && reading.permitted != 0 && may_run &&
                    store->consent->judgement_count < STORE_JUDGEMENT_COUNT_MAX;
        struct store_decision decision;
        if (*ret_is_over) {
            err = rule_words(store, &reading, &held->facts.route, &decision);
            if (err == SMA_ERR_OK)
                err = finish_words(store, &held->facts.route, seq, &decision);
            (void)sma_queue_remove(store->queue, chat->id, seq);
        }
        sma_store_case_fini(&reading.it);
    }
    if (err != SMA_ERR_OK || *ret_is_over)
        return err;
    if (held->facts.is_else_ignored) {
        *ret_is_over = true;
        return ignore(store, chat, seq);
    }
    if (!is_judged)
        return write_facts(store, seq, &held->facts);
    *ret_is_over = true;
    held->facts.is_judged = true;
    held->facts.wants_role = false;
    err = write_facts(store, seq, &held->facts);
    return err == SMA_ERR_OK ? begin_judgement(store, chat, seq, approval) : err;
}

enum sma_err sma_store_conclude_answer(struct sma_store *store, struct store_chat *chat,
                                       uint64_t seq, bool may_run, bool *ret_is_over)
{
    struct held held;
    *ret_is_over = false;
    enum sma_err err = read_held(store, chat, seq, &held);
    if (err == SMA_ERR_OK && held.kind == SMA_EVENT_CALLBACK) {
        *ret_is_over = true;
        err = conclude_press(store, chat, seq, &held);
    } else if (err == SMA_ERR_OK) {
        err = conclude_words(store, chat, seq, may_run, &held, ret_is_over);
    }
    end_held(&held);
    return err;
}

/* -- JUDGED ------------------------------------------------------------------------------------ */
/* What the model reads is not what a person has said: it may spare him a second refusal, and no
 * more. */
static SMA_CHECKED enum sma_err rule_judged(struct sma_store *store,
                                            const struct sma_judged *judged, struct store_case *it,
                                            const struct held *held,
                                            struct store_decision *ret_decision)
{
    struct store_word word = {.route = &held->facts.route,
                              .refused = judged->refused_mask,
                              .response = judged->response,
                              .via = "model"};
    return judged->refused_mask == 0 ? SMA_ERR_OK : sma_store_rule(store, it, &word, ret_decision);
}

/* It waits as any message, and its author is told how to agree, or what the chat waits for. */
static SMA_CHECKED enum sma_err make_ordinary(struct sma_store *store, struct store_chat *chat,
                                              uint64_t seq, struct held *held,
                                              const struct store_case *agreed_to)
{
    held->facts.is_judged = false;
    held->facts.request_id = SMA_STR("");
    enum sma_err err = write_facts(store, seq, &held->facts);
    sma_queue_set_held(store->queue, chat->id, seq, false);
    sma_store_note_addition(store, chat);
    if (err != SMA_ERR_OK)
        return err;
    return agreed_to != NULL ? ask_plainly(store, chat, &held->facts.route, seq, agreed_to)
                             : sma_store_remind(store, chat, &held->facts.route, seq);
}

static SMA_CHECKED enum sma_err act_on_judgement(struct sma_store *store, struct store_chat *chat,
                                                 const struct sma_judged *judged,
                                                 struct store_case *it, struct held *held)
{
    struct store_decision decision = {.status = 404};
    SMA_TRY(it == NULL ? SMA_ERR_OK : rule_judged(store, judged, it, held, &decision));
    if (decision.status != 200)
        return make_ordinary(store, chat, judged->seq, held, judged->seems_to_agree ? it : NULL);
    (void)sma_queue_remove(store->queue, chat->id, judged->seq);
    return finish_words(store, &held->facts.route, judged->seq, &decision);
}

static SMA_CHECKED enum sma_err conclude_judged(struct sma_store *store, struct store_chat *chat,
                                                const struct sma_judged *judged)
{
    struct held held;
    struct store_case it;
    struct store_approval *approval = sma_store_approval_by_id(store, judged->approval_id);
    enum sma_err err = sma_store_begin(store);
    if (err != SMA_ERR_OK)
        return err;
    sma_store_drop_judgement(store, judged->seq);
    err = read_held(store, chat, judged->seq, &held);
    bool is_open = false;
    if (err == SMA_ERR_OK && approval != NULL) {
        err = sma_store_case_open(store, approval, &it);
        is_open = err == SMA_ERR_OK;
        if (approval->is_broken)
            err = SMA_ERR_OK;
    }
    if (err == SMA_ERR_OK)
        err = act_on_judgement(store, chat, judged, is_open ? &it : NULL, &held);
    if (is_open)
        sma_store_case_fini(&it);
    end_held(&held);
    return err;
}

void sma_store_judged(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_judged *judged = SMA_MSG_BODY(*msg, struct sma_judged);
    struct store_judgement *judgement = sma_store_find_judgement(store, judged->seq);
    struct sma_msg *answer = sma_store_made(
        store, sma_msg_make_judged_done(&(struct sma_step_done){.seq = judged->seq}));
    struct sma_step_done *done = SMA_MSG_BODY(answer, struct sma_step_done);
    sma_store_check_disk(store);
    if (judgement == NULL || !sma_str_is_equal(sma_str(judgement->id), judged->approval_id)) {
        done->verdict = SMA_STEP_STOPPED;
        sma_store_answer_later(store, *msg, &answer, 0);
        return;
    }
    enum sma_err err = SMA_ERR_NOSPACE;
    bool can_write = sma_store_disk_level(store) < 2 && !sma_store_is_retrying(store);
    if (can_write)
        err = sma_store_begin(store);
    if (can_write && err == SMA_ERR_OK)
        err = sma_store_count_usage_of(store, judged->seq, &judged->usage, judged->target);
    if (can_write && err == SMA_ERR_OK)
        err = conclude_judged(store, judgement->chat, judged);
    if (err == SMA_ERR_OK) {
        done->verdict = SMA_STEP_DURABLE;
        sma_store_answer_later(store, *msg, &answer, 0);
        return;
    }
    if (can_write)
        sma_store_fail_batch(store, err);
    done->verdict = SMA_STEP_NO_DISK;
    sma_ctx_answer(store->ctx, *msg, &answer);
}
