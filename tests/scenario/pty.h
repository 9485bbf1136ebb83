/*
 * pty.h — a program on a pseudo terminal, and a person in front of it: reads until something is on
 * the screen, then types. For scenario tests.
 */
#ifndef SMA_TEST_PTY_H
#define SMA_TEST_PTY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct pty
{
    pid_t pid;
    int fd;
    size_t seen; /* everything before it has been waited for */
    size_t len;
    char text[256 * 1024]; /* all that was shown */
};

/** Start it. `before` runs in the child; NULL: nothing. */
void pty_start(struct pty *pty, char *const *argv, void (*before)(void));
/** Until `part` is shown behind what was waited for before. In vain it ends the test. @return where
 *  it begins */
const char *pty_await(struct pty *pty, const char *part);
/** Bytes as keys send them. */
void pty_press(struct pty *pty, const char *bytes);
/** Await the question, then a line. */
void pty_answer(struct pty *pty, const char *question, const char *line);
/** Is it anywhere on the screen, so far? */
bool pty_has(const struct pty *pty, const char *part);
/** Read until it ends. @return exit status, or 128 + signal */
int pty_end(struct pty *pty);

#endif
