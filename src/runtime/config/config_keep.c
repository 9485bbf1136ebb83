/*
 * config_keep.c — what a load keeps, warns about and reads from the project, for all its parts.
 */
#include "config_load.h"

#include "sma/beneath.h"
#include "sma/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char DEFAULT_ROLE[] = "You are a helpful project assistant.\n"
                                   "Help the people who talk to you with this project.";

/* Owns every string of a config: a list of blocks freed together. */
struct storage
{
    struct storage *next;
    _Alignas(void *) char bytes[];
};

/* Room that lives as long as the configuration, aligned for pointers; NULL without memory. */
void *config_keep_room(struct loading *loading, size_t len)
{
    struct storage *block = malloc(sizeof *block + len);
    if (block == NULL) {
        loading->is_out_of_memory = true;
        return NULL;
    }
    block->next = loading->config->storage;
    loading->config->storage = block;
    return block->bytes;
}

void config_free_room(struct sma_config *config)
{
    struct storage *block = config->storage;
    while (block != NULL) {
        struct storage *next = block->next;
        free(block);
        block = next;
    }
    config->storage = NULL;
}

static const char *keep(struct loading *loading, const char *bytes, size_t len)
{
    char *room = config_keep_room(loading, len + 1);
    if (room == NULL)
        return "";
    memcpy(room, bytes, len);
    room[len] = '\0';
    return room;
}

const char *config_keep_text(struct loading *loading, const char *text)
{
    return keep(loading, text, strlen(text));
}

void config_warn(struct loading *loading, const char *format, ...)
{
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    loading->warn(loading->user, line);
}

/* -- missing variables ------------------------------------------------------------------------- */
void config_note_missing(void *user, const char *path, const char *variable)
{
    struct loading *loading = user;
    if (loading->missing_count == SMA_COUNT_OF(loading->missing_path))
        return;
    snprintf(loading->missing_path[loading->missing_count], 128, "%s", path);
    snprintf(loading->missing_name[loading->missing_count], 128, "%s", variable);
    loading->missing_count++;
}

/* The variable whose absence removed `path`, or NULL. */
const char *config_missing_variable(const struct loading *loading, const char *path)
{
    for (size_t i = 0; i < loading->missing_count; i++)
        if (strcmp(loading->missing_path[i], path) == 0)
            return loading->missing_name[i];
    return NULL;
}

/* -- files ------------------------------------------------------------------------------------- */
enum sma_err config_read_project_file(struct loading *loading, const char *name, char **ret_bytes,
                                      size_t *ret_len)
{
    return sma_read_beneath(loading->config->project_dir, name, CONFIG_FILE_BYTES_MAX, ret_bytes,
                            ret_len, loading->error);
}

enum sma_err config_read_prompt(struct loading *loading, const char *name, const char **ret_text)
{
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    SMA_TRY(config_read_project_file(loading, name, &bytes, &len));
    struct sma_str text = {bytes, len};
    if (text.len >= 3 && memcmp(text.ptr, "\xEF\xBB\xBF", 3) == 0)
        text = (struct sma_str){text.ptr + 3, text.len - 3};
    text = sma_str_trim(text);
    if (!sma_utf8_is_valid(text))
        return sma_fail(loading->error, SMA_ERR_BADINPUT,
                        "%s/%s: is not valid UTF-8; save it as UTF-8", loading->config->project_dir,
                        name);
    *ret_text = text.len == 0 ? DEFAULT_ROLE : keep(loading, text.ptr, text.len);
    return SMA_ERR_OK;
}

/* -- rows ------------------------------------------------------------------------------------- */
static char *keep_for_row(void *user, const char *text)
{
    return (char *)(uintptr_t)config_keep_text(user, text);
}

/* Where rows of this file are read from. */
struct sma_param_source config_source(struct loading *loading, const json_t *root,
                                      const char *place)
{
    return (struct sma_param_source){.root = (json_t *)(uintptr_t)root,
                                     .file = loading->file,
                                     .place = place,
                                     .project_dir = loading->config->project_dir,
                                     .keep = keep_for_row,
                                     .user = loading,
                                     .error = loading->error};
}
