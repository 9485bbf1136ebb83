#include "runtime/model/send_text.h"

enum
{
    AT_START,
    BEFORE_KEY,
    IN_KEY,
    BEFORE_COLON,
    BEFORE_VALUE,
    IN_TEXT,
    IN_OTHER,
    FINISHED,
};
#define KEY_DIFFERS 255

void sma_send_text_init(struct sma_send_text *reader, size_t bytes_max)
{
    *reader = (struct sma_send_text){.state = AT_START};
    sma_buf_init(&reader->text, bytes_max);
}

void sma_send_text_fini(struct sma_send_text *reader)
{
    sma_buf_fini(&reader->text);
}

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static void put_code_point(struct sma_buf *buf, uint32_t code)
{
    if (code < 0x80) {
        sma_buf_put_char(buf, (char)code);
    } else if (code < 0x800) {
        sma_buf_put_char(buf, (char)(0xc0 | code >> 6));
        sma_buf_put_char(buf, (char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        sma_buf_put_char(buf, (char)(0xe0 | code >> 12));
        sma_buf_put_char(buf, (char)(0x80 | (code >> 6 & 0x3f)));
        sma_buf_put_char(buf, (char)(0x80 | (code & 0x3f)));
    } else {
        sma_buf_put_char(buf, (char)(0xf0 | code >> 18));
        sma_buf_put_char(buf, (char)(0x80 | (code >> 12 & 0x3f)));
        sma_buf_put_char(buf, (char)(0x80 | (code >> 6 & 0x3f)));
        sma_buf_put_char(buf, (char)(0x80 | (code & 0x3f)));
    }
}

static void on_code_unit(struct sma_send_text *reader, uint32_t unit)
{
    if (reader->high != 0) {
        uint32_t high = reader->high;
        reader->high = 0;
        if (unit >= 0xdc00 && unit <= 0xdfff) {
            put_code_point(&reader->text, 0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00));
            return;
        }
        put_code_point(&reader->text, 0xfffd);
    }
    if (unit >= 0xd800 && unit <= 0xdbff) {
        reader->high = unit;
        return;
    }
    put_code_point(&reader->text, unit >= 0xdc00 && unit <= 0xdfff ? 0xfffd : unit);
}

static int hex_value(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static void on_escaped(struct sma_send_text *reader, char byte)
{
    static const char names[] = "bfnrt\"\\/", values[] = "\b\f\n\r\t\"\\/";
    if (reader->escape == 1) {
        if (byte == 'u') {
            reader->escape = 2;
            reader->code = 0;
            return;
        }
        const char *found = byte == '\0' ? NULL : strchr(names, byte);
        reader->escape = 0;
        if (found == NULL)
            reader->state = FINISHED;
        else
            on_code_unit(reader, (unsigned char)values[found - names]);
        return;
    }
    int digit = hex_value(byte);
    if (digit < 0) {
        reader->state = FINISHED;
        return;
    }
    reader->code = reader->code << 4 | (uint32_t)digit;
    if (reader->escape++ < 5)
        return;
    reader->escape = 0;
    on_code_unit(reader, reader->code);
}

static void on_text_byte(struct sma_send_text *reader, char byte)
{
    if (reader->escape != 0) {
        on_escaped(reader, byte);
        return;
    }
    if (byte == '\\') {
        reader->escape = 1;
        return;
    }
    if (reader->high != 0) {
        reader->high = 0;
        put_code_point(&reader->text, 0xfffd);
    }
    if (byte == '"')
        reader->state = FINISHED;
    else
        sma_buf_put_char(&reader->text, byte);
}

static void on_key_byte(struct sma_send_text *reader, char byte)
{
    static const char wanted[] = "text";
    if (byte == '"' && !reader->is_other_escaped) {
        reader->state = BEFORE_COLON;
        return;
    }
    reader->is_place |= reader->key_len == 0 && (byte == 'c' || byte == 'm');
    reader->is_other_escaped = byte == '\\' && !reader->is_other_escaped;
    bool is_next = reader->key_len < sizeof wanted - 1 && byte == wanted[reader->key_len];
    reader->key_len = is_next ? (uint8_t)(reader->key_len + 1) : KEY_DIFFERS;
}

/* A member we do not want: skip to the comma or brace that ends it. */
static void on_other_byte(struct sma_send_text *reader, char byte)
{
    if (reader->is_other_in_string) {
        bool was_escaped = reader->is_other_escaped;
        reader->is_other_escaped = byte == '\\' && !was_escaped;
        if (byte == '"' && !was_escaped)
            reader->is_other_in_string = false;
        return;
    }
    if (byte == '"') {
        reader->is_other_in_string = true;
        reader->is_other_escaped = false;
    } else if (byte == '{' || byte == '[') {
        reader->depth++;
    } else if (byte == '}' || byte == ']') {
        if (reader->depth == 0)
            reader->state = FINISHED;
        else
            reader->depth--;
    } else if (byte == ',' && reader->depth == 0) {
        reader->state = BEFORE_KEY;
    }
}

static void begin_value(struct sma_send_text *reader, char byte)
{
    if (reader->key_len == 4) {
        reader->state = byte == '"' ? IN_TEXT : FINISHED;
        return;
    }
    if (reader->is_place && byte != 'n') { /* null: it names none */
        reader->state = FINISHED;
        return;
    }
    reader->state = IN_OTHER;
    reader->depth = 0;
    reader->is_other_in_string = reader->is_other_escaped = false;
    on_other_byte(reader, byte);
}

static void on_byte(struct sma_send_text *reader, char byte)
{
    switch (reader->state) {
    case IN_TEXT:
        on_text_byte(reader, byte);
        return;
    case IN_OTHER:
        on_other_byte(reader, byte);
        return;
    case IN_KEY:
        on_key_byte(reader, byte);
        return;
    default:
        break;
    }
    if (is_space(byte))
        return;
    switch (reader->state) {
    case AT_START:
        reader->state = byte == '{' ? BEFORE_KEY : FINISHED;
        return;
    case BEFORE_KEY:
        reader->state = byte == '"' ? IN_KEY : FINISHED;
        reader->key_len = 0;
        reader->is_place = false;
        reader->is_other_escaped = false;
        return;
    case BEFORE_COLON:
        reader->state = byte == ':' ? BEFORE_VALUE : FINISHED;
        return;
    default:
        begin_value(reader, byte);
    }
}

void sma_send_text_feed(struct sma_send_text *reader, struct sma_str piece)
{
    for (size_t i = 0; i < piece.len && reader->state != FINISHED; i++)
        on_byte(reader, piece.ptr[i]);
}
