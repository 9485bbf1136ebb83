/*
 * Aim: a server on this machine may take ten minutes to its first byte, and not one more; what it
 *      was given it is not given again.
 * Method: this program's time passes 400 times as fast (SMA_TEST_SCALE in CMakeLists.txt).
 */
#include "harness.h"
#include "raw_server.h"
#include "support/check.h"

#include "sma/clock.h"

#include <unistd.h>

#define MINUTE (60 * UINT64_C(1000000000))

static void answer_after(void *user, size_t number, const char *request, char *response,
                         size_t size)
{
    const unsigned *minutes = user;
    (void)number;
    (void)request;
    usleep((useconds_t)(*minutes * 60000000ULL / sma_clock_scale()));
    raw_say(response, size, "here");
}

static const struct harness_record *ask_slow(struct harness *harness, struct raw_server *server)
{
    static char url[64];
    struct sma_config_llm llm = harness_llm(SMA_LLM_CHAT);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", raw_server_port(server));
    llm.base_url = url;
    llm.first_byte_ms = llm.idle_ms = llm.total_ms = 0; /* as where ship.json says nothing */
    return harness_wait(harness, harness_ask_at(harness, &llm, "", "hi"));
}

CASE(a_local_server_has_ten_minutes_to_its_first_byte)
{
    static unsigned minutes[] = {9, 20};
    for (size_t i = 0; i < SMA_COUNT_OF(minutes); i++) {
        struct raw_server *server = raw_server_create(answer_after, &minutes[i]);
        struct sma_config_llm plain = harness_llm(SMA_LLM_CHAT);
        struct harness *harness = harness_create(&plain, NULL);
        const struct harness_record *record = ask_slow(harness, server);
        uint64_t took_ns = record->answered_ns - record->asked_ns;
        if (minutes[i] < 10) {
            CHECK_INT(SMA_MODEL_OK, record->status);
            CHECK_TEXT("here", record->text);
            CHECK(took_ns >= 9 * MINUTE);
        } else {
            CHECK_INT(SMA_MODEL_FAILED, record->status);
            CHECK(strstr(record->error, "sent no data within 600 s") != NULL);
            CHECK(took_ns >= 10 * MINUTE && took_ns < 20 * MINUTE);
        }
        CHECK_INT(1, raw_server_count(server));
        harness_destroy(harness);
        raw_server_destroy(server);
    }
}

CASES_MAIN
