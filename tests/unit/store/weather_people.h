/*
 * weather_people.h — who talks to the store in any weather, and what: private chats, a group whose
 * members the platform is asked about, a group that gets another id, albums, things to be fetched,
 * commands, the API. What was not accepted is said again.
 */
#ifndef SMA_TEST_WEATHER_PEOPLE_H
#define SMA_TEST_WEATHER_PEOPLE_H

#include "approval_support.h"
#include "weather_faults.h"

#define CHAT_COUNT 5
#define EVENT_COUNT 160

struct event
{
    char id[16], text[32], chat[8], album[8];
    struct saying saying; /* points to the above */
    unsigned adapter;
    bool is_open, is_accepted;
    uint64_t ask_id, seq;
};

static struct world w;
static struct event events[EVENT_COUNT];
static uint32_t event_count;
static bool has_moved; /* the group m0 is m1 */
static uint32_t moved_total, changed_total;

static void say_event(struct event *event)
{
    event->ask_id = say_as(&w, event->adapter, &event->saying);
    event->is_open = true;
}

/* The next event, of which the chat is to be told. */
static struct event *new_event(const char *chat)
{
    if (event_count == EVENT_COUNT || is_in_storm_life) /* this life's books are not handed on */
        return NULL;
    struct event *event = &events[event_count];
    *event = (struct event){.adapter = TEST};
    snprintf(event->id, sizeof event->id, "e%u", event_count);
    snprintf(event->chat, sizeof event->chat, "%s", chat);
    static const char *const texts[] = {"text ", "no, because ", "yes, but on branch "};
    snprintf(event->text, sizeof event->text, "%s%u", texts[roll(SMA_COUNT_OF(texts))],
             event_count++);
    event->saying = (struct saying){.chat = event->chat, .id = event->id, .text = event->text};
    return event;
}

static void say_privately(void)
{
    char chat[8];
    snprintf(chat, sizeof chat, "c%u", (unsigned)roll(CHAT_COUNT));
    struct event *event = new_event(chat);
    if (event == NULL)
        return;
    if (roll(8) == 0) {
        event->saying.kind = SMA_EVENT_CONTROL;
        event->saying.control = (uint8_t)(SMA_CONTROL_STOP + roll(3));
    } else if (roll(6) == 0) {
        event->saying.preparation = "[1]";
    }
    say_event(event);
}

/* Pieces of an album come one after the other, some with something to fetch. */
static void say_album(void)
{
    char chat[8];
    snprintf(chat, sizeof chat, "c%u", (unsigned)roll(CHAT_COUNT));
    uint32_t number = event_count;
    for (uint64_t left = 2 + roll(2); left > 0; left--) {
        struct event *event = new_event(chat);
        if (event == NULL)
            return;
        snprintf(event->album, sizeof event->album, "al%u", number);
        event->saying.group_key = event->album;
        event->saying.preparation = roll(3) == 0 ? "[1]" : NULL;
        say_event(event);
    }
}

/* Members of a group that was let in, and one that nobody knows: the platform is asked what she
 * may. */
static void say_in_group(const char *chat)
{
    static const char *const users[] = {"u1", "u2", "eve", "mia"};
    struct event *event = new_event(chat);
    if (event == NULL)
        return;
    event->saying.user = users[roll(SMA_COUNT_OF(users))];
    event->saying.is_group = true;
    event->saying.addressed = roll(4) == 0 ? SMA_ADDRESSED_NONE : SMA_ADDRESSED_MENTION;
    event->saying.preparation = roll(6) == 0 ? "[1]" : NULL;
    event->saying.role = roll(4) == 0 ? SMA_ROLE_ADMIN : SMA_ROLE_UNKNOWN;
    if (roll(8) == 0) {
        event->saying.kind = SMA_EVENT_CONTROL;
        event->saying.control = (uint8_t)(SMA_CONTROL_STOP + roll(3));
    }
    say_event(event);
}

static void say_over_api(void)
{
    struct event *event = new_event("x");
    if (event == NULL)
        return;
    event->adapter = API;
    say_event(event);
}

/* The group m0 gets another id; late messages still come under the old one. */
static void move_group(void)
{
    bool is_known = false;
    for (uint32_t i = 0; i < event_count; i++)
        is_known = is_known || (events[i].is_accepted && strcmp(events[i].chat, "m0") == 0);
    struct event *event = is_known && !has_moved ? new_event("m1") : NULL;
    if (event == NULL)
        return;
    has_moved = true;
    event->text[0] = '\0';
    event->saying.kind = SMA_EVENT_NOTE;
    event->saying.migrated_from = "test:chat:m0";
    say_event(event);
}

/* Somebody edits or recalls what he, or another, has said; or was not heard to say. */
static void say_change(void)
{
    const struct event *target = event_count > 0 ? &events[roll(event_count)] : NULL;
    bool is_message = target != NULL && target->saying.kind == SMA_EVENT_MESSAGE;
    struct event *event = is_message && target->adapter == TEST ? new_event(target->chat) : NULL;
    if (event == NULL)
        return;
    bool is_edit = roll(2) == 0;
    event->text[0] = '\0'; /* no line of its own words */
    event->saying.text = is_edit ? "anew" : "";
    event->saying.user = roll(4) == 0 ? "eve" : target->saying.user;
    event->saying.kind = SMA_EVENT_NOTE;
    event->saying.addressed = SMA_ADDRESSED_NONE;
    event->saying.is_group = target->saying.is_group;
    event->saying.change = is_edit ? SMA_CHANGE_EDIT : SMA_CHANGE_RECALL;
    event->saying.target = target->id;
    say_event(event);
}

static void say_new(void)
{
    uint64_t what = roll(22);
    if (what < 11)
        say_privately();
    else if (what < 13)
        say_album();
    else if (what < 16)
        say_in_group("g");
    else if (what < 18)
        say_in_group(has_moved && roll(3) > 0 ? "m1" : "m0");
    else if (what < 19)
        say_over_api();
    else if (what >= 20)
        say_change();
    else if (event_count > EVENT_COUNT / 3)
        move_group();
}

/* A platform delivers again what was not acknowledged, and sometimes what was. */
static void say_again(bool is_any)
{
    for (uint32_t i = 0; i < event_count; i++)
        if (!events[i].is_open && (!events[i].is_accepted || (is_any && roll(20) == 0)))
            say_event(&events[i]);
}

static void take_accepted(const struct sma_msg *msg, unsigned adapter)
{
    const struct sma_accepted *answer =
        SMA_MSG_BODY((struct sma_msg *)(uintptr_t)msg, struct sma_accepted);
    struct event *event = NULL;
    for (uint32_t i = 0; i < event_count; i++)
        if (events[i].is_open && events[i].adapter == adapter && events[i].ask_id == msg->ask_id)
            event = &events[i];
    CHECK(event != NULL);
    event->is_open = false;
    if (answer->verdict == SMA_VERDICT_REFUSED)
        return;
    /* What nobody knew of before may be known by now. */
    CHECK(!event->is_accepted || event->seq == answer->seq ||
          (event->saying.change != 0 && event->seq == 0));
    changed_total += event->seq == 0 && answer->seq != 0 && event->saying.change != 0;
    event->is_accepted = true;
    event->seq = answer->seq;
    moved_total += event->saying.migrated_from != NULL;
}

#endif
