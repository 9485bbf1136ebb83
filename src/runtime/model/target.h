/*
 * target.h — one place that model requests can go to: a provider's model with its options, the
 * profile that says what it takes, and what it was found to refuse.
 *
 * A target's *key* names whose bytes a stored turn holds: "<wire> <host> <model>", e.g. "messages
 * api.anthropic.com claude-sonnet-5-5". Reasoning, signatures and ids are good for the target of
 * the same key only; for others a turn goes in plain form.
 * Threads: the owner only. The configuration is borrowed and immutable.
 */
#ifndef SMA_MODEL_TARGET_H
#define SMA_MODEL_TARGET_H

#include "runtime/model/profile.h"
#include "sma/config.h"
#include "sma/wire.h"

#define SMA_TARGET_KEY_BYTES_MAX 256
#define SMA_REFUSED_COUNT_MAX 16
#define SMA_REFUSED_BYTES_MAX 80

/* Names under which it is kept that a target takes no parts of a kind, or wants pictures as bare
 * base64 (SMA_REFUSES_DATA_URLS). */
#define SMA_REFUSES_IMAGES "content.images"
#define SMA_REFUSES_DOCUMENTS "content.documents"
#define SMA_REFUSES_AUDIO "content.audio"
#define SMA_REFUSES_DATA_URLS "content.data_urls"
/* Forms of a request: what a target was found not to take in the form that others take. */
#define SMA_REFUSES_OPTIONS "request.options"   /* members that can be left out: none is sent */
#define SMA_REFUSES_NULL "content.null"         /* "" is sent */
#define SMA_REFUSES_LISTS "content.lists"       /* one string; a line for each file */
#define SMA_REFUSES_SYSTEM "role.system"        /* the system text is the first user message */
#define SMA_REFUSES_STREAM "request.stream"     /* it answers as a whole */
#define SMA_REFUSES_TOOLS "request.tools"       /* none is offered; calls are told in words */
#define SMA_REFUSES_TOOL "tool."                /* and a name: this one is not offered */
#define SMA_REFUSED_TOOL_COUNT_MAX 8            /* then none is: SMA_REFUSES_TOOLS */
#define SMA_WANTS_REASONING "content.reasoning" /* every answer goes back with its reasoning */
/* What was learned besides, for status alone: "window.4096". */
#define SMA_LEARNED_WINDOW "window."
#define SMA_REFUSES_REASONING "content.no_reasoning"

struct sma_target
{
    const struct sma_config_llm *llm;
    const struct sma_wire *wire;
    struct sma_profile profile;
    char key[SMA_TARGET_KEY_BYTES_MAX]; /* cut when longer */
    /* Members of the request that it answered 400 to: left out from now on. */
    char refused[SMA_REFUSED_COUNT_MAX][SMA_REFUSED_BYTES_MAX];
    size_t refused_count;
};

void sma_target_init(struct sma_target *target, const struct sma_config_llm *llm);
/** It refuses this member: a name, or a path ("reasoning.effort", "tools[0].strict",
 *  "system.0.cache_control") in the provider's own words. false: leaving it out changes nothing (we
 *  do not send it, cannot do without it, or knew it), or there is no
 *  room: repeating the request is no cure. */
bool sma_target_refuse(struct sma_target *target, struct sma_str member);
bool sma_target_refuses(const struct sma_target *target, const char *member);
/** It refuses the tool of this name. */
bool sma_target_refuses_tool(const struct sma_target *target, struct sma_str name);
/** How its answers go back: SMA_ANSWER_*. */
uint8_t sma_target_answer_forms(const struct sma_target *target);
/** It is tried with this form again. */
void sma_target_allow(struct sma_target *target, const char *form);
/** The next form to try on a target that refuses for a reason nobody knows, from the least loss on;
 *  NULL: none is left. */
const char *sma_target_next_form(const struct sma_target *target, bool has_files);
/** Bytes to insert at find_mark's offset in the newest user-side fragments of a request; empty:
 *  this target caches without marks in messages. */
struct sma_str sma_target_mark(const struct sma_target *target);

#endif
