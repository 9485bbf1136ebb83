/* The plan: who says something when. Everything follows from numbers, so that chats and rounds can
 * be walked in any order. */
#include "year.h"

#include <stdlib.h>
#include <time.h>

void year_plan_make(const struct year_options *options, uint32_t width, struct year_plan *ret_plan)
{
    static const uint64_t periods[YEAR_CLASS_COUNT] = {1, 8, 64};
    struct year_plan plan = {.options = options, .width = width};
    plan.first[1] = (options->chats + 99) / 100;
    plan.first[2] = plan.first[1] + options->chats * 9 / 100;
    plan.first[3] = options->chats;
    double a_round = 0;
    for (int i = 0; i < YEAR_CLASS_COUNT; i++) {
        plan.period[i] = periods[i];
        a_round += (double)(plan.first[i + 1] - plan.first[i]) / (double)periods[i];
    }
    plan.rounds = (uint64_t)((double)options->messages / a_round) + 1;
    plan.before = calloc(plan.rounds + 1, sizeof *plan.before);
    if (plan.before == NULL)
        year_die("no memory");
    *ret_plan = plan;
    for (uint64_t r = 0; r < plan.rounds; r++) {
        uint64_t count = 0, k;
        for (uint64_t c = 0; (c = year_next_chat(&plan, r, c, &k)) < options->chats; c++)
            count++;
        plan.before[r + 1] = plan.before[r] + count;
    }
    int64_t year_ms = (int64_t)options->days * 86400000;
    plan.start_ms = (int64_t)time(NULL) * 1000 - year_ms;
    plan.round_ms = year_ms / (int64_t)plan.rounds;
    *ret_plan = plan;
}

void year_plan_end(struct year_plan *plan)
{
    free(plan->before);
}

static int class_of(const struct year_plan *plan, uint64_t chat)
{
    return chat < plan->first[1] ? 0 : chat < plan->first[2] ? 1 : 2;
}

/* A chat speaks in the rounds r with (r + chat) % period == 0. */
static uint64_t first_round(const struct year_plan *plan, uint64_t chat)
{
    uint64_t period = plan->period[class_of(plan, chat)];
    return (period - chat % period) % period;
}

uint64_t year_count_of(const struct year_plan *plan, uint64_t chat)
{
    uint64_t first = first_round(plan, chat), period = plan->period[class_of(plan, chat)];
    return first >= plan->rounds ? 0 : (plan->rounds - 1 - first) / period + 1;
}

uint64_t year_next_chat(const struct year_plan *plan, uint64_t round, uint64_t from,
                        uint64_t *ret_k)
{
    for (int i = 0; i < YEAR_CLASS_COUNT; i++) {
        uint64_t chat = from > plan->first[i] ? from : plan->first[i], period = plan->period[i];
        chat += (period - (round + chat) % period) % period;
        if (chat >= plan->first[i + 1])
            continue;
        *ret_k = (round - first_round(plan, chat)) / period;
        return chat;
    }
    return plan->options->chats;
}

/* How many chats below this one speak in this round. */
static uint64_t rank_of(const struct year_plan *plan, uint64_t round, uint64_t chat)
{
    uint64_t count = 0;
    for (int i = 0; i < YEAR_CLASS_COUNT; i++) {
        uint64_t low = plan->first[i], high = plan->first[i + 1] < chat ? plan->first[i + 1] : chat;
        uint64_t period = plan->period[i];
        uint64_t first = low + (period - (round + low) % period) % period;
        count += first < high ? (high - 1 - first) / period + 1 : 0;
    }
    return count;
}

uint64_t year_index_of(const struct year_plan *plan, uint64_t chat, uint64_t k, uint64_t *ret_round)
{
    uint64_t round = first_round(plan, chat) + k * plan->period[class_of(plan, chat)];
    *ret_round = round;
    return plan->before[round] + rank_of(plan, round, chat);
}

/* Rotations before line number `line` of a chat was written: a main file of 1,001 lines gives up
 * the older 500. */
static uint64_t rotations_before(uint64_t line)
{
    return line <= 1000 ? 0 : (line - 1001) / 500 + 1;
}

void year_case_of(const struct year_plan *plan, const struct year_mould *mould, uint64_t chat,
                  uint64_t k, struct year_case *ret_case)
{
    uint64_t round, index = year_index_of(plan, chat, k, &round);
    struct year_case of = {.id = YEAR_ID_FIRST + chat,
                           .seq = YEAR_SEQ_FIRST + index * plan->width,
                           .message = 10000000 + k * mould->line_count,
                           .time_ms = plan->start_ms + (int64_t)round * plan->round_ms,
                           .chat = (uint32_t)chat + 2,
                           .mould = mould,
                           .set = YEAR_TURN};
    uint64_t pair_bytes = 0, line = k * mould->line_count;
    for (uint32_t i = 0; i < mould->line_count; i++)
        pair_bytes += mould->lines[i].len;
    for (uint32_t i = 0; i < mould->line_count; i++) {
        uint64_t skipped = rotations_before(line + i) * 500; /* a whole number of turns */
        of.places[i] = (line - skipped + 0) / mould->line_count * pair_bytes;
        for (uint32_t j = 0; j < i; j++)
            of.places[i] += mould->lines[j].len;
    }
    of.generation = (uint32_t)rotations_before(line);
    *ret_case = of;
}
