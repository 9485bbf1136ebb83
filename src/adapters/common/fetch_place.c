/* fetch_place.c — see fetch_place.h. */
#include "fetch_place.h"

#include "sma/actor.h"
#include "sma/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMP_PREFIX ".fetch-"

static bool full_path(const struct sma_fetch_place *place, struct sma_str relative,
                      char path[SMA_FETCH_PATH_BYTES_MAX])
{
    int len = snprintf(path, SMA_FETCH_PATH_BYTES_MAX, "%s/%.*s", place->project_dir,
                       (int)relative.len, relative.ptr);
    return len > 0 && len < SMA_FETCH_PATH_BYTES_MAX;
}

bool sma_fetch_place_path(const struct sma_fetch_place *place, const struct sma_fetch_temp *temp,
                          char path[SMA_FETCH_PATH_BYTES_MAX])
{
    int len = snprintf(path, SMA_FETCH_PATH_BYTES_MAX, "%s/%s%s", place->project_dir, place->folder,
                       temp->name);
    return len > 0 && len < SMA_FETCH_PATH_BYTES_MAX;
}

/* Each level of the folder for its owner only. */
static bool make_folder(const struct sma_fetch_place *place)
{
    const struct sma_sys *sys = sma_ctx_sys(place->ctx);
    char path[SMA_FETCH_PATH_BYTES_MAX];
    for (const char *at = place->folder; (at = strchr(at, '/')) != NULL; at++) {
        struct sma_str level = {place->folder, (size_t)(at - place->folder)};
        if (!full_path(place, level, path) ||
            (sys->mkdir(sys->self, path, 0700) != 0 && errno != EEXIST))
            return false;
    }
    return true;
}

void sma_fetch_place_clean(const struct sma_fetch_place *place)
{
    char folder[SMA_FETCH_PATH_BYTES_MAX];
    DIR *dir = full_path(place, sma_str(place->folder), folder) ? opendir(folder) : NULL;
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (strncmp(entry->d_name, TEMP_PREFIX, sizeof TEMP_PREFIX - 1) == 0)
            (void)unlinkat(dirfd(dir), entry->d_name, 0); /* tried again at the next start */
    if (dir != NULL)
        closedir(dir);
}

bool sma_fetch_place_has(const struct sma_fetch_place *place, struct sma_str path, int64_t size)
{
    char full[SMA_FETCH_PATH_BYTES_MAX];
    struct stat status;
    return full_path(place, path, full) && lstat(full, &status) == 0 && S_ISREG(status.st_mode) &&
           (size < 0 || status.st_size == size);
}

bool sma_fetch_place_open(const struct sma_fetch_place *place, struct sma_fetch_temp *temp)
{
    const struct sma_sys *sys = sma_ctx_sys(place->ctx);
    char path[SMA_FETCH_PATH_BYTES_MAX];
    snprintf(temp->name, sizeof temp->name, TEMP_PREFIX "%016llx",
             (unsigned long long)sma_ctx_random(place->ctx));
    if (!make_folder(place) || !sma_fetch_place_path(place, temp, path))
        return false;
    temp->fd = sys->open(sys->self, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    return temp->fd >= 0;
}

bool sma_fetch_place_keep(const struct sma_fetch_place *place, struct sma_fetch_temp *temp,
                          struct sma_str path)
{
    const struct sma_sys *sys = sma_ctx_sys(place->ctx);
    char from[SMA_FETCH_PATH_BYTES_MAX], to[SMA_FETCH_PATH_BYTES_MAX];
    if (!sma_fetch_place_path(place, temp, from) || !full_path(place, path, to) ||
        sys->rename(sys->self, from, to) != 0)
        return false;
    temp->name[0] = '\0';
    return true;
}

void sma_fetch_place_drop(const struct sma_fetch_place *place, struct sma_fetch_temp *temp)
{
    char path[SMA_FETCH_PATH_BYTES_MAX];
    if (temp->fd >= 0)
        close(temp->fd);
    temp->fd = -1;
    if (temp->name[0] != '\0' && sma_fetch_place_path(place, temp, path))
        (void)unlink(path); /* left behind it is removed at the next start */
    temp->name[0] = '\0';
}
