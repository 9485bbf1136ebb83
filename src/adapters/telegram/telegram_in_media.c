/*
 * telegram_in_media.c — what a message is besides text. Files become an @attach line and an order
 * to fetch them; what is no file, or too large a one, becomes a line in words, so that a person who
 * sends a location gets an answer to it.
 *
 * The path of a file is fixed here, before it is fetched: history and model see it, and the same
 * message gives the same path again after a restart. Photos of an album share second, kind and the
 * head of their ids; a hash of the whole id, chat and message keeps their paths apart.
 */
#include "telegram_in_priv.h"

#include "runtime/text/attach.h"

#include <inttypes.h>
#include <stdio.h>

#define PATH_BYTES_MAX 512
#define NOTE_ITEM_COUNT_MAX 16

struct found_file
{
    const char *kind, *fallback_name;
    struct sma_str file_id, name, mime;
    int64_t size; /* -1 = not said */
};

/* -- files ------------------------------------------------------------------------------------- */

static void begin_line(struct sma_buf *lines)
{
    if (lines->len > 0)
        sma_buf_put_char(lines, '\n');
}

/* For people: the name as it was given, cut, or the kind. */
static struct sma_str label_of(const struct found_file *file)
{
    struct sma_str name = sma_str_trim(file->name);
    name.len = sma_utf8_cut(name, SMA_ATTACH_LABEL_BYTES_MAX);
    return name.len > 0 ? name : sma_str(file->kind);
}

static void put_path(const struct telegram_in *in, struct sma_buf *buf,
                     const struct telegram_origin *origin, const struct found_file *file)
{
    const struct sma_home *home = in->options->home;
    const char *folder = home == NULL ? TELEGRAM_CACHE_FOLDER : home->folder;
    char place[2 * TELEGRAM_ID_TEXT_BYTES];
    snprintf(place, sizeof place, "%" PRIi64 ":%" PRIi64, origin->chat_id, origin->message_id);
    sma_attach_put_path(buf, folder, origin->date_ms, file->file_id, sma_str(place),
                        file->name.len > 0 ? file->name : sma_str(file->fallback_name));
}

static void put_order(struct telegram_in *in, const struct found_file *file, struct sma_str path)
{
    struct sma_buf *buf = &in->preparation;
    sma_buf_put_text(buf, buf->len == 0 ? "[{" : ",{");
    sma_buf_put_json_key(buf, "kind");
    sma_buf_put_json_string(buf, sma_str(file->kind));
    sma_buf_put_json_key(buf, "fileId");
    sma_buf_put_json_string(buf, file->file_id);
    sma_buf_put_json_key(buf, "path");
    sma_buf_put_json_string(buf, path);
    sma_buf_put_json_key(buf, "size");
    sma_buf_put_i64(buf, file->size);
    sma_buf_put_json_key(buf, "name");
    sma_buf_put_json_string(buf, label_of(file));
    if (file->mime.len > 0) {
        sma_buf_put_json_key(buf, "mime");
        sma_buf_put_json_string(buf, file->mime);
    }
    sma_buf_put_char(buf, '}');
}

static void put_refused(const struct found_file *file, size_t bytes_max, struct sma_buf *lines)
{
    begin_line(lines);
    sma_buf_put_char(lines, '[');
    sma_buf_put_text(lines, file->kind);
    sma_buf_put_text(lines, ": ");
    sma_buf_put_json_string(lines, label_of(file));
    if (file->size > 0 && (uint64_t)file->size > bytes_max)
        sma_buf_printf(lines, ", %" PRIi64 " bytes, not fetched: the limit is %zu bytes]",
                       file->size, bytes_max);
    else
        sma_buf_put_text(lines, ", not fetched: the platform names no file]");
}

/* @return whether the file is to be fetched */
static bool put_file(struct telegram_in *in, const struct telegram_origin *origin,
                     const struct found_file *file, struct sma_buf *lines)
{
    size_t bytes_max = in->options->attachment_bytes_max;
    if (bytes_max == 0)
        bytes_max = SMA_ATTACHMENT_BYTES_MAX;
    if (file->file_id.len == 0 || file->file_id.len > TELEGRAM_FILE_ID_BYTES_MAX ||
        (file->size > 0 && (uint64_t)file->size > bytes_max)) {
        put_refused(file, bytes_max, lines);
        return false;
    }
    struct sma_buf path;
    sma_buf_init(&path, PATH_BYTES_MAX);
    put_path(in, &path, origin, file);
    if (path.err == SMA_ERR_OK) {
        sma_attach_put_line(lines, file->kind, sma_buf_str(&path), label_of(file));
        put_order(in, file, sma_buf_str(&path));
    } else {
        lines->err = path.err;
    }
    sma_buf_fini(&path);
    return true;
}

static int64_t size_of(const json_t *object)
{
    int64_t size = telegram_in_int(object, "file_size");
    return size > 0 ? size : -1;
}

/* The largest picture that may be fetched; the platform sends them in ascending order. */
static const json_t *choose_photo(const json_t *sizes, size_t bytes_max)
{
    const json_t *best = NULL, *smallest = NULL;
    int64_t best_area = -1;
    size_t count = json_array_size(sizes);
    for (size_t i = 0; i < count && i < 64; i++) {
        const json_t *size = json_array_get(sizes, i);
        if (telegram_in_str(size, "file_id").len == 0)
            continue;
        if (smallest == NULL)
            smallest = size;
        int64_t width = telegram_in_int(size, "width"), height = telegram_in_int(size, "height");
        bool is_sane = width > 0 && height > 0 && width < 65536 && height < 65536;
        int64_t area = is_sane ? width * height : 0, bytes = size_of(size);
        if (area < best_area || (bytes > 0 && (uint64_t)bytes > bytes_max))
            continue;
        best = size;
        best_area = area;
    }
    return best != NULL ? best : smallest;
}

/* What may be fetched, in the order in which it is named. An animation comes with a document
 * that is the same; animated stickers are no pictures that a model can look at, so they are only
 * named. */
static const struct file_kind
{
    const char *member, *kind, *name, *hidden_by;
    bool is_noted;    /* in words, too, below: without an id there is nothing more to say */
    const char *mime; /* where the platform does not say it; NULL = not known */
} file_kinds[] = {{"document", "document", "document", "animation", false, NULL},
                  {"photo", "photo", "photo.jpg", NULL, false, NULL},
                  {"voice", "voice", "voice.ogg", NULL, false, NULL},
                  {"audio", "audio", "audio", NULL, false, NULL},
                  {"video", "document", "video.mp4", NULL, true, "video/mp4"},
                  {"animation", "document", "animation.mp4", NULL, true, "video/mp4"},
                  {"video_note", "document", "video.mp4", NULL, true, "video/mp4"},
                  {"sticker", "photo", "sticker.webp", NULL, true, NULL}};

static const json_t *find_file(const json_t *message, const struct file_kind *kind,
                               size_t bytes_max)
{
    if (strcmp(kind->member, "photo") == 0)
        return choose_photo(telegram_in_array(message, kind->member), bytes_max);
    const json_t *object = telegram_in_object(message, kind->member);
    bool is_moving =
        telegram_in_true(object, "is_animated") || telegram_in_true(object, "is_video");
    bool is_hidden = kind->hidden_by != NULL && telegram_in_has(message, kind->hidden_by);
    bool is_nothing = kind->is_noted && telegram_in_str(object, "file_id").len == 0;
    return is_moving || is_hidden || is_nothing ? NULL : object;
}

static struct sma_str mime_of(const json_t *object, const struct file_kind *kind)
{
    struct sma_str mime = telegram_in_str(object, "mime_type");
    mime.len = sma_utf8_cut(mime, 128);
    return mime.len > 0 || kind->mime == NULL ? mime : sma_str(kind->mime);
}

size_t telegram_in_put_files(struct telegram_in *in, const json_t *message,
                             const struct telegram_origin *origin, struct sma_buf *lines)
{
    size_t count = 0, bytes_max = in->options->attachment_bytes_max;
    if (bytes_max == 0)
        bytes_max = SMA_ATTACHMENT_BYTES_MAX;
    for (size_t i = 0; i < SMA_COUNT_OF(file_kinds); i++) {
        const struct file_kind *kind = &file_kinds[i];
        const json_t *object = find_file(message, kind, bytes_max);
        if (object == NULL || in->file_count == SMA_ATTACHMENT_COUNT_MAX)
            continue;
        bool is_taken = put_file(in, origin,
                                 &(struct found_file){.kind = kind->kind,
                                                      .fallback_name = kind->name,
                                                      .file_id = telegram_in_str(object, "file_id"),
                                                      .name = telegram_in_str(object, "file_name"),
                                                      .mime = mime_of(object, kind),
                                                      .size = size_of(object)},
                                 lines);
        in->file_count += is_taken;
        count += is_taken;
    }
    return count;
}

static bool is_good_file(const struct sma_file_item *item)
{
    struct sma_str file_id = telegram_in_str(item->json, "fileId");
    return file_id.len > 0 && file_id.len <= TELEGRAM_FILE_ID_BYTES_MAX;
}

const struct sma_file_shape telegram_file_shape = {.folder = TELEGRAM_CACHE_FOLDER,
                                                   .is_good = is_good_file};

/* -- what is no file, in words ----------------------------------------------------------------- */

/* `, "value"` or `: "value"` when there is one. */
static void put_part(struct sma_buf *buf, bool *is_first, struct sma_str value)
{
    if (value.len == 0)
        return;
    sma_buf_put_text(buf, *is_first ? ": " : ", ");
    telegram_in_put_quoted(buf, value, 1024);
    *is_first = false;
}

static void put_place(struct sma_buf *buf, bool *is_first, const json_t *location)
{
    const json_t *latitude = json_object_get(location, "latitude");
    const json_t *longitude = json_object_get(location, "longitude");
    if (!json_is_number(latitude) || !json_is_number(longitude))
        return;
    double north = json_number_value(latitude), east = json_number_value(longitude);
    if (north < -90 || north > 90 || east < -180 || east > 180)
        return;
    /* In millionths, so that no locale has a say in the decimal point. */
    int64_t parts[2] = {(int64_t)(north * 1e6 + (north < 0 ? -0.5 : 0.5)),
                        (int64_t)(east * 1e6 + (east < 0 ? -0.5 : 0.5))};
    sma_buf_put_text(buf, *is_first ? ": " : ", ");
    for (size_t i = 0; i < 2; i++) {
        int64_t size = parts[i] < 0 ? -parts[i] : parts[i];
        sma_buf_printf(buf, "%s%s%" PRIi64 ".%06" PRIi64, i == 0 ? "" : ", ",
                       parts[i] < 0 ? "-" : "", size / 1000000, size % 1000000);
    }
    *is_first = false;
}

static void put_list(struct sma_buf *buf, bool *is_first, const json_t *items)
{
    size_t count = json_array_size(items);
    for (size_t i = 0; i < count && i < NOTE_ITEM_COUNT_MAX; i++)
        put_part(buf, is_first, telegram_in_str(json_array_get(items, i), "text"));
    if (count > NOTE_ITEM_COUNT_MAX)
        sma_buf_printf(buf, " and %zu more", count - NOTE_ITEM_COUNT_MAX);
}

static void put_seconds(struct sma_buf *buf, bool *is_first, const json_t *object)
{
    int64_t seconds = telegram_in_int(object, "duration");
    if (seconds <= 0)
        return;
    sma_buf_printf(buf, "%s%" PRIi64 " seconds", *is_first ? ": " : ", ", seconds);
    *is_first = false;
}

/* The more special member first: a venue repeats its location, an animation its document, a live
 * photo its photo. */
static const struct note
{
    const char *member, *word, *phrase; /* phrase: "a reply to <phrase>" */
    const char *hidden_by;              /* not noted when this member is there too */
    const char *parts[4];               /* string members */
} notes[] = {
    {"venue", "venue", "a venue", NULL, {"title", "address"}},
    {"location", "location", "a location", "venue", {NULL}},
    {"contact", "contact", "a contact", NULL, {"first_name", "last_name", "phone_number"}},
    {"sticker", "sticker", "a sticker", NULL, {"emoji", "set_name"}},
    {"animation", "animation", "an animation", NULL, {"file_name"}},
    {"video", "video", "a video", NULL, {"file_name"}},
    {"video_note", "video message", "a video message", NULL, {NULL}},
    {"poll", "poll", "a poll", NULL, {"question"}},
    {"checklist", "checklist", "a checklist", NULL, {"title"}},
    {"dice", "dice", "a dice", NULL, {"emoji"}},
    {"game", "game", "a game", NULL, {"title", "description"}},
    {"invoice", "invoice", "an invoice", NULL, {"title", "description"}},
    {"story", "story", "a story", NULL, {NULL}},
    {"paid_media", "paid media", "paid media", NULL, {NULL}},
    {"giveaway", "giveaway", "a giveaway", NULL, {NULL}},
};

static void put_note(struct sma_buf *lines, const struct note *note, const json_t *object)
{
    bool is_first = true;
    begin_line(lines);
    sma_buf_put_char(lines, '[');
    sma_buf_put_text(lines, note->word);
    for (size_t i = 0; i < SMA_COUNT_OF(note->parts) && note->parts[i] != NULL; i++)
        put_part(lines, &is_first, telegram_in_str(object, note->parts[i]));
    put_place(lines, &is_first,
              telegram_in_has(object, "location") ? telegram_in_object(object, "location")
                                                  : object);
    put_list(lines, &is_first, telegram_in_array(object, "options"));
    put_list(lines, &is_first, telegram_in_array(object, "tasks"));
    put_seconds(lines, &is_first, object);
    if (telegram_in_has(object, "value") && telegram_in_int(object, "value") > 0)
        sma_buf_printf(lines, "%s%" PRIi64, is_first ? ": " : ", ",
                       telegram_in_int(object, "value"));
    sma_buf_put_char(lines, ']');
}

size_t telegram_in_put_media(struct telegram_in *in, const json_t *message,
                             const struct telegram_origin *origin, struct sma_buf *lines)
{
    size_t file_count = telegram_in_put_files(in, message, origin, lines);
    for (size_t i = 0; i < SMA_COUNT_OF(notes); i++) {
        const json_t *object = telegram_in_object(message, notes[i].member);
        if (object != NULL &&
            (notes[i].hidden_by == NULL || !telegram_in_has(message, notes[i].hidden_by)))
            put_note(lines, &notes[i], object);
    }
    return file_count;
}

bool telegram_in_put_unknown(const json_t *message, struct sma_buf *text)
{
    static const char *const about[] = {"chat",
                                        "from",
                                        "via_bot",
                                        "entities",
                                        "caption_entities",
                                        "external_reply",
                                        "quote",
                                        "reply_markup",
                                        "link_preview_options",
                                        "direct_messages_topic",
                                        "suggested_post_info",
                                        "rich_message",
                                        NULL};
    static const char *const starts[] = {"reply_to_", "forward_", "sender_"};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)message, name, value)
    {
        bool is_content = json_is_object(value) || json_is_array(value);
        for (size_t i = 0; is_content && about[i] != NULL; i++)
            is_content = strcmp(name, about[i]) != 0;
        for (size_t i = 0; is_content && i < SMA_COUNT_OF(starts); i++)
            is_content = !sma_str_starts_with(sma_str(name), sma_str(starts[i]));
        if (!is_content)
            continue;
        sma_buf_put_text(text, "[a message of type ");
        sma_buf_put_str(text, (struct sma_str){name, strnlen(name, 64)});
        sma_buf_put_text(text, " that could not be read]");
        return true;
    }
    return false;
}

const char *telegram_in_media_name(const json_t *message)
{
    static const struct
    {
        const char *member, *phrase;
    } files[] = {{"document", "a document"},
                 {"photo", "a photo"},
                 {"voice", "a voice message"},
                 {"audio", "an audio file"}};
    for (size_t i = 0; i < SMA_COUNT_OF(notes); i++)
        if (telegram_in_has(message, notes[i].member))
            return notes[i].phrase;
    for (size_t i = 0; i < SMA_COUNT_OF(files); i++)
        if (telegram_in_has(message, files[i].member))
            return files[i].phrase;
    return NULL;
}
