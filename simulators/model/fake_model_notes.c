/*
 * fake_model_notes.c — what a model remembers: notes of a conversation when a client asks for them,
 * and "[[do: recall NAME]]", which is answered from the request alone. A fact is a sentence
 * "FACT-<n> is <number>."; what is in neither the conversation nor the notes is not known.
 */
#include "fake_model_steps.h"

#include "sma/text.h"

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

bool fake_answer_notes(struct sma_str body, struct fake_answer *answer, struct sma_buf *scratch)
{
    const char *at = body.ptr;
    if (memmem(body.ptr, body.len, "<conversation>", 14) == NULL ||
        memmem(body.ptr, body.len, "## Identifiers", 14) == NULL)
        return false;
    sma_buf_put_text(scratch, "## Goal\nto talk\n## Facts\n");
    while ((at = memmem(at, rest_of(body, at).len, "FACT-", 5)) != NULL) {
        size_t len = fact_length(rest_of(body, at));
        if (len > 0 && memmem(scratch->ptr, scratch->len, at, len) == NULL) {
            sma_buf_put(scratch, at, len);
            sma_buf_put_char(scratch, '\n');
        }
        at += len > 0 ? len : 5;
    }
    sma_buf_put_text(scratch, "## Done\nnone\n## Decisions\nnone\n## Open\nnone\n"
                              "## Identifiers\nnone");
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
