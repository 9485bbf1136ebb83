/* feishu_frame.c — see feishu_frame.h. */
#include "feishu_frame.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <feishu_frame.pb-c.h>
#include <openssl/evp.h>

#define DECODE_BYTES_FIXED 65536u      /* headers and small fields */
#define DECODE_BYTES_PER_BYTE 2u       /* the payload is copied once */
#define BLOCK_BYTES 2560u              /* a frame with its usual headers */
#define BLOCK_PAYLOAD_BYTES_MAX 16384u /* a payload up to this is in the block too */
#define FIELD_NUMBER_MAX 536870911u    /* 2^29 - 1 */
#define ACK_HEADER_COUNT_MAX (FEISHU_FRAME_HEADER_COUNT_MAX + 1)

/* protobuf-c makes three small allocations for each header: they come from one block, which the
 * frame keeps. */
struct block
{
    size_t used, room;
    max_align_t bytes[];
};

/* An allocator with a budget: what a hostile frame can make protobuf-c take is bounded by the
 * frame's own size. */
struct budget
{
    size_t left;
    bool is_over, is_out_of_memory;
    struct block *block;
};

static void *block_alloc(struct block *block, size_t size)
{
    size_t rounded = (size + 15u) & ~(size_t)15u;
    if (size == 0 || rounded < size || rounded > block->room - block->used)
        return NULL;
    void *memory = (char *)block->bytes + block->used;
    block->used += rounded;
    return memory;
}

static void *budget_alloc(void *user, size_t size)
{
    struct budget *budget = user;
    if (size > budget->left) {
        budget->is_over = true;
        return NULL;
    }
    void *memory = block_alloc(budget->block, size);
    if (memory == NULL)
        memory = malloc(size == 0 ? 1 : size);
    if (memory == NULL)
        budget->is_out_of_memory = true;
    else
        budget->left -= size;
    return memory;
}

static void block_free(const struct block *block, void *memory)
{
    uintptr_t at = (uintptr_t)memory, start = (uintptr_t)block->bytes;
    if (at < start || at >= start + block->room)
        free(memory);
}

static void budget_free(void *user, void *memory)
{
    /* nothing is given back: the budget is of one decode */
    block_free(((const struct budget *)user)->block, memory);
}

static void free_message(Pbbp2__Frame *message, struct block *block)
{
    struct budget budget = {.block = block};
    ProtobufCAllocator allocator = {
        .alloc = budget_alloc, .free = budget_free, .allocator_data = &budget};
    pbbp2__frame__free_unpacked(message, &allocator);
    free(block);
}

/* A present field always has a pointer, an absent one never. */
static struct sma_str present(const ProtobufCBinaryData *data)
{
    return (struct sma_str){data->data == NULL ? "" : (const char *)data->data, data->len};
}

static struct sma_str optional(protobuf_c_boolean is_there, const ProtobufCBinaryData *data)
{
    return is_there ? present(data) : (struct sma_str){NULL, 0};
}

static enum sma_err unpack(struct sma_str bytes, Pbbp2__Frame **ret_message,
                           struct block **ret_block)
{
    size_t room = BLOCK_BYTES + (bytes.len < BLOCK_PAYLOAD_BYTES_MAX ? bytes.len : 0);
    struct block *block = malloc(sizeof *block + room);
    if (block == NULL)
        return SMA_ERR_NOMEM;
    block->used = 0;
    block->room = room;
    struct budget budget = {.left = DECODE_BYTES_FIXED + bytes.len * DECODE_BYTES_PER_BYTE,
                            .block = block};
    ProtobufCAllocator allocator = {
        .alloc = budget_alloc, .free = budget_free, .allocator_data = &budget};
    Pbbp2__Frame *message = pbbp2__frame__unpack(
        &allocator, bytes.len, (const uint8_t *)(bytes.len == 0 ? "" : bytes.ptr));
    if (message != NULL) {
        *ret_message = message;
        *ret_block = block;
        return SMA_ERR_OK;
    }
    free(block);
    if (budget.is_out_of_memory)
        return SMA_ERR_NOMEM;
    return budget.is_over ? SMA_ERR_TOOBIG : SMA_ERR_BADINPUT;
}

/* Field numbers that protobuf does not have are let through by the decoder, but would come out of
 * it as other bytes. */
static bool is_numbered_well(const ProtobufCMessage *message)
{
    for (unsigned i = 0; i < message->n_unknown_fields; i++) {
        if (message->unknown_fields[i].tag == 0 ||
            message->unknown_fields[i].tag > FIELD_NUMBER_MAX)
            return false;
    }
    return true;
}

static bool is_whole_numbered_well(const Pbbp2__Frame *message)
{
    bool is_good = is_numbered_well(&message->base);
    for (size_t i = 0; i < message->n_headers && is_good; i++)
        is_good = is_numbered_well(&message->headers[i]->base);
    return is_good;
}

enum sma_err feishu_frame_decode(struct sma_str bytes, struct feishu_frame *ret_frame)
{
    if (bytes.len > FEISHU_FRAME_BYTES_MAX)
        return SMA_ERR_TOOBIG;
    Pbbp2__Frame *message = NULL;
    struct block *block = NULL;
    enum sma_err err = unpack(bytes, &message, &block);
    if (err != SMA_ERR_OK)
        return err;
    if (message->n_headers > FEISHU_FRAME_HEADER_COUNT_MAX || !is_whole_numbered_well(message)) {
        err =
            message->n_headers > FEISHU_FRAME_HEADER_COUNT_MAX ? SMA_ERR_TOOBIG : SMA_ERR_BADINPUT;
        free_message(message, block);
        return err;
    }
    size_t headers_size = (message->n_headers + 1) * sizeof(struct feishu_frame_header);
    struct feishu_frame_header *headers = block_alloc(block, headers_size);
    if (headers == NULL)
        headers = malloc(headers_size);
    if (headers == NULL) {
        free_message(message, block);
        return SMA_ERR_NOMEM;
    }
    for (size_t i = 0; i < message->n_headers; i++) {
        headers[i].key = present(&message->headers[i]->key);
        headers[i].value = present(&message->headers[i]->value);
        headers[i].unknown = message->headers[i];
    }
    *ret_frame = (struct feishu_frame){
        .seq_id = message->seqid,
        .log_id = message->logid,
        .service = message->service,
        .method = message->method,
        .headers = headers,
        .header_count = message->n_headers,
        .payload_encoding = optional(message->has_payload_encoding, &message->payload_encoding),
        .payload_type = optional(message->has_payload_type, &message->payload_type),
        .payload = optional(message->has_payload, &message->payload),
        .log_id_new = optional(message->has_logidnew, &message->logidnew),
        .message = message,
        .owned_headers = headers,
        .block = block,
    };
    return SMA_ERR_OK;
}

void feishu_frame_fini(struct feishu_frame *frame)
{
    if (frame->block != NULL) {
        block_free(frame->block, frame->owned_headers);
        free_message(frame->message, frame->block);
    }
    *frame = (struct feishu_frame){0};
}

struct sma_str feishu_frame_header(const struct feishu_frame *frame, const char *key)
{
    for (size_t i = 0; i < frame->header_count; i++) {
        if (sma_str_is_equal(frame->headers[i].key, sma_str(key)))
            return frame->headers[i].value;
    }
    return (struct sma_str){NULL, 0};
}

enum feishu_frame_type feishu_frame_type(const struct feishu_frame *frame)
{
    struct sma_str type = feishu_frame_header(frame, "type");
    if (frame->method == FEISHU_METHOD_CONTROL) {
        if (sma_str_is_equal(type, SMA_STR("ping")))
            return FEISHU_FRAME_PING;
        return sma_str_is_equal(type, SMA_STR("pong")) ? FEISHU_FRAME_PONG : FEISHU_FRAME_OTHER;
    }
    if (frame->method != FEISHU_METHOD_DATA)
        return FEISHU_FRAME_OTHER;
    if (sma_str_is_equal(type, SMA_STR("event")))
        return FEISHU_FRAME_EVENT;
    return sma_str_is_equal(type, SMA_STR("card")) ? FEISHU_FRAME_CARD : FEISHU_FRAME_OTHER;
}

/* -- encoding ---------------------------------------------------------------------------------- */

static ProtobufCBinaryData data_of(struct sma_str text)
{
    /* protobuf-c only reads what it packs; its type has no const. */
    uintptr_t address = (uintptr_t)text.ptr;
    return (ProtobufCBinaryData){.len = text.len, .data = (uint8_t *)address};
}

static Pbbp2__Header header_of(const struct feishu_frame_header *header)
{
    Pbbp2__Header made = PBBP2__HEADER__INIT;
    made.key = data_of(header->key);
    made.value = data_of(header->value);
    if (header->unknown != NULL) {
        const Pbbp2__Header *origin = header->unknown;
        made.base.n_unknown_fields = origin->base.n_unknown_fields;
        made.base.unknown_fields = origin->base.unknown_fields;
    }
    return made;
}

static void fill(Pbbp2__Frame *made, const struct feishu_frame *frame)
{
    made->seqid = frame->seq_id;
    made->logid = frame->log_id;
    made->service = frame->service;
    made->method = frame->method;
    made->has_payload_encoding = frame->payload_encoding.ptr != NULL;
    made->payload_encoding = data_of(frame->payload_encoding);
    made->has_payload_type = frame->payload_type.ptr != NULL;
    made->payload_type = data_of(frame->payload_type);
    made->has_payload = frame->payload.ptr != NULL;
    made->payload = data_of(frame->payload);
    made->has_logidnew = frame->log_id_new.ptr != NULL;
    made->logidnew = data_of(frame->log_id_new);
    if (frame->message != NULL) {
        const Pbbp2__Frame *origin = frame->message;
        made->base.n_unknown_fields = origin->base.n_unknown_fields;
        made->base.unknown_fields = origin->base.unknown_fields;
    }
}

enum sma_err feishu_frame_encode(const struct feishu_frame *frame, struct sma_buf *buf)
{
    SMA_ASSERT(frame->header_count <= ACK_HEADER_COUNT_MAX);
    Pbbp2__Header headers[ACK_HEADER_COUNT_MAX], *pointers[ACK_HEADER_COUNT_MAX];
    for (size_t i = 0; i < frame->header_count; i++) {
        headers[i] = header_of(&frame->headers[i]);
        pointers[i] = &headers[i];
    }
    Pbbp2__Frame made = PBBP2__FRAME__INIT;
    fill(&made, frame);
    made.n_headers = frame->header_count;
    made.headers = pointers;
    size_t size = pbbp2__frame__get_packed_size(&made);
    char *room = sma_buf_reserve(buf, size);
    if (room == NULL)
        return buf->err;
    size_t written = pbbp2__frame__pack(&made, (uint8_t *)room);
    SMA_ASSERT(written == size);
    buf->len += size;
    return SMA_ERR_OK;
}

enum sma_err feishu_frame_put_ping(struct sma_buf *buf, int32_t service)
{
    const struct feishu_frame_header header = {.key = SMA_STR("type"), .value = SMA_STR("ping")};
    const struct feishu_frame ping = {
        .service = service, .method = FEISHU_METHOD_CONTROL, .headers = &header, .header_count = 1};
    return feishu_frame_encode(&ping, buf);
}

enum sma_err feishu_frame_put_stub(const struct feishu_frame *frame, struct sma_buf *buf)
{
    struct feishu_frame stub = *frame;
    stub.payload = (struct sma_str){NULL, 0};
    return feishu_frame_encode(&stub, buf);
}

static void put_ack_payload(const struct feishu_ack *ack, struct sma_buf *buf)
{
    sma_buf_put_text(buf, ack->is_failed ? "{\"code\":500" : "{\"code\":200");
    if (ack->result.len > 0) {
        sma_buf_put_text(buf, ",\"data\":\"");
        /* EVP_EncodeBlock writes a NUL behind its output. */
        size_t size = (ack->result.len + 2) / 3 * 4;
        char *room = sma_buf_reserve(buf, size + 1);
        if (room == NULL)
            return;
        buf->len += (size_t)EVP_EncodeBlock(
            (unsigned char *)room, (const unsigned char *)ack->result.ptr, (int)ack->result.len);
        sma_buf_put_char(buf, '"');
    }
    sma_buf_put_char(buf, '}');
}

enum sma_err feishu_frame_put_ack(struct sma_str stub, const struct feishu_ack *ack,
                                  struct sma_buf *buf)
{
    if (ack->result.len > FEISHU_FRAME_BYTES_MAX / 2)
        return SMA_ERR_TOOBIG;
    struct feishu_frame frame;
    enum sma_err err = feishu_frame_decode(stub, &frame);
    if (err != SMA_ERR_OK)
        return err;
    char duration[24];
    snprintf(duration, sizeof duration, "%llu", (unsigned long long)ack->handled_ms);
    struct feishu_frame_header headers[ACK_HEADER_COUNT_MAX];
    if (frame.header_count > 0)
        memcpy(headers, frame.headers, frame.header_count * sizeof *headers);
    headers[frame.header_count] =
        (struct feishu_frame_header){.key = SMA_STR("biz_rt"), .value = sma_str(duration)};
    struct sma_buf payload;
    sma_buf_init(&payload, FEISHU_FRAME_BYTES_MAX);
    put_ack_payload(ack, &payload);
    err = payload.err;
    if (err == SMA_ERR_OK) {
        struct feishu_frame answer = frame;
        answer.headers = headers;
        answer.header_count = frame.header_count + 1;
        answer.payload = sma_buf_str(&payload);
        err = feishu_frame_encode(&answer, buf);
    }
    sma_buf_fini(&payload);
    feishu_frame_fini(&frame);
    return err;
}
