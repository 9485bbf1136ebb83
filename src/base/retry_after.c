/* retry_after.c — see retry_after.h. */
#include "sma/retry_after.h"

#include "sma/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <time.h>

int64_t sma_retry_after_parse(struct sma_str value, int64_t wall_ms)
{
    char text[64];
    value = sma_str_trim(value);
    if (value.len == 0 || value.len >= sizeof text)
        return -1;
    memcpy(text, value.ptr, value.len);
    text[value.len] = '\0';
    if (isdigit((unsigned char)text[0])) {
        char *end = NULL;
        double seconds = strtod(text, &end);
        return *end == '\0' && seconds >= 0 && seconds < 1e9 ? (int64_t)(seconds * 1000) : -1;
    }
    struct tm when = {0};
    const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &when);
    if (end == NULL || *end != '\0')
        return -1;
    int64_t wait_ms = (int64_t)timegm(&when) * 1000 - wall_ms;
    return wait_ms < 0 ? 0 : wait_ms;
}
