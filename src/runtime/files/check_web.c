/* check_web.c — may this page be fetched, this be searched for? See check.h. */
#include "runtime/files/check_priv.h"

#include "runtime/web/egress.h"
#include "runtime/web/leak.h"

static bool refuse_secret(struct checking *checking, struct sma_str text)
{
    if (!sma_web_leaks(checking->rules->files->secrets, text))
        return false;
    check_decide(checking, SMA_TOOL_REFUSED, "", "a secret of this project stands in it");
    sma_buf_put_text(checking->why, "Not done: a secret of this project stands in it, and secrets "
                                    "are sent to nobody.");
    return true;
}

static bool is_granted(const struct checking *checking, const char *rule)
{
    for (uint32_t i = 0; i < checking->ask->grant_count; i++) {
        const struct sma_grant *grant = &checking->ask->grants[i];
        if (sma_str_is_equal(grant->tool, checking->ask->name) &&
            check_holds_now(checking, grant) && sma_str_is_equal(grant->rule, sma_str(rule)))
            return true;
    }
    return false;
}

/* @member  of the details, beside the host: what goes out */
static enum sma_err put_web_item(struct checking *checking, const char *type, const char *host,
                                 const char *member, struct sma_str what)
{
    struct check_texts texts;
    check_init_texts(&texts);
    check_put_line(checking, &texts.title, sma_str(host), CHECK_TITLE_BYTES_MAX);
    check_put_details(checking, &texts.details, member, what, "host", sma_str(host));
    sma_buf_put_text(&texts.grant_rule, host);
    enum sma_err err = check_put_item(checking, &texts, type, false);
    check_fini_texts(&texts);
    return err;
}

/* Does what leaves with this call, and has left before, hold so much that people are asked? If not,
 * it is told to whom it goes, so that it is counted. Without has_read nothing is. */
static bool leaves_much(struct checking *checking, enum sma_egress_to to)
{
    const struct sma_tool_ask *ask = checking->ask;
    const struct sma_egress before = {.has_read = ask->has_read,
                                      .bytes = ask->left_bytes,
                                      .listed_bytes = ask->left_listed_bytes};
    checking->check.leaves_to = (uint8_t)(ask->has_read ? to : SMA_EGRESS_NOBODY);
    return sma_egress_is_much(&before, to,
                              to == SMA_EGRESS_ANYBODY ? ask->leaving_weight : ask->leaving_bytes);
}

static const char much_free[] = "files or messages were read before, and so much that the model "
                                "made up itself has left in addresses that it may carry them away",
                  much_listed[] = "files or messages were read before, and so much has left today "
                                  "for hosts of the owner's that it may carry them away";

enum sma_err check_web_fetch(struct checking *checking)
{
    struct sma_web_url url;
    SMA_TRY(sma_web_url_read(checking->args.url, &url, checking->why));
    const struct sma_str fields[] = {SMA_STR("web fetch 1"), sma_str(url.text)};
    if (!file_tools_hash(fields, SMA_COUNT_OF(fields), checking->check.digest))
        return SMA_ERR_NOMEM;
    checking->check.is_complete = true;
    check_set_text(checking->check.decision.program, sizeof checking->check.decision.program,
                   sma_str(url.host));
    if (refuse_secret(checking, checking->args.url) || refuse_secret(checking, sma_str(url.text)))
        return SMA_ERR_OK;
    struct sma_web_judgement judgement =
        sma_web_rules_judge(checking->rules->web, &url, checking->ask->words);
    if (judgement.verdict == SMA_WEB_REFUSE) {
        check_decide(checking, SMA_TOOL_REFUSED, judgement.rule, judgement.reason);
        sma_buf_printf(checking->why, "Not fetched: %s (%s in ship.json).", judgement.reason,
                       judgement.rule);
        return SMA_ERR_OK;
    }
    bool is_granted_host = is_granted(checking, url.host);
    enum sma_egress_to to = is_granted_host             ? SMA_EGRESS_NOBODY
                            : judgement.is_host_allowed ? SMA_EGRESS_LISTED
                                                        : SMA_EGRESS_ANYBODY;
    if (leaves_much(checking, to) && judgement.verdict == SMA_WEB_ALLOW) {
        judgement.verdict = SMA_WEB_ASK;
        judgement.rule = "permissions.web.allow";
        judgement.reason = to == SMA_EGRESS_LISTED ? much_listed : much_free;
    }
    bool is_asked = judgement.verdict == SMA_WEB_ASK && !is_granted_host;
    check_decide(checking, is_asked ? SMA_TOOL_ASKS : SMA_TOOL_ALLOWED, judgement.rule,
                 judgement.verdict == SMA_WEB_ASK && !is_asked ? "a person allowed this host"
                                                               : judgement.reason);
    return is_asked ? put_web_item(checking, "web", url.host, "url", sma_str(url.text))
                    : SMA_ERR_OK;
}

enum sma_err check_web_search(struct checking *checking)
{
    const struct sma_str fields[] = {SMA_STR("web search 1"), checking->args.query};
    const char *url, *key;
    checking->check.is_complete = true;
    if (!file_tools_hash(fields, SMA_COUNT_OF(fields), checking->check.digest))
        return SMA_ERR_NOMEM;
    if (refuse_secret(checking, checking->args.query))
        return SMA_ERR_OK;
    if (sma_web_rules_search(checking->rules->web, &url, &key) == SMA_WEB_SEARCH_NONE) {
        check_decide(checking, SMA_TOOL_REFUSED, "web.search", "no search is configured");
        return SMA_ERR_OK;
    }
    bool is_much = !is_granted(checking, url) && leaves_much(checking, SMA_EGRESS_LISTED);
    check_decide(checking, is_much ? SMA_TOOL_ASKS : SMA_TOOL_ALLOWED, "web.search",
                 is_much ? much_listed : "the owner chose who is asked");
    return is_much ? put_web_item(checking, "web_search", url, "query", checking->args.query)
                   : SMA_ERR_OK;
}
