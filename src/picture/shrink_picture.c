/*
 * shrink_picture.c — a program of its own that makes a picture small enough for a model.
 *
 *   shrink-picture MAX_SIDE MAX_BYTES ORIENTATION   picture on standard input, result on output
 *
 * MAX_*: 0 = any. ORIENTATION: EXIF's, 1..8. The result is "SMAP", its length in 4 bytes
 * (little-endian), and a PNG or JPEG. Exits with 0; 1: called wrongly or out of memory; 2: it
 * cannot be decoded; 3: it does not get small enough.
 *
 * It is not part of the service: decoders are where hostile files strike, so they have a process
 * that holds nothing. Before a byte is decoded it gives up what it does not need: 1 GiB of memory
 * and 15 s of CPU are its limits, and the kernel lets it read, write, compute and end, but open no
 * file, connect nowhere and start nothing (a list of what is allowed; threads of decoders are).
 * When memory runs out on the machine, the kernel ends it first.
 */
#include "confine/confine.h"

#include <errno.h>
#include <gd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_BYTES (UINT64_C(1024) * 1024 * 1024)
#define CPU_S 15
#define INPUT_BYTES_MAX (64u * 1024 * 1024)
#define PIXELS_MAX 64000000.0
#define SIDE_MIN 64
#define TRY_COUNT_MAX 8

enum
{
    EXIT_GOOD,
    EXIT_CALL,
    EXIT_DAMAGED,
    EXIT_LARGE
};

/* -- what it gives up -------------------------------------------------------------------------- */
static bool bound_itself(void)
{
    const struct sma_confine_limits limits = {
        .memory_bytes = MEMORY_BYTES, .file_bytes = INPUT_BYTES_MAX, .cpu_s = CPU_S};
    return sma_confine_limit(&limits);
}

static bool lock_in(void)
{
    const struct sma_confine_calls calls = {.has_threads = true}; /* decoders have some */
    return sma_confine_calls(&calls);
}

/* libheif looks for its decoders on the disk when it is first used: now, while there is one. */
static void load_decoders(void)
{
    static uint8_t nothing[16] = "\0\0\0\x10"
                                 "ftypheic";
    gdImagePtr image = gdImageCreateFromHeifPtr((int)sizeof nothing, nothing);
    if (image != NULL)
        gdImageDestroy(image);
}

static void say_nothing(int priority, const char *format, va_list values)
{
    (void)priority;
    (void)format;
    (void)values;
}

/* -- in ---------------------------------------------------------------------------------------- */
static uint8_t *read_input(int *ret_len)
{
    size_t len = 0, capacity = 1 << 20;
    uint8_t *bytes = malloc(capacity);
    while (bytes != NULL) {
        ssize_t got = pread(STDIN_FILENO, bytes + len, capacity - len, (off_t)len);
        if (got < 0 && errno == ESPIPE)
            got = read(STDIN_FILENO, bytes + len, capacity - len);
        if (got <= 0)
            break;
        len += (size_t)got;
        if (len < capacity)
            continue;
        capacity *= 2;
        uint8_t *bigger = len > INPUT_BYTES_MAX ? NULL : realloc(bytes, capacity);
        if (bigger == NULL)
            free(bytes);
        bytes = bigger;
    }
    *ret_len = (int)len;
    return bytes;
}

/* Those that have no loss are kept so when that is small enough: text on a screen stays sharp. */
struct format
{
    const char *magic;
    size_t offset, len;
    bool is_exact;
    gdImagePtr (*decode)(int len, void *bytes);
};

static gdImagePtr decode(uint8_t *bytes, int len, bool *ret_is_exact)
{
    static const struct format formats[] = {
        {"\x89PNG", 0, 4, true, gdImageCreateFromPngPtr},
        {"\xff\xd8\xff", 0, 3, false, gdImageCreateFromJpegPtr},
        {"GIF8", 0, 4, true, gdImageCreateFromGifPtr},
        {"WEBP", 8, 4, false, gdImageCreateFromWebpPtr},
        {"BM", 0, 2, true, gdImageCreateFromBmpPtr},
        {"II\x2a", 0, 3, true, gdImageCreateFromTiffPtr},
        {"MM\0\x2a", 0, 4, true, gdImageCreateFromTiffPtr},
        {"ftypavi", 4, 7, false, gdImageCreateFromAvifPtr},
        {"ftyp", 4, 4, false, gdImageCreateFromHeifPtr},
    };
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const struct format *format = &formats[i];
        if ((size_t)len <= format->offset + format->len ||
            memcmp(bytes + format->offset, format->magic, format->len) != 0)
            continue;
        *ret_is_exact = format->is_exact;
        return format->decode(len, bytes);
    }
    return NULL;
}

/* -- turned and scaled ------------------------------------------------------------------------- */
static gdImagePtr replace(gdImagePtr image, gdImagePtr other)
{
    if (other != NULL)
        gdImageDestroy(image);
    return other == NULL ? image : other;
}

static gdImagePtr turn(gdImagePtr image, int orientation)
{
    static const int angles[] = {0, 0, 0, 180, 0, 270, 270, 90, 90}; /* against the clock */
    if (orientation == 2 || orientation == 4)
        orientation == 2 ? gdImageFlipHorizontal(image) : gdImageFlipVertical(image);
    if (angles[orientation] != 0)
        image = replace(image, gdImageRotateInterpolated(image, (float)angles[orientation], 0));
    if (orientation == 5 || orientation == 7)
        gdImageFlipHorizontal(image);
    return image;
}

/* On white: what is transparent has some colour below, and models are shown that. */
static gdImagePtr scale(gdImagePtr image, int side)
{
    int width = gdImageSX(image), height = gdImageSY(image),
        longest = width > height ? width : height;
    double factor = side > 0 && longest > side ? (double)side / longest : 1;
    int to_width = (int)(width * factor + 0.5), to_height = (int)(height * factor + 0.5);
    to_width = to_width < 1 ? 1 : to_width;
    to_height = to_height < 1 ? 1 : to_height;
    gdImagePtr out = gdImageCreateTrueColor(to_width, to_height);
    if (out == NULL)
        return NULL;
    gdImageFilledRectangle(out, 0, 0, to_width - 1, to_height - 1, gdTrueColor(255, 255, 255));
    gdImageAlphaBlending(out, 1);
    if (factor == 1)
        gdImageCopy(out, image, 0, 0, 0, 0, width, height);
    else
        gdImageCopyResampled(out, image, 0, 0, 0, 0, to_width, to_height, width, height);
    return out;
}

/* -- out --------------------------------------------------------------------------------------- */
static void *encode(gdImagePtr image, bool is_exact, size_t most, int *ret_len)
{
    static const int qualities[] = {85, 70, 50};
    for (int i = is_exact ? -1 : 0; i < 3; i++) {
        void *bytes = i < 0 ? gdImagePngPtrEx(image, ret_len, 6)
                            : gdImageJpegPtr(image, ret_len, qualities[i]);
        if (bytes != NULL && *ret_len > 0 && (most == 0 || (size_t)*ret_len <= most))
            return bytes;
        gdFree(bytes);
    }
    return NULL;
}

static bool put(const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len > 0) {
        ssize_t done = write(STDOUT_FILENO, at, len);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        at += done;
        len -= (size_t)done;
    }
    return true;
}

static int give(gdImagePtr image, bool is_exact, int side, size_t most)
{
    for (int i = 0; i < TRY_COUNT_MAX && (i == 0 || side >= SIDE_MIN); i++) {
        gdImagePtr scaled = scale(image, side);
        if (scaled == NULL)
            return EXIT_LARGE;
        int len = 0;
        void *bytes = encode(scaled, is_exact, most, &len);
        int longest = gdImageSX(scaled) > gdImageSY(scaled) ? gdImageSX(scaled) : gdImageSY(scaled);
        gdImageDestroy(scaled);
        if (bytes != NULL) {
            const uint8_t head[8] = {'S',
                                     'M',
                                     'A',
                                     'P',
                                     (uint8_t)len,
                                     (uint8_t)(len >> 8),
                                     (uint8_t)(len >> 16),
                                     (uint8_t)(len >> 24)};
            bool is_out = put(head, sizeof head) && put(bytes, (size_t)len);
            gdFree(bytes);
            return is_out ? EXIT_GOOD : EXIT_CALL;
        }
        side = longest * 2 / 3;
    }
    return EXIT_LARGE;
}

static bool read_number(const char *text, unsigned long most, unsigned long *ret_number)
{
    char *end = NULL;
    errno = 0;
    *ret_number = strtoul(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *ret_number <= most;
}

int main(int argc, char **argv)
{
    unsigned long side = 0, most = 0, orientation = 0;
    if (argc != 4 || !read_number(argv[1], 65500, &side) ||
        !read_number(argv[2], SIZE_MAX, &most) || !read_number(argv[3], 8, &orientation) ||
        orientation == 0)
        return EXIT_CALL;
    if (!bound_itself())
        return EXIT_CALL;
    gdSetErrorMethod(say_nothing);
    load_decoders();
    if (!lock_in())
        return EXIT_CALL;
    int len = 0;
    uint8_t *bytes = read_input(&len);
    if (bytes == NULL)
        return EXIT_CALL;
    bool is_exact = false;
    gdImagePtr image = decode(bytes, len, &is_exact);
    free(bytes);
    if (image == NULL)
        return EXIT_DAMAGED;
    if ((double)gdImageSX(image) * gdImageSY(image) > PIXELS_MAX)
        return EXIT_LARGE;
    image = turn(image, (int)orientation);
    return give(image, is_exact, (int)side, most);
}
