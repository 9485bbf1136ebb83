/* check_memory.c — may this be remembered? See check.h. */
#include "runtime/files/check_priv.h"

/* What is for everybody is asked about unless who speaks could agree to it anyway. */
static void decide_memory(struct checking *checking)
{
    bool is_project = sma_str_is_equal(checking->args.scope, SMA_STR("project"));
    switch (checking->rules->config->memory) {
    case SMA_MEMORY_REFUSE:
        check_decide(checking, SMA_TOOL_REFUSED, "permissions.memory: refuse",
                     "memory is switched off");
        sma_buf_put_text(checking->why, "Memory is switched off (permissions.memory in ship.json): "
                                        "nothing was remembered.");
        break;
    case SMA_MEMORY_ALLOW:
        if (!is_project || checking->ask->standing >= SMA_STANDING_ADMIN) {
            check_decide(checking, SMA_TOOL_ALLOWED, "permissions.memory: allow",
                         "remembering is allowed");
            break;
        }
        /* fall through */
    default:
        check_decide(checking, SMA_TOOL_ASKS, "permissions.memory",
                     is_project ? "it would be told to everybody who talks to this agent"
                                : "what is remembered must be agreed to");
        break;
    }
}

enum sma_err check_memory(struct checking *checking)
{
    const struct sma_str fields[] = {SMA_STR("memory 1"), checking->args.scope,
                                     checking->args.content, checking->ask->arguments};
    if (!file_tools_hash(fields, SMA_COUNT_OF(fields), checking->check.digest))
        return SMA_ERR_NOMEM;
    checking->check.is_complete = true;
    if (sma_secrets_has(checking->rules->files->secrets, checking->args.content)) {
        check_decide(checking, SMA_TOOL_REFUSED, "", "it holds a secret of this agent");
        sma_buf_put_text(checking->why, "It holds a secret of this agent, and secrets are not "
                                        "remembered: nothing was done.");
        return SMA_ERR_OK;
    }
    decide_memory(checking);
    if (checking->check.verdict != SMA_TOOL_ASKS)
        return SMA_ERR_OK;
    bool is_project = sma_str_is_equal(checking->args.scope, SMA_STR("project"));
    struct check_texts texts;
    check_init_texts(&texts);
    check_put_line(checking, &texts.title, checking->args.content, CHECK_TITLE_BYTES_MAX);
    check_put_details(checking, &texts.details, "content", checking->args.content, "scope",
                      checking->args.scope.len > 0 ? checking->args.scope : SMA_STR("here"));
    enum sma_err err = check_put_item(checking, &texts, "memory", is_project);
    check_fini_texts(&texts);
    return err;
}
