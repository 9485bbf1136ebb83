/*
 * memory_priv.h — inside of the memory actor: memory_actor.c (messages, time), memory_files.c
 * (facts and proposals), memory_answer.c
 * (recall and the tools), memory_work.c (which chats are to be read, durable), memory_extract.c
 * (what a model found in one), memory_old.c (files of the program before).
 *
 * It is an actor of its own since its questions read the disk: files that people edited, an index
 * that may have to be made anew. Nobody's message waits for that; a run waits a second for what is
 * recalled.
 */
#ifndef SMA_ACTORS_MEMORY_PRIV_H
#define SMA_ACTORS_MEMORY_PRIV_H

#include "runtime/memory/memory_scope.h"
#include "runtime/secrets/secrets.h"
#include "sma/actors.h"
#include "sma/messages.h"

struct memory_work;

struct sma_memory_actor
{
    uint32_t magic;
    const struct sma_config *config;
    const struct sma_sys *sys;
    struct sma_ctx *ctx;
    struct sma_secrets *secrets; /* NULL until they are needed */
    struct sma_memory *facts, *proposed;
    struct memory_work *work;
    bool is_broken; /* and has been told */
    bool wants_scrub, has_looked_for_old;
    uint64_t scrub_ns, old_ns, guard_ns; /* when; UINT64_MAX = not */
    char asked_chat[SMA_ID_BYTES_MAX];   /* that the agent reads now; "" = none */
    uint32_t asked_count;                /* its messages when that began */
    uint64_t asked_seq;                  /* ... and its last */
    bool is_draining;
    struct sma_buf person, texts, gone;
    struct sma_recalled recalled[SMA_MEMORY_RECALL_COUNT_MAX];
    uint32_t recalled_count;
};

/** NULL: memory is off, or out of memory. */
struct sma_memory *memory_facts(struct sma_memory_actor *actor);
struct sma_memory *memory_proposed(struct sma_memory_actor *actor);
/** Once, until it works again: each message would say it. */
void memory_tell_trouble(struct sma_memory_actor *actor, struct sma_memory *memory,
                         enum sma_err err);

/* -- memory_answer.c: RECALL, SEARCH, UPSERT; answers the question -- */
void memory_answer(struct sma_memory_actor *actor, struct sma_msg *question);

/* -- memory_work.c: .ship/memory/work.db --
 * One row a chat: who talked there last, how much since it was read, when that was, and what the
 * model said until it is written. So a restart neither reads twice nor forgets to. */
struct memory_chat
{
    struct sma_buf bytes; /* holds the texts */
    struct sma_route route;
    bool is_group, is_urgent;
    uint64_t seq;
    uint32_t count, fail_count;
    int64_t talked_ms, extracted_ms, until_ms;
    struct sma_str answer, speakers; /* speakers: ended by line feeds */
};
void memory_chat_fini(struct memory_chat *chat);
/** Opened when there is a file, or is_made. NOTFOUND: there is none. */
SMA_CHECKED enum sma_err memory_work_open(struct sma_memory_actor *actor, bool is_made);
void memory_work_close(struct memory_work *work); /* accepts NULL */
SMA_CHECKED enum sma_err memory_work_talked(struct sma_memory_actor *actor,
                                            const struct sma_memory_ask *ask);
/** The chat whose time comes first. NOTFOUND: none. Values before fini */
SMA_CHECKED enum sma_err memory_work_next(struct sma_memory_actor *actor,
                                          struct memory_chat *ret_chat, int64_t *ret_due_ms);
/** What the model said, durable before anything of it is written. The actor's asked_count and
 *  asked_seq say what it has read. */
SMA_CHECKED enum sma_err memory_work_answered(struct sma_memory_actor *actor,
                                              const struct sma_memory_ask *ask);
SMA_CHECKED enum sma_err memory_work_failed(struct sma_memory_actor *actor, struct sma_str key);
/** Runs came between: after the pause again, however often. */
SMA_CHECKED enum sma_err memory_work_put_off(struct sma_memory_actor *actor, struct sma_str key);
/** It is written. */
SMA_CHECKED enum sma_err memory_work_applied(struct sma_memory_actor *actor, struct sma_str key);
/** A chat whose answer is not written yet. NOTFOUND */
SMA_CHECKED enum sma_err memory_work_unapplied(struct sma_memory_actor *actor,
                                               struct memory_chat *ret_chat);
/** Old files that were read: by name and stamp. */
bool memory_work_knows_old(struct sma_memory_actor *actor, struct sma_str name,
                           struct sma_str stamp);
SMA_CHECKED enum sma_err memory_work_note_old(struct sma_memory_actor *actor, struct sma_str name,
                                              struct sma_str stamp);

/* -- memory_extract.c -- */
/** Facts or proposals of what a model said; what is wrong with it is passed over. @return how many
 *  are new */
uint32_t memory_apply(struct sma_memory_actor *actor, const struct memory_chat *chat);

/* -- memory_old.c -- */
/** Files `<enc(chatKey)>.json` become proposals of their chats, once. */
void memory_read_old(struct sma_memory_actor *actor);

#endif
