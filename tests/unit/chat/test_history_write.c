/*
 * Aim: a line stands once at its place, whatever the file held before; torn ends are mended,
 * nothing else is changed.
 * Method: files are prepared byte by byte, then written, replayed and read back.
 */
#include "history_support.h"

#include <sys/resource.h>

#define KEY "api:chat:w"
#define NAME "api%3Achat%3Aw.jsonl"

static struct sma_buf format(const char *id, const char *text)
{
    struct sma_history_entry entry = make_entry(KEY, "user", id, text, 1000);
    struct sma_buf line;
    sma_buf_init(&line, 1 << 20);
    sma_history_format(&line, &entry);
    return line;
}

static void check_file(const char *name, const char *expect, size_t expect_len)
{
    size_t len = 0;
    char *bytes = get_file(name, &len);
    CHECK(bytes != NULL);
    check_text_at(__FILE__, __LINE__, name, (struct sma_str){expect, expect_len},
                  (struct sma_str){bytes, len});
    free(bytes);
}

CASE(lines_stand_where_they_were_promised)
{
    make_directory();
    struct sma_history *history = open_history();
    struct sma_buf a = format("1", "one"), b = format("2", "two");
    uint64_t first, second;
    enum sma_history_outcome outcome;
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), a.len, &first, NULL));
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), b.len, &second, NULL));
    CHECK_INT(0, first);
    CHECK_INT(a.len, second);
    CHECK_ERR(SMA_ERR_BUSY,
              sma_history_write(history, SMA_STR(KEY), second, sma_buf_str(&b), &outcome, NULL));
    CHECK_OK(sma_history_write(history, SMA_STR(KEY), first, sma_buf_str(&a), &outcome, NULL));
    CHECK_OK(sma_history_write(history, SMA_STR(KEY), second, sma_buf_str(&b), &outcome, NULL));
    CHECK_INT(SMA_HISTORY_WRITTEN, outcome);
    CHECK_OK(sma_history_write(history, SMA_STR(KEY), second, sma_buf_str(&b), &outcome, NULL));
    CHECK_INT(SMA_HISTORY_SKIPPED, outcome);
    CHECK_INT(1, sma_history_dirty_count(history));
    CHECK_OK(sma_history_sync_all(history, NULL));
    CHECK_INT(0, sma_history_dirty_count(history));
    CHECK_INT(2, count_lines(NAME));
    sma_buf_fini(&a);
    sma_buf_fini(&b);
    sma_history_close(history);
    drop_directory();
}

CASE(released_places_are_given_again)
{
    make_directory();
    struct sma_history *history = open_history();
    uint64_t offset;
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), 100, &offset, NULL));
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), 50, &offset, NULL));
    CHECK_INT(100, offset);
    sma_history_release(history, SMA_STR(KEY), 100);
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), 0, &offset, NULL));
    CHECK_INT(100, offset);
    sma_history_release(history, SMA_STR(KEY), 0);
    CHECK_INT(0, append_text(history, KEY, "user", "1", "x"));
    sma_history_close(history);
    drop_directory();
}

CASE(files_of_the_old_program_go_on)
{
    static const char old[] =
        "\xEF\xBB\xBF{\"v\":1,\"ts\":5,\"channel\":\"api\",\"chatId\":\"1\",\"chatKey\":\"" KEY
        "\",\"role\":\"user\",\"text\":\"old\"}\r\n\n\n";
    make_directory();
    put_file(NAME, old, sizeof old - 1);
    struct sma_history *history = open_history();
    CHECK_INT(sizeof old - 1, append_text(history, KEY, "user", "2", "new"));
    struct sma_history_query query = {.chat_key = SMA_STR(KEY), .limit = 10};
    CHECK_TEXT("old|new", query_texts(history, &query));
    CHECK_INT(0, report_counts[SMA_HISTORY_LINE_DAMAGED]);
    sma_history_close(history);
    drop_directory();
}

/* A file of `good` and then `tail`: after the first touch it is `expect`, and `damaged` is in the
 * other file. */
static void check_tail(const char *good, const char *tail, size_t tail_len, const char *expect,
                       const char *damaged)
{
    make_directory();
    char bytes[4096];
    size_t len = strlen(good);
    memcpy(bytes, good, len);
    memcpy(bytes + len, tail, tail_len);
    put_file(NAME, bytes, len + tail_len);
    for (int round = 0; round < 2; round++) {
        struct sma_history *history = open_history();
        uint64_t offset;
        CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), 0, &offset, NULL));
        CHECK_INT(strlen(expect), offset);
        CHECK_INT(round == 0 ? 1 : 0, report_counts[SMA_HISTORY_TAIL_MOVED] +
                                          report_counts[SMA_HISTORY_TAIL_COMPLETED]);
        sma_history_close(history);
    }
    check_file(NAME, expect, strlen(expect));
    if (damaged != NULL)
        check_file(NAME ".damaged", damaged, strlen(damaged));
    else
        CHECK(get_file(NAME ".damaged", NULL) == NULL);
    drop_directory();
}

CASE(torn_ends_are_mended)
{
    struct sma_buf line = format("1", "whole");
    char whole[512], both[1024];
    snprintf(whole, sizeof whole, "%s", line.ptr);
    snprintf(both, sizeof both, "%s%s", whole, whole);
    size_t len = line.len;
    char zeros[600] = {0};
    check_tail(whole, "{\"v\":1,\"ts\":17", 14, whole, "{\"v\":1,\"ts\":17\n");
    check_tail("", "garbage", 7, "", "garbage\n");
    check_tail(whole, whole, len - 1, both, NULL); /* only the newline is missing */
    check_tail(whole, zeros, 100, whole, NULL);    /* a page that was never written */
    memcpy(zeros, whole, len - 1);
    check_tail(whole, zeros, len + 50, both, NULL);
    memset(zeros, 0, sizeof zeros);
    memcpy(zeros, "{\"v\"", 4);
    check_tail(whole, zeros, 40, whole, "{\"v\"\n");
    sma_buf_fini(&line);
}

/* Replay `line` at offset into a file with these bytes. */
static enum sma_history_outcome replay_into(const void *bytes, size_t len, uint64_t offset,
                                            struct sma_str line, uint64_t generation)
{
    put_file(NAME, bytes, len);
    struct sma_history *history = open_history();
    enum sma_history_outcome outcome;
    CHECK_OK(
        sma_history_replay(history, SMA_STR(KEY), generation, 3, offset, line, &outcome, NULL));
    CHECK_OK(sma_history_sync_all(history, NULL));
    uint64_t end;
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), 0, &end, NULL));
    sma_history_close(history);
    return outcome;
}

CASE(replay_at_every_cut_gives_the_same_file)
{
    make_directory();
    struct sma_buf a = format("1", "one 你好"), b = format("2", "two \"q\"");
    char both[1024];
    memcpy(both, a.ptr, a.len);
    memcpy(both + a.len, b.ptr, b.len);
    size_t len = a.len + b.len;
    for (size_t cut = a.len; cut <= len; cut++) {
        enum sma_history_outcome outcome = replay_into(both, cut, a.len, sma_buf_str(&b), 3);
        CHECK_INT(cut == len ? SMA_HISTORY_SKIPPED : SMA_HISTORY_WRITTEN, outcome);
        check_file(NAME, both, len);
    }
    for (size_t hole = a.len; hole < len;
         hole++) { /* pages never written: zero bytes up to the end */
        char torn[1024];
        memcpy(torn, both, len);
        memset(torn + hole, 0, len - hole);
        CHECK_INT(SMA_HISTORY_WRITTEN, replay_into(torn, len, a.len, sma_buf_str(&b), 3));
        check_file(NAME, both, len);
    }
    CHECK(get_file(NAME ".damaged", NULL) == NULL);
    sma_buf_fini(&a);
    sma_buf_fini(&b);
    drop_directory();
}

CASE(replay_beside_a_taken_place_appends_once)
{
    make_directory();
    struct sma_buf a = format("1", "one"), b = format("2", "other");
    char both[1024];
    memcpy(both, b.ptr, b.len);
    memcpy(both + b.len, a.ptr, a.len);
    size_t len = a.len + b.len;
    CHECK_INT(SMA_HISTORY_APPENDED, replay_into(b.ptr, b.len, 0, sma_buf_str(&a), 3));
    CHECK_INT(1, report_counts[SMA_HISTORY_LINE_MOVED]);
    check_file(NAME, both, len);
    CHECK_INT(SMA_HISTORY_SKIPPED,
              replay_into(both, len, 0, sma_buf_str(&a), 3)); /* found elsewhere */
    CHECK_INT(SMA_HISTORY_SKIPPED,
              replay_into(both, len, 0, sma_buf_str(&a), 2)); /* another generation */
    CHECK_INT(SMA_HISTORY_APPENDED,
              replay_into(b.ptr, b.len, 9999, sma_buf_str(&a), 3)); /* beyond the end */
    check_file(NAME, both, len);
    put_file("api%3Achat%3Aw.archive-1.jsonl", a.ptr, a.len);
    CHECK_INT(SMA_HISTORY_SKIPPED,
              replay_into(b.ptr, b.len, 0, sma_buf_str(&a), 2)); /* stands in an archive */
    sma_buf_fini(&a);
    sma_buf_fini(&b);
    drop_directory();
}

CASE(foreign_lines_do_not_lose_ours)
{
    make_directory();
    struct sma_history *history = open_history();
    append_text(history, KEY, "user", "1", "one");
    struct sma_buf b = format("2", "two"), c = format("3", "three");
    uint64_t second, third;
    enum sma_history_outcome outcome;
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), b.len, &second, NULL));
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), c.len, &third, NULL));
    int fd = open(file_path(NAME), O_WRONLY | O_APPEND);
    CHECK(write(fd, "# by hand\n", 10) == 10);
    close(fd);
    CHECK_OK(sma_history_write(history, SMA_STR(KEY), second, sma_buf_str(&b), &outcome, NULL));
    CHECK_INT(SMA_HISTORY_APPENDED, outcome);
    CHECK_OK(sma_history_write(history, SMA_STR(KEY), third, sma_buf_str(&c), &outcome, NULL));
    CHECK_INT(SMA_HISTORY_APPENDED, outcome);
    append_text(history, KEY, "user", "4", "four"); /* and the chat is in step again */
    CHECK_TEXT("one|two|three|four", search_texts(history, KEY, "", 10));
    CHECK_INT(1, report_counts[SMA_HISTORY_LINE_DAMAGED]);
    CHECK_INT(2, last_report_line);
    sma_buf_fini(&b);
    sma_buf_fini(&c);
    sma_history_close(history);
    drop_directory();
}

CASE(replaced_and_shortened_files_are_followed)
{
    make_directory();
    struct sma_history *history = open_history();
    append_text(history, KEY, "user", "1", "one");
    append_text(history, KEY, "user", "2", "two");
    struct sma_buf a = format("0", "edited");
    put_file("new", a.ptr, a.len);
    CHECK(rename(file_path("new"), file_path(NAME)) == 0); /* what an editor does */
    struct sma_buf c = format("3", "three");
    uint64_t offset;
    enum sma_history_outcome outcome;
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), c.len, &offset, NULL));
    CHECK_OK(sma_history_write(history, SMA_STR(KEY), offset, sma_buf_str(&c), &outcome, NULL));
    CHECK_INT(SMA_HISTORY_APPENDED, outcome);
    append_text(history, KEY, "user", "4", "four");
    CHECK_TEXT("edited|three|four", search_texts(history, KEY, "", 10));
    sma_buf_fini(&a);
    sma_buf_fini(&c);
    sma_history_close(history);
    drop_directory();
}

CASE(many_chats_need_few_descriptors)
{
    make_directory();
    struct sma_history_options options = {.sys = sma_sys_real(),
                                          .directory = test_directory,
                                          .fd_count_max = 4,
                                          .chat_count_max = 16};
    struct sma_history *history;
    CHECK_OK(sma_history_open(&options, &history, NULL));
    char key[32], name[64];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 100; i++) {
            snprintf(key, sizeof key, "api:chat:%d", i);
            append_text(history, key, "user", "m", "x");
        }
    }
    int fd = dup(0);
    CHECK(fd >= 0 && fd < 30);
    close(fd);
    CHECK_INT(100, sma_history_dirty_count(history));
    CHECK_OK(sma_history_sync_all(history, NULL));
    CHECK_INT(0, sma_history_dirty_count(history));
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "api%%3Achat%%3A%d.jsonl", i);
        CHECK_INT(3, count_lines(name));
    }
    sma_history_close(history);
    drop_directory();
}

CASE(empty_files_are_empty_histories)
{
    make_directory();
    put_file(NAME, "", 0);
    struct sma_history *history = open_history();
    CHECK_TEXT("", search_texts(history, KEY, "", 10));
    CHECK_INT(0, append_text(history, KEY, "user", "1", "x"));
    sma_history_close(history);
    put_file(NAME, "\n\n\n\n", 4);
    history = open_history();
    CHECK_TEXT("", search_texts(history, KEY, "", 10));
    CHECK_INT(4, append_text(history, KEY, "user", "1", "x"));
    CHECK_TEXT("x", search_texts(history, KEY, "", 10));
    sma_history_close(history);
    drop_directory();
}

CASE(bad_directories_are_errors)
{
    struct sma_history_options options = {.sys = sma_sys_real(), .directory = "/dev/null/x"};
    struct sma_history *history = NULL;
    struct sma_error error = {0};
    CHECK(sma_history_open(&options, &history, &error) != SMA_ERR_OK);
    CHECK(error.text[0] != '\0');
    CHECK(history == NULL);
    sma_history_close(NULL);
    make_directory();
    history = open_history();
    uint64_t offset;
    static char key[SMA_CHAT_KEY_BYTES_MAX + 1];
    memset(key, 'k', sizeof key);
    CHECK_ERR(SMA_ERR_TOOBIG,
              sma_history_reserve(history, (struct sma_str){key, sizeof key}, 1, &offset, NULL));
    CHECK_OK(sma_history_reserve(history, (struct sma_str){key, sizeof key - 1}, 1, &offset, NULL));
    sma_history_close(history);
    drop_directory();
}

CASES_MAIN
