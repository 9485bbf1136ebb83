/* web_files.h — the files of the page, as the build packs them from web/dist (CMakeLists.txt). */
#ifndef SMA_HTTP_WEB_FILES_H
#define SMA_HTTP_WEB_FILES_H

#include <stddef.h>

struct http_web_file
{
    const char *name, *type;
    const char *hash;  /* of what it holds */
    const char *bytes; /* gzip */
    size_t len;
};
extern const struct http_web_file http_web_files[];
extern const size_t http_web_file_count;

#endif
