/*
 * Aim: prepare.h: what a model takes is given byte by byte; what is too large, lies on its side or
 * has another format is made fit by the helper; hostile files end as a sentence, soon, and leave
 * nothing; the folder stays within its bounds.
 * Method: a project in a private folder, pictures made by libgd, the real helper program.
 */
#include "../tools/project.h"
#include "runtime/media/prepare.h"
#include "support/patience.h"

#include <gd.h>
#include <openssl/evp.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

/* The encoders that make HEIC and AVIF here leak; the service has none. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libx265\nleak:libavif\n";
}

struct world
{
    struct project project;
    struct sma_media_made made;
    struct sma_buf why;
    volatile int is_stopped;
    bool is_full;
    const char *helper;
};

static void world_open(struct world *world)
{
    *world = (struct world){.helper = SHRINK_PICTURE};
    project_open(&world->project, "");
    sma_buf_init(&world->why, 4000);
}

static void world_close(struct world *world)
{
    sma_buf_fini(&world->why);
    project_close(&world->project);
}

static void put(const struct world *world, const char *name, const void *bytes, size_t len)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", world->project.dir, name);
    FILE *file = fopen(path, "we");
    CHECK(file != NULL && fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
}

/* @return why not, NUL-terminated; "" when it can be given */
static const char *prepare(struct world *world, const char *name, uint32_t side, uint64_t bytes)
{
    struct sma_media_place place = {
        .state_dir = world->project.state_dir, .helper = world->helper, .is_full = world->is_full};
    struct sma_media_wish wish = {
        .fd = -1, .max_side = side, .max_bytes = bytes, .is_stopped = &world->is_stopped};
    sma_buf_clear(&world->why);
    if (sma_file_tools_open_part(world->project.tools, sma_str(name), &wish.fd, &wish.size,
                                 &world->why) == SMA_ERR_OK) {
        sma_media_prepare(&place, &wish, &world->made, &world->why);
        CHECK(fcntl(wish.fd, F_GETFD) >= 0);
        close(wish.fd);
        CHECK((world->made.hash[0] == '\0') == (world->why.len > 0));
    }
    sma_buf_put_char(&world->why, '\0');
    return world->why.ptr;
}

/* The bytes that the model gets. */
static unsigned char *given(const struct world *world, size_t *ret_len)
{
    char path[512];
    snprintf(path, sizeof path, ".ship/.cache/parts/%s.b64", world->made.hash);
    snprintf(path, sizeof path, "%s/.cache/parts/%s.b64", world->project.state_dir,
             world->made.hash);
    FILE *file = fopen(path, "re");
    CHECK(file != NULL);
    size_t len = world->made.length;
    char *text = malloc(len + 1);
    CHECK(fread(text, 1, len + 1, file) == len);
    fclose(file);
    CHECK(len % 4 == 0);
    unsigned char *bytes = malloc(len);
    int got = EVP_DecodeBlock(bytes, (unsigned char *)text, (int)len);
    CHECK(got > 0);
    *ret_len = (size_t)got - (text[len - 1] == '=') - (text[len - 2] == '=');
    free(text);
    return bytes;
}

static size_t count_parts(const struct world *world)
{
    char path[512];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/.cache/parts", world->project.state_dir);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    if (dir != NULL)
        closedir(dir);
    return count;
}

/* -- pictures: left half red, right half blue -------------------------------------------------- */
static gdImagePtr paint(int width, int height)
{
    gdImagePtr image = gdImageCreateTrueColor(width, height);
    CHECK(image != NULL);
    gdImageFilledRectangle(image, 0, 0, width / 2 - 1, height - 1, gdTrueColor(255, 0, 0));
    gdImageFilledRectangle(image, width / 2, 0, width - 1, height - 1, gdTrueColor(0, 0, 255));
    return image;
}

/* false: the library here cannot make one (HEIC with libgd 2.3.3 and the libheif of Debian 13). */
static bool put_picture(const struct world *world, const char *name, int width, int height)
{
    gdImagePtr image = paint(width, height);
    const char *type = strrchr(name, '.') + 1;
    int len = 0;
    void *bytes = strcmp(type, "png") == 0    ? gdImagePngPtr(image, &len)
                  : strcmp(type, "jpg") == 0  ? gdImageJpegPtr(image, &len, 90)
                  : strcmp(type, "gif") == 0  ? gdImageGifPtr(image, &len)
                  : strcmp(type, "webp") == 0 ? gdImageWebpPtr(image, &len)
                  : strcmp(type, "bmp") == 0  ? gdImageBmpPtr(image, &len, 0)
                  : strcmp(type, "avif") == 0 ? gdImageAvifPtr(image, &len)
                                              : gdImageHeifPtr(image, &len);
    bool is_made = bytes != NULL && len > 0;
    CHECK(is_made || strcmp(type, "heic") == 0);
    if (is_made)
        put(world, name, bytes, (size_t)len);
    else
        fprintf(stderr, "not tried: %s cannot be made here\n", name);
    gdFree(bytes);
    gdImageDestroy(image);
    return is_made;
}

static gdImagePtr given_picture(const struct world *world)
{
    size_t len = 0;
    unsigned char *bytes = given(world, &len);
    gdImagePtr image = world->made.type == SMA_MEDIA_PNG
                           ? gdImageCreateFromPngPtr((int)len, bytes)
                           : gdImageCreateFromJpegPtr((int)len, bytes);
    CHECK(image != NULL);
    CHECK_INT(world->made.width, gdImageSX(image));
    CHECK_INT(world->made.height, gdImageSY(image));
    free(bytes);
    return image;
}

/* -- promises ---------------------------------------------------------------------------------- */
CASE(what_a_model_takes_is_given_byte_by_byte_and_once)
{
    static const char *const names[] = {"a.png", "a.jpg", "a.gif", "a.webp"};
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        (void)put_picture(&world, names[i], 301, 200);
        world.helper = NULL;
        CHECK_TEXT("", prepare(&world, names[i], 2000, 4 << 20));
        CHECK_INT(301, world.made.width);
        CHECK_INT(200, world.made.height);
        size_t len = 0;
        unsigned char *bytes = given(&world, &len), digest[32];
        char hex[65], path[512], original[1 << 16];
        unsigned digest_len = 0;
        snprintf(path, sizeof path, "%s/%s", world.project.dir, names[i]);
        FILE *file = fopen(path, "re");
        CHECK(file != NULL);
        CHECK_INT(len, fread(original, 1, sizeof original, file));
        fclose(file);
        CHECK(memcmp(original, bytes, len) == 0);
        CHECK(EVP_Digest(bytes, len, digest, &digest_len, EVP_sha256(), NULL) == 1);
        for (size_t k = 0; k < 32; k++)
            snprintf(hex + 2 * k, 3, "%02x", digest[k]);
        CHECK_TEXT(hex, world.made.hash);
        free(bytes);
        CHECK_TEXT("", prepare(&world, names[i], 2000, 4 << 20)); /* found again */
        CHECK_INT(i + 1, count_parts(&world));
    }
}

CASE(what_is_over_the_limits_is_made_smaller)
{
    static const char *const names[] = {"a.png", "a.jpg", "a.gif", "a.webp"};
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        (void)put_picture(&world, names[i], 600, 300);
        CHECK_TEXT("", prepare(&world, names[i], 200, 4 << 20));
        CHECK_INT(200, world.made.width);
        CHECK_INT(100, world.made.height);
        gdImagePtr image = given_picture(&world);
        int left = gdImageGetTrueColorPixel(image, 20, 50);
        int right = gdImageGetTrueColorPixel(image, 180, 50);
        CHECK(gdTrueColorGetRed(left) > 200 && gdTrueColorGetBlue(left) < 60);
        CHECK(gdTrueColorGetBlue(right) > 200 && gdTrueColorGetRed(right) < 60);
        gdImageDestroy(image);
    }
    /* by bytes: noise does not compress */
    gdImagePtr noise = gdImageCreateTrueColor(500, 500);
    uint32_t number = 1;
    for (int i = 0; i < 250000; i++) {
        number ^= number << 13;
        number ^= number >> 17;
        number ^= number << 5;
        gdImageSetPixel(noise, i % 500, i / 500, (int)(number >> 8));
    }
    int len = 0;
    void *bytes = gdImagePngPtr(noise, &len);
    put(&world, "noise.png", bytes, (size_t)len);
    CHECK(len > 500000);
    gdFree(bytes);
    gdImageDestroy(noise);
    CHECK_TEXT("", prepare(&world, "noise.png", 0, 60000));
    CHECK(world.made.length <= 60000);
}

CASE(formats_that_models_do_not_take_become_one_that_they_do)
{
    static const char *const names[] = {"a.heic", "a.avif", "a.bmp"};
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        if (!put_picture(&world, names[i], 400, 200))
            continue;
        CHECK_TEXT("", prepare(&world, names[i], 2000, 4 << 20));
        CHECK(world.made.type == SMA_MEDIA_PNG || world.made.type == SMA_MEDIA_JPEG);
        CHECK_INT(400, world.made.width);
        gdImageDestroy(given_picture(&world));
    }
}

/* A phone held upright: stored on its side, with a word how to turn it. */
CASE(a_photo_is_turned_as_it_was_held)
{
    static const struct
    {
        uint8_t orientation;
        bool is_upright, is_red_first; /* red is left, or at the top */
    } rows[] = {{2, false, false}, {3, false, false}, {4, false, true}, {5, true, true},
                {6, true, true},   {7, true, false},  {8, true, false}};
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    gdImagePtr image = paint(400, 200);
    int len = 0;
    uint8_t *jpeg = gdImageJpegPtr(image, &len, 90);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char exif[] = "\xff\xd8\xff\xe1\0\x22"
                      "Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\3\0\0\0\1\0O\0\0\0\0\0\0";
        char *value = memchr(exif + 6, 'O', sizeof exif - 6);
        *value = (char)rows[i].orientation;
        uint8_t *bytes = malloc(sizeof exif - 1 + (size_t)len);
        memcpy(bytes, exif, sizeof exif - 1);
        memcpy(bytes + sizeof exif - 1, jpeg + 2, (size_t)len - 2);
        put(&world, "a.jpg", bytes, sizeof exif - 3 + (size_t)len);
        free(bytes);
        CHECK_TEXT("", prepare(&world, "a.jpg", 2000, 4 << 20));
        CHECK_INT(rows[i].is_upright ? 200 : 400, world.made.width);
        CHECK_INT(rows[i].is_upright ? 400 : 200, world.made.height);
        gdImagePtr turned = given_picture(&world);
        int first = gdImageGetTrueColorPixel(turned, 20, 20);
        CHECK((gdTrueColorGetRed(first) > 200) == rows[i].is_red_first);
        gdImageDestroy(turned);
    }
    gdFree(jpeg);
    gdImageDestroy(image);
}

CASE(documents_and_sounds_are_given_and_others_named)
{
    static const char pdf[] = "%PDF-1.4\n1 0 obj <</Type /Page>> endobj\n%%EOF";
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    put(&world, "a.pdf", pdf, sizeof pdf - 1);
    CHECK_TEXT("", prepare(&world, "a.pdf", 100, 1 << 20));
    CHECK_INT(SMA_MEDIA_PDF, world.made.type);
    CHECK_INT(1, world.made.width);
    put(&world, "a.wav", "RIFF\x24\0\0\0WAVEfmt ", 16);
    CHECK_TEXT("", prepare(&world, "a.wav", 100, 1 << 20));
    put(&world, "a.ogg", "OggS\0\2", 6);
    CHECK_TEXT("models take no Ogg sound", prepare(&world, "a.ogg", 100, 1 << 20));
    put(&world, "a.txt", "words", 5);
    CHECK_TEXT("it is text: read_file shows it", prepare(&world, "a.txt", 100, 1 << 20));
    put(&world, "a.zip", "PK\3\4\0\0", 6);
    CHECK_TEXT("models take no binary file", prepare(&world, "a.zip", 100, 1 << 20));
    put(&world, "none", "", 0);
    CHECK_TEXT("it is empty", prepare(&world, "none", 100, 1 << 20));
    char *large = calloc(1, 2 << 20);
    memcpy(large, pdf, sizeof pdf - 1);
    put(&world, "large.pdf", large, 2 << 20);
    free(large);
    CHECK_TEXT("it has 2.0 MB, and the model takes 0.8 MB",
               prepare(&world, "large.pdf", 0, 1 << 20));
}

/* -- hostile files ----------------------------------------------------------------------------- */
#define PNG_HEAD "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"
#define PNG_END "\0\0\0\0IEND\xae\x42\x60\x82"

static uint64_t now_ms(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

CASE(a_bomb_is_refused_by_what_it_claims)
{
    static const char bomb[] = PNG_HEAD "\0\0\xc3\x50\0\0\xc3\x50\x08\2\0\0\0\0\0\0\0" PNG_END;
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    put(&world, "a.png", bomb, sizeof bomb - 1);
    CHECK_TEXT("it has 50000 x 50000 pixels, and at most 64 million are looked at",
               prepare(&world, "a.png", 2000, 4 << 20));
    CHECK_INT(0, count_parts(&world));
}

/* A GIF whose frame is larger than its screen, a HEIC without a size, a JPEG that claims 65,500 x
 * 900: what decoders find out themselves, within the helper's limits. */
CASE(what_decoders_choke_on_ends_as_a_sentence_and_leaves_nothing)
{
    static const char *const names[] = {"a.png",  "a.jpg",  "a.gif", "a.webp",
                                        "a.heic", "a.avif", "a.bmp"};
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        if (!put_picture(&world, names[i], 600, 300))
            continue;
        char path[512], *bytes = malloc(1 << 20);
        snprintf(path, sizeof path, "%s/%s", world.project.dir, names[i]);
        FILE *file = fopen(path, "re");
        size_t len = fread(bytes, 1, 1 << 20, file);
        fclose(file);
        for (size_t k = 40; k < len; k += 7) /* broken all over, head intact */
            bytes[k] ^= (char)0x5a;
        put(&world, names[i], bytes, len / 2); /* and cut */
        free(bytes);
        uint64_t begin = now_ms();
        (void)prepare(&world, names[i], 200, 4 << 20); /* some decoders make the best of it */
        CHECK(now_ms() - begin < 30000);
        if (world.why.len > 1)
            fprintf(stderr, "%s: %s\n", names[i], world.why.ptr);
        else
            gdImageDestroy(given_picture(&world));
    }
    size_t left = count_parts(&world);
    CHECK(left <= SMA_COUNT_OF(names));
    struct rusage usage;
    CHECK(getrusage(RUSAGE_CHILDREN, &usage) == 0);
    CHECK(usage.ru_maxrss < 1100 * 1024);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/* 64 million pixels in a few kB, the most that the head lets through: memory and time stay bounded,
 * and the test's own memory does not see it. */
CASE(the_largest_picture_costs_the_helper_not_us)
{
    SMA_AUTO(world_close) struct world world;
    struct rusage before, after;
    world_open(&world);
    gdImagePtr image = gdImageCreate(8000, 8000); /* a palette: 1 byte a pixel here */
    (void)gdImageColorAllocate(image, 200, 10, 10);
    int len = 0;
    void *bytes = gdImagePngPtr(image, &len);
    gdImageDestroy(image);
    put(&world, "a.png", bytes, (size_t)len);
    gdFree(bytes);
    CHECK(getrusage(RUSAGE_SELF, &before) == 0);
    const char *why = prepare(&world, "a.png", 1500, 4 << 20);
    CHECK(getrusage(RUSAGE_SELF, &after) == 0);
    CHECK_TEXT("", why);
    CHECK_INT(1500, world.made.width);
    CHECK(after.ru_maxrss - before.ru_maxrss < 16 * 1024);
}

/* A file of many MB goes through pieces: what it costs is not its size. */
CASE(a_large_file_is_not_held_in_memory)
{
    SMA_AUTO(world_close) struct world world;
    struct rusage before, after;
    char path[512];
    world_open(&world);
    put(&world, "a.pdf", "%PDF-1.4", 8);
    snprintf(path, sizeof path, "%s/a.pdf", world.project.dir);
    CHECK(truncate(path, 40 << 20) == 0);
    CHECK(getrusage(RUSAGE_SELF, &before) == 0);
    CHECK_TEXT("", prepare(&world, "a.pdf", 0, 0));
    CHECK(getrusage(RUSAGE_SELF, &after) == 0);
    CHECK(after.ru_maxrss - before.ru_maxrss < 8 * 1024);
}

CASE(what_claims_a_gigabyte_is_not_read)
{
    SMA_AUTO(world_close) struct world world;
    char path[512];
    world_open(&world);
    (void)put_picture(&world, "a.png", 10, 10);
    snprintf(path, sizeof path, "%s/a.png", world.project.dir);
    CHECK(truncate(path, 1LL << 30) == 0);
    uint64_t begin = now_ms();
    CHECK_TEXT("it has 1024 MB, and at most 64 MB are read",
               prepare(&world, "a.png", 2000, 4 << 20));
    CHECK(now_ms() - begin < (uint64_t)5000 * PATIENCE);
}

/* Two things at once: the type is what the first bytes say, and the rest goes along as bytes. */
CASE(a_polyglot_is_what_it_begins_with)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    char bytes[4096];
    int len = 0;
    gdImagePtr image = paint(20, 10);
    void *png = gdImagePngPtr(image, &len);
    gdImageDestroy(image);
    memcpy(bytes, png, (size_t)len);
    gdFree(png);
    int total = len + snprintf(bytes + len, sizeof bytes - (size_t)len, "%%PDF-1.4 <script>PK");
    put(&world, "a.pdf", bytes, (size_t)total);
    CHECK_TEXT("", prepare(&world, "a.pdf", 2000, 4 << 20));
    CHECK_INT(SMA_MEDIA_PNG, world.made.type);
    put(&world, "b.png", "\x89PNG\r\n\x1a\n%PDF-1.4\n", 17);
    CHECK_TEXT("it is damaged, or no PNG picture after all",
               prepare(&world, "b.png", 2000, 4 << 20));
}

CASE(nothing_outside_and_nothing_but_files_is_opened)
{
    SMA_AUTO(world_close) struct world world;
    char path[512];
    world_open(&world);
    snprintf(path, sizeof path, "%s/link.png", world.project.dir);
    CHECK(symlink("../secret.txt", path) == 0);
    snprintf(path, sizeof path, "%s/pipe.png", world.project.dir);
    CHECK(mkfifo(path, 0600) == 0);
    project_put(&world.project, ".env", "TOKEN=1");
    static const char *const paths[] = {
        "link.png", "pipe.png", "../secret.txt", "/etc/passwd",       ".env",
        ".ship",    "",         "nobody.png",    "/proc/self/environ"};
    for (size_t i = 0; i < SMA_COUNT_OF(paths); i++) {
        uint64_t begin = now_ms();
        CHECK(prepare(&world, paths[i], 2000, 4 << 20)[0] != '\0');
        CHECK(now_ms() - begin < (uint64_t)5000 * PATIENCE);
    }
    put(&world, "key.pdf", "%PDF-1.4 sk-canary-123456", 25);
    CHECK(strstr(prepare(&world, "key.pdf", 0, 4 << 20), "secret") != NULL);
    CHECK_INT(0, count_parts(&world));
}

CASE(a_file_that_changes_meanwhile_is_not_given)
{
    SMA_AUTO(world_close) struct world world;
    struct sma_media_place place = {.helper = NULL};
    world_open(&world);
    place.state_dir = world.project.state_dir;
    (void)put_picture(&world, "a.png", 20, 10);
    struct sma_media_wish wish = {.fd = -1};
    CHECK_OK(sma_file_tools_open_part(world.project.tools, SMA_STR("a.png"), &wish.fd, &wish.size,
                                      &world.why));
    char path[512];
    snprintf(path, sizeof path, "%s/a.png", world.project.dir);
    FILE *file = fopen(path, "ae");
    CHECK(file != NULL && fwrite("more", 1, 4, file) == 4 && fclose(file) == 0);
    sma_media_prepare(&place, &wish, &world.made, &world.why);
    CHECK_STR("it is being changed while it is read", sma_buf_str(&world.why));
    CHECK_TEXT("", world.made.hash);
    CHECK(truncate(path, 20) == 0);
    sma_buf_clear(&world.why);
    sma_media_prepare(&place, &wish, &world.made, &world.why);
    CHECK(world.why.len > 0);
    CHECK_INT(0, count_parts(&world));
    close(wish.fd);
}

CASE(without_the_helper_or_room_it_is_said)
{
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    (void)put_picture(&world, "a.png", 600, 300);
    world.helper = NULL;
    CHECK(strstr(prepare(&world, "a.png", 200, 4 << 20), "not installed") != NULL);
    world.helper = "/nowhere/shrink-picture";
    CHECK(strstr(prepare(&world, "a.png", 200, 4 << 20), "not installed") != NULL);
    world.helper = "/bin/cat"; /* another program: what it says is nothing to us */
    CHECK(prepare(&world, "a.png", 200, 4 << 20)[0] != '\0');
    world.helper = SHRINK_PICTURE;
    world.is_full = true;
    CHECK(strstr(prepare(&world, "a.png", 200, 4 << 20), "full") != NULL);
    world.is_full = false;
    world.is_stopped = 1;
    CHECK(prepare(&world, "a.png", 200, 4 << 20)[0] != '\0');
    CHECK_TEXT("the run was stopped", prepare(&world, "a.png", 2000, 4 << 20));
    CHECK_INT(0, count_parts(&world));
}

/* Decoding comes after this: no other calls of the kernel than reading and computing, and
 * limits. */
CASE(the_helper_has_given_up_all_else_before_it_reads)
{
    int in[2], out[2];
    CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execl(SHRINK_PICTURE, "shrink-picture", "100", "0", "1", NULL);
        _exit(99);
    }
    char path[64], text[4096];
    bool is_filtered = false;
    for (uint64_t begin = now_ms(); !is_filtered && now_ms() - begin < 20000; usleep(1000)) {
        snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
        FILE *file = fopen(path, "re");
        size_t len = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
        text[len] = '\0';
        if (file != NULL)
            fclose(file);
        is_filtered = strstr(text, "\nSeccomp:\t2") != NULL;
    }
    CHECK(is_filtered);
    CHECK(strstr(text, "\nNoNewPrivs:\t1") != NULL);
    struct rlimit memory, cpu;
    CHECK(prlimit(pid, RLIMIT_AS, NULL, &memory) == 0 && prlimit(pid, RLIMIT_CPU, NULL, &cpu) == 0);
    CHECK_INT(1LL << 30, memory.rlim_max);
    CHECK_INT(15, cpu.rlim_max);
    int status = 0;
    close(in[0]);
    close(in[1]);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    CHECK_INT(2, WEXITSTATUS(status)); /* nothing is no picture */
    close(out[0]);
    close(out[1]);
}

/* -- the folder -------------------------------------------------------------------------------- */
static void age(const struct world *world, const char *name, int64_t size, int days)
{
    char path[512];
    snprintf(path, sizeof path, ".ship/.cache/parts/%s", name);
    project_put(&world->project, path, "x");
    snprintf(path, sizeof path, "%s/.cache/parts/%s", world->project.state_dir, name);
    CHECK(truncate(path, size) == 0);
    struct timespec times[2] = {{.tv_sec = 1800000000 - (time_t)days * 86400},
                                {.tv_sec = 1800000000 - (time_t)days * 86400}};
    CHECK(utimensat(AT_FDCWD, path, times, 0) == 0);
}

static bool has(const struct world *world, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/.cache/parts/%s", world->project.state_dir, name);
    return access(path, F_OK) == 0;
}

CASE(the_folder_keeps_within_its_bounds_and_what_is_in_use)
{
    static const int64_t mb = 1024 * 1024;
    SMA_AUTO(world_close) struct world world;
    world_open(&world);
    CHECK_INT(0, sma_media_tidy(world.project.state_dir, 1800000000));
    age(&world, "month.b64", 10, 31);
    age(&world, "week.b64", 300 * mb, 7);
    age(&world, "days.b64", 100 * mb, 3);
    age(&world, "today.b64", 200 * mb, 0);
    age(&world, "tmp-0123", 10, 1);
    CHECK_INT(300 * mb, sma_media_tidy(world.project.state_dir, 1800000000));
    CHECK(!has(&world, "month.b64") && !has(&world, "week.b64") && !has(&world, "tmp-0123"));
    CHECK(has(&world, "days.b64") && has(&world, "today.b64"));
    age(&world, "more.b64", 900 * mb, 1); /* over the bound, but in use */
    CHECK_INT(1100 * mb, sma_media_tidy(world.project.state_dir, 1800000000));
    CHECK(!has(&world, "days.b64") && has(&world, "more.b64"));
}

CASES_MAIN
