#include "retry_priv.h"
#include "runtime/model/target.h"

#include "sma/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int64_t sma_retry_reset_parse(struct sma_str value, int64_t wall_ms)
{
    char text[64];
    value = sma_str_trim(value);
    if (value.len == 0 || value.len >= sizeof text)
        return -1;
    memcpy(text, value.ptr, value.len);
    text[value.len] = '\0';
    const char *end_of = text;
    double ms = sma_wire_duration_ms(&end_of);
    if (ms >= 0 && ms < 1e12 && *end_of == '\0')
        return (int64_t)ms;
    struct tm when = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &when);
    if (rest != NULL) {
        int64_t wait_ms =
            (int64_t)timegm(&when) * 1000 - wall_ms; /* fractions and zones: they are UTC */
        return wait_ms < 0 ? 0 : wait_ms;
    }
    char *end = NULL;
    double number = strtod(text, &end);
    if (end == text || *end != '\0' || !(number >= 0) || number > 1e14)
        return -1;
    if (number < 1e9)
        return (int64_t)(number * 1000);
    int64_t wait_ms = (int64_t)(number < 1e11 ? number * 1000 : number) - wall_ms;
    return wait_ms < 0 ? 0 : wait_ms;
}

uint64_t sma_retry_delay_ms(unsigned attempt, int64_t retry_after_ms, uint64_t random)
{
    if (retry_after_ms >= 0 && retry_after_ms <= SMA_RETRY_AFTER_MAX_MS)
        return (uint64_t)retry_after_ms;
    uint64_t delay_ms = attempt > 4 ? 8000 : (uint64_t)500 << (attempt == 0 ? 0 : attempt - 1);
    return delay_ms - random % (delay_ms / 4 + 1);
}

/* Shorter keys are those of local servers: "none", "x". */
#define SECRET_BYTES_MIN 4

/* What to do, in order: by what it is, by the status, by words. Status 0 and no words: any. */
static const struct
{
    int trouble, status; /* -1 = any */
    const char *words, *remedy;
} REMEDIES[] = {
    {SMA_MODEL_FAILURE_AUTH, -1, "country|region|location is|地区",
     "the provider does not serve this region: use another provider, or llm.proxy in ship.json"},
    {SMA_MODEL_FAILURE_QUOTA, -1, "",
     "the account has no credit or quota left: top it up at the provider"},
    {SMA_MODEL_FAILURE_RATE, -1, "",
     "the provider limits the rate: wait, or lower agent.concurrency in ship.json"},
    {SMA_MODEL_FAILURE_NO_MODEL, -1, "",
     "check llm.model in ship.json: the provider does not have it, or not any more"},
    {-1, 402, "", "the account has no credit or quota left: top it up at the provider"},
    {-1, 403, "", "this key may not use the model: check the account and llm.model in ship.json"},
    {SMA_MODEL_FAILURE_AUTH, 0, "", "set llm.apiKey in ship.json or LLM_API_KEY in .env"},
    {-1, 401, "", "set llm.apiKey in ship.json or LLM_API_KEY in .env"},
    {-1, 404, "",
     "check llm.model, llm.api and llm.baseUrl in ship.json: most addresses end in /v1"},
    {-1, 405, "", "check llm.baseUrl and llm.api in ship.json: most addresses end in /v1"},
    {-1, 429, "", "the provider limits the rate: wait, or lower agent.concurrency in ship.json"},
    {SMA_MODEL_FAILURE_SETUP, 0, "", "check llm.model, llm.api and llm.baseUrl in ship.json"},
    {-1, 0, "", "try again later"},
    {-1, 408, "", "the provider has trouble at the moment: try again later"},
    {-1, 409, "", "the provider has trouble at the moment: try again later"},
};

static const char *remedy_of(const struct sma_failure *failure,
                             const struct sma_failure_verdict *verdict, int status)
{
    if (strcmp(verdict->refused_member, SMA_REFUSES_TOOLS) == 0)
        return "the model is asked without tools and can only talk: use one that takes them (of "
               "Ollama one with the tag \"tools\"); vLLM needs --enable-auto-tool-choice and "
               "--tool-call-parser, llama.cpp --jinja";
    for (size_t i = 0; i < SMA_COUNT_OF(REMEDIES); i++)
        if ((REMEDIES[i].trouble < 0 || REMEDIES[i].trouble == (int)verdict->trouble) &&
            (REMEDIES[i].status < 0 || REMEDIES[i].status == status) &&
            (REMEDIES[i].words[0] == '\0' || sma_retry_has(failure->error.said, REMEDIES[i].words)))
            return REMEDIES[i].remedy;
    return status >= 500 ? "the provider has trouble at the moment: try again later"
                         : "the request was refused: check llm.model and llm.api in ship.json";
}

const char *sma_failure_remedy(const struct sma_failure *failure)
{
    struct sma_failure_verdict verdict;
    sma_failure_judge(failure, &verdict);
    return remedy_of(failure, &verdict,
                     failure->trouble == SMA_FAILURE_HTTP ? failure->http_status
                                                          : failure->error.status);
}

/* A message that was cut for its length may end within the key, which then is not found as a
 * whole. */
static size_t len_before_secret(const char *said, const char *secret)
{
    size_t len = strlen(said), secret_len = strlen(secret);
    for (size_t part = secret_len; part >= SECRET_BYTES_MIN; part--)
        if (len >= part && memcmp(said + len - part, secret, part) == 0)
            return len - part;
    return len;
}

static void put_said(struct sma_buf *buf, const struct sma_wire_error *error, const char *secret)
{
    const char *said = error->message[0] != '\0' ? error->message
                       : error->code[0] != '\0'  ? error->code
                                                 : error->type;
    size_t len = len_before_secret(said, secret);
    if (len > 0) {
        sma_buf_put_text(buf, ": ");
        sma_buf_put(buf, said, len);
    }
}

static void put_answered(struct sma_buf *buf, const struct sma_failure *failure,
                         const struct sma_config_llm *llm, const char *url)
{
    int status =
        failure->trouble == SMA_FAILURE_HTTP ? failure->http_status : failure->error.status;
    if (failure->trouble == SMA_FAILURE_HTTP)
        sma_buf_printf(buf, "HTTP %d from ", failure->http_status);
    else
        sma_buf_put_text(buf, "error in the answer from ");
    sma_url_put_bare(buf, url);
    put_said(buf, &failure->error, llm->api_key);
    struct sma_failure_verdict verdict;
    sma_failure_judge(failure, &verdict);
    if (verdict.retry_after_ms > SMA_RETRY_AFTER_MAX_MS)
        sma_buf_printf(buf, "; it asks to wait %lld s", (long long)(verdict.retry_after_ms / 1000));
    const char *remedy = remedy_of(failure, &verdict, status);
    if (status == 401 && llm->api_key[0] == '\0')
        sma_buf_put_text(buf, "; no API key is configured");
    sma_buf_printf(buf, "; %s", remedy);
}

static void describe(struct sma_buf *buf, const struct sma_failure *failure,
                     const struct sma_config_llm *llm, const char *url)
{
    const char *detail = failure->detail == NULL ? "" : failure->detail;
    switch (failure->trouble) {
    case SMA_FAILURE_HTTP:
    case SMA_FAILURE_EVENT:
        put_answered(buf, failure, llm, url);
        return;
    case SMA_FAILURE_UNREACHABLE:
    case SMA_FAILURE_SETUP:
        sma_buf_put_text(buf, "cannot reach ");
        sma_url_put_bare(buf, url);
        sma_buf_printf(buf, ": %s; check llm.baseUrl in ship.json and the network", detail);
        return;
    case SMA_FAILURE_SILENT:
        sma_url_put_bare(buf, url);
        sma_buf_printf(buf, " %s; try again later, or raise llm.timeouts in ship.json", detail);
        return;
    case SMA_FAILURE_TRUNCATED:
        sma_buf_put_text(buf, "the answer from ");
        sma_url_put_bare(buf, url);
        sma_buf_put_text(buf, " broke off in the middle; try again later");
        return;
    case SMA_FAILURE_GARBAGE:
        sma_url_put_bare(buf, url);
        sma_buf_put_text(buf, " did not answer in the expected format");
        put_said(buf, &failure->error, llm->api_key);
        sma_buf_put_text(buf, "; check llm.baseUrl (most addresses end in /v1) and llm.api in "
                              "ship.json");
        return;
    case SMA_FAILURE_TOOBIG:
        sma_buf_put_text(buf, "the answer from ");
        sma_url_put_bare(buf, url);
        sma_buf_put_text(buf, " is larger than 4 MB; set llm.maxTokens in ship.json");
        return;
    case SMA_FAILURE_NOMEM:
        sma_buf_put_text(buf, "out of memory while reading the model's answer");
        return;
    }
}

/* Providers quote the key they refuse. */
static void put_without(struct sma_buf *buf, struct sma_str text, struct sma_str secret)
{
    while (secret.len >= SECRET_BYTES_MIN && text.len >= secret.len) {
        const char *found = memmem(text.ptr, text.len, secret.ptr, secret.len);
        if (found == NULL)
            break;
        size_t before = (size_t)(found - text.ptr);
        sma_buf_put(buf, text.ptr, before);
        sma_buf_put_text(buf, "***");
        text = (struct sma_str){found + secret.len, text.len - before - secret.len};
    }
    sma_buf_put_str(buf, text);
}

void sma_failure_describe(struct sma_buf *buf, const struct sma_failure *failure,
                          const struct sma_config_llm *llm, const char *url)
{
    struct sma_buf line;
    sma_buf_init(&line, 4096);
    describe(&line, failure, llm, url);
    if (line.len > 0)
        put_without(buf, sma_buf_str(&line), sma_str(llm->api_key));
    sma_buf_fini(&line);
}
