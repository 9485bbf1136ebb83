/*
 * health.h — what stands in the way right now, a line a part: "feishu": "the app secret is wrong:
 * ...". Shown by `shipmyagent status`.
 *
 * For what lasts until somebody does something; what passes by itself belongs in the log alone.
 * Threads: any; one lock of its own, held for a copy. Limits: SMA_HEALTH_COUNT_MAX parts, further
 *          ones are not kept; SMA_HEALTH_BYTES_MAX of a line, cut beyond.
 */
#ifndef SMA_HEALTH_H
#define SMA_HEALTH_H

#include "sma/buf.h"

#define SMA_HEALTH_COUNT_MAX 24
#define SMA_HEALTH_PART_BYTES_MAX 64 /* of its name */
#define SMA_HEALTH_BYTES_MAX 320

/** part: constant text. An empty line: nothing any more. */
void sma_health_set(const char *part, struct sma_str line);
/** How many parts have a line. */
size_t sma_health_count(void);
/** Append "<part>" of each that has a line, with a comma in front of each but the first; *count:
 *  how many stand there already, and then. */
void sma_health_put_parts(struct sma_buf *buf, size_t *count);
/** Append {"<part>":"<line>",...}, {} when all is well. Errors stay in buf->err. */
void sma_health_format(struct sma_buf *buf);

#endif
