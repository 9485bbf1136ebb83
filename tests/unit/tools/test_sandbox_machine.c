/*
 * test_sandbox_machine.c — what of the machine is there for commands in the sandbox: nothing that
 * can be changed, and nothing that nobody has named. Method: a program walks /proc and /sys inside,
 * as root and as an ordinary user; what lies in the root, in HOME and in folders that the owner
 * names is listed from inside; and bubblewrap is replaced by one that leaves a hole.
 */
#include "world.h"

#include "runtime/exec/sandbox.h"

#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUIRE "{\"exec_shell\":{\"sandbox\":\"require\"}}"
#define ONLINE "{\"exec_shell\":{\"sandbox\":\"require\",\"network\":true}}"
#define NOBODY 65534

/* Opens whatever is there for writing. A process may write these of itself, and they end with it:
 * its name, scores, labels and maps of its own namespace (proc(5)). Links and open files lead to
 * what is looked at elsewhere. */
static const char WALK[] =
    "import os, stat\n"
    "own = {'attr', 'autogroup', 'clear_refs', 'comm', 'coredump_filter', 'fail-nth', 'gid_map',\n"
    "       'loginuid', 'make-it-fail', 'mem', 'oom_adj', 'oom_score_adj', 'projid_map', 'sched',\n"
    "       'setgroups', 'timens_offsets', 'timerslack_ns', 'uid_map', 'latency', "
    "'seccomp_cache'}\n"
    "away = {'fd', 'fdinfo', 'map_files', 'task', 'cwd', 'root'}\n"
    "seen = 0\n"
    "def walk(top, is_process):\n"
    "    global seen\n"
    "    for folder, folders, files in os.walk(top):\n"
    "        if folder == '/proc':\n"
    "            folders[:] = [x for x in folders if not x.isdigit()]\n"
    "        if is_process:\n"
    "            folders[:] = [x for x in folders if x not in own | away]\n"
    "        for name in files:\n"
    "            path = os.path.join(folder, name)\n"
    "            if os.path.islink(path) or (is_process and folder == top and name in own):\n"
    "                continue\n"
    "            seen += 1\n"
    "            try:\n"
    "                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY))\n"
    "                print(path)\n"
    "            except OSError:\n"
    "                pass\n"
    "walk('/proc', False)\n"
    "walk('/proc/self', True)\n"
    "walk('/sys', False)\n"
    "print('seen' if seen > 500 else seen)\n"
    "print(open('/proc/sys/kernel/random/uuid').read().count('-'), \n"
    "      open('/sys/devices/system/cpu/online').read()[:1])\n";

static void walk_as(const char *permissions)
{
    struct world *world = world_create(permissions);
    world_put_file(world, "walk.py", WALK);
    const struct world_record *record = world_do(world, "python3 walk.py");
    CHECK_TEXT("", world_member(world, record, "stderr"));
    CHECK_TEXT("seen\n4 0", world_member(world, record, "stdout"));
    world_destroy(world);
}

/* A check that fails in a forked child ends it by exit(), where the destructors of libuv wait for
 * threads that it does not have: it ends here, before them. */
static void fail_at_once(void)
{
    _exit(1);
}

static pid_t fork_child(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0 && atexit(fail_at_once) != 0)
        _exit(1);
    return child;
}

/* @return the exit code of what it did as somebody without rights; 0 where we are nobody else */
static int as_user(void (*act)(void))
{
    int status = 0;
    if (geteuid() != 0)
        return 0;
    pid_t child = fork_child();
    if (child == 0) {
        if (chdir("/") != 0 || setgroups(0, NULL) != 0 || setgid(NOBODY) != 0 ||
            setuid(NOBODY) != 0)
            _exit(3);
        act();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void walk_all(void)
{
    walk_as(REQUIRE);
    walk_as(ONLINE);
}

/* Under root /proc/sys/kernel/core_pattern is a root shell on the machine. */
static void nothing_of_the_machine_opens_for_writing(void)
{
    walk_all();
#if !defined(__SANITIZE_THREAD__) /* it has no threads after a fork */
    CHECK_INT(0, as_user(walk_all));
#endif
}

/* -- a hole ------------------------------------------------------------------------------------ */
/* bubblewrap that forgets one mount: what a version to come, or a kernel, may do as well. */
static void put_leaky_bubblewrap(const char *folder)
{
    char text[1024];
    snprintf(text, sizeof text,
             "cp /usr/bin/bwrap %s/real && cat >%s/bwrap <<'END' && chmod 755 %s/bwrap\n"
             "#!/bin/bash\n"
             "words=()\n"
             "while [ $# -gt 0 ]; do\n"
             "    if [ \"$1 $2\" = '--ro-bind /proc/sys' ]; then shift 3; continue; fi\n"
             "    words+=(\"$1\"); shift\n"
             "done\n"
             "exec %s/real \"${words[@]}\"\n"
             "END\n",
             folder, folder, folder, folder);
    CHECK_INT(0, system(text)); // NOLINT(cert-env33-c): a shell is what it is about
}

static void meet_the_hole(const char *folder)
{
    char path[256], text[512];
    snprintf(path, sizeof path, "%s/bwrap", folder);
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        _exit(77);
    struct world *world = world_create(REQUIRE); /* whose folder it is tried on */
    if (mount(path, "/usr/bin/bwrap", NULL, MS_BIND, NULL) != 0)
        _exit(77);
    struct sma_exec_options options = {
        .is_possible = true, .says_mode = true, .mode = SMA_SANDBOX_REQUIRE, .memory_mb = 512};
    struct sma_sandbox sandbox = {.is_on = false};
    struct sma_error error = {.code = SMA_ERR_OK};
    CHECK_INT(SMA_ERR_UNSUPPORTED,
              sma_sandbox_find(world_config(world), &options, &sandbox, &error));
    CHECK(strstr(error.text, "/proc/sys/kernel/core_pattern opens for writing") != NULL);
    /* better than none, and said */
    options.mode = SMA_SANDBOX_AUTO;
    CHECK_OK(sma_sandbox_find(world_config(world), &options, &sandbox, &error));
    CHECK(sandbox.is_on);
    CHECK_TEXT("/proc/sys/kernel/core_pattern", sandbox.hole);
    struct sma_buf line;
    sma_buf_init(&line, 4096);
    sma_sandbox_describe(&sandbox, &options, &line);
    snprintf(text, sizeof text, "%.*s", (int)line.len, line.ptr);
    CHECK(strstr(text, "A HOLE: /proc/sys/kernel/core_pattern") != NULL);
    sma_buf_fini(&line);
    world_destroy(world);
    _exit(0);
}

static void a_hole_is_found_before_the_first_command(void)
{
    char folder[] = "/tmp/sma-hole-XXXXXX", text[64];
    int status = -1;
    if (geteuid() != 0) {
        puts("   not tried: only root may open it");
        return;
    }
    CHECK(mkdtemp(folder) != NULL);
    put_leaky_bubblewrap(folder);
    pid_t child = fork_child();
    if (child == 0)
        meet_the_hole(folder);
    CHECK(waitpid(child, &status, 0) == child);
    snprintf(text, sizeof text, "rm -r %s", folder);
    CHECK_INT(0, system(text)); // NOLINT(cert-env33-c)
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        puts("   not tried: nothing can be mounted here");
    else
        CHECK_INT(0, status);
}

/* -- what is there ----------------------------------------------------------------------------- */
/* A HOME with what people have in theirs; not below /tmp, which is private anyway. */
struct home
{
    char path[PATH_MAX], *kept;
};

static void put_in_home(const struct home *home, const char *name, const char *text, mode_t mode)
{
    char command[3 * PATH_MAX], path[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", home->path, name);
    snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s')\"", path);
    CHECK_INT(0, system(command)); // NOLINT(cert-env33-c)
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0 && chmod(path, mode) == 0);
}

static struct home make_home(void)
{
    char here[PATH_MAX - 32];
    struct home home = {.kept = getenv("HOME") == NULL ? NULL : strdup(getenv("HOME"))};
    CHECK(getcwd(here, sizeof here) != NULL);
    snprintf(home.path, sizeof home.path, "%s/sma-home-XXXXXX", here);
    CHECK(mkdtemp(home.path) != NULL);
    setenv("HOME", home.path, 1);
    return home;
}

static void remove_home(struct home *home)
{
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -r '%s'", home->path);
    CHECK_INT(0, system(command)); // NOLINT(cert-env33-c)
    if (home->kept != NULL)
        setenv("HOME", home->kept, 1);
    free(home->kept);
}

/* No list of names decides: no program's keys are there, nor another bot's. */
static void nothing_of_home_is_there(void)
{
    static const char *const names[] = {".config/Signal/key",
                                        ".ollama/id_ed25519",
                                        ".fly/config.yml",
                                        ".config/sops/age/keys.txt",
                                        ".pulumi/credentials.json",
                                        ".config/Code/User/globalStorage/state.vscdb",
                                        "wallet.dat",
                                        ".what-comes-next-year/token",
                                        "other-bot/.env",
                                        "other-bot/.ship/api-token"};
    struct home home = make_home();
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        put_in_home(&home, names[i], "a-secret-of-home\n", 0644);
    struct world *world = world_create(REQUIRE);
    char command[2 * PATH_MAX];
    CHECK_TEXT("", world_member(world, world_do(world, "grep -rs a-secret-of ~; find ~ -type f"),
                                "stdout"));
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        snprintf(command, sizeof command, "cat '%s/%s'", home.path, names[i]);
        CHECK_TEXT("", world_member(world, world_do(world, command), "stdout"));
    }
    /* it is a place of the command's own, which ends with it */
    CHECK_TEXT("kept", world_member(world, world_do(world, "echo kept > ~/x; cat ~/x"), "stdout"));
    CHECK_TEXT("", world_member(world, world_do(world, "cat ~/x 2>/dev/null"), "stdout"));
    snprintf(command, sizeof command, "%s/x", home.path);
    CHECK(access(command, F_OK) != 0);
    world_destroy(world);
    remove_home(&home);
}

/* The root holds what a table names, and the way to the project and to HOME. */
static void only_what_is_named_is_in_the_root(void)
{
    static const char *const known[] = {"bin",   "dev",    "etc", "gnu",  "lib", "lib32",
                                        "lib64", "libx32", "nix", "proc", "run", "sbin",
                                        "sys",   "tmp",    "usr", "var"};
    struct world *world = world_create(REQUIRE);
    char out[2048], *rest = NULL, top[PATH_MAX];
    const char *home = getenv("HOME");
    snprintf(out, sizeof out, "%s", world_member(world, world_do(world, "ls -A /"), "stdout"));
    CHECK(strstr(out, "usr") != NULL);
    for (char *name = strtok_r(out, "\n", &rest); name != NULL;
         name = strtok_r(NULL, "\n", &rest)) {
        bool is_known = false;
        for (size_t i = 0; i < SMA_COUNT_OF(known) && !is_known; i++)
            is_known = strcmp(known[i], name) == 0;
        snprintf(top, sizeof top, "/%s", name);
        is_known = is_known || sma_sandbox_is_inside(world_dir(world), top) ||
                   (home != NULL && sma_sandbox_is_inside(home, top));
        if (!is_known)
            fprintf(stderr, "/%s is there\n", name);
        CHECK(is_known);
    }
    CHECK_TEXT("", world_member(world,
                                world_do(world, "ls -A /opt /srv /mnt /media /boot /home/* 2>&1 | "
                                                "grep -v 'No such file'; ls -A /var/lib | grep -vx "
                                                "-e dpkg -e ghc -e texmf; "
                                                "mkdir /new 2>/dev/null; echo x 2>/dev/null > /y; "
                                                "ls -d /new /y 2>/dev/null"),
                                "stdout"));
    /* what only root and some groups read is not for commands of a service that is root */
    CHECK_TEXT("", world_member(world,
                                world_do(world, "find /etc -type f ! -perm -004; cat /etc/shadow "
                                                "/etc/gshadow; find /etc -type d ! -perm -005 "
                                                "-exec ls -A {} +"),
                                "stdout"));
    world_destroy(world);
}

static void what_the_owner_names_is_there(void)
{
    struct home home = make_home();
    char permissions[2 * PATH_MAX];
    put_in_home(&home, "sdk/bin/tool", "#!/bin/sh\necho tooled\n", 0755);
    put_in_home(&home, "other/file", "canary\n", 0644);
    put_in_home(&home, ".local/share/app/lib", "shown\n", 0644);
    put_in_home(&home, ".local/share/keyrings/login", "canary\n", 0644);
    put_in_home(&home, "sdk/.env", "canary\n", 0644); /* keys beside a program are not meant */
    put_in_home(&home, "sdk/conf/id_rsa", "canary\n", 0644);
    put_in_home(&home, "sdk/bot/.ship/state.db", "canary\n", 0644);
    put_in_home(&home, ".local/src/.git/config", "\turl = https://canary@h/r\n", 0644);
    put_in_home(&home, "kept/tls.key", "named\n", 0644); /* but where it is named itself */
    snprintf(permissions, sizeof permissions,
             "{\"exec_shell\":{\"sandbox\":\"require\",\"paths\":[\"%s/sdk/\",\"~/.local\","
             "\"~/kept/tls.key\",\"/no/such/place\"]}}",
             home.path);
    struct world *world = world_create(permissions);
    CHECK_TEXT("tooled\nshown\nnamed",
               world_member(world,
                            world_do(world, "~/sdk/bin/tool; cat ~/.local/share/app/lib; "
                                            "cat ~/kept/tls.key; "
                                            "grep -rs canary ~; echo x 2>/dev/null > ~/sdk/new"),
                            "stdout"));
    snprintf(permissions, sizeof permissions, "%s/sdk/new", home.path);
    CHECK(access(permissions, F_OK) != 0);
    world_destroy(world);
    remove_home(&home);
}

/* Under root a command could read what only root may. */
static void private_files_beside_programs_are_hidden(void)
{
    char folder[] = "/usr/local/sma-XXXXXX", path[64], command[256];
    if (geteuid() != 0 || mkdtemp(folder) == NULL)
        return;
    CHECK(chmod(folder, 0755) == 0);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, i == 0 ? "private" : "public");
        FILE *file = fopen(path, "w");
        CHECK(file != NULL && fputs(i == 0 ? "canary\n" : "shown\n", file) >= 0);
        CHECK(fclose(file) == 0 && chmod(path, i == 0 ? 0640 : 0644) == 0);
    }
    struct world *world = world_create("{\"exec_shell\":{\"sandbox\":\"require\"}}");
    snprintf(command, sizeof command, "cat %s/public %s/private; : > /var/lock/x && echo locked",
             folder, folder);
    for (int i = 0; i < 2; i++) { /* also one that comes after the first look */
        const struct world_record *record = world_do(world, command);
        CHECK(strstr(record->content, "canary") == NULL);
        CHECK_TEXT("shown\nlocked", world_member(world, record, "stdout"));
        snprintf(path, sizeof path, "%s/private", folder);
        CHECK(unlink(path) == 0);
        FILE *file = i == 0 ? fopen(path, "w") : NULL;
        if (file != NULL)
            CHECK(fputs("canary\n", file) >= 0 && fclose(file) == 0 && chmod(path, 0600) == 0);
    }
    world_destroy(world);
    snprintf(path, sizeof path, "%s/public", folder);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
}

static void paths_that_are_none_are_refused(void)
{
    static const char *const wrong[] = {
        "\"/\"",        "\"//\"",        "\"bin\"",     "\"\"",
        "\"/a/../b\"",  "\"/a/..\"",     "7",           "\"~ann/x\"",
        "\"/tmp\"",     "\"/run/\"",     "\"/proc\"",   "\"/sys\"",
        "\"/./\"",      "\"/tmp/./\"",   "\"//run/.\"", "\"/proc/self/root\"",
        "\"/var/run\"", "\"/dev/null\"", "\"~\"",       "\"~/.\""};
    SMA_AUTO(sma_exec_options_fini) struct sma_exec_options options;
    struct sma_error error;
    char text[256];
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++) {
        snprintf(text, sizeof text, "{\"exec_shell\":{\"paths\":[\"/opt/x\",%s]}}", wrong[i]);
        enum sma_err err = sma_exec_options_parse(text, NULL, &options, &error);
        if (err != SMA_ERR_BADINPUT)
            fprintf(stderr, "%s is taken\n", wrong[i]);
        CHECK_INT(SMA_ERR_BADINPUT, err);
        CHECK(strstr(error.text, "permissions.exec_shell.paths[1]") != NULL);
    }
    CHECK_INT(SMA_ERR_BADINPUT, sma_exec_options_parse("{\"exec_shell\":{\"paths\":\"/opt\"}}",
                                                       NULL, &options, &error));
    CHECK_OK(sma_exec_options_parse("{\"exec_shell\":{\"paths\":[\"/opt/x/\",\"~/y\"]}}", NULL,
                                    &options, &error));
    CHECK_TEXT("/opt/x", options.paths[0]);
    CHECK(options.path_count == 2 && options.paths[1][0] == '/');
}

/* A command could put a link to any folder in its place: the next one would be shown that. */
static void paths_of_the_project_are_refused(void)
{
    struct home home = make_home();
    char project[PATH_MAX + 16], path[PATH_MAX + 64], text[2 * PATH_MAX];
    put_in_home(&home, "project/vendor/lib", "mine\n", 0644);
    put_in_home(&home, "other/key", "canary\n", 0644);
    put_in_home(&home, "sdk/lib", "shown\n", 0644);
    snprintf(project, sizeof project, "%s/project", home.path);
    static const struct
    {
        const char *link, *target, *named, *why;
    } rows[] = {{NULL, NULL, "project/vendor", "in the project"},
                {NULL, NULL, "project", "in the project"},
                {NULL, NULL, "project/later", "in the project"},
                {"to-vendor", "project/vendor", "to-vendor", "in the project"},
                {"project/away", "../other", "project/away", "in the project"},
                {"through", "project/away", "through", "link in the project"},
                {"twice", "through", "twice/key", "link in the project"},
                {"root", "/", "root", "the whole machine"},
                {"above", "..", "above", "HOME"},
                {"to-sdk", "sdk", "to-sdk", NULL},
                {NULL, NULL, "./sdk//", NULL},
                {NULL, NULL, "projects", NULL}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_exec_options options;
        struct sma_error error = {.code = SMA_ERR_OK};
        snprintf(path, sizeof path, "%s/%s", home.path, rows[i].link == NULL ? "" : rows[i].link);
        CHECK(rows[i].link == NULL || symlink(rows[i].target, path) == 0);
        snprintf(text, sizeof text, "{\"exec_shell\":{\"paths\":[\"~/%s\"]}}", rows[i].named);
        enum sma_err err = sma_exec_options_parse(text, project, &options, &error);
        if (rows[i].why == NULL) {
            CHECK_OK(err);
            sma_exec_options_fini(&options);
            continue;
        }
        CHECK_INT(SMA_ERR_BADINPUT, err);
        if (strstr(error.text, rows[i].why) == NULL)
            fprintf(stderr, "%s: %s\n", rows[i].named, error.text);
        CHECK(strstr(error.text, rows[i].named) != NULL && strstr(error.text, rows[i].why) != NULL);
    }
    remove_home(&home);
}

/* Commits bear the owner's name; what else his settings name (helpers, keys) is not there. */
static void git_knows_the_person_alone(void)
{
    struct home home = make_home();
    put_in_home(&home, ".gitconfig",
                "[user]\n\tname = Ann Owner\n\temail = ann@example.org\n\tsigningkey = canary\n"
                "[credential]\n\thelper = store --file ~/canary\n[user \"x\"]\n\tname = canary\n"
                "[Init]\n\tdefaultBranch = trunk\n[core]\n\tfsmonitor = canary\n",
                0644);
    struct world *world = world_create(REQUIRE);
    const struct world_record *record = world_do(
        world, "git init -q . && git commit -q --allow-empty -m one && git log "
               "--format='%an <%ae> %D'; grep -c canary ~/.gitconfig; git config --list | grep "
               "-c canary; git -c user.name=x config --get user.name; git config user.name Local; "
               "git config --get user.name");
    CHECK_TEXT("Ann Owner <ann@example.org> HEAD -> trunk\n0\n0\nx\nLocal",
               world_member(world, record, "stdout"));
    world_destroy(world);
    remove_home(&home);
}

/* Else "not found" is a riddle: it is there in every other terminal. */
static void a_program_that_is_hidden_is_told(void)
{
    struct home home = make_home();
    char path[3 * PATH_MAX], *kept = strdup(getenv("PATH")), sign[2 * PATH_MAX];
    put_in_home(&home, ".nvm/v20/bin/sma-node", "#!/bin/sh\necho ran\n", 0755);
    put_in_home(&home, "private/sma-other", "#!/bin/sh\necho ran\n", 0755);
    snprintf(path, sizeof path, "%s/.nvm/v20/bin:%s", home.path, kept);
    setenv("PATH", path, 1);
    struct world *world = world_create(REQUIRE);
    snprintf(sign, sizeof sign, "sma-node lies in %s/.nvm/v20, which commands", home.path);
    static const char *const commands[] = {
        "sma-node", "env sma-node", "bash -c sma-node", "~/.nvm/v20/bin/sma-node",
        "printf '#!/usr/bin/env sma-node\\n' > s; chmod +x s; ./s"};
    for (size_t i = 0; i < SMA_COUNT_OF(commands); i++) {
        const struct world_record *record = world_do(world, commands[i]);
        const char *note = world_member(world, record, "note");
        if (strstr(note, sign) == NULL)
            fprintf(stderr, "%s: %s\n", commands[i], record->content);
        CHECK(strstr(note, sign) != NULL && strstr(note, "permissions.exec_shell.paths") != NULL);
    }
    CHECK(world_has_logged(world, "permissions.exec_shell.paths of ship.json shows it"));
    /* which files lie in folders of nobody's PATH is not told */
    CHECK_TEXT("", world_member(world, world_do(world, "~/private/sma-other"), "note"));
    CHECK_TEXT("", world_member(world, world_do(world, "sma-nothing-at-all"), "note"));
    world_destroy(world);
    snprintf(path, sizeof path,
             "{\"exec_shell\":{\"sandbox\":\"require\",\"paths\":[\"~/.nvm\"]}}");
    world = world_create(path);
    CHECK_TEXT("ran", world_member(world, world_do(world, "sma-node"), "stdout"));
    world_destroy(world);
    setenv("PATH", kept, 1);
    free(kept);
    remove_home(&home);
}

/* What the folders of the system are for. */
static void names_zones_and_authorities_are_there(void)
{
    struct world *world = world_create(ONLINE);
    const struct world_record *record = world_do(
        world, "test -e /etc/resolv.conf && test -x /bin/sh && test -e /etc/alternatives && "
               "test -d /usr/share/zoneinfo && cat /etc/passwd | grep -c root: && "
               "nproc | grep -c '^[1-9]' && getent hosts localhost | wc -l && "
               "LC_ALL=C.UTF-8 locale charmap && "
               "{ [ ! -d /etc/ssl/certs ] || ls -L /etc/ssl/certs | wc -l | grep -c '^[1-9]'; } && "
               "cc -x c -o p - <<'E' && ./p\nint main(void) { return 0; }\nE\n");
    CHECK(!record->is_error);
    CHECK(strstr(world_member(world, record, "stdout"), "UTF-8") != NULL);
    world_destroy(world);
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
    RUN(nothing_of_the_machine_opens_for_writing);
#if !defined(__SANITIZE_THREAD__) /* it has no threads after a fork */
    RUN(a_hole_is_found_before_the_first_command);
#else
    (void)a_hole_is_found_before_the_first_command;
    (void)as_user;
#endif
    RUN(nothing_of_home_is_there);
    RUN(only_what_is_named_is_in_the_root);
    RUN(what_the_owner_names_is_there);
    RUN(private_files_beside_programs_are_hidden);
    RUN(paths_that_are_none_are_refused);
    RUN(paths_of_the_project_are_refused);
    RUN(git_knows_the_person_alone);
    RUN(a_program_that_is_hidden_is_told);
    RUN(names_zones_and_authorities_are_there);
    return check_summary();
}
