/*
 * generate_word.c — words: what fills the holes of a template, and the ways a shell has to spell
 * one.
 */
#include "generate_priv.h"

#include <stdio.h>
#include <string.h>

uint64_t gen_next(struct gen *gen)
{
    uint64_t z = gen->state += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

size_t gen_below(struct gen *gen, size_t limit)
{
    return (size_t)(gen_next(gen) % limit);
}

bool gen_chance(struct gen *gen, unsigned percent)
{
    return gen_below(gen, 100) < percent;
}

void put_bytes(struct text *text, const char *bytes, size_t len)
{
    if (len >= sizeof text->bytes - text->len) {
        text->is_full = true;
        return;
    }
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    text->bytes[text->len] = '\0';
}

void put(struct text *text, const char *string)
{
    put_bytes(text, string, strlen(string));
}

const char *gen_pick(struct gen *gen, const char *list, char separator, size_t *ret_len)
{
    size_t count = 1;
    for (const char *at = list; (at = strchr(at, separator)) != NULL; at++)
        count++;
    size_t index = gen_below(gen, count);
    for (; index > 0; index--)
        list = strchr(list, separator) + 1;
    *ret_len = (size_t)(strchrnul(list, separator) - list);
    return list;
}

static void put_pick(struct gen *gen, struct text *out, const char *list, char separator)
{
    size_t len;
    const char *word = gen_pick(gen, list, separator, &len);
    put_bytes(out, word, len);
}

/* -- holes ------------------------------------------------------------------------------------- */
static const struct
{
    char letter, separator;
    const char *words;
} HOLES[] = {
    {'f', ' ',
     "a.txt b.txt m.txt data.csv build.log list.txt src/main.c docs/page.md ./a.txt "
     "/home/project/a.txt link"},
    {'n', ' ', "new.txt out.log src/new.c logs/run.txt docs/new.md b.txt copy.csv"},
    {'d', ' ', "src docs logs . sub ./src src/"},
    {'p', ' ',
     "*.txt src/*.c *.csv ? [a-b].txt docs/* d* {a,b}.txt src/{main,util}.c *.t?t x?f ru? *.log s* "
     "*/*.md"},
    {'h', ' ',
     "d dash xIf cfI run foreach -rf cat sh ./cat sub/run.sh run.sh evil.py evil.sed evil.awk "
     "trap.mk evil.so ./git "
     "a[b] mirror.git ./mirror.git nested evil.tar out out/diary.txt sub"},
    {'r', ' ',
     "Makefile package.json ship.json Agent.md .env .env.local .ship/state.db .git/config "
     ".git/hooks/pre-commit "
     "scripts/report.py scripts/json.py Makefile.sh GNUmakefile x.mk rust-toolchain.toml "
     "Cargo.toml .cargo/config.toml "
     "/etc/x ../x ~/x .hidden src/../../x Makefil? ship.jso[n] scripts/*.py .e* mirror.git/config "
     "mirror.git/hooks/update "
     "out/x .gitattributes build.rs .npmrc sub/../Makefile ./Makefile //home/project/Makefile Make "
     "kefile"},
    {'t', '|',
     "hello|error|two "
     "words|it's|$5|100%|a=b|%s\\n|\\n|*|[x]|a[b]|--|-n|x;y|#|`|é|'|\"|(|x\ty|!|~|{}|;|a[0]"},
    {'i', ' ', "1 2 3 0 10 100 -1 +2 007"},
    {'v', ' ',
     "1 2 a.txt x : , sh d* dash PATH=. canary run -rf %f %d %r 10k never - -- x=1 src ./evil.so "
     "sub kefile .json"},
    {'e', '|', "0|$(canary)|`canary`|b|1|$x|b[$(canary)]|x[b]|$((b))"},
    {'V', ' ', "x y b u LC_a LC_ALL LANG PATH IFS a tmp"},
    {'u', ' ',
     "http://127.0.0.1/x file:///etc/hostname file:///home/project/a.txt "
     "http://127.0.0.1:1/evil.sh"},
    {'g', ' ', "HEAD HEAD~1 main v1 HEAD^ --all a.txt -- stash@{0} HEAD:a.txt"},
    {'j', '|',
     "s/a/b/|s/a/b/g|1d|/x/p|$!d|1e canary|s/a/b/e|w Makefile|w new.txt|r a.txt|s/x/y/w "
     "ship.json|y/a/b/|1,2p|s/one/canary/e|1{p;q}|e|F|"
     "s,a,b,;1ecanary|W .env"},
    {'k', '~',
     "{print $1}~/error/~$3 > 10 {print $1}~length($0) > 3~BEGIN{system(\"canary\")}~{print > "
     "\"Makefile\"}~{print | \"canary\"}~"
     "\"canary\" | getline~{n++} END {print n}~{print $1 > \"new.txt\"}~@include \"evil.awk\"~{ "
     "printf \"%s\", $0 >> \"../x\" }~"
     "BEGIN{x=\"canary\"; x | getline}~function f(){system(\"canary\")} BEGIN{f()}~1"},
};

/* Code in the forms that programs take it: nothing of it may run unless it is listed. */
static const char CODES[] =
    "canary|canary;cat|touch PWNED;cat|sh -c canary|cat a.txt|./cat|e "
    "canary|exec=canary|$(canary)|`canary`|"
    "system(\"canary\")|-c \"canary;\"|a[$(canary)]|c[$(canary)]|<(canary)|!canary|rm a.txt|canary "
    "x";
static const char TESTS[] = "1|2|a|b|x|-v|-n|-z|-f|-eq|=|!=|-lt|-a|-o|!|a.txt|a[b]|x[0]|a[$x]|-R|-"
                            "t|-nt|(|)|c[$(canary)]|x[b]";

static const char *find_hole(char letter, char *ret_separator)
{
    for (size_t i = 0; i < sizeof HOLES / sizeof HOLES[0]; i++)
        if (HOLES[i].letter == letter) {
            *ret_separator = HOLES[i].separator;
            return HOLES[i].words;
        }
    return NULL;
}

static void fill_hole(struct gen *gen, char letter, struct text *raw, bool *is_bare)
{
    char separator = '|';
    /* a hostile text puts unusual files where usual ones stand */
    if (gen->is_hostile && strchr("fndv", letter) != NULL && gen_chance(gen, 12))
        letter = "hhrprt"[gen_below(gen, 6)];
    if (!gen->is_hostile && letter == 'v')
        letter = "ifi"[gen_below(gen, 3)];
    if (!gen->is_hostile && letter == 'p' && gen_chance(gen, 50))
        letter = 'f';
    const char *words = find_hole(letter, &separator);
    if (letter == 'C' || letter == 'c')
        words = CODES;
    if (letter == 'b')
        words = TESTS;
    if (words == NULL)
        return;
    size_t len;
    const char *word = gen_pick(gen, words, separator, &len);
    if (letter == 'p' || (letter != 't' && letter != 'C' && letter != 'c' && letter != 'b' &&
                          letter != 'e' && memchr(word, '[', len) == NULL &&
                          (memchr(word, '*', len) != NULL || memchr(word, '?', len) != NULL)))
        *is_bare = true;
    if (gen->is_hostile && memmem(word, len, "[b]", 3) != NULL && gen->head_count < 3 &&
        gen_chance(gen, 50)) { /* what bash evaluates once more */
        gen->head_count++;
        put(&gen->head, "b='c[$(canary)]'; ");
    }
    if (len == 2 && word[0] == '%')
        fill_hole(gen, word[1], raw, is_bare);
    else
        put_bytes(raw, word, len);
}

void gen_fill(struct gen *gen, const char *token, size_t len, struct text *raw, bool *is_bare)
{
    *is_bare = false;
    for (size_t i = 0; i < len; i++) {
        if (token[i] == '%' && i + 1 < len && token[i + 1] != '%')
            fill_hole(gen, token[++i], raw, is_bare);
        else
            put_bytes(raw, token[i] == '~' ? " " : &token[i], 1); /* a blank would end the token */
    }
}

/* -- spellings --------------------------------------------------------------------------------- */
static bool is_plain_byte(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || strchr("_-./:=,+@%^", byte) != NULL;
}

static bool needs_quotes(const struct text *raw)
{
    for (size_t i = 0; i < raw->len; i++)
        if (!is_plain_byte(raw->bytes[i]))
            return true;
    return raw->len == 0;
}

static void put_single(struct text *out, const char *bytes, size_t len)
{
    put(out, "'");
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '\'')
            put(out, "'\\''");
        else
            put_bytes(out, &bytes[i], 1);
    }
    put(out, "'");
}

static void put_double(struct text *out, const char *bytes, size_t len)
{
    put(out, "\"");
    for (size_t i = 0; i < len; i++) {
        if (strchr("\"\\$`", bytes[i]) != NULL)
            put(out, "\\");
        put_bytes(out, &bytes[i], 1);
    }
    put(out, "\"");
}

static void put_escaped(struct text *out, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '\n') {
            put(out, "'\n'");
            continue;
        }
        if (!is_plain_byte(bytes[i]))
            put(out, "\\");
        put_bytes(out, &bytes[i], 1);
    }
    if (len == 0)
        put(out, "''");
}

void gen_quoted(struct gen *gen, struct text *out, const struct text *raw)
{
    switch (gen_below(gen, 8)) {
    case 0:
        put_double(out, raw->bytes, raw->len);
        break;
    case 1:
        put_escaped(out, raw->bytes, raw->len);
        break;
    default:
        put_single(out, raw->bytes, raw->len);
    }
}

/* Parts of a word, each in another spelling. */
static void put_mixed(struct gen *gen, struct text *out, const struct text *raw)
{
    for (size_t at = 0; at < raw->len;) {
        size_t len = 1 + gen_below(gen, raw->len - at);
        struct text part = {.len = 0};
        put_bytes(&part, raw->bytes + at, len);
        if (gen_chance(gen, 40) && !needs_quotes(&part))
            put(out, part.bytes);
        else
            gen_quoted(gen, out, &part);
        at += len;
    }
}

static const char VARIABLES[] = "x y b u v w";

/* A part of the word lies in a variable: in front of everything, or its default. */
static void put_by_variable(struct gen *gen, struct text *out, const struct text *raw)
{
    size_t from = gen_below(gen, raw->len + 1), to = from + gen_below(gen, raw->len - from + 1);
    if (gen_chance(gen, 60))
        to = raw->len;
    size_t name_len;
    const char *name = gen_pick(gen, VARIABLES, ' ', &name_len);
    struct text value = {.len = 0};
    put_bytes(&value, raw->bytes + from, to - from);
    bool is_default = gen->head_count >= 3 || gen_chance(gen, 20);
    if (!is_default) {
        gen->head_count++;
        put_bytes(&gen->head, name, name_len);
        put(&gen->head, "=");
        gen_quoted(gen, &gen->head, &value);
        put(&gen->head, gen_chance(gen, 90) ? "; " : " ");
    }
    bool is_quoted = gen_chance(gen, 70);
    put_escaped(out, raw->bytes, from);
    put(out, is_quoted ? "\"${" : "${");
    put_bytes(out, name, name_len);
    if (is_default) {
        put(out, ":-");
        put_escaped(out, value.bytes, value.len);
    }
    put(out, is_quoted ? "}\"" : "}");
    if (to < raw->len)
        put_escaped(out, raw->bytes + to, raw->len - to);
}

static void put_by_pattern(struct gen *gen, struct text *out, const struct text *raw)
{
    size_t at = raw->len == 0 ? 0 : gen_below(gen, raw->len);
    put_escaped(out, raw->bytes, at);
    if (raw->len == 0)
        return;
    switch (gen_below(gen, 4)) {
    case 0:
        put(out, "?");
        break;
    case 1:
        put(out, "*");
        break;
    case 2:
        put(out, "[");
        put_bytes(out, raw->bytes + at, 1);
        put(out, "]");
        break;
    default:
        put(out, "{");
        put_escaped(out, raw->bytes + at, 1);
        put(out, ",");
        put(out, gen_chance(gen, 50) ? "b}" : "}");
    }
    put_escaped(out, raw->bytes + at + 1, raw->len - at - 1);
}

static void put_by_command(struct gen *gen, struct text *out, const struct text *raw)
{
    size_t from = gen_below(gen, raw->len + 1);
    bool is_quoted = gen_chance(gen, 60), is_old = gen_chance(gen, 25);
    put_escaped(out, raw->bytes, from);
    put(out, is_quoted ? "\"" : "");
    put(out, is_old ? "`printf %s " : "$(printf %s ");
    put_single(out, raw->bytes + from, raw->len - from);
    put(out, is_old ? "`" : ")");
    put(out, is_quoted ? "\"" : "");
}

void gen_word(struct gen *gen, struct text *out, const struct text *raw, bool is_bare)
{
    size_t way = gen_below(gen, 100);
    if (is_bare && way < 80) {
        put_bytes(out, raw->bytes, raw->len);
        return;
    }
    if (gen->is_danger && gen_chance(gen, 35))
        way = gen_below(gen, 19);
    if (gen->is_hostile && way < 9)
        put_by_variable(gen, out, raw);
    else if (gen->is_hostile && way < 13)
        put_by_pattern(gen, out, raw);
    else if (gen->is_hostile && way < 16)
        put_by_command(gen, out, raw);
    else if (gen->is_hostile && way < 19) {
        put_escaped(out, raw->bytes, raw->len);
        gen_expansion(gen, out);
    } else if (way < 26)
        put_mixed(gen, out, raw);
    else if (needs_quotes(raw) || way < 34)
        gen_quoted(gen, out, raw);
    else
        put_bytes(out, raw->bytes, raw->len);
}

/* -- expansions -------------------------------------------------------------------------------- */
static void put_inner_word(struct gen *gen, struct text *out)
{
    static const char pieces[] = "a|b|\"q\"|'s'|\\}|*|$x|\"$y\"| |?|:|/|{|[a]|~|-n|\\\"|''|$|<|>";
    for (size_t count = gen_below(gen, 3) + 1; count > 0; count--) {
        if (gen->depth < 4 && gen_chance(gen, 30))
            gen_expansion(gen, out);
        else
            put_pick(gen, out, pieces, '|');
    }
}

static void put_command_in(struct gen *gen, struct text *out, const char *open, const char *close)
{
    put(out, open);
    if (gen_chance(gen, gen->is_hostile ? 60 : 10))
        gen_payload(gen, out);
    else
        gen_command(gen, out);
    put(out, close);
}

static void put_arithmetic(struct gen *gen, struct text *out)
{
    static const char parts[] = "1|2|x|b|$x|a[b]|a[$(canary)]|x=1|b++|1+|(2)|x?1:2|$(canary)|`"
                                "canary`|$((1))|a[0]|08|'1'|\"x\"";
    put(out, gen_chance(gen, 85) ? "$((" : "$[");
    bool is_old = out->bytes[out->len - 1] == '[';
    for (size_t count = gen_below(gen, 2) + 1; count > 0; count--) {
        put_pick(gen, out, parts, '|');
        if (count > 1)
            put_pick(gen, out, "+|*|,|-| ", '|');
    }
    put(out, is_old ? "]" : "))");
}

static void put_parameter(struct gen *gen, struct text *out)
{
    static const char names[] = "x y b u 1 @ # ? HOME PWD !x x[0] b[1] *";
    static const char operators[] = ":- - := = :+ + :? ? # ## % %% / // ^ ^^ , : @P @Q :0: :1:2 :b";
    bool is_quoted = gen_chance(gen, 30);
    put(out, is_quoted ? "\"${" : "${");
    if (gen_chance(gen, 5))
        put(out, "#");
    put_pick(gen, out, names, ' ');
    if (gen_chance(gen, 90)) {
        put_pick(gen, out, operators, ' ');
        put_inner_word(gen, out);
        if (gen_chance(gen, 12)) {
            put(out, "/");
            put_inner_word(gen, out);
        }
    }
    put(out, is_quoted ? "}\"" : "}");
}

void gen_expansion(struct gen *gen, struct text *out)
{
    if (gen->depth >= 6) {
        put(out, "$x");
        return;
    }
    gen->depth++;
    switch (gen_below(gen, 12)) {
    case 0:
    case 1:
        put_command_in(gen, out, "$(", ")");
        break;
    case 2:
        put_command_in(gen, out, "\"$(", ")\"");
        break;
    case 3:
        put_command_in(gen, out, "`", "`");
        break;
    case 4:
    case 5:
        put_command_in(gen, out, gen_chance(gen, 75) ? "<(" : ">(", ")");
        break;
    case 6:
        put_arithmetic(gen, out);
        break;
    case 7:
        put_pick(gen, out, "$x|\"$y\"|$b|$@|$#|\"$HOME\"|$'a'|$\"a\"|${x}|$?|$$|~|$'\\x24(canary)'",
                 '|');
        break;
    default:
        put_parameter(gen, out);
    }
    gen->depth--;
}
