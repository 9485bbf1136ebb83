/*
 * world.h — a private project, a model server of its own and the service between them. For scenario
 * tests.
 */
#ifndef SMA_TEST_WORLD_H
#define SMA_TEST_WORLD_H

#include "process.h"

#include <jansson.h>

#define WORLD_API_KEY \
    "sk-secret-4711-abcdef" /* what the model server wants; must show up nowhere */

struct world
{
    struct folder folder;
    struct service service;
    pid_t fake;
    int fake_port;
    bool is_stream;       /* the caller's own note */
    bool may_prefix_move; /* set it first: an interrupted turn is told the time anew */
};
/** The project and the server, into a zeroed world: llm = more members of "llm" ("\"apiKey\":..."),
 *  root = more of the root (",\"a\":1"). */
void world_create(struct world *world, const char *fake_model, const char *llm, const char *root);
/** The same and the service. */
void world_start(struct world *world, const char *binary, const char *fake_model, const char *llm,
                 const char *root);
/** Write ship.json with the address of a server. */
void world_configure(const struct world *world, int fake_port, const char *llm, const char *root);
/** Nothing the service wrote may hold it: output, logs, history, state. */
void world_keeps_secret(const struct world *world, const char *secret);
/** Ends both; the service must end well and keep the API key to itself. */
void world_stop(struct world *world);
/** A model server that logs into `name` of the folder. */
int world_fake_start(const struct world *world, const char *fake_model, const char *name,
                     pid_t *ret_pid);
/** A model server that follows a script (NULL = answers of its own), where world_create is not
 *  used. */
void world_model_start(struct world *world, const char *fake_model, const char *script);
/** What the server keeps back by "[[fault:silence ms=...]]" goes out now. */
void world_end_silence(const struct world *world);
/** What the server was asked whose body holds `part`, oldest first; nothing a strict platform
 *  refuses. Decref it. */
json_t *world_asked(const struct world *world, const char *part);
json_t *world_asked_in(const struct world *world, const char *log_name, const char *part);
/** How many. */
size_t world_asked_count(const struct world *world, const char *part);

/** Whether the service's output holds `part`. */
bool world_log_has(const struct world *world, const char *part);
/** Nothing waits in the service, runs or is to be sent. */
bool world_is_at_rest(const struct world *world);
/**
 * Of what a platform's "list" gave (consumed): the newest message of ours whose text contains
 * `part`, NULL = none.
 * unless: a member that hides a message when it is true; NULL = none.
 * @ret_count  how many there are   @return decref it
 */
json_t *world_newest(json_t *list, const char *part, const char *unless, size_t *ret_count);

#endif
