/* record.c — see record.h. */
#include "runtime/skills/record.h"

#include "sma/limits.h"
#include "sma/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define VERSION 1
#define DIGEST_TEXT_BYTES 64
#define LOCK_STEP_MS 20

struct sma_skill_record
{
    json_t *accepted; /* place: digest in hexadecimal digits */
};

static bool put_path(const char *state_dir, const char *name, char path[PATH_MAX])
{
    int len = snprintf(path, PATH_MAX, "%s/%s", state_dir, name);
    return len > 0 && len < PATH_MAX;
}

enum sma_err sma_skill_record_create(struct sma_skill_record **ret_record)
{
    struct sma_skill_record *record = calloc(1, sizeof *record);
    if (record == NULL || (record->accepted = json_object()) == NULL) {
        free(record);
        return SMA_ERR_NOMEM;
    }
    *ret_record = record;
    return SMA_ERR_OK;
}

void sma_skill_record_destroy(struct sma_skill_record *record)
{
    if (record == NULL)
        return;
    json_decref(record->accepted);
    free(record);
}

static bool is_good(const json_t *root, const json_t *accepted)
{
    const char *place;
    json_t *digest;
    if (json_integer_value(json_object_get(root, "version")) != VERSION ||
        !json_is_object(accepted))
        return false;
    json_object_foreach((json_t *)(uintptr_t)accepted, place,
                        digest) if (json_string_length(digest) != DIGEST_TEXT_BYTES) return false;
    return true;
}

enum sma_err sma_skill_record_load(const char *state_dir, struct sma_skill_record **ret_record,
                                   struct sma_error *error)
{
    char path[PATH_MAX];
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    if (!put_path(state_dir, "skills.json", path))
        return sma_fail(error, SMA_ERR_IO, "%s: the path is too long", state_dir);
    enum sma_err err =
        sma_sys_read_file(sma_sys_real(), path, SMA_SKILL_RECORD_BYTES_MAX, &bytes, &len, error);
    if (err != SMA_ERR_OK && err != SMA_ERR_TOOBIG)
        return err;
    json_t *root = err == SMA_ERR_OK ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
    json_t *accepted = json_object_get(root, "accepted");
    if (!is_good(root, accepted)) {
        json_decref(root);
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "%s is damaged: no skill counts as accepted; look at them and run "
                        "`shipmyagent skills accept`",
                        path);
    }
    struct sma_skill_record *record = calloc(1, sizeof *record);
    if (record != NULL)
        record->accepted = json_incref(accepted);
    json_decref(root);
    if (record == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    *ret_record = record;
    return SMA_ERR_OK;
}

static void print_digest(const uint8_t digest[32], char text[DIGEST_TEXT_BYTES + 1])
{
    for (size_t i = 0; i < 32; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

enum sma_skill_accepted sma_skill_record_find(const struct sma_skill_record *record,
                                              const char *place, const uint8_t digest[32])
{
    char text[DIGEST_TEXT_BYTES + 1];
    const char *known = json_string_value(json_object_get(record->accepted, place));
    if (known == NULL)
        return SMA_SKILL_UNKNOWN;
    print_digest(digest, text);
    return strcmp(known, text) == 0 ? SMA_SKILL_SAME : SMA_SKILL_OTHER;
}

enum sma_err sma_skill_record_put(struct sma_skill_record *record, const char *place,
                                  const uint8_t digest[32])
{
    char text[DIGEST_TEXT_BYTES + 1];
    print_digest(digest, text);
    return json_object_set_new(record->accepted, place, json_string(text)) == 0 ? SMA_ERR_OK
                                                                                : SMA_ERR_NOMEM;
}

enum sma_err sma_skill_record_save(const struct sma_skill_record *record, const char *state_dir,
                                   struct sma_error *error)
{
    char path[PATH_MAX];
    if (!put_path(state_dir, "skills.json", path))
        return sma_fail(error, SMA_ERR_IO, "%s: the path is too long", state_dir);
    json_t *root = json_pack("{sisO}", "version", VERSION, "accepted", record->accepted);
    SMA_AUTO(sma_freep)
    char *text = root == NULL ? NULL : json_dumps(root, JSON_INDENT(1) | JSON_SORT_KEYS);
    json_decref(root);
    if (text == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    if (strlen(text) > SMA_SKILL_RECORD_BYTES_MAX)
        return sma_fail(error, SMA_ERR_TOOBIG, "%s would have more than %d bytes", path,
                        SMA_SKILL_RECORD_BYTES_MAX);
    sma_crash_hit("skills.before_record");
    SMA_TRY(sma_sys_write_file_atomic(sma_sys_real(), path, sma_str(text), 0600, error));
    sma_crash_hit("skills.after_record");
    return SMA_ERR_OK;
}

int sma_skill_record_lock(const char *state_dir, int wait_ms, struct sma_error *error)
{
    char path[PATH_MAX];
    if (!put_path(state_dir, "skills.lock", path))
        return (void)sma_fail(error, SMA_ERR_IO, "%s: the path is too long", state_dir), -1;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return (void)sma_fail_os(error, errno, "%s cannot be opened", path), -1;
    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += LOCK_STEP_MS) {
        if (waited >= wait_ms) {
            close(fd);
            return (void)sma_fail(error, SMA_ERR_BUSY,
                                  "%s is held by another program that changes the record", path),
                   -1;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = LOCK_STEP_MS * 1000000L}, NULL);
    }
    return fd;
}
