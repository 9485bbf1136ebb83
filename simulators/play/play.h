/*
 * play.h — `simulate PLATFORM --play FILE`: a script of what people, the bot, the platform and the
 * model do, played on a simulated platform with a service, a project and a model server of its
 * own. docs/notes/talks.md teaches the language.
 *
 * Threads: one; each simulated platform has its own. Waiting is for an event with a deadline.
 * Whatever is wrong ends the process with status 1, told with file and line.
 */
#ifndef SMA_PLAY_H
#define SMA_PLAY_H

#include "platform/fake_program.h"

/* Somebody or some chat a script can name. */
struct play_role
{
    const char *name, *chat, *user; /* ids as JSON; user NULL: the chat says who speaks */
    const char *key;                /* the chat as the service names it */
    const char *person;             /* the person as ship.json names him; NULL: none */
};
/* What a script has to know of one platform. */
struct play_platform
{
    const char *const *people; /* commands that make people and chats; ends with NULL */
    const struct play_role *cast;
    size_t cast_count;
    const char *groups;         /* "groups" of the adapter, as JSON: chats that are let in */
    const char *ready;          /* the counter that says that the service is connected */
    const char *queued;         /* the counter of what the platform still has to deliver */
    const char *hurry;          /* the command that brings it at once; NULL = none */
    const char *wrong;          /* of what the service did that it must not; NULL = none */
    const char *hidden;         /* the member that hides a message; NULL = none */
    const char *confirmed;      /* the member of a message whose event was confirmed; NULL = none */
    const char *const *secrets; /* what nothing the service wrote may hold; ends with NULL */
    const char *const *views;   /* commands whose answers tell what went wrong; ends with NULL */
    const char *second;         /* members of a second bot's block: id and credentials, as JSON */
    const char *const *second_account; /* commands that give its platform that account */
};

struct play_options
{
    const char *script;  /* path */
    const char *only;    /* play the cases whose names hold it; NULL = all */
    const char *program; /* shipmyagent */
    const char *project; /* whose configuration is copied; NULL = a bare one */
    long patience_ms;    /* the deadline of each wait */
};
/** @return exit status */
int play_script(const struct fake_program *program, const struct play_options *options);

#endif
