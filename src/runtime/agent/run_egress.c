/* run_egress.c — what came into the session, and what of the model's own making leaves it in
 * addresses, searches and arguments. See runtime/web/egress.h. */
#include "run_priv.h"

#include <stdlib.h>

static const struct sma_run *root_of(const struct sma_run *run)
{
    while (run->parent != NULL)
        run = run->parent;
    return run;
}

struct sma_egress *run_egress(const struct sma_run *run)
{
    return &root_of(run)->session->egress;
}

void run_content_came(struct sma_run *run)
{
    run_egress(run)->has_read = true;
}

/* Of a sub-agent those of its run: what it is told a model wrote. */
struct sma_str run_own_words(const struct sma_run *run)
{
    const struct sma_run_order *order = root_of(run)->order;
    return order->is_forward ? (struct sma_str){NULL, 0} : order->text;
}

/* -- what an address may have been taken from -------------------------------------------------- */
/* What people typed in this session. */
static uint32_t put_typed(const struct sma_run *root, struct sma_egress_text *texts)
{
    const struct sma_session *session = root->session;
    uint32_t count = 0;
    texts[count++] =
        (struct sma_egress_text){.kind = SMA_EGRESS_TYPED, .text = run_own_words(root)};
    for (uint32_t i = 0; i < session->turn_count; i++) {
        const struct sma_stored_turn *turn = &session->turns[i]->stored;
        if (turn->own_block > 0 && turn->own_block <= turn->block_count)
            texts[count++] = (struct sma_egress_text){.kind = SMA_EGRESS_TYPED,
                                                      .text = turn->blocks[turn->own_block - 1]};
    }
    return count;
}

static uint32_t web_count(const struct sma_run *run)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->round_count; i++)
        count += run->rounds[i].results.count;
    return count;
}

/* What the web answered to this run. */
static uint32_t put_web(struct sma_run *run, struct sma_egress_text *texts,
                        struct sma_tool_args *args)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->round_count; i++) {
        const struct run_round *round = &run->rounds[i];
        for (uint32_t k = 0; k < round->results.count; k++) {
            const struct sma_stored_result *result = &round->results.results[k];
            enum sma_tool tool = sma_tool_find(result->name);
            sma_buf_clear(&run->scratch);
            if (result->is_error || sma_tool_flow(tool) != SMA_FLOW_LEAVES ||
                sma_tool_args_parse(tool, round->answer.calls[k].arguments, &args[count],
                                    &run->scratch) != SMA_ERR_OK)
                continue;
            bool is_fetch = tool == SMA_TOOL_WEB_FETCH;
            texts[count] =
                (struct sma_egress_text){.kind = is_fetch ? SMA_EGRESS_FETCH : SMA_EGRESS_SEARCH,
                                         .text = result->content,
                                         .asked = is_fetch ? args[count].url : args[count].query};
            count++;
        }
    }
    return count;
}

/* Out of memory everything is the model's own. */
static struct sma_egress_cost cost_of(struct sma_run *run, struct sma_str url)
{
    struct sma_run *root = run->parent != NULL ? run->parent : run;
    uint32_t web = web_count(root) + (run != root ? web_count(run) : 0);
    struct sma_egress_text *texts =
        calloc((size_t)web + root->session->turn_count + 1, sizeof *texts);
    struct sma_tool_args *args = calloc((size_t)web + 1, sizeof *args);
    struct sma_egress_cost cost = {(uint32_t)url.len, (uint32_t)url.len * SMA_EGRESS_DATA_WEIGHT};
    if (texts != NULL && args != NULL) {
        uint32_t typed = put_typed(root, texts);
        uint32_t found = put_web(root, texts + typed, args);
        if (run != root)
            found += put_web(run, texts + typed + found, args + found);
        cost = sma_egress_cost(url, texts, typed + found);
    }
    for (uint32_t i = 0; args != NULL && i < web; i++)
        sma_tool_args_fini(&args[i]);
    free(args);
    free(texts);
    return cost;
}

/* -- what leaves ------------------------------------------------------------------------------- */
/* Before it is known to whom it goes it counts for both, so that calls of one answer and of
 * sub-agents do not each have the whole room. */
void run_egress_ask(struct sma_run *run, struct run_call *call, struct sma_tool_ask *ask)
{
    struct sma_egress *egress = run_egress(run);
    if (sma_tool_flow(call->tool) != SMA_FLOW_LEAVES || !egress->has_read)
        return;
    sma_egress_set_day(egress, sma_run_wall_ms(run, run->now_ns));
    ask->has_read = true;
    ask->left_bytes = egress->bytes;
    ask->left_listed_bytes = egress->listed_bytes;
    struct sma_egress_cost cost = {(uint32_t)call->args.query.len, (uint32_t)call->args.query.len};
    if (call->tool == SMA_TOOL_WEB_FETCH)
        cost = cost_of(run, call->args.url);
    call->leaving_bytes = ask->leaving_bytes = cost.bytes;
    call->leaving_weight = ask->leaving_weight = cost.weight;
    sma_egress_add(egress, SMA_EGRESS_ANYBODY, call->leaving_weight);
    sma_egress_add(egress, SMA_EGRESS_LISTED, call->leaving_bytes);
}

void run_egress_checked(struct sma_run *run, struct run_call *call, enum sma_egress_to to)
{
    struct sma_egress *egress = run_egress(run);
    if (to != SMA_EGRESS_ANYBODY)
        sma_egress_take(egress, SMA_EGRESS_ANYBODY, call->leaving_weight);
    if (to != SMA_EGRESS_LISTED)
        sma_egress_take(egress, SMA_EGRESS_LISTED, call->leaving_bytes);
    call->leaving_bytes = call->leaving_weight = 0;
}

bool run_egress_is_much(struct sma_run *run, uint32_t bytes)
{
    struct sma_egress *egress = run_egress(run);
    sma_egress_set_day(egress, sma_run_wall_ms(run, run->now_ns));
    return sma_egress_is_much(egress, SMA_EGRESS_LISTED, bytes);
}

void run_egress_agreed(struct sma_run *run, const struct run_call *call)
{
    struct sma_egress *egress = run_egress(run);
    if (!call->is_approved)
        return;
    if (call->tool == SMA_TOOL_WEB_FETCH)
        egress->bytes = 0;
    if (call->tool == SMA_TOOL_MCP || sma_tool_flow(call->tool) == SMA_FLOW_LEAVES)
        egress->listed_bytes = 0;
}

/* Steps of sub-agents stand among those of their run, in the order of all: the newest counts. */
void run_egress_resume(struct sma_run *run, const struct sma_egress *stored)
{
    if (run->parent == NULL && stored->has_read)
        *run_egress(run) = *stored;
}
