/* mcp_check.c — see mcp_check.h. */
#include "runtime/agent/mcp_check.h"

#include "runtime/approval/card.h"
#include "runtime/approval/request.h"
#include "runtime/json/json_read.h"
#include "runtime/secrets/secrets.h"
#include "sma/text.h"

#include <openssl/evp.h>

#define INPUT_BYTES_MAX \
    (16u * 1024) /* of arguments in a request; longer ones are shown by halves */
#define TITLE_BYTES_MAX 200u
#define ITEM_BYTES_MAX (1024u * 1024)
#define MARK_DIGITS 16 /* of a tool as it is now, in a lasting permission */

/* -- what a tool is ---------------------------------------------------------------------------- */
static bool hash(const struct sma_str *fields, size_t count, uint8_t ret_digest[32])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_good = context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
    for (size_t i = 0; is_good && i < count; i++) {
        uint64_t len = fields[i].len; /* so that no field runs into the next */
        is_good = EVP_DigestUpdate(context, &len, sizeof len) == 1 &&
                  (len == 0 || EVP_DigestUpdate(context, fields[i].ptr, fields[i].len) == 1);
    }
    is_good = is_good && EVP_DigestFinal_ex(context, ret_digest, NULL) == 1;
    EVP_MD_CTX_free(context);
    return is_good;
}

static bool hash_tool(const struct sma_mcp_check_ask *ask, uint8_t ret_digest[32])
{
    const struct sma_str fields[] = {SMA_STR("mcp tool 1"), ask->tool.shown, ask->description,
                                     ask->schema,
                                     ask->tool.is_read_only ? SMA_STR("reads") : SMA_STR("acts")};
    return hash(fields, SMA_COUNT_OF(fields), ret_digest);
}

static void put_rule(struct sma_buf *buf, struct sma_str shown, const uint8_t digest[32])
{
    sma_buf_put_str(buf, shown);
    sma_buf_put_char(buf, '@');
    for (size_t i = 0; i < MARK_DIGITS / 2; i++)
        sma_buf_printf(buf, "%02x", digest[i]);
}

static bool is_granted(const struct sma_mcp_check_ask *ask, struct sma_str rule)
{
    for (uint32_t i = 0; i < ask->grant_count; i++) {
        const struct sma_grant *grant = &ask->grants[i];
        if (sma_str_is_equal(grant->tool, ask->tool.shown) && sma_str_is_equal(grant->rule, rule) &&
            (grant->until_ms == 0 || grant->until_ms > ask->wall_ms))
            return true;
    }
    return false;
}

/* -- what people are asked --------------------------------------------------------------------- */
/* Without secrets, and an object still: replacing may have broken it, or it is too long. */
static void put_shown(const struct sma_mcp_check_ask *ask, struct sma_buf *buf)
{
    struct sma_buf clean;
    sma_buf_init(&clean, 4 * ask->arguments.len + 64);
    if (ask->secrets == NULL)
        sma_buf_put_str(&clean, ask->arguments);
    else
        sma_secrets_put(ask->secrets, &clean, ask->arguments);
    SMA_AUTO(sma_json_freep) json_t *value = NULL;
    struct sma_str text = sma_buf_str(&clean);
    bool is_object = text.len <= INPUT_BYTES_MAX && sma_json_load(text, &value) == SMA_ERR_OK &&
                     json_is_object(value);
    if (is_object) {
        sma_buf_put_str(buf, text);
    } else { /* both ends: what it does may stand at either */
        size_t head = sma_utf8_cut(text, INPUT_BYTES_MAX / 4);
        size_t tail = text.len < INPUT_BYTES_MAX / 2 ? head : text.len - INPUT_BYTES_MAX / 4;
        while (tail < text.len && ((unsigned char)text.ptr[tail] & 0xC0) == 0x80)
            tail++;
        sma_buf_put_text(buf, "{\"cut\":");
        sma_buf_put_json_string(buf, (struct sma_str){text.ptr, head});
        sma_buf_put_text(buf, ",\"end\":");
        sma_buf_put_json_string(buf, (struct sma_str){text.ptr + tail, text.len - tail});
        sma_buf_printf(buf, ",\"bytes\":%zu}", text.len);
    }
    if (clean.err != SMA_ERR_OK)
        buf->err = clean.err;
    sma_buf_fini(&clean);
}

static void put_title(struct sma_buf *buf, struct sma_str shown)
{
    struct sma_buf line;
    sma_buf_init(&line, 16 * shown.len + 64);
    sma_card_put_line(&line, shown);
    struct sma_str text = sma_buf_str(&line);
    sma_buf_put_str(buf, (struct sma_str){text.ptr, sma_utf8_cut(text, TITLE_BYTES_MAX)});
    if (line.err != SMA_ERR_OK)
        buf->err = line.err;
    sma_buf_fini(&line);
}

static enum sma_err put_item(const struct sma_mcp_check_ask *ask,
                             const struct sma_mcp_decision *decision, struct sma_str rule,
                             const struct sma_mcp_check *check, struct sma_buf *item)
{
    struct sma_buf title, input, details;
    sma_buf_init(&title, TITLE_BYTES_MAX + 16);
    sma_buf_init(&input, ITEM_BYTES_MAX);
    sma_buf_init(&details, ITEM_BYTES_MAX);
    put_title(&title, ask->tool.shown);
    put_shown(ask, &input);
    sma_buf_put_text(&details, "{\"toolName\":");
    sma_buf_put_json_string(&details, ask->tool.shown);
    sma_buf_put_text(&details, ",\"args\":");
    sma_buf_put_str(&details, sma_buf_str(&input));
    sma_buf_put_char(&details, '}');
    struct sma_request_item made = {.type = SMA_STR(SMA_MCP_ITEM_TYPE),
                                    .tool = ask->tool.shown,
                                    .title = sma_buf_str(&title),
                                    .input_json = sma_buf_str(&input),
                                    .details_json = sma_buf_str(&details),
                                    .rule = sma_str(decision->rule),
                                    .reason = sma_str(decision->reason),
                                    .grant_rule = decision->is_grantable ? rule : SMA_STR(""),
                                    .is_admin_only = true};
    memcpy(made.digest, check->digest, sizeof made.digest);
    sma_request_put_item(item, &made);
    bool is_good = title.err == SMA_ERR_OK && input.err == SMA_ERR_OK &&
                   details.err == SMA_ERR_OK && item->err == SMA_ERR_OK;
    sma_buf_fini(&title);
    sma_buf_fini(&input);
    sma_buf_fini(&details);
    return is_good ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

/* -- the check --------------------------------------------------------------------------------- */
enum sma_err sma_mcp_check(const struct sma_mcp_check_ask *ask, struct sma_buf *item,
                           struct sma_buf *why, struct sma_mcp_check *ret_check)
{
    static const uint8_t verdicts[] = {[SMA_POLICY_ALLOW] = SMA_TOOL_ALLOWED,
                                       [SMA_POLICY_ASK] = SMA_TOOL_ASKS,
                                       [SMA_POLICY_REFUSE] = SMA_TOOL_REFUSED};
    struct sma_mcp_decision decision = sma_mcp_policy_decide(ask->policy, &ask->tool);
    if (ask->is_much && decision.verdict == SMA_POLICY_ALLOW) {
        decision.verdict = SMA_POLICY_ASK;
        decision.reason = "files or messages were read before, and so much has left today for "
                          "servers elsewhere that it may carry them away";
        decision.is_grantable = true;
    }
    struct sma_mcp_check check = {.verdict = verdicts[decision.verdict]};
    uint8_t tool[32];
    if (!hash_tool(ask, tool))
        return SMA_ERR_NOMEM;
    const struct sma_str call[] = {{(const char *)tool, sizeof tool}, ask->arguments};
    if (!hash(call, SMA_COUNT_OF(call), check.digest))
        return SMA_ERR_NOMEM;
    if (check.verdict == SMA_TOOL_REFUSED)
        sma_buf_printf(why, "The call was refused and not made: %s%s%s.", decision.reason,
                       decision.rule[0] == '\0' ? "" : ": ", decision.rule);
    enum sma_err err = SMA_ERR_OK;
    if (check.verdict == SMA_TOOL_ASKS) {
        struct sma_buf rule;
        sma_buf_init(&rule, ask->tool.shown.len + MARK_DIGITS + 8);
        put_rule(&rule, ask->tool.shown, tool);
        if (rule.err != SMA_ERR_OK)
            err = SMA_ERR_NOMEM;
        else if (decision.is_grantable && is_granted(ask, sma_buf_str(&rule)))
            check.verdict = SMA_TOOL_ALLOWED;
        else
            err = put_item(ask, &decision, sma_buf_str(&rule), &check, item);
        sma_buf_fini(&rule);
    }
    if (err == SMA_ERR_OK)
        *ret_check = check;
    return err;
}
