/*
 * access.h — may this event start a run? A pure function of the rules and the event.
 *
 * Invariants: the same rules and the same event give the same decision; nothing is remembered here. What a rule needs
 *             to remember lives in the store and changes only together with the transaction that accepts the event,
 *             so a failed commit undoes it by itself.
 * Threads:    any; no state.
 */
#ifndef SMA_RUNTIME_ACCESS_H
#define SMA_RUNTIME_ACCESS_H

#include "sma/base.h"

/* How the bot was addressed; the same order as enum sma_addressed of messages.h. */
enum sma_access_address
{
    SMA_ACCESS_ADDRESS_PRIVATE,
    SMA_ACCESS_ADDRESS_MENTION,
    SMA_ACCESS_ADDRESS_REPLY,
    SMA_ACCESS_ADDRESS_NONE,
};

/* What a decision may depend on. Slices are borrowed for the call. */
struct sma_access_event
{
    struct sma_str channel, chat_type, user_id;
    enum sma_access_address address;
    bool is_record_only; /* backlog: the adapter asks for no answer */
    bool is_note;        /* join, leave, edit: never runs */
};

enum sma_access_decision
{
    SMA_ACCESS_RUN,
    SMA_ACCESS_RECORD, /* claimed and written to history, not answered */
    SMA_ACCESS_REFUSE, /* claimed, not answered, and the reason may be told */
};

/**
 * Decide about one event. Channels "api" and "cli" and private chats always run; in groups a mention or a reply runs
 * and everything else is recorded.
 * @ret_reason  constant text for logs, never NULL, "" for RUN
 * Thread: any.  Blocks: never.  Allocates: no.
 */
enum sma_access_decision sma_access_decide(const struct sma_access_event *event,
                                           const char **ret_reason);

#endif
