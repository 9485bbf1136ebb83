/* run_recall.c — recalled facts in the turn. See run_priv.h. */
#include "run_priv.h"

#include <stdio.h>

static struct sma_str memory_mark(struct sma_run *run)
{
    sma_buf_clear(&run->scratch);
    sma_prompt_put_memory_mark(&run->scratch, run->order->facts_word);
    return sma_buf_str(&run->scratch);
}

static const char *find(struct sma_str text, struct sma_str word)
{
    return text.len == 0 || word.len == 0 ? NULL : memmem(text.ptr, text.len, word.ptr, word.len);
}

size_t run_find_recalled(struct sma_run *run)
{
    struct sma_str facts = sma_buf_str(&run->facts), mark = memory_mark(run);
    for (const char *at; (at = find(facts, mark)) != NULL;) {
        if (at > run->facts.ptr && at[-1] == '\n')
            return (size_t)(at - run->facts.ptr) - 1;
        size_t passed = (size_t)(at - facts.ptr) + mark.len;
        facts = (struct sma_str){facts.ptr + passed, facts.len - passed};
    }
    return run->facts.len;
}

/* Does a turn that is sent along hold this fact? Looked for behind the mark only: few turns have
 * one. */
static bool is_told(const struct sma_run *run, struct sma_str mark, uint64_t id)
{
    char name[18];
    snprintf(name, sizeof name, "m%016llx", (unsigned long long)id);
    for (uint32_t i = 0; i < run->session->turn_count; i++) {
        struct sma_str turn = run->session->turns[i]->bytes;
        const char *at = find(turn, mark);
        if (at == NULL)
            continue;
        struct sma_str behind = {at, turn.len - (size_t)(at - turn.ptr)};
        if (find(behind, (struct sma_str){name, sizeof name - 1}) != NULL)
            return true;
    }
    return false;
}

void run_put_recalled(struct sma_run *run)
{
    const struct sma_run_order *order = run->order;
    struct sma_str mark = memory_mark(run);
    bool has_any = false;
    for (uint32_t i = 0; i < run->recall.count; i++) {
        struct sma_recalled fact = run->recall.facts[i];
        fact.text.ptr = run->recall.texts.ptr + (size_t)fact.text.ptr;
        if (is_told(run, mark, fact.id))
            continue;
        if (!has_any)
            sma_prompt_put_memory(&run->facts, order);
        has_any = true;
        size_t at = run->facts.len;
        sma_prompt_put_recalled(&run->facts, &fact);
        /* a model can be talked into remembering the word that our blocks begin with */
        if (run->facts.err == SMA_ERR_OK)
            run_cross_out(run, run->facts.ptr + at, run->facts.len - at);
    }
}

/* -- what the conversation holds --------------------------------------------------------------- */
static bool read_id(const char *digits, uint64_t *ret_id)
{
    *ret_id = 0;
    for (int i = 0; i < 16; i++) {
        char byte = digits[i];
        bool is_digit = byte >= '0' && byte <= '9';
        if (!is_digit && (byte < 'a' || byte > 'f'))
            return false;
        *ret_id = *ret_id << 4 | (uint64_t)(is_digit ? byte - '0' : byte - 'a' + 10);
    }
    return true;
}

/* Ids behind our mark: ", m0123456789abcdef)". */
void run_find_told(struct sma_run *run)
{
    struct sma_str mark = memory_mark(run);
    struct sma_buf *told = &run->recall.told;
    for (uint32_t i = 0; i < run->session->turn_count; i++) {
        struct sma_str turn = run->session->turns[i]->joined;
        const char *at = find(turn, mark);
        if (at == NULL)
            continue;
        struct sma_str rest = {at, turn.len - (size_t)(at - turn.ptr)};
        for (const char *name; (name = find(rest, SMA_STR(", m"))) != NULL;) {
            size_t passed = (size_t)(name - rest.ptr) + 3;
            uint64_t id;
            rest = (struct sma_str){rest.ptr + passed, rest.len - passed};
            if (rest.len >= 17 && rest.ptr[16] == ')' && read_id(rest.ptr, &id) &&
                told->len < SMA_MEMORY_TOLD_COUNT_MAX * sizeof id)
                sma_buf_put(told, &id, sizeof id);
        }
    }
}
