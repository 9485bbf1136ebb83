/*
 * pictures.h — small real files for tests: PNG, JPEG, WebP, PDF, Ogg. Made here byte by byte, so
 * that none is in the tree and a test can ask for any size.
 */
#ifndef SMA_TEST_PICTURES_H
#define SMA_TEST_PICTURES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct picture
{
    unsigned char *bytes; /* free() */
    size_t len;
};

static inline void picture_put(struct picture *picture, const void *bytes, size_t len)
{
    unsigned char *grown = realloc(picture->bytes, picture->len + len + 1);
    if (grown == NULL)
        abort();
    memcpy(grown + picture->len, bytes, len);
    grown[picture->len + len] = '\0';
    picture->bytes = grown;
    picture->len += len;
}

static inline void picture_put_u32(struct picture *picture, uint32_t number)
{
    unsigned char bytes[4] = {(unsigned char)(number >> 24), (unsigned char)(number >> 16),
                              (unsigned char)(number >> 8), (unsigned char)number};
    picture_put(picture, bytes, 4);
}

static inline uint32_t picture_crc(const unsigned char *bytes, size_t len)
{
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static inline void picture_put_chunk(struct picture *png, const char *type,
                                     const struct picture *data)
{
    size_t start = png->len + 4;
    picture_put_u32(png, (uint32_t)data->len);
    picture_put(png, type, 4);
    picture_put(png, data->bytes == NULL ? (const void *)"" : data->bytes, data->len);
    picture_put_u32(png, picture_crc(png->bytes + start, png->len - start));
}

/* 8-bit grey, one shade a picture: two of different shade differ in their bytes. */
static inline struct picture picture_png(uint32_t width, uint32_t height, unsigned char shade)
{
    struct picture png = {NULL, 0}, head = {NULL, 0}, data = {NULL, 0}, none = {NULL, 0};
    uint32_t a = 1, b = 0;
    picture_put(&png, "\x89PNG\r\n\x1a\n", 8);
    picture_put_u32(&head, width);
    picture_put_u32(&head, height);
    picture_put(&head, "\x08\0\0\0\0", 5);
    picture_put_chunk(&png, "IHDR", &head);
    picture_put(&data, "\x78\x01", 2);
    for (uint32_t y = 0; y < height; y++) { /* a stored block for each line */
        uint16_t len = (uint16_t)(width + 1);
        unsigned char block[5] = {y + 1 == height, (unsigned char)len, (unsigned char)(len >> 8),
                                  (unsigned char)~len, (unsigned char)(~len >> 8)};
        picture_put(&data, block, 5);
        for (uint32_t x = 0; x <= width; x++) {
            unsigned char byte = x == 0 ? 0 : shade;
            picture_put(&data, &byte, 1);
            a = (a + byte) % 65521;
            b = (b + a) % 65521;
        }
    }
    picture_put_u32(&data, b << 16 | a);
    picture_put_chunk(&png, "IDAT", &data);
    picture_put_chunk(&png, "IEND", &none);
    free(head.bytes);
    free(data.bytes);
    return png;
}

/* One grey pixel: tables of one code each, and the two bits 00. */
static inline struct picture picture_jpeg(void)
{
    static const unsigned char head[] = {0xff, 0xd8, 0xff, 0xe0, 0, 16, 'J', 'F', 'I',
                                         'F',  0,    1,    1,    0, 0,  1,   0,   1,
                                         0,    0,    0xff, 0xdb, 0, 67, 0};
    static const unsigned char rest[] = {
        0xff, 0xc0, 0, 11, 8,    0, 1, 0, 1,  1, 1,    0x11, 0,                              /* */
        0xff, 0xc4, 0, 20, 0,    1, 0, 0, 0,  0, 0,    0,    0,   0, 0, 0, 0, 0, 0, 0, 0, 0, /* */
        0xff, 0xc4, 0, 20, 0x10, 1, 0, 0, 0,  0, 0,    0,    0,   0, 0, 0, 0, 0, 0, 0, 0, 0, /* */
        0xff, 0xda, 0, 8,  1,    1, 0, 0, 63, 0, 0x3f, 0xff, 0xd9};
    struct picture jpeg = {NULL, 0};
    picture_put(&jpeg, head, sizeof head);
    for (int i = 0; i < 64; i++)
        picture_put(&jpeg, "\x10", 1);
    picture_put(&jpeg, rest, sizeof rest);
    return jpeg;
}

/* One pixel, lossless. */
static inline struct picture picture_webp(void)
{
    static const unsigned char bytes[] = {
        'R', 'I', 'F',  'F', 0x1a, 0, 0, 0,    'W', 'E',  'B',  'P',  'V',  'P',  '8',  'L', 13, 0,
        0,   0,   0x2f, 0,   0,    0, 0, 0x10, 7,   0x10, 0x11, 0x11, 0x88, 0x88, 0xfe, 7,   0};
    struct picture webp = {NULL, 0};
    picture_put(&webp, bytes, 34);
    return webp;
}

static inline struct picture picture_pdf(void)
{
    static const char text[] = "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
                               "2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
                               "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>endobj\n"
                               "trailer<</Root 1 0 R>>\n%%EOF\n";
    struct picture pdf = {NULL, 0};
    picture_put(&pdf, text, sizeof text - 1);
    return pdf;
}

static inline struct picture picture_ogg(void)
{
    struct picture ogg = {NULL, 0};
    picture_put(&ogg, "OggS\0\2\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\1\x13OpusHead", 37);
    return ogg;
}

/* malloc'ed, NUL behind it */
static inline char *picture_base64(const struct picture *picture)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc(picture->len / 3 * 4 + 5), *to = text;
    if (text == NULL)
        abort();
    for (size_t i = 0; i < picture->len; i += 3) {
        size_t left = picture->len - i;
        uint32_t bits = (uint32_t)picture->bytes[i] << 16 |
                        (left > 1 ? (uint32_t)picture->bytes[i + 1] << 8 : 0) |
                        (left > 2 ? picture->bytes[i + 2] : 0);
        *to++ = letters[bits >> 18];
        *to++ = letters[bits >> 12 & 63];
        *to++ = left > 1 ? letters[bits >> 6 & 63] : '=';
        *to++ = left > 2 ? letters[bits & 63] : '=';
    }
    *to = '\0';
    return text;
}

static inline void picture_write(const char *path, const struct picture *picture)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fwrite(picture->bytes, 1, picture->len, file) != picture->len)
        abort();
    fclose(file);
}

#endif
