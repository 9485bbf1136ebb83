/*
 * policy_priv.h — one decision while it is made: shared by policy_decide.c (commands, words,
 * variables) and policy_write.c (files).
 */
#ifndef SMA_APPROVAL_POLICY_PRIV_H
#define SMA_APPROVAL_POLICY_PRIV_H

#include "shell_priv.h"

struct deciding
{
    const struct sma_policy *policy;
    struct rules allow;   /* the policy's own; empty where it asks always */
    struct rules granted; /* what people have allowed for a while */
    const struct sma_shell *shell;
    const struct sma_policy_query *query;
    struct sma_policy_decision *decision;
    struct sma_str folder; /* where `cd` has gone, relative to the project; empty: nowhere */
    bool has_many_folders;
    struct sma_str
        /* raw text of the first file that is written and must be asked about like any */
        asked_write;
    uint32_t covers[SMA_SHELL_COMMAND_COUNT_MAX];
    uint32_t own_covers[SMA_SHELL_COMMAND_COUNT_MAX]; /* by the policy's own rules, not by grants */
};

/* Only the first verdict that is not `allow` counts, except that refusing beats asking. */
void sma_deciding_settle(struct deciding *deciding, enum sma_policy_verdict verdict,
                         const char *rule, struct sma_str program, const char *reason);
void sma_deciding_ask(struct deciding *deciding, struct sma_str program, const char *reason);

/* -- files (policy_write.c) -------------------------------------------------------------------- */
/* Is it a constant name inside of the project that may be read or gone to? */
bool sma_deciding_is_harmless(const struct deciding *deciding, const struct sma_shell_word *word,
                              uint32_t may_have);
/* Redirections, and the files that programs touch by their operands and options. */
void sma_deciding_check_files(struct deciding *deciding);
/* At the end: writes that nobody but `write_repo` has anything against. */
void sma_deciding_check_asked_writes(struct deciding *deciding);

#endif
