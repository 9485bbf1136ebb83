/* codec.c — encoding of steps and turns. See codec.h. */
#include "runtime/agent/codec.h"

#include <stdlib.h>

#define VERSION 1
#define ANSWER_VERSION 2
#define TURN_VERSION 2

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

/* -- answers ----------------------------------------------------------------------------------- */
void sma_codec_put_answer(struct sma_buf *buf, const struct sma_answer_extra *extra,
                          const struct sma_model_answer *answer)
{
    put_head(buf, 'A', ANSWER_VERSION);
    put_string(buf, extra->facts);
    put_string(buf, answer->fragment);
    put_string(buf, answer->text);
    sma_buf_put_char(buf, (char)answer->finish);
    put_string(buf, extra->key);
    put_string(buf, extra->line);
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
    if (receiver_count == 0)
        return;
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
    if (count == 0)
        return;
    put_u32(buf, 0); /* no receivers */
    put_added(buf, seqs, count);
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

enum sma_err sma_codec_get_answer(struct sma_str data, struct sma_stored_answer *ret_answer)
{
    uint8_t version;
    struct reader reader = open_versions(data, 'A', ANSWER_VERSION, &version);
    struct sma_stored_answer answer = {0};
    answer.facts = get_string(&reader);
    answer.fragment = get_string(&reader);
    answer.text = get_string(&reader);
    answer.finish = get_u8(&reader);
    if (version >= 2) {
        answer.key = get_string(&reader);
        answer.line = get_string(&reader);
    }
    answer.call_count = get_count(&reader, 13);
    if (reader.is_bad || answer.finish > SMA_FINISH_REFUSED)
        return SMA_ERR_CORRUPT;
    if (answer.call_count > 0) {
        answer.calls = calloc(answer.call_count, sizeof *answer.calls);
        if (answer.calls == NULL)
            return SMA_ERR_NOMEM;
    }
    get_calls(&reader, version, &answer);
    if (!reader.is_bad && reader.left > 0)
        get_known_results(&reader, &answer);
    if (!reader.is_bad && reader.left > 0)
        get_receivers(&reader, &answer);
    enum sma_err err = SMA_ERR_OK;
    if (!reader.is_bad && reader.left > 0)
        err = get_added(&reader, &answer.added, &answer.added_count);
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
    *answer = (struct sma_stored_answer){0};
}

/* -- results ----------------------------------------------------------------------------------- */
void sma_codec_put_results(struct sma_buf *buf, const struct sma_stored_result *results,
                           uint32_t count)
{
    put_head(buf, 'R', VERSION);
    put_u32(buf, count);
    for (uint32_t i = 0; i < count; i++) {
        put_string(buf, results[i].call_id);
        put_string(buf, results[i].name);
        put_string(buf, results[i].content);
        sma_buf_put_char(buf, results[i].is_error);
        sma_buf_put_char(buf, results[i].is_delivered);
    }
}

enum sma_err sma_codec_get_results(struct sma_str data, struct sma_stored_results *ret_results)
{
    struct reader reader = open_data(data, 'R');
    struct sma_stored_results list = {.count = get_count(&reader, 14)};
    if (reader.is_bad)
        return SMA_ERR_CORRUPT;
    list.results = calloc(list.count + 1, sizeof *list.results);
    if (list.results == NULL)
        return SMA_ERR_NOMEM;
    for (uint32_t i = 0; i < list.count; i++) {
        struct sma_stored_result *result = &list.results[i];
        result->call_id = get_string(&reader);
        result->name = get_string(&reader);
        result->content = get_string(&reader);
        result->is_error = get_u8(&reader) != 0;
        result->is_delivered = get_u8(&reader) != 0;
    }
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

enum sma_err sma_codec_get_turn(struct sma_str data, struct sma_stored_turn *ret_turn)
{
    uint8_t version;
    struct reader reader = open_versions(data, 'T', TURN_VERSION, &version);
    struct sma_stored_turn turn = {.is_break = version >= 2 && get_u8(&reader) == 1};
    turn.message_count = get_u32(&reader);
    struct reader again = reader;
    turn.id_count = skip_list(&reader);
    turn.block_count = skip_list(&reader);
    turn.text = get_string(&reader);
    turn.fragment_count = skip_list(&reader);
    if (reader.is_bad || reader.left > 0 || turn.fragment_count == 0 || turn.message_count == 0)
        return SMA_ERR_CORRUPT;
    size_t total = (size_t)turn.id_count + turn.block_count + turn.fragment_count;
    turn.storage = calloc(total, sizeof *turn.storage);
    if (turn.storage == NULL)
        return SMA_ERR_NOMEM;
    turn.ids = turn.storage;
    turn.blocks = turn.ids + turn.id_count;
    turn.fragments = turn.blocks + turn.block_count;
    get_list(&again, turn.ids);
    get_list(&again, turn.blocks);
    (void)get_string(&again); /* the text, read above */
    get_list(&again, turn.fragments);
    *ret_turn = turn;
    return SMA_ERR_OK;
}

void sma_stored_turn_fini(struct sma_stored_turn *turn)
{
    free(turn->storage);
    *turn = (struct sma_stored_turn){0};
}
