/*
 * run_past.c — which lines of the history this run has been shown: no further call brings them
 * again. Known from the results themselves, so a run that goes on after a restart knows them, too.
 */
#include "run_priv.h"

#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>

#define MARK_COUNT_MAX 4096u /* beyond them lines may come again */

void run_past_fini(struct run_past *past)
{
    free(past->marks);
    *past = (struct run_past){.marks = NULL};
}

struct sma_str run_past_given(const struct run_past *past)
{
    return (struct sma_str){(const char *)past->marks, past->count * sizeof *past->marks};
}

static bool has(const struct run_past *past, uint64_t mark)
{
    for (uint32_t i = 0; i < past->count; i++)
        if (past->marks[i] == mark)
            return true;
    return false;
}

static void add(struct run_past *past, uint64_t mark)
{
    if (has(past, mark) || past->count == MARK_COUNT_MAX)
        return;
    if (past->count == past->room) {
        uint32_t room = past->room == 0 ? 64 : past->room * 2;
        uint64_t *marks = realloc(past->marks, room * sizeof *marks);
        if (marks == NULL)
            return; /* then it may come again */
        past->marks = marks;
        past->room = room;
    }
    past->marks[past->count++] = mark;
}

void run_past_read(struct run_past *past, struct sma_str result)
{
    json_t *root = json_loadb(result.ptr == NULL ? "" : result.ptr, result.len, 0, NULL);
    const json_t *lines = json_object_get(root, "messages"), *line;
    size_t i;
    json_array_foreach(lines, i, line)
    {
        int64_t wall_ms;
        const char *role = json_string_value(json_object_get(line, "role"));
        struct sma_str time = sma_str(json_string_value(json_object_get(line, "time")));
        struct sma_str id = sma_str(json_string_value(json_object_get(line, "id")));
        if (role != NULL && sma_parse_iso_time(time, &wall_ms) == SMA_ERR_OK)
            add(past, sma_line_mark(wall_ms, strcmp(role, "user") == 0, id));
    }
    json_decref(root);
}

uint32_t run_past_filter(const struct run_past *past, struct sma_history_line *lines,
                         uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!has(past, sma_line_mark(lines[i].wall_ms, lines[i].is_user, lines[i].message_id)))
            lines[kept++] = lines[i];
    return kept;
}
