/*
 * fetch_again.c — FETCH: what came with an earlier message is fetched once more.
 *
 * A line of the history says how the platform calls each file (meta.files, as the adapter
 * wrote it for PREPARE). The line is searched for in slices like any other (query.c), then the
 * adapter is asked PREPARE, with seq 0: no row is held by it. What is told is what lies on the disk
 * then. Nothing is durable: a restart interrupts the call.
 */
#include "outbox.h"
#include "platform_ask.h"
#include "query_priv.h"
#include "record.h"
#include "store.h"

#include "runtime/access/roles.h"
#include "runtime/json/json_read.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#define FETCH_NS (SMA_PREPARE_S * UINT64_C(1000000000))
#define FILES_BYTES_MAX (64 * 1024)

static void answer(struct sma_store *store, const struct sma_msg *question,
                   const struct sma_fetched *fetched)
{
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_fetched(fetched));
    sma_ctx_answer(store->ctx, question, &msg);
}

static void refuse(struct sma_store *store, const struct sma_msg *question, enum sma_err err,
                   const char *words)
{
    answer(store, question, &(struct sma_fetched){.err = (uint8_t)err, .error = sma_str(words)});
}

void sma_store_fetch(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_fetch_ask *ask = SMA_MSG_BODY(*msg, struct sma_fetch_ask);
    if (sma_store_adapter_of(store, &ask->route) < 0 ||
        sma_access_is_trusted_channel(ask->route.channel))
        refuse(store, *msg, SMA_ERR_NOTFOUND,
               "Files of this chat are on this machine from the start; there is no platform to "
               "ask for them.");
    else
        sma_store_enqueue_search(store, msg);
}

void sma_store_fetch_query(const struct sma_fetch_ask *ask, struct sma_history_query *ret_query)
{
    *ret_query = (struct sma_history_query){.chat_key = ask->route.chat_key,
                                            .limit = 1,
                                            .is_raw = true,
                                            .wants_attachments = true,
                                            .message_id = ask->message_id,
                                            .attached_path = ask->path};
}

/* -- asking the platform ----------------------------------------------------------------------- */
/* A file of an adapter; whoever edits the history names no other. */
static bool is_cached(const char *path)
{
    static const char folder[] = ".ship/.cache/";
    if (strncmp(path, folder, sizeof folder - 1) != 0 || path[sizeof folder - 1] == '.')
        return false;
    const char *name = strchr(path + sizeof folder - 1, '/');
    return name != NULL && name[1] != '.' && name[1] != '\0' && strchr(name + 1, '/') == NULL;
}

/* The files of the line that are wanted, as they stood in its preparation. */
static json_t *read_files(struct sma_str line, struct sma_str path)
{
    json_t *root = NULL, *wanted = json_array(), *item;
    size_t i;
    if (sma_json_load(line, &root) != SMA_ERR_OK || wanted == NULL) {
        json_decref(root);
        return wanted;
    }
    json_array_foreach(json_object_get(json_object_get(root, "meta"), "files"), i, item)
    {
        const char *its = json_string_value(json_object_get(item, "path"));
        if (its != NULL && is_cached(its) &&
            (path.len == 0 || sma_str_is_equal(path, sma_str(its))))
            (void)json_array_append(wanted, item);
    }
    json_decref(root);
    return wanted;
}

/* -- what came --------------------------------------------------------------------------------- */
static void put_member(struct sma_buf *buf, const json_t *item, const char *name)
{
    const char *text = json_string_value(json_object_get(item, name));
    if (text == NULL || text[0] == '\0')
        return;
    sma_buf_put_json_member(buf, name, sma_str(text));
}

/* Those of them that are there. */
static void put_files(struct sma_store *store, const json_t *files, struct sma_buf *buf)
{
    char place[PATH_MAX];
    struct stat facts;
    json_t *item;
    size_t i;
    sma_buf_put_char(buf, '[');
    json_array_foreach(files, i, item)
    {
        const char *path = json_string_value(json_object_get(item, "path"));
        int len = path == NULL
                      ? -1
                      : snprintf(place, sizeof place, "%s/%s", store->config->project_dir, path);
        if (len < 0 || (size_t)len >= sizeof place || lstat(place, &facts) != 0 ||
            !S_ISREG(facts.st_mode))
            continue;
        sma_buf_put_text(buf, buf->len > 1 ? ",{" : "{");
        sma_buf_put_text(buf, "\"path\":");
        sma_buf_put_json_string(buf, sma_str(path));
        put_member(buf, item, "kind");
        put_member(buf, item, "name");
        put_member(buf, item, "mime");
        sma_buf_printf(buf, ",\"bytes\":%lld}", (long long)facts.st_size);
    }
    sma_buf_put_char(buf, ']');
}

/* kept: the preparation. What the adapter could not have is said in its context. */
static void tell(struct sma_store *store, const struct sma_msg *question, struct sma_str kept,
                 const struct sma_prepared *said, struct sma_str why)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    json_t *files = NULL;
    struct sma_str missing = said == NULL ? why : said->context;
    sma_buf_init(&buf, FILES_BYTES_MAX);
    if (sma_json_load(kept, &files) != SMA_ERR_OK)
        files = NULL;
    put_files(store, files, &buf);
    json_decref(files);
    if (missing.len > SMA_META_BYTES_MAX)
        missing.len = sma_utf8_cut(missing, SMA_META_BYTES_MAX);
    answer(store, question,
           &(struct sma_fetched){.files_json =
                                     buf.err == SMA_ERR_OK ? sma_buf_str(&buf) : SMA_STR("[]"),
                                 .missing = missing});
}

/* Takes files. */
static void ask_adapter(struct sma_store *store, struct sma_msg **question, json_t *files)
{
    char *preparation = json_dumps(files, JSON_COMPACT);
    struct sma_str kept = sma_str(preparation == NULL ? "" : preparation);
    const struct sma_fetch_ask *asked = SMA_MSG_BODY(*question, struct sma_fetch_ask);
    struct sma_prepare prepare = {.route = asked->route, .preparation = kept};
    enum sma_err err = preparation == NULL ? SMA_ERR_NOMEM
                                           : sma_store_ask_platform(store, question, &prepare,
                                                                    FETCH_NS, kept, tell);
    if (err != SMA_ERR_OK)
        refuse(store, *question, SMA_ERR_BUSY,
               "Too much is being fetched now, or the program is stopping. Try again later.");
    free(preparation);
    json_decref(files);
}

void sma_store_fetch_found(struct sma_store *store, struct store_search *search, enum sma_err err,
                           const struct sma_error *error)
{
    uint32_t count = 0;
    bool is_cut;
    const struct sma_fetch_ask *ask = SMA_MSG_BODY(search->question, struct sma_fetch_ask);
    const struct sma_history_item *items =
        err == SMA_ERR_OK ? sma_history_read_items(search->reader, &count, &is_cut) : NULL;
    json_t *files = count > 0 ? read_files(items[0].line, ask->path) : NULL;
    if (err != SMA_ERR_OK) {
        refuse(store, search->question, err, error->text[0] ? error->text : sma_err_text(err));
    } else if (json_array_size(files) == 0) {
        json_decref(files);
        refuse(store, search->question, SMA_ERR_NOTFOUND,
               "No earlier message of this chat with this id or path has files that can be "
               "fetched again. chat_load_history tells ids and, in @attach lines, paths; what "
               "came before this version of the program is not known any more.");
    } else {
        ask_adapter(store, &search->question, files);
    }
}
