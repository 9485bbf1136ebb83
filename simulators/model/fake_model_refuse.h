/*
 * fake_model_refuse.h — a request as a provider sees it, and what it says against it. The tables
 * are in fake_model_rules.c, what all platforms refuse is in fake_model_check.c.
 */
#ifndef FAKE_MODEL_REFUSE_H
#define FAKE_MODEL_REFUSE_H

#include "fake_model_meter.h"
#include "fake_model_rules.h"
#include "sma/base.h"

#include <jansson.h>

struct fake_question
{
    enum sma_llm_api api;
    const struct fake_profile *profile;
    const struct fake_family *family; /* NULL: the provider has no such model */
    const json_t *root;
    struct sma_str head; /* the HTTP head */
    const char *model;
    bool is_thinking;
    uint64_t prefix;    /* hash of all that stands in the request: what an answer is bound to */
    size_t echo_misses; /* thoughts that were given and did not come back */
};
struct fake_refusal
{
    int status;
    const char *code;
    char param[48], message[480];
};

void fake_question_read(struct fake_question *question);
/** true: refused. May count question->echo_misses. */
bool fake_refuse(struct fake_question *question, struct fake_refusal *refusal);
/** Fill it; always true. */
bool fake_refused(struct fake_refusal *refusal, int status, const char *code, const char *param,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* -- members -- */
const char *fake_text(const json_t *object, const char *key); /* "" when it is none */
bool fake_has(const json_t *object, const char *key);
bool fake_has_word(const char *words, const char *word);
bool fake_is_word(const json_t *object, const char *key, const char *word);
const char *fake_effort_of(const struct fake_question *question); /* "" = not set */

/* -- fake_model_echo.c -- */
bool fake_refuse_echo(struct fake_question *question, struct fake_refusal *refusal);
/** This model gave a thought with this call: it must come back. */
void fake_echo_given(const struct fake_question *question, const char *call_id);
/** What stands in signatures, made from what was thought. Written into `signature` (at least 80
 *  bytes). */
void fake_sign(const struct fake_question *question, const char *thought, uint64_t prefix,
               char *signature);
bool fake_is_bound(const struct fake_question *question); /* and the request does not lift it */

#endif
