/*
 * model_choice.c — /model: which model answers a chat.
 *
 * What was chosen is a record of state.db ("model:<chat id>": the model's label), written with the
 * command that chose it, read with each run that starts while there is more than one model. By the
 * chat's number, it goes with a chat that moves. A label that is not configured any more chooses
 * nothing (runtime/agent/run_chat.c).
 */
#include "consent.h"
#include "intake_priv.h"
#include "people.h"
#include "runs.h"
#include "runs_priv.h"
#include "store.h"

#include "runtime/chat/state_read.h"
#include "sma/chats.h"
#include "sma/text.h"

#define LABEL_BYTES_MAX 512
#define KEY_BYTES_MAX 24
#define CHOICE_COUNT_SHOWN 100
static const char prefix[] = "model:";

static struct sma_str key_of(uint32_t chat_id, char room[KEY_BYTES_MAX])
{
    snprintf(room, KEY_BYTES_MAX, "%s%u", prefix, (unsigned)chat_id);
    return sma_str(room);
}

/* -- what is kept ------------------------------------------------------------------------------ */
enum sma_err sma_store_read_choice(struct sma_store *store, const struct store_chat *chat,
                                   struct sma_buf *buf)
{
    char key[KEY_BYTES_MAX];
    if (sma_models_count(store->config) < 2)
        return SMA_ERR_OK;
    enum sma_err err = sma_state_access_get(store->state, key_of(chat->id, key), buf);
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

enum sma_err sma_store_forget_choice(struct sma_store *store, uint32_t chat_id)
{
    char key[KEY_BYTES_MAX];
    return sma_state_access_set(store->state, key_of(chat_id, key), SMA_STR(""));
}

enum sma_err sma_store_move_choice(struct sma_store *store, uint32_t chat, uint32_t other)
{
    char key[KEY_BYTES_MAX];
    struct sma_buf *label = &store->scratch.model;
    sma_buf_clear(label);
    enum sma_err err = sma_state_access_get(store->state, key_of(chat, key), label);
    if (err == SMA_ERR_NOTFOUND)
        err = sma_state_access_get(store->state, key_of(other, key), label);
    else
        return err; /* it goes with its number */
    if (err == SMA_ERR_OK)
        err = sma_state_access_set(store->state, key_of(chat, key), sma_buf_str(label));
    return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
}

static void put_choice(struct sma_store *store, const struct sma_state_record *pair,
                       struct sma_buf *json)
{
    int64_t id;
    struct sma_str digits = {pair->key.ptr + sizeof prefix - 1, pair->key.len - sizeof prefix + 1};
    if (sma_parse_i64(digits, 1, UINT32_MAX, &id) != SMA_ERR_OK)
        return;
    const struct sma_state_chat *chat = sma_state_chat_by_id(store->state, (uint32_t)id);
    if (chat == NULL)
        return;
    sma_buf_put_json_member(json, chat->key.ptr, pair->value);
}

void sma_store_put_choices(struct sma_store *store, struct sma_buf *json)
{
    SMA_AUTO(sma_state_rows_free) struct sma_state_rows rows = {0};
    struct sma_state_records pairs = {0};
    sma_buf_put_char(json, '{');
    if (sma_state_access_page(
            store->state,
            &(struct sma_state_page){.prefix = sma_str(prefix), .count_max = CHOICE_COUNT_SHOWN},
            &rows, &pairs) == SMA_ERR_OK)
        for (size_t i = 0; i < pairs.count; i++)
            put_choice(store, &pairs.items[i], json);
    sma_buf_put_char(json, '}');
}

/* -- the command ------------------------------------------------------------------------------- */
/* Texts of one answer. */
struct answer
{
    struct sma_buf label, list;
};

static struct sma_chat_rules rules_of(const struct sma_store *store, const struct store_chat *chat,
                                      const struct sma_route *route)
{
    return sma_chat_rules_find(store->config, sma_store_chat_key(chat),
                               sma_chat_type_is_group(route->chat_type));
}

bool sma_store_choice_is_free(const struct sma_store *store, const struct store_chat *chat,
                              const struct sma_route *route)
{
    struct sma_chat_rules rules = rules_of(store, chat, route);
    return rules.choice != NULL && rules.choice->is_choice_free;
}

static bool may_choose(struct sma_store *store, const struct store_command *command)
{
    const struct sma_ingress *in = command->ingress;
    bool is_admin =
        in->is_group && in->role == SMA_ROLE_ADMIN && sma_store_is_let_in(store, &in->route);
    return is_admin || sma_store_choice_is_free(store, command->chat, &in->route) ||
           sma_store_standing(store, command->chat, &in->route, in->is_group) >= SMA_STANDING_ADMIN;
}

/* Without /model. */
static const struct sma_config_llm *configured(const struct sma_store *store,
                                               const struct store_command *command)
{
    struct sma_chat_rules rules = rules_of(store, command->chat, &command->ingress->route);
    return rules.model != NULL ? rules.model->model : sma_models_get(store->config, 0);
}

static const char *label_of(struct answer *answer, const struct sma_config_llm *llm)
{
    sma_buf_clear(&answer->label);
    sma_model_put_label(&answer->label, llm);
    sma_buf_put_char(&answer->label, '\0');
    return answer->label.err == SMA_ERR_OK ? answer->label.ptr : "";
}

static enum sma_err list_models(struct sma_store *store, const struct store_command *command,
                                struct answer *answer)
{
    const struct sma_config *config = store->config;
    size_t count = sma_models_count(config);
    SMA_TRY(sma_store_read_choice(store, command->chat, &answer->label));
    size_t current =
        answer->label.len == 0 ? count : sma_models_find(config, sma_buf_str(&answer->label));
    const struct sma_config_llm *used =
        current < count ? sma_models_get(config, current) : configured(store, command);
    for (size_t i = 0; i < count; i++) {
        const struct sma_config_llm *llm = sma_models_get(config, i);
        sma_buf_printf(&answer->list, "\n%zu. %s", i + 1, label_of(answer, llm));
        if (llm == used)
            sma_notice_format(&answer->list, command->language, SMA_NOTICE_MODEL_IN_USE);
    }
    sma_buf_put_char(&answer->list, '\0');
    if (answer->list.err != SMA_ERR_OK)
        return answer->list.err;
    sma_notice_format(command->text, command->language, SMA_NOTICE_MODEL_LIST, answer->list.ptr);
    return command->text->err;
}

static void audit_choice(struct sma_store *store, const struct store_command *command,
                         const char *label)
{
    struct sma_buf *json = &store->scratch.facts;
    sma_buf_clear(json);
    sma_buf_put_char(json, '{');
    sma_buf_put_json_member(json, "chat", sma_store_chat_key(command->chat));
    sma_buf_put_json_member(json, "model", sma_str(label));
    sma_buf_put_json_member(json, "by", command->ingress->route.user_id);
    sma_buf_put_char(json, '}');
    if (json->err == SMA_ERR_OK)
        sma_store_audit(store, "model: chosen for a chat", sma_buf_str(json));
}

/* By number or name; count = there is none. */
static size_t find_wanted(const struct sma_store *store, struct sma_str wanted)
{
    int64_t number, count = (int64_t)sma_models_count(store->config);
    if (sma_parse_i64(wanted, 1, count, &number) == SMA_ERR_OK)
        return (size_t)number - 1;
    return sma_models_find(store->config, wanted);
}

static enum sma_err say_unknown(struct sma_store *store, const struct store_command *command,
                                struct answer *answer)
{
    size_t nearest = sma_models_nearest(store->config, command->argument);
    struct sma_str wanted = command->argument;
    wanted.len = sma_utf8_cut(wanted, 100);
    sma_buf_put_str(&answer->list, wanted);
    sma_buf_put_char(&answer->list, '\0');
    if (answer->list.err != SMA_ERR_OK)
        return answer->list.err;
    if (nearest == sma_models_count(store->config))
        sma_notice_format(command->text, command->language, SMA_NOTICE_MODEL_UNKNOWN,
                          answer->list.ptr);
    else
        sma_notice_format(command->text, command->language, SMA_NOTICE_MODEL_NEAREST,
                          answer->list.ptr,
                          label_of(answer, sma_models_get(store->config, nearest)));
    return command->text->err;
}

static bool is_default(struct sma_str word)
{
    return sma_str_is_equal_nocase(word, SMA_STR("default")) ||
           sma_str_is_equal(word, SMA_STR("默认"));
}

static enum sma_err choose(struct sma_store *store, const struct store_command *command,
                           struct answer *answer)
{
    char key[KEY_BYTES_MAX];
    size_t index = find_wanted(store, command->argument);
    bool is_back = index == sma_models_count(store->config) && is_default(command->argument);
    if (index == sma_models_count(store->config) && !is_back)
        return say_unknown(store, command, answer);
    const char *label = label_of(answer, is_back ? configured(store, command)
                                                 : sma_models_get(store->config, index));
    SMA_TRY(sma_state_access_set(store->state, key_of(command->chat->id, key),
                                 sma_str(is_back ? "" : label)));
    audit_choice(store, command, is_back ? "" : label);
    sma_notice_format(command->text, command->language,
                      is_back ? SMA_NOTICE_MODEL_DEFAULT : SMA_NOTICE_MODEL_CHOSEN, label);
    return command->text->err;
}

enum sma_err sma_store_choose_model(struct sma_store *store, const struct store_command *command)
{
    struct answer answer;
    if (command->argument.len > 0 && !may_choose(store, command)) {
        sma_notice_format(command->text, command->language, SMA_NOTICE_MODEL_NOT_YOURS);
        return command->text->err;
    }
    sma_buf_init(&answer.label, LABEL_BYTES_MAX);
    sma_buf_init(&answer.list, 64 * 1024);
    enum sma_err err = command->argument.len == 0 ? list_models(store, command, &answer)
                                                  : choose(store, command, &answer);
    sma_buf_fini(&answer.label);
    sma_buf_fini(&answer.list);
    return err;
}
