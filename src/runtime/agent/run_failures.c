/* run_failures.c — results are counted, and what failed before is known again. See run_priv.h. */
#include "run_priv.h"
#include "sma/text.h"

#include <jansson.h>

bool run_is_send(enum sma_tool tool)
{
    return tool == SMA_TOOL_SEND || tool == SMA_TOOL_CONTACT_SEND || sma_tool_sends_file(tool) ||
           tool == SMA_TOOL_SEND_CARD || tool == SMA_TOOL_REACT;
}

bool run_goes_elsewhere(const struct sma_run *run, const struct sma_stored_call *call)
{
    return !call->is_invalid &&
           sma_tool_goes_elsewhere(sma_tool_find(call->name), call->arguments, &run->order->route);
}

/* Of the name and of the arguments whatever order and spacing they have. */
static uint64_t hash_call(const struct sma_run *run, const struct sma_stored_call *call)
{
    uint8_t key[16];
    memcpy(key, run->random, sizeof key);
    uint64_t name = sma_siphash(key, call->name.ptr, call->name.len);
    json_t *root = call->is_invalid || call->arguments.len == 0
                       ? NULL
                       : json_loadb(call->arguments.ptr, call->arguments.len, 0, NULL);
    char *text = root == NULL ? NULL : json_dumps(root, JSON_COMPACT | JSON_SORT_KEYS);
    uint64_t arguments = text != NULL ? sma_siphash(key, text, strlen(text))
                                      : sma_siphash(key, call->arguments.ptr, call->arguments.len);
    free(text);
    json_decref(root);
    memcpy(key, &name, sizeof name);
    return sma_siphash(key, &arguments, sizeof arguments);
}

static struct run_failure *find_failure(const struct sma_run *run, uint64_t hash)
{
    for (uint32_t i = 0; i < run->failure_count; i++) {
        if (run->failures[i].hash == hash)
            return &run->failures[i];
    }
    return NULL;
}

bool run_is_repeated(struct sma_run *run, const struct sma_stored_call *call)
{
    if (run->failure_count == 0)
        return false;
    const struct run_failure *failure = find_failure(run, hash_call(run, call));
    return failure != NULL && failure->count >= SMA_REPEAT_COUNT_MAX;
}

/* After a change of a file the same command may well end otherwise: `make` is not stopped while
 * somebody mends. */
static bool is_change(struct sma_str name)
{
    enum sma_tool tool = sma_tool_find(name);
    return tool == SMA_TOOL_EDIT_FILE || tool == SMA_TOOL_WRITE_FILE;
}

void run_count_result(struct sma_run *run, const struct sma_stored_call *call, bool is_error)
{
    if (!is_error && is_change(call->name))
        run->failure_count = 0;
    if (!is_error && run->failure_count == 0)
        return;
    uint64_t hash = hash_call(run, call);
    struct run_failure *failure = find_failure(run, hash);
    if (!is_error) {
        if (failure != NULL)
            failure->count = 0;
        return;
    }
    if (failure == NULL) {
        if (run->failure_count == run->failure_room) {
            uint32_t room = run->failure_room * 2 + 8;
            struct run_failure *more = realloc(run->failures, room * sizeof *more);
            if (more == NULL)
                return; /* not counted: it may be tried once more than it should */
            run->failures = more;
            run->failure_room = room;
        }
        failure = &run->failures[run->failure_count++];
        *failure = (struct run_failure){.hash = hash};
    }
    failure->count++;
}

void run_add_words(struct sma_run *run, uint32_t index)
{
    struct run_call *call = &run->calls[index];
    bool has_words = call->is_approved && call->agreed->response.len > 0;
    bool tells_time = run->tells_time && index == 0;
    if (!has_words && !tells_time)
        return;
    sma_buf_clear(&run->scratch);
    sma_buf_put_char(&run->scratch, '{');
    if (tells_time) {
        sma_buf_put_text(&run->scratch, "\"timeNow\":\"");
        sma_prompt_put_time(&run->scratch, sma_run_wall_ms(run, run->now_ns));
        sma_buf_put_text(&run->scratch, "\",");
    }
    if (has_words) {
        sma_buf_put_text(&run->scratch, "\"agreedWithTheWords\":");
        sma_buf_put_json_string(&run->scratch, call->agreed->response);
        sma_buf_put_char(&run->scratch, ',');
    }
    sma_buf_put_text(&run->scratch, "\"result\":");
    sma_buf_put_str(&run->scratch, sma_buf_str(&call->result));
    sma_buf_put_char(&run->scratch, '}');
    if (run->scratch.err != SMA_ERR_OK)
        return; /* the result alone */
    sma_buf_clear(&call->result);
    sma_buf_put_str(&call->result, sma_buf_str(&run->scratch));
    run_set_result(call, call->is_error);
}
