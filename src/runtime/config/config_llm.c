/*
 * config_llm.c — whom to ask: llm, its fallbacks, its judge. Each is resolved in the same way:
 * provider, address, wire, model, keys, options.
 */
#include "config_load.h"

#include "sma/limits.h"
#include "sma/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KEY_COUNT_MAX 32
#define HEADER_COUNT_MAX 32

/* One of the objects that describe a target. */
struct place
{
    struct loading *loading;
    const json_t *json;    /* NULL: the file has none */
    const json_t *written; /* the same with its placeholders */
    const char *path;      /* "llm", "llm.fallbacks.0", "llm.judge" */
    struct sma_config_llm *llm;
    const struct sma_config_llm *main; /* the first target; NULL: this is it */
    /* Another provider is in use than this object speaks of: its key is not for that one. */
    bool is_elsewhere;
    /* The first target's provider and address, so that its key and headers are good here, too. */
    bool is_same;
};

/* "${}" and other leftovers of a placeholder count as not configured (protocols/project.md
 * §2.2). */
static const char *get_text(const struct place *place, const char *name, const char *otherwise)
{
    const char *text = json_string_value(json_object_get(place->json, name));
    bool is_set = text != NULL && text[0] != '\0' && strcmp(text, "${}") != 0;
    return config_keep_text(place->loading, is_set ? text : otherwise);
}

/* "llm.fallbacks.0.model" */
static const char *member_path(const struct place *place, const char *name, char *room, size_t size)
{
    (void)snprintf(room, size, "%s.%s", place->path, name);
    return room;
}

static enum sma_err fail_missing(const struct place *place, const char *name, const char *variable)
{
    return sma_fail(place->loading->error, SMA_ERR_BADINPUT,
                    "%s: %s.%s uses ${%s}, which is not set; put %s=... into .env",
                    place->loading->file, place->path, name, variable, variable);
}

/* -- keys -------------------------------------------------------------------------------------- */
static bool is_placeholder(const char *text)
{
    return text != NULL && strncmp(text, "${", 2) == 0 && strlen(text) > 3 &&
           strchr(text, '}') != NULL;
}

/* "${name}", case preserved, or the key itself (protocols/project.md §2.2). NULL: not set, or
 * empty. */
static const char *resolve_written(const struct place *place, const char *written)
{
    if (written == NULL || written[0] == '\0')
        return NULL;
    if (!is_placeholder(written))
        return strncmp(written, "${", 2) == 0 ? NULL : written;
    char name[256], path[160];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(written + 2, "}"), written + 2);
    const char *value = config_find_variable(place->loading, name);
    if (value != NULL && value[0] != '\0')
        return value;
    member_path(place, "apiKey", path, sizeof path);
    if (config_missing_variable(place->loading, path) == NULL)
        config_note_missing(place->loading, path, name);
    return NULL;
}

static void add_key(const struct place *place, const char **keys, const char *written)
{
    struct sma_config_llm *llm = place->llm;
    const char *value = resolve_written(place, written);
    if (value == NULL || llm->api_key_count == KEY_COUNT_MAX)
        return;
    keys[llm->api_key_count] = config_keep_text(place->loading, value);
    if (llm->api_key_count++ > 0)
        return;
    char source[160];
    (void)snprintf(source, sizeof source, "%s.apiKey of ship.json", place->path);
    llm->api_key_source =
        config_keep_text(place->loading, is_placeholder(written) ? written : source);
}

/* Where ship.json names no key: the variables of the configured provider. A key of another provider
 * must not leave the house. */
static void add_variable_key(const struct place *place, const char **keys)
{
    struct sma_config_llm *llm = place->llm;
    for (const char *const *at = sma_provider_variables(llm->provider); *at != NULL; at++) {
        const char *value = config_find_variable(place->loading, *at);
        if (value == NULL || value[0] == '\0')
            continue;
        keys[llm->api_key_count++] = config_keep_text(place->loading, value);
        llm->api_key_source = *at;
        return;
    }
}

static bool names_a_key(const json_t *written)
{
    const char *text = json_string_value(written);
    return json_is_array(written) ||
           (text != NULL && (is_placeholder(text) || (text[0] != '\0' && text[0] != '$')));
}

static void resolve_keys(const struct place *place)
{
    struct sma_config_llm *llm = place->llm;
    const json_t *written = place->is_elsewhere ? NULL : json_object_get(place->written, "apiKey");
    const char **keys = config_keep_room(place->loading, KEY_COUNT_MAX * sizeof *keys);
    llm->api_key = "";
    llm->api_key_source = "none";
    if (keys == NULL)
        return;
    llm->api_keys = keys;
    if (!names_a_key(written) && place->is_same) {
        llm->api_keys = place->main->api_keys;
        llm->api_key_count = place->main->api_key_count;
        llm->api_key_source = place->main->api_key_source;
    } else if (!names_a_key(written)) {
        add_variable_key(place, keys);
    } else if (json_is_array(written)) {
        for (size_t i = 0; i < json_array_size(written); i++)
            add_key(place, keys, json_string_value(json_array_get(written, i)));
    } else {
        add_key(place, keys, json_string_value(written));
    }
    if (llm->api_key_count > 0)
        llm->api_key = llm->api_keys[0];
}

static bool is_local_url(const char *url)
{
    static const char *const hosts[] = {"http://127.", "http://localhost", "http://[::1]",
                                        "http://host.docker.internal"};
    for (size_t i = 0; i < SMA_COUNT_OF(hosts); i++)
        if (strncmp(url, hosts[i], strlen(hosts[i])) == 0)
            return true;
    return false;
}

/* It stands in a header line, of ours or of a caller. */
enum sma_err config_check_header_value(struct loading *loading, const char *path, const char *value)
{
    for (const char *at = value; *at != '\0'; at++)
        if ((unsigned char)*at <= 0x20 || *at == 0x7f)
            return sma_fail(loading->error, SMA_ERR_BADINPUT,
                            "%s: %s holds a line end, a blank or another character that no key "
                            "has; look at its value in .env or the environment",
                            loading->file, path);
    return SMA_ERR_OK;
}

static bool has_own_authorization(const struct sma_config_llm *llm)
{
    for (size_t i = 0; i < llm->extra_header_count; i++)
        if (strncasecmp(llm->extra_headers[i], "authorization:", 14) == 0 ||
            strncasecmp(llm->extra_headers[i], "x-api-key:", 10) == 0)
            return true;
    return false;
}

static enum sma_err choose_keys(const struct place *place)
{
    struct sma_config_llm *llm = place->llm;
    struct loading *loading = place->loading;
    char path[160];
    member_path(place, "apiKey", path, sizeof path);
    llm->api_key = "";
    llm->api_key_source = "none";
    if (llm->api == SMA_LLM_OFFLINE)
        return SMA_ERR_OK;
    resolve_keys(place);
    for (size_t i = 0; i < llm->api_key_count; i++) {
        SMA_TRY(config_check_header_value(loading, path, llm->api_keys[i]));
    }
    const char *missing = place->is_elsewhere ? NULL : config_missing_variable(loading, path);
    if (missing != NULL && llm->api_key_count > 0)
        config_warn(loading, "%s: %s uses ${%s}, which is not set; the other keys are used",
                    loading->file, path, missing);
    if (llm->api_key_count > 0 || is_local_url(llm->base_url) || has_own_authorization(llm))
        return SMA_ERR_OK; /* a server of this machine may need none */
    if (missing != NULL)
        return sma_fail(loading->error, SMA_ERR_BADINPUT,
                        "%s: %s uses ${%s}, which is not set; put %s=... into .env or the "
                        "environment (provider \"offline\" needs no key)",
                        loading->file, path, missing, missing);
    /* LLM_API_KEY is the first model's; another's is looked for under its own provider's name */
    const char *own = sma_provider_variables(llm->provider)[0];
    const char *name = strcmp(path, "llm.apiKey") == 0 ? "LLM_API_KEY" : own;
    return sma_fail(loading->error, SMA_ERR_BADINPUT,
                    "%s: %s is not set, nor is %s, the variable of provider %s; put "
                    "%s=... into .env and \"apiKey\": \"${%s}\" "
                    "here (provider \"offline\" needs no key)",
                    loading->file, path, own, llm->provider, name, name);
}

/* -- where it is ------------------------------------------------------------------------------- */
static enum sma_err choose_url(const struct place *place, const struct sma_provider *provider)
{
    struct loading *loading = place->loading;
    struct sma_config_llm *llm = place->llm;
    const char *configured = get_text(place, "baseUrl", "");
    char path[160];
    const char *missing =
        config_missing_variable(loading, member_path(place, "baseUrl", path, sizeof path));
    if (configured[0] == '\0' && missing != NULL)
        return fail_missing(place, "baseUrl", missing);
    if (configured[0] == '\0' && place->is_same)
        configured = place->main->base_url;
    if (configured[0] == '\0' && strcmp(llm->provider, "anthropic") == 0 &&
        config_find_variable(loading, "ANTHROPIC_BASE_URL") != NULL)
        configured = config_find_variable(loading, "ANTHROPIC_BASE_URL");
    if (configured[0] == '\0' && provider == NULL)
        return sma_fail(loading->error, SMA_ERR_BADINPUT,
                        "%s: %s.provider \"%s\" is unknown and has no %s.baseUrl; known: %s",
                        loading->file, place->path, llm->provider, place->path,
                        sma_provider_names());
    if (configured[0] == '\0')
        configured = provider->base_url;
    char *url = config_keep_room(loading, strlen(configured) + 1);
    if (url == NULL)
        return SMA_ERR_OK; /* said at the end */
    size_t len = strlen(configured);
    while (len > 0 && configured[len - 1] == '/')
        len--;
    memcpy(url, configured, len);
    url[len] = '\0';
    llm->base_url = url;
    if (len > 0 && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return sma_fail(loading->error, SMA_ERR_BADINPUT,
                        "%s: %s.baseUrl must begin with http:// or https://", loading->file,
                        place->path);
    return SMA_ERR_OK;
}

static void choose_api(const struct place *place, const struct sma_provider *provider)
{
    static const struct
    {
        const char *word;
        enum sma_llm_api api;
    } words[] = {
        {"chat", SMA_LLM_CHAT}, {"responses", SMA_LLM_RESPONSES}, {"messages", SMA_LLM_MESSAGES}};
    struct sma_config_llm *llm = place->llm;
    const char *configured = get_text(place, "api", "");
    if (provider != NULL && provider->api == SMA_LLM_OFFLINE) {
        llm->api = SMA_LLM_OFFLINE;
        return;
    }
    llm->api = place->is_same ? place->main->api : sma_profile_api(llm->provider, llm->base_url);
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++)
        if (strcmp(configured, words[i].word) == 0)
            llm->api = words[i].api;
}

static enum sma_err choose_model(const struct place *place, const struct sma_provider *provider)
{
    struct loading *loading = place->loading;
    struct sma_config_llm *llm = place->llm;
    llm->model = get_text(place, "model", "");
    char path[160];
    const char *missing =
        config_missing_variable(loading, member_path(place, "model", path, sizeof path));
    if (llm->model[0] == '\0' && missing != NULL && llm->api != SMA_LLM_OFFLINE)
        return fail_missing(place, "model", missing);
    if (llm->model[0] == '\0' && place->is_same)
        llm->model = place->main->model; /* a judge with another effort, say */
    if (llm->model[0] == '\0' && provider != NULL && provider->default_model != NULL)
        llm->model = provider->default_model;
    if (llm->model[0] == '\0')
        return sma_fail(loading->error, SMA_ERR_BADINPUT,
                        "%s: %s is not set; name the model to use, e.g. \"llm\": "
                        "{\"provider\": \"%s\", \"model\": \"...\"}",
                        loading->file, path, llm->provider);
    return SMA_ERR_OK;
}

/* "custom" without an address asks OpenAI, as in the old program. What OpenAI certainly does not
 * serve would only bring it somebody else's key. */
static enum sma_err refuse_foreign(const struct place *place)
{
    const struct sma_config_llm *llm = place->llm;
    const char *maker = sma_config_provider_of_model(llm->model);
    bool is_default = get_text(place, "baseUrl", "")[0] == '\0' && !place->is_same;
    if (!is_default || strcmp(llm->provider, "custom") != 0 || strcmp(maker, "custom") == 0 ||
        strcmp(maker, "openai") == 0)
        return SMA_ERR_OK;
    return sma_fail(place->loading->error, SMA_ERR_BADINPUT,
                    "%s: %s.provider is \"custom\" without %s.baseUrl, which is %s, and %s is not "
                    "served there; set the address, or the provider to \"%s\"",
                    place->loading->file, place->path, place->path, llm->base_url, llm->model,
                    maker);
}

static void choose_proxy(const struct place *place)
{
    struct sma_config_llm *llm = place->llm;
    const char *everywhere = json_string_value(json_object_get(place->loading->root, "proxy"));
    if (everywhere == NULL || is_local_url(llm->base_url)) /* it could not reach this machine */
        everywhere = "";
    llm->proxy = get_text(place, "proxy", place->is_same ? place->main->proxy : everywhere);
    if (strcmp(llm->proxy, "none") == 0)
        llm->proxy = "";
}

/* -- what is added to requests ----------------------------------------------------------------- */
static enum sma_err read_extra_body(const struct place *place)
{
    /* What holds the conversation, or decides how the answer is read. */
    static const char *const ours[] = {"model",  "messages", "input",       "tools",
                                       "stream", "system",   "instructions"};
    struct loading *loading = place->loading;
    json_t *body = json_object_get(place->json, "extraBody");
    place->llm->extra_body_json = "";
    if (body == NULL || json_object_size(body) == 0)
        return SMA_ERR_OK;
    for (size_t i = 0; i < SMA_COUNT_OF(ours); i++)
        if (json_object_get(body, ours[i]) != NULL)
            return sma_fail(loading->error, SMA_ERR_BADINPUT,
                            "%s: %s.extraBody must not hold \"%s\", which the program writes "
                            "itself; remove it%s",
                            loading->file, place->path, ours[i],
                            strcmp(ours[i], "model") == 0    ? " and use llm.model"
                            : strcmp(ours[i], "stream") == 0 ? " and use llm.stream"
                                                             : "");
    char *text = json_dumps(body, JSON_COMPACT);
    if (text == NULL)
        return sma_fail(loading->error, SMA_ERR_NOMEM, "out of memory");
    place->llm->extra_body_json = config_keep_text(loading, text);
    free(text);
    return SMA_ERR_OK;
}

static bool is_header_name(const char *name)
{
    for (const char *at = name; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && strchr("!#$%&'*+-.^_`|~", *at) == NULL)
            return false;
    return name[0] != '\0';
}

static enum sma_err check_header(const struct place *place, const char *name, const char *value)
{
    /* Two of one of these make a request that servers and proxies read differently. */
    static const char *const ours[] = {"host", "content-length", "transfer-encoding", "connection",
                                       "content-type"};
    struct loading *loading = place->loading;
    bool is_ours = false, is_plain = value != NULL;
    for (size_t i = 0; i < SMA_COUNT_OF(ours); i++)
        is_ours |= strcasecmp(name, ours[i]) == 0;
    for (const char *at = value; is_plain && *at != '\0'; at++)
        is_plain = ((unsigned char)*at >= 0x20 || *at == '\t') && *at != 0x7f;
    if (!is_header_name(name) || is_ours)
        return sma_fail(
            loading->error, SMA_ERR_BADINPUT, "%s: %s.extraHeaders must not hold \"%.60s\": %s",
            loading->file, place->path, name,
            is_ours ? "the program writes it itself" : "that is not the name of a header");
    if (!is_plain)
        return sma_fail(loading->error, SMA_ERR_BADINPUT,
                        "%s: %s.extraHeaders.%.60s must be a string of one line", loading->file,
                        place->path, name);
    return SMA_ERR_OK;
}

static enum sma_err read_extra_headers(const struct place *place)
{
    struct loading *loading = place->loading;
    struct sma_config_llm *llm = place->llm;
    json_t *headers = json_object_get(place->json, "extraHeaders");
    if (headers == NULL && place->is_same) {
        llm->extra_headers = place->main->extra_headers;
        llm->extra_header_count = place->main->extra_header_count;
        return SMA_ERR_OK;
    }
    if (json_object_size(headers) == 0)
        return SMA_ERR_OK;
    if (json_object_size(headers) > HEADER_COUNT_MAX)
        return sma_fail(loading->error, SMA_ERR_TOOBIG,
                        "%s: %s.extraHeaders has more than %d entries", loading->file, place->path,
                        HEADER_COUNT_MAX);
    const char **lines = config_keep_room(loading, HEADER_COUNT_MAX * sizeof *lines);
    if (lines == NULL)
        return SMA_ERR_OK; /* said at the end */
    const char *name;
    json_t *value;
    json_object_foreach(headers, name, value)
    {
        const char *text = json_string_value(value);
        SMA_TRY(check_header(place, name, text));
        size_t len = strlen(name) + strlen(text) + 3;
        char *line = config_keep_room(loading, len);
        if (line == NULL)
            return SMA_ERR_OK;
        (void)snprintf(line, len, "%s: %s", name, text);
        lines[llm->extra_header_count++] = line;
    }
    llm->extra_headers = lines;
    return SMA_ERR_OK;
}

/* -- options ----------------------------------------------------------------------------------- */
/* How requests are made: a fallback does as llm does unless it says otherwise. */
static void copy_manner(struct sma_config_llm *llm, const struct sma_config_llm *main)
{
    llm->is_stream = main->is_stream;
    llm->logs_messages = main->logs_messages;
    llm->connect_ms = main->connect_ms;
    llm->first_byte_ms = main->first_byte_ms;
    llm->idle_ms = main->idle_ms;
    llm->total_ms = main->total_ms;
}

static enum sma_err read_options(const struct place *place)
{
    struct sma_config_llm *llm = place->llm;
    struct sma_param_source source = config_source(place->loading, place->json, place->path);
    SMA_TRY(sma_params_set_defaults(&config_target_params, &source, llm));
    if (place->main != NULL)
        copy_manner(llm, place->main);
    SMA_TRY(sma_params_read(&config_target_params, &source, llm));
    llm->effort = get_text(place, "effort", "");
    return SMA_ERR_OK;
}

/* What only llm has. The variable wins over the file, and any word but "0" is yes. */
static enum sma_err read_llm_alone(struct loading *loading, const json_t *json)
{
    struct sma_config *config = loading->config;
    struct sma_param_source source = config_source(loading, json, "llm");
    SMA_TRY(sma_params_set_defaults(&config_llm_params, &source, config));
    SMA_TRY(sma_params_read(&config_llm_params, &source, config));
    const char *logs = config_find_variable(loading, "SMA_LOG_LLM_MESSAGES");
    if (logs != NULL && logs[0] != '\0')
        config->llm.logs_messages = strcmp(logs, "0") != 0;
    return SMA_ERR_OK;
}

/* What is not named costs what input costs. */
static enum sma_err read_prices(const struct place *place)
{
    struct sma_config_llm *llm = place->llm;
    const json_t *prices = json_object_get(place->json, "prices");
    if (prices == NULL)
        return SMA_ERR_OK;
    if (!sma_param_number(json_object_get(prices, "input"), &llm->price_input) ||
        !sma_param_number(json_object_get(prices, "output"), &llm->price_output))
        return sma_fail(place->loading->error, SMA_ERR_BADINPUT,
                        "%s: %s.prices needs \"input\" and \"output\", per million tokens",
                        place->loading->file, place->path);
    llm->has_prices = true;
    llm->price_cached = llm->price_written = llm->price_input;
    (void)sma_param_number(json_object_get(prices, "cached"), &llm->price_cached);
    (void)sma_param_number(json_object_get(prices, "written"), &llm->price_written);
    return SMA_ERR_OK;
}

/* -- the whole --------------------------------------------------------------------------------- */
static void warn_user(void *user, const char *line)
{
    struct loading *loading = user;
    config_warn(loading, "%s: %s", loading->file, line);
}

/* What a missing variable took away must not be left out in silence: a request without its proxy or
 * its header goes where it should not. Address, model and keys say so themselves. */
static enum sma_err check_missing(const struct place *place)
{
    static const char *const members[] = {"proxy", "extraBody", "extraHeaders", "prices", "effort"};
    const struct loading *loading = place->loading;
    size_t path_len = strlen(place->path);
    for (size_t i = 0; i < loading->missing_count; i++) {
        const char *missing = loading->missing_path[i], *name = missing + path_len + 1;
        if (strcmp(missing, "proxy") == 0)
            return sma_fail(loading->error, SMA_ERR_BADINPUT,
                            "%s: proxy uses ${%s}, which is not set; put %s=... into .env",
                            loading->file, loading->missing_name[i], loading->missing_name[i]);
        if (strncmp(missing, place->path, path_len) != 0 || missing[path_len] != '.')
            continue;
        for (size_t k = 0; k < SMA_COUNT_OF(members); k++)
            if (strncmp(name, members[k], strlen(members[k])) == 0)
                return fail_missing(place, name, loading->missing_name[i]);
    }
    return SMA_ERR_OK;
}

/* What will not work, or not as written, is said once at start. */
static void check_profile(const struct place *place)
{
    char today[32] = "";
    time_t now = time(NULL);
    struct tm when;
    if (gmtime_r(&now, &when) != NULL)
        (void)strftime(today, sizeof today, "%Y-%m-%d", &when);
    sma_profile_check(place->llm, place->path, today, warn_user, place->loading);
}

/* Provider and the rest; `forced`: of the command line, NULL = none. */
static enum sma_err read_place(struct place *place, const char *forced)
{
    struct sma_config_llm *llm = place->llm;
    llm->provider =
        get_text(place, "provider", place->main == NULL ? "anthropic" : place->main->provider);
    if (forced != NULL)
        llm->provider = config_keep_text(place->loading, forced);
    const struct sma_provider *provider = sma_provider_find(llm->provider);
    if (provider != NULL)
        llm->provider = provider->name;
    bool has_url = json_object_get(place->json, "baseUrl") != NULL;
    place->is_same =
        place->main != NULL && !has_url && strcmp(llm->provider, place->main->provider) == 0;
    SMA_TRY(check_missing(place));
    SMA_TRY(choose_url(place, provider));
    choose_api(place, provider);
    SMA_TRY(choose_model(place, provider));
    SMA_TRY(refuse_foreign(place));
    choose_proxy(place);
    SMA_TRY(read_extra_body(place));
    SMA_TRY(read_extra_headers(place));
    SMA_TRY(choose_keys(place));
    SMA_TRY(read_options(place));
    SMA_TRY(read_prices(place));
    check_profile(place);
    return SMA_ERR_OK;
}

enum sma_err config_read_model(struct loading *loading, const json_t *json, const json_t *written,
                               const char *path, const struct sma_config_llm **ret_llm)
{
    struct sma_config_llm *llm = config_keep_room(loading, sizeof *llm);
    if (llm == NULL)
        return sma_fail(loading->error, SMA_ERR_NOMEM, "out of memory");
    *llm = (struct sma_config_llm){0};
    struct place place = {
        .loading = loading,
        .json = json,
        .written = written,
        .path = path,
        .llm = llm,
        .main = &loading->config->llm,
    };
    *ret_llm = llm;
    return read_place(&place, NULL);
}

static enum sma_err add_target(struct loading *loading, size_t number)
{
    struct sma_config *config = loading->config;
    char path[64];
    (void)snprintf(path, sizeof path, "llm.fallbacks.%zu", number);
    const json_t *list = json_object_get(json_object_get(loading->root, "llm"), "fallbacks");
    const json_t *written = json_object_get(loading->llm_written, "fallbacks");
    const struct sma_config_llm *llm;
    SMA_TRY(config_read_model(loading, json_array_get(list, number),
                              json_array_get(written, number), path, &llm));
    config->llm_targets[config->llm_target_count++] = llm;
    return SMA_ERR_OK;
}

static enum sma_err read_fallbacks(struct loading *loading)
{
    const json_t *list = json_object_get(json_object_get(loading->root, "llm"), "fallbacks");
    if (json_array_size(list) > SMA_TARGET_COUNT_MAX - 1)
        return sma_fail(loading->error, SMA_ERR_TOOBIG,
                        "%s: llm.fallbacks has more than %d entries", loading->file,
                        SMA_TARGET_COUNT_MAX - 1);
    for (size_t i = 0; i < json_array_size(list); i++)
        SMA_TRY(add_target(loading, i));
    return SMA_ERR_OK;
}

/* Whether words are an answer needs no deep thought, and there are seconds for it only: llm.judge,
 * else llm with the least effort that it takes. */
static enum sma_err read_judge(struct loading *loading, bool is_elsewhere)
{
    struct sma_config *config = loading->config;
    struct sma_config_llm *llm = config_keep_room(loading, sizeof *llm);
    if (llm == NULL)
        return sma_fail(loading->error, SMA_ERR_NOMEM, "out of memory");
    const json_t *json =
        is_elsewhere ? NULL : json_object_get(json_object_get(loading->root, "llm"), "judge");
    *llm = json == NULL ? config->llm : (struct sma_config_llm){0};
    config->llm_judge = llm;
    if (json != NULL) {
        struct place place = {
            .loading = loading,
            .json = json,
            .written = json_object_get(loading->llm_written, "judge"),
            .path = "llm.judge",
            .llm = llm,
            .main = &config->llm,
        };
        SMA_TRY(read_place(&place, NULL));
    }
    struct sma_profile profile;
    sma_profile_find(llm, &profile);
    bool is_said = json_object_get(json, "effort") != NULL;
    const char *least = sma_profile_least_effort(&profile);
    if (!is_said && least[0] != '\0')
        llm->effort = least;
    return SMA_ERR_OK;
}

/* Who does special work: nobody, unless it is said. */
static enum sma_err read_special(struct loading *loading, const char *name, const char *path,
                                 const struct sma_config_llm **ret_llm)
{
    const json_t *json = json_object_get(json_object_get(loading->root, "llm"), name);
    if (json == NULL)
        return SMA_ERR_OK;
    struct sma_config_llm *llm = config_keep_room(loading, sizeof *llm);
    if (llm == NULL)
        return sma_fail(loading->error, SMA_ERR_NOMEM, "out of memory");
    *llm = (struct sma_config_llm){0};
    *ret_llm = llm;
    struct place place = {
        .loading = loading,
        .json = json,
        .written = json_object_get(loading->llm_written, name),
        .path = path,
        .llm = llm,
        .main = &loading->config->llm,
    };
    return read_place(&place, NULL);
}

enum sma_err config_read_llm(struct loading *loading, const struct sma_config_overrides *overrides)
{
    struct sma_config *config = loading->config;
    const json_t *json = json_object_get(loading->root, "llm");
    const char *forced = overrides == NULL ? NULL : overrides->provider;
    const char *written = json_string_value(json_object_get(json, "provider"));
    bool is_other = forced != NULL && (written == NULL || strcmp(written, forced) != 0);
    struct place place = {
        .loading = loading,
        .json = json,
        .written = loading->llm_written,
        .path = "llm",
        .llm = &config->llm,
        .is_elsewhere = is_other,
    };
    place.is_elsewhere = is_other && get_text(&place, "baseUrl", "")[0] == '\0';
    SMA_TRY(read_place(&place, forced));
    SMA_TRY(read_llm_alone(loading, json));
    config->llm_targets[config->llm_target_count++] = &config->llm;
    if (!is_other) /* who asks for the offline model does not want to be sent elsewhere */
        SMA_TRY(read_fallbacks(loading));
    if (!is_other)
        SMA_TRY(read_special(loading, "vision", "llm.vision", &config->llm_vision));
    if (!is_other)
        SMA_TRY(read_special(loading, "small", "llm.small", &config->llm_small));
    SMA_TRY(read_judge(loading, is_other));
    return config_read_chats(loading, is_other);
}
