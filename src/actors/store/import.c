/*
 * What a new state.db takes over, once in its life: message ids of the history and of an older
 * program's markers as claims, contacts, initiators, the cursor of Telegram.
 *
 * Any number of lines may stand in the history. The newest SMA_CLAIM_COUNT_SOFT ids become claims,
 * oldest first, so that each generation has the age of its messages: what is older than
 * SMA_CLAIM_AGE_MIN_H may go as soon as there are more.
 */
#include "record.h"
#include "record_priv.h"
#include "store.h"

#include "runtime/chat/contacts_file.h"
#include "runtime/chat/legacy.h"
#include "runtime/chat/newest.h"

#include <stdlib.h>

#define IMPORT_MARK "store.import"
#define IMPORT_BATCH_COUNT 2000
#define LISTED_COUNT_MAX 20
#define DAY_MS INT64_C(86400000)

/* A message that nobody has answered, as far as the history tells. */
struct open_end
{
    int64_t wall_ms;
    char id[128]; /* cut: it is shown to people */
};

struct import
{
    struct sma_store *store;
    struct sma_error *error;
    struct sma_newest *newest;
    int64_t now_ms;
    uint32_t batch_count;
    uint64_t lines, claims, contacts, unanswered;
    /* the chat that is walked */
    struct sma_buf chat_key;
    uint32_t chat_id;
    struct open_end ends[LISTED_COUNT_MAX]; /* the newest since its last answer, a ring */
    uint64_t end_count;
    uint64_t listed;
};

static SMA_CHECKED enum sma_err next_batch(struct import *import)
{
    if (++import->batch_count % IMPORT_BATCH_COUNT != 0)
        return SMA_ERR_OK;
    enum sma_err err = sma_state_commit(import->store->state);
    return err != SMA_ERR_OK ? err : sma_state_begin(import->store->state);
}

/* -- what becomes a claim ---------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err open_chat(struct import *import, struct sma_str channel,
                                          struct sma_str chat_key)
{
    struct sma_state_chat *chat;
    enum sma_err err = sma_state_chat_open(import->store->state, chat_key, channel, &chat);
    if (err != SMA_ERR_OK)
        return err;
    import->chat_id = chat->id;
    sma_buf_clear(&import->chat_key);
    sma_buf_put_str(&import->chat_key, chat_key);
    return import->chat_key.err != SMA_ERR_OK ? import->chat_key.err : next_batch(import);
}

static SMA_CHECKED enum sma_err pick(struct import *import, struct sma_str message_id,
                                     int64_t wall_ms)
{
    if (message_id.len == 0 || message_id.len > SMA_ID_BYTES_MAX)
        return SMA_ERR_OK;
    return sma_newest_add(
        import->newest,
        &(struct sma_newest_item){.wall_ms = wall_ms, .chat = import->chat_id, .id = message_id});
}

static SMA_CHECKED enum sma_err claim(struct import *import, const struct sma_newest_item *item)
{
    struct sma_state *state = import->store->state;
    struct sma_state_chat *chat = sma_state_chat_by_id(state, item->chat);
    struct sma_state_head head;
    if (chat == NULL)
        return SMA_ERR_IO; /* it was made a moment ago */
    enum sma_err err =
        sma_state_claim_find(state, chat->claim_id, SMA_EVENT_MESSAGE, item->id, &head);
    if (err != SMA_ERR_NOTFOUND)
        return err;
    uint64_t seq, age_ms = import->now_ms > item->wall_ms && item->wall_ms > 0
                               ? (uint64_t)(import->now_ms - item->wall_ms)
                               : 0;
    sma_state_set_claim_age(state, age_ms);
    err = sma_state_accept(state,
                           &(struct sma_state_message){.chat = chat,
                                                       .kind = SMA_EVENT_MESSAGE,
                                                       .state = SMA_ROW_DONE,
                                                       .event_key = item->id,
                                                       .generation = chat->generation,
                                                       .history_offset = SMA_STATE_NO_LINE},
                           &seq);
    if (err != SMA_ERR_OK)
        return err;
    import->claims++;
    return next_batch(import);
}

static SMA_CHECKED enum sma_err claim_all(struct import *import)
{
    size_t count = sma_newest_sort(import->newest);
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; i < count && err == SMA_ERR_OK; i++) {
        struct sma_newest_item item = sma_newest_get(import->newest, i);
        err = claim(import, &item);
    }
    sma_state_set_claim_age(import->store->state, 0);
    return err;
}

/* -- the history ------------------------------------------------------------------------------- */
/* The chat is over: what came after its last answer, within a day, has none. Older ones nobody
 * waits for. */
static void end_chat(struct import *import)
{
    uint64_t count = import->end_count < LISTED_COUNT_MAX ? import->end_count : LISTED_COUNT_MAX;
    for (uint64_t i = import->end_count - count; i < import->end_count; i++) {
        const struct open_end *end = &import->ends[i % LISTED_COUNT_MAX];
        if (end->wall_ms < import->now_ms - DAY_MS)
            continue;
        import->unanswered++;
        if (++import->listed > LISTED_COUNT_MAX)
            continue;
        sma_store_boot_line(import->store, SMA_LOG_WARN,
                            "state.db was missing: message %s of %.*s has no answer in the history "
                            "and is not run again",
                            end->id, (int)import->chat_key.len, import->chat_key.ptr);
    }
    import->end_count = 0;
}

static void note_end(struct import *import, const struct sma_history_entry *entry)
{
    struct open_end *end = &import->ends[import->end_count++ % LISTED_COUNT_MAX];
    end->wall_ms = entry->wall_ms;
    snprintf(end->id, sizeof end->id, "%.*s", (int)entry->message_id.len,
             entry->message_id.ptr == NULL ? "" : entry->message_id.ptr);
}

static enum sma_err import_record(void *self, const struct sma_history_record *record)
{
    struct import *import = self;
    const struct sma_history_entry *entry = &record->entry;
    import->lines++;
    if (entry->chat_key.len == 0 || entry->chat_key.len > SMA_CHAT_KEY_BYTES_MAX)
        return SMA_ERR_OK;
    if (!sma_str_is_equal(sma_buf_str(&import->chat_key), entry->chat_key)) {
        end_chat(import);
        SMA_TRY(open_chat(import, entry->channel, entry->chat_key));
    }
    if (sma_str_is_equal(entry->role, SMA_STR("assistant"))) {
        if (!record->is_notice)
            import->end_count = 0;
        return SMA_ERR_OK;
    }
    if (!sma_str_is_equal(entry->role, SMA_STR("user")))
        return SMA_ERR_OK;
    if (entry->message_id.len > 0)
        note_end(import, entry);
    return pick(import, entry->message_id, entry->wall_ms);
}

/* -- what older programs left ------------------------------------------------------------------ */
static enum sma_err import_marker(void *self, struct sma_str channel, struct sma_str chat_key,
                                  struct sma_str message_id, int64_t claimed_ms)
{
    struct import *import = self;
    if (chat_key.len == 0 || chat_key.len > SMA_CHAT_KEY_BYTES_MAX)
        return SMA_ERR_OK;
    enum sma_err err = open_chat(import, channel, chat_key);
    return err != SMA_ERR_OK
               ? err
               : pick(import, message_id, claimed_ms > 0 ? claimed_ms : import->now_ms);
}

static enum sma_err import_update(void *self, int64_t update_id)
{
    struct import *import = self;
    /* The cursor is the next update wanted, as the platform's `offset`. */
    return sma_state_cursor_set(import->store->state, SMA_STR("telegram.offset"), update_id + 1);
}

static enum sma_err import_initiator(void *self, struct sma_str channel, struct sma_str chat_key,
                                     struct sma_str user_id)
{
    (void)channel;
    struct import *import = self;
    struct sma_buf *key = &import->store->scratch.text, *value = &import->store->scratch.facts;
    sma_buf_clear(key);
    sma_buf_put_text(key, "initiator:");
    sma_buf_put_str(key, chat_key);
    sma_buf_clear(value);
    sma_buf_put_json_string(value, user_id);
    return sma_state_access_set(import->store->state, sma_buf_str(key), sma_buf_str(value));
}

static enum sma_err import_contact(void *self, const struct sma_contact *contact)
{
    struct import *import = self;
    char thread[24] = "";
    if (contact->thread_id > 0)
        snprintf(thread, sizeof thread, "%lld", (long long)contact->thread_id);
    import->contacts++;
    return sma_state_contact_put(import->store->state,
                                 &(struct sma_state_contact){.channel = contact->channel,
                                                             .user_name = contact->user_name,
                                                             .chat_id = contact->chat_id,
                                                             .chat_key = contact->chat_key,
                                                             .chat_type = contact->chat_type,
                                                             .thread_id = sma_str(thread),
                                                             .user_id = contact->user_id,
                                                             .message_id = contact->message_id,
                                                             .wall_ms = contact->updated_ms});
}

static SMA_CHECKED enum sma_err import_contacts(struct import *import)
{
    struct sma_store *store = import->store;
    char path[4096];
    struct sma_error detail = {0};
    snprintf(path, sizeof path, "%s/contacts.json", store->config->state_dir);
    enum sma_err err = sma_contacts_read(store->sys, path, import_contact, import, &detail);
    if (err != SMA_ERR_CORRUPT && err != SMA_ERR_TOOBIG)
        return err;
    sma_store_boot_line(store, SMA_LOG_WARN, "contacts.json was not imported: %s", detail.text);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err import_markers(struct import *import)
{
    struct sma_store *store = import->store;
    struct sma_legacy_sink sink = {.self = import,
                                   .claim = import_marker,
                                   .telegram_update = import_update,
                                   .initiator = import_initiator};
    struct sma_legacy_counts counts = {0};
    enum sma_err err =
        sma_legacy_walk(store->sys, store->config->state_dir, &sink, &counts, import->error);
    if (err != SMA_ERR_OK && err != SMA_ERR_TOOBIG)
        return err;
    if (counts.skipped > 0)
        sma_store_boot_line(store, SMA_LOG_WARN,
                            "%llu files under .ship/.cache could not be read and were left out",
                            (unsigned long long)counts.skipped);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err import_all(struct import *import)
{
    struct sma_store *store = import->store;
    sma_state_make_room_for_ages(store->state);
    enum sma_err err = sma_history_walk(store->history, import_record, import, import->error);
    end_chat(import);
    if (err == SMA_ERR_OK)
        err = import_markers(import);
    if (err == SMA_ERR_OK)
        err = claim_all(import);
    return err == SMA_ERR_OK ? import_contacts(import) : err;
}

static void tell(const struct import *import)
{
    if (import->claims + import->contacts == 0)
        return;
    unsigned long long dropped = sma_newest_dropped(import->newest);
    sma_store_boot_line(import->store, SMA_LOG_INFO,
                        "imported %llu message ids and %llu contacts; %llu messages of the last "
                        "day without answer; %llu older ids were left out",
                        (unsigned long long)import->claims, (unsigned long long)import->contacts,
                        (unsigned long long)import->unanswered, dropped);
}

/* Once in the life of a database; an interrupted import is repeated and finds its claims again. */
enum sma_err sma_store_import(struct sma_store *store, struct sma_error *error)
{
    char done[8];
    if (sma_state_meta_get(store->state, SMA_STR(IMPORT_MARK), done, sizeof done) == SMA_ERR_OK)
        return SMA_ERR_OK;
    struct import import = {
        .store = store, .error = error, .now_ms = store->sys->wall_ms(store->sys->self)};
    sma_buf_init(&import.chat_key, SMA_CHAT_KEY_BYTES_MAX * 2);
    enum sma_err err = sma_newest_create(SMA_CLAIM_COUNT_SOFT, &import.newest);
    if (err == SMA_ERR_OK)
        err = sma_state_begin(store->state);
    if (err == SMA_ERR_OK)
        err = import_all(&import);
    if (err == SMA_ERR_OK)
        err = sma_state_meta_set(store->state, SMA_STR(IMPORT_MARK), SMA_STR("1"));
    if (err == SMA_ERR_OK)
        err = sma_state_commit(store->state);
    if (err == SMA_ERR_OK)
        tell(&import);
    sma_newest_destroy(import.newest);
    sma_buf_fini(&import.chat_key);
    if (err == SMA_ERR_OK || error->text[0] != '\0')
        return err;
    const char *detail = sma_state_error(store->state)->text;
    return sma_fail(error, err, "the state of the older program cannot be imported: %s",
                    detail[0] != '\0' ? detail : sma_err_text(err));
}
