/*
 * test_sandbox_walls.c — what the kernel refuses to commands in the sandbox, how much memory their
 * folders take, what they see of ship.json, and what is said of their end. Method: programs that
 * are compiled and run in there.
 */
#include "world.h"

#include "runtime/decisive/decisive.h"
#include "runtime/exec/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUIRE "{\"exec_shell\":{\"sandbox\":\"require\"}}"

/* Says for each call what came of it. Without the filter every one of them gives something else, or
 * does it. */
static const char CALLS[] =
    "#define _GNU_SOURCE\n"
    "#include <errno.h>\n#include <sched.h>\n#include <stdio.h>\n#include <string.h>\n"
    "#include <sys/syscall.h>\n#include <sys/wait.h>\n#include <unistd.h>\n"
    "static void say(const char *name, long result)\n"
    "{ printf(\"%s=%s\\n\", name, result >= 0 ? \"done\" : strerrorname_np(errno)); "
    "fflush(stdout); }\n"
    "#define SAY(name, ...) say(#name, syscall(SYS_##name, __VA_ARGS__))\n"
    "int main(void)\n{\n"
    "    SAY(keyctl, 0, -3, 1); SAY(add_key, \"user\", \"a\", \"b\", 1, -3);\n"
    "    SAY(request_key, \"user\", \"a\", 0, 0);\n"
    "    SAY(io_uring_setup, 1, 0); SAY(userfaultfd, 1); SAY(clone3, 0, 0);\n"
    "    SAY(memfd_create, \"x\", 0); SAY(shmget, 0, 1 << 20, 01600); SAY(shmget, 0, 56, 01600);\n"
    "    SAY(bpf, 0, 0, 0); SAY(perf_event_open, 0, 0, 0, 0, 0); SAY(open_by_handle_at, -1, 0, "
    "0);\n"
    "    SAY(setns, -1, 0); SAY(fsopen, \"x\", 9999); SAY(mount_setattr, -1, 0, 0, 0, 0);\n"
    "    SAY(unshare, CLONE_NEWUSER); SAY(unshare, CLONE_FS);\n"
    "    say(\"namespace\", syscall(SYS_clone, CLONE_NEWUSER | 17, 0, 0, 0, 0));\n"
    "    SAY(ioctl, 0, 0x5412, 0); SAY(personality, 0x0400000); SAY(personality, 0xffffffff);\n"
    "    SAY(socket, 40, 1, 0); SAY(socket, 38, 5, 0); SAY(socket, 16, 3, 12);\n"
    "    SAY(socket, 16, 3, 0); SAY(socket, 2, 1, 0); SAY(socket, 1, 1, 0);\n"
    "    say(\"newest\", syscall(471, 0, 0, 0));\n"
    "#ifdef __x86_64__\n"
    "    say(\"x32\", syscall(0x40000000 + 39));\n"
    "    if (fork() == 0) { int n = 20; __asm__ volatile(\"int $0x80\" : \"+a\"(n)); _exit(0); }\n"
    "    int status = 0; wait(&status);\n"
    "    printf(\"other=%d\\n\", WIFSIGNALED(status) ? WTERMSIG(status) : 0);\n"
    "#else\n"
    "    puts(\"x32=ENOSYS\\nother=31\");\n"
    "#endif\n"
    "    return 0;\n}\n";

/* A kernel without the 32-bit entry refuses it by itself, before the filter sees it. */
static int signal_of_32_bit_call(void)
{
#ifdef __x86_64__
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* the sanitizer's handler would end it another way */
        int number = 20;          /* getpid */
        __asm__ volatile("int $0x80" : "+a"(number));
        _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        return WTERMSIG(status);
#endif
    return SIGSYS;
}

static void system_calls_are_refused(void)
{
    static const char CALLED[] = "keyctl=EPERM\nadd_key=EPERM\nrequest_key=EPERM\n"
                                 "io_uring_setup=ENOSYS\nuserfaultfd=ENOSYS\nclone3=ENOSYS\n"
                                 "memfd_create=ENOSYS\nshmget=EINVAL\nshmget=done\n"
                                 "bpf=EPERM\nperf_event_open=EPERM\nopen_by_handle_at=EPERM\n"
                                 "setns=EPERM\nfsopen=EPERM\nmount_setattr=EPERM\n"
                                 "unshare=EPERM\nunshare=done\nnamespace=EPERM\n"
                                 "ioctl=EPERM\npersonality=EPERM\npersonality=done\n"
                                 "socket=EAFNOSUPPORT\nsocket=EAFNOSUPPORT\nsocket=EAFNOSUPPORT\n"
                                 "socket=done\nsocket=done\nsocket=done\n"
                                 "newest=ENOSYS\nx32=ENOSYS\nother=";
    char wanted[sizeof CALLED + 16];
    snprintf(wanted, sizeof wanted, "%s%d", CALLED, signal_of_32_bit_call());
    struct world *world = world_create(REQUIRE);
    world_put_file(world, "calls.c", CALLS);
    const struct world_record *record = world_do(world, "gcc -o calls calls.c && ./calls");
    CHECK_TEXT("", world_member(world, record, "stderr"));
    CHECK_TEXT(wanted, world_member(world, record, "stdout"));
    record = world_do(world, "grep -c '^Seccomp:.*2' /proc/self/status /proc/1/status; "
                             "cat /proc/sys/user/max_user_namespaces; unshare -U true");
    const char *out = world_member(world, record, "stdout");
    CHECK(strstr(out, "/proc/self/status:1\n/proc/1/status:1") != NULL);
    CHECK(!world_has_logged(world, "NO filter"));
    world_destroy(world);
}

/* It would stay behind, for every user of the machine to become the service's. */
static void no_setuid_program_is_left_behind(void)
{
    static const char MAKE[] =
        "import os, ctypes\n"
        "c = ctypes.CDLL(None)\n"
        "os.close(os.open('plain', os.O_CREAT | os.O_WRONLY, 0o755))\n"
        "fd = os.open('plain', os.O_WRONLY)\n"
        "ways = [lambda: os.chmod('plain', 0o4755), lambda: os.fchmod(fd, 0o4755),\n"
        "        lambda: os.chmod('plain', 0o4755, dir_fd=os.open('.', 0)),\n"
        "        lambda: os.open('opened', os.O_CREAT | os.O_WRONLY, 0o4755),\n"
        "        lambda: os.open('.', os.O_TMPFILE | os.O_WRONLY, 0o4755),\n"
        "        lambda: os.mknod('node', 0o104755)]\n"
        "for way in ways:\n"
        "    try: way(); print('done')\n"
        "    except PermissionError: print('refused')\n"
        "c.creat(b'created', 0o4755); c.syscall(452, -100, b'plain', 0o4755, 0)\n"
        "os.chmod('plain', 0o750); os.open('other', os.O_CREAT, 0o644)\n";
    struct world *world = world_create(REQUIRE);
    world_put_file(world, "make.py", MAKE);
    const struct world_record *record =
        world_do(world, "python3 make.py; find . -perm -4000; stat -c %a plain other");
    CHECK_TEXT("", world_member(world, record, "stderr"));
    CHECK_TEXT("refused\nrefused\nrefused\nrefused\nrefused\nrefused\n750\n644",
               world_member(world, record, "stdout"));
    world_destroy(world);
}

/* What people have an agent do all day; gcc and its linker have run above. */
static void ordinary_tools_run(void)
{
    static const char *const commands[][2] = {
        {"git", "git init -q r && cd r && git -c user.name=a -c user.email=a@b commit -q "
                "--allow-empty -m m && git log --oneline | wc -l"},
        {"make", "printf 'all:\\n\\t@echo made\\n' > Makefile.x && make -s -f Makefile.x"},
        {"python3", "python3 -c 'import subprocess,threading,socket,sqlite3,multiprocessing as m; "
                    "t=threading.Thread(target=print,args=(1,)); t.start(); t.join(); "
                    "m.Pool(2).map(abs,[1,2]); print(subprocess.check_output([\"echo\",\"x\"]))'"},
        {"node", "node -e 'require(\"child_process\").execSync(\"true\"); "
                 "require(\"os\").networkInterfaces(); require(\"fs\").readdir(\".\", () => "
                 "console.log(1))'"},
        {"perl", "perl -e 'print `echo x`'"},
        {"tar", "tar czf a.tgz calls.c && tar tzf a.tgz"},
        {"strace", "strace -f -o t true && echo traced"},
        {"gdb", "gdb -batch -ex run -ex quit true"},
    };
    struct world *world =
        world_create("{\"exec_shell\":{\"sandbox\":\"require\",\"memoryMb\":65536}}");
    world_put_file(world, "calls.c", "x");
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        char command[1024];
        snprintf(command, sizeof command, "command -v %s >/dev/null || { echo none; exit 0; }; %s",
                 commands[i][0], commands[i][1]);
        const struct world_record *record = world_do(world, command);
        if (record->is_error)
            fprintf(stderr, "%s: %s\n", commands[i][0], record->content);
        CHECK(!record->is_error);
        CHECK(world_member(world, record, "stdout")[0] != '\0');
    }
    world_destroy(world);
}

static void folders_in_memory_are_bounded_together(void)
{
    struct world *world =
        world_create("{\"exec_shell\":{\"sandbox\":\"require\",\"memoryMb\":128}}");
    const struct world_record *record =
        world_do(world, "for d in /tmp /var/tmp /dev/shm /run; do cat /dev/zero > $d/x 2>>errors; "
                        "done; cat /tmp/x /var/tmp/x /dev/shm/x /run/x | wc -c; "
                        "grep -c 'No space' errors; echo over");
    const char *out = world_member(world, record, "stdout");
    long long bytes = strtoll(out, NULL, 10);
    if (bytes <= (64 << 20) || bytes > (128 << 20))
        fprintf(stderr, "filled: %s\n%s\n", out, record->content);
    CHECK(bytes > (64 << 20) && bytes <= (128 << 20));
    CHECK(strstr(out, "\n4\n") != NULL); /* each of them is full */
    world_destroy(world);
}

/* Files without contents take memory of the kernel's that no size counts. And: the sum of both is
 * what a command may hold. */
static void empty_files_count_as_memory(void)
{
    struct world *world =
        world_create("{\"exec_shell\":{\"sandbox\":\"require\",\"memoryMb\":64}}");
    size_t asked = world_run(world,
                             "i=0; while :; do i=$((i + 1)); seq -f /tmp/$i-%g 20000 | "
                             "xargs -n 5000 touch; done",
                             100000);
    const struct world_record *record = world_await(world, asked);
    CHECK(strstr(world_member(world, record, "note"), "held more than 128 MB of memory") != NULL);
    world_destroy(world);
}

/* Runtimes (node, Java, Wasm) reserve what they never touch: that is no memory. What can be written
 * is. */
static void reserved_addresses_are_no_memory(void)
{
    struct world *world =
        world_create("{\"exec_shell\":{\"sandbox\":\"require\",\"memoryMb\":256}}");
    CHECK_TEXT("reserved",
               world_member(world,
                            world_do(world, "python3 -c \"import mmap; m = mmap.mmap(-1, 16 << 30, "
                                            "mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, "
                                            "mmap.PROT_READ); print('reserved')\""),
                            "stdout"));
    CHECK_TEXT("refused", world_member(world,
                                       world_do(world, "python3 -c \"\ntry:\n    b = "
                                                       "bytearray(300 << 20)\nexcept "
                                                       "MemoryError:\n    print('refused')\""),
                                       "stdout"));
    world_destroy(world);
}

static void hidden_folders_take_nothing(void)
{
    struct world *world = world_create(REQUIRE);
    const struct world_record *record =
        world_do(world, "for d in .ship /etc/ssl/private ~/.ssh ~/.gnupg ~/.config/gh /dev; do "
                        "echo x 2>/dev/null > $d/sma-test && echo wrote $d; done");
    CHECK_TEXT("", world_member(world, record, "stdout"));
    world_destroy(world);
}

static void ship_json_is_shown_without_its_secrets(void)
{
    static const char SHIP[] =
        "{\"name\":\"x\",\"llm\":{\"apiKey\":\"sk-canary-1234567890\",\"model\":\"m\"},"
        "\"adapters\":{\"telegram\":{\"botToken\":\"777:canary-token\",\"keep\":\"${NAME}\"}},"
        "\"api\":{\"token\":\"${API_TOKEN}\"},\"tokens\":[\"canary-list\"],"
        "\"proxy\":\"http://me:canary-pass@host/\"}";
    struct world *world = world_create(REQUIRE);
    world_put_file(world, "ship.json", SHIP);
    const struct world_record *record =
        world_do(world, "base64 -w0 ship.json | base64 -d | tr 'a-z' 'n-za-m'; ls -l ship.json");
    const char *out = world_member(world, record, "stdout");
    CHECK(strstr(out, "pnanel") == NULL); /* canary */
    CHECK(strstr(out, "${ANZR}") != NULL || strstr(out, "${NAME}") != NULL ||
          strstr(out, "${anzr}") != NULL);
    CHECK(strstr(out, "\"anzr\": \"k\"") != NULL && strstr(out, "[erqnpgrq]") != NULL);
    CHECK_TEXT(SHIP, world_get_file(world, "ship.json"));
    /* one that cannot be read is not shown; one without secrets is shown as it is */
    world_put_file(world, "ship.json", "{\"apiKey\":\"canary-broken\",");
    record = world_do(world, "base64 -w0 ship.json | base64 -d | tr 'a-z' 'n-za-m'");
    CHECK(strstr(world_member(world, record, "stdout"), "pnanel") == NULL);
    world_put_file(world, "ship.json", "{ \"apiKey\" :  \"${KEY}\" }\n");
    record = world_do(world, "cat ship.json; echo x > ship.json");
    CHECK_TEXT("{ \"apiKey\" :  \"${KEY}\" }", world_member(world, record, "stdout"));
    world_destroy(world);
}

static void expect_no_canary(struct world *world, const char *command)
{
    const struct world_record *record = world_do(world, command);
    if (strstr(record->content, "canary-value") != NULL)
        fprintf(stderr, "%s gave %s\n", command, record->content);
    CHECK(strstr(record->content, "canary-value") == NULL);
}

static void put_folders(struct world *world, const char *path)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s/%s", world_dir(world), path);
    for (char *slash = folder + strlen(world_dir(world)) + 1; (slash = strchr(slash, '/')) != NULL;
         *slash++ = '/') {
        *slash = '\0';
        CHECK(mkdir(folder, 0755) == 0 || errno == EEXIST);
    }
}

/* What `grep -r` and `find` meet, which nobody is asked about where init's rules stand. */
static void secrets_at_any_depth_are_invisible(void)
{
    static const char key[] = "-----BEGIN RSA PRIVATE KEY-----\ncanary-value\n";
    static const char *const secrets[][2] = {
        {"sub/.env", "KEY=canary-value\n"},
        {"a/b/c/d/.env.production", "KEY=canary-value\n"},
        {"sub/.ENV", "canary-value"},
        {"deploy/id_rsa", "canary-value"},
        {"deploy/prod.env", "KEY=canary-value"},
        {"deploy/prod.tfvars", "key = \"canary-value\""},
        {"deploy/.github_token", "canary-value"},
        {"deploy/tls.key", "canary-value"},
        {"deploy/server.pem", key},
        {"deploy/a.p12", "canary-value"},
        {"deploy/service-account-prod.json", "canary-value"},
        {"deploy/.ssh/config", "canary-value"},
        {"deploy/.aws/credentials", "canary-value"},
        {"deploy/.docker/config.json", "canary-value"},
        {"deploy/kubeconfig", "canary-value"},
        {"deploy/credentials", "canary-value"},
        {".netrc", "canary-value"},
        {"web/.npmrc", "//registry.example/:_authToken=canary-value\n"},
        {".pgpass", "canary-value"},
        {"lib/.git/config", "[remote \"origin\"]\n\turl = https://x:canary-value@h/r.git\n"},
        {".git/modules/m/config", "[http]\n\textraheader = AUTHORIZATION: canary-value\n"}};
    static const char *const others[] = {"sub/.env.example", "deploy/ca.pem", "web/b/.npmrc",
                                         "src/config", "src/credentials.md"};
    struct world *world = world_create(REQUIRE);
    for (size_t i = 0; i < SMA_COUNT_OF(secrets); i++) {
        put_folders(world, secrets[i][0]);
        world_put_file(world, secrets[i][0], secrets[i][1]);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++) {
        put_folders(world, others[i]);
        world_put_file(world, others[i], "plain-value\n");
    }
    expect_no_canary(world, "grep -r canary-value .; find . -type f -exec cat {} +");
    for (size_t i = 0; i < SMA_COUNT_OF(secrets); i++) {
        char command[512];
        snprintf(command, sizeof command, "cp %s x; cat x; mv %s y; cat y; ln -s $PWD/%s z; cat z",
                 secrets[i][0], secrets[i][0], secrets[i][0]);
        expect_no_canary(world, command);
        CHECK_TEXT(secrets[i][1], world_get_file(world, secrets[i][0]));
    }
    const struct world_record *record =
        world_do(world, "grep -rl plain-value . | wc -l; git -C lib config --list -f .git/config | "
                        "wc -l; echo KEY=new > sub/.env.example");
    CHECK_TEXT("5\n0", world_member(world, record, "stdout"));
    CHECK_TEXT("KEY=new\n", world_get_file(world, "sub/.env.example"));
    world_destroy(world);
}

/* What the settings of git include is obeyed by every git outside of the walls, also what
 * is not there yet; so is config.worktree once its owner uses worktrees. */
static void what_git_includes_is_not_written(void)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create(REQUIRE);
    char absolute[512];
    (void)world_do(world, "git init -q .; mkdir -p conf hooked later; git config user.name N; git "
                          "config user.email n@example.org; echo a > a.txt");
    snprintf(absolute, sizeof absolute, "[core]\n\thooksPath = %s/hooked\n", world_dir(world));
    world_put_file(world, "conf/shared", absolute);
    world_put_file(world, "hooked/pre-commit", "kept");
    world_put_file(world, ".git/config",
                   "[core]\n\tbare = false\n\trepositoryformatversion = 0\n"
                   "[user]\n\tname = N\n\temail = n@example.org\n"
                   "[include]\n\tpath = ../conf/shared\n\tpath = ../later/settings\n"
                   "[includeIf \"gitdir:/nowhere/\"]\n\tpath = own\n");
    static struct sma_decisive items[] = {
        {.path = "conf/shared", .is_of_git = true, .is_awaited = true, .is_setting = true},
        {.path = "later/settings", .is_of_git = true, .is_awaited = true, .is_setting = true},
        {.path = ".git/own", .is_of_git = true, .is_awaited = true, .is_setting = true}};
    world_config(world)->decisive = items;
    world_config(world)->decisive_count = SMA_COUNT_OF(items);
    (void)world_do(world, "for f in conf/shared later/settings .git/own .git/config.worktree "
                          "hooked/pre-commit; do echo x > $f; rm -f $f; echo y > new; mv -f new "
                          "$f; ln -sf /tmp $f; mv $(dirname $f) moved; mkdir $f; done");
    CHECK_TEXT(absolute, world_get_file(world, "conf/shared"));
    CHECK_TEXT("kept", world_get_file(world, "hooked/pre-commit"));
    CHECK(!world_has_file(world, "later/settings") && !world_has_file(world, ".git/own"));
    CHECK(!world_has_file(world, ".git/config.worktree"));
    const struct world_record *record =
        world_do(world, "git -c core.hooksPath=/dev/null add a.txt && git -c "
                        "core.hooksPath=/dev/null commit -qm one && git log --oneline | wc -l");
    CHECK_TEXT("1", world_member(world, record, "stdout"));
    record = world_do(world, "git worktree add w >log 2>&1; ls w");
    CHECK_TEXT("a.txt", world_member(world, record, "stdout"));

    /* what no mount can keep: then nothing but .git is written */
    items[1].path = "nowhere/settings";
    items[2].is_setting = false; /* a program that they name */
    record = world_do(world, "echo fine > .git/index; mkdir nowhere; echo x > .git/own");
    CHECK(strstr(world_member(world, record, "note"), "all of the project but .git") != NULL);
    CHECK(!world_has_file(world, "nowhere") && !world_has_file(world, ".git/own"));
    CHECK_TEXT("fine\n", world_get_file(world, ".git/index"));
    (void)world_do(world, "mkdir .git/deep; echo kept > .git/deep/settings");
    items[0].path = ".git/deep/settings";
    (void)world_do(world, "mv .git/deep .git/moved; mkdir .git/deep; echo x > .git/deep/settings");
    CHECK_TEXT("kept\n", world_get_file(world, ".git/deep/settings"));
    items[1].path = ".git/nowhere/settings";
    record = world_do(world, "mkdir .git/nowhere; echo x > .git/nowhere/settings");
    CHECK(strstr(record->content, "Not run: the settings of git include") != NULL);
    CHECK(!world_has_file(world, ".git/nowhere"));
}

/* A folder that is written in another way is the same folder, and no mount of it covers
 * those that hide secrets. */
static void what_is_kept_by_any_way_to_write_it(void)
{
    static const char *const ways[] = {"./hooked/", "hooked//", "././/hooked", "a/../hooked",
                                       "\"hooked\" # there"};
    for (size_t i = 0; i < SMA_COUNT_OF(ways); i++) {
        SMA_AUTO(world_destroyp)
        struct world *world = world_create(
            "{\"exec_shell\":{\"sandbox\":\"require\",\"allow\":[\"sh .//run/./x.sh\"]}}");
        char text[512];
        (void)world_do(world, "git init -q .; mkdir -p hooked a run");
        world_put_file(world, "run/x.sh", "true");
        snprintf(text, sizeof text, "[core]\n\tbare = false\n\thooksPath = %s\n", ways[i]);
        world_put_file(world, ".git/config", text);
        world_put_file(world, "hooked/pre-commit", "kept");
        world_put_file(world, ".env", "canary-value");
        world_put_file(world, ".ship/state.db", "canary-value");
        expect_no_canary(world, "cat .env .ship/state.db; echo x > ship.json; echo x > .env; "
                                "echo x > hooked/pre-commit; mv hooked moved; echo x > run/x.sh");
        CHECK_TEXT("kept", world_get_file(world, "hooked/pre-commit"));
        CHECK_TEXT("true", world_get_file(world, "run/x.sh"));
        CHECK_TEXT("canary-value", world_get_file(world, ".env"));
    }
}

/* What would run outside of the walls as soon as it is there: packages that npx looks
 * for, hooks, a program of git. The stand-ins go with the last command; what somebody else has put
 * there stays. */
static void what_would_run_outside_cannot_come(void)
{
    static struct sma_decisive items[] = {
        {.path = "node_modules",
         .suffixes = SMA_DECISIVE_ALL,
         .is_library = true,
         .is_awaited = true},
        {.path = "package.json", .is_awaited = true},
        {.path = ".npmrc", .is_awaited = true},
        {.path = "web/node_modules",
         .suffixes = SMA_DECISIVE_ALL,
         .is_library = true,
         .is_unwalled = true},
        {.path = "githooks", .suffixes = SMA_DECISIVE_ALL, .is_of_git = true, .is_awaited = true},
        {.path = "tools/st.sh", .is_of_git = true, .is_awaited = true},
        {.path = "nowhere/st.sh", .is_of_git = true, .is_awaited = true},
        {.path = "own", .suffixes = SMA_DECISIVE_ALL, .is_of_git = true, .is_awaited = true}};
    struct world *world = world_create(REQUIRE);
    world_config(world)->decisive = items;
    world_config(world)->decisive_count = SMA_COUNT_OF(items);
    put_folders(world, "web/x");
    put_folders(world, "tools/x");
    put_folders(world, "own/x");
    char own[512];
    snprintf(own, sizeof own, "%s/own", world_dir(world));
    (void)world_do(world,
                   "for d in node_modules web/node_modules githooks tools; do mkdir -p $d/.bin; "
                   "echo x > $d/.bin/box; echo x > $d/pre-commit; rm -rf $d; mv $d moved; done; "
                   "for f in package.json .npmrc tools/st.sh; do echo x > $f; rm -f $f; mv web $f; "
                   "done; ln -sf /tmp node_modules; mkdir web/node_modules; "
                   "echo fine > web/node_modules/box; ls -d node_modules githooks > seen; cat "
                   "package.json >> seen");
    CHECK_TEXT("githooks\nnode_modules\n{}\n", world_get_file(world, "seen"));
    static const char *const none[] = {"node_modules", "package.json", ".npmrc",
                                       "githooks",     "tools/st.sh",  "moved"};
    for (size_t i = 0; i < SMA_COUNT_OF(none); i++)
        CHECK(!world_has_file(world, none[i]));
    CHECK_TEXT("fine\n", world_get_file(world, "web/node_modules/box"));
    CHECK(access(own, F_OK) == 0);
    CHECK_INT(0, rmdir(own));
    world_destroy(world);
}

/* Folders that have been looked at are not read again unless they have changed: what comes, is
 * moved or is written into a file that is there is hidden from the next command all the same. */
static void secrets_that_come_later_are_invisible(void)
{
    struct world *world = world_create(REQUIRE);
    static const char search[] = "grep -r canary-value . ; find . -type f -exec cat {} +";
    char text[512];
    put_folders(world, "a/b/c/x");
    put_folders(world, "web/app/x");
    put_folders(world, "d/e/x");
    world_put_file(world, "a/b/c/plain", "canary-value");
    world_put_file(world, "web/app/.npmrc", "fund=false\n");
    world_put_file(world, "web/app/ca.pem", "-----BEGIN CERTIFICATE-----\n");
    for (int i = 0; i < 2; i++) /* of folders that changed just now nothing is remembered */
        CHECK(strstr(world_do(world, "cat web/app/.npmrc; sleep 3.2")->content, "fund") != NULL);
    world_put_file(world, "web/app/.npmrc", "//r.example/:_authToken=canary-value\n");
    world_put_file(world, "web/app/ca.pem", "-----BEGIN PRIVATE KEY-----\ncanary-value\n");
    snprintf(text, sizeof text, "cd %s && mv a/b/c/plain a/b/c/tls.key", world_dir(world));
    CHECK_INT(0, system(text)); // NOLINT(cert-env33-c)
    expect_no_canary(world, search);
    world_put_file(world, "d/e/.env", "canary-value");
    snprintf(text, sizeof text,
             "cd %s && mkdir -p new/.git && echo 'url = https://canary-value@h/r' >new/.git/config "
             "&& mv d/e d/f && mv a/b z",
             world_dir(world));
    CHECK_INT(0, system(text)); // NOLINT(cert-env33-c)
    expect_no_canary(world, search);
    const struct world_record *record = world_do(world, "ls z/c d/f/.env; cat new/.git/config");
    CHECK(strstr(world_member(world, record, "stdout"), "tls.key") != NULL);
    world_destroy(world);
}

/* Where logins of .git/config are cut out, those in what it includes are, too, wherever it lies. */
static void what_git_settings_include_is_cut_out(void)
{
    char here[PATH_MAX - 32], far[PATH_MAX], text[3 * PATH_MAX], permissions[2 * PATH_MAX];
    CHECK(getcwd(here, sizeof here) != NULL);
    snprintf(far, sizeof far, "%s/sma-git-XXXXXX", here);
    CHECK(mkdtemp(far) != NULL);
    snprintf(permissions, sizeof permissions,
             "{\"exec_shell\":{\"sandbox\":\"require\",\"paths\":[\"%s\"]}}", far);
    struct world *world = world_create(permissions);
    put_folders(world, ".git/x");
    put_folders(world, "more/x");
    snprintf(
        text, sizeof text,
        "[include]\n\tpath = ../login.inc\n[includeIf \"gitdir:~/x/\"] path=\"%s/far.inc\" # it\n",
        far);
    world_put_file(world, ".git/config", text);
    world_put_file(world, "login.inc",
                   "[http]\n\textraheader = AUTHORIZATION: canary-value\n[user]\n\tname = Ann\n"
                   "[Include]\n\tpath = more/b c.inc\n");
    world_put_file(world, "more/b c.inc", "[url \"https://u:canary-value@h/\"]\n[a]\n\tb = Bea\n");
    snprintf(
        text, sizeof text,
        "printf '[remote \"a\"]\\nurl = https://canary-value@h/r\\n[a]\\nc = Cy\\n' > %s/far.inc",
        far);
    CHECK_INT(0, system(text)); // NOLINT(cert-env33-c)
    snprintf(text, sizeof text, "cat login.inc 'more/b c.inc' %s/far.inc", far);
    expect_no_canary(world, text);
    CHECK(strstr(world_do(world, text)->content, "Cy") != NULL);
    snprintf(text, sizeof text,
             "git config -f .git/config --includes a.b; "
             "git config -f .git/config --includes user.name");
    CHECK_TEXT("Bea\nAnn", world_member(world, world_do(world, text), "stdout"));
    world_destroy(world);
    snprintf(text, sizeof text, "rm -r %s", far);
    CHECK_INT(0, system(text)); // NOLINT(cert-env33-c)
}

static const char *outgrown_by(struct world *world, struct sma_sandbox_plan *plan)
{
    static char path[PATH_MAX];
    size_t len = strlen(world_dir(world));
    if (!sma_sandbox_plan_is_outgrown(plan, world_config(world), NULL, path))
        return "";
    return strncmp(path, world_dir(world), len) == 0 && path[len] == '/' ? path + len + 1 : path;
}

static struct sma_sandbox_plan plan_server(struct world *world, const char *const *words)
{
    struct sma_sandbox sandbox = {.is_on = true, .path = "/usr/bin/bwrap"};
    struct sma_exec_options options = {.is_possible = true};
    struct sma_sandbox_plan plan;
    struct sma_error error = {0};
    CHECK_OK(sma_sandbox_plan_create_program(world_config(world), &options, &sandbox, words, NULL,
                                             &plan, &error));
    return plan;
}

static void end_server(struct world *world, struct sma_sandbox_plan *plan)
{
    unsigned placeholders = plan->placeholders;
    sma_sandbox_plan_fini(plan);
    sma_sandbox_remove_placeholders(world_config(world), placeholders);
}

/* A server that runs for days gets walls that know of secrets made since, wherever they lie; what
 * it is told to use is no reason. */
static void a_secret_made_later_outgrows_the_walls(void)
{
    static const char *const words[] = {"/bin/cat", "apps/api/own.key", NULL};
    static const char *const made[][2] = {{"apps/web/.env", "KEY=1"},
                                          {"apps/web/b/id_rsa", "x"},
                                          {"apps/.npmrc", "//r/:_authToken=x\n"},
                                          {".env.local", "KEY=1"}};
    struct world *world = world_create(REQUIRE);
    char command[512];
    snprintf(command, sizeof command, "mkdir -p %s/apps/web/b %s/apps/api", world_dir(world),
             world_dir(world));
    CHECK_INT(0, system(command)); // NOLINT(cert-env33-c)
    world_put_file(world, "apps/api/own.key", "x");
    world_put_file(world, "apps/api/other.key", "x");
    world_put_file(world, "apps/.npmrc", "fund=false\n");
    for (size_t i = 0; i < SMA_COUNT_OF(made); i++) {
        struct sma_sandbox_plan plan = plan_server(world, words);
        CHECK_TEXT("", outgrown_by(world, &plan));
        world_put_file(world, "apps/web/page.html", made[i][0]);
        CHECK_TEXT("", outgrown_by(world, &plan));
        world_put_file(world, made[i][0], made[i][1]);
        CHECK_TEXT(made[i][0], outgrown_by(world, &plan));
        end_server(world, &plan);
    }
    world_destroy(world);
}

/* Each list of a folder and each read of a file is one. */
static int count_reads(int watch)
{
    _Alignas(struct inotify_event) char events[65536];
    ssize_t len = read(watch, events, sizeof events);
    int count = 0;
    for (ssize_t at = 0; at < len; count++)
        at += (ssize_t)(sizeof(struct inotify_event) +
                        ((struct inotify_event *)(void *)(events + at))->len);
    return count;
}

/* The question is asked before each call of a server: while nothing changes no folder is listed and
 * no file is read for it; what comes is found all the same. */
static void what_has_not_changed_is_not_read_again(void)
{
    static const char *const words[] = {"/bin/cat", NULL};
    static const char *const folders[] = {"", "/apps", "/apps/web"};
    static const char *const made[] = {"package.json", "apps/web/.env", "conftest.py"};
    struct world *world = world_create(REQUIRE);
    put_folders(world, "apps/web/x");
    world_put_file(world, "apps/web/plain", "x");
    struct sma_sandbox_plan plan = plan_server(world, words);
    usleep(3200000); /* of folders that changed just now nothing is remembered */
    CHECK_TEXT("", outgrown_by(world, &plan));
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s%s", world_dir(world), folders[i]);
        CHECK(inotify_add_watch(watch, path, IN_ACCESS) >= 0);
    }
    CHECK_TEXT("", outgrown_by(world, &plan));
    CHECK_INT(0, count_reads(watch));
    for (size_t i = 0; i < SMA_COUNT_OF(made); i++) {
        char path[PATH_MAX];
        world_put_file(world, made[i], "x");
        CHECK_TEXT(made[i], outgrown_by(world, &plan));
        CHECK(count_reads(watch) > 0);
        snprintf(path, sizeof path, "%s/%s", world_dir(world), made[i]);
        CHECK_INT(0, unlink(path));
    }
    close(watch);
    end_server(world, &plan);
    world_destroy(world);
}

/* bubblewrap, whose inner process dies late when the file `slow` is there: on a busy machine the
 * kernel takes its time for the end of a namespace. */
static void put_late_bubblewrap(const char *folder)
{
    char text[1024];
    snprintf(text, sizeof text,
             "cp /usr/bin/bwrap %s/real && cat >%s/bwrap <<'END' && chmod 755 %s/bwrap\n"
             "#!/bin/sh\n"
             "[ -e %s/slow ] || exec %s/real \"$@\"\n"
             "sleep 0.6 </dev/null >/dev/null 2>&1 3>&- 4>&- &\n"
             "printf '{\"child-pid\": %%d\\n}\\n' $! >&3\n"
             "exec %s/real \"$@\" 3>/dev/null\n"
             "END\n",
             folder, folder, folder, folder, folder, folder);
    CHECK_INT(0, system(text)); // NOLINT(cert-env33-c): a shell is what it is about
}

static void be_late(const char *folder)
{
    char path[256];
    snprintf(path, sizeof path, "%s/bwrap", folder);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(path, "/usr/bin/bwrap", NULL, MS_BIND, NULL) != 0)
        _exit(77);
    struct world *world = world_create(REQUIRE);
    snprintf(path, sizeof path, "%s/slow", folder);
    CHECK(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)) == 0);
    const struct world_record *record = world_do(world, "echo 'no such file' >&2; exit 2");
    CHECK_TEXT("", world_member(world, record, "note"));
    record = world_do(world, "sleep 100 & exit 2");
    CHECK(strstr(world_member(world, record, "note"), "Processes it had left behind") != NULL);
    world_destroy(world);
    _exit(0);
}

/* What is said to be left behind was left by the command, and is not a sandbox that ends late. */
static void a_sandbox_that_ends_late_is_no_process_left_behind(void)
{
    char folder[] = "/tmp/sma-late-XXXXXX", text[64];
    int status = -1;
    CHECK(mkdtemp(folder) != NULL);
    put_late_bubblewrap(folder);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        be_late(folder);
    CHECK(waitpid(child, &status, 0) == child);
    snprintf(text, sizeof text, "rm -r %s", folder);
    CHECK_INT(0, system(text)); // NOLINT(cert-env33-c)
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        puts("   not tried: nothing can be mounted here");
    else
        CHECK_INT(0, status);
}

int main(void)
{
    struct world *world = world_create("");
    bool is_boxed = world_is_boxed(world);
    char text[1024];
    world_describe(world, text, sizeof text);
    world_destroy(world);
    if (!is_boxed) {
        fprintf(stderr, "SKIPPED, nothing was tested: %s\n", text);
        return 77;
    }
    RUN(system_calls_are_refused);
    RUN(no_setuid_program_is_left_behind);
    RUN(ordinary_tools_run);
    RUN(folders_in_memory_are_bounded_together);
    RUN(empty_files_count_as_memory);
    RUN(reserved_addresses_are_no_memory);
    RUN(hidden_folders_take_nothing);
    RUN(ship_json_is_shown_without_its_secrets);
    RUN(secrets_at_any_depth_are_invisible);
    RUN(what_git_includes_is_not_written);
    RUN(what_is_kept_by_any_way_to_write_it);
    RUN(what_would_run_outside_cannot_come);
    RUN(secrets_that_come_later_are_invisible);
    RUN(what_git_settings_include_is_cut_out);
    RUN(a_secret_made_later_outgrows_the_walls);
    RUN(what_has_not_changed_is_not_read_again);
#if !defined(__SANITIZE_THREAD__) /* it has no threads after a fork */
    RUN(a_sandbox_that_ends_late_is_no_process_left_behind);
#else
    (void)a_sandbox_that_ends_late_is_no_process_left_behind;
#endif
    return check_summary();
}
