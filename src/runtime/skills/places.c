/* places.c — see places.h. */
#include "runtime/skills/places.h"

#include "sma/text.h"

#include <limits.h>
#include <stdio.h>

/* `~` is a home, which no project lies in by name alone. */
static bool is_outside(struct sma_str line, const char *project_dir, struct sma_str *ret_rest)
{
    size_t len = strlen(project_dir);
    *ret_rest = line;
    if (line.ptr[0] == '~')
        return true;
    if (line.ptr[0] != '/')
        return false;
    if (line.len < len || memcmp(line.ptr, project_dir, len) != 0 ||
        (line.len > len && line.ptr[len] != '/'))
        return true;
    *ret_rest = (struct sma_str){line.ptr + len, line.len - len};
    return false;
}

/* @return false: it leads out, or is too long */
static bool add_part(char *path, size_t size, struct sma_str part)
{
    size_t len = strlen(path);
    if (part.len == 0 || sma_str_is_equal(part, SMA_STR(".")))
        return true;
    if (sma_str_is_equal(part, SMA_STR(".."))) {
        char *slash = strrchr(path, '/');
        bool is_inside = len > 0;
        *(slash == NULL ? path : slash) = '\0';
        return is_inside;
    }
    if (len + part.len + 2 > size)
        return false;
    (void)snprintf(path + len, size - len, "%s%.*s", len == 0 ? "" : "/", (int)part.len, part.ptr);
    return true;
}

static void clean(struct sma_str rest, char *ret_path, size_t size)
{
    ret_path[0] = '\0';
    for (size_t i = 0, from = 0; i <= rest.len; i++) {
        if (i < rest.len && rest.ptr[i] != '/')
            continue;
        if (!add_part(ret_path, size, (struct sma_str){rest.ptr + from, i - from})) {
            ret_path[0] = '\0';
            return;
        }
        from = i + 1;
    }
    if (ret_path[0] == '\0')
        (void)snprintf(ret_path, size, "skills");
}

bool sma_skill_place(const struct sma_config *config, size_t index, char *ret_path, size_t size)
{
    const char *at = config->skill_paths == NULL ? "" : config->skill_paths;
    struct sma_str rest;
    ret_path[0] = '\0';
    for (; index > 0 && *at != '\0'; index--)
        at = strchrnul(at, '\n') + 1;
    if (*at == '\0')
        return false;
    struct sma_str line = {at, (size_t)(strchrnul(at, '\n') - at)};
    if (!is_outside(line, config->project_dir, &rest))
        clean(rest, ret_path, size);
    return true;
}

bool sma_skill_place_holds(const struct sma_config *config, struct sma_str path)
{
    char place[PATH_MAX];
    for (size_t i = 0; sma_skill_place(config, i, place, sizeof place); i++) {
        size_t len = strlen(place);
        if (len > 0 && path.len >= len && (path.len == len || path.ptr[len] == '/') &&
            sma_str_is_equal_nocase((struct sma_str){path.ptr, len}, sma_str(place)))
            return true;
    }
    return false;
}
