/*
 * fake_qq.h — a QQ bot platform for tests and benchmarks: one bot, its chats and what people do in
 * them; token, gateway, REST, and a sender of webhooks.
 *
 * As strict as the platform where the platform is strict, and it misbehaves on demand. It runs on
 * threads of its own inside a test (fake_qq_start) or as the program fake_qq, and is told what
 * people do by commands: JSON objects with a member "do" (fake_qq_commands lists them), in
 * process or by POST /control.
 *
 * For a bot: token URL http://127.0.0.1:port/app/getAppAccessToken, API root http://127.0.0.1:port;
 * the gateway's address is told by /gateway. Chats are named as "c2c:<openid>", "group:<openid>",
 * "channel:<id>", "dm:<guild id>".
 *
 * Threads: commands from any thread; the lock of the server guards everything.
 */
#ifndef FAKE_QQ_H
#define FAKE_QQ_H

#include "platform/fake_platform.h"

#define FAKE_QQ_APP_ID "102000001"
#define FAKE_QQ_SECRET "DG5g3B4j9X2KOErG"
#define FAKE_QQ_BOT_ID "6158788878435714165" /* as guilds see it */
#define FAKE_QQ_BOT_NAME "helper"

struct fake_qq;

/** What it can be told, as people read it. */
extern const char fake_qq_commands[];

/** Listen on 127.0.0.1:port (0: any free one) and serve. Ends the process when it cannot. */
struct fake_qq *fake_qq_start(int port);
/** Stop the threads and free everything. */
void fake_qq_stop(struct fake_qq *fake);
int fake_qq_port(const struct fake_qq *fake);
/** The handle for commands (platform_do and its kin). */
struct platform_client fake_qq_client(struct fake_qq *fake);

#endif
