/* run_failures.c — results are counted, and what failed before is known again. See run_priv.h. */
#include "run_priv.h"
#include "runtime/model/decode.h"
#include "sma/text.h"

#include <ctype.h>
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

/* *ret_hash: of this call; 0 where nothing is known yet: most runs have one call and no second. */
static struct run_failure *find_failure(const struct sma_run *run,
                                        const struct sma_stored_call *call, uint64_t *ret_hash)
{
    uint64_t hash = run->failure_count == 0 ? 0 : hash_call(run, call);
    *ret_hash = hash;
    for (uint32_t i = 0; i < run->failure_count; i++) {
        struct run_failure *failure = &run->failures[i];
        if (failure->call != NULL)
            failure->hash = hash_call(run, failure->call);
        failure->call = NULL;
        if (failure->hash == hash)
            return failure;
    }
    return NULL;
}

bool run_is_repeated(struct sma_run *run, const struct sma_stored_call *call)
{
    uint64_t hash;
    const struct run_failure *failure = find_failure(run, call, &hash);
    return failure != NULL && failure->count >= SMA_REPEAT_COUNT_MAX;
}

/* After a change of a file the same command may well end otherwise: `make` is not stopped while
 * somebody mends. */
static bool is_change(struct sma_str name)
{
    enum sma_tool tool = sma_tool_find(name);
    return tool == SMA_TOOL_EDIT_FILE || tool == SMA_TOOL_WRITE_FILE;
}

#define TOLD_HEAD(what) \
    "{\"note\":\"" what " Do something else, or tell the user what is missing.\",\"result\":"
#define TOLD_AGAIN TOLD_HEAD("The same call with the same result as before.")
#define TOLD_COUNTER \
    TOLD_HEAD("Calls that differ in a number alone, with the same result each time.")
#define TOLD_TAIL ",\"times\":"

/* What the tool said: without our note about it. */
static uint64_t hash_result(const struct sma_run *run, struct sma_str content)
{
    static const char *const heads[] = {TOLD_AGAIN, TOLD_COUNTER};
    uint8_t key[16];
    size_t tail = sizeof TOLD_TAIL - 1;
    memcpy(key, run->random, sizeof key);
    for (size_t i = 0; i < SMA_COUNT_OF(heads); i++) {
        struct sma_str head = sma_str(heads[i]);
        if (!sma_str_starts_with(content, head))
            continue;
        content = (struct sma_str){content.ptr + head.len, content.len - head.len};
        size_t end = content.len;
        while (end > tail && memcmp(content.ptr + end - tail, TOLD_TAIL, tail) != 0)
            end--;
        content.len = end > tail ? end - tail : 0;
    }
    return sma_siphash(key, content.ptr == NULL ? "" : content.ptr, content.len);
}

/* -- counters: the same calls but for their numbers -------------------------------------------- */
/* Of the arguments, whatever their numbers are. */
static uint64_t hash_shape(const uint8_t key[16], struct sma_str arguments)
{
    uint64_t hash = 0;
    char piece[256]; /* what came before, then as many bytes as there is room for */
    size_t len = sizeof hash;
    memcpy(piece, &hash, sizeof hash);
    for (size_t i = 0; i < arguments.len; i++) {
        bool is_digit = isdigit((unsigned char)arguments.ptr[i]);
        if (is_digit && i > 0 && isdigit((unsigned char)arguments.ptr[i - 1]))
            continue;
        piece[len++] = is_digit ? '0' : arguments.ptr[i];
        if (len == sizeof piece) {
            hash = sma_siphash(key, piece, len);
            memcpy(piece, &hash, sizeof hash);
            len = sizeof hash;
        }
    }
    return sma_siphash(key, piece, len);
}

/* *mark goes on by this call, whatever its numbers, and its result. Only what reads: two changes
 * that differ in a number are both wanted, and "done" is what both say. */
static void put_mark(const struct sma_run *run, uint64_t *mark, const struct sma_stored_call *call,
                     struct sma_str result)
{
    uint8_t key[16];
    if (*mark == 0 || call->is_invalid || !sma_tool_only_reads(sma_tool_find(call->name))) {
        *mark = 0;
        return;
    }
    memcpy(key, run->random, sizeof key);
    uint64_t parts[] = {*mark, sma_siphash(key, call->name.ptr, call->name.len),
                        hash_shape(key, call->arguments), hash_result(run, result)};
    *mark = sma_siphash(key, parts, sizeof parts);
}

void run_count_round(struct sma_run *run, const struct run_round *round)
{
    uint64_t mark = 1; /* 0: not all of it only reads */
    for (uint32_t i = 0; i < round->results.count; i++)
        put_mark(run, &mark, &round->answer.calls[i], round->results.results[i].content);
    run->counter_rounds = mark != run->round_mark ? 0 : run->counter_rounds;
    run->counter_rounds += mark != 0 && round->results.count > 0;
    run->round_mark = mark;
}

static uint32_t count_rounds(const struct sma_run *run)
{
    uint64_t mark = 1;
    for (uint32_t i = 0; i < run->call_count; i++)
        put_mark(run, &mark, &run->answer.calls[i], sma_buf_str(&run->calls[i].result));
    return mark != 0 && mark == run->round_mark ? run->counter_rounds + 1 : 0;
}

/* -- the same call ----------------------------------------------------------------------------- */
static void tell(struct sma_run *run, struct run_call *call, const char *head)
{
    sma_buf_clear(&run->scratch);
    sma_buf_put_text(&run->scratch, head);
    sma_buf_put_str(&run->scratch, sma_buf_str(&call->result));
    sma_buf_printf(&run->scratch, TOLD_TAIL "%u}", call->times);
    if (run->scratch.err != SMA_ERR_OK)
        return; /* the result alone */
    sma_buf_clear(&call->result);
    sma_buf_put_str(&call->result, sma_buf_str(&run->scratch));
}

void run_tell_repeated(struct sma_run *run)
{
    uint32_t counter = count_rounds(run);
    for (uint32_t i = 0; i < run->call_count; i++) {
        struct run_call *call = &run->calls[i];
        uint64_t hash;
        const struct run_failure *before = find_failure(run, &run->answer.calls[i], &hash);
        bool is_same =
            before != NULL && before->result == hash_result(run, sma_buf_str(&call->result));
        call->times = is_same ? before->same_count + 1 : 0;
        if (call->times >= SMA_REPEAT_COUNT_MAX) {
            tell(run, call, TOLD_AGAIN);
        } else if (counter >= SMA_LOOP_COUNT_MAX) {
            call->times = counter;
            tell(run, call, TOLD_COUNTER);
        }
    }
}

bool run_goes_in_circles(struct sma_run *run)
{
    bool is_stuck = false;
    for (uint32_t i = 0; i < run->failure_count; i++)
        is_stuck |= run->failures[i].same_count >= SMA_LOOP_COUNT_MAX;
    return (is_stuck && run->stale_count >= SMA_REPEAT_COUNT_MAX) ||
           run->unknown_count >= SMA_LOOP_COUNT_MAX || run->unreadable_count > 1 ||
           run->counter_rounds >= SMA_COUNTER_LOOP_COUNT_MAX;
}

bool run_count_result(struct sma_run *run, const struct sma_stored_call *call,
                      struct sma_str content, bool is_error)
{
    uint64_t hash, result = hash_result(run, content);
    struct run_failure *failure = find_failure(run, call, &hash);
    bool is_news = failure == NULL || failure->result != result || failure->same_count == 0;
    if (sma_tool_find(call->name) == SMA_TOOL_UNKNOWN && !run_mcp_is_name(call->name)) {
        bool is_unreadable = sma_str_is_equal(call->name, SMA_STR(SMA_UNREADABLE_CALL));
        run->unreadable_count += is_unreadable;
        run->unknown_count += !is_unreadable;
        is_news = false;
    }
    for (uint32_t i = 0; i < run->failure_count && !is_error && is_change(call->name); i++) {
        run->failures[i].count = 0; /* what failed may work now, and look otherwise */
        if (is_news)
            run->failures[i].same_count = 0;
    }
    if (failure != NULL) {
        failure->same_count = failure->result == result ? failure->same_count + 1 : 1;
        failure->result = result;
    }
    if (failure != NULL && !is_error)
        failure->count = 0;
    if (failure == NULL) {
        if (run->failure_count == run->failure_room) {
            uint32_t room = run->failure_room * 2 + 8;
            struct run_failure *more = realloc(run->failures, room * sizeof *more);
            if (more == NULL)
                return is_news; /* not counted: it may be tried once more than it should */
            run->failures = more;
            run->failure_room = room;
        }
        failure = &run->failures[run->failure_count++];
        *failure = (struct run_failure){.hash = hash,
                                        .call = run->failure_count == 1 ? call : NULL,
                                        .result = result,
                                        .same_count = 1};
    }
    failure->count += is_error;
    return is_news;
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
