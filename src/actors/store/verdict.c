/*
 * verdict.c — /approve ID, /reject ID, /approvals and /logs. A decision by id goes the way of a
 * press: the same rights, the same compare and set. Others' requests are listed for owners (all) and
 * administrators (of their platform), in private; everybody else sees what their chat shows.
 */
#include "consent_priv.h"
#include "people.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/json/json_read.h"
#include "sma/log_ring.h"
#include "sma/text.h"

#define ID_SHOWN_BYTES 8
#define LOG_LINE_BYTES_MAX 200
#define TITLE_BYTES_MAX 120

static SMA_CHECKED enum sma_err put(const struct store_command *command, enum sma_notice notice)
{
    sma_buf_clear(command->text);
    sma_notice_format(command->text, command->language, notice);
    return command->text->err;
}

/* Untrusted text as a part of a line. */
static void put_cut(struct sma_buf *buf, struct sma_str text, size_t max)
{
    bool is_cut = text.len > max;
    text.len = is_cut ? sma_utf8_cut(text, max) : text.len;
    sma_card_put_line(buf, text);
    sma_buf_put_text(buf, is_cut ? "..." : "");
}

/* -- by id ------------------------------------------------------------------------------------- */
struct ruling
{
    const struct sma_route *route;
    struct sma_str response;
    bool is_refusal;
    struct store_decision decision;
    char cut_title[200]; /* it is not decided: its card does not show all of it */
};

static SMA_CHECKED enum sma_err rule_case(struct sma_store *store, struct store_case *it,
                                          struct ruling *ruling)
{
    uint64_t mask = sma_store_case_mask(it);
    if (!ruling->is_refusal && sma_card_is_cut(&it->request)) {
        struct sma_str title = it->request.items[0].title;
        snprintf(ruling->cut_title, sizeof ruling->cut_title, "%.*s",
                 (int)sma_utf8_cut(title, sizeof ruling->cut_title - 1), title.ptr);
        return SMA_ERR_OK;
    }
    struct store_word word = {.route = ruling->route,
                              .approved = ruling->is_refusal ? 0 : mask,
                              .refused = ruling->is_refusal ? mask : 0,
                              .response = ruling->response,
                              .via = "command"};
    return sma_store_rule(store, it, &word, &ruling->decision);
}

static SMA_CHECKED enum sma_err rule_id(struct sma_store *store, struct sma_str id,
                                        struct ruling *ruling)
{
    struct store_approval *approval = sma_store_find_wanted(
        store, &(struct sma_decide){.id = id, .route = *ruling->route}, &ruling->decision);
    if (approval == NULL)
        return SMA_ERR_OK;
    struct store_case it;
    enum sma_err err = sma_store_case_open(store, approval, &it);
    if (err == SMA_ERR_CORRUPT && approval->is_broken) { /* the end of this batch gives it up */
        sma_store_rule_late(store, ruling->route, SMA_STR(""), &ruling->decision);
        return SMA_ERR_OK;
    }
    if (err != SMA_ERR_OK)
        return err;
    err = rule_case(store, &it, ruling);
    sma_store_case_fini(&it);
    return err;
}

static SMA_CHECKED enum sma_err decide_by_id(struct sma_store *store,
                                             const struct store_command *command, bool is_refusal)
{
    struct sma_str id = command->argument;
    struct ruling ruling = {.route = &command->ingress->route, .is_refusal = is_refusal};
    for (size_t i = 0; i < id.len; i++) {
        if (id.ptr[i] != ' ' && id.ptr[i] != '\n' && id.ptr[i] != '\t')
            continue;
        ruling.response = sma_str_trim((struct sma_str){id.ptr + i, id.len - i});
        id.len = i;
    }
    if (id.len == 0 || command->ingress->is_forward || command->ingress->is_edited)
        return put(command, SMA_NOTICE_APPROVAL_USAGE);
    SMA_TRY(rule_id(store, id, &ruling));
    sma_buf_clear(command->text); /* the store's scratch: deciding has used it */
    if (ruling.cut_title[0] != '\0')
        sma_notice_format(command->text, command->language, SMA_NOTICE_APPROVAL_CUT,
                          ruling.cut_title);
    else
        sma_buf_put_text(command->text, ruling.decision.text);
    return command->text->err;
}

enum sma_err sma_store_approve_by_id(struct sma_store *store, const struct store_command *command)
{
    return decide_by_id(store, command, false);
}

enum sma_err sma_store_reject_by_id(struct sma_store *store, const struct store_command *command)
{
    return decide_by_id(store, command, true);
}

/* -- the list ---------------------------------------------------------------------------------- */
static bool is_shown_in(const struct store_approval *approval, const struct store_chat *chat)
{
    for (uint32_t i = 0; i < approval->sight_count; i++)
        if (approval->sights[i].chat == chat)
            return true;
    return false;
}

static bool may_see(const struct store_command *command, const struct store_approval *approval,
                    enum sma_standing standing)
{
    if (is_shown_in(approval, command->chat))
        return true;
    if (command->ingress->is_group)
        return false;
    return standing == SMA_STANDING_OWNER ||
           (standing == SMA_STANDING_ADMIN &&
            sma_str_is_equal(approval->chat->state->channel, command->ingress->route.channel));
}

/* "1a2b3c4d echo done (telegram:chat:1002)" */
static SMA_CHECKED enum sma_err put_asked(struct sma_store *store, struct sma_buf *list,
                                          struct store_approval *approval)
{
    struct store_case it;
    enum sma_err err = sma_store_case_open(store, approval, &it);
    if (err != SMA_ERR_OK)
        return approval->is_broken ? SMA_ERR_OK : err; /* what cannot be read is given up */
    sma_buf_printf(list, "\n%.*s ", ID_SHOWN_BYTES, approval->id);
    uint64_t open = sma_store_case_mask(&it);
    for (uint32_t i = 0, shown = 0; i < it.request.item_count; i++) {
        if ((open >> i & 1) == 0)
            continue;
        if (shown++ > 0)
            sma_buf_put_text(list, "; ");
        put_cut(list, it.request.items[i].title, TITLE_BYTES_MAX);
    }
    sma_buf_put_text(list, " (");
    sma_buf_put_str(list, sma_store_chat_key(approval->chat));
    sma_buf_put_char(list, ')');
    sma_store_case_fini(&it);
    return list->err;
}

static SMA_CHECKED enum sma_err put_list(struct sma_store *store,
                                         const struct store_command *command, struct sma_buf *list)
{
    enum sma_standing standing = sma_store_standing(store, command->chat, &command->ingress->route,
                                                    command->ingress->is_group);
    uint32_t count = 0;
    sma_notice_format(list, command->language, SMA_NOTICE_APPROVAL_LIST);
    for (struct store_approval *at = store->consent->first; at != NULL; at = at->next) {
        if (at->is_broken || !may_see(command, at, standing))
            continue;
        if (count++ < SMA_APPROVAL_LIST_COUNT_MAX)
            SMA_TRY(put_asked(store, list, at));
    }
    if (count > SMA_APPROVAL_LIST_COUNT_MAX) {
        sma_buf_put_char(list, '\n');
        sma_notice_format(list, command->language, SMA_NOTICE_APPROVAL_LIST_MORE,
                          count - SMA_APPROVAL_LIST_COUNT_MAX);
    }
    if (count == 0) {
        sma_buf_clear(list);
        sma_notice_format(list, command->language, SMA_NOTICE_APPROVAL_LIST_NONE);
    }
    return list->err;
}

enum sma_err sma_store_tell_asked(struct sma_store *store, const struct store_command *command)
{
    struct sma_buf list; /* reading requests uses the scratch */
    sma_buf_init(&list, SMA_TEXT_BYTES_MAX);
    enum sma_err err = put_list(store, command, &list);
    sma_buf_clear(command->text);
    if (err == SMA_ERR_OK)
        sma_buf_put_str(command->text, sma_buf_str(&list));
    sma_buf_fini(&list);
    return err == SMA_ERR_OK ? command->text->err : err;
}

/* -- the log ----------------------------------------------------------------------------------- */
static void put_log_line(struct sma_buf *text, const json_t *line)
{
    struct sma_str time = sma_json_str(line, "timestamp"), level = sma_json_str(line, "level");
    sma_buf_put_text(text, text->len > 0 ? "\n" : "");
    sma_buf_put_str(text, time);
    sma_buf_put_char(text, ' ');
    sma_buf_put_str(text, level);
    sma_buf_put_char(text, ' ');
    put_cut(text, sma_json_str(line, "message"), LOG_LINE_BYTES_MAX);
}

enum sma_err sma_store_show_logs(struct sma_store *store, const struct store_command *command)
{
    const struct sma_ingress *in = command->ingress;
    if (in->is_group ||
        sma_store_standing(store, command->chat, &in->route, false) != SMA_STANDING_OWNER)
        return put(command, SMA_NOTICE_LOGS_OWNERS);
    struct sma_buf json;
    sma_buf_init(&json, SMA_LOG_RING_BYTES + 2);
    sma_buf_put_char(&json, '[');
    sma_log_ring_format(&json, SMA_LOGS_SHOWN_COUNT_MAX);
    sma_buf_put_char(&json, ']');
    json_t *root = NULL;
    enum sma_err err = json.err == SMA_ERR_OK ? sma_json_load(sma_buf_str(&json), &root) : json.err;
    sma_buf_clear(command->text);
    for (size_t i = 0; err == SMA_ERR_OK && i < json_array_size(root); i++)
        put_log_line(command->text, json_array_get(root, i));
    json_decref(root);
    sma_buf_fini(&json);
    if (err == SMA_ERR_OK && command->text->len == 0)
        return put(command, SMA_NOTICE_LOGS_NONE);
    return err == SMA_ERR_OK ? command->text->err : err;
}
