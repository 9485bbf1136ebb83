/*
 * world.h — what the threads of the crash loop share: where the service is now, when to stop, what
 * clients saw.
 */
#ifndef SMA_TEST_WORLD_H
#define SMA_TEST_WORLD_H

#include "feishu/fake_feishu.h"
#include "load/lives.h"
#include "qq/fake_qq.h"
#include "telegram/fake_telegram.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WORLD_LIFE_COUNT_MAX 100000

/* Who talks to the service. */
enum world_kind
{
    WORLD_SCRIPTED, /* the scripted platform and HTTP callers */
    WORLD_TELEGRAM, /* chats of the Bot API */
    WORLD_SOCKETS,  /* chats of Feishu and QQ */
};

struct world
{
    char dir[256]; /* private folder: project/, clients.log, saw.log */
    char project[300];
    char socket[320];        /* of the scripted platform */
    char saw[320];           /* what the scripted platform delivered */
    atomic_int port;         /* 0 while the service is down */
    atomic_bool is_stopping; /* finish what was begun, begin nothing */
    atomic_uint_fast64_t accepted, answered, failures;
    enum world_kind kind;
    struct platform_client telegram; /* the Bot API, in this process */
    struct fake_feishu *fake_feishu;
    struct fake_qq *fake_qq;
    struct platform_client feishu, qq;
    struct life *lives; /* of the main thread */
    unsigned life_count;
};

/** Append one line to clients.log. Any thread. */
void world_note(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** A promise was broken as a client sees it: printed, noted, counted. */
void world_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** A seeded generator, one per thread. */
uint64_t world_random(uint64_t *state);
void world_sleep_ms(unsigned ms);

struct caller
{
    struct world *world;
    unsigned number;
    uint64_t seed;
};
/** One HTTP caller: numbered messages, each asked again under the same messageId until it is
 *  answered. */
void *caller_run(void *caller);
/** The scripted platform: delivers each event again until it is acknowledged, then never. */
void *scripted_run(void *caller);

/** People in Telegram chats: each says the next when few of its messages are unconfirmed. */
void *telegram_run(void *caller);
/** People and chats, before telegram_run. */
void telegram_open(struct world *world);
/** Every update is confirmed. */
/** A life has ended: let the platform read what it had still sent, so that it is not taken for the
 *  next one's. */
void telegram_catch_up(struct world *world);
bool telegram_is_drained(const struct world *world);
/** When all threads have ended: clients.log and saw.log of what the chats show. */
void telegram_report(struct world *world);

/** People in the chats of Feishu and QQ; breaks a connection now and then. */
void *sockets_run(void *caller);
/** Both platforms, people and chats, before sockets_run. */
void sockets_open(struct world *world);
void sockets_close(struct world *world);
/** The two blocks of "adapters". */
void sockets_put_config(const struct world *world, char *text, size_t size);
/** Every event is acknowledged, or answered. */
bool sockets_are_drained(const struct world *world);
/** When all threads have ended: clients.log and saw.log of what the chats show. */
void sockets_report(struct world *world);

#endif
