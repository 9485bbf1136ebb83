/*
 * memory_rank.c — which facts fit a text best, at a cost that has an end however many there are.
 *
 *   each word of the text, in each audience: the newest HEAD rows that hold it
 *   -> words that have more: an equal share of what is left of the bound
 *   -> bm25 and importance, of the row's number alone -> the best
 *
 * FTS5's own bm25 would look up each row that holds any of the words in two more tables before the
 * first is given. A rare word is read to its end; of a common one, which says little, the newest.
 */
#include "runtime/memory/memory_priv.h"

#include "runtime/memory/memory_words.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <math.h>
#include <stdlib.h>

#define LIST_COUNT_MAX (SMA_MEMORY_QUERY_WORD_COUNT_MAX * MEMORY_AUDIENCE_COUNT_MAX)
#define HEAD 64             /* rows of each list that are read first */
#define MORE_COUNT_MAX 6144 /* rows that are read of all lists beyond that */
#define ROW_COUNT_MAX (LIST_COUNT_MAX * HEAD + MORE_COUNT_MAX)
#define SLOT_COUNT 16384       /* a power of two, above ROW_COUNT_MAX */
#define SIZE_MAX_COUNTED 10000 /* facts of an audience: more make no word rarer */
/* As if there were so many other facts: in a small memory each word weighs more than importance. */
#define SIZE_OTHERS 1000
#define USUAL_BYTES 60 /* of a fact */
#define IMPORTANCE_WEIGHT 0.5

_Static_assert(SLOT_COUNT > ROW_COUNT_MAX, "there is a free slot");

/* Rows of one word in one audience, newest first. */
struct list
{
    int64_t audience, first, last; /* rows that were read first and last */
    uint32_t word, count, size;    /* size: facts of the audience */
    bool is_whole;
};

struct slot
{
    int64_t number; /* 0 = free */
    double score;
};

struct rank
{
    struct sma_memory *memory;
    struct sma_str words[SMA_MEMORY_QUERY_WORD_COUNT_MAX];
    struct list lists[LIST_COUNT_MAX];
    double weights[SMA_MEMORY_QUERY_WORD_COUNT_MAX];
    uint32_t word_count, list_count, row_count;
    uint32_t sizes[MEMORY_AUDIENCE_COUNT_MAX]; /* facts of each audience */
    int64_t rows[ROW_COUNT_MAX];
    uint8_t row_words[ROW_COUNT_MAX];
    struct slot slots[SLOT_COUNT];
};

/* -- reading ----------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err read_list(struct rank *rank, struct list *list, uint32_t limit)
{
    struct memory_index *index = &rank->memory->index;
    struct sma_buf question;
    sma_buf_init(&question, 4096);
    sma_memory_put_question(&question, list->audience, rank->words[list->word]);
    sqlite3_stmt *rows = memory_statement(index, MEMORY_POSTINGS, &rank->memory->error);
    enum sma_err err = rows == NULL ? rank->memory->error.code : question.err;
    uint32_t count = 0;
    if (err == SMA_ERR_OK) {
        memory_bind(rows, 1, sma_buf_str(&question));
        sqlite3_bind_int64(rows, 2, list->last);
        sqlite3_bind_int64(rows, 3, limit);
        int code;
        while ((code = sqlite3_step(rows)) == SQLITE_ROW && rank->row_count < ROW_COUNT_MAX) {
            list->last = sqlite3_column_int64(rows, 0);
            list->first = list->count + count == 0 ? list->last : list->first;
            rank->row_words[rank->row_count] = (uint8_t)list->word;
            rank->rows[rank->row_count++] = list->last;
            count++;
        }
        sqlite3_reset(rows);
        if (code != SQLITE_DONE && code != SQLITE_ROW)
            err = memory_index_fail(index, code, &rank->memory->error);
    }
    list->is_whole = count < limit;
    list->count += count;
    sma_buf_fini(&question);
    return err;
}

static SMA_CHECKED enum sma_err read_lists(struct rank *rank, const int64_t *audiences,
                                           uint32_t audience_count)
{
    uint32_t open_count = 0, left = MORE_COUNT_MAX;
    for (uint32_t word = 0; word < rank->word_count; word++)
        for (uint32_t i = 0; i < audience_count; i++) {
            struct list *list = &rank->lists[rank->list_count++];
            *list = (struct list){
                .audience = audiences[i], .last = INT64_MAX, .word = word, .size = rank->sizes[i]};
            SMA_TRY(read_list(rank, list, HEAD));
            open_count += !list->is_whole;
        }
    for (uint32_t i = 0; i < rank->list_count && open_count > 0; i++) {
        struct list *list = &rank->lists[i];
        uint32_t before = list->count;
        if (list->is_whole)
            continue;
        SMA_TRY(read_list(rank, list, left / open_count));
        left -= list->count - before;
        open_count--;
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err count_facts(struct rank *rank, int64_t audience, uint32_t *ret_size)
{
    struct sma_memory *memory = rank->memory;
    sqlite3_stmt *size = memory_statement(&memory->index, MEMORY_SIZE, &memory->error);
    if (size == NULL)
        return memory->error.code;
    sqlite3_bind_int64(size, 1, audience);
    sqlite3_bind_int64(size, 2, SIZE_MAX_COUNTED);
    int code = sqlite3_step(size);
    if (code == SQLITE_ROW)
        *ret_size = (uint32_t)sqlite3_column_int64(size, 0);
    sqlite3_reset(size);
    return code == SQLITE_ROW ? SMA_ERR_OK
                              : memory_index_fail(&memory->index, code, &memory->error);
}

/* -- scores ------------------------------------------------------------------------------------ */
/* How many facts hold the word? When its rows were not read to their end: as dense as in those that
 * were, and no rarer than one in four. */
static double held_in(const struct list *list)
{
    if (list->is_whole)
        return list->count;
    int64_t span = (list->first >> MEMORY_NUMBER_BITS) - (list->last >> MEMORY_NUMBER_BITS) + 1;
    double held = (double)list->size * list->count / (double)span;
    held = held > list->size / 4.0 ? held : list->size / 4.0;
    return held > list->count ? held : list->count;
}

static void weigh_words(struct rank *rank)
{
    double held[SMA_MEMORY_QUERY_WORD_COUNT_MAX] = {0}, all = SIZE_OTHERS;
    for (uint32_t i = 0; i < MEMORY_AUDIENCE_COUNT_MAX; i++)
        all += rank->sizes[i];
    for (uint32_t i = 0; i < rank->list_count; i++)
        held[rank->lists[i].word] += held_in(&rank->lists[i]);
    for (uint32_t i = 0; i < rank->word_count; i++) {
        double others = all > held[i] ? all - held[i] : 0;
        rank->weights[i] = log(1 + (others + 0.5) / (held[i] + 0.5));
    }
}

/* bm25 with k1 = 1.2, b = 0.75: a word in a short fact says more. It counts once. */
static double weight_in(int64_t number, double weight)
{
    double len = (double)memory_number_len(number) / USUAL_BYTES;
    return weight * 2.2 / (1 + 1.2 * (0.25 + 0.75 * len));
}

static void add_scores(struct rank *rank)
{
    for (uint32_t i = 0; i < rank->row_count; i++) {
        int64_t number = rank->rows[i];
        uint64_t at = (uint64_t)number * UINT64_C(0x9E3779B97F4A7C15) >> 50;
        while (rank->slots[at].number != 0 && rank->slots[at].number != number)
            at = (at + 1) % SLOT_COUNT;
        struct slot *slot = &rank->slots[at];
        if (slot->number == 0)
            *slot = (struct slot){number, memory_number_importance(number) * IMPORTANCE_WEIGHT};
        slot->score += weight_in(number, rank->weights[rank->row_words[i]]);
    }
}

static bool is_better(const struct slot *a, const struct slot *b)
{
    return a->score != b->score ? a->score > b->score : a->number > b->number; /* the newer */
}

/* Few are wanted of many. @return how many */
static uint32_t choose_best(const struct rank *rank, int64_t *best, uint32_t room)
{
    const struct slot *chosen[MEMORY_BEST_COUNT_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < SLOT_COUNT; i++) {
        const struct slot *slot = &rank->slots[i];
        if (slot->number == 0 || (count == room && !is_better(slot, chosen[count - 1])))
            continue;
        uint32_t at = count < room ? count++ : count - 1;
        for (; at > 0 && is_better(slot, chosen[at - 1]); at--)
            chosen[at] = chosen[at - 1];
        chosen[at] = slot;
    }
    for (uint32_t i = 0; i < count; i++)
        best[i] = chosen[i]->number;
    return count;
}

enum sma_err memory_rank(struct sma_memory *memory, const int64_t *audiences,
                         uint32_t audience_count, struct sma_str text, int64_t *best,
                         uint32_t *count)
{
    uint32_t room = *count;
    *count = 0;
    if (room == 0 || audience_count == 0)
        return SMA_ERR_OK;
    SMA_AUTO(sma_freep) struct rank *rank = calloc(1, sizeof *rank);
    if (rank == NULL)
        return sma_fail(&memory->error, SMA_ERR_NOMEM, "out of memory");
    rank->memory = memory;
    rank->word_count = sma_memory_choose_words(text, rank->words);
    if (rank->word_count == 0)
        return SMA_ERR_OK;
    for (uint32_t i = 0; i < audience_count; i++)
        SMA_TRY(count_facts(rank, audiences[i], &rank->sizes[i]));
    SMA_TRY(read_lists(rank, audiences, audience_count));
    weigh_words(rank);
    add_scores(rank);
    *count = choose_best(rank, best, room);
    return SMA_ERR_OK;
}
