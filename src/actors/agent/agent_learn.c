/* agent_learn.c — members of requests that targets refuse: known from before, or learned by a
 * run. */
#include "agent_priv.h"

#include "sma/text.h"

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
    learned->end_ns = sma_ctx_now(agent->ctx) + SMA_LEARNED_DAYS * UINT64_C(86400) * SMA_NS_PER_S;
}

void agent_forget_learned(struct sma_agent *agent, uint64_t now_ns)
{
    for (uint32_t i = agent->learned_count; i > 0; i--) {
        struct agent_learned *learned = &agent->learned[i - 1];
        if (now_ns < learned->end_ns)
            continue;
        sma_run_settings_allow(agent->settings, sma_str(learned->target), learned->member);
        *learned = agent->learned[--agent->learned_count];
    }
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

/* What it means for people, where that is more than a member less. */
static const char *meaning_of(struct sma_str member)
{
    static const struct
    {
        const char *member, *meaning;
    } rows[] = {
        {SMA_REFUSES_TOOLS, "; the agent can only talk there: use a model that takes tools (of "
                            "Ollama one with the tag "
                            "\"tools\"; vLLM needs --enable-auto-tool-choice and "
                            "--tool-call-parser, llama.cpp --jinja)"},
        {SMA_WANTS_REASONING, ", that is, it wants answers back with their reasoning"},
        {SMA_REFUSES_LISTS, ", that is, it reads plain strings: files are only named to it"},
    };
    if (sma_str_starts_with(member, SMA_STR(SMA_REFUSES_TOOL)))
        return ", that is, the schema of this tool; of an MCP server's the one who wrote it can "
               "mend it";
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        if (sma_str_is_equal(member, sma_str(rows[i].member)))
            return rows[i].meaning;
    return "";
}

void agent_tell_learned(struct sma_agent *agent, const struct sma_learned_fact *fact)
{
    bool is_window = sma_str_starts_with(fact->member, SMA_STR(SMA_LEARNED_WINDOW));
    agent_learn(agent, fact);
    if (is_window)
        sma_ctx_log(agent->ctx, SMA_LOG_WARN,
                    "%.*s reads only about %.*s tokens of a request and drops the rest in silence; "
                    "conversations are kept below that from now on. Give it a larger window "
                    "(Ollama: OLLAMA_CONTEXT_LENGTH, llama.cpp: --ctx-size, vLLM: "
                    "--max-model-len) and set llm.contextTokens to it",
                    (int)fact->target.len, fact->target.ptr,
                    (int)(fact->member.len - sizeof SMA_LEARNED_WINDOW + 1),
                    fact->member.ptr + sizeof SMA_LEARNED_WINDOW - 1);
    else
        sma_ctx_log(agent->ctx, SMA_LOG_WARN,
                    "%.*s refuses \"%.*s\": requests to it are made without it from now on%s",
                    (int)fact->target.len, fact->target.ptr, (int)fact->member.len,
                    fact->member.ptr, meaning_of(fact->member));
    struct sma_learned_fact copy = *fact;
    const struct sma_learned learned = {.fact_count = 1, .facts = &copy};
    struct sma_msg *msg = agent_need(agent, sma_msg_make_learn(&learned));
    if (sma_ctx_send(agent->ctx, SMA_ACTOR_STORE, &msg) != SMA_ERR_OK)
        sma_msg_destroy(msg); /* it is learned again after the next start */
}
