/*
 * access.h — may this event start a run? Pure functions of the rules, the event and what is
 * remembered.
 *
 * Invariants: the same rules, event and facts give the same outcome; nothing is remembered here.
 *             What a rule needs to remember (who was first, whose window is open) lives in state.db
 *             and changes only together with the transaction that accepts the event, so a failed
 *             commit undoes it by itself.
 * Order:      channels behind a token or at the machine run. In a private chat members and more
 * run; what a stranger
 *             writes depends on `access`: he is paired first, or may talk, or is refused. In a
 *             group a mention or a reply is explicit; without one the message counts only inside
 *             its author's follow-up window and when it reads as meant for the bot
 *             (sma_access_is_meant). In a group that the owner's side has let in may: the first who
 *             addressed the bot there, those named in the configuration, owners and administrators
 *             (runtime/access/roles.h, pairing), administrators of the chat by the platform's word;
 *             with groupAccess "anyone" everybody. Nobody gets in by a command. In any other group
 *             the platform's word counts for nothing: everybody is what he is by himself, so
 *             members and more are answered and `access` says what becomes of strangers, as in
 *             private.
 * Threads:    any; no state.
 */
#ifndef SMA_RUNTIME_ACCESS_H
#define SMA_RUNTIME_ACCESS_H

#include "runtime/access/roles.h"
#include "sma/base.h"
#include "sma/param.h"
#include "sma/reasons.h"

/* -- rules of one adapter ---------------------------------------------------------------------- */
struct sma_access_rules;
extern const struct sma_params sma_access_params; /* rows of every platform that people write on */

/* `access`: what a stranger's private message leads to. */
enum sma_access_opening
{
    /* the default: a code is shown, which somebody on the owner's side confirms */
    SMA_ACCESS_OPEN_PAIRED,
    SMA_ACCESS_OPEN_ANYONE, /* everybody may talk; that alone gives nobody tools */
    SMA_ACCESS_OPEN_LIST,   /* those named are members, others are refused */
};

/**
 * Read `access` ("paired" default, "anyone", or a list of user ids), `groupAccess`
 * ("initiator_or_admin" default, "anyone"), `groupGreeting` ("on" default, "off"),
 * `followupWindowMs` (0 = no windows), `adminUserIds`, `groups` (chat ids), `backlog` ("answer"
 * default, "record"), `backlogMaxS` and `backlogLateS` from an adapter's block of the
 * configuration. Empty json: the defaults.
 * @ret_rules  destroy with sma_access_rules_destroy
 * @return OK | BADINPUT (*error names the member) | NOMEM
 */
SMA_CHECKED enum sma_err sma_access_rules_parse(struct sma_str json,
                                                struct sma_access_rules **ret_rules,
                                                struct sma_error *error);
void sma_access_rules_destroy(struct sma_access_rules *rules); /* accepts NULL */
/** Length of a follow-up window; 0 = there are none. */
int64_t sma_access_followup_ms(const struct sma_access_rules *rules);
/** What becomes of messages that come late. */
struct sma_access_backlog
{
    /* `backlog` "record": what is dated before the program's start is recorded only */
    bool is_recorded;
    int64_t max_ms; /* `backlogMaxS`: what is older is never answered */
    /* `backlogLateS`: nor what is older than this, when a newer message of the chat is answered */
    int64_t late_ms;
};
struct sma_access_backlog sma_access_backlog(const struct sma_access_rules *rules);
enum sma_access_opening sma_access_opening(const struct sma_access_rules *rules);
/* What a group is told when the bot has come into it: whom it answers there. */
enum sma_access_welcome
{
    SMA_ACCESS_WELCOME_NONE,   /* `groupGreeting` "off": nothing is said */
    SMA_ACCESS_WELCOME_CLOSED, /* no stranger, until the owner's side lets it in */
    SMA_ACCESS_WELCOME_FIRST,  /* the first, and administrators */
    SMA_ACCESS_WELCOME_ANYONE,
};
enum sma_access_welcome sma_access_welcome(const struct sma_access_rules *rules, bool is_let_in);
/** The list of `access` names this person, by user id or by actor key. false when `access` is no
 *  list. */
bool sma_access_is_listed(const struct sma_access_rules *rules, struct sma_str channel,
                          struct sma_str user_id);
/** adminUserIds names this person: an administrator of every group of this platform. */
bool sma_access_is_group_admin(const struct sma_access_rules *rules, struct sma_str user_id);
/** `groups` names this chat: let in by the configuration. */
bool sma_access_is_listed_group(const struct sma_access_rules *rules, struct sma_str chat_id);

/* -- one event --------------------------------------------------------------------------------- */
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
    struct sma_str channel, chat_type, user_id, text;
    enum sma_access_address address;
    bool is_group;
    bool is_not_own;     /* forwarded, made by another program, or changed since it was sent */
    bool is_record_only; /* backlog: the adapter asks for no answer */
    bool is_note;        /* join, leave, edit, button: never runs */
    bool is_command;     /* addressed by itself */
    bool is_help;        /* a command that everybody may give in a group */
    bool is_status; /* a command that changes nothing: everybody's where nobody has been first */
};

/* As the platform says; the same order as enum sma_role of messages.h. */
enum sma_access_role
{
    SMA_ACCESS_ROLE_UNKNOWN,
    SMA_ACCESS_ROLE_MEMBER,
    SMA_ACCESS_ROLE_ADMIN,
};

/* What is remembered of the chat and the person. */
struct sma_access_facts
{
    bool has_window;          /* the person's follow-up window is open */
    struct sma_str initiator; /* user id of who addressed the bot first here; empty = nobody yet */
    bool is_role_known;
    enum sma_access_role role;
    /* by configuration and pairing, without the platform's role */
    enum sma_access_standing standing;
    bool alias_is_admin; /* adminUserIds names the person by an older id */
    bool is_rejected;    /* somebody on the owner's side has said no: no further code is shown */
    /* of a group */
    bool is_let_in;         /* by the owner's side: only there the platform's word counts */
    bool is_group_rejected; /* an owner has said no to it */
};

enum sma_access_decision
{
    SMA_ACCESS_RUN,
    SMA_ACCESS_RECORD, /* claimed and written to history, not answered */
    SMA_ACCESS_REFUSE, /* claimed and recorded; the refusal may be told */
    /* claimed and recorded; a code is shown; what came in private runs when that is confirmed */
    SMA_ACCESS_PAIR,
    /* accepted; runs when the platform says that the person is an administrator */
    SMA_ACCESS_ASK_ROLE,
};
struct sma_access_outcome
{
    enum sma_access_decision decision;
    enum sma_reason reason; /* why it is not answered; NONE of RUN and ASK_ROLE */
    bool opens_window;      /* with RUN at once, with ASK_ROLE when the role is good */
    bool becomes_initiator; /* with RUN */
    bool lets_in; /* with RUN: somebody of the owner's side has addressed the bot in this group */
    bool is_outside; /* of a group that is not let in, where strangers are not answered */
    /* with RUN: whether he is an administrator is asked first, for what he may have done; no answer
     * is none */
    bool learns_role;
};

/**
 * Decide about one event.
 * Thread: any.  Blocks: never.  Allocates: no.
 */
struct sma_access_outcome sma_access_decide(const struct sma_access_rules *rules,
                                            const struct sma_access_event *event,
                                            const struct sma_access_facts *facts);

/**
 * The intent gate: does a message that does not address the bot, inside its author's window, read
 * as meant for it? Leading "@attach" lines are not looked at. Words in English and Chinese, as the
 * protocols/project.md §5.2 lists them.
 */
bool sma_access_is_meant(struct sma_str text);

#endif
