/* accepted.c — see accepted.h. */
#include "runtime/decisive/accepted.h"

#include "runtime/decisive/decisive.h"
#include "runtime/policy/programs.h"
#include "sma/beneath.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define VERSION 1
#define RECORD_BYTES_MAX (8 * 1024 * 1024)
#define DEPTH_MAX 24 /* of folders; deeper ones keep the server from being started */
#define COPIES ".ship/mcp/accepted.d/"
#define COPY_BYTES_MAX ((size_t)64 * 1024)
#define COPIES_BYTES_MAX ((size_t)8 * 1024 * 1024) /* of one server */
#define DIFF_BYTES_MAX ((size_t)16 * 1024)
#define SHOWN_BYTES_MAX 80 /* of a name in a line that also says what to do */
#define LOCK_STEP_MS 20
#define LOCK_WAIT_MS 1000

/* What a folder "of everything" (SMA_DECISIVE_ALL) is looked through for: data may change. */
static const char CODE_SUFFIXES[] =
    "py pyi pyd so pth egg whl pyz js cjs mjs ts cts mts jsx tsx node wasm pl pm plx rb php inc "
    "phar "
    "lua R r jl tcl exp sh bash zsh ksh fish go mod rs java kt jar class cs fs vb ex exs swift zig";
/* Of the suffixes that a language loads: what programs write beside themselves. */
static const char NOT_BOUND[] = "json pyc env";

struct sma_program_look
{
    char *project_dir, *server;
    char words[SMA_PROGRAM_DIGEST_BYTES];
    json_t *files;  /* path: digest; names the files of the entry as they lie there */
    json_t *beside; /* path: true; what may be code right in the project's folder; NULL: walls */
    char deepest[SHOWN_BYTES_MAX]; /* the end of a folder that is too deep to be looked at; "" */
    json_t *was;                   /* the same as it was accepted; NULL: never with these words */
    struct sma_decisive_list list;
    int root; /* of the project */
    uint64_t bytes;
    bool is_recorded; /* with these words */
    enum sma_err err; /* NOMEM */
};

/* -- digests ----------------------------------------------------------------------------------- */
static void print_digest(EVP_MD_CTX *context, char text[SMA_PROGRAM_DIGEST_BYTES])
{
    unsigned char digest[32] = {0};
    (void)EVP_DigestFinal_ex(context, digest, NULL); /* failed: of zeros, which is nobody's */
    for (size_t i = 0; i < sizeof digest; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

static void put(EVP_MD_CTX *context, const char *text)
{
    (void)EVP_DigestUpdate(context, text, strlen(text) + 1);
}

static void digest_words(const struct sma_mcp_config_server *server,
                         char text[SMA_PROGRAM_DIGEST_BYTES])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1) {
        put(context, server->command);
        for (size_t i = 0; i < server->args.count; i++)
            put(context, server->args.items[i]);
        print_digest(context, text);
    }
    EVP_MD_CTX_free(context);
}

/* Too much to be read: who it is and when it was changed. */
static void put_facts(EVP_MD_CTX *context, const struct stat *facts)
{
    char text[160];
    (void)snprintf(text, sizeof text, "facts %llu %lld %lld.%09ld %lld.%09ld",
                   (unsigned long long)facts->st_ino, (long long)facts->st_size,
                   (long long)facts->st_mtim.tv_sec, facts->st_mtim.tv_nsec,
                   (long long)facts->st_ctim.tv_sec, facts->st_ctim.tv_nsec);
    put(context, text);
}

static void put_contents(struct sma_program_look *look, EVP_MD_CTX *context, int fd,
                         const struct stat *facts)
{
    char bytes[65536];
    ssize_t got;
    uint64_t left = facts->st_size > SMA_ACCEPTED_FILE_BYTES_MAX ? 0 : SMA_ACCEPTED_BYTES_MAX;
    if (left == 0 || look->bytes + (uint64_t)facts->st_size > left) {
        put_facts(context, facts);
        return;
    }
    put(context, "file");
    while ((got = read(fd, bytes, sizeof bytes)) > 0) {
        (void)EVP_DigestUpdate(context, bytes, (size_t)got);
        look->bytes += (uint64_t)got;
        if (look->bytes > SMA_ACCEPTED_BYTES_MAX)
            break; /* it grows while it is read */
    }
}

static void note(struct sma_program_look *look, const char *path, const char *digest)
{
    if (json_object_size(look->files) < SMA_ACCEPTED_FILE_COUNT_MAX &&
        json_object_set_new(look->files, path, json_string(digest)) != 0)
        look->err = SMA_ERR_NOMEM;
}

static void look_at_folder(struct sma_program_look *look, const char *path, const char *suffixes,
                           unsigned depth);

static void note_deepest(struct sma_program_look *look, const char *path)
{
    size_t len = strlen(path), room = sizeof look->deepest - 1;
    (void)snprintf(look->deepest, sizeof look->deepest, "%s", path + (len > room ? len - room : 0));
}

/* What stands in for it while commands run. */
static bool is_empty_folder(const struct sma_program_look *look, const char *path)
{
    int fd = sma_open_beneath(look->root, path, O_RDONLY | O_DIRECTORY, SMA_BENEATH_INNER_LINKS);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    size_t count = 0;
    if (dir == NULL && fd >= 0)
        close(fd);
    while (dir != NULL && count < 3 && readdir(dir) != NULL)
        count++; /* "." and ".." */
    if (dir != NULL)
        closedir(dir);
    return dir != NULL && count < 3;
}

static bool is_stand_in(int fd)
{
    char text[128];
    ssize_t len = pread(fd, text, sizeof text - 1, 0);
    text[len > 0 ? len : 0] = '\0';
    return strcmp(text, SMA_DECISIVE_STAND_IN) == 0 ||
           strcmp(text, SMA_DECISIVE_STAND_IN_JSON) == 0;
}

/* A file, whatever leads to it; a link that leads out of the project is known by its text. */
static void look_at_file(struct sma_program_look *look, const char *path)
{
    char text[PATH_MAX], digest[SMA_PROGRAM_DIGEST_BYTES] = "";
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    struct stat facts;
    if (context == NULL || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1) {
        look->err = SMA_ERR_NOMEM;
        EVP_MD_CTX_free(context);
        return;
    }
    ssize_t len = readlinkat(look->root, path, text, sizeof text - 1);
    if (len > 0) {
        text[len] = '\0';
        put(context, "link");
        put(context, text);
    }
    int fd = sma_open_beneath(look->root, path, O_RDONLY, SMA_BENEATH_INNER_LINKS);
    if (fd < 0)
        put(context, errno == ENOENT || errno == ENOTDIR ? "missing" : "closed");
    else if (is_stand_in(fd))
        put(context, "missing");
    else if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode))
        put_contents(look, context, fd, &facts);
    else
        put(context, is_empty_folder(look, path) ? "missing" : "no file");
    if (fd >= 0)
        close(fd);
    print_digest(context, digest);
    EVP_MD_CTX_free(context);
    note(look, path, digest);
}

/* -- folders ----------------------------------------------------------------------------------- */
static bool is_bound(const char *name, const char *suffixes)
{
    struct sma_str text = sma_str(name), suffix = sma_path_suffix(text);
    if (strcmp(suffixes, SMA_DECISIVE_ALL) == 0)
        return sma_list_has(CODE_SUFFIXES, suffix) || sma_program_recipes(text) != 0;
    return sma_program_recipes(text) != 0 ||
           (sma_list_has(suffixes, suffix) && !sma_list_has(NOT_BOUND, suffix));
}

static void look_at_entry(struct sma_program_look *look, int folder, const char *path,
                          const char *name, const char *suffixes, unsigned depth)
{
    struct stat facts, target;
    char full[PATH_MAX];
    if (snprintf(full, sizeof full, "%s%s%s", path, path[0] == '\0' ? "" : "/", name) >= PATH_MAX ||
        fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    bool is_link = S_ISLNK(facts.st_mode);
    bool is_folder = S_ISDIR(facts.st_mode) ||
                     (is_link && fstatat(folder, name, &target, 0) == 0 && S_ISDIR(target.st_mode));
    if ((is_link && is_folder) || (!is_folder && is_bound(name, suffixes)))
        look_at_file(look, full);
    if (is_folder && depth == 0)
        note_deepest(look, full);
    else if (is_folder)
        look_at_folder(look, full, suffixes, depth - 1);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of a folder, in order, without those that programs never load from as they stand, and
 * without packages, which have an item of their own where node loads them. */
static size_t read_names(DIR *dir, const char *suffixes, char **names)
{
    bool is_node =
        strcmp(suffixes, SMA_DECISIVE_ALL) == 0 || sma_list_has(suffixes, SMA_STR("mjs"));
    size_t count = 0;
    for (const struct dirent *entry;
         count < SMA_ACCEPTED_FILE_COUNT_MAX && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, "__pycache__") != 0 &&
            (!is_node || strcmp(entry->d_name, "node_modules") != 0))
            if ((names[count] = strdup(entry->d_name)) != NULL)
                count++;
    qsort(names, count, sizeof *names, compare_names);
    return count;
}

static void look_at_folder(struct sma_program_look *look, const char *path, const char *suffixes,
                           unsigned depth)
{
    int fd = sma_open_beneath(look->root, path, O_RDONLY | O_DIRECTORY, SMA_BENEATH_INNER_LINKS);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    char marker[PATH_MAX];
    char **names = dir == NULL ? NULL : calloc(SMA_ACCEPTED_FILE_COUNT_MAX, sizeof *names);
    if (dir == NULL && fd >= 0)
        close(fd);
    bool is_venv = names != NULL && faccessat(fd, "pyvenv.cfg", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_venv && snprintf(marker, sizeof marker, "%s%spyvenv.cfg", path,
                            path[0] == '\0' ? "" : "/") < PATH_MAX)
        look_at_file(look, marker); /* one that comes later hides nothing unseen */
    if (names != NULL && !is_venv) {
        size_t count = read_names(dir, suffixes, names);
        for (size_t i = 0; i < count; i++) {
            if (json_object_size(look->files) < SMA_ACCEPTED_FILE_COUNT_MAX)
                look_at_entry(look, fd, path, names[i], suffixes, depth);
            free(names[i]);
        }
    }
    free(names);
    if (dir != NULL)
        closedir(dir);
}

static bool is_standing_in(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool is_one = fd >= 0 && is_stand_in(fd);
    if (fd >= 0)
        close(fd);
    return is_one;
}

/* Without walls it may load any of them. Their contents are the owner's work, and read-only for
 * commands: names are enough, a further one is somebody's. */
static void look_beside(struct sma_program_look *look)
{
    look->beside = look->beside != NULL ? look->beside : json_object();
    int fd = sma_open_beneath(look->root, "", O_RDONLY | O_DIRECTORY, SMA_BENEATH_INNER_LINKS);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL && fd >= 0)
        close(fd);
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        if (is_bound(entry->d_name, SMA_DECISIVE_ALL) && !is_standing_in(fd, entry->d_name) &&
            json_object_size(look->beside) < SMA_ACCEPTED_FILE_COUNT_MAX &&
            json_object_set_new(look->beside, entry->d_name, json_true()) != 0)
            look->err = SMA_ERR_NOMEM;
    if (dir != NULL)
        closedir(dir);
}

/* uv run makes it where it is missing. */
static bool is_made_by_program(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash == NULL ? path : slash + 1, SMA_DECISIVE_VENV) == 0;
}

static SMA_CHECKED enum sma_err read_program(struct sma_program_look *look,
                                             const struct sma_mcp_config_server *server)
{
    sma_decisive_add_server(&look->list, look->project_dir, server);
    for (size_t i = 0; i < look->list.count; i++) {
        const struct sma_decisive *item = &look->list.items[i];
        if (item->suffixes == NULL)
            look_at_file(look, item->path);
        else if (!item->is_library)
            look_at_folder(look, item->path, item->suffixes, DEPTH_MAX);
        else if (strcmp(item->suffixes, SMA_DECISIVE_NO_DATA) == 0)
            look_beside(look);
        else if (item->is_awaited && !is_made_by_program(item->path))
            look_at_file(look, item->path); /* too much for a digest, but whether there are any */
    }
    return look->list.is_out_of_memory ? SMA_ERR_NOMEM : look->err;
}

/* -- the record -------------------------------------------------------------------------------- */
static bool is_good(const json_t *root)
{
    const char *name, *path;
    json_t *server, *digest;
    if (json_integer_value(json_object_get(root, "version")) != VERSION ||
        !json_is_object(json_object_get(root, "servers")))
        return false;
    json_object_foreach(json_object_get(root, "servers"), name, server)
    {
        const json_t *files = json_object_get(server, "files");
        if (!json_is_string(json_object_get(server, "words")) || !json_is_object(files))
            return false;
        json_object_foreach((json_t *)(uintptr_t)files, path,
                            digest) if (!json_is_string(digest)) return false;
    }
    return true;
}

/* A new reference; an empty record when there is none yet. */
static enum sma_err load_record(const char *project_dir, json_t **ret_root, struct sma_error *error)
{
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    enum sma_err err =
        sma_read_beneath(project_dir, SMA_ACCEPTED_FILE, RECORD_BYTES_MAX, &bytes, &len, error);
    json_t *root = err == SMA_ERR_NOTFOUND ? json_pack("{sis{}}", "version", VERSION, "servers")
                   : err == SMA_ERR_OK     ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL)
                                           : NULL;
    if (err == SMA_ERR_NOMEM || (err == SMA_ERR_NOTFOUND && root == NULL))
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    if (!is_good(root)) {
        json_decref(root);
        return sma_fail(error, SMA_ERR_BADINPUT,
                        SMA_ACCEPTED_FILE " is damaged: no program counts as accepted; look at "
                                          "them and run `shipmyagent mcp accept`");
    }
    *ret_root = root;
    return SMA_ERR_OK;
}

static void tell(struct sma_buf *changes, const char *what, const char *path)
{
    if (changes != NULL)
        sma_buf_printf(changes, "%s %s\n", what, path);
}

static bool is_awaited(const struct sma_program_look *look, const char *path)
{
    for (size_t i = 0; i < look->list.count; i++)
        if (look->list.items[i].is_awaited && strcmp(look->list.items[i].path, path) == 0)
            return true;
    return false;
}

/* Of what is not in the record: there is none of it, which is no change. */
static bool is_none(const json_t *digest)
{
    char missing[SMA_PROGRAM_DIGEST_BYTES] = "";
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1) {
        put(context, "missing");
        print_digest(context, missing);
    }
    EVP_MD_CTX_free(context);
    return strcmp(json_string_value(digest), missing) == 0;
}

static enum sma_program_state compare(struct sma_program_look *look, const json_t *known,
                                      struct sma_buf *changes)
{
    const json_t *files = json_object_get(known, "files");
    const char *words = json_string_value(json_object_get(known, "words")), *path;
    json_t *digest;
    const json_t *beside = json_object_get(known, "beside");
    bool is_new = words == NULL || strcmp(words, look->words) != 0, is_same = true;
    bool is_older = json_object_get(known, "packages") == NULL, is_unseen = false;
    look->is_recorded = !is_new;
    if (look->list.count == 0)
        return SMA_PROGRAM_FOREIGN;
    look->was = is_new ? NULL : json_incref((json_t *)(uintptr_t)files);
    json_object_foreach(look->files, path, digest)
    {
        const json_t *was = is_new ? NULL : json_object_get(files, path);
        bool is_late = was == NULL && !is_new && is_older && is_awaited(look, path);
        is_unseen |= is_late; /* recorded from now on, also that there are none */
        if (is_late || (was != NULL ? json_equal(was, digest) : !is_new && is_none(digest)))
            continue;
        is_same = false;
        tell(changes, was == NULL ? "new" : "changed", path);
    }
    if (is_new)
        return SMA_PROGRAM_NEW;
    json_object_foreach((json_t *)(uintptr_t)files, path, digest)
    {
        if (json_object_get(look->files, path) != NULL)
            continue;
        is_same = false;
        tell(changes, "missing", path);
    }
    json_object_foreach(look->beside, path, digest)
    {
        if (beside == NULL || json_object_get(beside, path) != NULL ||
            json_object_get(look->files, path) != NULL)
            continue;
        is_same = false;
        tell(changes, "new", path);
    }
    if (is_same && (is_unseen || (beside == NULL && look->beside != NULL))) /* nobody has looked */
        return SMA_PROGRAM_NEW;
    return is_same ? SMA_PROGRAM_SAME : SMA_PROGRAM_CHANGED;
}

void sma_program_put_changes(struct sma_buf *line, struct sma_str changes)
{
    size_t count = 0;
    for (size_t i = 0; i < changes.len; i++)
        count += changes.ptr[i] == '\n';
    const char *end = changes.len == 0 ? NULL : memchr(changes.ptr, '\n', changes.len);
    const char *blank = end == NULL ? NULL : memchr(changes.ptr, ' ', (size_t)(end - changes.ptr));
    if (blank == NULL)
        return;
    int word = (int)(blank - changes.ptr), len = (int)(end - blank - 1), skip = 0;
    if (len > SHOWN_BYTES_MAX) /* its end says most */
        skip = len - SHOWN_BYTES_MAX;
    sma_buf_printf(line, "%s%.*s is %.*s", skip > 0 ? "..." : "", len - skip, blank + 1 + skip,
                   word, changes.ptr);
    if (count > 1)
        sma_buf_printf(line, ", and %zu more", count - 1);
}

/* -- looking, accepting ------------------------------------------------------------------------ */
static enum sma_err begin(const char *project_dir, const struct sma_mcp_config_server *server,
                          struct sma_program_look **ret_look, struct sma_error *error)
{
    struct sma_program_look *look = calloc(1, sizeof *look);
    if (look == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    look->root = open(project_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int os_errno = errno;
    look->project_dir = strdup(project_dir);
    look->server = strdup(server->name);
    look->files = json_object();
    *ret_look = look;
    if (look->project_dir == NULL || look->server == NULL || look->files == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    if (look->root < 0)
        return sma_fail_os(error, os_errno, "cannot open %s", project_dir);
    if (server->transport == SMA_MCP_STDIO && server->command != NULL)
        digest_words(server, look->words);
    return SMA_ERR_OK;
}

enum sma_err sma_program_look(const char *project_dir, const struct sma_mcp_config_server *server,
                              enum sma_program_state *ret_state, struct sma_buf *changes,
                              struct sma_program_look **ret_look, struct sma_error *error)
{
    struct sma_program_look *look = NULL;
    json_t *root = NULL;
    enum sma_err err = begin(project_dir, server, &look, error);
    if (err == SMA_ERR_OK && read_program(look, server) != SMA_ERR_OK)
        err = sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    if (err == SMA_ERR_OK && look->deepest[0] != '\0')
        err = sma_fail(error, SMA_ERR_TOOBIG,
                       "not started: folders of its program lie more than %d deep (...%s): what "
                       "they hold is not known; put the program into a folder of its own",
                       DEPTH_MAX, look->deepest);
    if (err != SMA_ERR_OK) {
        sma_program_look_destroy(look);
        return err;
    }
    *ret_state = SMA_PROGRAM_FOREIGN;
    err = load_record(project_dir, &root, error);
    if (err == SMA_ERR_BADINPUT && look->list.count == 0) {
        look->is_recorded = true; /* not its matter, nor is it the one to mend it */
        err = SMA_ERR_OK;
    } else if (err == SMA_ERR_OK)
        *ret_state =
            compare(look, json_object_get(json_object_get(root, "servers"), server->name), changes);
    json_decref(root);
    if (err != SMA_ERR_OK && err != SMA_ERR_BADINPUT) {
        sma_program_look_destroy(look);
        return err;
    }
    *ret_look = look;
    return err;
}

bool sma_program_is_recorded(const struct sma_program_look *look)
{
    return look->is_recorded;
}

void sma_program_look_destroy(struct sma_program_look *look)
{
    if (look == NULL)
        return;
    if (look->root >= 0)
        close(look->root);
    sma_decisive_list_fini(&look->list);
    json_decref(look->files);
    json_decref(look->beside);
    json_decref(look->was);
    free(look->project_dir);
    free(look->server);
    free(look);
}

void sma_program_look_digest(const struct sma_program_look *look,
                             char ret_digest[SMA_PROGRAM_DIGEST_BYTES])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    SMA_AUTO(sma_freep) char *files = json_dumps(look->files, JSON_COMPACT | JSON_SORT_KEYS);
    SMA_AUTO(sma_freep)
    char *beside =
        json_dumps(look->beside, JSON_COMPACT | JSON_SORT_KEYS); /* NULL: it was not looked there */
    ret_digest[0] = '\0'; /* out of memory: nobody accepts that */
    if (context != NULL && files != NULL && (beside != NULL || look->beside == NULL) &&
        EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1) {
        put(context, look->server);
        put(context, look->words);
        put(context, files);
        put(context, beside == NULL ? "" : beside);
        print_digest(context, ret_digest);
    }
    EVP_MD_CTX_free(context);
}

/* -- copies, so that a change can be shown ----------------------------------------------------- */
/* The text of a file as it lies there, if its digest is this one. free() it; NULL: no such text */
static char *read_text(const struct sma_program_look *look, const char *path, const char *digest,
                       size_t *ret_size)
{
    char found[SMA_PROGRAM_DIGEST_BYTES] = "", *bytes = NULL;
    size_t len = 0;
    *ret_size = 0;
    if (sma_read_beneath(look->project_dir, path, COPY_BYTES_MAX, &bytes, &len, NULL) != SMA_ERR_OK)
        return NULL;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1) {
        put(context, "file");
        (void)EVP_DigestUpdate(context, bytes, len);
        print_digest(context, found);
    }
    EVP_MD_CTX_free(context);
    *ret_size = len;
    if (strcmp(found, digest) == 0 && strlen(bytes) == len)
        return bytes;
    free(bytes);
    return NULL;
}

static bool copy_path(const struct sma_program_look *look, const char *digest, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/" COPIES "%s", look->project_dir, digest) < PATH_MAX;
}

/* What is not kept is not shown: nothing else depends on it. */
static void keep_copies(const struct sma_program_look *look)
{
    char path[PATH_MAX];
    const char *name;
    json_t *digest;
    size_t left = COPIES_BYTES_MAX;
    if (copy_path(look, "", path))
        (void)mkdir(path, 0700);
    json_object_foreach(look->files, name, digest)
    {
        size_t size = 0;
        const char *text = json_string_value(digest);
        if (!copy_path(look, text, path) || access(path, F_OK) == 0)
            continue;
        SMA_AUTO(sma_freep) char *bytes = read_text(look, name, text, &size);
        if (bytes == NULL || size > left)
            continue;
        struct sma_str whole = {bytes, size};
        if (sma_sys_write_file_atomic(sma_sys_real(), path, whole, 0600, NULL) == SMA_ERR_OK)
            left -= size;
    }
}

static bool is_used(const json_t *servers, const char *digest)
{
    const char *name, *path;
    json_t *server, *other;
    json_object_foreach((json_t *)(uintptr_t)servers, name, server)
        json_object_foreach(json_object_get(server, "files"), path,
                            other) if (strcmp(json_string_value(other), digest) == 0) return true;
    return false;
}

static void remove_old_copies(const struct sma_program_look *look, const json_t *root)
{
    char path[PATH_MAX];
    DIR *dir = copy_path(look, "", path) ? opendir(path) : NULL;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.' && !is_used(json_object_get(root, "servers"), entry->d_name))
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    if (dir != NULL)
        closedir(dir);
}

/* One file: a diff, or what can be told without. */
static void put_change(const struct sma_program_look *look, sma_program_diff_fn *diff,
                       const char *path, const char *was, const char *is, struct sma_buf *text)
{
    char copy[sizeof COPIES + SMA_PROGRAM_DIGEST_BYTES];
    size_t size = 0, len = 0;
    SMA_AUTO(sma_freep) char *before = NULL;
    SMA_AUTO(sma_freep) char *after = read_text(look, path, is, &size);
    (void)snprintf(copy, sizeof copy, COPIES "%s", was == NULL ? "" : was);
    bool is_known = was == NULL || (sma_read_beneath(look->project_dir, copy, COPY_BYTES_MAX,
                                                     &before, &len, NULL) == SMA_ERR_OK);
    if (after != NULL && is_known)
        diff(text, sma_str(path), before, after, DIFF_BYTES_MAX);
    else
        sma_buf_printf(text, "%s: %zu bytes, sha256 %.12s, before %.12s\n", path, size, is,
                       was == NULL ? "none" : was);
    if (text->len > 0 && text->ptr[text->len - 1] != '\n')
        sma_buf_put_char(text, '\n');
}

void sma_program_put_diffs(const struct sma_program_look *look, sma_program_diff_fn *diff,
                           size_t line_max, struct sma_buf *buf)
{
    const char *path;
    json_t *is;
    size_t count = 0;
    struct sma_buf text;
    sma_buf_init(&text, DIFF_BYTES_MAX * 4);
    json_object_foreach(look->files, path, is)
    {
        const json_t *was = json_object_get(look->was, path);
        if (look->was != NULL && !json_equal(was, is) && text.len < DIFF_BYTES_MAX * 2)
            put_change(look, diff, path, json_string_value(was), json_string_value(is), &text);
    }
    for (size_t at = 0; at < text.len;) {
        size_t len = strcspn(text.ptr + at, "\n");
        if (++count >= line_max) {
            sma_buf_put_text(buf, "| ...\n");
            break;
        }
        sma_buf_printf(buf, "| %.*s\n", (int)len, text.ptr + at);
        at += len + 1;
    }
    sma_buf_fini(&text);
}

/* @return a descriptor, to be closed; -1 with *error */
static int lock(const char *project_dir, struct sma_error *error)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/.ship/mcp/accepted.lock", project_dir);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return (void)sma_fail_os(error, errno, "%s cannot be opened", path), -1;
    for (int waited = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; waited += LOCK_STEP_MS) {
        if (waited >= LOCK_WAIT_MS) {
            close(fd);
            return (void)sma_fail(error, SMA_ERR_BUSY, "%s is held by another program", path), -1;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = LOCK_STEP_MS * 1000000L}, NULL);
    }
    return fd;
}

static enum sma_err save(const struct sma_program_look *look, json_t *root, struct sma_error *error)
{
    char path[PATH_MAX];
    json_t *entry = json_pack("{sssOsO*sb}", "words", look->words, "files", look->files, "beside",
                              look->beside, "packages", 1);
    SMA_AUTO(sma_freep) char *text = NULL;
    if (entry == NULL ||
        json_object_set_new(json_object_get(root, "servers"), look->server, entry) != 0 ||
        (text = json_dumps(root, JSON_INDENT(1) | JSON_SORT_KEYS)) == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    (void)snprintf(path, sizeof path, "%s/" SMA_ACCEPTED_FILE, look->project_dir);
    return sma_sys_write_file_atomic(sma_sys_real(), path, sma_str(text), 0600, error);
}

enum sma_err sma_program_accept(const struct sma_program_look *look, struct sma_error *error)
{
    json_t *root = NULL;
    int fd = lock(look->project_dir, error);
    if (fd < 0)
        return error->code;
    enum sma_err err = load_record(look->project_dir, &root, error);
    if (err == SMA_ERR_BADINPUT) /* begun anew: nothing of a damaged one counts */
        err = (root = json_pack("{sis{}}", "version", VERSION, "servers")) == NULL ? SMA_ERR_NOMEM
                                                                                   : SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        err = save(look, root, error);
    if (err == SMA_ERR_OK) {
        keep_copies(look);
        remove_old_copies(look, root);
    }
    json_decref(root);
    close(fd);
    return err;
}
