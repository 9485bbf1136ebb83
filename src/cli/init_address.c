/* init_address.c — see init_address.h. */
#include "init_address.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool take_end(char *address, const char *end)
{
    size_t len = strlen(address), end_len = strlen(end);
    if (len <= end_len || strcasecmp(address + len - end_len, end) != 0)
        return false;
    address[len - end_len] = '\0';
    return true;
}

static bool has_scheme(const char *address)
{
    return strncasecmp(address, "http://", 7) == 0 || strncasecmp(address, "https://", 8) == 0;
}

/* This machine and names or numbers of a local network: they have no certificates. */
static bool is_near(const char *address)
{
    static const char *const near[] = {"127.", "10.", "192.168.", "localhost", "[::1]"};
    size_t host = strcspn(address, ":/");
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
        if (strncmp(address, near[i], strlen(near[i])) == 0)
            return true;
    return memchr(address, '.', host) == NULL;
}

/* "gpu-box:8000", "api.example.com/v1"; not one word, which may be anything. */
static bool may_be_host(const char *address)
{
    return strpbrk(address, ".:") != NULL && strpbrk(address, " @?#") == NULL &&
           strstr(address, "://") == NULL && address[0] != ':' && address[0] != '.';
}

static bool put_scheme(char *address, size_t room)
{
    const char *scheme = is_near(address) ? "http://" : "https://";
    size_t len = strlen(address), scheme_len = strlen(scheme);
    if (len + scheme_len >= room)
        return false;
    memmove(address + scheme_len, address, len + 1);
    memcpy(address, scheme, scheme_len);
    return true;
}

bool init_address_clean(char *address, size_t room)
{
    static const char *const ends[] = {"/", "/chat/completions", "/chat", "/models"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0];)
        i = take_end(address, ends[i]) ? 0 : i + 1;
    if (has_scheme(address))
        return strpbrk(address + 7, " ") == NULL && strlen(address) > strlen("https://");
    return may_be_host(address) && put_scheme(address, room);
}

bool init_address_other(const char *address, char *ret_other, size_t room)
{
    size_t len = strlen(address);
    bool has_version = len > 3 && strcasecmp(address + len - 3, "/v1") == 0;
    return !has_version && snprintf(ret_other, room, "%s/v1", address) < (int)room;
}
