/*
 * init_model.h — who answers in a new project: provider, model and address, from options, the
 * provider's own list, or typed. What cannot work together is refused before anything is written.
 */
#ifndef SMA_CLI_INIT_MODEL_H
#define SMA_CLI_INIT_MODEL_H

#include "sma/base.h"

#define INIT_ANSWER_BYTES_MAX 512

struct init_model
{
    const char *dir; /* whose .env is looked at for a key */
    char provider[INIT_ANSWER_BYTES_MAX], model[INIT_ANSWER_BYTES_MAX];
    char base_url[INIT_ANSWER_BYTES_MAX];
};

/** Asks for what is not given. false: the input ended. Then sma_init_check_model. */
bool sma_init_ask_model(struct init_model *chosen);
/** Fills in what is not given and refuses what cannot work. 0, or 1 after one line on stderr. */
int sma_init_check_model(struct init_model *chosen);

/* init.c: one question; an empty answer is `otherwise`. false: the input ended. */
bool sma_init_ask(const char *question, const char *otherwise, char *answer);

#endif
