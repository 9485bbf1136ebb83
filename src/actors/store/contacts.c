/*
 * contacts.json: who was seen where, for people and older programs. Written when somebody was seen
 * somewhere new, never in
 * one piece: the times of all contacts are looked through in slices, the newest of them sorted and
 * formatted in slices into a temporary file, which then takes the place of the other. A newer
 * message in the same place alone is no reason.
 */
#include "upkeep_priv.h"

#include "runtime/chat/contacts_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#define QUIET_NS (2 * SMA_NS_PER_S) /* after the first news: more may come with them */
#define REST_TIMES 20               /* as long as writing took, before it is written again */
#define SLICE_NS UINT64_C(2000000)  /* ... of it between two batches, */
#define SLICE_STEPS 32
#define PAUSE_NS UINT64_C(8000000) /* and then not for this long */
#define TIMES_COUNT 256            /* looked at at once */
#define ITEM_COUNT 16              /* formatted between two looks at the clock */
#define KEPT_MAX SMA_CONTACTS_PROJECTED_MAX

enum phase
{
    PHASE_NONE,
    PHASE_LOOK,
    PHASE_WRITE,
};

struct store_contacts
{
    enum phase phase;
    bool is_known;      /* news were counted since the start */
    uint64_t news;      /* written, or being written */
    uint64_t due_ns;    /* when news seen are written; 0 = there are none */
    uint64_t resume_ns; /* not before, when under way */
    uint64_t not_before_ns, began_ns;
    int64_t last_id;
    struct sma_state_contact_time *kept; /* a heap, the oldest first; then sorted, newest first */
    uint32_t count, next;
    int fd;
    off_t len;
    struct sma_buf buf;
};

static void temporary_path(const struct sma_store *store, char path[4096])
{
    snprintf(path, 4096, "%s/contacts.json.part", store->config->state_dir);
}

static uint64_t clock_ns(const struct sma_store *store)
{
    const struct sma_sys *sys = sma_ctx_sys(store->ctx);
    return sys->now_ns(sys->self);
}

/* -- the newest -------------------------------------------------------------------------------- */
static void sift_down(struct sma_state_contact_time *heap, uint32_t count, uint32_t at)
{
    struct sma_state_contact_time moved = heap[at];
    for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1].wall_ms < heap[child].wall_ms;
        if (heap[child].wall_ms >= moved.wall_ms)
            break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static void keep(struct store_contacts *self, struct sma_state_contact_time time)
{
    if (self->count < KEPT_MAX) {
        uint32_t at = self->count++;
        for (; at > 0 && self->kept[(at - 1) / 2].wall_ms > time.wall_ms; at = (at - 1) / 2)
            self->kept[at] = self->kept[(at - 1) / 2];
        self->kept[at] = time;
    } else if (time.wall_ms > self->kept[0].wall_ms) {
        self->kept[0] = time;
        sift_down(self->kept, self->count, 0);
    }
}

static int newest_first(const void *a, const void *b)
{
    const struct sma_state_contact_time *x = a, *y = b;
    if (x->wall_ms != y->wall_ms)
        return x->wall_ms > y->wall_ms ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* -- one slice --------------------------------------------------------------------------------- */
static void end(struct sma_store *store)
{
    struct store_contacts *self = store->upkeep->contacts;
    const struct sma_sys *sys = store->sys;
    if (self->fd >= 0)
        (void)sys->close(sys->self, self->fd); /* a projection: it is written again */
    self->fd = -1;
    free(self->kept);
    self->kept = NULL;
    sma_buf_fini(&self->buf);
    self->phase = PHASE_NONE;
    uint64_t now = clock_ns(store);
    self->not_before_ns = now + REST_TIMES * (now - self->began_ns);
}

static SMA_CHECKED enum sma_err begin(struct sma_store *store)
{
    struct store_contacts *self = store->upkeep->contacts;
    char path[4096];
    self->news = sma_state_contact_news(store->state);
    self->due_ns = 0;
    self->began_ns = clock_ns(store);
    self->last_id = self->len = 0;
    self->count = self->next = 0;
    self->phase = PHASE_LOOK;
    sma_buf_init(&self->buf, SMA_CONTACTS_FILE_BYTES_MAX);
    self->kept = malloc(KEPT_MAX * sizeof *self->kept);
    temporary_path(store, path);
    self->fd = store->sys->open(store->sys->self, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return self->kept == NULL ? SMA_ERR_NOMEM : self->fd < 0 ? SMA_ERR_IO : SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err look(struct sma_store *store)
{
    struct store_contacts *self = store->upkeep->contacts;
    struct sma_state_contact_time times[TIMES_COUNT];
    uint32_t count = 0;
    enum sma_err err =
        sma_state_contact_times(store->state, self->last_id, times, TIMES_COUNT, &count);
    for (uint32_t i = 0; i < count; i++)
        keep(self, times[i]);
    if (err == SMA_ERR_OK && count > 0)
        self->last_id = times[count - 1].id;
    if (err != SMA_ERR_OK || count > 0)
        return err;
    qsort(self->kept, self->count, sizeof *self->kept, newest_first);
    self->phase = PHASE_WRITE;
    sma_contacts_begin(&self->buf, sma_ctx_wall(store->ctx));
    return SMA_ERR_OK;
}

static enum sma_err put(void *user, const struct sma_state_contact *from)
{
    struct store_contacts *self = user;
    struct sma_contact contact = {.updated_ms = from->wall_ms,
                                  .channel = from->channel,
                                  .chat_id = from->chat_id,
                                  .chat_key = from->chat_key,
                                  .user_name = from->user_name,
                                  .message_id = from->message_id,
                                  .user_id = from->user_id,
                                  .chat_type = from->chat_type};
    if (sma_parse_i64(from->thread_id, 1, INT64_MAX, &contact.thread_id) != SMA_ERR_OK)
        contact.thread_id = 0; /* not a number: the file has no place for it */
    sma_contacts_item(&self->buf, &contact, self->next == 0);
    return self->buf.err;
}

static SMA_CHECKED enum sma_err write_out(struct sma_store *store, struct sma_error *error)
{
    struct store_contacts *self = store->upkeep->contacts;
    if (self->buf.err != SMA_ERR_OK)
        return self->buf.err;
    enum sma_err err =
        sma_sys_write_all(store->sys, self->fd, self->buf.ptr, self->buf.len, self->len, error);
    self->len += (off_t)self->buf.len;
    sma_buf_clear(&self->buf);
    return err;
}

/* The file is whole: it takes its place. Not synced: it can be had again. */
static SMA_CHECKED enum sma_err finish(struct sma_store *store, struct sma_error *error)
{
    char path[4096], part[4096];
    snprintf(path, sizeof path, "%s/contacts.json", store->config->state_dir);
    temporary_path(store, part);
    sma_contacts_end(&store->upkeep->contacts->buf, store->upkeep->contacts->next == 0);
    enum sma_err err = write_out(store, error);
    if (err == SMA_ERR_OK && store->sys->rename(store->sys->self, part, path) != 0)
        err = sma_fail_os(error, errno, "cannot rename %s", part);
    if (err == SMA_ERR_OK)
        end(store);
    return err;
}

static SMA_CHECKED enum sma_err write_some(struct sma_store *store, struct sma_error *error)
{
    struct store_contacts *self = store->upkeep->contacts;
    enum sma_err err = SMA_ERR_OK;
    for (int i = 0; i < ITEM_COUNT && self->next < self->count && err == SMA_ERR_OK; i++) {
        err = sma_state_contact_get(store->state, self->kept[self->next].id, put, self);
        if (err == SMA_ERR_NOTFOUND)
            err = SMA_ERR_OK; /* forgotten meanwhile */
        self->next++;
    }
    if (err == SMA_ERR_OK)
        err = write_out(store, error);
    return err == SMA_ERR_OK && self->next >= self->count ? finish(store, error) : err;
}

static SMA_CHECKED enum sma_err step(struct sma_store *store, struct sma_error *error)
{
    struct store_contacts *self = store->upkeep->contacts;
    if (self->phase == PHASE_NONE)
        return begin(store);
    return self->phase == PHASE_LOOK ? look(store) : write_some(store, error);
}

static void run_slice(struct sma_store *store, uint64_t slice_ns, uint32_t steps_max)
{
    struct store_contacts *self = store->upkeep->contacts;
    struct sma_error error = {0};
    uint64_t began = clock_ns(store);
    enum sma_err err;
    do
        err = step(store, &error);
    while (err == SMA_ERR_OK && self->phase != PHASE_NONE && --steps_max > 0 &&
           clock_ns(store) - began < slice_ns);
    self->resume_ns = clock_ns(store) + PAUSE_NS;
    if (err == SMA_ERR_OK)
        return;
    sma_ctx_log(store->ctx, SMA_LOG_WARN,
                "contacts.json was not written: %s; lookups are not affected",
                error.text[0] != '\0' ? error.text : sma_err_text(err));
    end(store); /* tried again with the next news */
}

/* -- when -------------------------------------------------------------------------------------- */
static void look_for_news(struct sma_store *store, uint64_t now)
{
    struct store_contacts *self = store->upkeep->contacts;
    if (self->due_ns != 0 || sma_state_contact_news(store->state) == self->news)
        return;
    self->due_ns = now + QUIET_NS;
    if (self->due_ns < self->not_before_ns)
        self->due_ns = self->not_before_ns;
}

void sma_store_tend_contacts(struct sma_store *store)
{
    struct store_contacts *self = store->upkeep->contacts;
    uint64_t now = clock_ns(store);
    look_for_news(store, now);
    bool is_due = self->phase != PHASE_NONE ? now >= self->resume_ns
                                            : self->due_ns != 0 && now >= self->due_ns;
    if (is_due)
        run_slice(store, SLICE_NS, SLICE_STEPS);
}

void sma_store_finish_contacts(struct sma_store *store)
{
    struct store_contacts *self = store->upkeep->contacts;
    if (self->phase != PHASE_NONE || sma_state_contact_news(store->state) != self->news)
        run_slice(store, UINT64_MAX, UINT32_MAX);
}

uint64_t sma_store_contacts_wake(const struct sma_store *store)
{
    const struct store_contacts *self = store->upkeep->contacts;
    if (self->phase != PHASE_NONE)
        return self->resume_ns;
    return self->due_ns != 0 ? self->due_ns : UINT64_MAX;
}

enum sma_err sma_store_contacts_create(struct sma_store *store)
{
    store->upkeep->contacts = calloc(1, sizeof *store->upkeep->contacts);
    if (store->upkeep->contacts == NULL)
        return SMA_ERR_NOMEM;
    store->upkeep->contacts->fd = -1;
    return SMA_ERR_OK;
}

void sma_store_contacts_fini(struct sma_store *store)
{
    struct store_contacts *self = store->upkeep->contacts;
    if (self != NULL && self->phase != PHASE_NONE) {
        if (self->fd >= 0)
            (void)store->sys->close(store->sys->self, self->fd); /* only a part of it */
        free(self->kept);
        sma_buf_fini(&self->buf);
    }
    free(self);
}
