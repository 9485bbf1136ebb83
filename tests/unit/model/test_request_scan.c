/* Aim: what the request log says about a body is right on every wire, whatever stands in its
 * strings. Method: bodies by hand and by the encoders. */
#include "runtime/model/request_scan.h"
#include "runtime/model/target.h"
#include "support/check.h"

static struct sma_request_facts scan(const char *body)
{
    struct sma_request_facts facts;
    sma_request_scan(sma_str(body), &facts);
    return facts;
}

CASE(counts_and_system_are_found)
{
    struct sma_request_facts facts = scan(
        "{\"model\":\"m\",\"tools\":[{\"a\":[1,2]},{\"b\":{\"c\":\"]\"}}],\"system\":[{\"text\":"
        "\"a\\\"b\\\\\"}],\"messages\":[{\"role\":\"user\",\"content\":\"x,]}{\\\\\\\"\"},{\"r\":1}"
        ",{}]}");
    CHECK_INT(2, facts.tool_count);
    CHECK_INT(3, facts.message_count);
    CHECK_STR("[{\"text\":\"a\\\"b\\\\\"}]", facts.system);
    facts = scan("{\"messages\":[{\"role\":\"system\",\"content\":\"S\"},{\"role\":\"user\"}],"
                 "\"stream\":true}");
    CHECK_INT(2, facts.message_count);
    CHECK_STR("{\"role\":\"system\",\"content\":\"S\"}", facts.system);
    facts = scan("{\"input\":[],\"tools\":[],\"instructions\":\"I\"}");
    CHECK_INT(0, facts.message_count);
    CHECK_INT(0, facts.tool_count);
    CHECK_STR("\"I\"", facts.system);
}

CASE(what_is_torn_ends_somewhere)
{
    static const char body[] = "{\"model\":\"m\\\"\",\"tools\":[{\"a\":1}],\"messages\":[{\"role\":"
                               "\"system\",\"c\":\"x\\\\\"}]}";
    for (size_t len = 0; len < sizeof body; len++) {
        char *copy = strndup(body, len); /* the sanitizer sees a byte too much */
        struct sma_request_facts facts;
        CHECK(copy != NULL);
        sma_request_scan((struct sma_str){copy, len}, &facts);
        CHECK(facts.tool_count <= 1 && facts.message_count <= 1);
        free(copy);
    }
}

CASE(every_wire_is_read)
{
    static const enum sma_llm_api apis[] = {SMA_LLM_CHAT, SMA_LLM_RESPONSES, SMA_LLM_MESSAGES};
    for (size_t i = 0; i < SMA_COUNT_OF(apis); i++) {
        struct sma_config_llm llm = {.api = apis[i],
                                     .provider = "custom",
                                     .model = "m",
                                     .base_url = "http://x/v1",
                                     .effort = "",
                                     .extra_body_json = "",
                                     .proxy = "",
                                     .api_key = "",
                                     .is_stream = true};
        struct sma_target target;
        struct sma_str block = SMA_STR("hello \"you\"");
        struct sma_buf body;
        sma_buf_init(&body, 1 << 20);
        sma_target_init(&target, &llm);
        target.wire->put_head(&body, &target, SMA_STR("Be a test."), NULL, 0);
        target.wire->put_user(&body, &target, &block, 1);
        target.wire->put_tail(&body, &target, (struct sma_str){0});
        CHECK_INT(SMA_ERR_OK, body.err);
        struct sma_request_facts facts;
        sma_request_scan(sma_buf_str(&body), &facts);
        CHECK_INT(apis[i] == SMA_LLM_CHAT ? 2 : 1, facts.message_count);
        CHECK(facts.system.len > 0 &&
              memmem(facts.system.ptr, facts.system.len, "Be a test.", 10) != NULL);
        sma_buf_fini(&body);
    }
}

CASES_MAIN
