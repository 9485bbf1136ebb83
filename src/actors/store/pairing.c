/*
 * Pairing: a stranger writes in private, gets a code to show, and somebody on the owner's side
 * confirms it.
 *
 * A code is a handle, no secret: only an owner can confirm it, so guessing it gives nobody
 * anything. A person has one live code; it is shown again until it is SMA_PAIRING_S old. His first
 * messages are kept (their rows are IGNORED, so no start runs them) and go to the queue in the
 * transaction that confirms the code.
 */
#include "intake.h"
#include "outbox.h"
#include "people.h"
#include "people_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"

#define NOTICE_INTERVAL_NS (SMA_NOTICE_INTERVAL_S * UINT64_C(1000000000))

void sma_store_pairing_fini(struct store_pairing *pairing)
{
    json_decref(pairing->root);
    pairing->root = NULL;
}

/* -- records ----------------------------------------------------------------------------------- */
bool sma_store_pairing_is_old(const struct sma_store *store, int64_t created_ms)
{
    return sma_pairing_is_old(created_ms, sma_ctx_wall(store->ctx));
}

static SMA_CHECKED enum sma_err key_of_code(struct sma_store *store, const char *code)
{
    struct sma_buf *key = &store->people->key;
    sma_buf_clear(key);
    sma_buf_put_text(key, "pair/");
    sma_buf_put_text(key, code);
    return key->err;
}

/* Where the code of this person, or of this group, is noted. */
static SMA_CHECKED enum sma_err key_of_subject(struct sma_store *store,
                                               const struct sma_route *route, bool is_group)
{
    return is_group ? sma_store_people_key(store, "grouping/", route->channel, route->chat_id)
                    : sma_store_people_key(store, "pairing/", route->channel, route->user_id);
}

enum sma_err sma_store_pairing_read(struct sma_store *store, const char *code,
                                    struct store_pairing *ret_pairing)
{
    SMA_TRY(key_of_code(store, code));
    SMA_TRY(sma_store_people_read(store));
    *ret_pairing = (struct store_pairing){0};
    const struct sma_buf *value = &store->people->value;
    ret_pairing->root = json_loadb(value->ptr, value->len, 0, NULL);
    if (!json_is_object(ret_pairing->root)) {
        sma_store_pairing_fini(ret_pairing);
        return SMA_ERR_NOTFOUND;
    }
    (void)snprintf(ret_pairing->code, sizeof ret_pairing->code, "%s", code);
    ret_pairing->created_ms = json_integer_value(json_object_get(ret_pairing->root, "created"));
    ret_pairing->route = sma_store_people_get_route(ret_pairing->root);
    ret_pairing->is_group = json_is_true(json_object_get(ret_pairing->root, "group"));
    ret_pairing->has_more = json_is_true(json_object_get(ret_pairing->root, "more"));
    ret_pairing->seq = (uint64_t)json_integer_value(json_object_get(ret_pairing->root, "seq"));
    return SMA_ERR_OK;
}

enum sma_err sma_store_pairing_of(struct sma_store *store, const struct sma_route *route,
                                  bool is_group, struct store_pairing *ret_pairing)
{
    char code[SMA_PAIRING_CODE_LEN + 1];
    enum sma_err err = key_of_subject(store, route, is_group);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    if (err != SMA_ERR_OK)
        return err;
    (void)snprintf(code, sizeof code, "%.*s", (int)store->people->value.len,
                   store->people->value.ptr);
    err = sma_store_pairing_read(store, code, ret_pairing);
    if (err != SMA_ERR_OK || !sma_store_pairing_is_old(store, ret_pairing->created_ms))
        return err;
    sma_store_pairing_fini(ret_pairing);
    return SMA_ERR_NOTFOUND;
}

static SMA_CHECKED enum sma_err write_root(struct sma_store *store,
                                           const struct store_pairing *pairing)
{
    char *text = json_dumps(pairing->root, JSON_COMPACT);
    if (text == NULL)
        return SMA_ERR_NOMEM;
    enum sma_err err = key_of_code(store, pairing->code);
    if (err == SMA_ERR_OK)
        err = sma_store_people_write(store, sma_str(text));
    free(text);
    return err;
}

enum sma_err sma_store_pairing_remove(struct sma_store *store, const struct store_pairing *pairing)
{
    enum sma_err err = key_of_code(store, pairing->code);
    if (err == SMA_ERR_OK)
        err = sma_store_people_write(store, SMA_STR(""));
    if (err == SMA_ERR_OK)
        err = key_of_subject(store, &pairing->route, pairing->is_group);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    if (err == SMA_ERR_NOTFOUND)
        return SMA_ERR_OK;
    bool is_own = err == SMA_ERR_OK &&
                  sma_str_is_equal(sma_buf_str(&store->people->value), sma_str(pairing->code));
    return is_own ? sma_store_people_write(store, SMA_STR("")) : err;
}

/* -- the bound --------------------------------------------------------------------------------- */
struct code_census
{
    uint32_t count; /* of those that are good */
    int64_t oldest_ms;
    struct sma_str oldest;
};

/* Of the first member of the record, without reading the rest; one that cannot be read is the
 * oldest. */
static int64_t created_of(struct sma_str value)
{
    const struct sma_str head = SMA_STR("{\"created\":");
    int64_t created;
    if (!sma_str_starts_with(value, head))
        return 0;
    struct sma_str number = {value.ptr + head.len, 0};
    while (head.len + number.len < value.len && number.ptr[number.len] >= '0' &&
           number.ptr[number.len] <= '9')
        number.len++;
    return sma_parse_i64(number, 0, INT64_MAX, &created) == SMA_ERR_OK ? created : 0;
}

enum sma_err sma_store_pairing_drop(struct sma_store *store, struct sma_str key)
{
    struct store_pairing pairing;
    char code[SMA_PAIRING_CODE_LEN + 1];
    const size_t prefix = strlen("pair/");
    (void)snprintf(code, sizeof code, "%.*s", (int)(key.len - prefix), key.ptr + prefix);
    enum sma_err err = sma_store_pairing_read(store, code, &pairing);
    if (err == SMA_ERR_NOTFOUND) { /* damaged */
        err = key_of_code(store, code);
        return err == SMA_ERR_OK ? sma_store_people_write(store, SMA_STR("")) : err;
    }
    if (err == SMA_ERR_OK)
        err = sma_store_pairing_remove(store, &pairing);
    sma_store_pairing_fini(&pairing);
    return err;
}

bool sma_store_pairing_is_over(const struct sma_store *store, struct sma_str value)
{
    return sma_store_pairing_is_old(store, created_of(value));
}

static SMA_CHECKED enum sma_err take_census(struct sma_store *store,
                                            const struct sma_state_records *pairs,
                                            struct code_census *census)
{
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; i < pairs->count && err == SMA_ERR_OK; i++) {
        const struct sma_state_record *pair = &pairs->items[i];
        int64_t created = created_of(pair->value);
        if (sma_store_pairing_is_old(store, created)) {
            err = sma_store_pairing_drop(store, pair->key);
        } else if (census->count++ == 0 || created < census->oldest_ms) {
            census->oldest_ms = created;
            census->oldest = pair->key;
        }
    }
    return err;
}

/* Room for one more code: what is too old goes, and at the bound the oldest. */
static SMA_CHECKED enum sma_err make_room(struct sma_store *store)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_records pairs = {0};
    struct code_census census = {0};
    enum sma_err err = sma_state_access_page(
        store->state,
        &(struct sma_state_page){.prefix = SMA_STR("pair/"), .count_max = SMA_PAIRING_COUNT_MAX},
        &rows, &pairs);
    if (err == SMA_ERR_OK)
        err = take_census(store, &pairs, &census);
    if (err != SMA_ERR_OK || census.count < SMA_PAIRING_COUNT_MAX)
        return err;
    sma_ctx_log(store->ctx, SMA_LOG_WARN,
                "pairing: %d codes wait for an answer; the oldest, %.*s, is given up",
                SMA_PAIRING_COUNT_MAX, (int)(census.oldest.len - 5), census.oldest.ptr + 5);
    return sma_store_pairing_drop(store, census.oldest);
}

/* -- words ------------------------------------------------------------------------------------- */
void sma_store_pairing_name(char *text, const struct sma_route *route)
{
    sma_pairing_name(text, route->user_name.len > 0 ? route->user_name : route->user_id);
}

enum sma_err sma_store_pairing_say(struct sma_store *store, const struct sma_route *route,
                                   uint64_t seq, uint32_t call)
{
    if (store->scratch.text.err != SMA_ERR_OK)
        return store->scratch.text.err;
    struct sma_step_delivery delivery = {.call = call,
                                         .intent = SMA_INTENT_NOTICE,
                                         .route = *route,
                                         .text = sma_buf_str(&store->scratch.text)};
    struct sma_step_delivery_state state;
    return sma_store_deliver(store,
                             &(struct store_delivery_facts){.seq = seq, .step = STORE_NOTICE_STEP},
                             &delivery, &state);
}

void sma_store_pairing_audit(struct sma_store *store, const char *what,
                             const struct sma_route *person, const char *code, const char *role,
                             const struct sma_route *by)
{
    char line[160 + SMA_PAIRING_NAME_BYTES_MAX], name[SMA_PAIRING_NAME_BYTES_MAX + 1];
    struct sma_buf details;
    sma_buf_init(&details, 16 * 1024);
    sma_buf_put_char(&details, '{');
    sma_buf_put_json_member(&details, "channel", person->channel);
    sma_buf_put_json_member(&details, "userId", person->user_id);
    sma_buf_put_json_member(&details, "userName", person->user_name);
    sma_buf_put_json_member(&details, "code", sma_str(code));
    sma_buf_put_json_member(&details, "role", sma_str(role));
    if (by != NULL) {
        sma_buf_put_json_member(&details, "byChannel", by->channel);
        sma_buf_put_json_member(&details, "byUserId", by->user_id);
    }
    sma_buf_put_char(&details, '}');
    sma_store_pairing_name(name, person);
    (void)snprintf(line, sizeof line, "pairing: %s %.*s:%.80s%s%s%s", what,
                   (int)person->channel.len, person->channel.ptr, person->user_id.ptr,
                   person->user_name.len > 0 ? " (" : "", person->user_name.len > 0 ? name : "",
                   person->user_name.len > 0 ? ")" : "");
    if (details.err == SMA_ERR_OK)
        sma_store_audit(store, line, sma_buf_str(&details));
    sma_buf_fini(&details);
}

static bool may_notice(const struct sma_store *store, uint64_t last_ns, bool has_last)
{
    return !has_last || sma_ctx_now(store->ctx) - last_ns >= NOTICE_INTERVAL_NS;
}

/* -- a stranger writes ------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err write_new(struct sma_store *store, struct store_pairing *pairing,
                                          uint64_t seq)
{
    struct sma_buf record;
    sma_buf_init(&record, 64 * 1024);
    sma_buf_printf(&record, "{\"created\":%lld,\"seq\":%llu,\"kept\":[],\"group\":%s",
                   (long long)pairing->created_ms, (unsigned long long)seq,
                   pairing->is_group ? "true" : "false");
    sma_buf_put_char(&record, ',');
    struct sma_buf route;
    sma_buf_init(&route, 64 * 1024);
    sma_buf_put_char(&route, '{');
    sma_store_people_put_route(&route, &pairing->route);
    sma_buf_put_char(&route, '}');
    if (route.len > 2)
        sma_buf_put_str(&record, (struct sma_str){route.ptr + 1, route.len - 1});
    enum sma_err err = route.err != SMA_ERR_OK ? route.err : record.err;
    if (err == SMA_ERR_OK)
        pairing->root = json_loadb(record.ptr, record.len, 0, NULL);
    if (err == SMA_ERR_OK && pairing->root == NULL)
        err = SMA_ERR_BADINPUT;
    sma_buf_fini(&route);
    sma_buf_fini(&record);
    if (err == SMA_ERR_OK)
        err = write_root(store, pairing);
    if (err == SMA_ERR_OK)
        err = key_of_subject(store, &pairing->route, pairing->is_group);
    return err == SMA_ERR_OK ? sma_store_people_write(store, sma_str(pairing->code)) : err;
}

static SMA_CHECKED enum sma_err make_code(struct sma_store *store, const struct sma_route *route,
                                          bool is_group, uint64_t seq,
                                          struct store_pairing *ret_pairing)
{
    enum sma_err err = make_room(store);
    if (err != SMA_ERR_OK)
        return err;
    *ret_pairing = (struct store_pairing){
        .route = *route, .created_ms = sma_ctx_wall(store->ctx), .seq = seq, .is_group = is_group};
    do {
        uint64_t first = sma_ctx_random(store->ctx), second = sma_ctx_random(store->ctx);
        struct sma_pairing_code code = sma_pairing_draw(first, second);
        memcpy(ret_pairing->code, code.text, sizeof code.text);
        err = key_of_code(store, ret_pairing->code);
        if (err == SMA_ERR_OK)
            err = sma_store_people_read(store);
    } while (err == SMA_ERR_OK); /* taken */
    if (err == SMA_ERR_NOTFOUND)
        err = write_new(store, ret_pairing, seq);
    if (err == SMA_ERR_OK)
        sma_store_pairing_audit(store,
                                is_group ? "a group's code was shown to" : "a code was shown to",
                                route, ret_pairing->code, "", NULL);
    return err;
}

/* The message is run when the code is confirmed, if there are not too many already. */
static SMA_CHECKED enum sma_err keep_message(struct sma_store *store, struct store_pairing *pairing,
                                             const struct sma_ingress *in, uint64_t seq,
                                             bool is_whole)
{
    json_t *kept = json_object_get(pairing->root, "kept");
    enum sma_pairing_kept what = sma_pairing_keep(
        &(struct sma_pairing_message){.is_message = in->kind == SMA_EVENT_MESSAGE,
                                      .is_group = in->is_group,
                                      .is_whole = is_whole,
                                      .has_more = pairing->has_more,
                                      .kept_count = (uint32_t)json_array_size(kept)});
    if (what == SMA_PAIRING_NOT_KEPT)
        return SMA_ERR_OK;
    int failed = what == SMA_PAIRING_IS_MORE
                     ? json_object_set_new(pairing->root, "more", json_true())
                     : json_array_append_new(kept, json_integer((json_int_t)seq));
    return failed != 0 ? SMA_ERR_NOMEM : write_root(store, pairing);
}

/* Owners with a home hear of a new code; not of each in a flood of them: the list has them all. */
static SMA_CHECKED enum sma_err tell_owners(struct sma_store *store,
                                            const struct store_pairing *pairing, uint64_t seq)
{
    struct store_people *people = store->people;
    if (!may_notice(store, people->told_ns, people->has_told))
        return SMA_ERR_OK;
    struct sma_route homes[SMA_APPROVAL_HOME_COUNT_MAX];
    struct sma_buf storage;
    char name[SMA_PAIRING_NAME_BYTES_MAX + 1], chat_id[SMA_PAIRING_NAME_BYTES_MAX + 1], channel[32];
    sma_buf_init(&storage, 256 * 1024);
    uint32_t count = sma_store_approver_routes(store, pairing->route.chat_key, homes,
                                               SMA_APPROVAL_HOME_COUNT_MAX, &storage);
    enum sma_err err = SMA_ERR_OK;
    sma_store_pairing_name(name, &pairing->route);
    sma_pairing_name(chat_id, pairing->route.chat_id);
    (void)snprintf(channel, sizeof channel, "%.*s", (int)pairing->route.channel.len,
                   pairing->route.channel.ptr);
    for (uint32_t i = 0; i < count && err == SMA_ERR_OK; i++) {
        if (sma_store_standing(store, NULL, &homes[i], false) != SMA_STANDING_OWNER)
            continue;
        sma_buf_clear(&store->scratch.text);
        if (pairing->is_group)
            sma_notice_format(&store->scratch.text, sma_store_language(store, &homes[i]),
                              SMA_NOTICE_PAIR_GROUP_NEW, name, chat_id, channel, pairing->code,
                              pairing->code);
        else
            sma_notice_format(&store->scratch.text, sma_store_language(store, &homes[i]),
                              SMA_NOTICE_PAIR_NEW, name, channel, pairing->code, pairing->code);
        err = sma_store_pairing_say(store, &homes[i], seq, STORE_PAIR_NEW_CALL + i);
        people->has_told = true;
        people->told_ns = sma_ctx_now(store->ctx);
    }
    sma_buf_fini(&storage);
    return err;
}

/* Behind a bot that nobody owns yet sits, most of the time, the one who has just made it: he is
 * told the whole command, which works from every folder. */
static void put_code(struct sma_store *store, const struct sma_route *route,
                     const struct store_pairing *pairing)
{
    struct sma_buf *text = &store->scratch.text;
    enum sma_language language = sma_store_language(store, route);
    sma_buf_clear(text);
    if (pairing->is_group || sma_store_has_owner(store)) {
        sma_notice_format(text, language,
                          pairing->is_group ? SMA_NOTICE_PAIR_GROUP : SMA_NOTICE_PAIR_CODE,
                          pairing->code);
        return;
    }
    struct sma_buf folder;
    sma_buf_init(&folder, 32 * 1024);
    sma_put_shell_word(&folder, sma_str(store->config->project_dir));
    sma_buf_put_char(&folder, '\0');
    sma_notice_format(text, language, SMA_NOTICE_PAIR_OWNER, pairing->code,
                      folder.err == SMA_ERR_OK ? folder.ptr : ".");
    sma_buf_fini(&folder);
}

/* Once in a while, and not for ever: a code is a day old at most, and each time costs a message and
 * a line. */
static SMA_CHECKED enum sma_err show_code(struct sma_store *store, struct store_chat *chat,
                                          const struct sma_route *route,
                                          struct store_pairing *pairing, uint64_t seq)
{
    json_int_t shown = json_integer_value(json_object_get(pairing->root, "shown"));
    if (!sma_pairing_may_show(&(struct sma_pairing_shown){.is_group = pairing->is_group,
                                                          .has_last = chat->refusal_notice_ns != 0,
                                                          .count = (uint32_t)shown,
                                                          .last_ns = chat->refusal_notice_ns,
                                                          .now_ns = sma_ctx_now(store->ctx)}))
        return SMA_ERR_OK;
    if (json_object_set_new(pairing->root, "shown", json_integer(shown + 1)) != 0)
        return SMA_ERR_NOMEM;
    SMA_TRY(write_root(store, pairing));
    chat->refusal_notice_ns = sma_ctx_now(store->ctx) | 1;
    put_code(store, route, pairing);
    return sma_store_pairing_say(store, route, seq, 0);
}

enum sma_err sma_store_ask_pairing(struct sma_store *store, struct store_chat *chat,
                                   const struct sma_ingress *in, uint64_t seq, bool is_whole)
{
    if (in->route.user_id.len == 0)
        return sma_store_stranger_notice(store, chat, in, seq);
    struct store_pairing pairing = {0};
    enum sma_err err = sma_store_pairing_of(store, &in->route, in->is_group, &pairing);
    bool is_new = err == SMA_ERR_NOTFOUND;
    if (is_new)
        err = make_code(store, &in->route, in->is_group, seq, &pairing);
    if (err == SMA_ERR_OK)
        err = keep_message(store, &pairing, in, seq, is_whole);
    if (err == SMA_ERR_OK)
        err = show_code(store, chat, &in->route, &pairing, seq);
    if (err == SMA_ERR_OK && is_new)
        err = tell_owners(store, &pairing, seq);
    sma_store_pairing_fini(&pairing);
    return err;
}

enum sma_err sma_store_stranger_notice(struct sma_store *store, struct store_chat *chat,
                                       const struct sma_ingress *in, uint64_t seq)
{
    if (!may_notice(store, chat->refusal_notice_ns, chat->refusal_notice_ns != 0))
        return SMA_ERR_OK;
    chat->refusal_notice_ns = sma_ctx_now(store->ctx) | 1;
    sma_buf_clear(&store->scratch.text);
    sma_notice_format(&store->scratch.text, sma_store_language(store, &in->route),
                      SMA_NOTICE_NOT_LISTED);
    return sma_store_pairing_say(store, &in->route, seq, 0);
}
