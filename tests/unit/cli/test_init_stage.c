/*
 * Aim: a project appears whole or not at all, whatever cannot be moved into place, and what was
 *   there before is there again.
 * Method: folders of the test's own; one of the files that are to be moved is taken away, each in
 *   its turn.
 */
#include "cli/init_stage.h"
#include "support/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char parent[] = "/tmp/sma-stage-XXXXXX";
static char project[64];
static struct sma_error error;
static const char *const files[] = {".env", ".ship/a", "Agent.md", "ship.json"};

static const char *at(const char *folder, const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void expect_text(const char *name, const char *text)
{
    char line[64] = "";
    FILE *file = fopen(at(project, name), "r");
    if (file != NULL) {
        CHECK(fgets(line, sizeof line, file) != NULL);
        fclose(file);
    }
    CHECK_TEXT(text, line);
}

static size_t count_entries(const char *path)
{
    size_t count = 0;
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 2;
}

static void add_all(struct init_stage *stage)
{
    CHECK_INT(SMA_ERR_OK, init_stage_add_folder(stage, ".ship", &error));
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++)
        CHECK_INT(SMA_ERR_OK, init_stage_add_file(stage, files[i], SMA_STR("new"),
                                                  i == 0 ? 0600 : 0644, &error));
}

static void remove_all(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", project);
    CHECK_INT(0, system(command)); /* NOLINT: a path of our own */
}

CASE(a_new_folder_comes_with_one_rename)
{
    struct init_stage stage;
    struct stat status;
    char deep[128];
    snprintf(deep, sizeof deep, "%s/b/c//", project);
    CHECK_INT(SMA_ERR_OK, init_stage_begin(&stage, deep, &error));
    add_all(&stage);
    CHECK(stat(project, &status) != 0); /* not before the commit */
    CHECK_INT(SMA_ERR_OK, init_stage_commit(&stage, &error));
    init_stage_end(&stage);
    expect_text("b/c/ship.json", "new");
    CHECK(stat(at(project, "b/c/.env"), &status) == 0 && (status.st_mode & 0777) == 0600);
    CHECK_INT(1, count_entries(parent));
    remove_all();
}

CASE(what_is_not_committed_leaves_nothing)
{
    struct init_stage stage;
    for (int is_there = 0; is_there < 2; is_there++) {
        if (is_there)
            CHECK_INT(0, mkdir(project, 0755));
        CHECK_INT(SMA_ERR_OK, init_stage_begin(&stage, project, &error));
        add_all(&stage);
        init_stage_end(&stage);
        CHECK_INT(is_there, count_entries(parent));
    }
    CHECK_INT(0, count_entries(project));
    remove_all();
}

/* missing: the file that cannot be moved, so that all before it are taken back. */
static void fail_at(size_t missing, bool has_folder)
{
    struct init_stage stage;
    CHECK_INT(0, mkdir(project, 0755));
    write_file(at(project, ".env"), "old");
    write_file(at(project, "ship.json"), "old");
    if (has_folder) {
        CHECK_INT(0, mkdir(at(project, ".ship"), 0700));
        write_file(at(project, ".ship/state.db"), "old");
    }
    CHECK_INT(SMA_ERR_OK, init_stage_begin(&stage, project, &error));
    add_all(&stage);
    CHECK_INT(0, unlink(at(stage.root, files[missing])));
    CHECK_INT(SMA_ERR_IO, init_stage_commit(&stage, &error));
    init_stage_end(&stage);
    expect_text(".env", "old");
    expect_text("ship.json", "old");
    expect_text("Agent.md", "");
    if (has_folder)
        expect_text(".ship/state.db", "old");
    CHECK_INT(has_folder ? 3 : 2, count_entries(project));
    remove_all();
}

CASE(a_failed_commit_puts_back_what_was_there)
{
    for (size_t missing = 0; missing < SMA_COUNT_OF(files); missing++) {
        fail_at(missing, false);
        fail_at(missing, true);
    }
}

CASE(files_of_others_are_kept)
{
    struct init_stage stage;
    CHECK_INT(0, mkdir(project, 0755));
    CHECK_INT(0, mkdir(at(project, ".ship"), 0700));
    write_file(at(project, ".ship/state.db"), "old");
    write_file(at(project, "main.c"), "old");
    write_file(at(project, "ship.json"), "old");
    CHECK_INT(SMA_ERR_OK, init_stage_begin(&stage, project, &error));
    add_all(&stage);
    CHECK_INT(SMA_ERR_OK, init_stage_commit(&stage, &error));
    init_stage_end(&stage);
    expect_text(".ship/state.db", "old");
    expect_text(".ship/a", "new");
    expect_text("main.c", "old");
    expect_text("ship.json", "new");
    CHECK_INT(5, count_entries(project));
    remove_all();
}

CASE(a_folder_is_never_replaced)
{
    struct init_stage stage;
    CHECK_INT(0, mkdir(project, 0755));
    CHECK_INT(0, mkdir(at(project, "ship.json"), 0755));
    write_file(at(project, "ship.json/mine"), "old");
    CHECK_INT(SMA_ERR_OK, init_stage_begin(&stage, project, &error));
    add_all(&stage);
    CHECK_INT(SMA_ERR_IO, init_stage_commit(&stage, &error));
    init_stage_end(&stage);
    expect_text("ship.json/mine", "old");
    CHECK_INT(1, count_entries(project));
    remove_all();
}

/* The signals that end a program wait while there is something to take back. */
CASE(signals_wait_for_the_end)
{
    struct init_stage stage;
    sigset_t pending;
    CHECK_INT(SMA_ERR_OK, init_stage_begin(&stage, project, &error));
    signal(SIGINT, SIG_DFL);
    raise(SIGINT); /* would end us */
    CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGINT) == 1);
    signal(SIGINT, SIG_IGN); /* takes it away */
    init_stage_end(&stage);
    signal(SIGINT, SIG_DFL);
    CHECK_INT(0, count_entries(parent));
}

/* What somebody has put into his folder leads root nowhere that he could not go himself. */
CASE(root_in_somebodys_folder_is_that_somebody)
{
    struct init_stage stage;
    struct stat status;
    if (geteuid() != 0)
        return; /* only root has the question */
    CHECK_INT(0, chmod(parent, 0755));
    CHECK_INT(0, mkdir(project, 0755));
    CHECK_INT(0, chown(project, 65534, 65534));
    for (int is_new = 0; is_new < 2; is_new++) {
        CHECK_INT(SMA_ERR_OK,
                  init_stage_begin(&stage, is_new ? at(project, "new") : project, &error));
        CHECK_INT(65534, geteuid());
        add_all(&stage);
        CHECK_INT(SMA_ERR_OK, init_stage_commit(&stage, &error));
        init_stage_end(&stage);
        CHECK_INT(0, geteuid());
        CHECK_INT(0, getegid());
        CHECK(stat(at(project, is_new ? "new/.env" : ".env"), &status) == 0 &&
              status.st_uid == 65534);
    }
    remove_all();
}

int main(void)
{
    CHECK(mkdtemp(parent) != NULL);
    snprintf(project, sizeof project, "%s/project", parent);
    check_run_cases(NULL);
    CHECK_INT(0, rmdir(parent));
    return 0;
}
