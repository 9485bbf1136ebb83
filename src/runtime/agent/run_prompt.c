/* run_prompt.c — a message "/server:prompt words" stands for what the server gives for it. It is
 * asked before the first request; a run that is resumed before its first answer asks again. See
 * run_mcp.h. */
#include "run_priv.h"

#include "runtime/mcp/prompt_words.h"
#include "sma/commands.h"
#include "sma/text.h"

#define NAME_BYTES_MAX 128
#define WHY_BYTES_MAX 600

static const char *name_of(struct sma_str text, char buf[NAME_BYTES_MAX + 1])
{
    size_t len = sma_utf8_cut(text, NAME_BYTES_MAX);
    memcpy(buf, text.ptr, len);
    buf[len] = '\0';
    return buf;
}

static const struct sma_mcp_prompt *find(const struct sma_mcp_catalogue *catalogue,
                                         struct sma_str server, struct sma_str name)
{
    for (size_t i = 0; i < catalogue->prompt_count; i++)
        if (sma_str_is_equal(catalogue->prompts[i].server, server) &&
            sma_str_is_equal(catalogue->prompts[i].name, name))
            return &catalogue->prompts[i];
    return NULL;
}

/* Other messages are answered by this run, too: they go to the model in any case, and what is wrong
 * with the prompt is no reason to leave them without an answer. */
static bool is_among_others(const struct sma_run *run)
{
    return run->order->collected_count > 0;
}

/* The chat is told, and no turn is made of it. */
static void refuse(struct sma_run *run, enum sma_notice notice, const char *first,
                   const char *second)
{
    sma_notice_format(&run->done_text, run->language, notice, first, second);
    run_finish_command(run, SMA_OUTCOME_OK);
}

static void refuse_words(struct sma_run *run, const struct sma_mcp_prompt *prompt,
                         enum sma_prompt_words why, struct sma_str missing)
{
    char name[NAME_BYTES_MAX + 1];
    struct sma_buf usage;
    sma_buf_init(&usage, 8192);
    sma_prompt_words_put_usage(&usage, prompt);
    const char *text = usage.err == SMA_ERR_OK ? usage.ptr : "";
    if (why == SMA_PROMPT_MISSES)
        refuse(run, SMA_NOTICE_PROMPT_ARGUMENT, name_of(missing, name), text);
    else
        refuse(run, SMA_NOTICE_PROMPT_SURPLUS, text, NULL);
    sma_buf_fini(&usage);
}

static void ask(struct sma_run *run, const struct sma_mcp_prompt *prompt, struct sma_str arguments)
{
    run->state = RUN_LOADING;
    run->prompt.is_open = true;
    run->mcp.open_count++;
    run->prompt.server = prompt->server;
    run->prompt.name = prompt->name;
    run_act(run, SMA_RUN_ASK_MCP)->mcp =
        (struct sma_mcp_call){.seq = run->order->seq,
                              .kind = SMA_MCP_PROMPT,
                              .server = prompt->server,
                              .name = prompt->name,
                              .arguments = arguments,
                              .timeout_ms = SMA_MCP_PROMPT_MS,
                              .chat_key = run->order->route.chat_key};
}

bool run_prompt_ask(struct sma_run *run)
{
    struct sma_str server, name, words, missing = {0};
    struct sma_mcp_view view = run_mcp_view(run);
    const struct sma_mcp_server *asked;
    if (run->prompt.is_asked || run->parent != NULL || view.catalogue == NULL ||
        run->order->is_forward || run->order->standing == SMA_STANDING_STRANGER ||
        !sma_control_prompt(run->order->text, &server, &name, &words) ||
        (asked = sma_mcp_catalogue_find_server(view.catalogue, server)) == NULL)
        return false;
    run->prompt.is_asked = true;
    char server_text[NAME_BYTES_MAX + 1], name_text[NAME_BYTES_MAX + 1];
    enum sma_policy_verdict verdict =
        sma_mcp_view_prompt(&view, sma_mcp_view_trust(&view, server), server, name);
    bool is_seen = verdict != SMA_POLICY_REFUSE;
    const struct sma_mcp_prompt *prompt = is_seen ? find(view.catalogue, server, name) : NULL;
    if (prompt == NULL || !sma_mcp_may_prompt(verdict, run->order->standing)) {
        if (is_among_others(run))
            return false; /* words among words */
        enum sma_notice notice = prompt != NULL ? SMA_NOTICE_PROMPT_ASKED
                                 : is_seen && asked->state != SMA_MCP_CONNECTED
                                     ? SMA_NOTICE_PROMPT_AWAY
                                     : SMA_NOTICE_PROMPT_UNKNOWN;
        refuse(run, notice, name_of(server, server_text), name_of(name, name_text));
        return true;
    }
    sma_buf_clear(&run->scratch);
    enum sma_prompt_words found = sma_prompt_words_read(prompt, words, &run->scratch, &missing);
    if (found != SMA_PROMPT_FIT && is_among_others(run))
        return false;
    if (found != SMA_PROMPT_FIT)
        refuse_words(run, prompt, found, missing);
    else if (run->scratch.err != SMA_ERR_OK)
        run_finish_failed(run, "out of memory");
    else
        ask(run, prompt, sma_buf_str(&run->scratch));
    return true;
}

bool run_prompt_came(struct sma_run *run, const struct sma_mcp_answer *answer)
{
    struct run_prompt *prompt = &run->prompt;
    prompt->is_open = false;
    SMA_ASSERT(run->mcp.open_count > 0);
    run->mcp.open_count--;
    if (answer->outcome == SMA_MCP_OK && sma_str_trim(answer->text).len > 0) {
        size_t len = sma_utf8_cut(answer->text, SMA_MCP_PROMPT_BYTES_MAX);
        sma_buf_put(&prompt->text, answer->text.ptr, len);
        if (len < answer->text.len)
            sma_buf_put_text(&prompt->text, "\n[the rest was left out: it is too long]");
        if (prompt->text.err == SMA_ERR_OK)
            return true;
    }
    char server[NAME_BYTES_MAX + 1], name[NAME_BYTES_MAX + 1], why[WHY_BYTES_MAX + 1];
    size_t len = sma_utf8_cut(answer->text, WHY_BYTES_MAX);
    memcpy(why, len == 0 ? "" : answer->text.ptr, len);
    why[len] = '\0';
    const char *reason = answer->outcome == SMA_MCP_OK ? "it is empty"
                         : len == 0                    ? "no answer"
                                                       : why;
    if (is_among_others(run)) {
        sma_buf_clear(&prompt->text);
        sma_buf_printf(&prompt->text, "(it did not give its prompt: %s)", reason);
        if (prompt->text.err == SMA_ERR_OK)
            return true;
    }
    sma_notice_format(&run->done_text, run->language, SMA_NOTICE_PROMPT_FAILED,
                      name_of(prompt->server, server), name_of(prompt->name, name), reason);
    run_finish_command(run, SMA_OUTCOME_FAILED);
    return false;
}
