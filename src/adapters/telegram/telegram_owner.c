/*
 * telegram_owner.c — who has sent the bot this code? For `shipmyagent init`, before a service
 * polls.
 *
 * The updates are looked at and stay where they are: without an offset getUpdates confirms nothing,
 * so the service takes them all, and greets who pressed Start.
 * Source: docs/protocols/telegram.md §getUpdates; deep links: t.me/BOT?start=CODE sends
 * "/start CODE".
 */
#include "telegram_priv.h"

#include "runtime/json/json_read.h"
#include "sma/probe.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

struct search
{
    struct telegram *telegram;
    char code[64];
};

static bool is_code(struct sma_str text, const char *code)
{
    text = sma_str_trim(text);
    if (sma_str_starts_with(text, SMA_STR("/start ")))
        text = sma_str_trim((struct sma_str){text.ptr + 7, text.len - 7});
    return sma_str_is_equal_nocase(text, sma_str(code));
}

/* In private and in his own words: what is forwarded was written by somebody else. */
static bool has_sent(const json_t *message, const char *code)
{
    const json_t *chat = json_object_get(message, "chat"), *from = json_object_get(message, "from");
    return sma_str_is_equal(sma_json_str(chat, "type"), SMA_STR("private")) &&
           !json_is_true(json_object_get(from, "is_bot")) &&
           json_object_get(message, "forward_origin") == NULL &&
           is_code(sma_json_str(message, "text"), code);
}

static void say_found(struct sma_probing *probing, const json_t *from)
{
    char id[32];
    struct sma_str first = sma_json_str(from, "first_name"), name = sma_json_str(from, "username");
    (void)snprintf(id, sizeof id, "%lld", (long long)sma_json_int(from, "id", 1, INT64_MAX, 0));
    sma_probing_is(probing, id);
    sma_probing_say(probing, SMA_PROBE_OK, "owner", "", "%.*s%s%.*s (%s) is its owner",
                    (int)(first.len < 100 ? first.len : 100), first.ptr, name.len > 0 ? " @" : "",
                    (int)(name.len < 100 ? name.len : 100), name.ptr, id);
}

static void say_refused(struct sma_probing *probing, const struct sma_net_answer *answer)
{
    char said[200];
    if (answer->status == 409) {
        sma_probing_say(probing, SMA_PROBE_ERROR, "owner",
                        "stop it, or make a bot of its own with @BotFather: two programs on one "
                        "bot take each other's messages away",
                        "another program uses this bot: it fetches its messages, or has set a "
                        "webhook (HTTP 409)");
        return;
    }
    telegram_describe(answer, said);
    sma_probing_say(probing, SMA_PROBE_ERROR, "owner", "try again later",
                    "getUpdates was answered with HTTP %d%s%s", answer->status,
                    said[0] == '\0' ? "" : ": ", said);
}

static void on_updates(void *user, struct sma_probing *probing, const struct sma_net_answer *answer)
{
    struct search *search = user;
    json_t *root = NULL;
    const json_t *list = NULL;
    if (!sma_probing_is_lost(probing, answer, "owner")) {
        list = telegram_result(answer, &root);
        if (list == NULL)
            say_refused(probing, answer);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *message = json_object_get(json_array_get(list, i), "message");
        if (!has_sent(message, search->code))
            continue;
        say_found(probing, json_object_get(message, "from"));
        break;
    }
    json_decref(root);
    free(search);
}

void telegram_find_owner(void *state, const char *code, struct sma_probing *probing)
{
    struct search *search = calloc(1, sizeof *search);
    struct sma_buf url;
    if (search == NULL)
        return; /* nobody is found */
    search->telegram = state;
    (void)snprintf(search->code, sizeof search->code, "%s", code);
    sma_buf_init(&url, 8192);
    telegram_call_ops.put_root(state, &url);
    sma_buf_put_text(&url, "getUpdates?timeout=0");
    sma_probing_ask(probing, &(struct sma_probe_ask){.method = "GET",
                                                     .url = &url,
                                                     .answer_bytes_max = 8u << 20,
                                                     .done = on_updates,
                                                     .user = search});
}
