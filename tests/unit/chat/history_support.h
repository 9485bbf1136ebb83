/*
 * history_support.h — a private directory and short forms for the tests of the history files.
 */
#ifndef SMA_TEST_HISTORY_SUPPORT_H
#define SMA_TEST_HISTORY_SUPPORT_H

#include "runtime/chat/history.h"
#include "support/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char test_directory[256];
static int report_counts[8];
static uint64_t last_report_line;

static inline void remove_files(const char *path)
{
    DIR *directory = opendir(path);
    CHECK(directory != NULL);
    for (struct dirent *item; (item = readdir(directory)) != NULL;) {
        char name[2048];
        CHECK((size_t)snprintf(name, sizeof name, "%s/%s", path, item->d_name) < sizeof name);
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
            continue;
        if (unlink(name) != 0) {
            remove_files(name);
            rmdir(name);
        }
    }
    closedir(directory);
}

static inline void make_directory(void)
{
    snprintf(test_directory, sizeof test_directory, "/tmp/sma-history-XXXXXX");
    CHECK(mkdtemp(test_directory) != NULL);
}

static inline void drop_directory(void)
{
    remove_files(test_directory);
    rmdir(test_directory);
}

static inline const char *file_path(const char *name)
{
    static char path[4][1024];
    static unsigned next;
    char *at = path[next++ % 4];
    snprintf(at, sizeof path[0], "%s/%s", test_directory, name);
    return at;
}

static inline void put_file(const char *name, const void *bytes, size_t len)
{
    int fd = open(file_path(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    for (size_t done = 0; done < len;) {
        ssize_t n = write(fd, (const char *)bytes + done, len - done);
        CHECK(n > 0);
        done += (size_t)n;
    }
    close(fd);
}

/* malloc'ed, NUL-terminated; NULL when there is no such file */
static inline char *get_file(const char *name, size_t *ret_len)
{
    char *bytes = NULL;
    size_t len = 0;
    if (sma_sys_read_file(sma_sys_real(), file_path(name), 1u << 30, &bytes, &len, NULL) !=
        SMA_ERR_OK)
        return NULL;
    if (ret_len != NULL)
        *ret_len = len;
    return bytes;
}

static inline void on_report(void *self, const struct sma_history_report *report)
{
    (void)self;
    report_counts[report->kind]++;
    last_report_line = report->line_number;
}

static inline struct sma_history *open_with(const struct sma_sys *sys, uint32_t lines_max,
                                            uint32_t fd_count_max)
{
    struct sma_history_options options = {
        .sys = sys,
        .directory = test_directory,
        .lines_max = lines_max,
        .fd_count_max = fd_count_max,
        .report = on_report,
        .is_single_threaded =
            sys != sma_sys_real(), /* a system of the test's own is not for threads */
    };
    struct sma_history *history;
    CHECK_OK(sma_history_open(&options, &history, NULL));
    memset(report_counts, 0, sizeof report_counts);
    return history;
}

static inline struct sma_history *open_history(void)
{
    return open_with(sma_sys_real(), 0, 0);
}

static inline struct sma_history_entry make_entry(const char *chat_key, const char *role,
                                                  const char *id, const char *text, int64_t wall_ms)
{
    return (struct sma_history_entry){
        .wall_ms = wall_ms,
        .channel = SMA_STR("api"),
        .chat_id = SMA_STR("1"),
        .chat_key = sma_str(chat_key),
        .user_id = SMA_STR("u"),
        .message_id = sma_str(id),
        .role = sma_str(role),
        .text = sma_str(text),
    };
}

/* Append one entry the way the store does; the place's offset is returned. */
static inline uint64_t append(struct sma_history *history, const struct sma_history_entry *entry)
{
    struct sma_buf line;
    sma_buf_init(&line, 64u << 20);
    sma_history_format(&line, entry);
    CHECK_OK(line.err);
    uint64_t offset;
    enum sma_history_outcome outcome;
    CHECK_OK(sma_history_reserve(history, entry->chat_key, line.len, &offset, NULL));
    CHECK_OK(
        sma_history_write(history, entry->chat_key, offset, sma_buf_str(&line), &outcome, NULL));
    CHECK_INT(SMA_HISTORY_WRITTEN, outcome);
    sma_buf_fini(&line);
    return offset;
}

static inline uint64_t append_text(struct sma_history *history, const char *key, const char *role,
                                   const char *id, const char *text)
{
    static int64_t clock_ms = 1700000000000;
    struct sma_history_entry entry = make_entry(key, role, id, text, clock_ms++);
    return append(history, &entry);
}

/* Is it due, once its lines are counted? */
static inline bool is_due(struct sma_history *history, const char *key)
{
    for (int i = 0; i < 100000 && sma_history_needs_count(history, sma_str(key)); i++)
        CHECK_OK(sma_history_count_step(history, sma_str(key), NULL));
    return sma_history_is_rotation_due(history, sma_str(key));
}

/* Rotate a chat that is due; gives the plan's archive number. */
static inline uint32_t rotate_now(struct sma_history *history, const char *key, uint64_t generation)
{
    static struct sma_history_plan plan;
    enum sma_history_rotation rotation;
    CHECK(is_due(history, key));
    CHECK_OK(sma_history_plan_rotation(history, sma_str(key), generation, &plan, NULL));
    CHECK_OK(sma_history_rotate(history, &plan, &rotation, NULL));
    CHECK_INT(SMA_HISTORY_ROTATED, rotation);
    return plan.archive_number;
}

static inline size_t count_lines(const char *name)
{
    size_t len = 0, count = 0;
    char *bytes = get_file(name, &len);
    for (size_t i = 0; i < len; i++)
        count += bytes[i] == '\n';
    free(bytes);
    return count;
}

/* Run a query to its end; the reader is the caller's. */
static inline struct sma_history_reader *run_query(struct sma_history *history,
                                                   const struct sma_history_query *query)
{
    struct sma_history_reader *reader;
    CHECK_OK(sma_history_read_begin(history, query, &reader, NULL));
    bool is_done = false;
    for (int i = 0; i < 1000000 && !is_done; i++)
        CHECK_OK(sma_history_read_step(reader, &is_done, NULL));
    CHECK(is_done);
    return reader;
}

/* Texts of the answer joined by '|'. */
static inline const char *query_texts(struct sma_history *history,
                                      const struct sma_history_query *query)
{
    static char joined[65536];
    struct sma_history_reader *reader = run_query(history, query);
    uint32_t count;
    bool is_cut;
    const struct sma_history_item *items = sma_history_read_items(reader, &count, &is_cut);
    size_t len = 0;
    joined[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        CHECK(len + items[i].text.len + 2 < sizeof joined);
        len += (size_t)snprintf(joined + len, sizeof joined - len, "%s%.*s", i == 0 ? "" : "|",
                                (int)items[i].text.len, items[i].text.ptr);
    }
    sma_history_read_end(reader);
    return joined;
}

static inline const char *search_texts(struct sma_history *history, const char *key,
                                       const char *keyword, uint32_t limit)
{
    struct sma_history_query query = {
        .chat_key = sma_str(key), .keyword = sma_str(keyword), .limit = limit};
    return query_texts(history, &query);
}

#endif
