/*
 * address.h — may a page be fetched from this address? Only from what is public.
 *
 * A name that strangers own may point anywhere: at this machine, at its neighbours, at the address
 * where a cloud gives out keys. So the address that is really connected to is looked up here.
 * IPv4 is forbidden by a list of networks; IPv6 is allowed by one network (2000::/3) with a list of
 * exceptions. An IPv4 address inside of an IPv6 one (mapped, NAT64, ISATAP) is judged as itself;
 * 6to4 and Teredo are over and forbidden whole.
 * Source: IANA special-purpose address registries (RFC 6890), RFC 6052, RFC 5214; Azure's
 *         168.63.129.16 and Alibaba's 100.100.100.200 by their documents.
 * Threads: any; no state.
 */
#ifndef SMA_PAGE_ADDRESS_H
#define SMA_PAGE_ADDRESS_H

struct sockaddr;

/** Why nothing is fetched from there, in words ("a private network"); NULL: it is public. Families
 *  other than IPv4 and IPv6 are forbidden. */
const char *sma_address_forbidden(const struct sockaddr *address);

#endif
