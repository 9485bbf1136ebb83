/*
 * Aim: the fake QQ platform takes and refuses what the bot sends as the platform does, and its
 * webhooks are signed as they
 * should be: a test that passes before it says something.
 * Method: one server on a thread; every refusal once over HTTP, every fault once. Signatures are
 * compared with the vectors.
 */
#include "qq_tester.h"

#include "qq/fake_qq_priv.h"

#include "scenario/talk.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

static char *reply_to(const char *id, const char *rest)
{
    char start[256];
    snprintf(start, sizeof start, "\"msg_id\":\"%s\",%%s", id);
    return qq_fill(start, rest);
}

static void replied(const char *chat, const char *id, const char *rest)
{
    char *members = reply_to(id, rest);
    json_decref(qq_sent(chat, members));
    free(members);
}

static void not_replied(int64_t code, const char *chat, const char *id, const char *rest)
{
    char *members = reply_to(id, rest);
    qq_not_sent(code, chat, members);
    free(members);
}

/* -- messages in pieces ------------------------------------------------------------------------ */
#define STREAM "/v2/users/" ANN "/stream_messages"

static char *piece_of(const char *id, const char *stream, int index, int state, const char *text)
{
    json_t *tree =
        json_pack("{s:s,s:i,s:i,s:s,s:s,s:s,s:i,s:s*}", "input_mode", "replace", "input_state",
                  state, "index", index, "content_type", "markdown", "content_raw", text, "msg_id",
                  id, "msg_seq", 5, "stream_msg_id", stream);
    char *body = json_dumps(tree, JSON_COMPACT);
    json_decref(tree);
    return body;
}

/* @return the id it is answered with; static */
static const char *piece(const char *id, const char *stream, int index, int state, const char *text)
{
    static char answered[80];
    char *body = piece_of(id, stream, index, state, text);
    json_t *tree = qq_call(200, "POST", STREAM, body);
    snprintf(answered, sizeof answered, "%s", talk_text(tree, "id"));
    json_decref(tree);
    free(body);
    usleep(300 * 1000); /* the platform's own pace */
    return answered;
}

static void no_piece(int64_t code, const char *id, const char *stream, int index, const char *text)
{
    char *body = piece_of(id, stream, index, 1, text);
    qq_refused(400, code, "POST", STREAM, body);
    free(body);
}

static void pieces_come_in_order_and_change_nothing(void)
{
    char *id = qq_say(ANN_CHAT, "tell me"), stream[80];
    no_piece(40006, id, NULL, 1, "a\n");
    no_piece(50006, id, NULL, 0, " ");
    no_piece(40034024, "ROBOT1.0_none", NULL, 0, "a\n");
    qq_refused(400, 12002, "POST", STREAM,
               "{\"input_state\":1,\"index\":0,\"content_type\":\"text\",\"content_raw\":\"a\"}");
    snprintf(stream, sizeof stream, "%s", piece(id, NULL, 0, 1, "a\n"));
    no_piece(40054005, id, NULL, 0, "a\n"); /* its number was used */
    no_piece(40034024, id, "another", 1, "a\nb");
    no_piece(40006, id, stream, 2, "a\nb");
    no_piece(40007, id, stream, 1, "other");
    CHECK_INT(1, platform_get(&tester.client, "unfinished", "{s:s,s:b}", "do", "counters",
                              "unfinished", 1));
    (void)piece(id, stream, 1, 1, "a\nb\n");
    char *quick = piece_of(id, stream, 2, 1, "a\nb\nc");
    json_decref(qq_call(200, "POST", STREAM, quick));
    free(quick);
    no_piece(50002, id, stream, 3, "a\nb\ncd");
    usleep(300 * 1000);
    (void)piece(id, stream, 3, 10, "a\nb\ncd");
    no_piece(40054005, id, stream, 4, "a\nb\ncde");
    /* all of it is one answer of four */
    for (int i = 0; i < 3; i++) {
        char rest[64];
        snprintf(rest, sizeof rest, "\"content\":\"x\",\"msg_seq\":%d", 20 + i);
        replied(ANN_CHAT, id, rest);
    }
    not_replied(40034128, ANN_CHAT, id, "\"content\":\"x\",\"msg_seq\":30");
    struct http_answer answer =
        qq_ask("POST", "/v2/groups/" TEAM "/stream_messages", tester.token, "{}");
    CHECK_INT(404, answer.status); /* groups have no such call */
    http_answer_fini(&answer);
    free(id);
}

static void clock_ahead(int seconds)
{
    platform_tell(&tester.client, "{s:s,s:i}", "do", "clock", "seconds", seconds);
}

/* -- content ----------------------------------------------------------------------------------- */
static void content_is_checked(void)
{
    qq_not_sent(50006, ANN_CHAT, "\"content\":\" \"");
    qq_not_sent(50006, ANN_CHAT, "");
    qq_not_sent(22006, ANN_CHAT,
                "\"msg_type\":0,\"content\":\"a\",\"markdown\":{\"content\":\"b\"}");
    qq_not_sent(22006, ANN_CHAT,
                "\"msg_type\":2,\"content\":\"a\",\"markdown\":{\"content\":\"b\"}");
    qq_not_sent(40034008, ANN_CHAT, "\"msg_type\":2,\"markdown\":{\"content\":\"\"}");
    qq_not_sent(40034010, ANN_CHAT,
                "\"msg_type\":2,\"markdown\":{\"content\":\"[[bad markdown]]\"}");
    qq_not_sent(304004, ANN_CHAT, "\"msg_type\":3,\"ark\":{}");
    qq_not_sent(22006, ANN_CHAT, "\"msg_type\":4");
    qq_not_sent(22006, TEAM_CHAT,
                "\"msg_type\":6,\"input_notify\":{\"input_type\":1,\"input_second\":5}");
    qq_not_sent(22006, ANN_CHAT,
                "\"msg_type\":6,\"input_notify\":{\"input_type\":1,\"input_second\":61}");
    qq_not_sent(304080, ANN_CHAT, "\"msg_type\":7,\"media\":{\"file_info\":\"nothing\"}");
    qq_not_sent(40034006, ANN_CHAT, "\"content\":\"[[forbidden]]\"");
    qq_not_sent(12002, ANN_CHAT, "\"content\":\"a\",\"msg_seq\":\"1\"");
    qq_not_sent(12002, ANN_CHAT, "\"content\":\"a\",\"msg_seq\":0");
    qq_refused(400, 12002, "POST", "/v2/users/" ANN "/messages", "nonsense");
}

static void rights_are_checked(void)
{
    platform_tell(&tester.client, "{s:s,s:b,s:b,s:b,s:i}", "do", "rights", "markdown", 0,
                  "keyboard", 0, "refuse_urls", 1, "text_max", 10);
    qq_not_sent(304036, ANN_CHAT, "\"msg_type\":2,\"markdown\":{\"content\":\"b\"}");
    qq_not_sent(304037, ANN_CHAT, "\"content\":\"a\",\"keyboard\":{\"id\":\"1\"}");
    qq_not_sent(40034028, ANN_CHAT, "\"content\":\"http://a\"");
    qq_not_sent(40034028, ANN_CHAT, "\"content\":\"ask a.com\"");
    qq_not_sent(40054007, ANN_CHAT, "\"content\":\"01234567890\"");
    platform_tell(&tester.client, "{s:s,s:b,s:b,s:b,s:i}", "do", "rights", "markdown", 1,
                  "keyboard", 1, "refuse_urls", 0, "text_max", 5000);
}

#define BUTTON                                                                              \
    "{\"id\":\"b\",\"render_data\":{\"label\":\"Yes\",\"style\":1},\"action\":{\"type\":1," \
    "\"permission\":{\"type\":2},\"data\":\"y\"}}"
#define ROW "{\"buttons\":[" BUTTON "]}"

static void keyboards_are_checked(void)
{
    json_decref(
        qq_sent(ANN_CHAT, "\"content\":\"a\",\"keyboard\":{\"content\":{\"rows\":[" ROW "]}}"));
    qq_not_sent(305007, ANN_CHAT, "\"content\":\"a\",\"keyboard\":{\"content\":{\"rows\":[]}}");
    qq_not_sent(40034029, ANN_CHAT,
                "\"content\":\"a\",\"keyboard\":{\"content\":{\"rows\":[" ROW "," ROW "," ROW
                "," ROW "," ROW "," ROW "]}}");
    qq_not_sent(40034029, ANN_CHAT,
                "\"content\":\"a\",\"keyboard\":{\"content\":{\"rows\":[{\"buttons\":[" BUTTON
                "," BUTTON "," BUTTON "," BUTTON "," BUTTON "," BUTTON "]}]}}");
    qq_not_sent(305007, ANN_CHAT,
                "\"content\":\"a\",\"keyboard\":{\"content\":{\"rows\":[{\"buttons\":["
                "{\"render_data\":{\"label\":\"more than ten\"}}]}]}}");
}

/* -- windows, counts, numbers ------------------------------------------------------------------ */
static void numbers_are_new_for_each_reply(void)
{
    char *id = qq_say(ANN_CHAT, "x");
    replied(ANN_CHAT, id, "\"content\":\"a\"");
    not_replied(40054005, ANN_CHAT, id, "\"content\":\"a\""); /* 1 is the default */
    replied(ANN_CHAT, id, "\"content\":\"a\",\"msg_seq\":2");
    not_replied(40054005, ANN_CHAT, id, "\"content\":\"b\",\"msg_seq\":2");
    not_replied(50006, ANN_CHAT, id, "\"content\":\"\",\"msg_seq\":3");
    replied(ANN_CHAT, id, "\"content\":\"b\",\"msg_seq\":3"); /* a refused one is not used */
    platform_tell(&tester.client, "{s:s,s:b}", "do", "rights", "note_refused", 1);
    not_replied(50006, ANN_CHAT, id, "\"content\":\"\",\"msg_seq\":4");
    not_replied(40054005, ANN_CHAT, id, "\"content\":\"b\",\"msg_seq\":4");
    platform_tell(&tester.client, "{s:s,s:b}", "do", "rights", "note_refused", 0);
    replied(ANN_CHAT, id, "\"content\":\"b\",\"msg_seq\":5");
    not_replied(40034128, ANN_CHAT, id, "\"content\":\"b\",\"msg_seq\":6"); /* the fifth */
    CHECK_INT(3, qq_count("duplicates"));
    free(id);
}

static void windows_close(void)
{
    char *ann = qq_say(ANN_CHAT, "x"), *team = qq_say(TEAM_CHAT, "x"),
         *place = qq_say(PLACE_CHAT, "x");
    char rest[64];
    clock_ahead(299);
    for (int i = 1; i <= 5; i++) {
        snprintf(rest, sizeof rest, "\"content\":\"a\",\"msg_seq\":%d", i);
        replied(TEAM_CHAT, team, rest);
    }
    not_replied(40034128, TEAM_CHAT, team, "\"content\":\"a\",\"msg_seq\":6");
    clock_ahead(302);
    not_replied(304018, PLACE_CHAT, place, "\"content\":\"a\""); /* nobody is at the gateway */
    replied(ANN_CHAT, ann, "\"content\":\"a\"");
    clock_ahead(3602);
    not_replied(40034128, ANN_CHAT, ann, "\"content\":\"a\",\"msg_seq\":2");
    struct raw_ws ws;
    free(qq_ready(&ws));
    not_replied(304027, PLACE_CHAT, place, "\"content\":\"a\"");
    clock_ahead(0);
    replied(PLACE_CHAT, place, "\"content\":\"a\"");
    qq_not_sent(50006, PLACE_CHAT, "\"embed\":\"\"");
    qq_not_sent(304003, PLACE_CHAT, "\"image\":\"/etc/passwd\"");
    json_decref(qq_sent(DM_CHAT, "\"image\":\"https://a/b.png\""));
    raw_ws_close(&ws);
    free(ann);
    free(team);
    free(place);
}

static void what_is_answered_must_exist(void)
{
    char *ann = qq_say(ANN_CHAT, "x");
    not_replied(40034024, TEAM_CHAT, ann, "\"content\":\"a\"");
    not_replied(40034024, ANN_CHAT, "ROBOT1.0_c0m99", "\"content\":\"a\"");
    not_replied(40034024, ANN_CHAT, "event:C2C", "\"content\":\"a\"");
    not_replied(40034005, ANN_CHAT, ann, "\"content\":\"a\",\"event_id\":\"b\"");
    json_t *sent = qq_sent(ANN_CHAT, "\"content\":\"active\"");
    not_replied(40034024, ANN_CHAT, platform_text(sent, "id", ""), "\"content\":\"a\""); /* ours */
    CHECK(platform_text(json_object_get(sent, "ext_info"), "ref_idx", "")[0] != '\0');
    json_decref(sent);
    qq_not_sent(40034025, ANN_CHAT, "\"content\":\"a\",\"event_id\":\"FRIEND_ADD:e99Ab\"");
    json_t *pressed = platform_do(&tester.client, "{s:s,s:s,s:s}", "do", "press", "chat", ANN_CHAT,
                                  "data", "yes");
    char *members =
        qq_fill("\"content\":\"a\",\"event_id\":\"%s\"", platform_text(pressed, "event", ""));
    json_decref(qq_sent(ANN_CHAT, members));
    qq_not_sent(40054005, ANN_CHAT, members);
    free(members);
    members = qq_fill("\"content\":\"a\",\"msg_seq\":2,\"event_id\":\"%s\"",
                      platform_text(pressed, "event", ""));
    clock_ahead(3700);
    qq_not_sent(40034026, ANN_CHAT, members);
    clock_ahead(0);
    json_decref(pressed);
    free(members);
    pressed = platform_do(&tester.client, "{s:s,s:s,s:s}", "do", "relate", "chat", TEAM_CHAT,
                          "type", "GROUP_MSG_REJECT");
    members = qq_fill("\"content\":\"a\",\"event_id\":\"%s\"", platform_text(pressed, "event", ""));
    qq_not_sent(40034027, TEAM_CHAT, members);
    qq_not_sent(40054013, TEAM_CHAT, "\"content\":\"a\""); /* no active messages any more */
    json_decref(pressed);
    free(members);
    free(ann);
}

/* A channel takes 20 a day, a direct message of a guild 2, whatever the minute has room for. */
static void a_day_has_its_active_messages(void)
{
    platform_tell(&tester.client, "{s:s,s:s}", "do", "webhook", "url", "http://127.0.0.1:1/x");
    clock_ahead(86400);
    qq_log_in();
    json_decref(qq_sent(DM_CHAT, "\"content\":\"one\""));
    json_decref(qq_sent(DM_CHAT, "\"content\":\"two\""));
    qq_not_sent(304045, DM_CHAT, "\"content\":\"three\"");
    clock_ahead(2 * 86400);
    qq_log_in();
    json_decref(qq_sent(DM_CHAT, "\"content\":\"another day\""));
    platform_tell(&tester.client, "{s:s,s:i}", "do", "rights", "active_per_day", 1);
    json_decref(qq_sent(ANN_CHAT, "\"content\":\"the one\""));
    qq_not_sent(40034100, ANN_CHAT, "\"content\":\"one too many\"");
    platform_tell(&tester.client, "{s:s,s:i}", "do", "rights", "active_per_day", 1000);
    platform_tell(&tester.client, "{s:s,s:s}", "do", "webhook", "url", "");
    clock_ahead(0);
    qq_log_in();
}

static void active_messages_have_limits(void)
{
    platform_tell(&tester.client, "{s:s,s:b}", "do", "rights", "active", 0);
    qq_not_sent(40034105, ANN_CHAT, "\"content\":\"a\"");
    platform_tell(&tester.client, "{s:s,s:b,s:i}", "do", "rights", "active", 1, "active_per_minute",
                  1);
    clock_ahead(120); /* another minute */
    json_decref(qq_sent(ANN_CHAT, "\"content\":\"a\""));
    qq_not_sent(40034100, ANN_CHAT, "\"content\":\"a\"");
    clock_ahead(0);
    platform_tell(&tester.client, "{s:s,s:i,s:i}", "do", "rights", "active_per_minute", 0,
                  "per_second", 1);
    int refused = 0;
    for (int i = 0; i < 3; i++) {
        struct http_answer answer;
        char token[96];
        snprintf(token, sizeof token, "QQBot %s", tester.token);
        answer = qq_ask("POST", "/v2/users/" ANN "/messages", token, "{\"content\":\"a\"}");
        refused += answer.status == 429;
        http_answer_fini(&answer);
    }
    CHECK(refused >= 1);
    platform_tell(&tester.client, "{s:s,s:i}", "do", "rights", "per_second", 0);
}

static void chats_may_refuse(void)
{
    static const struct
    {
        const char *chat, *what;
        int code;
    } cases[] = {{ANN_CHAT, "refuses", 40054013},
                 {ANN_CHAT, "gone", 40054004},
                 {ANN_CHAT, "muted", 40054002},
                 {ANN_CHAT, "refuses_active", 40054013},
                 {TEAM_CHAT, "gone", 40034101}};
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        platform_tell(&tester.client, "{s:s,s:s,s:s}", "do", "membership", "chat", cases[i].chat,
                      "what", cases[i].what);
        qq_not_sent(cases[i].code, cases[i].chat, "\"content\":\"a\"");
        platform_tell(&tester.client, "{s:s,s:s,s:s,s:b}", "do", "membership", "chat",
                      cases[i].chat, "what", cases[i].what, "on", 0);
    }
    qq_not_sent(40054004, "c2c:STRANGER", "\"content\":\"a\"");
    qq_not_sent(40034101, "group:STRANGER", "\"content\":\"a\"");
}

static void audits_recalls_and_typing(void)
{
    json_t *sent = qq_sent(ANN_CHAT, "\"content\":\"to be taken back\"");
    char path[256];
    snprintf(path, sizeof path, "/v2/users/" ANN "/messages/%s", platform_text(sent, "id", ""));
    clock_ahead(130);
    qq_refused(400, 40064004, "DELETE", path, NULL);
    clock_ahead(0);
    json_decref(qq_call(204, "DELETE", path, NULL));
    qq_refused(400, 40064001, "DELETE", path, NULL);
    json_decref(sent);
    json_decref(qq_sent(ANN_CHAT,
                        "\"msg_type\":6,\"input_notify\":{\"input_type\":1,\"input_second\":60}"));
    CHECK_INT(1,
              platform_get(&tester.client, "typing", "{s:s,s:s}", "do", "list", "chat", ANN_CHAT));
    platform_tell(&tester.client, "{s:s,s:b}", "do", "rights", "audit", 1);
    json_t *audit = qq_call(202, "POST", "/v2/users/" ANN "/messages", "{\"content\":\"a\"}");
    CHECK_INT(304023, platform_number(audit, "code", 0));
    json_decref(audit);
    platform_tell(&tester.client, "{s:s,s:b}", "do", "rights", "audit", 0);
    qq_refused(403, 11253, "GET", "/v2/groups/" TEAM "/members", NULL);
}

static void interactions_are_acknowledged_in_time(void)
{
    char path[128];
    json_t *pressed = platform_do(&tester.client, "{s:s,s:s,s:s}", "do", "press", "chat", ANN_CHAT,
                                  "data", "yes");
    snprintf(path, sizeof path, "/interactions/%s", platform_text(pressed, "id", ""));
    qq_refused(400, 12002, "PUT", path, "{\"code\":9}");
    json_decref(qq_call(200, "PUT", path, "{\"code\":0}"));
    qq_refused(400, 630006, "PUT", "/interactions/none", "{\"code\":0}");
    platform_tell(&tester.client, "{s:s,s:i}", "do", "rights", "interaction_ms", -1);
    qq_refused(400, 630007, "PUT", path, "{\"code\":0}");
    platform_tell(&tester.client, "{s:s,s:i}", "do", "rights", "interaction_ms", 5000);
    json_decref(pressed);
}

/* -- files ------------------------------------------------------------------------------------- */
static void files_refused(int64_t code, const char *body)
{
    qq_refused(400, code, "POST", "/v2/users/" ANN "/files", body);
}

static void media_sent(const char *chat, const char *info)
{
    char *members = qq_fill("\"msg_type\":7,\"media\":{\"file_info\":\"%s\"}", info);
    json_decref(qq_sent(chat, members));
    free(members);
}

static void uploads_are_checked(void)
{
    files_refused(850019, "{\"file_type\":9,\"url\":\"https://a/b\"}");
    files_refused(850019, "{\"file_type\":1,\"url\":\"/etc/passwd\"}");
    files_refused(850019, "{\"file_type\":1,\"file_data\":\"***\"}");
    files_refused(850019, "{\"file_type\":1,\"url\":\"https://a/b.gif\"}");
    files_refused(850019, "{\"file_type\":3,\"file_name\":\"a.txt\",\"file_data\":\"aGVsbG8=\"}");
    files_refused(850026, "{\"file_type\":1,\"url\":\"https://unreachable/b\"}");
    files_refused(304082, "{\"file_type\":1,\"upload_id\":\"none\"}");
    qq_refused(400, 40054004, "POST", "/v2/users/STRANGER/files", "{\"file_type\":1}");
    platform_tell(&tester.client, "{s:s,s:i}", "do", "rights", "file_bytes_max", 5);
    files_refused(850031, "{\"file_type\":4,\"file_data\":\"aGVsbG8gdGhlcmU=\"}");
    platform_tell(&tester.client, "{s:s,s:i}", "do", "rights", "file_bytes_max", 1000);
    json_t *file = qq_call(200, "POST", "/v2/users/" ANN "/files",
                           "{\"file_type\":4,\"file_name\":\"a.txt\",\"file_data\":\"aGVsbG8=\"}");
    const char *info = platform_text(file, "file_info", "");
    media_sent(ANN_CHAT, info);
    char *members = qq_fill("\"msg_type\":7,\"media\":{\"file_info\":\"%s\"}", info);
    qq_not_sent(304080, TEAM_CHAT, members); /* of another chat */
    clock_ahead(301);
    qq_not_sent(304080, ANN_CHAT, members); /* too old */
    clock_ahead(0);
    free(members);
    json_decref(file);
    json_t *list = platform_do(&tester.client, "{s:s,s:s}", "do", "list", "chat", ANN_CHAT);
    json_t *messages = json_object_get(list, "messages");
    CHECK_TEXT("4:a.txt:5", platform_text(json_array_get(messages, json_array_size(messages) - 1),
                                          "detail", ""));
    json_decref(list);
}

static void digest(const char *kind, const char *text, char *ret_hex)
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned len;
    CHECK(EVP_Digest(text, strlen(text), bytes, &len, EVP_get_digestbyname(kind), NULL) == 1);
    for (unsigned i = 0; i < len; i++)
        snprintf(ret_hex + 2 * i, 3, "%02x", bytes[i]);
}

static void finish_part(const char *upload_id, int index, const char *bytes, int64_t code)
{
    char body[512], md5[65];
    digest("md5", bytes, md5);
    snprintf(body, sizeof body,
             "{\"upload_id\":\"%s\",\"part_index\":%d,\"block_size\":\"%zu\",\"md5\":\"%s\"}",
             upload_id, index, strlen(bytes), md5);
    if (code == 0)
        json_decref(qq_call(200, "POST", "/v2/users/" ANN "/upload_part_finish", body));
    else
        qq_refused(400, code, "POST", "/v2/users/" ANN "/upload_part_finish", body);
}

static void uploads_in_parts(void)
{
    char body[512], md5[65], sha1[65];
    platform_tell(&tester.client, "{s:s,s:i,s:i}", "do", "rights", "block_size", 4,
                  "file_bytes_max", 1000);
    digest("md5", "hello you", md5);
    digest("sha1", "hello you", sha1);
    snprintf(body, sizeof body,
             "{\"file_type\":4,\"file_size\":\"9\",\"file_name\":\"a.txt\",\"md5\":\"%s\",\"sha1\":"
             "\"%s\","
             "\"md5_10m\":\"%s\"}",
             md5, sha1, md5);
    json_t *upload = qq_call(200, "POST", "/v2/users/" ANN "/upload_prepare", body);
    const json_t *parts = json_object_get(upload, "parts");
    const char *id = platform_text(upload, "upload_id", ""), *pieces[] = {"hell", "o yo", "u"};
    CHECK_INT(3, json_array_size(parts));
    finish_part(id, 0, "hell", 304083); /* nothing came yet */
    for (size_t i = 0; i < 3; i++) {
        const char *url =
            strstr(platform_text(json_array_get(parts, i), "presigned_url", ""), "/upload/");
        struct http_answer answer = qq_ask("PUT", url, "QQBot secret", pieces[i]);
        CHECK_INT(403, answer.status); /* not for the token */
        http_answer_fini(&answer);
        answer = qq_ask("PUT", url, "", "wrong length");
        CHECK_INT(403, answer.status);
        http_answer_fini(&answer);
        answer = qq_ask("PUT", url, "", pieces[i]);
        CHECK_INT(200, answer.status);
        http_answer_fini(&answer);
    }
    finish_part(id, 0, "hell", 0);
    finish_part(id, 1, "o yo", 0);
    finish_part(id, 2, "v", 304083);
    snprintf(body, sizeof body, "{\"file_type\":4,\"file_name\":\"a.txt\",\"upload_id\":\"%s\"}",
             id);
    files_refused(304083, body);
    finish_part(id, 2, "u", 0);
    json_t *file = qq_call(200, "POST", "/v2/users/" ANN "/files", body);
    media_sent(ANN_CHAT, platform_text(file, "file_info", ""));
    json_decref(file);
    json_decref(upload);
    qq_refused(400, 12002, "POST", "/v2/users/" ANN "/upload_prepare",
               "{\"file_type\":4,\"file_size\":9,\"file_name\":\"a.txt\"}");
}

/* -- weather ----------------------------------------------------------------------------------- */
static void add_fault(const char *kind, int status, int code)
{
    platform_tell(&tester.client, "{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", "send",
                  "kind", kind, "status", status, "code", code, "ms", 1);
}

static void faults_bend_calls(void)
{
    static const char *const losses[] = {"close", "lose_answer", "cut"};
    char token[96];
    snprintf(token, sizeof token, "QQBot %s", tester.token);
    int64_t sent = qq_count("sent");
    for (size_t i = 0; i < SMA_COUNT_OF(losses); i++) {
        add_fault(losses[i], 0, 0);
        struct http_answer answer =
            qq_ask("POST", "/v2/users/" ANN "/messages", token, "{\"content\":\"a\"}");
        CHECK_INT(0, answer.status);
        http_answer_fini(&answer);
    }
    CHECK_INT(sent + 2, qq_count("sent")); /* the first was not taken */
    add_fault("status", 500, 50055001);
    qq_refused(500, 50055001, "POST", "/v2/users/" ANN "/messages", "{\"content\":\"a\"}");
    add_fault("token", 0, 0);
    qq_refused(401, 11244, "POST", "/v2/users/" ANN "/messages", "{\"content\":\"a\"}");
    qq_refused(401, 11244, "POST", "/v2/users/" ANN "/messages", "{\"content\":\"a\"}");
    qq_log_in();
    add_fault("html", 502, 0);
    json_decref(qq_call(502, "POST", "/v2/users/" ANN "/messages", "{\"content\":\"a\"}"));
    add_fault("delay", 0, 0);
    json_decref(qq_sent(ANN_CHAT, "\"content\":\"late\""));
    CHECK_INT(0, qq_count("faults_left"));
}

/* -- webhooks ---------------------------------------------------------------------------------- */
/* A bot that keeps what it was sent and answers as told: first 500, then "again", then good. */
struct bot
{
    pthread_t thread;
    int listener, port;
    int request_count;
    char last[8192];
};

static void answer_one(struct bot *bot, int fd)
{
    static const char *const bodies[] = {"", "{\"op\":12,\"d\":1}", "{\"op\":12,\"d\":0}"};
    char answer[256];
    size_t len = 0;
    ssize_t got = 1;
    while (got > 0 && len < sizeof bot->last - 1) {
        bot->last[len] = '\0';
        const char *end = strstr(bot->last, "\r\n\r\n"),
                   *length = strstr(bot->last, "Content-Length: ");
        if (end != NULL && length != NULL &&
            len >= (size_t)(end + 4 - bot->last) + strtoul(length + 16, NULL, 10))
            break;
        got = recv(fd, bot->last + len, sizeof bot->last - 1 - len, 0);
        len += got > 0 ? (size_t)got : 0;
    }
    int turn = bot->request_count++;
    const char *body = bodies[turn > 2 ? 2 : turn];
    int size = snprintf(answer, sizeof answer, "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n\r\n%s",
                        turn == 0 ? 500 : 200, strlen(body), body);
    CHECK(raw_send(fd, answer, (size_t)size));
    close(fd);
}

static void *serve_bot(void *user)
{
    struct bot *bot = user;
    for (int i = 0; i < 3; i++)
        answer_one(bot, accept(bot->listener, NULL, NULL));
    return NULL;
}

static void start_bot(struct bot *bot)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bot->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(bind(bot->listener, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(listen(bot->listener, 8) == 0);
    CHECK(getsockname(bot->listener, (struct sockaddr *)&address, &size) == 0);
    bot->port = ntohs(address.sin_port);
    CHECK(pthread_create(&bot->thread, NULL, serve_bot, bot) == 0);
}

static void events_are_posted_until_taken(void)
{
    struct bot bot = {0};
    char url[64], signature[129], wanted[129], timestamp[32] = "";
    start_bot(&bot);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/hook", bot.port);
    platform_tell(&tester.client, "{s:s,s:s,s:i}", "do", "webhook", "url", url, "retry_ms", 10);
    free(qq_say(ANN_CHAT, "by post"));
    pthread_join(bot.thread, NULL);
    long long until = process_now_ms() + ANSWER_MS;
    while (qq_count("webhook_taken") == 0 && process_now_ms() < until)
        process_pause_ms(2);
    CHECK_INT(1, qq_count("webhook_taken"));
    CHECK_INT(2, qq_count("webhook_failed"));
    CHECK(strncmp(bot.last, "POST /hook ", 11) == 0);
    CHECK(strstr(bot.last, "X-Bot-Appid: " FAKE_QQ_APP_ID "\r\n") != NULL);
    const char *body = strstr(bot.last, "\r\n\r\n") + 4;
    CHECK(strstr(body, "\"t\":\"C2C_MESSAGE_CREATE\"") != NULL && strstr(body, "\"s\":") == NULL);
    const char *time = strstr(bot.last, "X-Signature-Timestamp: ") + 23;
    memcpy(timestamp, time, strcspn(time, "\r"));
    const char *sent = strstr(bot.last, "X-Signature-Ed25519: ") + 21;
    memcpy(signature, sent, 128);
    signature[128] = '\0';
    fake_qq_sign(FAKE_QQ_SECRET, timestamp, body, wanted);
    CHECK_TEXT(wanted, signature);
    close(bot.listener);
    platform_tell(&tester.client, "{s:s,s:s}", "do", "webhook", "url", "");
}

/* The sample of the platform's documentation, which the SDKs repeat. */
static void signatures_are_the_platforms(void)
{
    char hex[129];
    fake_qq_sign("DG5g3B4j9X2KOErG", "1725442341", "Arq0D5A61EgUu4OxUvOp", hex);
    CHECK_TEXT("87befc99c42c651b3aac0278e71ada338433ae26fcb24307bdc5ad38c1adc2d0"
               "1bcfcadc0842edac85e85205028a1132afe09280305f13aa6909ffc2d652c706",
               hex);
}

static void what_a_bot_says_to_posts_is_told(void)
{
    struct bot bot = {.request_count = 2}; /* good from the start */
    char url[64];
    start_bot(&bot);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/hook", bot.port);
    platform_tell(&tester.client, "{s:s,s:s}", "do", "webhook", "url", url);
    json_t *result = platform_do(&tester.client, "{s:s}", "do", "validate");
    CHECK_INT(200, platform_number(result, "status", 0));
    CHECK(json_is_false(json_object_get(result, "is_valid"))); /* that was no signature */
    json_decref(result);
    CHECK(strstr(bot.last, "\"op\":13") != NULL);
    json_decref(platform_do(&tester.client, "{s:s,s:s,s:s}", "do", "post", "body", "{ }", "without",
                            "signature"));
    CHECK(strstr(bot.last, "X-Signature-Ed25519") == NULL && strstr(bot.last, "{ }") != NULL);
    json_decref(platform_do(&tester.client, "{s:s,s:s,s:s,s:i}", "do", "post", "signature", "00",
                            "app_id", "7", "seconds", -4000));
    CHECK(strstr(bot.last, "X-Signature-Ed25519: 00\r\n") != NULL);
    CHECK(strstr(bot.last, "X-Bot-Appid: 7\r\n") != NULL);
    pthread_join(bot.thread, NULL);
    close(bot.listener);
    result = platform_do(&tester.client, "{s:s}", "do", "validate");
    CHECK_INT(0, platform_number(result, "status", -1)); /* nobody is there any more */
    json_decref(result);
    platform_tell(&tester.client, "{s:s,s:s}", "do", "webhook", "url", "");
}

int main(void)
{
    qq_start();
    platform_tell(&tester.client, "{s:s,s:i,s:i}", "do", "rights", "per_second", 0,
                  "active_per_minute", 0);
    RUN(content_is_checked);
    RUN(rights_are_checked);
    RUN(keyboards_are_checked);
    RUN(numbers_are_new_for_each_reply);
    RUN(windows_close);
    RUN(what_is_answered_must_exist);
    RUN(active_messages_have_limits);
    RUN(a_day_has_its_active_messages);
    RUN(chats_may_refuse);
    RUN(pieces_come_in_order_and_change_nothing);
    RUN(audits_recalls_and_typing);
    RUN(interactions_are_acknowledged_in_time);
    RUN(uploads_are_checked);
    RUN(uploads_in_parts);
    RUN(faults_bend_calls);
    RUN(events_are_posted_until_taken);
    RUN(signatures_are_the_platforms);
    RUN(what_a_bot_says_to_posts_is_told);
    qq_stop();
    return check_summary();
}
