/*
 * plural.h — counts that people read: "1 tool", "2 tools".
 * Use: printf("%zu tool%s", count, SMA_S(count)). Words that take more than an s are written out.
 */
#ifndef SMA_PLURAL_H
#define SMA_PLURAL_H

#define SMA_S(count) ((count) == 1 ? "" : "s")

#endif
