/* web_priv.h — what the files of fetch.h share: one question to fetch-page and its answer. */
#ifndef SMA_RUNTIME_WEB_PRIV_H
#define SMA_RUNTIME_WEB_PRIV_H

#include "runtime/web/fetch.h"

struct web_question
{
    const struct sma_web_url *url;
    const char *method, *body; /* NULL: GET, none */
    const char *headers[4];    /* NULL at the end */
    size_t text_max;
    uint32_t time_ms;
    bool is_private_allowed, is_raw;
};
struct web_answer
{
    void *root; /* owns the slices */
    int status;
    struct sma_str location, title, content, error;
    bool is_cut;
};
/** @return false: a sentence is appended to *why. */
bool web_ask(const struct sma_web_place *place, const struct web_question *question,
             struct web_answer *ret_answer, struct sma_buf *why);
void web_answer_fini(struct web_answer *answer);
/** {"success":false,"error":...,"url":...}; url may be NULL. @return false */
bool web_put_error(struct sma_buf *result, struct sma_str error, const char *url);

#endif
