/* clean.c — what servers say, made fit to be read; names on the wire. */
#include "catalogue.h"

#include "sma/text.h"

#define REPLACEMENT "\xEF\xBF\xBD"

/* A well-formed character of `left` > 0 bytes. @return its length, 0: it is not one */
static size_t read_point(const unsigned char *bytes, size_t left, uint32_t *ret_point)
{
    unsigned char first = bytes[0];
    size_t len = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (len == 0 || len > left || !sma_utf8_is_valid((struct sma_str){(const char *)bytes, len}))
        return 0;
    uint32_t point = len == 1 ? first : (uint32_t)first & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        point = point << 6 | (bytes[i] & 0x3Fu);
    *ret_point = point;
    return len;
}

static bool is_control(uint32_t point)
{
    return (point < 0x20 && point != '\n') || (point >= 0x7F && point < 0xA0);
}

void sma_mcp_put_clean(struct sma_buf *buf, struct sma_str text, size_t max_bytes)
{
    static const char more[] = "…";
    size_t room = max_bytes < sizeof more ? 0 : max_bytes - (sizeof more - 1);
    size_t begin = buf->len, cut = buf->len; /* cut: where the text ends if it has to */
    uint32_t before = 0;
    for (size_t at = 0; at < text.len && buf->err == SMA_ERR_OK;) {
        const unsigned char *bytes = (const unsigned char *)text.ptr + at;
        uint32_t point = 0xFFFD;
        size_t len = read_point(bytes, text.len - at, &point);
        at += len == 0 ? 1 : len;
        if (point == '\r' || sma_point_misleads(point, before))
            continue;
        before = point;
        struct sma_str piece = len == 0            ? SMA_STR(REPLACEMENT)
                               : is_control(point) ? SMA_STR(" ")
                                                   : (struct sma_str){(const char *)bytes, len};
        if (buf->len - begin + piece.len > max_bytes) {
            buf->len = cut;
            sma_buf_put_text(buf, max_bytes < sizeof more ? "" : more);
            return;
        }
        sma_buf_put_str(buf, piece);
        if (buf->len - begin <= room)
            cut = buf->len;
    }
}

bool sma_mcp_is_name(struct sma_str name)
{
    if (name.len == 0 || name.len > SMA_MCP_NAME_BYTES_MAX || sma_str_trim(name).len != name.len)
        return false;
    uint32_t before = 0;
    for (size_t at = 0; at < name.len;) {
        uint32_t point;
        size_t len = read_point((const unsigned char *)name.ptr + at, name.len - at, &point);
        if (len == 0 || point == '\n' || is_control(point) || sma_point_misleads(point, before))
            return false;
        before = point;
        at += len;
    }
    return true;
}

/* -- names on the wire ------------------------------------------------------------------------- */
static bool is_wire_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '_' || byte == '-';
}

static bool is_wire_text(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_wire_byte(text.ptr[i]))
            return false;
    return true;
}

/* The first "__" behind the prefix must be the one between the two, or another pair could read
 * alike. */
static bool is_clear(struct sma_str server)
{
    for (size_t i = 0; i + 1 < server.len; i++)
        if (server.ptr[i] == '_' && server.ptr[i + 1] == '_')
            return false;
    return server.len > 0 && server.ptr[server.len - 1] != '_';
}

static void put_wire_bytes(struct sma_buf *buf, struct sma_str text, size_t max_bytes)
{
    for (size_t i = 0; i < text.len && i < max_bytes; i++)
        sma_buf_put_char(buf, is_wire_byte(text.ptr[i]) ? text.ptr[i] : '_');
}

static uint32_t hash_names(struct sma_str server, struct sma_str tool, unsigned salt)
{
    uint8_t key[16] = "mcp wire name  ";
    key[15] = (uint8_t)salt;
    uint64_t of_server = sma_siphash(key, server.ptr, server.len);
    memcpy(key, &of_server, sizeof of_server);
    return (uint32_t)sma_siphash(key, tool.ptr, tool.len);
}

#define PREFIX "mcp__"
#define BETWEEN "__"
#define HASH_BYTES 9 /* "_01234567" */
#define CUT_SERVER_BYTES 24

void sma_mcp_put_wire_name(struct sma_buf *buf, struct sma_str server, struct sma_str tool,
                           unsigned salt)
{
    size_t begin = buf->len, fixed = sizeof PREFIX - 1 + sizeof BETWEEN - 1;
    bool is_plain = salt == 0 && is_wire_text(server) && is_wire_text(tool) && is_clear(server) &&
                    fixed + server.len + tool.len <= SMA_MCP_WIRE_BYTES_MAX;
    sma_buf_put_text(buf, PREFIX);
    put_wire_bytes(buf, server, is_plain ? server.len : CUT_SERVER_BYTES);
    sma_buf_put_text(buf, BETWEEN);
    if (is_plain) {
        sma_buf_put_str(buf, tool);
        return;
    }
    put_wire_bytes(buf, tool, SMA_MCP_WIRE_BYTES_MAX - HASH_BYTES - (buf->len - begin));
    sma_buf_printf(buf, "_%08x", (unsigned)hash_names(server, tool, salt));
}
