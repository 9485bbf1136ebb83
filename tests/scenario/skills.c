/*
 * Aim: skills reach the model through the whole program, and nothing of a skill that nobody has
 * looked at does; tools do not write where skills lie; skills outside the project are read there
 * and run in the sandbox; rules of a skill count where the owner says so, in runs that have loaded
 * it; archives are added without harm.
 * Method: the real binary between a Bot API server and a model server that follows a script or the
 * user's text.
 *   scenario_skills BINARY FAKE_MODEL
 */
#include "approval_world.h"

#include "support/check.h"

#include <sys/stat.h>
#include <unistd.h>

#define TEA                                                                         \
    "---\\nname: tea\\ndescription: How tea is made here\\nallowed-tools: Bash(sh " \
    "scripts/brew.sh:*), Bash(rm:*), Bash(touch:*)\\n---\\nBoil water first. TEA-WORDS\\n"
#define EVIL "---\\nname: evil-skill\\ndescription: EVIL-WORDS\\n---\\nEVIL-BODY\\n"
#define CALL(name, arguments) "{\"calls\":[{\"name\":\"" name "\",\"arguments\":" arguments "}]}"
#define LOAD CALL("skills_load", "{\"name\":\"tea\"}")
#define EXEC(command) CALL("exec_shell", "{\"command\":\"" command "\"}")
#define SAY(text) "{\"text\":\"" text "\"}"

static const char *binary, *fake_model;

static char *output_of(const char *line, int *ret_status)
{
    char *output = NULL;
    const char *const words[] = {"/bin/sh", "-c", line, NULL};
    *ret_status = run_to_end((char *const *)(uintptr_t)words, "", &output, 60000);
    return output;
}

/* In the project's folder; $S is the program, $O a folder outside of the project. */
static char *sh_for(const struct platform_world *world, int wanted, const char *script)
{
    char line[4096];
    int status, len = snprintf(line, sizeof line, "S='%s'; O='%s.outer'; cd '%s' && %s", binary,
                               world->world.folder.path, world->world.folder.path, script);
    CHECK(len > 0 && (size_t)len < sizeof line);
    char *output = output_of(line, &status);
    if (status != wanted)
        fprintf(stderr, "%s: %d\n%s\n", script, status, output);
    CHECK_INT(wanted, status);
    return output;
}

static void sh(const struct platform_world *world, const char *script)
{
    free(sh_for(world, 0, script));
}

static void expect_sh(const struct platform_world *world, int status, const char *script,
                      const char *part)
{
    char *output = sh_for(world, status, script);
    if (strstr(output, part) == NULL)
        fprintf(stderr, "%s: no \"%s\" in:\n%s\n", script, part, output);
    CHECK(strstr(output, part) != NULL);
    free(output);
}

static void create(struct platform_world *world, const char *permissions, const char *root,
                   const char *script)
{
    approval_create(
        world, fake_model,
        &(struct approval_options){.permissions = permissions, .root = root, .script = script});
}

static void begin(struct platform_world *world)
{
    service_start(&world->world.service, binary, &world->world.folder);
    platform_world_await_ready(world);
}

static void end(struct platform_world *world)
{
    sh(world, "rm -rf \"$O\"");
    platform_world_stop(world);
}

static void do_for(const struct platform_world *world, const char *text, const char *part)
{
    char *result = approval_do(world, ANN, ANN, text);
    if (strstr(result, part) == NULL)
        fprintf(stderr, "%s gave \"%s\", wanted \"%s\"\n", text, result, part);
    CHECK(strstr(result, part) != NULL);
    free(result);
}

#define PUT(folder, words)                                                                        \
    "mkdir -p " folder "/scripts && printf -- '" words "' > " folder "/SKILL.md && printf 'echo " \
    "brewed $1\\n' > " folder "/scripts/brew.sh"

/* -- what the model hears ---------------------------------------------------------------------- */
CASE(accepted_skills_reach_the_model_and_others_do_not)
{
    struct platform_world world;
    create(&world, "", "", NULL);
    sh(&world, PUT(".claude/skills/tea", TEA));
    begin(&world);
    platform_await_log(&world, "the first start with 1 of them");
    (void)chat_say(&world, ANN, ANN, "good morning");
    chat_expect(&world, ANN, "You said: good morning");
    CHECK(platform_asked(&world, "How tea is made here") > 0); /* before the run, in its head */
    do_for(&world, "x [[call skills_list {}]]", "How tea is made here");
    do_for(&world, "x [[call skills_load {\"name\":\"tea\"}]]", "TEA-WORDS");
    /* one that came while it runs, and one that has changed: not a word of them */
    sh(&world, PUT(".claude/skills/evil", EVIL) " && sleep 0.1");
    do_for(&world, "x [[call skills_list {}]]", "1 is new or changed");
    do_for(&world, "x [[call skills_load {\"name\":\"evil-skill\"}]]", "There is no skill");
    platform_await_log(&world, "1 held back until `shipmyagent skills accept`: (evil)");
    CHECK_INT(0, platform_asked(&world, "EVIL-WORDS") + platform_asked(&world, "EVIL-BODY"));
    sh(&world, "echo changed >> .claude/skills/tea/scripts/brew.sh");
    do_for(&world, "x [[call skills_load {\"name\":\"tea\"}]]", "There is no skill");
    expect_sh(&world, 2, "$S skills check", "changed");
    expect_sh(&world, 0, "$S skills accept --yes", "2 accepted");
    do_for(&world, "x [[call skills_load {\"name\":\"tea\"}]]", "TEA-WORDS");
    do_for(&world, "x [[call skills_load {\"name\":\"evil-skill\"}]]", "EVIL-BODY");
    end(&world);
}

CASE(tools_do_not_write_where_skills_lie)
{
    struct platform_world world;
    create(&world, ",\"write_repo\":true,\"exec_shell\":{\"allow\":[\"sh w.sh\",\"touch *\"]}",
           ",\"skills\":{\"paths\":[\"team\"]}", NULL);
    sh(&world, PUT("team/skills/tea", TEA) " && printf 'echo x > team/skills/tea/scripts/new.sh; "
                                           "echo x > plain.txt; echo done\\n' > w.sh");
    begin(&world);
    do_for(&world, "x [[call write_file {\"path\":\"other.txt\",\"content\":\"x\"}]]",
           "\"success\":true");
    int64_t card = approval_ask(
        &world, ANN, ANN,
        "x [[call write_file {\"path\":\"team/skills/b/SKILL.md\",\"content\":\"x\"}]]",
        "guides this agent");
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    approval_await_results(&world, ANN, 2);
    card = approval_ask(&world, ANN, ANN,
                        "x [[call exec_shell {\"command\":\"touch team/skills/new\"}]]",
                        "touch team/skills/new");
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    approval_await_results(&world, ANN, 3);
    do_for(&world, "x [[call exec_shell {\"command\":\"sh w.sh\"}]]", "Read-only file system");
    sh(&world, "test -e plain.txt && test ! -e team/skills/tea/scripts/new.sh");
    end(&world);
}

/* -- outside of the project -------------------------------------------------------------------- */
static const char *with_outer(const struct platform_world *world, const char *format)
{
    static char texts[2][2048];
    static int turn;
    char *text = texts[turn++ % 2];
    size_t len = 0;
    text[0] = '\0';
    for (const char *at = format; *at != '\0'; at++)
        len += *at == '@' ? (size_t)snprintf(text + len, sizeof texts[0] - len,
                                             "%s.outer/skills/tea", world->world.folder.path)
                          : (size_t)snprintf(text + len, sizeof texts[0] - len, "%c", *at);
    return text;
}

CASE(skills_outside_are_read_and_run_there)
{
    struct platform_world world;
    create(&world, ",\"exec_shell\":{\"allow\":[\"cat *\",\"ls *\"]}", "", NULL);
    sh(&world, "mkdir -p \"$O/skills\" && cd \"$O/skills\" && " PUT("tea", TEA) " && " PUT(
                   "evil", EVIL) " && echo BESIDE > beside.txt && ln -s ../beside.txt tea/out && "
                                 "rm tea/out");
    /* where it lies is known only now */
    sh(&world, "sed -i \"s#^{#{\\\"skills\\\":{\\\"paths\\\":[\\\"$O\\\"],"
               "\\\"allowExternalPaths\\\":true},#\" ship.json");
    begin(&world);
    platform_await_log(&world, "the first start with 2 of them");
    do_for(&world, "x [[call skills_load {\"name\":\"tea\"}]]", "TEA-WORDS");
    do_for(&world, with_outer(&world, "x [[call read_file {\"path\":\"@/scripts/brew.sh\"}]]"),
           "echo brewed $1");
    do_for(&world, with_outer(&world, "x [[call list_files {\"path\":\"@\",\"recursive\":true}]]"),
           with_outer(&world, "@/scripts/brew.sh"));
    do_for(&world,
           with_outer(&world, "x [[call search_files {\"pattern\":\"Boil\",\"path\":\"@\"}]]"),
           with_outer(&world, "@/SKILL.md"));
    do_for(&world, with_outer(&world, "x [[call read_file {\"path\":\"@/../beside.txt\"}]]"),
           "\"success\":false");
    do_for(&world, with_outer(&world, "x [[call read_file {\"path\":\"@.x/../../beside.txt\"}]]"),
           "\"success\":false");
    do_for(&world,
           with_outer(&world, "x [[call write_file {\"path\":\"@/new\",\"content\":\"x\"}]]"),
           "\"success\":false");
    /* /tmp is another one in the sandbox: it is there because it is shown, and read-only */
    approval_do_for(
        &world,
        with_outer(&world, "x [[call exec_shell {\"command\":\"sh @/scripts/brew.sh now\"}]]"),
        "brewed now");
    approval_do_for(
        &world, with_outer(&world, "x [[call exec_shell {\"command\":\"cp /dev/null @/new\"}]]"),
        "Read-only file system");
    /* a link that leads out makes it broken, and then it is not there any more */
    sh(&world, "ln -s ../../beside.txt \"$O/skills/tea/out\"");
    do_for(&world, with_outer(&world, "x [[call read_file {\"path\":\"@/out\"}]]"),
           "\"success\":false");
    do_for(&world, with_outer(&world, "x [[call read_file {\"path\":\"@/SKILL.md\"}]]"),
           "\"success\":false");
    CHECK_INT(0, platform_asked(&world, "BESIDE"));
    end(&world);
}

/* -- rules ------------------------------------------------------------------------------------- */
#define BREW "sh .claude/skills/tea/scripts/brew.sh green"

static void begin_rules(struct platform_world *world, const char *root, const char *script)
{
    create(world, ",\"exec_shell\":{\"deny\":[\"rm\"]}", root, script);
    sh(world, PUT(".claude/skills/tea", TEA));
    begin(world);
}

CASE(a_skill_carries_rules_for_its_scripts_where_the_owner_says_so)
{
    struct platform_world world;
    begin_rules(&world, ",\"skills\":{\"allowRules\":[\"tea\"]}",
                "[" LOAD "," EXEC(BREW) "," EXEC("touch free") "," SAY("first is over") "," EXEC(
                    BREW) "," SAY("second is over") "]");
    /* loaded: its script runs, what else it wants does not */
    int64_t card = approval_ask(&world, ANN, ANN, "make tea", "touch free");
    CHECK(platform_asked(&world, "brewed green") > 0);
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    chat_expect(&world, ANN, "first is over");
    platform_settle(&world);
    /* another run has not loaded it */
    card = approval_ask(&world, ANN, ANN, "again", "brew.sh green");
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    chat_expect(&world, ANN, "second is over");
    end(&world);
}

CASE(rules_end_where_the_owner_did_not_give_them)
{
    struct platform_world world;
    /* not named in ship.json */
    begin_rules(&world, "", "[" LOAD "," EXEC(BREW) "," SAY("it is over") "]");
    int64_t card = approval_ask(&world, ANN, ANN, "make tea", "brew.sh green");
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    chat_expect(&world, ANN, "it is over");
    end(&world);
    /* refused by the owner's own rules */
    create(&world, ",\"exec_shell\":{\"deny\":[\"sh\"]}", ",\"skills\":{\"allowRules\":[\"tea\"]}",
           "[" LOAD "," EXEC(BREW) "," SAY("it is over") "]");
    sh(&world, PUT(".claude/skills/tea", TEA));
    begin(&world);
    (void)chat_say(&world, ANN, ANN, "make tea");
    chat_expect(&world, ANN, "it is over");
    CHECK_INT(0, platform_asked(&world, "brewed green"));
    CHECK(platform_asked(&world, "was refused and not run") > 0);
    end(&world);
}

/* The program is killed between the skill and its script: the run goes on and knows. */
CASE(rules_outlive_a_kill_and_not_a_change)
{
    struct platform_world world;
    begin_rules(&world, ",\"skills\":{\"allowRules\":[\"tea\"]}",
                "[" LOAD "," EXEC("touch wait") "," EXEC(BREW) "," EXEC("touch more") "," EXEC(
                    BREW) "," SAY("it is over") "]");
    int64_t card = approval_ask(&world, ANN, ANN, "make tea", "touch wait");
    service_kill(&world.world.service);
    begin(&world);
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    json_t *message = approval_await_card(&world, ANN, "touch more");
    card = platform_number(message, "id", 0);
    json_decref(message);
    CHECK(platform_asked(&world, "brewed green") > 0);
    sh(&world, "echo 'echo changed' >> .claude/skills/tea/scripts/brew.sh");
    platform_await_receipts(&world);
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    message = approval_await_card(&world, ANN, "brew.sh green");
    card = platform_number(message, "id", 0);
    json_decref(message);
    platform_await_receipts(&world);
    approval_press_for(&world, ANN, ANN, card, "Refuse", "Refused.");
    chat_expect(&world, ANN, "it is over");
    end(&world);
}

/* -- archives ---------------------------------------------------------------------------------- */
CASE(archives_are_added_without_harm)
{
    struct platform_world world;
    create(&world, "", "", NULL);
    sh(&world,
       "mkdir -p \"$O\" && cd \"$O\" && " PUT(
           "coffee",
           TEA) " && tar czf coffee.tar.gz coffee && mv coffee cocoa && tar cf - cocoa | xz > "
                "cocoa.tar.xz");
    expect_sh(&world, 1, "$S skills add \"$O/coffee.tar.gz\"", "say --yes");
    sh(&world, "test ! -e .claude/skills/coffee");
    expect_sh(&world, 0, "$S skills add --yes \"$O/coffee.tar.gz\"", "is there and accepted");
    expect_sh(&world, 0, "$S skills add --yes \"$O/cocoa.tar.xz\"", "is there and accepted");
    expect_sh(&world, 1, "$S skills add --yes \"$O/cocoa\"", "is there already");
    /* paths that lead out, links, pipes, too much */
    sh(&world,
       "cd \"$O\" && mkdir bad && cp -r cocoa bad/one && ln -s /etc bad/one/link && tar cf "
       "link.tar -C bad one && rm bad/one/link && mkfifo bad/one/pipe && tar cf pipe.tar -C "
       "bad one && rm bad/one/pipe && truncate -s 17M bad/one/big && tar czf big.tar.gz -C "
       "bad one && rm bad/one/big && echo x > escaped && tar cPf out.tar "
       "--transform 's#escaped#../../../escaped-out#' -C bad one -C .. escaped");
    expect_sh(&world, 1, "$S skills add --yes \"$O/link.tar\"", "link");
    expect_sh(&world, 1, "$S skills add --yes \"$O/pipe.tar\"", "no file, folder or symbolic link");
    expect_sh(&world, 1, "$S skills add --yes \"$O/big.tar.gz\"", "too large");
    free(sh_for(&world, 1, "$S skills add --yes \"$O/out.tar\""));
    sh(&world, "test ! -e escaped-out && test ! -e ../escaped-out && test ! -e .claude/escaped-out "
               "&& test -z \"$(find . \"$O\" -name 'escaped-out')\" && test $(ls -A .claude/skills "
               "| wc -l) = 2");
    if (access("/usr/bin/bsdtar", X_OK) != 0) {
        expect_sh(&world, 1, "$S skills add --yes \"$O/x.zip\"", "cannot look at");
        sh(&world, ": > \"$O/x.zip\"");
        expect_sh(&world, 1, "$S skills add --yes \"$O/x.zip\"", "libarchive-tools");
    } else {
        sh(&world,
           "cd \"$O\" && mv cocoa milk && bsdtar -acf milk.zip milk && ln -s /etc/passwd "
           "milk/link && bsdtar -acf link.zip milk && rm milk/link && head -c 100M /dev/zero "
           "> milk/zero && bsdtar -acf bomb.zip milk && rm milk/zero");
        expect_sh(&world, 0, "$S skills add --yes \"$O/milk.zip\"", "is there and accepted");
        expect_sh(&world, 1, "$S skills add --yes \"$O/link.zip\"", "link");
        free(sh_for(&world, 1, "$S skills add --yes \"$O/bomb.zip\""));
        sh(&world, "test $(ls -A .claude/skills | wc -l) = 3");
    }
    begin(&world);
    do_for(&world, "x [[call skills_load {\"name\":\"coffee\"}]]", "TEA-WORDS");
    end(&world);
}

CASES_MAIN_GIVEN(&binary, &fake_model)
