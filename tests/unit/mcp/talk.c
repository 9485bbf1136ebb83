/* talk.c — see talk.h. */
#include "talk.h"

static void put(char to[512], struct sma_str text)
{
    snprintf(to, 512, "%.*s", (int)text.len, text.len == 0 ? "" : text.ptr);
}

static void on_send(void *user, const struct sma_mcp_out *out)
{
    struct talk *talk = user;
    CHECK(memchr(out->text.ptr, '\n', out->text.len) == NULL);
    json_t *message = json_loadb(out->text.ptr, out->text.len, 0, NULL);
    CHECK(message != NULL);
    CHECK_TEXT("2.0", json_string_value(json_object_get(message, "jsonrpc")));
    const char *method = json_string_value(json_object_get(message, "method"));
    CHECK_STR(method == NULL ? "" : method, out->method);
    if (method != NULL)
        CHECK_INT(json_integer_value(json_object_get(message, "id")), out->id);
    CHECK(talk->said_count < TALK_COUNT_MAX);
    talk->said[talk->said_count++] = message;
}

static void on_listed(void *user)
{
    struct talk *talk = user;
    talk->listed_count++;
}

static void on_answered(void *user, uint64_t id, enum sma_mcp_outcome outcome, const json_t *result,
                        struct sma_str why)
{
    struct talk *talk = user;
    talk->answered_count++;
    talk->answered_id = id;
    talk->outcome = outcome;
    put(talk->why, why);
    const json_t *first = json_array_get(json_object_get(result, "content"), 0);
    put(talk->text, sma_str(json_string_value(json_object_get(first, "text"))));
}

static void on_progress(void *user, uint64_t id, struct sma_str text)
{
    struct talk *talk = user;
    CHECK(id > 0);
    CHECK(text.len <= SMA_MCP_PROGRESS_BYTES_MAX);
    put(talk->progress, text);
}

static void on_log(void *user, enum sma_log_level level, struct sma_str text)
{
    struct talk *talk = user;
    (void)level;
    CHECK(text.len == 0 || memchr(text.ptr, '\n', text.len) == NULL);
    talk->log_count++;
    put(talk->log, text);
}

static bool on_elicit(void *user, const struct sma_mcp_question *question)
{
    struct talk *talk = user;
    if (talk->is_deaf)
        return false;
    talk->question_count++;
    talk->question = question->id;
    talk->question_call = question->call_id;
    snprintf(talk->question_text, sizeof talk->question_text, "%s", question->text.ptr);
    snprintf(talk->question_form, sizeof talk->question_form, "%s", question->schema.ptr);
    return true;
}

static const char *on_sample(void *user, const struct sma_mcp_wish *wish)
{
    struct talk *talk = user;
    if (talk->wish_why != NULL)
        return talk->wish_why;
    talk->wish_count++;
    talk->wish = wish->id;
    talk->wish_call = wish->call_id;
    talk->wish_tokens = wish->tokens_max;
    CHECK_INT(talk->now + SMA_MCP_SAMPLE_MS * MS, wish->deadline_ns);
    struct sma_buf text;
    sma_buf_init(&text, 16 * SMA_MCP_SAMPLE_BYTES_MAX);
    sma_buf_put_str(&text, wish->system);
    for (uint32_t i = 0; i < wish->line_count; i++) {
        CHECK(wish->lines[i].text.len > 0);
        sma_buf_put_text(&text, wish->lines[i].is_user ? "|u:" : "|a:");
        sma_buf_put_str(&text, wish->lines[i].text);
    }
    snprintf(talk->wish_text, sizeof talk->wish_text, "%s", text.ptr);
    sma_buf_fini(&text);
    return NULL;
}

static void on_failed(void *user, const char *why)
{
    struct talk *talk = user;
    talk->failed_count++;
    put(talk->why, sma_str(why));
}

static const struct sma_mcp_session_ops ops = {.send = on_send,
                                               .listed = on_listed,
                                               .answered = on_answered,
                                               .progress = on_progress,
                                               .log = on_log,
                                               .elicit = on_elicit,
                                               .sample = on_sample,
                                               .failed = on_failed};

static void begin(struct talk *talk, bool probes_modern, bool may_sample)
{
    struct sma_mcp_session_options options = {.server = "fake",
                                              .project_dir = "/home/a b/project",
                                              .probes_modern = probes_modern,
                                              .may_sample = may_sample};
    *talk = (struct talk){.now = 1000 * MS};
    talk->session = sma_mcp_session_create(&options, &ops, talk);
    CHECK(talk->session != NULL);
    sma_mcp_session_begin(talk->session, talk->now);
}

void talk_begin(struct talk *talk, bool probes_modern)
{
    begin(talk, probes_modern, false);
}

void talk_begin_sampling(struct talk *talk, bool probes_modern)
{
    begin(talk, probes_modern, true);
}

void talk_end(struct talk *talk)
{
    for (size_t i = 0; i < talk->said_count; i++)
        json_decref(talk->said[i]);
    sma_mcp_session_destroy(talk->session);
}

void talk_hear(struct talk *talk, const char *message)
{
    sma_mcp_session_take(talk->session, sma_str(message), talk->now);
}

static json_t *newest_of(const struct talk *talk, const char *method)
{
    for (size_t i = talk->said_count; i-- > 0;) {
        const char *said = json_string_value(json_object_get(talk->said[i], "method"));
        if (said != NULL && strcmp(said, method) == 0)
            return talk->said[i];
    }
    fprintf(stderr, "%s was never said\n", method);
    exit(1);
}

void talk_answer(struct talk *talk, const char *method, const char *member)
{
    long long id = json_integer_value(json_object_get(newest_of(talk, method), "id"));
    char *text = NULL;
    CHECK(asprintf(&text, "{%s,\"jsonrpc\":\"2.0\",\"id\":%lld}", member, id) > 0);
    talk_hear(talk, text);
    free(text);
}

const char *talk_newest(struct talk *talk)
{
    static char text[8192];
    CHECK(talk->said_count > 0);
    char *dumped = json_dumps(talk->said[talk->said_count - 1], JSON_COMPACT);
    CHECK(dumped != NULL);
    snprintf(text, sizeof text, "%s", dumped);
    free(dumped);
    return text;
}

size_t talk_count(const struct talk *talk, const char *method)
{
    size_t count = 0;
    for (size_t i = 0; i < talk->said_count; i++) {
        const char *said = json_string_value(json_object_get(talk->said[i], "method"));
        count += said != NULL && strcmp(said, method) == 0;
    }
    return count;
}

void talk_connect(struct talk *talk, const char *tools)
{
    talk_begin(talk, false);
    talk_shake_hands(talk, tools);
}

void talk_shake_hands(struct talk *talk, const char *tools)
{
    talk_answer(talk, "initialize",
                "\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{"
                "\"listChanged\":true}},\"serverInfo\":{\"name\":\"x\",\"version\":\"1\"}}");
    char *page = NULL;
    CHECK(asprintf(&page, "\"result\":{\"tools\":%s}", tools) > 0);
    talk_answer(talk, "tools/list", page);
    free(page);
    CHECK(sma_mcp_session_is_ready(talk->session));
}

uint64_t talk_call(struct talk *talk, const char *name, const char *arguments)
{
    struct sma_mcp_session_call call = {.kind = SMA_MCP_TOOL,
                                        .name = sma_str(name),
                                        .arguments = sma_str(arguments),
                                        .timeout_ms = 1000};
    uint64_t id = 0;
    CHECK_OK(sma_mcp_session_call(talk->session, &call, talk->now, &id));
    return id;
}
