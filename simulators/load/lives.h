/*
 * lives.h — processes of a service that are killed, and the answers that may stand twice for it.
 *
 * Sending has no key at Telegram, so an answer may show twice in one case: the process was killed
 * after the platform took it and before the receipt was stored. Such a pair is told from a broken
 * promise by its times: the first stands at the end of a life that was killed, the second in a
 * later one.
 */
#ifndef SMA_LOAD_LIVES_H
#define SMA_LOAD_LIVES_H

#include "platform/fake_platform.h"

/* One process of the service, in monotonic nanoseconds. */
struct life
{
    uint64_t start_ns, end_ns;
    bool is_killed; /* false: it was asked to end, and did */
};

/** May the same answer stand at both times? */
bool lives_are_window(const struct life *lives, size_t count, uint64_t first_ns,
                      uint64_t second_ns);
/** A life has ended: let the platform read what it had still sent, so that it is not taken for the
 *  next one's. */
void lives_catch_up(const struct platform_client *platform);

#endif
