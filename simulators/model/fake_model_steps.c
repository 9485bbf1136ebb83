/*
 * fake_model_steps.c — answers that a user's text asks for step by step, so that a test says in one
 * line what a model does:
 *
 *   [[do: call read_file {"path":"a.txt"} & read_file {"path":"b.txt"}; text Both are read.]]
 *
 *   text WORDS            an answer                      call NAME {...} & NAME {...}   calls, all
 *   in one answer
 *   cuttext WORDS         ... cut by the output cap       cutcall NAME {...}             ... in the
 *   middle of its arguments
 *   empty                 nothing at all                  refuse, filter                 by the
 *   model, by a filter
 *   raw NAME BYTES        a call with these arguments, whatever they are
 *   xml NAME {...}        a call written into the text: <tool_call>...</tool_call>
 *   N* STEP               the step N times (call only)
 *
 * Which step is due follows from the request alone: one for each group of results and each text of
 * the user's side since. So a request that is repeated, rebuilt for another provider or sent after
 * a restart gets the same answer.
 */
#include "fake_model_steps.h"

#include "sma/text.h"

#include <stdlib.h>
#include <string.h>

static struct sma_str text_of(const json_t *value)
{
    if (json_is_array(value)) /* a list of one text */
        value = json_object_get(json_array_get(value, 0), "text");
    return json_is_string(value)
               ? (struct sma_str){json_string_value(value), json_string_length(value)}
               : (struct sma_str){"", 0};
}

struct sma_str fake_directive_in(struct sma_str text)
{
    const char *start = text.len == 0 ? NULL : memmem(text.ptr, text.len, "[[do:", 5);
    const char *end =
        start == NULL ? NULL : memmem(start, (size_t)(text.ptr + text.len - start), "]]", 2);
    while (end != NULL && end + 2 < text.ptr + text.len && end[2] == ']')
        end++; /* a list in the arguments */
    return end == NULL ? (struct sma_str){"", 0}
                       : (struct sma_str){start + 5, (size_t)(end - start) - 5};
}

struct walk
{
    struct fake_steps *steps;
    struct sma_str notes; /* of what was before */
    bool was_result;
};

static void take_notes(struct walk *walk, struct sma_str text)
{
    if (text.len > 0 && memmem(text.ptr, text.len, FAKE_STEPS_DONE, sizeof FAKE_STEPS_DONE - 1))
        walk->notes = text;
}

static void take_text(struct walk *walk, struct sma_str text)
{
    struct sma_str directive = fake_directive_in(text);
    walk->was_result = false;
    take_notes(walk, text);
    if (directive.len > 0)
        *walk->steps = (struct fake_steps){.directive = directive,
                                           .text = text,
                                           .index = fake_steps_noted(walk->notes, directive)};
    else
        walk->steps->index++;
}

static void take_result(struct walk *walk, struct sma_str content)
{
    walk->steps->index += !walk->was_result;
    walk->was_result = true;
    walk->steps->result = content;
}

static void take_user(struct walk *walk, const json_t *content)
{
    size_t count = json_array_size(content);
    bool has_result = false;
    if (json_is_string(content))
        take_text(walk, text_of(content));
    for (size_t i = 0; i < count; i++)
        take_notes(walk, text_of(json_object_get(json_array_get(content, i), "text")));
    for (size_t i = 0; i < count; i++)
        if (strcmp(fake_text(json_array_get(content, i), "type"), "tool_result") == 0) {
            take_result(walk, text_of(json_object_get(json_array_get(content, i), "content")));
            has_result = true;
        }
    const json_t *last = json_array_get(content, count - 1);
    if (count > 0 && (!has_result || strcmp(fake_text(last, "type"), "text") == 0))
        take_text(walk, text_of(json_object_get(last, "text")));
}

bool fake_steps_read(const json_t *messages, struct fake_steps *steps)
{
    struct walk walk = {.steps = steps};
    *steps = (struct fake_steps){.directive = {"", 0}};
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i);
        const char *role = fake_text(message, "role"), *type = fake_text(message, "type");
        if (strcmp(role, "tool") == 0)
            take_result(&walk, text_of(json_object_get(message, "content")));
        else if (strcmp(type, "function_call_output") == 0)
            take_result(&walk, text_of(json_object_get(message, "output")));
        else if (strcmp(role, "user") == 0)
            take_user(&walk, json_object_get(message, "content"));
        else
            walk.was_result = false;
    }
    return steps->directive.len > 0;
}

/* -- one step ---------------------------------------------------------------------------------- */
static struct sma_str take_until(struct sma_str *left, const char *separator)
{
    size_t len = strlen(separator);
    const char *end = left->len == 0 ? NULL : memmem(left->ptr, left->len, separator, len);
    struct sma_str piece = {left->ptr, end == NULL ? left->len : (size_t)(end - left->ptr)};
    size_t skip = end == NULL ? left->len : piece.len + len;
    *left = (struct sma_str){left->ptr + skip, left->len - skip};
    return sma_str_trim(piece);
}

static struct sma_str find_step(const struct fake_steps *steps)
{
    struct sma_str left = steps->directive;
    size_t index = steps->index;
    while (left.len > 0) {
        struct sma_str step = take_until(&left, ";");
        const char *star = memchr(step.ptr, '*', step.len);
        size_t count = 1;
        if (star != NULL && step.len > 0 && step.ptr[0] >= '0' && step.ptr[0] <= '9') {
            count = strtoul(step.ptr, NULL, 10);
            size_t skip = (size_t)(star + 1 - step.ptr);
            step = sma_str_trim((struct sma_str){step.ptr + skip, step.len - skip});
        }
        if (index < count)
            return step;
        index -= count;
    }
    return SMA_STR("text (asked once more than there are steps)");
}

static void put_call(struct fake_answer *answer, struct sma_str call)
{
    const char *blank = memchr(call.ptr, ' ', call.len);
    if (blank == NULL || answer->call_count == FAKE_CALL_COUNT_MAX)
        return;
    struct fake_call *one = &answer->calls[answer->call_count++];
    size_t len = (size_t)(blank - call.ptr);
    one->name = (struct sma_str){call.ptr, len};
    one->arguments = (struct sma_str){call.ptr + len + 1, call.len - len - 1};
}

static void put_xml(struct fake_answer *answer, struct sma_str call, struct sma_buf *scratch)
{
    struct fake_answer one = {.call_count = 0};
    put_call(&one, call);
    sma_buf_put_text(scratch, "<tool_call>\n{\"name\": ");
    sma_buf_put_json_string(scratch, one.calls[0].name);
    sma_buf_put_text(scratch, ", \"arguments\": ");
    sma_buf_put_str(scratch, one.calls[0].arguments);
    sma_buf_put_text(scratch, "}\n</tool_call>");
    answer->text = sma_buf_str(scratch);
}

void fake_steps_answer(const struct fake_steps *steps, struct fake_answer *answer,
                       struct sma_buf *scratch)
{
    struct sma_str step = find_step(steps), rest = step;
    struct sma_str word = take_until(&rest, " ");
    if (sma_str_is_equal(word, SMA_STR("text"))) {
        answer->text = rest;
    } else if (sma_str_is_equal(word, SMA_STR("cuttext"))) {
        answer->text = rest;
        answer->stop = "length";
    } else if (sma_str_is_equal(word, SMA_STR("call")) || sma_str_is_equal(word, SMA_STR("raw"))) {
        while (rest.len > 0)
            put_call(answer, take_until(&rest, " & "));
    } else if (sma_str_is_equal(word, SMA_STR("cutcall"))) {
        put_call(answer, rest);
        answer->calls[0].arguments.len /= 2;
        answer->stop = "length";
    } else if (sma_str_is_equal(word, SMA_STR("xml"))) {
        put_xml(answer, rest, scratch);
    } else if (sma_str_is_equal(word, SMA_STR("refuse"))) {
        answer->stop = "refusal";
    } else if (sma_str_is_equal(word, SMA_STR("filter"))) {
        answer->stop = "filter";
    }
}
