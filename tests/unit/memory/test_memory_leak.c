/*
 * Aim: what somebody said in private is recalled for nobody else and in no group, and what was said
 * in a group nowhere else. Method: 10,000 facts of 50 people, in private and in 20 groups, all of
 * the same words; everybody asks everywhere for everything, also for marks of others, also after
 * the index was made anew, and after a file was changed by hand.
 */
#include <errno.h>

#include "memory_support.h"

#define PEOPLE 50
#define GROUPS 20
#define FACTS_EACH 200 /* every fourth of them said in a group */

/* "secret tea of p7 in g3 number12": whose it is and where it was said, in itself */
static void fill(struct given *given)
{
    for (int p = 0; p < PEOPLE; p++) {
        struct sma_buf text;
        char name[64];
        sma_buf_init(&text, 1024 * 1024);
        for (int i = 0; i < FACTS_EACH; i++) {
            if (i % 4 == 0)
                sma_buf_printf(&text,
                               "- tea 绿茶 owner%d place%d number%d <!-- memory: importance %d, in "
                               "qq%%3Agroup%%3A%d -->\n",
                               p, (p + i) % GROUPS, i, i % 10 + 1, (p + i) % GROUPS);
            else
                sma_buf_printf(&text,
                               "- tea 绿茶 owner%d private number%d <!-- memory: "
                               "importance %d -->\n",
                               p, i, i % 10 + 1);
        }
        snprintf(name, sizeof name, "users/qq%%3Aperson%d.md", p);
        write_file(given, name, text.ptr, text.len);
        sma_buf_fini(&text);
    }
}

struct asking
{
    int person, group; /* -1: in private */
    uint32_t count;
};

static enum sma_err check_fact(void *user, const struct sma_memory_fact *fact)
{
    struct asking *asking = user;
    char text[256], wanted[64];
    snprintf(text, sizeof text, "%.*s ", (int)fact->text.len, fact->text.ptr);
    if (asking->group < 0) {
        snprintf(wanted, sizeof wanted, " owner%d private ", asking->person);
        CHECK(strstr(text, wanted) != NULL);
        CHECK_INT(0, fact->group.len);
    } else {
        snprintf(wanted, sizeof wanted, " place%d ", asking->group);
        CHECK(strstr(text, wanted) != NULL);
        CHECK(strstr(text, "private") == NULL);
    }
    asking->count++;
    return SMA_ERR_OK;
}

static void ask(struct given *given, int person, int group, const char *text)
{
    char name[32], place[32] = "";
    struct asking asking = {.person = person, .group = group};
    snprintf(name, sizeof name, "qq:person%d", person);
    if (group >= 0)
        snprintf(place, sizeof place, "qq:group:%d", group);
    const struct sma_memory_scope scope = {.person = sma_str(name), .group = sma_str(place)};
    CHECK_OK(sma_memory_recall(given->memory, &scope, sma_str(text), SMA_MEMORY_RECALL_COUNT_MAX,
                               check_fact, &asking));
    CHECK_INT(SMA_MEMORY_RECALL_COUNT_MAX, asking.count);
    CHECK_OK(sma_memory_search(given->memory, &scope, sma_str(text), 50, check_fact, &asking));
    CHECK(asking.count > SMA_MEMORY_RECALL_COUNT_MAX);
    if (group % 5 == 0 || person % 5 == 0)
        CHECK_OK(sma_memory_list(given->memory, &scope, 0, 1000, check_fact, &asking));
}

static void ask_everywhere(struct given *given)
{
    for (int p = 0; p < PEOPLE; p++)
        for (int g = -1; g < GROUPS; g += p % 10 == 0 ? 1 : 11) {
            char text[128];
            int other = (p + 1) % PEOPLE;
            ask(given, p, g, "tea");
            snprintf(text, sizeof text, "绿茶 owner%d private place%d %dztea 1ztea", other,
                     (g + 1) % GROUPS, other + 1);
            ask(given, p, g, text);
        }
}

CASE(nobody_reads_what_was_said_elsewhere)
{
    SMA_AUTO(teardown) struct given given;
    setup(&given);
    fill(&given);
    ask_everywhere(&given);
}

CASE(nor_after_the_index_was_made_anew_or_a_file_changed)
{
    SMA_AUTO(teardown) struct given given;
    char path[256];
    setup(&given);
    fill(&given);
    CHECK_OK(sma_memory_look(given.memory));
    sma_memory_destroy(given.memory);
    path_of(&given, "index.db", path);
    CHECK(unlink(path) == 0);
    open_memory(&given);
    write_text(&given, "users/qq%3Aperson0.md",
               "- owner0 private tea only\n- tea owner0 place3 x <!-- memory: in qq%3Agroup%3A3 "
               "-->\n");
    for (int g = 0; g < GROUPS; g++)
        ask(&given, 1, g, "tea owner0 private only");
    ask(&given, 1, -1, "tea owner0 private only");
}

CASES_MAIN
