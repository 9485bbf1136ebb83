/*
 * oauth_server.h — an authorization server and the resource it guards, for tests, as strict as the
 * specifications: redirect_uri exact, PKCE checked, codes and refresh tokens good once, the
 * resource named everywhere, clients proved by the method they registered. No sockets of its own:
 * it is a hook of http_mcp, or called.
 *
 * Guards BASE/guarded; metadata in the places of RFC 9728 and 8414 (issuer BASE/as).
 */
#ifndef SMA_TEST_OAUTH_SERVER_H
#define SMA_TEST_OAUTH_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct oauth_server
{
    char base[128];
    pthread_mutex_t mutex;
    /* what is strange about it */
    bool is_of_another, has_no_s256, names_another_issuer, comes_back_as_another, has_no_metadata;
    const char *methods; /* JSON list; "" = not said */
    atomic_int pending;  /* a device's code is not entered for so many questions */
    /* what it knows */
    atomic_int clients, codes, tokens, breaches; /* tests read them while it serves */
    char redirect_uri[256], challenge[128], client_method[32], code[32], refresh[32], access[32];
    bool is_code_used;
};
void oauth_server_init(struct oauth_server *server, const char *base);
/** As http_mcp_hook; user: the server. */
char *oauth_server_hook(void *user, const char *method, const char *path, const char *head,
                        const char *body, int *ret_status, char more[1024]);
/** No token that was given is good any more; the refresh token is. */
void oauth_server_expire(struct oauth_server *server);

#endif
