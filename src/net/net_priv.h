/*
 * net_priv.h — what net.c (libcurl on the loop) and net_request.c (one request, one answer) share.
 *
 * A drive is one easy handle in the multi handle. A request is a drive with an easy handle of its
 * own, which it keeps for the next request when it goes back to the pool.
 * Threads: the actor's.
 */
#ifndef SMA_ACTORS_NET_PRIV_H
#define SMA_ACTORS_NET_PRIV_H

#include "sma/net.h"
#include "sma/proxy.h"

#include <curl/curl.h>
#include <uv.h>

#define NET_CONNECTION_COUNT_MAX 128 /* kept connections; the oldest goes first */
#define NET_POOL_COUNT_MAX 64        /* idle requests kept with their easy handles */
#define NET_HEADER_COUNT_MAX 64      /* of the caller; more is BADINPUT */
#define NET_HEADER_BYTES_MAX 16384
#define NET_KEPT_BYTES 65536 /* a larger answer buffer is given back after its request */
#define NET_ANSWER_BYTES_DEFAULT (4u * 1024 * 1024)
#define NET_HEAD_BYTES_MAX (256 * 1024) /* of an answer; with more it is too big */
#define NET_CONNECT_MS_DEFAULT 10000
#define NET_TOTAL_MS_DEFAULT 60000

struct net_drive
{
    struct net_drive *next; /* spare ones */
    CURL *easy;
    void (*ended)(void *user, int code);
    void *user;
};

struct net_part; /* multipart, net_request.c */

struct sma_net_request
{
    uint32_t magic;
    struct sma_net *net;
    struct sma_net_request *next, *previous; /* ring of open ones; next alone in the pool */
    struct net_drive drive;
    bool is_open, is_driven;
    bool is_failed; /* ended before it began; told from the timer */
    bool may_repeat, is_repeat_refused, is_too_big, is_file_failed;
    bool is_sending; /* a connection stands, and maybe the way through a proxy */
    bool is_straight;
    /* its host's name was not found: libcurl 8.14 would leak it, were the handle used again */
    bool is_nameless;
    long tunnel_bytes; /* said to the proxy before */
    CURL *easy;
    struct curl_slist header_nodes[NET_HEADER_COUNT_MAX + 2];
    struct sma_buf header_text;
    struct sma_buf body;
    struct net_part *parts;
    curl_mime *mime;
    size_t answer_bytes_max;
    uint64_t body_bytes, head_bytes;
    int file;
    uint64_t heard_ns, idle_ns; /* latest byte of the answer, 0 = none yet; idle_ns 0 = no limit */
    int64_t retry_after_ms;
    char log_id[128], type[64];
    char date[40];
    enum sma_net_cause cause;
    char host[256];
    char curl_error[CURL_ERROR_SIZE];
    char error[CURL_ERROR_SIZE + 300];
    bool (*head)(void *user, struct sma_str name, struct sma_str value);
    bool (*bytes)(void *user, int status, struct sma_str bytes);
    void (*done)(void *user, const struct sma_net_answer *answer);
    void *user;
};

struct sma_net
{
    uint32_t magic;
    struct sma_ctx *ctx;
    CURLM *multi;
    uv_timer_t timer;
    uv_poll_t sockets;
    int sockets_fd;   /* epoll: the sockets libcurl waits for */
    bool *is_watched; /* by descriptor: it is in that set */
    size_t watched_size;
    int handle_count;                   /* handles still closing */
    uint64_t curl_due_ns, quiet_due_ns; /* UINT64_MAX = not */
    uint64_t armed_ns;                  /* what the timer is set to */
    uint64_t turn_ms;                   /* the turn of the loop that the timer fired in last, */
    unsigned turn_fired_count;          /* and how often it did */
    bool is_inside;                     /* libcurl is running: nothing may be added or removed */
    unsigned telling;                   /* callbacks of users on the stack */
    struct net_drive *spare_drives;
    void (*pass)(void *user);
    void *pass_user;
    struct sma_net_request open; /* head of a ring */
    size_t open_count, failed_count;
    struct sma_net_request *pool;
    size_t pool_count;
    char *ca_file;
    struct sma_proxy proxy;
};

/* -- net.c ------------------------------------------------------------------------------------- */
SMA_CHECKED enum sma_err net_drive_start(struct sma_net *net, struct net_drive *drive);
void net_drive_stop(struct sma_net *net, struct net_drive *drive);
/** Something is due at this time, or earlier than before: set the timer. */
void net_arm(struct sma_net *net);

/* -- net_request.c ----------------------------------------------------------------------------- */
/** End what was silent for too long, tell what failed before it began; sets quiet_due_ns. */
void net_requests_tick(struct sma_net *net, uint64_t now_ns);
void net_requests_drop_all(struct sma_net *net);

#endif
