/*
 * fake_model_answer.h — answers as one provider gives them: thoughts, ids, counts, stop reasons.
 * One document is made, and a stream is that document in pieces.
 */
#ifndef FAKE_MODEL_ANSWER_H
#define FAKE_MODEL_ANSWER_H

#include "fake_model.h"
#include "fake_model_refuse.h"

/** The whole answer as the provider's document. Decref it. */
json_t *fake_document(const struct fake_question *question, const struct fake_answer *answer);
/** The same as events, each ended by an empty line. */
void fake_events(const struct fake_question *question, const struct fake_answer *answer,
                 struct sma_buf *out);

/* -- fake_model_usage.c -- */
size_t fake_output_tokens(const struct fake_question *question, const struct fake_answer *answer);
json_t *fake_usage(const struct fake_question *question, const struct fake_answer *answer);

#endif
