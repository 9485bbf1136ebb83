/*
 * mcp_serve.c — `shipmyagent mcp-serve [FOLDER]`: the Model Context Protocol on stdin and stdout,
 * for editors and other agents, in front of the service that runs for the folder.
 *
 * runtime/mcp_serve answers what needs no service; a tool call goes to POST /mcp as it came. Each
 * call has a connection of its own: libcurl repeats a request on a kept connection that turns out
 * to be closed, and a message must not be said twice. What a client does not read holds this
 * process up and nobody else.
 */
#include "cli.h"

#include "api.h"
#include "commands.h"
#include "runtime/mcp_serve/serve.h"
#include "sma/text.h"

#include <curl/curl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMMAND "mcp-serve"
#define READ_BYTES 65536
#define CONNECT_MS 10000L
#define CALL_MS ((SMA_HTTP_WAIT_S + 60) * 1000L) /* the service says "later" before */
#define IDLE_MS (24 * 3600 * 1000)
#define LOST                                                                                 \
    "The service ended, or the connection to it broke, before the answer came. What it had " \
    "accepted goes on when it runs again: do not repeat it blindly. The same call with the " \
    "messageId that it had is not carried out twice; without one, see read_history."

struct pump;
struct call
{
    struct pump *pump; /* NULL: the place is free */
    CURL *easy;
    struct curl_slist *headers;
    struct sma_mcp_serve_step step;
    struct sma_cli_api api;
    struct sma_buf answer;
    char *text; /* of the request */
    bool is_answered;
};
struct pump
{
    const char *folder;
    CURLM *multi;
    struct sma_buf in;
    bool has_eof, is_skipping, is_broken; /* stdin's end; inside a line too long; stdout's end */
    struct call calls[SMA_MCP_SERVE_CALL_COUNT_MAX];
    size_t open_count;
};

/* -- stdout ------------------------------------------------------------------------------------ */
static void write_all(struct pump *pump, const char *bytes, size_t len)
{
    while (len > 0 && !pump->is_broken) {
        ssize_t count = write(STDOUT_FILENO, bytes, len);
        if (count < 0 && errno != EINTR)
            pump->is_broken = true;
        if (count <= 0)
            continue;
        bytes += count;
        len -= (size_t)count;
    }
}

static void write_line(struct pump *pump, struct sma_str json)
{
    write_all(pump, json.ptr, json.len);
    write_all(pump, "\n", 1);
}

/* A result of our own, when the service has none. status: as for sma_mcp_serve_put_result */
static void write_result(struct pump *pump, const struct sma_mcp_serve_step *step, int status,
                         struct sma_str text)
{
    struct sma_buf json;
    sma_buf_init(&json, SMA_MCP_SERVE_ANSWER_BYTES_MAX);
    sma_mcp_serve_put_result(&json, step, status, text);
    if (json.err == SMA_ERR_OK)
        write_line(pump, sma_buf_str(&json));
    sma_buf_fini(&json);
}

static void write_not_running(struct pump *pump, const struct sma_mcp_serve_step *step)
{
    struct sma_buf text;
    sma_buf_init(&text, 16384);
    sma_buf_printf(&text,
                   "The service of %s does not run, so nothing was done. Start it: shipmyagent "
                   "start %s",
                   pump->folder, pump->folder);
    write_result(pump, step, 0, sma_buf_str(&text));
    sma_buf_fini(&text);
}

/* -- calls ------------------------------------------------------------------------------------- */
static void end_call(struct call *call)
{
    struct pump *pump = call->pump;
    if (call->easy != NULL) {
        (void)curl_multi_remove_handle(pump->multi, call->easy);
        curl_easy_cleanup(call->easy);
    }
    curl_slist_free_all(call->headers);
    sma_mcp_serve_end(&call->step);
    sma_buf_fini(&call->answer);
    free(call->text);
    *call = (struct call){.pump = NULL};
    pump->open_count--;
}

/* Events that are whole; what is left waits for its end. */
static void take_events(struct call *call)
{
    const struct sma_str progress = SMA_STR("{\"jsonrpc\":\"2.0\",\"method\":");
    size_t from = 0;
    for (;;) {
        char *line = call->answer.ptr + from;
        char *end = memchr(line, '\n', call->answer.len - from);
        if (end == NULL)
            break;
        struct sma_str text = {line, (size_t)(end - line)};
        from += text.len + 1;
        if (!sma_str_starts_with(text, SMA_STR("data: ")))
            continue;
        struct sma_str json = {text.ptr + 6, text.len - 6};
        call->is_answered |= !sma_str_starts_with(json, progress);
        write_line(call->pump, json);
    }
    memmove(call->answer.ptr, call->answer.ptr + from, call->answer.len - from);
    call->answer.len -= from;
}

static bool is_stream(const struct call *call)
{
    char *type = NULL;
    return curl_easy_getinfo(call->easy, CURLINFO_CONTENT_TYPE, &type) == CURLE_OK &&
           type != NULL && strncmp(type, "text/event-stream", 17) == 0;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *user)
{
    struct call *call = user;
    if (size * count == 0)
        return 0;
    sma_buf_put(&call->answer, bytes, size * count);
    if (call->answer.err != SMA_ERR_OK)
        return 0;
    if (is_stream(call))
        take_events(call);
    return size * count;
}

static void on_done(struct call *call, CURLcode code)
{
    struct pump *pump = call->pump;
    long status = 0;
    curl_off_t sent = 0;
    struct sma_str body = call->answer.len == 0 ? SMA_STR("") : sma_buf_str(&call->answer);
    (void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    if (call->is_answered)
        ;
    else if (code == CURLE_COULDNT_CONNECT || (code != CURLE_OK && sent == 0))
        write_not_running(pump, &call->step);
    else if (call->answer.err == SMA_ERR_TOOBIG)
        write_result(pump, &call->step, 0, SMA_STR("The service's answer is too long"));
    else if (code != CURLE_OK || (status == 200 && is_stream(call)))
        write_result(pump, &call->step, 0, SMA_STR(LOST));
    else if (status == 200)
        write_line(pump, body);
    else if (status == 401)
        write_result(pump, &call->step, 0,
                     SMA_STR("The service does not take this token: run mcp-serve as the user who "
                             "runs the service, or give it the API token in SMA_API_TOKEN"));
    else
        write_result(pump, &call->step, (int)status, body);
    end_call(call);
}

static bool put_header(struct call *call, const char *name, const char *value)
{
    char line[sizeof call->api.token + 64];
    (void)snprintf(line, sizeof line, "%s:%s%s", name, value[0] == '\0' ? "" : " ", value);
    struct curl_slist *list = curl_slist_append(call->headers, line);
    call->headers = list == NULL ? call->headers : list;
    return list != NULL;
}

static bool put_headers(struct call *call)
{
    char bearer[sizeof call->api.token + 16];
    (void)snprintf(bearer, sizeof bearer, "Bearer %s", call->api.token);
    bool is_whole = put_header(call, "Authorization", bearer) &&
                    put_header(call, "Content-Type", "application/json") &&
                    put_header(call, "Accept", "application/json, text/event-stream") &&
                    put_header(call, "Expect", "");
    if (is_whole && call->step.is_modern)
        is_whole = put_header(call, "MCP-Protocol-Version", SMA_MCP_SERVE_MODERN) &&
                   put_header(call, "Mcp-Method", "tools/call") &&
                   put_header(call, "Mcp-Name", call->step.tool);
    return is_whole;
}

static bool send_call(struct call *call, struct sma_str text)
{
    char url[sizeof call->api.base + 16];
    call->easy = curl_easy_init();
    call->text = malloc(text.len);
    if (call->easy == NULL || call->text == NULL || !put_headers(call))
        return false;
    memcpy(call->text, text.ptr, text.len);
    (void)snprintf(url, sizeof url, "%s/mcp", call->api.base);
    (void)curl_easy_setopt(call->easy, CURLOPT_URL, url);
    (void)curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
    (void)curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, call->text);
    (void)curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE, (long)text.len);
    (void)curl_easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, on_bytes);
    (void)curl_easy_setopt(call->easy, CURLOPT_WRITEDATA, call);
    (void)curl_easy_setopt(call->easy, CURLOPT_PRIVATE, call);
    (void)curl_easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
    (void)curl_easy_setopt(call->easy, CURLOPT_TIMEOUT_MS, CALL_MS);
    (void)curl_easy_setopt(call->easy, CURLOPT_NOPROXY, "*");
    (void)curl_easy_setopt(call->easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(call->easy, CURLOPT_FRESH_CONNECT, 1L);
    (void)curl_easy_setopt(call->easy, CURLOPT_FORBID_REUSE, 1L);
    return curl_multi_add_handle(call->pump->multi, call->easy) == CURLM_OK;
}

static struct call *find_call(struct pump *pump, const char *id)
{
    for (size_t i = 0; i < SMA_COUNT_OF(pump->calls); i++)
        if (pump->calls[i].pump != NULL && strcmp(pump->calls[i].step.id, id) == 0)
            return &pump->calls[i];
    return NULL;
}

static struct call *take_place(struct pump *pump)
{
    for (size_t i = 0; i < SMA_COUNT_OF(pump->calls); i++)
        if (pump->calls[i].pump == NULL)
            return &pump->calls[i];
    return NULL;
}

/* step: moved when the call begins. */
static bool begin_call(struct pump *pump, struct sma_mcp_serve_step *step, struct sma_str text)
{
    struct call *call = take_place(pump);
    if (find_call(pump, step->id) != NULL) {
        struct sma_buf json;
        sma_buf_init(&json, 16384);
        sma_mcp_serve_put_error(&json, step->id, SMA_MCP_INVALID_REQUEST,
                                "A request with this id is still open");
        write_line(pump, sma_buf_str(&json));
        sma_buf_fini(&json);
        return false;
    }
    if (call == NULL) {
        write_result(pump, step, 0,
                     SMA_STR("16 calls are open already: call again when one of them has ended"));
        return false;
    }
    int status = sma_cli_api_open(COMMAND, pump->folder, &call->api);
    if (status != 0) {
        write_not_running(pump, step);
        return false;
    }
    call->pump = pump;
    call->step = *step;
    sma_buf_init(&call->answer, SMA_MCP_SERVE_ANSWER_BYTES_MAX);
    pump->open_count++;
    if (!send_call(call, text)) {
        write_result(pump, &call->step, 0, SMA_STR("Out of memory: nothing was done"));
        end_call(call);
    }
    return true;
}

/* -- stdin ------------------------------------------------------------------------------------- */
static void on_line(struct pump *pump, struct sma_str line)
{
    struct sma_mcp_serve_step step;
    struct sma_str text = sma_str_trim(line);
    if (text.len == 0)
        return;
    sma_mcp_serve_begin(&step);
    enum sma_err err = sma_mcp_serve_read(text, NULL, &step);
    bool is_moved = false;
    if (err != SMA_ERR_OK) {
        (void)sma_cli_fail(COMMAND ": out of memory: a message is not answered");
    } else if (step.kind == SMA_MCP_SERVE_ANSWER) {
        write_line(pump, sma_buf_str(&step.answer));
    } else if (step.kind == SMA_MCP_SERVE_CANCEL) {
        struct call *call = find_call(pump, step.id);
        if (call != NULL)
            end_call(call);
    } else if (step.kind == SMA_MCP_SERVE_CALL) {
        is_moved = begin_call(pump, &step, text);
    }
    if (!is_moved)
        sma_mcp_serve_end(&step);
}

static void skip_line(struct pump *pump)
{
    struct sma_buf json;
    if (!pump->is_skipping) {
        sma_buf_init(&json, 1024);
        sma_mcp_serve_put_error(&json, "null", SMA_MCP_INVALID_REQUEST,
                                "The line is over the limit of 2 MiB");
        write_line(pump, sma_buf_str(&json));
        sma_buf_fini(&json);
    }
    pump->is_skipping = true;
    pump->in.len = 0;
}

static void take_lines(struct pump *pump)
{
    size_t from = 0;
    for (;;) {
        char *begin = pump->in.ptr + from, *end = memchr(begin, '\n', pump->in.len - from);
        if (end == NULL)
            break;
        from += (size_t)(end - begin) + 1;
        if (!pump->is_skipping)
            on_line(pump, (struct sma_str){begin, (size_t)(end - begin)});
        pump->is_skipping = false;
    }
    memmove(pump->in.ptr, pump->in.ptr + from, pump->in.len - from);
    pump->in.len -= from;
    if (pump->in.len > SMA_MCP_SERVE_LINE_BYTES_MAX)
        skip_line(pump);
}

static void read_stdin(struct pump *pump)
{
    char *place = sma_buf_reserve(&pump->in, READ_BYTES);
    ssize_t count = place == NULL ? 0 : read(STDIN_FILENO, place, READ_BYTES);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (count > 0) {
        pump->in.len += (size_t)count;
        take_lines(pump);
        return;
    }
    pump->has_eof = true;
    if (pump->in.len > 0 && !pump->is_skipping) /* a last line without its end */
        on_line(pump, sma_buf_str(&pump->in));
}

/* -- the loop ---------------------------------------------------------------------------------- */
static void take_answers(struct pump *pump)
{
    int running = 0, left = 0;
    CURLMsg *message;
    (void)curl_multi_perform(pump->multi, &running);
    while ((message = curl_multi_info_read(pump->multi, &left)) != NULL) {
        struct call *call = NULL;
        if (message->msg != CURLMSG_DONE)
            continue;
        CURLcode code = message->data.result; /* it goes with the handle */
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        on_done(call, code);
    }
}

static void run(struct pump *pump)
{
    while (!pump->is_broken && (!pump->has_eof || pump->open_count > 0)) {
        struct curl_waitfd wait = {.fd = STDIN_FILENO, .events = CURL_WAIT_POLLIN};
        take_answers(pump);
        if (pump->has_eof && pump->open_count == 0)
            return;
        if (curl_multi_poll(pump->multi, &wait, pump->has_eof ? 0 : 1, IDLE_MS, NULL) != CURLM_OK)
            return;
        if (!pump->has_eof && wait.revents != 0)
            read_stdin(pump);
    }
}

static int serve(const char *folder)
{
    struct pump *pump = calloc(1, sizeof *pump);
    if (pump != NULL)
        pump->multi = curl_multi_init();
    if (pump == NULL || pump->multi == NULL) {
        free(pump);
        return sma_cli_fail(COMMAND ": out of memory");
    }
    pump->folder = folder;
    sma_buf_init(&pump->in, SMA_MCP_SERVE_LINE_BYTES_MAX + 2 * READ_BYTES);
    (void)signal(SIGPIPE, SIG_IGN);
    run(pump);
    for (size_t i = 0; i < SMA_COUNT_OF(pump->calls); i++)
        if (pump->calls[i].pump != NULL)
            end_call(&pump->calls[i]);
    curl_multi_cleanup(pump->multi);
    sma_buf_fini(&pump->in);
    free(pump);
    return 0;
}

static int run_mcp_serve(int argc, char **argv)
{
    struct sma_cli_api api;
    if (sma_cli_option(&sma_cli_command_mcp_serve, argc, argv) != -1)
        return 1;
    if (argc - optind > 1)
        return sma_cli_fail(COMMAND ": one folder at most; see `shipmyagent help mcp-serve`");
    const char *folder = optind < argc ? argv[optind] : ".";
    int status = sma_cli_api_open(COMMAND, folder, &api);
    if (status == SMA_CLI_NOT_RUNNING)
        (void)sma_cli_fail(COMMAND ": no service runs for %s: start it first, with `shipmyagent "
                                   "start %s`",
                           folder, folder);
    return status != 0 ? status : serve(folder);
}

const struct sma_cli_command sma_cli_command_mcp_serve = {
    .name = COMMAND,
    .run = run_mcp_serve,
    .place = "[FOLDER]",
    .summary = "offer the running agent to other agents and editors (MCP)",
    .usage = "shipmyagent mcp-serve [FOLDER]\n",
    .text =
        "Speaks the Model Context Protocol on stdin and stdout; the service of the folder must\n"
        "run. Exit status 3: it does not.\n",
    .first = SMA_VALUE_FOLDER,
};
