/* tale.c — see tale.h. */
#include "tale.h"

#include "http_priv.h"

#include <stdlib.h>

struct http_tale *http_tale_create(uint32_t epoch)
{
    struct http_tale *tale = calloc(1, sizeof *tale);
    if (tale == NULL)
        return NULL;
    tale->epoch = epoch;
    sma_buf_init(&tale->text, TALE_TEXT_BYTES_MAX);
    sma_buf_init(&tale->frames, TALE_FRAMES_BYTES_MAX);
    return tale;
}

void http_tale_destroy(struct http_tale *tale)
{
    if (tale == NULL)
        return;
    sma_buf_fini(&tale->text);
    sma_buf_fini(&tale->frames);
    free(tale);
}
