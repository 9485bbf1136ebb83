/*
 * feishu_login.h — before anything else works: token, bot identity, endpoint of the long
 * connection, its configuration.
 *
 * Pure: bodies to send and answers to read. Every answer is OK, RETRY (back off and ask again) or
 * FATAL (the same request will fail for ever: say so once, ask again rarely or never).
 *
 * Threads: no state; any.
 * Source:  protocols/feishu.md §2, §3.1, §4.1, §4.2, §4.5, §10.
 */
#ifndef SMA_FEISHU_LOGIN_H
#define SMA_FEISHU_LOGIN_H

#include "adapters/common/token.h"
#include "sma/buf.h"
#include "sma/net.h"

#define FEISHU_DOMAIN_DEFAULT "https://open.feishu.cn"
#define FEISHU_TOKEN_PATH "/open-apis/auth/v3/tenant_access_token/internal"
#define FEISHU_BOT_PATH "/open-apis/bot/v3/info"
#define FEISHU_ENDPOINT_PATH "/callback/ws/endpoint"
#define FEISHU_URL_BYTES_MAX 4095

/* -- tenant token ------------------------------------------------------------------------------ */
void feishu_put_token_body(struct sma_buf *buf, struct sma_str app_id, struct sma_str app_secret);
enum sma_login feishu_token_parse(const struct sma_net_answer *answer, struct sma_token *ret_token,
                                  struct sma_login_error *ret_error);
/** Seconds after which to fetch the next one: ahead of the end, soon enough to get a new one, never
 *  0. */
uint32_t feishu_token_refresh_s(uint32_t expires_s);

/* -- the bot itself ---------------------------------------------------------------------------- */
struct feishu_bot
{
    char open_id[128], name[256];
    bool is_active; /* activate_status 2 */
};
enum sma_login feishu_bot_parse(const struct sma_net_answer *answer, struct feishu_bot *ret_bot,
                                struct sma_login_error *ret_error);

/* -- rights in a group ------------------------------------------------------------------------- */
/** Append "/open-apis/im/v1/chats/{chat_id}?user_id_type=T": T by the form of user_id: ou_ open_id,
 *  on_ union_id, else user_id. */
void feishu_put_chat_path(struct sma_buf *buf, struct sma_str chat_id, struct sma_str user_id);
/** Whether user_id is owner or manager of the chat. */
enum sma_login feishu_chat_parse(const struct sma_net_answer *answer, struct sma_str user_id,
                                 bool *ret_is_admin, struct sma_login_error *ret_error);

/* -- long connection --------------------------------------------------------------------------- */
struct feishu_client_config
{
    int32_t reconnect_count; /* tries; negative = without end */
    uint32_t reconnect_interval_s, reconnect_nonce_s, ping_interval_s;
};
#define FEISHU_CLIENT_CONFIG_DEFAULT ((struct feishu_client_config){-1, 120, 30, 120})
#define FEISHU_CLIENT_INTERVAL_S_MAX 3600 /* larger values of the server are taken as this */
/**
 * Change *config by a ClientConfig object (of a pong's payload). Missing, zero, negative or
 * senseless intervals leave what was there; so does anything that is not JSON.
 * @return whether anything was taken over
 */
bool feishu_client_config_merge(struct feishu_client_config *config, struct sma_str json);

struct feishu_endpoint
{
    char url[FEISHU_URL_BYTES_MAX +
             1];        /* wss://...; good for one connection; holds a secret: never log it */
    int32_t service_id; /* for pings; 0 when the URL names none */
    char device_id[64]; /* for the log */
    bool has_config;
    struct feishu_client_config config; /* merged into `known` */
};
void feishu_put_endpoint_body(struct sma_buf *buf, struct sma_str app_id,
                              struct sma_str app_secret);
enum sma_login feishu_endpoint_parse(const struct sma_net_answer *answer,
                                     const struct feishu_client_config *known,
                                     struct feishu_endpoint *ret_endpoint,
                                     struct sma_login_error *ret_error);

/* A refused upgrade: its status and the headers Handshake-Status, Handshake-Msg,
 * Handshake-Autherrcode (empty = absent). */
struct feishu_handshake
{
    int http_status;
    struct sma_str status, message, auth_code;
};
/** RETRY or FATAL, with words. */
enum sma_login feishu_handshake_classify(const struct feishu_handshake *handshake,
                                         struct sma_login_error *ret_error);

#endif
