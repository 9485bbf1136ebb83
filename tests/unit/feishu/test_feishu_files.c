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
    CHECK_TEXT(
        "", prepared_of(world_prepare("[" FILE_A "," FILE_B "]", WORLD_CHAT, "", false)).context);
    CHECK(file_is(PATH_A, "content of a file") && file_is(PATH_B, "content of a file"));
    CHECK_INT(1, platform_count("GET", RESOURCE "file_aaa?type=file"));
    CHECK_INT(1, platform_count("GET", RESOURCE "img_bbb?type=image"));
    (void)prepared_of(
        world_prepare("[" FILE_A "]", WORLD_CHAT, "", false)); /* asked again after a restart */
    CHECK_INT(1, platform_count("GET", RESOURCE "file_aaa"));
    world_close();
}

static void what_cannot_be_had_is_named(void)
{
    world_open(",\"attachmentBytesMax\":10");
    struct world_prepared prepared =
        prepared_of(world_prepare("[" FILE_A "]", WORLD_CHAT, "", false));
    CHECK(strstr(prepared.context, "attachmentBytesMax") != NULL);
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

int main(void)
{
    RUN(attachments_come_onto_the_disk);
    RUN(what_cannot_be_had_is_named);
    RUN(a_json_file_is_a_file);
    RUN(trouble_that_passes_is_waited_out);
    RUN(an_ended_token_costs_no_attachment);
    RUN(lists_that_are_not_ours_fetch_nothing);
    RUN(roles_are_looked_up_and_remembered);
    return check_summary();
}
