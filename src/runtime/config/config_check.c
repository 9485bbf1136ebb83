/*
 * config_check.c — ship.json against the tables: types and ranges of what is known, the nearest
 * name of what is not, and what older files hold that has no effect.
 */
#include "config_priv.h"
#include "param_priv.h"

#include "sma/buf.h"
#include "sma/text.h"

#include <stdio.h>

#define PATH_BYTES_MAX 256
#define UNKNOWN_KEYS_TOLD_MAX 20 /* what is beyond is told as a number */

/* One table at the place in the file that it speaks of. */
struct place
{
    const struct config_check *check;
    const struct sma_params *table;
    const char *shown; /* "adapters.telegram", "llm.fallbacks.0"; "" = the whole file */
};

static void join(char room[PATH_BYTES_MAX], const char *path, const char *name)
{
    /* shown to people: what is longer than any name of ours is cut */
    (void)snprintf(room, PATH_BYTES_MAX, "%.180s%s%.70s", path, path[0] == '\0' ? "" : ".", name);
}

/* -- what is not known ------------------------------------------------------------------------- */
struct nearest
{
    unsigned distance;
    char name[PATH_BYTES_MAX];
};

/* Up to three letters, but less than all of a short name: of "k0" nothing is the nearest. */
static unsigned distance_limit(const char *unknown)
{
    const char *dot = strrchr(unknown, '.');
    size_t len = strlen(dot == NULL ? unknown : dot + 1);
    return len < 4 ? (unsigned)len : 4;
}

static void compare(struct nearest *nearest, const char *unknown, const char *known)
{
    unsigned distance = sma_text_distance(sma_str(unknown), sma_str(known));
    if (distance >= nearest->distance)
        return;
    nearest->distance = distance;
    (void)snprintf(nearest->name, sizeof nearest->name, "%s", known);
}

static void warn_unknown(const struct config_check *check, const char *shown,
                         const struct nearest *nearest)
{
    char line[1024];
    if (++*check->unknown_count > UNKNOWN_KEYS_TOLD_MAX)
        return;
    bool is_near = nearest->name[0] != '\0';
    (void)snprintf(line, sizeof line, "%s: unknown key %s is ignored%s%s%s", check->file, shown,
                   is_near ? "; did you mean " : "", nearest->name, is_near ? "?" : "");
    check->warn(check->user, line);
}

static void warn_unknown_member(const struct place *place, const char *shown)
{
    struct nearest nearest = {.distance = distance_limit(shown)};
    for (const struct sma_params *table = place->table; table != NULL; table = table->shared)
        for (size_t i = 0; i < table->count; i++) {
            char known[PATH_BYTES_MAX];
            join(known, place->shown, table->rows[i].path);
            compare(&nearest, shown, known);
        }
    warn_unknown(place->check, shown, &nearest);
}

/* -- what has no effect ------------------------------------------------------------------------ */
/* Does it ask for anything? `false`, an empty list and the old program's defaults do not. */
static bool asks_for_something(const struct sma_param *row, const json_t *value)
{
    double number;
    if (json_is_object(value))
        return json_object_size(value) > 0 && !json_is_false(json_object_get(value, "enabled"));
    if (json_is_array(value))
        return json_array_size(value) > 0;
    if (json_is_string(value))
        return json_string_length(value) > 0 && strcmp(json_string_value(value), "false") != 0;
    if (sma_param_number(value, &number))
        return number != row->standard;
    return json_is_true(value);
}

static void warn_partly(const struct config_check *check, const struct sma_param *row,
                        const char *shown, const json_t *value)
{
    char line[1024];
    if ((row->traits & SMA_PARAM_PARTLY) == 0 || !asks_for_something(row, value))
        return;
    (void)snprintf(line, sizeof line, "%s: %s %s", check->file, shown, row->doc);
    check->warn(check->user, line);
}

static void note_unused(const struct config_check *check, const struct sma_param *row,
                        const char *shown, const json_t *value)
{
    if ((row->traits & SMA_PARAM_UNUSED) == 0 || !asks_for_something(row, value))
        return;
    sma_buf_printf(check->unused, "%s%s", check->unused->len == 0 ? "" : ", ", shown);
}

/* -- members ----------------------------------------------------------------------------------- */
static bool has_rows_below(const struct sma_params *table, const char *path)
{
    size_t len = strlen(path);
    for (; table != NULL; table = table->shared)
        for (size_t i = 0; i < table->count; i++)
            if (strncmp(table->rows[i].path, path, len) == 0 && table->rows[i].path[len] == '.')
                return true;
    return false;
}

static enum sma_err check_blocks(const struct config_check *check, const char *shown,
                                 const json_t *blocks);
static enum sma_err check_members(const struct place *place, const char *prefix,
                                  const json_t *object);

/* The members of a row that has a table for them: of the object, or of each object of the list. */
static enum sma_err check_table(const struct place *place, const struct sma_param *row,
                                const char *shown, const json_t *value)
{
    struct place inner = {place->check, row->members, shown};
    enum sma_err err = SMA_ERR_OK;
    if (json_is_object(value))
        return check_members(&inner, "", value);
    for (size_t i = 0; err == SMA_ERR_OK && i < json_array_size(value); i++) {
        char item[PATH_BYTES_MAX], index[24];
        (void)snprintf(index, sizeof index, "%zu", i);
        join(item, shown, index);
        inner.shown = item;
        if (!json_is_object(json_array_get(value, i)))
            return sma_fail(place->check->error, SMA_ERR_BADINPUT, "%s: %s must be an object",
                            place->check->file, item);
        err = check_members(&inner, "", json_array_get(value, i));
    }
    return err;
}

/* Members of any name, each an object. */
static enum sma_err check_map(const struct place *place, const struct sma_param *row,
                              const char *shown, const json_t *map)
{
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)map, name, value)
    {
        char item[PATH_BYTES_MAX];
        join(item, shown, name);
        if (!json_is_object(value))
            return sma_fail(place->check->error, SMA_ERR_BADINPUT, "%s: %s must be an object",
                            place->check->file, item);
        SMA_TRY(check_table(place, row, item, value));
    }
    return SMA_ERR_OK;
}

static enum sma_err check_member(const struct place *place, const char *path, const json_t *value)
{
    const struct config_check *check = place->check;
    const struct sma_param *row = sma_params_find(place->table, path);
    char shown[PATH_BYTES_MAX];
    join(shown, place->shown, path);
    if (row == NULL) {
        warn_unknown_member(place, shown);
        return SMA_ERR_OK;
    }
    enum sma_err err = sma_param_check(row, check->file, shown, value, check->error);
    if (err != SMA_ERR_OK)
        return err;
    note_unused(check, row, shown, value);
    warn_partly(check, row, shown, value);
    if ((row->traits & (SMA_PARAM_LIVE | SMA_PARAM_UNUSED)) == 0 && !json_is_object(value))
        config_note_late(check->late, shown, value);
    if ((row->traits & SMA_PARAM_LIVE) != 0 && !json_is_object(value) && check->live != NULL)
        config_note_live(check->live, shown, value);
    if ((row->traits & SMA_PARAM_BLOCKS) != 0)
        return check_blocks(check, shown, value);
    if ((row->traits & SMA_PARAM_MAP) != 0)
        return check_map(place, row, shown, value);
    if (row->members != NULL && (row->type != SMA_PARAM_TYPE_ANY || json_is_object(value)))
        return check_table(place, row, shown, value);
    if (json_is_object(value) && (row->traits & SMA_PARAM_OPEN) == 0 &&
        (row->type == SMA_PARAM_TYPE_OBJECT || has_rows_below(place->table, path)))
        return check_members(place, path, value);
    return SMA_ERR_OK;
}

/* prefix: path of the object in its table, "" = the table's own. The tables are that deep, the file
 * may be deeper. */
static enum sma_err check_members(const struct place *place, const char *prefix,
                                  const json_t *object)
{
    const char *name;
    const json_t *value;
    enum sma_err err = SMA_ERR_OK;
    json_object_foreach((json_t *)object, name, value)
    {
        char path[PATH_BYTES_MAX];
        join(path, prefix, name);
        err = check_member(place, path, value);
        if (err != SMA_ERR_OK)
            return err;
    }
    return err;
}

/* -- platforms --------------------------------------------------------------------------------- */
/* Of the old program's schema, without code behind it then and now; said at start when it is
 * switched on. */
static bool is_without_code(const char *name)
{
    return strcmp(name, "discord") == 0;
}

static const struct sma_params *find_platform(const struct config_check *check, const char *name)
{
    for (const struct sma_params *const *at = check->platforms; *at != NULL; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

static void warn_unknown_platform(const struct config_check *check, const char *place,
                                  const char *shown)
{
    struct nearest nearest = {.distance = distance_limit(shown)};
    for (const struct sma_params *const *at = check->platforms; *at != NULL; at++) {
        char known[PATH_BYTES_MAX];
        join(known, place, (*at)->name);
        compare(&nearest, shown, known);
    }
    warn_unknown(check, shown, &nearest);
}

/* block: as it is shown; of a bot of a list with the bot's name. */
static enum sma_err check_block(const struct config_check *check, const char *block,
                                const char *platform, const json_t *value)
{
    const json_t *enabled = json_object_get(value, "enabled");
    if (!json_is_object(value))
        return sma_fail(check->error, SMA_ERR_BADINPUT, "%s: %s must be an object", check->file,
                        block);
    if (enabled != NULL && !config_is_flag(enabled))
        return sma_fail(check->error, SMA_ERR_BADINPUT, "%s: %s.enabled must be true or false",
                        check->file, block);
    if (check->platforms == NULL || is_without_code(platform))
        return SMA_ERR_OK;
    const struct sma_params *table = find_platform(check, platform);
    struct place place = {check, table, block};
    if (table != NULL)
        return check_members(&place, "", value);
    char place_of_all[PATH_BYTES_MAX];
    (void)snprintf(place_of_all, sizeof place_of_all, "%.*s", (int)strcspn(block, "."), block);
    warn_unknown_platform(check, place_of_all, block);
    return SMA_ERR_OK;
}

/* Only platforms on which people write have bots; commands that know no tables believe the file. */
static bool may_have_bots(const struct config_check *check, const char *name)
{
    const struct sma_params *table = check->platforms == NULL ? NULL : find_platform(check, name);
    return check->platforms == NULL || (table != NULL && sma_params_find(table, "id") != NULL);
}

static enum sma_err check_list(const struct config_check *check, const char *shown,
                               const char *platform, const json_t *list)
{
    char block[PATH_BYTES_MAX], bot[SMA_BOT_NAME_BYTES_MAX];
    join(block, shown, platform);
    SMA_TRY(config_check_bots(check, block, list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        config_put_bot_name(bot, platform, json_array_get(list, i));
        join(block, shown, bot);
        SMA_TRY(check_block(check, block, platform, json_array_get(list, i)));
    }
    return SMA_ERR_OK;
}

static void warn_lone_id(const struct config_check *check, const char *block, const json_t *value)
{
    char line[1024];
    if (json_object_get(value, "id") == NULL)
        return;
    (void)snprintf(line, sizeof line,
                   "%s: %s.id is ignored: it counts in a list of bots, and this is one bot",
                   check->file, block);
    check->warn(check->user, line);
}

static enum sma_err check_blocks(const struct config_check *check, const char *shown,
                                 const json_t *blocks)
{
    const char *name;
    const json_t *value;
    json_object_foreach((json_t *)blocks, name, value)
    {
        char block[PATH_BYTES_MAX];
        join(block, shown, name);
        if (json_is_array(value) && may_have_bots(check, name)) {
            SMA_TRY(check_list(check, shown, name, value));
            continue;
        }
        SMA_TRY(check_block(check, block, name, value));
        if (check->platforms != NULL && may_have_bots(check, name))
            warn_lone_id(check, block, value);
    }
    return SMA_ERR_OK;
}

enum sma_err sma_config_validate(const struct config_check *check, const json_t *root)
{
    if (!json_is_object(root))
        return sma_fail(check->error, SMA_ERR_BADINPUT, "%s: must hold one JSON object { ... }",
                        check->file);
    size_t unknown_count = 0;
    struct config_check counting = *check;
    counting.unknown_count = &unknown_count;
    struct place place = {&counting, &config_params, ""};
    enum sma_err err = check_members(&place, "", root);
    if (unknown_count > UNKNOWN_KEYS_TOLD_MAX) {
        char line[1024];
        (void)snprintf(line, sizeof line, "%s: %zu more unknown keys are ignored", check->file,
                       unknown_count - UNKNOWN_KEYS_TOLD_MAX);
        check->warn(check->user, line);
    }
    return err;
}
