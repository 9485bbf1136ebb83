/*
 * Aim: every recorded frame decodes to the stated fields and encodes to the same bytes; answers are
 * the recorded ones; nothing a stranger sends does harm. Method: the vectors, then frames made by
 * hand at each limit.
 */
#include "adapters/feishu/feishu_frame.h"
#include "adapters/feishu/feishu_login.h"

#include <openssl/evp.h>

#include "vectors.h"

static json_t *vectors;

static void check_optional(const json_t *fields, const char *key, struct sma_str actual)
{
    const json_t *value = json_object_get(fields, key);
    if (json_is_null(value)) {
        CHECK(actual.ptr == NULL);
        return;
    }
    CHECK(actual.ptr != NULL);
    CHECK_STR(json_string_value(value), actual);
}

static void check_fields(const json_t *fields, const struct feishu_frame *frame)
{
    char number[24];
    snprintf(number, sizeof number, "%" PRIu64, frame->seq_id);
    CHECK_TEXT(json_string_value(json_object_get(fields, "SeqID")), number);
    snprintf(number, sizeof number, "%" PRIu64, frame->log_id);
    CHECK_TEXT(json_string_value(json_object_get(fields, "LogID")), number);
    CHECK_INT(json_integer_value(json_object_get(fields, "service")), frame->service);
    CHECK_INT(json_integer_value(json_object_get(fields, "method")), frame->method);
    const json_t *headers = json_object_get(fields, "headers");
    CHECK_INT(json_array_size(headers), frame->header_count);
    for (size_t i = 0; i < frame->header_count; i++) {
        const json_t *pair = json_array_get(headers, i);
        CHECK_STR(json_string_value(json_array_get(pair, 0)), frame->headers[i].key);
        CHECK_STR(json_string_value(json_array_get(pair, 1)), frame->headers[i].value);
    }
    check_optional(fields, "payload_encoding", frame->payload_encoding);
    check_optional(fields, "payload_type", frame->payload_type);
    check_optional(fields, "LogIDNew", frame->log_id_new);
    const json_t *hex = json_object_get(fields, "payload_hex");
    if (hex == NULL) {
        check_optional(fields, "payload_utf8", frame->payload);
        return;
    }
    struct sma_str payload =
        from_hex((struct sma_str){json_string_value(hex), json_string_length(hex)});
    CHECK(sma_str_is_equal(payload, frame->payload));
    free_str(payload);
}

static void every_vector_decodes_and_encodes_to_the_same_bytes(void)
{
    const json_t *list = json_object_get(vectors, "vectors");
    CHECK(json_array_size(list) >= 17);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        struct sma_str bytes = from_hex(text_of(item, "hex"));
        CHECK_INT(json_integer_value(json_object_get(item, "length")), bytes.len);
        struct feishu_frame frame;
        CHECK_OK(feishu_frame_decode(bytes, &frame));
        check_fields(json_object_get(item, "frame"), &frame);
        struct sma_buf again;
        sma_buf_init(&again, bytes.len); /* exactly: one byte more would fail */
        CHECK_OK(feishu_frame_encode(&frame, &again));
        CHECK(sma_str_is_equal(bytes, sma_buf_str(&again)));
        sma_buf_fini(&again);
        feishu_frame_fini(&frame);
        free_str(bytes);
    }
}

static void session_frames_encode_to_the_same_bytes(void)
{
    json_t *session = load_vectors("feishu_ws_session.json");
    const char *key;
    json_t *steps;
    size_t count = 0;
    json_object_foreach(session, key, steps)
    {
        for (size_t i = 0; i < json_array_size(steps); i++) {
            const json_t *hex = json_object_get(json_array_get(steps, i), "hex");
            struct feishu_frame frame;
            if (!json_is_string(hex))
                continue;
            struct sma_str bytes =
                from_hex((struct sma_str){json_string_value(hex), json_string_length(hex)});
            if (feishu_frame_decode(bytes, &frame) == SMA_ERR_OK) { /* some are broken on purpose */
                struct sma_buf again;
                sma_buf_init(&again, bytes.len);
                CHECK_OK(feishu_frame_encode(&frame, &again));
                CHECK(sma_str_is_equal(bytes, sma_buf_str(&again)));
                sma_buf_fini(&again);
                feishu_frame_fini(&frame);
                count++;
            }
            free_str(bytes);
        }
    }
    CHECK(count >= 10);
    json_decref(session);
}

static void edge_cases_are_taken_as_the_platform_takes_them(void)
{
    const json_t *list = json_object_get(vectors, "decode_edge_cases");
    CHECK(json_array_size(list) >= 10);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        struct sma_str bytes = from_hex(text_of(item, "hex"));
        bool is_accepted = sma_str_is_equal(text_of(item, "node_sdk"), SMA_STR("accepted"));
        struct feishu_frame frame = {0};
        enum sma_err err = feishu_frame_decode(bytes, &frame);
        CHECK_INT(is_accepted ? SMA_ERR_OK : SMA_ERR_BADINPUT, err);
        if (sma_str_is_equal(text_of(item, "name"), SMA_STR("repeated_scalar_last_wins")))
            CHECK_INT(5, frame.seq_id);
        feishu_frame_fini(&frame);
        free_str(bytes);
    }
}

static void unknown_fields_survive_the_echo(void)
{
    /* Field 10 of the frame; field 3 of its header. */
    struct sma_str bytes = from_hex(SMA_STR("08001000180120012a0a0a016b1201761a0201025203616263"));
    struct feishu_frame frame;
    CHECK_OK(feishu_frame_decode(bytes, &frame));
    struct sma_buf again;
    sma_buf_init(&again, 4096);
    CHECK_OK(feishu_frame_encode(&frame, &again));
    CHECK(sma_str_is_equal(bytes, sma_buf_str(&again)));
    sma_buf_clear(&again);
    CHECK_OK(feishu_frame_put_ack(bytes, &(struct feishu_ack){.handled_ms = 1}, &again));
    CHECK(memmem(again.ptr, again.len,
                 "\x52\x03"
                 "abc",
                 5) != NULL);
    CHECK(memmem(again.ptr, again.len, "\x1a\x02\x01\x02", 4) != NULL);
    sma_buf_fini(&again);
    feishu_frame_fini(&frame);
    free_str(bytes);
}

static void zero_bytes_in_strings_survive_the_echo(void)
{
    struct sma_str bytes = from_hex(SMA_STR("08001000180120012a0a0a036b006b120376007632020061"));
    struct feishu_frame frame;
    CHECK_OK(feishu_frame_decode(bytes, &frame));
    CHECK_INT(3, frame.headers[0].key.len);
    CHECK_INT(2, frame.payload_encoding.len);
    struct sma_buf again;
    sma_buf_init(&again, 4096);
    CHECK_OK(feishu_frame_encode(&frame, &again));
    CHECK(sma_str_is_equal(bytes, sma_buf_str(&again)));
    sma_buf_fini(&again);
    feishu_frame_fini(&frame);
    free_str(bytes);
}

static void pings_are_the_recorded_ones(void)
{
    static const struct
    {
        const char *name;
        int32_t service;
    } pings[] = {{"ping", 33554678}, {"ping_service_1", 1}, {"ping_service_0", 0}};
    for (size_t i = 0; i < SMA_COUNT_OF(pings); i++) {
        struct sma_str bytes =
            from_hex(text_of(named(json_object_get(vectors, "vectors"), pings[i].name), "hex"));
        struct sma_buf made;
        sma_buf_init(&made, 64);
        CHECK_OK(feishu_frame_put_ping(&made, pings[i].service));
        CHECK(sma_str_is_equal(bytes, sma_buf_str(&made)));
        sma_buf_fini(&made);
        free_str(bytes);
    }
}

/* The recorded answer to a recorded frame, made from that frame's stub. */
static void check_ack(const char *name, const char *ack_name, struct feishu_ack ack)
{
    const json_t *list = json_object_get(vectors, "vectors");
    struct sma_str bytes = from_hex(text_of(named(list, name), "hex"));
    struct sma_str wanted = from_hex(text_of(named(list, ack_name), "hex"));
    struct feishu_frame frame;
    CHECK_OK(feishu_frame_decode(bytes, &frame));
    struct sma_buf stub, made;
    sma_buf_init(&stub, 4096);
    sma_buf_init(&made, 4096);
    CHECK_OK(feishu_frame_put_stub(&frame, &stub));
    CHECK(stub.len < bytes.len - frame.payload.len);
    CHECK_OK(feishu_frame_put_ack(sma_buf_str(&stub), &ack, &made));
    CHECK(sma_str_is_equal(wanted, sma_buf_str(&made)));
    sma_buf_clear(&made);
    CHECK_OK(feishu_frame_put_ack(bytes, &ack, &made)); /* the whole frame does as well */
    CHECK(sma_str_is_equal(wanted, sma_buf_str(&made)));
    sma_buf_fini(&stub);
    sma_buf_fini(&made);
    feishu_frame_fini(&frame);
    free_str(bytes);
    free_str(wanted);
}

static void acks_are_the_recorded_ones(void)
{
    check_ack("event_single", "event_single_ack", (struct feishu_ack){.handled_ms = 12});
    check_ack("event_single", "event_single_ack_500",
              (struct feishu_ack){.handled_ms = 3, .is_failed = true});
    const json_t *fields =
        json_object_get(named(json_object_get(vectors, "vectors"), "card_action_ack"), "frame");
    json_t *payload =
        json_loads(json_string_value(json_object_get(fields, "payload_utf8")), 0, NULL);
    struct sma_str base64 = text_of(payload, "data");
    unsigned char result[1024];
    int len = EVP_DecodeBlock(result, (const unsigned char *)base64.ptr, (int)base64.len);
    while (len > 0 && result[len - 1] == '\0') /* of the padding */
        len--;
    check_ack("card_action", "card_action_ack",
              (struct feishu_ack){.handled_ms = 5, .result = {(const char *)result, (size_t)len}});
    json_decref(payload);
}

static void types_are_told_apart(void)
{
    static const struct
    {
        int32_t method;
        const char *type;
        enum feishu_frame_type wanted;
    } rows[] = {
        {0, "ping", FEISHU_FRAME_PING},   {0, "pong", FEISHU_FRAME_PONG},
        {1, "event", FEISHU_FRAME_EVENT}, {1, "card", FEISHU_FRAME_CARD},
        {0, "event", FEISHU_FRAME_OTHER}, {1, "pong", FEISHU_FRAME_OTHER},
        {2, "event", FEISHU_FRAME_OTHER}, {1, "", FEISHU_FRAME_OTHER},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct feishu_frame_header header = {.key = SMA_STR("type"),
                                             .value = sma_str(rows[i].type)};
        struct feishu_frame frame = {
            .method = rows[i].method, .headers = &header, .header_count = 1};
        CHECK_INT(rows[i].wanted, feishu_frame_type(&frame));
    }
    CHECK(feishu_frame_header(&(struct feishu_frame){0}, "type").ptr == NULL);
}

static void limits_hold(void)
{
    struct feishu_frame_header headers[FEISHU_FRAME_HEADER_COUNT_MAX + 1];
    for (size_t i = 0; i < SMA_COUNT_OF(headers); i++)
        headers[i] = (struct feishu_frame_header){.key = SMA_STR("k"), .value = SMA_STR("v")};
    struct sma_buf bytes;
    sma_buf_init(&bytes, FEISHU_FRAME_BYTES_MAX + 64);
    for (size_t extra = 0; extra < 3; extra++) {
        size_t count = FEISHU_FRAME_HEADER_COUNT_MAX - 1 + extra;
        struct feishu_frame made = {.headers = headers, .header_count = count}, read = {0};
        sma_buf_clear(&bytes);
        CHECK_OK(feishu_frame_encode(&made, &bytes));
        CHECK_ERR(extra < 2 ? SMA_ERR_OK : SMA_ERR_TOOBIG,
                  feishu_frame_decode(sma_buf_str(&bytes), &read));
        feishu_frame_fini(&read);
    }
    char *payload = calloc(1, FEISHU_FRAME_BYTES_MAX);
    CHECK(payload != NULL);
    for (size_t total = FEISHU_FRAME_BYTES_MAX - 1; total <= FEISHU_FRAME_BYTES_MAX + 1; total++) {
        struct feishu_frame made = {.payload = {payload, total - 13}}, read = {0};
        sma_buf_clear(&bytes);
        CHECK_OK(feishu_frame_encode(&made, &bytes));
        CHECK_INT(total, bytes.len);
        CHECK_ERR(total <= FEISHU_FRAME_BYTES_MAX ? SMA_ERR_OK : SMA_ERR_TOOBIG,
                  feishu_frame_decode(sma_buf_str(&bytes), &read));
        feishu_frame_fini(&read);
    }
    free(payload);
    sma_buf_fini(&bytes);
}

/* A megabyte of the smallest unknown fields must not become a hundred megabytes of memory. */
static void memory_of_a_decode_is_bounded(void)
{
    size_t len = 1024 * 1024;
    char *bytes = malloc(len);
    CHECK(bytes != NULL);
    for (size_t i = 0; i + 1 < len; i += 2)
        memcpy(bytes + i, "\x50\x00", 2);
    memcpy(bytes, "\x08\x00\x10\x00\x18\x00\x20\x00", 8);
    struct feishu_frame frame;
    CHECK_ERR(SMA_ERR_TOOBIG, feishu_frame_decode((struct sma_str){bytes, len}, &frame));
    free(bytes);
}

static void every_cut_of_a_frame_is_harmless(void)
{
    struct sma_str bytes =
        from_hex(text_of(named(json_object_get(vectors, "vectors"), "event_single"), "hex"));
    for (size_t len = 0; len < bytes.len; len++) {
        char *exact = malloc(len + 1);
        CHECK(exact != NULL);
        memcpy(exact, bytes.ptr, len);
        struct feishu_frame frame = {0};
        if (feishu_frame_decode((struct sma_str){exact, len}, &frame) == SMA_ERR_OK)
            feishu_frame_fini(&frame);
        free(exact);
    }
    free_str(bytes);
}

static void acks_need_a_frame(void)
{
    struct sma_buf made;
    sma_buf_init(&made, 4096);
    CHECK_ERR(SMA_ERR_BADINPUT,
              feishu_frame_put_ack(SMA_STR("nonsense"), &(struct feishu_ack){0}, &made));
    CHECK_INT(0, made.len);
    sma_buf_fini(&made);
}

int main(void)
{
    vectors = load_vectors("feishu_ws_frames.json");
    RUN(every_vector_decodes_and_encodes_to_the_same_bytes);
    RUN(session_frames_encode_to_the_same_bytes);
    RUN(edge_cases_are_taken_as_the_platform_takes_them);
    RUN(unknown_fields_survive_the_echo);
    RUN(zero_bytes_in_strings_survive_the_echo);
    RUN(pings_are_the_recorded_ones);
    RUN(acks_are_the_recorded_ones);
    RUN(types_are_told_apart);
    RUN(limits_hold);
    RUN(memory_of_a_decode_is_bounded);
    RUN(every_cut_of_a_frame_is_harmless);
    RUN(acks_need_a_frame);
    json_decref(vectors);
    return check_summary();
}
