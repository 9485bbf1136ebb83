/*
 * token.h — an access token: fetched ahead of its end, by one request at a time, and anew when the
 * platform refuses it.
 *
 * Asked for without end, with back-off, so that a service that was started while the network was
 * down, or before its secret was mended, comes up by itself. A secret that is refused is said once,
 * shown in status (SMA_CAUSE_LOGIN) and tried again slowly; whoever waits for a token then is told
 * at once, while trouble that may pass is waited out.
 *
 * Threads: the actor's. The token is logged nowhere and wiped when it is dropped.
 */
#ifndef SMA_ADAPTERS_COMMON_TOKEN_H
#define SMA_ADAPTERS_COMMON_TOKEN_H

#include "platform_health.h"

#include "sma/buf.h"
#include "sma/net.h"

#define SMA_TOKEN_BYTES_MAX 1023
#define SMA_TOKEN_PAUSE_MS 1000 /* from one request to the next, whatever happens */
#define SMA_TOKEN_CALL_MS 15000
#define SMA_TOKEN_YOUNG_S 10 /* refused at this age again: the next one waits */

/* What an answer on the way in (token, bot, gateway) comes to. */
enum sma_login
{
    SMA_LOGIN_OK,
    SMA_LOGIN_RETRY, /* ask again after a while */
    SMA_LOGIN_FATAL, /* fails until somebody changes something: say so once, ask again rarely */
};
/* Why not OK, in words: what, where, what to do. Secrets never appear in it. */
struct sma_login_error
{
    int64_t code;           /* the platform's; -1 = none */
    int64_t retry_after_ms; /* -1 = the platform said nothing */
    bool is_token_invalid;  /* fetch a new token and ask again */
    char text[256];
};
struct sma_token
{
    char value[SMA_TOKEN_BYTES_MAX + 1];
    uint32_t expires_s; /* remaining life when answered */
};
struct sma_token_ops
{
    void (*put_url)(const void *state, struct sma_buf *url);
    void (*put_body)(const void *state, struct sma_buf *body);
    /* Untouched *ret_token unless OK, *ret_error when OK. */
    enum sma_login (*parse)(const struct sma_net_answer *answer, struct sma_token *ret_token,
                            struct sma_login_error *ret_error);
    /* Seconds after which to fetch the next one; never 0. */
    uint32_t (*refresh_s)(uint32_t expires_s);
    /* What FATAL means, for people; NULL = the error's own words. */
    void (*explain)(const struct sma_login_error *error, char line[SMA_HEALTH_BYTES_MAX]);
    uint32_t fatal_s; /* after FATAL it is asked for this often */
};

struct sma_calls;
struct sma_call_home;
struct sma_token_keeper;

/** Everything is borrowed; calls: by which it is asked for. NULL when out of memory. */
struct sma_token_keeper *sma_token_create(const struct sma_call_home *home, struct sma_calls *calls,
                                          const struct sma_token_ops *ops);
void sma_token_destroy(struct sma_token_keeper *keeper); /* accepts NULL */
/** Ask for the first one. is_link: the connection stands or falls with the token. */
void sma_token_begin(struct sma_token_keeper *keeper, bool is_link);
/** @return when to look again */
uint64_t sma_token_tick(struct sma_token_keeper *keeper, uint64_t now_ns);
/** No call will be answered any more: forget, and wipe. */
void sma_token_close(struct sma_token_keeper *keeper);
/** The token, empty when there is none; *ret_number names it. */
struct sma_str sma_token_now(const struct sma_token_keeper *keeper, uint64_t *ret_number);
/** The platform refused token `number`: fetch another, unless that has happened. */
void sma_token_drop(struct sma_token_keeper *keeper, uint64_t number);
/** Whether none will come for a while: the last request failed for good. */
bool sma_token_is_hopeless(const struct sma_token_keeper *keeper);
/** Why there is none; "" = nothing has failed. */
const char *sma_token_why(const struct sma_token_keeper *keeper);

#endif
