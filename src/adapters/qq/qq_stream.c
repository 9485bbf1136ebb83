/*
 * qq_stream.c — answers that grow in private chats: one message in pieces (stream_messages).
 *
 * The platform takes nothing back but the whole message, within two minutes: what was shown must
 * be how the text begins in the end. So only whole lines are shown, and no more than the first
 * part of a row has in any case, however the text is cut. The last piece is the row's first part.
 * A text that begins otherwise (words before a tool, another text after a crash) is sent as a
 * message of its own, and the streamed one recalled, or ended where that is too late. A streamed
 * message is one of the few answers that a message allows: a run streams into two at most, so that
 * the last answers are left for its end.
 */
#include "qq_priv.h"

#include "runtime/markup/markup.h"
#include "sma/text.h"

#include <stdio.h>

#define FIRST_MS 2000
#define CHANGE_MS 1000 /* the platform calls some 300 ms too fast */
#define REST_MS 400
#define PER_SECOND 25 /* of the 50 that it takes */
#define SHOWN_UNITS_MAX \
    900              /* the first part is cut behind the half of QQ_PART_UNITS, whatever follows */
#define RECALL_S 110 /* of the two minutes */
#define USED_MAX 1   /* answers of a run before a streamed one: two are left then */
#define PIECE_GOES_ON 1
#define PIECE_LAST 10
#define KEPT "kept" /* entity: it was not recalled, so it is ended */
#define NO_RIGHT 11253

static struct qq *qq_of(const struct sma_stream *stream)
{
    return stream->streams->home.state;
}

/* -- answers that a run has used --------------------------------------------------------------- */
static struct qq_used *used_of(struct qq *qq, uint64_t seq)
{
    for (size_t i = 0; i < QQ_USED_COUNT_MAX; i++)
        if (qq->used[i].seq == seq)
            return &qq->used[i];
    return NULL;
}

void qq_stream_note_answer(struct qq *qq, uint64_t seq)
{
    struct qq_used *used = seq == 0 ? NULL : used_of(qq, seq);
    if (used == NULL && seq != 0) {
        used = &qq->used[qq->used_next];
        qq->used_next = (qq->used_next + 1) % QQ_USED_COUNT_MAX;
        *used = (struct qq_used){.seq = seq};
    }
    if (used != NULL)
        used->count++;
}

/* -- what may be shown ------------------------------------------------------------------------- */
/* The whole lines of the text that are few enough. */
static struct sma_str whole_lines(struct sma_str text)
{
    struct sma_str shown = {text.ptr, 0};
    size_t units = 0;
    for (size_t at = 0; at < text.len;) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        if (end == NULL)
            break;
        size_t next = (size_t)(end - text.ptr) + 1;
        units += sma_utf16_length((struct sma_str){text.ptr + at, next - at});
        if (units > SHOWN_UNITS_MAX)
            break;
        shown.len = at = next;
    }
    return shown;
}

static bool shows(const void *state, const struct sma_progress *progress)
{
    const struct qq *qq = state;
    const struct sma_route *route = &progress->route;
    bool is_answer = route->message_id.len > 0 &&
                     !sma_str_starts_with(route->message_id, SMA_STR(QQ_EVENT_REPLY_PREFIX));
    return progress->kind == SMA_PROGRESS_TEXT && is_answer && !qq->base.is_streaming_off &&
           !qq->has_no_streams && qq->settings.is_markdown &&
           !sma_sendings_is_barred(&qq->base.sendings, SMA_MEND_MARKS) &&
           sma_str_is_equal(route->chat_type, SMA_STR("c2c")) &&
           !sma_text_is_blank(whole_lines(progress->text));
}

struct sma_str qq_stream_words(const struct qq_part *part)
{
    return part->markdown.len > 0 ? part->markdown : part->plain;
}

/* How the row will begin, as far as that is certain. */
static bool put_shown(const struct sma_stream *stream, struct sma_buf *words)
{
    struct sma_buf bytes;
    struct qq_part part;
    sma_buf_init(&bytes, 4 * SMA_STREAM_TEXT_BYTES_MAX);
    bool is_text =
        sma_stream_put_part(stream, qq_render, whole_lines(sma_buf_str(&stream->text)), &bytes) &&
        qq_part_decode(sma_buf_str(&bytes), &part) == SMA_ERR_OK && part.kind == QQ_PART_TEXT;
    if (is_text)
        sma_buf_put_str(words, qq_stream_words(&part));
    sma_buf_fini(&bytes);
    return is_text && words->err == SMA_ERR_OK;
}

bool qq_stream_may_become(const struct sma_stream *stream, const struct qq_part *part)
{
    struct sma_str shown = {stream->shown.ptr, stream->shown_len};
    return stream->is_left || sma_str_starts_with(qq_stream_words(part), shown);
}

/* -- requests ---------------------------------------------------------------------------------- */
/* Of the stream alone: its key was made for it, so no other answer has the same one. */
static uint32_t msg_seq_of(const struct sma_stream *stream)
{
    static const uint8_t key[16] = "qq stream seq"; /* no secret: it only has to spread */
    return (uint32_t)(sma_siphash(key, stream->key, strlen(stream->key)) % INT32_MAX) + 1;
}

struct piece
{
    struct sma_str words;
    const char *mode;
    int state;
    uint32_t index;
};

static void put_piece(const struct sma_stream *stream, const struct piece *piece,
                      struct sma_buf *body)
{
    sma_buf_printf(body,
                   "{\"input_mode\":\"%s\",\"input_state\":%d,\"index\":%u,"
                   "\"content_type\":\"markdown\",\"content_raw\":",
                   piece->mode, piece->state, piece->index);
    sma_buf_put_json_string(body, piece->words);
    sma_buf_put_json_key(body, "msg_id");
    sma_buf_put_json_string(body, sma_str(stream->message_id));
    sma_buf_put_json_key(body, "msg_seq");
    sma_buf_put_u64(body, msg_seq_of(stream));
    if (stream->handle[0] != '\0') {
        sma_buf_put_json_key(body, "stream_msg_id");
        sma_buf_put_json_string(body, sma_str(stream->handle));
    }
    sma_buf_put_char(body, '}');
}

/* The words go to shown; shown_len follows when they are taken. @return whether there are new
 * ones */
static bool put_growing(struct sma_stream *stream, struct sma_buf *body)
{
    struct sma_buf words;
    struct sma_str shown = {stream->shown.ptr, stream->shown_len};
    sma_buf_init(&words, SMA_STREAM_TEXT_BYTES_MAX);
    bool is_new = !stream->is_left && put_shown(stream, &words) && words.len > shown.len &&
                  sma_str_starts_with(sma_buf_str(&words), shown);
    if (is_new) {
        put_piece(stream,
                  &(struct piece){.words = sma_buf_str(&words),
                                  .mode = "replace",
                                  .state = PIECE_GOES_ON,
                                  .index = stream->number},
                  body);
        sma_buf_clear(&stream->shown);
        sma_buf_put_str(&stream->shown, sma_buf_str(&words));
    }
    sma_buf_fini(&words);
    return is_new;
}

void qq_stream_put_last(const struct sma_stream *stream, struct sma_str words, bool is_again,
                        struct sma_buf *body)
{
    put_piece(stream,
              &(struct piece){.words = words,
                              .mode = "replace",
                              .state = PIECE_LAST,
                              .index = stream->number + !is_again},
              body);
}

void qq_stream_put_path(const struct sma_stream *stream, struct sma_buf *path)
{
    struct sma_route route = sma_stream_route(stream);
    qq_put_media_path(path, &route, "stream_messages");
}

static const char *put_end(const struct sma_stream *stream, struct sma_buf *path,
                           struct sma_buf *body)
{
    struct sma_route route = sma_stream_route(stream);
    int64_t age_ms = sma_ctx_wall(stream->streams->home.ctx) - stream->made_wall_ms;
    if (stream->entity[0] == '\0' && age_ms >= 0 && age_ms < RECALL_S * INT64_C(1000)) {
        qq_put_send_path(path, &route);
        sma_buf_put_char(path, '/');
        sma_buf_put_file_name(path, sma_str(stream->handle));
        return "DELETE";
    }
    qq_stream_put_path(stream, path);
    put_piece(stream,
              &(struct piece){.words = SMA_STR("\xE2\x80\xA6"),
                              .mode = "append",
                              .state = PIECE_LAST,
                              .index = stream->number + 1},
              body);
    return "POST";
}

static const char *put(struct sma_stream *stream, enum sma_stream_step step, struct sma_buf *path,
                       struct sma_buf *body)
{
    const struct qq_used *used = used_of(qq_of(stream), stream->seq);
    if (step == SMA_STREAM_PREPARE)
        return NULL;
    if (step == SMA_STREAM_END)
        return put_end(stream, path, body);
    if (step == SMA_STREAM_MAKE && used != NULL && used->count > USED_MAX)
        return NULL;
    if (!put_growing(stream, body))
        return NULL;
    qq_stream_put_path(stream, path);
    return "POST";
}

/* -- answers ----------------------------------------------------------------------------------- */
static void note_no_right(struct qq *qq, const struct sma_answered *answered, int status)
{
    bool has_none = answered->code == NO_RIGHT || status == 404 || status == 405;
    if (has_none && !qq->has_no_streams)
        sma_platform_log(&qq->base, SMA_LOG_INFO,
                         "answers are not shown while they are written: the bot has no right to "
                         "stream messages");
    qq->has_no_streams |= has_none;
}

static void read_made(struct sma_stream *stream, const struct sma_net_answer *answer,
                      struct sma_answered *answered)
{
    struct qq *qq = qq_of(stream);
    bool is_missing = answer->end == SMA_NET_ANSWERED && answered->act == SMA_ACT_OWNER &&
                      (answer->status == 404 || answer->status == 405);
    if (is_missing) /* of this call alone: an older gateway */
        answered->attempt_class = SMA_ATTEMPT_GIVE_UP;
    if (answered->attempt_class == SMA_ATTEMPT_GIVE_UP)
        note_no_right(qq, answered, answer->status);
    if (answered->attempt_class == SMA_ATTEMPT_SENT && answered->code == 0)
        SMA_STREAM_SET(stream->handle, sma_str(answered->message_id));
    if (answered->attempt_class == SMA_ATTEMPT_SENT)
        qq_stream_note_answer(qq, stream->seq);
}

/* Refused: the piece was not taken, so its number is free. Not heard of: nobody knows what is
 * shown. Either way the message waits for its last piece. */
static void read_changed(struct sma_stream *stream, struct sma_answered *answered)
{
    if (answered->attempt_class == SMA_ATTEMPT_SENT)
        return;
    if (answered->attempt_class == SMA_ATTEMPT_UNKNOWN)
        stream->is_left = true;
    else
        stream->number--;
    if (answered->attempt_class == SMA_ATTEMPT_GIVE_UP ||
        answered->attempt_class == SMA_ATTEMPT_UNKNOWN) {
        stream->is_left = true;
        answered->attempt_class = SMA_ATTEMPT_SENT;
    }
}

static void read_ended(struct sma_stream *stream, struct sma_answered *answered)
{
    if (answered->attempt_class != SMA_ATTEMPT_GIVE_UP || stream->entity[0] != '\0')
        return;
    SMA_STREAM_SET(stream->entity, SMA_STR(KEPT));
    answered->attempt_class = SMA_ATTEMPT_RETRY;
}

static void read_answer(struct sma_stream *stream, enum sma_stream_step step,
                        const struct sma_net_answer *answer, struct sma_stream_outcome *ret_outcome)
{
    struct sma_answered answered;
    sma_verdict(&qq_verdicts, NULL, answer, 0, &answered);
    bool is_taken = answered.attempt_class == SMA_ATTEMPT_SENT;
    if (step == SMA_STREAM_MAKE)
        read_made(stream, answer, &answered);
    else if (step == SMA_STREAM_CHANGE)
        read_changed(stream, &answered);
    else
        read_ended(stream, &answered);
    if (is_taken && step != SMA_STREAM_END)
        stream->shown_len = stream->shown.len;
    *ret_outcome = (struct sma_stream_outcome){.attempt_class = answered.attempt_class,
                                               .retry_after_ms = answered.retry_after_ms,
                                               .is_for_all = !answered.is_chat_only};
    snprintf(ret_outcome->error, sizeof ret_outcome->error, "%.190s", answered.error);
}

const struct sma_stream_ops qq_stream_ops = {
    .file = "streams.json",
    .first_ms = FIRST_MS,
    .change_ms = CHANGE_MS,
    .rest_ms = REST_MS,
    .per_second = PER_SECOND,
    .is_counted = true,
    .shows = shows,
    .put = put,
    .read = read_answer,
};
