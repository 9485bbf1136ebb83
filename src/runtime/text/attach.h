/*
 * attach.h — attachments that people send: where they will be on disk, and how text speaks of them.
 *
 * The path is fixed when the message is read, before anything is fetched: history and model see it,
 * and the same message gives the same path after a restart.
 * Untrusted: names and ids. A path made here is always the given folder and one plain name.
 * Source: protocols/project.md §5.2 (names), §6.2 (the @attach line).  Threads: no state.
 */
#ifndef SMA_RUNTIME_FILES_ATTACH_H
#define SMA_RUNTIME_FILES_ATTACH_H

#include "sma/buf.h"

#define SMA_ATTACH_NAME_CHARS_MAX 160
#define SMA_ATTACH_NAME_BYTES_MAX \
    200 /* with what stands before it, within the 255 bytes of a file name */
#define SMA_ATTACH_TAG_CHARS_MAX 8 /* of the platform's id, for people */
#define SMA_ATTACH_LABEL_BYTES_MAX 160

/** The last component, every run of other characters than letters, digits, `_.-()@` and CJK as one
 *  '_', cut; "_" at least. */
void sma_attach_put_name(struct sma_buf *buf, struct sma_str name);
/**
 * `<folder><date_ms>-<tag>-<hash>-<name>`. The hash is of id and salt, so that two files never
 * share a path.
 * @folder  relative to the project, with a slash at its end
 * @id      the platform's id of the file: its head is shown, all of it is hashed
 * @salt    what else makes this file this one: chat and message
 */
void sma_attach_put_path(struct sma_buf *buf, const char *folder, int64_t date_ms,
                         struct sma_str id, struct sma_str salt, struct sma_str name);
/** Is this path one that sma_attach_put_path may have made? */
bool sma_attach_is_path(const char *folder, struct sma_str path);
/** Append untrusted text on one line: control characters become blanks, at most max_bytes. */
void sma_attach_put_label(struct sma_buf *buf, struct sma_str label, size_t max_bytes);
/** `@attach <kind> <path> | <label>` on a line of its own (a line feed before it when buf is not
 *  empty). */
void sma_attach_put_line(struct sma_buf *buf, const char *kind, struct sma_str path,
                         struct sma_str label);
/* A line of the assistant's text that asks for a file to be sent. Slices point into the line. */
struct sma_attach_line
{
    const char *kind;       /* "photo" "document" "voice" "audio" */
    struct sma_str target;  /* URL or path, as written: check it before use; never empty */
    struct sma_str caption; /* may be empty */
};
/** Is this line `@attach <kind> <target> [| caption]`? Any case; "image" is photo, "file" and
 *  "video" are documents. A text is read by attach_text.h, which knows what is code. */
bool sma_attach_read_line(struct sma_str line, struct sma_attach_line *ret_line);
/** The line for the model when a file could not be fetched; why in plain words, no final dot. */
void sma_attach_put_missing(struct sma_buf *buf, struct sma_str label, struct sma_str path,
                            const char *why);

#endif
