/* Access rules: tables of events and facts against decisions; the intent gate in both languages. */
#include "runtime/access/access.h"
#include "support/check.h"

static struct sma_access_rules *rules_of(const char *json)
{
    struct sma_access_rules *rules = NULL;
    struct sma_error error = {0};
    CHECK_OK(sma_access_rules_parse(sma_str(json), &rules, &error));
    return rules;
}

/* -- rules ------------------------------------------------------------------------------------- */
CASE(rules_have_defaults_and_are_checked)
{
    struct sma_access_rules *rules = rules_of("");
    CHECK_INT(sma_access_followup_ms(rules), 600000);
    sma_access_rules_destroy(rules);
    rules = rules_of("{\"followupWindowMs\":0,\"groupAccess\":null,\"botToken\":\"x\"}");
    CHECK_INT(sma_access_followup_ms(rules), 0);
    sma_access_rules_destroy(rules);
    static const char *const bad[] = {
        "{\"groupAccess\":\"everyone\"}",
        "{\"groupAccess\":1}",
        "{\"followupWindowMs\":-1}",
        "{\"followupWindowMs\":1.5}",
        "{\"adminUserIds\":\"a\"}",
        "{\"adminUserIds\":[true]}",
        "{\"access\":\"everyone\"}",
        "{\"access\":1}",
        "{\"access\":true}",
        "{\"access\":{}}",
        "{\"access\":[true]}",
        "{\"access\":[\"\"]}",
        "{\"access\":[[\"1\"]]}",
        "{\"access\":[\"@ann\"]}",
        "{\"access\":[\"telegram:@ann\"]}",
        "{\"groups\":\"-1001\"}",
        "{\"groups\":true}",
        "{\"groups\":[\"\"]}",
        "{\"groups\":[{}]}",
        "[]",
        "{",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++) {
        struct sma_error error = {0};
        CHECK_INT(sma_access_rules_parse(sma_str(bad[i]), &rules, &error), SMA_ERR_BADINPUT);
        CHECK(error.text[0] != '\0');
    }
}

/* -- decisions --------------------------------------------------------------------------------- */
#define EVENT(...)                                                   \
    {                                                                \
        .channel = {"telegram", 8}, .user_id = {"7", 1}, __VA_ARGS__ \
    }
#define NOTHING             \
    {                       \
        .has_window = false \
    }
#define GROUP .is_group = true
#define NOBODY .address = SMA_ACCESS_ADDRESS_NONE
#define MENTION .address = SMA_ACCESS_ADDRESS_MENTION
#define FIRST_IS(id) .initiator = {id, sizeof id - 1}
#define ANYONE "{\"access\":\"anyone\"}"
#define KNOWN(word) .standing = SMA_ACCESS_##word
#define ROLE(word) .is_role_known = true, .role = SMA_ACCESS_ROLE_##word

struct row
{
    const char *name, *rules;
    struct sma_access_event event;
    struct sma_access_facts facts;
    enum sma_access_decision decision;
    bool opens_window, becomes_initiator;
};
/* In groups that are let in. */
static const struct row rows[] = {
    {"private, a stranger", "", EVENT(.is_note = false), NOTHING, SMA_ACCESS_PAIR, false, false},
    {"private, paired",
     "{\"access\":\"paired\"}",
     EVENT(.is_note = false),
     {KNOWN(MEMBER)},
     SMA_ACCESS_RUN,
     false,
     false},
    {"private, administrator",
     "",
     EVENT(.is_note = false),
     {KNOWN(ADMIN)},
     SMA_ACCESS_RUN,
     false,
     false},
    {"private, owner", "", EVENT(.is_note = false), {KNOWN(OWNER)}, SMA_ACCESS_RUN, false, false},
    {"private, open", ANYONE, EVENT(.is_note = false), NOTHING, SMA_ACCESS_RUN, false, false},
    {"private, refused before",
     "",
     EVENT(.is_note = false),
     {.is_rejected = true},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"private, refused and open",
     ANYONE,
     EVENT(.is_note = false),
     {.is_rejected = true},
     SMA_ACCESS_RUN,
     false,
     false},
    {"private, not in the list", "{\"access\":[\"6\"]}", EVENT(.is_note = false), NOTHING,
     SMA_ACCESS_REFUSE, false, false},
    {"private, in the list",
     "{\"access\":[\"6\",\"7\"]}",
     EVENT(.is_note = false),
     {KNOWN(MEMBER)},
     SMA_ACCESS_RUN,
     false,
     false},
    {"private, nobody is listed", "{\"access\":[]}", EVENT(.is_note = false), NOTHING,
     SMA_ACCESS_REFUSE, false, false},
    {"private, without a name", "", {.channel = {"qq", 2}}, NOTHING, SMA_ACCESS_PAIR, false, false},
    {"private, backlog of a stranger", "", EVENT(.is_record_only = true), NOTHING,
     SMA_ACCESS_RECORD, false, false},
    {"private, help", "", EVENT(.is_command = true, .is_help = true), NOTHING, SMA_ACCESS_PAIR,
     false, false},
    {"private, help, open", ANYONE, EVENT(.is_command = true, .is_help = true), NOTHING,
     SMA_ACCESS_RUN, false, false},
    {"private, not addressed", "", EVENT(NOBODY), NOTHING, SMA_ACCESS_RECORD, false, false},
    {"backlog", "", EVENT(.is_record_only = true), NOTHING, SMA_ACCESS_RECORD, false, false},
    {"note", "", EVENT(.is_note = true), NOTHING, SMA_ACCESS_RECORD, false, false},
    {"token", "", {.channel = {"api", 3}, GROUP, NOBODY}, NOTHING, SMA_ACCESS_RUN, false, false},
    {"machine", "", {.channel = {"cli", 3}, NOBODY}, NOTHING, SMA_ACCESS_RUN, false, false},
    {"page", "", {.channel = {"web", 3}}, NOTHING, SMA_ACCESS_RUN, false, false},
    {"first in a group", "", EVENT(GROUP, MENTION), NOTHING, SMA_ACCESS_RUN, true, true},
    {"reply", "", EVENT(GROUP, .address = SMA_ACCESS_ADDRESS_REPLY), NOTHING, SMA_ACCESS_RUN, true,
     true},
    {"initiator", "", EVENT(GROUP, MENTION), {FIRST_IS("7")}, SMA_ACCESS_RUN, true, false},
    {"somebody else", "", EVENT(GROUP, MENTION), {FIRST_IS("8")}, SMA_ACCESS_ASK_ROLE, true, false},
    {"administrator",
     "",
     EVENT(GROUP, MENTION),
     {FIRST_IS("8"), ROLE(ADMIN)},
     SMA_ACCESS_RUN,
     true,
     false},
    {"member",
     "",
     EVENT(GROUP, MENTION),
     {FIRST_IS("8"), ROLE(MEMBER)},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"nobody knows",
     "",
     EVENT(GROUP, MENTION),
     {FIRST_IS("8"), ROLE(UNKNOWN)},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"anyone", "{\"groupAccess\":\"anyone\"}", EVENT(GROUP, MENTION), NOTHING, SMA_ACCESS_RUN, true,
     false},
    {"anyone, not first",
     "{\"groupAccess\":\"anyone\"}",
     EVENT(GROUP, MENTION),
     {FIRST_IS("8")},
     SMA_ACCESS_RUN,
     true,
     false},
    {"named",
     "{\"adminUserIds\":[\"6\",\"7\"]}",
     EVENT(GROUP, MENTION),
     {FIRST_IS("8")},
     SMA_ACCESS_RUN,
     true,
     false},
    {"not named",
     "{\"adminUserIds\":[\"77\"]}",
     EVENT(GROUP, MENTION),
     {FIRST_IS("8")},
     SMA_ACCESS_ASK_ROLE,
     true,
     false},
    {"chatter", "", EVENT(GROUP, NOBODY), {FIRST_IS("7")}, SMA_ACCESS_RECORD, false, false},
    {"question, no window",
     "",
     EVENT(GROUP, NOBODY, .text = {"why?", 4}),
     {FIRST_IS("7")},
     SMA_ACCESS_RECORD,
     false,
     false},
    {"chatter in window",
     "",
     EVENT(GROUP, NOBODY),
     {FIRST_IS("7"), .has_window = true},
     SMA_ACCESS_RECORD,
     false,
     false},
    {"question in window",
     "",
     EVENT(GROUP, NOBODY, .text = {"why?", 4}),
     {FIRST_IS("7"), .has_window = true},
     SMA_ACCESS_RUN,
     true,
     false},
    {"window of a stranger",
     "",
     EVENT(GROUP, NOBODY, .text = {"why?", 4}),
     {FIRST_IS("8"), .has_window = true},
     SMA_ACCESS_ASK_ROLE,
     true,
     false},
    {"no author",
     "",
     {.channel = {"qq", 2}, GROUP, MENTION},
     NOTHING,
     SMA_ACCESS_RECORD,
     false,
     false},
    {"no author, anyone",
     "{\"groupAccess\":\"anyone\"}",
     {.channel = {"qq", 2}, GROUP, MENTION},
     NOTHING,
     SMA_ACCESS_RECORD,
     false,
     false},
    {"command, private", "", EVENT(.is_command = true, NOBODY), NOTHING, SMA_ACCESS_PAIR, false,
     false},
    {"command, private, member",
     "",
     EVENT(.is_command = true, NOBODY),
     {KNOWN(MEMBER)},
     SMA_ACCESS_RUN,
     false,
     false},
    {"status, first", "", EVENT(GROUP, .is_command = true, .is_status = true), NOTHING,
     SMA_ACCESS_RUN, false, false},
    {"status, other",
     "",
     EVENT(GROUP, .is_command = true, .is_status = true),
     {FIRST_IS("8")},
     SMA_ACCESS_ASK_ROLE,
     true,
     false},
    {"status, private, a stranger", "", EVENT(.is_command = true, .is_status = true), NOTHING,
     SMA_ACCESS_PAIR, false, false},
    /* nobody gets in by a command */
    {"command, first", "", EVENT(GROUP, .is_command = true, NOBODY), NOTHING, SMA_ACCESS_ASK_ROLE,
     true, false},
    {"command, first, administrator",
     "",
     EVENT(GROUP, .is_command = true),
     {ROLE(ADMIN)},
     SMA_ACCESS_RUN,
     true,
     false},
    {"command, first, of no rank",
     "",
     EVENT(GROUP, .is_command = true),
     {ROLE(MEMBER)},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"command, first, member of the project",
     "",
     EVENT(GROUP, .is_command = true),
     {KNOWN(MEMBER)},
     SMA_ACCESS_RUN,
     false,
     false},
    {"members open no group",
     "",
     EVENT(GROUP, MENTION),
     {FIRST_IS("8"), KNOWN(MEMBER)},
     SMA_ACCESS_ASK_ROLE,
     true,
     false},
    {"administrators by configuration do",
     "",
     EVENT(GROUP, MENTION),
     {FIRST_IS("8"), KNOWN(ADMIN)},
     SMA_ACCESS_RUN,
     true,
     false},
    {"owners do",
     "",
     EVENT(GROUP, MENTION),
     {FIRST_IS("8"), KNOWN(OWNER), ROLE(MEMBER)},
     SMA_ACCESS_RUN,
     true,
     false},
    {"an owner leaves the first place",
     "",
     EVENT(GROUP, MENTION),
     {KNOWN(OWNER)},
     SMA_ACCESS_RUN,
     true,
     false},
    {"a stranger in an open project's group",
     ANYONE,
     EVENT(GROUP, MENTION),
     {FIRST_IS("8"), ROLE(MEMBER)},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"a list opens no group",
     "{\"access\":[\"7\"]}",
     EVENT(GROUP, MENTION),
     {FIRST_IS("8"), ROLE(MEMBER), KNOWN(MEMBER)},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"command, other",
     "",
     EVENT(GROUP, .is_command = true, NOBODY),
     {FIRST_IS("8")},
     SMA_ACCESS_ASK_ROLE,
     true,
     false},
    {"command, member",
     "",
     EVENT(GROUP, .is_command = true, NOBODY),
     {FIRST_IS("8"), ROLE(MEMBER)},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"help, other",
     "",
     EVENT(GROUP, .is_command = true, .is_help = true),
     {FIRST_IS("8"), ROLE(MEMBER)},
     SMA_ACCESS_RUN,
     false,
     false},
    {"help takes no place", "", EVENT(GROUP, .is_command = true, .is_help = true), NOTHING,
     SMA_ACCESS_RUN, false, false},
    {"old command", "", EVENT(GROUP, .is_command = true, .is_record_only = true), NOTHING,
     SMA_ACCESS_RECORD, false, false},
    {"backlog mention", "", EVENT(GROUP, MENTION, .is_record_only = true), NOTHING,
     SMA_ACCESS_RECORD, false, false},
};

#define QUESTION .text = {"why?", 4}
#define COMMAND .is_command = true
#define OPEN_GROUPS "{\"groupAccess\":\"anyone\"}"

/* In a group that nobody of the owner's side has let in: there the platform calls a stranger who
 * made it its administrator. */
static const struct row outside_rows[] = {
    {"stranger", "", EVENT(GROUP, MENTION), NOTHING, SMA_ACCESS_PAIR, false, false},
    {"stranger, reply", "", EVENT(GROUP, .address = SMA_ACCESS_ADDRESS_REPLY), NOTHING,
     SMA_ACCESS_PAIR, false, false},
    {"its maker", "", EVENT(GROUP, MENTION), {ROLE(ADMIN)}, SMA_ACCESS_PAIR, false, false},
    {"its maker, first",
     "",
     EVENT(GROUP, MENTION),
     {ROLE(ADMIN), FIRST_IS("7")},
     SMA_ACCESS_PAIR,
     false,
     false},
    {"its maker's command",
     "",
     EVENT(GROUP, COMMAND),
     {ROLE(ADMIN)},
     SMA_ACCESS_PAIR,
     false,
     false},
    {"help", "", EVENT(GROUP, COMMAND, .is_help = true), NOTHING, SMA_ACCESS_PAIR, false, false},
    {"status", "", EVENT(GROUP, COMMAND, .is_status = true), NOTHING, SMA_ACCESS_PAIR, false,
     false},
    {"everybody in groups", OPEN_GROUPS, EVENT(GROUP, MENTION), NOTHING, SMA_ACCESS_PAIR, false,
     false},
    {"refused", "", EVENT(GROUP, MENTION), {.is_rejected = true}, SMA_ACCESS_REFUSE, false, false},
    {"a refused group",
     "",
     EVENT(GROUP, MENTION),
     {.is_group_rejected = true, ROLE(ADMIN)},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"a refused group, open",
     ANYONE,
     EVENT(GROUP, MENTION),
     {.is_group_rejected = true},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"listed people, a stranger",
     "{\"access\":[\"6\"]}",
     EVENT(GROUP, MENTION),
     {ROLE(ADMIN)},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"member", "", EVENT(GROUP, MENTION), {KNOWN(MEMBER)}, SMA_ACCESS_RUN, false, false},
    {"member, not first",
     "",
     EVENT(GROUP, MENTION),
     {KNOWN(MEMBER), FIRST_IS("8")},
     SMA_ACCESS_RUN,
     false,
     false},
    {"member's chatter",
     "",
     EVENT(GROUP, NOBODY),
     {KNOWN(MEMBER)},
     SMA_ACCESS_RECORD,
     false,
     false},
    {"member's command",
     "",
     EVENT(GROUP, COMMAND),
     {KNOWN(MEMBER), ROLE(MEMBER)},
     SMA_ACCESS_RUN,
     false,
     false},
    {"open, first", ANYONE, EVENT(GROUP, MENTION), NOTHING, SMA_ACCESS_RUN, true, true},
    {"open, initiator",
     ANYONE,
     EVENT(GROUP, MENTION),
     {FIRST_IS("7")},
     SMA_ACCESS_RUN,
     true,
     false},
    {"open, another, its administrator",
     ANYONE,
     EVENT(GROUP, MENTION),
     {FIRST_IS("8"), ROLE(ADMIN)},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"open, nobody's role is asked",
     ANYONE,
     EVENT(GROUP, MENTION),
     {FIRST_IS("8")},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"open, its maker's command",
     ANYONE,
     EVENT(GROUP, COMMAND),
     {ROLE(ADMIN)},
     SMA_ACCESS_REFUSE,
     false,
     false},
    {"open, help",
     ANYONE,
     EVENT(GROUP, COMMAND, .is_help = true),
     {FIRST_IS("8")},
     SMA_ACCESS_RUN,
     false,
     false},
    {"open, status, first", ANYONE, EVENT(GROUP, COMMAND, .is_status = true), NOTHING,
     SMA_ACCESS_RUN, false, false},
    {"open and everybody in groups",
     "{\"access\":\"anyone\",\"groupAccess\":\"anyone\"}",
     EVENT(GROUP, MENTION),
     {FIRST_IS("8")},
     SMA_ACCESS_RUN,
     true,
     false},
    {"owner", "", EVENT(GROUP, MENTION), {KNOWN(OWNER)}, SMA_ACCESS_RUN, true, false},
    {"owner's command",
     "",
     EVENT(GROUP, COMMAND, NOBODY),
     {KNOWN(OWNER)},
     SMA_ACCESS_RUN,
     true,
     false},
    {"owner's chatter", "", EVENT(GROUP, NOBODY), {KNOWN(OWNER)}, SMA_ACCESS_RECORD, false, false},
    {"owner's question in a window",
     "",
     EVENT(GROUP, NOBODY, QUESTION),
     {KNOWN(OWNER), .has_window = true},
     SMA_ACCESS_RUN,
     true,
     false},
    {"owner in a refused group",
     "",
     EVENT(GROUP, MENTION),
     {KNOWN(OWNER), .is_group_rejected = true},
     SMA_ACCESS_RUN,
     true,
     false},
    {"administrator by configuration", "{\"adminUserIds\":[\"7\"]}", EVENT(GROUP, MENTION), NOTHING,
     SMA_ACCESS_RUN, true, false},
    {"backlog",
     "",
     EVENT(GROUP, MENTION, .is_record_only = true),
     {KNOWN(OWNER)},
     SMA_ACCESS_RECORD,
     false,
     false},
};
static const char *const letting_in[] = {"owner", "owner's command",
                                         "administrator by configuration"};

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

CASE(an_unknown_group_is_as_private)
{
    for (size_t i = 0; i < SMA_COUNT_OF(outside_rows); i++) {
        const struct row *row = &outside_rows[i];
        struct sma_access_rules *rules = rules_of(row->rules);
        struct sma_access_event event = row->event;
        if (event.text.len == 0)
            event.text = SMA_STR("hello");
        struct sma_access_outcome outcome = sma_access_decide(rules, &event, &row->facts);
        bool lets_in = is_one_of(row->name, letting_in, SMA_COUNT_OF(letting_in));
        if (outcome.decision != row->decision || outcome.opens_window != row->opens_window ||
            outcome.becomes_initiator != row->becomes_initiator || outcome.lets_in != lets_in) {
            fprintf(stderr, "outside: %s: decision %d, window %d, initiator %d, lets in %d (%s)\n",
                    row->name, (int)outcome.decision, outcome.opens_window,
                    outcome.becomes_initiator, outcome.lets_in,
                    sma_reason_text(outcome.reason)->word);
            CHECK(false);
        }
        sma_access_rules_destroy(rules);
    }
}

CASE(groups_are_named_by_their_ids)
{
    struct sma_access_rules *rules = rules_of("{\"groups\":[\"-1001\",-1002,\"oc_a\"]}");
    CHECK(sma_access_is_listed_group(rules, SMA_STR("-1001")));
    CHECK(sma_access_is_listed_group(rules, SMA_STR("-1002")));
    CHECK(sma_access_is_listed_group(rules, SMA_STR("oc_a")));
    CHECK(!sma_access_is_listed_group(rules, SMA_STR("-100")));
    CHECK(!sma_access_is_listed_group(rules, SMA_STR("")));
    sma_access_rules_destroy(rules);
    rules = rules_of("");
    CHECK(!sma_access_is_listed_group(rules, SMA_STR("-1001")));
    sma_access_rules_destroy(rules);
}

CASE(every_row_is_decided_as_the_table_says)
{
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        const struct row *row = &rows[i];
        struct sma_access_rules *rules = rules_of(row->rules);
        struct sma_access_event event = row->event;
        struct sma_access_facts facts = row->facts;
        facts.is_let_in = event.is_group;
        if (event.text.len == 0)
            event.text = SMA_STR("hello");
        struct sma_access_outcome outcome = sma_access_decide(rules, &event, &facts);
        CHECK(!outcome.lets_in && !outcome.is_outside);
        if (outcome.decision != row->decision || outcome.opens_window != row->opens_window ||
            outcome.becomes_initiator != row->becomes_initiator) {
            fprintf(stderr, "%s: decision %d, window %d, initiator %d (%s)\n", row->name,
                    (int)outcome.decision, outcome.opens_window, outcome.becomes_initiator,
                    sma_reason_text(outcome.reason)->word);
            CHECK(false);
        }
        bool is_answered =
            outcome.decision == SMA_ACCESS_RUN || outcome.decision == SMA_ACCESS_ASK_ROLE;
        CHECK((outcome.reason == SMA_REASON_NONE) == is_answered);
        sma_access_rules_destroy(rules);
    }
}

CASE(lists_name_people_in_both_forms)
{
    struct sma_access_rules *rules = rules_of("{\"access\":[\"7\",1001,\"qq:AB\",\"u:x\"]}");
    CHECK_INT(SMA_ACCESS_OPEN_LIST, sma_access_opening(rules));
    static const struct
    {
        const char *channel, *user;
        bool is_listed;
    } people[] = {
        {"telegram", "7", true}, {"telegram", "1001", true}, {"telegram", "100", false},
        {"telegram", "", false}, {"qq", "AB", true},         {"telegram", "AB", false},
        {"qq", "A", false},      {"qq", "qq:AB", true},      {"telegram", "u:x", true},
        {"u", "x", true},        {"", "7", false},           {"telegram", "07", false},
        {"feishu", "7", true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(people); i++)
        CHECK_INT(people[i].is_listed,
                  sma_access_is_listed(rules, sma_str(people[i].channel), sma_str(people[i].user)));
    sma_access_rules_destroy(rules);
    rules = rules_of(ANYONE);
    CHECK_INT(SMA_ACCESS_OPEN_ANYONE, sma_access_opening(rules));
    CHECK(!sma_access_is_listed(rules, SMA_STR("telegram"), SMA_STR("7")));
    sma_access_rules_destroy(rules);
    rules = rules_of("{\"access\":null,\"adminUserIds\":[\"7\"]}");
    CHECK_INT(SMA_ACCESS_OPEN_PAIRED, sma_access_opening(rules));
    CHECK(sma_access_is_group_admin(rules, SMA_STR("7")));
    CHECK(!sma_access_is_group_admin(rules, SMA_STR("8")));
    sma_access_rules_destroy(rules);
}

/* -- the gate ---------------------------------------------------------------------------------- */
CASE(the_gate_reads_english_and_chinese)
{
    static const char *const meant[] = {
        "and then?",
        "然后？",
        "can you look",
        "thx u",
        "YOU there",
        "hey bot, look",
        "the agent knows",
        "ask the ai.",
        "问ai吧",
        "你看看",
        "您好",
        "机器人",
        "叫助理来",
        "AI会做",
        "同学来一下",
        "能不能快点",
        "可以",
        "帮我查一下",
        "帮忙",
        "继续",
        "继续说下去",
        "再来一个",
        "然后呢",
        "为啥",
        "为什么不行",
        "怎么办",
        "如何安装",
        "what now",
        "Why not",
        "how",
        "HELP!",
        "  \n help me",
        "write to a@b.com?",
        "@attach photo .ship/x.jpg | photo.jpg\n\nwhat is this",
        "is it 5 @ 3?",
    };
    static const char *const not_meant[] = {
        "",
        "   \n",
        "ok thanks",
        "@bob can you?",
        "tell @bob_2 what?",
        "yours",
        "robot",
        "said",
        "agents",
        "whatever",
        "however",
        "see what",
        "helpful",
        "nothing",
        "好的",
        "收到",
        "不继续了",
        "unless",
        "hello everyone",
        "shown @all",
        "@attach photo .ship/what?.jpg | you",
        "@attach a b | c\n@attach d e | f\n\n",
        "@attach a b | c\n\nnice picture",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(meant); i++)
        if (!sma_access_is_meant(sma_str(meant[i]))) {
            fprintf(stderr, "should be meant: %s\n", meant[i]);
            CHECK(false);
        }
    for (size_t i = 0; i < SMA_COUNT_OF(not_meant); i++)
        if (sma_access_is_meant(sma_str(not_meant[i]))) {
            fprintf(stderr, "should not be meant: %s\n", not_meant[i]);
            CHECK(false);
        }
}

/* Who speaks x who may talk x whether his role is known: may he talk, and is it asked what he may
 * have done? His standing is known before tools are, or he is refused. */
CASE(standing_is_known_before_tools)
{
    static const char *const initiators[] = {"", "7",
                                             "8"}; /* he is the first, was it, is another */
    static const char *const rules_of_groups[] = {"{\"groupAccess\":\"anyone\"}",
                                                  "{\"groupAccess\":\"initiator_or_admin\"}"};
    for (unsigned i = 0; i < 3 * 2 * 3; i++) {
        const char *first = initiators[i % 3];
        bool is_anyone = i / 3 % 2 == 0, is_other = i % 3 == 2;
        enum sma_access_role role = (enum sma_access_role)(i / 6);
        bool is_known = role != SMA_ACCESS_ROLE_UNKNOWN;
        struct sma_access_rules *rules = rules_of(rules_of_groups[i / 3 % 2]);
        struct sma_access_event event = EVENT(GROUP, MENTION);
        struct sma_access_facts facts = {.initiator = sma_str(first),
                                         .is_let_in = true,
                                         .is_role_known = is_known,
                                         .role = role};
        struct sma_access_outcome outcome = sma_access_decide(rules, &event, &facts);
        bool may_talk = is_anyone || !is_other || role == SMA_ACCESS_ROLE_ADMIN;
        CHECK_INT(may_talk   ? SMA_ACCESS_RUN
                  : is_known ? SMA_ACCESS_REFUSE
                             : SMA_ACCESS_ASK_ROLE,
                  outcome.decision);
        CHECK_INT(may_talk && !is_known, outcome.learns_role);
        facts.is_let_in = false; /* there the platform's word counts for nothing */
        CHECK(!sma_access_decide(rules, &event, &facts).learns_role);
        facts.is_let_in = true;
        facts.standing = SMA_ACCESS_ADMIN; /* nothing is left to be asked */
        CHECK(!sma_access_decide(rules, &event, &facts).learns_role);
        sma_access_rules_destroy(rules);
    }
}

CASES_MAIN
