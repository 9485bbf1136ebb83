/*
 * qq_login.h — before anything else works: the access token and the gateway's address.
 *
 * Pure: bodies to send and answers to read. Every answer is OK, RETRY (back off and ask again) or
 * FATAL (the same request fails until the owner changes something: say so, ask again rarely).
 *
 * Threads: no state; any.
 * Source:  protocols/qq.md §1, §2.1.
 */
#ifndef SMA_QQ_LOGIN_H
#define SMA_QQ_LOGIN_H

#include "adapters/common/token.h"
#include "sma/buf.h"
#include "sma/net.h"

#define QQ_TOKEN_URL_DEFAULT "https://bots.qq.com/app/getAppAccessToken"
#define QQ_API_ROOT_DEFAULT "https://api.sgroup.qq.com"
#define QQ_API_ROOT_SANDBOX "https://sandbox.api.sgroup.qq.com"
#define QQ_GATEWAY_DEFAULT "wss://api.sgroup.qq.com/websocket"
#define QQ_GATEWAY_SANDBOX "wss://sandbox.api.sgroup.qq.com/websocket"
#define QQ_GATEWAY_PATH "/gateway"         /* GET: {"url"} */
#define QQ_GATEWAY_BOT_PATH "/gateway/bot" /* GET: the same with shards and limits */
#define QQ_GATEWAY_URL_BYTES_MAX 1023

/* -- access token ------------------------------------------------------------------------------ */
void qq_put_token_body(struct sma_buf *buf, struct sma_str app_id, struct sma_str secret);
/** A refusal comes under HTTP 200 too. Untouched *ret_token unless OK, *ret_error when OK. */
enum sma_login qq_token_parse(const struct sma_net_answer *answer, struct sma_token *ret_token,
                              struct sma_login_error *ret_error);
/**
 * Seconds after which to fetch the next one. The platform gives the same token until its last 60 s,
 * so this lies inside them; never below 5, so that a platform that keeps giving old ones is not
 * hammered.
 */
uint32_t qq_token_refresh_s(uint32_t expires_s);

/* -- gateway ----------------------------------------------------------------------------------- */
struct qq_gateway
{
    char url[QQ_GATEWAY_URL_BYTES_MAX + 1]; /* ws:// or wss:// */
    unsigned shards;          /* what the platform recommends; 1 when it does not say */
    bool has_limit;           /* the rest was there */
    int64_t total, remaining; /* identifies of the day */
    int64_t reset_after_ms;   /* until `remaining` is `total` again */
    unsigned max_concurrency; /* identifies per 5 s */
};
/** Either of the two calls. */
enum sma_login qq_gateway_parse(const struct sma_net_answer *answer, struct qq_gateway *ret_gateway,
                                struct sma_login_error *ret_error);
/** How long an identify has to wait by session_start_limit: 0 while some remain, else until the
 *  reset, at most a day. */
int64_t qq_gateway_identify_wait_ms(const struct qq_gateway *gateway);

#endif
