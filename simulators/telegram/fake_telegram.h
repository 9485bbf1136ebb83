/*
 * fake_telegram.h — a Bot API server for tests and benchmarks: one bot, its chats and what people
 * do in them.
 *
 * As strict as the platform where the platform is strict, and it misbehaves on demand. It runs on a
 * thread of its own inside a test (fake_telegram_start) or as the program fake_telegram, and is
 * told what people do by commands: JSON objects with a member "do" (fake_telegram_commands lists
 * them), in process or by POST /control.
 *
 * Threads: commands from any thread; one lock. Everything else happens on the server's thread.
 */
#ifndef FAKE_TELEGRAM_H
#define FAKE_TELEGRAM_H

#include "platform/fake_platform.h"

#define FAKE_TELEGRAM_TOKEN "7001234567:AAE-fake_token_of_the_test_bot_00001"
#define FAKE_TELEGRAM_BOT_ID 7001234567
#define FAKE_TELEGRAM_BOT_NAME "helper_bot"

struct fake_telegram;

/** What it can be told, as people read it. */
extern const char fake_telegram_commands[];

/** Listen on 127.0.0.1:port (0: any free one) and serve on a thread. Ends the process when it
 *  cannot. */
struct fake_telegram *fake_telegram_start(int port);
/** Stop the thread and free everything. */
void fake_telegram_stop(struct fake_telegram *fake);
int fake_telegram_port(const struct fake_telegram *fake);
/** One command; takes it over. @return its answer, {"error":...} when it could not be done; decref
 *  it. */
json_t *fake_telegram_command(struct fake_telegram *fake, json_t *command);
/** The handle for commands (platform_do and its kin). */
struct platform_client fake_telegram_client(struct fake_telegram *fake);

/* A handle for tests: a server in this process, or one elsewhere. */
struct telegram
{
    struct fake_telegram *fake; /* NULL: it is elsewhere, at port */
    int port;
};
/** json_pack's format and arguments make the command; an error ends the test. @return the answer,
 *  decref it. */
json_t *telegram_do(const struct telegram *telegram, const char *format, ...);
/** The same, answer dropped. */
void telegram_tell(const struct telegram *telegram, const char *format, ...);
/** The same, the integer member `member` of the answer. */
int64_t telegram_number(const struct telegram *telegram, const char *member, const char *format,
                        ...);

#endif
