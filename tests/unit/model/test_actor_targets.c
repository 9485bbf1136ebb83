/*
 * Aim: the llm a question points to decides where it goes, with which key, which headers and
 *      through which proxy; keys that are refused give way to others; a hang costs two times the
 *      limit and no more.
 * Method: servers of the test's own, which answer by key or by number and keep the requests byte
 * for byte.
 */
#include "harness.h"
#include "raw_server.h"
#include "sma/health.h"
#include "support/check.h"
#include "support/patience.h"

#include <stdlib.h>
#include <strings.h>

#define MS UINT64_C(1000000)

static const char *const three_keys[] = {"sk-key-one-1", "sk-key-two-2", "sk-key-three-3"};

/* What the server does to requests with a key; index 3: with none of them. */
struct moods
{
    int status[4]; /* 0 = answers */
    const char *headers, *body;
    size_t counts[4];
};

static size_t key_of(const char *request)
{
    for (size_t i = 0; i < SMA_COUNT_OF(three_keys); i++)
        if (strstr(request, three_keys[i]) != NULL)
            return i;
    return 3;
}

static void answer_by_key(void *user, size_t number, const char *request, char *response,
                          size_t size)
{
    struct moods *moods = user;
    size_t key = key_of(request);
    (void)number;
    moods->counts[key]++;
    if (moods->status[key] == 0)
        raw_say(response, size, "Hello.");
    else
        raw_fail(response, size, moods->status[key], moods->headers,
                 moods->body == NULL ? "{\"error\":{\"message\":\"no\"}}" : moods->body);
}

static struct sma_config_llm llm_at(int port, char *url, size_t size)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    snprintf(url, size, "http://127.0.0.1:%d/v1", port);
    llm.base_url = url;
    return llm;
}

struct key_world
{
    struct moods moods;
    struct raw_server *server;
    struct harness *harness;
    struct sma_config_llm llm;
    char url[64];
};

static void open_world(struct key_world *world, struct moods moods)
{
    memset(world, 0, sizeof *world);
    world->moods = moods;
    if (world->moods.headers == NULL)
        world->moods.headers = "";
    world->server = raw_server_create(answer_by_key, &world->moods);
    world->llm = llm_at(raw_server_port(world->server), world->url, sizeof world->url);
    world->llm.api_keys = three_keys;
    world->llm.api_key_count = 3;
    world->llm.api_key = three_keys[0];
    struct sma_config_llm plain = harness_llm(SMA_LLM_CHAT);
    world->harness = harness_create(&plain, NULL);
}

static void close_world(struct key_world *world)
{
    harness_destroy(world->harness);
    raw_server_destroy(world->server);
}

static const struct harness_record *ask_world(struct key_world *world, const char *chat)
{
    return harness_wait(world->harness, harness_ask_at(world->harness, &world->llm, chat, "hi"));
}

CASE(a_chat_keeps_its_key_and_chats_share_them)
{
    SMA_AUTO(close_world) struct key_world world;
    open_world(&world, (struct moods){.headers = ""});
    for (int chat = 0; chat < 40; chat++) {
        char name[32];
        snprintf(name, sizeof name, "chat-%d", chat);
        CHECK_INT(SMA_MODEL_OK, ask_world(&world, name)->status);
    }
    for (size_t i = 0; i < 3; i++)
        CHECK(world.moods.counts[i] > 3);
    CHECK_INT(0, world.moods.counts[3]);
    size_t before[3] = {world.moods.counts[0], world.moods.counts[1], world.moods.counts[2]};
    for (int i = 0; i < 5; i++)
        CHECK_INT(SMA_MODEL_OK, ask_world(&world, "chat-7")->status);
    size_t moved = 0;
    for (size_t i = 0; i < 3; i++)
        moved += world.moods.counts[i] != before[i];
    CHECK_INT(1, moved);
}

CASE(a_refused_key_gives_way_at_once)
{
    static const int statuses[] = {401, 402, 403, 429};
    for (size_t i = 0; i < SMA_COUNT_OF(statuses); i++) {
        struct key_world world;
        int bad = statuses[i];
        open_world(&world,
                   (struct moods){.status = {bad, 0, bad}, .headers = "retry-after: 40\r\n"});
        for (int chat = 0; chat < 12; chat++) {
            char name[32];
            snprintf(name, sizeof name, "chat-%d", chat);
            const struct harness_record *record = ask_world(&world, name);
            CHECK_INT(SMA_MODEL_OK, record->status);
            CHECK(record->answered_ns - record->asked_ns < 3000 * MS * PATIENCE);
        }
        CHECK_INT(1, world.moods.counts[0]); /* found out once each */
        CHECK_INT(1, world.moods.counts[2]);
        CHECK_INT(12, world.moods.counts[1]);
        close_world(&world);
    }
}

CASE(when_all_keys_rest_the_first_return_is_told)
{
    static const struct
    {
        int status;
        const char *headers;
        enum sma_model_failure trouble;
        int64_t least_ms, most_ms;
    } cases[] = {
        {429, "", SMA_MODEL_FAILURE_RATE, 25000, 30000},
        {429, "retry-after: 90\r\n", SMA_MODEL_FAILURE_RATE, 85000, 90000},
        {402, "", SMA_MODEL_FAILURE_QUOTA, 590000, 600000},
        {401, "", SMA_MODEL_FAILURE_AUTH, 590000, 600000},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct key_world world;
        int bad = cases[i].status;
        open_world(&world, (struct moods){.status = {bad, bad, bad}, .headers = cases[i].headers});
        for (int time = 0; time < 2; time++) { /* the second one asks nobody */
            const struct harness_record *record = ask_world(&world, "chat");
            CHECK_INT(SMA_MODEL_FAILED, record->status);
            CHECK_INT(cases[i].trouble, record->trouble);
            CHECK(record->retry_after_ms >= cases[i].least_ms);
            CHECK(record->retry_after_ms <= cases[i].most_ms);
            CHECK(strstr(record->error, "all 3 keys") != NULL);
            CHECK_INT(3, raw_server_count(world.server));
        }
        close_world(&world);
    }
}

CASE(another_configuration_tries_refused_keys_again)
{
    SMA_AUTO(close_world) struct key_world world;
    open_world(&world, (struct moods){.status = {402, 402, 402}});
    CHECK_INT(SMA_MODEL_FAILURE_QUOTA, ask_world(&world, "chat")->trouble);
    for (size_t i = 0; i < 3; i++)
        world.moods.status[i] = 0; /* somebody has paid */
    struct sma_config config = {.llm = world.llm};
    harness_reload(world.harness, &config);
    CHECK_INT(SMA_MODEL_OK, ask_world(&world, "chat")->status);
}

CASE(no_key_is_shown)
{
    SMA_AUTO(close_world) struct key_world world;
    open_world(&world, (struct moods){.status = {401, 401, 401},
                                      .body = "{\"error\":{\"message\":\"bad sk-key-one-1 and "
                                              "sk-key-two-2, sk-key-three-3\"}}"});
    struct sma_config config = {.llm = world.llm}; /* whose secrets are known from now on */
    harness_reload(world.harness, &config);
    const struct harness_record *record = ask_world(&world, "chat");
    CHECK_INT(SMA_MODEL_FAILED, record->status);
    CHECK(strstr(record->error, "sk-key") == NULL);
    harness_wait_log(world.harness, "\"outcome\":\"auth\"");
    CHECK_INT(0, harness_log_count(world.harness, "sk-key"));
}

/* -- targets ----------------------------------------------------------------------------------- */
CASE(every_question_goes_where_its_llm_says)
{
    struct sma_config_llm chat = harness_llm(SMA_LLM_CHAT),
                          messages = harness_llm(SMA_LLM_MESSAGES),
                          responses = harness_llm(SMA_LLM_RESPONSES),
                          offline = {.api = SMA_LLM_OFFLINE,
                                     .provider = "offline",
                                     .model = "offline",
                                     .base_url = "",
                                     .api_key = "",
                                     .is_stream = true};
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&chat, NULL);
    chat.base_url = messages.base_url = responses.base_url = harness_url(harness);
    const struct sma_config_llm *const all[] = {&chat, &messages, &offline, &responses};
    size_t records[12];
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++)
        records[i] = harness_ask_at(harness, all[i % 4], "", "hello");
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++)
        harness_check_said(harness_wait(harness, records[i]), "hello");
    CHECK_INT(9, harness_requests(harness, NULL));
}

CASE(an_actor_that_began_offline_reaches_the_network_later)
{
    struct sma_config_llm offline = {.api = SMA_LLM_OFFLINE,
                                     .provider = "offline",
                                     .model = "offline",
                                     .base_url = "",
                                     .api_key = "",
                                     .is_stream = true};
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&offline, NULL);
    harness_check_said(harness_wait(harness, harness_ask(harness, "one")), "one");
    struct sma_config config = {.llm = harness_llm(SMA_LLM_MESSAGES)};
    config.llm.base_url = harness_url(harness);
    harness_reload(harness, &config);
    harness_check_said(harness_wait(harness, harness_ask_at(harness, &config.llm, "", "two")),
                       "two");
    struct sma_config back = {.llm = offline};
    harness_reload(harness, &back);
    harness_check_said(harness_wait(harness, harness_ask_at(harness, &back.llm, "", "three")),
                       "three");
    CHECK_INT(1, harness_requests(harness, NULL));
    CHECK_INT(0, harness_log_count(harness, "restart"));
}

CASE(a_reload_under_way_leaves_open_questions_alone)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    llm.first_byte_ms = 20000;
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    size_t slow = harness_ask(harness, "slow [[fault:silence ms=400]]");
    harness_wait_requests(harness, 1);
    struct sma_config config = {.llm = harness_llm(SMA_LLM_RESPONSES)};
    config.llm.base_url = harness_url(harness);
    harness_reload(harness, &config);
    harness_check_said(harness_wait(harness, harness_ask_at(harness, &config.llm, "", "new")),
                       "new");
    harness_check_said(harness_wait(harness, slow), "slow [[fault:silence ms=400]]");
}

CASE(targets_are_bounded)
{
    enum
    {
        COUNT = 70
    };
    static struct sma_config_llm many[COUNT];
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    for (size_t i = 0; i < COUNT; i++) {
        many[i] = llm;
        many[i].base_url = harness_url(harness);
        harness_check_said(harness_wait(harness, harness_ask_at(harness, &many[i], "", "x")), "x");
    }
    harness_check_said(harness_wait(harness, harness_ask_at(harness, &many[0], "", "again")),
                       "again");
    size_t connections = 0;
    CHECK_INT(COUNT + 1, harness_requests(harness, &connections));
    CHECK_INT(1, connections); /* one network for all */
}

/* -- headers and proxies ----------------------------------------------------------------------- */
static void answer_always(void *user, size_t number, const char *request, char *response,
                          size_t size)
{
    (void)user;
    (void)number;
    (void)request;
    raw_say(response, size, "Hello.");
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; (at = strcasestr(at, part)) != NULL; at++)
        count++;
    return count;
}

CASE(extra_headers_go_out_and_take_the_place_of_ours)
{
    static const char *const extra[] = {"X-Session: abc", "authorization: Token secret-of-mine",
                                        "HTTP-Referer: https://example.org"};
    SMA_AUTO(raw_server_destroyp)
    struct raw_server *server = raw_server_create(answer_always, NULL);
    char url[64];
    struct sma_config_llm llm = llm_at(raw_server_port(server), url, sizeof url);
    llm.extra_headers = extra;
    llm.extra_header_count = SMA_COUNT_OF(extra);
    struct harness *harness = harness_create(&llm, NULL);
    CHECK_INT(SMA_MODEL_OK, harness_wait(harness, harness_ask(harness, "hi"))->status);
    const char *request = raw_server_request(server, 0);
    for (size_t i = 0; i < SMA_COUNT_OF(extra); i++)
        CHECK_INT(1, count_of(request, extra[i]));
    CHECK_INT(1, count_of(request, "\r\nauthorization:"));
    CHECK_INT(0, count_of(request, "sk-secret-key"));
    CHECK_INT(1, count_of(request, "\r\ncontent-type:"));
    harness_destroy(harness);
}

CASE(a_proxy_leads_where_the_configuration_says)
{
    static const char *const schemes[] = {"http", "socks5h"};
    for (size_t i = 0; i < SMA_COUNT_OF(schemes); i++) {
        struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
        struct raw_server *server = raw_server_create(answer_always, NULL);
        struct raw_server *proxy = raw_proxy_create(raw_server_port(server));
        char proxy_url[64];
        snprintf(proxy_url, sizeof proxy_url, "%s://127.0.0.1:%d", schemes[i],
                 raw_server_port(proxy));
        llm.base_url = "http://model.invalid:8080/v1"; /* only the proxy finds it */
        llm.proxy = proxy_url;
        struct harness *harness = harness_create(&llm, NULL);
        CHECK_INT(SMA_MODEL_OK, harness_wait(harness, harness_ask(harness, "hi"))->status);
        CHECK_INT(1, raw_server_count(proxy));
        CHECK(strstr(raw_server_request(proxy, 0), "model.invalid:8080") != NULL);
        CHECK_INT(1, raw_server_count(server));
        harness_destroy(harness);
        raw_server_destroy(proxy);
        raw_server_destroy(server);
    }
}

CASE(the_environment_s_proxy_is_never_taken)
{
    static const char *const names[] = {"http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY",
                                        "https_proxy"};
    SMA_AUTO(raw_server_destroyp) struct raw_server *proxy = raw_proxy_create(1);
    char value[64];
    snprintf(value, sizeof value, "http://127.0.0.1:%d", raw_server_port(proxy));
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        setenv(names[i], value, 1);
    unsetenv("no_proxy");
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    struct harness *harness = harness_create(&llm, NULL);
    struct sma_config_llm far = llm;
    far.base_url = "http://model.invalid/v1"; /* nobody finds it; a proxy would try */
    const struct harness_record *record =
        harness_wait(harness, harness_ask_at(harness, &far, "", "direct"));
    CHECK_INT(SMA_MODEL_FAILED, record->status);
    CHECK(strstr(record->error, "model.invalid") != NULL);
    CHECK_INT(0, raw_server_count(proxy));
    harness_destroy(harness);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        unsetenv(names[i]);
}

CASE(what_runs_on_this_machine_needs_no_proxy)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    llm.proxy = "http://127.0.0.1:1";
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    harness_check_said(harness_wait(harness, harness_ask(harness, "direct")), "direct");
}

/* -- hangs and usage --------------------------------------------------------------------------- */
static void stay_silent(void *user, size_t number, const char *request, char *response, size_t size)
{
    (void)user;
    (void)number;
    (void)request;
    (void)size;
    response[0] = '\0';
}

CASE(a_hang_is_repeated_once_on_a_new_connection)
{
    SMA_AUTO(raw_server_destroyp) struct raw_server *server = raw_server_create(stay_silent, NULL);
    char url[64];
    struct sma_config_llm llm = llm_at(raw_server_port(server), url, sizeof url);
    llm.connect_ms = 5000;
    llm.first_byte_ms = 400;
    struct harness *harness = harness_create(&llm, NULL);
    const struct harness_record *record = harness_wait(harness, harness_ask(harness, "hi"));
    CHECK_INT(SMA_MODEL_FAILED, record->status);
    CHECK_INT(SMA_MODEL_FAILURE_TRANSIENT, record->trouble);
    CHECK(strstr(record->error, "sent no data within 0.4 s") != NULL);
    CHECK_INT(2, raw_server_count(server));
    uint64_t took_ns = record->answered_ns - record->asked_ns;
    CHECK(took_ns >= 800 * MS); /* the time to connect is not waited for twice */
    CHECK(took_ns < 800 * MS + 1500 * MS * PATIENCE);
    harness_destroy(harness);
}

static void break_then_say(void *user, size_t number, const char *request, char *response,
                           size_t size)
{
    (void)user;
    (void)request;
    if (number > 0) {
        raw_say(response, size, "Whole.");
        return;
    }
    static const char part[] =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Half of it\"}}],\"usage\":"
        "{\"prompt_tokens\":40,\"completion_tokens\":3}}\n\n";
    snprintf(response, size,
             "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n%s",
             part); /* no length, no last chunk: nobody knows whether that was all */
}

/* The end is left out, but the body has the length that was told. */
static void end_without_a_word(void *user, size_t number, const char *request, char *response,
                               size_t size)
{
    (void)user, (void)number, (void)request;
    static const char whole[] = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"All of "
                                "it.\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":"
                                "\"40\",\"completion_tokens\":3}}\n\n";
    snprintf(response, size,
             "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(whole), whole);
}

/* The first request is at work for long; another one is told so, and goes when that is over. */
static void be_busy(void *user, size_t number, const char *request, char *response, size_t size)
{
    (void)user, (void)request;
    response[0] = '\0';
    if (number == 1)
        raw_fail(response, size, 503, "", "{\"error\":\"server busy, please try again\"}");
    else if (number > 1)
        raw_say(response, size, "Now.");
}

CASE(a_server_that_is_busy_is_asked_one_at_a_time)
{
    SMA_AUTO(raw_server_destroyp) struct raw_server *server = raw_server_create(be_busy, NULL);
    char url[64];
    struct sma_config_llm llm = llm_at(raw_server_port(server), url, sizeof url);
    llm.first_byte_ms = 600;
    struct harness *harness = harness_create(&llm, NULL);
    size_t records[] = {harness_ask(harness, "one"), harness_ask(harness, "two")};
    for (size_t i = 0; i < 2; i++) {
        const struct harness_record *record = harness_wait(harness, records[i]);
        CHECK_INT(SMA_MODEL_OK, record->status);
        CHECK_TEXT("Now.", record->text);
    }
    /* The one that was told was not asked again before the other one was over. */
    CHECK_INT(4, raw_server_count(server));
    harness_destroy(harness);
}

CASE(an_end_that_a_server_leaves_out_is_an_end)
{
    SMA_AUTO(raw_server_destroyp)
    struct raw_server *server = raw_server_create(end_without_a_word, NULL);
    char url[64];
    struct sma_config_llm llm = llm_at(raw_server_port(server), url, sizeof url);
    struct harness *harness = harness_create(&llm, NULL);
    const struct harness_record *record = harness_wait(harness, harness_ask(harness, "hi"));
    CHECK_INT(SMA_MODEL_OK, record->status);
    CHECK_TEXT("All of it.", record->text);
    CHECK_INT(1, record->usage.request_count);
    CHECK_INT(40, record->usage.input); /* numbers as text are numbers */
    harness_destroy(harness);
}

CASE(usage_is_of_all_attempts_together)
{
    SMA_AUTO(raw_server_destroyp)
    struct raw_server *server = raw_server_create(break_then_say, NULL);
    char url[64];
    struct sma_config_llm llm = llm_at(raw_server_port(server), url, sizeof url);
    struct harness *harness = harness_create(&llm, NULL);
    const struct harness_record *record = harness_wait(harness, harness_ask(harness, "hi"));
    CHECK_INT(SMA_MODEL_OK, record->status);
    CHECK_TEXT("Whole.", record->text);
    CHECK_INT(2, record->usage.request_count);
    CHECK_INT(40 + 40, record->usage.input);
    CHECK_INT(60, record->usage.cached);
    CHECK_INT(3 + 7, record->usage.output);
    harness_destroy(harness);
}

/* Half an answer, with this event at its end, and no end of the body but for a break. */
struct half
{
    const char *last;
    bool is_broken;
};

static void say_half(void *user, size_t number, const char *request, char *response, size_t size)
{
    const struct half *half = user;
    (void)number;
    (void)request;
    static const char part[] =
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Half of it\"}}]}\n\n";
    char length[64] = "Connection: close"; /* nobody knows whether that was all */
    if (!half->is_broken)
        snprintf(length, sizeof length, "Content-Length: %zu",
                 strlen(part) + strlen(half->last) + 1000);
    snprintf(response, size, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n%s\r\n\r\n%s%s",
             length, part, half->last);
}

#define COUNTED \
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":40,\"completion_tokens\":3}}\n\n"
#define REFUSED \
    "data: "    \
    "{\"error\":{\"code\":\"server_error\",\"type\":\"server_error\",\"message\":\"x\"}}\n\n"

static void check_half(const struct half *half, bool is_cancelled, uint64_t input, uint64_t output)
{
    struct raw_server *server = raw_server_create(say_half, (void *)(uintptr_t)half);
    char url[64];
    struct sma_config_llm llm = llm_at(raw_server_port(server), url, sizeof url);
    llm.has_prices = true;
    llm.price_input = llm.price_output = 1;
    llm.idle_ms = is_cancelled ? 60000 : 300;
    llm.total_ms = is_cancelled ? 60000 : 600; /* no time for a repeat that stalls, too */
    struct harness *harness = harness_create(&llm, NULL);
    size_t asked = harness_ask(harness, "hi");
    if (is_cancelled) {
        harness_wait_delta(harness, asked);
        harness_cancel(harness, asked);
    }
    const struct harness_record *record = harness_wait(harness, asked);
    CHECK_INT(is_cancelled ? SMA_MODEL_CANCELLED : SMA_MODEL_FAILED, record->status);
    CHECK(record->usage.request_count >= 1);
    CHECK_INT(input * record->usage.request_count, record->usage.input);
    CHECK_INT(output * record->usage.request_count, record->usage.output);
    CHECK((record->usage.cost_nano > 0) == (input > 0));
    CHECK_INT(record->usage.request_count, raw_server_count(server));
    harness_destroy(harness);
    raw_server_destroy(server);
}

CASE(what_a_failed_attempt_has_used_is_what_was_said)
{
    check_half(&(struct half){COUNTED, true}, false, 40, 3);  /* broken */
    check_half(&(struct half){COUNTED, false}, false, 40, 3); /* stalled */
    check_half(&(struct half){COUNTED, false}, true, 40, 3);  /* not wanted any more */
    check_half(&(struct half){COUNTED REFUSED, true}, false, 40, 3);
    check_half(&(struct half){COUNTED "data: {\n\n", true}, false, 40, 3);
    check_half(&(struct half){"", true}, false, 0, 0); /* nothing was said: nothing is guessed */
    check_half(&(struct half){"", false}, false, 0, 0);
    check_half(&(struct half){REFUSED, true}, false, 0, 0);
}

static void say_without_counts(void *user, size_t number, const char *request, char *response,
                               size_t size)
{
    static const char *const counts[] = {
        "", "\"usage\":null,", "\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0},",
        "\"usage\":{\"prompt_tokens\":-5,\"completion_tokens\":-7},",
        "\"usage\":{\"prompt_tokens\":1000000000000000000,\"completion_tokens\":1},"};
    char body[512];
    (void)user;
    (void)request;
    int len = snprintf(body, sizeof body,
                       "data: {%s\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Whole.\"},"
                       "\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
                       counts[number % SMA_COUNT_OF(counts)]);
    snprintf(response, size,
             "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
             len, body);
}

/* Budgets are settled with what was used: who counts nothing would never use one up. */
CASE(what_a_provider_does_not_count_is_guessed)
{
    SMA_AUTO(raw_server_destroyp)
    struct raw_server *server = raw_server_create(say_without_counts, NULL);
    char url[64], text[4001];
    struct sma_config_llm llm = llm_at(raw_server_port(server), url, sizeof url);
    llm.has_prices = true;
    llm.price_input = llm.price_cached = llm.price_written = llm.price_output = 1;
    struct harness *harness = harness_create(&llm, NULL);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 5; i++) {
        const struct harness_record *record = harness_wait(harness, harness_ask(harness, text));
        CHECK_TEXT("Whole.", record->text);
        CHECK(record->usage.input >= 1000 && record->usage.input < 2000);
        CHECK(record->usage.output >= 1 && record->usage.output < 50);
        CHECK(record->usage.cost_nano >= 1000 * 1000);
    }
    harness_destroy(harness);
}

CASE(every_call_leaves_one_line)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    struct sma_config_llm named = llm;
    named.base_url = harness_url(harness);
    (void)harness_wait(harness, harness_ask_at(harness, &named, "telegram:7", "hello"));
    (void)harness_wait(harness,
                       harness_ask_at(harness, &named, "telegram:7", "x [[fault:401 times=9]]"));
    harness_wait_log(harness, "\"outcome\":\"auth\"");
    CHECK_INT(2, harness_log_count(harness, "\"event\":\"model_call\""));
    harness_wait_log(harness, "\"chatKey\":\"telegram:7\"");
    CHECK_INT(1, harness_log_count(harness, "\"outcome\":\"ok\",\"attempts\":1,\"firstTokenMs\":"));
    CHECK_INT(1, harness_log_count(harness, "\"status\":401"));
    CHECK_INT(2, harness_log_count(harness, "\"target\":\"chat 127.0.0.1:"));
}

static bool has_trouble(const char *text)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 1 << 16);
    sma_health_format(&buf);
    bool has = memmem(buf.ptr, buf.len, text, strlen(text)) != NULL;
    sma_buf_fini(&buf);
    return has;
}

CASE(status_tells_the_trouble_of_a_target_until_it_answers)
{
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    SMA_AUTO(harness_destroyp) struct harness *harness = harness_create(&llm, NULL);
    struct sma_config_llm main_llm = llm, fallback = llm;
    main_llm.base_url = fallback.base_url = harness_url(harness);
    (void)harness_wait(harness, harness_ask_at(harness, &main_llm, "", "x [[fault:401 times=1]]"));
    harness_wait_log(harness, "\"outcome\":\"auth\"");
    CHECK(has_trouble("\"model\":\"HTTP 401"));
    (void)harness_wait(harness, harness_ask_at(harness, &fallback, "one", "hi"));
    harness_wait_log(harness, "\"chatKey\":\"one\"");
    CHECK(has_trouble("\"model\":\"HTTP 401")); /* another one answered: that cures nothing */
    (void)harness_wait(harness, harness_ask_at(harness, &main_llm, "two", "hi"));
    harness_wait_log(harness, "\"chatKey\":\"two\"");
    CHECK(!has_trouble("\"model\""));
}

/* The body of an error that never ends; user: how much of it comes. */
static void answer_endless_error(void *user, size_t number, const char *request, char *response,
                                 size_t size)
{
    const size_t *body_len = user;
    (void)number, (void)request;
    int len = snprintf(response, size,
                       "HTTP/1.1 401 No\r\nContent-Type: application/json\r\n"
                       "Content-Length: 900000\r\n\r\n"
                       "{\"error\":{\"message\":\"This key is unknown here.\"}}");
    CHECK(len > 0 && (size_t)len + *body_len < size);
    memset(response + len, ' ', *body_len);
    response[(size_t)len + *body_len] = '\0';
}

/* Of an error the status says the most: neither a slow body nor an endless one holds the slot of
 * the run. */
CASE(an_error_without_an_end_is_an_error_all_the_same)
{
    static const struct
    {
        size_t body_len;
        int64_t idle_ms;
    } rows[] = {{0, 300}, {70000, 60000}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char url[64];
        size_t body_len = rows[i].body_len;
        struct raw_server *server = raw_server_create(answer_endless_error, &body_len);
        struct sma_config_llm llm = llm_at(raw_server_port(server), url, sizeof url);
        llm.idle_ms = rows[i].idle_ms;
        struct sma_config_llm plain = harness_llm(SMA_LLM_CHAT);
        struct harness *harness = harness_create(&plain, NULL);
        const struct harness_record *record =
            harness_wait(harness, harness_ask_at(harness, &llm, "one", "hi"));
        CHECK_INT(SMA_MODEL_FAILED, record->status);
        CHECK_INT(SMA_MODEL_FAILURE_AUTH, record->trouble);
        CHECK(strstr(record->error, "This key is unknown here.") != NULL);
        CHECK(record->answered_ns - record->asked_ns < 3000 * MS * PATIENCE);
        CHECK_INT(1, raw_server_count(server));
        harness_destroy(harness);
        raw_server_destroy(server);
    }
}

CASES_MAIN
