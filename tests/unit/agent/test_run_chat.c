/*
 * Aim: a run does what `chats` and /model say of its chat: whom it asks, with which prompt and
 * tools; heads are shared by chats that do not differ, keep their bytes, and are bounded.
 */
#include "sma/chats.h"
#include "unit/agent/run_driver.h"

#define SECOND UINT64_C(1000000000)
#define LLM(the_model)                                                                             \
    {                                                                                              \
        .api = SMA_LLM_CHAT, .provider = "p", .model = the_model, .base_url = "http://" the_model, \
        .api_key = "k", .is_stream = true                                                          \
    }

static const struct sma_config_llm main_llm = LLM("main"), spare = LLM("spare"),
                                   other = LLM("other"), third = LLM("third");
static const struct sma_config_llm *const chain[] = {&main_llm, &spare};

static const struct sma_chat_rule rules[] = {
    {.pattern = "t:1", .model = &other, .prompt = "Speak like a pirate."},
    {.pattern = "t:2",
     .agent_md = "# Another role",
     .says_tools = true,
     .refused_tools = 1u << SMA_TOOL_EXEC_SHELL | 1u << SMA_TOOL_SEND},
};

/* Models: main, spare (the chain), other, third. */
static void begin(struct driver *d, const char *chat_key, const char *chosen)
{
    driver_init(d, SMA_LLM_CHAT);
    d->config.chats = rules;
    d->config.chat_count = SMA_COUNT_OF(rules);
    d->config.models[0] = &d->config.llm;
    d->config.models[1] = &spare;
    d->config.models[2] = &other;
    d->config.models[3] = &third;
    d->config.model_count = 4;
    d->start_ms = 0;
    driver_targets(d, chain, 2);
    d->order.route.chat_key = sma_str(chat_key);
    d->order.model = sma_str(chosen);
    driver_start(d);
}

static char *request_of(const struct driver *d, const char *model)
{
    struct sma_model_ask ask;
    CHECK(driver_find(d, SMA_RUN_ASK_MODEL) != NULL);
    char *bytes = driver_request(d, &ask);
    CHECK_TEXT(model, ask.llm->model);
    return bytes;
}

static void check_asked(const struct driver *d, const char *model)
{
    free(request_of(d, model));
}

CASE(the_chats_own_model_is_asked_then_the_fallbacks)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, "t:1", "");
    check_asked(&d, "other");
    driver_trouble(&d, SMA_MODEL_FAILURE_AUTH, -1);
    check_asked(&d, "spare"); /* not main: that this chat has another one has a reason */
    driver_trouble(&d, SMA_MODEL_FAILURE_AUTH, -1);
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) == NULL);
    driver_cut(&d);
    d.order.route.chat_key = SMA_STR("t:9");
    d.now_ns += SECOND; /* cool-downs are everybody's: spare is not asked by the others either */
    driver_start(&d);
    check_asked(&d, "main");
    driver_trouble(&d, SMA_MODEL_FAILURE_AUTH, -1);
    CHECK(driver_find(&d, SMA_RUN_ASK_MODEL) == NULL);
}

CASE(a_chosen_model_wins_over_the_configured_one)
{
    struct driver d;
    begin(&d, "t:1", "p/third");
    check_asked(&d, "third");
    driver_trouble(&d, SMA_MODEL_FAILURE_AUTH, -1);
    check_asked(&d, "spare");
    driver_fini(&d);
    begin(&d, "t:1", "p/main"); /* llm itself: its fallbacks as always */
    check_asked(&d, "main");
    driver_trouble(&d, SMA_MODEL_FAILURE_AUTH, -1);
    check_asked(&d, "spare");
    driver_fini(&d);
    begin(&d, "t:1", "p/gone"); /* taken out of the configuration since */
    check_asked(&d, "other");
    driver_fini(&d);
    begin(&d, "t:9", "p/gone");
    check_asked(&d, "main");
    driver_fini(&d);
}

CASE(the_prompt_is_the_chats_own)
{
    struct driver d;
    begin(&d, "t:1", "");
    CHECK(driver_request_has(&d, "Speak like a pirate."));
    driver_fini(&d);
    begin(&d, "t:2", "");
    CHECK(driver_request_has(&d, "# Another role"));
    CHECK(!driver_request_has(&d, "Speak like a pirate."));
    driver_fini(&d);
    begin(&d, "t:9", "");
    CHECK(!driver_request_has(&d, "# Another role") &&
          !driver_request_has(&d, "Speak like a pirate."));
    driver_fini(&d);
}

CASE(a_tool_that_is_not_offered_is_refused)
{
    static const struct driver_call calls[] = {{"c1", "exec_shell", "{\"command\":\"ls\"}"},
                                               {"c2", "chat_send", "{\"text\":\"hi\"}"},
                                               {0}};
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, "t:2", "");
    CHECK(!driver_request_has(&d, "\"exec_shell\""));
    CHECK(driver_request_has(&d, "\"read_file\""));
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    CHECK(driver_find(&d, SMA_RUN_ASK_TOOL) == NULL); /* nobody is asked about it */
    driver_durable(&d);
    CHECK_INT(0, d.delivery_count);
    CHECK(driver_request_has(&d, "exec_shell"));
}

/* Chats that do not differ have the same bytes from the same place; others have their own. */
CASE(heads_are_made_for_each_difference_and_stay_the_same)
{
    SMA_AUTO(driver_fini) struct driver d;
    begin(&d, "t:9", "");
    char *first = request_of(&d, "main");
    size_t bytes = d.settings->head_bytes;
    driver_cut(&d);
    d.order.route.chat_key = SMA_STR("t:8");
    driver_start(&d);
    char *second = request_of(&d, "main");
    CHECK_INT(bytes, d.settings->head_bytes);
    CHECK(strncmp(first, second, 2000) == 0);
    driver_cut(&d);
    d.order.route.chat_key = SMA_STR("t:2");
    driver_start(&d);
    check_asked(&d, "main");
    CHECK(d.settings->head_bytes > bytes);
    driver_cut(&d);
    d.order.route.chat_key = SMA_STR("t:8");
    driver_start(&d);
    char *again = request_of(&d, "main");
    CHECK(strcmp(second, again) == 0);
    free(first);
    free(second);
    free(again);
}

/* More differences than there is room for: the oldest goes, and a run that loses its head while it
 * waits gets it again, byte for byte. */
CASE(heads_are_bounded)
{
    enum
    {
        ENTRIES = 60
    };
    static struct sma_chat_rule many[ENTRIES];
    static char patterns[ENTRIES][16], *prompts[ENTRIES];
    struct driver d;
    begin(&d, "t:0", "");
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(patterns[i], sizeof patterns[i], "t:%d", i);
        prompts[i] = malloc(400001);
        CHECK(prompts[i] != NULL);
        memset(prompts[i], 'a' + i % 26, 400000);
        prompts[i][400000] = '\0';
        many[i] = (struct sma_chat_rule){.pattern = patterns[i], .prompt = prompts[i]};
    }
    driver_cut(&d);
    d.config.chats = many;
    d.config.chat_count = ENTRIES;
    driver_targets(&d, chain, 2);
    CHECK(d.settings->head_bytes <= SMA_RUN_HEAD_BYTES_MAX);
    driver_start(&d);
    char *before = request_of(&d, "main");
    struct sma_run *waiting = d.run;
    for (int i = 1; i < ENTRIES; i++) {
        d.run = NULL;
        d.order.route.chat_key = sma_str(patterns[i]);
        driver_start(&d);
        check_asked(&d, "main");
        CHECK(d.settings->head_bytes <= SMA_RUN_HEAD_BYTES_MAX);
        driver_cut(&d);
    }
    d.run = waiting;
    d.order.route.chat_key = SMA_STR("t:0");
    driver_answer(&d, "The first half", SMA_FINISH_LENGTH, NULL); /* it is asked for the rest */
    driver_durable(&d);
    char *after = request_of(&d, "main");
    CHECK(strncmp(before, after, 400000) == 0);
    free(before);
    free(after);
    driver_fini(&d);
    for (int i = 0; i < ENTRIES; i++)
        free(prompts[i]);
}

CASES_MAIN
