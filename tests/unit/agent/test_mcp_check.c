/*
 * Aim: a call of a server's tool is asked about with its exact name and arguments, agreed to as it
 * is now, and a permission that lasts ends when the server makes another tool of it.
 * Method: the check alone; its item is read back as the store and a card read it.
 */
#include "runtime/agent/mcp_check.h"
#include "runtime/approval/card.h"
#include "runtime/approval/request.h"
#include "sma/text.h"
#include "support/check.h"

static struct sma_mcp_policy *policy;

static struct sma_mcp_check_ask usual(void)
{
    return (struct sma_mcp_check_ask){
        .policy = policy,
        .tool = {.shown = SMA_STR("files:write")},
        .description = SMA_STR("Writes a file."),
        .schema = SMA_STR("{\"type\":\"object\"}"),
        .arguments = SMA_STR("{\"path\":\"a\"}"),
        .wall_ms = 1000,
    };
}

/* The check, and its item as the store reads it. */
struct asked
{
    struct sma_mcp_check check;
    struct sma_buf request, why;
    struct sma_request parsed;
};

static struct asked ask(const struct sma_mcp_check_ask *from)
{
    struct asked asked = {0};
    struct sma_buf item;
    uint32_t zero = 0;
    sma_buf_init(&item, 4 * 1024 * 1024);
    sma_buf_init(&asked.request, 4 * 1024 * 1024);
    sma_buf_init(&asked.why, 1000);
    CHECK_OK(sma_mcp_check(from, &item, &asked.why, &asked.check));
    CHECK((asked.check.verdict == SMA_TOOL_ASKS) == (item.len > 0));
    CHECK((asked.check.verdict == SMA_TOOL_REFUSED) == (asked.why.len > 0));
    if (item.len > 0) {
        struct sma_str json = sma_buf_str(&item);
        CHECK_OK(sma_request_put(&asked.request, &json, &zero, 1));
        CHECK_OK(sma_request_parse(sma_buf_str(&asked.request), &asked.parsed));
        CHECK(memcmp(asked.check.digest, asked.parsed.items[0].digest, 32) == 0);
    }
    sma_buf_fini(&item);
    return asked;
}

static void end(struct asked *asked)
{
    sma_request_fini(&asked->parsed);
    sma_buf_fini(&asked->request);
    sma_buf_fini(&asked->why);
}

static bool has(struct sma_str text, const char *piece)
{
    return memmem(text.ptr, text.len, piece, strlen(piece)) != NULL;
}

CASE(an_item_says_what_is_called)
{
    struct sma_mcp_check_ask from = usual();
    struct asked asked = ask(&from);
    const struct sma_request_item *item = &asked.parsed.items[0];
    CHECK_STR("mcp_tool", item->type);
    CHECK_STR("files:write", item->tool);
    CHECK_STR("files:write", item->title);
    CHECK_STR("{\"path\":\"a\"}", item->input_json);
    CHECK_STR("{\"toolName\":\"files:write\",\"args\":{\"path\":\"a\"}}", item->details_json);
    CHECK_STR("no rule allows it", item->reason);
    CHECK(item->is_admin_only && !item->is_owner_only);
    CHECK(sma_str_starts_with(item->grant_rule, SMA_STR("files:write@")));
    end(&asked);
}

CASE(the_longest_name_is_asked_about)
{
    char name[64 + 1 + 128 + 1];
    memset(name, 'n', sizeof name - 1);
    name[64] = ':';
    name[sizeof name - 1] = '\0';
    struct sma_mcp_check_ask from = usual();
    from.tool.shown = sma_str(name);
    struct asked asked = ask(&from);
    CHECK_STR(name, asked.parsed.items[0].tool);
    end(&asked);
}

CASE(card_shows_name_and_arguments)
{
    static const uint8_t key[SMA_CARD_KEY_BYTES] = {1};
    struct sma_mcp_check_ask from = usual();
    from.arguments = SMA_STR("{\"path\":\"a\xe2\x80\xae"
                             "b\",\"n\":[1,2]}");
    struct asked asked = ask(&from);
    struct sma_buf buf;
    struct sma_card card;
    sma_buf_init(&buf, 1024 * 1024);
    sma_card_put_request(&buf, &(struct sma_card_facts){.key = key,
                                                        .request = &asked.parsed,
                                                        .language = SMA_LANGUAGE_EN,
                                                        .asker = SMA_STR("Ann"),
                                                        .may_chat_decide = true});
    CHECK_OK(sma_card_parse(sma_buf_str(&buf), &card));
    const struct sma_str texts[] = {card.text, card.plain};
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        CHECK(has(texts[i], "Call this tool of an outside server: "));
        CHECK(has(texts[i], "files:write"));
        CHECK(has(texts[i], "\"path\": \"a\\u{202E}b\""));
        CHECK(!has(texts[i], "\xe2\x80\xae"));
    }
    CHECK_INT(4, card.button_count); /* yes, no, ten minutes, always */
    sma_card_fini(&card);
    sma_buf_fini(&buf);
    end(&asked);
}

CASE(long_arguments_are_cut_and_said)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf arguments;
    sma_buf_init(&arguments, 1024 * 1024);
    sma_buf_put_text(&arguments, "{\"path\":\"");
    for (int i = 0; i < 100000; i++)
        sma_buf_put_char(&arguments, 'x');
    sma_buf_put_text(&arguments, "THE END\"}");
    struct sma_mcp_check_ask from = usual();
    from.arguments = sma_buf_str(&arguments);
    struct asked asked = ask(&from);
    CHECK(asked.parsed.items[0].details_json.len < 20000);
    CHECK(has(asked.parsed.items[0].details_json, "THE END"));
    CHECK(has(asked.parsed.items[0].details_json, "\"bytes\":100018"));
    CHECK(sma_card_is_cut(&asked.parsed));
    end(&asked);
}

CASE(what_is_agreed_to_is_exact)
{
    struct sma_mcp_check_ask from = usual();
    struct asked first = ask(&from), again = ask(&from);
    CHECK(memcmp(first.check.digest, again.check.digest, 32) == 0);
    end(&again);
    struct sma_mcp_check_ask others[5];
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++)
        others[i] = usual();
    others[0].tool.shown = SMA_STR("files:writ");
    others[1].arguments = SMA_STR("{\"path\":\"b\"}");
    others[2].description = SMA_STR("Writes a file and mails it.");
    others[3].schema = SMA_STR("{}");
    others[4].tool.is_read_only = true;
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++) {
        struct asked other = ask(&others[i]);
        CHECK(memcmp(first.check.digest, other.check.digest, 32) != 0);
        end(&other);
    }
    end(&first);
}

CASE(permission_ends_with_the_tool)
{
    struct sma_mcp_check_ask from = usual();
    struct asked asked = ask(&from);
    struct sma_grant grant = {.tool = asked.parsed.items[0].tool,
                              .rule = asked.parsed.items[0].grant_rule};
    struct sma_mcp_check_ask granted = usual();
    granted.grants = &grant;
    granted.grant_count = 1;
    struct asked now = ask(&granted);
    CHECK_INT(SMA_TOOL_ALLOWED, now.check.verdict);
    end(&now);
    granted.arguments = SMA_STR("{\"path\":\"other\"}"); /* the tool, whatever its arguments */
    now = ask(&granted);
    CHECK_INT(SMA_TOOL_ALLOWED, now.check.verdict);
    end(&now);
    granted.description = SMA_STR("Writes a file. Also deletes all others.");
    now = ask(&granted);
    CHECK_INT(SMA_TOOL_ASKS, now.check.verdict);
    end(&now);
    granted = usual();
    granted.grants = &grant;
    granted.grant_count = 1;
    granted.tool.shown = SMA_STR("files:write2");
    now = ask(&granted);
    CHECK_INT(SMA_TOOL_ASKS, now.check.verdict);
    end(&now);
    granted.tool.shown = SMA_STR("files:write");
    grant.until_ms = granted.wall_ms;
    now = ask(&granted);
    CHECK_INT(SMA_TOOL_ASKS, now.check.verdict);
    end(&now);
    end(&asked);
}

CASE(what_is_to_be_asked_is_asked_every_time)
{
    struct sma_mcp_policy *strict;
    struct sma_error error;
    CHECK_OK(sma_mcp_policy_load("{\"mcp\":{\"ask\":[\"files:*\"],\"deny\":[\"evil:*\"]}}", &strict,
                                 &error));
    struct sma_mcp_check_ask from = usual();
    struct asked asked = ask(&from);
    struct sma_grant grant = {.tool = asked.parsed.items[0].tool,
                              .rule = asked.parsed.items[0].grant_rule};
    from.policy = strict;
    from.grants = &grant;
    from.grant_count = 1;
    struct asked now = ask(&from);
    CHECK_INT(SMA_TOOL_ASKS, now.check.verdict);
    CHECK_STR("", now.parsed.items[0].grant_rule);
    CHECK_STR("files:*", now.parsed.items[0].rule);
    end(&now);
    from.tool.shown = SMA_STR("evil:write");
    now = ask(&from);
    CHECK_INT(SMA_TOOL_REFUSED, now.check.verdict);
    CHECK(has(sma_buf_str(&now.why), "permissions.mcp.deny names it: evil:*"));
    end(&now);
    end(&asked);
    sma_mcp_policy_destroy(strict);
}

/* A rule lets the tool be called; for what has left by then a person is asked, and may let it. */
static void what_leaves_is_asked_though_a_rule_allows_it(void)
{
    struct sma_mcp_policy *allowing;
    struct sma_error error;
    CHECK_OK(sma_mcp_policy_load("{\"mcp\":{\"allow\":[\"files:*\"],\"deny\":[\"*:gone\"]}}",
                                 &allowing, &error));
    struct sma_mcp_check_ask from = usual();
    from.policy = allowing;
    struct asked asked = ask(&from);
    CHECK_INT(SMA_TOOL_ALLOWED, asked.check.verdict);
    end(&asked);
    from.is_much = true;
    asked = ask(&from);
    CHECK_INT(SMA_TOOL_ASKS, asked.check.verdict);
    CHECK(has(asked.parsed.items[0].reason, "carry them away"));
    char rule[200];
    snprintf(rule, sizeof rule, "%.*s", (int)asked.parsed.items[0].grant_rule.len,
             asked.parsed.items[0].grant_rule.ptr);
    end(&asked);
    struct sma_grant grant = {.tool = from.tool.shown, .rule = sma_str(rule)};
    from.grants = &grant;
    from.grant_count = 1;
    asked = ask(&from);
    CHECK_INT(SMA_TOOL_ALLOWED, asked.check.verdict);
    end(&asked);
    from.tool.shown = SMA_STR("files:gone");
    asked = ask(&from);
    CHECK_INT(SMA_TOOL_REFUSED, asked.check.verdict);
    end(&asked);
    sma_mcp_policy_destroy(allowing);
}

int main(void)
{
    struct sma_error error;
    CHECK_OK(sma_mcp_policy_load(NULL, &policy, &error));
    check_run_cases(NULL);
    sma_mcp_policy_destroy(policy);
    RUN(what_leaves_is_asked_though_a_rule_allows_it);
    return check_summary();
}
