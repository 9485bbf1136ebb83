/* text.c — small text facts: UTF-8, file names, stamps, numbers, hash, edit distance. */
#include "sma/text.h"
#include "base_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Bytes of ASCII at the beginning, in whole words: most text is nothing else, and a word costs what
 * a byte does. */
static size_t skip_ascii(const unsigned char *bytes, size_t len)
{
    size_t at = 0;
    for (uint64_t word; len - at >= sizeof word; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        if ((word & UINT64_C(0x8080808080808080)) != 0)
            break;
    }
    return at;
}

bool sma_utf8_is_valid(struct sma_str text)
{
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    for (size_t at = 0; at < text.len;) {
        at += skip_ascii(bytes + at, text.len - at);
        if (at == text.len)
            break;
        int step = sma_utf8_step(bytes + at, text.len - at);
        if (step < 0)
            return false;
        at += (size_t)step;
    }
    return true;
}

bool sma_point_misleads(uint32_t point, uint32_t before)
{
    static const uint32_t ranges[][2] = {
        {0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},   {0x115F, 0x1160}, {0x180E, 0x180E},
        {0x200B, 0x200B}, {0x200E, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F}, {0x2800, 0x2800},
        {0x3164, 0x3164}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
    };
    if (point == 0x200C || point == 0x200D) /* joiners */
        return before < 0x80;
    for (size_t i = 0; i < SMA_COUNT_OF(ranges) && ranges[i][0] <= point; i++)
        if (point <= ranges[i][1])
            return true;
    return false;
}

size_t sma_utf8_cut(struct sma_str text, size_t max_bytes)
{
    if (text.len <= max_bytes)
        return text.len;
    size_t end = max_bytes;
    while (end > 0 && max_bytes - end < 3 && ((unsigned char)text.ptr[end] & 0xC0) == 0x80)
        end--;
    if (((unsigned char)text.ptr[end] & 0xC0) == 0x80)
        return max_bytes; /* four continuation bytes in a row: no boundary to look for */
    return end;
}

size_t sma_utf16_length(struct sma_str text)
{
    const unsigned char *bytes = (const unsigned char *)text.ptr;
    size_t units = 0;
    for (size_t at = 0; at < text.len;) {
        int step = sma_utf8_step(bytes + at, text.len - at);
        units += step == 4 ? 2 : 1;
        at += step < 0 ? 1 : (size_t)step;
    }
    return units;
}

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

struct sma_str sma_str_trim(struct sma_str text)
{
    while (text.len > 0 && is_space(text.ptr[0])) {
        text.ptr++;
        text.len--;
    }
    while (text.len > 0 && is_space(text.ptr[text.len - 1]))
        text.len--;
    return text;
}

bool sma_str_starts_with(struct sma_str text, struct sma_str prefix)
{
    return prefix.len == 0 ||
           (text.len >= prefix.len && memcmp(text.ptr, prefix.ptr, prefix.len) == 0);
}

static char lower(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte + ('a' - 'A')) : byte;
}

bool sma_str_is_equal_nocase(struct sma_str a, struct sma_str b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.ptr[i]) != lower(b.ptr[i]))
            return false;
    return true;
}

static bool is_unreserved(unsigned char byte)
{
    if ((byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
        (byte >= '0' && byte <= '9'))
        return true;
    return byte != 0 && strchr("-_.!~*'()", byte) != NULL;
}

void sma_buf_put_file_name(struct sma_buf *buf, struct sma_str text)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = (unsigned char)text.ptr[i];
        if (is_unreserved(byte))
            sma_buf_put_char(buf, (char)byte);
        else
            sma_buf_put(buf, (char[]){'%', hex[byte >> 4], hex[byte & 15]}, 3);
    }
}

static int hex_value(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = lower(byte);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

enum sma_err sma_buf_put_file_name_decoded(struct sma_buf *buf, struct sma_str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (name.ptr[i] != '%') {
            sma_buf_put_char(buf, name.ptr[i]);
            continue;
        }
        if (name.len - i < 3)
            return SMA_ERR_BADINPUT;
        int high = hex_value(name.ptr[i + 1]), low = hex_value(name.ptr[i + 2]);
        if (high < 0 || low < 0)
            return SMA_ERR_BADINPUT;
        sma_buf_put_char(buf, (char)(high * 16 + low));
        i += 2;
    }
    return buf->err;
}

/* Days since 1970-01-01 to a proleptic Gregorian date. Source: H. Hinnant, chrono-compatible date
 * algorithms. */
static void civil_of(int64_t days, int64_t *ret_year, unsigned *ret_month, unsigned *ret_day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    unsigned day_of_era = (unsigned)(days - era * 146097);
    unsigned year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    unsigned day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    unsigned shifted = (5 * day_of_year + 2) / 153; /* March = 0 */
    *ret_day = day_of_year - (153 * shifted + 2) / 5 + 1;
    *ret_month = shifted < 10 ? shifted + 3 : shifted - 9;
    *ret_year = (int64_t)year_of_era + era * 400 + (*ret_month <= 2);
}

void sma_buf_put_iso_time(struct sma_buf *buf, int64_t wall_ms)
{
    const int64_t range_ms = 8640000000000000; /* the range of an ECMAScript Date */
    const int64_t day_ms = 86400000;
    wall_ms = wall_ms > range_ms ? range_ms : wall_ms < -range_ms ? -range_ms : wall_ms;
    int64_t days = wall_ms / day_ms, rest = wall_ms % day_ms;
    if (rest < 0) {
        days--;
        rest += day_ms;
    }
    int64_t year;
    unsigned month, day;
    civil_of(days, &year, &month, &day);
    if (year < 0 || year > 9999)
        sma_buf_printf(buf, "%c%06lld", year < 0 ? '-' : '+', llabs((long long)year));
    else
        sma_buf_printf(buf, "%04lld", (long long)year);
    sma_buf_printf(buf, "-%02u-%02uT%02u:%02u:%02u.%03uZ", month, day, (unsigned)(rest / 3600000),
                   (unsigned)(rest / 60000 % 60), (unsigned)(rest / 1000 % 60),
                   (unsigned)(rest % 1000));
}

enum sma_err sma_parse_i64(struct sma_str text, int64_t low, int64_t high, int64_t *ret_number)
{
    size_t at = text.len > 0 && text.ptr[0] == '-' ? 1 : 0;
    bool is_negative = at == 1;
    if (at == text.len)
        return SMA_ERR_BADINPUT;
    int64_t number = 0; /* kept negative: INT64_MIN has no positive twin */
    for (; at < text.len; at++) {
        if (text.ptr[at] < '0' || text.ptr[at] > '9')
            return SMA_ERR_BADINPUT;
        if (__builtin_mul_overflow(number, (int64_t)10, &number) ||
            __builtin_sub_overflow(number, (int64_t)(text.ptr[at] - '0'), &number))
            return SMA_ERR_BADINPUT;
    }
    if (!is_negative && __builtin_sub_overflow((int64_t)0, number, &number))
        return SMA_ERR_BADINPUT;
    if (number < low || number > high)
        return SMA_ERR_BADINPUT;
    *ret_number = number;
    return SMA_ERR_OK;
}

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static uint64_t load_le(const unsigned char *bytes, size_t len)
{
    uint64_t word = 0;
    for (size_t i = 0; i < len; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static inline void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static inline void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

/* Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012. */
uint64_t sma_siphash(const uint8_t key[16], const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    uint64_t k0 = load_le(key, 8), k1 = load_le(key + 8, 8);
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du, k0 ^ 0x6c7967656e657261u,
                     k1 ^ 0x7465646279746573u};
    size_t rest = len;
    for (; rest >= 8; rest -= 8, at += 8)
        sip_word(v, load_le(at, 8));
    sip_word(v, load_le(at, rest) | (uint64_t)(len & 0xff) << 56);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

#define DISTANCE_MAX 8u
#define DISTANCE_TEXT_BYTES_MAX 64

static bool is_plain_in_a_shell(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || (byte != '\0' && strchr("-_./:,@%+", byte) != NULL);
}

void sma_put_shell_word(struct sma_buf *buf, struct sma_str word)
{
    size_t plain = 0;
    while (plain < word.len && is_plain_in_a_shell(word.ptr[plain]))
        plain++;
    if (word.len > 0 && plain == word.len) {
        sma_buf_put_str(buf, word);
        return;
    }
    sma_buf_put_char(buf, '\'');
    for (size_t i = 0; i < word.len; i++)
        if (word.ptr[i] == '\'')
            sma_buf_put_text(buf, "'\\''");
        else
            sma_buf_put_char(buf, word.ptr[i]);
    sma_buf_put_char(buf, '\'');
}

unsigned sma_text_distance(struct sma_str a, struct sma_str b)
{
    if (a.len > DISTANCE_TEXT_BYTES_MAX || b.len > DISTANCE_TEXT_BYTES_MAX)
        return sma_str_is_equal(a, b) ? 0 : DISTANCE_MAX;
    unsigned row[DISTANCE_TEXT_BYTES_MAX + 1];
    for (unsigned j = 0; j <= b.len; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a.len; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.len; j++) {
            unsigned change = diagonal + (a.ptr[i - 1] != b.ptr[j - 1]);
            unsigned drop = row[j] + 1, add = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = change < drop ? change : drop;
            row[j] = add < row[j] ? add : row[j];
        }
    }
    return row[b.len] < DISTANCE_MAX ? row[b.len] : DISTANCE_MAX;
}

/* -- addresses --------------------------------------------------------------------------------- */
struct sma_str sma_url_host(const char *url)
{
    const char *rest = strstr(url, "://");
    rest = rest == NULL ? url : rest + 3;
    size_t len = strcspn(rest, "/?#");
    const char *at = memrchr(rest, '@', len);
    const char *start = at == NULL ? rest : at + 1;
    return (struct sma_str){start, len - (size_t)(start - rest)};
}

void sma_url_put_bare(struct sma_buf *buf, const char *url)
{
    const char *scheme_end = strstr(url, "://");
    const char *start = sma_url_host(url).ptr;
    if (scheme_end != NULL)
        sma_buf_put(buf, url, (size_t)(scheme_end + 3 - url));
    sma_buf_put(buf, start, strcspn(start, "?#"));
}

/* -- lines of a history ------------------------------------------------------------------------ */
uint64_t sma_line_mark(int64_t wall_ms, bool is_user, struct sma_str message_id)
{
    static const uint8_t key[16] = "shipmyagent line";
    struct
    {
        uint64_t wall_ms, is_user, id;
    } parts = {(uint64_t)wall_ms, is_user, sma_siphash(key, message_id.ptr, message_id.len)};
    return sma_siphash(key, &parts, sizeof parts);
}

enum sma_err sma_parse_iso_time(struct sma_str text, int64_t *ret_wall_ms)
{
    char copy[32];
    struct tm tm = {.tm_isdst = 0};
    unsigned ms = 0;
    int used = 0;
    if (text.len >= sizeof copy)
        return SMA_ERR_BADINPUT;
    memcpy(copy, text.ptr == NULL ? "" : text.ptr, text.len);
    copy[text.len] = '\0';
    if (sscanf(copy, "%4d-%2d-%2dT%2d:%2d:%2d.%3uZ%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
               &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &ms, &used) != 7 ||
        (size_t)used != text.len)
        return SMA_ERR_BADINPUT;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *ret_wall_ms = (int64_t)timegm(&tm) * 1000 + ms;
    return SMA_ERR_OK;
}
