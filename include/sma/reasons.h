/*
 * reasons.h — why a message was not answered: one table for the log, the metrics, traces and
 * `shipmyagent why`.
 *
 * A reason has a word (log, metrics, API), a sentence and what somebody can do about it. Words are
 * promises: they stand in people's scripts. In rows of state.db the word is kept, never the number.
 * Threads: any; the counters are relaxed atomics in static storage. Blocks: never. Allocates: no.
 */
#ifndef SMA_REASONS_H
#define SMA_REASONS_H

#include "sma/buf.h"

enum sma_reason_kind
{
    SMA_REASON_IS_IGNORED, /* nobody expects an answer to it */
    SMA_REASON_IS_REFUSED, /* somebody does, and gets none */
};

/* name, kind, word, sentence, what to do */
#define SMA_REASON_MAP(X)                                                                          \
    X(NOT_ADDRESSED, IGNORED, "not_addressed",                                                     \
      "The message was said in a group and speaks to nobody in particular.",                       \
      "Mention the bot by its @name, or reply to one of its messages. Whoever was just answered "  \
      "need not, where followupWindowMs is set.")                                                  \
    X(NOT_MEANT, IGNORED, "not_meant",                                                             \
      "The message came shortly after an answer, but does not read as meant for the bot.",         \
      "Mention the bot by its @name, or reply to one of its messages.")                            \
    X(NO_AUTHOR, IGNORED, "no_author", "The platform does not say who wrote the message.",         \
      "Write under your own name: nobody can be told apart in anonymous messages.")                \
    X(NOTE, IGNORED, "note",                                                                       \
      "It is no message, but a notice: somebody came or left, or a message was edited or "         \
      "withdrawn.",                                                                                \
      "Nothing: it is only recorded.")                                                             \
    X(RECORD_ONLY, IGNORED, "record_only", "The platform brought it for the record only.",         \
      "Send the message again if it is still wanted.")                                             \
    X(NOT_PAIRED, REFUSED, "not_paired",                                                           \
      "Its author is not known yet and was shown a code instead of an answer.",                    \
      "Run `shipmyagent pair`, then `shipmyagent pair approve CODE`; a message of a private chat " \
      "is answered then.")                                                                         \
    X(PERSON_REFUSED, REFUSED, "person_refused", "Its author was refused with `pair reject`.",     \
      "Run `shipmyagent pair approve PERSON` to let him in after all.")                            \
    X(NOT_LISTED, REFUSED, "not_listed",                                                           \
      "Its author is not in the list of `access`, and only those may talk here.",                  \
      "Add his id to adapters.<platform>.access of ship.json, or set it to \"paired\".")           \
    X(GROUP_REFUSED, REFUSED, "group_refused", "The group was refused by an owner.",               \
      "Run `shipmyagent pair approve GROUP` to let it in after all.")                              \
    X(NOT_FIRST, REFUSED, "not_first",                                                             \
      "Nobody has let this group in, and another person was first to talk to the bot in it.",      \
      "Have an owner mention the bot there, or run `shipmyagent pair approve GROUP`.")             \
    X(NOT_ADMIN, REFUSED, "not_admin",                                                             \
      "Its author is neither the first who talked to the bot in this group nor an "                \
      "administrator of it.",                                                                      \
      "Set adapters.<platform>.groupAccess to \"anyone\", or let the person in with "              \
      "`shipmyagent pair`.")                                                                       \
    X(TOO_OLD, REFUSED, "too_old", "It came too late: it is older than backlogMaxS.",              \
      "Send it again, or raise adapters.<platform>.backlogMaxS.")                                  \
    X(OVERTAKEN, REFUSED, "overtaken",                                                             \
      "It came late, and a newer message of the chat was answered before it.",                     \
      "Send it again, or raise adapters.<platform>.backlogLateS.")                                 \
    X(BEFORE_START, IGNORED, "before_start",                                                       \
      "It was sent before the service started, and backlog is \"record\".",                        \
      "Send it again, or set adapters.<platform>.backlog to \"answer\".")                          \
    X(STRANGERS_FULL, REFUSED, "strangers_full",                                                   \
      "More strangers have written today than are remembered.",                                    \
      "Let the person in by his id (permissions.roles), or wait until tomorrow.")                  \
    X(RATE, REFUSED, "rate", "Its author writes faster than limits.perPersonPerMinute.",           \
      "Wait a minute, or raise limits.perPersonPerMinute.")                                        \
    X(BUDGET, REFUSED, "budget", "A budget of tokens, cost or runs is used up.",                   \
      "See `shipmyagent status`, raise it in `budgets`, or wait until the period is over.")        \
    X(CHAT_FULL, REFUSED, "chat_full", "Too many messages of this chat or of all chats wait.",     \
      "Wait until some are answered (queue.chatWaitingMax); see `shipmyagent runs --open`.")       \
    X(QUEUE_FULL, REFUSED, "queue_full",                                                           \
      "Too many messages wait; it was not taken, and its platform brings it again.",               \
      "Wait, raise agent.concurrency or queue.waitingMax; see `shipmyagent runs --open`.")         \
    X(DISK_FULL, REFUSED, "disk_full",                                                             \
      "There is no room on the disk; it was not taken, and its platform brings it again.",         \
      "Make room on the disk of the project.")                                                     \
    X(NOT_STORED, REFUSED, "not_stored",                                                           \
      "It could not be stored; it was not taken, and its platform brings it again.",               \
      "Look for errors with `shipmyagent logs --level error`.")                                    \
    X(STOPPING, REFUSED, "stopping",                                                               \
      "The service was stopping; it was not taken, and its platform brings it again.",             \
      "Nothing: it comes again when the service runs.")                                            \
    X(OVER_LIMIT, REFUSED, "over_limit", "It is longer than a message or an id may be.",           \
      "Send it in parts.")                                                                         \
    X(DUPLICATE, IGNORED, "duplicate", "The same message came before and was taken then.",         \
      "Nothing: platforms bring messages twice. `why` tells what became of the first.")            \
    X(CONFLICT, REFUSED, "conflict", "Another message has this id already.",                       \
      "Send it under an id of its own.")                                                           \
    X(PRESS_LATE, IGNORED, "press_late",                                                           \
      "A button was pressed that decides nothing any more, or not for this person.",               \
      "See `shipmyagent approvals` for what is open.")                                             \
    X(DAMAGED, REFUSED, "damaged",                                                                 \
      "What is stored of its chat is damaged, and it was passed over.",                            \
      "See `troubles` of `shipmyagent status`, then send it again.")                               \
    X(OWN_MESSAGE, IGNORED, "own_message", "The bot wrote it itself.", "Nothing.")                 \
    X(BOT_MESSAGE, IGNORED, "bot_message", "Another bot or program wrote it.",                     \
      "Nothing: bots that answer each other never end.")                                           \
    X(OTHER_COMMAND, IGNORED, "other_command", "It is a command for another bot.",                 \
      "Write the command with this bot's name: /help@name.")                                       \
    X(UNSUPPORTED, IGNORED, "unsupported",                                                         \
      "The platform sent something of a kind that is not handled.", "Send it as text or a file.")  \
    X(MALFORMED, IGNORED, "malformed",                                                             \
      "The platform sent an event without something that every event has.",                        \
      "If it comes often, look at the platform's side: a proxy or an old gateway may cut it.")     \
    X(EMPTY, IGNORED, "empty", "There is nothing in it to answer.", "Send it as text or a file.")  \
    X(NO_ROOM, REFUSED, "no_room",                                                                 \
      "Too many events of its platform are being stored; its platform brings it again.",           \
      "Nothing, if it is rare; else look at the disk: storing takes too long.")

enum sma_reason
{
    SMA_REASON_NONE, /* it is answered, or somebody else says why not */
#define X(name, kind, word, sentence, remedy) SMA_REASON_##name,
    SMA_REASON_MAP(X)
#undef X
        SMA_REASON_COUNT
};

/* What an adapter says of an event of no interest begins with the word: SMA_WHY_BOT "from another
 * bot". */
#define SMA_WHY_OWN "own_message: "
#define SMA_WHY_BOT "bot_message: "
#define SMA_WHY_OTHER "other_command: "
#define SMA_WHY_UNSUPPORTED "unsupported: "
#define SMA_WHY_MALFORMED "malformed: "
#define SMA_WHY_EMPTY "empty: "
#define SMA_WHY_LIMIT "over_limit: "
#define SMA_WHY_NO_AUTHOR "no_author: "

struct sma_reason_text
{
    const char *word, *sentence, *remedy; /* "" of NONE */
    enum sma_reason_kind kind;
};
const struct sma_reason_text *sma_reason_text(enum sma_reason reason);
/** NONE: no such word. */
enum sma_reason sma_reason_of_word(struct sma_str word);
/** Of "word: more". *ret_more, which may be NULL: what stands behind it. Without a word of the
 *  table: UNSUPPORTED and the whole text. */
enum sma_reason sma_reason_of_why(const char *why, const char **ret_more);

/** Count one message of this platform. */
void sma_reason_count(struct sma_str platform, enum sma_reason reason);
/** Prometheus text 0.0.4: sma_platform_ignored_total{platform,reason}; what has not happened is not
 *  there. */
void sma_reasons_format(struct sma_buf *buf);
void sma_reasons_reset(void); /* tests only */

#endif
