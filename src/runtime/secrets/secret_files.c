/* secret_files.c — see secret_files.h. */
#include "secret_files.h"

#include "sma/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#define FILE_BYTES_MAX ((size_t)1024 * 1024)
#define NAME_BYTES_MAX ((size_t)16 * 1024 * 1024) /* of the folders of one look */
#define KEPT_BYTES_MAX ((size_t)4 * 1024 * 1024)  /* of the last one, for the next */
#define SETTLED_S 2

/* -- bytes ------------------------------------------------------------------------------------- */
/* Without case; "_" is a blank, too. */
static bool has_word(struct sma_str text, struct sma_str word)
{
    for (size_t i = 0; i + word.len <= text.len; i++) {
        size_t k = 0;
        while (k < word.len && (tolower((unsigned char)text.ptr[i + k]) == word.ptr[k] ||
                                (word.ptr[k] == '_' && text.ptr[i + k] == ' ')))
            k++;
        if (k == word.len)
            return true;
    }
    return false;
}

/* https://token@host, ssh://user:password@host; not ssh://git@host. */
static bool has_login(struct sma_str text)
{
    for (size_t i = 0; i + 3 <= text.len; i++) {
        if (memcmp(text.ptr + i, "://", 3) != 0)
            continue;
        size_t from = i + 3, end = from;
        while (end < text.len && memchr("/?# \t\r\n\"@", text.ptr[end], 9) == NULL)
            end++;
        bool is_ssh = i >= 3 && memcmp(text.ptr + i - 3, "ssh", 3) == 0;
        if (end < text.len && text.ptr[end] == '@' &&
            (!is_ssh || memchr(text.ptr + from, ':', end - from) != NULL))
            return true;
    }
    return false;
}

/* One line of settings: a word counts in its name, before = or :, an address anywhere. */
static bool is_login(struct sma_str line, const struct sma_secret_row *row)
{
    const char *end = memchr(line.ptr, '=', line.len);
    if (end == NULL)
        end = memchr(line.ptr, ':', line.len);
    struct sma_str name = {line.ptr, end == NULL ? 0 : (size_t)(end - line.ptr)};
    for (const char *at = row->holds; *at != '\0';) {
        struct sma_str word = {at, (size_t)(strchrnul(at, ' ') - at)};
        if (has_word(name, word))
            return true;
        at += word.len + (at[word.len] == ' ');
    }
    return has_login(line);
}

static struct sma_str next_line(struct sma_str text, size_t *at)
{
    const char *end = memchr(text.ptr + *at, '\n', text.len - *at);
    struct sma_str line = {text.ptr + *at,
                           end == NULL ? text.len - *at : (size_t)(end - text.ptr) - *at + 1};
    *at += line.len;
    return line;
}

static bool holds(struct sma_str text, const struct sma_secret_row *row)
{
    if (!row->is_login)
        return has_word(text, sma_str(row->holds));
    for (size_t at = 0; at < text.len;)
        if (is_login(next_line(text, &at), row))
            return true;
    return false;
}

/* At most FILE_BYTES_MAX and one more byte. free() it. @return NULL: no memory, or unreadable */
static char *read_text(int fd, size_t *ret_len)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))
        return NULL;
    size_t size =
        facts.st_size > (off_t)FILE_BYTES_MAX ? FILE_BYTES_MAX + 1 : (size_t)facts.st_size + 1;
    char *text = malloc(size);
    *ret_len = 0;
    for (ssize_t got = 1; text != NULL && got > 0 && *ret_len < size; *ret_len += (size_t)got)
        if ((got = pread(fd, text + *ret_len, size - *ret_len, (off_t)*ret_len)) < 0)
            got = 0;
    return text;
}

bool sma_secret_file_holds(int fd, const struct sma_secret_row *row)
{
    size_t len = 0;
    if (row->holds[0] == '\0')
        return true;
    SMA_AUTO(sma_freep) char *text = read_text(fd, &len);
    return text == NULL || len > FILE_BYTES_MAX || holds((struct sma_str){text, len}, row);
}

enum sma_err sma_secret_file_show(int fd, const struct sma_secret_row *row, struct sma_buf *text)
{
    size_t len = 0;
    SMA_AUTO(sma_freep) char *bytes = read_text(fd, &len);
    for (size_t at = 0; bytes != NULL && len <= FILE_BYTES_MAX && at < len;) {
        struct sma_str line = next_line((struct sma_str){bytes, len}, &at);
        if (is_login(line, row))
            sma_buf_put_text(text, "# a line with a login is not shown to commands\n");
        else
            sma_buf_put_str(text, line);
    }
    return text->err;
}

/* -- settings that others include -------------------------------------------------------------- */
size_t sma_secret_files_value(const char *at, char value[PATH_MAX])
{
    size_t len = 0;
    at += strspn(at, " \t");
    for (bool is_quoted = false; *at != '\0' && *at != '\n' && *at != '\r' && len + 1 < PATH_MAX;
         at++) {
        if (!is_quoted && (*at == '#' || *at == ';'))
            break;
        if (*at == '"') {
            is_quoted = !is_quoted;
            continue;
        }
        at += *at == '\\' && at[1] != '\0';
        value[len++] = *at;
    }
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        len--;
    value[len] = '\0';
    return len;
}

/* The value of `path` in a line of [include] or [includeIf "..."], which may stand in that line. */
static bool find_included(struct sma_str line, bool *is_include, char value[PATH_MAX])
{
    char text[PATH_MAX];
    (void)snprintf(text, sizeof text, "%.*s", (int)line.len, line.ptr);
    char *at = text + strspn(text, " \t");
    if (*at == '[') {
        *is_include = strncasecmp(at, "[include", 8) == 0;
        at = strrchr(at, ']');
        at = at == NULL ? text + strlen(text) : at + 1 + strspn(at + 1, " \t");
    }
    if (!*is_include || strncasecmp(at, "path", 4) != 0)
        return false;
    at += 4 + strspn(at + 4, " \t");
    return *at == '=' && sma_secret_files_value(at + 1, value) > 0;
}

/* Relative to the settings, or to HOME. */
static char *find_real(const char *config, const char *value, char named[2 * PATH_MAX])
{
    const char *home = getenv("HOME"), *slash = strrchr(config, '/');
    bool is_of_home = strncmp(value, "~/", 2) == 0 && home != NULL;
    int folder = value[0] == '/' || slash == NULL ? 0 : (int)(slash - config) + 1;
    if (is_of_home)
        (void)snprintf(named, 2 * PATH_MAX, "%s%s", home, value + 1);
    else
        (void)snprintf(named, 2 * PATH_MAX, "%.*s%s", folder, config, value);
    return realpath(named, NULL);
}

/* Of the settings that were read last and include nothing: every file that a tool opens asks. */
static _Atomic uint64_t includes_nothing;

bool sma_secret_files_included(const char *config, sma_secret_included_fn *found, void *user)
{
    uint64_t stamp = sma_secret_files_stamp(config); /* before they are read */
    if (stamp != 0 && stamp == atomic_load(&includes_nothing))
        return true;
    bool has_include = false;
    char *paths[SMA_SECRET_INCLUDED_COUNT_MAX + 1] = {strdup(config)};
    char value[PATH_MAX], named[2 * PATH_MAX];
    size_t count = paths[0] != NULL;
    bool is_wanted = true;
    for (size_t i = 0; i < count; i++) {
        int fd = open(paths[i], O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        size_t len = 0, at = 0;
        SMA_AUTO(sma_freep) char *bytes = fd < 0 ? NULL : read_text(fd, &len);
        if (fd >= 0)
            close(fd);
        for (bool is_include = false; bytes != NULL && at < len && is_wanted;) {
            if (!find_included(next_line((struct sma_str){bytes, len}, &at), &is_include, value))
                continue;
            has_include = true; /* what is not there yet may come */
            if (count == SMA_COUNT_OF(paths))
                break;
            paths[count] = find_real(paths[i], value, named);
            is_wanted = found(user, named, paths[count]);
            count += paths[count] != NULL;
        }
        has_include |= bytes == NULL;
    }
    if (!has_include && count > 0)
        atomic_store(&includes_nothing, stamp);
    while (count > 0)
        free(paths[--count]);
    return is_wanted;
}

/* -- what was seen ----------------------------------------------------------------------------- */
/* A name that may be one of a secret: whether its bytes say so is looked at each time. */
struct note
{
    size_t path; /* in ->names, as those of folders: below the folder that is looked through */
    const struct sma_secret_row *row;
    bool is_folder;
};

/* In the order in which they were found: what a folder holds stands in a row. */
struct folder
{
    size_t path, first_folder, folder_count, first_note, note_count, entry_count;
    const struct folder *known; /* of the look before */
    unsigned depth;
    bool is_in_git;
    bool is_settled; /* whatever comes or goes changes `changed`; else it is read each time */
    dev_t device;
    ino_t inode;
    struct timespec changed;
};

struct seen
{
    struct folder *folders;
    struct note *notes;
    size_t folder_count, folder_capacity, note_count, note_capacity;
    struct sma_buf names;
};

/* Of the last look at a project. One for the process; whoever looks takes it, and puts his own into
 * its place: a second one at the same time reads every folder. */
static _Atomic(struct seen *) last_seen;

static void destroy_seen(struct seen *seen)
{
    if (seen == NULL)
        return;
    free(seen->folders);
    free(seen->notes);
    sma_buf_fini(&seen->names);
    free(seen);
}

static size_t put_path(struct seen *seen, const char *folder, const char *name)
{
    size_t at = seen->names.len;
    sma_buf_printf(&seen->names, "%s%s%s", folder, folder[0] == '\0' ? "" : "/", name);
    sma_buf_put_char(&seen->names, '\0');
    return at;
}

/* Room for one more. @return NULL: no memory */
static void *grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    size_t wanted = *capacity == 0 ? 64 : *capacity * 2;
    void *grown = realloc(items, wanted * size);
    if (grown != NULL)
        *capacity = wanted;
    return grown;
}

static bool add_folder(struct seen *seen, const struct folder *folder)
{
    struct folder *grown =
        grow(seen->folders, seen->folder_count, &seen->folder_capacity, sizeof *grown);
    if (grown == NULL || seen->names.err != SMA_ERR_OK)
        return false;
    seen->folders = grown;
    grown[seen->folder_count++] = *folder;
    return true;
}

static bool add_note(struct seen *seen, const struct note *note)
{
    struct note *grown = grow(seen->notes, seen->note_count, &seen->note_capacity, sizeof *grown);
    if (grown == NULL || seen->names.err != SMA_ERR_OK)
        return false;
    seen->notes = grown;
    grown[seen->note_count++] = *note;
    return true;
}

/* -- looking ----------------------------------------------------------------------------------- */
struct looking
{
    char path[PATH_MAX];
    size_t len; /* of the folder's own */
    int root;
    dev_t device; /* whose times of folders say what has changed; 0: they do not */
    size_t left;
    struct seen *seen, *before; /* before: NULL, nothing is known */
    bool is_own, is_cut;
};

/* Large, and nothing in it has a name of its own. */
static bool is_left_out(const char *name, bool is_in_repository)
{
    return strcmp(name, "node_modules") == 0 ||
           (is_in_repository && (strcmp(name, "objects") == 0 || strcmp(name, "refs") == 0 ||
                                 strcmp(name, "logs") == 0 || strcmp(name, "lfs") == 0));
}

static const char *path_of(const struct seen *seen, size_t at)
{
    return seen->names.ptr + at;
}

/* Shares of other machines and of programs keep times as they like. */
static bool has_times(int fd)
{
    static const unsigned long kinds[] = {0xef53,     /* ext2, ext3, ext4 */ 0x58465342, /* XFS */
                                          0x9123683e, /* btrfs */ 0x01021994,            /* tmpfs */
                                          0x794c7630, /* overlayfs */ 0xf2f52010,        /* f2fs */
                                          0x2fc12fc1 /* ZFS */};
    struct statfs facts;
    if (fstatfs(fd, &facts) != 0)
        return false;
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++)
        if ((unsigned long)facts.f_type == kinds[i])
            return true;
    return false;
}

/* Of a folder that has changed just now a second change may bear the same time. */
static bool is_settled(dev_t device, const struct stat *facts)
{
    struct timespec now;
    return facts->st_dev == device && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
           facts->st_ctim.tv_sec + SETTLED_S < now.tv_sec;
}

uint64_t sma_secret_files_stamp(const char *path)
{
    static const uint8_t key[16];
    struct stat facts;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_one =
        fd >= 0 && has_times(fd) && fstat(fd, &facts) == 0 && is_settled(facts.st_dev, &facts);
    if (fd >= 0)
        close(fd);
    if (!is_one)
        return 0;
    const uint64_t words[] = {facts.st_dev, facts.st_ino, (uint64_t)facts.st_ctim.tv_sec,
                              (uint64_t)facts.st_ctim.tv_nsec};
    return sma_siphash(key, words, sizeof words) | 1;
}

static bool is_same(const struct folder *known, const struct stat *facts)
{
    return known->is_settled && facts->st_dev == known->device && facts->st_ino == known->inode &&
           facts->st_ctim.tv_sec == known->changed.tv_sec &&
           facts->st_ctim.tv_nsec == known->changed.tv_nsec;
}

/* *cursor: behind the last that was found; folders are read in the same order, as a rule. */
static const struct folder *find_known(const struct looking *looking, const struct folder *above,
                                       const char *path, size_t *cursor)
{
    for (size_t i = 0; above != NULL && i < above->folder_count; i++) {
        size_t at = (*cursor + i) % above->folder_count;
        const struct folder *known = &looking->before->folders[above->first_folder + at];
        if (strcmp(path_of(looking->before, known->path), path) == 0) {
            *cursor = at + 1;
            return known;
        }
    }
    return NULL;
}

static bool look_at(struct looking *looking, size_t index, int fd, const struct dirent *entry,
                    size_t *cursor)
{
    static const struct sma_secret_row ship = {.holds = "", .names = ".ship"};
    struct seen *seen = looking->seen;
    const struct folder above = seen->folders[index];
    unsigned char type = entry->d_type;
    struct stat facts;
    if (type == DT_UNKNOWN && fstatat(fd, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0)
        type = S_ISDIR(facts.st_mode) ? DT_DIR : S_ISREG(facts.st_mode) ? DT_REG : DT_FIFO;
    bool is_folder = type == DT_DIR, is_ship = strcmp(entry->d_name, ".ship") == 0;
    if ((!is_folder && type != DT_REG && type != DT_LNK) ||
        (is_folder && is_left_out(entry->d_name, above.is_in_git)) ||
        (looking->is_own && above.depth == 0 && is_ship))
        return true;
    struct sma_str name = sma_str(entry->d_name);
    const struct sma_secret_row *row =
        is_ship ? &ship /* another agent's */ : sma_secret_find(name, above.is_in_git, !is_folder);
    if (row == NULL && !is_folder)
        return true;
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", path_of(seen, above.path));
    size_t path = put_path(seen, folder, entry->d_name);
    if (looking->len + 1 + (seen->names.len - path) > sizeof looking->path)
        return false;
    if (row != NULL)
        return add_note(seen, &(struct note){.path = path, .row = row, .is_folder = is_folder});
    return seen->names.err == SMA_ERR_OK && above.depth < SMA_SECRET_FILES_DEPTH_MAX &&
           add_folder(seen,
                      &(struct folder){
                          .path = path,
                          .depth = above.depth + 1,
                          .is_in_git = above.is_in_git || sma_secret_is_git(name),
                          .known = find_known(looking, above.known, path_of(seen, path), cursor)});
}

/* What cannot be opened cannot be read by a command either. */
static void read_folder(struct looking *looking, size_t index, const char *path)
{
    struct seen *seen = looking->seen;
    struct stat facts;
    size_t cursor = 0, entry_count = 0;
    int fd = openat(looking->root, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    looking->is_cut |= fd >= 0 && dir == NULL;
    if (fd >= 0 && dir == NULL)
        close(fd);
    if (dir == NULL)
        return;
    if (fstat(fd, &facts) == 0) {
        struct folder *folder = &seen->folders[index];
        folder->is_settled = is_settled(looking->device, &facts);
        folder->device = facts.st_dev;
        folder->inode = facts.st_ino;
        folder->changed = facts.st_ctim;
    }
    for (const struct dirent *entry; !looking->is_cut && (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        looking->is_cut =
            entry_count++ == looking->left || !look_at(looking, index, fd, entry, &cursor);
    }
    closedir(dir);
    seen->folders[index].entry_count = entry_count;
}

static bool take_over(struct looking *looking, struct folder known)
{
    struct seen *seen = looking->seen, *before = looking->before;
    for (size_t i = 0; i < known.note_count; i++) {
        struct note note = before->notes[known.first_note + i];
        note.path = put_path(seen, "", path_of(before, note.path));
        if (!add_note(seen, &note))
            return false;
    }
    for (size_t i = 0; i < known.folder_count; i++) {
        const struct folder *inner = &before->folders[known.first_folder + i];
        struct folder folder = {.depth = inner->depth, .is_in_git = inner->is_in_git};
        folder.path = put_path(seen, "", path_of(before, inner->path));
        folder.known = inner;
        if (!add_folder(seen, &folder))
            return false;
    }
    return known.entry_count <= looking->left;
}

static void look_into(struct looking *looking, size_t index)
{
    struct seen *seen = looking->seen;
    struct folder folder = seen->folders[index];
    const char *name = path_of(seen, folder.path);
    char path[PATH_MAX];
    struct stat facts;
    (void)snprintf(path, sizeof path, "%s", name[0] == '\0' ? "." : name);
    size_t first_folder = seen->folder_count, first_note = seen->note_count;
    if (folder.known != NULL && fstatat(looking->root, path, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
        is_same(folder.known, &facts)) {
        looking->is_cut = !take_over(looking, *folder.known);
        folder = seen->folders[index];
        folder.is_settled = true;
        folder.device = facts.st_dev;
        folder.inode = facts.st_ino;
        folder.changed = facts.st_ctim;
        folder.entry_count = folder.known->entry_count;
        seen->folders[index] = folder;
    } else {
        read_folder(looking, index, path);
    }
    struct folder *done = &seen->folders[index];
    done->first_folder = first_folder;
    done->first_note = first_note;
    done->folder_count = seen->folder_count - first_folder;
    done->note_count = seen->note_count - first_note;
    looking->left -= looking->is_cut ? 0 : done->entry_count;
}

static bool is_secret(const struct looking *looking, const struct note *note)
{
    if (note->row->holds[0] == '\0')
        return true;
    int fd = openat(looking->root, path_of(looking->seen, note->path),
                    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool is_one =
        fd >= 0 ? sma_secret_file_holds(fd, note->row) : errno != ELOOP && errno != EACCES;
    if (fd >= 0)
        close(fd);
    return is_one;
}

struct telling
{
    const struct sma_secret_row *row;
    sma_secret_files_fn *found;
    void *user;
};

static bool tell_included(void *user, const char *named, const char *path)
{
    const struct telling *telling = user;
    (void)named; /* a link is no secret */
    int fd = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool is_one = fd >= 0 && sma_secret_file_holds(fd, telling->row);
    if (fd >= 0)
        close(fd);
    return !is_one || telling->found(telling->user, path, telling->row, false);
}

static bool tell(struct looking *looking, size_t first_note, sma_secret_files_fn *found, void *user)
{
    for (size_t i = first_note; i < looking->seen->note_count; i++) {
        const struct note *note = &looking->seen->notes[i];
        struct telling telling = {.row = note->row, .found = found, .user = user};
        (void)snprintf(looking->path + looking->len, sizeof looking->path - looking->len, "/%s",
                       path_of(looking->seen, note->path));
        bool is_owners = looking->is_own && note->row->is_login && !note->is_folder &&
                         strncmp(path_of(looking->seen, note->path), ".git/", 5) == 0;
        if (is_owners && /* those of a repository below may be a command's, and choose nothing */
            !sma_secret_files_included(looking->path, tell_included, &telling))
            return false;
        if (!is_secret(looking, note))
            continue;
        if (!found(user, looking->path, note->row, note->is_folder))
            return false;
    }
    return true;
}

/* Kept for the next look, unless it is large. */
static void keep_seen(struct seen *seen)
{
    for (size_t i = 0; i < seen->folder_count; i++)
        seen->folders[i].known = NULL;
    size_t bytes = seen->folder_capacity * sizeof *seen->folders +
                   seen->note_capacity * sizeof *seen->notes + seen->names.len;
    destroy_seen(bytes > KEPT_BYTES_MAX ? seen : atomic_exchange(&last_seen, seen));
}

bool sma_secret_files_find(const char *folder, size_t count_max, bool is_own,
                           sma_secret_files_fn *found, void *user)
{
    struct looking looking = {.left = count_max, .is_own = is_own, .len = strlen(folder)};
    if (looking.len >= sizeof looking.path)
        return false;
    memcpy(looking.path, folder, looking.len + 1);
    looking.root = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (looking.root < 0)
        return true;
    struct stat facts;
    if (is_own && has_times(looking.root) && fstat(looking.root, &facts) == 0)
        looking.device = facts.st_dev;
    looking.seen = calloc(1, sizeof *looking.seen);
    looking.before = is_own ? atomic_exchange(&last_seen, NULL) : NULL;
    const char *base = strrchr(folder, '/');
    looking.is_cut = looking.seen == NULL;
    if (looking.seen != NULL) {
        sma_buf_init(&looking.seen->names, NAME_BYTES_MAX);
        struct folder root = {.path = put_path(looking.seen, "", ""),
                              .known = looking.before == NULL ? NULL : looking.before->folders};
        root.is_in_git = base != NULL && sma_secret_is_git(sma_str(base + 1));
        looking.is_cut = !add_folder(looking.seen, &root);
    }
    for (size_t i = 0; !looking.is_cut && i < looking.seen->folder_count; i++) {
        size_t first_note = looking.seen->note_count;
        look_into(&looking, i);
        if (!tell(&looking, first_note, found, user))
            looking.is_cut = true;
    }
    close(looking.root);
    destroy_seen(looking.before);
    if (looking.seen != NULL && is_own && !looking.is_cut)
        keep_seen(looking.seen);
    else
        destroy_seen(looking.seen);
    return !looking.is_cut;
}
