/*
 * Aim: the file tools do what they say on ordinary files, tell what was expected when they do not,
 * and their results are bounded.
 */
#include "project.h"

#include "sma/sys.h"

CASE(files_are_read_in_pieces)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    project_put(&project, "a.txt", "one\ntwo\nthree\n");
    project_put(&project, "crlf.txt", "one\r\ntwo");
    project_put(&project, "empty.txt", "");
    project_put(&project, "bad.txt",
                "a\xff\xfe"
                "b\n");
    CHECK_RUN(&project, "read_file", "{\"path\":\"a.txt\"}",
              "{\"success\":true,\"path\":\"a.txt\",\"content\":\"one\\ntwo\\nthree\\n\","
              "\"firstLine\":1,\"lines\":3,\"totalLines\":3}");
    CHECK_RUN(&project, "read_file", "{\"path\":\"./a.txt\",\"offset\":2,\"limit\":1}",
              "{\"success\":true,\"path\":\"a.txt\",\"content\":\"two\\n\",\"firstLine\":2,"
              "\"lines\":1,\"totalLines\":3,\"truncated\":true,\"note\":\"There is more: read on "
              "with offset 3.\"}");
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"crlf.txt\"}", "\"one\\r\\ntwo\"");
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"empty.txt\"}",
                  "\"content\":\"\",\"firstLine\":1,\"lines\":0,\"totalLines\":0}");
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"bad.txt\"}", "Not valid UTF-8");
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"a.txt\",\"offset\":4}",
                  "a.txt has 3 lines: expected an \\\"offset\\\" up to that.");
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"none\"}", "none: there is no such file.");
    CHECK_RUN_HAS(&project, "read_file", "{}", "Expected \\\"path\\\"");
    char full[256];
    snprintf(full, sizeof full, "{\"path\":\"%s/a.txt\"}", project.dir);
    CHECK_RUN_HAS(&project, "read_file", full, "three");
}

CASE(binary_and_large_files_are_told)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    project_put(&project, "b.bin", "x");
    char full[256];
    snprintf(full, sizeof full, "%s/b.bin", project.dir);
    CHECK(truncate(full, 100) == 0);
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"b.bin\"}", "binary file of 100 bytes");
    CHECK_RUN_HAS(&project, "edit_file",
                  "{\"path\":\"b.bin\",\"old_text\":\"x\",\"new_text\":\"y\"}", "binary file");
    CHECK(truncate(full, SMA_FILE_READ_BYTES_MAX + 1) == 0);
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"b.bin\"}", "at most 10485760 are possible");
}

CASE(long_files_are_bounded_at_lines)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    char *text = malloc(200001);
    CHECK(text != NULL);
    for (size_t i = 0; i < 200000; i++)
        text[i] = i % 100 == 99 ? '\n' : i % 7 == 0 ? '"' : 'x';
    text[200000] = '\0';
    project_put(&project, "long.txt", text);
    const char *result = project_run(&project, "read_file", "{\"path\":\"long.txt\"}");
    CHECK(strstr(result, "\\n\",\"firstLine\":1,\"lines\":2") != NULL); /* 2xx whole lines */
    CHECK(strstr(result, "\"totalLines\":2000,\"truncated\":true") != NULL);
    CHECK(strlen(result) > 20000);
    memset(text, 0x01, 200000); /* six bytes each as JSON */
    project_put(&project, "one-line.txt", text);
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"one-line.txt\"}",
                  "A line is too long and is cut.");
    free(text);
}

CASE(files_are_written_whole)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    CHECK_RUN(&project, "write_file", "{\"path\":\"new/deep/a.txt\",\"content\":\"hello\\n\"}",
              "{\"success\":true,\"path\":\"new/deep/a.txt\",\"bytes\":6,\"created\":true}");
    project_check(&project, "new/deep/a.txt", "hello\n");
    char full[256];
    snprintf(full, sizeof full, "%s/new/deep/a.txt", project.dir);
    CHECK(chmod(full, 0750) == 0);
    CHECK_RUN_HAS(&project, "write_file", "{\"path\":\"new/deep/a.txt\",\"content\":\"\"}",
                  "\"bytes\":0,\"created\":false}");
    project_check(&project, "new/deep/a.txt", "");
    struct stat stat_now;
    CHECK(stat(full, &stat_now) == 0);
    CHECK_INT(0750, stat_now.st_mode & 0777);
    snprintf(full, sizeof full, "%s/new/deep", project.dir);
    DIR *dir = opendir(full);
    CHECK(dir != NULL);
    int count = 0;
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    CHECK_INT(3, count); /* nothing is left beside it */
    CHECK_RUN_HAS(&project, "write_file", "{\"path\":\"new/deep\",\"content\":\"\"}",
                  "is a folder");
    CHECK_RUN_HAS(&project, "write_file", "{\"path\":\"new/deep/a.txt/b\",\"content\":\"\"}",
                  "\"success\":false");
    CHECK_RUN_HAS(&project, "write_file", "{\"path\":\"\",\"content\":\"\"}",
                  "Expected \\\"path\\\"");
    CHECK_RUN_HAS(&project, "write_file", "{\"path\":\".\",\"content\":\"\"}", "\"success\":false");
}

CASE(edits_replace_exactly)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    project_put(&project, "a.txt", "one two one\n");
    project_put(&project, "crlf.txt", "a\r\nb\r\nc\r\n");
    project_put(&project, "bad.txt",
                "a\xff"
                "b\n");
    CHECK_RUN_HAS(&project, "edit_file",
                  "{\"path\":\"a.txt\",\"old_text\":\"one\",\"new_text\":\"1\"}", "occurs 2 times");
    CHECK_RUN_HAS(&project, "edit_file",
                  "{\"path\":\"a.txt\",\"old_text\":\"three\",\"new_text\":\"1\"}",
                  "does not occur");
    CHECK_RUN(&project, "edit_file", "{\"path\":\"a.txt\",\"old_text\":\"two \",\"new_text\":\"\"}",
              "{\"success\":true,\"path\":\"a.txt\",\"bytes\":8,\"replacements\":1}");
    CHECK_RUN_HAS(
        &project, "edit_file",
        "{\"path\":\"a.txt\",\"old_text\":\"one\",\"new_text\":\"oneone\",\"replace_all\":true}",
        "\"replacements\":2");
    project_check(&project, "a.txt", "oneone oneone\n");
    CHECK_RUN_HAS(&project, "edit_file",
                  "{\"path\":\"crlf.txt\",\"old_text\":\"a\\nb\\n\",\"new_text\":\"x\\ny\\n\"}",
                  "\"replacements\":1");
    project_check(&project, "crlf.txt", "x\r\ny\r\nc\r\n");
    CHECK_RUN_HAS(&project, "edit_file",
                  "{\"path\":\"bad.txt\",\"old_text\":\"a\",\"new_text\":\"x\"}",
                  "not valid UTF-8");
    CHECK_RUN_HAS(&project, "edit_file",
                  "{\"path\":\"none.txt\",\"old_text\":\"a\",\"new_text\":\"x\"}", "no such file");
    project_check(&project, "none.txt", NULL);
}

CASE(lists_leave_out_what_others_made)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    project_put(&project, "src/a.c", "");
    project_put(&project, "src/sub/b.c", "");
    project_put(&project, "README.md", "");
    project_put(&project, "node_modules/x/index.js", "");
    project_put(&project, ".env", "SECRET=1");
    project_put(&project, ".ship/state.db", "");
    project_put(&project, ".gitignore", "");
    CHECK_RUN(&project, "list_files", "{}",
              "{\"success\":true,\"entries\":[\".gitignore\",\"README.md\",\"node_modules/\","
              "\"src/\"]}");
    CHECK_RUN_HAS(&project, "list_files", "{\"recursive\":true}",
                  "[\".gitignore\",\"README.md\",\"node_modules/\",\"src/\",\"src/a.c\","
                  "\"src/sub/\",\"src/sub/b.c\"],\"note\":\"Not looked into: .git, node_modules");
    CHECK_RUN(&project, "list_files", "{\"path\":\"src\",\"recursive\":true,\"pattern\":\"*.c\"}",
              "{\"success\":true,\"entries\":[\"src/a.c\",\"src/sub/b.c\"]}");
    CHECK_RUN_HAS(&project, "list_files", "{\"path\":\"node_modules/x\"}", "index.js");
    CHECK_RUN_HAS(&project, "list_files", "{\"path\":\".ship\"}", "protected");
    CHECK_RUN_HAS(&project, "list_files", "{\"path\":\"..\"}", "without");
    CHECK_RUN_HAS(&project, "list_files", "{\"path\":\"none\"}", "no such file");
    for (int i = 0; i < SMA_FILE_LIST_COUNT_MAX + 5; i++) {
        char name[40];
        snprintf(name, sizeof name, "many/f%04d", i);
        project_put(&project, name, "");
    }
    CHECK_RUN_HAS(&project, "list_files", "{\"path\":\"many\"}",
                  "\"many/f0999\"],\"truncated\":true,\"note\":\"There are more");
}

CASE(searches_find_lines)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    project_put(&project, "src/a.c", "int x;\nint Main(void)\r\n");
    project_put(&project, "src/b.h", "int main;\n");
    project_put(&project, "node_modules/x/index.js", "main\n");
    project_put(&project, ".env", "main=1\n");
    CHECK_RUN(&project, "search_files", "{\"pattern\":\"ma.n\",\"path\":\"src\"}",
              "{\"success\":true,\"matches\":[{\"path\":\"src/b.h\",\"line\":1,\"text\":\"int "
              "main;\"}]}");
    CHECK_RUN_HAS(&project, "search_files", "{\"pattern\":\"main\",\"ignore_case\":true}",
                  "[{\"path\":\"src/a.c\",\"line\":2,\"text\":\"int Main(void)\"},{\"path\":"
                  "\"src/b.h\",\"line\":1,\"text\":\"int main;\"}],\"note\":\"Not searched");
    CHECK_RUN_HAS(&project, "search_files", "{\"pattern\":\"int\",\"glob\":\"*.{h,hpp}\"}",
                  "[{\"path\":\"src/b.h\"");
    CHECK_RUN_HAS(&project, "search_files", "{\"pattern\":\"x;\",\"path\":\"src/a.c\"}",
                  "\"line\":1");
    CHECK_RUN_HAS(&project, "search_files", "{\"pattern\":\"Main(\"}", "\"line\":2");
    CHECK_RUN_HAS(&project, "search_files", "{\"pattern\":\"main\",\"path\":\"none\"}",
                  "no such file");
}

/* Ann's file, Bob's search: who was told its name reads and searches it, and nobody finds it. */
CASE(what_people_sent_is_not_found_by_looking)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    project_put(&project, ".ship/.cache/telegram/1-ab-0f-letter.txt", "dear Ann\nsecret plan\n");
    project_put(&project, ".ship/logs/exec/0123456789abcdef.txt", "secret plan\n");
    project_put(&project, "plan.txt", "open plan\n");
    static const char *const paths[] = {".ship/.cache", ".ship/.cache/telegram", ".ship/logs/exec",
                                        ".ship", "."};
    for (size_t i = 0; i < SMA_COUNT_OF(paths); i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments, "{\"pattern\":\"plan\",\"path\":\"%s\"}", paths[i]);
        const char *result = project_run(&project, "search_files", arguments);
        CHECK(strstr(result, "secret") == NULL && strstr(result, "letter") == NULL);
        snprintf(arguments, sizeof arguments, "{\"path\":\"%s\",\"recursive\":true}", paths[i]);
        result = project_run(&project, "list_files", arguments);
        CHECK(strstr(result, "letter") == NULL && strstr(result, "0123") == NULL);
    }
    CHECK_RUN_HAS(&project, "search_files",
                  "{\"pattern\":\"plan\",\"path\":\".ship/.cache/telegram/1-ab-0f-letter.txt\"}",
                  "secret plan");
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\".ship/.cache/telegram/1-ab-0f-letter.txt\"}",
                  "dear Ann");
}

CASE(searches_are_bounded)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    char *text = malloc(100001);
    CHECK(text != NULL);
    memset(text, 'a', 100000);
    text[100000] = '\0';
    project_put(&project, "costly.txt", text);
    CHECK_RUN_HAS(&project, "search_files", "{\"pattern\":\"(a+)+[bc]\"}", "too costly");
    CHECK_RUN_HAS(&project, "search_files", "{\"pattern\":\"a\"}", "\"line\":1");
    for (size_t i = 1; i < 100000; i += 2)
        text[i] = '\n';
    project_put(&project, "many.txt", text);
    CHECK_RUN_HAS(&project, "search_files", "{\"pattern\":\"a\",\"path\":\"many.txt\"}",
                  "There are more matches");
    volatile int is_stopped = 1;
    sma_buf_clear(&project.result);
    const struct sma_file_call call = {.name = SMA_STR("search_files"),
                                       .arguments = SMA_STR("{\"pattern\":\"nothing\"}"),
                                       .is_stopped = &is_stopped};
    CHECK(sma_file_tools_run(project.tools, &call, &project.result));
    CHECK(strstr(project.result.ptr, "took too long") != NULL);
    free(text);
}

CASE(permissions_of_reading_hold_for_all)
{
    struct project project;
    project_open(&project, "{\"read_repo\":{\"paths\":[\"docs/**\",\"*.md\"]}}");
    project_put(&project, "docs/a.txt", "find me\n");
    project_put(&project, "src/b.md", "find me\n");
    project_put(&project, "src/c.c", "find me\n");
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"docs/a.txt\"}", "find me");
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"src/b.md\"}", "find me");
    char full[256]; /* another name of what is not named */
    snprintf(full, sizeof full, "%s/docs/link.txt", project.dir);
    CHECK(symlink("../src/c.c", full) == 0);
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"docs/link.txt\"}", "is not followed");
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"src/c.c\"}", "read_repo.paths");
    CHECK_RUN(&project, "list_files", "{\"path\":\"src\"}",
              "{\"success\":true,\"entries\":[\"src/b.md\"]}");
    CHECK(strstr(project_run(&project, "search_files", "{\"pattern\":\"find\"}"), "c.c") == NULL);
    CHECK_RUN_HAS(&project, "search_files", "{\"pattern\":\"find\",\"path\":\"src/c.c\"}",
                  "read_repo.paths");
    project_close(&project);
    project_open(&project, "{\"read_repo\":false,\"write_repo\":{\"paths\":[\"src/**\"]}}");
    project_put(&project, "docs/a.txt", "find me\n");
    static const char *const calls[][2] = {{"read_file", "{\"path\":\"docs/a.txt\"}"},
                                           {"list_files", "{}"},
                                           {"search_files", "{\"pattern\":\"find\"}"}};
    for (size_t i = 0; i < SMA_COUNT_OF(calls); i++)
        CHECK_RUN_HAS(&project, calls[i][0], calls[i][1], "permissions.read_repo");
    CHECK_RUN_HAS(&project, "write_file", "{\"path\":\"docs/a.txt\",\"content\":\"\"}",
                  "permissions.write_repo");
    CHECK_RUN_HAS(&project, "write_file", "{\"path\":\"src/a.txt\",\"content\":\"\"}", "created");
    project_close(&project);
}

CASE(the_log_of_a_command_is_read_in_pieces)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    static const char name[] = "20261122T000000-0123456789abcdef.log";
    char arguments[128], folder[128], path[192];
    snprintf(folder, sizeof folder, "%s/logs/exec", project.state_dir);
    struct sma_error error;
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), folder, &error));
    struct sma_buf text;
    sma_buf_init(&text, 1 << 20);
    sma_buf_put_text(&text, "begin ");
    for (int i = 0; i < 20000; i++)
        sma_buf_printf(&text, "\xe4\xbd\xa0%d ", i);
    sma_buf_put_text(&text, "end");
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(sma_sys_write_file_unsynced(sma_sys_real(), path, sma_buf_str(&text), 0600, &error));
    size_t offset = 0, total = 0;
    for (int pieces = 0; pieces < 1000; pieces++) { /* every byte comes once */
        snprintf(arguments, sizeof arguments, "{\"handle\":\"%s\",\"offset\":%zu}", name, offset);
        const char *piece = project_run(&project, "read_more", arguments);
        const char *from = strstr(piece, "\"content\":\""),
                   *next = strstr(piece, "\"nextOffset\":");
        CHECK(from != NULL);
        total += strcspn(from + 11, "\"");
        if (next == NULL)
            break;
        size_t next_offset = strtoul(next + 13, NULL, 10);
        CHECK(next_offset > offset);
        offset = next_offset;
    }
    CHECK_INT(text.len, total);
    snprintf(arguments, sizeof arguments, "{\"handle\":\".ship/logs/exec/%s\",\"limit\":5}", name);
    CHECK_RUN_HAS(&project, "read_more", arguments, "\"content\":\"begin");
    static const char *const bad[] = {
        "0123456789abcdef", "../../../secret.txt",    "x", ".ship/logs/exec/../../state.db",
        ".ship/state.db",   ".ship/logs/exec/.hidden"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++) {
        snprintf(arguments, sizeof arguments, "{\"handle\":\"%s\"}", bad[i]);
        CHECK_RUN_HAS(&project, "read_more", arguments, "\"success\":false");
    }
    sma_buf_fini(&text);
}

CASE(secrets_are_in_no_result)
{
    SMA_AUTO(project_close) struct project project;
    project_open(&project, "");
    project_put(&project, "notes.txt", "the key is sk-canary-123456!\n");
    project_put(&project, "sk-canary-123456.txt", "x\n");
    CHECK_RUN_HAS(&project, "read_file", "{\"path\":\"notes.txt\"}", "the key is [redacted]!");
    /* project_run looks for the value in every result */
    CHECK_RUN_HAS(&project, "search_files", "{\"pattern\":\"key\"}", "the key is [redacted]!");
    CHECK_RUN(&project, "search_files", "{\"pattern\":\"sk-can\"}",
              "{\"success\":true,\"matches\":[]}"); /* nor can it be asked for */
    (void)project_run(&project, "list_files", "{}");
    (void)project_run(&project, "read_file", "{\"path\":\"sk-canary-123456.txt\"}");
    (void)project_run(&project, "read_file", "{\"path\":\"sk-canary-123456\"}");
    struct sma_buf why;
    int fd;
    sma_buf_init(&why, 1000);
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_file_tools_open(project.tools, SMA_STR("notes.txt"), &fd, &why));
    CHECK(strstr(why.ptr, "holds a secret") != NULL);
    sma_buf_fini(&why);
}

CASES_MAIN
