/* load_platform.c — see load_platform.h. */
#include "load_platform.h"

#include "feishu/fake_feishu.h"
#include "qq/fake_qq.h"
#include "telegram/fake_telegram.h"

#include <stdio.h>
#include <string.h>

#define FIRST_PERSON 2000000

/* -- Telegram ---------------------------------------------------------------------------------- */
static void *telegram_start(void)
{
    return fake_telegram_start(0);
}

static struct platform_client telegram_client(void *fake)
{
    return fake_telegram_client(fake);
}

static void telegram_stop(void *fake)
{
    fake_telegram_stop(fake);
}

/* the service is measured, not how long it waits so that the platform does not refuse it */
static json_t *telegram_adapter(int port)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    return json_pack("{s:b,s:s,s:s,s:s,s:{s:i,s:i,s:i}}", "enabled", 1, "botToken",
                     FAKE_TELEGRAM_TOKEN, "apiRoot", url, "proxy", "none", "limits", "perSecond", 0,
                     "perChatPerMinute", 0, "perGroupPerMinute", 0);
}

static json_t *telegram_person(int person)
{
    return json_pack("{s:s,s:i,s:s,s:s}", "do", "user", "id", FIRST_PERSON + person, "first_name",
                     "Ann", "language", "en");
}

static json_t *telegram_say(int person, const char *text)
{
    return json_pack("{s:s,s:i,s:i,s:s}", "do", "say", "chat", FIRST_PERSON + person, "user",
                     FIRST_PERSON + person, "text", text);
}

static json_t *telegram_chat(int person)
{
    return json_pack("{s:i}", "chat", FIRST_PERSON + person);
}

/* -- Feishu ------------------------------------------------------------------------------------ */
static void *feishu_start(void)
{
    return fake_feishu_start(0);
}

static struct platform_client feishu_client(void *fake)
{
    return fake_feishu_client(fake);
}

static void feishu_stop(void *fake)
{
    fake_feishu_stop(fake);
}

static json_t *feishu_adapter(int port)
{
    char url[64];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    return json_pack("{s:b,s:s,s:s,s:s,s:s,s:{s:i,s:i,s:i}}", "enabled", 1, "appId",
                     FAKE_FEISHU_APP, "appSecret", FAKE_FEISHU_SECRET, "domain", url, "proxy",
                     "none", "limits", "perSecond", 0, "perChatPerMinute", 0, "perGroupPerMinute",
                     0);
}

static const char *feishu_id(char *text, size_t size, const char *kind, int person)
{
    snprintf(text, size, "%s_bench%027d", kind, person);
    return text;
}

static json_t *feishu_person(int person)
{
    char id[64];
    return json_pack("{s:s,s:s,s:s}", "do", "user", "id", feishu_id(id, sizeof id, "ou", person),
                     "name", "Ann");
}

static json_t *feishu_say(int person, const char *text)
{
    char chat[64], user[64];
    return json_pack("{s:s,s:s,s:s,s:s}", "do", "say", "chat",
                     feishu_id(chat, sizeof chat, "oc", person), "user",
                     feishu_id(user, sizeof user, "ou", person), "text", text);
}

static json_t *feishu_chat(int person)
{
    char id[64];
    return json_pack("{s:s}", "chat", feishu_id(id, sizeof id, "oc", person));
}

/* -- QQ ---------------------------------------------------------------------------------------- */
static void *qq_start(void)
{
    return fake_qq_start(0);
}

static struct platform_client qq_client(void *fake)
{
    return fake_qq_client(fake);
}

static void qq_stop(void *fake)
{
    fake_qq_stop(fake);
}

static json_t *qq_adapter(int port)
{
    char url[64], token[96];
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    snprintf(token, sizeof token, "%s/app/getAppAccessToken", url);
    return json_pack("{s:b,s:s,s:s,s:s,s:s,s:s,s:{s:i,s:i}}", "enabled", 1, "appId", FAKE_QQ_APP_ID,
                     "appSecret", FAKE_QQ_SECRET, "apiRoot", url, "tokenUrl", token, "proxy",
                     "none", "limits", "perSecond", 0, "perChatPerMinute", 0);
}

static const char *qq_id(char *text, size_t size, int person)
{
    snprintf(text, size, "c2c:BE7C4%027X", (unsigned)person);
    return text;
}

static json_t *qq_person(int person)
{
    char id[64];
    return json_pack("{s:s,s:s}", "do", "chat", "chat", qq_id(id, sizeof id, person));
}

static json_t *qq_say(int person, const char *text)
{
    char id[64];
    return json_pack("{s:s,s:s,s:s}", "do", "say", "chat", qq_id(id, sizeof id, person), "text",
                     text);
}

static json_t *qq_chat(int person)
{
    char id[64];
    return json_pack("{s:s}", "chat", qq_id(id, sizeof id, person));
}

static const char *const FEISHU_SETUP[] = {
    "{\"do\":\"rates\",\"chat_per_second\":0,\"edit_per_second\":0,\"app_per_second\":0}", NULL};
static const char *const QQ_SETUP[] = {"{\"do\":\"rights\",\"per_second\":0}", NULL};
static const char *const NO_SETUP[] = {NULL};

static const struct load_platform PLATFORMS[] = {
    {.name = "telegram",
     .start = telegram_start,
     .client = telegram_client,
     .stop = telegram_stop,
     .setup = NO_SETUP,
     .adapter = telegram_adapter,
     .person = telegram_person,
     .say = telegram_say,
     .chat = telegram_chat,
     .ready = "is_polled",
     .queued = "queued"},
    {.name = "feishu",
     .start = feishu_start,
     .client = feishu_client,
     .stop = feishu_stop,
     .setup = FEISHU_SETUP,
     .adapter = feishu_adapter,
     .person = feishu_person,
     .say = feishu_say,
     .chat = feishu_chat,
     .ready = "connections",
     .queued = "queued"},
    {.name = "qq",
     .start = qq_start,
     .client = qq_client,
     .stop = qq_stop,
     .setup = QQ_SETUP,
     .adapter = qq_adapter,
     .person = qq_person,
     .say = qq_say,
     .chat = qq_chat,
     .ready = "ready",
     .queued = "webhook_waiting"},
};

const struct load_platform *load_platform_find(const char *name)
{
    for (size_t i = 0; i < SMA_COUNT_OF(PLATFORMS); i++)
        if (strcmp(PLATFORMS[i].name, name) == 0)
            return &PLATFORMS[i];
    return NULL;
}
