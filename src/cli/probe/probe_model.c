/*
 * probe_model.c — one short question to a model, with each of its keys: as the service would ask
 * it, with a tool, and the members that the model refuses left out as the service learns them.
 */
#include "probe_priv.h"

#include "runtime/model/address.h"
#include "runtime/model/decode.h"
#include "runtime/model/retry.h"
#include "runtime/model/target.h"
#include "sma/plural.h"
#include "sma/proxy.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define ANSWER_TOKENS 64    /* the cap of the answer: a word is wanted */
#define REFUSAL_COUNT_MAX 4 /* members left out one after the other */
#define BODY_BYTES_MAX 65536
#define NEAR_COUNT 3 /* names of models that are offered for one that is not there */

struct model_probe;
/* One key of it. */
struct key_probe
{
    struct model_probe *probe;
    struct sma_config_llm llm; /* with this key, and a small cap */
    struct sma_target target;
    struct sma_decoder *decoder;
    size_t number, refusal_count;
    uint64_t asked_ms, answered_ms;
    unsigned window_count; /* questions about the window that its server has */
    bool is_second;        /* asked again, behind a call of a tool and its result */
    bool has_version;
    char versioned_url[512]; /* llm.base_url with "/v1" behind it; has_version: it is asked there */
};
struct model_probe
{
    const struct sma_config_llm *given;
    struct sma_proxy proxy;
    bool is_lost;                 /* the server was not reached: told once for all keys */
    struct sma_models_list *list; /* of a probe for the list alone */
    bool *is_listed;
    size_t key_count;
    struct key_probe keys[];
};

/* -- requests ---------------------------------------------------------------------------------- */
struct headers
{
    char *lines[SMA_PROBE_HEADER_COUNT_MAX];
    size_t count;
};

static enum sma_err add_header(void *user, const char *name, const char *value)
{
    struct headers *headers = user;
    char **line = &headers->lines[headers->count];
    if (headers->count == SMA_PROBE_HEADER_COUNT_MAX)
        return SMA_ERR_TOOBIG;
    if (asprintf(line, "%s: %s", name, value) < 0)
        return SMA_ERR_NOMEM;
    headers->count++;
    return SMA_ERR_OK;
}

static void free_headers(struct headers *headers)
{
    for (size_t i = 0; i < headers->count; i++) {
        explicit_bzero(headers->lines[i], strlen(headers->lines[i]));
        free(headers->lines[i]);
    }
}

static void ask(struct key_probe *key, struct sma_probing *probing, struct sma_probe_ask *ask)
{
    struct headers headers = {0};
    enum sma_err err = sma_model_headers(&key->llm, key->llm.api_key, add_header, &headers);
    ask->headers = (const char *const *)headers.lines;
    ask->header_count = headers.count;
    ask->user = key;
    key->asked_ms = sma_probing_ms(probing);
    if (err == SMA_ERR_OK) {
        sma_probing_ask(probing, ask);
    } else {
        sma_buf_fini(ask->url);
        if (ask->body != NULL)
            sma_buf_fini(ask->body);
        sma_probing_say(probing, SMA_PROBE_WARNING, "", "use fewer of llm.extraHeaders",
                        "its headers cannot be sent by a probe");
    }
    free_headers(&headers);
}

/* Some servers refuse what the first question does not have: calls, and earlier answers. */
static void put_question(struct sma_buf *body, const struct sma_target *target, bool is_second)
{
    static const struct sma_tool_spec tool = {
        {"noop", 4}, {"Does nothing. Never call it.", 28}, {"", 0}};
    struct sma_str said = SMA_STR("Answer with the one word: ok");
    const struct sma_model_call call = {
        .id = SMA_STR("call_1"), .name = SMA_STR("noop"), .arguments = SMA_STR("{}")};
    const struct sma_tool_result result = {
        .call_id = call.id, .name = call.name, .content = SMA_STR("{\"success\":true}")};
    target->wire->put_head(body, target, SMA_STR("You answer in one word."), &tool, 1);
    target->wire->put_user(body, target, &said, 1);
    if (is_second) {
        sma_buf_put_char(body, ',');
        target->wire->put_assistant(body, target, SMA_STR(""), &call, 1);
        sma_buf_put_char(body, ',');
        target->wire->put_results(body, target, &result, 1);
    }
    target->wire->put_tail(body, target, SMA_STR(""));
}

static void on_answer(void *user, struct sma_probing *probing, const struct sma_net_answer *answer);

static void ask_model(struct key_probe *key, struct sma_probing *probing)
{
    struct sma_buf url, body;
    sma_buf_init(&url, 8192);
    sma_buf_init(&body, BODY_BYTES_MAX);
    sma_model_put_url(&url, &key->llm);
    put_question(&body, &key->target, key->is_second);
    ask(key, probing,
        &(struct sma_probe_ask){.method = "POST", .url = &url, .body = &body, .done = on_answer});
}

static void ask_list(struct key_probe *key, struct sma_probing *probing, sma_probe_fn *done)
{
    struct sma_buf url;
    sma_buf_init(&url, 8192);
    sma_model_put_list_url(&url, &key->llm);
    ask(key, probing,
        &(struct sma_probe_ask){
            .method = "GET", .url = &url, .answer_bytes_max = SMA_MODELS_BYTES_MAX, .done = done});
}

/* -- keys -------------------------------------------------------------------------------------- */
/* Lines of several keys are told apart by their number, never by what they are. */
static const char *key_name(const struct key_probe *key, char room[32])
{
    if (key->probe->given->api_key_count < 2)
        return "";
    (void)snprintf(room, 32, "key %zu", key->number + 1);
    return room;
}

/* -- failures ---------------------------------------------------------------------------------- */
static void put_key_remedy(const struct key_probe *key, char remedy[SMA_PROBE_TEXT_BYTES_MAX])
{
    const char *source = key->probe->given->api_key_source;
    bool is_known = source != NULL && source[0] != '\0' && strcmp(source, "none") != 0;
    if (key->llm.api_key == NULL || key->llm.api_key[0] == '\0')
        (void)snprintf(remedy, SMA_PROBE_TEXT_BYTES_MAX,
                       "no key was found: put LLM_API_KEY=... into .env (chmod 600), and "
                       "\"apiKey\": \"${LLM_API_KEY}\" into llm of ship.json");
    else
        (void)snprintf(remedy, SMA_PROBE_TEXT_BYTES_MAX,
                       "the key comes from %s: get a valid one from the provider's console, and "
                       "check that it belongs to this provider and address",
                       is_known ? source : "ship.json");
}

/* What happened, without what to do: that is the line's other half. */
static void put_seen(struct sma_buf *seen, const struct key_probe *key,
                     const struct sma_failure *failure)
{
    struct sma_buf url;
    sma_buf_init(&url, 8192);
    sma_model_put_url(&url, &key->llm);
    sma_failure_describe(seen, failure, &key->llm, url.ptr == NULL ? "" : url.ptr);
    sma_buf_fini(&url);
    const char *remedy = sma_failure_remedy(failure);
    size_t len = strlen(remedy) + 2;
    if (seen->len > len && strcmp(seen->ptr + seen->len - len + 2, remedy) == 0)
        seen->ptr[seen->len -= len] = '\0';
}

struct near
{
    const char *id;
    unsigned distance;
};

static void find_near(const struct sma_models_list *list, const char *model,
                      struct near near[NEAR_COUNT])
{
    for (size_t i = 0; i < list->count; i++) {
        struct near found = {list->models[i].id,
                             sma_text_distance(sma_str(list->models[i].id), sma_str(model))};
        for (size_t k = 0; k < NEAR_COUNT; k++)
            if (near[k].id == NULL || found.distance < near[k].distance) {
                struct near pushed = near[k];
                near[k] = found;
                found = pushed;
                if (found.id == NULL)
                    break;
            }
    }
}

/* Behind NO_MODEL: what the server has instead. */
static void on_instead(void *user, struct sma_probing *probing, const struct sma_net_answer *answer)
{
    struct key_probe *key = user;
    struct sma_models_list list = {0};
    struct near near[NEAR_COUNT] = {{0}};
    char remedy[SMA_PROBE_TEXT_BYTES_MAX];
    if (answer->end == SMA_NET_ANSWERED && answer->status == 200 &&
        sma_models_list_parse(answer->body, &list) == SMA_ERR_OK && list.count > 0)
        find_near(&list, key->llm.model, near);
    int len = snprintf(remedy, sizeof remedy, "set llm.model in ship.json to a model that it has");
    for (size_t i = 0; i < NEAR_COUNT && near[i].id != NULL; i++)
        len += snprintf(remedy + len, sizeof remedy - (size_t)len, "%s%.100s",
                        i == 0 ? ", for example " : ", ", near[i].id);
    sma_models_list_fini(&list);
    char room[32];
    sma_probing_say(probing, SMA_PROBE_ERROR, key_name(key, room), remedy,
                    "the provider does not have the model %s", key->llm.model);
}

static void say_failure(struct key_probe *key, struct sma_probing *probing,
                        const struct sma_failure *failure, enum sma_model_failure trouble)
{
    char remedy[SMA_PROBE_TEXT_BYTES_MAX], room[32];
    struct sma_buf seen;
    sma_buf_init(&seen, 8192);
    put_seen(&seen, key, failure);
    if (trouble == SMA_MODEL_FAILURE_AUTH)
        put_key_remedy(key, remedy);
    else
        (void)snprintf(remedy, sizeof remedy, "%s", sma_failure_remedy(failure));
    bool may_pass = trouble == SMA_MODEL_FAILURE_TRANSIENT || trouble == SMA_MODEL_FAILURE_RATE;
    sma_probing_say(probing, may_pass ? SMA_PROBE_WARNING : SMA_PROBE_ERROR, key_name(key, room),
                    remedy, "%s", seen.ptr == NULL ? "out of memory" : seen.ptr);
    sma_buf_fini(&seen);
}

/* Where servers tell the window that they were started with: the list (vLLM), what is loaded
 * (Ollama), properties (llama.cpp), what a model is made for (Ollama, asked by its name). Source:
 * protocols/models.md §1.6. */
static const char *const WINDOW_PLACES[] = {NULL, "/api/ps", "/props", "/api/show"};

static void on_window(void *user, struct sma_probing *probing, const struct sma_net_answer *answer);

static void ask_window(struct key_probe *key, struct sma_probing *probing)
{
    const char *place = WINDOW_PLACES[key->window_count++], *url = key->llm.base_url;
    struct sma_buf at, body;
    if (place == NULL) {
        ask_list(key, probing, on_window);
        return;
    }
    const char *host = strstr(url, "://");
    size_t len = host == NULL ? strcspn(url, "/") : (size_t)(host + 3 - url);
    len += host == NULL ? 0 : strcspn(url + len, "/");
    sma_buf_init(&at, 8192);
    sma_buf_put(&at, url, len);
    sma_buf_put_text(&at, place);
    bool is_named = strcmp(place, "/api/show") == 0;
    sma_buf_init(&body, BODY_BYTES_MAX);
    sma_buf_put_text(&body, "{\"model\":");
    sma_buf_put_json_string(&body, sma_str(key->llm.model));
    sma_buf_put_char(&body, '}');
    if (!is_named)
        sma_buf_fini(&body);
    ask(key, probing,
        &(struct sma_probe_ask){.method = is_named ? "POST" : "GET",
                                .url = &at,
                                .body = is_named ? &body : NULL,
                                .answer_bytes_max = SMA_MODELS_BYTES_MAX,
                                .done = on_window});
}

static void on_window(void *user, struct sma_probing *probing, const struct sma_net_answer *answer)
{
    struct key_probe *key = user;
    struct sma_models_list list = {0};
    uint64_t window = 0;
    if (answer->end == SMA_NET_ANSWERED && answer->status == 200 &&
        sma_models_list_parse(answer->body, &list) == SMA_ERR_OK) {
        const struct sma_model_facts *facts = sma_models_list_find(&list, key->llm.model);
        window = facts == NULL ? 0 : facts->window_tokens;
    }
    sma_models_list_fini(&list);
    if (window == 0 && key->window_count < SMA_COUNT_OF(WINDOW_PLACES)) {
        ask_window(key, probing);
    } else if (window > 0 && window < key->target.profile.window_tokens) {
        char room[32];
        sma_probing_say(
            probing, SMA_PROBE_WARNING, key_name(key, room),
            "give it a larger window (Ollama: OLLAMA_CONTEXT_LENGTH, llama.cpp: "
            "--ctx-size, vLLM: --max-model-len), or set llm.contextTokens to what it has",
            "its server keeps %llu tokens of a conversation, %u are counted on",
            (unsigned long long)window, key->target.profile.window_tokens);
    }
}

static void say_answered(struct key_probe *key, struct sma_probing *probing)
{
    char room[32], remedy[SMA_PROBE_TEXT_BYTES_MAX];
    uint64_t ms = key->answered_ms - key->asked_ms;
    if (!key->has_version) {
        sma_probing_say(probing, SMA_PROBE_OK, key_name(key, room), "",
                        "answers, after %llu.%llu s", (unsigned long long)(ms / 1000),
                        (unsigned long long)(ms % 1000 / 100));
        if (sma_profile_is_local(&key->llm) && key->number == 0)
            ask_window(key, probing);
        return;
    }
    (void)snprintf(remedy, sizeof remedy, "set llm.baseUrl in ship.json to %s", key->versioned_url);
    sma_probing_say(probing, SMA_PROBE_ERROR, key_name(key, room), remedy,
                    "nothing answers at llm.baseUrl; with /v1 behind it the model does");
}

/* Nothing there, and no version in the address: most servers have theirs under /v1. */
static bool try_version(struct key_probe *key, struct sma_probing *probing,
                        const struct sma_failure *failure)
{
    const char *url = key->llm.base_url;
    size_t len = strlen(url);
    if (failure->trouble != SMA_FAILURE_HTTP || failure->http_status != 404 || key->has_version ||
        strstr(url, "/v") != NULL || len + 4 >= sizeof key->versioned_url ||
        key->llm.api == SMA_LLM_MESSAGES)
        return false;
    while (len > 0 && url[len - 1] == '/')
        len--;
    (void)snprintf(key->versioned_url, sizeof key->versioned_url, "%.*s/v1", (int)len, url);
    key->llm.base_url = key->versioned_url;
    key->has_version = true;
    ask_model(key, probing);
    return true;
}

static void take_failure(struct key_probe *key, struct sma_probing *probing,
                         const struct sma_failure *failure)
{
    struct sma_failure_verdict verdict;
    sma_failure_judge(failure, &verdict);
    if (try_version(key, probing, failure))
        return;
    if (verdict.trouble == SMA_MODEL_FAILURE_MEMBER && key->refusal_count < REFUSAL_COUNT_MAX &&
        sma_target_refuse(&key->target, sma_str(verdict.refused_member))) {
        key->refusal_count++; /* the service learns it in the same way */
        ask_model(key, probing);
        return;
    }
    if (key->has_version) /* nor there: the first address is the one that is told */
        key->llm.base_url = key->probe->given->base_url;
    if (key->is_second) { /* it talks: what it does not take is learned when it matters */
        say_answered(key, probing);
        return;
    }
    if (verdict.trouble == SMA_MODEL_FAILURE_NO_MODEL) {
        ask_list(key, probing, on_instead);
        return;
    }
    say_failure(key, probing, failure, verdict.trouble);
}

/* -- answers ----------------------------------------------------------------------------------- */
static void take_decoded(struct key_probe *key, struct sma_probing *probing,
                         const struct sma_net_answer *answer)
{
    sma_decoder_reset(key->decoder, 1);
    sma_decoder_feed(key->decoder, answer->body.ptr, answer->body.len);
    const struct sma_decoded *decoded = sma_decoder_finish(key->decoder);
    if (decoded->status == SMA_DECODED_OK && !key->is_second) {
        uint64_t asked_ms = key->asked_ms;
        key->answered_ms = sma_probing_ms(probing);
        key->is_second = true;
        ask_model(key, probing);
        key->asked_ms = asked_ms; /* the first answer is the one whose time is told */
        return;
    }
    if (decoded->status == SMA_DECODED_OK) {
        say_answered(key, probing);
        return;
    }
    struct sma_failure failure = {
        .trouble = decoded->status == SMA_DECODED_ERROR       ? SMA_FAILURE_EVENT
                   : decoded->status == SMA_DECODED_TRUNCATED ? SMA_FAILURE_TRUNCATED
                                                              : SMA_FAILURE_GARBAGE,
        .llm = &key->llm,
        .http_status = answer->status,
        .retry_after_ms = -1,
        .error = decoded->error};
    take_failure(key, probing, &failure);
}

/* Told once: the other keys were on their way to the same server. A model that took the question
 * may still be loading, or thinking: that is no proof of anything. */
static bool is_lost(struct key_probe *key, struct sma_probing *probing,
                    const struct sma_net_answer *answer)
{
    if (answer->end == SMA_NET_ANSWERED)
        return false;
    if (key->probe->is_lost)
        return true;
    key->probe->is_lost = true;
    if (answer->end != SMA_NET_UNKNOWN || answer->cause != SMA_NET_CAUSE_TIME)
        return sma_probing_is_lost(probing, answer, "");
    sma_probing_say(probing, SMA_PROBE_WARNING, "",
                    "try again: a model that is loaded first, or thinks for long, needs more than "
                    "this; else the server or something on the way to it hangs",
                    "no answer in time: it took the question and was silent for %d s",
                    SMA_PROBE_MS / 1000);
    return true;
}

static void on_answer(void *user, struct sma_probing *probing, const struct sma_net_answer *answer)
{
    struct key_probe *key = user;
    if (is_lost(key, probing, answer))
        return;
    if (answer->status >= 200 && answer->status < 300) {
        take_decoded(key, probing, answer);
        return;
    }
    struct sma_failure failure = {.trouble = SMA_FAILURE_HTTP,
                                  .llm = &key->llm,
                                  .http_status = answer->status,
                                  .retry_after_ms = answer->retry_after_ms};
    if (answer->body.len > 0)
        sma_wire_error_parse(answer->body, &failure.error);
    take_failure(key, probing, &failure);
}

static void on_list(void *user, struct sma_probing *probing, const struct sma_net_answer *answer)
{
    struct key_probe *key = user;
    if (sma_probing_is_lost(probing, answer, "list"))
        return;
    if (answer->status == 200 &&
        sma_models_list_parse(answer->body, key->probe->list) == SMA_ERR_OK) {
        *key->probe->is_listed = true;
        sma_probing_say(probing, SMA_PROBE_OK, "list", "", "it lists %zu model%s",
                        key->probe->list->count, SMA_S(key->probe->list->count));
        return;
    }
    if (answer->status == 404 || answer->status == 405 || answer->status == 501) {
        sma_probing_say(probing, SMA_PROBE_WARNING, "list", "name the model yourself",
                        "the server does not list its models (HTTP %d)", answer->status);
        return;
    }
    struct sma_failure failure = {.trouble = answer->status == 200 ? SMA_FAILURE_GARBAGE
                                                                   : SMA_FAILURE_HTTP,
                                  .llm = &key->llm,
                                  .http_status = answer->status,
                                  .retry_after_ms = answer->retry_after_ms};
    struct sma_failure_verdict verdict;
    if (answer->body.len > 0)
        sma_wire_error_parse(answer->body, &failure.error);
    sma_failure_judge(&failure, &verdict);
    say_failure(key, probing, &failure, verdict.trouble);
}

/* -- made and unmade --------------------------------------------------------------------------- */
static void begin(void *user, struct sma_probing *probing)
{
    struct model_probe *probe = user;
    sma_probing_use(probing, &probe->proxy, NULL);
    if (probe->list != NULL)
        ask_list(&probe->keys[0], probing, on_list);
    else
        for (size_t i = 0; i < probe->key_count; i++)
            ask_model(&probe->keys[i], probing);
}

static void destroy(void *user)
{
    struct model_probe *probe = user;
    for (size_t i = 0; i < probe->key_count; i++)
        sma_decoder_destroy(probe->keys[i].decoder);
    explicit_bzero(&probe->proxy, sizeof probe->proxy);
    free(probe);
}

static void name_probe(const struct sma_config_llm *llm, char name[SMA_PROBE_NAME_BYTES_MAX])
{
    bool has_name = llm->name != NULL && llm->name[0] != '\0';
    (void)snprintf(name, SMA_PROBE_NAME_BYTES_MAX, "model %s%s%s",
                   has_name ? llm->name : llm->provider, has_name ? "" : "/",
                   has_name ? "" : llm->model);
}

/* false: out of memory. */
static SMA_CHECKED bool fill_key(struct model_probe *probe, size_t number)
{
    const struct sma_config_llm *given = probe->given;
    struct key_probe *key = &probe->keys[number];
    *key = (struct key_probe){.probe = probe, .llm = *given, .number = number};
    if (number < given->api_key_count)
        key->llm.api_key = given->api_keys[number];
    /* With members of the owner's own a small cap may not fit: then theirs counts. */
    if (given->extra_body_json == NULL || given->extra_body_json[0] == '\0') {
        key->llm.max_tokens = ANSWER_TOKENS;
        key->llm.effort = "";
    }
    sma_target_init(&key->target, &key->llm);
    key->decoder = sma_decoder_create(&key->llm);
    return key->decoder != NULL;
}

static struct model_probe *create(const struct sma_config_llm *llm)
{
    size_t count = llm->api_key_count == 0 ? 1 : llm->api_key_count;
    struct model_probe *probe = calloc(1, sizeof *probe + count * sizeof probe->keys[0]);
    if (probe == NULL)
        return NULL;
    probe->given = llm;
    while (probe->key_count < count) {
        bool is_filled = fill_key(probe, probe->key_count++);
        if (is_filled)
            continue;
        destroy(probe);
        return NULL;
    }
    return probe;
}

static struct model_probe *make(const struct sma_config_llm *llm, struct sma_probe_result *result,
                                struct probe_job *job)
{
    struct model_probe *probe = create(llm);
    *result = (struct sma_probe_result){0};
    *job = (struct probe_job){.begin = begin, .destroy = destroy, .user = probe, .result = result};
    name_probe(llm, job->name);
    if (probe == NULL) {
        probe_say(result, SMA_PROBE_ERROR, job->name, "out of memory", "");
        return NULL;
    }
    if (sma_proxy_parse(sma_str(llm->proxy == NULL ? "" : llm->proxy), &probe->proxy) !=
        SMA_ERR_OK) {
        probe_say(result, SMA_PROBE_ERROR, job->name, "its proxy is not an address",
                  "correct llm.proxy in ship.json: http://host:port or socks5h://host:port");
        destroy(probe);
        return NULL;
    }
    return probe;
}

bool probe_model_make(const struct sma_config_llm *llm, struct sma_probe_result *result,
                      struct probe_job *ret_job)
{
    if (llm->api != SMA_LLM_OFFLINE)
        return make(llm, result, ret_job) != NULL;
    *result = (struct sma_probe_result){0};
    name_probe(llm, ret_job->name);
    probe_say(result, SMA_PROBE_OK, ret_job->name, "built in: canned answers, no network", "");
    return false;
}

bool probe_list_make(const struct sma_config_llm *llm, struct sma_models_list *list, bool *is_there,
                     struct sma_probe_result *result, struct probe_job *ret_job)
{
    struct model_probe *probe = make(llm, result, ret_job);
    *is_there = false;
    if (probe == NULL)
        return false;
    probe->list = list;
    probe->is_listed = is_there;
    return true;
}
