/* program.c — see program.h. */
#include "program.h"

#include "sma/text.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOLDERS_USUAL "/usr/bin:/bin"
#define ENTRY_COUNT_MAX 20000 /* that are looked at, of all folders */

/* The next folder of *path. false: there is none. */
static bool take_folder(const char **path, char folder[PATH_MAX])
{
    size_t len;
    do {
        *path += **path == ':';
        len = strcspn(*path, ":");
        snprintf(folder, PATH_MAX, "%.*s", (int)(len < PATH_MAX ? len : 0), *path);
        *path += len;
    } while (folder[0] == '\0' && **path != '\0');
    return folder[0] != '\0';
}

bool sma_program_find(const char *name, const char *path, const char *dir, char ret_file[PATH_MAX])
{
    char folder[PATH_MAX];
    const char *at = path == NULL ? FOLDERS_USUAL : path;
    if (strchr(name, '/') != NULL)
        return snprintf(ret_file, PATH_MAX, "%s%s%s", name[0] == '/' ? "" : dir,
                        name[0] == '/' ? "" : "/", name) < PATH_MAX &&
               access(ret_file, F_OK) == 0;
    while (take_folder(&at, folder))
        if (snprintf(ret_file, PATH_MAX, "%s/%s", folder, name) < PATH_MAX &&
            access(ret_file, X_OK) == 0)
            return true;
    return false;
}

const char *sma_program_source(const char *name)
{
    static const struct
    {
        const char *name, *source;
    } rows[] = {{"npx", "sudo apt install npm"},
                {"npm", "sudo apt install npm"},
                {"node", "sudo apt install nodejs"},
                {"uvx", "install uv: sudo apt install pipx && pipx install uv"},
                {"uv", "sudo apt install pipx && pipx install uv"},
                {"python", "sudo apt install python-is-python3"},
                {"python3", "sudo apt install python3"},
                {"docker", "sudo apt install docker.io"},
                {"podman", "sudo apt install podman"},
                {"go", "sudo apt install golang-go"},
                {"cargo", "sudo apt install cargo"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].source;
    return NULL;
}

/* "mr" and "rm": two neighbours exchanged and nothing else. */
static bool is_exchanged(const char *one, const char *other)
{
    size_t at = 0;
    while (one[at] != '\0' && one[at] == other[at])
        at++;
    return one[at] != '\0' && one[at + 1] != '\0' && one[at] == other[at + 1] &&
           one[at + 1] == other[at] && strcmp(one + at + 2, other + at + 2) == 0;
}

/* Names that mean themselves, also where they are not installed: "npx" is no misspelt "npm". */
static bool is_known(const char *name)
{
    static const char *const known[] = {
        "yarn", "pnpm", "bun",   "deno", "zsh",   "ksh",  "fish",  "doas",     "su",  "pip",
        "pip3", "nc",   "ncat",  "sftp", "rsync", "halt", "svn",   "hg",       "gh",  "aws",
        "az",   "helm", "pkill", "ftp",  "lftp",  "gcc",  "rmdir", "poweroff", "cvs", "ed"};
    for (size_t i = 0; i < SMA_COUNT_OF(known); i++)
        if (strcmp(known[i], name) == 0)
            return true;
    return sma_program_source(name) != NULL;
}

bool sma_program_near(const char *name, const char *path, char *ret_near, size_t room)
{
    /* What people forbid comes first: near "rmm" are many. */
    static const char *const usual[] = {"rm",    "git",  "sudo", "curl",     "wget", "chmod",
                                        "chown", "kill", "dd",   "shutdown", "mkfs", "reboot",
                                        "mv",    "ssh",  "scp",  "docker",   "npm",  "python3"};
    char folder[PATH_MAX];
    size_t len = strlen(name), left = ENTRY_COUNT_MAX;
    for (size_t i = 0; i < SMA_COUNT_OF(usual); i++)
        if (is_known(name) || strcmp(usual[i], name) == 0)
            return false;
    for (size_t i = 0; i < SMA_COUNT_OF(usual); i++)
        if (sma_text_distance(sma_str(usual[i]), sma_str(name)) == 1 ||
            is_exchanged(usual[i], name))
            return snprintf(ret_near, room, "%s", usual[i]) < (int)room;
    for (const char *at = path == NULL ? FOLDERS_USUAL : path;
         len > 3 && take_folder(&at, folder);) {
        DIR *entries = opendir(folder);
        bool is_found = false;
        for (struct dirent *entry;
             entries != NULL && !is_found && left > 0 && (entry = readdir(entries)) != NULL; left--)
            if (sma_text_distance(sma_str(entry->d_name), sma_str(name)) == 1 ||
                is_exchanged(entry->d_name, name))
                is_found = snprintf(ret_near, room, "%s", entry->d_name) < (int)room;
        if (entries != NULL)
            closedir(entries);
        if (is_found)
            return true;
    }
    return false;
}
