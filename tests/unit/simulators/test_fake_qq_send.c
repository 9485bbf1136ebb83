/*
 * Aim: what the fake QQ does with pace, files in parts and a bot that is called; its webhooks are
 * signed as they should be (what it refuses: tests/talks/fake_qq.talk).
 * Method: one server on a thread, over HTTP. Signatures are compared with the vectors.
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

static void pieces_have_a_pace(void)
{
    char *id = qq_say(ANN_CHAT, "tell me"), stream[80];
    snprintf(stream, sizeof stream, "%s", piece(id, NULL, 0, 1, "a\n"));
    char *quick = piece_of(id, stream, 1, 1, "a\nb");
    json_decref(qq_call(200, "POST", STREAM, quick));
    free(quick);
    no_piece(50002, id, stream, 2, "a\nbc");
    usleep(300 * 1000);
    (void)piece(id, stream, 2, 10, "a\nbc");
    free(id);
}

static void clock_ahead(int seconds)
{
    platform_tell(&tester.client, "{s:s,s:i}", "do", "clock", "seconds", seconds);
}

/* -- content ----------------------------------------------------------------------------------- */
/* -- windows, counts, numbers ------------------------------------------------------------------ */
static void a_channel_is_answered_while_somebody_is_at_the_gateway(void)
{
    char *place = qq_say(PLACE_CHAT, "x");
    struct raw_ws ws;
    clock_ahead(302);
    not_replied(304018, PLACE_CHAT, place, "\"content\":\"a\"");
    clock_ahead(3602);
    free(qq_ready(&ws));
    not_replied(304027, PLACE_CHAT, place, "\"content\":\"a\"");
    clock_ahead(0);
    replied(PLACE_CHAT, place, "\"content\":\"a\"");
    qq_not_sent(50006, PLACE_CHAT, "\"embed\":\"\"");
    qq_not_sent(304003, PLACE_CHAT, "\"image\":\"/etc/passwd\"");
    json_decref(qq_sent(DM_CHAT, "\"image\":\"https://a/b.png\""));
    raw_ws_close(&ws);
    free(place);
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
    platform_tell(&tester.client, "{s:s,s:s}", "do", "webhook", "url", "");
    clock_ahead(0);
    qq_log_in();
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
    RUN(a_channel_is_answered_while_somebody_is_at_the_gateway);
    RUN(a_day_has_its_active_messages);
    RUN(pieces_have_a_pace);
    RUN(uploads_in_parts);
    RUN(events_are_posted_until_taken);
    RUN(signatures_are_the_platforms);
    RUN(what_a_bot_says_to_posts_is_told);
    qq_stop();
    return check_summary();
}
