/* egress.c — see egress.h. */
#include "runtime/web/egress.h"

#define MS_A_DAY (24ull * 60 * 60 * 1000)
#define DEPTH_MAX 4         /* pages that led to pages; beyond it nothing is known */
#define PREFIX_BYTES_MIN 8u /* of an address, found in a text */
#define CHOICE_BYTES 1u

void sma_egress_set_day(struct sma_egress *egress, int64_t wall_ms)
{
    uint32_t day = (uint32_t)((uint64_t)wall_ms / MS_A_DAY);
    if (egress->day != day)
        egress->listed_bytes = 0;
    egress->day = day;
}

static struct sma_str behind_scheme(struct sma_str address)
{
    const char *at = address.len == 0 ? NULL : memmem(address.ptr, address.len, "://", 3);
    if (at == NULL || at - address.ptr > 5)
        return address;
    return (struct sma_str){at + 3, address.len - (size_t)(at + 3 - address.ptr)};
}

static char kind_of(char byte)
{
    return byte >= '0' && byte <= '9'   ? 'd'
           : byte >= 'A' && byte <= 'Z' ? 'u'
           : byte >= 'a' && byte <= 'z' ? 'l'
                                        : '\0';
}

/* Letters and digits in no order that words have: python3 and getElementById are words, 9a41f7 is
 * none. Too long for either: data, too. */
static bool is_data(struct sma_str word)
{
    size_t changes = 0, digits = 0;
    for (size_t i = 0; i < word.len; i++) {
        char kind = kind_of(word.ptr[i]), before = i == 0 ? kind : kind_of(word.ptr[i - 1]);
        changes += kind != before && !(before == 'u' && kind == 'l');
        digits += kind == 'd';
    }
    return (changes > 1 && 4 * changes > word.len) || word.len > 27 ||
           (digits == word.len && digits > 13);
}

struct cost
{
    size_t bytes, weight;
};

static struct cost sum(struct cost a, struct cost b)
{
    return (struct cost){a.bytes + b.bytes, a.weight + b.weight};
}

static struct cost least_of(struct cost a, struct cost b)
{
    return (struct cost){a.bytes < b.bytes ? a.bytes : b.bytes,
                         a.weight < b.weight ? a.weight : b.weight};
}

/* The bytes from `from` on; of a word that begins before it the whole word says what it is. */
static struct cost weigh(struct sma_str address, size_t from)
{
    struct cost cost = {address.len - from, address.len - from};
    for (size_t at = 0, end; at < address.len; at = end + 1) {
        end = at;
        while (end < address.len && kind_of(address.ptr[end]) != '\0')
            end++;
        size_t begin = at < from ? from : at;
        if (begin < end && is_data((struct sma_str){address.ptr + at, end - at}))
            cost.weight += (end - begin) * (SMA_EGRESS_DATA_WEIGHT - 1);
    }
    return cost;
}

/* Bytes at the beginning of `address` that stand in `text` one behind another. Linear: of places
 * that overlap the first one counts. */
static size_t known_bytes(struct sma_str address, struct sma_str text)
{
    size_t least = address.len < PREFIX_BYTES_MIN ? address.len : PREFIX_BYTES_MIN, best = 0;
    const char *at = text.ptr, *end = text.ptr + text.len;
    while (least > 0 && text.len > 0 && best < address.len &&
           (at = memmem(at, (size_t)(end - at), address.ptr, least)) != NULL) {
        size_t len = least;
        while (len < address.len && at + len < end && at[len] == address.ptr[len])
            len++;
        best = len > best ? len : best;
        at += len - least + 1;
    }
    return best;
}

/* Those that were asked for once before. */
static size_t same_bytes(struct sma_str address, struct sma_str asked)
{
    size_t len = 0, most = address.len < asked.len ? address.len : asked.len;
    while (len < most && address.ptr[len] == asked.ptr[len])
        len++;
    return len;
}

/* A search whose words are in the address: its results may repeat them. */
static struct sma_str echo_of_search(struct sma_str address, struct sma_str asked)
{
    const char *slash = memchr(address.ptr, '/', address.len);
    struct sma_str path = {slash, slash == NULL ? 0 : address.len - (size_t)(slash - address.ptr)};
    struct sma_str host = {address.ptr, address.len - path.len};
    bool is_shared = known_bytes(host, asked) > 0 || (path.len > 1 && known_bytes(path, asked) > 0);
    return is_shared ? asked : SMA_STR("");
}

/* By this text alone, without what its page's own address cost. */
static struct cost cost_by(struct sma_str address, const struct sma_egress_text *text, size_t known)
{
    static const struct cost choice = {CHOICE_BYTES, CHOICE_BYTES};
    struct sma_str asked = behind_scheme(text->asked);
    switch (text->kind) {
    case SMA_EGRESS_TYPED:
        return weigh(address, known);
    case SMA_EGRESS_SEARCH:
        return known == 0 ? weigh(address, 0)
                          : sum(sum(weigh(address, known), choice),
                                weigh(echo_of_search(address, asked), 0));
    case SMA_EGRESS_FETCH:
        break;
    }
    return sum(weigh(address, same_bytes(address, asked)), choice);
}

/* Of pages the oldest that has most of the address counts: what its own address cost may stand in
 * this one again. */
static struct cost cost_of(struct sma_str address, const struct sma_egress_text *texts,
                           size_t count)
{
    struct cost least = weigh(address, 0), behind = {0, 0};
    for (int depth = 0; depth < DEPTH_MAX; depth++) {
        size_t page = count, page_known = 0;
        least = least_of(least, sum(behind, weigh(address, 0)));
        for (size_t i = 0; i < count; i++) {
            size_t known = known_bytes(address, texts[i].text);
            least = least_of(least, sum(behind, cost_by(address, &texts[i], known)));
            if (texts[i].kind == SMA_EGRESS_FETCH && known > page_known) {
                page = i;
                page_known = known;
            }
        }
        if (page == count)
            break;
        behind =
            sum(sum(behind, weigh(address, page_known)), (struct cost){CHOICE_BYTES, CHOICE_BYTES});
        address = behind_scheme(texts[page].asked);
        count = page;
    }
    return least;
}

static uint32_t cut(size_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

struct sma_egress_cost sma_egress_cost(struct sma_str address, const struct sma_egress_text *texts,
                                       size_t count)
{
    struct cost cost = cost_of(behind_scheme(address), texts, count);
    return (struct sma_egress_cost){cut(cost.bytes), cut(cost.weight)};
}

bool sma_egress_is_much(const struct sma_egress *before, enum sma_egress_to to, uint32_t bytes)
{
    uint64_t sum = to == SMA_EGRESS_LISTED ? before->listed_bytes : before->bytes;
    uint64_t most =
        to == SMA_EGRESS_LISTED ? SMA_EGRESS_LISTED_BYTES_MAX : (uint64_t)SMA_EGRESS_BYTES_MAX;
    return before->has_read && to != SMA_EGRESS_NOBODY && bytes > 0 && sum + bytes > most;
}

void sma_egress_add(struct sma_egress *egress, enum sma_egress_to to, uint32_t bytes)
{
    uint32_t *sum = to == SMA_EGRESS_LISTED ? &egress->listed_bytes : &egress->bytes;
    if (to != SMA_EGRESS_NOBODY)
        *sum = *sum > UINT32_MAX - bytes ? UINT32_MAX : *sum + bytes;
}

void sma_egress_take(struct sma_egress *egress, enum sma_egress_to to, uint32_t bytes)
{
    uint32_t *sum = to == SMA_EGRESS_LISTED ? &egress->listed_bytes : &egress->bytes;
    if (to != SMA_EGRESS_NOBODY)
        *sum = *sum > bytes ? *sum - bytes : 0;
}
