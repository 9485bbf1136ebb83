/* decisive_priv.h — what the files of this folder share. Threads: any. */
#ifndef SMA_RUNTIME_DECISIVE_PRIV_H
#define SMA_RUNTIME_DECISIVE_PRIV_H

#include "runtime/decisive/decisive.h"

#include <string.h>

/** Does a variable of this name lead programs to code? */
bool sma_decisive_is_code_variable(struct sma_str name);
/** Is the path the folder itself, or below it? By its words. */
static inline bool decisive_is_inside(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}
/** npx and the like. */
bool sma_decisive_is_fetcher(const struct sma_mcp_config_server *server);
/** Has it, between walls, what commands have not: a network, or keys in its "env"? */
bool sma_decisive_has_means(const struct sma_mcp_config_server *server);
/** Do the words of this stdio entry tell that it runs nothing of the project? Looks at files. */
bool sma_decisive_is_accounted(const char *project_dir, const struct sma_mcp_config_server *server);

#endif
