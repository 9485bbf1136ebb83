/*
 * agent_sample.c — what servers want the model asked (sampling): one request of its own, of what
 * the server sent and of nothing else: no tools, no memory, nothing of the conversation, nothing of
 * Agent.md. llm.small is asked, else whom the run asks. What it uses counts as the run's
 * (SPENT), also when nobody waits for the answer any more. A member that the target refuses is left
 * out, as with runs; a failure is told to the server without its details, which are for the log.
 */
#include "agent_priv.h"

#include "sma/text.h"

#include <stdio.h>
#include <string.h>

static const struct sma_mcp_sample *order_of(const struct agent_sample *sample)
{
    return SMA_MSG_BODY(sample->msg, struct sma_mcp_sample);
}

/* Once: then nobody waits for it. */
static void say(struct sma_agent *agent, struct agent_sample *sample, struct sma_mcp_sampled *what)
{
    what->seq = order_of(sample)->seq;
    what->call = order_of(sample)->call;
    struct sma_msg *answer = agent_need(agent, sma_msg_make_mcp_sampled(what));
    sma_ctx_answer(agent->ctx, sample->msg, &answer);
    sma_msg_destroyp(&sample->msg);
}

static void refuse(struct sma_agent *agent, struct agent_sample *sample, const char *why)
{
    say(agent, sample, &(struct sma_mcp_sampled){.why = sma_str(why)});
}

/* -- the request ------------------------------------------------------------------------------- */
static const struct sma_target *find_target(const struct agent_run *entry)
{
    const struct sma_run_settings *settings = entry->settings;
    const char *key = sma_run_target_key(entry->run);
    if (settings->has_small)
        return &settings->small;
    for (size_t i = 0; i < settings->model_count; i++)
        if (strcmp(settings->targets[i].key, key) == 0)
            return &settings->targets[i];
    return &settings->targets[0];
}

static void put_messages(struct sma_buf *body, const struct sma_target *target,
                         const struct sma_mcp_sample *order)
{
    for (uint32_t i = 0; i < order->line_count; i++) {
        const struct sma_mcp_sample_line *line = &order->lines[i];
        if (i > 0)
            sma_buf_put_char(body, ',');
        if (line->is_user)
            target->wire->put_user(body, target, &line->text, 1);
        else
            target->wire->put_assistant_text(body, target, line->text);
    }
}

/* OK: asked | FULL: no place at the model | anything else: it cannot be asked. */
static SMA_CHECKED enum sma_err ask(struct sma_agent *agent, struct agent_sample *sample,
                                    const struct sma_target *from)
{
    const struct sma_mcp_sample *order = order_of(sample);
    struct sma_target target = *from; /* with the server's bound of tokens, if it is the lower */
    struct sma_config_llm llm = *from->llm;
    if (llm.max_tokens == 0 || llm.max_tokens > order->tokens_max)
        llm.max_tokens = order->tokens_max;
    target.llm = &llm;
    struct sma_buf body;
    sma_buf_init(&body, SMA_REQUEST_BYTES_MAX);
    target.wire->put_head(&body, &target, order->system, NULL, 0);
    size_t start = body.len;
    put_messages(&body, &target, order);
    size_t end = body.len;
    target.wire->put_tail(&body, &target, (struct sma_str){0});
    enum sma_err err = body.err;
    if (err == SMA_ERR_OK) {
        const struct sma_model_ask question = {.llm = from->llm,
                                               .seq = sample->seq,
                                               .body = sma_buf_str(&body),
                                               .turn_offset = (uint32_t)start,
                                               .turn_end = (uint32_t)end};
        struct sma_msg *msg = agent_need(agent, sma_msg_make_model(&question));
        snprintf(sample->target_key, sizeof sample->target_key, "%s", from->key);
        sample->model = from->llm->model;
        sample->refused_count = from->refused_count;
        err = sma_ctx_ask(agent->ctx, SMA_ACTOR_MODEL, &msg, sample->deadline_ns, &sample->ask_id);
        sma_msg_destroy(msg); /* NULL after OK */
    }
    sma_buf_fini(&body);
    return err;
}

void agent_sample_ask(struct sma_agent *agent, struct agent_run *entry, struct sma_msg **msg)
{
    struct agent_sample *place = NULL, none;
    for (size_t i = 0; i < SMA_COUNT_OF(agent->samples) && place == NULL; i++)
        if (agent->samples[i].ask_id == 0)
            place = &agent->samples[i];
    const char *why = place == NULL ? "too many servers want the model asked at once"
                      : entry == NULL || agent->is_draining || !agent->settings->is_configured
                          ? "the model cannot be asked now"
                          : NULL;
    if (place == NULL)
        place = &none;
    *place = (struct agent_sample){.msg = SMA_TAKE(*msg)};
    place->seq = order_of(place)->seq;
    place->serial = entry == NULL ? 0 : entry->serial;
    place->deadline_ns = order_of(place)->deadline_ns;
    if (why == NULL && (agent->blocked_first[SMA_ACTOR_MODEL] != NULL ||
                        ask(agent, place, find_target(entry)) != SMA_ERR_OK))
        why = "the model cannot be asked now";
    if (why == NULL)
        return;
    place->ask_id = 0;
    refuse(agent, place, why);
}

/* -- the answer -------------------------------------------------------------------------------- */
/* Its target refuses a member of the request: once more without it, while it learns something. */
static bool ask_without(struct sma_agent *agent, struct agent_sample *sample,
                        const struct sma_model_answer *answer)
{
    struct agent_run *entry = agent_run_find(agent, sample->seq);
    if (answer->status != SMA_MODEL_FAILED || answer->trouble != SMA_MODEL_FAILURE_MEMBER ||
        sample->msg == NULL || agent->is_draining || entry == NULL ||
        entry->serial != sample->serial)
        return false;
    const struct sma_target *target = find_target(entry);
    struct sma_learned_fact fact = {.target = sma_str(target->key),
                                    .member = answer->refused_member};
    if (strcmp(target->key, sample->target_key) != 0)
        return false;
    if (sma_run_settings_learn(entry->settings, fact.target, fact.member))
        agent_tell_learned(agent, &fact);
    return target->refused_count > sample->refused_count &&
           ask(agent, sample, target) == SMA_ERR_OK;
}

static void say_answer(struct sma_agent *agent, struct agent_sample *sample,
                       const struct sma_model_answer *answer)
{
    struct sma_str text = {answer->text.ptr,
                           sma_utf8_cut(answer->text, SMA_MCP_SAMPLE_ANSWER_BYTES_MAX)};
    if (answer->status != SMA_MODEL_OK) {
        sma_ctx_log(agent->ctx, SMA_LOG_WARN, "mcp %.*s: the model was not asked for it: %.*s",
                    (int)order_of(sample)->server.len, order_of(sample)->server.ptr,
                    (int)answer->error.len, answer->error.len == 0 ? "" : answer->error.ptr);
        refuse(agent, sample, "the model could not be asked");
    } else if (answer->finish == SMA_FINISH_FILTERED || answer->finish == SMA_FINISH_REFUSED) {
        refuse(agent, sample, "the model refuses to answer this");
    } else if (text.len == 0) {
        refuse(agent, sample,
               answer->finish == SMA_FINISH_LENGTH ? "the model said nothing within maxTokens"
                                                   : "the model said nothing");
    } else {
        say(agent, sample,
            &(struct sma_mcp_sampled){.text = text,
                                      .model = sma_str(sample->model),
                                      .is_cut = answer->finish == SMA_FINISH_LENGTH ||
                                                text.len < answer->text.len});
    }
}

bool agent_sample_answer(struct sma_agent *agent, struct sma_msg *msg)
{
    struct agent_sample *sample = NULL;
    for (size_t i = 0; i < SMA_COUNT_OF(agent->samples) && sample == NULL; i++)
        if (agent->samples[i].ask_id == msg->ask_id)
            sample = &agent->samples[i];
    if (msg->kind != SMA_MSG_MODEL_ANSWER || sample == NULL)
        return false;
    const struct sma_model_answer *answer = SMA_MSG_BODY(msg, struct sma_model_answer);
    agent_tell_spent(agent, &(struct sma_spent){.seq = sample->seq,
                                                .usage = answer->usage,
                                                .target = sma_str(sample->target_key)});
    if (!ask_without(agent, sample, answer)) {
        if (sample->msg != NULL)
            say_answer(agent, sample, answer);
        sample->ask_id = 0;
    }
    agent_ask_blocked(agent, SMA_ACTOR_MODEL); /* runs may wait for the place */
    return true;
}

/* -- its end ----------------------------------------------------------------------------------- */
/* The model's answer is still waited for: its tokens were used. */
static void cancel(struct sma_agent *agent, struct agent_sample *sample, const char *why)
{
    refuse(agent, sample, why);
    agent_cancel_model(agent, sample->ask_id);
}

void agent_sample_end(struct sma_agent *agent, uint64_t serial, uint32_t call)
{
    for (size_t i = 0; i < SMA_COUNT_OF(agent->samples); i++) {
        struct agent_sample *sample = &agent->samples[i];
        if (sample->ask_id != 0 && sample->msg != NULL && sample->serial == serial &&
            (call == SMA_MCP_CALL_ALL || order_of(sample)->call == call))
            cancel(agent, sample, "its call is over");
    }
}

void agent_sample_pump(struct sma_agent *agent)
{
    uint64_t now = sma_ctx_now(agent->ctx);
    for (size_t i = 0; i < SMA_COUNT_OF(agent->samples); i++) {
        struct agent_sample *sample = &agent->samples[i];
        if (sample->ask_id != 0 && sample->msg != NULL && sample->deadline_ns <= now)
            cancel(agent, sample, "the model did not answer in time");
    }
}

uint64_t agent_sample_wake_ns(const struct sma_agent *agent)
{
    uint64_t at = UINT64_MAX;
    for (size_t i = 0; i < SMA_COUNT_OF(agent->samples); i++) {
        const struct agent_sample *sample = &agent->samples[i];
        if (sample->ask_id != 0 && sample->msg != NULL && sample->deadline_ns < at)
            at = sample->deadline_ns;
    }
    return at;
}

void agent_sample_fini(struct sma_agent *agent)
{
    for (size_t i = 0; i < SMA_COUNT_OF(agent->samples); i++)
        sma_msg_destroyp(&agent->samples[i].msg);
}
