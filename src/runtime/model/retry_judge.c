/* retry_judge.c — the words of providers into one verdict. Order and texts: protocols/models.md
 * §6.2-§6.4. */
#include "retry_priv.h"

#include "runtime/model/profile.h"
#include "runtime/model/target.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* -- matching ---------------------------------------------------------------------------------- */
/* The pattern ends at a '|' or with its text. */
static bool has_pattern(const char *text, const char *pattern)
{
    for (;;) {
        size_t len = strcspn(pattern, "*|");
        const char *found = memmem(text, strlen(text), pattern, len);
        if (found == NULL || pattern[len] != '*')
            return found != NULL;
        text = found + len;
        pattern += len + 1;
    }
}

bool sma_retry_has(const char *text, const char *patterns)
{
    for (; *patterns != '\0'; patterns += strcspn(patterns, "|"), patterns += *patterns == '|')
        if (has_pattern(text, patterns))
            return true;
    return false;
}

/* Type and code are names of the provider's own list: compared whole. */
static bool is_named(const struct sma_wire_error *error, const char *names)
{
    for (size_t len; *names != '\0'; names += len + (names[len] == '|')) {
        len = strcspn(names, "|");
        if ((strlen(error->code) == len && strncasecmp(error->code, names, len) == 0) ||
            (strlen(error->type) == len && strncasecmp(error->type, names, len) == 0))
            return true;
    }
    return false;
}

/* One fact in many words: what can be too long, near a word of excess. */
static bool is_over_window(const char *said)
{
    static const char things[] =
        "token|prompt|context|seq_len|sequence length|max_seq|input length|inputs|message length|"
        "messages length|text length|conversation|request length|length of|content length|"
        "request size|上下文|输入|长度|对话|字数";
    static const char excess[] =
        "exceed|too long|too many|too large|too big|greater than|more than|larger than|longer than|"
        "less than|<=|at most|over the|limit|maximum|max |beyond|range of|not fit|overflow|"
        "out of range|upper|超|过长|过大|太长|大于|小于|上限";
    /* Values of members, bounds that time takes off, the plan of an account. */
    static const char others[] =
        "input should be|rate limit|per minute|per day|daily|monthly|completion tokens|"
        "max_tokens*too|output tokens|max_tokens must|invalid max_tokens|max_completion|"
        "security token|access token";
    size_t len = strlen(said);
    if (sma_retry_has(said, others))
        return false;
    for (const char *thing = things; *thing != '\0';
         thing += strcspn(thing, "|"), thing += *thing == '|') {
        size_t width = strcspn(thing, "|");
        for (const char *at = said; (at = memmem(at, strlen(at), thing, width)) != NULL; at++) {
            size_t place = (size_t)(at - said), from = place > 100 ? place - 100 : 0;
            char near[256];
            snprintf(near, sizeof near, "%.*s", (int)(len - from < 220 ? len - from : 220),
                     said + from);
            if (sma_retry_has(near, excess))
                return true;
        }
    }
    return false;
}

/* -- what a status stands for ------------------------------------------------------------------ */
/* What servers answer 200 to, or with a status that says less: their numbers and words, in order.
 * Sources: the error lists of MiniMax (base_resp), Baidu (error_code), iFlytek, SiliconFlow,
 * Tencent (Response.Error), Volcengine, Zhipu, AWS, Cloudflare, new-api and one-api. */
static const struct
{
    int status;
    const char *names; /* codes and types */
    const char *words;
} MEANINGS[] = {
    {402, "1008|2056|30001|4|17|18|19|1113|4006|AccountOverdueError|insufficient_user_quota",
     "balance|insufficient_quota|quota exceeded|exceeded "
     "your*quota|credits|arrear|recharge|billing|"
     "daily request limit|free allocation|exhausted|overdue|余额|欠费|额度|余量|已用尽"},
    {403, "unsupported_country_region_territory|permission_error",
     "country, region|location is not supported|region*not supported|not available in your|"
     "no permission|地区"},
    {401,
     "1004|2049|6|14|100|110|111|10313|AppIdNoAuthError|authentication_error|invalid_api_key|"
     "SignatureDoesNotMatch|UnrecognizedClientException|invalidapikey",
     "api key|apikey|api_key|api-key|api secret|unauthori|authenticat|access token|login fail|"
     "invalid token|invalid key|noauth|security token|credentials|authfailure|signature|密钥|鉴权|"
     "未授权|令牌|身份验证"},
    {429, "1002|1041|11201|11202|11203|336501|336502|336503|rate_limit_error|rate_limit_exceeded",
     "rate limit|ratelimit|rate_limit|too many "
     "requests|qps|throttl|concurren|frequen|limitexceeded|"
     "频率|频繁|限流|并发"},
    {404, "20012|30003|not_found_error|model_not_found|ModelNotOpen|DeploymentNotFound",
     "model*not found|model*not exist|model does not|no such model|unknown model|invalid model|"
     "model disabled|model*not activated|deployment*not exist|not activated the model|无可用渠道|"
     "模型不存在|模型*不存在"},
    {400,
     "1026|1027|1039|2013|10013|10014|10163|10907|20015|336003|336103|invalid_request_error|"
     "invalid_prompt|content_filter|bio_policy|misalignment_policy_violation",
     "sensitive|invalid param|invalid request|invalid argument|bad request|not support|"
     "inappropriate|audit failed|field required|敏感|参数|不合规"},
    {405, "", "unknownoperation"},
};

static int status_of_words(const struct sma_wire_error *error)
{
    if (strncmp(error->code, "image_", 6) == 0 || strncmp(error->code, "invalid_image", 13) == 0)
        return 400;
    for (size_t i = 0; i < SMA_COUNT_OF(MEANINGS); i++)
        if (is_named(error, MEANINGS[i].names))
            return MEANINGS[i].status;
    for (size_t i = 0; i < SMA_COUNT_OF(MEANINGS); i++)
        if (sma_retry_has(error->said, MEANINGS[i].words))
            return MEANINGS[i].status;
    bool is_missing = strncmp(error->said, "not found", 9) == 0;
    return is_over_window(error->said) ? 400 : is_missing ? 404 : 500;
}

/* Errors inside a 200 answer carry no status most of the time: their names stand for one. */
static int status_of(const struct sma_failure *failure)
{
    if (failure->trouble == SMA_FAILURE_HTTP)
        return failure->http_status;
    return failure->error.status != 0 ? failure->error.status : status_of_words(&failure->error);
}

static bool is_refused(int status)
{
    return status == 400 || status == 422;
}

/* -- the rows ---------------------------------------------------------------------------------- */
enum
{
    REFUSED = 1 << 0,   /* 400, 422 */
    PAYMENT = 1 << 1,   /* 402 */
    DENIED = 1 << 2,    /* 401 */
    FORBIDDEN = 1 << 3, /* 403 */
    MISSING = 1 << 4,   /* 404, 410 */
    LARGE = 1 << 5,     /* 413 */
    LIMITED = 1 << 6,   /* 429 */
    BROKEN = 1 << 7,    /* 500 */
    DOWN = 1 << 8,      /* above */
    LATER = 1 << 9,     /* 408, 409, 425 */
    OTHER = 1 << 10,
    ANY = 0x7ff,
};

static unsigned class_of(int status)
{
    static const struct
    {
        int status;
        unsigned class;
    } rows[] = {{400, REFUSED}, {422, REFUSED}, {402, PAYMENT}, {401, DENIED},  {403, FORBIDDEN},
                {404, MISSING}, {410, MISSING}, {413, LARGE},   {429, LIMITED}, {500, BROKEN},
                {408, LATER},   {409, LATER},   {425, LATER}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        if (rows[i].status == status)
            return rows[i].class;
    return status > 500 ? DOWN : OTHER;
}

enum verdict
{
    PASSES, /* the same bytes may pass */
    CHANCE, /* what the model wrote could not be read by its server: twice more */
    RATE,
    QUOTA,
    AUTH,
    NO_MODEL,
    SHORTEN,
    SESSION, /* what a server keeps of earlier turns: in plain form there is nothing of it left */
    REFUSAL, /* by its words, as a 400 is */
    CONTENT, /* has nothing to do with the form: it will be refused in any */
};

/* Who says what: the first row whose host, class and names or words fit. Neither names nor words:
 * the class is enough. Sources: protocols/models.md 6, the lists named above. */
static const struct row
{
    int host; /* enum sma_host, -1 = any */
    unsigned classes;
    enum verdict verdict;
    const char *names, *words;
} ROWS[] = {
    {-1, ANY, CHANCE, "tool_use_failed|output_parse_failed",
     "failed to call a function|failed to parse tool call|tool call validation failed|"
     "error parsing tool call"},
    /* Google says the sentence of an empty purse for a wait of seconds, and names a wait even when
     * the day's quota is used up. */
    {SMA_HOST_GEMINI, LIMITED, QUOTA, "", "perday|per day|limit: 0,|limit: 0\n"},
    {SMA_HOST_GEMINI, LIMITED, RATE, NULL, NULL},
    {SMA_HOST_GEMINI, ANY, RATE, "", "resource_exhausted"},
    /* insufficient_quota is DashScope's throttle of tokens a minute. */
    {SMA_HOST_QWEN, ANY, QUOTA, "",
     "arrearage|freetieronly|free tier of the model has been exhausted"},
    {SMA_HOST_QWEN, LIMITED, RATE, NULL, NULL},
    {SMA_HOST_QWEN, ANY, RATE, "", "throttling"},
    {SMA_HOST_ZHIPU, ANY, RATE, "1302|1303|1305", ""},
    {SMA_HOST_ZHIPU, ANY, PASSES, "1234|1312", ""},
    {SMA_HOST_ZHIPU, ANY, QUOTA, "1113|1304|1308|1309|1310|1313", ""},
    {SMA_HOST_ZHIPU, ANY, NO_MODEL, "1211|1311", ""},
    {SMA_HOST_ZHIPU, ANY, SHORTEN, "1261", ""},
    {SMA_HOST_ZHIPU, ANY, CONTENT, "1301", ""},
    {SMA_HOST_ZHIPU, ANY, AUTH,
     "1000|1001|1002|1003|1004|1110|1111|1112|1114|1115|1116|1117|1118|1119|1120|1121", ""},
    {-1, REFUSED | MISSING, SESSION, "invalid_encrypted_content|image_dimensions_too_large",
     "bound to a different conversation|invalid*signature|corrupted thought|thought_signature|"
     "thought signature|thinking*blocks*cannot be modified|expected `thinking` or|"
     "expected `redacted_thinking`|no tool output found|without its required|"
     "without*reasoning item|encrypted content*could not be|encrypted_content*could not|"
     "items are not persisted|tool_use` ids|tool_use_id`|must be followed by tool|"
     "text content blocks must|must be non-empty|must contain non-whitespace|image exceeds|"
     "max bytes per data-uri|too many images|图片输入格式|could not process image|"
     "messages.*property*unsupported|messages.*extra inputs"},
    {-1, ANY, SHORTEN,
     "context_length_exceeded|exceed_context_size_error|model_context_window_exceeded|"
     "request_too_large",
     ""},
    {-1, LARGE, SHORTEN, NULL, NULL},
    {-1, REFUSED | BROKEN, SHORTEN, "",
     "context_length|context length|context window|maximum context|prompt is too long|"
     "context limit|reduce the length|too long|too large to process|超长"},
    {-1, PAYMENT, QUOTA, NULL, NULL},
    {-1, ANY, QUOTA,
     "402|insufficient_quota|billing_error|billing_not_active|billing_hard_limit_reached|"
     "insufficient_balance|insufficient_user_quota|exceeded_current_quota_error|"
     "enforced_spend_limit_reached|contract_spend_limit_reached|"
     "linked_organization_spend_limit_reached|organization_on_hold|account_deactivated|"
     "usage_limit_reached|subscription_sharing_usage_limit_exceeded",
     ""},
    {-1, ANY & ~REFUSED, QUOTA, "",
     "exceeded your current quota|insufficient_quota|payment required|spend limit|spending limit|"
     "out of budget|require more credits|requires more credits|key limit exceeded|"
     "membership benefits|per-day|per day|(tpd)|tpd rate limit|daily limit|weekly limit|"
     "monthly limit|使用上限"},
    {-1, ANY, QUOTA, "",
     "insufficient balance|insufficient credits|credit balance|usage limit|余额不足|欠费|"
     "额度已用尽|额度不足"},
    {-1, LIMITED, RATE, NULL, NULL},
    {-1, ANY, RATE,
     "rate_limit_exceeded|rate_limit_error|slow_down|ramp_limit_exceeded|rate_limit_reached_error",
     ""},
    {-1, FORBIDDEN | BROKEN | DOWN, RATE, "",
     "rate limit|rate_limit|ratelimit|too many requests|concurrency limit|请求过于频繁|流量限制"},
    {-1, FORBIDDEN | REFUSED, CONTENT,
     "invalid_prompt|content_filter|bio_policy|misalignment_policy_violation|"
     "content_policy_violation|data_inspection_failed|DataInspectionFailed",
     "content management policy|usage policies|inappropriate content|"
     "invalid schema for function|input was flagged|requires moderation|content_policy_violation"},
    {-1, ANY, NO_MODEL, "model_not_found|model_not_exist", ""},
    {-1, MISSING, NO_MODEL, "not_found_error|DeploymentNotFound|ModelNotOpen",
     "model|no endpoints found|模型|deployment|无可用渠道"},
    {-1, REFUSED | DOWN, NO_MODEL, "",
     "model not exist|not a valid model|invalid model|unknown model|no such model|"
     "model not found|模型不存在|无可用渠道"},
    {-1, DENIED | FORBIDDEN, AUTH, NULL, NULL},
    {-1, REFUSED, AUTH, "unsupported_country_region_territory",
     "incorrect api key|invalid api key|api key not valid|api_key_invalid|invalid x-api-key|"
     "location is not supported|密钥无效"},
    /* Whatever the status: what is refused stays refused. */
    {-1, BROKEN | DOWN, REFUSAL, "",
     "jinja|raise_exception|value is not callable|chat template|chat_template|not implemented|"
     "not permitted|unsupported*parameter|unknown*parameter"},
    {-1, LATER | BROKEN | DOWN, PASSES, NULL, NULL},
};

static bool fits(const struct row *row, const struct sma_failure *failure, unsigned class)
{
    if ((row->classes & class) == 0 ||
        (row->host >= 0 &&
         (failure->llm == NULL || (int)sma_profile_host(failure->llm) != row->host)))
        return false;
    bool is_by_words = row->names == NULL || row->names[0] == '\0';
    if (row->verdict == SHORTEN && is_by_words &&
        sma_retry_has(failure->error.said, "rate limit|too many requests|tokens per minute|"
                                           "tokens per day|throttl|id'*string too long"))
        return false; /* a bound that time takes off, or that of an id */
    return row->names == NULL || is_named(&failure->error, row->names) ||
           (row->words[0] != '\0' && sma_retry_has(failure->error.said, row->words));
}

static bool is_content(const struct sma_failure *failure)
{
    for (size_t i = 0; i < SMA_COUNT_OF(ROWS); i++)
        if (ROWS[i].verdict == CONTENT && ROWS[i].host < 0 && fits(&ROWS[i], failure, REFUSED))
            return true;
    return false;
}

/* "Limit 6000, Requested 7000" without what is used already: it can never pass. */
static bool is_limit_over(const char *said)
{
    const char *limit = strstr(said, "limit ");
    for (; limit != NULL; limit = strstr(limit + 6, "limit ")) {
        char *end = NULL;
        unsigned long long most = strtoull(limit + 6, &end, 10);
        if (end == limit + 6 || strncmp(end, ", requested ", 12) != 0)
            continue;
        return strtoull(end + 12, NULL, 10) > most;
    }
    return false;
}

/* -- refusals ---------------------------------------------------------------------------------- */
/* It says so in words that nobody uses of a picture: what it says of pictures besides is no reason
 * to leave them out. */
static bool is_about_window(const struct sma_failure *failure)
{
    return is_named(&failure->error, "context_length_exceeded|exceed_context_size_error|"
                                     "model_context_window_exceeded") ||
           sma_retry_has(failure->error.said, "maximum context length|maximum model length|"
                                              "context window|prompt is too long");
}

static void say(struct sma_failure_verdict *verdict, enum sma_retry retry,
                enum sma_model_failure trouble)
{
    verdict->retry = retry;
    verdict->trouble = trouble;
}

static void judge_refusal(const struct sma_failure *failure, struct sma_failure_verdict *verdict)
{
    sma_retry_find_member(failure, verdict->refused_member, sizeof verdict->refused_member);
    bool has_member = verdict->refused_member[0] != '\0';
    bool is_tool = strncmp(failure->error.param, "tools", 5) == 0;
    if (!has_member && is_over_window(failure->error.said)) {
        say(verdict, SMA_RETRY_CONTEXT_LENGTH, SMA_MODEL_FAILURE_REQUEST);
        return;
    }
    verdict->is_unexplained = !has_member && !is_tool;
    /* It names nothing that could be left out: what may have made it refuse is what other requests
     * do not have. */
    say(verdict, SMA_RETRY_NO,
        has_member ? SMA_MODEL_FAILURE_MEMBER
        : is_tool  ? SMA_MODEL_FAILURE_REQUEST
                   : SMA_MODEL_FAILURE_SESSION);
}

/* What can be written otherwise: a tool, a file, a form. */
static bool judge_form(const struct sma_failure *failure, unsigned class,
                       struct sma_failure_verdict *verdict)
{
    const char *said = failure->error.said;
    bool is_broken = (class & (BROKEN | DOWN)) != 0;
    bool is_window = is_about_window(failure);
    if (!is_window &&
        ((class & REFUSED) != 0 || ((class & BROKEN) != 0 && strstr(said, "schema") != NULL)) &&
        sma_retry_find_tool(failure, verdict->refused_member, sizeof verdict->refused_member)) {
        say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_MEMBER);
        return true;
    }
    if (!is_window && failure->has_files &&
        (class & (DENIED | FORBIDDEN | LIMITED | PAYMENT | LATER)) == 0 &&
        sma_retry_judge_picture(failure, is_broken, verdict))
        return true;
    bool may_be_form = (class & (REFUSED | MISSING | BROKEN | DOWN)) != 0 ||
                       status_of(failure) == 405 || status_of(failure) == 415;
    const char *form = may_be_form ? sma_retry_find_form(said) : NULL;
    /* Of a server in trouble "None" may be its own. */
    if (form == NULL || is_content(failure) || (is_broken && strcmp(form, SMA_REFUSES_NULL) == 0))
        return false;
    say(verdict, SMA_RETRY_NO, SMA_MODEL_FAILURE_MEMBER);
    snprintf(verdict->refused_member, sizeof verdict->refused_member, "%s", form);
    return true;
}

static void judge_answered(const struct sma_failure *failure, struct sma_failure_verdict *verdict)
{
    static const struct
    {
        enum sma_retry retry;
        enum sma_model_failure trouble;
    } says[] = {
        [PASSES] = {SMA_RETRY_YES, SMA_MODEL_FAILURE_TRANSIENT},
        [CHANCE] = {SMA_RETRY_YES, SMA_MODEL_FAILURE_TRANSIENT},
        [RATE] = {SMA_RETRY_YES, SMA_MODEL_FAILURE_RATE},
        [QUOTA] = {SMA_RETRY_NO, SMA_MODEL_FAILURE_QUOTA},
        [AUTH] = {SMA_RETRY_NO, SMA_MODEL_FAILURE_AUTH},
        [NO_MODEL] = {SMA_RETRY_NO, SMA_MODEL_FAILURE_NO_MODEL},
        [SHORTEN] = {SMA_RETRY_CONTEXT_LENGTH, SMA_MODEL_FAILURE_REQUEST},
        [SESSION] = {SMA_RETRY_NO, SMA_MODEL_FAILURE_SESSION},
        [CONTENT] = {SMA_RETRY_NO, SMA_MODEL_FAILURE_REQUEST},
    };
    int status = status_of(failure);
    unsigned class = class_of(status);
    if (judge_form(failure, class, verdict))
        return;
    if (is_limit_over(failure->error.said)) {
        say(verdict, SMA_RETRY_CONTEXT_LENGTH, SMA_MODEL_FAILURE_REQUEST);
        return;
    }
    size_t i = 0;
    while (i < SMA_COUNT_OF(ROWS) && !fits(&ROWS[i], failure, class))
        i++;
    if (i < SMA_COUNT_OF(ROWS) && ROWS[i].verdict != REFUSAL) {
        say(verdict, says[ROWS[i].verdict].retry, says[ROWS[i].verdict].trouble);
        verdict->repeat_max = ROWS[i].verdict == CHANCE ? 2 : 0;
        /* A proxy's 413 says nothing, and may mean the tools. */
        verdict->is_unexplained = class == LARGE && failure->error.said[0] == '\0';
        if (ROWS[i].verdict == QUOTA && ROWS[i].host == SMA_HOST_GEMINI)
            verdict->retry_after_ms = -1;
    } else if (i < SMA_COUNT_OF(ROWS) || is_refused(status)) {
        judge_refusal(failure, verdict);
    } else {
        bool is_unknown_api = status < 400 || status == 404 || status == 405 || status == 406 ||
                              status == 415; /* nobody there knows this API */
        say(verdict, SMA_RETRY_NO,
            is_unknown_api ? SMA_MODEL_FAILURE_SETUP : SMA_MODEL_FAILURE_REQUEST);
    }
    /* Anthropic names the wait of every true rate limit. Without one a quick repeat is refused,
     * too. */
    if (verdict->trouble == SMA_MODEL_FAILURE_RATE && failure->http_status == 429 &&
        failure->llm != NULL && failure->llm->api == SMA_LLM_MESSAGES &&
        verdict->retry_after_ms < 0)
        verdict->retry = SMA_RETRY_NO;
}

static int64_t wait_of(const struct sma_failure *failure)
{
    const struct sma_wire_error *error = &failure->error;
    if (failure->retry_after_ms >= 0)
        return failure->retry_after_ms;
    if (error->has_retry_after)
        return error->retry_after_ms;
    if (error->reset_ms > 0 && failure->wall_ms > 0)
        return error->reset_ms > failure->wall_ms ? error->reset_ms - failure->wall_ms : 0;
    return -1;
}

static void heed_header(const struct sma_failure *failure, struct sma_failure_verdict *verdict)
{
    if (!failure->has_should_retry || verdict->retry == SMA_RETRY_CONTEXT_LENGTH)
        return;
    verdict->retry = failure->should_retry ? SMA_RETRY_YES : SMA_RETRY_NO;
    if (failure->should_retry && (verdict->trouble == SMA_MODEL_FAILURE_REQUEST ||
                                  verdict->trouble == SMA_MODEL_FAILURE_SESSION))
        verdict->trouble = SMA_MODEL_FAILURE_TRANSIENT;
}

bool sma_failure_says_busy(const struct sma_failure *failure)
{
    /* llama.cpp, Ollama, LM Studio, small servers; who tells a time has more to say. */
    return failure->trouble == SMA_FAILURE_HTTP && failure->retry_after_ms < 0 &&
           (failure->http_status == 503 || failure->http_status == 429 ||
            failure->http_status == 409) &&
           sma_retry_has(failure->error.said,
                         "busy|no slot|slots are|pending requests|queue is full|"
                         "already processing|another request|in progress");
}

void sma_failure_judge(const struct sma_failure *failure, struct sma_failure_verdict *ret_verdict)
{
    *ret_verdict = (struct sma_failure_verdict){
        .trouble = SMA_MODEL_FAILURE_TRANSIENT,
        .retry_after_ms = wait_of(failure),
    };
    switch (failure->trouble) {
    case SMA_FAILURE_SETUP:
    case SMA_FAILURE_NOMEM:
        ret_verdict->trouble = SMA_MODEL_FAILURE_SETUP;
        return;
    case SMA_FAILURE_TOOBIG:
        ret_verdict->trouble = SMA_MODEL_FAILURE_REQUEST;
        return;
    case SMA_FAILURE_UNREACHABLE:
    case SMA_FAILURE_SILENT:
    case SMA_FAILURE_TRUNCATED:
    case SMA_FAILURE_GARBAGE:
        ret_verdict->retry = SMA_RETRY_YES;
        if (failure->trouble == SMA_FAILURE_GARBAGE && failure->error.said[0] == '<')
            ret_verdict->trouble = SMA_MODEL_FAILURE_SETUP; /* a gateway's page, or no API at all */
        break;
    case SMA_FAILURE_HTTP:
    case SMA_FAILURE_EVENT:
        judge_answered(failure, ret_verdict);
        heed_header(failure, ret_verdict);
        break;
    }
    if (ret_verdict->retry == SMA_RETRY_CONTEXT_LENGTH)
        ret_verdict->window_tokens = failure->error.window_tokens;
    if (ret_verdict->retry == SMA_RETRY_YES && ret_verdict->retry_after_ms > SMA_RETRY_AFTER_MAX_MS)
        ret_verdict->retry = SMA_RETRY_NO;
}
