/*
 * Steps and turns as the state database gives them back. The four readers all see every input.
 * Promises under test, besides not crashing: what is read, written and read again is the same.
 */
#include "fuzz.h"

#include "runtime/agent/codec.h"

#include <stdlib.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_answer(struct sma_str data)
{
    struct sma_stored_answer answer;
    if (sma_codec_get_answer(data, &answer) != SMA_ERR_OK)
        return;
    size_t bytes = answer.facts.len + answer.fragment.len + answer.text.len;
    for (uint32_t i = 0; i < answer.call_count; i++)
        bytes += answer.calls[i].id.len + answer.calls[i].name.len + answer.calls[i].arguments.len +
                 answer.calls[i].result.len + answer.calls[i].receiver.chat_key.len +
                 answer.calls[i].receiver.user_name.len;
    require(bytes <= data.len);
    sma_stored_answer_fini(&answer);
}

static void check_results(struct sma_str data)
{
    struct sma_stored_results results, again;
    if (sma_codec_get_results(data, &results) != SMA_ERR_OK)
        return;
    struct sma_buf buf;
    sma_buf_init(&buf, 1 << 24);
    sma_codec_put_results(&buf, results.results, results.count);
    require(buf.err == SMA_ERR_OK);
    require(sma_codec_get_results(sma_buf_str(&buf), &again) == SMA_ERR_OK);
    require(again.count == results.count);
    for (uint32_t i = 0; i < again.count; i++)
        require(sma_str_is_equal(again.results[i].content, results.results[i].content));
    sma_stored_results_fini(&again);
    sma_stored_results_fini(&results);
    sma_buf_fini(&buf);
}

static void check_decisions(struct sma_str data)
{
    struct sma_stored_decisions decisions, again;
    if (sma_codec_get_decisions(data, &decisions) != SMA_ERR_OK)
        return;
    struct sma_buf buf;
    sma_buf_init(&buf, 1 << 24);
    sma_codec_put_decisions(&buf, decisions.list, decisions.count);
    require(buf.err == SMA_ERR_OK);
    require(sma_str_is_equal(sma_buf_str(&buf), data)); /* no byte without a meaning */
    require(sma_codec_get_decisions(sma_buf_str(&buf), &again) == SMA_ERR_OK);
    require(again.count == decisions.count);
    for (uint32_t i = 0; i < again.count; i++)
        require(again.list[i].is_approved == decisions.list[i].is_approved);
    sma_stored_decisions_fini(&again);
    sma_stored_decisions_fini(&decisions);
    sma_buf_fini(&buf);
}

static void check_turn(struct sma_str data)
{
    struct sma_stored_turn turn, again;
    if (sma_codec_get_turn(data, &turn) != SMA_ERR_OK)
        return;
    struct sma_buf buf;
    sma_buf_init(&buf, 1 << 24);
    sma_codec_put_turn(&buf, &turn);
    require(buf.err == SMA_ERR_OK);
    require(sma_codec_get_turn(sma_buf_str(&buf), &again) == SMA_ERR_OK);
    require(again.id_count == turn.id_count && again.block_count == turn.block_count &&
            again.fragment_count == turn.fragment_count &&
            again.message_count == turn.message_count);
    require(sma_str_is_equal(again.text, turn.text));
    sma_stored_turn_fini(&again);
    sma_stored_turn_fini(&turn);
    sma_buf_fini(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct sma_str data = {(const char *)bytes, len};
    check_answer(data);
    check_results(data);
    check_decisions(data);
    check_turn(data);
    return 0;
}
