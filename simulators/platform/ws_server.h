/*
 * ws_server.h — a WebSocket and HTTP/1.1 server inside the test process, made to misbehave on
 * command.
 *
 * One server = one thread, one listening socket on loopback (plain or TLS, the certificates are
 * made on the spot), any number of connections. Every HTTP request that is whole comes to
 * hooks.request, an upgrade as well as a REST call, so a simulated platform needs one server for
 * both; there it is accepted, answered, or left without an answer. What then happens on an accepted
 * WebSocket comes to the other hooks. Everything a connection can be made to do is a function
 * below. With hooks == NULL every upgrade is accepted, every message is sent back, other requests
 * get 404.
 *
 *     static void on_request(void *user, struct ws_server *server, const struct ws_server_request
 *     *request) {
 *         if (request->is_upgrade)
 *             ws_server_accept(server, request->conn);
 *         else if (sma_str_is_equal(request->path, SMA_STR("/gateway")))
 *             ws_server_answer(server, request->conn, 200, "application/json", json);
 *         else
 *             ws_server_answer(server, request->conn, 404, "text/plain", SMA_STR("not here"));
 *     }
 *
 * Connections are numbers, counted from 1 and never used again: a command to one that has ended
 * does nothing and says false. Slices given to hooks are valid during the hook; bytes given to
 * commands are copied.
 *
 * Threads: hooks run on the server's thread. Commands may be called from hooks and from any other
 *          thread: one recursive lock guards the server, and hooks run under it. So a hook must not
 *          wait for a thread that calls a command; and what hooks share with the test's own thread
 *          is guarded by ws_server_lock, or is atomic.
 * Limits:  request head 64 KiB, request body and message 32 MiB; beyond, the connection is dropped.
 */
#ifndef SMA_TEST_WS_SERVER_H
#define SMA_TEST_WS_SERVER_H

#include "sma/base.h"

struct ws_server;

struct ws_server_request
{
    unsigned conn;
    struct sma_str method, path, query; /* query without '?', still percent-encoded */
    struct sma_str head;                /* all header lines, each with CR LF */
    struct sma_str body;
    bool is_upgrade; /* a well-formed WebSocket handshake */
};

struct ws_server_hooks
{
    /* A whole request. Call accept, answer or refuse for its connection, now or later
     * (ws_server_after); a request that gets none of them simply waits. Its connection is kept
     * alive after an answer. */
    void (*request)(void *user, struct ws_server *server, const struct ws_server_request *request);
    /* A whole message, put together. The rest may be NULL. */
    void (*message)(void *user, struct ws_server *server, unsigned conn, struct sma_str bytes,
                    bool is_binary);
    void (*pong)(void *user, struct ws_server *server, unsigned conn, struct sma_str bytes);
    /* A ping from the client; it has been answered unless the connection is mute. */
    void (*ping)(void *user, struct ws_server *server, unsigned conn, struct sma_str bytes);
    /* An accepted WebSocket has ended, whoever did it. code: of the client's close frame; 0 = it
     * sent none (1005: a close frame without a code). Called once; not for connections that never
     * became a WebSocket. */
    void (*closed)(void *user, struct ws_server *server, unsigned conn, unsigned code,
                   struct sma_str reason);
};

/** Value of a header of the request, trimmed; empty when it is not there. */
struct sma_str ws_server_header(const struct ws_server_request *request, const char *name);

enum ws_server_tls
{
    WS_SERVER_PLAIN,
    /* for localhost, 127.0.0.1 and ::1, signed by the authority in ws_server_ca_file() */
    WS_SERVER_TLS,
    WS_SERVER_TLS_SELF_SIGNED, /* the same names, signed by itself */
    WS_SERVER_TLS_WRONG_NAME,  /* signed by the authority, for elsewhere.example */
    WS_SERVER_TLS_EXPIRED,     /* signed by the authority, ended yesterday */
    WS_SERVER_TLS_SILENT,      /* accepts TCP and never says a word */
};

struct ws_server_options
{
    enum ws_server_tls tls;
    bool is_ipv6;                        /* listen on ::1 instead of 127.0.0.1 */
    uint16_t port;                       /* 0 = any */
    const struct ws_server_hooks *hooks; /* borrowed; NULL = accept and echo */
    void *user;
};

/** Listen and start the thread. Ends the test program with a message if it cannot. options may be
 *  NULL. */
struct ws_server *ws_server_start(const struct ws_server_options *options);
/** Close everything, without the closed hook, join the thread, remove files. NULL is fine. */
void ws_server_stop(struct ws_server *server);
uint16_t ws_server_port(const struct ws_server *server);
/** "ws://127.0.0.1:PORT" (wss, [::1]); append the path. Lives as long as the server. */
const char *ws_server_url(const struct ws_server *server);
/** The same with http or https. */
const char *ws_server_http_url(const struct ws_server *server);
/** PEM file of the authority that signs the TLS certificates: what a client must trust. "" when
 *  plain. */
const char *ws_server_ca_file(const struct ws_server *server);

/** Guard for what hooks share with the test's thread. Recursive. */
void ws_server_lock(struct ws_server *server);
void ws_server_unlock(struct ws_server *server);

/* -- counts, any thread ------------------------------------------------------------------------ */
size_t ws_server_open_count(struct ws_server *server);     /* accepted WebSockets open now */
size_t ws_server_accepted_count(struct ws_server *server); /* WebSockets accepted so far */
size_t ws_server_socket_count(struct ws_server *server);   /* TCP connections open now */
size_t ws_server_request_count(struct ws_server *server);  /* whole requests so far */
/** The newest open WebSocket, 0 = none. */
unsigned ws_server_newest(struct ws_server *server);
/** Wait until the count of open WebSockets is `count`; false after timeout_ms. Not from a hook. */
bool ws_server_wait_open(struct ws_server *server, size_t count, unsigned timeout_ms);

/* -- answering a request ----------------------------------------------------------------------- */
bool ws_server_accept(struct ws_server *server, unsigned conn);
/** 101 with a wrong Sec-WebSocket-Accept, and with a subprotocol or extension nobody asked for
 *  (extra: whole header lines with CR LF, may be ""). */
bool ws_server_accept_wrongly(struct ws_server *server, unsigned conn, bool is_key_wrong,
                              const char *extra);
/** Any HTTP answer with a length; keeps the connection. A refused upgrade is this with, say,
 *  403. */
bool ws_server_answer(struct ws_server *server, unsigned conn, int status, const char *type,
                      struct sma_str body);
/** The same with further header lines, each with CR LF. */
bool ws_server_answer_with(struct ws_server *server, unsigned conn, int status, const char *headers,
                           struct sma_str body);

/* -- what a WebSocket can be made to do; conn 0 = every open one ------------------------------- */
bool ws_server_send(struct ws_server *server, unsigned conn, struct sma_str bytes, bool is_binary);
/** One message in `count` frames of about equal size, with a ping between the first two if
 *  asked. */
bool ws_server_send_fragments(struct ws_server *server, unsigned conn, struct sma_str bytes,
                              bool is_binary, size_t count, bool has_ping_between);
bool ws_server_ping(struct ws_server *server, unsigned conn, struct sma_str bytes);
/** Any frame: first = the whole first byte (FIN 0x80, reserved bits 0x70, opcode), masked or not,
 *  the length true. */
bool ws_server_send_frame(struct ws_server *server, unsigned conn, unsigned char first,
                          bool is_masked, struct sma_str bytes);
/** Bytes as they are, on any connection: garbage, half a frame, a frame header that lies. */
bool ws_server_send_raw(struct ws_server *server, unsigned conn, struct sma_str bytes);
/** Send a close frame (code 0: an empty one) and end once the client has answered it. */
bool ws_server_close(struct ws_server *server, unsigned conn, unsigned code, const char *reason);
/** Send what is waiting, then end the TCP connection, without a close frame. */
bool ws_server_drop(struct ws_server *server, unsigned conn);
/** End the TCP connection by RST, at once. */
bool ws_server_reset(struct ws_server *server, unsigned conn);
/** Neither read nor write any more, and keep the TCP connection open: what a lost network looks
 *  like. */
bool ws_server_freeze(struct ws_server *server, unsigned conn, bool is_frozen);
/** Stop reading only; writes go on. The client's bytes fill up the buffers of the kernel. */
bool ws_server_pause(struct ws_server *server, unsigned conn, bool is_paused);
/** Do not answer pings and close frames by itself; the hooks are still called. */
bool ws_server_mute(struct ws_server *server, unsigned conn, bool is_mute);
/** Bytes that wait to be written to the client in this process. */
size_t ws_server_unsent(struct ws_server *server, unsigned conn);

/* -- the server as a whole --------------------------------------------------------------------- */
/** Stop (connections are refused) or take up listening, on the same port: a restart, with
 *  ws_server_drop(server, 0). */
void ws_server_listen(struct ws_server *server, bool is_listening);
/** Call back on the server's thread after so many ms, under its lock; dropped at stop. */
void ws_server_after(struct ws_server *server, unsigned ms,
                     void (*run)(void *user, struct ws_server *server), void *user);

#endif
