/*
 * Aim: what is too long is shortened where it costs least, and what is kept stays whole; marks and
 * keys for a provider's cache stand where they help and nowhere in what is stored; thinking is not
 * sent behind what has changed.
 */
#include "unit/agent/run_driver.h"

static const struct sma_config_llm plain = {.api = SMA_LLM_CHAT,
                                            .provider = "openai",
                                            .model = "gpt-4.1",
                                            .base_url = "https://api.openai.com/v1",
                                            .api_key = "k"};
static const struct sma_config_llm binding = {.api = SMA_LLM_MESSAGES,
                                              .provider = "anthropic",
                                              .model = "claude-opus-5-5",
                                              .base_url = "https://api.anthropic.com",
                                              .api_key = "k",
                                              .anthropic_version = "2023-06-01"};
static const struct sma_config_llm unbound = {.api = SMA_LLM_MESSAGES,
                                              .provider = "anthropic",
                                              .model = "claude-haiku-4-5",
                                              .base_url = "https://api.anthropic.com",
                                              .api_key = "k",
                                              .anthropic_version = "2023-06-01"};
static const struct sma_config_llm marking = {.api = SMA_LLM_MESSAGES,
                                              .provider = "custom",
                                              .model = "m",
                                              .base_url = "http://gateway.example",
                                              .api_key = "k",
                                              .anthropic_version = "2023-06-01"};
static const char left_out[] = "bytes are left out here", mark[] = "\"cache_control\"";

static void begin(struct driver *d, const struct sma_config_llm *llm)
{
    driver_init(d, llm->api);
    driver_targets(d, &llm, 1);
}

static size_t count_of(const struct driver *d, const char *part)
{
    struct sma_model_ask ask;
    char *bytes = driver_request(d, &ask);
    size_t count = 0;
    for (const char *at = bytes; (at = strstr(at, part)) != NULL; at++)
        count++;
    free(bytes);
    return count;
}

/* A round with one call whose result is `size` times this letter; the model has thought
 * "THINK<letter>". */
static void round_of(struct driver *d, char letter, size_t size)
{
    static const struct sma_model_call call = {.id = SMA_STR("toolu_1"),
                                               .name = SMA_STR("exec_shell"),
                                               .arguments = SMA_STR("{\"command\":\"ls\"}")};
    char fragment[300], *content = calloc(1, size + 1);
    CHECK(content != NULL);
    memset(content, letter, size);
    snprintf(
        fragment, sizeof fragment,
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"THINK%c\","
        "\"signature\":\"s\"},{\"type\":\"tool_use\",\"id\":\"toolu_1\",\"name\":\"exec_shell\","
        "\"input\":{\"command\":\"ls\"}}]}",
        letter);
    struct sma_model_answer answer = {.seq = d->order.seq,
                                      .finish = SMA_FINISH_TOOLS,
                                      .fragment = sma_str(fragment),
                                      .call_count = 1,
                                      .calls = (struct sma_model_call *)(uintptr_t)&call};
    driver_event(d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &answer});
    driver_tool(d, 0, SMA_TOOL_ALLOWED, "");
    driver_durable(d);
    driver_tool(d, 0, SMA_TOOL_ALLOWED, content);
    CHECK(driver_find(d, SMA_RUN_ASK_MODEL) != NULL);
    driver_store(d);
    driver_verdict(d, d->step_count, SMA_STEP_DURABLE);
    d->actions.count = 0;
    free(content);
}

static void overflow(struct driver *d)
{
    driver_model_status(d, SMA_MODEL_CONTEXT_LENGTH, "too long");
    if (driver_find(d, SMA_RUN_STORE_STEP) != NULL)
        driver_durable(d); /* old results are cleared for good */
    CHECK(driver_find(d, SMA_RUN_ASK_MODEL) != NULL);
}

static void add_old_turn(struct driver *d, uint64_t seq, const char *text, char letter)
{
    char result[20000];
    memset(result, letter, sizeof result);
    SMA_AUTO(sma_buf_fini) struct sma_buf fragment;
    sma_buf_init(&fragment, 1 << 16);
    sma_buf_put_text(&fragment, "{\"role\":\"tool\",\"tool_call_id\":\"o\",\"content\":\"");
    sma_buf_put(&fragment, result, sizeof result);
    sma_buf_put_text(&fragment, "\"}");
    struct sma_str fragments[] = {
        SMA_STR("{\"role\":\"user\",\"content\":\"earlier\"}"),
        SMA_STR("{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"o\",\"type\":"
                "\"function\",\"function\":{\"name\":\"exec_shell\",\"arguments\":\"{}\"}}]}"),
        sma_buf_str(&fragment), sma_str(text)};
    struct sma_str block = SMA_STR("earlier");
    struct sma_stored_turn turn = {.message_count = 4,
                                   .block_count = 1,
                                   .blocks = &block,
                                   .fragment_count = 4,
                                   .fragments = fragments,
                                   .text = SMA_STR("so"),
                                   .key = sma_str(d->settings->targets[0].key)};
    CHECK_OK(sma_session_append(d->sessions, d->session, seq, &turn));
}

/* -- shorter ----------------------------------------------------------------------------------- */
CASE(own_large_results_are_shortened_first_then_old_ones_then_old_turns)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, &plain);
    add_old_turn(&d, 1, "{\"role\":\"assistant\",\"content\":\"first old turn\"}", 'x');
    add_old_turn(&d, 2, "{\"role\":\"assistant\",\"content\":\"second old turn\"}", 'y');
    driver_start(&d);
    round_of(&d, 'a', 4000);
    round_of(&d, 'b', 60000);
    overflow(&d); /* the largest alone is enough */
    CHECK_INT(1, count_of(&d, left_out));
    struct sma_model_ask ask;
    char *bytes = driver_request(&d, &ask), *at = strstr(bytes, left_out);
    CHECK(at != NULL && strstr(at, "bbbb") != NULL && strstr(at, "aaaa") == NULL);
    free(bytes);
    overflow(&d); /* own results are not enough: old ones are cleared */
    CHECK_INT(0, count_of(&d, "<conversation>"));
    CHECK(count_of(&d, "old result was cleared") >= 1);
    CHECK_INT(1, count_of(&d, "first old turn"));
    overflow(&d); /* a summary is asked for, once */
    CHECK_INT(1, count_of(&d, "<conversation>"));
    CHECK_INT(1, count_of(&d, "first old turn"));
    driver_answer(&d, "I will not", SMA_FINISH_STOP, NULL); /* and there is none: old results */
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
    CHECK_INT(0, count_of(&d, "<conversation>"));
    if (count_of(&d, "first old turn") > 0)
        overflow(&d); /* and the older half of the turns */
    CHECK_INT(0, count_of(&d, "first old turn"));
    CHECK_INT(1, count_of(&d, "second old turn"));
    driver_answer(&d, "done", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    CHECK(d.done_turn_len < 15000); /* what the next message would send again is short, too */
    CHECK(memmem(d.done_turn, d.done_turn_len, left_out, sizeof left_out - 1) != NULL);
}

/* -- the provider's cache ---------------------------------------------------------------------- */
CASE(marks_stand_at_the_two_newest_parts_that_are_not_the_model_s)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, &marking);
    driver_start(&d);
    size_t of_head = count_of(&d, mark) - 1; /* the user's message has one */
    round_of(&d, 'a', 100);
    CHECK_INT(of_head + 2, count_of(&d, mark));
    round_of(&d, 'b', 100);
    round_of(&d, 'c', 100);
    struct sma_model_ask ask;
    char *bytes = driver_request(&d, &ask);
    char *b = strstr(bytes, "bbbb"), *c = strstr(bytes, "cccc"), *a = strstr(bytes, "aaaa");
    CHECK(a != NULL && b != NULL && c != NULL);
    CHECK_INT(of_head + 2, count_of(&d, mark));
    char *first = strstr(a, mark);
    CHECK(first != NULL && first > b && first < c); /* of b; none of a */
    CHECK(strstr(c, mark) != NULL);
    free(bytes);
    driver_answer(&d, "done", SMA_FINISH_STOP, NULL);
    driver_done(&d, true);
    CHECK(memmem(d.done_turn, d.done_turn_len, mark, sizeof mark - 1) == NULL); /* none is kept */
    CHECK(memmem(d.session->turns[0]->bytes.ptr, d.session->turns[0]->bytes.len, mark,
                 sizeof mark - 1) == NULL);
}

static void cache_key_of(struct sma_str chat_key, char key[17])
{
    static const char name[] = "\"prompt_cache_key\":\"";
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    const struct sma_config_llm *llm = &plain;
    driver_targets(&d, &llm, 1);
    d.order.route.chat_key = chat_key;
    driver_start(&d);
    struct sma_model_ask ask;
    char *bytes = driver_request(&d, &ask), *at = strstr(bytes, name);
    CHECK(at != NULL && strspn(at + sizeof name - 1, "0123456789abcdef") == 16);
    snprintf(key, 17, "%s", at + sizeof name - 1);
    free(bytes);
}

CASE(the_cache_key_is_the_chat_s)
{
    char one[17], again[17], other[17];
    cache_key_of(SMA_STR("t:1"), one);
    cache_key_of(SMA_STR("t:1"), again);
    cache_key_of(SMA_STR("t:2"), other);
    CHECK_TEXT(one, again);
    CHECK(strcmp(one, other) != 0);
}

/* -- thinking ---------------------------------------------------------------------------------- */
CASE(thinking_behind_a_shortened_result_is_left_out_where_it_is_bound)
{
    static const struct sma_config_llm *const both[] = {&binding, &unbound};
    for (size_t i = 0; i < SMA_COUNT_OF(both); i++) {
        struct driver d;
        begin(&d, both[i]);
        driver_start(&d);
        round_of(&d, 'a', 100);
        round_of(&d, 'b', 40000);
        round_of(&d, 'c', 100);
        overflow(&d);
        CHECK_INT(1, count_of(&d, left_out));
        CHECK_INT(1, count_of(&d, "THINKa")); /* nothing before it has changed */
        CHECK_INT(1, count_of(&d, "THINKb")); /* nor before this: its result came later */
        CHECK_INT(i == 1, count_of(&d, "THINKc"));
        CHECK_INT(3, count_of(&d, "\"tool_use\""));
        round_of(&d, 'd', 100);
        CHECK_INT(1, count_of(&d, "THINKd")); /* thought after what is sent now */
        driver_fini(&d);
    }
}

CASE(thinking_is_left_out_when_the_conversation_is_cleared_under_it)
{
    static const struct sma_config_llm *const both[] = {&binding, &unbound};
    for (size_t i = 0; i < SMA_COUNT_OF(both); i++) {
        struct driver d;
        begin(&d, both[i]);
        driver_start(&d);
        round_of(&d, 'a', 100);
        driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_CLEARED});
        CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) != NULL);
        CHECK_INT(i == 1, count_of(&d, "THINKa"));
        round_of(&d, 'b', 100);
        CHECK_INT(1, count_of(&d, "THINKb"));
        driver_fini(&d);
    }
}

CASES_MAIN
