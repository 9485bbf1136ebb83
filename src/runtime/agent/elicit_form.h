/*
 * elicit_form.h — a form that an outside server asks people to fill in, as words: the question as
 * it stands in a chat, and what an answer in plain words means.
 *
 * The form is a flat JSON Schema: properties of type string (maybe with `enum` or `oneOf`),
 * number, integer, boolean, or a list of words. Everything in it was said by a server: control
 * characters become blanks, texts are cut, whose question it is stands before it. Nothing is sent
 * that the form does not take, and "decline" and "cancel" (拒绝, 取消) are never values.
 *
 * Threads: no state.
 */
#ifndef SMA_RUNTIME_AGENT_ELICIT_FORM_H
#define SMA_RUNTIME_AGENT_ELICIT_FORM_H

#include "sma/messages.h"
#include "sma/notices.h"

#define SMA_ELICIT_FIELD_COUNT_MAX 20 /* a form with more is not asked */
#define SMA_ELICIT_QUESTION_BYTES_MAX (16 * 1024)
#define SMA_ELICIT_CONTENT_BYTES_MAX (64 * 1024)

enum sma_elicit_said
{
    SMA_ELICIT_FITS,     /* content */
    SMA_ELICIT_DECLINED, /* they refuse */
    SMA_ELICIT_LEFT,     /* they do not want to answer */
    SMA_ELICIT_MISFIT,   /* why */
};

/** Can it be asked at all? */
bool sma_elicit_can_ask(struct sma_str schema);
/** The question, appended. Errors stay in buf. */
void sma_elicit_put_question(struct sma_buf *buf, enum sma_language language,
                             const struct sma_mcp_elicit *asked);
/**
 * What do these words mean?
 * @content  FITS: the JSON object is appended
 * @why      MISFIT: a clause for people is appended
 */
enum sma_elicit_said sma_elicit_read(struct sma_str schema, struct sma_str words,
                                     struct sma_buf *content, struct sma_buf *why);

#endif
