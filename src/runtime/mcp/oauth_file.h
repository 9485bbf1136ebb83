/*
 * oauth_file.h — .ship/mcp/tokens/<server>.json: a login, kept. Its folder is 0700, it is 0600; the
 * sandbox and the file tools know nothing in .ship/mcp.
 *
 * Threads: any. Blocks: files.
 */
#ifndef SMA_RUNTIME_MCP_OAUTH_FILE_H
#define SMA_RUNTIME_MCP_OAUTH_FILE_H

#include "oauth.h"

#define SMA_OAUTH_FOLDER ".ship/mcp/tokens"

/** The login of a server of mcp.json, when it is for this address.
 *  OK | NOTFOUND: there is none for it | BADINPUT, TOOBIG, IO (*error) | NOMEM */
SMA_CHECKED enum sma_err sma_oauth_file_read(const char *project_dir, const char *server,
                                             const char *url, struct sma_oauth_token *ret_token,
                                             struct sma_error *error);
/** Replace it as a whole. */
SMA_CHECKED enum sma_err sma_oauth_file_write(const char *project_dir, const char *server,
                                              const struct sma_oauth_token *token,
                                              struct sma_error *error);
/** OK | NOTFOUND | IO. */
SMA_CHECKED enum sma_err sma_oauth_file_remove(const char *project_dir, const char *server,
                                               struct sma_error *error);

#endif
