/*
 * The queue of queue.h: slots in order of arrival, a chain of slots per chat, a heap of the chats
 * that could start, and a Fenwick tree over the slots that counts the living ones before a place.
 *
 * A chat has a record while it is busy or something of it waits, a person while anything of theirs
 * waits or runs; both are found by one hash table. So neither memory nor any walk depends on how
 * many chats or persons there are.
 *
 * Turns are start-time fair queueing (Goyal, Vin, Cheng 1996), every start costing one: what a
 * person has ready stands a turn behind what they had ready before, and never before the turn that
 * is served now, so that waiting long saves up nothing.
 */
#include "runtime/chat/queue.h"

#include <stdlib.h>

#define QUEUE_MAGIC 0x51554555u
#define SLOT_NONE UINT32_MAX
#define CHAT_NONE UINT32_MAX
#define SLOT_COUNT_FIRST 64u
#define SEQ_END (UINT64_C(1) << 63)
#define TURN_START_COUNT_MAX 8u /* newcomers, one after the other, pass by whoever has waited */

struct slot
{
    uint64_t seq;        /* 0 = taken */
    uint32_t chat, next; /* place of the chat's record; of the chat's next slot */
    uint32_t person;     /* place of its author's record */
    bool is_resumed, is_held;
};

/* A chat's record, or a person's: then only what is said of it counts. */
struct chat
{
    uint64_t turn; /* fair: in which it starts; person: the last that was given to them */
    uint32_t number;
    uint32_t person, holds; /* of the run that is open; person: its slots and runs ... */
    uint32_t running;       /* ... and of them the runs */
    uint32_t head, tail;    /* head of a free record: the next free one */
    uint32_t waiting;
    uint32_t heap_place; /* SLOT_NONE = not in the heap */
    bool is_busy, is_paused, is_person;
};

struct sma_queue
{
    uint32_t magic;
    struct sma_queue_options options;
    struct slot *slots;
    uint32_t *counts; /* Fenwick tree, 1-based, slot_cap + 1 numbers */
    uint32_t slot_count, slot_cap, waiting;
    uint32_t waiting_chats; /* chats in which something waits */
    uint32_t turn_starts;   /* since the turn was another */
    struct chat *chats;     /* records, chat_count of them ever used at once */
    uint32_t chat_count, chat_cap, chat_free;
    uint32_t *table; /* 2 * chat_cap places of records; CHAT_NONE = free */
    uint32_t *heap;
    uint32_t heap_count;
    uint64_t turn; /* that is served */
};

/* -- the counting tree ------------------------------------------------------------------------- */
static void count_add(struct sma_queue *queue, uint32_t slot, int32_t delta)
{
    for (uint32_t i = slot + 1; i <= queue->slot_cap; i += i & (0u - i))
        queue->counts[i] += (uint32_t)delta;
}

static uint32_t count_before(const struct sma_queue *queue, uint32_t slot)
{
    uint32_t count = 0;
    for (uint32_t i = slot; i > 0; i -= i & (0u - i))
        count += queue->counts[i];
    return count;
}

/* -- the heap of chats ------------------------------------------------------------------------- */
static bool goes_before(const struct sma_queue *queue, uint32_t at, uint32_t other)
{
    const struct chat *left = &queue->chats[at], *right = &queue->chats[other];
    const struct slot *head = &queue->slots[left->head], *other_head = &queue->slots[right->head];
    if (queue->options.is_fair && left->turn != right->turn)
        return left->turn < right->turn;
    if (head->is_resumed != other_head->is_resumed)
        return head->is_resumed;
    return head->seq < other_head->seq;
}

static void heap_put(struct sma_queue *queue, uint32_t place, uint32_t at)
{
    queue->heap[place] = at;
    queue->chats[at].heap_place = place;
}

static void heap_up(struct sma_queue *queue, uint32_t place)
{
    uint32_t at = queue->heap[place];
    while (place > 0) {
        uint32_t parent = (place - 1) / 2;
        if (!goes_before(queue, at, queue->heap[parent]))
            break;
        heap_put(queue, place, queue->heap[parent]);
        place = parent;
    }
    heap_put(queue, place, at);
}

static void heap_down(struct sma_queue *queue, uint32_t place)
{
    uint32_t at = queue->heap[place];
    for (;;) {
        uint32_t child = 2 * place + 1;
        if (child >= queue->heap_count)
            break;
        if (child + 1 < queue->heap_count &&
            goes_before(queue, queue->heap[child + 1], queue->heap[child]))
            child++;
        if (!goes_before(queue, queue->heap[child], at))
            break;
        heap_put(queue, place, queue->heap[child]);
        place = child;
    }
    heap_put(queue, place, at);
}

/* The next turn of this person. */
static uint64_t give_turn(const struct sma_queue *queue, struct chat *person)
{
    person->turn = person->turn + 1 > queue->turn ? person->turn + 1 : queue->turn;
    return person->turn;
}

static void heap_add(struct sma_queue *queue, uint32_t at)
{
    queue->chats[at].turn =
        give_turn(queue, &queue->chats[queue->slots[queue->chats[at].head].person]);
    heap_put(queue, queue->heap_count++, at);
    heap_up(queue, queue->heap_count - 1);
}

static void heap_remove(struct sma_queue *queue, uint32_t at)
{
    uint32_t place = queue->chats[at].heap_place;
    SMA_ASSERT(place < queue->heap_count);
    uint32_t last = queue->heap[--queue->heap_count];
    queue->chats[at].heap_place = SLOT_NONE;
    if (last == at)
        return;
    heap_put(queue, place, last);
    heap_up(queue, place);
    heap_down(queue, queue->chats[last].heap_place);
}

static bool may_start(const struct sma_queue *queue, const struct chat *chat)
{
    if (chat->waiting == 0)
        return false;
    const struct slot *head = &queue->slots[chat->head];
    return !head->is_held && (!chat->is_paused || head->is_resumed);
}

/* After the head of a chat or its freedom changed: in the heap exactly when it could start. A
 * changed head can only have moved one way, but both are tried: it is two comparisons. */
static void heap_settle(struct sma_queue *queue, uint32_t at)
{
    struct chat *chat = &queue->chats[at];
    bool is_ready = !chat->is_busy && may_start(queue, chat);
    if (!is_ready) {
        if (chat->heap_place != SLOT_NONE)
            heap_remove(queue, at);
        return;
    }
    if (chat->heap_place == SLOT_NONE) {
        heap_add(queue, at);
        return;
    }
    heap_up(queue, chat->heap_place);
    heap_down(queue, chat->heap_place);
}

/* -- room -------------------------------------------------------------------------------------- */
static uint32_t table_home(const struct sma_queue *queue, uint32_t number)
{
    return (number * 2654435769u >> 7) & (2 * queue->chat_cap - 1); /* Fibonacci hashing */
}

static uint32_t find_record(const struct sma_queue *queue, uint32_t number, bool is_person)
{
    if (queue->chat_cap == 0)
        return CHAT_NONE;
    for (uint32_t at = table_home(queue, number);; at = (at + 1) & (2 * queue->chat_cap - 1)) {
        uint32_t place = queue->table[at];
        if (place == CHAT_NONE ||
            (queue->chats[place].number == number && queue->chats[place].is_person == is_person))
            return place;
    }
}

/* The place of the chat's record; CHAT_NONE: it has none, so nothing of it waits and it is free. */
static uint32_t find_chat(const struct sma_queue *queue, uint32_t number)
{
    return find_record(queue, number, false);
}

static void table_put(struct sma_queue *queue, uint32_t place)
{
    uint32_t at = table_home(queue, queue->chats[place].number);
    while (queue->table[at] != CHAT_NONE)
        at = (at + 1) & (2 * queue->chat_cap - 1);
    queue->table[at] = place;
}

/* Close the gap by moving back what was pushed past it (Knuth 6.4, algorithm R). */
static void table_remove(struct sma_queue *queue, uint32_t place)
{
    uint32_t mask = 2 * queue->chat_cap - 1, gap = table_home(queue, queue->chats[place].number);
    while (queue->table[gap] != place)
        gap = (gap + 1) & mask;
    for (uint32_t at = (gap + 1) & mask; queue->table[at] != CHAT_NONE; at = (at + 1) & mask) {
        uint32_t home = table_home(queue, queue->chats[queue->table[at]].number);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            queue->table[gap] = queue->table[at];
            gap = at;
        }
    }
    queue->table[gap] = CHAT_NONE;
}

/* Twice the records, and a table that is never more than half full. */
static SMA_CHECKED enum sma_err grow_chats(struct sma_queue *queue)
{
    uint32_t cap = queue->chat_cap == 0 ? SLOT_COUNT_FIRST : queue->chat_cap * 2;
    uint32_t *heap = realloc(queue->heap, cap * sizeof *heap);
    if (heap == NULL)
        return SMA_ERR_NOMEM;
    queue->heap = heap;
    struct chat *chats = realloc(queue->chats, cap * sizeof *chats);
    if (chats == NULL)
        return SMA_ERR_NOMEM;
    queue->chats = chats;
    uint32_t *table = realloc(queue->table, (size_t)2 * cap * sizeof *table);
    if (table == NULL)
        return SMA_ERR_NOMEM;
    queue->table = table;
    queue->chat_cap = cap;
    memset(table, 0xff, (size_t)2 * cap * sizeof *table);
    for (uint32_t i = 0; i < queue->chat_count; i++)
        table_put(queue, i);
    return SMA_ERR_OK;
}

/* The record, made if need be. Room grows only when no record is free, so all are in the table
 * then. */
static SMA_CHECKED enum sma_err open_record(struct sma_queue *queue, uint32_t number,
                                            bool is_person, uint32_t *ret_place)
{
    uint32_t place = find_record(queue, number, is_person);
    if (place == CHAT_NONE && queue->chat_free == CHAT_NONE &&
        queue->chat_count == queue->chat_cap && grow_chats(queue) != SMA_ERR_OK)
        return SMA_ERR_NOMEM;
    if (place == CHAT_NONE) {
        place = queue->chat_free != CHAT_NONE ? queue->chat_free : queue->chat_count++;
        if (place == queue->chat_free)
            queue->chat_free = queue->chats[place].head;
        queue->chats[place] = (struct chat){.number = number,
                                            .is_person = is_person,
                                            .turn = is_person ? queue->turn - 1 : 0,
                                            .person = CHAT_NONE,
                                            .head = SLOT_NONE,
                                            .tail = SLOT_NONE,
                                            .heap_place = SLOT_NONE};
        table_put(queue, place);
    }
    *ret_place = place;
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err open_chat(struct sma_queue *queue, uint32_t number,
                                          uint32_t *ret_place)
{
    return open_record(queue, number, false, ret_place);
}

/* Nothing waits and it is free: its record goes. */
static void close_idle_chat(struct sma_queue *queue, uint32_t place)
{
    struct chat *chat = &queue->chats[place];
    if (chat->waiting > 0 || chat->is_busy || chat->holds > 0)
        return;
    SMA_ASSERT(chat->heap_place == SLOT_NONE);
    table_remove(queue, place);
    chat->head = queue->chat_free;
    queue->chat_free = place;
}

/* What was one of its person's waits or runs no more. */
static void let_person_go(struct sma_queue *queue, uint32_t place)
{
    queue->chats[place].holds--;
    close_idle_chat(queue, place);
}

/* A run of this person, or of nobody, makes the chat busy; or none does any more. */
static void set_runner(struct sma_queue *queue, struct chat *chat, uint32_t person)
{
    uint32_t before = chat->person;
    chat->person = person;
    if (person != CHAT_NONE) {
        queue->chats[person].holds++;
        queue->chats[person].running++;
    }
    if (before != CHAT_NONE) {
        queue->chats[before].running--;
        let_person_go(queue, before);
    }
}

/* Move the living slots together. Chains are rebuilt by mapping old places to new ones, in place: a
 * living slot only moves down, and its new place is the number of living ones before it. A chat's
 * ends are met on the way: a new place is never taken for an old one, because all that are met
 * later were higher. */
static void compact(struct sma_queue *queue)
{
    uint32_t living = 0;
    for (uint32_t i = 0; i < queue->slot_count; i++) {
        if (queue->slots[i].seq == 0)
            continue;
        struct slot slot = queue->slots[i];
        struct chat *chat = &queue->chats[slot.chat];
        if (chat->head == i)
            chat->head = living;
        if (chat->tail == i)
            chat->tail = living;
        if (slot.next != SLOT_NONE)
            slot.next = count_before(queue, slot.next);
        queue->slots[living++] = slot;
    }
    SMA_ASSERT(living == queue->waiting);
    queue->slot_count = living;
}

static void recount(struct sma_queue *queue)
{
    memset(queue->counts, 0, (queue->slot_cap + 1) * sizeof *queue->counts);
    for (uint32_t i = 0; i < queue->slot_count; i++)
        if (queue->slots[i].seq != 0)
            count_add(queue, i, 1);
}

static SMA_CHECKED enum sma_err reserve_slot(struct sma_queue *queue)
{
    if (queue->slot_count < queue->slot_cap)
        return SMA_ERR_OK;
    if (queue->slot_cap > 0 && queue->waiting <= queue->slot_cap / 2) {
        compact(queue);
        recount(queue);
        return SMA_ERR_OK;
    }
    uint32_t cap = queue->slot_cap == 0 ? SLOT_COUNT_FIRST : queue->slot_cap * 2;
    uint32_t *counts = realloc(queue->counts, (cap + 1) * sizeof *counts);
    if (counts == NULL)
        return SMA_ERR_NOMEM;
    queue->counts = counts;
    struct slot *slots = realloc(queue->slots, cap * sizeof *slots);
    if (slots == NULL)
        return SMA_ERR_NOMEM;
    queue->slots = slots;
    queue->slot_cap = cap;
    recount(queue);
    return SMA_ERR_OK;
}

/* -- life -------------------------------------------------------------------------------------- */
enum sma_err sma_queue_create(const struct sma_queue_options *options, struct sma_queue **ret_queue)
{
    struct sma_queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL)
        return SMA_ERR_NOMEM;
    queue->magic = QUEUE_MAGIC;
    queue->options = *options;
    queue->turn = 1;
    queue->chat_free = CHAT_NONE;
    *ret_queue = queue;
    return SMA_ERR_OK;
}

void sma_queue_destroy(struct sma_queue *queue)
{
    if (queue == NULL)
        return;
    SMA_ASSERT(queue->magic == QUEUE_MAGIC);
    queue->magic = 0;
    free(queue->slots);
    free(queue->counts);
    free(queue->chats);
    free(queue->table);
    free(queue->heap);
    free(queue);
}

void sma_queue_clear(struct sma_queue *queue)
{
    if (queue->table != NULL)
        memset(queue->table, 0xff, (size_t)2 * queue->chat_cap * sizeof *queue->table);
    queue->chat_count = 0;
    queue->chat_free = CHAT_NONE;
    queue->slot_count = 0;
    queue->waiting = queue->waiting_chats = 0;
    queue->heap_count = 0;
    if (queue->counts != NULL)
        recount(queue);
}

/* -- in ---------------------------------------------------------------------------------------- */
/* Before everything that was not begun, in the order of their numbers: whoever has its turn as the
 * first of them (suspects) must not stand behind one that is held until then. */
static void put_resumed(struct sma_queue *queue, struct chat *chat, uint32_t place)
{
    struct slot *slot = &queue->slots[place];
    uint32_t before = SLOT_NONE, at = chat->head;
    while (at != SLOT_NONE && queue->slots[at].is_resumed && queue->slots[at].seq < slot->seq) {
        before = at;
        at = queue->slots[at].next;
    }
    slot->next = at;
    *(before == SLOT_NONE ? &chat->head : &queue->slots[before].next) = place;
    if (at == SLOT_NONE)
        chat->tail = place;
}

static SMA_CHECKED enum sma_err add(struct sma_queue *queue, uint32_t number, uint64_t seq,
                                    bool is_resumed, bool is_held)
{
    SMA_ASSERT(queue->magic == QUEUE_MAGIC && seq > 0 && seq < SEQ_END);
    const struct sma_queue_options *options = &queue->options;
    uint32_t at, person;
    SMA_TRY(reserve_slot(queue));
    SMA_TRY(open_chat(queue, number, &at));
    enum sma_err err = open_record(
        queue, options->person_of == NULL ? number : options->person_of(options->user, seq), true,
        &person);
    if (err != SMA_ERR_OK) {
        close_idle_chat(queue, at);
        return err;
    }
    queue->chats[person].holds++;

    struct chat *chat = &queue->chats[at];
    uint32_t place = queue->slot_count++;
    struct slot *slot = &queue->slots[place];
    *slot = (struct slot){.seq = seq,
                          .chat = at,
                          .next = SLOT_NONE,
                          .person = person,
                          .is_resumed = is_resumed,
                          .is_held = is_held};
    if (chat->waiting == 0) {
        chat->head = chat->tail = place;
    } else if (is_resumed) {
        put_resumed(queue, chat, place);
    } else {
        queue->slots[chat->tail].next = place;
        chat->tail = place;
    }
    queue->waiting_chats += chat->waiting == 0;
    chat->waiting++;
    queue->waiting++;
    count_add(queue, place, 1);
    heap_settle(queue, at);
    return SMA_ERR_OK;
}

bool sma_queue_is_full(const struct sma_queue *queue)
{
    return queue->waiting >= queue->options.waiting_max;
}

enum sma_err sma_queue_check(const struct sma_queue *queue, uint32_t chat)
{
    if (sma_queue_is_full(queue) ||
        sma_queue_chat_waiting(queue, chat) >= queue->options.chat_waiting_max)
        return SMA_ERR_FULL;
    return SMA_ERR_OK;
}

enum sma_err sma_queue_push_resumed(struct sma_queue *queue, uint32_t chat, uint64_t seq)
{
    return add(queue, chat, seq, true, false);
}

enum sma_err sma_queue_push_accepted(struct sma_queue *queue, uint32_t chat, uint64_t seq)
{
    return add(queue, chat, seq, false, false);
}

enum sma_err sma_queue_push_held(struct sma_queue *queue, uint32_t chat, uint64_t seq)
{
    return add(queue, chat, seq, false, true);
}

/* The place of a waiting message of a chat and of the one before it; SLOT_NONE when there is
 * none. */
static uint32_t find_place(const struct sma_queue *queue, uint32_t at, uint64_t seq,
                           uint32_t *ret_before)
{
    *ret_before = SLOT_NONE;
    uint32_t place =
        at != CHAT_NONE && queue->chats[at].waiting > 0 ? queue->chats[at].head : SLOT_NONE;
    while (place != SLOT_NONE && queue->slots[place].seq != seq) {
        *ret_before = place;
        place = queue->slots[place].next;
    }
    return place;
}

void sma_queue_set_held(struct sma_queue *queue, uint32_t chat, uint64_t seq, bool is_held)
{
    uint32_t at = find_chat(queue, chat), before, place = find_place(queue, at, seq, &before);
    if (place == SLOT_NONE)
        return;
    queue->slots[place].is_held = is_held;
    heap_settle(queue, at);
}

void sma_queue_set_paused(struct sma_queue *queue, uint32_t chat, bool is_paused)
{
    uint32_t at = find_chat(queue, chat);
    if (at == CHAT_NONE)
        return;
    queue->chats[at].is_paused = is_paused;
    heap_settle(queue, at);
}

/* -- out --------------------------------------------------------------------------------------- */
/* Its person has it still: the caller lets them go. */
static uint64_t take_head(struct sma_queue *queue, uint32_t at)
{
    struct chat *chat = &queue->chats[at];
    SMA_ASSERT(chat->waiting > 0);
    uint32_t place = chat->head;
    uint64_t seq = queue->slots[place].seq;
    SMA_ASSERT(seq != 0);
    /* Out of the heap first: the heap reads the head. */
    if (chat->heap_place != SLOT_NONE)
        heap_remove(queue, at);
    chat->head = queue->slots[place].next;
    if (chat->head == SLOT_NONE)
        chat->tail = SLOT_NONE;
    queue->slots[place].seq = 0;
    count_add(queue, place, -1);
    chat->waiting--;
    queue->waiting_chats -= chat->waiting == 0;
    queue->waiting--;
    if (queue->waiting == 0)
        queue->slot_count = 0;
    return seq;
}

/* The oldest waiting message of a chat; NULL: none waits. */
static const struct slot *first_of(const struct sma_queue *queue, uint32_t at)
{
    return at == CHAT_NONE || queue->chats[at].waiting == 0 ? NULL
                                                            : &queue->slots[queue->chats[at].head];
}

/* Take it; the chat may be ready with its next one, or not be needed any more. */
static uint64_t take_and_settle(struct sma_queue *queue, uint32_t at)
{
    uint32_t person = queue->slots[queue->chats[at].head].person;
    uint64_t seq = take_head(queue, at);
    heap_settle(queue, at);
    close_idle_chat(queue, at);
    let_person_go(queue, person);
    return seq;
}

bool sma_queue_peek(const struct sma_queue *queue, uint32_t *ret_chat, uint64_t *ret_seq)
{
    if (queue->heap_count == 0)
        return false;
    *ret_chat = queue->chats[queue->heap[0]].number;
    *ret_seq = queue->slots[queue->chats[queue->heap[0]].head].seq;
    return true;
}

bool sma_queue_start(struct sma_queue *queue, uint32_t chat, uint64_t *ret_seq)
{
    uint32_t at = find_chat(queue, chat);
    const struct slot *first = first_of(queue, at);
    if (first == NULL || queue->chats[at].is_busy || !may_start(queue, &queue->chats[at]))
        return false;
    struct chat *record = &queue->chats[at];
    uint32_t person = first->person;
    bool is_next = record->turn > queue->turn;
    *ret_seq = take_head(queue, at);
    record->is_busy = true;
    set_runner(queue, record, person);
    let_person_go(queue, person);
    if (is_next || ++queue->turn_starts >= TURN_START_COUNT_MAX) {
        queue->turn = is_next ? record->turn : queue->turn + 1;
        queue->turn_starts = 0;
    }
    return true;
}

bool sma_queue_take_more(struct sma_queue *queue, uint32_t chat, uint64_t *ret_seq)
{
    uint32_t at = find_chat(queue, chat);
    const struct slot *first = first_of(queue, at);
    if (first == NULL || first->is_held)
        return false;
    *ret_seq = take_and_settle(queue, at);
    return true;
}

bool sma_queue_take_below(struct sma_queue *queue, uint32_t chat, uint64_t mark, uint64_t *ret_seq)
{
    uint32_t at = find_chat(queue, chat);
    const struct slot *first = first_of(queue, at);
    if (first == NULL || first->seq >= mark)
        return false;
    *ret_seq = take_and_settle(queue, at);
    return true;
}

bool sma_queue_remove(struct sma_queue *queue, uint32_t chat, uint64_t seq)
{
    uint32_t at = find_chat(queue, chat), before, place = find_place(queue, at, seq, &before);
    if (place == SLOT_NONE)
        return false;
    if (before == SLOT_NONE) {
        (void)take_and_settle(queue, at); /* it is seq */
        return true;
    }
    queue->slots[before].next = queue->slots[place].next;
    if (queue->chats[at].tail == place)
        queue->chats[at].tail = before;
    queue->slots[place].seq = 0;
    count_add(queue, place, -1);
    queue->chats[at].waiting--;
    queue->waiting--;
    let_person_go(queue, queue->slots[place].person);
    return true;
}

bool sma_queue_first(const struct sma_queue *queue, uint32_t chat, uint64_t *ret_seq)
{
    const struct slot *first = first_of(queue, find_chat(queue, chat));
    if (first == NULL)
        return false;
    *ret_seq = first->seq;
    return true;
}

bool sma_queue_each(const struct sma_queue *queue, uint32_t chat, uint32_t *place,
                    uint64_t *ret_seq, bool *ret_is_held)
{
    uint32_t at = *place == 0 ? find_chat(queue, chat) : CHAT_NONE;
    uint32_t slot = *place > 0 ? queue->slots[*place - 1].next
                    : at != CHAT_NONE && queue->chats[at].waiting > 0 ? queue->chats[at].head
                                                                      : SLOT_NONE;
    if (slot == SLOT_NONE)
        return false;
    *ret_seq = queue->slots[slot].seq;
    *ret_is_held = queue->slots[slot].is_held;
    *place = slot + 1;
    return true;
}

enum sma_err sma_queue_hold(struct sma_queue *queue, uint32_t chat, uint32_t person)
{
    uint32_t at, runner = CHAT_NONE;
    SMA_TRY(open_chat(queue, chat, &at));
    queue->chats[at].is_busy = true;
    heap_settle(queue, at);
    if (person != 0) {
        SMA_TRY(open_record(queue, person, true, &runner)); /* busy for nobody, else */
        (void)give_turn(queue, &queue->chats[runner]);
    }
    set_runner(queue, &queue->chats[at], runner);
    return SMA_ERR_OK;
}

void sma_queue_finish(struct sma_queue *queue, uint32_t chat)
{
    uint32_t at = find_chat(queue, chat);
    if (at == CHAT_NONE)
        return; /* free already */
    queue->chats[at].is_busy = false;
    set_runner(queue, &queue->chats[at], CHAT_NONE);
    heap_settle(queue, at);
    close_idle_chat(queue, at);
}

/* -- questions --------------------------------------------------------------------------------- */
bool sma_queue_is_busy(const struct sma_queue *queue, uint32_t chat)
{
    uint32_t at = find_chat(queue, chat);
    return at != CHAT_NONE && queue->chats[at].is_busy;
}

uint32_t sma_queue_running(const struct sma_queue *queue, uint32_t person)
{
    uint32_t at = person != 0              ? find_record(queue, person, true)
                  : queue->heap_count == 0 ? CHAT_NONE
                                           : queue->slots[queue->chats[queue->heap[0]].head].person;
    return at == CHAT_NONE ? 0 : queue->chats[at].running;
}

uint32_t sma_queue_waiting(const struct sma_queue *queue)
{
    return queue->waiting;
}

uint32_t sma_queue_chat_waiting(const struct sma_queue *queue, uint32_t chat)
{
    uint32_t at = find_chat(queue, chat);
    return at == CHAT_NONE ? 0 : queue->chats[at].waiting;
}

/* `rank` messages of its own chat stand before it, and its chat starts so many turns from now.
 * Fair: every other chat goes once at most in each of them; what else came earlier goes later. */
static uint32_t count_ahead(const struct sma_queue *queue, uint32_t place, uint32_t rank)
{
    uint32_t earlier = count_before(queue, place);
    const struct chat *chat = &queue->chats[queue->slots[place].chat];
    if (!queue->options.is_fair)
        return earlier;
    if (chat->turn > queue->turn && chat->turn - queue->turn < earlier)
        rank += (uint32_t)(chat->turn - queue->turn);
    uint64_t turns = (uint64_t)(queue->waiting_chats - 1) * (rank + 1) + rank;
    return turns < earlier ? (uint32_t)turns : earlier;
}

uint32_t sma_queue_position(const struct sma_queue *queue, uint32_t chat, uint64_t seq)
{
    uint32_t at = find_chat(queue, chat), rank = 0;
    uint32_t place = at == CHAT_NONE ? SLOT_NONE : queue->chats[at].head;
    for (; place != SLOT_NONE && queue->slots[place].seq != seq; rank++)
        place = queue->slots[place].next;
    if (place == SLOT_NONE || queue->slots[place].is_resumed)
        return 0;
    return count_ahead(queue, place, rank);
}

uint64_t sma_queue_bytes(const struct sma_queue *queue)
{
    return sizeof *queue + queue->slot_cap * (sizeof *queue->slots + sizeof *queue->counts) +
           queue->chat_cap * (sizeof *queue->chats + sizeof *queue->heap) +
           UINT64_C(2) * queue->chat_cap * sizeof *queue->table;
}
