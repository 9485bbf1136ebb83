/* qq_frame.c — see qq_frame.h. */
#include "qq_frame.h"

#include "runtime/json/json_arena.h"

enum sma_err qq_frame_parse(struct sma_str bytes, struct qq_frame *ret_frame)
{
    if (bytes.len > QQ_FRAME_BYTES_MAX)
        return SMA_ERR_TOOBIG;
    json_t *root;
    SMA_TRY(sma_json_load_brief(bytes, true, &root));
    int64_t op = sma_json_int(root, "op", 0, 1000, -1);
    if (op < 0) {
        json_decref(root);
        return SMA_ERR_BADINPUT;
    }
    *ret_frame = (struct qq_frame){.op = (int)op,
                                   .seq = sma_json_int(root, "s", 0, INT64_MAX, QQ_SEQ_NONE),
                                   .type = sma_json_str(root, "t"),
                                   .id = sma_json_str(root, "id"),
                                   .data = sma_json_get(root, "d"),
                                   .root = root};
    return SMA_ERR_OK;
}

void qq_frame_fini(struct qq_frame *frame)
{
    json_decref(frame->root);
    *frame = (struct qq_frame){.op = -1};
}

void qq_put_heartbeat(struct sma_buf *buf, int64_t seq)
{
    sma_buf_put_text(buf, "{\"op\":1,\"d\":");
    if (seq == QQ_SEQ_NONE)
        sma_buf_put_text(buf, "null");
    else
        sma_buf_put_i64(buf, seq);
    sma_buf_put_char(buf, '}');
}

static void put_token(struct sma_buf *buf, struct sma_str token)
{
    sma_buf_put_text(buf, "\"token\":\"QQBot ");
    sma_buf_put_json_escaped(buf, token);
    sma_buf_put_char(buf, '"');
}

void qq_put_identify(struct sma_buf *buf, struct sma_str token, uint32_t intents, unsigned shard,
                     unsigned shard_count)
{
    sma_buf_put_text(buf, "{\"op\":2,\"d\":{");
    put_token(buf, token);
    sma_buf_printf(buf,
                   ",\"intents\":%u,\"shard\":[%u,%u],\"properties\":{\"$os\":\"linux\","
                   "\"$browser\":\"shipmyagent\",\"$device\":\"shipmyagent\"}}}",
                   intents, shard, shard_count);
}

void qq_put_resume(struct sma_buf *buf, struct sma_str token, struct sma_str session_id,
                   int64_t seq)
{
    sma_buf_put_text(buf, "{\"op\":6,\"d\":{");
    put_token(buf, token);
    sma_buf_put_text(buf, ",\"session_id\":");
    sma_buf_put_json_string(buf, session_id);
    sma_buf_put_text(buf, ",\"seq\":");
    sma_buf_put_i64(buf, seq < 0 ? 0 : seq);
    sma_buf_put_text(buf, "}}");
}
