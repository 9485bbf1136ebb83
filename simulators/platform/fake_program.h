/*
 * fake_program.h — a simulated platform as a program: it serves until SIGTERM or Ctrl-C, says how a
 * bot gets to it, and with --talk lets whoever sits at the terminal be the person the bot talks to;
 * with --play it plays a script instead (play/play.h).
 *
 * The first line it prints is "PORT n"; nothing of what follows is for programs.
 */
#ifndef FAKE_PROGRAM_H
#define FAKE_PROGRAM_H

#include "platform/fake_platform.h"

struct play_platform;
struct fake_program
{
    const char *name;     /* "telegram" */
    const char *commands; /* what it can be told, for --help */
    void *(*start)(int port);
    void (*stop)(void *fake);
    struct platform_client (*client)(void *fake);
    const char *const
        *people; /* commands that make the people and chats there are at start; ends with NULL */
    const char *person; /* members of a command that say who speaks where: {"chat":..,"user":..} */
    const char *ship_json; /* what goes into "adapters" of ship.json; "@" stands for the address */
    const char *env;       /* lines of .env */
    const struct play_platform *play; /* what scripts have to know of it: play/play.h */
};
/** @return exit status */
int fake_program_main(int argc, char **argv, const struct fake_program *program);
/** Catch what ends a program, before its threads begin. @return a descriptor that is readable then
 *  */
int fake_program_end_fd(void);

#endif
