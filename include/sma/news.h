/*
 * news.h — a bell for whoever shows how things stand: rung by any thread when something has
 * changed that GET /api/status tells, heard by the one thread that listens. Rings between two looks
 * are one.
 *
 * It carries nothing, so that ringing costs one load while nobody listens, and one write of eight
 * bytes a look otherwise. Whoever hears it asks.
 *
 * Threads: ring from any; the others from the thread of the one listener.
 */
#ifndef SMA_NEWS_H
#define SMA_NEWS_H

#include "sma/base.h"

/** A descriptor that becomes readable at the next ring. It is made once and never closed: a ringer
 *  may be about to write to it. -1: there is none to be had. Hears nothing before sma_news_take. */
int sma_news_open(void);
/** Forget what was rung and hear the next. */
void sma_news_take(void);
/** Hear nothing any more. */
void sma_news_mute(void);
/** Something has changed. Never blocks. */
void sma_news_ring(void);

#endif
