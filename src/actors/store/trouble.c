/* Troubles: see trouble.h. A list, newest first; bounded: the oldest that is over goes, else
 * nothing is added but the log. */
#include "trouble.h"
#include "batch_priv.h"
#include "record.h"
#include "record_priv.h"
#include "store.h"

#include <stdarg.h>
#include <stdlib.h>

#define COUNT_MAX 64
#define SHOWN_MS (INT64_C(24) * 3600 * 1000)

struct store_trouble_entry
{
    struct store_trouble_entry *next;
    const char *name;
    int64_t since_ms, last_ms;
    uint64_t count;
    bool is_over;
    char chat_key[SMA_CHAT_KEY_BYTES_MAX + 1];
    char what[400], remedy[300];
};

static struct store_trouble_entry **find(const struct sma_store *store, const char *name,
                                         struct sma_str chat_key)
{
    struct store_trouble_entry **at = &store->batch->troubles;
    while (*at != NULL && (strcmp((*at)->name, name) != 0 ||
                           !sma_str_is_equal(sma_str((*at)->chat_key), chat_key)))
        at = &(*at)->next;
    return at;
}

static void remove_entry(struct sma_store *store, struct store_trouble_entry **at)
{
    struct store_trouble_entry *gone = *at;
    *at = gone->next;
    free(gone);
    SMA_METRIC_SET(store_troubles, --store->batch->trouble_count);
}

static struct store_trouble_entry *add(struct sma_store *store, const struct store_trouble *trouble)
{
    if (store->batch->trouble_count >= COUNT_MAX)
        return NULL; /* the log has it, and enough is known */
    struct store_trouble_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return NULL;
    entry->name = trouble->name;
    snprintf(entry->chat_key, sizeof entry->chat_key, "%.*s", (int)trouble->chat_key.len,
             trouble->chat_key.len == 0 ? "" : trouble->chat_key.ptr);
    entry->since_ms = store->sys->wall_ms(store->sys->self);
    entry->next = store->batch->troubles;
    store->batch->troubles = entry;
    SMA_METRIC_SET(store_troubles, ++store->batch->trouble_count);
    return entry;
}

void sma_store_trouble(struct sma_store *store, const struct store_trouble *trouble)
{
    struct store_trouble_entry *entry = *find(store, trouble->name, trouble->chat_key);
    bool is_new = entry == NULL;
    if (is_new)
        entry = add(store, trouble);
    /* What is over happened to something else each time. */
    if (is_new || trouble->is_over)
        sma_store_boot_line(store, SMA_LOG_ERROR, "%s; %s", trouble->what, trouble->remedy);
    if (entry == NULL)
        return;
    snprintf(entry->what, sizeof entry->what, "%s", trouble->what);
    snprintf(entry->remedy, sizeof entry->remedy, "%s", trouble->remedy);
    entry->is_over = trouble->is_over;
    entry->last_ms = store->sys->wall_ms(store->sys->self);
    entry->count++;
}

void sma_store_healed(struct sma_store *store, const char *name, struct sma_str chat_key)
{
    struct store_trouble_entry **at = find(store, name, chat_key);
    if (*at == NULL)
        return;
    sma_store_boot_line(store, SMA_LOG_INFO, "healed: %s", (*at)->what);
    remove_entry(store, at);
}

bool sma_store_has_trouble(const struct sma_store *store, const char *name, struct sma_str chat_key)
{
    return *find(store, name, chat_key) != NULL;
}

void sma_store_drop_old_troubles(struct sma_store *store)
{
    if (store->batch->trouble_count == 0)
        return;
    int64_t now_ms = store->sys->wall_ms(store->sys->self);
    for (struct store_trouble_entry **at = &store->batch->troubles; *at != NULL;) {
        if ((*at)->is_over && now_ms - (*at)->last_ms > SHOWN_MS)
            remove_entry(store, at);
        else
            at = &(*at)->next;
    }
}

void sma_store_free_troubles(struct sma_store *store)
{
    while (store->batch->troubles != NULL)
        remove_entry(store, &store->batch->troubles);
}

void sma_store_put_troubles(const struct sma_store *store, struct sma_buf *json)
{
    sma_buf_put_char(json, '[');
    for (const struct store_trouble_entry *at = store->batch->troubles; at != NULL; at = at->next) {
        sma_buf_put_text(json, at == store->batch->troubles ? "{" : ",{");
        sma_buf_put_json_member(json, "name", sma_str(at->name));
        if (at->chat_key[0] != '\0')
            sma_buf_put_json_member(json, "chatKey", sma_str(at->chat_key));
        sma_buf_put_json_member(json, "what", sma_str(at->what));
        sma_buf_put_json_member(json, "remedy", sma_str(at->remedy));
        sma_buf_put_json_key(json, "since");
        sma_buf_put_char(json, '"');
        sma_buf_put_iso_time(json, at->since_ms);
        sma_buf_put_char(json, '"');
        sma_buf_put_json_number(json, "count", at->count);
        sma_buf_put_char(json, '}');
    }
    sma_buf_put_char(json, ']');
}

void sma_store_boot_line(struct sma_store *store, enum sma_log_level level, const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *at = text; *at != '\0'; at++)
        if (*at == '\n')
            *at = ' ';
    if (store->ctx != NULL) {
        sma_ctx_log(store->ctx, level, "%s", text);
        return;
    }
    sma_buf_put_char(&store->boot_log, (char)('0' + level));
    sma_buf_put_text(&store->boot_log, text);
    sma_buf_put_char(&store->boot_log, '\n');
}

void sma_store_report_damage(struct sma_store *store, uint64_t seq, struct sma_str chat_key)
{
    char what[200];
    snprintf(what, sizeof what, "the stored history line of message %llu is damaged",
             (unsigned long long)seq);
    sma_store_trouble(store,
                      &(struct store_trouble){.name = "history line",
                                              .chat_key = chat_key,
                                              .what = what,
                                              .remedy = "it is left out of the history; check "
                                                        "the disk that state.db is on",
                                              .is_over = true});
}
