/* doctor_place.c — the project's folder, what lies in it, and the disk below it. */
#include "doctor_priv.h"

#include "adapters.h"
#include "archive.h"
#include "runtime/exec/sandbox.h"
#include "runtime/policy/policy.h"
#include "runtime/secrets/secrets.h"
#include "sma/limits.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define OTHERS 077
#define DISK_LOW_BYTES (256ull * 1024 * 1024)
#define DISK_WANTED_BYTES (4ull * SMA_DISK_RESERVE_BYTES) /* below, the store takes no message */
#define DISK_FEW_FILES 1000

/* -- configuration ----------------------------------------------------------------------------- */
/* The lines of the loader name the remedy themselves. */
static void on_warning(void *user, const char *line)
{
    struct doctor *doctor = user;
    bool is_old = strstr(line, "which this version does not use") != NULL;
    doctor_say(&doctor->report, SMA_PROBE_WARNING, is_old ? "old files" : "configuration",
               is_old ? "take them out when no other program needs them; the others of the project "
                        "are used as they are"
                      : "",
               "%s", line);
}

static const char *remedy_for(const char *text)
{
    bool is_place = strstr(text, "Agent.md") != NULL || strstr(text, "not a folder") != NULL;
    return is_place ? "give the folder of a project, or make one: shipmyagent init FOLDER"
                    : "`shipmyagent config-keys docs` explains every key (docs/configuration.md)";
}

void doctor_look_at_project(struct doctor *doctor)
{
    struct sma_error error = {0};
    struct sma_config_overrides overrides = {.platforms = sma_cli_platforms()};
    size_t before = doctor->report.count;
    if (sma_config_load(doctor->folder, &overrides, on_warning, doctor, &doctor->config, &error) !=
        SMA_ERR_OK) {
        doctor->config = NULL;
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "configuration", remedy_for(error.text), "%s",
                   error.text);
        return;
    }
    struct sma_policy *policy = NULL; /* the start refuses rules that it cannot read */
    if (sma_policy_load(doctor->config->permissions_json, &policy, &error) != SMA_ERR_OK)
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "configuration",
                   "docs/permissions.md says how rules are written", "%s", error.text);
    sma_policy_destroy(policy);
    if (doctor->report.count == before)
        doctor_say(&doctor->report, SMA_PROBE_OK, "configuration", "",
                   "%s/ship.json can be read, no key is unknown", doctor->config->project_dir);
}

/* -- modes ------------------------------------------------------------------------------------- */
static bool look_at_mode(struct doctor *doctor, const char *path, const char *mode)
{
    struct stat facts;
    char remedy[PATH_MAX + 32];
    if (stat(path, &facts) != 0 || (facts.st_mode & OTHERS) == 0)
        return true;
    (void)snprintf(remedy, sizeof remedy, "chmod %s %s", mode, path);
    doctor_say(&doctor->report, SMA_PROBE_WARNING, "file modes", remedy,
               "%s can be read or changed by other users of this machine (mode %03o)", path,
               (unsigned)facts.st_mode & 0777);
    return false;
}

static bool look_at_owner(struct doctor *doctor, const char *path)
{
    struct stat facts;
    if (lstat(path, &facts) != 0 || facts.st_uid == geteuid())
        return true;
    const struct passwd *user = getpwuid(facts.st_uid);
    doctor_say(&doctor->report, SMA_PROBE_WARNING, "file owner",
               "run the service and its commands as that user, or give the folder to yourself "
               "(chown -R)",
               "%s belongs to %s, and you are another user", path,
               user == NULL ? "an unknown user" : user->pw_name);
    return false;
}

/* As far as it is there, also where the configuration cannot be read. */
static bool find_project(const struct doctor *doctor, char path[PATH_MAX])
{
    return realpath(doctor->folder, path) != NULL;
}

static bool look_for_secrets(struct doctor *doctor)
{
    char path[PATH_MAX];
    struct sma_secrets *secrets = NULL;
    SMA_AUTO(sma_freep) char *text = NULL;
    (void)snprintf(path, sizeof path, "%s/ship.json", doctor->config->project_dir);
    bool has_any = sma_secrets_create(doctor->config, &secrets) == SMA_ERR_OK &&
                   sma_sandbox_show_ship(path, secrets, &text) == SMA_ERR_OK && text != NULL;
    sma_secrets_destroy(secrets);
    if (has_any)
        doctor_say(&doctor->report, SMA_PROBE_WARNING, "secrets",
                   "write them into .env (chmod 600) and ${NAME} in their place",
                   "%s holds secrets in plain text: whoever gets the repository has them", path);
    return !has_any;
}

void doctor_look_at_files(struct doctor *doctor)
{
    static const struct
    {
        const char *name, *mode;
    } files[] = {
        {".env", "600"}, {".ship", "700"}, {".ship/api-token", "600"}, {".ship/state.db", "600"}};
    char project[PATH_MAX], path[PATH_MAX + 32];
    bool is_fine = true;
    if (!find_project(doctor, project))
        return;
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", project, files[i].name);
        is_fine = look_at_mode(doctor, path, files[i].mode) && is_fine;
    }
    (void)snprintf(path, sizeof path, "%s/.ship", project);
    is_fine = look_at_owner(doctor, path) && is_fine;
    if (doctor->config == NULL)
        return;
    is_fine = look_for_secrets(doctor) && is_fine;
    if (access(project, W_OK) != 0) {
        is_fine = false;
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "folder",
                   "let the user who runs the service write there", "%s cannot be written to: %s",
                   project, strerror(errno));
    }
    if (is_fine)
        doctor_say(&doctor->report, SMA_PROBE_OK, "files", "",
                   "secrets and chats are for you alone");
}

/* -- what killed commands have left ------------------------------------------------------------ */
#define ENTRIES_LOOKED_AT_MAX 20000

static void look_for_left(struct doctor *doctor, const char *folder)
{
    char path[PATH_MAX], remedy[PATH_MAX + 32];
    DIR *open_folder = opendir(folder);
    const struct dirent *entry;
    for (int i = 0; open_folder != NULL && i < ENTRIES_LOOKED_AT_MAX; i++) {
        if ((entry = readdir(open_folder)) == NULL)
            break;
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= PATH_MAX ||
            !sma_stage_is_left(path))
            continue;
        bool is_quotable = strchr(path, '\'') == NULL;
        (void)snprintf(remedy, sizeof remedy, "rm -r %s%s%s", is_quotable ? "'" : "",
                       is_quotable ? path : "THAT", is_quotable ? "'" : "");
        doctor_say(&doctor->report, SMA_PROBE_WARNING, "left over", remedy,
                   "%s is what a killed backup or restore has left; keys may be in it", path);
    }
    if (open_folder != NULL)
        (void)closedir(open_folder); /* was only read */
}

/* Where backups and restored projects mostly are made: in the project's folder and beside it. */
void doctor_look_for_left(struct doctor *doctor)
{
    char project[PATH_MAX];
    if (!find_project(doctor, project))
        return;
    look_for_left(doctor, project);
    char *slash = strrchr(project, '/');
    if (slash == project)
        return; /* of the root nothing is beside */
    *slash = '\0';
    look_for_left(doctor, project);
}

/* -- disk -------------------------------------------------------------------------------------- */
bool doctor_read_disk(const char *path, struct doctor_disk *ret_disk)
{
    struct statvfs facts;
    if (statvfs(path, &facts) != 0)
        return false;
    *ret_disk = (struct doctor_disk){.free_bytes = (uint64_t)facts.f_bavail * facts.f_frsize,
                                     .free_files = facts.f_favail,
                                     .counts_files = facts.f_files > 0};
    return true;
}

enum sma_probe_state doctor_judge_disk(const struct doctor_disk *disk, const char **ret_remedy,
                                       const char **ret_word)
{
    *ret_remedy = "make room on that disk, or move the project to another one; `shipmyagent "
                  "status` shows what takes it, `shipmyagent compact` shrinks state.db";
    *ret_word = "below 32 MB no message is accepted";
    if (disk->free_bytes < DISK_WANTED_BYTES)
        return SMA_PROBE_ERROR;
    if (disk->counts_files && disk->free_files == 0) {
        *ret_word = "no new file can be made on it (inodes)";
        return SMA_PROBE_ERROR;
    }
    if (disk->free_bytes < DISK_LOW_BYTES)
        return SMA_PROBE_WARNING;
    if (disk->counts_files && disk->free_files < DISK_FEW_FILES) {
        *ret_word = "few new files can be made on it (inodes)";
        return SMA_PROBE_WARNING;
    }
    *ret_remedy = "";
    return SMA_PROBE_OK;
}

bool doctor_is_disk_told(const struct doctor_disk *disk)
{
    return disk->free_bytes < DISK_WANTED_BYTES;
}

void doctor_look_at_disk(struct doctor *doctor)
{
    const char *path = doctor->config != NULL ? doctor->config->project_dir : doctor->folder;
    const char *remedy, *word;
    struct doctor_disk disk;
    if (!doctor_read_disk(path, &disk))
        return; /* there is no such folder, which was said */
    enum sma_probe_state state = doctor_judge_disk(&disk, &remedy, &word);
    doctor_say(&doctor->report, state, "disk", remedy, "%llu MB are free for %s%s%s",
               (unsigned long long)(disk.free_bytes / 1000000), path,
               state == SMA_PROBE_OK ? "" : ": ", state == SMA_PROBE_OK ? "" : word);
}
