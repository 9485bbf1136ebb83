/*
 * sim_parts.c — pictures of messages: some come with them, some are fetched before the run; the RUN
 * that the agent gets, in whatever life, holds those and no others. /retry brings those of the
 * messages that it answers again.
 *
 * What an event brings follows from the event alone, so that no seed becomes another one.
 */
#include "sim.h"

#include "sma/text.h"

bool parts_come_with(const struct world *world, const struct event *event)
{
    return event->type != EVENT_COMMAND && event->type != EVENT_MOVE &&
           event->preparation[0] == '\0' && (event - world->events) % 5 == 2;
}

static struct sma_part part_at(char path[PARTS_PATH_SIZE], const char *folder, struct sma_str id)
{
    snprintf(path, PARTS_PATH_SIZE, "%s/%.*s", folder, (int)id.len, id.ptr);
    return (struct sma_part){
        .kind = SMA_PART_IMAGE, .path = sma_str(path), .name = SMA_STR("a picture")};
}

struct sma_part parts_said(char path[PARTS_PATH_SIZE], const struct event *event)
{
    return part_at(path, "said", sma_str(event->id));
}

struct sma_part parts_fetched(char path[PARTS_PATH_SIZE], struct sma_str message_id)
{
    return part_at(path, "fetched", message_id);
}

/* Event ids are "e1", "e2", ...; a message of a chat that has moved is known by its number. */
static const struct event *event_of(const struct world *world, struct sma_str id, uint64_t seq)
{
    int64_t number;
    for (uint32_t i = 0; id.len == 0 && i < world->event_count; i++)
        if (world->events[i].seq == seq)
            return &world->events[i];
    if (id.len < 2 || id.ptr[0] != 'e' ||
        sma_parse_i64((struct sma_str){id.ptr + 1, id.len - 1}, 1, world->event_count, &number) !=
            SMA_ERR_OK)
        return NULL;
    return &world->events[number - 1];
}

/* Its platform was asked, and has not answered for so long that nobody waits for it any more. By
 * the row's number: of a chat that has moved the question names no message. */
static bool is_given_up(const struct world *world, uint64_t seq)
{
    for (uint32_t i = 0; i < world->prepare_count; i++) {
        const struct sma_prepare *prepare = SMA_MSG_BODY(world->prepares[i], struct sma_prepare);
        if (prepare->seq == seq &&
            world_now(world) - world->prepare_ns[i] >= (SMA_PREPARE_S - 1) * SECOND)
            return true;
    }
    return false;
}

void parts_note_given_up(struct world *world)
{
    for (uint32_t i = 0; i < world->event_count; i++)
        if (world->events[i].seq != 0 && is_given_up(world, world->events[i].seq))
            world->events[i].has_run_without = true;
}

/* -- /retry ------------------------------------------------------------------------------------ */
static bool is_retry(const struct event *event)
{
    return sma_str_starts_with(sma_str(event->text), SMA_STR("/retry"));
}

/* Which message of this chat and author has this picture, none of those before `from`. A picture
 * asked for after its chat had moved does not tell its message: the next one that fits. */
static const struct event *owner_of(const struct world *world, const struct event *retry,
                                    const struct sma_part *part, const struct event *from)
{
    char path[PARTS_PATH_SIZE];
    for (const struct event *event = from; event < world->events + world->event_count; event++) {
        bool is_fetched = event->preparation[0] != '\0';
        if (event->platform != retry->platform || event->chat != retry->chat ||
            strcmp(event->user, retry->user) != 0 ||
            (!is_fetched && !parts_come_with(world, event)))
            continue;
        struct sma_part own =
            is_fetched ? parts_fetched(path, sma_str(event->id)) : parts_said(path, event);
        bool is_nameless =
            is_fetched && world->has_moves && sma_str_is_equal(part->path, SMA_STR("fetched/"));
        if (part->kind == own.kind && sma_str_is_equal(part->name, own.name) &&
            (is_nameless || sma_str_is_equal(part->path, own.path)))
            return event;
    }
    return NULL;
}

/* Its words are in there: only of those that nobody else says. */
static bool is_said_in(const struct event *event, struct sma_str text)
{
    return event->type == EVENT_PLAIN &&
           memmem(text.ptr, text.len, event->text, strcspn(event->text, "|")) != NULL;
}

static bool has_picture_of(const struct world *world, const struct event *retry,
                           const struct event *event, const struct sma_collected *message)
{
    for (uint32_t i = 0; i < message->part_count; i++)
        if (owner_of(world, retry, &message->parts[i], event) == event)
            return true;
    return false;
}

/* Its pictures are those of the messages that it answers again: whoever's words are in there has
 * his there, in their order, and nobody else's are. */
static void judge_retry(struct world *world, const struct event *retry,
                        const struct sma_collected *message)
{
    const struct event *next = world->events;
    for (uint32_t i = 0; i < message->part_count; i++) {
        const struct event *owner = owner_of(world, retry, &message->parts[i], next);
        bool is_wrong = owner == NULL || owner == retry ||
                        (owner->type == EVENT_PLAIN && !is_said_in(owner, message->text));
        if (is_wrong)
            complain(world, "%s answers again with a picture of nobody there: %.*s", retry->id,
                     (int)message->parts[i].path.len, message->parts[i].path.ptr);
        if (is_wrong)
            return;
        next = owner + 1;
    }
    for (uint32_t i = 0; i < world->event_count; i++) {
        const struct event *event = &world->events[i];
        bool is_wanted =
            event->preparation[0] != '\0'
                ? world->silent_percent == 0 && !world->has_late_prepare && !event->has_run_without
                : parts_come_with(world, event);
        if (is_wanted && message->part_count < SMA_ATTACHMENT_COUNT_MAX &&
            is_said_in(event, message->text) && !has_picture_of(world, retry, event, message))
            complain(world, "%s answers %s again without its picture", retry->id, event->id);
    }
}

/* -- messages ---------------------------------------------------------------------------------- */
/* Of one message of a run. */
static void judge_message(struct world *world, const struct sma_collected *message)
{
    struct sma_str id = message->message_id;
    const struct event *event = event_of(world, id, message->seq);
    const struct sma_part *parts = message->parts;
    uint32_t count = message->part_count;
    char path[PARTS_PATH_SIZE];
    if (message->change != SMA_CHANGE_NONE || (event == NULL && id.len == 0))
        return; /* its platform has not heard of its number yet */
    if (event == NULL) {
        complain(world, "a run of a message that nobody sent: %.*s", (int)id.len, id.ptr);
        return;
    }
    if (is_retry(event)) {
        judge_retry(world, event, message);
        return;
    }
    id = sma_str(event->id);
    bool is_fetched = event->preparation[0] != '\0';
    struct event *noted = &world->events[event - world->events];
    bool may_miss = is_fetched && (world->silent_percent > 0 || world->has_late_prepare ||
                                   noted->has_run_without || is_given_up(world, message->seq));
    uint32_t wanted = is_fetched || parts_come_with(world, event) ? 1 : 0;
    struct sma_part part = is_fetched ? parts_fetched(path, id) : parts_said(path, event);
    bool is_good = count == wanted || (may_miss && count == 0);
    noted->has_run_without |= may_miss && count == 0; /* nobody asks again in a later life */
    bool is_moved = count == 1 && message->message_id.len == 0 &&
                    sma_str_is_equal(parts[0].path, SMA_STR("fetched/")); /* asked after it had */
    if (is_good && count == 1)
        is_good = parts[0].kind == part.kind && sma_str_is_equal(parts[0].name, part.name) &&
                  (is_moved || sma_str_is_equal(parts[0].path, part.path));
    if (!is_good)
        complain(world, "%s runs with %u pictures, the first %.*s; wanted %u of %s", event->id,
                 count, count == 0 ? 0 : (int)parts[0].path.len,
                 count == 0 ? "" : parts[0].path.ptr, wanted, path);
}

void parts_judge(struct world *world, const struct sma_run_order *order)
{
    judge_message(world, &(struct sma_collected){.seq = order->seq,
                                                 .message_id = order->route.message_id,
                                                 .text = order->text,
                                                 .part_count = order->part_count,
                                                 .parts = order->parts});
    for (uint32_t i = 0; i < order->collected_count; i++)
        judge_message(world, &order->collected[i]);
    change_judge_order(world, order);
    world->run_order_count++;
    world->part_seen_count += order->part_count;
}

/* What the model is asked: files in their order, no marker left. */
void parts_judge_request(struct world *world, const struct sma_model_ask *ask)
{
    uint64_t from = 0;
    for (uint32_t i = 0; i < ask->file_count; i++) {
        const struct sma_body_file *file = &ask->files[i];
        if (file->offset < from || file->offset > ask->body.len || file->length != 1000 ||
            ask->body.ptr[file->offset] != '"')
            complain(world, "run %llu: a picture stands where it should not",
                     (unsigned long long)ask->seq);
        from = file->offset;
    }
    world->shown_picture_count += ask->file_count;
    if (memmem(ask->body.ptr, ask->body.len, ",sma-part:", 10) != NULL)
        complain(world, "run %llu: a marker is left in a request", (unsigned long long)ask->seq);
}
