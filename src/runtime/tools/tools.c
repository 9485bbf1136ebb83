/* tools.c — what the table of tools says. See tools.h. */
#include "runtime/tools/tools.h"

static const struct sma_tool_spec specs[SMA_TOOL_COUNT] = {
#define X(id, name, offer, is_gated, is_work, flow, description, schema) \
    {SMA_STR(name), SMA_STR(description), SMA_STR(schema)},
    SMA_TOOL_MAP(X)
#undef X
};

static const struct
{
    uint32_t offer; /* 0: every chat has it */
    bool is_gated, is_work;
    enum sma_tool_flow flow;
} traits[SMA_TOOL_COUNT] = {
#define X(id, name, offer, is_gated, is_work, flow, description, schema) \
    {offer, is_gated, is_work, flow},
    SMA_TOOL_MAP(X)
#undef X
};

bool sma_tool_is_offered(enum sma_tool tool, uint64_t offers)
{
    return tool < SMA_TOOL_COUNT && (traits[tool].offer & ~offers) == 0 &&
           (offers >> (SMA_TOOL_OFFER_REFUSED + tool) & 1) == 0;
}

bool sma_tool_is_gated(enum sma_tool tool)
{
    return tool < SMA_TOOL_COUNT && traits[tool].is_gated;
}

bool sma_tool_only_reads(enum sma_tool tool)
{
    return tool < SMA_TOOL_COUNT && (!traits[tool].is_gated || tool == SMA_TOOL_WEB_SEARCH) &&
           tool != SMA_TOOL_SEND && tool != SMA_TOOL_AGENT_RUN;
}

enum sma_tool_flow sma_tool_flow(enum sma_tool tool)
{
    return tool < SMA_TOOL_COUNT ? traits[tool].flow : SMA_FLOW_TELLS;
}

bool sma_tool_is_work(enum sma_tool tool)
{
    return tool < SMA_TOOL_COUNT && traits[tool].is_work;
}

size_t sma_tool_specs_for(uint64_t offers, struct sma_tool_spec *ret_specs)
{
    size_t count = 0;
    for (int i = 0; i < SMA_TOOL_COUNT; i++)
        if (sma_tool_is_offered((enum sma_tool)i, offers))
            ret_specs[count++] = specs[i];
    return count;
}

const struct sma_tool_spec *sma_tool_specs(size_t *ret_count)
{
    *ret_count = SMA_TOOL_COUNT;
    return specs;
}

enum sma_tool sma_tool_find(struct sma_str name)
{
    for (int i = 0; i < SMA_TOOL_COUNT; i++) {
        if (sma_str_is_equal(name, specs[i].name))
            return (enum sma_tool)i;
    }
    /* the old program's other name of it */
    return sma_str_is_equal(name, SMA_STR("send_message")) ? SMA_TOOL_SEND : SMA_TOOL_UNKNOWN;
}
