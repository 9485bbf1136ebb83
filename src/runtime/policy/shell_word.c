/*
 * shell_word.c — one word: quotes, escapes, expansions, and the commands inside of them.
 *
 * A word's text is built at the top of the arena and stops at the first expansion ("frozen"), so
 * that commands found inside the expansion may use the arena from there on. parse_word and the
 * command lists call each other as the grammar does; the depth is bounded by SMA_SHELL_DEPTH_MAX,
 * which is why recursion is allowed here.
 */
#include "shell_priv.h"

struct building
{
    struct sma_shell_word word;
    bool is_frozen;
    const char *brace; /* the first unquoted { not closed yet */
    bool brace_lists;  /* a comma or .. behind it */
    uint32_t brace_at;
    bool has_set;     /* an unquoted [ */
    bool has_odd_set; /* with something in it that is not read alike everywhere */
    uint32_t set_at;
};

bool sma_shell_is_meta(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '|' || byte == '&' ||
           byte == ';' || byte == '(' || byte == ')' || byte == '<' || byte == '>';
}

static bool is_name_start(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

bool sma_shell_is_name(struct sma_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!is_name_start(text.ptr[i]) && (i == 0 || !is_digit(text.ptr[i])))
            return false;
    return text.len > 0;
}

static void doubt(struct parser *parser, const char *why)
{
    sma_shell_doubt(parser->shell, parser->pos, why);
}

void sma_shell_skip_blanks(struct parser *parser)
{
    while (parser->pos < parser->end) {
        char byte = *parser->pos;
        if (byte == ' ' || byte == '\t') {
            parser->pos++;
        } else if (byte == '\\' && parser->end - parser->pos > 1 && parser->pos[1] == '\n') {
            parser->pos += 2;
        } else if (byte == '#') {
            const char *line_end = memchr(parser->pos, '\n', (size_t)(parser->end - parser->pos));
            parser->pos = line_end == NULL ? parser->end : line_end;
        } else {
            return;
        }
    }
}

static void add(struct parser *parser, struct building *building, char byte)
{
    if (building->is_frozen)
        return;
    char *place = sma_shell_reserve(parser->shell, 1);
    if (place == NULL)
        return;
    *place = byte;
    building->word.len++;
}

static void end_text(struct parser *parser, struct building *building)
{
    if (building->is_frozen)
        return;
    building->is_frozen = true;
    char *place = sma_shell_reserve(parser->shell, 1);
    if (place != NULL)
        *place = '\0';
    else if (building->word.len > 0)
        ((char *)building->word.text)[--building->word.len] = '\0';
    else
        building->word.text = "";
}

static void mark(struct building *building, uint32_t flags, uint32_t fixed_len)
{
    building->word.flags |= flags;
    if (fixed_len < building->word.fixed_len)
        building->word.fixed_len = fixed_len;
}

/* From here on the value is not known. */
static void freeze(struct parser *parser, struct building *building, bool is_quoted)
{
    mark(building, SMA_WORD_DYNAMIC | (is_quoted ? 0 : SMA_WORD_SPLITS), building->word.len);
    end_text(parser, building);
}

/* -- expansions -------------------------------------------------------------------------------- */
/* $((1 + 2)): numbers and operators only. A name would be evaluated again by some shells. */
static const char *end_of_arithmetic(const struct parser *parser)
{
    unsigned open = 0;
    for (const char *at = parser->pos + 3; at < parser->end; at++) {
        if (*at == '(')
            open++;
        else if (*at == ')' && open > 0)
            open--;
        else if (*at == ')')
            return at + 1 < parser->end && at[1] == ')' ? at + 2 : NULL;
        else if (*at == '\0' || strchr("0123456789 \t+-*/%<>=!&|^~?:,", *at) == NULL)
            return NULL;
    }
    return NULL;
}

static void parse_backticks(struct parser *parser, bool is_quoted)
{
    const char *from = ++parser->pos, *at = from;
    while (at < parser->end && *at != '`')
        at += *at == '\\' && at + 1 < parser->end ? 2 : 1;
    if (at >= parser->end) {
        doubt(parser, "a ` without its end");
        parser->pos = parser->end;
        return;
    }
    parser->pos = at + 1;
    char *copy = sma_shell_reserve(parser->shell, (size_t)(at - from) + 1);
    if (copy == NULL)
        return;
    size_t len = 0;
    for (; from < at; from++) {
        if (*from == '\\' &&
            (from[1] == '`' || from[1] == '\\' || from[1] == '$' || (is_quoted && from[1] == '"')))
            from++;
        copy[len++] = *from;
    }
    copy[len] = '\0';
    struct parser inner = {.shell = parser->shell,
                           .pos = copy,
                           .end = copy + len,
                           .depth = parser->depth + 1,
                           .parent = parser->parent,
                           .origin = parser->origin,
                           .is_from_text = parser->is_from_text};
    sma_shell_parse_all(&inner);
}

static bool is_process(const struct parser *parser)
{
    return (*parser->pos == '<' || *parser->pos == '>') && parser->end - parser->pos > 1 &&
           parser->pos[1] == '(';
}

static void parse_dollar(struct parser *parser, struct building *building, bool is_quoted);

/* Bytes that stand for themselves behind ${name:- in every shell. What is missing here is parsed or
 * doubted: a shell may run it (<(...) is a command there), and where it ends is not the same in
 * every shell. */
static bool is_braced_text(char byte)
{
    return is_name_start(byte) || is_digit(byte) || (unsigned char)byte >= 0x80 ||
           (byte != '\0' && strchr(" \t-./,:=+@%^~#*?[]!", byte) != NULL);
}

/* The word behind ${name:-, up to the closing brace. true: it may become several words even inside
 * of quotes. */
static bool parse_braced_word(struct parser *parser)
{
    struct building ignored = {.is_frozen = true};
    while (parser->pos < parser->end && *parser->pos != '}') {
        char byte = *parser->pos;
        if (byte == '$') {
            parse_dollar(parser, &ignored, true);
        } else if (byte == '`') {
            parse_backticks(parser, false);
        } else if (is_process(parser)) { /* listed for the deny rules; certain it is not */
            doubt(parser, "a process substitution inside an expansion");
            parser->pos += 2;
            sma_shell_parse_paren(parser);
        } else {
            if (!is_braced_text(byte))
                doubt(parser, "an expansion that is not understood");
            parser->pos++;
        }
    }
    return (ignored.word.flags & SMA_WORD_SPLITS) != 0;
}

/* The name in ${name}; false where none stands that every shell reads alike. */
static bool take_braced_name(struct parser *parser)
{
    const char *name = parser->pos;
    if (parser->pos < parser->end && is_name_start(*parser->pos))
        while (parser->pos < parser->end && (is_name_start(*parser->pos) || is_digit(*parser->pos)))
            parser->pos++;
    else if (parser->pos < parser->end &&
             (is_digit(*parser->pos) || strchr("@*#?-$", *parser->pos) != NULL))
        parser->pos++;
    return parser->pos > name;
}

/* ${...}: a name, a length, a default or a trimmed pattern; everything else does more than look up.
 * true: it may become several words even inside of quotes. */
static bool parse_braced(struct parser *parser)
{
    if (parser->depth >= SMA_SHELL_DEPTH_MAX) {
        doubt(parser, "nested too deep");
        parser->pos = parser->end;
        return true;
    }
    parser->depth++;
    parser->pos += 2;
    bool is_length = parser->end - parser->pos > 1 && *parser->pos == '#' && parser->pos[1] != '}';
    parser->pos += is_length;
    bool may_split = parser->pos < parser->end && *parser->pos == '@';
    if (!take_braced_name(parser))
        doubt(parser, "an expansion that is not understood");
    if (!is_length && parser->end - parser->pos > 1 && *parser->pos == ':' &&
        memchr("-+?", parser->pos[1], 3) != NULL)
        parser->pos++;
    if (parser->pos < parser->end && memchr("}-+?#%", *parser->pos, is_length ? 1 : 6) == NULL)
        doubt(parser, "an expansion that is not understood");
    may_split |= parse_braced_word(parser);
    if (parser->pos >= parser->end)
        doubt(parser, "a ${ without its end");
    else
        parser->pos++;
    parser->depth--;
    return may_split;
}

static int hex_value(char byte)
{
    if (is_digit(byte))
        return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static unsigned parse_number(struct parser *parser, unsigned base, unsigned digits_max)
{
    unsigned number = 0;
    for (unsigned i = 0; i < digits_max && parser->pos < parser->end; i++, parser->pos++) {
        int digit = hex_value(*parser->pos);
        if (digit < 0 || (unsigned)digit >= base)
            break;
        number = number * base + (unsigned)digit;
    }
    return number;
}

static void add_point(struct parser *parser, struct building *building, unsigned point)
{
    if (point < 0x80) {
        add(parser, building, (char)point);
    } else if (point < 0x800) {
        add(parser, building, (char)(0xc0 | point >> 6));
        add(parser, building, (char)(0x80 | (point & 0x3f)));
    } else {
        if (point >= 0x10000)
            add(parser, building, (char)(0xf0 | (point >> 18 & 7)));
        add(parser, building,
            (char)(point >= 0x10000 ? 0x80 | (point >> 12 & 0x3f) : 0xe0 | point >> 12));
        add(parser, building, (char)(0x80 | (point >> 6 & 0x3f)));
        add(parser, building, (char)(0x80 | (point & 0x3f)));
    }
}

static void add_escape(struct parser *parser, struct building *building)
{
    static const char names[] = "abeEfnrtv\\'\"?", values[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
    char byte = *parser->pos;
    const char *found = byte == '\0' ? NULL : strchr(names, byte);
    if (found != NULL) {
        parser->pos++;
        add(parser, building, values[found - names]);
    } else if (byte >= '0' && byte <= '7') {
        add(parser, building, (char)parse_number(parser, 8, 3));
    } else if (byte == 'x' || byte == 'u' || byte == 'U') {
        parser->pos++;
        unsigned point = parse_number(parser, 16, byte == 'x' ? 2 : byte == 'u' ? 4 : 8);
        if (byte == 'x')
            add(parser, building, (char)point);
        else
            add_point(parser, building, point);
    } else if (byte == 'c' && parser->end - parser->pos > 1) {
        add(parser, building, (char)(parser->pos[1] & 0x1f));
        parser->pos += 2;
    } else {
        add(parser, building, '\\');
    }
}

/* $'...' as bash reads it. A plain POSIX shell reads a dollar and a quoted text, hence the
 * doubt. */
static void parse_ansi_quotes(struct parser *parser, struct building *building)
{
    doubt(parser, "$'...' is not the same in every shell");
    building->word.flags |= SMA_WORD_QUOTED;
    parser->pos += 2;
    while (parser->pos < parser->end && *parser->pos != '\'') {
        if (*parser->pos != '\\' || parser->end - parser->pos < 2) {
            add(parser, building, *parser->pos++);
            continue;
        }
        parser->pos++;
        add_escape(parser, building);
    }
    if (parser->pos >= parser->end)
        doubt(parser, "a quote without its end");
    else
        parser->pos++;
}

/* $(date +%F): digits, letters and -_. of which no slash, no blank and no option can come. Its end,
 * or NULL. */
static const char *end_of_date(const struct parser *parser)
{
    static const char begin[] = "$(date +";
    size_t len = sizeof begin - 1;
    if ((size_t)(parser->end - parser->pos) < len || memcmp(parser->pos, begin, len) != 0)
        return NULL;
    for (const char *at = parser->pos + len; at < parser->end; at++) {
        if (*at == ')')
            return at + 1;
        if (*at == '%' && at + 1 < parser->end && memchr("FYmdHMSsjy", at[1], 10) != NULL)
            at++;
        else if (!is_name_start(*at) && !is_digit(*at) && *at != '-' && *at != '.')
            return NULL;
    }
    return NULL;
}

/* The date stands in the word as a star: a part of a name. The command itself is listed like any
 * other. */
static bool parse_date(struct parser *parser, struct building *building)
{
    const char *end = end_of_date(parser);
    if (end == NULL || building->is_frozen || building->has_set)
        return false;
    parser->pos += 2;
    mark(building, SMA_WORD_GLOB, building->word.len);
    end_text(parser, building); /* what the command needs of the arena comes behind the text */
    struct sma_str before = {building->word.text, building->word.len};
    sma_shell_parse_paren(parser);
    building->is_frozen = false;
    building->word.text = parser->shell->arena + parser->shell->arena_len;
    building->word.len = 0;
    for (size_t i = 0; i < before.len; i++)
        add(parser, building, before.ptr[i]);
    add(parser, building, '*');
    return true;
}

static void parse_dollar(struct parser *parser, struct building *building, bool is_quoted)
{
    char next = parser->end - parser->pos > 1 ? parser->pos[1] : '\0';
    if (next == '(' && parse_date(parser, building)) {
        return;
    } else if (next == '(') {
        freeze(parser, building, is_quoted);
        bool is_double = parser->end - parser->pos > 2 && parser->pos[2] == '(';
        const char *end = is_double ? end_of_arithmetic(parser) : NULL;
        if (is_double && end == NULL)
            doubt(parser, "arithmetic that is not of plain numbers");
        if (end != NULL) {
            parser->pos = end;
            return;
        }
        parser->pos += 2;
        sma_shell_parse_paren(parser);
    } else if (next == '{') {
        freeze(parser, building, is_quoted);
        if (parse_braced(parser)) /* "${@}", "${x:-$@}" */
            mark(building, SMA_WORD_SPLITS, building->word.len);
    } else if (next == '\'' && !is_quoted) {
        parse_ansi_quotes(parser, building);
    } else if (is_name_start(next)) {
        freeze(parser, building, is_quoted);
        parser->pos++;
        while (parser->pos < parser->end && (is_name_start(*parser->pos) || is_digit(*parser->pos)))
            parser->pos++;
    } else if (next != '\0' && (is_digit(next) || strchr("@*#?-$!", next) != NULL)) {
        freeze(parser, building, is_quoted && next != '@');
        parser->pos += 2;
    } else {
        if (next == '[' || next == '\\' || (next == '"' && !is_quoted))
            doubt(parser, "a $ that is not the same in every shell");
        add(parser, building, '$');
        parser->pos++;
    }
}

/* -- quotes ------------------------------------------------------------------------------------ */
static void parse_single_quotes(struct parser *parser, struct building *building)
{
    building->word.flags |= SMA_WORD_QUOTED;
    parser->pos++;
    while (parser->pos < parser->end && *parser->pos != '\'')
        add(parser, building, *parser->pos++);
    if (parser->pos >= parser->end)
        doubt(parser, "a quote without its end");
    else
        parser->pos++;
}

static void parse_double_quotes(struct parser *parser, struct building *building)
{
    building->word.flags |= SMA_WORD_QUOTED;
    parser->pos++;
    while (parser->pos < parser->end && *parser->pos != '"') {
        char byte = *parser->pos;
        char next = parser->end - parser->pos > 1 ? parser->pos[1] : '\0';
        if (byte == '\\' && next == '\n') {
            parser->pos += 2;
        } else if (byte == '\\' && (next == '$' || next == '`' || next == '"' || next == '\\')) {
            add(parser, building, next);
            parser->pos += 2;
        } else if (byte == '$') {
            parse_dollar(parser, building, true);
        } else if (byte == '`') {
            freeze(parser, building, true);
            parse_backticks(parser, true);
        } else {
            add(parser, building, byte);
            parser->pos++;
        }
    }
    if (parser->pos >= parser->end)
        doubt(parser, "a quote without its end");
    else
        parser->pos++;
}

static void parse_backslash(struct parser *parser, struct building *building)
{
    if (parser->end - parser->pos < 2) {
        doubt(parser, "a backslash at the end");
        parser->pos++;
        return;
    }
    building->word.flags |= SMA_WORD_QUOTED;
    if (parser->pos[1] == '\n')
        doubt(parser, "a word over two lines");
    else
        add(parser, building, parser->pos[1]);
    parser->pos += 2;
}

/* Outside of quotes, text that looks like blanks or like ASCII is there to be misread. */
static void check_foreign(struct parser *parser)
{
    const unsigned char *at = (const unsigned char *)parser->pos;
    if (parser->end - parser->pos > 1 && at[0] == 0xc2 && (at[1] == 0xa0 || at[1] == 0xad))
        doubt(parser, "a character that looks like another one");
    if (parser->end - parser->pos < 3)
        return;
    uint32_t point =
        (at[0] & 0xf0) == 0xe0 ? (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu) : 0;
    if ((point >= 0x2000 && point <= 0x206f) || point == 0x3000 || point == 0xfeff ||
        (point >= 0xff01 && point <= 0xff5e))
        doubt(parser, "a character that looks like another one");
}

/* Unquoted bytes that stand for themselves in every word and shell; parse_plain() knows the others
 * that get to it. */
static bool is_plain_text(char byte)
{
    return is_name_start(byte) || is_digit(byte) || (unsigned char)byte >= 0x80 ||
           (byte != '\0' && strchr("-/:=+@%^#!.,", byte) != NULL);
}

/* [...]: what is matched is compared with names by glibc's rules and by parts of a path. Whatever a
 * shell reads differently there (^ is a plain byte for some, quotes, a set in a set), or what may
 * end such a part, is doubt. */
static void parse_set(struct parser *parser, struct building *building)
{
    char byte = *parser->pos;
    if (byte == '[' && !building->has_set) {
        building->has_set = true;
        building->set_at = building->word.len;
        return;
    }
    if (!building->has_set)
        return;
    if (byte != ']') {
        building->has_odd_set |= strchr("[^/=:@,{}", byte) != NULL;
        return;
    }
    mark(building, SMA_WORD_GLOB | SMA_WORD_SPLITS, building->set_at);
    if (building->has_odd_set)
        doubt(parser, "a pattern that is not the same in every shell");
}

static void parse_brace(struct parser *parser, struct building *building)
{
    char byte = *parser->pos;
    if (byte == '{' && building->brace == NULL) {
        building->brace = parser->pos;
        building->brace_at = building->word.len;
    }
    if (building->brace != NULL && (byte == ',' || (byte == '.' && parser->pos[-1] == '.')))
        building->brace_lists = true;
    if (byte == '}' && building->brace_lists)
        mark(building, SMA_WORD_BRACE | SMA_WORD_SPLITS, building->brace_at);
}

static void parse_plain(struct parser *parser, struct building *building)
{
    char byte = *parser->pos;
    uint32_t len = building->word.len;
    if (byte == '*' || byte == '?')
        mark(building, SMA_WORD_GLOB | SMA_WORD_SPLITS, len);
    else if (byte == '~') {
        if (parser->pos == building->word.raw || parser->pos[-1] == '=' || parser->pos[-1] == ':')
            mark(building, SMA_WORD_TILDE, len);
    } else if (!is_plain_text(byte) && strchr("[]{}", byte) == NULL) {
        doubt(parser, "a character that is not understood");
    }
    parse_set(parser, building);
    parse_brace(parser, building);
    if ((unsigned char)byte >= 0x80) {
        building->word.flags |= SMA_WORD_FOREIGN;
        check_foreign(parser);
    }
    add(parser, building, byte);
    parser->pos++;
}

bool sma_shell_parse_word(struct parser *parser, struct sma_shell_word *ret_word)
{
    if (parser->pos >= parser->end || (sma_shell_is_meta(*parser->pos) && !is_process(parser)))
        return false;
    struct building building = {.word = {.raw = parser->pos,
                                         .text = parser->shell->arena + parser->shell->arena_len,
                                         .fixed_len = UINT32_MAX}};
    while (parser->pos < parser->end) {
        char byte = *parser->pos;
        if (is_process(parser)) {
            freeze(parser, &building, true);
            parser->pos += 2;
            sma_shell_parse_paren(parser);
        } else if (sma_shell_is_meta(byte)) {
            break;
        } else if (byte == '\'') {
            parse_single_quotes(parser, &building);
        } else if (byte == '"') {
            parse_double_quotes(parser, &building);
        } else if (byte == '\\') {
            parse_backslash(parser, &building);
        } else if (byte == '$') {
            parse_dollar(parser, &building, false);
        } else if (byte == '`') {
            freeze(parser, &building, false);
            parse_backticks(parser, false);
        } else {
            parse_plain(parser, &building);
        }
    }
    end_text(parser, &building);
    building.word.raw_len = (uint32_t)(parser->pos - building.word.raw);
    if ((building.word.flags & (SMA_WORD_QUOTED | SMA_WORD_GLOB)) ==
            (SMA_WORD_QUOTED | SMA_WORD_GLOB) &&
        memchr(building.word.text, '[', building.word.len) != NULL)
        doubt(parser, "a pattern with quotes in it"); /* .e[\!n]v: the text says another pattern */
    if (parser->heredoc_count > 0 && memchr(building.word.raw, '\n', building.word.raw_len) != NULL)
        doubt(parser, "a here-document that begins inside of a word");
    if (building.word.fixed_len > building.word.len)
        building.word.fixed_len = building.word.len;
    *ret_word = building.word;
    return true;
}

void sma_shell_parse_body(struct parser *parser)
{
    struct building ignored = {.is_frozen = true};
    while (parser->pos < parser->end) {
        if (*parser->pos == '\\') {
            if (parser->end - parser->pos > 1 && parser->pos[1] == '\n')
                doubt(parser, "a line of a here-document that goes on");
            parser->pos += parser->end - parser->pos > 1 ? 2 : 1;
        } else if (*parser->pos == '$') {
            parse_dollar(parser, &ignored, true);
        } else if (*parser->pos == '`') {
            parse_backticks(parser, false);
        } else {
            parser->pos++;
        }
    }
}
