/*
 * Aim: contacts cost memory while somebody asks for them, and are found as they were last seen.
 * Method: a few names kept, many more people than that, undone transactions, restarts.
 */
#include "state_support.h"

static struct sma_state_contact person(char texts[4][32], int number, const char *chat,
                                       int64_t wall)
{
    snprintf(texts[0], 32, "Person %d", number);
    snprintf(texts[1], 32, "u%d", number);
    snprintf(texts[2], 32, "%s", chat);
    snprintf(texts[3], 32, "m%lld", (long long)wall);
    return (struct sma_state_contact){.channel = SMA_STR("test"),
                                      .user_name = sma_str(texts[0]),
                                      .user_id = sma_str(texts[1]),
                                      .chat_id = sma_str(texts[2]),
                                      .chat_key = sma_str(texts[2]),
                                      .message_id = sma_str(texts[3]),
                                      .wall_ms = wall};
}

static void see(struct fixture *f, int first, int count, const char *chat, int64_t wall)
{
    for (int i = first; i < first + count; i += 10) {
        CHECK_OK(sma_state_begin(f->state));
        for (int j = i; j < i + 10 && j < first + count; j++) {
            char texts[4][32];
            struct sma_state_contact contact = person(texts, j, chat, wall);
            CHECK_OK(sma_state_contact_put(f->state, &contact));
        }
        CHECK_OK(sma_state_commit(f->state));
    }
}

static void check_seen(struct fixture *f, int number, const char *chat, int64_t wall)
{
    char name[32], id[32];
    struct sma_state_contact found;
    snprintf(name, sizeof name, "pERSON %d", number);
    snprintf(id, sizeof id, "u%d", number);
    CHECK_OK(sma_state_contact_find(f->state, SMA_STR("test"), sma_str(name), &found));
    CHECK_STR(chat, found.chat_id);
    CHECK_INT(wall, found.wall_ms);
    CHECK_OK(sma_state_contact_of(f->state, SMA_STR("test"), sma_str(id), &found));
    CHECK_STR(chat, found.chat_key);
    CHECK_INT(wall, found.wall_ms);
}

static enum sma_err count_contact(void *user, const struct sma_state_contact *contact)
{
    (void)contact;
    ++*(unsigned *)user;
    return SMA_ERR_OK;
}

CASE(people_that_nobody_asks_for_are_read_again)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    struct sma_state_contact found;
    fixture_new(&f);
    sma_state_set_names_kept(f.state, 4);
    see(&f, 0, 2000, "a", 10);
    CHECK_INT(2000, (long long)sma_state_contact_news(f.state));
    see(&f, 100, 300, "a", 20); /* newer messages only: late, and kept until they are written */
    CHECK_INT(2000, (long long)sma_state_contact_news(f.state));
    see(&f, 500, 10, "b", 30);
    CHECK_INT(2010, (long long)sma_state_contact_news(f.state));
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2000; i += 33) {
            bool is_newer = i >= 100 && i < 400, is_moved = i >= 500 && i < 510;
            check_seen(&f, i, is_moved ? "b" : "a", is_newer ? 20 : is_moved ? 30 : 10);
        }
        CHECK_ERR(SMA_ERR_NOTFOUND,
                  sma_state_contact_of(f.state, SMA_STR("qq"), SMA_STR("u7"), &found));
        CHECK_ERR(SMA_ERR_NOTFOUND,
                  sma_state_contact_of(f.state, SMA_STR("test"), SMA_STR(""), &found));
        unsigned count = 0;
        CHECK_OK(sma_state_each_contact(f.state, count_contact, &count));
        CHECK_INT(2000, count);
        fixture_reopen(&f, true);
        sma_state_set_names_kept(f.state, 4);
    }
}

CASE(an_undone_meeting_is_forgotten_however_many_are_met_later)
{
    SMA_AUTO(fixture_fini) struct fixture f;
    fixture_new(&f);
    sma_state_set_names_kept(f.state, 1);
    see(&f, 0, 50, "a", 10);
    CHECK_OK(sma_state_begin(f.state));
    char texts[4][32];
    struct sma_state_contact contact = person(texts, 3, "b", 40);
    CHECK_OK(sma_state_contact_put(f.state, &contact));
    sma_state_rollback(f.state);
    see(&f, 10, 40, "a", 11);
    check_seen(&f, 3, "a", 10);
    fixture_reopen(&f, false);
    check_seen(&f, 3, "a", 10);
    check_seen(&f, 12, "a", 11);
}

CASES_MAIN
