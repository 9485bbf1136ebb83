/*
 * Aim: what the decoder gives back can be sent back: whole conversations with tool calls pass the
 *      strict checks of the fake platforms (pairing, ids, order, reasoning echo) and keep their
 *      prefix byte for byte. Method: two turns on each wire, streamed and whole, against
 *      fake_model --prefix --deepseek.
 */
#include "harness.h"
#include "runtime/model/target.h"
#include "sma/wire.h"
#include "support/check.h"

#define ROUND_COUNT_MAX 6

struct conversation
{
    struct harness *harness;
    const struct sma_wire *wire;
    const struct sma_config_llm *llm;
    struct sma_buf messages;
};

static const struct harness_record *ask(struct conversation *conversation)
{
    struct sma_buf body;
    sma_buf_init(&body, 1 << 20);
    struct sma_target target;
    struct sma_config_llm llm = *conversation->llm;
    llm.base_url = "http://127.0.0.1/v1"; /* the harness has put its own there */
    sma_target_init(&target, &llm);
    conversation->wire->put_head(&body, &target, SMA_STR("You are a test."), NULL, 0);
    sma_buf_put_str(&body, sma_buf_str(&conversation->messages));
    conversation->wire->put_tail(&body, &target, (struct sma_str){0});
    size_t number = harness_ask_body(conversation->harness, sma_buf_str(&body));
    sma_buf_fini(&body);
    return harness_wait(conversation->harness, number);
}

static void add_comma(struct conversation *conversation)
{
    if (conversation->messages.len > 0)
        sma_buf_put_char(&conversation->messages, ',');
}

/* The id of the call in a fragment, whatever the wire calls it. */
static struct sma_str id_in(const char *fragment)
{
    static const char *const names[] = {"\"call_id\":\"", "\"id\":\"call_", "\"id\":\"toolu_"};
    static const size_t skips[] = {11, 6, 6};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        const char *at = strstr(fragment, names[i]);
        if (at != NULL)
            return (struct sma_str){at + skips[i], strcspn(at + skips[i], "\"")};
    }
    CHECK(!"no id");
    return (struct sma_str){0};
}

static void run_turn(struct conversation *conversation, const char *text, const char *result,
                     size_t rounds_wanted)
{
    struct sma_str blocks[2] = {SMA_STR("[facts]\ntime: noon"), sma_str(text)};
    size_t rounds = 0;
    add_comma(conversation);
    conversation->wire->put_user(&conversation->messages, NULL, blocks, 2);
    for (; rounds < ROUND_COUNT_MAX; rounds++) {
        const struct harness_record *record = ask(conversation);
        if (record->status != SMA_MODEL_OK)
            fprintf(stderr, "  %s\n", record->error);
        CHECK_INT(SMA_MODEL_OK, record->status);
        if (record->fragment[0] != '\0') {
            add_comma(conversation);
            sma_buf_put_text(&conversation->messages, record->fragment);
        }
        if (record->call_count == 0)
            break;
        struct sma_tool_result answer = {.call_id = id_in(record->fragment),
                                         .content = sma_str(result)};
        add_comma(conversation);
        conversation->wire->put_results(&conversation->messages, NULL, &answer, 1);
    }
    CHECK_INT(rounds_wanted, rounds);
}

CASE(conversations_pass_the_strict_checks)
{
    static const enum sma_llm_api apis[] = {SMA_LLM_CHAT, SMA_LLM_RESPONSES, SMA_LLM_MESSAGES};
    static const char *const options[] = {"--prefix", "--deepseek", NULL};
    for (size_t i = 0; i < SMA_COUNT_OF(apis) * 2; i++) {
        struct sma_config_llm llm = harness_llm(apis[i / 2]);
        llm.provider = "deepseek";
        llm.is_stream = i % 2 == 0;
        struct conversation conversation = {.harness = harness_create(&llm, options),
                                            .wire = sma_wire_get(apis[i / 2]),
                                            .llm = &llm};
        sma_buf_init(&conversation.messages, 1 << 20);
        run_turn(&conversation, "hello \xe6\x9d\xad", "{\"success\":true}", 1);
        run_turn(&conversation, "what did we say earlier?",
                 "{\"success\":true,\"inserted\":1,\"messages\":[{\"role\":\"user\",\"content\":"
                 "\"hi\"}]}",
                 2);
        CHECK(memmem(conversation.messages.ptr, conversation.messages.len,
                     "1 earlier message. The last one, from the user: hi", 50) != NULL);
        harness_destroy(conversation.harness);
        sma_buf_fini(&conversation.messages);
    }
}

CASE(the_fake_refuses_what_platforms_refuse)
{
    static const char *const options[] = {"--prefix", "--deepseek", NULL};
    static const struct
    {
        const char *body, *part;
    } cases[] = {
        {"{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"bogus\":1}",
         "Unrecognized"},
        {"{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"reasoning_content\":\"\",\"tool_"
         "calls\":[{\"id\":\"a\",\"type\":"
         "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"user\","
         "\"content\":\"a\"}]}",
         "must be followed by tool messages"},
        {"{\"model\":\"m\",\"messages\":[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"a\","
         "\"type\":\"function\",\"function\":"
         "{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"a\","
         "\"content\":\"\"}]}",
         "must be passed back"},
        {"{\"model\":\"m\",\"messages\":[{\"role\":\"tool\",\"tool_call_id\":\"a\",\"content\":"
         "\"\"}]}",
         "answers no open call"},
        {"{\"model\":\"m\",\"messages\":[]}", "no messages"},
        {"{\"model\":\"m\"", "not a JSON object"},
    };
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, options);
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        const struct harness_record *record =
            harness_wait(harness, harness_ask_body(harness, sma_str(cases[i].body)));
        CHECK_INT(SMA_MODEL_FAILED, record->status);
        CHECK_INT(400, record->http_status);
        CHECK(strstr(record->error, cases[i].part) != NULL);
    }
    static const char first[] =
        "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}";
    static const char moved[] =
        "{\"model\":\"n\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"},"
        "{\"role\":\"user\",\"content\":\"b\"}]}";
    CHECK_INT(SMA_MODEL_OK,
              harness_wait(harness, harness_ask_body(harness, sma_str(first)))->status);
    const struct harness_record *record =
        harness_wait(harness, harness_ask_body(harness, sma_str(moved)));
    CHECK(strstr(record->error, "prefix of this conversation has moved") != NULL);
}

CASES_MAIN
