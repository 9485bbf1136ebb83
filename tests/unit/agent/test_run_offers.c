/*
 * Aim: a chat is offered what its platform can and what some other platform can; what goes to
 *   another chat goes there after the check that knows which, and to the chat itself goes only what
 *   it takes.
 * Method: the run, driven event by event.
 */
#include "unit/agent/run_driver.h"

#define CARD                                                             \
    "{\"schema\":\"2.0\",\"body\":{\"elements\":[{\"tag\":\"markdown\"," \
    "\"content\":\"the menu\"}]}}"

/* A card goes to the chat that the store finds, after the check that knows which. */
CASE(a_card_goes_where_it_is_sent)
{
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    struct sma_run_options options = {.order = &d.order,
                                      .sessions = d.sessions,
                                      .session = d.session,
                                      .settings = d.settings,
                                      .has_cards_elsewhere = true};
    CHECK_OK(sma_run_create(&options, &d.run));
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_START});
    static const struct driver_call calls[] = {
        {"c0", "send_card", "{\"chatId\":\"77\",\"channel\":\"feishu\",\"card\":" CARD "}"}, {0}};
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    driver_check_kinds(&d, "C");
    const struct sma_contact_ask *ask = &driver_find(&d, SMA_RUN_ASK_CONTACT)->contact;
    CHECK(ask->wants_cards && !ask->wants_files);
    CHECK_STR("77", ask->chat_id);
    CHECK_STR("feishu", ask->channel);
    struct sma_contact_result found = {.is_found = true,
                                       .route = {.adapter = 9,
                                                 .channel = SMA_STR("feishu"),
                                                 .chat_key = SMA_STR("feishu:chat:77")}};
    driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_CONTACT, .call = 0, .contact = &found});
    driver_check_kinds(&d, "T");
    driver_tool(&d, 0, SMA_TOOL_ALLOWED, "");
    driver_check_kinds(&d, "P");
    const struct sma_step *step = &driver_find(&d, SMA_RUN_STORE_STEP)->step;
    CHECK_INT(1, step->delivery_count);
    CHECK_INT(SMA_INTENT_CARD, step->deliveries[0].intent);
    CHECK_STR("feishu:chat:77", step->deliveries[0].route.chat_key);
    CHECK_STR(CARD, step->deliveries[0].text);
    driver_durable(&d);
    driver_sent(&d, 0, SMA_SEND_SENT, "");
    CHECK(driver_request_has(&d, "\\\"sentTo\\\":\\\"feishu:chat:77\\\""));
}

/* Platforms reply wherever the message is: what the store does not find in this chat goes nowhere,
 * whichever tool names it. What is answered is known to the run. */
CASE(a_message_that_is_named_is_of_this_chat)
{
    static const struct driver_call calls[] = {
        {"c0", "chat_send", "{\"text\":\"x\",\"messageId\":\"om_of_bob\"}"},
        {"c1", "send_file", "{\"path\":\"a.txt\",\"messageId\":\"om_of_bob\"}"},
        {"c2", "react", "{\"emoji\":\"x\",\"message_id\":\"om_of_bob\"}"},
        {"c3", "chat_send", "{\"text\":\"y\",\"messageId\":\"m1\"}"},
        {0}};
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    driver_start(&d);
    driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
    driver_check_kinds(&d, "CCC");
    struct sma_contact_result none = {.why = SMA_STR("No message with this id")};
    for (uint32_t i = 0; i < 3; i++)
        driver_event(&d,
                     (struct sma_run_event){.kind = SMA_RUN_CONTACT, .call = i, .contact = &none});
    driver_check_kinds(&d, "P");
    const struct sma_step *step = &driver_find(&d, SMA_RUN_STORE_STEP)->step;
    CHECK_INT(1, step->delivery_count);
    CHECK_STR("y", step->deliveries[0].text);
}

CASE(each_chat_is_offered_what_its_platform_can)
{
    static const struct
    {
        bool has_files, has_reactions; /* where there are files, there are cards here, too */
        uint8_t standing;
        bool has_elsewhere;
    } rows[] = {{false, false, SMA_STANDING_OWNER, false},
                {true, false, SMA_STANDING_OWNER, false},
                {false, true, SMA_STANDING_MEMBER, false},
                {true, true, SMA_STANDING_STRANGER, true},
                {false, false, SMA_STANDING_OWNER, true}};
    SMA_AUTO(driver_fini) struct driver d;
    driver_init(&d, SMA_LLM_CHAT);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        d.order.standing = rows[i].standing;
        struct sma_run_options options = {.order = &d.order,
                                          .sessions = d.sessions,
                                          .session = d.session,
                                          .settings = d.settings,
                                          .has_files = rows[i].has_files,
                                          .has_reactions = rows[i].has_reactions};
        options.has_cards = rows[i].has_files;
        options.has_files_elsewhere = options.has_cards_elsewhere = rows[i].has_elsewhere;
        bool is_sent = rows[i].has_files || rows[i].has_elsewhere;
        CHECK_OK(sma_run_create(&options, &d.run));
        driver_event(&d, (struct sma_run_event){.kind = SMA_RUN_START});
        char *bytes = driver_request(&d, &(struct sma_model_ask){0});
        CHECK_INT(is_sent, strstr(bytes, "\"name\":\"send_file\"") != NULL);
        CHECK_INT(is_sent, strstr(bytes, "\"name\":\"send_card\"") != NULL);
        CHECK_INT(rows[i].has_files, strstr(bytes, "\"name\":\"download_attachment\"") != NULL);
        CHECK_INT(rows[i].has_reactions, strstr(bytes, "\"name\":\"react\"") != NULL);
        CHECK(strstr(bytes, "\"name\":\"exec_shell\"") != NULL); /* whoever speaks */
        free(bytes);
        if (i == 0) { /* called all the same */
            static const struct driver_call calls[] = {{"c0", "react", "{\"emoji\":\"x\"}"}, {0}};
            driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
            driver_check_kinds(&d, "P");
            driver_durable(&d);
            CHECK(driver_request_has(&d, "the platform of this chat cannot do that"));
        }
        if (i == 4) { /* to this chat neither goes, whatever another may take */
            static const struct driver_call calls[] = {
                {"c0", "send_file", "{\"path\":\"a.txt\"}"},
                {"c1", "send_voice", "{\"path\":\"a.ogg\"}"},
                {"c2", "send_card", "{\"card\":" CARD "}"},
                {"c3", "download_attachment", "{\"path\":\"a\"}"},
                {0}};
            driver_answer(&d, "", SMA_FINISH_TOOLS, calls);
            driver_check_kinds(&d, "P");
            driver_durable(&d);
            char *said = driver_request(&d, &(struct sma_model_ask){0});
            CHECK(strstr(said, "the platform of this chat takes no files. Name another") != NULL);
            CHECK(strstr(said, "the platform of this chat has no cards. Name another") != NULL);
            CHECK(strstr(said, "the platform of this chat cannot do that") != NULL);
            free(said);
        }
        driver_cut(&d);
        for (uint32_t k = 0; k < d.step_count; k++)
            free((char *)(uintptr_t)d.steps[k].data.ptr);
        d.step_count = 0;
    }
}

CASES_MAIN
