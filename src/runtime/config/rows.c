/*
 * rows.c — the core's keys of ship.json, one row each. Rows of runtime/access and of the platforms
 * stand there.
 */
#include "config_priv.h"

#include "param_priv.h"
#include "runtime/access/access.h"
#include "sma/hooks.h"
#include "sma/limits.h"

#define KEEP_DAYS SMA_KEEP_DAY_COUNT_MAX
#define HUGE_COUNT 100000000
#define DAY_MS 86400000
#define BUDGET_MAX 1000000000000.0
#define COST_MAX 1000000000.0
#define OBJECT .type = SMA_PARAM_TYPE_OBJECT
#define ANY(told) .type = SMA_PARAM_TYPE_ANY, .words = (told)
#define KEPT(in) .member = #in /* by a reader of its own */
#define LIVE .traits = SMA_PARAM_LIVE
#define UNUSED .traits = SMA_PARAM_UNUSED, .doc = ""

/* What one scope of budgets may use. */
#define BUDGET_KIND(name, kind, in, of, type, unit)                            \
    {"budgets." name "." kind, OBJECT, LIVE},                                  \
        {"budgets." name "." kind ".day",                                      \
         type,                                                                 \
         LIVE,                                                                 \
         AT(budgets.in##_day),                                                 \
         .text = "no limit",                                                   \
         .doc = unit " of " of " in a day, by the local time of the "          \
                     "service"},                                               \
    {                                                                          \
        "budgets." name "." kind ".month", type, LIVE, AT(budgets.in##_month), \
            .text = "no limit", .doc = "... in a calendar month"               \
    }
#define BUDGET(name, in, of)                                                                       \
    {"budgets." name, OBJECT, LIVE},                                                               \
        BUDGET_KIND(name, "tokens", in.tokens, of, SMA_PARAM_INTEGER(0, BUDGET_MAX, 0), "tokens"), \
        BUDGET_KIND(name, "cost", in.cost, of, SMA_PARAM_NUMBER(0, COST_MAX),                      \
                    "cost in the currency of `llm.prices` (US dollars without them)"),             \
        BUDGET_KIND(name, "runs", in.runs, of, SMA_PARAM_INTEGER(0, BUDGET_MAX, 0), "runs")

/* -- one target: llm, each of its fallbacks, its judge ----------------------------------------- */
#define AT(member) SMA_PARAM_AT(struct sma_config_llm, member)
#define AT_SET(member) AT(member), .has_offset = offsetof(struct sma_config_llm, has_##member)
static const struct sma_param TARGET_ROWS[] = {
    {"provider", SMA_PARAM_TEXT("anthropic"), LIVE, KEPT(provider), .words = "name",
     .doc = "`anthropic` `openai` `deepseek` `moonshot` (`kimi`) `qwen` `zhipu` (`glm`) `gemini` "
            "(`google`) `openrouter` "
            "`ollama` `custom` `offline`; another name needs `baseUrl`"},
    {"name", SMA_PARAM_TEXT(NULL), LIVE, AT(name), .words = "name",
     .doc = "what people call it, in `/model` and `chats`; without it `provider/model`"},
    {"model", SMA_PARAM_TEXT(NULL), LIVE, KEPT(model),
     .doc = "the provider's name of the model; without it the provider's default"},
    {"baseUrl", SMA_PARAM_TEXT(NULL), LIVE, KEPT(base_url), .words = "URL",
     .doc = "where the provider is; without it its own address"},
    {"apiKey", .type = SMA_PARAM_TYPE_TEXTS, LIVE, KEPT(api_keys), .words = "text or list",
     .doc = "several keys take turns when one is limited or refused. Without one the variable of "
            "the provider counts "
            "(`ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `DEEPSEEK_API_KEY` ...), never another "
            "provider's"},
    {"api", SMA_PARAM_WORD("chat,responses,messages", 0), LIVE, KEPT(api),
     .text = "by provider, for `custom` by host", .doc = "the wire format"},
    {"stream", SMA_PARAM_FLAG(1), LIVE, AT(is_stream),
     .doc = "answers are read while they are written"},
    {"temperature", SMA_PARAM_NUMBER(0, 2), LIVE, AT_SET(temperature),
     .doc = "sent where model and wire format take it; a line at start says when not"},
    {"topP", SMA_PARAM_NUMBER(0, 1), LIVE, AT_SET(top_p), .doc = "likewise"},
    {"frequencyPenalty", SMA_PARAM_NUMBER(-2, 2), LIVE, AT_SET(frequency_penalty),
     .doc = "likewise; only `api` `chat` has it"},
    {"presencePenalty", SMA_PARAM_NUMBER(-2, 2), LIVE, AT_SET(presence_penalty),
     .doc = "likewise; only `api` `chat` has it"},
    {"maxTokens", SMA_PARAM_INTEGER(1, HUGE_COUNT, 0), LIVE, AT(max_tokens), .text = "by model",
     .doc = "the longest answer"},
    {"anthropicVersion", SMA_PARAM_TEXT("2023-06-01"), LIVE, AT(anthropic_version),
     .doc = "header of the messages format"},
    {"effort", SMA_PARAM_WORD("none,minimal,low,medium,high,xhigh,max", 0), LIVE, KEPT(effort),
     .text = "the provider's",
     .doc = "how much the model thinks: the nearest that it takes, said at start"},
    {"extraBody", OBJECT, KEPT(extra_body_json), .traits = SMA_PARAM_LIVE | SMA_PARAM_OPEN,
     .words = "object",
     .doc = "members added to each request; not `model` `messages` `input` `tools` `stream` "
            "`system` `instructions`"},
    {"extraHeaders", OBJECT, KEPT(extra_headers), .traits = SMA_PARAM_LIVE | SMA_PARAM_OPEN,
     .words = "object", .doc = "headers added to each request"},
    {"proxy", .type = SMA_PARAM_TYPE_PROXY, LIVE, KEPT(proxy), .text = "`proxy`",
     .doc = "for this model's requests; `none` for none"},
    {"contextTokens", SMA_PARAM_INTEGER(1000, HUGE_COUNT, 0), LIVE, AT(context_tokens),
     .text = "by model", .doc = "the model's window"},
    {"prices", OBJECT, LIVE},
    {"prices.input", SMA_PARAM_NUMBER(0, 1000000), LIVE, KEPT(price_input), .text = "by model",
     .doc = "price of a million tokens, which usage is counted with; `input` and `output` go "
            "together"},
    {"prices.cached", SMA_PARAM_NUMBER(0, 1000000), LIVE, KEPT(price_cached), .text = "as `input`",
     .doc = "... read from the provider's cache"},
    {"prices.written", SMA_PARAM_NUMBER(0, 1000000), LIVE, KEPT(price_written),
     .text = "as `input`", .doc = "... written into it"},
    {"prices.output", SMA_PARAM_NUMBER(0, 1000000), LIVE, KEPT(price_output), .text = "by model",
     .doc = "... of the answer"},
    {"timeouts", OBJECT, LIVE},
    {"timeouts.connectMs", SMA_PARAM_INTEGER(1, DAY_MS, 0), LIVE, AT(connect_ms), .text = "10000",
     .doc = "ms until the connection is made"},
    {"timeouts.firstByteMs", SMA_PARAM_INTEGER(1, DAY_MS, 0), LIVE, AT(first_byte_ms),
     .text = "60000, without `stream` 300000, local 600000", .doc = "ms until the answer begins"},
    {"timeouts.idleMs", SMA_PARAM_INTEGER(1, DAY_MS, 0), LIVE, AT(idle_ms), .text = "90000",
     .doc = "ms without data; comments that keep the connection alive do not count"},
    {"timeouts.totalMs", SMA_PARAM_INTEGER(1, DAY_MS, 0), LIVE, AT(total_ms), .text = "1800000",
     .doc = "ms for all of it"},
};
#undef AT_SET
#undef AT
const struct sma_params config_target_params = {"", TARGET_ROWS, SMA_COUNT_OF(TARGET_ROWS), NULL};

/* -- what is different in some chats ----------------------------------------------------------- */
static const struct sma_param CHAT_ROWS[] = {
    {"model", ANY("name of a model, `\"provider/model\"`, object like `llm`"), LIVE,
     .members = &config_target_params, .text = "`llm`",
     .doc = "who is asked first in these chats; after it `llm.fallbacks`"},
    {"prompt", SMA_PARAM_TEXT(NULL), LIVE, .words = "text",
     .doc = "stands behind Agent.md in these chats"},
    {"promptFile", SMA_PARAM_TEXT(NULL), LIVE, .words = "file in the project",
     .doc = "is read in place of Agent.md in these chats"},
    {"tools", OBJECT, LIVE},
    {"tools.allow", .type = SMA_PARAM_TYPE_LIST, LIVE, .words = "list of tools", .text = "all",
     .doc = "only these tools are offered; a call of another one is refused"},
    {"tools.deny", .type = SMA_PARAM_TYPE_LIST, LIVE, .words = "list of tools", .text = "none",
     .doc = "these tools are not offered"},
    {"access", ANY("`paired`, `anyone`, list of user ids, object"), LIVE,
     .members = &sma_access_params, .text = "the platform's",
     .doc =
         "who is answered in these chats: a word, or an object with keys of `adapters.<platform>` "
         "from `access` to `adminUserIds`"},
    {"modelChoice", SMA_PARAM_WORD("admins,everybody", 0), LIVE,
     .doc =
         "who may choose a model with `/model` there: owners and administrators, or everybody who "
         "is answered"},
};
const struct sma_params config_chat_params = {"", CHAT_ROWS, SMA_COUNT_OF(CHAT_ROWS), NULL};

/* -- who is told when a run has ended ---------------------------------------------------------- */
#define AT(member) SMA_PARAM_AT(struct sma_hook, member)
static const struct sma_param HOOK_ROWS[] = {
    {"url", SMA_PARAM_TEXT(NULL), AT(url), .words = "URL",
     .doc = "where an event is sent to by POST; an address of an inner network is yours to write. "
            "Redirects are not followed"},
    {"secret", SMA_PARAM_TEXT(NULL), AT(secret), .words = "text of at least 16 bytes",
     .doc = "key of the signature, best as `\"${HOOK_SECRET}\"`; after `whsec_` it is base64"},
    {"ends", .type = SMA_PARAM_TYPE_WORDS, .words = SMA_HOOK_END_WORDS,
     .standard = (1 << SMA_HOOK_END_COUNT) - 1, AT(ends), .text = "all",
     .doc = "how a run has to end to be told of"},
    {"chats", .type = SMA_PARAM_TYPE_LIST, KEPT(chats), .words = "list of patterns", .text = "all",
     .doc = "only runs of chats that one of them fits, written as in `chats`"},
    {"text", SMA_PARAM_FLAG(1), AT(has_text),
     .doc = "events hold what was answered, at most 16 KiB of it"},
};
#undef AT
const struct sma_params config_hook_params = {"", HOOK_ROWS, SMA_COUNT_OF(HOOK_ROWS), NULL};

#define AT(member) SMA_PARAM_AT(struct sma_config, member)
/* What only llm itself has. */
static const struct sma_param LLM_ROWS[] = {
    {"fallbacks", .type = SMA_PARAM_TYPE_LIST, LIVE, KEPT(llm_targets),
     .members = &config_target_params, .words = "list of at most 7 objects like `llm`",
     .doc = "asked in this order when the one before cannot answer; another provider than `llm`'s "
            "has its own address and key"},
    {"judge", OBJECT, LIVE, KEPT(llm_judge), .members = &config_target_params,
     .words = "object like `llm`", .text = "`llm` with the least effort",
     .doc = "who reads whether words are an answer to a request"},
    {"vision", OBJECT, LIVE, KEPT(llm_vision), .members = &config_target_params,
     .words = "object like `llm`", .text = "nobody",
     .doc = "who describes a picture in words when the model that is asked cannot see it; one "
            "request a picture"},
    {"small", OBJECT, LIVE, KEPT(llm_small), .members = &config_target_params,
     .words = "object like `llm`", .text = "the chat's model",
     .doc = "who reads conversations for what is to be remembered (`memory.extract`): a small, "
            "cheap model will do"},
    {"patienceS", SMA_PARAM_INTEGER(0, 604800, 900), LIVE, AT(llm_patience_s),
     .doc = "seconds a message waits for models that cannot be reached, over restarts"},
    {"logMessages", SMA_PARAM_FLAG(1), LIVE, AT(llm.logs_messages), .env = "SMA_LOG_LLM_MESSAGES",
     .doc = "what models are sent and say, in `.ship/logs/llm` (0600, at most 64 MB a day, without "
            "secrets); the variable "
            "(`0` or another text) wins. Whole bodies with `SMA_LOG_LLM_PAYLOAD=1`"},
};
const struct sma_params config_llm_params = {"", LLM_ROWS, SMA_COUNT_OF(LLM_ROWS),
                                             &config_target_params};

/* -- the file ---------------------------------------------------------------------------------- */
static const struct sma_param ROWS[] = {
    {"$schema", SMA_PARAM_TEXT(NULL), LIVE, .words = "path", .doc = "for editors"},
    {"name", SMA_PARAM_TEXT(NULL), LIVE, AT(name), .words = "text",
     .doc = "of the project, shown in `status`; without it the folder's name"},
    {"version", SMA_PARAM_TEXT(NULL), LIVE, AT(version),
     .doc = "of the project, shown in `status`"},
    {"description", SMA_PARAM_TEXT(NULL), LIVE, AT(description),
     .doc = "of the project, shown in `status`"},
    {"language", SMA_PARAM_WORD("auto,zh,en", 0), LIVE, AT(language),
     .doc = "of the program's own notices; `auto`: what the platform says of the user"},
    {"durability", SMA_PARAM_WORD("full,none", 0), AT(durability_is_none),
     .doc = "`none` for benchmarks and throw-away bots; a line at start says so"},
    {"access", .type = SMA_PARAM_TYPE_ACCESS, LIVE, .text = "paired",
     .doc = "how private messages of unknown people are handled, for platforms that do not say it "
            "themselves"},
    {"proxy", .type = SMA_PARAM_TYPE_PROXY, LIVE, AT(proxy),
     .doc = "what model requests and chat platforms go through, with user:password@ if it wants "
            "them; never for this machine's own servers; `environment`: https_proxy, http_proxy, "
            "all_proxy and no_proxy, which are ignored otherwise; platforms at start"},
    {"web", OBJECT, LIVE},
    {"web.allowPrivateHosts", ANY("list of hosts"), LIVE, .text = "none",
     .doc =
         "hosts of an inner network, as `wiki.lan` or `10.0.0.5:8090`, that pages may be fetched "
         "from; all others are refused"},
    {"web.ports", ANY("list of numbers"), LIVE, .text = "80, 443, 8080, 8443",
     .doc = "further ports that pages may be fetched from"},
    {"web.search", OBJECT, LIVE},
    {"web.search.provider", ANY("`searxng`, `brave`, `tavily`, `bing`"), LIVE, .text = "none",
     .doc = "who is asked by `web_search`, which there is only then"},
    {"web.search.url", ANY("URL"), LIVE, .text = "the provider's own",
     .doc = "where it is; SearXNG has to have one"},
    {"web.search.apiKey", ANY("key"), LIVE, .text = "none", .doc = "for Brave, Tavily and Bing"},
    {"start", OBJECT},
    {"start.host", SMA_PARAM_TEXT("127.0.0.1"), AT(start_host), .words = "address",
     .doc = "before anything but loopback put a proxy with TLS"},
    {"start.port", SMA_PARAM_INTEGER(0, 65535, 3000), AT(start_port), .doc = "0 = any free port"},
    {"start.interactiveWeb", SMA_PARAM_FLAG(0), UNUSED},
    {"start.interactivePort", SMA_PARAM_INTEGER(0, 65535, 3001), UNUSED},
    {"api", OBJECT},
    {"api.token", SMA_PARAM_TEXT(NULL), LIVE, AT(api_token),
     .doc = "a second token, for callers elsewhere; `.ship/api-token` (mode 0600) is always made "
            "and always counts"},
    {"api.cors", .type = SMA_PARAM_TYPE_LIST, LIVE, KEPT(api_cors), .words = "list of origins",
     .text = "none",
     .doc = "pages of these origins (`https://app.example.org`) may call the HTTP API, with the "
            "token; `*`: of all"},
    {"skills", OBJECT, LIVE},
    {"skills.paths", .type = SMA_PARAM_TYPE_LIST, LIVE, KEPT(skill_paths),
     .words = "list of folders", .text = "none",
     .doc = "folders with skills, looked at before `.claude/skills` and `.agents/skills`; relative "
            "to the project, or `~/...`"},
    {"skills.allowExternalPaths", SMA_PARAM_FLAG(0), LIVE, AT(has_outer_skills),
     .doc = "folders of `skills.paths` may lie outside the project"},
    {"skills.allowRules", .type = SMA_PARAM_TYPE_LIST, LIVE, KEPT(skill_rules),
     .words = "list of ids of skills", .text = "none",
     .doc =
         "skills whose `allowed-tools` may let their own scripts run without a question, in runs "
         "that have loaded them; other skills grant nothing"},
    {"llm", OBJECT, LIVE, .members = &config_llm_params},
    {"chats", OBJECT, .traits = SMA_PARAM_LIVE | SMA_PARAM_MAP, KEPT(chats),
     .members = &config_chat_params, .words = "object: pattern and what is different there",
     .doc =
         "what is different in chats that the pattern fits: `telegram:group:*`, "
         "`feishu:chat:oc_1`, `qq`; a chat's key or its kind, `*` for any bytes; the most exact "
         "one counts, for each member by itself. Of several bots a pattern without an id speaks of "
         "all, `telegram@support:*` of one"},
    {"hooks", OBJECT, .traits = SMA_PARAM_MAP, KEPT(hooks), .members = &config_hook_params,
     .words = "object: name and where to",
     .doc = "at most 8 addresses that are told when a run has ended: signed, retried for a day, "
            "over restarts (docs/hooks.md)"},
    {"agent", OBJECT},
    {"agent.concurrency", SMA_PARAM_INTEGER(1, SMA_CONCURRENCY_MAX, 1), LIVE, AT(agent_concurrency),
     .doc = "runs at once, of different chats; never two of one chat"},
    {"agent.strict", SMA_PARAM_FLAG(0), LIVE, AT(agent_is_strict),
     .doc =
         "one message at a time to the letter: one run, and none leaves its place while it waits "
         "for a command, a server or a slow model; `agent.concurrency` does not count then"},
    {"agent.commandSeconds", SMA_PARAM_INTEGER(0, 3600 * SMA_EXEC_COUNT_MAX, 7200), LIVE,
     AT(agent_command_seconds),
     .doc = "seconds that the commands of one person may run in an hour, all chats together; then "
            "they are refused until the hour is over; 0 = no limit"},
    {"agent.helpers", SMA_PARAM_INTEGER(0, SMA_HELPER_COUNT_MAX, SMA_HELPER_COUNT_MAX), LIVE,
     AT(agent_helpers),
     .doc = "sub-agents that one run may have at once (tool `agent_run`); 0 = the tool is not "
            "offered"},
    {"agent.helperSteps", SMA_PARAM_INTEGER(1, SMA_RUN_STEP_COUNT_MAX, SMA_HELPER_STEP_COUNT), LIVE,
     AT(agent_helper_steps),
     .doc = "answers of the model that one sub-agent may have, then it must say what it found"},
    {"queue", OBJECT},
    {"queue.order", SMA_PARAM_WORD("fifo,fair", 1), AT(queue_is_fair),
     .doc = "first accepted first, or persons take turns, and the chats of one among each other"},
    {"queue.mode", SMA_PARAM_WORD("serial,collect,steer", 2), LIVE, AT(queue_mode),
     .doc = "what people add while their run is open: `steer` gives it to that run, `collect` to "
            "the next one together, `serial` each to a run of its own"},
    {"queue.quietMs", SMA_PARAM_INTEGER(0, 60000, 1500), LIVE, AT(queue_quiet_ms),
     .doc = "of `collect`: ms without a further message before a run starts, five times as much "
            "at most; 0 = at once"},
    {"queue.chatWaitingMax", SMA_PARAM_INTEGER(1, 100000, SMA_CHAT_WAITING_COUNT_MAX),
     AT(queue_chat_waiting_max),
     .doc = "waiting messages of one chat; beyond it they are recorded and visibly refused"},
    {"queue.waitingMax",
     SMA_PARAM_INTEGER(1, SMA_INBOX_WAITING_COUNT_MAX, SMA_INBOX_WAITING_COUNT_MAX),
     AT(queue_waiting_max),
     .doc = "waiting messages of all chats; beyond it platforms bring the message again"},
    {"retention", OBJECT, LIVE},
    {"retention.turns",
     SMA_PARAM_INTEGER(1, SMA_SESSION_TURN_COUNT_MAX, SMA_SESSION_TURN_COUNT_MAX), LIVE,
     AT(retention.turns),
     .doc = "turns that a chat's conversation is made from at most; a summary replaces older ones "
            "before the model's window is full"},
    {"retention.turnDays", SMA_PARAM_INTEGER(0, KEEP_DAYS, 90), LIVE, AT(retention.turn_days),
     .doc = "days they are kept; 0 = for ever"},
    {"retention.resultHours", SMA_PARAM_INTEGER(1, 24 * KEEP_DAYS, 72), LIVE,
     AT(retention.result_hours),
     .doc = "hours that outputs and texts of finished messages are kept; that one was answered is "
            "remembered longer"},
    {"retention.resultMegabytes", SMA_PARAM_INTEGER(1, HUGE_COUNT, 1024), LIVE,
     AT(retention.result_mb), .doc = "MB of all of them"},
    {"retention.requestLogDays", SMA_PARAM_INTEGER(1, KEEP_DAYS, 7), LIVE,
     AT(retention.request_log_days), .doc = "days of `.ship/logs/llm`"},
    {"retention.requestDays", SMA_PARAM_INTEGER(1, KEEP_DAYS, 30), LIVE, AT(retention.request_days),
     .doc = "days that decided requests and closed follow-up windows are kept"},
    {"retention.strangerDays", SMA_PARAM_INTEGER(0, KEEP_DAYS, 30), LIVE,
     AT(retention.stranger_days),
     .doc = "days that people who were never paired are remembered after they last wrote; 0 = for "
            "ever"},
    {"retention.strangers", SMA_PARAM_INTEGER(0, HUGE_COUNT, 10000), LIVE,
     AT(retention.stranger_count), .doc = "how many of them"},
    {"retention.archiveDays", SMA_PARAM_INTEGER(0, KEEP_DAYS, 0), LIVE, AT(retention.archive_days),
     .doc = "days that archives of `.ship/chats` are kept; 0 = for ever"},
    {"memory", OBJECT, LIVE},
    {"memory.extract", SMA_PARAM_FLAG(1), LIVE, AT(memory_extracts),
     .doc = "conversations are read for what is worth remembering, by a model request of its own: "
            "it is proposed (`/memory`), or kept at once with `permissions.memory: \"allow\"`"},
    {"memory.pauseS", SMA_PARAM_INTEGER(1, 86400, SMA_MEMORY_EXTRACT_PAUSE_S), LIVE,
     AT(memory_pause_s), .doc = "seconds between two of them for one chat, at least"},
    {"memory.quietS", SMA_PARAM_INTEGER(0, 86400, 60), LIVE, AT(memory_quiet_s),
     .doc = "seconds that nobody has spoken there before"},
    {"budgets", OBJECT, LIVE},
    BUDGET("perPerson", person, "one person on one platform"),
    BUDGET("perChat", chat, "one chat"),
    BUDGET("perPlatform", platform, "one platform"),
    BUDGET("total", total, "all"),
    {"budgets.exemptOwners", SMA_PARAM_FLAG(0), LIVE, AT(budgets.exempts_owners),
     .doc = "what owners write is never refused for a budget or `limits.perPersonPerMinute`; it "
            "counts all the same"},
    {"limits", OBJECT, LIVE},
    {"limits.perPersonPerMinute", SMA_PARAM_INTEGER(0, SMA_PERSON_MINUTE_COUNT_MAX, 0), LIVE,
     AT(per_person_per_minute), .text = "no limit",
     .doc = "messages of one person that may start work within a minute; others are recorded and "
            "visibly refused"},
    {"approvals", OBJECT},
    {"approvals.expireS", SMA_PARAM_INTEGER(0, 31536000, 86400), LIVE, AT(approvals_expire_s),
     .doc = "seconds after which a request without an answer is refused; 0 = never"},
    /* Their values are checked by their readers: runtime/access, policy and tools. */
    {"permissions", OBJECT, LIVE},
    {"permissions.roles", ANY("`owner`, `admin`, `member`: lists of `\"telegram:1001\"`"), LIVE,
     .doc = "who decides, who talks"},
    {"permissions.exec_shell", ANY("object, true, false"), LIVE,
     .text = "every command asked, `rm` refused",
     .doc =
         "how commands are decided and held; `true`: what is understood runs, `false`: none runs"},
    {"permissions.exec_shell.allow", ANY("list of rules"), LIVE,
     .doc = "the first words of commands that run without a question"},
    {"permissions.exec_shell.deny", ANY("list of rules"), LIVE, .text = "`rm`",
     .doc = "commands that are refused; stronger than `allow`"},
    {"permissions.exec_shell.requiresApproval", SMA_PARAM_FLAG(1), LIVE,
     .text = "of what no rule allows",
     .doc = "`false`, without an allow list: what is not denied runs; `true`: the allow list is "
            "asked, too"},
    {"permissions.exec_shell.denyRequiresApproval", SMA_PARAM_FLAG(0), LIVE,
     .doc = "denied commands need consent instead"},
    {"permissions.exec_shell.sandbox", SMA_PARAM_WORD("auto,require,off", 0), LIVE,
     .doc = "the sandbox of commands: where it works, or no start without it; see SECURITY.md"},
    {"permissions.exec_shell.network", SMA_PARAM_FLAG(0), LIVE,
     .doc = "commands reach the network"},
    {"permissions.exec_shell.memoryMb",
     SMA_PARAM_INTEGER(SMA_EXEC_MEMORY_MB_MIN, SMA_EXEC_MEMORY_MB_MAX, SMA_EXEC_MEMORY_MB), LIVE,
     .doc = "MB of memory of one process"},
    {"permissions.exec_shell.env", ANY("list of names"), LIVE,
     .doc = "variables that commands get"},
    {"permissions.exec_shell.paths", ANY("list of files and folders"), LIVE,
     .doc = "read-only for commands and MCP servers besides the system's folders and the project: "
            "`/opt/node`, `~/.cargo`"},
    {"permissions.read_repo", ANY("true, false, object"), LIVE, .text = "true",
     .doc = "which files the agent reads"},
    {"permissions.read_repo.paths", ANY("list of patterns"), LIVE, .text = "all",
     .doc = "only files that one of them fits"},
    {"permissions.read_repo.requiresApproval", ANY("true, false"), UNUSED},
    {"permissions.write_repo", ANY("true, false, object"), LIVE, .text = "asked",
     .doc = "which files the agent writes"},
    {"permissions.write_repo.paths", ANY("list of patterns"), LIVE, .text = "all",
     .doc = "only files that one of them fits"},
    {"permissions.write_repo.requiresApproval", SMA_PARAM_FLAG(1), LIVE,
     .doc = "each write needs consent"},
    {"permissions.send_elsewhere", SMA_PARAM_WORD("ask,allow,refuse", 0), LIVE,
     .doc = "messages to other chats"},
    {"permissions.mcp", ANY("object"), LIVE, .text = "every call asked",
     .doc = "tools of MCP servers (docs/mcp.md), by patterns like `\"files:read_*\"`"},
    {"permissions.mcp.allow", ANY("list of patterns"), LIVE,
     .doc = "tools that are called without a question"},
    {"permissions.mcp.ask", ANY("list of patterns"), LIVE,
     .doc = "tools that are asked every time; stronger than `allow`"},
    {"permissions.mcp.deny", ANY("list of patterns"), LIVE,
     .doc = "tools that are not called; stronger than `ask`"},
    {"permissions.memory", SMA_PARAM_WORD("ask,allow,refuse", 0), LIVE, AT(memory),
     .doc = "what the agent remembers of people: `ask` before each fact that is written, `allow` "
            "it, or `refuse` memory altogether; what is for the whole project is always asked of "
            "people who are no owners or administrators"},
    {"permissions.web", ANY("ask, allow, refuse, object"), LIVE, .text = "ask",
     .doc = "pages of hosts that the user did not name in the message"},
    {"permissions.web.mode", SMA_PARAM_WORD("ask,allow,refuse", 0), LIVE,
     .doc = "... with lists beside it"},
    {"permissions.web.allow", ANY("list of hosts"), LIVE, .text = "none",
     .doc = "hosts (`example.com`, `*.example.com`) that are fetched without a question"},
    {"permissions.web.deny", ANY("list of hosts"), LIVE, .text = "none",
     .doc = "hosts that are never fetched; stronger than everything else"},
    {"permissions.open_pr", ANY("true, false"), UNUSED},
    {"permissions.merge", ANY("true, false"), UNUSED},
    {"adapters", OBJECT, .traits = SMA_PARAM_BLOCKS},
    {"integrations", OBJECT, .traits = SMA_PARAM_BLOCKS, .words = "object",
     .doc = "older name of `adapters`, which wins where both name a platform"},
    {"oss", OBJECT, .traits = SMA_PARAM_UNUSED | SMA_PARAM_OPEN, .doc = ""},
    {"cloudFiles", OBJECT, .traits = SMA_PARAM_UNUSED | SMA_PARAM_OPEN, .doc = ""},
};
const struct sma_params config_params = {"", ROWS, SMA_COUNT_OF(ROWS), NULL};
