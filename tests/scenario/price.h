/*
 * price.h — what a run of twelve steps with results of 20 kB costs at a provider, on the model
 * server's price meter: what was paid, over what a perfectly cached client would have paid. Exact
 * and the same in each run.
 */
#ifndef SMA_TEST_PRICE_H
#define SMA_TEST_PRICE_H

#define PRICE_STEP_COUNT 12
#define PRICE_RESULT_BYTES 20000

struct price_case
{
    const char *name, *provider, *profile, *api, *model;
};
struct price
{
    int request_count;
    double paid, perfect; /* dollars */
};

extern const struct price_case PRICE_CASES[];
extern const unsigned PRICE_CASE_COUNT;

/** Ends the test when the run does not end with its answer, or a request was refused. */
struct price price_measure(const char *binary, const char *fake_model,
                           const struct price_case *wanted);

#endif
