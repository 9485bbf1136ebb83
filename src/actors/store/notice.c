/* What the store itself says in a chat: you wait, there is no room, you may not. Each at most once
 * in a while. */
#include "consent.h"
#include "intake_priv.h"
#include "runs.h"
#include "store.h"

#define NOTICE_INTERVAL_NS (SMA_NOTICE_INTERVAL_S * UINT64_C(1000000000))

/* One outage is one notice: the platform brings the rest of it within the hour. */
#define LATE_INTERVAL_NS (UINT64_C(3600) * 1000000000)

/* -- notices ----------------------------------------------------------------------------------- */
static bool may_notice(uint64_t *last_ns, uint64_t now)
{
    if (*last_ns != 0 && now - *last_ns < NOTICE_INTERVAL_NS)
        return false;
    *last_ns = now == 0 ? 1 : now;
    return true;
}

static SMA_CHECKED enum sma_err deliver_notice(struct sma_store *store,
                                               const struct sma_route *route, uint64_t seq,
                                               struct sma_str text)
{
    return sma_store_deliver_text(store, route, seq, text, false);
}

enum sma_err sma_store_full_notice(struct sma_store *store, struct store_chat *chat,
                                   const struct sma_ingress *in, uint64_t seq)
{
    if (sma_store_is_channel_quiet(&in->route) ||
        !may_notice(&chat->full_notice_ns, sma_ctx_now(store->ctx)))
        return SMA_ERR_OK;
    sma_buf_clear(&store->scratch.text);
    sma_notice_format(&store->scratch.text, sma_store_language(store, &in->route),
                      SMA_NOTICE_QUEUE_FULL);
    return deliver_notice(store, &in->route, seq, sma_buf_str(&store->scratch.text));
}

enum sma_err sma_store_refusal_notice(struct sma_store *store, struct store_chat *chat,
                                      const struct sma_route *route, uint64_t seq)
{
    if (sma_store_is_channel_quiet(route) ||
        !may_notice(&chat->refusal_notice_ns, sma_ctx_now(store->ctx)))
        return SMA_ERR_OK;
    sma_buf_clear(&store->scratch.text);
    sma_notice_format(&store->scratch.text, sma_store_language(store, route),
                      SMA_NOTICE_NOT_ALLOWED);
    return deliver_notice(store, route, seq, sma_buf_str(&store->scratch.text));
}

enum sma_err sma_store_late_notice(struct sma_store *store, struct store_chat *chat,
                                   const struct sma_ingress *in, uint64_t seq)
{
    const uint64_t now = sma_ctx_now(store->ctx), last = chat->late_notice_ns;
    if (sma_store_is_channel_quiet(&in->route) || (last != 0 && now - last < LATE_INTERVAL_NS))
        return SMA_ERR_OK;
    chat->late_notice_ns = now | 1;
    int64_t minutes = (sma_ctx_wall(store->ctx) - in->sent_ms) / 60000;
    enum sma_language language = sma_store_language(store, &in->route);
    sma_buf_clear(&store->scratch.text);
    if (minutes < 120)
        sma_notice_format(&store->scratch.text, language, SMA_NOTICE_LATE_MINUTES,
                          (unsigned)minutes);
    else
        sma_notice_format(&store->scratch.text, language, SMA_NOTICE_LATE_HOURS,
                          (unsigned)(minutes / 60));
    return deliver_notice(store, &in->route, seq, sma_buf_str(&store->scratch.text));
}

bool sma_store_may_refuse_again(struct sma_store *store, struct store_chat *chat)
{
    return may_notice(&chat->refusal_notice_ns, sma_ctx_now(store->ctx));
}

enum sma_err sma_store_ask_which(struct sma_store *store, struct store_chat *chat,
                                 const struct sma_route *route, uint64_t seq,
                                 const struct sma_str *about)
{
    if (sma_store_is_channel_quiet(route) ||
        !may_notice(&chat->unclear_notice_ns, sma_ctx_now(store->ctx)))
        return SMA_ERR_OK;
    enum sma_language language = sma_store_language(store, route);
    char title[256] = "";
    if (about != NULL)
        snprintf(title, sizeof title, "%.*s", (int)sma_utf8_cut(*about, sizeof title - 1),
                 about->len == 0 ? "" : about->ptr);
    sma_buf_clear(&store->scratch.text);
    if (about != NULL)
        sma_notice_format(&store->scratch.text, language, SMA_NOTICE_APPROVAL_WHICH, title);
    else
        sma_notice_format(&store->scratch.text, language, SMA_NOTICE_APPROVAL_SEVERAL);
    return sma_store_deliver_text(store, route, seq, sma_buf_str(&store->scratch.text), true);
}

enum sma_err sma_store_ask_plainly(struct sma_store *store, struct store_chat *chat,
                                   const struct sma_route *route, uint64_t seq,
                                   const struct store_plea *plea)
{
    if (sma_store_is_channel_quiet(route) ||
        !may_notice(&chat->unclear_notice_ns, sma_ctx_now(store->ctx)))
        return SMA_ERR_OK;
    char about[256];
    snprintf(about, sizeof about, "%.*s", (int)sma_utf8_cut(plea->title, sizeof about - 1),
             plea->title.len == 0 ? "" : plea->title.ptr);
    sma_buf_clear(&store->scratch.text);
    sma_notice_format(&store->scratch.text, sma_store_language(store, route), plea->notice, about);
    return sma_store_deliver_text(store, route, seq, sma_buf_str(&store->scratch.text), true);
}

/* What this request asks for, in a sentence. CORRUPT: it cannot be read; the end of the batch gives
 * it up. */
static enum sma_err put_question(struct sma_store *store, struct store_approval *approval,
                                 enum sma_language language, enum sma_notice notice,
                                 struct sma_buf *buf)
{
    struct store_case it;
    SMA_TRY(sma_store_case_open(store, approval, &it));
    uint64_t mask = sma_store_case_mask(&it);
    struct sma_str title = mask == 0 ? SMA_STR("") : it.request.items[__builtin_ctzll(mask)].title;
    char about[256];
    snprintf(about, sizeof about, "%.*s", (int)sma_utf8_cut(title, sizeof about - 1),
             title.len == 0 ? "" : title.ptr);
    sma_store_case_fini(&it);
    sma_notice_format(buf, language, notice, about);
    return buf->err;
}

enum sma_err sma_store_put_asked(struct sma_store *store, struct store_chat *chat,
                                 enum sma_language language, struct sma_buf *buf)
{
    struct store_approval *approval = sma_store_approval_of_chat(store, chat);
    if (approval == NULL)
        return SMA_ERR_OK;
    sma_buf_put_char(buf, '\n');
    enum sma_err err = put_question(store, approval, language, SMA_NOTICE_STATUS_ASKS, buf);
    buf->len -= err == SMA_ERR_CORRUPT;
    return err == SMA_ERR_CORRUPT ? SMA_ERR_OK : err;
}

/* What a chat waits for, once for each request. */
enum sma_err sma_store_remind(struct sma_store *store, struct store_chat *chat,
                              const struct sma_route *route, uint64_t seq)
{
    struct store_approval *approval = sma_store_approval_of_chat(store, chat);
    if (approval == NULL || sma_store_approval_is_told(approval) ||
        sma_store_is_channel_quiet(route))
        return SMA_ERR_OK;
    sma_buf_clear(&store->scratch.text);
    enum sma_err err = put_question(store, approval, sma_store_language(store, route),
                                    SMA_NOTICE_APPROVAL_WAITING, &store->scratch.text);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_CORRUPT ? SMA_ERR_OK : err;
    sma_store_approval_note_told(approval);
    return sma_store_deliver_text(store, route, seq, sma_buf_str(&store->scratch.text), true);
}

/* -- the audit --------------------------------------------------------------------------------- */

void sma_store_drop_audit(struct sma_store *store, size_t kept_len)
{
    struct sma_buf *audit = &store->intake->audit;
    if (kept_len == 0)
        sma_buf_clear(audit);
    else if (audit->len > kept_len)
        audit->len = kept_len;
}

void sma_store_flush_audit(struct sma_store *store)
{
    const char *at = store->intake->audit.ptr, *end = at + store->intake->audit.len;
    if (store->intake->audit.len == 0)
        return;
    while (store->intake->audit.err == SMA_ERR_OK && at < end) {
        struct sma_str message = sma_str(at);
        uint32_t len;
        at += message.len + 1;
        memcpy(&len, at, sizeof len);
        at += sizeof len;
        sma_ctx_log_details(store->ctx, SMA_LOG_ACTION, message, (struct sma_str){at, len});
        at += len;
    }
    sma_buf_clear(&store->intake->audit);
}

void sma_store_consider_busy(struct sma_store *store, struct store_chat *chat, struct sma_msg **msg,
                             uint64_t seq)
{
    const struct sma_ingress *in = SMA_MSG_BODY(*msg, struct sma_ingress);
    uint64_t now = sma_ctx_now(store->ctx);
    if (sma_store_is_channel_quiet(&in->route) ||
        (chat->approval_count == 0 && chat->busy_notice_ns != 0 &&
         now - chat->busy_notice_ns < NOTICE_INTERVAL_NS))
        return;
    if (!sma_store_grow(&store->intake->busy, store->intake->busy_count, &store->intake->busy_cap,
                        sizeof *store->intake->busy))
        return; /* a notice is not worth more */
    store->intake->busy[store->intake->busy_count++] =
        (struct store_busy){.msg = *msg, .seq = seq, .chat = chat};
    *msg = NULL;
}

/* Does it wait for others? What is first in a free chat, with room for a run, waits at most for its
 * own attachments. */
static bool is_waiting(const struct sma_store *store, const struct store_chat *chat, uint64_t seq)
{
    struct sma_state_head head;
    uint64_t first;
    if (!sma_queue_first(store->queue, chat->id, &first) ||
        sma_state_head_get(store->state, seq, &head) != SMA_ERR_OK || head.state != SMA_ROW_WAITING)
        return false;
    if (sma_store_is_addition(chat, seq))
        return false; /* it goes into the run that is open */
    if (chat->quiet.is_on && !sma_queue_is_busy(store->queue, chat->id))
        return false; /* for what its own person adds */
    return first != seq || sma_queue_is_busy(store->queue, chat->id) || !sma_store_has_room(store);
}

enum sma_err sma_store_busy_notices(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->intake->busy_count; i++) {
        struct store_busy *busy = &store->intake->busy[i];
        const struct sma_ingress *in = SMA_MSG_BODY(busy->msg, struct sma_ingress);
        const struct sma_route *route = &in->route;
        /* what is forwarded waits for the words before it alone */
        if (in->is_behind || !is_waiting(store, busy->chat, busy->seq))
            continue;
        if (sma_store_approval_of_chat(store, busy->chat) != NULL) {
            enum sma_err err = sma_store_remind(store, busy->chat, route, busy->seq);
            if (err != SMA_ERR_OK)
                return err;
            continue;
        }
        if (!may_notice(&busy->chat->busy_notice_ns, sma_ctx_now(store->ctx)))
            continue;
        uint32_t position = sma_queue_position(store->queue, busy->chat->id, busy->seq);
        enum sma_language language = sma_store_language(store, route);
        sma_buf_clear(&store->scratch.text);
        if (position > 0)
            sma_notice_format(&store->scratch.text, language, SMA_NOTICE_BUSY_POSITION, position);
        else
            sma_notice_format(&store->scratch.text, language, SMA_NOTICE_BUSY);
        enum sma_err err =
            deliver_notice(store, route, busy->seq, sma_buf_str(&store->scratch.text));
        if (err != SMA_ERR_OK)
            return err;
    }
    return SMA_ERR_OK;
}

void sma_store_drop_busy(struct sma_store *store, uint32_t kept_count)
{
    for (uint32_t i = kept_count; i < store->intake->busy_count; i++)
        sma_msg_destroyp(&store->intake->busy[i].msg);
    if (store->intake->busy_count > kept_count)
        store->intake->busy_count = kept_count;
}
