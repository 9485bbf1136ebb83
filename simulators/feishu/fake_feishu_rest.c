/*
 * fake_feishu_rest.c — the REST calls: who may, what they are, and all that are no messages.
 * Messages: fake_feishu_messages.c.
 */
#include "fake_feishu_priv.h"

#include <stdio.h>
#include <stdlib.h>

#define IMAGE_BYTES_MAX (10u << 20)
#define FILE_BYTES_MAX (30u << 20)
#define DOWNLOAD_BYTES_MAX (100u << 20)

/* -- answers ----------------------------------------------------------------------------------- */
void fake_feishu_answer_tree(struct fake_feishu_call *call, int status, const char *headers,
                             json_t *tree)
{
    char *text = json_dumps(tree, JSON_COMPACT), lines[512];
    snprintf(lines, sizeof lines,
             "Content-Type: application/json; charset=utf-8\r\nX-Tt-Logid: 2026%016llx\r\n%s",
             (unsigned long long)++call->fake->number, headers);
    platform_respond(&call->rest, status, lines, sma_str(text));
    free(text);
    json_decref(tree);
}

void fake_feishu_answer(struct fake_feishu_call *call, json_t *data)
{
    fake_feishu_answer_tree(call, 200, "",
                            json_pack("{s:i,s:s,s:o}", "code", 0, "msg", "success", "data", data));
}

void fake_feishu_refuse(struct fake_feishu_call *call, int status, int64_t code,
                        const char *message)
{
    call->fake->refused_count++;
    fake_feishu_answer_tree(call, status, "",
                            json_pack("{s:I,s:s,s:{s:s}}", "code", (json_int_t)code, "msg", message,
                                      "error", "log_id", "20261122000000000000"));
}

static void refuse_rate(struct fake_feishu_call *call, int status, int64_t code, int64_t seconds)
{
    char headers[128];
    snprintf(headers, sizeof headers, "x-ogw-ratelimit-limit: 5\r\nx-ogw-ratelimit-reset: %lld\r\n",
             (long long)seconds);
    call->fake->flood_count++;
    fake_feishu_answer_tree(call, status, headers,
                            json_pack("{s:I,s:s}", "code", (json_int_t)code, "msg",
                                      code == 99991400
                                          ? "request trigger frequency limit"
                                          : "This operation triggers the frequency limit."));
}

bool fake_feishu_is_flooded(struct fake_feishu_call *call, struct rate *rate, unsigned limit,
                            int64_t code)
{
    uint64_t now = platform_now_ns();
    if (limit == 0)
        return false;
    if (now - rate->window_ns >= 1000000000u)
        *rate = (struct rate){.window_ns = now};
    if (++rate->count <= limit)
        return false;
    refuse_rate(call, code == 99991400 ? 429 : 400, code, 1);
    return true;
}

/* -- tokens ------------------------------------------------------------------------------------ */
static void serve_token(struct fake_feishu_call *call)
{
    struct fake_feishu *fake = call->fake;
    uint64_t now = platform_now_ns(), second = 1000000000u;
    if (strcmp(platform_text(call->body, "app_id", ""), fake->app) != 0 ||
        strcmp(platform_text(call->body, "app_secret", ""), fake->secret) != 0) {
        fake_feishu_refuse(call, 200, 10014, "app secret invalid");
        return;
    }
    struct token *newest =
        fake->token_count == 0 ? NULL : &fake->tokens[(fake->token_count - 1) % FEISHU_TOKENS_MAX];
    if (newest == NULL || newest->end_ns < now + (uint64_t)fake->token_renew_s * second) {
        newest = &fake->tokens[fake->token_count++ % FEISHU_TOKENS_MAX];
        snprintf(newest->text, sizeof newest->text, "t-g1%06zxfakeTenantAccessToken0001",
                 fake->token_count);
        newest->end_ns = now + (uint64_t)fake->token_life_s * second;
    }
    fake_feishu_answer_tree(call, 200, "",
                            json_pack("{s:i,s:s,s:s,s:I}", "code", 0, "msg", "ok",
                                      "tenant_access_token", newest->text, "expire",
                                      (json_int_t)((newest->end_ns - now + second / 2) / second)));
}

static bool is_token_good(const struct fake_feishu *fake, struct sma_str text)
{
    for (size_t i = 0; i < FEISHU_TOKENS_MAX && i < fake->token_count; i++)
        if (sma_str_is_equal(text, sma_str(fake->tokens[i].text)))
            return fake->tokens[i].end_ns > platform_now_ns();
    return false;
}

/* @return false: refused */
static bool is_allowed(struct fake_feishu_call *call)
{
    struct sma_str given = ws_server_header(call->request, "Authorization");
    if (!sma_str_starts_with(given, SMA_STR("Bearer "))) {
        fake_feishu_refuse(call, 400, 99991661, "Missing access token for authorization.");
        return false;
    }
    given.ptr += 7;
    given.len -= 7;
    if (!sma_str_starts_with(given, SMA_STR("t-")) && !sma_str_starts_with(given, SMA_STR("u-"))) {
        fake_feishu_refuse(call, 400, 99991671,
                           "Invalid access token for authorization. It must begin with t- or u-.");
        return false;
    }
    if (!is_token_good(call->fake, given)) {
        fake_feishu_refuse(call, 400, 99991663, "Invalid access token for authorization.");
        return false;
    }
    if (call->fake->is_app_disabled) {
        fake_feishu_refuse(call, 400, 99991662, "app is disabled");
        return false;
    }
    return true;
}

/* -- bot and chats ----------------------------------------------------------------------------- */
static void serve_bot(struct fake_feishu_call *call)
{
    fake_feishu_answer_tree(call, 200, "",
                            json_pack("{s:i,s:s,s:{s:i,s:s,s:s,s:[],s:s}}", "code", 0, "msg", "ok",
                                      "bot", "activate_status", 2, "app_name", "Helper",
                                      "avatar_url", "https://127.0.0.1/avatar.png", "ip_white_list",
                                      "open_id", FAKE_FEISHU_BOT));
}

/* Which of the app's scopes the tenant has granted; asking needs none. */
static void serve_scopes(struct fake_feishu_call *call)
{
    const struct fake_feishu *fake = call->fake;
    const struct
    {
        const char *name;
        bool is_granted;
    } scopes[] = {{"im:message.p2p_msg:readonly", true},
                  {"im:message.group_at_msg:readonly", true},
                  {"im:message:send_as_bot", !fake->lacks_send},
                  {"im:resource", true},
                  {"im:chat:readonly", true},
                  {"im:message.group_msg", fake->reads_all},
                  {"contact:user.base:readonly", fake->sees_contacts}};
    json_t *list = json_array();
    for (size_t i = 0; i < SMA_COUNT_OF(scopes); i++)
        json_array_append_new(list, json_pack("{s:s,s:i}", "scope_name", scopes[i].name,
                                              "grant_status", scopes[i].is_granted ? 1 : 2));
    fake_feishu_answer(call, json_pack("{s:o}", "scopes", list));
}

/* The room of the path; NULL: refused. */
static struct room *room_of(struct fake_feishu_call *call)
{
    struct room *room = fake_feishu_room(call->fake, call->id);
    if (room == NULL)
        fake_feishu_refuse(call, 400, 232006, "chat_id is invalid");
    else if (room->is_dissolved)
        fake_feishu_refuse(call, 400, 232009, "the chat has been dissolved");
    else if (!room->has_bot)
        fake_feishu_refuse(call, 400, 232011, "operator can NOT be out of the chat");
    else
        return room;
    return NULL;
}

static void serve_chat(struct fake_feishu_call *call)
{
    const char *kind = platform_text(call->query, "user_id_type", "open_id");
    struct room *room = room_of(call);
    if (room == NULL)
        return;
    if (strcmp(kind, "open_id") != 0) {
        fake_feishu_refuse(call, 400, 99991672,
                           "Access denied. One of the following scopes is required: "
                           "contact:user.employee_id:readonly");
        return;
    }
    json_t *data = json_pack(
        "{s:s,s:s,s:O,s:[],s:s,s:s,s:s,s:b,s:s,s:s,s:s}", "name", room->name, "description", "",
        "user_manager_id_list", room->managers, "bot_manager_id_list", "chat_mode",
        room->is_p2p      ? "p2p"
        : room->is_topics ? "topic"
                          : "group",
        "chat_type", "private", "group_message_type", room->is_topics ? "thread" : "chat",
        "external", 0, "user_count", "3", "bot_count", "1", "tenant_key", FEISHU_TENANT);
    if (room->owner[0] != '\0')
        json_object_update_new(
            data, json_pack("{s:s,s:s}", "owner_id", room->owner, "owner_id_type", "open_id"));
    fake_feishu_answer(call, data);
}

/* @return false: refused */
static bool may_see_people(struct fake_feishu_call *call, const char *scope)
{
    char text[160];
    if (call->fake->sees_contacts)
        return true;
    snprintf(text, sizeof text, "Access denied. One of the following scopes is required: %s",
             scope);
    fake_feishu_refuse(call, 400, 99991672, text);
    return false;
}

static void serve_person(struct fake_feishu_call *call)
{
    const struct person *person = fake_feishu_person(call->fake, call->id);
    if (!may_see_people(call, "contact:user.base:readonly"))
        return;
    if (strcmp(platform_text(call->query, "user_id_type", "open_id"), "open_id") != 0 ||
        person == NULL)
        fake_feishu_refuse(call, 400, 41050, "no user authority error");
    else
        fake_feishu_answer(call, json_pack("{s:{s:s,s:s,s:s}}", "user", "open_id", person->id,
                                           "union_id", person->id, "name", person->name));
}

static void serve_members(struct fake_feishu_call *call)
{
    if (!may_see_people(call, "im:chat.members:read"))
        return;
    struct room *room = room_of(call);
    json_t *items = json_array(), *id;
    size_t i;
    if (room != NULL) {
        json_array_foreach(room->members, i, id)
        {
            const struct person *person = fake_feishu_person(call->fake, json_string_value(id));
            json_array_append_new(items, json_pack("{s:s,s:O,s:s,s:s}", "member_id_type", "open_id",
                                                   "member_id", id, "name",
                                                   person == NULL ? "" : person->name, "tenant_key",
                                                   FEISHU_TENANT));
        }
        fake_feishu_answer(call, json_pack("{s:O,s:b,s:s,s:i}", "items", items, "has_more", 0,
                                           "page_token", "", "member_total",
                                           (int)json_array_size(items)));
    }
    json_decref(items);
}

static void serve_is_in_chat(struct fake_feishu_call *call)
{
    struct room *room = fake_feishu_room(call->fake, call->id);
    fake_feishu_answer(call, json_pack("{s:b}", "is_in_chat", room != NULL && room->has_bot));
}

static void serve_chats(struct fake_feishu_call *call)
{
    json_t *items = json_array();
    for (size_t i = 0; i < call->fake->room_count; i++) {
        const struct room *room = call->fake->rooms[i];
        if (!room->is_p2p && room->has_bot)
            json_array_append_new(items, json_pack("{s:s,s:s,s:s}", "chat_id", room->id, "name",
                                                   room->name, "tenant_key", FEISHU_TENANT));
    }
    fake_feishu_answer(call,
                       json_pack("{s:o,s:b,s:s}", "items", items, "has_more", 0, "page_token", ""));
}

/* -- files ------------------------------------------------------------------------------------- */
static const struct platform_upload *upload_named(const struct fake_feishu_call *call,
                                                  const char *name)
{
    for (size_t i = 0; i < call->upload_count; i++)
        if (strcmp(call->uploads[i].name, name) == 0)
            return &call->uploads[i];
    return NULL;
}

static void serve_image_upload(struct fake_feishu_call *call)
{
    const struct platform_upload *upload = upload_named(call, "image");
    const char *kind = platform_text(call->body, "image_type", "");
    if (upload == NULL || (strcmp(kind, "message") != 0 && strcmp(kind, "avatar") != 0)) {
        fake_feishu_refuse(call, 400, 234001, "Invalid request param.");
    } else if (upload->bytes.len == 0) {
        fake_feishu_refuse(call, 400, 234010, "File's size can't be 0.");
    } else if (upload->bytes.len > IMAGE_BYTES_MAX) {
        fake_feishu_refuse(call, 400, 234006, "The file size exceed the max value.");
    } else {
        struct file *file =
            fake_feishu_add_file(call->fake, "img_v3_", "image", upload->file_name, upload->bytes);
        fake_feishu_answer(call, json_pack("{s:s}", "image_key", file->key));
    }
}

static void serve_file_upload(struct fake_feishu_call *call)
{
    static const char *const types[] = {"opus", "mp4", "pdf", "doc", "xls", "ppt", "stream"};
    const struct platform_upload *upload = upload_named(call, "file");
    const char *type = platform_text(call->body, "file_type", ""),
               *name = platform_text(call->body, "file_name", "");
    size_t i = 0;
    while (i < SMA_COUNT_OF(types) && strcmp(types[i], type) != 0)
        i++;
    if (upload == NULL || i == SMA_COUNT_OF(types) || name[0] == '\0') {
        fake_feishu_refuse(call, 400, 234001, "Invalid request param.");
    } else if (upload->bytes.len == 0) {
        fake_feishu_refuse(call, 400, 234010, "File's size can't be 0.");
    } else if (upload->bytes.len > FILE_BYTES_MAX) {
        fake_feishu_refuse(call, 400, 234006, "The file size exceed the max value.");
    } else {
        struct file *file = fake_feishu_add_file(call->fake, "file_v3_", type, name, upload->bytes);
        fake_feishu_answer(call, json_pack("{s:s}", "file_key", file->key));
    }
}

static void send_file(struct fake_feishu_call *call, const struct file *file)
{
    char headers[512];
    snprintf(headers, sizeof headers,
             "Content-Type: application/octet-stream\r\nContent-Disposition: attachment; "
             "filename=\"%.200s\"\r\n",
             file->name);
    platform_respond(&call->rest, 200, headers, (struct sma_str){file->bytes, file->len});
}

static void serve_own_file(struct fake_feishu_call *call)
{
    const struct file *file = fake_feishu_file(call->fake, call->id);
    if (file == NULL)
        fake_feishu_refuse(call, 400, 234001, "Invalid request param.");
    else if (file->note[0] != '\0')
        fake_feishu_refuse(call, 400, 234008, "The app is not the resource sender.");
    else
        send_file(call, file);
}

static void serve_resource(struct fake_feishu_call *call)
{
    const struct note *note = fake_feishu_note(call->fake, call->id);
    const struct file *file = fake_feishu_file(call->fake, call->second);
    const char *type = platform_text(call->query, "type", "");
    bool is_image = strcmp(type, "image") == 0;
    if (note == NULL || (!is_image && strcmp(type, "file") != 0))
        fake_feishu_refuse(call, 400, 234001, "Invalid request param.");
    else if (note->is_recalled)
        fake_feishu_refuse(call, 400, 230110,
                           "Action unavailable as the message has been deleted.");
    else if (file == NULL || strcmp(file->note, note->id) != 0)
        fake_feishu_refuse(call, 400, 234003, "File not in msg.");
    else if (strcmp(note->type, "sticker") == 0 || strcmp(note->type, "merge_forward") == 0 ||
             strcmp(note->type, "interactive") == 0)
        fake_feishu_refuse(call, 400, 234043, "Unsupported message type.");
    else if (is_image != (strcmp(file->type, "image") == 0))
        fake_feishu_refuse(call, 400, 234001, "Invalid request param.");
    else if (file->len > DOWNLOAD_BYTES_MAX)
        fake_feishu_refuse(call, 400, 234037, "Downloaded file size exceeds limit.");
    else
        send_file(call, file);
}

/* -- routing ----------------------------------------------------------------------------------- */
struct route
{
    const char *method, *pattern, *name; /* pattern: {} is one segment */
    void (*serve)(struct fake_feishu_call *call);
    const char *files; /* names of parts that are files without a file name; NULL: JSON */
};
static const struct route routes[] = {
    {"POST", "auth/v3/tenant_access_token/internal", "token", serve_token, NULL},
    {"GET", "bot/v3/info", "bot", serve_bot, NULL},
    {"GET", "application/v6/scopes", "scopes", serve_scopes, NULL},
    {"POST", "im/v1/messages", "send", fake_feishu_send, NULL},
    {"POST", "im/v1/messages/{}/reply", "reply", fake_feishu_reply, NULL},
    {"PATCH", "im/v1/messages/{}", "patch", fake_feishu_patch, NULL},
    {"PUT", "im/v1/messages/{}", "edit", fake_feishu_edit, NULL},
    {"DELETE", "im/v1/messages/{}", "delete", fake_feishu_delete, NULL},
    {"GET", "im/v1/messages/{}", "get", fake_feishu_get, NULL},
    {"POST", "im/v1/messages/{}/reactions", "react", fake_feishu_react, NULL},
    {"DELETE", "im/v1/messages/{}/reactions/{}", "unreact", fake_feishu_unreact, NULL},
    {"GET", "im/v1/messages/{}/resources/{}", "resource", serve_resource, NULL},
    {"POST", "cardkit/v1/cards", "card_create", fake_feishu_kit_create, NULL},
    {"PUT", "cardkit/v1/cards/{}/elements/{}/content", "card_content", fake_feishu_kit_content,
     NULL},
    {"PATCH", "cardkit/v1/cards/{}/settings", "card_settings", fake_feishu_kit_settings, NULL},
    {"PUT", "cardkit/v1/cards/{}", "card_replace", fake_feishu_kit_replace, NULL},
    {"POST", "im/v1/images", "image", serve_image_upload, "image"},
    {"GET", "im/v1/images/{}", "own_file", serve_own_file, NULL},
    {"POST", "im/v1/files", "file", serve_file_upload, "file"},
    {"GET", "im/v1/files/{}", "own_file", serve_own_file, NULL},
    {"GET", "im/v1/chats", "chats", serve_chats, NULL},
    {"GET", "im/v1/chats/{}", "chat", serve_chat, NULL},
    {"GET", "contact/v3/users/{}", "person", serve_person, NULL},
    {"GET", "im/v1/chats/{}/members", "members", serve_members, NULL},
    {"GET", "im/v1/chats/{}/members/is_in_chat", "is_in_chat", serve_is_in_chat, NULL},
};

/* Does the path fit? Segments in the place of {} go to ids. */
static bool fits(const char *pattern, struct sma_str path, char (*ids)[FEISHU_ID_SIZE])
{
    size_t at = 0, id = 0;
    for (; *pattern != '\0'; pattern++) {
        if (*pattern != '{') {
            if (at >= path.len || path.ptr[at++] != *pattern)
                return false;
            continue;
        }
        size_t start = at;
        while (at < path.len && path.ptr[at] != '/')
            at++;
        if (at == start || at - start >= FEISHU_ID_SIZE || id == 2)
            return false;
        memcpy(ids[id], path.ptr + start, at - start);
        ids[id++][at - start] = '\0';
        pattern++;
    }
    return at == path.len;
}

static const struct route *find_route(struct fake_feishu_call *call, struct sma_str path)
{
    for (size_t i = 0; i < SMA_COUNT_OF(routes); i++) {
        char ids[2][FEISHU_ID_SIZE] = {"", ""};
        if (!sma_str_is_equal(call->request->method, sma_str(routes[i].method)) ||
            !fits(routes[i].pattern, path, ids))
            continue;
        memcpy(call->id, ids[0], sizeof call->id);
        memcpy(call->second, ids[1], sizeof call->second);
        return &routes[i];
    }
    return NULL;
}

/* @return false: refused */
static bool read_body(struct fake_feishu_call *call, const char *files)
{
    struct sma_str type = ws_server_header(call->request, "Content-Type"),
                   body = call->request->body;
    const char *mark = type.len == 0 ? NULL : memmem(type.ptr, type.len, "boundary=", 9);
    char boundary[128];
    if (files != NULL && mark != NULL) {
        struct sma_str rest = {mark + 9, (size_t)(type.ptr + type.len - mark - 9)};
        if (rest.len > 1 && rest.ptr[0] == '"') {
            rest.ptr++;
            rest.len -= 2;
        }
        snprintf(boundary, sizeof boundary, "%.*s", (int)rest.len, rest.ptr);
        call->body = json_object();
        call->upload_count = platform_decode_multipart(call->body, body, boundary, files,
                                                       call->uploads, SMA_COUNT_OF(call->uploads));
        return true;
    }
    bool has_none = sma_str_is_equal(call->request->method, SMA_STR("GET")) ||
                    sma_str_is_equal(call->request->method, SMA_STR("DELETE"));
    if (has_none)
        return true;
    if (sma_str_starts_with(type, SMA_STR("application/json")))
        call->body = json_loadb(body.ptr, body.len, 0, NULL);
    if (json_is_object(call->body))
        return true;
    fake_feishu_refuse(call, 400, 9499,
                       "Bad Request: the body must be a JSON object with its content type");
    return false;
}

/* What a fault says instead of what was asked. */
static void refuse_by_fault(struct fake_feishu_call *call)
{
    const struct platform_fault *fault = &call->rest.fault;
    if (fault->kind == PLATFORM_FAULT_TOKEN) {
        for (size_t i = 0; i < FEISHU_TOKENS_MAX; i++)
            call->fake->tokens[i].end_ns = 0;
        fake_feishu_refuse(call, 400, fault->code == 0 ? 99991663 : fault->code,
                           "Invalid access token for authorization.");
    } else if (fault->status == 429 || fault->seconds > 0) {
        refuse_rate(call, (int)fault->status, fault->code == 0 ? 99991400 : fault->code,
                    fault->seconds);
    } else {
        fake_feishu_refuse(call, (int)fault->status, fault->code == 0 ? 1663 : fault->code,
                           fault->text[0] != '\0' ? fault->text : "internal error");
    }
}

/* The chat a call concerns, as far as the path and body say. */
static const char *chat_of(const struct fake_feishu_call *call, const char *name)
{
    const struct note *note = fake_feishu_note(call->fake, call->id);
    if (strcmp(name, "send") == 0)
        return platform_text(call->body, "receive_id", "");
    return note != NULL ? note->room->id : call->id;
}

static void serve_route(struct fake_feishu_call *call, const struct route *route)
{
    if (!read_body(call, route->files))
        return;
    switch (platform_begin(&call->fake->platform, &call->rest, call->request, route->name,
                           chat_of(call, route->name))) {
    case PLATFORM_OVER:
        return;
    case PLATFORM_REFUSE:
        refuse_by_fault(call);
        return;
    case PLATFORM_GO_ON:
        break;
    }
    if (route->serve == serve_token || is_allowed(call))
        route->serve(call);
}

void fake_feishu_serve(struct fake_feishu *fake, const struct ws_server_request *request)
{
    static const struct sma_str base = {"/open-apis/", 11};
    struct fake_feishu_call call = {.fake = fake, .request = request, .query = json_object()};
    call.rest = (struct platform_call){.platform = &fake->platform, .conn = request->conn};
    platform_decode_form(call.query, request->query);
    if (sma_str_is_equal(request->path, SMA_STR("/callback/ws/endpoint")) &&
        sma_str_is_equal(request->method, SMA_STR("POST"))) {
        call.body = json_loadb(request->body.ptr, request->body.len, 0, NULL);
        enum platform_weather weather =
            platform_begin(&fake->platform, &call.rest, request, "endpoint", "");
        if (weather == PLATFORM_REFUSE)
            fake_feishu_answer_tree(&call, (int)call.rest.fault.status, "",
                                    json_pack("{s:I,s:s,s:{}}", "code",
                                              (json_int_t)call.rest.fault.code, "msg",
                                              call.rest.fault.text, "data"));
        else if (weather == PLATFORM_GO_ON)
            fake_feishu_serve_endpoint(fake, &call.rest, call.body);
    } else {
        const struct route *route = NULL;
        if (sma_str_starts_with(request->path, base))
            route = find_route(&call, (struct sma_str){request->path.ptr + base.len,
                                                       request->path.len - base.len});
        if (route != NULL) {
            serve_route(&call, route);
        } else {
            fake_feishu_complain(fake, "no such call: %.*s %.*s", (int)request->method.len,
                                 request->method.ptr, (int)request->path.len, request->path.ptr);
            (void)ws_server_answer(fake->server, request->conn, 404, "text/plain",
                                   SMA_STR("404 page not found"));
        }
    }
    json_decref(call.body);
    json_decref(call.query);
}
