/*
 * init_model.c — who answers in a new project: provider, key and model, each tested as it comes.
 * What cannot work together is refused, and no key goes to another provider's address.
 */
#include "init.h"

#include "cli.h"
#include "init_address.h"
#include "init_test.h"
#include "probe/probe.h"
#include "prompt.h"
#include "runtime/model/profile.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define LEAVE_PROVIDER 4   /* after INIT_ENDED: begin anew with another one */
#define SHOWN_COUNT_MAX 30 /* models of one list; others are typed */

struct choices
{
    char ids[SHOWN_COUNT_MAX][SMA_MODELS_ID_BYTES_MAX];
    size_t count, left_out_count, other_count; /* other: not for chats */
    bool is_of_server;                         /* told by the provider itself */
};

/* "custom" has no address of its own. */
static bool needs_url(const char *provider)
{
    return strcmp(provider, "custom") == 0;
}

static bool is_offline(const struct sma_provider *provider)
{
    return provider != NULL && provider->host == SMA_HOST_OFFLINE;
}

/* -- what works together ----------------------------------------------------------------------- */
static void use_own_url(struct init_model *chosen, const struct sma_provider *provider)
{
    if (chosen->base_url[0] == '\0' && provider != NULL && !needs_url(chosen->provider))
        snprintf(chosen->base_url, sizeof chosen->base_url, "%s", provider->base_url);
}

/* Whose own server this is: it serves its own models and no others. */
static bool is_maker(enum sma_host host)
{
    switch (host) {
    case SMA_HOST_ANTHROPIC:
    case SMA_HOST_OPENAI:
    case SMA_HOST_DEEPSEEK:
    case SMA_HOST_MOONSHOT:
    case SMA_HOST_ZHIPU:
    case SMA_HOST_GEMINI:
        return true;
    default:
        return false;
    }
}

/* The maker whose own address this is, whatever the provider is called; NULL: nobody's. */
static const struct sma_provider *maker_at(const char *base_url)
{
    struct sma_config_llm llm = {.provider = "custom", .model = "", .base_url = base_url};
    enum sma_host host = sma_profile_host(&llm);
    size_t count;
    const struct sma_provider *all = sma_provider_all(&count);
    for (size_t i = 0; i < count && is_maker(host); i++)
        if (all[i].host == host)
            return &all[i];
    return NULL;
}

static const char *usual_model(const struct sma_provider *provider)
{
    return provider->default_model != NULL ? provider->default_model
           : provider->menu[0] != NULL     ? provider->menu[0]
                                           : "";
}

static const char *check_pair(const struct init_model *chosen, char *why, size_t room)
{
    const struct sma_provider *maker =
        sma_provider_find(sma_config_provider_of_model(chosen->model));
    const struct sma_provider *server = maker_at(chosen->base_url);
    if (maker == NULL || server == NULL || maker == server || !is_maker(maker->host))
        return NULL;
    snprintf(why, room,
             "%s does not serve %s; use --provider %s, or name one of its own models, e.g. "
             "--model %s",
             server->name, chosen->model, maker->name, usual_model(server));
    return why;
}

/* Keys that say whose they are. */
static const char *check_key(const char *key, const char *base_url, char *why, size_t room)
{
    static const struct
    {
        const char *prefix, *provider;
    } rows[] = {{"sk-ant-", "anthropic"},
                {"sk-or-", "openrouter"},
                {"sk-proj-", "openai"},
                {"AIza", "gemini"}};
    const struct sma_provider *server = maker_at(base_url);
    for (size_t i = 0; i < SMA_COUNT_OF(rows) && server != NULL; i++)
        if (strncmp(key, rows[i].prefix, strlen(rows[i].prefix)) == 0 &&
            strcmp(server->name, rows[i].provider) != 0) {
            snprintf(why, room, "that is a key of %s (%s...); it is not sent to %s",
                     rows[i].provider, rows[i].prefix, server->name);
            return why;
        }
    return NULL;
}

static int choose_provider(struct init_model *chosen)
{
    if (chosen->provider[0] != '\0')
        return 0;
    if (chosen->model[0] == '\0') {
        size_t count;
        snprintf(chosen->provider, sizeof chosen->provider, "%s", sma_provider_all(&count)[0].name);
        return 0;
    }
    /* "vendor/model" is how gateways name theirs. */
    bool is_gateway = strchr(chosen->model, '/') != NULL && chosen->base_url[0] == '\0';
    snprintf(chosen->provider, sizeof chosen->provider, "%s",
             is_gateway ? "openrouter" : sma_config_provider_of_model(chosen->model));
    if (strcmp(chosen->provider, "custom") == 0 && chosen->base_url[0] == '\0' &&
        strcmp(chosen->model, "custom") != 0)
        return sma_cli_fail("init: which provider serves %s is not known here; name it with "
                            "--provider (%s), or give the server's address with --base-url",
                            chosen->model, sma_provider_names());
    return 0;
}

static int fail_unknown(const struct init_model *chosen)
{
    return sma_cli_fail("init: provider %s is not known; take one of %s, or give the address of "
                        "a server that speaks chat completions with --base-url",
                        chosen->provider, sma_provider_names());
}

/* One that cannot be mended stays: what reads ship.json says what is wrong with it. */
static void clean_url(struct init_model *chosen)
{
    char clean[INIT_ANSWER_BYTES_MAX];
    snprintf(clean, sizeof clean, "%s", chosen->base_url);
    if (!init_address_clean(clean, sizeof clean) || strcmp(clean, chosen->base_url) == 0)
        return;
    snprintf(chosen->base_url, sizeof chosen->base_url, "%s", clean);
    printf("Taken as %s\n", clean);
}

static int complete(struct init_model *chosen)
{
    if (choose_provider(chosen) != 0)
        return 1;
    const struct sma_provider *provider = sma_provider_find(chosen->provider);
    if (provider == NULL && chosen->base_url[0] == '\0')
        return fail_unknown(chosen);
    use_own_url(chosen, provider);
    if (chosen->model[0] == '\0' && provider != NULL)
        snprintf(chosen->model, sizeof chosen->model, "%s", usual_model(provider));
    if (chosen->model[0] == '\0')
        return sma_cli_fail("init: name the model with --model; %s has no usual one",
                            chosen->provider);
    if (needs_url(chosen->provider) && chosen->base_url[0] == '\0' &&
        strcmp(chosen->model, "custom") != 0)
        return sma_cli_fail("init: provider custom needs the server's address: --base-url URL");
    char why[512];
    return check_pair(chosen, why, sizeof why) == NULL ? 0 : sma_cli_fail("init: %s", why);
}

/* -- the key's place --------------------------------------------------------------------------- */
/* The name that ship.json gives it: one that this shell's environment does not overrule. */
static bool name_key(struct init_model *chosen, const struct sma_provider *provider)
{
    const char *names[SMA_COUNT_OF(provider->variables) + 1] = {"LLM_API_KEY"};
    for (size_t i = 0; provider != NULL && provider->variables[i] != NULL; i++)
        names[i + 1] = provider->variables[i];
    for (size_t i = 0; i < SMA_COUNT_OF(names) && names[i] != NULL; i++)
        if (!init_secret_is_shadowed(names[i], chosen->key)) {
            snprintf(chosen->variable, sizeof chosen->variable, "%s", names[i]);
            return true;
        }
    return false;
}

/* Which variable has a key for it already: one of its own, or LLM_API_KEY. NULL: none. */
static const char *find_variable(const struct init_answers *answers,
                                 const struct sma_provider *provider, char *key, size_t room)
{
    for (size_t i = 0; provider != NULL && provider->variables[i] != NULL; i++)
        if (init_secrets_find(&answers->secrets, answers->dir, provider->variables[i], key, room))
            return provider->variables[i];
    return init_secrets_find(&answers->secrets, answers->dir, "LLM_API_KEY", key, room)
               ? "LLM_API_KEY"
               : NULL;
}

static void use_variable(struct init_answers *answers, const char *name, const char *key)
{
    struct init_model *chosen = &answers->model;
    snprintf(chosen->variable, sizeof chosen->variable, "%s", name);
    snprintf(chosen->key, sizeof chosen->key, "%s", key);
}

/* -- tests ------------------------------------------------------------------------------------- */
/* As the program itself: a proxy could not reach this machine. */
static bool is_here(const char *url)
{
    static const char *const hosts[] = {"http://127.", "http://localhost", "http://[::1]",
                                        "http://host.docker.internal"};
    for (size_t i = 0; i < SMA_COUNT_OF(hosts); i++)
        if (strncmp(url, hosts[i], strlen(hosts[i])) == 0)
            return true;
    return false;
}

static void describe(const struct init_answers *answers, struct sma_config_llm *llm,
                     const char *keys[1])
{
    const struct init_model *chosen = &answers->model;
    keys[0] = chosen->key;
    *llm = (struct sma_config_llm){.api = sma_profile_api(chosen->provider, chosen->base_url),
                                   .provider = chosen->provider,
                                   .model = chosen->model,
                                   .name = "",
                                   .base_url = chosen->base_url,
                                   .api_key = chosen->key,
                                   .api_key_source = chosen->variable,
                                   .anthropic_version = "2023-06-01",
                                   .effort = "",
                                   .extra_body_json = "",
                                   .api_keys = keys,
                                   .api_key_count = chosen->key[0] != '\0',
                                   .proxy = is_here(chosen->base_url) ? "" : answers->proxy};
}

static bool is_talker(const struct sma_model_facts *model)
{
    static const char *const others[] = {"embed",  "whisper",    "tts",    "dall-e", "moderation",
                                         "image",  "audio",      "rerank", "sora",   "realtime",
                                         "imagen", "transcribe", "veo",    "lyria",  "instruct"};
    if (model->is_retired || model->is_deprecated || model->has_no_tools)
        return false;
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++)
        if (strcasestr(model->id, others[i]) != NULL)
            return false;
    return model->id[0] != '\0';
}

/* What a server calls its models is shown on a terminal and written into ship.json. */
static bool is_plain(const char *id)
{
    for (; *id != '\0'; id++)
        if (*id <= 0x20 || *id >= 0x7F) /* also what is negative */
            return false;
    return true;
}

static void add_choice(struct choices *choices, const char *id)
{
    if (!is_plain(id))
        return;
    for (size_t i = 0; i < choices->count; i++)
        if (strcmp(choices->ids[i], id) == 0)
            return;
    if (choices->count == SHOWN_COUNT_MAX)
        choices->left_out_count++;
    else
        snprintf(choices->ids[choices->count++], SMA_MODELS_ID_BYTES_MAX, "%s", id);
}

/* What of our menu the provider serves comes first, then the rest of its list. */
static void choose_from(const struct sma_models_list *list, const struct sma_provider *provider,
                        struct choices *choices)
{
    for (size_t i = 0; provider != NULL && provider->menu[i] != NULL; i++)
        if (sma_models_list_find(list, provider->menu[i]) != NULL)
            add_choice(choices, provider->menu[i]);
    for (size_t i = 0; i < list->count; i++)
        if (is_talker(&list->models[i]))
            add_choice(choices, list->models[i].id);
        else
            choices->other_count++;
    choices->is_of_server = choices->count > 0;
}

/* What is asked for at the address of the moment. */
static bool ask_list(const struct init_answers *answers, const struct sma_provider *provider,
                     struct choices *choices, struct sma_probe_result *result)
{
    struct sma_config_llm llm;
    struct sma_models_list list = {0};
    const char *keys[1];
    describe(answers, &llm, keys);
    *result = (struct sma_probe_result){0};
    bool is_listed = sma_probe_models_list(&llm, &list, result);
    if (is_listed)
        choose_from(&list, provider, choices);
    sma_models_list_fini(&list);
    return is_listed;
}

/* A server of one's own that answers, but not there: its API may begin at /v1. */
static bool try_other_address(struct init_answers *answers, const struct sma_provider *provider,
                              struct choices *choices, struct sma_probe_result *result)
{
    struct init_model *chosen = &answers->model;
    char given[INIT_ANSWER_BYTES_MAX], other[INIT_ANSWER_BYTES_MAX];
    struct sma_probe_result second;
    if (!needs_url(chosen->provider) || result->is_lost ||
        !init_address_other(chosen->base_url, other, sizeof other))
        return false;
    snprintf(given, sizeof given, "%s", chosen->base_url);
    snprintf(chosen->base_url, sizeof chosen->base_url, "%s", other);
    if (ask_list(answers, provider, choices, &second)) {
        printf("  note: nothing lists models at %s, and %s does: this address is taken.\n", given,
               other);
        *result = second;
        return true;
    }
    snprintf(chosen->base_url, sizeof chosen->base_url, "%s", given);
    printf("  note: neither %s/models nor %s/models is a list of models. An address is what stands "
           "before /chat/completions, as in http://127.0.0.1:8000/v1.\n",
           given, other);
    return false;
}

/* The provider's own list, which also tells whether it takes the key. */
static enum sma_probe_state test_list(struct init_answers *answers,
                                      const struct sma_provider *provider, struct choices *choices)
{
    struct sma_probe_result result;
    *choices = (struct choices){0};
    if (answers->is_untested)
        return SMA_PROBE_OK;
    init_test_begin(answers->model.provider);
    if (!ask_list(answers, provider, choices, &result))
        (void)try_other_address(answers, provider, choices, &result);
    init_test_show(&result);
    return result.state;
}

static enum sma_probe_state test_model(const struct init_answers *answers)
{
    struct sma_config_llm llm;
    struct sma_probe_result result = {0};
    const char *keys[1];
    if (answers->is_untested)
        return SMA_PROBE_OK;
    describe(answers, &llm, keys);
    init_test_begin(answers->model.model);
    sma_probe_model(&llm, &result);
    init_test_show(&result);
    return result.state;
}

/* -- questions --------------------------------------------------------------------------------- */
/* A provider whose key lies ready is the one that is meant. */
static size_t likely_provider(const struct sma_provider *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; all[i].variables[k] != NULL; k++) {
            const char *there = getenv(all[i].variables[k]);
            bool is_own = strcmp(all[i].variables[k], "LLM_API_KEY") != 0 &&
                          strcmp(all[i].variables[k], "API_KEY") != 0;
            if (is_own && there != NULL && there[0] != '\0')
                return i;
        }
    return 0;
}

static bool ask_provider(struct init_model *chosen)
{
    char names[16][96];
    const char *choices[16];
    size_t count, index;
    const struct sma_provider *all = sma_provider_all(&count);
    for (size_t i = 0; i < count && i < SMA_COUNT_OF(names); i++) {
        snprintf(names[i], sizeof names[i], "%s%s", all[i].name,
                 is_offline(&all[i]) ? "      no network, canned answers: to try things"
                 : strcmp(all[i].name, "ollama") == 0 ? "       models of this machine"
                 : needs_url(all[i].name) ? "       any server that speaks chat completions"
                                          : "");
        choices[i] = names[i];
    }
    if (!sma_prompt_choice("Who answers?", choices, count, likely_provider(all, count), &index))
        return false;
    snprintf(chosen->provider, sizeof chosen->provider, "%s", all[index].name);
    return true;
}

static bool ask_url(struct init_model *chosen)
{
    while (needs_url(chosen->provider) && chosen->base_url[0] == '\0') {
        if (!sma_prompt_line("Address of the server, e.g. http://127.0.0.1:8000/v1", "",
                             chosen->base_url, sizeof chosen->base_url))
            return false;
        clean_url(chosen);
        if (init_address_clean(chosen->base_url, sizeof chosen->base_url))
            continue;
        puts("This is no address. It is http:// or https://, the host, and what stands before "
             "/chat/completions.");
        chosen->base_url[0] = '\0';
    }
    return true;
}

/* A key of the environment is offered by its name alone. */
static bool offer_variable(struct init_answers *answers, const struct sma_provider *provider,
                           bool *ret_is_taken)
{
    char key[INIT_SECRET_BYTES_MAX], question[256];
    const char *name = find_variable(answers, provider, key, sizeof key);
    *ret_is_taken = false;
    if (name == NULL || init_secret_fault(key) != NULL)
        return true;
    snprintf(question, sizeof question, "%s is set %s. Use it?", name,
             getenv(name) != NULL ? "in this shell (it will be kept in .env)" : "in .env");
    if (!sma_prompt_yes(question, true, ret_is_taken))
        return false;
    if (*ret_is_taken)
        use_variable(answers, name, key);
    return true;
}

/* NULL, or why this key cannot be used. */
static const char *take_key(struct init_answers *answers, const struct sma_provider *provider,
                            bool is_optional, char *why, size_t room)
{
    struct init_model *chosen = &answers->model;
    if (chosen->key[0] == '\0' && is_optional)
        return NULL;
    const char *fault = init_secret_fault(chosen->key);
    if (fault == NULL)
        fault = check_key(chosen->key, chosen->base_url, why, room);
    if (fault == NULL && chosen->variable[0] == '\0' && !name_key(chosen, provider))
        fault = "the environment of this shell has other keys under every name it could get; "
                "unset LLM_API_KEY";
    return fault;
}

/* Where people get one; NULL: they know, or there is none. */
static const char *key_source(const struct sma_provider *provider)
{
    static const struct
    {
        enum sma_host host;
        const char *url;
    } rows[] = {{SMA_HOST_ANTHROPIC, "https://console.anthropic.com/settings/keys"},
                {SMA_HOST_OPENAI, "https://platform.openai.com/api-keys"},
                {SMA_HOST_DEEPSEEK, "https://platform.deepseek.com/api_keys"},
                {SMA_HOST_MOONSHOT, "https://platform.moonshot.cn/console/api-keys"},
                {SMA_HOST_QWEN, "https://bailian.console.aliyun.com"},
                {SMA_HOST_ZHIPU, "https://open.bigmodel.cn/usercenter/apikeys"},
                {SMA_HOST_GEMINI, "https://aistudio.google.com/apikey"},
                {SMA_HOST_OPENROUTER, "https://openrouter.ai/keys"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows) && provider != NULL; i++)
        if (rows[i].host == provider->host)
            return rows[i].url;
    return NULL;
}

static bool type_key(struct init_answers *answers, const struct sma_provider *provider)
{
    struct init_model *chosen = &answers->model;
    bool is_optional =
        provider == NULL || provider->host == SMA_HOST_OLLAMA || needs_url(chosen->provider);
    char question[INIT_ANSWER_BYTES_MAX + 64], why[256];
    snprintf(question, sizeof question, "Key for %s%s", chosen->provider,
             is_optional ? ", empty if it wants none" : "");
    if (key_source(provider) != NULL)
        printf("Keys come from %s\n", key_source(provider));
    for (;;) {
        chosen->variable[0] = '\0';
        if (!sma_prompt_secret(question, chosen->key, sizeof chosen->key))
            return false;
        const char *fault = take_key(answers, provider, is_optional, why, sizeof why);
        if (fault == NULL)
            return true;
        printf("This cannot be used: %s.\n", fault);
    }
}

/* One that was given or offered is looked at as a typed one is. */
static bool is_usable(struct init_answers *answers, const struct sma_provider *provider)
{
    char why[256];
    const char *fault = take_key(answers, provider, true, why, sizeof why);
    if (fault != NULL)
        printf("This cannot be used: %s.\n", fault);
    return fault == NULL;
}

/* 0 | INIT_ENDED | LEAVE_PROVIDER */
static int ask_key(struct init_answers *answers, const struct sma_provider *provider,
                   struct choices *choices)
{
    bool is_there = answers->model.key[0] != '\0';
    if (!is_there && !offer_variable(answers, provider, &is_there))
        return INIT_ENDED;
    is_there = is_there && is_usable(answers, provider);
    for (enum init_step step = is_there ? INIT_STEP_AGAIN : INIT_STEP_CHANGE;;) {
        if (step == INIT_STEP_CHANGE && !type_key(answers, provider))
            return INIT_ENDED;
        if (test_list(answers, provider, choices) != SMA_PROBE_ERROR)
            return 0;
        if (!init_test_ask_step("another key", "choose another provider", &step))
            return INIT_ENDED;
        if (step == INIT_STEP_KEEP || step == INIT_STEP_LEAVE)
            return step == INIT_STEP_KEEP ? 0 : LEAVE_PROVIDER;
    }
}

/* By number, by name, or typed: a list is never complete. */
static bool ask_name(struct init_model *chosen, const struct choices *choices)
{
    printf("Model%s:\n", choices->is_of_server ? " (as the provider lists them)" : "");
    for (size_t i = 0; i < choices->count; i++)
        printf("  %zu) %s\n", i + 1, choices->ids[i]);
    if (choices->left_out_count > 0)
        printf("  and %zu more: type the name of any\n", choices->left_out_count);
    if (choices->other_count > 0)
        printf("  left out, for they cannot chat or are no longer served: %zu\n",
               choices->other_count);
    for (;;) {
        int64_t number;
        if (!sma_prompt_line("number, or any name", choices->count > 0 ? choices->ids[0] : "",
                             chosen->model, sizeof chosen->model))
            return false;
        if (sma_parse_i64(sma_str(chosen->model), 1, (int64_t)choices->count, &number) ==
            SMA_ERR_OK)
            snprintf(chosen->model, sizeof chosen->model, "%s", choices->ids[number - 1]);
        char why[512];
        const char *fault = chosen->model[0] == '\0' ? "The provider needs the name of a model"
                                                     : check_pair(chosen, why, sizeof why);
        if (fault == NULL)
            return true;
        printf("%s.\n", fault);
    }
}

/* 0 | INIT_ENDED | LEAVE_PROVIDER */
static int ask_model(struct init_answers *answers, const struct choices *choices, bool is_named)
{
    for (enum init_step step = is_named ? INIT_STEP_AGAIN : INIT_STEP_CHANGE;;) {
        if (step == INIT_STEP_CHANGE && !ask_name(&answers->model, choices))
            return INIT_ENDED;
        if (test_model(answers) != SMA_PROBE_ERROR)
            return 0;
        if (!init_test_ask_step("another model", "choose another provider", &step))
            return INIT_ENDED;
        if (step == INIT_STEP_KEEP || step == INIT_STEP_LEAVE)
            return step == INIT_STEP_KEEP ? 0 : LEAVE_PROVIDER;
    }
}

static int keep_key(struct init_answers *answers)
{
    const struct init_model *chosen = &answers->model;
    return chosen->key[0] == '\0'
               ? 0
               : init_secrets_put(&answers->secrets, chosen->variable, chosen->key);
}

/* 0 | 1 | INIT_ENDED | LEAVE_PROVIDER */
static int ask_once(struct init_answers *answers)
{
    struct init_model *chosen = &answers->model;
    struct choices choices = {0};
    bool is_named = chosen->model[0] != '\0';
    if (is_named && complete(chosen) != 0)
        return 1;
    if (chosen->provider[0] == '\0' && !ask_provider(chosen))
        return INIT_ENDED;
    const struct sma_provider *provider = sma_provider_find(chosen->provider);
    if (provider == NULL && chosen->base_url[0] == '\0')
        return fail_unknown(chosen);
    if (is_offline(provider)) {
        snprintf(chosen->model, sizeof chosen->model, "%s", provider->default_model);
        return 0;
    }
    if (!ask_url(chosen))
        return INIT_ENDED;
    use_own_url(chosen, provider);
    int status = ask_key(answers, provider, &choices);
    for (size_t i = 0; choices.count == 0 && provider != NULL && provider->menu[i] != NULL; i++)
        add_choice(&choices, provider->menu[i]);
    status = status != 0 ? status : ask_model(answers, &choices, is_named);
    return status != 0 ? status : keep_key(answers);
}

int init_ask_model(struct init_answers *answers)
{
    int status;
    clean_url(&answers->model);
    while ((status = ask_once(answers)) == LEAVE_PROVIDER) {
        explicit_bzero(&answers->model, sizeof answers->model);
        answers->model = (struct init_model){0};
    }
    return status;
}

/* -- without questions ------------------------------------------------------------------------- */
static int test_given(const struct init_answers *answers)
{
    char other[INIT_ANSWER_BYTES_MAX];
    const struct init_model *chosen = &answers->model;
    if (test_model(answers) != SMA_PROBE_ERROR)
        return 0;
    if (needs_url(chosen->provider) && init_address_other(chosen->base_url, other, sizeof other))
        printf("  note: the address is what stands before /chat/completions; the API of many "
               "servers begins at /v1: --base-url %s\n",
               other);
    return sma_cli_fail("init: %s did not answer, so nothing was written; --untested writes "
                        "all the same",
                        answers->model.model);
}

int init_check_model(struct init_answers *answers)
{
    struct init_model *chosen = &answers->model;
    char why[256], key[INIT_SECRET_BYTES_MAX];
    clean_url(chosen);
    if (complete(chosen) != 0)
        return 1;
    const struct sma_provider *provider = sma_provider_find(chosen->provider);
    if (is_offline(provider))
        return 0;
    if (!chosen->is_key_given) { /* by the name under which it is there, or will be put */
        const char *name = find_variable(answers, provider, key, sizeof key);
        snprintf(chosen->variable, sizeof chosen->variable, "%s",
                 name == NULL ? "LLM_API_KEY" : name);
        return 0;
    }
    const char *fault = take_key(answers, provider, false, why, sizeof why);
    if (fault != NULL)
        return sma_cli_fail("init: %s", fault);
    return test_given(answers) != 0 || keep_key(answers) != 0;
}
