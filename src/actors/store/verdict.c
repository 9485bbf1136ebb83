/*
 * verdict.c — /approve ID, /reject ID and /approvals. See runs_priv.h.
 *
 * A decision by id goes the way of a press: the same rights, the same compare and set, the same
 * audit. The beginning of an id can only name what its writer may see: what is shown in his chat,
 * and in private all of it for owners, his platform's for administrators. So nobody learns of
 * requests by guessing, and in a group nothing is decided that a press there could not decide.
 */
#include "consent_priv.h"
#include "people.h"
#include "runs_priv.h"
#include "store.h"

#include "sma/text.h"

#define ID_BYTES_MIN 4 /* of an open request: only those that the writer sees are looked at */
#define ID_DECIDED_BYTES_MIN 6 /* of one that is over */
#define ID_SHOWN_BYTES_MIN 8
#define CANDIDATE_COUNT_MAX 5
#define TITLE_BYTES_MAX 120

static SMA_CHECKED enum sma_err put(const struct store_command *command, enum sma_notice notice)
{
    sma_buf_clear(command->text);
    sma_notice_format(command->text, command->language, notice);
    return command->text->err;
}

/* -- who sees what ----------------------------------------------------------------------------- */
struct viewer
{
    const struct store_command *command;
    enum sma_standing standing; /* by himself: what a group's platform says of him counts there */
};

static struct viewer viewer_of(struct sma_store *store, const struct store_command *command)
{
    const struct sma_ingress *in = command->ingress;
    return (struct viewer){command,
                           sma_store_standing(store, command->chat, &in->route, in->is_group)};
}

/* A press does not say in which topic it was. */
static bool is_here(const struct viewer *viewer, struct sma_str chat_key)
{
    return sma_str_is_equal(sma_store_chat_base(chat_key),
                            sma_store_chat_base(sma_store_chat_key(viewer->command->chat)));
}

static bool sees_all_of(const struct viewer *viewer, struct sma_str channel)
{
    if (viewer->command->ingress->is_group)
        return false;
    return viewer->standing == SMA_STANDING_OWNER ||
           (viewer->standing == SMA_STANDING_ADMIN &&
            sma_str_is_equal(channel, viewer->command->ingress->route.channel));
}

static bool sees(const struct viewer *viewer, const struct store_approval *approval)
{
    for (uint32_t i = 0; i < approval->sight_count; i++)
        if (is_here(viewer, sma_store_chat_key(approval->sights[i].chat)))
            return true;
    return sees_all_of(viewer, approval->chat->state->channel);
}

/* -- which one --------------------------------------------------------------------------------- */
struct wanted
{
    char id[SMA_STATE_APPROVAL_ID_BYTES + 1]; /* as it was written, in small letters */
    size_t len;
    struct sma_str rest;                               /* the words behind it */
    struct store_approval *found[CANDIDATE_COUNT_MAX]; /* the first ones that begin so */
    uint32_t count;
};

static bool read_wanted(struct sma_str text, struct wanted *ret_wanted)
{
    *ret_wanted = (struct wanted){.rest = SMA_STR("")};
    size_t len = 0;
    while (len < text.len && memchr(" \t\r\n", text.ptr[len], 4) == NULL)
        len++;
    ret_wanted->rest = sma_str_trim((struct sma_str){text.ptr + len, text.len - len});
    if (len == 0 || len > SMA_STATE_APPROVAL_ID_BYTES)
        return false;
    for (size_t i = 0; i < len; i++) {
        char digit = text.ptr[i];
        digit = (char)(digit >= 'A' && digit <= 'F' ? digit - 'A' + 'a' : digit);
        if (!((digit >= '0' && digit <= '9') || (digit >= 'a' && digit <= 'f')))
            return false;
        ret_wanted->id[i] = digit;
    }
    ret_wanted->len = len;
    return true;
}

static void find_open(struct sma_store *store, const struct viewer *viewer, struct wanted *wanted)
{
    if (wanted->len < ID_BYTES_MIN)
        return;
    for (struct store_approval *at = store->consent->first; at != NULL; at = at->next) {
        if (at->is_broken || memcmp(at->id, wanted->id, wanted->len) != 0 || !sees(viewer, at))
            continue;
        if (wanted->count < CANDIDATE_COUNT_MAX)
            wanted->found[wanted->count] = at;
        wanted->count++;
    }
}

/* What became of one that is not open any more, for those who could see it. */
static void find_late(struct sma_store *store, const struct viewer *viewer,
                      const struct wanted *wanted, struct store_decision *ret_decision)
{
    const struct sma_route *route = &viewer->command->ingress->route;
    struct sma_state_rows rows = {0}, row_rows = {0};
    struct sma_state_approval row;
    struct sma_str ids[2], late = SMA_STR("");
    uint32_t count = 0;
    if (wanted->len < ID_DECIDED_BYTES_MIN ||
        sma_state_approval_ids(store->state, (struct sma_str){wanted->id, wanted->len}, &rows, ids,
                               &count) != SMA_ERR_OK)
        count = 0;
    if (count == 1 && sma_store_approval_by_id(store, ids[0]) == NULL &&
        sma_state_approval_read(store->state, ids[0], &row_rows, &row) == SMA_ERR_OK &&
        (is_here(viewer, row.chat->key) || sees_all_of(viewer, row.chat->channel)))
        late = ids[0];
    sma_store_rule_late(store, route, late, ret_decision);
    sma_state_rows_free(&row_rows);
    sma_state_rows_free(&rows);
}

/* So much of an id that no other open one begins so; at least what is always shown. */
static int shown_bytes(const struct sma_store *store, const struct store_approval *approval)
{
    size_t len = ID_SHOWN_BYTES_MIN;
    for (const struct store_approval *at = store->consent->first; at != NULL; at = at->next)
        while (at != approval && len < SMA_STATE_APPROVAL_ID_BYTES &&
               memcmp(at->id, approval->id, len) == 0)
            len++;
    return (int)len;
}

/* -- the list ---------------------------------------------------------------------------------- */
/* Untrusted text as a part of a line. */
static void put_cut(struct sma_buf *buf, struct sma_str text)
{
    bool is_cut = text.len > TITLE_BYTES_MAX;
    text.len = is_cut ? sma_utf8_cut(text, TITLE_BYTES_MAX) : text.len;
    sma_card_put_line(buf, text);
    sma_buf_put_text(buf, is_cut ? "..." : "");
}

/* "\n1a2b3c4d echo done (telegram:chat:1002)" */
static SMA_CHECKED enum sma_err put_asked(struct sma_store *store, struct sma_buf *list,
                                          struct store_approval *approval)
{
    struct store_case it;
    enum sma_err err = sma_store_case_open(store, approval, &it);
    if (err != SMA_ERR_OK)
        return approval->is_broken ? SMA_ERR_OK : err; /* what cannot be read is given up */
    sma_buf_printf(list, "\n%.*s ", shown_bytes(store, approval), approval->id);
    uint64_t open = sma_store_case_mask(&it);
    for (uint32_t i = 0, shown = 0; i < it.request.item_count; i++) {
        if ((open >> i & 1) == 0)
            continue;
        sma_buf_put_text(list, shown++ > 0 ? "; " : "");
        put_cut(list, it.request.items[i].title);
    }
    sma_buf_put_text(list, " (");
    sma_buf_put_str(list, sma_store_chat_key(approval->chat));
    sma_buf_put_char(list, ')');
    sma_store_case_fini(&it);
    return list->err;
}

static SMA_CHECKED enum sma_err put_list(struct sma_store *store, const struct viewer *viewer,
                                         struct sma_buf *list)
{
    enum sma_language language = viewer->command->language;
    uint32_t count = 0;
    sma_notice_format(list, language, SMA_NOTICE_APPROVAL_LIST);
    for (struct store_approval *at = store->consent->first; at != NULL; at = at->next) {
        if (at->is_broken || !sees(viewer, at))
            continue;
        if (count++ < SMA_APPROVAL_LIST_COUNT_MAX)
            SMA_TRY(put_asked(store, list, at));
    }
    if (count == 0) {
        sma_buf_clear(list);
        sma_notice_format(list, language, SMA_NOTICE_APPROVAL_LIST_NONE);
        return list->err;
    }
    sma_buf_put_char(list, '\n');
    if (count > SMA_APPROVAL_LIST_COUNT_MAX)
        sma_notice_format(list, language, SMA_NOTICE_APPROVAL_LIST_MORE,
                          count - SMA_APPROVAL_LIST_COUNT_MAX);
    else
        sma_notice_format(list, language, SMA_NOTICE_APPROVAL_LIST_HOW);
    return list->err;
}

static SMA_CHECKED enum sma_err put_candidates(struct sma_store *store, const struct viewer *viewer,
                                               const struct wanted *wanted, struct sma_buf *list)
{
    sma_notice_format(list, viewer->command->language, SMA_NOTICE_APPROVAL_AMBIGUOUS, wanted->count,
                      wanted->id);
    for (uint32_t i = 0; i < wanted->count && i < CANDIDATE_COUNT_MAX; i++)
        SMA_TRY(put_asked(store, list, wanted->found[i]));
    return list->err;
}

/* One of them whole, as its card shows it. */
static SMA_CHECKED enum sma_err put_whole(struct sma_store *store, const struct viewer *viewer,
                                          struct store_approval *approval, struct sma_buf *text)
{
    struct store_case it;
    struct sma_card_facts facts;
    struct sma_card card = {0};
    struct sma_buf json;
    enum sma_err err = sma_store_case_open(store, approval, &it);
    if (err != SMA_ERR_OK)
        return approval->is_broken ? SMA_ERR_OK : err;
    sma_buf_init(&json, STORE_CARD_BYTES_MAX);
    sma_store_fill_card(store, &it, &viewer->command->ingress->route, &facts);
    sma_card_put_request(&json, &facts);
    err = json.err == SMA_ERR_OK ? sma_card_parse(sma_buf_str(&json), &card) : json.err;
    if (err == SMA_ERR_OK) {
        int len = shown_bytes(store, approval);
        sma_buf_put_str(text, card.text);
        sma_buf_printf(text, "\n\n/approve %.*s\n/reject %.*s", len, approval->id, len,
                       approval->id);
    }
    sma_card_fini(&card);
    sma_buf_fini(&json);
    sma_store_case_fini(&it);
    return err == SMA_ERR_OK ? text->err : err;
}

static SMA_CHECKED enum sma_err put_asked_for(struct sma_store *store, const struct viewer *viewer,
                                              struct sma_buf *text)
{
    const struct store_command *command = viewer->command;
    struct wanted wanted;
    struct store_decision late;
    if (command->argument.len == 0)
        return put_list(store, viewer, text);
    if (read_wanted(command->argument, &wanted))
        find_open(store, viewer, &wanted);
    if (wanted.count > 1)
        return put_candidates(store, viewer, &wanted, text);
    if (wanted.count == 1)
        SMA_TRY(put_whole(store, viewer, wanted.found[0], text));
    if (text->len > 0)
        return text->err;
    find_late(store, viewer, &wanted, &late);
    sma_buf_put_text(text, late.text);
    return text->err;
}

enum sma_err sma_store_tell_asked(struct sma_store *store, const struct store_command *command)
{
    struct viewer viewer = viewer_of(store, command);
    struct sma_buf text; /* reading requests uses the scratch */
    sma_buf_init(&text, SMA_TEXT_BYTES_MAX);
    enum sma_err err = put_asked_for(store, &viewer, &text);
    sma_buf_clear(command->text);
    if (err == SMA_ERR_OK)
        sma_buf_put_str(command->text, sma_buf_str(&text));
    sma_buf_fini(&text);
    return err == SMA_ERR_OK ? command->text->err : err;
}

/* -- by id ------------------------------------------------------------------------------------- */
/* What the card does not show whole is not agreed to by words. */
static SMA_CHECKED enum sma_err rule_case(struct sma_store *store,
                                          const struct store_command *command,
                                          struct store_case *it, const struct store_word *word,
                                          struct sma_buf *text)
{
    struct store_decision decision;
    if (word->approved != 0 && sma_card_is_cut(&it->request)) {
        char title[2 * TITLE_BYTES_MAX];
        struct sma_buf line;
        sma_buf_init(&line, 4096);
        put_cut(&line, it->request.items[0].title);
        snprintf(title, sizeof title, "%.*s", (int)line.len, line.len == 0 ? "" : line.ptr);
        sma_buf_fini(&line);
        sma_notice_format(text, command->language, SMA_NOTICE_APPROVAL_CUT, title);
        return text->err;
    }
    SMA_TRY(sma_store_rule(store, it, word, &decision));
    sma_buf_put_text(text, decision.text);
    return text->err;
}

static SMA_CHECKED enum sma_err rule_wanted(struct sma_store *store, const struct viewer *viewer,
                                            bool is_refusal, const struct wanted *wanted,
                                            struct sma_buf *text)
{
    const struct store_command *command = viewer->command;
    struct store_decision late;
    struct store_case it;
    if (wanted->count > 1)
        return put_candidates(store, viewer, wanted, text);
    enum sma_err err =
        wanted->count == 0 ? SMA_ERR_NOTFOUND : sma_store_case_open(store, wanted->found[0], &it);
    if (err == SMA_ERR_OK) {
        uint64_t mask = sma_store_case_mask(&it);
        err = rule_case(store, command, &it,
                        &(struct store_word){.route = &command->ingress->route,
                                             .approved = is_refusal ? 0 : mask,
                                             .refused = is_refusal ? mask : 0,
                                             .response = wanted->rest,
                                             .via = "command"},
                        text);
        sma_store_case_fini(&it);
        return err;
    }
    if (wanted->count == 1 && !(err == SMA_ERR_CORRUPT && wanted->found[0]->is_broken))
        return err;
    find_late(store, viewer, wanted, &late); /* what is broken, the end of this batch gives up */
    sma_buf_put_text(text, late.text);
    return text->err;
}

/* Words behind an agreement may be a condition: nothing is agreed to. Behind a refusal they are the
 * reason. */
static SMA_CHECKED enum sma_err decide_by_id(struct sma_store *store,
                                             const struct store_command *command, bool is_refusal)
{
    struct viewer viewer = viewer_of(store, command);
    struct wanted wanted;
    bool is_id = read_wanted(command->argument, &wanted);
    if (command->ingress->is_forward || command->ingress->is_edited)
        return put(command, SMA_NOTICE_APPROVAL_NOT_OWN);
    if (command->argument.len == 0 || (!is_refusal && wanted.rest.len > 0))
        return put(command, SMA_NOTICE_APPROVAL_USAGE);
    if (is_id)
        find_open(store, &viewer, &wanted);
    struct sma_buf text; /* deciding uses the scratch */
    sma_buf_init(&text, SMA_TEXT_BYTES_MAX);
    enum sma_err err = rule_wanted(store, &viewer, is_refusal, &wanted, &text);
    sma_buf_clear(command->text);
    if (err == SMA_ERR_OK)
        sma_buf_put_str(command->text, sma_buf_str(&text));
    sma_buf_fini(&text);
    return err == SMA_ERR_OK ? command->text->err : err;
}

enum sma_err sma_store_approve_by_id(struct sma_store *store, const struct store_command *command)
{
    return decide_by_id(store, command, false);
}

enum sma_err sma_store_reject_by_id(struct sma_store *store, const struct store_command *command)
{
    return decide_by_id(store, command, true);
}
