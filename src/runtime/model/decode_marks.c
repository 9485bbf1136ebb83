/* decode_marks.c — see decode_marks.h. */
#include "decode_marks.h"

#include "sma/text.h"

#include <ctype.h>

#define NAME_BYTES_MAX 48
#define MARK_BYTES_MAX 256

enum form
{
    ELEMENT = 1, /* <name>, </name>, <name key="value">, <name=, with a namespace or without */
    TOKEN = 2,   /* <|name|>, <｜name｜>, <|name>, <name|> */
    BRACKET = 4, /* [NAME] */
};

/* Words of the folded names of marks, in order: all of a name, or with a '*' some of it. Sources:
 * chat templates and tool parsers of vLLM, SGLang and llama.cpp; the reports of the field. */
#define PAIR(kind) SMA_NOTATION_##kind, SMA_NOTATION_##kind##_END
#define BOTH(kind) SMA_NOTATION_##kind, SMA_NOTATION_##kind
/* clang-format off */
static const struct
{
    unsigned forms;
    enum sma_notation_kind begin, end;
    const char *words; /* a blank behind each */
} NAMES[] = {
    {ELEMENT | TOKEN | BRACKET, PAIR(THOUGHT), "think "},
    {ELEMENT | TOKEN, PAIR(THOUGHT), "thinking thought thoughts reasoning "},
    {ELEMENT, PAIR(THOUGHT), "reasoningcontent reason reflection scratchpad innermonologue "
                             "antthinking longcatthink "},
    {TOKEN, PAIR(THOUGHT), "inner "}, /* Apertus: inner_prefix */
    /* in front of an answer: Command A, Apriel */
    {TOKEN | BRACKET, SMA_NOTATION_THOUGHT_END, SMA_NOTATION_END, "finalresponse "},
    {TOKEN, SMA_NOTATION_THOUGHT_END, SMA_NOTATION_END, "solution response "},
    {ELEMENT, PAIR(ANSWER), "answer response finalanswer final output "}, /* Hunyuan, ERNIE */
    {ELEMENT | TOKEN, BOTH(RESULT), "*toolresponse *toolresult *tooloutput *functionresult "
                                    "*functionresponse observation "},
    /* between a name and arguments: Mistral, Kimi, Solar, DeepSeek, Step, gpt-oss, InternLM */
    {TOKEN | BRACKET, BOTH(BETWEEN), "args "},
    {ELEMENT, BOTH(BETWEEN), "toolsep "}, /* Hunyuan */
    {TOKEN, BOTH(BETWEEN), "*argument *callargs *callname *toolsep constrain message plugin "},
    {ELEMENT | TOKEN | BRACKET, PAIR(CALLS), "*toolcall "},
    {ELEMENT | TOKEN, PAIR(CALLS), "*functioncall "},
    {BRACKET, PAIR(CALLS), "toolrequest "}, /* LM Studio */
    {ELEMENT, PAIR(CALLS), "*tooluse usetool usemcptool executetool toolcode "},
    {ELEMENT, SMA_NOTATION_ELEMENT, SMA_NOTATION_CALLS_END, "invoke function tool "},
    {TOKEN, PAIR(CALLS), "*tool *python action "}, /* Phi, Apertus, Llama, Command R */
    {TOKEN, BOTH(CALLS_END), "call "},
    /* ends of answers, turns of others: of most models */
    {TOKEN, SMA_NOTATION_NONE, SMA_NOTATION_END, "text sentence "},
    {TOKEN, BOTH(END), "eotid eomid return "},
    {TOKEN, SMA_NOTATION_TURN, SMA_NOTATION_END, "im headerid user "},
    {ELEMENT, SMA_NOTATION_TURN, SMA_NOTATION_END, "ofturn "},
    {ELEMENT, SMA_NOTATION_NONE, SMA_NOTATION_END, "s "},
};
/* clang-format on */

#define LITERAL(kind, text, is_control, is_weak)                                                \
    {                                                                                           \
        SMA_NOTATION_##kind, {text, sizeof(text) - 1}, is_control, is_weak, false, false, false \
    }
#define WORD(kind, text) LITERAL(kind, text, false, false)
#define WEAK(kind, text) LITERAL(kind, text, false, true)
#define CONTROL(kind, text) LITERAL(kind, text, true, false)
#define ANALYSIS "<|channel|>analysis<|message|>"

/* What no name tells. They are looked for first. */
/* clang-format off */
static const struct sma_notation LITERALS[] = {
    /* gpt-oss: a thought ends where another channel begins */
    CONTROL(THOUGHT, ANALYSIS), CONTROL(THOUGHT, "<|start|>assistant" ANALYSIS),
    CONTROL(THOUGHT_END, "<|end|><|start|>assistant<|channel|>final<|message|>"),
    CONTROL(THOUGHT_END, "<|start|>assistant<|channel|>final<|message|>"),
    CONTROL(THOUGHT_END, "<|channel|>final<|message|>"), CONTROL(THOUGHT_END, "<|end|>"),
    CONTROL(THOUGHT_END, "assistantfinal"), /* its tokens left out by the server */
    CONTROL(CALLS, "<|start|>assistant<|channel|>commentary"),
    CONTROL(CALLS, "<|start|>assistant to="), CONTROL(CALLS, "<|channel|>commentary"),
    CONTROL(BETWEEN, "<|channel|>commentary"),
    CONTROL(BETWEEN, "<|channel|>analysis"),
    CONTROL(THOUGHT, "<|channel>thought"), CONTROL(THOUGHT_END, "<channel|>"), /* Gemma 4 */
    CONTROL(THOUGHT, "◁think▷"), CONTROL(THOUGHT_END, "◁/think▷"), /* Kimi-VL */
    /* Granite, Apriel */
    WEAK(THOUGHT, "Here is my thought process:"), WEAK(THOUGHT_END, "Here is my response:"),
    WEAK(THOUGHT, "Here are my reasoning steps:"),
    WORD(CALLS, "```tool_call"), WORD(CALLS, "```tool_use"), WORD(CALLS, "```tool_code"),
    WORD(CALLS, "```function_call"), WORD(CALLS_END, "```"), /* Gemma */
    CONTROL(CALLS, "✿FUNCTION✿:"), CONTROL(BETWEEN, "✿ARGS✿:"), CONTROL(RESULT, "✿RESULT✿"),
    WEAK(CALLS, "to=functions."), WEAK(CALLS, "functools"), /* gpt-oss, Phi, FireFunction */
    WEAK(CALLS, "Action:"), WEAK(BETWEEN, "Action Input:"), WEAK(RESULT, "Observation:"),
    WORD(BETWEEN, "```json"), WORD(BETWEEN, "```"),
};
/* clang-format on */

/* -- reading one ------------------------------------------------------------------------------- */
static bool begins(struct sma_str text, size_t at, struct sma_str mark)
{
    return text.len - at >= mark.len &&
           sma_str_is_equal_nocase((struct sma_str){text.ptr + at, mark.len}, mark);
}

static size_t bar_at(struct sma_str text, size_t at)
{
    return begins(text, at, SMA_STR("|")) ? 1 : begins(text, at, SMA_STR("｜")) ? 3 : 0;
}

struct shape
{
    enum form form;
    bool is_end, has_value, is_spaced, is_open;
    char name[NAME_BYTES_MAX]; /* folded */
    size_t name_len, end;
};

static bool cut_front(struct shape *shape, const char *word)
{
    size_t len = strlen(word);
    bool has = shape->name_len >= len && memcmp(shape->name, word, len) == 0;
    if (has)
        memmove(shape->name, shape->name + len, (shape->name_len -= len) + 1);
    return has;
}

static bool cut_back(struct shape *shape, const char *word)
{
    size_t len = strlen(word);
    bool has =
        shape->name_len >= len && memcmp(shape->name + shape->name_len - len, word, len) == 0;
    if (has)
        shape->name[shape->name_len -= len] = '\0';
    return has;
}

/* Letters and digits in lower case, without what says that it begins or ends. */
static void fold(struct shape *shape, struct sma_str name)
{
    shape->name_len = 0;
    for (size_t i = 0; i < name.len && shape->name_len + 1 < NAME_BYTES_MAX; i++)
        if (isalnum((unsigned char)name.ptr[i]))
            shape->name[shape->name_len++] = (char)tolower((unsigned char)name.ptr[i]);
    shape->name[shape->name_len] = '\0';
    if (shape->form == ELEMENT && shape->name_len < 8) /* "<end>", "<legend>" are other words */
        return;
    if (cut_front(shape, "end") || cut_back(shape, "end") || cut_back(shape, "suffix"))
        shape->is_end = true;
    else if (!cut_front(shape, "begin") && !cut_front(shape, "start") && !cut_back(shape, "begin"))
        (void)(cut_back(shape, "start") || cut_back(shape, "prefix"));
    if (shape->form != ELEMENT)
        (void)cut_front(shape, "of");
}

static size_t name_end(struct sma_str text, size_t at, enum form form)
{
    for (; at < text.len; at++) {
        unsigned char byte = (unsigned char)text.ptr[at];
        bool is_of = form == BRACKET ? isupper(byte) || byte == '_' || byte == ' '
                                     : isalnum(byte) || (byte != '\0' && strchr("_-.:", byte));
        if (!is_of && begins(text, at, SMA_STR("▁")))
            at += 2;
        else if (!is_of)
            break;
    }
    return at;
}

static size_t skip_blanks(struct sma_str text, size_t at)
{
    while (at < text.len && text.ptr[at] == ' ')
        at++;
    return at;
}

/* Of a name in bars, with blanks inside ("tool calls begin") and behind it. */
static size_t words_end(struct sma_str text, size_t begin)
{
    size_t end = name_end(text, begin, TOKEN), next = skip_blanks(text, end);
    while (next > end && next < text.len && next - begin < NAME_BYTES_MAX &&
           isalnum((unsigned char)text.ptr[next])) {
        end = name_end(text, next, TOKEN);
        next = skip_blanks(text, end);
    }
    return next == text.len || bar_at(text, next) > 0 ? next : name_end(text, begin, TOKEN);
}

size_t sma_notation_name_at(struct sma_str text, size_t at, bool *ret_is_end, bool *ret_is_spaced,
                            size_t *ret_bar)
{
    size_t slash = skip_blanks(text, at);
    bool is_end = slash < text.len && text.ptr[slash] == '/';
    size_t begin = skip_blanks(text, slash + is_end), bar = bar_at(text, begin);
    *ret_bar = bar;
    *ret_is_spaced = false;
    *ret_is_end = bar > 0 ? is_end : at < text.len && text.ptr[at] == '/';
    if (bar == 0)
        return at + *ret_is_end;
    begin = skip_blanks(text, begin + bar);
    if (begin < text.len && text.ptr[begin] == '/') {
        *ret_is_end = true;
        begin++;
    }
    size_t end = words_end(text, begin), last = bar_at(text, end);
    size_t next = skip_blanks(text, end + last);
    if (last == 0 || next >= text.len || !isalpha((unsigned char)text.ptr[next]))
        return begin;
    *ret_bar = 0; /* <｜DSML｜invoke: a namespace */
    *ret_is_spaced = true;
    return next;
}

/* Behind the attributes of an element; 0 = it is none. */
static size_t attributes_end(struct shape *shape, struct sma_str text, size_t at)
{
    size_t limit = at + MARK_BYTES_MAX < text.len ? at + MARK_BYTES_MAX : text.len, from = at;
    for (; at < limit && text.ptr[at] != '<' && text.ptr[at] != '\n'; at++)
        if (text.ptr[at] == '>' || (at > from && begins(text, at, SMA_STR("name=")))) {
            shape->has_value = text.ptr[at] != '>';
            return at + 1;
        }
    shape->is_open = at == text.len;
    return 0;
}

/* A mark's shape, whatever it means. false: none; is_open: the text ended in what may be one. */
static bool read_shape(struct sma_str text, size_t at, struct shape *shape)
{
    size_t begin = at + 1, bar = 0, last = 0;
    *shape = (struct shape){.form = text.ptr[at] == '[' ? BRACKET : ELEMENT};
    shape->is_end = shape->form == BRACKET && begins(text, begin, SMA_STR("/"));
    begin += shape->is_end;
    if (shape->form == ELEMENT)
        begin = sma_notation_name_at(text, begin, &shape->is_end, &shape->is_spaced, &bar);
    size_t end = name_end(text, begin, shape->form);
    if (bar > 0)
        end = words_end(text, begin);
    last = shape->form == BRACKET ? 0 : bar_at(text, end);
    const char *colon = bar + last > 0 ? NULL : memchr(text.ptr + begin, ':', end - begin);
    if (colon != NULL && shape->form == ELEMENT) {
        shape->is_spaced = true;
        begin = (size_t)(colon + 1 - text.ptr);
    }
    if (bar + last > 0) {
        shape->form = TOKEN;
        shape->is_end |= bar == 0;
    }
    fold(shape, (struct sma_str){text.ptr + begin, end - begin});
    end += last;
    while (shape->is_end && end < text.len && text.ptr[end] == ' ')
        end++;
    shape->is_open = end >= text.len;
    shape->end = end + 1;
    if (shape->is_open)
        return false;
    if (text.ptr[end] == (shape->form == BRACKET ? ']' : '>'))
        return true;
    if (shape->form != ELEMENT || shape->is_end)
        return false;
    shape->has_value = text.ptr[end] == '=' || text.ptr[end] == '(';
    if (!shape->has_value && isspace((unsigned char)text.ptr[end]))
        shape->end = attributes_end(shape, text, end);
    else if (!shape->has_value)
        return false;
    return shape->end > 0;
}

/* A part of an element's name stands at its end: "<tool_calling>" is none. */
static bool has_word(const char *words, const struct shape *shape)
{
    const char *name = shape->name;
    for (size_t len; (len = strcspn(words, " ")) > 0; words += len + 1) {
        size_t is_part = *words == '*', width = len - is_part;
        const char *found = memmem(name, shape->name_len, words + is_part, width);
        const char *rest = found == NULL ? "" : found + width;
        bool is_end = rest[0] == '\0' || (is_part && strcmp(rest, "s") == 0);
        if (found != NULL && (is_part || found == name) &&
            (is_end || (is_part && shape->form != ELEMENT)))
            return true;
    }
    return false;
}

static enum sma_notation_kind kind_of(const struct shape *shape)
{
    for (size_t i = 0; i < SMA_COUNT_OF(NAMES); i++) {
        if ((NAMES[i].forms & shape->form) == 0 || !has_word(NAMES[i].words, shape))
            continue;
        enum sma_notation_kind kind = shape->is_end ? NAMES[i].end : NAMES[i].begin;
        if (shape->form != ELEMENT || (SMA_NOTATIONS(kind) & SMA_NOTATIONS_OF_CALLS) == 0)
            return kind;
        bool holds_name = shape->has_value || strcmp(shape->name, "invoke") == 0;
        return holds_name                   ? SMA_NOTATION_ELEMENT
               : kind == SMA_NOTATION_CALLS ? kind
                                            : SMA_NOTATION_NONE;
    }
    return shape->form == TOKEN && shape->is_end && shape->name_len == 0 ? SMA_NOTATION_END
                                                                         : SMA_NOTATION_NONE;
}

static bool is_first_byte(char byte)
{
    return byte != '\0' && (strchr("<[`fatAHO", byte) != NULL || (unsigned char)byte == 0xe2);
}

struct sma_notation sma_notation_at(struct sma_str text, size_t at, unsigned kinds)
{
    struct sma_notation none = {0};
    struct shape shape;
    if (at >= text.len || !is_first_byte(text.ptr[at]))
        return none;
    for (size_t i = 0; i < SMA_COUNT_OF(LITERALS); i++)
        if (LITERALS[i].text.ptr[0] == text.ptr[at] &&
            (kinds & SMA_NOTATIONS(LITERALS[i].kind)) != 0 && begins(text, at, LITERALS[i].text))
            return LITERALS[i];
    if (text.ptr[at] != '<' && text.ptr[at] != '[')
        return none;
    if (!read_shape(text, at, &shape)) {
        none.is_open = shape.is_open;
        return none;
    }
    enum sma_notation_kind kind = kind_of(&shape);
    if (kind == SMA_NOTATION_NONE || (kinds & SMA_NOTATIONS(kind)) == 0)
        return none;
    return (struct sma_notation){.kind = kind,
                                 .text = {text.ptr + at, shape.end - at},
                                 .is_control = shape.form != ELEMENT || shape.is_spaced,
                                 .is_weak = strcmp(shape.name, "tool") == 0};
}

/* Blanks of more than a byte: the byte order mark, no-break, narrow, wide and of no width. */
static size_t wide_blank(struct sma_str text, size_t at)
{
    static const char *const blanks[] = {"\xef\xbb\xbf", "\xc2\xa0", "\xe2\x80\xaf",
                                         "\xe3\x80\x80"};
    for (size_t i = 0; i < SMA_COUNT_OF(blanks); i++)
        if (begins(text, at, sma_str(blanks[i])))
            return strlen(blanks[i]);
    return text.len - at >= 3 && memcmp(text.ptr + at, "\xe2\x80", 2) == 0 &&
                   (unsigned char)text.ptr[at + 2] <= 0x8b
               ? 3
               : 0;
}

size_t sma_notation_skip_space(struct sma_str text, size_t at)
{
    size_t wide;
    while (at < text.len) {
        if (text.ptr[at] != '\0' && strchr(" \t\n\r", text.ptr[at]) != NULL)
            at++;
        else if ((unsigned char)text.ptr[at] >= 0x80 && (wide = wide_blank(text, at)) > 0)
            at += wide;
        else
            break;
    }
    return at;
}

/* -- where it may stand ------------------------------------------------------------------------ */
/* A word counts where a line begins; of calls also behind the end of a sentence (the last three: of
 * a Chinese one). */
static bool may_stand(const struct sma_notation_cursor *cursor, const struct sma_notation *mark)
{
    bool is_call = mark->kind == SMA_NOTATION_CALLS || mark->kind == SMA_NOTATION_ELEMENT;
    bool is_behind_end = is_call && !mark->is_weak && cursor->before != 0 &&
                         strchr(".:!?>\x82\x81\x9a", cursor->before) != NULL;
    return mark->is_control || cursor->is_line_start || is_behind_end ||
           (mark->kind == SMA_NOTATION_THOUGHT_END && !mark->is_weak);
}

/* At the first byte of a line: is it code by CommonMark's rules? A fence ends with as many of its
 * own bytes or more; four blanks behind an empty line, or '>', quote a line. (What an answer begins
 * with is not indented: that is how some models write.) */
static void begin_line(struct sma_notation_cursor *cursor, struct sma_str text)
{
    size_t at = cursor->at, width = 0, run = 0, end = at;
    char byte = text.ptr[at];
    for (size_t i = at; i > 0 && (text.ptr[i - 1] == ' ' || text.ptr[i - 1] == '\t'); i--)
        width += text.ptr[i - 1] == '\t' ? 4 : 1;
    while (at + run < text.len && text.ptr[at + run] == byte)
        run++;
    while (end < text.len && text.ptr[end] != '\n')
        end++;
    struct sma_str rest = {text.ptr + at + run, end > at + run ? end - at - run : 0};
    bool is_fence = width < 4 && (byte == '`' || byte == '~') && run >= 3;
    bool is_empty = byte == '\n' || byte == '\r';
    cursor->is_indented = cursor->fence_len == 0 && cursor->before != 0 && width >= 4 &&
                          (cursor->is_indented || cursor->is_behind_empty);
    cursor->is_indented |= cursor->fence_len == 0 && width < 4 && byte == '>';
    cursor->is_behind_empty = is_empty;
    if (is_fence && cursor->fence_len == 0 &&
        (byte == '~' || memchr(rest.ptr, '`', rest.len) == NULL)) {
        cursor->fence = byte;
        cursor->fence_len = run;
    } else if (is_fence && byte == cursor->fence && run >= cursor->fence_len &&
               sma_str_trim(rest).len == 0) {
        cursor->fence_len = 0;
        cursor->is_behind_empty = true;
    }
}

/* One byte on; does it stand in code, or in a quotation? */
static bool step(struct sma_notation_cursor *cursor, struct sma_str text)
{
    char byte = text.ptr[cursor->at];
    size_t wide = (unsigned char)byte >= 0x80 ? wide_blank(text, cursor->at) : 0;
    bool is_blank = byte == ' ' || byte == '\t' || byte == '\r' || wide > 0;
    bool was_fenced = cursor->fence_len > 0;
    if (cursor->is_line_start && !is_blank)
        begin_line(cursor, text);
    bool is_code = cursor->is_ticked || cursor->is_indented || was_fenced;
    cursor->at += wide > 0 ? wide - 1 : 0;
    if (byte == '`' && cursor->is_line_start && begins(text, cursor->at, SMA_STR("```")))
        cursor->at += 2;
    else if (byte == '`')
        cursor->is_ticked = !cursor->is_ticked;
    if (byte == '\n')
        cursor->is_ticked = false; /* a backtick alone in its line opens nothing */
    else if (!is_blank)
        cursor->before = (unsigned char)byte;
    cursor->is_line_start = byte == '\n' || (cursor->is_line_start && is_blank);
    cursor->at++;
    return is_code;
}

bool sma_notation_is_code(struct sma_notation_cursor *cursor, struct sma_str text, size_t at)
{
    bool is_code = false;
    while (cursor->at <= at && cursor->at < text.len)
        is_code = step(cursor, text);
    return is_code;
}

/* "<tool_call> opens a call", "<tool_call>, and": a sentence goes on behind it. */
static bool is_mention(struct sma_str text, size_t at, const struct sma_notation *mark)
{
    size_t end = at + mark->text.len, next = skip_blanks(text, end);
    unsigned char byte = next < text.len ? (unsigned char)text.ptr[next] : '\0';
    if (next == end && byte != '\0' && strchr(",.;:)!?", byte) != NULL)
        return true;
    return !mark->is_control && (byte >= 0x80 || (next > end && isalpha(byte)));
}

struct sma_notation sma_notation_next(struct sma_notation_cursor *cursor, struct sma_str text,
                                      unsigned kinds, size_t *ret_at)
{
    while (cursor->at < text.len) {
        struct sma_notation mark = sma_notation_at(text, cursor->at, kinds);
        mark.stands = may_stand(cursor, &mark);
        mark.is_inline = !cursor->is_line_start && mark.kind != SMA_NOTATION_NONE &&
                         (isalnum(cursor->before) || is_mention(text, cursor->at, &mark));
        *ret_at = cursor->at;
        bool is_code = step(cursor, text);
        if (mark.kind != SMA_NOTATION_NONE && !is_code && (mark.stands || !mark.is_weak))
            return mark;
    }
    return (struct sma_notation){0};
}

size_t sma_notation_hold(struct sma_str text)
{
    size_t most = text.len < MARK_BYTES_MAX ? text.len : MARK_BYTES_MAX;
    for (size_t len = most; len > 0; len--) {
        struct sma_str end = {text.ptr + text.len - len, len};
        if (!is_first_byte(end.ptr[0]))
            continue;
        if (sma_notation_at(end, 0, ~0u).is_open)
            return text.len - len;
        for (size_t i = 0; i < SMA_COUNT_OF(LITERALS); i++)
            if (LITERALS[i].text.len > len && LITERALS[i].kind != SMA_NOTATION_BETWEEN &&
                sma_str_is_equal_nocase(end, (struct sma_str){LITERALS[i].text.ptr, len}))
                return text.len - len;
    }
    return text.len;
}

bool sma_notation_is_quoted(struct sma_str request, const struct sma_notation *mark)
{
    /* An attribute's quote is escaped there; what stands before it tells enough. */
    size_t len = 0;
    while (len < mark->text.len && strchr("\" \n", mark->text.ptr[len]) == NULL)
        len++;
    return request.len > 0 && memmem(request.ptr, request.len, mark->text.ptr, len) != NULL;
}

/* -- quoted ------------------------------------------------------------------------------------ */
/* The next byte that counts, of a JSON string: white space and what is written as an escape of it
 * does not. 0 = the end. */
static char next_of_json(struct sma_str json, size_t *at)
{
    while (*at < json.len) {
        char c = json.ptr[(*at)++];
        if (c == '\\' && *at < json.len) {
            c = json.ptr[(*at)++];
            if (strchr("nrt", c) != NULL)
                continue;
        }
        if (strchr(" \t\r\n", c) == NULL)
            return c;
    }
    return '\0';
}

static bool is_block_at(struct sma_str json, size_t at, struct sma_str block)
{
    for (size_t i = 0; i < block.len; i++) {
        if (block.ptr[i] == '\0' || strchr(" \t\r\n", block.ptr[i]) != NULL)
            continue;
        if (next_of_json(json, &at) != block.ptr[i])
            return false;
    }
    return true;
}

/* Of a request full of marks only so many are compared. */
#define QUOTE_COUNT_MAX 1024

/* `block` begins with `anchor`, which is written alike in JSON. */
static bool is_quoted(struct sma_str request, struct sma_str block, struct sma_str anchor)
{
    size_t at = 0;
    for (size_t count = 0; at < request.len && count < QUOTE_COUNT_MAX; count++) {
        const char *found = memmem(request.ptr + at, request.len - at, anchor.ptr, anchor.len);
        if (found == NULL)
            return false;
        at = (size_t)(found - request.ptr);
        if (is_block_at(request, at, block))
            return true;
        at += anchor.len;
    }
    return at < request.len; /* too many to tell */
}

/* Is the first of these calls, or one behind a mark of its own, a quotation? */
bool sma_notation_is_block_quoted(struct sma_str request, struct sma_str region)
{
    struct sma_notation_cursor cursor = {.is_line_start = true};
    size_t at = 0, next = 0;
    struct sma_notation behind, found = {0};
    if (request.len > 0)
        found = sma_notation_next(&cursor, region, SMA_NOTATIONS_OF_CALLS, &at);
    while (found.kind != SMA_NOTATION_NONE) {
        behind = sma_notation_next(&cursor, region, SMA_NOTATIONS_OF_CALLS, &next);
        size_t to = behind.kind == SMA_NOTATION_NONE ? region.len : next, len = 0;
        struct sma_str block = sma_str_trim((struct sma_str){region.ptr + at, to - at});
        while (len < found.text.len && strchr(" \"\n", found.text.ptr[len]) == NULL)
            len++;
        if (block.len > found.text.len + 8 &&
            is_quoted(request, block, (struct sma_str){found.text.ptr, len}))
            return true;
        found = behind;
        at = next;
    }
    return false;
}

/* -- thoughts ---------------------------------------------------------------------------------- */
/* "The mark </think> ends it" is a sentence: between words, or where the mark is talked about. */
static bool is_word(struct sma_str text, size_t at, const struct sma_notation *mark,
                    struct sma_str request)
{
    size_t end = at + mark->text.len;
    bool ends_line = end >= text.len || text.ptr[end] == '\n' || text.ptr[end] == '\r';
    bool begins_line = at == 0 || text.ptr[at - 1] == '\n';
    bool is_in_sentence = at > 1 && text.ptr[at - 1] == ' ' && end < text.len &&
                          text.ptr[end] == ' ' && isalnum((unsigned char)text.ptr[at - 2]);
    return !mark->is_control && !ends_line && !begins_line &&
           (is_in_sentence || sma_notation_is_quoted(request, mark));
}

static void put_to(struct sma_buf *buf, struct sma_str text, size_t from, size_t to)
{
    if (buf != NULL && to > from)
        sma_buf_put(buf, text.ptr + from, to - from);
}

static bool is_blank(const struct sma_buf *buf)
{
    return sma_str_trim((struct sma_str){buf->len > 0 ? buf->ptr : "", buf->len}).len == 0;
}

/* The first mark of these kinds at or behind `at`, code or not. */
static struct sma_notation find(struct sma_str text, size_t at, unsigned kinds, size_t *ret_at)
{
    struct sma_notation mark = {0};
    for (; at < text.len && mark.kind == SMA_NOTATION_NONE; at++) {
        mark = sma_notation_at(text, at, kinds);
        *ret_at = at;
    }
    return mark;
}

/* Where the thought that begins at `begin` ends; of one inside of it the end counts that is behind.
 * NONE: it does not, unless by going over to calls and forgetting to say that it had thought
 * enough. */
static struct sma_notation find_end(struct sma_str text, size_t begin, size_t *ret_end)
{
    size_t at = begin, inner = 0, next = 0;
    struct sma_notation mark = find(text, at, SMA_NOTATIONS(SMA_NOTATION_THOUGHT_END), ret_end);
    if (mark.kind == SMA_NOTATION_NONE) /* or by its beginning once more */
        mark = find(text, begin, SMA_NOTATIONS(SMA_NOTATION_THOUGHT), ret_end);
    while (mark.kind == SMA_NOTATION_THOUGHT_END &&
           find(text, at, SMA_NOTATIONS(SMA_NOTATION_THOUGHT), &inner).kind != SMA_NOTATION_NONE &&
           inner < *ret_end) {
        struct sma_notation outer =
            find(text, *ret_end + mark.text.len, SMA_NOTATIONS(SMA_NOTATION_THOUGHT_END), &next);
        at = inner + 1;
        if (outer.kind == SMA_NOTATION_NONE)
            break;
        mark = outer;
        *ret_end = next;
    }
    struct sma_notation_cursor cursor = {.at = begin, .is_line_start = true};
    if (mark.kind == SMA_NOTATION_NONE &&
        sma_notation_next(&cursor, text, SMA_NOTATIONS_OF_CALLS, ret_end).kind == SMA_NOTATION_NONE)
        *ret_end = text.len;
    return mark;
}

/* Without what ends an answer, and what ends a call that never began. */
static struct sma_str without_end(struct sma_str text, struct sma_str request)
{
    const unsigned kinds = SMA_NOTATIONS(SMA_NOTATION_END) | SMA_NOTATIONS(SMA_NOTATION_TURN);
    struct sma_notation_cursor cursor = {.is_line_start = true};
    struct sma_notation mark;
    size_t at = 0;
    while ((mark = sma_notation_next(&cursor, text, kinds, &at)).kind != SMA_NOTATION_NONE) {
        size_t behind = sma_notation_skip_space(text, at + mark.text.len);
        bool is_last = behind >= text.len || mark.kind == SMA_NOTATION_TURN ||
                       sma_notation_at(text, behind, kinds).kind != SMA_NOTATION_NONE;
        if (is_last && sma_str_trim((struct sma_str){text.ptr, at}).len > 0 &&
            !(sma_notation_is_quoted(request, &mark) && behind < text.len))
            return (struct sma_str){text.ptr, at};
    }
    return text;
}

/* <answer>...</answer> around everything. */
static struct sma_str without_answer(struct sma_str text, struct sma_str request)
{
    struct sma_str inner = sma_str_trim(text);
    struct sma_notation mark = sma_notation_at(inner, 0, SMA_NOTATIONS(SMA_NOTATION_ANSWER));
    size_t end = inner.len;
    if (mark.kind == SMA_NOTATION_NONE || sma_notation_is_quoted(request, &mark))
        return text;
    const char *last = memrchr(inner.ptr, '<', inner.len);
    size_t at = (size_t)(last - inner.ptr);
    struct sma_notation closing =
        sma_notation_at(inner, at, SMA_NOTATIONS(SMA_NOTATION_ANSWER_END));
    if (closing.kind != SMA_NOTATION_NONE && at + closing.text.len < inner.len)
        return text;
    end = closing.kind == SMA_NOTATION_NONE ? end : at;
    return sma_str_trim((struct sma_str){inner.ptr + mark.text.len, end - mark.text.len});
}

static struct sma_str leave_out_thoughts(struct sma_str text, struct sma_str request, bool is_whole,
                                         struct sma_buf *visible, struct sma_buf *thought)
{
    const unsigned kinds =
        SMA_NOTATIONS(SMA_NOTATION_THOUGHT) | SMA_NOTATIONS(SMA_NOTATION_THOUGHT_END);
    struct sma_notation_cursor cursor = {.is_line_start = true};
    size_t at = 0, found = 0, end = 0, open_at = SIZE_MAX;
    struct sma_notation mark;
    sma_buf_clear(visible);
    while (open_at == SIZE_MAX &&
           (mark = sma_notation_next(&cursor, text, kinds, &found)).kind != SMA_NOTATION_NONE) {
        size_t behind = found + mark.text.len;
        if (mark.kind == SMA_NOTATION_THOUGHT_END) {
            if (mark.is_weak || is_word(text, found, &mark, request))
                continue;
            put_to(thought, text, at, found); /* it began with the text */
            sma_buf_clear(visible);
            at = sma_notation_skip_space(text, behind);
        } else {
            bool is_first = is_blank(visible) && sma_notation_skip_space(text, at) == found;
            struct sma_notation closing = find_end(text, behind, &end);
            bool is_closed = closing.kind != SMA_NOTATION_NONE;
            if (!is_closed && is_whole && (mark.is_weak || !mark.stands))
                continue; /* a sentence */
            if (!is_first && sma_notation_is_quoted(request, &mark) && (!is_closed || !mark.stands))
                break; /* words about it, and none behind it ends either */
            open_at = is_closed ? SIZE_MAX : behind;
            put_to(visible, text, is_first ? found : at, found);
            put_to(thought, text, behind, end);
            at = end + closing.text.len;
            at = is_blank(visible) ? sma_notation_skip_space(text, at) : at;
        }
        cursor = (struct sma_notation_cursor){.at = at, .is_line_start = true};
    }
    if (at == 0)
        return text;
    put_to(visible, text, at, text.len);
    if (is_whole && open_at != SIZE_MAX && is_blank(visible))
        return sma_str_trim((struct sma_str){text.ptr + open_at, text.len - open_at});
    return (struct sma_str){visible->len > 0 ? visible->ptr : "", visible->len};
}

struct sma_str sma_notation_visible(struct sma_str text, struct sma_str request, bool is_whole,
                                    struct sma_buf *visible, struct sma_buf *thought)
{
    struct sma_str left = leave_out_thoughts(text, request, is_whole, visible, thought);
    struct sma_str cut = without_answer(without_end(left, request), request);
    /* White space at the end of a text that is as the model wrote it stays. */
    return is_whole && (left.ptr != text.ptr || cut.len != left.len) ? sma_str_trim(cut) : cut;
}
