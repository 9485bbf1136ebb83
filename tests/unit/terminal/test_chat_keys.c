/*
 * Aim: what a terminal sends becomes keys and text, in pieces of any size; what is not understood
 *      becomes nothing.
 * Method: sequences in, a transcript of the events out; each also byte by byte.
 */
#include "cli/chat_keys.h"
#include "support/check.h"

static void note(void *user, enum sma_chat_key key, struct sma_str text)
{
    static const char *const names[] = {
        [CHAT_KEY_TEXT] = "text",
        [CHAT_KEY_PASTE] = "paste",
        [CHAT_KEY_CONTROL] = "ctrl",
        [CHAT_KEY_ALT] = "alt",
        [CHAT_KEY_ENTER] = "enter",
        [CHAT_KEY_NEWLINE] = "newline",
        [CHAT_KEY_BACKSPACE] = "backspace",
        [CHAT_KEY_DELETE] = "delete",
        [CHAT_KEY_ERASE_WORD] = "eraseword",
        [CHAT_KEY_LEFT] = "left",
        [CHAT_KEY_RIGHT] = "right",
        [CHAT_KEY_UP] = "up",
        [CHAT_KEY_DOWN] = "down",
        [CHAT_KEY_WORD_LEFT] = "wordleft",
        [CHAT_KEY_WORD_RIGHT] = "wordright",
        [CHAT_KEY_HOME] = "home",
        [CHAT_KEY_END] = "end",
        [CHAT_KEY_ESCAPE] = "escape",
    };
    struct sma_buf *events = user;
    bool joins = key == CHAT_KEY_TEXT && events->len > 0 && events->ptr[events->len - 1] == ')' &&
                 strstr(events->ptr, "text(") != NULL && events->ptr[events->len - 2] != '(' &&
                 memrchr(events->ptr, 't', events->len) != NULL;
    if (joins) { /* a run of text may be told in pieces */
        const char *open = memrchr(events->ptr, '(', events->len);
        joins = open - events->ptr >= 4 && memcmp(open - 4, "text", 4) == 0;
    }
    if (joins)
        events->len--;
    else
        sma_buf_printf(events, "%s%s", events->len > 0 ? " " : "", names[key]);
    if (text.len > 0) {
        sma_buf_put_text(events, joins ? "" : "(");
        sma_buf_put_str(events, text);
        sma_buf_put_char(events, ')');
    }
}

static void check(const char *bytes, size_t len, const char *wanted)
{
    for (size_t piece = 1; piece <= len; piece += piece == 1 && len > 1 ? len - 1 : 1) {
        struct sma_chat_keys keys;
        struct sma_buf events;
        sma_chat_keys_init(&keys);
        sma_buf_init(&events, 1 << 20);
        for (size_t at = 0; at < len; at += piece)
            sma_chat_keys_take(&keys,
                               (struct sma_str){bytes + at, piece < len - at ? piece : len - at},
                               note, &events);
        sma_chat_keys_end(&keys, note, &events);
        CHECK_TEXT(wanted, events.len == 0 ? "" : events.ptr);
        CHECK_INT(-1, sma_chat_keys_wait_ms(&keys));
        sma_chat_keys_fini(&keys);
        sma_buf_fini(&events);
    }
}
#define IS(bytes, wanted) check(bytes, sizeof bytes - 1, wanted)

CASE(text_and_control_keys)
{
    IS("ab\r", "text(ab) enter");
    IS("你\x7f好", "text(你) backspace text(好)");
    IS("\x01\x05\x08\n", "ctrl(a) ctrl(e) backspace enter");
    IS("a\r\nb\n", "text(a) enter text(b) enter"); /* CR LF is one */
    IS("a\xff"
       "b\xE4\xBD",
       "text(ab)"); /* half a character at the end never comes */
    IS("\t\x1c\x1f", "");
}

CASE(sequences)
{
    IS("\x1b[A\x1bOB\x1b[C\x1b[D", "up down right left");
    IS("\x1b[H\x1b[F\x1b[1~\x1b[4~\x1b[3~", "home end home end delete");
    IS("\x1b[1;5C\x1b[1;3D", "wordright wordleft");
    IS("\x1b\r\x1b[13;2u\x1b[27;2;13~\x1b[13u", "newline newline newline enter");
    IS("\x1b[99;5u\x1b[98;3u\x1b[127;5u\x1b[97;1u", "ctrl(c) alt(b) eraseword text(a)");
    IS("\x1b[97;1:3u\x1b[13;2:1u", ""
                                   "newline"); /* a key that is let go */
    IS("\x1b"
       "b\x1b\x7f",
       "alt(b) eraseword");
    IS("\x1b", "escape");
}

CASE(what_is_not_understood_is_nothing)
{
    IS("\x1b[I\x1b[?1;2c\x1b[<0;1;1M\x1b[5~a", "text(a)");
    IS("\x1b]11;rgb:0/0/0\x07"
       "a\x1bP1$r\x1b\\b",
       "text(ab)");
    IS("\x1b[[Aa\x1b[12\rb", "text(a) enter text(b)");
    IS("\x1b[999999999999999999999;99999999999u", "");
}

CASE(pastes)
{
    IS("\x1b[200~a\rb\r\nc\x1b[201~d", "paste(a\nb\nc) text(d)");
    IS("\x1b[200~\x1b[31mx\x03\x04\x1b[201~", "paste([31mx)");
    IS("\x1b[200~never ended", "paste(never ended)");
    IS("\x1b[200~\x1b[201~a", "text(a)");
}

CASE(a_paste_is_cut_at_its_limit)
{
    struct sma_chat_keys keys;
    struct sma_buf events;
    char *big = malloc(CHAT_PASTE_BYTES_MAX + 100);
    CHECK(big != NULL);
    memset(big, 'x', CHAT_PASTE_BYTES_MAX + 100);
    sma_chat_keys_init(&keys);
    sma_buf_init(&events, 4 << 20);
    sma_chat_keys_take(&keys, SMA_STR("\x1b[200~"), note, &events);
    sma_chat_keys_take(&keys, (struct sma_str){big, CHAT_PASTE_BYTES_MAX + 100}, note, &events);
    sma_chat_keys_take(&keys, SMA_STR("\x1b[201~e"), note, &events);
    CHECK(events.len > CHAT_PASTE_BYTES_MAX - 100 && events.len < CHAT_PASTE_BYTES_MAX + 100);
    CHECK_TEXT("x) text(e)", events.ptr + events.len - 10);
    sma_chat_keys_fini(&keys);
    sma_buf_fini(&events);
    free(big);
}

CASES_MAIN
