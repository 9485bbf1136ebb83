/* What real platforms refuse. Source: protocols/llm.md §2–§5, §7. */
#include "fake_model.h"

#include "sma/text.h"

#include <string.h>

static bool is_known(const char *key, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        if (strcmp(*keys, key) == 0)
            return true;
    return false;
}

static const char *check_members(json_t *object, const char *const *keys, const char *complaint)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) if (!is_known(key, keys)) return complaint;
    return NULL;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static bool is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

static bool is(const json_t *object, const char *key, const char *text)
{
    return strcmp(text_of(object, key), text) == 0;
}

/* -- ids: each call once, each answered once --------------------------------------------------- */
#define OPEN_COUNT_MAX 64
struct open_calls
{
    const char *ids[OPEN_COUNT_MAX];
    size_t count;
};

static const char *open_call(struct open_calls *open, json_t *seen, const char *id)
{
    if (id[0] == '\0')
        return "a tool call has no id";
    if (json_object_get(seen, id) != NULL)
        return "a tool call id is used twice";
    json_object_set_new(seen, id, json_true());
    if (open->count == OPEN_COUNT_MAX)
        return "too many tool calls";
    open->ids[open->count++] = id;
    return NULL;
}

static const char *close_call(struct open_calls *open, const char *id)
{
    for (size_t i = 0; i < open->count; i++)
        if (strcmp(open->ids[i], id) == 0) {
            open->ids[i] = open->ids[--open->count];
            return NULL;
        }
    return "a tool result answers no open call";
}

/* -- chat -------------------------------------------------------------------------------------- */
static const char *check_text_blocks(const json_t *content, const char *type)
{
    if (json_is_string(content))
        return NULL;
    if (json_array_size(content) == 0)
        return "content must be a string or a list of blocks";
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *block = json_array_get(content, i);
        if (!is(block, "type", type) || text_of(block, "text")[0] == '\0')
            return "a content block is empty or of the wrong type";
    }
    return NULL;
}

/* What the user's side may hold besides text. */
static const char *check_user_blocks(enum sma_llm_api api, const json_t *content)
{
    const char *bad = NULL;
    if (json_is_string(content))
        return NULL;
    if (json_array_size(content) == 0)
        return "content must be a string or a list of blocks";
    for (size_t i = 0; bad == NULL && i < json_array_size(content); i++)
        bad = fake_check_block(api, json_array_get(content, i));
    return bad;
}

static const char *check_assistant_call(const json_t *call)
{
    const json_t *function = json_object_get(call, "function");
    if (!is(call, "type", "function") || text_of(function, "name")[0] == '\0')
        return "a tool call needs type function and a name";
    const char *arguments = json_string_value(json_object_get(function, "arguments"));
    json_t *parsed = arguments == NULL ? NULL : json_loads(arguments, JSON_DECODE_ANY, NULL);
    if (parsed == NULL)
        return "function.arguments must be a string of JSON";
    json_decref(parsed);
    return NULL;
}

static const char *check_chat_assistant(json_t *message, struct open_calls *open, json_t *seen,
                                        const struct fake_check_options *options)
{
    static const char *const keys[] = {"role",          "content",
                                       "tool_calls",    "reasoning_content",
                                       "reasoning",     "reasoning_details",
                                       "name",          "refusal",
                                       "extra_content", NULL};
    const char *bad = check_members(message, keys, "unknown member in an assistant message");
    const json_t *calls = json_object_get(message, "tool_calls");
    const json_t *content = json_object_get(message, "content");
    if (bad == NULL && calls == NULL && !json_is_string(content))
        bad = "an assistant message needs content or tool_calls";
    if (bad == NULL && calls != NULL && json_array_size(calls) == 0)
        bad = "tool_calls must not be empty";
    if (bad == NULL && calls != NULL && options->is_deepseek &&
        !json_is_string(json_object_get(message, "reasoning_content")))
        bad = "The reasoning_content in the thinking mode must be passed back to the API.";
    for (size_t i = 0; bad == NULL && i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        bad = check_assistant_call(call);
        if (bad == NULL)
            bad = open_call(open, seen, text_of(call, "id"));
    }
    return bad;
}

static const char *check_chat_messages(const json_t *messages, json_t *seen,
                                       const struct fake_check_options *options)
{
    struct open_calls open = {.count = 0};
    const char *bad = NULL;
    for (size_t i = 0; bad == NULL && i < json_array_size(messages); i++) {
        json_t *message = json_array_get(messages, i);
        if (is(message, "role", "tool")) {
            bad = close_call(&open, text_of(message, "tool_call_id"));
            if (bad == NULL && !json_is_string(json_object_get(message, "content")))
                bad = json_object_get(message, "content") == NULL
                          ? "a tool message needs content"
                          : check_text_blocks(json_object_get(message, "content"), "text");
            continue;
        }
        if (open.count > 0)
            return "An assistant message with 'tool_calls' must be followed by tool messages "
                   "responding to each "
                   "'tool_call_id'.";
        if (is(message, "role", "assistant"))
            bad = check_chat_assistant(message, &open, seen, options);
        else if (is(message, "role", "user"))
            bad = check_user_blocks(SMA_LLM_CHAT, json_object_get(message, "content"));
        else if ((!is(message, "role", "system") && !is(message, "role", "developer")) || i > 0)
            bad = "unknown role, or a system message in the middle";
    }
    return bad == NULL && open.count > 0 ? "tool calls without results at the end" : bad;
}

static const char *check_schema(const json_t *schema)
{
    return is(schema, "type", "object") ? NULL
                                        : "a tool's parameters must be a schema of type object";
}

static const char *check_chat(json_t *root, const struct fake_check_options *options)
{
    static const char *const keys[] = {"model",
                                       "messages",
                                       "tools",
                                       "stream",
                                       "stream_options",
                                       "max_tokens",
                                       "max_completion_tokens",
                                       "temperature",
                                       "top_p",
                                       "frequency_penalty",
                                       "presence_penalty",
                                       "prompt_cache_key",
                                       "tool_choice",
                                       "reasoning_effort",
                                       "stop",
                                       NULL};
    const char *bad = options->has_profile
                          ? NULL
                          : check_members(root, keys, "Unrecognized request argument supplied");
    const json_t *tools = json_object_get(root, "tools");
    if (bad == NULL && json_object_get(root, "stream_options") != NULL &&
        !json_is_true(json_object_get(root, "stream")))
        bad = "stream_options needs stream";
    for (size_t i = 0; bad == NULL && i < json_array_size(tools); i++) {
        const json_t *function = json_object_get(json_array_get(tools, i), "function");
        bad = text_of(function, "name")[0] == '\0'
                  ? "a tool has no name"
                  : check_schema(json_object_get(function, "parameters"));
    }
    json_t *seen = json_object();
    if (bad == NULL)
        bad = check_chat_messages(json_object_get(root, "messages"), seen, options);
    json_decref(seen);
    return bad;
}

/* -- responses --------------------------------------------------------------------------------- */
static const char *check_responses(json_t *root, const struct fake_check_options *options)
{
    static const char *const keys[] = {"model",
                                       "input",
                                       "instructions",
                                       "tools",
                                       "stream",
                                       "store",
                                       "include",
                                       "max_output_tokens",
                                       "temperature",
                                       "top_p",
                                       "reasoning",
                                       "prompt_cache_key",
                                       "tool_choice",
                                       "parallel_tool_calls",
                                       NULL};
    const char *bad = options->has_profile ? NULL : check_members(root, keys, "Unknown parameter");
    const json_t *tools = json_object_get(root, "tools"), *input = json_object_get(root, "input");
    for (size_t i = 0; bad == NULL && i < json_array_size(tools); i++)
        bad = text_of(json_array_get(tools, i), "name")[0] == '\0'
                  ? "a tool has no name"
                  : check_schema(json_object_get(json_array_get(tools, i), "parameters"));
    json_t *seen = json_object();
    struct open_calls open = {.count = 0};
    for (size_t i = 0; bad == NULL && i < json_array_size(input); i++) {
        const json_t *item = json_array_get(input, i);
        if (is(item, "type", "function_call_output")) {
            bad = close_call(&open, text_of(item, "call_id"));
            if (bad == NULL)
                bad = check_user_blocks(SMA_LLM_RESPONSES, json_object_get(item, "output"));
        } else if (is(item, "type", "function_call")) {
            bad = json_is_string(json_object_get(item, "arguments"))
                      ? open_call(&open, seen, text_of(item, "call_id"))
                      : "arguments must be a string";
        } else if (is(item, "role", "user")) {
            bad = open.count > 0
                      ? "No tool output found for function call"
                      : check_user_blocks(SMA_LLM_RESPONSES, json_object_get(item, "content"));
        }
    }
    json_decref(seen);
    return bad == NULL && open.count > 0 ? "No tool output found for function call" : bad;
}

/* -- messages ---------------------------------------------------------------------------------- */
static const char *check_results_first(const json_t *content, struct open_calls *open)
{
    const char *bad = NULL;
    bool has_other = false;
    for (size_t i = 0; bad == NULL && i < json_array_size(content); i++) {
        const json_t *block = json_array_get(content, i);
        if (is(block, "type", "tool_result")) {
            bad = has_other ? "tool_result blocks must come first"
                            : close_call(open, text_of(block, "tool_use_id"));
            const json_t *shown = json_object_get(block, "content");
            if (bad == NULL && json_is_array(shown))
                bad = json_is_true(json_object_get(block, "is_error"))
                          ? check_text_blocks(shown, "text")
                          : check_user_blocks(SMA_LLM_MESSAGES, shown);
        } else {
            has_other = true;
            if (is(block, "type", "text") && is_blank(text_of(block, "text")))
                bad = "text content blocks must contain non-whitespace text";
            else
                bad = fake_check_block(SMA_LLM_MESSAGES, block);
        }
    }
    if (bad == NULL && open->count > 0)
        bad = "`tool_use` ids were found without `tool_result` blocks immediately after";
    return bad;
}

static const char *check_blocks(const json_t *content, struct open_calls *open, json_t *seen)
{
    const char *bad = NULL;
    for (size_t i = 0; bad == NULL && i < json_array_size(content); i++) {
        const json_t *block = json_array_get(content, i);
        if (is(block, "type", "tool_use"))
            bad = json_is_object(json_object_get(block, "input"))
                      ? open_call(open, seen, text_of(block, "id"))
                      : "tool_use.input must be an object";
        else if (is(block, "type", "text") && is_blank(text_of(block, "text")))
            bad = "text content blocks must contain non-whitespace text";
        else if (is(block, "type", "thinking") && text_of(block, "signature")[0] == '\0')
            bad = "thinking blocks need their signature";
        else if (is(block, "type", "image") || is(block, "type", "document"))
            bad = "an assistant message may not hold images";
    }
    return bad;
}

static const char *check_message_list(const json_t *messages, json_t *seen, bool may_have_system)
{
    struct open_calls open = {.count = 0};
    const char *bad = is(json_array_get(messages, 0), "role", "user")
                          ? NULL
                          : "first message must be of the user";
    for (size_t i = 0; bad == NULL && i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i),
                     *content = json_object_get(message, "content");
        if (json_is_string(content) ? json_string_length(content) == 0
                                    : json_array_size(content) == 0)
            return "messages must have non-empty content";
        if (is(message, "role", "user"))
            bad = check_results_first(content, &open);
        else if (is(message, "role", "system") && may_have_system && open.count == 0)
            continue;
        else if (!is(message, "role", "assistant"))
            bad = "role must be user or assistant";
        else if (open.count > 0)
            bad = "`tool_use` ids were found without `tool_result` blocks immediately after";
        else
            bad = check_blocks(content, &open, seen);
    }
    if (bad == NULL &&
        is(json_array_get(messages, json_array_size(messages) - 1), "role", "assistant"))
        bad = "prefill is not supported";
    return bad;
}

static const char *check_messages(json_t *root, const struct fake_check_options *options)
{
    static const char *const keys[] = {
        "model",          "messages",      "system",   "tools",       "stream",        "max_tokens",
        "temperature",    "top_p",         "thinking", "tool_choice", "output_config", "metadata",
        "stop_sequences", "cache_control", "top_k",    NULL};
    const char *bad =
        options->has_profile ? NULL : check_members(root, keys, "Extra inputs are not permitted");
    const json_t *tools = json_object_get(root, "tools");
    if (bad == NULL && json_integer_value(json_object_get(root, "max_tokens")) <= 0)
        bad = "max_tokens: Field required";
    for (size_t i = 0; bad == NULL && i < json_array_size(tools); i++)
        bad = check_schema(json_object_get(json_array_get(tools, i), "input_schema"));
    json_t *seen = json_object();
    if (bad == NULL)
        bad = check_message_list(json_object_get(root, "messages"), seen, options->has_profile);
    json_decref(seen);
    return bad;
}

json_t *fake_messages(enum sma_llm_api api, const json_t *root)
{
    return json_object_get(root, api == SMA_LLM_RESPONSES ? "input" : "messages");
}

const char *fake_check(enum sma_llm_api api, const json_t *root,
                       const struct fake_check_options *options)
{
    if (!json_is_object(root))
        return "the body is not a JSON object";
    if (text_of(root, "model")[0] == '\0')
        return "you must provide a model parameter";
    if (json_array_size(fake_messages(api, root)) == 0)
        return "there are no messages";
    const char *bad = fake_check_pictures(fake_messages(api, root), options->is_blind);
    if (bad != NULL)
        return bad;
    if (api == SMA_LLM_RESPONSES)
        return check_responses((json_t *)root, options);
    return api == SMA_LLM_MESSAGES ? check_messages((json_t *)root, options)
                                   : check_chat((json_t *)root, options);
}

/* -- the newest turn --------------------------------------------------------------------------- */
static struct sma_str slice(const json_t *value)
{
    if (json_is_array(value)) /* a list of one text, perhaps with what it shows */
        value = json_object_get(json_array_get(value, 0), "text");
    return json_is_string(value)
               ? (struct sma_str){json_string_value(value), json_string_length(value)}
               : (struct sma_str){"", 0};
}

static struct sma_str behind(struct sma_str text, const char *gap)
{
    const char *end = text.len == 0 ? NULL : memmem(text.ptr, text.len, gap, strlen(gap));
    if (end == NULL)
        return (struct sma_str){"", 0};
    end += strlen(gap);
    return (struct sma_str){end, (size_t)(text.ptr + text.len - end)};
}

/* What the program tells of a message and its files stands before the words. "[[" are words, and so
 * is a conversation that a client of the OpenAI format brings. */
static bool is_told(struct sma_str text)
{
    static const char *const begins[] = {"@attach ", "This message ", "It was ", "["};
    bool is_told = false;
    for (size_t i = 0; i < SMA_COUNT_OF(begins); i++)
        is_told = is_told || sma_str_starts_with(text, sma_str(begins[i]));
    return is_told && !sma_str_starts_with(text, SMA_STR("[[")) &&
           !sma_str_starts_with(text, SMA_STR("[The conversation so far]"));
}

/* The program's blocks, all "[facts WORD ...", and behind the last of them what the user wrote, as
 * one string. */
static void read_joined(struct sma_str text, struct sma_offline_turn *turn)
{
    struct sma_str rest = text, next, begin;
    while (rest.len > 0 && !sma_str_starts_with(rest, SMA_STR("[facts ")))
        rest = behind(rest, "\n\n"); /* of a file that is not shown it tells before them */
    text = rest.len > 0 ? rest : text;
    begin = (struct sma_str){text.ptr, strcspn(text.ptr, "],")};
    rest = text;
    *turn = (struct sma_offline_turn){.facts = text};
    for (; rest.len > 0; rest = behind(rest, "\n\n"))
        if (sma_str_starts_with(rest, begin))
            text = rest;
    if (sma_offline_is_note(text)) /* and then what the chat said, lines that end */
        text = behind(text, "\n\n\n");
    while (is_told(text) && (next = sma_str_trim(behind(text, "\n\n"))).len > 0)
        text = next;
    turn->text = text;
}

static void read_user(const json_t *content, struct sma_offline_turn *turn)
{
    size_t count = json_array_size(content);
    if (json_is_string(content) && json_string_length(content) > 0 &&
        json_string_value(content)[0] == '[' && !sma_offline_is_note(slice(content))) {
        read_joined(slice(content), turn);
        return;
    }
    if (sma_offline_is_note(slice(content))) { /* the user's words are asked for again */
        turn->has_result = false;
        return;
    }
    *turn = (struct sma_offline_turn){.text = slice(content), .facts = {"", 0}};
    if (count > 0)
        turn->text = slice(json_object_get(json_array_get(content, count - 1), "text"));
    for (size_t i = 0; i + 1 < count && turn->facts.len == 0; i++)
        turn->facts = slice(json_object_get(json_array_get(content, i), "text"));
}

static void take_result(struct sma_offline_turn *turn, json_t *names, const char *id,
                        const json_t *result)
{
    turn->has_result = true;
    turn->tool = slice(json_object_get(names, id));
    turn->result = slice(result);
}

static void note_calls(json_t *names, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *call = json_array_get(list, i), *function = json_object_get(call, "function");
        json_t *name = json_object_get(function != NULL ? function : call, "name");
        if (name != NULL && json_is_string(json_object_get(call, "id")))
            json_object_set(names, text_of(call, "id"), name);
    }
}

void fake_read_turn(enum sma_llm_api api, const json_t *messages, struct sma_offline_turn *turn)
{
    json_t *names = json_object(); /* id of a call -> its name, borrowed from the tree */
    *turn = (struct sma_offline_turn){.text = {"", 0}, .facts = {"", 0}};
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i),
                     *content = json_object_get(message, "content");
        const json_t *first = json_array_get(content, 0);
        if (is(message, "role", "tool"))
            take_result(turn, names, text_of(message, "tool_call_id"), content);
        else if (is(message, "type", "function_call_output"))
            take_result(turn, names, text_of(message, "call_id"),
                        json_object_get(message, "output"));
        else if (is(message, "type", "function_call"))
            json_object_set(names, text_of(message, "call_id"), json_object_get(message, "name"));
        else if (is(message, "role", "assistant"))
            note_calls(names,
                       api == SMA_LLM_MESSAGES ? content : json_object_get(message, "tool_calls"));
        else if (is(message, "role", "user") && is(first, "type", "tool_result"))
            take_result(
                turn, names,
                text_of(json_array_get(content, json_array_size(content) - 1), "tool_use_id"),
                json_object_get(json_array_get(content, json_array_size(content) - 1), "content"));
        else if (is(message, "role", "user"))
            read_user(content, turn);
    }
    json_decref(names);
}
