/*
 * fake_telegram_files.c — files in messages of people, as the Bot API describes them: a photo in
 * several sizes, the largest last; a sticker with what kind it is.
 */
#include "fake_telegram_priv.h"

#include <stdio.h>
#include <stdlib.h>

static json_t *about_file(const struct file *file)
{
    return json_pack("{s:s,s:s+,s:I}", "file_id", file->id, "file_unique_id", "u", file->id,
                     "file_size", (json_int_t)file->len);
}

/* The small size is another file, which is no picture: who asks for it gets what cannot be read. */
static json_t *photo_sizes(struct fake_telegram *fake, size_t whole, const json_t *wanted)
{
    int64_t width = platform_number(wanted, "width", 640),
            height = platform_number(wanted, "height", 480);
    size_t small = fake_add_file(fake, "thumbnail", "small.jpg", SMA_STR("a small size of it"));
    json_t *sizes[2] = {about_file(&fake->files[small - 1]), about_file(&fake->files[whole - 1])};
    json_object_update_new(sizes[0], json_pack("{s:i,s:i}", "width", 90, "height", 68));
    json_object_update_new(
        sizes[1], json_pack("{s:I,s:I}", "width", (json_int_t)width, "height", (json_int_t)height));
    return json_pack("[o,o]", sizes[0], sizes[1]);
}

static json_t *sticker_of(const struct file *file, const json_t *wanted)
{
    json_t *about = about_file(file);
    json_object_update_new(about, json_pack("{s:s,s:i,s:i,s:b,s:b,s:s}", "type", "regular", "width",
                                            512, "height", 512, "is_animated",
                                            platform_flag(wanted, "animated", false), "is_video", 0,
                                            "emoji", "\xf0\x9f\x90\xb1"));
    return about;
}

void fake_put_file(struct fake_telegram *fake, struct message *message, json_t *tree,
                   const json_t *wanted)
{
    static const char *const kinds[] = {"document", "photo",     "voice",  "audio",
                                        "video",    "animation", "sticker"};
    const char *kind = platform_text(wanted, "kind", "document"),
               *name = platform_text(wanted, "name", ""), *mime = platform_text(wanted, "mime", "");
    size_t len;
    char *bytes = platform_bytes(wanted, 0, &len);
    message->file =
        fake_add_file(fake, kind, name[0] == '\0' ? kind : name, (struct sma_str){bytes, len});
    free(bytes);
    for (size_t i = 0; i < SMA_COUNT_OF(kinds); i++)
        if (strcmp(kinds[i], kind) == 0)
            message->kind = kinds[i];
    json_t *about;
    if (strcmp(kind, "photo") == 0) {
        json_object_set_new(tree, kind, photo_sizes(fake, message->file, wanted));
        return;
    }
    about = strcmp(kind, "sticker") == 0 ? sticker_of(&fake->files[message->file - 1], wanted)
                                         : about_file(&fake->files[message->file - 1]);
    if (name[0] != '\0')
        json_object_set_new(about, "file_name", json_string(name));
    if (strcmp(kind, "voice") == 0)
        json_object_update_new(about,
                               json_pack("{s:i,s:s}", "duration", 3, "mime_type", "audio/ogg"));
    if (mime[0] != '\0')
        json_object_set_new(about, "mime_type", json_string(mime));
    json_object_set_new(tree, kind, about);
}
