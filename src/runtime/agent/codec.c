/* codec.c — encoding of steps and turns. See codec.h. */
#include "runtime/agent/codec.h"

#include <stdlib.h>

/* ..._PARTS_VERSION of answers and results are written only where there are parts. */
#define VERSION 1
#define ANSWER_VERSION 2
#define ANSWER_PARTS_VERSION 3
#define RESULTS_PARTS_VERSION 2
#define TURN_PARTS_VERSION 3
#define TURN_VERSION 4
#define PAST_VERSION 2
#define PART_BYTES_MIN 37 /* of a part whose texts are empty */

static void put_u32(struct sma_buf *buf, uint32_t number)
{
    unsigned char bytes[4] = {(unsigned char)number, (unsigned char)(number >> 8),
                              (unsigned char)(number >> 16), (unsigned char)(number >> 24)};
    sma_buf_put(buf, bytes, sizeof bytes);
}

static void put_string(struct sma_buf *buf, struct sma_str text)
{
    if (text.len > UINT32_MAX) {
        buf->err = SMA_ERR_TOOBIG;
        return;
    }
    put_u32(buf, (uint32_t)text.len);
    sma_buf_put(buf, text.ptr, text.len);
}

static void put_list(struct sma_buf *buf, const struct sma_str *texts, uint32_t count)
{
    put_u32(buf, count);
    for (uint32_t i = 0; i < count; i++)
        put_string(buf, texts[i]);
}

static void put_head(struct sma_buf *buf, char kind, char version)
{
    sma_buf_put_text(buf, "SMA");
    sma_buf_put_char(buf, kind);
    sma_buf_put_char(buf, version);
}

static void put_u64(struct sma_buf *buf, uint64_t number)
{
    put_u32(buf, (uint32_t)number);
    put_u32(buf, (uint32_t)(number >> 32));
}

static void put_part(struct sma_buf *buf, const struct sma_part *part)
{
    sma_buf_put_char(buf, (char)part->kind);
    put_string(buf, part->path);
    put_string(buf, part->name);
    put_string(buf, part->mime);
    put_string(buf, part->hash);
    put_u64(buf, part->length);
    put_u32(buf, part->width);
    put_u32(buf, part->height);
    put_string(buf, part->note);
}

static void put_parts(struct sma_buf *buf, const struct sma_part *parts, uint32_t count)
{
    put_u32(buf, count);
    for (uint32_t i = 0; i < count; i++)
        put_part(buf, &parts[i]);
}

/* -- reading: the first wrong length makes the reader bad, and it stays so --------------------- */
struct reader
{
    const unsigned char *at;
    size_t left;
    bool is_bad;
};

static uint8_t get_u8(struct reader *reader)
{
    if (reader->is_bad || reader->left < 1) {
        reader->is_bad = true;
        return 0;
    }
    reader->left--;
    return *reader->at++;
}

static uint32_t get_u32(struct reader *reader)
{
    if (reader->is_bad || reader->left < 4) {
        reader->is_bad = true;
        return 0;
    }
    const unsigned char *at = reader->at;
    reader->at += 4;
    reader->left -= 4;
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static struct sma_str get_string(struct reader *reader)
{
    uint32_t len = get_u32(reader);
    if (reader->is_bad || len > reader->left) {
        reader->is_bad = true;
        return (struct sma_str){0};
    }
    struct sma_str text = {(const char *)reader->at, len};
    reader->at += len;
    reader->left -= len;
    return text;
}

/* A count of things that take at least `bytes_min` each: a damaged count cannot ask for more memory
 * than data. */
static uint32_t get_count(struct reader *reader, size_t bytes_min)
{
    uint32_t count = get_u32(reader);
    if (reader->is_bad || count > reader->left / bytes_min) {
        reader->is_bad = true;
        return 0;
    }
    return count;
}

static uint64_t get_u64(struct reader *reader)
{
    uint64_t low = get_u32(reader);
    return (uint64_t)get_u32(reader) << 32 | low;
}

static struct sma_part get_part(struct reader *reader)
{
    struct sma_part part = {.kind = get_u8(reader)};
    part.path = get_string(reader);
    part.name = get_string(reader);
    part.mime = get_string(reader);
    part.hash = get_string(reader);
    part.length = get_u64(reader);
    part.width = get_u32(reader);
    part.height = get_u32(reader);
    part.note = get_string(reader);
    if (part.kind == SMA_PART_NONE || part.kind > SMA_PART_AUDIO)
        reader->is_bad = true;
    return part;
}

static struct reader open_versions(struct sma_str data, char kind, uint8_t newest,
                                   uint8_t *ret_version)
{
    struct reader reader = {(const unsigned char *)data.ptr, data.len, false};
    if (get_u8(&reader) != 'S' || get_u8(&reader) != 'M' || get_u8(&reader) != 'A' ||
        get_u8(&reader) != (unsigned char)kind)
        reader.is_bad = true;
    *ret_version = get_u8(&reader);
    if (*ret_version < 1 || *ret_version > newest)
        reader.is_bad = true;
    return reader;
}

static struct reader open_data(struct sma_str data, char kind)
{
    uint8_t version;
    return open_versions(data, kind, VERSION, &version);
}

/* -- what has left ----------------------------------------------------------------------------- */
static void put_egress(struct sma_buf *buf, const struct sma_egress *egress)
{
    sma_buf_put_char(buf, egress->has_read);
    put_u32(buf, egress->bytes);
    put_u32(buf, egress->listed_bytes);
    put_u32(buf, egress->day);
}

static struct sma_egress get_egress(struct reader *reader)
{
    struct sma_egress egress = {.has_read = get_u8(reader) != 0};
    egress.bytes = get_u32(reader);
    egress.listed_bytes = get_u32(reader);
    egress.day = get_u32(reader);
    return egress;
}

/* -- answers ----------------------------------------------------------------------------------- */
void sma_codec_put_answer(struct sma_buf *buf, const struct sma_answer_extra *extra,
                          const struct sma_model_answer *answer)
{
    put_head(buf, 'A', extra->part_count > 0 ? ANSWER_PARTS_VERSION : ANSWER_VERSION);
    put_string(buf, extra->facts);
    put_string(buf, answer->fragment);
    put_string(buf, answer->text);
    sma_buf_put_char(buf, (char)answer->finish);
    put_string(buf, extra->key);
    put_string(buf, extra->line);
    if (extra->part_count > 0)
        put_parts(buf, extra->parts, extra->part_count);
    put_u32(buf, answer->call_count);
    for (uint32_t i = 0; i < answer->call_count; i++) {
        put_string(buf, answer->calls[i].id);
        put_string(buf, answer->calls[i].name);
        put_string(buf, answer->calls[i].arguments);
        sma_buf_put_char(buf, answer->calls[i].is_invalid);
        sma_buf_put_char(buf, answer->calls[i].is_cut);
        put_string(buf, answer->calls[i].problem);
    }
}

void sma_codec_put_known_results(struct sma_buf *buf, const struct sma_stored_call *calls,
                                 uint32_t count)
{
    uint32_t known_count = 0;
    for (uint32_t i = 0; i < count; i++)
        known_count += calls[i].has_result;
    put_u32(buf, known_count);
    for (uint32_t i = 0; i < count; i++) {
        if (!calls[i].has_result)
            continue;
        put_u32(buf, i);
        sma_buf_put_char(buf, calls[i].is_error);
        put_string(buf, calls[i].result);
    }
}

/* In the order in which they are written and read. */
#define ROUTE_STRING_COUNT 9
static void list_route(struct sma_route *route, struct sma_str *texts[ROUTE_STRING_COUNT])
{
    struct sma_str *all[ROUTE_STRING_COUNT] = {
        &route->channel,   &route->chat_key,  &route->chat_id,
        &route->chat_type, &route->thread_id, &route->message_id,
        &route->user_id,   &route->user_name, &route->language};
    memcpy(texts, all, sizeof all);
}

void sma_codec_put_receivers(struct sma_buf *buf, const struct sma_stored_call *calls,
                             uint32_t count)
{
    uint32_t receiver_count = 0;
    for (uint32_t i = 0; i < count; i++)
        receiver_count += calls[i].has_receiver;
    put_u32(buf, receiver_count);
    for (uint32_t i = 0; i < count; i++) {
        if (!calls[i].has_receiver)
            continue;
        struct sma_route route = calls[i].receiver;
        struct sma_str *texts[ROUTE_STRING_COUNT];
        list_route(&route, texts);
        put_u32(buf, i);
        sma_buf_put_char(buf, (char)route.adapter);
        for (size_t k = 0; k < ROUTE_STRING_COUNT; k++)
            put_string(buf, *texts[k]);
    }
}

/* -- what was added ---------------------------------------------------------------------------- */
static void put_added(struct sma_buf *buf, const struct sma_seq *seqs, uint32_t count)
{
    put_u32(buf, count);
    for (uint32_t i = 0; i < count; i++) {
        put_u32(buf, (uint32_t)seqs[i].seq);
        put_u32(buf, (uint32_t)(seqs[i].seq >> 32));
    }
}

void sma_codec_put_answer_added(struct sma_buf *buf, const struct sma_seq *seqs, uint32_t count)
{
    put_added(buf, seqs, count);
}

void sma_codec_put_answer_egress(struct sma_buf *buf, const struct sma_egress *egress)
{
    put_egress(buf, egress);
}

void sma_codec_put_results_added(struct sma_buf *buf, const struct sma_seq *seqs, uint32_t count)
{
    if (count > 0)
        put_added(buf, seqs, count);
}

/* OK | NOMEM; what does not fit makes the reader bad. */
static SMA_CHECKED enum sma_err get_added(struct reader *reader, struct sma_seq **ret_seqs,
                                          uint32_t *ret_count)
{
    uint32_t count = get_count(reader, 8);
    if (reader->is_bad || count == 0)
        return SMA_ERR_OK;
    struct sma_seq *seqs = calloc(count, sizeof *seqs);
    if (seqs == NULL)
        return SMA_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t low = get_u32(reader);
        seqs[i].seq = (uint64_t)get_u32(reader) << 32 | low;
    }
    *ret_seqs = seqs;
    *ret_count = count;
    return SMA_ERR_OK;
}

static void get_calls(struct reader *reader, uint8_t version, struct sma_stored_answer *answer)
{
    for (uint32_t i = 0; i < answer->call_count; i++) {
        struct sma_stored_call *call = &answer->calls[i];
        call->id = get_string(reader);
        call->name = get_string(reader);
        call->arguments = get_string(reader);
        call->is_invalid = get_u8(reader) != 0;
        if (version >= 2) {
            call->is_cut = get_u8(reader) != 0;
            call->problem = get_string(reader);
        }
    }
}

static void get_known_results(struct reader *reader, struct sma_stored_answer *answer)
{
    uint32_t known_count = get_count(reader, 9);
    for (uint32_t i = 0; i < known_count; i++) {
        uint32_t index = get_u32(reader);
        bool is_error = get_u8(reader) != 0;
        struct sma_str content = get_string(reader);
        if (reader->is_bad || index >= answer->call_count) {
            reader->is_bad = true;
            return;
        }
        answer->calls[index].has_result = true;
        answer->calls[index].is_error = is_error;
        answer->calls[index].result = content;
    }
}

static void get_receivers(struct reader *reader, struct sma_stored_answer *answer)
{
    uint32_t receiver_count = get_count(reader, 5 + 4 * ROUTE_STRING_COUNT);
    for (uint32_t i = 0; i < receiver_count; i++) {
        uint32_t index = get_u32(reader);
        struct sma_route route = {.adapter = get_u8(reader)};
        struct sma_str *texts[ROUTE_STRING_COUNT];
        list_route(&route, texts);
        for (size_t k = 0; k < ROUTE_STRING_COUNT; k++)
            *texts[k] = get_string(reader);
        if (reader->is_bad || index >= answer->call_count) {
            reader->is_bad = true;
            return;
        }
        answer->calls[index].has_receiver = true;
        answer->calls[index].receiver = route;
    }
}

/* OK | NOMEM; damage is noted in the reader. */
static enum sma_err get_answer_parts(struct reader *reader, struct sma_stored_answer *answer)
{
    answer->part_count = get_count(reader, PART_BYTES_MIN);
    if (answer->part_count == 0)
        return SMA_ERR_OK;
    answer->parts = calloc(answer->part_count, sizeof *answer->parts);
    if (answer->parts == NULL)
        return SMA_ERR_NOMEM;
    for (uint32_t i = 0; i < answer->part_count; i++)
        answer->parts[i] = get_part(reader);
    return SMA_ERR_OK;
}

enum sma_err sma_codec_get_answer(struct sma_str data, struct sma_stored_answer *ret_answer)
{
    uint8_t version;
    struct reader reader = open_versions(data, 'A', ANSWER_PARTS_VERSION, &version);
    struct sma_stored_answer answer = {0};
    answer.facts = get_string(&reader);
    answer.fragment = get_string(&reader);
    answer.text = get_string(&reader);
    answer.finish = get_u8(&reader);
    if (version >= 2) {
        answer.key = get_string(&reader);
        answer.line = get_string(&reader);
    }
    if (version >= ANSWER_PARTS_VERSION && get_answer_parts(&reader, &answer) != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    answer.call_count = get_count(&reader, 13);
    if (reader.is_bad || answer.finish > SMA_FINISH_REFUSED) {
        sma_stored_answer_fini(&answer);
        return SMA_ERR_CORRUPT;
    }
    if (answer.call_count > 0) {
        answer.calls = calloc(answer.call_count, sizeof *answer.calls);
        if (answer.calls == NULL) {
            sma_stored_answer_fini(&answer);
            return SMA_ERR_NOMEM;
        }
    }
    get_calls(&reader, version, &answer);
    if (!reader.is_bad && reader.left > 0)
        get_known_results(&reader, &answer);
    if (!reader.is_bad && reader.left > 0)
        get_receivers(&reader, &answer);
    enum sma_err err = SMA_ERR_OK;
    if (!reader.is_bad && reader.left > 0)
        err = get_added(&reader, &answer.added, &answer.added_count);
    if (err == SMA_ERR_OK && !reader.is_bad && reader.left > 0)
        answer.egress = get_egress(&reader);
    if (err == SMA_ERR_OK && (reader.is_bad || reader.left > 0))
        err = SMA_ERR_CORRUPT;
    if (err != SMA_ERR_OK) {
        sma_stored_answer_fini(&answer);
        return err;
    }
    *ret_answer = answer;
    return SMA_ERR_OK;
}

void sma_stored_answer_fini(struct sma_stored_answer *answer)
{
    free(answer->calls);
    free(answer->added);
    free(answer->parts);
    *answer = (struct sma_stored_answer){0};
}

/* -- results ----------------------------------------------------------------------------------- */
void sma_codec_put_results(struct sma_buf *buf, const struct sma_stored_result *results,
                           uint32_t count)
{
    bool has_parts = false;
    for (uint32_t i = 0; i < count; i++)
        has_parts |= results[i].part_count > 0;
    put_head(buf, 'R', has_parts ? RESULTS_PARTS_VERSION : VERSION);
    put_u32(buf, count);
    for (uint32_t i = 0; i < count; i++) {
        put_string(buf, results[i].call_id);
        put_string(buf, results[i].name);
        put_string(buf, results[i].content);
        sma_buf_put_char(buf, results[i].is_error);
        sma_buf_put_char(buf, results[i].is_delivered);
        if (has_parts)
            put_parts(buf, results[i].parts, results[i].part_count);
    }
}

/* *used: parts of the results before this one; the storage has room for as many as fit into the
 * data. */
static void get_result(struct reader *reader, bool has_parts, struct sma_stored_results *list,
                       struct sma_stored_result *result, size_t *used)
{
    result->call_id = get_string(reader);
    result->name = get_string(reader);
    result->content = get_string(reader);
    result->is_error = get_u8(reader) != 0;
    result->is_delivered = get_u8(reader) != 0;
    if (!has_parts)
        return;
    result->part_count = get_count(reader, PART_BYTES_MIN);
    result->parts = list->storage + *used;
    for (uint32_t i = 0; i < result->part_count; i++)
        list->storage[(*used)++] = get_part(reader);
}

enum sma_err sma_codec_get_results(struct sma_str data, struct sma_stored_results *ret_results)
{
    uint8_t version;
    struct reader reader = open_versions(data, 'R', RESULTS_PARTS_VERSION, &version);
    bool has_parts = version >= RESULTS_PARTS_VERSION;
    struct sma_stored_results list = {.count = get_count(&reader, has_parts ? 18 : 14)};
    size_t used = 0;
    if (reader.is_bad)
        return SMA_ERR_CORRUPT;
    list.results = calloc(list.count + 1, sizeof *list.results);
    if (has_parts)
        list.storage = calloc(reader.left / PART_BYTES_MIN + 1, sizeof *list.storage);
    if (list.results == NULL || (has_parts && list.storage == NULL)) {
        sma_stored_results_fini(&list);
        return SMA_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < list.count; i++)
        get_result(&reader, has_parts, &list, &list.results[i], &used);
    enum sma_err err = SMA_ERR_OK;
    if (!reader.is_bad && reader.left > 0)
        err = get_added(&reader, &list.added, &list.added_count);
    if (err == SMA_ERR_OK && (reader.is_bad || reader.left > 0))
        err = SMA_ERR_CORRUPT;
    if (err != SMA_ERR_OK) {
        sma_stored_results_fini(&list);
        return err;
    }
    *ret_results = list;
    return SMA_ERR_OK;
}

void sma_stored_results_fini(struct sma_stored_results *results)
{
    free(results->results);
    free(results->added);
    free(results->storage);
    *results = (struct sma_stored_results){0};
}

/* -- decisions --------------------------------------------------------------------------------- */
#define DIGEST_BYTES sizeof((struct sma_stored_decision){0}.digest)

void sma_codec_put_decisions(struct sma_buf *buf, const struct sma_stored_decision *list,
                             uint32_t count)
{
    put_head(buf, 'D', VERSION);
    put_u32(buf, count);
    for (uint32_t i = 0; i < count; i++) {
        put_u32(buf, list[i].call);
        sma_buf_put_char(
            buf, (char)(list[i].is_approved + (list[i].is_approved && list[i].is_by_owner)));
        sma_buf_put(buf, list[i].digest, DIGEST_BYTES);
        put_string(buf, list[i].response);
    }
}

static void get_decision(struct reader *reader, struct sma_stored_decision *decision)
{
    decision->call = get_u32(reader);
    uint8_t verdict = get_u8(reader);
    if (reader->is_bad || verdict > 2 || reader->left < DIGEST_BYTES) {
        reader->is_bad = true; /* consent is not guessed from a damaged byte */
        return;
    }
    decision->is_approved = verdict >= 1;
    decision->is_by_owner = verdict == 2;
    memcpy(decision->digest, reader->at, DIGEST_BYTES);
    reader->at += DIGEST_BYTES;
    reader->left -= DIGEST_BYTES;
    decision->response = get_string(reader);
}

enum sma_err sma_codec_get_decisions(struct sma_str data,
                                     struct sma_stored_decisions *ret_decisions)
{
    struct reader reader = open_data(data, 'D');
    struct sma_stored_decisions decisions = {.count = get_count(&reader, 9 + DIGEST_BYTES)};
    if (reader.is_bad)
        return SMA_ERR_CORRUPT;
    decisions.list = calloc((size_t)decisions.count + 1, sizeof *decisions.list);
    if (decisions.list == NULL)
        return SMA_ERR_NOMEM;
    for (uint32_t i = 0; i < decisions.count; i++)
        get_decision(&reader, &decisions.list[i]);
    if (reader.is_bad || reader.left > 0) {
        sma_stored_decisions_fini(&decisions);
        return SMA_ERR_CORRUPT;
    }
    *ret_decisions = decisions;
    return SMA_ERR_OK;
}

void sma_stored_decisions_fini(struct sma_stored_decisions *decisions)
{
    free(decisions->list);
    *decisions = (struct sma_stored_decisions){0};
}

/* -- waits ------------------------------------------------------------------------------------- */
void sma_codec_put_wait(struct sma_buf *buf, const struct sma_stored_wait *wait)
{
    put_head(buf, 'W', VERSION);
    put_u32(buf, (uint32_t)(uint64_t)wait->since_ms);
    put_u32(buf, (uint32_t)((uint64_t)wait->since_ms >> 32));
    put_u32(buf, wait->count);
    sma_buf_put_char(buf, wait->is_told);
    put_string(buf, wait->reason);
}

enum sma_err sma_codec_get_wait(struct sma_str data, struct sma_stored_wait *ret_wait)
{
    struct reader reader = open_data(data, 'W');
    uint64_t low = get_u32(&reader), high = get_u32(&reader);
    struct sma_stored_wait wait = {.since_ms = (int64_t)(high << 32 | low),
                                   .count = get_u32(&reader)};
    wait.is_told = get_u8(&reader) != 0;
    wait.reason = get_string(&reader);
    if (reader.is_bad || reader.left > 0)
        return SMA_ERR_CORRUPT;
    *ret_wait = wait;
    return SMA_ERR_OK;
}

/* -- steps of sub-agents ----------------------------------------------------------------------- */
#define CHILD_ASKS 1
#define CHILD_IS_ERROR 2

void sma_codec_put_child(struct sma_buf *buf, const struct sma_stored_child *child)
{
    put_head(buf, 'H', VERSION);
    put_u32(buf, child->call);
    put_u32(buf, child->number);
    sma_buf_put_char(buf, (char)child->kind);
    sma_buf_put_char(
        buf, (char)((child->asks ? CHILD_ASKS : 0) | (child->is_error ? CHILD_IS_ERROR : 0)));
    put_string(buf, child->data);
}

enum sma_err sma_codec_get_child(struct sma_str data, struct sma_stored_child *ret_child)
{
    struct reader reader = open_data(data, 'H');
    struct sma_stored_child child = {.call = get_u32(&reader), .number = get_u32(&reader)};
    child.kind = get_u8(&reader);
    uint8_t flags = get_u8(&reader);
    child.asks = (flags & CHILD_ASKS) != 0;
    child.is_error = (flags & CHILD_IS_ERROR) != 0;
    child.data = get_string(&reader);
    if (reader.is_bad || reader.left > 0 || child.number == 0)
        return SMA_ERR_CORRUPT;
    *ret_child = child;
    return SMA_ERR_OK;
}

/* -- turns ------------------------------------------------------------------------------------- */
void sma_codec_put_turn(struct sma_buf *buf, const struct sma_stored_turn *turn)
{
    put_head(buf, 'T', TURN_VERSION);
    sma_buf_put_char(buf, turn->is_break);
    put_u32(buf, turn->message_count);
    put_list(buf, turn->ids, turn->id_count);
    put_list(buf, turn->blocks, turn->block_count);
    put_string(buf, turn->text);
    put_list(buf, turn->fragments, turn->fragment_count);
    put_u32(buf, turn->part_count);
    for (uint32_t i = 0; i < turn->part_count; i++) {
        put_part(buf, &turn->parts[i].part);
        put_u32(buf, turn->parts[i].block);
    }
    put_list(buf, turn->refused, turn->refused_count);
    put_egress(buf, &turn->egress);
    put_u32(buf, turn->own_block);
}

/* The next list, without keeping it: its count. */
static uint32_t skip_list(struct reader *reader)
{
    uint32_t count = get_count(reader, 4);
    for (uint32_t i = 0; i < count && !reader->is_bad; i++)
        (void)get_string(reader); /* only its length matters here */
    return count;
}

static void get_list(struct reader *reader, struct sma_str *texts)
{
    uint32_t count = get_u32(reader);
    for (uint32_t i = 0; i < count; i++)
        texts[i] = get_string(reader);
}

static uint32_t skip_turn_parts(struct reader *reader)
{
    uint32_t count = get_count(reader, PART_BYTES_MIN + 4);
    for (uint32_t i = 0; i < count && !reader->is_bad; i++) {
        (void)get_part(reader); /* likewise */
        (void)get_u32(reader);
    }
    return count;
}

static void get_turn_parts(struct reader *reader, struct sma_stored_turn *turn)
{
    uint32_t count = get_u32(reader);
    for (uint32_t i = 0; i < count; i++) {
        turn->parts[i].part = get_part(reader);
        turn->parts[i].block = get_u32(reader);
    }
}

/* What the counts say is known to be there. */
static enum sma_err get_turn_lists(struct reader *reader, bool has_parts,
                                   struct sma_stored_turn *turn)
{
    size_t total =
        (size_t)turn->id_count + turn->block_count + turn->fragment_count + turn->refused_count;
    turn->storage = calloc(total, sizeof *turn->storage);
    if (turn->part_count > 0)
        turn->part_storage = calloc(turn->part_count, sizeof *turn->part_storage);
    if (turn->storage == NULL || (turn->part_count > 0 && turn->part_storage == NULL)) {
        sma_stored_turn_fini(turn);
        return SMA_ERR_NOMEM;
    }
    turn->ids = turn->storage;
    turn->blocks = turn->ids + turn->id_count;
    turn->fragments = turn->blocks + turn->block_count;
    turn->refused = turn->fragments + turn->fragment_count;
    turn->parts = turn->part_storage;
    get_list(reader, turn->ids);
    get_list(reader, turn->blocks);
    (void)get_string(reader); /* the text, read before */
    get_list(reader, turn->fragments);
    if (has_parts) {
        get_turn_parts(reader, turn);
        get_list(reader, turn->refused);
    }
    return SMA_ERR_OK;
}

enum sma_err sma_codec_get_turn(struct sma_str data, struct sma_stored_turn *ret_turn)
{
    uint8_t version;
    struct reader reader = open_versions(data, 'T', TURN_VERSION, &version);
    struct sma_stored_turn turn = {.is_break = version >= 2 && get_u8(&reader) == 1};
    bool has_parts = version >= TURN_PARTS_VERSION;
    turn.message_count = get_u32(&reader);
    struct reader again = reader;
    turn.id_count = skip_list(&reader);
    turn.block_count = skip_list(&reader);
    turn.text = get_string(&reader);
    turn.fragment_count = skip_list(&reader);
    if (has_parts) {
        turn.part_count = skip_turn_parts(&reader);
        turn.refused_count = skip_list(&reader);
    }
    turn.egress.has_read = true;
    if (version >= TURN_VERSION) {
        turn.egress = get_egress(&reader);
        turn.own_block = get_u32(&reader);
    }
    if (reader.is_bad || reader.left > 0 || turn.fragment_count == 0 || turn.message_count == 0)
        return SMA_ERR_CORRUPT;
    SMA_TRY(get_turn_lists(&again, has_parts, &turn));
    *ret_turn = turn;
    return SMA_ERR_OK;
}

void sma_stored_turn_fini(struct sma_stored_turn *turn)
{
    free(turn->storage);
    free(turn->part_storage);
    *turn = (struct sma_stored_turn){0};
}

/* -- what was before the turns ----------------------------------------------------------------- */
void sma_codec_put_past(struct sma_buf *buf, const struct sma_stored_past *past)
{
    put_head(buf, 'C', PAST_VERSION);
    put_u64(buf, past->first);
    put_u64(buf, past->below);
    put_u64(buf, past->cleared);
    put_u64(buf, past->moved);
    put_u64(buf, past->tokens_before);
    put_u64(buf, past->tokens_after);
    put_u32(buf, past->turn_count);
    put_u32(buf, past->round_count);
    put_u32(buf, past->cleared_round_count);
    put_string(buf, past->note);
    put_string(buf, past->text);
    put_string(buf, past->chat);
    put_egress(buf, &past->egress);
}

enum sma_err sma_codec_get_past(struct sma_str data, struct sma_stored_past *ret_past)
{
    uint8_t version;
    struct reader reader = open_versions(data, 'C', PAST_VERSION, &version);
    struct sma_stored_past past = {.first = get_u64(&reader)};
    past.below = get_u64(&reader);
    past.cleared = get_u64(&reader);
    past.moved = get_u64(&reader);
    past.tokens_before = get_u64(&reader);
    past.tokens_after = get_u64(&reader);
    past.turn_count = get_u32(&reader);
    past.round_count = get_u32(&reader);
    past.cleared_round_count = get_u32(&reader);
    past.note = get_string(&reader);
    past.text = get_string(&reader);
    past.chat = get_string(&reader);
    past.egress.has_read = true;
    if (version >= PAST_VERSION)
        past.egress = get_egress(&reader);
    if (reader.is_bad || reader.left > 0)
        return SMA_ERR_CORRUPT;
    *ret_past = past;
    return SMA_ERR_OK;
}
