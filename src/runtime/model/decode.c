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
    snprintf(decoder->model, sizeof decoder->model, "%s", llm->model == NULL ? "" : llm->model);
    sma_profile_find(llm, &decoder->profile);
    sma_sse_init(&decoder->sse, on_event, decoder);
    sma_buf_init(&decoder->document, SMA_SSE_LINE_BYTES_MAX);
    sma_buf_init(&decoder->content, SMA_ANSWER_BYTES_MAX);
    sma_buf_init(&decoder->visible, SMA_ANSWER_BYTES_MAX);
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
        sma_buf_fini(&part->name_rest);
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
    json_decref(decoder->tools);
    decoder->extra = decoder->tools = NULL;
    decoder->has_tools = false;
}

void sma_decoder_destroy(struct sma_decoder *decoder)
{
    if (decoder == NULL)
        return;
    drop_parts(decoder);
    sma_sse_fini(&decoder->sse);
    sma_buf_fini(&decoder->document);
    sma_buf_fini(&decoder->content);
    sma_buf_fini(&decoder->visible);
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

static struct sma_str filled(const struct sma_buf *buf)
{
    return (struct sma_str){buf->len > 0 ? buf->ptr : "", buf->len};
}

void sma_decoder_reset(struct sma_decoder *decoder, uint64_t id_seed)
{
    drop_parts(decoder);
    sma_sse_reset(&decoder->sse);
    forget(&decoder->sse.line);
    forget(&decoder->sse.data);
    forget(&decoder->document);
    forget(&decoder->content);
    forget(&decoder->visible);
    forget(&decoder->reasoning);
    forget(&decoder->refusal);
    forget(&decoder->fragment);
    free(decoder->calls);
    decoder->calls = NULL;
    memset(&decoder->id_seed, 0,
           offsetof(struct sma_decoder, content) - offsetof(struct sma_decoder, id_seed));
    decoder->id_seed = id_seed;
}

void sma_decoder_end_cleanly(struct sma_decoder *decoder)
{
    decoder->is_clean_end = true;
}

void sma_decoder_set_forms(struct sma_decoder *decoder, uint8_t forms)
{
    decoder->forms = forms;
}

bool sma_decoder_read_failed(struct sma_decoder *decoder, struct sma_str body)
{
    if (decoder->is_finished || body.len == 0 ||
        memmem(body.ptr, body.len, "failed_generation", 17) == NULL)
        return false;
    json_t *root = sma_json_parse(sma_str_trim(body));
    struct sma_str text = sma_json_str(json_object_get(root, "error"), "failed_generation");
    sma_decode_add(decoder, &decoder->content, text);
    json_decref(root);
    struct sma_str left = sma_decode_take_call_text(decoder, filled(&decoder->content), false);
    bool is_call = decoder->part_count > 0 && !decoder->parts[0].is_unreadable;
    if (is_call) {
        decoder->content.len = left.len;
        decoder->is_finishing = decoder->has_reason = decoder->is_done = true;
    }
    return is_call;
}

void sma_decoder_set_request(struct sma_decoder *decoder, struct sma_str request)
{
    decoder->request = request;
}

/* -- input ------------------------------------------------------------------------------------- */
static void on_value(struct sma_decoder *decoder, struct sma_str name, json_t *event)
{
    if (json_is_array(event) && json_array_size(event) == 1)
        event = json_array_get(event, 0);
    if (!json_is_object(event))
        decoder->odd_count++;
    else if (decoder->api != SMA_LLM_CHAT && sma_decode_is_error(event))
        sma_decode_fail_with(decoder, event);
    else if (decoder->api == SMA_LLM_RESPONSES)
        sma_decode_responses_event(decoder, name, event);
    else if (decoder->api == SMA_LLM_MESSAGES)
        sma_decode_messages_event(decoder, name, event);
    else
        sma_decode_chat_event(decoder, name, event);
}

/* Cut in the middle of an event: the end of the stream decides, not this. A comment that lost its
 * place is passed over; a broken object was a piece of the answer, wherever it broke: an answer
 * without it would look whole. */
static void on_broken(struct sma_decoder *decoder, struct sma_str data)
{
    if (decoder->is_finished)
        sma_decode_fail(decoder, SMA_DECODED_TRUNCATED);
    else if (sma_str_starts_with(data, SMA_STR("{")))
        sma_decode_fail(decoder, SMA_DECODED_GARBAGE);
    decoder->odd_count++;
}

/* One value, or several on lines of their own: servers forget the empty line between events, and
 * the word in front of them. */
static void on_event(void *user, struct sma_str name, struct sma_str data)
{
    struct sma_decoder *decoder = user;
    decoder->event_count += !decoder->is_done;
    while (!decoder->is_done) {
        data = sma_str_trim(data);
        while (sma_str_starts_with(data, SMA_STR("data:")))
            data = sma_str_trim((struct sma_str){data.ptr + 5, data.len - 5});
        if (data.len >= 6 &&
            sma_str_is_equal_nocase((struct sma_str){data.ptr, 6}, SMA_STR("[DONE]"))) {
            /* The explicit end of a chat stream, also where the reason to stop was left out. */
            decoder->is_finishing |=
                decoder->api == SMA_LLM_CHAT || decoder->api == SMA_LLM_OFFLINE;
            decoder->is_done = true;
            return;
        }
        size_t len = data.len;
        json_t *event = sma_json_parse(data);
        if (event == NULL && memchr(data.ptr, '\n', data.len) != NULL)
            event = sma_json_parse_first(data, &len);
        if (event == NULL)
            on_broken(decoder, data);
        else
            on_value(decoder, name, event);
        json_decref(event);
        data = (struct sma_str){data.ptr + len, data.len - len};
        if (event == NULL || data.len == 0)
            return;
    }
}

static void on_document(struct sma_decoder *decoder)
{
    struct sma_str text = sma_str_trim(sma_buf_str(&decoder->document));
    const char *line = memchr(text.ptr, '\n', text.len);
    json_t *document = sma_json_parse(text);
    if (document == NULL && line != NULL && line > text.ptr && line[-1] != '{') {
        on_event(decoder, SMA_STR(""), text); /* a value a line (Ollama) */
        return;
    }
    if (document == NULL) {
        sma_decode_fail(decoder, SMA_DECODED_TRUNCATED);
        return;
    }
    const json_t *error = json_object_get(document, "error");
    if (json_is_array(document) || json_object_size(error) > 0 || json_is_string(error))
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
            snprintf(decoder->decoded.error.said, sizeof decoder->decoded.error.said, "<");
            sma_decode_fail(decoder, SMA_DECODED_GARBAGE);
        }
    }
    if (decoder->is_done || len == 0)
        return;
    if (!decoder->is_document) {
        if (decoder->event_count == 0 && decoder->document.len < SMA_WIRE_SAID_BYTES_MAX)
            sma_buf_put(&decoder->document, bytes, len); /* it may be a sentence */
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
/* Models whose templates begin the thought themselves: what arrives first may be one until it ends,
 * where the server does not tell it apart. Source: chat templates of the families named. */
static bool may_think_first(const struct sma_decoder *decoder)
{
    static const char *const families[] = {"deepseek-r1", "-r1-",   "qwq",      "thinking",
                                           "minimax-m",   "glm-z1", "nemotron", "exaone-deep"};
    bool may = decoder->forgets_begin;
    for (size_t i = 0; i < SMA_COUNT_OF(families) && !may; i++)
        may = strcasestr(decoder->model, families[i]) != NULL;
    return may && decoder->reasoning.len == 0 && !decoder->is_finishing;
}

struct sma_str sma_decoder_progress(struct sma_decoder *decoder, bool *ret_is_send_text)
{
    *ret_is_send_text = false;
    if (decoder->latest_send_at > 0) {
        const struct sma_answer_part *part = &decoder->parts[decoder->latest_send_at - 1];
        *ret_is_send_text = true;
        return filled(&part->send_text.text);
    }
    if (decoder->content.len == 0)
        return filled(&decoder->refusal);
    struct sma_str content = filled(&decoder->content);
    content.len -= sma_decode_half_length(&decoder->content);
    struct sma_str visible =
        sma_notation_visible(content, decoder->request, false, &decoder->visible, NULL);
    if (visible.ptr == content.ptr && may_think_first(decoder))
        return (struct sma_str){"", 0};
    return sma_decode_before_call_text(decoder, visible, false);
}

#define CALL_ID_BYTES_MAX 24 /* so that a number behind it still fits everywhere */

/* Has the conversation seen this id, or the answer, in front of `number`? */
static bool is_id_taken(const struct sma_decoder *decoder, size_t number, struct sma_str id)
{
    bool is_taken = id.len == 0;
    struct sma_buf quoted;
    sma_buf_init(&quoted, 6 * id.len + 8);
    sma_buf_put_json_string(&quoted, id);
    is_taken |= decoder->request.len > 0 &&
                memmem(decoder->request.ptr, decoder->request.len, quoted.ptr, quoted.len) != NULL;
    sma_buf_fini(&quoted);
    for (size_t i = 0; i < number && !is_taken; i++)
        is_taken = decoder->parts[i].kind == SMA_ANSWER_PART_CALL &&
                   sma_str_is_equal(sma_buf_str(&decoder->parts[i].id), id);
    return is_taken;
}

/* A missing or repeated id gets one of our own: results are matched by it. "read_file:0" becomes
 * "read_file:1": Kimi counts the calls of a conversation so. */
static void settle_id(struct sma_decoder *decoder, size_t number)
{
    struct sma_answer_part *part = &decoder->parts[number];
    struct sma_str id = sma_buf_str(&part->id);
    /* OpenAI takes 40 bytes; LiteLLM keeps a signature there. */
    bool is_long = id.len > 40 && memmem(id.ptr, id.len, "__thought__", 11) == NULL;
    if (!is_long && !is_id_taken(decoder, number, id))
        return;
    const char *colon = id.len == 0 ? NULL : memrchr(id.ptr, ':', id.len);
    bool is_counted = colon != NULL && id.len <= 64;
    bool is_seen = !is_long && is_id_taken(decoder, 0, id);
    char base[80] = "";
    if (is_seen && id.len > 0 && (is_counted || id.len <= CALL_ID_BYTES_MAX))
        snprintf(base, sizeof base, "%.*s", (int)(is_counted ? colon - id.ptr : (int)id.len),
                 id.ptr);
    for (unsigned count = 1; base[0] != '\0' && count < 1000; count++) {
        char next[100];
        snprintf(next, sizeof next, is_counted ? "%s:%u" : "%s_%u", base, count);
        if (is_id_taken(decoder, number, sma_str(next)))
            continue;
        sma_buf_clear(&part->id);
        sma_buf_put_text(&part->id, next);
        return;
    }
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

#define OBJECT_COUNT_MAX 64

/* Whole objects one behind the other under one index: calls of the same tool each, once where the
 * server repeats the whole at the end, also as a string. false: they are something else. */
static bool settle_several(struct sma_decoder *decoder, size_t number, struct sma_str whole)
{
    json_t *several = json_array();
    size_t count = 0;
    bool is_read = true;
    while (is_read && (whole = sma_str_trim(whole)).len > 0) {
        size_t len = 0;
        bool is_known = false;
        json_t *value = ++count > OBJECT_COUNT_MAX ? NULL : sma_json_parse_first(whole, &len);
        if (json_is_string(value)) {
            json_t *inner = sma_json_parse(sma_json_str_of(value));
            json_decref(value);
            value = inner;
        }
        is_read = json_is_object(value);
        for (size_t i = 0; i < json_array_size(several); i++)
            is_known |= json_equal(value, json_array_get(several, i));
        if (is_read && !is_known && json_object_size(value) > 0)
            is_read = json_array_append(several, value) == 0;
        json_decref(value);
        whole = (struct sma_str){whole.ptr + len, whole.len - len};
    }
    is_read = is_read && count > 1 && json_array_size(several) > 0;
    for (size_t i = 0; i < json_array_size(several) && is_read; i++) {
        struct sma_answer_part *part =
            i == 0 ? NULL : sma_decode_add_part(decoder, SMA_ANSWER_PART_CALL);
        struct sma_answer_part *first = &decoder->parts[number];
        part = i == 0 ? first : part;
        if (part == NULL)
            break;
        if (i > 0)
            sma_buf_put_str(&part->name, sma_buf_str(&first->name));
        sma_buf_clear(&part->content);
        sma_decode_add_arguments_value(decoder, part, json_array_get(several, i));
    }
    json_decref(several);
    return is_read;
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
    if (!part->is_unreadable)
        sma_decode_settle_name(decoder, part);
    struct sma_str whole = sma_str_trim(filled(&part->content));
    if (whole.len == 0 && is_open)
        settle_cut(decoder, part);
    else if (whole.len == 0)
        settle_as(decoder, part, SMA_STR("{}"));
    else if (sma_json_is_object(whole))
        sma_decode_unwrap(decoder, part);
    else if (decoder->is_length)
        settle_cut(decoder, part);
    else if (!settle_several(decoder, number, whole))
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
            .is_invalid = part->is_invalid || part->is_unreadable,
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

/* Formats that send an answer back part by part: their texts become the one that is shown. */
static void settle_text_parts(struct sma_decoder *decoder)
{
    struct sma_answer_part *first = NULL;
    for (size_t i = 0; i < decoder->part_count; i++) {
        struct sma_answer_part *part = &decoder->parts[i];
        if (part->kind != SMA_ANSWER_PART_TEXT)
            continue;
        sma_buf_clear(&part->content);
        sma_buf_clear(&part->raw);
        first = first == NULL ? part : first;
    }
    if (first != NULL)
        sma_buf_put_str(&first->content, decoder->shown);
}

/* What of the text is shown: without thoughts, and without calls that the server left in it. */
static void settle_text(struct sma_decoder *decoder)
{
    struct sma_str content = filled(&decoder->content);
    bool is_whole = !decoder->is_length && decoder->status == SMA_DECODED_OK, has_calls = false;
    struct sma_buf thought;
    sma_buf_init(&thought, SMA_ANSWER_BYTES_MAX);
    for (size_t i = 0; i < decoder->part_count; i++)
        has_calls |= decoder->parts[i].kind == SMA_ANSWER_PART_CALL;
    decoder->shown =
        sma_notation_visible(content, decoder->request, is_whole, &decoder->visible, &thought);
    if (decoder->shown.ptr != content.ptr && decoder->reasoning.len == 0) {
        decoder->forgets_begin |= thought.len > 0 && memcmp(thought.ptr, content.ptr, 1) == 0 &&
                                  sma_notation_at(content, sma_notation_skip_space(content, 0),
                                                  SMA_NOTATIONS(SMA_NOTATION_THOUGHT))
                                          .kind == SMA_NOTATION_NONE;
        sma_buf_put_str(&decoder->reasoning, sma_str_trim(sma_buf_str(&thought)));
    }
    sma_buf_fini(&thought);
    if (decoder->is_length)
        decoder->shown = sma_decode_before_call_text(decoder, decoder->shown, true);
    else if (sma_decode_has_calls(decoder))
        decoder->shown = sma_decode_take_call_text(decoder, decoder->shown, has_calls);
    /* A server that takes all for a thought up to its end takes the call behind it for one, too. */
    if (is_whole && !has_calls && decoder->content.len == 0 && decoder->reasoning.len > 0 &&
        json_array_size(sma_decode_tools(decoder)) > 0)
        (void)sma_decode_take_call_text(decoder, sma_buf_str(&decoder->reasoning), false);
    if (decoder->api != SMA_LLM_CHAT && !sma_str_is_equal(decoder->shown, content))
        settle_text_parts(decoder);
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
    if (decoder->odd_count > 0 && decoder->odd_count == decoder->event_count)
        sma_decode_fail(decoder, SMA_DECODED_GARBAGE);
    decoder->is_finishing |= decoder->is_clean_end && !is_empty && is_whole;
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
    struct sma_str said = sma_str_trim(filled(&decoder->document));
    if (decoder->is_clean_end && decoder->event_count == 0 && !decoder->is_document &&
        said.len > 0 && !sma_str_starts_with(said, SMA_STR(":")) &&
        memchr(said.ptr, ':', said.len < 8 ? said.len : 8) == NULL) {
        sma_wire_error_parse(said, &decoded->error); /* an error as plain text */
        sma_decode_fail(decoder, SMA_DECODED_ERROR);
    }
    if (decoder->status == SMA_DECODED_TRUNCATED && decoder->is_finishing && !decoder->is_document)
        decoder->status = SMA_DECODED_OK; /* complete but for a torn event after the end */
    if (sma_decode_half_length(&decoder->content) > 0) /* the other half never came */
        sma_decode_put(&decoder->content, SMA_STR(" "));
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
