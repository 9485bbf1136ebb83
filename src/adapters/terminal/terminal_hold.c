/*
 * terminal_hold.c — deliveries of the life before that wait for their terminals to come back.
 *
 * When the service was restarted, a chat that goes on looks for it again and is here within a few
 * seconds (cli/chat_ui.h). What is delivered before that, for a message of the life before, would
 * be given up: it is held until somebody listens, for TERMINAL_GRACE_NS after the start at most.
 */
#include "terminal_priv.h"

static bool has_listener(const struct terminal *terminal, struct sma_str chat)
{
    for (size_t i = 0; i < SMA_TERMINAL_CLIENT_COUNT_MAX; i++)
        if (sma_terminal_listens(&terminal->clients[i], chat))
            return true;
    return false;
}

static bool is_in_grace(const struct terminal *terminal)
{
    return !terminal->is_intake_off &&
           sma_ctx_now(terminal->ctx) - terminal->started_ns < TERMINAL_GRACE_NS;
}

static const struct sma_attempt *attempt_of(struct sma_msg *msg)
{
    return SMA_MSG_BODY(msg, struct sma_attempt);
}

bool sma_terminal_hold(struct terminal *terminal, struct sma_msg **msg)
{
    const struct sma_attempt *attempt = attempt_of(*msg);
    bool is_ours = terminal->first_seq != 0 && attempt->seq >= terminal->first_seq;
    if (is_ours || terminal->held_count == TERMINAL_HELD_COUNT_MAX || !is_in_grace(terminal) ||
        has_listener(terminal, attempt->route.chat_id))
        return false;
    terminal->held[terminal->held_count++] = SMA_TAKE(*msg);
    sma_ctx_request_batch_end(terminal->ctx);
    return true;
}

/* The service ends: whoever comes back finds it with its successor. */
static void put_off(const struct terminal *terminal, struct sma_msg *msg)
{
    struct sma_attempt_result result = {.outbox_id = attempt_of(msg)->outbox_id,
                                        .part = attempt_of(msg)->part,
                                        .attempt_class = SMA_ATTEMPT_RETRY,
                                        .error = SMA_STR("no terminal is connected yet")};
    struct sma_msg *answer = sma_msg_make_attempt_result(&result);
    if (answer == NULL)
        sma_ctx_fatal(terminal->ctx, "out of memory while answering a delivery");
    sma_ctx_answer_to(terminal->ctx, (enum sma_actor_id)msg->from, msg->ask_id, &answer);
}

void sma_terminal_drop_held(struct terminal *terminal)
{
    for (size_t i = 0; i < terminal->held_count; i++)
        sma_msg_destroy(terminal->held[i]);
    terminal->held_count = 0;
}

void sma_terminal_let_held_go(struct terminal *terminal)
{
    size_t kept = 0, count = terminal->held_count;
    bool is_over = !is_in_grace(terminal);
    for (size_t i = 0; i < count; i++) {
        struct sma_msg *msg = terminal->held[i];
        if (!is_over && !has_listener(terminal, attempt_of(msg)->route.chat_id)) {
            terminal->held[kept++] = msg;
            continue;
        }
        if (terminal->is_intake_off)
            put_off(terminal, msg);
        else
            sma_terminal_take_attempt(terminal, msg, attempt_of(msg));
        sma_msg_destroy(msg);
    }
    terminal->held_count = kept;
}
