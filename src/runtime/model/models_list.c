/* models_list.c — see models_list.h. Servers differ in names only: each fact is looked for under
 * all of them. */
#include "runtime/model/models_list.h"

#include "runtime/model/decode_priv.h"
#include "sma/text.h"

#include <stdlib.h>

/* The first of these members that holds a number. */
static uint64_t first_number(const json_t *object, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t number = sma_json_get_u64(object, names[i]);
        if (number > 0)
            return number;
    }
    return 0;
}

static uint64_t window_of(const json_t *model)
{
    /* LM Studio, vLLM, Gemini, TabbyAPI, llama.cpp (also as facts of its file) and the others */
    static const char *const names[] = {
        "loaded_context_length", "max_input_tokens",   "context_length",
        "max_model_len",         "context_window",     "n_ctx",
        "inputTokenLimit",       "max_context_length", "max_seq_len",
        "max_context_window",    "max_context_tokens", "n_ctx_train"};
    uint64_t window = first_number(model, names, SMA_COUNT_OF(names));
    if (window == 0)
        window = first_number(json_object_get(model, "meta"), names, SMA_COUNT_OF(names));
    /* OpenRouter: the model's own, and what the host it is sent to serves. */
    uint64_t served = sma_json_get_u64(json_object_get(model, "top_provider"), "context_length");
    return served > 0 && (window == 0 || served < window) ? served : window;
}

static uint64_t output_of(const json_t *model)
{
    static const char *const names[] = {"max_completion_tokens", "max_output_tokens", "max_tokens",
                                        "outputTokenLimit"};
    uint64_t output = first_number(model, names, SMA_COUNT_OF(names));
    uint64_t served =
        sma_json_get_u64(json_object_get(model, "top_provider"), "max_completion_tokens");
    return output > 0 ? output : served;
}

static void copy(char *to, size_t size, struct sma_str text)
{
    size_t len = sma_utf8_cut(text, size - 1);
    if (len > 0)
        memcpy(to, text.ptr, len);
    to[len] = '\0';
}

static void on_end(struct sma_model_facts *facts, const json_t *model)
{
    static const char *const names[] = {"retires_at", "expiration_date", "deprecation_date",
                                        "deprecation", "shutdown_date"};
    const json_t *lifecycle = json_object_get(model, "lifecycle");
    struct sma_str state =
        json_is_object(lifecycle) ? sma_json_str(lifecycle, "status") : sma_json_str_of(lifecycle);
    facts->is_deprecated = sma_str_is_equal(state, SMA_STR("deprecated"));
    facts->is_retired = sma_str_is_equal(state, SMA_STR("retired"));
    for (size_t i = 0; i < SMA_COUNT_OF(names) && facts->ends[0] == '\0'; i++) {
        copy(facts->ends, sizeof facts->ends, sma_json_str(model, names[i]));
        if (facts->ends[0] == '\0')
            copy(facts->ends, sizeof facts->ends, sma_json_str(lifecycle, names[i]));
    }
}

static bool lacks_tools(const json_t *model)
{
    const json_t *list = json_object_get(model, "supported_parameters"), *word;
    size_t i;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return false;
    json_array_foreach(list, i, word)
    {
        if (sma_str_is_equal(sma_json_str_of(word), SMA_STR("tools")))
            return false;
    }
    return true;
}

static struct sma_str id_of(const json_t *model)
{
    struct sma_str id = sma_json_str(model, "id");
    if (id.len == 0)
        id = sma_json_str(model, "model");
    if (id.len == 0)
        id = sma_json_str(model, "name");
    if (sma_str_starts_with(id, SMA_STR("models/"))) /* Gemini: requests name it without */
        id = (struct sma_str){id.ptr + 7, id.len - 7};
    return id;
}

static void read_facts(const json_t *model, struct sma_str id, struct sma_model_facts *ret_facts)
{
    *ret_facts = (struct sma_model_facts){
        .window_tokens = window_of(model),
        .output_max = output_of(model),
        .has_no_tools = lacks_tools(model),
    };
    copy(ret_facts->id, sizeof ret_facts->id, id);
    on_end(ret_facts, model);
}

static enum sma_err read_list(const json_t *list, struct sma_models_list *ret_list)
{
    size_t i, size = json_array_size(list);
    size = size < SMA_MODELS_COUNT_MAX ? size : SMA_MODELS_COUNT_MAX;
    struct sma_models_list result = {.is_cut = size < json_array_size(list)};
    result.models = calloc(size == 0 ? 1 : size, sizeof *result.models);
    if (result.models == NULL)
        return SMA_ERR_NOMEM;
    for (i = 0; i < size; i++) {
        const json_t *model = json_array_get(list, i);
        struct sma_str id = json_is_string(model) ? sma_json_str_of(model) : id_of(model);
        if (id.len > 0 && id.len < SMA_MODELS_ID_BYTES_MAX)
            read_facts(model, id, &result.models[result.count++]);
    }
    *ret_list = result;
    return SMA_ERR_OK;
}

/* Ollama's /api/show: the size the model was trained for, unless a Modelfile sets the one it runs
 * with. */
static uint64_t shown_window(const json_t *root)
{
    struct sma_str parameters = sma_json_str(root, "parameters");
    const char *set =
        parameters.len == 0 ? NULL : memmem(parameters.ptr, parameters.len, "num_ctx", 7);
    uint64_t window = set == NULL ? 0 : strtoull(set + 7, NULL, 10);
    const char *name;
    json_t *value;
    if (window > 0)
        return window;
    json_object_foreach(json_object_get(root, "model_info"), name, value)
    {
        size_t len = strlen(name);
        if (len > 15 && strcmp(name + len - 15, ".context_length") == 0)
            return sma_json_get_u64(json_object_get(root, "model_info"), name);
    }
    return 0;
}

static enum sma_err read_one(const json_t *root, struct sma_models_list *ret_list)
{
    const json_t *settings = json_object_get(root, "default_generation_settings");
    bool is_shown = json_is_object(json_object_get(root, "model_info"));
    bool is_model = json_is_string(json_object_get(root, "id"));
    if (!json_is_object(settings) && !is_shown && !is_model)
        return SMA_ERR_BADINPUT;
    struct sma_model_facts *facts = calloc(1, sizeof *facts);
    if (facts == NULL)
        return SMA_ERR_NOMEM;
    read_facts(is_model ? root : settings, is_model ? id_of(root) : SMA_STR(""), facts);
    if (is_shown)
        facts->window_tokens = shown_window(root);
    *ret_list = (struct sma_models_list){.models = facts, .count = 1};
    return SMA_ERR_OK;
}

enum sma_err sma_models_list_parse(struct sma_str body, struct sma_models_list *ret_list)
{
    if (body.len > SMA_MODELS_BYTES_MAX)
        return SMA_ERR_BADINPUT;
    json_t *root = sma_json_parse(body);
    if (root == NULL)
        return SMA_ERR_BADINPUT;
    const json_t *list = root;
    if (!json_is_array(list))
        list = json_object_get(root, "data");
    if (!json_is_array(list))
        list = json_object_get(root, "models");
    enum sma_err err = json_is_array(list) ? read_list(list, ret_list) : read_one(root, ret_list);
    json_decref(root);
    return err;
}

void sma_models_list_fini(struct sma_models_list *list)
{
    free(list->models);
    *list = (struct sma_models_list){0};
}

const struct sma_model_facts *sma_models_list_find(const struct sma_models_list *list,
                                                   const char *id)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->models[i].id, id) == 0)
            return &list->models[i];
    return list->count == 1 && list->models[0].id[0] == '\0' ? &list->models[0] : NULL;
}
