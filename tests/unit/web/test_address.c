/*
 * Aim: address.h: nothing is fetched from an address that is not public, in whatever form it comes.
 * Method: the first and the last address of every special network, and their neighbours outside;
 * IPv4 inside of IPv6 in all its forms.
 */
#include "page/address.h"
#include "support/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

static const char *judge(const char *text)
{
    struct sockaddr_storage room = {.ss_family = AF_UNSPEC};
    struct sockaddr_in *in = (struct sockaddr_in *)&room;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&room;
    if (inet_pton(AF_INET, text, &in->sin_addr) == 1)
        in->sin_family = AF_INET;
    else if (inet_pton(AF_INET6, text, &in6->sin6_addr) == 1)
        in6->sin6_family = AF_INET6;
    CHECK(room.ss_family != AF_UNSPEC);
    return sma_address_forbidden((const struct sockaddr *)&room);
}

static void expect(const char *address, bool is_forbidden)
{
    if ((judge(address) != NULL) != is_forbidden)
        fprintf(stderr, "%s: %s\n", address, judge(address) == NULL ? "public" : judge(address));
    CHECK_INT(is_forbidden, judge(address) != NULL);
}

/* The four addresses at the edges of a network; "" = there is none outside that is public. */
static const char *const networks[][4] = {
    {"", "0.0.0.0", "0.255.255.255", "1.0.0.0"},
    {"9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0"},
    {"100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0"},
    {"126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0"},
    {"168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17"},
    {"169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0"},
    {"172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0"},
    {"191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0"},
    {"192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0"},
    {"192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0"},
    {"192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0"},
    {"198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0"},
    {"198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0"},
    {"203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0"},
    {"223.255.255.255", "224.0.0.0", "255.255.255.255", ""},
    {"", "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"},
    {"2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff",
     "2001:200::"},
    {"2001:db7:ffff:ffff:ffff:ffff:ffff:ffff",
     "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"},
    {"2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     "2003::"},
    {"3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff",
     "3fff:1000::"},
    {"3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
     ""},
};

CASE(special_networks_are_forbidden_to_their_edges)
{
    for (size_t i = 0; i < SMA_COUNT_OF(networks); i++)
        for (size_t k = 0; k < 4; k++)
            if (networks[i][k][0] != '\0')
                expect(networks[i][k], k == 1 || k == 2);
}

CASE(places_that_give_out_keys_are_forbidden)
{
    static const char *const addresses[] = {"169.254.169.254", "169.254.170.2", "100.100.100.200",
                                            "168.63.129.16",   "192.0.0.192",   "fd00:ec2::254",
                                            "fe80::a9fe:a9fe", "::1",           "fd20:ce::254"};
    for (size_t i = 0; i < SMA_COUNT_OF(addresses); i++)
        expect(addresses[i], true);
}

CASE(ipv4_inside_of_ipv6_is_judged_as_itself)
{
    static const struct
    {
        const char *address;
        bool is_forbidden;
    } rows[] = {
        {"::ffff:127.0.0.1", true},
        {"::ffff:10.1.2.3", true},
        {"::ffff:93.184.216.34", false},
        {"64:ff9b::127.0.0.1", true},
        {"64:ff9b::a9fe:a9fe", true},
        {"64:ff9b::93.184.216.34", false},
        {"64:ff9b:1::93.184.216.34", true}, /* somebody's own NAT64 */
        {"::127.0.0.1", true},
        {"::93.184.216.34", true}, /* compatible: over */
        {"2002:7f00:1::", true},
        {"2002:5db8:d822::", true},
        {"2001:0:4136:e378::", true},
        {"2a00:1450::5efe:10.0.0.1", true},
        {"2a00:1450::200:5efe:192.168.0.1", true},
        {"2a00:1450::200:5efe:8.8.8.8", false},
        {"2606:4700::1111", false},
        {"fec0::1", true},
        {"ff02::1", true},
        {"fc00::1", true},
        {"fdff::1", true},
        {"fe80::1", true},
        {"febf::1", true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        expect(rows[i].address, rows[i].is_forbidden);
}

CASE(other_families_are_forbidden)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    CHECK(sma_address_forbidden((const struct sockaddr *)&address) != NULL);
}

CASE(words_say_what_it_is)
{
    CHECK_TEXT("this machine", judge("127.0.0.1"));
    CHECK_TEXT("this machine", judge("::1"));
    CHECK_TEXT("this machine", judge("::ffff:127.1.2.3"));
    CHECK_TEXT("a link-local address", judge("fe80::1"));
    CHECK_TEXT("a private network", judge("fd00::1"));
    CHECK_TEXT("a multicast address", judge("ff00::1"));
}

CASES_MAIN
