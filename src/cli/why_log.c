/*
 * why_log.c — what the log files tell of a message or a chat: all that is known while no service
 * runs, and of what has no row.
 */
#include "why.h"

#include "api.h"
#include "log_read.h"
#include "sma/reasons.h"

#include <stdio.h>
#include <stdlib.h>

#define RUN_BYTES 24

struct telling
{
    const struct sma_cli_why_log *asked;
    size_t count;
    char run[RUN_BYTES]; /* of the message, when it has one */
    bool is_explained[SMA_REASON_COUNT];
};

static bool is_event(const json_t *details, const char *event)
{
    return strcmp(sma_cli_log_text(details, "event"), event) == 0;
}

static bool is_unanswered(const json_t *details)
{
    return is_event(details, "message_ignored") || is_event(details, "message_refused");
}

/* Each reason once. */
static void explain(struct telling *telling, const char *word)
{
    enum sma_reason reason = sma_reason_of_word(sma_str(word));
    if (reason == SMA_REASON_NONE || telling->is_explained[reason])
        return;
    telling->is_explained[reason] = true;
    sma_cli_why_explain(word);
}

static bool tell(void *user, json_t *root)
{
    struct telling *telling = user;
    const json_t *details = json_object_get(root, "details");
    if (telling->asked->has_rows && sma_cli_log_text(details, "runId")[0] != '\0')
        return true; /* the service has told it */
    if (sma_cli_log_text(details, "event")[0] == '\0')
        return true;
    telling->count++;
    sma_cli_why_print_time(sma_cli_log_text(root, "timestamp"));
    sma_cli_print_clean(sma_str(sma_cli_log_text(root, "message")));
    putchar('\n');
    if (is_unanswered(details))
        explain(telling, sma_cli_log_text(details, "reason"));
    else if (is_event(details, "message_accepted"))
        snprintf(telling->run, sizeof telling->run, "%s", sma_cli_log_text(details, "runId"));
    return true;
}

/* What comes of it after its acceptance. */
static bool tell_rest(void *user, json_t *root)
{
    const json_t *details = json_object_get(root, "details");
    return is_event(details, "message_accepted") || tell(user, root);
}

int sma_cli_why_log(const char *state_dir, const struct sma_cli_why_log *asked, size_t *ret_count)
{
    struct telling telling = {.asked = asked};
    const struct sma_cli_log_wanted wanted = {.message = asked->message, .chat = asked->chat};
    int status = sma_cli_log_each(state_dir, &wanted, asked->count, tell, &telling);
    const struct sma_cli_log_wanted rest = {.run = telling.run};
    if (status == 0 && asked->message != NULL && telling.run[0] != '\0')
        status = sma_cli_log_each(state_dir, &rest, SIZE_MAX, tell_rest, &telling);
    *ret_count = telling.count;
    return status;
}
