/*
 * What only another start can bring on: deliveries and runs of a platform that is not configured
 * (its token was taken out, it was switched off), and rows that a newer version wrote. They wait,
 * and it is said how many and for what.
 *
 * Adapters are made at the start of the program: what is aside stays so until the next one.
 */
#include "outbox_priv.h"
#include "store.h"
#include "trouble.h"

#include "runtime/chat/state_read.h"

#define ASIDE_DAYS 30
#define ASIDE_MS (ASIDE_DAYS * INT64_C(86400000))

/* -- whose it is ------------------------------------------------------------------------------- */
bool sma_store_is_aside(const struct sma_store *store, const struct sma_state_chat *chat)
{
    return sma_store_adapter_of(store, &(struct sma_route){.channel = chat->channel}) < 0;
}

/* What has no room in the list stands with its last one; a damaged name is a name, too. */
static struct store_missing_channel *find_aside(struct sma_store *store, struct sma_str channel)
{
    struct store_outbox *outbox = store->outbox;
    if (channel.len >= STORE_CHANNEL_SHOWN_BYTES)
        channel.len = STORE_CHANNEL_SHOWN_BYTES - 1;
    for (uint32_t i = 0; i < outbox->aside_count; i++)
        if (sma_str_is_equal(sma_str(outbox->asides[i].channel), channel))
            return &outbox->asides[i];
    if (outbox->aside_count == STORE_ASIDE_COUNT)
        return &outbox->asides[STORE_ASIDE_COUNT - 1];
    struct store_missing_channel *aside = &outbox->asides[outbox->aside_count++];
    *aside = (struct store_missing_channel){0};
    if (channel.len > 0)
        memcpy(aside->channel, channel.ptr, channel.len);
    return aside;
}

void sma_store_set_row_aside(struct sma_store *store, struct store_row *row, struct sma_str channel)
{
    struct store_outbox *outbox = store->outbox;
    struct store_missing_channel *aside = find_aside(store, channel);
    SMA_ASSERT(row->aside == 0);
    row->aside = (uint8_t)(aside - outbox->asides + 1);
    aside->deliveries++;
    if (row->made_ms != 0 && (outbox->aside_rows == 0 || row->made_ms < outbox->aside_first_ms))
        outbox->aside_first_ms = row->made_ms;
    outbox->aside_rows++;
}

void sma_store_forget_aside_rows(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->outbox->aside_count; i++)
        store->outbox->asides[i].deliveries = 0;
    store->outbox->aside_rows = 0;
}

void sma_store_note_aside_message(struct sma_store *store, const struct sma_state_chat *chat)
{
    find_aside(store, chat->channel)->messages++;
}

void sma_store_forget_aside_messages(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->outbox->aside_count; i++)
        store->outbox->asides[i].messages = 0;
}

/* -- saying so --------------------------------------------------------------------------------- */
static void tell(struct sma_store *store, struct store_missing_channel *aside)
{
    char what[320];
    bool is_newer = aside->channel[0] == '\0';
    if (is_newer)
        snprintf(what, sizeof what,
                 "%u deliveries were written by a newer version of this program and wait for it",
                 aside->deliveries);
    else
        snprintf(what, sizeof what,
                 "the platform \"%s\" is not configured: %u messages and %u deliveries wait for it",
                 aside->channel, aside->messages, aside->deliveries);
    sma_store_trouble(store,
                      &(struct store_trouble){
                          .name = is_newer ? "newer version" : "platform",
                          .chat_key = sma_str(aside->channel),
                          .what = what,
                          .remedy = is_newer ? "start the newer version within 30 days"
                                             : "enable it in ship.json and start again; deliveries "
                                               "are given up after 30 days"});
}

/* Runs are loaded after deliveries: with the first batch everything is counted. */
void sma_store_tell_asides(struct sma_store *store)
{
    for (uint32_t i = 0; i < store->outbox->aside_count; i++) {
        struct store_missing_channel *aside = &store->outbox->asides[i];
        bool is_empty = aside->messages + aside->deliveries == 0;
        if (is_empty == !aside->is_told)
            continue;
        aside->is_told = !is_empty;
        if (is_empty)
            sma_store_healed(store, aside->channel[0] == '\0' ? "newer version" : "platform",
                             sma_str(aside->channel));
        else
            tell(store, aside);
    }
}

void sma_store_put_asides(const struct sma_store *store, struct sma_buf *json)
{
    bool is_any = false;
    sma_buf_put_json_key(json, "waitingForPlatform");
    sma_buf_put_char(json, '[');
    for (uint32_t i = 0; i < store->outbox->aside_count; i++) {
        const struct store_missing_channel *aside = &store->outbox->asides[i];
        if (aside->messages + aside->deliveries == 0)
            continue;
        sma_buf_put_text(json, is_any ? ",{" : "{");
        sma_buf_put_json_key(json, "channel");
        sma_buf_put_json_string(json, sma_str(aside->channel));
        sma_buf_put_json_number(json, "messages", aside->messages);
        sma_buf_put_json_number(json, "deliveries", aside->deliveries);
        sma_buf_put_char(json, '}');
        is_any = true;
    }
    sma_buf_put_char(json, ']');
}

/* -- for how long ------------------------------------------------------------------------------ */
static SMA_CHECKED enum sma_err expire_row(struct sma_store *store, struct store_row *row)
{
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_state_outbox_fail(store->state, row->id,
                                    SMA_STR("its platform was not configured for too long"),
                                    sma_ctx_wall(store->ctx));
    return err == SMA_ERR_OK ? sma_store_finish_row(store, row) : err;
}

/* Rows of a version that did not write down when they were made stay: nobody knows how old they
 * are. */
enum sma_err sma_store_expire_aside_rows(struct sma_store *store)
{
    struct store_outbox *outbox = store->outbox;
    int64_t before_ms = sma_ctx_wall(store->ctx) - ASIDE_MS, first_ms = INT64_MAX;
    uint32_t count = 0;
    if (outbox->aside_rows == 0 || outbox->aside_first_ms >= before_ms)
        return SMA_ERR_OK;
    outbox->is_changed = true;
    for (struct store_chat *chat = store->chats.first; chat != NULL; chat = chat->next)
        for (struct store_row *row = chat->first, *next; row != NULL; row = next) {
            next = row->next;
            if (row->aside == 0 || row->made_ms == 0)
                continue;
            if (row->made_ms >= before_ms || count == SMA_BATCH_COUNT_MAX) {
                first_ms = row->made_ms < first_ms ? row->made_ms : first_ms;
                continue;
            }
            SMA_TRY(expire_row(store, row));
            count++;
        }
    outbox->aside_first_ms = first_ms;
    sma_ctx_log(store->ctx, SMA_LOG_WARN,
                "%u deliveries that waited %d days for their platform or version were given up",
                count, ASIDE_DAYS);
    return SMA_ERR_OK;
}
