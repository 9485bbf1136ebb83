/*
 * test_http_openai.c — /v1 as clients of OpenAI's API know it: each object and each event byte by
 * byte, conversations by their words, errors in their words. The official library reads the same
 * in tests/scenario/openai.
 */
#include "harness.h"

#include "adapters/http/openai.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

static struct harness *harness;

static struct reply post(const char *path, const char *headers, const char *body)
{
    char line[100];
    snprintf(line, sizeof line, "POST /v1/%s", path);
    return request_once(harness, line, headers, body);
}

/* What the agent was told last. */
static void expect_told(const char *text)
{
    char parts[2048], told[401];
    harness_newest(harness, parts, told);
    CHECK_TEXT(text, told);
}

/* The answer of a chat completion. */
static void expect_answer(const char *headers, const char *body, const char *text)
{
    struct reply reply = post("chat/completions", headers, body);
    if (reply.status != 200)
        fprintf(stderr, "%s\n", reply.body);
    CHECK_INT(200, reply.status);
    json_t *root = json_loads(reply.body, 0, NULL);
    json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
    json_t *message = json_object_get(choice, "message");
    CHECK_TEXT("stop", json_string_value(json_object_get(choice, "finish_reason")));
    CHECK_TEXT(text, json_string_value(json_object_get(message, "content")));
    json_decref(root);
    reply_free(&reply);
}

static void release(void)
{
    CHECK_INT(200,
              request_status(harness, "POST /api/execute", "", "{\"instructions\":\"release\"}"));
}

/* Numbers after these words become 0: they differ from run to run. */
static void blank(char *text, const char *word)
{
    char *to = text;
    for (const char *at = text; *at != '\0';) {
        size_t len = strlen(word);
        if (strncmp(at, word, len) != 0) {
            *to++ = *at++;
            continue;
        }
        memmove(to, at, len);
        to += len;
        at += len;
        at += strspn(at, "0123456789");
        *to++ = '0';
    }
    *to = '\0';
}

static void blank_all(char *text)
{
    blank(text, "\"created\":");
    blank(text, "\"created_at\":");
    blank(text, "chatcmpl-");
    blank(text, "resp_");
    blank(text, "msg_");
}

#define SAY(role, text) "{\"role\":\"" role "\",\"content\":\"" text "\"}"

/* -- objects ----------------------------------------------------------------------------------- */
#define CHAT_HEAD(object)                                                                 \
    "{\"id\":\"chatcmpl-0\",\"object\":\"" object "\",\"created\":0,\"model\":\"gpt-x\"," \
    "\"service_tier\":\"default\",\"system_fingerprint\":null,\"choices\":["
#define CHAT_USAGE                                                               \
    "\"usage\":{\"prompt_tokens\":0,\"completion_tokens\":0,\"total_tokens\":0," \
    "\"prompt_tokens_details\":{\"cached_tokens\":0},"                           \
    "\"completion_tokens_details\":{\"reasoning_tokens\":0}}"
#define CHUNK "data: " CHAT_HEAD("chat.completion.chunk")
#define DELTA(members)                                                                       \
    CHUNK "{\"index\":0,\"delta\":{" members "},\"logprobs\":null,\"finish_reason\":null}]," \
          "\"usage\":null}\n\n"

static void a_completion_is_whole(void)
{
    struct reply reply =
        post("chat/completions", "",
             "{\"model\":\"gpt-x\",\"temperature\":2,\"max_tokens\":1,\"seed\":7,\"stop\":[\"x\"],"
             "\"unheard_of\":{},\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]}");
    CHECK_INT(200, reply.status);
    CHECK(strstr(reply.head, "\r\nX-Run-Id: ") != NULL);
    blank_all(reply.body);
    CHECK_TEXT(CHAT_HEAD("chat.completion") "{\"index\":0,\"message\":{\"role\":\"assistant\","
                                            "\"content\":\"echo: hello\",\"refusal\":null,"
                                            "\"annotations\":[]},\"logprobs\":null,"
                                            "\"finish_reason\":\"stop\"}]," CHAT_USAGE "}",
               reply.body);
    reply_free(&reply);
}

/* A stream's events: it is let go on when `middle` has come. */
static char *stream(const char *path, const char *body, const char *middle)
{
    int fd = client_connect(harness);
    char head[200];
    snprintf(head, sizeof head,
             "POST /v1/%s HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: %zu\r\n"
             "Authorization: Bearer " HARNESS_TOKEN "\r\n\r\n",
             path, harness_port(harness), strlen(body));
    client_text(fd, head);
    client_text(fd, body);
    char *first = client_read_until(fd, middle);
    release();
    char *second = client_read_until(fd, "\x01"); /* until it is closed */
    close(fd);
    char *all = NULL;
    CHECK(asprintf(&all, "%s%s", first, second) > 0);
    free(first);
    free(second);
    char *events = strstr(all, "\r\n\r\n");
    CHECK(events != NULL && strstr(all, "Content-Type: text/event-stream") != NULL);
    memmove(all, events + 4, strlen(events + 4) + 1);
    blank_all(all);
    return all;
}

static void a_completion_streams_what_is_added(void)
{
    char *events =
        stream("chat/completions",
               "{\"model\":\"gpt-x\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
               "\"messages\":[{\"role\":\"user\",\"content\":\"progress 1\"}]}",
               "so good");
    CHECK_TEXT(DELTA("\"role\":\"assistant\",\"content\":\"\",\"refusal\":null")
                   DELTA("\"content\":\"so far\\nso good\"")
                       DELTA("\"content\":\"\\n\\necho: progress 1\"") CHUNK
               "{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"}],"
               "\"usage\":null}\n\n" CHUNK "]," CHAT_USAGE "}\n\n"
               "data: [DONE]\n\n",
               events);
    free(events);
}

/* Names and numbers of the events of a stream of responses. */
static void list_events(const char *events, char names[1000])
{
    unsigned number = 0;
    size_t len = 0;
    for (const char *at = events; (at = strstr(at, "event: ")) != NULL; number++) {
        char want[120];
        at += 7;
        int name_len = (int)strcspn(at, "\n");
        snprintf(want, sizeof want, "%.*s\ndata: {\"type\":\"%.*s\",\"sequence_number\":%u,",
                 name_len, at, name_len, at, number);
        CHECK(strncmp(at, want, strlen(want)) == 0);
        len += (size_t)snprintf(names + len, 1000 - len, "%.*s\n", name_len, at);
    }
}

static void a_response_streams_its_events_in_order(void)
{
    char names[1000];
    char *events = stream("responses",
                          "{\"stream\":true,\"model\":\"gpt-x\",\"conversation\":\"c1\","
                          "\"input\":\"progress 2\"}",
                          "so good");
    char *rest = strstr(events, "event: response.completed");
    CHECK(rest != NULL);
    *rest = '\0';
    list_events(events, names);
    CHECK_TEXT("response.created\nresponse.in_progress\nresponse.output_item.added\n"
               "response.content_part.added\nresponse.output_text.delta\n"
               "response.output_text.delta\nresponse.output_text.done\n"
               "response.content_part.done\nresponse.output_item.done\n",
               names);
    CHECK(strstr(events, "\"response\":{\"id\":\"resp_0_6331\",\"object\":\"response\"") != NULL);
    CHECK(strstr(events, ",\"item_id\":\"msg_0\",\"output_index\":0,\"content_index\":0,"
                         "\"delta\":\"so far\\nso good\",\"logprobs\":[]}\n\n") != NULL);
    CHECK(strstr(events, "\"text\":\"so far\\nso good\\n\\necho: progress 2\"") != NULL);
    free(events);
}

static void tell(unsigned seq, const char *what)
{
    char body[200];
    snprintf(body, sizeof body, "{\"instructions\":\"tell %u %s\"}", seq, what);
    CHECK_INT(200, request_status(harness, "POST /api/execute", "", body));
}

static int open_stream(const char *text)
{
    char request[600];
    int fd = client_connect(harness);
    int len = snprintf(NULL, 0, "{\"stream\":true,\"messages\":[" SAY("user", "%s") "]}", text);
    snprintf(request, sizeof request,
             "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: %d\r\n"
             "Authorization: Bearer " HARNESS_TOKEN "\r\n\r\n"
             "{\"stream\":true,\"messages\":[" SAY("user", "%s") "]}",
             harness_port(harness), len, text);
    client_text(fd, request);
    return fd;
}

/* A model that is asked again says its words again, from the beginning: they are told once. What
 * does not go on from there follows after an empty line. */
static void pieces_are_told_once(void)
{
    unsigned seq = 0;
    int fd = open_stream("later pieces");
    char *text = client_read_until(fd, "\"role\"");
    free(text);
    struct reply reply = request_once(harness, "POST /api/execute", "Prefer: respond-async\r\n",
                                      "{\"instructions\":\"now\"}");
    CHECK(sscanf(strstr(reply.body, "\"runId\":\""), "\"runId\":\"%u\"", &seq) == 1);
    reply_free(&reply);
    seq--; /* the one before it */
    tell(seq, "tI look");
    tell(seq, "tI");
    tell(seq, "tI looked");
    tell(seq, "uread_file");
    tell(seq, "tIt is 5");
    text = client_read_until(fd, "It is 5\"}"); /* before the end, which may overtake it */
    CHECK(strstr(text, "{\"content\":\"I look\"}") != NULL);
    CHECK(strstr(text, "{\"content\":\"ed\"}") != NULL);
    CHECK(strstr(text, "{\"content\":\"\\n\\nIt is 5\"}") != NULL);
    free(text);
    release();
    text = client_read_until(fd, "[DONE]");
    CHECK(strstr(text, "{\"content\":\"\\n\\necho: later pieces\"}") != NULL);
    CHECK(strstr(text, "\"content\":\"I") == NULL);
    free(text);
    close(fd);
}

static void a_message_behind_a_question_says_so(void)
{
    struct reply reply = post("responses", "", "{\"input\":\"behind it\"}");
    CHECK_INT(200, reply.status);
    CHECK(reply_has(&reply, "\"text\":\"This message waits: first somebody has to answer"));
    reply_free(&reply);
    int fd = open_stream("behind that");
    char *text = client_read_until(fd, "[DONE]");
    CHECK(strstr(text, "\"content\":\"This message waits: ") != NULL);
    free(text);
    close(fd);
    release();
}

static void a_response_is_whole(void)
{
    struct reply reply = post("responses", "",
                              "{\"model\":\"gpt-x\",\"previous_response_id\":\"resp_9_6331\","
                              "\"input\":[{\"type\":\"message\",\"role\":\"user\",\"content\":"
                              "[{\"type\":\"input_text\",\"text\":\"hello\"}]}]}");
    blank_all(reply.body);
    CHECK_INT(200, reply.status);
    CHECK_TEXT(
        "{\"id\":\"resp_0_6331\",\"object\":\"response\",\"created_at\":0,\"status\":\"completed\","
        "\"background\":false,\"error\":null,\"incomplete_details\":null,\"instructions\":null,"
        "\"max_output_tokens\":null,\"max_tool_calls\":null,\"model\":\"gpt-x\",\"output\":[{"
        "\"id\":\"msg_0\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","
        "\"content\":[{\"type\":\"output_text\",\"annotations\":[],\"logprobs\":[],"
        "\"text\":\"echo: hello\"}]}],\"parallel_tool_calls\":true,"
        "\"previous_response_id\":\"resp_0_6331\","
        "\"reasoning\":{\"effort\":null,\"summary\":null},\"store\":true,\"temperature\":1.0,"
        "\"text\":{\"format\":{\"type\":\"text\"}},\"tool_choice\":\"auto\",\"tools\":[],"
        "\"top_p\":1.0,\"truncation\":\"disabled\",\"user\":null,\"metadata\":{},"
        "\"usage\":{\"input_tokens\":0,\"output_tokens\":0,\"total_tokens\":0,"
        "\"input_tokens_details\":{\"cached_tokens\":0},"
        "\"output_tokens_details\":{\"reasoning_tokens\":0}}}",
        reply.body);
    reply_free(&reply);
}

/* Its tool may have said it before the last word, which then says no more than "Sent." */
static void what_was_sent_on_the_way_is_told(void)
{
    static const struct
    {
        const char *calls, *output, *text;
    } cases[] = {
        {"[]", "a", "a"},
        {"", "", ""},
        {"[{\"tool\":\"chat_send\",\"input\":{\"text\":\" long "
         "\"},\"output\":\"{\\\"success\\\":true}"
         "\"}]",
         "Sent.", "long\n\nSent."},
        {"[{\"tool\":\"chat_send\",\"input\":{\"text\":\"long\"},\"output\":\"{\\\"success\\\":"
         "true}\"}"
         "]",
         "it is long.", "it is long."},
        {"[{\"tool\":\"chat_send\",\"input\":{\"text\":\"b\"},\"output\":\"{\\\"success\\\":true}"
         "\"},{"
         "\"tool\":\"chat_send\",\"input\":{\"text\":\"c\"},\"output\":\"{\\\"success\\\":true}\"}"
         "]",
         "", "b\n\nc"},
        {"[{\"tool\":\"chat_send\",\"input\":{\"text\":\"x\"},\"output\":\"{\\\"success\\\":false}"
         "\"}]",
         "No.", "No."},
        {"[{\"tool\":\"chat_send\",\"input\":\"broken\",\"output\":7}]", "No.", "No."},
        {"[{\"tool\":\"exec_shell\",\"input\":{\"text\":\"chat_send\"},\"output\":\"\"}]", "A.",
         "A."},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_buf text;
        sma_buf_init(&text, 1000);
        http_openai_put_answer(&text,
                               &(struct sma_result){.output = sma_str(cases[i].output),
                                                    .tool_calls_json = sma_str(cases[i].calls)});
        sma_buf_put_char(&text, '\0');
        CHECK_TEXT(cases[i].text, text.ptr);
        sma_buf_fini(&text);
    }
}

/* -- conversations ----------------------------------------------------------------------------- */
static void what_is_known_is_not_told_again(void)
{
    expect_answer("", "{\"messages\":[" SAY("user", "one") "]}", "echo: one");
    expect_told("one");
    const char *two = "{\"messages\":[" SAY("user", "one") "," SAY(
        "assistant", " echo: one\\n") "," SAY("user", "two") "," SAY("user", "and more") "]}";
    expect_answer("", two, "echo: two\n\nand more");
    expect_told("two\n\nand more");
    /* again from the same place: a chat of its own, that is told what was said */
    struct reply reply = post("chat/completions", "", two);
    CHECK_INT(200, reply.status);
    reply_free(&reply);
    expect_told("[The conversation so far]\nUser: one\n\nAssistant: echo: one\n\n[The message]\n"
                "two\n\nand more");
    /* another person with the same words does, too, and takes the place of nobody */
    expect_answer("", "{\"messages\":[" SAY("user", "hi") "]}", "echo: hi");
    reply = post("chat/completions", "",
                 "{\"user\":\"eve\",\"messages\":[" SAY("user", "hi") "," SAY(
                     "assistant", "echo: hi") "," SAY("user", "mine") "]}");
    CHECK_INT(200, reply.status);
    reply_free(&reply);
    expect_told(
        "[The conversation so far]\nUser: hi\n\nAssistant: echo: hi\n\n[The message]\nmine");
    expect_answer("",
                  "{\"messages\":[" SAY("user", "hi") "," SAY("assistant", "echo: hi") "," SAY(
                      "user", "still me") "]}",
                  "echo: still me");
}

static void instructions_are_told_once_and_when_they_change(void)
{
    struct reply reply =
        post("chat/completions", "X-Chat-Id: named\r\n",
             "{\"messages\":[" SAY("developer", "Rhyme.") "," SAY("user", "a") "]}");
    CHECK_INT(200, reply.status);
    reply_free(&reply);
    expect_told("[Instructions of the program that asks]\nRhyme.\n\n[The message]\na");
    expect_answer("X-Chat-Id: named\r\n",
                  "{\"messages\":[" SAY("system", "Rhyme.") "," SAY("user", "b") "]}", "echo: b");
    expect_answer("",
                  "{\"metadata\":{\"chatId\":\"named\"},\"messages\":[" SAY(
                      "system", "Rhyme.") "," SAY("user", "yes") "]}",
                  "echo: yes");
    reply = post("chat/completions", "X-Chat-Id: named\r\n",
                 "{\"messages\":[" SAY("system", "Do not.") "," SAY("user", "c") "]}");
    CHECK_INT(200, reply.status);
    reply_free(&reply);
    expect_told("[Instructions of the program that asks]\nDo not.\n\n[The message]\nc");
    expect_answer("", "{\"messages\":[" SAY("system", "x") "," SAY("user", "/status") "]}",
                  "echo: /status");
}

static void remove_files(void)
{
    char path[700];
    snprintf(path, sizeof path, "%s/.ship/.cache/api", harness_dir(harness));
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.')
            CHECK(unlinkat(dirfd(dir), entry->d_name, 0) == 0);
    closedir(dir);
    CHECK(rmdir(path) == 0);
    *strrchr(path, '/') = '\0';
    CHECK(rmdir(path) == 0);
}

/* What stands before the words changes with what the conversation knows: it is not compared. */
static void a_key_is_one_message(void)
{
    static const char *const bodies[] = {
        "{\"metadata\":{\"chatId\":\"keyed\"},\"messages\":[" SAY("system", "Be brief.") "," SAY(
            "user", "first") "]}",
        "{\"messages\":[" SAY("user", "hey") "," SAY("assistant",
                                                     "echo: hey") "," SAY("user", "second") "]}",
        "{\"messages\":[" SAY("system", "Be brief.") "," SAY("user", "third") "]}"};
    expect_answer("", "{\"messages\":[" SAY("user", "hey") "]}", "echo: hey");
    for (size_t i = 0; i < SMA_COUNT_OF(bodies); i++) {
        char key[60];
        snprintf(key, sizeof key, "Idempotency-Key: \"one-%zu\"\r\n", i);
        unsigned before = harness_accepted_count(harness);
        struct reply one = post("chat/completions", key, bodies[i]);
        struct reply two = post("chat/completions", key, bodies[i]);
        CHECK_INT(200, one.status);
        CHECK_INT(200, two.status);
        CHECK_INT(before + 1, harness_accepted_count(harness));
        reply_free(&one);
        reply_free(&two);
    }
}

static void files_come_as_bytes(void)
{
    char parts[2048], told[401];
    struct reply reply =
        post("chat/completions", "",
             "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"see\"},"
             "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,iVBORw0KGgo=\""
             "}},{\"type\":\"file\",\"file\":{\"filename\":\"a.txt\",\"file_data\":\"aGFsbG8=\"}}]}"
             "]}");
    if (reply.status != 200)
        fprintf(stderr, "%s\n", reply.body);
    CHECK_INT(200, reply.status);
    reply_free(&reply);
    harness_newest(harness, parts, told);
    remove_files();
    CHECK(strstr(parts, "picture-1.png") != NULL && strstr(parts, "a.txt") != NULL);
    CHECK(strstr(told, "see") != NULL);
    /* those of earlier messages are named alone */
    reply = post("chat/completions", "",
                 "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\","
                 "\"image_url\":{\"url\":\"data:image/png;base64,iVBORw0KGgo=\"}}]}," SAY(
                     "assistant", "nice") "," SAY("user", "again") "]}");
    CHECK_INT(200, reply.status);
    reply_free(&reply);
    harness_newest(harness, parts, told);
    CHECK_TEXT("", parts);
    CHECK_TEXT(
        "[The conversation so far]\nUser: [picture]\n\nAssistant: nice\n\n[The message]\nagain",
        told);
}

static void a_question_is_asked_in_words(void)
{
    expect_answer("", "{\"messages\":[" SAY("user", "park it") "]}", "Run this command? yes / no");
}

/* -- errors ------------------------------------------------------------------------------------ */
static void check_error(struct reply reply, int status, const char *type, const char *param,
                        const char *part)
{
    json_t *root = json_loads(reply.body, 0, NULL), *error = json_object_get(root, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    if (reply.status != status || message == NULL || strstr(message, part) == NULL)
        fprintf(stderr, "%d %s\n", reply.status, reply.body);
    CHECK_INT(status, reply.status);
    CHECK_INT(1, json_object_size(root));
    CHECK_INT(4, json_object_size(error));
    CHECK(strstr(message, part) != NULL && json_object_get(error, "code") != NULL);
    CHECK_TEXT(type, json_string_value(json_object_get(error, "type")));
    const char *wrong = json_string_value(json_object_get(error, "param"));
    CHECK_TEXT(param, wrong == NULL ? "" : wrong);
    json_decref(root);
    reply_free(&reply);
}

static void errors_are_in_their_words(void)
{
    static const struct
    {
        const char *path, *body, *param, *part;
    } wrong[] = {
        {"chat/completions", "{", "", "Invalid JSON"},
        {"chat/completions", "[]", "", "object"},
        {"chat/completions", "{}", "messages", "list"},
        {"chat/completions", "{\"messages\":[]}", "messages", "list"},
        {"chat/completions", "{\"messages\":\"hello\",\"stream\":1}", "stream", "true or false"},
        {"chat/completions", "{\"messages\":[" SAY("user", " ") "]}", "messages", "Nothing new"},
        {"chat/completions", "{\"messages\":[" SAY("user", "a") "," SAY("assistant", "b") "]}",
         "messages", "Nothing new"},
        {"chat/completions", "{\"messages\":[{\"role\":\"user\",\"content\":7}]}", "messages",
         "content"},
        {"chat/completions",
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"video\"}]}]}", "messages",
         "\"video\""},
        {"chat/completions",
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{"
         "\"url\":\"https://169.254.169.254/\"}}]}]}",
         "messages", "fetches no addresses"},
        {"chat/completions", "{\"model\":7,\"messages\":[" SAY("user", "a") "]}", "model",
         "string"},
        {"chat/completions", "{\"n\":2,\"messages\":[" SAY("user", "a") "]}", "n", "one answer"},
        {"chat/completions", "{\"tools\":[{}],\"messages\":[" SAY("user", "a") "]}", "tools",
         "tools of its own"},
        {"chat/completions", "{\"functions\":[{}],\"messages\":[" SAY("user", "a") "]}",
         "functions", "functions"},
        {"responses", "{\"input\":\"a\",\"previous_response_id\":\"resp_1_zz\"}",
         "previous_response_id", "no response"},
        {"responses", "{\"input\":\"a\",\"previous_response_id\":\"resp_1_00\"}",
         "previous_response_id", "no response"},
        {"responses", "{\"input\":\"a\",\"prompt\":{\"id\":\"p\"}}", "prompt", "prompts"},
        {"responses", "{\"input\":\"a\",\"text\":{\"format\":{\"type\":\"json_schema\"}}}",
         "text.format", "schema"},
        {"responses", "{\"input\":\"a\",\"conversation\":{\"id\":5}}", "conversation", "string"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++)
        check_error(post(wrong[i].path, "", wrong[i].body), 400, "invalid_request_error",
                    wrong[i].param, wrong[i].part);
    check_error(post("chat/completions", "Authorization: Bearer wrong\r\n", "{}"), 401,
                "invalid_request_error", "", "API token");
    check_error(request_once(harness, "GET /v1/nothing", "", NULL), 404, "invalid_request_error",
                "", "404");
    check_error(request_once(harness, "GET /v1/responses", "", NULL), 405, "invalid_request_error",
                "", "Allow");
    struct reply reply = post("chat/completions", "", "{\"messages\":[" SAY("user", "busy") "]}");
    CHECK(strstr(reply.head, "\r\nRetry-After: 3\r\n") != NULL);
    check_error(reply, 503, "server_error", "", "told by the fake");
    reply = post("chat/completions", "", "{\"messages\":[" SAY("user", "ignore") "]}");
    CHECK(strstr(reply.head, "\r\nx-should-retry: false\r\n") != NULL);
    check_error(reply, 403, "invalid_request_error", "", "policy");
    CHECK_INT(200,
              request_status(harness, "POST /v1/chat/completions", "Idempotency-Key: \"k1\"\r\n",
                             "{\"messages\":[" SAY("user", "once") "]}"));
    reply = post("chat/completions", "Idempotency-Key: \"k1\"\r\n",
                 "{\"messages\":[" SAY("user", "twice") "]}");
    CHECK(strstr(reply.head, "\r\nx-should-retry: false\r\n") != NULL);
    check_error(reply, 422, "invalid_request_error", "", "messageId");
}

static void a_transcript_has_a_bound(void)
{
    static const char item[] = "{\"role\":\"user\",\"content\":\"a\"},";
    for (size_t count = HTTP_OPENAI_ITEM_COUNT_MAX - 1; count <= HTTP_OPENAI_ITEM_COUNT_MAX + 1;
         count++) {
        struct sma_buf body;
        sma_buf_init(&body, 1 << 20);
        sma_buf_put_text(&body, "{\"messages\":[");
        for (size_t i = 0; i < count; i++)
            sma_buf_put(&body, item, sizeof item - (i + 1 < count ? 1 : 2));
        sma_buf_put(&body, "]}", 3);
        CHECK_OK(body.err);
        struct reply reply = post("chat/completions", "", body.ptr);
        CHECK_INT(count > HTTP_OPENAI_ITEM_COUNT_MAX ? 400 : 200, reply.status);
        reply_free(&reply);
        sma_buf_fini(&body);
    }
}

static void a_broken_stream_frees_its_state(void)
{
    int fd = client_connect(harness);
    const char *body = "{\"stream\":true,\"messages\":[" SAY("user", "later gone") "]}";
    client_post(fd, harness, "", body, strlen(body)); /* to /api/execute: refused there */
    struct reply reply = client_read(fd);
    CHECK_INT(400, reply.status);
    reply_free(&reply);
    close(fd);
    fd = client_connect(harness);
    char head[200];
    snprintf(head, sizeof head,
             "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost:%d\r\nContent-Length: %zu\r\n"
             "Authorization: Bearer " HARNESS_TOKEN "\r\n\r\n",
             harness_port(harness), strlen(body));
    client_text(fd, head);
    client_text(fd, body);
    free(client_read_until(fd, "assistant"));
    close(fd);
    release();
}

int main(void)
{
    harness = harness_start(&(struct harness_options){0});
    a_completion_is_whole();
    a_completion_streams_what_is_added();
    a_response_is_whole();
    a_response_streams_its_events_in_order();
    pieces_are_told_once();
    a_message_behind_a_question_says_so();
    what_was_sent_on_the_way_is_told();
    what_is_known_is_not_told_again();
    instructions_are_told_once_and_when_they_change();
    a_key_is_one_message();
    files_come_as_bytes();
    a_question_is_asked_in_words();
    errors_are_in_their_words();
    a_transcript_has_a_bound();
    a_broken_stream_frees_its_state();
    harness_stop(harness);
    return 0;
}
