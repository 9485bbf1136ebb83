/* media_look.c — types by their first bytes, sizes by their headers. See media.h. */
#include "runtime/media/media.h"

#include "sma/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define HEAD_BYTES 4096u
#define TAIL_BYTES 4096u
#define PDF_SCAN_BYTES (64u * 1024)
#define PDF_SCAN_COUNT_MAX 1024 /* pieces of PDF_SCAN_BYTES */
#define CHUNK_COUNT_MAX 4096    /* PNG: a file of more is decoded to be sure */
#define SEGMENT_COUNT_MAX 512   /* JPEG: before the picture begins */
#define EXIF_BYTES_MAX 4096u    /* of an Exif segment that are looked at */
#define EXIF_ENTRY_COUNT_MAX 128u

static const struct
{
    const char *mime, *name;
    uint8_t part_kind;
} rows[SMA_MEDIA_TYPE_COUNT] = {
    [SMA_MEDIA_UNKNOWN] = {"application/octet-stream", "binary file", SMA_PART_FILE},
    [SMA_MEDIA_EMPTY] = {"application/octet-stream", "empty file", SMA_PART_FILE},
    [SMA_MEDIA_TEXT] = {"text/plain", "text file", SMA_PART_FILE},
    [SMA_MEDIA_PNG] = {"image/png", "PNG picture", SMA_PART_IMAGE},
    [SMA_MEDIA_JPEG] = {"image/jpeg", "JPEG picture", SMA_PART_IMAGE},
    [SMA_MEDIA_GIF] = {"image/gif", "GIF picture", SMA_PART_IMAGE},
    [SMA_MEDIA_WEBP] = {"image/webp", "WebP picture", SMA_PART_IMAGE},
    [SMA_MEDIA_BMP] = {"image/bmp", "BMP picture", SMA_PART_IMAGE},
    [SMA_MEDIA_TIFF] = {"image/tiff", "TIFF picture", SMA_PART_IMAGE},
    [SMA_MEDIA_HEIC] = {"image/heic", "HEIC picture", SMA_PART_IMAGE},
    [SMA_MEDIA_AVIF] = {"image/avif", "AVIF picture", SMA_PART_IMAGE},
    [SMA_MEDIA_PDF] = {"application/pdf", "PDF", SMA_PART_FILE},
    [SMA_MEDIA_WAV] = {"audio/wav", "WAV sound", SMA_PART_AUDIO},
    [SMA_MEDIA_MP3] = {"audio/mpeg", "MP3 sound", SMA_PART_AUDIO},
    [SMA_MEDIA_OGG] = {"audio/ogg", "Ogg sound", SMA_PART_AUDIO},
    [SMA_MEDIA_M4A] = {"audio/mp4", "M4A sound", SMA_PART_AUDIO},
    [SMA_MEDIA_AMR] = {"audio/amr", "AMR sound", SMA_PART_AUDIO},
    [SMA_MEDIA_SILK] = {"audio/silk", "SILK sound", SMA_PART_AUDIO},
    [SMA_MEDIA_VIDEO] = {"video/mp4", "video", SMA_PART_FILE},
};

const char *sma_media_mime(enum sma_media_type type)
{
    return rows[type].mime;
}

const char *sma_media_name(enum sma_media_type type)
{
    return rows[type].name;
}

uint8_t sma_media_part_kind(enum sma_media_type type)
{
    return rows[type].part_kind;
}

bool sma_media_is_given(enum sma_media_type type)
{
    return type == SMA_MEDIA_PNG || type == SMA_MEDIA_JPEG || type == SMA_MEDIA_GIF ||
           type == SMA_MEDIA_WEBP || type == SMA_MEDIA_PDF || type == SMA_MEDIA_WAV ||
           type == SMA_MEDIA_MP3;
}

bool sma_media_is_picture(enum sma_media_type type)
{
    return rows[type].part_kind == SMA_PART_IMAGE;
}

/* -- reading ----------------------------------------------------------------------------------- */
static ssize_t read_fd(void *user, uint64_t offset, void *bytes, size_t len)
{
    const int *fd = user;
    size_t done = 0;
    while (done < len && offset + done <= INT64_MAX) {
        ssize_t got = pread(*fd, (char *)bytes + done, len - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

struct sma_media_source sma_media_of_fd(const int *fd, uint64_t size)
{
    union
    {
        const int *from;
        void *to;
    } user = {fd}; /* read_fd changes nothing */
    return (struct sma_media_source){.read_at = read_fd, .user = user.to, .size = size};
}

/* All of it or nothing. */
static bool read_all(const struct sma_media_source *source, uint64_t offset, uint8_t *bytes,
                     size_t len)
{
    return offset < source->size && len <= source->size - offset &&
           source->read_at(source->user, offset, bytes, len) == (ssize_t)len;
}

static uint32_t be16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t le16(const uint8_t *at)
{
    return (uint32_t)at[1] << 8 | at[0];
}

static uint32_t be32(const uint8_t *at)
{
    return be16(at) << 16 | be16(at + 2);
}

static uint32_t le32(const uint8_t *at)
{
    return le16(at + 2) << 16 | le16(at);
}

/* -- PNG --------------------------------------------------------------------------------------- */
static void look_png(const struct sma_media_source *source, struct sma_media *media)
{
    uint8_t bytes[24];
    if (!read_all(source, 0, bytes, sizeof bytes) || memcmp(bytes + 12, "IHDR", 4) != 0)
        return;
    media->width = be32(bytes + 16);
    media->height = be32(bytes + 20);
    uint64_t at = 8;
    for (int i = 0; i < CHUNK_COUNT_MAX && read_all(source, at, bytes, 8); i++) {
        uint64_t end = at + 12 + be32(bytes);
        if (memcmp(bytes + 4, "IEND", 4) == 0) {
            media->is_whole = end <= source->size;
            return;
        }
        at = end;
    }
}

/* -- JPEG -------------------------------------------------------------------------------------- */
static uint8_t look_tiff_orientation(const uint8_t *tiff, size_t len)
{
    if (len < 8)
        return 1;
    bool is_little = memcmp(tiff, "II\x2a\0", 4) == 0;
    if (!is_little && memcmp(tiff, "MM\0\x2a", 4) != 0)
        return 1;
    uint32_t at = is_little ? le32(tiff + 4) : be32(tiff + 4);
    if (at > len - 2)
        return 1;
    uint32_t count = is_little ? le16(tiff + at) : be16(tiff + at);
    at += 2;
    for (uint32_t i = 0; i < count && i < EXIF_ENTRY_COUNT_MAX && len - at >= 12; i++, at += 12) {
        uint32_t tag = is_little ? le16(tiff + at) : be16(tiff + at);
        uint32_t value = is_little ? le16(tiff + at + 8) : be16(tiff + at + 8);
        if (tag == 0x0112)
            return value >= 1 && value <= 8 ? (uint8_t)value : 1;
    }
    return 1;
}

static void look_exif(const struct sma_media_source *source, uint64_t at, uint32_t len,
                      struct sma_media *media)
{
    uint8_t bytes[EXIF_BYTES_MAX];
    size_t size = len < sizeof bytes ? len : sizeof bytes;
    if (size > 6 && read_all(source, at, bytes, size) && memcmp(bytes, "Exif\0\0", 6) == 0)
        media->orientation = look_tiff_orientation(bytes + 6, size - 6);
}

static bool is_frame(uint8_t marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

static bool ends_with(const struct sma_media_source *source, const char *end, size_t len)
{
    uint8_t tail[TAIL_BYTES];
    size_t size = source->size < sizeof tail ? (size_t)source->size : sizeof tail;
    return read_all(source, source->size - size, tail, size) &&
           memmem(tail, size, end, len) != NULL;
}

static void look_jpeg(const struct sma_media_source *source, struct sma_media *media)
{
    uint8_t bytes[9];
    uint64_t at = 2;
    for (int i = 0; i < SEGMENT_COUNT_MAX && read_all(source, at, bytes, 4); i++) {
        if (bytes[0] != 0xff)
            return;
        if (bytes[1] == 0xff) { /* filling */
            at++;
            continue;
        }
        if (bytes[1] == 0xda) /* the picture itself */
            break;
        uint32_t len = be16(bytes + 2);
        if (len < 2)
            return;
        if (is_frame(bytes[1]) && len >= 8 && read_all(source, at, bytes, sizeof bytes)) {
            media->height = be16(bytes + 5);
            media->width = be16(bytes + 7);
        }
        if (bytes[1] == 0xe1 && media->orientation == 1)
            look_exif(source, at + 4, len - 2, media);
        at += 2 + (uint64_t)len;
    }
    media->is_whole = ends_with(source, "\xff\xd9", 2);
}

/* -- GIF, WebP, BMP ---------------------------------------------------------------------------- */
static void look_gif(const struct sma_media_source *source, struct sma_media *media)
{
    uint8_t bytes[10];
    if (!read_all(source, 0, bytes, sizeof bytes))
        return;
    media->width = le16(bytes + 6);
    media->height = le16(bytes + 8);
    media->is_whole = read_all(source, source->size - 1, bytes, 1) && bytes[0] == ';';
}

static void look_webp(const struct sma_media_source *source, struct sma_media *media)
{
    uint8_t bytes[30];
    if (!read_all(source, 0, bytes, sizeof bytes))
        return;
    media->is_whole = (uint64_t)le32(bytes + 4) + 8 <= source->size;
    if (memcmp(bytes + 12, "VP8 ", 4) == 0 && memcmp(bytes + 23, "\x9d\x01\x2a", 3) == 0) {
        media->width = le16(bytes + 26) & 0x3fff;
        media->height = le16(bytes + 28) & 0x3fff;
    } else if (memcmp(bytes + 12, "VP8L", 4) == 0 && bytes[20] == 0x2f) {
        uint32_t bits = le32(bytes + 21);
        media->width = (bits & 0x3fff) + 1;
        media->height = (bits >> 14 & 0x3fff) + 1;
    } else if (memcmp(bytes + 12, "VP8X", 4) == 0) {
        media->width = (le32(bytes + 23) >> 8) + 1;
        media->height = (le16(bytes + 27) | (uint32_t)bytes[29] << 16) + 1;
    }
}

static void look_bmp(const struct sma_media_source *source, struct sma_media *media)
{
    uint8_t bytes[26];
    if (!read_all(source, 0, bytes, sizeof bytes) || le32(bytes + 14) < 40)
        return;
    int64_t height = (int32_t)le32(bytes + 22);
    media->width = le32(bytes + 18);
    media->height = (uint32_t)(height < 0 ? -height : height);
}

/* -- PDF --------------------------------------------------------------------------------------- */
/* "/Type /Page" and not "/Type /Pages", as far as it is not compressed. */
static uint32_t count_pages(const char *bytes, size_t len)
{
    uint32_t count = 0;
    const char *end = bytes + len;
    for (const char *at = bytes; (at = memmem(at, (size_t)(end - at), "/Type", 5)) != NULL;) {
        at += 5;
        while (at < end && (*at == ' ' || *at == '\r' || *at == '\n'))
            at++;
        count += end - at >= 6 && memcmp(at, "/Page", 5) == 0 && at[5] != 's';
    }
    return count;
}

static void look_pdf(const struct sma_media_source *source, struct sma_media *media)
{
    static const size_t overlap = 16;
    char *bytes = malloc(PDF_SCAN_BYTES);
    uint64_t at = 0;
    uint32_t count = 0;
    for (int i = 0; bytes != NULL && i < PDF_SCAN_COUNT_MAX; i++) {
        ssize_t got = source->read_at(source->user, at, bytes, PDF_SCAN_BYTES);
        if (got <= 0)
            break;
        count += count_pages(bytes, (size_t)got);
        if ((size_t)got < PDF_SCAN_BYTES)
            break;
        at += PDF_SCAN_BYTES - overlap;
    }
    free(bytes);
    media->page_count = count;
}

/* -- types ------------------------------------------------------------------------------------- */
struct magic
{
    size_t offset, len;
    const char *bytes;
    enum sma_media_type type;
};

static const struct magic magics[] = {
    {0, 8, "\x89PNG\r\n\x1a\n", SMA_MEDIA_PNG},
    {0, 3, "\xff\xd8\xff", SMA_MEDIA_JPEG},
    {0, 6, "GIF87a", SMA_MEDIA_GIF},
    {0, 6, "GIF89a", SMA_MEDIA_GIF},
    {8, 4, "WEBP", SMA_MEDIA_WEBP},
    {8, 4, "WAVE", SMA_MEDIA_WAV},
    {0, 4, "II\x2a\0", SMA_MEDIA_TIFF},
    {0, 4, "MM\0\x2a", SMA_MEDIA_TIFF},
    {0, 3, "ID3", SMA_MEDIA_MP3},
    {0, 4, "OggS", SMA_MEDIA_OGG},
    {0, 5, "#!AMR", SMA_MEDIA_AMR},
    {0, 6, "#!SILK", SMA_MEDIA_SILK},
    {1, 6, "#!SILK", SMA_MEDIA_SILK},
    {0, 4, "\x1a\x45\xdf\xa3", SMA_MEDIA_VIDEO},
};

static enum sma_media_type type_of_box(const uint8_t *head, size_t len)
{
    static const struct
    {
        char brand[5];
        enum sma_media_type type;
    } brands[] = {{"heic", SMA_MEDIA_HEIC}, {"heix", SMA_MEDIA_HEIC}, {"heim", SMA_MEDIA_HEIC},
                  {"heis", SMA_MEDIA_HEIC}, {"mif1", SMA_MEDIA_HEIC}, {"avif", SMA_MEDIA_AVIF},
                  {"avis", SMA_MEDIA_AVIF}, {"M4A ", SMA_MEDIA_M4A},  {"M4B ", SMA_MEDIA_M4A}};
    if (len < 12 || memcmp(head + 4, "ftyp", 4) != 0)
        return SMA_MEDIA_UNKNOWN;
    for (size_t i = 0; i < SMA_COUNT_OF(brands); i++)
        if (memcmp(head + 8, brands[i].brand, 4) == 0)
            return brands[i].type;
    return SMA_MEDIA_VIDEO;
}

/* A frame header of MPEG layer III whose length leads to another one: two bytes alone are
 * chance. */
static bool is_mp3(const uint8_t *head, size_t len)
{
    static const uint16_t rates[] = {0,   32,  40,  48,  56,  64,  80, 96,
                                     112, 128, 160, 192, 224, 256, 320};
    static const uint16_t samples[] = {44100, 48000, 32000};
    if (len < 4 || head[0] != 0xff || (head[1] & 0xfe) != 0xfa || head[2] >> 4 == 0 ||
        head[2] >> 4 == 15 || (head[2] >> 2 & 3) == 3)
        return false;
    size_t next = 144000u * rates[head[2] >> 4] / samples[head[2] >> 2 & 3] + (head[2] >> 1 & 1);
    return next + 2 <= len && head[next] == 0xff && (head[next + 1] & 0xfe) == 0xfa;
}

static enum sma_media_type type_of(const uint8_t *head, size_t len)
{
    if (len == 0)
        return SMA_MEDIA_EMPTY;
    for (size_t i = 0; i < SMA_COUNT_OF(magics); i++) {
        const struct magic *magic = &magics[i];
        bool is_riff = magic->offset != 8 || (len >= 4 && memcmp(head, "RIFF", 4) == 0);
        if (is_riff && magic->offset + magic->len <= len &&
            memcmp(head + magic->offset, magic->bytes, magic->len) == 0)
            return magic->type;
    }
    enum sma_media_type type = type_of_box(head, len);
    if (type != SMA_MEDIA_UNKNOWN)
        return type;
    if (is_mp3(head, len))
        return SMA_MEDIA_MP3;
    if (memmem(head, len < 1024 ? len : 1024, "%PDF-", 5) != NULL)
        return SMA_MEDIA_PDF;
    if (memchr(head, '\0', len) == NULL)
        return SMA_MEDIA_TEXT;
    return len >= 26 && head[0] == 'B' && head[1] == 'M' ? SMA_MEDIA_BMP : SMA_MEDIA_UNKNOWN;
}

struct sma_media sma_media_look(const struct sma_media_source *source)
{
    uint8_t head[HEAD_BYTES];
    struct sma_media media = {.type = SMA_MEDIA_UNKNOWN, .orientation = 1};
    ssize_t got = source->read_at(source->user, 0, head, sizeof head);
    if (got >= 0)
        media.type = type_of(head, (size_t)got);
    media.part_kind = rows[media.type].part_kind;
    switch (media.type) {
    case SMA_MEDIA_PNG:
        look_png(source, &media);
        break;
    case SMA_MEDIA_JPEG:
        look_jpeg(source, &media);
        break;
    case SMA_MEDIA_GIF:
        look_gif(source, &media);
        break;
    case SMA_MEDIA_WEBP:
        look_webp(source, &media);
        break;
    case SMA_MEDIA_BMP:
        look_bmp(source, &media);
        break;
    case SMA_MEDIA_PDF:
        look_pdf(source, &media);
        break;
    default:
        break;
    }
    return media;
}
