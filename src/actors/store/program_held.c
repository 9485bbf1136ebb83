/*
 * The program of an MCP server is not the one that was accepted (runtime/decisive/accepted.h):
 * owners are asked where they talk with the bot, by a card; one answers with its button, whose id
 * is the code, or with the code that he was shown.
 *
 * One record a server, "program/<name>": {"code","digest","said","before","cards"}. said: "" |
 * "yes" | "no" | "given". cards: rows of the outbox, which follow what becomes of the question.
 * What is asked about is the digest: another one is another question with another code, and a yes
 * to the one before does not count. The actor of the servers asks each time it looks, so that a
 * yes outlives a kill: it is given to it until the server is not held any more.
 */
#include "batch.h"
#include "consent_priv.h"
#include "intake.h"
#include "outbox.h"
#include "people_priv.h"
#include "store.h"

#include "runtime/approval/card.h"
#include "runtime/chat/state_read.h"
#include "sma/text.h"

#include <stdlib.h>

#define DIFF_LINE_BYTES_MAX 120
#define SHOWN_COUNT_MAX 10  /* files in a question */
#define DIFF_BYTES_MAX 2400 /* of them; platforms cut longer cards, and the words with the code */
#define SEQ_COUNT 16        /* newest messages whose keys are tried for a notice */

static SMA_CHECKED enum sma_err key_of(struct sma_store *store, struct sma_str server)
{
    struct sma_buf *key = &store->people->key;
    sma_buf_clear(key);
    sma_buf_put_text(key, "program/");
    sma_buf_put_str(key, server);
    return key->err;
}

/* *ret_root: a new reference; NULL: nobody was asked yet, or what is kept is damaged */
static SMA_CHECKED enum sma_err read_root(struct sma_store *store, struct sma_str server,
                                          json_t **ret_root)
{
    *ret_root = NULL;
    SMA_TRY(key_of(store, server));
    enum sma_err err = sma_store_people_read(store);
    if (err == SMA_ERR_OK)
        *ret_root = json_loadb(store->people->value.ptr, store->people->value.len, 0, NULL);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static SMA_CHECKED enum sma_err write_root(struct sma_store *store, struct sma_str server,
                                           const json_t *root)
{
    char *text = root == NULL ? NULL : json_dumps(root, JSON_COMPACT);
    if (text == NULL)
        return SMA_ERR_NOMEM;
    enum sma_err err = key_of(store, server);
    if (err == SMA_ERR_OK)
        err = sma_store_people_write(store, sma_str(text));
    free(text);
    return err;
}

static struct sma_str member(const json_t *root, const char *name)
{
    const char *text = json_string_value(json_object_get(root, name));
    return sma_str(text == NULL ? "" : text);
}

static bool says(const json_t *root, const char *word)
{
    return sma_str_is_equal(member(root, "said"), sma_str(word));
}

static SMA_CHECKED enum sma_err write_said(struct sma_store *store, struct sma_str server,
                                           json_t *root, const char *word)
{
    return json_object_set_new(root, "said", json_string(word)) == 0
               ? write_root(store, server, root)
               : SMA_ERR_NOMEM;
}

/* -- owners are asked -------------------------------------------------------------------------- */
/* Of a program that anybody may have written: one line that shows all it has, and ends no block. */
static void put_diff_line(struct sma_buf *text, struct sma_str line)
{
    size_t from = text->len;
    line.len = sma_utf8_cut(line, DIFF_LINE_BYTES_MAX);
    sma_card_put_line(text, line);
    sma_buf_put_char(text, '\n');
    for (size_t i = from; i < text->len; i++)
        if (text->ptr[i] == '`')
            text->ptr[i] = '\'';
}

/* "M tools/srv.py": names are anybody's words. */
static void put_changes(struct sma_buf *text, struct sma_str changes)
{
    static const struct
    {
        const char *word, *sign;
    } rows[] = {{"changed ", "M"}, {"new ", "A"}, {"missing ", "D"}};
    char name[SMA_PAIRING_NAME_BYTES_MAX + 1];
    unsigned count = 0, left_out = 0;
    bool is_diff = false;
    while (changes.len > 0) {
        const char *end = memchr(changes.ptr, '\n', changes.len);
        struct sma_str line = {changes.ptr,
                               end == NULL ? changes.len : (size_t)(end - changes.ptr)};
        size_t gone = line.len + (end != NULL);
        changes = (struct sma_str){changes.ptr + gone, changes.len - gone};
        if (sma_str_starts_with(line, SMA_STR("| "))) {
            left_out += text->len > DIFF_BYTES_MAX;
            if (text->len > DIFF_BYTES_MAX)
                continue;
            sma_buf_put_text(text, is_diff ? "" : "```\n");
            put_diff_line(text, (struct sma_str){line.ptr + 2, line.len - 2});
            is_diff = true;
            continue;
        }
        if (++count > SHOWN_COUNT_MAX)
            continue;
        for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
            struct sma_str word = sma_str(rows[i].word);
            if (!sma_str_starts_with(line, word))
                continue;
            sma_pairing_name(name, (struct sma_str){line.ptr + word.len, line.len - word.len});
            sma_buf_printf(text, "%s %s\n", rows[i].sign, name);
        }
    }
    sma_buf_put_text(text, is_diff ? "```\n" : "");
    left_out += count > SHOWN_COUNT_MAX ? count - SHOWN_COUNT_MAX : 0;
    if (left_out > 0)
        sma_buf_printf(text, "... (+%u)\n", left_out);
}

/* The words in scratch.text as a card: whoever has no buttons answers with the code. */
static SMA_CHECKED enum sma_err send_card(struct sma_store *store, const struct sma_route *route,
                                          const char *code, uint64_t seq, uint32_t call)
{
    static const enum sma_card_action actions[] = {SMA_CARD_APPROVE, SMA_CARD_REFUSE};
    static const enum sma_notice notices[] = {SMA_NOTICE_CARD_APPROVE, SMA_NOTICE_CARD_REFUSE,
                                              SMA_NOTICE_CARD_TITLE};
    struct sma_card_press press = {.item = 0};
    char id[2 * sizeof press.id + 1] = "";
    char data[SMA_COUNT_OF(actions)][SMA_CARD_DATA_BYTES_MAX + 1];
    struct sma_buf *text = &store->scratch.text, buf, words[SMA_COUNT_OF(notices)];
    (void)snprintf((char *)press.id, sizeof press.id, "%s", code);
    for (size_t i = 0; i < sizeof press.id; i++)
        (void)snprintf(id + 2 * i, 3, "%02x", press.id[i]);
    for (size_t i = 0; i < SMA_COUNT_OF(notices); i++) {
        sma_buf_init(&words[i], 256);
        sma_notice_format(&words[i], sma_store_language(store, route), notices[i]);
    }
    struct sma_card card = {.id = sma_str(id),
                            .title = sma_buf_str(&words[SMA_COUNT_OF(actions)]),
                            .text = sma_buf_str(text),
                            .plain = sma_buf_str(text),
                            .button_count = SMA_COUNT_OF(actions)};
    for (size_t i = 0; i < SMA_COUNT_OF(actions); i++) {
        press.action = actions[i];
        sma_card_sign(store->consent->key, &press, data[i]);
        card.buttons[i] = (struct sma_card_button){
            .text = sma_buf_str(&words[i]), .data = sma_str(data[i]), .is_approval = i == 0};
    }
    sma_buf_init(&buf, 256 * 1024);
    sma_card_put(&buf, &card);
    struct sma_step_delivery delivery = {.call = call,
                                         .intent = SMA_INTENT_APPROVAL_REQUEST,
                                         .route = *route,
                                         .text = sma_buf_str(&buf)};
    struct sma_step_delivery_state state;
    enum sma_err err = text->err != SMA_ERR_OK ? text->err : buf.err;
    if (err == SMA_ERR_OK)
        err = sma_store_deliver(
            store, &(struct store_delivery_facts){.seq = seq, .step = STORE_NOTICE_STEP}, &delivery,
            &state);
    for (size_t i = 0; i < SMA_COUNT_OF(notices); i++)
        sma_buf_fini(&words[i]);
    sma_buf_fini(&buf);
    return err;
}

static enum sma_err is_there(void *user, const struct sma_state_delivery *delivery)
{
    (void)user;
    (void)delivery;
    return SMA_ERR_OK;
}

/* No message is the cause of it: a key that no notice has, among those of the newest ones. */
static SMA_CHECKED enum sma_err find_key(struct sma_store *store, uint64_t *ret_seq,
                                         uint32_t *ret_call)
{
    uint64_t next = sma_state_next_seq(store->state);
    for (uint64_t seq = next - 1; seq > 0 && next - seq <= SEQ_COUNT; seq--)
        for (uint32_t call = STORE_HELD_CALL; call < STORE_HELD_CALL + 8; call++) {
            enum sma_err err = sma_state_outbox_get(
                store->state, sma_state_outbox_id(seq, STORE_NOTICE_STEP, call), is_there, NULL);
            if (err == SMA_ERR_NOTFOUND) {
                *ret_seq = seq;
                *ret_call = call;
                return SMA_ERR_OK;
            }
            if (err != SMA_ERR_OK)
                return err;
        }
    return SMA_ERR_FULL;
}

/* cards: those of all who were told; none: nobody can be reached yet, and the next look asks
 * again. */
static SMA_CHECKED enum sma_err tell_owners(struct sma_store *store,
                                            const struct sma_mcp_held *held, const char *code,
                                            bool is_void, json_t *cards)
{
    struct sma_route homes[SMA_APPROVAL_HOME_COUNT_MAX];
    struct sma_buf storage, files;
    char name[SMA_PAIRING_NAME_BYTES_MAX + 1];
    sma_buf_init(&storage, 256 * 1024);
    sma_buf_init(&files, 16 * 1024);
    uint32_t count =
        sma_store_approver_routes(store, SMA_STR(""), homes, SMA_APPROVAL_HOME_COUNT_MAX, &storage);
    enum sma_err err = SMA_ERR_OK;
    put_changes(&files, held->changes);
    sma_buf_put_char(&files, '\0');
    sma_pairing_name(name, held->server);
    for (uint32_t i = 0; i < count && err == SMA_ERR_OK && files.err == SMA_ERR_OK; i++) {
        uint64_t seq = 0;
        uint32_t call = 0;
        if (sma_store_standing(store, NULL, &homes[i], false) != SMA_STANDING_OWNER)
            continue;
        enum sma_language language = sma_store_language(store, &homes[i]);
        struct sma_buf *text = &store->scratch.text;
        sma_buf_clear(text);
        if (is_void) {
            sma_notice_format(text, language, SMA_NOTICE_HELD_VOID, name);
            sma_buf_put_char(text, '\n');
        }
        sma_notice_format(text, language, SMA_NOTICE_HELD_NEW, name, files.ptr, code, code);
        err = find_key(store, &seq, &call);
        if (err == SMA_ERR_OK)
            err = send_card(store, &homes[i], code, seq, call);
        uint64_t id = sma_state_outbox_id(seq, STORE_NOTICE_STEP, call);
        if (err == SMA_ERR_OK && json_array_append_new(cards, json_integer((json_int_t)id)) != 0)
            err = SMA_ERR_NOMEM;
    }
    sma_buf_fini(&storage);
    sma_buf_fini(&files);
    return err == SMA_ERR_FULL ? SMA_ERR_OK : err; /* people hear of it after the next message */
}

/* It says what has become of the question, and has no buttons any more. */
static SMA_CHECKED enum sma_err close_card(struct sma_store *store, struct sma_str server,
                                           const json_t *root, enum sma_notice notice,
                                           const struct sma_route *by,
                                           const struct sma_state_delivery *request)
{
    char name[SMA_PAIRING_NAME_BYTES_MAX + 1];
    struct sma_card card;
    struct store_facts facts;
    struct sma_buf words, id, buf;
    uint64_t seq = 0;
    uint32_t call = 0;
    bool is_gone = false; /* never shown: nothing to change */
    if (request->intent != SMA_INTENT_APPROVAL_REQUEST || request->state == SMA_DELIVERY_FAILED)
        return SMA_ERR_OK;
    SMA_TRY(sma_store_facts_get(request->route, &facts));
    SMA_TRY(sma_card_parse(request->text, &card));
    sma_buf_init(&words, 4096);
    sma_buf_init(&id, 64 * 1024);
    sma_buf_init(&buf, 256 * 1024);
    sma_pairing_name(name, server);
    sma_store_follow_route(request->chat, &facts.route);
    if (by != NULL && sma_str_is_equal(by->chat_key, facts.route.chat_key))
        facts.route = *by; /* QQ takes an answer to him */
    sma_notice_format(&words, sma_store_language(store, &facts.route), notice, name,
                      member(root, "code").ptr); /* those of one word leave the code out */
    enum sma_err err = sma_store_card_id(request, &id);
    if (err == SMA_ERR_OK)
        err = sma_store_withdraw(store, request->outbox_id, &is_gone);
    if (err == SMA_ERR_OK && !is_gone && (err = find_key(store, &seq, &call)) == SMA_ERR_OK) {
        struct sma_step_delivery_state state;
        card.text = card.plain = sma_buf_str(&words);
        card.message_id = sma_buf_str(&id);
        card.is_outcome = true;
        card.button_count = 0;
        sma_card_put(&buf, &card);
        err = sma_store_deliver(
            store, &(struct store_delivery_facts){.seq = seq, .step = STORE_NOTICE_STEP},
            &(struct sma_step_delivery){.call = call,
                                        .intent = SMA_INTENT_APPROVAL_OUTCOME,
                                        .route = facts.route,
                                        .text = sma_buf_str(&buf)},
            &state);
    }
    sma_card_fini(&card);
    sma_buf_fini(&words);
    sma_buf_fini(&id);
    sma_buf_fini(&buf);
    return err;
}

static SMA_CHECKED enum sma_err close_cards(struct sma_store *store, struct sma_str server,
                                            const json_t *root, enum sma_notice notice,
                                            const struct sma_route *by)
{
    const json_t *cards = json_object_get(root, "cards");
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; i < json_array_size(cards) && err == SMA_ERR_OK; i++) {
        struct sma_state_rows rows = {0};
        struct sma_state_delivery request;
        uint64_t id = (uint64_t)json_integer_value(json_array_get(cards, i));
        err = sma_state_delivery_read(store->state, id, &rows, &request);
        if (err == SMA_ERR_OK)
            err = close_card(store, server, root, notice, by, &request);
        sma_state_rows_free(&rows);
        bool is_none = err == SMA_ERR_NOTFOUND || err == SMA_ERR_BADINPUT || err == SMA_ERR_FULL ||
                       (err == SMA_ERR_CORRUPT && !sma_state_is_fatal(store->state));
        err = is_none ? SMA_ERR_OK : err; /* a card that cannot be read stays as it is */
    }
    return err;
}

static SMA_CHECKED enum sma_err ask(struct sma_store *store, const struct sma_mcp_held *held,
                                    const json_t *before)
{
    json_t *cards = json_array();
    uint64_t first = sma_ctx_random(store->ctx), second = sma_ctx_random(store->ctx);
    struct sma_pairing_code code = sma_pairing_draw(first, second);
    enum sma_err err = cards == NULL
                           ? SMA_ERR_NOMEM
                           : tell_owners(store, held, code.text, says(before, "yes"), cards);
    if (err == SMA_ERR_OK && json_array_size(cards) > 0) {
        json_t *root = json_pack("{s:s, s:s, s:s, s:O, s:s%}", "code", code.text, "said", "",
                                 "before", member(before, "code").ptr, "cards", cards, "digest",
                                 held->digest.ptr, held->digest.len);
        err = says(before, "")
                  ? close_cards(store, held->server, before, SMA_NOTICE_HELD_VOID, NULL)
                  : SMA_ERR_OK;
        if (err == SMA_ERR_OK)
            err = write_root(store, held->server, root);
        json_decref(root);
    }
    json_decref(cards);
    return err;
}

static SMA_CHECKED enum sma_err rule(struct sma_store *store, const struct sma_mcp_held *held,
                                     bool *ret_is_accepted)
{
    json_t *root = NULL;
    SMA_TRY(sma_store_begin(store));
    SMA_TRY(read_root(store, held->server, &root));
    enum sma_err err = SMA_ERR_OK;
    if (!sma_str_is_equal(member(root, "digest"), held->digest))
        err = ask(store, held, root);
    else if (says(root, "yes"))
        err = write_said(store, held->server, root, "given");
    *ret_is_accepted = err == SMA_ERR_OK && says(root, "given") &&
                       sma_str_is_equal(member(root, "digest"), held->digest);
    json_decref(root);
    return err;
}

void sma_store_program_held(struct sma_store *store, struct sma_msg *question)
{
    const struct sma_mcp_held *held = SMA_MSG_BODY(question, struct sma_mcp_held);
    bool is_accepted = false;
    enum sma_err err = sma_store_may_write(store) ? rule(store, held, &is_accepted) : SMA_ERR_BUSY;
    if (err != SMA_ERR_OK && err != SMA_ERR_BUSY)
        sma_store_fail_batch(store, err);
    const struct sma_mcp_ruled ruled = {
        .server = held->server, .digest = held->digest, .is_accepted = is_accepted};
    struct sma_msg *msg = sma_store_made(store, sma_msg_make_mcp_ruled(&ruled));
    if (err == SMA_ERR_OK)
        sma_store_answer_later(store, question, &msg, 0);
    else
        sma_ctx_answer(store->ctx, question, &msg); /* it asks again */
}

/* -- one answers ------------------------------------------------------------------------------- */
struct found
{
    json_t *root; /* NULL: nothing has this code */
    char server[SMA_MCP_SERVER_NAME_BYTES_MAX + 1];
    bool is_before;
};

static SMA_CHECKED enum sma_err find(struct sma_store *store, const char *code,
                                     struct found *ret_found)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_records records = {0};
    const struct sma_str prefix = SMA_STR("program/");
    *ret_found = (struct found){.root = NULL};
    SMA_TRY(sma_state_access_page(store->state,
                                  &(struct sma_state_page){.prefix = prefix, .count_max = 1024},
                                  &rows, &records));
    for (size_t i = 0; i < records.count && ret_found->root == NULL; i++) {
        const struct sma_state_record *record = &records.items[i];
        json_t *root = json_loadb(record->value.ptr, record->value.len, 0, NULL);
        bool is_before = sma_str_is_equal(member(root, "before"), sma_str(code));
        if (!is_before && !sma_str_is_equal(member(root, "code"), sma_str(code))) {
            json_decref(root);
            continue;
        }
        ret_found->root = root;
        ret_found->is_before = is_before;
        (void)snprintf(ret_found->server, sizeof ret_found->server, "%.*s",
                       (int)(record->key.len - prefix.len), record->key.ptr + prefix.len);
    }
    return SMA_ERR_OK;
}

enum sma_err sma_store_program_has_code(struct sma_store *store, const char *code, bool *ret_has)
{
    struct found found;
    enum sma_err err = find(store, code, &found);
    *ret_has = err == SMA_ERR_OK && found.root != NULL;
    json_decref(found.root);
    return err;
}

static void audit(struct sma_store *store, const struct found *found, const struct sma_route *by,
                  bool is_accepted)
{
    char line[200];
    struct sma_buf details;
    sma_buf_init(&details, 16 * 1024);
    sma_buf_put_char(&details, '{');
    sma_buf_put_json_member(&details, "server", sma_str(found->server));
    sma_buf_put_json_member(&details, "digest", member(found->root, "digest"));
    sma_buf_put_json_member(&details, "byChannel", by->channel);
    sma_buf_put_json_member(&details, "byUserId", by->user_id);
    sma_buf_put_char(&details, '}');
    (void)snprintf(line, sizeof line, "mcp: the program of %s was %s", found->server,
                   is_accepted ? "accepted" : "refused");
    if (details.err == SMA_ERR_OK)
        sma_store_audit(store, line, sma_buf_str(&details));
    sma_buf_fini(&details);
}

/* What he is told of it: scratch.text. *ret_is_told: a card says so. */
static SMA_CHECKED enum sma_err answer(struct sma_store *store, const struct sma_ingress *in,
                                       const char *code, bool is_accepted, bool *ret_is_told)
{
    struct found found;
    char name[SMA_PAIRING_NAME_BYTES_MAX + 1];
    SMA_TRY(find(store, code, &found));
    enum sma_err err = SMA_ERR_OK;
    enum sma_notice notice = is_accepted ? SMA_NOTICE_HELD_YES : SMA_NOTICE_HELD_NO;
    if (found.root == NULL || found.is_before) {
        notice = SMA_NOTICE_HELD_VOID;
    } else if (says(found.root, "given")) { /* the actor has the yes: it cannot be called back */
        notice = is_accepted ? SMA_NOTICE_HELD_YES : SMA_NOTICE_HELD_LATE;
    } else {
        err = write_said(store, sma_str(found.server), found.root, is_accepted ? "yes" : "no");
        if (err == SMA_ERR_OK)
            err = close_cards(store, sma_str(found.server), found.root, notice, &in->route);
        *ret_is_told =
            err == SMA_ERR_OK && json_array_size(json_object_get(found.root, "cards")) > 0;
        if (err == SMA_ERR_OK)
            audit(store, &found, &in->route, is_accepted);
    }
    sma_pairing_name(name, sma_str(found.server));
    sma_buf_clear(&store->scratch.text);
    sma_notice_format(&store->scratch.text, sma_store_language(store, &in->route), notice, name,
                      code); /* those of one word leave the code out */
    json_decref(found.root);
    return err == SMA_ERR_OK ? store->scratch.text.err : err;
}

enum sma_err sma_store_program_answer(struct sma_store *store, const struct sma_ingress *in,
                                      uint64_t seq, const char *code, bool is_accepted)
{
    bool is_told = false; /* in other words than a reply to his */
    SMA_TRY(answer(store, in, code, is_accepted, &is_told));
    return sma_store_pairing_say(store, &in->route, seq, 0);
}

/* It went to owners in private; a press of some platforms does not say where it is. */
static SMA_CHECKED enum sma_err has_card(struct sma_store *store, const char *code,
                                         const struct sma_route *route, bool *ret_has)
{
    struct found found;
    SMA_TRY(find(store, code, &found));
    const json_t *cards = json_object_get(found.root, "cards");
    for (size_t i = 0; i < json_array_size(cards) && !*ret_has; i++) {
        struct sma_state_rows rows = {0};
        struct sma_state_delivery request;
        uint64_t id = (uint64_t)json_integer_value(json_array_get(cards, i));
        *ret_has = sma_state_delivery_read(store->state, id, &rows, &request) == SMA_ERR_OK &&
                   sma_str_is_equal(request.chat->key, route->chat_key);
        sma_state_rows_free(&rows);
    }
    json_decref(found.root);
    return SMA_ERR_OK;
}

/* As words are: an owner, in private, by himself. */
enum sma_err sma_store_program_press(struct sma_store *store, const struct sma_ingress *in,
                                     bool *ret_is_program, bool *ret_is_ruled, bool *ret_is_told)
{
    struct sma_card_press press;
    char code[sizeof press.id + 1] = "";
    *ret_is_program = *ret_is_ruled = *ret_is_told = false;
    if (sma_card_verify(store->consent->key, in->text, &press) != SMA_ERR_OK)
        return SMA_ERR_OK;
    memcpy(code, press.id, sizeof press.id);
    if (strlen(code) == SMA_PAIRING_CODE_LEN) /* ids of requests are random bytes */
        SMA_TRY(sma_store_program_has_code(store, code, ret_is_program));
    bool is_here = !in->is_group;
    if (*ret_is_program && !is_here)
        SMA_TRY(has_card(store, code, &in->route, &is_here));
    *ret_is_ruled = *ret_is_program && is_here &&
                    sma_store_standing(store, NULL, &in->route, false) >= SMA_STANDING_OWNER;
    if (*ret_is_ruled)
        return answer(store, in, code, press.action == SMA_CARD_APPROVE, ret_is_told);
    sma_buf_clear(&store->scratch.text);
    if (*ret_is_program)
        sma_notice_format(&store->scratch.text, sma_store_language(store, &in->route),
                          SMA_NOTICE_HELD_NOT_YOURS);
    return SMA_ERR_OK;
}
