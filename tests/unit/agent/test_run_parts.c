/* Aim: pictures, files and sounds of messages and results reach the model on every wire, are
 * prepared first, become lines when the model has no eyes, when they are old, gone, refused or too
 * many, and never make a later request fail. */
#include "runtime/agent/run_priv.h"
#include "unit/agent/run_driver.h"

static const struct sma_part photo = {.kind = SMA_PART_IMAGE,
                                      .path = SMA_STR(".ship/downloads/a.jpg"),
                                      .name = SMA_STR("a \"b\".jpg"),
                                      .mime = SMA_STR("image/jpeg")};

static const char *const images[] = {
    [SMA_LLM_CHAT] = "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/jpeg;base64,"
                     "<aaaa>\"}}",
    [SMA_LLM_RESPONSES] = "{\"type\":\"input_image\",\"detail\":\"auto\",\"image_url\":"
                          "\"data:image/jpeg;base64,<aaaa>\"}",
    [SMA_LLM_MESSAGES] = "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":"
                         "\"image/jpeg\",\"data\":\"<aaaa>\"}}",
};

/* A model with eyes, and no thinking to get in the way. */
static void init(struct driver *driver, enum sma_llm_api api, const struct sma_part *parts,
                 uint32_t count)
{
    struct sma_config_llm llm = {.api = api,
                                 .provider = api == SMA_LLM_MESSAGES ? "anthropic" : "openai",
                                 .model = api == SMA_LLM_MESSAGES ? "claude-sonnet-4-5" : "gpt-5.1",
                                 .base_url = api == SMA_LLM_MESSAGES ? "https://api.anthropic.com"
                                                                     : "https://api.openai.com/v1",
                                 .api_key = "k",
                                 .effort = "",
                                 .anthropic_version = "2023-06-01"};
    const struct sma_config_llm *llms[] = {&llm};
    driver_init(driver, api);
    driver_targets(driver, llms, 1);
    driver->order.parts = (struct sma_part *)(uintptr_t)parts;
    driver->order.part_count = count;
}

static void show_photo(struct driver *driver, enum sma_llm_api api)
{
    init(driver, api, &photo, 1);
    driver_start(driver);
    driver_encoded(driver, "aaaa", NULL);
}

static void start_with_photo(struct driver *driver)
{
    driver->order.parts = (struct sma_part *)(uintptr_t)&photo;
    driver->order.part_count = 1;
    driver_start(driver);
}

CASE(a_photo_is_prepared_and_then_sent_before_the_text)
{
    for (int api = SMA_LLM_CHAT; api <= SMA_LLM_MESSAGES; api++) {
        struct driver driver;
        init(&driver, (enum sma_llm_api)api, &photo, 1);
        driver_start(&driver);
        driver_check_kinds(&driver, "gN"); /* nothing else until it is ready */
        const struct sma_encode_ask *ask = &driver_find(&driver, SMA_RUN_ASK_ENCODE)->encode;
        CHECK_INT(1568, ask->max_side);
        CHECK(ask->max_bytes <= 4608 * 1024);
        driver_encoded(&driver, "aaaa", NULL);
        driver_check_kinds(&driver, "M");
        char *bytes = driver_sent_bytes(&driver);
        const char *image = strstr(bytes, images[api]), *text = strstr(bytes, "hello");
        CHECK(image != NULL && text != NULL && image < text);
        CHECK(strstr(bytes, "sma-part:") == NULL);
        free(bytes);
        driver_fini(&driver);
    }
}

CASE(what_cannot_be_prepared_is_a_line)
{
    struct driver driver;
    init(&driver, SMA_LLM_CHAT, &photo, 1);
    driver_start(&driver);
    driver_encoded(&driver, NULL, "it is no picture");
    CHECK(driver_sends(&driver, "it is no picture]"));
    CHECK(!driver_sends(&driver, "image_url"));
    driver_fini(&driver);
    init(&driver, SMA_LLM_CHAT, &photo, 1);
    driver_start(&driver);
    driver_encoded(&driver, NULL, "[a whole line]");
    CHECK(driver_sends(&driver, "[a whole line]"));
    CHECK(!driver_sends(&driver, "\"type\":\"text\"")); /* nothing is shown: one string */
    driver_fini(&driver);
}

CASE(without_tools_it_is_a_line)
{
    SMA_AUTO(driver_fini) struct driver driver;
    init(&driver, SMA_LLM_CHAT, &photo, 1);
    driver_start(&driver);
    driver_event(&driver, (struct sma_run_event){.kind = SMA_RUN_ENCODED});
    CHECK(driver_find(&driver, SMA_RUN_ASK_MODEL) != NULL);
    CHECK(driver_sends(&driver, "could not be prepared"));
}

/* Resumed: prepared already, and the same bytes. */
CASE(a_resumed_run_sends_the_same_bytes)
{
    static const struct driver_call calls[] = {{"c1", "list_files", "{}"}, {NULL}};
    for (int api = SMA_LLM_CHAT; api <= SMA_LLM_MESSAGES; api++) {
        struct driver driver;
        init(&driver, (enum sma_llm_api)api, &photo, 1);
        driver_start(&driver);
        driver_encoded(&driver, "aaaa", NULL);
        driver_answer(&driver, "so", SMA_FINISH_TOOLS, calls);
        while (driver_find(&driver, SMA_RUN_ASK_TOOL) != NULL &&
               driver_find(&driver, SMA_RUN_ASK_TOOL)->tool.mode == SMA_TOOL_CHECK)
            driver_tool(&driver, 0, SMA_TOOL_ALLOWED, "{}");
        driver_durable(&driver);
        driver_tool(&driver, 0, SMA_TOOL_ALLOWED, "{\"a\":1}");
        driver_store(&driver);
        char *before = driver_sent_bytes(&driver);
        CHECK(strstr(before, images[api]) != NULL);
        driver_cut(&driver);
        driver_start(&driver);
        CHECK(driver_find(&driver, SMA_RUN_ASK_ENCODE) == NULL);
        CHECK(driver_find(&driver, SMA_RUN_ASK_MODEL) != NULL);
        char *after = driver_sent_bytes(&driver);
        CHECK_TEXT(before, after);
        free(before);
        free(after);
        driver_fini(&driver);
    }
}

/* A talk goes on: the picture of the turn before is sent again, as the same bytes. */
static void finish(struct driver *driver, const char *text)
{
    driver_answer(driver, text, SMA_FINISH_STOP, NULL);
    driver_done(driver, true);
    driver_next(driver);
    driver->order.parts = NULL;
    driver->order.part_count = 0;
}

CASE(a_picture_is_sent_for_three_more_turns)
{
    for (int api = SMA_LLM_CHAT; api <= SMA_LLM_MESSAGES; api++) {
        struct driver driver;
        init(&driver, (enum sma_llm_api)api, &photo, 1);
        driver_start(&driver);
        driver_encoded(&driver, "aaaa", NULL);
        for (int turn = 0; turn < 3; turn++) {
            finish(&driver, "I see");
            driver_start(&driver);
            CHECK(driver_sends(&driver, images[api]));
        }
        finish(&driver, "I see");
        driver_start(&driver);
        CHECK(!driver_sends(&driver, "<aaaa>"));
        CHECK(driver_sends(&driver, "file .ship/downloads/a.jpg: not sent again"));
        driver_fini(&driver);
    }
}

/* The session comes back from the store. */
static void load(struct driver *driver, const char *turn, size_t len, const char *wire)
{
    struct sma_turn stored = {.seq = 9, .wire = sma_str(wire), .bytes = {turn, len}};
    struct sma_session_turns turns = {.turn_count = 1, .turns = &stored};
    sma_session_clear(driver->sessions, driver->session, UINT64_MAX);
    driver->session->is_loaded = false;
    driver_start(driver);
    driver_event(driver, (struct sma_run_event){.kind = SMA_RUN_SESSION, .turns = &turns});
}

CASE(a_stored_turn_brings_its_picture_to_every_wire)
{
    for (int api = SMA_LLM_CHAT; api <= SMA_LLM_MESSAGES; api++) {
        struct driver first, second;
        init(&first, (enum sma_llm_api)api, &photo, 1);
        driver_start(&first);
        driver_encoded(&first, "aaaa", NULL);
        driver_answer(&first, "I see", SMA_FINISH_STOP, NULL);
        driver_done(&first, true);
        for (int other = SMA_LLM_CHAT; other <= SMA_LLM_MESSAGES; other++) {
            init(&second, (enum sma_llm_api)other, NULL, 0);
            second.order.has_past = true;
            load(&second, first.done_turn, first.done_turn_len, first.done_wire);
            CHECK(driver_sends(&second, images[other]));
            driver_fini(&second);
        }
        driver_fini(&first);
    }
}

static void model_says(struct driver *driver, enum sma_model_failure trouble, int status,
                       const char *member)
{
    struct sma_model_answer answer = {.seq = driver->order.seq,
                                      .status = SMA_MODEL_FAILED,
                                      .trouble = (uint8_t)trouble,
                                      .http_status = status,
                                      .retry_after_ms = -1,
                                      .refused_member = sma_str(member),
                                      .error = SMA_STR("it said no")};
    driver_event(driver, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &answer});
}

CASE(a_refused_picture_is_a_line_for_ever)
{
    for (int api = SMA_LLM_CHAT; api <= SMA_LLM_MESSAGES; api++) {
        struct driver driver;
        init(&driver, (enum sma_llm_api)api, &photo, 1);
        driver_start(&driver);
        driver_encoded(&driver, "aaaa", NULL);
        model_says(&driver, SMA_MODEL_FAILURE_PICTURE, 400, "");
        driver_check_kinds(&driver, "M");
        CHECK(!driver_sends(&driver, "<aaaa>"));
        CHECK(driver_sends(&driver, "refused it"));
        finish(&driver, "no picture");
        driver_start(&driver);
        CHECK(!driver_sends(&driver, "<aaaa>"));
        driver_fini(&driver);
    }
}

/* Refused again without anything attached: it was not that. */
CASE(refused_without_pictures_it_ends)
{
    SMA_AUTO(driver_fini) struct driver driver;
    show_photo(&driver, SMA_LLM_CHAT);
    model_says(&driver, SMA_MODEL_FAILURE_PICTURE, 400, "");
    CHECK(driver_find(&driver, SMA_RUN_ASK_MODEL) != NULL);
    model_says(&driver, SMA_MODEL_FAILURE_PICTURE, 400, "");
    CHECK(driver_find(&driver, SMA_RUN_STORE_DONE) != NULL);
}

/* What was answered to before is innocent; when the new one is not it, all go; and a restart knows
 * it. */
CASE(an_old_picture_that_is_refused_does_not_come_back)
{
    struct driver driver, again;
    show_photo(&driver, SMA_LLM_CHAT);
    driver_answer(&driver, "I see", SMA_FINISH_STOP, NULL);
    driver_done(&driver, true);
    char *turn = malloc(driver.done_turn_len);
    size_t len = driver.done_turn_len;
    CHECK(turn != NULL);
    memcpy(turn, driver.done_turn, len);
    driver_next(&driver);
    driver.order.parts = (struct sma_part *)(uintptr_t)&photo;
    driver_start(&driver);
    driver_encoded(&driver, "bbbb", NULL);
    CHECK(driver_sends(&driver, "<aaaa>") && driver_sends(&driver, "<bbbb>"));
    model_says(&driver, SMA_MODEL_FAILURE_PICTURE, 400, "");
    CHECK(driver_sends(&driver, "<aaaa>") && !driver_sends(&driver, "<bbbb>"));
    model_says(&driver, SMA_MODEL_FAILURE_PICTURE, 400, "");
    CHECK(!driver_sends(&driver, "<aaaa>"));
    driver_answer(&driver, "well", SMA_FINISH_STOP, NULL);
    driver_done(&driver, true);

    struct sma_turn stored[] = {
        {.seq = 10, .wire = sma_str(driver.done_wire), .bytes = {turn, len}},
        {.seq = 11,
         .wire = sma_str(driver.done_wire),
         .bytes = {driver.done_turn, driver.done_turn_len}}};
    struct sma_session_turns turns = {.turn_count = 2, .turns = stored};
    init(&again, SMA_LLM_CHAT, NULL, 0);
    again.order.has_past = true;
    driver_start(&again);
    driver_event(&again, (struct sma_run_event){.kind = SMA_RUN_SESSION, .turns = &turns});
    CHECK(!driver_sends(&again, "<aaaa>") && !driver_sends(&again, "<bbbb>"));
    driver_fini(&again);
    free(turn);
    driver_fini(&driver);
}

CASE(a_file_that_is_gone_is_a_line)
{
    SMA_AUTO(driver_fini) struct driver driver;
    show_photo(&driver, SMA_LLM_RESPONSES);
    char path[256];
    uint32_t count;
    const struct sma_body_file *files = sma_run_request_files(driver.run, &count);
    CHECK_INT(1, count);
    CHECK_INT(1000, files[0].length);
    snprintf(path, sizeof path, "%.*s", (int)files[0].path.len, files[0].path.ptr);
    CHECK(strncmp(path, "/srv/bot/.ship/.cache/parts/aaaa", 32) == 0);
    model_says(&driver, SMA_MODEL_FAILURE_FILE, 0, path);
    driver_check_kinds(&driver, "M");
    CHECK(!driver_sends(&driver, "<aaaa>"));
}

/* The photo, to a model nobody knows. */
static void show_to_unknown(struct driver *driver)
{
    static const struct sma_config_llm llm = {.api = SMA_LLM_CHAT,
                                              .provider = "custom",
                                              .model = "some-model",
                                              .base_url = "http://x",
                                              .api_key = "k",
                                              .effort = ""};
    const struct sma_config_llm *llms[] = {&llm};
    init(driver, SMA_LLM_CHAT, &photo, 1);
    driver_targets(driver, llms, 1);
    driver_start(driver);
    driver_encoded(driver, "aaaa", NULL);
}

/* A model nobody knows: tried once, then known. */
CASE(no_eyes_are_learned)
{
    SMA_AUTO(driver_fini) struct driver driver;
    show_to_unknown(&driver);
    CHECK(driver_sends(&driver, "<aaaa>"));
    model_says(&driver, SMA_MODEL_FAILURE_PICTURE, 400, SMA_REFUSES_IMAGES);
    CHECK_STR(SMA_REFUSES_IMAGES, driver_find(&driver, SMA_RUN_LEARN)->learned.member);
    CHECK(driver_find(&driver, SMA_RUN_ASK_MODEL) != NULL);
    CHECK(driver_sends(&driver, "does not see pictures"));
    finish(&driver, "what was it?");
    start_with_photo(&driver);
    CHECK(driver_find(&driver, SMA_RUN_ASK_ENCODE) == NULL);
    CHECK(driver_sends(&driver, "does not see pictures"));
}

/* It says only 400: without the picture it passes, so it has no eyes. */
CASE(no_eyes_are_learned_from_a_silent_refusal)
{
    SMA_AUTO(driver_fini) struct driver driver;
    show_to_unknown(&driver);
    model_says(&driver, SMA_MODEL_FAILURE_SESSION, 400, "");
    CHECK(driver_find(&driver, SMA_RUN_LEARN) == NULL);
    driver_answer(&driver, "hm", SMA_FINISH_STOP, NULL);
    CHECK_STR(SMA_REFUSES_IMAGES, driver_find(&driver, SMA_RUN_LEARN)->learned.member);
}

/* A picture that somebody made so that no provider reads it takes the eyes of nobody else. */
CASE(a_bad_picture_blinds_no_model_that_has_seen_one)
{
    SMA_AUTO(driver_fini) struct driver driver;
    show_to_unknown(&driver);
    finish(&driver, "a cat");
    sma_session_clear(driver.sessions, driver.session, UINT64_MAX); /* another chat's */
    start_with_photo(&driver);
    driver_encoded(&driver, "bbbb", NULL);
    model_says(&driver, SMA_MODEL_FAILURE_SESSION, 400, "");
    CHECK(!driver_sends(&driver, "<bbbb>"));
    driver_answer(&driver, "hm", SMA_FINISH_STOP, NULL);
    CHECK(driver_find(&driver, SMA_RUN_LEARN) == NULL);
    CHECK(driver_find(&driver, SMA_RUN_STORE_DONE) != NULL);
}

/* What says nothing of eyes, or what cannot be true, blinds a model for no chat. */
CASE(a_refusal_of_another_kind_blinds_no_model)
{
    SMA_AUTO(driver_fini) struct driver driver;
    show_to_unknown(&driver);
    model_says(&driver, SMA_MODEL_FAILURE_REQUEST, 400, ""); /* its content was refused */
    CHECK(!driver_sends(&driver, "<aaaa>"));
    driver_answer(&driver, "hm", SMA_FINISH_STOP, NULL);
    CHECK(driver_find(&driver, SMA_RUN_LEARN) == NULL);
    driver_done(&driver, true);
    for (int i = 0; i < 2; i++) { /* it sees one, and says then that it sees none */
        driver_next(&driver);
        sma_session_clear(driver.sessions, driver.session, UINT64_MAX);
        driver_start(&driver);
        driver_encoded(&driver, i == 0 ? "bbbb" : "cccc", NULL);
        if (i == 1)
            model_says(&driver, SMA_MODEL_FAILURE_PICTURE, 404, SMA_REFUSES_IMAGES);
        CHECK(driver_find(&driver, SMA_RUN_LEARN) == NULL);
        CHECK(driver_find(&driver, SMA_RUN_ASK_MODEL) != NULL);
        driver_answer(&driver, "a cat", SMA_FINISH_STOP, NULL);
        driver_done(&driver, true);
    }
}

/* It may be the conversation: that is tried first, and the picture stays. */
CASE(a_conversation_that_is_refused_costs_no_picture)
{
    SMA_AUTO(driver_fini) struct driver driver;
    init(&driver, SMA_LLM_CHAT, NULL, 0);
    driver_start(&driver);
    finish(&driver, "hello");
    start_with_photo(&driver);
    driver_encoded(&driver, "aaaa", NULL);
    model_says(&driver, SMA_MODEL_FAILURE_SESSION, 400, "");
    CHECK(driver_sends(&driver, "<aaaa>"));
    model_says(&driver, SMA_MODEL_FAILURE_SESSION, 400, "");
    driver_check_kinds(&driver, "M");
    CHECK(!driver_sends(&driver, "<aaaa>"));
    model_says(&driver, SMA_MODEL_FAILURE_SESSION, 400, "");
    model_says(&driver, SMA_MODEL_FAILURE_SESSION, 400, "");
    CHECK(driver_find(&driver, SMA_RUN_STORE_DONE) != NULL); /* and it ends */
}

/* Too large in bytes: the old ones go first. */
CASE(a_request_that_is_too_large_leaves_old_pictures_out)
{
    SMA_AUTO(driver_fini) struct driver driver;
    struct sma_model_answer answer = {.status = SMA_MODEL_CONTEXT_LENGTH, .http_status = 413};
    show_photo(&driver, SMA_LLM_CHAT);
    finish(&driver, "I see");
    start_with_photo(&driver);
    driver_encoded(&driver, "bbbb", NULL);
    answer.seq = driver.order.seq;
    driver_event(&driver, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &answer});
    CHECK(!driver_sends(&driver, "<aaaa>") && driver_sends(&driver, "<bbbb>"));
    driver_event(&driver, (struct sma_run_event){.kind = SMA_RUN_MODEL, .model = &answer});
    CHECK(!driver_sends(&driver, "<bbbb>"));
}

/* GLM takes bare base64 only. */
CASE(a_refused_data_url_goes_bare)
{
    SMA_AUTO(driver_fini) struct driver driver;
    show_photo(&driver, SMA_LLM_CHAT);
    model_says(&driver, SMA_MODEL_FAILURE_PICTURE, 400, SMA_REFUSES_DATA_URLS);
    CHECK(driver_sends(&driver, "\"image_url\":{\"url\":\"<aaaa>\"}"));
    finish(&driver, "I see");
    driver_start(&driver);
    CHECK(driver_sends(&driver, "\"image_url\":{\"url\":\"<aaaa>\"}"));
}

/* -- results ----------------------------------------------------------------------------------- */
static void show(struct driver *driver, bool is_error)
{
    struct sma_part part = photo;
    struct sma_tool_answer answer = {.seq = driver->order.seq,
                                     .verdict = SMA_TOOL_ALLOWED,
                                     .is_error = is_error,
                                     .content = SMA_STR("{\"success\":true}"),
                                     .part_count = 1,
                                     .parts = &part};
    driver_event(driver, (struct sma_run_event){.kind = SMA_RUN_TOOL, .call = 0, .tool = &answer});
}

static void begin_reading(struct driver *driver, enum sma_llm_api api)
{
    static const struct driver_call calls[] = {{"c1", "read_file", "{\"path\":\"a.jpg\"}"}, {NULL}};
    init(driver, api, NULL, 0);
    driver_start(driver);
    driver_answer(driver, "", SMA_FINISH_TOOLS, calls);
    if (driver_find(driver, SMA_RUN_ASK_TOOL) != NULL)
        driver_tool(driver, 0, SMA_TOOL_ALLOWED, "{}");
    driver_durable(driver);
}

CASE(a_result_shows_its_picture)
{
    static const char *const wanted[] = {
        [SMA_LLM_CHAT] = "\"content\":\"{\\\"success\\\":true}\"},{\"role\":\"user\",\"content\":"
                         "[{\"type\":\"text\",\"text\":\"Attached to the results of the tools:\"},"
                         "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/jpeg;base64,"
                         "<aaaa>\"}}]}",
        [SMA_LLM_RESPONSES] = "\"output\":[{\"type\":\"input_text\",\"text\":\"{\\\"success\\\":"
                              "true}\"},{\"type\":\"input_image\",",
        [SMA_LLM_MESSAGES] = "\"content\":[{\"type\":\"text\",\"text\":\"{\\\"success\\\":true}\"},"
                             "{\"type\":\"image\",",
    };
    for (int api = SMA_LLM_CHAT; api <= SMA_LLM_MESSAGES; api++) {
        struct driver driver;
        begin_reading(&driver, (enum sma_llm_api)api);
        show(&driver, false);
        driver_check_kinds(&driver, "N"); /* the result is stored as it is sent */
        driver_encoded(&driver, "aaaa", NULL);
        driver_check_kinds(&driver, "PM");
        CHECK(driver_sends(&driver, wanted[api]));
        CHECK(driver_sends(&driver, images[api]));
        driver_store(&driver);
        char *before = driver_sent_bytes(&driver);
        driver_cut(&driver);
        driver_start(&driver);
        CHECK(driver_find(&driver, SMA_RUN_ASK_ENCODE) == NULL);
        char *after = driver_sent_bytes(&driver);
        CHECK_TEXT(before, after);
        free(before);
        free(after);
        finish(&driver, "I see");
        driver_start(&driver);
        CHECK(driver_sends(&driver, images[api])); /* and with the next message */
        driver_fini(&driver);
    }
}

CASE(a_result_that_failed_shows_its_picture_behind_all_results)
{
    SMA_AUTO(driver_fini) struct driver driver;
    begin_reading(&driver, SMA_LLM_MESSAGES);
    show(&driver, true);
    driver_encoded(&driver, "aaaa", NULL);
    char *bytes = driver_sent_bytes(&driver);
    const char *mark = strstr(bytes, "\"is_error\":true}");
    CHECK(mark != NULL && strncmp(mark + 16, ",{\"type\":\"image\",", 17) == 0);
    free(bytes);
}

/* -- files and sounds -------------------------------------------------------------------------- */
CASE(a_pdf_goes_as_each_wire_wants_it)
{
    static const char *const wanted[] = {
        [SMA_LLM_CHAT] = "{\"type\":\"file\",\"file\":{\"filename\":\"plan.pdf\",\"file_data\":"
                         "\"data:application/pdf;base64,<aaaa>\"}}",
        [SMA_LLM_RESPONSES] = "{\"type\":\"input_file\",\"filename\":\"plan.pdf\",\"file_data\":"
                              "\"data:application/pdf;base64,<aaaa>\"}",
        [SMA_LLM_MESSAGES] =
            "{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":"
            "\"application/pdf\",\"data\":\"<aaaa>\"},\"title\":\"plan.pdf\"}",
    };
    static const struct sma_part plan = {.kind = SMA_PART_FILE,
                                         .path = SMA_STR(".ship/downloads/plan.pdf"),
                                         .mime = SMA_STR("application/pdf")};
    for (int api = SMA_LLM_CHAT; api <= SMA_LLM_MESSAGES; api++) {
        struct driver driver;
        init(&driver, (enum sma_llm_api)api, &plan, 1);
        driver.settings->targets[0].profile.has_pdf = true;
        driver_start(&driver);
        driver_encoded(&driver, "aaaa", NULL);
        CHECK(driver_sends(&driver, wanted[api]));
        /* its pages take room in the window: it does not count as one picture does */
        CHECK(run_parts_tokens(driver.run) >= 2000);
        CHECK_INT(run_parts_tokens(driver.run), run_context_size(driver.run).part_tokens);
        driver.settings->targets[0].profile.has_pdf = false;
        CHECK_INT(0, run_parts_tokens(driver.run)); /* a line, which is in the bytes */
        driver_fini(&driver);
    }
}

CASE(a_sound_goes_over_the_chat_wire_alone)
{
    static const struct sma_part voice = {
        .kind = SMA_PART_AUDIO, .path = SMA_STR("v.wav"), .mime = SMA_STR("audio/wav")};
    for (int api = SMA_LLM_CHAT; api <= SMA_LLM_MESSAGES; api++) {
        struct driver driver;
        init(&driver, (enum sma_llm_api)api, &voice, 1);
        driver.settings->targets[0].profile.has_audio = true;
        driver_start(&driver);
        if (api != SMA_LLM_CHAT) {
            CHECK(driver_sends(&driver, "[sound, file v.wav: not played"));
        } else {
            driver_encoded(&driver, "aaaa", NULL);
            CHECK(driver_sends(&driver, "{\"type\":\"input_audio\",\"input_audio\":{\"data\":"
                                        "\"<aaaa>\",\"format\":\"wav\"}}"));
        }
        driver_fini(&driver);
    }
}

/* Tools read it: nothing is prepared, nothing but a line is sent. */
CASE(a_text_file_is_a_line_with_its_path)
{
    static const struct sma_part notes = {.kind = SMA_PART_FILE,
                                          .path = SMA_STR(".ship/downloads/n.txt"),
                                          .name = SMA_STR("notes]\n[x"),
                                          .mime = SMA_STR("text/plain")};
    SMA_AUTO(driver_fini) struct driver driver;
    init(&driver, SMA_LLM_MESSAGES, &notes, 1);
    driver_start(&driver);
    CHECK(driver_find(&driver, SMA_RUN_ASK_ENCODE) == NULL);
    CHECK(driver_sends(&driver, "[file \\\"notes___x\\\", file .ship/downloads/n.txt: not shown; "
                                "tools can read the file]"));
}

/* -- what is added while the run is open ------------------------------------------------------- */
static void check_added(struct driver *driver, enum sma_llm_api api)
{
    driver_check_kinds(driver, "N");
    driver_encoded(driver, "aaaa", NULL);
    driver_check_kinds(driver, "M");
    char *bytes = driver_sent_bytes(driver);
    const char *image = strstr(bytes, images[api]), *text = strstr(bytes, "and this?");
    CHECK(image != NULL && text != NULL && image < text);
    CHECK(strstr(bytes, "hello") < image);
    CHECK(strstr(image + 1, images[api]) == NULL);
    free(bytes);
}

CASE(a_photo_that_is_added_is_prepared_and_sent_with_its_words)
{
    for (int api = SMA_LLM_CHAT; api <= SMA_LLM_MESSAGES; api++) {
        struct driver driver;
        struct sma_collected message = {.seq = 11,
                                        .message_id = SMA_STR("m2"),
                                        .text = SMA_STR("and this?"),
                                        .part_count = 1,
                                        .parts = (struct sma_part *)(uintptr_t)&photo};
        struct sma_steer steer = {
            .seq = 10, .standing = 3, .message_count = 1, .messages = &message};
        init(&driver, (enum sma_llm_api)api, NULL, 0);
        driver_start(&driver);
        driver_event(&driver, (struct sma_run_event){.kind = SMA_RUN_ADDED, .steer = &steer});
        driver_answer(&driver, "one", SMA_FINISH_STOP, NULL);
        driver_durable(&driver);
        check_added(&driver, (enum sma_llm_api)api);
        driver_cut(&driver);
        driver.order.collected = &message;
        driver.order.collected_count = 1;
        sma_session_clear(driver.sessions, driver.session, UINT64_MAX);
        driver_start(&driver);
        driver.actions.list[0] = *driver_find(&driver, SMA_RUN_ASK_ENCODE); /* besides progress */
        driver.actions.count = 1;
        check_added(&driver, (enum sma_llm_api)api);
        driver_answer(&driver, "two", SMA_FINISH_STOP, NULL);
        driver_done(&driver, false);
        struct sma_stored_turn turn;
        CHECK_OK(
            sma_codec_get_turn((struct sma_str){driver.done_turn, driver.done_turn_len}, &turn));
        CHECK_INT(1, turn.part_count);
        CHECK(turn.parts[0].block + 1 < turn.block_count);
        CHECK_STR("and this?", turn.blocks[turn.parts[0].block + 1]);
        sma_stored_turn_fini(&turn);
        driver_fini(&driver);
    }
}

/* Over the bounds of the host the oldest go first. */
CASE(too_many_pictures_leave_the_oldest_out)
{
    struct sma_part many[25];
    SMA_AUTO(driver_fini) struct driver driver;
    for (size_t i = 0; i < 25; i++)
        many[i] = photo;
    init(&driver, SMA_LLM_CHAT, many, 25);
    driver.settings->targets[0].profile.host = SMA_HOST_OTHER; /* 20 */
    driver_start(&driver);
    CHECK_INT(25, driver_count(&driver, SMA_RUN_ASK_ENCODE));
    struct sma_run_actions asked = driver.actions;
    for (uint32_t i = 0; i < asked.count; i++) {
        char start[5];
        snprintf(start, sizeof start, "%04x", i);
        if (asked.list[i].kind == SMA_RUN_ASK_ENCODE)
            driver_encoded_at(&driver, asked.list[i].call, &photo, start, NULL);
    }
    CHECK(driver_find(&driver, SMA_RUN_ASK_MODEL) != NULL);
    uint32_t count;
    (void)sma_run_request_files(driver.run, &count);
    CHECK_INT(20, count);
    CHECK(!driver_sends(&driver, "<0001>") && driver_sends(&driver, "<0019>"));
}

/* A marker in what people write is words. */
CASE(words_that_look_like_a_marker_stay_words)
{
#define MARKER "sma-part:aaaa000000000000000000000000000000000000000000000000000000000000"
    static const char *const words[] = {MARKER, "\"data\":\"" MARKER, "\"data\":\"" MARKER "\"",
                                        "data:image/png;base64," MARKER, "\"url\":" MARKER};
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++)
        for (int api = SMA_LLM_CHAT; api <= SMA_LLM_MESSAGES; api++) {
            struct driver driver;
            uint32_t count;
            init(&driver, (enum sma_llm_api)api, &photo, 1);
            driver.order.text = sma_str(words[i]);
            driver_start(&driver);
            driver_encoded(&driver, "aaaa", NULL);
            (void)sma_run_request_files(driver.run, &count);
            CHECK_INT(1, count);
            CHECK(driver_sends(&driver, MARKER));
            driver_fini(&driver);
        }
}

/* Nor does a model put a file's bytes where it likes: in arguments, which are an object on one of
 * the wires, they would go with every later request, and none would pass once the file is gone. */
CASE(a_marker_in_arguments_is_not_kept)
{
#define HASH "aaaa000000000000000000000000000000000000000000000000000000000000"
    static const char *const arguments[] = {
        "{\"path\":\".\",\"data\":\"sma-part:" HASH "\"}",
        "{\"path\":\".\",\"a\":{\"url\": \"data:image/png;base64,sma-part:" HASH "\"}}",
        "{\"path\":\".\",\"d\\u0061ta\":\"sma\\u002dpart:" HASH "\"}"};
    for (size_t i = 0; i < 3 * SMA_COUNT_OF(arguments); i++) {
        const struct driver_call calls[] = {{"c1", "list_files", arguments[i / 3]}, {NULL}};
        struct driver driver;
        init(&driver, (enum sma_llm_api)(i % 3), &photo, 1);
        driver_start(&driver);
        driver_encoded(&driver, "aaaa", NULL);
        driver_answer(&driver, "so", SMA_FINISH_TOOLS, calls);
        CHECK(driver_find(&driver, SMA_RUN_ASK_TOOL) == NULL);
        CHECK(driver_find(&driver, SMA_RUN_STORE_STEP) == NULL);
        driver_done(&driver, false);
        driver_fini(&driver);
    }
}

/* What a stand-in does not get of the talk brings no file either: the rest is sent to it. */
CASE(a_picture_of_a_turn_that_a_stand_in_does_not_get_stays_behind)
{
    static char words[40000];
    SMA_AUTO(driver_fini) struct driver driver;
    init(&driver, SMA_LLM_CHAT, &photo, 1);
    struct sma_config_llm large = driver.config.llm, small = large;
    small.model = "gpt-5.1-mini";
    small.context_tokens = 16000;
    const struct sma_config_llm *both[] = {&large, &small};
    driver_targets(&driver, both, 2);
    driver_start(&driver);
    driver_encoded(&driver, "aaaa", NULL);
    finish(&driver, "I see");
    memset(words, 'w', sizeof words - 1);
    driver.order.text = sma_str(words);
    driver_start(&driver);
    finish(&driver, "so long");
    driver.settings->cooldowns[0].until_ns = UINT64_MAX;
    driver.order.text = SMA_STR("on with it");
    driver_start(&driver);
    CHECK(driver_find(&driver, SMA_RUN_ASK_MODEL) != NULL);
    CHECK(driver_sends(&driver, "on with it") && !driver_sends(&driver, "<aaaa>"));
}

CASES_MAIN
