/*
 * Aim: one command leads from nothing to the first answer: what is entered is tested at once, what
 *   is wrong can be corrected, secrets are neither shown nor left anywhere but in .env, and whoever
 *   leaves in the middle leaves nothing.
 * Method: the real binary on a pseudo terminal, a strict model server and a strict Telegram.
 *   init_wizard BINARY FAKE_MODEL
 */
#include "process.h"
#include "pty.h"
#include "support/check.h"
#include "talk.h"
#include "telegram/fake_telegram.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEY "sk-the-right-key-4711"

static char *binary, *fake_model;

struct place
{
    struct folder parent;
    char path[256]; /* the project that is to be */
    char url[64];
    pid_t model;
    struct pty pty;
};

static void place_create(struct place *place)
{
    char *server[] = {fake_model,       (char *)"--key", (char *)KEY,
                      (char *)"--port", (char *)"0",     NULL};
    folder_create(&place->parent, NULL);
    snprintf(place->path, sizeof place->path, "%s/bot", place->parent.path);
    int port = server_start(server, &place->model);
    snprintf(place->url, sizeof place->url, "http://127.0.0.1:%d/v1", port);
}

static void place_remove(struct place *place)
{
    server_stop(place->model);
    folder_remove(&place->parent);
}

static void begin(struct place *place, const char *option, const char *value)
{
    char port[16]; /* other tests make projects at the same time */
    snprintf(port, sizeof port, "%d", process_free_port());
    char *argv[] = {binary, (char *)"init", place->path,   (char *)"--port",
                    port,   (char *)option, (char *)value, NULL};
    pty_start(&place->pty, argv, NULL);
}

static char *read_made(const struct place *place, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "bot/%s", name);
    return folder_read(&place->parent, path);
}

static void expect_in(const struct place *place, const char *name, const char *part)
{
    char *text = read_made(place, name);
    if (text == NULL || strstr(text, part) == NULL)
        fprintf(stderr, "%s lacks \"%s\":\n%s\n", name, part, text == NULL ? "" : text);
    CHECK(text != NULL && strstr(text, part) != NULL);
    free(text);
}

static void expect_not_in(const struct place *place, const char *name, const char *part)
{
    char *text = read_made(place, name);
    CHECK(text == NULL || strstr(text, part) == NULL);
    free(text);
}

static unsigned mode_of(const struct place *place, const char *name)
{
    char path[512];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", place->path, name);
    CHECK(stat(path, &status) == 0);
    return status.st_mode & 0777;
}

/* Besides Agent.md, which folder_create makes. */
static size_t count_entries(const char *path)
{
    DIR *folder = opendir(path);
    size_t count = 0;
    CHECK(folder != NULL);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                 strcmp(entry->d_name, "Agent.md") != 0;
    closedir(folder);
    return count;
}

static void answer_model(struct place *place)
{
    pty_answer(&place->pty, "number or name", "custom");
    pty_answer(&place->pty, "Address of the server", place->url);
    pty_answer(&place->pty, "it is not shown", KEY);
    pty_answer(&place->pty, "2) fake-model-large", "1");
    (void)pty_await(&place->pty, "ok: answers");
}

/* In the history: what was said, and said again by the model. */
static void await_answer(const struct place *place, const char *part)
{
    char command[512], *output = NULL;
    char *shell[] = {(char *)"/bin/sh", (char *)"-c", command, NULL};
    snprintf(command, sizeof command, "cat %s/.ship/chats/* | grep assistant | grep -qF '%s'",
             place->path, part);
    for (long long until = process_now_ms() + TALK_MS;; process_pause_ms(50)) {
        int status = run_to_end(shell, "", &output, 20000);
        free(output);
        if (status == 0)
            return;
        if (process_now_ms() > until)
            fprintf(stderr, "no answer with \"%s\"; the screen:\n%s\n", part, place->pty.text);
        CHECK(process_now_ms() <= until);
    }
}

/* -- to the first answer ----------------------------------------------------------------------- */
CASE(one_command_leads_to_the_first_answer)
{
    struct place place;
    struct pty *pty = &place.pty;
    place_create(&place);
    begin(&place, NULL, NULL);
    pty_answer(pty, "number or name", "custom");
    pty_answer(pty, "Address of the server", place.url);
    pty_answer(pty, "it is not shown", "sk-a-wrong-key-9999");
    (void)pty_await(pty, "FAILED: ");
    /* the next key, pasted before it was asked for: neither shown nor repeated */
    pty_answer(pty, "number or name [2]", "sk-a-key-too-early");
    (void)pty_await(pty, "That is none of them. A key or token is asked for after the choice.");
    pty_answer(pty, "number or name [2]",
               "entxx\x7f\x7f"
               "er");
    (void)pty_await(pty, "enter\r\n"); /* what could not be a choice was not shown */
    pty_answer(pty, "it is not shown", KEY);
    (void)pty_await(pty, "1) fake-model\r\n"); /* what cannot talk is left out */
    /* a key where a name is asked for, typed or pasted */
    pty_answer(pty, "or any name", "sk-beside-the-question");
    (void)pty_await(pty, "This looks like a key and is not kept.");
    pty_answer(pty, "or any name", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4");
    (void)pty_await(pty, "This looks like a key and is not kept.");
    pty_answer(pty, "or any name", "1");
    (void)pty_await(pty, "Asking fake-model ...");
    (void)pty_await(pty, "Platform to connect:");
    pty_answer(pty, "number or name", "none");
    pty_answer(pty, "without asking?", "yes");
    pty_answer(pty, "1) chat with it", "1");
    (void)pty_await(pty, "> ");
    pty_press(pty, "How are you, first one?\r");
    await_answer(&place, "first one?");
    pty_press(pty, "\x04");
    CHECK(pty_end(pty) == 0);
    CHECK(!pty_has(pty, KEY) && !pty_has(pty, "sk-a-wrong-key-9999"));
    CHECK(!pty_has(pty, "k-a-key-too-early"));
    CHECK(!pty_has(pty, "beside-the") && !pty_has(pty, "k1L2m3N4"));
    expect_not_in(&place, "ship.json", "beside-the");
    expect_in(&place, ".env", "LLM_API_KEY=" KEY "\n");
    expect_in(&place, "ship.json", "\"apiKey\": \"${LLM_API_KEY}\"");
    expect_in(&place, "ship.json", "\"git status\"");
    expect_not_in(&place, "ship.json", "temperature");
    place_remove(&place);
}

CASE(files_keep_the_key_to_themselves)
{
    static const char *const parts[] = {"## Threading Policy", "## Approval Policy",
                                        "## Idempotency Policy"};
    struct place place;
    char command[512];
    char *shell[] = {(char *)"/bin/sh", (char *)"-c", command, NULL}, *output = NULL;
    place_create(&place);
    begin(&place, "--rules", "none");
    answer_model(&place);
    pty_answer(&place.pty, "Platform to connect:", "none");
    pty_answer(&place.pty, "4) nothing now", "4");
    CHECK(pty_end(&place.pty) == 0);
    CHECK(mode_of(&place, ".env") == 0600 && mode_of(&place, ".ship") == 0700);
    for (size_t i = 0; i < 3; i++)
        expect_in(&place, "Agent.md", parts[i]);
    expect_not_in(&place, "ship.json", KEY);
    expect_not_in(&place, ".env.example", KEY);
    expect_in(&place, ".env.example", "LLM_API_KEY=\n");
    snprintf(command, sizeof command,
             "cd %s && git init -q . && git add -A && git ls-files && git grep --cached -c '" KEY
             "'",
             place.path);
    CHECK(run_to_end(shell, "", &output, 20000) == 1); /* nothing found */
    CHECK(strstr(output, "ship.json") != NULL && strstr(output, ".env\n") == NULL);
    free(output);
    place_remove(&place);
}

/* As people give it: without its end, with that of a request, without its beginning. */
CASE(the_address_of_a_server_is_found)
{
    struct place place;
    struct pty *pty = &place.pty;
    char shown[160], *root;
    place_create(&place);
    begin(&place, "--rules", "none");
    pty_answer(pty, "number or name", "custom");
    pty_answer(pty, "Address of the server", "nonsense");
    (void)pty_await(pty, "This is no address.");
    root = strndup(place.url + strlen("http://"), strlen(place.url) - strlen("http:///v1"));
    pty_answer(pty, "Address of the server", root);
    snprintf(shown, sizeof shown, "Taken as http://%s", root);
    (void)pty_await(pty, shown);
    pty_answer(pty, "it is not shown", KEY);
    snprintf(shown, sizeof shown, "and http://%s/v1 does: this address is taken", root);
    (void)pty_await(pty, shown);
    (void)pty_await(pty, "no longer served: 1");
    pty_press(pty, "\x03");
    CHECK(pty_end(pty) == 130);
    begin(&place, "--rules", "none");
    pty_answer(pty, "number or name", "custom");
    snprintf(shown, sizeof shown, "http://%s/nowhere/chat/completions", root);
    pty_answer(pty, "Address of the server", shown);
    snprintf(shown, sizeof shown, "Taken as http://%s/nowhere\r\n", root);
    (void)pty_await(pty, shown);
    pty_answer(pty, "it is not shown", KEY);
    snprintf(shown, sizeof shown,
             "neither http://%s/nowhere/models nor http://%s/nowhere/v1/models", root, root);
    (void)pty_await(pty, shown);
    (void)pty_await(pty, "as in http://127.0.0.1:8000/v1");
    pty_press(pty, "\x03");
    CHECK(pty_end(pty) == 130);
    free(root);
    place_remove(&place);
}

/* Of the keys that lie around, the provider's own is offered, by its name. */
CASE(a_key_of_the_shell_is_offered_by_its_name)
{
    struct place place;
    struct pty *pty = &place.pty;
    place_create(&place);
    setenv("DEEPSEEK_API_KEY", KEY, 1);
    begin(&place, "--base-url", place.url);
    pty_answer(pty, "number or name [4]", ""); /* deepseek: its key is here */
    pty_answer(pty, "DEEPSEEK_API_KEY is set in this shell (it will be kept in .env)", "");
    pty_answer(pty, "or any name", "");
    (void)pty_await(pty, "ok: answers");
    pty_answer(pty, "Platform to connect:", "");
    pty_answer(pty, "without asking?", "no");
    pty_answer(pty, "And then?", "4");
    CHECK(pty_end(pty) == 0 && !pty_has(pty, KEY));
    expect_in(&place, "ship.json", "\"apiKey\": \"${DEEPSEEK_API_KEY}\"");
    expect_in(&place, ".env", "DEEPSEEK_API_KEY=" KEY "\n");
    place_remove(&place);
    /* Another provider's is not. */
    place_create(&place);
    begin(&place, NULL, NULL);
    pty_answer(pty, "number or name", "moonshot");
    (void)pty_await(pty, "Key for moonshot (it is not shown)");
    pty_press(pty, "\x03");
    CHECK(pty_end(pty) == 130 && !pty_has(pty, "DEEPSEEK"));
    unsetenv("DEEPSEEK_API_KEY");
    place_remove(&place);
}

/* Arrow keys are neither shown nor taken for text; backspace takes one character of several
 * bytes. */
CASE(keys_that_move_do_no_harm)
{
    struct place place;
    place_create(&place);
    begin(&place, NULL, NULL);
    pty_answer(&place.pty, "number or name", "\x1b[A\x1b[B\x1bOCcust\x1b[1;5Do\xe4\xbd\xa0\x7fm");
    pty_answer(&place.pty, "Address of the server", "nonsense\x15ht\x1b[Dtp://x\x15");
    pty_answer(&place.pty, "Address of the server", "\x03");
    CHECK(pty_end(&place.pty) == 130);
    CHECK(!pty_has(&place.pty, "^[") && !pty_has(&place.pty, "[A"));
    CHECK(access(place.path, F_OK) != 0);
    place_remove(&place);
}

/* -- a bot ------------------------------------------------------------------------------------- */
static void answer_telegram(struct place *place, const struct telegram *telegram)
{
    struct pty *pty = &place->pty;
    char code[16] = "";
    (void)pty_await(pty, "Platform to connect:");
    pty_answer(pty, "number or name", "telegram");
    pty_answer(pty, "botToken of telegram", "7001234567-half-of-it");
    (void)pty_await(pty, "TELEGRAM_BOT_TOKEN): a bot's token is its number, a colon and 35");
    pty_answer(pty, "botToken of telegram", "7001234567:AAE-the_token_of_another_bot_00002");
    (void)pty_await(pty, "FAILED: Telegram refuses the bot token");
    pty_answer(pty, "2) enter another", "2");
    pty_answer(pty, "botToken of telegram", FAKE_TELEGRAM_TOKEN);
    (void)pty_await(pty, "ok: Telegram knows the bot as @" FAKE_TELEGRAM_BOT_NAME);
    const char *link = pty_await(pty, "https://t.me/" FAKE_TELEGRAM_BOT_NAME "?start=");
    (void)pty_await(pty, "Enter goes on without");
    link = strstr(link, "start=");
    CHECK(sscanf(link, "start=%8s", code) == 1 && strlen(code) == 8);
    /* A stranger is first, and calls herself as the owner does. */
    telegram_tell(telegram, "{s:s,s:i,s:i,s:s}", "do", "say", "chat", 1003, "user", 1003, "text",
                  "/start AAAAAAAA");
    char text[32];
    snprintf(text, sizeof text, "/start %s", code);
    telegram_tell(telegram, "{s:s,s:i,s:i,s:s}", "do", "say", "chat", 1001, "user", 1001, "text",
                  text);
    (void)pty_await(pty, "Ann @ann (1001) is its owner");
    pty_answer(pty, "Connect another platform?", "no");
}

static void await_said(const struct telegram *telegram, int chat, const char *part)
{
    for (long long until = process_now_ms() + TALK_MS;; process_pause_ms(20)) {
        json_t *list = telegram_do(telegram, "{s:s,s:i}", "do", "list", "chat", chat);
        char *text = json_dumps(list, JSON_ENSURE_ASCII);
        bool is_there = strstr(text, part) != NULL;
        if (!is_there && process_now_ms() > until)
            fprintf(stderr, "chat %d never shows \"%s\": %s\n", chat, part, text);
        CHECK(is_there || process_now_ms() <= until);
        free(text);
        json_decref(list);
        if (is_there)
            return;
    }
}

/* What ps, pgrep and doctor call it: not what init has run itself by. */
static void expect_name(pid_t pid, const char *wanted)
{
    char path[64], name[64] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    CHECK(file != NULL && fgets(name, sizeof name, file) != NULL);
    CHECK(fclose(file) == 0);
    CHECK_TEXT(wanted, name);
}

CASE(a_bot_answers_its_owner_after_one_command)
{
    struct place place;
    struct pty *pty = &place.pty;
    char root[64];
    struct telegram telegram = {.fake = fake_telegram_start(0)};
    telegram.port = fake_telegram_port(telegram.fake);
    telegram_tell(&telegram, "{s:s,s:i,s:s,s:s,s:s}", "do", "user", "id", 1001, "first_name", "Ann",
                  "username", "ann", "language", "en");
    telegram_tell(&telegram, "{s:s,s:i,s:s,s:s,s:s}", "do", "user", "id", 1003, "first_name", "Ann",
                  "username", "", "language", "en");
    snprintf(root, sizeof root, "http://127.0.0.1:%d", telegram.port);
    place_create(&place);
    begin(&place, "--telegram-api-root", root);
    answer_model(&place);
    answer_telegram(&place, &telegram);
    pty_answer(pty, "without asking?", "no");
    pty_answer(pty, "And then?", "2");
    (void)pty_await(pty, "connected as @" FAKE_TELEGRAM_BOT_NAME);
    expect_name(pty->pid, "shipmyagent\n");
    telegram_tell(&telegram, "{s:s,s:i,s:i,s:s}", "do", "say", "chat", 1001, "user", 1001, "text",
                  "Are you there, bot?");
    await_said(&telegram, 1001, "there, bot?\"");
    await_said(&telegram, 1001, "Hello, I am bot."); /* init has left her /start where it was */
    await_said(&telegram, 1003, "paired");           /* the stranger is one */
    pty_press(pty, "\x03");
    CHECK(pty_end(pty) == 0);
    CHECK(!pty_has(pty, FAKE_TELEGRAM_TOKEN) && !pty_has(pty, "half-of-it"));
    expect_in(&place, ".env", "TELEGRAM_BOT_TOKEN=" FAKE_TELEGRAM_TOKEN "\n");
    expect_in(&place, "ship.json", "\"owner\": [\"telegram:1001\"]");
    expect_not_in(&place, "ship.json", FAKE_TELEGRAM_TOKEN);
    place_remove(&place);
    fake_telegram_stop(telegram.fake);
}

/* An id is shown, a secret is not; what is left out leaves nothing in .env. */
CASE(several_platforms_are_asked_one_after_the_other)
{
    struct place place;
    struct pty *pty = &place.pty;
    place_create(&place);
    begin(&place, "--untested", NULL);
    pty_answer(pty, "number or name", "offline");
    (void)pty_await(pty, "Platform to connect:");
    pty_answer(pty, "number or name", "feishu");
    pty_answer(pty, "appId of feishu", "ou_1234");
    (void)pty_await(pty, "an app's id begins with cli_");
    pty_answer(pty, "appId of feishu", "cli_seen");
    pty_answer(pty, "appSecret of feishu", "two words");
    (void)pty_await(pty, "This cannot be used (FEISHU_APP_SECRET): it holds a blank");
    pty_answer(pty, "appSecret of feishu", "unseen-of-feishu");
    pty_answer(pty, "Connect another platform?", "yes");
    (void)pty_await(pty, "3) qq"); /* what is chosen is not offered again */
    pty_answer(pty, "number or name", "q");
    pty_answer(pty, "Use QQ's sandbox?", "yes");
    pty_answer(pty, "appId of qq", "helper");
    (void)pty_await(pty, "an AppID is a number");
    pty_answer(pty, "appId of qq", "102030");
    pty_answer(pty, "appSecret of qq", "unseen-of-qq");
    pty_answer(pty, "Connect another platform?", "no");
    pty_answer(pty, "without asking?", "no");
    pty_answer(pty, "And then?", "4");
    (void)pty_await(pty, "On feishu: start it, write to the bot, and become its owner");
    CHECK(pty_end(pty) == 0);
    CHECK(pty_has(pty, "cli_seen") && !pty_has(pty, "unseen-of"));
    expect_in(&place, ".env",
              "FEISHU_APP_ID=cli_seen\nFEISHU_APP_SECRET=unseen-of-feishu\nQQ_APP_ID=102030\n"
              "QQ_APP_SECRET=unseen-of-qq\n");
    expect_in(&place, "ship.json", "\"sandbox\": true");
    place_remove(&place);
}

CASE(a_platform_that_fails_can_be_left_out)
{
    struct place place;
    struct pty *pty = &place.pty;
    char *before = strdup(getenv("PATH"));
    place_create(&place);
    setenv("PATH", "/nonexistent", 1); /* no systemd here */
    begin(&place, "--telegram-api-root", "http://127.0.0.1:1");
    setenv("PATH", before, 1);
    free(before);
    pty_answer(pty, "number or name", "offline");
    (void)pty_await(pty, "Platform to connect:");
    pty_answer(pty, "number or name", "telegram");
    pty_answer(pty, "botToken of telegram", FAKE_TELEGRAM_TOKEN);
    (void)pty_await(pty, "FAILED: no connection");
    pty_answer(pty, "4) leave this platform out", "4");
    pty_answer(pty, "Connect another platform?", "no");
    pty_answer(pty, "without asking?", "no");
    pty_answer(pty, "And then?", "3");
    (void)pty_await(pty, "--service is not possible here"); /* and nothing is lost by it */
    pty_answer(pty, "And then?", "4");
    CHECK(pty_end(pty) == 0);
    expect_not_in(&place, ".env", "TELEGRAM");
    expect_in(&place, "ship.json", "\"telegram\": { \"enabled\": false");
    place_remove(&place);
}

/* -- leaving ----------------------------------------------------------------------------------- */
static const struct
{
    const char *question, *line;
} path[] = {{"Who answers?", ""},
            {"number or name", "custom"},
            {"Address of the server", NULL}, /* the server's */
            {"it is not shown", KEY},
            {"or any name", "fake-model"},
            {"Platform to connect:", "telegram"},
            {"botToken of telegram", FAKE_TELEGRAM_TOKEN},
            {"What now?", "3"}, /* nobody answers there: keep it */
            {"Connect another platform?", "no"},
            {"without asking?", "yes"},
            {"And then?", "4"}};
#define PATH_COUNT (sizeof path / sizeof path[0])

/* At question `at`: Ctrl-C, Ctrl-D, or the terminal goes. */
static void leave(struct place *place, size_t at, int how)
{
    struct pty *pty = &place->pty;
    begin(place, "--telegram-api-root", "http://127.0.0.1:1");
    for (size_t i = 1; i < at; i++)
        pty_answer(pty, path[i].question, path[i].line == NULL ? place->url : path[i].line);
    (void)pty_await(pty, path[at].question);
    if (how < 2) {
        pty_press(pty, how == 0 ? "\x03" : "\x04");
        CHECK(pty_end(pty) == (how == 0 ? 130 : 1));
    } else {
        int status;
        close(pty->fd);
        CHECK(waitpid(pty->pid, &status, 0) == pty->pid && status != 0);
    }
}

CASE(leaving_at_any_question_leaves_nothing)
{
    struct place place;
    place_create(&place);
    for (size_t at = 0; at < PATH_COUNT; at++)
        for (int how = 0; how < 3; how++) {
            leave(&place, at, how);
            CHECK(count_entries(place.parent.path) == 0);
        }
    /* A folder with files keeps them, and gets none. */
    CHECK(mkdir(place.path, 0700) == 0);
    folder_write(&place.parent, "bot/mine.txt", "mine\n");
    folder_write(&place.parent, "bot/.env", "MINE=1\n");
    for (int how = 0; how < 3; how++) {
        leave(&place, PATH_COUNT - 1, how);
        CHECK(count_entries(place.path) == 2);
        expect_in(&place, ".env", "MINE=1\n");
    }
    place_remove(&place);
}

/* A server that says nothing keeps nobody. */
CASE(leaving_during_a_test_leaves_nothing)
{
    struct place place;
    char url[64];
    char *server[] = {fake_model,       (char *)"--delay-ms", (char *)"60000",
                      (char *)"--port", (char *)"0",          NULL};
    pid_t pid;
    place_create(&place);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", server_start(server, &pid));
    begin(&place, NULL, NULL);
    pty_answer(&place.pty, "number or name", "custom");
    pty_answer(&place.pty, "Address of the server", url);
    pty_answer(&place.pty, "it is not shown", KEY);
    pty_answer(&place.pty, "or any name", "fake-model");
    (void)pty_await(&place.pty, "Asking fake-model");
    pty_press(&place.pty, "typed too soon\x03");
    CHECK(pty_end(&place.pty) == 130 && !pty_has(&place.pty, "too soon"));
    CHECK(pty_has(&place.pty, "Nothing was written."));
    CHECK(count_entries(place.parent.path) == 0);
    server_stop(pid);
    place_remove(&place);
}

/* A terminal that has lost its echo is what people remember of a program. */
CASE(the_terminal_is_given_back)
{
    char command[512];
    struct place place;
    place_create(&place);
    snprintf(command, sizeof command, "trap : INT; %s init %s; echo after=$?; stty -a", binary,
             place.path);
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", command, NULL};
    pty_start(&place.pty, argv, NULL);
    pty_answer(&place.pty, "number or name", "custom");
    pty_answer(&place.pty, "Address of the server", place.url);
    (void)pty_await(&place.pty, "it is not shown");
    pty_press(&place.pty, "\x03");
    (void)pty_await(&place.pty, "after=130");
    (void)pty_await(&place.pty, " icanon");
    (void)pty_await(&place.pty, " echo ");
    (void)pty_end(&place.pty);
    CHECK(!pty_has(&place.pty, "-echo ") && !pty_has(&place.pty, "-icanon"));
    place_remove(&place);
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    binary = argv[1];
    fake_model = argv[2];
    static const char *const names[] = {
        "LLM_API_KEY",        "API_KEY",          "ANTHROPIC_API_KEY", "OPENAI_API_KEY",
        "DEEPSEEK_API_KEY",   "MOONSHOT_API_KEY", "KIMI_API_KEY",      "DASHSCOPE_API_KEY",
        "ZHIPUAI_API_KEY",    "ZAI_API_KEY",      "GEMINI_API_KEY",    "GOOGLE_API_KEY",
        "OPENROUTER_API_KEY", "OLLAMA_API_KEY",   "TELEGRAM_BOT_TOKEN"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    check_run_cases(NULL);
    return 0;
}
