/*
 * mcp_call.c — questions of the agent: to a session, and its answer back, once.
 */
#include "mcp_priv.h"

#include "runtime/mcp/result.h"

#include <stdio.h>
#include <stdlib.h>

/* -- answers ----------------------------------------------------------------------------------- */
/* An answer while it is made. */
struct making
{
    struct mcp_server *server;
    struct sma_buf text, clean;
    struct sma_part parts[SMA_MCP_PICTURE_COUNT_MAX];
    struct sma_buf paths[SMA_MCP_PICTURE_COUNT_MAX];
    uint32_t part_count;
};

static void send_answer(struct sma_mcp *mcp, enum sma_actor_id asker, uint64_t ask_id,
                        const struct sma_mcp_answer *answer)
{
    struct sma_msg *msg = sma_msg_make_mcp_answer(answer);
    if (msg == NULL)
        sma_ctx_fatal(mcp->ctx, "out of memory: an MCP call cannot be answered");
    sma_ctx_answer_to(mcp->ctx, asker, ask_id, &msg);
}

static void keep_picture(void *user, struct sma_str mime, struct sma_str base64)
{
    struct making *making = user;
    char hash[65];
    struct sma_buf *path = &making->paths[making->part_count];
    sma_buf_init(path, 4096);
    if (!mcp_picture_keep(making->server, base64, path, hash)) {
        sma_buf_fini(path);
        return;
    }
    making->parts[making->part_count++] = (struct sma_part){.kind = SMA_PART_IMAGE,
                                                            .path = sma_buf_str(path),
                                                            .name = SMA_STR("picture"),
                                                            .mime = mime};
}

static void answer(struct mcp_call *call, enum sma_mcp_outcome outcome, const json_t *result,
                   struct sma_str why)
{
    struct sma_mcp *mcp = call->server->mcp;
    struct making making = {.server = call->server};
    sma_buf_init(&making.text, SMA_TOOL_RESULT_BYTES_MAX);
    sma_buf_init(&making.clean, SMA_TOOL_RESULT_BYTES_MAX * 2);
    sma_buf_put_text(&making.text, "");
    if (result != NULL)
        sma_mcp_put_result(&making.text, call->kind, result, keep_picture, &making);
    else
        sma_mcp_put_clean(&making.text, why, SMA_MCP_DESCRIPTION_BYTES_MAX);
    sma_secrets_put(mcp->secrets, &making.clean, sma_buf_str(&making.text));
    struct sma_str text = sma_buf_str(&making.clean);
    if (text.len > SMA_TOOL_RESULT_BYTES_MAX) /* a secret is shorter than what stands for it */
        text.len = SMA_TOOL_RESULT_BYTES_MAX;
    struct sma_mcp_answer made = {.seq = call->seq,
                                  .call = call->call,
                                  .outcome = (uint8_t)outcome,
                                  .text = text,
                                  .part_count = making.part_count,
                                  .parts = making.parts};
    enum sma_actor_id asker = call->asker;
    uint64_t ask_id = call->ask_id;
    *call = (struct mcp_call){.is_used = false};
    mcp->call_count--;
    send_answer(mcp, asker, ask_id, &made);
    for (uint32_t i = 0; i < making.part_count; i++)
        sma_buf_fini(&making.paths[i]);
    sma_buf_fini(&making.text);
    sma_buf_fini(&making.clean);
}

static struct mcp_call *find_call(const struct mcp_server *server, uint64_t id)
{
    struct mcp_call *calls = server->mcp->calls;
    for (size_t i = 0; i < SMA_ASK_MCP_COUNT_MAX; i++)
        if (calls[i].is_used && calls[i].server == server && calls[i].id == id)
            return &calls[i];
    return NULL;
}

void mcp_call_answered(struct mcp_server *server, uint64_t id, enum sma_mcp_outcome outcome,
                       const json_t *result, struct sma_str why)
{
    struct mcp_call *call = find_call(server, id);
    SMA_ASSERT(call != NULL); /* a session answers once, and what it was asked alone */
    answer(call, outcome, result, why);
}

bool mcp_call_find(struct mcp_server *server, uint64_t id, uint64_t *ret_seq, uint32_t *ret_call)
{
    const struct mcp_call *call = find_call(server, id);
    if (call == NULL)
        return false;
    *ret_seq = call->seq;
    *ret_call = call->call;
    return true;
}

void mcp_call_progress(struct mcp_server *server, uint64_t id, struct sma_str text)
{
    const struct mcp_call *call = find_call(server, id);
    if (call == NULL)
        return;
    struct sma_mcp_progress progress = {.seq = call->seq, .call = call->call, .text = text};
    struct sma_msg *msg = sma_msg_make_mcp_progress(&progress);
    if (msg != NULL) /* no memory: dropped, as when the lane is full */
        sma_ctx_signal(server->mcp->ctx, call->asker, &msg);
}

/* -- questions --------------------------------------------------------------------------------- */
static void refuse(struct sma_mcp *mcp, struct sma_msg *question, enum sma_mcp_outcome outcome,
                   const char *why)
{
    const struct sma_mcp_call *asked = SMA_MSG_BODY(question, struct sma_mcp_call);
    struct sma_mcp_answer made = {
        .seq = asked->seq, .call = asked->call, .outcome = (uint8_t)outcome, .text = sma_str(why)};
    send_answer(mcp, question->from, question->ask_id, &made);
}

static struct mcp_server *find_server(const struct sma_mcp *mcp, struct sma_str name)
{
    for (size_t i = 0; i < mcp->server_count; i++)
        if (!mcp->servers[i]->is_removed && sma_str_is_equal(sma_str(mcp->servers[i]->name), name))
            return mcp->servers[i];
    return NULL;
}

static struct mcp_call *free_place(struct sma_mcp *mcp)
{
    for (size_t i = 0; i < SMA_ASK_MCP_COUNT_MAX; i++)
        if (!mcp->calls[i].is_used)
            return &mcp->calls[i];
    return NULL;
}

bool mcp_entry_lets(const struct sma_mcp_config_server *config, uint8_t kind, struct sma_str name)
{
    char prompt[SMA_MCP_NAME_BYTES_MAX + 16];
    if (kind == SMA_MCP_RESOURCE)
        return sma_mcp_config_allows(config, SMA_STR("resources/read"));
    if (kind != SMA_MCP_PROMPT)
        return sma_mcp_config_allows(config, name);
    int len = snprintf(prompt, sizeof prompt, "prompts/%.*s", (int)name.len, name.ptr);
    return len > 0 && (size_t)len < sizeof prompt && sma_mcp_config_allows(config, sma_str(prompt));
}

/* Why a call cannot leave for this server; NULL: it can. */
static const char *find_obstacle(struct sma_mcp *mcp, struct mcp_server *server,
                                 const struct sma_mcp_call *asked, char text[512])
{
    if (mcp->is_draining)
        return "the program ends";
    if (server == NULL)
        return "there is no such MCP server";
    if (!mcp_entry_lets(server->config, asked->kind, asked->name))
        return "mcp.json does not allow this (tools.allow, tools.deny)";
    bool is_ready =
        server->phase == MCP_OPEN && !server->is_lost && sma_mcp_session_is_ready(server->session);
    mcp_server_check(server);
    bool is_waited_for = server->is_outgrown && sma_ctx_now(mcp->ctx) < server->anew_until_ns;
    if (is_waited_for || (is_ready && !server->is_outgrown))
        return NULL;
    (void)snprintf(text, 512, "the MCP server %s is not connected (%s)%s%s", server->name,
                   sma_mcp_state_name(server->state), server->trouble[0] == '\0' ? "" : ": ",
                   server->trouble);
    return text;
}

void mcp_call_take(struct sma_mcp *mcp, struct sma_msg **msg)
{
    struct sma_msg *question = *msg;
    const struct sma_mcp_call *asked = SMA_MSG_BODY(question, struct sma_mcp_call);
    struct mcp_server *server = find_server(mcp, asked->server);
    char text[512];
    const char *obstacle = find_obstacle(mcp, server, asked, text);
    if (obstacle != NULL) {
        refuse(mcp, question, SMA_MCP_NOT_CONNECTED, obstacle);
        return;
    }
    struct mcp_call *call = free_place(mcp);
    SMA_ASSERT(call != NULL); /* the lane carries no more questions */
    struct sma_mcp_session_call sent = {
        .kind = asked->kind,
        .name = asked->name,
        .arguments = asked->arguments,
        .group = asked->seq,
        .timeout_ms = asked->timeout_ms > 0 ? asked->timeout_ms : server->config->timeout_ms};
    *call = (struct mcp_call){.is_used = true,
                              .asker = question->from,
                              .ask_id = question->ask_id,
                              .seq = asked->seq,
                              .call = asked->call,
                              .kind = asked->kind,
                              .server = server};
    if (server->is_outgrown) {
        call->waits = SMA_TAKE(*msg);
        mcp->call_count++;
        return;
    }
    enum sma_err err =
        sma_mcp_session_call(server->session, &sent, sma_ctx_now(mcp->ctx), &call->id);
    if (err == SMA_ERR_OK) {
        mcp->call_count++;
        return;
    }
    *call = (struct mcp_call){.is_used = false};
    refuse(mcp, question, SMA_MCP_NOT_CONNECTED,
           err == SMA_ERR_FULL       ? "too many calls are open at this MCP server"
           : err == SMA_ERR_BADINPUT ? "the arguments are no JSON object"
                                     : sma_err_text(err));
}

size_t mcp_call_count(const struct mcp_server *server)
{
    size_t count = 0;
    for (size_t i = 0; i < SMA_ASK_MCP_COUNT_MAX && server->mcp->call_count > 0; i++)
        count += server->mcp->calls[i].is_used && server->mcp->calls[i].server == server &&
                 server->mcp->calls[i].waits == NULL;
    return count;
}

static struct sma_msg *take_waiting(struct sma_mcp *mcp, struct mcp_call *call)
{
    struct sma_msg *question = call->waits;
    *call = (struct mcp_call){.is_used = false};
    mcp->call_count--;
    return question;
}

void mcp_call_release(struct mcp_server *server)
{
    struct sma_mcp *mcp = server->mcp;
    struct sma_msg *questions[SMA_ASK_MCP_COUNT_MAX];
    size_t count = 0;
    for (size_t i = 0; i < SMA_ASK_MCP_COUNT_MAX; i++)
        if (mcp->calls[i].waits != NULL && mcp->calls[i].server == server)
            questions[count++] = take_waiting(mcp, &mcp->calls[i]);
    for (size_t i = 0; i < count; i++) {
        mcp_call_take(mcp, &questions[i]);
        sma_msg_destroy(questions[i]); /* NULL: it waits again */
    }
}

void mcp_call_cancel(struct sma_mcp *mcp, uint64_t seq, uint32_t call, const char *reason)
{
    for (size_t i = 0; i < SMA_ASK_MCP_COUNT_MAX && mcp->call_count > 0; i++) {
        const struct mcp_call *open = &mcp->calls[i];
        if (!open->is_used || open->seq != seq || (call != SMA_MCP_CALL_ALL && open->call != call))
            continue;
        if (open->waits == NULL && open->server->session != NULL)
            sma_mcp_session_cancel(open->server->session, open->id, reason);
        struct sma_msg *question = open->waits == NULL ? NULL : take_waiting(mcp, &mcp->calls[i]);
        if (question != NULL)
            refuse(mcp, question, SMA_MCP_NOT_CONNECTED, reason);
        sma_msg_destroy(question);
    }
}
