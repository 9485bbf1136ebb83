/* roots.c — see roots.h. */
#include "runtime/skills/roots.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

bool sma_skill_is_inside(const struct sma_config *config, const char *path)
{
    size_t len = strlen(config->project_dir);
    if (len == 1)
        return true; /* the project is "/" */
    return strncmp(path, config->project_dir, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

bool sma_skill_real_path(int fd, char *ret_path, size_t size)
{
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, ret_path, size);
    if (len <= 0 || (size_t)len >= size || ret_path[0] != '/')
        return false;
    ret_path[len] = '\0';
    return true;
}

static bool expand(const struct sma_config *config, const char *said, char *ret_path, size_t size)
{
    const char *home = getenv("HOME");
    int len;
    if (said[0] == '~' && (said[1] == '/' || said[1] == '\0'))
        len = snprintf(ret_path, size, "%s%s", home == NULL ? "/nonexistent" : home, said + 1);
    else if (said[0] == '/')
        len = snprintf(ret_path, size, "%s", said);
    else
        len = snprintf(ret_path, size, "%s/%s", config->project_dir, said);
    return len > 0 && (size_t)len < size;
}

static bool is_called_skills(const char *path)
{
    size_t len = strlen(path), name = strlen("skills");
    while (len > 1 && path[len - 1] == '/')
        len--;
    return len >= name && memcmp(path + len - name, "skills", name) == 0 &&
           (len == name || path[len - name - 1] == '/');
}

static enum sma_err set_problem(struct sma_skill_root *root, const char *problem)
{
    if (root->fd >= 0)
        close(root->fd);
    root->fd = -1;
    free(root->real);
    root->real = NULL;
    root->problem = strdup(problem);
    return root->problem == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

static enum sma_err open_root(const struct sma_config *config, struct sma_skill_root *root)
{
    char path[PATH_MAX], real[PATH_MAX];
    if (!expand(config, root->said, path, sizeof path))
        return set_problem(root, "the path is too long");
    root->fd = open(path, FOLDER_FLAGS);
    if (root->fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return SMA_ERR_OK;
    if (root->fd < 0)
        return set_problem(root, strerrordesc_np(errno));
    int child = is_called_skills(path) ? -1 : openat(root->fd, "skills", FOLDER_FLAGS);
    if (child >= 0) {
        close(root->fd);
        root->fd = child;
    }
    if (!sma_skill_real_path(root->fd, real, sizeof real))
        return set_problem(root, "where it really is cannot be told");
    if (!config->has_outer_skills && !sma_skill_is_inside(config, real))
        return set_problem(root, "it lies outside the project, and skills.allowExternalPaths of "
                                 "ship.json does not allow that");
    root->real = strdup(real);
    return root->real == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

static void close_root(struct sma_skill_root *root)
{
    free(root->said);
    free(root->real);
    free(root->problem);
    if (root->fd >= 0)
        close(root->fd);
}

static enum sma_err add(const struct sma_config *config, struct sma_skill_roots *roots,
                        struct sma_str said)
{
    SMA_ASSERT(roots->count < SMA_SKILL_ROOT_COUNT_MAX);
    struct sma_skill_root *root = &roots->list[roots->count];
    *root = (struct sma_skill_root){.said = strndup(said.ptr, said.len), .fd = -1};
    enum sma_err err = root->said == NULL ? SMA_ERR_NOMEM : open_root(config, root);
    bool is_known = false;
    for (size_t i = 0; root->real != NULL && i < roots->count; i++)
        is_known |= roots->list[i].real != NULL && strcmp(roots->list[i].real, root->real) == 0;
    if (err != SMA_ERR_OK || is_known)
        close_root(root);
    else
        roots->count++;
    return err;
}

enum sma_err sma_skill_roots_open(const struct sma_config *config,
                                  struct sma_skill_roots *ret_roots)
{
    const char *at = config->skill_paths == NULL ? "" : config->skill_paths;
    enum sma_err err = SMA_ERR_OK;
    ret_roots->count = 0;
    for (size_t i = 0; err == SMA_ERR_OK && *at != '\0' && i < SMA_SKILL_PATH_COUNT_MAX; i++) {
        const char *end = strchrnul(at, '\n');
        err = add(config, ret_roots, (struct sma_str){at, (size_t)(end - at)});
        at = *end == '\0' ? end : end + 1;
    }
    if (err == SMA_ERR_OK)
        err = add(config, ret_roots, SMA_STR(".claude/skills"));
    if (err == SMA_ERR_OK)
        err = add(config, ret_roots, SMA_STR(".agents/skills"));
    if (err != SMA_ERR_OK)
        sma_skill_roots_close(ret_roots);
    return err;
}

void sma_skill_roots_close(struct sma_skill_roots *roots)
{
    for (size_t i = 0; i < roots->count; i++)
        close_root(&roots->list[i]);
    roots->count = 0;
}
