/*
 * init_address.h — the address of a server as people give it, and as requests need it: the part
 * that stands before /chat/completions.
 *
 * Invariants: the host and the port are as they were given; a key goes nowhere else.
 * Threads: the main thread.
 */
#ifndef SMA_CLI_INIT_ADDRESS_H
#define SMA_CLI_INIT_ADDRESS_H

#include "sma/base.h"

/** What stands at the end of an address and belongs to a request goes: "/", "/chat/completions",
 *  "/models". "host:port" gets its http:// or https://. @return whether it is an address now */
bool init_address_clean(char *address, size_t room);
/** Another one where the server may answer when there is nothing at this one: with /v1 behind it.
 *  false: there is none, or no room. */
bool init_address_other(const char *address, char *ret_other, size_t room);

#endif
