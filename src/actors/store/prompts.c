/* prompts.c — /prompts: what of the prompts of MCP servers this person may ask for in this chat. */
#include "intake.h"
#include "people.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/agent/mcp_offer.h"
#include "sma/chats.h"
#include "sma/commands.h"
#include "sma/links.h"
#include "sma/text.h"

#define SHOWN_BYTES_MAX (3 * 1024) /* further ones are counted */

struct listing
{
    struct sma_mcp_view view;
    enum sma_standing standing;
    struct sma_buf lines;
    unsigned long long left_out;
};

/* "<trust>/server:prompt ..." (links.h). */
static void put_line(struct listing *listing, struct sma_str line)
{
    struct sma_str text = {line.ptr + 1, line.len - 1}, server, name, words;
    if (!sma_control_prompt(text, &server, &name, &words)) {
        int64_t count;
        if (sma_parse_i64(line, 0, INT32_MAX, &count) == SMA_ERR_OK)
            listing->left_out += (unsigned long long)count;
        return;
    }
    enum sma_policy_verdict verdict =
        sma_mcp_view_prompt(&listing->view, (enum sma_mcp_trust)(line.ptr[0] - '0'), server, name);
    if (!sma_mcp_may_prompt(verdict, (uint8_t)listing->standing))
        return;
    if (listing->lines.len + line.len > SHOWN_BYTES_MAX) {
        listing->left_out++;
        return;
    }
    sma_buf_put_char(&listing->lines, '\n');
    sma_buf_put_str(&listing->lines, text);
}

static void put_lines(struct listing *listing)
{
    struct sma_buf all;
    sma_buf_init(&all, SMA_PROMPTS_BYTES_MAX);
    sma_prompts_format(&all);
    struct sma_str rest = sma_buf_str(&all);
    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, '\n', rest.len);
        size_t len = end == NULL ? rest.len : (size_t)(end - rest.ptr);
        if (len > 0)
            put_line(listing, (struct sma_str){rest.ptr, len});
        len += len < rest.len;
        rest = (struct sma_str){rest.ptr + len, rest.len - len};
    }
    sma_buf_fini(&all);
}

/* For strangers no server is asked: nor are they told what there is. */
enum sma_err sma_store_show_prompts(struct sma_store *store, const struct store_command *command)
{
    const struct sma_ingress *in = command->ingress;
    struct listing listing = {
        .standing = sma_store_standing(store, command->chat, &in->route, in->is_group)};
    struct sma_mcp_policy *policy = NULL;
    struct sma_error error = {0};
    enum sma_err err = sma_mcp_policy_load(store->config->permissions_json, &policy, &error);
    if (err == SMA_ERR_NOMEM)
        return err;
    sma_buf_init(&listing.lines, SHOWN_BYTES_MAX + 64);
    if (err == SMA_ERR_OK) { /* a policy that cannot be read lets nothing be seen */
        listing.view.policy = policy;
        listing.view.rule =
            sma_chat_rules_find(store->config, sma_store_chat_key(command->chat), in->is_group)
                .tools;
        put_lines(&listing);
    }
    sma_mcp_policy_destroy(policy);
    if (listing.lines.len > 0 && listing.left_out > 0)
        sma_buf_printf(&listing.lines, "\n... +%llu", listing.left_out);
    bool has_any = listing.lines.len > 0;
    sma_buf_put_char(&listing.lines, '\0');
    if (has_any && listing.lines.err == SMA_ERR_OK)
        sma_notice_format(command->text, command->language, SMA_NOTICE_PROMPTS, listing.lines.ptr);
    else
        sma_notice_format(command->text, command->language, SMA_NOTICE_PROMPTS_NONE);
    sma_buf_fini(&listing.lines);
    return command->text->err;
}
