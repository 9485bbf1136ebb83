/*
 * memory_extract.c — what a model found in a conversation becomes facts ("allow") or proposals
 * ("ask").
 *
 * The model read what anybody wrote, so nothing of its answer is trusted: one JSON object, of it
 * known members of the right type, bounded; the chat alone decides who may read a fact. One that
 * says "do this" is kept as what somebody said: the block that tells facts to a model says that
 * they are information.
 */
#include "memory_priv.h"

#include "runtime/json/json_read.h"
#include "sma/text.h"

#include <jansson.h>

/* Small models like to put a fence around it. */
static struct sma_str unfence(struct sma_str text)
{
    text = sma_str_trim(text);
    if (!sma_str_starts_with(text, SMA_STR("```")) || text.len < 7)
        return text;
    const char *feed = memchr(text.ptr, '\n', text.len);
    if (feed == NULL || memcmp(text.ptr + text.len - 3, "```", 3) != 0)
        return text;
    size_t head = (size_t)(feed - text.ptr) + 1;
    return head + 3 > text.len ? text : (struct sma_str){feed + 1, text.len - head - 3};
}

/* The n-th of lines, from 1 on. "" = there is none. */
static struct sma_str line_of(struct sma_str lines, int64_t number)
{
    for (int64_t i = 1; lines.len > 0; i++) {
        const char *feed = memchr(lines.ptr, '\n', lines.len);
        size_t len = feed == NULL ? lines.len : (size_t)(feed - lines.ptr);
        if (i == number)
            return (struct sma_str){lines.ptr, len};
        size_t passed = len + (feed != NULL);
        lines = (struct sma_str){lines.ptr + passed, lines.len - passed};
    }
    return (struct sma_str){0};
}

static void put_tags(const json_t *tags, struct sma_buf *buf)
{
    size_t i;
    const json_t *tag;
    json_array_foreach(tags, i, tag)
    {
        struct sma_str text = sma_json_str_of(tag);
        if (text.len == 0 || i >= SMA_MEMORY_TAG_COUNT_MAX)
            continue;
        if (buf->len > 0)
            sma_buf_put_char(buf, ' ');
        for (size_t k = 0; k < text.len; k++)
            sma_buf_put_char(buf, (unsigned char)text.ptr[k] <= ' ' ? '-' : text.ptr[k]);
    }
}

/* Into the facts, or the proposals when people are to be asked. */
static bool write_fact(struct sma_memory_actor *actor, const struct sma_memory_scope *scope,
                       const struct sma_memory_new *fact)
{
    uint64_t id;
    struct sma_memory *facts = memory_facts(actor), *to = facts;
    if (facts == NULL)
        return false;
    if (actor->config->memory != SMA_MEMORY_ALLOW) {
        struct sma_memory_new question = *fact;
        question.is_question = true;
        if (sma_memory_upsert(facts, scope, &question, &id) != SMA_ERR_OK)
            return false; /* known, or it could not be kept */
        to = memory_proposed(actor);
    }
    enum sma_err err = to == NULL ? SMA_ERR_NOMEM : sma_memory_upsert(to, scope, fact, &id);
    if (err != SMA_ERR_OK && err != SMA_ERR_EXISTS && err != SMA_ERR_BADINPUT &&
        err != SMA_ERR_TOOBIG && to != NULL)
        memory_tell_trouble(actor, to, err);
    return err == SMA_ERR_OK;
}

static bool apply_one(struct sma_memory_actor *actor, const struct memory_chat *chat,
                      const json_t *item)
{
    const json_t *importance = json_object_get(item, "importance");
    struct sma_str text = sma_str_trim(sma_json_str(item, "content"));
    enum sma_memory_kind kind;
    if (!json_is_object(item) || text.len == 0 || !json_is_integer(importance) ||
        json_integer_value(importance) < SMA_MEMORY_EXTRACT_IMPORTANCE_MIN ||
        json_integer_value(importance) > 10 ||
        !sma_memory_kind_find(sma_json_str(item, "type"), &kind))
        return false;
    struct sma_route route = chat->route;
    if (chat->is_group) {
        struct sma_str who =
            line_of(chat->speakers, json_integer_value(json_object_get(item, "who")));
        if (who.len == 0)
            return false; /* nobody in particular: of whom would it be to delete? */
        route.user_id = who;
    }
    struct sma_buf tags;
    sma_buf_init(&tags, 4096);
    put_tags(json_object_get(item, "tags"), &tags);
    struct sma_memory_scope scope = sma_memory_scope_of(&route, chat->is_group, &actor->person);
    const struct sma_memory_new fact = {.text = text,
                                        .tags = sma_buf_str(&tags),
                                        .kind = kind,
                                        .importance = (uint8_t)json_integer_value(importance),
                                        .merges = true,
                                        .wall_ms = sma_ctx_wall(actor->ctx)};
    bool is_new = tags.err == SMA_ERR_OK && write_fact(actor, &scope, &fact);
    sma_buf_fini(&tags);
    return is_new;
}

uint32_t memory_apply(struct sma_memory_actor *actor, const struct memory_chat *chat)
{
    uint32_t count = 0;
    json_t *root = NULL;
    struct sma_str text = unfence(chat->answer);
    if (actor->config->memory == SMA_MEMORY_REFUSE || sma_json_load(text, &root) != SMA_ERR_OK)
        return 0;
    const json_t *list = json_object_get(root, "memories");
    for (size_t i = 0; i < json_array_size(list) && i < SMA_MEMORY_EXTRACT_FACT_COUNT_MAX; i++)
        count += apply_one(actor, chat, json_array_get(list, i));
    json_decref(root);
    return count;
}
