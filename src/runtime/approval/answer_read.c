/*
 * answer_read.c — the grammar of an answer. Words become verdicts ("yes", "don't approve") and
 * targets ("1 and 3", "all", "`git status`"), in one of three orders: verdicts alone, each before
 * its target, each behind it. Every word must have its place in that; whatever else is said makes
 * it no answer for us.
 */
#include "approval_priv.h"

#include "runtime/json/json_read.h"
#include "sma/messages.h"
#include "sma/text.h"

enum element_kind
{
    ELEMENT_VERDICT,
    ELEMENT_TARGET,
};
enum target_kind
{
    TARGET_ITEMS, /* mask */
    TARGET_ALL,
    TARGET_NONE,
    TARGET_REST,
};
struct element
{
    enum element_kind kind;
    bool is_agreed, is_strong; /* VERDICT */
    enum target_kind target;
    uint64_t mask;
    bool has_break; /* something stood between it and the one before */
};
struct reading
{
    const struct sma_request *request;
    uint32_t count;
    struct element elements[ANSWER_TOKEN_COUNT_MAX];
    bool has_break; /* after the last element */
    bool is_only, is_except, is_once, has_place, has_thanks, has_time, has_bare_time;
    int64_t seconds;
    struct sma_str quoted;
};

static uint64_t all_items(const struct sma_request *request)
{
    return (UINT64_C(1) << request->item_count) - 1;
}

/* -- an item by its own words ------------------------------------------------------------------ */
static bool is_item(const struct sma_request_item *item, struct sma_str text)
{
    SMA_AUTO(sma_json_freep) json_t *details = NULL;
    if (sma_str_is_equal(text, item->title) || sma_str_is_equal(text, item->grant_rule) ||
        sma_str_is_equal(text, item->program_rule))
        return true;
    if (sma_json_load(item->details_json, &details) != SMA_ERR_OK)
        return false;
    return sma_str_is_equal(text, sma_json_str(details, "command")) ||
           sma_str_is_equal(text, sma_json_str(details, "filePath"));
}

/* @return the mask of the one item whose title, command, path or rule this is, byte by byte; else
 * 0 */
static uint64_t find_item(const struct sma_request *request, struct sma_str text)
{
    uint64_t mask = 0;
    text = sma_str_trim(text);
    if (text.len == 0)
        return 0;
    for (uint32_t i = 0; i < request->item_count; i++) {
        if (!is_item(&request->items[i], text))
            continue;
        if (mask != 0)
            return 0;
        mask = UINT64_C(1) << i;
    }
    return mask;
}

/* -- words become elements --------------------------------------------------------------------- */
static const struct token *next_word(const struct words *words, uint32_t index, uint32_t end)
{
    for (uint32_t i = index + 1; i < end; i++)
        if (words->tokens[i].kind != TOKEN_FILLER)
            return &words->tokens[i];
    return NULL;
}

static struct element *last_element(struct reading *reading)
{
    return reading->count == 0 ? NULL : &reading->elements[reading->count - 1];
}

static struct element *add_element(struct reading *reading, enum element_kind kind)
{
    struct element *element = &reading->elements[reading->count++];
    *element = (struct element){.kind = kind, .has_break = reading->has_break};
    reading->has_break = false;
    return element;
}

static void add_verdict(struct reading *reading, bool is_agreed, bool is_strong)
{
    struct element *element = add_element(reading, ELEMENT_VERDICT);
    element->is_agreed = is_agreed;
    element->is_strong = is_strong;
}

static void add_target(struct reading *reading, enum target_kind kind, uint64_t mask)
{
    struct element *last = last_element(reading);
    if (kind == TARGET_ITEMS && last != NULL && last->kind == ELEMENT_TARGET &&
        last->target == TARGET_ITEMS) { /* "1, 2 and 3" */
        last->mask |= mask;
        reading->has_break = false;
        return;
    }
    struct element *element = add_element(reading, ELEMENT_TARGET);
    element->target = kind;
    element->mask = mask;
}

/* @return how many tokens were taken, 0 = it makes no sense */
static uint32_t take_negation(struct reading *reading, const struct words *words, uint32_t index,
                              uint32_t end)
{
    const struct token *next = next_word(words, index, end);
    const struct element *last = last_element(reading);
    bool is_behind_verdict = last != NULL && last->kind == ELEMENT_VERDICT && !reading->has_break;
    if (is_behind_verdict) /* "可以不", "ok not" */
        return 0;
    if (next != NULL && next->kind == TOKEN_AGREE) {
        add_verdict(reading, false, next->is_strong);
        return (uint32_t)(next - &words->tokens[index]) + 1;
    }
    bool may_end = words->tokens[index].is_strong && (next == NULL || next->kind == TOKEN_COMMA);
    bool has_target = next != NULL && (next->kind == TOKEN_NUMBERS || next->kind == TOKEN_QUOTED);
    if (!may_end && !has_target)
        return 0;
    add_verdict(reading, false, false);
    return 1;
}

static bool take_only(struct reading *reading, const struct token *next)
{
    const struct element *last = last_element(reading);
    bool is_before = next != NULL && (next->kind == TOKEN_AGREE || next->kind == TOKEN_NUMBERS ||
                                      next->kind == TOKEN_QUOTED);
    bool is_behind =
        last != NULL && last->kind == ELEMENT_TARGET && (next == NULL || next->kind == TOKEN_COMMA);
    if (reading->is_only || (!is_before && !is_behind))
        return false;
    reading->is_only = true;
    return true;
}

/* "ok, 10 minutes" may mean: not now. A time counts behind "for", or beside a verb of consent:
 * "allow 10 minutes". */
static bool take_time(struct reading *reading, const struct words *words, uint32_t index)
{
    const struct token *token = &words->tokens[index];
    enum token_kind before = index == 0 ? TOKEN_FILLER : words->tokens[index - 1].kind;
    bool is_bare = token->seconds != SMA_GRANT_ALWAYS && before != TOKEN_FOR;
    if (is_bare && before == TOKEN_COMMA)
        return false;
    reading->has_bare_time |= is_bare;
    if (reading->has_time && reading->seconds != token->seconds)
        return false;
    reading->has_time = true;
    reading->seconds = token->seconds;
    return true;
}

static bool take_all(struct reading *reading, const struct token *token)
{
    const struct element *last = last_element(reading);
    bool is_after_target =
        last != NULL && last->kind == ELEMENT_TARGET &&
        (last->target == TARGET_ITEMS || last->target == TARGET_ALL || last->target == TARGET_REST);
    if (is_after_target && !token->is_strong && !reading->is_except)
        return true; /* "1和2都" */
    add_target(reading, TARGET_ALL, all_items(reading->request));
    return true;
}

static bool take_quoted(struct reading *reading, const struct token *token)
{
    uint64_t mask = find_item(reading->request, token->text);
    if (mask == 0)
        return false;
    reading->quoted = reading->quoted.len == 0 ? sma_str_trim(token->text) : SMA_STR("");
    add_target(reading, TARGET_ITEMS, mask);
    return true;
}

static bool is_to_fit(const struct words *words, uint32_t index, const struct token *next)
{
    if (index == 0 || next == NULL)
        return false;
    enum token_kind before = words->tokens[index - 1].kind;
    return (before == TOKEN_AGREE || before == TOKEN_REFUSE) &&
           (next->kind == TOKEN_NUMBERS || next->kind == TOKEN_ALL || next->kind == TOKEN_REST ||
            next->kind == TOKEN_QUOTED);
}

/* "I approve", "我都同意"; but not "ok I" and "是我". */
static bool does_follow(const struct token *next)
{
    return next != NULL &&
           (next->kind == TOKEN_AGREE || next->kind == TOKEN_REFUSE || next->kind == TOKEN_NEGATE ||
            next->kind == TOKEN_ALL || next->kind == TOKEN_ONLY || next->kind == TOKEN_TIME);
}

static bool take_token(struct reading *reading, const struct words *words, uint32_t index,
                       uint32_t end)
{
    const struct token *token = &words->tokens[index], *next = next_word(words, index, end);
    switch (token->kind) {
    case TOKEN_AGREE:
    case TOKEN_REFUSE:
        add_verdict(reading, token->kind == TOKEN_AGREE, token->is_strong);
        return true;
    case TOKEN_ALL:
        return take_all(reading, token);
    case TOKEN_NONE:
        add_target(reading, TARGET_NONE, 0);
        return true;
    case TOKEN_REST:
        add_target(reading, TARGET_REST, 0);
        return true;
    case TOKEN_NUMBERS:
        add_target(reading, TARGET_ITEMS, token->mask);
        return true;
    case TOKEN_QUOTED:
        return take_quoted(reading, token);
    case TOKEN_ONLY:
        return take_only(reading, next);
    case TOKEN_EXCEPT:
        if (reading->is_except || next == NULL || next->kind != TOKEN_NUMBERS)
            return false;
        reading->is_except = true;
        return true;
    case TOKEN_TIME:
        return take_time(reading, words, index);
    case TOKEN_FOR:
        return next != NULL && (next->kind == TOKEN_TIME || next->kind == TOKEN_ONCE);
    case TOKEN_TO:
        return is_to_fit(words, index, next);
    case TOKEN_ONCE:
        reading->is_once = true;
        return true;
    case TOKEN_PLACE:
        reading->has_place = true;
        return true;
    case TOKEN_THANKS:
        reading->has_thanks = true;
        return true;
    case TOKEN_COMMA:
    case TOKEN_AND:
        reading->has_break = reading->count > 0;
        return true;
    case TOKEN_FILLER:
        return !token->is_strong || does_follow(next);
    case TOKEN_UNKNOWN:
    case TOKEN_NEGATE:
    case TOKEN_BECAUSE:
        return false;
    }
    return false;
}

static bool collect(struct reading *reading, const struct words *words, uint32_t end)
{
    for (uint32_t i = 0; i < end;) {
        uint32_t taken = 1;
        if (words->tokens[i].kind == TOKEN_NEGATE)
            taken = take_negation(reading, words, i, end);
        else if (!take_token(reading, words, i, end))
            taken = 0;
        if (taken == 0)
            return false;
        i += taken;
    }
    return reading->count > 0;
}

/* -- elements become a decision ---------------------------------------------------------------- */
/* "all except 2" is one target: the others, and no more than those. */
static bool join_exception(struct reading *reading)
{
    uint32_t first = 0;
    if (!reading->is_except)
        return true;
    while (first < reading->count && reading->elements[first].kind != ELEMENT_TARGET)
        first++;
    if (reading->is_only || first + 1 >= reading->count)
        return false;
    struct element *a = &reading->elements[first], *b = a + 1;
    bool is_pair = b->kind == ELEMENT_TARGET &&
                   ((a->target == TARGET_ALL) != (b->target == TARGET_ALL)) &&
                   (a->target == TARGET_ITEMS || b->target == TARGET_ITEMS);
    if (!is_pair)
        return false;
    uint64_t but = a->target == TARGET_ITEMS ? a->mask : b->mask;
    a->target = TARGET_ITEMS;
    a->mask = all_items(reading->request) & ~but;
    memmove(b, b + 1, (reading->count - first - 2) * sizeof *b);
    reading->count--;
    reading->is_only = true;
    return a->mask != 0;
}

/* "yes, go ahead" is one verdict; "yes, no" is none. */
static bool join_verdicts(struct reading *reading)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < reading->count; i++) {
        const struct element *element = &reading->elements[i];
        struct element *last = kept == 0 ? NULL : &reading->elements[kept - 1];
        if (last == NULL || element->kind != ELEMENT_VERDICT || last->kind != ELEMENT_VERDICT) {
            reading->elements[kept++] = *element;
            continue;
        }
        if (last->is_agreed != element->is_agreed)
            return false;
        last->is_strong |= element->is_strong;
    }
    reading->count = kept;
    return true;
}

static uint64_t named_items(const struct reading *reading)
{
    uint64_t mask = 0;
    for (uint32_t i = 0; i < reading->count; i++)
        if (reading->elements[i].kind == ELEMENT_TARGET)
            mask |= reading->elements[i].mask;
    return mask;
}

static bool apply(const struct reading *reading, const struct element *verdict,
                  const struct element *target, struct sma_answer *answer)
{
    uint64_t mask = target->mask;
    bool is_agreed = verdict->is_agreed;
    if (target->target == TARGET_NONE) { /* "approve none"; "refuse none" is not so clear */
        if (!is_agreed || reading->count != 2)
            return false;
        mask = all_items(reading->request);
        is_agreed = false;
    } else if (target->target == TARGET_REST) {
        if (named_items(reading) == 0)
            return false;
        mask = all_items(reading->request) & ~named_items(reading);
    }
    if (mask == 0 || ((answer->approved_mask | answer->refused_mask) & mask) != 0)
        return false;
    *(is_agreed ? &answer->approved_mask : &answer->refused_mask) |= mask;
    return true;
}

static bool apply_pairs(const struct reading *reading, struct sma_answer *answer)
{
    bool is_verdict_first = reading->elements[0].kind == ELEMENT_VERDICT;
    if (reading->count % 2 != 0)
        return false;
    for (uint32_t i = 0; i < reading->count; i += 2) {
        const struct element *first = &reading->elements[i], *second = first + 1;
        const struct element *verdict = is_verdict_first ? first : second;
        const struct element *target = is_verdict_first ? second : first;
        if (verdict->kind != ELEMENT_VERDICT || target->kind != ELEMENT_TARGET)
            return false;
        /* "no, 1 yes, 2": which belongs to which? Only "yes, all" is clear */
        bool is_yes_all = is_verdict_first && reading->count == 2 && target->target == TARGET_ALL;
        if (second->has_break && !is_yes_all && !reading->is_only)
            return false;
        if (!apply(reading, verdict, target, answer))
            return false;
    }
    return true;
}

/* "approve 2, the rest no": between breaks one verdict and its target each, in either order. */
static bool is_in_pieces(const struct reading *reading)
{
    if (reading->count < 4 || reading->count % 2 != 0)
        return false;
    for (uint32_t i = 0; i < reading->count; i += 2) {
        const struct element *first = &reading->elements[i], *second = first + 1;
        if (first->has_break != (i > 0) || second->has_break || first->kind == second->kind)
            return false;
    }
    return true;
}

static bool apply_pieces(const struct reading *reading, struct sma_answer *answer)
{
    for (uint32_t i = 0; i < reading->count; i += 2) {
        const struct element *first = &reading->elements[i], *second = first + 1;
        bool is_verdict_first = first->kind == ELEMENT_VERDICT;
        if (!apply(reading, is_verdict_first ? first : second, is_verdict_first ? second : first,
                   answer))
            return false;
    }
    return true;
}

static bool apply_elements(struct reading *reading, struct sma_answer *answer)
{
    static const struct element yes = {.kind = ELEMENT_VERDICT, .is_agreed = true};
    const struct element *first = &reading->elements[0];
    if (is_in_pieces(reading))
        return apply_pieces(reading, answer);
    if (!join_verdicts(reading))
        return false;
    if (reading->count > 1)
        return apply_pairs(reading, answer);
    if (first->kind == ELEMENT_VERDICT) {
        uint64_t all = all_items(reading->request);
        *(first->is_agreed ? &answer->approved_mask : &answer->refused_mask) = all;
        return !reading->is_only;
    }
    if (first->target == TARGET_NONE) {
        answer->refused_mask = all_items(reading->request);
        return true;
    }
    return reading->is_only && apply(reading, &yes, first, answer);
}

/* The rest of what was asked is refused. */
static bool apply_only(const struct reading *reading, struct sma_answer *answer)
{
    if (!reading->is_only)
        return true;
    if (reading->count > 2 || answer->refused_mask != 0)
        return false;
    for (uint32_t i = 0; i < reading->count; i++)
        if (reading->elements[i].kind == ELEMENT_TARGET &&
            reading->elements[i].target != TARGET_ITEMS)
            return false;
    answer->refused_mask = all_items(reading->request) & ~answer->approved_mask;
    return true;
}

static bool apply_time(const struct reading *reading, struct sma_answer *answer)
{
    if (!reading->has_time)
        return !reading->has_place;
    if (answer->approved_mask == 0 || reading->is_once ||
        (answer->refused_mask != 0 && !reading->is_only))
        return false;
    answer->grant_s = reading->seconds;
    answer->grant_rule = reading->quoted;
    return true;
}

static bool is_strong(const struct reading *reading)
{
    for (uint32_t i = 0; i < reading->count; i++)
        if (reading->elements[i].kind == ELEMENT_VERDICT && reading->elements[i].is_strong)
            return true;
    return false;
}

/* The first `end` words as a whole. */
static bool decide_words(const struct words *words, uint32_t end, const struct sma_request *request,
                         struct reading *reading, struct sma_answer *answer)
{
    *reading = (struct reading){.request = request};
    struct sma_answer read = {.kind = SMA_ANSWER_DECIDES};
    if (!collect(reading, words, end) || reading->count == 0 || !join_exception(reading) ||
        !apply_elements(reading, &read) || !apply_only(reading, &read) ||
        !apply_time(reading, &read))
        return false;
    bool is_polite_or_timed = reading->has_thanks || reading->has_bare_time;
    if (is_polite_or_timed && read.approved_mask != 0 && !is_strong(reading))
        return false; /* "ok thanks" may be no more than that, "ok 10 minutes" an appointment */
    *answer = read;
    return true;
}

/* -- reasons ----------------------------------------------------------------------------------- */
static bool has_kind(const struct words *words, uint32_t from, enum token_kind kind)
{
    for (uint32_t i = from; i < words->count; i++)
        if (words->tokens[i].kind == kind)
            return true;
    return false;
}

static struct sma_str trim_reason(struct sma_str text)
{
    static const char *const signs[] = {",", ":", ".", "，", "：", "。", "、", "；", ";"};
    text = sma_str_trim(text);
    for (size_t i = 0; i < SMA_COUNT_OF(signs); i++) {
        struct sma_str sign = sma_str(signs[i]);
        if (!sma_str_starts_with(text, sign))
            continue;
        text.ptr += sign.len;
        text.len -= sign.len;
        return sma_str_trim(text);
    }
    return text;
}

static bool ends_in_refusal(const struct reading *reading)
{
    for (uint32_t i = reading->count; i-- > 0;)
        if (reading->elements[i].kind == ELEMENT_VERDICT)
            return !reading->elements[i].is_agreed;
    return reading->count == 1; /* "none" */
}

/* "no, because ..." */
static bool decide_because(struct sma_str text, const struct words *words,
                           const struct sma_request *request, struct sma_answer *answer)
{
    struct reading reading;
    uint32_t at = 0;
    while (at < words->count && words->tokens[at].kind != TOKEN_BECAUSE)
        at++;
    if (at == words->count || !decide_words(words, at, request, &reading, answer))
        return false;
    if (answer->refused_mask == 0 || reading.is_only || !ends_in_refusal(&reading) ||
        (has_kind(words, at + 1, TOKEN_NUMBERS) && has_kind(words, at + 1, TOKEN_AGREE)))
        return false;
    size_t from = words->tokens[at].to;
    answer->response = trim_reason((struct sma_str){text.ptr + from, text.len - from});
    return true;
}

/* "refused: too dangerous", when what stands behind it cannot be a decision of its own. */
static bool decide_refusal(struct sma_str text, const struct words *words,
                           const struct sma_request *request, struct sma_answer *answer)
{
    static const enum token_kind deciding[] = {TOKEN_AGREE,  TOKEN_NUMBERS, TOKEN_ALL,  TOKEN_ONLY,
                                               TOKEN_EXCEPT, TOKEN_QUOTED,  TOKEN_TIME, TOKEN_REST};
    struct reading reading;
    for (uint32_t i = 0; i < words->count; i++) {
        if (words->tokens[i].kind == TOKEN_UNKNOWN)
            return false;
        if (words->tokens[i].kind != TOKEN_COMMA ||
            !decide_words(words, i, request, &reading, answer) || answer->approved_mask != 0 ||
            !is_strong(&reading))
            continue;
        for (size_t k = 0; k < SMA_COUNT_OF(deciding); k++)
            if (has_kind(words, i + 1, deciding[k]))
                return false;
        size_t from = words->tokens[i].to;
        answer->response = trim_reason((struct sma_str){text.ptr + from, text.len - from});
        return true;
    }
    return false;
}

/* -- the thing itself, without quotes ---------------------------------------------------------- */
static bool is_tail(enum token_kind kind)
{
    return kind == TOKEN_TIME || kind == TOKEN_FOR || kind == TOKEN_ONCE || kind == TOKEN_PLACE ||
           kind == TOKEN_FILLER || kind == TOKEN_COMMA;
}

/* "allow git status for 10 minutes": the words from `start` on, less those from `end` on. */
static bool decide_thing(struct sma_str text, const struct words *words, uint32_t start,
                         uint32_t end, struct reading *reading, struct sma_answer *answer)
{
    size_t from = words->tokens[start].from;
    size_t to = end == words->count ? text.len : words->tokens[end].from;
    struct sma_str thing = sma_str_trim((struct sma_str){text.ptr + from, to - from});
    uint64_t mask = find_item(reading->request, thing);
    if (mask == 0)
        return false;
    struct sma_answer read = {.kind = SMA_ANSWER_DECIDES, .approved_mask = mask};
    for (uint32_t i = end; i < words->count; i++)
        if (!take_token(reading, words, i, words->count))
            return false;
    reading->quoted = thing;
    if (reading->is_only)
        read.refused_mask = all_items(reading->request) & ~mask;
    if (!apply_time(reading, &read))
        return false;
    *answer = read;
    return true;
}

static bool decide_named(struct sma_str text, const struct words *words,
                         const struct sma_request *request, struct sma_answer *answer)
{
    bool is_only = false, is_agreed = false;
    uint32_t start = 0;
    for (; start < words->count; start++) {
        const struct token *token = &words->tokens[start];
        if (token->kind == TOKEN_ONLY && !is_only)
            is_only = true;
        else if (token->kind == TOKEN_AGREE && token->is_strong && !is_agreed)
            is_agreed = true;
        else if (token->kind != TOKEN_FILLER)
            break;
    }
    if (start == words->count || (!is_only && !is_agreed))
        return false;
    for (uint32_t end = words->count; end > start; end--) {
        struct reading reading = {.request = request, .is_only = is_only};
        if (decide_thing(text, words, start, end, &reading, answer))
            return true;
        if (!is_tail(words->tokens[end - 1].kind))
            return false;
    }
    return false;
}

bool sma_answer_decide(struct sma_str text, const struct words *words,
                       const struct sma_request *request, struct sma_answer *answer)
{
    struct reading reading;
    return decide_words(words, words->count, request, &reading, answer) ||
           decide_because(text, words, request, answer) ||
           decide_refusal(text, words, request, answer) ||
           decide_named(text, words, request, answer);
}
