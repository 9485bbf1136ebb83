/* Counts, in the members of each provider. Source: protocols/models.md §3. */
#include "fake_model_answer.h"

#include <string.h>

#define THOUGHT_TOKENS 9

size_t fake_output_tokens(const struct fake_question *question, const struct fake_answer *answer)
{
    size_t bytes = answer->text.len;
    for (size_t i = 0; i < answer->call_count; i++)
        bytes += answer->calls[i].name.len + answer->calls[i].arguments.len;
    return 1 + bytes / FAKE_BYTES_PER_TOKEN + (question->is_thinking ? THOUGHT_TOKENS : 0);
}

static json_t *messages_usage(const struct fake_question *question,
                              const struct fake_answer *answer)
{
    const struct fake_price *price = &answer->price;
    return json_pack("{s:I,s:I,s:{s:I,s:i},s:I,s:I,s:s}", "input_tokens",
                     (json_int_t)(price->tokens - price->read - price->written),
                     "cache_creation_input_tokens", (json_int_t)price->written, "cache_creation",
                     "ephemeral_5m_input_tokens", (json_int_t)price->written,
                     "ephemeral_1h_input_tokens", 0, "cache_read_input_tokens",
                     (json_int_t)price->read, "output_tokens",
                     (json_int_t)fake_output_tokens(question, answer), "service_tier", "standard");
}

static json_t *responses_usage(const struct fake_question *question,
                               const struct fake_answer *answer)
{
    const struct fake_price *price = &answer->price;
    json_int_t output = (json_int_t)fake_output_tokens(question, answer);
    json_t *usage =
        json_pack("{s:I,s:{s:I},s:I,s:{s:I},s:I}", "input_tokens", (json_int_t)price->tokens,
                  "input_tokens_details", "cached_tokens", (json_int_t)price->read, "output_tokens",
                  output, "output_tokens_details", "reasoning_tokens",
                  (json_int_t)(question->is_thinking ? THOUGHT_TOKENS : 0), "total_tokens",
                  (json_int_t)price->tokens + output);
    if (question->family->flags & FAKE_COUNTS_WRITES)
        json_object_set_new(json_object_get(usage, "input_tokens_details"), "cache_write_tokens",
                            json_integer((json_int_t)price->written));
    return usage;
}

static void put_details(json_t *usage, const struct fake_question *question,
                        const struct fake_price *price, bool is_always)
{
    json_t *details = json_object();
    if (price->read > 0 || is_always)
        json_object_set_new(details, "cached_tokens", json_integer((json_int_t)price->read));
    if ((question->family->flags & FAKE_COUNTS_WRITES) || price->written > 0)
        json_object_set_new(details, "cache_write_tokens",
                            json_integer((json_int_t)price->written));
    json_object_set_new(usage, "prompt_tokens_details", details);
}

static json_t *chat_usage(const struct fake_question *question, const struct fake_answer *answer)
{
    const struct fake_price *price = &answer->price;
    json_int_t thought = question->is_thinking ? THOUGHT_TOKENS : 0,
               output = (json_int_t)fake_output_tokens(question, answer),
               input = (json_int_t)price->tokens;
    bool is_gemini = question->profile->count == FAKE_COUNT_GEMINI;
    json_t *usage =
        json_pack("{s:I,s:I,s:I}", "prompt_tokens", input, "completion_tokens",
                  is_gemini ? output - thought : output, "total_tokens", input + output);
    switch (question->profile->count) {
    case FAKE_COUNT_HIT_MISS:
        json_object_set_new(usage, "prompt_cache_hit_tokens",
                            json_integer((json_int_t)price->read));
        json_object_set_new(usage, "prompt_cache_miss_tokens",
                            json_integer(input - (json_int_t)price->read));
        break;
    case FAKE_COUNT_TOP:
        json_object_set_new(usage, "cached_tokens", json_integer((json_int_t)price->read));
        break;
    case FAKE_COUNT_OPENROUTER:
        json_object_set_new(usage, "cost", json_real(price->paid));
        put_details(usage, question, price, true);
        break;
    case FAKE_COUNT_OPENAI:
    case FAKE_COUNT_GEMINI:
        put_details(usage, question, price, !is_gemini);
        break;
    case FAKE_COUNT_PLAIN:
        return usage;
    }
    if (!is_gemini)
        json_object_set_new(usage, "completion_tokens_details",
                            json_pack("{s:I}", "reasoning_tokens", thought));
    return usage;
}

json_t *fake_usage(const struct fake_question *question, const struct fake_answer *answer)
{
    if (question->api == SMA_LLM_MESSAGES)
        return messages_usage(question, answer);
    return question->api == SMA_LLM_RESPONSES ? responses_usage(question, answer)
                                              : chat_usage(question, answer);
}
