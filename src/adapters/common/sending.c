/* sending.c — see sending.h. */
#include "platform.h"

#include "answers.h"
#include "project_file.h"

#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ERROR_BYTES_MAX 250

static const struct sma_sending_ops *ops_of(const struct sma_sending *sending)
{
    return sending->platform->ops->sending;
}

static struct sma_sending *place_at(const struct sma_sendings *sendings, size_t index)
{
    size_t size = sendings->platform->ops->sending->size;
    return (struct sma_sending *)(void *)(sendings->places + index * size);
}

enum sma_err sma_sendings_init(struct sma_sendings *sendings, struct sma_platform *platform)
{
    size_t size = platform->ops->sending->size;
    SMA_ASSERT(size >= sizeof(struct sma_sending) && size % _Alignof(struct sma_sending) == 0);
    *sendings = (struct sma_sendings){.platform = platform};
    sendings->places = calloc(SMA_ASK_ATTEMPT_COUNT_MAX, size);
    return sendings->places == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

void sma_sendings_fini(struct sma_sendings *sendings)
{
    free(sendings->places);
    *sendings = (struct sma_sendings){0};
}

uint32_t sma_sending_left_ms(const struct sma_sending *sending)
{
    uint64_t now_ns = sma_ctx_now(sending->platform->ctx);
    if (sending->until_ns <= now_ns)
        return 1;
    return (uint32_t)((sending->until_ns - now_ns) / SMA_NS_PER_MS) + 1;
}

/* -- the answer -------------------------------------------------------------------------------- */
static void release(struct sma_sending *sending)
{
    const struct sma_sending_ops *ops = ops_of(sending);
    if (ops->release != NULL)
        ops->release(sending);
    sma_sending_close_file(sending);
    sma_msg_destroy(sending->msg);
    memset(sending, 0, ops->size);
}

static void answer(struct sma_sending *sending, const struct sma_attempt_result *result)
{
    sma_streams_settle(&sending->platform->streams, sending->asked, result->attempt_class);
    sma_adapter_answer_attempt(sending->platform->ctx, sending->msg, result);
    release(sending);
}

void sma_sending_answer(struct sma_sending *sending)
{
    struct sma_attempt_result result = ops_of(sending)->result(sending);
    answer(sending, &result);
}

void sma_sending_end(struct sma_sending *sending, enum sma_attempt_class attempt_class,
                     const char *error)
{
    struct sma_str text = sma_str(error);
    text.len = sma_utf8_cut(text, ERROR_BYTES_MAX);
    answer(sending,
           &(struct sma_attempt_result){.attempt_class = (uint8_t)attempt_class, .error = text});
}

void sma_sending_fail(struct sma_sending *sending, const struct sma_error *error)
{
    bool is_nomem = error->code == SMA_ERR_NOMEM;
    sma_sending_end(sending, is_nomem ? SMA_ATTEMPT_RETRY : SMA_ATTEMPT_GIVE_UP,
                    is_nomem ? "out of memory while sending" : error->text);
}

/* -- requests ---------------------------------------------------------------------------------- */
void sma_sending_before(const struct sma_sending *sending)
{
    sma_platform_crash_point(sending->platform, "before_send");
}

void sma_sending_check_call(struct sma_sending *sending)
{
    if (sending->call == NULL)
        sma_sending_end(sending, SMA_ATTEMPT_RETRY, "out of memory while sending");
}

void sma_sending_conclude(struct sma_sending *sending)
{
    const struct sma_sending_ops *ops = ops_of(sending);
    if (!ops->mend(sending)) {
        sma_sending_answer(sending);
    } else if (sma_sending_left_ms(sending) > SMA_SENDING_MEND_MS) {
        ops->send(sending);
    } else {
        struct sma_attempt_result result = ops->result(sending);
        answer(sending, &(struct sma_attempt_result){.attempt_class = SMA_ATTEMPT_RETRY,
                                                     .error = result.error});
    }
}

void sma_sending_on_answer(void *state, void *user, const struct sma_net_answer *net_answer)
{
    struct sma_sending *sending = user;
    (void)state;
    sending->call = NULL;
    sma_platform_crash_point(sending->platform, "after_send");
    ops_of(sending)->read(sending, net_answer);
    sma_sending_conclude(sending);
}

/* -- files out --------------------------------------------------------------------------------- */
enum sma_err sma_sending_open_file(struct sma_sending *sending, struct sma_str target,
                                   size_t bytes_max, struct sma_error *error)
{
    if (sending->fd >= 0)
        return SMA_ERR_OK;
    SMA_TRY(sma_project_file_open(sending->platform->config->project_dir, target,
                                  sending->asked->intent, bytes_max, &sending->fd, error));
    /* by the descriptor: what was checked is what is read, whatever happens to the name
     * meanwhile */
    snprintf(sending->path, sizeof sending->path, "/proc/self/fd/%d", sending->fd);
    sma_project_file_name(target, sending->file_name, sizeof sending->file_name);
    return SMA_ERR_OK;
}

void sma_sending_close_file(struct sma_sending *sending)
{
    if (sending->fd >= 0)
        close(sending->fd);
    sending->fd = -1;
}

/* -- the question ------------------------------------------------------------------------------ */
static void begin(struct sma_sending *sending)
{
    const struct sma_sending_ops *ops = ops_of(sending);
    sending->is_held = ops->hold != NULL && ops->hold(sending);
    if (!sending->is_held)
        ops->send(sending);
}

static void open_part(struct sma_sending *sending)
{
    const struct sma_sending_ops *ops = ops_of(sending);
    struct sma_error error = {0};
    error.code = ops->open(sending, &error);
    if (error.code == SMA_ERR_OK) {
        uint32_t total_ms = ops->is_file(sending) ? SMA_SENDING_FILE_MS : SMA_SENDING_TEXT_MS;
        sending->until_ns = sma_ctx_now(sending->platform->ctx) + total_ms * SMA_NS_PER_MS;
        begin(sending);
        return;
    }
    if (error.text[0] == '\0')
        snprintf(error.text, sizeof error.text,
                 "a stored part cannot be read: it was not made by this program");
    sma_sending_fail(sending, &error);
}

void sma_sendings_on_attempt(struct sma_sendings *sendings, struct sma_msg **msg)
{
    size_t i = 0;
    while (i < SMA_ASK_ATTEMPT_COUNT_MAX && place_at(sendings, i)->msg != NULL)
        i++;
    SMA_ASSERT(i < SMA_ASK_ATTEMPT_COUNT_MAX); /* as many places as the edge has questions */
    struct sma_sending *sending = place_at(sendings, i);
    sending->platform = sendings->platform;
    sending->asked = SMA_MSG_BODY(*msg, struct sma_attempt);
    sending->msg = SMA_TAKE(*msg);
    sending->fd = -1;
    if (sendings->platform->is_closed)
        sma_sending_end(sending, SMA_ATTEMPT_RETRY, "the service is stopping");
    else
        open_part(sending);
}

void sma_sendings_go_on(struct sma_sendings *sendings, uint64_t seq)
{
    for (size_t i = 0; i < SMA_ASK_ATTEMPT_COUNT_MAX; i++) {
        struct sma_sending *sending = place_at(sendings, i);
        if (sending->msg != NULL && sending->is_held && sending->asked->seq == seq)
            begin(sending);
    }
}

void sma_sendings_drop(struct sma_sendings *sendings)
{
    for (size_t i = 0; i < SMA_ASK_ATTEMPT_COUNT_MAX; i++) {
        struct sma_sending *sending = place_at(sendings, i);
        if (sending->msg == NULL)
            continue;
        sma_call_cancel(SMA_TAKE(sending->call));
        release(sending);
    }
}
