/* init_check.c — would `start` take it? Asked before the files are moved into place; and whether
 * commands can be walled in here. */
#include "init.h"

#include "adapters.h"
#include "cli.h"
#include "runtime/access/roles.h"
#include "runtime/exec/sandbox.h"

#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- what start would say ---------------------------------------------------------------------- */
/* The folder of the moment is nobody's concern. */
static const char *without_folder(const char *line)
{
    const char *at = strstr(line, "/ship.json: ");
    return at == NULL ? line : at + 1;
}

static void warn(void *user, const char *line)
{
    (void)user;
    fprintf(stderr, "shipmyagent: %s\n", without_folder(line));
}

/* A key that is to be put into .env later is no mistake. */
static void fill_in(const struct init_answers *answers)
{
    (void)setenv("LLM_MODEL", "later", 0); /* without memory the load fails, too */
    (void)setenv("LLM_BASE_URL", "http://127.0.0.1", 0);
    if (answers->model.variable[0] != '\0')
        (void)setenv(answers->model.variable, "later", 0);
}

/* In a process of its own: loading puts .env into the environment. */
static int load(const char *root, const struct init_answers *answers)
{
    struct sma_config_overrides overrides = {.platforms = sma_cli_platforms()};
    struct sma_access_roles *roles = NULL;
    struct sma_config *config = NULL;
    struct sma_error error;
    fill_in(answers);
    enum sma_err err = sma_config_load(root, &overrides, warn, NULL, &config, &error);
    if (err == SMA_ERR_OK)
        err = sma_access_roles_parse(sma_str(config->permissions_json), &roles, &error);
    sma_access_roles_destroy(roles);
    sma_config_destroy(config);
    return err == SMA_ERR_OK
               ? 0
               : sma_cli_fail("init: %s; nothing was written", without_folder(error.text));
}

int init_check_start(const char *root, const struct init_answers *answers)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int status = load(root, answers);
        fflush(stderr);
        _exit(status);
    }
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status)
                                            : sma_cli_fail("init: cannot look at what was made");
}

/* -- walls ------------------------------------------------------------------------------------- */
static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    (void)remove(path); /* the others all the same */
    return 0;
}

static bool try_in(const char *dir)
{
    char state[64];
    struct sma_sandbox sandbox;
    struct sma_error error;
    snprintf(state, sizeof state, "%s/.ship", dir);
    const struct sma_config config = {.project_dir = dir, .state_dir = state};
    const struct sma_exec_options options = {.is_possible = true, .memory_mb = 512};
    return mkdir(state, 0700) == 0 &&
           sma_sandbox_find(&config, &options, &sandbox, &error) == SMA_ERR_OK && sandbox.is_on;
}

bool init_has_sandbox(void)
{
    char dir[] = "/tmp/shipmyagent-XXXXXX";
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &all, &before); /* the folder must not stay */
    bool is_on = false;
    if (mkdtemp(dir) != NULL) {
        is_on = try_in(dir);
        (void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_on;
}
