/*
 * What people and platforms send to a chat that waits for a decision. The first byte chooses: '0' a
 * message as an answer, '1' the model's judgement, '2' a request, '3' a card, '4' the data of a
 * button, '5' a text put into a card. Promises under test, besides not crashing: only items that
 * exist are decided, each one way; what is not decided leaves no trace; what was read can be
 * written and read again alike; made-up button data is never taken for ours.
 */
#include "fuzz.h"

#include "runtime/approval/answer.h"
#include "runtime/approval/card.h"
#include "sma/messages.h"
#include "sma/text.h"

#include <stdlib.h>

static const uint8_t key[SMA_CARD_KEY_BYTES] = {7};

static void require(bool condition)
{
    if (!condition)
        abort();
}

static struct sma_request request_of(uint32_t item_count)
{
    struct sma_request request = {.item_count = item_count};
    for (uint32_t i = 0; i < item_count; i++)
        request.items[i] = (struct sma_request_item){
            .type = SMA_STR("exec_shell"),
            .tool = SMA_STR("exec_shell"),
            .title = i == 0 ? SMA_STR("git status") : SMA_STR("ls"),
            .input_json = SMA_STR("{}"),
            .details_json =
                i == 0 ? SMA_STR("{\"command\":\"git status\"}") : SMA_STR("{\"command\":\"ls\"}"),
            .grant_rule = SMA_STR("git status")};
    return request;
}

static void check_answer(const struct sma_answer *answer, uint32_t item_count)
{
    uint64_t all = (UINT64_C(1) << item_count) - 1;
    uint64_t decided = answer->approved_mask | answer->refused_mask;
    require((answer->approved_mask & answer->refused_mask) == 0 && (decided & ~all) == 0);
    require((answer->kind == SMA_ANSWER_DECIDES) == (decided != 0));
    require(answer->grant_s == SMA_GRANT_NONE || answer->approved_mask != 0);
    require(answer->grant_s >= SMA_GRANT_ALWAYS && answer->grant_s <= 30 * INT64_C(86400));
    require(answer->kind == SMA_ANSWER_DECIDES || answer->response.len == 0);
}

static void check_slice(struct sma_str slice, struct sma_str text)
{
    require(slice.len == 0 ||
            (slice.ptr >= text.ptr && slice.ptr + slice.len <= text.ptr + text.len));
}

static void read_answer(struct sma_str text)
{
    for (uint32_t count = 1; count <= 4; count++) {
        struct sma_request request = request_of(count);
        struct sma_answer answer;
        sma_answer_read(text, &request, &answer);
        check_answer(&answer, count);
        check_slice(answer.response, text);
        check_slice(answer.grant_rule, text);
        require(answer.kind != SMA_ANSWER_DECIDES || sma_utf8_is_valid(text));
    }
}

static void read_judgement(struct sma_str text)
{
    struct sma_request request = request_of(3);
    struct sma_answer answer;
    struct sma_buf reason;
    sma_buf_init(&reason, 100000);
    if (sma_answer_read_judgement(text, &request, &answer, &reason) == SMA_ERR_OK)
        check_answer(&answer, 3);
    sma_buf_fini(&reason);
}

static void put_request(struct sma_buf *buf, const struct sma_request *request)
{
    sma_buf_init(buf, 64u * 1024 * 1024);
    sma_buf_put_text(buf, "{\"items\":[");
    for (uint32_t i = 0; i < request->item_count; i++) {
        sma_buf_put_text(buf, i == 0 ? "" : ",");
        sma_request_put_item(buf, &request->items[i]);
    }
    sma_buf_put_text(buf, "]}");
    require(buf->err == SMA_ERR_OK);
}

static void check_cards(const struct sma_request *request)
{
    enum sma_request_outcome outcomes[SMA_TOOL_CALL_COUNT_MAX] = {SMA_REQUEST_APPROVED};
    for (int is_outcome = 0; is_outcome < 2; is_outcome++) {
        struct sma_card_facts facts = {.key = key,
                                       .request = request,
                                       .asker = request->items[0].title,
                                       .language = SMA_LANGUAGE_ZH,
                                       .expire_s = 60,
                                       .may_chat_decide = true};
        struct sma_card card;
        struct sma_buf buf;
        sma_buf_init(&buf, 8u * 1024 * 1024);
        if (is_outcome == 1)
            sma_card_put_outcome(&buf, &facts, outcomes, request->items[0].rule, SMA_STR("m"));
        else
            sma_card_put_request(&buf, &facts);
        require(buf.err == SMA_ERR_OK);
        require(sma_card_parse(sma_buf_str(&buf), &card) == SMA_ERR_OK);
        require(sma_utf8_is_valid(card.text) && sma_utf8_is_valid(card.plain));
        require((card.button_count > 0) == (is_outcome == 0));
        sma_card_fini(&card);
        sma_buf_fini(&buf);
    }
}

static void read_request(struct sma_str json)
{
    struct sma_request request, again;
    if (sma_request_parse(json, &request) != SMA_ERR_OK)
        return;
    require(request.item_count > 0 && request.item_count <= SMA_TOOL_CALL_COUNT_MAX);
    struct sma_buf first, second;
    put_request(&first, &request);
    require(sma_request_parse(sma_buf_str(&first), &again) == SMA_ERR_OK);
    put_request(&second, &again);
    require(sma_str_is_equal(sma_buf_str(&first), sma_buf_str(&second)));
    check_cards(&again);
    sma_buf_fini(&first);
    sma_buf_fini(&second);
    sma_request_fini(&again);
    sma_request_fini(&request);
}

static void read_card(struct sma_str json)
{
    struct sma_card card, again;
    struct sma_buf buf;
    if (sma_card_parse(json, &card) != SMA_ERR_OK)
        return;
    sma_buf_init(&buf, 64u * 1024 * 1024);
    sma_card_put(&buf, &card);
    require(buf.err == SMA_ERR_OK);
    require(sma_card_parse(sma_buf_str(&buf), &again) == SMA_ERR_OK);
    require(again.button_count == card.button_count && sma_str_is_equal(again.text, card.text));
    sma_card_fini(&again);
    sma_card_fini(&card);
    sma_buf_fini(&buf);
}

static void show_text(struct sma_str text)
{
    struct sma_request request = request_of(2);
    request.items[0].title = request.items[0].rule = request.items[0].diff = text;
    request.items[0].type = SMA_STR("write_repo");
    request.items[0].details_json = text;
    check_cards(&request);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct sma_card_press press;
    if (len == 0)
        return 0;
    struct sma_str rest = {(const char *)bytes + 1, len - 1};
    if (bytes[0] == '0')
        read_answer(rest);
    else if (bytes[0] == '1')
        read_judgement(rest);
    else if (bytes[0] == '2')
        read_request(rest);
    else if (bytes[0] == '3')
        read_card(rest);
    else if (bytes[0] == '4')
        require(sma_card_verify(key, rest, &press) != SMA_ERR_OK);
    else if (bytes[0] == '5')
        show_text(rest);
    return 0;
}
