/* attach.c — see attach.h. */
#include "runtime/text/attach.h"

#include "sma/text.h"

#include <inttypes.h>

static bool is_kept(const char *bytes, size_t len)
{
    unsigned char byte = (unsigned char)bytes[0];
    if (len == 1)
        return (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') ||
               (byte != 0 && memchr("_.-()@", byte, 6) != NULL);
    if (len != 3)
        return false;
    uint32_t code = ((uint32_t)(byte & 0x0f) << 12) | ((uint32_t)(bytes[1] & 0x3f) << 6) |
                    (uint32_t)(bytes[2] & 0x3f);
    return code >= 0x4e00 && code <= 0x9fff;
}

static size_t char_bytes(struct sma_str text, size_t at)
{
    unsigned char lead = (unsigned char)text.ptr[at];
    size_t len = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    return len > text.len - at ? text.len - at : len;
}

static struct sma_str last_component(struct sma_str path)
{
    for (size_t i = path.len; i-- > 0;)
        if (path.ptr[i] == '/' || path.ptr[i] == '\\')
            return (struct sma_str){path.ptr + i + 1, path.len - i - 1};
    return path;
}

void sma_attach_put_name(struct sma_buf *buf, struct sma_str name)
{
    name = last_component(name);
    size_t start = buf->len;
    bool is_gap = false;
    for (size_t at = 0, count = 0; at < name.len && count < SMA_ATTACH_NAME_CHARS_MAX;) {
        size_t len = char_bytes(name, at);
        if (buf->len - start + len > SMA_ATTACH_NAME_BYTES_MAX)
            break;
        bool is_good = is_kept(name.ptr + at, len);
        if (is_good)
            sma_buf_put(buf, name.ptr + at, len);
        else if (!is_gap)
            sma_buf_put_char(buf, '_');
        count += is_good || !is_gap;
        is_gap = !is_good;
        at += len;
    }
    if (buf->len == start)
        sma_buf_put_char(buf, '_');
}

static uint32_t hash_of(struct sma_str id, struct sma_str salt)
{
    static const uint8_t key[16] = "attachment path"; /* no secret: it only has to spread */
    uint8_t inner[16];
    uint64_t half = sma_siphash(key, salt.ptr == NULL ? "" : salt.ptr, salt.len);
    memcpy(inner, &half, 8);
    memcpy(inner + 8, &half, 8);
    return (uint32_t)sma_siphash(inner, id.ptr == NULL ? "" : id.ptr, id.len);
}

void sma_attach_put_path(struct sma_buf *buf, const char *folder, int64_t date_ms,
                         struct sma_str id, struct sma_str salt, struct sma_str name)
{
    sma_buf_put_text(buf, folder);
    sma_buf_put_i64(buf, date_ms);
    sma_buf_put_char(buf, '-');
    for (size_t i = 0; i < SMA_ATTACH_TAG_CHARS_MAX && i < id.len; i++) {
        char byte = id.ptr[i];
        sma_buf_put_char(buf, is_kept(&byte, 1) && byte != '.' ? byte : '_');
    }
    sma_buf_printf(buf, "-%08" PRIx32 "-", hash_of(id, salt));
    sma_attach_put_name(buf, name);
}

bool sma_attach_is_path(const char *folder, struct sma_str path)
{
    struct sma_str start = sma_str(folder);
    if (!sma_str_starts_with(path, start) || path.len == start.len)
        return false;
    struct sma_str name = {path.ptr + start.len, path.len - start.len};
    if (name.len > 255 || name.ptr[0] == '.')
        return false;
    for (size_t at = 0; at < name.len;) {
        size_t len = char_bytes(name, at);
        if (!is_kept(name.ptr + at, len))
            return false;
        at += len;
    }
    return true;
}

void sma_attach_put_label(struct sma_buf *buf, struct sma_str label, size_t max_bytes)
{
    label = sma_str_trim(label);
    label.len = sma_utf8_cut(label, max_bytes);
    for (size_t i = 0; i < label.len; i++) {
        unsigned char byte = (unsigned char)label.ptr[i];
        sma_buf_put_char(buf, byte < 0x20 || byte == 0x7f ? ' ' : (char)byte);
    }
}

void sma_attach_put_line(struct sma_buf *buf, const char *kind, struct sma_str path,
                         struct sma_str label)
{
    if (buf->len > 0)
        sma_buf_put_char(buf, '\n');
    sma_buf_put_text(buf, "@attach ");
    sma_buf_put_text(buf, kind);
    sma_buf_put_char(buf, ' ');
    sma_buf_put_str(buf, path);
    sma_buf_put_text(buf, " | ");
    sma_attach_put_label(buf, label.len == 0 ? sma_str(kind) : label, SMA_ATTACH_LABEL_BYTES_MAX);
}

void sma_attach_put_missing(struct sma_buf *buf, struct sma_str label, struct sma_str path,
                            const char *why)
{
    if (buf->len > 0)
        sma_buf_put_char(buf, '\n');
    sma_buf_put_text(buf, "The attachment ");
    label = sma_str_trim(label);
    label.len = sma_utf8_cut(label, SMA_ATTACH_LABEL_BYTES_MAX);
    sma_buf_put_json_string(buf,
                            label); /* the name is a stranger's: it must not close its quotes */
    sma_buf_put_text(buf, " could not be fetched (");
    sma_buf_put_text(buf, why);
    sma_buf_put_text(buf, "); there is no file at ");
    sma_buf_put_str(buf, path);
    sma_buf_put_char(buf, '.');
}

/* -- reading ----------------------------------------------------------------------------------- */
/* First word of *rest, which moves behind it and the white space after. */
static struct sma_str take_word(struct sma_str *rest)
{
    size_t len = 0;
    while (len < rest->len && rest->ptr[len] != ' ' && rest->ptr[len] != '\t')
        len++;
    struct sma_str word = {rest->ptr, len};
    *rest = sma_str_trim((struct sma_str){rest->ptr + len, rest->len - len});
    return word;
}

bool sma_attach_read_line(struct sma_str line, struct sma_attach_line *ret_line)
{
    static const struct
    {
        const char *name, *kind;
    } kinds[] = {{"photo", "photo"},   {"image", "photo"},    {"document", "document"},
                 {"file", "document"}, {"video", "document"}, {"voice", "voice"},
                 {"audio", "audio"}};
    struct sma_str rest = sma_str_trim(line), caption = {"", 0};
    if (rest.len == 0 || rest.ptr[0] != '@' ||
        !sma_str_is_equal_nocase(take_word(&rest), SMA_STR("@attach")))
        return false;
    struct sma_str name = take_word(&rest), target = rest;
    const char *bar = rest.len == 0 ? NULL : memchr(rest.ptr, '|', rest.len);
    if (bar != NULL) {
        target.len = (size_t)(bar - rest.ptr);
        caption = sma_str_trim((struct sma_str){bar + 1, rest.len - target.len - 1});
    }
    target = sma_str_trim(target);
    for (size_t i = 0; i < SMA_COUNT_OF(kinds) && target.len > 0; i++) {
        if (!sma_str_is_equal_nocase(name, sma_str(kinds[i].name)))
            continue;
        *ret_line = (struct sma_attach_line){kinds[i].kind, target, caption};
        return true;
    }
    return false;
}
