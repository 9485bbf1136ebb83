/*
 * What somebody says about a request: may he, and what follows.
 *
 * Buttons, words, HTTP, the command line and the model's reading of words all end in
 * sma_store_rule(), one compare and set inside the store's transaction. A person decides the items
 * that are his to decide and no others; when none is, nothing changes.
 */
#include "consent.h"
#include "consent_priv.h"
#include "intake.h"
#include "people.h"
#include "record.h"
#include "runs.h"
#include "store.h"

#include "runtime/approval/consent.h"
#include "runtime/json/json_read.h"
#include "runtime/policy/policy.h"

#include <stdarg.h>

#define WHO_BYTES_MAX 200
#define ID_BYTES_MIN 6

static void put_text(struct store_decision *decision, int status, const struct sma_buf *text)
{
    size_t len = text->err == SMA_ERR_OK && text->ptr != NULL ? text->len : 0;
    len = sma_utf8_cut((struct sma_str){text->ptr, len}, sizeof decision->text - 1);
    if (len > 0)
        memcpy(decision->text, text->ptr, len);
    decision->text[len] = '\0';
    decision->status = status;
}

static void rule_notice(struct sma_store *store, const struct sma_route *route,
                        struct store_decision *decision, int status, enum sma_notice notice,
                        const char *detail)
{
    struct sma_buf text;
    sma_buf_init(&text, 4096);
    sma_notice_format(&text, sma_store_language(store, route), notice, detail);
    put_text(decision, status, &text);
    sma_buf_fini(&text);
}

/* -- who may ----------------------------------------------------------------------------------- */
/* Somebody of the same platform counts as what he is in the chat that is asked about, wherever he
 * says it. */
static enum sma_standing standing_for(struct sma_store *store, const struct store_case *it,
                                      const struct sma_route *route, struct sma_route *ret_there)
{
    const struct sma_route *asked = &it->facts.route;
    bool is_same_channel = sma_str_is_equal(asked->channel, route->channel);
    *ret_there = is_same_channel ? *asked : *route;
    ret_there->user_id = route->user_id;
    ret_there->user_name = route->user_name;
    return sma_store_standing(store, is_same_channel ? it->approval->chat : NULL, ret_there,
                              is_same_channel && it->facts.is_group);
}

/* The run answers messages of several people together: what it asks for may be any one's wish, so
 * nobody is its asker. What cannot be read may be of somebody else. */
static bool asks_for_others(const struct sma_store *store, const struct store_case *it)
{
    uint32_t place = 0;
    uint64_t seq;
    while (sma_store_next_collected(store, it->approval->seq, &place, &seq)) {
        struct sma_state_head head;
        if (sma_state_head_get(store->state, seq, &head) != SMA_ERR_OK ||
            !sma_str_is_equal(head.user_id, it->facts.route.user_id))
            return true;
    }
    return false;
}

uint64_t sma_store_permitted(struct sma_store *store, const struct store_case *it,
                             const struct sma_route *route, bool *ret_is_role_open)
{
    const struct sma_route *asked = &it->facts.route;
    struct store_chat *chat = it->approval->chat;
    bool is_same_channel = sma_str_is_equal(asked->channel, route->channel);
    bool is_group = is_same_channel && it->facts.is_group;
    struct sma_route there;
    enum sma_standing standing = standing_for(store, it, route, &there);
    struct sma_consent_person person = {
        .standing = standing,
        .is_same_platform = is_same_channel,
        .is_asker = route->user_id.len > 0 && sma_str_is_equal(route->user_id, asked->user_id) &&
                    !asks_for_others(store, it)};
    bool may_all =
        standing == SMA_STANDING_OWNER || (standing == SMA_STANDING_ADMIN && is_same_channel);
    /* A press does not say in which topic it was. */
    bool is_here = sma_str_is_equal(sma_store_chat_base(route->chat_key),
                                    sma_store_chat_base(sma_store_chat_key(chat)));
    *ret_is_role_open =
        !may_all && is_group && is_here && !sma_store_role_is_known(store, chat, &there, is_group);
    return sma_consent_permitted(&it->request, &person);
}

/* -- what became of it ------------------------------------------------------------------------- */
/* The last one who decided something of it. */
static void read_late(const struct sma_state_approval *row, char by[WHO_BYTES_MAX])
{
    json_t *root = NULL, *item;
    size_t index;
    if (sma_json_load(row->doc, &root) != SMA_ERR_OK)
        return;
    json_array_foreach(root, index, item)
    {
        struct sma_str name = sma_json_str(item, "by");
        if (name.len > 0)
            snprintf(by, WHO_BYTES_MAX, "%.*s", (int)sma_utf8_cut(name, WHO_BYTES_MAX - 1),
                     name.ptr);
    }
    json_decref(root);
}

void sma_store_rule_late(struct sma_store *store, const struct sma_route *route, struct sma_str id,
                         struct store_decision *ret_decision)
{
    struct sma_state_rows rows = {0};
    struct sma_state_approval row = {0};
    char by[WHO_BYTES_MAX] = "";
    *ret_decision = (struct store_decision){.status = 404};
    enum sma_err err =
        id.len > 0 ? sma_state_approval_read(store->state, id, &rows, &row) : SMA_ERR_NOTFOUND;
    if (err != SMA_ERR_OK) {
        rule_notice(store, route, ret_decision, 404, SMA_NOTICE_APPROVAL_UNKNOWN, "");
    } else if (row.state == SMA_STATE_APPROVAL_EXPIRED) {
        rule_notice(store, route, ret_decision, 410, SMA_NOTICE_APPROVAL_EXPIRED, "");
    } else if (row.state == SMA_STATE_APPROVAL_CANCELLED) {
        rule_notice(store, route, ret_decision, 410, SMA_NOTICE_APPROVAL_CANCELLED, "");
    } else {
        read_late(&row, by);
        rule_notice(store, route, ret_decision, 409, SMA_NOTICE_APPROVAL_ALREADY, by);
    }
    sma_state_rows_free(&rows);
}

/* Only some items were said, and they are decided; others are still open. */
static void rule_known(struct sma_store *store, const struct store_case *it,
                       const struct store_word *word, struct store_decision *decision)
{
    char by[WHO_BYTES_MAX] = "";
    for (uint32_t i = 0; i < it->request.item_count; i++) {
        const struct store_case_item *item = &it->items[i];
        if (((word->approved | word->refused) >> i & 1) != 0 && item->by.len > 0)
            snprintf(by, sizeof by, "%.*s", (int)sma_utf8_cut(item->by, sizeof by - 1),
                     item->by.ptr);
    }
    rule_notice(store, word->route, decision, 409, SMA_NOTICE_APPROVAL_ALREADY, by);
}

/* -- deciding ---------------------------------------------------------------------------------- */
static void audit_item(struct sma_store *store, const struct store_case *it, uint32_t index,
                       struct sma_str rule)
{
    const struct sma_request_item *item = &it->request.items[index];
    const struct store_case_item *decided = &it->items[index];
    const struct
    {
        const char *key;
        struct sma_str text;
    } members[] = {
        {"id", sma_str(it->approval->id)},
        {"chat", sma_store_chat_key(it->approval->chat)},
        {"tool", item->tool},
        {"title", item->title},
        {"rule", item->rule},
        {"by", decided->by},
        {"actor", decided->actor},
        {"via", decided->via},
        {"response", decided->response},
        {"grant", rule},
    };
    struct sma_buf *buf = &store->scratch.text;
    sma_buf_clear(buf);
    sma_buf_put_char(buf, '{');
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++) {
        if (members[i].text.len == 0)
            continue;
        sma_buf_put_json_key(buf, members[i].key);
        sma_buf_put_json_string(buf, members[i].text);
    }
    sma_buf_put_json_key(buf, "item");
    sma_buf_put_u64(buf, index + 1);
    sma_buf_put_char(buf, '}');
    bool is_approved = decided->outcome == SMA_REQUEST_APPROVED;
    sma_store_audit(store, is_approved ? "approval: approved" : "approval: refused",
                    sma_buf_str(buf));
}

/* Agreed to for longer than once. *why gets text when it cannot be. */
static SMA_CHECKED enum sma_err grant(struct sma_store *store, const struct store_case *it,
                                      const struct store_word *word, uint32_t index,
                                      struct sma_str *ret_rule, struct sma_error *why)
{
    const struct sma_request_item *item = &it->request.items[index];
    bool is_command = sma_str_is_equal(item->tool, SMA_STR("exec_shell"));
    struct sma_str rule = word->grant_s == SMA_GRANT_PROGRAM       ? item->program_rule
                          : is_command && word->grant_rule.len > 0 ? word->grant_rule
                                                                   : item->grant_rule;
    bool is_program = rule.len > 0 && sma_str_is_equal(rule, item->program_rule);
    *ret_rule = SMA_STR("");
    if (item->is_owner_only) {
        (void)sma_fail(why, SMA_ERR_BADINPUT,
                       "%.*s (what only an owner may agree to is asked every time)",
                       (int)item->title.len, item->title.ptr);
        return SMA_ERR_OK;
    }
    if (rule.len == 0) {
        (void)sma_fail(why, SMA_ERR_BADINPUT, "%.*s%s", (int)item->title.len, item->title.ptr,
                       is_command ? " (only one simple command can be allowed for longer)" : "");
        return SMA_ERR_OK;
    }
    if (is_program && !it->items[index].is_by_owner) {
        (void)sma_fail(why, SMA_ERR_BADINPUT,
                       "%.*s (only an owner can allow a program; this once it is agreed to)",
                       (int)rule.len, rule.ptr);
        return SMA_ERR_OK;
    }
    if (is_command && sma_policy_check_grant(rule, why) != SMA_ERR_OK)
        return SMA_ERR_OK;
    *ret_rule = rule;
    return sma_store_add_grant(
        store, &(struct store_grant_facts){.chat = it->approval->chat,
                                           .tool = item->tool,
                                           .rule = rule,
                                           .by = it->items[index].by,
                                           .length_s = word->grant_s == SMA_GRANT_PROGRAM
                                                           ? SMA_GRANT_ALWAYS
                                                           : word->grant_s});
}

/* How often people have agreed to a program that only reads; over restarts. */
#define YES_NAME_BYTES_MAX 64

static uint32_t count_yes(struct sma_store *store, struct sma_str rule,
                          char name[YES_NAME_BYTES_MAX])
{
    char value[16];
    int64_t count = 0;
    snprintf(name, YES_NAME_BYTES_MAX, "yes.%.*s", (int)(rule.len > 40 ? 40 : rule.len), rule.ptr);
    if (sma_state_meta_get(store->state, sma_str(name), value, sizeof value) != SMA_ERR_OK ||
        sma_parse_i64(sma_str(value), 0, UINT16_MAX, &count) != SMA_ERR_OK)
        return 0;
    return (uint32_t)count;
}

static SMA_CHECKED enum sma_err note_yes(struct sma_store *store, struct sma_str rule)
{
    char name[YES_NAME_BYTES_MAX], value[16];
    uint32_t count = count_yes(store, rule, name);
    if (count >= SMA_PROGRAM_YES_COUNT)
        return SMA_ERR_OK; /* enough to offer it */
    snprintf(value, sizeof value, "%u", count + 1);
    return sma_state_meta_set(store->state, sma_str(name), sma_str(value));
}

bool sma_store_offers_program(struct sma_store *store, const struct sma_request *request)
{
    char name[YES_NAME_BYTES_MAX];
    return request->item_count == 1 && request->items[0].program_rule.len > 0 &&
           count_yes(store, request->items[0].program_rule, name) >= SMA_PROGRAM_YES_COUNT;
}

static void put_actor(struct sma_buf *actor, const struct sma_route *route)
{
    sma_buf_put_str(actor, route->channel);
    if (route->user_id.len == 0)
        return;
    sma_buf_put_char(actor, ':');
    sma_buf_put_str(actor, route->user_id);
}

static SMA_CHECKED enum sma_err decide_items(struct sma_store *store, struct store_case *it,
                                             const struct store_word *word, struct sma_str actor,
                                             struct sma_error *no_grant)
{
    enum sma_err err = SMA_ERR_OK;
    struct sma_route there;
    bool is_owner = standing_for(store, it, word->route, &there) == SMA_STANDING_OWNER;
    for (uint32_t i = 0; i < it->request.item_count && err == SMA_ERR_OK; i++) {
        bool is_refused = (word->refused >> i & 1) != 0;
        if (!is_refused && (word->approved >> i & 1) == 0)
            continue;
        it->items[i] = (struct store_case_item){.outcome = is_refused ? SMA_REQUEST_REFUSED
                                                                      : SMA_REQUEST_APPROVED,
                                                .by = sma_store_name_of(word->route),
                                                .actor = actor,
                                                .via = sma_str(word->via),
                                                .response = word->response,
                                                .is_by_owner = is_owner,
                                                .at_ms = sma_ctx_wall(store->ctx)};
        struct sma_str rule = SMA_STR("");
        if (!is_refused && word->grant_s != SMA_GRANT_NONE)
            err = grant(store, it, word, i, &rule, no_grant);
        if (err == SMA_ERR_OK && !is_refused && it->request.items[i].program_rule.len > 0)
            err = note_yes(store, it->request.items[i].program_rule);
        if (err == SMA_ERR_OK)
            audit_item(store, it, i, rule);
    }
    return err;
}

static void describe(struct sma_store *store, const struct store_word *word, uint32_t count,
                     uint32_t open, const struct sma_error *no_grant,
                     struct store_decision *decision)
{
    struct sma_buf text;
    enum sma_language language = sma_store_language(store, word->route);
    sma_buf_init(&text, 8192);
    if (open > 0)
        sma_notice_format(&text, language, SMA_NOTICE_APPROVAL_SOME, count - open, count);
    else
        sma_notice_format(&text, language,
                          word->approved != 0 ? SMA_NOTICE_APPROVAL_APPROVED
                                              : SMA_NOTICE_APPROVAL_REFUSED);
    if (no_grant->code != SMA_ERR_OK) {
        sma_buf_put_char(&text, ' ');
        sma_notice_format(&text, language, SMA_NOTICE_GRANT_REFUSED, no_grant->text);
    }
    put_text(decision, 200, &text);
    sma_buf_fini(&text);
    decision->is_closed = open == 0;
    decision->needs_telling = open > 0 || no_grant->code != SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err apply(struct sma_store *store, struct store_case *it,
                                      const struct store_word *word,
                                      struct store_decision *ret_decision)
{
    struct sma_buf actor;
    struct sma_error no_grant = {0};
    bool is_closed = false;
    sma_buf_init(&actor, SMA_ID_BYTES_MAX * 4);
    put_actor(&actor, word->route);
    enum sma_err err = actor.err;
    if (err == SMA_ERR_OK)
        err = decide_items(store, it, word, sma_buf_str(&actor), &no_grant);
    uint32_t count = it->request.item_count,
             open = (uint32_t)__builtin_popcountll(sma_store_case_mask(it));
    if (err == SMA_ERR_OK)
        err = sma_store_case_write(store, it, sma_store_name_of(word->route), &is_closed);
    if (err == SMA_ERR_OK)
        describe(store, word, count, open, &no_grant, ret_decision);
    sma_buf_fini(&actor);
    return err;
}

struct application
{
    struct store_case *it;
    const struct store_word *word;
    struct store_decision *decision;
};

static enum sma_err apply_item(struct sma_store *store, void *ctx)
{
    struct application *of = ctx;
    return apply(store, of->it, of->word, of->decision);
}

/* What cannot be written down for what is stored of the request ends it: nothing was decided. */
static SMA_CHECKED enum sma_err apply_alone(struct sma_store *store, struct store_case *it,
                                            const struct store_word *word,
                                            struct store_decision *ret_decision)
{
    struct application of = {.it = it, .word = word, .decision = ret_decision};
    bool is_damaged;
    enum sma_err err = sma_store_on_request(store, it->approval, apply_item, &of, &is_damaged);
    if (err == SMA_ERR_OK && is_damaged) {
        it->approval = NULL;
        *ret_decision = (struct store_decision){.status = 404};
        rule_notice(store, word->route, ret_decision, 404, SMA_NOTICE_APPROVAL_UNKNOWN, "");
    }
    return err;
}

static bool is_out_of_time(const struct sma_store *store, const struct store_approval *approval)
{
    return approval->deadline_ns != 0 && approval->deadline_ns <= sma_ctx_now(store->ctx);
}

enum sma_err sma_store_rule(struct sma_store *store, struct store_case *it,
                            const struct store_word *said, struct store_decision *ret_decision)
{
    *ret_decision = (struct store_decision){.status = 403};
    struct store_word word = *said;
    struct sma_consent_word counts;
    enum sma_consent_verdict verdict = sma_consent_rule(
        &(struct sma_consent_word){
            .approved = said->approved,
            .refused = said->refused,
            .permitted = sma_store_permitted(store, it, said->route, &ret_decision->is_role_open),
            .open = sma_store_case_mask(it),
            .is_out_of_time = is_out_of_time(store, it->approval)},
        &counts);
    switch (verdict) {
    case SMA_CONSENT_TOO_LATE: /* the end of this batch refuses it */
        ret_decision->is_role_open = false;
        rule_notice(store, said->route, ret_decision, 410, SMA_NOTICE_APPROVAL_EXPIRED, "");
        return SMA_ERR_OK;
    case SMA_CONSENT_NOT_YOURS:
        rule_notice(store, said->route, ret_decision, 403, SMA_NOTICE_APPROVAL_NOT_YOURS, "");
        return SMA_ERR_OK;
    case SMA_CONSENT_ALREADY:
        rule_known(store, it, said, ret_decision);
        return SMA_ERR_OK;
    default:
        word.approved = counts.approved;
        word.refused = counts.refused;
        return apply_alone(store, it, &word, ret_decision);
    }
}

/* -- DECIDE ------------------------------------------------------------------------------------ */
static void answer_decided(struct sma_store *store, const struct sma_msg *question,
                           const struct store_decision *decision)
{
    const struct sma_decided decided = {.status = decision->status,
                                        .text = sma_str(decision->text)};
    struct sma_msg *answer = sma_store_made(store, sma_msg_make_decided(&decided));
    sma_store_answer_later(store, question, &answer, 0);
}

struct store_approval *sma_store_find_wanted(struct sma_store *store,
                                             const struct sma_decide *decide,
                                             struct store_decision *decision)
{
    struct sma_state_rows rows = {0};
    struct store_approval *approval = NULL;
    struct sma_str ids[2];
    uint32_t count = 0;
    enum sma_err err = decide->id.len < ID_BYTES_MIN
                           ? SMA_ERR_NOTFOUND
                           : sma_state_approval_ids(store->state, decide->id, &rows, ids, &count);
    if (err != SMA_ERR_OK) {
        rule_notice(store, &decide->route, decision, 404, SMA_NOTICE_APPROVAL_UNKNOWN, "");
    } else if (count > 1) {
        decision->status = 400;
        snprintf(decision->text, sizeof decision->text,
                 "several requests have an id that begins so; give more of it");
    } else {
        approval = sma_store_approval_by_id(store, ids[0]);
        if (approval == NULL)
            sma_store_rule_late(store, &decide->route, ids[0], decision);
    }
    sma_state_rows_free(&rows);
    return approval;
}

static uint64_t mask_of(const struct store_case *it)
{
    return (UINT64_C(1) << it->request.item_count) - 1;
}

static SMA_CHECKED enum sma_err decide_one(struct sma_store *store, const struct sma_decide *decide,
                                           struct store_approval *approval,
                                           struct store_decision *ret_decision)
{
    struct store_case it;
    enum sma_err err = sma_store_begin(store);
    if (err == SMA_ERR_OK)
        err = sma_store_case_open(store, approval, &it);
    if (err == SMA_ERR_CORRUPT && approval->is_broken) { /* the end of this batch gives it up */
        rule_notice(store, &decide->route, ret_decision, 404, SMA_NOTICE_APPROVAL_UNKNOWN, "");
        return SMA_ERR_OK;
    }
    if (err != SMA_ERR_OK)
        return err;
    struct store_word word = {.route = &decide->route,
                              .approved = decide->approved_mask,
                              .refused = decide->refused_mask,
                              .response = decide->response,
                              .grant_s = decide->grant_s,
                              .via = "api"};
    char via[32];
    snprintf(via, sizeof via, "%.*s", (int)sma_utf8_cut(decide->route.channel, sizeof via - 1),
             decide->route.channel.len == 0 ? "" : decide->route.channel.ptr);
    word.via = via;
    if ((word.approved | word.refused) == 0)
        *(decide->is_approved ? &word.approved : &word.refused) = mask_of(&it);
    if (((word.approved | word.refused) & ~mask_of(&it)) != 0 ||
        (word.approved & word.refused) != 0) {
        ret_decision->status = 400;
        snprintf(ret_decision->text, sizeof ret_decision->text,
                 "the request has items 1 to %u, and each can be approved or refused",
                 it.request.item_count);
    } else {
        err = sma_store_rule(store, &it, &word, ret_decision);
    }
    sma_store_case_fini(&it);
    return err;
}

static void decide_approval(struct sma_store *store, const struct sma_msg *msg,
                            const struct sma_decide *decide)
{
    struct store_decision decision = {.status = 503,
                                      .text = "the service cannot write now; try again"};
    enum sma_err err = SMA_ERR_OK;
    sma_store_check_disk(store);
    if (sma_store_may_write(store)) {
        struct store_approval *approval = sma_store_find_wanted(store, decide, &decision);
        if (approval != NULL)
            err = decide_one(store, decide, approval, &decision);
    }
    if (err != SMA_ERR_OK) {
        sma_store_fail_batch(store, err);
        decision =
            (struct store_decision){.status = 503, .text = "it could not be stored; try again"};
    }
    answer_decided(store, msg, &decision);
}

void sma_store_decide(struct sma_store *store, struct sma_msg **msg)
{
    const struct sma_decide *decide = SMA_MSG_BODY(*msg, struct sma_decide);
    switch (decide->kind) {
    case SMA_DECIDE_PAIRING:
        sma_store_decide_pairing(store, msg);
        break;
    case SMA_DECIDE_REVOKE:
        sma_store_revoke(store, msg);
        break;
    case SMA_DECIDE_CANCEL:
        sma_store_cancel(store, *msg);
        break;
    default:
        decide_approval(store, *msg, decide);
        break;
    }
}
