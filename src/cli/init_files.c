/*
 * init_files.c — what the files of a new project say.
 * Source: protocols/project.md §2.3, §2.8 (the template's topics), §3 (files and folders).
 */
#include "init.h"

#include "adapters.h"
#include "cli.h"
#include "init_stage.h"
#include "runtime/policy/read_rules.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX (1024 * 1024)

static const char AGENT_MD[] =
    "# Role\n\n"
    "You are the assistant of this project. You help people understand it and work with it by\n"
    "exploring and analysing what is here.\n\n"
    "# How you work\n\n"
    "- Read before you answer; say what you found and where.\n"
    "- Give concrete guidance that can be acted upon.\n"
    "- Explain findings in plain words, the conclusion first.\n"
    "- Change files only when you are explicitly asked to.\n\n"
    "## Threading Policy\n\n"
    "- A chat is one conversation, and each topic of a group is one of its own. Answer in the one\n"
    "  that asked.\n"
    "- Do not tell one chat what another one said, unless the person who asks was there.\n"
    "- In a group, answer what was said to you; leave other people's talk alone.\n\n"
    "## Approval Policy\n\n"
    "- Commands and changes that no rule allows are put before a person who may decide. Ask for "
    "the\n"
    "  smallest step that helps, and say what it does and why.\n"
    "- A refusal is an answer: do not reach the same end by another way. Say what is missing, and\n"
    "  go on with what can be done without it.\n"
    "- Ask before you delete, publish, pay, or write to other people.\n\n"
    "## Idempotency Policy\n\n"
    "- Look whether something is already done before you do it again: a run may continue after a\n"
    "  restart, and a message may come twice.\n"
    "- Prefer steps that can be repeated without harm; name a file rather than append to one.\n"
    "- When you cannot tell whether a step with effects was done, say so and ask.\n\n"
    "## Memory Policy\n\n"
    "- Remember what stays true and will help later: preferences, decisions, names, lasting "
    "facts.\n"
    "  One short sentence each, in the person's own language, and only what they said themselves.\n"
    "- Not what is true today only, what can be looked up, or what is private to somebody else;\n"
    "  never passwords, keys, health or money matters, unless the person asks for it.\n"
    "- When something remembered turns out wrong, replace it. When somebody wants it forgotten, "
    "say\n"
    "  that /forget does it.\n";

static const char PROJECT_MD[] =
    "# What this agent remembers about this project\n\n"
    "Each line below that begins with a dash is one fact, for everybody who talks to the agent.\n"
    "Edit and delete as you like.\n\n";

/* -- ship.json --------------------------------------------------------------------------------- */
static void put_member(struct sma_buf *buf, const char *name, const char *value, const char *end)
{
    sma_buf_printf(buf, "    \"%s\": ", name);
    sma_buf_put_json_string(buf, sma_str(value));
    sma_buf_put_text(buf, end);
}

static void put_model(struct sma_buf *buf, const struct init_model *model)
{
    bool is_named_later = strcmp(model->model, "custom") == 0; /* by variables of .env */
    bool is_offline = strcmp(model->provider, "offline") == 0;
    char key[INIT_NAME_BYTES_MAX + 4];
    snprintf(key, sizeof key, "${%s}", model->variable);
    sma_buf_put_text(buf, "  \"llm\": {\n");
    /* Nothing that some model refuses: sampling and the cap of an answer are the provider's own. */
    put_member(buf, "provider", model->provider, ",\n");
    put_member(buf, "model", is_named_later ? "${LLM_MODEL}" : model->model,
               is_offline ? "\n" : ",\n");
    if (!is_offline) {
        put_member(buf, "baseUrl", model->base_url[0] != '\0' ? model->base_url : "${LLM_BASE_URL}",
                   model->variable[0] == '\0' ? "\n" : ",\n");
        if (model->variable[0] != '\0')
            put_member(buf, "apiKey", key, "\n");
    }
    sma_buf_put_text(buf, "  },\n");
}

static const struct init_platform *find_chosen(const struct init_answers *answers,
                                               const struct sma_adapter_ops *ops)
{
    for (size_t i = 0; i < answers->platform_count; i++)
        if (answers->platforms[i].ops == ops)
            return &answers->platforms[i];
    return NULL;
}

static void put_platform(struct sma_buf *buf, const struct init_answers *answers,
                         const struct sma_adapter_ops *ops)
{
    const struct sma_adapter_setup *setup = &ops->setup;
    const struct init_platform *chosen = find_chosen(answers, ops);
    sma_buf_printf(buf, "    \"%s\": { \"enabled\": %s, %s", ops->name,
                   chosen != NULL ? "true" : "false", setup->members);
    if (chosen != NULL && answers->telegram_root[0] != '\0' && strcmp(ops->name, "telegram") == 0) {
        sma_buf_put_text(buf, ", \"apiRoot\": ");
        sma_buf_put_json_string(buf, sma_str(answers->telegram_root));
    }
    if (setup->switch_key != NULL)
        sma_buf_printf(buf, ", \"%s\": %s", setup->switch_key,
                       chosen != NULL && chosen->is_switched ? "true" : "false");
    sma_buf_put_text(buf, " }");
}

static void put_platforms(struct sma_buf *buf, const struct init_answers *answers)
{
    bool is_first = true;
    sma_buf_put_text(buf, "  \"adapters\": {\n");
    for (size_t i = 0; sma_adapter_table[i].ops != NULL; i++) {
        if (sma_adapter_table[i].ops->setup.members == NULL)
            continue;
        sma_buf_put_text(buf, is_first ? "" : ",\n");
        put_platform(buf, answers, sma_adapter_table[i].ops);
        is_first = false;
    }
    sma_buf_put_text(buf, "\n  },\n");
}

/* Rules that run without a question count within the sandbox's walls only: without them `grep -r`
 * would read .env, too. */
static void put_permissions(struct sma_buf *buf, const struct init_answers *answers)
{
    sma_buf_put_text(buf, "  \"permissions\": {\n    \"roles\": { \"owner\": [");
    for (size_t i = 0; i < answers->owner_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : ", ");
        sma_buf_put_json_string(buf, sma_str(answers->owners[i]));
    }
    sma_buf_put_text(buf, "], \"admin\": [], \"member\": [] },\n"
                          "    \"exec_shell\": {\n      \"deny\": [\"rm\"],\n      \"allow\": [");
    if (answers->has_rules)
        sma_buf_put_text(buf, SMA_POLICY_READ_RULES_JSON);
    sma_buf_put_text(buf, answers->has_rules && answers->has_sandbox
                              ? "],\n      \"sandbox\": \"require\"\n    }\n  }\n}\n"
                              : "]\n    }\n  }\n}\n");
}

static void put_ship_json(struct sma_buf *buf, const struct init_answers *answers)
{
    sma_buf_put_text(buf, "{\n  \"$schema\": \"./.ship/schema/ship.schema.json\",\n  \"name\": ");
    sma_buf_put_json_string(buf, sma_str(answers->name));
    sma_buf_printf(buf,
                   ",\n  \"version\": \"1.0.0\",\n"
                   "  \"start\": { \"port\": %d, \"host\": \"127.0.0.1\" },\n",
                   answers->port);
    if (answers->proxy[0] != '\0') {
        sma_buf_put_text(buf, "  \"proxy\": ");
        sma_buf_put_json_string(buf, sma_str(answers->proxy));
        sma_buf_put_text(buf, ",\n");
    }
    put_model(buf, &answers->model);
    put_platforms(buf, answers);
    put_permissions(buf, answers);
}

/* -- the others -------------------------------------------------------------------------------- */
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

static bool has_line(struct sma_str text, const char *line)
{
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t len = end == NULL ? text.len - at : (size_t)(end - text.ptr) - at;
        if (sma_str_is_equal(sma_str_trim((struct sma_str){text.ptr + at, len}), sma_str(line)))
            return true;
        at += len + 1;
    }
    return false;
}

/* What there was, and what must not be committed. .env.* is what editors leave and people copy. */
static void put_gitignore(struct sma_buf *buf, struct sma_str before)
{
    static const char *const lines[] = {".env", ".env.*", "!.env.example", ".ship/"};
    sma_buf_put_str(buf, before);
    if (before.len > 0 && before.ptr[before.len - 1] != '\n')
        sma_buf_put_char(buf, '\n');
    for (size_t i = 0; i < SMA_COUNT_OF(lines); i++)
        if (!has_line(before, lines[i]))
            sma_buf_printf(buf, "%s\n", lines[i]);
}

/* For whoever clones the project: the names, without values. */
static void put_example(struct sma_buf *buf, const struct init_answers *answers)
{
    sma_buf_put_text(buf, "# Copy to .env (chmod 600) and fill in.\n");
    if (answers->model.variable[0] != '\0')
        sma_buf_printf(buf, "%s=\n", answers->model.variable);
    for (size_t i = 0; i < answers->secrets.count; i++)
        if (strcmp(answers->secrets.items[i].name, answers->model.variable) != 0)
            sma_buf_printf(buf, "%s=\n", answers->secrets.items[i].name);
}

/* -- all of it --------------------------------------------------------------------------------- */
/* What the folder has under this name, "" when nothing. Free it. */
static enum sma_err read_before(const char *dir, const char *name, char **ret_text,
                                struct sma_str *ret, struct sma_error *error)
{
    char path[PATH_MAX];
    size_t len = 0;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    enum sma_err err =
        sma_sys_read_file(sma_sys_real(), path, FILE_BYTES_MAX, ret_text, &len, error);
    *ret = err == SMA_ERR_OK ? (struct sma_str){*ret_text, len} : SMA_STR("");
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static enum sma_err add(struct init_stage *stage, const char *name, struct sma_buf *buf,
                        mode_t mode, struct sma_error *error)
{
    enum sma_err err = buf->err != SMA_ERR_OK
                           ? sma_fail(error, buf->err, "%s: %s", name, sma_err_text(buf->err))
                           : init_stage_add_file(stage, name, sma_buf_str(buf), mode, error);
    if (buf->ptr != NULL) /* it may have been .env */
        explicit_bzero(buf->ptr, buf->len);
    sma_buf_clear(buf);
    return err;
}

/* .gitignore is in place before there is a secret. */
static enum sma_err add_env(struct init_stage *stage, const struct init_answers *answers,
                            struct sma_buf *buf, struct sma_error *error)
{
    SMA_AUTO(sma_freep) char *ignored = NULL, *env = NULL, *example = NULL;
    struct sma_str text;
    SMA_TRY(read_before(answers->dir, ".gitignore", &ignored, &text, error));
    put_gitignore(buf, text);
    SMA_TRY(add(stage, ".gitignore", buf, 0644, error));
    SMA_TRY(read_before(answers->dir, ".env", &env, &text, error));
    if (answers->secrets.count > 0 || env != NULL) {
        init_secrets_format(&answers->secrets, answers->dir, text, buf);
        SMA_TRY(add(stage, ".env", buf, 0600, error));
    }
    SMA_TRY(read_before(answers->dir, ".env.example", &example, &text, error));
    if (example != NULL || answers->model.variable[0] == '\0')
        return SMA_ERR_OK;
    put_example(buf, answers);
    return add(stage, ".env.example", buf, 0644, error);
}

static enum sma_err add_folders(struct init_stage *stage, struct sma_error *error)
{
    static const char *const names[] = {
        ".ship",        ".ship/routes", ".ship/logs",   ".ship/.cache", ".ship/chats",
        ".ship/public", ".ship/mcp",    ".ship/schema", ".ship/memory", ".ship/memory/users"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        SMA_TRY(init_stage_add_folder(stage, names[i], error));
    }
    return SMA_ERR_OK;
}

/* What is under .ship comes to hold secrets (mcp.json); Agent.md and ship.json are for the
 * repository. */
static enum sma_err add_all(struct init_stage *stage, const struct init_answers *answers,
                            struct sma_buf *buf, struct sma_error *error)
{
    SMA_AUTO(sma_freep) char *servers = NULL;
    SMA_AUTO(sma_freep) char *memory = NULL;
    struct sma_str text;
    SMA_TRY(add_env(stage, answers, buf, error));
    SMA_TRY(add_folders(stage, error));
    sma_config_format_schema(buf, sma_cli_platforms());
    SMA_TRY(add(stage, ".ship/schema/ship.schema.json", buf, 0600, error));
    put_mcp_schema(buf);
    SMA_TRY(add(stage, ".ship/mcp/mcp.schema.json", buf, 0600, error));
    SMA_TRY(read_before(answers->dir, ".ship/mcp/mcp.json", &servers, &text, error));
    if (servers == NULL) {
        sma_buf_put_text(buf, "{\n  \"$schema\": \"./mcp.schema.json\",\n  \"servers\": {}\n}\n");
        SMA_TRY(add(stage, ".ship/mcp/mcp.json", buf, 0600, error));
    }
    SMA_TRY(read_before(answers->dir, ".ship/memory/project.md", &memory, &text, error));
    if (memory == NULL) {
        sma_buf_put_text(buf, PROJECT_MD);
        SMA_TRY(add(stage, ".ship/memory/project.md", buf, 0600, error));
    }
    sma_buf_put_text(buf, AGENT_MD);
    SMA_TRY(add(stage, "Agent.md", buf, 0644, error));
    put_ship_json(buf, answers);
    return add(stage, "ship.json", buf, 0644, error);
}

int init_write(const struct init_answers *answers)
{
    struct init_stage stage;
    struct sma_error error;
    struct sma_buf buf;
    enum sma_err err = init_stage_begin(&stage, answers->dir, &error);
    if (err != SMA_ERR_OK)
        return sma_cli_fail("init: %s; nothing was changed", error.text);
    sma_buf_init(&buf, 2 * FILE_BYTES_MAX);
    err = add_all(&stage, answers, &buf, &error);
    int status = err == SMA_ERR_OK ? init_check_start(stage.root, answers) : 0;
    if (err == SMA_ERR_OK && status == 0)
        err = init_stage_commit(&stage, &error);
    sma_buf_fini(&buf);
    init_stage_end(&stage);
    if (err != SMA_ERR_OK)
        return sma_cli_fail("init: %s; nothing was changed", error.text);
    if (status != 0)
        return status;
    printf("Wrote Agent.md, ship.json, .gitignore%s and .ship/ in %s (port %d)\n",
           answers->secrets.count > 0 ? ", .env" : "", answers->dir, answers->port);
    return 0;
}
