/*
 * fake_resolver.c — put before a program with LD_PRELOAD: names are looked up here and connections
 * are only noted, so that a test sees whom a program would have talked to.
 *
 * rebind.example is 93.184.215.14 the first time and 127.0.0.1 from then on; mixed.example is a
 * public address and 10.0.0.1; v6.example is fd00::1; public.example is always the public one. Each
 * look-up and each connection is a line on standard error. No connection is made: all are refused.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PUBLIC "93.184.215.14"

struct found
{
    struct addrinfo info;
    struct sockaddr_storage address;
};

static void note(const char *what, const char *text)
{
    char line[300];
    int len = snprintf(line, sizeof line, "%s %s\n", what, text);
    (void)!write(STDERR_FILENO, line, (size_t)len);
}

static struct addrinfo *make(const char *text, const char *service, struct addrinfo *next)
{
    struct found *found = calloc(1, sizeof *found);
    if (found == NULL)
        abort();
    unsigned port = service == NULL ? 0 : (unsigned)strtoul(service, NULL, 10);
    struct sockaddr_in *in = (struct sockaddr_in *)&found->address;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&found->address;
    bool is_4 = inet_pton(AF_INET, text, &in->sin_addr) == 1;
    if (!is_4 && inet_pton(AF_INET6, text, &in6->sin6_addr) != 1)
        abort();
    found->address.ss_family = is_4 ? AF_INET : AF_INET6;
    if (is_4)
        in->sin_port = htons((uint16_t)port);
    else
        in6->sin6_port = htons((uint16_t)port);
    found->info = (struct addrinfo){.ai_family = found->address.ss_family,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_protocol = IPPROTO_TCP,
                                    .ai_addrlen = is_4 ? sizeof *in : sizeof *in6,
                                    .ai_addr = (struct sockaddr *)&found->address,
                                    .ai_next = next};
    return &found->info;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **ret_found)
{
    static unsigned count;
    (void)hints;
    note("looked up", name);
    if (strcmp(name, "rebind.example") == 0)
        *ret_found = make(count++ == 0 ? PUBLIC : "127.0.0.1", service, NULL);
    else if (strcmp(name, "mixed.example") == 0)
        *ret_found = make(PUBLIC, service, make("10.0.0.1", service, NULL));
    else if (strcmp(name, "v6.example") == 0)
        *ret_found = make("fd00::1", service, NULL);
    else if (strcmp(name, "public.example") == 0)
        *ret_found = make(PUBLIC, service, NULL);
    else
        return EAI_NONAME;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    while (list != NULL) {
        struct addrinfo *next = list->ai_next;
        free(list);
        list = next;
    }
}

int connect(int fd, const struct sockaddr *address, socklen_t len)
{
    char text[INET6_ADDRSTRLEN] = "?";
    (void)fd;
    (void)len;
    if (address->sa_family == AF_INET)
        (void)inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text,
                        sizeof text);
    else if (address->sa_family == AF_INET6)
        (void)inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text,
                        sizeof text);
    note("connects to", text);
    errno = ECONNREFUSED;
    return -1;
}
