/* The rules of access.h in the order in which they are asked. */
#include "runtime/access/access.h"

#include "sma/limits.h"

#include <jansson.h>
#include <stdlib.h>

#define FOLLOWUP_MS_MAX INT64_C(1000000000000)

struct sma_access_rules
{
    bool is_anyone;
    int64_t followup_ms;
    json_t *admins; /* array of strings, or NULL */
};

/* -- rules ------------------------------------------------------------------------------------------------------ */
static SMA_CHECKED enum sma_err
read_group_access(const json_t *block, struct sma_access_rules *rules, struct sma_error *error)
{
    const json_t *value = json_object_get(block, "groupAccess");
    if (value == NULL || json_is_null(value))
        return SMA_ERR_OK;
    const char *word = json_string_value(value);
    rules->is_anyone = word != NULL && strcmp(word, "anyone") == 0;
    if (rules->is_anyone || (word != NULL && strcmp(word, "initiator_or_admin") == 0))
        return SMA_ERR_OK;
    return sma_fail(error, SMA_ERR_BADINPUT,
                    "groupAccess must be \"initiator_or_admin\" or \"anyone\"");
}

static SMA_CHECKED enum sma_err read_window(const json_t *block, struct sma_access_rules *rules,
                                            struct sma_error *error)
{
    const json_t *value = json_object_get(block, "followupWindowMs");
    if (value == NULL || json_is_null(value))
        return SMA_ERR_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > FOLLOWUP_MS_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "followupWindowMs must be a whole number of milliseconds, 0 or more");
    rules->followup_ms = json_integer_value(value);
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err read_admins(const json_t *block, struct sma_access_rules *rules,
                                            struct sma_error *error)
{
    json_t *value = json_object_get(block, "adminUserIds");
    if (value == NULL || json_is_null(value))
        return SMA_ERR_OK;
    size_t i;
    const json_t *item;
    bool is_good = json_is_array(value);
    json_array_foreach(value, i, item) is_good = is_good && json_is_string(item);
    if (!is_good)
        return sma_fail(error, SMA_ERR_BADINPUT, "adminUserIds must be a list of user ids in text");
    rules->admins = json_incref(value);
    return SMA_ERR_OK;
}

enum sma_err sma_access_rules_parse(struct sma_str json, struct sma_access_rules **ret_rules,
                                    struct sma_error *error)
{
    struct sma_access_rules *rules = calloc(1, sizeof *rules);
    if (rules == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    rules->followup_ms = SMA_FOLLOWUP_WINDOW_MS;
    json_t *block = json.len == 0 ? json_object() : json_loadb(json.ptr, json.len, 0, NULL);
    enum sma_err err = SMA_ERR_OK;
    if (!json_is_object(block))
        err = sma_fail(error, SMA_ERR_BADINPUT, "the adapter's block is not a JSON object");
    if (err == SMA_ERR_OK)
        err = read_group_access(block, rules, error);
    if (err == SMA_ERR_OK)
        err = read_window(block, rules, error);
    if (err == SMA_ERR_OK)
        err = read_admins(block, rules, error);
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
    json_decref(rules->admins);
    free(rules);
}

int64_t sma_access_followup_ms(const struct sma_access_rules *rules)
{
    return rules->followup_ms;
}

static bool is_named_admin(const struct sma_access_rules *rules, struct sma_str user_id)
{
    size_t i;
    const json_t *item;
    json_array_foreach(rules->admins, i, item)
    {
        struct sma_str named = {json_string_value(item), json_string_length(item)};
        if (sma_str_is_equal(named, user_id))
            return true;
    }
    return false;
}

/* -- one event -------------------------------------------------------------------------------------------------- */
static bool is_trusted_channel(struct sma_str channel)
{
    /* Whoever reaches these has passed the token or sits at the machine. */
    return sma_str_is_equal(channel, SMA_STR("api")) || sma_str_is_equal(channel, SMA_STR("cli"));
}

static struct sma_access_outcome record(const char *reason)
{
    return (struct sma_access_outcome){.decision = SMA_ACCESS_RECORD, .reason = reason};
}

static struct sma_access_outcome run_in_group(bool becomes_initiator)
{
    return (struct sma_access_outcome){.decision = SMA_ACCESS_RUN,
                                       .reason = "",
                                       .opens_window = true,
                                       .becomes_initiator = becomes_initiator};
}

/* The message speaks to us: may this person? */
static struct sma_access_outcome decide_person(const struct sma_access_rules *rules,
                                               const struct sma_access_event *event,
                                               const struct sma_access_facts *facts)
{
    if (rules->is_anyone || event->is_help || is_named_admin(rules, event->user_id))
        return run_in_group(false);
    if (facts->initiator.len == 0)
        return run_in_group(true);
    if (sma_str_is_equal(facts->initiator, event->user_id))
        return run_in_group(false);
    if (!facts->is_role_known)
        return (struct sma_access_outcome){.decision = SMA_ACCESS_ASK_ROLE,
                                           .reason = "the person's role is asked",
                                           .opens_window = true};
    if (facts->role == SMA_ACCESS_ROLE_ADMIN)
        return run_in_group(false);
    return (struct sma_access_outcome){
        .decision = SMA_ACCESS_REFUSE,
        .reason = "neither the one who was first here nor an administrator"};
}

struct sma_access_outcome sma_access_decide(const struct sma_access_rules *rules,
                                            const struct sma_access_event *event,
                                            const struct sma_access_facts *facts)
{
    if (event->is_note)
        return record("a note is recorded only");
    if (event->is_record_only)
        return record("backlog is recorded only");
    bool is_addressed = event->is_command || event->address != SMA_ACCESS_ADDRESS_NONE;
    bool is_trusted = is_trusted_channel(event->channel);
    if (is_trusted || (!event->is_group && is_addressed))
        return (struct sma_access_outcome){.decision = SMA_ACCESS_RUN, .reason = ""};
    if (!event->is_group)
        return record("not addressed to the bot");
    /* Nobody can be told apart: only what everybody may ask for is answered. */
    if (event->user_id.len == 0)
        return event->is_help
                   ? (struct sma_access_outcome){.decision = SMA_ACCESS_RUN, .reason = ""}
                   : record("a group message without an author");
    if (!is_addressed && !facts->has_window)
        return record("not addressed to the bot");
    if (!is_addressed && !sma_access_is_meant(event->text))
        return record("inside a follow-up window, but not meant for the bot");
    return decide_person(rules, event, facts);
}
