/*
 * Aim: a picture that is refused makes neither its own message nor a later one fail, before and
 *      after a restart; a model that has no eyes is asked with a picture once; another model says
 *      what a picture shows.
 * Method: the real binary before a model server that refuses on demand; what it was asked tells.
 *   scenario_pictures_refused BINARY FAKE_MODEL
 */
#include "support/check.h"
#include "support/pictures.h"
#include "talk.h"
#include "world.h"

#include <signal.h>

#define KEY "\"apiKey\":\"" WORLD_API_KEY "\""

static const char *binary, *fake_model;

static char *png(unsigned char shade)
{
    struct picture picture = picture_png(3, 2, shade);
    char *base64 = picture_base64(&picture);
    free(picture.bytes);
    return base64;
}

static void post(const struct world *world, const char *words, const char *picture)
{
    char *body = malloc((picture == NULL ? 0 : strlen(picture)) + 1024);
    CHECK(body != NULL);
    sprintf(body, "{\"instructions\":\"%s\",\"chatId\":\"c\"%s%s%s}", words,
            picture == NULL ? "" : ",\"attachments\":[{\"name\":\"a.png\",\"data\":\"",
            picture == NULL ? "" : picture, picture == NULL ? "" : "\"}]");
    struct http_answer answer = http_ask(world->service.port, "/api/execute", "", body, TALK_MS);
    CHECK_INT(200, answer.status);
    http_answer_fini(&answer);
    free(body);
}

static void start_again(struct world *world)
{
    service_kill(&world->service);
    service_start(&world->service, binary, &world->folder);
}

CASE(a_refused_picture_makes_no_later_message_fail)
{
    static const char *const wires[] = {KEY ",\"api\":\"chat\",\"model\":\"gemini-3-pro\"",
                                        KEY ",\"api\":\"responses\",\"model\":\"gpt-5.5\"",
                                        KEY
                                        ",\"api\":\"messages\",\"model\":\"claude-sonnet-4-5\""};
    for (size_t i = 0; i < SMA_COUNT_OF(wires); i++) {
        struct world world = {.may_prefix_move = true};
        char *shown = png((unsigned char)(20 + i));
        world_start(&world, binary, fake_model, wires[i], "");
        post(&world, "look at it [[fault:400]]", shown);
        CHECK_INT(1, world_asked_count(&world, shown)); /* and once without */
        CHECK(world_asked_count(&world, "the provider of the model refused it") > 0);
        post(&world, "and now?", NULL);
        start_again(&world);
        post(&world, "and after the restart?", NULL);
        CHECK_INT(1, world_asked_count(&world, shown));
        world_stop(&world);
        free(shown);
    }
}

/* Nobody knows this model: it refused without a word, and took the message without the picture. */
CASE(no_eyes_are_known_over_a_restart)
{
    struct world world = {.may_prefix_move = true};
    char *first = png(30), *second = png(31), *third = png(32);
    world_start(&world, binary, fake_model, KEY ",\"model\":\"nobody-knows\"", "");
    post(&world, "look at it [[fault:400]]", first);
    post(&world, "and this one", second);
    start_again(&world);
    post(&world, "and the last", third);
    CHECK_INT(1, world_asked_count(&world, first));
    CHECK_INT(0, world_asked_count(&world, second));
    CHECK_INT(0, world_asked_count(&world, third));
    CHECK(world_asked_count(&world, "this model does not see pictures") > 0);
    world_stop(&world);
    free(first);
    free(second);
    free(third);
}

/* The one that is asked has no eyes, and says so. */
CASE(another_model_says_what_is_shown)
{
    struct world world = {.may_prefix_move = true};
    char *shown = png(40);
    world_start(&world, binary, fake_model,
                KEY ",\"model\":\"glm-5.3\",\"vision\":{\"model\":\"gemini-3-pro\"}", "");
    post(&world, "what is it? [[plain]]", shown);
    CHECK_INT(1, world_asked_count(&world, shown));
    CHECK_INT(1, world_asked_count(&world, "You describe pictures for a language model"));
    CHECK(world_asked_count(&world, "another model that sees it says: ") > 0);
    world_stop(&world);
    free(shown);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    (void)signal(SIGPIPE, SIG_IGN);
    binary = argv[1];
    fake_model = argv[2];
    check_run_cases(NULL);
    return check_summary();
}
