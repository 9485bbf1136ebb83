/*
 * test_sandbox_walls.c — what the kernel refuses to commands in the sandbox, how much memory their
 * folders take, what they see of ship.json, and what is said of their end. Method: programs that
 * are compiled and run in there.
 */
#include "world.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
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
    RUN(hidden_folders_take_nothing);
    RUN(ship_json_is_shown_without_its_secrets);
#if !defined(__SANITIZE_THREAD__) /* it has no threads after a fork */
    RUN(a_sandbox_that_ends_late_is_no_process_left_behind);
#else
    (void)a_sandbox_that_ends_late_is_no_process_left_behind;
#endif
    return check_summary();
}
