/*
 * Aim: every hand-made update and error of the protocol's vectors becomes exactly what the golden
 * file says.
 * Method: tests/vectors/telegram is read, listed as text and compared byte for byte with
 * tests/golden/telegram/updates.txt. To accept a change: run this program with the golden file's
 * path as its argument, and read the difference.
 */
#include "telegram_in_support.h"

#include "sma/text.h"

#include <jansson.h>

static const char *golden_to_write;

static const char *const kinds[] = {"message", "control", "callback", "note"};
static const char *const controls[] = {"none", "stop", "clear", "status", "help", "unknown"};
static const char *const ways[] = {"private", "mention", "reply", "none"};

static json_t *load(const char *name)
{
    char path[1024];
    json_error_t problem;
    snprintf(path, sizeof path, "%s/tests/vectors/telegram/%s", SMA_SOURCE_DIR, name);
    json_t *root = json_load_file(path, 0, &problem);
    if (root == NULL)
        fprintf(stderr, "%s: %s\n", path, problem.text);
    CHECK(root != NULL);
    return root;
}

static void put_line(struct sma_buf *out, const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    sma_buf_printf(out, "  %-12s ", name);
    sma_buf_put_json_string(out, sma_str(value));
    sma_buf_put_char(out, '\n');
}

static void put_seen(struct sma_buf *out, const char *name, const struct seen *seen)
{
    sma_buf_printf(out, "%s: update %" PRId64 ", %s", name, seen->update_id,
                   seen->is_ingress ? kinds[seen->kind] : "ignored");
    if (!seen->is_ingress)
        sma_buf_printf(out, ": %s", seen->why);
    sma_buf_put_char(out, '\n');
    put_line(out, "callback", seen->callback_id);
    if (!seen->is_ingress)
        return;
    sma_buf_printf(out,
                   "  addressed    %s, control %s, group %d, record only %d, wall %" PRId64 "\n",
                   ways[seen->addressed], controls[seen->control], seen->is_group,
                   seen->is_record_only, seen->wall_ms);
    put_line(out, "chat key", seen->chat_key);
    put_line(out, "event key", seen->event_key);
    put_line(out, "chat", seen->chat_id);
    put_line(out, "chat type", seen->chat_type);
    put_line(out, "thread", seen->thread_id);
    put_line(out, "message", seen->message_id);
    put_line(out, "user", seen->user_id);
    put_line(out, "user name", seen->user_name);
    put_line(out, "language", seen->language);
    put_line(out, "text", seen->text);
    put_line(out, "context", seen->context);
    put_line(out, "meta", seen->meta);
    put_line(out, "preparation", seen->preparation);
    put_line(out, "group key", seen->group_key);
    put_line(out, "migrated from", seen->migrated_from);
    put_line(out, "edit of", seen->edit_of);
    if (seen->has_joined)
        sma_buf_printf(out, "  %-12s %" PRId64 "\n", "joined", seen->sent_ms);
}

static void list_updates(struct sma_buf *out)
{
    static struct seen seen;
    json_t *root = load("updates-handmade.json"), *updates = json_object_get(root, "updates");
    size_t i;
    json_t *row;
    CHECK_INT(21, json_array_size(updates));
    json_array_foreach(updates, i, row)
    {
        char *json = json_dumps(json_object_get(row, "update"), JSON_COMPACT);
        CHECK(json != NULL);
        see(json, &seen);
        put_seen(out, json_string_value(json_object_get(row, "name")), &seen);
        free(json);
    }
    json_decref(root);
}

static void list_errors(struct sma_buf *out)
{
    static struct seen seen;
    json_t *root = load("errors-handmade.json");
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(root, "errors"), i, row)
    {
        struct sma_error error = {0};
        json_t *body = json_object_get(row, "body");
        char *json = json_dumps(body, JSON_COMPACT);
        CHECK(json != NULL);
        seen.count = 0;
        CHECK_ERR(SMA_ERR_BADINPUT,
                  telegram_updates_parse(&test_options, sma_str(json), keep, &seen, &error));
        CHECK_INT(0, seen.count);
        sma_buf_printf(out, "error %s: %s\n",
                       json_string_value(json_object_get(body, "description")), error.text);
        free(json);
    }
    json_decref(root);
}

static char *read_golden(const char *path)
{
    static char bytes[1 << 18];
    FILE *file = fopen(path, "rbe");
    CHECK(file != NULL);
    size_t len = fread(bytes, 1, sizeof bytes - 1, file);
    fclose(file);
    bytes[len] = '\0';
    return bytes;
}

static void vectors_become_what_the_golden_file_says(void)
{
    struct sma_buf out;
    sma_buf_init(&out, 1 << 20);
    list_updates(&out);
    list_errors(&out);
    CHECK(out.err == SMA_ERR_OK);
    if (golden_to_write != NULL) {
        FILE *file = fopen(golden_to_write, "wbe");
        CHECK(file != NULL && fwrite(out.ptr, 1, out.len, file) == out.len);
        CHECK(fclose(file) == 0);
    }
    CHECK_STR(read_golden(SMA_SOURCE_DIR "/tests/golden/telegram/updates.txt"), sma_buf_str(&out));
    sma_buf_fini(&out);
}

/* The whole list as one getUpdates answer gives the same events as one by one. */
static void a_batch_gives_what_single_updates_give(void)
{
    static struct seen seen;
    struct sma_error error = {0};
    json_t *root = load("updates-handmade.json"), *list = json_array();
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(root, "updates"), i, row)
        json_array_append(list, json_object_get(row, "update"));
    json_t *body = json_pack("{s:b,s:o}", "ok", 1, "result", list);
    char *json = json_dumps(body, JSON_INDENT(2));
    CHECK(json != NULL);
    seen.count = 0;
    CHECK_OK(telegram_updates_parse(&test_options, sma_str(json), keep, &seen, &error));
    CHECK_INT(21, seen.count);
    CHECK_INT(900000022, seen.update_id);
    free(json);
    json_decref(body);
    json_decref(root);
}

int main(int argc, char **argv)
{
    golden_to_write = argc > 1 ? argv[1] : NULL;
    RUN(vectors_become_what_the_golden_file_says);
    RUN(a_batch_gives_what_single_updates_give);
    return check_summary();
}
