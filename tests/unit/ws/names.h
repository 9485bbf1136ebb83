/*
 * names.h — the test program's own getaddrinfo, so that no test asks a name server:
 *   two.test        127.0.0.2, then 127.0.0.1
 *   *hang.test      does not return before names_release, one a call
 *   *.proxied.test  ends the test: the proxy looks it up
 *   *.invalid       unknown
 * Everything else goes to the C library.
 */
#ifndef SMA_TEST_WS_NAMES_H
#define SMA_TEST_WS_NAMES_H

void names_release(void);
/** Look-ups that hang now. */
unsigned names_hanging(void);

#endif
