/*
 * Aim: doctor tells what walls cannot help against (a service that is root, files with a second
 * name outside of the project) and what they keep out though it may be wanted (folders of PATH).
 * Method: the real binary, as root and as an ordinary user, on a project without network.
 *   scenario_doctor_walls BINARY
 */
#include "process.h"
#include "support/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_MS 60000
#define OFFLINE "\"llm\":{\"provider\":\"offline\",\"model\":\"x\"}"

static const char *binary;

/* What doctor says, as this user or as nobody; free it. */
static char *ask(const struct folder *folder, bool is_nobody)
{
    char *output = NULL;
    const char *const words[] = {"/usr/bin/setpriv", "--reuid=65534", "--regid=65534",
                                 "--clear-groups",   binary,          "doctor",
                                 folder->path,       "--offline",     NULL};
    int status =
        run_to_end((char *const *)(uintptr_t)(words + (is_nobody ? 0 : 4)), "", &output, RUN_MS);
    CHECK(status >= 0 && status <= 2);
    return output;
}

static void expect(const char *output, const char *part, bool is_there)
{
    if ((strstr(output, part) != NULL) != is_there)
        fprintf(stderr, "%s \"%s\" in:\n%s", is_there ? "no" : "there is", part, output);
    CHECK((strstr(output, part) != NULL) == is_there);
}

static void make_file(const char *path)
{
    CHECK_INT(0, close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755)));
}

CASE(a_service_that_is_root_is_warned_of)
{
    struct folder folder;
    folder_create(&folder, "{" OFFLINE "}");
    char *output = ask(&folder, false);
    expect(output, "the service runs as root", geteuid() == 0);
    free(output);
    if (geteuid() == 0) {
        char path[PATH_MAX + 16];
        const char *const names[] = {"", "/ship.json", "/Agent.md"};
        for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
            snprintf(path, sizeof path, "%s%s", folder.path, names[i]);
            CHECK_INT(0, chown(path, 65534, 65534));
        }
        output = ask(&folder, true);
        expect(output, "runs as root", false);
        free(output);
    }
    folder_remove(&folder);
}

/* One name in the project and one elsewhere; two that are both in the project harm nobody. */
CASE(files_with_a_second_name_outside_are_told)
{
    struct folder folder;
    char outside[PATH_MAX + 16], inner[PATH_MAX + 16], other[PATH_MAX + 16];
    folder_create(&folder, "{" OFFLINE "}");
    snprintf(outside, sizeof outside, "%s.elsewhere", folder.path);
    make_file(outside);
    snprintf(inner, sizeof inner, "%s/linked.txt", folder.path);
    CHECK_INT(0, link(outside, inner));
    snprintf(inner, sizeof inner, "%s/twice.txt", folder.path);
    snprintf(other, sizeof other, "%s/again.txt", folder.path);
    make_file(inner);
    CHECK_INT(0, link(inner, other));
    char *output = ask(&folder, false);
    expect(output, "1 file of the project has a second name outside of it", true);
    expect(output, "linked.txt", true);
    expect(output, "again.txt", false);
    free(output);
    CHECK_INT(0, unlink(outside));
    output = ask(&folder, false);
    expect(output, "hard links", false);
    free(output);
    folder_remove(&folder);
}

CASE(folders_that_commands_do_not_see_are_told)
{
    struct folder folder;
    char outside[PATH_MAX + 16], program[PATH_MAX + 32], path[2 * PATH_MAX], ship[2 * PATH_MAX];
    char *kept = strdup(getenv("PATH"));
    folder_create(&folder, "{" OFFLINE "}");
    snprintf(outside, sizeof outside, "%s.elsewhere", folder.path);
    snprintf(program, sizeof program, "%s/tool", outside);
    CHECK_INT(0, mkdir(outside, 0755));
    make_file(program);
    snprintf(path, sizeof path, "%s:%s", outside, kept);
    setenv("PATH", path, 1);
    char *output = ask(&folder, false);
    expect(output, outside, true);
    expect(output, "do not find what lies in", true);
    free(output);
    snprintf(ship, sizeof ship,
             "{" OFFLINE ",\"permissions\":{\"exec_shell\":{\"paths\":[\"%s\","
             "\"/no/such/sdk\"]}}}",
             outside);
    folder_write(&folder, "ship.json", ship);
    output = ask(&folder, false);
    expect(output, "/no/such/sdk is to be shown to commands, and is not there", true);
    expect(output, outside, false);
    free(output);
    setenv("PATH", kept, 1);
    free(kept);
    CHECK_INT(0, unlink(program));
    CHECK_INT(0, rmdir(outside));
    folder_remove(&folder);
}

/* The service shows a server the folder that its command names by its whole path: doctor, too. */
CASE(a_server_has_the_walls_of_the_service)
{
    struct folder folder;
    char here[PATH_MAX - 32], far[PATH_MAX], program[PATH_MAX + 32], entry[3 * PATH_MAX];
    CHECK(getcwd(here, sizeof here) != NULL);
    snprintf(far, sizeof far, "%s/sma-far-XXXXXX", here);
    CHECK(mkdtemp(far) != NULL);
    snprintf(program, sizeof program, "%s/srv-far", far);
    make_file(program);
    CHECK_INT(0, chmod(program, 0755));
    folder_create(&folder, "{" OFFLINE "}");
    snprintf(entry, sizeof entry, "%s/.ship", folder.path);
    CHECK(mkdir(entry, 0700) == 0 || errno == EEXIST);
    snprintf(entry, sizeof entry, "%s/.ship/mcp", folder.path);
    CHECK_INT(0, mkdir(entry, 0700));
    for (size_t i = 0; i < 2; i++) { /* by PATH it is not there */
        const char *command = i == 0 ? program : "srv-far";
        snprintf(entry, sizeof entry,
                 "{\"servers\":{\"far\":{\"type\":\"stdio\",\"command\":\"%s\",\"env\":{\"PATH\":"
                 "\"%s\"}}}}",
                 command, far);
        folder_write(&folder, ".ship/mcp/mcp.json", entry);
        char *output = ask(&folder, false);
        expect(output, "which is not there in the sandbox", i == 1);
        free(output);
    }
    CHECK_INT(0, unlink(program));
    CHECK_INT(0, rmdir(far));
    folder_remove(&folder);
}

CASES_MAIN_GIVEN(&binary)
