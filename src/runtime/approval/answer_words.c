/* answer_words.c — a message as the words of an answer. What is no such word is UNKNOWN, and stops
 * every agreement. */
#include "approval_priv.h"

#include "sma/messages.h"
#include "sma/text.h"

#define GRANT_S_MAX (30 * INT64_C(86400))
#define DIGIT_COUNT_MAX 6u

/* The message in lower case, with one form of each sign: full-width, traditional and typographic
 * ones become plain. */
struct plain
{
    size_t len;
    char text[ANSWER_BYTES_MAX + 1];
    uint16_t from[ANSWER_BYTES_MAX + 1]; /* where each byte came from; [len] = end */
};

struct reader
{
    struct sma_str source;
    struct plain plain;
    size_t at;
    uint32_t item_count;
    struct words *words;
};

/* -- one form of each sign --------------------------------------------------------------------- */
static size_t point_len(char lead)
{
    unsigned char byte = (unsigned char)lead;
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

static uint32_t point_of(const char *at, size_t len)
{
    uint32_t point = len == 1 ? (unsigned char)*at : (unsigned char)*at & (0xFFu >> (len + 1));
    for (size_t i = 1; i < len; i++)
        point = point << 6 | ((unsigned char)at[i] & 0x3Fu);
    return point;
}

static char lower(uint32_t point)
{
    if (point == '\t' || point == '\r')
        return ' ';
    return (char)(point >= 'A' && point <= 'Z' ? point + 32 : point);
}

static void append(struct plain *plain, const char *bytes, size_t len, size_t from)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == ' ' && plain->len > 0 && plain->text[plain->len - 1] == ' ')
            continue;
        plain->text[plain->len] = bytes[i];
        plain->from[plain->len++] = (uint16_t)from;
    }
}

static void append_point(struct plain *plain, const char *bytes, size_t len, size_t from)
{
    uint32_t point = point_of(bytes, len);
    if (point >= 0xFF01 && point <= 0xFF5E)
        point -= 0xFF01 - '!';
    if (point < 0x80) {
        char byte = lower(point);
        append(plain, &byte, 1, from);
        return;
    }
    for (size_t i = 0; i < answer_change_count; i++) {
        if (answer_changes[i].from != point)
            continue;
        append(plain, answer_changes[i].to, strlen(answer_changes[i].to), from);
        return;
    }
    append(plain, bytes, len, from);
}

static void make_plain(struct plain *plain, struct sma_str text)
{
    plain->len = 0;
    for (size_t at = 0; at < text.len;) {
        size_t len = point_len(text.ptr[at]);
        append_point(plain, text.ptr + at, len, at);
        at += len;
    }
    plain->text[plain->len] = '\0';
    plain->from[plain->len] = (uint16_t)text.len;
}

/* -- matching ---------------------------------------------------------------------------------- */
static bool is_letter(char byte)
{
    return (byte >= 'a' && byte <= 'z') || byte == '_';
}
static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}
static bool is_letter_or_digit(char byte)
{
    return is_letter(byte) || is_digit(byte);
}

/* Does the word stand at `at`, not inside a longer one? @return its bytes, or 0 */
static size_t match(const struct reader *reader, size_t at, const char *word)
{
    const struct plain *plain = &reader->plain;
    size_t len = strlen(word);
    if (len > plain->len - at || memcmp(plain->text + at, word, len) != 0)
        return 0;
    char next = plain->text[at + len];
    if (is_letter(word[len - 1]) && (is_letter_or_digit(next) || next == '\''))
        return 0;
    return len;
}

static size_t skip_blanks(const struct reader *reader, size_t at)
{
    while (reader->plain.text[at] == ' ')
        at++;
    return at;
}

static struct token *add(struct reader *reader, enum token_kind kind, size_t from, size_t to)
{
    struct words *words = reader->words;
    if (words->count == ANSWER_TOKEN_COUNT_MAX) {
        words->is_whole = false;
        words->count--; /* the rest overwrites the last place; nobody reads it as whole */
    }
    struct token *token = &words->tokens[words->count++];
    *token = (struct token){
        .kind = kind, .from = reader->plain.from[from], .to = reader->plain.from[to]};
    return token;
}

/* -- numbers and times ------------------------------------------------------------------------- */
/* Digits at `at`. @return their count, 0 when there are none or too many */
static size_t read_digits(const struct reader *reader, size_t at, int64_t *ret_number)
{
    size_t count = 0;
    int64_t number = 0;
    for (; is_digit(reader->plain.text[at + count]); count++) {
        if (count == DIGIT_COUNT_MAX)
            return 0;
        number = number * 10 + (reader->plain.text[at + count] - '0');
    }
    *ret_number = number;
    return count;
}

/* ①..⑳ */
static size_t read_circled(const struct reader *reader, size_t at, int64_t *ret_number)
{
    const unsigned char *text = (const unsigned char *)reader->plain.text + at;
    if (reader->plain.len - at < 3 || text[0] != 0xE2 || text[1] != 0x91 || text[2] < 0xA0 ||
        text[2] > 0xB3)
        return 0;
    *ret_number = text[2] - 0xA0 + 1;
    return 3;
}

static size_t read_count(const struct reader *reader, size_t at, int64_t *ret_number)
{
    size_t longest = 0;
    for (size_t i = 0; i < answer_number_count; i++) {
        size_t len = match(reader, at, answer_counts[i].text);
        if (len > longest) {
            longest = len;
            *ret_number = answer_counts[i].number;
        }
    }
    return longest;
}

static size_t read_unit(const struct reader *reader, size_t at, bool is_adjacent,
                        int64_t *ret_seconds)
{
    size_t longest = 0;
    for (size_t i = 0; i < answer_unit_count; i++) {
        size_t len = match(reader, at, answer_units[i].text);
        if (len > longest && (!answer_units[i].is_letter || is_adjacent)) {
            longest = len;
            *ret_seconds = answer_units[i].seconds;
        }
    }
    return longest;
}

static void add_time(struct reader *reader, int64_t number, int64_t unit_s, size_t to)
{
    int64_t seconds = number == 0 ? unit_s / 2 : number * unit_s;
    bool is_fit = seconds > 0 && seconds <= GRANT_S_MAX;
    struct token *token = add(reader, is_fit ? TOKEN_TIME : TOKEN_UNKNOWN, reader->at, to);
    token->seconds = seconds;
    reader->at = to;
}

static bool is_item(const struct reader *reader, int64_t number)
{
    return number >= 1 && number <= reader->item_count;
}

static void add_numbers(struct reader *reader, int64_t first, int64_t last, size_t to)
{
    bool is_fit = is_item(reader, first) && is_item(reader, last) && first <= last;
    struct token *token = add(reader, is_fit ? TOKEN_NUMBERS : TOKEN_UNKNOWN, reader->at, to);
    for (int64_t number = first; is_fit && number <= last; number++)
        token->mask |= UINT64_C(1) << (number - 1);
    reader->at = to;
}

/* "1-3" "1到3": @return where it ends, or 0 */
static size_t read_range(const struct reader *reader, size_t at, int64_t *ret_last)
{
    static const char *const marks[] = {"-", "~", "到", "至", " - ", " to "};
    for (size_t i = 0; i < SMA_COUNT_OF(marks); i++) {
        size_t len = strlen(marks[i]);
        if (len > reader->plain.len - at || memcmp(reader->plain.text + at, marks[i], len) != 0)
            continue;
        size_t count = read_digits(reader, at + len, ret_last);
        if (count > 0)
            return at + len + count;
    }
    return 0;
}

/* What may stand behind the number of an item and says nothing: "1." "1)" "1:" "1、" "1号". */
static size_t skip_mark(const struct reader *reader, size_t at)
{
    static const char *const marks[] = {"号", "项", "条", "个", ".", ")", ":", "\2"};
    for (size_t i = 0; i < SMA_COUNT_OF(marks); i++) {
        size_t len = strlen(marks[i]);
        if (len > reader->plain.len - at || memcmp(reader->plain.text + at, marks[i], len) != 0)
            continue;
        char next = reader->plain.text[skip_blanks(reader, at + len)];
        bool is_sign = len == 1;
        return is_sign && (is_digit(next) || next == '.' || next == '\0') ? at : at + len;
    }
    return at;
}

/* "两个都": as many as there are. */
static bool read_count_of_all(struct reader *reader, int64_t number, size_t at)
{
    static const char word[] = "个都";
    size_t len = sizeof word - 1;
    if (number < 2 || len > reader->plain.len - at ||
        memcmp(reader->plain.text + at, word, len) != 0)
        return false;
    bool is_all = number == (int64_t)reader->item_count;
    add(reader, is_all ? TOKEN_ALL : TOKEN_UNKNOWN, reader->at, at + len)->is_strong = true;
    reader->at = at + len;
    return true;
}

static bool read_number(struct reader *reader)
{
    int64_t number = 0, last = 0, unit_s = 0;
    const char *text = reader->plain.text;
    size_t from = reader->at;
    if (text[from] == '#' && is_digit(text[from + 1]))
        from++;
    size_t count = read_digits(reader, from, &number);
    if (count == 0)
        count = read_circled(reader, from, &number);
    if (count == 0)
        return false;
    size_t end = from + count, unit_from = skip_blanks(reader, end);
    size_t unit_len = read_unit(reader, unit_from, unit_from == end, &unit_s);
    if (unit_len > 0) {
        add_time(reader, number == 0 ? -1 : number, unit_s, unit_from + unit_len);
        return true;
    }
    if (read_count_of_all(reader, number, end))
        return true;
    size_t range_end = read_range(reader, end, &last);
    size_t to = range_end > 0 ? range_end : skip_mark(reader, end);
    if (is_letter(text[to]) && to == end)
        return false; /* "2nd", "3x": no number of ours */
    if (text[end] == '.' && is_digit(text[end + 1]))
        return false;
    add_numbers(reader, number, range_end > 0 ? last : number, to);
    return true;
}

/* "第二个" */
static bool read_ordinal(struct reader *reader)
{
    int64_t number = 0;
    size_t len = match(reader, reader->at, "第");
    if (len == 0)
        return false;
    size_t at = skip_blanks(reader, reader->at + len);
    size_t count = read_digits(reader, at, &number);
    if (count == 0)
        count = read_count(reader, at, &number);
    if (count == 0)
        return false;
    add_numbers(reader, number, number, skip_mark(reader, at + count));
    return true;
}

static bool read_written_time(struct reader *reader)
{
    int64_t number = 0, unit_s = 0;
    size_t len = read_count(reader, reader->at, &number);
    if (len == 0)
        return false;
    size_t at = reader->at + len;
    if (read_count_of_all(reader, number, at))
        return true;
    at = skip_blanks(reader, at);
    size_t unit_len = read_unit(reader, at, false, &unit_s);
    if (unit_len == 0)
        return false;
    add_time(reader, number, unit_s, at + unit_len);
    return true;
}

/* -- words ------------------------------------------------------------------------------------- */
static bool read_quoted(struct reader *reader)
{
    const struct plain *plain = &reader->plain;
    char mark = plain->text[reader->at];
    if (mark != '`' && mark != '"' && mark != '\'')
        return false;
    const char *close = strchr(plain->text + reader->at + 1, mark);
    if (close == NULL)
        return false;
    size_t end = (size_t)(close - plain->text);
    struct token *token = add(reader, TOKEN_QUOTED, reader->at, end + 1);
    /* the mark itself may have been a longer one */
    size_t from = plain->from[reader->at] + point_len(reader->source.ptr[plain->from[reader->at]]);
    token->text = (struct sma_str){reader->source.ptr + from, plain->from[end] - from};
    reader->at = end + 1;
    return true;
}

static bool read_word(struct reader *reader)
{
    const struct answer_word *best = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < answer_word_count; i++) {
        size_t len = match(reader, reader->at, answer_dictionary[i].text);
        if (len > longest) {
            longest = len;
            best = &answer_dictionary[i];
        }
    }
    if (best == NULL)
        return false;
    struct token *token = add(reader, best->kind, reader->at, reader->at + longest);
    token->is_strong = best->is_strong;
    token->seconds = SMA_GRANT_ALWAYS;
    reader->at += longest;
    return true;
}

/* "both", "neither" of exactly two. */
static bool read_both(struct reader *reader)
{
    size_t len = match(reader, reader->at, "both");
    if (len == 0 || reader->item_count != 2)
        return false;
    add(reader, TOKEN_ALL, reader->at, reader->at + len)->is_strong = true;
    reader->at += len;
    return true;
}

static bool read_sign(struct reader *reader)
{
    const char *text = reader->plain.text + reader->at;
    enum token_kind kind;
    switch (text[0]) {
    case '\n':
    case ',':
    case ';':
    case ':':
    case '!':
    case '\2':
        kind = TOKEN_COMMA;
        break;
    case '.':
        if (text[1] == '.') /* an ellipsis hesitates */
            return false;
        kind = TOKEN_COMMA;
        break;
    case '-':
        if (text[1] == '-') /* a dash, or an option */
            return false;
        kind = text[1] == ' ' ? TOKEN_COMMA : TOKEN_UNKNOWN;
        break;
    case '&':
    case '+':
        kind = TOKEN_AND;
        break;
    case '~':
        kind = TOKEN_FILLER;
        break;
    default:
        return false;
    }
    add(reader, kind, reader->at, reader->at + 1);
    reader->at++;
    return true;
}

static void read_unknown(struct reader *reader)
{
    const struct plain *plain = &reader->plain;
    size_t from = reader->at, at = from;
    if (is_letter_or_digit(plain->text[at])) {
        while (is_letter_or_digit(plain->text[at]) || plain->text[at] == '\'')
            at++;
    } else {
        at += point_len(plain->text[at]);
    }
    reader->at = at > plain->len ? plain->len : at;
    add(reader, TOKEN_UNKNOWN, from, reader->at);
}

void sma_answer_words(struct sma_str text, uint32_t item_count, struct words *words)
{
    struct reader reader = {.source = text, .item_count = item_count, .words = words};
    words->count = 0;
    words->is_whole = text.len <= ANSWER_BYTES_MAX && sma_utf8_is_valid(text) &&
                      (text.len == 0 || memchr(text.ptr, '\0', text.len) == NULL);
    if (!words->is_whole)
        return;
    make_plain(&reader.plain, text);
    while (reader.at < reader.plain.len && words->is_whole) {
        if (reader.plain.text[reader.at] == ' ')
            reader.at++;
        else if (!read_number(&reader) && !read_ordinal(&reader) && !read_written_time(&reader) &&
                 !read_quoted(&reader) && !read_both(&reader) && !read_word(&reader) &&
                 !read_sign(&reader))
            read_unknown(&reader);
    }
}
