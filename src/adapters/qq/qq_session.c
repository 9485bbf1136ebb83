/* qq_session.c — see qq_session.h. */
#include "qq_session.h"

#include "runtime/json/json_read.h"

#include <stdio.h>
#include <stdlib.h>

#define CLOSE_FOR_RESUME 4000u /* 1000 would end the session on the platform's side */

enum reaction
{
    REACT_RESUME,      /* the session lives */
    REACT_IDENTIFY,    /* it is gone */
    REACT_TOKEN,       /* new token, then identify */
    REACT_LESS,        /* fewer intents, then identify */
    REACT_SLOW_RESUME, /* too many payloads: wait long, then resume */
    REACT_FATAL,
};
static const struct close_code
{
    unsigned first, last;
    enum reaction reaction;
    const char *words;
} close_codes[] = {
    {4001, 4001, REACT_FATAL, "the gateway refused our opcode"},
    {4002, 4002, REACT_FATAL, "the gateway refused our payload"},
    {4003, 4003, REACT_IDENTIFY, "the gateway says we are not authenticated"},
    {4004, 4004, REACT_TOKEN, "the gateway refused the access token"},
    {4006, 4007, REACT_IDENTIFY, "the gateway no longer knows the session"},
    {4008, 4008, REACT_SLOW_RESUME, "the gateway says we send too fast"},
    {4009, 4009, REACT_RESUME, "the connection expired"},
    {4010, 4010, REACT_FATAL, "the shard is wrong: check adapters.qq.shards"},
    {4011, 4011, REACT_FATAL, "too many guilds for one shard: raise adapters.qq.shards"},
    {4012, 4012, REACT_FATAL, "the gateway refused the protocol version"},
    {4013, 4013, REACT_LESS, "the gateway does not know an intent"},
    {4014, 4014, REACT_LESS, "the bot has no right to an intent it asked for"},
    {4900, 4913, REACT_IDENTIFY, "the gateway had an internal error"},
    {4914, 4914, REACT_FATAL,
     "the bot is offline on the platform; only sandbox connections are allowed "
     "(adapters.qq.sandbox)"},
    {4915, 4915, REACT_FATAL, "the bot is banned; see the platform's console"},
};

enum sma_err qq_session_init(struct qq_session *session, uint32_t intents)
{
    *session = (struct qq_session){.intents = intents,
                                   .last_seq = QQ_SEQ_NONE,
                                   .durable_seq = QQ_SEQ_NONE,
                                   .deadline_ns = UINT64_MAX,
                                   .beat_ns = UINT64_MAX};
    session->unfinished = calloc(QQ_UNFINISHED_COUNT_MAX, sizeof *session->unfinished);
    return session->unfinished == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

void qq_session_fini(struct qq_session *session)
{
    free(session->unfinished);
    session->unfinished = NULL;
}

/* -- actions ----------------------------------------------------------------------------------- */
static void act(struct qq_session *session, enum qq_action_kind kind, unsigned close_code)
{
    SMA_ASSERT(session->action_count < SMA_COUNT_OF(session->actions));
    uint32_t at =
        (session->action_first + session->action_count++) % SMA_COUNT_OF(session->actions);
    session->actions[at] = (struct qq_action){kind, close_code};
}

bool qq_session_next(struct qq_session *session, struct qq_action *ret_action)
{
    if (session->action_count == 0)
        return false;
    *ret_action = session->actions[session->action_first];
    session->action_first = (session->action_first + 1) % SMA_COUNT_OF(session->actions);
    session->action_count--;
    return true;
}

/* What was to be done on a socket that is gone. */
static void forget_link_actions(struct qq_session *session)
{
    struct qq_action kept[SMA_COUNT_OF(session->actions)], action;
    uint32_t count = 0;
    while (qq_session_next(session, &action))
        if (action.kind == QQ_ACTION_DROP_TOKEN || action.kind == QQ_ACTION_SAVE)
            kept[count++] = action;
    for (uint32_t i = 0; i < count; i++)
        act(session, kept[i].kind, 0);
}

/* -- the session's identity -------------------------------------------------------------------- */
static void forget_unfinished(struct qq_session *session)
{
    session->unfinished_first = session->unfinished_count = 0;
}

static void drop_session(struct qq_session *session)
{
    if (session->session_id_len > 0)
        act(session, QQ_ACTION_SAVE, 0);
    session->session_id_len = 0;
    session->session_id[0] = '\0';
    session->last_seq = session->durable_seq = QQ_SEQ_NONE;
    session->failed_resume_count = 0;
    forget_unfinished(session);
}

void qq_session_restore(struct qq_session *session, struct sma_str session_id, int64_t seq)
{
    if (session_id.len == 0 || session_id.len >= sizeof session->session_id || seq < 0)
        return;
    memcpy(session->session_id, session_id.ptr, session_id.len);
    session->session_id[session_id.len] = '\0';
    session->session_id_len = session_id.len;
    session->last_seq = session->durable_seq = seq;
}

/* -- waiting and connecting -------------------------------------------------------------------- */
static void set_trouble(struct qq_session *session, const char *words, unsigned code, bool is_fatal)
{
    if (code != 0)
        snprintf(session->trouble, sizeof session->trouble, "%s (close code %u)", words, code);
    else
        snprintf(session->trouble, sizeof session->trouble, "%s", words);
    session->is_fatal = is_fatal;
}

static void wait_until(struct qq_session *session, uint64_t at_ns)
{
    session->state = QQ_WAITING;
    session->deadline_ns = at_ns;
    session->beat_ns = UINT64_MAX;
}

/* Half of the delay is certain, half is chance, so that many bots do not come back at the same
 * instant. */
static void wait_backing_off(struct qq_session *session, uint64_t now_ns, uint64_t random)
{
    bool is_quick = session->failure_count < QQ_QUICK_COUNT;
    uint32_t doublings =
        is_quick ? session->failure_count : session->failure_count - QQ_QUICK_COUNT + 3;
    uint64_t delay_ns = SMA_NS_PER_S << (doublings < 6 ? doublings : 6);
    uint64_t max_ns = (is_quick ? QQ_QUICK_S_MAX : QQ_DELAY_MAX_S) * SMA_NS_PER_S;
    if (delay_ns > max_ns)
        delay_ns = max_ns;
    session->failure_count++;
    wait_until(session, now_ns + delay_ns / 2 + random % (delay_ns / 2));
}

static void wait_slowly(struct qq_session *session, uint64_t now_ns, uint64_t random)
{
    wait_until(session, now_ns + QQ_FATAL_RETRY_S * SMA_NS_PER_S + random % (60 * SMA_NS_PER_S));
}

void qq_session_start(struct qq_session *session, uint64_t now_ns)
{
    wait_until(session, now_ns);
    qq_session_tick(session, now_ns, 0);
}

static void connect(struct qq_session *session)
{
    session->state = QQ_CONNECTING;
    session->deadline_ns = UINT64_MAX; /* the socket has a deadline of its own */
    act(session, QQ_ACTION_CONNECT, 0);
}

void qq_session_opened(struct qq_session *session, uint64_t now_ns)
{
    if (session->state != QQ_CONNECTING)
        return;
    session->state = QQ_GREETING;
    session->deadline_ns = now_ns + QQ_HELLO_S * SMA_NS_PER_S;
}

void qq_session_not_connected(struct qq_session *session, const char *why, uint64_t now_ns,
                              uint64_t random)
{
    set_trouble(session, why, 0, false);
    wait_backing_off(session, now_ns, random);
}

void qq_session_hold(struct qq_session *session, const char *why, uint64_t delay_ns,
                     uint64_t now_ns)
{
    if (session->state != QQ_CONNECTING)
        return;
    set_trouble(session, why, 0, false);
    wait_until(session, now_ns + delay_ns);
}

/* While a session is up, before anything can end it, whoever ends it. */
static void note_stable(struct qq_session *session, uint64_t now_ns)
{
    if (session->state == QQ_READY &&
        now_ns - session->ready_since_ns >= QQ_STABLE_S * SMA_NS_PER_S)
        session->failure_count = 0;
}

/* -- the end of a link ------------------------------------------------------------------------- */
static void close_link(struct qq_session *session, const char *why, unsigned code)
{
    set_trouble(session, why, 0, false);
    session->state = QQ_CLOSING;
    session->deadline_ns = session->beat_ns = UINT64_MAX;
    act(session, QQ_ACTION_CLOSE, code);
}

static const struct close_code *find_code(unsigned code)
{
    static const struct close_code unknown = {0, 0, REACT_RESUME, "the connection was lost"};
    for (size_t i = 0; i < SMA_COUNT_OF(close_codes); i++)
        if (code >= close_codes[i].first && code <= close_codes[i].last)
            return &close_codes[i];
    return &unknown;
}

static void lose_resume(struct qq_session *session)
{
    if (!session->is_resuming || session->state != QQ_STARTING)
        return;
    if (++session->failed_resume_count >= QQ_RESUME_COUNT_MAX)
        drop_session(session);
}

/* The platform does not say which one is too many, and each try costs five seconds: those of guilds
 * go together, presses of buttons last, for without them nobody can agree by a button. */
static uint32_t fewer_intents(uint32_t intents)
{
    static const uint32_t in_order[] = {QQ_INTENT_AUDIT | QQ_INTENT_GUILD_ALL | QQ_INTENT_DIRECT |
                                            QQ_INTENT_GUILD_AT,
                                        QQ_INTENT_INTERACTION};
    for (size_t i = 0; i < SMA_COUNT_OF(in_order); i++)
        if ((intents & in_order[i]) != 0 && (intents & ~in_order[i]) != 0)
            return intents & ~in_order[i];
    return QQ_INTENT_GROUP_AND_C2C;
}

static void react(struct qq_session *session, const struct close_code *met, unsigned code,
                  uint64_t now_ns, uint64_t random)
{
    uint32_t fewer = fewer_intents(session->intents);
    bool has_less = fewer != session->intents;
    bool is_fatal = met->reaction == REACT_FATAL || (met->reaction == REACT_LESS && !has_less);
    if (session->state != QQ_CLOSING || code >= 4000)
        set_trouble(session, met->words, code, is_fatal);
    if (met->reaction == REACT_TOKEN)
        act(session, QQ_ACTION_DROP_TOKEN, 0);
    if (met->reaction == REACT_LESS)
        session->intents = fewer;
    if (met->reaction != REACT_RESUME && met->reaction != REACT_SLOW_RESUME)
        drop_session(session);
    if (is_fatal)
        wait_slowly(session, now_ns, random);
    else if (session->is_refused && met->reaction == REACT_RESUME)
        wait_until(session, now_ns + QQ_REFUSED_S * SMA_NS_PER_S + random % SMA_NS_PER_S);
    else if (met->reaction == REACT_SLOW_RESUME)
        wait_until(session, now_ns + QQ_DELAY_MAX_S * SMA_NS_PER_S + random % SMA_NS_PER_S);
    else
        wait_backing_off(session, now_ns, random);
}

void qq_session_closed(struct qq_session *session, unsigned code, uint64_t now_ns, uint64_t random)
{
    if (session->state == QQ_WAITING)
        return;
    forget_link_actions(session);
    forget_unfinished(session); /* whatever was not durable comes again */
    session->loss_count++;
    note_stable(session, now_ns);
    if (session->state == QQ_CLOSING)
        code = 0; /* our own code, or the echo of it */
    lose_resume(session);
    session->last_seq = session->durable_seq;
    react(session, find_code(code), code, now_ns, random);
    session->is_refused = false;
}

void qq_session_refused(struct qq_session *session, uint64_t now_ns)
{
    if (session->state != QQ_STARTING && session->state != QQ_READY)
        return;
    note_stable(session, now_ns);
    session->is_refused = true;
    close_link(session, "an event could not be stored; the platform is asked for it again",
               CLOSE_FOR_RESUME);
}

/* -- time -------------------------------------------------------------------------------------- */
void qq_session_note_paused(struct qq_session *session, uint64_t now_ns)
{
    session->is_beat_answered = true;
    if (session->state == QQ_STARTING)
        session->deadline_ns = now_ns + QQ_HELLO_S * SMA_NS_PER_S;
}

uint64_t qq_session_wake_at(const struct qq_session *session)
{
    return session->beat_ns < session->deadline_ns ? session->beat_ns : session->deadline_ns;
}

static void beat(struct qq_session *session, uint64_t now_ns)
{
    if (!session->is_beat_answered) {
        close_link(session, "the gateway did not answer a heartbeat", CLOSE_FOR_RESUME);
        return;
    }
    session->is_beat_answered = false;
    session->beat_ns = now_ns + session->beat_interval_ns;
    act(session, QQ_ACTION_BEAT, 0);
}

static void start_session(struct qq_session *session, uint64_t now_ns)
{
    session->state = QQ_STARTING;
    session->is_resuming = session->session_id_len > 0;
    session->deadline_ns = now_ns + QQ_HELLO_S * SMA_NS_PER_S;
    if (session->is_resuming) {
        session->resume_count++;
        act(session, QQ_ACTION_RESUME, 0);
        return;
    }
    session->identify_count++;
    session->identified_ns = now_ns;
    act(session, QQ_ACTION_IDENTIFY, 0);
}

void qq_session_tick(struct qq_session *session, uint64_t now_ns, uint64_t random)
{
    (void)random;
    note_stable(session, now_ns);
    if (now_ns >= session->deadline_ns) {
        session->deadline_ns = UINT64_MAX;
        if (session->state == QQ_WAITING) {
            connect(session);
            return;
        }
        if (session->state == QQ_GREETING) {
            close_link(session, "the gateway is silent", CLOSE_FOR_RESUME);
            return;
        }
        if (session->state == QQ_HOLDING)
            start_session(session, now_ns);
        else if (session->state == QQ_STARTING) {
            lose_resume(session);
            close_link(session, "the gateway did not answer our identify or resume",
                       CLOSE_FOR_RESUME);
            return;
        }
    }
    if (now_ns >= session->beat_ns)
        beat(session, now_ns);
}

/* -- frames ------------------------------------------------------------------------------------ */
static void on_hello(struct qq_session *session, const struct qq_frame *frame, uint64_t now_ns,
                     uint64_t random)
{
    if (session->state != QQ_GREETING)
        return;
    int64_t interval_ms = sma_json_int(frame->data, "heartbeat_interval", 1, INT64_MAX, 41250);
    interval_ms = interval_ms < QQ_BEAT_MS_MIN ? QQ_BEAT_MS_MIN : interval_ms;
    interval_ms = interval_ms > QQ_BEAT_MS_MAX ? QQ_BEAT_MS_MAX : interval_ms;
    session->beat_interval_ns = (uint64_t)interval_ms * SMA_NS_PER_MS;
    session->is_beat_answered = true;
    /* The first beat comes at a random place of the interval, so that shards do not beat
     * together. */
    session->beat_ns =
        now_ns + session->beat_interval_ns / 2 + random % (session->beat_interval_ns / 2);
    bool is_identify_too_soon =
        session->session_id_len == 0 && session->identify_count > 0 &&
        now_ns - session->identified_ns < QQ_IDENTIFY_PAUSE_S * SMA_NS_PER_S;
    if (is_identify_too_soon) {
        session->state = QQ_HOLDING;
        session->deadline_ns = session->identified_ns + QQ_IDENTIFY_PAUSE_S * SMA_NS_PER_S;
        return;
    }
    start_session(session, now_ns);
}

static void enter_ready(struct qq_session *session, uint64_t now_ns)
{
    session->state = QQ_READY;
    session->deadline_ns = UINT64_MAX;
    session->ready_since_ns = now_ns;
    session->failed_resume_count = 0;
    session->trouble[0] = '\0';
    session->is_fatal = false;
}

static void on_ready(struct qq_session *session, const struct qq_frame *frame, uint64_t now_ns)
{
    struct sma_str id = sma_json_str(frame->data, "session_id");
    int64_t seq = frame->seq == QQ_SEQ_NONE ? 0 : frame->seq;
    forget_unfinished(session);
    session->session_id_len = 0;
    qq_session_restore(session, id, seq);
    session->last_seq = session->durable_seq = seq;
    session->ready_count++;
    enter_ready(session, now_ns);
    act(session, QQ_ACTION_SAVE, 0);
}

static void on_invalid_session(struct qq_session *session, const struct qq_frame *frame)
{
    bool may_resume = json_is_true(frame->data);
    if (!may_resume) {
        drop_session(session);
        if (session->failure_count < 2)
            session->failure_count = 2; /* the platform wants about 3 s before the identify */
    } else if (session->is_resuming && ++session->failed_resume_count >= QQ_RESUME_COUNT_MAX) {
        drop_session(session);
    }
    session->is_resuming = false;
    close_link(session, "the gateway says the session is invalid", CLOSE_FOR_RESUME);
}

static bool on_event(struct qq_session *session, const struct qq_frame *frame)
{
    if (frame->seq == QQ_SEQ_NONE)
        return true; /* cannot be asked for again; store it all the same */
    if (frame->seq > session->last_seq)
        session->last_seq = frame->seq;
    if (session->unfinished_count == QQ_UNFINISHED_COUNT_MAX) {
        close_link(session, "more events are in flight than may be", CLOSE_FOR_RESUME);
        return false;
    }
    uint32_t at =
        (session->unfinished_first + session->unfinished_count++) % QQ_UNFINISHED_COUNT_MAX;
    session->unfinished[at] = (struct qq_unfinished){frame->seq, false};
    return true;
}

static bool on_dispatch(struct qq_session *session, const struct qq_frame *frame, uint64_t now_ns)
{
    if (sma_str_is_equal(frame->type, SMA_STR("READY"))) {
        if (session->state == QQ_STARTING)
            on_ready(session, frame, now_ns);
        return false;
    }
    if (sma_str_is_equal(frame->type, SMA_STR("RESUMED"))) {
        if (session->state == QQ_STARTING)
            enter_ready(session, now_ns);
        return false;
    }
    /* The replay of a resume comes before RESUMED. */
    if (session->state != QQ_READY && !(session->state == QQ_STARTING && session->is_resuming))
        return false;
    if (session->state == QQ_STARTING)
        session->deadline_ns = now_ns + QQ_HELLO_S * SMA_NS_PER_S; /* a long replay is no silence */
    return on_event(session, frame);
}

bool qq_session_frame(struct qq_session *session, const struct qq_frame *frame, uint64_t now_ns,
                      uint64_t random)
{
    if (session->state < QQ_GREETING || session->state > QQ_READY)
        return false;
    note_stable(session, now_ns);
    switch (frame->op) {
    case QQ_OP_DISPATCH:
        return on_dispatch(session, frame, now_ns);
    case QQ_OP_HEARTBEAT:
        act(session, QQ_ACTION_BEAT, 0);
        break;
    case QQ_OP_HEARTBEAT_ACK:
        session->is_beat_answered = true;
        break;
    case QQ_OP_HELLO:
        on_hello(session, frame, now_ns, random);
        break;
    case QQ_OP_RECONNECT:
        close_link(session, "the gateway asked for a reconnect", CLOSE_FOR_RESUME);
        break;
    case QQ_OP_INVALID_SESSION:
        on_invalid_session(session, frame);
        break;
    default:
        break; /* unknown: of no use to us */
    }
    return false;
}

/* -- durability -------------------------------------------------------------------------------- */
void qq_session_done(struct qq_session *session, int64_t seq)
{
    for (uint32_t i = 0; i < session->unfinished_count; i++) {
        struct qq_unfinished *one =
            &session->unfinished[(session->unfinished_first + i) % QQ_UNFINISHED_COUNT_MAX];
        if (one->seq == seq && !one->is_done) {
            one->is_done = true;
            break;
        }
    }
    while (session->unfinished_count > 0 &&
           session->unfinished[session->unfinished_first].is_done) {
        int64_t done = session->unfinished[session->unfinished_first].seq;
        if (done > session->durable_seq)
            session->durable_seq = done;
        session->unfinished_first = (session->unfinished_first + 1) % QQ_UNFINISHED_COUNT_MAX;
        session->unfinished_count--;
    }
}

bool qq_session_is_full(const struct qq_session *session)
{
    return session->unfinished_count >= QQ_UNFINISHED_COUNT_MAX / 2;
}
