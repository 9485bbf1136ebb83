/*
 * session.h — the model's view of each chat, held in memory: whole turns as the very bytes that go
 * on the wire, and what other targets need to take them.
 *
 * Invariants: a turn is added and removed only whole, so a tool call is never parted from its
 *             result; after every append a session holds at most SMA_SESSION_TURN_COUNT_MAX turns
 *             and SMA_SESSION_BYTES_MAX bytes. Over a bound it is cut to half of it in one go: a
 *             bound of memory, far beyond what models hold (context.h decides about those). A
 *             summary of what was before is turn 0 and stays until the next one replaces it. A
 *             pinned session (a run is on it) is never evicted.
 * Eviction:   only on activity (sma_sessions_evict): idle ones beyond SMA_SESSION_IDLE_S, and the
 * idlest while there
 *             are more than SMA_SESSION_COUNT_MAX or SMA_SESSION_BYTES_TOTAL_MAX. No timer: an idle
 *             agent never wakes.
 * Threads:    the owner only.
 */
#ifndef SMA_RUNTIME_AGENT_SESSION_H
#define SMA_RUNTIME_AGENT_SESSION_H

#include "runtime/agent/codec.h"
#include "runtime/agent/context.h"
#include "runtime/agent/session_view.h"
#include "sma/wire.h"

struct sma_session_turn
{
    uint64_t seq;    /* of its run; 0: the summary, or what was said before state.db knew of it */
    bool is_summary; /* of everything before: turn 0 */
    uint32_t clear_gain; /* bytes of old results that clearing would save; UINT32_MAX = not known */
    uint32_t message_count;
    uint32_t id_count;
    struct sma_str *ids; /* of the user's messages */
    /* what goes on the wire now: the fragments joined by commas, or the view */
    struct sma_str bytes;
    struct sma_str joined;         /* the fragments, joined by commas */
    struct sma_stored_turn stored; /* the turn itself */
    struct sma_view_state state;
    struct sma_buf view;                     /* another form of it; empty = none was needed yet */
    char view_key[SMA_TARGET_KEY_BYTES_MAX]; /* of the target that it was made for */
    uint8_t view_form;                       /* enum sma_view_form */
    uint64_t view_parts;                     /* sma_view_parts_key */
};

struct sma_session
{
    struct sma_str chat_key;
    void *user;     /* the owner's: its runs of this chat */
    bool is_loaded; /* what the store has of it is here (or there is nothing) */
    uint32_t pin_count;
    uint64_t used_ns;
    uint32_t turn_count, turn_room, message_count;
    size_t bytes;                    /* of the turns, commas not counted */
    struct sma_session_turn **turns; /* oldest first */
    struct sma_stored_past past;     /* what the store's row says; slices into past_data */
    struct sma_buf past_data;        /* empty: no such row */
    struct sma_egress egress;        /* what came into it and left, whatever became of the turns */
    struct sma_context_measure measure; /* of the last answer; forgotten when turns change */
    uint64_t failed_tokens; /* a summary failed when the request was so large; 0 = none did */
    struct sma_session *hash_next, *newer, *older; /* the table's own */
};

struct sma_sessions; /* the table */
/** @hash_key 16 random bytes. NULL when out of memory. */
struct sma_sessions *sma_sessions_create(const uint8_t hash_key[16]);
void sma_sessions_destroy(struct sma_sessions *sessions); /* accepts NULL */
size_t sma_sessions_count(const struct sma_sessions *sessions);
size_t sma_sessions_bytes(const struct sma_sessions *sessions);

/** The session of a chat or NULL. */
struct sma_session *sma_session_find(struct sma_sessions *sessions, struct sma_str chat_key);
/** The same, made empty when there is none; pinned once more and the most recently used. NULL when
 *  out of memory. */
struct sma_session *sma_session_pin(struct sma_sessions *sessions, struct sma_str chat_key,
                                    uint64_t now_ns);
void sma_session_unpin(struct sma_sessions *sessions, struct sma_session *session, uint64_t now_ns);
/** Add a turn at the end and cut to the bounds. A turn that is over a bound alone is not kept.
 *  Without fragments: blocks and text are all there is of it, each target gets its plain form.
 *  Allocates. OK | TOOBIG (not kept; what was there stays) | NOMEM. */
SMA_CHECKED enum sma_err sma_session_append(struct sma_sessions *sessions,
                                            struct sma_session *session, uint64_t seq,
                                            const struct sma_stored_turn *turn);
/** Fill an empty session from the store's turns. Damaged ones are skipped. @return how many were
 *  skipped */
uint32_t sma_session_load(struct sma_sessions *sessions, struct sma_session *session,
                          const struct sma_session_turns *turns);
/** Make `bytes` of each turn what this target takes; is_plain: in plain form all of them. What was
 *  made for another target is kept beside it, so that going back gives the same bytes as before.
 *  Turns that cannot be given are dropped. Allocates only for turns of other targets. OK |
 *  NOMEM. */
SMA_CHECKED enum sma_err sma_session_fit(struct sma_sessions *sessions, struct sma_session *session,
                                         const struct sma_target *target, bool is_plain);
/** A line of a recalled fact, found by what ends it, is blank from now on in every turn: what was
 *  deleted is not told again. The turns stay as long as they were. */
void sma_session_blank(struct sma_session *session, struct sma_str end);
/** From now on: every turn in plain form. */
void sma_session_make_plain(struct sma_session *session);
/** From now on: results of calls shortened. Takes effect with the next sma_session_fit. false: they
 *  are, or there are none. */
bool sma_session_shorten(struct sma_session *session);
/** Pictures, files and sounds go as lines from now on: of the turns before the newest `keep` (0: of
 *  all); of one part, by its hash. Takes effect with the next sma_session_fit. @return how many
 *  that were shown until now (session_parts.c) */
uint32_t sma_session_hide_parts(struct sma_session *session, uint32_t keep);
uint32_t sma_session_hide_part(struct sma_session *session, struct sma_str hash);
/** Those of the oldest turn that has any. */
uint32_t sma_session_hide_oldest_parts(struct sma_session *session);
/** Count and bytes of the parts that stand in requests to this target. */
uint32_t sma_session_count_parts(const struct sma_session *session, const struct sma_target *target,
                                 uint64_t *bytes);
/** What a COMPACTION step or the store's row says of this session (codec.h): turns below it go, the
 *  summary stands in their place, older results are cleared. Takes effect with the next
 *  sma_session_fit. Allocates. OK | CORRUPT | NOMEM: nothing has changed. */
SMA_CHECKED enum sma_err sma_session_set_past(struct sma_sessions *sessions,
                                              struct sma_session *session, struct sma_str past);
/** Bytes that clearing the results of turns[0..count) would save. Reads each turn once. */
size_t sma_session_clear_gain(struct sma_session *session, uint32_t count);
/** Drop the turns before this seq (all: UINT64_MAX). */
void sma_session_clear(struct sma_sessions *sessions, struct sma_session *session,
                       uint64_t before_seq);
/** Drop one turn, when it is there. */
void sma_session_remove(struct sma_sessions *sessions, struct sma_session *session, uint64_t seq);
/** Drop the older half of the turns, at least one; the summary stays. false: there was none. */
bool sma_session_shrink(struct sma_sessions *sessions, struct sma_session *session);
/** Evict what may go. Call when something else has been done. */
void sma_sessions_evict(struct sma_sessions *sessions, uint64_t now_ns);

#endif
