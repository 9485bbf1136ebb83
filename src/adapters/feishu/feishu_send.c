/*
 * feishu_send.c — one ATTEMPT, one message, one answer. A second request follows only when the
 * first was certainly not
 * carried out: the card refused, the message replied to or to be changed gone; (in feishu_call.c)
 * the token ended. Every request of a part carries the same uuid, under which the platform sends at
 * most one message within an hour; changing a card and reacting are the same when they are done
 * twice.
 */
#include "feishu_priv.h"

#include "adapters/common/answers.h"
#include "adapters/common/project_file.h"
#include "adapters/common/shorten.h"
#include "sma/text.h"

#include <stdio.h>
#include <unistd.h>

#define BODY_BYTES_MAX (256 * 1024)
#define LINK_BYTES_MAX 2048

static void send_part(struct feishu_attempt *attempt);

/* -- the answer -------------------------------------------------------------------------------- */
static void release(struct feishu_attempt *attempt)
{
    sma_msg_destroy(attempt->msg);
    feishu_consent_fini(&attempt->consent);
    if (attempt->fd >= 0)
        close(attempt->fd);
    *attempt = (struct feishu_attempt){.fd = -1};
}

static void answer(struct feishu_attempt *attempt, const struct feishu_outcome *outcome)
{
    sma_adapter_answer_attempt(attempt->feishu->ctx, attempt->msg,
                               &(struct sma_attempt_result){
                                   .attempt_class = outcome->attempt_class,
                                   .is_chat_only = outcome->is_chat_only,
                                   .is_content_refused = outcome->is_content_refused,
                                   .retry_after_ms = outcome->retry_after_ms,
                                   .platform_message_id = sma_str(outcome->message_id),
                                   .sent_ms = outcome->sent_ms,
                                   .error = sma_str(outcome->error),
                               });
    release(attempt);
}

static void answer_class(struct feishu_attempt *attempt, enum sma_attempt_class attempt_class,
                         const char *error)
{
    struct feishu_outcome outcome = {.attempt_class = (uint8_t)attempt_class};
    snprintf(outcome.error, sizeof outcome.error, "%.250s", error);
    answer(attempt, &outcome);
}

/* -- the outcome ------------------------------------------------------------------------------- */
static struct feishu_target target_of(const struct feishu_attempt *attempt)
{
    const struct sma_attempt *asked = SMA_MSG_BODY(attempt->msg, struct sma_attempt);
    struct feishu_target target = feishu_target_make(&asked->route, asked->part);
    if (attempt->is_no_reply) {
        target.reply_to = SMA_STR("");
        target.is_in_thread = false;
    }
    return target;
}

/* @return whether the same part goes out once more, differently */
static bool mend(struct feishu_attempt *attempt, const struct feishu_outcome *outcome)
{
    if (attempt->part.kind == FEISHU_PART_REACTION)
        return false; /* there is nothing else to react to */
    if (attempt->card_id[0] !=
        '\0') { /* the card of progress or of the request is gone: a message of its own */
        bool is_gone = outcome->attempt_class == SMA_ATTEMPT_GIVE_UP;
        if (is_gone) {
            attempt->card_id[0] = '\0';
            feishu_progress_disclaim(attempt->feishu,
                                     SMA_MSG_BODY(attempt->msg, struct sma_attempt));
        }
        return is_gone;
    }
    bool is_card =
        attempt->part.kind == FEISHU_PART_CARD || attempt->part.kind == FEISHU_PART_CONSENT;
    if (outcome->is_card_refused && !attempt->is_plain && is_card) {
        attempt->is_plain = true;
        return true;
    }
    bool is_text = attempt->part.kind == FEISHU_PART_TEXT || attempt->part.kind == FEISHU_PART_CARD;
    if (outcome->is_too_long && !attempt->is_short && is_text)
        return attempt->is_short = true;
    bool may_be_reply = outcome->is_reply_gone || outcome->is_reply_doubtful;
    if (may_be_reply && !attempt->is_no_reply && target_of(attempt).reply_to.len > 0)
        return attempt->is_no_reply = true;
    return false;
}

static void conclude(struct feishu_attempt *attempt, struct feishu_outcome *outcome)
{
    struct feishu *feishu = attempt->feishu;
    if (mend(attempt, outcome)) {
        if (sma_ctx_now(feishu->ctx) + FEISHU_MEND_MS * FEISHU_NS_PER_MS < attempt->until_ns)
            send_part(attempt);
        else /* refused, so certainly not sent */
            answer_class(attempt, SMA_ATTEMPT_RETRY, outcome->error);
        return;
    }
    if (outcome->is_scope_missing)
        feishu_tell_scope(feishu, outcome->error);
    else if (outcome->attempt_class == SMA_ATTEMPT_SENT)
        sma_adapter_health_heal(&feishu->base.health, SMA_CAUSE_RIGHTS);
    answer(attempt, outcome);
}

/* The uuid is known from another chat, so nothing was sent here: once more under another one,
 * always the same. */
static bool send_under_other_key(struct feishu_attempt *attempt, struct feishu_outcome *outcome)
{
    const struct sma_attempt *asked = SMA_MSG_BODY(attempt->msg, struct sma_attempt);
    if (!feishu_is_elsewhere(outcome, asked->route.chat_id))
        return false;
    sma_ctx_log(attempt->feishu->ctx, SMA_LOG_WARN,
                "feishu: a message for one chat was answered with one of another chat; it is not "
                "believed");
    outcome->attempt_class = SMA_ATTEMPT_GIVE_UP;
    outcome->message_id[0] = '\0';
    snprintf(outcome->error, sizeof outcome->error,
             "Feishu answered with a message of another chat");
    if (attempt->is_key_taken || attempt->card_id[0] != '\0')
        return false;
    attempt->is_key_taken = true;
    if (sma_ctx_now(attempt->feishu->ctx) + FEISHU_MEND_MS * FEISHU_NS_PER_MS < attempt->until_ns)
        send_part(attempt);
    else
        answer_class(attempt, SMA_ATTEMPT_RETRY, outcome->error);
    return true;
}

static void on_sent(struct feishu *feishu, void *user, const struct sma_net_answer *net_answer)
{
    struct feishu_attempt *attempt = user;
    struct feishu_outcome outcome;
    (void)feishu;
    attempt->call = NULL;
    SMA_CRASH_POINT("feishu.after_send");
    feishu_classify(net_answer, &outcome);
    if (send_under_other_key(attempt, &outcome))
        return;
    if (outcome.attempt_class == SMA_ATTEMPT_SENT && outcome.message_id[0] == '\0')
        snprintf(outcome.message_id, sizeof outcome.message_id, "%s",
                 attempt->card_id); /* a changed card: its own */
    conclude(attempt, &outcome);
}

/* -- requests ---------------------------------------------------------------------------------- */
static uint32_t left_ms(const struct feishu_attempt *attempt)
{
    uint64_t now_ns = sma_ctx_now(attempt->feishu->ctx);
    return attempt->until_ns > now_ns ? (uint32_t)((attempt->until_ns - now_ns) / FEISHU_NS_PER_MS)
                                      : 1;
}

static void send_json(struct feishu_attempt *attempt, const char *method,
                      const struct sma_buf *path, const struct sma_buf *body)
{
    if (path->err == SMA_ERR_OK && body->err == SMA_ERR_OK) {
        SMA_CRASH_POINT("feishu.before_send");
        attempt->call = feishu_call_start(attempt->feishu, &(struct feishu_call_options){
                                                               .method = method,
                                                               .path = sma_buf_str(path),
                                                               .body = sma_buf_str(body),
                                                               .may_repeat = true, /* the uuid */
                                                               .total_ms = left_ms(attempt),
                                                               .done = on_sent,
                                                               .user = attempt,
                                                           });
    }
    if (attempt->call == NULL)
        answer_class(attempt, SMA_ATTEMPT_RETRY, "out of memory while sending");
}

/* The progress card's content becomes the answer, a request its outcome. Repeated, it is the same
 * content again. */
static void patch_card(struct feishu_attempt *attempt)
{
    struct sma_buf path, body;
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
    const struct sma_attempt *asked = SMA_MSG_BODY(attempt->msg, struct sma_attempt);
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
    const struct sma_attempt *asked = SMA_MSG_BODY(attempt->msg, struct sma_attempt);
    const char *type = feishu_reaction_find(attempt->part.text);
    char why[256];
    if (type == NULL || asked->route.message_id.len == 0) {
        snprintf(
            why, sizeof why,
            type == NULL ? "Feishu has no reaction \"%.*s\": take one of its own, like 👍 👎 👌 ❤ "
                           "🔥 🎉 👏 🙏 ✅ 💯, or say it in words"
                         : "there is no message here to react to%.*s",
            type == NULL ? (int)sma_utf8_cut(attempt->part.text, 32) : 0, attempt->part.text.ptr);
        answer_class(attempt, SMA_ATTEMPT_GIVE_UP, why);
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
    const struct sma_attempt *asked = SMA_MSG_BODY(attempt->msg, struct sma_attempt);
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
static void on_uploaded(struct feishu *feishu, void *user, const struct sma_net_answer *net_answer)
{
    struct feishu_attempt *attempt = user;
    struct feishu_outcome outcome;
    (void)feishu;
    attempt->call = NULL;
    if (net_answer->end == SMA_NET_ANSWERED && net_answer->status >= 200 &&
        net_answer->status < 300 &&
        feishu_upload_parse(net_answer->body, attempt->key, sizeof attempt->key) == SMA_ERR_OK) {
        close(attempt->fd);
        attempt->fd = -1;
        send_part(attempt);
        return;
    }
    feishu_classify(net_answer, &outcome);
    bool is_undecided =
        outcome.attempt_class == SMA_ATTEMPT_UNKNOWN || outcome.attempt_class == SMA_ATTEMPT_SENT;
    if (is_undecided) { /* an upload nobody refers to does no harm: certainly nothing was sent */
        outcome.attempt_class = SMA_ATTEMPT_RETRY;
        if (outcome.error[0] == '\0')
            snprintf(outcome.error, sizeof outcome.error, "the upload's answer has no key");
    }
    outcome.message_id[0] = '\0';
    outcome.is_card_refused = outcome.is_reply_gone = outcome.is_reply_doubtful = false;
    conclude(attempt, &outcome);
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
            (struct sma_net_field){.name = "file_name", .value = sma_str(attempt->file_name)};
    }
    fields[count++] = (struct sma_net_field){.name = upload->is_image ? "image" : "file",
                                             .path = attempt->path,
                                             .file_name = attempt->file_name,
                                             .type = upload->mime};
    return count;
}

static void upload_file(struct feishu_attempt *attempt)
{
    struct feishu *feishu = attempt->feishu;
    struct feishu_upload upload = feishu_upload_plan(&attempt->part);
    struct sma_error error = {0};
    if (sma_project_file_open(feishu->base.config->project_dir, attempt->part.target,
                              (size_t)upload.bytes_max, &attempt->fd, &error) != SMA_ERR_OK) {
        answer_class(attempt, SMA_ATTEMPT_GIVE_UP, error.text);
        return;
    }
    /* by the descriptor: what was checked is what is read, whatever happens to the name
     * meanwhile */
    snprintf(attempt->path, sizeof attempt->path, "/proc/self/fd/%d", attempt->fd);
    sma_project_file_name(attempt->part.target, attempt->file_name, sizeof attempt->file_name);
    attempt->call =
        feishu_call_start(feishu, &(struct feishu_call_options){
                                      .method = "POST",
                                      .path = upload.is_image ? SMA_STR("/open-apis/im/v1/images")
                                                              : SMA_STR("/open-apis/im/v1/files"),
                                      .fields = attempt->fields,
                                      .field_count = fill_fields(attempt, &upload),
                                      .may_repeat = true,
                                      .total_ms = left_ms(attempt),
                                      .done = on_uploaded,
                                      .user = attempt,
                                  });
    if (attempt->call == NULL)
        answer_class(attempt, SMA_ATTEMPT_RETRY, "out of memory while sending");
}

/* -- in order ---------------------------------------------------------------------------------- */
static void send_part(struct feishu_attempt *attempt)
{
    bool is_file = attempt->part.kind == FEISHU_PART_FILE && !is_link(attempt->part.target);
    if (is_file && attempt->key[0] == '\0')
        upload_file(attempt);
    else if (attempt->part.kind == FEISHU_PART_REACTION)
        react(attempt);
    else if (attempt->card_id[0] != '\0')
        patch_card(attempt);
    else
        send_message(attempt);
}

static void claim_and_send(struct feishu_attempt *attempt)
{
    const struct sma_attempt *asked = SMA_MSG_BODY(attempt->msg, struct sma_attempt);
    bool is_beside = asked->intent == SMA_INTENT_APPROVAL_OUTCOME ||
                     asked->intent == SMA_INTENT_REACTION; /* the run goes on with its card */
    attempt->is_held = !is_beside && feishu_progress_claim(attempt->feishu, asked, &attempt->part,
                                                           attempt->card_id) == FEISHU_CLAIM_WAIT;
    if (!attempt->is_held)
        send_part(attempt);
}

static struct feishu_attempt *free_place(struct feishu *feishu)
{
    for (size_t i = 0; i < FEISHU_ATTEMPT_COUNT_MAX; i++)
        if (feishu->attempts[i].msg == NULL)
            return &feishu->attempts[i];
    return NULL;
}

static SMA_CHECKED enum sma_err read_part(struct feishu_attempt *attempt,
                                          const struct sma_attempt *asked)
{
    enum sma_err err = feishu_part_decode(asked->part_bytes, &attempt->part);
    if (err != SMA_ERR_OK || attempt->part.kind != FEISHU_PART_CONSENT)
        return err;
    err = feishu_consent_open(&attempt->part, &attempt->consent);
    const struct sma_card *card = &attempt->consent.card;
    if (err == SMA_ERR_OK && card->is_outcome && card->message_id.len < sizeof attempt->card_id)
        snprintf(attempt->card_id, sizeof attempt->card_id, "%.*s", (int)card->message_id.len,
                 card->message_id.len == 0 ? "" : card->message_id.ptr);
    return err;
}

void feishu_attempt_take(struct feishu *feishu, struct sma_msg **msg)
{
    struct feishu_attempt *attempt = free_place(feishu);
    SMA_ASSERT(attempt != NULL); /* as many places as the edge has questions */
    const struct sma_attempt *asked = SMA_MSG_BODY(*msg, struct sma_attempt);
    *attempt = (struct feishu_attempt){.feishu = feishu, .msg = SMA_TAKE(*msg), .fd = -1};
    if (feishu->base.is_closed) {
        answer_class(attempt, SMA_ATTEMPT_RETRY, "the service is stopping");
        return;
    }
    enum sma_err err = read_part(attempt, asked);
    if (err != SMA_ERR_OK) {
        answer_class(attempt, err == SMA_ERR_NOMEM ? SMA_ATTEMPT_RETRY : SMA_ATTEMPT_GIVE_UP,
                     err == SMA_ERR_NOMEM
                         ? "out of memory while sending"
                         : "a stored part cannot be read: it was not made by this program");
        return;
    }
    bool is_file = attempt->part.kind == FEISHU_PART_FILE;
    attempt->until_ns =
        sma_ctx_now(feishu->ctx) + (is_file ? FEISHU_UPLOAD_MS : FEISHU_SEND_MS) * FEISHU_NS_PER_MS;
    claim_and_send(attempt);
}

void feishu_attempts_wake(struct feishu *feishu, uint64_t seq)
{
    for (size_t i = 0; i < FEISHU_ATTEMPT_COUNT_MAX; i++) {
        struct feishu_attempt *attempt = &feishu->attempts[i];
        if (attempt->msg != NULL && attempt->is_held &&
            SMA_MSG_BODY(attempt->msg, struct sma_attempt)->seq == seq)
            claim_and_send(attempt);
    }
}

void feishu_attempts_drop(struct feishu *feishu)
{
    for (size_t i = 0; i < FEISHU_ATTEMPT_COUNT_MAX; i++) {
        struct feishu_attempt *attempt = &feishu->attempts[i];
        if (attempt->msg == NULL)
            continue;
        feishu_call_cancel(attempt->call);
        release(attempt);
    }
}
