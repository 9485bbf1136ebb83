/*
 * fake_model_notes.c — what a model remembers: notes of a conversation when a client asks for them,
 * and "[[do: recall NAME]]", which is answered from the request alone. A fact is a sentence
 * "FACT-<n> is <number>."; what is in neither the conversation nor the notes is not known.
 */
#include "fake_model_steps.h"

#include "sma/text.h"

#include <stdio.h>
#include <string.h>

/* The length of a fact that begins here, 0: it is none. */
static size_t fact_length(struct sma_str text)
{
    static const char begin[] = "FACT-";
    size_t at = sizeof begin - 1;
    if (text.len < at || memcmp(text.ptr, begin, at) != 0)
        return 0;
    while (at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9')
        at++;
    if (text.len - at < 5 || memcmp(text.ptr + at, " is ", 4) != 0)
        return 0;
    for (at += 4; at < text.len && text.ptr[at] >= '0' && text.ptr[at] <= '9';)
        at++;
    return at < text.len && text.ptr[at] == '.' ? at + 1 : 0;
}

static struct sma_str rest_of(struct sma_str text, const char *at)
{
    return (struct sma_str){at, (size_t)(text.ptr + text.len - at)};
}

/* -- steps ------------------------------------------------------------------------------------- */
static uint64_t hash_of(struct sma_str directive)
{
    static const uint8_t no_key[16];
    return sma_siphash(no_key, directive.ptr, directive.len);
}

/* "STEPS-DONE 3 FOR 0123456789abcdef" */
size_t fake_steps_noted(struct sma_str notes, struct sma_str directive)
{
    char name[40];
    const char *at = notes.ptr;
    int len = snprintf(name, sizeof name, " FOR %016llx", (unsigned long long)hash_of(directive));
    while (notes.len > 0 && (at = memmem(at, rest_of(notes, at).len, FAKE_STEPS_DONE,
                                         sizeof FAKE_STEPS_DONE - 1)) != NULL) {
        size_t count = 0;
        for (at += sizeof FAKE_STEPS_DONE - 1;
             at < notes.ptr + notes.len && *at >= '0' && *at <= '9'; at++)
            count = count * 10 + (size_t)(*at - '0');
        if (rest_of(notes, at).len >= (size_t)len && memcmp(at, name, (size_t)len) == 0)
            return count;
    }
    return 0;
}

static size_t count_steps(struct sma_str text)
{
    static const char step[] = "[step]\n";
    size_t count = 0;
    for (const char *at = text.ptr;
         (at = memmem(at, rest_of(text, at).len, step, sizeof step - 1)) != NULL; at++)
        count++;
    return count;
}

/* What was done for the message that the conversation ends with. */
static void put_steps(struct sma_buf *scratch, struct sma_str text)
{
    static const char begin[] = "the message that is being worked on]";
    const char *at = memmem(text.ptr, text.len, begin, sizeof begin - 1);
    struct sma_str directive =
        at == NULL ? (struct sma_str){"", 0} : fake_directive_in(rest_of(text, at));
    if (directive.len == 0) {
        sma_buf_put_text(scratch, "none\n");
        return;
    }
    size_t count = count_steps(rest_of(text, at)) + fake_steps_noted(text, directive);
    sma_buf_printf(scratch, FAKE_STEPS_DONE "%zu FOR %016llx\n", count,
                   (unsigned long long)hash_of(directive));
}

/* -- notes ------------------------------------------------------------------------------------- */
static struct sma_str newest_text(const json_t *messages)
{
    const json_t *message = json_array_get(messages, json_array_size(messages) - 1);
    const json_t *content = json_object_get(message, "content");
    if (json_is_array(content))
        content = json_object_get(json_array_get(content, 0), "text");
    return json_is_string(content)
               ? (struct sma_str){json_string_value(content), json_string_length(content)}
               : (struct sma_str){"", 0};
}

bool fake_answer_notes(const json_t *messages, struct fake_answer *answer, struct sma_buf *scratch)
{
    struct sma_str text = newest_text(messages);
    const char *at = text.ptr;
    if (memmem(text.ptr, text.len, "<conversation>", 14) == NULL ||
        memmem(text.ptr, text.len, "## Identifiers", 14) == NULL)
        return false;
    sma_buf_put_text(scratch, "## Goal\nto talk\n## Facts\n");
    while ((at = memmem(at, rest_of(text, at).len, "FACT-", 5)) != NULL) {
        size_t len = fact_length(rest_of(text, at));
        if (len > 0 && memmem(scratch->ptr, scratch->len, at, len) == NULL) {
            sma_buf_put(scratch, at, len);
            sma_buf_put_char(scratch, '\n');
        }
        at += len > 0 ? len : 5;
    }
    sma_buf_put_text(scratch, "## Done\n");
    put_steps(scratch, text);
    sma_buf_put_text(scratch, "## Decisions\nnone\n## Open\nnone\n## Identifiers\nnone");
    answer->text = sma_buf_str(scratch);
    return true;
}

bool fake_answer_recall(struct sma_str body, struct sma_str directive, struct fake_answer *answer,
                        struct sma_buf *scratch)
{
    static const char word[] = "recall ";
    struct sma_str name = sma_str_trim(directive);
    const char *at = body.ptr;
    if (!sma_str_starts_with(name, sma_str(word)))
        return false;
    name = rest_of(name, name.ptr + sizeof word - 1);
    while ((at = memmem(at, rest_of(body, at).len, name.ptr, name.len)) != NULL) {
        size_t len = fact_length(rest_of(body, at));
        if (len > name.len + 4 && at[name.len] == ' ') {
            sma_buf_put(scratch, at, len);
            break;
        }
        at += name.len;
    }
    if (at == NULL)
        sma_buf_put_text(scratch, "I do not know that.");
    answer->text = sma_buf_str(scratch);
    return true;
}
