/*
 * init_service.c — the project as a service of systemd: the packaged unit for root, one of the
 * user's own for everybody else, so that nobody needs sudo.
 */
#include "init.h"

#include "cli.h"
#include "sma/buf.h"
#include "sma/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static bool is_root(void)
{
    return geteuid() == 0;
}

/* Run a program to its end. @return its exit status, -1: it cannot be run */
static int run(bool is_quiet, const char *const *words)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    if (is_quiet) {
        (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    }
    fflush(stdout);
    if (posix_spawnp(&pid, words[0], &actions, NULL, (char *const *)words, environ) == 0)
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
    posix_spawn_file_actions_destroy(&actions);
    return status >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
#define RUN(...) run(false, (const char *const[]){__VA_ARGS__, NULL})
#define RUN_QUIETLY(...) run(true, (const char *const[]){__VA_ARGS__, NULL})
/* For root's systemd, or the user's own. */
#define SCOPE (is_root() ? "--system" : "--user")

int init_check_service(void)
{
    if (RUN_QUIETLY("systemctl", SCOPE, "show", "--property=Version") != 0)
        return sma_cli_fail("init: %s, so --service is not possible here; --start serves the "
                            "project in this terminal, and any supervisor that runs "
                            "`shipmyagent start FOLDER` does",
                            is_root() ? "systemd does not run here"
                                      : "systemd does not answer this user (`systemctl --user`)");
    if (is_root() && RUN_QUIETLY("systemctl", "cat", "shipmyagent@.service") != 0)
        return sma_cli_fail("init: the unit shipmyagent@.service is not installed: install the "
                            "package, or use --start");
    return 0;
}

/* -- names ------------------------------------------------------------------------------------- */
/* As `systemd-escape --path`. Source: systemd.unit(5), "String escaping for inclusion in unit
 * names". */
static void put_escaped(struct sma_buf *buf, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_.";
    const char *at = path + strspn(path, "/");
    if (*at == '\0')
        sma_buf_put_char(buf, '-');
    for (bool is_first = true; *at != '\0'; at++, is_first = false)
        if (*at == '/')
            sma_buf_put_char(buf, '-');
        else if (strchr(plain, *at) != NULL && !(is_first && *at == '.'))
            sma_buf_put_char(buf, *at);
        else
            sma_buf_printf(buf, "\\x%02x", (unsigned char)*at);
}

/* -- a user's own unit ------------------------------------------------------------------------- */
/* Between quotes of a unit. Source: systemd.service(5), "Command lines"; systemd.unit(5),
 * "Specifiers". */
static void put_quoted(struct sma_buf *buf, const char *path)
{
    for (; *path != '\0'; path++) {
        if (*path == '"' || *path == '\\')
            sma_buf_put_char(buf, '\\');
        if (*path == '%' || *path == '$')
            sma_buf_put_char(buf, *path);
        sma_buf_put_char(buf, *path);
    }
}

/* packaging/shipmyagent@.service.in without what a user's systemd cannot do. */
static void put_unit(struct sma_buf *buf, const char *program)
{
    sma_buf_put_text(buf, "# Written by `shipmyagent init --service`; one instance a project.\n"
                          "[Unit]\n"
                          "Description=ShipMyAgent on %f\n"
                          "Documentation=man:shipmyagent(1)\n"
                          "ConditionPathExists=%f/Agent.md\n\n"
                          "[Service]\n"
                          "Type=notify\n"
                          "ExecStart=\"");
    put_quoted(buf, program);
    sma_buf_put_text(buf, "\" start --sandbox require %f\n"
                          "ExecReload=/bin/sh -c 'kill -HUP $MAINPID'\n"
                          "WorkingDirectory=%f\n"
                          "Restart=on-failure\nRestartSec=1\nWatchdogSec=60\nTimeoutStopSec=30\n"
                          "KillMode=mixed\nUMask=0077\nMemoryMax=4G\nTasksMax=4096\n"
                          "OOMPolicy=continue\nLimitCORE=0\nNoNewPrivileges=yes\n\n"
                          "[Install]\n"
                          "WantedBy=default.target\n");
}

static int write_file(const char *folder, const char *name, struct sma_buf *buf)
{
    char path[PATH_MAX];
    struct sma_error error;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
        return sma_cli_fail("init: %s: the path is too long", folder);
    enum sma_err err = buf->err;
    if (err == SMA_ERR_OK)
        err = sma_sys_make_shared_dirs(sma_sys_real(), folder, &error);
    else
        (void)sma_fail(&error, err, "%s", sma_err_text(err));
    if (err == SMA_ERR_OK)
        err = sma_sys_write_file_atomic(sma_sys_real(), path, sma_buf_str(buf), 0644, &error);
    return err == SMA_ERR_OK ? 0 : sma_cli_fail("init: %s", error.text);
}

static int write_user_unit(void)
{
    char folder[PATH_MAX], program[PATH_MAX];
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    ssize_t len = readlink("/proc/self/exe", program, sizeof program - 1);
    if (len < 0 || home == NULL)
        return sma_cli_fail("init: HOME is not set: where would the unit go?");
    program[len] = '\0';
    bool has_config = config != NULL && config[0] == '/';
    snprintf(folder, sizeof folder, "%s%s/systemd/user", has_config ? config : home,
             has_config ? "" : "/.config");
    struct sma_buf buf;
    sma_buf_init(&buf, 16384);
    put_unit(&buf, program);
    int status = write_file(folder, "shipmyagent@.service", &buf);
    sma_buf_fini(&buf);
    return status;
}

/* -- root: the packaged unit runs as who owns the folder --------------------------------------- */
#define UNIT_USER "shipmyagent" /* of the packaged unit */

/* May others go down to it? Under /root they may not. */
static bool is_reachable(const char *dir)
{
    char path[PATH_MAX];
    struct stat facts;
    (void)snprintf(path, sizeof path, "%s", dir);
    for (char *slash = strrchr(path, '/'); slash != NULL && slash != path;
         slash = strrchr(path, '/')) {
        *slash = '\0';
        if (stat(path, &facts) != 0 || (facts.st_mode & S_IXOTH) == 0)
            return false;
    }
    return true;
}

/* A folder of root's goes to the unit's own user, with what is in it. Where that cannot be, the
 * service runs as root, and says so. @return who runs it; NULL: as the unit says */
static const char *give_away(const char *dir)
{
    if (getpwnam(UNIT_USER) == NULL || !is_reachable(dir)) {
        puts("The service runs as root: whatever gets out of the sandbox has the machine. A folder "
             "below /srv can be given to a user of its own (chown -R).");
        return "root";
    }
    if (RUN("chown", "-R", "--no-dereference", UNIT_USER ":" UNIT_USER, "--", dir) != 0)
        return "root";
    printf("The folder belongs to the user " UNIT_USER " now, who runs the service.\n");
    return NULL;
}

static int write_drop_in(const char *dir, const char *unit)
{
    struct stat status;
    char folder[PATH_MAX];
    if (stat(dir, &status) != 0)
        return 0;
    const struct passwd *owner = getpwuid(status.st_uid);
    const char *user = owner == NULL ? NULL : owner->pw_name;
    if (status.st_uid == 0)
        user = give_away(dir);
    if (user == NULL)
        return 0;
    snprintf(folder, sizeof folder, "/etc/systemd/system/%s.d", unit);
    struct sma_buf buf;
    sma_buf_init(&buf, 4096);
    sma_buf_printf(&buf, "[Service]\nUser=%s\n", user);
    int written = write_file(folder, "user.conf", &buf);
    sma_buf_fini(&buf);
    return written;
}

/* -- both -------------------------------------------------------------------------------------- */
/* A user's services end with his last session unless he lingers. */
static void keep_after_logout(void)
{
    if (!is_root() && RUN_QUIETLY("loginctl", "enable-linger") != 0)
        puts("It ends when you log out. To keep it: sudo loginctl enable-linger $USER");
}

static int enable(const char *real, const char *unit)
{
    int status = is_root() ? write_drop_in(real, unit) : write_user_unit();
    if (status != 0)
        return status;
    if (RUN("systemctl", SCOPE, "daemon-reload") != 0 ||
        RUN("systemctl", SCOPE, "enable", "--now", unit) != 0)
        return sma_cli_fail("init: the project is there, but its service does not start; see "
                            "`journalctl %s -u '%s'`",
                            SCOPE, unit);
    keep_after_logout();
    printf("It runs as %s and starts with the machine.\n"
           "  systemctl %s status '%s'\n  journalctl %s -u '%s' -f\n",
           unit, SCOPE, unit, SCOPE, unit);
    return 0;
}

int init_install_service(const char *dir)
{
    char real[PATH_MAX];
    if (realpath(dir, real) == NULL)
        return sma_cli_fail("init: %s: %s", dir, strerror(errno));
    struct sma_buf unit;
    sma_buf_init(&unit, 4 * PATH_MAX);
    sma_buf_put_text(&unit, "shipmyagent@");
    put_escaped(&unit, real);
    sma_buf_put_text(&unit, ".service");
    int status =
        unit.err == SMA_ERR_OK ? enable(real, unit.ptr) : sma_cli_fail("init: out of memory");
    sma_buf_fini(&unit);
    return status;
}
