/* health.c — see health.h. */
#include "sma/health.h"

#include "sma/news.h"
#include "sma/text.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct
{
    char part[SMA_HEALTH_PART_BYTES_MAX]; /* "" = free */
    size_t len;                           /* 0 = all is well */
    char line[SMA_HEALTH_BYTES_MAX];
} troubles[SMA_HEALTH_COUNT_MAX];

void sma_health_set(const char *part, struct sma_str line)
{
    size_t i = 0;
    pthread_mutex_lock(&lock);
    while (i < SMA_HEALTH_COUNT_MAX && troubles[i].part[0] != '\0' &&
           strcmp(troubles[i].part, part) != 0)
        i++;
    if (i < SMA_HEALTH_COUNT_MAX) {
        (void)snprintf(troubles[i].part, sizeof troubles[i].part, "%s", part);
        troubles[i].len = sma_utf8_cut(line, sizeof troubles[i].line);
        if (troubles[i].len > 0)
            memcpy(troubles[i].line, line.ptr, troubles[i].len);
    }
    pthread_mutex_unlock(&lock);
    sma_news_ring();
}

size_t sma_health_count(void)
{
    size_t count = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SMA_HEALTH_COUNT_MAX && troubles[i].part[0] != '\0'; i++)
        count += troubles[i].len > 0;
    pthread_mutex_unlock(&lock);
    return count;
}

void sma_health_put_parts(struct sma_buf *buf, size_t *count)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SMA_HEALTH_COUNT_MAX && troubles[i].part[0] != '\0'; i++) {
        if (troubles[i].len == 0)
            continue;
        sma_buf_put_text(buf, (*count)++ == 0 ? "" : ",");
        sma_buf_put_json_string(buf, sma_str(troubles[i].part));
    }
    pthread_mutex_unlock(&lock);
}

void sma_health_format(struct sma_buf *buf)
{
    sma_buf_put_char(buf, '{');
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < SMA_HEALTH_COUNT_MAX && troubles[i].part[0] != '\0'; i++) {
        if (troubles[i].len == 0)
            continue;
        sma_buf_put_json_key(buf, troubles[i].part);
        sma_buf_put_json_string(buf, (struct sma_str){troubles[i].line, troubles[i].len});
    }
    pthread_mutex_unlock(&lock);
    sma_buf_put_char(buf, '}');
}
