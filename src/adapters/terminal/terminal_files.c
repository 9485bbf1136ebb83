/* terminal_files.c — the files that a message takes along: paths in the project. A client that is
 * given any other file copies it there: it runs as the user who may read it. */
#include "terminal_priv.h"

#include "sma/text.h"

#include <stdlib.h>

static SMA_CHECKED enum sma_err take_all(const struct terminal *terminal, const json_t *array,
                                         struct said *said, struct sma_error *error)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *path = json_object_get(json_array_get(array, i), "path");
        struct sma_str text = {json_string_value(path), json_string_length(path)};
        if (!json_is_string(path))
            return sma_fail(error, SMA_ERR_BADINPUT, "an attachment is {\"path\": \"..\"}");
        SMA_TRY(sma_given_path(terminal->project_dir, text, &said->files[i], error));
        said->file_count++;
    }
    return SMA_ERR_OK;
}

enum sma_err sma_terminal_take_files(const struct terminal *terminal, const json_t *root,
                                     struct said *said, struct sma_buf *text,
                                     struct sma_error *error)
{
    const json_t *array = json_object_get(root, "attachments");
    size_t count = json_array_size(array);
    if (count == 0)
        return SMA_ERR_OK;
    if (count > SMA_ATTACHMENT_COUNT_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT, "a message takes at most %d files",
                        SMA_ATTACHMENT_COUNT_MAX);
    if (sma_control_parse(said->text) != SMA_CONTROL_NONE)
        return sma_fail(error, SMA_ERR_BADINPUT, "a command takes no files");
    said->files = calloc(count, sizeof *said->files);
    if (said->files == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    SMA_TRY(take_all(terminal, array, said, error));
    sma_given_put_text(text, said->files, said->file_count, said->text);
    said->text = sma_buf_str(text);
    return text->err == SMA_ERR_OK
               ? SMA_ERR_OK
               : sma_fail(error, text->err, "the message is longer than 1 MiB: send it in parts");
}
