/*
 * look.c — /tasks and /logs: commands that only look. See runs_priv.h.
 *
 * This version runs no tasks: /tasks says so, and for owners and administrators names those of
 * .ship/tasks. /logs shows lines of the log's ring (log_ring.h), whose secrets are masked, and only
 * in private: what concerns this chat, or everything to an owner who says "all".
 */
#include "people.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/approval/card.h"
#include "runtime/json/json_read.h"
#include "sma/beneath.h"
#include "sma/log_ring.h"
#include "sma/text.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>

#define LINE_BYTES_MAX 240
#define VALUE_BYTES_MAX 80
#define TASK_BYTES_MAX 65536

static SMA_CHECKED enum sma_err put(const struct store_command *command, enum sma_notice notice)
{
    sma_buf_clear(command->text);
    sma_notice_format(command->text, command->language, notice);
    return command->text->err;
}

/* Untrusted text as a part of a line. */
static void put_cut(struct sma_buf *buf, struct sma_str text, size_t max)
{
    bool is_cut = text.len > max;
    text.len = is_cut ? sma_utf8_cut(text, max) : text.len;
    sma_card_put_line(buf, text);
    sma_buf_put_text(buf, is_cut ? "..." : "");
}

/* By himself: what a platform says of a group's administrators counts in the group only. */
static enum sma_standing standing_of(struct sma_store *store, const struct store_command *command)
{
    const struct sma_ingress *in = command->ingress;
    return sma_store_standing(store, command->chat, &in->route, in->is_group);
}

/* -- tasks ------------------------------------------------------------------------------------- */
static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The first ones by name of at most so many that are looked at. @return how many there are */
static uint32_t list_names(const char *folder, char *ret_names[SMA_TASKS_SEEN_COUNT_MAX],
                           bool *ret_is_more)
{
    uint32_t count = 0;
    const struct dirent *entry;
    *ret_is_more = false;
    DIR *dir = opendir(folder);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        size_t len = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || len < 4 || strcmp(entry->d_name + len - 3, ".md") != 0)
            continue;
        if (count == SMA_TASKS_SEEN_COUNT_MAX) {
            *ret_is_more = true;
            break;
        }
        ret_names[count] = strdup(entry->d_name);
        count += ret_names[count] != NULL;
    }
    if (dir != NULL)
        (void)closedir(dir);
    qsort(ret_names, count, sizeof *ret_names, by_name);
    return count;
}

/* Of the front matter, which is plain "key: value". Slice of text. */
static struct sma_str front_value(struct sma_str text, const char *key)
{
    size_t at = 0, key_len = strlen(key);
    for (uint32_t line = 0; at < text.len; line++) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = end == NULL ? text.len - at : (size_t)(end - text.ptr) - at;
        struct sma_str here = sma_str_trim((struct sma_str){text.ptr + at, len});
        bool is_fence = sma_str_is_equal(here, SMA_STR("---"));
        if (line == 0 ? !is_fence : is_fence)
            break;
        if (here.len > key_len && memcmp(here.ptr, key, key_len) == 0 && here.ptr[key_len] == ':')
            return sma_str_trim((struct sma_str){here.ptr + key_len + 1, here.len - key_len - 1});
        at += len + 1;
    }
    return SMA_STR("");
}

/* "\ndaily — Daily report (0 9 * * *)" */
static void put_task(const struct store_command *command, const char *folder, const char *name)
{
    char *bytes = NULL;
    size_t len = 0;
    struct sma_buf *text = command->text;
    struct sma_str id = {name, strlen(name) - 3};
    sma_buf_put_text(text, "\n");
    put_cut(text, id, VALUE_BYTES_MAX);
    if (sma_read_beneath(folder, name, TASK_BYTES_MAX, &bytes, &len, NULL) != SMA_ERR_OK)
        return;
    struct sma_str all = {bytes, len};
    struct sma_str title = front_value(all, "name"), cron = front_value(all, "cron");
    if (title.len > 0) {
        sma_buf_put_text(text, " — ");
        put_cut(text, title, VALUE_BYTES_MAX);
    }
    if (cron.len > 0) {
        sma_buf_put_text(text, " (");
        put_cut(text, cron, VALUE_BYTES_MAX);
        sma_buf_put_char(text, ')');
    }
    free(bytes);
}

enum sma_err sma_store_show_tasks(struct sma_store *store, const struct store_command *command)
{
    char folder[PATH_MAX], *names[SMA_TASKS_SEEN_COUNT_MAX];
    bool is_more;
    (void)snprintf(folder, sizeof folder, "%s/tasks", store->config->state_dir);
    uint32_t count = list_names(folder, names, &is_more);
    sma_notice_format(command->text, command->language,
                      count == 0 ? SMA_NOTICE_TASKS_NONE : SMA_NOTICE_TASKS_NOT_RUN, count,
                      is_more ? "+" : "");
    bool may_see = standing_of(store, command) >= SMA_STANDING_ADMIN;
    for (uint32_t i = 0; i < count; i++) {
        if (may_see && i < SMA_TASKS_SHOWN_COUNT_MAX)
            put_task(command, folder, names[i]);
        free(names[i]);
    }
    if (may_see && (is_more || count > SMA_TASKS_SHOWN_COUNT_MAX))
        sma_buf_put_text(command->text, "\n...");
    sma_buf_put_char(command->text, '\n');
    sma_notice_format(command->text, command->language, SMA_NOTICE_STATUS,
                      sma_queue_chat_waiting(store->queue, command->chat->id),
                      sma_queue_waiting(store->queue), store->runs->wait_count,
                      (unsigned)sma_store_answered_count(store));
    return command->text->err;
}

/* -- the log ----------------------------------------------------------------------------------- */
static bool concerns(const json_t *line, const struct store_chat *chat)
{
    struct sma_str key = sma_json_str(json_object_get(line, "details"), "chatKey");
    return key.len > 0 && sma_str_is_equal(sma_store_chat_base(key),
                                           sma_store_chat_base(sma_store_chat_key(chat)));
}

static void put_log_line(struct sma_buf *text, const json_t *line)
{
    sma_buf_put_text(text, text->len > 0 ? "\n" : "");
    sma_buf_put_str(text, sma_json_str(line, "timestamp"));
    sma_buf_put_char(text, ' ');
    sma_buf_put_str(text, sma_json_str(line, "level"));
    sma_buf_put_char(text, ' ');
    put_cut(text, sma_json_str(line, "message"), LINE_BYTES_MAX);
}

static void put_log(const struct store_command *command, const json_t *lines, bool is_all)
{
    size_t shown[SMA_LOGS_SHOWN_COUNT_MAX], count = 0;
    for (size_t i = json_array_size(lines); i > 0 && count < SMA_COUNT_OF(shown); i--)
        if (is_all || concerns(json_array_get(lines, i - 1), command->chat))
            shown[count++] = i - 1;
    while (count > 0)
        put_log_line(command->text, json_array_get(lines, shown[--count]));
}

enum sma_err sma_store_show_logs(struct sma_store *store, const struct store_command *command)
{
    enum sma_standing standing = standing_of(store, command);
    bool is_all = sma_str_is_equal_nocase(command->argument, SMA_STR("all")) ||
                  sma_str_is_equal(command->argument, SMA_STR("全部"));
    if (command->ingress->is_group || standing < SMA_STANDING_ADMIN ||
        (is_all && standing != SMA_STANDING_OWNER))
        return put(command, SMA_NOTICE_LOGS_OWNERS);
    struct sma_buf json;
    sma_buf_init(&json, SMA_LOG_RING_BYTES + 2);
    sma_buf_put_char(&json, '[');
    sma_log_ring_format(&json, SMA_LOG_RING_LINE_COUNT);
    sma_buf_put_char(&json, ']');
    json_t *root = NULL;
    sma_buf_clear(command->text);
    if (json.err == SMA_ERR_OK && sma_json_load(sma_buf_str(&json), &root) == SMA_ERR_OK)
        put_log(command, root, is_all);
    json_decref(root);
    sma_buf_fini(&json);
    return command->text->len == 0 ? put(command, SMA_NOTICE_LOGS_NONE) : command->text->err;
}
