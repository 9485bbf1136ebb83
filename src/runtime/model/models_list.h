/*
 * models_list.h — what a server says about its models: bytes of a list to ids, windows and dates.
 *
 * Read are the lists of GET /models (OpenAI and its likes, Anthropic, OpenRouter, vLLM, llama.cpp,
 * Gemini, Groq, Mistral, Together), Anthropic's single model, Ollama's /api/tags and /api/show,
 * llama.cpp's /props. The last two tell of the model that is loaded: one entry with an empty id.
 * What a server does not tell is 0 or "".
 * Source: protocols/models.md §1.6. Threads: any; no state.
 * Limits: SMA_MODELS_COUNT_MAX entries, further ones are dropped (is_cut); an entry whose id is
 * longer than fits is skipped.
 */
#ifndef SMA_MODEL_MODELS_LIST_H
#define SMA_MODEL_MODELS_LIST_H

#include "sma/base.h"

#define SMA_MODELS_COUNT_MAX 2000
#define SMA_MODELS_ID_BYTES_MAX 160
/* of a list; OpenRouter's has about half a megabyte */
#define SMA_MODELS_BYTES_MAX (4u * 1024 * 1024)

struct sma_model_facts
{
    char id[SMA_MODELS_ID_BYTES_MAX]; /* as requests name it; "" = the loaded one */
    /* input (and output, where the server counts them together) */
    uint64_t window_tokens;
    uint64_t output_max;
    char ends[32];      /* when it is switched off, as the server writes it (mostly ISO 8601) */
    bool is_deprecated; /* the server says so: it still answers */
    bool is_retired;    /* the server says so: it answers no more */
    bool has_no_tools;  /* the server lists what it takes, and tools are not among it */
};

struct sma_models_list
{
    struct sma_model_facts *models; /* in the server's order */
    size_t count;
    bool is_cut;
};

/** @return OK and *ret_list (free with sma_models_list_fini; may be empty) | BADINPUT: not a list
 *  of models | NOMEM. */
SMA_CHECKED enum sma_err sma_models_list_parse(struct sma_str body,
                                               struct sma_models_list *ret_list);
void sma_models_list_fini(struct sma_models_list *list); /* accepts a zeroed struct */
/** The entry of this id; an entry without id fits every name when it is the only one. NULL = not
 *  there. */
const struct sma_model_facts *sma_models_list_find(const struct sma_models_list *list,
                                                   const char *id);

#endif
