/*
 * fake_tools.h — a tools actor that does nothing: answers TOOL as the test's rule says, and tells
 * the test what it would have done. Without loop and processes, so that it runs under the
 * simulation.
 *
 * A check that asks carries an item with a digest of name, arguments and receiver; a RUN that was
 * agreed to with another digest is not done, as in the real one. TOOL_CANCEL and the end of the
 * program answer what is open with STOPPED.
 */
#ifndef SMA_TEST_FAKE_TOOLS_H
#define SMA_TEST_FAKE_TOOLS_H

#include "sma/actor.h"
#include "sma/messages.h"

struct fake_tool_plan
{
    enum sma_tool_verdict verdict; /* of the policy: ALLOWED, ASKS or REFUSED */
    bool is_error;                 /* RUN: the result says that it failed */
    bool is_held;                  /* not answered before it is cancelled or fake_tools_release */
    uint64_t delay_ns;             /* until the answer */
    const char *content; /* RUN: the result; NULL: {"success":true} or {"success":false} */
};
struct fake_tools_options
{
    /* Decide; *plan is zeroed (ALLOWED, at once). NULL: everything is allowed. */
    void (*rule)(void *user, const struct sma_tool_ask *ask, struct fake_tool_plan *plan);
    /* A RUN that is begun now. May be NULL. */
    void (*on_run)(void *user, const struct sma_tool_ask *ask);
    void *user;
};

struct fake_tools;
struct fake_tools *fake_tools_create(const struct fake_tools_options *options); /* never NULL */
void fake_tools_destroy(struct fake_tools *tools);
/** Answer what is held. */
void fake_tools_release(struct fake_tools *tools, struct sma_ctx *ctx);
/** Questions that are not answered. */
size_t fake_tools_open_count(const struct fake_tools *tools);
extern const struct sma_actor_ops fake_tools_ops;

#endif
