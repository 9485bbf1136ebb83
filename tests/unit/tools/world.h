/*
 * world.h — the tools actor on its thread, a stand-in agent that asks it, and a project in a folder
 * of its own.
 */
#ifndef SMA_TEST_TOOLS_WORLD_H
#define SMA_TEST_TOOLS_WORLD_H

#include "sma/actors.h"
#include "sma/messages.h"
#include "support/check.h"
#include "support/clock.h"
#include "support/patience.h"

#define WORLD_RECORD_COUNT_MAX 256

struct world;

struct world_record
{
    uint64_t seq, ask_id;
    int answer_count;
    uint8_t verdict;
    bool is_error;
    char *content; /* JSON */
    char *item;    /* JSON of ASKS, else "" */
    char *part;    /* NULL, or "count: kind mime path" of the first */
    uint64_t asked_ns, answered_ns;
};

/** permissions: JSON or "". */
struct world *world_create(const char *permissions);
/** The same, but its end leaves no time for the drain: questions may stay open then, processes may
 *  not. */
struct world *world_create_hurried(const char *permissions);
/** Ordered stop (drain), then every question must have been answered exactly once, and no process
 *  may be left. */
void world_destroy(struct world *world);
ENDING(world_destroy, struct world)
/** Delete the folder of a world whose process is gone. */
void world_remove(const char *dir);
const char *world_dir(const struct world *world);
struct sma_config *world_config(struct world *world);
/** NULL-terminated text for the start line. */
void world_describe(const struct world *world, char *text, size_t size);
bool world_is_boxed(const struct world *world);

/** Ask RUN of exec_shell. @return number of the question */
size_t world_run(struct world *world, const char *command, long timeout_ms);
/** Any question: arguments as JSON. */
size_t world_ask(struct world *world, const struct sma_tool_ask *ask);
/** ENCODE of a file of the project: the record's content is the note, its item "kind mime WxH
 *  length hash". */
size_t world_encode(struct world *world, uint64_t seq, const char *path, uint32_t max_side);
void world_cancel(struct world *world, uint64_t seq);
/** Waits for the answer. */
const struct world_record *world_await(struct world *world, size_t record);
/** Waits until the question has left the agent. */
void world_await_asked(struct world *world, size_t record);
bool world_is_answered(struct world *world, size_t record);
/** DRAIN, without waiting. */
void world_drain(struct world *world);
void world_reload(struct world *world, const char *permissions);

/** world_run + world_await. */
const struct world_record *world_do(struct world *world, const char *command);
/** A member of the answer as text (decoded string, number or true/false); "" when absent. Freed
 *  with the world. */
const char *world_member(struct world *world, const struct world_record *record, const char *name);
bool world_has_logged(struct world *world, const char *part);
/** Waits until `path` (below the project) exists. */
void world_await_file(struct world *world, const char *name);
bool world_has_file(struct world *world, const char *name);
void world_put_file(struct world *world, const char *name, const char *text);
/** Contents or "" */
const char *world_get_file(struct world *world, const char *name);
/** Living processes whose command line holds `word`. */
size_t world_count_processes(const char *word);
/** Waits until there are none. */
void world_await_no_process(const char *word);

#endif
