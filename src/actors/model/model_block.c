/*
 * model_block.c — the request log: a block for each question that goes to a provider, and one for
 * what came back.
 *
 * For people who ask what a model was told: method, address, counts, system text, the newest turn
 * (what stands before it is in the blocks before). Blocks are made when the request is under way
 * already, and written by the log actor, to files of their own; a system text that was written with
 * an earlier block is named, not repeated. With SMA_LOG_LLM_PAYLOAD the details hold the body.
 * Secrets are taken out before anything is cut, so that half of one cannot stay.
 * Limits: BLOCK_* below; a block says how much it leaves out.
 */
#include "model_priv.h"

#include "runtime/model/request_scan.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define BLOCK_SYSTEM_BYTES_MAX 4000
#define BLOCK_TURN_BYTES_MAX 7000 /* the whole block: about 12,000 */
#define BLOCK_TEXT_BYTES_MAX 4000
#define BLOCK_CALL_BYTES_MAX 2000
#define BLOCK_CALL_COUNT_MAX 8
#define BLOCK_PAYLOAD_BYTES_MAX 65536
#define BLOCK_BYTES_MAX (1024 * 1024) /* of a buffer */

struct model_blocks
{
    bool has_payload;
    char start[24]; /* makes ids of several lives of the program differ */
    uint64_t count;
    struct sma_buf block, details, scratch;
    struct sma_buf system; /* written last, and with which block */
    uint64_t system_id;
};

enum sma_err model_blocks_create(struct sma_model *model)
{
    struct model_blocks *blocks = calloc(1, sizeof *blocks);
    if (blocks == NULL)
        return SMA_ERR_NOMEM;
    const char *payload = getenv("SMA_LOG_LLM_PAYLOAD");
    blocks->has_payload = payload != NULL && payload[0] != '\0' && strcmp(payload, "0") != 0;
    sma_buf_init(&blocks->block, BLOCK_BYTES_MAX);
    sma_buf_init(&blocks->details, BLOCK_BYTES_MAX);
    sma_buf_init(&blocks->scratch, BLOCK_BYTES_MAX);
    sma_buf_init(&blocks->system, SMA_REQUEST_BYTES_MAX);
    model->blocks = blocks;
    return SMA_ERR_OK;
}

void model_blocks_destroy(struct sma_model *model)
{
    struct model_blocks *blocks = model->blocks;
    if (blocks == NULL)
        return;
    sma_buf_fini(&blocks->block);
    sma_buf_fini(&blocks->details);
    sma_buf_fini(&blocks->scratch);
    sma_buf_fini(&blocks->system);
    free(blocks);
    model->blocks = NULL;
}

/* -- texts without secrets --------------------------------------------------------------------- */
/* The first `most` bytes of text, without secrets. */
static void put_start(struct sma_model *model, struct sma_buf *out, struct sma_str text,
                      size_t most)
{
    struct sma_buf *clean = &model->blocks->scratch;
    sma_buf_clear(clean);
    if (text.len <= most) {
        sma_secrets_put(model->secrets, out, text);
        return;
    }
    struct sma_secrets_stream stream;
    struct sma_str window = text;
    if (window.len > most + SMA_SECRETS_BYTES_MAX) /* one that is cut by `most` is seen whole */
        window.len = most + SMA_SECRETS_BYTES_MAX;
    sma_secrets_stream_init(&stream);
    sma_secrets_stream_put(model->secrets, &stream, clean, window);
    sma_secrets_stream_fini(&stream); /* what may go on behind the window is left out */
    struct sma_str said = sma_buf_str(clean);
    said.len = sma_utf8_cut(said, most);
    sma_buf_put_str(out, said);
}

/* What stands behind text[from]: from the end of a secret that lies across it. */
static void put_end(struct sma_model *model, struct sma_buf *out, struct sma_str text, size_t from)
{
    struct sma_buf *clean = &model->blocks->scratch;
    struct sma_secrets_stream stream;
    size_t before = from < SMA_SECRETS_BYTES_MAX ? from : SMA_SECRETS_BYTES_MAX;
    while (from < text.len && ((unsigned char)text.ptr[from] & 0xc0) == 0x80)
        from++;
    sma_buf_clear(clean);
    sma_secrets_stream_init(&stream);
    sma_secrets_stream_put(model->secrets, &stream, clean,
                           (struct sma_str){text.ptr + from - before, before});
    sma_buf_clear(clean); /* what is held back may go on behind `from` */
    sma_secrets_stream_put(model->secrets, &stream, clean,
                           (struct sma_str){text.ptr + from, text.len - from});
    sma_secrets_stream_end(model->secrets, &stream, clean);
    sma_secrets_stream_fini(&stream);
    if (clean->len > 0)
        sma_buf_put_str(out, sma_buf_str(clean));
}

/* Two thirds of the room for the beginning, one for the end. */
static void put_cut(struct sma_model *model, struct sma_buf *out, struct sma_str text, size_t most)
{
    if (text.len <= most) {
        put_start(model, out, text, most);
        return;
    }
    size_t end = most / 3, start = most - end;
    put_start(model, out, text, start);
    sma_buf_printf(out, " [... %zu bytes left out ...] ", text.len - most);
    put_end(model, out, text, text.len - end);
}

/* Bytes of the request, with notes instead of its files. */
static void put_bytes(struct sma_model *model, struct sma_buf *out, const struct sma_model_ask *ask,
                      size_t begin, size_t end, size_t most)
{
    struct sma_buf shown;
    if (ask->file_count == 0) {
        put_cut(model, out, (struct sma_str){ask->body.ptr + begin, end - begin}, most);
        return;
    }
    sma_buf_init(&shown, SMA_REQUEST_BYTES_MAX + 64 * (size_t)ask->file_count);
    model_body_show(ask, begin, end, &shown);
    put_cut(model, out, shown.err == SMA_ERR_OK ? sma_buf_str(&shown) : SMA_STR("[no memory]"),
            most);
    sma_buf_fini(&shown);
}

static void put_id(struct model_blocks *blocks, struct sma_buf *out, uint64_t number)
{
    sma_buf_printf(out, "llm-%s-%llu", blocks->start, (unsigned long long)number);
}

/* -- blocks ------------------------------------------------------------------------------------ */
static void put_system(struct sma_model *model, struct sma_str system, uint64_t number)
{
    struct model_blocks *blocks = model->blocks;
    struct sma_buf *out = &blocks->block;
    if (system.len == 0)
        return;
    sma_buf_printf(out, "system (%zu bytes): ", system.len);
    if (system.len == blocks->system.len &&
        memcmp(system.ptr, blocks->system.ptr, system.len) == 0) {
        sma_buf_put_text(out, "as in ");
        put_id(blocks, out, blocks->system_id);
    } else {
        put_cut(model, out, system, BLOCK_SYSTEM_BYTES_MAX);
        sma_buf_clear(&blocks->system);
        sma_buf_put_str(&blocks->system, system); /* not kept for want of memory: written again */
        blocks->system_id = number;
    }
    sma_buf_put_char(out, '\n');
}

static void put_foot(struct model_blocks *blocks, const struct sma_model_ask *ask, uint64_t number,
                     const char *end)
{
    struct sma_buf *out = &blocks->block;
    sma_buf_put_text(out, "chatKey: ");
    if (ask->chat_key.len > 0)
        sma_buf_put_str(out, ask->chat_key);
    sma_buf_printf(out, ", run: %llu, round: %u\nrequestId: ", (unsigned long long)ask->seq,
                   ask->round);
    put_id(blocks, out, number);
    sma_buf_printf(out, "\n===== LLM %s END =====", end);
}

static void put_member(struct sma_buf *out, const char *name, struct sma_str value)
{
    sma_buf_put_json_key(out, name);
    sma_buf_put_json_string(out, value.ptr == NULL ? SMA_STR("") : value);
}

static void put_names(struct model_blocks *blocks, const struct sma_model_ask *ask, uint64_t number)
{
    struct sma_buf *out = &blocks->details;
    char id[64];
    snprintf(id, sizeof id, "llm-%s-%llu", blocks->start, (unsigned long long)number);
    put_member(out, "chatKey", ask->chat_key);
    sma_buf_printf(out, ",\"runId\":\"%llu\"", (unsigned long long)ask->seq);
    put_member(out, "requestId", sma_str(id));
    sma_buf_put_char(out, '}');
}

/* Whole: as it is, JSON. Else as a text, with what is left out said in its middle. */
static void put_payload(struct sma_model *model, const struct sma_model_ask *ask)
{
    struct model_blocks *blocks = model->blocks;
    struct sma_str body = ask->body;
    struct sma_buf shown;
    sma_buf_init(&shown, SMA_REQUEST_BYTES_MAX + 64 * (size_t)ask->file_count);
    if (ask->file_count > 0) {
        model_body_show(ask, 0, body.len, &shown);
        body = shown.err == SMA_ERR_OK ? sma_buf_str(&shown) : body;
    }
    sma_buf_put_json_key(&blocks->details, "payload");
    if (body.len <= BLOCK_PAYLOAD_BYTES_MAX) {
        put_start(model, &blocks->details, body, BLOCK_PAYLOAD_BYTES_MAX);
        sma_buf_fini(&shown);
        return;
    }
    struct sma_buf cut;
    sma_buf_init(&cut, BLOCK_BYTES_MAX);
    put_cut(model, &cut, body, BLOCK_PAYLOAD_BYTES_MAX);
    sma_buf_put_json_string(&blocks->details,
                            cut.err == SMA_ERR_OK ? sma_buf_str(&cut) : SMA_STR("[no memory]"));
    sma_buf_fini(&cut);
    sma_buf_fini(&shown);
}

static void put_request_details(const struct model_request *request,
                                const struct sma_request_facts *facts, uint64_t number)
{
    struct sma_model *model = request->model;
    struct model_blocks *blocks = model->blocks;
    struct sma_buf *out = &blocks->details;
    sma_buf_clear(&blocks->scratch);
    sma_url_put_bare(&blocks->scratch, request->target->url);
    sma_buf_put_text(out, "{\"kind\":\"llm_request\"");
    put_member(out, "url", sma_buf_str(&blocks->scratch));
    put_member(out, "method", SMA_STR("POST"));
    put_member(out, "model", sma_str(request->target->llm->model));
    sma_buf_printf(out, ",\"toolsCount\":%zu,\"messagesCount\":%zu,\"systemLength\":%zu",
                   facts->tool_count, facts->message_count, facts->system.len);
    if (blocks->has_payload)
        put_payload(model, request->ask);
    put_names(blocks, request->ask, number);
}

static void send_block(struct sma_model *model)
{
    struct model_blocks *blocks = model->blocks;
    if (blocks->block.err == SMA_ERR_OK && blocks->details.err == SMA_ERR_OK)
        (void)sma_ctx_log_block(model->ctx, sma_buf_str(&blocks->block),
                                sma_buf_str(&blocks->details)); /* what is dropped is counted */
    sma_buf_clear(&blocks->block);
    sma_buf_clear(&blocks->details);
}

void model_block_request(struct model_request *request)
{
    struct sma_model *model = request->model;
    struct model_blocks *blocks = model->blocks;
    const struct sma_model_ask *ask = request->ask;
    struct sma_buf *out = &blocks->block;
    struct sma_request_facts facts;
    request->block_id = 0;
    if (!request->target->llm->logs_messages)
        return;
    if (blocks->start[0] == '\0')
        snprintf(blocks->start, sizeof blocks->start, "%llx",
                 (unsigned long long)sma_ctx_wall(model->ctx));
    request->block_id = ++blocks->count;
    sma_request_scan(ask->body, &facts);
    sma_buf_put_text(out, "===== LLM REQUEST BEGIN =====\nPOST ");
    sma_url_put_bare(out, request->target->url);
    sma_buf_printf(out, "\nmodel: %s, tools: %zu, messages: %zu, bytes: %zu\n",
                   request->target->llm->model, facts.tool_count, facts.message_count,
                   (size_t)(ask->file_count > 0 ? request->body.total : ask->body.len));
    put_system(model, facts.system, request->block_id);
    sma_buf_put_text(out, "newest turn: ");
    if (ask->turn_offset < ask->turn_end && ask->turn_end <= ask->body.len)
        put_bytes(model, out, ask, ask->turn_offset, ask->turn_end, BLOCK_TURN_BYTES_MAX);
    sma_buf_put_char(out, '\n');
    put_foot(blocks, ask, request->block_id, "REQUEST");
    put_request_details(request, &facts, request->block_id);
    send_block(model);
}

static void put_answer(struct sma_model *model, const struct sma_decoded *decoded)
{
    struct sma_buf *out = &model->blocks->block;
    sma_buf_put_text(out, "text: ");
    if (decoded->text.len > 0)
        put_cut(model, out, decoded->text, BLOCK_TEXT_BYTES_MAX);
    sma_buf_put_char(out, '\n');
    for (size_t i = 0; i < decoded->call_count && i < BLOCK_CALL_COUNT_MAX; i++) {
        const struct sma_model_call *call = &decoded->calls[i];
        sma_buf_put_text(out, "call ");
        put_cut(model, out, call->name, 200);
        sma_buf_put_char(out, ' ');
        put_cut(model, out, call->arguments, BLOCK_CALL_BYTES_MAX);
        sma_buf_put_char(out, '\n');
    }
    if (decoded->call_count > BLOCK_CALL_COUNT_MAX)
        sma_buf_printf(out, "and %zu calls more\n", decoded->call_count - BLOCK_CALL_COUNT_MAX);
}

void model_block_response(struct sma_model *model, const struct sma_msg *question,
                          const struct model_outcome *outcome)
{
    struct model_blocks *blocks = model->blocks;
    const struct sma_model_ask *ask = sma_msg_body((struct sma_msg *)question, sizeof *ask);
    struct sma_buf *out = &blocks->block;
    if (outcome->block_id == 0)
        return;
    const char *word = model_outcome_word(outcome);
    uint64_t ms = (sma_ctx_now(model->ctx) - outcome->begin_ns) / 1000000u;
    sma_buf_printf(out,
                   "===== LLM RESPONSE BEGIN =====\noutcome: %s, attempts: %u, ms: %llu, input: "
                   "%llu, cached: %llu, output: %llu\n",
                   word, outcome->attempt_count, (unsigned long long)ms,
                   (unsigned long long)outcome->usage.input,
                   (unsigned long long)outcome->usage.cached,
                   (unsigned long long)outcome->usage.output);
    if (outcome->decoded != NULL)
        put_answer(model, outcome->decoded);
    if (outcome->error.len > 0) {
        sma_buf_put_text(out, "error: ");
        put_cut(model, out, outcome->error, BLOCK_TEXT_BYTES_MAX);
        sma_buf_put_char(out, '\n');
    }
    put_foot(blocks, ask, outcome->block_id, "RESPONSE");
    sma_buf_printf(&blocks->details,
                   "{\"kind\":\"llm_response\",\"outcome\":\"%s\",\"attempts\":%u,\"ms\":%llu,"
                   "\"callsCount\":%zu",
                   word, outcome->attempt_count, (unsigned long long)ms,
                   outcome->decoded == NULL ? 0 : outcome->decoded->call_count);
    put_names(blocks, ask, outcome->block_id);
    send_block(model);
}
