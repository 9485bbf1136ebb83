/* scan.c — see scan.h. */
#include "runtime/skills/scan.h"

#include "runtime/skills/record.h"
#include "runtime/skills/roots.h"
#include "sma/limits.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID_BYTES_MAX 128
#define NOTES_BYTES_MAX (64 * 1024)
#define LOCK_WAIT_MS 5000
#define GROUP_DEPTH_MAX 2     /* folders of folders above a skill's own */
#define FOLDER_COUNT_MAX 4096 /* below one root */
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

struct scan
{
    const struct sma_config *config;
    const struct sma_skills *before;
    const struct sma_skill_record *record; /* NULL: nothing is accepted */
    struct sma_skills *skills;
    struct sma_skill_budget budget;
    struct sma_buf notes;
    size_t room, folder_count; /* looked at below the root */
    bool is_full;
};

const char *sma_skill_state_name(enum sma_skill_state state)
{
    static const char *const names[] = {[SMA_SKILL_ACCEPTED] = "accepted",
                                        [SMA_SKILL_NEW] = "new",
                                        [SMA_SKILL_CHANGED] = "changed",
                                        [SMA_SKILL_BROKEN] = "broken"};
    return names[state];
}

const char *sma_skill_name(const struct sma_skill *skill)
{
    const char *name = skill->front.name;
    return name == NULL || name[0] == '\0' ? skill->id : name;
}

size_t sma_skills_count(const struct sma_skills *skills, enum sma_skill_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < skills->count; i++)
        count += skills->list[i].state == state;
    return count;
}

static void fini_skill(struct sma_skill *skill)
{
    free(skill->id);
    free(skill->place);
    free(skill->root);
    free(skill->why);
    free(skill->tree.text);
    sma_skill_front_fini(&skill->front);
}

void sma_skills_destroy(struct sma_skills *skills)
{
    if (skills == NULL)
        return;
    for (size_t i = 0; i < skills->count; i++)
        fini_skill(&skills->list[i]);
    free(skills->list);
    free(skills->notes);
    free(skills);
}

/* -- one skill --------------------------------------------------------------------------------- */
static bool is_good_id(const char *id)
{
    size_t len = strlen(id);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)id[i] < 0x20 || id[i] == 0x7f)
            return false;
    return len <= ID_BYTES_MAX && sma_utf8_is_valid((struct sma_str){id, len});
}

static const struct sma_skill *find_before(const struct scan *scan, const char *place)
{
    for (size_t i = 0; scan->before != NULL && i < scan->before->count; i++)
        if (strcmp(scan->before->list[i].place, place) == 0)
            return &scan->before->list[i];
    return NULL;
}

static char *dup_text(const char *text)
{
    return text == NULL ? NULL : strdup(text);
}

/* What was read of it before, when it is the same. */
static enum sma_err copy_front(struct sma_skill *skill, const struct sma_skill *before)
{
    const struct sma_skill_front *from = &before->front;
    skill->front = (struct sma_skill_front){
        .name = dup_text(from->name),
        .description = dup_text(from->description),
        .license = dup_text(from->license),
        .allowed_tools = dup_text(from->allowed_tools),
        .metadata = dup_text(from->metadata),
    };
    skill->has_front_error = before->has_front_error;
    skill->why = before->has_front_error ? dup_text(before->why) : NULL;
    const struct sma_skill_front *to = &skill->front;
    bool is_whole = (to->name == NULL) == (from->name == NULL) &&
                    (to->description == NULL) == (from->description == NULL) &&
                    (to->license == NULL) == (from->license == NULL) &&
                    (to->allowed_tools == NULL) == (from->allowed_tools == NULL) &&
                    (to->metadata == NULL) == (from->metadata == NULL) &&
                    (skill->why != NULL) == before->has_front_error;
    return is_whole ? SMA_ERR_OK : SMA_ERR_NOMEM;
}

static enum sma_err set_broken(struct sma_skill *skill, const char *why)
{
    skill->state = SMA_SKILL_BROKEN;
    free(skill->why);
    skill->why = strdup(why);
    return skill->why == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

static enum sma_err read_front(struct sma_skill *skill, const struct sma_skill *before)
{
    struct sma_error error = {.code = SMA_ERR_OK};
    if (skill->tree.text == NULL)
        return copy_front(skill, before);
    enum sma_err err = sma_skill_front_parse(
        (struct sma_str){skill->tree.text, skill->tree.text_len}, &skill->front, &error);
    free(skill->tree.text);
    skill->tree.text = NULL;
    if (err != SMA_ERR_BADINPUT)
        return err;
    skill->has_front_error = true;
    skill->why = strdup(error.text);
    return skill->why == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
}

static enum sma_err look_at(struct scan *scan, struct sma_skill *skill, int fd)
{
    struct sma_error error = {.code = SMA_ERR_OK};
    const struct sma_skill *before = find_before(scan, skill->place);
    const struct sma_skill_tree *known =
        before != NULL && before->state != SMA_SKILL_BROKEN ? &before->tree : NULL;
    enum sma_err err = sma_skill_tree_read(fd, known, &scan->budget, &skill->tree, &error);
    if (err == SMA_ERR_BADINPUT)
        return set_broken(skill, error.text);
    if (err == SMA_ERR_OK)
        err = read_front(skill, before);
    if (err != SMA_ERR_OK || scan->record == NULL)
        return err;
    enum sma_skill_accepted found =
        sma_skill_record_find(scan->record, skill->place, skill->tree.digest);
    skill->state = found == SMA_SKILL_SAME    ? SMA_SKILL_ACCEPTED
                   : found == SMA_SKILL_OTHER ? SMA_SKILL_CHANGED
                                              : SMA_SKILL_NEW;
    return SMA_ERR_OK;
}

/* -- one root ---------------------------------------------------------------------------------- */
static enum sma_err make_room(struct scan *scan)
{
    struct sma_skills *skills = scan->skills;
    if (skills->count < scan->room)
        return SMA_ERR_OK;
    size_t room = scan->room * 2 + 8;
    struct sma_skill *more = realloc(skills->list, room * sizeof *more);
    if (more == NULL)
        return SMA_ERR_NOMEM;
    skills->list = more;
    scan->room = room;
    return SMA_ERR_OK;
}

static void note(struct scan *scan, const char *root, const char *text)
{
    sma_buf_put_text(&scan->notes, root);
    sma_buf_put_text(&scan->notes, ": ");
    sma_buf_put_text(&scan->notes, text);
    sma_buf_put_char(&scan->notes, '\n');
}

static const char *place_of(const struct sma_config *config, const char *real)
{
    size_t len = strlen(config->project_dir);
    if (len > 1 && sma_skill_is_inside(config, real) && real[len] == '/')
        return real + len + 1;
    return real;
}

static bool is_listed(const struct scan *scan, const char *place)
{
    for (size_t i = 0; i < scan->skills->count; i++)
        if (strcmp(scan->skills->list[i].place, place) == 0)
            return true;
    return false;
}

static enum sma_err add_skill(struct scan *scan, const struct sma_skill_root *root, const char *id,
                              int fd)
{
    char real[PATH_MAX];
    if (!sma_skill_real_path(fd, real, sizeof real))
        return SMA_ERR_OK; /* it was removed just now */
    const char *place = place_of(scan->config, real);
    if (is_listed(scan, place))
        return SMA_ERR_OK; /* a link to one that is listed */
    if (scan->skills->count == SMA_SKILL_COUNT_MAX) {
        scan->is_full = true;
        return SMA_ERR_OK;
    }
    SMA_TRY(make_room(scan));
    struct sma_skill *skill = &scan->skills->list[scan->skills->count++];
    *skill = (struct sma_skill){.id = strdup(id),
                                .place = strdup(place),
                                .root = strdup(root->said),
                                .state = SMA_SKILL_NEW};
    if (skill->id == NULL || skill->place == NULL || skill->root == NULL)
        return SMA_ERR_NOMEM;
    size_t state_len = strlen(scan->config->state_dir);
    if (!scan->config->has_outer_skills && !sma_skill_is_inside(scan->config, real))
        return set_broken(skill, "it is a link that leads out of the project, and "
                                 "skills.allowExternalPaths does not allow that");
    if (strncmp(real, scan->config->state_dir, state_len) == 0 &&
        (real[state_len] == '/' || real[state_len] == '\0'))
        return set_broken(skill, "it is a link into .ship, which holds no skills");
    return look_at(scan, skill, fd);
}

static int compare_names(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Names first, in order: which of too many are left out does not change from look to look. */
static enum sma_err list_names(struct scan *scan, const struct sma_skill_root *root, char **names,
                               size_t *ret_count)
{
    int fd = openat(root->fd, ".", FOLDER_FLAGS);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    size_t count = 0;
    if (dir == NULL) {
        note(scan, root->said, strerrordesc_np(errno));
        if (fd >= 0)
            close(fd);
        return SMA_ERR_OK;
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.' ||
            (entry->d_type != DT_DIR && entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN))
            continue;
        if (count == SMA_SKILL_ROOT_ENTRY_COUNT_MAX) {
            note(scan, root->said, "it holds too many folders: not all are looked at");
            break;
        }
        names[count] = strdup(entry->d_name);
        if (names[count] == NULL) {
            closedir(dir);
            return SMA_ERR_NOMEM;
        }
        *ret_count = ++count;
    }
    closedir(dir);
    qsort(names, count, sizeof *names, compare_names);
    return SMA_ERR_OK;
}

static enum sma_err scan_folder(struct scan *scan, const struct sma_skill_root *root,
                                unsigned depth);

/* A folder without SKILL.md may be a group of skills: category/name/SKILL.md. */
static enum sma_err try_folder(struct scan *scan, const struct sma_skill_root *root,
                               const char *name, unsigned depth)
{
    struct stat facts;
    int fd = openat(root->fd, name, FOLDER_FLAGS);
    if (fd < 0)
        return SMA_ERR_OK; /* a file, or a folder that is not for us */
    enum sma_err err = SMA_ERR_OK;
    if (fstatat(fd, "SKILL.md", &facts, AT_SYMLINK_NOFOLLOW) != 0) {
        struct sma_skill_root group = *root;
        group.fd = fd;
        err = depth < GROUP_DEPTH_MAX ? scan_folder(scan, &group, depth + 1) : SMA_ERR_OK;
    } else if (is_good_id(name)) {
        err = add_skill(scan, root, name, fd);
    } else {
        note(scan, root->said,
             "a folder is left out, because its name is too long or cannot be "
             "shown");
    }
    close(fd);
    return err;
}

/* Bounded by GROUP_DEPTH_MAX, whatever links lead where. */
static enum sma_err scan_folder(struct scan *scan, const struct sma_skill_root *root,
                                unsigned depth)
{
    size_t count = 0;
    char **names = calloc(SMA_SKILL_ROOT_ENTRY_COUNT_MAX, sizeof *names);
    enum sma_err err = names == NULL ? SMA_ERR_NOMEM : list_names(scan, root, names, &count);
    for (size_t i = 0; i < count; i++) {
        bool may_go_on = ++scan->folder_count <= FOLDER_COUNT_MAX;
        if (err == SMA_ERR_OK && may_go_on)
            err = try_folder(scan, root, names[i], depth);
        free(names[i]);
    }
    free(names);
    return err;
}

static enum sma_err scan_root(struct scan *scan, const struct sma_skill_root *root)
{
    if (root->fd < 0) {
        if (root->problem != NULL)
            note(scan, root->said, root->problem);
        return SMA_ERR_OK;
    }
    size_t before = scan->skills->count;
    scan->folder_count = 0;
    enum sma_err err = scan_folder(scan, root, 0);
    if (scan->folder_count > FOLDER_COUNT_MAX)
        note(scan, root->said, "it holds too many folders: not all are looked at");
    else if (err == SMA_ERR_OK && scan->folder_count > 0 && scan->skills->count == before)
        note(scan, root->said, "no folder in it holds a SKILL.md, three levels down");
    if (err == SMA_ERR_OK && scan->is_full) {
        note(scan, root->said, "there are too many skills: the rest is left out");
        scan->is_full = false;
    }
    return err;
}

/* -- all of them ------------------------------------------------------------------------------- */
static int compare_skills(const void *left, const void *right)
{
    const struct sma_skill *a = left, *b = right;
    int by_name = strcmp(sma_skill_name(a), sma_skill_name(b));
    int by_id = by_name != 0 ? by_name : strcmp(a->id, b->id);
    return by_id != 0 ? by_id : strcmp(a->place, b->place);
}

static enum sma_err scan_all(struct scan *scan)
{
    struct sma_skill_roots roots = {.count = 0};
    SMA_TRY(sma_skill_roots_open(scan->config, &roots));
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; err == SMA_ERR_OK && i < roots.count; i++)
        err = scan_root(scan, &roots.list[i]);
    sma_skill_roots_close(&roots);
    struct sma_skills *skills = scan->skills;
    if (err == SMA_ERR_OK && skills->count > 0)
        qsort(skills->list, skills->count, sizeof *skills->list, compare_skills);
    return err;
}

enum sma_err sma_skills_scan(const struct sma_config *config, const struct sma_skills *before,
                             struct sma_skills **ret_skills)
{
    struct sma_skill_record *record = NULL;
    struct sma_error error = {.code = SMA_ERR_OK};
    struct sma_skills *skills = calloc(1, sizeof *skills);
    if (skills == NULL)
        return SMA_ERR_NOMEM;
    struct scan scan = {.config = config,
                        .before = before,
                        .skills = skills,
                        .budget = {SMA_SKILL_SCAN_ENTRY_COUNT_MAX, SMA_SKILL_SCAN_BYTES_MAX}};
    sma_buf_init(&scan.notes, NOTES_BYTES_MAX);
    enum sma_err err = sma_skill_record_load(config->state_dir, &record, &error);
    skills->has_record = err != SMA_ERR_NOTFOUND;
    skills->is_record_damaged = err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND;
    if (skills->is_record_damaged)
        note(&scan, "skills", error.text);
    scan.record = record;
    err = err == SMA_ERR_NOMEM ? err : scan_all(&scan);
    sma_skill_record_destroy(record);
    sma_buf_put_char(&scan.notes, '\0');
    if (err == SMA_ERR_OK)
        skills->notes = scan.notes.err == SMA_ERR_OK ? sma_buf_take(&scan.notes)
                                                     : strdup("there is too much to say\n");
    sma_buf_fini(&scan.notes);
    if (err == SMA_ERR_OK && skills->notes == NULL)
        err = SMA_ERR_NOMEM;
    if (err != SMA_ERR_OK) {
        sma_skills_destroy(skills);
        return err;
    }
    *ret_skills = skills;
    return SMA_ERR_OK;
}

/* -- reading again, accepting ------------------------------------------------------------------ */
int sma_skill_open(const struct sma_config *config, const struct sma_skill *skill,
                   struct sma_error *error)
{
    char path[PATH_MAX];
    bool is_inside = skill->place[0] != '/';
    int len = snprintf(path, sizeof path, "%s%s%s", is_inside ? config->project_dir : "",
                       is_inside ? "/" : "", skill->place);
    int fd = len > 0 && (size_t)len < sizeof path ? open(path, FOLDER_FLAGS | O_NOFOLLOW) : -1;
    if (fd < 0)
        (void)sma_fail(error, SMA_ERR_BADINPUT, "its folder %s cannot be opened", skill->place);
    return fd;
}

enum sma_err sma_skill_read(const struct sma_config *config, const struct sma_skill *skill,
                            struct sma_skill_tree *ret_tree, struct sma_error *error)
{
    struct sma_skill_budget budget = {SMA_SKILL_FILE_COUNT_MAX, SMA_SKILL_BYTES_MAX};
    int fd = sma_skill_open(config, skill, error);
    if (fd < 0)
        return SMA_ERR_BADINPUT;
    enum sma_err err = sma_skill_tree_read(fd, NULL, &budget, ret_tree, error);
    close(fd);
    return err;
}

/* Those of the snapshot that can be accepted go into the record as they were seen. */
static enum sma_err accept_all(const struct sma_skills *skills, struct sma_skill_record *record,
                               size_t *ret_count)
{
    for (size_t i = 0; i < skills->count; i++) {
        const struct sma_skill *skill = &skills->list[i];
        if (skill->state == SMA_SKILL_BROKEN)
            continue;
        SMA_TRY(sma_skill_record_put(record, skill->place, skill->tree.digest));
        ++*ret_count;
    }
    return SMA_ERR_OK;
}

enum sma_err sma_skills_begin(const struct sma_config *config, size_t *ret_accepted,
                              struct sma_error *error)
{
    struct sma_skill_record *record = NULL;
    struct sma_skills *skills = NULL;
    size_t count = 0;
    *ret_accepted = 0;
    enum sma_err err = sma_skill_record_load(config->state_dir, &record, error);
    sma_skill_record_destroy(record);
    if (err != SMA_ERR_NOTFOUND)
        return err == SMA_ERR_BADINPUT ? SMA_ERR_OK : err; /* damaged: every look says so */
    int lock = sma_skill_record_lock(config->state_dir, 0, error);
    if (lock < 0)
        return error == NULL ? SMA_ERR_IO : error->code;
    record = NULL;
    err = sma_skill_record_create(&record);
    if (err == SMA_ERR_OK)
        err = sma_skills_scan(config, NULL, &skills);
    bool is_first = err == SMA_ERR_OK && !skills->has_record; /* still, with the lock held */
    if (is_first)
        err = accept_all(skills, record, &count);
    if (is_first && err == SMA_ERR_OK)
        err = sma_skill_record_save(record, config->state_dir, error);
    if (err == SMA_ERR_NOMEM)
        (void)sma_fail(error, err, "out of memory");
    if (err == SMA_ERR_OK)
        *ret_accepted = count;
    sma_skills_destroy(skills);
    sma_skill_record_destroy(record);
    close(lock);
    return err;
}

static enum sma_err put_shown(const struct sma_config *config, struct sma_skill_record *record,
                              const struct sma_skill *skill, struct sma_error *error)
{
    struct sma_skill_tree now = {.text = NULL};
    struct sma_error detail = {.code = SMA_ERR_OK};
    enum sma_err err = sma_skill_read(config, skill, &now, &detail);
    free(now.text);
    if (err != SMA_ERR_OK)
        return sma_fail(error, err, "%s: %s", skill->place, detail.text);
    if (memcmp(now.digest, skill->tree.digest, sizeof now.digest) != 0)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "%s has changed since it was shown: nothing was accepted; look at it again",
                        skill->place);
    return sma_skill_record_put(record, skill->place, now.digest);
}

enum sma_err sma_skills_accept(const struct sma_config *config,
                               const struct sma_skill *const *shown, size_t count,
                               struct sma_error *error)
{
    struct sma_skill_record *record = NULL;
    SMA_TRY(sma_sys_make_dirs(sma_sys_real(), config->state_dir, error));
    int lock = sma_skill_record_lock(config->state_dir, LOCK_WAIT_MS, error);
    if (lock < 0)
        return error == NULL ? SMA_ERR_IO : error->code;
    enum sma_err err = sma_skill_record_load(config->state_dir, &record, error);
    if (err == SMA_ERR_NOTFOUND || err == SMA_ERR_BADINPUT) /* a damaged one is made anew */
        err = sma_skill_record_create(&record);
    for (size_t i = 0; err == SMA_ERR_OK && i < count; i++)
        err = put_shown(config, record, shown[i], error);
    if (err == SMA_ERR_OK)
        err = sma_skill_record_save(record, config->state_dir, error);
    sma_skill_record_destroy(record);
    close(lock);
    return err;
}
