/* chat_keys.c — see chat_keys.h. One state machine, a byte at a time. Source: xterm, "XTerm Control
 * Sequences", and kitty, "Comprehensive keyboard handling in terminals". */
#include "chat_keys.h"

#include "sma/text.h"

#include <stdio.h>
#include <utf8proc.h>

#define ESC 0x1b
#define STRING_BYTES_MAX 4096 /* an answer of the terminal that does not end by then is given up */
#define PASTE_END "\x1b[201~"

enum
{
    GROUND,
    ESCAPED, /* ESC */
    CSI,     /* ESC [ */
    SS3,     /* ESC O */
    STRING,  /* ESC ] P X ^ _ up to BEL or ESC \ */
    STRING_ESCAPED,
    CONSOLE, /* ESC [ [: one letter of the Linux console follows */
    PASTE,
};

struct sink
{
    struct sma_chat_keys *keys;
    sma_chat_key_fn *each;
    void *user;
};

void sma_chat_keys_init(struct sma_chat_keys *keys)
{
    *keys = (struct sma_chat_keys){0};
    sma_buf_init(&keys->text, CHAT_PASTE_BYTES_MAX);
    sma_buf_init(&keys->paste, CHAT_PASTE_BYTES_MAX + sizeof PASTE_END);
}

void sma_chat_keys_fini(struct sma_chat_keys *keys)
{
    sma_buf_fini(&keys->text);
    sma_buf_fini(&keys->paste);
}

static void tell(const struct sink *sink, enum sma_chat_key key)
{
    sink->each(sink->user, key, SMA_STR(""));
}

static void tell_byte(const struct sink *sink, enum sma_chat_key key, char byte)
{
    sink->each(sink->user, key, (struct sma_str){&byte, 1});
}

/* -- text -------------------------------------------------------------------------------------- */
/* Append what of `text` is text. @return bytes at its end that may be the beginning of a
 * character */
static size_t put_text(struct sma_buf *buf, struct sma_str text, bool has_lines)
{
    for (size_t at = 0; at < text.len;) {
        utf8proc_int32_t code;
        size_t left = text.len - at;
        utf8proc_ssize_t len = utf8proc_iterate((const utf8proc_uint8_t *)text.ptr + at,
                                                (utf8proc_ssize_t)left, &code);
        if (len <= 0) {
            unsigned char first = (unsigned char)text.ptr[at];
            size_t whole = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 1;
            if (left < whole)
                return left;
            at++;
            continue;
        }
        bool is_text = code >= 0x20 && (code < 0x7F || code > 0x9F);
        if (is_text || (has_lines && (code == '\n' || code == '\t')))
            sma_buf_put(buf, text.ptr + at, (size_t)len);
        at += (size_t)len;
    }
    return 0;
}

/* Tell the run of text there is; a character that is not whole yet stays for the next bytes. */
static void flush_text(const struct sink *sink, bool is_over)
{
    struct sma_chat_keys *keys = sink->keys;
    struct sma_buf clean;
    if (keys->text.len == 0)
        return;
    sma_buf_init(&clean, CHAT_PASTE_BYTES_MAX);
    size_t left = put_text(&clean, sma_buf_str(&keys->text), false);
    char rest[4];
    left = is_over || left > sizeof rest ? 0 : left;
    memcpy(rest, keys->text.ptr + keys->text.len - left, left);
    sma_buf_clear(&keys->text);
    sma_buf_put(&keys->text, rest, left);
    if (clean.len > 0)
        sink->each(sink->user, CHAT_KEY_TEXT, sma_buf_str(&clean));
    sma_buf_fini(&clean);
}

/* Line ends of terminals and of Windows are line feeds from here on. */
static void end_paste(const struct sink *sink)
{
    struct sma_buf *paste = &sink->keys->paste, clean;
    size_t to = 0;
    for (size_t at = 0; at < paste->len; at++) {
        bool is_return = paste->ptr[at] == '\r';
        if (is_return && at + 1 < paste->len && paste->ptr[at + 1] == '\n')
            continue;
        paste->ptr[to++] = is_return ? '\n' : paste->ptr[at];
    }
    paste->len = to;
    sma_buf_init(&clean, CHAT_PASTE_BYTES_MAX + sizeof PASTE_END);
    (void)put_text(&clean, sma_buf_str(paste), true); /* half a character at the end goes */
    if (clean.len > 0)
        sink->each(sink->user, CHAT_KEY_PASTE, sma_buf_str(&clean));
    sma_buf_fini(&clean);
    sma_buf_clear(paste);
    sink->keys->state = GROUND;
}

static void take_pasted(const struct sink *sink, char byte)
{
    static const struct sma_str end = {PASTE_END, sizeof PASTE_END - 1};
    struct sma_buf *paste = &sink->keys->paste;
    if (paste->len >= CHAT_PASTE_BYTES_MAX + end.len - 1) { /* cut: keep only what may be the end */
        memmove(paste->ptr + paste->len - end.len, paste->ptr + paste->len - end.len + 1,
                end.len - 1);
        paste->len--;
    }
    sma_buf_put_char(paste, byte);
    if (byte != '~' || paste->len < end.len ||
        memcmp(paste->ptr + paste->len - end.len, end.ptr, end.len) != 0)
        return;
    paste->len -= end.len;
    end_paste(sink);
}

/* -- sequences --------------------------------------------------------------------------------- */
#define SHIFT 1u
#define ALT 2u
#define CTRL 4u

/* Numbers of a sequence: "27;2;13" ; sub-parameters after a colon of the last are kept apart. */
struct numbers
{
    unsigned value[3], event;
    unsigned count;
};

static struct numbers read_numbers(const struct sma_chat_keys *keys)
{
    struct numbers numbers = {.count = 1, .event = 1};
    bool is_sub = false;
    for (size_t i = 0; i < keys->sequence_len; i++) {
        char byte = keys->sequence[i];
        unsigned *value = &numbers.value[numbers.count - 1];
        if (byte == ';') {
            if (numbers.count == SMA_COUNT_OF(numbers.value))
                break;
            numbers.count++;
            is_sub = false;
        } else if (byte == ':') {
            if (numbers.count == 2)
                numbers.event = 0;
            is_sub = true;
        } else if (byte >= '0' && byte <= '9') {
            if (is_sub)
                value = &numbers.event;
            if (!is_sub || numbers.count == 2)
                *value = *value < 100000000 ? *value * 10 + (unsigned)(byte - '0') : *value;
        }
    }
    return numbers;
}

static void tell_letter(const struct sink *sink, unsigned code, unsigned modifiers)
{
    char letter = code < 0x80 ? (char)(code >= 'A' && code <= 'Z' ? code + 32 : code) : '\0';
    bool is_letter = letter >= 'a' && letter <= 'z';
    if ((modifiers & (CTRL | ALT)) == 0 && code >= 0x20) {
        uint8_t bytes[4];
        utf8proc_ssize_t len =
            code < 0xD800 || (code > 0xF8FF && code < 0x110000)
                ? utf8proc_encode_char((utf8proc_int32_t)code, bytes)
                : 0; /* others are keys without text: kitty names them by private characters */
        sma_buf_put(&sink->keys->text, bytes, (size_t)len);
        flush_text(sink, true);
    } else if (is_letter && (modifiers & CTRL) != 0) {
        if (letter == 'j' || letter == 'm')
            tell(sink, CHAT_KEY_ENTER);
        else if (letter == 'h')
            tell(sink, CHAT_KEY_BACKSPACE);
        else
            tell_byte(sink, CHAT_KEY_CONTROL, letter);
    } else if (is_letter) {
        tell_byte(sink, CHAT_KEY_ALT, letter);
    }
}

/* A key by its number: CSI code ; modifiers u, and CSI 27 ; modifiers ; code ~ */
static void tell_code(const struct sink *sink, unsigned code, unsigned modifiers)
{
    switch (code) {
    case '\r':
    case 57414: /* of the key pad */
        tell(sink, (modifiers & (SHIFT | ALT | CTRL)) != 0 ? CHAT_KEY_NEWLINE : CHAT_KEY_ENTER);
        break;
    case ESC:
        tell(sink, CHAT_KEY_ESCAPE);
        break;
    case 8:
    case 127:
        tell(sink, (modifiers & (ALT | CTRL)) != 0 ? CHAT_KEY_ERASE_WORD : CHAT_KEY_BACKSPACE);
        break;
    default:
        tell_letter(sink, code, modifiers);
    }
}

static void tell_tilde(const struct sink *sink, const struct numbers *numbers)
{
    unsigned modifiers = numbers->value[1] > 0 ? numbers->value[1] - 1 : 0;
    switch (numbers->value[0]) {
    case 1:
    case 7:
        tell(sink, CHAT_KEY_HOME);
        break;
    case 3:
        tell(sink, CHAT_KEY_DELETE);
        break;
    case 4:
    case 8:
        tell(sink, CHAT_KEY_END);
        break;
    case 27:
        if (numbers->count == 3)
            tell_code(sink, numbers->value[2], modifiers);
        break;
    case 200:
        sma_buf_clear(&sink->keys->paste);
        sink->keys->state = PASTE;
        break;
    default:
        break;
    }
}

static void tell_cursor(const struct sink *sink, char final, unsigned modifiers)
{
    bool is_word = (modifiers & (ALT | CTRL)) != 0;
    switch (final) {
    case 'A':
        tell(sink, CHAT_KEY_UP);
        break;
    case 'B':
        tell(sink, CHAT_KEY_DOWN);
        break;
    case 'C':
        tell(sink, is_word ? CHAT_KEY_WORD_RIGHT : CHAT_KEY_RIGHT);
        break;
    case 'D':
        tell(sink, is_word ? CHAT_KEY_WORD_LEFT : CHAT_KEY_LEFT);
        break;
    case 'H':
        tell(sink, CHAT_KEY_HOME);
        break;
    case 'F':
        tell(sink, CHAT_KEY_END);
        break;
    case 'M': /* SS3 M: Enter of the key pad */
        tell(sink, CHAT_KEY_ENTER);
        break;
    default:
        break;
    }
}

static void end_csi(const struct sink *sink, char final)
{
    struct sma_chat_keys *keys = sink->keys;
    struct numbers numbers = read_numbers(keys);
    unsigned modifiers = numbers.value[1] > 0 ? numbers.value[1] - 1 : 0;
    bool is_private = keys->sequence_len > 0 && keys->sequence[0] >= '<';
    keys->state = final == '[' && keys->sequence_len == 0 ? CONSOLE : GROUND;
    if (is_private || numbers.event == 3 || final == '[')
        return; /* an answer of the terminal, or a key that was let go */
    if (final == 'u')
        tell_code(sink, numbers.value[0], modifiers);
    else if (final == '~')
        tell_tilde(sink, &numbers);
    else if (final != 'M')
        tell_cursor(sink, final, modifiers);
}

static void take_escaped(const struct sink *sink, char byte)
{
    struct sma_chat_keys *keys = sink->keys;
    keys->sequence_len = keys->string_len = 0;
    keys->state = GROUND;
    if (byte == '[')
        keys->state = CSI;
    else if (byte == 'O')
        keys->state = SS3;
    else if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_')
        keys->state = STRING;
    else if (byte == ESC)
        keys->state = ESCAPED; /* the first one was a key of its own: it does nothing */
    else if (byte == '\r' || byte == '\n')
        tell(sink, CHAT_KEY_NEWLINE);
    else if (byte == 0x7f || byte == 0x08)
        tell(sink, CHAT_KEY_ERASE_WORD);
    else if (byte >= 'a' && byte <= 'z')
        tell_byte(sink, CHAT_KEY_ALT, byte);
}

static void take_control(const struct sink *sink, char byte)
{
    struct sma_chat_keys *keys = sink->keys;
    keys->state = GROUND;
    if (byte == ESC)
        keys->state = ESCAPED;
    else if (byte == '\r' || (byte == '\n' && !keys->is_after_return))
        tell(sink, CHAT_KEY_ENTER); /* LF: typed ahead while the terminal was not ours yet */
    else if (byte == 0x7f || byte == 0x08)
        tell(sink, CHAT_KEY_BACKSPACE);
    else if (byte >= 1 && byte <= 26 && byte != '\t' && byte != '\n')
        tell_byte(sink, CHAT_KEY_CONTROL, (char)('a' + byte - 1));
}

static void take_in_csi(const struct sink *sink, char byte)
{
    struct sma_chat_keys *keys = sink->keys;
    if (byte >= 0x40 && byte <= 0x7e)
        end_csi(sink, byte);
    else if (byte < 0x20 || byte > 0x7e)
        take_control(sink, byte); /* it was broken off */
    else if (keys->sequence_len < sizeof keys->sequence)
        keys->sequence[keys->sequence_len++] = byte;
}

static void take_in_string(const struct sink *sink, char byte)
{
    struct sma_chat_keys *keys = sink->keys;
    if (byte == '\a' || (keys->state == STRING_ESCAPED && byte == '\\') ||
        ++keys->string_len > STRING_BYTES_MAX)
        keys->state = GROUND;
    else
        keys->state = byte == ESC ? STRING_ESCAPED : STRING;
}

static void take_byte(const struct sink *sink, char byte)
{
    struct sma_chat_keys *keys = sink->keys;
    switch (keys->state) {
    case PASTE:
        take_pasted(sink, byte);
        return;
    case ESCAPED:
        take_escaped(sink, byte);
        return;
    case CSI:
        take_in_csi(sink, byte);
        return;
    case SS3:
        keys->state = GROUND;
        tell_cursor(sink, byte, 0);
        return;
    case CONSOLE:
        keys->state = GROUND;
        return;
    case STRING:
    case STRING_ESCAPED:
        take_in_string(sink, byte);
        return;
    default:
        break;
    }
    if ((unsigned char)byte >= 0x20 && byte != 0x7f) {
        sma_buf_put_char(&keys->text, byte);
        return;
    }
    flush_text(sink, true);
    take_control(sink, byte);
}

void sma_chat_keys_take(struct sma_chat_keys *keys, struct sma_str bytes, sma_chat_key_fn *each,
                        void *user)
{
    struct sink sink = {keys, each, user};
    for (size_t i = 0; i < bytes.len; i++) {
        take_byte(&sink, bytes.ptr[i]);
        keys->is_after_return = bytes.ptr[i] == '\r';
    }
    flush_text(&sink, false);
}

int sma_chat_keys_wait_ms(const struct sma_chat_keys *keys)
{
    if (keys->state == PASTE)
        return CHAT_PASTE_MS;
    return keys->state != GROUND || keys->text.len > 0 ? CHAT_ESCAPE_MS : -1;
}

void sma_chat_keys_end(struct sma_chat_keys *keys, sma_chat_key_fn *each, void *user)
{
    struct sink sink = {keys, each, user};
    uint8_t state = keys->state;
    flush_text(&sink, true);
    if (state == PASTE)
        end_paste(&sink);
    keys->state = GROUND;
    if (state == ESCAPED)
        tell(&sink, CHAT_KEY_ESCAPE);
}
