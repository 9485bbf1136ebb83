/*
 * init.c — `shipmyagent init`: a new project, by questions or by options. Everything is asked and
 * tested before anything is written, so that leaving in the middle leaves nothing behind.
 * Source: protocols/project.md §3 (files and folders), §2.4 (models).
 */
#include "init.h"

#include "cli.h"
#include "commands.h"
#include "key_shape.h"
#include "prompt.h"
#include "sma/config.h"
#include "sma/text.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOTHING_WRITTEN "\nNothing was written.\n"
#define OTHERWISE_NOT 3 /* the user does not want to */

static bool exists(const char *dir, const char *name)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/%s", dir, name) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

static bool is_project(const char *dir)
{
    return exists(dir, "Agent.md") || exists(dir, "ship.json");
}

/* -- options ----------------------------------------------------------------------------------- */
static int take_text(const char *option, const char *text, char *room, size_t size)
{
    if (snprintf(room, size, "%s", text) < (int)size)
        return 0;
    return sma_cli_fail("init: %s: the value is too long", option);
}

/* What is shown, and written into files that others read. */
static int take_name(const char *option, const char *text, char *room, size_t size)
{
    if (sma_key_looks_like_one(text, strlen(text)))
        return sma_cli_fail("init: what %s says looks like a key, and is not kept: keys are given "
                            "with --key-env or --key-file, tokens with --secret-file",
                            option);
    return take_text(option, text, room, size);
}

static int take_ending(struct init_answers *answers, enum init_ending ending)
{
    if (answers->ending != INIT_ENDS_ASKED && answers->ending != ending)
        return sma_cli_fail("init: only one of --chat, --start and --service can be done");
    answers->ending = ending;
    return 0;
}

static int take_owner(struct init_answers *answers, const char *text)
{
    if (answers->owner_count == INIT_OWNER_COUNT_MAX)
        return sma_cli_fail("init: more than %d owners; use permissions.roles of ship.json",
                            INIT_OWNER_COUNT_MAX);
    return take_text("--owner", text, answers->owners[answers->owner_count++], INIT_NAME_BYTES_MAX);
}

static int take_rules(struct init_answers *answers, const char *word)
{
    answers->is_rules_given = true;
    answers->has_rules = strcmp(word, "read-only") == 0;
    return answers->has_rules || strcmp(word, "none") == 0
               ? 0
               : sma_cli_fail("init: --rules takes read-only or none, not %s", word);
}

static int take_port(struct init_answers *answers, const char *text)
{
    int64_t port;
    if (sma_parse_i64(sma_str(text), 1, 65535, &port) != SMA_ERR_OK)
        return sma_cli_fail("init: port %s is not a number from 1 to 65535", text);
    answers->port = (int)port;
    return 0;
}

static bool is_variable(const char *name)
{
    if (name[0] == '\0' || (name[0] >= '0' && name[0] <= '9'))
        return false;
    for (; *name != '\0'; name++)
        if (!((*name >= 'A' && *name <= 'Z') || (*name >= 'a' && *name <= 'z') ||
              (*name >= '0' && *name <= '9') || *name == '_'))
            return false;
    return true;
}

/* The key of the model: --key-env NAME, --key-file FILE. */
static int take_key(struct init_answers *answers, bool is_env, const char *text)
{
    struct init_model *model = &answers->model;
    if (model->is_key_given)
        return sma_cli_fail("init: there is one key: take --key-env or --key-file, once");
    model->is_key_given = true;
    if (!is_env)
        return init_secret_read("--key-file", text, model->key, sizeof model->key);
    if (!is_variable(text) || strlen(text) >= sizeof model->variable)
        return sma_cli_fail("init: --key-env takes the name of a variable that holds the key, "
                            "never the key itself");
    snprintf(model->variable, sizeof model->variable, "%s", text);
    return init_secret_take("--key-env", text, model->key, sizeof model->key);
}

/* --secret-env NAME, --secret-file NAME=FILE: a token of a platform under its variable's name. */
static int take_secret(struct init_answers *answers, bool is_env, const char *text)
{
    char name[INIT_NAME_BYTES_MAX], value[INIT_SECRET_BYTES_MAX];
    const char *sign = is_env ? text + strlen(text) : strchr(text, '=');
    size_t len = sign == NULL ? 0 : (size_t)(sign - text);
    snprintf(name, sizeof name, "%.*s", (int)(len < sizeof name ? len : 0), text);
    if (!is_variable(name))
        return sma_cli_fail(is_env ? "init: --secret-env takes the name of a variable"
                                   : "init: --secret-file takes NAME=FILE: the variable of .env, "
                                     "and the file that holds its value");
    int status = is_env ? init_secret_take("--secret-env", name, value, sizeof value)
                        : init_secret_read("--secret-file", sign + 1, value, sizeof value);
    if (status == 0 && init_secret_is_shadowed(name, value))
        status = sma_cli_fail("init: this shell has another %s, which would stand above .env; "
                              "unset it",
                              name);
    return status != 0 ? status : init_secrets_put(&answers->secrets, name, value);
}

static int take_telegram_token(struct init_answers *answers, const char *path)
{
    char text[PATH_MAX + 64];
    if (snprintf(text, sizeof text, "TELEGRAM_BOT_TOKEN=%s", path) >= (int)sizeof text)
        return sma_cli_fail("init: --telegram-token-file: the path is too long");
    int status = init_add_platform(answers, "telegram");
    return status != 0 ? status : take_secret(answers, false, text);
}

/* Those of the model and of the project itself. -1: it is none of these. */
static int take_plain(struct init_answers *answers, int option, const char *text)
{
    struct init_model *model = &answers->model;
    switch (option) {
    case 'n':
        return take_name("--name", text, answers->name, sizeof answers->name);
    case 'o':
        return take_name("--provider", text, model->provider, sizeof model->provider);
    case 'm':
        return take_name("--model", text, model->model, sizeof model->model);
    case 'u':
        return take_text("--base-url", text, model->base_url, sizeof model->base_url);
    case 'r':
        return take_text("--telegram-api-root", text, answers->telegram_root,
                         sizeof answers->telegram_root);
    case 'x':
        return take_text("--proxy", text, answers->proxy, sizeof answers->proxy);
    case 'a':
        return init_add_platform(answers, text);
    case 'w':
        return take_owner(answers, text);
    case 'R':
        return take_rules(answers, text);
    case 'P':
        return take_port(answers, text);
    default:
        return -1;
    }
}

static int take_secret_option(struct init_answers *answers, int option, const char *text)
{
    switch (option) {
    case 'K':
    case 'F':
        return take_key(answers, option == 'K', text);
    case 'S':
    case 's':
        return take_secret(answers, option == 'S', text);
    case 't':
        return take_telegram_token(answers, text);
    case 'C':
        return take_ending(answers, INIT_ENDS_CHAT);
    case 'G':
        return take_ending(answers, INIT_ENDS_START);
    case 'V':
        return take_ending(answers, INIT_ENDS_SERVICE);
    default:
        return -1;
    }
}

static int parse_options(int argc, char **argv, struct init_answers *answers)
{
    int option;
    while ((option = sma_cli_option(&sma_cli_command_init, argc, argv)) != -1) {
        int status = take_plain(answers, option, optarg);
        if (status < 0)
            status = take_secret_option(answers, option, optarg);
        if (status > 0)
            return status;
        if (status == 0)
            continue;
        if (option == 'y')
            answers->is_yes = true;
        else if (option == 'f')
            answers->is_forced = true;
        else if (option == 'q')
            answers->is_switched = true;
        else if (option == 'U')
            answers->is_untested = true;
        else
            return 1;
    }
    if (argc - optind > 1)
        return sma_cli_fail("init: only one folder can be made a project; what is %s for?",
                            argv[optind + 1]);
    if (optind < argc)
        answers->dir = argv[optind];
    return 0;
}

/* -- questions --------------------------------------------------------------------------------- */
static int ask_overwrite(struct init_answers *answers)
{
    bool is_wanted = true;
    if (answers->is_forced || !is_project(answers->dir))
        return 0;
    if (!sma_prompt_yes("Agent.md or ship.json exists here. Overwrite?", false, &is_wanted))
        return INIT_ENDED;
    answers->is_forced = is_wanted;
    return is_wanted ? 0 : OTHERWISE_NOT;
}

static int ask_rules(struct init_answers *answers)
{
    if (answers->is_rules_given)
        return 0;
    if (!answers->has_sandbox)
        puts("There is no sandbox for commands here (`apt install bubblewrap`): even these "
             "could see every file of yours.");
    return sma_prompt_yes(
               "May it run programs that only read (ls, cat, grep, find, wc, git log ...) "
               "without asking?",
               answers->has_sandbox, &answers->has_rules)
               ? 0
               : INIT_ENDED;
}

/* 0 | 1 after one line on stderr | INIT_ENDED | OTHERWISE_NOT */
static int ask_everything(struct init_answers *answers)
{
    int status = ask_overwrite(answers);
    status = status != 0 ? status : init_ask_model(answers);
    status = status != 0 ? status : init_ask_platforms(answers);
    status = status != 0 ? status : ask_rules(answers);
    if (status == 0 && !init_ask_ending(answers))
        status = INIT_ENDED;
    return status;
}

/* -- command ----------------------------------------------------------------------------------- */
/* The folder may not be there yet: then its name is the last part of what was written. */
static void name_after_folder(struct init_answers *answers)
{
    char real[PATH_MAX];
    struct sma_str path = sma_str(answers->dir);
    if (realpath(answers->dir, real) != NULL)
        path = sma_str(real);
    while (path.len > 1 && path.ptr[path.len - 1] == '/')
        path.len--;
    const char *slash = memrchr(path.ptr, '/', path.len);
    if (slash != NULL && path.len > 1)
        path = (struct sma_str){slash + 1, path.len - (size_t)(slash + 1 - path.ptr)};
    snprintf(answers->name, sizeof answers->name, "%.*s", (int)path.len, path.ptr);
}

static int ask(struct init_answers *answers)
{
    printf("A new agent in %s. Nothing is written before the end; Ctrl-C leaves.\n\n",
           answers->dir);
    sma_prompt_open(NOTHING_WRITTEN);
    int status = ask_everything(answers);
    sma_prompt_close();
    if (status == INIT_ENDED)
        return sma_cli_fail("init: input ended; nothing was changed");
    if (status == OTHERWISE_NOT)
        puts("Nothing was changed.");
    return status;
}

static int check(struct init_answers *answers)
{
    int status = init_check_model(answers);
    return status != 0 ? status : init_check_platforms(answers);
}

static int choose_port(struct init_answers *answers)
{
    if (answers->port == 0)
        answers->port = init_find_port(answers->dir);
    return answers->port != 0 ? 0 : sma_cli_fail("init: no port is free; name one with --port");
}

static int make(struct init_answers *answers)
{
    if (!answers->is_yes && isatty(STDIN_FILENO) != 1)
        return sma_cli_fail("init: standard input is no terminal, so there is nobody to ask; "
                            "use --yes and options (see `shipmyagent help init`)");
    if (answers->is_yes && is_project(answers->dir) && !answers->is_forced)
        return sma_cli_fail("init: %s has an Agent.md or ship.json already; --force overwrites",
                            answers->dir);
    int status = init_check_ending(answers);
    answers->has_sandbox = init_has_sandbox();
    if (answers->is_yes && !answers->is_rules_given)
        answers->has_rules = answers->has_sandbox;
    if (status == 0)
        status = answers->is_yes ? check(answers) : ask(answers);
    if (status == 0)
        status = choose_port(answers);
    return status != 0 ? status : init_write(answers);
}

int sma_cli_init(int argc, char **argv)
{
    static struct init_answers answers; /* large, and it holds secrets */
    answers = (struct init_answers){.dir = "."};
    int status = parse_options(argc, argv, &answers);
    if (status == 0 && answers.name[0] == '\0')
        name_after_folder(&answers);
    if (status == 0)
        status = make(&answers);
    if (status == 0)
        status = init_end(&answers);
    explicit_bzero(&answers, sizeof answers);
    return status == OTHERWISE_NOT ? 0 : status;
}

static const struct sma_cli_command_option OPTIONS[] = {
    {"yes", 'y', true, SMA_VALUE_NONE, NULL, NULL,
     "ask nothing: take the options given and the defaults"},
    {"force", 'f', false, SMA_VALUE_NONE, NULL, NULL,
     "overwrite an existing Agent.md and ship.json"},
    {"name", 'n', false, SMA_VALUE_TEXT, NULL, "NAME",
     "name of the agent (default: name of the folder)"},
    {"provider", 'o', false, SMA_VALUE_PROVIDER, NULL, "NAME",
     "anthropic, openai, gemini, deepseek, moonshot, qwen, zhipu,\n"
     "openrouter, ollama, custom, offline (default: by model)"},
    {"model", 'm', false, SMA_VALUE_MODEL, NULL, "NAME",
     "e.g. claude-sonnet-5-5, gpt-6.1-sol, deepseek-flash"},
    {"base-url", 'u', false, SMA_VALUE_TEXT, NULL, "URL", "where the provider answers"},
    {"key-env", 'K', false, SMA_VALUE_TEXT, NULL, "NAME",
     "the variable of this shell that holds the provider's key"},
    {"key-file", 'F', false, SMA_VALUE_FILE, NULL, "FILE",
     "the file that holds it in its first line; - is stdin"},
    {"adapter", 'a', false, SMA_VALUE_ADAPTER, NULL, "NAME",
     "none (default), or a platform to connect; may be repeated"},
    {"integration", 'a', false, SMA_VALUE_ADAPTER, NULL, "NAME", NULL},
    {"telegram-token-file", 't', false, SMA_VALUE_FILE, NULL, "FILE",
     "the file that holds the bot's token; means --adapter telegram"},
    {"telegram-api-root", 'r', false, SMA_VALUE_TEXT, NULL, "URL",
     "where the Bot API is, unless at api.telegram.org"},
    {"secret-env", 'S', false, SMA_VALUE_TEXT, NULL, "NAME",
     "a variable of this shell that .env gets, e.g.\n"
     "FEISHU_APP_SECRET; may be repeated"},
    {"secret-file", 's', false, SMA_VALUE_TEXT, NULL, "NAME=FILE",
     "the same from the first line of a file; - is stdin"},
    {"qq-sandbox", 'q', false, SMA_VALUE_NONE, NULL, NULL, "use QQ's sandbox"},
    {"proxy", 'x', false, SMA_VALUE_TEXT, NULL, "URL",
     "the way out: http://HOST:PORT, socks5h://..."},
    {"owner", 'w', false, SMA_VALUE_TEXT, NULL, "PERSON",
     "who decides, e.g. telegram:1001; may be repeated"},
    {"rules", 'R', false, SMA_VALUE_WORDS, "read-only|none", NULL,
     "let programs that only read (ls, cat, grep, find, git log ...)\n"
     "run without a question (default where there is a sandbox), or\n"
     "nothing"},
    {"port", 'P', false, SMA_VALUE_TEXT, NULL, "PORT",
     "of the HTTP API (default: the first that is free from 3000)"},
    {"untested", 'U', false, SMA_VALUE_NONE, NULL, NULL, "test neither key nor token"},
    {"chat", 'C', false, SMA_VALUE_NONE, NULL, NULL, "then talk to it here"},
    {"start", 'G', false, SMA_VALUE_NONE, NULL, NULL, "then serve it in this terminal"},
    {"service", 'V', false, SMA_VALUE_NONE, NULL, NULL,
     "then install and start it as a service of systemd"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_init = {
    .name = "init",
    .run = sma_cli_init,
    .place = "[FOLDER]",
    .summary = "make a project: questions, tests, and the first chat",
    .usage = "shipmyagent init [FOLDER] [options]\n",
    .options = OPTIONS,
    .text = "Asks for the provider, its key, the model, a platform and its token, tests each as "
            "it is entered, and\n"
            "writes Agent.md, ship.json, .env (keys are there alone) and .gitignore at the end, or "
            "nothing at all.\n"
            "Options answer questions beforehand; with --yes nothing is asked. A key is never an "
            "argument, where\n"
            "the history of the shell and other users would see it.\n"
            "  pass show deepseek | shipmyagent init bot --yes --model deepseek-flash --key-file - "
            "--start\n"
            "Existing files are kept; Agent.md and ship.json are overwritten only on request.\n",
    .first = SMA_VALUE_FOLDER,
};
