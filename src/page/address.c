/* address.c — see address.h. */
#include "page/address.h"

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

struct network4
{
    uint8_t bytes[4];
    unsigned bits;
    const char *what;
};
struct network6
{
    uint8_t bytes[16];
    unsigned bits;
    const char *what;
};

/* clang-format off */
static const struct network4 networks4[] = {
    {{0},                   8, "this network"},
    {{10},                  8, "a private network"},
    {{100, 64},            10, "a provider's inner network"},
    {{127},                 8, "this machine"},
    {{168, 63, 129, 16},   32, "a cloud's inner address"},
    {{169, 254},           16, "a link-local address"},
    {{172, 16},            12, "a private network"},
    {{192, 0, 0},          24, "an address with a special purpose"},
    {{192, 0, 2},          24, "an address for documents"},
    {{192, 88, 99},        24, "a 6to4 relay"},
    {{192, 168},           16, "a private network"},
    {{198, 18},            15, "a network for tests"},
    {{198, 51, 100},       24, "an address for documents"},
    {{203, 0, 113},        24, "an address for documents"},
    {{224},                 4, "a multicast address"},
    {{240},                 4, "a reserved address"},
};
/* Inside of 2000::/3. */
static const struct network6 networks6[] = {
    {{0x20, 0x01},                         23, "a special address"}, /* Teredo, ORCHID */
    {{0x20, 0x01, 0x0d, 0xb8},             32, "an address for documents"},
    {{0x20, 0x02},                         16, "a 6to4 address"},
    {{0x3f, 0xff},                         20, "an address for documents"},
};
/* Outside of it: only how they are called. */
static const struct network6 others6[] = {
    {{[15] = 1},                          128, "this machine"},
    {{0},                                 128, "this network"},
    {{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, "a local NAT64 address"},
    {{0xfc},                                7, "a private network"},
    {{0xfe, 0x80},                         10, "a link-local address"},
    {{0xfe, 0xc0},                         10, "a private network"},
    {{0xff},                                8, "a multicast address"},
};
/* clang-format on */

static int is_within(const uint8_t *address, const uint8_t *network, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    if (memcmp(address, network, whole) != 0)
        return 0;
    unsigned mask = 0xff00u >> rest & 0xff;
    return rest == 0 || (address[whole] & mask) == (network[whole] & mask);
}

static const char *forbidden4(const uint8_t *bytes)
{
    for (size_t i = 0; i < COUNT_OF(networks4); i++)
        if (is_within(bytes, networks4[i].bytes, networks4[i].bits))
            return networks4[i].what;
    return NULL;
}

static const char *find6(const struct network6 *list, size_t count, const uint8_t *bytes)
{
    for (size_t i = 0; i < count; i++)
        if (is_within(bytes, list[i].bytes, list[i].bits))
            return list[i].what;
    return NULL;
}

static const char *forbidden6(const uint8_t *bytes)
{
    static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff};
    static const uint8_t nat64[16] = {0x00, 0x64, 0xff, 0x9b};
    static const uint8_t isatap[4] = {0x00, 0x00, 0x5e, 0xfe};
    if (is_within(bytes, mapped, 96) || is_within(bytes, nat64, 96))
        return forbidden4(bytes + 12);
    const char *what = find6(others6, COUNT_OF(others6), bytes);
    if (what != NULL)
        return what;
    if ((bytes[0] & 0xe0) != 0x20)
        return "a reserved address";
    what = find6(networks6, COUNT_OF(networks6), bytes);
    /* ISATAP: 0:5efe or, of a public IPv4 address, 200:5efe */
    if (what == NULL && (bytes[8] & 0xfd) == 0 && memcmp(bytes + 9, isatap + 1, 3) == 0)
        what = forbidden4(bytes + 12);
    return what;
}

const char *sma_address_forbidden(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in in;
        uint8_t bytes[4];
        memcpy(&in, address, sizeof in);
        memcpy(bytes, &in.sin_addr, sizeof bytes);
        return forbidden4(bytes);
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 in6;
        memcpy(&in6, address, sizeof in6);
        return forbidden6(in6.sin6_addr.s6_addr);
    }
    return "no address of the internet";
}
