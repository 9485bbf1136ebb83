/* state_support.c — a state of its own, and what tests put into it. */
#include "state_support.h"

#include "runtime/chat/state_read.h"

static uint64_t fixture_now(void *self)
{
    return ((struct fixture *)self)->now_ns;
}

static void fixture_random(void *self, void *bytes, size_t len)
{
    (void)self;
    memset(bytes, 7, len);
}

void fixture_init(struct fixture *fixture)
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

void fixture_fini(struct fixture *fixture)
{
    sma_state_close(fixture->state, true);
    DIR *dir = opendir(fixture->dir);
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        (void)unlinkat(dirfd(dir), entry->d_name, 0); /* "." and ".." stay */
    closedir(dir);
    CHECK_INT(0, rmdir(fixture->dir));
}

enum sma_err fixture_try_open(struct fixture *fixture, struct sma_error *error)
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

void fixture_open(struct fixture *fixture)
{
    struct sma_error error = {0};
    enum sma_err err = fixture_try_open(fixture, &error);
    if (err != SMA_ERR_OK)
        fprintf(stderr, "open: %s\n", error.text);
    CHECK_OK(err);
}

void fixture_new(struct fixture *fixture)
{
    fixture_init(fixture);
    fixture_open(fixture);
}

void fixture_reopen(struct fixture *fixture, bool is_clean)
{
    sma_state_close(fixture->state, is_clean);
    fixture->state = NULL;
    fixture_open(fixture);
}

struct sma_state_chat *chat_named(struct sma_state *state, const char *key)
{
    struct sma_state_chat *chat = NULL;
    CHECK_OK(sma_state_chat_open(state, sma_str(key), SMA_STR("test"), &chat));
    return chat;
}

struct sma_state_message message_of(struct sma_state_chat *chat, const char *event, int row_state)
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

uint64_t accept_event(struct sma_state *state, const char *chat, const char *event, int row_state)
{
    struct sma_state_message message = message_of(chat_named(state, chat), event, row_state);
    uint64_t seq = 0;
    CHECK_OK(sma_state_accept(state, &message, &seq));
    return seq;
}

enum sma_err find_event(struct sma_state *state, const char *chat_key, const char *event,
                        struct sma_state_head *head)
{
    struct sma_state_chat *chat = sma_state_chat_get(state, sma_str(chat_key));
    if (chat == NULL)
        return SMA_ERR_NOTFOUND;
    return sma_state_claim_find(state, chat->claim_id, 0, sma_str(event), head);
}

bool is_claimed(struct sma_state *state, const char *chat, const char *event)
{
    struct sma_state_head head;
    enum sma_err err = find_event(state, chat, event, &head);
    CHECK(err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND);
    return err == SMA_ERR_OK;
}

struct visit
{
    sma_state_chat_fn *each;
    void *user;
    uint32_t id;
};

static enum sma_err visit_chat(void *self, struct sma_state_chat *chat)
{
    struct visit *visit = self;
    visit->id = chat->id;
    return visit->each(visit->user, chat);
}

enum sma_err each_chat(struct sma_state *state, sma_state_chat_fn *each, void *user)
{
    struct visit visit = {each, user, 0};
    enum sma_err err;
    while ((err = sma_state_chat_below(state, visit.id, visit_chat, &visit)) == SMA_ERR_OK)
        if (visit.id == 1)
            return SMA_ERR_OK;
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

enum sma_err each_open(struct sma_state *state, sma_state_message_fn *each, void *user)
{
    enum sma_err err = SMA_ERR_OK;
    for (uint64_t seq = 0; err == SMA_ERR_OK && (seq = sma_state_open_next(state, seq)) != 0;)
        err = sma_state_message_get(state, seq, each, user);
    return err;
}

enum sma_err each_unflushed(struct sma_state *state, sma_state_message_fn *each, void *user)
{
    struct sma_state_message message = {.seq = sma_state_history_flushed(state)};
    for (enum sma_err err = SMA_ERR_OK; err == SMA_ERR_OK;) {
        SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
        err = sma_state_unflushed_next(state, message.seq, &rows, &message);
        if (err == SMA_ERR_OK)
            err = each(user, &message);
        if (err != SMA_ERR_OK)
            return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
    }
    return SMA_ERR_OK;
}

enum sma_err each_step(struct sma_state *state, uint64_t seq,
                       enum sma_err (*each)(void *user, uint32_t number, uint8_t kind,
                                            struct sma_str data),
                       void *user)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_steps steps;
    SMA_TRY(sma_state_steps_read(state, seq, &rows, &steps));
    for (size_t i = 0; i < steps.count; i++)
        SMA_TRY(each(user, steps.items[i].number, steps.items[i].kind, steps.items[i].data));
    return SMA_ERR_OK;
}

enum sma_err count_row(void *user, const struct sma_state_message *message)
{
    (void)message;
    ++*(unsigned *)user;
    return SMA_ERR_OK;
}

enum sma_err count_delivery(void *user, const struct sma_state_delivery *delivery)
{
    (void)delivery;
    ++*(unsigned *)user;
    return SMA_ERR_OK;
}
