/*
 * bench_memory.c — recall over 100,000 facts: 99 people in private with 1,000 facts each, and 1,000
 * in project.md that everybody is asked about, too. Words follow a skewed choice, so that some are
 * common. Prints what making the index anew, opening it again and a question cost.
 *   bench_memory [PEOPLE [FACTS]]
 */
#include "runtime/memory/memory.h"
#include "sma/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define WORD_COUNT 4000
#define QUESTION_COUNT 5000

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
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
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

static void ask(struct sma_memory *memory, int people, int words, const char *name)
{
    static double times[QUESTION_COUNT];
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
    }
    qsort(times, QUESTION_COUNT, sizeof *times, compare);
    printf("recall, %s: p50 %.3f ms, p99 %.3f ms, max %.3f ms\n", name, times[QUESTION_COUNT / 2],
           times[QUESTION_COUNT * 99 / 100], times[QUESTION_COUNT - 1]);
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
    sma_memory_destroy(memory);
    before = rss_kib();
    memory = open_memory(folder);
    begin = now_ms();
    must(sma_memory_look(memory), "look");
    printf("opened again, all files followed: %.1f ms\n", now_ms() - begin);
    ask(memory, people, 8, "8 words");
    ask(memory, people, 60, "60 words");
    printf("RSS of asking: +%ld KiB\n", rss_kib() - before);
    sma_memory_destroy(memory);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command) == 0 ? 0 : 1;
}
