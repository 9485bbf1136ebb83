/*
 * people_support.h — a project where strangers are paired first and "boss" is the owner: writing as
 * somebody, the code that a chat is shown, the owner's answer, and what is known of people.
 */
#ifndef SMA_TEST_PEOPLE_SUPPORT_H
#define SMA_TEST_PEOPLE_SUPPORT_H

#include "runtime/approval/card.h"
#include "store_support.h"

#include "actors/store/people_priv.h"

#include <jansson.h>

/* In a private chat of the person's own. */
int write_as(struct world *world, const char *who, const char *id, const char *text);
int command_as(struct world *world, const char *who, const char *id, enum sma_control control);

/* The text of the next delivery, which goes to this chat; it is delivered. Of a card: what its
 * buttons say, Approve and Refuse. */
extern char told_buttons[2][SMA_CARD_DATA_BYTES_MAX + 1];
const char *told(struct world *world, const char *who);

/* The code in a notice, in static memory. */
const char *code_in(const char *text);

struct decision
{
    const char *id;
    const char *user; /* NULL: by the API */
    bool is_refused;
    enum sma_standing standing;
};

/* Status of the answer; its text in static memory. */
extern char decided_text[256];
int decide_person(struct world *world, const struct decision *decision);
int approve(struct world *world, const char *id);

/* What SMA_QUERY_PAIRINGS says, in static memory. */
const char *listed(struct world *world);
enum sma_standing standing_of(struct world *world, const char *who);
void start_paired(struct world *world);

#endif
