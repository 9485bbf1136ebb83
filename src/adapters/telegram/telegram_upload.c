/* telegram_upload.c — files of the project on their way out: the multipart request of a FILE
 * part. */
#include "telegram_priv.h"

#include "adapters/common/project_file.h"
#include "sma/text.h"

#include <stdio.h>

static size_t fill_fields(struct telegram_attempt *attempt, const struct telegram_send *send)
{
    struct sma_net_field *fields = attempt->fields;
    const struct telegram_part *part = &attempt->part;
    size_t count = 0;
    int64_t thread; /* topic 1, "General", is written to without its id */
    fields[count++] = (struct sma_net_field){.name = "chat_id", .value = send->route->chat_id};
    if (!send->is_no_thread &&
        sma_parse_i64(send->route->thread_id, 2, INT64_MAX, &thread) == SMA_ERR_OK)
        fields[count++] =
            (struct sma_net_field){.name = "message_thread_id", .value = send->route->thread_id};
    if (part->caption.len > 0)
        fields[count++] = (struct sma_net_field){.name = "caption", .value = part->caption};
    sma_buf_clear(&attempt->reply_parameters);
    telegram_put_reply_parameters(&attempt->reply_parameters, send);
    if (attempt->reply_parameters.err == SMA_ERR_OK && attempt->reply_parameters.len > 0)
        fields[count++] = (struct sma_net_field){.name = "reply_parameters",
                                                 .value = sma_buf_str(&attempt->reply_parameters)};
    fields[count++] = (struct sma_net_field){.name = telegram_file_field(part->file_kind),
                                             .path = attempt->path,
                                             .file_name = attempt->file_name,
                                             .type = telegram_file_type(part->target)};
    return count;
}

static SMA_CHECKED enum sma_err open_up_to(struct telegram_attempt *attempt, size_t bytes_max,
                                           struct sma_error *error)
{
    return sma_project_file_open(attempt->telegram->base.config->project_dir, attempt->part.target,
                                 bytes_max, &attempt->fd, error);
}

/* A picture that is too large for a photo is none: it goes as the file it is. */
static SMA_CHECKED enum sma_err open_file(struct telegram_attempt *attempt, struct sma_error *error)
{
    bool is_photo = sma_str_is_equal(attempt->part.file_kind, SMA_STR("photo"));
    enum sma_err err =
        open_up_to(attempt, is_photo ? TELEGRAM_PHOTO_BYTES_MAX : TELEGRAM_UPLOAD_BYTES_MAX, error);
    if (err != SMA_ERR_TOOBIG || !is_photo)
        return err;
    attempt->part.file_kind = SMA_STR("document");
    return open_up_to(attempt, TELEGRAM_UPLOAD_BYTES_MAX, error);
}

struct telegram_call *telegram_upload_start(struct telegram_attempt *attempt,
                                            const struct telegram_send *send, uint32_t total_ms,
                                            telegram_call_fn *done, struct sma_error *error)
{
    struct telegram *telegram = attempt->telegram;
    if (attempt->fd < 0 && open_file(attempt, error) != SMA_ERR_OK)
        return NULL;
    /* by the descriptor: what was checked is what is read, whatever happens to the name
     * meanwhile */
    snprintf(attempt->path, sizeof attempt->path, "/proc/self/fd/%d", attempt->fd);
    sma_project_file_name(attempt->part.target, attempt->file_name, sizeof attempt->file_name);
    struct telegram_call *call = telegram_call_start(
        telegram,
        &(struct telegram_call_options){.method = telegram_file_method(attempt->part.file_kind),
                                        .fields = attempt->fields,
                                        .field_count = fill_fields(attempt, send),
                                        .is_once = true,
                                        .total_ms = total_ms,
                                        .done = done,
                                        .user = attempt});
    if (call == NULL)
        (void)sma_fail(error, SMA_ERR_NOMEM, "out of memory while sending");
    return call;
}
