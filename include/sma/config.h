/*
 * config.h — the project's configuration as one immutable struct of plain values.
 *
 * Source: protocols/project.md §2 (both `adapters` and `integrations`). Made by runtime/config from
 * Agent.md, ship.json, .env and the environment. All strings are non-NULL ("" = not set) and live
 * as long as the struct.
 */
#ifndef SMA_CONFIG_H
#define SMA_CONFIG_H

#include "sma/base.h"

struct sma_params;
struct sma_chat_rule;
struct sma_decisive;
struct sma_hook;
enum sma_llm_api
{
    SMA_LLM_CHAT,      /* POST {base}/chat/completions */
    SMA_LLM_RESPONSES, /* POST {base}/responses */
    SMA_LLM_MESSAGES,  /* POST {base}/messages (Anthropic) */
    SMA_LLM_OFFLINE,   /* no network: the built-in deterministic model, in the chat format */
};
enum sma_language
{
    SMA_LANGUAGE_AUTO,
    SMA_LANGUAGE_ZH,
    SMA_LANGUAGE_EN,
};

#define SMA_TARGET_COUNT_MAX 8 /* llm and its fallbacks */
#define SMA_MODEL_COUNT_MAX 24 /* ... and those of `chats` */

struct sma_config_llm
{
    enum sma_llm_api api;
    const char *provider, *model;
    const char *name;           /* what people call it; "" = provider/model */
    const char *base_url;       /* without trailing slash; the default of the provider filled in */
    const char *api_key;        /* "" = none found */
    const char *api_key_source; /* for people: "${LLM_API_KEY}", "OPENAI_API_KEY", ...; "none" */
    const char *anthropic_version;
    bool has_temperature, has_top_p, has_frequency_penalty, has_presence_penalty;
    double temperature, top_p, frequency_penalty, presence_penalty;
    int64_t max_tokens; /* 0 = not set */
    bool is_stream;     /* default true */
    /* llm.timeouts.*Ms; 0 = the defaults of limits.h */
    int64_t connect_ms, first_byte_ms, idle_ms, total_ms;
    bool logs_messages; /* protocols/project.md §2.6 */
    /* llm.effort as written: "none" "minimal" "low" "medium" "high" "xhigh" "max"; "" = not set */
    const char *effort;
    /* llm.extraBody: members added to every request, as compact JSON object; "" = none */
    const char *extra_body_json;
    const char *const *extra_headers; /* llm.extraHeaders: "Name: value" */
    size_t extra_header_count;
    const char *const *api_keys; /* llm.apiKey may be a list: all of them, the first is api_key */
    size_t api_key_count;
    /* llm.proxy, else proxy: http://, socks5h:// ...; "" = none; "environment" = what the
     * environment says, which is not taken else */
    const char *proxy;
    int64_t context_tokens; /* llm.contextTokens; 0 = what the profile or the server says */
    bool has_prices;        /* llm.prices: per million tokens; else the profile's */
    double price_input, price_cached, price_written, price_output;
};

/* The `adapters` (or `integrations`) block of one platform or bot, raw JSON text of it, "" when
 * absent; each adapter reads its own keys from it. Placeholders are already replaced. */
struct sma_config_adapter
{
    const char *name; /* "telegram", "feishu", "qq", ...; of a further bot "telegram@support" */
    bool is_enabled;
    bool says_enabled; /* the member is there; http and terminal are on without it */
    const char *json;
};

/* retention.*: how long what is over is kept. Days and hours by the wall clock; 0 days = for
 * ever. */
struct sma_config_retention
{
    int turns;            /* of a chat: what a session is made from; by default what memory holds */
    int turn_days;        /* 90 */
    int result_hours;     /* outputs, tool calls and traces of finished runs; 72 */
    int result_mb;        /* ... of all together; 1024 */
    int request_log_days; /* .ship/logs/llm; 7 */
    int request_days;     /* decided requests, closed windows; 30 */
    int stranger_days;    /* people who were never paired, since they last wrote; 30 */
    int stranger_count;   /* ... the longest silent go first; 10000 */
    int archive_days;     /* archived history files; 0 */
};

/* What becomes of a message whose chat is busy, as the words of queue.mode. */
enum sma_queue_mode
{
    SMA_QUEUE_SERIAL,  /* each has a run of its own */
    SMA_QUEUE_COLLECT, /* all that wait are answered by the next run together */
    SMA_QUEUE_STEER,   /* what a person adds goes into the run that is open for them */
};

/* permissions.memory, in the order of its words. */
enum sma_memory_permission
{
    SMA_MEMORY_ASK,    /* each fact is asked about before it is written */
    SMA_MEMORY_ALLOW,  /* none is */
    SMA_MEMORY_REFUSE, /* nothing is remembered, and nothing recalled */
};

/* budgets.*: what may be used in a day and in a month, by the local time of the process. */
enum sma_budget_scope
{
    SMA_BUDGET_NONE,
    SMA_BUDGET_PERSON,
    SMA_BUDGET_CHAT,
    SMA_BUDGET_PLATFORM,
    SMA_BUDGET_TOTAL,
    SMA_BUDGET_SCOPE_COUNT
};
enum sma_budget_kind
{
    SMA_BUDGET_TOKENS,
    SMA_BUDGET_COST,
    SMA_BUDGET_RUNS,
    SMA_BUDGET_KIND_COUNT,
    SMA_BUDGET_MESSAGES = SMA_BUDGET_KIND_COUNT /* limits.perPersonPerMinute */
};
enum sma_budget_period
{
    SMA_BUDGET_DAY,
    SMA_BUDGET_MONTH,
    SMA_BUDGET_PERIOD_COUNT,
    SMA_BUDGET_MINUTE = SMA_BUDGET_PERIOD_COUNT
};
struct sma_config_budget /* 0 = no limit */
{
    int64_t tokens_day, tokens_month, runs_day, runs_month;
    double cost_day, cost_month; /* in the prices' currency */
};
struct sma_config_budgets
{
    struct sma_config_budget person, chat, platform, total;
    bool exempts_owners;
};

/* web.*: raw, for runtime/web/rules.h, and what of it there is. */
struct sma_config_web
{
    const char *json; /* "" when absent */
    bool has_fetch, has_search;
};

struct sma_config
{
    const char *project_dir; /* absolute, real path */
    const char *state_dir;   /* project_dir + "/.ship" */
    const char *proxy;       /* of every platform that names none of its own; "" or NULL = none */
    const char *name, *version, *description;
    const char *agent_md; /* trimmed; the two-line default role when empty */
    const char *start_host;
    int start_port;        /* 0 = any free port */
    const char *api_token; /* configured token, "" = use .ship/api-token */
    /* skills.paths, skills.allowRules: a line feed behind each; "" or NULL = none */
    const char *skill_paths, *skill_rules;
    bool has_outer_skills; /* skills.allowExternalPaths */
    bool has_skills;       /* a folder that may hold some was there when this was read */
    const char *api_cors;  /* origins with a space between; "" or NULL = none, "*" = any */
    struct sma_config_llm llm;
    /* Whom to ask, in this order: llm itself, then llm.fallbacks. Members that a fallback does not
     * name are the defaults of its own provider, except stream, timeouts, proxy, logMessages, which
     * are llm's. */
    const struct sma_config_llm *llm_targets[SMA_TARGET_COUNT_MAX];
    size_t llm_target_count; /* 0: llm alone (configurations made by hand) */
    /* chats.h: what is different in some chats, and every model that can be asked */
    const struct sma_chat_rule *chats;
    size_t chat_count;
    const struct sma_hook *hooks; /* hooks.h: who is told when a run has ended */
    size_t hook_count;
    const struct sma_config_llm *models[SMA_MODEL_COUNT_MAX];
    size_t model_count; /* 0: those of llm_targets */
    /* llm.judge: who reads what may be an answer to a request; else llm with the least effort;
     * NULL: llm */
    const struct sma_config_llm *llm_judge;
    /* llm.vision: who describes pictures for models that cannot see them; NULL: nobody */
    const struct sma_config_llm *llm_vision;
    /* llm.small: who reads conversations for what is to be remembered; NULL: the chat's model */
    const struct sma_config_llm *llm_small;
    /* llm.patienceS: how long a run waits for a model that cannot be reached; default 900 */
    int64_t llm_patience_s;
    int agent_concurrency;     /* 1.. */
    bool agent_is_strict;      /* agent.strict: one run at a time, whatever it waits for */
    int agent_command_seconds; /* agent.commandSeconds: of one person's commands an hour; 0 = any */
    int agent_helpers;         /* agent.helpers: sub-agents of one run at once; 0 = none */
    int agent_helper_steps;    /* agent.helperSteps */
    bool queue_is_fair;        /* queue.order: fair (default) | fifo */
    uint8_t queue_mode;        /* enum sma_queue_mode; queue.mode */
    int queue_quiet_ms;        /* queue.quietMs: of collect; 0 = a run starts at once */
    int queue_chat_waiting_max, queue_waiting_max;
    bool durability_is_none; /* durability: "full" (default) | "none" */
    enum sma_language language;
    int64_t approvals_expire_s;
    struct sma_config_retention retention;
    struct sma_config_budgets budgets;
    int per_person_per_minute; /* limits.perPersonPerMinute; 0 = no limit */
    /* variables that .env gave to the environment; no child process gets them */
    const char *const *dotenv_names;
    size_t dotenv_count;
    /* the command line's default for permissions.exec_shell.sandbox, "" = not given */
    const char *sandbox;
    uint8_t memory;               /* permissions.memory: enum sma_memory_permission */
    bool memory_extracts;         /* memory.extract: conversations are read for facts */
    int64_t memory_pause_s;       /* memory.pauseS: so often at most, for one chat */
    int64_t memory_quiet_s;       /* memory.quietS: nobody has spoken there for so long */
    const char *permissions_json; /* raw, for the permission engine; "" when absent */
    struct sma_config_web web;
    /* files that decide what the program is and runs (runtime/decisive/decisive.h) */
    const struct sma_decisive *decisive;
    size_t decisive_count;
    struct sma_config_adapter adapters[32];
    size_t adapter_count;
    const char *late_values; /* see sma_config_warn_late */
    const char *live_values; /* see sma_config_put_live */
    void *storage;           /* owns everything above */
};

/** What the command line overrides. Zero / NULL = not given. */
struct sma_config_overrides
{
    const char *host;
    int port;             /* -1 = any free port, 0 = not given */
    const char *provider; /* demo and tests: force a provider */
    const char *sandbox;  /* "require": unless ship.json says another word */
    /* Tables of the platforms that there are, NULL at the end. NULL: their blocks are not checked.
     * */
    const struct sma_params *const *platforms;
};

/* One line for people: file, path in the file, what is wrong, the remedy. */
typedef void sma_config_warn_fn(void *user, const char *line);

/**
 * Read the project at `dir`. Loads .env into the environment first (real environment wins).
 * @return OK and *ret_config (destroy with sma_config_destroy), or BADINPUT | NOTFOUND | IO | NOMEM
 *         with the one line in *error. Unknown keys are warnings with the nearest known key.
 * Thread: main, before actors start (or on SIGHUP).
 */
SMA_CHECKED enum sma_err sma_config_load(const char *dir,
                                         const struct sma_config_overrides *overrides,
                                         sma_config_warn_fn *warn, void *user,
                                         struct sma_config **ret_config, struct sma_error *error);
void sma_config_destroy(struct sma_config *config); /* accepts NULL */
/** One line that names the keys that differ from those of the start and count from the next one. */
void sma_config_warn_late(const struct sma_config *started, const struct sma_config *fresh,
                          sma_config_warn_fn *warn, void *user);
struct sma_buf;
/** Append "llm.model, Agent.md": what differs from the snapshot before and counts at once. Names,
 *  never values. */
void sma_config_put_live(const struct sma_config *before, const struct sma_config *fresh,
                         struct sma_buf *names);

/** The tables that load() checks with, for editors and people: JSON Schema, docs/configuration.md,
 *  the man page's section. */
void sma_config_format_schema(struct sma_buf *buf, const struct sma_params *const *platforms);
void sma_config_format_docs(struct sma_buf *buf, const struct sma_params *const *platforms);
void sma_config_format_man(struct sma_buf *buf, const struct sma_params *const *platforms);
/** Which provider a well-known model name belongs to (protocols/project.md §2.4), "custom" for
 *  others. */
const char *sma_config_provider_of_model(const char *model);
/** The first of these variables (NULL ends the list) that is set and not empty, in the environment
 *  or, where it does not know it, in the folder's .env. false: none, or it does not fit. For
 *  commands that run before there is a configuration. */
bool sma_config_find_variable(const char *folder, const char *const *names, char *value,
                              size_t room);

#endif
