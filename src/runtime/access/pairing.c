/* The rules of pairing.h. */
#include "runtime/access/pairing.h"

#include "sma/limits.h"
#include "sma/text.h"

#include <stdio.h>
#include <string.h>

#define ALPHABET_LEN (sizeof SMA_PAIRING_ALPHABET - 1)
#define PAIRING_MS (SMA_PAIRING_S * INT64_C(1000))
#define NOTICE_INTERVAL_NS (SMA_NOTICE_INTERVAL_S * UINT64_C(1000000000))
#define REMINDER_INTERVAL_NS (3600 * UINT64_C(1000000000))

/* -- codes ------------------------------------------------------------------------------------- */
struct sma_pairing_code sma_pairing_draw(uint64_t first, uint64_t second)
{
    struct sma_pairing_code code = {{0}};
    uint64_t numbers[] = {first, second};
    for (int i = 0; i < SMA_PAIRING_CODE_LEN; i++) {
        uint64_t *number = &numbers[i / (SMA_PAIRING_CODE_LEN / 2)];
        code.text[i] = SMA_PAIRING_ALPHABET[*number % ALPHABET_LEN];
        *number /= ALPHABET_LEN;
    }
    return code;
}

bool sma_pairing_read_code(struct sma_str typed, struct sma_pairing_code *ret_code)
{
    struct sma_pairing_code code = {{0}};
    if (typed.len != SMA_PAIRING_CODE_LEN)
        return false;
    for (size_t i = 0; i < SMA_PAIRING_CODE_LEN; i++) {
        char byte = typed.ptr[i];
        code.text[i] = (char)(byte >= 'a' && byte <= 'z' ? byte - 32 : byte);
        if (code.text[i] == '\0' || strchr(SMA_PAIRING_ALPHABET, code.text[i]) == NULL)
            return false;
    }
    *ret_code = code;
    return true;
}

bool sma_pairing_is_old(int64_t created_ms, int64_t now_ms)
{
    return now_ms - created_ms >= PAIRING_MS || created_ms - now_ms > PAIRING_MS;
}

bool sma_pairing_read_words(struct sma_str text, struct sma_pairing_words *ret_words)
{
    static const struct
    {
        const char *word;
        bool is_approved, is_only_pairing;
    } words[] = {
        {"pair", true, true},     {"配对", true, true},   {"approve", true, false},
        {"批准", true, false},    {"同意", true, false},  {"reject", false, false},
        {"refuse", false, false}, {"拒绝", false, false},
    };
    text = sma_str_trim(text);
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++) {
        struct sma_str word = sma_str(words[i].word);
        if (text.len <= word.len ||
            !sma_str_is_equal_nocase((struct sma_str){text.ptr, word.len}, word))
            continue;
        struct sma_str rest = {text.ptr + word.len, text.len - word.len};
        struct sma_pairing_words said = {.is_approved = words[i].is_approved,
                                         .is_only_pairing = words[i].is_only_pairing};
        bool has_blank = rest.ptr[0] == ' ' || (unsigned char)word.ptr[0] >= 0x80;
        if (!has_blank || !sma_pairing_read_code(sma_str_trim(rest), &said.code))
            continue;
        *ret_words = said;
        return true;
    }
    return false;
}

/* -- what a stranger sees ---------------------------------------------------------------------- */
bool sma_pairing_may_show(const struct sma_pairing_shown *shown)
{
    uint64_t interval_ns =
        shown->count < SMA_PAIRING_SHOWN_COUNT_MAX ? NOTICE_INTERVAL_NS : REMINDER_INTERVAL_NS;
    if (shown->is_group && shown->count >= SMA_PAIRING_GROUP_SHOWN_COUNT_MAX)
        return false;
    return !shown->has_last || shown->now_ns - shown->last_ns >= interval_ns;
}

enum sma_pairing_kept sma_pairing_keep(const struct sma_pairing_message *message)
{
    if (!message->is_message || message->is_group || message->has_more)
        return SMA_PAIRING_NOT_KEPT;
    return message->is_whole && message->kept_count < SMA_PAIRING_KEPT_COUNT_MAX
               ? SMA_PAIRING_KEPT
               : SMA_PAIRING_IS_MORE;
}

/* -- names of strangers ------------------------------------------------------------------------ */
/* What would end the quotes, the line, or the text's own markup, in one byte. */
static bool is_foreign_byte(char byte)
{
    return (unsigned char)byte < ' ' || byte == 127 || strchr("\"[]<>`*~|\\", byte) != NULL;
}

/* Characters that are not seen and change how others are: C1 controls, marks of direction and of
 * width. */
static bool is_invisible(const unsigned char *at)
{
    return (at[0] == 0xC2 && at[1] < 0xA0) ||
           (at[0] == 0xE2 && at[1] == 0x80 &&
            ((at[2] >= 0x8B && at[2] <= 0x8F) || (at[2] >= 0xA8 && at[2] <= 0xAE))) ||
           (at[0] == 0xE2 && at[1] == 0x81 && at[2] >= 0xA0 && at[2] <= 0xAF);
}

void sma_pairing_name(char *text, struct sma_str name)
{
    if (name.len > SMA_PAIRING_NAME_BYTES_MAX)
        name.len = sma_utf8_cut(name, SMA_PAIRING_NAME_BYTES_MAX);
    (void)snprintf(text, SMA_PAIRING_NAME_BYTES_MAX + 1, "%.*s", (int)name.len,
                   name.len == 0 ? "" : name.ptr);
    for (char *at = text; *at != '\0'; at++) {
        if (is_foreign_byte(*at))
            *at = ' ';
        else if (is_invisible((const unsigned char *)at))
            memset(at, ' ', (unsigned char)*at == 0xC2 ? 2 : 3);
    }
}

/* -- how much is kept of strangers ------------------------------------------------------------- */
enum sma_stranger_fate sma_stranger_fate(uint32_t of_one, uint32_t of_all)
{
    if (of_one > SMA_STRANGER_MESSAGE_COUNT_MAX)
        return SMA_STRANGER_SILENT;
    return of_all > SMA_STRANGERS_MESSAGE_COUNT_MAX ? SMA_STRANGER_UNKEPT : SMA_STRANGER_KEPT;
}
