/*
 * feishu_send.c — one ATTEMPT, one message, one answer. A second request follows only when the
 * first was certainly not
 * carried out: the card refused, the message replied to or to be changed gone; (in feishu_call.c)
 * the token ended. Every request of a part carries the same uuid, under which the platform sends at
 * most one message within an hour; changing a card and reacting are the same when they are done
 * twice.
 */
#include "feishu_priv.h"

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
    if ((attempt->base.without & SMA_MEND_REPLY) != 0) {
        /* a message of its own would open a new topic: any other message of this one will do */
        struct sma_str other = feishu_topic_message(feishu_of(attempt), &asked->route);
        if (target.is_in_thread && other.len > 0) {
            target.reply_to = other;
            return target;
        }
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

static bool is_words(const struct feishu_attempt *attempt)
{
    return attempt->part.kind == FEISHU_PART_TEXT || attempt->part.kind == FEISHU_PART_CARD;
}

static struct sma_str text(const struct sma_sending *sending)
{
    const struct feishu_attempt *attempt = (const struct feishu_attempt *)(const void *)sending;
    if (attempt->part.kind == FEISHU_PART_CONSENT)
        return sma_buf_str(&attempt->consent.plain);
    return is_words(attempt) ? attempt->part.text : SMA_STR("");
}

static uint32_t forms(const struct sma_sending *sending)
{
    const struct feishu_attempt *attempt = (const struct feishu_attempt *)(const void *)sending;
    const struct feishu_part *part = &attempt->part;
    bool is_reply = target_of(attempt).reply_to.len > 0;
    if (part->kind == FEISHU_PART_REACTION)
        return 0; /* there is nothing else to react to */
    if (attempt->card_id[0] != '\0')
        return SMA_MEND_EDIT;
    uint32_t bits =
        is_reply ? SMA_MEND_REPLY : SMA_MEND_KEY; /* a reply goes where its message is */
    const struct sma_route *route = &sending->asked->route;
    if (route->thread_id.len > 0 && feishu_is_group(route) &&
        feishu_topic_message(feishu_of(attempt), route).len == 0)
        bits &= ~(uint32_t)SMA_MEND_REPLY; /* better left out than in a topic of its own */
    if (part->kind == FEISHU_PART_CARD || part->kind == FEISHU_PART_CONSENT ||
        (part->kind == FEISHU_PART_OWN_CARD && attempt->words.len > 0))
        bits |= SMA_MEND_MARKS;
    return part->kind == FEISHU_PART_FILE ? bits | SMA_MEND_INSTEAD : bits;
}

/* The streamed card, or that of the request, is gone: a message of its own. */
static bool leave_card(struct feishu_attempt *attempt)
{
    struct sma_stream *stream = stream_of(attempt);
    if (stream != NULL && !attempt->is_stream_mended &&
        feishu_stream_mend(stream, attempt->base.answered.code)) {
        attempt->base.without &= ~(uint32_t)SMA_MEND_EDIT;
        return attempt->is_stream_mended = true;
    }
    attempt->card_id[0] = '\0';
    sma_streams_disclaim(&attempt->base.platform->streams, attempt->base.asked);
    return true;
}

static bool step(struct sma_sending *sending, enum sma_mend taken)
{
    struct feishu_attempt *attempt = attempt_of(sending);
    struct feishu_part *part = &attempt->part;
    if (taken == SMA_MEND_EDIT)
        return leave_card(attempt);
    if (taken == SMA_MEND_MARKS && part->kind == FEISHU_PART_OWN_CARD)
        *part =
            (struct feishu_part){.kind = FEISHU_PART_TEXT, .text = sma_buf_str(&attempt->words)};
    if (taken == SMA_MEND_FILE)
        *part = (struct feishu_part){.kind = FEISHU_PART_FILE,
                                     .file_kind = SMA_STR("document"),
                                     .target = SMA_STR(SMA_SENDING_FILE_NAME)};
    if (taken == SMA_MEND_INSTEAD) { /* its caption went before it */
        sma_sending_close_file(sending);
        sma_sending_put_instead(sending, SMA_STR(""), part->target, &attempt->words);
        *part =
            (struct feishu_part){.kind = FEISHU_PART_TEXT, .text = sma_buf_str(&attempt->words)};
    }
    return attempt->words.err == SMA_ERR_OK;
}

/* A message of another chat: the platform knows the uuid from there, so nothing was sent here. Once
 * more under another one, always the same. */
static void disbelieve(struct feishu_attempt *attempt)
{
    sma_platform_log(&feishu_of(attempt)->base, SMA_LOG_WARN,
                     "a message for one chat was answered with one of another chat; it is "
                     "not believed");
    attempt->base.answered =
        (struct sma_answered){.attempt_class = SMA_ATTEMPT_GIVE_UP,
                              .act = SMA_ACT_FINAL,
                              .mend = SMA_MEND_KEY,
                              .error = "Feishu answered with a message of another chat"};
}

static void read_answer(struct sma_sending *sending, const struct sma_net_answer *answer)
{
    struct feishu_attempt *attempt = attempt_of(sending);
    struct sma_answered *answered = &sending->answered;
    sma_verdict(&feishu_verdicts, NULL, answer, 0, answered);
    bool is_sent = answered->attempt_class == SMA_ATTEMPT_SENT;
    if (attempt->card_id[0] != '\0' && answered->attempt_class == SMA_ATTEMPT_GIVE_UP)
        answered->mend |= SMA_MEND_EDIT; /* whatever is wrong with the card, a new one may do */
    if (feishu_is_elsewhere(answered, sending->asked->route.chat_id))
        disbelieve(attempt);
    else if (is_sent && answered->message_id[0] == '\0') /* a changed card: its own */
        snprintf(answered->message_id, sizeof answered->message_id, "%s", attempt->card_id);
    if ((answered->mend & SMA_MEND_TELL_OWNER) != 0)
        feishu_tell_scope(feishu_of(attempt), answered->error);
    else if (answered->attempt_class == SMA_ATTEMPT_SENT)
        sma_adapter_health_heal(&feishu_of(attempt)->base.health, SMA_CAUSE_RIGHTS);
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

/* The words of a message: as a card or, where that was refused, as they are. */
static void put_text_part(struct sma_buf *body, struct feishu_attempt *attempt,
                          const struct feishu_target *target, struct sma_str uuid)
{
    struct feishu_card card = feishu_consent_card(&attempt->consent);
    struct feishu_part part = {.kind = attempt->part.kind};
    bool is_plain = (attempt->base.without & SMA_MEND_MARKS) != 0;
    if (part.kind == FEISHU_PART_CONSENT && !is_plain) {
        feishu_put_card_message(body, target, &card, uuid);
        return;
    }
    if (part.kind == FEISHU_PART_CONSENT)
        part.kind = FEISHU_PART_TEXT;
    struct sma_buf words;
    sma_buf_init(&words, BODY_BYTES_MAX);
    sma_sending_put_words(&attempt->base, text(&attempt->base), &words);
    part.text = sma_buf_str(&words);
    feishu_put_part(body, target, &part, is_plain, uuid);
    if (body->err == SMA_ERR_OK)
        body->err = words.err;
    sma_buf_fini(&words);
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
    /* the second message of a part, and one whose uuid is known from elsewhere: under another */
    char more[3] = {'-', (char)('a' + attempt->base.piece % 26), '\0'};
    bool is_key_taken = (attempt->base.without & SMA_MEND_KEY) != 0;
    snprintf(uuid, sizeof uuid, "%.*s%s", (int)asked->idempotency_key.len,
             asked->idempotency_key.ptr,
             is_key_taken               ? "-2"
             : attempt->base.piece == 0 ? ""
                                        : more);
    struct sma_str key = sma_str(uuid);
    struct sma_buf path, body;
    sma_buf_init(&path, 4096);
    sma_buf_init(&body, BODY_BYTES_MAX);
    feishu_put_send_path(&path, &target);
    if (attempt->part.kind == FEISHU_PART_OWN_CARD) {
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
    struct sma_answered *outcome = &attempt->base.answered;
    (void)state;
    attempt->base.call = NULL;
    if (answer->end == SMA_NET_ANSWERED && answer->status >= 200 && answer->status < 300 &&
        feishu_upload_parse(answer->body, attempt->key, sizeof attempt->key) == SMA_ERR_OK) {
        sma_sending_close_file(&attempt->base);
        send_part(&attempt->base);
        return;
    }
    sma_verdict(&feishu_verdicts, "uploading to Feishu", answer, 0, outcome);
    bool is_undecided =
        outcome->attempt_class == SMA_ATTEMPT_UNKNOWN || outcome->attempt_class == SMA_ATTEMPT_SENT;
    if (is_undecided) { /* an upload nobody refers to does no harm: certainly nothing was sent */
        outcome->attempt_class = SMA_ATTEMPT_RETRY;
        outcome->act = SMA_ACT_RETRY;
        if (outcome->error[0] == '\0')
            snprintf(outcome->error, sizeof outcome->error, "the upload's answer has no key");
    }
    outcome->message_id[0] = '\0';
    outcome->mend &= ~(uint32_t)SMA_MEND_REPLY; /* it replied to nothing */
    if (outcome->act == SMA_ACT_REFUSED)
        outcome->mend |= SMA_MEND_INSTEAD;
    if ((outcome->mend & SMA_MEND_TELL_OWNER) != 0)
        feishu_tell_scope(feishu_of(attempt), outcome->error);
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
    enum sma_stream_claim claim = sma_streams_claim(
        &sending->platform->streams, sending->asked,
        is_words(attempt) && sma_utf16_length(attempt->part.text) <= FEISHU_CARD_UNITS_MAX);
    const struct sma_stream *stream = stream_of(attempt);
    if (claim == SMA_STREAM_CLAIM_TAKEN && stream != NULL)
        SMA_STREAM_SET(attempt->card_id, sma_str(stream->handle));
    return claim == SMA_STREAM_CLAIM_WAIT;
}

static enum sma_err open_part(struct sma_sending *sending, struct sma_error *error)
{
    struct feishu_attempt *attempt = attempt_of(sending);
    (void)error;
    sma_buf_init(&attempt->words, BODY_BYTES_MAX);
    SMA_TRY(feishu_part_decode(sending->asked->part_bytes, &attempt->part));
    if (attempt->part.kind == FEISHU_PART_OWN_CARD) /* for when it is refused */
        feishu_put_own_card_words(&attempt->words, attempt->part.text);
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
    sma_buf_fini(&attempt_of(sending)->words);
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
    .forms = forms,
    .step = step,
    .text = text,
    .release = release,
};
