/*
 * room.c — who has to leave when a connection comes and all places are taken.
 *
 * Only the token tells people from strangers, and a stranger costs nothing but a socket: a thousand
 * silent connections must not keep out the one that asks /health. So a connection that has not
 * shown the token and waits for nothing of ours leaves, the oldest first: a caller who means it has
 * sent its request long before. If one address holds most of these, one of its own goes, so that a
 * flood pushes out itself. Behind a proxy all come from one address: then it is simply the oldest;
 * X-Forwarded-For says whatever its sender likes and is not read.
 */
#include "http_priv.h"

#include <netinet/in.h>

uint64_t http_room_address(const struct sockaddr_storage *peer)
{
    uint64_t half = 0;
    if (peer->ss_family == AF_INET)
        return ((const struct sockaddr_in *)peer)->sin_addr.s_addr;
    if (peer->ss_family != AF_INET6)
        return 0;
    /* one machine may use any address of its /64; mapped ones and ::1 differ in the other half */
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)peer)->sin6_addr;
    bool is_low = IN6_IS_ADDR_V4MAPPED(v6) || IN6_IS_ADDR_LOOPBACK(v6);
    memcpy(&half, v6->s6_addr + (is_low ? 8 : 0), sizeof half);
    return half;
}

/* Not while an adapter answers its webhook, and never a refusal, which leaves by itself. */
static bool is_stranger(const struct http_conn *conn)
{
    bool is_idle_state = conn->state == HTTP_HEAD || conn->state == HTTP_BODY ||
                         conn->state == HTTP_DONE || conn->state == HTTP_LINGER;
    return !conn->is_known && !conn->is_refusal && is_idle_state;
}

/* Its last request is answered, the next one has not begun. */
static bool is_idle(const struct http_conn *conn)
{
    return conn->is_known && conn->state == HTTP_HEAD && conn->in.len == 0 && !conn->is_writing;
}

/* The address that holds more than half of the strangers, if one does (majority vote of Boyer and
 * Moore). */
static uint64_t find_majority(const struct sma_http *http, bool *ret_has)
{
    uint64_t candidate = 0;
    uint32_t lead = 0, held = 0, count = 0;
    for (uint32_t i = 0; i < http->conn_count; i++) {
        if (!is_stranger(http->conns[i]))
            continue;
        if (lead == 0)
            candidate = http->conns[i]->address;
        lead += http->conns[i]->address == candidate ? 1 : -1u;
    }
    for (uint32_t i = 0; i < http->conn_count; i++) {
        count += is_stranger(http->conns[i]);
        held += is_stranger(http->conns[i]) && http->conns[i]->address == candidate;
    }
    *ret_has = held > count / 2;
    return candidate;
}

bool http_room_make(struct sma_http *http)
{
    bool has_majority;
    uint64_t majority = find_majority(http, &has_majority);
    struct http_conn *stranger = NULL, *idle = NULL;
    for (uint32_t i = 0; i < http->conn_count; i++) {
        struct http_conn *conn = http->conns[i];
        if (is_stranger(conn) && (!has_majority || conn->address == majority) &&
            (stranger == NULL || conn->number < stranger->number))
            stranger = conn;
        if (is_idle(conn) && (idle == NULL || conn->read_ns < idle->read_ns))
            idle = conn;
    }
    struct http_conn *leaves = stranger != NULL ? stranger : idle;
    if (leaves == NULL)
        return false;
    SMA_METRIC_ADD(http_rejected_total, 1);
    http_conn_close(leaves);
    return true;
}
