/* memory_support.h — a memory in a folder of its own, and the facts that it gives. */
#ifndef TEST_MEMORY_SUPPORT_H
#define TEST_MEMORY_SUPPORT_H

#include "runtime/memory/memory.h"
#include "sma/limits.h"
#include "sma/text.h"
#include "support/check.h"

#include <sys/stat.h>
#include <unistd.h>

struct given
{
    char folder[64];
    struct sma_memory *memory;
    uint32_t count;
    enum sma_memory_kind kind; /* of the last */
    struct sma_buf texts;      /* one a line */
    uint64_t ids[SMA_MEMORY_RECALL_COUNT_MAX * 4];
};

static inline void open_memory(struct given *given)
{
    const struct sma_memory_options options = {.folder = given->folder, .sys = sma_sys_real()};
    CHECK_OK(sma_memory_create(&options, &given->memory));
}

static inline void setup(struct given *given)
{
    *given = (struct given){.folder = "/tmp/test_memory.XXXXXX"};
    CHECK(mkdtemp(given->folder) != NULL);
    sma_buf_init(&given->texts, 1024 * 1024);
    open_memory(given);
}

static inline void reopen(struct given *given)
{
    sma_memory_destroy(given->memory);
    open_memory(given);
}

static inline void teardown(struct given *given)
{
    char command[128];
    sma_memory_destroy(given->memory);
    sma_buf_fini(&given->texts);
    snprintf(command, sizeof command, "rm -rf %s", given->folder);
    CHECK(system(command) == 0);
}

static inline void path_of(const struct given *given, const char *name, char path[256])
{
    snprintf(path, 256, "%s/%s", given->folder, name);
}

static inline void write_file(const struct given *given, const char *name, const char *bytes,
                              size_t len)
{
    char path[256];
    struct sma_error error;
    path_of(given, "users", path);
    CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    path_of(given, name, path);
    CHECK_OK(sma_sys_write_file_atomic(sma_sys_real(), path, (struct sma_str){bytes, len}, 0600,
                                       &error));
}

static inline void write_text(const struct given *given, const char *name, const char *text)
{
    write_file(given, name, text, strlen(text));
}

static inline void check_file(const struct given *given, const char *name, const char *wanted)
{
    char path[256], *bytes;
    size_t len;
    struct sma_error error;
    path_of(given, name, path);
    CHECK_OK(sma_sys_read_file(sma_sys_real(), path, 16 * 1024 * 1024, &bytes, &len, &error));
    CHECK_STR(wanted, sma_str(bytes));
    free(bytes);
}

static inline enum sma_err take_fact(void *user, const struct sma_memory_fact *fact)
{
    struct given *given = user;
    if (given->count < SMA_COUNT_OF(given->ids))
        given->ids[given->count] = fact->id;
    given->count++;
    given->kind = fact->kind;
    sma_buf_put_str(&given->texts, fact->text);
    sma_buf_put_char(&given->texts, '\n');
    return SMA_ERR_OK;
}

static inline void begin(struct given *given)
{
    given->count = 0;
    sma_buf_clear(&given->texts);
    sma_buf_put(&given->texts, "", 0);
}

static inline struct sma_memory_scope in_private(const char *person)
{
    return (struct sma_memory_scope){.person = sma_str(person)};
}

static inline struct sma_memory_scope in_group(const char *person, const char *group)
{
    return (struct sma_memory_scope){.person = sma_str(person), .group = sma_str(group)};
}

/* The texts that are recalled, one a line. */
static inline struct sma_str recall(struct given *given, struct sma_memory_scope scope,
                                    const char *text)
{
    begin(given);
    CHECK_OK(sma_memory_recall(given->memory, &scope, sma_str(text), SMA_MEMORY_RECALL_COUNT_MAX,
                               take_fact, given));
    return sma_buf_str(&given->texts);
}

static inline enum sma_err try_upsert(struct given *given, struct sma_memory_scope scope,
                                      const char *text, uint64_t *ret_id)
{
    const struct sma_memory_new fact = {
        .text = sma_str(text), .importance = 7, .wall_ms = 1795478400000};
    return sma_memory_upsert(given->memory, &scope, &fact, ret_id);
}

static inline uint64_t upsert(struct given *given, struct sma_memory_scope scope, const char *text)
{
    uint64_t id = 0;
    CHECK_OK(try_upsert(given, scope, text, &id));
    return id;
}

#endif
