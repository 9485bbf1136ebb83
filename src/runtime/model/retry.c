#include "runtime/model/retry.h"

#include "sma/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(word, list[i]) == 0)
            return true;
    return false;
}

static bool has_one_of(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasestr(text, list[i]) != NULL)
            return true;
    return false;
}

/* Money: trying again never helps. */
static bool is_quota(const struct sma_failure *failure)
{
    static const char *const words[] = {"insufficient_quota",          "billing_error",
                                        "billing_not_active",          "billing_hard_limit_reached",
                                        "insufficient_balance",        "insufficient_user_quota",
                                        "exceeded_current_quota_error"};
    static const char *const texts[] = {"exceeded your current quota", "insufficient balance",
                                        "insufficient credits", "credit balance is too low"};
    const struct sma_wire_error *error = &failure->error;
    return failure->http_status == 402 || error->status == 402 ||
           is_one_of(error->code, words, SMA_COUNT_OF(words)) ||
           is_one_of(error->type, words, SMA_COUNT_OF(words)) ||
           has_one_of(error->message, texts, SMA_COUNT_OF(texts));
}

static bool is_context_length(const struct sma_failure *failure)
{
    static const char *const words[] = {"context_length_exceeded", "exceed_context_size_error",
                                        "model_context_window_exceeded", "request_too_large"};
    static const char *const texts[] = {
        "context_length",     "context length",    "maximum context",
        "context window",     "context size",      "context limit",
        "prompt is too long", "input is too long", "maximum prompt length",
        "reduce the length",  "too long"};
    const struct sma_wire_error *error = &failure->error;
    if (failure->http_status == 413 || error->status == 413 ||
        is_one_of(error->code, words, SMA_COUNT_OF(words)) ||
        is_one_of(error->type, words, SMA_COUNT_OF(words)))
        return true;
    int status = failure->http_status;
    bool may_be = status == 0 || status == 200 || status == 400 || status == 422 || status == 500;
    return may_be && has_one_of(error->message, texts, SMA_COUNT_OF(texts));
}

/* Errors inside a 200 answer carry no status of their own most of the time: judge by their names.
 * */
static bool is_event_final(const struct sma_wire_error *error)
{
    static const char *const words[] = {
        "invalid_request_error", "authentication_error", "permission_error", "not_found_error",
        "invalid_api_key",       "invalid_prompt",       "model_not_found",  "content_filter"};
    return is_one_of(error->type, words, SMA_COUNT_OF(words)) ||
           is_one_of(error->code, words, SMA_COUNT_OF(words));
}

static enum sma_retry classify_status(const struct sma_failure *failure, int status)
{
    /* Anthropic names the wait of every true rate limit; without it the account has reached its
     * spending cap. */
    if (status == 429 && failure->api == SMA_LLM_MESSAGES && failure->http_status == 429 &&
        failure->retry_after_ms < 0)
        return SMA_RETRY_NO;
    bool may_pass = status == 408 || status == 409 || status == 429 || status >= 500;
    return may_pass ? SMA_RETRY_YES : SMA_RETRY_NO;
}

enum sma_retry sma_retry_classify(const struct sma_failure *failure)
{
    switch (failure->trouble) {
    case SMA_TROUBLE_SETUP:
    case SMA_TROUBLE_TOOBIG:
    case SMA_TROUBLE_NOMEM:
        return SMA_RETRY_NO;
    case SMA_TROUBLE_UNREACHABLE:
    case SMA_TROUBLE_SILENT:
    case SMA_TROUBLE_TRUNCATED:
    case SMA_TROUBLE_GARBAGE:
        return SMA_RETRY_YES;
    case SMA_TROUBLE_HTTP:
    case SMA_TROUBLE_EVENT:
        break;
    }
    if (is_quota(failure))
        return SMA_RETRY_NO;
    if (is_context_length(failure))
        return SMA_RETRY_CONTEXT_LENGTH;
    if (failure->has_should_retry)
        return failure->should_retry ? SMA_RETRY_YES : SMA_RETRY_NO;
    if (failure->retry_after_ms > SMA_RETRY_AFTER_MAX_MS)
        return SMA_RETRY_NO;
    if (failure->trouble == SMA_TROUBLE_HTTP)
        return classify_status(failure, failure->http_status);
    if (failure->error.status != 0)
        return classify_status(failure, failure->error.status);
    return is_event_final(&failure->error) ? SMA_RETRY_NO : SMA_RETRY_YES;
}

int64_t sma_retry_after_parse(struct sma_str value, int64_t wall_ms)
{
    char text[64];
    value = sma_str_trim(value);
    if (value.len == 0 || value.len >= sizeof text)
        return -1;
    memcpy(text, value.ptr, value.len);
    text[value.len] = '\0';
    if (isdigit((unsigned char)text[0])) {
        char *end = NULL;
        double seconds = strtod(text, &end);
        return *end == '\0' && seconds >= 0 && seconds < 1e9 ? (int64_t)(seconds * 1000) : -1;
    }
    struct tm when = {0};
    const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &when);
    if (end == NULL || *end != '\0')
        return -1;
    int64_t wait_ms = (int64_t)timegm(&when) * 1000 - wall_ms;
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

/* The address without credentials and query, which may hold secrets. */
static void put_url(struct sma_buf *buf, const char *url)
{
    const char *rest = strstr(url, "://");
    rest = rest == NULL ? url : rest + 3;
    size_t host_len = strcspn(rest, "/?#");
    const char *at = memrchr(rest, '@', host_len);
    const char *start = at == NULL ? rest : at + 1;
    sma_buf_put(buf, url, (size_t)(rest - url));
    sma_buf_put(buf, start, strcspn(start, "?#"));
}

static const char *remedy_for_status(int status)
{
    if (status == 401)
        return "set llm.apiKey in ship.json or LLM_API_KEY in .env";
    if (status == 402)
        return "the account has no credit or quota left: top it up at the provider";
    if (status == 403)
        return "this key may not use the model: check the account and llm.model in ship.json";
    if (status == 404)
        return "check llm.model, llm.baseUrl and llm.api in ship.json";
    if (status == 408 || status == 409 || status >= 500)
        return "the provider has trouble at the moment: try again later";
    if (status == 429)
        return "the provider limits the rate: wait, or lower agent.concurrency in ship.json";
    return "the request was refused: check llm.model and llm.api in ship.json";
}

/* A message that was cut for its length may end within the key, which then is not found as a whole. */
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
        failure->trouble == SMA_TROUBLE_HTTP ? failure->http_status : failure->error.status;
    if (failure->trouble == SMA_TROUBLE_HTTP)
        sma_buf_printf(buf, "HTTP %d from ", failure->http_status);
    else
        sma_buf_put_text(buf, "error in the answer from ");
    put_url(buf, url);
    put_said(buf, &failure->error, llm->api_key);
    if (failure->retry_after_ms > SMA_RETRY_AFTER_MAX_MS)
        sma_buf_printf(buf, "; it asks to wait %lld s",
                       (long long)(failure->retry_after_ms / 1000));
    const char *remedy = is_quota(failure) ? remedy_for_status(402)
                         : status == 0     ? "try again later"
                                           : remedy_for_status(status);
    if (status == 401 && llm->api_key[0] == '\0')
        sma_buf_put_text(buf, "; no API key is configured");
    sma_buf_printf(buf, "; %s", remedy);
}

static void describe(struct sma_buf *buf, const struct sma_failure *failure,
                     const struct sma_config_llm *llm, const char *url)
{
    const char *detail = failure->detail == NULL ? "" : failure->detail;
    switch (failure->trouble) {
    case SMA_TROUBLE_HTTP:
    case SMA_TROUBLE_EVENT:
        put_answered(buf, failure, llm, url);
        return;
    case SMA_TROUBLE_UNREACHABLE:
    case SMA_TROUBLE_SETUP:
        sma_buf_put_text(buf, "cannot reach ");
        put_url(buf, url);
        sma_buf_printf(buf, ": %s; check llm.baseUrl in ship.json and the network", detail);
        return;
    case SMA_TROUBLE_SILENT:
        put_url(buf, url);
        sma_buf_printf(buf, " %s; try again later, or raise llm.timeouts in ship.json", detail);
        return;
    case SMA_TROUBLE_TRUNCATED:
        sma_buf_put_text(buf, "the answer from ");
        put_url(buf, url);
        sma_buf_put_text(buf, " broke off in the middle; try again later");
        return;
    case SMA_TROUBLE_GARBAGE:
        put_url(buf, url);
        sma_buf_put_text(buf, " did not answer in the expected format");
        put_said(buf, &failure->error, llm->api_key);
        sma_buf_put_text(buf, "; check llm.baseUrl and llm.api in ship.json");
        return;
    case SMA_TROUBLE_TOOBIG:
        sma_buf_put_text(buf, "the answer from ");
        put_url(buf, url);
        sma_buf_put_text(buf, " is larger than 4 MB; set llm.maxTokens in ship.json");
        return;
    case SMA_TROUBLE_NOMEM:
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
