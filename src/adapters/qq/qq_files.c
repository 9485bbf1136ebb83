/*
 * qq_files.c — PREPARE: the platform's part of sma_fetches. Attachments have a URL of their own,
 * which wants no token and dies soon; the role of a group's member comes with the event itself or
 * is not to be had.
 */
#include "qq_priv.h"

#include "runtime/json/json_read.h"

static void on_fetched(void *state, void *user, const struct sma_net_answer *answer)
{
    struct sma_fetch *fetch = user;
    (void)state;
    fetch->call = NULL;
    bool is_answered = answer->end == SMA_NET_ANSWERED;
    if (is_answered && answer->status == 200)
        sma_fetch_done(fetch);
    else if (sma_fetch_is_over(fetch, answer))
        return;
    else if (is_answered && answer->status < 500 && answer->status != 429)
        sma_fetch_fail(fetch, "the platform does not give it out any more");
    else
        sma_fetch_retry(fetch, is_answered ? "the platform failed" : answer->error,
                        answer->retry_after_ms > 0 ? (uint32_t)answer->retry_after_ms : 0);
}

static void start(void *user, struct sma_fetch *fetch, uint32_t left_ms)
{
    struct qq *qq = user;
    fetch->call = sma_call_start(
        qq->base.calls,
        &(struct sma_call_options){.method = "GET",
                                   .url = sma_json_str(fetch->item->json, "url"),
                                   .file = fetch->temp.fd,
                                   .total_ms = left_ms,
                                   .answer_bytes_max = qq->settings.attachment_bytes_max,
                                   .done = on_fetched,
                                   .user = fetch});
    if (fetch->call == NULL)
        sma_fetch_fail(fetch, "out of memory");
}

static struct sma_call *ask_role(void *user, struct sma_fetch_job *job,
                                 const struct sma_route *route, uint8_t *role)
{
    (void)user;
    (void)job;
    (void)route;
    *role = SMA_ROLE_UNKNOWN; /* the platform's member list is for few bots */
    return NULL;
}

const struct sma_fetch_ops qq_fetch_ops = {
    .shape = &qq_file_shape,
    .start = start,
    .ask_role = ask_role,
};
