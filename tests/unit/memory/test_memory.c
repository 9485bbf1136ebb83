/*
 * Aim: files are the truth, people edit them, and what is recalled is what stands in them and may
 * be read by whoever asks. Method: a folder of its own, files written as people write them.
 */
#include <errno.h>

#include "memory_support.h"

#define ANN "telegram:1001"
#define BOB "telegram:1002"
#define GROUP "telegram:group:-100"
#define ANNS_FILE "users/telegram%3A1001.md"

CASE(a_fact_is_a_line_of_its_persons_file)
{
    SMA_AUTO(teardown) struct given given;
    setup(&given);
    const struct sma_memory_new fact = {.text = SMA_STR("Ann drinks tea,\n never  coffee -->"),
                                        .tags = SMA_STR("tea a,b"),
                                        .kind = SMA_MEMORY_PREFERENCE,
                                        .importance = 8,
                                        .wall_ms = 1795478400000};
    struct sma_memory_scope ann = in_private(ANN);
    uint64_t id, again;
    CHECK_OK(sma_memory_upsert(given.memory, &ann, &fact, &id));
    check_file(&given, ANNS_FILE,
               "# What this agent remembers about this person\n\n"
               "Each line below that begins with a dash is one fact. Edit and delete as you "
               "like.\n\n"
               "- Ann drinks tea, never coffee -- > <!-- memory: preference, importance 8, "
               "2026-11-24, tags tea a-b -->\n");
    CHECK_ERR(SMA_ERR_EXISTS, sma_memory_upsert(given.memory, &ann, &fact, &again));
    CHECK(id == again);
    CHECK_STR("Ann drinks tea, never coffee -- >\n", recall(&given, ann, "some TEA?"));
    CHECK(given.ids[0] == id);
}

CASE(what_people_write_survives_and_counts_at_once)
{
    static const char text[] = "# Ann\r\n\r\nprose about tea\r\n"
                               "* likes green tea\r\n"
                               "  - nested tea\n"
                               "- \n-no bullet tea\n"
                               "```\n- code tea\n```\n"
                               "<!-- a comment\n- hidden tea\n-->\n"
                               "+ last tea <!-- note of Ann's own -->";
    SMA_AUTO(teardown) struct given given;
    setup(&given);
    write_text(&given, ANNS_FILE, text);
    (void)recall(&given, in_private(ANN), "tea");
    CHECK(strstr(given.texts.ptr, "likes green tea\n") != NULL);
    CHECK(strstr(given.texts.ptr, "nested tea\n") != NULL);
    CHECK(strstr(given.texts.ptr, "last tea <!-- note of Ann's own -->\n") != NULL);
    CHECK_INT(3, given.count);
    upsert(&given, in_private(ANN), "new");
    char wanted[1024];
    snprintf(wanted, sizeof wanted, "%s\n- new <!-- memory: fact, importance 7, 2026-11-24 -->\n",
             text);
    check_file(&given, ANNS_FILE, wanted);
    write_text(&given, ANNS_FILE, "- likes black tea\n");
    CHECK_STR("likes black tea\n", recall(&given, in_private(ANN), "tea"));
    char path[256];
    path_of(&given, ANNS_FILE, path);
    CHECK(unlink(path) == 0);
    CHECK_STR("", recall(&given, in_private(ANN), "tea"));
}

CASE(a_place_says_who_may_read)
{
    SMA_AUTO(teardown) struct given given;
    setup(&given);
    struct sma_memory_scope project = {.person = sma_str(ANN), .is_project = true};
    upsert(&given, in_private(ANN), "private tea");
    upsert(&given, in_group(ANN, GROUP), "group tea");
    upsert(&given, project, "project tea");
    CHECK_INT(2, (recall(&given, in_private(ANN), "tea"), given.count));
    CHECK(strstr(given.texts.ptr, "private tea") != NULL);
    CHECK(strstr(given.texts.ptr, "project tea") != NULL);
    CHECK_STR("project tea\n", recall(&given, in_private(BOB), "private group tea"));
    CHECK_INT(2, (recall(&given, in_group(BOB, GROUP), "private group tea"), given.count));
    CHECK(strstr(given.texts.ptr, "group tea") != NULL);
    CHECK_INT(2, (recall(&given, in_group(ANN, GROUP), "private group tea"), given.count));
    CHECK(strstr(given.texts.ptr, "private") == NULL);
    CHECK_STR("project tea\n", recall(&given, in_group(ANN, "telegram:group:-200"), "group tea"));
    CHECK_STR("project tea\n", recall(&given, in_private(""), "private group tea"));
    /* the same from the files alone */
    sma_memory_destroy(given.memory);
    char path[256];
    path_of(&given, "index.db", path);
    CHECK(unlink(path) == 0);
    open_memory(&given);
    CHECK_INT(2, (recall(&given, in_group(BOB, GROUP), "private group tea"), given.count));
    CHECK_STR("project tea\n", recall(&given, in_private(BOB), "private group tea"));
}

CASE(a_broken_mark_is_not_recalled_anywhere)
{
    SMA_AUTO(teardown) struct given given;
    setup(&given);
    write_text(&given, "project.md",
               "- all tea <!-- memory: importance 99, colour red -->\n"
               "- half tea <!-- memory: in telegram%3Agroup\n"
               "- bad tea <!-- memory: in %zz -->\n"
               "- group tea <!-- memory: in telegram%3Agroup%3A-100 -->\n");
    CHECK_STR("all tea\n", recall(&given, in_private(ANN), "tea"));
    CHECK_INT(2, (recall(&given, in_group(ANN, GROUP), "tea"), given.count));
}

CASE(what_cannot_be_read_is_left_alone)
{
    static const char bad[] = "- latin1 t\xE9 tea\n", nul[] = "- tea\n\0- more\n";
    static char large[SMA_MEMORY_FILE_BYTES_MAX + 2];
    SMA_AUTO(teardown) struct given given;
    uint64_t id;
    setup(&given);
    memset(large, 'x', sizeof large - 1);
    const struct sma_str rows[] = {{bad, sizeof bad - 1},
                                   {nul, sizeof nul - 1},
                                   {large, SMA_MEMORY_FILE_BYTES_MAX + 1},
                                   SMA_STR("- tea\n```\nopen\n"),
                                   SMA_STR("- tea\n<!-- open\n")};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char path[256], *bytes;
        size_t len;
        struct sma_error error;
        write_file(&given, ANNS_FILE, rows[i].ptr, rows[i].len);
        CHECK_STR(i < 3 ? "" : "tea\n", recall(&given, in_private(ANN), "tea"));
        CHECK_ERR(SMA_ERR_CORRUPT, try_upsert(&given, in_private(ANN), "new", &id));
        CHECK(sma_memory_trouble(given.memory).len > 0);
        path_of(&given, ANNS_FILE, path);
        CHECK_OK(sma_sys_read_file(sma_sys_real(), path, sizeof large, &bytes, &len, &error));
        CHECK(sma_str_is_equal(rows[i], ((struct sma_str){bytes, len})));
        free(bytes);
    }
    char path[256];
    path_of(&given, ANNS_FILE, path);
    CHECK(unlink(path) == 0 && symlink("/etc/hosts", path) == 0);
    CHECK_ERR(SMA_ERR_CORRUPT, try_upsert(&given, in_private(ANN), "new", &id));
    CHECK_STR("", recall(&given, in_private(ANN), "localhost"));
}

CASE(a_file_and_a_text_have_an_end)
{
    static char text[SMA_MEMORY_TEXT_BYTES_MAX + 2];
    SMA_AUTO(teardown) struct given given;
    uint64_t id;
    setup(&given);
    for (size_t i = 0; i < sizeof text - 1; i++)
        text[i] = "ab "[i % 3];
    text[sizeof text - 2] = 'c';
    CHECK_ERR(SMA_ERR_TOOBIG, try_upsert(&given, in_private(ANN), text, &id));
    text[sizeof text - 3] = 'c';
    text[sizeof text - 2] = '\0';
    CHECK_OK(try_upsert(&given, in_private(ANN), text, &id));
    CHECK_ERR(SMA_ERR_BADINPUT, try_upsert(&given, in_private(ANN), " \n ", &id));
    CHECK_ERR(SMA_ERR_BADINPUT, try_upsert(&given, in_private(""), "tea", &id));

    struct sma_buf full;
    sma_buf_init(&full, SMA_MEMORY_FILE_BYTES_MAX);
    for (int i = 0; i < SMA_MEMORY_FILE_FACT_COUNT_MAX - 1; i++)
        sma_buf_printf(&full, "- f%d\n", i);
    write_file(&given, ANNS_FILE, full.ptr, full.len);
    CHECK_OK(try_upsert(&given, in_private(ANN), "last", &id));
    CHECK_ERR(SMA_ERR_FULL, try_upsert(&given, in_private(ANN), "one more", &id));
    sma_buf_clear(&full);
    sma_buf_put_text(&full, "- x\n");
    while (full.len < SMA_MEMORY_FILE_BYTES_MAX - 40)
        sma_buf_put_char(&full, 'y');
    sma_buf_put_char(&full, '\n');
    write_file(&given, ANNS_FILE, full.ptr, full.len);
    CHECK_ERR(SMA_ERR_FULL, try_upsert(&given, in_private(ANN), "does not fit any more", &id));
    sma_buf_fini(&full);
}

CASE(a_fact_is_replaced_and_forgotten_in_its_own_place_only)
{
    SMA_AUTO(teardown) struct given given;
    uint32_t gone;
    setup(&given);
    uint64_t private_id = upsert(&given, in_private(ANN), "private tea");
    uint64_t group_id = upsert(&given, in_group(ANN, GROUP), "group tea");
    struct sma_memory_scope here = in_group(ANN, GROUP), bob = in_group(BOB, GROUP);
    struct sma_memory_new fact = {
        .text = SMA_STR("other tea"), .replaces = private_id, .wall_ms = 1795478400000};
    uint64_t id;
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_memory_upsert(given.memory, &here, &fact, &id));
    fact.replaces = group_id;
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_memory_upsert(given.memory, &bob, &fact, &id));
    CHECK_OK(sma_memory_upsert(given.memory, &here, &fact, &id));
    CHECK_STR("other tea\n", recall(&given, here, "tea"));

    CHECK_OK(sma_memory_forget(given.memory, &here, &private_id, 1, &gone));
    CHECK_INT(0, gone);
    CHECK_OK(sma_memory_forget(given.memory, &bob, &id, 1, &gone));
    CHECK_INT(0, gone);
    CHECK_OK(sma_memory_forget(given.memory, &here, &id, 1, &gone));
    CHECK_INT(1, gone);
    CHECK_STR("", recall(&given, here, "tea"));
    CHECK_STR("private tea\n", recall(&given, in_private(ANN), "tea"));
}

CASE(words_are_found_in_many_languages)
{
    static const struct
    {
        const char *text, *question;
    } rows[] = {
        {"他喜欢喝绿茶", "要不要绿茶？"},
        {"猫叫咪咪", "猫"},
        {"她在北京工作", "北京天气怎么样"},
        {"コーヒーが好き", "コーヒー？"},
        {"커피를 좋아한다", "커피"},
        {"Elle préfère le café noir", "CAFE noir?"},
        {"Deploys happen on Fridays", "when do we deploy"},
        {"项目用 PostgreSQL 16", "postgresql"},
        {"Живёт в Москве", "москве"},
        {"uses C++ and f(x)", "\"c++\" OR NEAR(x) *"},
    };
    SMA_AUTO(teardown) struct given given;
    setup(&given);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        upsert(&given, in_private(ANN), rows[i].text);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        (void)recall(&given, in_private(ANN), rows[i].question);
        size_t len = strlen(rows[i].text);
        if (given.texts.len <= len || memcmp(given.texts.ptr, rows[i].text, len) != 0)
            fprintf(stderr, "row %zu: %s\n", i, rows[i].question);
        CHECK(given.texts.len > len && memcmp(given.texts.ptr, rows[i].text, len) == 0);
    }
    CHECK_STR("", recall(&given, in_private(ANN), "the and 1z2z \xff\xfe !!"));
}

CASE(the_most_fitting_and_the_important_come_first)
{
    SMA_AUTO(teardown) struct given given;
    setup(&given);
    struct sma_buf text;
    sma_buf_init(&text, 65536);
    for (int i = 0; i < 50; i++)
        sma_buf_printf(&text, "- coffee place number%d <!-- memory: importance 2 -->\n", i);
    sma_buf_put_text(&text, "- coffee beans <!-- memory: importance 7 -->\n"
                            "- answer in German <!-- memory: importance 9 -->\n");
    write_file(&given, ANNS_FILE, text.ptr, text.len);
    (void)recall(&given, in_private(ANN), "number33 coffee");
    CHECK_INT(SMA_MEMORY_RECALL_COUNT_MAX, given.count);
    CHECK(strncmp(given.texts.ptr, "coffee place number33\n", 22) == 0);
    CHECK(strstr(given.texts.ptr, "coffee beans\n") != NULL);
    CHECK_STR("answer in German\n", recall(&given, in_private(ANN), "hello"));
    begin(&given);
    struct sma_memory_scope ann = in_private(ANN);
    CHECK_OK(sma_memory_search(given.memory, &ann, SMA_STR("hello"), 20, take_fact, &given));
    CHECK_INT(0, given.count);
    sma_buf_fini(&text);
}

/* As many as one file may hold, all of the same words: what is rare is found, however old, and
 * among words of which not every row can be read. */
CASE(a_rare_word_is_found_among_many_common_ones)
{
    SMA_AUTO(teardown) struct given given;
    setup(&given);
    struct sma_buf text;
    sma_buf_init(&text, 1024 * 1024);
    sma_buf_put_text(&text, "- the boat is called Anneliese\n- 绿茶放在仓库里\n");
    for (int i = 2; i < SMA_MEMORY_FILE_FACT_COUNT_MAX; i++)
        sma_buf_printf(&text,
                       "- boat harbour water sail wind rope mast deck %s number%d <!-- memory: "
                       "importance %d -->\n",
                       i % 2 == 0 ? "天气很好" : "keel hull", i, 4 + i % 3);
    write_file(&given, ANNS_FILE, text.ptr, text.len);
    write_file(&given, "project.md", text.ptr, text.len);
    static const struct
    {
        const char *question, *wanted;
    } rows[] = {
        {"boat harbour water sail wind rope mast deck keel hull 天气很好 Anneliese", "the boat is"},
        {"boat harbour water sail wind rope mast deck keel hull 天气很好 仓库", "绿茶放在"},
        {"anneliese", "the boat is"},
        {"天气很好，绿茶呢", "绿茶放在"},
        {"which water wind number4321", "boat harbour water sail wind rope mast deck keel hull "
                                        "number4321"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        (void)recall(&given, in_private(ANN), rows[i].question);
        CHECK_INT(i == 2 ? 2 : SMA_MEMORY_RECALL_COUNT_MAX, given.count);
        if (strncmp(given.texts.ptr, rows[i].wanted, strlen(rows[i].wanted)) != 0)
            fprintf(stderr, "row %zu: %s\n", i, given.texts.ptr);
        CHECK(strncmp(given.texts.ptr, rows[i].wanted, strlen(rows[i].wanted)) == 0);
    }
    CHECK(sma_memory_wants_scrub(given.memory)); /* many were added: the index is merged */
    for (bool is_done = false; !is_done;)
        CHECK_OK(sma_memory_scrub(given.memory, &is_done));
    CHECK(!sma_memory_wants_scrub(given.memory));
    CHECK(strncmp("绿茶放在仓库里", recall(&given, in_private(ANN), "仓库 boat").ptr, 21) == 0);
    sma_buf_fini(&text);
}

CASE(the_order_is_of_rarity_brevity_importance_and_age)
{
    SMA_AUTO(teardown) struct given given;
    setup(&given);
    write_text(&given, ANNS_FILE,
               "- garden roses, white\n"
               "- garden shed\n"
               "- garden gate\n"
               "- a garden with very many things in it of which roses are only one of them\n");
    CHECK_STR("garden roses, white\n"
              "a garden with very many things in it of which roses are only one of them\n"
              "garden gate\n"
              "garden shed\n",
              recall(&given, in_private(ANN), "garden roses"));
    /* what somebody has changed of a line counts, too */
    write_text(&given, ANNS_FILE,
               "- garden shed <!-- memory: importance 7 -->\n"
               "- garden gate\n");
    CHECK_STR("garden shed\ngarden gate\n", recall(&given, in_private(ANN), "garden"));
    write_text(&given, ANNS_FILE,
               "- garden shed <!-- memory: importance 2 -->\n"
               "- garden gate\n");
    CHECK_STR("garden gate\ngarden shed\n", recall(&given, in_private(ANN), "garden"));
    write_text(&given, ANNS_FILE, "- garden gate <!-- memory: task -->\n");
    (void)recall(&given, in_private(ANN), "garden");
    CHECK_INT(SMA_MEMORY_TASK, given.kind);
}

/* Beyond the newest that hold a word: an older one is found by it, too. */
CASE(an_old_fact_is_found_by_a_common_word)
{
    SMA_AUTO(teardown) struct given given;
    struct sma_buf text;
    setup(&given);
    sma_buf_init(&text, 65536);
    sma_buf_put_text(&text, "- garden key <!-- memory: importance 7 -->\n");
    for (int i = 0; i < 200; i++)
        sma_buf_printf(&text, "- garden thing%d\n", i);
    write_file(&given, ANNS_FILE, text.ptr, text.len);
    CHECK(strncmp("garden key\n", recall(&given, in_private(ANN), "garden").ptr, 11) == 0);
    sma_buf_fini(&text);
}

CASE(a_damaged_index_is_made_anew)
{
    SMA_AUTO(teardown) struct given given;
    setup(&given);
    upsert(&given, in_private(ANN), "green tea");
    static const char *const junk[] = {"", "not a database, but long enough to be read as one"};
    for (size_t i = 0; i < SMA_COUNT_OF(junk); i++) {
        sma_memory_destroy(given.memory);
        write_text(&given, "index.db", junk[i]);
        open_memory(&given);
        CHECK_STR("green tea\n", recall(&given, in_private(ANN), "tea"));
    }
    /* while it is in use: pages of zeros behind the first */
    char path[256], command[512];
    sma_memory_destroy(given.memory);
    path_of(&given, "index.db", path);
    snprintf(command, sizeof command,
             "dd if=/dev/zero of=%s bs=4096 seek=1 count=12 conv=notrunc 2>/dev/null", path);
    CHECK(system(command) == 0);
    open_memory(&given);
    struct sma_memory_scope ann = in_private(ANN);
    begin(&given);
    enum sma_err err = sma_memory_recall(given.memory, &ann, SMA_STR("tea"), 20, take_fact, &given);
    CHECK(err == SMA_ERR_OK || err == SMA_ERR_CORRUPT);
    CHECK_STR("green tea\n", recall(&given, ann, "tea"));
}

static enum sma_err count_fact(void *user, const struct sma_memory_fact *fact)
{
    (void)fact;
    ++*(uint32_t *)user;
    return SMA_ERR_OK;
}

static uint32_t count_of(struct sma_memory *memory, const struct sma_memory_scope *scope)
{
    uint32_t count = 0;
    CHECK_OK(sma_memory_list(memory, scope, 0, UINT32_MAX, count_fact, &count));
    return count;
}

/* A command in a chat works in the store's thread: it takes a few changes into the index, tells of
 * the others, and what it deletes is gone from the file all the same. */
CASE(a_guest_does_a_bounded_piece_of_work)
{
    SMA_AUTO(teardown) struct given given;
    struct sma_memory *guest, *patient;
    struct sma_buf text;
    uint32_t gone = 0;
    setup(&given);
    sma_buf_init(&text, 1024 * 1024);
    for (int i = 0; i < 1000; i++)
        sma_buf_printf(&text, "- fact number%d\n", i);
    write_file(&given, ANNS_FILE, text.ptr, text.len);
    struct sma_memory_options options = {
        .folder = given.folder, .sys = sma_sys_real(), .is_guest = true};
    struct sma_memory_scope ann = in_private(ANN);
    CHECK_OK(sma_memory_create(&options, &guest));
    CHECK_INT(0, count_of(guest, &ann));
    CHECK(sma_memory_is_behind(guest));
    CHECK_OK(sma_memory_look(given.memory)); /* who keeps it does all */
    CHECK_INT(1000, count_of(guest, &ann));
    sma_memory_destroy(guest);

    CHECK_OK(sma_memory_create(&options, &guest));
    begin(&given);
    CHECK_OK(sma_memory_list(guest, &ann, 10, 5, take_fact, &given));
    CHECK_STR("fact number10\nfact number11\nfact number12\nfact number13\nfact number14\n",
              sma_buf_str(&given.texts));
    CHECK_OK(sma_memory_forget(guest, &ann, given.ids, 5, &gone));
    CHECK_INT(5, gone);
    begin(&given);
    CHECK_OK(sma_memory_list(guest, &ann, 9, 2, take_fact, &given));
    CHECK_STR("fact number9\nfact number15\n", sma_buf_str(&given.texts));
    CHECK(!sma_memory_is_behind(guest));
    sma_memory_destroy(guest);

    options.is_thorough = true;
    write_text(&given, ANNS_FILE, "- fact number1\n");
    CHECK_OK(sma_memory_create(&options, &patient));
    CHECK_INT(1, count_of(patient, &ann));
    sma_memory_destroy(patient);
    sma_buf_fini(&text);
}

/* Lines moved, doubled and of other kinds: the lists are as the file is. */
CASE(lists_follow_the_order_of_the_file)
{
    SMA_AUTO(teardown) struct given given;
    struct sma_memory_scope ann = in_private(ANN);
    static const char *const files[][2] = {
        {"- a\n- b\n- c\n", "a\nb\nc\n"},
        {"- c\n- a\n- b\n", "c\na\nb\n"},
        {"- x\n- a\n- y\n- c\n", "x\na\ny\nc\n"},
        {"- c\n- c\n- new\n- new\n- x <!-- memory: task -->\n", "c\nnew\nx\n"},
        {"# nothing\n", ""},
        {"- b\n- a <!-- memory: tags t -->\n", "b\na\n"},
    };
    setup(&given);
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++) {
        write_text(&given, ANNS_FILE, files[i][0]);
        begin(&given);
        CHECK_OK(sma_memory_list(given.memory, &ann, 0, 20, take_fact, &given));
        CHECK_STR(files[i][1], sma_buf_str(&given.texts));
    }
    CHECK_STR("a\n", recall(&given, ann, "t"));
}

CASE(nothing_is_opened_while_there_is_nothing)
{
    SMA_AUTO(teardown) struct given given;
    char path[256];
    setup(&given);
    CHECK(!sma_memory_has_any(given.memory, 1));
    write_text(&given, "project.md", "# Project\n\nNothing yet.\n");
    CHECK(!sma_memory_has_any(given.memory, 2)); /* not looked at again so soon */
    CHECK(!sma_memory_has_any(given.memory, 10 * SMA_NS_PER_S));
    path_of(&given, "index.db", path);
    CHECK(access(path, F_OK) != 0);
    write_text(&given, "project.md", "# Project\n- tea\n");
    CHECK(!sma_memory_has_any(given.memory, 10 * SMA_NS_PER_S + 1));
    CHECK(sma_memory_has_any(given.memory, 20 * SMA_NS_PER_S));
    CHECK_STR("tea\n", recall(&given, in_private(ANN), "tea"));
}

CASE(lists_have_pages_and_owners)
{
    SMA_AUTO(teardown) struct given given;
    setup(&given);
    upsert(&given, in_group(ANN, GROUP), "one");
    upsert(&given, in_group(BOB, GROUP), "two");
    upsert(&given, in_group(ANN, GROUP), "three");
    struct sma_memory_scope own = in_group(ANN, GROUP), all = in_group(ANN, GROUP);
    own.is_own = true;
    CHECK_INT(2, count_of(given.memory, &own));
    CHECK_INT(3, count_of(given.memory, &all));
    begin(&given);
    CHECK_OK(sma_memory_list(given.memory, &own, 1, 10, take_fact, &given));
    CHECK_STR("three\n", sma_buf_str(&given.texts));
    begin(&given);
    CHECK_OK(sma_memory_list_file(given.memory, SMA_STR(ANN), take_fact, &given));
    CHECK_STR("one\nthree\n", sma_buf_str(&given.texts));
}

CASE(long_names_have_files_of_their_own)
{
    SMA_AUTO(teardown) struct given given;
    char ann[512] = "telegram:", bob[512] = "telegram:";
    setup(&given);
    for (int i = 0; i < 100; i++) {
        strcat(ann, "\xE5\x90\x8D");
        strcat(bob, "\xE5\x90\x8D");
    }
    strcat(bob, "b");
    upsert(&given, in_private(ann), "tea of Ann");
    upsert(&given, in_private(bob), "tea of Bob");
    CHECK_STR("tea of Ann\n", recall(&given, in_private(ann), "tea"));
    CHECK_STR("tea of Bob\n", recall(&given, in_private(bob), "tea"));
    reopen(&given);
    CHECK_STR("tea of Bob\n", recall(&given, in_private(bob), "tea"));
}

CASES_MAIN
