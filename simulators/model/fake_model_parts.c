/* Pictures, files and sounds as real platforms judge them: by their bytes. Source:
 * protocols/models.md §4. */
#include "fake_model.h"

#include "sma/text.h"

#include <stdio.h>
#include <string.h>

#define BYTES_MAX 5242880 /* of one picture's base64 */
#define COUNT_MAX 100

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text == NULL ? "" : text;
}

static bool is(const json_t *object, const char *key, const char *text)
{
    return strcmp(text_of(object, key), text) == 0;
}

static int value_of(char letter)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = letter == '\0' ? NULL : strchr(letters, letter);
    return at == NULL ? -1 : (int)(at - letters);
}

/* The first bytes. false: it is no base64, or has line breaks. */
static bool decode_start(const char *text, size_t len, unsigned char *bytes, size_t room)
{
    size_t filled = len > 0 && text[len - 1] == '=' ? len - 1 - (text[len - 2] == '=') : len;
    if (len == 0 || len % 4 != 0)
        return false;
    for (size_t i = 0; i < filled; i++)
        if (value_of(text[i]) < 0)
            return false;
    memset(bytes, 0, room);
    for (size_t i = 0; i < filled && i / 4 * 3 + 2 < room; i++) {
        unsigned bits = (unsigned)value_of(text[i]) << (18 - 6 * (i % 4));
        for (size_t k = 0; k < 3; k++)
            bytes[i / 4 * 3 + k] |= (unsigned char)(bits >> (16 - 8 * k));
    }
    return true;
}

static bool fits(const char *mime, const unsigned char *bytes)
{
    if (strcmp(mime, "image/png") == 0)
        return memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0;
    if (strcmp(mime, "image/jpeg") == 0)
        return memcmp(bytes, "\xff\xd8\xff", 3) == 0;
    if (strcmp(mime, "image/gif") == 0)
        return memcmp(bytes, "GIF8", 4) == 0;
    if (strcmp(mime, "image/webp") == 0)
        return memcmp(bytes, "RIFF", 4) == 0 && memcmp(bytes + 8, "WEBP", 4) == 0;
    if (strcmp(mime, "application/pdf") == 0)
        return memcmp(bytes, "%PDF-", 5) == 0;
    return strncmp(mime, "audio/", 6) == 0;
}

static const char *check_bytes(const char *mime, const char *text)
{
    static char complaint[160];
    unsigned char bytes[15];
    size_t len = strlen(text);
    bool is_image = strncmp(mime, "image/", 6) == 0;
    if (is_image && len > BYTES_MAX) {
        snprintf(complaint, sizeof complaint, "image exceeds 5 MB maximum: %zu bytes > %d bytes",
                 len, BYTES_MAX);
        return complaint;
    }
    if (!decode_start(text, len, bytes, sizeof bytes))
        return "invalid base64 data";
    if (fits(mime, bytes))
        return NULL;
    snprintf(complaint, sizeof complaint,
             "The %s was specified using the %.40s media type, but it appears to be another",
             is_image ? "image" : "document", mime);
    return complaint;
}

/* "data:<mime>;base64,<text>" */
static const char *check_url(const char *url)
{
    char mime[64];
    const char *end = strstr(url, ";base64,");
    if (strncmp(url, "https://", 8) == 0)
        return NULL;
    if (strncmp(url, "data:", 5) != 0 || end == NULL || (size_t)(end - url) >= sizeof mime)
        return "invalid image_url: neither an https nor a data URL";
    snprintf(mime, sizeof mime, "%.*s", (int)(end - url - 5), url + 5);
    return check_bytes(mime, end + 8);
}

static const char *check_chat(const json_t *block)
{
    const json_t *file = json_object_get(block, "file"),
                 *sound = json_object_get(block, "input_audio");
    if (is(block, "type", "image_url"))
        return check_url(text_of(json_object_get(block, "image_url"), "url"));
    if (is(block, "type", "file"))
        return text_of(file, "filename")[0] == '\0' ? "file.filename is missing"
                                                    : check_url(text_of(file, "file_data"));
    if (!is(block, "type", "input_audio"))
        return "a content block is empty or of the wrong type";
    return is(sound, "format", "wav") || is(sound, "format", "mp3")
               ? check_bytes("audio/any", text_of(sound, "data"))
               : "input_audio.format must be wav or mp3";
}

static const char *check_responses(const json_t *block)
{
    if (is(block, "type", "input_image"))
        return json_is_string(json_object_get(block, "image_url"))
                   ? check_url(text_of(block, "image_url"))
                   : "invalid image_url: a string is expected";
    if (is(block, "type", "input_file"))
        return check_url(text_of(block, "file_data"));
    return "a content block is empty or of the wrong type";
}

static const char *check_messages(const json_t *block)
{
    const json_t *source = json_object_get(block, "source");
    const char *mime = text_of(source, "media_type");
    bool is_image = is(block, "type", "image");
    if (!is_image && !is(block, "type", "document"))
        return "a content block is of the wrong type";
    if (!is(source, "type", "base64"))
        return "source.type: base64 is expected";
    if (is_image ? strncmp(mime, "image/", 6) != 0 : strcmp(mime, "application/pdf") != 0)
        return "source.media_type: not one of those that are taken";
    return check_bytes(mime, text_of(source, "data"));
}

const char *fake_check_block(enum sma_llm_api api, const json_t *block)
{
    bool is_text = is(block, "type", "text") || is(block, "type", "input_text");
    if (is_text)
        return text_of(block, "text")[0] == '\0' ? "a content block is empty or of the wrong type"
                                                 : NULL;
    if (api == SMA_LLM_CHAT)
        return check_chat(block);
    return api == SMA_LLM_RESPONSES ? check_responses(block) : check_messages(block);
}

static bool is_picture(const json_t *block)
{
    return is(block, "type", "image") || is(block, "type", "image_url") ||
           is(block, "type", "input_image");
}

size_t fake_count_pictures(const json_t *value)
{
    size_t count = 0, i;
    const char *key;
    json_t *member;
    if (json_is_array(value)) {
        json_array_foreach(value, i, member) count += fake_count_pictures(member);
    } else if (json_is_object(value) && is_picture(value)) {
        count = 1;
    } else if (json_is_object(value)) {
        json_object_foreach((json_t *)(uintptr_t)value, key, member) count +=
            fake_count_pictures(member);
    }
    return count;
}

/* The string that holds the bytes of a picture, file or sound, on each wire. */
static bool holds_bytes(const char *key, const json_t *value)
{
    static const char *const keys[] = {"data", "url", "image_url", "file_data"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (json_is_string(value) && strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

size_t fake_count_base64(const json_t *value)
{
    size_t bytes = 0, i;
    const char *key;
    json_t *member;
    if (json_is_array(value))
        json_array_foreach(value, i, member) bytes += fake_count_base64(member);
    else
        json_object_foreach((json_t *)(uintptr_t)value, key, member) bytes +=
            holds_bytes(key, member) ? json_string_length(member) : fake_count_base64(member);
    return bytes;
}

/* -- GLM: bare base64, no data: URL ------------------------------------------------------------ */
/* As if it had been a data: URL, so that what follows judges the bytes. */
static void make_url(json_t *holder, const char *bare)
{
    static const char *const rows[][2] = {{"iVBOR", "image/png"},
                                          {"/9j/", "image/jpeg"},
                                          {"R0lG", "image/gif"},
                                          {"UklG", "image/webp"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strncmp(bare, rows[i][0], strlen(rows[i][0])) == 0) {
            json_t *url = json_sprintf("data:%s;base64,%s", rows[i][1], bare);
            json_object_set_new(holder, "url", url);
            return;
        }
}

bool fake_take_bare_pictures(const json_t *messages)
{
    size_t i, k;
    json_t *message, *block;
    json_array_foreach(messages, i, message)
        json_array_foreach(json_object_get(message, "content"), k, block)
    {
        json_t *holder = json_object_get(block, "image_url");
        const char *url = text_of(holder, "url");
        if (strncmp(url, "data:", 5) == 0)
            return false;
        if (holder != NULL && strncmp(url, "https://", 8) != 0)
            make_url(holder, url);
    }
    return true;
}

const char *fake_check_pictures(const json_t *messages, bool is_blind)
{
    static char complaint[80];
    size_t count = fake_count_pictures(messages);
    if (count > 0 && is_blind)
        return "this model does not support image input";
    if (count <= COUNT_MAX)
        return NULL;
    snprintf(complaint, sizeof complaint, "Too many images in request: %zu > %d", count, COUNT_MAX);
    return complaint;
}
