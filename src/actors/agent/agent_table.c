/* agent_table.c — runs by seq, open questions by id, runs that wait for disk. Everything in
 * constant time. */
#include "agent_priv.h"

#include <stdlib.h>

/* Both numbers are handed out in sequence, so their low bits spread well by themselves. */
static size_t bucket_of(uint64_t number)
{
    return number & (AGENT_BUCKET_COUNT - 1);
}

struct agent_run *agent_run_find(const struct sma_agent *agent, uint64_t seq)
{
    struct agent_run *entry = agent->runs[bucket_of(seq)];
    while (entry != NULL && entry->seq != seq)
        entry = entry->hash_next;
    return entry;
}

void agent_run_put(struct sma_agent *agent, struct agent_run *entry)
{
    struct agent_run **bucket = &agent->runs[bucket_of(entry->seq)];
    entry->hash_next = *bucket;
    *bucket = entry;
    entry->chat_next = entry->session->user;
    entry->session->user = entry;
    agent->run_count++;
}

void agent_run_remove(struct sma_agent *agent, struct agent_run *entry)
{
    struct agent_run **link = &agent->runs[bucket_of(entry->seq)];
    while (*link != entry)
        link = &(*link)->hash_next;
    *link = entry->hash_next;
    struct agent_run *before = entry->session->user;
    if (before == entry) {
        entry->session->user = entry->chat_next;
    } else {
        while (before->chat_next != entry)
            before = before->chat_next;
        before->chat_next = entry->chat_next;
    }
    agent->run_count--;
}

void agent_ask_put(struct sma_agent *agent, const struct agent_ask *question)
{
    struct agent_ask *ask = agent->free_asks;
    if (ask != NULL)
        agent->free_asks = ask->next;
    else
        ask = malloc(sizeof *ask);
    if (ask == NULL)
        sma_ctx_fatal(agent->ctx, "the agent is out of memory; its runs continue after a restart");
    struct agent_ask **bucket = &agent->asks[bucket_of(question->id)];
    *ask = *question;
    ask->next = *bucket;
    *bucket = ask;
}

bool agent_ask_take(struct sma_agent *agent, uint64_t id, struct agent_ask *ret_ask)
{
    struct agent_ask **link = &agent->asks[bucket_of(id)];
    while (*link != NULL && (*link)->id != id)
        link = &(*link)->next;
    struct agent_ask *ask = *link;
    if (ask == NULL)
        return false;
    *link = ask->next;
    *ret_ask = *ask;
    ask->next = agent->free_asks;
    agent->free_asks = ask;
    return true;
}

void agent_retry_add(struct sma_agent *agent, struct agent_run *entry, uint64_t at_ns)
{
    SMA_ASSERT(entry->retry_ns == 0);
    entry->retry_ns = at_ns;
    entry->retry_next = NULL;
    if (agent->retry_last != NULL)
        agent->retry_last->retry_next = entry;
    else
        agent->retry_first = entry;
    agent->retry_last = entry;
}

void agent_retry_remove(struct sma_agent *agent, struct agent_run *entry)
{
    if (entry->retry_ns == 0)
        return;
    struct agent_run *before = NULL, *at = agent->retry_first;
    while (at != entry) {
        before = at;
        at = at->retry_next;
    }
    if (before != NULL)
        before->retry_next = entry->retry_next;
    else
        agent->retry_first = entry->retry_next;
    if (agent->retry_last == entry)
        agent->retry_last = before;
    entry->retry_ns = 0;
}

void agent_tables_fini(struct sma_agent *agent)
{
    for (size_t i = 0; i < AGENT_BUCKET_COUNT; i++) {
        while (agent->asks[i] != NULL) {
            struct agent_ask *ask = agent->asks[i];
            agent->asks[i] = ask->next;
            free(ask->spent_target);
            free(ask);
        }
    }
    while (agent->free_asks != NULL) {
        struct agent_ask *ask = agent->free_asks;
        agent->free_asks = ask->next;
        free(ask);
    }
    struct agent_ask gone;
    uint8_t kind;
    while (agent_take_gone(agent, &gone, &kind))
        continue;
    for (size_t to = 0; to < SMA_COUNT_OF(agent->blocked_first); to++) {
        while (agent->blocked_first[to] != NULL) {
            struct agent_blocked *blocked = agent->blocked_first[to];
            agent->blocked_first[to] = blocked->next;
            sma_msg_destroy(blocked->msg);
            free(blocked);
        }
    }
}
