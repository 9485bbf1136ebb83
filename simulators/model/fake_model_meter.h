/*
 * fake_model_meter.h — what a provider's prompt cache makes of a request, by comparing its real
 * content, and what it costs.
 *
 * A request is taken as units in the order in which models see it: tools, system, then the blocks
 * of the messages; marks are no content. Four bytes are a token. A perfectly cached client reads
 * everything that any earlier request held at the same place, and writes the rest.
 */
#ifndef FAKE_MODEL_METER_H
#define FAKE_MODEL_METER_H

#include "fake_model_rules.h"

#include <jansson.h>

#define FAKE_UNIT_COUNT_MAX 4096
#define FAKE_BYTES_PER_TOKEN 4

struct fake_unit
{
    uint64_t prefix; /* hash of everything up to and with this one */
    uint64_t cached; /* the same, with the settings that the cache goes by */
    size_t tokens;   /* up to and with this one */
    size_t message;  /* SIZE_MAX: before the messages */
    bool is_marked;
};
struct fake_units
{
    struct fake_unit list[FAKE_UNIT_COUNT_MAX];
    size_t count, bytes;
};
struct fake_price
{
    size_t tokens, read, written;
    double paid, perfect; /* dollars */
};

void fake_units_read(struct fake_units *units, enum sma_llm_api api, const json_t *root);
/** Hash of all that stands before a message; 1 when it is the first and nothing else is there. */
uint64_t fake_units_before(const struct fake_units *units, size_t message);
/** Count it: the cache remembers. */
void fake_meter(const struct fake_units *units, const struct fake_family *family, const char *model,
                struct fake_price *price);

#endif
