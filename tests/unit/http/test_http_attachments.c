/* test_http_attachments.c — files with POST /api/execute: kept whole, each a part of the message,
 * covered by its id, refused with the reason; a mistake leaves nothing behind. */
#include "harness.h"
#include "support/pictures.h"

#include "sma/sys.h"

#include <dirent.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE ".ship/.cache/api"

static struct harness *harness;

static const char *in_project(const char *path)
{
    static char full[512];
    snprintf(full, sizeof full, "%s/%s", harness_dir(harness), path);
    return full;
}

/* Files that were kept; what is half there counts. */
static int kept_count(bool removes)
{
    DIR *dir = opendir(in_project(CACHE));
    const struct dirent *entry;
    int count = 0;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        count++;
        if (removes)
            CHECK(unlinkat(dirfd(dir), entry->d_name, 0) == 0);
    }
    if (dir != NULL)
        closedir(dir);
    return count;
}

static void clean(void)
{
    (void)kept_count(true);
    (void)rmdir(in_project(CACHE));
    (void)rmdir(in_project(".ship/.cache"));
}

static int execute(const char *body, char *why, size_t why_size)
{
    int fd = client_connect(harness);
    client_post(fd, harness, "Prefer: respond-async\r\n", body, strlen(body));
    struct reply reply = client_read(fd);
    int status = reply.status;
    if (why != NULL)
        snprintf(why, why_size, "%s", reply.body);
    reply_free(&reply);
    close(fd);
    return status;
}

static char *body_of(const char *id, const char *words, const char *attachments)
{
    char *body = malloc(strlen(attachments) + 1024);
    CHECK(body != NULL);
    sprintf(body, "{\"instructions\":\"%s\",\"messageId\":\"%s\",\"attachments\":%s}", words, id,
            attachments);
    return body;
}

static int execute_with(const char *id, const char *words, const char *attachments)
{
    char *body = body_of(id, words, attachments);
    int status = execute(body, NULL, 0);
    free(body);
    return status;
}

static char *data_of(const struct picture *picture, const char *name)
{
    char *base64 = picture_base64(picture), *json = malloc(strlen(base64) + 512);
    CHECK(json != NULL);
    sprintf(json, "[{\"data\":\"%s\",\"name\":\"%s\"}]", base64, name);
    free(base64);
    return json;
}

CASE(bytes_are_kept_and_are_a_part)
{
    struct picture files[] = {picture_png(3, 2, 7), picture_jpeg(), picture_webp(), picture_pdf(),
                              picture_ogg()};
    static const struct
    {
        const char *kind, *word, *name, *mime;
    } wanted[] = {{"1", "photo", "cat.png", "image/png"},
                  {"1", "photo", "cat.jpg", "image/jpeg"},
                  {"1", "photo", "cat.webp", "image/webp"},
                  {"2", "document", "a.pdf", "application/pdf"},
                  {"3", "audio", "a.ogg", "audio/ogg"}};
    char parts[2048], text[401], path[512], line[600];
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++) {
        char *json = data_of(&files[i], wanted[i].name), id[16];
        snprintf(id, sizeof id, "kept-%zu", i);
        CHECK_INT(202, execute_with(id, "what is it?", json));
        harness_newest(harness, parts, text);
        CHECK(sscanf(parts, "%*d %500s", path) == 1);
        CHECK(strncmp(path, CACHE "/", sizeof CACHE) == 0);
        snprintf(line, sizeof line, "%s %s %s %s\n", wanted[i].kind, path, wanted[i].name,
                 wanted[i].mime);
        CHECK_TEXT(line, parts);
        snprintf(line, sizeof line, "@attach %s %s | %s\n\nwhat is it?", wanted[i].word, path,
                 wanted[i].name);
        CHECK_TEXT(line, text);
        struct stat status;
        CHECK(stat(in_project(path), &status) == 0 && (status.st_mode & 0777) == 0600);
        unsigned char bytes[4096];
        FILE *file = fopen(in_project(path), "r");
        CHECK(file != NULL && fread(bytes, 1, sizeof bytes, file) == files[i].len);
        CHECK(memcmp(bytes, files[i].bytes, files[i].len) == 0);
        fclose(file);
        free(json);
        free(files[i].bytes);
    }
    CHECK_INT(SMA_COUNT_OF(files), kept_count(false));
    clean();
}

CASE(paths_of_the_project_are_parts)
{
    struct picture png = picture_png(2, 2, 1);
    char parts[2048], text[401];
    picture_write(in_project("a b.png"), &png);
    CHECK_INT(202, execute_with("path-1", "look", "[{\"path\":\"./a b.png\"}]"));
    harness_newest(harness, parts, text);
    CHECK_TEXT("1 a b.png a b.png image/png\n", parts);
    CHECK_TEXT("@attach photo a b.png | a b.png\n\nlook", text);
    CHECK_INT(0, kept_count(false));
    /* files alone are a message */
    CHECK_INT(202, execute("{\"attachments\":[{\"path\":\"a b.png\"}]}", NULL, 0));
    harness_newest(harness, parts, text);
    CHECK_TEXT("@attach photo a b.png | a b.png", text);
    CHECK(unlink(in_project("a b.png")) == 0);
    free(png.bytes);
}

CASE(id_covers_the_attachments)
{
    struct picture one = picture_png(2, 2, 1), other = picture_png(2, 2, 2);
    char *json = data_of(&one, "a.png"), *changed = data_of(&other, "a.png"),
         *renamed = data_of(&one, "b.png");
    unsigned before = harness_accepted_count(harness);
    CHECK_INT(202, execute_with("same", "look", json));
    CHECK_INT(202, execute_with("same", "look", json));
    CHECK_INT(1, kept_count(false)); /* once, under the same path */
    CHECK_INT(409, execute_with("same", "look", changed));
    CHECK_INT(409, execute_with("same", "look", renamed));
    CHECK_INT(409, execute_with("same", "look", "[]"));
    CHECK_INT(before + 1, harness_accepted_count(harness));
    free(json);
    free(changed);
    free(renamed);
    free(one.bytes);
    free(other.bytes);
    clean();
}

/* White space, padding left out, and what a page's FileReader gives are read; anything else is not
 * guessed at. */
CASE(base64_is_read_exactly)
{
    static const struct
    {
        const char *data, *bytes;
    } cases[] = {{"YQ==", "a"},
                 {"YQ", "a"},
                 {"YWI=", "ab"},
                 {"YWJj", "abc"},
                 {"YW\\nJj\\r\\n", "abc"},
                 {"data:text/plain;base64,YWJj", "abc"},
                 {"YR==", NULL},
                 {"YQ=", NULL},
                 {"YQ===", NULL},
                 {"YWJj=", NULL},
                 {"YWJj====", NULL},
                 {"Y", NULL},
                 {"YQ==YQ==", NULL},
                 {"YW-_", NULL},
                 {"caf\\u00e9", NULL},
                 {"", NULL},
                 {"    ", NULL}};
    char parts[2048], text[401], path[512], bytes[16], json[256], why[512];
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        snprintf(json, sizeof json,
                 "{\"instructions\":\"x\",\"attachments\":[{\"data\":\"%s\",\"name\":\"n\"}]}",
                 cases[i].data);
        int status = execute(json, why, sizeof why);
        if (status != (cases[i].bytes != NULL ? 202 : 400))
            fprintf(stderr, "case %zu\n", i);
        CHECK_INT(cases[i].bytes != NULL ? 202 : 400, status);
        if (cases[i].bytes != NULL) {
            harness_newest(harness, parts, text);
            CHECK(sscanf(parts, "%*d %500s", path) == 1);
            FILE *file = fopen(in_project(path), "r");
            CHECK(file != NULL);
            bytes[fread(bytes, 1, sizeof bytes - 1, file)] = '\0';
            CHECK_TEXT(cases[i].bytes, bytes);
            fclose(file);
        } else {
            CHECK(strstr(why, "attachments[0]: ") != NULL);
        }
        CHECK_INT(cases[i].bytes != NULL, kept_count(true)); /* a refused one leaves nothing */
    }
    clean();
}

CASE(mistakes_are_named_and_leave_nothing)
{
    static const struct
    {
        const char *attachments, *word;
    } cases[] = {
        {"7", "must be a list"},
        {"{}", "must be a list"},
        {"[7]", "attachments[0]: give"},
        {"[{}]", "attachments[0]: give"},
        {"[{\"path\":\"a\",\"data\":\"YQ==\",\"name\":\"n\"}]", "attachments[0]: give"},
        {"[{\"path\":7}]", "\\\"path\\\" must be"},
        {"[{\"path\":\"\"}]", "\\\"path\\\" must be"},
        {"[{\"path\":\"a\",\"name\":\"n\"}]", "\\\"name\\\" is unknown"},
        {"[{\"data\":\"YQ==\"}]", "\\\"name\\\" must be"},
        {"[{\"data\":\"YQ==\",\"name\":\"\"}]", "\\\"name\\\" must be"},
        {"[{\"data\":7,\"name\":\"n\"}]", "\\\"data\\\" must be"},
        {"[{\"data\":\"YQ==\",\"name\":\"n\",\"mime\":7}]", "\\\"mime\\\" must be"},
        {"[{\"data\":\"YQ==\",\"name\":\"n\",\"type\":\"x\"}]", "\\\"type\\\" is unknown"},
        {"[{\"data\":\"YQ==\",\"name\":\"n\"},{\"data\":1}]", "attachments[1]"},
        {"[{\"path\":\"nothing.png\"}]", "nothing.png"},
        {"[{\"data\":\"YQ==\",\"name\":\"n\"},{\"path\":\"nothing.png\"}]", "attachments[1]"},
        {"[{\"path\":\"../outside.png\"}]", "attachments[0]"},
        {"[{\"path\":\"/etc/passwd\"}]", "attachments[0]"},
        {"[{\"path\":\"link.png\"}]", "attachments[0]"},
        {"[{\"path\":\".ship/api-token\"}]", "attachments[0]"},
        {"[{\"path\":\".env\"}]", "attachments[0]"},
        {"[{\"path\":\"empty.png\"}]", "is empty"},
        {"[{\"path\":\".ship\"}]", "attachments[0]"},
        {"[{\"path\":\".\"}]", "attachments[0]"},
    };
    char why[512];
    struct picture none = {(unsigned char *)"", 0}, secret = {(unsigned char *)"KEY=1", 5};
    picture_write(in_project("empty.png"), &none);
    picture_write(in_project(".env"), &secret);
    CHECK(symlink("/etc/passwd", in_project("link.png")) == 0);
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        char *body = body_of("wrong", "x", cases[i].attachments);
        int status = execute(body, why, sizeof why);
        if (status != 400 || strstr(why, cases[i].word) == NULL)
            fprintf(stderr, "case %zu: %d %s\n", i, status, why);
        CHECK_INT(400, status);
        CHECK(strstr(why, cases[i].word) != NULL);
        CHECK_INT(0, kept_count(false));
        free(body);
    }
    char *body = body_of("wrong", "/stop", "[{\"data\":\"YQ==\",\"name\":\"n\"}]");
    CHECK_INT(400, execute(body, why, sizeof why));
    CHECK(strstr(why, "command") != NULL);
    free(body);
    CHECK(unlink(in_project("empty.png")) == 0 && unlink(in_project(".env")) == 0 &&
          unlink(in_project("link.png")) == 0);
    CHECK_INT(0, kept_count(false));
    clean();
}

CASE(number_of_attachments_is_bounded)
{
    char json[4096];
    for (int count = SMA_ATTACHMENT_COUNT_MAX - 1; count <= SMA_ATTACHMENT_COUNT_MAX + 1; count++) {
        size_t len = 0;
        for (int i = 0; i < count; i++)
            len +=
                (size_t)snprintf(json + len, sizeof json - len,
                                 "%s{\"data\":\"YQ==\",\"name\":\"n%d\"}", i == 0 ? "[" : ",", i);
        snprintf(json + len, sizeof json - len, "]");
        char id[16];
        snprintf(id, sizeof id, "many-%d", count);
        CHECK_INT(count <= SMA_ATTACHMENT_COUNT_MAX ? 202 : 400, execute_with(id, "x", json));
        CHECK_INT(count <= SMA_ATTACHMENT_COUNT_MAX ? count : 0, kept_count(true));
    }
    clean();
}

static int execute_sized(size_t size, int *ret_kept)
{
    struct picture big = {malloc(size), size};
    char id[32];
    CHECK(big.bytes != NULL);
    memset(big.bytes, 'x', size);
    char *json = data_of(&big, "big.bin");
    snprintf(id, sizeof id, "sized-%zu", size);
    int status = execute_with(id, "x", json);
    *ret_kept = kept_count(true);
    free(json);
    free(big.bytes);
    return status;
}

CASE(size_of_an_attachment_is_bounded)
{
    int kept;
    CHECK_INT(202, execute_sized(SMA_ATTACHMENT_BYTES_MAX - 1, &kept));
    CHECK_INT(1, kept);
    CHECK_INT(202, execute_sized(SMA_ATTACHMENT_BYTES_MAX, &kept));
    CHECK_INT(1, kept);
    CHECK_INT(413, execute_sized(SMA_ATTACHMENT_BYTES_MAX + 1, &kept));
    CHECK_INT(0, kept);
    clean();
}

/* A text that is just short enough leaves no room for the lines that name the files. */
CASE(text_and_names_are_bounded_together)
{
    char *body = malloc(SMA_TEXT_BYTES_MAX + 1024), why[512];
    CHECK(body != NULL);
    int head = sprintf(body, "{\"attachments\":[{\"data\":\"YQ==\",\"name\":\"n\"}],"
                             "\"instructions\":\"");
    memset(body + head, 'x', SMA_TEXT_BYTES_MAX);
    strcpy(body + head + SMA_TEXT_BYTES_MAX, "\"}");
    CHECK_INT(413, execute(body, why, sizeof why));
    CHECK(strstr(why, "attachments") != NULL);
    free(body);
    clean();
}

static atomic_bool is_full;

static ssize_t write_or_be_full(void *self, int fd, const void *bytes, size_t len, off_t offset)
{
    if (!atomic_load(&is_full))
        return sma_sys_real()->pwrite(self, fd, bytes, len, offset);
    errno = ENOSPC;
    return -1;
}

/* It is ours to mend, not the caller's: come again. */
CASE(a_full_disk_is_answered_503_and_leaves_nothing)
{
    static const char body[] = "{\"attachments\":[{\"data\":\"YWJj\",\"name\":\"n\"}]}";
    unsigned before = harness_accepted_count(harness);
    atomic_store(&is_full, true);
    struct reply reply = request_once(harness, "POST /api/execute", "", body);
    CHECK_INT(503, reply.status);
    CHECK(reply_has(&reply, "Retry-After: ") && reply_has(&reply, "attachments[0]: "));
    reply_free(&reply);
    CHECK_INT(0, kept_count(false));
    CHECK_INT(before, harness_accepted_count(harness));
    atomic_store(&is_full, false);
    CHECK_INT(202, execute(body, NULL, 0));
    CHECK_INT(1, kept_count(false));
    clean();
}

int main(void)
{
    struct sma_sys sys = *sma_sys_real();
    sys.pwrite = write_or_be_full;
    harness = harness_start(&(struct harness_options){.sys = &sys});
    check_run_cases(NULL);
    harness_stop(harness);
    return check_summary();
}
