/*
 * fake_model_rules.h — what each provider and model takes and gives, as data: profiles (a
 * provider's API) and families (its models). The model is the one that the request names.
 *
 * Source: protocols/models.md §1-§3, §5, §6.3; protocols/llm.md §5.
 */
#ifndef FAKE_MODEL_RULES_H
#define FAKE_MODEL_RULES_H

#include "sma/config.h"

#include <stdio.h>

/* How an error looks. */
enum fake_shape
{
    FAKE_SHAPE_OPENAI,     /* {"error":{"message","type","param","code"}} */
    FAKE_SHAPE_ANTHROPIC,  /* {"type":"error","error":{"type","message"},"request_id"} */
    FAKE_SHAPE_ZHIPU,      /* {"error":{"code":"1302","message"}} */
    FAKE_SHAPE_OPENROUTER, /* {"error":{"code":429,"message","metadata"}} */
    FAKE_SHAPE_GEMINI,     /* [{"error":{"code":429,"message","status","details"}}] */
    FAKE_SHAPE_FLAT,       /* {"object":"error","message","type","code":400} */
    FAKE_SHAPE_LLAMACPP,   /* {"error":{"code":400,"message","type"}} */
};
/* How thoughts travel. */
enum fake_thought
{
    FAKE_THOUGHT_NONE,
    FAKE_THOUGHT_BLOCKS,    /* thinking blocks with signatures */
    FAKE_THOUGHT_ITEMS,     /* reasoning items; in chat completions nothing is seen */
    FAKE_THOUGHT_CONTENT,   /* reasoning_content */
    FAKE_THOUGHT_REASONING, /* reasoning */
    FAKE_THOUGHT_DETAILS,   /* reasoning_details, in pieces */
    FAKE_THOUGHT_CALLS,     /* a signature in the first call */
};
/* Where the counts stand, in chat completions. */
enum fake_count
{
    FAKE_COUNT_OPENAI,     /* prompt_tokens_details.cached_tokens */
    FAKE_COUNT_HIT_MISS,   /* prompt_cache_hit_tokens, prompt_cache_miss_tokens */
    FAKE_COUNT_TOP,        /* cached_tokens beside prompt_tokens */
    FAKE_COUNT_GEMINI,     /* thoughts only in the total; no cached_tokens when there are none */
    FAKE_COUNT_OPENROUTER, /* with cost */
    FAKE_COUNT_PLAIN,
};
/* What the prompt cache knows of a request. */
enum fake_cache
{
    FAKE_CACHE_NONE,
    FAKE_CACHE_AUTO,  /* any prefix seen before */
    FAKE_CACHE_POINT, /* the ends of earlier requests, and explicit breakpoints */
    FAKE_CACHE_MARKS, /* cache_control */
};

/* -- profiles -- */
#define FAKE_CHAT (1u << SMA_LLM_CHAT)
#define FAKE_RESPONSES (1u << SMA_LLM_RESPONSES)
#define FAKE_MESSAGES (1u << SMA_LLM_MESSAGES)

struct fake_profile
{
    const char *name;
    unsigned wires;
    enum fake_shape shape;
    enum fake_thought thought;
    enum fake_count count;
    const char *members;  /* of a chat request, apart from those that all know; words */
    const char *call_ids; /* of calls: # the answer, @ the call, $ the tool */
    bool is_usage_asked;  /* a stream counts only with stream_options.include_usage */
    bool has_one_index;   /* all calls of an answer are streamed as number 0 */
    bool cuts_silently;   /* too long input is cut, and answered */
    bool ignores_unknown; /* members that it does not know are not looked at */
};

/* -- families -- */
enum
{
    /* thinking */
    FAKE_THINKS = 1 << 0,       /* unless it is told not to */
    FAKE_CAN_THINK = 1 << 1,    /* when it is told to */
    FAKE_CANNOT_STOP = 1 << 2,  /* being told not to is refused */
    FAKE_STOP_TO_HIGH = 1 << 3, /* being told not to is refused above effort high */
    FAKE_BUDGET_ONLY = 1 << 4,  /* thinking enabled + budget_tokens; adaptive is refused */
    FAKE_NO_BUDGET = 1 << 5,    /* thinking enabled is refused */
    FAKE_BETWEEN = 1 << 6,      /* thinking between_tools */
    FAKE_OMITS_TEXT = 1 << 7,   /* empty thinking text unless display is summarized */
    FAKE_BOUND = 1 << 8,        /* thoughts are bound to what stood before them */
    FAKE_ECHO_ALL = 1 << 9,     /* reasoning_content on every assistant message while it thinks */
    FAKE_NO_SWITCH = 1 << 10,   /* no member "thinking" */
    FAKE_CODE_1210 = 1 << 11,   /* wrong values are told with Zhipu's code */
    /* members */
    FAKE_NO_SAMPLING = 1 << 12,
    FAKE_SAMPLING_IF_NONE = 1 << 13, /* only with effort none */
    FAKE_ONE_SAMPLING = 1 << 14,     /* temperature or top_p, and not while thinking */
    FAKE_NEW_CAP = 1 << 15,          /* max_completion_tokens; max_tokens is refused */
    FAKE_NO_STOP = 1 << 16,
    /* tools */
    FAKE_TOOLS_NO_EFFORT = 1 << 17, /* in chat completions: not with an effort */
    FAKE_TOOLS_NONE = 1 << 18,      /* in chat completions: only with effort none */
    FAKE_NO_CHAT_TOOLS = 1 << 19,
    FAKE_NO_FORCED = 1 << 20,          /* tool_choice that forces a call */
    FAKE_NO_FORCED_THINKING = 1 << 21, /* the same, while it thinks */
    FAKE_AUTO_ONLY = 1 << 22,          /* tool_choice is auto */
    /* messages */
    FAKE_NO_PREFILL = 1 << 23,
    FAKE_SYSTEM_INSIDE = 1 << 24, /* role system in the list */
    FAKE_RETIRED = 1 << 25,
    FAKE_COUNTS_WRITES = 1 << 26, /* cache_write_tokens in the usage */
};

struct fake_family
{
    const char *profile, *pattern; /* of the model's name, as fnmatch has it */
    unsigned flags;
    const char *efforts; /* "" = the member is refused */
    enum fake_cache cache;
    uint32_t window, output_max, cache_min;
    double in, read, write; /* dollars for a million tokens */
};

/** NULL = no such profile. */
const struct fake_profile *fake_profile_find(const char *name, size_t len);
/** Names of all, for people. */
void fake_profile_list(FILE *to);
/** The first row that fits; NULL = the provider has no such model. */
const struct fake_family *fake_family_find(const struct fake_profile *profile, const char *model);

#endif
