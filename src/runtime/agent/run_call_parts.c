/* run_call_parts.c — what a tool's result shows is prepared before the call has its result, so that
 * the stored results say what was sent. See run_parts.h. */
#include "run_priv.h"

#include <stdlib.h>

bool run_call_prepare(struct sma_run *run, uint32_t index, const struct sma_part *list,
                      uint32_t count)
{
    struct run_call *call = &run->calls[index];
    if (count > RUN_CALL_PART_COUNT_MAX)
        count = RUN_CALL_PART_COUNT_MAX;
    call->parts = count == 0 ? NULL : calloc(count, sizeof *call->parts);
    call->part_count = call->parts == NULL ? 0 : count;
    for (uint32_t i = 0; i < call->part_count; i++) {
        struct run_part *part = &call->parts[i];
        if (!run_part_take(part, &list[i]))
            part->part = (struct sma_part){.kind = list[i].kind, .note = SMA_STR("out of memory")};
        part->is_asked = run_ask_encode(run, RUN_PART_OF_CALL + index * RUN_CALL_PART_COUNT_MAX + i,
                                        &part->part);
        call->part_open_count += part->is_asked;
    }
    if (call->part_open_count == 0)
        return false;
    run_open_call(run, index, CALL_ENCODE);
    return true;
}

void run_call_encoded(struct sma_run *run, uint32_t index, const struct sma_part *answer)
{
    uint32_t number = (index - RUN_PART_OF_CALL) / RUN_CALL_PART_COUNT_MAX;
    uint32_t at = index % RUN_CALL_PART_COUNT_MAX;
    if (run->state != RUN_TOOLS || number >= run->call_count ||
        run->calls[number].stage != CALL_ENCODE || at >= run->calls[number].part_count)
        return;
    struct run_call *call = &run->calls[number];
    struct run_part *part = &call->parts[at];
    if (!part->is_asked || part->is_ready)
        return;
    run_part_ready(run, part, answer);
    if (--call->part_open_count > 0)
        return;
    (void)run_close_call(run, number, CALL_ENCODE);
    run_begin_commands(run);
    run_check_round(run);
}
