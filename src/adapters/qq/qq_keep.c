/*
 * qq_keep.c — where we are in the platform's stream of events, over a restart.
 *
 * The file holds the session and the sequence number at which it was written (its start, or the
 * last orderly end); the store's cursor holds how far the events behind that have become durable.
 * The cursor carries an epoch, a mark of the session, so that a number of an older session is never
 * taken for one of a newer.
 */
#include "qq_priv.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <stdio.h>

#define EPOCH_BITS 20
#define SEQ_BITS 40
#define EPOCH_MASK ((UINT32_C(1) << EPOCH_BITS) - 1)
#define SEQ_MASK ((INT64_C(1) << SEQ_BITS) - 1)
#define PATH_BYTES_MAX 4096
#define FILE_BYTES_MAX 8192

int64_t qq_cursor_make(uint32_t epoch, int64_t seq)
{
    return (int64_t)(epoch & EPOCH_MASK) << SEQ_BITS | (seq & SEQ_MASK);
}

int64_t qq_cursor_seq(uint32_t epoch, int64_t cursor)
{
    bool is_same = cursor > 0 && epoch != 0 && (uint32_t)(cursor >> SEQ_BITS) == epoch;
    return is_same ? cursor & SEQ_MASK : -1;
}

/* Seconds repeat after twelve days; only that it differs from the one before matters. */
uint32_t qq_epoch_make(int64_t wall_ms, uint32_t previous)
{
    uint32_t epoch = (uint32_t)(wall_ms / 1000) & EPOCH_MASK;
    while (epoch == 0 || epoch == previous)
        epoch = (epoch + 1) & EPOCH_MASK;
    return epoch;
}

static bool make_path(const struct qq_shard *shard, char path[PATH_BYTES_MAX])
{
    int len =
        snprintf(path, PATH_BYTES_MAX, "%s/%ssession-%u.json", shard->qq->base.config->project_dir,
                 shard->qq->base.home.folder, shard->index);
    return len > 0 && len < PATH_BYTES_MAX;
}

/* -- reading ----------------------------------------------------------------------------------- */
static bool is_ours(const struct qq_settings *settings, const json_t *root)
{
    return sma_str_is_equal(sma_json_str(root, "appId"), sma_str(settings->app_id)) &&
           sma_str_is_equal(sma_json_str(root, "apiRoot"), sma_str(settings->api_root)) &&
           sma_json_int(root, "shards", 1, QQ_SHARD_COUNT_MAX, 0) == settings->shard_count &&
           sma_json_int(root, "intents", 0, UINT32_MAX, -1) == settings->intents;
}

static void take(struct qq_shard *shard, const json_t *root)
{
    struct qq *qq = shard->qq;
    struct sma_str id = sma_json_str(root, "sessionId"), bot = sma_json_str(root, "botId");
    int64_t seq = sma_json_int(root, "seq", 0, SEQ_MASK, -1);
    int64_t epoch = sma_json_int(root, "epoch", 1, EPOCH_MASK, 0);
    if (id.len == 0 || id.len >= sizeof shard->kept_id || seq < 0 || epoch == 0)
        return;
    memcpy(shard->kept_id, id.ptr, id.len);
    shard->kept_id[id.len] = '\0';
    shard->kept_seq = seq;
    shard->epoch = (uint32_t)epoch;
    if (bot.len < sizeof qq->bot_id && qq->bot_id[0] == '\0')
        snprintf(qq->bot_id, sizeof qq->bot_id, "%.*s", (int)bot.len, bot.ptr);
}

void qq_keep_read(struct qq_shard *shard)
{
    char path[PATH_BYTES_MAX], *bytes = NULL;
    size_t len = 0;
    struct sma_error error = {0};
    if (!make_path(shard, path) ||
        sma_sys_read_file(sma_ctx_sys(shard->qq->ctx), path, FILE_BYTES_MAX, &bytes, &len,
                          &error) != SMA_ERR_OK)
        return; /* none, or unreadable: a new session loses only what happened meanwhile */
    json_t *root = NULL;
    if (sma_json_load((struct sma_str){bytes, len}, &root) == SMA_ERR_OK &&
        is_ours(&shard->qq->settings, root))
        take(shard, root);
    json_decref(root);
    free(bytes);
}

/* -- writing ----------------------------------------------------------------------------------- */
static void put_file(struct sma_buf *buf, const struct qq_shard *shard)
{
    const struct qq *qq = shard->qq;
    const struct qq_session *session = &shard->session;
    sma_buf_put_text(buf, "{\"appId\":");
    sma_buf_put_json_string(buf, sma_str(qq->settings.app_id));
    sma_buf_put_text(buf, ",\"apiRoot\":");
    sma_buf_put_json_string(buf, sma_str(qq->settings.api_root));
    sma_buf_printf(buf, ",\"shards\":%u,\"intents\":%u,\"epoch\":%u,\"seq\":%lld,\"botId\":",
                   qq->settings.shard_count, qq->settings.intents, shard->epoch,
                   (long long)session->durable_seq);
    sma_buf_put_json_string(buf, sma_str(qq->bot_id));
    sma_buf_put_text(buf, ",\"sessionId\":");
    sma_buf_put_json_string(buf, (struct sma_str){session->session_id, session->session_id_len});
    sma_buf_put_text(buf, "}\n");
}

static enum sma_err make_folder(struct qq *qq, struct sma_error *error)
{
    char path[PATH_BYTES_MAX];
    snprintf(path, sizeof path, "%s/%s", qq->base.config->project_dir, qq->base.home.folder);
    return sma_sys_make_dirs(sma_ctx_sys(qq->ctx), path, error);
}

void qq_keep_write(struct qq_shard *shard)
{
    struct qq *qq = shard->qq;
    const struct sma_sys *sys = sma_ctx_sys(qq->ctx);
    char path[PATH_BYTES_MAX];
    if (!make_path(shard, path))
        return;
    if (shard->session.session_id_len == 0) {
        (void)sys->unlink(sys->self, path); /* left behind, the platform refuses its session */
        return;
    }
    struct sma_error error = {0};
    struct sma_buf buf;
    sma_buf_init(&buf, FILE_BYTES_MAX);
    put_file(&buf, shard);
    enum sma_err err = buf.err == SMA_ERR_OK ? make_folder(qq, &error) : buf.err;
    if (err == SMA_ERR_OK)
        err = sma_sys_write_file_atomic(sys, path, sma_buf_str(&buf), 0600, &error);
    sma_buf_fini(&buf);
    if (err != SMA_ERR_OK)
        sma_platform_log(&qq->base, SMA_LOG_WARN,
                         "the session could not be kept (%s): events during the next restart would "
                         "be lost",
                         error.text[0] == '\0' ? sma_err_text(err) : error.text);
}
