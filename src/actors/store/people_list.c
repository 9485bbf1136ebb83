/* Who waits for a pairing, and whom the records know: the list of GET /api/pairings, some records
 * at a time. */
#include "lists.h"
#include "pairing_priv.h"
#include "people.h"
#include "people_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#define LISTED_COUNT_MAX 2000 /* of each kind: however many people there are, so much is read */
#define SLICE_COUNT 64

static bool list_pairing(struct sma_store *store, const struct sma_state_record *pair,
                         struct sma_buf *json)
{
    json_t *root = json_loadb(pair->value.ptr, pair->value.len, 0, NULL);
    struct sma_route route = sma_store_people_get_route(root);
    int64_t created = json_integer_value(json_object_get(root, "created"));
    bool is_listed = root != NULL && !sma_store_pairing_is_old(store, created);
    if (is_listed) {
        sma_buf_put_char(json, '{');
        sma_buf_put_json_member(json, "code",
                                (struct sma_str){pair->key.ptr + 5, pair->key.len - 5});
        sma_buf_put_json_member(json, "channel", route.channel);
        sma_buf_put_json_member(json, "userId", route.user_id);
        sma_buf_put_json_member(json, "userName", route.user_name);
        if (json_is_true(json_object_get(root, "group")))
            sma_buf_put_json_member(json, "group", route.chat_id);
        sma_buf_put_json_key(json, "created");
        sma_buf_put_i64(json, created);
        sma_buf_put_char(json, '}');
    }
    json_decref(root);
    return is_listed;
}

/* As he was last seen; nothing when he has never written. */
static void put_name(struct sma_store *store, struct sma_str channel, struct sma_str user_id,
                     struct sma_buf *json)
{
    struct sma_state_contact contact;
    if (sma_state_contact_of(store->state, channel, user_id, &contact) == SMA_ERR_OK &&
        contact.user_name.len > 0)
        sma_buf_put_json_member(json, "userName", contact.user_name);
}

/* person/CHANNEL/ID or group/CHANNEL/ID */
static bool list_known(struct sma_store *store, const struct sma_state_record *pair,
                       struct sma_buf *json)
{
    struct sma_str key = pair->key;
    bool is_person = sma_str_starts_with(key, SMA_STR("person/"));
    const size_t prefix = is_person ? strlen("person/") : strlen("group/");
    const char *slash = memchr(key.ptr + prefix, '/', key.len - prefix);
    json_t *root = json_loadb(pair->value.ptr, pair->value.len, 0, NULL);
    bool is_listed = slash != NULL && root != NULL;
    if (is_listed) {
        struct sma_str channel = {key.ptr + prefix, (size_t)(slash - key.ptr) - prefix},
                       id = {slash + 1, key.len - (size_t)(slash + 1 - key.ptr)};
        sma_buf_put_char(json, '{');
        sma_buf_put_json_member(json, "channel", channel);
        sma_buf_put_json_member(json, is_person ? "userId" : "chatId", id);
        if (is_person)
            sma_buf_put_json_member(json, "role",
                                    sma_str(json_string_value(json_object_get(root, "standing"))));
        if (is_person)
            put_name(store, channel, id, json);
        sma_buf_put_json_member(json, "via",
                                sma_str(json_string_value(json_object_get(root, "via"))));
        sma_buf_put_char(json, '}');
    }
    json_decref(root);
    return is_listed;
}

static const struct chapter
{
    const char *prefix;
    const char *head;
    bool (*list)(struct sma_store *store, const struct sma_state_record *pair,
                 struct sma_buf *json);
} chapters[] = {
    {"pair/", "{\"pairings\":[", list_pairing},
    {"person/", "],\"people\":[", list_known},
    {"group/", "],\"groups\":[", list_known},
};

struct people
{
    uint32_t chapter, seen; /* records of it */
    bool has_item;
    struct sma_buf after; /* the last key that was looked at; empty: none of this chapter */
};

static void begin(struct sma_store *store, struct store_list *list)
{
    (void)store;
    sma_buf_init(&((struct people *)list->own)->after, 64 * 1024);
    sma_buf_put_text(&list->json, chapters[0].head);
}

static void put_one(struct sma_store *store, struct store_list *list,
                    const struct sma_state_record *pair)
{
    struct people *people = list->own;
    size_t len = list->json.len;
    if (people->has_item)
        sma_buf_put_char(&list->json, ',');
    if (chapters[people->chapter].list(store, pair, &list->json))
        people->has_item = true;
    else
        list->json.len = len;
}

static bool next_chapter(struct store_list *list)
{
    struct people *people = list->own;
    people->chapter++;
    people->seen = 0;
    people->has_item = false;
    sma_buf_clear(&people->after);
    bool is_whole = people->chapter == SMA_COUNT_OF(chapters);
    sma_buf_put_text(&list->json, is_whole ? "]}" : chapters[people->chapter].head);
    return is_whole;
}

static bool step(struct sma_store *store, struct store_list *list)
{
    struct people *people = list->own;
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_records pairs = {0};
    enum sma_err err = sma_state_access_page(
        store->state,
        &(struct sma_state_page){.prefix = sma_str(chapters[people->chapter].prefix),
                                 .after = sma_buf_str(&people->after),
                                 .count_max = SLICE_COUNT},
        &rows, &pairs);
    if (err != SMA_ERR_OK)
        sma_ctx_log(store->ctx, SMA_LOG_WARN, "the people cannot be listed: %s", sma_err_text(err));
    for (size_t i = 0; i < pairs.count; i++)
        put_one(store, list, &pairs.items[i]);
    people->seen += (uint32_t)pairs.count;
    sma_buf_clear(&people->after);
    if (pairs.count > 0)
        sma_buf_put_str(&people->after, pairs.items[pairs.count - 1].key);
    bool is_over = pairs.count < SLICE_COUNT || people->seen >= LISTED_COUNT_MAX ||
                   people->after.err != SMA_ERR_OK;
    return is_over && next_chapter(list);
}

static void fini(struct store_list *list)
{
    sma_buf_fini(&((struct people *)list->own)->after);
}

const struct store_list_kind sma_store_list_of_people = {
    .own_bytes = sizeof(struct people), .begin = begin, .step = step, .fini = fini};
