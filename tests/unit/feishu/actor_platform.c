/* actor_platform.c — see actor_world.h: Feishu's REST and long connection on one port, scripted. */
#include "actor_world.h"

#include <jansson.h>
#include <string.h>

#define REQUEST_COUNT_MAX 512
#define ACK_COUNT_MAX 2048
#define SCRIPT_COUNT_MAX 16

struct script
{
    char method[8], prefix[256], *headers, *body;
    size_t count;
    int status;
};
static struct
{
    struct ws_server *server;
    struct platform_request *requests;
    size_t request_count;
    struct platform_ack acks[ACK_COUNT_MAX];
    size_t ack_count, ping_count;
    struct script scripts[SCRIPT_COUNT_MAX];
    unsigned interval_s, nonce_s, ping_s, token_life_s, token_number, first_good_token,
        message_number, ticket;
    int refuse_status;
    char refuse_headers[512];
    bool is_pong_off;
} platform;

static void copy(char *to, size_t size, struct sma_str from)
{
    snprintf(to, size, "%.*s", (int)from.len, from.len == 0 ? "" : from.ptr);
}

static void answer(unsigned conn, int status, const char *body)
{
    ws_server_answer(platform.server, conn, status, "application/json; charset=utf-8",
                     sma_str(body));
}

/* -- requests ---------------------------------------------------------------------------------- */
static struct script *find_script(const struct platform_request *request)
{
    for (size_t i = 0; i < SCRIPT_COUNT_MAX; i++) {
        struct script *script = &platform.scripts[i];
        if (script->count > 0 && strcmp(script->method, request->method) == 0 &&
            strncmp(script->prefix, request->path, strlen(script->prefix)) == 0)
            return script;
    }
    return NULL;
}

static void follow_script(struct script *script, unsigned conn)
{
    script->count--;
    if (script->status < 0)
        ws_server_drop(platform.server, conn);
    else if (script->status != 0)
        ws_server_answer_with(platform.server, conn, script->status, script->headers,
                              sma_str(script->body));
}

static void answer_token(unsigned conn)
{
    char body[256];
    snprintf(body, sizeof body,
             "{\"code\":0,\"msg\":\"ok\",\"tenant_access_token\":\"t-test-%u\",\"expire\":%u}",
             ++platform.token_number, platform.token_life_s);
    answer(conn, 200, body);
}

static void answer_endpoint(unsigned conn)
{
    char body[1024];
    snprintf(body, sizeof body,
             "{\"code\":0,\"msg\":\"\",\"data\":{\"URL\":\"%s/ws/"
             "v2?fpid=1&device_id=dev%u&service_id=%d&ticket=%u\","
             "\"ClientConfig\":{\"ReconnectCount\":-1,\"ReconnectInterval\":%u,\"ReconnectNonce\":%"
             "u,\"PingInterval\":"
             "%u}}}",
             ws_server_url(platform.server), platform.ticket, WORLD_SERVICE, platform.ticket,
             platform.interval_s, platform.nonce_s, platform.ping_s);
    platform.ticket++;
    answer(conn, 200, body);
}

static bool is_token_good(const char *token)
{
    unsigned number = 0;
    return sscanf(token, "t-test-%u", &number) == 1 && number >= platform.first_good_token &&
           number <= platform.token_number;
}

static void answer_call(const struct platform_request *request, unsigned conn)
{
    char body[512];
    if (!is_token_good(request->token)) {
        answer(conn, 400, "{\"code\":99991663,\"msg\":\"Invalid access token for authorization\"}");
    } else if (strncmp(request->path, "/open-apis/bot/v3/info", 22) == 0) {
        answer(conn, 200,
               "{\"code\":0,\"msg\":\"ok\",\"bot\":{\"activate_status\":2,\"app_name\":\"Ship\","
               "\"open_id\":\"" WORLD_BOT "\"}}");
    } else if (strncmp(request->path, "/open-apis/im/v1/images", 23) == 0) {
        answer(conn, 200, "{\"code\":0,\"msg\":\"ok\",\"data\":{\"image_key\":\"img_uploaded\"}}");
    } else if (strncmp(request->path, "/open-apis/im/v1/files", 22) == 0) {
        answer(conn, 200, "{\"code\":0,\"msg\":\"ok\",\"data\":{\"file_key\":\"file_uploaded\"}}");
    } else if (strstr(request->path, "/resources/") != NULL) {
        ws_server_answer_with(platform.server, conn, 200,
                              "Content-Type: application/octet-stream\r\n",
                              SMA_STR("content of a file"));
    } else if (strncmp(request->path, "/open-apis/im/v1/chats/", 23) == 0) {
        answer(conn, 200,
               "{\"code\":0,\"data\":{\"owner_id\":\"" WORLD_ADA
               "\",\"user_manager_id_list\":[\"ou_manager\"]}}");
    } else if (strcmp(request->method, "POST") == 0) {
        snprintf(body, sizeof body,
                 "{\"code\":0,\"msg\":\"success\",\"data\":{\"message_id\":\"om_sent_%u\"}}",
                 ++platform.message_number);
        answer(conn, 200, body);
    } else {
        answer(conn, 200, "{\"code\":0,\"msg\":\"success\",\"data\":{}}");
    }
}

static void on_request(void *user, struct ws_server *server,
                       const struct ws_server_request *request)
{
    (void)user;
    if (request->is_upgrade) {
        if (platform.refuse_status != 0)
            ws_server_answer_with(server, request->conn, platform.refuse_status,
                                  platform.refuse_headers, SMA_STR(""));
        else
            ws_server_accept(server, request->conn);
        return;
    }
    CHECK(platform.request_count < REQUEST_COUNT_MAX);
    struct platform_request *kept = &platform.requests[platform.request_count++];
    copy(kept->method, sizeof kept->method, request->method);
    snprintf(kept->path, sizeof kept->path, "%.*s%s%.*s", (int)request->path.len, request->path.ptr,
             request->query.len > 0 ? "?" : "", (int)request->query.len,
             request->query.len == 0 ? "" : request->query.ptr);
    copy(kept->body, sizeof kept->body, request->body);
    struct sma_str authorization = ws_server_header(request, "Authorization");
    if (authorization.len > 7)
        copy(kept->token, sizeof kept->token,
             (struct sma_str){authorization.ptr + 7, authorization.len - 7});
    struct script *script = find_script(kept);
    if (script != NULL)
        follow_script(script, request->conn);
    else if (strncmp(kept->path, "/open-apis/auth/v3/", 19) == 0)
        answer_token(request->conn);
    else if (strncmp(kept->path, "/callback/ws/endpoint", 21) == 0)
        answer_endpoint(request->conn);
    else
        answer_call(kept, request->conn);
}

/* -- frames ------------------------------------------------------------------------------------ */
static void send_frame(unsigned conn, const struct feishu_frame *frame)
{
    struct sma_buf bytes;
    sma_buf_init(&bytes, FEISHU_FRAME_BYTES_MAX);
    CHECK_OK(feishu_frame_encode(frame, &bytes));
    ws_server_send(platform.server, conn, sma_buf_str(&bytes), true);
    sma_buf_fini(&bytes);
}

static void send_pong(unsigned conn, const char *payload)
{
    const struct feishu_frame_header header = {SMA_STR("type"), SMA_STR("pong"), NULL};
    send_frame(conn, &(struct feishu_frame){.service = WORLD_SERVICE,
                                            .headers = &header,
                                            .header_count = 1,
                                            .payload = sma_str(payload)});
}

static void take_ack(unsigned conn, const struct feishu_frame *frame)
{
    CHECK(platform.ack_count < ACK_COUNT_MAX);
    struct platform_ack *ack = &platform.acks[platform.ack_count++];
    *ack = (struct platform_ack){.conn = conn};
    copy(ack->message_id, sizeof ack->message_id, feishu_frame_header(frame, "message_id"));
    ack->has_run_time = feishu_frame_header(frame, "biz_rt").ptr != NULL;
    json_t *root = json_loadb(frame->payload.ptr, frame->payload.len, 0, NULL);
    CHECK(root != NULL);
    ack->code = (int)json_integer_value(json_object_get(root, "code"));
    const char *data = json_string_value(json_object_get(root, "data"));
    snprintf(ack->data, sizeof ack->data, "%s", data == NULL ? "" : data);
    json_decref(root);
}

static void on_message(void *user, struct ws_server *server, unsigned conn, struct sma_str bytes,
                       bool is_binary)
{
    struct feishu_frame frame;
    (void)user;
    (void)server;
    CHECK(is_binary);
    CHECK_OK(feishu_frame_decode(bytes, &frame));
    CHECK_INT(WORLD_SERVICE, frame.service);
    if (feishu_frame_type(&frame) == FEISHU_FRAME_PING) {
        platform.ping_count++;
        if (!platform.is_pong_off)
            send_pong(conn, "");
    } else {
        take_ack(conn, &frame);
    }
    feishu_frame_fini(&frame);
}

static const struct ws_server_hooks hooks = {.request = on_request, .message = on_message};

/* -- orders ------------------------------------------------------------------------------------ */
void platform_start(void)
{
    memset(&platform, 0, sizeof platform);
    platform.interval_s = 1;
    platform.nonce_s = 1;
    platform.ping_s = 60;
    platform.token_life_s = 7200;
    platform.requests = calloc(REQUEST_COUNT_MAX, sizeof *platform.requests);
    CHECK(platform.requests != NULL);
    platform.server = ws_server_start(&(struct ws_server_options){.hooks = &hooks});
}

void platform_stop(void)
{
    ws_server_stop(platform.server);
    platform.server = NULL;
    free(platform.requests);
    for (size_t i = 0; i < SCRIPT_COUNT_MAX; i++) {
        free(platform.scripts[i].headers);
        free(platform.scripts[i].body);
    }
}

struct ws_server *platform_server(void)
{
    return platform.server;
}

const char *platform_url(void)
{
    return ws_server_http_url(platform.server);
}

void platform_script(const char *method, const char *prefix, size_t count, int status,
                     const char *headers, const char *body)
{
    ws_server_lock(platform.server);
    size_t i = 0;
    while (i < SCRIPT_COUNT_MAX && platform.scripts[i].count > 0)
        i++;
    CHECK(i < SCRIPT_COUNT_MAX);
    struct script *script = &platform.scripts[i];
    free(script->headers);
    free(script->body);
    *script = (struct script){
        .count = count, .status = status, .headers = strdup(headers), .body = strdup(body)};
    snprintf(script->method, sizeof script->method, "%s", method);
    snprintf(script->prefix, sizeof script->prefix, "%s", prefix);
    ws_server_unlock(platform.server);
}

void platform_config(unsigned interval_s, unsigned nonce_s, unsigned ping_s)
{
    ws_server_lock(platform.server);
    platform.interval_s = interval_s;
    platform.nonce_s = nonce_s;
    platform.ping_s = ping_s;
    ws_server_unlock(platform.server);
}

void platform_token_life(unsigned seconds)
{
    ws_server_lock(platform.server);
    platform.token_life_s = seconds;
    ws_server_unlock(platform.server);
}

void platform_refuse_upgrades(int status, const char *headers)
{
    ws_server_lock(platform.server);
    platform.refuse_status = status;
    snprintf(platform.refuse_headers, sizeof platform.refuse_headers, "%s", headers);
    ws_server_unlock(platform.server);
}

void platform_answer_pings(bool is_answered)
{
    ws_server_lock(platform.server);
    platform.is_pong_off = !is_answered;
    ws_server_unlock(platform.server);
}

void platform_end_tokens(void)
{
    ws_server_lock(platform.server);
    platform.first_good_token = platform.token_number + 1;
    ws_server_unlock(platform.server);
}

void platform_pong(const char *payload)
{
    ws_server_lock(platform.server);
    send_pong(ws_server_newest(platform.server), payload);
    ws_server_unlock(platform.server);
}

/* -- looking ----------------------------------------------------------------------------------- */
static bool is_like(const struct platform_request *request, const char *method, const char *prefix)
{
    return strcmp(request->method, method) == 0 &&
           strncmp(request->path, prefix, strlen(prefix)) == 0;
}

size_t platform_count(const char *method, const char *prefix)
{
    size_t count = 0;
    ws_server_lock(platform.server);
    for (size_t i = 0; i < platform.request_count; i++)
        count += is_like(&platform.requests[i], method, prefix);
    ws_server_unlock(platform.server);
    return count;
}

struct platform_request platform_request_at(const char *method, const char *prefix, size_t index)
{
    struct platform_request found = {0};
    ws_server_lock(platform.server);
    size_t i = 0;
    for (; i < platform.request_count; i++)
        if (is_like(&platform.requests[i], method, prefix) && index-- == 0)
            break;
    CHECK(i < platform.request_count);
    found = platform.requests[i];
    ws_server_unlock(platform.server);
    return found;
}

size_t platform_ack_count(void)
{
    ws_server_lock(platform.server);
    size_t count = platform.ack_count;
    ws_server_unlock(platform.server);
    return count;
}

struct platform_ack platform_ack_at(size_t index)
{
    ws_server_lock(platform.server);
    CHECK(index < platform.ack_count);
    struct platform_ack ack = platform.acks[index];
    ws_server_unlock(platform.server);
    return ack;
}

size_t platform_ping_count(void)
{
    ws_server_lock(platform.server);
    size_t count = platform.ping_count;
    ws_server_unlock(platform.server);
    return count;
}

bool platform_is_connected(void)
{
    return ws_server_open_count(platform.server) > 0;
}

/* -- events ------------------------------------------------------------------------------------ */
void platform_send_event(const char *message_id, const char *payload, size_t parts,
                         const size_t *order)
{
    size_t len = strlen(payload), size = (len + parts - 1) / parts;
    char sum[24], seq[24];
    ws_server_lock(platform.server);
    unsigned conn = ws_server_newest(platform.server);
    for (size_t i = 0; i < parts; i++) {
        size_t part = order == NULL ? i : order[i];
        size_t at = part * size < len ? part * size : len, left = len - at;
        snprintf(sum, sizeof sum, "%zu", parts);
        snprintf(seq, sizeof seq, "%zu", part);
        const struct feishu_frame_header headers[] = {
            {SMA_STR("type"), SMA_STR("event"), NULL},
            {SMA_STR("message_id"), sma_str(message_id), NULL},
            {SMA_STR("sum"), sma_str(sum), NULL},
            {SMA_STR("seq"), sma_str(seq), NULL},
            {SMA_STR("trace_id"), SMA_STR("x"), NULL},
        };
        send_frame(conn,
                   &(struct feishu_frame){.seq_id = UINT64_C(0xfedcba9876543210),
                                          .log_id = UINT64_C(0x8000000000000001),
                                          .service = WORLD_SERVICE,
                                          .method = FEISHU_METHOD_DATA,
                                          .headers = headers,
                                          .header_count = SMA_COUNT_OF(headers),
                                          .payload = {payload + at, left < size ? left : size}});
    }
    ws_server_unlock(platform.server);
}

const char *platform_text_event(const char *message_id, const char *text)
{
    static char json[4096];
    snprintf(json, sizeof json,
             "{\"schema\":\"2.0\",\"header\":{\"event_id\":\"ev_%s\",\"event_type\":\"im.message."
             "receive_v1\","
             "\"create_time\":\"1763755000000\",\"token\":\"vt\",\"app_id\":\"cli_"
             "0123456789abcdef\",\"tenant_key\":"
             "\"k\"},\"event\":{\"sender\":{\"sender_id\":{\"open_id\":\"" WORLD_ADA
             "\"},\"sender_type\":\"user\",\"tenant_key\":\"k\"},\"message\":{\"message_id\":\"%"
             "s\",\"create_time\":"
             "\"1763755000000\",\"chat_id\":\"" WORLD_CHAT
             "\",\"chat_type\":\"p2p\",\"message_type\":\"text\",\"content\":\"{\\\"text\\\":\\\"%"
             "s\\\"}\"}}}",
             message_id, message_id, text);
    return json;
}
