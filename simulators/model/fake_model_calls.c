/*
 * fake_model_calls.c — answers that a user's text asks for: calls of tools, and verdicts about an
 * answer to a request.
 *
 *   [[call NAME {...}]]                any number of them: the first answer of the turn calls these
 *   tools; when the last
 *                                      result is there, it is said with chat_send: "Result: ..."
 *   [[judge approve|refuse|none]]      in a request without tools: which items are approved or
 *   refused (the first one)
 */
#include "fake_model.h"

#include <string.h>

#define SAID_BYTES_MAX 600

static const char *find(struct sma_str text, size_t from, const char *what)
{
    return text.len <= from ? NULL : memmem(text.ptr + from, text.len - from, what, strlen(what));
}

static bool read_call(struct sma_str text, const char *start, struct fake_call *call,
                      struct sma_str *ret_arguments)
{
    const char *name = start + strlen("[[call "), *end = text.ptr + text.len;
    const char *blank = memchr(name, ' ', (size_t)(end - name));
    if (blank == NULL)
        return false;
    json_error_t error;
    json_t *tree = json_loadb(blank + 1, (size_t)(end - blank - 1), JSON_DISABLE_EOF_CHECK, &error);
    if (!json_is_object(tree)) {
        json_decref(tree);
        return false;
    }
    json_decref(tree);
    call->name = (struct sma_str){name, (size_t)(blank - name)};
    *ret_arguments = (struct sma_str){blank + 1, (size_t)error.position};
    return true;
}

static bool put_calls(struct sma_str text, struct fake_answer *answer)
{
    size_t at = 0;
    const char *start;
    while (answer->call_count < FAKE_CALL_COUNT_MAX &&
           (start = find(text, at, "[[call ")) != NULL) {
        struct fake_call *call = &answer->calls[answer->call_count];
        struct sma_str arguments;
        at = (size_t)(start - text.ptr) + 1;
        if (!read_call(text, start, call, &arguments))
            continue;
        call->arguments = arguments;
        answer->call_count++;
    }
    return answer->call_count > 0;
}

bool fake_answer_judgement(struct sma_str text, struct fake_answer *answer)
{
    if (find(text, 0, "[[judge approve]]") != NULL)
        answer->text = SMA_STR("{\"approved\":[1],\"refused\":[],\"reason\":\"\"}");
    else if (find(text, 0, "[[judge refuse]]") != NULL)
        answer->text =
            SMA_STR("{\"approved\":[],\"refused\":[1],\"reason\":\"the judge said no\"}");
    else if (find(text, 0, "[[judge none]]") != NULL)
        answer->text = SMA_STR("{\"approved\":[],\"refused\":[],\"reason\":\"\"}");
    else
        return false;
    return true;
}

/* A conversation that is read for what is worth remembering: facts that it names itself,
 * [[remember a fact]], each of importance 8. */
bool fake_answer_extraction(struct sma_str text, struct fake_answer *answer, struct sma_buf *said)
{
    static const char mark[] = "[[remember ";
    const char *start;
    size_t at = 0;
    uint32_t count = 0;
    if (find(text, 0, "You read a conversation and note what is worth remembering") == NULL)
        return false;
    sma_buf_put_text(said, "{\"memories\":[");
    while ((start = find(text, at, mark)) != NULL) {
        size_t from = (size_t)(start - text.ptr) + sizeof mark - 1;
        const char *end = find(text, from, "]]");
        if (end == NULL)
            break;
        at = (size_t)(end - text.ptr);
        sma_buf_put_text(said, count++ == 0 ? "{" : ",{");
        sma_buf_put_json_member(said, "type", SMA_STR("fact"));
        sma_buf_put_json_member(said, "content", (struct sma_str){text.ptr + from, at - from});
        sma_buf_put_text(said, ",\"importance\":8,\"who\":1,\"tags\":[]}");
    }
    sma_buf_put_text(said, "]}");
    answer->text = sma_buf_str(said);
    return said->err == SMA_ERR_OK;
}

/* A chat_send answers the user, unless the text wanted one to another chat: its result is told,
 * too. */
static bool is_answer(const struct sma_offline_turn *turn)
{
    if (!sma_str_is_equal(turn->tool, SMA_STR("chat_send")) &&
        !sma_str_is_equal(turn->tool, SMA_STR("send_message")))
        return false;
    bool is_elsewhere =
        find(turn->text, 0, "\"chatId\":") != NULL || find(turn->text, 0, "\"channel\":") != NULL;
    return !is_elsewhere || (find(turn->result, 0, "\"sentTo\":") == NULL &&
                             find(turn->result, 0, "\"success\":false") == NULL);
}

bool fake_answer_calls(const struct sma_offline_turn *turn, struct fake_answer *answer,
                       struct sma_buf *arguments)
{
    if (find(turn->text, 0, "[[call ") == NULL)
        return false;
    if (!turn->has_result)
        return put_calls(turn->text, answer);
    if (is_answer(turn))
        return false;
    struct sma_buf said;
    sma_buf_init(&said, SAID_BYTES_MAX + 64);
    sma_buf_put_text(&said, "Result: ");
    sma_buf_put_str(&said, (struct sma_str){turn->result.ptr, turn->result.len < SAID_BYTES_MAX
                                                                  ? turn->result.len
                                                                  : SAID_BYTES_MAX});
    sma_buf_put_text(arguments, "{\"text\":");
    sma_buf_put_json_string(arguments, sma_buf_str(&said));
    sma_buf_put_text(arguments, "}");
    sma_buf_fini(&said);
    answer->calls[0].name = SMA_STR("chat_send");
    answer->calls[0].arguments = sma_buf_str(arguments);
    answer->call_count = 1;
    return true;
}
