/* context.c — see context.h. */
#include "runtime/agent/context.h"

#include "sma/text.h"

#include <string.h>

#define MESSAGE_TOKENS 8 /* of a message, besides its words */
#define RATIO_ONE 1000
#define RATIO_MIN 500
#define RATIO_MAX 2500
#define RATIO_FALSE_MIN 250 /* beyond these something else was counted */
#define RATIO_FALSE_MAX 4000
#define WINDOW_MIN 2000 /* that an answer may teach */

/* Bytes per token, in tenths: of talk, and of JSON such as the tools. */
struct rate
{
    uint32_t talk, json;
};

static struct rate rate_of(const struct sma_target *target)
{
    static const struct rate unknown = {30, 25}, most = {40, 33}, claude = {34, 28},
                             newest_claude = {26, 22};
    const struct sma_profile *profile = &target->profile;
    if (strcasestr(target->llm->model, "claude") != NULL)
        return profile->sampling == SMA_SAMPLING_NEVER ? newest_claude : claude;
    return profile->is_known ? most : unknown;
}

uint64_t sma_context_target_id(const struct sma_target *target)
{
    static const uint8_t no_key[16];
    return sma_siphash(no_key, target->key, strlen(target->key)) | 1;
}

/* -- bounds ------------------------------------------------------------------------------------ */
uint32_t sma_context_window(const struct sma_target *target, const struct sma_context_known *known)
{
    uint32_t window = target->profile.window_tokens;
    return known->window > 0 && known->window < window ? known->window : window;
}

/* What the request reserves for the answer; providers count it as taken. */
static uint64_t reserved(const struct sma_target *target)
{
    const struct sma_profile *profile = &target->profile;
    uint64_t most = profile->output_max;
    uint64_t cap = target->llm->max_tokens > 0 ? (uint64_t)target->llm->max_tokens : 0;
    if (cap == 0 && target->llm->api == SMA_LLM_MESSAGES)
        cap = most; /* it must be sent there */
    return most > 0 && cap > most ? most : cap;
}

uint32_t sma_context_limit(const struct sma_target *target, const struct sma_context_known *known)
{
    uint32_t window = sma_context_window(target, known);
    uint64_t limit = (uint64_t)window * 4 / 5, room = reserved(target);
    if (room < window && limit > window - room)
        limit = window - room;
    return limit < window / 2 ? window / 2 : (uint32_t)limit;
}

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

uint32_t sma_context_keep(uint32_t window)
{
    return least(20000, window / 4);
}

uint32_t sma_context_protected(uint32_t window)
{
    return least(40000, window / 10 * 3);
}

uint32_t sma_context_clear_min(uint32_t window)
{
    return least(20000, window / 10);
}

size_t sma_context_result_bytes(const struct sma_target *target,
                                const struct sma_context_known *known)
{
    uint32_t window = sma_context_window(target, known);
    size_t most = window < 100000 ? 16000 : window < 200000 ? 32000 : 64000;
    size_t share = sma_context_bytes(target, known, (uint64_t)window * 3 / 10);
    return share < most ? share : most;
}

/* -- guesses ----------------------------------------------------------------------------------- */
static uint64_t put_right(const struct sma_context_known *known, uint64_t guess)
{
    return known->ratio == 0 ? guess : guess * known->ratio / RATIO_ONE;
}

static uint64_t guess_talk(const struct sma_target *target, size_t bytes)
{
    return (uint64_t)bytes * 10 / rate_of(target).talk;
}

static uint64_t guess_request(const struct sma_target *target, const struct sma_context_size *size)
{
    return (uint64_t)size->head * 10 / rate_of(target).json + guess_talk(target, size->messages) +
           (uint64_t)size->message_count * MESSAGE_TOKENS + size->part_tokens;
}

uint64_t sma_context_tokens(const struct sma_target *target, const struct sma_context_known *known,
                            size_t bytes)
{
    return put_right(known, guess_talk(target, bytes));
}

size_t sma_context_bytes(const struct sma_target *target, const struct sma_context_known *known,
                         uint64_t tokens)
{
    uint64_t guess = known->ratio == 0 ? tokens : tokens * RATIO_ONE / known->ratio;
    return (size_t)(guess * rate_of(target).talk / 10);
}

uint64_t sma_context_request(const struct sma_target *target, const struct sma_context_known *known,
                             const struct sma_context_measure *measure,
                             const struct sma_context_size *size)
{
    if (measure->target != sma_context_target_id(target) || size->messages < measure->bytes)
        return put_right(known, guess_request(target, size));
    uint64_t parts =
        size->part_tokens > measure->part_tokens ? size->part_tokens - measure->part_tokens : 0;
    return measure->tokens + sma_context_tokens(target, known, size->messages - measure->bytes) +
           parts;
}

/* -- what answers teach ------------------------------------------------------------------------ */
void sma_context_learn(const struct sma_target *target, struct sma_context_known *known,
                       struct sma_context_measure *measure, const struct sma_context_size *sent,
                       const struct sma_usage *usage, size_t answer_bytes)
{
    uint64_t counted = usage->input + usage->cached + usage->written;
    uint64_t guess = guess_request(target, sent);
    *measure = (struct sma_context_measure){0};
    if (counted == 0 || guess == 0 || usage->request_count > 1)
        return;
    uint64_t ratio = counted * RATIO_ONE / guess;
    if (ratio < RATIO_FALSE_MIN || ratio > RATIO_FALSE_MAX)
        return;
    *measure = (struct sma_context_measure){.target = sma_context_target_id(target),
                                            .tokens = counted + usage->output,
                                            .bytes = sent->messages + answer_bytes,
                                            .part_tokens = sent->part_tokens};
    if (counted > known->window)
        known->window = 0; /* it holds more than was thought */
    if (ratio < RATIO_MIN)
        ratio = RATIO_MIN;
    if (ratio > RATIO_MAX)
        ratio = RATIO_MAX;
    known->ratio =
        known->ratio == 0 ? (uint32_t)ratio : (uint32_t)((3 * (uint64_t)known->ratio + ratio) / 4);
}

#define CUT_TOKENS_MIN 1000 /* of less nothing can be told */

uint32_t sma_context_find_cut(const struct sma_target *target, struct sma_context_known *known,
                              const struct sma_context_size *sent, const struct sma_usage *usage)
{
    uint64_t counted = usage->input + usage->cached + usage->written;
    uint64_t guess = guess_request(target, sent);
    size_t bytes = sent->head + sent->messages;
    enum sma_host host = target->profile.host;
    bool is_local = host == SMA_HOST_OLLAMA || host == SMA_HOST_LOCAL;
    bool is_far_less = counted * 20 < guess * 9;                /* no text has so few tokens */
    bool is_size = (counted + 8) / 1024 > (counted - 1) / 1024; /* 4,090: of a window of 4,096 */
    bool is_again = is_local && known->was_short && counted * 4 > known->counted * 3 &&
                    counted * 3 < known->counted * 4;
    bool is_stuck = counted == known->counted && bytes > known->counted_bytes + 2000;
    if (counted != known->counted || bytes < known->counted_bytes)
        known->counted_bytes = bytes;
    known->was_short = is_far_less;
    known->counted = counted;
    known->most = counted > known->most ? counted : known->most;
    if (!(is_local || host == SMA_HOST_OTHER) || usage->request_count > 1 ||
        counted < CUT_TOKENS_MIN || known->most > counted + counted / 8 ||
        !(is_stuck || (is_far_less && (is_size || is_again))))
        return 0;
    uint32_t window = (uint32_t)((counted + 1023) / 1024 * 1024);
    if (window < WINDOW_MIN || window >= sma_context_window(target, known))
        return 0;
    known->window = window;
    return window;
}

void sma_context_learn_window(const struct sma_target *target, struct sma_context_known *known,
                              uint64_t told, uint64_t tokens)
{
    uint32_t window = sma_context_window(target, known);
    uint64_t less = told > 0 ? told : tokens;
    if (less < WINDOW_MIN)
        less = WINDOW_MIN;
    if (less < window)
        known->window = (uint32_t)less;
}
