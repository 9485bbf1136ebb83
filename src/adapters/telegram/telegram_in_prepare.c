/* telegram_in_prepare.c — ingress.preparation read back: the store kept it, maybe over a restart of
 * another version. */
#include "telegram_in_priv.h"

#include "runtime/text/attach.h"

static bool read_file(const json_t *item, struct telegram_file *ret_file)
{
    struct telegram_file file = {
        .kind = telegram_in_str(item, "kind"),
        .file_id = telegram_in_str(item, "fileId"),
        .path = telegram_in_str(item, "path"),
        .size = telegram_in_int(item, "size"),
        .name = telegram_in_str(item, "name"),
    };
    if (file.file_id.len == 0 || file.file_id.len > TELEGRAM_FILE_ID_BYTES_MAX ||
        file.kind.len == 0 || !sma_attach_is_path(TELEGRAM_CACHE_FOLDER, file.path))
        return false;
    if (file.size <= 0)
        file.size = -1;
    *ret_file = file;
    return true;
}

enum sma_err telegram_preparation_parse(struct sma_str preparation,
                                        struct telegram_preparation *ret_preparation)
{
    struct telegram_preparation read = {0};
    if (preparation.len == 0) {
        *ret_preparation = read;
        return SMA_ERR_OK;
    }
    json_t *root = json_loadb(preparation.ptr, preparation.len, 0, NULL);
    if (root == NULL)
        return telegram_in_is_memory_short(preparation.len) ? SMA_ERR_NOMEM : SMA_ERR_BADINPUT;
    read.root = root;
    read.file_count = json_array_size(root);
    bool is_good = json_is_array(root) && read.file_count <= TELEGRAM_FILE_COUNT_MAX;
    for (size_t i = 0; is_good && i < read.file_count; i++)
        is_good = read_file(json_array_get(root, i), &read.files[i]);
    if (!is_good) {
        json_decref(root);
        return SMA_ERR_BADINPUT;
    }
    *ret_preparation = read;
    return SMA_ERR_OK;
}

void telegram_preparation_fini(struct telegram_preparation *preparation)
{
    json_decref(preparation->root);
    *preparation = (struct telegram_preparation){0};
}

void telegram_prepare_note(struct sma_buf *buf, const struct telegram_file *file,
                           const char *reason)
{
    if (buf->len > 0)
        sma_buf_put_char(buf, '\n');
    sma_buf_put_text(buf, "The attached ");
    sma_buf_put_str(buf, file->kind);
    sma_buf_put_char(buf, ' ');
    telegram_in_put_quoted(buf, file->name, SMA_ATTACH_LABEL_BYTES_MAX);
    sma_buf_put_text(buf, " could not be fetched: ");
    sma_buf_put_text(buf, reason);
    sma_buf_put_text(buf, ". There is no file at ");
    sma_buf_put_str(buf, file->path);
    sma_buf_put_char(buf, '.');
}
