/* sending.c — see sending.h. */
#include "platform.h"

#include "answers.h"
#include "project_file.h"
#include "unlink_words.h"

#include "runtime/delivery/split.h"
#include "sma/notices.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
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

static void answer_as_read(struct sma_sending *sending)
{
    const struct sma_answered *answered = &sending->answered;
    answer(sending, &(struct sma_attempt_result){
                        .attempt_class = answered->attempt_class,
                        .is_adapter_wide = answered->is_adapter_wide,
                        .is_chat_only = answered->is_chat_only,
                        .is_likely_unsent = answered->is_likely_unsent,
                        .is_content_refused = answered->is_content_refused,
                        .retry_after_ms = answered->retry_after_ms,
                        .platform_message_id = sma_str(answered->message_id),
                        .reply_id = sma_str(answered->reply_id),
                        .sent_ms = answered->sent_ms,
                        .error = sma_str(answered->error),
                    });
}

void sma_sending_end(struct sma_sending *sending, enum sma_attempt_class attempt_class,
                     const char *error)
{
    struct sma_str text = sma_str(error);
    text.len = sma_utf8_cut(text, ERROR_BYTES_MAX);
    /* Of a file that cannot even be read people hear as of one that the platform refuses. */
    bool is_lost_file = attempt_class == SMA_ATTEMPT_GIVE_UP && ops_of(sending)->is_file(sending);
    answer(sending, &(struct sma_attempt_result){.attempt_class = (uint8_t)attempt_class,
                                                 .is_content_refused = is_lost_file,
                                                 .error = text});
}

void sma_sending_fail(struct sma_sending *sending, const struct sma_error *error)
{
    bool is_nomem = error->code == SMA_ERR_NOMEM;
    sma_sending_end(sending, is_nomem ? SMA_ATTEMPT_RETRY : SMA_ATTEMPT_GIVE_UP,
                    is_nomem ? "out of memory while sending" : error->text);
}

/* -- words ------------------------------------------------------------------------------------- */
static struct sma_str words_left(const struct sma_sending *sending)
{
    struct sma_str text = ops_of(sending)->text(sending);
    size_t from = sending->done_bytes < text.len ? sending->done_bytes : text.len;
    return (struct sma_str){text.ptr + from, text.len - from};
}

static void take_first(void *user, const struct sma_split_part *part)
{
    size_t *bytes = user;
    if (part->index == 0)
        *bytes = part->body.len;
}

void sma_sending_put_words(struct sma_sending *sending, struct sma_str text, struct sma_buf *buf)
{
    bool is_own = text.len > 0 && text.ptr == ops_of(sending)->text(sending).ptr;
    if (is_own && sending->piece_units > 0) {
        text = words_left(sending);
        sending->piece_bytes = text.len;
        if (sma_text_split(text, sending->piece_units, take_first, &sending->piece_bytes) !=
            SMA_ERR_OK)
            sending->piece_bytes = text.len;
        text.len = sending->piece_bytes;
    }
    if ((sending->without & SMA_MEND_LINKS) != 0)
        sma_adapter_put_unlinked(buf, text, sending->asked->route.language);
    else
        sma_buf_put_str(buf, text);
}

static bool has_link(const struct sma_sending *sending, struct sma_str text)
{
    struct sma_buf without;
    sma_buf_init(&without, 4 * text.len + 64);
    sma_adapter_put_unlinked(&without, text, sending->asked->route.language);
    bool is_other = without.err == SMA_ERR_OK && !sma_str_is_equal(sma_buf_str(&without), text);
    sma_buf_fini(&without);
    return is_other;
}

void sma_sending_put_instead(const struct sma_sending *sending, struct sma_str caption,
                             struct sma_str target, struct sma_buf *buf)
{
    bool is_url = sma_str_starts_with(target, SMA_STR("http://")) ||
                  sma_str_starts_with(target, SMA_STR("https://"));
    char name[sizeof sending->file_name];
    sma_buf_put_str(buf, caption);
    if (caption.len > 0)
        sma_buf_put_char(buf, '\n');
    if (is_url) {
        sma_buf_put_str(buf, target);
        return;
    }
    sma_project_file_name(target, name, sizeof name);
    sma_notice_format(
        buf, sma_notice_language(SMA_LANGUAGE_AUTO, sending->asked->route.language, true),
        sending->asked->is_late ? SMA_NOTICE_FILE_FAILED : SMA_NOTICE_FILE_REFUSED, name);
}

/* -- the ladder -------------------------------------------------------------------------------- */
static uint32_t forms_of(const struct sma_sending *sending)
{
    struct sma_str text = words_left(sending);
    uint32_t forms = ops_of(sending)->forms(sending);
    if ((sending->without & SMA_MEND_FILE) != 0) /* the last one before the notice */
        forms &= ~(uint32_t)SMA_MEND_LADDER | SMA_MEND_REPLY;
    if (text.len == 0)
        return forms;
    if (has_link(sending, text))
        forms |= SMA_MEND_LINKS;
    if (sma_utf16_length(text) > SMA_SENDING_PIECE_UNITS_MIN)
        forms |= SMA_MEND_CUT;
    /* Words that others follow are no file: the model hears that they were not shown. */
    bool may_be_file = (sending->without & SMA_MEND_INSTEAD) == 0 && !sending->asked->is_interim;
    return may_be_file ? forms | SMA_MEND_FILE : forms;
}

/* The words as a file that nobody else can see. */
static bool open_words(struct sma_sending *sending)
{
    struct sma_str text = words_left(sending);
    int fd = memfd_create("answer", MFD_CLOEXEC);
    if (fd < 0)
        return false;
    if (write(fd, text.ptr, text.len) != (ssize_t)text.len || lseek(fd, 0, SEEK_SET) != 0) {
        close(fd);
        return false;
    }
    sending->fd = fd;
    snprintf(sending->path, sizeof sending->path, "/proc/self/fd/%d", fd);
    snprintf(sending->file_name, sizeof sending->file_name, SMA_SENDING_FILE_NAME);
    sending->until_ns += (SMA_SENDING_FILE_MS - SMA_SENDING_TEXT_MS) * SMA_NS_PER_MS;
    return true;
}

static bool take_step(struct sma_sending *sending, uint32_t step)
{
    const struct sma_sending_ops *ops = ops_of(sending);
    uint32_t units = sending->piece_units;
    sending->without |= step;
    if (step == SMA_MEND_LINKS || step == SMA_MEND_CUT) /* bare words alone can be changed so */
        sending->without |= SMA_MEND_MARKS | SMA_MEND_BUTTONS;
    if (step == SMA_MEND_CUT) {
        units = units > 0 ? units : (uint32_t)sma_utf16_length(words_left(sending));
        sending->piece_units = (units + 1) / 2;
        if (sending->piece_units / 2 > SMA_SENDING_PIECE_UNITS_MIN)
            sending->without &= ~(uint32_t)SMA_MEND_CUT; /* it can be cut once more */
    }
    if (step == SMA_MEND_CAPTION || step == SMA_MEND_INSTEAD) /* the latter holds it */
        sending->is_caption_due =
            step == SMA_MEND_CAPTION && sending->answered.act != SMA_ACT_WORDS;
    if (step == SMA_MEND_FILE && !open_words(sending))
        return false;
    return ops->step == NULL || ops->step(sending, (enum sma_mend)step);
}

bool sma_sendings_is_barred(const struct sma_sendings *sendings, enum sma_mend step)
{
    return sendings->barred_ns[__builtin_ctz(step)] > sma_ctx_now(sendings->platform->ctx);
}

/* @return whether the part goes out once more: in the form that the table names, else in the next
 * plainer one. */
static bool mend(struct sma_sending *sending)
{
    const struct sma_answered *answered = &sending->answered;
    uint32_t open, wanted;
    while ((open = forms_of(sending) & ~sending->without) != 0) {
        wanted = answered->mend & open;
        if (wanted == 0 && answered->act == SMA_ACT_REFUSED)
            wanted = open & SMA_MEND_LADDER &
                     (words_left(sending).len < SMA_SENDING_GUESS_BYTES_MIN ? ~SMA_MEND_CUT : ~0);
        uint32_t step = wanted & -wanted;
        if (step == 0)
            return false;
        if ((answered->mend & SMA_MEND_HOURS) != 0) /* what it may not do at all */
            sending->platform->sendings.barred_ns[__builtin_ctz(step)] =
                sma_ctx_now(sending->platform->ctx) + SMA_SENDING_BARRED_S * SMA_NS_PER_S;
        if (take_step(sending, step))
            return true;
    }
    return false;
}

uint32_t sma_sending_form(const struct sma_sending *sending)
{
    uint32_t units = sending->piece_units, halved_count = 0;
    uint32_t steps =
        sending->without & (SMA_MEND_LADDER | SMA_MEND_KEY) & ~(SMA_MEND_EDIT | SMA_MEND_CUT);
    if (units > 0)
        for (size_t all = sma_utf16_length(ops_of(sending)->text(sending)); units < all; units *= 2)
            halved_count++;
    return (uint32_t)__builtin_popcount(steps) + halved_count;
}

/* -- texts in pieces: what has arrived of them is remembered until the part is over ------------ */
static struct sma_sending_cut *cut_of(const struct sma_sending *sending)
{
    struct sma_sendings *sendings = &sending->platform->sendings;
    for (size_t i = 0; i < SMA_SENDING_CUT_COUNT_MAX; i++)
        if (sendings->cuts[i].outbox_id == sending->asked->outbox_id &&
            sendings->cuts[i].part == sending->asked->part)
            return &sendings->cuts[i];
    return NULL;
}

static void note_piece(struct sma_sending *sending)
{
    struct sma_sendings *sendings = &sending->platform->sendings;
    struct sma_sending_cut *cut = cut_of(sending);
    sending->done_bytes += sending->piece_bytes;
    sending->piece++;
    if (cut == NULL) {
        cut = &sendings->cuts[sendings->cut_next];
        sendings->cut_next = (sendings->cut_next + 1) % SMA_SENDING_CUT_COUNT_MAX;
    }
    *cut = (struct sma_sending_cut){.outbox_id = sending->asked->outbox_id,
                                    .part = sending->asked->part,
                                    .done_bytes = sending->done_bytes,
                                    .without = sending->without,
                                    .piece_units = sending->piece_units,
                                    .piece = sending->piece};
}

/* Where an earlier attempt of this part stood, and what is known to be refused here. A repeat asks
 * anew: its key must be the one of the form that may have been shown. */
static void resume(struct sma_sending *sending)
{
    const struct sma_sendings *sendings = &sending->platform->sendings;
    const struct sma_sending_cut *cut = cut_of(sending);
    if (cut != NULL) {
        sending->without = cut->without;
        sending->done_bytes = cut->done_bytes;
        sending->piece_units = cut->piece_units;
        sending->piece = cut->piece;
    }
    for (unsigned bit = 0; cut == NULL && bit < SMA_COUNT_OF(sendings->barred_ns); bit++) {
        uint32_t step = UINT32_C(1) << bit;
        if (sma_sendings_is_barred(sendings, (enum sma_mend)step) && !sending->asked->is_repeat &&
            (forms_of(sending) & step) != 0)
            (void)take_step(sending, step);
    }
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

/* @return whether something of the part is still to come */
static bool goes_on(struct sma_sending *sending)
{
    if (sending->answered.attempt_class != SMA_ATTEMPT_SENT)
        return mend(sending);
    if ((sending->without & SMA_MEND_FILE) == 0 && sending->piece_units > 0) {
        note_piece(sending);
        if (words_left(sending).len > 0)
            return true;
    }
    struct sma_sending_cut *cut = cut_of(sending);
    if (cut != NULL)
        *cut = (struct sma_sending_cut){0};
    if (!sending->is_caption_due)
        return false;
    sending->is_caption_due = false;
    sending->without = 0;
    return ops_of(sending)->step(sending, SMA_MEND_REST);
}

void sma_sending_conclude(struct sma_sending *sending)
{
    if (!goes_on(sending)) {
        answer_as_read(sending);
    } else if (sma_sending_left_ms(sending) > SMA_SENDING_MEND_MS) {
        ops_of(sending)->send(sending);
    } else {
        answer(sending, &(struct sma_attempt_result){.attempt_class = SMA_ATTEMPT_RETRY,
                                                     .error = sma_str(sending->answered.error)});
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
        resume(sending);
        if (sending->asked->is_late && (forms_of(sending) & SMA_MEND_INSTEAD) != 0)
            (void)take_step(sending, SMA_MEND_INSTEAD);
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
