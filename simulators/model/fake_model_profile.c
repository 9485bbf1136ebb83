/* See fake_model_profile.h. */
#include "fake_model_profile.h"

#include "fake_model_answer.h"
#include "fake_model_errors.h"
#include "fake_model_steps.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAULTED_COUNT 4096

static struct
{
    uint64_t key, first_ms;
    long count;
} faulted[FAULTED_COUNT];

static struct
{
    uint64_t requests, refusals, misses, tokens, read, written;
    double paid, perfect;
} sums;

static struct fake_units units;

json_t *fake_state(void)
{
    return json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:f,s:f}", "requests", (json_int_t)sums.requests,
                     "refusals", (json_int_t)sums.refusals, "misses", (json_int_t)sums.misses,
                     "tokens", (json_int_t)sums.tokens, "read", (json_int_t)sums.read, "written",
                     (json_int_t)sums.written, "paid", sums.paid, "perfect", sums.perfect, "ratio",
                     sums.perfect > 0 ? sums.paid / sums.perfect : 1.0);
}

/* -- faults ------------------------------------------------------------------------------------ */
/* The first `times` requests of a text, or all of them in the first `for` milliseconds. */
static bool is_fault_due(struct sma_str text, const char *fault, size_t step, uint64_t now_ms)
{
    uint64_t key = step + 14695981039346656037u;
    for (size_t i = 0; i < text.len; i++)
        key = (key ^ (unsigned char)text.ptr[i]) * 1099511628211u;
    size_t at = key % FAULTED_COUNT;
    while (faulted[at].key != 0 && faulted[at].key != key)
        at = (at + 1) % FAULTED_COUNT;
    if (faulted[at].key == 0) {
        faulted[at].key = key;
        faulted[at].first_ms = now_ms;
    }
    long duration_ms = fake_option(fault, "for", 0);
    if (duration_ms > 0)
        return now_ms - faulted[at].first_ms < (uint64_t)duration_ms;
    return faulted[at].count++ < fake_option(fault, "times", 1);
}

/* "[[fault:NAME key=value]]": several may stand in one text, each for its step (at=K, default 0)
 * and for one provider (on=NAME, default all). */
static void choose_fault(struct fake_visit *visit, const struct fake_steps *steps)
{
    struct sma_str left = steps->text;
    const char *start;
    while (left.len > 0 && (start = memmem(left.ptr, left.len, "[[fault:", 8)) != NULL) {
        const char *end = memmem(start, (size_t)(left.ptr + left.len - start), "]]", 2);
        size_t len = end == NULL ? 0 : (size_t)(end - start) - 8;
        if (end == NULL || len >= sizeof visit->fault)
            return;
        memcpy(visit->fault, start + 8, len);
        visit->fault[len] = '\0';
        const char *on = strstr(visit->fault, " on=");
        size_t name_len = strlen(visit->profile->name);
        bool is_here = on == NULL || (strncmp(on + 4, visit->profile->name, name_len) == 0 &&
                                      (on[4 + name_len] == ' ' || on[4 + name_len] == '\0'));
        if (is_here && (size_t)fake_option(visit->fault, "at", 0) == steps->index &&
            is_fault_due(steps->text, visit->fault, (size_t)(start - steps->text.ptr),
                         visit->now_ms))
            return;
        visit->fault[0] = '\0';
        left = (struct sma_str){end, (size_t)(left.ptr + left.len - end)};
    }
}

static void more_headers(const char *fault, char *more, size_t size)
{
    static const struct
    {
        const char *option, *header;
    } rows[] = {{"retry-after", "Retry-After"},
                {"retry-after-ms", "retry-after-ms"},
                {"should-retry", "x-should-retry"},
                {"reset", "X-RateLimit-Reset"}};
    size_t used = 0;
    more[0] = '\0';
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char key[40];
        snprintf(key, sizeof key, " %s=", rows[i].option);
        const char *at = strstr(fault, key);
        if (at == NULL)
            continue;
        at += strlen(key);
        char value[64];
        snprintf(value, sizeof value, "%.*s", (int)strcspn(at, " "), at);
        for (char *blank = value; *blank != '\0'; blank++)
            *blank = *blank == '_' ? ' ' : *blank; /* dates: Sun,_22_Nov_2026_... */
        used += (size_t)snprintf(more + used, size - used, "%s: %s\r\n", rows[i].header, value);
    }
}

/* -- the window -------------------------------------------------------------------------------- */
/* "[[window N]]" in any text of the request, the last one counts. */
static size_t window_of(const struct fake_visit *visit, const struct fake_family *family)
{
    size_t window = visit->window > 0 ? visit->window : family->window;
    struct sma_str left = visit->body;
    const char *at;
    while (left.len > 0 && (at = memmem(left.ptr, left.len, "[[window ", 9)) != NULL) {
        window = strtoul(at + 9, NULL, 10);
        left = (struct sma_str){at + 9, (size_t)(left.ptr + left.len - at) - 9};
    }
    return window;
}

/* -- an answer --------------------------------------------------------------------------------- */
static void decide(const struct fake_visit *visit, const struct fake_steps *steps, bool has_steps,
                   struct fake_answer *answer, struct sma_buf *scratch)
{
    struct sma_offline_turn turn;
    if (!fake_has(visit->root, "tools") &&
        fake_answer_notes(fake_messages(visit->api, visit->root), answer, scratch))
        return;
    if (has_steps && fake_answer_recall(visit->body, steps->directive, answer, scratch))
        return;
    if (has_steps) {
        fake_steps_answer(steps, answer, scratch);
        return;
    }
    fake_read_turn(visit->api, fake_messages(visit->api, visit->root), &turn);
    if (!fake_has(visit->root, "tools") && fake_answer_judgement(visit->body, answer))
        return;
    if (fake_answer_calls(&turn, answer, scratch))
        return;
    answer->text = turn.has_result ? SMA_STR("Done.") : turn.text; /* as [[plain]] elsewhere */
}

static void count(const struct fake_visit *visit)
{
    sums.tokens += visit->price.tokens;
    sums.read += visit->price.read;
    sums.written += visit->price.written;
    sums.paid += visit->price.paid;
    sums.perfect += visit->price.perfect;
    sums.misses += visit->echo_misses;
}

static bool refuse(struct fake_visit *visit, struct fake_question *question,
                   struct fake_response *response)
{
    struct fake_refusal refusal;
    const char *bad = NULL;
    fake_question_read(question);
    snprintf(visit->model, sizeof visit->model, "%s", question->model);
    bool is_refused = fake_refuse(question, &refusal);
    visit->echo_misses = question->echo_misses;
    if (!is_refused && visit->profile->shape == FAKE_SHAPE_ZHIPU &&
        !fake_take_bare_pictures(fake_messages(visit->api, visit->root)))
        is_refused = fake_refused(&refusal, 400, "1210", "", "图片输入格式/解析错误");
    if (!is_refused &&
        (bad = fake_check(visit->api, visit->root,
                          &(struct fake_check_options){.has_profile = true})) != NULL)
        is_refused = fake_refused(&refusal, 400, "invalid_request_error", "", "%s", bad);
    if (!is_refused)
        return false;
    sums.refusals++;
    snprintf(visit->complaint, sizeof visit->complaint, "%s", refusal.message);
    fake_put_refusal(response, visit->profile, &refusal, "");
    return true;
}

static bool overflows(struct fake_visit *visit, const struct fake_question *question,
                      struct fake_response *response)
{
    size_t window = window_of(visit, question->family);
    bool is_silent = visit->profile->cuts_silently || fake_is(visit->fault, "silent-overflow");
    if (visit->price.tokens <= window || is_silent)
        return false;
    snprintf(visit->fault, sizeof visit->fault, "overflow");
    fake_put_overflow(response, visit->profile, visit->price.tokens, window);
    return true;
}

void fake_visit(struct fake_visit *visit, struct fake_response *response)
{
    struct fake_question question = {
        .api = visit->api, .profile = visit->profile, .root = visit->root, .head = visit->head};
    struct fake_steps steps;
    struct fake_answer answer = {.number = visit->number, .question = &question};
    char headers[256];
    sums.requests++;
    if (refuse(visit, &question, response))
        return;
    bool has_steps = fake_steps_read(fake_messages(visit->api, visit->root), &steps);
    fake_units_read(&units, visit->api, visit->root);
    question.prefix = fake_units_before(&units, SIZE_MAX - 1);
    visit->price.tokens = units.bytes / FAKE_BYTES_PER_TOKEN;
    choose_fault(visit, &steps);
    more_headers(visit->fault, headers, sizeof headers);
    if (overflows(visit, &question, response))
        return;
    if (visit->fault[0] != '\0' &&
        (fake_put_trouble(response, visit->profile, visit->fault, headers) ||
         fake_put_fault(response, visit->api, visit->fault)))
        return;
    fake_meter(&units, question.family, question.model, &visit->price);
    count(visit);
    struct sma_buf scratch;
    sma_buf_init(&scratch, 16u << 20);
    decide(visit, &steps, has_steps, &answer, &scratch);
    answer.price = visit->price;
    fake_put_answer(response, visit->api, json_is_true(json_object_get(visit->root, "stream")),
                    &answer, visit->fault[0] == '\0' ? NULL : visit->fault);
    sma_buf_fini(&scratch);
}
