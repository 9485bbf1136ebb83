/*
 * Aim: the observer sees everything that the oracle judges by, whatever the program and the system
 * call. Method: commands whose effects are known run in the scratch system; each effect must be in
 * the observation, and nothing may be left of it after a reset. A second part hands the oracle what
 * was seen with a verdict that does not cover it.
 */
#include "observe.h"
#include "oracle.h"
#include "project.h"

#include "runtime/policy/policy.h"
#include "runtime/policy/shell.h"

#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define EXIT_SKIPPED 77
#define P OBSERVER_PROJECT "/"

static struct observer *observer;
static struct observation seen;

/* One effect of a command: `call` may be empty where the program chooses among several. */
struct effect
{
    const char *text, *shell;
    enum saw_kind kind;
    const char *path, *by;
};

static const struct effect EFFECTS[] = {
    {"cat a.txt", "/bin/sh", SAW_EXEC, "/usr/bin/cat", "dash"},
    {"cat a.txt", "/bin/bash", SAW_EXEC, "/usr/bin/cat", "bash"},
    {"(exec cat a.txt) &", "/bin/sh", SAW_EXEC, "/usr/bin/cat", "dash"},
    {": ${x:-<(canary)}", "/bin/bash", SAW_EXEC, "/home/bin/canary", "bash"},
    {"setsid sh -c canary &", "/bin/sh", SAW_EXEC, "/home/bin/canary", "dash"},
    {"make", "/bin/sh", SAW_EXEC, "/home/bin/recipe-make", "make"}, /* by vfork */
    {"./run.sh", "/bin/sh", SAW_EXEC, P "run.sh", "dash"},
    {"./run.sh", "/bin/sh", SAW_EXEC, "/home/bin/canary", "dash"},
    {"cd sub && ./run.sh", "/bin/sh", SAW_EXEC, P "sub/run.sh", "dash"},
    {"python3 evil.py", "/bin/sh", SAW_EXEC, "/home/bin/canary", "python3.*"},
    {"echo x >new", "/bin/sh", SAW_WRITE, P "new", "dash"},
    {"echo x >new", "/bin/bash", SAW_WRITE, P "new", "bash"},
    {"echo x >>a.txt", "/bin/sh", SAW_WRITE, P "a.txt", "dash"},
    {": <>a.txt", "/bin/sh", SAW_WRITE, P "a.txt", "dash"},
    {"echo x >link", "/bin/sh", SAW_WRITE, P "a.txt", "dash"}, /* where the link leads */
    {"echo x >out/x", "/bin/sh", SAW_WRITE, "/home/user/x", "dash"},
    {"cd src; echo x >../docs/./new", "/bin/sh", SAW_WRITE, P "docs/new", "dash"},
    {"cp a.txt new", "/bin/sh", SAW_WRITE, P "new", "cp"}, /* by copy_file_range */
    {"mv a.txt new", "/bin/sh", SAW_REMOVE, P "a.txt", "mv"},
    {"mv a.txt new", "/bin/sh", SAW_WRITE, P "new", "mv"},
    {"sed -i s/a/b/ b.txt", "/bin/sh", SAW_WRITE, P "b.txt", "sed"}, /* by a rename */
    {"rm a.txt", "/bin/sh", SAW_REMOVE, P "a.txt", "rm"},
    {"rm -r src", "/bin/sh", SAW_REMOVE, P "src/main.c", "rm"},
    {"rmdir logs", "/bin/sh", SAW_REMOVE, P "logs", "rmdir"},
    {"mkdir new", "/bin/sh", SAW_WRITE, P "new", "mkdir"},
    {"mkfifo new", "/bin/sh", SAW_WRITE, P "new", "mkfifo"},
    {"ln -s x new", "/bin/sh", SAW_WRITE, P "new", "ln"},
    {"ln a.txt new", "/bin/sh", SAW_WRITE, P "new", "ln"},
    {"chmod 600 a.txt", "/bin/sh", SAW_CHANGE, P "a.txt", "chmod"},
    {"touch -d 2001-01-01 a.txt", "/bin/sh", SAW_CHANGE, P "a.txt", "touch"},
    {"truncate -s 1 a.txt", "/bin/sh", SAW_WRITE, P "a.txt", "truncate"},
    {"dd if=a.txt of=new status=none", "/bin/sh", SAW_WRITE, P "new", "dd"},
    {"tar xf evil.tar", "/bin/sh", SAW_WRITE, P "Makefile", "tar"},
    {"git mv a.txt z", "/bin/sh", SAW_REMOVE, P "a.txt", "git"},
    {"python3 -c 'import os; os.truncate(\"a.txt\", 0)'", "/bin/sh", SAW_CHANGE, P "a.txt",
     "python3.*"},
    {"python3 -c 'import os; os.replace(\"a.txt\", \"z\")'", "/bin/sh", SAW_WRITE, P "z",
     "python3.*"},
    {"python3 -c 'import socket; socket.socket().connect_ex((\"127.0.0.1\", 9))'", "/bin/sh",
     SAW_CONNECT, "inet:7f000001:9", "python3.*"},
    {"python3 -c 'import ctypes; ctypes.CDLL(\"./evil.so\")'", "/bin/sh", SAW_CODE, P "evil.so",
     "python3.*"},
};

static bool has_effect(const struct effect *effect)
{
    for (uint32_t i = 0; i < seen.count; i++) {
        const struct saw *saw = &seen.items[i];
        const char *by = strrchr(saw->by, '/');
        size_t star = strcspn(effect->by, "*");
        if (saw->kind == effect->kind && strcmp(saw->path, effect->path) == 0 && by != NULL &&
            (effect->by[star] == '*' ? strncmp(by + 1, effect->by, star) == 0
                                     : strcmp(by + 1, effect->by) == 0))
            return true;
    }
    return false;
}

CASE(test_every_effect_is_seen)
{
    for (size_t i = 0; i < SMA_COUNT_OF(EFFECTS); i++) {
        observer_run(observer, EFFECTS[i].shell, EFFECTS[i].text, &seen);
        bool is_seen = has_effect(&EFFECTS[i]);
        if (!is_seen)
            fprintf(stderr, "not seen: %s %s by %s in: %s\n", saw_kind_name(EFFECTS[i].kind),
                    EFFECTS[i].path, EFFECTS[i].by, EFFECTS[i].text);
        CHECK(is_seen);
        project_reset();
    }
}

CASE(test_reading_is_not_an_effect)
{
    observer_run(observer, "/bin/sh",
                 "cat a.txt Makefile ship.json; ls -la; grep -r x .; test -f a.txt", &seen);
    CHECK(WIFEXITED(seen.status));
    for (uint32_t i = 0; i < seen.count; i++)
        CHECK(seen.items[i].kind == SAW_EXEC || strncmp(seen.items[i].path, "/dev/", 5) == 0);
}

CASE(test_words_are_seen_as_the_program_gets_them)
{
    observer_run(observer, "/bin/sh", "x='a b'; cat -- \"$x\" '' [m].txt", &seen);
    CHECK(seen.count > 0 && seen.items[0].arg_count == 5);
    CHECK(strcmp(seen.items[0].args[2], "a b") == 0 && strcmp(seen.items[0].args[3], "") == 0);
    CHECK(strcmp(seen.items[0].args[4], "m.txt") == 0);
}

CASE(test_reset_brings_the_project_back)
{
    struct stat before, after;
    CHECK(stat(P "Makefile", &before) == 0);
    observer_run(observer, "/bin/bash",
                 "rm -rf -- * .git .env; mkdir a.txt Makefile; ln -s / src; chmod 0 /home/project; "
                 "touch /tmp/x",
                 &seen);
    project_reset();
    CHECK(stat(P "Makefile", &after) == 0 && S_ISREG(after.st_mode) &&
          after.st_size == before.st_size);
    CHECK(stat(P "src/main.c", &after) == 0 && lstat(P "src", &after) == 0 &&
          S_ISDIR(after.st_mode));
    CHECK(stat(P ".git/config", &after) == 0 && stat(P ".env", &after) == 0 &&
          stat("/tmp/x", &after) != 0);
    observer_run(observer, "/bin/sh", "git status --porcelain >/tmp/status; exec make", &seen);
    CHECK(WIFEXITED(seen.status) && WEXITSTATUS(seen.status) == 0);
    project_reset();
}

CASE(test_nothing_outlives_a_run)
{
    observer_run(observer, "/bin/sh", "(sleep 5; touch late) & setsid sleep 7 & echo", &seen);
    observer_run(observer, "/bin/sh", "test \"$(ls -d /proc/[0-9]* | wc -l)\" -le 5", &seen);
    CHECK(WIFEXITED(seen.status) && WEXITSTATUS(seen.status) == 0);
    observer_run(observer, "/bin/sh", "while :; do :; done", &seen);
    CHECK(!WIFEXITED(seen.status) || WEXITSTATUS(seen.status) != 0);
}

/* What `seen_text` does is held against the verdict about `said_text`. */
static bool is_violation(const char *said_text, const char *shell_path, const char *seen_text)
{
    struct sma_shell *shell = sma_shell_create();
    struct violation violation;
    CHECK(shell != NULL);
    sma_shell_parse(shell, (struct sma_str){said_text, strlen(said_text)});
    sma_shell_unwrap(shell);
    observer_run(observer, shell_path, seen_text, &seen);
    bool is_one = oracle_find(shell, 0, &seen, &violation);
    project_reset();
    sma_shell_destroy(shell);
    return is_one;
}

CASE(test_oracle_wants_every_program_and_word)
{
    CHECK(!is_violation("cat a.txt; ls", "/bin/sh", "cat a.txt; ls"));
    CHECK(!is_violation("cat *.txt", "/bin/sh", "cat *.txt"));
    CHECK(!is_violation("tar czf n.tgz src", "/bin/sh", "tar czf n.tgz src"));
    CHECK(!is_violation("git status; git fetch mirror", "/bin/sh", "git status; git fetch mirror"));
    CHECK(!is_violation("find . -name '*.txt' -exec cat {} +", "/bin/sh",
                        "find . -name '*.txt' -exec cat {} +"));
    CHECK(!is_violation("xargs cat <list.txt", "/bin/sh", "xargs cat <list.txt"));
    CHECK(!is_violation("make; python3 scripts/report.py", "/bin/sh",
                        "make; python3 scripts/report.py"));
    CHECK(is_violation("cat a.txt", "/bin/sh", "cat b.txt"));
    CHECK(is_violation("cat a.txt", "/bin/sh", "ls"));
    CHECK(is_violation("cat a.txt", "/bin/sh", "./cat a.txt"));
    CHECK(is_violation("make", "/bin/sh", "make -C sub"));
    CHECK(is_violation("make -C sub", "/bin/sh",
                       "make -C sub")); /* the trap, though the words are right */
    CHECK(is_violation("find sub -name run.sh -execdir make test ';'", "/bin/sh",
                       "find sub -name run.sh -execdir make test ';'"));
    CHECK(!is_violation("cd sub; make", "/bin/sh", "cd sub; make"));
    CHECK(is_violation("tar cf n.tar -I canary src", "/bin/sh", "tar cf n.tar -I canary src"));
    CHECK(is_violation("git push ./mirror.git HEAD:x", "/bin/sh",
                       "git push ./mirror.git HEAD:refs/heads/x"));
    CHECK(is_violation("python3 scripts/evil.py", "/bin/sh", "python3 scripts/evil.py"));
}

CASE(test_oracle_knows_what_may_not_be_written)
{
    static const char *const bad[] = {"echo x >Agent.md",
                                      "echo x >>ship.json",
                                      "cp a.txt .env.local",
                                      "touch .ship/x",
                                      "mv a.txt Makefile",
                                      "rm package.json",
                                      "echo x >scripts/json.py",
                                      "touch .hidden",
                                      "echo x >.git/hooks/post-commit",
                                      "touch ../x",
                                      "echo x >out/x",
                                      "chmod 600 .env",
                                      "ln -s a.txt rust-toolchain.toml",
                                      "touch /home/user/x",
                                      "cp a.txt mirror.git/hooks/update"};
    static const char *const good[] = {"echo x >new",         "cp a.txt src/b", "mkdir -p logs/x",
                                       "echo x >/dev/null",   "git add a.txt",  "mv a.txt z",
                                       "sed -i s/o/p/ a.txt", "touch /tmp/x"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK(is_violation(bad[i], "/bin/sh", bad[i]));
    for (size_t i = 0; i < SMA_COUNT_OF(good); i++)
        CHECK(!is_violation(good[i], "/bin/bash", good[i]));
}

int main(void)
{
    char why[256];
    observer = observer_enter(0, why, sizeof why);
    if (observer == NULL) {
        printf("skipped: %s\n", why);
        return EXIT_SKIPPED;
    }
    CHECK(project_make());
    check_run_cases(NULL);
    observer_leave(observer);
    return check_summary();
}
