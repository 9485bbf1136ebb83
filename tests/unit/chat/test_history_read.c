/*
 * Aim: the newest matching lines come back in order, from main file and archives; what must not be
 *      given is not given; no pattern and no file makes it hang.
 * Method: histories written through the writer and by hand, small rotations, patterns known to
 * explode.
 */
#include "history_support.h"

#include "sma/text.h"

#define KEY "api:chat:s"
#define NAME "api%3Achat%3As.jsonl"

CASE(recent_goes_on_into_archives)
{
    make_directory();
    struct sma_history *history = open_with(sma_sys_real(), 4, 0);
    char text[16];
    uint64_t generation = 0;
    for (int i = 0; i < 20; i++) {
        snprintf(text, sizeof text, "m%d", i);
        append_text(history, KEY, i % 2 == 0 ? "user" : "assistant", text, text);
        if (is_due(history, KEY))
            rotate_now(history, KEY, generation++);
    }
    CHECK(generation >= 4);
    CHECK_TEXT("m17|m18|m19", search_texts(history, KEY, "", 3));
    CHECK_TEXT("m8|m9|m10|m11|m12|m13|m14|m15|m16|m17|m18|m19", search_texts(history, KEY, "", 12));
    CHECK_TEXT("m0|m1|m2|m3|m4|m5|m6|m7|m8|m9|m10|m11|m12|m13|m14|m15|m16|m17|m18|m19",
               search_texts(history, KEY, "m", 200));
    CHECK_TEXT("m1|m10|m11", search_texts(history, KEY, "^m1[01]?$", 9));
    CHECK(unlink(file_path("api%3Achat%3As.archive-2.jsonl")) ==
          0); /* people may take archives away */
    CHECK(strncmp(search_texts(history, KEY, "", 200), "m0|m1|m2|m3|m4|m10", 18) == 0);
    sma_history_close(history);
    drop_directory();
}

CASE(cut_answers_say_so)
{
    make_directory();
    struct sma_history *history = open_history();
    for (int i = 0; i < 3; i++)
        append_text(history, KEY, "user", "x", "text");
    for (uint32_t limit = 2; limit <= 4; limit++) {
        struct sma_history_query query = {.chat_key = SMA_STR(KEY), .limit = limit};
        struct sma_history_reader *reader = run_query(history, &query);
        uint32_t count;
        bool is_cut;
        (void)sma_history_read_items(reader, &count, &is_cut);
        CHECK_INT(limit < 3 ? limit : 3, count);
        CHECK_INT(limit < 3, is_cut);
        sma_history_read_end(reader);
    }
    sma_history_close(history);
    drop_directory();
}

CASE(keywords_match_as_people_expect)
{
    make_directory();
    struct sma_history *history = open_history();
    append_text(history, KEY, "user", "1", "Deploy the Server");
    append_text(history, KEY, "assistant", "2", "天气很好");
    append_text(history, KEY, "user", "3", "say \"yes\" now");
    append_text(history, KEY, "user", "4", "C:\\temp\\x");
    append_text(history, KEY, "user", "5", "line one\nline two");
    append_text(history, KEY, "user", "6", "Straße ÜBER alles");
    append_text(history, KEY, "user", "7", "price (USD) [draft");
    append_text(history, KEY, "user", "8", "a/b");
    CHECK_TEXT("Deploy the Server", search_texts(history, KEY, "SERVER", 5));
    CHECK_TEXT("Deploy the Server", search_texts(history, KEY, "deploy THE", 5));
    CHECK_TEXT("天气很好", search_texts(history, KEY, "天气", 5));
    CHECK_TEXT("", search_texts(history, KEY, "气天", 5));
    CHECK_TEXT("say \"yes\" now", search_texts(history, KEY, "\"YES\" now", 5));
    CHECK_TEXT("C:\\temp\\x",
               search_texts(history, KEY, "temp\\\\x", 5)); /* a pattern: one backslash */
    CHECK_TEXT("line one\nline two", search_texts(history, KEY, "one\nline", 5));
    CHECK_TEXT("Straße ÜBER alles", search_texts(history, KEY, "über", 5));
    CHECK_TEXT("price (USD) [draft",
               search_texts(history, KEY, "[draft", 5)); /* does not compile: plain text */
    CHECK_TEXT("price (USD) [draft", search_texts(history, KEY, "(USD", 5));
    CHECK_TEXT("Deploy the Server|price (USD) [draft",
               search_texts(history, KEY, "^(deploy|price)", 5));
    CHECK_TEXT("a/b", search_texts(history, KEY, "a/b", 5));
    CHECK_TEXT("天气很好", search_texts(history, KEY, "\\u5929", 5)); /* as JavaScript reads it */
    CHECK_TEXT("", search_texts(history, KEY, "channel", 5));         /* not text */
    CHECK_TEXT("", search_texts(history, "api:chat:other", "a", 5));
    sma_history_close(history);
    drop_directory();
}

static void put_line(struct sma_buf *file, const char *role, const char *text_json,
                     const char *extra)
{
    sma_buf_printf(file,
                   "{\"v\":1,\"ts\":1,\"channel\":\"api\",\"chatId\":\"1\",\"chatKey\":\"" KEY
                   "\",\"role\":\"%s\",\"text\":%s%s}\n",
                   role, text_json, extra);
}

CASE(escapes_of_other_writers_are_found)
{
    make_directory();
    struct sma_buf file;
    sma_buf_init(&file, 1 << 16);
    put_line(&file, "user", "\"\\u5929\\u6c14\"", "");
    put_line(&file, "user", "\"de\\u0070loy \\u0000 nul\"", "");
    put_line(&file, "user", "\"half \\ud83d pair\"", ""); /* JSON.stringify of a cut emoji */
    put_line(&file, "user", "\"\\\\ud83d \\ud83d\\udc4d whole\"", "");
    put_file(NAME, file.ptr, file.len);
    struct sma_history *history = open_history();
    CHECK_TEXT("天气", search_texts(history, KEY, "天气", 5));
    CHECK(strncmp(search_texts(history, KEY, "deploy", 5), "deploy ", 7) == 0);
    CHECK_TEXT("half \xEF\xBF\xBD pair", search_texts(history, KEY, "half", 5));
    CHECK_TEXT("\\ud83d 👍 whole", search_texts(history, KEY, "whole", 5));
    CHECK_INT(0, report_counts[SMA_HISTORY_LINE_DAMAGED]);
    sma_buf_fini(&file);
    sma_history_close(history);
    drop_directory();
}

CASE(damaged_lines_are_skipped_and_reported_once)
{
    make_directory();
    struct sma_buf file;
    sma_buf_init(&file, 1 << 16);
    put_line(&file, "user", "\"first\"", "");
    sma_buf_put_text(&file, "{\"v\":1,\"ts\":2,\"ro\n");
    put_line(&file, "user", "\"bad version\"", "");
    file.ptr[strlen("{\"v\":1,\"ts\":1,\"channel\":\"api\",\"chatId\":\"1\",\"chatKey\":\"" KEY
                    "\",\"role\":\"user\",\"text\":\"first\"}\n{\"v\":1,\"ts\":2,\"ro\n{\"v\":")] =
        '2';
    sma_buf_put_text(&file, "{\"v\":1,\"ts\":\"no\",\"chatKey\":\"" KEY
                            "\",\"role\":\"user\",\"text\":\"x\"}\n");
    sma_buf_put_text(&file,
                     "{\"v\":1,\"ts\":1,\"chatKey\":\"other\",\"role\":\"user\",\"text\":\"x\"}\n");
    sma_buf_put_text(&file, "{\"v\":1,\"ts\":1,\"chatKey\":\"" KEY
                            "\",\"role\":\"user\",\"text\":7}\n[]\n\xff\xfe\n");
    for (int i = 0; i < 3000; i++)
        sma_buf_put_char(&file, '[');
    sma_buf_put_char(&file, '\n');
    put_line(&file, "user", "\"last\"", "");
    put_file(NAME, file.ptr, file.len);
    struct sma_history *history = open_history();
    CHECK_TEXT("first|last", search_texts(history, KEY, "", 50));
    CHECK_TEXT("first|last", search_texts(history, KEY, "", 50));
    CHECK_INT(8, report_counts[SMA_HISTORY_LINE_DAMAGED]);
    CHECK_INT(2, last_report_line); /* backwards: the last report is of the first damage */
    sma_buf_fini(&file);
    sma_history_close(history);
    drop_directory();
}

CASE(notices_and_other_roles_are_not_given)
{
    make_directory();
    struct sma_buf file;
    sma_buf_init(&file, 1 << 16);
    put_line(&file, "user", "\"q\"", ",\"meta\":{\"username\":\"ann\"}");
    put_line(&file, "assistant", "\"busy\"", ",\"meta\":{\"notice\":true}");
    put_line(&file, "system", "\"sys\"", "");
    put_line(&file, "assistant", "\"  \\n \"", "");
    put_line(&file, "assistant", "\"a\"", ",\"meta\":{\"notice\":false}");
    put_file(NAME, file.ptr, file.len);
    struct sma_history *history = open_history();
    CHECK_TEXT("q|a", search_texts(history, KEY, "", 9));
    struct sma_history_query query = {.chat_key = SMA_STR(KEY), .limit = 9, .is_raw = true};
    struct sma_history_reader *reader = run_query(history, &query);
    uint32_t count;
    bool is_cut;
    const struct sma_history_item *items = sma_history_read_items(reader, &count, &is_cut);
    CHECK_INT(5, count);
    CHECK(!is_cut);
    CHECK_STR("ann", items[0].user_name);
    CHECK_STR("system", items[2].role);
    CHECK(items[0].is_user && !items[1].is_user);
    CHECK(items[4].line.ptr[0] == '{' && items[4].line.ptr[items[4].line.len - 1] == '}');
    sma_history_read_end(reader);
    sma_buf_fini(&file);
    sma_history_close(history);
    drop_directory();
}

CASE(commands_and_decisions_are_not_given)
{
    make_directory();
    struct sma_buf file;
    sma_buf_init(&file, 1 << 16);
    put_line(&file, "user", "\"q\"", ",\"meta\":{\"username\":\"ann\"}");
    put_line(&file, "user", "\"yes, all\"",
             ",\"meta\":{\"aside\":\"decision\",\"username\":\"ann\"}");
    put_line(&file, "user", "\"/status please\"", ",\"meta\":{\"aside\":\"command\"}");
    put_line(&file, "user", "\" /stop@bot \"", ""); /* from before they were marked */
    put_line(&file, "user", "\"/clear\"", "");
    put_line(&file, "user", "\"/etc/passwd is what?\"", "");
    put_line(&file, "user", "\"/ shrug\"", "");
    put_line(&file, "assistant", "\"/help\"", "");
    put_file(NAME, file.ptr, file.len);
    struct sma_history *history = open_history();
    CHECK_TEXT("q|/etc/passwd is what?|/ shrug|/help", search_texts(history, KEY, "", 9));
    sma_buf_fini(&file);
    sma_history_close(history);
    drop_directory();
}

CASE(a_session_holds_nothing_from_before_it_was_cleared)
{
    static const struct
    {
        const char *text, *more;
        bool is_end;
    } rows[] = {{"\"/clear\"", "", true},
                {"\"/new@bot\"", "", true},
                {"\"\u6e05\u9664\"", ",\"meta\":{\"aside\":\"clear\"}", true},
                {"\"/status\"", ",\"meta\":{\"aside\":\"command\"}", false},
                {"\"/clear the table\"", "", false}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        make_directory();
        struct sma_buf file;
        sma_buf_init(&file, 1 << 16);
        put_line(&file, "user", "\"before\"", "");
        put_line(&file, "user", rows[i].text, rows[i].more);
        put_line(&file, "assistant", "\"after\"", "");
        put_file(NAME, file.ptr, file.len);
        struct sma_history *history = open_history();
        struct sma_history_query query = {
            .chat_key = SMA_STR(KEY), .limit = 9, .ends_at_clear = true};
        bool has_before = strstr(query_texts(history, &query), "before") != NULL;
        CHECK_INT(!rows[i].is_end, has_before);
        query.ends_at_clear = false;
        CHECK(strstr(query_texts(history, &query), "before") != NULL);
        sma_buf_fini(&file);
        sma_history_close(history);
        drop_directory();
    }
}

CASE(what_was_given_makes_room_for_older_lines)
{
    make_directory();
    struct sma_buf file;
    sma_buf_init(&file, 1 << 16);
    for (int i = 0; i < 6; i++)
        sma_buf_printf(&file,
                       "{\"v\":1,\"ts\":%d,\"chatKey\":\"" KEY
                       "\",\"messageId\":\"m%d\",\"role\":\"user\",\"text\":\"t%d\"}\n",
                       1000 + i, i, i);
    put_file(NAME, file.ptr, file.len);
    struct sma_history *history = open_history();
    uint64_t marks[3] = {sma_line_mark(1005, true, SMA_STR("m5")),
                         sma_line_mark(1003, true, SMA_STR("m3")),
                         sma_line_mark(1004, false, SMA_STR("m4"))}; /* another one */
    struct sma_history_query query = {
        .chat_key = SMA_STR(KEY), .limit = 3, .given = {(const char *)marks, sizeof marks}};
    CHECK_TEXT("t1|t2|t4", query_texts(history, &query));
    sma_buf_fini(&file);
    sma_history_close(history);
    drop_directory();
}

/* Twelve messages; rotations at 3 lines; the places as they were when each line was written. */
CASE(places_hold_through_rotations)
{
    make_directory();
    struct sma_history *history = open_with(sma_sys_real(), 2, 0);
    struct sma_history_place places[12];
    uint64_t generation = 0;
    char id[16], expect[192], before[128] = "";
    for (int i = 0; i < 12; i++) {
        snprintf(id, sizeof id, "m%d", i);
        places[i] = (struct sma_history_place){true, generation, 0};
        places[i].offset = append_text(history, KEY, i % 3 == 2 ? "assistant" : "user", id, id);
        if (is_due(history, KEY))
            rotate_now(history, KEY, generation++);
    }
    CHECK(generation >= 3);
    for (int i = 0; i < 12; i++) {
        struct sma_history_query query = {
            .chat_key = SMA_STR(KEY), .limit = 50, .generation = generation, .before = places[i]};
        CHECK_TEXT(before, query_texts(history, &query));
        snprintf(expect, sizeof expect, "%s%sm%d", before, i == 0 ? "" : "|", i);
        memcpy(before, expect, sizeof before);
    }
    struct sma_str ids[] = {SMA_STR("m6"), SMA_STR("m9")};
    struct sma_history_query query = {
        .chat_key = SMA_STR(KEY),
        .limit = 50,
        .generation = generation,
        .before = places[10],
        .session_first = places[4],
        .session_id_count = 2,
        .session_ids = ids,
    };
    /* from m4 on: m5 and m8 are assistant lines, m6 and m9 in the session */
    CHECK_TEXT("m0|m1|m2|m3|m4|m7", query_texts(history, &query));
    query.limit = 2;
    CHECK_TEXT("m4|m7", query_texts(history, &query));
    query.keyword = SMA_STR("m[0-9]");
    CHECK_TEXT("m4|m7", query_texts(history, &query));
    sma_history_close(history);
    drop_directory();
}

CASE(reading_goes_on_beside_writing_and_rotation)
{
    make_directory();
    struct sma_history *history = open_with(sma_sys_real(), 6, 0);
    static char big[300001];
    memset(big, 'x', sizeof big - 1);
    for (int i = 0; i < 6; i++) {
        big[0] = (char)('a' + i);
        append_text(history, KEY, "user", "1", big);
    }
    struct sma_history_query query = {
        .chat_key = SMA_STR(KEY), .keyword = SMA_STR("nowhere|^ax"), .limit = 5};
    struct sma_history_reader *reader;
    CHECK_OK(sma_history_read_begin(history, &query, &reader, NULL));
    bool is_done = false;
    CHECK_OK(sma_history_read_step(reader, &is_done, NULL));
    CHECK(!is_done); /* 1.8 MB are more than one slice */
    append_text(history, KEY, "user", "1", "ax late");
    rotate_now(history, KEY, 0);
    while (!is_done)
        CHECK_OK(sma_history_read_step(reader, &is_done, NULL));
    uint32_t count;
    bool is_cut;
    const struct sma_history_item *items = sma_history_read_items(reader, &count, &is_cut);
    CHECK_INT(1, count);                           /* the old one, once; not the late one */
    CHECK(items[0].text.ptr[0] == 'a' && !is_cut); /* shortened, and there is no other */
    CHECK_INT(SMA_HISTORY_SHORTENED_BYTES, items[0].text.len);
    sma_history_read_end(reader);
    sma_history_close(history);
    drop_directory();
}

CASE(answers_are_bounded_in_bytes)
{
    make_directory();
    struct sma_history *history = open_history();
    static char big[100001];
    memset(big, 'y', sizeof big - 1);
    for (int i = 0; i < 5; i++) {
        big[0] = (char)('a' + i);
        append_text(history, KEY, "user", "1", big);
    }
    struct sma_history_query query = {.chat_key = SMA_STR(KEY), .limit = 50};
    struct sma_history_reader *reader = run_query(history, &query);
    uint32_t count;
    bool is_cut;
    const struct sma_history_item *items = sma_history_read_items(reader, &count, &is_cut);
    CHECK_INT(2, count);
    CHECK(is_cut && items[0].text.ptr[0] == 'd' && items[1].text.ptr[0] == 'e');
    sma_history_read_end(reader);
    sma_history_close(history);
    drop_directory();
}

static enum sma_err read_to_end(struct sma_history *history, const char *pattern,
                                struct sma_error *error)
{
    struct sma_history_query query = {
        .chat_key = SMA_STR(KEY), .keyword = sma_str(pattern), .limit = 5};
    struct sma_history_reader *reader;
    bool is_done = false;
    uint64_t start = sma_sys_real()->now_ns(NULL);
    CHECK_OK(sma_history_read_begin(history, &query, &reader, NULL));
    enum sma_err err = SMA_ERR_OK;
    while (err == SMA_ERR_OK && !is_done)
        err = sma_history_read_step(reader, &is_done, error);
    sma_history_read_end(reader);
    fprintf(stderr, "  %-12s %llu ms %s\n", pattern,
            (unsigned long long)(sma_sys_real()->now_ns(NULL) - start) / 1000000,
            sma_err_name(err));
    return err;
}

CASE(exploding_patterns_end_in_an_error)
{
    static const char *const exploding[] = {"(a+)+$", "(a|a)*$", "(a|aa)+[bc]"};
    static const char *const heavy[] = {
        "^(a+)+b",  "a*[bc]", "(a*)*[bc]d", "(.*)*\\1z", "(((a{1,99}){1,99}){1,99}){1,99}",
        "(?:.?)+!!"};
    make_directory();
    struct sma_history *history = open_history();
    static char text[400001];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 2] = '!';
    append_text(history, KEY, "user", "1", text);
    for (size_t i = 0; i < SMA_COUNT_OF(exploding); i++) {
        struct sma_error error = {0};
        CHECK_ERR(SMA_ERR_TOOBIG, read_to_end(history, exploding[i], &error));
        CHECK(strstr(error.text, "simpler") != NULL);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(heavy);
         i++) { /* some end without a match, some in the error */
        enum sma_err err = read_to_end(history, heavy[i], NULL);
        CHECK(err == SMA_ERR_OK || err == SMA_ERR_TOOBIG);
    }
    sma_history_close(history);
    drop_directory();
}

CASE(bad_keywords_are_refused)
{
    make_directory();
    struct sma_history *history = open_history();
    static char keyword[SMA_HISTORY_KEYWORD_BYTES_MAX + 1];
    memset(keyword, 'k', sizeof keyword);
    struct sma_history_query query = {
        .chat_key = SMA_STR(KEY), .keyword = {keyword, sizeof keyword}, .limit = 5};
    struct sma_history_reader *reader;
    CHECK_ERR(SMA_ERR_BADINPUT, sma_history_read_begin(history, &query, &reader, NULL));
    query.keyword.len--;
    CHECK_TEXT("", query_texts(history, &query));
    query.keyword = SMA_STR("\xff");
    CHECK_ERR(SMA_ERR_BADINPUT, sma_history_read_begin(history, &query, &reader, NULL));
    sma_history_close(history);
    drop_directory();
}

CASE(huge_lines_are_read_and_monsters_skipped)
{
    make_directory();
    struct sma_buf file;
    sma_buf_init(&file, 64u << 20);
    put_line(&file, "user", "\"before\"", "");
    sma_buf_put_text(&file, "{\"v\":1,\"ts\":1,\"chatKey\":\"" KEY
                            "\",\"role\":\"user\",\"text\":\"huge ");
    char *at = sma_buf_reserve(&file, 1 << 20);
    memset(at, 'h', 1 << 20);
    file.len += 1 << 20;
    sma_buf_put_text(&file, "\"}\n");
    at = sma_buf_reserve(&file, SMA_HISTORY_LINE_BYTES_MAX * 2 + 77);
    memset(at, 'z', SMA_HISTORY_LINE_BYTES_MAX * 2 + 77);
    file.len += SMA_HISTORY_LINE_BYTES_MAX * 2 + 77;
    sma_buf_put_char(&file, '\n');
    put_line(&file, "user", "\"after\"", "");
    put_file(NAME, file.ptr, file.len);
    struct sma_history *history = open_history();
    CHECK_TEXT("before", search_texts(history, KEY, "^before", 5));
    CHECK_INT(1, report_counts[SMA_HISTORY_LINE_DAMAGED]);
    CHECK_INT(3, last_report_line);
    CHECK_TEXT("after", search_texts(history, KEY, "", 1));
    append_text(history, KEY, "user", "1", "new");
    struct sma_history_query query = {
        .chat_key = SMA_STR(KEY), .keyword = SMA_STR("huge"), .limit = 5};
    struct sma_history_reader *reader = run_query(history, &query);
    uint32_t count;
    bool is_cut;
    const struct sma_history_item *items = sma_history_read_items(reader, &count, &is_cut);
    CHECK_INT(1, count);
    CHECK_INT(SMA_HISTORY_SHORTENED_BYTES, items[0].text.len);
    CHECK(!is_cut); /* nothing else matches; who shows the text says that it goes on */
    sma_history_read_end(reader);
    sma_buf_fini(&file);
    sma_history_close(history);
    drop_directory();
}

/* Begins "before", then a text of text_len times `letter`, then "after". */
static void put_long_between(size_t text_len, const char *letter, const char *more)
{
    struct sma_buf file;
    sma_buf_init(&file, 64u << 20);
    put_line(&file, "user", "\"before\"", "");
    sma_buf_put_text(&file, "{\"v\":1,\"ts\":7,\"chatKey\":\"" KEY
                            "\",\"messageId\":\"long\",\"role\":\"user\",\"text\":\"");
    for (size_t i = 0; i < text_len; i++)
        sma_buf_put_text(&file, letter);
    sma_buf_put_text(&file, "\"");
    sma_buf_put_text(&file, more);
    sma_buf_put_text(&file, "}\n");
    put_line(&file, "assistant", "\"after\"", "");
    put_file(NAME, file.ptr, file.len);
    sma_buf_fini(&file);
}

static const struct sma_history_item *read_all(struct sma_history *history,
                                               struct sma_history_query query,
                                               struct sma_history_reader **ret_reader,
                                               uint32_t *ret_count)
{
    bool is_cut;
    query.chat_key = SMA_STR(KEY);
    query.limit = query.limit == 0 ? 50 : query.limit;
    *ret_reader = run_query(history, &query);
    const struct sma_history_item *items = sma_history_read_items(*ret_reader, ret_count, &is_cut);
    CHECK(!is_cut || query.limit < 50);
    return items;
}

/* A line that leaves no room for others is shortened and says so; what stands before it is read. */
CASE(a_long_line_hides_nothing)
{
    static const char *const letters[] = {"z", "\\u0007", "\xe2\x82\xac"}; /* euro: 3 bytes */
    for (size_t i = 0; i < SMA_COUNT_OF(letters); i++) {
        make_directory();
        put_long_between(SMA_HISTORY_BYTES_MAX + 1, letters[i],
                         ",\"meta\":{\"files\":[{\"path\":\"a\"}]}");
        struct sma_history *history = open_history();
        struct sma_history_reader *reader;
        uint32_t count;
        const struct sma_history_item *items =
            read_all(history, (struct sma_history_query){0}, &reader, &count);
        CHECK_INT(3, count);
        CHECK(sma_str_is_equal(items[0].text, SMA_STR("before")));
        CHECK(items[1].text.len > SMA_HISTORY_SHORTENED_BYTES - 4 &&
              items[1].text.len <= SMA_HISTORY_SHORTENED_BYTES);
        CHECK(sma_utf8_is_valid(items[1].text));
        sma_history_read_end(reader);

        items = read_all(history, (struct sma_history_query){.is_raw = true}, &reader, &count);
        CHECK_INT(3, count);
        CHECK(items[1].line.len < SMA_HISTORY_WHOLE_LINE_BYTES_MAX);
        char line[SMA_HISTORY_WHOLE_LINE_BYTES_MAX + 1] = "";
        memcpy(line, items[1].line.ptr, items[1].line.len);
        CHECK(strstr(line, "\"isShortened\":true") != NULL);
        CHECK(strncmp(line, "{\"v\":1,\"ts\":7,", 14) == 0);
        CHECK(strstr(line, "\"text\":\"") != NULL && items[1].line.len > 1000);
        CHECK(strstr(line, "\"meta\":{\"files\":[{\"path\":\"a\"}]}") != NULL);
        CHECK(line[items[1].line.len - 1] == '}');
        CHECK(memmem(items[0].line.ptr, items[0].line.len, "isShortened", 11) == NULL);
        sma_history_read_end(reader);

        (void)read_all(
            history,
            (struct sma_history_query){.is_raw = true, .limit = 1, .message_id = SMA_STR("long")},
            &reader, &count);
        CHECK_INT(1, count); /* looked for by its id it is there */
        sma_history_read_end(reader);
        sma_history_close(history);
        drop_directory();
    }
}

/* max - 1, max and max + 1 bytes of a line. */
/* Each is read whole before it is made short. */
CASE(long_lines_are_dear)
{
    char *text = malloc(SMA_HISTORY_BYTES_MAX + 3);
    struct sma_buf file;
    bool is_cut;
    uint32_t count;
    CHECK(text != NULL);
    memset(text, 'z', SMA_HISTORY_BYTES_MAX + 2);
    text[0] = text[SMA_HISTORY_BYTES_MAX + 1] = '"';
    text[SMA_HISTORY_BYTES_MAX + 2] = '\0';
    make_directory();
    sma_buf_init(&file, 64u << 20);
    for (int i = 0; i < 6; i++)
        put_line(&file, "user", text, "");
    put_file(NAME, file.ptr, file.len);
    struct sma_history *history = open_history();
    struct sma_history_query query = {.chat_key = SMA_STR(KEY), .limit = 50};
    struct sma_history_reader *reader = run_query(history, &query);
    (void)sma_history_read_items(reader, &count, &is_cut);
    CHECK_INT(4, count);
    CHECK(is_cut);
    sma_history_read_end(reader);
    sma_history_close(history);
    drop_directory();
    sma_buf_fini(&file);
    free(text);
}

CASE(a_line_is_whole_up_to_its_bound)
{
    static const struct
    {
        int more;
        bool is_whole;
    } rows[] = {{-1, true}, {0, true}, {1, false}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        make_directory();
        put_long_between(0, "", "");
        size_t others = strlen("{\"v\":1,\"ts\":7,\"chatKey\":\"" KEY
                               "\",\"messageId\":\"long\",\"role\":\"user\",\"text\":\"\"}");
        put_long_between(SMA_HISTORY_WHOLE_LINE_BYTES_MAX - others + (size_t)rows[i].more, "z", "");
        struct sma_history *history = open_history();
        struct sma_history_reader *reader;
        uint32_t count;
        const struct sma_history_item *items =
            read_all(history, (struct sma_history_query){.is_raw = true}, &reader, &count);
        CHECK_INT(3, count);
        CHECK_INT(rows[i].is_whole,
                  memmem(items[1].line.ptr, items[1].line.len, "isShortened", 11) == NULL);
        sma_history_read_end(reader);
        sma_history_close(history);
        drop_directory();
    }
}

/* What is not its words cannot be shortened: then without meta, or the line is passed over and
 * reported. */
CASE(a_line_long_in_other_members_is_passed_over)
{
    static char name[SMA_HISTORY_BYTES_MAX + 64], meta[sizeof name + 64];
    memset(name, 'n', sizeof name - 1);
    for (int i = 0; i < 2; i++) {
        make_directory();
        snprintf(meta, sizeof meta, i == 0 ? ",\"meta\":{\"x\":\"%s\"}" : ",\"userId\":\"%s\"",
                 name);
        put_long_between(5, "z", meta);
        struct sma_history *history = open_history();
        for (int is_raw = 0; is_raw < 2; is_raw++) {
            struct sma_history_reader *reader;
            uint32_t count;
            const struct sma_history_item *items = read_all(
                history, (struct sma_history_query){.is_raw = is_raw == 1}, &reader, &count);
            CHECK_INT(i == 0 ? 3 : 2, count);
            CHECK(sma_str_is_equal(items[0].text, SMA_STR("before")));
            CHECK(is_raw == 0 || i == 1 || items[1].line.len < 1000);
            sma_history_read_end(reader);
        }
        CHECK_INT(i, report_counts[SMA_HISTORY_LINE_DAMAGED]);
        sma_history_close(history);
        drop_directory();
    }
}

CASE(stamps_bound_the_answer)
{
    make_directory();
    struct sma_history *history = open_history();
    for (int i = 1; i <= 5; i++) {
        struct sma_history_entry entry =
            make_entry(KEY, "user", "1", (char[]){(char)('0' + i), '\0'}, i * 10);
        append(history, &entry);
    }
    struct sma_history_query query = {
        .chat_key = SMA_STR(KEY), .limit = 50, .from_ms = 20, .to_ms = 40};
    CHECK_TEXT("2|3|4", query_texts(history, &query));
    sma_history_close(history);
    drop_directory();
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SEARCH_MB 4 /* the sanitizers make each byte many times dearer */
#else
#define SEARCH_MB 20
#endif
/* Prints how fast a file is searched; asserts only that slices are small. */
CASE(search_is_quick)
{
    make_directory();
    struct sma_buf file;
    sma_buf_init(&file, 64u << 20);
    while (file.len < (size_t)SEARCH_MB << 20)
        put_line(&file, "user",
                 "\"The quick brown fox jumps over the lazy dog; 敏捷的棕色狐狸跳过懒狗 again and "
                 "again\"",
                 "");
    put_file(NAME, file.ptr, file.len);
    struct sma_history *history = open_history();
    static const char *const keywords[] = {"needle", "针头", "zz.*yy"};
    for (size_t i = 0; i < SMA_COUNT_OF(keywords); i++) {
        struct sma_history_query query = {
            .chat_key = SMA_STR(KEY), .keyword = sma_str(keywords[i]), .limit = 5};
        struct sma_history_reader *reader;
        CHECK_OK(sma_history_read_begin(history, &query, &reader, NULL));
        uint64_t start = sma_sys_real()->now_ns(NULL);
        int steps = 0;
        for (bool is_done = false; !is_done; steps++)
            CHECK_OK(sma_history_read_step(reader, &is_done, NULL));
        double seconds = (double)(sma_sys_real()->now_ns(NULL) - start) / 1e9;
        fprintf(stderr, "  %-8s %.0f MB/s, %d slices\n", keywords[i],
                (double)file.len / 1e6 / seconds, steps);
        CHECK(steps >= SEARCH_MB);
        sma_history_read_end(reader);
    }
    sma_buf_fini(&file);
    sma_history_close(history);
    drop_directory();
}

/* -- the walk after a lost database ------------------------------------------------------------ */
static char walked[1024];

static enum sma_err note_record(void *self, const struct sma_history_record *record)
{
    (void)self;
    size_t len = strlen(walked);
    snprintf(walked + len, sizeof walked - len, "%.*s/%.*s/%.*s%s ",
             (int)record->entry.chat_key.len, record->entry.chat_key.ptr,
             (int)record->entry.role.len, record->entry.role.ptr, (int)record->entry.message_id.len,
             record->entry.message_id.ptr, record->is_archived ? "*" : "");
    return len > 900 ? SMA_ERR_FULL : SMA_ERR_OK;
}

CASE(walk_gives_every_entry_in_order)
{
    make_directory();
    struct sma_history *history = open_with(sma_sys_real(), 4, 0);
    append_text(history, "b", "user", "b1", "x");
    for (int i = 0; i < 5; i++)
        append_text(history, "a", i == 4 ? "user" : "assistant", (char[]){(char)('0' + i), '\0'},
                    "x");
    rotate_now(history, "a", 0);
    put_file("a.jsonl.tmp", "x", 1);
    put_file("c.jsonl", "garbage\n", 8);
    put_file("notes.txt", "x", 1);
    walked[0] = '\0';
    CHECK_OK(sma_history_walk(history, note_record, NULL, NULL));
    CHECK_TEXT("a/assistant/0* a/assistant/1* a/assistant/2* a/assistant/3* a/user/4* b/user/b1 ",
               walked);
    CHECK_INT(1, report_counts[SMA_HISTORY_LINE_DAMAGED]);
    CHECK(get_file("a.jsonl.tmp", NULL) == NULL);
    memset(walked, 'x', 950);
    walked[950] = '\0';
    CHECK_ERR(SMA_ERR_FULL, sma_history_walk(history, note_record, NULL, NULL));
    sma_history_close(history);
    drop_directory();
}

CASES_MAIN
