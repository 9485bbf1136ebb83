/*
 * Aim: whatever order, repetition or loss, a message comes out whole exactly once or not at all,
 * and memory is bounded.
 * Method: seeded random play against a plain model; then each limit by hand.
 */
#include "adapters/feishu/feishu_fragments.h"

#include "vectors.h"

#define MESSAGE_COUNT 40
#define PART_COUNT_MAX 9

static uint64_t seed = 0x123456789abcdefu;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static enum feishu_fragment give(struct feishu_fragments *fragments, const char *id,
                                 const char *sum, const char *seq, struct sma_str payload,
                                 uint64_t now, struct sma_str *ret_payload)
{
    struct feishu_frame_header headers[] = {{.key = SMA_STR("message_id"), .value = sma_str(id)},
                                            {.key = SMA_STR("sum"), .value = sma_str(sum)},
                                            {.key = SMA_STR("seq"), .value = sma_str(seq)}};
    struct feishu_frame frame = {
        .method = 1, .headers = headers, .header_count = 3, .payload = payload};
    struct sma_str whole = {"unset", 5};
    enum feishu_fragment fragment = feishu_fragments_take(fragments, &frame, now, &whole);
    CHECK((fragment == FEISHU_FRAGMENT_WHOLE) == !sma_str_is_equal(whole, SMA_STR("unset")));
    if (ret_payload != NULL)
        *ret_payload = whole;
    return fragment;
}

static void vector_parts_join_in_any_order(void)
{
    static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                    {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    json_t *vectors = load_vectors("feishu_ws_frames.json");
    const json_t *list = json_object_get(vectors, "vectors");
    struct sma_str wanted =
        text_of(json_object_get(named(list, "event_single"), "frame"), "payload_utf8");
    struct feishu_frame parts[3];
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "event_part_%d", i);
        struct sma_str bytes = from_hex(text_of(named(list, name), "hex"));
        CHECK_OK(feishu_frame_decode(bytes, &parts[i]));
        free_str(bytes);
    }
    struct feishu_fragments *fragments = feishu_fragments_create();
    CHECK(fragments != NULL);
    for (size_t row = 0; row < SMA_COUNT_OF(orders); row++) {
        struct sma_str whole;
        CHECK_INT(FEISHU_FRAGMENT_HELD,
                  feishu_fragments_take(fragments, &parts[orders[row][0]], row, &whole));
        CHECK_INT(FEISHU_FRAGMENT_REPEAT,
                  feishu_fragments_take(fragments, &parts[orders[row][0]], row, &whole));
        CHECK_INT(FEISHU_FRAGMENT_HELD,
                  feishu_fragments_take(fragments, &parts[orders[row][1]], row, &whole));
        CHECK_INT(FEISHU_FRAGMENT_WHOLE,
                  feishu_fragments_take(fragments, &parts[orders[row][2]], row, &whole));
        CHECK(sma_str_is_equal(wanted, whole));
        CHECK_INT(0, feishu_fragments_stat(fragments).set_count);
        CHECK_INT(0, feishu_fragments_stat(fragments).held_bytes);
    }
    for (int i = 0; i < 3; i++)
        feishu_frame_fini(&parts[i]);
    feishu_fragments_destroy(fragments);
    json_decref(vectors);
}

struct message
{
    char id[16], bytes[64];
    size_t len, part_count, from[PART_COUNT_MAX + 1];
    bool is_here[PART_COUNT_MAX], is_whole;
    int lost; /* part that never comes, -1 = none */
};

static void make_message(struct message *message, int number)
{
    *message = (struct message){.lost = next_random() % 4 == 0 ? 0 : -1};
    snprintf(message->id, sizeof message->id, "m-%d", number);
    message->len = next_random() % sizeof message->bytes;
    for (size_t i = 0; i < message->len; i++)
        message->bytes[i] = (char)next_random();
    message->part_count = 2 + next_random() % (PART_COUNT_MAX - 1);
    message->from[message->part_count] = message->len;
    for (size_t i = message->part_count - 1; i > 0; i--) /* parts may be empty */
        message->from[i] =
            message->from[i + 1] == 0 ? 0 : next_random() % (message->from[i + 1] + 1);
    if (message->lost == 0)
        message->lost = (int)(next_random() % message->part_count);
}

/* One random part of one random message; the model says what must come back. */
static void play_one(struct feishu_fragments *fragments, struct message *messages)
{
    struct message *message = &messages[next_random() % MESSAGE_COUNT];
    size_t seq = next_random() % message->part_count;
    if (message->is_whole || (int)seq == message->lost)
        return;
    char sum[24], number[24];
    snprintf(sum, sizeof sum, "%zu", message->part_count);
    snprintf(number, sizeof number, "%zu", seq);
    struct sma_str payload = {message->bytes + message->from[seq],
                              message->from[seq + 1] - message->from[seq]};
    struct sma_str whole;
    enum feishu_fragment fragment =
        give(fragments, message->id, sum, number, payload, SMA_NS_PER_S, &whole);
    if (message->is_here[seq]) {
        CHECK_INT(FEISHU_FRAGMENT_REPEAT, fragment);
        return;
    }
    message->is_here[seq] = true;
    message->is_whole = true;
    for (size_t i = 0; i < message->part_count; i++)
        message->is_whole = message->is_whole && message->is_here[i];
    CHECK_INT(message->is_whole ? FEISHU_FRAGMENT_WHOLE : FEISHU_FRAGMENT_HELD, fragment);
    if (message->is_whole)
        CHECK(sma_str_is_equal((struct sma_str){message->bytes, message->len}, whole));
}

static void random_order_repetition_and_loss(void)
{
    struct message messages[MESSAGE_COUNT];
    for (int round = 0; round < 50; round++) {
        struct feishu_fragments *fragments = feishu_fragments_create();
        CHECK(fragments != NULL);
        for (int i = 0; i < MESSAGE_COUNT; i++)
            make_message(&messages[i], i);
        for (int step = 0; step < 4000; step++)
            play_one(fragments, messages);
        size_t open = 0, whole = 0;
        for (int i = 0; i < MESSAGE_COUNT; i++) {
            CHECK(messages[i].is_whole ==
                  (messages[i].lost < 0)); /* enough steps to have given all */
            open += !messages[i].is_whole;
            whole += messages[i].is_whole;
        }
        CHECK_INT(open, feishu_fragments_stat(fragments).set_count);
        CHECK(whole > 0);
        feishu_fragments_expire(fragments, SMA_NS_PER_S + FEISHU_FRAGMENT_EXPIRE_NS);
        CHECK_INT(0, feishu_fragments_stat(fragments).held_bytes);
        CHECK_INT(open, feishu_fragments_stat(fragments).expired_count);
        feishu_fragments_destroy(fragments);
    }
}

static void sets_expire_to_the_nanosecond(void)
{
    struct feishu_fragments *fragments = feishu_fragments_create();
    CHECK_INT(FEISHU_FRAGMENT_HELD, give(fragments, "a", "2", "0", SMA_STR("x"), 5, NULL));
    feishu_fragments_expire(fragments, 5 + FEISHU_FRAGMENT_EXPIRE_NS - 1);
    CHECK_INT(1, feishu_fragments_stat(fragments).set_count);
    /* The late second part opens a set of its own and stays alone. */
    CHECK_INT(FEISHU_FRAGMENT_HELD,
              give(fragments, "a", "2", "1", SMA_STR("y"), 5 + FEISHU_FRAGMENT_EXPIRE_NS, NULL));
    CHECK_INT(1, feishu_fragments_stat(fragments).expired_count);
    CHECK_INT(1, feishu_fragments_stat(fragments).set_count);
    feishu_fragments_clear(fragments);
    CHECK_INT(0, feishu_fragments_stat(fragments).set_count);
    feishu_fragments_destroy(fragments);
}

static void senseless_headers_are_refused(void)
{
    static const char *const rows[][3] = {
        {"a", "0", "0"},  {"a", "2", "2"},
        {"a", "2", "-1"}, {"a", "", "0"},
        {"a", "2", ""},   {"a", "x", "0"},
        {"", "2", "0"},   {"a", "257", "0"},
        {"a", "1", "1"},  {"a", "99999999999999999999", "0"},
        {"a", "2 ", "0"},
    };
    struct feishu_fragments *fragments = feishu_fragments_create();
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_INT(FEISHU_FRAGMENT_REFUSED,
                  give(fragments, rows[i][0], rows[i][1], rows[i][2], SMA_STR("x"), 1, NULL));
    struct sma_str whole;
    struct feishu_frame bare = {.method = 1, .payload = SMA_STR("x")};
    CHECK_INT(FEISHU_FRAGMENT_REFUSED, feishu_fragments_take(fragments, &bare, 1, &whole));
    CHECK_INT(SMA_COUNT_OF(rows) + 1, feishu_fragments_stat(fragments).refused_count);
    CHECK_INT(FEISHU_FRAGMENT_WHOLE, give(fragments, "", "1", "0", SMA_STR("x"), 1, &whole));
    CHECK_STR("x", whole);
    /* Another count under the same id: the first one stays. */
    CHECK_INT(FEISHU_FRAGMENT_HELD, give(fragments, "b", "2", "0", SMA_STR("x"), 1, NULL));
    CHECK_INT(FEISHU_FRAGMENT_REFUSED, give(fragments, "b", "3", "2", SMA_STR("y"), 1, NULL));
    CHECK_INT(FEISHU_FRAGMENT_WHOLE, give(fragments, "b", "2", "1", SMA_STR("y"), 1, &whole));
    CHECK_STR("xy", whole);
    char id[FEISHU_FRAGMENT_ID_BYTES_MAX + 2];
    for (size_t len = FEISHU_FRAGMENT_ID_BYTES_MAX - 1; len <= FEISHU_FRAGMENT_ID_BYTES_MAX + 1;
         len++) {
        memset(id, 'i', sizeof id);
        id[len] = '\0';
        CHECK_INT(len <= FEISHU_FRAGMENT_ID_BYTES_MAX ? FEISHU_FRAGMENT_HELD
                                                      : FEISHU_FRAGMENT_REFUSED,
                  give(fragments, id, "256", "255", SMA_STR("x"), 1, NULL));
    }
    feishu_fragments_destroy(fragments);
}

static void the_oldest_set_makes_room(void)
{
    struct feishu_fragments *fragments = feishu_fragments_create();
    char id[16];
    for (int i = 0; i <= FEISHU_FRAGMENT_SET_COUNT_MAX; i++) {
        snprintf(id, sizeof id, "m-%d", i);
        CHECK_INT(FEISHU_FRAGMENT_HELD, give(fragments, id, "2", "0", SMA_STR("x"), 1, NULL));
        CHECK_INT(i == FEISHU_FRAGMENT_SET_COUNT_MAX,
                  feishu_fragments_stat(fragments).dropped_count);
    }
    CHECK_INT(FEISHU_FRAGMENT_SET_COUNT_MAX, feishu_fragments_stat(fragments).set_count);
    CHECK_INT(FEISHU_FRAGMENT_WHOLE, give(fragments, "m-1", "2", "1", SMA_STR("y"), 1, NULL));
    CHECK_INT(FEISHU_FRAGMENT_HELD,
              give(fragments, "m-0", "2", "1", SMA_STR("y"), 1, NULL)); /* it was dropped */
    feishu_fragments_destroy(fragments);
}

static void bytes_are_bounded(void)
{
    struct feishu_fragments *fragments = feishu_fragments_create();
    size_t half = FEISHU_FRAGMENT_MESSAGE_BYTES_MAX / 2;
    char *bytes = calloc(1, half + 1), id[16];
    struct sma_str whole;
    CHECK(bytes != NULL);
    for (size_t extra = 0; extra < 2;
         extra++) { /* at the limit of one message, and one byte over it */
        CHECK_INT(FEISHU_FRAGMENT_HELD,
                  give(fragments, "a", "2", "0", (struct sma_str){bytes, half}, 1, NULL));
        CHECK_INT(extra == 0 ? FEISHU_FRAGMENT_WHOLE : FEISHU_FRAGMENT_REFUSED,
                  give(fragments, "a", "2", "1", (struct sma_str){bytes, half + extra}, 1, &whole));
        CHECK_INT(0, feishu_fragments_stat(fragments).held_bytes);
    }
    size_t fits = FEISHU_FRAGMENT_BYTES_MAX / half;
    uint64_t dropped = feishu_fragments_stat(fragments).dropped_count;
    for (size_t i = 0; i <= fits; i++) {
        snprintf(id, sizeof id, "m-%zu", i);
        CHECK_INT(FEISHU_FRAGMENT_HELD,
                  give(fragments, id, "2", "0", (struct sma_str){bytes, half}, 1, NULL));
        CHECK_INT(dropped + (i == fits), feishu_fragments_stat(fragments).dropped_count);
        CHECK(feishu_fragments_stat(fragments).held_bytes <= FEISHU_FRAGMENT_BYTES_MAX);
    }
    free(bytes);
    feishu_fragments_destroy(fragments);
    feishu_fragments_destroy(NULL);
}

int main(void)
{
    RUN(vector_parts_join_in_any_order);
    RUN(random_order_repetition_and_loss);
    RUN(sets_expire_to_the_nanosecond);
    RUN(senseless_headers_are_refused);
    RUN(the_oldest_set_makes_room);
    RUN(bytes_are_bounded);
    return check_summary();
}
