/*
 * secret_files.h — the files of a folder that hold secrets (secret_names.h), found by looking
 * through it: commands in the sandbox do not see them.
 *
 * Left out of the look: `.ship`, packages (node_modules), what a repository keeps of its history.
 * Links are not followed. Bounded; who was told that it was cut must take it that there are more.
 * Of the project's folder is remembered what was seen: a folder with the same time of change is not
 * read again, but asked for that time; files that count by their bytes are read each time.
 * Threads: any. State: the last look, at most 4 MiB. Blocks: on the disk.
 */
#ifndef SMA_RUNTIME_SECRET_FILES_H
#define SMA_RUNTIME_SECRET_FILES_H

#include "runtime/policy/secret_names.h"
#include "sma/buf.h"

#include <limits.h>

#define SMA_SECRET_FILES_ENTRY_COUNT_MAX 100000 /* of the project */
#define SMA_SECRET_FILES_DEPTH_MAX 64

/* @return false: no more are wanted, and it counts as cut. What the settings in the project's own
 * .git include has their row, and may lie outside of the folder. */
typedef bool sma_secret_files_fn(void *user, const char *path, const struct sma_secret_row *row,
                                 bool is_folder);
/** Each secret file or folder below `folder`, which is absolute, in no order. What lies in a secret
 *  folder is not told of.
 *  @count_max  entries that are looked at
 *  @is_own     the project's folder: its `.ship` is left out; elsewhere it is a secret
 *  @return false: not everything was looked at */
bool sma_secret_files_find(const char *folder, size_t count_max, bool is_own,
                           sma_secret_files_fn *found, void *user);

/** When names were last put into or taken out of this folder, or this file was changed, as a number
 *  that another such time, folder or file differs from. 0: that cannot be told (changed in the last
 *  seconds; not there; a file system that keeps no times). */
uint64_t sma_secret_files_stamp(const char *path);

/**
 * Each file that settings of git include, and what those include in turn (at most
 * SMA_SECRET_INCLUDED_COUNT_MAX). Settings that include nothing are not read again while their
 * stamp is the same.
 * @found   named: absolute, as it is written; path: what that is, NULL where nothing is
 * @return  false: `found` wanted no more
 */
#define SMA_SECRET_INCLUDED_COUNT_MAX 16
typedef bool sma_secret_included_fn(void *user, const char *named, const char *path);
bool sma_secret_files_included(const char *config, sma_secret_included_fn *found, void *user);

/** A value of settings of git, what stands behind its "=", without quotes and comment. @return its
 *  length */
size_t sma_secret_files_value(const char *at, char value[PATH_MAX]);

/** By its name and bytes. Larger ones than 1 MiB count by their name. */
bool sma_secret_file_holds(int fd, const struct sma_secret_row *row);
/** The text of a configuration without the lines that hold a login, each said in a comment. OK |
 *  NOMEM */
SMA_CHECKED enum sma_err sma_secret_file_show(int fd, const struct sma_secret_row *row,
                                              struct sma_buf *text);

#endif
