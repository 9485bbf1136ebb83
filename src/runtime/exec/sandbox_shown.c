/*
 * sandbox_shown.c — files that commands see in other words: ship.json without the secrets that are
 * written into it, and what of git's settings is about the person.
 *
 * What a command writes is cleaned of secrets by value, but `base64 ship.json` says the same in
 * other words. So the file itself is another one in the sandbox when it holds any.
 */
#include "sandbox_priv.h"

#include "exec_env.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define SHIP_BYTES_MAX ((size_t)1024 * 1024)
#define GIT_BYTES_MAX ((size_t)256 * 1024)

static bool is_placeholder(const char *text)
{
    size_t len = strlen(text);
    return strncmp(text, "${", 2) == 0 && strchr(text, '}') == text + len - 1;
}

static bool is_secret(const struct sma_secrets *secrets, const char *name, const char *text)
{
    if (text[0] == '\0' || is_placeholder(text))
        return false;
    return (name != NULL && sma_secrets_is_name(name)) || sma_exec_env_has_userinfo(text) ||
           (secrets != NULL && sma_secrets_has(secrets, sma_str(text)));
}

/* One level of the file; what lies in it is put on the list. */
struct walk
{
    const struct sma_secrets *secrets;
    json_t *open[1024];      /* borrowed from the tree */
    const char *names[1024]; /* of the member that holds it: a list of tokens is one of secrets */
    size_t open_count;
    bool is_changed, is_too_much;
};

static json_t *shown(struct walk *walk, const char *name, json_t *value)
{
    if (json_is_object(value) || json_is_array(value)) {
        if (walk->open_count == SMA_COUNT_OF(walk->open))
            walk->is_too_much = true;
        else {
            walk->names[walk->open_count] = name;
            walk->open[walk->open_count++] = value;
        }
        return NULL;
    }
    if (!json_is_string(value) || !is_secret(walk->secrets, name, json_string_value(value)))
        return NULL;
    walk->is_changed = true;
    return json_string(SMA_SECRETS_TEXT);
}

static void walk_one(struct walk *walk, json_t *node, const char *node_name)
{
    const char *name;
    json_t *value;
    size_t index;
    void *next;
    json_object_foreach_safe(node, next, name, value)
    {
        json_t *other = shown(walk, name, value);
        if (other != NULL && json_object_set_new(node, name, other) != 0)
            walk->is_too_much = true;
    }
    json_array_foreach(node, index, value)
    {
        json_t *other = shown(walk, node_name, value);
        if (other != NULL && json_array_set_new(node, index, other) != 0)
            walk->is_too_much = true;
    }
}

enum sma_err sma_sandbox_show_ship(const char *path, const struct sma_secrets *secrets,
                                   char **ret_text)
{
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    *ret_text = NULL;
    enum sma_err err = sma_sys_read_file(sma_sys_real(), path, SHIP_BYTES_MAX, &bytes, &len, NULL);
    if (err == SMA_ERR_NOTFOUND)
        return SMA_ERR_OK;
    json_t *root = err == SMA_ERR_OK ? json_loadb(bytes, len, 0, NULL) : NULL;
    struct walk *walk = calloc(1, sizeof *walk);
    bool is_readable = root != NULL && walk != NULL;
    if (is_readable) {
        walk->secrets = secrets;
        (void)shown(walk, NULL, root); /* an object or nothing */
        while (walk->open_count > 0 && !walk->is_too_much) {
            size_t last = --walk->open_count;
            walk_one(walk, walk->open[last], walk->names[last]);
        }
    }
    /* What cannot be read through is not shown at all. */
    if (!is_readable || walk->is_too_much)
        *ret_text = strdup("{}\n");
    else if (walk->is_changed)
        *ret_text = json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    bool is_missing = *ret_text == NULL && (!is_readable || walk->is_changed);
    free(walk);
    json_decref(root);
    return is_missing ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

/* -- git --------------------------------------------------------------------------------------- */
/* Who somebody is, and how files look; nothing that names a program, a file or a key. In small
 * letters, as git compares them. Source: git-config(1), "Variables". */
static const struct git_row
{
    const char *section, *name;
} GIT_ROWS[] = {{"user", "name"},
                {"user", "email"},
                {"init", "defaultbranch"},
                {"core", "autocrlf"},
                {"safe", "directory"}};

static bool is_git_row(struct sma_str section, struct sma_str name)
{
    for (size_t i = 0; i < SMA_COUNT_OF(GIT_ROWS); i++)
        if (section.len == strlen(GIT_ROWS[i].section) && name.len == strlen(GIT_ROWS[i].name) &&
            strncasecmp(section.ptr, GIT_ROWS[i].section, section.len) == 0 &&
            strncasecmp(name.ptr, GIT_ROWS[i].name, name.len) == 0)
            return true;
    return false;
}

/* One file of settings, line by line. A value that goes on in the next line is left out. */
static void put_git_rows(struct sma_buf *out, const char *text)
{
    struct sma_str section = SMA_STR("");
    for (const char *at = text; *at != '\0';) {
        struct sma_str line = {.ptr = at, .len = strcspn(at, "\n")};
        at += line.len + (at[line.len] == '\n');
        line = sma_str_trim(line);
        if (line.len > 0 && line.ptr[0] == '[') {
            const char *end = memchr(line.ptr, ']', line.len);
            section.ptr = line.ptr + 1;
            section.len = end == NULL ? 0 : (size_t)(end - section.ptr);
            continue;
        }
        const char *equals = memchr(line.ptr, '=', line.len);
        struct sma_str name = {.ptr = line.ptr,
                               .len = equals == NULL ? 0 : (size_t)(equals - line.ptr)};
        if (equals != NULL && line.ptr[line.len - 1] != '\\' &&
            is_git_row(section, sma_str_trim(name)))
            sma_buf_printf(out, "[%.*s]\n\t%.*s\n", (int)section.len, section.ptr, (int)line.len,
                           line.ptr);
    }
}

static void read_git_file(struct sma_buf *out, const char *folder, const char *name)
{
    char path[PATH_MAX];
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
        sma_sys_read_file(sma_sys_real(), path, GIT_BYTES_MAX, &bytes, &len, NULL) == SMA_ERR_OK)
        put_git_rows(out, bytes);
}

enum sma_err sma_sandbox_git_settings(const char *home, char **ret_text)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    struct sma_buf out;
    *ret_text = NULL;
    sma_buf_init(&out, 2 * GIT_BYTES_MAX);
    /* in the order that git reads them in: the last word counts */
    if (config != NULL && config[0] == '/')
        read_git_file(&out, config, "git/config");
    else
        read_git_file(&out, home, ".config/git/config");
    read_git_file(&out, home, ".gitconfig");
    if (out.err == SMA_ERR_OK && out.len > 0)
        *ret_text = strndup(out.ptr, out.len);
    bool is_missing = out.err != SMA_ERR_OK || (out.len > 0 && *ret_text == NULL);
    sma_buf_fini(&out);
    return is_missing ? SMA_ERR_NOMEM : SMA_ERR_OK;
}
