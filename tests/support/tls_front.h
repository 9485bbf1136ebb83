/*
 * tls_front.h — TLS and HTTP/2 before a server of a test: nghttpx with certificates of an authority
 * made for the test, which SSL_CERT_FILE names. From the test's thread.
 */
#ifndef SMA_TEST_TLS_FRONT_H
#define SMA_TEST_TLS_FRONT_H

#include "sma/base.h"

#include <sys/types.h>

struct tls_front
{
    pid_t pid;
    int port;
    char url[64], log[128]; /* "https://127.0.0.1:PORT" */
};

/** Makes the authorities "ca", which is trusted from here on, and "stranger", and the certificates
 *  "good" for these hosts, e.g. "IP:127.0.0.1,DNS:a.test", and "other" for another host. */
void tls_front_init(const char *hosts);
void tls_front_fini(void);
/** Trust this one alone: "ca", "stranger", or one that is not there. */
void tls_front_trust(const char *authority);

/** cert: "good" or "other". */
void tls_front_start(struct tls_front *front, int backend_port, const char *cert);
void tls_front_stop(const struct tls_front *front);
/** Requests that came by HTTP/2, and by how many connections. */
size_t tls_front_requests(const struct tls_front *front, size_t *ret_connections);

#endif
