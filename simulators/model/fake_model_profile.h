/* fake_model_profile.h — one request answered as one provider would. */
#ifndef FAKE_MODEL_PROFILE_H
#define FAKE_MODEL_PROFILE_H

#include "fake_model.h"
#include "fake_model_refuse.h"

struct fake_visit
{
    const struct fake_profile *profile;
    enum sma_llm_api api;
    struct sma_str head, body;
    const json_t *root;
    uint64_t number, now_ms;
    size_t window; /* tokens; 0 = the model's */
    /* what came of it, for the log */
    char fault[256], complaint[512], model[80];
    size_t echo_misses;
    struct fake_price price;
};

void fake_visit(struct fake_visit *visit, struct fake_response *response);
/** Sums over all requests so far, as JSON; decref it. */
json_t *fake_state(void);

#endif
