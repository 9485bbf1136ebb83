/*
 * Aim: the fake Feishu takes and gives files as the platform does (the other calls:
 * tests/talks/fake_feishu.talk).
 * Method: one server on a thread, over HTTP.
 */
#include "fake_feishu_test.h"
#include "sma/buf.h"

static void unsent(int64_t code, const char *type, const char *content)
{
    char *body = body_of("oc_ann", type, content, NULL);
    refused(400, code, "POST", SEND, body);
    free(body);
}

/* -- files ------------------------------------------------------------------------------------- */
static json_t *upload(int64_t code, const char *path, const char *fields, const char *part,
                      const char *bytes, size_t len)
{
    struct sma_buf body;
    char headers[256];
    sma_buf_init(&body, 64u << 20);
    sma_buf_printf(
        &body, "%s--XX\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"a.bin\"\r\n\r\n",
        fields, part);
    sma_buf_put(&body, bytes, len);
    sma_buf_put_text(&body, "\r\n--XX--\r\n");
    snprintf(headers, sizeof headers,
             "Authorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=XX\r\n",
             token);
    struct http_answer answer = http_call(port, "POST", path, headers, body.ptr, body.len, 20000);
    json_t *tree = answer.body == NULL ? NULL : json_loadb(answer.body, answer.len, 0, NULL);
    CHECK_INT(code, platform_number(tree, "code", -1));
    http_answer_fini(&answer);
    sma_buf_fini(&body);
    return tree;
}

#define FIELD(name, value) \
    "--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" value "\r\n"

static void files_are_checked(void)
{
    char content[160], path[256];
    size_t huge = 10u * 1024 * 1024 + 1;
    char *bytes = calloc(1, huge);
    CHECK(bytes != NULL);
    start();
    log_in();
    json_t *image =
        upload(0, "/open-apis/im/v1/images", FIELD("image_type", "message"), "image", "PNG", 3);
    const char *key = talk_text(json_object_get(image, "data"), "image_key");
    snprintf(content, sizeof content, "{\"image_key\":\"%s\"}", key);
    (void)sent("oc_ann", "image", content, NULL);
    snprintf(path, sizeof path, "/open-apis/im/v1/images/%s", key);
    char headers[200];
    snprintf(headers, sizeof headers, "Authorization: Bearer %s\r\n", token);
    struct http_answer answer = http_call(port, "GET", path, headers, NULL, 0, 5000);
    CHECK_INT(200, answer.status);
    CHECK_TEXT("PNG", answer.body);
    http_answer_fini(&answer);
    json_decref(
        upload(234001, "/open-apis/im/v1/images", FIELD("image_type", "other"), "image", "PNG", 3));
    json_decref(
        upload(234010, "/open-apis/im/v1/images", FIELD("image_type", "message"), "image", "", 0));
    json_decref(upload(234006, "/open-apis/im/v1/images", FIELD("image_type", "message"), "image",
                       bytes, huge));
    json_decref(upload(234001, "/open-apis/im/v1/files",
                       FIELD("file_type", "exe") FIELD("file_name", "a"), "file", "x", 1));
    json_t *file = upload(0, "/open-apis/im/v1/files",
                          FIELD("file_type", "pdf") FIELD("file_name", "a.pdf"), "file", "x", 1);
    snprintf(content, sizeof content, "{\"file_key\":\"%s\"}",
             talk_text(json_object_get(file, "data"), "file_key"));
    (void)sent("oc_ann", "file", content, NULL);
    unsent(230055, "audio", content);
    json_decref(file);
    json_t *said =
        platform_do(&feishu, "{s:s,s:s,s:s,s:{s:s,s:s,s:s}}", "do", "say", "chat", "oc_ann", "user",
                    "ou_ann", "file", "kind", "file", "name", "b.txt", "text", "what Ann wrote");
    json_t *list = platform_do(&feishu, "{s:s,s:s}", "do", "list", "chat", "oc_ann");
    json_t *messages = json_object_get(list, "messages");
    json_t *raw = json_loads(
        talk_text(json_array_get(messages, json_array_size(messages) - 1), "raw"), 0, NULL);
    const char *theirs = talk_text(raw, "file_key");
    snprintf(path, sizeof path, "/open-apis/im/v1/messages/%s/resources/%s?type=file",
             talk_text(said, "message_id"), theirs);
    answer = http_call(port, "GET", path, headers, NULL, 0, 5000);
    CHECK_INT(200, answer.status);
    CHECK_TEXT("what Ann wrote", answer.body);
    http_answer_fini(&answer);
    snprintf(path, sizeof path, "/open-apis/im/v1/messages/%s/resources/%s?type=image",
             talk_text(said, "message_id"), theirs);
    refused(400, 234001, "GET", path, NULL);
    snprintf(path, sizeof path, "/open-apis/im/v1/messages/%s/resources/%s?type=file",
             talk_text(said, "message_id"), key);
    refused(400, 234003, "GET", path, NULL);
    snprintf(path, sizeof path, "/open-apis/im/v1/files/%s", theirs);
    refused(400, 234008, "GET", path, NULL);
    json_decref(raw);
    json_decref(image);
    json_decref(list);
    json_decref(said);
    free(bytes);
    stop();
}

int main(void)
{
    RUN(files_are_checked);
    return check_summary();
}
