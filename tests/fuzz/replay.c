/*
 * replay — run a fuzz target over every file of a corpus folder, then over seeded mutations of it
 * (cut, flip, insert, join), so that a build without libFuzzer tests something too. Same corpus
 * and seed, same inputs. All targets stand in one program, under their own names (SMA_BUNDLE).
 */

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(name) int name(const uint8_t *bytes, size_t len);
#include SMA_BUNDLE
#undef X

static const struct target
{
    const char *name;
    int (*run)(const uint8_t *bytes, size_t len);
} targets[] = {
#define X(name) {#name, name},
#include SMA_BUNDLE
#undef X
};

#define FILE_COUNT_MAX 1024
#define MUTATIONS_PER_FILE 200
#define INPUT_BYTES_MAX (1u << 20)

struct input
{
    uint8_t *bytes;
    size_t len;
};

static struct input inputs[FILE_COUNT_MAX];
static size_t input_count;
static uint64_t seed = 0x9e3779b97f4a7c15u;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static size_t below(size_t limit)
{
    return limit == 0 ? 0 : (size_t)(next_random() % limit);
}

static int load(const char *folder)
{
    DIR *directory = opendir(folder);
    if (directory == NULL)
        return -1;
    for (struct dirent *entry;
         (entry = readdir(directory)) != NULL && input_count < FILE_COUNT_MAX;) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rbe");
        if (file == NULL)
            continue;
        struct input *input = &inputs[input_count++];
        input->bytes = malloc(INPUT_BYTES_MAX);
        input->len = input->bytes == NULL ? 0 : fread(input->bytes, 1, INPUT_BYTES_MAX, file);
        fclose(file);
    }
    closedir(directory);
    return input_count > 0 ? 0 : -1;
}

/* An exact copy, so that reading past the end is seen by the sanitizer. */
static void run(const struct target *target, const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    if (copy == NULL)
        abort();
    if (len > 0)
        memcpy(copy, bytes, len);
    (void)target->run(copy, len);
    free(copy);
}

static size_t mutate(uint8_t *bytes, size_t len)
{
    static const char *const tokens[] = {
        "\n\n",         "\r",   "data: ", "{",     "}",          "[",           "\"",
        "\\u",          "\\",   ":",      ",",     "null",       "\"index\":0", "[DONE]",
        "\xef\xbb\xbf", "\xff", "-1",     "1e999", "\"id\":\"\""};
    switch (below(4)) {
    case 0:
        return len == 0 ? 0 : below(len);
    case 1:
        if (len > 0)
            bytes[below(len)] = (uint8_t)next_random();
        return len;
    case 2: {
        const char *token = tokens[below(sizeof tokens / sizeof *tokens)];
        size_t size = strlen(token), at = below(len + 1);
        if (len + size > INPUT_BYTES_MAX)
            return len;
        memmove(bytes + at + size, bytes + at, len - at);
        memcpy(bytes + at, token, size);
        return len + size;
    }
    default: {
        const struct input *other = &inputs[below(input_count)];
        size_t from = below(other->len), at = below(len + 1), size = other->len - from;
        if (at + size > INPUT_BYTES_MAX)
            return len;
        memcpy(bytes + at, other->bytes + from, size);
        return at + size;
    }
    }
}

int main(int argc, char **argv)
{
    const struct target *target = targets, *end = targets + sizeof targets / sizeof *targets;
    while (argc == 3 && target < end && strcmp(target->name, argv[1]) != 0)
        target++;
    if (argc != 3 || target == end || load(argv[2]) != 0) {
        fprintf(stderr, "usage: fuzz_tests TARGET CORPUS-FOLDER (not empty)\n");
        return 2;
    }
    uint8_t *bytes = malloc(INPUT_BYTES_MAX);
    if (bytes == NULL)
        return 1;
    for (size_t i = 0; i < input_count; i++)
        run(target, inputs[i].bytes, inputs[i].len);
    for (size_t i = 0; i < input_count; i++)
        for (int round = 0; round < MUTATIONS_PER_FILE; round++) {
            size_t len = inputs[i].len;
            memcpy(bytes, inputs[i].bytes, len);
            for (size_t steps = 1 + below(4); steps > 0; steps--)
                len = mutate(bytes, len);
            run(target, bytes, len);
        }
    for (size_t i = 0; i < input_count; i++)
        free(inputs[i].bytes);
    free(bytes);
    fprintf(stderr, "%zu files and %zu mutations\n", input_count, input_count * MUTATIONS_PER_FILE);
    return 0;
}
