/*
 * stream_file.c — what the next life has to know of streams. Renamed into place, not synced: it
 * outlives the program; a power cut may leave a message as it is.
 */
#include "stream.h"

#include "runtime/json/json_read.h"

#include <stdio.h>

#define FILE_BYTES_MAX (512 * 1024)
#define PATH_BYTES_MAX 4096
#define LEFT_S 90               /* after a restart, for the run to go on */
#define CLAIMED_S (6 * 3600)    /* the same, for the row to come again */
#define OLD_KEY "sma-card-%llu" /* of versions that wrote none down */

static bool file_path(const struct sma_streams *streams, char path[PATH_BYTES_MAX])
{
    const struct sma_stream_home *home = &streams->home;
    int len =
        snprintf(path, PATH_BYTES_MAX, "%s/%s%s", home->project_dir, home->folder, home->ops->file);
    return len > 0 && len < PATH_BYTES_MAX;
}

static void put_text(struct sma_buf *json, const char *name, const char *text)
{
    sma_buf_put_json_key(json, name);
    sma_buf_put_json_string(json, sma_str(text));
}

static void put_stream(struct sma_buf *json, const struct sma_stream *stream)
{
    sma_buf_put_text(json, json->len == 1 ? "\n{" : ",\n{");
    sma_buf_put_json_key(json, "seq");
    sma_buf_put_u64(json, stream->seq);
    put_text(json, "chat", stream->chat_id);
    put_text(json, "type", stream->chat_type);
    put_text(json, "thread", stream->thread_id);
    put_text(json, "reply", stream->message_id);
    put_text(json, "card", stream->handle);
    put_text(json, "entity", stream->entity);
    put_text(json, "uuid", stream->key);
    sma_buf_put_json_key(json, "number");
    sma_buf_put_u64(json, stream->number);
    sma_buf_put_json_key(json, "at");
    sma_buf_put_i64(json, stream->made_wall_ms);
    sma_buf_put_json_key(json, "outbox");
    sma_buf_put_u64(json, stream->outbox_id);
    sma_buf_put_char(json, '}');
}

static SMA_CHECKED enum sma_err write_file(struct sma_streams *streams, struct sma_str json)
{
    char path[PATH_BYTES_MAX];
    const struct sma_sys *sys = sma_ctx_sys(streams->home.ctx);
    char *slash = file_path(streams, path) ? strrchr(path, '/') : NULL;
    if (slash == NULL)
        return SMA_ERR_TOOBIG;
    *slash = '\0';
    SMA_TRY(sma_sys_make_dirs(sys, path, NULL));
    *slash = '/';
    return sma_sys_write_file_unsynced(sys, path, json, 0600, NULL);
}

bool sma_stream_file_save(struct sma_streams *streams)
{
    struct sma_buf json;
    sma_buf_init(&json, FILE_BYTES_MAX);
    sma_buf_put_char(&json, '[');
    for (size_t i = 0; i < SMA_STREAM_COUNT_MAX; i++)
        if (streams->places[i].seq != 0 && streams->places[i].made_wall_ms != 0)
            put_stream(&json, &streams->places[i]);
    sma_buf_put_text(&json, "]\n");
    enum sma_err err = json.err == SMA_ERR_OK ? write_file(streams, sma_buf_str(&json)) : json.err;
    sma_buf_fini(&json);
    if (err != SMA_ERR_OK && !streams->is_file_told)
        sma_ctx_log(streams->home.ctx, SMA_LOG_WARN,
                    "%s: cannot write %s%s (%s): answers are not streamed", streams->home.name,
                    streams->home.folder, streams->home.ops->file, sma_err_text(err));
    streams->is_file_told = err != SMA_ERR_OK;
    return err == SMA_ERR_OK;
}

/* -- reading ----------------------------------------------------------------------------------- */
/* Without a key nobody finds a message whose id was not heard of; its run shows no second one. */
static void set_state(struct sma_stream *stream, const struct sma_stream_ops *ops)
{
    uint64_t now_ns = stream->heard_ns;
    bool is_lost = stream->handle[0] == '\0' && !ops->is_idempotent;
    stream->state = (uint8_t)(is_lost                  ? SMA_STREAM_NONE
                              : stream->outbox_id != 0 ? SMA_STREAM_CLAIMED
                                                       : SMA_STREAM_WAITING);
    stream->due_ns = now_ns + (stream->outbox_id != 0 ? CLAIMED_S : LEFT_S) * SMA_NS_PER_S;
    if (is_lost) {
        sma_ctx_log(stream->streams->home.ctx, SMA_LOG_WARN,
                    "%s: the beginning of a streamed answer may stay in a chat: the program ended "
                    "before its number was known",
                    stream->streams->home.name);
        stream->made_wall_ms = 0;
    }
}

static void read_stream(struct sma_streams *streams, struct sma_stream *stream, const json_t *item)
{
    int64_t seq = sma_json_int(item, "seq", 1, INT64_MAX, 0);
    const struct sma_stream_ops *ops = streams->home.ops;
    if (seq == 0)
        return;
    *stream = (struct sma_stream){
        .streams = streams,
        .seq = (uint64_t)seq,
        .is_left = true,
        .number = (uint32_t)sma_json_int(item, "number", 0, INT32_MAX, 0) + ops->life_step,
        .made_wall_ms = sma_json_int(item, "at", 1, INT64_MAX, 1),
        .outbox_id = (uint64_t)sma_json_int(item, "outbox", 0, INT64_MAX, 0),
        .heard_ns = sma_ctx_now(streams->home.ctx),
    };
    stream->rested_ns = stream->heard_ns; /* its last request may have been just now */
    sma_buf_init(&stream->text, SMA_STREAM_TEXT_BYTES_MAX);
    sma_buf_init(&stream->shown, SMA_STREAM_TEXT_BYTES_MAX);
    SMA_STREAM_SET(stream->chat_id, sma_json_str(item, "chat"));
    SMA_STREAM_SET(stream->chat_type, sma_json_str(item, "type"));
    SMA_STREAM_SET(stream->thread_id, sma_json_str(item, "thread"));
    SMA_STREAM_SET(stream->message_id, sma_json_str(item, "reply"));
    SMA_STREAM_SET(stream->handle, sma_json_str(item, "card"));
    SMA_STREAM_SET(stream->entity, sma_json_str(item, "entity"));
    SMA_STREAM_SET(stream->key, sma_json_str(item, "uuid"));
    if (stream->key[0] == '\0')
        snprintf(stream->key, sizeof stream->key, OLD_KEY, (unsigned long long)stream->seq);
    if (sma_json_int(item, "thread", 0, 1, 0) == 1) /* of versions that wrote no more of it */
        SMA_STREAM_SET(stream->thread_id, SMA_STR("1"));
    streams->count++;
    set_state(stream, ops);
}

void sma_stream_file_read(struct sma_streams *streams)
{
    char path[PATH_BYTES_MAX];
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len, index;
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    json_t *item;
    if (!file_path(streams, path) ||
        sma_sys_read_file(sma_ctx_sys(streams->home.ctx), path, FILE_BYTES_MAX, &bytes, &len,
                          NULL) != SMA_ERR_OK ||
        sma_json_load((struct sma_str){bytes, len}, &root) != SMA_ERR_OK)
        return; /* nothing was left */
    json_array_foreach(root, index, item)
    {
        if (streams->count < SMA_STREAM_COUNT_MAX)
            read_stream(streams, &streams->places[streams->count], item);
    }
    if (streams->count > 0)
        (void)sma_stream_file_save(streams); /* the numbers of this life are begun */
}
