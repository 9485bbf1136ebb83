/*
 * sim_change.c — people edit and withdraw what they have said; the judge of what becomes of it,
 * and of what two bots, groups and steering promise about every message that the agent is given.
 *
 * Promises: an edit that was acknowledged before the message's run is what the run sees; only its
 * author writes a message anew; what was withdrawn before its run is not answered; an edit goes
 * with one run at most; a message is answered by the bot, and in the chat, to which it was said;
 * chatter of a group runs for nobody who has not spoken to the bot before.
 *
 * "Before" is only sure when the agent has seen nothing of the message for a while after the
 * acknowledgement: an order that was on its way then is older than the edit.
 */
#include "sim.h"

#define SURE_NS (10 * SECOND)
#define TRY_COUNT 8

/* -- people ------------------------------------------------------------------------------------ */
static bool may_be_changed(const struct world *world, const struct event *event)
{
    if (event->type != EVENT_PLAIN || !event->is_acked || event->seq == 0 ||
        event->group_key[0] != '\0' || event->preparation[0] != '\0')
        return false;
    for (uint32_t i = 0; i < world->event_count; i++)
        if (world->events[i].target == event && world->events[i].type == EVENT_RECALL)
            return false;
    return true;
}

void change_new_event(struct world *world)
{
    struct chance *chance = &world->chance;
    struct event *target = NULL;
    if (world->event_count == 0 || world->event_count == EVENT_COUNT_MAX)
        return;
    for (int i = 0; i < TRY_COUNT && target == NULL; i++) {
        /* Of the newest most are not begun yet. */
        uint64_t back = draw(chance, world->event_count < 12 ? world->event_count : 12);
        target = &world->events[world->event_count - 1 - back];
        target = may_be_changed(world, target) ? target : NULL;
    }
    if (target == NULL)
        return;
    struct event *event = &world->events[world->event_count++];
    uint32_t number = world->event_count;
    event->target = target;
    event->type = draw(chance, 3) == 0 ? EVENT_RECALL : EVENT_EDIT;
    event->platform = target->platform;
    event->chat = target->chat;
    event->place = target->place;
    event->addressed = event->first_addressed = SMA_ADDRESSED_NONE;
    snprintf(event->id, sizeof event->id, "e%u", number);
    memcpy(event->user, target->user, sizeof event->user);
    event->is_foreign = draw(chance, 8) == 0;
    if (event->is_foreign)
        event->user[1] = (char)('0' + (event->user[1] - '0' + 1) % 5);
    if (event->type == EVENT_EDIT)
        snprintf(event->text, sizeof event->text, "%.*s anew-%u-", (int)strcspn(target->text, "|"),
                 target->text, number);
    load_deliver(world, event);
}

void change_acked(struct world *world, struct event *event)
{
    event->acked_life = world->life;
    event->acked_ns = world_now(world);
}

/* -- what the agent is given ------------------------------------------------------------------- */
/* Was this acknowledged so long ago that whatever is given now was made after it? */
static bool is_surely_before(const struct world *world, const struct event *change)
{
    uint64_t until_ns = change->acked_life == world->life ? world_now(world)
                                                          : world->lives[change->acked_life].end_ns;
    return change->is_acked && change->seq != 0 && until_ns >= change->acked_ns + SURE_NS;
}

static bool has_words(struct sma_str text, const struct event *edit)
{
    char mark[24];
    snprintf(mark, sizeof mark, " anew-%s-", edit->id + 1);
    return memmem(text.ptr, text.len, mark, strlen(mark)) != NULL;
}

/* The newest edit of its author that was surely there before; NULL = none, or one is under way. */
static const struct event *newest_edit(const struct world *world, const struct event *target)
{
    const struct event *newest = NULL;
    for (uint32_t i = 0; i < world->event_count; i++) {
        const struct event *edit = &world->events[i];
        if (edit->target != target || edit->type != EVENT_EDIT || edit->is_foreign)
            continue;
        if (!is_surely_before(world, edit) && edit->tries > 0)
            return NULL;
        if (newest == NULL || edit->seq > newest->seq)
            newest = edit;
    }
    return newest;
}

static void judge_first(struct world *world, const struct event *event, struct sma_str text)
{
    const struct event *edit = newest_edit(world, event);
    /* What may answer a card is read as it was said. */
    if (edit != NULL && !world->has_consent && !has_words(text, edit))
        complain(world, "%s runs with words older than %s: %.*s", event->id, edit->id,
                 (int)text.len, text.ptr);
    world->edited_count += edit != NULL;
    for (uint32_t i = 0; i < world->event_count; i++) {
        const struct event *recall = &world->events[i];
        if (recall->target == event && recall->type == EVENT_RECALL &&
            is_surely_before(world, recall))
            complain(world, "%s was withdrawn by %s and runs", event->id, recall->id);
    }
}

/* By the name that its platform gave it; else by its number, of which the platform may not have
 * heard yet. */
static struct event *event_with(struct world *world, struct sma_str id, uint64_t seq)
{
    int64_t number;
    if (id.len > 1 && id.ptr[0] == 'e' &&
        sma_parse_i64((struct sma_str){id.ptr + 1, id.len - 1}, 1, world->event_count, &number) ==
            SMA_ERR_OK)
        return &world->events[number - 1];
    for (uint32_t i = 0; i < world->event_count; i++)
        if (world->events[i].seq == seq && world->events[i].is_acked)
            return &world->events[i];
    return NULL;
}

static bool has_spoken_before(const struct world *world, const struct event *event, uint64_t seq)
{
    for (uint32_t i = 0; i < world->event_count; i++) {
        const struct event *other = &world->events[i];
        bool is_to_bot = other->first_addressed != SMA_ADDRESSED_NONE || other->is_upgraded;
        if (is_to_bot && other->platform == event->platform && other->chat == event->chat &&
            strcmp(other->user, event->user) == 0 && (!other->is_acked || other->seq < seq))
            return true;
    }
    return false;
}

/* A note that is told while a run is open may come too late for it: with an order it goes. */
static void judge_note(struct world *world, uint64_t run, const struct sma_collected *message)
{
    struct event *event = event_with(world, SMA_STR(""), message->seq);
    if (event != NULL) {
        if (event->told_run != 0 && event->told_run != run && message->change == SMA_CHANGE_EDIT)
            complain(world, "%s was told to run %" PRIu64 " and to run %" PRIu64, event->id,
                     event->told_run, run);
        event->told_run = run;
        world->told_count++;
    }
}

void change_judge(struct world *world, const struct sma_collected *message)
{
    struct event *event = event_with(world, message->message_id, message->seq);
    if (event == NULL || message->change != SMA_CHANGE_NONE)
        return;
    if (event->type != EVENT_COMMAND) { /* /retry runs another message */
        for (uint32_t i = 0; i < world->event_count; i++)
            if (world->events[i].is_foreign && has_words(message->text, &world->events[i]))
                complain(world, "%s runs with words of somebody else", event->id);
        if (event->type == EVENT_PLAIN && !event->has_begun)
            judge_first(world, event, message->text);
        if (event->first_addressed == SMA_ADDRESSED_NONE && !event->is_upgraded &&
            event->addressed == SMA_ADDRESSED_NONE && event->group_key[0] == '\0' &&
            !has_spoken_before(world, event, message->seq))
            complain(world, "%s spoke to nobody and runs", event->id);
    }
    event->has_begun = true;
}

void change_judge_order(struct world *world, const struct sma_run_order *order)
{
    const struct event *event = event_with(world, order->route.message_id, order->seq);
    const char *channel = event == NULL ? NULL : world_channel(world, event->platform);
    if (event != NULL && (order->route.adapter != SMA_ACTOR_ADAPTER_0 + event->platform ||
                          !sma_str_is_equal(order->route.channel, sma_str(channel))))
        complain(world, "%s was said to %s and runs for %.*s, adapter %u", event->id, channel,
                 (int)order->route.channel.len, order->route.channel.ptr,
                 order->route.adapter - SMA_ACTOR_ADAPTER_0);
    change_judge(world, &(struct sma_collected){.seq = order->seq,
                                                .message_id = order->route.message_id,
                                                .text = order->text});
    for (uint32_t i = 0; i < order->collected_count; i++) {
        const struct sma_collected *message = &order->collected[i];
        if (message->change != SMA_CHANGE_NONE)
            judge_note(world, order->seq, message);
        else
            change_judge(world, message);
    }
}

/* -- what is shown ----------------------------------------------------------------------------- */
void change_judge_shown(struct world *world, const struct row *row,
                        const struct sma_attempt *attempt)
{
    const struct event *event = event_with(world, SMA_STR(""), attempt->seq);
    bool may_go_elsewhere = event == NULL || row->intent != SMA_INTENT_ASSISTANT_TEXT ||
                            memmem(attempt->part_bytes.ptr, attempt->part_bytes.len, "hi #", 4);
    if (!may_go_elsewhere && (event->platform != row->platform || event->chat != row->chat))
        complain(world, "%s was said in chat %u.%u and is answered in %u.%u: %.*s", event->id,
                 event->platform, event->chat, row->platform, row->chat,
                 (int)attempt->part_bytes.len, attempt->part_bytes.ptr);
}

/* -- at rest ----------------------------------------------------------------------------------- */
bool change_is_withdrawn(const struct world *world, const struct event *event)
{
    for (uint32_t i = 0; i < world->event_count; i++)
        if (world->events[i].target == event && world->events[i].type == EVENT_RECALL)
            return true;
    return false;
}

void change_check(struct world *world, const struct event *event, uint8_t state)
{
    if (state == SMA_ROW_CANCELLED || state == SMA_ROW_IGNORED || state == SMA_ROW_BUSY ||
        event->has_begun || !event->is_acked)
        return;
    complain(world, "%s was withdrawn, never given to the agent, and is in state %u", event->id,
             state);
}
