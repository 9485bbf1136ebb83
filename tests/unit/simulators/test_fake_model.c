/*
 * Aim: the model server refuses what each provider refuses, in the provider's words, takes what it
 *      takes, and counts what its cache counts. Source: protocols/models.md §2, §3, §5, §6.3.
 * Method: requests over sockets, one row a rule; what is refused without a member is taken with it,
 *   or the other way round. test_fake_model FAKE_MODEL
 */
#include "scenario/http_client.h"
#include "scenario/process.h"
#include "support/check.h"

#include <jansson.h>
#include <string.h>

static int port;

static struct http_answer ask(const char *path, const char *headers, const char *body)
{
    char more[512];
    snprintf(more, sizeof more,
             "Authorization: Bearer k\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n%s",
             headers);
    return http_ask(port, path, more, body, 10000);
}

/* -- what is refused --------------------------------------------------------------------------- */
#define TOOL_CHAT                                                                              \
    "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":" \
    "\"object\",\"properties\":{}}}}]"
#define TOOL_FLAT                                                                           \
    "\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{\"type\":\"object\"," \
    "\"properties\":{}},\"strict\":false}]"
#define TOOL_MESSAGES "\"tools\":[{\"name\":\"f\",\"input_schema\":{\"type\":\"object\"}}]"
#define USER "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define INPUT "\"input\":[{\"role\":\"user\",\"content\":\"hi\"}]"
#define CALL(id, more)                                                                          \
    "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":" \
    "\"\"" more ",\"tool_calls\":[{\"id\":\"" id "\",\"type\":\"function\",\"function\":{"      \
    "\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"" id         \
    "\",\"content\":\"x\"}]"

struct rule
{
    const char *profile, *model, *members;
    const char *part; /* of the refusal; NULL = taken */
};

static const struct rule CHAT[] = {
    {"openai", "gpt-5.4", "\"max_tokens\":100," USER, "Use 'max_completion_tokens' instead"},
    {"openai", "gpt-5.4", "\"max_completion_tokens\":100," USER, NULL},
    {"openai", "gpt-4o", "\"max_tokens\":100,\"temperature\":0.7," USER, NULL},
    {"openai", "gpt-5.4", "\"temperature\":0.7," USER, "temperature"},
    {"openai", "gpt-5.4", "\"temperature\":0.7,\"reasoning_effort\":\"none\"," USER, NULL},
    {"openai", "gpt-6-astra", "\"temperature\":0.7," USER, "temperature"},
    {"openai", "gpt-5.6-sol", TOOL_CHAT "," USER, "Function tools with reasoning_effort"},
    {"openai", "gpt-5.6-sol", TOOL_CHAT ",\"reasoning_effort\":\"none\"," USER, NULL},
    {"openai", "gpt-6-astra", TOOL_CHAT "," USER, "Function tools with reasoning_effort"},
    {"openai", "gpt-5.5", TOOL_CHAT "," USER, NULL},
    {"openai", "gpt-5.5", TOOL_CHAT ",\"reasoning_effort\":\"low\"," USER, "Function tools"},
    {"openai", "gpt-6-sol", "\"reasoning_effort\":\"max\"," USER, "Supported values are"},
    {"openai", "gpt-5.4", "\"presence_penalty\":1," USER, "presence_penalty"},
    {"openai", "gpt-5.4", "\"bogus\":1," USER, "bogus"},
    {"openai", "gpt-2", USER, "does not exist"},
    {"openai", "gpt-4o", CALL("x123456789012345678901234567890123456789012", ""),
     "maximum length 40"},
    {"deepseek", "deepseek-chat", USER, "does not exist"},
    {"deepseek", "deepseek-flash", CALL("c1", ""), "must be passed back"},
    {"deepseek", "deepseek-flash", CALL("c1", ",\"reasoning_content\":\"\""), NULL},
    {"deepseek", "deepseek-flash",
     "\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":"
     "\"b\"},{\"role\":\"user\",\"content\":\"c\"}]",
     "must be passed back"},
    {"deepseek", "deepseek-flash",
     "\"thinking\":{\"type\":\"disabled\"}," CALL("c1", ",\"reasoning_content\":\"\""),
     "not allowed when thinking is disabled"},
    {"deepseek", "deepseek-flash", TOOL_CHAT ",\"tool_choice\":\"required\"," USER, "tool_choice"},
    {"deepseek", "deepseek-flash",
     TOOL_CHAT ",\"tool_choice\":\"required\",\"thinking\":{\"type\":\"disabled\"}," USER, NULL},
    {"deepseek", "deepseek-flash", "\"reasoning_effort\":\"medium\"," USER, "reasoning_effort"},
    {"deepseek", "deepseek-flash",
     "\"messages\":[{\"role\":\"developer\",\"content\":\"a\"},{\"role\":\"user\",\"content\":"
     "\"b\"}]",
     "unknown variant"},
    {"kimi", "kimi-k3", "\"thinking\":{\"type\":\"enabled\"}," USER, "thinking"},
    {"kimi", "kimi-k3", "\"temperature\":1," USER, "temperature"},
    {"kimi", "kimi-k3", TOOL_CHAT ",\"tool_choice\":\"required\"," USER, NULL},
    {"kimi", "kimi-k3", CALL("functions.f:0", ""), "reasoning_content is missing"},
    {"kimi", "kimi-k2.7-code", "\"reasoning_effort\":\"high\"," USER, "reasoning_effort"},
    {"kimi", "kimi-k2.6", TOOL_CHAT ",\"tool_choice\":\"required\"," USER, "tool_choice"},
    {"qwen", "qwen3.8-max", "\"reasoning_effort\":\"low\",\"thinking_budget\":5," USER,
     "cannot be used together"},
    {"qwen", "qwen3.8-max", TOOL_CHAT ",\"tool_choice\":\"required\"," USER, "tool_choice"},
    {"qwen", "qwen3.8-max",
     TOOL_CHAT ",\"tool_choice\":\"required\",\"enable_thinking\":false," USER, NULL},
    {"glm", "glm-5.3", "\"reasoning_effort\":\"medium\"," USER, "\"1210\""},
    {"glm", "glm-5.3", TOOL_CHAT ",\"tool_choice\":\"none\"," USER, "Tool choice must be auto"},
    {"glm", "glm-5.3", "\"max_tokens\":131073," USER, "\"1210\""},
    {"glm", "glm-9", USER, "\"1211\""},
    {"gemini", "gemini-4-argon", "\"reasoning_effort\":\"minimal\"," USER, "Supported values"},
    {"gemini", "gemini-4-argon", CALL("c1", ""), "missing a thought_signature"},
    {"gemini", "gemini-4-argon",
     "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"},{\"role\":\"assistant\",\"content\":"
     "\"\",\"tool_calls\":[{\"id\":\"c\",\"type\":\"function\",\"extra_content\":{\"google\":{"
     "\"thought_signature\":\"skip_thought_signature_validator\"}},\"function\":{\"name\":\"f\","
     "\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"x\"}]",
     NULL},
    {"strict", "m", "\"stream_options\":{\"include_usage\":true},\"stream\":true," USER,
     "stream_options"},
    {"strict", "m", "\"reasoning_effort\":\"low\"," USER, "reasoning_effort"},
    {"ollama", "m", "\"anything\":1," USER, NULL},
};

static const struct rule RESPONSES[] = {
    {"openai", "gpt-4o", "\"include\":[\"reasoning.encrypted_content\"]," INPUT,
     "Encrypted content is not supported"},
    {"openai", "gpt-5.4", "\"include\":[\"reasoning.encrypted_content\"]," INPUT, NULL},
    {"openai", "gpt-5.4", "\"max_output_tokens\":15," INPUT, "Expected a value >= 16"},
    {"openai", "gpt-5.4", "\"max_output_tokens\":16," INPUT, NULL},
    {"openai", "gpt-6-astra", TOOL_FLAT "," INPUT, NULL},
    {"openai", "gpt-6-astra", "\"reasoning\":{\"effort\":\"max\"}," INPUT, NULL},
    {"openai", "gpt-6-astra", "\"reasoning\":{\"effort\":\"none\"}," INPUT, "Supported values"},
    {"openai", "gpt-4o", "\"reasoning\":{\"effort\":\"low\"}," INPUT, "reasoning"},
    {"openai", "gpt-5.4",
     "\"input\":[{\"role\":\"user\",\"content\":\"a\"},{\"type\":\"function_call\",\"call_id\":"
     "\"functions.f:0\",\"name\":\"f\",\"arguments\":\"{}\"},{\"type\":\"function_call_output\","
     "\"call_id\":\"functions.f:0\",\"output\":\"x\"}]",
     "Expected an ID"},
    {"openai", "gpt-5.4",
     "\"input\":[{\"role\":\"user\",\"content\":\"a\"},{\"type\":\"reasoning\",\"id\":\"rs_1\","
     "\"summary\":[],\"encrypted_content\":\"sig\"},{\"role\":\"user\",\"content\":\"b\"}]",
     "could not be verified"},
    {"openai", "gpt-5.4",
     "\"input\":[{\"role\":\"user\",\"content\":\"a\"},{\"type\":\"reasoning\",\"id\":\"rs_1\","
     "\"summary\":[]},{\"role\":\"user\",\"content\":\"b\"}]",
     "not found"},
};

#define M "\"max_tokens\":2000,"
#define MARK "\"cache_control\":{\"type\":\"ephemeral\"}"
#define MARKED "{\"type\":\"text\",\"text\":\"a\"," MARK "}"
static const struct rule MESSAGES[] = {
    {"anthropic", "claude-sonnet-5-5", M USER, NULL},
    {"anthropic", "claude-sonnet-4-20250514", M USER, "not_found_error"},
    {"anthropic", "claude-opus-4-7", M "\"temperature\":0.7," USER, "`temperature`"},
    {"anthropic", "claude-sonnet-4-5", M "\"temperature\":0.7," USER, NULL},
    {"anthropic", "claude-sonnet-4-5", M "\"temperature\":0.7,\"top_p\":0.9," USER, "cannot both"},
    {"anthropic", "claude-opus-5-5", M "\"thinking\":{\"type\":\"disabled\"}," USER, "disabled"},
    {"anthropic", "claude-opus-5", M "\"thinking\":{\"type\":\"disabled\"}," USER, NULL},
    {"anthropic", "claude-opus-5",
     M "\"output_config\":{\"effort\":\"xhigh\"},\"thinking\":{\"type\":\"disabled\"}," USER,
     "disabled"},
    {"anthropic", "claude-sonnet-5-5", M "\"thinking\":{\"type\":\"between_tools\"}," USER, NULL},
    {"anthropic", "claude-opus-5-5", M "\"thinking\":{\"type\":\"between_tools\"}," USER,
     "between_tools"},
    {"anthropic", "claude-opus-4-8",
     M "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}," USER, "adaptive"},
    {"anthropic", "claude-sonnet-4-5",
     M "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1024}," USER, NULL},
    {"anthropic", "claude-sonnet-4-5",
     M "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":512}," USER, "1024"},
    {"anthropic", "claude-sonnet-4-5", M "\"thinking\":{\"type\":\"adaptive\"}," USER, "adaptive"},
    {"anthropic", "claude-sonnet-4-5", M "\"output_config\":{\"effort\":\"low\"}," USER,
     "output_config.effort"},
    {"anthropic", "claude-opus-4-5", M "\"output_config\":{\"effort\":\"low\"}," USER, NULL},
    {"anthropic", "claude-opus-5-5", M TOOL_MESSAGES ",\"tool_choice\":{\"type\":\"any\"}," USER,
     "\\\"tool\\\" and \\\"any\\\" are not supported"},
    {"anthropic", "claude-fable-5", M TOOL_MESSAGES ",\"tool_choice\":{\"type\":\"any\"}," USER,
     NULL},
    {"anthropic", "claude-sonnet-5-5", "\"max_tokens\":128001," USER, "128000"},
    {"anthropic", "claude-sonnet-5-5",
     M "\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":"
       "\"b\"}]",
     "prefill"},
    {"anthropic", "claude-sonnet-5-5",
     M "\"messages\":[{\"role\":\"user\",\"content\":[" MARKED "," MARKED "," MARKED "," MARKED
       "," MARKED "]}]",
     "maximum of 4 blocks"},
    {"anthropic", "claude-sonnet-5-5",
     M MARK ",\"messages\":[{\"role\":\"user\",\"content\":[" MARKED "," MARKED "," MARKED "]}]",
     NULL},
    {"anthropic", "claude-sonnet-5",
     M "\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"system\",\"content\":"
       "\"b\"},{\"role\":\"user\",\"content\":\"a\"}]",
     "role 'system' is not supported"},
    {"anthropic", "claude-sonnet-5-5",
     M "\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"system\",\"content\":"
       "\"b\"},{\"role\":\"user\",\"content\":\"a\"}]",
     NULL},
    {"anthropic", "claude-sonnet-5-5",
     M "\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\" \\n\"}]}]",
     "non-whitespace"},
    {"anthropic", "claude-sonnet-5-5",
     M "\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":[{"
       "\"type\":\"tool_use\",\"id\":\"functions.f:0\",\"name\":\"f\",\"input\":{}}]},{\"role\":"
       "\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"functions.f:0\"}]}]",
     "should match pattern"},
    {"anthropic", "claude-sonnet-5-5",
     M "\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":[{"
       "\"type\":\"thinking\",\"thinking\":\"x\",\"signature\":\"forged\"},{\"type\":\"text\","
       "\"text\":\"b\"}]},{\"role\":\"user\",\"content\":\"c\"}]",
     "Invalid `signature`"},
};

static int play(const struct rule *rules, size_t count, const char *end)
{
    int wrong_count = 0;
    for (size_t i = 0; i < count; i++) {
        char path[80], body[3000];
        snprintf(path, sizeof path, "/%s/v1/%s", rules[i].profile, end);
        snprintf(body, sizeof body, "{\"model\":\"%s\",%s}", rules[i].model, rules[i].members);
        struct http_answer answer = ask(path, "", body);
        bool is_right = rules[i].part == NULL
                            ? answer.status == 200
                            : answer.status >= 400 && strstr(answer.body, rules[i].part) != NULL;
        if (!is_right)
            fprintf(stderr, "%s %s %s\n  wanted %s\n  got %d %s\n", rules[i].profile,
                    rules[i].model, rules[i].members, rules[i].part == NULL ? "200" : rules[i].part,
                    answer.status, answer.body);
        wrong_count += !is_right;
        http_answer_fini(&answer);
    }
    return wrong_count;
}

static void each_provider_refuses_what_it_refuses(void)
{
    int wrong_count = play(CHAT, SMA_COUNT_OF(CHAT), "chat/completions");
    wrong_count += play(RESPONSES, SMA_COUNT_OF(RESPONSES), "responses");
    wrong_count += play(MESSAGES, SMA_COUNT_OF(MESSAGES), "messages");
    CHECK_INT(0, wrong_count);
}

/* -- thoughts ---------------------------------------------------------------------------------- */
static json_t *post(const char *path, const char *headers, json_t *body, int status)
{
    char *text = json_dumps(body, JSON_COMPACT);
    struct http_answer answer = ask(path, headers, text);
    if (answer.status != status)
        fprintf(stderr, "%s\n%s\n", text, answer.body);
    CHECK_INT(status, answer.status);
    json_t *root = json_loads(answer.body, 0, NULL);
    free(text);
    http_answer_fini(&answer);
    return root;
}

#define MESSAGES_PATH "/anthropic/v1/messages"

/* A conversation of one call and its result. */
static json_t *claude_conversation(const char *system)
{
    json_t *body = json_pack("{s:s,s:i,s:s,s:[{s:s,s:s}]}", "model", "claude-opus-5-5",
                             "max_tokens", 2000, "system", system, "messages", "role", "user",
                             "content", "[[do: call f {}; text end]]");
    json_t *tools = json_pack("[{s:s,s:{s:s}}]", "name", "f", "input_schema", "type", "object");
    json_object_set_new(body, "tools", tools);
    json_t *answer = post(MESSAGES_PATH, "", body, 200);
    json_t *content = json_object_get(answer, "content"), *call = json_array_get(content, 1);
    CHECK_TEXT("thinking", json_string_value(json_object_get(json_array_get(content, 0), "type")));
    CHECK_TEXT("", json_string_value(json_object_get(json_array_get(content, 0), "thinking")));
    json_t *messages = json_object_get(body, "messages");
    json_array_append_new(messages,
                          json_pack("{s:s,s:O}", "role", "assistant", "content", content));
    json_array_append_new(messages, json_pack("{s:s,s:[{s:s,s:O,s:s}]}", "role", "user", "content",
                                              "type", "tool_result", "tool_use_id",
                                              json_object_get(call, "id"), "content", "ok"));
    json_decref(answer);
    return body;
}

static void a_bound_thought_wants_what_stood_before_it(void)
{
    json_t *body = claude_conversation("You are a test.");
    json_decref(post(MESSAGES_PATH, "", body, 200));
    json_object_set_new(body, "system", json_string("You are another test."));
    json_t *refusal = post(MESSAGES_PATH, "", body, 400);
    CHECK(strstr(json_string_value(json_object_get(json_object_get(refusal, "error"), "message")),
                 "bound to a different conversation") != NULL);
    json_decref(refusal);
    json_object_set_new(body, "thinking",
                        json_pack("{s:s,s:{s:s}}", "type", "adaptive", "block_binding",
                                  "prefix_mismatch_behavior", "drop_block"));
    json_decref(post(MESSAGES_PATH, "", body, 400)); /* the header is missing */
    json_decref(
        post(MESSAGES_PATH, "anthropic-beta: thinking-binding-controls-2026-08-01\r\n", body, 200));
    json_object_del(body, "thinking");
    json_array_remove(
        json_object_get(json_array_get(json_object_get(body, "messages"), 1), "content"), 0);
    json_decref(post(MESSAGES_PATH, "", body, 200)); /* all of them left out */
    json_decref(body);
}

static void marks_are_no_content(void)
{
    json_t *body = claude_conversation("You are marked.");
    json_object_set_new(body, "cache_control", json_pack("{s:s}", "type", "ephemeral"));
    json_decref(post(MESSAGES_PATH, "", body, 200));
    json_decref(body);
}

/* -- the price --------------------------------------------------------------------------------- */
static json_t *long_question(const char *model, size_t turns)
{
    char text[8001];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    json_t *messages = json_array();
    for (size_t i = 0; i < turns; i++) {
        snprintf(text, 80, "%s %zu %020d", model, i, 0);
        text[strlen(text)] = 'y';
        json_array_append_new(messages, json_pack("{s:s,s:s}", "role", i % 2 ? "assistant" : "user",
                                                  "content", text));
    }
    return json_pack("{s:s,s:i,s:o}", "model", model, "max_tokens", 2000, "messages", messages);
}

static json_int_t usage_of(json_t *answer, const char *member)
{
    json_int_t count =
        json_integer_value(json_object_get(json_object_get(answer, "usage"), member));
    json_decref(answer);
    return count;
}

static void read_sums(double *ret_paid, double *ret_perfect)
{
    struct http_answer answer = ask("/fake/state", "", NULL);
    json_t *root = json_loads(answer.body, 0, NULL);
    *ret_paid = json_real_value(json_object_get(root, "paid"));
    *ret_perfect = json_real_value(json_object_get(root, "perfect"));
    json_decref(root);
    http_answer_fini(&answer);
}

/* What a growing conversation costs, over what a perfectly cached one does. */
static double growing_ratio(bool is_marked, json_int_t *ret_read)
{
    double paid[2], perfect[2];
    read_sums(&paid[0], &perfect[0]);
    for (size_t turns = 1; turns < 22; turns += 2) {
        json_t *body = long_question("claude-sonnet-5-5", turns);
        json_object_set_new(body, "system", json_string(is_marked ? "marked" : "bare"));
        if (is_marked)
            json_object_set_new(body, "cache_control", json_pack("{s:s}", "type", "ephemeral"));
        *ret_read = usage_of(post(MESSAGES_PATH, "", body, 200), "cache_read_input_tokens");
        json_decref(body);
    }
    read_sums(&paid[1], &perfect[1]);
    return (paid[1] - paid[0]) / (perfect[1] - perfect[0]);
}

static void a_conversation_without_marks_is_paid_in_full(void)
{
    json_int_t read;
    CHECK(growing_ratio(false, &read) > 3);
    CHECK_INT(0, read);
    double ratio = growing_ratio(true, &read);
    CHECK(ratio > 0.999 && ratio < 1.001);
    CHECK(read > 19 * 1990);
}

static void automatic_caches_read_what_they_saw(void)
{
    json_t *first = long_question("deepseek-flash", 1);
    CHECK_INT(0, usage_of(post("/deepseek/v1/chat/completions", "", first, 200),
                          "prompt_cache_hit_tokens"));
    CHECK(usage_of(post("/deepseek/v1/chat/completions", "", first, 200),
                   "prompt_cache_hit_tokens") > 1900);
    json_decref(first);
}

static void a_window_is_a_window(void)
{
    static const struct
    {
        const char *profile, *model;
        int status;
        const char *part;
    } cases[] = {
        {"deepseek", "deepseek-flash", 400, "maximum context length is 100 tokens"},
        {"gemini", "gemini-4-argon", 400, "exceeds the maximum number of tokens allowed (100)"},
        {"llamacpp", "m", 400, "\"n_ctx\":100"},
        {"vllm", "m", 400, "{\"object\":\"error\""},
        {"groq", "m", 413, "Limit 100"},
        {"ollama", "m", 200, "\"usage\""},
        {"glm", "glm-5.3", 400, "\"1261\""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char path[80], body[1200], filler[801];
        memset(filler, 'z', 800);
        filler[800] = '\0';
        snprintf(path, sizeof path, "/%s/v1/chat/completions", cases[i].profile);
        snprintf(body, sizeof body,
                 "{\"model\":\"%s\",\"messages\":[{\"role\":\"user\",\"content\":\"[[window 100]] "
                 "%s\"}]}",
                 cases[i].model, filler);
        struct http_answer answer = ask(path, "", body);
        CHECK_INT(cases[i].status, answer.status);
        CHECK(strstr(answer.body, cases[i].part) != NULL);
        http_answer_fini(&answer);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    const char *options[] = {argv[1], "--key", "k", NULL};
    pid_t pid;
    port = server_start((char *const *)options, &pid);
    RUN(each_provider_refuses_what_it_refuses);
    RUN(a_bound_thought_wants_what_stood_before_it);
    RUN(marks_are_no_content);
    RUN(a_conversation_without_marks_is_paid_in_full);
    RUN(automatic_caches_read_what_they_saw);
    RUN(a_window_is_a_window);
    server_stop(pid);
    return check_summary();
}
