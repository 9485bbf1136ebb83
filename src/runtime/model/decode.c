#include "decode_priv.h"

#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

/* -- life -------------------------------------------------------------------------------------- */
static void on_event(void *user, struct sma_str name, struct sma_str data);

struct sma_decoder *sma_decoder_create(const struct sma_config_llm *llm)
{
    struct sma_decoder *decoder = calloc(1, sizeof *decoder);
    if (decoder == NULL)
        return NULL;
    decoder->api = llm->api;
    sma_profile_find(llm, &decoder->profile);
    sma_sse_init(&decoder->sse, on_event, decoder);
    sma_buf_init(&decoder->document, SMA_SSE_LINE_BYTES_MAX);
    sma_buf_init(&decoder->content, SMA_ANSWER_BYTES_MAX);
    sma_buf_init(&decoder->reasoning, SMA_ANSWER_BYTES_MAX);
    sma_buf_init(&decoder->refusal, SMA_ANSWER_BYTES_MAX);
    /* Escaping can make six bytes of one. */
    sma_buf_init(&decoder->fragment, 6 * (size_t)SMA_ANSWER_BYTES_MAX + 65536);
    return decoder;
}

static void drop_parts(struct sma_decoder *decoder)
{
    for (size_t i = 0; i < decoder->part_count; i++) {
        struct sma_answer_part *part = &decoder->parts[i];
        sma_buf_fini(&part->id);
        sma_buf_fini(&part->item_id);
        sma_buf_fini(&part->name);
        sma_buf_fini(&part->content);
        sma_buf_fini(&part->signature);
        sma_buf_fini(&part->raw);
        sma_buf_fini(&part->problem);
        json_decref(part->extra);
        json_decref(part->extra_function);
        sma_send_text_fini(&part->send_text);
    }
    decoder->part_count = 0;
    for (size_t i = 0; i < decoder->detail_count; i++) {
        json_decref(decoder->details[i].object);
        sma_buf_fini(&decoder->details[i].text);
    }
    decoder->detail_count = 0;
    json_decref(decoder->extra);
    decoder->extra = NULL;
}

void sma_decoder_destroy(struct sma_decoder *decoder)
{
    if (decoder == NULL)
        return;
    drop_parts(decoder);
    sma_sse_fini(&decoder->sse);
    sma_buf_fini(&decoder->document);
    sma_buf_fini(&decoder->content);
    sma_buf_fini(&decoder->reasoning);
    sma_buf_fini(&decoder->refusal);
    sma_buf_fini(&decoder->fragment);
    free(decoder->parts);
    free(decoder->details);
    free(decoder->calls);
    free(decoder);
}

/* A long answer must not keep its memory in a pool of decoders. */
static void forget(struct sma_buf *buf)
{
    if (buf->cap > 16384) {
        size_t max = buf->max;
        sma_buf_fini(buf);
        sma_buf_init(buf, max);
    } else {
        sma_buf_clear(buf);
    }
}

void sma_decoder_reset(struct sma_decoder *decoder, uint64_t id_seed)
{
    drop_parts(decoder);
    sma_sse_reset(&decoder->sse);
    forget(&decoder->sse.line);
    forget(&decoder->sse.data);
    forget(&decoder->document);
    forget(&decoder->content);
    forget(&decoder->reasoning);
    forget(&decoder->refusal);
    forget(&decoder->fragment);
    free(decoder->calls);
    decoder->calls = NULL;
    decoder->call_count = decoder->answer_bytes = decoder->latest_send_at = 0;
    decoder->event_count = 0;
    decoder->is_decided = decoder->is_document = decoder->is_done = decoder->is_finishing = false;
    decoder->is_finished = decoder->is_length = decoder->is_filtered = decoder->has_content = false;
    decoder->is_refused = decoder->has_reason = decoder->is_odd_reason = false;
    decoder->shown = (struct sma_str){0};
    decoder->status = SMA_DECODED_OK;
    decoder->reasoning_name[0] = '\0';
    decoder->decoded = (struct sma_decoded){0};
    decoder->id_seed = id_seed;
    decoder->request = (struct sma_str){0};
}

void sma_decoder_set_request(struct sma_decoder *decoder, struct sma_str request)
{
    decoder->request = request;
}

/* -- what the formats build with --------------------------------------------------------------- */

/* -- input ------------------------------------------------------------------------------------- */
static void on_event(void *user, struct sma_str name, struct sma_str data)
{
    struct sma_decoder *decoder = user;
    if (decoder->is_done)
        return;
    decoder->event_count++;
    if (sma_str_starts_with(data, SMA_STR("[DONE]"))) {
        /* The explicit end of a chat stream, also where the reason to stop was left out. */
        decoder->is_finishing |= decoder->api == SMA_LLM_CHAT || decoder->api == SMA_LLM_OFFLINE;
        decoder->is_done = true;
        return;
    }
    json_t *event = sma_json_parse(data);
    if (!json_is_object(event)) {
        /* Cut in the middle of an event: the end of the stream decides, not this. */
        sma_decode_fail(decoder,
                        decoder->is_finished ? SMA_DECODED_TRUNCATED : SMA_DECODED_GARBAGE);
        json_decref(event);
        return;
    }
    if (decoder->api == SMA_LLM_RESPONSES)
        sma_decode_responses_event(decoder, name, event);
    else if (decoder->api == SMA_LLM_MESSAGES)
        sma_decode_messages_event(decoder, name, event);
    else
        sma_decode_chat_event(decoder, name, event);
    json_decref(event);
}

static void on_document(struct sma_decoder *decoder)
{
    json_t *document = sma_json_parse(sma_str_trim(sma_buf_str(&decoder->document)));
    if (document == NULL) {
        sma_decode_fail(decoder, SMA_DECODED_TRUNCATED);
        return;
    }
    const json_t *error = json_object_get(document, "error");
    if (json_is_array(document) || json_is_object(error) || json_is_string(error))
        sma_decode_fail_with(decoder, document);
    else if (decoder->api == SMA_LLM_RESPONSES)
        sma_decode_responses_document(decoder, document);
    else if (decoder->api == SMA_LLM_MESSAGES)
        sma_decode_messages_document(decoder, document);
    else
        sma_decode_chat_document(decoder, document);
    json_decref(document);
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t' ||
           (unsigned char)byte == 0xef || (unsigned char)byte == 0xbb ||
           (unsigned char)byte == 0xbf; /* the last three: a byte order mark */
}

void sma_decoder_feed(struct sma_decoder *decoder, const char *bytes, size_t len)
{
    while (!decoder->is_decided && len > 0) {
        if (is_blank(*bytes)) {
            bytes++;
            len--;
            continue;
        }
        decoder->is_decided = true;
        decoder->is_document = *bytes == '{' || *bytes == '[';
        if (*bytes == '<') {
            snprintf(decoder->decoded.error.message, sizeof decoder->decoded.error.message,
                     "an HTML page instead of an answer");
            sma_decode_fail(decoder, SMA_DECODED_GARBAGE);
        }
    }
    if (decoder->is_done || len == 0)
        return;
    if (!decoder->is_document) {
        sma_decode_fail_for(decoder, sma_sse_feed(&decoder->sse, bytes, len));
        return;
    }
    decoder->event_count++;
    sma_buf_put(&decoder->document, bytes, len);
    sma_decode_fail_for(decoder, decoder->document.err);
}

bool sma_decoder_is_done(const struct sma_decoder *decoder)
{
    return decoder->is_done;
}

bool sma_decoder_is_finishing(const struct sma_decoder *decoder)
{
    return decoder->is_finishing;
}

uint64_t sma_decoder_event_count(const struct sma_decoder *decoder)
{
    return decoder->event_count;
}

/* -- output ------------------------------------------------------------------------------------ */
struct sma_str sma_visible_text(struct sma_str content)
{
    static const struct sma_str open = {"<think>", 7}, close = {"</think>", 8};
    size_t start = 0;
    while (start < content.len && (content.ptr[start] == ' ' || content.ptr[start] == '\n' ||
                                   content.ptr[start] == '\r' || content.ptr[start] == '\t'))
        start++;
    struct sma_str rest = {content.ptr + start, content.len - start};
    if (!sma_str_starts_with(rest, open)) {
        bool may_become =
            rest.len > 0 && rest.len < open.len && memcmp(open.ptr, rest.ptr, rest.len) == 0;
        return may_become ? (struct sma_str){"", 0} : content;
    }
    const char *end = memmem(rest.ptr, rest.len, close.ptr, close.len);
    if (end == NULL)
        return (struct sma_str){"", 0};
    end += close.len;
    const char *limit = content.ptr + content.len;
    while (end < limit && (*end == ' ' || *end == '\n' || *end == '\r' || *end == '\t'))
        end++;
    return (struct sma_str){end, (size_t)(limit - end)};
}

static struct sma_str filled(const struct sma_buf *buf)
{
    return (struct sma_str){buf->len > 0 ? buf->ptr : "", buf->len};
}

/* Servers of whatever model somebody loaded may leave its calls in the text; platforms do not. */
static bool may_write_calls(const struct sma_decoder *decoder)
{
    if (decoder->api != SMA_LLM_CHAT)
        return false;
    switch (decoder->profile.host) {
    case SMA_HOST_OTHER:
    case SMA_HOST_OPENROUTER:
    case SMA_HOST_GROQ:
    case SMA_HOST_OLLAMA:
    case SMA_HOST_LOCAL:
        return true;
    default:
        return false;
    }
}

struct sma_str sma_decoder_progress(const struct sma_decoder *decoder, bool *ret_is_send_text)
{
    *ret_is_send_text = false;
    if (decoder->latest_send_at > 0) {
        const struct sma_answer_part *part = &decoder->parts[decoder->latest_send_at - 1];
        *ret_is_send_text = true;
        return filled(&part->send_text.text);
    }
    if (decoder->content.len == 0)
        return filled(&decoder->refusal);
    struct sma_str visible = sma_visible_text(filled(&decoder->content));
    return may_write_calls(decoder) ? sma_decode_before_call_text(visible) : visible;
}

/* A missing or repeated id gets one of our own: results are matched by it. */
static void settle_id(struct sma_decoder *decoder, size_t number)
{
    struct sma_answer_part *part = &decoder->parts[number];
    bool is_taken = part->id.len == 0;
    for (size_t i = 0; i < number && !is_taken; i++)
        is_taken = decoder->parts[i].kind == SMA_ANSWER_PART_CALL &&
                   sma_str_is_equal(sma_buf_str(&decoder->parts[i].id), sma_buf_str(&part->id));
    if (!is_taken)
        return;
    sma_buf_clear(&part->id);
    sma_buf_printf(&part->id, "call_%llx_%zu", (unsigned long long)decoder->id_seed, number + 1);
    sma_decode_fail_for(decoder, part->id.err);
}

static void settle_cut(struct sma_decoder *decoder, struct sma_answer_part *part)
{
    part->is_invalid = part->is_cut = true;
    sma_buf_printf(&part->problem, "the answer ended inside of them, after %zu bytes",
                   part->content.len);
    if (part->content.len == 0)
        sma_buf_put_text(&part->content,
                         "{}"); /* nobody takes it for a call that may run: is_invalid */
    sma_decode_fail_for(decoder, part->content.err);
}

/* Replace the arguments by others, made of them. */
static void settle_as(struct sma_decoder *decoder, struct sma_answer_part *part,
                      struct sma_str text)
{
    sma_buf_clear(&part->content);
    sma_buf_put_str(&part->content, text);
    sma_decode_fail_for(decoder, part->content.err);
}

static void settle_broken(struct sma_decoder *decoder, struct sma_answer_part *part,
                          struct sma_str whole)
{
    /* Some servers repeat the whole arguments in the last piece. */
    struct sma_str last = {part->content.ptr + part->last_piece,
                           part->content.len - part->last_piece};
    if (part->last_piece > 0 && sma_json_is_object(last)) {
        memmove(part->content.ptr, last.ptr, last.len);
        part->content.len = last.len;
        return;
    }
    struct sma_buf fixed;
    sma_buf_init(&fixed, 6 * (size_t)SMA_ANSWER_BYTES_MAX);
    if (sma_arguments_repair(whole, &fixed)) {
        settle_as(decoder, part, sma_buf_str(&fixed));
    } else {
        part->is_invalid = true;
        sma_arguments_problem(whole, &part->problem);
    }
    sma_buf_fini(&fixed);
}

static void settle_call(struct sma_decoder *decoder, size_t number)
{
    struct sma_answer_part *part = &decoder->parts[number];
    bool is_open = decoder->is_length && !part->is_closed && number + 1 == decoder->part_count;
    settle_id(decoder, number);
    struct sma_str whole = sma_str_trim(filled(&part->content));
    if (whole.len == 0 && is_open)
        settle_cut(decoder, part);
    else if (whole.len == 0)
        settle_as(decoder, part, SMA_STR("{}"));
    else if (sma_json_is_object(whole))
        return;
    else if (decoder->is_length)
        settle_cut(decoder, part);
    else
        settle_broken(decoder, part, whole);
}

static void settle_calls(struct sma_decoder *decoder)
{
    size_t count = 0;
    for (size_t i = 0; i < decoder->part_count; i++)
        if (decoder->parts[i].kind == SMA_ANSWER_PART_CALL) {
            settle_call(decoder, i);
            count++;
        }
    if (count == 0 || !sma_decode_has_calls(decoder))
        return;
    decoder->calls = calloc(count, sizeof *decoder->calls);
    if (decoder->calls == NULL) {
        sma_decode_fail(decoder, SMA_DECODED_NOMEM);
        return;
    }
    for (size_t i = 0; i < decoder->part_count; i++) {
        const struct sma_answer_part *part = &decoder->parts[i];
        if (part->kind != SMA_ANSWER_PART_CALL)
            continue;
        decoder->calls[decoder->call_count++] = (struct sma_model_call){
            .id = filled(&part->id),
            .name = filled(&part->name),
            .arguments = filled(&part->content),
            .is_invalid = part->is_invalid,
            .is_cut = part->is_cut,
            .problem = filled(&part->problem),
        };
    }
}

static void put_fragment(struct sma_decoder *decoder)
{
    if (decoder->status != SMA_DECODED_OK || decoder->is_refused)
        return; /* a refused turn is not replayed */
    if (decoder->api == SMA_LLM_RESPONSES)
        sma_decode_responses_fragment(decoder);
    else if (decoder->api == SMA_LLM_MESSAGES)
        sma_decode_messages_fragment(decoder);
    else
        sma_decode_chat_fragment(decoder);
    sma_decode_fail_for(decoder, decoder->fragment.err);
}

/* What of the text is shown: without thoughts, and without calls that the server left in it. */
static void settle_text(struct sma_decoder *decoder)
{
    decoder->shown = sma_visible_text(filled(&decoder->content));
    if (!may_write_calls(decoder) || decoder->part_count > 0 || !sma_decode_has_calls(decoder))
        return;
    decoder->shown = decoder->is_length ? sma_decode_before_call_text(decoder->shown)
                                        : sma_decode_take_call_text(decoder, decoder->shown);
}

/* An answer must have ended in a way that somebody meant. */
static void settle_end(struct sma_decoder *decoder)
{
    bool is_empty = decoder->content.len == 0 && decoder->refusal.len == 0;
    bool is_whole = true;
    decoder->is_refused |= decoder->refusal.len > 0;
    for (size_t i = 0; i < decoder->part_count; i++) {
        const struct sma_answer_part *part = &decoder->parts[i];
        if (part->kind != SMA_ANSWER_PART_CALL)
            continue;
        is_empty = false;
        is_whole &= sma_json_is_object(sma_str_trim(filled(&part->content)));
    }
    if (decoder->is_odd_reason && is_empty)
        sma_decode_fail(decoder, SMA_DECODED_ERROR);
    if (!decoder->is_finishing || (!decoder->has_reason && (is_empty || !is_whole)))
        sma_decode_fail(decoder, SMA_DECODED_TRUNCATED);
}

static struct sma_str text_of(const struct sma_decoder *decoder)
{
    if (decoder->is_refused || decoder->content.len == 0)
        return filled(&decoder->refusal);
    return decoder->shown;
}

static enum sma_finish finish_of(const struct sma_decoder *decoder)
{
    if (decoder->is_refused)
        return SMA_FINISH_REFUSED;
    if (decoder->is_filtered)
        return SMA_FINISH_FILTERED;
    if (decoder->is_length)
        return SMA_FINISH_LENGTH;
    return decoder->call_count > 0 ? SMA_FINISH_TOOLS : SMA_FINISH_STOP;
}

const struct sma_decoded *sma_decoder_finish(struct sma_decoder *decoder)
{
    struct sma_decoded *decoded = &decoder->decoded;
    if (decoder->is_finished)
        return decoded;
    decoder->is_finished = true;
    if (decoder->is_document && !decoder->is_done)
        on_document(decoder);
    else if (!decoder->is_done)
        sma_decode_fail_for(decoder, sma_sse_finish(&decoder->sse));
    if (decoder->status == SMA_DECODED_TRUNCATED && decoder->is_finishing && !decoder->is_document)
        decoder->status = SMA_DECODED_OK; /* complete but for a torn event after the end */
    if (decoder->status == SMA_DECODED_OK)
        settle_end(decoder);
    settle_text(decoder);
    settle_calls(decoder);
    put_fragment(decoder);
    decoded->status = decoder->status;
    decoded->text = text_of(decoder);
    decoded->reasoning = filled(&decoder->reasoning);
    decoded->fragment = filled(&decoder->fragment);
    decoded->calls = decoder->calls;
    decoded->call_count = decoder->status == SMA_DECODED_OK ? decoder->call_count : 0;
    decoded->finish = finish_of(decoder);
    return decoded;
}

void sma_decode_set_prompt(struct sma_usage *usage, uint64_t prompt, uint64_t cached,
                           uint64_t written)
{
    usage->cached = cached < prompt ? cached : prompt;
    usage->written = written < prompt - usage->cached ? written : prompt - usage->cached;
    usage->input = prompt - usage->cached - usage->written;
}
