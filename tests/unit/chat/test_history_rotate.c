/*
 * Aim: a rotation moves exactly the older half, says so in a plan that survives storage, and meets odd files calmly.
 * Method: real limits, line counts around them; plans carried out on files changed behind their back.
 */
#include "history_support.h"

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

static void older_half_goes_at_1001_lines(void)
{
    make_directory();
    struct sma_history *history = open_history();
    append_many(history, 0, 1000);
    CHECK(!sma_history_is_rotation_due(history, SMA_STR(KEY)));
    append_many(history, 1000, 1);
    CHECK_INT(1, rotate_now(history, KEY, 0));
    CHECK_INT(500, count_lines(STEM ".archive-1.jsonl"));
    CHECK_INT(501, count_lines(STEM ".jsonl"));
    append_many(history, 1001, 500);
    CHECK_INT(2, rotate_now(history, KEY, 1)); /* at 1001 again */
    CHECK_INT(500, count_lines(STEM ".archive-2.jsonl"));
    CHECK_INT(501, count_lines(STEM ".jsonl"));
    CHECK_TEXT("t1499|t1500", search_texts(history, KEY, "", 2));
    CHECK_TEXT("t0", search_texts(history, KEY, "^t0$", 2));
    sma_history_close(history);
    drop_directory();
}

static void count_is_taken_from_an_old_file(void)
{
    for (int count = 1000; count <= 1002; count++) {
        make_directory();
        struct sma_history *history = open_history();
        append_many(history, 0, count);
        sma_history_close(history);
        history = open_history();
        uint64_t offset;
        CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), 0, &offset, NULL));
        CHECK_INT(count > 1000, sma_history_is_rotation_due(history, SMA_STR(KEY)));
        if (count > 1000) {
            rotate_now(history, KEY, 0);
            CHECK_INT(count / 2, count_lines(STEM ".archive-1.jsonl"));
            CHECK_INT(count - count / 2, count_lines(STEM ".jsonl"));
        }
        sma_history_close(history);
        drop_directory();
    }
}

static void promised_lines_delay_a_rotation(void)
{
    make_directory();
    struct sma_history *history = open_with(sma_sys_real(), 4, 0);
    append_many(history, 0, 5);
    CHECK(sma_history_is_rotation_due(history, SMA_STR(KEY)));
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

static void plans_repeat_without_effect(void)
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
    CHECK_INT(2, count_lines(STEM ".archive-1.jsonl"));
    sma_history_close(history);
    drop_directory();
}

static void foreign_archive_is_left_alone(void)
{
    make_directory();
    struct sma_history *history = open_with(sma_sys_real(), 4, 0);
    append_many(history, 0, 5);
    struct sma_history_plan plan = plan_of(history);
    put_file(STEM ".archive-1.jsonl", "mine\n", 5);
    enum sma_history_rotation rotation;
    CHECK_OK(sma_history_rotate(history, &plan, &rotation, NULL));
    CHECK_INT(SMA_HISTORY_UNDONE, rotation);
    CHECK_INT(1, report_counts[SMA_HISTORY_ROTATION_ODD]);
    CHECK_INT(5, count_lines(STEM ".jsonl"));
    CHECK_INT(1, count_lines(STEM ".archive-1.jsonl"));
    uint64_t offset;
    CHECK_OK(sma_history_reserve(history, SMA_STR(KEY), 0, &offset, NULL));
    CHECK_INT(2, rotate_now(history, KEY, 0)); /* the next plan takes another number */
    sma_history_close(history);
    drop_directory();
}

static void changed_main_file_is_left_alone(void)
{
    make_directory();
    struct sma_history *history = open_with(sma_sys_real(), 4, 0);
    append_many(history, 0, 5);
    struct sma_history_plan plan = plan_of(history);
    put_file(STEM ".jsonl", "edited\n", 7);
    enum sma_history_rotation rotation;
    CHECK_OK(sma_history_rotate(history, &plan, &rotation, NULL));
    CHECK_INT(SMA_HISTORY_UNDONE, rotation);
    CHECK_INT(1, report_counts[SMA_HISTORY_ROTATION_ODD]);
    CHECK_INT(1, count_lines(STEM ".jsonl"));
    CHECK(unlink(file_path(STEM ".jsonl")) == 0);
    CHECK_OK(sma_history_rotate(history, &plan, &rotation, NULL));
    CHECK_INT(SMA_HISTORY_UNDONE, rotation);
    sma_history_close(history);
    drop_directory();
}

static void archive_numbers_go_on_after_the_highest(void)
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

/* -- a full disk ------------------------------------------------------------------------------------------------ */
static int writes_left;

static ssize_t full_pwrite(void *self, int fd, const void *bytes, size_t len, off_t offset)
{
    (void)self;
    if (writes_left-- > 0)
        return pwrite(fd, bytes, len, offset);
    errno = ENOSPC;
    return -1;
}

static void full_disk_undoes_a_rotation(void)
{
    for (int budget = 0; budget <= 1; budget++) {
        make_directory();
        struct sma_sys sys = *sma_sys_real();
        sys.pwrite = full_pwrite;
        writes_left = 100;
        struct sma_history *history = open_with(&sys, 4, 0);
        append_many(history, 0, 5);
        struct sma_history_plan plan = plan_of(history);
        enum sma_history_rotation rotation;
        writes_left = budget;
        CHECK_ERR(SMA_ERR_NOSPACE, sma_history_rotate(history, &plan, &rotation, NULL));
        CHECK_INT(SMA_HISTORY_UNDONE, rotation);
        CHECK(get_file(STEM ".archive-1.jsonl", NULL) == NULL &&
              get_file(STEM ".jsonl.tmp", NULL) == NULL);
        writes_left = 100;
        append_many(history, 5, 1);
        CHECK_INT(1, rotate_now(history, KEY, 0));
        CHECK_TEXT("t0|t1|t2|t3|t4|t5", search_texts(history, KEY, "", 9));
        sma_history_close(history);
        drop_directory();
    }
}

static void full_disk_keeps_a_line_for_later(void)
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

static void bad_plans_are_refused(void)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"chatKey\":1}",
        "nonsense",
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

static void a_move_is_read_back_and_bad_ones_are_refused(void)
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

int main(void)
{
    RUN(a_move_is_read_back_and_bad_ones_are_refused);
    RUN(older_half_goes_at_1001_lines);
    RUN(count_is_taken_from_an_old_file);
    RUN(promised_lines_delay_a_rotation);
    RUN(plans_repeat_without_effect);
    RUN(foreign_archive_is_left_alone);
    RUN(changed_main_file_is_left_alone);
    RUN(archive_numbers_go_on_after_the_highest);
    RUN(full_disk_undoes_a_rotation);
    RUN(full_disk_keeps_a_line_for_later);
    RUN(bad_plans_are_refused);
    return check_summary();
}
