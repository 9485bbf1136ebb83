/*
 * budget_text.h — which budget is used up and when it is renewed, in words of the notices table.
 *
 * Threads: any; keeps nothing.
 */
#ifndef SMA_TEXT_BUDGET_TEXT_H
#define SMA_TEXT_BUDGET_TEXT_H

#include "sma/notices.h"

struct sma_budget_over;

/** Append a notice. over->scope is not NONE. notice: BUDGET_OVER or BUDGET_ENDED. */
void sma_budget_text_put(struct sma_buf *buf, enum sma_language language, enum sma_notice notice,
                         const struct sma_budget_over *over);
/** Append "Your budget for today: 12 of 20 left (tokens)". */
struct sma_budget_left
{
    unsigned scope, kind, period;
    const char *left, *limit; /* numbers, as people read them */
};
void sma_budget_left_put(struct sma_buf *buf, enum sma_language language,
                         const struct sma_budget_left *left);
/** "person", "chat", "platform", "total"; "tokens", "cost", "runs", "messages"; "day", "month",
 *  "minute": as in documents and JSON. */
const char *sma_budget_scope_name(unsigned scope);
const char *sma_budget_kind_name(unsigned kind);
const char *sma_budget_period_name(unsigned period);

#endif
