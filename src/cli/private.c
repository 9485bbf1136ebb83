/* private.c — see private.h. */
#include "private.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS 077

static bool is_open_to_others(const struct stat *facts)
{
    bool is_kept = S_ISDIR(facts->st_mode) || S_ISREG(facts->st_mode);
    return is_kept && facts->st_uid == geteuid() && (facts->st_mode & OTHERS) != 0;
}

/* Nobody else can change names in the folder by now, so what was looked at is what is changed.
 * @return how many */
static unsigned close_entries(DIR *dir)
{
    unsigned count = 0;
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat facts;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            fstatat(dirfd(dir), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
            !is_open_to_others(&facts))
            continue;
        count += fchmodat(dirfd(dir), entry->d_name, facts.st_mode & 0700, 0) == 0;
    }
    return count;
}

void sma_private_close(const struct sma_config *config, sma_config_warn_fn *warn, void *user)
{
    char line[2 * PATH_MAX];
    struct stat facts;
    unsigned count = 0;
    DIR *dir = opendir(config->state_dir);
    if (dir != NULL && fstat(dirfd(dir), &facts) == 0) {
        bool was_open = is_open_to_others(&facts);
        if (was_open && fchmod(dirfd(dir), facts.st_mode & 0700) == 0)
            count++;
        count += close_entries(dir);
        (void)snprintf(line, sizeof line,
                       "%s was open to other users of this machine (%u folders and files); it is "
                       "closed now (0700)",
                       config->state_dir, count);
        if (count > 0)
            warn(user, line);
    }
    if (dir != NULL)
        closedir(dir);
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/.env", config->project_dir);
    if (stat(path, &facts) == 0 && (facts.st_mode & OTHERS) != 0) {
        (void)snprintf(line, sizeof line,
                       "%s can be read by other users of this machine (mode %03o): chmod 600 it",
                       path, (unsigned)facts.st_mode & 0777);
        warn(user, line);
    }
}
