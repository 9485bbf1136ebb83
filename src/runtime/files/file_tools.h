/*
 * file_tools.h — read_file, write_file, edit_file, list_files, search_files, read_more: what they
 * do, on the project's files.
 *
 * Every path is opened beneath the project's root by handle (openat2 RESOLVE_BENEATH; component by
 * component where the kernel lacks it): no "..", no absolute path, no symbolic link leads out.
 * `.env*`, `.ship` (but `.ship/.cache`, `.ship/public` and `.ship/logs/exec` for reading) and what
 * is the same file as one of them are not there for tools. Secrets known by value are replaced in
 * every result. Writes are atomic (a new file renamed over the old one, mode kept) and never follow
 * a link.
 * Threads: any worker thread; an instance is constant. Blocks: reads and writes files, bounded by
 * limits.h.
 */
#ifndef SMA_TOOLS_FILE_TOOLS_H
#define SMA_TOOLS_FILE_TOOLS_H

#include "sma/buf.h"
#include "sma/config.h"

struct sma_file_tools;
SMA_CHECKED enum sma_err sma_file_tools_create(const struct sma_config *config,
                                               struct sma_file_tools **ret_tools,
                                               struct sma_error *error);
void sma_file_tools_destroy(struct sma_file_tools *tools); /* accepts NULL */
/**
 * The same tools for reading a folder outside the project, and nothing beside it: the guard's rules
 * hold from there on. `folder`: its real path. `tools` outlive the view.
 * @return OK | BADINPUT: no file is to be read at all (permissions.read_repo), or the path is too
 * long | NOTFOUND | IO | NOMEM
 */
SMA_CHECKED enum sma_err sma_file_tools_create_view(const struct sma_file_tools *tools,
                                                    const char *folder,
                                                    struct sma_file_tools **ret_view,
                                                    struct sma_error *error);

/** Is this one of the tools of this file? */
bool sma_file_tools_has(struct sma_str name);
/** The path that a call of write_file or edit_file would write, in its one way of writing: calls of
 *  one file are those of one such path, for writes go through no link. Empty: it writes nothing.
 *  Blocks: never. */
void sma_file_tools_put_target(const struct sma_file_tools *tools, struct sma_str name,
                               struct sma_str arguments, struct sma_buf *ret_path);

/* What read_file has found that is no text: a picture or a PDF, which the model sees itself. */
struct sma_file_seen
{
    uint8_t kind; /* enum sma_part_kind; NONE: nothing */
    const char *mime;
    struct sma_buf path; /* clean; the caller's to init and fini */
};
struct sma_file_call
{
    struct sma_str name, arguments; /* JSON that the schema of tools.h allows */
    /* 32 bytes: write only what has this digest (check.h); NULL = anything */
    const uint8_t *agreed;
    /* polled during long searches; set by another thread to end it early */
    const volatile int *is_stopped;
    struct sma_file_seen *seen; /* filled in by read_file; NULL: such files are refused */
};
/**
 * Do it. A file that is changed by others meanwhile is never overwritten unseen: an edit is made
 * again on what stands there by then, and what was agreed to as a whole is not done.
 * @result   appended: JSON object as in the protocols/project.md §9 ({"success":true,...} or
 * {"success":false,"error":...})
 * @return whether it succeeded
 */
bool sma_file_tools_run(const struct sma_file_tools *tools, const struct sma_file_call *call,
                        struct sma_buf *result);

/**
 * The files whose path fits the pattern (file_rules.h), as members of a JSON array: "a","b/c". As
 * read_file sees them: what may not be read is not there, links and folders are not named, and what
 * others made (node_modules, build, ...) is looked into only when the pattern begins with it.
 * Folder by folder in order of name, at most SMA_FILE_LIST_COUNT_MAX files; *ret_is_cut: there may
 * be more.
 * @return OK | BADINPUT (no path of the project, or nothing may be read) | IO | NOMEM | TOOBIG
 */
SMA_CHECKED enum sma_err sma_file_tools_put_names(const struct sma_file_tools *tools,
                                                  struct sma_str pattern, struct sma_buf *result,
                                                  bool *ret_is_cut, struct sma_buf *why);

/** May this file of the project be sent or read? Opens it beneath the root; the caller closes
 *  *ret_fd. */
SMA_CHECKED enum sma_err sma_file_tools_open(const struct sma_file_tools *tools,
                                             struct sma_str path, int *ret_fd, struct sma_buf *why);
/**
 * Open a file that a model is to be given whole (struct sma_part): beneath the root and past the
 * guard, as read_file does. What rules say of reading was asked when the file was asked for; what a
 * person sent is theirs to show. A file that holds one of our secrets is refused.
 * @return OK and *ret_fd (the caller closes it), *ret_bytes | errors as sma_guard_open, with a
 *         sentence in why
 */
SMA_CHECKED enum sma_err sma_file_tools_open_part(const struct sma_file_tools *tools,
                                                  struct sma_str path, int *ret_fd,
                                                  uint64_t *ret_bytes, struct sma_buf *why);
/** A unified diff of two texts, at most max bytes (then "..." says so). before NULL: a new file. */
void sma_file_tools_put_diff(struct sma_buf *buf, struct sma_str path, const char *before,
                             const char *after, size_t max);

#endif
