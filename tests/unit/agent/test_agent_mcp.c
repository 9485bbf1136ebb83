/*
 * Aim: the agent actor and an actor for MCP servers: the catalogue is taken and given back, calls
 * and their progress find their run, stop cancels, and without such an actor nothing hangs.
 * Method: the seeded scheduler with a fake actor for servers.
 */
#include "runtime/mcp/catalogue.h"
#include "unit/agent/agent_world.h"

struct servers
{
    const struct sma_mcp_catalogue *catalogue;
    uint64_t taken;
    uint32_t call_count, cancel_count;
    bool is_held, asks_people;
    uint64_t wait_ns; /* for people to answer */
    uint32_t elicited_count;
    uint8_t elicited; /* enum sma_mcp_action */
    char content[64];
    struct sma_msg *held;
    char name[64];
    struct world *world; /* not NULL: a call samples */
    bool is_model_held;  /* what it asks the model is */
    uint32_t sampled_count;
    char sampled_text[64], sampled_model[64], why[64], *request;
};

static enum sma_err servers_start(void *state, struct sma_ctx *ctx, struct sma_error *error)
{
    (void)state, (void)error;
    sma_ctx_wake_at(ctx, sma_ctx_now(ctx) + 1);
    return SMA_ERR_OK;
}

static void servers_wake(void *state, struct sma_ctx *ctx)
{
    struct servers *servers = state;
    uint64_t id;
    const struct sma_mcp_offer offer = {.catalogue = servers->catalogue};
    struct sma_msg *msg = sma_msg_make_mcp_catalogue(&offer);
    CHECK(msg != NULL);
    CHECK_OK(sma_ctx_ask(ctx, SMA_ACTOR_AGENT, &msg, 0, &id));
    sma_ctx_wake_at(ctx, UINT64_MAX);
}

static void answer(struct sma_ctx *ctx, const struct sma_msg *question, uint8_t outcome)
{
    const struct sma_mcp_call *call =
        SMA_MSG_BODY((struct sma_msg *)(uintptr_t)question, struct sma_mcp_call);
    struct sma_msg *msg = sma_msg_make_mcp_answer(&(struct sma_mcp_answer){
        .seq = call->seq, .call = call->call, .outcome = outcome, .text = SMA_STR("output")});
    CHECK(msg != NULL);
    sma_ctx_answer(ctx, question, &msg);
}

static void ask_people(struct servers *servers, const struct sma_mcp_call *call,
                       struct sma_ctx *ctx)
{
    uint64_t id;
    struct sma_msg *msg = sma_msg_make_mcp_elicit(
        &(struct sma_mcp_elicit){.seq = call->seq,
                                 .call = call->call,
                                 .server = call->server,
                                 .text = SMA_STR("How many?"),
                                 .schema = SMA_STR("{\"type\":\"object\",\"properties\":{\"n\":{"
                                                   "\"type\":\"integer\"}}}"),
                                 .deadline_ns = sma_ctx_now(ctx) + servers->wait_ns});
    CHECK(msg != NULL);
    CHECK_OK(sma_ctx_ask(ctx, SMA_ACTOR_AGENT, &msg, 0, &id));
}

static void on_elicited(struct servers *servers, const struct sma_mcp_elicited *said,
                        struct sma_ctx *ctx)
{
    servers->elicited_count++;
    servers->elicited = said->action;
    snprintf(servers->content, sizeof servers->content, "%.*s", (int)said->content.len,
             said->content.ptr);
    if (servers->held != NULL)
        answer(ctx, servers->held, SMA_MCP_OK);
    sma_msg_destroyp(&servers->held);
}

static void ask_model(struct servers *servers, const struct sma_mcp_call *call, struct sma_ctx *ctx)
{
    static struct sma_mcp_sample_line lines[] = {{.is_user = true, .text = {"One", 3}},
                                                 {.text = {"Two", 3}},
                                                 {.is_user = true, .text = {"Three", 5}}};
    uint64_t id;
    servers->world->model_text = "words";
    servers->world->is_model_held = servers->is_model_held;
    struct sma_msg *msg = sma_msg_make_mcp_sample(
        &(struct sma_mcp_sample){.seq = call->seq,
                                 .call = call->call,
                                 .server = call->server,
                                 .system = SMA_STR("You serve a box."),
                                 .lines = lines,
                                 .line_count = SMA_COUNT_OF(lines),
                                 .tokens_max = 50,
                                 .deadline_ns = sma_ctx_now(ctx) + UINT64_C(60) * 1000000000});
    CHECK(msg != NULL);
    CHECK_OK(sma_ctx_ask(ctx, SMA_ACTOR_AGENT, &msg, 0, &id));
}

static void on_sampled(struct servers *servers, const struct sma_mcp_sampled *said,
                       struct sma_ctx *ctx)
{
    servers->sampled_count++;
    snprintf(servers->sampled_text, sizeof servers->sampled_text, "%s", said->text.ptr);
    snprintf(servers->sampled_model, sizeof servers->sampled_model, "%s", said->model.ptr);
    snprintf(servers->why, sizeof servers->why, "%s", said->why.ptr);
    free(servers->request);
    servers->request = strdup(servers->world->last_request);
    servers->world->is_model_held = false;
    if (servers->held != NULL)
        answer(ctx, servers->held, SMA_MCP_OK);
    sma_msg_destroyp(&servers->held);
}

static void on_call(struct servers *servers, struct sma_msg **msg, struct sma_ctx *ctx)
{
    const struct sma_mcp_call *call = SMA_MSG_BODY(*msg, struct sma_mcp_call);
    servers->call_count++;
    snprintf(servers->name, sizeof servers->name, "%.*s/%.*s", (int)call->server.len,
             call->server.ptr, (int)call->name.len, call->name.ptr);
    struct sma_msg *line = sma_msg_make_mcp_progress(&(struct sma_mcp_progress){
        .seq = call->seq, .call = call->call, .text = SMA_STR("half done")});
    CHECK(line != NULL);
    sma_ctx_signal(ctx, SMA_ACTOR_AGENT, &line);
    if (servers->asks_people)
        ask_people(servers, call, ctx);
    if (servers->world != NULL)
        ask_model(servers, call, ctx);
    if (servers->is_held)
        servers->held = SMA_TAKE(*msg);
    else
        answer(ctx, *msg, SMA_MCP_OK);
}

static void servers_handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    struct servers *servers = state;
    if ((*msg)->kind == SMA_MSG_MCP_CALL)
        on_call(servers, msg, ctx);
    if (*msg != NULL && (*msg)->kind == SMA_MSG_MCP_ELICITED)
        on_elicited(servers, SMA_MSG_BODY(*msg, struct sma_mcp_elicited), ctx);
    if (*msg != NULL && (*msg)->kind == SMA_MSG_MCP_SAMPLED)
        on_sampled(servers, SMA_MSG_BODY(*msg, struct sma_mcp_sampled), ctx);
    if (*msg != NULL && (*msg)->kind == SMA_MSG_MCP_TAKEN)
        servers->taken = SMA_MSG_BODY(*msg, struct sma_mcp_taken)->version;
    if (*msg == NULL || (*msg)->kind != SMA_MSG_MCP_CANCEL)
        return;
    servers->cancel_count++;
    CHECK_INT(1, SMA_MSG_BODY(*msg, struct sma_mcp_cancel)->seq);
    if (servers->held != NULL) {
        answer(ctx, servers->held, SMA_MCP_CANCELLED);
        sma_msg_destroyp(&servers->held);
    }
}

static const struct sma_actor_ops servers_ops = {
    .name = "mcp", .start = servers_start, .handle = servers_handle, .wake = servers_wake};

static void begin(struct world *world, struct servers *servers)
{
    struct sma_mcp_builder *builder = sma_mcp_builder_create(5);
    CHECK(builder != NULL);
    const struct sma_mcp_server server = {.name = SMA_STR("files"), .state = SMA_MCP_CONNECTED};
    sma_mcp_builder_add_server(builder, &server);
    const struct sma_mcp_tool tool = {.server = SMA_STR("files"),
                                      .name = SMA_STR("write"),
                                      .schema = SMA_STR("{\"type\":\"object\"}"),
                                      .is_allowed = true};
    sma_mcp_builder_add_tool(builder, &tool);
    *servers = (struct servers){0};
    CHECK_OK(sma_mcp_builder_finish(builder, &servers->catalogue));
    world_init_mcp(world, &servers_ops, servers);
    world->called = "mcp__files__write";
    rest(world);
    CHECK_INT(5, servers->taken);
}

static void end(struct world *world, struct servers *servers)
{
    world_fini(world);
    sma_msg_destroy(servers->held);
    free(servers->request);
    sma_mcp_catalogue_unref(servers->catalogue);
}

CASE(a_call_goes_to_its_server_and_back)
{
    struct world w;
    struct servers servers;
    begin(&w, &servers);
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK_INT(1, servers.call_count);
    CHECK_TEXT("files/write", servers.name);
    CHECK(strstr(w.last_request, "\\\"output\\\":\\\"output\\\"") != NULL);
    CHECK(strstr(w.last_request, "\"name\":\"mcp__files__write\"") != NULL);
    CHECK_INT(1, w.done_count);
    end(&w, &servers);
}

CASE(stop_cancels_the_call)
{
    struct world w;
    struct servers servers;
    begin(&w, &servers);
    servers.is_held = true;
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK(servers.held != NULL);
    CHECK_TEXT("files:write: half done", w.last_detail);
    control(&w, SMA_CONTROL_STOP, 2, "c");
    rest(&w);
    CHECK_INT(1, servers.cancel_count);
    CHECK(servers.held == NULL);
    CHECK_INT(2, w.model_count + w.done_count); /* asked once, ended once: its answer is late */
    end(&w, &servers);
}

/* -- questions of servers ---------------------------------------------------------------------- */
static void begin_asking(struct world *world, struct servers *servers)
{
    begin(world, servers);
    servers->is_held = servers->asks_people = true;
    servers->wait_ns = UINT64_C(60) * 1000000000;
    hand_out(world, 1, "c", false);
    settle_until(world, 1000000000);
    CHECK(servers->held != NULL);
    CHECK_INT(0, servers->elicited_count);
    CHECK(strstr(world->last_sent, "How many?") != NULL);
}

CASE(a_question_is_answered_in_words)
{
    struct world w;
    struct servers servers;
    begin_asking(&w, &servers);
    struct sma_collected message = {.seq = 2, .message_id = SMA_STR("m2"), .text = SMA_STR("7")};
    struct sma_steer steer = {.seq = 1,
                              .standing = SMA_STANDING_OWNER,
                              .is_answer = true,
                              .message_count = 1,
                              .messages = &message};
    struct sma_msg *msg = sma_msg_make_steer(&steer);
    CHECK_OK(sma_ctx_send(sma_system_ctx(w.system, SMA_ACTOR_STORE), SMA_ACTOR_AGENT, &msg));
    rest(&w);
    CHECK_INT(1, servers.elicited_count);
    CHECK_INT(SMA_MCP_ACCEPT, servers.elicited);
    CHECK_TEXT("{\"n\":7}", servers.content);
    CHECK_INT(1, w.done_count);
    end(&w, &servers);
}

CASE(a_question_ends_with_time_and_with_its_run)
{
    struct world w;
    struct servers servers;
    begin_asking(&w, &servers);
    rest(&w); /* nobody says anything */
    CHECK_INT(1, servers.elicited_count);
    CHECK_INT(SMA_MCP_DISMISS, servers.elicited);
    CHECK_INT(1, w.done_count);
    end(&w, &servers);

    begin_asking(&w, &servers);
    control(&w, SMA_CONTROL_STOP, 2, "c");
    rest(&w);
    CHECK_INT(1, servers.elicited_count);
    CHECK_INT(SMA_MCP_DISMISS, servers.elicited);
    end(&w, &servers);
}

/* -- what servers want the model asked --------------------------------------------------------- */
static void begin_sampling(struct world *world, struct servers *servers, bool is_model_held)
{
    begin(world, servers);
    servers->is_held = true;
    servers->world = world;
    servers->is_model_held = is_model_held;
    hand_out(world, 1, "c", false);
    settle_until(world, 1000000000);
}

CASE(the_model_is_told_what_the_server_sent_and_nothing_else)
{
    struct world w;
    struct servers servers;
    begin_sampling(&w, &servers, false);
    rest(&w);
    CHECK_INT(1, servers.sampled_count);
    CHECK_TEXT("words", servers.sampled_text);
    CHECK_TEXT("", servers.why);
    CHECK_TEXT(w.config.llm.model, servers.sampled_model);
    const char *messages = strstr(servers.request, "\"messages\":");
    CHECK(messages != NULL);
    CHECK(strncmp(messages,
                  "\"messages\":[{\"role\":\"system\",\"content\":\"You serve a box.\"},"
                  "{\"role\":\"user\",\"content\":\"One\"},"
                  "{\"role\":\"assistant\",\"content\":\"Two\"},"
                  "{\"role\":\"user\",\"content\":\"Three\"}]",
                  130) == 0);
    CHECK(strstr(servers.request, "\"tools\"") == NULL);
    CHECK(strstr(servers.request, "tokens\":50") != NULL);
    CHECK_INT(3, w.model_count);
    CHECK_INT(1, w.done_count);
    end(&w, &servers);
}

CASE(stop_ends_what_the_model_is_asked_and_it_counts)
{
    struct world w;
    struct servers servers;
    begin_sampling(&w, &servers, true);
    CHECK_INT(1, w.held_count);
    CHECK_INT(0, servers.sampled_count);
    control(&w, SMA_CONTROL_STOP, 2, "c");
    rest(&w);
    CHECK_INT(1, w.cancel_count);
    CHECK_INT(1, servers.sampled_count);
    CHECK_TEXT("its call is over", servers.why);
    CHECK_INT(1, w.spent_count);
    CHECK_INT(1, w.spent_seq);
    CHECK_INT(7, w.spent_input);
    end(&w, &servers);
}

CASE(time_and_failures_end_it_with_words)
{
    struct world w;
    struct servers servers;
    begin_sampling(&w, &servers, true);
    rest(&w);
    CHECK_TEXT("the model did not answer in time", servers.why);
    CHECK_INT(1, w.cancel_count);
    CHECK_INT(1, w.done_count);
    end(&w, &servers);

    begin_sampling(&w, &servers, true);
    answer_model(&w, w.held[0], sma_system_ctx(w.system, SMA_ACTOR_MODEL), SMA_MODEL_FAILED);
    sma_msg_destroyp(&w.held[0]);
    rest(&w);
    CHECK_TEXT("the model could not be asked", servers.why);
    CHECK_INT(1, w.done_count);
    end(&w, &servers);
}

CASE(the_end_of_the_call_ends_it)
{
    struct world w;
    struct servers servers;
    begin_sampling(&w, &servers, true);
    answer(sma_system_ctx(w.system, SMA_ACTOR_MCP), servers.held, SMA_MCP_TOOL_ERROR);
    sma_msg_destroyp(&servers.held);
    settle_until(&w, 2000000000);
    CHECK_INT(1, w.cancel_count);
    CHECK_TEXT("its call is over", servers.why);
    rest(&w);
    CHECK_INT(1, w.done_count);
    end(&w, &servers);
}

CASE(a_reload_keeps_what_is_offered)
{
    struct world w;
    struct servers servers;
    begin(&w, &servers);
    sma_system_reload(w.system, &w.config);
    rest(&w);
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK_INT(1, servers.call_count);
    end(&w, &servers);
}

CASE(without_the_actor_a_call_is_answered)
{
    SMA_AUTO(world_fini) struct world w;
    world_init(&w, 1);
    w.called = "files:write";
    hand_out(&w, 1, "c", false);
    rest(&w);
    CHECK_INT(1, w.done_count);
    CHECK(strstr(w.last_request, "no such server is connected") != NULL);
}

CASES_MAIN
