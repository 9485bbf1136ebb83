/* openai_error.c — errors as OpenAI's libraries read them. */
#include "openai.h"

static const char *type_of(int status)
{
    if (status >= 500)
        return "server_error";
    return status == 429 ? "insufficient_quota" : "invalid_request_error";
}

static const char *code_of(int status)
{
    switch (status) {
    case 401:
        return "invalid_api_key";
    case 404:
        return "not_found";
    case 409:
    case 422:
        return "idempotency_key_in_use";
    case 429:
        return "insufficient_quota";
    default:
        return NULL;
    }
}

void http_openai_put_error(struct sma_buf *buf, const struct http_conn *conn, int status,
                           struct sma_str message)
{
    const char *param = conn->openai == NULL ? NULL : conn->openai->param;
    const char *code = code_of(status);
    sma_buf_put_text(buf, "{\"error\":{");
    sma_buf_put_json_member(buf, "message", message);
    sma_buf_put_json_member(buf, "type", sma_str(type_of(status)));
    sma_buf_put_json_key(buf, "param");
    if (param == NULL)
        sma_buf_put_text(buf, "null");
    else
        sma_buf_put_json_string(buf, sma_str(param));
    sma_buf_put_json_key(buf, "code");
    if (code == NULL)
        sma_buf_put_text(buf, "null");
    else
        sma_buf_put_json_string(buf, sma_str(code));
    sma_buf_put_text(buf, "}}");
}
