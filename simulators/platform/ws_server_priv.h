/* ws_server_priv.h — what the three files of the test server share. All of it is guarded by
 * server->lock. */
#ifndef SMA_TEST_WS_SERVER_PRIV_H
#define SMA_TEST_WS_SERVER_PRIV_H

#include "platform/ws_server.h"
#include "sma/buf.h"

#include <openssl/ssl.h>
#include <pthread.h>

#define WS_HEAD_BYTES_MAX 65536
#define WS_BODY_BYTES_MAX (32u * 1024 * 1024)
/* a sender's script is not bounded by the server */
#define WS_BUFFER_BYTES_MAX (256u * 1024 * 1024)

enum ws_conn_phase
{
    WS_CONN_HTTP,    /* waiting for a whole request */
    WS_CONN_WAITING, /* a request waits for its answer */
    WS_CONN_OPEN,    /* a WebSocket */
};

struct ws_conn
{
    struct ws_conn *next;
    unsigned id;
    int fd;
    SSL *ssl; /* NULL = plain */
    bool is_shaken;
    enum ws_conn_phase phase;
    struct sma_buf in, out, message;
    size_t out_start;
    size_t request_bytes; /* of `in`, taken by the request that waits */
    bool has_continued;   /* 100 Continue was sent for it */
    char key[64];
    bool is_message_open, is_binary;
    bool is_frozen, is_paused, is_mute, has_sent_close;
    bool is_ending; /* close when everything is written */
    bool is_dead;   /* close now */
    unsigned close_code;
    char close_reason[128];
};

struct ws_timer
{
    struct ws_timer *next;
    uint64_t at_ms;
    void (*run)(void *user, struct ws_server *server);
    void *user;
};

struct ws_server
{
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct ws_server_hooks hooks;
    void *user;
    enum ws_server_tls tls;
    SSL_CTX *ssl_ctx;
    bool is_ipv6, is_stopping;
    int listener, bell;
    uint16_t port;
    unsigned last_id;
    struct ws_conn *conns;
    struct ws_timer *timers;
    size_t accepted_count, request_count;
    char url[64], http_url[64], dir[64], ca_file[96];
};

/* -- ws_server.c ------------------------------------------------------------------------------- */
void ws_server_ring(struct ws_server *server); /* let the thread look at everything again */

/* -- ws_server_tls.c: certificates made on the spot -------------------------------------------- */
/** Context for the kind; the authority's certificate is written to ca_file. Ends the program on
 *  failure. */
SSL_CTX *ws_server_tls_create(enum ws_server_tls kind, const char *ca_file);

/* -- ws_server_frame.c: bytes in, bytes out ---------------------------------------------------- */
/** Handle all that is whole in conn->in. */
void ws_conn_parse(struct ws_server *server, struct ws_conn *conn);
void ws_conn_put_frame(struct ws_conn *conn, unsigned char first, bool is_masked,
                       struct sma_str bytes);

#endif
