/* init_model.c — see init_model.h. */
#include "init_model.h"

#include "cli.h"
#include "probe/probe.h"
#include "runtime/model/profile.h"
#include "sma/config.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_COUNT_MAX 30 /* models of one list; others are typed */

struct choices
{
    char ids[SHOWN_COUNT_MAX][SMA_MODELS_ID_BYTES_MAX];
    size_t count, left_out_count;
    bool is_of_server; /* told by the provider itself */
};

/* -- the provider's own list ------------------------------------------------------------------- */
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

static void add_choice(struct choices *choices, const char *id)
{
    for (size_t i = 0; i < choices->count; i++)
        if (strcmp(choices->ids[i], id) == 0)
            return;
    if (choices->count == SHOWN_COUNT_MAX)
        choices->left_out_count++;
    else
        snprintf(choices->ids[choices->count++], SMA_MODELS_ID_BYTES_MAX, "%s", id);
}

/* What of our menu the provider serves comes first, then the rest of its list. false: it did not
 * tell. */
static bool list_of_server(const struct init_model *chosen, const struct sma_provider *provider,
                           const char *key, struct choices *choices)
{
    struct sma_models_list list;
    struct sma_probe_result result;
    struct sma_config_llm llm = {.provider = chosen->provider,
                                 .model = "",
                                 .base_url = chosen->base_url,
                                 .api = sma_profile_api(chosen->provider, chosen->base_url),
                                 .api_key = key};
    bool is_there = sma_probe_models_list(&llm, &list, &result);
    for (size_t i = 0; is_there && provider != NULL && provider->menu[i] != NULL; i++)
        if (sma_models_list_find(&list, provider->menu[i]) != NULL)
            add_choice(choices, provider->menu[i]);
    for (size_t i = 0; is_there && i < list.count; i++)
        if (is_talker(&list.models[i]))
            add_choice(choices, list.models[i].id);
    choices->is_of_server = is_there && choices->count > 0;
    if (is_there)
        sma_models_list_fini(&list);
    return choices->is_of_server;
}

/* The variables of the provider, and the one that ship.json will name. */
static bool find_key(const struct init_model *chosen, const struct sma_provider *provider,
                     char *key, size_t room)
{
    static const char *const ours[] = {"LLM_API_KEY", NULL};
    return sma_config_find_variable(chosen->dir, ours, key, room) ||
           (provider != NULL &&
            sma_config_find_variable(chosen->dir, provider->variables, key, room));
}

static void find_choices(const struct init_model *chosen, const struct sma_provider *provider,
                         struct choices *choices)
{
    char key[2048] = "";
    bool has_key = find_key(chosen, provider, key, sizeof key);
    bool is_local = provider != NULL && provider->host == SMA_HOST_OLLAMA;
    *choices = (struct choices){0};
    if ((has_key || is_local) && chosen->base_url[0] != '\0' &&
        list_of_server(chosen, provider, key, choices))
        return;
    for (size_t i = 0; provider != NULL && provider->menu[i] != NULL; i++)
        add_choice(choices, provider->menu[i]);
}

/* -- questions --------------------------------------------------------------------------------- */
/* By number, by name, or typed: a list is never complete. */
static bool ask_model(struct init_model *chosen, const struct sma_provider *provider)
{
    struct choices choices;
    find_choices(chosen, provider, &choices);
    printf("Model%s:\n", choices.is_of_server ? " (as the provider lists them with your key)" : "");
    for (size_t i = 0; i < choices.count; i++)
        printf("  %zu) %s\n", i + 1, choices.ids[i]);
    if (choices.left_out_count > 0)
        printf("  and %zu more: type the name of any\n", choices.left_out_count);
    for (;;) {
        int64_t number;
        if (!sma_init_ask("number, or any name", choices.count > 0 ? choices.ids[0] : "",
                          chosen->model))
            return false;
        if (sma_parse_i64(sma_str(chosen->model), 1, (int64_t)choices.count, &number) == SMA_ERR_OK)
            snprintf(chosen->model, sizeof chosen->model, "%s", choices.ids[number - 1]);
        if (chosen->model[0] != '\0')
            return true;
        puts("The provider needs the name of a model.");
    }
}

static bool ask_provider(struct init_model *chosen)
{
    size_t count;
    const struct sma_provider *all = sma_provider_all(&count);
    puts("Who answers?");
    for (size_t i = 0; i < count; i++)
        printf(
            "  %zu) %s%s\n", i + 1, all[i].name,
            all[i].host == SMA_HOST_OFFLINE ? "      no network, canned answers: to try things out"
            : strcmp(all[i].name, "custom") == 0 ? "       any server that speaks chat completions"
                                                 : "");
    for (;;) {
        int64_t number;
        if (!sma_init_ask("number or name", all[0].name, chosen->provider))
            return false;
        if (sma_parse_i64(sma_str(chosen->provider), 1, (int64_t)count, &number) == SMA_ERR_OK)
            snprintf(chosen->provider, sizeof chosen->provider, "%s", all[number - 1].name);
        if (sma_provider_find(chosen->provider) != NULL)
            return true;
        printf("%s is not in the list.\n", chosen->provider);
    }
}

/* "custom" has no address of its own. */
static bool needs_url(const char *provider)
{
    return strcmp(provider, "custom") == 0;
}

static void use_own_url(struct init_model *chosen, const struct sma_provider *provider)
{
    if (chosen->base_url[0] == '\0' && provider != NULL && !needs_url(chosen->provider))
        snprintf(chosen->base_url, sizeof chosen->base_url, "%s", provider->base_url);
}

bool sma_init_ask_model(struct init_model *chosen)
{
    if (chosen->model[0] != '\0')
        return true; /* the check finds its provider */
    if (chosen->provider[0] == '\0' && !ask_provider(chosen))
        return false;
    const struct sma_provider *provider = sma_provider_find(chosen->provider);
    while (needs_url(chosen->provider) && chosen->base_url[0] == '\0')
        if (!sma_init_ask("Address of the server, e.g. http://127.0.0.1:8000/v1", "",
                          chosen->base_url))
            return false;
    use_own_url(chosen, provider);
    if (provider != NULL && provider->host == SMA_HOST_OFFLINE)
        return true;
    return ask_model(chosen, provider);
}

/* -- what works together ----------------------------------------------------------------------- */
/* Whose own server this is: it serves its own models and no others. */
static bool is_maker(const struct sma_provider *provider)
{
    switch (provider->host) {
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

static const char *usual_model(const struct sma_provider *provider)
{
    return provider->default_model != NULL ? provider->default_model
           : provider->menu[0] != NULL     ? provider->menu[0]
                                           : "";
}

static int check_pair(const struct init_model *chosen, const struct sma_provider *provider)
{
    const struct sma_provider *maker =
        sma_provider_find(sma_config_provider_of_model(chosen->model));
    bool is_own_address = strcmp(chosen->base_url, provider->base_url) == 0;
    if (maker == NULL || maker == provider || !is_maker(maker) || !is_maker(provider) ||
        !is_own_address)
        return 0;
    return sma_cli_fail("init: %s does not serve %s; use --provider %s, or name one of its own "
                        "models, e.g. --model %s",
                        provider->name, chosen->model, maker->name, usual_model(provider));
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

int sma_init_check_model(struct init_model *chosen)
{
    if (choose_provider(chosen) != 0)
        return 1;
    const struct sma_provider *provider = sma_provider_find(chosen->provider);
    if (provider == NULL && chosen->base_url[0] == '\0')
        return sma_cli_fail(
            "init: provider %s is not known; take one of %s, or give the address of "
            "a server that speaks chat completions with --base-url",
            chosen->provider, sma_provider_names());
    use_own_url(chosen, provider);
    if (chosen->model[0] == '\0' && provider != NULL)
        snprintf(chosen->model, sizeof chosen->model, "%s", usual_model(provider));
    if (chosen->model[0] == '\0')
        return sma_cli_fail("init: name the model with --model; %s has no usual one",
                            chosen->provider);
    if (needs_url(chosen->provider) && chosen->base_url[0] == '\0' &&
        strcmp(chosen->model, "custom") != 0)
        return sma_cli_fail("init: provider custom needs the server's address: --base-url URL");
    return provider == NULL ? 0 : check_pair(chosen, provider);
}
