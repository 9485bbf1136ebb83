/*
 * tools_order.c — who writes a file when: writers of one path one after the other, in the order
 * their calls came, over all chats. Readers and writers of other paths go beside them; the places
 * of their kind are given in tools.c.
 *
 * An edit reads the file, changes it and puts it in the place of the old one: of two at the same
 * time one would be lost, and both would report success. Models send several edits of one file in
 * one answer. The jobs stand in one ring in the order they came, so the queue of a path is those of
 * its writers that are not answered yet.
 *
 * A path stands for one file: file tools write through no link, neither in a folder's place nor the
 * file's own, and a path is written in one way (guard.h). What is another name of the same file by
 * mount or by a file system that takes capitals for small letters is caught by the comparison right
 * before the file is replaced (sma_guard_write_over).
 */
#include "tools_priv.h"

void tools_order_take(struct tools_job *job)
{
    sma_buf_init(&job->target, PATH_MAX);
    if (job->kind == TOOLS_KIND_FILE)
        sma_file_tools_put_target(job->setup->files, job->ask->name, job->ask->arguments,
                                  &job->target);
    if (job->target.err == SMA_ERR_NOMEM)
        sma_ctx_fatal(job->tools->ctx, "out of memory: a tool's question cannot be taken");
}

bool tools_order_is_first(const struct tools_job *job)
{
    if (job->target.len == 0)
        return true;
    for (const struct tools_job *at = job->previous; at != &job->tools->jobs; at = at->previous)
        if (at->state != TOOLS_ANSWERED && at->target.len > 0 &&
            sma_str_is_equal(sma_buf_str(&at->target), sma_buf_str(&job->target)))
            return false;
    return true;
}
