/* Aim: pictures in results of MCP servers reach models with eyes, and are named to those without */
#include "runtime/agent/run_priv.h"
#include "unit/agent/run_driver.h"

/* A server's picture is a part where the model has eyes; its words name it either way. */
CASE(a_server_shows_its_picture)
{
    static const struct driver_call calls[] = {{"c1", "mcp__files__read", "{}"}, {NULL}};
    for (int has_eyes = 0; has_eyes < 2; has_eyes++) {
        struct sma_config_llm llm = {.api = SMA_LLM_CHAT,
                                     .provider = has_eyes ? "openai" : "deepseek",
                                     .model = has_eyes ? "gpt-5.1" : "deepseek-chat",
                                     .base_url = has_eyes ? "https://api.openai.com/v1"
                                                          : "https://api.deepseek.com",
                                     .api_key = "k",
                                     .effort = ""};
        const struct sma_config_llm *llms[] = {&llm};
        struct sma_part part = {.kind = SMA_PART_IMAGE,
                                .path = SMA_STR(".ship/.cache/mcp/files/a"),
                                .name = SMA_STR("a.png"),
                                .mime = SMA_STR("image/png")};
        const struct sma_mcp_answer answer = {.outcome = SMA_MCP_OK,
                                              .text = SMA_STR("look:\n[Image: image/png]"),
                                              .part_count = 1,
                                              .parts = &part};
        struct driver driver;
        driver_init(&driver, SMA_LLM_CHAT);
        driver_targets(&driver, llms, 1);
        driver_offer(&driver, "{\"mcp\":{\"allow\":[\"files:*\"]}}");
        driver_start(&driver);
        driver_answer(&driver, "", SMA_FINISH_TOOLS, calls);
        driver_durable(&driver);
        driver_event(&driver, (struct sma_run_event){.kind = SMA_RUN_MCP, .mcp = &answer});
        if (has_eyes) {
            driver_check_kinds(&driver, "N");
            driver_encoded(&driver, "aaaa", NULL);
        }
        driver_check_kinds(&driver, "PM");
        CHECK(driver_sends(&driver, "[Image: image/png]"));
        CHECK(driver_sends(&driver, "<aaaa>") == (has_eyes == 1));
        driver_fini(&driver);
    }
}

CASES_MAIN
