/*
 * feishu_send.c — one ATTEMPT, one message, one answer. A second request follows only when the
 * first was certainly not
 * carried out: the card refused, the message replied to or to be changed gone; (in feishu_call.c)
 * the token ended. Every request of a part carries the same uuid, under which the platform sends at
 * most one message within an hour; changing a card and reacting are the same when they are done
 * twice.
 */
#include "feishu_priv.h"

#include "adapters/common/shorten.h"
#include "sma/text.h"

#include <stdio.h>

#define BODY_BYTES_MAX (256 * 1024)
#define LINK_BYTES_MAX 2048

static void send_part(struct sma_sending *sending);

static struct feishu_attempt *attempt_of(struct sma_sending *sending)
{
    return (struct feishu_attempt *)(void *)sending;
}

static struct feishu *feishu_of(const struct feishu_attempt *attempt)
{
    return (struct feishu *)attempt->base.platform;
}

/* -- the outcome ------------------------------------------------------------------------------- */
static struct feishu_target target_of(const struct feishu_attempt *attempt)
{
    const struct sma_attempt *asked = attempt->base.asked;
    struct feishu_target target = feishu_target_make(&asked->route, asked->part);
    if (attempt->is_no_reply) {
        target.reply_to = SMA_STR("");
        target.is_in_thread = false;
    }
    return target;
}

/* The card that was streamed and becomes this part; NULL = none. */
static struct sma_stream *stream_of(const struct feishu_attempt *attempt)
{
    return sma_streams_of(&attempt->base.platform->streams, attempt->base.asked);
}

/* The streamed card, or that of the request, is gone: a message of its own. */
static bool leave_card(struct feishu_attempt *attempt)
{
    bool is_gone = attempt->outcome.attempt_class == SMA_ATTEMPT_GIVE_UP;
    struct sma_stream *stream = stream_of(attempt);
    bool is_again = is_gone && stream != NULL && !attempt->is_stream_mended &&
                    feishu_stream_mend(stream, attempt->outcome.code);
    if (is_again)
        return attempt->is_stream_mended = true;
    if (is_gone) {
        attempt->card_id[0] = '\0';
        sma_streams_disclaim(&attempt->base.platform->streams, attempt->base.asked);
    }
    return is_gone;
}

/* @return whether the same part goes out once more, differently */
static bool change(struct feishu_attempt *attempt)
{
    const struct feishu_outcome *outcome = &attempt->outcome;
    bool has_card = attempt->card_id[0] != '\0';
    /* The uuid is known from another chat, so nothing was sent here: once more under another one,
     * always the same. A reply, though, goes where its message is. */
    bool is_reply = target_of(attempt).reply_to.len > 0;
    if (attempt->is_elsewhere && !attempt->is_key_taken && !has_card && !is_reply)
        return attempt->is_key_taken = true;
    if (attempt->part.kind == FEISHU_PART_REACTION)
        return false; /* there is nothing else to react to */
    if (has_card)
        return leave_card(attempt);
    bool is_card =
        attempt->part.kind == FEISHU_PART_CARD || attempt->part.kind == FEISHU_PART_CONSENT;
    if (outcome->is_card_refused && !attempt->is_plain && is_card)
        return attempt->is_plain = true;
    bool is_text = attempt->part.kind == FEISHU_PART_TEXT || attempt->part.kind == FEISHU_PART_CARD;
    if (outcome->is_too_long && !attempt->is_short && is_text)
        return attempt->is_short = true;
    bool may_be_reply = outcome->is_reply_gone || outcome->is_reply_doubtful;
    if (may_be_reply && !attempt->is_no_reply && target_of(attempt).reply_to.len > 0)
        return attempt->is_no_reply = true;
    return false;
}

static bool mend(struct sma_sending *sending)
{
    struct feishu_attempt *attempt = attempt_of(sending);
    struct feishu *feishu = feishu_of(attempt);
    if (change(attempt))
        return true;
    if (attempt->outcome.is_scope_missing)
        feishu_tell_scope(feishu, attempt->outcome.error);
    else if (attempt->outcome.attempt_class == SMA_ATTEMPT_SENT)
        sma_adapter_health_heal(&feishu->base.health, SMA_CAUSE_RIGHTS);
    return false;
}

static void read_answer(struct sma_sending *sending, const struct sma_net_answer *answer)
{
    struct feishu_attempt *attempt = attempt_of(sending);
    struct feishu_outcome *outcome = &attempt->outcome;
    feishu_classify(answer, outcome);
    attempt->is_elsewhere = feishu_is_elsewhere(outcome, sending->asked->route.chat_id);
    if (attempt->is_elsewhere) {
        sma_platform_log(&feishu_of(attempt)->base, SMA_LOG_WARN,
                         "a message for one chat was answered with one of another chat; it is "
                         "not believed");
        outcome->attempt_class = SMA_ATTEMPT_GIVE_UP;
        outcome->message_id[0] = '\0';
        snprintf(outcome->error, sizeof outcome->error,
                 "Feishu answered with a message of another chat");
    } else if (outcome->attempt_class == SMA_ATTEMPT_SENT && outcome->message_id[0] == '\0') {
        snprintf(outcome->message_id, sizeof outcome->message_id, "%s",
                 attempt->card_id); /* a changed card: its own */
    }
}

static struct sma_attempt_result result(const struct sma_sending *sending)
{
    const struct feishu_outcome *outcome =
        &((const struct feishu_attempt *)(const void *)sending)->outcome;
    return (struct sma_attempt_result){
        .attempt_class = outcome->attempt_class,
        .is_chat_only = outcome->is_chat_only,
        .is_content_refused = outcome->is_content_refused,
        .retry_after_ms = outcome->retry_after_ms,
        .platform_message_id = sma_str(outcome->message_id),
        .sent_ms = outcome->sent_ms,
        .error = sma_str(outcome->error),
    };
}

/* -- requests ---------------------------------------------------------------------------------- */
static void send_json(struct feishu_attempt *attempt, const char *method,
                      const struct sma_buf *path, struct sma_buf *body)
{
    struct sma_sending *sending = &attempt->base;
    bool is_numbered = strcmp(method, "PUT") == 0; /* the same number is taken once */
    if (path->err == SMA_ERR_OK && body->err == SMA_ERR_OK) {
        sma_sending_before(sending);
        sending->call =
            sma_call_start(sending->platform->calls,
                           &(struct sma_call_options){.method = method,
                                                      .path = sma_buf_str(path),
                                                      .body = body,
                                                      .may_repeat = !is_numbered, /* the uuid */
                                                      .total_ms = sma_sending_left_ms(sending),
                                                      .done = sma_sending_on_answer,
                                                      .user = sending});
    }
    sma_sending_check_call(sending);
}

/* A card of CardKit becomes what it would have been if it were sent now, and streams no more. */
static void put_kit_card(struct feishu_attempt *attempt, struct sma_stream *stream)
{
    struct sma_buf path, body;
    sma_buf_init(&path, 1024);
    sma_buf_init(&body, BODY_BYTES_MAX);
    feishu_put_kit_path(&path, sma_str(stream->entity), false);
    feishu_put_kit_card(&body, attempt->part.text, sma_str(stream->key), ++stream->number);
    send_json(attempt, "PUT", &path, &body);
    sma_buf_fini(&path);
    sma_buf_fini(&body);
}

/* The streamed card's content becomes the answer, a request its outcome. Repeated, it is the same
 * content again. */
static void patch_card(struct feishu_attempt *attempt)
{
    struct sma_stream *stream = stream_of(attempt);
    struct sma_buf path, body;
    if (stream != NULL && !feishu_stream_is_plain(stream)) {
        put_kit_card(attempt, stream);
        return;
    }
    sma_buf_init(&path, 1024);
    sma_buf_init(&body, BODY_BYTES_MAX);
    feishu_put_message_path(&path, sma_str(attempt->card_id));
    struct feishu_card card = attempt->part.kind == FEISHU_PART_CONSENT
                                  ? feishu_consent_card(&attempt->consent)
                                  : (struct feishu_card){.markdown = attempt->part.text};
    feishu_put_card_patch(&body, &card);
    send_json(attempt, "PATCH", &path, &body);
    sma_buf_fini(&path);
    sma_buf_fini(&body);
}

static void put_consent(struct sma_buf *body, const struct feishu_attempt *attempt,
                        const struct feishu_target *target, struct sma_str uuid)
{
    struct feishu_card card = feishu_consent_card(&attempt->consent);
    if (attempt->is_plain)
        feishu_put_text(body, target, sma_buf_str(&attempt->consent.plain), uuid);
    else
        feishu_put_card_message(body, target, &card, uuid);
}

static void put_text_part(struct sma_buf *body, const struct feishu_attempt *attempt,
                          const struct feishu_target *target, struct sma_str uuid)
{
    const struct sma_attempt *asked = attempt->base.asked;
    struct feishu_part part = attempt->part;
    struct sma_buf cut;
    sma_buf_init(&cut, BODY_BYTES_MAX);
    if (attempt->is_short) {
        sma_adapter_put_short(&cut, part.text, asked->route.language);
        part.text = sma_buf_str(&cut);
    }
    feishu_put_part(body, target, &part, attempt->is_plain, uuid);
    if (body->err == SMA_ERR_OK)
        body->err = cut.err;
    sma_buf_fini(&cut);
}

static void react(struct feishu_attempt *attempt)
{
    const struct sma_attempt *asked = attempt->base.asked;
    const char *type = feishu_reaction_find(attempt->part.text);
    struct sma_error error = {.code = SMA_ERR_BADINPUT};
    if (type == NULL)
        (void)sma_fail(&error, SMA_ERR_BADINPUT,
                       "Feishu has no reaction \"%.*s\": take one of its own, like 👍 👎 👌 ❤ 🔥 🎉 "
                       "👏 🙏 ✅ 💯, or say it in words",
                       (int)sma_utf8_cut(attempt->part.text, 32), attempt->part.text.ptr);
    else if (asked->route.message_id.len == 0)
        (void)sma_fail(&error, SMA_ERR_BADINPUT, "there is no message here to react to");
    if (error.text[0] != '\0') {
        sma_sending_fail(&attempt->base, &error);
        return;
    }
    struct sma_buf path, body;
    sma_buf_init(&path, 1024);
    sma_buf_init(&body, 256);
    feishu_put_reaction_path(&path, asked->route.message_id);
    feishu_put_reaction(&body, type);
    send_json(attempt, "POST", &path, &body);
    sma_buf_fini(&path);
    sma_buf_fini(&body);
}

static bool is_link(struct sma_str target)
{
    return sma_str_starts_with(target, SMA_STR("http://")) ||
           sma_str_starts_with(target, SMA_STR("https://"));
}

static void send_message(struct feishu_attempt *attempt)
{
    const struct sma_attempt *asked = attempt->base.asked;
    struct feishu_target target = target_of(attempt);
    char uuid[FEISHU_UUID_BYTES_MAX + 1];
    snprintf(uuid, sizeof uuid, "%.*s%s", (int)asked->idempotency_key.len,
             asked->idempotency_key.ptr, attempt->is_key_taken ? "-2" : "");
    struct sma_str key = sma_str(uuid);
    struct sma_buf path, body;
    sma_buf_init(&path, 4096);
    sma_buf_init(&body, BODY_BYTES_MAX);
    feishu_put_send_path(&path, &target);
    if (attempt->part.kind == FEISHU_PART_CONSENT) {
        put_consent(&body, attempt, &target, key);
    } else if (attempt->part.kind == FEISHU_PART_OWN_CARD) {
        feishu_put_own_card(&body, &target, attempt->part.text, key);
    } else if (attempt->part.kind != FEISHU_PART_FILE) {
        put_text_part(&body, attempt, &target, key);
    } else if (is_link(
                   attempt->part
                       .target)) { /* the platform fetches nothing, and neither do we: people can */
        struct sma_str link = attempt->part.target;
        link.len = sma_utf8_cut(link, LINK_BYTES_MAX);
        feishu_put_text(&body, &target, link, key);
    } else {
        struct feishu_upload upload = feishu_upload_plan(&attempt->part);
        feishu_put_file(&body, &target, &upload, sma_str(attempt->key), key);
    }
    send_json(attempt, "POST", &path, &body);
    sma_buf_fini(&path);
    sma_buf_fini(&body);
}

/* -- uploads ----------------------------------------------------------------------------------- */
static void on_uploaded(void *state, void *user, const struct sma_net_answer *answer)
{
    struct feishu_attempt *attempt = attempt_of(user);
    struct feishu_outcome *outcome = &attempt->outcome;
    (void)state;
    attempt->base.call = NULL;
    if (answer->end == SMA_NET_ANSWERED && answer->status >= 200 && answer->status < 300 &&
        feishu_upload_parse(answer->body, attempt->key, sizeof attempt->key) == SMA_ERR_OK) {
        sma_sending_close_file(&attempt->base);
        send_part(&attempt->base);
        return;
    }
    feishu_classify(answer, outcome);
    bool is_undecided =
        outcome->attempt_class == SMA_ATTEMPT_UNKNOWN || outcome->attempt_class == SMA_ATTEMPT_SENT;
    if (is_undecided) { /* an upload nobody refers to does no harm: certainly nothing was sent */
        outcome->attempt_class = SMA_ATTEMPT_RETRY;
        if (outcome->error[0] == '\0')
            snprintf(outcome->error, sizeof outcome->error, "the upload's answer has no key");
    }
    outcome->message_id[0] = '\0';
    outcome->is_card_refused = outcome->is_reply_gone = outcome->is_reply_doubtful = false;
    attempt->is_elsewhere = false;
    sma_sending_conclude(&attempt->base);
}

static size_t fill_fields(struct feishu_attempt *attempt, const struct feishu_upload *upload)
{
    size_t count = 0;
    struct sma_net_field *fields = attempt->fields;
    if (upload->is_image) {
        fields[count++] = (struct sma_net_field){.name = "image_type", .value = SMA_STR("message")};
    } else {
        fields[count++] =
            (struct sma_net_field){.name = "file_type", .value = sma_str(upload->file_type)};
        fields[count++] =
            (struct sma_net_field){.name = "file_name", .value = sma_str(attempt->base.file_name)};
    }
    fields[count++] = (struct sma_net_field){.name = upload->is_image ? "image" : "file",
                                             .path = attempt->base.path,
                                             .file_name = attempt->base.file_name,
                                             .type = upload->mime};
    return count;
}

static void upload_file(struct feishu_attempt *attempt)
{
    struct sma_sending *sending = &attempt->base;
    struct feishu_upload upload = feishu_upload_plan(&attempt->part);
    struct sma_error error = {0};
    if (sma_sending_open_file(sending, attempt->part.target, (size_t)upload.bytes_max, &error) !=
        SMA_ERR_OK) {
        sma_sending_fail(sending, &error);
        return;
    }
    sending->call = sma_call_start(
        sending->platform->calls,
        &(struct sma_call_options){.method = "POST",
                                   .path = upload.is_image ? SMA_STR("/open-apis/im/v1/images")
                                                           : SMA_STR("/open-apis/im/v1/files"),
                                   .fields = attempt->fields,
                                   .field_count = fill_fields(attempt, &upload),
                                   .may_repeat = true,
                                   .total_ms = sma_sending_left_ms(sending),
                                   .done = on_uploaded,
                                   .user = sending});
    sma_sending_check_call(sending);
}

/* -- in order ---------------------------------------------------------------------------------- */
static void send_part(struct sma_sending *sending)
{
    struct feishu_attempt *attempt = attempt_of(sending);
    bool is_upload = attempt->part.kind == FEISHU_PART_FILE && !is_link(attempt->part.target);
    if (is_upload && attempt->key[0] == '\0')
        upload_file(attempt);
    else if (attempt->part.kind == FEISHU_PART_REACTION)
        react(attempt);
    else if (attempt->card_id[0] != '\0')
        patch_card(attempt);
    else
        send_message(attempt);
}

/* The run's card becomes the part, or is on its way: then the part waits for it. */
static bool hold(struct sma_sending *sending)
{
    struct feishu_attempt *attempt = attempt_of(sending);
    bool is_beside =
        sending->asked->intent == SMA_INTENT_APPROVAL_OUTCOME ||
        sending->asked->intent == SMA_INTENT_REACTION; /* the run goes on with its card */
    if (is_beside)
        return false;
    bool is_words =
        attempt->part.kind == FEISHU_PART_TEXT || attempt->part.kind == FEISHU_PART_CARD;
    enum sma_stream_claim claim = sma_streams_claim(
        &sending->platform->streams, sending->asked,
        is_words && sma_utf16_length(attempt->part.text) <= FEISHU_CARD_UNITS_MAX);
    const struct sma_stream *stream = stream_of(attempt);
    if (claim == SMA_STREAM_CLAIM_TAKEN && stream != NULL)
        SMA_STREAM_SET(attempt->card_id, sma_str(stream->handle));
    return claim == SMA_STREAM_CLAIM_WAIT;
}

static enum sma_err open_part(struct sma_sending *sending, struct sma_error *error)
{
    struct feishu_attempt *attempt = attempt_of(sending);
    (void)error;
    SMA_TRY(feishu_part_decode(sending->asked->part_bytes, &attempt->part));
    if (attempt->part.kind != FEISHU_PART_CONSENT)
        return SMA_ERR_OK;
    SMA_TRY(feishu_consent_open(&attempt->part, &attempt->consent));
    const struct sma_card *card = &attempt->consent.card;
    if (card->is_outcome && card->message_id.len < sizeof attempt->card_id)
        snprintf(attempt->card_id, sizeof attempt->card_id, "%.*s", (int)card->message_id.len,
                 card->message_id.len == 0 ? "" : card->message_id.ptr);
    return SMA_ERR_OK;
}

static void release(struct sma_sending *sending)
{
    feishu_consent_fini(&attempt_of(sending)->consent);
}

static bool is_file(const struct sma_sending *sending)
{
    return ((const struct feishu_attempt *)(const void *)sending)->part.kind == FEISHU_PART_FILE;
}

const struct sma_sending_ops feishu_sending_ops = {
    .size = sizeof(struct feishu_attempt),
    .open = open_part,
    .is_file = is_file,
    .hold = hold,
    .send = send_part,
    .read = read_answer,
    .mend = mend,
    .result = result,
    .release = release,
};
