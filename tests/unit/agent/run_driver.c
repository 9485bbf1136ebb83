#include "unit/agent/run_driver.h"

#include "runtime/mcp/catalogue.h"

#include "runtime/agent/prompt.h"

static char *dup_bytes(struct sma_str text)
{
    char *copy = malloc(text.len + 1);
    CHECK(copy != NULL);
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

void driver_init(struct driver *driver, enum sma_llm_api api)
{
    static const uint8_t key[16] = {1, 2, 3};
    *driver = (struct driver){0};
    driver->config = (struct sma_config){
        .project_dir = "/srv/bot",
        .agent_md = "# Role\nYou are a test.",
        .llm = {.api = api,
                .provider = "openai",
                .model = "m-1",
                .base_url = "http://x",
                .api_key = "k",
                .anthropic_version = "2023-06-01",
                .is_stream = true},
        .language = SMA_LANGUAGE_EN,
    };
    CHECK_OK(sma_run_settings_create(&driver->config, NULL, &driver->settings));
    driver->sessions = sma_sessions_create(key);
    CHECK(driver->sessions != NULL);
    driver->order = (struct sma_run_order){
        .seq = 10,
        .route = {.adapter = 8,
                  .channel = SMA_STR("telegram"),
                  .chat_key = SMA_STR("t:1"),
                  .chat_id = SMA_STR("1"),
                  .chat_type = SMA_STR("private"),
                  .message_id = SMA_STR("m1"),
                  .user_id = SMA_STR("u1"),
                  .user_name = SMA_STR("Ann")},
        .text = SMA_STR("hello \"there\"\n"),
        .wall_ms = 1000,
        .attempt = 1,
        .standing = SMA_STANDING_OWNER,
    };
    driver->session = sma_session_pin(driver->sessions, driver->order.route.chat_key, 1);
    CHECK(driver->session != NULL);
    driver->first_state = SMA_DELIVERY_BEGUN;
    driver->now_ns = 5;
    driver->wall_ms = DRIVER_WALL_MS;
    driver->start_ms = 3600000;
}

void driver_targets(struct driver *driver, const struct sma_config_llm *const *llms, size_t count)
{
    driver->config.llm = *llms[0];
    driver->config.llm_targets[0] = &driver->config.llm;
    for (size_t i = 1; i < count; i++)
        driver->config.llm_targets[i] = llms[i];
    driver->config.llm_target_count = count;
    sma_run_settings_destroy(driver->settings);
    CHECK_OK(sma_run_settings_create(&driver->config, NULL, &driver->settings));
}

static void forget_steps(struct driver *driver)
{
    for (uint32_t i = 0; i < driver->step_count; i++)
        free((char *)(uintptr_t)driver->steps[i].data.ptr);
    for (uint32_t i = 0; i < driver->delivery_count; i++) {
        free(driver->texts[i]);
        free(driver->chats[i]);
    }
    driver->step_count = driver->delivery_count = 0;
}

void driver_next(struct driver *driver)
{
    driver_cut(driver);
    forget_steps(driver);
    driver->order.seq++;
    driver->order.has_past = true;
}

static void forget_done(struct driver *driver)
{
    free(driver->done_text);
    free(driver->done_output);
    free(driver->done_tool_calls);
    free(driver->done_turn);
    free(driver->done_wire);
    driver->done_wire = driver->done_text = driver->done_output = driver->done_tool_calls =
        driver->done_turn = NULL;
    driver->done_count = 0;
}

void driver_offer(struct driver *driver, const char *permissions)
{
    static uint64_t version = 1000;
    static const struct sma_mcp_server server = {.name = SMA_STR("files"),
                                                 .state = SMA_MCP_CONNECTED};
    static const char *const names[] = {"write", "read"};
    struct sma_mcp_builder *builder = sma_mcp_builder_create(++version);
    const struct sma_mcp_catalogue *made;
    sma_mcp_builder_add_server(builder, &server);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        const struct sma_mcp_tool tool = {
            .server = server.name,
            .name = sma_str(names[i]),
            .description = SMA_STR("Does it."),
            .schema =
                SMA_STR("{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}}"),
            .is_allowed = true};
        sma_mcp_builder_add_tool(builder, &tool);
    }
    CHECK_OK(sma_mcp_builder_finish(builder, &made));
    driver->config.permissions_json = permissions;
    sma_run_settings_destroy(driver->settings);
    CHECK_OK(sma_run_settings_create(&driver->config, NULL, &driver->settings));
    CHECK_OK(sma_run_settings_offer(driver->settings, made));
    sma_mcp_catalogue_unref(made);
}

void driver_fini(struct driver *driver)
{
    driver_cut(driver);
    forget_steps(driver);
    forget_done(driver);
    sma_sessions_destroy(driver->sessions);
    sma_run_settings_destroy(driver->settings);
}

void driver_event(struct driver *driver, struct sma_run_event event)
{
    event.now_ns = driver->now_ns;
    sma_run_event(driver->run, &event, &driver->actions);
}

void driver_start(struct driver *driver)
{
    driver->order.steps = driver->steps;
    driver->order.step_count = driver->step_count;
    driver->order.deliveries = driver->deliveries;
    driver->order.delivery_count = driver->delivery_count;
    driver->order.is_resumed = driver->step_count > 0;
    struct sma_run_options options = {.order = &driver->order,
                                      .sessions = driver->sessions,
                                      .session = driver->session,
                                      .settings = driver->settings,
                                      .has_files = true,
                                      .has_reactions = true,
                                      .wall_ms = driver->wall_ms +
                                                 (int64_t)driver->random * driver->start_ms,
                                      .random = {driver->random++, 7}};
    CHECK_OK(sma_run_create(&options, &driver->run));
    driver_event(driver, (struct sma_run_event){.kind = SMA_RUN_START});
}

void driver_cut(struct driver *driver)
{
    sma_run_destroy(driver->run);
    driver->run = NULL;
}

const struct sma_run_action *driver_find(const struct driver *driver, enum sma_run_action_kind kind)
{
    for (uint32_t i = 0; i < driver->actions.count; i++) {
        if (driver->actions.list[i].kind == kind)
            return &driver->actions.list[i];
    }
    return NULL;
}

uint32_t driver_count(const struct driver *driver, enum sma_run_action_kind kind)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < driver->actions.count; i++)
        count += driver->actions.list[i].kind == kind;
    return count;
}

void driver_answer(struct driver *driver, const char *text, enum sma_finish finish,
                   const struct driver_call *calls)
{
    struct sma_model_call list[64];
    struct sma_buf fragment;
    sma_buf_init(&fragment, 1 << 20);
    struct sma_model_answer answer = {.seq = driver->order.seq,
                                      .finish = (uint8_t)finish,
                                      .text = sma_str(text),
                                      .calls = list,
                                      .out_ns = 3,
                                      .first_token_ns = 4};
    sma_buf_put_text(&fragment, "{\"role\":\"assistant\",\"content\":");
    sma_buf_put_json_string(&fragment, sma_str(text));
    for (; calls != NULL && calls[answer.call_count].id != NULL; answer.call_count++) {
        const struct driver_call *call = &calls[answer.call_count];
        bool is_object = call->arguments[0] == '{';
        list[answer.call_count] = (struct sma_model_call){.id = sma_str(call->id),
                                                          .name = sma_str(call->name),
                                                          .arguments = sma_str(call->arguments),
                                                          .is_invalid = !is_object};
        sma_buf_put_text(&fragment, answer.call_count == 0 ? ",\"tool_calls\":[" : ",");
        sma_buf_put_text(&fragment, "{\"id\":");
        sma_buf_put_json_string(&fragment, sma_str(call->id));
        sma_buf_put_text(&fragment, ",\"type\":\"function\",\"function\":{\"name\":");
        sma_buf_put_json_string(&fragment, sma_str(call->name));
        sma_buf_put_text(&fragment, ",\"arguments\":");
        sma_buf_put_json_string(&fragment, sma_str(is_object ? call->arguments : "{}"));
        sma_buf_put_text(&fragment, "}}");
    }
    sma_buf_put_text(&fragment, answer.call_count > 0 ? "]}" : "}");
    answer.fragment = sma_buf_str(&fragment);
    driver_event(driver, (struct sma_run_event){
                             .kind = SMA_RUN_MODEL, .call = driver->asker, .model = &answer});
    sma_buf_fini(&fragment); /* like the message it came in */
}

void driver_model_status(struct driver *driver, enum sma_model_status status, const char *error)
{
    struct sma_model_answer answer = {
        .seq = driver->order.seq, .status = (uint8_t)status, .error = sma_str(error)};
    driver_event(driver, (struct sma_run_event){
                             .kind = SMA_RUN_MODEL, .call = driver->asker, .model = &answer});
}

void driver_trouble(struct driver *driver, enum sma_model_failure trouble, int64_t retry_after_ms)
{
    struct sma_model_answer answer = {.seq = driver->order.seq,
                                      .status = SMA_MODEL_FAILED,
                                      .trouble = (uint8_t)trouble,
                                      .retry_after_ms = retry_after_ms,
                                      .error = SMA_STR("it said no")};
    driver_event(driver, (struct sma_run_event){
                             .kind = SMA_RUN_MODEL, .call = driver->asker, .model = &answer});
}

static void store_one(struct driver *driver, const struct sma_step *step)
{
    if (step->number <= driver->step_count)
        return; /* stored before: idempotent */
    CHECK_INT(driver->step_count + 1, step->number);
    CHECK(driver->step_count < DRIVER_STEP_MAX);
    struct sma_stored_step *stored = &driver->steps[driver->step_count++];
    *stored =
        (struct sma_stored_step){step->number, step->kind, {dup_bytes(step->data), step->data.len}};
    for (uint32_t i = 0; i < step->delivery_count; i++) {
        uint32_t at = driver->delivery_count++;
        CHECK(at < DRIVER_DELIVERY_MAX);
        driver->deliveries[at] = (struct sma_step_delivery_state){.step = step->number,
                                                                  .call = step->deliveries[i].call,
                                                                  .outbox_id = 100 + at,
                                                                  .state = driver->first_state};
        driver->texts[at] = dup_bytes(step->deliveries[i].text);
        driver->chats[at] = dup_bytes(step->deliveries[i].route.chat_key);
    }
}

void driver_store(struct driver *driver)
{
    for (uint32_t i = 0; i < driver->actions.count; i++) {
        if (driver->actions.list[i].kind == SMA_RUN_STORE_STEP)
            store_one(driver, &driver->actions.list[i].step);
    }
}

void driver_verdict(struct driver *driver, uint32_t number, enum sma_step_verdict verdict)
{
    struct sma_step_done done = {
        .seq = driver->order.seq, .number = number, .verdict = (uint8_t)verdict};
    struct sma_step_delivery_state states[DRIVER_DELIVERY_MAX];
    for (uint32_t i = 0; i < driver->delivery_count && verdict == SMA_STEP_DURABLE; i++) {
        if (driver->deliveries[i].step == number)
            states[done.delivery_count++] = driver->deliveries[i];
    }
    done.deliveries = states;
    driver_event(driver, (struct sma_run_event){.kind = SMA_RUN_STEP_DONE, .step = &done});
}

void driver_durable(struct driver *driver)
{
    CHECK(driver_find(driver, SMA_RUN_STORE_STEP) != NULL);
    driver_store(driver);
    driver_verdict(driver, driver->step_count, SMA_STEP_DURABLE);
}

void driver_sent(struct driver *driver, uint32_t call, enum sma_send_state state, const char *error)
{
    struct sma_send_result result = {
        .seq = driver->order.seq, .state = (uint8_t)state, .error = sma_str(error)};
    driver_event(driver,
                 (struct sma_run_event){.kind = SMA_RUN_SENT, .call = call, .sent = &result});
}

void driver_tool(struct driver *driver, uint32_t call, enum sma_tool_verdict verdict,
                 const char *content)
{
    struct sma_buf item;
    sma_buf_init(&item, 1 << 16);
    struct sma_tool_answer answer = {
        .seq = driver->order.seq, .call = call, .verdict = (uint8_t)verdict};
    if (verdict == SMA_TOOL_ASKS && content[0] != '{') { /* content: first byte of the digest */
        struct sma_request_item what = {.type = SMA_STR("exec_shell"),
                                        .tool = SMA_STR("exec_shell"),
                                        .title = SMA_STR("title"),
                                        .input_json = SMA_STR("{}"),
                                        .details_json = SMA_STR("{}"),
                                        .digest = {(uint8_t)content[0]}};
        sma_request_put_item(&item, &what);
        answer.item_json = sma_buf_str(&item);
    } else {
        answer.content = sma_str(content);
        answer.is_error =
            verdict != SMA_TOOL_ALLOWED || strstr(content, "\"success\":false") != NULL;
    }
    driver_event(driver,
                 (struct sma_run_event){.kind = SMA_RUN_TOOL, .call = call, .tool = &answer});
    sma_buf_fini(&item);
}

void driver_decide(struct driver *driver, const struct sma_stored_decision *list, uint32_t count)
{
    struct sma_buf data;
    sma_buf_init(&data, 1 << 16);
    sma_codec_put_decisions(&data, list, count);
    CHECK_INT(SMA_ERR_OK, data.err);
    CHECK(driver->step_count < DRIVER_STEP_MAX);
    uint32_t number = driver->step_count + 1;
    driver->steps[driver->step_count++] = (struct sma_stored_step){
        number, SMA_STEP_DECISION, {dup_bytes(sma_buf_str(&data)), data.len}};
    sma_buf_fini(&data);
    driver->order.is_decided = true;
}

void driver_done(struct driver *driver, bool is_durable)
{
    const struct sma_run_action *action = driver_find(driver, SMA_RUN_STORE_DONE);
    CHECK(action != NULL);
    uint32_t count = driver->done_count + 1;
    forget_done(driver);
    driver->done_count = count;
    const struct sma_done *done = &action->done;
    driver->done_outcome = done->outcome;
    driver->done_intent = 255;
    driver->done_text = NULL;
    if (done->delivery_count > 0) {
        driver->done_text = dup_bytes(done->deliveries[0].text);
        driver->done_intent = done->deliveries[0].intent;
        CHECK_STR("t:1", done->deliveries[0].route.chat_key);
        CHECK(done->deliveries[0].is_fallback);
    }
    driver->done_output = dup_bytes(done->output);
    driver->done_tool_calls = dup_bytes(done->tool_calls_json);
    driver->done_turn = dup_bytes(done->turn);
    driver->done_wire = dup_bytes(done->wire);
    driver->done_turn_len = done->turn.len;
    if (!is_durable)
        return;
    struct sma_step_done verdict = {.seq = driver->order.seq, .verdict = SMA_STEP_DURABLE};
    driver_event(driver, (struct sma_run_event){.kind = SMA_RUN_DONE_DONE, .step = &verdict});
    CHECK(driver_find(driver, SMA_RUN_END) != NULL);
    CHECK(driver_find(driver, SMA_RUN_END)->is_counted);
}

char *driver_request(const struct driver *driver, struct sma_model_ask *ret_ask)
{
    const struct sma_run *run = sma_run_asker(driver->run, driver->asker);
    size_t size = sma_run_request_size(run);
    char *bytes = malloc(size + 1);
    CHECK(bytes != NULL);
    *ret_ask = (struct sma_model_ask){0};
    ret_ask->files =
        (struct sma_body_file *)(uintptr_t)sma_run_request_files(run, &ret_ask->file_count);
    sma_run_request_write(run, bytes, ret_ask);
    bytes[ret_ask->body.len] = '\0';
    return bytes;
}

char *driver_sent_bytes(const struct driver *driver)
{
    struct sma_model_ask ask;
    char *bytes = driver_request(driver, &ask);
    struct sma_buf whole;
    size_t from = 0;
    sma_buf_init(&whole, 1 << 24);
    for (uint32_t i = 0; i < ask.file_count; i++) {
        struct sma_str path = ask.files[i].path;
        CHECK(ask.files[i].offset >= from && ask.files[i].offset <= ask.body.len);
        sma_buf_put(&whole, bytes + from, (size_t)ask.files[i].offset - from);
        sma_buf_put_char(&whole, '<');
        sma_buf_put(&whole, path.ptr + path.len - 68, 4); /* the beginning of the hash */
        sma_buf_put_char(&whole, '>');
        from = (size_t)ask.files[i].offset;
    }
    sma_buf_put(&whole, bytes + from, ask.body.len - from);
    sma_buf_put_char(&whole, '\0');
    CHECK_INT(SMA_ERR_OK, whole.err);
    free(bytes);
    return whole.ptr;
}

bool driver_sends(const struct driver *driver, const char *text)
{
    char *bytes = driver_sent_bytes(driver);
    bool has = strstr(bytes, text) != NULL;
    free(bytes);
    return has;
}

void driver_encoded(struct driver *driver, const char *start, const char *note)
{
    const struct sma_run_action *action = driver_find(driver, SMA_RUN_ASK_ENCODE);
    CHECK(action != NULL);
    driver_encoded_at(driver, action->call, &action->encode.part, start, note);
}

void driver_encoded_at(struct driver *driver, uint32_t index, const struct sma_part *asked,
                       const char *start, const char *note)
{
    char hash[65];
    struct sma_part part = *asked;
    memset(hash, '0', 64);
    hash[64] = '\0';
    if (start != NULL)
        memcpy(hash, start, strlen(start));
    if (note == NULL) {
        part.hash = sma_str(hash);
        part.length = 1000;
        part.width = part.height = 100;
        if (part.mime.len == 0)
            part.mime = SMA_STR("image/png");
    } else {
        part.note = sma_str(note);
    }
    driver_event(driver,
                 (struct sma_run_event){.kind = SMA_RUN_ENCODED, .call = index, .part = &part});
}

void driver_check_facts(const struct driver *driver)
{
    struct sma_model_ask ask;
    char *bytes = driver_request(driver, &ask);
    struct sma_buf facts;
    sma_buf_init(&facts, 4096);
    sma_prompt_put_facts(&facts, &driver->order, DRIVER_WALL_MS);
    facts.ptr[24] = '\0'; /* "[facts] 2026-11-18 20:26": what follows holds quotes */
    CHECK(strstr(bytes, facts.ptr) != NULL);
    sma_buf_fini(&facts);
    free(bytes);
}

void driver_check_kinds(const struct driver *driver, const char *wanted)
{
    char actual[SMA_RUN_ACTION_COUNT_MAX + 1] = "";
    for (uint32_t i = 0; i < driver->actions.count; i++)
        actual[i] = "LMXCHYFSPDgWETKN\0Ace"[driver->actions.list[i].kind];
    actual[driver->actions.count] = '\0';
    CHECK_TEXT(wanted, actual);
}

bool driver_request_has(const struct driver *driver, const char *text)
{
    struct sma_model_ask ask;
    char *bytes = driver_request(driver, &ask);
    bool has = strstr(bytes, text) != NULL;
    free(bytes);
    return has;
}

const struct sma_tool_ask *driver_tool_ask(const struct driver *d, uint32_t call)
{
    for (uint32_t i = 0; i < d->actions.count; i++) {
        const struct sma_run_action *action = &d->actions.list[i];
        if (action->kind == SMA_RUN_ASK_TOOL && action->call == call)
            return &action->tool;
    }
    CHECK(false);
    return NULL;
}

/* -- a run played to its end ------------------------------------------------------------------- */
void play_perform(struct driver_play *play)
{
    struct driver *d = &play->d;
    driver_store(d);
    for (uint32_t i = 0; i < d->actions.count; i++) {
        const struct sma_run_action *action = &d->actions.list[i];
        if (action->kind == SMA_RUN_PROGRESS)
            continue;
        CHECK(play->tail < SMA_COUNT_OF(play->queue));
        struct driver_pending *pending = &play->queue[play->tail++];
        *pending = (struct driver_pending){
            .kind = action->kind, .call = action->call, .outbox_id = action->outbox_id};
        if (action->kind == SMA_RUN_STORE_STEP)
            pending->number = action->step.number;
        if (action->kind == SMA_RUN_ASK_TOOL) {
            struct sma_str arguments = action->tool.arguments;
            pending->mode = action->tool.mode;
            CHECK(arguments.len < sizeof pending->arguments);
            memcpy(pending->arguments, arguments.len == 0 ? "" : arguments.ptr, arguments.len);
        }
        if (action->kind == SMA_RUN_STORE_DONE)
            driver_done(d, false);
        if (play->note != NULL)
            play->note(play, action, pending);
    }
}

/* The store and the platforms answer. */
static void answer_others(struct driver_play *play, const struct driver_pending *pending)
{
    struct driver *d = &play->d;
    struct sma_contact_result bob = {.is_found = true,
                                     .route = {.adapter = 9, .chat_key = SMA_STR("t:bob")},
                                     .contact_json = SMA_STR("{}")};
    struct sma_history_lines none = {0};
    struct sma_mcp_answer written = {.outcome = SMA_MCP_OK, .text = SMA_STR("written")};
    struct sma_step_done durable = {.seq = 10, .verdict = SMA_STEP_DURABLE};
    switch (pending->kind) {
    case SMA_RUN_ASK_SEND:
        d->deliveries[pending->outbox_id - 100].state = SMA_DELIVERY_SENT;
        driver_sent(d, pending->call, SMA_SEND_SENT, "");
        break;
    case SMA_RUN_ASK_CONTACT:
        driver_event(d, (struct sma_run_event){
                            .kind = SMA_RUN_CONTACT, .call = pending->call, .contact = &bob});
        break;
    case SMA_RUN_ASK_HISTORY:
        driver_event(d, (struct sma_run_event){
                            .kind = SMA_RUN_HISTORY, .call = pending->call, .history = &none});
        break;
    case SMA_RUN_ASK_MCP:
        driver_event(
            d, (struct sma_run_event){.kind = SMA_RUN_MCP, .call = pending->call, .mcp = &written});
        break;
    case SMA_RUN_STORE_DONE:
        driver_event(d, (struct sma_run_event){.kind = SMA_RUN_DONE_DONE, .step = &durable});
        break;
    default:
        CHECK(false);
    }
}

void play_step(struct driver_play *play)
{
    struct driver *d = &play->d;
    CHECK(play->head < play->tail);
    struct driver_pending pending = play->queue[play->head++];
    d->actions.count = 0;
    if (pending.kind == SMA_RUN_END) {
        play->is_over = true;
    } else if (pending.kind == SMA_RUN_ASK_MODEL) {
        play->answer_model(play, pending.call);
    } else if (pending.kind == SMA_RUN_ASK_TOOL) {
        if (play->answer_tool != NULL)
            play->answer_tool(play, &pending);
        else
            driver_tool(d, pending.call, SMA_TOOL_ALLOWED, "");
    } else if (pending.kind == SMA_RUN_STORE_STEP) {
        if (play->stored != NULL)
            play->stored(play, &pending);
        driver_verdict(d, pending.number, pending.is_parking ? SMA_STEP_PARKED : SMA_STEP_DURABLE);
    } else {
        answer_others(play, &pending);
    }
    play->event_count++;
}

void play_cut(struct driver_play *play)
{
    driver_cut(&play->d);
    play->head = play->tail = 0;
    sma_session_clear(play->d.sessions, play->d.session, UINT64_MAX);
}
