/*
 * Aim: media.h: a file is what its bytes say; sizes come from headers, in a bounded number of small
 * reads, whatever lengths the file claims.
 * Method: headers made by hand, over a source in memory that counts its reads.
 */
#include "runtime/media/media.h"
#include "sma/messages.h"
#include "support/check.h"

struct memory
{
    const char *bytes;
    size_t len;
    size_t read_count, read_bytes;
};

static ssize_t read_at(void *user, uint64_t offset, void *bytes, size_t len)
{
    struct memory *memory = user;
    memory->read_count++;
    if (offset >= memory->len)
        return 0;
    size_t left = memory->len - (size_t)offset, size = len < left ? len : left;
    memcpy(bytes, memory->bytes + offset, size);
    memory->read_bytes += size;
    return (ssize_t)size;
}

/* What a file of these bytes is; `size`: what it claims to have. */
static struct sma_media look_sized(const char *bytes, size_t len, uint64_t size)
{
    struct memory memory = {.bytes = bytes, .len = len};
    struct sma_media_source source = {read_at, &memory, size};
    struct sma_media media = sma_media_look(&source);
    CHECK(memory.read_count < 5000);
    return media;
}

static struct sma_media look(const char *bytes, size_t len)
{
    return look_sized(bytes, len, len);
}
#define LOOK(text) look(text, sizeof(text) - 1)

#define PNG_HEAD "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"
#define PNG_END "\0\0\0\0IEND\xae\x42\x60\x82"

CASE(a_picture_is_known_by_its_bytes_and_measured_by_its_header)
{
    struct sma_media png = LOOK(PNG_HEAD "\0\0\xc3\x50\0\0\x01\x02\x08\2\0\0\0crc " PNG_END);
    CHECK_INT(SMA_MEDIA_PNG, png.type);
    CHECK_INT(SMA_PART_IMAGE, png.part_kind);
    CHECK_INT(50000, png.width);
    CHECK_INT(258, png.height);
    CHECK(png.is_whole);
    struct sma_media gif = LOOK("GIF89a\x40\x01\xf0\0\0\0\0;");
    CHECK_INT(320, gif.width);
    CHECK_INT(240, gif.height);
    CHECK(gif.is_whole);
    struct sma_media lossy =
        LOOK("RIFF\x16\0\0\0WEBPVP8 \x0a\0\0\0\0\0\0\x9d\x01\x2a\x40\x01\xf0\0");
    CHECK_INT(SMA_MEDIA_WEBP, lossy.type);
    CHECK_INT(320, lossy.width);
    CHECK_INT(240, lossy.height);
    struct sma_media wide = LOOK("RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\x3f\x01\0\xef\0\0");
    CHECK_INT(320, wide.width);
    CHECK_INT(240, wide.height);
    struct sma_media bmp = LOOK("BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x40\1\0\0\x10\xff\xff\xff");
    CHECK_INT(SMA_MEDIA_BMP, bmp.type);
    CHECK_INT(320, bmp.width);
    CHECK_INT(240, bmp.height);
}

#define JPEG_FRAME "\xff\xc0\0\x0b\x08\x01\x02\x03\x04\x01\0\0\0"

CASE(a_photo_says_how_it_was_held)
{
    struct sma_media photo = LOOK("\xff\xd8\xff\xe1\0\x22"
                                  "Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\3\0\0\0\1\0\6\0\0"
                                  "\0\0\0\0" JPEG_FRAME "\xff\xda\0\2 data \xff\xd9");
    CHECK_INT(SMA_MEDIA_JPEG, photo.type);
    CHECK_INT(772, photo.width);
    CHECK_INT(258, photo.height);
    CHECK_INT(6, photo.orientation);
    CHECK(photo.is_whole);
    /* values and places that no Exif has */
    CHECK_INT(1, LOOK("\xff\xd8\xff\xe1\0\x22"
                      "Exif\0\0II\x2a\0\xff\xff\xff\xff\0\x01\x01\x12\0\3\0\0\0\1\0\6\0\0"
                      "\0\0\0\0" JPEG_FRAME)
                     .orientation);
    CHECK_INT(1, LOOK("\xff\xd8\xff\xe1\0\x22"
                      "Exif\0\0II\x2a\0\x08\0\0\0\x01\0\x12\x01\3\0\1\0\0\0\x09\0\0\0"
                      "\0\0\0\0" JPEG_FRAME)
                     .orientation);
}

CASE(what_is_cut_is_not_whole)
{
    CHECK(!LOOK("\xff\xd8" JPEG_FRAME "\xff\xda\0\2 data").is_whole);
    CHECK(!LOOK(PNG_HEAD "\0\0\0\1\0\0\0\1\x08\2\0\0\0crc ").is_whole);
    CHECK(!LOOK("GIF89a\x40\x01\xf0\0\0\0\0").is_whole);
    CHECK(!LOOK("RIFF\xff\xff\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\x3f\x01\0\xef\0\0").is_whole);
    CHECK_INT(0, LOOK("\xff\xd8\xff\xe0").width);
    CHECK_INT(0, LOOK("\x89PNG\r\n\x1a\n").width);
}

CASE(sounds_documents_and_the_rest_are_told_apart)
{
    static const struct
    {
        const char *bytes;
        size_t len;
        enum sma_media_type type;
        enum sma_part_kind kind;
    } rows[] = {
#define ROW(text, type, kind) {text, sizeof(text) - 1, type, kind}
        ROW("RIFF\x10\0\0\0WAVEfmt ", SMA_MEDIA_WAV, SMA_PART_AUDIO),
        ROW("ID3\4\0", SMA_MEDIA_MP3, SMA_PART_AUDIO),
        ROW("OggS\0\2", SMA_MEDIA_OGG, SMA_PART_AUDIO),
        ROW("\2#!SILK_V3", SMA_MEDIA_SILK, SMA_PART_AUDIO),
        ROW("#!AMR\n", SMA_MEDIA_AMR, SMA_PART_AUDIO),
        ROW("\0\0\0\x20"
            "ftypM4A ",
            SMA_MEDIA_M4A, SMA_PART_AUDIO),
        ROW("\0\0\0\x20"
            "ftypheic",
            SMA_MEDIA_HEIC, SMA_PART_IMAGE),
        ROW("\0\0\0\x20"
            "ftypavif",
            SMA_MEDIA_AVIF, SMA_PART_IMAGE),
        ROW("\0\0\0\x20"
            "ftypisom",
            SMA_MEDIA_VIDEO, SMA_PART_FILE),
        ROW("\x1a\x45\xdf\xa3", SMA_MEDIA_VIDEO, SMA_PART_FILE),
        ROW("junk %PDF-1.7", SMA_MEDIA_PDF, SMA_PART_FILE),
        ROW("<svg xmlns='x'/>", SMA_MEDIA_TEXT, SMA_PART_FILE),
        ROW("", SMA_MEDIA_EMPTY, SMA_PART_FILE),
        ROW("PK\3\4\0\0", SMA_MEDIA_UNKNOWN, SMA_PART_FILE),
        ROW("\xff\xfb\x90\x64\0", SMA_MEDIA_UNKNOWN, SMA_PART_FILE), /* one frame is chance */
#undef ROW
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_media media = look(rows[i].bytes, rows[i].len);
        CHECK_INT(rows[i].type, media.type);
        CHECK_INT(rows[i].kind, media.part_kind);
    }
}

CASE(a_sound_without_a_head_is_known_by_two_frames)
{
    char bytes[1000] = "\xff\xfb\x90\x64"; /* 128 kbit/s, 44.1 kHz: 417 bytes */
    memcpy(bytes + 417, "\xff\xfb\x90\x64", 4);
    CHECK_INT(SMA_MEDIA_MP3, look(bytes, sizeof bytes).type);
    bytes[417] = 0;
    CHECK_INT(SMA_MEDIA_UNKNOWN, look(bytes, sizeof bytes).type);
}

CASE(pages_are_counted_roughly)
{
    CHECK_INT(
        2,
        LOOK("%PDF-1.4\n<</Type /Pages /Count 2>> <</Type/Page >> <</Type /Page/X 1>>").page_count);
    CHECK_INT(0, LOOK("%PDF-1.7\ncompressed").page_count);
}

/* Lengths in a file are only claims: 4 GiB in a chunk, a file that says it has more than it has. */
CASE(claims_cost_nothing)
{
    struct sma_media png =
        look_sized(PNG_HEAD "\0\0\0\1\0\0\0\1\x08\2\0\0\0crc \xff\xff\xff\xffIDAT", 41, UINT64_MAX);
    CHECK(!png.is_whole);
    char many[8 + 12 * 6000];
    memcpy(many, PNG_HEAD, 8);
    for (size_t i = 8; i + 12 <= sizeof many; i += 12)
        memcpy(many + i, "\0\0\0\0tEXtcrc ", 12);
    memcpy(many + 8, PNG_HEAD + 8, 8);
    CHECK(!look(many, sizeof many).is_whole);
    char filled[4096];
    memset(filled, 0xff, sizeof filled);
    filled[1] = (char)0xd8;
    CHECK_INT(0, look(filled, sizeof filled).width);
}

CASES_MAIN
