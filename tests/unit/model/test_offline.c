/*
 * Aim: the offline model goes through the tool loop, deterministically, and the actor serves it in
 *      the simulation: delays by virtual time, cancel, failure, drain. Method: turns in, decoded
 *      answers out; then the actor under the scheduler.
 */
#include "runtime/model/offline.h"
#include "sma/actors.h"
#include "sma/sim.h"
#include "support.h"

#define FACTS                                                                           \
    "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"[facts 0a] noon on " \
    "Saturday; \\\"Ann\\\" (owner)\"},{\"type\":\"text\",\"text\":"
#define CALLED(name)                                                                    \
    ",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"type\":" \
    "\"function\",\"function\":{\"name\":\"" name                                       \
    "\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":"

ENDING(sma_decoder_destroy, struct sma_decoder)

CASE(turns_get_their_answers)
{
    static const struct
    {
        const char *turn, *tool, *arguments;
        uint64_t delay_ms;
    } cases[] = {
        {"{\"role\":\"user\",\"content\":\"hi \\\"you\\\"\"}", "chat_send",
         "{\"text\":\"You said: hi \\\"you\\\"\"}", 0},
        {FACTS "\"\xe4\xbd\xa0\xe5\xa5\xbd\"}]}", "chat_send",
         "{\"text\":\"You said: \xe4\xbd\xa0\xe5\xa5\xbd\"}", 0},
        {FACTS "\"what time is it\"}]}", "chat_send", "{\"text\":\"It is noon on Saturday.\"}", 0},
        {FACTS "\"What did I say earlier?\"}]}", "chat_load_history", "{\"limit\":20}", 0},
        {FACTS "\"\xe4\xb8\x8a\xe6\xac\xa1\xe8\xaf\xb4\xe4\xba\x86\xe4\xbb\x80\xe4\xb9\x88\"}]}",
         "chat_load_history", "{\"limit\":20}", 0},
        {FACTS "\"tell Ann: come\"}]}", "chat_contact_send",
         "{\"username\":\"Ann\",\"text\":\"come\"}", 0},
        {FACTS "\"please wait 250 ms\"}]}", "chat_send",
         "{\"text\":\"You said: please wait 250 ms\"}", 250},
        {FACTS "\"/slow 9999999999\"}]}", "chat_send", "{\"text\":\"You said: /slow 9999999999\"}",
         SMA_OFFLINE_DELAY_MAX_MS},
        {FACTS "\"wait 5 minutes\"}]}", "chat_send", "{\"text\":\"You said: wait 5 minutes\"}", 0},
        {FACTS "\"x\"}]}" CALLED("chat_send") "\"{}\"}", NULL, NULL, 0},
        {FACTS "\"x\"}]}" CALLED("unknown") "\"{}\"}", NULL, NULL, 0},
        {FACTS "\"x\"}]}" CALLED(
             "chat_load_history") "\"{\\\"messages\\\":[{\\\"role\\\":\\\"user\\\",\\\"content\\\":"
                                  "\\\"a\\\"},"
                                  "{\\\"role\\\":\\\"assistant\\\",\\\"content\\\":\\\"b\\\"}]}\"}",
         "chat_send",
         "{\"text\":\"I find 2 earlier messages. The last one, from the assistant: b\"}", 0},
        {FACTS "\"x\"}]}" CALLED("chat_load_history") "\"broken\"}", "chat_send",
         "{\"text\":\"I find no earlier messages in this chat.\"}", 0},
        {FACTS "\"x\"}]}" CALLED("chat_contact_send") "\"{\\\"success\\\":true}\"}", "chat_send",
         "{\"text\":\"Passed on.\"}", 0},
        {FACTS "\"wait 250 ms\"}]}" CALLED("chat_send") "\"{}\"}", NULL, NULL, 0},
        {FACTS "\"x\"}]}" CALLED("chat_send") "\"{}\"},{\"role\":\"assistant\",\"content\":\"-\"},"
                                              "{\"role\":\"user\",\"content\":[{\"type\":\"text\","
                                              "\"text\":\"[facts 0a, not from "
                                              "the user] Your answer was empty.\"}]}",
         "chat_send", "{\"text\":\"You said: x\"}", 0},
    };
    struct sma_config_llm llm = test_llm(SMA_LLM_OFFLINE, "offline");
    SMA_AUTO(sma_decoder_destroyp) struct sma_decoder *decoder = sma_decoder_create(&llm);
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_buf answer;
        uint64_t delay_ms = 0;
        bool is_failure = false;
        sma_buf_init(&answer, 65536);
        CHECK_OK(sma_offline_answer(sma_str(cases[i].turn), 7, &answer, &delay_ms, &is_failure));
        sma_decoder_reset(decoder, 7);
        sma_decoder_feed(decoder, answer.ptr, answer.len);
        const struct sma_decoded *decoded = sma_decoder_finish(decoder);
        CHECK_INT(SMA_DECODED_OK, decoded->status);
        CHECK_INT(cases[i].tool != NULL, decoded->call_count);
        CHECK_INT(cases[i].delay_ms, delay_ms);
        if (cases[i].tool != NULL) {
            CHECK_STR(cases[i].tool, decoded->calls[0].name);
            CHECK_STR(cases[i].arguments, decoded->calls[0].arguments);
        }
        sma_buf_fini(&answer);
    }
}

CASE(what_is_no_turn_is_refused)
{
    static const char *const turns[] = {"", "{", "{\"role\":\"user\"", "]", "1 2"};
    SMA_AUTO(sma_buf_fini) struct sma_buf answer;
    uint64_t delay_ms = 0;
    bool is_failure = false;
    sma_buf_init(&answer, 65536);
    for (size_t i = 0; i < SMA_COUNT_OF(turns); i++)
        CHECK_ERR(SMA_ERR_BADINPUT,
                  sma_offline_answer(sma_str(turns[i]), 7, &answer, &delay_ms, &is_failure));
}

/* -- the actor in the simulation --------------------------------------------------------------- */
struct asker
{
    int answer_count, delta_count;
    uint8_t status;
    char arguments[256], delta[256];
    uint64_t answered_ns;
};

static void take(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct asker *asker = state;
    if ((*msg)->kind == SMA_MSG_MODEL_DELTA) {
        struct sma_str text = SMA_MSG_BODY(*msg, struct sma_model_delta)->text;
        asker->delta_count++;
        snprintf(asker->delta, sizeof asker->delta, "%.*s", (int)text.len, text.ptr);
    } else if ((*msg)->kind == SMA_MSG_MODEL_ANSWER) {
        const struct sma_model_answer *answer = SMA_MSG_BODY(*msg, struct sma_model_answer);
        asker->answer_count++;
        asker->status = answer->status;
        asker->answered_ns = sma_ctx_now(ctx);
        if (answer->call_count > 0)
            snprintf(asker->arguments, sizeof asker->arguments, "%.*s",
                     (int)answer->calls[0].arguments.len, answer->calls[0].arguments.ptr);
    }
}

static const struct sma_actor_ops asker_ops = {.name = "agent", .handle = take};

static uint64_t ask(struct sma_system *system, const char *text)
{
    struct sma_buf body;
    sma_buf_init(&body, 65536);
    sma_buf_put_text(&body, "{\"messages\":[");
    size_t begin = body.len;
    sma_buf_put_text(&body, "{\"role\":\"user\",\"content\":");
    sma_buf_put_json_string(&body, sma_str(text));
    sma_buf_put_char(&body, '}');
    size_t end = body.len;
    sma_buf_put_text(&body, "]}");
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_MODEL, struct sma_model_ask, body.len + 1);
    struct sma_model_ask *question = SMA_MSG_BODY(msg, struct sma_model_ask);
    question->seq = 5;
    question->body = sma_msg_dup(msg, sma_buf_str(&body));
    question->turn_offset = (uint32_t)begin;
    question->turn_end = (uint32_t)end;
    uint64_t ask_id = 0;
    CHECK_OK(
        sma_ctx_ask(sma_system_ctx(system, SMA_ACTOR_AGENT), SMA_ACTOR_MODEL, &msg, 0, &ask_id));
    sma_buf_fini(&body);
    return ask_id;
}

CASE(the_actor_serves_it_in_virtual_time)
{
    struct sma_config config = {.llm = test_llm(SMA_LLM_OFFLINE, "offline")};
    struct sma_system_options options = {.is_simulated = true, .seed = 1};
    struct asker asker = {0};
    struct sma_model *model = NULL;
    struct sma_error error = {0};
    struct sma_system *system = sma_system_create(&options);
    CHECK_OK(sma_model_create(&config, &model, &error));
    CHECK_OK(sma_system_add(system, SMA_ACTOR_MODEL, &sma_model_offline_actor_ops, model));
    CHECK_OK(sma_system_add(system, SMA_ACTOR_AGENT, &asker_ops, &asker));
    CHECK_OK(sma_system_start(system, &error));

    ask(system, "hello");
    sma_sim_run(system, 100, UINT64_MAX);
    CHECK_INT(1, asker.answer_count);
    CHECK_INT(SMA_MODEL_OK, asker.status);
    CHECK_TEXT("{\"text\":\"You said: hello\"}", asker.arguments);
    CHECK_INT(1, asker.delta_count);
    CHECK_TEXT("You said: hello", asker.delta);

    uint64_t begin = sma_sim_now(system);
    ask(system, "please wait 2000 ms");
    sma_sim_run(system, 100, UINT64_MAX);
    CHECK_INT(2, asker.answer_count);
    CHECK(asker.answered_ns >= begin + 2000000000u);

    uint64_t ask_id = ask(system, "please wait 600000 ms");
    struct sma_msg *cancel = SMA_MSG_NEW(SMA_MSG_MODEL_CANCEL, struct sma_model_cancel, 0);
    SMA_MSG_BODY(cancel, struct sma_model_cancel)->ask_id = ask_id;
    CHECK_OK(sma_ctx_send(sma_system_ctx(system, SMA_ACTOR_AGENT), SMA_ACTOR_MODEL, &cancel));
    sma_sim_run(system, 100, UINT64_MAX);
    CHECK_INT(3, asker.answer_count);
    CHECK_INT(SMA_MODEL_CANCELLED, asker.status);

    ask(system, "please fail model");
    sma_sim_run(system, 100, UINT64_MAX);
    CHECK_INT(4, asker.answer_count);
    CHECK_INT(SMA_MODEL_FAILED, asker.status);

    ask(system, "please wait 600000 ms"); /* left open: destroyed with the actor */
    sma_sim_run(system, 3, sma_sim_now(system) + 1000);
    sma_sim_crash(system);
    sma_system_destroy(system);
    sma_model_destroy(model);
}

CASES_MAIN
