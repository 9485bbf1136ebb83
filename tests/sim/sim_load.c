/* sim_load.c — people who write, platforms that deliver again and answer attempts as chance wills;
 * the ledger. */
#include "sim.h"

#include <stdarg.h>

#define ATTEMPT_DEADLINE_NS (SMA_ATTEMPT_TIMEOUT_S * SECOND)

uint64_t draw(struct chance *chance, uint64_t below)
{
    chance->state = chance->state * 6364136223846793005u + 1442695040888963407u;
    return (chance->state >> 33) % below;
}

void complain(struct world *world, const char *format, ...)
{
    if (world->broken_count++ >= 10)
        return;
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "BROKEN (life %u, step %" PRIu64 "): ", world->life, world->step_count);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

/* -- events ------------------------------------------------------------------------------------ */
static const char *const commands[] = {"/stop", "/clear", "/status", "/help", "/nonsense", "/停止"};
static const char *const choices[] = {"/model 1", "/model second", "/model default",
                                      "/model",   "/model no",     "/new",
                                      "/stop",    "/retry",        "/retry anyway"};

static uint8_t draw_type(struct world *world)
{
    uint64_t number = draw(&world->chance, 100);
    if (number < 55)
        return EVENT_PLAIN;
    if (number < 65)
        return EVENT_SAME;
    if (number < 73)
        return EVENT_PAST;
    if (number < 78)
        return EVENT_TELL;
    if (number < 81)
        return EVENT_FAIL;
    return number < 88 ? EVENT_SLOW : EVENT_COMMAND;
}

static void write_text(struct world *world, struct event *event, uint32_t number)
{
    char *text = event->text;
    size_t size = sizeof event->text;
    switch (event->type) {
    case EVENT_PLAIN: {
        static const char *const ends[] = {"", "|second|third", " 你好 \"q\"\n\\ \t ok", "|again"};
        snprintf(text, size, "hello #%u#%s", number,
                 ends[draw(&world->chance, SMA_COUNT_OF(ends))]);
        return;
    }
    case EVENT_SAME:
        snprintf(text, size, "same words");
        return;
    case EVENT_PAST:
        snprintf(text, size, "what did I say earlier? #%u#", number);
        return;
    case EVENT_TELL:
        snprintf(text, size, "tell u%u: hi #%u#", (unsigned)draw(&world->chance, 6), number);
        return;
    case EVENT_FAIL:
        snprintf(text, size, "fail model #%u#", number);
        return;
    case EVENT_SLOW:
        snprintf(text, size, "wait %u ms #%u#", (unsigned)draw(&world->chance, 60000) + 1, number);
        return;
    default:
        snprintf(text, size, "%s",
                 world->has_choices ? choices[draw(&world->chance, SMA_COUNT_OF(choices))]
                                    : commands[draw(&world->chance, SMA_COUNT_OF(commands))]);
        event->control = (uint8_t)sma_control_parse(sma_str(text));
    }
}

/* As fake_adapter_inject, with everything that an event of this world may have. */
static SMA_CHECKED enum sma_err inject(struct world *world, struct event *event)
{
    struct sma_ctx *ctx = sma_system_ctx(world->system, world->adapters[event->platform].actor);
    const char *channel = world_channel(world, event->platform);
    char chat[8], chat_key[64];
    char former_key[64] = "", name[16];
    /* A name that two people share is nobody's: who is told is of the first platform. */
    snprintf(name, sizeof name, "%s%s", event->platform > 0 ? "other-" : "", event->user);
    snprintf(chat, sizeof chat, "%u", event->place);
    if (event->type == EVENT_MOVE)
        snprintf(former_key, sizeof former_key, "%s:chat:%u", channel, event->chat);
    snprintf(chat_key, sizeof chat_key, "%s:chat:%s", channel, chat);
    const struct sma_route route = {.adapter = (uint8_t)sma_ctx_self(ctx),
                                    .channel = sma_str(channel),
                                    .chat_key = sma_str(chat_key),
                                    .chat_id = sma_str(chat),
                                    .message_id = sma_str(event->id),
                                    .user_id = sma_str(event->user),
                                    .user_name = sma_str(name)};
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_INGRESS, struct sma_ingress,
                                      sma_route_space(&route) + sizeof event->text + 1024);
    SMA_ASSERT(msg != NULL);
    struct sma_ingress *in = SMA_MSG_BODY(msg, struct sma_ingress);
    in->route = sma_route_dup(msg, &route);
    in->text = sma_msg_dup(msg, sma_str(event->text));
    in->event_key = sma_msg_dup(msg, sma_str(event->id));
    in->preparation = sma_msg_dup(msg, sma_str(event->preparation));
    in->group_key = sma_msg_dup(msg, sma_str(event->group_key));
    in->control = (uint8_t)sma_control_parse(sma_str(event->text));
    in->kind = in->control != SMA_CONTROL_NONE ? SMA_EVENT_CONTROL : SMA_EVENT_MESSAGE;
    if (event->type == EVENT_MOVE || event->target != NULL)
        in->kind = SMA_EVENT_NOTE;
    if (event->target != NULL) {
        in->change = event->type == EVENT_EDIT ? SMA_CHANGE_EDIT : SMA_CHANGE_RECALL;
        in->target_id = sma_msg_dup(msg, sma_str(event->target->id));
    }
    in->migrated_from = sma_msg_dup(msg, sma_str(former_key));
    in->addressed = event->addressed;
    in->is_group = load_is_group(world, event);
    in->wall_ms = sma_ctx_wall(ctx);
    in->stamps.read_ns = in->stamps.parsed_ns = sma_ctx_now(ctx);
    if (parts_come_with(world, event)) {
        char path[PARTS_PATH_SIZE];
        in->parts = sma_msg_space(msg, sizeof *in->parts);
        *in->parts = parts_said(path, event);
        in->parts->path = sma_msg_dup(msg, in->parts->path);
        in->part_count = 1;
    }
    return sma_ctx_ask(ctx, SMA_ACTOR_STORE, &msg, 0, &event->ask_id);
}

void load_deliver(struct world *world, struct event *event)
{
    SMA_ASSERT(event->ask_id == 0);
    if (event->tries++ == 0)
        event->crash_count_first = world->crash_count;
    enum sma_err err = inject(world, event);
    if (err != SMA_ERR_OK)
        event->ask_id = 0; /* the edge is full: the platform comes again */
}

/* -- people and platforms that need preparing -------------------------------------------------- */
bool load_is_group(const struct world *world, const struct event *event)
{
    return world->has_people && event->chat % 2 == 1;
}

static bool is_admin(const char *user)
{
    return (user[1] - '0') % 2 == 0;
}

bool load_may_be_refused(const struct world *world, const struct event *event)
{
    /* A platform that does not answer makes everybody a member. */
    return load_is_group(world, event) && world->is_strict &&
           (!is_admin(event->user) || world->silent_percent > 0 || world->has_late_prepare);
}

void load_take_prepare(struct world *world, unsigned platform, struct sma_msg **msg)
{
    SMA_ASSERT(world->prepare_count < PREPARE_COUNT_MAX);
    uint32_t place = world->prepare_count++;
    world->prepares[place] = *msg;
    world->prepare_platform[place] = (uint8_t)platform;
    world->is_prepare_silent[place] = draw_percent(&world->chance, world->silent_percent);
    world->prepare_ns[place] = world_now(world);
    *msg = NULL;
}

static void answer_prepare(struct world *world, uint32_t place)
{
    struct sma_msg *question = world->prepares[place];
    struct sma_ctx *ctx =
        sma_system_ctx(world->system, world->adapters[world->prepare_platform[place]].actor);
    const struct sma_prepare *prepare = SMA_MSG_BODY(question, struct sma_prepare);
    struct sma_msg *msg = SMA_MSG_NEW(SMA_MSG_PREPARED, struct sma_prepared, 512);
    SMA_ASSERT(msg != NULL);
    struct sma_prepared *prepared = SMA_MSG_BODY(msg, struct sma_prepared);
    prepared->seq = prepare->seq;
    if (prepare->wants_role)
        prepared->role = is_admin(prepare->route.user_id.ptr) ? SMA_ROLE_ADMIN : SMA_ROLE_MEMBER;
    if (prepare->preparation.len > 0) {
        char path[PARTS_PATH_SIZE];
        prepared->context = sma_msg_dup(msg, SMA_STR("a file was fetched"));
        prepared->parts = sma_msg_space(msg, sizeof *prepared->parts);
        *prepared->parts = parts_fetched(path, prepare->route.message_id);
        prepared->parts->path = sma_msg_dup(msg, prepared->parts->path);
        prepared->part_count = 1;
    }
    sma_ctx_answer(ctx, question, &msg);
    sma_msg_destroy(question);
    if (world_now(world) - world->prepare_ns[place] >= (SMA_PREPARE_S - 1) * SECOND)
        world->has_late_prepare = true;
    uint32_t last = --world->prepare_count;
    world->prepare_ns[place] = world->prepare_ns[last];
    world->prepares[place] = world->prepares[last];
    world->prepare_platform[place] = world->prepare_platform[last];
    world->is_prepare_silent[place] = world->is_prepare_silent[last];
}

bool load_answer_prepare(struct world *world)
{
    if (world->prepare_count == 0)
        return false;
    uint32_t first = (uint32_t)draw(&world->chance, world->prepare_count);
    for (uint32_t i = 0; i < world->prepare_count; i++) {
        uint32_t place = (first + i) % world->prepare_count;
        if (world->is_prepare_silent[place])
            continue;
        answer_prepare(world, place);
        return true;
    }
    return false;
}

/* A photo, or several of one album at once. */
static void draw_extras(struct world *world, struct event *event)
{
    if (!world->has_people || event->type == EVENT_COMMAND)
        return;
    const struct event *before = world->event_count > 1 ? event - 1 : NULL;
    bool is_next_piece =
        before != NULL && before->group_key[0] != '\0' && draw(&world->chance, 3) > 0;
    if (draw(&world->chance, 6) == 0)
        snprintf(event->preparation, sizeof event->preparation, "[1]");
    if (is_next_piece) {
        event->platform = before->platform;
        event->chat = before->chat;
        memcpy(event->user, before->user, sizeof event->user);
        memcpy(event->group_key, before->group_key, sizeof event->group_key);
    } else if (draw(&world->chance, 12) == 0) {
        snprintf(event->group_key, sizeof event->group_key, "g%u", world->event_count);
    }
    if (load_is_group(world, event) && draw(&world->chance, 3) == 0)
        event->addressed = SMA_ADDRESSED_NONE;
    event->first_addressed = event->addressed;
}

/* Only the first chats have room for a second digit. */
static bool can_move(const struct event *event)
{
    return event->chat + CHAT_COUNT_MAX <= 9;
}

/* Now and then a chat moves; messages under the new id may come before we are told, under the old
 * one after. */
static void draw_place(struct world *world, struct event *event)
{
    event->place = event->chat;
    if (!world->has_moves || !can_move(event))
        return;
    bool *is_told = &world->is_told[event->platform][event->chat];
    bool *is_mixed = &world->is_mixed[event->platform][event->chat];
    bool is_new_id = *is_told ? draw(&world->chance, 8) > 0 : draw(&world->chance, 40) == 0;
    if (!*is_told && event->group_key[0] == '\0' && draw(&world->chance, 25) == 0) {
        *is_told = is_new_id = true;
        event->type = EVENT_MOVE;
        event->control = SMA_CONTROL_NONE;
        event->text[0] = event->preparation[0] = '\0';
        event->addressed = event->first_addressed = SMA_ADDRESSED_NONE;
    }
    /* Until the note is taken in both are chats of their own. */
    *is_mixed = *is_mixed || (is_new_id && event->type != EVENT_MOVE);
    event->place = (uint8_t)(event->chat + (is_new_id ? CHAT_COUNT_MAX : 0));
}

void load_new_event(struct world *world)
{
    if (world->event_count == EVENT_COUNT_MAX)
        return;
    struct chance *chance = &world->chance;
    struct event *event = &world->events[world->event_count++];
    event->platform = (uint8_t)draw(chance, PLATFORM_COUNT);
    event->chat = (uint8_t)draw(chance, world->chat_count);
    event->type = draw_type(world);
    if (event->type != EVENT_COMMAND && world->is_chatty && draw(chance, 3) == 0)
        event->addressed = SMA_ADDRESSED_NONE;
    event->first_addressed = event->addressed;
    snprintf(event->id, sizeof event->id, "e%u", world->event_count);
    snprintf(event->user, sizeof event->user, "u%u", (unsigned)draw(chance, 5));
    write_text(world, event, world->event_count);
    draw_extras(world, event);
    draw_place(world, event);
    load_deliver(world, event);
}

bool load_redeliver(struct world *world)
{
    uint32_t first =
        world->event_count == 0 ? 0 : (uint32_t)draw(&world->chance, world->event_count);
    for (uint32_t i = 0; i < world->event_count; i++) {
        struct event *event = &world->events[(first + i) % world->event_count];
        if (event->is_acked || event->ask_id != 0)
            continue;
        load_deliver(world, event);
        return true;
    }
    return false;
}

void load_duplicate(struct world *world)
{
    if (world->event_count == 0)
        return;
    uint32_t back =
        (uint32_t)draw(&world->chance, world->event_count < 20 ? world->event_count : 20);
    struct event *event = &world->events[world->event_count - 1 - back];
    if (event->ask_id != 0 || (event->target != NULL && event->seq == 0))
        return; /* what nothing came of may come of it the second time */
    if (event->target == NULL && event->addressed == SMA_ADDRESSED_NONE &&
        draw(&world->chance, 2) == 0)
        event->addressed = SMA_ADDRESSED_MENTION; /* a copy that speaks to us */
    load_deliver(world, event);
}

bool load_is_all_acked(const struct world *world)
{
    for (uint32_t i = 0; i < world->event_count; i++)
        if (!world->events[i].is_acked || world->events[i].ask_id != 0)
            return false;
    return true;
}

void load_forget_questions(struct world *world)
{
    for (uint32_t i = 0; i < world->event_count; i++)
        world->events[i].ask_id = 0;
    parts_note_given_up(world);
    while (world->prepare_count > 0)
        sma_msg_destroy(world->prepares[--world->prepare_count]);
}

/* -- acknowledgements -------------------------------------------------------------------------- */
static void take_first(struct world *world, struct event *event,
                       const struct fake_accepted *accepted)
{
    event->is_acked = true;
    event->seq = accepted->seq;
    event->verdict = accepted->verdict;
    event->is_accepted_told = accepted->verdict == SMA_VERDICT_ACCEPTED;
    if (event->target != NULL)
        change_acked(world, event);
    if (accepted->seq == 0 && event->target == NULL)
        complain(world, "%s was acknowledged without a number", event->id);
    if (accepted->verdict == SMA_VERDICT_DUPLICATE && event->tries < 2)
        complain(world, "%s was called a duplicate the first time it came", event->id);
    if (accepted->verdict == SMA_VERDICT_IGNORED && event->first_addressed != SMA_ADDRESSED_NONE &&
        !load_may_be_refused(world, event))
        complain(world, "%s spoke to the bot and was ignored", event->id);
    if (accepted->verdict == SMA_VERDICT_BUSY)
        world->busy_count++;
}

static void take_again(struct world *world, struct event *event,
                       const struct fake_accepted *accepted)
{
    world->duplicate_count++;
    if (accepted->seq != event->seq)
        complain(world, "%s has two numbers, %" PRIu64 " and %" PRIu64, event->id, event->seq,
                 accepted->seq);
    if (accepted->verdict == SMA_VERDICT_DUPLICATE)
        return;
    bool is_upgrade = accepted->verdict == SMA_VERDICT_ACCEPTED &&
                      event->first_addressed == SMA_ADDRESSED_NONE &&
                      event->addressed != SMA_ADDRESSED_NONE && !event->is_accepted_told;
    if (!is_upgrade)
        complain(world, "%s came again and got verdict %u, first %u", event->id, accepted->verdict,
                 event->verdict);
    event->is_upgraded = event->is_accepted_told = true;
}

void load_accepted(void *user, const struct fake_accepted *accepted)
{
    struct world *world = user;
    struct event *event = NULL;
    for (uint32_t i = 0; i < world->event_count && event == NULL; i++) {
        struct event *candidate = &world->events[i];
        if (candidate->ask_id == accepted->ask_id &&
            candidate->platform == accepted->adapter - SMA_ACTOR_ADAPTER_0)
            event = candidate;
    }
    if (event == NULL) {
        complain(world, "an answer to a question that nobody has open (%" PRIu64 ")",
                 accepted->ask_id);
        return;
    }
    event->ask_id = 0;
    if (accepted->verdict == SMA_VERDICT_REFUSED)
        world->refused_count++;
    else if (accepted->verdict == SMA_VERDICT_CONFLICT)
        complain(world, "%s: a conflict without a body to compare", event->id);
    else if (event->is_acked)
        take_again(world, event, accepted);
    else
        take_first(world, event, accepted);
}

/* -- the ledger -------------------------------------------------------------------------------- */
struct row *load_find_row(struct world *world, uint64_t outbox_id, bool may_add)
{
    size_t at = (size_t)((outbox_id * 0x9e3779b97f4a7c15u) >> 32) & (ROW_COUNT_MAX - 1);
    while (world->rows[at].outbox_id != 0 && world->rows[at].outbox_id != outbox_id)
        at = (at + 1) & (ROW_COUNT_MAX - 1);
    struct row *row = &world->rows[at];
    if (row->outbox_id != 0 || !may_add)
        return row->outbox_id != 0 ? row : NULL;
    SMA_ASSERT(world->row_count++ < ROW_COUNT_MAX / 2);
    row->outbox_id = outbox_id;
    return row;
}

/* The answer comes when the dispatcher may have given up waiting. */
static bool is_late(const struct fake_plan *plan)
{
    return plan->delay_ns + 2 * SECOND >= ATTEMPT_DEADLINE_NS;
}

/* A part may be shown again when its last showing was not known to the program: a crash, an answer
 * that was unknown or late, or a stop that did not wait for it. */
static bool may_show_again(const struct world *world, const struct part *part,
                           const struct sma_attempt *attempt)
{
    const struct life *life = &world->lives[part->shown_life];
    if (!attempt->is_repeat)
        return false;
    if (part->is_shown_unknown)
        return true;
    return part->shown_life != world->life &&
           (life->is_crash || part->shown_due_ns >= life->end_ns);
}

static void check_order(struct world *world, const struct row *row,
                        const struct sma_attempt *attempt)
{
    uint32_t step = sma_state_outbox_step(row->outbox_id);
    bool is_own = false;
    for (uint32_t i = 0; i < world->event_count && !is_own; i++) {
        const struct event *event = &world->events[i];
        is_own = event->seq == attempt->seq && event->platform == row->platform &&
                 event->chat == row->chat && !event->is_upgraded &&
                 event->first_addressed != SMA_ADDRESSED_NONE;
    }
    if (step == STORE_NOTICE_STEP || !is_own || world->is_mixed[row->platform][row->chat])
        return; /* notices come when they come; other chats' messages have their own numbers */
    uint64_t *newest = &world->newest_shown[row->platform][row->chat];
    uint32_t *newest_part = &world->newest_part[row->platform][row->chat];
    if (row->outbox_id < *newest || (row->outbox_id == *newest && attempt->part < *newest_part))
        complain(world, "chat %u.%u: %" PRIu64 ".%u was shown after %" PRIu64 ".%u", row->platform,
                 row->chat, row->outbox_id, attempt->part, *newest, *newest_part);
    *newest = row->outbox_id;
    *newest_part = attempt->part;
}

static void show(struct world *world, struct row *row, struct part *part,
                 const struct sma_attempt *attempt, const struct fake_plan *plan)
{
    if (part->seen_count > 0 && row->platform == 1)
        return; /* the platform knows the key */
    if (part->seen_count > 0) {
        if (!may_show_again(world, part, attempt))
            complain(world, "%" PRIu64 ".%u was shown twice without need, first in life %u: %s",
                     row->outbox_id, attempt->part, part->shown_life, part->text);
        world->window_count++;
    }
    check_order(world, row, attempt);
    change_judge_shown(world, row, attempt);
    if (row->intent == SMA_INTENT_ASSISTANT_TEXT)
        consent_check_shown(world, sma_str(part->text));
    part->shown_life = world->life;
    part->shown_due_ns =
        world_now(world) + plan->delay_ns + SECOND; /* and a while until it is durable */
    part->is_shown_unknown = plan->attempt_class == SMA_ATTEMPT_UNKNOWN || is_late(plan);
    part->seen_count++;
    world->shown_count++;
}

static struct part *enter_attempt(struct world *world, struct row *row,
                                  const struct sma_attempt *attempt)
{
    SMA_ASSERT(attempt->part < PART_COUNT_MAX && attempt->part_count <= PART_COUNT_MAX);
    struct part *part = &row->parts[attempt->part];
    row->platform = (uint8_t)(attempt->route.adapter - SMA_ACTOR_ADAPTER_0);
    row->chat = chat_of_place((unsigned)(attempt->route.chat_id.ptr[0] - '0'));
    row->intent = attempt->intent;
    row->part_count = attempt->part_count;
    if (part->text == NULL)
        part->text = strndup(attempt->part_bytes.ptr, attempt->part_bytes.len);
    else if (!sma_str_is_equal(sma_str(part->text), attempt->part_bytes))
        complain(world, "%" PRIu64 ".%u changed its text under one key", row->outbox_id,
                 attempt->part);
    char key[48];
    snprintf(key, sizeof key, "%" PRIu64 ".%u.", row->outbox_id, attempt->part);
    if (part->key[0] == '\0')
        snprintf(part->key, sizeof part->key, "%.*s", (int)attempt->idempotency_key.len,
                 attempt->idempotency_key.ptr);
    if (!sma_str_is_equal(sma_str(part->key), attempt->idempotency_key) ||
        !sma_str_starts_with(attempt->idempotency_key, sma_str(key)))
        complain(world, "%s came under another key", key);
    return part;
}

static void draw_fault(struct world *world, struct fake_plan *plan)
{
    struct chance *chance = &world->chance;
    uint64_t delay_ns = plan->delay_ns;
    switch (draw(chance, 6)) {
    case 0:
    case 1:
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_RETRY, .delay_ns = delay_ns};
        return;
    case 2:
        *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_RETRY_AFTER,
                                   .retry_after_ms = (uint32_t)draw(chance, 20000),
                                   .is_adapter_wide = draw(chance, 3) == 0,
                                   .delay_ns = delay_ns};
        return;
    case 3:
    case 4:
        plan->attempt_class = SMA_ATTEMPT_UNKNOWN;
        plan->is_seen = draw(chance, 2) == 0;
        return;
    default:
        if (draw(chance, 3) == 0)
            *plan = (struct fake_plan){.attempt_class = SMA_ATTEMPT_GIVE_UP, .delay_ns = delay_ns};
    }
}

void load_plan(void *user, const struct sma_attempt *attempt, unsigned number,
               struct fake_plan *plan)
{
    (void)number;
    struct world *world = user;
    struct row *row = load_find_row(world, attempt->outbox_id, true);
    struct part *part = enter_attempt(world, row, attempt);
    plan->delay_ns = draw(&world->chance, 3) == 0 ? 0 : draw(&world->chance, 2000) * MS;
    if (draw_percent(&world->chance, world->fault_percent))
        draw_fault(world, plan);
    if (draw_percent(&world->chance, world->late_percent))
        plan->delay_ns = 55 * SECOND + draw(&world->chance, 60000) * MS; /* around the deadline */
    if (plan->is_seen)
        show(world, row, part, attempt, plan);
    part->attempt_count++;
    if (plan->attempt_class == SMA_ATTEMPT_GIVE_UP || plan->attempt_class == SMA_ATTEMPT_UNKNOWN ||
        is_late(plan) || part->attempt_count >= SMA_ATTEMPT_COUNT_MAX)
        row->is_hopeless = true;
}
