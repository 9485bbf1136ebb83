/*
 * tale.h — what a run has told so far, for who reads its events: kept with its watch.
 *
 * Limits: a text of 1 MiB (a longer one is not told any more), 128 other events of 64 KiB together.
 */
#ifndef SMA_HTTP_TALE_H
#define SMA_HTTP_TALE_H

#include "sma/buf.h"

#define TALE_TEXT_BYTES_MAX (1024u * 1024)
#define TALE_FRAMES_BYTES_MAX (64u * 1024)
#define TALE_MARK_COUNT 128u

struct http_tale
{
    uint32_t epoch; /* another one for each tale, so that no number means two things */
    uint32_t number, text_number; /* of the last event; of the last one about text */
    struct sma_buf text;          /* of now; cleared when it is too long to be kept */
    struct sma_buf frames;        /* events that are not about text, as they are sent */
    struct
    {
        uint32_t number;
        size_t at; /* in frames */
    } marks[TALE_MARK_COUNT];
    uint32_t mark_count;
};

#endif
