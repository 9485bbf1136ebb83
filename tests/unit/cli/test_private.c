/*
 * Aim: other users of the machine cannot look into .ship, whatever the umask is and whatever an
 * older version left.
 * Method: folders of the test's own, with the widest umask; the modes are read.
 */
#include "cli/private.h"
#include "sma/sys.h"
#include "support/check.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/sma-private-XXXXXX";
static char state[64], warnings[4096];

static void collect(void *user, const char *line)
{
    (void)user;
    size_t len = strlen(warnings);
    snprintf(warnings + len, sizeof warnings - len, "%s\n", line);
}

static const char *at(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static unsigned mode_of(const char *name)
{
    struct stat facts;
    CHECK_INT(0, stat(at(name), &facts));
    return (unsigned)facts.st_mode & 0777;
}

static void write_file(const char *name, mode_t mode)
{
    FILE *file = fopen(at(name), "w");
    CHECK(file != NULL && fputs("x", file) >= 0 && fclose(file) == 0);
    CHECK_INT(0, chmod(at(name), mode));
}

static void close_it(void)
{
    struct sma_config config = {.project_dir = dir, .state_dir = state};
    warnings[0] = '\0';
    sma_private_close(&config, collect, NULL);
}

CASE(folders_are_made_for_us_alone)
{
    umask(0);
    snprintf(state, sizeof state, "%s/.ship", dir);
    char path[128];
    snprintf(path, sizeof path, "%s/logs/exec", state);
    CHECK_OK(sma_sys_make_dirs(sma_sys_real(), path, NULL));
    CHECK_INT(0700, mode_of(".ship"));
    CHECK_INT(0700, mode_of(".ship/logs"));
    CHECK_INT(0700, mode_of(".ship/logs/exec"));
    close_it();
    CHECK_TEXT("", warnings);
}

CASE(an_old_project_is_closed_at_its_start)
{
    write_file("outside", 0644);
    write_file("Agent.md", 0644);
    write_file(".ship/state.db", 0644);
    CHECK_INT(0, mkdir(at(".ship/chats"), 0755));
    CHECK_INT(0, chmod(at(".ship"), 0755));
    char link[128];
    snprintf(link, sizeof link, "%s/link", state);
    CHECK_INT(0, symlink("../outside", link));
    close_it();
    CHECK_INT(0700, mode_of(".ship"));
    CHECK_INT(0700, mode_of(".ship/chats"));
    CHECK_INT(0600, mode_of(".ship/state.db"));
    CHECK_INT(0644, mode_of("outside")); /* what a link leads to is not ours to judge */
    CHECK_INT(0644, mode_of("Agent.md"));
    CHECK(strstr(warnings, "was open to other users") != NULL && strstr(warnings, state) != NULL);
    close_it();
    CHECK_TEXT("", warnings); /* said once */
}

CASE(an_open_env_file_is_told)
{
    write_file(".env", 0640);
    close_it();
    CHECK(strstr(warnings, "/.env can be read by other users") != NULL);
    CHECK(strstr(warnings, "chmod 600") != NULL);
    CHECK_INT(0640, mode_of(".env"));
    CHECK_INT(0, chmod(at(".env"), 0600));
    close_it();
    CHECK_TEXT("", warnings);
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    check_run_cases(NULL);
    static const char *const names[] = {".ship/link",  ".ship/state.db",
                                        ".ship/chats", ".ship/logs/exec",
                                        ".ship/logs",  ".ship",
                                        "outside",     "Agent.md",
                                        ".env",        ""};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        CHECK_INT(0, remove(at(names[i])));
    return check_summary();
}
