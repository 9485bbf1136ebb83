/* What targets refuse: told to the agent before its first run, kept when it learns more. */
#include "record.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include <stdlib.h>

struct lesson
{
    struct sma_buf bytes;
    struct sma_learned_fact *facts; /* slices are offsets into bytes until the message is made */
    uint32_t count, cap;
};

static struct sma_str keep(struct lesson *lesson, struct sma_str text)
{
    size_t at = lesson->bytes.len;
    sma_buf_put_str(&lesson->bytes, text);
    return (struct sma_str){(const char *)at, text.len};
}

static enum sma_err keep_fact(void *user, struct sma_str target, struct sma_str member)
{
    struct lesson *lesson = user;
    if (!sma_store_grow(&lesson->facts, lesson->count, &lesson->cap, sizeof *lesson->facts))
        return SMA_ERR_NOMEM;
    lesson->facts[lesson->count++] =
        (struct sma_learned_fact){.target = keep(lesson, target), .member = keep(lesson, member)};
    return lesson->bytes.err;
}

static void send_lesson(struct sma_store *store, const struct lesson *lesson)
{
    struct sma_learned learned = {.fact_count = lesson->count, .facts = lesson->facts};
    sma_msg_place(SMA_MSG_LEARNED, &learned, lesson->bytes.ptr);
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_learned(&learned));
    sma_store_send_now(store, SMA_ACTOR_AGENT, &msg);
}

void sma_store_teach(struct sma_store *store)
{
    if (store->runs->has_taught)
        return;
    store->runs->has_taught = true;
    struct lesson lesson = {0};
    sma_buf_init(&lesson.bytes, SMA_LEARNED_TARGET_COUNT_MAX * SMA_LEARNED_MEMBER_COUNT_MAX * 2 *
                                    SMA_LEARNED_BYTES_MAX);
    enum sma_err err =
        sma_state_each_learned(store->state, sma_ctx_wall(store->ctx), keep_fact, &lesson);
    if (err != SMA_ERR_OK)
        sma_ctx_log(store->ctx, SMA_LOG_WARN,
                    "what models refuse is learned anew: what was known cannot be read: %s",
                    sma_state_error(store->state)->text);
    else if (lesson.count > 0)
        send_lesson(store, &lesson);
    free(lesson.facts);
    sma_buf_fini(&lesson.bytes);
}

void sma_store_learn(struct sma_store *store, const struct sma_learned *learned)
{
    if (sma_store_disk_level(store) > 0 || sma_store_is_retrying(store))
        return; /* it is learned again */
    int64_t now_ms = sma_ctx_wall(store->ctx);
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_state_learned_forget(store->state, now_ms);
    for (uint32_t i = 0; i < learned->fact_count && err == SMA_ERR_OK; i++) {
        const struct sma_learned_fact *fact = &learned->facts[i];
        err = sma_state_learn(store->state, fact->target, fact->member, now_ms);
        err = err == SMA_ERR_BADINPUT ? SMA_ERR_OK : err;
    }
    if (err != SMA_ERR_OK)
        sma_store_fail_batch(store, err);
}

struct learned_json
{
    struct sma_buf *buf;
    char target[SMA_LEARNED_BYTES_MAX + 1];
    bool is_any;
};

static enum sma_err put_fact(void *user, struct sma_str target, struct sma_str member)
{
    struct learned_json *json = user;
    if (!json->is_any || !sma_str_is_equal(sma_str(json->target), target)) {
        if (json->is_any)
            sma_buf_put_text(json->buf, "],");
        sma_buf_put_json_string(json->buf, target);
        sma_buf_put_text(json->buf, ":[");
        snprintf(json->target, sizeof json->target, "%.*s", (int)target.len, target.ptr);
    } else {
        sma_buf_put_char(json->buf, ',');
    }
    json->is_any = true;
    sma_buf_put_json_string(json->buf, member);
    return json->buf->err;
}

void sma_store_put_learned(struct sma_store *store, struct sma_buf *buf)
{
    struct learned_json json = {.buf = buf};
    size_t start = buf->len;
    sma_buf_put_char(buf, '{');
    if (sma_state_each_learned(store->state, sma_ctx_wall(store->ctx), put_fact, &json) !=
            SMA_ERR_OK &&
        buf->err == SMA_ERR_OK) {
        buf->len = start; /* it cannot be read: the rest of what is asked for is still true */
        sma_buf_put_text(buf, "{}");
        return;
    }
    sma_buf_put_text(buf, json.is_any ? "]}" : "}");
}
