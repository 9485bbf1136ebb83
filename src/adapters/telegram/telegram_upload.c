/* telegram_upload.c — files of the project on their way out: the multipart request of a FILE
 * part. */
#include "telegram_in.h"
#include "telegram_priv.h"

#include "sma/text.h"

static size_t fill_fields(struct telegram_attempt *attempt, const struct telegram_send *send)
{
    struct sma_net_field *fields = attempt->fields;
    const struct telegram_part *part = &attempt->part;
    size_t count = 0;
    int64_t thread; /* topic 1, "General", is written to without its id */
    bool is_direct = sma_str_is_equal(send->route->chat_type, SMA_STR(TELEGRAM_DIRECT));
    fields[count++] = (struct sma_net_field){.name = "chat_id", .value = send->route->chat_id};
    if (!send->is_no_thread &&
        sma_parse_i64(send->route->thread_id, is_direct ? 1 : 2, INT64_MAX, &thread) == SMA_ERR_OK)
        fields[count++] = (struct sma_net_field){.name = is_direct ? "direct_messages_topic_id"
                                                                   : "message_thread_id",
                                                 .value = send->route->thread_id};
    if (part->caption.len > 0 && !send->is_captionless)
        fields[count++] = (struct sma_net_field){.name = "caption", .value = part->caption};
    sma_buf_clear(&attempt->reply_parameters);
    telegram_put_reply_parameters(&attempt->reply_parameters, send);
    if (attempt->reply_parameters.err == SMA_ERR_OK && attempt->reply_parameters.len > 0)
        fields[count++] = (struct sma_net_field){.name = "reply_parameters",
                                                 .value = sma_buf_str(&attempt->reply_parameters)};
    fields[count++] = (struct sma_net_field){.name = telegram_file_field(part->file_kind),
                                             .path = attempt->base.path,
                                             .file_name = attempt->base.file_name,
                                             .type = telegram_file_type(part->target)};
    return count;
}

/* A picture that is too large for a photo is none: it goes as the file it is. */
static SMA_CHECKED enum sma_err open_file(struct telegram_attempt *attempt, struct sma_error *error)
{
    struct sma_sending *sending = &attempt->base;
    struct sma_str target = attempt->part.target;
    bool is_photo = sma_str_is_equal(attempt->part.file_kind, SMA_STR("photo"));
    size_t bytes_max = is_photo ? TELEGRAM_PHOTO_BYTES_MAX : TELEGRAM_UPLOAD_BYTES_MAX;
    enum sma_err err = sma_sending_open_file(sending, target, bytes_max, error);
    if (err != SMA_ERR_TOOBIG || !is_photo)
        return err;
    attempt->part.file_kind = SMA_STR("document");
    return sma_sending_open_file(sending, target, TELEGRAM_UPLOAD_BYTES_MAX, error);
}

void telegram_upload_start(struct telegram_attempt *attempt, const struct telegram_send *send)
{
    struct sma_sending *sending = &attempt->base;
    struct sma_error error = {0};
    if (open_file(attempt, &error) != SMA_ERR_OK) {
        sma_sending_fail(sending, &error);
        return;
    }
    sending->call = sma_call_start(
        sending->platform->calls,
        &(struct sma_call_options){.method = "POST",
                                   .path = sma_str(telegram_file_method(attempt->part.file_kind)),
                                   .fields = attempt->fields,
                                   .field_count = fill_fields(attempt, send),
                                   .may_repeat = false,
                                   .total_ms = sma_sending_left_ms(sending),
                                   .done = sma_sending_on_answer,
                                   .user = sending});
    sma_sending_check_call(sending);
}
