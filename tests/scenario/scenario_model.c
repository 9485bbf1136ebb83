/*
 * Aim: whatever the model server does, a message gets its whole answer or one clear line why not,
 *      and the service goes on. A request is tried again only where that may help.
 * Method: the real binary against fake_model over sockets on one wire, streamed and whole; every
 *         fault in a chat of its own, all at once; the server's log says how often and when it was
 *         asked.
 *   scenario_model BINARY FAKE_MODEL chat|responses|messages
 */
#include "support/check.h"
#include "support/clock.h"
#include "support/patience.h"
#include "talk.h"
#include "world.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The machine needs some time for 32 answers at once, however fast the clock goes. */
#define IDLE_MS ((int)sma_clock_of_machine(1500 * PATIENCE))
#define FILLER                                                                                   \
    " The rest of this line only makes it long enough that a part of the answer could be taken " \
    "for all of it: one "                                                                        \
    "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "      \
    "sixteen seventeen."

static const char *binary, *fake_model;
static const char *wire;

/* -- one service with its model server --------------------------------------------------------- */
static void start(struct world *world, bool is_stream, const char *api_key)
{
    char llm[256];
    snprintf(llm, sizeof llm,
             "\"api\":\"%s\",\"stream\":%s,\"timeouts\":{\"connectMs\":%d,\"firstByteMs\":%d,"
             "\"idleMs\":%d},"
             "\"patienceS\":0,\"apiKey\":\"%s\"",
             wire, is_stream ? "true" : "false", IDLE_MS, IDLE_MS, IDLE_MS, api_key);
    world_start(world, binary, fake_model, llm,
                ",\"agent\":{\"concurrency\":32},\"memory\":{\"extract\":false}");
    world->is_stream = is_stream;
}

static long long number_of(const json_t *list, size_t index, const char *member)
{
    return json_integer_value(json_object_get(json_array_get(list, index), member));
}

/* -- what the field sends ---------------------------------------------------------------------- */
/* Each in a chat of its own: a whole answer, and nothing of the model's own tongue in it. */
static void what_servers_were_seen_to_send_is_answered(struct world *world)
{
    static const char *const rows[] = {"hermes",         "qwen-coder",    "minimax",
                                       "deepseek",       "glm",           "kimi",
                                       "llama",          "lone-think",    "open-think",
                                       "no-end",         "comment-event", "halves",
                                       "bad-generation", "reasoning",     "phi",
                                       "lmstudio",       "words-behind",  "python",
                                       "lines",          "legacy-text",   "no-lists",
                                       "no-system"}; /* the last two change requests */
    if (strcmp(wire, "chat") != 0)
        return;
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char chat[64], text[128];
        snprintf(chat, sizeof chat, "field-%s", rows[i]);
        snprintf(text, sizeof text, "say it [[fault:field-%s times=%d]]", rows[i],
                 strcmp(rows[i], "reasoning") == 0 ? 2 : 1);
        json_t *root = talk_execute(world->service.port, 200, chat, NULL, text);
        const char *output = talk_text(root, "output");
        if (!json_is_true(json_object_get(root, "success")) || strchr(output, '<') != NULL)
            printf("  %s: %s\n", rows[i], output);
        CHECK(json_is_true(json_object_get(root, "success")));
        CHECK(output[0] != '\0' && strchr(output, '<') == NULL);
        json_decref(root);
    }
}

/* -- turns ------------------------------------------------------------------------------------- */
static void turns_go_through(struct world *world)
{
    int port = world->service.port;
    json_t *root = talk_execute(port, 200, "turns", NULL, "say purple elephant");
    CHECK(json_is_true(json_object_get(root, "success")));
    CHECK_TEXT("You said: say purple elephant", talk_text(root, "output"));
    CHECK_TEXT("chat_send",
               talk_text(json_array_get(json_object_get(root, "toolCalls"), 0), "tool"));
    json_decref(root);
    root = talk_execute(port, 200, "turns", NULL, "你好，世界：紫色的大象🐘");
    CHECK_TEXT("You said: 你好，世界：紫色的大象🐘", talk_text(root, "output"));
    json_decref(root);
    root = talk_execute(port, 200, "turns", NULL, "what was said earlier?");
    CHECK_TEXT("chat_load_history",
               talk_text(json_array_get(json_object_get(root, "toolCalls"), 0), "tool"));
    CHECK(strstr(talk_text(root, "output"), "I find") != NULL);
    json_decref(root);
    root = talk_execute(port, 200, "turns", NULL, "[[plain]] nothing but text");
    CHECK_TEXT("[[plain]] nothing but text",
               talk_text(root, "output")); /* the fallback delivers it */
    CHECK_INT(0, json_array_size(json_object_get(root, "toolCalls")));
    json_decref(root);
}

/* Marks for a cache move along with the newest messages and are no content: providers compare what
 * is around them. */
static char *without_marks(const char *body)
{
    static const char mark[] = ",\"cache_control\":{\"type\":\"ephemeral\"}";
    char *copy = strdup(body);
    CHECK(copy != NULL);
    for (char *at = copy; (at = strstr(at, mark)) != NULL;)
        memmove(at, at + sizeof mark - 1, strlen(at + sizeof mark - 1) + 1);
    return copy;
}

/* The later request starts with the very bytes of the earlier one, but for its closing brackets. */
static void requests_only_grow(struct world *world)
{
    json_t *list = world_asked(world, "say purple elephant");
    size_t count = json_array_size(list);
    CHECK(count >= 8);
    for (size_t i = 1; i < count; i++) {
        char *earlier = without_marks(talk_text(json_array_get(list, i - 1), "body"));
        char *later = without_marks(talk_text(json_array_get(list, i), "body"));
        CHECK(strlen(later) > strlen(earlier));
        CHECK(memcmp(later, earlier, strlen(earlier) - 2) == 0);
        free(earlier);
        free(later);
    }
    json_decref(list);
}

/* -- faults ------------------------------------------------------------------------------------ */
struct fault_case
{
    const char *chat;    /* also marks the text */
    const char *fault;   /* for the fake */
    bool is_stream_only; /* whole answers know no such trouble */
    bool is_answered;    /* in the end */
    int request_count;
    const char *part; /* of the output when it is not answered */
};

static const struct fault_case CASES[] = {
    {"rate-limit", "429 retry-after=1", false, true, 3, NULL},
    {"server-trouble", "500 times=2", false, true, 4, NULL},
    {"server-down", "503 times=9", false, false, 3, "HTTP 503"},
    {"overloaded", "529", false, true, 3, NULL},
    {"no-money", "quota times=9", false, false, 1, "no credit or quota left"},
    {"refused", "400 times=9", false, false, 1, "HTTP 400"},
    {"cut", "cut", true, true, 3, NULL},
    {"cut-always", "cut times=9", true, false, 3, "broke off in the middle"},
    {"cut-short", "shortlength", false, true, 2, NULL},
    {"reset", "reset", false, true, 3, NULL},
    {"silent", "silence ms=90000 times=9", false, false, 2, "sent no data within"},
    {"stalls", "stall ms=90000 times=9", true, false, 3, "sent no data within"},
    {"comments-only", "comments count=3000 ms=30 times=9", true, false, 2, "sent no data within"},
    {"some-comments", "comments count=20 ms=5", true, true, 2, NULL},
    {"garbage", "garbage times=9", true, false, 3, "expected format"},
    {"web-page", "page200 times=9", false, false, 3, "expected format"},
    {"bad-gateway", "html", false, true, 3, NULL},
    {"gateway-down", "html times=9", false, false, 3, "HTTP 502"},
    {"slow-drip", "drip bytes=1 ms=1", true, true, 2, NULL},
    {"error-inside", "error200", true, true, 3, NULL},
    {"error-always", "error200 times=9", true, false, 3, "Overloaded inside"},
    {"whole-answer", "json", true, true, 2, NULL},
    {"huge-line", "hugeline", true, true, 2, NULL},
    {"too-long", "context times=99", false, false, 1,
     "too long for the language model"}, /* one turn: nothing to leave out */
};

static void fault_text(const struct fault_case *fault, char *text, size_t size)
{
    /* the drip takes a millisecond a byte: short */
    snprintf(text, size, "[[fault:%s]] %s.%s", fault->fault, fault->chat,
             strncmp(fault->fault, "drip", 4) == 0 ? "" : FILLER);
}

static bool is_outcome_right(const struct world *world, const struct fault_case *fault,
                             const struct http_answer *answer)
{
    char text[512], wanted[540], marker[64];
    fault_text(fault, text, sizeof text);
    snprintf(wanted, sizeof wanted, "You said: %s", text);
    snprintf(marker, sizeof marker, "]] %s.", fault->chat);
    CHECK_INT(200, answer->status);
    CHECK(strstr(answer->body, WORLD_API_KEY) == NULL);
    json_t *root = talk_json(answer), *list = world_asked(world, marker);
    const char *output = talk_text(root, "output");
    bool is_success = json_is_true(json_object_get(root, "success"));
    bool is_right =
        is_success == fault->is_answered && (int)json_array_size(list) == fault->request_count &&
        (fault->is_answered ? strcmp(wanted, output) == 0 : strstr(output, fault->part) != NULL);
    if (!is_right)
        fprintf(stderr, "%s (%s, stream %d): %zu requests, success %d, \"%s\"\n", fault->chat, wire,
                world->is_stream, json_array_size(list), is_success, output);
    CHECK(fault->is_answered || strstr(output, "You said") == NULL); /* never half an answer */
    /* a line for people, and one for the owner */
    CHECK(strchr(output, '\n') == strrchr(output, '\n') || fault->is_answered);
    if (strstr(fault->fault, "retry-after=1") != NULL)
        CHECK(number_of(list, 1, "ms") - number_of(list, 0, "ms") >= 1000);
    json_decref(list);
    json_decref(root);
    return is_right;
}

/* All at once: a chat whose model is in trouble holds nobody up. */
static void faults_end_in_an_answer_or_a_clear_line(struct world *world)
{
    struct talk talks[SMA_COUNT_OF(CASES)];
    for (size_t i = 0; i < SMA_COUNT_OF(CASES); i++) {
        if (CASES[i].is_stream_only && !world->is_stream)
            continue;
        char text[512];
        fault_text(&CASES[i], text, sizeof text);
        char *body = talk_body(CASES[i].chat, NULL, text);
        talk_start(&talks[i], world->service.port, "/api/execute", "", body);
        free(body);
    }
    talk_expect(world->service.port, "bystander", "and I am not held up",
                "You said: and I am not held up");
    int wrong_count = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(CASES); i++) {
        if (CASES[i].is_stream_only && !world->is_stream)
            continue;
        talk_wait(&talks[i]);
        wrong_count += !is_outcome_right(world, &CASES[i], &talks[i].answer);
        talk_fini(&talks[i]);
    }
    CHECK_INT(0, wrong_count);
}

static void each_chat_goes_on(struct world *world)
{
    for (size_t i = 0; i < SMA_COUNT_OF(CASES); i++)
        if (world->is_stream || !CASES[i].is_stream_only)
            talk_expect(world->service.port, CASES[i].chat, "are you still there?",
                        "You said: are you still there?");
}

static void fill_session(struct world *world, const char *chat_id, int count)
{
    char text[600];
    for (int i = 0; i < count; i++) {
        snprintf(text, sizeof text, "turn %d of many.%s", i, FILLER);
        talk_expect(world->service.port, chat_id, text, "You said: turn");
    }
}

static void a_long_session_shrinks(struct world *world)
{
    char text[600];
    fill_session(world, "shrinks", 5);
    snprintf(text, sizeof text, "[[fault:context times=2]] it-shrinks.%s", FILLER);
    talk_expect(world->service.port, "shrinks", text, "it-shrinks");
    json_t *list = world_asked(world, "]] it-shrinks.");
    CHECK_INT(4, json_array_size(list)); /* refused twice, then the call and the end */
    CHECK(number_of(list, 1, "bytes") < number_of(list, 0, "bytes"));
    CHECK(number_of(list, 2, "bytes") < number_of(list, 1, "bytes"));
    json_decref(list);
    talk_expect(world->service.port, "shrinks", "and on we go", "You said: and on we go");
}

static void shrinking_comes_to_an_end(struct world *world)
{
    char text[600];
    fill_session(world, "hopeless", 12);
    snprintf(text, sizeof text, "[[fault:context times=99]] hopeless.%s", FILLER);
    json_t *root = talk_execute(world->service.port, 200, "hopeless", NULL, text);
    CHECK(json_is_false(json_object_get(root, "success")));
    /* no turn is left that /clear could drop: it is not advised */
    CHECK(strstr(talk_text(root, "output"), "Please ask in smaller parts") != NULL);
    CHECK(strstr(talk_text(root, "output"), "/clear") == NULL);
    json_decref(root);
    json_t *list = world_asked(world, "]] hopeless.");
    CHECK_INT(5, json_array_size(list)); /* 12 turns, then 6, 3, 1, 0 */
    json_decref(list);
    json_decref(talk_execute(world->service.port, 200, "hopeless", NULL, "/clear"));
    talk_expect(world->service.port, "hopeless", "afresh then", "You said: afresh then");
}

static void play(bool is_stream)
{
    struct world world = {.fake = 0};
    start(&world, is_stream, WORLD_API_KEY);
    turns_go_through(&world);
    requests_only_grow(&world);
    faults_end_in_an_answer_or_a_clear_line(&world);
    each_chat_goes_on(&world);
    a_long_session_shrinks(&world);
    shrinking_comes_to_an_end(&world);
    what_servers_were_seen_to_send_is_answered(&world);
    world_stop(&world);
}

CASE(streamed_answers)
{
    play(true);
}
CASE(whole_answers)
{
    play(false);
}

CASE(a_wrong_key_is_named_once)
{
    struct world world = {.fake = 0};
    start(&world, true, "sk-wrong-0815-zyxwvu");
    char *body = talk_body("key", NULL, "does my key fit?");
    struct http_answer answer = http_ask(world.service.port, "/api/execute", "", body, TALK_MS);
    CHECK_INT(200, answer.status);
    CHECK(strstr(answer.body, "sk-wrong-0815-zyxwvu") == NULL);
    json_t *root = talk_json(&answer);
    const char *output = talk_text(root, "output");
    CHECK(json_is_false(json_object_get(root, "success")));
    CHECK(strstr(output, "HTTP 401") != NULL &&
          strstr(output, "set llm.apiKey in ship.json") != NULL);
    CHECK(strchr(output, '\n') == strrchr(output, '\n')); /* one for people, one for the owner */
    json_t *list = world_asked(&world, "does my key fit?");
    CHECK_INT(1, json_array_size(list));
    json_decref(list);
    json_decref(root);
    http_answer_fini(&answer);
    free(body);
    world_keeps_secret(&world, "sk-wrong-0815-zyxwvu");
    world_stop(&world);
}

CASES_MAIN_GIVEN(&binary, &fake_model, &wire)
