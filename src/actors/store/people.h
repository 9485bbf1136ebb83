/*
 * people.h — who may: rules, roles, pairing, strangers, where people can be reached. Part of the
 * store; its thread.
 */
#ifndef SMA_STORE_PEOPLE_H
#define SMA_STORE_PEOPLE_H

#include "runtime/access/access.h"
#include "runtime/access/pairing.h"
#include "store.h"

/** Read the rules of every adapter from the configuration; what cannot be read is logged and the
 *  defaults hold. */
SMA_CHECKED enum sma_err sma_store_load_rules(struct sma_store *store);
/** Decide about an event. chat may be NULL when there is no record of it yet. */
SMA_CHECKED enum sma_err sma_store_judge(struct sma_store *store, const struct store_chat *chat,
                                         const struct sma_ingress *in,
                                         struct sma_access_outcome *ret_outcome);
/** What happens on this route's platform to messages that come late. */
struct sma_access_backlog sma_store_backlog(const struct sma_store *store,
                                            const struct sma_route *route);
/** The event names an id by which an older project knows its author: what is kept under that goes
 *  over to him. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_adopt(struct sma_store *store, const struct sma_ingress *in);
/** Remember, in the open transaction, what the outcome says about the person. */
SMA_CHECKED enum sma_err sma_store_admit(struct sma_store *store, const struct store_chat *chat,
                                         const struct sma_route *route,
                                         const struct sma_access_outcome *outcome);
/** What the platform said of a person, for ten minutes. UNKNOWN is not kept. */
void sma_store_note_role(struct sma_store *store, const struct store_chat *chat,
                         struct sma_str user_id, enum sma_role role);
/** A slice of retention: looks at `budget` records from where the last slice ended, and removes in
 *  the open transaction what is over. *ret_is_round: all were looked at; the next slice begins
 *  anew. After the first round of a start a line of the log says how to become owner, if nobody is.
 *  @return OK | IO | CORRUPT | NOMEM | NOSPACE */
SMA_CHECKED enum sma_err sma_store_people_keep(struct sma_store *store, uint32_t budget,
                                               bool *ret_is_round);

/** Somebody is owner, by configuration or pairing. Reads up to 256 records; what it cannot read
 *  counts as one. */
bool sma_store_has_owner(struct sma_store *store);

/* -- people.c, paired.c, pairing.c, let_in.c, known.c ------------------------------------------ */
/** What the author of this route may do in this chat: by configuration, pairing and the platform's
 *  role as it is remembered. chat may be NULL. Slices of the route are enough; the adapter of it is
 *  not looked at. */
enum sma_standing sma_store_standing(struct sma_store *store, const struct store_chat *chat,
                                     const struct sma_route *route, bool is_group);
/** The platform's word on this person in this group is remembered, or would change nothing. false:
 *  ask PREPARE. */
bool sma_store_role_is_known(struct sma_store *store, const struct store_chat *chat,
                             const struct sma_route *route, bool is_group);
/** Where owners, then administrators, can be told in private: at most max routes, none of them of
 *  the chat not_chat_key. Slices point into storage. @return how many */
uint32_t sma_store_approver_routes(struct sma_store *store, struct sma_str not_chat_key,
                                   struct sma_route *ret_routes, uint32_t max,
                                   struct sma_buf *storage);
/** DECIDE of kind PAIRING. Takes *question; DECIDED follows the commit. */
void sma_store_decide_pairing(struct sma_store *store, struct sma_msg **question);
/** A stranger wrote: show a code. In private the message is kept for his pairing; in a group the
 *  code is the group's. is_whole: it may run as it is kept. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_ask_pairing(struct sma_store *store, struct store_chat *chat,
                                               const struct sma_ingress *in, uint64_t seq,
                                               bool is_whole);
/** Say to a stranger that he may not talk here; once in a while. Inside the transaction. */
SMA_CHECKED enum sma_err sma_store_stranger_notice(struct sma_store *store, struct store_chat *chat,
                                                   const struct sma_ingress *in, uint64_t seq);
/** An owner writes "pair CODE" in private: not for the model. */
SMA_CHECKED enum sma_err sma_store_is_pairing_answer(struct sma_store *store,
                                                     const struct sma_ingress *in,
                                                     bool *ret_is_answer);
/** Carry it out and answer. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_answer_pairing(struct sma_store *store,
                                                  const struct sma_ingress *in, uint64_t seq);
/* -- program_held.c ---------------------------------------------------------------------------- */
/** MCP_HELD: owners are asked once for each digest; the answer says whether one has accepted it. */
void sma_store_program_held(struct sma_store *store, struct sma_msg *question);
/** Is it the code of such a question, of the newest one or of the one before? @return OK | IO |
 *  CORRUPT | NOMEM */
SMA_CHECKED enum sma_err sma_store_program_has_code(struct sma_store *store, const char *code,
                                                    bool *ret_has);
/** An owner answers it; told him. In the open transaction. */
SMA_CHECKED enum sma_err sma_store_program_answer(struct sma_store *store,
                                                  const struct sma_ingress *in, uint64_t seq,
                                                  const char *code, bool is_accepted);
/** A button was pressed. *ret_is_program: of such a question; what is said of it is in
 *  scratch.text. *ret_is_ruled: and it counts. *ret_is_told: its card says so. In the open
 *  transaction. */
SMA_CHECKED enum sma_err sma_store_program_press(struct sma_store *store,
                                                 const struct sma_ingress *in, bool *ret_is_program,
                                                 bool *ret_is_ruled, bool *ret_is_told);

/** The owner's side has let this group in: only there a platform's word about a role counts. In
 *  doubt false. */
bool sma_store_is_let_in(struct sma_store *store, const struct sma_route *route);
/** The group of this chat goes on under another chat id: what was said of it holds there too. In
 *  the open transaction. */
SMA_CHECKED enum sma_err sma_store_group_move(struct sma_store *store, struct sma_str channel,
                                              struct sma_str from_chat_id,
                                              struct sma_str to_chat_id);
/** At the first start of a version that pairs: whoever was there before is a member. */
SMA_CHECKED enum sma_err sma_store_import_people(struct sma_store *store, struct sma_error *error);
/** A message was accepted, in the open transaction: remember where its author can be reached. */
SMA_CHECKED enum sma_err sma_store_note_person(struct sma_store *store,
                                               const struct store_chat *chat,
                                               const struct sma_ingress *in);

/* -- stranger.c
 * -------------------------------------------------------------------------------------------------
 * Bounds of what is kept of strangers: SMA_STRANGER_TEXT_BYTES_MAX of a message,
 * SMA_STRANGER_MESSAGE_COUNT_MAX messages of one in a day, SMA_STRANGERS_MESSAGE_COUNT_MAX of all
 * of them, and SMA_STRANGERS_CHAT_COUNT_MAX new chats. A stranger here: nobody by himself, in
 * private where `access` does not let everybody talk, or in a group that is not let in. */
struct store_stranger
{
    enum sma_stranger_fate fate;
    struct sma_ingress in; /* what is recorded; slices in the message and in text */
    char text[SMA_STRANGER_TEXT_BYTES_MAX + 16];
};
/** Count a stranger's message, and what is kept of it. */
void sma_store_bound_stranger(struct sma_store *store, const struct sma_ingress *in,
                              struct store_stranger *ret_said);
/** Was it written by a stranger as above? @return OK | IO | CORRUPT | NOMEM */
SMA_CHECKED enum sma_err sma_store_is_stranger(struct sma_store *store,
                                               const struct sma_ingress *in, bool *ret_is_stranger);
/** May a chat that is not known get a record? Counted. A private one of a stranger is noted as
 *  such, in the open transaction. */
SMA_CHECKED enum sma_err sma_store_may_open_chat(struct sma_store *store,
                                                 const struct sma_ingress *in, bool *ret_may);

/* -- strangers_keep.c: people who were never paired leave (retention.strangerDays,
 * retention.strangers) */
/** The stage of a pass begins. now_ms: wall clock; 0 = not believed: nobody leaves. */
void sma_store_strangers_begin(struct sma_store *store, int64_t now_ms);
/** A slice between batches, in transactions of its own. @return OK | IO | NOMEM | NOSPACE: the pass
 *  is given up */
SMA_CHECKED enum sma_err sma_store_strangers_slice(struct sma_store *store, bool *ret_is_over);

#endif
