/*
 * run_parts.h — inside of a run: the pictures, files and sounds of its messages and of results on
 * their way to the model. For run_*.c.
 *
 * Before a request each part is prepared by the tools (ENCODE), all at once; where the model has no
 * eyes and llm.vision names one that has, that one says what it sees. Then each is shown or a line.
 * The fragments hold markers; the bytes come from files when the request is sent.
 * Threads: the owner only.
 */
#ifndef SMA_RUNTIME_AGENT_RUN_PARTS_H
#define SMA_RUNTIME_AGENT_RUN_PARTS_H

#include "runtime/agent/codec.h"
#include "runtime/model/wire_part.h"
#include "sma/wire.h"

struct sma_run;
struct sma_run_action;
struct sma_model_answer;

#define RUN_PART_COUNT_MAX 32     /* of a run's messages; further ones are lines */
#define RUN_PART_OF_CALL 0x10000u /* index of an ENCODE: + call * RUN_CALL_PART_COUNT_MAX + part */
#define RUN_CALL_PART_COUNT_MAX 16

struct run_part
{
    struct sma_part part;    /* slices of the order, of a stored answer, or of text */
    char *text;              /* owned */
    uint32_t block;          /* of its message's blocks */
    uint32_t addition;       /* 1 + index of what was added later; 0: of the user's message */
    bool is_asked, is_ready; /* ENCODE */
    bool is_accepted;        /* a model has answered a request that showed it */
    bool is_looked_at;       /* by llm.vision */
};
struct run_parts
{
    struct run_part *list;
    uint32_t count, room;
    uint32_t open_count;           /* ENCODE questions */
    struct sma_block_part *places; /* of the same list, for put_user */
    struct sma_str *refused;       /* owned copies of hashes */
    uint32_t refused_count, accepted_round_count;
    uint32_t repair_count; /* requests repeated since the last answer because of parts */
    bool is_eyeless_guess; /* without pictures it may pass: then the target does not take any */

    /* llm.vision is asked about list[look_index] */
    bool is_looking;
    uint32_t look_index;
    struct sma_buf look;

    /* of the request that is being made */
    struct sma_body_file *files;
    uint32_t file_count, file_room;
    struct sma_buf paths;
};

void run_parts_init(struct run_parts *parts);
void run_parts_fini(struct run_parts *parts);

/* run_part_list.c: the strings of *part become its own. false: no memory, it stays as it was. */
bool run_part_take(struct run_part *to, const struct sma_part *part);
void run_part_free_list(struct run_part *list, uint32_t count);
/* The model gets this line instead. */
void run_part_describe(struct sma_run *run, uint32_t index, struct sma_str note);

/* The parts of one of the messages, whose text begins with this block. */
void run_parts_add(struct sma_run *run, const struct sma_part *list, uint32_t count,
                   uint32_t block);
/* Those of what was added later: run->added.room->list[addition]. */
void run_parts_add_later(struct sma_run *run, const struct sma_part *list, uint32_t count,
                         uint32_t addition);
/* As they were sent with the first answer. */
void run_parts_restore(struct sma_run *run, const struct sma_part *list, uint32_t count);
/* Where those of one addition stand, first_block being its first: *places is an array that grows
 * behind *count. false: no memory. */
bool run_parts_places_later(const struct sma_run *run, uint32_t addition, uint32_t first_block,
                            struct sma_block_part **places, uint32_t *count);
/* Where they stand, for put_user; NULL with *ret_count 0: none, or no memory. */
const struct sma_block_part *run_parts_places(struct sma_run *run, uint32_t *ret_count);
/* As they are now, for the first answer's step. free() it. NULL: none, or no memory. */
struct sma_part *run_parts_copy(const struct sma_run *run, uint32_t *ret_count);

/* Before a request. true: something had to be asked first, run_ask_model comes again. */
bool run_parts_prepare(struct sma_run *run);
/* What is over the target's bounds becomes lines, the oldest first. */
void run_parts_bound(struct sma_run *run);
/* The tools have answered ENCODE. true: nothing is open any more (of the messages). */
bool run_parts_encoded(struct sma_run *run, uint32_t index, const struct sma_part *part);
/* One part: asked for, unless there is nothing to ask; answered (NULL: nobody was there). */
bool run_ask_encode(struct sma_run *run, uint32_t index, const struct sma_part *part);
void run_part_ready(struct sma_run *run, struct run_part *part, const struct sma_part *answer);
/* Those of a call's result, before the call has it. false: there are none to wait for. */
bool run_call_prepare(struct sma_run *run, uint32_t index, const struct sma_part *list,
                      uint32_t count);
void run_call_encoded(struct sma_run *run, uint32_t index, const struct sma_part *part);
/* The next picture that llm.vision should describe. false: there is none. */
bool run_look_next(struct sma_run *run);
/* llm.vision has answered. */
void run_parts_looked(struct sma_run *run, const struct sma_model_answer *answer);

/* The request failed. true: what made it fail is a line now, or the target is known better: the
 * caller asks again. */
bool run_parts_repair(struct sma_run *run, const struct sma_model_answer *answer);
/* Likewise when nobody says why: what is new in it is what was attached. For when another form of
 * the conversation was no cure, and for what is too large in bytes. */
bool run_parts_suspect(struct sma_run *run, const struct sma_model_answer *answer);
/* The request passed. */
void run_parts_accepted(struct sma_run *run);

/* The turn's table: parts of messages, then of results. Everything in *turn lives until
 * run_parts_free_turn. false: no memory. */
bool run_parts_put_turn(const struct sma_run *run, struct sma_stored_turn *turn);
void run_parts_free_turn(struct sma_stored_turn *turn);

/* What the pictures, files and sounds that are shown take of the window. */
uint64_t run_parts_tokens(const struct sma_run *run);
/* Files of the request that would be written now, in its order, offsets unknown. false: no
 * memory. */
bool run_parts_list_files(struct sma_run *run);
/* Take the markers out of the written bytes: files in the order of their places, their offsets,
 * *count of them that have one; the new length; *begin and *end of the turn move along. */
size_t run_parts_take_out(struct sma_body_file *files, uint32_t *count, char *bytes, size_t len,
                          uint32_t *begin, uint32_t *end);

#endif
