/*
 * unused.c — what a project holds for features that this version does not have. Silence would be
 * the failure: a task that never runs, a server that nobody asks. One line at start names all of
 * it.
 */
#include "config_load.h"

#include "sma/sys.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>

/* Folders of the earlier program. Empty ones were made by `init` and ask for nothing. */
static const char *const FOLDERS[] = {".ship/tasks", ".ship/runs", ".ship/queue", ".ship/public",
                                      ".ship/routes"};

static void add(struct loading *loading, const char *name)
{
    sma_buf_printf(&loading->unused, "%s%s", loading->unused.len == 0 ? "" : ", ", name);
}

static bool holds_anything(const struct loading *loading, const char *name)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", loading->config->project_dir, name);
    DIR *folder = opendir(path);
    const struct dirent *entry = NULL;
    bool is_any = false;
    while (folder != NULL && !is_any && (entry = readdir(folder)) != NULL)
        is_any = entry->d_name[0] != '.';
    if (folder != NULL)
        (void)closedir(folder);
    return is_any;
}

void config_warn_unused(struct loading *loading)
{
    for (size_t i = 0; i < SMA_COUNT_OF(FOLDERS); i++)
        if (holds_anything(loading, FOLDERS[i]))
            add(loading, FOLDERS[i]);
    if (loading->unused.len > 0 && loading->unused.err == SMA_ERR_OK)
        config_warn(loading, "%s: found %s, which this version does not use",
                    loading->config->project_dir, loading->unused.ptr);
}
