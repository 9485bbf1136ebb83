/*
 * Aim: a rotation gives the whole main file the name of an archive, says so in a plan that survives
 *      storage, and meets odd files calmly; one that an older version began is finished.
 * Method: real limits, line counts around them; plans carried out on files changed behind their
 * back.
 */
#include "history_support.h"

#include "sma/text.h"

#include <errno.h>

#define KEY "api:chat:r"
#define STEM "api%3Achat%3Ar"

static void append_many(struct sma_history *history, int first, int count)
{
    char text[32];
    for (int i = first; i < first + count; i++) {
        snprintf(text, sizeof text, "t%d", i);
        append_text(history, KEY, "user", text, text);
    }
}

CASE(the_file_becomes_an_archive_at_1001_lines)
{
    make_directory();
    struct sma_history *history = open_history();
    append_many(history, 0, 1000);
    CHECK(!is_due(history, KEY));
    append_many(history, 1000, 1);
    CHECK_INT(1, rotate_now(history, KEY, 0));
    CHECK_INT(1001, count_lines(STEM ".archive-1.jsonl"));
    CHECK(get_file(STEM ".jsonl", NULL) == NULL);
    append_many(history, 1001, 1000);
    CHECK(!is_due(history, KEY));
    append_many(history, 2001, 1);
    CHECK_INT(2, rotate_now(history, KEY, 1));
    CHECK_INT(1001, count_lines(STEM ".archive-2.jsonl"));
    CHECK_TEXT("t2000|t2001", search_texts(history, KEY, "", 2));
    CHECK_TEXT("t0", search_texts(history, KEY, "^t0$", 2));
    sma_history_close(history);
    drop_directory();
}

CASE(long_lines_make_a_file_due_by_its_bytes)
{
    make_directory();
    struct sma_history *history = open_history();
    static char text[1024 * 1024];
    memset(text, 'x', sizeof text - 1);
    for (int i = 0; i < 15; i++)
        append_text(history, KEY, "user", "long", text);
    CHECK(!is_due(history, KEY));
    append_text(history, KEY, "user", "long", text);
    CHECK_INT(1, rotate_now(history, KEY, 0));
    sma_history_close(history);
    drop_directory();
}

CASE(count_is_taken_from_an_old_file)
{
    for (int count = 1000; count <= 1002; count++) {
        make_directory();
        struct sma_history *history = open_history();
        append_many(history, 0, count);
        sma_history_close(history);
        history = open_history();
        uint64_t offset;
        CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), 0, &offset, NULL));
        CHECK(sma_history_needs_count(history, SMA_STR(KEY)));
        CHECK(!sma_history_is_rotation_due(history, SMA_STR(KEY))); /* not known yet */
        CHECK_INT(count > 1000, is_due(history, KEY));
        if (count > 1000) {
            rotate_now(history, KEY, 0);
            CHECK_INT(count, count_lines(STEM ".archive-1.jsonl"));
        }
        sma_history_close(history);
        drop_directory();
    }
}

CASE(lines_that_come_while_a_file_is_counted_are_counted_once)
{
    make_directory();
    struct sma_history *history = open_history();
    append_many(history, 0, 990);
    sma_history_close(history);
    history = open_history();
    append_many(history, 990, 10);
    CHECK(!is_due(history, KEY));
    append_many(history, 1000, 1);
    CHECK(is_due(history, KEY));
    sma_history_close(history);
    drop_directory();
}

static int read_count;

static ssize_t counting_pread(void *self, int fd, void *bytes, size_t len, off_t offset)
{
    (void)self;
    read_count++;
    return pread(fd, bytes, len, offset);
}

CASE(a_count_is_remembered_when_the_chat_is_forgotten)
{
    make_directory();
    struct sma_sys sys = *sma_sys_real();
    sys.pread = counting_pread;
    struct sma_history_options options = {
        .sys = &sys, .directory = test_directory, .chat_count_max = 2, .is_single_threaded = true};
    struct sma_history *history;
    CHECK_OK(sma_history_open(&options, &history, NULL));
    append_many(history, 0, 1001);
    CHECK_OK(sma_history_sync_all(history, NULL));
    for (int i = 0; i < 8; i++) {
        char key[32];
        snprintf(key, sizeof key, "api:chat:other%d", i);
        append_text(history, key, "user", "1", "x");
        CHECK_OK(sma_history_sync_all(history, NULL));
    }
    read_count = 0;
    uint64_t offset;
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), 0, &offset, NULL));
    CHECK_INT(1, read_count); /* the end of the file, whatever its length */
    CHECK(sma_history_is_rotation_due(history, SMA_STR(KEY)));
    sma_history_close(history);
    drop_directory();
}

CASE(promised_lines_delay_a_rotation)
{
    make_directory();
    struct sma_history *history = open_with(sma_sys_real(), 4, 0);
    append_many(history, 0, 5);
    CHECK(is_due(history, KEY));
    uint64_t offset;
    static struct sma_history_plan plan;
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), 10, &offset, NULL));
    CHECK(!sma_history_is_rotation_due(history, SMA_STR(KEY)));
    CHECK_ERR(SMA_ERR_BUSY, sma_history_plan_rotation(history, SMA_STR(KEY), 0, &plan, NULL));
    sma_history_release(history, SMA_STR(KEY), offset);
    CHECK(sma_history_is_rotation_due(history, SMA_STR(KEY)));
    CHECK_ERR(SMA_ERR_EMPTY,
              sma_history_plan_rotation(history, SMA_STR("unknown"), 0, &plan, NULL));
    sma_history_close(history);
    drop_directory();
}

static struct sma_history_plan plan_of(struct sma_history *history)
{
    struct sma_history_plan plan;
    CHECK_OK(sma_history_plan_rotation(history, SMA_STR(KEY), 0, &plan, NULL));
    return plan;
}

CASE(plans_repeat_without_effect)
{
    make_directory();
    struct sma_history *history = open_with(sma_sys_real(), 4, 0);
    append_many(history, 0, 5);
    struct sma_history_plan plan = plan_of(history);
    enum sma_history_rotation rotation;
    for (int i = 0; i < 3; i++) {
        CHECK_OK(sma_history_rotate(history, &plan, &rotation, NULL));
        CHECK_INT(SMA_HISTORY_ROTATED, rotation);
        CHECK_TEXT("t0|t1|t2|t3|t4", search_texts(history, KEY, "", 9));
    }
    CHECK_INT(5, count_lines(STEM ".archive-1.jsonl"));
    sma_history_close(history);
    drop_directory();
}

/* The generation is recorded before the file is renamed: with the name taken the lines simply go on
 * where they are. */
CASE(foreign_archive_is_left_alone)
{
    make_directory();
    struct sma_history *history = open_with(sma_sys_real(), 4, 0);
    append_many(history, 0, 5);
    struct sma_history_plan plan = plan_of(history);
    put_file(STEM ".archive-1.jsonl", "mine\n", 5);
    enum sma_history_rotation rotation;
    CHECK_OK(sma_history_rotate(history, &plan, &rotation, NULL));
    CHECK_INT(5, count_lines(STEM ".jsonl"));
    CHECK_INT(1, count_lines(STEM ".archive-1.jsonl"));
    append_many(history, 5, 1);
    CHECK_INT(2, rotate_now(history, KEY, 1)); /* the next plan takes another number */
    CHECK_TEXT("t0|t1|t2|t3|t4|t5", search_texts(history, KEY, "", 9));
    sma_history_close(history);
    drop_directory();
}

CASE(a_file_that_was_taken_away_needs_no_rotation)
{
    make_directory();
    struct sma_history *history = open_with(sma_sys_real(), 4, 0);
    append_many(history, 0, 5);
    struct sma_history_plan plan = plan_of(history);
    CHECK(unlink(file_path(STEM ".jsonl")) == 0);
    enum sma_history_rotation rotation;
    CHECK_OK(sma_history_rotate(history, &plan, &rotation, NULL));
    append_many(history, 5, 1);
    CHECK_TEXT("t5", search_texts(history, KEY, "", 9));
    sma_history_close(history);
    drop_directory();
}

/* Where power was lost between the renaming and the sync of a line: it belongs into the archive, at
 * its place. */
CASE(a_replayed_line_goes_into_the_archive_that_has_its_place)
{
    for (int torn = 0; torn < 3; torn++) {
        make_directory();
        struct sma_history *history = open_with(sma_sys_real(), 4, 0);
        append_many(history, 0, 5);
        uint64_t place = append_text(history, KEY, "user", "last", "last");
        size_t len = 0;
        char *bytes = get_file(STEM ".jsonl", &len);
        struct sma_str line = {bytes + place, len - place};
        rotate_now(history, KEY, 0);
        append_text(history, KEY, "user", "next", "next");
        sma_history_close(history);
        if (torn == 1)
            CHECK(truncate(file_path(STEM ".archive-1.jsonl"), (off_t)place) == 0);
        if (torn == 2)
            CHECK(truncate(file_path(STEM ".archive-1.jsonl"), (off_t)place + 9) == 0 &&
                  truncate(file_path(STEM ".archive-1.jsonl"), (off_t)len) == 0);
        history = open_with(sma_sys_real(), 4, 0);
        enum sma_history_outcome outcome;
        CHECK_OK(sma_history_replay(history, SMA_STR(KEY), 0, 1, place, line, &outcome, NULL));
        CHECK_INT(torn == 0 ? SMA_HISTORY_SKIPPED : SMA_HISTORY_WRITTEN, outcome);
        CHECK_TEXT("last|next", search_texts(history, KEY, "", 2));
        CHECK_INT(6, count_lines(STEM ".archive-1.jsonl"));
        free(bytes);
        sma_history_close(history);
        drop_directory();
    }
}

/* -- what an older version began --------------------------------------------------------------- */
#define OLD_PLAN                                                                      \
    "{\"chatKey\":\"" KEY "\",\"generation\":3,\"archive\":1,\"split\":8,\"end\":16," \
    "\"archiveHash\":\"%016llx\",\"restHash\":\"0000000000000000\"}"

/* As that version hashed one block. */
static uint64_t old_hash(const char *bytes, size_t len)
{
    uint64_t key[2] = {0x726F74617465ull, 0};
    uint8_t key_bytes[16];
    memcpy(key_bytes, key, sizeof key_bytes);
    return sma_siphash(key_bytes, bytes, len);
}

static void check_old(const char *main_file, const char *archive, enum sma_history_rotation wanted,
                      bool is_archive_left)
{
    make_directory();
    put_file(STEM ".jsonl", main_file, strlen(main_file));
    if (archive != NULL)
        put_file(STEM ".archive-1.jsonl", archive, strlen(archive));
    put_file(STEM ".jsonl.tmp", "x", 1);
    put_file(STEM ".archive-1.jsonl.tmp", "x", 1);
    char json[512];
    snprintf(json, sizeof json, OLD_PLAN, (unsigned long long)old_hash("aaaaaaa\n", 8));
    struct sma_history_plan plan;
    enum sma_history_rotation rotation;
    CHECK_OK(sma_history_plan_parse(sma_str(json), &plan));
    CHECK(sma_history_plan_is_of_halves(&plan));
    struct sma_history *history = open_history();
    CHECK_OK(sma_history_rotate(history, &plan, &rotation, NULL));
    CHECK_INT(wanted, rotation);
    char *left = get_file(STEM ".archive-1.jsonl", NULL), *kept = get_file(STEM ".jsonl", NULL);
    CHECK((left != NULL) == is_archive_left);
    CHECK_TEXT(main_file, kept);
    CHECK(get_file(STEM ".jsonl.tmp", NULL) == NULL &&
          get_file(STEM ".archive-1.jsonl.tmp", NULL) == NULL);
    free(left);
    free(kept);
    sma_history_close(history);
    drop_directory();
}

CASE(a_rotation_of_halves_is_undone_or_done)
{
    check_old("aaaaaaa\nbbbbbbb\n", NULL, SMA_HISTORY_UNDONE, false);
    check_old("aaaaaaa\nbbbbbbb\n", "aaaaaaa\n", SMA_HISTORY_UNDONE, false); /* a copy */
    check_old("aaaaaaa\nbbbbbbb\n", "foreign\n", SMA_HISTORY_UNDONE, true);
    check_old("bbbbbbb\n", "aaaaaaa\n", SMA_HISTORY_ROTATED, true);
}

CASE(archive_numbers_go_on_after_the_highest)
{
    make_directory();
    put_file(STEM ".archive-7.jsonl", "", 0);
    put_file(STEM ".archive-99999999999.jsonl", "", 0); /* nobody's */
    put_file("x.archive-9.jsonl", "", 0);
    struct sma_history *history = open_with(sma_sys_real(), 4, 0);
    append_many(history, 0, 5);
    CHECK_INT(8, rotate_now(history, KEY, 0));
    sma_history_close(history);
    drop_directory();
}

/* -- a full disk ------------------------------------------------------------------------------- */
static int writes_left;

static ssize_t full_pwrite(void *self, int fd, const void *bytes, size_t len, off_t offset)
{
    (void)self;
    if (writes_left-- > 0)
        return pwrite(fd, bytes, len, offset);
    errno = ENOSPC;
    return -1;
}

CASE(full_disk_keeps_a_line_for_later)
{
    make_directory();
    struct sma_sys sys = *sma_sys_real();
    sys.pwrite = full_pwrite;
    writes_left = 1;
    struct sma_history *history = open_with(&sys, 4, 0);
    append_many(history, 0, 1);
    struct sma_history_entry entry = make_entry(KEY, "user", "x", "t1", 5);
    struct sma_buf line;
    sma_buf_init(&line, 4096);
    sma_history_format(&line, &entry);
    uint64_t offset, next;
    enum sma_history_outcome outcome;
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), line.len, &offset, NULL));
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), line.len, &next, NULL));
    for (int i = 0; i < 3; i++) {
        CHECK_ERR(SMA_ERR_NOSPACE, sma_history_write(history, SMA_STR(KEY), offset,
                                                     sma_buf_str(&line), &outcome, NULL));
        CHECK_ERR(SMA_ERR_BUSY, sma_history_write(history, SMA_STR(KEY), next, sma_buf_str(&line),
                                                  &outcome, NULL));
    }
    writes_left = 10;
    CHECK_OK(sma_history_write(history, SMA_STR(KEY), offset, sma_buf_str(&line), &outcome, NULL));
    CHECK_INT(SMA_HISTORY_WRITTEN, outcome);
    sma_history_release(history, SMA_STR(KEY), next);
    CHECK_TEXT("t0|t1", search_texts(history, KEY, "", 9));
    sma_buf_fini(&line);
    sma_history_close(history);
    drop_directory();
}

CASE(bad_plans_are_refused)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"chatKey\":1}",
        "nonsense",
        "{\"chatKey\":\"a\",\"generation\":0,\"archive\":1}",
        "{\"chatKey\":\"a\",\"generation\":0,\"archive\":0,\"end\":1}",
        "{\"chatKey\":\"a\",\"generation\":0,\"archive\":0,\"split\":1,\"end\":2,\"archiveHash\":"
        "\"0000000000000000\","
        "\"restHash\":\"0000000000000000\"}",
        "{\"chatKey\":\"a\",\"generation\":0,\"archive\":1,\"split\":2,\"end\":2,\"archiveHash\":"
        "\"0000000000000000\","
        "\"restHash\":\"0000000000000000\"}",
        "{\"chatKey\":\"a\",\"generation\":-1,\"archive\":1,\"split\":1,\"end\":2,\"archiveHash\":"
        "\"0000000000000000\","
        "\"restHash\":\"0000000000000000\"}",
        "{\"chatKey\":\"a\",\"generation\":0,\"archive\":1,\"split\":1,\"end\":2,\"archiveHash\":"
        "\"00\","
        "\"restHash\":\"0000000000000000\"}",
    };
    static struct sma_history_plan plan;
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, sma_history_plan_parse(sma_str(bad[i]), &plan));
}

CASE(a_move_is_read_back_and_bad_ones_are_refused)
{
    struct sma_history_move move = {.from_key = "test:chat:-1 \"x\"",
                                    .to_key = "test:chat:-100",
                                    .archive_count = 3,
                                    .archive_base = 1,
                                    .main_number = 5};
    struct sma_history_move again;
    struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    sma_history_move_format(&buf, &move);
    CHECK_OK(sma_history_move_parse(sma_buf_str(&buf), &again));
    CHECK_STR(move.from_key, sma_str(again.from_key));
    CHECK_STR(move.to_key, sma_str(again.to_key));
    CHECK_INT(3, again.archive_count);
    CHECK_INT(1, again.archive_base);
    CHECK_INT(5, again.main_number);
    sma_buf_fini(&buf);
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "{\"moveFrom\":\"a\",\"moveTo\":\"b\",\"archives\":-1,\"base\":0,\"main\":0}",
        "{\"moveFrom\":1,\"moveTo\":\"b\",\"archives\":0,\"base\":0,\"main\":0}",
        "{\"moveFrom\":\"a\",\"moveTo\":\"b\",\"archives\":0,\"base\":0}",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, sma_history_move_parse(sma_str(bad[i]), &again));
}

CASES_MAIN
