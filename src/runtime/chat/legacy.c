/*
 * legacy.c — reading the small state files of the old program. Anything odd is skipped and counted.
 */
#include "legacy.h"

#include "sma/text.h"

#include <dirent.h>
#include <jansson.h>
#include <stdlib.h>

#define PATH_BYTES_MAX 8192
#define NAME_BYTES_MAX 1024
#define MARKER_BYTES_MAX 65536
#define INITIATOR_COUNT_MAX 100000
#define FEISHU_ID_COUNT_MAX 100000 /* of one chat */

struct legacy
{
    const struct sma_sys *sys;
    const struct sma_legacy_sink *sink;
    struct sma_legacy_counts counts;
    struct sma_error *error;
    /* while walking directories */
    struct sma_str channel, chat_key;
};

/* -- files and folders ------------------------------------------------------------------------- */
/* A file as JSON, NULL when it is missing or not usable. */
static json_t *load_json(struct legacy *legacy, const char *path, size_t bytes_max)
{
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len;
    enum sma_err err = sma_sys_read_file(legacy->sys, path, bytes_max, &bytes, &len, NULL);
    if (err == SMA_ERR_NOTFOUND)
        return NULL;
    size_t skip = err == SMA_ERR_OK && len >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    json_t *root = err == SMA_ERR_OK ? json_loadb(bytes + skip, len - skip, 0, NULL) : NULL;
    if (root == NULL)
        legacy->counts.skipped++;
    return root;
}

/* Call `each` for every entry of a folder; a folder that is not there has none. */
static enum sma_err each_name(struct legacy *legacy, const char *folder,
                              enum sma_err (*each)(struct legacy *legacy, const char *folder,
                                                   const char *name))
{
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return SMA_ERR_OK;
    enum sma_err err = SMA_ERR_OK;
    for (struct dirent *item; err == SMA_ERR_OK && (item = readdir(directory)) != NULL;) {
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0)
            err = each(legacy, folder, item->d_name);
    }
    (void)closedir(directory);
    return err;
}

/* "<enc(x)>.json" or "<enc(x)>" to x. False when it is not of that form. */
static bool decode_name(const char *name, bool has_ending, struct sma_buf *buf)
{
    struct sma_str text = sma_str(name);
    if (has_ending && (text.len <= 5 || memcmp(text.ptr + text.len - 5, ".json", 5) != 0))
        return false;
    text.len -= has_ending ? 5 : 0;
    return sma_buf_put_file_name_decoded(buf, text) == SMA_ERR_OK && buf->err == SMA_ERR_OK &&
           buf->len > 0;
}

static bool join_path(struct sma_buf *buf, const char *folder, const char *name)
{
    sma_buf_init(buf, PATH_BYTES_MAX);
    sma_buf_printf(buf, "%s/%s", folder, name);
    return buf->err == SMA_ERR_OK;
}

static enum sma_err give_claim(struct legacy *legacy, struct sma_str message_id, int64_t claimed_ms)
{
    if (legacy->counts.claims >= SMA_LEGACY_MARKER_COUNT_MAX)
        return sma_fail(legacy->error, SMA_ERR_TOOBIG,
                        "over %d markers of accepted messages under .ship/.cache",
                        SMA_LEGACY_MARKER_COUNT_MAX);
    legacy->counts.claims++;
    return legacy->sink->claim == NULL
               ? SMA_ERR_OK
               : legacy->sink->claim(legacy->sink->self, legacy->channel, legacy->chat_key,
                                     message_id, claimed_ms);
}

/* -- ingress markers --------------------------------------------------------------------------- */
/* The name of the file alone is the claim; the time inside is welcome. */
static enum sma_err read_marker(struct legacy *legacy, const char *folder, const char *name)
{
    struct sma_buf message_id, path;
    sma_buf_init(&message_id, NAME_BYTES_MAX);
    bool is_marker = decode_name(name, true, &message_id);
    enum sma_err err = SMA_ERR_OK;
    if (!is_marker) {
        legacy->counts.skipped++;
    } else {
        json_t *root =
            join_path(&path, folder, name) ? load_json(legacy, path.ptr, MARKER_BYTES_MAX) : NULL;
        int64_t claimed_ms = (int64_t)json_integer_value(json_object_get(root, "claimedAt"));
        json_decref(root);
        sma_buf_fini(&path);
        err = give_claim(legacy, sma_buf_str(&message_id), claimed_ms > 0 ? claimed_ms : 0);
    }
    sma_buf_fini(&message_id);
    return err;
}

static enum sma_err read_marker_chat(struct legacy *legacy, const char *folder, const char *name)
{
    struct sma_buf chat_key, path;
    sma_buf_init(&chat_key, NAME_BYTES_MAX);
    enum sma_err err = SMA_ERR_OK;
    if (!decode_name(name, false, &chat_key)) {
        legacy->counts.skipped++;
    } else {
        legacy->chat_key = sma_buf_str(&chat_key);
        if (join_path(&path, folder, name))
            err = each_name(legacy, path.ptr, read_marker);
        sma_buf_fini(&path);
    }
    sma_buf_fini(&chat_key);
    return err;
}

static enum sma_err read_marker_channel(struct legacy *legacy, const char *folder, const char *name)
{
    struct sma_buf path;
    enum sma_err err = SMA_ERR_OK;
    legacy->channel = sma_str(name);
    if (join_path(&path, folder, name))
        err = each_name(legacy, path.ptr, read_marker_chat);
    sma_buf_fini(&path);
    return err;
}

/* -- Feishu's seen messages -------------------------------------------------------------------- */
static enum sma_err read_feishu_ids(struct legacy *legacy, const json_t *root)
{
    const json_t *ids = json_object_get(root, "ids");
    for (size_t i = 0; i < json_array_size(ids) && i < FEISHU_ID_COUNT_MAX; i++) {
        const json_t *id = json_array_get(ids, i);
        if (json_string_length(id) == 0)
            continue;
        struct sma_str text = {json_string_value(id), json_string_length(id)};
        SMA_TRY(give_claim(legacy, text, 0));
    }
    return SMA_ERR_OK;
}

static enum sma_err read_feishu_chat(struct legacy *legacy, const char *folder, const char *name)
{
    struct sma_buf chat_key, path;
    sma_buf_init(&chat_key, NAME_BYTES_MAX);
    enum sma_err err = SMA_ERR_OK;
    if (!decode_name(name, true, &chat_key)) {
        legacy->counts.skipped++;
    } else {
        legacy->channel = SMA_STR("feishu");
        legacy->chat_key = sma_buf_str(&chat_key);
        json_t *root = join_path(&path, folder, name)
                           ? load_json(legacy, path.ptr, SMA_LEGACY_FILE_BYTES_MAX)
                           : NULL;
        sma_buf_fini(&path);
        err = read_feishu_ids(legacy, root);
        json_decref(root);
    }
    sma_buf_fini(&chat_key);
    return err;
}

/* -- single files ------------------------------------------------------------------------------ */
static enum sma_err read_initiators(struct legacy *legacy, const char *cache, const char *channel)
{
    struct sma_buf path;
    sma_buf_init(&path, PATH_BYTES_MAX);
    sma_buf_printf(&path, "%s/%s/threadInitiators.json", cache, channel);
    json_t *root =
        path.err == SMA_ERR_OK ? load_json(legacy, path.ptr, SMA_LEGACY_FILE_BYTES_MAX) : NULL;
    sma_buf_fini(&path);
    enum sma_err err = SMA_ERR_OK;
    const char *key;
    json_t *value;
    size_t count = 0;
    json_object_foreach(json_object_get(root, "initiators"), key, value)
    {
        if (json_string_length(value) == 0 || key[0] == '\0' || count++ >= INITIATOR_COUNT_MAX)
            continue;
        legacy->counts.initiators++;
        struct sma_str user_id = {json_string_value(value), json_string_length(value)};
        if (legacy->sink->initiator != NULL)
            err = legacy->sink->initiator(legacy->sink->self, sma_str(channel), sma_str(key),
                                          user_id);
        if (err != SMA_ERR_OK)
            break;
    }
    json_decref(root);
    return err;
}

static enum sma_err read_telegram_update(struct legacy *legacy, const char *cache)
{
    struct sma_buf path;
    json_t *root = join_path(&path, cache, "telegram/lastUpdateId.json")
                       ? load_json(legacy, path.ptr, SMA_LEGACY_FILE_BYTES_MAX)
                       : NULL;
    sma_buf_fini(&path);
    int64_t update_id =
        (int64_t)json_integer_value(json_object_get(root, "lastUpdateId")); /* 0 when it is none */
    json_decref(root);
    if (update_id <= 0 || legacy->sink->telegram_update == NULL)
        return SMA_ERR_OK;
    return legacy->sink->telegram_update(legacy->sink->self, update_id);
}

static enum sma_err walk_cache(struct legacy *legacy, const char *cache)
{
    struct sma_buf ingress, dedupe;
    enum sma_err err = join_path(&ingress, cache, "ingress") ? SMA_ERR_OK : ingress.err;
    if (!join_path(&dedupe, cache, "feishu/dedupe"))
        err = dedupe.err;
    if (err == SMA_ERR_OK)
        err = read_telegram_update(legacy, cache);
    if (err == SMA_ERR_OK)
        err = read_initiators(legacy, cache, "telegram");
    if (err == SMA_ERR_OK)
        err = read_initiators(legacy, cache, "feishu");
    if (err == SMA_ERR_OK)
        err = each_name(legacy, dedupe.ptr, read_feishu_chat);
    if (err == SMA_ERR_OK) /* last: the only one that may be cut short by its number */
        err = each_name(legacy, ingress.ptr, read_marker_channel);
    sma_buf_fini(&ingress);
    sma_buf_fini(&dedupe);
    return err;
}

enum sma_err sma_legacy_walk(const struct sma_sys *sys, const char *ship_directory,
                             const struct sma_legacy_sink *sink,
                             struct sma_legacy_counts *ret_counts, struct sma_error *error)
{
    struct legacy legacy = {.sys = sys, .sink = sink, .error = error};
    struct sma_buf cache;
    enum sma_err err =
        join_path(&cache, ship_directory, ".cache")
            ? walk_cache(&legacy, cache.ptr)
            : sma_fail(error, cache.err, "the path %.60s... is too long", ship_directory);
    sma_buf_fini(&cache);
    if (ret_counts != NULL)
        *ret_counts = legacy.counts;
    return err;
}
