/* wire_part.c — see wire_part.h. */
#include "runtime/model/wire_part.h"

#include "wire_priv.h"

#define HASH_LEN 64
#define SIDE_MAX 1568 /* what every provider takes without scaling it again */
#define PART_BYTES_MAX (4608 * 1024)
#define MIB (1024 * 1024)

/* -- what a target takes ----------------------------------------------------------------------- */
void sma_part_limits_of(const struct sma_target *target, struct sma_part_limits *ret_limits)
{
    static const struct
    {
        enum sma_host host;
        uint32_t count;
        uint64_t bytes;
    } rows[] = {{SMA_HOST_ANTHROPIC, 100, 24 * MIB}, {SMA_HOST_OPENAI, 100, 48 * MIB},
                {SMA_HOST_AZURE, 50, 24 * MIB},      {SMA_HOST_GEMINI, 100, 16 * MIB},
                {SMA_HOST_DEEPSEEK, 30, 32 * MIB},   {SMA_HOST_MOONSHOT, 30, 24 * MIB},
                {SMA_HOST_OPENROUTER, 30, 16 * MIB}};
    *ret_limits = (struct sma_part_limits){.max_side = SIDE_MAX,
                                           .max_bytes = PART_BYTES_MAX,
                                           .count_max = 20,
                                           .total_bytes = 16 * MIB};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        if (rows[i].host == target->profile.host) {
            ret_limits->count_max = rows[i].count;
            ret_limits->total_bytes = rows[i].bytes;
        }
}

static bool is_one_of(struct sma_str text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sma_str_is_equal(text, sma_str(list[i])))
            return true;
    return false;
}

static bool is_taken_image(const struct sma_target *target, struct sma_str mime)
{
    static const char *const types[] = {"image/jpeg", "image/png", "image/gif", "image/webp"};
    bool has_eyes = target->profile.has_images || !target->profile.is_known; /* to be tried */
    return has_eyes && !sma_target_refuses(target, SMA_REFUSES_IMAGES) &&
           (mime.len == 0 || is_one_of(mime, types, SMA_COUNT_OF(types)));
}

/* Of those who speak the chat wire few take files. */
static bool is_taken_file(const struct sma_target *target, struct sma_str mime)
{
    enum sma_host host = target->profile.host;
    bool is_chat = target->wire == &sma_wire_chat;
    bool has_place = !is_chat || host == SMA_HOST_OPENAI || host == SMA_HOST_AZURE ||
                     host == SMA_HOST_OPENROUTER;
    return has_place && target->profile.has_pdf &&
           !sma_target_refuses(target, SMA_REFUSES_DOCUMENTS) &&
           (mime.len == 0 || sma_str_is_equal(mime, SMA_STR("application/pdf")));
}

struct sma_str sma_part_sound_format(const struct sma_part *part)
{
    static const char *const waves[] = {"audio/wav", "audio/x-wav", "audio/wave"};
    return is_one_of(part->mime, waves, SMA_COUNT_OF(waves)) ? SMA_STR("wav") : SMA_STR("mp3");
}

static bool is_taken_sound(const struct sma_target *target, struct sma_str mime)
{
    static const char *const types[] = {"audio/wav", "audio/x-wav", "audio/wave", "audio/mpeg",
                                        "audio/mp3"};
    return target->wire == &sma_wire_chat && target->profile.has_audio &&
           !sma_target_refuses(target, SMA_REFUSES_AUDIO) &&
           (mime.len == 0 || is_one_of(mime, types, SMA_COUNT_OF(types)));
}

bool sma_part_is_taken(const struct sma_target *target, uint8_t kind, struct sma_str mime)
{
    if (target != NULL && sma_target_refuses(target, SMA_REFUSES_LISTS))
        return false;
    if (kind == SMA_PART_IMAGE)
        return is_taken_image(target, mime);
    if (kind == SMA_PART_FILE)
        return is_taken_file(target, mime);
    return kind == SMA_PART_AUDIO && is_taken_sound(target, mime);
}

bool sma_part_is_shown(const struct sma_target *target, const struct sma_part *part)
{
    return part->note.len == 0 && part->hash.len == HASH_LEN &&
           sma_part_is_taken(target, part->kind, part->mime);
}

/* -- the line ---------------------------------------------------------------------------------- */
const char *sma_part_word(uint8_t kind)
{
    return kind == SMA_PART_IMAGE ? "picture" : kind == SMA_PART_AUDIO ? "sound" : "file";
}

/* Names are their senders': what could end the line or its brackets is left out. */
static void put_name(struct sma_buf *buf, struct sma_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char byte = (unsigned char)name.ptr[i];
        sma_buf_put_char(buf, byte < 0x20 || byte == '[' || byte == ']' ? '_' : name.ptr[i]);
    }
}

static void put_reason(struct sma_buf *buf, const struct sma_target *target,
                       const struct sma_part *part)
{
    if (part->note.len > 0)
        sma_buf_put_str(buf, part->note);
    else if (part->kind == SMA_PART_IMAGE &&
             !sma_part_is_taken(target, part->kind, (struct sma_str){0}))
        sma_buf_put_text(buf, "not shown, this model does not see pictures");
    else if (part->kind == SMA_PART_AUDIO)
        sma_buf_put_text(buf, "not played, this model does not hear");
    else
        sma_buf_put_text(buf, "not shown; tools can read the file");
}

void sma_part_put_line(struct sma_buf *buf, const struct sma_target *target,
                       const struct sma_part *part)
{
    if (part->note.len > 0 && part->note.ptr[0] == '[') { /* a line already */
        sma_buf_put_str(buf, part->note);
        return;
    }
    sma_buf_printf(buf, "[%s", sma_part_word(part->kind));
    if (part->name.len > 0) {
        sma_buf_put_text(buf, " \"");
        put_name(buf, part->name);
        sma_buf_put_char(buf, '"');
    }
    if (part->path.len > 0) {
        sma_buf_put_text(buf, ", file ");
        put_name(buf, part->path);
    }
    sma_buf_put_text(buf, ": ");
    put_reason(buf, target, part);
    sma_buf_put_char(buf, ']');
}

/* -- cost -------------------------------------------------------------------------------------- */
/* Patches of this size when the picture is scaled to side and patches at most. */
static uint32_t count_patches(double width, double height, double patch, double side, double most)
{
    double longest = width > height ? width : height;
    double scale = longest > side ? side / longest : 1;
    double count = (double)(uint32_t)((width * scale + patch - 1) / patch) *
                   (double)(uint32_t)((height * scale + patch - 1) / patch);
    return (uint32_t)(count > most ? most : count);
}

/* 512-pixel tiles after fitting into 2048 and, for the short side, 768. */
static uint32_t count_tiles(double width, double height)
{
    double longest = width > height ? width : height, shortest = width + height - longest;
    double scale = longest > 2048 ? 2048 / longest : 1;
    if (shortest * scale > 768)
        scale = 768 / shortest;
    return (uint32_t)((longest * scale + 511) / 512) * (uint32_t)((shortest * scale + 511) / 512);
}

/* Claude 4.7 and later look at finer pictures. */
static bool is_fine(const struct sma_profile *profile)
{
    return profile->binds_thinking || profile->sampling == SMA_SAMPLING_NEVER ||
           profile->thinking == SMA_THINKING_ADAPTIVE || profile->thinking == SMA_THINKING_ON ||
           profile->thinking == SMA_THINKING_BETWEEN;
}

static uint32_t image_tokens(const struct sma_profile *profile, double width, double height)
{
    switch (profile->host) {
    case SMA_HOST_ANTHROPIC:
        return is_fine(profile) ? count_patches(width, height, 28, 2576, 4784)
                                : count_patches(width, height, 28, 1568, 1568);
    case SMA_HOST_OPENAI:
    case SMA_HOST_AZURE:
        return profile->is_reasoning ? count_patches(width, height, 32, 6000, 10000) * 6 / 5
                                     : 85 + 170 * count_tiles(width, height);
    case SMA_HOST_GEMINI:
        return 1101;
    case SMA_HOST_DEEPSEEK:
        return 384;
    case SMA_HOST_MOONSHOT:
        return 1024;
    case SMA_HOST_QWEN:
    case SMA_HOST_ZHIPU:
        return count_patches(width, height, 28, 1568, 16384);
    default:
        return count_patches(width, height, 28, 1568, 3136);
    }
}

#define TOKENS_OF_PDF_PAGE 2000 /* its picture and its text */
#define TOKENS_OF_SOUND 1500

uint32_t sma_part_tokens(const struct sma_profile *profile, const struct sma_part *part)
{
    if (part->kind == SMA_PART_IMAGE) {
        bool is_known = part->width > 0 && part->height > 0;
        return image_tokens(profile, is_known ? part->width : SIDE_MAX,
                            is_known ? part->height : SIDE_MAX);
    }
    if (part->kind == SMA_PART_AUDIO)
        return TOKENS_OF_SOUND;
    uint32_t pages = part->width > 0 ? part->width : (uint32_t)(part->length / (64 * 1024)) + 1;
    return pages > 1000 ? 1000 * TOKENS_OF_PDF_PAGE : pages * TOKENS_OF_PDF_PAGE;
}

/* -- markers ----------------------------------------------------------------------------------- */
void sma_part_put_marker(struct sma_buf *buf, const struct sma_part *part)
{
    sma_buf_put_text(buf, SMA_PART_MARKER);
    sma_buf_put_str(buf, part->hash);
}

static bool is_hash(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!((text.ptr[i] >= '0' && text.ptr[i] <= '9') ||
              (text.ptr[i] >= 'a' && text.ptr[i] <= 'f')))
            return false;
    return text.len == HASH_LEN;
}

/* Words of people may hold a marker, too: it counts only as the end of the value of a member that
 * holds bytes. In a text a quote has a backslash before it. */
static bool is_in_place(struct sma_str text, size_t start)
{
    static const char *const members[] = {
        "\"url\":", "\"image_url\":", "\"data\":", "\"file_data\":"};
    size_t at = start;
    while (at > 0 && start - at < 100 && text.ptr[at - 1] != '"')
        at--;
    if (at < 2 || text.ptr[at - 1] != '"' || text.ptr[at - 2] == '\\')
        return false;
    struct sma_str before = {text.ptr, at - 1};
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++) {
        size_t len = strlen(members[i]);
        if (before.len > len && memcmp(before.ptr + before.len - len, members[i], len) == 0)
            return before.ptr[before.len - len - 1] != '\\';
    }
    return false;
}

bool sma_part_find_marker(struct sma_str text, size_t *at, size_t *ret_start,
                          struct sma_str *ret_hash)
{
    static const size_t word = sizeof SMA_PART_MARKER - 1;
    while (*at + word + HASH_LEN < text.len) {
        const char *found = memmem(text.ptr + *at, text.len - *at, SMA_PART_MARKER, word);
        if (found == NULL)
            return false;
        size_t start = (size_t)(found - text.ptr), end = start + word + HASH_LEN;
        *at = start + word;
        if (end >= text.len || text.ptr[end] != '"')
            continue;
        *ret_hash = (struct sma_str){found + word, HASH_LEN};
        if (!is_hash(*ret_hash) || !is_in_place(text, start))
            continue;
        *ret_start = start;
        *at = end;
        return true;
    }
    return false;
}

/* -- in messages ------------------------------------------------------------------------------- */
void sma_wire_put_data_url(struct sma_buf *buf, const struct sma_part *part)
{
    sma_buf_put_text(buf, "\"data:");
    sma_buf_put_json_escaped(buf, part->mime);
    sma_buf_put_text(buf, ";base64,");
    sma_part_put_marker(buf, part);
    sma_buf_put_char(buf, '"');
}

void sma_wire_put_file_name(struct sma_buf *buf, const char *member, const struct sma_part *part)
{
    struct sma_str name = part->name.len > 0 ? part->name : part->path;
    for (size_t i = name.len; i > 0; i--)
        if (name.ptr[i - 1] == '/') {
            name = (struct sma_str){name.ptr + i, name.len - i};
            break;
        }
    sma_buf_printf(buf, "\"%s\":", member);
    sma_buf_put_json_string(buf, name.len > 0 ? name : SMA_STR("file.pdf"));
}

static void put_comma(struct sma_buf *buf)
{
    if (buf->len > 0 && buf->ptr[buf->len - 1] != '[')
        sma_buf_put_char(buf, ',');
}

void sma_wire_put_text_part(struct sma_buf *buf, const char *type, struct sma_str text)
{
    put_comma(buf);
    sma_buf_printf(buf, "{\"type\":\"%s\",\"text\":", type);
    sma_buf_put_json_string(buf, text);
    sma_buf_put_char(buf, '}');
}

static void put_either(struct sma_buf *buf, const struct sma_wire *wire,
                       const struct sma_target *target, const struct sma_part *part)
{
    put_comma(buf);
    if (sma_part_is_shown(target, part)) {
        wire->put_part(buf, target, part);
        return;
    }
    sma_buf_printf(buf, "{\"type\":\"%s\",\"text\":", wire->text_type);
    struct sma_buf line;
    sma_buf_init(&line, 6 * (part->name.len + part->path.len + part->note.len) + 1024);
    sma_part_put_line(&line, target, part);
    sma_buf_put_json_string(buf, sma_buf_str(&line));
    if (line.err != SMA_ERR_OK)
        buf->err = line.err;
    sma_buf_fini(&line);
    sma_buf_put_char(buf, '}');
}

void sma_wire_put_result_parts(struct sma_buf *buf, const struct sma_wire *wire,
                               const struct sma_target *target,
                               const struct sma_tool_result *result)
{
    for (uint32_t i = 0; i < result->part_count; i++)
        put_either(buf, wire, target, &result->parts[i]);
}

/* Nothing of them is shown: the texts and a line for each file, as one text. */
static void put_as_text(struct sma_buf *buf, const struct sma_wire *wire,
                        const struct sma_target *target, const struct sma_str *blocks,
                        size_t block_count, const struct sma_block_part *parts, size_t part_count)
{
    struct sma_buf text;
    sma_buf_init(&text, buf->max);
    for (size_t i = 0; i <= block_count; i++) {
        for (size_t k = 0; k < part_count; k++) {
            if (parts[k].block != i && (i < block_count || parts[k].block <= i))
                continue;
            sma_buf_put_text(&text, text.len > 0 ? "\n\n" : "");
            sma_part_put_line(&text, target, parts[k].part);
        }
        if (i < block_count && blocks[i].len > 0) {
            sma_buf_put_text(&text, text.len > 0 ? "\n\n" : "");
            sma_buf_put_str(&text, blocks[i]);
        }
    }
    struct sma_str whole = sma_buf_str(&text);
    if (text.err != SMA_ERR_OK)
        buf->err = text.err;
    else
        wire->put_user(buf, target, &whole, 1);
    sma_buf_fini(&text);
}

void sma_wire_put_user_parts(struct sma_buf *buf, const struct sma_wire *wire,
                             const struct sma_target *target, const struct sma_str *blocks,
                             size_t block_count, const struct sma_block_part *parts,
                             size_t part_count)
{
    /* The model without a network tells the blocks apart: it gets the list. */
    bool is_offline = target != NULL && target->llm->api == SMA_LLM_OFFLINE;
    bool is_text = wire == &sma_wire_chat && !is_offline && !sma_wire_has_marks(target);
    for (size_t k = 0; k < part_count && is_text; k++)
        is_text = !sma_part_is_shown(target, parts[k].part);
    if (part_count > 0 && is_text) {
        put_as_text(buf, wire, target, blocks, block_count, parts, part_count);
        return;
    }
    if (part_count == 0) {
        wire->put_user(buf, target, blocks, block_count);
        return;
    }
    sma_buf_put_text(buf, "{\"role\":\"user\",\"content\":[");
    for (size_t i = 0; i <= block_count; i++) {
        for (size_t k = 0; k < part_count; k++)
            if (parts[k].block == i || (i == block_count && parts[k].block > i))
                put_either(buf, wire, target, parts[k].part);
        if (i < block_count && blocks[i].len > 0)
            sma_wire_put_text_part(buf, wire->text_type, blocks[i]);
    }
    sma_buf_put_text(buf, "]}");
}
