/* check_call.h — one check of a call by the rules of a project, and what came of it. */
#ifndef SMA_TEST_TOOLS_CHECK_CALL_H
#define SMA_TEST_TOOLS_CHECK_CALL_H

#include "project.h"
#include "runtime/approval/request.h"
#include "runtime/files/check.h"
#include "runtime/policy/shell.h"

#define NOW_MS 1800000000000

static struct sma_shell *shell;

/* One check and what came of it. */
struct outcome
{
    enum sma_err err;
    struct sma_tool_check check;
    struct sma_request request; /* one item when it asks */
    char why[1000];
};

struct call
{
    const char *name, *arguments, *receiver;
    enum sma_standing standing;
    struct sma_grant grant; /* tool empty: none */
    bool is_doubtful;       /* the receiver */
};

static inline void check_call(const struct project *project, const struct call *call,
                              struct outcome *ret_outcome)
{
    struct sma_tool_rules *rules;
    struct sma_error error;
    struct sma_buf item, why, request;
    struct sma_grant grants[] = {call->grant};
    struct sma_tool_ask ask = {.name = sma_str(call->name),
                               .arguments = sma_str(call->arguments),
                               .receiver = sma_str(call->receiver),
                               .is_receiver_doubtful = call->is_doubtful,
                               .chat_key = SMA_STR("telegram-chat-1"),
                               .standing = (uint8_t)call->standing,
                               .grants = grants,
                               .grant_count = call->grant.tool.len > 0};
    CHECK_OK(sma_tool_rules_create(&project->config, &rules, &error));
    sma_buf_init(&item, 1 << 20);
    sma_buf_init(&why, 4000);
    sma_buf_init(&request, 1 << 20);
    *ret_outcome = (struct outcome){0};
    ret_outcome->err = sma_tool_check(rules, &ask, NOW_MS, shell, &ret_outcome->check, &item, &why);
    snprintf(ret_outcome->why, sizeof ret_outcome->why, "%s", why.len == 0 ? "" : why.ptr);
    bool asks = ret_outcome->err == SMA_ERR_OK && ret_outcome->check.verdict == SMA_TOOL_ASKS;
    bool refuses = ret_outcome->err != SMA_ERR_OK || ret_outcome->check.verdict == SMA_TOOL_REFUSED;
    CHECK(asks == (item.len > 0));
    CHECK(refuses == (why.len > 0));
    if (asks) {
        struct sma_str items[] = {sma_buf_str(&item)};
        uint32_t calls[] = {3};
        CHECK_OK(sma_request_put(&request, items, calls, 1));
        CHECK(strstr(request.ptr, "sk-canary-123456") == NULL);
        CHECK_OK(sma_request_parse(sma_buf_str(&request), &ret_outcome->request));
        CHECK_INT(1, ret_outcome->request.item_count);
        CHECK(memcmp(ret_outcome->request.items[0].digest, ret_outcome->check.digest, 32) == 0);
    }
    sma_buf_fini(&item);
    sma_buf_fini(&why);
    sma_buf_fini(&request);
    sma_tool_rules_destroy(rules);
}

#endif
