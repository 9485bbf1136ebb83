/* agent_learn.c — members of requests that targets refuse: known from before, or learned by a
 * run. */
#include "agent_priv.h"

#include <stdlib.h>

static bool is_known(const struct sma_agent *agent, const struct sma_learned_fact *fact)
{
    for (uint32_t i = 0; i < agent->learned_count; i++)
        if (sma_str_is_equal(fact->target, sma_str(agent->learned[i].target)) &&
            sma_str_is_equal(fact->member, sma_str(agent->learned[i].member)))
            return true;
    return false;
}

static void copy_text(char *to, struct sma_str text)
{
    memcpy(to, text.ptr, text.len);
    to[text.len] = '\0';
}

static void keep(struct sma_agent *agent, const struct sma_learned_fact *fact)
{
    if (fact->target.len == 0 || fact->target.len >= SMA_TARGET_KEY_BYTES_MAX ||
        fact->member.len == 0 || fact->member.len >= SMA_REFUSED_BYTES_MAX ||
        agent->learned_count == AGENT_LEARNED_COUNT_MAX || is_known(agent, fact))
        return;
    if (agent->learned_count == agent->learned_room) {
        uint32_t room = agent->learned_room * 2 + 8;
        struct agent_learned *more = realloc(agent->learned, room * sizeof *more);
        if (more == NULL)
            return; /* it is learned again when it matters */
        agent->learned = more;
        agent->learned_room = room;
    }
    struct agent_learned *learned = &agent->learned[agent->learned_count++];
    copy_text(learned->target, fact->target);
    copy_text(learned->member, fact->member);
}

void agent_learn_by(struct sma_run_settings *settings, const struct agent_learned *learned)
{
    (void)sma_run_settings_learn(settings, sma_str(learned->target),
                                 sma_str(learned->member)); /* known, or no room */
}

void agent_learn(struct sma_agent *agent, const struct sma_learned_fact *fact)
{
    keep(agent, fact);
    (void)sma_run_settings_learn(agent->settings, fact->target, fact->member); /* likewise */
}

void agent_tell_learned(struct sma_agent *agent, const struct sma_learned_fact *fact)
{
    agent_learn(agent, fact);
    sma_ctx_log(agent->ctx, SMA_LOG_WARN,
                "%.*s refuses \"%.*s\": requests to it are made without it from now on",
                (int)fact->target.len, fact->target.ptr, (int)fact->member.len, fact->member.ptr);
    struct sma_learned_fact copy = *fact;
    const struct sma_learned learned = {.fact_count = 1, .facts = &copy};
    struct sma_msg *msg = agent_need(agent, sma_msg_make_learn(&learned));
    if (sma_ctx_send(agent->ctx, SMA_ACTOR_STORE, &msg) != SMA_ERR_OK)
        sma_msg_destroy(msg); /* it is learned again after the next start */
}
