/*
 * Frames of Feishu's long connection. Promises under test, besides not crashing: what decodes
 * encodes, decodes again to the same and encodes to the same bytes; its answer is a frame;
 * fragments never hand out what was not put in.
 */
#include "fuzz.h"

#include "adapters/feishu/feishu_fragments.h"
#include "adapters/feishu/feishu_frame.h"

#include <stdlib.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_echo(const struct feishu_frame *frame)
{
    struct sma_buf first, second;
    struct feishu_frame again;
    sma_buf_init(&first, 2 * FEISHU_FRAME_BYTES_MAX);
    sma_buf_init(&second, 2 * FEISHU_FRAME_BYTES_MAX);
    require(feishu_frame_encode(frame, &first) == SMA_ERR_OK);
    require(feishu_frame_decode(sma_buf_str(&first), &again) == SMA_ERR_OK);
    require(again.seq_id == frame->seq_id && again.log_id == frame->log_id &&
            again.service == frame->service && again.method == frame->method &&
            again.header_count == frame->header_count);
    require(sma_str_is_equal(again.payload, frame->payload));
    require(feishu_frame_encode(&again, &second) == SMA_ERR_OK);
    require(sma_str_is_equal(sma_buf_str(&first), sma_buf_str(&second)));
    feishu_frame_fini(&again);
    sma_buf_clear(&first);
    sma_buf_clear(&second);
    require(feishu_frame_put_stub(frame, &first) == SMA_ERR_OK);
    require(feishu_frame_put_ack(sma_buf_str(&first), &(struct feishu_ack){.handled_ms = 1},
                                 &second) == SMA_ERR_OK);
    enum sma_err err = feishu_frame_decode(sma_buf_str(&second), &again);
    require(err == SMA_ERR_OK || err == SMA_ERR_TOOBIG); /* one header more than the limit */
    if (err == SMA_ERR_OK) {
        require(sma_str_is_equal(again.payload, SMA_STR("{\"code\":200}")));
        feishu_frame_fini(&again);
    }
    sma_buf_fini(&first);
    sma_buf_fini(&second);
}

static void check_fragments(const struct feishu_frame *frame)
{
    struct feishu_fragments *fragments = feishu_fragments_create();
    require(fragments != NULL);
    struct sma_str whole = {NULL, 0};
    enum feishu_fragment first = feishu_fragments_take(fragments, frame, 1, &whole);
    require(first != FEISHU_FRAGMENT_REPEAT && first != FEISHU_FRAGMENT_NOMEM);
    if (first == FEISHU_FRAGMENT_WHOLE)
        require(sma_str_is_equal(whole, frame->payload));
    if (first == FEISHU_FRAGMENT_HELD)
        require(feishu_fragments_take(fragments, frame, 2, &whole) == FEISHU_FRAGMENT_REPEAT);
    feishu_fragments_destroy(fragments);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct feishu_frame frame;
    if (feishu_frame_decode((struct sma_str){(const char *)bytes, len}, &frame) != SMA_ERR_OK)
        return 0;
    (void)feishu_frame_type(&frame);
    check_echo(&frame);
    check_fragments(&frame);
    feishu_frame_fini(&frame);
    return 0;
}
