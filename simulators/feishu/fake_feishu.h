/*
 * fake_feishu.h — the platform Feishu for tests and benchmarks: one app, its chats, what people do
 * in them; the long connection, the REST calls and a sender of webhooks.
 *
 * As strict as the platform where the platform is strict, and it misbehaves on demand. It runs on a
 * thread of its own inside a test (fake_feishu_start) or as the program fake_feishu, and is told
 * what people do by commands (fake_feishu_commands lists them).
 *
 * Threads: commands from any thread; one lock. Everything else happens on the server's thread.
 * Source:  protocols/feishu.md, above all §4.10.
 */
#ifndef FAKE_FEISHU_H
#define FAKE_FEISHU_H

#include "platform/fake_platform.h"

#define FAKE_FEISHU_APP "cli_0123456789abcdef"
#define FAKE_FEISHU_SECRET "fakeFeishuSecret0123456789abcdef"
#define FAKE_FEISHU_BOT "ou_bot0123456789abcdef0123456789ab"

struct fake_feishu;

/** What it can be told, as people read it. */
extern const char fake_feishu_commands[];

/** Listen on 127.0.0.1:port (0: any free one) and serve on a thread. Ends the process when it
 *  cannot. */
struct fake_feishu *fake_feishu_start(int port);
/** Stop the threads and free everything. */
void fake_feishu_stop(struct fake_feishu *fake);
int fake_feishu_port(const struct fake_feishu *fake);
/** One command; takes it over. @return its answer, {"error":...} when it could not be done; decref
 *  it. */
json_t *fake_feishu_command(struct fake_feishu *fake, json_t *command);
struct platform_client fake_feishu_client(struct fake_feishu *fake);

#endif
