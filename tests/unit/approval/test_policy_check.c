/*
 * Aim: `shipmyagent policy check` says verdict, rule and program, answers by its exit status,
 * follows links and runs nothing.
 * Method: the real program on a project in a private folder.
 */
#include "support/check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/policy-check-XXXXXX";
static const char *program;
static char output[8192];

static int check(const char *const *words)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        dup2(ends[1], 1);
        dup2(ends[1], 2);
        close(ends[0]);
        close(ends[1]);
        execv(program, (char **)(uintptr_t)words);
        _exit(127);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t got; (got = read(ends[0], output + len, sizeof output - 1 - len)) > 0;)
        len += (size_t)got;
    output[len] = '\0';
    close(ends[0]);
    int status;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

#define POLICY(...) check((const char *const[]){"shipmyagent", "policy", __VA_ARGS__, NULL})

static bool begins(const char *text)
{
    return strncmp(output, text, strlen(text)) == 0;
}

static void write_file(const char *name, const char *text)
{
    int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

static void set_up(void)
{
    CHECK(mkdtemp(folder) != NULL && chdir(folder) == 0);
    write_file("Agent.md", "An agent.\n");
    write_file(
        "ship.json",
        "{\"permissions\":{\"exec_shell\":{\"deny\":[\"rm\"],\"allow\":[\"git status\",\"ls\"]},"
        "\"write_repo\":true}}");
    CHECK(symlink("/tmp", "outside") == 0 && symlink(".env", "innocent") == 0 &&
          mkdir("src", 0700) == 0);
    CHECK(symlink("src", "inside") == 0);
}

static void tear_down(void)
{
    static const char *const names[] = {"Agent.md", "ship.json", "outside", "innocent", "inside"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        CHECK(unlink(names[i]) == 0);
    CHECK(rmdir("src") == 0 && chdir("/") == 0 && rmdir(folder) == 0);
}

CASE(the_verdict_comes_first_and_as_the_status)
{
    CHECK_INT(0, POLICY("check", "--", "git status | ls"));
    CHECK(begins("allow\n") && strstr(output, "git status") != NULL);
    CHECK_INT(1, POLICY("check", "--", "git stash"));
    CHECK(begins("ask\n") && strstr(output, "git") != NULL);
    CHECK_INT(2, POLICY("check", "--", "ls; rm -rf src"));
    CHECK(begins("refuse\n") && strstr(output, "rm") != NULL);
    CHECK(access("src", F_OK) == 0);
    CHECK_INT(2, POLICY("check", folder, "--", "rm x"));
}

CASE(several_words_are_those_words)
{
    CHECK_INT(0, POLICY("check", "--", "ls", "a; rm b", "it's", "$(rm x)"));
    CHECK_INT(2, POLICY("check", "--", "rm", "-rf", "x"));
    CHECK_INT(2, POLICY("check", "--", "ls $(rm x)"));
}

CASE(links_are_followed)
{
    CHECK_INT(0, POLICY("check", "--", "ls > src/a"));
    CHECK_INT(0, POLICY("check", "--", "ls > ./a"));
    CHECK_INT(1, POLICY("check", "--", "ls > inside/a")); /* as write_file: through no link */
    CHECK_INT(0, POLICY("check", "--", "ls < inside/a"));
    CHECK_INT(1, POLICY("check", "--", "ls > outside/a"));
    CHECK_INT(1, POLICY("check", "--", "ls > innocent"));
    CHECK_INT(1, POLICY("check", "--", "ls > Agent.md"));
    CHECK(strstr(output, "only an owner may agree") != NULL);
    CHECK_INT(1, POLICY("check", "--", "cd inside && ls > ../outside/a"));
}

CASE(mistakes_have_a_status_of_their_own)
{
    CHECK_INT(3, POLICY("check"));
    CHECK_INT(3, POLICY("check", "--"));
    CHECK_INT(3, POLICY("chek", "--", "ls"));
    CHECK_INT(3, POLICY("check", "-x", "--", "ls"));
    CHECK_INT(3, POLICY("check", "/nowhere/at/all", "--", "ls"));
    CHECK(begins("shipmyagent: "));
    write_file("ship.json", "{\"permissions\":{\"exec_shell\":{\"allow\":[\"bash\"]}}}");
    CHECK_INT(3, POLICY("check", "--", "ls"));
    CHECK(strstr(output, "\"bash\" would allow any program") != NULL);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    program = argv[1];
    set_up();
    check_run_cases(NULL);
    tear_down();
    return check_summary();
}
