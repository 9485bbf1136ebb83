/*
 * init.c — `shipmyagent init`: a new project, by questions or by options. Everything is asked
 * before anything is written, so that leaving in the middle leaves nothing behind.
 * Source: protocols/project.md §3 (files and folders), §2.4 (models), §2.8 (the template's topics).
 */
#include "adapters.h"
#include "cli.h"

#include "commands.h"
#include "init_model.h"

#include "sma/config.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ANSWER_BYTES_MAX INIT_ANSWER_BYTES_MAX

struct answers
{
    const char *dir;
    char name[ANSWER_BYTES_MAX], adapter[ANSWER_BYTES_MAX];
    struct init_model model;
    bool is_switched; /* what the platform asks besides, see struct sma_adapter_setup */
    bool is_yes, is_forced;
};

static const char AGENT_MD[] = "# Role\n\n"
                               "You are the assistant of this project. You help people understand "
                               "it and work with it by exploring and\n"
                               "analysing what is here.\n\n"
                               "# How you work\n\n"
                               "- Read before you answer; say what you found and where.\n"
                               "- Give concrete guidance that can be acted upon.\n"
                               "- Explain findings in plain words, the conclusion first.\n"
                               "- Change files only when you are explicitly asked to.\n";

/* -- questions --------------------------------------------------------------------------------- */
bool sma_init_ask(const char *question, const char *otherwise, char *answer)
{
    printf("%s [%s]: ", question, otherwise);
    fflush(stdout);
    char line[ANSWER_BYTES_MAX];
    if (fgets(line, sizeof line, stdin) == NULL)
        return false;
    struct sma_str text = sma_str_trim(sma_str(line));
    snprintf(answer, ANSWER_BYTES_MAX, "%.*s", (int)text.len, text.ptr);
    if (text.len == 0)
        snprintf(answer, ANSWER_BYTES_MAX, "%s", otherwise);
    return true;
}

/* -- platforms --------------------------------------------------------------------------------- */
/* "none", then every adapter that can be set up here. @return the count */
static size_t list_platforms(const char *names[SMA_ADAPTER_COUNT_MAX + 1])
{
    size_t count = 0;
    names[count++] = "none";
    for (size_t i = 0; sma_adapter_table[i].ops != NULL; i++)
        if (sma_adapter_table[i].ops->setup.members != NULL && count <= SMA_ADAPTER_COUNT_MAX)
            names[count++] = sma_adapter_table[i].ops->name;
    return count;
}

/* NULL for "none". */
static const struct sma_adapter_setup *find_setup(const char *name)
{
    for (size_t i = 0; sma_adapter_table[i].ops != NULL; i++)
        if (sma_adapter_table[i].ops->setup.members != NULL &&
            strcmp(sma_adapter_table[i].ops->name, name) == 0)
            return &sma_adapter_table[i].ops->setup;
    return NULL;
}

/* By number or by name. */
static bool ask_choice(const char *question, const char *const *choices, size_t count, char *answer)
{
    printf("%s\n", question);
    for (size_t i = 0; i < count; i++)
        printf("  %zu) %s\n", i + 1, choices[i]);
    for (;;) {
        if (!sma_init_ask("number or name", choices[0], answer))
            return false;
        int64_t number;
        if (sma_parse_i64(sma_str(answer), 1, (int64_t)count, &number) == SMA_ERR_OK)
            snprintf(answer, ANSWER_BYTES_MAX, "%s", choices[number - 1]);
        for (size_t i = 0; i < count; i++)
            if (strcmp(answer, choices[i]) == 0)
                return true;
        printf("%s is not in the list.\n", answer);
    }
}

static bool exists(const char *dir, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

/* 0: go on; 1: failure; 2: the user does not want to. */
static int ask_everything(struct answers *answers)
{
    char line[ANSWER_BYTES_MAX];
    bool is_there = exists(answers->dir, "Agent.md") || exists(answers->dir, "ship.json");
    if (is_there && !answers->is_forced) {
        if (!sma_init_ask("Agent.md or ship.json exists here. Overwrite?", "no", line))
            return 1;
        bool is_wanted;
        if (!sma_cli_parse_bool(line, &is_wanted) || !is_wanted)
            return 2;
        answers->is_forced = true;
    }
    char otherwise[ANSWER_BYTES_MAX];
    snprintf(otherwise, sizeof otherwise, "%s", answers->name);
    if (!sma_init_ask("Name of the agent", otherwise, answers->name))
        return 1;
    if (!sma_init_ask_model(&answers->model))
        return 1;
    const char *platforms[SMA_ADAPTER_COUNT_MAX + 1];
    size_t count = list_platforms(platforms);
    if (answers->adapter[0] == '\0' &&
        !ask_choice("Platform to connect:", platforms, count, answers->adapter))
        return 1;
    const struct sma_adapter_setup *setup = find_setup(answers->adapter);
    if (setup != NULL && setup->switch_question != NULL) {
        if (!sma_init_ask(setup->switch_question, "no", line))
            return 1;
        (void)sma_cli_parse_bool(line, &answers->is_switched); /* anything else: no */
    }
    return 0;
}

/* -- files ------------------------------------------------------------------------------------- */
static void put_member(struct sma_buf *buf, const char *name, const char *value, const char *end)
{
    sma_buf_printf(buf, "    \"%s\": ", name);
    sma_buf_put_json_string(buf, sma_str(value));
    sma_buf_put_text(buf, end);
}

static void put_adapter(struct sma_buf *buf, const struct answers *answers,
                        const struct sma_adapter_ops *ops)
{
    const struct sma_adapter_setup *setup = &ops->setup;
    bool is_chosen = strcmp(answers->adapter, ops->name) == 0;
    sma_buf_printf(buf, "    \"%s\": { \"enabled\": %s, %s", ops->name,
                   is_chosen ? "true" : "false", setup->members);
    if (setup->switch_key != NULL)
        sma_buf_printf(buf, ", \"%s\": %s", setup->switch_key,
                       is_chosen && answers->is_switched ? "true" : "false");
    sma_buf_put_text(buf, " }");
}

static void put_adapters(struct sma_buf *buf, const struct answers *answers)
{
    bool is_first = true;
    for (size_t i = 0; sma_adapter_table[i].ops != NULL; i++) {
        if (sma_adapter_table[i].ops->setup.members == NULL)
            continue;
        sma_buf_put_text(buf, is_first ? "" : ",\n");
        put_adapter(buf, answers, sma_adapter_table[i].ops);
        is_first = false;
    }
    sma_buf_put_text(buf, "\n");
}

static void put_ship_json(struct sma_buf *buf, const struct answers *answers)
{
    const struct init_model *model = &answers->model;
    bool is_named_later = strcmp(model->model, "custom") == 0; /* by variables of .env */
    bool is_offline = strcmp(model->provider, "offline") == 0;
    sma_buf_put_text(buf, "{\n  \"$schema\": \"./.ship/schema/ship.schema.json\",\n  \"name\": ");
    sma_buf_put_json_string(buf, sma_str(answers->name));
    sma_buf_put_text(
        buf,
        ",\n  \"version\": \"1.0.0\",\n  \"start\": { \"port\": 3000, \"host\": \"127.0.0.1\" },\n"
        "  \"llm\": {\n");
    /* Nothing that some model refuses: sampling and the cap of an answer are the provider's own. */
    put_member(buf, "provider", model->provider, ",\n");
    put_member(buf, "model", is_named_later ? "${LLM_MODEL}" : model->model,
               is_offline ? "\n" : ",\n");
    if (!is_offline) {
        put_member(buf, "baseUrl", model->base_url[0] != '\0' ? model->base_url : "${LLM_BASE_URL}",
                   ",\n");
        put_member(buf, "apiKey", "${LLM_API_KEY}", "\n");
    }
    sma_buf_put_text(buf, "  },\n  \"adapters\": {\n");
    put_adapters(buf, answers);
    /* The defaults, so that their place is seen. */
    sma_buf_put_text(buf, "  },\n  \"permissions\": {\n"
                          "    \"roles\": { \"owner\": [], \"admin\": [], \"member\": [] },\n"
                          "    \"exec_shell\": { \"deny\": [\"rm\"], \"allow\": [] }\n  }\n}\n");
}

static void put_mcp_schema(struct sma_buf *buf)
{
    sma_buf_put_text(
        buf,
        "{\"$schema\":\"http://json-schema.org/draft-07/"
        "schema#\",\"title\":\"mcp.json\",\"type\":\"object\","
        "\"properties\":{\"servers\":{\"type\":\"object\",\"additionalProperties\":{\"type\":"
        "\"object\","
        "\"required\":[\"type\"],\"properties\":{\"type\":{\"enum\":[\"stdio\",\"sse\",\"http\"]},"
        "\"command\":{\"type\":\"string\"},\"args\":{\"type\":\"array\",\"items\":{\"type\":"
        "\"string\"}},"
        "\"env\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
        "\"url\":{\"type\":\"string\"},\"headers\":{\"type\":\"object\","
        "\"additionalProperties\":{\"type\":\"string\"}}}}}},\"required\":[\"servers\"]}\n");
}

static int write_one(const struct answers *answers, const char *name, struct sma_buf *buf)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", answers->dir, name);
    struct sma_error error;
    enum sma_err err = buf->err;
    /* Agent.md and ship.json are for the repository; what is under .ship comes to hold secrets
     * (mcp.json). */
    mode_t mode = strncmp(name, ".ship/", 6) == 0 ? 0600 : 0644;
    if (err == SMA_ERR_OK)
        err = sma_sys_write_file_atomic(sma_sys_real(), path, sma_buf_str(buf), mode, &error);
    else
        (void)sma_fail(&error, err, "%s: %s", path, sma_err_text(err));
    sma_buf_clear(buf);
    return err == SMA_ERR_OK ? 0 : sma_cli_fail("init: %s", error.text);
}

static int make_dirs(const struct answers *answers)
{
    static const char *const names[] = {"routes", "logs", ".cache", "chats",
                                        "public", "mcp",  "schema"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/.ship/%s", answers->dir, names[i]);
        struct sma_error error;
        if (sma_sys_make_dirs(sma_sys_real(), path, &error) != SMA_ERR_OK)
            return sma_cli_fail("init: %s", error.text);
    }
    return 0;
}

static int write_everything(const struct answers *answers)
{
    struct sma_buf buf;
    sma_buf_init(&buf, 256 * 1024);
    int status = make_dirs(answers);
    sma_buf_put_text(&buf, AGENT_MD);
    status = status != 0 ? status : write_one(answers, "Agent.md", &buf);
    put_ship_json(&buf, answers);
    status = status != 0 ? status : write_one(answers, "ship.json", &buf);
    sma_config_format_schema(&buf, sma_cli_platforms());
    status = status != 0 ? status : write_one(answers, ".ship/schema/ship.schema.json", &buf);
    put_mcp_schema(&buf);
    status = status != 0 ? status : write_one(answers, ".ship/mcp/mcp.schema.json", &buf);
    if (!exists(answers->dir, ".ship/mcp/mcp.json")) {
        sma_buf_put_text(&buf, "{\n  \"$schema\": \"./mcp.schema.json\",\n  \"servers\": {}\n}\n");
        status = status != 0 ? status : write_one(answers, ".ship/mcp/mcp.json", &buf);
    }
    sma_buf_fini(&buf);
    return status;
}

/* -- command ----------------------------------------------------------------------------------- */
static int parse_options(int argc, char **argv, struct answers *answers)
{
    int option;
    while ((option = sma_cli_option(&sma_cli_command_init, argc, argv)) != -1) {
        char *text = option == 'n'   ? answers->name
                     : option == 'o' ? answers->model.provider
                     : option == 'm' ? answers->model.model
                     : option == 'u' ? answers->model.base_url
                     : option == 'a' ? answers->adapter
                                     : NULL;
        if (text != NULL)
            snprintf(text, ANSWER_BYTES_MAX, "%s", optarg);
        else if (option == 'y')
            answers->is_yes = true;
        else if (option == 'f')
            answers->is_forced = true;
        else if (option == 'q')
            answers->is_switched = true;
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

static int check_answers(struct answers *answers)
{
    if (sma_init_check_model(&answers->model) != 0)
        return 1;
    if (answers->adapter[0] == '\0')
        snprintf(answers->adapter, ANSWER_BYTES_MAX, "none");
    const char *platforms[SMA_ADAPTER_COUNT_MAX + 1];
    size_t count = list_platforms(platforms);
    struct sma_buf known;
    sma_buf_init(&known, 1024);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(answers->adapter, platforms[i]) == 0) {
            sma_buf_fini(&known);
            return 0;
        }
        sma_buf_printf(&known, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", platforms[i]);
    }
    int status = sma_cli_fail("init: --adapter takes %s, not %s",
                              known.err == SMA_ERR_OK ? known.ptr : "none", answers->adapter);
    sma_buf_fini(&known);
    return status;
}

/* What a bot needs before it answers its owner. */
static void print_platform_steps(const struct answers *answers)
{
    const struct sma_adapter_setup *setup = find_setup(answers->adapter);
    if (setup != NULL)
        printf("\nOn %s: put %s into %s/.env, start, write to the bot, and become its owner "
               "with the code it shows:\n  shipmyagent pair approve CODE %s --role owner\n",
               answers->adapter, setup->variables, answers->dir, answers->dir);
}

static int print_next_steps(const struct answers *answers)
{
    printf("Wrote Agent.md, ship.json and .ship/ in %s\n\nNext:\n", answers->dir);
    const char *provider = answers->model.provider;
    bool may_need_none = strcmp(provider, "custom") == 0 || strcmp(provider, "ollama") == 0;
    if (strcmp(provider, "offline") != 0)
        printf("  (umask 077; echo 'LLM_API_KEY=...' >> %s/.env)     your provider's key%s\n",
               answers->dir, may_need_none ? ", if it wants one" : "");
    printf("  shipmyagent chat %s      talk to it here\n  shipmyagent start %s     serve it\n",
           answers->dir, answers->dir);
    print_platform_steps(answers);
    return 0;
}

/* The folder may not be there yet: then its name is the last part of what was written. */
static void name_after_folder(struct answers *answers)
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
    snprintf(answers->name, ANSWER_BYTES_MAX, "%.*s", (int)path.len, path.ptr);
}

int sma_cli_init(int argc, char **argv)
{
    struct answers answers = {.dir = "."};
    int status = parse_options(argc, argv, &answers);
    if (status != 0)
        return status;
    answers.model.dir = answers.dir;
    if (answers.name[0] == '\0')
        name_after_folder(&answers);
    bool is_there = exists(answers.dir, "Agent.md") || exists(answers.dir, "ship.json");
    if (!answers.is_yes && isatty(STDIN_FILENO) != 1)
        return sma_cli_fail("init: standard input is no terminal, so there is nobody to ask; "
                            "use --yes and options (see `shipmyagent help init`)");
    if (answers.is_yes && is_there && !answers.is_forced)
        return sma_cli_fail("init: %s has an Agent.md or ship.json already; --force overwrites",
                            answers.dir);
    status = answers.is_yes ? 0 : ask_everything(&answers);
    if (status == 2) {
        puts("Nothing was changed.");
        return 0;
    }
    if (status != 0)
        return sma_cli_fail("init: input ended; nothing was changed");
    /* Only what can be carried out leaves anything behind. */
    status = check_answers(&answers);
    struct sma_error error;
    if (status == 0 && sma_sys_make_shared_dirs(sma_sys_real(), answers.dir, &error) != SMA_ERR_OK)
        return sma_cli_fail("init: %s", error.text);
    status = status != 0 ? status : write_everything(&answers);
    return status != 0 ? status : print_next_steps(&answers);
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
    {"model", 'm', false, SMA_VALUE_TEXT, NULL, "NAME",
     "e.g. claude-sonnet-5-5, gpt-6.1-sol, deepseek-flash"},
    {"base-url", 'u', false, SMA_VALUE_TEXT, NULL, "URL", "where the provider answers"},
    {"adapter", 'a', false, SMA_VALUE_ADAPTER, NULL, "NAME",
     "none (default), or the platform to connect"},
    {"integration", 'a', false, SMA_VALUE_ADAPTER, NULL, "NAME", NULL},
    {"qq-sandbox", 'q', false, SMA_VALUE_NONE, NULL, NULL, "use QQ's sandbox"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_init = {
    .name = "init",
    .run = sma_cli_init,
    .place = "[FOLDER]",
    .summary = "make a project: Agent.md, ship.json, .ship/",
    .usage = "shipmyagent init [FOLDER] [options]\n",
    .options = OPTIONS,
    .text = "Makes a project by questions, or with --yes by options alone. Existing files are "
            "overwritten only\n"
            "on request.\n",
    .first = SMA_VALUE_FOLDER,
};
