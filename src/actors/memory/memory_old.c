/*
 * memory_old.c — `.ship/memory/<enc(chatKey)>.json` of the program before: read once, offered in
 * their chats as proposals. The files stay as they are.
 */
#include "memory_priv.h"

#include "runtime/json/json_read.h"
#include "runtime/memory/memory_old.h"
#include "sma/beneath.h"
#include "sma/text.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>

#define FILE_COUNT_MAX 1000

static uint32_t offer(struct sma_memory_actor *actor, struct sma_str chat_key,
                      const json_t *entries)
{
    uint32_t count = 0;
    size_t i;
    const json_t *entry;
    struct sma_memory *proposed = memory_proposed(actor);
    struct sma_memory_scope scope = sma_memory_scope_of_chat(chat_key, &actor->person);
    if (proposed == NULL || scope.person.len == 0)
        return 0;
    json_array_foreach(entries, i, entry)
    {
        enum sma_memory_kind kind;
        uint64_t id;
        struct sma_buf tags;
        if (i >= SMA_MEMORY_FILE_FACT_COUNT_MAX ||
            !sma_memory_kind_find(sma_json_str(entry, "type"), &kind))
            continue;
        sma_buf_init(&tags, 4096);
        for (size_t k = 0; k < json_array_size(json_object_get(entry, "tags")); k++) {
            sma_buf_put_char(&tags, ' ');
            sma_buf_put_str(&tags,
                            sma_json_str_of(json_array_get(json_object_get(entry, "tags"), k)));
        }
        const struct sma_memory_new fact = {
            .text = sma_json_str(entry, "content"),
            .tags = tags.err == SMA_ERR_OK ? sma_buf_str(&tags) : SMA_STR(""),
            .kind = kind,
            .importance =
                (uint8_t)sma_json_int(entry, "importance", 1, 10, SMA_MEMORY_IMPORTANCE_USUAL),
            .merges = true,
            .wall_ms = sma_ctx_wall(actor->ctx)};
        count += sma_memory_upsert(proposed, &scope, &fact, &id) == SMA_ERR_OK;
        sma_buf_fini(&tags);
    }
    return count;
}

/* @return how many facts are new */
static uint32_t read_file(struct sma_memory_actor *actor, const char *folder, const char *name)
{
    char path[4400], stamp[MEMORY_OLD_STAMP_BYTES];
    struct sma_error error;
    char *bytes = NULL;
    size_t len = 0;
    json_t *root = NULL;
    uint32_t count = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    if (!sma_memory_old_stamp(path, stamp))
        return 0;
    if (memory_work_knows_old(actor, sma_str(name), sma_str(stamp)))
        return 0;
    enum sma_err err =
        sma_read_beneath(folder, name, SMA_MEMORY_FILE_BYTES_MAX, &bytes, &len, &error);
    if (err == SMA_ERR_OK)
        err = sma_json_load((struct sma_str){bytes, len}, &root);
    struct sma_str chat_key = sma_json_str(root, "chatKey");
    if (err == SMA_ERR_OK && chat_key.len > 0)
        count = offer(actor, chat_key, json_object_get(root, "entries"));
    else
        sma_ctx_log(actor->ctx, SMA_LOG_WARN,
                    "memory: %s is no memory file of the program before: it is passed over", path);
    json_decref(root);
    free(bytes);
    (void)(memory_work_note_old(actor, sma_str(name), sma_str(stamp)) == SMA_ERR_OK);
    return count;
}

void memory_read_old(struct sma_memory_actor *actor)
{
    char folder[4096];
    uint32_t count = 0, files = 0;
    (void)snprintf(folder, sizeof folder, "%s/memory", actor->config->state_dir);
    DIR *dir = actor->config->memory == SMA_MEMORY_REFUSE ? NULL : opendir(folder);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; files < FILE_COUNT_MAX && (entry = readdir(dir)) != NULL;) {
        if (!sma_memory_old_is_name(entry->d_name))
            continue;
        uint32_t found = read_file(actor, folder, entry->d_name);
        count += found;
        files += found > 0;
    }
    closedir(dir);
    if (count > 0)
        sma_ctx_log(actor->ctx, SMA_LOG_INFO,
                    "memory: %u facts in %u files of the program before are offered in their "
                    "chats: /memory shows and keeps them; the files stay",
                    count, files);
}
