/*
 * Aim: a line is byte for byte what the old program wrote, and stands in the file that it would
 * have chosen.
 * Method: golden folders (text -> expect), names by hand.
 */
#include "history_support.h"

#include "sma/text.h"

static void check_golden(const char *name)
{
    char path[512];
    char *text, *expect;
    size_t text_len, expect_len;
    snprintf(path, sizeof path, "%s/tests/golden/history/%s/text", SMA_SOURCE_DIR, name);
    CHECK_OK(sma_sys_read_file(sma_sys_real(), path, 1 << 20, &text, &text_len, NULL));
    snprintf(path, sizeof path, "%s/tests/golden/history/%s/expect", SMA_SOURCE_DIR, name);
    CHECK_OK(sma_sys_read_file(sma_sys_real(), path, 1 << 20, &expect, &expect_len, NULL));
    struct sma_history_entry entry = {
        .wall_ms = 1732227420123,
        .channel = SMA_STR("telegram"),
        .chat_id = SMA_STR("-100"),
        .chat_key = SMA_STR("telegram:chat:-100:topic:42"),
        .user_id = SMA_STR("7"),
        .message_id = SMA_STR("99"),
        .role = SMA_STR("user"),
        .text = {text, text_len},
        .meta_json = SMA_STR("{\"chatType\":\"supergroup\",\"username\":\"ann\"}"),
    };
    struct sma_buf line;
    sma_buf_init(&line, 1 << 20);
    sma_history_format(&line, &entry);
    CHECK_OK(line.err);
    check_text_at(name, 0, "line", (struct sma_str){expect, expect_len}, sma_buf_str(&line));
    sma_buf_fini(&line);
    free(text);
    free(expect);
}

CASE(lines_are_as_json_stringify_writes_them)
{
    char path[512];
    int count = 0;
    snprintf(path, sizeof path, "%s/tests/golden/history", SMA_SOURCE_DIR);
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    for (struct dirent *item; (item = readdir(directory)) != NULL;) {
        if (item->d_name[0] == '.')
            continue;
        check_golden(item->d_name);
        count++;
    }
    closedir(directory);
    CHECK(count >= 9);
}

static void check_line(const char *expect, const struct sma_history_entry *entry)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf line;
    sma_buf_init(&line, 1 << 20);
    sma_history_format(&line, entry);
    CHECK_STR(expect, sma_buf_str(&line));
}

CASE(empty_members_are_left_out)
{
    struct sma_history_entry entry = make_entry("api:chat:1", "assistant", "", "hi", -5);
    entry.user_id = (struct sma_str){NULL, 0};
    const char *plain =
        "{\"v\":1,\"ts\":-5,\"channel\":\"api\",\"chatId\":\"1\",\"chatKey\":\"api:chat:1\","
        "\"role\":\"assistant\",\"text\":\"hi\"}\n";
    check_line(plain, &entry);
    entry.meta_json = SMA_STR("{\"a\":\n1}"); /* a newline would break the line in two */
    check_line(plain, &entry);
    entry.meta_json = SMA_STR("[1]");
    check_line(plain, &entry);
    entry.meta_json = SMA_STR("{\"a\":\"\xff\"}");
    check_line(plain, &entry);
}

static void check_stem(const char *expect, const char *key)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf stem;
    sma_buf_init(&stem, 8192);
    sma_history_put_file_stem(&stem, sma_str(key));
    CHECK_STR(expect, sma_buf_str(&stem));
}

CASE(file_names_are_percent_encoded)
{
    check_stem("telegram%3Achat%3A-100%3Atopic%3A42", "telegram:chat:-100:topic:42");
    check_stem("api%3Achat%3Aa%2Fb", "api:chat:a/b");
    check_stem("api%3Achat%3A%E4%BD%A0%20%25", "api:chat:你 %");
    check_stem("api%3Achat%3A..", "api:chat:..");
    check_stem("a.archive-", "a.archive-");
    check_stem("a.archive-1x", "a.archive-1x");
}

static void stem_of(char *to, size_t room, const char *key)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf stem;
    sma_buf_init(&stem, 16384);
    sma_history_put_file_stem(&stem, sma_str(key));
    CHECK_OK(stem.err);
    snprintf(to, room, "%s", stem.ptr);
}

CASE(long_names_are_shortened_and_differ)
{
    char key[1025], first[512], second[512];
    for (size_t len = 190; len <= 1024; len++) {
        memset(key, 'a', len);
        key[len] = '\0';
        stem_of(first, sizeof first, key);
        CHECK(strlen(first) <= SMA_FILE_NAME_BYTES_MAX);
        CHECK_INT(len <= SMA_FILE_NAME_BYTES_MAX, strcmp(first, key) == 0);
        key[len - 1] = 'b';
        stem_of(second, sizeof second, key);
        CHECK(strcmp(first, second) != 0);
    }
    for (size_t shift = 0; shift < 3; shift++) { /* an escape is never cut */
        size_t len = 0;
        memset(key, 'x', shift);
        for (len = shift; len + 3 < 900; len += 3)
            memcpy(key + len, "你", 3);
        key[len] = '\0';
        stem_of(first, sizeof first, key);
        struct sma_buf back;
        sma_buf_init(&back, 4096);
        CHECK_OK(sma_buf_put_file_name_decoded(&back, sma_str(first)));
        CHECK(strlen(first) <= SMA_FILE_NAME_BYTES_MAX);
        sma_buf_fini(&back);
    }
}

CASE(key_like_an_archive_gets_another_name)
{
    char stem[512];
    stem_of(stem, sizeof stem, "api:chat:x.archive-1");
    CHECK(strncmp(stem, "api%3Achat%3Ax.archive-1~", 25) == 0);
    CHECK_INT(25 + 16, strlen(stem));
}

CASE(names_never_change)
{
    char key[301], stem[512];
    memset(key, 'k', 300);
    key[300] = '\0';
    stem_of(stem, sizeof stem, key);
    CHECK_TEXT("~32fd9974dc2ee232", stem + 183); /* files on disk depend on it */
}

CASES_MAIN
