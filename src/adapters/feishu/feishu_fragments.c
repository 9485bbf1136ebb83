/* feishu_fragments.c — see feishu_fragments.h. */
#include "feishu_fragments.h"

#include <stdlib.h>

#include "sma/text.h"

#define FRAGMENTS_MAGIC 0x46726167u

struct part
{
    char *bytes; /* NULL = not here yet */
    size_t len;
};
struct set
{
    bool is_used;
    uint64_t born_ns, born_order; /* order breaks ties of a coarse clock */
    size_t id_len, held_bytes;
    uint32_t part_count, here_count;
    struct part *parts; /* part_count */
    char id[FEISHU_FRAGMENT_ID_BYTES_MAX];
};
struct feishu_fragments
{
    uint32_t magic;
    uint64_t next_order;
    struct sma_buf joined;
    struct feishu_fragments_stat stat;
    struct set sets[FEISHU_FRAGMENT_SET_COUNT_MAX];
};
/* What the headers of one frame say. */
struct place
{
    struct sma_str id;
    uint32_t sum, seq;
};

struct feishu_fragments *feishu_fragments_create(void)
{
    struct feishu_fragments *fragments = calloc(1, sizeof *fragments);
    if (fragments == NULL)
        return NULL;
    fragments->magic = FRAGMENTS_MAGIC;
    sma_buf_init(&fragments->joined, FEISHU_FRAGMENT_MESSAGE_BYTES_MAX);
    return fragments;
}

static void drop(struct feishu_fragments *fragments, struct set *set)
{
    for (uint32_t i = 0; i < set->part_count; i++)
        free(set->parts[i].bytes);
    free(set->parts);
    SMA_ASSERT(fragments->stat.held_bytes >= set->held_bytes && fragments->stat.set_count > 0);
    fragments->stat.held_bytes -= set->held_bytes;
    fragments->stat.set_count--;
    *set = (struct set){0};
}

void feishu_fragments_clear(struct feishu_fragments *fragments)
{
    SMA_ASSERT(fragments->magic == FRAGMENTS_MAGIC);
    for (size_t i = 0; i < FEISHU_FRAGMENT_SET_COUNT_MAX; i++) {
        if (fragments->sets[i].is_used)
            drop(fragments, &fragments->sets[i]);
    }
    SMA_ASSERT(fragments->stat.held_bytes == 0);
}

void feishu_fragments_destroy(struct feishu_fragments *fragments)
{
    if (fragments == NULL)
        return;
    feishu_fragments_clear(fragments);
    sma_buf_fini(&fragments->joined);
    fragments->magic = 0;
    free(fragments);
}

void feishu_fragments_expire(struct feishu_fragments *fragments, uint64_t now_ns)
{
    SMA_ASSERT(fragments->magic == FRAGMENTS_MAGIC);
    for (size_t i = 0; i < FEISHU_FRAGMENT_SET_COUNT_MAX; i++) {
        struct set *set = &fragments->sets[i];
        if (set->is_used && now_ns >= set->born_ns &&
            now_ns - set->born_ns >= FEISHU_FRAGMENT_EXPIRE_NS) {
            drop(fragments, set);
            fragments->stat.expired_count++;
        }
    }
}

static bool read_place(const struct feishu_frame *frame, struct place *ret_place)
{
    int64_t sum = 1, seq = 0;
    struct sma_str id = feishu_frame_header(frame, "message_id");
    if (sma_parse_i64(feishu_frame_header(frame, "sum"), 1, FEISHU_FRAGMENT_PART_COUNT_MAX, &sum) !=
            SMA_ERR_OK ||
        sma_parse_i64(feishu_frame_header(frame, "seq"), 0, sum - 1, &seq) != SMA_ERR_OK ||
        id.len > FEISHU_FRAGMENT_ID_BYTES_MAX || (sum > 1 && id.len == 0))
        return false;
    *ret_place = (struct place){id, (uint32_t)sum, (uint32_t)seq};
    return true;
}

static struct set *find(struct feishu_fragments *fragments, struct sma_str id)
{
    for (size_t i = 0; i < FEISHU_FRAGMENT_SET_COUNT_MAX; i++) {
        struct set *set = &fragments->sets[i];
        if (set->is_used && sma_str_is_equal((struct sma_str){set->id, set->id_len}, id))
            return set;
    }
    return NULL;
}

static struct set *oldest_but(struct feishu_fragments *fragments, const struct set *spared)
{
    struct set *oldest = NULL;
    for (size_t i = 0; i < FEISHU_FRAGMENT_SET_COUNT_MAX; i++) {
        struct set *set = &fragments->sets[i];
        if (set->is_used && set != spared &&
            (oldest == NULL || set->born_order < oldest->born_order))
            oldest = set;
    }
    return oldest;
}

static struct set *begin(struct feishu_fragments *fragments, const struct place *place,
                         uint64_t now_ns)
{
    struct part *parts = calloc(place->sum, sizeof *parts);
    if (parts == NULL)
        return NULL;
    if (fragments->stat.set_count == FEISHU_FRAGMENT_SET_COUNT_MAX) {
        drop(fragments, oldest_but(fragments, NULL));
        fragments->stat.dropped_count++;
    }
    struct set *set = fragments->sets;
    while (set->is_used)
        set++;
    *set = (struct set){.is_used = true,
                        .born_ns = now_ns,
                        .born_order = fragments->next_order++,
                        .id_len = place->id.len,
                        .part_count = place->sum,
                        .parts = parts};
    memcpy(set->id, place->id.ptr, place->id.len);
    fragments->stat.set_count++;
    return set;
}

static bool hold(struct feishu_fragments *fragments, struct set *set, uint32_t seq,
                 struct sma_str payload)
{
    char *bytes = malloc(payload.len + 1); /* never NULL for an empty part */
    if (bytes == NULL)
        return false;
    if (payload.len > 0)
        memcpy(bytes, payload.ptr, payload.len);
    set->parts[seq] = (struct part){bytes, payload.len};
    set->here_count++;
    set->held_bytes += payload.len;
    fragments->stat.held_bytes += payload.len;
    while (fragments->stat.held_bytes > FEISHU_FRAGMENT_BYTES_MAX) {
        drop(fragments,
             oldest_but(fragments, set)); /* there is one: a set alone is below the sum */
        fragments->stat.dropped_count++;
    }
    return true;
}

static enum feishu_fragment refuse(struct feishu_fragments *fragments)
{
    fragments->stat.refused_count++;
    return FEISHU_FRAGMENT_REFUSED;
}

static enum feishu_fragment join(struct feishu_fragments *fragments, struct set *set,
                                 struct sma_str *ret_payload)
{
    sma_buf_clear(&fragments->joined);
    for (uint32_t i = 0; i < set->part_count; i++)
        sma_buf_put(&fragments->joined, set->parts[i].bytes, set->parts[i].len);
    drop(fragments, set);
    if (fragments->joined.err != SMA_ERR_OK)
        return FEISHU_FRAGMENT_NOMEM; /* nothing acknowledged: the platform delivers it again */
    *ret_payload = sma_buf_str(&fragments->joined);
    return FEISHU_FRAGMENT_WHOLE;
}

_Static_assert(FEISHU_FRAGMENT_MESSAGE_BYTES_MAX <= FEISHU_FRAGMENT_BYTES_MAX,
               "one message always finds room");

enum feishu_fragment feishu_fragments_take(struct feishu_fragments *fragments,
                                           const struct feishu_frame *frame, uint64_t now_ns,
                                           struct sma_str *ret_payload)
{
    feishu_fragments_expire(fragments, now_ns);
    struct place place;
    if (!read_place(frame, &place) || frame->payload.len > FEISHU_FRAGMENT_MESSAGE_BYTES_MAX)
        return refuse(fragments);
    if (place.sum == 1) {
        *ret_payload = frame->payload;
        return FEISHU_FRAGMENT_WHOLE;
    }
    struct set *set = find(fragments, place.id);
    if (set != NULL && set->part_count != place.sum)
        return refuse(fragments); /* two messages under one id: keep what was first */
    if (set != NULL && set->parts[place.seq].bytes != NULL)
        return FEISHU_FRAGMENT_REPEAT;
    if (set != NULL && set->held_bytes + frame->payload.len > FEISHU_FRAGMENT_MESSAGE_BYTES_MAX) {
        drop(fragments, set);
        fragments->stat.dropped_count++;
        return refuse(fragments);
    }
    if (set == NULL)
        set = begin(fragments, &place, now_ns);
    if (set == NULL || !hold(fragments, set, place.seq, frame->payload))
        return FEISHU_FRAGMENT_NOMEM;
    return set->here_count < set->part_count ? FEISHU_FRAGMENT_HELD
                                             : join(fragments, set, ret_payload);
}

struct feishu_fragments_stat feishu_fragments_stat(const struct feishu_fragments *fragments)
{
    return fragments->stat;
}
