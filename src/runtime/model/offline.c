#include "runtime/model/offline.h"

#include "decode_priv.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* -- reading the user's words ------------------------------------------------------------------ */
static const char *find_nocase(struct sma_str text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= text.len; i++)
        if ((text.ptr[i] | 0x20) == (word[0] | 0x20) && strncasecmp(text.ptr + i, word, len) == 0)
            return text.ptr + i;
    return NULL;
}

static bool has_any(struct sma_str text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (find_nocase(text, words[i]) != NULL)
            return true;
    return false;
}

static bool asks_about_past(struct sma_str text)
{
    static const char *const words[] = {"history",  "earlier",  "before", "last time",
                                        "previous", "remember", "之前",   "刚才",
                                        "历史",     "上次",     "记得"};
    return has_any(text, words, SMA_COUNT_OF(words));
}

static uint64_t read_delay(struct sma_str text)
{
    static const char *const words[] = {"/slow ", "wait "};
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++) {
        const char *at = find_nocase(text, words[i]);
        if (at == NULL)
            continue;
        uint64_t number = 0;
        const char *end = text.ptr + text.len;
        const char *digit = at + strlen(words[i]);
        for (; digit < end && *digit >= '0' && *digit <= '9' && number <= SMA_OFFLINE_DELAY_MAX_MS;
             digit++)
            number = number * 10 + (uint64_t)(*digit - '0');
        struct sma_str rest = {digit, (size_t)(end - digit)};
        if (i == 0 || sma_str_starts_with(rest, SMA_STR(" ms")) ||
            sma_str_starts_with(rest, SMA_STR("ms")))
            return number > SMA_OFFLINE_DELAY_MAX_MS ? SMA_OFFLINE_DELAY_MAX_MS : number;
    }
    return 0;
}

/* "tell NAME: TEXT" */
static bool read_contact(struct sma_str text, struct sma_str *ret_name, struct sma_str *ret_text)
{
    text = sma_str_trim(text);
    if (text.len < 6 || strncasecmp(text.ptr, "tell ", 5) != 0)
        return false;
    const char *colon = memchr(text.ptr, ':', text.len);
    if (colon == NULL)
        return false;
    *ret_name = sma_str_trim((struct sma_str){text.ptr + 5, (size_t)(colon - text.ptr) - 5});
    *ret_text =
        sma_str_trim((struct sma_str){colon + 1, (size_t)(text.ptr + text.len - colon - 1)});
    return ret_name->len > 0 && ret_name->len <= 128 && ret_text->len > 0;
}

/* Of the facts, "[facts <word>] <time>; <person>; <place>". */
static struct sma_str find_time(struct sma_str facts)
{
    const char *begin = facts.len == 0 ? NULL : memchr(facts.ptr, ']', facts.len);
    if (begin == NULL)
        return (struct sma_str){"", 0};
    struct sma_str rest = {begin + 1, facts.len - (size_t)(begin + 1 - facts.ptr)};
    const char *end = memchr(rest.ptr, ';', rest.len);
    return sma_str_trim(
        (struct sma_str){rest.ptr, end == NULL ? rest.len : (size_t)(end - rest.ptr)});
}

/* -- deciding ---------------------------------------------------------------------------------- */
/* Replies quote at most this much of what was said. */
#define QUOTE_BYTES_MAX 2000

static void put_quote(struct sma_buf *buf, struct sma_str text)
{
    text = sma_str_trim(text);
    size_t len = sma_utf8_cut(text, QUOTE_BYTES_MAX);
    sma_buf_put_json_escaped(buf, (struct sma_str){text.ptr, len});
    if (len < text.len)
        sma_buf_put_text(buf, "...");
}

static void put_reply(struct sma_buf *buf, const struct sma_offline_turn *turn)
{
    struct sma_str text = sma_str_trim(turn->text);
    if (sma_str_is_equal_nocase(text, SMA_STR("help"))) {
        sma_buf_put_text(
            buf, "I am the offline model: I repeat what you say, answer \\\"what time is it\\\", "
                 "and look into "
                 "the history when you ask about earlier messages. Set llm.provider, llm.model and "
                 "llm.apiKey in ship.json to talk to a real model.");
        return;
    }
    struct sma_str when = find_time(turn->facts);
    if (when.len > 0 && text.len < 200 &&
        (find_nocase(text, "time") != NULL || find_nocase(text, "几点") != NULL)) {
        sma_buf_put_text(buf, "It is ");
        put_quote(buf, when);
        sma_buf_put_char(buf, '.');
        return;
    }
    sma_buf_put_text(buf, "You said: ");
    put_quote(buf, text);
}

static void call_send(struct sma_offline_decision *decision)
{
    decision->tool = "chat_send";
    sma_buf_put_text(&decision->arguments, "{\"text\":\"");
}

static void close_text(struct sma_offline_decision *decision)
{
    sma_buf_put_text(&decision->arguments, "\"}");
}

static void decide_first(const struct sma_offline_turn *turn, struct sma_offline_decision *decision)
{
    struct sma_buf *arguments = &decision->arguments;
    struct sma_str name, message;
    decision->delay_ms = read_delay(turn->text);
    decision->is_failure = find_nocase(turn->text, "fail model") != NULL;
    if (read_contact(turn->text, &name, &message)) {
        decision->tool = "chat_contact_send";
        sma_buf_put_text(arguments, "{\"username\":");
        sma_buf_put_json_string(arguments, name);
        sma_buf_put_text(arguments, ",\"text\":");
        sma_buf_put_json_string(arguments, message);
        sma_buf_put_char(arguments, '}');
    } else if (asks_about_past(turn->text)) {
        decision->tool = "chat_load_history";
        sma_buf_put_text(arguments, "{\"limit\":20}");
    } else {
        call_send(decision);
        put_reply(arguments, turn);
        close_text(decision);
    }
}

static void put_history_summary(struct sma_buf *buf, struct sma_str result)
{
    json_t *root = sma_json_parse(result);
    const json_t *messages = json_object_get(root, "messages");
    size_t count = json_array_size(messages);
    if (count == 0) {
        sma_buf_put_text(buf, "I find no earlier messages in this chat.");
    } else {
        const json_t *last = json_array_get(messages, count - 1);
        sma_buf_printf(buf, "I find %zu earlier message%s. The last one, from the %s: ", count,
                       count == 1 ? "" : "s",
                       sma_json_is(last, "role", "assistant") ? "assistant" : "user");
        put_quote(buf, sma_json_str(last, "content"));
    }
    json_decref(root);
}

static void decide_next(const struct sma_offline_turn *turn, struct sma_offline_decision *decision)
{
    if (sma_str_is_equal(turn->tool, SMA_STR("chat_load_history"))) {
        call_send(decision);
        put_history_summary(&decision->arguments, turn->result);
        close_text(decision);
    } else if (sma_str_is_equal(turn->tool, SMA_STR("chat_contact_send"))) {
        bool is_sent = find_nocase(turn->result, "\"success\":true") != NULL;
        call_send(decision);
        sma_buf_put_text(&decision->arguments, is_sent ? "Passed on." : "That did not work: ");
        if (!is_sent)
            put_quote(&decision->arguments, turn->result);
        close_text(decision);
    }
}

void sma_offline_decide(const struct sma_offline_turn *turn, struct sma_offline_decision *decision)
{
    decision->tool = NULL;
    decision->delay_ms = 0;
    decision->is_failure = false;
    if (turn->has_result)
        decide_next(turn, decision);
    else
        decide_first(turn, decision);
}

/* -- as a chat server's stream ----------------------------------------------------------------- */
bool sma_offline_is_note(struct sma_str text)
{
    static const char mark[] = ", not from the user] ";
    const char *end = text.len == 0 ? NULL : memchr(text.ptr, ']', text.len);
    return sma_str_starts_with(text, SMA_STR("[facts")) && end != NULL &&
           memmem(text.ptr, text.len, mark, sizeof mark - 1) == end + 1 - (sizeof mark - 2);
}

static void read_user(const json_t *message, struct sma_offline_turn *turn)
{
    const json_t *content = json_object_get(message, "content");
    size_t count = json_array_size(content);
    turn->has_result = false;
    if (sma_offline_is_note(count == 1 ? sma_json_str(json_array_get(content, 0), "text")
                                       : sma_json_str_of(content)))
        return; /* what the user said before is answered anew */
    turn->facts = (struct sma_str){"", 0};
    if (count == 0) {
        turn->text = sma_json_str_of(content);
        return;
    }
    /* The user's own text is the last block; what the program adds stands before it. */
    turn->text = sma_json_str(json_array_get(content, count - 1), "text");
    for (size_t i = 0; i + 1 < count && turn->facts.len == 0; i++) /* behind what is shown */
        turn->facts = sma_json_str(json_array_get(content, i), "text");
}

static struct sma_str call_name(const json_t *assistant, struct sma_str id)
{
    const json_t *calls = json_object_get(assistant, "tool_calls");
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        if (sma_str_is_equal(sma_json_str(call, "id"), id))
            return sma_json_str(json_object_get(call, "function"), "name");
    }
    return (struct sma_str){"", 0};
}

static void read_turn(const json_t *messages, struct sma_offline_turn *turn)
{
    const json_t *assistant = NULL;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i);
        if (sma_json_is(message, "role", "user")) {
            read_user(message, turn);
        } else if (sma_json_is(message, "role", "assistant")) {
            assistant = message;
        } else if (sma_json_is(message, "role", "tool")) {
            turn->has_result = true;
            turn->tool = call_name(assistant, sma_json_str(message, "tool_call_id"));
            turn->result = sma_json_str(message, "content");
        }
    }
}

/* One event holds all: the fewer there are, the less a benchmark measures of this model. */
static void put_answer(struct sma_buf *buf, const struct sma_offline_decision *decision,
                       uint64_t id_seed, size_t turn_bytes)
{
    sma_buf_put_text(buf, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":");
    if (decision->tool != NULL) {
        sma_buf_printf(buf,
                       "null,\"tool_calls\":[{\"index\":0,\"id\":\"call_%llx\",\"type\":"
                       "\"function\",\"function\":"
                       "{\"name\":\"%s\",\"arguments\":",
                       (unsigned long long)id_seed, decision->tool);
        sma_buf_put_json_string(buf, sma_buf_str(&decision->arguments));
        sma_buf_put_text(buf, "}}]},\"finish_reason\":\"tool_calls\"}]");
    } else {
        sma_buf_put_text(buf, "\"\"},\"finish_reason\":\"stop\"}]");
    }
    sma_buf_printf(
        buf, ",\"usage\":{\"prompt_tokens\":%zu,\"completion_tokens\":%zu}}\n\ndata: [DONE]\n\n",
        turn_bytes / 4 + 1, decision->arguments.len / 4 + 1);
}

enum sma_err sma_offline_answer(struct sma_str turn, uint64_t id_seed, struct sma_buf *answer,
                                uint64_t *ret_delay_ms, bool *ret_is_failure)
{
    struct sma_buf list;
    sma_buf_init(&list, SMA_REQUEST_BYTES_MAX + 2);
    sma_buf_put_char(&list, '[');
    sma_buf_put_str(&list, turn);
    sma_buf_put_char(&list, ']');
    json_t *messages = list.err == SMA_ERR_OK ? sma_json_parse(sma_buf_str(&list)) : NULL;
    sma_buf_fini(&list);
    if (json_array_size(messages) == 0) {
        json_decref(messages);
        return SMA_ERR_BADINPUT;
    }
    struct sma_offline_turn read = {.text = {"", 0}};
    struct sma_offline_decision decision;
    sma_buf_init(&decision.arguments, SMA_ANSWER_BYTES_MAX);
    read_turn(messages, &read);
    sma_offline_decide(&read, &decision);
    if (!decision.is_failure)
        put_answer(answer, &decision, id_seed, turn.len);
    enum sma_err err = decision.arguments.err != SMA_ERR_OK ? decision.arguments.err : answer->err;
    sma_buf_fini(&decision.arguments);
    json_decref(messages);
    if (err != SMA_ERR_OK)
        return err;
    *ret_delay_ms = decision.delay_ms;
    *ret_is_failure = decision.is_failure;
    return SMA_ERR_OK;
}
