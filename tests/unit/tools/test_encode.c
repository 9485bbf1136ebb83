/*
 * Aim: ENCODE is answered once each, whatever the file is; what was made ready is found again; a
 * stopped run's questions and those of a service that ends are answered, too.
 * Method: the tools actor with the real file tools, and a stand-in agent that asks (world.h). What
 * becomes of files themselves: tests/unit/media.
 */
#include "world.h"

#include <sys/stat.h>
#include <unistd.h>

static const char PIXEL[] = "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\1\0\0\0\1\x08\2\0\0\0crc "
                            "\0\0\0\0IENDcrc ";

static void put_bytes(struct world *world, const char *name, const char *bytes, size_t len)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", world_dir(world), name);
    FILE *file = fopen(path, "we");
    CHECK(file != NULL && fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
}

static void put_pixel(struct world *world, const char *name)
{
    put_bytes(world, name, PIXEL, sizeof PIXEL - 1);
}

CASE(a_picture_is_answered_with_its_hash_and_a_file_of_that_name)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    char file[128], first[256];
    put_pixel(world, "a.png");
    const struct world_record *record = world_await(world, world_encode(world, 3, "a.png", 100));
    CHECK_TEXT("", record->content);
    CHECK(strncmp(record->item, "1 image/png 1x1 60 ", 19) == 0);
    snprintf(first, sizeof first, "%s", record->item);
    snprintf(file, sizeof file, ".ship/.cache/parts/%s.b64", record->item + 19);
    CHECK_INT(60, strlen(world_get_file(world, file)));
    CHECK(strncmp(world_get_file(world, file), "iVBORw0KGgo", 11) == 0);
    record = world_await(world, world_encode(world, 4, "a.png", 100));
    CHECK_TEXT(first, record->item);
    CHECK(world_has_logged(world, "part"));
}

CASE(what_cannot_be_given_is_answered_with_a_sentence)
{
    static const struct
    {
        const char *path, *note, *item;
    } rows[] = {
        {"words.txt",
         "[words.txt (text file, 0.0 MB) is not shown to you, because it is text: "
         "read_file shows it.]",
         "2 text/plain 0x0 0 "},
        {"../a.png", NULL, "2  0x0 0 "},
        {".env", NULL, "2  0x0 0 "},
        {"nobody.png", NULL, "2  0x0 0 "},
    };
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    world_put_file(world, "words.txt", "hello");
    world_put_file(world, ".env", "A=b");
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        const struct world_record *record =
            world_await(world, world_encode(world, i + 1, rows[i].path, 100));
        if (rows[i].note != NULL)
            CHECK_TEXT(rows[i].note, record->content);
        CHECK(strncmp(record->content, "[", 1) == 0);
        CHECK(strstr(record->content, "is not shown to you") != NULL);
        CHECK(strstr(record->content, ".]") == record->content + strlen(record->content) - 2);
        CHECK_TEXT(rows[i].item, record->item);
    }
}

CASE(many_at_once_are_all_answered)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    size_t records[40];
    put_pixel(world, "a.png");
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++)
        records[i] = world_encode(world, i + 1, "a.png", 100);
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++)
        CHECK_TEXT("", world_await(world, records[i])->content);
}

CASE(stopped_and_drained_questions_are_answered)
{
    struct world *world = world_create("");
    size_t records[20];
    put_pixel(world, "a.png");
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++)
        records[i] = world_encode(world, 5, "a.png", 100);
    world_cancel(world, 5);
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++) {
        const struct world_record *record = world_await(world, records[i]);
        CHECK(record->content[0] == '\0' || strstr(record->content, "the run was stopped") != NULL);
    }
    for (size_t i = 0; i < SMA_COUNT_OF(records); i++)
        records[i] = world_encode(world, 6, "a.png", 100);
    world_await_asked(world, records[SMA_COUNT_OF(records) - 1]);
    world_destroy(world); /* every question answered exactly once, or it fails */
}

static const struct world_record *read_file(struct world *world, const char *path)
{
    char arguments[256];
    snprintf(arguments, sizeof arguments, "{\"path\":\"%s\"}", path);
    return world_await(world, world_ask(world, &(struct sma_tool_ask){
                                                   .mode = SMA_TOOL_RUN,
                                                   .standing = SMA_STANDING_OWNER,
                                                   .name = SMA_STR("read_file"),
                                                   .arguments = sma_str(arguments),
                                                   .chat_key = SMA_STR("test:1"),
                                               }));
}

CASE(a_picture_that_is_read_comes_with_the_result)
{
    SMA_AUTO(world_destroyp) struct world *world = world_create("");
    put_pixel(world, "a.png");
    world_put_file(world, "a.pdf", "%PDF-1.4 <</Type /Page>>");
    world_put_file(world, "a.txt", "hello");
    const struct world_record *record = read_file(world, "./a.png");
    CHECK_TEXT("{\"success\":true,\"path\":\"a.png\",\"type\":\"image/png\",\"bytes\":45,"
               "\"width\":1,\"height\":1,\"note\":\"The file itself comes with this result.\"}",
               record->content);
    CHECK_TEXT("1: 1 image/png a.png", record->part);
    record = read_file(world, "a.pdf");
    CHECK_TEXT("1", world_member(world, record, "pages"));
    CHECK_TEXT("1: 2 application/pdf a.pdf", record->part);
    record = read_file(world, "a.txt");
    CHECK(record->part == NULL);
    CHECK_TEXT("hello", world_member(world, record, "content"));
    put_bytes(world, "a.zip", "PK\3\4\0\0", 6);
    record = read_file(world, "a.zip");
    CHECK(record->is_error && record->part == NULL);
}

CASES_MAIN
