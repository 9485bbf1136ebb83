/*
 * served.h — the files of `public/` that the HTTP API serves: the adapter's routes and the judge of
 * writes share one list.
 */
#ifndef SMA_TOOLS_SERVED_H
#define SMA_TOOLS_SERVED_H

/* X(path of the request, name in public/, type) */
#define SMA_SERVED_FILES(X)                                   \
    X("/", "index.html", "text/html; charset=utf-8")          \
    X("/styles.css", "styles.css", "text/css; charset=utf-8") \
    X("/app.js", "app.js", "application/javascript; charset=utf-8")

#endif
