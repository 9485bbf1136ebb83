/* The gateway's session: every close code, resume before identify, the durable prefix, and that it
 * never hammers. */
#include "adapters/qq/qq_session.h"
#include "support/check.h"

#include <stdlib.h>

#define S UINT64_C(1000000000)

struct desk
{
    struct qq_session session;
    uint64_t now;
    enum qq_action_kind last[64];
    unsigned last_code;
    uint32_t count;
    uint32_t connects, identifies, resumes, beats, closes, token_drops, saves;
};

static void drain(struct desk *desk)
{
    struct qq_action action;
    while (qq_session_next(&desk->session, &action)) {
        desk->last[desk->count++ % 64] = action.kind;
        desk->connects += action.kind == QQ_ACTION_CONNECT;
        desk->identifies += action.kind == QQ_ACTION_IDENTIFY;
        desk->resumes += action.kind == QQ_ACTION_RESUME;
        desk->beats += action.kind == QQ_ACTION_BEAT;
        desk->token_drops += action.kind == QQ_ACTION_DROP_TOKEN;
        desk->saves += action.kind == QQ_ACTION_SAVE;
        if (action.kind == QQ_ACTION_CLOSE) {
            desk->closes++;
            desk->last_code = action.close_code;
        }
    }
}

static bool feed(struct desk *desk, const char *json)
{
    struct qq_frame frame;
    CHECK_OK(qq_frame_parse(sma_str(json), &frame));
    bool is_event = qq_session_frame(&desk->session, &frame, desk->now, 12345);
    qq_frame_fini(&frame);
    drain(desk);
    return is_event;
}

static void advance_to_wake(struct desk *desk)
{
    uint64_t at = qq_session_wake_at(&desk->session);
    CHECK(at != UINT64_MAX);
    if (at > desk->now)
        desk->now = at;
    qq_session_tick(&desk->session, desk->now, 12345);
    drain(desk);
}

static void closed(struct desk *desk, unsigned code)
{
    qq_session_closed(&desk->session, code, desk->now, 12345);
    drain(desk);
}

static void open_link(struct desk *desk)
{
    while (desk->session.state == QQ_WAITING)
        advance_to_wake(desk);
    CHECK(desk->session.state == QQ_CONNECTING);
    qq_session_opened(&desk->session, desk->now);
    feed(desk, "{\"op\":10,\"d\":{\"heartbeat_interval\":41250}}");
    while (desk->session.state == QQ_HOLDING)
        advance_to_wake(desk);
    CHECK(desk->session.state == QQ_STARTING);
}

static void begin(struct desk *desk)
{
    *desk = (struct desk){.now = S};
    CHECK_OK(qq_session_init(&desk->session, 1u << 25 | 1u << 26 | 1u << 30));
    qq_session_start(&desk->session, desk->now);
    drain(desk);
    CHECK(desk->connects == 1);
}

static void begin_ready(struct desk *desk)
{
    begin(desk);
    open_link(desk);
    CHECK(desk->identifies == 1 && desk->resumes == 0);
    CHECK(!feed(desk, "{\"op\":0,\"s\":1,\"t\":\"READY\",\"d\":{\"session_id\":\"sess-1\"}}"));
    CHECK(desk->session.state == QQ_READY);
    CHECK(desk->saves == 1);
    CHECK(strcmp(desk->session.session_id, "sess-1") == 0);
}

static void end(struct desk *desk)
{
    qq_session_fini(&desk->session);
}

static void a_loss_is_resumed_from_the_durable_prefix(void)
{
    struct desk desk;
    begin_ready(&desk);
    CHECK(feed(&desk, "{\"op\":0,\"s\":2,\"t\":\"C2C_MESSAGE_CREATE\",\"id\":\"e2\",\"d\":{}}"));
    CHECK(feed(&desk, "{\"op\":0,\"s\":3,\"t\":\"C2C_MESSAGE_CREATE\",\"id\":\"e3\",\"d\":{}}"));
    CHECK(feed(&desk, "{\"op\":0,\"s\":4,\"t\":\"C2C_MESSAGE_CREATE\",\"id\":\"e4\",\"d\":{}}"));
    CHECK(desk.session.durable_seq == 1);
    qq_session_done(&desk.session, 3);
    CHECK(desk.session.durable_seq == 1); /* 2 is not durable yet */
    qq_session_done(&desk.session, 2);
    CHECK(desk.session.durable_seq == 3);
    CHECK(desk.session.last_seq == 4);
    closed(&desk, 0);
    CHECK(desk.session.durable_seq == 3);
    open_link(&desk);
    CHECK(desk.resumes == 1 && desk.identifies == 1);
    CHECK(feed(&desk, "{\"op\":0,\"s\":4,\"t\":\"C2C_MESSAGE_CREATE\",\"id\":\"e4\",\"d\":{}}"));
    CHECK(!feed(&desk, "{\"op\":0,\"s\":5,\"t\":\"RESUMED\",\"d\":\"\"}"));
    CHECK(desk.session.state == QQ_READY);
    qq_session_done(&desk.session, 4);
    CHECK(desk.session.durable_seq == 4);
    end(&desk);
}

static void what_could_not_be_stored_is_asked_for_again(void)
{
    struct desk desk;
    begin_ready(&desk);
    CHECK(feed(&desk, "{\"op\":0,\"s\":2,\"t\":\"X\",\"d\":{}}"));
    qq_session_refused(&desk.session, desk.now);
    drain(&desk);
    CHECK(desk.closes == 1 && desk.last_code == 4000);
    closed(&desk, 4000);
    open_link(&desk);
    CHECK(desk.resumes == 1);
    CHECK(desk.session.durable_seq == 1);
    end(&desk);
}

/* A full disk may take hours: the link must come back soon after it has room again. */
static void refused_events_do_not_lengthen_the_pauses(void)
{
    struct desk desk;
    begin_ready(&desk);
    for (int i = 0; i < 20; i++) {
        CHECK(feed(&desk, "{\"op\":0,\"s\":2,\"t\":\"X\",\"d\":{}}"));
        qq_session_refused(&desk.session, desk.now);
        drain(&desk);
        uint64_t lost = desk.now;
        closed(&desk, 4000);
        open_link(&desk);
        CHECK(desk.now - lost >= QQ_REFUSED_S * S && desk.now - lost <= (QQ_REFUSED_S + 1) * S);
        if (i % 2 == 0) /* refused in the replay too */
            feed(&desk, "{\"op\":0,\"s\":3,\"t\":\"RESUMED\",\"d\":\"\"}");
    }
    CHECK(desk.resumes == 20 && desk.identifies == 1);
    end(&desk);
}

static void a_session_that_lasted_resets_the_pauses(void)
{
    struct desk desk;
    begin_ready(&desk);
    for (int i = 0; i < 10; i++) {
        desk.now += (QQ_STABLE_S + 1) * S;
        feed(&desk, "{\"op\":7}"); /* we close it, and it counts all the same */
        uint64_t lost = desk.now;
        closed(&desk, 0);
        open_link(&desk);
        CHECK(desk.now - lost <= S);
        feed(&desk, "{\"op\":0,\"s\":9,\"t\":\"RESUMED\",\"d\":\"\"}");
    }
    end(&desk);
}

static void every_close_code_is_answered_as_the_table_says(void)
{
    static const struct
    {
        unsigned code;
        bool resumes, is_fatal, drops_token;
    } rows[] = {
        {0, true, false, false},     {1000, true, false, false},  {1006, true, false, false},
        {4001, false, true, false},  {4002, false, true, false},  {4003, false, false, false},
        {4004, false, false, true},  {4006, false, false, false}, {4007, false, false, false},
        {4008, true, false, false},  {4009, true, false, false},  {4010, false, true, false},
        {4011, false, true, false},  {4012, false, true, false},  {4013, false, false, false},
        {4014, false, false, false}, {4900, false, false, false}, {4913, false, false, false},
        {4914, false, true, false},  {4915, false, true, false},  {4999, true, false, false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct desk desk;
        begin_ready(&desk);
        uint64_t lost = desk.now;
        closed(&desk, rows[i].code);
        CHECK(desk.session.is_fatal == rows[i].is_fatal);
        CHECK(desk.session.trouble[0] != '\0');
        CHECK((desk.token_drops == 1) == rows[i].drops_token);
        open_link(&desk);
        CHECK((desk.resumes == 1) == rows[i].resumes);
        if (rows[i].is_fatal)
            CHECK(desk.now - lost >= QQ_FATAL_RETRY_S * S);
        else if (rows[i].code == 4008)
            CHECK(desk.now - lost >= QQ_DELAY_MAX_S * S);
        else
            CHECK(desk.now - lost < 8 * S);
        end(&desk);
    }
}

static void a_missing_right_is_met_with_fewer_intents(void)
{
    struct desk desk;
    begin_ready(&desk);
    /* the platform does not say which: guilds first, presses of buttons last */
    desk.session.intents = QQ_INTENT_GROUP_AND_C2C | QQ_INTENT_INTERACTION | QQ_INTENT_GUILD_AT |
                           QQ_INTENT_DIRECT | QQ_INTENT_AUDIT | QQ_INTENT_GUILD_ALL;
    closed(&desk, 4014);
    CHECK(desk.session.intents == (QQ_INTENT_GROUP_AND_C2C | QQ_INTENT_INTERACTION));
    CHECK(!desk.session.is_fatal);
    open_link(&desk);
    closed(&desk, 4014);
    CHECK(desk.session.intents == QQ_INTENT_GROUP_AND_C2C);
    CHECK(!desk.session.is_fatal);
    open_link(&desk);
    closed(&desk, 4014); /* not even those: the owner must act */
    CHECK(desk.session.is_fatal);
    end(&desk);
}

static void a_silent_gateway_is_left(void)
{
    struct desk desk;
    begin_ready(&desk);
    for (int i = 0; i < 3; i++) {
        advance_to_wake(&desk);
        feed(&desk, "{\"op\":11}");
    }
    CHECK(desk.beats == 3 && desk.closes == 0);
    advance_to_wake(&desk);
    CHECK(desk.beats == 4);
    advance_to_wake(&desk); /* no answer came */
    CHECK(desk.beats == 4 && desk.closes == 1);
    closed(&desk, 0);
    open_link(&desk);
    CHECK(desk.resumes == 1);
    end(&desk);
}

static void no_hello_and_no_ready_end_the_link(void)
{
    struct desk desk;
    begin(&desk);
    qq_session_opened(&desk.session, desk.now);
    advance_to_wake(&desk);
    CHECK(desk.closes == 1);
    closed(&desk, 0);
    open_link(&desk);
    advance_to_wake(&desk);
    CHECK(desk.closes == 2);
    end(&desk);
}

/* @return how long after the outage the next try is made */
static uint64_t late_after(uint64_t outage_ns)
{
    struct desk desk;
    begin_ready(&desk);
    desk.now += 100 * S;
    closed(&desk, 0);
    uint64_t ended = desk.now + outage_ns, late;
    for (uint32_t tries = desk.connects;; tries = desk.connects) {
        while (desk.connects == tries)
            advance_to_wake(&desk);
        if (desk.now >= ended)
            break;
        CHECK(desk.connects < 2000);
        qq_session_not_connected(&desk.session, "no route", desk.now, UINT64_MAX / 2 + 7);
        drain(&desk);
    }
    late = desk.now - ended;
    end(&desk);
    return late;
}

static void an_outage_is_over_when_it_is_over(void)
{
    for (uint64_t outage = S; outage <= 30 * S; outage += S / 4)
        CHECK(late_after(outage) <= 4 * S);
    CHECK(late_after(3600 * S) <= QQ_DELAY_MAX_S * S);
}

static void an_invalid_session(void)
{
    struct desk desk;
    begin_ready(&desk);
    closed(&desk, 0);
    open_link(&desk);
    feed(&desk, "{\"op\":9,\"d\":true}");
    CHECK(desk.closes == 1);
    closed(&desk, 0);
    open_link(&desk);
    CHECK(desk.resumes == 2); /* true: resume may be tried again */
    feed(&desk, "{\"op\":9,\"d\":false}");
    closed(&desk, 0);
    open_link(&desk);
    CHECK(desk.resumes == 2 && desk.identifies == 2);
    end(&desk);
}

static void failed_resumes_end_in_an_identify(void)
{
    struct desk desk;
    begin_ready(&desk);
    closed(&desk, 0);
    for (int i = 0; i < QQ_RESUME_COUNT_MAX; i++) {
        open_link(&desk);
        closed(&desk, 0);
    }
    open_link(&desk);
    CHECK(desk.resumes == QQ_RESUME_COUNT_MAX);
    CHECK(desk.identifies == 2);
    end(&desk);
}

static void the_gateway_may_ask_for_a_beat_and_for_a_reconnect(void)
{
    struct desk desk;
    begin_ready(&desk);
    feed(&desk, "{\"op\":1,\"d\":7}");
    CHECK(desk.beats == 1);
    feed(&desk, "{\"op\":7}");
    CHECK(desk.closes == 1 && desk.last_code == 4000);
    closed(&desk, 1000);
    open_link(&desk);
    CHECK(desk.resumes == 1);
    end(&desk);
}

static void identifies_keep_their_distance(void)
{
    struct desk desk;
    begin(&desk);
    open_link(&desk);
    uint64_t first = desk.now;
    closed(&desk, 4006);
    open_link(&desk);
    CHECK(desk.identifies == 2);
    CHECK(desk.now - first >= QQ_IDENTIFY_PAUSE_S * S);
    end(&desk);
}

static void an_identify_waits_for_the_days_limit(void)
{
    struct desk desk;
    begin(&desk);
    CHECK(desk.session.state == QQ_CONNECTING);
    qq_session_hold(&desk.session, "no identify is left today", 3600 * S, desk.now);
    CHECK(desk.session.state == QQ_WAITING);
    CHECK(strcmp(desk.session.trouble, "no identify is left today") == 0);
    uint64_t held = desk.now;
    open_link(&desk);
    CHECK(desk.now - held >= 3600 * S && desk.connects == 2);
    qq_session_hold(&desk.session, "too late", 3600 * S, desk.now);
    CHECK(desk.session.state == QQ_STARTING);
    end(&desk);
}

static void an_identify_after_op_9_takes_its_time(void)
{
    struct desk desk;
    begin_ready(&desk);
    desk.now += 100 * S;
    feed(&desk, "{\"op\":9,\"d\":false}");
    closed(&desk, 4000);
    uint64_t lost = desk.now;
    open_link(&desk);
    CHECK(desk.identifies == 2 && desk.resumes == 0);
    CHECK(desk.now - lost >= 2 * S && desk.now - lost <= 5 * S);
    end(&desk);
}

/* Replayed events come one by one for longer than a silent gateway is waited for. */
static void a_long_replay_is_no_silence(void)
{
    struct desk desk;
    begin_ready(&desk);
    closed(&desk, 0);
    open_link(&desk);
    CHECK(desk.resumes == 1);
    for (int i = 2; i < 10; i++) {
        char json[96];
        snprintf(json, sizeof json, "{\"op\":0,\"s\":%d,\"t\":\"X\",\"d\":{}}", i);
        desk.now += 10 * S;
        qq_session_tick(&desk.session, desk.now, 1);
        drain(&desk);
        feed(&desk, "{\"op\":11}");
        CHECK(feed(&desk, json));
        qq_session_done(&desk.session, i);
    }
    CHECK(desk.closes == 0 && desk.session.state == QQ_STARTING);
    feed(&desk, "{\"op\":0,\"s\":10,\"t\":\"RESUMED\",\"d\":\"\"}");
    CHECK(desk.session.state == QQ_READY && desk.session.durable_seq == 9);
    end(&desk);
}

/* While our side does not read, because the store is slow, the gateway's answers wait unread: no
 * fault of the session. */
static void a_pause_of_ours_is_no_silence(void)
{
    struct desk desk;
    begin_ready(&desk);
    closed(&desk, 0);
    open_link(&desk);
    for (int i = 0; i < 100; i++) {
        desk.now += 10 * S;
        qq_session_note_paused(&desk.session, desk.now);
        qq_session_tick(&desk.session, desk.now, 1);
        drain(&desk);
    }
    CHECK(desk.closes == 0 && desk.session.state == QQ_STARTING && desk.beats > 10);
    feed(&desk, "{\"op\":0,\"s\":1,\"t\":\"RESUMED\",\"d\":\"\"}");
    qq_session_note_paused(&desk.session, desk.now);
    CHECK(desk.session.state == QQ_READY && desk.session.deadline_ns == UINT64_MAX);
    for (int i = 0; i < 4 && desk.closes == 0; i++) /* read again, the watch is back */
        advance_to_wake(&desk);
    CHECK(desk.closes == 1);
    end(&desk);
}

static void a_session_kept_over_a_restart_is_resumed(void)
{
    struct desk desk = {.now = S};
    CHECK_OK(qq_session_init(&desk.session, 1u << 25));
    qq_session_restore(&desk.session, SMA_STR("old"), 42);
    qq_session_start(&desk.session, desk.now);
    drain(&desk);
    open_link(&desk);
    CHECK(desk.resumes == 1 && desk.identifies == 0);
    CHECK(desk.session.durable_seq == 42);
    end(&desk);
}

static void too_much_in_flight_pauses_the_link(void)
{
    struct desk desk;
    begin_ready(&desk);
    char json[128];
    for (int64_t seq = 2; !qq_session_is_full(&desk.session); seq++) {
        snprintf(json, sizeof json, "{\"op\":0,\"s\":%lld,\"t\":\"X\",\"d\":{}}", (long long)seq);
        CHECK(feed(&desk, json));
    }
    CHECK(desk.session.unfinished_count == QQ_UNFINISHED_COUNT_MAX / 2);
    for (int64_t seq = 2; seq < 2 + QQ_UNFINISHED_COUNT_MAX / 2; seq++)
        qq_session_done(&desk.session, seq);
    CHECK(desk.session.unfinished_count == 0 && !qq_session_is_full(&desk.session));
    end(&desk);
}

/* Whatever the gateway does: connects stay rare, it is never stuck, and the durable sequence only
 * grows in a session. */
static void any_gateway(uint64_t seed)
{
    struct desk desk;
    begin(&desk);
    uint64_t state = seed * 2862933555777941757u + 3037000493u, started = desk.now;
    int64_t next_seq = 2;
    for (int step = 0; step < 3000; step++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned dice = (unsigned)(state >> 40);
        struct qq_session *session = &desk.session;
        char json[160];
        switch (session->state) {
        case QQ_WAITING:
        case QQ_HOLDING:
            advance_to_wake(&desk);
            continue;
        case QQ_CONNECTING:
            if (dice % 4 == 0)
                qq_session_not_connected(session, "no route", desk.now, state);
            else
                qq_session_opened(session, desk.now);
            continue;
        case QQ_CLOSING:
            closed(&desk, dice % 2 == 0 ? 4000 : 0);
            continue;
        case QQ_GREETING:
        case QQ_STARTING:
        case QQ_READY:
            break;
        }
        static const char *const frames[] = {
            "{\"op\":10,\"d\":{\"heartbeat_interval\":1000}}",
            "{\"op\":10,\"d\":7}",
            "{\"op\":0,\"s\":1,\"t\":\"READY\",\"d\":{\"session_id\":\"s\"}}",
            "{\"op\":11}",
            "{\"op\":0,\"s\":9,\"t\":\"RESUMED\",\"d\":\"\"}",
            "{\"op\":7}",
            "{\"op\":9,\"d\":true}",
            "{\"op\":9,\"d\":false}",
            "{\"op\":1}",
            "{\"op\":77}"};
        static const unsigned codes[] = {0, 1000, 4004, 4006, 4008, 4009, 4014, 4900, 4915};
        if (dice % 7 == 0)
            closed(&desk, codes[(dice >> 8) % SMA_COUNT_OF(codes)]);
        else if (dice % 7 == 1)
            advance_to_wake(&desk);
        else if (dice % 7 <= 4 && session->state == QQ_READY) {
            int64_t before = session->durable_seq;
            snprintf(json, sizeof json, "{\"op\":0,\"s\":%lld,\"t\":\"X\",\"d\":{}}",
                     (long long)next_seq++);
            if (feed(&desk, json) && dice % 3 != 0)
                qq_session_done(session, next_seq - 1);
            CHECK(session->durable_seq >= before);
        } else
            feed(&desk, frames[(dice >> 8) % SMA_COUNT_OF(frames)]);
    }
    /* Half a second is the shortest pause, and it grows: far fewer connects than one a second in
     * the long run. */
    CHECK(desk.connects <= 2 * ((desk.now - started) / S) + 2);
    end(&desk);
}

static void any_gateway_of_many(void)
{
    for (uint64_t seed = 1; seed <= 200; seed++)
        any_gateway(seed);
}

int main(void)
{
    RUN(a_loss_is_resumed_from_the_durable_prefix);
    RUN(what_could_not_be_stored_is_asked_for_again);
    RUN(refused_events_do_not_lengthen_the_pauses);
    RUN(a_session_that_lasted_resets_the_pauses);
    RUN(every_close_code_is_answered_as_the_table_says);
    RUN(a_missing_right_is_met_with_fewer_intents);
    RUN(a_silent_gateway_is_left);
    RUN(no_hello_and_no_ready_end_the_link);
    RUN(an_outage_is_over_when_it_is_over);
    RUN(an_invalid_session);
    RUN(failed_resumes_end_in_an_identify);
    RUN(the_gateway_may_ask_for_a_beat_and_for_a_reconnect);
    RUN(identifies_keep_their_distance);
    RUN(an_identify_waits_for_the_days_limit);
    RUN(an_identify_after_op_9_takes_its_time);
    RUN(a_long_replay_is_no_silence);
    RUN(a_pause_of_ours_is_no_silence);
    RUN(a_session_kept_over_a_restart_is_resumed);
    RUN(too_much_in_flight_pauses_the_link);
    RUN(any_gateway_of_many);
    return check_summary();
}
