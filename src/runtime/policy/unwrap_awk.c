/*
 * unwrap_awk.c — is an awk program one that only reads and prints?
 *
 * A reader of tokens, not of the grammar: it tells text and patterns from code, and in code a
 * comparison from a redirection. A > is a redirection in a print statement outside of its
 * parentheses, and a comparison everywhere else. Whatever is not clear (a / that may divide or
 * begin a pattern, a backslash in the code, a set with a slash) is not tame.
 *
 * Source: awk(1p) POSIX.1-2017, "Grammar" and "Lexical Conventions".
 */
#include "options.h"

struct awk
{
    struct sma_str program;
    size_t at;
    unsigned open;       /* parentheses and brackets */
    unsigned print_open; /* of them when the print statement began */
    bool is_printing;
    char
        /* the last token: a byte of it, n for a name or a number, r for a pattern, s for a text, 0
         * at the start */
        before;
};

static bool is_name_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' ||
           (byte >= '0' && byte <= '9');
}

static char peek(const struct awk *awk, size_t ahead)
{
    return awk->at + ahead < awk->program.len ? awk->program.ptr[awk->at + ahead] : '\0';
}

/* "...": escapes are skipped; false without its end. */
static bool skip_text(struct awk *awk)
{
    for (awk->at++; awk->at < awk->program.len; awk->at++) {
        char byte = peek(awk, 0);
        if (byte == '\n')
            return false;
        if (byte == '\\')
            awk->at++;
        else if (byte == '"') {
            awk->at++;
            awk->before = 's';
            return true;
        }
    }
    return false;
}

/* [...] in a pattern: read alike by every awk only without a slash and with plain escapes in it. */
static bool skip_set(struct awk *awk)
{
    awk->at += peek(awk, 1) == '^' ? 2 : 1;
    for (bool is_first = true; awk->at < awk->program.len; awk->at++, is_first = false) {
        char byte = peek(awk, 0);
        if (byte == '/' || byte == '\n')
            return false;
        if (byte == '\\' && strchr("tnr.-", peek(awk, ++awk->at)) == NULL)
            return false;
        if (byte == ']' && !is_first)
            return true;
    }
    return false;
}

static bool skip_pattern(struct awk *awk)
{
    for (awk->at++; awk->at < awk->program.len; awk->at++) {
        char byte = peek(awk, 0);
        if (byte == '\n' || (byte == '[' && !skip_set(awk)))
            return false;
        if (byte == '\\')
            awk->at++;
        else if (byte == '/') {
            awk->at++;
            awk->before = 'r';
            return true;
        }
    }
    return false;
}

static void take_name(struct awk *awk)
{
    size_t from = awk->at;
    while (is_name_byte(peek(awk, 0)))
        awk->at++;
    struct sma_str name = {awk->program.ptr + from, awk->at - from};
    awk->before = 'n';
    if (sma_list_has("print printf", name)) {
        awk->is_printing = true;
        awk->print_open = awk->open;
    }
    if (sma_list_has("print printf return in else do case", name))
        awk->before = ','; /* a pattern may follow */
    else if (sma_list_has(
                 "length exit next nextfile delete break continue BEGIN END BEGINFILE ENDFILE "
                 "function func while for if switch default",
                 name))
        awk->before = ')'; /* a pattern or a division: not clear */
}

/* A statement ends, unless its last token says that it goes on. */
static void take_newline(struct awk *awk)
{
    awk->at++;
    if (awk->before != '\0' && strchr(",&|?:", awk->before) != NULL)
        return;
    awk->is_printing = false;
    awk->before = '\0';
}

static bool take_sign(struct awk *awk)
{
    char byte = peek(awk, 0), next = peek(awk, 1);
    if (strchr("@\\`'", byte) != NULL)
        return false;
    if (byte == '|' && next != '|')
        return false;
    if (byte == '>' &&
        (next == '>' || (next != '=' && awk->is_printing && awk->open == awk->print_open)))
        return false;
    if (byte == '(' || byte == '[')
        awk->open++;
    if ((byte == ')' || byte == ']') && awk->open-- == 0)
        return false;
    if (byte == ';' || byte == '{' || byte == '}')
        awk->is_printing = false;
    bool is_double = (byte == next && strchr("|&+-=*", byte) != NULL) ||
                     (next == '=' && strchr("<>!+-*%^", byte) != NULL);
    awk->before = byte;
    if (is_double && (byte == '+' || byte == '-') && byte == next)
        awk->before = ')'; /* x++ / 2, or ++ /x/: not clear */
    awk->at += is_double ? 2 : 1;
    return true;
}

static bool take_slash(struct awk *awk)
{
    if (awk->before == ')')
        return false;
    if (awk->before == 'n' || awk->before == 's' || awk->before == ']' || awk->before == 'r') {
        awk->at++;
        awk->before = '/';
        return true; /* a division */
    }
    return skip_pattern(awk);
}

static bool is_tame(struct sma_str program)
{
    if (memmem(program.ptr, program.len, "system", 6) != NULL ||
        memmem(program.ptr, program.len, "getline", 7) != NULL)
        return false;
    struct awk awk = {.program = program};
    while (awk.at < program.len) {
        char byte = peek(&awk, 0);
        bool is_clear = true;
        if (byte == ' ' || byte == '\t') {
            awk.at++;
        } else if (byte == '\n') {
            take_newline(&awk);
        } else if (byte == '#') {
            const char *end = memchr(program.ptr + awk.at, '\n', program.len - awk.at);
            awk.at = end == NULL ? program.len : (size_t)(end - program.ptr);
        } else if (byte == '"') {
            is_clear = skip_text(&awk);
        } else if (byte == '/') {
            is_clear = take_slash(&awk);
        } else if (is_name_byte(byte) || byte == '.') {
            awk.at += byte == '.';
            take_name(&awk);
        } else {
            is_clear = take_sign(&awk);
        }
        if (!is_clear)
            return false;
    }
    return true;
}

void sma_unwrap_awk(struct sma_shell *shell, uint32_t command)
{
    static const char why[] = "an awk program that may run commands or write files";
    uint32_t count = shell->commands[command].word_count, next = 1;
    for (; next < count; next++) {
        const struct sma_shell_word *word = sma_unwrap_word_at(shell, command, next);
        struct sma_str text = sma_shell_word_str(word);
        bool is_option = sma_shell_word_is_constant(word) && text.len > 1 && text.ptr[0] == '-';
        if (is_option && sma_list_has("-F -v", text)) {
            next++;
            if (next < count &&
                (sma_unwrap_word_at(shell, command, next)->flags & SMA_WORD_SPLITS) != 0)
                sma_unwrap_note(shell, command, next,
                                "the value of an option may be several words");
        } else if (!is_option || text.ptr[1] != 'F') {
            break;
        }
    }
    if (next >= count && !shell->commands[command].has_more_words)
        return; /* it says how it is used */
    const struct sma_shell_word *program =
        next < count ? sma_unwrap_word_at(shell, command, next) : NULL;
    if (program == NULL || !sma_shell_word_is_constant(program) ||
        shell->commands[command].has_more_words || !is_tame(sma_shell_word_str(program)) ||
        program->text[0] == '-')
        sma_unwrap_note(shell, command, program != NULL ? next : NOTE_NEVER_COVERED, why);
}
