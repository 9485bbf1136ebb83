/* What the tests of the state database share: a private directory, a virtual clock, short ways to
 * accept and finish. */
#ifndef SMA_TEST_STATE_SUPPORT_H
#define SMA_TEST_STATE_SUPPORT_H

#include "runtime/chat/state.h"
#include "runtime/chat/state_vfs.h"
#include "support/check.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a database of this version one of schema 5. */
#define DOWNGRADE_TO_5                                                                       \
    "DROP TABLE spent; DROP TABLE shares; DROP TABLE pasts; "                                \
    "DROP INDEX chats_rotating; DROP INDEX contacts_name; DROP INDEX contacts_person; "      \
    "DROP INDEX contacts_chat; "                                                             \
    "ALTER TABLE chats DROP COLUMN seen; "                                                   \
    "DROP INDEX turns_chat; DROP INDEX chats_moved; DROP INDEX approvals_ended; DROP TABLE " \
    "asides; DROP TABLE hours; DROP TABLE grants; "                                          \
    "ALTER TABLE runs DROP COLUMN "                                                          \
    "total;"                                                                                 \
    "DROP INDEX usage_person; DROP INDEX usage_chat;"                                        \
    "PRAGMA user_version=5"

struct fixture
{
    char dir[128], path[160];
    struct sma_sys sys;
    _Atomic uint64_t now_ns; /* the checkpointer asks, too */
    bool is_threaded, is_durable;
    struct sma_state *state;
};

void fixture_init(struct fixture *fixture);
void fixture_fini(struct fixture *fixture);
enum sma_err fixture_try_open(struct fixture *fixture, struct sma_error *error);
void fixture_open(struct fixture *fixture);
void fixture_new(struct fixture *fixture); /* made and opened */
void fixture_reopen(struct fixture *fixture, bool is_clean);
struct sma_state_chat *chat_named(struct sma_state *state, const char *key);
struct sma_state_message message_of(struct sma_state_chat *chat, const char *event, int row_state);
uint64_t accept_event(struct sma_state *state, const char *chat, const char *event, int row_state);
enum sma_err find_event(struct sma_state *state, const char *chat_key, const char *event,
                        struct sma_state_head *head);
bool is_claimed(struct sma_state *state, const char *chat, const char *event);
/* Everything of a kind, as a start and a run read it, one after the other. */
enum sma_err each_chat(struct sma_state *state, sma_state_chat_fn *each, void *user);
enum sma_err each_open(struct sma_state *state, sma_state_message_fn *each, void *user);
enum sma_err each_unflushed(struct sma_state *state, sma_state_message_fn *each, void *user);
enum sma_err each_step(struct sma_state *state, uint64_t seq,
                       enum sma_err (*each)(void *user, uint32_t number, uint8_t kind,
                                            struct sma_str data),
                       void *user);
enum sma_err count_row(void *user, const struct sma_state_message *message);
enum sma_err count_delivery(void *user, const struct sma_state_delivery *delivery);

#endif
