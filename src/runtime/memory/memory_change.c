/* memory_change.c — facts are written and deleted: in the file, then in the index. See memory.h. */
#include "runtime/memory/memory_priv.h"

#include "runtime/secrets/secrets.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

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
};

static void change_fini(struct change *change)
{
    sma_buf_fini(&change->name);
    sma_buf_fini(&change->after);
    free(change->bytes);
}

static SMA_CHECKED enum sma_err change_begin(struct sma_memory *memory, struct sma_str person,
                                             struct change *change)
{
    *change = (struct change){.bytes = NULL};
    sma_buf_init(&change->name, MEMORY_PATH_BYTES_MAX);
    sma_buf_init(&change->after, SMA_MEMORY_FILE_BYTES_MAX);
    memory_put_name(&change->name, person);
    SMA_TRY(change->name.err);
    SMA_TRY(memory_open(memory));
    enum sma_err err =
        memory_read(memory, sma_buf_str(&change->name), &change->bytes, &change->len);
    change->is_new = err == SMA_ERR_NOTFOUND;
    return change->is_new ? SMA_ERR_OK : err;
}

/* Atomic, and on the disk; then the index follows. */
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
        if (id == writing->id)
            err = SMA_ERR_EXISTS;
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

static SMA_CHECKED enum sma_err write_line(struct writing *writing)
{
    struct change change;
    struct sma_memory_line replaced = {.end = 0};
    enum sma_err err = change_begin(writing->memory, writing->person, &change);
    if (err == SMA_ERR_OK)
        err = look_through(writing, &change, &replaced);
    if (err == SMA_ERR_OK) {
        put_after(writing, &change, &replaced);
        err = change_end(writing->memory, writing->person, &change);
    }
    change_fini(&change);
    return err;
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

enum sma_err sma_memory_forget(struct sma_memory *memory, const struct sma_memory_scope *scope,
                               const uint64_t *ids, uint32_t count, uint32_t *ret_count)
{
    struct sma_str person = scope->is_project ? SMA_STR("") : scope->person;
    struct change change;
    uint32_t gone = 0;
    if (!scope->is_project && person.len == 0) {
        *ret_count = 0;
        return SMA_ERR_OK;
    }
    enum sma_err err = change_begin(memory, person, &change);
    if (err == SMA_ERR_OK && !change.is_new)
        gone = put_rest(&change, person, scope, ids, count);
    if (err == SMA_ERR_OK && gone > 0)
        err = change_end(memory, person, &change);
    change_fini(&change);
    if (err == SMA_ERR_OK)
        *ret_count = gone;
    return err;
}
