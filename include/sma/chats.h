/*
 * chats.h — `chats` of ship.json: what is different in some chats. Made by runtime/config, read by
 * the agent (model, prompt, tools), the tools actor (tools) and the store (access, /model).
 *
 * A pattern speaks of chat keys. Each chat has two forms of its key, and a pattern may be written
 * for either: the key itself (`telegram:chat:-1001`, `qq:c2c:AB`), as `status` shows it, and with
 * the kind of chat in its place (`telegram:group:-1001`, `qq:private:AB`). `*` stands for any
 * bytes. What is said of a chat holds for its topics, too. Of several that fit, for each member the
 * most exact one that says it counts:
 *
 *   1. the key of the topic, 2. the key of the chat, 3. a pattern with `*`, the more other bytes it
 *   has the better; of equals the one that comes first in the alphabet, 4. a platform alone
 *   (`telegram`), 5. `*` alone.
 *
 * Threads: pure functions of the configuration.
 * Limits:  SMA_CHAT_RULE_COUNT_MAX, SMA_MODEL_COUNT_MAX.
 */
#ifndef SMA_CHATS_H
#define SMA_CHATS_H

#include "sma/config.h"

#define SMA_CHAT_RULE_COUNT_MAX 64

/* One entry of `chats`. Members that it does not name are NULL or false. */
struct sma_chat_rule
{
    const char *pattern;
    const struct sma_config_llm *model;
    const char *prompt;      /* behind Agent.md */
    const char *prompt_file; /* path as written */
    const char *agent_md;    /* what that file says: in place of Agent.md */
    bool says_tools;
    uint32_t refused_tools;                 /* bit = enum sma_tool */
    bool allows_tools;                      /* `tools.allow` is there: nothing else is offered */
    const char **mcp_allowed, **mcp_denied; /* patterns "server:tool" of `tools` (policy_mcp.h) */
    uint32_t mcp_allowed_count, mcp_denied_count;
    const char *access_json; /* members of a platform's block */
    bool says_choice;
    bool is_choice_free; /* `modelChoice` "everybody": who may talk may choose with /model */
};

/* What holds in one chat: for each member the entry that says it, NULL = none does. */
struct sma_chat_rules
{
    const struct sma_chat_rule *model, *prompt, *tools, *access, *choice;
};
/** is_group: several people talk there. */
struct sma_chat_rules sma_chat_rules_find(const struct sma_config *config, struct sma_str chat_key,
                                          bool is_group);
/** Does a pattern speak of this chat? */
bool sma_chat_pattern_fits(const char *pattern, struct sma_str chat_key, bool is_group);
/** The platform's word for the kind of a chat ("supergroup", "topic_group", ...) means that several
 *  people talk there. */
bool sma_chat_type_is_group(struct sma_str chat_type);

/* -- models ------------------------------------------------------------------------------------ */
/** Those that can be asked: llm and its fallbacks first, in their order, then those of `chats`. */
size_t sma_models_count(const struct sma_config *config);
const struct sma_config_llm *sma_models_get(const struct sma_config *config, size_t index);
/** What people call it: its `name`, else "provider/model". Appended. */
void sma_model_put_label(struct sma_buf *buf, const struct sma_config_llm *llm);
/** By label, by "provider/model", or by the model alone where only one has it; capitals do not
 *  matter. count = none. */
size_t sma_models_find(const struct sma_config *config, struct sma_str name);
/** The one whose label is nearest to what somebody wrote; count = none is near. */
size_t sma_models_nearest(const struct sma_config *config, struct sma_str name);

#endif
