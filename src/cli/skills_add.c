/*
 * skills_add.c — `shipmyagent skills add PATH`: a skill from a folder or an archive into
 * `.claude/skills`.
 *
 * The source is a stranger's. An archive is looked through by tar's own list before it is unpacked
 * (kinds, names, sizes), both under limits of the kernel for time and for the size of a file; what
 * came out is read by the same code that reads skills, which refuses links that lead out, pipes,
 * devices and what is too large. Everything happens in a hidden folder beside its place; only what
 * was shown to the owner and agreed to is renamed from there.
 */
#include "archive.h"
#include "cli.h"
#include "prompt.h"
#include "runtime/skills/roots.h"
#include "skills.h"
#include "sma/limits.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_BYTES_MAX 64
#define ROOT ".claude/skills"
#define ZIP_READER "/usr/bin/bsdtar" /* tar reads none */
#define CPU_LIMIT "--cpu=20"
#define FILE_LIMIT "--fsize=16777216"
_Static_assert(SMA_SKILL_BYTES_MAX == 16777216, "the limit of a file is that of a skill");
#define LIST_BYTES_MAX ((size_t)1024 * 1024)
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct adding
{
    const struct sma_config *config;
    const struct sma_skills_options *options;
    struct sma_stage stage;
    char id[ID_BYTES_MAX + 1];
    char found[PATH_MAX]; /* the skill in the stage */
    struct sma_error *error;
};

static enum sma_err fail(const struct adding *adding, const char *what)
{
    return sma_fail(adding->error, SMA_ERR_BADINPUT, "%.200s %s", adding->options->what, what);
}

static bool ends_with(const char *name, const char *end)
{
    size_t len = strlen(name), end_len = strlen(end);
    return len > end_len && strcasecmp(name + len - end_len, end) == 0;
}

/* -- what it is called ------------------------------------------------------------------------- */
static enum sma_err set_id(struct adding *adding, const char *name)
{
    static const char *const ends[] = {".tar.gz", ".tar.xz", ".tgz", ".txz", ".tar", ".zip"};
    size_t len = strlen(name);
    for (size_t i = 0; i < SMA_COUNT_OF(ends); i++)
        if (ends_with(name, ends[i])) {
            len -= strlen(ends[i]);
            break;
        }
    bool is_good = len > 0 && len <= ID_BYTES_MAX && name[0] != '.';
    for (size_t i = 0; is_good && i < len; i++)
        is_good = isalnum((unsigned char)name[i]) || strchr("-_.", name[i]) != NULL;
    if (!is_good)
        return fail(adding, "cannot give the skill its name: rename it to 1 to 64 letters, digits "
                            "and \"-\", \"_\", \".\"");
    (void)snprintf(adding->id, sizeof adding->id, "%.*s", (int)len, name);
    return SMA_ERR_OK;
}

/* -- an archive -------------------------------------------------------------------------------- */
/* One line of `tar --list --verbose`: "-rw-r--r-- 1000/1000  12 2026-11-24 00:00 name". */
static enum sma_err check_line(const struct adding *adding, const char *line, uint64_t *total)
{
    unsigned long long bytes = 0;
    char kind = line[0];
    if (kind != '-' && kind != 'd' && kind != 'l')
        return fail(adding, "holds something that is no file, folder or symbolic link");
    if (sscanf(line, "%*s %*s %llu", &bytes) != 1 || bytes > SMA_SKILL_BYTES_MAX)
        return fail(adding, "holds a file that is too large");
    *total += bytes;
    if (*total > SMA_SKILL_BYTES_MAX)
        return fail(adding, "unpacks to more than 16 MiB");
    return SMA_ERR_OK;
}

static enum sma_err check_list(const struct adding *adding, char *text)
{
    uint64_t total = 0;
    size_t count = 0;
    for (char *line = text, *end; line != NULL && *line != '\0'; line = end) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end++ = '\0';
        if (++count > SMA_SKILL_FILE_COUNT_MAX)
            return fail(adding, "holds more than 1000 files");
        SMA_TRY(check_line(adding, line, &total));
    }
    return SMA_ERR_OK;
}

static enum sma_err list_archive(const struct adding *adding, const char *file)
{
    char index[PATH_MAX];
    SMA_AUTO(sma_freep) char *text = NULL;
    size_t len = 0;
    if (!sma_stage_path(&adding->stage, "list", index))
        return fail(adding, "has too long a path");
    char index_option[PATH_MAX + 16];
    (void)snprintf(index_option, sizeof index_option, "--index-file=%s", index);
    const char *argv[] = {"prlimit",
                          CPU_LIMIT,
                          FILE_LIMIT,
                          "tar",
                          "--list",
                          "--verbose",
                          "--numeric-owner",
                          "--quoting-style=escape",
                          "--force-local",
                          index_option,
                          "--file",
                          file,
                          NULL};
    SMA_TRY(sma_archive_tar((char *const *)(uintptr_t)argv, adding->error));
    enum sma_err err =
        sma_sys_read_file(sma_sys_real(), index, LIST_BYTES_MAX, &text, &len, adding->error);
    if (err == SMA_ERR_TOOBIG)
        return fail(adding, "holds too many files");
    return err == SMA_ERR_OK ? check_list(adding, text) : err;
}

static enum sma_err unpack(const struct adding *adding, const char *file, const char *to)
{
    const char *argv[] = {"prlimit",
                          CPU_LIMIT,
                          FILE_LIMIT,
                          "tar",
                          "--extract",
                          "--force-local",
                          "--no-same-owner",
                          "--no-same-permissions",
                          "--delay-directory-restore",
                          "--file",
                          file,
                          "-C",
                          to,
                          NULL};
    return sma_archive_tar((char *const *)(uintptr_t)argv, adding->error);
}

/* As a tar archive of our own, which is then looked through like any other. */
static enum sma_err convert_zip(const struct adding *adding, const char *to)
{
    char from[PATH_MAX + 1];
    if (access(ZIP_READER, X_OK) != 0)
        return fail(adding, "is a zip archive, and bsdtar is not installed: apt install "
                            "libarchive-tools, or unpack it, look at it, and add the folder");
    (void)snprintf(from, sizeof from, "@%s", adding->options->what);
    const char *argv[] = {"prlimit", CPU_LIMIT, FILE_LIMIT, ZIP_READER, "--create", "--format",
                          "ustar",   "--file",  to,         from,       NULL};
    return sma_archive_tar((char *const *)(uintptr_t)argv, adding->error);
}

/* -- a folder ---------------------------------------------------------------------------------- */
/* Read first by the code that refuses what hangs or leads out; then it is an archive of our own. */
static enum sma_err pack_folder(const struct adding *adding, const char *to)
{
    struct sma_skill_budget budget = {SMA_SKILL_FILE_COUNT_MAX, SMA_SKILL_BYTES_MAX};
    struct sma_skill_tree tree = {.text = NULL};
    struct sma_error detail = {.code = SMA_ERR_OK};
    int fd = open(adding->options->what, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return sma_fail_os(adding->error, errno, "cannot open %s", adding->options->what);
    enum sma_err err = sma_skill_tree_read(fd, NULL, &budget, &tree, &detail);
    close(fd);
    free(tree.text);
    if (err != SMA_ERR_OK)
        return sma_fail(adding->error, err, "%.200s: %s", adding->options->what, detail.text);
    const char *argv[] = {
        "tar", "--create", "--force-local", "--file", to, "-C", adding->options->what, ".", NULL};
    return sma_archive_tar((char *const *)(uintptr_t)argv, adding->error);
}

/* -- which folder of it ------------------------------------------------------------------------ */
static bool holds_skill(const char *folder)
{
    char path[PATH_MAX];
    struct stat facts;
    int len = snprintf(path, sizeof path, "%s/SKILL.md", folder);
    return len > 0 && (size_t)len < sizeof path && lstat(path, &facts) == 0 &&
           S_ISREG(facts.st_mode);
}

/* The one folder in `top` that is a skill; its name is the skill's. */
static enum sma_err find_below(struct adding *adding, const char *top)
{
    DIR *dir = opendir(top);
    size_t count = 0;
    char path[PATH_MAX], name[NAME_MAX + 1] = "";
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        int len = snprintf(path, sizeof path, "%s/%s", top, entry->d_name);
        if (entry->d_name[0] == '.' || len < 0 || (size_t)len >= sizeof path || !holds_skill(path))
            continue;
        count++;
        (void)snprintf(name, sizeof name, "%s", entry->d_name);
        (void)snprintf(adding->found, sizeof adding->found, "%s", path);
    }
    if (dir != NULL)
        (void)closedir(dir); /* was only read */
    if (count == 1)
        return set_id(adding, name);
    return fail(adding, count == 0 ? "holds no SKILL.md, neither at its top nor in a folder there"
                                   : "holds several skills: add them one by one");
}

static enum sma_err find_skill(struct adding *adding, const char *top)
{
    if (!holds_skill(top))
        return find_below(adding, top);
    (void)snprintf(adding->found, sizeof adding->found, "%s", top);
    return SMA_ERR_OK;
}

static enum sma_err bring(struct adding *adding)
{
    char top[PATH_MAX], packed[PATH_MAX];
    struct stat facts;
    if (!sma_stage_path(&adding->stage, "x", top) ||
        !sma_stage_path(&adding->stage, "packed.tar", packed))
        return fail(adding, "would have too long a path");
    if (mkdir(top, 0700) != 0)
        return sma_fail_os(adding->error, errno, "cannot make %s", top);
    if (stat(adding->options->what, &facts) != 0)
        return sma_fail_os(adding->error, errno, "cannot look at %s", adding->options->what);
    if (S_ISDIR(facts.st_mode)) {
        SMA_TRY(pack_folder(adding, packed));
        SMA_TRY(unpack(adding, packed, top));
    } else if (!S_ISREG(facts.st_mode)) {
        return fail(adding, "is neither a folder nor a file");
    } else {
        const char *archive = adding->options->what;
        if (ends_with(archive, ".zip")) {
            SMA_TRY(convert_zip(adding, packed));
            archive = packed;
        }
        SMA_TRY(list_archive(adding, archive));
        SMA_TRY(unpack(adding, archive, top));
    }
    return find_skill(adding, top);
}

/* -- into its place ---------------------------------------------------------------------------- */
static enum sma_err look(const struct adding *adding, struct sma_skill *skill)
{
    struct sma_skill_budget budget = {SMA_SKILL_FILE_COUNT_MAX, SMA_SKILL_BYTES_MAX};
    struct sma_error detail = {.code = SMA_ERR_OK};
    int fd = open(adding->found, FOLDER_FLAGS);
    if (fd < 0)
        return sma_fail_os(adding->error, errno, "cannot open %s", adding->found);
    enum sma_err err = sma_skill_tree_read(fd, NULL, &budget, &skill->tree, &detail);
    if (err == SMA_ERR_OK) {
        struct sma_str text = {skill->tree.text, skill->tree.text_len};
        skill->has_front_error = sma_skill_front_parse(text, &skill->front, &detail) != SMA_ERR_OK;
        skill->why = skill->has_front_error ? detail.text : NULL;
        (void)fflush(stdout);
        err = sma_skills_print(skill, fd, "to be added", adding->error);
    } else {
        (void)sma_fail(adding->error, err, "%.200s: %s", adding->options->what, detail.text);
    }
    skill->why = NULL; /* it was this function's */
    close(fd);
    return err;
}

static enum sma_err put_in_place(const struct adding *adding, const char *place)
{
    char to[PATH_MAX];
    int len = snprintf(to, sizeof to, "%s/%s", adding->config->project_dir, place);
    if (len < 0 || (size_t)len >= sizeof to)
        return fail(adding, "would have too long a path");
    if (renameat2(AT_FDCWD, adding->found, AT_FDCWD, to, RENAME_NOREPLACE) != 0)
        return errno == EEXIST ? sma_fail(adding->error, SMA_ERR_EXISTS,
                                          "%s is there already: remove it first, or give the new "
                                          "one another name",
                                          place)
                               : sma_fail_os(adding->error, errno, "cannot make %s", to);
    return sma_sys_sync_parent(sma_sys_real(), to, adding->error);
}

static enum sma_err offer(struct adding *adding, bool *ret_is_added)
{
    char place[PATH_MAX];
    (void)snprintf(place, sizeof place, "%s/%s", ROOT, adding->id);
    struct sma_skill skill = {.id = adding->id, .place = place};
    const struct sma_skill *shown = &skill;
    enum sma_err err = look(adding, &skill);
    if (err == SMA_ERR_OK && sma_prompt_agree("skills", adding->options->is_yes,
                                              "Its words will guide the agent. Add what is shown "
                                              "above?")) {
        err = put_in_place(adding, place);
        if (err == SMA_ERR_OK)
            err = sma_skills_accept(adding->config, &shown, 1, adding->error);
        *ret_is_added = err == SMA_ERR_OK;
    }
    free(skill.tree.text);
    sma_skill_front_fini(&skill.front);
    return err;
}

/* A link would lead the skill to another place than the one that is accepted. */
static enum sma_err make_root(const struct adding *adding, char root[PATH_MAX])
{
    char real[PATH_MAX];
    int len = snprintf(root, PATH_MAX, "%s/" ROOT, adding->config->project_dir);
    if (len < 0 || len >= PATH_MAX)
        return sma_fail(adding->error, SMA_ERR_TOOBIG, "the project's path is too long");
    SMA_TRY(sma_sys_make_shared_dirs(sma_sys_real(), root, adding->error));
    if (realpath(root, real) == NULL || strcmp(real, root) != 0)
        return sma_fail(adding->error, SMA_ERR_UNSUPPORTED,
                        "%s is a link: put the skill there by hand, and run `shipmyagent skills "
                        "accept`",
                        root);
    return SMA_ERR_OK;
}

static enum sma_err add(struct adding *adding, bool *ret_is_added)
{
    char root[PATH_MAX], beside[PATH_MAX], real[PATH_MAX];
    size_t accepted = 0;
    if (realpath(adding->options->what, real) == NULL)
        return sma_fail_os(adding->error, errno, "cannot look at %s", adding->options->what);
    SMA_TRY(set_id(adding, strrchr(real, '/') + 1));
    SMA_TRY(sma_sys_make_dirs(sma_sys_real(), adding->config->state_dir, adding->error));
    SMA_TRY(sma_skills_begin(adding->config, &accepted, adding->error));
    SMA_TRY(make_root(adding, root));
    int len = snprintf(beside, sizeof beside, "%s/.add", root); /* a name that no skill has */
    if (len < 0 || (size_t)len >= sizeof beside)
        return sma_fail(adding->error, SMA_ERR_TOOBIG, "the project's path is too long");
    (void)umask(022); /* what tar makes of it; other users may not write */
    SMA_TRY(sma_stage_make(beside, &adding->stage, adding->error));
    enum sma_err err = bring(adding);
    if (err == SMA_ERR_OK)
        err = offer(adding, ret_is_added);
    sma_stage_remove(&adding->stage);
    return err;
}

int sma_skills_add(const struct sma_config *config, const struct sma_skills_options *options)
{
    struct sma_error error = {.code = SMA_ERR_OK};
    struct adding adding = {.config = config, .options = options, .error = &error};
    bool is_added = false, had_skills = config->has_skills;
    if (add(&adding, &is_added) != SMA_ERR_OK)
        return sma_cli_fail("skills: %s", error.text);
    if (!is_added)
        return 1;
    printf("%s/%s is there and accepted.%s\n", ROOT, adding.id,
           had_skills ? ""
                      : " It is the first one: a running service looks for skills from its "
                        "next reload (SIGHUP) or start on.");
    return 0;
}
