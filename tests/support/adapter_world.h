/*
 * adapter_world.h — one adapter on its thread, between a platform and a core that does as it is
 * told.
 *
 * The dispatcher is the real one. Store, agent, log and an HTTP adapter are stand-ins: they
 * remember what they were asked, and a test gives them orders. What is one platform's own (its
 * routes, its configuration, its cursors) comes in struct adapter_world from actor_world.c of that
 * platform, which also defines world_open.
 * Threads: the test's; everything here locks.
 */
#ifndef SMA_TEST_ADAPTER_WORLD_H
#define SMA_TEST_ADAPTER_WORLD_H

#include "sma/adapter.h"
#include "sma/messages.h"
#include "support/check.h"
#include "support/clock.h"
#include "support/patience.h"

#define WORLD_KEY_SIZE 160
#define WORLD_TYPE_SIZE 16

enum world_order_kind
{
    WORLD_DELIVER,
    WORLD_PREPARE,
    WORLD_PROGRESS,
    WORLD_WEBHOOK,
};
/* What a stand-in is to do. world_give copies every text; NULL = "". */
struct world_order
{
    uint8_t kind;     /* enum world_order_kind */
    uint8_t progress; /* enum sma_progress_kind */
    uint8_t intent;   /* enum sma_intent; 0 = as world_set_intent said */
    bool wants_role, wants_profile, is_repeat;
    uint32_t reply_count;
    uint32_t renderer_version, part_done_count; /* of a row that was half sent before a restart */
    bool is_interim;
    uint64_t seq;
    uint64_t id; /* of a delivery: 0 = a new row */
    const char *chat, *chat_type, *thread, *reply, *user;
    const char *text;    /* the body, of a webhook */
    const char *headers; /* whole lines */
};

/* What only the platform knows. Kept by the caller until world_end. */
struct adapter_world
{
    const struct sma_adapter_ops *ops;
    const char *config;     /* JSON of the adapter's block */
    const char *secrets[4]; /* what no log line may hold; ends with NULL */
    /* Where an order goes. No text is NULL; key and type are space for what the route points to. */
    struct sma_route (*route)(const struct world_order *order, char key[WORLD_KEY_SIZE],
                              char type[WORLD_TYPE_SIZE]);
    /* The store's cursor of that name, 0 = none. NULL: the adapter must not ask. */
    int64_t (*cursor)(struct sma_str name);
    /* Sees every event with its cursor, but for those that come while refusals are due. May be
     * NULL. */
    void (*save)(const struct sma_ingress *in);
};

extern char world_dir[200]; /* the project; "" = none yet */

/* -- the service ------------------------------------------------------------------------------- */
void world_make_project(void);
void world_remove_project(void);
/** Everything starts, with nothing remembered; makes the project when there is none. Once at a
 *  time. */
void world_start(const struct adapter_world *world);
/** Orderly; checks the exit status, and that no log line held a secret. */
void world_end(void);

/* Wait for something, with patience. */
#define WORLD_WAIT(condition)                                                                      \
    do {                                                                                           \
        for (int world_ms_ = 0; !(condition); world_ms_++) {                                       \
            if (world_ms_ >= PATIENCE_AWAIT_MS) {                                                  \
                fprintf(stderr, "%s:%d: waited in vain for %s\n", __FILE__, __LINE__, #condition); \
                world_dump();                                                                      \
                exit(1);                                                                           \
            }                                                                                      \
            world_rest(1);                                                                         \
        }                                                                                          \
    } while (0)
void world_rest(unsigned ms); /* one look's time, or long enough to see that nothing happens */
void world_dump(void);        /* the log so far, to stderr */

/* -- orders ------------------------------------------------------------------------------------ */
/** @return the outbox id of a delivery, the seq of a preparation, the number of a webhook request,
 *  0 of progress */
uint64_t world_give(const struct world_order *order);
/** Ask the adapter to prepare. @return the seq it goes under */
uint64_t world_prepare(const char *preparation, const char *chat, const char *user,
                       bool wants_role);
/** Ask it who this is. @return as world_prepare */
uint64_t world_ask_profile(const char *chat, const char *user);
void world_progress(uint64_t seq, enum sma_progress_kind kind, const char *chat, const char *text);
/** headers: lines with CR LF. @return the number of the request */
size_t world_webhook(const char *headers, const char *body);

/* -- the store --------------------------------------------------------------------------------- */
struct world_event
{
    char text[256], chat_key[96], event_key[64], message_id[96], migrated_from[96],
        preparation[1024], group_key[64];
    int64_t cursor; /* -1 = it came with none */
    uint8_t kind, control, addressed;
    bool is_record_only, is_group, is_behind;
    uint64_t body_hash;
};
size_t world_event_count(void);
struct world_event world_event_at(size_t index);
/** How many events had this text. */
size_t world_event_count_of(const char *text);
/** Let `skip` events pass, refuse the `count` after them. */
void world_refuse(size_t skip, size_t count);
void world_conflict(size_t count); /* say of that many events that another was known by their key */
void world_hold(bool is_held);     /* answer nothing; false answers what waits */
/** From now on presses are answered with this verdict and these words (kept by the caller). */
void world_answer_presses(enum sma_verdict verdict, const char *notice);
/** Of the deliveries that follow; enum sma_intent. */
void world_set_intent(uint8_t intent);

struct world_receipt
{
    uint8_t state;   /* enum sma_delivery_state */
    bool is_refused; /* the person is told that the answer is refused */
    char error[300], platform_id[64];
};
/** Whether the row has ended. */
bool world_has_receipt(uint64_t outbox_id, struct world_receipt *ret_receipt);

struct world_prepared
{
    uint8_t role;
    char context[2048], user_name[128];
    char profile[1024];
    char parts[2048]; /* "image:<path>|<name>|<type>; ..." */
};
bool world_has_prepared(uint64_t seq, struct world_prepared *ret_prepared);

/* -- the HTTP adapter, the log ----------------------------------------------------------------- */
struct world_answer
{
    int status;
    uint32_t retry_after_s;
    char body[1024];
};
bool world_has_webhook_answer(size_t number, struct world_answer *ret_answer);
/** How many log lines contain this. */
size_t world_log_count(const char *text);
/** Whether status shows a trouble of the adapter that contains this; "" = any. */
bool world_status_shows(const char *words);

#endif
