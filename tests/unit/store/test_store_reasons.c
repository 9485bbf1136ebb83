/*
 * Aim: every message that the store does not answer has its reason: in its acceptance, in its
 *      trace, also after a restart.
 * Method: the store under the seeded scheduler; a message for each reason, then its trace is asked.
 */
#include "store_support.h"

#include "sma/reasons.h"

static struct world w;

static const char *trace_of(const char *message)
{
    static char text[4096];
    char asked[64];
    snprintf(asked, sizeof asked, "m:%s", message);
    struct sma_msg *msg = sma_msg_make_query(
        &(struct sma_query){.kind = SMA_QUERY_TRACE, .chat_key = sma_str(asked)});
    CHECK(msg != NULL);
    CHECK_OK(sma_ctx_ask(sma_system_ctx(w.system, API), SMA_ACTOR_STORE, &msg, 0, NULL));
    run(&w);
    struct sma_msg *answer = take(&w.api, SMA_MSG_QUERY_RESULT);
    CHECK(answer != NULL);
    struct sma_str json = SMA_MSG_BODY(answer, struct sma_query_result)->json;
    snprintf(text, sizeof text, "%.*s", (int)json.len, json.ptr);
    sma_msg_destroy(answer);
    return text;
}

static void expect_trace(const char *message, enum sma_reason reason)
{
    char part[96];
    const char *trace = trace_of(message);
    snprintf(part, sizeof part, "\"reason\":\"%s\"", sma_reason_text(reason)->word);
    bool has_it = reason == SMA_REASON_NONE
                      ? strstr(trace, "\"reason\"") == NULL
                      : strstr(trace, part) != NULL && strstr(trace, "\"remedy\":\"") != NULL;
    if (!has_it)
        fprintf(stderr, "%s: %s is not in %s\n", message, part, trace);
    CHECK(has_it);
}

/* Said, judged so, and to be found again by its id. */
static void expect(const struct saying *saying, enum sma_reason reason)
{
    (void)say_as(&w, TEST, saying);
    run(&w);
    struct sma_accepted answer = accepted(&w.test);
    if (answer.why != reason)
        fprintf(stderr, "%s: \"%s\"\n", saying->id,
                sma_reason_text((enum sma_reason)answer.why)->word);
    CHECK_INT(reason, answer.why);
    CHECK((reason == SMA_REASON_NONE) == (answer.verdict == SMA_VERDICT_ACCEPTED));
    bool is_first =
        answer.verdict != SMA_VERDICT_DUPLICATE && answer.verdict != SMA_VERDICT_CONFLICT;
    if (is_first && saying->kind != SMA_EVENT_NOTE) /* a note is looked for by its message */
        expect_trace(saying->id, reason);
}

static struct saying group(const char *id, uint8_t addressed)
{
    return (struct saying){
        .chat = "g", .id = id, .text = "a", .is_group = true, .addressed = addressed};
}

static void open_with(const char *rules)
{
    make_world(&w);
    w.test_json = rules;
    open_world(&w);
}

AFTER_EACH(end_world(&w))

CASE(each_message_that_is_not_answered_has_its_reason)
{
    open_with("{\"access\":\"anyone\",\"groupAccess\":\"initiator_or_admin\",\"groups\":[\"g\"]}");
    struct saying said = group("m1", SMA_ADDRESSED_NONE);
    expect(&said, SMA_REASON_NOT_ADDRESSED);
    said = group("m2", SMA_ADDRESSED_MENTION);
    expect(&said, SMA_REASON_NONE);
    said.body_hash = 0;
    expect(&said, SMA_REASON_DUPLICATE);
    said = group("m3", SMA_ADDRESSED_MENTION);
    said.user = "u2";
    said.role = SMA_ROLE_MEMBER;
    expect(&said, SMA_REASON_NOT_ADMIN);
    expect(&(struct saying){.chat = "g", .id = "m4", .text = "", .kind = SMA_EVENT_NOTE},
           SMA_REASON_NOTE);
    expect(&(struct saying){.chat = "1", .id = "m5", .text = "a", .is_record_only = true},
           SMA_REASON_RECORD_ONLY);
    expect(&(struct saying){.chat = "1", .id = "m6", .text = "a", .body_hash = 1}, SMA_REASON_NONE);
    expect(&(struct saying){.chat = "1", .id = "m6", .text = "b", .body_hash = 2},
           SMA_REASON_CONFLICT);
    restart_world(&w);
    expect_trace("m1", SMA_REASON_NOT_ADDRESSED);
    expect_trace("m3", SMA_REASON_NOT_ADMIN);
    expect_trace("m6", SMA_REASON_NONE);
}

CASE(strangers_have_theirs)
{
    open_with("{\"access\":\"paired\"}");
    expect(&(struct saying){.chat = "1", .id = "m1", .text = "a"}, SMA_REASON_NOT_PAIRED);
    restart_world(&w);
    expect_trace("m1", SMA_REASON_NOT_PAIRED);
    end_world(&w);
    open_with("{\"access\":[\"u7\"]}");
    expect(&(struct saying){.chat = "1", .id = "m1", .text = "a"}, SMA_REASON_NOT_LISTED);
    expect(&(struct saying){.chat = "7", .id = "m2", .text = "a", .user = "u7"}, SMA_REASON_NONE);
}

/* Who may not is known only when the platform has been asked. */
CASE(a_role_that_is_refused_later_is_told_in_the_trace)
{
    open_with("{\"access\":\"anyone\",\"groupAccess\":\"initiator_or_admin\",\"groups\":[\"g\"]}");
    struct saying said = group("m1", SMA_ADDRESSED_MENTION);
    expect(&said, SMA_REASON_NONE);
    (void)prepare(&w, SMA_ROLE_MEMBER, "");
    said = group("m2", SMA_ADDRESSED_MENTION);
    said.user = "u2";
    expect(&said, SMA_REASON_NONE);
    (void)prepare(&w, SMA_ROLE_MEMBER, "");
    run(&w);
    expect_trace("m2", SMA_REASON_NOT_ADMIN);
    restart_world(&w);
    expect_trace("m2", SMA_REASON_NOT_ADMIN);
}

CASE(messages_that_come_late_say_how)
{
    open_with("{\"access\":\"anyone\",\"backlogMaxS\":600}");
    int64_t now = sma_ctx_wall(sma_system_ctx(w.system, API));
    expect(&(struct saying){.chat = "1", .id = "m1", .text = "a", .sent_ms = now - 601000},
           SMA_REASON_TOO_OLD);
    expect(&(struct saying){.chat = "1", .id = "m2", .text = "a", .sent_ms = now}, SMA_REASON_NONE);
    end_world(&w);
    open_with("{\"access\":\"anyone\",\"backlog\":\"record\"}");
    expect(&(struct saying){.chat = "1", .id = "m1", .text = "a", .sent_ms = now - 10000},
           SMA_REASON_BEFORE_START);
}

CASE(limits_say_which)
{
    make_world(&w);
    w.test_json = "{\"access\":\"anyone\"}";
    w.config.per_person_per_minute = 1;
    open_world(&w);
    expect(&(struct saying){.chat = "1", .id = "m1", .text = "a"}, SMA_REASON_NONE);
    expect(&(struct saying){.chat = "1", .id = "m2", .text = "a"}, SMA_REASON_RATE);
    restart_world(&w);
    expect_trace("m2", SMA_REASON_RATE);
}

/* Nothing of it is stored: the reason goes with the refusal. */
CASE(what_is_over_a_limit_is_refused_with_its_reason)
{
    static char id[SMA_ID_BYTES_MAX + 2];
    open_with("{\"access\":\"anyone\"}");
    memset(id, 'x', sizeof id - 1);
    (void)say_as(&w, TEST, &(struct saying){.chat = "1", .id = id, .text = "a"});
    run(&w);
    struct sma_accepted answer = accepted(&w.test);
    CHECK_INT(SMA_VERDICT_REFUSED, answer.verdict);
    CHECK_INT(SMA_REASON_OVER_LIMIT, answer.why);
}

CASES_MAIN
