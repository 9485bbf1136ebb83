/*
 * Aim: a lost state.db is built anew from the history without crying about what was answered long
 * ago.
 * Method: history files written by hand; the lines noted before the start.
 */
#include "store_support.h"

static struct world w;
static int64_t now_ms;

static void put_line(const char *key, const char *id, int64_t wall_ms, bool is_user)
{
    struct sma_buf name, line;
    struct sma_error error = {0};
    char path[400];
    sma_buf_init(&name, 4096);
    sma_buf_init(&line, 4096);
    sma_history_put_file_stem(&name, sma_str(key));
    snprintf(path, sizeof path, "%s/chats", w.state_dir);
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), path, &error));
    snprintf(path, sizeof path, "%s/chats/%.*s.jsonl", w.state_dir, (int)name.len, name.ptr);
    sma_history_format(
        &line, &(struct sma_history_entry){.wall_ms = wall_ms,
                                           .channel = SMA_STR("test"),
                                           .chat_id = SMA_STR("1"),
                                           .chat_key = sma_str(key),
                                           .message_id = sma_str(id),
                                           .role = is_user ? SMA_STR("user") : SMA_STR("assistant"),
                                           .text = SMA_STR("hello")});
    FILE *file = fopen(path, "ae");
    CHECK(file != NULL && fwrite(line.ptr, 1, line.len, file) == line.len && fclose(file) == 0);
    sma_buf_fini(&name);
    sma_buf_fini(&line);
}

/* What the import has said, with its store. */
static void import_only(char *log, size_t log_max)
{
    struct sma_error error = {0};
    w.config.adapters[0] = (struct sma_config_adapter){.name = "test", .json = EVERYBODY};
    w.config.adapter_count = 1;
    struct sma_store_options options = {
        .config = &w.config, .adapters = w.adapters, .adapter_count = 2};
    struct sma_store_hooks hooks = {.is_single_threaded = true, .disk = fake_disk, .disk_user = &w};
    CHECK_OK(sma_store_create_hooked(&options, &hooks, &w.store, &error));
    snprintf(log, log_max, "%.*s", (int)w.store->boot_log.len, w.store->boot_log.ptr);
}

static unsigned occurrences(const char *text, const char *word)
{
    unsigned count = 0;
    for (; (text = strstr(text, word)) != NULL; text++)
        count++;
    return count;
}

static void make_project(void)
{
    make_world(&w);
    now_ms = sma_sys_real()->wall_ms(sma_sys_real()->self);
}

static void finish(void)
{
    sma_store_destroy(w.store);
    remove_tree(w.dir);
}

static bool has_claim(const char *key, const char *id)
{
    struct sma_state_head head;
    struct sma_state_chat *chat = sma_state_chat_get(w.store->state, sma_str(key));
    return chat != NULL && sma_state_claim_find(w.store->state, chat->claim_id, SMA_EVENT_MESSAGE,
                                                sma_str(id), &head) == SMA_ERR_OK;
}

CASE(what_was_answered_or_is_old_is_not_reported)
{
    static char log[65536];
    const int64_t hour = 3600000;
    make_project();
    put_line("test:chat:two", "1", now_ms - 2 * hour, true); /* one answer to two messages */
    put_line("test:chat:two", "2", now_ms - 2 * hour, true);
    put_line("test:chat:two", "3", now_ms - hour, false);
    put_line("test:chat:old", "1", now_ms - 30 * hour, true);
    put_line("test:chat:new", "1", now_ms - 3 * hour, true);
    put_line("test:chat:new", "2", now_ms - 3 * hour, false);
    put_line("test:chat:new", "lonely", now_ms - hour, true);
    import_only(log, sizeof log);
    CHECK_INT(1, occurrences(log, "has no answer"));
    CHECK_INT(1, occurrences(log, "message lonely of test:chat:new"));
    CHECK_INT(1, occurrences(log, "imported 5 message ids"));
    CHECK(has_claim("test:chat:old", "1") && has_claim("test:chat:two", "2"));
    finish();
}

CASE(a_crowd_without_answers_is_listed_in_part)
{
    static char log[65536];
    make_project();
    for (int chat = 0; chat < 3; chat++)
        for (int i = 0; i < 30; i++) {
            char key[32], id[16];
            snprintf(key, sizeof key, "test:chat:%d", chat);
            snprintf(id, sizeof id, "m%d", i);
            put_line(key, id, now_ms - 1000, true);
        }
    import_only(log, sizeof log);
    CHECK_INT(20, occurrences(log, "has no answer"));
    CHECK_INT(1, occurrences(log, "60 messages of the last day without answer"));
    CHECK_INT(90, (long long)sma_state_claim_count(w.store->state));
    finish();
}

CASES_MAIN
