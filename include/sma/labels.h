/*
 * labels.h — numbers of one platform, model or tool each: labelled counters and gauges beside those
 * of metrics.h.
 *
 * A label's values are few and our own: platforms by the adapters there are, models by the
 * configured targets, tools by their table. Each set holds SMA_LABEL_COUNT_MAX names; what finds no
 * room counts as "other". Of the second label ("outcome", "kind") the values are words of the table
 * below. All numbers are relaxed atomics in static storage; a name is written once, by whoever
 * comes first.
 * Threads: any. Blocks: never. Allocates: no.
 */
#ifndef SMA_LABELS_H
#define SMA_LABELS_H

#include "sma/buf.h"

#define SMA_LABEL_COUNT_MAX 24       /* names of a set, "other" included */
#define SMA_LABEL_NAME_BYTES_MAX 128 /* cut beyond */
#define SMA_LABEL_WORD_COUNT_MAX 12  /* values of the second label */

enum sma_label_set
{
    SMA_LABEL_PLATFORM,
    SMA_LABEL_MODEL,
    SMA_LABEL_TOOL,
    SMA_LABEL_SET_COUNT
};

/* name, set, name of the second label ("" = none), its values, type, scale (what a stored one is
 * worth), help */
#define SMA_FAMILY_MAP(X)                                                                          \
    X(platform_messages_total, PLATFORM, "outcome", "accepted,duplicate,ignored,busy,refused",     \
      "counter", 1, "messages that came, by what became of them")                                  \
    X(platform_deliveries_total, PLATFORM, "outcome", "sent,failed,unknown", "counter", 1,         \
      "deliveries, by how they ended")                                                             \
    X(platform_connected, PLATFORM, "", "", "gauge", 1,                                            \
      "1 while the platform can reach us, or we it")                                               \
    X(platform_connects_total, PLATFORM, "", "", "counter", 1, "times the connection came up")     \
    X(model_calls_total, MODEL, "outcome",                                                         \
      "ok,context_length,cancelled,transient,rate,quota,auth,no_model,member,session,request,"     \
      "setup",                                                                                     \
      "counter", 1, "questions to a model, by how they ended; repeats of the model actor are one") \
    X(model_tokens_total, MODEL, "kind", "input,cached,written,output,reasoning", "counter", 1,    \
      "tokens as the provider counts them; reasoning is part of output, the others are disjoint")  \
    X(model_cost_total, MODEL, "", "", "counter", 1e-9,                                            \
      "cost by the price table, in its currency (US dollars by default)")                          \
    X(model_seconds_total, MODEL, "", "", "counter", 1e-9, "time spent waiting for the model")     \
    X(tool_calls_total, TOOL, "outcome", "ok,failed,asks,refused,stopped", "counter", 1,           \
      "calls of tools, by how they ended")                                                         \
    X(tool_seconds_total, TOOL, "", "", "counter", 1e-9, "time spent in tools")

enum sma_family
{
#define X(name, set, label, words, type, scale, help) SMA_FAMILY_##name,
    SMA_FAMILY_MAP(X)
#undef X
        SMA_FAMILY_COUNT
};

/** Place of this name in its set, given to it now if it has none; 0 = "other". Lasts as long as the
 *  program. */
unsigned sma_label_place(enum sma_label_set set, struct sma_str name);
/** The name of a place that was given; lives as long as the program. */
struct sma_str sma_label_name(enum sma_label_set set, unsigned place);
/** word: place of the second label's value in the table; 0 without one. */
void sma_family_add(enum sma_family family, unsigned place, unsigned word, uint64_t n);
void sma_family_set(enum sma_family family, unsigned place, uint64_t n);
uint64_t sma_family_get(enum sma_family family, unsigned place, unsigned word);
#define SMA_FAMILY_ADD(name, place, word, n) sma_family_add(SMA_FAMILY_##name, (place), (word), (n))
/** Prometheus text 0.0.4: every word of every name that has been given a place in a family that
 *  counts it. */
void sma_labels_format(struct sma_buf *buf);
void sma_labels_reset(void); /* tests only */

#endif
