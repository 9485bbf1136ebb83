/* profile_priv.h — the rows of the table of models, for profile.c. */
#ifndef SMA_MODEL_PROFILE_PRIV_H
#define SMA_MODEL_PROFILE_PRIV_H

#include "runtime/model/profile.h"

enum
{
    MODEL_REASONS = 1,
    MODEL_SEES = 2,      /* images */
    MODEL_READS_PDF = 4, /* natively */
    MODEL_HEARS = 8,
    MODEL_BREAKPOINTS = 16, /* OpenAI 5.6 and later: prompt_cache_breakpoint */
    MODEL_BINDS = 32, /* Claude 5.1 and later: thinking is bound to all that stands before it */
};

struct model
{
    /* the id's beginning: lower case, '-' for '.', up to its end or one of "-:@" */
    const char *pattern;
    enum sma_host vendor;    /* whose model it is: its own switches are sent to that host only */
    uint32_t window, output; /* tokens */
    uint32_t flags;
    enum sma_sampling sampling;
    uint8_t efforts;
    enum sma_thinking thinking;
    enum sma_chat_tools chat_tools;
    /* Per million tokens: input, cached, written, output; then, where large requests cost more:
     * from how many tokens, the factor on the first three, the factor on output. */
    double price[7];
    const char *ends, *successor;
};

/** The row whose pattern fits; NULL when none does. */
const struct model *sma_model_find(const char *id);

#endif
