/*
 * Pairing: a stranger writes in private, gets a code to show, and somebody on the owner's side confirms it.
 *
 * A code is a handle, no secret: only an owner can confirm it, so guessing it gives nobody anything. A person has one
 * live code; it is shown again until it is SMA_PAIRING_S old. His first messages are kept (their rows are IGNORED, so no
 * start runs them) and go to the queue in the transaction that confirms the code.
 */
#include "store_people.h"

#define CODE_LEN 8
#define NAME_SHOWN_BYTES_MAX 64
#define PAIRING_MS (SMA_PAIRING_S * INT64_C(1000))
#define NOTICE_INTERVAL_NS (SMA_NOTICE_INTERVAL_S * UINT64_C(1000000000))
/* Without letters and digits that are mistaken for one another. */
static const char alphabet[] = "ACDEFGHJKMNPQRTUVWXY34679";
#define ALPHABET_LEN (sizeof alphabet - 1)

/* One record pair/<code>. Slices point into root. */
struct pairing
{
    json_t *root;
    char code[CODE_LEN + 1];
    int64_t created_ms;
    struct sma_route route;
    uint64_t seq;  /* of the message that brought the code */
    bool has_more; /* more was written than is kept */
};

static void pairing_fini(struct pairing *pairing)
{
    json_decref(pairing->root);
    pairing->root = NULL;
}

/* -- records ---------------------------------------------------------------------------------------------------- */
static bool is_expired(const struct sma_store *store, int64_t created_ms)
{
    int64_t age = sma_ctx_wall(store->ctx) - created_ms;
    return age >= PAIRING_MS || age < -PAIRING_MS; /* the clock may have been set back */
}

static SMA_CHECKED enum sma_err key_of_code(struct sma_store *store, const char *code)
{
    struct sma_buf *key = &store->people->key;
    sma_buf_clear(key);
    sma_buf_put_text(key, "pair/");
    sma_buf_put_text(key, code);
    return key->err;
}

/* @return OK | NOTFOUND | ... */
static SMA_CHECKED enum sma_err read_code(struct sma_store *store, const char *code,
                                          struct pairing *ret_pairing)
{
    enum sma_err err = key_of_code(store, code);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    if (err != SMA_ERR_OK)
        return err;
    *ret_pairing = (struct pairing){0};
    const struct sma_buf *value = &store->people->value;
    ret_pairing->root = json_loadb(value->ptr, value->len, 0, NULL);
    if (!json_is_object(ret_pairing->root)) {
        pairing_fini(ret_pairing);
        return SMA_ERR_NOTFOUND;
    }
    (void)snprintf(ret_pairing->code, sizeof ret_pairing->code, "%s", code);
    ret_pairing->created_ms = json_integer_value(json_object_get(ret_pairing->root, "created"));
    ret_pairing->route = sma_store_people_get_route(ret_pairing->root);
    ret_pairing->has_more = json_is_true(json_object_get(ret_pairing->root, "more"));
    ret_pairing->seq = (uint64_t)json_integer_value(json_object_get(ret_pairing->root, "seq"));
    return SMA_ERR_OK;
}

/* The live code of a person. @return OK | NOTFOUND | ... */
static SMA_CHECKED enum sma_err read_own(struct sma_store *store, struct sma_str channel,
                                         struct sma_str user_id, struct pairing *ret_pairing)
{
    char code[CODE_LEN + 1];
    enum sma_err err = sma_store_people_key(store, "pairing/", channel, user_id);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    if (err != SMA_ERR_OK)
        return err;
    (void)snprintf(code, sizeof code, "%.*s", (int)store->people->value.len,
                   store->people->value.ptr);
    err = read_code(store, code, ret_pairing);
    if (err != SMA_ERR_OK || !is_expired(store, ret_pairing->created_ms))
        return err;
    pairing_fini(ret_pairing);
    return SMA_ERR_NOTFOUND;
}

static SMA_CHECKED enum sma_err write_root(struct sma_store *store, const struct pairing *pairing)
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

static SMA_CHECKED enum sma_err remove_code(struct sma_store *store, const struct pairing *pairing)
{
    enum sma_err err = key_of_code(store, pairing->code);
    if (err == SMA_ERR_OK)
        err = sma_store_people_write(store, SMA_STR(""));
    if (err == SMA_ERR_OK)
        err =
            sma_store_people_key(store, "pairing/", pairing->route.channel, pairing->route.user_id);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    if (err == SMA_ERR_NOTFOUND)
        return SMA_ERR_OK;
    bool is_own = err == SMA_ERR_OK &&
                  sma_str_is_equal(sma_buf_str(&store->people->value), sma_str(pairing->code));
    return is_own ? sma_store_people_write(store, SMA_STR("")) : err;
}

/* -- the bound -------------------------------------------------------------------------------------------------- */
struct code_census
{
    const struct sma_store *store;
    uint32_t count, expired_count;
    int64_t oldest_ms;
    char oldest[CODE_LEN + 1];
    char expired[SMA_PAIRING_COUNT_MAX][CODE_LEN + 1];
};

static enum sma_err count_code(void *user, struct sma_str key, struct sma_str value)
{
    struct code_census *census = user;
    const struct sma_str head = SMA_STR("{\"created\":"), prefix = SMA_STR("pair/");
    int64_t created = 0; /* one that cannot be read is the oldest */
    char code[CODE_LEN + 1];
    (void)snprintf(code, sizeof code, "%.*s", (int)(key.len - prefix.len), key.ptr + prefix.len);
    if (sma_str_starts_with(value, head)) {
        struct sma_str number = {value.ptr + head.len, 0};
        while (head.len + number.len < value.len && number.ptr[number.len] >= '0' &&
               number.ptr[number.len] <= '9')
            number.len++;
        if (sma_parse_i64(number, 0, INT64_MAX, &created) != SMA_ERR_OK)
            created = 0;
    }
    if (is_expired(census->store, created) && census->expired_count < SMA_PAIRING_COUNT_MAX) {
        memcpy(census->expired[census->expired_count++], code, sizeof code);
        return SMA_ERR_OK;
    }
    if (census->count++ == 0 || created < census->oldest_ms) {
        census->oldest_ms = created;
        memcpy(census->oldest, code, sizeof code);
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err drop_code(struct sma_store *store, const char *code)
{
    struct pairing pairing;
    enum sma_err err = read_code(store, code, &pairing);
    if (err == SMA_ERR_NOTFOUND) { /* damaged */
        err = key_of_code(store, code);
        return err == SMA_ERR_OK ? sma_store_people_write(store, SMA_STR("")) : err;
    }
    if (err == SMA_ERR_OK)
        err = remove_code(store, &pairing);
    pairing_fini(&pairing);
    return err;
}

/* Room for one more code: what is too old goes, and at the bound the oldest. */
static SMA_CHECKED enum sma_err make_room(struct sma_store *store)
{
    struct code_census *census = calloc(1, sizeof *census);
    if (census == NULL)
        return SMA_ERR_NOMEM;
    census->store = store;
    enum sma_err err =
        sma_state_each_access_under(store->state, SMA_STR("pair/"), count_code, census);
    for (uint32_t i = 0; i < census->expired_count && err == SMA_ERR_OK; i++)
        err = drop_code(store, census->expired[i]);
    if (err == SMA_ERR_OK && census->count >= SMA_PAIRING_COUNT_MAX) {
        sma_ctx_log(store->ctx, SMA_LOG_WARN,
                    "pairing: %d codes wait for an answer; the oldest, %s, is given up",
                    SMA_PAIRING_COUNT_MAX, census->oldest);
        err = drop_code(store, census->oldest);
    }
    free(census);
    return err;
}

/* -- words ------------------------------------------------------------------------------------------------------ */
/* A name for people: one line, cut, without what could pass for our own words. */
static void show_name(char *text, size_t text_max, const struct sma_route *route)
{
    struct sma_str name = route->user_name.len > 0 ? route->user_name : route->user_id;
    if (name.len > NAME_SHOWN_BYTES_MAX)
        name.len = sma_utf8_cut(name, NAME_SHOWN_BYTES_MAX);
    (void)snprintf(text, text_max, "%.*s", (int)name.len, name.ptr);
    for (char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < ' ' || *at == 127 || *at == '"')
            *at = ' ';
}

/* The notice in text_buf goes to `route`. */
static SMA_CHECKED enum sma_err say(struct sma_store *store, const struct sma_route *route,
                                    uint64_t seq, uint32_t call)
{
    if (store->text_buf.err != SMA_ERR_OK)
        return store->text_buf.err;
    struct sma_step_delivery delivery = {.call = call,
                                         .intent = SMA_INTENT_NOTICE,
                                         .route = *route,
                                         .text = sma_buf_str(&store->text_buf)};
    struct sma_step_delivery_state state;
    return sma_store_deliver(store,
                             &(struct store_delivery_facts){.seq = seq, .step = STORE_NOTICE_STEP},
                             &delivery, &state);
}

static void put_member(struct sma_buf *buf, const char *name, struct sma_str value)
{
    sma_buf_put_json_key(buf, name);
    sma_buf_put_json_string(buf, value);
}

/* One line in the log: who did what to whom. */
static void audit(struct sma_store *store, const char *what, const struct sma_route *person,
                  const char *code, const char *role, const struct sma_route *by)
{
    char line[160];
    struct sma_buf details;
    sma_buf_init(&details, 16 * 1024);
    sma_buf_put_char(&details, '{');
    put_member(&details, "channel", person->channel);
    put_member(&details, "userId", person->user_id);
    put_member(&details, "userName", person->user_name);
    put_member(&details, "code", sma_str(code));
    put_member(&details, "role", sma_str(role));
    if (by != NULL) {
        put_member(&details, "byChannel", by->channel);
        put_member(&details, "byUserId", by->user_id);
    }
    sma_buf_put_char(&details, '}');
    (void)snprintf(line, sizeof line, "pairing: %s %.*s:%.80s", what, (int)person->channel.len,
                   person->channel.ptr, person->user_id.ptr);
    if (details.err == SMA_ERR_OK)
        sma_ctx_log_details(store->ctx, SMA_LOG_ACTION, sma_str(line), sma_buf_str(&details));
    sma_buf_fini(&details);
}

static bool may_notice(const struct sma_store *store, uint64_t last_ns, bool has_last)
{
    return !has_last || sma_ctx_now(store->ctx) - last_ns >= NOTICE_INTERVAL_NS;
}

/* -- a stranger writes ------------------------------------------------------------------------------------------ */
static void draw_code(struct sma_store *store, char *code)
{
    for (int half = 0; half < 2; half++) {
        uint64_t number = sma_ctx_random(store->ctx);
        for (int i = 0; i < CODE_LEN / 2; i++, number /= ALPHABET_LEN)
            code[half * CODE_LEN / 2 + i] = alphabet[number % ALPHABET_LEN];
    }
    code[CODE_LEN] = '\0';
}

static SMA_CHECKED enum sma_err write_new(struct sma_store *store, struct pairing *pairing,
                                          uint64_t seq)
{
    struct sma_buf record;
    sma_buf_init(&record, 64 * 1024);
    sma_buf_printf(&record, "{\"created\":%lld,\"seq\":%llu,\"kept\":[]",
                   (long long)pairing->created_ms, (unsigned long long)seq);
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
        err =
            sma_store_people_key(store, "pairing/", pairing->route.channel, pairing->route.user_id);
    return err == SMA_ERR_OK ? sma_store_people_write(store, sma_str(pairing->code)) : err;
}

static SMA_CHECKED enum sma_err make_code(struct sma_store *store, const struct sma_route *route,
                                          uint64_t seq, struct pairing *ret_pairing)
{
    enum sma_err err = make_room(store);
    if (err != SMA_ERR_OK)
        return err;
    *ret_pairing =
        (struct pairing){.route = *route, .created_ms = sma_ctx_wall(store->ctx), .seq = seq};
    do {
        draw_code(store, ret_pairing->code);
        err = key_of_code(store, ret_pairing->code);
        if (err == SMA_ERR_OK)
            err = sma_store_people_read(store);
    } while (err == SMA_ERR_OK); /* taken */
    if (err == SMA_ERR_NOTFOUND)
        err = write_new(store, ret_pairing, seq);
    if (err == SMA_ERR_OK)
        audit(store, "a code was shown to", route, ret_pairing->code, "", NULL);
    return err;
}

/* The message is run when the code is confirmed, if there are not too many already. */
static SMA_CHECKED enum sma_err keep_message(struct sma_store *store, struct pairing *pairing,
                                             uint64_t seq)
{
    json_t *kept = json_object_get(pairing->root, "kept");
    if (pairing->has_more)
        return SMA_ERR_OK;
    bool is_full = json_array_size(kept) >= STORE_KEPT_COUNT_MAX;
    int failed = is_full ? json_object_set_new(pairing->root, "more", json_true())
                         : json_array_append_new(kept, json_integer((json_int_t)seq));
    return failed != 0 ? SMA_ERR_NOMEM : write_root(store, pairing);
}

/* Owners with a home hear of a new code; not of each in a flood of them: the list has them all. */
static SMA_CHECKED enum sma_err tell_owners(struct sma_store *store, const struct pairing *pairing,
                                            uint64_t seq)
{
    struct store_people *people = store->people;
    if (!may_notice(store, people->told_ns, people->has_told))
        return SMA_ERR_OK;
    struct sma_route homes[SMA_APPROVAL_HOME_COUNT_MAX];
    struct sma_buf storage;
    char name[NAME_SHOWN_BYTES_MAX + 1], channel[32];
    sma_buf_init(&storage, 256 * 1024);
    uint32_t count = sma_store_homes(store, pairing->route.chat_key, homes,
                                     SMA_APPROVAL_HOME_COUNT_MAX, &storage);
    enum sma_err err = SMA_ERR_OK;
    show_name(name, sizeof name, &pairing->route);
    (void)snprintf(channel, sizeof channel, "%.*s", (int)pairing->route.channel.len,
                   pairing->route.channel.ptr);
    for (uint32_t i = 0; i < count && err == SMA_ERR_OK; i++) {
        if (sma_store_standing(store, NULL, &homes[i], false) != SMA_STANDING_OWNER)
            continue;
        sma_buf_clear(&store->text_buf);
        sma_notice_format(&store->text_buf, sma_store_language(store, &homes[i]),
                          SMA_NOTICE_PAIR_NEW, name, channel, pairing->code, pairing->code);
        err = say(store, &homes[i], seq, STORE_PAIR_NEW_CALL + i);
        people->has_told = true;
        people->told_ns = sma_ctx_now(store->ctx);
    }
    sma_buf_fini(&storage);
    return err;
}

static SMA_CHECKED enum sma_err show_code(struct sma_store *store, struct store_chat *chat,
                                          const struct sma_route *route, const char *code,
                                          uint64_t seq)
{
    if (!may_notice(store, chat->refusal_notice_ns, chat->refusal_notice_ns != 0))
        return SMA_ERR_OK;
    chat->refusal_notice_ns = sma_ctx_now(store->ctx) | 1;
    sma_buf_clear(&store->text_buf);
    sma_notice_format(&store->text_buf, sma_store_language(store, route), SMA_NOTICE_PAIR_CODE,
                      code);
    return say(store, route, seq, 0);
}

enum sma_err sma_store_ask_pairing(struct sma_store *store, struct store_chat *chat,
                                   const struct sma_ingress *in, uint64_t seq)
{
    if (in->route.user_id.len == 0)
        return sma_store_stranger_notice(store, chat, in, seq);
    struct pairing pairing = {0};
    enum sma_err err = read_own(store, in->route.channel, in->route.user_id, &pairing);
    bool is_new = err == SMA_ERR_NOTFOUND;
    if (is_new)
        err = make_code(store, &in->route, seq, &pairing);
    if (err == SMA_ERR_OK && in->kind == SMA_EVENT_MESSAGE)
        err = keep_message(store, &pairing, seq);
    if (err == SMA_ERR_OK)
        err = show_code(store, chat, &in->route, pairing.code, seq);
    if (err == SMA_ERR_OK && is_new)
        err = tell_owners(store, &pairing, seq);
    pairing_fini(&pairing);
    return err;
}

enum sma_err sma_store_stranger_notice(struct sma_store *store, struct store_chat *chat,
                                       const struct sma_ingress *in, uint64_t seq)
{
    if (!may_notice(store, chat->refusal_notice_ns, chat->refusal_notice_ns != 0))
        return SMA_ERR_OK;
    chat->refusal_notice_ns = sma_ctx_now(store->ctx) | 1;
    sma_buf_clear(&store->text_buf);
    sma_notice_format(&store->text_buf, sma_store_language(store, &in->route),
                      SMA_NOTICE_NOT_LISTED);
    return say(store, &in->route, seq, 0);
}

/* -- a code is answered ----------------------------------------------------------------------------------------- */
struct kept
{
    struct sma_store *store;
    bool is_released;
};

/* The row waits like any other from now on. An album's piece goes alone: its quiet time is long over. */
static enum sma_err release_row(void *user, const struct sma_state_message *message)
{
    struct kept *kept = user;
    struct sma_store *store = kept->store;
    struct store_facts facts;
    struct store_chat *chat = sma_store_chat(store, message->chat);
    if (chat == NULL)
        return SMA_ERR_NOMEM;
    uint64_t seq = message->seq;
    if (message->state != SMA_ROW_IGNORED ||
        sma_store_facts_get(message->facts, &facts) != SMA_ERR_OK ||
        sma_queue_check(store->queue, chat->id) != SMA_ERR_OK)
        return SMA_ERR_OK;
    bool is_held = facts.preparation.len > 0;
    enum sma_err err = SMA_ERR_OK;
    if (facts.group_key.len > 0) {
        struct sma_buf alone;
        facts.group_key = SMA_STR("");
        sma_buf_init(&alone, 4 * SMA_TEXT_BYTES_MAX);
        sma_store_facts_put(&alone, &facts);
        err = alone.err != SMA_ERR_OK ? alone.err
                                      : sma_state_set_facts(store->state, seq, sma_buf_str(&alone));
        sma_buf_fini(&alone);
    }
    if (err == SMA_ERR_OK)
        err = sma_state_set_row_state(store->state, seq, SMA_ROW_WAITING);
    if (err == SMA_ERR_OK)
        err = is_held ? sma_queue_push_held(store->queue, chat->id, seq)
                      : sma_queue_push_accepted(store->queue, chat->id, seq);
    if (err == SMA_ERR_OK && is_held)
        err = sma_store_hold(store, chat, seq, &facts.route, NULL, false);
    kept->is_released = err == SMA_ERR_OK;
    return err;
}

/* What was kept starts now. *ret_is_whole: nothing the person wrote is left out. */
static SMA_CHECKED enum sma_err release_kept(struct sma_store *store, const struct pairing *pairing,
                                             bool *ret_is_whole)
{
    const json_t *list = json_object_get(pairing->root, "kept");
    const struct sma_state_chat *chat = sma_state_chat_get(store->state, pairing->route.chat_key);
    /* Behind a later message there is no place for an earlier one. */
    bool is_possible = chat != NULL && sma_queue_chat_waiting(store->queue, chat->id) == 0;
    *ret_is_whole = is_possible && !pairing->has_more && json_array_size(list) > 0;
    for (size_t i = 0; i < json_array_size(list) && is_possible; i++) {
        struct kept kept = {.store = store};
        uint64_t seq = (uint64_t)json_integer_value(json_array_get(list, i));
        enum sma_err err = sma_state_message_get(store->state, seq, release_row, &kept);
        if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
            return err;
        *ret_is_whole = *ret_is_whole && kept.is_released;
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err let_in(struct sma_store *store, const struct pairing *pairing,
                                       enum sma_access_standing standing)
{
    bool is_whole = false;
    enum sma_err err = release_kept(store, pairing, &is_whole);
    if (err == SMA_ERR_OK && standing >= SMA_ACCESS_ADMIN)
        err = sma_store_note_home(store, &pairing->route);
    if (err != SMA_ERR_OK)
        return err;
    sma_buf_clear(&store->text_buf);
    sma_notice_format(&store->text_buf, sma_store_language(store, &pairing->route),
                      is_whole ? SMA_NOTICE_PAIRED : SMA_NOTICE_PAIRED_AGAIN);
    return say(store, &pairing->route, pairing->seq, STORE_PAIRED_CALL);
}

struct answer
{
    bool is_approved;
    enum sma_access_standing standing;
    const struct sma_route *by;
    int status;
    char name[NAME_SHOWN_BYTES_MAX + 1], channel[32];
};

static SMA_CHECKED enum sma_err write_answer(struct sma_store *store, struct answer *answer,
                                             const struct sma_route *person, const char *code)
{
    show_name(answer->name, sizeof answer->name, person);
    (void)snprintf(answer->channel, sizeof answer->channel, "%.*s", (int)person->channel.len,
                   person->channel.ptr);
    enum sma_access_standing standing =
        answer->is_approved ? answer->standing : SMA_ACCESS_STRANGER;
    enum sma_err err = sma_store_person_put(store, person->channel, person->user_id, standing,
                                            answer->is_approved ? "paired" : "rejected");
    answer->status = 200;
    if (err == SMA_ERR_OK)
        audit(store, answer->is_approved ? "approved" : "rejected", person, code,
              sma_access_standing_name(standing), answer->by);
    return err;
}

static SMA_CHECKED enum sma_err answer_code(struct sma_store *store, const char *code,
                                            struct answer *answer)
{
    struct pairing pairing = {0};
    enum sma_err err = read_code(store, code, &pairing);
    answer->status = 404;
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
    err = remove_code(store, &pairing);
    if (err == SMA_ERR_OK && is_expired(store, pairing.created_ms))
        answer->status = 410;
    else if (err == SMA_ERR_OK)
        err = write_answer(store, answer, &pairing.route, code);
    if (err == SMA_ERR_OK && answer->status == 200 && answer->is_approved)
        err = let_in(store, &pairing, answer->standing);
    pairing_fini(&pairing);
    return err;
}

/* "telegram:1001" instead of a code: somebody who is known by his id. */
static SMA_CHECKED enum sma_err answer_key(struct sma_store *store, struct sma_str key,
                                           struct answer *answer)
{
    struct sma_route person = {0};
    struct sma_str chat;
    struct pairing pairing = {0};
    answer->status = 400;
    if (!sma_access_key_split(key, &person.channel, &chat, &person.user_id) || chat.len > 0 ||
        sma_access_is_trusted_channel(person.channel))
        return SMA_ERR_OK;
    enum sma_err err = read_own(store, person.channel, person.user_id, &pairing);
    if (err == SMA_ERR_NOTFOUND)
        return write_answer(store, answer, &person, "");
    if (err == SMA_ERR_OK)
        err = answer_code(store, pairing.code, answer);
    pairing_fini(&pairing);
    return err;
}

/* A code as people type it. false: it cannot be one. */
static bool read_typed_code(struct sma_str typed, char *code)
{
    if (typed.len != CODE_LEN)
        return false;
    for (size_t i = 0; i < CODE_LEN; i++) {
        char byte = typed.ptr[i];
        code[i] = (char)(byte >= 'a' && byte <= 'z' ? byte - 32 : byte);
        if (code[i] == '\0' || strchr(alphabet, code[i]) == NULL)
            return false;
    }
    code[CODE_LEN] = '\0';
    return true;
}

static SMA_CHECKED enum sma_err answer_pairing(struct sma_store *store, struct sma_str id,
                                               struct answer *answer)
{
    char code[CODE_LEN + 1];
    if (memchr(id.len > 0 ? id.ptr : "", ':', id.len) != NULL)
        return answer_key(store, id, answer);
    answer->status = 404;
    return read_typed_code(id, code) ? answer_code(store, code, answer) : SMA_ERR_OK;
}

/* -- DECIDE ----------------------------------------------------------------------------------------------------- */
static void format_line(char *line, size_t line_max, const struct answer *answer)
{
    switch (answer->status) {
    case 200:
        if (answer->is_approved)
            (void)snprintf(line, line_max, "%s (%s) may talk now, as %s.", answer->name,
                           answer->channel, sma_access_standing_name(answer->standing));
        else
            (void)snprintf(line, line_max, "%s (%s) was refused.", answer->name, answer->channel);
        break;
    case 400:
        (void)snprintf(line, line_max,
                       "give a pairing code, or a person as \"telegram:1001\"; the roles are "
                       "member, admin and owner");
        break;
    case 403:
        (void)snprintf(line, line_max, "only an owner may answer a pairing");
        break;
    case 410:
        (void)snprintf(line, line_max,
                       "this code is too old; the person gets a new one with the next message");
        break;
    default:
        (void)snprintf(line, line_max,
                       "there is no such code, or it was answered; `shipmyagent pair` lists them");
        break;
    }
}

void sma_store_decide_pairing(struct sma_store *store, struct sma_msg **question)
{
    const struct sma_decide *decide = SMA_MSG_BODY(*question, struct sma_decide);
    struct answer answer = {.is_approved = decide->is_approved,
                            .standing = (enum sma_access_standing)decide->standing,
                            .by = &decide->route,
                            .status = 400};
    if (decide->standing == SMA_STANDING_STRANGER)
        answer.standing = SMA_ACCESS_MEMBER; /* not said */
    enum sma_err err = SMA_ERR_OK;
    if (sma_store_standing(store, NULL, &decide->route, false) < SMA_STANDING_OWNER)
        answer.status = 403;
    else if (decide->standing <= SMA_STANDING_OWNER)
        err = sma_store_begin(store);
    if (err == SMA_ERR_OK && sma_state_is_in_transaction(store->state) && answer.status != 403 &&
        decide->standing <= SMA_STANDING_OWNER)
        err = answer_pairing(store, decide->id, &answer);
    if (err != SMA_ERR_OK) {
        sma_store_fail_batch(store, err);
        answer.status = 503;
    }
    char line[256];
    format_line(line, sizeof line, &answer);
    if (answer.status == 503)
        (void)snprintf(line, sizeof line, "nothing was changed: it could not be stored; try again");
    struct sma_msg *msg = STORE_MSG(store, DECIDED, struct sma_decided, strlen(line) + 1);
    SMA_MSG_BODY(msg, struct sma_decided)->status = answer.status;
    SMA_MSG_BODY(msg, struct sma_decided)->text = sma_msg_dup(msg, sma_str(line));
    if (err == SMA_ERR_OK)
        sma_store_answer_later(store, *question, &msg, 0);
    else
        sma_ctx_answer(store->ctx, *question, &msg);
}

/* -- an owner writes "pair CODE" -------------------------------------------------------------------------------- */
struct pair_word
{
    const char *word;
    bool is_approved;
    bool is_only_pairing; /* else it may be meant for an approval */
};
static const struct pair_word pair_words[] = {
    {"pair", true, true},     {"配对", true, true},   {"approve", true, false},
    {"批准", true, false},    {"同意", true, false},  {"reject", false, false},
    {"refuse", false, false}, {"拒绝", false, false},
};

/* The word and the code behind it, nothing else. */
static const struct pair_word *read_words(struct sma_str text, char *code)
{
    text = sma_str_trim(text);
    for (size_t i = 0; i < SMA_COUNT_OF(pair_words); i++) {
        struct sma_str word = sma_str(pair_words[i].word);
        if (text.len <= word.len ||
            !sma_str_is_equal_nocase((struct sma_str){text.ptr, word.len}, word))
            continue;
        struct sma_str rest = {text.ptr + word.len, text.len - word.len};
        bool has_blank = rest.ptr[0] == ' ' || (unsigned char)word.ptr[0] >= 0x80;
        if (has_blank && read_typed_code(sma_str_trim(rest), code))
            return &pair_words[i];
    }
    return NULL;
}

static SMA_CHECKED enum sma_err has_code(struct sma_store *store, const char *code, bool *ret_has)
{
    enum sma_err err = key_of_code(store, code);
    if (err == SMA_ERR_OK)
        err = sma_store_people_read(store);
    *ret_has = err == SMA_ERR_OK;
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

enum sma_err sma_store_is_pairing_answer(struct sma_store *store, const struct sma_ingress *in,
                                         bool *ret_is_answer)
{
    char code[CODE_LEN + 1];
    *ret_is_answer = false;
    if (in->kind != SMA_EVENT_MESSAGE || in->is_group || in->is_record_only ||
        sma_access_is_trusted_channel(in->route.channel))
        return SMA_ERR_OK;
    const struct pair_word *word = read_words(in->text, code);
    if (word == NULL || sma_store_standing(store, NULL, &in->route, false) < SMA_STANDING_OWNER)
        return SMA_ERR_OK;
    enum sma_err err = has_code(store, code, ret_is_answer);
    *ret_is_answer = *ret_is_answer || word->is_only_pairing;
    return err;
}

enum sma_err sma_store_answer_pairing(struct sma_store *store, const struct sma_ingress *in,
                                      uint64_t seq)
{
    char code[CODE_LEN + 1];
    const struct pair_word *word = read_words(in->text, code);
    struct answer answer = {.is_approved = word != NULL && word->is_approved,
                            .standing = SMA_ACCESS_MEMBER,
                            .by = &in->route};
    enum sma_err err = word == NULL ? SMA_ERR_BADINPUT : answer_code(store, code, &answer);
    if (err != SMA_ERR_OK)
        return err;
    enum sma_language language = sma_store_language(store, &in->route);
    sma_buf_clear(&store->text_buf);
    if (answer.status == 200)
        sma_notice_format(&store->text_buf, language,
                          answer.is_approved ? SMA_NOTICE_PAIR_DONE : SMA_NOTICE_PAIR_REFUSED,
                          answer.name, answer.channel);
    else
        sma_notice_format(&store->text_buf, language, SMA_NOTICE_PAIR_UNKNOWN);
    return say(store, &in->route, seq, 0);
}

/* -- the list --------------------------------------------------------------------------------------------------- */
struct listing
{
    struct sma_store *store;
    struct sma_buf *json;
    uint32_t count;
};
#define LISTED_COUNT_MAX 2000

static enum sma_err list_pairing(void *user, struct sma_str key, struct sma_str value)
{
    struct listing *listing = user;
    json_t *root = json_loadb(value.ptr, value.len, 0, NULL);
    struct sma_route route = sma_store_people_get_route(root);
    int64_t created = json_integer_value(json_object_get(root, "created"));
    struct sma_buf *json = listing->json;
    if (root != NULL && !is_expired(listing->store, created)) {
        sma_buf_put_text(json, listing->count++ > 0 ? ",{" : "{");
        put_member(json, "code", (struct sma_str){key.ptr + 5, key.len - 5});
        put_member(json, "channel", route.channel);
        put_member(json, "userId", route.user_id);
        put_member(json, "userName", route.user_name);
        sma_buf_put_json_key(json, "created");
        sma_buf_put_i64(json, created);
        sma_buf_put_char(json, '}');
    }
    json_decref(root);
    return SMA_ERR_OK;
}

static enum sma_err list_person(void *user, struct sma_str key, struct sma_str value)
{
    struct listing *listing = user;
    struct sma_buf *json = listing->json;
    const size_t prefix = strlen("person/");
    const char *slash = memchr(key.ptr + prefix, '/', key.len - prefix);
    json_t *root = json_loadb(value.ptr, value.len, 0, NULL);
    if (slash != NULL && root != NULL && listing->count < LISTED_COUNT_MAX) {
        sma_buf_put_text(json, listing->count++ > 0 ? ",{" : "{");
        put_member(json, "channel",
                   (struct sma_str){key.ptr + prefix, (size_t)(slash - key.ptr) - prefix});
        put_member(json, "userId",
                   (struct sma_str){slash + 1, key.len - (size_t)(slash + 1 - key.ptr)});
        put_member(json, "role", sma_str(json_string_value(json_object_get(root, "standing"))));
        put_member(json, "via", sma_str(json_string_value(json_object_get(root, "via"))));
        sma_buf_put_char(json, '}');
    }
    json_decref(root);
    return SMA_ERR_OK;
}

void sma_store_put_pairings(struct sma_store *store, struct sma_buf *json)
{
    struct listing listing = {.store = store, .json = json};
    sma_buf_put_char(json, '{');
    sma_buf_put_json_key(json, "pairings");
    sma_buf_put_char(json, '[');
    enum sma_err err =
        sma_state_each_access_under(store->state, SMA_STR("pair/"), list_pairing, &listing);
    sma_buf_put_char(json, ']');
    sma_buf_put_json_key(json, "people");
    sma_buf_put_char(json, '[');
    listing.count = 0;
    if (err == SMA_ERR_OK)
        err = sma_state_each_access_under(store->state, SMA_STR("person/"), list_person, &listing);
    sma_buf_put_text(json, "]}");
    if (err != SMA_ERR_OK)
        sma_ctx_log(store->ctx, SMA_LOG_WARN, "the people cannot be listed: %s", sma_err_text(err));
}
