/*
 * actor_world.h — the Telegram adapter on its thread, between the simulated platform and a core that does as it is told.
 *
 * The dispatcher is the real one. Store, agent, log and an HTTP adapter are stand-ins: they remember what they were
 * asked, and a test gives them orders. Threads: the test's; everything here locks.
 */
#ifndef SMA_TEST_TELEGRAM_ACTOR_WORLD_H
#define SMA_TEST_TELEGRAM_ACTOR_WORLD_H

#include "fakes/fake_telegram.h"
#include "sma/messages.h"
#include "support/check.h"
#include "support/patience.h"

#define WORLD_SECRET "0123456789abcdef-secret"
#define WORLD_ADA 501 /* people of every world: private chats with the bot */
#define WORLD_BOB 502
#define WORLD_GROUP (-1001)

extern struct telegram world_platform;
extern char world_dir[200];      /* the project */
extern int64_t world_cursor;     /* what the store knows as telegram.offset at start; 0 = nothing */
extern const char *world_secret; /* bytes the log must never show; set by world_open */

/** The platform alone, for what is to be there before the adapter starts. world_open makes one if there is none. */
void world_make_platform(void);
/** Everything starts; members: further members of adapters.telegram, e.g. ",\"mode\":\"webhook\"". */
void world_open(const char *members);
void world_stop(void);  /* orderly; checks the exit status, and that no log line held the token */
void world_clean(void); /* removes the project */
void world_close(void); /* both */
/** The project alone, for files that are to be there before. world_open makes one if there is none. */
void world_make_project(void);

/* Wait for something, with patience. */
#define WORLD_WAIT(condition)                                                                      \
    do {                                                                                           \
        for (int world_ms_ = 0; !(condition); world_ms_++) {                                       \
            if (world_ms_ >= PATIENCE_AWAIT_MS) {                                                  \
                fprintf(stderr, "%s:%d: waited in vain for %s\n", __FILE__, __LINE__, #condition); \
                exit(1);                                                                           \
            }                                                                                      \
            world_pause();                                                                         \
        }                                                                                          \
    } while (0)
void world_pause(void);       /* one look's time */
void world_rest(unsigned ms); /* long enough to see that nothing happens */

/* -- the store ---------------------------------------------------------------------------------------------------- */
struct world_event
{
    char text[256], chat_key[96], event_key[64], migrated_from[96], preparation[1024];
    int64_t cursor;
    uint8_t kind, control, addressed;
    bool is_record_only, is_group;
    uint64_t body_hash;
};
size_t world_event_count(void);
struct world_event world_event_at(size_t index);
/** How many events had this text. */
size_t world_event_count_of(const char *text);
void world_refuse(size_t skip,
                  size_t count);   /* let `skip` events pass, refuse the `count` after them */
void world_conflict(size_t count); /* say of that many events that another was known by their key */
void world_hold(bool is_held);     /* answer nothing; false answers what waits */
/** From now on presses are answered with this verdict and these words (kept by the caller). */
void world_answer_presses(enum sma_verdict verdict, const char *notice);
/** Of the deliveries that follow; enum sma_intent. */
void world_set_intent(uint8_t intent);

/** Hand a delivery to the dispatcher. chat, thread, reply as text, "" = none. @return its outbox id */
uint64_t world_deliver(uint64_t seq, const char *chat, const char *thread, const char *reply,
                       const char *text);
struct world_receipt
{
    uint8_t state; /* enum sma_delivery_state */
    char error[256], platform_id[32];
};
/** Whether the row has ended. */
bool world_has_receipt(uint64_t outbox_id, struct world_receipt *ret_receipt);

/** Ask the adapter to prepare. @return the seq it goes under */
uint64_t world_prepare(const char *preparation, const char *chat, const char *user,
                       bool wants_role);
struct world_prepared
{
    uint8_t role;
    char context[2048];
};
bool world_has_prepared(uint64_t seq, struct world_prepared *ret_prepared);

/* -- the agent, the HTTP adapter, the log --------------------------------------------------------------------------- */
void world_progress(uint64_t seq, enum sma_progress_kind kind, const char *chat, const char *text);
/** @return the number of the request */
size_t world_webhook(const char *secret_header, const char *body);
bool world_has_webhook_answer(size_t number, int *ret_status, uint32_t *ret_retry_after_s);
/** How many log lines contain this. */
size_t world_log_count(const char *text);

/* -- the platform ---------------------------------------------------------------------------------------------------- */
int64_t world_say(int64_t chat, int64_t user, const char *text); /* -> message id */
int64_t world_calls(const char *method); /* requests of a method so far, lower case */
bool world_is_polled(void);
json_t *world_chat(int64_t chat); /* as "list" gives it; decref */
/** How many messages of ours with this text the chat shows. */
size_t world_shown(int64_t chat, const char *text);

#endif
