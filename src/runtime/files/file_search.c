/* file_search.c — list_files and search_files. See file_tools.h. */
#include "runtime/files/file_tools_priv.h"

#include "sma/limits.h"
#include "sma/text.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define MATCH_COUNT_MAX 1000000 /* steps of one line */
#define MATCH_HEAP_KB_MAX 8192
#define LINE_BYTES_MAX 65536   /* of one line that are looked at */
#define SHOWN_BYTES_MAX 300    /* of one line that are shown */
#define LINES_BETWEEN_LOOKS 64 /* at the clock */
#define SKIPPED_NAMES ".git, node_modules, virtual environments, caches and build outputs"

/* -- what both share --------------------------------------------------------------------------- */
/* Folders that hold what others made: entered only when they are named. */
static bool is_made_by_others(const char *name)
{
    static const char *const names[] = {".git",  "node_modules", "__pycache__", ".venv", "venv",
                                        ".next", ".cache",       ".tox",        "build", "dist",
                                        "out",   "target",       ".gradle"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* The notes at the end of a result. */
static void put_notes(struct sma_buf *result, const char *const *notes, size_t count)
{
    bool has_any = false;
    for (size_t i = 0; i < count; i++) {
        if (notes[i] == NULL)
            continue;
        sma_buf_put_text(result, has_any ? " " : ",\"note\":\"");
        sma_buf_put_text(result, notes[i]);
        has_any = true;
    }
    sma_buf_put_text(result, has_any ? "\"}" : "}");
}

static bool fits(struct sma_str pattern, struct sma_str folder, struct sma_str path)
{
    if (pattern.len == 0 || sma_glob_fits(pattern, path))
        return true;
    if (folder.len == 0 || path.len <= folder.len + 1)
        return false;
    return sma_glob_fits(pattern,
                         (struct sma_str){path.ptr + folder.len + 1, path.len - folder.len - 1});
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* -- list_files -------------------------------------------------------------------------------- */
struct listing
{
    const struct sma_file_tools *tools;
    const struct sma_tool_args *args;
    struct sma_buf *result;
    struct sma_str folder;
    size_t limit, count;
    bool is_full, has_skipped;
};

static enum sma_guard_step list_entry(void *user, const struct sma_guard_entry *entry)
{
    struct listing *listing = user;
    bool is_folder = S_ISDIR(entry->stat->st_mode);
    bool is_skipped = is_folder && is_made_by_others(entry->name);
    enum sma_guard_step step =
        listing->args->is_recursive && !is_skipped ? SMA_GUARD_GO_ON : SMA_GUARD_SKIP;
    listing->has_skipped |= is_skipped && listing->args->is_recursive;
    if (!fits(listing->args->pattern, listing->folder, entry->path) ||
        (!is_folder && sma_file_rules_read(listing->tools->rules, entry->path) != SMA_FILE_ALLOW))
        return step;
    if (listing->count == SMA_FILE_LIST_COUNT_MAX ||
        listing->result->len + file_tools_path_cost(listing->tools, entry->path) + 80 >
            listing->limit) {
        listing->is_full = true;
        return SMA_GUARD_END;
    }
    sma_buf_put_text(listing->result, listing->count++ == 0 ? "\"" : ",\"");
    file_tools_put_path(listing->tools, listing->result, entry->path);
    sma_buf_put_text(listing->result, is_folder ? "/\"" : "\"");
    return step;
}

enum sma_err file_tools_list(const struct sma_file_tools *tools, const struct sma_tool_args *args,
                             struct sma_buf *result, struct sma_buf *why)
{
    struct sma_buf folder;
    bool is_cut = false;
    sma_buf_init(&folder, SMA_GUARD_PATH_BYTES_MAX + 1);
    /* a folder need not be named by read_repo.paths: what it holds is */
    enum sma_err err = sma_guard_clean(tools->guard, args->path, &folder, why);
    if (err == SMA_ERR_OK && sma_file_rules_reads_nothing(tools->rules))
        err = file_tools_say(why, SMA_STR("Reading files"),
                             " is switched off (permissions.read_repo in ship.json).");
    size_t start = result->len;
    struct listing listing = {.tools = tools,
                              .args = args,
                              .result = result,
                              .folder = sma_buf_str(&folder),
                              .limit = start + FILE_RESULT_TEXT_BYTES_MAX};
    if (err == SMA_ERR_OK) {
        sma_buf_put_text(result, "{\"success\":true,\"entries\":[");
        err = sma_guard_walk(tools->guard, listing.folder, list_entry, &listing, &is_cut, why);
    }
    if (err == SMA_ERR_OK) {
        bool is_partial = listing.is_full || is_cut;
        sma_buf_put_text(result, is_partial ? "],\"truncated\":true" : "]");
        const char *const notes[] = {
            listing.is_full ? "There are more: name a folder or a pattern." : NULL,
            is_cut ? "A folder was too large, too deep or could not be read." : NULL,
            listing.has_skipped ? "Not looked into: " SKIPPED_NAMES "; name one as path to see it."
                                : NULL};
        put_notes(result, notes, SMA_COUNT_OF(notes));
    }
    sma_buf_fini(&folder);
    return err == SMA_ERR_OK ? result->err : err;
}

/* -- names alone ------------------------------------------------------------------------------- */
struct names
{
    const struct sma_file_tools *tools;
    struct sma_str pattern;
    struct sma_buf *result;
    size_t limit, count, looked_at;
    int64_t deadline_ms;
    bool is_full;
};

static enum sma_guard_step name_entry(void *user, const struct sma_guard_entry *entry)
{
    struct names *names = user;
    if (names->looked_at++ == SMA_FILE_NAMES_LOOK_COUNT_MAX || now_ms() > names->deadline_ms) {
        names->is_full = true;
        return SMA_GUARD_END;
    }
    if (S_ISDIR(entry->stat->st_mode))
        return is_made_by_others(entry->name) ? SMA_GUARD_SKIP : SMA_GUARD_GO_ON;
    if (!S_ISREG(entry->stat->st_mode) || !sma_glob_fits(names->pattern, entry->path) ||
        sma_file_rules_read(names->tools->rules, entry->path) != SMA_FILE_ALLOW)
        return SMA_GUARD_SKIP;
    if (names->count == SMA_FILE_LIST_COUNT_MAX ||
        names->result->len + file_tools_path_cost(names->tools, entry->path) + 80 > names->limit) {
        names->is_full = true;
        return SMA_GUARD_END;
    }
    sma_buf_put_text(names->result, names->count++ == 0 ? "\"" : ",\"");
    file_tools_put_path(names->tools, names->result, entry->path);
    sma_buf_put_char(names->result, '"');
    return SMA_GUARD_SKIP;
}

/* The folders that the pattern names before its first star: nothing else need be walked. */
static struct sma_str named_folder(struct sma_str pattern)
{
    size_t len = 0;
    for (size_t i = 0; i < pattern.len && strchr("*?{", pattern.ptr[i]) == NULL; i++)
        if (pattern.ptr[i] == '/')
            len = i;
    return (struct sma_str){pattern.ptr, len};
}

enum sma_err sma_file_tools_put_names(const struct sma_file_tools *tools, struct sma_str pattern,
                                      struct sma_buf *result, bool *ret_is_cut, struct sma_buf *why)
{
    struct sma_buf folder;
    bool is_cut = false;
    struct names names = {.tools = tools,
                          .pattern = pattern,
                          .result = result,
                          .limit = result->len + FILE_RESULT_TEXT_BYTES_MAX,
                          .deadline_ms = now_ms() + SMA_FILE_NAMES_MS};
    sma_buf_init(&folder, SMA_GUARD_PATH_BYTES_MAX + 1);
    enum sma_err err = sma_guard_clean(tools->guard, named_folder(pattern), &folder, why);
    if (err == SMA_ERR_OK && sma_file_rules_reads_nothing(tools->rules))
        err = file_tools_say(why, SMA_STR("Reading files"),
                             " is switched off (permissions.read_repo in ship.json).");
    if (err == SMA_ERR_OK &&
        sma_guard_classify(sma_buf_str(&folder), SMA_GUARD_LIST) != SMA_GUARD_PROTECTED) {
        err = sma_guard_walk(tools->guard, sma_buf_str(&folder), name_entry, &names, &is_cut, why);
        if (err == SMA_ERR_NOTFOUND) /* nothing is there: nothing fits */
            err = SMA_ERR_OK;
    }
    sma_buf_fini(&folder);
    *ret_is_cut = is_cut || names.is_full;
    return err == SMA_ERR_OK ? result->err : err;
}

/* -- search_files ------------------------------------------------------------------------------ */
struct search
{
    const struct sma_file_tools *tools;
    const struct sma_tool_args *args;
    struct sma_buf *result;
    const volatile int *is_stopped;
    struct sma_str folder;
    size_t limit, count;
    int64_t deadline_ms;
    unsigned lines_to_look;
    bool is_full, is_late, has_skipped, has_costly, has_large;
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

static bool compile(struct search *search)
{
    struct sma_str pattern = search->args->pattern;
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
                       (search->args->ignores_case ? PCRE2_CASELESS : 0);
    int number;
    PCRE2_SIZE place;
    search->code =
        pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, options, &number, &place, NULL);
    if (search->code == NULL) { /* no regular expression: a text */
        options &= PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_CASELESS;
        search->code = pcre2_compile((PCRE2_SPTR)pattern.ptr, pattern.len, options | PCRE2_LITERAL,
                                     &number, &place, NULL);
    }
    search->data =
        search->code == NULL ? NULL : pcre2_match_data_create_from_pattern(search->code, NULL);
    search->context = pcre2_match_context_create(NULL);
    if (search->data == NULL || search->context == NULL)
        return false;
    pcre2_set_match_limit(search->context, MATCH_COUNT_MAX);
    pcre2_set_heap_limit(search->context, MATCH_HEAP_KB_MAX);
    return true;
}

/* Part of a line around where the match begins. */
static struct sma_str window(struct sma_str line, size_t from)
{
    size_t start =
        from > SHOWN_BYTES_MAX / 3 && line.len > SHOWN_BYTES_MAX ? from - SHOWN_BYTES_MAX / 3 : 0;
    while (start > 0 && start < line.len && ((unsigned char)line.ptr[start] & 0xc0) == 0x80)
        start--;
    struct sma_str rest = {line.ptr + start, line.len - start};
    return (struct sma_str){rest.ptr, sma_utf8_cut(rest, SHOWN_BYTES_MAX)};
}

static void put_match(struct search *search, struct sma_str path, size_t number,
                      struct sma_str shown)
{
    if (search->count == SMA_FILE_SEARCH_COUNT_MAX ||
        search->result->len + file_tools_path_cost(search->tools, path) + 6 * shown.len + 120 >
            search->limit) {
        search->is_full = true;
        return;
    }
    sma_buf_put_text(search->result, search->count++ == 0 ? "{\"path\":\"" : ",{\"path\":\"");
    file_tools_put_path(search->tools, search->result, path);
    sma_buf_printf(search->result, "\",\"line\":%zu,\"text\":", number);
    sma_buf_put_json_string(search->result, shown);
    sma_buf_put_char(search->result, '}');
}

static bool must_end(struct search *search)
{
    if (search->is_full || search->is_late)
        return true;
    if (search->lines_to_look-- > 0)
        return false;
    search->lines_to_look = LINES_BETWEEN_LOOKS;
    bool is_stopped =
        search->is_stopped != NULL && __atomic_load_n(search->is_stopped, __ATOMIC_ACQUIRE) != 0;
    search->is_late = is_stopped || now_ms() > search->deadline_ms;
    return search->is_late;
}

static void search_text(struct search *search, struct sma_str path, struct sma_str text)
{
    size_t number = 0;
    for (size_t at = 0; at < text.len && !must_end(search);) {
        const char *end = memchr(text.ptr + at, '\n', text.len - at);
        size_t next = end == NULL ? text.len : (size_t)(end + 1 - text.ptr);
        struct sma_str line = {text.ptr + at, next - at - (end != NULL)};
        if (line.len > 0 && line.ptr[line.len - 1] == '\r')
            line.len--;
        number++;
        at = next;
        int got = pcre2_match(search->code, (PCRE2_SPTR)line.ptr,
                              line.len < LINE_BYTES_MAX ? line.len : LINE_BYTES_MAX, 0, 0,
                              search->data, search->context);
        if (got >= 0)
            put_match(search, path, number,
                      window(line, pcre2_get_ovector_pointer(search->data)[0]));
        else if (got != PCRE2_ERROR_NOMATCH)
            search->has_costly = true;
    }
}

/* Secrets are replaced before anything is compared: a pattern cannot ask about them. */
static enum sma_err search_file(struct search *search, struct sma_str path, enum sma_guard_use use)
{
    char *bytes = NULL;
    size_t len = 0;
    struct sma_buf why;
    sma_buf_init(&why, 4000);
    enum sma_err err = sma_guard_read(search->tools->guard, path, use, SMA_FILE_READ_BYTES_MAX,
                                      &bytes, &len, &why);
    search->has_large |= err == SMA_ERR_TOOBIG;
    sma_buf_fini(&why);
    if (err == SMA_ERR_OK && memchr(bytes, '\0', len) == NULL) {
        err = file_tools_redact(search->tools, &bytes, &len);
        if (err == SMA_ERR_OK)
            search_text(search, path, (struct sma_str){bytes, len});
    }
    free(bytes);
    return err;
}

static enum sma_guard_step search_entry(void *user, const struct sma_guard_entry *entry)
{
    struct search *search = user;
    if (S_ISDIR(entry->stat->st_mode)) {
        bool is_skipped = is_made_by_others(entry->name);
        search->has_skipped |= is_skipped;
        return must_end(search) ? SMA_GUARD_END : is_skipped ? SMA_GUARD_SKIP : SMA_GUARD_GO_ON;
    }
    if (S_ISREG(entry->stat->st_mode) && fits(search->args->glob, search->folder, entry->path) &&
        sma_file_rules_read(search->tools->rules, entry->path) == SMA_FILE_ALLOW)
        (void)search_file(search, entry->path,
                          SMA_GUARD_LIST); /* one that cannot be read is not found in */
    return must_end(search) ? SMA_GUARD_END : SMA_GUARD_GO_ON;
}

static enum sma_err search_all(struct search *search, bool *ret_is_cut, struct sma_buf *why)
{
    size_t why_len = why->len;
    /* where nothing is found by walking a file that is named is still searched */
    bool is_walked = sma_guard_classify(search->folder, SMA_GUARD_LIST) != SMA_GUARD_PROTECTED ||
                     sma_guard_classify(search->folder, SMA_GUARD_READ) == SMA_GUARD_PROTECTED;
    enum sma_err err = !is_walked ? SMA_ERR_NOTFOUND
                                  : sma_guard_walk(search->tools->guard, search->folder,
                                                   search_entry, search, ret_is_cut, why);
    if (err != SMA_ERR_NOTFOUND || search->folder.len == 0)
        return err;
    struct stat stat; /* no folder: a file? */
    int fd;
    why->len = why_len;
    if (sma_file_rules_read(search->tools->rules, search->folder) != SMA_FILE_ALLOW)
        return file_tools_say(why, search->folder,
                              " may not be read: permissions.read_repo.paths does not name it.");
    err = sma_guard_open(search->tools->guard, search->folder, SMA_GUARD_READ, &fd, &stat, why);
    if (err != SMA_ERR_OK)
        return err;
    close(fd);
    return search_file(search, search->folder, SMA_GUARD_READ); /* named whole: not found */
}

static void put_search_end(struct search *search, bool is_cut)
{
    bool is_partial = is_cut || search->is_full || search->is_late || search->has_costly;
    sma_buf_put_text(search->result, is_partial ? "],\"truncated\":true" : "]");
    const char *const notes[] = {
        search->is_full ? "There are more matches: narrow the search." : NULL,
        search->is_late ? "The search took too long and was ended: name a folder or a glob." : NULL,
        search->has_costly ? "The pattern was too costly for some lines." : NULL,
        search->has_large ? "Files over 10 MiB were not searched." : NULL,
        is_cut ? "A folder was too large, too deep or could not be read." : NULL,
        search->has_skipped ? "Not searched: " SKIPPED_NAMES "; name one as path to search it."
                            : NULL};
    put_notes(search->result, notes, SMA_COUNT_OF(notes));
}

enum sma_err file_tools_search(const struct sma_file_tools *tools, const struct sma_tool_args *args,
                               struct sma_buf *result, struct sma_buf *why,
                               const volatile int *is_stopped)
{
    struct sma_buf folder;
    bool is_cut = false;
    sma_buf_init(&folder, SMA_GUARD_PATH_BYTES_MAX + 1);
    enum sma_err err = sma_guard_clean(tools->guard, args->path, &folder, why);
    if (err == SMA_ERR_OK && sma_file_rules_reads_nothing(tools->rules))
        err = file_tools_say(why, SMA_STR("Reading files"),
                             " is switched off (permissions.read_repo in ship.json).");
    struct search search = {.tools = tools,
                            .args = args,
                            .result = result,
                            .is_stopped = is_stopped,
                            .folder = sma_buf_str(&folder),
                            .limit = result->len + FILE_RESULT_TEXT_BYTES_MAX,
                            .deadline_ms = now_ms() + SMA_FILE_SEARCH_MS};
    if (err == SMA_ERR_OK && !compile(&search))
        err = SMA_ERR_NOMEM;
    if (err == SMA_ERR_OK) {
        sma_buf_put_text(result, "{\"success\":true,\"matches\":[");
        err = search_all(&search, &is_cut, why);
    }
    if (err == SMA_ERR_OK)
        put_search_end(&search, is_cut);
    pcre2_match_context_free(search.context);
    pcre2_match_data_free(search.data);
    pcre2_code_free(search.code);
    sma_buf_fini(&folder);
    return err == SMA_ERR_OK ? result->err : err;
}
