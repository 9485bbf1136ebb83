/* memory_text.c — see memory_text.h. */
#include "runtime/memory/memory_text.h"

#include "sma/limits.h"
#include "sma/text.h"

static const char *const kinds[SMA_MEMORY_KIND_COUNT] = {
    [SMA_MEMORY_FACT] = "fact",
    [SMA_MEMORY_PREFERENCE] = "preference",
    [SMA_MEMORY_ENTITY] = "entity",
    [SMA_MEMORY_TASK] = "task",
};

const char *sma_memory_kind_name(enum sma_memory_kind kind)
{
    return kinds[kind < SMA_MEMORY_KIND_COUNT ? kind : SMA_MEMORY_FACT];
}

bool sma_memory_kind_find(struct sma_str name, enum sma_memory_kind *ret_kind)
{
    for (int i = 0; i < SMA_MEMORY_KIND_COUNT; i++) {
        if (!sma_str_is_equal_nocase(name, sma_str(kinds[i])))
            continue;
        *ret_kind = (enum sma_memory_kind)i;
        return true;
    }
    return false;
}

bool sma_memory_is_readable(struct sma_str bytes)
{
    return bytes.len == 0 ||
           (memchr(bytes.ptr, '\0', bytes.len) == NULL && sma_utf8_is_valid(bytes));
}

/* -- reading ----------------------------------------------------------------------------------- */
void sma_memory_reader_init(struct sma_memory_reader *reader, struct sma_str bytes)
{
    *reader = (struct sma_memory_reader){.bytes = bytes};
    if (sma_str_starts_with(bytes, SMA_STR("\xEF\xBB\xBF")))
        reader->at = 3;
    sma_buf_init(&reader->group, SMA_MEMORY_FILE_BYTES_MAX);
}

void sma_memory_reader_fini(struct sma_memory_reader *reader)
{
    sma_buf_fini(&reader->group);
}

static size_t find(struct sma_str text, const char *word)
{
    const char *at = text.len == 0 ? NULL : memmem(text.ptr, text.len, word, strlen(word));
    return at == NULL ? SIZE_MAX : (size_t)(at - text.ptr);
}

static struct sma_str skip(struct sma_str text, size_t count)
{
    return (struct sma_str){text.ptr + count, text.len - count};
}

/* "importance 7", "in telegram%3A-1", "tags tea drinks", "preference", "2026-11-23" */
static bool read_word(struct sma_memory_reader *reader, struct sma_str word,
                      struct sma_memory_line *line)
{
    int64_t number;
    if (sma_memory_kind_find(word, &line->kind))
        return true;
    if (sma_str_starts_with(word, SMA_STR("importance "))) {
        if (sma_parse_i64(sma_str_trim(skip(word, 11)), 1, 10, &number) == SMA_ERR_OK)
            line->importance = (uint8_t)number;
    } else if (sma_str_starts_with(word, SMA_STR("tags "))) {
        line->tags = sma_str_trim(skip(word, 5));
    } else if (sma_str_starts_with(word, SMA_STR("in "))) {
        sma_buf_clear(&reader->group);
        if (sma_buf_put_file_name_decoded(&reader->group, sma_str_trim(skip(word, 3))) !=
                SMA_ERR_OK ||
            reader->group.err != SMA_ERR_OK || reader->group.len == 0)
            return false;
        line->group = sma_buf_str(&reader->group);
    }
    return true;
}

/* Takes the mark off line->text. false: it is broken. */
static bool read_mark(struct sma_memory_reader *reader, struct sma_memory_line *line)
{
    size_t at = find(line->text, "<!--");
    while (at != SIZE_MAX) {
        struct sma_str mark = sma_str_trim(skip(line->text, at + 4));
        if (sma_str_starts_with(mark, SMA_STR("memory:")))
            break;
        size_t next = find(skip(line->text, at + 4), "<!--");
        at = next == SIZE_MAX ? SIZE_MAX : at + 4 + next;
    }
    if (at == SIZE_MAX)
        return true;
    struct sma_str mark = sma_str_trim(skip(line->text, at + 4));
    size_t end = find(mark, "-->");
    line->text = sma_str_trim((struct sma_str){line->text.ptr, at});
    if (end == SIZE_MAX)
        return false;
    mark = (struct sma_str){mark.ptr + 7, end >= 7 ? end - 7 : 0};
    while (mark.len > 0) {
        const char *comma = memchr(mark.ptr, ',', mark.len);
        size_t len = comma == NULL ? mark.len : (size_t)(comma - mark.ptr);
        if (!read_word(reader, sma_str_trim((struct sma_str){mark.ptr, len}), line))
            return false;
        mark = skip(mark, comma == NULL ? len : len + 1);
    }
    return true;
}

/* Fences of code and comments over several lines hold no facts. */
static bool is_aside(struct sma_memory_reader *reader, struct sma_str line)
{
    if (reader->is_in_comment) {
        reader->is_in_comment = find(line, "-->") == SIZE_MAX;
        return true;
    }
    if (sma_str_starts_with(line, SMA_STR("```")) || sma_str_starts_with(line, SMA_STR("~~~"))) {
        reader->is_in_fence = !reader->is_in_fence;
        return true;
    }
    if (reader->is_in_fence)
        return true;
    if (!sma_str_starts_with(line, SMA_STR("<!--")))
        return false;
    reader->is_in_comment = find(line, "-->") == SIZE_MAX;
    return true;
}

bool sma_memory_reader_next(struct sma_memory_reader *reader, struct sma_memory_line *ret_line)
{
    while (reader->at < reader->bytes.len) {
        struct sma_str rest = skip(reader->bytes, reader->at);
        const char *feed = memchr(rest.ptr, '\n', rest.len);
        size_t len = feed == NULL ? rest.len : (size_t)(feed - rest.ptr) + 1;
        struct sma_memory_line line = {.start = reader->at,
                                       .end = reader->at + len,
                                       .importance = SMA_MEMORY_IMPORTANCE_USUAL};
        reader->at += len;
        struct sma_str shown = sma_str_trim((struct sma_str){rest.ptr, len});
        if (is_aside(reader, shown) || shown.len < 3 || memchr("-*+", shown.ptr[0], 3) == NULL ||
            (shown.ptr[1] != ' ' && shown.ptr[1] != '\t'))
            continue;
        line.text = sma_str_trim(skip(shown, 2));
        if (!read_mark(reader, &line)) {
            reader->broken_count++;
            continue;
        }
        if (line.text.len == 0)
            continue;
        *ret_line = line;
        return true;
    }
    return false;
}

/* -- writing ----------------------------------------------------------------------------------- */
void sma_memory_put_clean(struct sma_buf *buf, struct sma_str text)
{
    size_t start = buf->len;
    text = sma_str_trim(text);
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        bool is_blank = byte <= ' ' || byte == 0x7F;
        if (is_blank && buf->len > start && buf->ptr[buf->len - 1] == ' ')
            continue;
        if (byte == '>' && buf->len >= start + 2 && memcmp(buf->ptr + buf->len - 2, "--", 2) == 0)
            sma_buf_put_char(buf, ' ');
        if (byte == '!' && buf->len > start && buf->ptr[buf->len - 1] == '<')
            sma_buf_put_char(buf, ' ');
        sma_buf_put_char(buf, is_blank ? ' ' : (char)byte);
        if (buf->err != SMA_ERR_OK)
            return;
    }
}

static void put_date(struct sma_buf *buf, int64_t wall_ms)
{
    struct sma_buf time;
    sma_buf_init(&time, 64);
    sma_buf_put_iso_time(&time, wall_ms);
    if (time.err == SMA_ERR_OK && time.len >= 10)
        sma_buf_put_str(buf, (struct sma_str){time.ptr, 10});
    sma_buf_fini(&time);
}

void sma_memory_put_line(struct sma_buf *buf, const struct sma_memory_line *line, int64_t wall_ms)
{
    sma_buf_put_text(buf, "- ");
    sma_buf_put_str(buf, line->text);
    sma_buf_put_text(buf, " <!-- memory: ");
    sma_buf_put_text(buf, sma_memory_kind_name(line->kind));
    sma_buf_printf(buf, ", importance %u, ", line->importance);
    put_date(buf, wall_ms);
    if (line->group.len > 0) {
        sma_buf_put_text(buf, ", in ");
        size_t at = buf->len;
        sma_buf_put_file_name(buf, line->group);
        /* "--" would end a comment too early in some readers */
        for (size_t i = at; buf->err == SMA_ERR_OK && i + 1 < buf->len; i++)
            SMA_ASSERT(buf->ptr[i] != '>' && buf->ptr[i] != ',');
    }
    if (line->tags.len > 0) {
        sma_buf_put_text(buf, ", tags ");
        sma_buf_put_str(buf, line->tags);
    }
    sma_buf_put_text(buf, " -->\n");
}
