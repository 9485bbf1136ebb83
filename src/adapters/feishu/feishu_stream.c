/*
 * feishu_stream.c — the card of a run that lasts: the text is typed into it, and it becomes the
 * answer (adapters/common/stream.h).
 *
 * A card of CardKit is made first (PREPARE, nobody sees it), sent under the stream's own uuid, so
 * that it is there once however often that is repeated, and changed by requests with rising
 * numbers, which cost nothing of what a chat may be sent. The last change is the whole card as it
 * would have been sent, and it ends the streaming. Each life begins its numbers far behind those of
 * the last one. An app without the right to CardKit, and `streaming: "off"`, show a plain card that
 * is replaced by PATCH; its `entity` is "-".
 */
#include "feishu_priv.h"

#include "runtime/markup/markup.h"
#include "runtime/text/attach_text.h"
#include "sma/text.h"

#include <stdio.h>

#define FIRST_MS 2000
#define CHANGE_MS 1000 /* the platform allows ten a second for one card, five by PATCH */
#define REST_MS 200
#define PER_SECOND 25 /* of the 50 that an app has */
#define LIFE_STEP 100000
#define STREAM_S \
    (9 * 60)            /* streaming ends by itself after ten minutes; then the card is replaced */
#define AGAIN_STEP 1000 /* a number that was not taken: so far behind it the next one is */
#define ELLIPSIS "\xE2\x80\xA6"

static struct feishu *feishu_of(const struct sma_stream *stream)
{
    return stream->streams->home.state;
}

bool feishu_stream_is_plain(const struct sma_stream *stream)
{
    bool is_old = stream->entity[0] == '\0' && stream->made_wall_ms != 0; /* knew no CardKit */
    return is_old || strcmp(stream->entity, FEISHU_STREAM_PLAIN) == 0;
}

static bool has_kit(const struct feishu *feishu)
{
    return !feishu->base.is_streaming_off && !feishu->has_no_kit;
}

/* In groups plain cards are shown on request alone: there a change counts as a message. */
static bool shows(const void *state, const struct sma_progress *progress)
{
    const struct feishu *feishu = state;
    uint8_t mode = feishu->settings.progress;
    bool is_text = progress->kind == SMA_PROGRESS_TEXT && progress->text.len > 0;
    bool is_auto = mode == FEISHU_PROGRESS_AUTO;
    if (!feishu_is_group(&progress->route))
        return mode == FEISHU_PROGRESS_CARD || is_auto;
    return mode == FEISHU_PROGRESS_CARD || (is_auto && is_text && has_kit(feishu));
}

/* -- the words --------------------------------------------------------------------------------- */
/* The first part of the text so far, as it would be sent; *ret_text points into *bytes. */
static bool render_text(const struct sma_stream *stream, struct sma_buf *bytes,
                        struct sma_str *ret_text)
{
    struct sma_buf rest;
    struct feishu_part part;
    sma_buf_init(&rest, stream->text.len + 16);
    (void)sma_attach_put_rest(&rest, sma_buf_str(&stream->text), true);
    bool is_text = !sma_text_is_blank(sma_buf_str(&rest)) && rest.err == SMA_ERR_OK &&
                   sma_stream_put_part(stream, feishu_render, sma_buf_str(&rest), bytes) &&
                   feishu_part_decode(sma_buf_str(bytes), &part) == SMA_ERR_OK &&
                   (part.kind == FEISHU_PART_TEXT || part.kind == FEISHU_PART_CARD);
    sma_buf_fini(&rest);
    if (is_text)
        *ret_text = part.text;
    return is_text;
}

/* What the card is to show: words, a tool's name, or that there is something to come. */
static void put_words(const struct sma_stream *stream, struct sma_buf *words)
{
    struct sma_buf bytes;
    struct sma_str text = {"", 0};
    sma_buf_init(&bytes, 4 * SMA_STREAM_TEXT_BYTES_MAX);
    bool is_text = stream->kind == SMA_PROGRESS_TEXT && render_text(stream, &bytes, &text);
    bool is_tool = stream->kind == SMA_PROGRESS_TOOL && stream->text.len > 0;
    if (is_text) {
        text.len = sma_utf8_cut(text, FEISHU_CARD_BODY_BYTES_MAX / 2);
        sma_buf_put_str(words, text);
    }
    if (!is_text || feishu_stream_is_plain(stream))
        sma_buf_put_text(words, is_text ? " " ELLIPSIS : ELLIPSIS);
    if (is_tool)
        sma_buf_printf(words, " `%.*s`", (int)sma_utf8_cut(sma_buf_str(&stream->text), 100),
                       stream->text.ptr);
    sma_buf_fini(&bytes);
}

/* A tool's name is shown until there are words: those are typed, and taking them away would be a
 * flicker. */
static bool is_new(const struct sma_stream *stream, struct sma_str words)
{
    struct sma_str shown = sma_buf_str(&stream->shown);
    bool has_words = shown.len > 0 && !sma_str_starts_with(shown, SMA_STR(ELLIPSIS));
    bool is_step =
        stream->kind != SMA_PROGRESS_TEXT && has_words && !feishu_stream_is_plain(stream);
    return !is_step && !sma_str_is_equal(shown, words);
}

static void note_shown(struct sma_stream *stream, struct sma_str words)
{
    sma_buf_clear(&stream->shown);
    sma_buf_put_str(&stream->shown, words);
}

/* -- requests ---------------------------------------------------------------------------------- */
static const char *put_prepare(struct sma_stream *stream, struct sma_buf *path,
                               struct sma_buf *body)
{
    struct sma_buf words;
    if (stream->entity[0] == '\0' && !has_kit(feishu_of(stream)))
        SMA_STREAM_SET(stream->entity, SMA_STR(FEISHU_STREAM_PLAIN));
    if (stream->entity[0] != '\0')
        return NULL;
    sma_buf_init(&words, SMA_STREAM_TEXT_BYTES_MAX);
    put_words(stream, &words);
    feishu_put_kit_path(path, SMA_STR(""), false);
    feishu_put_kit_create(body, sma_buf_str(&words));
    note_shown(stream, sma_buf_str(&words));
    sma_buf_fini(&words);
    return "POST";
}

static const char *put_make(struct sma_stream *stream, struct sma_buf *path, struct sma_buf *body)
{
    struct sma_route route = sma_stream_route(stream);
    struct feishu_target target = feishu_target_make(&route, 0);
    struct sma_buf words;
    feishu_put_send_path(path, &target);
    if (!feishu_stream_is_plain(stream)) {
        stream->is_news = true; /* what came since it was made */
        feishu_put_kit_message(body, &target, sma_str(stream->entity), sma_str(stream->key));
        return "POST";
    }
    sma_buf_init(&words, SMA_STREAM_TEXT_BYTES_MAX);
    put_words(stream, &words);
    feishu_put_card_message(body, &target, &(struct feishu_card){.markdown = sma_buf_str(&words)},
                            sma_str(stream->key));
    note_shown(stream, sma_buf_str(&words));
    sma_buf_fini(&words);
    return "POST";
}

static bool is_typing_over(const struct sma_stream *stream)
{
    uint64_t now_ns = sma_ctx_now(stream->streams->home.ctx);
    return stream->made_ns == 0 || now_ns - stream->made_ns > STREAM_S * SMA_NS_PER_S;
}

static const char *put_words_of_card(struct sma_stream *stream, struct sma_str words,
                                     struct sma_buf *path, struct sma_buf *body)
{
    if (feishu_stream_is_plain(stream)) {
        feishu_put_message_path(path, sma_str(stream->handle));
        feishu_put_card_patch(body, &(struct feishu_card){.markdown = words});
        return "PATCH";
    }
    bool is_over = is_typing_over(stream);
    stream->number++;
    feishu_put_kit_path(path, sma_str(stream->entity), !is_over);
    if (is_over)
        feishu_put_kit_card(body, words, sma_str(stream->key), stream->number);
    else
        feishu_put_kit_content(body, words, sma_str(stream->key), stream->number);
    return "PUT";
}

static const char *put_change(struct sma_stream *stream, struct sma_buf *path, struct sma_buf *body)
{
    const char *method = NULL;
    struct sma_buf words;
    sma_buf_init(&words, SMA_STREAM_TEXT_BYTES_MAX);
    put_words(stream, &words);
    if (is_new(stream, sma_buf_str(&words))) {
        method = put_words_of_card(stream, sma_buf_str(&words), path, body);
        note_shown(stream, sma_buf_str(&words));
    }
    sma_buf_fini(&words);
    return method;
}

static const char *put(struct sma_stream *stream, enum sma_stream_step step, struct sma_buf *path,
                       struct sma_buf *body)
{
    switch (step) {
    case SMA_STREAM_PREPARE:
        return put_prepare(stream, path, body);
    case SMA_STREAM_MAKE:
        return put_make(stream, path, body);
    case SMA_STREAM_CHANGE:
        return put_change(stream, path, body);
    case SMA_STREAM_END:
        break;
    }
    feishu_put_message_path(path, sma_str(stream->handle));
    return "DELETE";
}

/* -- answers ----------------------------------------------------------------------------------- */
/* No CardKit for this app, or on this server: from now on plain cards. */
static void note_refused_kit(struct sma_stream *stream, const struct sma_answered *answered,
                             int status)
{
    struct feishu *feishu = feishu_of(stream);
    struct sma_route route = sma_stream_route(stream);
    if ((answered->mend & SMA_MEND_TELL_OWNER) != 0 || status == 404) {
        if (!feishu->has_no_kit)
            sma_platform_log(&feishu->base, SMA_LOG_INFO,
                             "answers are not typed into cards: the app has no right to CardKit "
                             "(cardkit:card:write)");
        feishu->has_no_kit = true;
    }
    if (!feishu_is_group(&route) || feishu->settings.progress == FEISHU_PROGRESS_CARD)
        SMA_STREAM_SET(stream->entity, SMA_STR(FEISHU_STREAM_PLAIN));
}

static void read_prepared(struct sma_stream *stream, const struct sma_net_answer *answer,
                          struct sma_answered *answered)
{
    char card_id[sizeof stream->entity];
    if (answered->attempt_class == SMA_ATTEMPT_SENT &&
        feishu_kit_parse(answer->body, card_id, sizeof card_id) == SMA_ERR_OK)
        SMA_STREAM_SET(stream->entity, sma_str(card_id));
    else if (answered->attempt_class == SMA_ATTEMPT_GIVE_UP ||
             answered->attempt_class == SMA_ATTEMPT_SENT || answer->status == 404)
        note_refused_kit(stream, answered, answer->status);
    if (stream->entity[0] == '\0' && answered->attempt_class == SMA_ATTEMPT_SENT)
        answered->attempt_class = SMA_ATTEMPT_GIVE_UP; /* an answer without a card */
    if (answer->status == 404)
        answered->attempt_class = SMA_ATTEMPT_GIVE_UP; /* says nothing about the other calls */
}

static void read_made(struct sma_stream *stream, struct sma_answered *answered)
{
    bool is_elsewhere = feishu_is_elsewhere(answered, sma_str(stream->chat_id));
    if ((answered->mend & SMA_MEND_TELL_OWNER) != 0)
        feishu_tell_scope(feishu_of(stream), answered->error);
    if (is_elsewhere)
        answered->attempt_class = SMA_ATTEMPT_GIVE_UP;
    else if (answered->attempt_class == SMA_ATTEMPT_SENT)
        SMA_STREAM_SET(stream->handle, sma_str(answered->message_id));
}

static void read_changed(struct sma_stream *stream, struct sma_answered *answered)
{
    if (answered->attempt_class != SMA_ATTEMPT_SENT)
        sma_buf_clear(&stream->shown);
    if (feishu_stream_is_plain(stream) || !feishu_stream_mend(stream, answered->code))
        return;
    answered->attempt_class = SMA_ATTEMPT_RETRY;
}

bool feishu_stream_mend(struct sma_stream *stream, int64_t code)
{
    if (code == FEISHU_KIT_SEQUENCE)
        stream->number += AGAIN_STEP;
    else if (code == FEISHU_KIT_CLOSED && stream->made_ns != 0)
        stream->made_ns = 0; /* the card is replaced instead */
    else
        return false;
    return true;
}

static void read_answer(struct sma_stream *stream, enum sma_stream_step step,
                        const struct sma_net_answer *answer, struct sma_stream_outcome *ret_outcome)
{
    struct sma_answered answered;
    sma_verdict(&feishu_verdicts, NULL, answer, 0, &answered);
    if (step == SMA_STREAM_PREPARE)
        read_prepared(stream, answer, &answered);
    else if (step == SMA_STREAM_MAKE)
        read_made(stream, &answered);
    else if (step == SMA_STREAM_CHANGE)
        read_changed(stream, &answered);
    else if (answered.code == 230011 || answered.code == 231003)
        answered.attempt_class = SMA_ATTEMPT_SENT; /* it is gone already */
    *ret_outcome = (struct sma_stream_outcome){.attempt_class = answered.attempt_class,
                                               .retry_after_ms = answered.retry_after_ms,
                                               .is_for_all = !answered.is_chat_only};
    snprintf(ret_outcome->error, sizeof ret_outcome->error, "%.190s", answered.error);
}

const struct sma_stream_ops feishu_stream_ops = {
    .file = "progress.json",
    .first_ms = FIRST_MS,
    .change_ms = CHANGE_MS,
    .rest_ms = REST_MS,
    .per_second = PER_SECOND,
    .is_idempotent = true,
    .life_step = LIFE_STEP,
    .shows = shows,
    .put = put,
    .read = read_answer,
};
