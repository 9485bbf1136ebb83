/* feishu_attach.c — attachments: a path for each, and what must be fetched. See feishu_event.h. */
#include "feishu_event_priv.h"

#include <inttypes.h>
#include <stdio.h>

#include "sma/text.h"

#define NAME_BYTES_MAX 160
#define KEY_TAIL_BYTES 8
#define UNIQUE_TRY_COUNT_MAX (SMA_ATTACHMENT_COUNT_MAX + 1)

static bool is_kept(uint32_t letter)
{
    if (letter < 0x80)
        return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
               (letter >= '0' && letter <= '9') ||
               (letter != 0 && strchr("_.-()@", (int)letter) != NULL);
    return letter >= 0x4e00 && letter <= 0x9fff;
}

/* One code point of valid UTF-8. @return its bytes */
static size_t take_letter(const unsigned char *at, uint32_t *ret_letter)
{
    if (at[0] < 0x80) {
        *ret_letter = at[0];
        return 1;
    }
    size_t len = at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
    uint32_t letter = at[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        letter = letter << 6 | (at[i] & 0x3fu);
    *ret_letter = letter;
    return len;
}

/* The reference's cleaning: the base name, every run of other characters becomes one '_', at most NAME_BYTES_MAX. */
static void put_clean_name(struct sma_buf *buf, struct sma_str name)
{
    for (size_t i = name.len; i-- > 0;) {
        if (name.ptr[i] == '/' || name.ptr[i] == '\\') {
            name = (struct sma_str){name.ptr + i + 1, name.len - i - 1};
            break;
        }
    }
    size_t start = buf->len;
    bool is_gap = false;
    for (size_t i = 0; i < name.len;) {
        uint32_t letter = 0;
        size_t len = take_letter((const unsigned char *)name.ptr + i, &letter);
        bool is_good = is_kept(letter);
        size_t used = buf->len - start;
        if (used + len > NAME_BYTES_MAX)
            break;
        if (is_good)
            sma_buf_put(buf, name.ptr + i, len);
        else if (!is_gap)
            sma_buf_put_char(buf, '_');
        is_gap = !is_good;
        i += len;
    }
    if (buf->len == start)
        sma_buf_put_text(buf, "file");
}

static bool is_path_free(const struct feishu_reading *reading, const char *path)
{
    for (size_t i = 0; i < reading->attachment_count; i++) {
        if (strcmp(reading->paths[i], path) == 0)
            return false;
    }
    return true;
}

/* The path of the next attachment; two of one message never share one. */
static bool make_path(struct feishu_reading *reading, struct sma_str file_key, struct sma_str name)
{
    char *path = reading->paths[reading->attachment_count];
    char tail[KEY_TAIL_BYTES + 1];
    size_t tail_len = file_key.len < KEY_TAIL_BYTES ? file_key.len : KEY_TAIL_BYTES;
    for (size_t i = 0; i < tail_len; i++) {
        char byte = file_key.ptr[file_key.len - tail_len + i];
        tail[i] = is_kept((unsigned char)byte) ? byte : '_';
    }
    tail[tail_len] = '\0';
    struct sma_buf clean;
    sma_buf_init(&clean, NAME_BYTES_MAX + 8);
    put_clean_name(&clean, name);
    bool is_made = clean.err == SMA_ERR_OK;
    for (unsigned round = 1; is_made && round <= UNIQUE_TRY_COUNT_MAX; round++) {
        char number[12] = "";
        if (round > 1)
            snprintf(number, sizeof number, "-%u", round);
        snprintf(path, FEISHU_PATH_BYTES_MAX, "%s%" PRId64 "-%s%s-%s", FEISHU_CACHE_FOLDER,
                 reading->date_ms, tail, number, clean.ptr);
        if (is_path_free(reading, path))
            break;
    }
    if (!is_made)
        reading->lines.err = clean.err;
    sma_buf_fini(&clean);
    return is_made;
}

_Static_assert(sizeof FEISHU_CACHE_FOLDER + 20 + 1 + KEY_TAIL_BYTES + 11 + 1 + NAME_BYTES_MAX + 1 <=
                   FEISHU_PATH_BYTES_MAX,
               "every path fits");

static void put_preparation(struct feishu_reading *reading, const char *kind,
                            struct sma_str file_key, struct sma_str name)
{
    struct sma_buf *out = &reading->preparation;
    const char *path = reading->paths[reading->attachment_count];
    sma_buf_put_text(out, out->len == 0 ? "[{" : ",{");
    sma_buf_put_json_key(out, "kind");
    sma_buf_put_json_string(out, sma_str(kind));
    sma_buf_put_json_key(out, "message_id");
    sma_buf_put_json_string(out, reading->message_id);
    sma_buf_put_json_key(out, "file_key");
    sma_buf_put_json_string(out, file_key);
    sma_buf_put_json_key(out, "path");
    sma_buf_put_json_string(out, sma_str(path));
    sma_buf_put_json_key(out, "name");
    sma_buf_put_json_string(out, name);
    sma_buf_put_char(out, '}');
}

bool feishu_attach(struct feishu_reading *reading, const char *kind, struct sma_str file_key,
                   struct sma_str name)
{
    if (reading->attachment_count == SMA_ATTACHMENT_COUNT_MAX || !feishu_id_is_good(file_key))
        return false;
    name.len = sma_utf8_cut(name, SMA_NAME_BYTES_MAX);
    if (!make_path(reading, file_key, name))
        return false;
    sma_buf_printf(&reading->lines, "@attach %s %s | ", kind,
                   reading->paths[reading->attachment_count]);
    feishu_put_line(&reading->lines, name, SMA_NAME_BYTES_MAX);
    sma_buf_put_char(&reading->lines, '\n');
    put_preparation(reading, kind, file_key, name);
    reading->attachment_count++;
    return true;
}

/* -- later ------------------------------------------------------------------------------------------------------- */

static bool is_path_ours(struct sma_str path)
{
    struct sma_str folder = SMA_STR(FEISHU_CACHE_FOLDER);
    if (!sma_str_starts_with(path, folder) || path.len == folder.len ||
        path.len >= FEISHU_PATH_BYTES_MAX)
        return false;
    return memchr(path.ptr + folder.len, '/', path.len - folder.len) == NULL &&
           memchr(path.ptr, '\0', path.len) == NULL;
}

static bool read_file(const json_t *item, struct feishu_file *file)
{
    *file = (struct feishu_file){.kind = sma_json_str(item, "kind"),
                                 .message_id = sma_json_str(item, "message_id"),
                                 .file_key = sma_json_str(item, "file_key"),
                                 .path = sma_json_str(item, "path"),
                                 .name = sma_json_str(item, "name")};
    bool is_photo = sma_str_is_equal(file->kind, SMA_STR("photo"));
    file->type = is_photo ? SMA_STR("image") : SMA_STR("file");
    return (is_photo || sma_str_is_equal(file->kind, SMA_STR("document")) ||
            sma_str_is_equal(file->kind, SMA_STR("voice"))) &&
           feishu_id_is_good(file->message_id) && feishu_id_is_good(file->file_key) &&
           is_path_ours(file->path);
}

enum sma_err feishu_preparation_parse(struct sma_str preparation,
                                      struct feishu_preparation *ret_preparation)
{
    json_t *root = NULL;
    enum sma_err err = sma_json_load(preparation, &root);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_TOOBIG ? SMA_ERR_BADINPUT : err;
    struct feishu_preparation made = {.json = root, .file_count = json_array_size(root)};
    bool is_good = made.file_count > 0 && made.file_count <= SMA_ATTACHMENT_COUNT_MAX;
    for (size_t i = 0; is_good && i < made.file_count; i++)
        is_good = read_file(json_array_get(root, i), &made.files[i]);
    if (!is_good) {
        json_decref(root);
        return SMA_ERR_BADINPUT;
    }
    *ret_preparation = made;
    return SMA_ERR_OK;
}

void feishu_preparation_fini(struct feishu_preparation *preparation)
{
    json_decref(preparation->json);
    *preparation = (struct feishu_preparation){0};
}

void feishu_put_prepare_note(struct sma_buf *buf, const struct feishu_file *file, const char *why)
{
    if (buf->len > 0)
        sma_buf_put_char(buf, '\n');
    sma_buf_put_text(buf, "The attachment \"");
    feishu_put_line(buf, file->name, SMA_NAME_BYTES_MAX);
    sma_buf_put_text(buf, "\" could not be fetched (");
    sma_buf_put_text(buf, why);
    sma_buf_put_text(buf, "); there is no file at ");
    sma_buf_put_str(buf, file->path);
    sma_buf_put_char(buf, '.');
}
