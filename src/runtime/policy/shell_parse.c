/*
 * shell_parse.c — lists, compound commands, redirections, here-documents: the grammar above the
 * words.
 *
 * Lenient where a shell is strict: what a shell refuses runs nothing, so reading more commands out
 * of it than there are does no harm, reading fewer would. Every place where the reading is not sure
 * raises doubt. The functions call each other as the grammar nests; parse_command bounds the depth,
 * which is why recursion is allowed here.
 */
#include "shell_priv.h"

enum reserved
{
    RESERVED_NONE,
    RESERVED_IF,
    RESERVED_THEN,
    RESERVED_ELIF,
    RESERVED_ELSE,
    RESERVED_FI,
    RESERVED_FOR,
    RESERVED_WHILE,
    RESERVED_UNTIL,
    RESERVED_DO,
    RESERVED_DONE,
    RESERVED_CASE,
    RESERVED_ESAC,
    RESERVED_IN,
    RESERVED_OPEN,
    RESERVED_CLOSE,
    RESERVED_NOT,
    RESERVED_TEST,
    RESERVED_FUNCTION,
    RESERVED_SELECT,
    RESERVED_COPROC,
};

static const struct
{
    const char *name;
    enum reserved word;
} RESERVED[] = {
    {"if", RESERVED_IF},         {"then", RESERVED_THEN},     {"elif", RESERVED_ELIF},
    {"else", RESERVED_ELSE},     {"fi", RESERVED_FI},         {"for", RESERVED_FOR},
    {"while", RESERVED_WHILE},   {"until", RESERVED_UNTIL},   {"do", RESERVED_DO},
    {"done", RESERVED_DONE},     {"case", RESERVED_CASE},     {"esac", RESERVED_ESAC},
    {"in", RESERVED_IN},         {"{", RESERVED_OPEN},        {"}", RESERVED_CLOSE},
    {"!", RESERVED_NOT},         {"[[", RESERVED_TEST},       {"function", RESERVED_FUNCTION},
    {"select", RESERVED_SELECT}, {"coproc", RESERVED_COPROC},
};

static void parse_list(struct parser *parser);
static void parse_command(struct parser *parser);

static void doubt(struct parser *parser, const char *why)
{
    sma_shell_doubt(parser->shell, parser->pos, why);
}

static bool is_at(const struct parser *parser, const char *text)
{
    size_t len = strlen(text);
    return (size_t)(parser->end - parser->pos) >= len && memcmp(parser->pos, text, len) == 0;
}

bool sma_shell_is_reserved(struct sma_str word)
{
    for (size_t i = 0; i < SMA_COUNT_OF(RESERVED); i++)
        if (RESERVED[i].word != RESERVED_IN && sma_str_is_equal(word, sma_str(RESERVED[i].name)))
            return true;
    return false;
}

static enum reserved peek_reserved(const struct parser *parser)
{
    const char *at = parser->pos;
    while (at < parser->end && at - parser->pos < 10 && !sma_shell_is_meta(*at))
        at++;
    struct sma_str word = {parser->pos, (size_t)(at - parser->pos)};
    if (word.len == 0 || strchr("itefwudc{}![s", *word.ptr) == NULL)
        return RESERVED_NONE;
    for (size_t i = 0; i < SMA_COUNT_OF(RESERVED); i++)
        if (sma_str_is_equal(word, sma_str(RESERVED[i].name)))
            return RESERVED[i].word;
    return RESERVED_NONE;
}

static void take_reserved(struct parser *parser)
{
    while (parser->pos < parser->end && !sma_shell_is_meta(*parser->pos))
        parser->pos++;
}

static bool ends_list(enum reserved word)
{
    return word == RESERVED_THEN || word == RESERVED_ELIF || word == RESERVED_ELSE ||
           word == RESERVED_FI || word == RESERVED_DO || word == RESERVED_DONE ||
           word == RESERVED_ESAC || word == RESERVED_CLOSE;
}

/* An operator of len bytes. A line continuation right behind it could make it another one. */
static void take_operator(struct parser *parser, size_t len)
{
    parser->pos += len;
    if (is_at(parser, "\\\n"))
        doubt(parser, "an operator over two lines");
}

/* -- here-documents ---------------------------------------------------------------------------- */
static void read_heredoc(struct parser *parser, const struct heredoc *heredoc)
{
    const char *body = parser->pos;
    while (parser->pos < parser->end) {
        const char *line = parser->pos;
        const char *line_end = memchr(line, '\n', (size_t)(parser->end - line));
        if (line_end == NULL)
            line_end = parser->end;
        while (heredoc->strips_tabs && line < line_end && *line == '\t')
            line++;
        struct sma_str text = {line, (size_t)(line_end - line)};
        if (sma_str_is_equal(text, heredoc->delimiter)) {
            if (!heredoc->is_quoted) {
                struct parser inner = *parser;
                inner.end = parser->pos;
                inner.pos = body;
                inner.depth++;
                inner.heredoc_count = inner.heredoc_base = inner.opened = 0;
                sma_shell_parse_body(&inner);
            }
            parser->pos = line_end < parser->end ? line_end + 1 : line_end;
            return;
        }
        parser->pos = line_end < parser->end ? line_end + 1 : line_end;
    }
    doubt(parser, "a here-document without its end");
}

static void take_newline(struct parser *parser)
{
    parser->pos++;
    if (parser->heredoc_base > 0)
        doubt(parser, "a here-document that begins inside of a substitution");
    for (unsigned i = parser->heredoc_base; i < parser->heredoc_count; i++)
        read_heredoc(parser, &parser->heredocs[i]);
    parser->heredoc_count = parser->heredoc_base;
}

static void skip_lines(struct parser *parser)
{
    for (;;) {
        sma_shell_skip_blanks(parser);
        if (parser->pos >= parser->end || *parser->pos != '\n')
            return;
        take_newline(parser);
    }
}

static void add_heredoc(struct parser *parser, const struct sma_shell_word *word, bool strips_tabs)
{
    if (parser->heredoc_count == SMA_SHELL_HEREDOC_COUNT_MAX) {
        doubt(parser, "too many here-documents");
        return;
    }
    if ((word->flags & SMA_WORD_DYNAMIC) != 0)
        doubt(parser, "a here-document whose end is not constant");
    parser->heredocs[parser->heredoc_count++] =
        (struct heredoc){.delimiter = sma_shell_word_str(word),
                         .is_quoted = (word->flags & SMA_WORD_QUOTED) != 0,
                         .strips_tabs = strips_tabs};
}

/* -- redirections ------------------------------------------------------------------------------ */
static const struct
{
    const char *text;
    enum sma_shell_redirect_kind kind;
} OPERATORS[] = {
    /* the longest first */
    {"<<-", SMA_REDIRECT_HEREDOC}, {"<<<", SMA_REDIRECT_HERESTRING}, {"&>>", SMA_REDIRECT_WRITE},
    {"<<", SMA_REDIRECT_HEREDOC},  {"<>", SMA_REDIRECT_WRITE},       {"<&", SMA_REDIRECT_DUP},
    {">>", SMA_REDIRECT_WRITE},    {">|", SMA_REDIRECT_WRITE},       {">&", SMA_REDIRECT_DUP},
    {"&>", SMA_REDIRECT_WRITE},    {"<", SMA_REDIRECT_READ},         {">", SMA_REDIRECT_WRITE},
};

static bool names_descriptor(const struct sma_shell_word *word)
{
    size_t i = 0;
    while (i < word->len && word->text[i] >= '0' && word->text[i] <= '9')
        i++;
    i += i < word->len && word->text[i] == '-';
    return word->len > 0 && i == word->len && sma_shell_word_is_constant(word);
}

#define DESCRIPTOR_COUNT_MAX 10 /* of one digit: more are not the same in every shell */

/* n>&m: beyond 2 only what this command has opened itself. Everything else is left to it by whoever
 * started the shell. */
static void check_descriptor(struct parser *parser, struct sma_str target)
{
    unsigned number = 0;
    bool is_numbered = target.len > 0 && target.ptr[0] != '-';
    for (size_t i = 0; i < target.len && target.ptr[i] != '-' && number < DESCRIPTOR_COUNT_MAX; i++)
        number = 10 * number + (unsigned)(target.ptr[i] - '0');
    if (is_numbered && number > 2 &&
        (number >= DESCRIPTOR_COUNT_MAX || (parser->opened >> number & 1) == 0))
        doubt(parser, "a descriptor that the command has not opened itself");
}

/* The digits before < or >, and what has become of their descriptor. */
static void note_opened(struct parser *parser, struct sma_str digits,
                        const struct sma_shell_redirect *redirect)
{
    if (digits.len == 0)
        return;
    if (digits.len > 1) {
        doubt(parser, "a descriptor of two digits is not the same in every shell");
        return;
    }
    unsigned bit = 1u << (unsigned)(digits.ptr[0] - '0');
    bool is_closed = redirect->kind == SMA_REDIRECT_DUP && redirect->target.len > 0 &&
                     redirect->target.text[0] == '-';
    parser->opened = is_closed ? parser->opened & ~bit : parser->opened | bit;
}

static bool is_plain_name(const struct sma_shell_word *word)
{
    if (word->len > 0 && word->text[0] == '-')
        /* bash takes the dash alone: what follows is a word of the command, perhaps its first */
        return false;
    for (size_t i = 0; i < word->len; i++) {
        char byte = word->text[i];
        if (!(byte >= 'a' && byte <= 'z') && !(byte >= 'A' && byte <= 'Z') &&
            !(byte >= '0' && byte <= '9') && memchr("_./-", byte, 4) == NULL)
            return false;
    }
    return sma_shell_word_is_constant(word);
}

static void add_redirect(struct parser *parser, struct sma_shell_redirect redirect)
{
    if (redirect.kind == SMA_REDIRECT_DUP && !names_descriptor(&redirect.target)) {
        redirect.kind = SMA_REDIRECT_WRITE;
        if (!is_plain_name(
                &redirect.target)) /* bash 5.2 expands the name twice: >& \`rm x\` runs rm */
            doubt(parser, "a name behind >& that is not plain");
    } else if (redirect.kind == SMA_REDIRECT_DUP) {
        check_descriptor(parser, sma_shell_word_str(&redirect.target));
    }
    if (parser->shell->redirect_count == SMA_SHELL_REDIRECT_COUNT_MAX)
        doubt(parser, "too many redirections");
    else
        parser->shell->redirects[parser->shell->redirect_count++] = redirect;
}

/* A redirection, if one stands here. */
static bool parse_redirect(struct parser *parser, int32_t command)
{
    const char *from = parser->pos, *at = from;
    while (at < parser->end && *at >= '0' && *at <= '9')
        at++;
    if (at >= parser->end || (*at != '<' && *at != '>' && (*at != '&' || at != from)))
        return false;
    parser->pos = at;
    for (size_t i = 0; i < SMA_COUNT_OF(OPERATORS); i++) {
        const char *text = OPERATORS[i].text;
        size_t len = strlen(text);
        if (!is_at(parser, text))
            continue;
        if (len == 1 && parser->end - at > 1 && at[1] == '(')
            break; /* a process substitution: a word */
        take_operator(parser, len);
        sma_shell_skip_blanks(parser);
        struct sma_shell_redirect redirect = {.kind = OPERATORS[i].kind, .command = command};
        if (!sma_shell_parse_word(parser, &redirect.target)) {
            doubt(parser, "a redirection without its target");
            return true;
        }
        if (redirect.kind == SMA_REDIRECT_HEREDOC)
            add_heredoc(parser, &redirect.target, text[len - 1] == '-');
        add_redirect(parser, redirect);
        if (strcmp(text, "<>") == 0)
            add_redirect(parser, (struct sma_shell_redirect){.kind = SMA_REDIRECT_READ,
                                                             .command = command,
                                                             .target = redirect.target});
        note_opened(parser, (struct sma_str){from, (size_t)(at - from)}, &redirect);
        return true;
    }
    parser->pos = from;
    return false;
}

static void parse_redirects(struct parser *parser)
{
    do
        sma_shell_skip_blanks(parser);
    while (parse_redirect(parser, SMA_SHELL_NO_PARENT));
}

/* -- simple commands --------------------------------------------------------------------------- */
static size_t assign_name_len(const struct sma_shell_word *word)
{
    size_t i = 0;
    while (i < word->raw_len &&
           ((word->raw[i] >= 'a' && word->raw[i] <= 'z') ||
            (word->raw[i] >= 'A' && word->raw[i] <= 'Z') || word->raw[i] == '_' ||
            (i > 0 && word->raw[i] >= '0' && word->raw[i] <= '9')))
        i++;
    return i > 0 && i < word->raw_len && (word->raw[i] == '=' || word->raw[i] == '+') ? i : 0;
}

static void add_assign(struct parser *parser, struct sma_str name, struct sma_shell_word value,
                       int32_t command)
{
    if (parser->shell->assign_count == SMA_SHELL_ASSIGN_COUNT_MAX) {
        doubt(parser, "too many assignments");
        return;
    }
    parser->shell->assigns[parser->shell->assign_count++] =
        (struct sma_shell_assign){.name = name, .value = value, .command = command};
}

/* NAME=value before the program. */
static bool take_assign(struct parser *parser, const struct sma_shell_word *word, int32_t command)
{
    size_t len = assign_name_len(word);
    if (len == 0)
        return false;
    if (word->raw[len] == '+') {
        if (len + 1 >= word->raw_len || word->raw[len + 1] != '=')
            return false;
        doubt(parser, "+= is not the same in every shell");
        return false;
    }
    struct sma_shell_word value = *word;
    uint32_t skip = (uint32_t)len + 1;
    value.text += skip;
    value.len -= skip < value.len ? skip : value.len;
    value.fixed_len -= skip < value.fixed_len ? skip : value.fixed_len;
    value.raw += skip;
    value.raw_len -= skip;
    if (parser->pos < parser->end && *parser->pos == '(')
        doubt(parser, "an array");
    add_assign(parser, (struct sma_str){word->raw, len}, value, command);
    return true;
}

static void push_pending(struct parser *parser, struct sma_shell_word word)
{
    if (parser->shell->pending_count == SMA_SHELL_WORD_COUNT_MAX)
        doubt(parser, "too many words");
    else
        parser->shell->pending[parser->shell->pending_count++] = word;
}

/* The words read since `base` become the command's. */
static void finish_command(struct parser *parser, uint32_t index, uint32_t base)
{
    struct sma_shell *shell = parser->shell;
    struct sma_shell_command *command = &shell->commands[index];
    uint32_t count = shell->pending_count - base;
    if (count > SMA_SHELL_WORD_COUNT_MAX - shell->word_count) {
        doubt(parser, "too many words");
        count = SMA_SHELL_WORD_COUNT_MAX - shell->word_count;
    }
    command->first_word = shell->word_count;
    command->word_count = count;
    memcpy(&shell->words[shell->word_count], &shell->pending[base], count * sizeof shell->words[0]);
    shell->word_count += count;
    shell->pending_count = base;
    if (count > 0 && sma_shell_is_reserved(sma_shell_word_str(&shell->words[command->first_word])))
        sma_shell_doubt(shell, shell->words[command->first_word].raw,
                        "a word of the shell's grammar as a program");
    for (uint32_t i = 0; count > 0 && i < shell->assign_count; i++)
        if (shell->assigns[i].command == (int32_t)index)
            shell->assigns[i].is_exported = true;
}

/* name() body, or something that only begins like it. */
static void parse_after_word(struct parser *parser)
{
    parser->pos++;
    sma_shell_skip_blanks(parser);
    if (parser->pos < parser->end && *parser->pos == ')') {
        doubt(parser, "a function");
        parser->pos++;
        skip_lines(parser);
        parse_command(parser);
        return;
    }
    doubt(parser, "a ( in the middle of a command");
    sma_shell_parse_paren(parser);
}

static void parse_simple(struct parser *parser)
{
    struct sma_shell *shell = parser->shell;
    struct sma_shell_command *command = sma_shell_add_command(parser);
    if (command == NULL) {
        parser->pos = parser->end;
        return;
    }
    uint32_t index = (uint32_t)(command - shell->commands), base = shell->pending_count;
    bool is_background_elsewhere = false; /* a plain POSIX shell reads &> as & and > */
    unsigned opened_before = parser->opened;
    for (;;) {
        sma_shell_skip_blanks(parser);
        bool is_both = is_at(parser, "&>");
        struct sma_shell_word word;
        if (parser->pos < parser->end && *parser->pos == '(') {
            parse_after_word(parser);
        } else if (parse_redirect(parser, (int32_t)index)) {
            is_background_elsewhere |= is_both;
        } else if (sma_shell_parse_word(parser, &word)) {
            if (is_background_elsewhere)
                doubt(parser, "words behind &> are not the same in every shell");
            if (word.raw_len == 2 && memcmp(word.raw, "[[", 2) == 0)
                doubt(parser,
                      "[[ is not the same in every shell"); /* busybox: || behind it is a word */
            bool is_before_program = shell->pending_count == base;
            if (word.raw_len > 2 && word.raw[0] == '{' &&
                word.text[word.len > 0 ? word.len - 1 : 0] == '}' && parser->pos < parser->end &&
                (*parser->pos == '<' || *parser->pos == '>'))
                doubt(parser, "a redirection that is not the same in every shell");
            if (!is_before_program || !take_assign(parser, &word, (int32_t)index))
                push_pending(parser, word);
        } else {
            break;
        }
    }
    parser->opened = opened_before;
    finish_command(parser, index, base);
}

/* -- compound commands ------------------------------------------------------------------------- */
static bool expect(struct parser *parser, enum reserved word)
{
    skip_lines(parser);
    if (peek_reserved(parser) == word) {
        take_reserved(parser);
        return true;
    }
    doubt(parser, "the command is not complete");
    return false;
}

static void parse_if(struct parser *parser)
{
    for (;;) {
        parse_list(parser);
        if (!expect(parser, RESERVED_THEN))
            return;
        parse_list(parser);
        enum reserved next = peek_reserved(parser);
        if (next == RESERVED_ELIF) {
            take_reserved(parser);
            continue;
        }
        if (next == RESERVED_ELSE) {
            take_reserved(parser);
            parse_list(parser);
        }
        (void)expect(parser, RESERVED_FI); /* it has raised the doubt */
        return;
    }
}

static void parse_loop_body(struct parser *parser)
{
    if (!expect(parser, RESERVED_DO))
        return;
    parse_list(parser);
    (void)expect(parser, RESERVED_DONE); /* it has raised the doubt */
}

static void parse_for(struct parser *parser)
{
    struct sma_shell_word name, word;
    sma_shell_skip_blanks(parser);
    if (!sma_shell_parse_word(parser, &name) || !sma_shell_word_is_constant(&name) ||
        !sma_shell_is_name(sma_shell_word_str(&name))) {
        doubt(parser, "a loop that is not understood");
        return;
    }
    skip_lines(parser);
    if (peek_reserved(parser) == RESERVED_IN) {
        take_reserved(parser);
        for (sma_shell_skip_blanks(parser); sma_shell_parse_word(parser, &word);
             sma_shell_skip_blanks(parser))
            add_assign(parser, sma_shell_word_str(&name), word, SMA_SHELL_NO_PARENT);
    } else {
        add_assign(parser, sma_shell_word_str(&name), name, SMA_SHELL_NO_PARENT);
    }
    if (parser->pos < parser->end && *parser->pos == ';')
        take_operator(parser, 1);
    parse_loop_body(parser);
}

static void parse_case(struct parser *parser)
{
    struct sma_shell_word word;
    sma_shell_skip_blanks(parser);
    if (!sma_shell_parse_word(parser, &word) || !expect(parser, RESERVED_IN)) {
        doubt(parser, "a case that is not understood");
        return;
    }
    for (;;) {
        skip_lines(parser);
        if (peek_reserved(parser) == RESERVED_ESAC) {
            take_reserved(parser);
            return;
        }
        if (parser->pos < parser->end && *parser->pos == '(')
            parser->pos++;
        sma_shell_skip_blanks(parser);
        while (sma_shell_parse_word(parser, &word)) {
            sma_shell_skip_blanks(parser);
            if (parser->pos < parser->end && *parser->pos == '|')
                parser->pos++;
            sma_shell_skip_blanks(parser);
        }
        if (parser->pos >= parser->end || *parser->pos != ')') {
            doubt(parser, "a case that is not understood");
            return;
        }
        parser->pos++;
        parse_list(parser);
        if (is_at(parser, ";;"))
            parser->pos += is_at(parser, ";;&") ? 3 : 2;
        else if (is_at(parser, ";&"))
            parser->pos += 2;
    }
}

static bool parse_reserved(struct parser *parser, enum reserved word)
{
    take_reserved(parser);
    switch (word) {
    case RESERVED_OPEN:
        parse_list(parser);
        (void)expect(parser, RESERVED_CLOSE); /* it has raised the doubt */
        return true;
    case RESERVED_IF:
        parse_if(parser);
        return true;
    case RESERVED_WHILE:
    case RESERVED_UNTIL:
        parse_list(parser);
        parse_loop_body(parser);
        return true;
    case RESERVED_FOR:
        parse_for(parser);
        return true;
    case RESERVED_CASE:
        parse_case(parser);
        return true;
    default:
        doubt(parser, "grammar that is not the same in every shell");
        return false;
    }
}

static void parse_command(struct parser *parser)
{
    if (parser->depth >= SMA_SHELL_DEPTH_MAX) {
        doubt(parser, "nested too deep");
        parser->pos = parser->end;
        return;
    }
    parser->depth++;
    sma_shell_skip_blanks(parser);
    enum reserved word;
    while ((word = peek_reserved(parser)) == RESERVED_NOT) {
        take_reserved(parser);
        sma_shell_skip_blanks(parser);
    }
    if (parser->pos < parser->end && *parser->pos == '(') {
        parser->pos++;
        if (parser->pos < parser->end && *parser->pos == '(')
            doubt(parser, "(( is not the same in every shell");
        sma_shell_parse_paren(parser);
        parse_redirects(parser);
    } else if (word == RESERVED_NONE || word == RESERVED_IN) {
        parse_simple(parser);
    } else if (!ends_list(word) && parse_reserved(parser, word)) {
        parse_redirects(parser);
    }
    parser->depth--;
}

/* Between two commands; false when none follows in this list. */
static bool take_separator(struct parser *parser)
{
    sma_shell_skip_blanks(parser);
    if (parser->pos >= parser->end || *parser->pos == ')' || is_at(parser, ";;") ||
        is_at(parser, ";&"))
        return false;
    if (*parser->pos == '\n')
        take_newline(parser);
    else if (is_at(parser, "&&") || is_at(parser, "||") || is_at(parser, "|&"))
        take_operator(parser, 2);
    else if (*parser->pos == ';' || *parser->pos == '|' || *parser->pos == '&')
        take_operator(parser, 1);
    else
        doubt(parser, "the end of a command was expected");
    return true;
}

/* Commands up to a closing parenthesis, ;; or a reserved word that closes what the caller has
 * opened. */
static void parse_list(struct parser *parser)
{
    for (;;) {
        skip_lines(parser);
        if (parser->pos >= parser->end || *parser->pos == ')' || is_at(parser, ";;") ||
            is_at(parser, ";&") || ends_list(peek_reserved(parser)))
            return;
        const char *before = parser->pos;
        if (*parser->pos == ';' || *parser->pos == '|' ||
            (*parser->pos == '&' && !is_at(parser, "&>"))) {
            doubt(parser, "an operator without a command before it");
            parser->pos++;
            continue;
        }
        parse_command(parser);
        if (!take_separator(parser))
            return;
        if (parser->pos == before) { /* nothing stands here that is known: go on behind it */
            doubt(parser, "the command is not understood");
            parser->pos++;
        }
    }
}

static void skip_unexpected(struct parser *parser)
{
    doubt(parser, "something closes what was not opened");
    if (sma_shell_is_meta(*parser->pos))
        parser->pos++;
    else
        take_reserved(parser);
}

void sma_shell_parse_paren(struct parser *parser)
{
    if (parser->depth >= SMA_SHELL_DEPTH_MAX) {
        doubt(parser, "nested too deep");
        parser->pos = parser->end;
        return;
    }
    unsigned base = parser->heredoc_base, opened = parser->opened;
    parser->heredoc_base = parser->heredoc_count;
    parser->opened = 0; /* an expansion comes before the redirections of its command */
    parser->depth++;
    for (parse_list(parser); parser->pos < parser->end && *parser->pos != ')'; parse_list(parser))
        skip_unexpected(parser);
    parser->depth--;
    if (parser->heredoc_count > parser->heredoc_base)
        doubt(parser, "a here-document without its end");
    parser->heredoc_count = parser->heredoc_base;
    parser->heredoc_base = base;
    parser->opened = opened;
    if (parser->pos < parser->end)
        parser->pos++;
    else
        doubt(parser, "a ( without its end");
}

void sma_shell_parse_all(struct parser *parser)
{
    if (parser->depth >= SMA_SHELL_DEPTH_MAX) {
        doubt(parser, "nested too deep");
        return;
    }
    for (parse_list(parser); parser->pos < parser->end; parse_list(parser))
        skip_unexpected(parser);
    if (parser->heredoc_count > 0)
        doubt(parser, "a here-document without its end");
}
