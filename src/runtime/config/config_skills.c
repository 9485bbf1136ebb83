/* config_skills.c — skills: where they are looked for, and whether there is anything to look at. */
#include "config_load.h"

#include "sma/limits.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define ID_COUNT_MAX 300
#define TEXT_BYTES_MAX 4000

/* Kept with a line feed behind each. */
static SMA_CHECKED enum sma_err keep_list(struct loading *loading, const char *name,
                                          size_t count_max, const char **ret_text)
{
    const json_t *list = json_object_get(json_object_get(loading->root, "skills"), name), *item;
    struct sma_buf text;
    size_t index;
    *ret_text = "";
    if (list == NULL)
        return SMA_ERR_OK;
    if (!json_is_array(list) || json_array_size(list) > count_max)
        return sma_fail(loading->error, SMA_ERR_BADINPUT,
                        "%s: skills.%s must be a list of at most %zu texts", loading->file, name,
                        count_max);
    sma_buf_init(&text, (TEXT_BYTES_MAX + 1) * count_max + 1);
    json_array_foreach((json_t *)(uintptr_t)list, index, item)
    {
        size_t len = json_string_length(item);
        const char *value = json_string_value(item);
        if (value == NULL || len == 0 || len > TEXT_BYTES_MAX || strlen(value) != len ||
            strchr(value, '\n') != NULL) {
            sma_buf_fini(&text);
            return sma_fail(loading->error, SMA_ERR_BADINPUT,
                            "%s: skills.%s: member %zu must be a text of 1 to %d bytes in one line",
                            loading->file, name, index + 1, TEXT_BYTES_MAX);
        }
        sma_buf_put_text(&text, value);
        sma_buf_put_char(&text, '\n');
    }
    sma_buf_put_char(&text, '\0');
    loading->is_out_of_memory |= text.err != SMA_ERR_OK;
    *ret_text = config_keep_text(loading, text.err == SMA_ERR_OK ? text.ptr : "");
    sma_buf_fini(&text);
    return SMA_ERR_OK;
}

static bool is_folder(const struct loading *loading, const char *name)
{
    char path[PATH_MAX];
    struct stat facts;
    int len = snprintf(path, sizeof path, "%s/%s", loading->config->project_dir, name);
    return len > 0 && (size_t)len < sizeof path && stat(path, &facts) == 0 &&
           S_ISDIR(facts.st_mode);
}

/* Who has none pays nothing: no tools in the request, no question before a run. */
enum sma_err config_read_skills(struct loading *loading)
{
    struct sma_config *config = loading->config;
    SMA_TRY(keep_list(loading, "paths", SMA_SKILL_PATH_COUNT_MAX, &config->skill_paths));
    SMA_TRY(keep_list(loading, "allowRules", ID_COUNT_MAX, &config->skill_rules));
    config->has_skills = config->skill_paths[0] != '\0' || is_folder(loading, ".claude/skills") ||
                         is_folder(loading, ".agents/skills");
    return SMA_ERR_OK;
}
