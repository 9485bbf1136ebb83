/* log_ring.c — see log_ring.h. Bytes of all lines stand in one ring, a line feed behind each. */
#include "sma/log_ring.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char bytes[SMA_LOG_RING_BYTES]; /* touched as lines come */
static size_t first, len; /* of bytes: where the oldest line begins, how many there are */
static uint32_t lens[SMA_LOG_RING_LINE_COUNT]; /* of lines, line feed included */
static size_t first_line, line_count;

static void drop_oldest(void)
{
    size_t gone = lens[first_line];
    first = (first + gone) % SMA_LOG_RING_BYTES;
    len -= gone;
    first_line = (first_line + 1) % SMA_LOG_RING_LINE_COUNT;
    line_count--;
}

static void put_bytes(const char *from, size_t count)
{
    size_t at = (first + len) % SMA_LOG_RING_BYTES;
    size_t head = count < SMA_LOG_RING_BYTES - at ? count : SMA_LOG_RING_BYTES - at;
    memcpy(bytes + at, from, head);
    memcpy(bytes, from + head, count - head);
    len += count;
}

void sma_log_ring_put(struct sma_str line)
{
    while (line.len > 0 && line.ptr[line.len - 1] == '\n')
        line.len--;
    if (line.len == 0 || line.len > SMA_LOG_RING_BYTES / 4)
        return;
    pthread_mutex_lock(&lock);
    while (line_count == SMA_LOG_RING_LINE_COUNT || len + line.len + 1 > SMA_LOG_RING_BYTES)
        drop_oldest();
    lens[(first_line + line_count++) % SMA_LOG_RING_LINE_COUNT] = (uint32_t)line.len + 1;
    put_bytes(line.ptr, line.len);
    put_bytes("\n", 1);
    pthread_mutex_unlock(&lock);
}

void sma_log_ring_format(struct sma_buf *json, size_t count_max)
{
    pthread_mutex_lock(&lock);
    size_t skipped = line_count > count_max ? line_count - count_max : 0, at = first;
    for (size_t i = 0; i < line_count; i++) {
        size_t line_len = lens[(first_line + i) % SMA_LOG_RING_LINE_COUNT];
        if (i >= skipped) {
            size_t text_len = line_len - 1;
            size_t head = text_len < SMA_LOG_RING_BYTES - at ? text_len : SMA_LOG_RING_BYTES - at;
            sma_buf_put_text(json, i == skipped ? "" : ",");
            sma_buf_put(json, bytes + at, head);
            sma_buf_put(json, bytes, text_len - head);
        }
        at = (at + line_len) % SMA_LOG_RING_BYTES;
    }
    pthread_mutex_unlock(&lock);
}

void sma_log_ring_reset(void)
{
    pthread_mutex_lock(&lock);
    first = len = first_line = line_count = 0;
    pthread_mutex_unlock(&lock);
}
