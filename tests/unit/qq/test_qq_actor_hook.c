/*
 * Aim: in webhook mode only the platform is believed, and an event is acknowledged only when the
 * store has it.
 * Method: requests signed here, handed over as the HTTP adapter does.
 */
#include "actor_world.h"

#include "adapters/qq/qq_crypto.h"

#define EVENT                                                                                    \
    "{\"op\":0,\"s\":1,\"t\":\"C2C_MESSAGE_CREATE\",\"id\":\"C2C_MESSAGE_CREATE:1\",\"d\":{"     \
    "\"id\":\"ROBOT1.0_1\",\"content\":\"by hook\",\"timestamp\":\"2026-07-21T10:00:00+08:00\"," \
    "\"author\":{\"user_openid\":\"A1B2\"}}}"

static size_t post(const char *secret, int64_t age_s, const char *body)
{
    char time[32], headers[512];
    struct sma_buf hex;
    snprintf(time, sizeof time, "%lld", (long long)(platform_wall_ms() / 1000 - age_s));
    sma_buf_init(&hex, 200);
    CHECK_OK(qq_sign(sma_str(secret), sma_str(time), sma_str(body), &hex));
    snprintf(headers, sizeof headers,
             "X-Bot-Appid: " FAKE_QQ_APP_ID "\r\nX-Signature-Ed25519: %s\r\n"
             "X-Signature-Timestamp: %s\r\n",
             hex.ptr, time);
    sma_buf_fini(&hex);
    return world_webhook(headers, body);
}

static int answer_to(size_t number, char body[1024])
{
    struct world_answer answer;
    WORLD_WAIT(world_has_webhook_answer(number, &answer));
    snprintf(body, sizeof answer.body, "%s", answer.body);
    return answer.status;
}

static void an_event_is_acknowledged_when_it_is_stored(void)
{
    char body[1024];
    struct world_answer answer;
    world_open(",\"mode\":\"webhook\"");
    WORLD_WAIT(world_log_count("requests are taken at /webhooks/qq") == 1);
    world_hold(true);
    size_t number = post(FAKE_QQ_SECRET, 0, EVENT);
    WORLD_WAIT(world_event_count() == 1);
    CHECK_TEXT("by hook", world_event_at(0).text);
    world_rest(20);
    CHECK(!world_has_webhook_answer(number, &answer));
    world_hold(false);
    CHECK_INT(200, answer_to(number, body));
    CHECK_TEXT("{\"op\":12,\"d\":0}", body);
    CHECK_INT(0, world_counter("links")); /* no gateway beside it */
    world_close();
}

static void what_the_store_refused_is_asked_for_again(void)
{
    char body[1024];
    world_open(",\"mode\":\"webhook\"");
    world_refuse(0, 1);
    CHECK_INT(503, answer_to(post(FAKE_QQ_SECRET, 0, EVENT), body));
    CHECK_INT(200, answer_to(post(FAKE_QQ_SECRET, 0, EVENT), body));
    world_close();
}

static void strangers_are_refused(void)
{
    char body[1024];
    world_open(",\"mode\":\"webhook\"");
    CHECK_INT(401, answer_to(post("somebodyelses", 0, EVENT), body));
    CHECK_INT(401, answer_to(post(FAKE_QQ_SECRET, 3600, EVENT), body));
    CHECK_INT(401, answer_to(world_webhook("", EVENT), body));
    CHECK_INT(0, world_event_count());
    world_close();
}

static void the_address_is_validated(void)
{
    char body[1024];
    world_open(",\"mode\":\"webhook\"");
    size_t number = post(FAKE_QQ_SECRET, 0,
                         "{\"op\":13,\"d\":{\"plain_token\":\"Arq0D5A61EgUu4OxUvOp\","
                         "\"event_ts\":\"1725442341\"}}");
    CHECK_INT(200, answer_to(number, body));
    CHECK(strstr(body, "87befc99c42c651b3aac0278e71ada33") != NULL);
    world_close();
}

static void events_that_say_nothing_are_taken(void)
{
    char body[1024];
    world_open(",\"mode\":\"webhook\"");
    CHECK_INT(200,
              answer_to(post(FAKE_QQ_SECRET, 0, "{\"op\":0,\"t\":\"UNKNOWN\",\"d\":{}}"), body));
    CHECK_INT(400, answer_to(post(FAKE_QQ_SECRET, 0, "no JSON"), body));
    CHECK_INT(0, world_event_count());
    world_close();
}

static void no_webhook_where_none_is_configured(void)
{
    char body[1024];
    world_open("");
    CHECK_INT(404, answer_to(post(FAKE_QQ_SECRET, 0, EVENT), body));
    world_close();
}

int main(void)
{
    RUN(an_event_is_acknowledged_when_it_is_stored);
    RUN(what_the_store_refused_is_asked_for_again);
    RUN(strangers_are_refused);
    RUN(the_address_is_validated);
    RUN(events_that_say_nothing_are_taken);
    RUN(no_webhook_where_none_is_configured);
    return check_summary();
}
