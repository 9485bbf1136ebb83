/*
 * chat_files.h — files that a message from the terminal takes along.
 *
 * Those named with --attach, and those whose path was typed or dragged into the window: terminals
 * paste a path in quotes, with backslashes, or as a file:// URL. A file of the project goes by its
 * path. Any other is copied to .ship/.cache/cli: the user at the terminal may read it, the service
 * need not.
 * Words that name a file take it along only if it is a picture, a PDF or a sound by its bytes: who
 * asks about his private key does not send it. A message that is nothing but dragged paths
 * (absolute ones) takes whatever they name.
 *
 * Threads: the caller's. Blocks: on the file system.
 * Limits: SMA_ATTACHMENT_COUNT_MAX files, SMA_ATTACHMENT_BYTES_MAX each; of a message longer than
 *         CHAT_FILES_TEXT_BYTES_MAX no words are looked at.
 */
#ifndef SMA_CLI_CHAT_FILES_H
#define SMA_CLI_CHAT_FILES_H

#include "sma/buf.h"

#define CHAT_FILES_TEXT_BYTES_MAX 16384

struct sma_chat_files
{
    const char *project_dir; /* a real path; NULL: nothing is taken along */
    unsigned count;
    struct sma_buf json;  /* {"path":".."},{"path":".."} */
    struct sma_buf names; /* "plan.png, offer.pdf" */
};

void sma_chat_files_init(struct sma_chat_files *files, const char *project_dir);
void sma_chat_files_clear(struct sma_chat_files *files);
void sma_chat_files_fini(struct sma_chat_files *files);
/** Take this file along. One that is there already is taken once. Errors with one line in
 *  *error. */
SMA_CHECKED enum sma_err sma_chat_files_add(struct sma_chat_files *files, const char *path,
                                            struct sma_error *error);
/**
 * Take along what the words of a message name.
 * @ret_is_all  the message is nothing but paths of what was taken
 * @return      OK, also when there is nothing | as sma_chat_files_add
 */
SMA_CHECKED enum sma_err sma_chat_files_find(struct sma_chat_files *files, struct sma_str text,
                                             bool *ret_is_all, struct sma_error *error);

#endif
