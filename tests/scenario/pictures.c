/*
 * Aim: what people show reaches the model: photos, albums, stickers, pictures sent as files, those
 * of messages that are answered, from every platform, over HTTP and from the terminal; after a kill
 * too.
 * Method: the real binary between a platform and a model server; the bytes of each picture are
 * looked for in what the model was asked.
 *   scenario_pictures BINARY FAKE_MODEL
 */
#include "platform_world.h"

#include "support/check.h"
#include "support/pictures.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#define TELEGRAM_ANN 1001
#define TELEGRAM_BOB 1002
#define TELEGRAM_TEAM (-1001234567890)
#define FEISHU_ANN "ou_ann"
#define FEISHU_BOB "ou_bob"
#define FEISHU_CHAT "oc_ann"
#define FEISHU_TEAM "oc_team"
#define QQ_ANN "c2c:A1B2C3D4E5F60718293A4B5C6D7E8F90"
#define QQ_TEAM "group:B2C3D4E5F60718293A4B5C6D7E8F90A1"

#define KEY "\"apiKey\":\"" WORLD_API_KEY "\""
#define API(name) KEY ",\"api\":\"" name "\""

extern const struct platform_kind telegram_kind, feishu_kind, qq_kind;
static const char *binary, *fake_model;

/* -- pictures ---------------------------------------------------------------------------------- */
/* Each has bytes of its own. */
static char *png(unsigned char shade)
{
    struct picture picture = picture_png(3, 2, shade);
    char *base64 = picture_base64(&picture);
    free(picture.bytes);
    return base64;
}

static char *base64_of(struct picture picture)
{
    char *base64 = picture_base64(&picture);
    free(picture.bytes);
    return base64;
}

/* The newest request that holds `words` shows this picture, or does not. */
static void expect_shown(const struct world *world, const char *words, const char *base64,
                         bool is_shown)
{
    json_t *list = world_asked(world, words);
    size_t count = json_array_size(list);
    CHECK(count > 0);
    const char *body = talk_text(json_array_get(list, count - 1), "body");
    if ((strstr(body, base64) != NULL) != is_shown)
        fprintf(stderr, "the request with \"%s\" %s %s:\n%s\n", words, is_shown ? "lacks" : "holds",
                base64, body);
    CHECK((strstr(body, base64) != NULL) == is_shown);
    json_decref(list);
}

static void start(struct platform_world *world, const struct platform_kind *kind)
{
    platform_world_start(world, kind, binary, fake_model, &(struct platform_options){0});
}

/* -- Telegram ---------------------------------------------------------------------------------- */
static void telegram_say(const struct platform_world *world, const char *caption, const char *kind,
                         const char *name, const char *mime, const char *base64)
{
    platform_tell(&world->client, "{s:s,s:i,s:i,s:s,s:{s:s,s:s,s:s,s:s}}", "do", "say", "chat",
                  TELEGRAM_ANN, "user", TELEGRAM_ANN, "caption", caption, "file", "kind", kind,
                  "name", name, "mime", mime, "base64", base64);
    chat_expect(world, TELEGRAM_ANN, caption);
}

CASE(a_photo_of_telegram_is_shown)
{
    struct platform_world world;
    char *photo = base64_of(picture_jpeg()), *document = png(1),
         *sticker = base64_of(picture_webp());
    start(&world, &telegram_kind);
    telegram_say(&world, "what is it?", "photo", "", "", photo);
    expect_shown(&world.world, "what is it?", photo, true);
    telegram_say(&world, "sent as a file", "document", "plan.png", "image/png", document);
    expect_shown(&world.world, "sent as a file", document, true);
    telegram_say(&world, "and a sticker", "sticker", "", "", sticker);
    expect_shown(&world.world, "and a sticker", sticker, true);
    platform_world_stop(&world);
    free(photo);
    free(document);
    free(sticker);
}

CASE(an_album_of_telegram_is_shown_whole)
{
    struct platform_world world;
    char *photos[3];
    start(&world, &telegram_kind);
    for (int i = 0; i < 3; i++) {
        photos[i] = png((unsigned char)(10 + i));
        platform_tell(&world.client, "{s:s,s:i,s:i,s:s,s:s,s:{s:s,s:s}}", "do", "say", "chat",
                      TELEGRAM_ANN, "user", TELEGRAM_ANN, "group", "album-1", "caption",
                      i == 0 ? "three of them" : "", "file", "kind", "photo", "base64", photos[i]);
    }
    chat_expect(&world, TELEGRAM_ANN, "You said");
    platform_settle(&world);
    for (int i = 0; i < 3; i++) {
        expect_shown(&world.world, "three of them", photos[i], true);
        free(photos[i]);
    }
    platform_world_stop(&world);
}

CASE(a_photo_that_is_answered_is_shown)
{
    struct platform_world world;
    char *photo = png(20);
    start(&world, &telegram_kind);
    int64_t id = platform_get(&world.client, "message_id", "{s:s,s:I,s:i,s:s,s:{s:s,s:s}}", "do",
                              "say", "chat", (json_int_t)TELEGRAM_TEAM, "user", TELEGRAM_BOB,
                              "caption", "nobody is asked", "file", "kind", "photo", "base64",
                              photo); /* privacy mode: the bot does not see it */
    platform_tell(&world.client, "{s:s,s:I,s:i,s:s,s:I}", "do", "say", "chat",
                  (json_int_t)TELEGRAM_TEAM, "user", TELEGRAM_ANN, "text",
                  "@helper_bot what does he show?", "reply_to", (json_int_t)id);
    chat_expect(&world, TELEGRAM_TEAM, "what does he show?");
    expect_shown(&world.world, "what does he show?", photo, true);
    platform_world_stop(&world);
    free(photo);
}

/* -- Feishu ------------------------------------------------------------------------------------ */
CASE(pictures_of_feishu_are_shown)
{
    struct platform_world world;
    char *photo = png(30), *quoted = png(31);
    start(&world, &feishu_kind);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:{s:s,s:s}}", "do", "say", "chat", FEISHU_CHAT,
                  "user", FEISHU_ANN, "file", "kind", "image", "base64", photo);
    chat_expect(&world, FEISHU_CHAT, "@attach photo");
    expect_shown(&world.world, "@attach photo", photo, true);
    /* In a group nobody addressed the bot with it; the answer to it does. */
    json_t *said =
        platform_do(&world.client, "{s:s,s:s,s:s,s:{s:s,s:s}}", "do", "say", "chat", FEISHU_TEAM,
                    "user", FEISHU_BOB, "file", "kind", "image", "base64", quoted);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s,s:s}", "do", "say", "chat", FEISHU_TEAM, "user",
                  FEISHU_ANN, "text", "@{bot} what does he show?", "reply_to",
                  talk_text(said, "message_id"));
    chat_expect(&world, FEISHU_TEAM, "what does he show?");
    expect_shown(&world.world, "what does he show?", quoted, true);
    json_decref(said);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s,s:s,s:[{s:s},{s:s}]}", "do", "say", "chat",
                  FEISHU_CHAT, "user", FEISHU_ANN, "type", "post", "text", "compare these two",
                  "images", "base64", photo, "base64", quoted);
    chat_expect(&world, FEISHU_CHAT, "compare these two");
    expect_shown(&world.world, "compare these two", quoted, true);
    expect_shown(&world.world, "compare these two", photo, true);
    platform_world_stop(&world);
    free(photo);
    free(quoted);
}

/* -- QQ ---------------------------------------------------------------------------------------- */
CASE(pictures_of_qq_are_shown)
{
    struct platform_world world;
    char *photo = png(40), *group = png(41), *quoted = png(42);
    start(&world, &qq_kind);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:[{s:s,s:s,s:s}]}", "do", "say", "chat", QQ_ANN,
                  "text", "what is it?", "attachments", "type", "image/png", "name", "a.png",
                  "base64", photo);
    chat_expect(&world, QQ_ANN, "what is it?");
    expect_shown(&world.world, "what is it?", photo, true);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:[{s:s,s:s,s:s}]}", "do", "say", "chat", QQ_TEAM,
                  "text", "and this one?", "attachments", "type", "image/png", "name", "b.png",
                  "base64", group);
    chat_expect(&world, QQ_TEAM, "and this one?");
    expect_shown(&world.world, "and this one?", group, true);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:s,s:[{s:s,s:s,s:s}]}", "do", "say", "chat", QQ_ANN,
                  "text", "what did he show?", "quote", "look", "quote_attachments", "type",
                  "image/png", "name", "c.png", "base64", quoted);
    chat_expect(&world, QQ_ANN, "what did he show?");
    expect_shown(&world.world, "what did he show?", quoted, true);
    platform_world_stop(&world);
    free(photo);
    free(group);
    free(quoted);
}

/* The link of a picture ends before it is fetched: the model is told, and is shown nothing. */
CASE(a_picture_whose_link_has_ended_is_named)
{
    struct platform_world world;
    char *photo = png(43);
    start(&world, &qq_kind);
    platform_status(&world, "download", 503, 0, 1);
    platform_tell(&world.client, "{s:s,s:s,s:s,s:[{s:s,s:s,s:s}]}", "do", "say", "chat", QQ_ANN,
                  "text", "what is it?", "attachments", "type", "image/png", "name", "a.png",
                  "base64", photo);
    while (platform_calls(&world, "download") == 0)
        process_pause_ms(5);
    platform_tell(&world.client, "{s:s,s:i}", "do", "clock", "seconds", 3601);
    chat_expect(&world, QQ_ANN, "what is it?");
    expect_shown(&world.world, "what is it?", photo, false);
    CHECK(platform_asked(&world, "could not be fetched") > 0);
    platform_world_stop(&world);
    free(photo);
}

/* -- HTTP, the terminal, a kill ---------------------------------------------------------------- */
static void post(const struct world *world, const char *headers, int status, const char *words,
                 const char *attachments)
{
    char *body = malloc(strlen(attachments) + 1024);
    CHECK(body != NULL);
    sprintf(body, "{\"instructions\":\"%s\",\"chatId\":\"c\",\"attachments\":[%s]}", words,
            attachments);
    struct http_answer answer =
        http_ask(world->service.port, "/api/execute", headers, body, TALK_MS);
    CHECK_INT(status, answer.status);
    http_answer_fini(&answer);
    free(body);
}

static void write_png(const char *folder, const char *name, unsigned char shade)
{
    struct picture picture = picture_png(3, 2, shade);
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    picture_write(path, &picture);
    free(picture.bytes);
}

CASE(attachments_are_shown_on_every_wire)
{
    static const char *const wires[] = {API("chat"), API("responses"), API("messages")};
    for (size_t i = 0; i < SMA_COUNT_OF(wires); i++) {
        struct world world = {0};
        char *data = png((unsigned char)(50 + i)), *path = png((unsigned char)(60 + i)), json[1024];
        world_start(&world, binary, fake_model, wires[i], "");
        write_png(world.folder.path, "plan.png", (unsigned char)(60 + i));
        snprintf(json, sizeof json, "{\"data\":\"%s\",\"name\":\"a.png\"},{\"path\":\"plan.png\"}",
                 data);
        post(&world, "", 200, "compare them", json);
        expect_shown(&world, "compare them", data, true);
        expect_shown(&world, "compare them", path, true);
        world_stop(&world);
        free(data);
        free(path);
    }
}

/* By a model that is known to take them. */
CASE(documents_and_sounds_are_shown)
{
    static const char *const models[] = {API("messages") ",\"model\":\"claude-sonnet-5-5\"",
                                         API("chat") ",\"model\":\"gemini-3-pro\""};
    static const char wave[] =
        "RIFF\x28\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0"
        "\x10\0data\4\0\0\0\1\2\3\4";
    for (size_t i = 0; i < SMA_COUNT_OF(models); i++) {
        struct world world = {0};
        struct picture sound = {NULL, 0};
        picture_put(&sound, wave, sizeof wave - 1);
        char *shown = base64_of(i == 0 ? picture_pdf() : sound), json[2048];
        if (i == 0)
            free(sound.bytes);
        world_start(&world, binary, fake_model, models[i], "");
        snprintf(json, sizeof json, "{\"data\":\"%s\",\"name\":\"file\"}", shown);
        post(&world, "", 200, "what does it say?", json);
        expect_shown(&world, "what does it say?", shown, true);
        world_stop(&world);
        free(shown);
    }
}

CASE(a_file_of_the_terminal_is_shown)
{
    struct world world = {0};
    char outside[] = "/tmp/sma-shown-XXXXXX", file[64], *shown = png(70), *output = NULL;
    CHECK(mkdtemp(outside) != NULL);
    write_png(outside, "page.png", 70);
    snprintf(file, sizeof file, "%s/page.png", outside);
    world_start(&world, binary, fake_model, KEY, "");
    const char *words[] = {binary, "chat", world.folder.path, "--attach", file, NULL};
    CHECK_INT(0, run_to_end((char *const *)(uintptr_t)words, "what is wrong on this page?", &output,
                            30000));
    expect_shown(&world, "what is wrong on this page?", shown, true);
    free(output);
    world_stop(&world);
    CHECK(unlink(file) == 0 && rmdir(outside) == 0);
    free(shown);
}

/* The first message is in the model's hands, the second waits with its picture. */
CASE(a_kill_loses_no_picture)
{
    struct world world = {.may_prefix_move = true};
    char *shown = png(80), json[1024];
    world_start(&world, binary, fake_model, KEY, "");
    snprintf(json, sizeof json, "{\"data\":\"%s\",\"name\":\"a.png\"}", shown);
    post(&world, "Prefer: respond-async\r\n", 202, "[[fault:silence ms=600000]] the first", "");
    post(&world, "Prefer: respond-async\r\n", 202, "the second shows it", json);
    service_kill(&world.service);
    service_start(&world.service, binary, &world.folder);
    for (long long end_ms = process_now_ms() + AWAIT_MS;
         world_asked_count(&world, "the second shows it") == 0 && process_now_ms() < end_ms;) {
        world_end_silence(&world);
        process_pause_ms(20);
    }
    expect_shown(&world, "the second shows it", shown, true);
    world_end_silence(&world);
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
