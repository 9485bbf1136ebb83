/* fake_model_steps.h — see fake_model_steps.c. */
#ifndef FAKE_MODEL_STEPS_H
#define FAKE_MODEL_STEPS_H

#include "fake_model.h"
#include "fake_model_refuse.h"

/* Slices of the request's tree. */
struct fake_steps
{
    struct sma_str directive, text; /* the steps; the whole text that holds them */
    struct sma_str result;          /* the newest result since; may be empty */
    size_t index;
};

/** false: the request holds no steps. */
bool fake_steps_read(const json_t *messages, struct fake_steps *steps);
/** The step that is due. `scratch` holds what is not in the tree. */
void fake_steps_answer(const struct fake_steps *steps, struct fake_answer *answer,
                       struct sma_buf *scratch);
/* fake_model_notes.c. */
#define FAKE_STEPS_DONE "STEPS-DONE "
/** How many steps of this directive the notes say are done. */
size_t fake_steps_noted(struct sma_str notes, struct sma_str directive);
/** The steps of the message that is being worked on. */
struct sma_str fake_directive_in(struct sma_str text);
/** The request wants notes of a conversation: they hold its facts. */
bool fake_answer_notes(const json_t *messages, struct fake_answer *answer, struct sma_buf *scratch);
/** The steps are "recall NAME": the fact, if it stands in the request. */
bool fake_answer_recall(struct sma_str body, struct sma_str directive, struct fake_answer *answer,
                        struct sma_buf *scratch);

#endif
