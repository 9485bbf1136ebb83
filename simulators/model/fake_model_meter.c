/* See fake_model_meter.h. Source: protocols/models.md §3. */
#include "fake_model.h"

#include <stdlib.h>
#include <string.h>

#define LOOKBACK_COUNT 20
#define SEEN_COUNT (1u << 17)
/* What a picture or file that is no icon counts for: 1,500 tokens (Anthropic: width x height / 750,
 * at most about that). */
#define PART_BYTES ((size_t)1500 * FAKE_BYTES_PER_TOKEN)

static uint64_t mix(uint64_t hash, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash == 0 ? 1 : hash;
}

/* -- units ------------------------------------------------------------------------------------- */
static bool strip_marks(json_t *value)
{
    bool is_marked = json_object_get(value, "cache_control") != NULL ||
                     json_object_get(value, "prompt_cache_breakpoint") != NULL;
    json_object_del(value, "cache_control");
    json_object_del(value, "prompt_cache_breakpoint");
    return is_marked;
}

static void add_unit(struct fake_units *units, const json_t *value, const char *role,
                     size_t message)
{
    if (units->count == FAKE_UNIT_COUNT_MAX)
        return;
    struct fake_unit *unit = &units->list[units->count];
    const struct fake_unit *before = units->count == 0 ? NULL : unit - 1;
    json_t *bare = json_is_string(value) ? json_pack("{s:s,s:O}", "type", "text", "text", value)
                                         : json_deep_copy(value);
    *unit = (struct fake_unit){.message = message, .is_marked = strip_marks(bare)};
    json_t *function = json_object_get(bare, "function"); /* a tool in chat completions */
    unit->is_marked |= json_is_object(function) && strip_marks(function);
    char *text = json_dumps(bare, JSON_COMPACT | JSON_SORT_KEYS);
    size_t len = text == NULL ? 0 : strlen(text);
    unit->prefix =
        mix(mix(before == NULL ? 14695981039346656037u : before->prefix, role, strlen(role)), text,
            len);
    unit->cached = unit->prefix;
    size_t base64 = fake_count_base64(bare);
    units->bytes += base64 < PART_BYTES ? len : len - base64 + PART_BYTES;
    unit->tokens = units->bytes / FAKE_BYTES_PER_TOKEN;
    units->count++;
    free(text);
    json_decref(bare);
}

static void add_list(struct fake_units *units, const json_t *list, const char *role, size_t message)
{
    if (json_is_string(list))
        add_unit(units, list, role, message);
    for (size_t i = 0; i < json_array_size(list); i++)
        add_unit(units, json_array_get(list, i), role, message);
}

static void add_message(struct fake_units *units, const json_t *message, size_t index)
{
    const char *role = json_string_value(json_object_get(message, "role"));
    const json_t *content = json_object_get(message, "content");
    bool is_bare = role != NULL && content != NULL && !json_is_null(content) &&
                   json_object_get(message, "tool_calls") == NULL &&
                   json_object_get(message, "tool_call_id") == NULL &&
                   json_object_get(message, "reasoning_content") == NULL &&
                   json_object_get(message, "reasoning_details") == NULL;
    if (is_bare) {
        add_list(units, content, role, index);
        return;
    }
    json_t *copy = json_deep_copy(message); /* one unit; its text may be a marked list */
    const json_t *last = json_array_get(content, json_array_size(content) - 1);
    bool is_marked = json_object_get(last, "cache_control") != NULL;
    if (json_array_size(content) == 1 && json_object_get(last, "text") != NULL)
        json_object_set(copy, "content", json_object_get(last, "text")); /* the same to a model */
    add_unit(units, copy, "", index);
    if (units->count > 0)
        units->list[units->count - 1].is_marked |= is_marked;
    json_decref(copy);
}

void fake_units_read(struct fake_units *units, enum sma_llm_api api, const json_t *root)
{
    static const char *const settings[] = {"thinking", "output_config", "tool_choice", "reasoning",
                                           "reasoning_effort"};
    const json_t *messages = json_object_get(root, api == SMA_LLM_RESPONSES ? "input" : "messages");
    units->count = units->bytes = 0;
    add_list(units, json_object_get(root, "tools"), "tool", SIZE_MAX);
    add_list(units, json_object_get(root, api == SMA_LLM_RESPONSES ? "instructions" : "system"),
             "system", SIZE_MAX);
    for (size_t i = 0; i < json_array_size(messages); i++)
        add_message(units, json_array_get(messages, i), i);
    uint64_t set = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(settings); i++) {
        char *text = json_dumps(json_object_get(root, settings[i]), JSON_COMPACT);
        set = text == NULL ? set : mix(set + i, text, strlen(text));
        free(text);
    }
    for (size_t i = 0; i < units->count; i++)
        if (units->list[i].message != SIZE_MAX)
            units->list[i].cached ^= set;
    if (units->count > 0 && json_object_get(root, "cache_control") != NULL)
        units->list[units->count - 1].is_marked = true;
}

uint64_t fake_units_before(const struct fake_units *units, size_t message)
{
    uint64_t prefix = 1;
    for (size_t i = 0; i < units->count; i++) {
        if (units->list[i].message != SIZE_MAX && units->list[i].message >= message)
            break;
        prefix = units->list[i].prefix;
    }
    return prefix;
}

/* -- the cache --------------------------------------------------------------------------------- */
struct seen
{
    uint64_t hashes[SEEN_COUNT];
};
static struct seen any, written;

static bool *slot_of(struct seen *seen, uint64_t hash, uint64_t **ret_slot)
{
    static bool is_there;
    for (size_t i = 0; i < SEEN_COUNT; i++) {
        uint64_t *slot = &seen->hashes[(hash + i) % SEEN_COUNT];
        *ret_slot = slot;
        is_there = *slot == hash;
        if (*slot == 0 || is_there)
            return &is_there;
    }
    return &is_there;
}

static bool has_seen(struct seen *seen, uint64_t hash)
{
    uint64_t *slot;
    return *slot_of(seen, hash, &slot);
}

static void remember(struct seen *seen, uint64_t hash)
{
    uint64_t *slot;
    if (!*slot_of(seen, hash, &slot))
        *slot = hash;
}

static uint64_t key_of(const struct fake_unit *unit, const char *model)
{
    return mix(unit->cached, model, strlen(model));
}

static size_t longest_seen(const struct fake_units *units, const char *model, struct seen *seen)
{
    for (size_t i = units->count; i > 0; i--)
        if (has_seen(seen, key_of(&units->list[i - 1], model)))
            return units->list[i - 1].tokens;
    return 0;
}

static void meter_marks(const struct fake_units *units, const struct fake_family *family,
                        const char *model, struct fake_price *price)
{
    size_t end = 0;
    for (size_t i = 0; i < units->count; i++) {
        if (!units->list[i].is_marked || units->list[i].tokens < family->cache_min)
            continue;
        for (size_t k = 0; k <= LOOKBACK_COUNT && k <= i; k++)
            if (has_seen(&written, key_of(&units->list[i - k], model)) &&
                units->list[i - k].tokens > price->read)
                price->read = units->list[i - k].tokens;
        end = i + 1;
    }
    for (size_t i = 0; i < end; i++)
        if (units->list[i].is_marked && units->list[i].tokens >= family->cache_min)
            remember(&written, key_of(&units->list[i], model));
    if (end > 0 && units->list[end - 1].tokens > price->read)
        price->written = units->list[end - 1].tokens - price->read;
}

static void meter_points(const struct fake_units *units, const struct fake_family *family,
                         const char *model, struct fake_price *price)
{
    price->read = longest_seen(units, model, &written);
    if (price->read < family->cache_min)
        price->read = 0;
    if (price->tokens < family->cache_min)
        return;
    price->written = price->tokens - price->read;
    for (size_t i = 0; i < units->count; i++)
        if (units->list[i].is_marked || i + 1 == units->count)
            remember(&written, key_of(&units->list[i], model));
}

void fake_meter(const struct fake_units *units, const struct fake_family *family, const char *model,
                struct fake_price *price)
{
    *price =
        (struct fake_price){.tokens = units->count == 0 ? 0 : units->list[units->count - 1].tokens};
    size_t perfect = longest_seen(units, model, &any);
    if (perfect < family->cache_min)
        perfect = 0;
    if (family->cache == FAKE_CACHE_AUTO)
        price->read = perfect;
    else if (family->cache == FAKE_CACHE_MARKS)
        meter_marks(units, family, model, price);
    else if (family->cache == FAKE_CACHE_POINT)
        meter_points(units, family, model, price);
    for (size_t i = 0; i < units->count; i++)
        remember(&any, key_of(&units->list[i], model));
    size_t fresh = price->tokens - price->read - price->written;
    price->paid = ((double)price->read * family->read + (double)price->written * family->write +
                   (double)fresh * family->in) /
                  1e6;
    double rest = family->cache == FAKE_CACHE_NONE ? family->in : family->write;
    price->perfect =
        ((double)perfect * family->read + (double)(price->tokens - perfect) * rest) / 1e6;
}
