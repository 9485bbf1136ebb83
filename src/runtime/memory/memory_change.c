/* memory_change.c — facts are written and deleted: in the file, then in the index. See memory.h. */
#include "runtime/memory/memory_priv.h"

#include "runtime/secrets/secrets.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define LOCK_TRY_COUNT 50   /* of 10 ms: a writer needs a few; one that hangs stops nobody */
#define CHANGE_TRY_COUNT 5  /* when somebody's editor writes at the same time */
#define MERGE_BYTES_MAX 300 /* longer facts are the same only to the letter */

static const char person_head[] =
    "# What this agent remembers about this person\n\n"
    "Each line below that begins with a dash is one fact. Edit and delete as you like.\n\n";
static const char project_head[] = "# What this agent remembers about this project\n\n"
                                   "Each line below that begins with a dash is one fact, for "
                                   "everybody who talks to the agent.\n\n";

/* -- the file ---------------------------------------------------------------------------------- */
/* What becomes of a file: its bytes before, and those that take their place. */
struct change
{
    struct sma_buf name, after;
    char *bytes;
    size_t len;
    bool is_new;
    int lock_fd;
    char stamp[MEMORY_STAMP_BYTES]; /* of the file as it was read */
};

static void change_fini(struct change *change)
{
    sma_buf_fini(&change->name);
    sma_buf_fini(&change->after);
    free(change->bytes);
    if (change->lock_fd >= 0)
        (void)close(change->lock_fd); /* it holds nothing but the lock */
}

/* One writer of ours at a time: the service's actors and the command line. */
static SMA_CHECKED enum sma_err take_lock(struct sma_memory *memory, int *ret_fd)
{
    char path[MEMORY_PATH_BYTES_MAX];
    if (!memory_path(memory, SMA_STR(".lock"), path))
        return sma_fail(&memory->error, SMA_ERR_IO, "too long a name");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return sma_fail_os(&memory->error, errno, "cannot open %s", path);
    *ret_fd = fd;
    for (int i = 0; i < LOCK_TRY_COUNT; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return SMA_ERR_OK;
        (void)nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return sma_fail(&memory->error, SMA_ERR_IO,
                    "another process has held %s for half a second; try again", path);
}

static SMA_CHECKED enum sma_err change_begin(struct sma_memory *memory, struct sma_str person,
                                             struct change *change)
{
    *change = (struct change){.lock_fd = -1};
    sma_buf_init(&change->name, MEMORY_PATH_BYTES_MAX);
    sma_buf_init(&change->after, SMA_MEMORY_FILE_BYTES_MAX);
    memory_put_name(&change->name, person);
    SMA_TRY(change->name.err);
    SMA_TRY(memory_open(memory));
    SMA_TRY(take_lock(memory, &change->lock_fd));
    memory_stamp(memory, sma_buf_str(&change->name), change->stamp);
    enum sma_err err =
        memory_read(memory, sma_buf_str(&change->name), &change->bytes, &change->len);
    change->is_new = err == SMA_ERR_NOTFOUND;
    return change->is_new ? SMA_ERR_OK : err;
}

/* Atomic, and on the disk; then the index follows. GONE: somebody has written it meanwhile. */
static SMA_CHECKED enum sma_err change_end(struct sma_memory *memory, struct sma_str person,
                                           struct change *change)
{
    char path[MEMORY_PATH_BYTES_MAX], folder[MEMORY_PATH_BYTES_MAX];
    if (change->after.err == SMA_ERR_TOOBIG)
        return sma_fail(&memory->error, SMA_ERR_FULL, "%.*s is full (%d KiB)",
                        (int)change->name.len, change->name.ptr, SMA_MEMORY_FILE_BYTES_MAX / 1024);
    SMA_TRY(change->after.err);
    if (!memory_path(memory, sma_buf_str(&change->name), path) ||
        !memory_path(memory, person.len > 0 ? SMA_STR("users") : SMA_STR(""), folder))
        return sma_fail(&memory->error, SMA_ERR_IO, "too long a name");
    if (change->is_new)
        SMA_TRY(sma_sys_make_dirs(memory->sys, folder, &memory->error));
    char stamp[MEMORY_STAMP_BYTES];
    memory_stamp(memory, sma_buf_str(&change->name), stamp);
    if (strcmp(stamp, change->stamp) != 0)
        return SMA_ERR_GONE;
    SMA_TRY(sma_sys_write_file_atomic(memory->sys, path, sma_buf_str(&change->after), 0600,
                                      &memory->error));
    memory->has_any = true;
    SMA_CRASH_POINT("memory.written");
    /* It is written, whatever becomes of the index: that follows with the next question. */
    (void)(memory_follow(memory, sma_buf_str(&change->name), person) == SMA_ERR_OK);
    return SMA_ERR_OK;
}

/* -- one more ---------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err clean_tags(struct sma_str tags, struct sma_buf *buf)
{
    struct sma_buf clean;
    sma_buf_init(&clean, SMA_MEMORY_FILE_BYTES_MAX);
    sma_memory_put_clean(&clean, tags);
    uint32_t count = 0;
    for (size_t at = 0; at < clean.len && count < SMA_MEMORY_TAG_COUNT_MAX; count++) {
        size_t start = at;
        while (at < clean.len && clean.ptr[at] != ' ')
            at++;
        struct sma_str tag = {clean.ptr + start, at - start};
        tag.len = sma_utf8_cut(tag, SMA_MEMORY_TAG_BYTES_MAX);
        if (tag.len > 0 && buf->len > 0)
            sma_buf_put_char(buf, ' ');
        for (size_t i = 0; i < tag.len; i++)
            sma_buf_put_char(buf, tag.ptr[i] == ',' ? '-' : tag.ptr[i]);
        at++;
    }
    enum sma_err err = clean.err;
    sma_buf_fini(&clean);
    return err == SMA_ERR_OK ? buf->err : err;
}

struct writing
{
    struct sma_memory *memory;
    struct sma_str person, group; /* of the line */
    const struct sma_memory_new *fact;
    struct sma_memory_line line;
    uint64_t id;
};

static bool holds(struct sma_str text, struct sma_str part)
{
    for (size_t at = 0; at + part.len <= text.len; at++)
        if (strncasecmp(text.ptr + at, part.ptr, part.len) == 0)
            return true;
    return false;
}

/* The same fact in more or fewer words? OK: no | EXISTS: it is said already; else *ret_replaced is
 * what says less. */
static enum sma_err merge(const struct writing *writing, const struct sma_memory_line *line,
                          bool *has_replaced, struct sma_memory_line *ret_replaced)
{
    struct sma_str text = writing->line.text;
    if (!writing->fact->merges || line->kind != writing->line.kind ||
        !sma_str_is_equal(line->group, writing->group) || text.len > MERGE_BYTES_MAX ||
        line->text.len > MERGE_BYTES_MAX)
        return SMA_ERR_OK;
    if (holds(line->text, text))
        return SMA_ERR_EXISTS;
    if (!*has_replaced && holds(text, line->text)) {
        *has_replaced = true;
        *ret_replaced = *line;
    }
    return SMA_ERR_OK;
}

/* Is it there, is there room, and where is what it replaces? */
static SMA_CHECKED enum sma_err look_through(const struct writing *writing,
                                             const struct change *change,
                                             struct sma_memory_line *ret_replaced)
{
    struct sma_memory_reader reader;
    struct sma_memory_line line;
    enum sma_err err = SMA_ERR_OK;
    uint32_t count = 0;
    bool has_replaced = false;
    sma_memory_reader_init(&reader, (struct sma_str){change->bytes, change->len});
    while (err == SMA_ERR_OK && sma_memory_reader_next(&reader, &line)) {
        uint64_t id = memory_fact_id(writing->person, line.group, line.text);
        count++;
        err =
            id == writing->id ? SMA_ERR_EXISTS : merge(writing, &line, &has_replaced, ret_replaced);
        /* of the same place only: in a group nobody changes what was said in private */
        if (id == writing->fact->replaces && sma_str_is_equal(line.group, writing->group)) {
            has_replaced = true;
            *ret_replaced = line;
        }
    }
    bool is_broken = reader.is_in_fence || reader.is_in_comment;
    sma_memory_reader_fini(&reader);
    if (err != SMA_ERR_OK)
        return err;
    if (is_broken)
        return sma_fail(&writing->memory->error, SMA_ERR_CORRUPT,
                        "%.*s ends within a comment or a block of code: nothing is written into "
                        "it; repair it",
                        (int)change->name.len, change->name.ptr);
    if (writing->fact->replaces != 0 && !has_replaced)
        return SMA_ERR_NOTFOUND;
    if (count >= SMA_MEMORY_FILE_FACT_COUNT_MAX && !has_replaced)
        return sma_fail(&writing->memory->error, SMA_ERR_FULL, "%.*s has %d facts, no more fit",
                        (int)change->name.len, change->name.ptr, SMA_MEMORY_FILE_FACT_COUNT_MAX);
    return SMA_ERR_OK;
}

static void put_after(const struct writing *writing, struct change *change,
                      const struct sma_memory_line *replaced)
{
    struct sma_buf *after = &change->after;
    if (change->is_new)
        sma_buf_put_text(after, writing->person.len > 0 ? person_head : project_head);
    size_t head = replaced->end > 0 ? replaced->start : change->len;
    sma_buf_put(after, change->bytes == NULL ? "" : change->bytes, head);
    if (head > 0 && change->bytes[head - 1] != '\n')
        sma_buf_put_char(after, '\n');
    sma_memory_put_line(after, &writing->line, writing->fact->wall_ms);
    if (replaced->end > 0)
        sma_buf_put(after, change->bytes + replaced->end, change->len - replaced->end);
}

static SMA_CHECKED enum sma_err write_once(struct writing *writing)
{
    struct change change;
    struct sma_memory_line replaced = {.end = 0};
    enum sma_err err = change_begin(writing->memory, writing->person, &change);
    if (err == SMA_ERR_OK)
        err = look_through(writing, &change, &replaced);
    if (err == SMA_ERR_OK && !writing->fact->is_question) {
        put_after(writing, &change, &replaced);
        err = change_end(writing->memory, writing->person, &change);
    }
    change_fini(&change);
    return err;
}

static SMA_CHECKED enum sma_err write_line(struct writing *writing)
{
    enum sma_err err = SMA_ERR_GONE;
    for (int i = 0; err == SMA_ERR_GONE && i < CHANGE_TRY_COUNT; i++)
        err = write_once(writing);
    return err != SMA_ERR_GONE ? err
                               : sma_fail(&writing->memory->error, SMA_ERR_IO,
                                          "somebody writes the file all the time; try again");
}

enum sma_err sma_memory_upsert(struct sma_memory *memory, const struct sma_memory_scope *scope,
                               const struct sma_memory_new *fact, uint64_t *ret_id)
{
    struct sma_buf text, tags;
    struct writing writing = {.memory = memory, .fact = fact};
    if (!scope->is_project) {
        writing.person = scope->person;
        writing.group = scope->group;
        if (scope->person.len == 0)
            return sma_fail(&memory->error, SMA_ERR_BADINPUT, "nobody is known here");
    }
    sma_buf_init(&text, SMA_MEMORY_FILE_BYTES_MAX);
    sma_buf_init(&tags, SMA_MEMORY_FILE_BYTES_MAX);
    sma_memory_put_clean(&text, fact->text);
    enum sma_err err = clean_tags(fact->tags, &tags);
    if (err == SMA_ERR_OK)
        err = text.err;
    struct sma_str clean = sma_buf_str(&text);
    if (err == SMA_ERR_OK && (clean.len == 0 || !sma_memory_is_readable(clean)))
        err = sma_fail(&memory->error, SMA_ERR_BADINPUT, "there is no text to remember");
    if (err == SMA_ERR_OK && clean.len > SMA_MEMORY_TEXT_BYTES_MAX)
        err = sma_fail(&memory->error, SMA_ERR_TOOBIG, "a fact has at most %d bytes",
                       SMA_MEMORY_TEXT_BYTES_MAX);
    if (err == SMA_ERR_OK && memory->secrets != NULL &&
        (sma_secrets_has(memory->secrets, clean) ||
         sma_secrets_has(memory->secrets, sma_buf_str(&tags))))
        err = sma_fail(&memory->error, SMA_ERR_BADINPUT,
                       "it holds a secret of this agent, and secrets are not remembered");
    if (err == SMA_ERR_OK) {
        uint8_t importance = fact->importance == 0 ? SMA_MEMORY_IMPORTANCE_USUAL : fact->importance;
        writing.line = (struct sma_memory_line){.text = clean,
                                                .group = writing.group,
                                                .tags = sma_buf_str(&tags),
                                                .kind = fact->kind,
                                                .importance = importance > 10 ? 10 : importance};
        writing.id = memory_fact_id(writing.person, writing.group, clean);
        err = write_line(&writing);
        if (err == SMA_ERR_OK || err == SMA_ERR_EXISTS)
            *ret_id = writing.id;
    }
    sma_buf_fini(&text);
    sma_buf_fini(&tags);
    return err;
}

/* -- fewer ------------------------------------------------------------------------------------- */
static bool is_listed(uint64_t id, const uint64_t *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* Everything but these lines. */
static uint32_t put_rest(struct change *change, struct sma_str person,
                         const struct sma_memory_scope *scope, const uint64_t *ids, uint32_t count)
{
    struct sma_memory_reader reader;
    struct sma_memory_line line;
    uint32_t gone = 0;
    size_t at = 0;
    sma_memory_reader_init(&reader, (struct sma_str){change->bytes, change->len});
    while (sma_memory_reader_next(&reader, &line)) {
        bool is_meant = is_listed(memory_fact_id(person, line.group, line.text), ids, count) &&
                        (person.len == 0 || sma_str_is_equal(line.group, scope->group));
        if (!is_meant)
            continue;
        sma_buf_put(&change->after, change->bytes + at, line.start - at);
        at = line.end;
        gone++;
    }
    sma_buf_put(&change->after, change->bytes + at, change->len - at);
    sma_memory_reader_fini(&reader);
    return gone;
}

static SMA_CHECKED enum sma_err forget_once(struct sma_memory *memory,
                                            const struct sma_memory_scope *scope,
                                            const uint64_t *ids, uint32_t count,
                                            uint32_t *ret_count)
{
    struct sma_str person = scope->is_project ? SMA_STR("") : scope->person;
    struct change change;
    *ret_count = 0;
    enum sma_err err = change_begin(memory, person, &change);
    if (err == SMA_ERR_OK && !change.is_new)
        *ret_count = put_rest(&change, person, scope, ids, count);
    if (err == SMA_ERR_OK && *ret_count > 0)
        err = change_end(memory, person, &change);
    change_fini(&change);
    return err;
}

enum sma_err sma_memory_forget(struct sma_memory *memory, const struct sma_memory_scope *scope,
                               const uint64_t *ids, uint32_t count, uint32_t *ret_count)
{
    uint32_t gone = 0;
    enum sma_err err = scope->is_project || scope->person.len > 0 ? SMA_ERR_GONE : SMA_ERR_OK;
    for (int i = 0; err == SMA_ERR_GONE && i < CHANGE_TRY_COUNT; i++)
        err = forget_once(memory, scope, ids, count, &gone);
    if (err == SMA_ERR_GONE)
        return sma_fail(&memory->error, SMA_ERR_IO,
                        "somebody writes the file all the time; try again");
    if (err == SMA_ERR_OK)
        *ret_count = gone;
    memory->wants_scrub |= gone > 0;
    return err;
}

/* -- what is left of it ------------------------------------------------------------------------ */
void sma_memory_want_scrub(struct sma_memory *memory)
{
    memory->wants_scrub = true;
}

bool sma_memory_wants_scrub(const struct sma_memory *memory)
{
    return memory->index.db != NULL &&
           (memory->wants_scrub || memory->is_scrubbing || memory->index.wants_merge);
}

enum sma_err sma_memory_scrub(struct sma_memory *memory, bool *ret_is_done)
{
    bool is_done = !sma_memory_wants_scrub(memory);
    enum sma_err err = SMA_ERR_OK;
    if (!is_done) {
        bool is_first = !memory->is_scrubbing;
        memory->wants_scrub = false;
        memory->is_scrubbing = true;
        err = memory_index_scrub(&memory->index, is_first, &is_done, &memory->error);
        if (err != SMA_ERR_OK || is_done)
            memory->is_scrubbing = false;
    }
    *ret_is_done = is_done || err != SMA_ERR_OK;
    return err;
}
