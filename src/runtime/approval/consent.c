/* The rules of consent. */
#include "runtime/approval/consent.h"

#include "sma/text.h"

#define LENGTH_S_MAX (INT64_C(3660) * 86400) /* ten years; longer is cut */
#define CLOCK_READINGS_MS 60000              /* two readings of one clock may be that far apart */
/* Our clock against a platform's: a message has to be that much younger than a card whose date only
 * we know. */
#define CLOCK_TOLERANCE_MS 5000

/* -- the mark of a card: "id\nreply id\ndate", the date behind '~' when it is of our clock ----- */
void sma_card_mark_put(struct sma_buf *buf, const struct sma_receipt *receipt, int64_t wall_ms)
{
    const struct sma_str ids[] = {receipt->platform_message_id, receipt->reply_id};
    for (size_t i = 0; i < SMA_COUNT_OF(ids); i++) {
        if (ids[i].len > 0 && memchr(ids[i].ptr, '\n', ids[i].len) == NULL)
            sma_buf_put_str(buf, ids[i]);
        sma_buf_put_char(buf, '\n');
    }
    if (receipt->sent_ms <= 0)
        sma_buf_put_char(buf, '~');
    sma_buf_put_i64(buf, receipt->sent_ms > 0 ? receipt->sent_ms : wall_ms);
}

static struct sma_str take_line(struct sma_str *rest)
{
    const char *end = rest->len == 0 ? NULL : memchr(rest->ptr, '\n', rest->len);
    struct sma_str line = {rest->ptr, end == NULL ? rest->len : (size_t)(end - rest->ptr)};
    size_t gone = line.len + (end != NULL);
    *rest = (struct sma_str){gone == 0 ? rest->ptr : rest->ptr + gone, rest->len - gone};
    return line;
}

struct sma_card_mark sma_card_mark_parse(struct sma_str text)
{
    struct sma_card_mark mark = {.id = take_line(&text), .reply_id = take_line(&text)};
    mark.is_our_clock = sma_str_starts_with(text, SMA_STR("~"));
    if (mark.is_our_clock)
        text = (struct sma_str){text.ptr + 1, text.len - 1};
    if (sma_parse_i64(text, 1, INT64_MAX - CLOCK_TOLERANCE_MS, &mark.sent_ms) != SMA_ERR_OK)
        mark.sent_ms = 0;
    return mark;
}

/* -- which request words mean ------------------------------------------------------------------ */
bool sma_said_is_own(const struct sma_said *said)
{
    return !said->is_forward && !said->is_edited;
}

bool sma_said_is_after(const struct sma_said *said, const struct sma_card_mark *mark)
{
    /* A channel without dates brings no old messages; one with dates has to say them. */
    if (said->sent_ms <= 0)
        return mark->is_our_clock || mark->sent_ms == 0;
    if (mark->sent_ms == 0)
        return false;
    return said->sent_ms >= mark->sent_ms + (mark->is_our_clock ? CLOCK_TOLERANCE_MS : 0);
}

static bool is_named(struct sma_str id, struct sma_str answered)
{
    return id.len > 0 && sma_str_is_equal(id, answered);
}

bool sma_said_answers(const struct sma_said *said, const struct sma_card_mark *mark)
{
    return is_named(mark->id, said->reply_to_id) || is_named(mark->reply_id, said->reply_to_id);
}

enum sma_meant sma_said_means(const struct sma_said *said, uint32_t count, bool is_fresh)
{
    if (count > 1)
        return SMA_MEANT_ONE_OF_SEVERAL;
    if (said->is_group)
        return said->addressed == SMA_ADDRESSED_NONE ? SMA_MEANT_TALK : SMA_MEANT_MENTION;
    return is_fresh ? SMA_MEANT_BELOW : SMA_MEANT_BURIED;
}

/* -- who may decide what ----------------------------------------------------------------------- */
uint64_t sma_consent_permitted(const struct sma_request *request,
                               const struct sma_consent_person *person)
{
    bool is_owner = person->standing == SMA_STANDING_OWNER;
    bool may_all = is_owner || (person->standing == SMA_STANDING_ADMIN && person->is_same_platform);
    bool may_own =
        person->is_same_platform && person->is_asker && person->standing >= SMA_STANDING_MEMBER;
    uint64_t mask = 0;
    for (uint32_t i = 0; i < request->item_count; i++) {
        const struct sma_request_item *item = &request->items[i];
        bool may_one = may_all || (may_own && !item->is_admin_only);
        if (item->is_owner_only ? is_owner : may_one)
            mask |= UINT64_C(1) << i;
    }
    return mask;
}

enum sma_consent_verdict sma_consent_rule(const struct sma_consent_word *word,
                                          struct sma_consent_word *ret_word)
{
    uint64_t said = word->approved | word->refused, open = word->open & word->permitted;
    *ret_word = *word;
    ret_word->refused = word->refused & open;
    ret_word->approved = word->approved & open & ~ret_word->refused;
    if (word->is_out_of_time)
        return SMA_CONSENT_TOO_LATE;
    if ((said & word->permitted) == 0)
        return SMA_CONSENT_NOT_YOURS;
    return (said & open) == 0 ? SMA_CONSENT_ALREADY : SMA_CONSENT_DECIDES;
}

bool sma_words_decide(const struct sma_words *words)
{
    return words->kind == SMA_ANSWER_DECIDES &&
           ((words->approved | words->refused) & words->permitted) != 0;
}

/* In a group words decide as the answer to the card. Said to us without that they may refuse:
 * nothing but the request is open between us there, and a refusal too many does no harm. Among
 * people they mean something else. */
static bool is_enough(const struct sma_words *words)
{
    if (words->is_cut)
        return false;
    return words->meant == SMA_MEANT_CARD || words->meant == SMA_MEANT_BELOW ||
           (words->meant == SMA_MEANT_MENTION && words->approved == 0);
}

static enum sma_words_fate weigh_decision(const struct sma_words *words)
{
    bool decides = sma_words_decide(words);
    if (words->meant == SMA_MEANT_BURIED || words->meant == SMA_MEANT_ONE_OF_SEVERAL)
        return decides ? SMA_WORDS_UNCLEAR : SMA_WORDS_ORDINARY;
    if (is_enough(words)) {
        if (decides)
            return SMA_WORDS_DECIDE;
        if (words->is_role_open)
            return SMA_WORDS_WAIT_FOR_ROLE;
    } else if (decides || (words->is_addressed && words->is_role_open)) {
        return SMA_WORDS_TOO_LITTLE;
    }
    return words->is_addressed ? SMA_WORDS_REFUSED : SMA_WORDS_ORDINARY;
}

enum sma_words_fate sma_words_weigh(const struct sma_words *words)
{
    if (words->kind == SMA_ANSWER_DECIDES)
        return weigh_decision(words);
    bool may_be_judged = words->meant == SMA_MEANT_CARD || words->meant == SMA_MEANT_BELOW ||
                         words->meant == SMA_MEANT_MENTION;
    if (words->kind != SMA_ANSWER_MAYBE || !may_be_judged || (!words->may_run && !words->asks_role))
        return SMA_WORDS_ORDINARY;
    if (words->is_role_open && (words->asks_role || words->permitted == 0))
        return SMA_WORDS_WAIT_FOR_ROLE;
    return words->permitted != 0 && words->may_run && !words->is_full ? SMA_WORDS_JUDGED
                                                                      : SMA_WORDS_ORDINARY;
}

/* -- what the run is told ---------------------------------------------------------------------- */
void sma_consent_put_response(struct sma_buf *buf, enum sma_request_outcome outcome,
                              struct sma_str by, struct sma_str response)
{
    if (outcome == SMA_REQUEST_REFUSED) {
        sma_buf_put_text(buf, "refused by ");
        sma_buf_put_str(buf, by);
        if (response.len > 0)
            sma_buf_put_text(buf, ": ");
    }
    sma_buf_put_str(buf, response);
}

/* -- permissions that last --------------------------------------------------------------------- */
int64_t sma_grant_until(int64_t now_ms, int64_t length_s)
{
    if (length_s == SMA_GRANT_ALWAYS)
        return 0;
    int64_t bounded_s = length_s < 0 ? 0 : length_s > LENGTH_S_MAX ? LENGTH_S_MAX : length_s;
    return now_ms + bounded_s * 1000;
}

bool sma_grant_holds(int64_t created_ms, int64_t until_ms, int64_t now_ms)
{
    if (until_ms == 0)
        return true;
    return until_ms > now_ms && created_ms <= now_ms + CLOCK_READINGS_MS;
}
