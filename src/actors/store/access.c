/*
 * Who may: the rules of each adapter, and what is remembered of people.
 *
 * Initiators ("initiator:<chat key>") and follow-up windows ("window:<chat id>:<user id>", closing
 * time in wall ms) are records of state.db, read there each time: they change with the transaction
 * and are undone with it. Roles are what a platform said a while ago; they are kept in memory for
 * ten minutes.
 */
#include "people_priv.h"
#include "record.h"
#include "store.h"

#include "sma/commands.h"

#define ROLE_NS (UINT64_C(600) * 1000000000)
#define RECORD_BYTES_MAX (SMA_ID_BYTES_MAX * 6 + 16)

/* -- rules ------------------------------------------------------------------------------------- */

/* Checked when the configuration was read; one made otherwise may be wrong, and then names
 * nobody. */
static SMA_CHECKED enum sma_err load_roles(struct sma_store *store)
{
    struct sma_access_roles *fresh = NULL;
    struct sma_error error = {0};
    enum sma_err err =
        sma_access_roles_parse(sma_str(store->config->permissions_json), &fresh, &error);
    if (err == SMA_ERR_BADINPUT) {
        sma_store_boot_line(store, SMA_LOG_ERROR, "ship.json: %s; nobody has a role by it",
                            error.text);
        err = sma_access_roles_parse(SMA_STR(""), &fresh, &error);
    }
    if (err != SMA_ERR_OK)
        return err;
    sma_access_roles_destroy(store->people->named);
    store->people->named = fresh;
    return SMA_ERR_OK;
}

enum sma_err sma_store_load_rules(struct sma_store *store)
{
    enum sma_err err = load_roles(store);
    if (err == SMA_ERR_OK)
        err = sma_store_load_rules_of(store, SMA_STR(""), "", &store->people->default_rules);
    for (uint32_t i = 0; i < store->adapter_count && err == SMA_ERR_OK; i++) {
        const char *name = sma_adapter_name(store->adapters[i].adapter);
        char place[128];
        snprintf(place, sizeof place, "adapters.%s", name);
        err = sma_store_load_rules_of(store, sma_store_block_of(store->config, name), place,
                                      &store->people->rules[i]);
    }
    return err == SMA_ERR_OK ? sma_store_load_chat_rules(store) : err;
}

struct sma_access_backlog sma_store_backlog(const struct sma_store *store,
                                            const struct sma_route *route)
{
    return sma_access_backlog(sma_store_rules_of(store, route));
}

/* -- roles ------------------------------------------------------------------------------------- */

void sma_store_note_role(struct sma_store *store, const struct store_chat *chat,
                         struct sma_str user_id, enum sma_role role)
{
    if (role == SMA_ROLE_UNKNOWN)
        return; /* the platform may know better the next time */
    uint64_t hash = sma_store_hash_person(store, chat, user_id);
    store->people->roles[hash % STORE_ROLE_COUNT] = (struct store_role){
        .hash = hash, .until_ns = sma_ctx_now(store->ctx) + ROLE_NS, .role = (uint8_t)role};
}

/* -- records ----------------------------------------------------------------------------------- */
static void put_initiator_key(struct sma_buf *buf, struct sma_str chat_key)
{
    sma_buf_clear(buf);
    sma_buf_put_text(buf, "initiator:");
    sma_buf_put_str(buf, chat_key);
}

static void put_window_key(struct sma_buf *buf, uint32_t chat_id, struct sma_str user_id)
{
    sma_buf_clear(buf);
    sma_buf_put_text(buf, "window:");
    sma_buf_put_u64(buf, chat_id);
    sma_buf_put_char(buf, ':');
    sma_buf_put_str(buf, user_id);
}

/* The value of the record whose key is in scratch.text, into scratch.facts; empty when there is
 * none. */
static SMA_CHECKED enum sma_err get_record(struct sma_store *store)
{
    sma_buf_clear(&store->scratch.facts);
    if (store->scratch.text.err != SMA_ERR_OK)
        return store->scratch.text.err;
    enum sma_err err = sma_state_access_get(store->state, sma_buf_str(&store->scratch.text),
                                            &store->scratch.facts);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

/* Open when it closes later than now, but not later than one that was opened now: the clock may
 * have been set back. */
static SMA_CHECKED enum sma_err has_window(struct sma_store *store, const struct store_chat *chat,
                                           struct sma_str user_id, int64_t length_ms, bool *ret_has)
{
    put_window_key(&store->scratch.text, chat->id, user_id);
    enum sma_err err = get_record(store);
    int64_t until, now = sma_ctx_wall(store->ctx);
    *ret_has =
        err == SMA_ERR_OK &&
        sma_parse_i64(sma_buf_str(&store->scratch.facts), 0, INT64_MAX, &until) == SMA_ERR_OK &&
        until > now && until - now <= length_ms;
    return err;
}

/* Compared as it is stored, in JSON: what the facts get is the user id itself when it is the same
 * person's. */
static SMA_CHECKED enum sma_err find_initiator(struct sma_store *store,
                                               const struct store_chat *chat,
                                               const struct sma_ingress *in,
                                               struct sma_access_facts *facts)
{
    const struct sma_str ids[] = {in->route.user_id, in->user_alias};
    put_initiator_key(&store->scratch.text, sma_store_chat_key(chat));
    SMA_TRY(get_record(store));
    if (store->scratch.facts.len == 0)
        return SMA_ERR_OK;
    facts->initiator = sma_buf_str(&store->scratch.facts);
    for (size_t i = 0; i < SMA_COUNT_OF(ids); i++) {
        sma_buf_clear(&store->scratch.text);
        sma_buf_put_json_string(&store->scratch.text, ids[i]);
        if (ids[i].len > 0 &&
            sma_str_is_equal(sma_buf_str(&store->scratch.text), sma_buf_str(&store->scratch.facts)))
            facts->initiator = in->route.user_id;
    }
    return store->scratch.text.err;
}

/* What the owner's side has said of the group. */
static SMA_CHECKED enum sma_err find_group(struct sma_store *store, const struct sma_route *route,
                                           struct sma_access_facts *facts)
{
    enum store_group_word word;
    SMA_TRY(sma_store_group_word(store, route, &word));
    facts->is_let_in = word == STORE_GROUP_LET_IN;
    facts->is_group_rejected = word == STORE_GROUP_REJECTED;
    return SMA_ERR_OK;
}

/* -- one event --------------------------------------------------------------------------------- */
/* What nobody knows is answered as /help is. */
static bool has_trait(const struct sma_ingress *in, enum sma_command_trait trait)
{
    const struct sma_command *command = sma_command_of((enum sma_control)in->control);
    return ((command == NULL ? SMA_COMMAND_HELPS : command->traits) & trait) != 0;
}

enum sma_err sma_store_judge(struct sma_store *store, const struct store_chat *chat,
                             const struct sma_ingress *in, struct sma_access_outcome *ret_outcome)
{
    const struct sma_access_rules *rules = sma_store_rules_of(store, &in->route);
    bool is_command = in->kind == SMA_EVENT_CONTROL;
    struct sma_access_event event = {.channel = in->route.channel,
                                     .chat_type = in->route.chat_type,
                                     .user_id = in->route.user_id,
                                     .text = in->text,
                                     .address = (enum sma_access_address)in->addressed,
                                     .is_group = in->is_group,
                                     .is_not_own = in->is_forward || in->is_edited,
                                     .is_record_only = in->is_record_only,
                                     .is_note = in->kind != SMA_EVENT_MESSAGE && !is_command,
                                     .is_command = is_command,
                                     .is_help = is_command && has_trait(in, SMA_COMMAND_HELPS),
                                     .is_status = is_command && has_trait(in, SMA_COMMAND_LOOKS)};
    struct sma_access_facts facts = {0};
    enum sma_err err = SMA_ERR_OK;
    bool is_of_group = in->is_group && in->route.user_id.len > 0 && !event.is_note;
    if (is_of_group && !is_command && in->addressed == SMA_ADDRESSED_NONE)
        err = has_window(store, chat, in->route.user_id, sma_access_followup_ms(rules),
                         &facts.has_window);
    bool is_wanted =
        is_of_group && (is_command || in->addressed != SMA_ADDRESSED_NONE || facts.has_window);
    if (err == SMA_ERR_OK && is_wanted)
        err = find_initiator(store, chat, in, &facts);
    if (err == SMA_ERR_OK && is_wanted)
        err = find_group(store, &in->route, &facts);
    if (err == SMA_ERR_OK && !event.is_note && !in->is_record_only && (is_wanted || !in->is_group))
        err = sma_store_find_person(store, &in->route, &facts);
    if (err != SMA_ERR_OK)
        return err;
    if (is_wanted && in->role != SMA_ROLE_UNKNOWN) {
        facts.is_role_known = true; /* the event says it itself */
        facts.role = (enum sma_access_role)in->role;
    } else if (is_wanted) {
        enum sma_role role;
        facts.is_role_known = sma_store_find_role(store, chat, in->route.user_id, &role);
        if (facts.is_role_known)
            facts.role = (enum sma_access_role)role;
    }
    *ret_outcome = sma_access_decide(rules, &event, &facts);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err open_window(struct sma_store *store, const struct store_chat *chat,
                                            const struct sma_route *route)
{
    int64_t length_ms = sma_access_followup_ms(sma_store_rules_of(store, route));
    if (length_ms == 0)
        return SMA_ERR_OK;
    char until[24];
    snprintf(until, sizeof until, "%lld", (long long)(sma_ctx_wall(store->ctx) + length_ms));
    put_window_key(&store->scratch.text, chat->id, route->user_id);
    if (store->scratch.text.err != SMA_ERR_OK)
        return store->scratch.text.err;
    return sma_state_access_set(store->state, sma_buf_str(&store->scratch.text), sma_str(until));
}

enum sma_err sma_store_admit(struct sma_store *store, const struct store_chat *chat,
                             const struct sma_route *route,
                             const struct sma_access_outcome *outcome)
{
    enum sma_err err =
        outcome->lets_in ? sma_store_group_say(store, route, "spoke", route) : SMA_ERR_OK;
    if (err == SMA_ERR_OK && outcome->becomes_initiator) {
        put_initiator_key(&store->scratch.text, sma_store_chat_key(chat));
        sma_buf_clear(&store->scratch.facts);
        sma_buf_put_json_string(&store->scratch.facts, route->user_id);
        err = store->scratch.text.err != SMA_ERR_OK ? store->scratch.text.err
                                                    : store->scratch.facts.err;
        if (err == SMA_ERR_OK)
            err = sma_state_access_set(store->state, sma_buf_str(&store->scratch.text),
                                       sma_buf_str(&store->scratch.facts));
    }
    if (err == SMA_ERR_OK && outcome->opens_window)
        err = open_window(store, chat, route);
    return err;
}

/* -- the part ---------------------------------------------------------------------------------- */
static enum sma_err create(struct sma_store *store)
{
    store->people = calloc(1, sizeof *store->people);
    if (store->people == NULL)
        return SMA_ERR_NOMEM;
    sma_buf_init(&store->people->key, 16 * 1024);
    sma_buf_init(&store->people->value, 256 * 1024);
    sma_buf_init(&store->people->round.after, 16 * 1024);
    sma_buf_init(&store->people->leaving.after, 16 * 1024);
    return SMA_ERR_OK;
}

static void fini(struct sma_store *store)
{
    sma_access_rules_destroy(store->people->default_rules);
    for (uint32_t i = 0; i < store->adapter_count; i++)
        sma_access_rules_destroy(store->people->rules[i]);
    sma_store_free_chat_rules(store);
    sma_access_roles_destroy(store->people->named);
    sma_store_free_strangers(store);
    sma_buf_fini(&store->people->key);
    sma_buf_fini(&store->people->value);
    sma_buf_fini(&store->people->round.after);
    sma_buf_fini(&store->people->leaving.after);
    free(store->people);
}

/* Of people nothing is in memory but what was read, and what platforms said a while ago, which
 * stays true. */
static void forget(struct sma_store *store, const struct store_marks *to)
{
    (void)to;
    memset(store->people->known, 0, sizeof store->people->known);
    sma_buf_clear(&store->people->round.after);
}

const struct store_part sma_store_people_part = {.name = "people",
                                                 .create = create,
                                                 .load = sma_store_look_for_aliases,
                                                 .forget = forget,
                                                 .expire = sma_store_people_expire,
                                                 .wake = sma_store_people_wake,
                                                 .fini = fini};
