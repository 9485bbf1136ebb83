/*
 * Aim: "/server:prompt words" stands for what the server gives, as people type it on Feishu and QQ:
 *      in private chats and in groups, where the platform puts a mention or a blank in front.
 * Method: the real binary between the platforms, a model and a server over stdio; the model's
 *   requests are read.
 *   scenario_mcp_prompts BINARY FAKE_MODEL FAKE_MCP
 */
#include "mcp_world.h"
#include "platform_world.h"

#define QQ_ANN "c2c:A1B2C3D4E5F60718293A4B5C6D7E8F90"
#define QQ_TEAM "group:B2C3D4E5F60718293A4B5C6D7E8F90A1"
#define LET_IN "[\"ou_ann\",\"A1B2C3D4E5F60718293A4B5C6D7E8F90\",\"M1\"]"

extern const struct platform_kind feishu_kind, qq_kind;

static void start(struct platform_world *world, const struct platform_kind *kind)
{
    platform_world_create(world, kind, programs.fake_model,
                          &(struct platform_options){
                              .access = LET_IN,
                              .root = ",\"permissions\":{\"mcp\":{\"allow\":[\"*\"]}},"
                                      "\"memory\":{\"auto\":false}",
                          });
    mcp_write(&world->world, (const char *const[]){"box", "rich", NULL}, "");
    service_start(&world->world.service, programs.service, &world->world.folder);
    platform_world_await_ready(world);
    mcp_await_state(&world->world, "box", "connected");
}

/* Said so, it comes to the model as what the server gives for `topic`. */
static void stands_for(const struct platform_world *world, const char *chat, const char *user,
                       const char *text, const char *topic)
{
    char given[64];
    snprintf(given, sizeof given, "Say hello to %s", topic);
    (void)chat_say_as(world, chat_text_id(chat), user == NULL ? NULL : chat_text_id(user), text);
    long long until = process_now_ms() + WAIT_MS;
    while (platform_asked(world, given) == 0) {
        if (process_now_ms() > until)
            chat_show_of(world, NULL);
        CHECK(process_now_ms() <= until);
        process_pause_ms(5);
    }
    platform_settle(world);
}

CASE(on_feishu_with_and_without_a_mention)
{
    struct platform_world world;
    start(&world, &feishu_kind);
    stands_for(&world, "oc_ann", "ou_ann", "/box:greet the moon", "the moon");
    stands_for(&world, "oc_team", "ou_ann", "@{bot} /box:greet the sun", "the sun");
    platform_world_stop(&world);
}

CASE(on_qq_with_the_blank_of_a_mention)
{
    struct platform_world world;
    start(&world, &qq_kind);
    stands_for(&world, QQ_ANN, NULL, "/box:greet the moon", "the moon");
    stands_for(&world, QQ_TEAM, NULL, " /box:greet the sun ", "the sun");
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    programs = (struct mcp_programs){argv[1], argv[2], argv[3]};
    check_run_cases(NULL);
    return check_summary();
}
