/*
 * feishu_storm.h — one service in bad weather between it and Feishu: what is said in it, and that
 * all is answered once. The platform waits a second for an acknowledgement and repeats 1000 times
 * faster than in life; pings go every second.
 */
#ifndef SMA_TEST_FEISHU_STORM_H
#define SMA_TEST_FEISHU_STORM_H

#include "feishu_world.h"

#include "support/check.h"
#include "support/patience.h"

#define RECOVERY_MS (5000 * PATIENCE)

extern struct platform_world storm_world;
extern const char *storm_binary;
extern char storm_part[96]; /* of the answer to the newest message */

/** From main's arguments: BINARY FAKE_MODEL. Limits of both sides are off. */
void storm_begin(int argc, char **argv);
void storm_end(void);
/** Commands of the platform. */
void storm_tell(const char *what);
void storm_tell_number(const char *what, const char *member, int number);
void storm_set_fault(const char *method, const char *kind, int times);
void storm_set_status(const char *method, int status, int code, int seconds, int times);
void storm_break_connections(const char *how, int code);
/** Until the service has met what this counter of the platform counts down. */
void storm_await_none(const char *counter);
/** Ann says one numbered message. */
void storm_say_one(void);
/** Say something; faults that wait for it end the weather: from then on it must be answered in
 *  time. */
void storm_talk_through(void);
/** One message into the gap; the connection is back in time (one more than `opened`); one more
 *  message. */
void storm_talk_through_loss(int64_t opened);
/** Every message of the storm is answered, once. */
void storm_expect_all_answered_once(void);
/** A service that has seen no weather yet: connections that die one after the other are tried more
 *  and more slowly. */
void storm_start_afresh(void);

#define RUN_IN_STORM(test_case)           \
    do {                                  \
        RUN(test_case);                   \
        storm_expect_all_answered_once(); \
    } while (0)

#endif
