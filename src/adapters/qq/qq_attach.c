/* qq_attach.c — files that people send or quote: a path for each, and what must be fetched. See
 * qq_event.h. */
#include "qq_event_priv.h"

#include "runtime/text/attach.h"

#define TYPE_BYTES_MAX 128

static const char *kind_of(struct sma_str type)
{
    if (sma_str_starts_with(type, SMA_STR("image/")))
        return "photo";
    bool is_voice =
        sma_str_is_equal(type, SMA_STR("voice")) || sma_str_starts_with(type, SMA_STR("audio/"));
    return is_voice ? "voice" : "document";
}

static struct sma_str without_scheme(struct sma_str url)
{
    size_t len = sma_str_starts_with(url, SMA_STR("http://"))    ? 7
                 : sma_str_starts_with(url, SMA_STR("https://")) ? 8
                                                                 : 0;
    return (struct sma_str){url.ptr + len, url.len - len};
}

/* Guild events leave the scheme out. */
static void put_url(struct sma_buf *buf, struct sma_str url)
{
    if (without_scheme(url).len == url.len)
        sma_buf_put_text(buf, "https://");
    sma_buf_put_json_escaped(buf, url);
}

static bool is_fetchable(struct sma_str url)
{
    for (size_t i = 0; i < url.len; i++)
        if ((unsigned char)url.ptr[i] <= 0x20 || url.ptr[i] == 0x7f)
            return false;
    return url.len > 0 && url.len <= QQ_URL_BYTES_MAX;
}

static void put_file(struct qq_reading *in, const json_t *attachment, struct sma_buf *lines)
{
    struct sma_str type = sma_json_str(attachment, "content_type"),
                   name = sma_json_str(attachment, "filename");
    struct sma_str wav = sma_json_str(attachment, "voice_wav_url"),
                   url = sma_json_str(attachment, "url");
    struct sma_str asr = sma_json_str(attachment, "asr_refer_text");
    const char *kind = kind_of(type);
    if (wav.len > 0) { /* what everybody can play, instead of the platform's own format */
        url = wav;
        name = SMA_STR("voice.wav");
        type = SMA_STR("audio/wav");
    }
    if (!is_fetchable(url) || in->file_count == SMA_ATTACHMENT_COUNT_MAX) {
        sma_buf_printf(lines, "%s[%s, not fetched]", lines->len > 0 ? "\n" : "", kind);
        return;
    }
    if (name.len == 0)
        name = sma_str(kind);
    struct sma_buf path;
    sma_buf_init(&path, 1024);
    const struct sma_home *home = in->options->home;
    sma_attach_put_path(&path, home == NULL ? QQ_CACHE_FOLDER : home->folder, in->date_ms,
                        without_scheme(url), in->event.ingress.event_key, name);
    sma_attach_put_line(lines, kind, sma_buf_str(&path), name);
    sma_buf_printf(&in->preparation, "%s{\"kind\":\"%s\",\"url\":\"",
                   in->file_count == 0 ? "[" : ",", kind);
    put_url(&in->preparation, url);
    sma_buf_put_text(&in->preparation, "\",\"path\":");
    sma_buf_put_json_string(&in->preparation, sma_buf_str(&path));
    sma_buf_put_text(&in->preparation, ",\"name\":");
    name.len = sma_utf8_cut(name, SMA_NAME_BYTES_MAX);
    sma_buf_put_json_string(&in->preparation, name);
    if (type.len > 0 && memchr(type.ptr, '/', type.len) != NULL) {
        type.len = sma_utf8_cut(type, TYPE_BYTES_MAX);
        sma_buf_put_text(&in->preparation, ",\"mime\":");
        sma_buf_put_json_string(&in->preparation, type);
    }
    sma_buf_put_char(&in->preparation, '}');
    if (path.err != SMA_ERR_OK && lines->err == SMA_ERR_OK)
        lines->err = path.err;
    sma_buf_fini(&path);
    in->file_count++;
    if (asr.len > 0) {
        asr.len = sma_utf8_cut(asr, QQ_QUOTE_BYTES_MAX);
        sma_buf_put_text(&in->context,
                         "The platform recognised this speech in the voice message: ");
        sma_buf_put_json_string(&in->context, asr);
        sma_buf_put_char(&in->context, '\n');
    }
}

void qq_put_files(struct qq_reading *in, const json_t *message, struct sma_buf *lines)
{
    const json_t *files = sma_json_get(message, "attachments");
    for (size_t i = 0; i < json_array_size(files) && i < 2 * SMA_ATTACHMENT_COUNT_MAX; i++)
        if (json_is_object(json_array_get(files, i)))
            put_file(in, json_array_get(files, i), lines);
}

/* -- preparation ------------------------------------------------------------------------------- */
static bool is_good_file(const struct sma_file_item *item)
{
    struct sma_str url = sma_json_str(item->json, "url");
    return sma_str_starts_with(url, SMA_STR("https://")) ||
           sma_str_starts_with(url, SMA_STR("http://"));
}

const struct sma_file_shape qq_file_shape = {.folder = QQ_CACHE_FOLDER, .is_good = is_good_file};
