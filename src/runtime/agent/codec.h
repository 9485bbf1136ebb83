/*
 * codec.h — how a run's steps and a session's turns look on disk: versioned, length-prefixed,
 * little-endian.
 *
 * The store keeps these bytes without reading them. Reading never trusts them: every length is
 * checked, and what does not fit is CORRUPT. A live run reads its own answer back through the same
 * functions as a resumed one.
 *
 *   answer   "SMA" 'A' 2, facts, fragment, text, finish u8, key, line, call count u32,
 *            calls (id, name, arguments, is_invalid u8, is_cut u8, problem), then optionally: count
 *            u32, results known at once (call u32, is_error u8, content), then optionally: count
 *            u32, receivers of sends that wait for consent (call u32, adapter u8, nine strings of a
 *            route), then optionally: count u32, added messages (seq u64), then optionally: what
 *            has left
 *   results  "SMA" 'R' 1, count u32, results (call id, name, content, is_error u8, is_delivered
 *            u8), then optionally: count u32, added messages (seq u64)
 *   decision "SMA" 'D' 1, count u32, decisions (call u32, verdict u8: 0 refused, 1 approved, 2 by
 *   an owner; digest 32 bytes, response)
 *   wait     "SMA" 'W' 1, since_ms i64, count u32, is_told u8, reason
 *   past     "SMA" 'C' 2, first, below, cleared, moved, tokens before and after u64, turns, rounds,
 *            cleared rounds u32, note, text, chat, what has left
 *   child    "SMA" 'H' 1, call u32, number u32, kind u8, flags u8 (1: people are asked, 2: the
 *            end is an error), data: of that step
 *   turn     "SMA" 'T' 4, is_break u8, message count u32, ids, blocks, assistant text, fragments, a
 *            list of parts, each with its block u32, a list of refused hashes, what has left, which
 *            block is the person's own u32; each list: count u32, strings
 *   What has left: has_read u8, bytes, listed bytes, day u32.
 *   An answer of version 1 has no key, line, is_cut and problem; a turn of version 1 no is_break,
 *   of versions 1 and 2 no parts and no hashes, of those and 3 nothing behind them, and a past of
 *   version 1 nothing behind chat.
 *   Only with pictures, files or sounds: an answer of version 3 has, behind the line, a list of
 *   parts; results of version 2 have one behind each result. A part is kind u8, path, name, mime,
 *   hash, length u64, width u32, height u32, note.
 * A string is its length as u32 and its bytes.
 * Threads: any; no state.
 */
#ifndef SMA_RUNTIME_AGENT_CODEC_H
#define SMA_RUNTIME_AGENT_CODEC_H

#include "runtime/web/egress.h"
#include "sma/buf.h"
#include "sma/messages.h"

#define SMA_STEP_BYTES_MAX (SMA_REQUEST_BYTES_MAX + 1024 * 1024) /* one encoded step or turn */

/* One call as a step holds it, with the result when it was known before anything was carried
 * out. */
struct sma_stored_call
{
    struct sma_str id, name, arguments;
    bool is_invalid, is_cut;
    struct sma_str problem; /* is_invalid: what is wrong with the arguments; may be empty */
    bool has_result, is_error;
    struct sma_str result;
    bool has_receiver;
    struct sma_route receiver;
};
#define SMA_BLOCK_NONE UINT32_MAX

/* A part of a turn, and where it stands: before this block of the user's message, or (BLOCK_NONE)
 * in a result. */
struct sma_stored_part
{
    struct sma_part part;
    uint32_t block;
    bool is_hidden; /* not stored: from now on its line stands there */
};
/* A decoded ANSWER step: slices into the step's bytes. */
struct sma_stored_answer
{
    struct sma_str facts; /* of the first answer of a run; otherwise empty */
    struct sma_str key; /* of the target that gave it (runtime/model/target.h); empty = not known */
    /* without calls: what was said to the model after it, as if from the user */
    struct sma_str line;
    /* of the first answer of a run: the parts of its messages as they were sent, in their order */
    uint32_t part_count;
    struct sma_part *parts; /* owned */
    struct sma_str fragment, text;
    uint8_t finish; /* enum sma_finish */
    uint32_t call_count;
    struct sma_stored_call *calls; /* owned */
    /* what people added while the run was open, given to the model behind this; a copy, owned */
    uint32_t added_count;
    struct sma_seq *added;
    struct sma_egress
        egress; /* of the session, this answer's calls counted; zero: nothing to say */
};
struct sma_stored_result
{
    struct sma_str call_id, name, content;
    bool is_error, is_delivered; /* delivered: counts as an answer to the user */
    uint32_t part_count;
    struct sma_part *parts; /* prepared: what the model sees of it besides content */
};
struct sma_stored_results
{
    uint32_t count;
    struct sma_stored_result *results; /* owned */
    uint32_t added_count;              /* as in struct sma_stored_answer */
    struct sma_seq *added;
    struct sma_part *storage; /* owned: the parts of them all */
};
/* A DECISION step, written by the store: what people said about calls of the answer before it. */
struct sma_stored_decision
{
    uint32_t call;
    bool is_approved, is_by_owner; /* the latter only with the former */
    uint8_t digest[32];            /* of what was agreed to */
    struct sma_str response; /* words for the model, reason of a refusal, "expired"; may be empty */
};
struct sma_stored_decisions
{
    uint32_t count;
    struct sma_stored_decision *list; /* owned */
};
/* A WAIT step: no model answers. */
struct sma_stored_wait
{
    int64_t since_ms;      /* wall clock: when the first one failed */
    uint32_t count;        /* waits since then, this one included */
    bool is_told;          /* the chat knows */
    struct sma_str reason; /* for people who look at the database */
};
/*
 * A COMPACTION step, and what the store keeps of it beside a chat's turns: all of what is before
 * them, so that the newest one alone counts.
 */
struct sma_stored_past
{
    uint64_t first;   /* seq of the oldest turn that the summary stands for; 0 = there is none */
    uint64_t below;   /* turns before this seq are gone: the summary stands for them */
    uint64_t cleared; /* of turns before this seq old results are cleared */
    uint64_t moved;   /* what stood before turns before this seq has changed since they were made */
    uint64_t tokens_before, tokens_after; /* of the request; after: guessed */
    uint32_t turn_count;                  /* turns that this step took away */
    uint32_t round_count;         /* rounds of the step's own run that the summary stands for */
    uint32_t cleared_round_count; /* rounds of it whose results are cleared */
    struct sma_str note, chat;    /* what the program says before the summary */
    struct sma_str text;          /* the summary; empty: there is none (yet) */
    struct sma_egress egress;     /* of the session then */
};
/* A CHILD step: a step of the sub-agent that call `call` of the answer before it is. */
#define SMA_CHILD_END 255 /* kind: it is over; data = the result of the call */
struct sma_stored_child
{
    uint32_t call;
    uint32_t number; /* of the sub-agent's own steps: 1, 2, ... */
    uint8_t kind;    /* enum sma_step_kind or SMA_CHILD_END */
    bool asks;       /* people: the decision that follows is about its calls */
    bool is_error;   /* END */
    struct sma_str data;
};
/* A turn of a session: what was said, and the bytes that went on the wire. */
struct sma_stored_turn
{
    uint32_t message_count;
    uint32_t id_count, block_count, fragment_count;
    struct sma_str *ids;       /* message ids of the user's messages */
    struct sma_str *blocks;    /* the user's text blocks */
    struct sma_str *fragments; /* one per message or group of results, in order */
    struct sma_str text;       /* the assistant's answer as plain text */
    /* of the target whose bytes the fragments are; the store keeps it beside the turn */
    struct sma_str key;
    bool is_break; /* the turns before this one were refused as they are: they go in plain form */
    uint32_t part_count;
    struct sma_stored_part *parts; /* whose markers stand in the fragments */
    uint32_t refused_count;
    struct sma_str *refused; /* hashes of parts, of this turn and of those before, that a server
                                refused: they go as lines */
    /* of the session at its end; an older program did not say it (read: has_read) */
    struct sma_egress egress;
    uint32_t own_block;                   /* + 1: the person's own words; 0 = none, or not known */
    struct sma_str *storage;              /* owned by a decoded turn: holds the lists of strings */
    struct sma_stored_part *part_storage; /* likewise: the parts */
};

/* What a step says of an answer besides the answer: as in struct sma_stored_answer. */
struct sma_answer_extra
{
    struct sma_str facts, key, line;
    uint32_t part_count;
    const struct sma_part *parts;
};
void sma_codec_put_answer(struct sma_buf *buf, const struct sma_answer_extra *extra,
                          const struct sma_model_answer *answer);
/** Once, after sma_codec_put_answer: the results among calls[0..count) that are known already. */
void sma_codec_put_known_results(struct sma_buf *buf, const struct sma_stored_call *calls,
                                 uint32_t count);
/** Once, after sma_codec_put_known_results: the receivers among calls[0..count), so that people
 *  agree to a place and not to a name that may be somebody else's by then. */
void sma_codec_put_receivers(struct sma_buf *buf, const struct sma_stored_call *calls,
                             uint32_t count);
/** Once, after sma_codec_put_receivers: what was added behind it. */
void sma_codec_put_answer_added(struct sma_buf *buf, const struct sma_seq *seqs, uint32_t count);
/** Once, after sma_codec_put_answer_added. */
void sma_codec_put_answer_egress(struct sma_buf *buf, const struct sma_egress *egress);
/** OK | CORRUPT | NOMEM. Release with sma_stored_answer_fini. */
SMA_CHECKED enum sma_err sma_codec_get_answer(struct sma_str data,
                                              struct sma_stored_answer *ret_answer);
void sma_stored_answer_fini(struct sma_stored_answer *answer); /* accepts a zeroed struct */

void sma_codec_put_results(struct sma_buf *buf, const struct sma_stored_result *results,
                           uint32_t count);
/** Once, after sma_codec_put_results: what was added behind them. Nothing when there is none. */
void sma_codec_put_results_added(struct sma_buf *buf, const struct sma_seq *seqs, uint32_t count);
SMA_CHECKED enum sma_err sma_codec_get_results(struct sma_str data,
                                               struct sma_stored_results *ret_results);
void sma_stored_results_fini(struct sma_stored_results *results);

void sma_codec_put_decisions(struct sma_buf *buf, const struct sma_stored_decision *list,
                             uint32_t count);
/** OK | CORRUPT | NOMEM. Release with sma_stored_decisions_fini. */
SMA_CHECKED enum sma_err sma_codec_get_decisions(struct sma_str data,
                                                 struct sma_stored_decisions *ret_decisions);
void sma_stored_decisions_fini(struct sma_stored_decisions *decisions);

void sma_codec_put_wait(struct sma_buf *buf, const struct sma_stored_wait *wait);
/** OK | CORRUPT. */
SMA_CHECKED enum sma_err sma_codec_get_wait(struct sma_str data, struct sma_stored_wait *ret_wait);

void sma_codec_put_child(struct sma_buf *buf, const struct sma_stored_child *child);
/** The slice points into data. OK | CORRUPT. */
SMA_CHECKED enum sma_err sma_codec_get_child(struct sma_str data,
                                             struct sma_stored_child *ret_child);

void sma_codec_put_past(struct sma_buf *buf, const struct sma_stored_past *past);
/** Slices point into data. OK | CORRUPT. */
SMA_CHECKED enum sma_err sma_codec_get_past(struct sma_str data, struct sma_stored_past *ret_past);

void sma_codec_put_turn(struct sma_buf *buf, const struct sma_stored_turn *turn);
SMA_CHECKED enum sma_err sma_codec_get_turn(struct sma_str data, struct sma_stored_turn *ret_turn);
void sma_stored_turn_fini(struct sma_stored_turn *turn);

#endif
