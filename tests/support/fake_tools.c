/* fake_tools.c — see fake_tools.h. */
#include "support/fake_tools.h"

#include "runtime/approval/request.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

struct fake_question
{
    struct sma_msg *msg; /* TOOL or ENCODE */
    struct fake_tool_plan plan;
    uint64_t due_ns; /* UINT64_MAX: held */
    struct fake_question *next;
};

struct fake_tools
{
    struct fake_tools_options options;
    struct fake_question *open; /* newest first */
};

struct fake_tools *fake_tools_create(const struct fake_tools_options *options)
{
    struct fake_tools *tools = calloc(1, sizeof *tools);
    SMA_ASSERT(tools != NULL);
    tools->options = *options;
    return tools;
}

void fake_tools_destroy(struct fake_tools *tools)
{
    if (tools == NULL)
        return;
    while (tools->open != NULL) {
        struct fake_question *question = tools->open;
        tools->open = question->next;
        sma_msg_destroy(question->msg);
        free(question);
    }
    free(tools);
}

size_t fake_tools_open_count(const struct fake_tools *tools)
{
    size_t count = 0;
    for (const struct fake_question *at = tools->open; at != NULL; at = at->next)
        count++;
    return count;
}

static void make_digest(const struct sma_tool_ask *ask, uint8_t digest[32])
{
    const struct sma_str texts[] = {ask->name, ask->arguments, ask->receiver};
    uint8_t key[16] = {7};
    for (uint8_t part = 0; part < 4; part++) {
        key[1] = part;
        uint64_t hash = 0;
        for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
            memcpy(key + 8, &hash, sizeof hash);
            hash = sma_siphash(key, texts[i].ptr == NULL ? "" : texts[i].ptr, texts[i].len);
        }
        memcpy(digest + 8 * part, &hash, sizeof hash);
    }
}

static void put_item(struct sma_buf *buf, const struct sma_tool_ask *ask, const uint8_t digest[32])
{
    bool is_send = ask->receiver.len > 0;
    struct sma_request_item item = {.type = is_send ? SMA_STR("send") : SMA_STR("exec_shell"),
                                    .tool = ask->name,
                                    .title = ask->name,
                                    .input_json = ask->arguments,
                                    .details_json = SMA_STR("{}"),
                                    .reason = SMA_STR("a rule of the test"),
                                    .is_admin_only = !is_send};
    memcpy(item.digest, digest, sizeof item.digest);
    sma_request_put_item(buf, &item);
    SMA_ASSERT(buf->err == SMA_ERR_OK);
}

static void answer(struct sma_ctx *ctx, const struct sma_msg *question,
                   const struct sma_tool_answer *from)
{
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_TOOL_ANSWER, struct sma_tool_answer,
                                      from->content.len + from->item_json.len + 2);
    SMA_ASSERT(msg != NULL);
    struct sma_tool_answer *body = SMA_MSG_BODY(msg, struct sma_tool_answer);
    *body = *from;
    body->content = sma_msg_dup(msg, from->content);
    body->item_json = sma_msg_dup(msg, from->item_json);
    sma_ctx_answer(ctx, question, &msg);
}

static void answer_plan(struct sma_ctx *ctx, const struct fake_question *question)
{
    const struct sma_tool_ask *ask = SMA_MSG_BODY(question->msg, struct sma_tool_ask);
    const struct fake_tool_plan *plan = &question->plan;
    struct sma_tool_answer body = {
        .seq = ask->seq, .call = ask->call, .verdict = (uint8_t)plan->verdict};
    struct sma_buf item;
    sma_buf_init(&item, 1 << 22);
    if (plan->verdict == SMA_TOOL_REFUSED || plan->verdict == SMA_TOOL_STOPPED ||
        (plan->verdict == SMA_TOOL_ASKS && ask->mode == SMA_TOOL_RUN)) {
        body.is_error = true;
        body.content = plan->verdict == SMA_TOOL_ASKS
                           ? SMA_STR("{\"success\":false,\"error\":\"changed since\"}")
                           : SMA_STR("{\"success\":false,\"error\":\"refused by the rules\"}");
    } else if (plan->verdict == SMA_TOOL_ASKS) {
        uint8_t digest[32];
        make_digest(ask, digest);
        put_item(&item, ask, digest);
        body.item_json = sma_buf_str(&item);
    } else if (ask->mode == SMA_TOOL_RUN) {
        body.is_error = plan->is_error;
        body.content = plan->content != NULL ? sma_str(plan->content)
                       : plan->is_error      ? SMA_STR("{\"success\":false}")
                                             : SMA_STR("{\"success\":true}");
    }
    answer(ctx, question->msg, &body);
    sma_buf_fini(&item);
}

/* The same file has the same hash whenever it is asked for. */
static void answer_encode(struct sma_ctx *ctx, const struct fake_question *question)
{
    const struct sma_encode_ask *ask = SMA_MSG_BODY(question->msg, struct sma_encode_ask);
    struct sma_encoded encoded = {.seq = ask->seq, .index = ask->index, .part = ask->part};
    uint8_t key[16] = {9};
    char hash[65];
    uint64_t number = sma_siphash(key, ask->part.path.ptr, ask->part.path.len);
    snprintf(hash, sizeof hash, "%016llx%048d", (unsigned long long)number, 0);
    if (question->plan.verdict == SMA_TOOL_STOPPED) {
        encoded.part.note = SMA_STR("stopped");
    } else {
        encoded.part.hash = sma_str(hash);
        encoded.part.mime = SMA_STR("image/png");
        encoded.part.length = 1000;
        encoded.part.width = encoded.part.height = 100;
    }
    struct sma_msg *msg = sma_msg_make_encoded(&encoded);
    SMA_ASSERT(msg != NULL);
    sma_ctx_answer(ctx, question->msg, &msg);
}

static void end_question(struct fake_question **link, struct sma_ctx *ctx)
{
    struct fake_question *question = *link;
    *link = question->next;
    if (question->msg->kind == SMA_MSG_ENCODE)
        answer_encode(ctx, question);
    else
        answer_plan(ctx, question);
    sma_msg_destroy(question->msg);
    free(question);
}

static void set_wake(const struct fake_tools *tools, struct sma_ctx *ctx)
{
    uint64_t at = UINT64_MAX;
    for (const struct fake_question *open = tools->open; open != NULL; open = open->next)
        at = open->due_ns < at ? open->due_ns : at;
    sma_ctx_wake_at(ctx, at);
}

/* Everything of this run (0: of all) that is open was stopped. */
static void stop_all(struct fake_tools *tools, uint64_t seq, struct sma_ctx *ctx)
{
    struct fake_question **link = &tools->open;
    while (*link != NULL) {
        bool is_encode = (*link)->msg->kind == SMA_MSG_ENCODE;
        uint64_t of = is_encode ? SMA_MSG_BODY((*link)->msg, struct sma_encode_ask)->seq
                                : SMA_MSG_BODY((*link)->msg, struct sma_tool_ask)->seq;
        if (seq != 0 && of != seq) {
            link = &(*link)->next;
            continue;
        }
        (*link)->plan = (struct fake_tool_plan){.verdict = SMA_TOOL_STOPPED};
        end_question(link, ctx);
    }
}

static void take_question(struct fake_tools *tools, struct sma_msg **msg, struct sma_ctx *ctx)
{
    const struct sma_tool_ask *ask = SMA_MSG_BODY(*msg, struct sma_tool_ask);
    struct fake_question *question = calloc(1, sizeof *question);
    SMA_ASSERT(question != NULL);
    question->msg = SMA_TAKE(*msg);
    if (tools->options.rule != NULL)
        tools->options.rule(tools->options.user, ask, &question->plan);
    uint8_t digest[32];
    make_digest(ask, digest);
    bool is_agreed = ask->is_approved && memcmp(digest, ask->digest, sizeof digest) == 0 &&
                     question->plan.verdict == SMA_TOOL_ASKS;
    if (is_agreed)
        question->plan.verdict = SMA_TOOL_ALLOWED;
    if (ask->mode == SMA_TOOL_RUN && question->plan.verdict == SMA_TOOL_ALLOWED &&
        tools->options.on_run != NULL)
        tools->options.on_run(tools->options.user, ask);
    question->due_ns =
        question->plan.is_held ? UINT64_MAX : sma_ctx_now(ctx) + question->plan.delay_ns;
    question->next = tools->open;
    tools->open = question;
    if (!question->plan.is_held && question->plan.delay_ns == 0)
        end_question(&tools->open, ctx);
    set_wake(tools, ctx);
}

/* Between at once and a fifth of a second, so that what happens in between is met. */
static void take_encode(struct fake_tools *tools, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct fake_question *question = calloc(1, sizeof *question);
    SMA_ASSERT(question != NULL);
    question->msg = SMA_TAKE(*msg);
    question->due_ns = sma_ctx_now(ctx) + sma_ctx_random(ctx) % 4 * UINT64_C(70000000);
    question->next = tools->open;
    tools->open = question;
    if (question->due_ns <= sma_ctx_now(ctx))
        end_question(&tools->open, ctx);
    set_wake(tools, ctx);
}

void fake_tools_release(struct fake_tools *tools, struct sma_ctx *ctx)
{
    while (tools->open != NULL)
        end_question(&tools->open, ctx);
    set_wake(tools, ctx);
}

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct fake_tools *tools = state;
    switch ((*msg)->kind) {
    case SMA_MSG_TOOL:
        take_question(tools, msg, ctx);
        return;
    case SMA_MSG_ENCODE:
        take_encode(tools, msg, ctx);
        return;
    case SMA_MSG_TOOL_CANCEL:
        stop_all(tools, SMA_MSG_BODY(*msg, struct sma_tool_cancel)->seq, ctx);
        break;
    case SMA_MSG_LIFE:
        stop_all(tools, 0, ctx);
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
        break;
    default:
        return;
    }
    set_wake(tools, ctx);
}

static void wake(void *state, struct sma_ctx *ctx)
{
    struct fake_tools *tools = state;
    struct fake_question **link = &tools->open;
    uint64_t now = sma_ctx_now(ctx);
    while (*link != NULL) {
        if ((*link)->due_ns <= now)
            end_question(link, ctx);
        else
            link = &(*link)->next;
    }
    set_wake(tools, ctx);
}

const struct sma_actor_ops fake_tools_ops = {.name = "tools", .handle = handle, .wake = wake};
