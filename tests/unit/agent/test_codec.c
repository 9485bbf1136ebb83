/* Aim: what is written is read back; damaged bytes of every kind are CORRUPT and never read past
 * their end. */
#include "runtime/agent/codec.h"
#include "support/check.h"

#define KNOWN_RESULTS_BYTES 15 /* of make_answer */
#define EGRESS_BYTES 13
#define RECEIVERS_BYTES (4 + 5 + 9 * 4 + 4)

static void make_answer(struct sma_buf *buf)
{
    struct sma_model_call calls[] = {
        {.id = SMA_STR("id-1"),
         .name = SMA_STR("chat_send"),
         .arguments = SMA_STR("{\"text\":\"x\"}")},
        {.name = SMA_STR("chat_send"),
         .arguments = SMA_STR("nonsense"),
         .is_invalid = true,
         .is_cut = true,
         .problem = SMA_STR("at 1")},
    };
    struct sma_model_answer answer = {.finish = SMA_FINISH_TOOLS,
                                      .text = SMA_STR("so"),
                                      .call_count = 2,
                                      .calls = calls,
                                      .fragment = SMA_STR("{\"role\":\"assistant\"}")};
    sma_buf_init(buf, 1 << 16);
    struct sma_answer_extra extra = {
        .facts = SMA_STR("facts\0!"), .key = SMA_STR("key"), .line = SMA_STR("line")};
    sma_codec_put_answer(buf, &extra, &answer);
    struct sma_stored_call known[2] = {
        {.has_result = false}, {.has_result = true, .is_error = true, .result = SMA_STR("no")}};
    known[0].has_receiver = true;
    known[0].receiver = (struct sma_route){.adapter = 9,
                                           .channel = SMA_STR("qq"),
                                           .chat_key = SMA_STR("k"),
                                           .user_name = SMA_STR("N")};
    sma_codec_put_known_results(buf, known, 2);
    sma_codec_put_receivers(buf, known, 2);
    sma_codec_put_answer_added(buf, NULL, 0);
    sma_codec_put_answer_egress(buf, &(struct sma_egress){true, 71, 72, 73});
    CHECK_INT(SMA_ERR_OK, buf->err);
}

CASE(answers_come_back)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    make_answer(&buf);
    struct sma_stored_answer answer;
    CHECK_OK(sma_codec_get_answer(sma_buf_str(&buf), &answer));
    CHECK(sma_str_is_equal(SMA_STR("facts\0!"), answer.facts));
    CHECK_STR("so", answer.text);
    CHECK_STR("{\"role\":\"assistant\"}", answer.fragment);
    CHECK_INT(SMA_FINISH_TOOLS, answer.finish);
    CHECK_INT(2, answer.call_count);
    CHECK_STR("id-1", answer.calls[0].id);
    CHECK_STR("{\"text\":\"x\"}", answer.calls[0].arguments);
    CHECK(!answer.calls[0].has_result && !answer.calls[0].is_invalid);
    CHECK(answer.calls[1].has_result && answer.calls[1].is_error && answer.calls[1].is_invalid);
    CHECK_STR("no", answer.calls[1].result);
    CHECK_STR("key", answer.key);
    CHECK_STR("line", answer.line);
    CHECK(answer.calls[1].is_cut && !answer.calls[0].is_cut);
    CHECK_STR("at 1", answer.calls[1].problem);
    CHECK(answer.calls[0].has_receiver && !answer.calls[1].has_receiver);
    CHECK_INT(9, answer.calls[0].receiver.adapter);
    CHECK_STR("qq", answer.calls[0].receiver.channel);
    CHECK_STR("k", answer.calls[0].receiver.chat_key);
    CHECK_STR("N", answer.calls[0].receiver.user_name);
    CHECK_STR("", answer.calls[0].receiver.language);
    CHECK(answer.egress.has_read && answer.egress.bytes == 71 && answer.egress.day == 73);
    sma_stored_answer_fini(&answer);
}

/* Steps that an older version of the program has stored. */
CASE(answers_of_version_1_are_read)
{
    static const char data[] = "SMAA\1\2\0\0\0fa\1\0\0\0F\1\0\0\0T\1\1\0\0\0"
                               "\1\0\0\0i\1\0\0\0n\2\0\0\0{}\0\0\0\0";
    SMA_AUTO(sma_stored_answer_fini) struct sma_stored_answer answer;
    CHECK_OK(sma_codec_get_answer((struct sma_str){data, sizeof data}, &answer));
    CHECK_STR("fa", answer.facts);
    CHECK_STR("F", answer.fragment);
    CHECK_STR("", answer.key);
    CHECK_STR("", answer.line);
    CHECK_INT(1, answer.call_count);
    CHECK_STR("i", answer.calls[0].id);
    CHECK_STR("{}", answer.calls[0].arguments);
    CHECK(!answer.calls[0].is_cut && !answer.calls[0].is_invalid);
}

static void make_turn(struct sma_buf *buf)
{
    struct sma_str ids[] = {SMA_STR("m1"), SMA_STR("")},
                   blocks[] = {SMA_STR("facts"), SMA_STR("text")};
    struct sma_str fragments[] = {SMA_STR("{1}"), SMA_STR("{2},{3}")};
    struct sma_stored_turn turn = {.message_count = 3,
                                   .id_count = 2,
                                   .ids = ids,
                                   .block_count = 2,
                                   .blocks = blocks,
                                   .fragment_count = 2,
                                   .fragments = fragments,
                                   .text = SMA_STR("answer"),
                                   .egress = {true, 61, 62, 63},
                                   .own_block = 2};
    sma_buf_init(buf, 1 << 16);
    sma_codec_put_turn(buf, &turn);
}

CASE(turns_come_back)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    make_turn(&buf);
    struct sma_stored_turn turn;
    CHECK_OK(sma_codec_get_turn(sma_buf_str(&buf), &turn));
    CHECK_INT(3, turn.message_count);
    CHECK_INT(2, turn.id_count);
    CHECK_STR("m1", turn.ids[0]);
    CHECK_STR("", turn.ids[1]);
    CHECK_STR("text", turn.blocks[1]);
    CHECK_STR("{2},{3}", turn.fragments[1]);
    CHECK_STR("answer", turn.text);
    CHECK(turn.egress.has_read && turn.egress.bytes == 61 && turn.egress.listed_bytes == 62 &&
          turn.egress.day == 63 && turn.own_block == 2);
    sma_stored_turn_fini(&turn);
}

/* What an older program stored: whether anything had been read nobody knows, so it had. */
CASE(turns_of_version_2_are_read)
{
    static const char data[] = "SMAT\2\0\2\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0b\1\0\0\0t"
                               "\1\0\0\0\2\0\0\0{}";
    struct sma_stored_turn turn;
    CHECK_OK(sma_codec_get_turn((struct sma_str){data, sizeof data - 1}, &turn));
    CHECK_STR("b", turn.blocks[0]);
    CHECK_STR("{}", turn.fragments[0]);
    CHECK(turn.egress.has_read && turn.egress.bytes == 0 && turn.own_block == 0);
    sma_stored_turn_fini(&turn);
}

static void make_results(struct sma_buf *buf)
{
    struct sma_stored_result results[] = {
        {.call_id = SMA_STR("a"), .name = SMA_STR("b"), .content = SMA_STR("c"), .is_error = true},
        {.call_id = SMA_STR(""),
         .name = SMA_STR(""),
         .content = SMA_STR("dd"),
         .is_delivered = true}};
    sma_buf_init(buf, 1 << 16);
    sma_codec_put_results(buf, results, 2);
}

CASE(results_come_back)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    make_results(&buf);
    struct sma_stored_results list;
    CHECK_OK(sma_codec_get_results(sma_buf_str(&buf), &list));
    CHECK_INT(2, list.count);
    CHECK_STR("c", list.results[0].content);
    CHECK(list.results[0].is_error && !list.results[0].is_delivered);
    CHECK(!list.results[1].is_error && list.results[1].is_delivered);
    sma_stored_results_fini(&list);
}

static const struct sma_part picture = {.kind = SMA_PART_IMAGE,
                                        .path = SMA_STR(".ship/downloads/a.jpg"),
                                        .name = SMA_STR("a.jpg"),
                                        .mime = SMA_STR("image/jpeg"),
                                        .hash = SMA_STR("0123"),
                                        .length = UINT64_C(0x123456789a),
                                        .width = 640,
                                        .height = 480,
                                        .note = SMA_STR("said")};

static void check_picture(const struct sma_part *part)
{
    CHECK_INT(SMA_PART_IMAGE, part->kind);
    CHECK_STR(".ship/downloads/a.jpg", part->path);
    CHECK_STR("a.jpg", part->name);
    CHECK_STR("image/jpeg", part->mime);
    CHECK_STR("0123", part->hash);
    CHECK(part->length == UINT64_C(0x123456789a));
    CHECK_INT(640, part->width);
    CHECK_INT(480, part->height);
    CHECK_STR("said", part->note);
}

/* With a part: what is written is read; without one not a byte is other than before. */
CASE(parts_come_back)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    struct sma_stored_answer answer;
    struct sma_stored_results results;
    struct sma_stored_turn turn;
    struct sma_part parts[] = {picture, picture};
    struct sma_model_answer said = {.fragment = SMA_STR("F"), .text = SMA_STR("T")};
    sma_buf_init(&buf, 1 << 16);
    sma_codec_put_answer(&buf, &(struct sma_answer_extra){.part_count = 2, .parts = parts}, &said);
    CHECK_INT(3, buf.ptr[4]);
    CHECK_OK(sma_codec_get_answer(sma_buf_str(&buf), &answer));
    CHECK_INT(2, answer.part_count);
    check_picture(&answer.parts[1]);
    sma_stored_answer_fini(&answer);

    struct sma_stored_result list[] = {{.content = SMA_STR("none")},
                                       {.part_count = 2, .parts = parts}};
    sma_buf_clear(&buf);
    sma_codec_put_results(&buf, list, 2);
    CHECK_INT(2, buf.ptr[4]);
    CHECK_OK(sma_codec_get_results(sma_buf_str(&buf), &results));
    CHECK_INT(0, results.results[0].part_count);
    CHECK_INT(2, results.results[1].part_count);
    check_picture(&results.results[1].parts[1]);
    sma_stored_results_fini(&results);

    struct sma_str fragment = SMA_STR("{1}"), refused = SMA_STR("4567");
    struct sma_stored_part placed[] = {{.part = picture, .block = 7}};
    struct sma_stored_turn made = {.message_count = 1,
                                   .fragment_count = 1,
                                   .fragments = &fragment,
                                   .part_count = 1,
                                   .parts = placed,
                                   .refused_count = 1,
                                   .refused = &refused};
    sma_buf_clear(&buf);
    sma_codec_put_turn(&buf, &made);
    CHECK_INT(4, buf.ptr[4]);
    CHECK_OK(sma_codec_get_turn(sma_buf_str(&buf), &turn));
    check_picture(&turn.parts[0].part);
    CHECK_INT(7, turn.parts[0].block);
    CHECK_STR("4567", turn.refused[0]);
    CHECK_STR("{1}", turn.fragments[0]);
    sma_stored_turn_fini(&turn);
}

CASE(without_parts_not_a_byte_is_new)
{
    static const char turn[34 + 25] = /* no parts, no hashes, nothing has left */
        "SMAT\4\0\1\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0a\1\0\0\0\3\0\0\0{1}";
    static const char results[] = "SMAR\1\1\0\0\0\1\0\0\0a\1\0\0\0b\1\0\0\0c\0\1";
    static const char answer[] = "SMAA\2\0\0\0\0\1\0\0\0F\1\0\0\0T\0\0\0\0\0\0\0\0\0\0\0\0\0";
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    struct sma_str fragment = SMA_STR("{1}");
    sma_buf_init(&buf, 1 << 16);
    sma_codec_put_turn(&buf, &(struct sma_stored_turn){.message_count = 1,
                                                       .fragment_count = 1,
                                                       .fragments = &fragment,
                                                       .text = SMA_STR("a")});
    CHECK(sma_str_is_equal((struct sma_str){turn, sizeof turn}, sma_buf_str(&buf)));
    sma_buf_clear(&buf);
    sma_codec_put_results(&buf,
                          &(struct sma_stored_result){.call_id = SMA_STR("a"),
                                                      .name = SMA_STR("b"),
                                                      .content = SMA_STR("c"),
                                                      .is_delivered = true},
                          1);
    CHECK(sma_str_is_equal((struct sma_str){results, sizeof results - 1}, sma_buf_str(&buf)));
    sma_buf_clear(&buf);
    sma_codec_put_answer(
        &buf, &(struct sma_answer_extra){0},
        &(struct sma_model_answer){.fragment = SMA_STR("F"), .text = SMA_STR("T")});
    CHECK(sma_str_is_equal((struct sma_str){answer, sizeof answer - 1}, sma_buf_str(&buf)));
}

static void make_decisions(struct sma_buf *buf)
{
    struct sma_stored_decision list[] = {{.call = 7,
                                          .is_approved = true,
                                          .is_by_owner = true,
                                          .digest = {1, 2},
                                          .response = SMA_STR("go")},
                                         {.call = 2, .digest = {[31] = 9}}};
    sma_buf_init(buf, 1 << 16);
    sma_codec_put_decisions(buf, list, 2);
}

CASE(decisions_come_back)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    make_decisions(&buf);
    struct sma_stored_decisions decisions;
    CHECK_OK(sma_codec_get_decisions(sma_buf_str(&buf), &decisions));
    CHECK_INT(2, decisions.count);
    CHECK_INT(7, decisions.list[0].call);
    CHECK(decisions.list[0].is_approved && !decisions.list[1].is_approved);
    CHECK(decisions.list[0].is_by_owner && !decisions.list[1].is_by_owner);
    CHECK_INT(2, decisions.list[0].digest[1]);
    CHECK_STR("go", decisions.list[0].response);
    CHECK_INT(2, decisions.list[1].call);
    CHECK_INT(9, decisions.list[1].digest[31]);
    CHECK_STR("", decisions.list[1].response);
    sma_stored_decisions_fini(&decisions);
    buf.ptr[13] = 3; /* neither yes nor no: consent is not guessed */
    CHECK_ERR(SMA_ERR_CORRUPT, sma_codec_get_decisions(sma_buf_str(&buf), &decisions));
    sma_buf_clear(&buf);
    sma_codec_put_decisions(&buf, NULL, 0);
    CHECK_OK(sma_codec_get_decisions(sma_buf_str(&buf), &decisions));
    CHECK_INT(0, decisions.count);
    sma_stored_decisions_fini(&decisions);
}

static enum sma_err read_any(int kind, struct sma_str data)
{
    struct sma_stored_answer answer;
    struct sma_stored_results results;
    struct sma_stored_turn turn;
    struct sma_stored_decisions decisions;
    enum sma_err err;
    if (kind == 0) {
        if ((err = sma_codec_get_answer(data, &answer)) == SMA_ERR_OK)
            sma_stored_answer_fini(&answer);
    } else if (kind == 1) {
        if ((err = sma_codec_get_results(data, &results)) == SMA_ERR_OK)
            sma_stored_results_fini(&results);
    } else if (kind == 2) {
        if ((err = sma_codec_get_decisions(data, &decisions)) == SMA_ERR_OK)
            sma_stored_decisions_fini(&decisions);
    } else {
        if ((err = sma_codec_get_turn(data, &turn)) == SMA_ERR_OK)
            sma_stored_turn_fini(&turn);
    }
    return err;
}

/* Every prefix and every changed byte, in an allocation of exactly that size, so that a read past
 * the end is seen. */
CASE(damage_is_found_and_harmless)
{
    struct sma_buf bufs[4];
    make_answer(&bufs[0]);
    make_results(&bufs[1]);
    make_decisions(&bufs[2]);
    make_turn(&bufs[3]);
    for (int kind = 0; kind < 4; kind++) {
        struct sma_str whole = sma_buf_str(&bufs[kind]);
        CHECK_OK(read_any(kind, whole));
        CHECK_ERR(SMA_ERR_CORRUPT, read_any((kind + 1) % 4, whole)); /* another kind */
        for (size_t len = 0; len < whole.len; len++) {
            char *exact = malloc(len + (len == 0));
            CHECK(exact != NULL);
            memcpy(exact, whole.ptr, len);
            enum sma_err err = read_any(kind, (struct sma_str){exact, len});
            /* An answer without its last lists is whole too: an older program wrote none. */
            size_t left = whole.len - len;
            bool is_whole =
                kind == 0 && (left == EGRESS_BYTES || left == EGRESS_BYTES + 4 ||
                              left == EGRESS_BYTES + 4 + RECEIVERS_BYTES ||
                              left == EGRESS_BYTES + 4 + RECEIVERS_BYTES + KNOWN_RESULTS_BYTES);
            CHECK(err == SMA_ERR_CORRUPT || is_whole);
            free(exact);
        }
        for (size_t at = 0; at < whole.len; at++) {
            for (int bit = 0; bit < 8; bit++) {
                char *copy = malloc(whole.len);
                CHECK(copy != NULL);
                memcpy(copy, whole.ptr, whole.len);
                copy[at] = (char)(copy[at] ^ (1 << bit));
                enum sma_err err = read_any(kind, (struct sma_str){copy, whole.len});
                CHECK(err == SMA_ERR_OK || err == SMA_ERR_CORRUPT);
                CHECK(at >= 5 || err == SMA_ERR_CORRUPT);
                free(copy);
            }
        }
        sma_buf_fini(&bufs[kind]);
    }
}

CASES_MAIN
