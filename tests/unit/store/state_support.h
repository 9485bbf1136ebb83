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

static uint64_t fixture_now(void *self)
{
    return ((struct fixture *)self)->now_ns;
}

static inline void fixture_random(void *self, void *bytes, size_t len)
{
    (void)self;
    memset(bytes, 7, len);
}

static inline void fixture_init(struct fixture *fixture)
{
    memset(fixture, 0, sizeof *fixture);
    /* What is tested survives in the page cache: a file system in memory makes the many syncs
     * cheap. */
    const char *base = getenv("TMPDIR");
    if (base == NULL)
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(fixture->dir, sizeof fixture->dir, "%s/sma_state_XXXXXX", base);
    CHECK(mkdtemp(fixture->dir) != NULL);
    snprintf(fixture->path, sizeof fixture->path, "%s/state.db", fixture->dir);
    fixture->sys = *sma_sys_real();
    fixture->sys.self = fixture;
    fixture->sys.now_ns = fixture_now;
    fixture->sys.random_bytes = fixture_random;
    fixture->now_ns = 1000000000;
}

static inline void fixture_fini(struct fixture *fixture)
{
    sma_state_close(fixture->state, true);
    DIR *dir = opendir(fixture->dir);
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        (void)unlinkat(dirfd(dir), entry->d_name, 0); /* "." and ".." stay */
    closedir(dir);
    CHECK_INT(0, rmdir(fixture->dir));
}

static inline enum sma_err fixture_try_open(struct fixture *fixture, struct sma_error *error)
{
    struct sma_state_options options = {
        .path = fixture->path,
        .sys = &fixture->sys,
        .is_single_threaded = !fixture->is_threaded,
        .is_durability_none = !fixture->is_durable,
        .wal_bytes = 256 * 1024,
    };
    return sma_state_open(&options, &fixture->state, error);
}

static inline void fixture_open(struct fixture *fixture)
{
    struct sma_error error = {0};
    enum sma_err err = fixture_try_open(fixture, &error);
    if (err != SMA_ERR_OK)
        fprintf(stderr, "open: %s\n", error.text);
    CHECK_OK(err);
}

static inline void fixture_reopen(struct fixture *fixture, bool is_clean)
{
    sma_state_close(fixture->state, is_clean);
    fixture->state = NULL;
    fixture_open(fixture);
}

static inline struct sma_state_chat *chat_named(struct sma_state *state, const char *key)
{
    struct sma_state_chat *chat = NULL;
    CHECK_OK(sma_state_chat_open(state, sma_str(key), SMA_STR("test"), &chat));
    return chat;
}

static inline struct sma_state_message message_of(struct sma_state_chat *chat, const char *event,
                                                  int row_state)
{
    return (struct sma_state_message){
        .chat = chat,
        .state = (uint8_t)row_state,
        .event_key = sma_str(event),
        .user_id = SMA_STR("user-1"),
        .history_offset = 0,
        .line = SMA_STR("{\"v\":1}\n"),
        .facts = SMA_STR("facts"),
    };
}

static inline uint64_t accept_event(struct sma_state *state, const char *chat, const char *event,
                                    int row_state)
{
    struct sma_state_message message = message_of(chat_named(state, chat), event, row_state);
    uint64_t seq = 0;
    CHECK_OK(sma_state_accept(state, &message, &seq));
    return seq;
}

static inline enum sma_err find_event(struct sma_state *state, const char *chat_key,
                                      const char *event, struct sma_state_head *head)
{
    struct sma_state_chat *chat = sma_state_chat_get(state, sma_str(chat_key));
    if (chat == NULL)
        return SMA_ERR_NOTFOUND;
    return sma_state_claim_find(state, chat->claim_id, 0, sma_str(event), head);
}

static inline bool is_claimed(struct sma_state *state, const char *chat, const char *event)
{
    struct sma_state_head head;
    enum sma_err err = find_event(state, chat, event, &head);
    CHECK(err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND);
    return err == SMA_ERR_OK;
}

static inline enum sma_err count_row(void *user, const struct sma_state_message *message)
{
    (void)message;
    ++*(unsigned *)user;
    return SMA_ERR_OK;
}

static inline enum sma_err count_delivery(void *user, const struct sma_state_delivery *delivery)
{
    (void)delivery;
    ++*(unsigned *)user;
    return SMA_ERR_OK;
}

#endif
