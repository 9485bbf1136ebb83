/* Webhook requests: the recorded ones, and what must never be believed or signed. */
#include "adapters/qq/qq_hook.h"
#include "runtime/json/json_read.h"
#include "sma/text.h"
#include "support/check.h"

#define SECRET SMA_STR("DG5g3B4j9X2KOErG")
#define APP SMA_STR("102000001")
#define NOW_MS INT64_C(1763755010000)

struct request
{
    struct sma_buf headers, body;
    struct sma_webhook webhook;
};

static void fini(struct request *request)
{
    sma_buf_fini(&request->headers);
    sma_buf_fini(&request->body);
}

static void begin(struct request *request, const char *body, const char *time,
                  struct sma_str signature)
{
    *request = (struct request){0};
    sma_buf_init(&request->headers, 4096);
    sma_buf_init(&request->body, 4 * 1024 * 1024);
    sma_buf_put_text(&request->body, body);
    sma_buf_printf(
        &request->headers,
        "Content-Type: application/json\r\nX-Bot-Appid: 102000001\r\nX-Signature-Timestamp: %s\r\n"
        "X-Signature-Ed25519: ",
        time);
    sma_buf_put_str(&request->headers, signature);
    sma_buf_put_text(&request->headers, "\r\n");
    request->webhook = (struct sma_webhook){.headers = sma_buf_str(&request->headers),
                                            .body = sma_buf_str(&request->body)};
}

static void begin_signed(struct request *request, const char *body)
{
    struct sma_buf hex;
    sma_buf_init(&hex, 256);
    CHECK_OK(qq_sign(SECRET, SMA_STR("1763755000"), sma_str(body), &hex));
    begin(request, body, "1763755000", sma_buf_str(&hex));
    sma_buf_fini(&hex);
}

static void read(struct request *request, int64_t now_ms, struct qq_hook *hook)
{
    CHECK_OK(qq_hook_read(&request->webhook, SECRET, APP, now_ms, hook));
    CHECK((hook->kind == QQ_HOOK_ANSWERED) == (hook->status != 0));
    if (hook->kind == QQ_HOOK_ANSWERED) {
        CHECK((hook->why[0] != '\0') == (hook->status != 200));
        json_t *root;
        CHECK_OK(sma_json_load(sma_buf_str(&hook->body), &root));
        json_decref(root);
    }
}

static void expect(const char *body, int status, const char *answer)
{
    struct request request;
    struct qq_hook hook;
    begin_signed(&request, body);
    read(&request, NOW_MS, &hook);
    if (status == 0)
        CHECK(hook.kind == QQ_HOOK_EVENT);
    CHECK_INT(status, hook.status);
    if (answer != NULL)
        CHECK_STR(answer, sma_buf_str(&hook.body));
    qq_hook_fini(&hook);
    fini(&request);
}

/* -- the recorded ------------------------------------------------------------------------------ */
static void play(const json_t *step)
{
    const json_t *headers = sma_json_get(step, "request_headers");
    struct sma_str time = sma_json_str(headers, "x-signature-timestamp");
    int64_t seconds;
    struct request request;
    struct qq_hook hook;
    if (headers == NULL)
        return;
    CHECK_OK(sma_parse_i64(time, 0, INT64_MAX / 1000, &seconds));
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)time.len, time.ptr);
    begin(&request, json_string_value(json_object_get(step, "request_body")), text,
          sma_json_str(headers, "x-signature-ed25519"));
    read(&request, seconds * 1000, &hook);
    int64_t status = sma_json_int(step, "status", 0, 999, 0);
    bool is_event = memmem(request.body.ptr, request.body.len, "\"op\":0", 6) != NULL;
    if (status == 200 && is_event) {
        CHECK(hook.kind == QQ_HOOK_EVENT);
        CHECK_STR("C2C_MESSAGE_CREATE", hook.frame.type);
        CHECK_STR("ROBOT1.0_x", sma_json_str(hook.frame.data, "id"));
    } else {
        CHECK_INT(status, hook.status);
        if (status == 200)
            CHECK_STR(json_string_value(json_object_get(step, "response_body")),
                      sma_buf_str(&hook.body));
    }
    qq_hook_fini(&hook);
    fini(&request);
}

static void recorded_requests_are_answered_alike(void)
{
    json_error_t problem;
    json_t *root = json_load_file(SMA_SOURCE_DIR "/tests/vectors/qq/qq_sessions.json", 0, &problem);
    CHECK(root != NULL);
    const json_t *steps = json_object_get(root, "webhook");
    CHECK(json_array_size(steps) > 3);
    for (size_t i = 0; i < json_array_size(steps); i++)
        play(json_array_get(steps, i));
    json_decref(root);
}

/* -- by hand ----------------------------------------------------------------------------------- */
static void every_op_has_its_answer(void)
{
    expect("{\"op\":0,\"t\":\"X\",\"id\":\"e\",\"d\":{}}", 0, NULL);
    expect("{\n  \"op\": 0,\n  \"d\": {},\n  \"t\": \"GATEWAY_EVENT_NAME\"\n}", 0, NULL);
    expect("{\"op\":1,\"d\":42}", 200, "{\"op\":11,\"d\":42}");
    expect("{\"op\":1}", 200, "{\"op\":11,\"d\":0}");
    expect("{\"op\":10,\"d\":{}}", 200, QQ_HOOK_ANSWER_OK);
    expect("not json", 400, NULL);
    expect("", 400, NULL);
    expect("{\"d\":{}}", 400, NULL);
}

/* A signature over a time and a body is what proves an event: we must not sign anything that could
 * be one. */
static void nothing_is_signed_that_could_be_an_event(void)
{
    static const char *const wrong[] = {
        "{\"op\":13}",
        "{\"op\":13,\"d\":{\"plain_token\":\"a\"}}",
        "{\"op\":13,\"d\":{\"event_ts\":\"1\"}}",
        "{\"op\":13,\"d\":{\"plain_token\":\"\",\"event_ts\":\"1\"}}",
        "{\"op\":13,\"d\":{\"plain_token\":\"a\",\"event_ts\":\"\"}}",
        "{\"op\":13,\"d\":{\"plain_token\":\"{\\\"op\\\":0}\",\"event_ts\":\"1763755000\"}}",
        "{\"op\":13,\"d\":{\"plain_token\":\"a\",\"event_ts\":\"1763755000{\"}}",
        "{\"op\":13,\"d\":{\"plain_token\":\"a b\",\"event_ts\":\"1\"}}",
        "{\"op\":13,\"d\":{\"plain_token\":7,\"event_ts\":1}}",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++)
        expect(wrong[i], 400, NULL);
    expect(
        "{\"op\":13,\"d\":{\"plain_token\":\"Arq0D5A61EgUu4OxUvOp\",\"event_ts\":\"1725442341\"}}",
        200,
        "{\"plain_token\":\"Arq0D5A61EgUu4OxUvOp\",\"signature\":"
        "\"87befc99c42c651b3aac0278e71ada338433ae26fcb24307bdc5ad38c1adc2d01bcfcadc0842edac85e85205"
        "028a1132afe09280305f13aa6909ffc2d652c706\"}");
}

static int status_at(struct request *request, struct sma_str secret, struct sma_str app,
                     int64_t now_ms)
{
    struct qq_hook hook;
    CHECK_OK(qq_hook_read(&request->webhook, secret, app, now_ms, &hook));
    int status = hook.kind == QQ_HOOK_EVENT ? 200 : hook.status;
    qq_hook_fini(&hook);
    return status;
}

static void others_are_refused(void)
{
    struct request request;
    begin_signed(&request, "{\"op\":0,\"t\":\"X\",\"d\":{}}");
    CHECK_INT(200, status_at(&request, SECRET, APP, NOW_MS));
    CHECK_INT(200, status_at(&request, SECRET, SMA_STR(""), NOW_MS));
    CHECK_INT(401, status_at(&request, SMA_STR(""), APP, NOW_MS));
    CHECK_INT(401, status_at(&request, SMA_STR("other"), APP, NOW_MS));
    CHECK_INT(403, status_at(&request, SECRET, SMA_STR("5"), NOW_MS));
    CHECK_INT(401, status_at(&request, SECRET, APP, NOW_MS + 600000));
    CHECK_INT(401, status_at(&request, SECRET, APP, NOW_MS - 600000));
    request.webhook.is_get = true;
    CHECK_INT(405, status_at(&request, SECRET, APP, NOW_MS));
    request.webhook.is_get = false;
    for (size_t i = 0; i < request.body.len; i++) { /* every byte counts */
        request.body.ptr[i] ^= 1;
        CHECK_INT(401, status_at(&request, SECRET, APP, NOW_MS));
        request.body.ptr[i] ^= 1;
    }
    request.webhook.headers = SMA_STR("");
    CHECK_INT(401, status_at(&request, SECRET, APP, NOW_MS));
    fini(&request);
}

static void bodies_over_the_limit_are_refused(void)
{
    char *body = malloc(QQ_FRAME_BYTES_MAX + 2);
    CHECK(body != NULL);
    memset(body, ' ', QQ_FRAME_BYTES_MAX + 1);
    body[QQ_FRAME_BYTES_MAX + 1] = '\0';
    expect(body, 413, NULL);
    free(body);
}

int main(void)
{
    RUN(recorded_requests_are_answered_alike);
    RUN(every_op_has_its_answer);
    RUN(nothing_is_signed_that_could_be_an_event);
    RUN(others_are_refused);
    RUN(bodies_over_the_limit_are_refused);
    return check_summary();
}
