/*
 * Aim: what the old program left is read as far as it makes sense, and contacts.json is written as
 * it was.
 * Method: folders prepared by hand, good and bad; the written file byte by byte.
 */
#include "history_support.h"

#include "runtime/chat/contacts_file.h"
#include "runtime/chat/legacy.h"

#include <stdarg.h>

static char seen[4096];

static void note(const char *format, ...) SMA_PRINTF(1, 2);
static void note(const char *format, ...)
{
    va_list arguments;
    size_t len = strlen(seen);
    va_start(arguments, format);
    vsnprintf(seen + len, sizeof seen - len, format, arguments);
    va_end(arguments);
}

#define ARG(text) (int)(text).len, (text).len == 0 ? "" : (text).ptr

/* -- contacts ---------------------------------------------------------------------------------- */
static enum sma_err note_contact(void *self, const struct sma_contact *contact)
{
    (void)self;
    note("%.*s:%.*s:%.*s:%lld:%lld;", ARG(contact->channel), ARG(contact->user_name),
         ARG(contact->chat_key), (long long)contact->thread_id, (long long)contact->updated_ms);
    return sma_str_is_equal(contact->user_name, SMA_STR("stop")) ? SMA_ERR_FULL : SMA_ERR_OK;
}

static enum sma_err read_contacts(const char *bytes, struct sma_error *error)
{
    seen[0] = '\0';
    put_file("contacts.json", bytes, strlen(bytes));
    return sma_contacts_read(sma_sys_real(), file_path("contacts.json"), note_contact, NULL, error);
}

AFTER_EACH(drop_directory())

CASE(contacts_are_read_tolerantly)
{
    make_directory();
    CHECK_OK(
        sma_contacts_read(sma_sys_real(), file_path("contacts.json"), note_contact, NULL, NULL));
    CHECK_OK(read_contacts(
        "\xEF\xBB\xBF{\"v\":1,\"contacts\":[7,null,{},{\"channel\":\"telegram\",\"username\":"
        "\"ann\","
        "\"chatId\":\"7\",\"chatKey\":\"telegram:chat:7\",\"messageThreadId\":42,\"updatedAt\":5,"
        "\"more\":[]},{\"channel\":\"qq\",\"username\":\"\",\"chatId\":\"1\",\"chatKey\":\"k\"},"
        "{\"channel\":\"qq\",\"username\":\"bob\",\"chatId\":\"1\",\"chatKey\":\"k\","
        "\"messageThreadId\":\"x\",\"updatedAt\":1e12}]}",
        NULL));
    CHECK_TEXT("telegram:ann:telegram:chat:7:42:5;qq:bob:k:0:1000000000000;", seen);
    CHECK_OK(read_contacts(
        "{\"v\":2,\"contacts\":[{\"channel\":\"q\",\"username\":\"b\",\"chatId\":\"1\","
        "\"chatKey\":\"k\"}]}",
        NULL));
    CHECK_TEXT("", seen);
    CHECK_OK(read_contacts("[]", NULL));
    CHECK_OK(read_contacts("{\"v\":1,\"contacts\":{}}", NULL));
    struct sma_error error = {0};
    CHECK_ERR(SMA_ERR_CORRUPT, read_contacts("{\"v\":1,", &error));
    CHECK(strstr(error.text, "contacts.json") != NULL);
    CHECK_ERR(SMA_ERR_FULL,
              read_contacts("{\"v\":1,\"contacts\":[{\"channel\":\"q\",\"username\":\"stop\","
                            "\"chatId\":\"1\",\"chatKey\":\"k\"}]}",
                            NULL));
}

CASE(contacts_are_written_as_the_old_program_does)
{
    static const char expect[] = "{\n  \"v\": 1,\n  \"updatedAt\": 99,\n  \"contacts\": [\n    {\n "
                                 "     \"channel\": \"telegram\",\n"
                                 "      \"chatId\": \"7\",\n      \"chatKey\": "
                                 "\"telegram:chat:7\",\n      \"messageId\": \"m\",\n"
                                 "      \"userId\": \"u\",\n      \"username\": \"安\\\"n\",\n     "
                                 " \"chatType\": \"private\",\n"
                                 "      \"messageThreadId\": 42,\n      \"updatedAt\": 6\n    },\n "
                                 "   {\n      \"channel\": \"qq\",\n"
                                 "      \"chatId\": \"1\",\n      \"chatKey\": \"k\",\n      "
                                 "\"username\": \"bob\",\n      \"updatedAt\": 5\n"
                                 "    }\n  ]\n}\n";
    struct sma_contact contacts[] = {
        {.channel = SMA_STR("telegram"),
         .chat_id = SMA_STR("7"),
         .chat_key = SMA_STR("telegram:chat:7"),
         .user_name = SMA_STR("安\"n"),
         .message_id = SMA_STR("m"),
         .user_id = SMA_STR("u"),
         .chat_type = SMA_STR("private"),
         .thread_id = 42,
         .updated_ms = 6},
        {.channel = SMA_STR("qq"),
         .chat_id = SMA_STR("1"),
         .chat_key = SMA_STR("k"),
         .user_name = SMA_STR("bob"),
         .updated_ms = 5},
    };
    make_directory();
    struct sma_buf text;
    sma_buf_init(&text, 4096);
    sma_contacts_begin(&text, 99);
    sma_contacts_item(&text, &contacts[0], true);
    sma_contacts_item(&text, &contacts[1], false);
    sma_contacts_end(&text, false);
    CHECK_STR(expect, sma_buf_str(&text));
    put_file("contacts.json", text.ptr, text.len);
    seen[0] = '\0';
    CHECK_OK(
        sma_contacts_read(sma_sys_real(), file_path("contacts.json"), note_contact, NULL, NULL));
    CHECK_TEXT("telegram:安\"n:telegram:chat:7:42:6;qq:bob:k:0:5;", seen);
    sma_buf_clear(&text);
    sma_contacts_begin(&text, 99);
    sma_contacts_end(&text, true);
    CHECK_STR("{\n  \"v\": 1,\n  \"updatedAt\": 99,\n  \"contacts\": []\n}\n", sma_buf_str(&text));
    sma_buf_clear(&text);
    sma_contact_format(&text, &contacts[1]);
    CHECK_STR("{\"channel\":\"qq\",\"chatId\":\"1\",\"chatKey\":\"k\",\"username\":\"bob\","
              "\"updatedAt\":5}",
              sma_buf_str(&text));
    sma_buf_fini(&text);
}

/* -- the old program's cache ------------------------------------------------------------------- */
static enum sma_err note_claim(void *self, struct sma_str channel, struct sma_str chat_key,
                               struct sma_str message_id, int64_t claimed_ms)
{
    (void)self;
    note("%.*s|%.*s|%.*s|%lld;", ARG(channel), ARG(chat_key), ARG(message_id),
         (long long)claimed_ms);
    return SMA_ERR_OK;
}
static enum sma_err note_update(void *self, int64_t update_id)
{
    (void)self;
    note("update %lld;", (long long)update_id);
    return SMA_ERR_OK;
}
static enum sma_err note_initiator(void *self, struct sma_str channel, struct sma_str chat_key,
                                   struct sma_str user_id)
{
    (void)self;
    note("%.*s %.*s by %.*s;", ARG(channel), ARG(chat_key), ARG(user_id));
    return SMA_ERR_OK;
}

static void make_folder(const char *name)
{
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), file_path(name), NULL));
}
static void put_text(const char *name, const char *text)
{
    put_file(name, text, strlen(text));
}

static enum sma_err walk(struct sma_legacy_counts *counts)
{
    struct sma_legacy_sink sink = {NULL, note_claim, note_update, note_initiator};
    seen[0] = '\0';
    return sma_legacy_walk(sma_sys_real(), test_directory, &sink, counts, NULL);
}

CASE(markers_of_the_old_program_are_found)
{
    struct sma_legacy_counts counts;
    make_directory();
    CHECK_OK(walk(&counts)); /* nothing there */
    CHECK_TEXT("", seen);
    make_folder(".cache/ingress/telegram/telegram%3Achat%3A-1%3Atopic%3A2");
    make_folder(".cache/telegram");
    make_folder(".cache/feishu/dedupe");
    put_text(".cache/ingress/telegram/telegram%3Achat%3A-1%3Atopic%3A2/99.json",
             "{\n  \"v\": 1,\n  \"channel\": \"telegram\",\n  \"claimedAt\": 1700\n}");
    put_text(".cache/telegram/lastUpdateId.json", "{\"lastUpdateId\": 12345}\n");
    put_text(".cache/telegram/threadInitiators.json",
             "{\"initiators\":{\"telegram:chat:-1\":\"7\",\"x\":8,\"y\":\"\"},\"updatedAt\":1}");
    put_text(".cache/feishu/threadInitiators.json",
             "{\"initiators\":{\"feishu:chat:oc\":\"ou_1\"}}");
    put_text(".cache/feishu/dedupe/feishu%3Achat%3Aoc.json",
             "{\"ids\":[\"om_1\",7,\"\",\"om_2\"]}");
    CHECK_OK(walk(&counts));
    CHECK_TEXT("update 12345;telegram telegram:chat:-1 by 7;feishu feishu:chat:oc by ou_1;"
               "feishu|feishu:chat:oc|om_1|0;feishu|feishu:chat:oc|om_2|0;"
               "telegram|telegram:chat:-1:topic:2|99|1700;",
               seen);
    CHECK_INT(3, counts.claims);
    CHECK_INT(2, counts.initiators);
    CHECK_INT(0, counts.skipped);
}

CASE(garbage_is_skipped)
{
    struct sma_legacy_counts counts;
    make_directory();
    make_folder(".cache/ingress/telegram/k/folder.json");
    make_folder(".cache/ingress/telegram/%ZZ");
    make_folder(".cache/telegram");
    make_folder(".cache/feishu/dedupe");
    put_text(".cache/ingress/stray", "x");
    put_text(".cache/ingress/telegram/stray", "x");
    put_text(".cache/ingress/telegram/k/1.json", ""); /* created, then killed: still a claim */
    put_text(".cache/ingress/telegram/k/2.json.tmp", "");
    put_text(".cache/ingress/telegram/k/.json", "");
    put_text(".cache/telegram/lastUpdateId.json", "{\"lastUpdateId\": \"12\"}");
    put_text(".cache/telegram/threadInitiators.json", "[[[");
    put_text(".cache/feishu/threadInitiators.json", "{\"initiators\":[1]}");
    put_text(".cache/feishu/dedupe/x.json", "\xff\xfe");
    put_text(".cache/feishu/dedupe/y.json", "{\"ids\":{\"a\":1}}");
    CHECK_OK(walk(&counts));
    CHECK(strstr(seen, "telegram|k|1|0;") != NULL);
    CHECK(strstr(seen, "|2") == NULL && strstr(seen, "update") == NULL &&
          strstr(seen, " by ") == NULL);
    CHECK(counts.skipped >= 5);
}

CASES_MAIN
