/*
 * test_sandbox.c — the walls: what a command in the sandbox must not be able to see, change or
 * reach.
 */
#include "world.h"

#include "runtime/exec/sandbox.h"
#include "sma/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char REQUIRE[] = "{\"exec_shell\":{\"sandbox\":\"require\"}}";

static void expect_nothing(struct world *world, const char *command, const char *canary)
{
    const struct world_record *record = world_do(world, command);
    if (strstr(record->content, canary) != NULL)
        fprintf(stderr, "%s gave %s\n", command, record->content);
    CHECK(strstr(record->content, canary) == NULL);
}

CASE(secrets_are_invisible)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create(REQUIRE);
    static const char *const names[] = {".env",
                                        ".env.local",
                                        ".ship/state.db",
                                        ".ship/state.db-wal",
                                        ".ship/api-token",
                                        ".ship/approvals/1"};
    char path[256];
    snprintf(path, sizeof path, "%s/.ship/approvals", world_dir(world));
    CHECK(mkdir(path, 0700) == 0);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        world_put_file(world, names[i], "canary-value");
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "cat %s; cp %s x; cat x; ln -f %s y; cat y; cat %s/%s; mv %s z; cat z; "
                 "cat /proc/1/root%s/%s /proc/self/cwd/%s; rm -f %s; cat %s",
                 names[i], names[i], names[i], world_dir(world), names[i], names[i],
                 world_dir(world), names[i], names[i], names[i], names[i]);
        expect_nothing(world, command, "canary-value");
        CHECK_TEXT("canary-value", world_get_file(world, names[i]));
    }
    expect_nothing(world,
                   "umount .env .ship; mount -t tmpfs x /mnt; cat .env .ship/state.db; "
                   "unshare -Urm sh -c 'umount .env; umount -l .ship; cat .env .ship/state.db'",
                   "canary-value");
    expect_nothing(world,
                   "grep -r canary-value / --include=.env --include=state.db -s -m1 -x "
                   "--exclude-dir=proc --exclude-dir=sys --exclude-dir=usr --exclude-dir=nix "
                   "--exclude-dir=work --exclude-dir=root --exclude-dir=var",
                   "canary-value\"");
}

static void make_folder(struct world *world, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", world_dir(world), name);
    CHECK(mkdir(path, 0755) == 0);
}

/* Else one command moves them away just while another's walls are made. */
CASE(folders_with_secrets_stay_where_they_are)
{
    SMA_AUTO(world_destroyp)
    struct world *world =
        world_create("{\"exec_shell\":{\"sandbox\":\"require\",\"allow\":[\"sh tools/run.sh\","
                     "\"sh tools/a/b/run.sh\"]}}");
    static const char *const folders[] = {"sub", "sub/deep", "tools", "tools/a", "tools/a/b"};
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++)
        make_folder(world, folders[i]);
    world_put_file(world, "sub/deep/.env", "canary-value");
    world_put_file(world, "tools/a/id_rsa", "canary-value");
    world_put_file(world, "tools/run.sh", "true");
    world_put_file(world, "tools/a/b/run.sh", "true");
    expect_nothing(world, "mv sub/deep x; cat x/.env; mv sub y; cat y/deep/.env", "canary-value");
    CHECK_TEXT("canary-value", world_get_file(world, "sub/deep/.env"));
    world_do(world, "echo new > sub/deep/file; mv sub/deep/file sub/other");
    CHECK_TEXT("new\n", world_get_file(world, "sub/other"));
    world_do(world, "echo new > tools/a/file; echo new > tools/a/b/file; mv tools/a tools/c");
    CHECK(!world_has_file(world, "tools/a/file") && !world_has_file(world, "tools/a/b/file"));
    CHECK_TEXT("canary-value", world_get_file(world, "tools/a/id_rsa"));
}

/* Nothing is asked for `grep -r` where a rule allows it, also when a member of one chat has it
 * done. */
CASE(other_chats_are_invisible)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create(REQUIRE);
    static const char *const names[] = {
        ".ship/chats/telegram%3A1.jsonl", ".ship/contacts.json",     ".ship/logs/2026-11-22.jsonl",
        ".ship/logs/exec/a.log",          ".ship/memory/project.md", ".ship/output/answer-1.md",
        ".ship/anything-new/a.txt",       ".ship/anything-new.txt",  ".ship/.cache/parts/a.b64"};
    static const char *const folders[] = {
        "chats",  "logs",         "logs/exec", "memory",       "output",
        "public", "anything-new", ".cache",    ".cache/parts", ".cache/telegram"};
    char path[256];
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++) {
        snprintf(path, sizeof path, "%s/.ship/%s", world_dir(world), folders[i]);
        CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        world_put_file(world, names[i], "talk-canary");
    world_put_file(world, ".ship/public/page.html", "shown-canary");
    world_put_file(world, ".ship/.cache/telegram/1.pdf", "sent-canary");
    expect_nothing(world, "grep -rh canar. .; cat .ship/* .ship/*/* .ship/.cache/*/* .ship/*/*/*",
                   "talk-canary");
    const char *found = world_do(world, "grep -rh canar. .")->content;
    CHECK(strstr(found, "shown-canary") != NULL && strstr(found, "sent-canary") != NULL);
}

/* What is mounted covers where a link leads, not the link. */
CASE(a_link_cannot_be_exchanged)
{
    static const char *const names[] = {"ship.json", ".env", "Agent.md"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        struct world *world = world_create(REQUIRE);
        char path[256], command[256];
        snprintf(path, sizeof path, "%s/%s", world_dir(world), names[i]);
        (void)unlink(path); /* some are there */
        world_put_file(world, "real", "kept");
        CHECK(symlink("real", path) == 0);
        snprintf(command, sizeof command, "rm -f %s; echo exchanged > %s", names[i], names[i]);
        const struct world_record *record = world_do(world, command);
        CHECK(strstr(record->content, "symbolic link") != NULL);
        CHECK_TEXT("kept", world_get_file(world, names[i]));
        CHECK(unlink(path) == 0);
        world_put_file(world, names[i], "{}");
        CHECK_TEXT("fine", world_member(world, world_do(world, "echo fine"), "stdout"));
        world_destroy(world);
    }
}

/* A command can make them, a cloned repository can bring them: whatever lies in the project, the
 * next start has its walls, and commands run or are refused in words. */
CASE(nothing_in_the_project_opens_the_walls)
{
    static const char *const links[][2] = {{"/usr/bin/dash", ".env.program"},
                                           {"/usr/lib", ".env.libraries"},
                                           {"/dev/null", ".env.device"},
                                           {".", ".env.dot"},
                                           {"..", ".env.above"},
                                           {".ship/state.db", ".env.state"},
                                           {"/proc/self", ".env.process"},
                                           {"inner", ".env.a"},
                                           {"inner/key", ".env.b"},
                                           {".env.loop", ".env.loop"},
                                           {"/tmp", ".env.temporary"}};
    char made[PATH_MAX], name[32];
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    snprintf(made, sizeof made, "%s/inner", world_dir(world));
    CHECK(mkdir(made, 0755) == 0);
    world_put_file(world, "inner/key", "canary-value");
    world_put_file(world, ".ship/state.db", "canary-value");
    for (size_t i = 0; i < SMA_COUNT_OF(links); i++) {
        snprintf(made, sizeof made, "%s/%s", world_dir(world), links[i][1]);
        CHECK(symlink(links[i][0], made) == 0);
    }
    snprintf(made, sizeof made, "%s/.env.fifo", world_dir(world));
    CHECK(mkfifo(made, 0600) == 0);
    struct sma_exec_options options = {.is_possible = true, .memory_mb = 512};
    struct sma_sandbox sandbox;
    struct sma_error error;
    CHECK_OK(sma_sandbox_find(world_config(world), &options, &sandbox, &error));
    CHECK_TEXT("", sandbox.why);
    CHECK(sandbox.is_on && !sandbox.is_blocked);
    CHECK_TEXT("fine", world_member(world, world_do(world, "echo fine"), "stdout"));
    expect_nothing(world, "cat .env.* inner/key", "canary-value");
    /* so many that no command runs: the walls stand all the same */
    for (int i = 0; i <= SMA_SANDBOX_GUARD_COUNT_MAX; i++) {
        snprintf(name, sizeof name, ".env.%d", i);
        world_put_file(world, name, "");
    }
    options.mode = SMA_SANDBOX_REQUIRE;
    CHECK_OK(sma_sandbox_find(world_config(world), &options, &sandbox, &error));
    CHECK(sandbox.is_on && sandbox.is_blocked);
    CHECK(strstr(sandbox.why, "files in the project's folder") != NULL);
    CHECK(strstr(world_do(world, "echo fine")->content, "Not run: more than 256 files") != NULL);
}

/* They come while the command runs: the service makes state.db, somebody writes a .env. */
CASE(what_comes_later_is_invisible_too)
{
    struct world *world = world_create(REQUIRE);
    size_t record = world_run(world,
                              "touch ready; for i in $(seq 40); do sleep 0.02; cat .env "
                              ".ship/state.db .ship/api-token .ship/approvals/x; echo A > .env; "
                              "echo B > .ship/state.db; done; echo over",
                              0);
    world_await_file(world, "ready");
    world_put_file(world, ".env", "later-canary\n"); /* written into the same file */
    world_put_file(world, ".ship/state.db", "later-canary\n");
    world_put_file(world, ".ship/api-token", "later-canary\n");
    const struct world_record *answer = world_await(world, record);
    CHECK(strstr(answer->content, "later-canary") == NULL);
    CHECK(strstr(world_member(world, answer, "stdout"), "over") != NULL);
    CHECK_TEXT("later-canary\n", world_get_file(world, ".env"));
    CHECK_TEXT("later-canary\n", world_get_file(world, ".ship/state.db"));
    world_destroy(world);
    /* the placeholder goes with the last command, and nothing can be put there meanwhile */
    world = world_create(REQUIRE);
    (void)world_do(world, "echo EVIL=1 > .env; rm -f .env; echo EVIL=1 > .env; "
                          "echo '{\"permissions\":{}}' > ship.json; mv Agent.md old; rm ship.json");
    CHECK(!world_has_file(world, ".env") && !world_has_file(world, "ship.json"));
    CHECK_TEXT("# agent\n", world_get_file(world, "Agent.md"));
    world_destroy(world);
}

/* On a full disk (here: no file may grow) the placeholder is an empty file, which hides as well and
 * goes as well. */
CASE(a_full_disk_takes_no_placeholder_away)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create(REQUIRE);
    struct sma_sandbox sandbox = {.is_on = true, .path = "/usr/bin/bwrap"};
    struct sma_sandbox_limits limits = {.cpu_s = 10};
    struct sma_exec_options options = {.is_possible = true};
    struct sma_sandbox_plan plan;
    struct sma_error error = {0};
    struct rlimit old, none;
    world_put_file(world, "ship.json", "{}\n");
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
    CHECK(setrlimit(RLIMIT_FSIZE, &none) == 0);
    enum sma_err err = sma_sandbox_plan_create(world_config(world), &options, &sandbox, &limits,
                                               "true", &plan, &error);
    CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
    (void)signal(SIGXFSZ, handler);
    if (err != SMA_ERR_OK)
        fprintf(stderr, "%s\n", error.text);
    CHECK_OK(err);
    CHECK_TEXT("", world_get_file(world, ".env"));
    unsigned placeholders = plan.placeholders;
    sma_sandbox_plan_fini(&plan);
    sma_sandbox_remove_placeholders(world_config(world), placeholders);
    CHECK(!world_has_file(world, ".env"));
}

/* A server has begun while a trial or a command had its placeholders there: they stay for it. */
CASE(a_placeholder_stays_for_whoever_guards_it)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create(REQUIRE);
    struct sma_sandbox sandbox = {.is_on = true, .path = "/usr/bin/bwrap"};
    struct sma_sandbox_limits limits = {.cpu_s = 10};
    struct sma_exec_options options = {.is_possible = true};
    struct sma_sandbox_plan first, second;
    struct sma_error error = {0};
    const struct sma_config *config = world_config(world);
    CHECK_OK(sma_sandbox_plan_create(config, &options, &sandbox, &limits, "true", &first, &error));
    CHECK_OK(sma_sandbox_plan_create(config, &options, &sandbox, &limits, "true", &second, &error));
    unsigned placeholders = first.placeholders;
    CHECK(placeholders != 0 && second.placeholders == 0);
    sma_sandbox_plan_leave(&first);
    sma_sandbox_plan_fini(&first); /* counted once */
    sma_sandbox_remove_placeholders(config, placeholders);
    CHECK(sma_sandbox_plan_breach(&second) == NULL);
    CHECK(world_has_file(world, ".env"));
    sma_sandbox_plan_fini(&second);
    sma_sandbox_remove_placeholders(config, 0); /* of whoever ends last */
    CHECK(!world_has_file(world, ".env"));
}

/* A new .env put in place of the old one by renaming undoes the mount over it: the command does not
 * outlive that. */
CASE(a_replaced_secret_ends_the_command)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create(REQUIRE);
    world_put_file(world, ".env", "old-canary\n");
    size_t record = world_run(world, "touch ready; while :; do sleep 0.05; done", 0);
    world_await_file(world, "ready");
    world_put_file(world, "new", "new-canary\n");
    char from[256], to[256];
    snprintf(from, sizeof from, "%s/new", world_dir(world));
    snprintf(to, sizeof to, "%s/.env", world_dir(world));
    CHECK(rename(from, to) == 0);
    const struct world_record *answer = world_await(world, record);
    CHECK(strstr(world_member(world, answer, "note"), ".env was changed from outside") != NULL);
}

CASE(only_the_project_is_writable)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create(REQUIRE);
    char outside[] = "/tmp/sma-outside-XXXXXX", command[1024];
    CHECK(mkdtemp(outside) != NULL);
    world_put_file(world, "ship.json", "{\"name\":\"x\"}\n");
    snprintf(command, sizeof command,
             "touch %s/x /etc/x /usr/x $HOME/x /var/x /x; echo x > ship.json; rm ship.json; "
             "mv ship.json y; echo x > Agent.md; touch .ship/x .ship/logs/x; echo fine > inside; "
             "mkdir -p a/b && touch a/b/c; ln -s %s out; touch out/y; mkdir /tmp/private && ls "
             "/tmp | grep -v ^sma-tools",
             outside, outside);
    const struct world_record *record = world_do(world, command);
    CHECK_TEXT("private", world_member(world, record, "stdout"));
    CHECK_TEXT("{\"name\":\"x\"}\n", world_get_file(world, "ship.json"));
    CHECK_TEXT("# agent\n", world_get_file(world, "Agent.md"));
    CHECK_TEXT("fine\n", world_get_file(world, "inside"));
    CHECK(world_has_file(world, "a/b/c"));
    CHECK(!world_has_file(world, ".ship/x") && !world_has_file(world, ".ship/logs/x"));
    CHECK(access("/etc/x", F_OK) != 0 && access("/x", F_OK) != 0 && access("/var/x", F_OK) != 0);
    CHECK(rmdir(outside) == 0); /* nothing was made in it */
}

static int listen_here(int *ret_port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, len) == 0 && listen(fd, 4) == 0);
    CHECK(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static bool was_called(int fd, int wait_ms)
{
    struct pollfd watch = {.fd = fd, .events = POLLIN};
    return poll(&watch, 1, wait_ms) == 1;
}

static const char WITH_SCRIPT[] =
    "{\"exec_shell\":{\"sandbox\":\"require\",\"allow\":[\"python3 scripts/report.py\"]}}";
static const char *const OF_OWNERS[] = {"Makefile",          "package.json",   "Agent.md",
                                        ".github/a.yml",     ".husky/commit",  ".git/hooks/a",
                                        ".git/config",       "scripts/a.py",   ".gitlab-ci.yml",
                                        "hooked/pre-commit", "CMakeLists.txt", "Makefile.am"};

static struct world *create_with_owner_files(void)
{
    static const char *const folders[] = {".github",    ".husky",  ".git",
                                          ".git/hooks", "scripts", "hooked"};
    struct world *world = world_create(WITH_SCRIPT);
    char path[256];
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", world_dir(world), folders[i]);
        CHECK(mkdir(path, 0755) == 0);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(OF_OWNERS); i++)
        world_put_file(world, OF_OWNERS[i], "kept");
    world_put_file(world, ".git/config", "[core]\n\tbare = false\n\thooksPath = hooked\n");
    return world;
}

/* Agreed to: the stand-in asks about everything, and the answer is there. */
static const struct world_record *do_agreed(struct world *world, const char *command,
                                            bool is_by_owner)
{
    char text[1024];
    snprintf(text, sizeof text, "{\"command\":\"%s\",\"verdict\":\"ask\",\"digest\":7}", command);
    struct sma_tool_ask ask = {.mode = SMA_TOOL_RUN,
                               .standing = SMA_STANDING_MEMBER,
                               .is_approved = true,
                               .is_by_owner = is_by_owner,
                               .digest = {7},
                               .name = SMA_STR("exec_shell"),
                               .arguments = sma_str(text),
                               .chat_key = SMA_STR("test:1")};
    return world_await(world, world_ask(world, &ask));
}

/* Where its configuration holds a login, the rest of it is there; else all of it, and an owner who
 * agreed to a command has it as it is. */
CASE(git_works_beside_a_hidden_login)
{
    struct world *world = world_create(REQUIRE);
    const struct world_record *record = world_do(
        world,
        "git init -q . && git config core.abbrev 12 && git remote add o ssh://git@h/r.git && "
        "git remote -v | head -1");
    CHECK(strstr(record->content, "ssh://git@h/r.git") != NULL);
    record =
        do_agreed(world, "git remote set-url o https://canary-value@h/r.git; git remote -v", true);
    CHECK(strstr(record->content, "canary-value") != NULL);
    record =
        world_do(world, "git remote -v; cat .git/config; git config core.abbrev; git status -s");
    CHECK(strstr(record->content, "canary-value") == NULL);
    CHECK(strstr(world_member(world, record, "stdout"), "12") != NULL);
    CHECK(strstr(record->content, "\"exitCode\":0") != NULL);
    static const char push[] = "echo 'fatal: could not read Username' >&2; exit 128";
    CHECK(strstr(world_member(world, do_agreed(world, push, false), "note"),
                 "The login in .git/config is hidden") != NULL);
    CHECK_TEXT("", world_member(world, do_agreed(world, push, true), "note"));
    /* what git itself says: the address is gone with its login */
    CHECK(strstr(world_member(world, do_agreed(world, "git fetch o", false), "note"),
                 "The login in .git/config is hidden") != NULL);
    world_destroy(world);
}

/* Whatever the program is: the policy cannot see what it does by itself. */
CASE(what_is_an_owners_is_not_written)
{
    SMA_AUTO(world_destroyp) struct world *world = create_with_owner_files();
    for (size_t i = 0; i < SMA_COUNT_OF(OF_OWNERS); i++) {
        const char *name = OF_OWNERS[i];
        bool is_config = strcmp(name, ".git/config") == 0;
        char command[512];
        snprintf(command, sizeof command,
                 "echo x > %s; echo x >> %s; rm -f %s; echo y > new; mv -f new %s; ln -f new %s; "
                 "chmod 777 %s; cp new %s; mv $(dirname %s) moved; true",
                 name, name, name, name, name, name, name, name);
        (void)world_do(world, command);
        const char *text = world_get_file(world, name);
        if (is_config ? strstr(text, "hooked") == NULL : strcmp(text, "kept") != 0)
            fprintf(stderr, "%s is %s\n", name, text);
        CHECK(is_config ? strstr(text, "hooked") != NULL : strcmp(text, "kept") == 0);
    }
    (void)do_agreed(world, "echo x > Makefile", false); /* an administrator is no owner */
    CHECK_TEXT("kept", world_get_file(world, "Makefile"));
    (void)world_do(world,
                   "echo x > scripts/json.py; mv .git old; mv scripts old; mkdir .git/hooks/x");
    CHECK(!world_has_file(world, "scripts/json.py") && !world_has_file(world, "old"));
    CHECK(!world_has_file(world, ".git/hooks/x"));
    (void)world_do(world, "echo fine > notes.txt; echo fine > .git/index");
    CHECK_TEXT("fine\n", world_get_file(world, "notes.txt"));
    CHECK_TEXT("fine\n", world_get_file(world, ".git/index"));
}

/* A repository has further doors to a configuration: git takes that of the folder that `commondir`
 * names. */
CASE(a_repository_keeps_its_configuration)
{
    SMA_AUTO(world_destroyp) struct world *world = create_with_owner_files();
    char path[512];
    static const char *const folders[] = {".git/worktrees", ".git/worktrees/w", ".git/modules",
                                          ".git/modules/m"};
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", world_dir(world), folders[i]);
        CHECK(mkdir(path, 0755) == 0);
    }
    world_put_file(world, ".git/worktrees/w/commondir", "../..\n");
    world_put_file(world, ".git/modules/m/config", "kept");
    (void)world_do(world, "mkdir evil; echo ../evil > .git/commondir; echo ../evil > new; "
                          "mv -f new .git/commondir; rm -f .git/commondir; ln -s ../evil "
                          ".git/commondir; cat .git/commondir > seen; "
                          "echo ../../../evil > .git/worktrees/w/commondir; "
                          "mv .git/worktrees old; mkdir .git/worktrees/x; "
                          "echo x > .git/modules/m/config; mv .git/modules old");
    CHECK(!world_has_file(world, ".git/commondir")); /* not even what stood in for it */
    CHECK_TEXT(".\n", world_get_file(world, "seen"));
    CHECK_TEXT("../..\n", world_get_file(world, ".git/worktrees/w/commondir"));
    CHECK_TEXT("kept", world_get_file(world, ".git/modules/m/config"));
    CHECK(!world_has_file(world, ".git/worktrees/x"));
}

/* Decoys made by one command must not push what is an owner's out of the list for the next. */
CASE(decoys_do_not_uncover_what_is_an_owners)
{
    SMA_AUTO(world_destroyp) struct world *world = create_with_owner_files();
    (void)world_do(world, "for i in $(seq 150); do echo x > d$i.mk; done");
    (void)world_do(world, "echo x > Makefile; echo x > Agent.md; echo x > scripts/json.py");
    CHECK_TEXT("kept", world_get_file(world, "Makefile"));
    CHECK_TEXT("kept", world_get_file(world, "Agent.md"));
    CHECK(!world_has_file(world, "scripts/json.py"));
    CHECK_TEXT("fine", world_member(world, world_do(world, "echo fine"), "stdout"));
    (void)world_do(world, "for i in $(seq 150 400); do echo x > d$i.mk; done");
    const struct world_record *record = world_do(world, "echo x > done; echo x > Makefile");
    CHECK(strstr(record->content, "Write with write_file") != NULL);
    CHECK(!world_has_file(world, "done"));
    CHECK_TEXT("kept", world_get_file(world, "Makefile"));
}

/* A folder of many settings: commands run, see all of it but what is hidden, and write nothing but
 * commits. */
CASE(a_folder_of_many_settings_is_read)
{
    struct world *world = create_with_owner_files();
    char name[32];
    for (int i = 0; i < 300; i++) {
        snprintf(name, sizeof name, "a%d.conf", i);
        world_put_file(world, name, "listen = 80\n");
    }
    world_put_file(world, ".env", "canary-value");
    world_put_file(world, ".git/config", "[core]\n\tbare = false\n");
    const struct world_record *record =
        world_do(world, "grep -l listen *.conf | wc -l; cat .env .ship/state.db; true");
    CHECK(strstr(record->content, "canary-value") == NULL);
    CHECK_TEXT("300", world_member(world, record, "stdout"));
    record = world_do(world, "echo x > a7.conf; echo x > a300.conf; echo x > scripts/json.py; "
                             "echo x > hooked/pre-commit; echo x > .git/hooks/a; mv hooked x");
    CHECK(strstr(world_member(world, record, "note"), "all of the project but .git") != NULL);
    CHECK_TEXT("listen = 80\n", world_get_file(world, "a7.conf"));
    CHECK_TEXT("kept", world_get_file(world, "hooked/pre-commit"));
    CHECK_TEXT("kept", world_get_file(world, ".git/hooks/a"));
    CHECK(!world_has_file(world, "a300.conf") && !world_has_file(world, "scripts/json.py"));
    (void)world_do(world, "echo fine > .git/index");
    CHECK_TEXT("fine\n", world_get_file(world, ".git/index"));
    (void)do_agreed(world, "echo y > a7.conf", true);
    CHECK_TEXT("y\n", world_get_file(world, "a7.conf"));
    world_destroy(world);
}

CASE(an_owner_lets_a_command_write_it)
{
    SMA_AUTO(world_destroyp) struct world *world = create_with_owner_files();
    world_put_file(world, "ship.json", "{}");
    world_put_file(world, ".env", "kept");
    for (size_t i = 0; i < SMA_COUNT_OF(OF_OWNERS); i++) {
        char command[256];
        snprintf(command, sizeof command, "echo new > %s", OF_OWNERS[i]);
        (void)do_agreed(world, command, true);
        if (strcmp(world_get_file(world, OF_OWNERS[i]), "new\n") != 0)
            fprintf(stderr, "%s\n", OF_OWNERS[i]);
        CHECK_TEXT("new\n", world_get_file(world, OF_OWNERS[i]));
    }
    (void)do_agreed(world, "echo x > ship.json; echo x > .env", true);
    CHECK_TEXT("{}", world_get_file(world, "ship.json"));
    CHECK_TEXT("kept", world_get_file(world, ".env"));
}

/* Nobody is asked about it, so somebody has to be told. */
CASE(a_read_only_file_is_told)
{
    static const char SIGN[] = "for recipes, hooks and other files of its owner";
    SMA_AUTO(world_destroyp) struct world *world = create_with_owner_files();
    const struct world_record *record = world_do(world, "echo x > Makefile");
    CHECK(strstr(world_member(world, record, "note"), SIGN) != NULL);
    record = world_do(world, "echo x > new; mv -f new Makefile");
    CHECK(strstr(world_member(world, record, "note"), SIGN) != NULL);
    record = world_do(world, "cat missing");
    CHECK_TEXT("", world_member(world, record, "note"));
}

/* `git pull` by a rule of the owner: he has agreed to what it brings. */
CASE(a_rule_of_the_owner_opens_his_files)
{
    SMA_AUTO(world_destroyp) struct world *world = create_with_owner_files();
    struct sma_tool_ask ask = {.mode = SMA_TOOL_RUN,
                               .standing = SMA_STANDING_MEMBER,
                               .name = SMA_STR("exec_shell"),
                               .arguments =
                                   SMA_STR("{\"command\":\"echo x > Makefile\",\"ruled\":true}"),
                               .chat_key = SMA_STR("test:1")};
    (void)world_await(world, world_ask(world, &ask));
    CHECK_TEXT("x\n", world_get_file(world, "Makefile"));
}

CASE(commits_are_made_all_the_same)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create(REQUIRE);
    const struct world_record *made = world_do(world, "git init -q . && echo a > a.txt");
    if (strstr(made->content, "\"exitCode\":0") == NULL)
        fprintf(stderr, "%s\n", made->content);
    CHECK(strstr(made->content, "\"exitCode\":0") != NULL);
    made =
        world_do(world, "git add a.txt && git -c user.name=a -c user.email=a@b commit -qm one && "
                        "git switch -qc side && git log --oneline");
    if (strstr(made->content, "\"exitCode\":0") == NULL)
        fprintf(stderr, "%s\n", made->content);
    CHECK(strstr(made->content, "\"exitCode\":0") != NULL && strstr(made->content, " one") != NULL);
    made = world_do(world, "git config core.fsmonitor 'touch PWNED'");
    CHECK(strstr(made->content, "\"exitCode\":0") == NULL);
}

CASE(there_is_no_network)
{
    int port;
    int fd = listen_here(&port);
    char command[256];
    snprintf(command, sizeof command,
             "bash -c 'echo x > /dev/tcp/127.0.0.1/%d' && echo reached; echo over", port);
    struct world *world = world_create(REQUIRE);
    CHECK_TEXT("over", world_member(world, world_do(world, command), "stdout"));
    CHECK(!was_called(fd, 0));
    world_destroy(world);
    world = world_create("{\"exec_shell\":{\"sandbox\":\"require\",\"network\":true}}");
    CHECK_TEXT("reached\nover", world_member(world, world_do(world, command), "stdout"));
    CHECK(was_called(fd, 1000));
    world_destroy(world);
    close(fd);
}

/* A command that fails or hangs for want of a network says so; others do not. */
CASE(a_missing_network_is_told)
{
    static const char SIGN[] = "There is no network in the sandbox";
    struct world *world = world_create(REQUIRE);
    const struct world_record *record =
        world_do(world, "git clone -q https://host.invalid/x.git; exit $?");
    CHECK(strstr(world_member(world, record, "note"), SIGN) != NULL);
    record = world_await(world, world_run(world, "sleep 30", 300));
    CHECK(strstr(world_member(world, record, "note"), SIGN) != NULL);
    record = world_do(world, "echo 'no such file' >&2; exit 2");
    CHECK_TEXT("", world_member(world, record, "note"));
    record = world_do(world, "echo network");
    CHECK_TEXT("", world_member(world, record, "note"));
    world_destroy(world);
    world = world_create("{\"exec_shell\":{\"sandbox\":\"require\",\"network\":true}}");
    record = world_do(world, "echo 'Network is unreachable'; exit 1");
    CHECK_TEXT("", world_member(world, record, "note"));
    world_destroy(world);
}

CASE(sockets_of_the_machine_are_hidden)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create(REQUIRE);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/.ship/chat.sock", world_dir(world));
    CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
    const struct world_record *record =
        world_do(world, "ls .ship/chat.sock; ls -A /run /tmp /var/tmp /dev/shm | grep -v :; "
                        "ls /proc | grep -c '^[0-9]'");
    const char *out = world_member(world, record, "stdout");
    CHECK(strstr(out, "chat.sock") == NULL && strstr(out, "docker") == NULL);
    const char *last = strrchr(out, '\n');
    CHECK(strtol(last == NULL ? out : last + 1, NULL, 10) <= 8); /* no process of the machine */
    record = world_do(world, "cat /proc/self/status | grep Cap; id -u; dmesg | head -1; "
                             "chroot / true && echo chrooted; mknod /tmp/d b 8 0 && echo made");
    out = world_member(world, record, "stdout");
    CHECK(strstr(out, "CapEff:\t0000000000000000") != NULL);
    CHECK(strstr(out, "CapBnd:\t0000000000000000") != NULL);
    CHECK(strstr(out, "chrooted") == NULL && strstr(out, "made") == NULL);
    close(fd);
}

CASE(keys_in_home_are_hidden)
{
    static const char *const keys[] = {
        ".netrc",        ".git-credentials", ".npmrc",
        ".vault-token",  ".s3cfg",           ".ssh/id_ed25519",
        ".kaggle/token", ".codex/auth.json", ".cargo/credentials.toml"};
    char here[128], home[160], path[256], *kept = getenv("HOME");
    kept = kept == NULL ? NULL : strdup(kept);
    CHECK(getcwd(here, sizeof here) != NULL); /* not below /tmp: that is hidden as a whole */
    snprintf(home, sizeof home, "%s/sma-home-XXXXXX", here);
    CHECK(mkdtemp(home) != NULL);
    for (size_t i = 0; i < SMA_COUNT_OF(keys); i++) {
        snprintf(path, sizeof path, "%s/%s", home, keys[i]);
        char *slash = strrchr(path, '/');
        *slash = '\0';
        (void)mkdir(path, 0755); /* is there already for most */
        *slash = '/';
        FILE *file = fopen(path, "w");
        CHECK(file != NULL && fputs("a-secret-of-home\n", file) >= 0 && fclose(file) == 0);
    }
    setenv("HOME", home, 1);
    struct world *world = world_create(REQUIRE);
    CHECK_TEXT("", world_member(world, world_do(world, "grep -rs a-secret-of ~"), "stdout"));
    CHECK_TEXT("", world_member(world, world_do(world, "cat /etc/shadow"), "stdout"));
    world_destroy(world);
    for (size_t i = 0; i < SMA_COUNT_OF(keys); i++) {
        snprintf(path, sizeof path, "%s/%s", home, keys[i]);
        CHECK(unlink(path) == 0);
        *strrchr(path, '/') = '\0';
        (void)rmdir(path); /* home itself at last */
    }
    (void)rmdir(home); /* or with the last of them */
    if (kept != NULL)
        setenv("HOME", kept, 1);
    free(kept);
}

CASE(the_belts_are_named)
{
    struct world *world = world_create(REQUIRE);
    char text[512];
    world_describe(world, text, sizeof text);
    CHECK(strncmp(text, "exec_shell: bubblewrap (no network), memory 2048 MB", 51) == 0);
    CHECK(strstr(text, "\ncommands: as written\nfiles: none\n") != NULL);
    CHECK(strstr(text, "system calls filtered, no user namespaces\n") != NULL ||
          strstr(text, "bubblewrap lacks") != NULL);
    CHECK_INT(1, sma_gauge_get(SMA_GAUGE_sandbox_on));
    world_destroy(world);
    world = world_create("{\"exec_shell\":{\"sandbox\":\"off\"}}");
    world_describe(world, text, sizeof text);
    CHECK(strstr(text, "NOT sandboxed (permissions.exec_shell.sandbox is \"off\"") != NULL);
    CHECK(world_has_logged(world, "NOT sandboxed"));
    CHECK_INT(0, sma_gauge_get(SMA_GAUGE_sandbox_on));
    CHECK(!world_has_logged(world, "secrets in plain text"));
    world_put_file(world, "ship.json", "{\"llm\":{\"apiKey\":\"sk-123456789\"}}");
    world_reload(world, "{\"exec_shell\":{\"sandbox\":\"off\"}}");
    CHECK_TEXT("over", world_member(world, world_do(world, "echo over"), "stdout"));
    CHECK(world_has_logged(world, "secrets in plain text"));
    world_destroy(world);
    world = world_create("{\"exec_shell\":false}");
    world_describe(world, text, sizeof text);
    CHECK(strncmp(text, "exec_shell: switched off\n", 25) == 0);
    world_destroy(world);
}

/* A service that is killed takes its commands with it. The victim is this program again. */
static _Noreturn void be_victim(void)
{
    struct world *world = world_create(REQUIRE);
    char command[256];
    snprintf(command, sizeof command,
             "(setsid sh -c 'while :; do sleep 0.1; done; : %s' &); touch ready; sleep 300",
             world_dir(world));
    (void)world_run(world, command, 0);
    world_await_file(world, "ready");
    printf("%s\n", world_dir(world));
    fflush(stdout);
    for (;;)
        pause();
}

static const char *own_path;

CASE(nothing_survives_a_killed_service)
{
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        dup2(ends[1], 1);
        execl(own_path, own_path, "victim", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    char dir[128] = "";
    CHECK(out != NULL && fgets(dir, sizeof dir, out) != NULL);
    dir[strcspn(dir, "\n")] = '\0';
    CHECK(world_count_processes(dir) > 0);
    CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
    world_await_no_process(dir);
    fclose(out);
    world_remove(dir);
}

/* In a container whose first process looks after nobody: what the probe has left is no child of
 * ours, and never goes away. */
CASE(a_start_does_not_wait_for_what_others_take_away)
{
    const uint64_t all_ms = 5000; /* that the probe has */
    pid_t keeper = fork();
    if (keeper == 0) {
        (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
        pid_t starter = fork();
        if (starter == 0) {
            struct timespec begin, end;
            clock_gettime(CLOCK_MONOTONIC, &begin);
            struct world *world = world_create(REQUIRE);
            clock_gettime(CLOCK_MONOTONIC, &end);
            world_destroy(world);
            _exit((uint64_t)((end.tv_sec - begin.tv_sec) * 1000 +
                             (end.tv_nsec - begin.tv_nsec) / 1000000) < all_ms
                      ? 0
                      : 1);
        }
        int status = -1;
        (void)waitpid(starter, &status, 0);
        _exit(status == 0 ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(keeper, &status, 0) == keeper);
    CHECK_INT(0, status);
}

int main(int argc, char **argv)
{
    own_path = argv[0];
    if (argc > 1 && strcmp(argv[1], "victim") == 0)
        be_victim();
    struct world *world = world_create("");
    bool is_boxed = world_is_boxed(world);
    char text[512];
    world_describe(world, text, sizeof text);
    world_destroy(world);
    if (!is_boxed) {
        fprintf(stderr, "skipped: %s\n", text);
        return 77;
    }
    check_run_cases(argc > 1 ? argv[1] : NULL);
    return check_summary();
}
