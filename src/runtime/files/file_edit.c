/* file_edit.c — what write_file and edit_file make of a file; nothing is written here. See
 * file_tools.h. */
#include "runtime/files/file_tools_priv.h"

#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

void file_change_fini(struct file_change *change)
{
    free(change->before);
    free(change->after);
    *change = (struct file_change){0};
}

static size_t count_of(struct sma_str text, struct sma_str wanted)
{
    size_t count = 0;
    for (const char *at = text.ptr, *end = text.ptr + text.len;
         (at = memmem(at, (size_t)(end - at), wanted.ptr, wanted.len)) != NULL; at += wanted.len)
        count++;
    return count;
}

static void put_replaced(struct sma_buf *out, struct sma_str text, struct sma_str old_text,
                         struct sma_str new_text)
{
    const char *from = text.ptr, *end = text.ptr + text.len, *at;
    while ((at = memmem(from, (size_t)(end - from), old_text.ptr, old_text.len)) != NULL) {
        sma_buf_put(out, from, (size_t)(at - from));
        sma_buf_put_str(out, new_text);
        from = at + old_text.len;
    }
    sma_buf_put(out, from, (size_t)(end - from));
}

/* With CR LF in the place of every LF. */
static void put_crlf(struct sma_buf *out, struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\n' && (i == 0 || text.ptr[i - 1] != '\r'))
            sma_buf_put_char(out, '\r');
        sma_buf_put_char(out, text.ptr[i]);
    }
}

static enum sma_err replace(const struct sma_tool_args *args, struct sma_str old_text,
                            struct sma_str new_text, struct sma_str path,
                            struct file_change *change, struct sma_buf *why)
{
    struct sma_str before = {change->before, change->before_len};
    size_t count = count_of(before, old_text);
    if (count == 0)
        return file_tools_say(
            why, path,
            ": \"old_text\" does not occur in it. Read the file and give the exact text, "
            "with its white space.");
    if (count > 1 && !args->replaces_all) {
        (void)file_tools_say(why, path, ": \"old_text\" occurs "); /* the code is the same */
        sma_buf_printf(why,
                       "%zu times. Give more of the lines around it, or set \"replace_all\" to "
                       "true.",
                       count);
        return SMA_ERR_BADINPUT;
    }
    struct sma_buf after;
    sma_buf_init(&after, (size_t)SMA_FILE_READ_BYTES_MAX + 1);
    put_replaced(&after, before, old_text, new_text);
    enum sma_err err = after.err;
    change->after_len = after.len;
    if (err == SMA_ERR_OK && (change->after = sma_buf_take(&after)) == NULL)
        err = SMA_ERR_NOMEM;
    sma_buf_fini(&after);
    if (err == SMA_ERR_TOOBIG)
        (void)file_tools_say(why, path, " would be too large then."); /* the code is known */
    change->replaced_count = (uint32_t)count;
    return err;
}

static enum sma_err edit(const struct sma_tool_args *args, struct sma_str path,
                         struct file_change *change, struct sma_buf *why)
{
    struct sma_str before = {change->before, change->before_len};
    if (memchr(before.ptr, '\0', before.len) != NULL)
        return file_tools_say(why, path, " is a binary file: it cannot be edited as text.");
    if (!sma_utf8_is_valid(before))
        return file_tools_say(why, path,
                              " is not valid UTF-8: edit_file would damage it. Convert it first.");
    bool has_crlf = memmem(before.ptr, before.len, "\r\n", 2) != NULL;
    bool must_convert = has_crlf && count_of(before, args->old_text) == 0 &&
                        memchr(args->old_text.ptr, '\r', args->old_text.len) == NULL;
    if (!must_convert)
        return replace(args, args->old_text, args->new_text, path, change, why);
    struct sma_buf old_text, new_text; /* the file ends its lines in CR LF and keeps them */
    sma_buf_init(&old_text, (size_t)SMA_FILE_WRITE_BYTES_MAX * 2);
    sma_buf_init(&new_text, (size_t)SMA_FILE_WRITE_BYTES_MAX * 2);
    put_crlf(&old_text, args->old_text);
    put_crlf(&new_text, args->new_text);
    enum sma_err err = old_text.err != SMA_ERR_OK ? old_text.err : new_text.err;
    if (err == SMA_ERR_OK)
        err = replace(args, sma_buf_str(&old_text), sma_buf_str(&new_text), path, change, why);
    sma_buf_fini(&old_text);
    sma_buf_fini(&new_text);
    return err;
}

enum sma_err file_tools_change(const struct sma_file_tools *tools, enum sma_tool tool,
                               const struct sma_tool_args *args, struct sma_str path,
                               struct file_change *ret_change, struct sma_buf *why)
{
    struct file_change change = {0};
    size_t why_len = why->len;
    enum sma_err err = sma_guard_may_write(tools->guard, path, why);
    if (err != SMA_ERR_OK)
        return err;
    err = sma_guard_read(tools->guard, path, SMA_GUARD_READ, SMA_FILE_READ_BYTES_MAX,
                         &change.before, &change.before_len, why);
    if (tool == SMA_TOOL_EDIT_FILE) {
        if (err == SMA_ERR_OK)
            err = edit(args, path, &change, why);
    } else if (err == SMA_ERR_OK || err == SMA_ERR_NOTFOUND) {
        if (err == SMA_ERR_NOTFOUND && why->ptr != NULL) { /* a new file */
            why->len = why_len;
            why->ptr[why_len] = '\0';
        }
        change.after = strndup(args->content.ptr, args->content.len);
        change.after_len = args->content.len;
        err = change.after == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
    }
    if (err != SMA_ERR_OK) {
        file_change_fini(&change);
        return err;
    }
    *ret_change = change;
    return SMA_ERR_OK;
}

bool file_change_digest(enum sma_tool tool, const struct sma_tool_args *args, struct sma_str path,
                        const struct file_change *change, uint8_t ret_digest[32])
{
    char count[16];
    int len = snprintf(count, sizeof count, "%u", change->replaced_count);
    const struct sma_str edit_fields[] = {
        SMA_STR("file edit 1"), path, args->old_text, args->new_text, {count, (size_t)len}};
    const struct sma_str write_fields[] = {SMA_STR("file change 1"),
                                           path,
                                           change->before == NULL ? SMA_STR("new") : SMA_STR("old"),
                                           {change->before, change->before_len},
                                           {change->after, change->after_len}};
    return tool == SMA_TOOL_EDIT_FILE
               ? file_tools_hash(edit_fields, SMA_COUNT_OF(edit_fields), ret_digest)
               : file_tools_hash(write_fields, SMA_COUNT_OF(write_fields), ret_digest);
}
