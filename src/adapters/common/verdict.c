/* verdict.c — see verdict.h. */
#include "verdict.h"

#include "answers.h"
#include "runtime/json/json_read.h"
#include "sma/buf.h"
#include "sma/text.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#define SAID_BYTES_MAX 96
#define TRACE_BYTES_MAX 48
#define WAIT_MS_MIN 1000
#define OWNER_WAIT_MS 30000 /* until somebody may have mended it */

static bool says(struct sma_str text, const char *words)
{
    char word[96];
    for (const char *at = words; at != NULL && *at != '\0'; at += *at == '|') {
        size_t len = strcspn(at, "|");
        snprintf(word, sizeof word, "%.*s", (int)len, at);
        if (text.len > 0 && strcasestr(text.ptr, word) != NULL)
            return true;
        at += len;
    }
    return words == NULL;
}

static const struct sma_verdict_row *find(const struct sma_verdicts *verdicts, int64_t code,
                                          struct sma_str said, uint8_t when)
{
    for (size_t i = 0; i < verdicts->count; i++) {
        const struct sma_verdict_row *row = &verdicts->rows[i];
        if (code >= row->low && code <= row->high && (row->when == 0 || (row->when & when) != 0) &&
            says(said, row->says))
            return row;
    }
    return NULL;
}

const char *sma_verdict_words(const struct sma_verdicts *verdicts, int64_t code)
{
    const struct sma_verdict_row *row = find(verdicts, code, SMA_STR(""), 0);
    return row == NULL || row->words == NULL ? "" : row->words;
}

void sma_verdict_copy(char *to, size_t size, struct sma_str from)
{
    bool is_good = from.len > 0 && from.len < size && memchr(from.ptr, '\0', from.len) == NULL;
    snprintf(to, size, "%.*s", is_good ? (int)from.len : 0, is_good ? from.ptr : "");
}

/* No row: the status alone. */
static uint8_t act_of_status(int64_t code)
{
    return code == 429                  ? SMA_ACT_WAIT
           : code == 408 || code == 425 ? SMA_ACT_RETRY
           : code == 503                ? SMA_ACT_BUSY
           : code >= 400 && code < 500  ? SMA_ACT_REFUSED
           : code < 100 || code > 599   ? SMA_ACT_REFUSED /* of the platform, not known */
                                        : SMA_ACT_UNKNOWN;
}

/* Where no row knows the refusal its words may still say where to begin. It is a guess and costs
 * nothing: the rest of the ladder follows. Source: refusals of all three platforms. */
static uint32_t guess(struct sma_str said)
{
    static const struct
    {
        const char *says;
        uint32_t mend;
    } hints[] = {
        {"too long|too_long|too large|too big|length|exceed|超长|过长|太长|长度", SMA_MEND_CUT},
        {"button|keyboard|按钮", SMA_MEND_BUTTONS},
        {"parse|entit|markdown|markup|format|card", SMA_MEND_MARKS},
        {"reply|replied|回复", SMA_MEND_REPLY},
        {"url|link|domain|链接|域名", SMA_MEND_LINKS},
    };
    uint32_t mend = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(hints); i++)
        mend |= says(said, hints[i].says) ? hints[i].mend : 0;
    return mend;
}

static void wait_for(struct sma_answered *answered, int64_t said_ms, uint32_t otherwise_ms,
                     bool is_limit)
{
    uint32_t ms = sma_adapter_wait_ms(said_ms, otherwise_ms, is_limit);
    answered->attempt_class = SMA_ATTEMPT_RETRY_AFTER;
    answered->retry_after_ms = ms < WAIT_MS_MIN ? WAIT_MS_MIN : ms;
}

static void act_on(const struct sma_verdicts *verdicts, const struct sma_verdict_row *row,
                   const struct sma_said *said, const struct sma_net_answer *answer,
                   struct sma_answered *answered)
{
    uint32_t usual_ms = row != NULL && row->wait_s > 0 ? row->wait_s * 1000u : WAIT_MS_MIN;
    int64_t wait_ms = said->retry_ms >= 0 ? said->retry_ms : answer->retry_after_ms;
    answered->attempt_class = SMA_ATTEMPT_GIVE_UP;
    switch ((enum sma_act)answered->act) {
    case SMA_ACT_FINAL:
        break;
    case SMA_ACT_REFUSED:
    case SMA_ACT_WORDS:
        answered->is_content_refused = true;
        break;
    case SMA_ACT_SENT:
        answered->attempt_class = SMA_ATTEMPT_SENT;
        break;
    case SMA_ACT_RETRY:
        answered->attempt_class = SMA_ATTEMPT_RETRY;
        break;
    case SMA_ACT_WAIT:
    case SMA_ACT_WAIT_CHAT:
    case SMA_ACT_WAIT_ALL:
        wait_for(answered, wait_ms, usual_ms, answered->act != SMA_ACT_WAIT_ALL);
        answered->is_chat_only = answered->act == SMA_ACT_WAIT_CHAT;
        answered->is_adapter_wide = answered->act == SMA_ACT_WAIT_ALL;
        break;
    case SMA_ACT_BUSY:
        answered->attempt_class = SMA_ATTEMPT_RETRY;
        if (wait_ms >= 0) {
            wait_for(answered, wait_ms, usual_ms, false);
            answered->is_adapter_wide = verdicts->is_busy_wide;
        }
        break;
    case SMA_ACT_OWNER:
        wait_for(answered, -1, OWNER_WAIT_MS, false);
        answered->is_adapter_wide = true;
        break;
    case SMA_ACT_UNKNOWN:
    case SMA_ACT_LIKELY_UNSENT:
        answered->attempt_class = SMA_ATTEMPT_UNKNOWN;
        answered->is_likely_unsent = answered->act == SMA_ACT_LIKELY_UNSENT;
        break;
    }
}

/* -- the line for people ----------------------------------------------------------------------- */
static void put_line(struct sma_buf *buf, struct sma_str text, size_t max)
{
    text.len = sma_utf8_cut(text, max);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        sma_buf_put_char(buf, byte < 0x20 || byte == 0x7f ? ' ' : (char)byte);
    }
}

static void put_answer(struct sma_buf *line, const struct sma_verdicts *verdicts,
                       const struct sma_verdict_row *row, const struct sma_said *said,
                       const struct sma_net_answer *answer)
{
    if (row != NULL && row->words != NULL)
        sma_buf_printf(line, ": %s", row->words);
    else if (said->is_silent && answer->body.len > 0)
        sma_buf_put_text(line, ": the answer could not be read");
    sma_buf_put_text(line, " (");
    if (said->code != 0 && said->code != answer->status)
        sma_buf_printf(line, "code %" PRId64 ": ", said->code);
    put_line(line, said->words, SAID_BYTES_MAX);
    sma_buf_printf(line, "%sHTTP %d", said->words.len > 0 ? "; " : "", answer->status);
    if (said->trace.len > 0) {
        sma_buf_printf(line, "; %s ", verdicts->trace);
        put_line(line, said->trace, TRACE_BYTES_MAX);
    }
    sma_buf_put_char(line, ')');
}

static void explain(const struct sma_verdicts *verdicts, const struct sma_verdict_row *row,
                    const struct sma_said *said, const struct sma_net_answer *answer, uint8_t when,
                    struct sma_answered *answered)
{
    size_t at = strlen(answered->error);
    struct sma_buf line;
    sma_buf_init(&line, 4096);
    if (answered->moved_to != 0)
        sma_buf_printf(&line, "the chat is now %" PRId64, answered->moved_to);
    if (answer->end != SMA_NET_ANSWERED)
        put_line(&line, sma_str(answer->error == NULL ? "" : answer->error), 2 * SAID_BYTES_MAX);
    else if (answered->moved_to == 0)
        put_answer(&line, verdicts, row, said, answer);
    if (answered->attempt_class == SMA_ATTEMPT_UNKNOWN && (when & SMA_WHEN_QUESTION) == 0)
        sma_buf_put_text(&line, verdicts->doubt == NULL ? "" : verdicts->doubt);
    if (answered->act == SMA_ACT_WAIT)
        sma_buf_printf(&line, "; it asks to wait %u s", (answered->retry_after_ms + 999) / 1000);
    size_t len = sma_utf8_cut(sma_buf_str(&line), sizeof answered->error - 1 - at);
    if (len > 0)
        memcpy(answered->error + at, line.ptr, len);
    answered->error[at + len] = '\0';
    sma_buf_fini(&line);
}

/* -- the whole --------------------------------------------------------------------------------- */
static const struct sma_verdict_row *judge(const struct sma_verdicts *verdicts,
                                           const struct sma_said *said,
                                           const struct sma_net_answer *answer, uint8_t when,
                                           struct sma_answered *answered)
{
    bool is_telling = answer->status < 500 && answer->status != 401 && answer->status != 429;
    const struct sma_verdict_row *row = find(verdicts, answered->code, said->words, when);
    if (row == NULL && !is_telling && answered->code != answer->status) /* then it says more */
        row = find(verdicts, answer->status, said->words, when);
    int64_t code = is_telling ? answered->code : answer->status;
    answered->act = row != NULL ? row->act : act_of_status(code);
    answered->mend = row != NULL ? row->mend : 0;
    if (answered->act == SMA_ACT_REFUSED && answered->mend == 0)
        answered->mend = guess(said->words);
    if (said->moved_to != 0) {
        answered->act = SMA_ACT_RETRY;
        answered->mend = SMA_MEND_MOVED;
        answered->moved_to = said->moved_to;
    }
    act_on(verdicts, row, said, answer, answered);
    return row;
}

static void on_answer(const struct sma_verdicts *verdicts, const struct sma_net_answer *answer,
                      uint8_t when, struct sma_answered *answered)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    if (sma_json_load(answer->body, &root) != SMA_ERR_OK)
        root = NULL; /* as an answer without words */
    struct sma_said said = {.retry_ms = -1, .words = SMA_STR(""), .trace = SMA_STR("")};
    const struct sma_verdict_row *row = NULL;
    verdicts->read(root, answer, &said);
    bool is_2xx = answer->status >= 200 && answer->status < 300;
    answered->code = said.code != 0 || (is_2xx && said.is_success) ? said.code : answer->status;
    answered->act = SMA_ACT_UNKNOWN;
    if (is_2xx && said.is_success)
        answered->act = SMA_ACT_SENT;
    if (!is_2xx || said.code != 0)
        row = judge(verdicts, &said, answer, when, answered);
    else
        act_on(verdicts, NULL, &said, answer, answered);
    if (answered->attempt_class == SMA_ATTEMPT_SENT) {
        answered->error[0] = '\0';
        verdicts->note(root, answered);
    } else {
        explain(verdicts, row, &said, answer, when, answered);
    }
}

void sma_verdict(const struct sma_verdicts *verdicts, const char *what,
                 const struct sma_net_answer *answer, uint8_t when,
                 struct sma_answered *ret_answered)
{
    static const uint8_t acts[] = {[SMA_NET_NOT_SENT] = SMA_ACT_RETRY,
                                   [SMA_NET_FILE_FAILED] = SMA_ACT_FINAL,
                                   [SMA_NET_UNKNOWN] = SMA_ACT_UNKNOWN,
                                   [SMA_NET_TOO_BIG] = SMA_ACT_UNKNOWN};
    struct sma_answered answered = {0};
    snprintf(answered.error, sizeof answered.error, "%s%s failed%s",
             what != NULL ? what : "sending to ", what != NULL ? "" : verdicts->platform,
             answer->end == SMA_NET_ANSWERED ? "" : ": ");
    if (answer->end == SMA_NET_ANSWERED) {
        on_answer(verdicts, answer, when, &answered);
    } else {
        struct sma_said said = {.retry_ms = -1};
        answered.act = acts[answer->end];
        act_on(verdicts, NULL, &said, answer, &answered);
        explain(verdicts, NULL, &said, answer, when, &answered);
    }
    *ret_answered = answered;
}
