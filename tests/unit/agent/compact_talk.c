#include "unit/agent/compact_talk.h"

static const uint8_t key[16] = {1, 2, 3};

void talk_init(struct talk *talk, enum sma_llm_api api, size_t window)
{
    memset(talk, 0, sizeof *talk);
    driver_init(&talk->d, api);
    talk->llm = talk->d.config.llm;
    talk->llm.context_tokens = (int64_t)window;
    talk->llm.max_tokens = 1000;
    const struct sma_config_llm *llm = &talk->llm;
    driver_targets(&talk->d, &llm, 1);
    talk->window = window;
    talk->d.order.facts_word = 0x1234567890abcdef;
    talk->d.start_ms = 0; /* a request that is repeated tells the same time */
}

static void forget_past(struct talk *talk)
{
    free(talk->past);
    talk->past = NULL;
    talk->past_len = 0;
}

void talk_fini(struct talk *talk)
{
    for (uint32_t i = 0; i < talk->turn_count; i++) {
        free(talk->turns[i].bytes);
        free(talk->turns[i].wire);
    }
    forget_past(talk);
    free(talk->last);
    driver_fini(&talk->d);
}

char *talk_filler(unsigned number, size_t bytes)
{
    char *text = malloc(bytes + 32);
    CHECK(text != NULL);
    int len = snprintf(text, bytes + 32, "note %u ", number);
    for (size_t i = (size_t)len; i < bytes; i++)
        text[i] = i % 7 == 6 ? ' ' : (char)('a' + (number + i / 7) % 26);
    text[bytes > (size_t)len ? bytes : (size_t)len] = '\0';
    return text;
}

/* -- the store --------------------------------------------------------------------------------- */
static void keep_turn(struct talk *talk, const struct sma_done *done)
{
    if (done->turn.len == 0)
        return;
    CHECK(talk->turn_count < TALK_TURN_MAX);
    struct talk_turn *turn = &talk->turns[talk->turn_count++];
    *turn = (struct talk_turn){.seq = done->seq,
                               .bytes = malloc(done->turn.len),
                               .wire = strndup(done->wire.ptr, done->wire.len),
                               .len = done->turn.len};
    CHECK(turn->bytes != NULL && turn->wire != NULL);
    memcpy(turn->bytes, done->turn.ptr, done->turn.len);
}

static void drop_below(struct talk *talk, uint64_t below)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < talk->turn_count; i++) {
        if (talk->turns[i].seq >= below) {
            talk->turns[kept++] = talk->turns[i];
            continue;
        }
        free(talk->turns[i].bytes);
        free(talk->turns[i].wire);
    }
    talk->turn_count = kept;
}

static void keep_step(struct talk *talk, const struct sma_step *step)
{
    bool is_new = step->number > talk->d.step_count;
    struct sma_run_actions all = talk->d.actions;
    talk->d.actions =
        (struct sma_run_actions){.count = 1, .list = {{.kind = SMA_RUN_STORE_STEP, .step = *step}}};
    driver_store(&talk->d); /* this one, not what may stand beside it */
    talk->d.actions = all;
    if (!is_new)
        return;
    talk->usage_requests += (uint32_t)step->usage.request_count;
    if (step->kind != SMA_STEP_COMPACTION)
        return;
    struct sma_stored_past past;
    CHECK_OK(sma_codec_get_past(step->data, &past));
    if (past.round_count > 0)
        talk->covered_seq = step->seq;
    forget_past(talk);
    talk->past = malloc(step->data.len);
    CHECK(talk->past != NULL);
    memcpy(talk->past, step->data.ptr, step->data.len);
    talk->past_len = step->data.len;
    talk->past_count++;
    drop_below(talk, step->past_below);
}

static void give_session(struct talk *talk)
{
    struct sma_turn *turns = calloc(talk->turn_count + 1, sizeof *turns);
    CHECK(turns != NULL);
    for (uint32_t i = 0; i < talk->turn_count; i++)
        turns[i] = (struct sma_turn){.seq = talk->turns[i].seq,
                                     .wire = sma_str(talk->turns[i].wire),
                                     .bytes = {talk->turns[i].bytes, talk->turns[i].len}};
    const struct sma_session_turns given = {
        .turn_count = talk->turn_count, .turns = turns, .past = {talk->past, talk->past_len}};
    driver_event(&talk->d, (struct sma_run_event){.kind = SMA_RUN_SESSION, .turns = &given});
    free(turns);
}

void talk_evict(struct talk *talk)
{
    sma_sessions_destroy(talk->d.sessions);
    talk->d.sessions = sma_sessions_create(key);
    CHECK(talk->d.sessions != NULL);
    talk->d.session = sma_session_pin(talk->d.sessions, talk->d.order.route.chat_key, 1);
    CHECK(talk->d.session != NULL);
}

/* -- the model --------------------------------------------------------------------------------- */
static void put_line(struct sma_buf *text, const char *at, size_t len)
{
    struct sma_str line = {at, len};
    if (text->len == 0 || memmem(text->ptr, text->len, line.ptr, line.len) == NULL) {
        sma_buf_put_str(text, line);
        sma_buf_put_char(text, '\n');
    }
}

/* Every "FACT-7 is 1234." of the request. */
static void put_facts(struct sma_buf *text, const char *request)
{
    for (const char *at = request; (at = strstr(at, "FACT-")) != NULL; at++) {
        unsigned number, value;
        int len = 0;
        if (sscanf(at, "FACT-%u is %u.%n", &number, &value, &len) == 2 && len > 0)
            put_line(text, at, (size_t)len);
    }
}

static void answer_with(struct talk *talk, struct sma_model_answer *answer, const char *text,
                        const struct sma_model_call *calls, uint32_t call_count, size_t request)
{
    struct sma_buf fragment;
    const struct sma_target *target = &talk->d.settings->targets[0];
    sma_buf_init(&fragment, 1 << 20);
    target->wire->put_assistant(&fragment, target, sma_str(text), calls, call_count);
    answer->seq = talk->d.order.seq;
    answer->text = sma_str(text);
    answer->fragment = sma_buf_str(&fragment);
    answer->calls = (struct sma_model_call *)(uintptr_t)calls;
    answer->call_count = call_count;
    answer->usage = (struct sma_usage){.request_count = 1,
                                       .input = request / 8,
                                       .cached = request / 4 - request / 8,
                                       .output = 1 + fragment.len / 4};
    driver_event(&talk->d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = answer});
    sma_buf_fini(&fragment);
}

static void answer_summary(struct talk *talk, const char *request, size_t len)
{
    static const struct sma_model_call call = {
        .id = SMA_STR("c"), .name = SMA_STR("read_file"), .arguments = SMA_STR("{}")};
    struct sma_model_answer answer = {.finish = SMA_FINISH_STOP};
    struct sma_buf facts, text;
    sma_buf_init(&facts, 1 << 20);
    sma_buf_init(&text, 1 << 20);
    put_facts(&facts, request);
    sma_buf_put_text(&text, "## Goal\ntalk\n## Facts\n");
    sma_buf_put_str(&text, sma_buf_str(&facts));
    sma_buf_put_text(&text,
                     "## Done\nnone\n## Decisions\nnone\n## Open\nnone\n## Identifiers\nnone");
    sma_buf_put_char(&text, '\0');
    talk->summary_count++;
    switch (talk->summary) {
    case TALK_FAILS:
        driver_trouble(&talk->d, SMA_MODEL_FAILURE_TRANSIENT, -1);
        break;
    case TALK_OVERFLOWS:
        driver_model_status(&talk->d, SMA_MODEL_CONTEXT_LENGTH, "too long");
        break;
    case TALK_CUT:
        answer.finish = SMA_FINISH_LENGTH;
        answer_with(talk, &answer, text.ptr, NULL, 0, len);
        break;
    case TALK_CALLS:
        answer_with(talk, &answer, text.ptr, &call, 1, len);
        break;
    case TALK_EMPTY:
        answer_with(talk, &answer, " ", NULL, 0, len);
        break;
    case TALK_CHATS:
        answer_with(talk, &answer, "Nice talk! What else?", NULL, 0, len);
        break;
    case TALK_GOOD:
        answer_with(talk, &answer, text.ptr, NULL, 0, len);
        break;
    }
    sma_buf_fini(&facts);
    sma_buf_fini(&text);
}

/* The newest "what is FACT-7?" is answered from the request alone. */
static void put_said(struct talk *talk, struct sma_buf *text, const char *request)
{
    const char *newest = NULL;
    char wanted[40];
    unsigned number;
    for (const char *at = request; (at = strstr(at, "what is FACT-")) != NULL; at++)
        newest = at;
    char asked[64];
    snprintf(asked, sizeof asked, "%.60s", talk->d.order.text.ptr);
    if (newest == NULL || sscanf(asked, "what is FACT-%u?", &number) != 1) {
        char *filler = talk_filler((unsigned)talk->d.order.seq, 500);
        sma_buf_put_text(text, filler);
        free(filler);
        return;
    }
    snprintf(wanted, sizeof wanted, "FACT-%u is ", number);
    const char *fact = strstr(request, wanted);
    if (fact == NULL)
        sma_buf_put_text(text, "I do not know.");
    else
        sma_buf_printf(text, "It is %u.", (unsigned)strtoul(fact + strlen(wanted), NULL, 10));
}

/* Marks are no content. */
static size_t strip_marks(char *bytes)
{
    static const char mark[] = ",\"cache_control\":{\"type\":\"ephemeral\"}";
    for (char *at = bytes; (at = strstr(at, mark)) != NULL;)
        memmove(at, at + sizeof mark - 1, strlen(at + sizeof mark - 1) + 1);
    return strlen(bytes);
}

/* The part that a provider caches: everything but the tail. */
static void check_prefix(struct talk *talk, const char *request, const struct sma_model_ask *ask)
{
    char *now = strndup(request, ask->turn_end);
    CHECK(now != NULL);
    size_t len = strip_marks(now);
    bool is_kept =
        talk->last != NULL && len >= talk->last_len && memcmp(now, talk->last, talk->last_len) == 0;
    if (talk->last != NULL && !is_kept) {
        talk->prefix_breaks++;
        CHECK(talk->may_break || talk->past_count != talk->past_seen); /* only a step changes it */
    }
    talk->past_seen = talk->past_count;
    free(talk->last);
    talk->last = now;
    talk->last_len = len;
}

static void answer_model(struct talk *talk)
{
    struct sma_model_ask ask;
    char *request = driver_request(&talk->d, &ask);
    size_t len = strlen(request);
    CHECK(ask.turn_offset < ask.turn_end && ask.turn_end < len);
    if (strstr(request, "<conversation>") != NULL) {
        CHECK(strstr(request, "1234567890abcdef") == NULL); /* our word stays among us */
        CHECK(strstr(request, "\"tools\"") == NULL);
    }
    if (len / 4 + (size_t)talk->llm.max_tokens > talk->window) {
        struct sma_model_answer answer = {.seq = talk->d.order.seq,
                                          .status = SMA_MODEL_CONTEXT_LENGTH,
                                          .window_tokens = talk->window_told,
                                          .error = SMA_STR("too long")};
        talk->overflow_count++;
        driver_event(&talk->d, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &answer});
    } else if (strstr(request, "<conversation>") != NULL) {
        answer_summary(talk, request, len);
    } else {
        struct sma_model_answer answer = {.finish = SMA_FINISH_STOP};
        struct sma_buf text;
        char id[40];
        sma_buf_init(&text, 1 << 20);
        check_prefix(talk, request, &ask);
        snprintf(id, sizeof id, "call_%u_0", (unsigned)talk->d.order.seq);
        CHECK(talk->covered_seq != talk->d.order.seq || strstr(request, id) == NULL);
        talk->answer_count++;
        if (ask.round < talk->tool_rounds) {
            snprintf(id, sizeof id, "call_%u_%u", (unsigned)talk->d.order.seq, ask.round);
            const struct sma_model_call call = {.id = sma_str(id),
                                                .name = SMA_STR("exec_shell"),
                                                .arguments = SMA_STR("{\"command\":\"ls\"}")};
            answer.finish = SMA_FINISH_TOOLS;
            answer_with(talk, &answer, "", &call, 1, len);
        } else {
            put_said(talk, &text, request);
            sma_buf_put_char(&text, '\0');
            answer_with(talk, &answer, text.ptr, NULL, 0, len);
        }
        sma_buf_fini(&text);
    }
    free(request);
}

/* -- one run ----------------------------------------------------------------------------------- */
static void answer_tool(struct talk *talk, const struct sma_run_action *action)
{
    uint32_t call = action->call;
    if (action->tool.mode == SMA_TOOL_CHECK) {
        driver_tool(&talk->d, call, SMA_TOOL_ALLOWED, "");
        return;
    }
    char *content = talk_filler((unsigned)talk->answer_count, talk->tool_bytes);
    driver_tool(&talk->d, call, SMA_TOOL_ALLOWED, content);
    free(content);
}

static void note_event(struct talk *talk)
{
    for (uint32_t i = 0; i < talk->d.actions.count; i++) {
        const struct sma_run_action *action = &talk->d.actions.list[i];
        if (action->kind == SMA_RUN_PROGRESS && action->progress == SMA_PROGRESS_COMPACTION)
            snprintf(talk->event, sizeof talk->event, "%.*s", (int)action->text.len,
                     action->text.ptr);
    }
}

/* The program ends here, now and then. */
static bool cuts(struct talk *talk)
{
    if (talk->cut_at <= 0 || --talk->cut_at > 0)
        return false;
    talk->cut_count++;
    driver_cut(&talk->d);
    talk_evict(talk);
    return true;
}

/* @return the run is over */
static bool store(struct talk *talk, const struct sma_run_action *action)
{
    if (action->kind == SMA_RUN_STORE_STEP) {
        const uint32_t number = action->step.number;
        if (cuts(talk))
            return false;
        keep_step(talk, &action->step);
        if (cuts(talk))
            return false;
        driver_verdict(&talk->d, number, SMA_STEP_DURABLE);
        return false;
    }
    if (cuts(talk))
        return false;
    keep_turn(talk, &action->done);
    talk->usage_requests += (uint32_t)action->done.usage.request_count;
    snprintf(talk->said, sizeof talk->said, "%.*s",
             action->done.delivery_count > 0 ? (int)action->done.deliveries[0].text.len : 0,
             action->done.delivery_count > 0 ? action->done.deliveries[0].text.ptr : "");
    talk->d.done_outcome = action->done.outcome;
    struct sma_step_done verdict = {.seq = talk->d.order.seq, .verdict = SMA_STEP_DURABLE};
    driver_event(&talk->d, (struct sma_run_event){.kind = SMA_RUN_DONE_DONE, .step = &verdict});
    return true;
}

/* What is asked of the store comes before what is asked of others. A results step and the next
 * request go out together. */
static bool go_on(struct talk *talk)
{
    struct sma_run_actions actions = talk->d.actions;
    note_event(talk);
    for (uint32_t i = 0; i < actions.count; i++) {
        const struct sma_run_action *action = &actions.list[i];
        bool is_store = action->kind == SMA_RUN_STORE_STEP || action->kind == SMA_RUN_STORE_DONE;
        bool is_results =
            action->kind == SMA_RUN_STORE_STEP && action->step.kind == SMA_STEP_RESULTS;
        if (is_results) {
            if (cuts(talk))
                return false;
            keep_step(talk, &action->step);
            driver_verdict(&talk->d, action->step.number, SMA_STEP_DURABLE);
            continue;
        }
        if (is_store)
            return store(talk, action);
        if (action->kind == SMA_RUN_ASK_SESSION) {
            give_session(talk);
            return false;
        }
        if (action->kind == SMA_RUN_ASK_MODEL) {
            if (!cuts(talk))
                answer_model(talk);
            return false;
        }
        if (action->kind == SMA_RUN_ASK_TOOL) {
            answer_tool(talk, action);
            return false;
        }
    }
    CHECK(false); /* it waits for nothing */
    return true;
}

static void carry_out(struct talk *talk)
{
    bool is_over = false;
    for (int i = 0; i < 10000 && !is_over; i++) {
        if (talk->d.run == NULL) {
            talk->d.order.has_past = talk->turn_count > 0 || talk->past_len > 0;
            driver_start(&talk->d);
        }
        is_over = go_on(talk);
    }
    CHECK(is_over);
    driver_next(&talk->d);
    talk->d.order.has_past = talk->turn_count > 0 || talk->past_len > 0;
}

void talk_say(struct talk *talk, const char *text)
{
    talk->d.order.text = sma_str(text);
    carry_out(talk);
    talk->d.order.text = SMA_STR("");
}

void talk_compact(struct talk *talk, const char *words)
{
    talk->d.order.text = sma_str(words);
    talk->d.order.is_compaction = true;
    carry_out(talk);
    talk->d.order.is_compaction = false;
}
