/*
 * Aim: the platform knows for an hour what was sent under a uuid of the app, in whatever chat. A
 * project that begins anew (its .ship was deleted), and a second project of the same app, use none
 * of those uuids again: no answer vanishes and nobody's answer is written into another person's
 * chat.
 * Method: the real binary, a Feishu in this process, a model server; .ship is deleted between two
 *   lives. scenario_feishu_fresh BINARY FAKE_MODEL
 */
#include "feishu_world.h"
#include "support/check.h"

#define LATE "[[fault:silence ms=20000]] "

static struct platform_world world;
static char *binary, *fake_model;

static void begin(void)
{
    world = (struct platform_world){0};
    platform_world_start(&world, &feishu_kind, binary, fake_model,
                         &(struct platform_options){.members = ",\"access\":\"anyone\""});
}

static void begin_anew(void)
{
    char path[256], *output = NULL;
    CHECK_INT(0, service_stop(&world.world.service));
    snprintf(path, sizeof path, "%s/.ship", world.world.folder.path);
    const char *argv[] = {"/bin/rm", "-rf", "--", path, NULL};
    CHECK_INT(0, run_to_end((char *const *)argv, "", &output, 20000));
    free(output);
    service_start(&world.world.service, binary, &world.world.folder);
    platform_world_await_ready(&world);
}

static void the_same_question_to_a_new_state_is_answered(void)
{
    begin();
    for (size_t life = 1; life <= 3; life++) {
        chat_say(&world, ANN_CHAT, ANN, "what is new?");
        for (long long until = process_now_ms() + AWAIT_MS;
             chat_count(&world, ANN_CHAT, "You said: what is new?") < life &&
             process_now_ms() < until;)
            process_pause_ms(5);
        CHECK_INT((long long)life,
                  (long long)chat_count(&world, ANN_CHAT, "You said: what is new?"));
        if (life < 3)
            begin_anew();
    }
    platform_world_stop(&world);
}

/* A card of progress is there, so that the answer takes its place. */
static void talk_with_card(const char *chat, const char *user, const char *text)
{
    char line[128];
    snprintf(line, sizeof line, LATE "%s", text);
    chat_say(&world, chat, user, line);
    for (long long until = process_now_ms() + AWAIT_MS;
         chat_sent(&world, chat) == 0 && process_now_ms() < until;)
        process_pause_ms(5);
    CHECK_INT(1, (long long)chat_sent(&world, chat));
    world_end_silence(&world.world);
    chat_expect(&world, chat, text);
    platform_settle(&world);
    CHECK_INT(1, (long long)chat_sent(&world, chat)); /* the card became the answer */
}

static void a_card_of_another_chat_is_never_changed(void)
{
    begin();
    talk_with_card(ANN_CHAT, ANN, "a secret of Ann");
    begin_anew();
    talk_with_card(BOB_CHAT, BOB, "a secret of Bob");
    CHECK_INT(0, (long long)chat_count(&world, ANN_CHAT, "of Bob"));
    CHECK_INT(1, (long long)chat_count(&world, ANN_CHAT, "a secret of Ann"));
    CHECK_INT(0, (long long)chat_count(&world, BOB_CHAT, "of Ann"));
    platform_world_stop(&world);
}

int main(int argc, char **argv)
{
    CHECK_INT(3, argc);
    binary = argv[1];
    fake_model = argv[2];
    RUN(the_same_question_to_a_new_state_is_answered);
    RUN(a_card_of_another_chat_is_never_changed);
    return check_summary();
}
