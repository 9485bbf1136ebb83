/*
 * bench_memory.c — recall over 100,000 facts: 99 people in private with 1,000 facts each, and 1,000
 * in project.md that everybody is asked about, too. Words follow a skewed choice, so that some are
 * common. Prints what making the index anew, opening it again and a question cost, in CPU time of
 * the thread, and beside it what the same words cost when FTS5 is asked for all of them at once and
 * ranks by its bm25.
 *   bench_memory [PEOPLE [FACTS]]
 */
#include "runtime/memory/memory.h"
#include "runtime/memory/memory_words.h"
#include "sma/limits.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WORD_COUNT 4000
#define QUESTION_COUNT 300
#define GUEST_COUNT 50

static uint64_t state = 88172645463325252u;

static uint64_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Skewed: the first words are common. */
static unsigned word(void)
{
    double x = (double)(chance() >> 11) / 9007199254740992.0;
    return (unsigned)(x * x * x * WORD_COUNT);
}

static void must(enum sma_err err, const char *what)
{
    if (err == SMA_ERR_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, sma_err_text(err));
    exit(1);
}

static double now_ms(void)
{
    struct timespec time;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void put_words(char *text, size_t size, int count)
{
    size_t len = 0;
    for (int i = 0; i < count; i++)
        len += (size_t)snprintf(text + len, size - len, "word%u ", word());
}

static void write_facts(const char *folder, int person, int count)
{
    char path[256], text[400];
    if (person < 0)
        snprintf(path, sizeof path, "%s/project.md", folder);
    else
        snprintf(path, sizeof path, "%s/users/telegram%%3A%d.md", folder, 1000 + person);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        exit(1);
    for (int i = 0; i < count; i++) {
        put_words(text, sizeof text, 10);
        fprintf(file, "- %snumber %d of %d <!-- memory: fact, importance %d -->\n", text, i, person,
                i % 100 == 0 ? 9 : 5);
    }
    fclose(file);
}

static enum sma_err count_fact(void *user, const struct sma_memory_fact *fact)
{
    *(uint64_t *)user += fact->text.len;
    return SMA_ERR_OK;
}

static enum sma_err note_id(void *user, const struct sma_memory_fact *fact)
{
    *(uint64_t *)user = fact->id;
    return SMA_ERR_OK;
}

static struct sma_memory *open_memory(const char *folder)
{
    struct sma_memory *memory;
    const struct sma_memory_options options = {.folder = folder, .sys = sma_sys_real()};
    must(sma_memory_create(&options, &memory), "create");
    return memory;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static long rss_kib(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL && fscanf(file, "%ld %ld", &pages, &resident) != 2)
        resident = 0;
    if (file != NULL)
        fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* As one would ask FTS5: any of the words, by bm25. */
static double ask_plainly(sqlite3 *db, const char *person, const char *text)
{
    struct sma_str words[SMA_MEMORY_QUERY_WORD_COUNT_MAX];
    struct sma_buf question;
    sqlite3_stmt *get = NULL;
    int64_t audiences[2] = {0};
    char name[80];
    snprintf(name, sizeof name, "p:%s", person);
    for (int i = 0; i < 2; i++) {
        sqlite3_prepare_v2(db, "SELECT id FROM audiences WHERE name=?1", -1, &get, NULL);
        sqlite3_bind_text(get, 1, i == 0 ? name : "", -1, SQLITE_STATIC);
        if (sqlite3_step(get) == SQLITE_ROW)
            audiences[i] = sqlite3_column_int64(get, 0);
        sqlite3_finalize(get);
    }
    sma_buf_init(&question, 65536);
    uint32_t count = sma_memory_choose_words((struct sma_str){text, strlen(text)}, words);
    for (uint32_t i = 0; i < 2 * count; i++) {
        sma_buf_put_text(&question, i == 0 ? "" : " OR ");
        sma_memory_put_question(&question, audiences[i % 2], words[i / 2]);
    }
    sma_buf_put(&question, "", 1);
    double begin = now_ms();
    sqlite3_prepare_v2(db,
                       "SELECT f.text FROM words w JOIN facts f ON f.number=w.rowid WHERE words"
                       " MATCH ?1 ORDER BY bm25(words) - f.importance * 0.5 LIMIT 20",
                       -1, &get, NULL);
    sqlite3_bind_text(get, 1, question.ptr, -1, SQLITE_STATIC);
    while (sqlite3_step(get) == SQLITE_ROW)
        (void)sqlite3_column_text(get, 0);
    sqlite3_finalize(get);
    sma_buf_fini(&question);
    return now_ms() - begin;
}

static void ask(struct sma_memory *memory, sqlite3 *db, int people, int words)
{
    static double times[QUESTION_COUNT], plain[QUESTION_COUNT];
    char text[1000], person[64];
    uint64_t bytes = 0;
    for (int i = 0; i < QUESTION_COUNT; i++) {
        put_words(text, sizeof text, words);
        snprintf(person, sizeof person, "telegram:%d", 1000 + (int)(chance() % (unsigned)people));
        const struct sma_memory_scope scope = {.person = {person, strlen(person)}};
        double begin = now_ms();
        must(sma_memory_recall(memory, &scope, (struct sma_str){text, strlen(text)},
                               SMA_MEMORY_RECALL_COUNT_MAX, count_fact, &bytes),
             "recall");
        times[i] = now_ms() - begin;
        plain[i] = ask_plainly(db, person, text);
    }
    qsort(times, QUESTION_COUNT, sizeof *times, compare);
    qsort(plain, QUESTION_COUNT, sizeof *plain, compare);
    size_t mid = QUESTION_COUNT / 2, late = QUESTION_COUNT * 99 / 100;
    printf("recall, %d words: p50 %.3f ms, p99 %.3f ms; plain FTS5 %.3f, %.3f; ratio %.2f, %.2f\n",
           words, times[mid], times[late], plain[mid], plain[late], times[mid] / plain[mid],
           times[late] / plain[late]);
}

/* What /memory and /forget do in the store's thread: as a guest, opened anew each time. */
static void act_as_guest(const char *folder, int people)
{
    static double shows[GUEST_COUNT], forgets[GUEST_COUNT];
    for (int i = 0; i < GUEST_COUNT; i++) {
        char person[64];
        uint64_t id = 0;
        uint32_t gone = 0;
        struct sma_memory *memory;
        const struct sma_memory_options options = {
            .folder = folder, .sys = sma_sys_real(), .is_guest = true};
        snprintf(person, sizeof person, "telegram:%d", 1000 + i * 7 % people);
        const struct sma_memory_scope scope = {.person = {person, strlen(person)}, .is_here = true};
        double begin = now_ms();
        must(sma_memory_create(&options, &memory), "create");
        must(sma_memory_list(memory, &scope, 0, SMA_MEMORY_WALK_COUNT_MAX, note_id, &id), "list");
        shows[i] = now_ms() - begin;
        begin = now_ms();
        must(sma_memory_forget(memory, &scope, &id, 1, &gone), "forget");
        forgets[i] = now_ms() - begin;
        sma_memory_destroy(memory);
        if (gone != 1)
            exit(1);
    }
    qsort(shows, GUEST_COUNT, sizeof *shows, compare);
    qsort(forgets, GUEST_COUNT, sizeof *forgets, compare);
    printf(
        "/memory: p50 %.1f ms, max %.1f ms; /forget of one beside it: p50 %.1f ms, max %.1f ms\n",
        shows[GUEST_COUNT / 2], shows[GUEST_COUNT - 1], forgets[GUEST_COUNT / 2],
        forgets[GUEST_COUNT - 1]);
}

int main(int argc, char **argv)
{
    int people = argc > 1 ? atoi(argv[1]) : 99, facts = argc > 2 ? atoi(argv[2]) : 1000;
    char folder[64] = "/tmp/bench_memory.XXXXXX", path[128], command[160];
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/users", folder);
    (void)mkdir(path, 0700);
    for (int i = -1; i < people; i++)
        write_facts(folder, i, facts);
    long before = rss_kib();
    struct sma_memory *memory = open_memory(folder);
    double begin = now_ms();
    must(sma_memory_look(memory), "look");
    printf("%d facts: index made anew in %.0f ms, +%ld KiB RSS\n", (people + 1) * facts,
           now_ms() - begin, rss_kib() - before);
    begin = now_ms();
    sma_memory_want_scrub(memory);
    for (bool is_done = false; !is_done;)
        must(sma_memory_scrub(memory, &is_done), "merge");
    printf("its segments merged: %.0f ms\n", now_ms() - begin);
    sma_memory_destroy(memory);
    before = rss_kib();
    memory = open_memory(folder);
    begin = now_ms();
    must(sma_memory_look(memory), "look");
    printf("opened again, all files followed: %.1f ms\n", now_ms() - begin);
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/index.db", folder);
    if (sqlite3_open(path, &db) != SQLITE_OK)
        return 1;
    ask(memory, db, people, 8);
    ask(memory, db, people, 60);
    printf("RSS of asking, both: +%ld KiB\n", rss_kib() - before);
    sqlite3_close(db);
    act_as_guest(folder, people);
    sma_memory_destroy(memory);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? 0 : 1;
}
