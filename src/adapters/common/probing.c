/*
 * probing.c — a probe under way: its requests, and the lines it says. See sma/probe.h.
 *
 * Each probe has HTTP out of its own (sma_net), because proxies and authorities are a probe's. What
 * an answer that never came means is said here, for all of them.
 */
#include "sma/probe.h"

#include "sma/proxy.h"
#include "sma/text.h"

#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ANSWER_BYTES_DEFAULT (1024u * 1024)

struct question
{
    struct sma_probing *probing;
    sma_probe_fn *done;
    void *user;
    struct sma_buf url, body;
};
struct sma_probing
{
    struct sma_probing_options options;
    struct sma_ctx *ctx;
    struct sma_net *net;
    uint64_t begin_ns;
    size_t open_count;
    bool is_beginning, is_over;
    void *kept;
    size_t kept_bytes;
};

/* -- lines ------------------------------------------------------------------------------------- */
/* On one line, whatever a server has sent, and cut between characters. */
static void keep_text(char *room, size_t size, const char *text)
{
    struct sma_str whole = sma_str(text);
    size_t len = sma_utf8_cut(whole, size - 1);
    for (size_t i = 0; i < len; i++)
        room[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? ' ' : text[i];
    room[len] = '\0';
}

void sma_probing_say(struct sma_probing *probing, enum sma_probe_state state, const char *name,
                     const char *remedy, const char *seen, ...)
{
    struct sma_probe_result *result = probing->options.result;
    char text[2 * SMA_PROBE_TEXT_BYTES_MAX];
    va_list arguments;
    if (state > result->state)
        result->state = state;
    if (result->line_count == SMA_PROBE_LINE_COUNT_MAX)
        return;
    va_start(arguments, seen);
    (void)vsnprintf(text, sizeof text, seen, arguments);
    va_end(arguments);
    struct sma_probe_line *line = &result->lines[result->line_count++];
    line->state = state;
    (void)snprintf(line->name, sizeof line->name, "%s%s%s", probing->options.name,
                   name[0] == '\0' ? "" : " ", name);
    keep_text(line->seen, sizeof line->seen, text);
    keep_text(line->remedy, sizeof line->remedy, remedy);
}

void sma_probing_is(struct sma_probing *probing, const char *who)
{
    keep_text(probing->options.result->who, sizeof probing->options.result->who, who);
}

void *sma_probing_keep(struct sma_probing *probing, size_t bytes)
{
    SMA_ASSERT(probing->kept == NULL);
    probing->kept = calloc(1, bytes);
    probing->kept_bytes = bytes;
    if (probing->kept == NULL)
        sma_probing_say(probing, SMA_PROBE_ERROR, "", "", "out of memory");
    return probing->kept;
}

void *sma_probing_kept(const struct sma_probing *probing)
{
    return probing->kept;
}

uint64_t sma_probing_ms(const struct sma_probing *probing)
{
    return (sma_ctx_now(probing->ctx) - probing->begin_ns) / SMA_NS_PER_MS;
}

/* -- answers that never came ------------------------------------------------------------------- */
static const char *certificate_remedy(const char *error)
{
    if (strstr(error, "expired") != NULL || strstr(error, "not yet valid") != NULL)
        return "look at the clock of this machine first (`date`); if it is right, the server's "
               "certificate is out of date";
    if (strstr(error, "subject name") != NULL || strstr(error, "subjectAltName") != NULL)
        return "the certificate is another server's: check the address, and that no proxy or "
               "captive portal stands between";
    return "install the package ca-certificates; if a proxy of your organisation inspects TLS, "
           "name its authority (a PEM file) in the variable SSL_CERT_FILE, or in caFile of the "
           "adapter";
}

static const char *remedy_for(const struct sma_net_answer *answer)
{
    switch (answer->cause) {
    case SMA_NET_CAUSE_NAME:
        return "check the address in ship.json, and name resolution on this machine "
               "(/etc/resolv.conf, `getent hosts NAME`)";
    case SMA_NET_CAUSE_PROXY:
        return "check `proxy` in ship.json (or the proxy of this platform or model): its address, "
               "its user and password, and whether it runs";
    case SMA_NET_CAUSE_CONNECT:
        return "check the address and the port, and whether a firewall or a missing route stands "
               "between; where the network needs a proxy, set `proxy` in ship.json";
    case SMA_NET_CAUSE_CERTIFICATE:
        return certificate_remedy(answer->error);
    case SMA_NET_CAUSE_TLS:
        return "check that the address begins with the right one of http:// and https://, and "
               "that SSL_CERT_FILE or caFile names a PEM file that can be read";
    case SMA_NET_CAUSE_TIME:
        return "the server or the way to it hangs: try again, look for a firewall that drops "
               "packets, or set `proxy` in ship.json";
    default:
        return "try again; check the address and the network";
    }
}

static const char *what_failed(enum sma_net_cause cause)
{
    static const char *const words[] = {
        [SMA_NET_CAUSE_NAME] = "no address is known for the name (DNS)",
        [SMA_NET_CAUSE_PROXY] = "the proxy does not let us through",
        [SMA_NET_CAUSE_CONNECT] = "no connection",
        [SMA_NET_CAUSE_CERTIFICATE] = "the certificate is not accepted (TLS)",
        [SMA_NET_CAUSE_TLS] = "no secure connection (TLS)",
        [SMA_NET_CAUSE_TIME] = "no answer in time",
    };
    return (size_t)cause < SMA_COUNT_OF(words) && words[cause] != NULL ? words[cause] : "no answer";
}

bool sma_probing_is_lost(struct sma_probing *probing, const struct sma_net_answer *answer,
                         const char *name)
{
    if (answer->end == SMA_NET_ANSWERED)
        return false;
    probing->options.result->is_lost = true;
    sma_probing_say(probing, SMA_PROBE_ERROR, name, remedy_for(answer), "%s: %s",
                    what_failed(answer->cause), answer->error);
    return true;
}

/* -- requests ---------------------------------------------------------------------------------- */
static void note_clock(struct sma_probing *probing, const struct sma_net_answer *answer)
{
    struct sma_probe_result *result = probing->options.result;
    time_t date = answer->date.len == 0 ? -1 : curl_getdate(answer->date.ptr, NULL);
    if (date <= 0 || result->has_clock)
        return;
    result->has_clock = true;
    result->clock_ahead_s = (int64_t)date - sma_ctx_wall(probing->ctx) / 1000;
}

static void end_if_idle(struct sma_probing *probing)
{
    if (probing->open_count > 0 || probing->is_beginning || probing->is_over)
        return;
    probing->is_over = true;
    probing->options.over(probing->options.over_user);
}

static void free_question(struct question *question)
{
    if (question->url.ptr != NULL) /* both may hold a key */
        explicit_bzero(question->url.ptr, question->url.len);
    if (question->body.ptr != NULL)
        explicit_bzero(question->body.ptr, question->body.len);
    sma_buf_fini(&question->url);
    sma_buf_fini(&question->body);
    free(question);
}

static void on_done(void *user, const struct sma_net_answer *answer)
{
    struct question *question = user;
    struct sma_probing *probing = question->probing;
    note_clock(probing, answer);
    question->done(question->user, probing, answer);
    free_question(question);
    probing->open_count--;
    end_if_idle(probing);
}

static uint32_t time_left_ms(const struct sma_probing *probing)
{
    uint64_t spent_ms = sma_probing_ms(probing);
    return spent_ms + 1 >= SMA_PROBE_MS ? 1 : SMA_PROBE_MS - (uint32_t)spent_ms;
}

static struct question *make_question(struct sma_probing *probing, struct sma_probe_ask *ask)
{
    struct question *question = calloc(1, sizeof *question);
    if (question == NULL) {
        sma_buf_fini(ask->url);
        if (ask->body != NULL)
            sma_buf_fini(ask->body);
        return NULL;
    }
    question->probing = probing;
    question->done = ask->done;
    question->user = ask->user;
    question->url = *ask->url;
    sma_buf_init(ask->url, 0);
    if (ask->body != NULL) {
        question->body = *ask->body;
        sma_buf_init(ask->body, 0);
    }
    return question;
}

static SMA_CHECKED enum sma_err start(struct question *question, const struct sma_probe_ask *ask)
{
    struct sma_probing *probing = question->probing;
    uint32_t left_ms = time_left_ms(probing);
    if (question->url.err != SMA_ERR_OK || question->body.err != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    return sma_net_ask(probing->net,
                       &(struct sma_net_ask){
                           .method = ask->method,
                           .url = question->url.ptr == NULL ? "" : question->url.ptr,
                           .headers = ask->headers,
                           .header_count = ask->header_count,
                           .body = sma_buf_str(&question->body),
                           .connect_ms = left_ms,
                           .total_ms = left_ms,
                           .answer_bytes_max = ask->answer_bytes_max == 0 ? ANSWER_BYTES_DEFAULT
                                                                          : ask->answer_bytes_max,
                           .done = on_done,
                           .user = question},
                       NULL);
}

void sma_probing_ask(struct sma_probing *probing, struct sma_probe_ask *ask)
{
    struct question *question = make_question(probing, ask);
    enum sma_err err = question == NULL ? SMA_ERR_NOMEM : start(question, ask);
    if (err == SMA_ERR_OK) {
        probing->open_count++;
        return;
    }
    if (question != NULL)
        free_question(question);
    if (err == SMA_ERR_BADINPUT)
        sma_probing_say(
            probing, SMA_PROBE_ERROR, "address", "check the address in ship.json",
            "the address is not an http:// or https:// URL, or a header cannot be sent");
    else
        sma_probing_say(probing, SMA_PROBE_ERROR, "", "", "out of memory");
}

/* -- life -------------------------------------------------------------------------------------- */
void sma_probing_use(struct sma_probing *probing, const struct sma_proxy *proxy,
                     const char *ca_file)
{
    if (proxy != NULL)
        sma_net_use_proxy(probing->net, proxy);
    if (ca_file != NULL && ca_file[0] != '\0' && sma_net_trust(probing->net, ca_file) != SMA_ERR_OK)
        sma_probing_say(probing, SMA_PROBE_ERROR, "", "", "out of memory");
}

struct sma_probing *sma_probing_begin(struct sma_ctx *ctx,
                                      const struct sma_probing_options *options)
{
    struct sma_error error = {0};
    struct sma_probing *probing = calloc(1, sizeof *probing);
    *options->result = (struct sma_probe_result){0};
    if (probing == NULL)
        return NULL;
    probing->options = *options;
    probing->ctx = ctx;
    probing->begin_ns = sma_ctx_now(ctx);
    if (sma_net_open(ctx, &probing->net, &error) != SMA_ERR_OK) {
        free(probing);
        return NULL;
    }
    probing->is_beginning = true;
    options->begin(options->user, probing);
    probing->is_beginning = false;
    end_if_idle(probing);
    return probing;
}

void sma_probing_end(struct sma_probing *probing)
{
    if (probing == NULL)
        return;
    sma_net_close(probing->net);
    if (probing->kept != NULL)
        explicit_bzero(probing->kept, probing->kept_bytes);
    free(probing->kept);
    free(probing);
}
