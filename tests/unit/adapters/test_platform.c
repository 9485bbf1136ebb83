/*
 * Aim: what every chat platform gets from the skeleton holds without any platform: events are
 * settled by their own verdict, room is kept, buttons stop, attempts are mended once, the end
 * waits.
 * Method: a platform of a few lines under the simulated clock; store, web server and dispatcher are
 * the test.
 */
#include "adapters/common/platform.h"

#include "sma/config.h"
#include "sma/labels.h"
#include "sma/sim.h"
#include "support/check.h"

#define HTTP_ID ((enum sma_actor_id)(SMA_ACTOR_ADAPTER_0 + 1))
#define COUNT_MAX 4

struct testing
{
    struct sma_platform base;
    uint64_t settled[32];
    uint8_t verdicts[32];
    size_t settled_count, room_count, drained_count, closed_count;
    struct sma_press presses[64];
    size_t press_count;
    unsigned mend_count; /* answers that are refused before one is taken */
    size_t sent_count;
};
struct testing_sending
{
    struct sma_sending base;
    bool is_refused;
};

static struct sma_system *sys;
static struct testing *testing;
static struct sma_msg *questions[32]; /* INGRESS at the store */
static size_t question_count;
static size_t line_count; /* in the log */
static int status;
static uint32_t retry_after_s;
static struct sma_attempt_result outcome;
static char outcome_error[100];

/* -- the platform ------------------------------------------------------------------------------ */
static enum sma_err open_state(void *state, const char *json, struct sma_error *error)
{
    (void)state;
    (void)json;
    (void)error;
    return SMA_ERR_OK;
}
static void nothing(void *state)
{
    (void)state;
}
static struct sma_platform_facts facts(const void *state)
{
    (void)state;
    return (struct sma_platform_facts){.takes_webhooks = true};
}
static enum sma_err begin(void *state, struct sma_error *error)
{
    return open_state(state, "", error);
}
static void drained(void *state)
{
    ((struct testing *)state)->drained_count++;
}
static void close_state(void *state)
{
    ((struct testing *)state)->closed_count++;
}
static uint64_t tick(void *state, uint64_t now_ns)
{
    (void)state;
    (void)now_ns;
    return UINT64_MAX;
}
static void settle(void *state, const struct sma_origin *origin,
                   const struct sma_accepted *accepted, struct sma_str result)
{
    struct testing *self = state;
    (void)result;
    self->settled[self->settled_count] = (uint64_t)origin->number;
    self->verdicts[self->settled_count++] = accepted->verdict;
}
static bool answer_press(void *state, const struct sma_press *press)
{
    struct testing *self = state;
    self->presses[self->press_count++] = *press;
    return true;
}
static void note_room(void *state)
{
    ((struct testing *)state)->room_count++;
}
static enum sma_took take_event(struct sma_webhook_slot *slot, int64_t number, const char *press_id)
{
    struct sma_ingress ingress = {.event_key = SMA_STR("key"), .text = SMA_STR("hello")};
    struct sma_platform_event event = {.ingress = &ingress, .why = ""};
    struct sma_origin origin = {.slot = slot, .number = number, .press_id = sma_str(press_id)};
    return sma_intake_take(&testing->base.intake, &event, &origin);
}
static int take_webhook(void *state, const struct sma_webhook *webhook,
                        struct sma_webhook_slot *slot, struct sma_buf *body)
{
    (void)body;
    if (webhook->body.len == 0)
        return sma_webhook_refuse(&((struct testing *)state)->base.webhooks, 401, "it is empty");
    if (sma_str_is_equal(webhook->body, SMA_STR("unreadable")))
        return sma_webhook_drop(&((struct testing *)state)->base.webhooks, "it has no end");
    struct sma_origin origin = {.slot = slot};
    return sma_webhook_status(take_event(slot, 0, ""), &origin);
}
static enum sma_err open_part(struct sma_sending *sending, struct sma_error *error)
{
    if (sma_str_is_equal(sending->asked->part_bytes, SMA_STR("never")))
        return sma_fail(error, SMA_ERR_BADINPUT, "this can never be sent");
    return sma_str_is_equal(sending->asked->part_bytes, SMA_STR("broken")) ? SMA_ERR_BADINPUT
                                                                           : SMA_ERR_OK;
}
static bool is_file(const struct sma_sending *sending)
{
    (void)sending;
    return false;
}
static void send_part(struct sma_sending *sending)
{
    ((struct testing *)sending->platform)->sent_count++; /* the test answers */
}
static void read_answer(struct sma_sending *sending, const struct sma_net_answer *answer)
{
    bool is_refused = answer->status != 200;
    sending->answered =
        (struct sma_answered){.attempt_class = is_refused ? SMA_ATTEMPT_GIVE_UP : SMA_ATTEMPT_SENT,
                              .act = is_refused ? SMA_ACT_REFUSED : SMA_ACT_SENT};
    if (is_refused)
        snprintf(sending->answered.error, sizeof sending->answered.error, "refused");
}
static uint32_t forms(const struct sma_sending *sending)
{
    return ((const struct testing *)sending->platform)->mend_count > 0 ? SMA_MEND_LADDER : 0;
}
static bool step(struct sma_sending *sending, enum sma_mend taken)
{
    (void)taken;
    ((struct testing *)sending->platform)->mend_count--;
    return true;
}
static struct sma_str text(const struct sma_sending *sending)
{
    (void)sending;
    return SMA_STR("");
}

static const struct sma_intake_ops intake_ops = {.count_max = COUNT_MAX,
                                                 .press_late_ms = 1000,
                                                 .settle = settle,
                                                 .answer_press = answer_press,
                                                 .note_room = note_room};
static const struct sma_webhook_ops webhook_ops = {.take = take_webhook};
static const struct sma_sending_ops sending_ops = {.size = sizeof(struct testing_sending),
                                                   .open = open_part,
                                                   .is_file = is_file,
                                                   .send = send_part,
                                                   .read = read_answer,
                                                   .forms = forms,
                                                   .step = step,
                                                   .text = text};
static const struct sma_platform_ops platform_ops = {.name = "testing",
                                                     .state_size = sizeof(struct testing),
                                                     .open = open_state,
                                                     .free = nothing,
                                                     .facts = facts,
                                                     .begin = begin,
                                                     .leave = nothing,
                                                     .drained = drained,
                                                     .close = close_state,
                                                     .tick = tick,
                                                     .intake = &intake_ops,
                                                     .webhook = &webhook_ops,
                                                     .sending = &sending_ops};

/* -- the others -------------------------------------------------------------------------------- */
/* Net wants a loop, which a simulation has not: the platform starts without it. */
static enum sma_err start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    struct sma_platform *platform = state;
    (void)error;
    platform->ctx = ctx;
    sma_adapter_health_init(&platform->health, ctx, "testing");
    return SMA_ERR_OK;
}
static void batch_end(void *state, struct sma_ctx *ctx)
{
    struct sma_platform *platform = state;
    sma_ctx_wake_at(ctx, sma_intake_tick(&platform->intake, sma_ctx_now(ctx)));
}
static void handle_question(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
    if ((*msg)->kind == SMA_MSG_INGRESS)
        questions[question_count++] = SMA_TAKE(*msg);
}
static void handle_answer(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
    if ((*msg)->kind == SMA_MSG_WEBHOOK_ANSWER) {
        status = SMA_MSG_BODY(*msg, struct sma_webhook_answer)->status;
        retry_after_s = SMA_MSG_BODY(*msg, struct sma_webhook_answer)->retry_after_s;
    } else if ((*msg)->kind == SMA_MSG_ATTEMPT_RESULT) {
        outcome = *SMA_MSG_BODY(*msg, struct sma_attempt_result);
        snprintf(outcome_error, sizeof outcome_error, "%.*s", (int)outcome.error.len,
                 outcome.error.ptr);
    }
}
static const struct sma_actor_ops platform_actor = {.name = "testing",
                                                    .start = start,
                                                    .handle = sma_platform_handle,
                                                    .batch_end = batch_end,
                                                    .wake = sma_platform_wake,
                                                    .stop = sma_platform_stop};
static void handle_log(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    (void)ctx;
    line_count += (*msg)->kind == SMA_MSG_LOG;
}

static const struct sma_actor_ops store_actor = {.name = "store", .handle = handle_question};
static const struct sma_actor_ops log_actor = {.name = "log", .handle = handle_log};
static const struct sma_actor_ops http_actor = {.name = "http", .handle = handle_answer};
static const struct sma_actor_ops dispatcher_actor = {.name = "dispatcher",
                                                      .handle = handle_answer};

static void rest(void)
{
    (void)sma_sim_run(sys, 1000, sma_sim_now(sys) + SMA_NS_PER_S / 100); /* what is due now */
}

static void open_world(void)
{
    static const struct sma_config config;
    void *state = NULL;
    struct sma_error error;
    CHECK_OK(sma_platform_create(&platform_ops, &config, NULL, &state, &error));
    testing = state;
    sys = sma_system_create(&(struct sma_system_options){.is_simulated = true, .seed = 7});
    CHECK_OK(sma_system_add(sys, SMA_ACTOR_STORE, &store_actor, NULL));
    CHECK_OK(sma_system_add(sys, SMA_ACTOR_DISPATCHER, &dispatcher_actor, NULL));
    CHECK_OK(sma_system_add(sys, SMA_ACTOR_ADAPTER_0, &platform_actor, testing));
    CHECK_OK(sma_system_add(sys, HTTP_ID, &http_actor, NULL));
    CHECK_OK(sma_system_add(sys, SMA_ACTOR_LOG, &log_actor, NULL));
    CHECK_OK(sma_system_start(sys, NULL));
    status = 0;
    outcome = (struct sma_attempt_result){0};
    question_count = 0;
}

static void close_world(void)
{
    for (size_t i = 0; i < question_count; i++)
        sma_msg_destroy(questions[i]);
    sma_system_destroy(sys);
    CHECK_INT(1, (long long)testing->closed_count);
    sma_platform_destroy(testing);
}

static void say(size_t index, enum sma_verdict verdict, uint32_t retry_after_ms)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_ACCEPTED, struct sma_accepted, 0);
    struct sma_accepted *accepted = SMA_MSG_BODY(msg, struct sma_accepted);
    *accepted = (struct sma_accepted){.verdict = (uint8_t)verdict,
                                      .retry_after_ms = retry_after_ms,
                                      .reason = SMA_STR(""),
                                      .notice = SMA_STR("")};
    sma_ctx_answer(sma_system_ctx(sys, SMA_ACTOR_STORE), questions[index], &msg);
    rest();
}

static void request(const char *body)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_WEBHOOK, struct sma_webhook, strlen(body) + 1);
    struct sma_webhook *webhook = SMA_MSG_BODY(msg, struct sma_webhook);
    *webhook = (struct sma_webhook){.body = sma_msg_dup(msg, sma_str(body))};
    status = 0;
    CHECK_OK(sma_ctx_ask(sma_system_ctx(sys, HTTP_ID), SMA_ACTOR_ADAPTER_0, &msg, 0, NULL));
    rest();
}

static void attempt(const char *part)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_ATTEMPT, struct sma_attempt, strlen(part) + 1);
    struct sma_attempt *asked = SMA_MSG_BODY(msg, struct sma_attempt);
    *asked = (struct sma_attempt){.part_bytes = sma_msg_dup(msg, sma_str(part))};
    outcome = (struct sma_attempt_result){.attempt_class = 255};
    CHECK_OK(
        sma_ctx_ask(sma_system_ctx(sys, SMA_ACTOR_DISPATCHER), SMA_ACTOR_ADAPTER_0, &msg, 0, NULL));
    rest();
}

static void platform_says(int http_status)
{
    struct sma_sending *sending = (struct sma_sending *)(void *)testing->base.sendings.places;
    sma_sending_on_answer(NULL, sending,
                          &(struct sma_net_answer){.status = http_status, .error = ""});
    rest();
}

/* -- events ------------------------------------------------------------------------------------ */
static void events_are_settled_by_their_own_verdict_in_any_order(void)
{
    static const size_t order[] = {2, 0, 1};
    open_world();
    for (int64_t i = 0; i < 3; i++)
        CHECK_INT(SMA_TOOK_ASKED, take_event(NULL, 100 + i, ""));
    rest();
    CHECK_INT(3, (long long)sma_intake_count(&testing->base.intake));
    for (size_t i = 0; i < 3; i++)
        say(order[i], order[i] == 0 ? SMA_VERDICT_REFUSED : SMA_VERDICT_ACCEPTED, 0);
    CHECK_INT(3, (long long)testing->settled_count);
    for (size_t i = 0; i < 3; i++) {
        CHECK_INT((long long)(100 + order[i]), (long long)testing->settled[i]);
        CHECK_INT(order[i] == 0 ? SMA_VERDICT_REFUSED : SMA_VERDICT_ACCEPTED, testing->verdicts[i]);
    }
    CHECK_INT(0, (long long)sma_intake_count(&testing->base.intake));
    close_world();
}

static void at_the_limit_nothing_is_taken_until_there_is_room(void)
{
    open_world();
    for (int64_t i = 0; i < COUNT_MAX; i++)
        CHECK_INT(SMA_TOOK_ASKED, take_event(NULL, i, ""));
    CHECK(!sma_intake_has_room(&testing->base.intake));
    CHECK_INT(SMA_TOOK_NOT, take_event(NULL, 9, ""));
    request("hello");
    CHECK_INT(503, status); /* it comes again */
    rest();
    say(0, SMA_VERDICT_ACCEPTED, 0);
    CHECK_INT(1, (long long)testing->room_count);
    CHECK_INT(SMA_TOOK_ASKED, take_event(NULL, 9, ""));
    close_world();
}

/* "The bot does not answer": why is counted, and the store is not asked. */
static void events_of_no_interest_are_counted_by_platform_and_reason(void)
{
    static const char *const reasons[] = {SMA_WHY_BOT "an app", SMA_WHY_EMPTY "no text",
                                          SMA_WHY_BOT "an app"};
    sma_labels_reset();
    open_world();
    for (size_t i = 0; i < SMA_COUNT_OF(reasons); i++) {
        struct sma_platform_event event = {.why = reasons[i]};
        struct sma_origin origin = {.press_id = SMA_STR("")};
        CHECK_INT(SMA_TOOK_FINISHED, sma_intake_take(&testing->base.intake, &event, &origin));
    }
    rest();
    CHECK_INT(0, (long long)question_count);
    struct sma_buf text;
    sma_buf_init(&text, 1 << 16);
    sma_labels_format(&text);
    CHECK(strstr(text.ptr,
                 "\nsma_platform_ignored_total{platform=\"testing\",reason=\"bot_message\"} 2\n") !=
          NULL);
    CHECK(strstr(text.ptr,
                 "\nsma_platform_ignored_total{platform=\"testing\",reason=\"empty\"} 1\n") !=
          NULL);
    sma_buf_fini(&text);
    close_world();
}

static void a_webhook_is_answered_with_the_verdict(void)
{
    open_world();
    request("hello");
    CHECK_INT(0, status);
    say(0, SMA_VERDICT_ACCEPTED, 0);
    CHECK_INT(200, status);
    request("hello");
    say(1, SMA_VERDICT_REFUSED, 2500);
    CHECK_INT(503, status);
    CHECK_INT(3, (long long)retry_after_s);
    request("");
    CHECK_INT(401, status);
    CHECK_INT(0, (long long)testing->settled_count);
    close_world();
}

/* The 1st, 2nd, 4th ... have a line in the log. */
static void a_flood_of_unreadable_or_refused_webhooks_is_told_in_few_lines(void)
{
    static const char *const bodies[] = {"unreadable", ""};
    for (size_t i = 0; i < SMA_COUNT_OF(bodies); i++) {
        open_world();
        size_t before = line_count;
        for (size_t j = 0; j < 100; j++)
            request(bodies[i]);
        CHECK_INT(bodies[i][0] == '\0' ? 401 : 200, status);
        CHECK_INT(7, (long long)(line_count - before));
        close_world();
    }
}

/* -- buttons ----------------------------------------------------------------------------------- */
static void a_late_button_is_answered_once(void)
{
    open_world();
    CHECK_INT(SMA_TOOK_ASKED, take_event(NULL, 1, "press"));
    CHECK_INT(SMA_TOOK_ASKED, take_event(NULL, 2, "in time"));
    rest();
    say(1, SMA_VERDICT_IGNORED, 0);
    CHECK_INT(1, (long long)testing->press_count);
    CHECK_TEXT("in time", testing->presses[0].id);
    CHECK_INT(SMA_VERDICT_IGNORED, testing->presses[0].verdict);
    (void)sma_sim_run(sys, 1000, sma_sim_now(sys) + 2 * SMA_NS_PER_S);
    CHECK_INT(2, (long long)testing->press_count);
    CHECK_TEXT("press", testing->presses[1].id);
    say(0, SMA_VERDICT_ACCEPTED, 0);
    CHECK_INT(2, (long long)testing->press_count);
    close_world();
}

static void presses_beyond_the_calls_wait_in_line(void)
{
    open_world();
    for (int i = 0; i < SMA_PRESS_CALL_COUNT_MAX + 2; i++) {
        char id[16];
        snprintf(id, sizeof id, "press %d", i);
        sma_press_answer(&testing->base.intake, sma_str(id), SMA_STR("done"), SMA_VERDICT_ACCEPTED);
    }
    CHECK_INT(SMA_PRESS_CALL_COUNT_MAX, (long long)testing->press_count);
    sma_press_answered(&testing->base.intake);
    CHECK_INT(SMA_PRESS_CALL_COUNT_MAX + 1, (long long)testing->press_count);
    CHECK_TEXT("press 16", testing->presses[SMA_PRESS_CALL_COUNT_MAX].id);
    CHECK_TEXT("done", testing->presses[SMA_PRESS_CALL_COUNT_MAX].text);
    close_world();
}

/* -- attempts ---------------------------------------------------------------------------------- */
static void a_refused_part_goes_out_once_more_mended(void)
{
    open_world();
    testing->mend_count = 1;
    attempt("text");
    platform_says(400);
    CHECK_INT(2, (long long)testing->sent_count);
    CHECK_INT(255, outcome.attempt_class);
    platform_says(200);
    CHECK_INT(SMA_ATTEMPT_SENT, outcome.attempt_class);
    attempt("text");
    platform_says(400); /* nothing more to mend */
    CHECK_INT(SMA_ATTEMPT_GIVE_UP, outcome.attempt_class);
    CHECK_INT(3, (long long)testing->sent_count);
    close_world();
}

static void what_is_mended_too_late_is_tried_again_later(void)
{
    open_world();
    testing->mend_count = 1;
    attempt("text");
    sma_sim_advance(sys, (SMA_SENDING_TEXT_MS - SMA_SENDING_MEND_MS / 2) * (SMA_NS_PER_S / 1000));
    platform_says(400);
    CHECK_INT(1, (long long)testing->sent_count);
    CHECK_INT(SMA_ATTEMPT_RETRY, outcome.attempt_class); /* refused, so certainly not sent */
    CHECK_TEXT("refused", outcome_error);
    close_world();
}

static void parts_that_cannot_go_say_why(void)
{
    open_world();
    attempt("never");
    CHECK_INT(SMA_ATTEMPT_GIVE_UP, outcome.attempt_class);
    CHECK_TEXT("this can never be sent", outcome_error);
    attempt("broken");
    CHECK_INT(SMA_ATTEMPT_GIVE_UP, outcome.attempt_class);
    CHECK(strstr(outcome_error, "not made by this program") != NULL);
    CHECK_INT(0, (long long)testing->sent_count);
    close_world();
}

/* -- the end ----------------------------------------------------------------------------------- */
static void the_end_of_intake_waits_for_the_last_verdict(void)
{
    open_world();
    CHECK_INT(SMA_TOOK_ASKED, take_event(NULL, 1, ""));
    rest();
    sma_sim_life(sys, SMA_ACTOR_ADAPTER_0, SMA_PHASE_INTAKE_OFF);
    rest();
    CHECK(!sma_sim_life_is_done(sys, SMA_ACTOR_ADAPTER_0, SMA_PHASE_INTAKE_OFF));
    CHECK_INT(SMA_TOOK_NOT, take_event(NULL, 2, ""));
    request("hello");
    CHECK_INT(503, status);
    attempt("text"); /* sends still go out */
    platform_says(200);
    CHECK_INT(SMA_ATTEMPT_SENT, outcome.attempt_class);
    say(0, SMA_VERDICT_ACCEPTED, 0);
    CHECK(sma_sim_life_is_done(sys, SMA_ACTOR_ADAPTER_0, SMA_PHASE_INTAKE_OFF));
    CHECK_INT(1, (long long)testing->drained_count);
    CHECK_INT(1, (long long)testing->settled_count);
    sma_sim_life(sys, SMA_ACTOR_ADAPTER_0, SMA_PHASE_CLOSE);
    rest();
    attempt("text");
    CHECK_INT(SMA_ATTEMPT_RETRY, outcome.attempt_class);
    CHECK_TEXT("the service is stopping", outcome_error);
    close_world();
}

int main(void)
{
    RUN(events_are_settled_by_their_own_verdict_in_any_order);
    RUN(at_the_limit_nothing_is_taken_until_there_is_room);
    RUN(events_of_no_interest_are_counted_by_platform_and_reason);
    RUN(a_webhook_is_answered_with_the_verdict);
    RUN(a_flood_of_unreadable_or_refused_webhooks_is_told_in_few_lines);
    RUN(a_late_button_is_answered_once);
    RUN(presses_beyond_the_calls_wait_in_line);
    RUN(a_refused_part_goes_out_once_more_mended);
    RUN(what_is_mended_too_late_is_tried_again_later);
    RUN(parts_that_cannot_go_say_why);
    RUN(the_end_of_intake_waits_for_the_last_verdict);
    return check_summary();
}
