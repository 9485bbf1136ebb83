/* Aim: pictures, files and sounds of a message reach its run, over crashes too, and cost nothing
 * where there are none. Method: the store actor between actors that keep what they get; the bytes
 * of rows. */
#include "store_support.h"

#include "actors/store/facts.h"
#include "actors/store/message_parts.h"

#define PHOTO(n)                                                                                   \
    {                                                                                              \
        .kind = SMA_PART_IMAGE, .path = SMA_STR(".ship/.cache/test/" n), .name = SMA_STR("cat " n) \
    }
#define SAY(number, ...) \
    (&(struct saying){.chat = "a", .id = (number), .text = "look at this", __VA_ARGS__})

/* "i:.ship/.cache/test/1:cat 1:; ..." */
static void put_parts(struct sma_buf *buf, const struct sma_part *parts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        sma_buf_printf(buf, "%s%u:%.*s:%.*s:%.*s", i == 0 ? "" : "; ", parts[i].kind,
                       (int)parts[i].path.len, parts[i].path.ptr, (int)parts[i].name.len,
                       parts[i].name.ptr, (int)parts[i].mime.len, parts[i].mime.ptr);
}

/* The next RUN as text: "<seq>[its parts]", and for each message before it "<seq>[its parts]". */
static const char *order(struct world *world)
{
    static char text[4096];
    struct sma_msg *msg = next_run(world);
    if (msg == NULL)
        return "";
    const struct sma_run_order *run_order = SMA_MSG_BODY(msg, struct sma_run_order);
    struct sma_buf buf;
    sma_buf_init(&buf, sizeof text - 1);
    sma_buf_printf(&buf, "%d[", (int)run_order->seq);
    put_parts(&buf, run_order->parts, run_order->part_count);
    for (uint32_t i = 0; i < run_order->collected_count; i++) {
        const struct sma_collected *collected = &run_order->collected[i];
        sma_buf_printf(&buf, "] %d[", (int)collected->seq);
        put_parts(&buf, collected->parts, collected->part_count);
    }
    sma_buf_put_char(&buf, ']');
    snprintf(text, sizeof text, "%s", buf.ptr);
    sma_buf_fini(&buf);
    sma_msg_destroy(msg);
    return text;
}
#define CHECK_ORDER(wanted, world) CHECK_STR(wanted, sma_str(order(world)))

CASE(run_carries_what_was_fetched_after_a_crash_too)
{
    SMA_AUTO(end_world) struct world world;
    struct sma_part parts[] = {PHOTO("1"),
                               {.kind = SMA_PART_FILE,
                                .path = SMA_STR(".ship/.cache/test/2"),
                                .name = SMA_STR("offer.pdf"),
                                .mime = SMA_STR("application/pdf")}};
    const char *wanted = "1[1:.ship/.cache/test/1:cat 1:; "
                         "2:.ship/.cache/test/2:offer.pdf:application/pdf]";
    new_world(&world);
    (void)say_as(&world, TEST, SAY("1", .preparation = "[1]"));
    run(&world);
    CHECK_INT(1, (int)prepare_parts(&world, parts, 2));
    run(&world);
    CHECK_ORDER(wanted, &world);
    crash_world(&world);
    CHECK_INT(0, (int)count_kept(&world.test, SMA_MSG_PREPARE));
    CHECK_ORDER(wanted, &world);
}

CASE(what_comes_with_the_message_starts_at_once_and_is_kept)
{
    SMA_AUTO(end_world) struct world world;
    struct sma_part parts[] = {PHOTO("1")}, more[] = {PHOTO("2"), PHOTO("3")};
    new_world(&world);
    (void)say_as(&world, TEST, SAY("1", .parts = parts, .part_count = 1));
    (void)say_as(&world, TEST, SAY("2", .parts = more, .part_count = 2)); /* waits */
    run(&world);
    CHECK_ORDER("1[1:.ship/.cache/test/1:cat 1:]", &world);
    CHECK_ORDER("", &world);
    crash_world(&world);
    CHECK_ORDER("1[1:.ship/.cache/test/1:cat 1:]", &world);
    done(&world, 1, "ok", NULL, 0);
    run(&world);
    CHECK_ORDER("2[1:.ship/.cache/test/2:cat 2:; 1:.ship/.cache/test/3:cat 3:]", &world);
}

CASE(what_is_fetched_follows_what_came_along)
{
    SMA_AUTO(end_world) struct world world;
    struct sma_part came[] = {PHOTO("1")}, fetched[] = {PHOTO("2")};
    new_world(&world);
    (void)say_as(&world, TEST, SAY("1", .preparation = "[1]", .parts = came, .part_count = 1));
    run(&world);
    CHECK_INT(1, (int)prepare_parts(&world, fetched, 1));
    run(&world);
    CHECK_ORDER("1[1:.ship/.cache/test/1:cat 1:; 1:.ship/.cache/test/2:cat 2:]", &world);
}

CASE(each_piece_of_an_album_has_its_own)
{
    SMA_AUTO(end_world) struct world world;
    struct sma_part parts[3][1] = {{PHOTO("1")}, {PHOTO("2")}, {PHOTO("3")}};
    const char *wanted = "1[1:.ship/.cache/test/1:cat 1:] 2[1:.ship/.cache/test/2:cat 2:] "
                         "3[1:.ship/.cache/test/3:cat 3:]";
    new_world(&world);
    for (int i = 0; i < 3; i++) {
        char id[2] = {(char)('1' + i), '\0'};
        (void)say_as(&world, TEST, SAY(id, .preparation = "[1]", .group_key = "album"));
        run(&world);
    }
    for (int i = 0; i < 3; i++)
        CHECK_INT(i + 1, (int)prepare_parts(&world, parts[i], 1));
    run_for(&world, 5 * SECOND);
    CHECK_ORDER(wanted, &world);
    crash_world(&world);
    CHECK_ORDER(wanted, &world);
}

CASE(collected_messages_bring_theirs)
{
    SMA_AUTO(end_world) struct world world;
    struct sma_part parts[] = {PHOTO("2")};
    make_world(&world);
    world.config.queue_mode = SMA_QUEUE_COLLECT;
    open_world(&world);
    (void)say_as(&world, TEST, SAY("1"));
    (void)say_as(&world, TEST, SAY("2", .parts = parts, .part_count = 1));
    (void)say_as(&world, TEST, SAY("3"));
    run(&world);
    CHECK_ORDER("1[]", &world);
    done(&world, 1, "ok", NULL, 0);
    run(&world);
    CHECK_ORDER("3[] 2[1:.ship/.cache/test/2:cat 2:]", &world);
}

/* More than a message may have: the first ones, and the rest is left out. */
CASE(more_than_the_bound_are_left_out)
{
    struct sma_part parts[SMA_ATTACHMENT_COUNT_MAX + 1], read[SMA_ATTACHMENT_COUNT_MAX];
    uint32_t count;
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    for (size_t i = 0; i < SMA_COUNT_OF(parts); i++)
        parts[i] = (struct sma_part)PHOTO("x");
    sma_buf_init(&buf, 65536);
    sma_store_message_parts_put(&buf, parts, SMA_COUNT_OF(parts));
    sma_store_message_parts_put(&buf, parts, 1);
    CHECK_OK(sma_store_message_parts_get(sma_buf_str(&buf), read, &count));
    CHECK_INT(SMA_ATTACHMENT_COUNT_MAX, (int)count);
}

static struct store_facts plain_facts(void)
{
    return (struct store_facts){.route = {.channel = SMA_STR("test"), .chat_id = SMA_STR("a")},
                                .wall_ms = 1700000000000,
                                .accepted_ms = 1700000000001};
}

CASE(message_without_parts_costs_no_byte)
{
    struct store_facts facts = plain_facts();
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    sma_store_facts_put(&buf, &facts);
    /* version, flags, wall time; ten fields of 4-byte length; "test", "a"; time of acceptance */
    CHECK_INT(1 + 1 + 8 + 10 * 4 + 4 + 1 + 8, (int)buf.len);
    CHECK_OK(sma_store_facts_get(sma_buf_str(&buf), &facts));
    CHECK_INT(0, (int)facts.parts.len);
}

CASE(tail_that_is_not_known_is_passed_over)
{
    struct store_facts facts = plain_facts();
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    facts.parts = SMA_STR("12345");
    sma_buf_init(&buf, 65536);
    sma_store_facts_put(&buf, &facts);
    size_t tail = 1 + 4 + 5;
    sma_buf_put(&buf, "?\3\0\0\0abc", 8);
    CHECK_OK(sma_store_facts_get(sma_buf_str(&buf), &facts));
    CHECK_STR("12345", facts.parts);
    for (size_t len = buf.len - 8 - tail + 1; len < buf.len; len++)
        if (len != buf.len - 8) /* between the two nothing is missing */
            CHECK_INT(SMA_ERR_CORRUPT, sma_store_facts_get((struct sma_str){buf.ptr, len}, &facts));
}

CASE(cut_parts_are_damage)
{
    struct sma_part part = PHOTO("1"), read[SMA_ATTACHMENT_COUNT_MAX];
    uint32_t count;
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    sma_store_message_parts_put(&buf, &part, 1);
    for (size_t len = 1; len < buf.len; len++)
        CHECK_INT(SMA_ERR_CORRUPT,
                  sma_store_message_parts_get((struct sma_str){buf.ptr, len}, read, &count));
}

CASES_MAIN
