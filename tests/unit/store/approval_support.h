/* What the tests of approvals share: requests, presses, decisions, and who is who in the chats of
 * store_support.h. */
#ifndef SMA_TEST_APPROVAL_SUPPORT_H
#define SMA_TEST_APPROVAL_SUPPORT_H

#include "store_support.h"

#include "actors/store/consent_priv.h"
#include "runtime/agent/codec.h"

#define PEOPLE                                                                                \
    "{\"roles\":{\"owner\":[\"test:boss\"],\"admin\":[\"test:adm\"],\"member\":[\"test:u1\"," \
    "\"test:u2\"]}}"
#define CHAT_A "test:chat:a"

void open_people(struct world *world);

/* -- parking ----------------------------------------------------------------------------------- */
struct item
{
    const char *tool, *title, *grant_rule;
    bool is_for_all; /* who asked may decide too */
    bool is_owner_only;
};
extern const char *item_program_rule; /* of every item that is parked from now on; "" */
void park_step(struct world *world, uint64_t seq, uint32_t number, const struct item *items,
               uint32_t count);

static const struct item one_command[] = {{"exec_shell", "git push", "=git push", false, false}};
static const struct item one_send[] = {{"chat_contact_send", "to Bob", NULL, true, false}};
static const struct item two_commands[] = {{"exec_shell", "git push", "=git push", false, false},
                                           {"exec_shell", "make all", "=make all", false, false}};

/* A message of this person comes, runs, and parks with these items. @return its seq */
uint64_t park_in(struct world *world, const struct saying *saying, const struct item *items,
                 uint32_t count);
uint64_t park(struct world *world, const char *chat, const char *id, const struct item *items,
              uint32_t count);

/* -- cards ------------------------------------------------------------------------------------- */
/* The next DELIVER, which is a card of this kind; receipted as sent under the id "m<call>". */
void take_card(struct world *world, uint8_t intent, const char *chat_key,
               struct sma_card *ret_card);

/* Everything that waits to be delivered is, cards among it, under the ids "m<call>" and the date of
 * the platform, 0 = it says none. */
#define CARD "m40" /* the card in the chat that it is about; "m41" ... at homes */
void show_all_at(struct world *world, int64_t sent_ms);
void show_all(struct world *world);

/* The data of a button: item 0 = all. */
const char *button(const struct world *world, const char *id, uint32_t item,
                   enum sma_card_action action);

/* Press; the notice, in static memory. */
const char *press_as(struct world *world, const struct saying *saying);
const char *press(struct world *world, const char *chat, const char *user, const char *event,
                  const char *data);

/* The id of the oldest open request, in static memory. */
const char *open_id(const struct world *world);

/* -- decisions --------------------------------------------------------------------------------- */
int decide(struct world *world, const struct sma_decide *decide, char text[512]);
int decide_all(struct world *world, const char *id, bool is_approved);

/* The resumed RUN of this seq, with its DECISION step decoded: "1:yes:words;2:no:reason;". */
const char *resumed(struct world *world, uint64_t seq);

/* The decision of the first call in the order that waits: was it an owner who agreed? */
bool resumed_by_owner(struct world *world, uint64_t seq);

/* The JSON of a list, in static memory. */
const char *query(struct world *world, uint8_t kind, const char *chat_key);
bool has_projection(const struct world *world, const char *id);

/* How many permissions the next run of this chat has. */
unsigned count_grants(struct world *world, const char *chat, const char *id, char rule[64]);

#endif
