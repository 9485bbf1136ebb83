/* test_feishu_files.c — PREPARE: what people sent comes onto the disk; who manages a group is
 * looked up. */
#include "actor_world.h"

#define RESOURCE "/open-apis/im/v1/messages/om_1/resources/"
#define PATH_A ".ship/.cache/feishu/1763755000000-file_aaa-0011223344556677-a.txt"
#define FILE_A                                                                                    \
    "{\"kind\":\"document\",\"message_id\":\"om_1\",\"file_key\":\"file_aaa\",\"path\":\"" PATH_A \
    "\",\"name\":\"a.txt\"}"
#define PATH_B ".ship/.cache/feishu/1763755000000-img_bbb-8899aabbccddeeff-image"
#define FILE_B                                                                                \
    "{\"kind\":\"photo\",\"message_id\":\"om_1\",\"file_key\":\"img_bbb\",\"path\":\"" PATH_B \
    "\",\"name\":\"image\"}"

static struct world_prepared prepared_of(uint64_t seq)
{
    struct world_prepared prepared;
    WORLD_WAIT(world_has_prepared(seq, &prepared));
    return prepared;
}

static bool file_is(const char *name, const char *content)
{
    char path[400], bytes[256] = "";
    snprintf(path, sizeof path, "%s/%s", world_dir, name);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    size_t len = fread(bytes, 1, sizeof bytes - 1, file);
    fclose(file);
    bytes[len] = '\0';
    return strcmp(bytes, content) == 0;
}

static void attachments_come_onto_the_disk(void)
{
    world_open("");
    struct world_prepared prepared =
        prepared_of(world_prepare("[" FILE_A "," FILE_B "]", WORLD_CHAT, "", false));
    CHECK_TEXT("", prepared.context);
    CHECK_TEXT("file:" PATH_A "|a.txt|; image:" PATH_B "|image|", prepared.parts);
    CHECK(file_is(PATH_A, "content of a file") && file_is(PATH_B, "content of a file"));
    CHECK_INT(1, platform_count("GET", RESOURCE "file_aaa?type=file"));
    CHECK_INT(1, platform_count("GET", RESOURCE "img_bbb?type=image"));
    prepared = prepared_of(
        world_prepare("[" FILE_A "]", WORLD_CHAT, "", false)); /* asked again after a restart */
    CHECK_TEXT("file:" PATH_A "|a.txt|", prepared.parts);
    CHECK_INT(1, platform_count("GET", RESOURCE "file_aaa"));
    world_close();
}

static void what_cannot_be_had_is_named(void)
{
    world_open(",\"attachmentBytesMax\":10");
    struct world_prepared prepared =
        prepared_of(world_prepare("[" FILE_A "]", WORLD_CHAT, "", false));
    CHECK(strstr(prepared.context, "attachmentBytesMax") != NULL);
    CHECK_TEXT("", prepared.parts);
    CHECK(!file_is(PATH_A, "content of a file"));
    world_close();
    world_open("");
    platform_script("GET", RESOURCE, 1, 200, "Content-Type: application/json; charset=utf-8\r\n",
                    "{\"code\":234002,\"msg\":\"Unauthorized\"}");
    prepared = prepared_of(world_prepare("[" FILE_A "]", WORLD_CHAT, "", false));
    CHECK(strstr(prepared.context, "234002") != NULL);
    CHECK(!file_is(PATH_A, "{\"code\":234002,\"msg\":\"Unauthorized\"}"));
    platform_script("GET", RESOURCE, 1, 400, "", "{\"code\":234043,\"msg\":\"Unsupported\"}");
    prepared = prepared_of(world_prepare("[" FILE_A "]", WORLD_CHAT, "", false));
    CHECK(strstr(prepared.context, "234043") != NULL);
    CHECK_INT(2, platform_count("GET", RESOURCE));
    world_close();
}

static void a_json_file_is_a_file(void)
{
    world_open("");
    platform_script("GET", RESOURCE, 1, 200, "Content-Type: application/json\r\n",
                    "{\"code\":0,\"a\":1}");
    CHECK_TEXT("", prepared_of(world_prepare("[" FILE_A "]", WORLD_CHAT, "", false)).context);
    CHECK(file_is(PATH_A, "{\"code\":0,\"a\":1}"));
    world_close();
}

static void trouble_that_passes_is_waited_out(void)
{
    world_open("");
    platform_script("GET", RESOURCE, 1, 502, "", "");
    platform_script("GET", RESOURCE, 1, -1, "", "");
    CHECK_TEXT("", prepared_of(world_prepare("[" FILE_A "]", WORLD_CHAT, "", false)).context);
    CHECK(file_is(PATH_A, "content of a file"));
    world_close();
}

static void an_ended_token_costs_no_attachment(void)
{
    world_open("");
    WORLD_WAIT(platform_is_connected());
    platform_end_tokens();
    CHECK_TEXT("", prepared_of(world_prepare("[" FILE_A "]", WORLD_CHAT, "", false)).context);
    CHECK(file_is(PATH_A, "content of a file"));
    world_close();
}

static void lists_that_are_not_ours_fetch_nothing(void)
{
    world_open("");
    (void)prepared_of(
        world_prepare("[{\"kind\":\"document\",\"message_id\":\"om_1\",\"file_key\":\"f\",\"path\":"
                      "\"../../evil\",\"name\":\"x\"}]",
                      WORLD_CHAT, "", false));
    (void)prepared_of(world_prepare("rubbish", WORLD_CHAT, "", false));
    CHECK_INT(0, platform_count("GET", RESOURCE));
    WORLD_WAIT(world_log_count("cannot be read") == 2);
    world_close();
}

static void roles_are_looked_up_and_remembered(void)
{
    world_open("");
    CHECK_INT(SMA_ROLE_ADMIN, prepared_of(world_prepare("", WORLD_GROUP, WORLD_ADA, true)).role);
    CHECK_INT(SMA_ROLE_ADMIN, prepared_of(world_prepare("", WORLD_GROUP, WORLD_ADA, true)).role);
    CHECK_INT(1, platform_count("GET", "/open-apis/im/v1/chats/"));
    CHECK_INT(SMA_ROLE_ADMIN, prepared_of(world_prepare("", WORLD_GROUP, "ou_manager", true)).role);
    CHECK_INT(SMA_ROLE_MEMBER, prepared_of(world_prepare("", WORLD_GROUP, "ou_other", true)).role);
    platform_script("GET", "/open-apis/im/v1/chats/", 1, 400, "",
                    "{\"code\":99991672,\"msg\":\"no scope\"}");
    CHECK_INT(SMA_ROLE_UNKNOWN, prepared_of(world_prepare("", WORLD_GROUP, "ou_third", true)).role);
    WORLD_WAIT(world_log_count("grant it in the developer console") == 1);
    world_close();
}

/* -- look-ups ---------------------------------------------------------------------------------- */
#define MESSAGE "/open-apis/im/v1/messages/"
#define ITEM(id, type, sender, content)                                                       \
    "{\"message_id\":\"" id "\",\"msg_type\":\"" type "\",\"create_time\":\"1763755000000\"," \
    "\"chat_id\":\"oc_1\",\"sender\":{\"id\":\"" sender                                       \
    "\",\"id_type\":\"open_id\",\"sender_type\":"                                             \
    "\"user\"},\"body\":{\"content\":\"" content "\"}}"
#define ITEMS(items) "{\"code\":0,\"msg\":\"success\",\"data\":{\"items\":[" items "]}}"
#define QUOTE(id, more) "[{\"kind\":\"quoted message\",\"message_id\":\"" id "\"" more "}]"

static void what_is_quoted_is_read_and_its_files_fetched(void)
{
    world_open("");
    platform_script("GET", MESSAGE "om_q", 1, 200, "",
                    ITEMS(ITEM("om_q", "image", "ou_x", "{\\\"image_key\\\":\\\"img_q\\\"}")));
    struct world_prepared prepared =
        prepared_of(world_prepare(QUOTE("om_q", ""), WORLD_GROUP, WORLD_ADA, false));
    const char *head = "This message is a reply to a message of \"ou_x\"\n@attach photo ";
    CHECK(strncmp(head, prepared.context, strlen(head)) == 0);
    char path[512];
    CHECK_INT(1, sscanf(prepared.context + strlen(head), "%511s", path));
    CHECK(file_is(path, "content of a file"));
    CHECK_INT(1, platform_count("GET", MESSAGE "om_q/resources/img_q?type=image"));
    /* its words in quotes: they are not the speaker's */
    platform_script("GET", MESSAGE "om_q", 1, 200, "",
                    ITEMS(ITEM("om_q", "text", "ou_x", "{\\\"text\\\":\\\"bon\\\\njour\\\"}")));
    prepared = prepared_of(world_prepare(QUOTE("om_q", ""), WORLD_GROUP, WORLD_ADA, false));
    CHECK_TEXT("This message is a reply to a message of \"ou_x\": \"bon\\njour\"",
               prepared.context);
    world_close();
}

static void what_cannot_be_read_is_named(void)
{
    world_open("");
    platform_script("GET", MESSAGE "om_q", 1, 400, "", "{\"code\":230110,\"msg\":\"deleted\"}");
    struct world_prepared prepared =
        prepared_of(world_prepare(QUOTE("om_q", ""), WORLD_GROUP, WORLD_ADA, false));
    CHECK(strstr(prepared.context, "The quoted message could not be read: ") != NULL);
    CHECK(strstr(prepared.context, "230110") != NULL);
    /* trouble that passes is waited out */
    platform_script("GET", MESSAGE "om_q", 1, 500, "", "");
    platform_script("GET", MESSAGE "om_q", 1, 200, "",
                    ITEMS(ITEM("om_q", "text", "ou_x", "{\\\"text\\\":\\\"x\\\"}")));
    prepared = prepared_of(world_prepare(QUOTE("om_q", ""), WORLD_GROUP, WORLD_ADA, false));
    CHECK(strstr(prepared.context, ": \"x\"") != NULL);
    world_close();
}

/* In a topic every message answers the first one: it is shown once. */
static void a_topics_first_message_is_shown_once(void)
{
    world_open("");
    platform_script("GET", MESSAGE "om_q", 1, 500, "", ""); /* not shown: it is asked for again */
    platform_script("GET", MESSAGE "om_q", 1, 200, "",
                    ITEMS(ITEM("om_q", "text", "ou_x", "{\\\"text\\\":\\\"topic\\\"}")));
    const char *list = QUOTE("om_q", ",\"is_first\":true");
    struct world_prepared prepared =
        prepared_of(world_prepare(list, WORLD_GROUP, WORLD_ADA, false));
    CHECK(strstr(prepared.context, "\"topic\"") != NULL);
    CHECK_TEXT("", prepared_of(world_prepare(list, WORLD_GROUP, WORLD_ADA, false)).context);
    CHECK_INT(2, platform_count("GET", MESSAGE "om_q"));
    world_close();
}

static void forwarded_messages_are_read_by_one_question(void)
{
    world_open("");
    platform_script(
        "GET", MESSAGE "om_m", 1, 200, "",
        ITEMS(ITEM("om_m", "merge_forward", "ou_x", "{\\\"content\\\":\\\"Merged\\\"}") "," ITEM(
            "om_2", "text", "ou_a",
            "{\\\"text\\\":\\\"one\\\"}") "," ITEM("om_3", "image", "ou_b",
                                                   "{\\\"image_key\\\":\\\"img_"
                                                   "1\\\"}") ","
                                                             "{\"message_id\":\"om_"
                                                             "4\",\"deleted\":"
                                                             "true}"));
    struct world_prepared prepared = prepared_of(world_prepare(
        "[{\"kind\":\"forwarded messages\",\"message_id\":\"om_m\"}]", WORLD_CHAT, "", false));
    CHECK_TEXT(
        "The forwarded messages:\n- \"ou_a\" at 2025-11-21T19:56:40.000Z: \"one\"\n- \"ou_b\" at "
        "2025-11-21T19:56:40.000Z (with a file that cannot be fetched)",
        prepared.context);
    CHECK_INT(1, platform_count("GET", MESSAGE));
    world_close();
}

/* Without the right nobody has a name, as ever, and no message waits for it. */
static void people_are_called_by_their_names(void)
{
    const char *list = "[{\"kind\":\"name of its author\",\"user_id\":\"ou_a\"}]";
    world_open("");
    platform_script(
        "GET", "/open-apis/im/v1/chats/" WORLD_GROUP "/members", 1, 200, "",
        "{\"code\":0,\"msg\":\"success\",\"data\":{\"items\":[{\"member_id_type\":\"open_id\","
        "\"member_id\":\"ou_b\",\"name\":\"Bo\\nb\"},{\"member_id_type\":\"open_id\","
        "\"member_id\":\"ou_a\",\"name\":\"Ann\"}],\"has_more\":false}}");
    struct world_prepared prepared = prepared_of(world_prepare(list, WORLD_GROUP, "ou_a", false));
    CHECK_TEXT("Ann", prepared.user_name);
    CHECK_TEXT("", prepared.context);
    platform_script("GET", MESSAGE "om_q", 1, 200, "",
                    ITEMS(ITEM("om_q", "text", "ou_b", "{\\\"text\\\":\\\"x\\\"}")));
    prepared = prepared_of(world_prepare(QUOTE("om_q", ""), WORLD_GROUP, "ou_a", false));
    CHECK(strstr(prepared.context, "a message of \"Bo b\"") != NULL); /* learned with the others */
    platform_script("GET", "/open-apis/contact/v3/users/ou_c?user_id_type=open_id", 1, 200, "",
                    "{\"code\":0,\"msg\":\"success\",\"data\":{\"user\":{\"open_id\":\"ou_c\","
                    "\"name\":\"Cy\"}}}");
    prepared = prepared_of(world_prepare("[{\"kind\":\"name of its author\",\"user_id\":\"ou_c\"}]",
                                         WORLD_CHAT, "ou_c", false));
    CHECK_TEXT("Cy", prepared.user_name);
    platform_script("GET", "/open-apis/contact/v3/users/ou_d", 1, 400, "",
                    "{\"code\":99991672,\"msg\":\"no scope\"}");
    list = "[{\"kind\":\"name of its author\",\"user_id\":\"ou_d\"}]";
    prepared = prepared_of(world_prepare(list, WORLD_CHAT, "ou_d", false));
    CHECK_TEXT("", prepared.user_name);
    CHECK_TEXT("", prepared.context);
    WORLD_WAIT(world_log_count("people have no names here") == 1);
    (void)prepared_of(world_prepare(list, WORLD_CHAT, "ou_d", false));
    CHECK_INT(1, platform_count("GET", "/open-apis/contact/v3/users/ou_d"));
    world_close();
}

/* Neither who has no name nor who may not be seen is asked for again: it would hold up each of
 * their messages. Others still are. */
static void whom_the_platform_does_not_name_is_asked_for_once(void)
{
    const char *list = "[{\"kind\":\"name of its author\",\"user_id\":\"ou_e\"}]";
    world_open("");
    platform_script("GET", "/open-apis/contact/v3/users/ou_e", 1, 200, "",
                    "{\"code\":0,\"msg\":\"success\",\"data\":{\"user\":{\"open_id\":\"ou_e\"}}}");
    for (int i = 0; i < 2; i++)
        CHECK_TEXT("", prepared_of(world_prepare(list, WORLD_CHAT, "ou_e", false)).user_name);
    CHECK_INT(1, platform_count("GET", "/open-apis/contact/v3/users/ou_e"));
    platform_script("GET", "/open-apis/contact/v3/users/ou_h", 1, 400, "",
                    "{\"code\":41050,\"msg\":\"no user authority error\"}");
    list = "[{\"kind\":\"name of its author\",\"user_id\":\"ou_h\"}]";
    for (int i = 0; i < 2; i++)
        CHECK_TEXT("", prepared_of(world_prepare(list, WORLD_CHAT, "ou_h", false)).user_name);
    CHECK_INT(1, platform_count("GET", "/open-apis/contact/v3/users/ou_h"));
    platform_script(
        "GET", "/open-apis/im/v1/chats/" WORLD_GROUP "/members", 1, 200, "",
        "{\"code\":0,\"msg\":\"success\",\"data\":{\"items\":[{\"member_id_type\":\"open_id\","
        "\"member_id\":\"ou_f\",\"name\":\"Fay\"}],\"has_more\":true}}");
    list = "[{\"kind\":\"name of its author\",\"user_id\":\"ou_g\"}]";
    for (int i = 0; i < 2; i++) /* not among the first hundred */
        CHECK_TEXT("", prepared_of(world_prepare(list, WORLD_GROUP, "ou_g", false)).user_name);
    list = "[{\"kind\":\"name of its author\",\"user_id\":\"ou_f\"}]";
    CHECK_TEXT("Fay", prepared_of(world_prepare(list, WORLD_GROUP, "ou_f", false)).user_name);
    CHECK_INT(1, platform_count("GET", "/open-apis/im/v1/chats/" WORLD_GROUP "/members"));
    world_close();
}

static void a_person_is_looked_up(void)
{
    static const struct
    {
        int status;
        const char *body, *profile, *context;
    } rows[] = {
        {200,
         "{\"code\":0,\"data\":{\"user\":{\"name\":\"C\\\"\\ny\\u202e\",\"job_title\":\"cook\"}}}",
         "{\"name\":\"C\\\" y\",\"jobTitle\":\"cook\"}", ""},
        {400, "{\"code\":99991672,\"msg\":\"no scope\"}", "", "contact:user.base:readonly"},
        {400, "{\"code\":41050,\"msg\":\"no user authority error\"}", "", "no user authority"},
        {200, "{\"code\":0,\"data\":{\"user\":{\"open_id\":\"ou_p\"}}}", "", "names nobody"},
        {429, "{\"code\":99991400,\"msg\":\"request trigger frequency limit\"}", "",
         "try again in "},
    };
    world_open("");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        platform_script("GET", "/open-apis/contact/v3/users/ou_p?user_id_type=open_id", 1,
                        rows[i].status, "", rows[i].body);
        struct world_prepared person = prepared_of(world_ask_profile(WORLD_GROUP, "ou_p"));
        CHECK_TEXT(rows[i].profile, person.profile);
        CHECK(strstr(person.context, rows[i].context) != NULL);
        CHECK(rows[i].context[0] != '\0' || person.context[0] == '\0');
    }
    char body[512] = "{\"code\":0,\"data\":{\"user\":{\"name\":\"", profile[512] = "{\"name\":\"";
    for (size_t i = 0; i < 100; i++) /* 300 bytes; 256 would end within a character */
        strcat(body, "\xE5\xAE\x89");
    strcat(body, "\"}}}");
    for (size_t i = 0; i < 85; i++)
        strcat(profile, "\xE5\xAE\x89");
    strcat(profile, "\"}");
    platform_script("GET", "/open-apis/contact/v3/users/ou_p?user_id_type=open_id", 1, 200, "",
                    body);
    CHECK_TEXT(profile, prepared_of(world_ask_profile(WORLD_GROUP, "ou_p")).profile);
    world_close();
}

int main(void)
{
    RUN(attachments_come_onto_the_disk);
    RUN(what_cannot_be_had_is_named);
    RUN(a_json_file_is_a_file);
    RUN(trouble_that_passes_is_waited_out);
    RUN(an_ended_token_costs_no_attachment);
    RUN(lists_that_are_not_ours_fetch_nothing);
    RUN(roles_are_looked_up_and_remembered);
    RUN(what_is_quoted_is_read_and_its_files_fetched);
    RUN(what_cannot_be_read_is_named);
    RUN(a_topics_first_message_is_shown_once);
    RUN(forwarded_messages_are_read_by_one_question);
    RUN(people_are_called_by_their_names);
    RUN(whom_the_platform_does_not_name_is_asked_for_once);
    RUN(a_person_is_looked_up);
    return check_summary();
}
