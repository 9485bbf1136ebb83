/*
 * probe.h — one question to a provider or a platform: would it take what is configured? For
 * `doctor` and `init`, never for a running service.
 *
 * A probe changes nothing at the other side: it takes no events away, sets no webhook, sends no
 * message. What it finds are lines for people: what was seen, and what to do about it.
 * Secrets: no line holds a key or a token.
 * Limits: SMA_PROBE_MS for a probe and all its requests; lines are cut.
 * Threads: whoever begins it sees the result when it is over; in between the prober's.
 */
#ifndef SMA_PROBE_H
#define SMA_PROBE_H

#include "sma/net.h"

#define SMA_PROBE_MS 10000
#define SMA_PROBE_LINE_COUNT_MAX 40 /* a model has up to 32 keys */
#define SMA_PROBE_HEADER_COUNT_MAX 14
#define SMA_PROBE_NAME_BYTES_MAX 64
#define SMA_PROBE_TEXT_BYTES_MAX 480

enum sma_probe_state
{
    SMA_PROBE_OK,
    SMA_PROBE_WARNING, /* it works, but not as it may be meant */
    SMA_PROBE_ERROR,   /* it does not work */
};
struct sma_probe_line
{
    enum sma_probe_state state;
    char name[SMA_PROBE_NAME_BYTES_MAX]; /* "telegram token": what was looked at */
    char seen[SMA_PROBE_TEXT_BYTES_MAX];
    char remedy[SMA_PROBE_TEXT_BYTES_MAX]; /* what to do; "" when there is nothing */
};
struct sma_probe_result
{
    enum sma_probe_state state; /* the worst of the lines */
    struct sma_probe_line lines[SMA_PROBE_LINE_COUNT_MAX];
    size_t line_count;
    bool is_lost;  /* some question had no answer at all */
    char who[128]; /* who we are there: "@helper_bot"; "" = not told */
    /* The server's clock less ours, by the header Date; its resolution is a second. */
    bool has_clock;
    int64_t clock_ahead_s;
};

/* -- for whoever asks (platforms, the model) --------------------------------------------------- */
struct sma_probing; /* a probe that is under way */
typedef void sma_probe_fn(void *user, struct sma_probing *probing,
                          const struct sma_net_answer *answer);
struct sma_probe_ask
{
    const char *method;
    struct sma_buf *url, *body; /* taken, also on failure; body NULL: none */
    const char *const *headers; /* copied */
    size_t header_count;
    size_t answer_bytes_max; /* 0 = 1 MiB */
    sma_probe_fn *done;      /* once, with an answer of any kind */
    void *user;
};

/** Before the first question: through whom, and whom to trust beside the system (NULL: nobody). */
struct sma_proxy;
void sma_probing_use(struct sma_probing *probing, const struct sma_proxy *proxy,
                     const char *ca_file);
/** Ask. The probe is over when the last question's done() has returned without another one. */
void sma_probing_ask(struct sma_probing *probing, struct sma_probe_ask *ask);
/** A line of the result. name: behind the probe's own. */
void sma_probing_say(struct sma_probing *probing, enum sma_probe_state state, const char *name,
                     const char *remedy, const char *seen, ...) SMA_PRINTF(5, 6);
/** No whole answer: says why, and what to do, as a line of this name. @return whether it was so */
bool sma_probing_is_lost(struct sma_probing *probing, const struct sma_net_answer *answer,
                         const char *name);
void sma_probing_is(struct sma_probing *probing, const char *who);
/** Zeroed room of the probe, wiped at its end; once. NULL without memory, which is then a line. */
void *sma_probing_keep(struct sma_probing *probing, size_t bytes);
void *sma_probing_kept(const struct sma_probing *probing);
/** Since the probe began. */
uint64_t sma_probing_ms(const struct sma_probing *probing);

/* -- for whoever runs probes (cli/probe) ------------------------------------------------------- */
struct sma_probing_options
{
    const char *name; /* "telegram", "model openai/gpt-5.2": begins each line's name */
    void (*begin)(void *user, struct sma_probing *probing);
    void *user;                    /* of begin */
    void (*over)(void *over_user); /* all is said; once, not from inside begin */
    void *over_user;
    struct sma_probe_result *result; /* zeroed by begin */
};
/** On the actor's thread. NULL when out of memory. */
struct sma_probing *sma_probing_begin(struct sma_ctx *ctx,
                                      const struct sma_probing_options *options);
/** Ends what is open. On the same thread, not from inside its callbacks. Accepts NULL. */
void sma_probing_end(struct sma_probing *probing);

#endif
