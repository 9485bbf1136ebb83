/* The rules of access.h in the order in which they are asked. */
#include "runtime/access/access.h"

#include "sma/bot.h"
#include "sma/limits.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

struct sma_access_rules
{
    bool is_anyone, backlog_is_recorded, is_unwelcoming;
    int64_t followup_ms, backlog_max_s, backlog_late_s;
    json_t *admins, *groups; /* arrays of strings and integers, or NULL */
    enum sma_access_opening opening;
    json_t *listed; /* likewise */
};

/* -- rules ------------------------------------------------------------------------------------- */
#define AT(member) SMA_PARAM_AT(struct sma_access_rules, member), .traits = SMA_PARAM_LIVE
static const struct sma_param ROWS[] = {
    {"access", .type = SMA_PARAM_TYPE_ACCESS, .traits = SMA_PARAM_LIVE,
     .text = "the top-level `access`",
     .doc = "how private messages of unknown people are handled: `paired` shows a code that "
            "somebody on the owner's side confirms"},
    {"groups", .type = SMA_PARAM_TYPE_IDS, AT(groups),
     .doc = "groups that are let in by the configuration"},
    {"groupAccess", SMA_PARAM_WORD("initiator_or_admin,anyone", 0), AT(is_anyone),
     .doc = "who is answered in groups that are let in"},
    {"groupGreeting", SMA_PARAM_WORD("on,off", 0), AT(is_unwelcoming),
     .doc = "what the bot does when it is taken into a group: `on`, it says who it is and how it "
            "is talked to"},
    {"followupWindowMs", SMA_PARAM_INTEGER(0, 1e12, SMA_FOLLOWUP_WINDOW_MS), AT(followup_ms),
     .doc = "ms in which a person who was answered in a group may go on without a mention; 0 = "
            "never"},
    {"backlog", SMA_PARAM_WORD("answer,record", 0), AT(backlog_is_recorded),
     .doc = "what came while the service was down: `record` notes it without an answer"},
    {"backlogMaxS", SMA_PARAM_INTEGER(60, 2592000, SMA_BACKLOG_MAX_S), AT(backlog_max_s),
     .doc = "seconds; what is older is noted, and its author told, not answered"},
    {"backlogLateS", SMA_PARAM_INTEGER(60, 2592000, SMA_BACKLOG_LATE_S), AT(backlog_late_s),
     .doc = "seconds; so is what is older than this, when a newer message of the chat has its "
            "answer"},
    {"adminUserIds", .type = SMA_PARAM_TYPE_IDS, AT(admins),
     .doc = "administrators of every group of this platform, by user id"},
};
#undef AT
const struct sma_params sma_access_params = {"", ROWS, SMA_COUNT_OF(ROWS), &sma_block_params};

/* The value is good: its row has checked it. */
static void read_opening(json_t *value, struct sma_access_rules *rules)
{
    const char *word = json_string_value(value);
    if (word != NULL && strcmp(word, "anyone") == 0)
        rules->opening = SMA_ACCESS_OPEN_ANYONE;
    if (!json_is_array(value))
        return;
    rules->opening = SMA_ACCESS_OPEN_LIST;
    rules->listed = json_incref(value);
}

enum sma_err sma_access_rules_parse(struct sma_str json, struct sma_access_rules **ret_rules,
                                    struct sma_error *error)
{
    struct sma_access_rules *rules = calloc(1, sizeof *rules);
    if (rules == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    json_t *block = json.len == 0 ? json_object() : json_loadb(json.ptr, json.len, 0, NULL);
    struct sma_param_source source = {
        .root = block, .file = "ship.json", .place = "", .error = error};
    enum sma_err err = SMA_ERR_OK;
    if (!json_is_object(block))
        err = sma_fail(error, SMA_ERR_BADINPUT, "the adapter's block is not a JSON object");
    if (err == SMA_ERR_OK)
        err = sma_params_set_defaults(&sma_access_params, &source, rules);
    if (err == SMA_ERR_OK)
        err = sma_params_read(&sma_access_params, &source, rules);
    if (err == SMA_ERR_OK)
        read_opening(json_object_get(block, "access"), rules);
    json_decref(block);
    if (err != SMA_ERR_OK) {
        sma_access_rules_destroy(rules);
        return err;
    }
    *ret_rules = rules;
    return SMA_ERR_OK;
}

void sma_access_rules_destroy(struct sma_access_rules *rules)
{
    if (rules == NULL)
        return;
    sma_params_free(&sma_access_params, rules);
    json_decref(rules->listed);
    free(rules);
}

int64_t sma_access_followup_ms(const struct sma_access_rules *rules)
{
    return rules->followup_ms;
}

struct sma_access_backlog sma_access_backlog(const struct sma_access_rules *rules)
{
    return (struct sma_access_backlog){.is_recorded = rules->backlog_is_recorded,
                                       .max_ms = rules->backlog_max_s * 1000,
                                       .late_ms = rules->backlog_late_s * 1000};
}

enum sma_access_welcome sma_access_welcome(const struct sma_access_rules *rules, bool is_let_in)
{
    if (rules->is_unwelcoming)
        return SMA_ACCESS_WELCOME_NONE;
    if (!is_let_in && rules->opening != SMA_ACCESS_OPEN_ANYONE)
        return SMA_ACCESS_WELCOME_CLOSED;
    return rules->is_anyone ? SMA_ACCESS_WELCOME_ANYONE : SMA_ACCESS_WELCOME_FIRST;
}

enum sma_access_opening sma_access_opening(const struct sma_access_rules *rules)
{
    return rules->opening;
}

#define DIGITS_BYTES_MAX 24

/* digits: of DIGITS_BYTES_MAX bytes, for one that is written as a number. */
static struct sma_str id_of(const json_t *item, char *digits)
{
    if (!json_is_integer(item))
        return (struct sma_str){json_string_value(item), json_string_length(item)};
    (void)snprintf(digits, DIGITS_BYTES_MAX, "%" JSON_INTEGER_FORMAT, json_integer_value(item));
    return sma_str(digits);
}

static bool is_same_person(const json_t *item, struct sma_str channel, struct sma_str user_id)
{
    char digits[DIGITS_BYTES_MAX];
    struct sma_str named = id_of(item, digits);
    if (sma_str_is_equal(named, user_id))
        return true;
    if (named.len <= user_id.len)
        return false;
    size_t head = named.len - user_id.len - 1;
    return named.ptr[head] == ':' && memcmp(named.ptr + head + 1, user_id.ptr, user_id.len) == 0 &&
           sma_bot_is_meant((struct sma_str){named.ptr, head}, channel);
}

bool sma_access_is_listed(const struct sma_access_rules *rules, struct sma_str channel,
                          struct sma_str user_id)
{
    size_t i;
    const json_t *item;
    if (user_id.len == 0 || channel.len == 0)
        return false;
    json_array_foreach(rules->listed, i,
                       item) if (is_same_person(item, channel, user_id)) return true;
    return false;
}

bool sma_access_is_group_admin(const struct sma_access_rules *rules, struct sma_str user_id)
{
    size_t i;
    const json_t *item;
    json_array_foreach(rules->admins, i, item)
    {
        char digits[DIGITS_BYTES_MAX];
        if (sma_str_is_equal(id_of(item, digits), user_id))
            return true;
    }
    return false;
}

bool sma_access_is_listed_group(const struct sma_access_rules *rules, struct sma_str chat_id)
{
    char digits[DIGITS_BYTES_MAX];
    size_t i;
    const json_t *item;
    if (chat_id.len == 0)
        return false;
    json_array_foreach(rules->groups, i,
                       item) if (sma_str_is_equal(id_of(item, digits), chat_id)) return true;
    return false;
}

/* -- one event --------------------------------------------------------------------------------- */
static struct sma_access_outcome run(void)
{
    return (struct sma_access_outcome){.decision = SMA_ACCESS_RUN};
}

static struct sma_access_outcome record(enum sma_reason reason)
{
    return (struct sma_access_outcome){.decision = SMA_ACCESS_RECORD, .reason = reason};
}

static struct sma_access_outcome refuse(enum sma_reason reason)
{
    return (struct sma_access_outcome){.decision = SMA_ACCESS_REFUSE, .reason = reason};
}

static struct sma_access_outcome run_in_group(bool becomes_initiator)
{
    return (struct sma_access_outcome){
        .decision = SMA_ACCESS_RUN, .opens_window = true, .becomes_initiator = becomes_initiator};
}

static struct sma_access_outcome decide_private(const struct sma_access_rules *rules,
                                                const struct sma_access_facts *facts)
{
    if (facts->standing != SMA_ACCESS_STRANGER || rules->opening == SMA_ACCESS_OPEN_ANYONE)
        return run();
    if (facts->is_rejected)
        return refuse(SMA_REASON_PERSON_REFUSED);
    if (rules->opening == SMA_ACCESS_OPEN_LIST)
        return refuse(SMA_REASON_NOT_LISTED);
    return (struct sma_access_outcome){.decision = SMA_ACCESS_PAIR,
                                       .reason = SMA_REASON_NOT_PAIRED};
}

static bool may_talk_in_group(const struct sma_access_rules *rules,
                              const struct sma_access_event *event,
                              const struct sma_access_facts *facts)
{
    return rules->is_anyone ||
           (facts->initiator.len > 0 && sma_str_is_equal(facts->initiator, event->user_id)) ||
           (facts->is_let_in && facts->is_role_known && facts->role == SMA_ACCESS_ROLE_ADMIN);
}

/* The group is nobody's of the owner's side: a stranger may have made it, and there he is what he
 * is in private. Where everybody may talk, the first who addresses the bot may here, too. */
static struct sma_access_outcome decide_outside(const struct sma_access_rules *rules,
                                                const struct sma_access_event *event,
                                                const struct sma_access_facts *facts)
{
    bool is_open = rules->opening == SMA_ACCESS_OPEN_ANYONE && !facts->is_group_rejected;
    bool is_first = facts->initiator.len == 0;
    struct sma_access_outcome outcome = refuse(SMA_REASON_GROUP_REFUSED);
    if (facts->standing == SMA_ACCESS_MEMBER)
        outcome = run(); /* without a window: each answer is asked for by himself */
    else if (is_open && may_talk_in_group(rules, event, facts))
        outcome = run_in_group(false);
    else if (is_open && is_first && !event->is_command)
        outcome = run_in_group(true);
    else if (is_open && (event->is_help || (is_first && event->is_status)))
        outcome = run();
    else if (is_open)
        outcome = refuse(SMA_REASON_NOT_FIRST);
    else if (!facts->is_group_rejected)
        outcome = decide_private(rules, facts);
    outcome.is_outside = !is_open;
    return outcome;
}

/* The message speaks to us in a group: may this person? */
static struct sma_access_outcome decide_person(const struct sma_access_rules *rules,
                                               const struct sma_access_event *event,
                                               const struct sma_access_facts *facts)
{
    if (facts->standing >= SMA_ACCESS_ADMIN || facts->alias_is_admin ||
        sma_access_is_group_admin(rules, event->user_id)) {
        struct sma_access_outcome outcome = run_in_group(false);
        /* Only what he wrote to us himself. Help and commands that we do not know may be meant for
         * another bot. */
        bool is_for_us =
            event->is_command ? !event->is_help : event->address != SMA_ACCESS_ADDRESS_NONE;
        outcome.lets_in =
            !facts->is_let_in && !facts->is_group_rejected && is_for_us && !event->is_not_own;
        return outcome;
    }
    if (!facts->is_let_in)
        return decide_outside(rules, event, facts);
    if (may_talk_in_group(rules, event, facts))
        return run_in_group(false);
    if (event->is_help)
        return run(); /* without a window: whoever asks for help has not been let in by it */
    bool is_first = facts->initiator.len == 0;
    if (is_first && !event->is_command)
        return run_in_group(true);
    if (is_first && (event->is_status || facts->standing == SMA_ACCESS_MEMBER))
        return run();
    if (!facts->is_role_known)
        return (struct sma_access_outcome){.decision = SMA_ACCESS_ASK_ROLE, .opens_window = true};
    return refuse(SMA_REASON_NOT_ADMIN);
}

struct sma_access_outcome sma_access_decide(const struct sma_access_rules *rules,
                                            const struct sma_access_event *event,
                                            const struct sma_access_facts *facts)
{
    if (event->is_note)
        return record(SMA_REASON_NOTE);
    if (event->is_record_only)
        return record(SMA_REASON_RECORD_ONLY);
    bool is_addressed = event->is_command || event->address != SMA_ACCESS_ADDRESS_NONE;
    if (sma_access_is_trusted_channel(event->channel))
        return run();
    if (!event->is_group)
        return is_addressed ? decide_private(rules, facts) : record(SMA_REASON_NOT_ADDRESSED);
    /* Nobody can be told apart: only what everybody may ask for is answered. */
    if (event->user_id.len == 0)
        return event->is_help ? run() : record(SMA_REASON_NO_AUTHOR);
    if (!is_addressed && !facts->has_window)
        return record(SMA_REASON_NOT_ADDRESSED);
    if (!is_addressed && !sma_access_is_meant(event->text))
        return record(SMA_REASON_NOT_MEANT);
    struct sma_access_outcome outcome = decide_person(rules, event, facts);
    /* Two questions: may he talk, and what may he have done? Only where the platform's word
     * counts. */
    outcome.learns_role = outcome.decision == SMA_ACCESS_RUN && facts->is_let_in &&
                          !facts->is_role_known && !event->is_command &&
                          facts->standing < SMA_ACCESS_ADMIN && !facts->alias_is_admin &&
                          !sma_access_is_group_admin(rules, event->user_id);
    return outcome;
}
