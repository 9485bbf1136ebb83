/*
 * fake_qq_rest.c — the REST calls but for sending: tokens, gateway addresses, interactions, and the
 * way to all others.
 */
#include "fake_qq_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define REFUSAL_COUNT_MAX 4096

/* -- answers ----------------------------------------------------------------------------------- */
static void put_trace(struct fake_qq *fake, char *text, size_t size)
{
    snprintf(text, size, "%032llx", (unsigned long long)++fake->number);
}

void fake_qq_answer(struct rest *rest, int status, json_t *body)
{
    char headers[160], trace[40];
    char *text = body == NULL ? NULL : json_dumps(body, JSON_COMPACT);
    put_trace(rest->fake, trace, sizeof trace);
    snprintf(headers, sizeof headers, "Content-Type: application/json\r\nX-Tps-trace-ID: %s\r\n",
             trace);
    platform_respond(&rest->call, status, headers, sma_str(text == NULL ? "" : text));
    free(text);
    json_decref(body);
}

static void note_refusal(struct rest *rest, int64_t code)
{
    json_t *list = rest->fake->refusals;
    if (json_array_size(list) < REFUSAL_COUNT_MAX)
        json_array_append_new(list, json_pack("{s:s,s:I,s:s}", "call", rest->name, "code",
                                              (json_int_t)code, "chat",
                                              rest->chat == NULL ? "" : rest->chat->key));
}

void fake_qq_refuse(struct rest *rest, int status, int64_t code, const char *message)
{
    char headers[200], trace[40];
    note_refusal(rest, code);
    put_trace(rest->fake, trace, sizeof trace);
    int len = snprintf(headers, sizeof headers,
                       "Content-Type: application/json\r\nX-Tps-trace-ID: %s\r\n", trace);
    if (rest->call.fault.seconds > 0)
        snprintf(headers + len, sizeof headers - (size_t)len, "Retry-After: %lld\r\n",
                 (long long)rest->call.fault.seconds);
    json_t *body = json_pack("{s:s,s:I,s:I,s:s}", "message", message, "code", (json_int_t)code,
                             "err_code", (json_int_t)code, "trace_id", trace);
    char *text = json_dumps(body, JSON_COMPACT);
    platform_respond(&rest->call, status, headers, sma_str(text));
    free(text);
    json_decref(body);
}

/* -- tokens ------------------------------------------------------------------------------------ */
/* The same one until its last minute; then the old one lives beside the new one. */
static void renew_token(struct fake_qq *fake)
{
    int64_t now_ms = fake_qq_now_ms(fake);
    if (fake->token[0] != '\0' && now_ms < fake->token_until_ms - fake->token_overlap_s * 1000)
        return;
    memcpy(fake->old_token, fake->token, sizeof fake->old_token);
    fake->old_token_until_ms = fake->token_until_ms;
    snprintf(fake->token, sizeof fake->token, "AT%llu_%llx", (unsigned long long)++fake->number,
             (unsigned long long)(platform_now_ns() & 0xffffff));
    fake->token_until_ms = now_ms + fake->token_life_s * 1000;
    fake->token_count++;
}

/* A refusal comes with status 200 too. */
static void refuse_token(struct rest *rest, int64_t code, const char *message)
{
    note_refusal(rest, code);
    fake_qq_answer(rest, 200, json_pack("{s:I,s:s}", "code", (json_int_t)code, "message", message));
}

static void give_token(struct rest *rest)
{
    struct fake_qq *fake = rest->fake;
    if (rest->call.fault.kind == PLATFORM_FAULT_STATUS && rest->call.fault.status == 200)
        refuse_token(rest, rest->call.fault.code, "refused");
    else if (strcmp(platform_text(rest->body, "appId", ""), fake->app) != 0)
        refuse_token(rest, 100007, "appid invalid");
    else if (strcmp(platform_text(rest->body, "clientSecret", ""), FAKE_QQ_SECRET) != 0)
        refuse_token(rest, 100016, "invalid appid or secret");
    else {
        char left[32];
        renew_token(fake);
        int64_t seconds = (fake->token_until_ms - fake_qq_now_ms(fake) + 999) / 1000;
        snprintf(left, sizeof left, "%lld", (long long)seconds);
        fake_qq_answer(rest, 200,
                       json_pack("{s:s,s:o}", "access_token", fake->token, "expires_in",
                                 fake->is_expiry_number ? json_integer((json_int_t)seconds)
                                                        : json_string(left)));
    }
}

/* @return 0, or the code to refuse with */
static int64_t check_token(const struct fake_qq *fake, const struct ws_server_request *request)
{
    struct sma_str value = ws_server_header(request, "Authorization");
    char text[160];
    int64_t now_ms = fake_qq_now_ms(fake);
    if (value.len == 0)
        return 11241;
    snprintf(text, sizeof text, "%.*s", (int)value.len, value.ptr);
    if (strncmp(text, "QQBot ", 6) != 0)
        return 11243;
    if (fake->token[0] != '\0' && strcmp(text + 6, fake->token) == 0 &&
        now_ms < fake->token_until_ms)
        return 0;
    if (fake->old_token[0] != '\0' && strcmp(text + 6, fake->old_token) == 0 &&
        now_ms < fake->old_token_until_ms)
        return 0;
    return 11244;
}

/* -- gateway, the bot, interactions ------------------------------------------------------------ */
static const char *gateway_url(struct rest *rest, char *room, size_t size)
{
    if (rest->fake->gateway_url[0] != '\0')
        return rest->fake->gateway_url;
    snprintf(room, size, "%s/websocket", ws_server_url(rest->fake->server));
    return room;
}

static void give_gateway(struct rest *rest)
{
    char room[160];
    fake_qq_answer(rest, 200, json_pack("{s:s}", "url", gateway_url(rest, room, sizeof room)));
}

static void give_gateway_bot(struct rest *rest)
{
    char room[160];
    const struct fake_qq *fake = rest->fake;
    fake_qq_answer(
        rest, 200,
        json_pack("{s:s,s:I,s:{s:I,s:I,s:I,s:I}}", "url", gateway_url(rest, room, sizeof room),
                  "shards", (json_int_t)fake->shards_told, "session_start_limit", "total",
                  (json_int_t)fake->identify_total, "remaining",
                  (json_int_t)fake->identify_remaining, "reset_after", (json_int_t)14400000,
                  "max_concurrency", (json_int_t)fake->identify_concurrency));
}

static void give_me(struct rest *rest)
{
    fake_qq_answer(rest, 200,
                   json_pack("{s:s,s:s,s:s}", "id", FAKE_QQ_BOT_ID, "username", FAKE_QQ_BOT_NAME,
                             "avatar", "http://thirdqq.qlogo.cn/0"));
}

static void give_dms(struct rest *rest)
{
    fake_qq_answer(rest, 200,
                   json_pack("{s:s,s:s,s:s}", "guild_id", "900001", "channel_id", "900002",
                             "create_time", "1750000000"));
}

static void acknowledge(struct rest *rest)
{
    struct fake_qq *fake = rest->fake;
    struct interaction *found = NULL;
    const json_t *code = json_object_get(rest->body, "code");
    for (size_t i = 0; i < fake->interaction_count; i++)
        if (strcmp(fake->interactions[i].id, rest->parts[1]) == 0)
            found = &fake->interactions[i];
    int64_t took_ms =
        found == NULL ? 0 : (int64_t)((platform_now_ns() - found->pushed_ns) / 1000000);
    if (found == NULL)
        fake_qq_refuse(rest, 400, 630006, "interaction not found");
    else if (!json_is_integer(code) || json_integer_value(code) < 0 || json_integer_value(code) > 5)
        fake_qq_refuse(rest, 400, 12002, "code is not valid");
    else if (took_ms > fake->interaction_ms_max)
        fake_qq_refuse(rest, 400, 630007, "interaction has expired");
    else {
        found->took_ms = found->ack_count++ == 0 ? took_ms : found->took_ms;
        found->code = json_integer_value(code);
        fake_qq_answer(rest, 200, NULL);
    }
}

static void refuse_privilege(struct rest *rest)
{
    fake_qq_refuse(rest, 403, 11253, "no privilege for this interface");
}

/* -- the way ----------------------------------------------------------------------------------- */
static void serve_stream(struct rest *rest)
{
    if (rest->fake->is_stream_off)
        refuse_privilege(rest);
    else
        fake_qq_do_stream(rest);
}

struct route
{
    const char *method, *pattern; /* "*": any one component */
    const char *name;             /* for faults and counts */
    enum scene scene;
    void (*run)(struct rest *rest);
    bool is_open; /* needs no token */
};
static const struct route routes[] = {
    {"POST", "app/getAppAccessToken", "token", 0, give_token, true},
    {"GET", "gateway", "gateway", 0, give_gateway, false},
    {"GET", "gateway/bot", "gateway_bot", 0, give_gateway_bot, false},
    {"GET", "users/@me", "me", 0, give_me, false},
    {"POST", "users/@me/dms", "dms", 0, give_dms, false},
    {"PUT", "interactions/*", "interaction", 0, acknowledge, false},
    {"POST", "v2/users/*/messages", "send", SCENE_C2C, fake_qq_do_send, false},
    {"POST", "v2/groups/*/messages", "send", SCENE_GROUP, fake_qq_do_send, false},
    {"POST", "channels/*/messages", "send", SCENE_CHANNEL, fake_qq_do_send, false},
    {"POST", "dms/*/messages", "send", SCENE_DM, fake_qq_do_send, false},
    {"DELETE", "v2/users/*/messages/*", "recall", SCENE_C2C, fake_qq_do_recall, false},
    {"DELETE", "v2/groups/*/messages/*", "recall", SCENE_GROUP, fake_qq_do_recall, false},
    {"DELETE", "channels/*/messages/*", "recall", SCENE_CHANNEL, fake_qq_do_recall, false},
    {"DELETE", "dms/*/messages/*", "recall", SCENE_DM, fake_qq_do_recall, false},
    {"POST", "v2/users/*/files", "files", SCENE_C2C, fake_qq_do_files, false},
    {"POST", "v2/groups/*/files", "files", SCENE_GROUP, fake_qq_do_files, false},
    {"POST", "v2/users/*/upload_prepare", "upload_prepare", SCENE_C2C, fake_qq_do_upload_prepare,
     false},
    {"POST", "v2/groups/*/upload_prepare", "upload_prepare", SCENE_GROUP, fake_qq_do_upload_prepare,
     false},
    {"POST", "v2/users/*/upload_part_finish", "upload_finish", SCENE_C2C, fake_qq_do_upload_finish,
     false},
    {"POST", "v2/groups/*/upload_part_finish", "upload_finish", SCENE_GROUP,
     fake_qq_do_upload_finish, false},
    {"PUT", "upload/*/*", "upload_put", 0, fake_qq_do_upload_put, true},
    {"GET", "download/*", "download", 0, fake_qq_do_download, true},
    {"POST", "v2/users/*/stream_messages", "stream", SCENE_C2C, serve_stream, false},
    {"GET", "v2/groups/*/members", "members", SCENE_GROUP, refuse_privilege, false},
    {"GET", "v2/groups/*/members/*", "members", SCENE_GROUP, refuse_privilege, false},
};

static bool matches(const struct rest *rest, const char *pattern)
{
    for (size_t i = 0; i < rest->part_count; i++) {
        size_t len = strcspn(pattern, "/");
        bool is_any = len == 1 && pattern[0] == '*';
        if (len == 0 || (!is_any && (strlen(rest->parts[i]) != len ||
                                     strncmp(rest->parts[i], pattern, len) != 0)))
            return false;
        pattern += len + (pattern[len] == '/');
    }
    return pattern[0] == '\0';
}

static const struct route *find_route(const struct rest *rest)
{
    for (size_t i = 0; i < SMA_COUNT_OF(routes); i++)
        if (sma_str_is_equal(rest->request->method, sma_str(routes[i].method)) &&
            matches(rest, routes[i].pattern))
            return &routes[i];
    return NULL;
}

static void split_path(struct rest *rest)
{
    rest->path = platform_copy(rest->request->path);
    for (char *at = rest->path; *at == '/' && rest->part_count < REST_PART_COUNT_MAX;) {
        *at++ = '\0';
        rest->parts[rest->part_count++] = at;
        at += strcspn(at, "/");
    }
}

static void find_chat(struct rest *rest, const struct route *route, char *key, size_t size)
{
    static const char *const starts[] = {"c2c:", "group:", "channel:", "dm:"};
    bool is_v2 = strcmp(rest->parts[0], "v2") == 0;
    key[0] = '\0';
    rest->scene = route->scene;
    if (!is_v2 && route->scene == SCENE_C2C)
        return; /* concerns no chat */
    snprintf(key, size, "%s%s", starts[route->scene], rest->parts[is_v2 ? 2 : 1]);
    rest->chat = fake_qq_chat(rest->fake, key);
}

/* A token shown to a place that must not see it is a leak. */
static int64_t check_access(struct rest *rest, const struct route *route)
{
    if (!route->is_open)
        return check_token(rest->fake, rest->request);
    if (route->run != give_token && ws_server_header(rest->request, "Authorization").len > 0)
        rest->fake->leak_count++;
    return 0;
}

static void run_route(struct rest *rest, const struct route *route)
{
    char key[160];
    find_chat(rest, route, key, sizeof key);
    rest->name = route->name;
    enum platform_weather weather =
        platform_begin(&rest->fake->platform, &rest->call, rest->request, route->name, key);
    const struct platform_fault *fault = &rest->call.fault;
    if (weather == PLATFORM_OVER)
        return;
    if (fault->kind == PLATFORM_FAULT_TOKEN) {
        rest->fake->token[0] = rest->fake->old_token[0] = '\0';
        fake_qq_refuse(rest, 401, 11244, "token expired");
        return;
    }
    int64_t code = check_access(rest, route);
    if (code != 0)
        fake_qq_refuse(rest, 401, code, "authentication failed");
    else if (weather == PLATFORM_REFUSE && !(route->run == give_token && fault->status == 200))
        fake_qq_refuse(rest, (int)fault->status, fault->code,
                       fault->text[0] == '\0' ? "refused" : fault->text);
    else
        route->run(rest);
}

static json_t *control(void *fake, const json_t *command)
{
    json_t *answer = fake_qq_talk(fake, command);
    return answer != NULL ? answer : fake_qq_control(fake, command);
}

void fake_qq_serve(struct fake_qq *fake, const struct ws_server_request *request)
{
    struct rest rest = {.fake = fake, .request = request, .name = ""};
    if (platform_serve_control(fake->server, request, control, fake))
        return;
    split_path(&rest);
    const struct route *route = find_route(&rest);
    if (route != NULL) {
        if (request->body.len > 0 && route->run != fake_qq_do_upload_put)
            rest.body = json_loadb(request->body.ptr, request->body.len, 0, NULL);
        run_route(&rest, route);
        json_decref(rest.body);
    } else {
        (void)ws_server_answer(fake->server, request->conn, 404, "application/json",
                               SMA_STR("{\"message\":\"path not found\"}"));
    }
    free(rest.path);
}
