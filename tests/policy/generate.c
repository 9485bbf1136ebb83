/*
 * generate.c — commands, redirections, lists and compound commands around the words of
 * generate_word.c.
 */
#include "generate_priv.h"

#include <stdio.h>
#include <string.h>

#define DEPTH_MAX 5

void gen_payload(struct gen *gen, struct text *out)
{
    static const char payloads[] = "canary|canary|canary x|cat a.txt|touch PWNED|rm a.txt|sh -c "
                                   "canary|printf x >Makefile|ls|true;canary";
    size_t len;
    const char *payload = gen_pick(gen, payloads, '|', &len);
    put_bytes(out, payload, len);
}

/* -- one command ------------------------------------------------------------------------------- */
static const struct row *pick_row(struct gen *gen)
{
    size_t sum = 0;
    for (size_t i = 0; i < GENERATE_ROW_COUNT; i++)
        sum += GENERATE_ROWS[i].weight;
    size_t at = gen_below(gen, sum);
    for (size_t i = 0;; i++) {
        if (at < GENERATE_ROWS[i].weight)
            return &GENERATE_ROWS[i];
        at -= GENERATE_ROWS[i].weight;
    }
}

static void put_value(struct gen *gen, struct text *out, const char *before)
{
    struct text raw = {.len = 0};
    bool is_bare;
    put(&raw, before);
    struct text value = {.len = 0};
    gen_fill(gen, gen->is_hostile && gen_chance(gen, 20) ? "%C" : "%v", 2, &value, &is_bare);
    put_bytes(&raw, value.bytes, value.len);
    gen_word(gen, out, &raw, is_bare);
}

static void put_short_option(struct gen *gen, struct text *out, const struct row *row)
{
    struct text raw = {.len = 0};
    size_t flag_count = strlen(row->flags), valued_count = strlen(row->valued);
    put(&raw, "-");
    for (size_t i = gen_below(gen, 3); flag_count > 0 && i > 0; i--)
        put_bytes(&raw, &row->flags[gen_below(gen, flag_count)], 1);
    if (valued_count > 0 && (raw.len == 1 || gen_chance(gen, 30))) {
        put_bytes(&raw, &row->valued[gen_below(gen, valued_count)], 1);
        if (gen_chance(gen, 45)) {
            put_value(gen, out, raw.bytes);
            return;
        }
        gen_word(gen, out, &raw, false);
        put(out, " ");
        put_value(gen, out, "");
        return;
    }
    if (raw.len > 1)
        gen_word(gen, out, &raw, false);
}

static void put_long_option(struct gen *gen, struct text *out, const struct row *row)
{
    struct text raw = {.len = 0};
    size_t len;
    const char *name = gen_pick(gen, row->longs, ' ', &len);
    bool is_valued = memchr(name, '=', len) != NULL, may_be = memchr(name, '[', len) != NULL;
    len -= (size_t)is_valued + (size_t)may_be;
    if (len > 3 && gen_chance(gen, 12)) /* programs take beginnings of names */
        len -= gen_below(gen, len - 2);
    put(&raw, "--");
    put_bytes(&raw, name, len);
    if (!is_valued || (may_be && gen_chance(gen, 40))) {
        gen_word(gen, out, &raw, false);
        if (may_be && gen->is_hostile) { /* a value of its own, which the program does not take */
            put(out, " ");
            put_value(gen, out, "");
        }
        return;
    }
    if (gen_chance(gen, may_be ? 70 : 50)) {
        put(&raw, "=");
        put_value(gen, out, raw.bytes);
        return;
    }
    gen_word(gen, out, &raw, false);
    put(out, " ");
    put_value(gen, out, "");
}

static void put_options(struct gen *gen, struct text *out, const struct row *row)
{
    for (size_t count = gen_below(gen, 3); count > 0; count--) {
        bool has_short = row->flags[0] != '\0' || row->valued[0] != '\0';
        if (row->longs[0] != '\0' && (!has_short || gen_chance(gen, 40)))
            put_long_option(gen, out, row);
        else if (has_short)
            put_short_option(gen, out, row);
        put(out, " ");
    }
}

static void put_inner_command(struct gen *gen, struct text *out);

static void put_inner_text(struct gen *gen, struct text *out)
{
    struct text inner = {.len = 0};
    if (gen->depth >= DEPTH_MAX || gen_chance(gen, 20))
        put(&inner, "ls");
    else
        gen_list(gen, &inner);
    gen_quoted(gen, out, &inner);
}

static void put_token(struct gen *gen, struct text *out, const struct row *row, const char *token,
                      size_t len)
{
    struct text raw = {.len = 0};
    bool is_bare;
    if (len == 2 && memcmp(token, "%o", 2) == 0) {
        put_options(gen, out, row);
    } else if (len == 2 && (memcmp(token, "%L", 2) == 0 || memcmp(token, "%P", 2) == 0)) {
        put_inner_command(gen, out);
    } else if (len == 2 && memcmp(token, "%S", 2) == 0) {
        put_inner_text(gen, out);
    } else if (len == 1 && token[0] == ';') {
        put(out, gen_chance(gen, 50) ? "\\;" : "';'");
    } else {
        gen_fill(gen, token, len, &raw, &is_bare);
        gen_word(gen, out, &raw, is_bare || (len == 1 && token[0] == '*'));
    }
}

/* A template's tokens; the first is the program's name where `is_named`. */
static void put_tokens(struct gen *gen, struct text *out, const struct row *row, const char *text,
                       size_t len, bool is_named)
{
    for (size_t from = 0; from <= len;) {
        const char *end = memchr(text + from, ' ', len - from);
        size_t to = end == NULL ? len : (size_t)(end - text);
        if (from > 0)
            put(out, gen_chance(gen, 97) ? " " : "\t ");
        if (from == 0 && is_named && !(gen->is_hostile && gen_chance(gen, 4)))
            put_bytes(out, text, to);
        else
            put_token(gen, out, row, text + from, to - from);
        from = to + 1;
    }
}

static void put_danger(struct gen *gen, struct text *out, const struct row *row)
{
    size_t len;
    const char *danger = gen_pick(gen, row->dangers, '|', &len);
    bool was_danger = gen->is_danger;
    gen->is_danger = true;
    put(out, " ");
    put_tokens(gen, out, row, danger, len, false);
    gen->is_danger = was_danger;
}

/* A template with a danger behind it, in front of its last words, or in place of all of them. */
static void put_dangerous(struct gen *gen, struct text *out, const struct row *row,
                          const char *template, size_t len)
{
    const char *blank = memchr(template, ' ', len);
    size_t name_len = blank == NULL ? len : (size_t)(blank - template);
    size_t way = gen_below(gen, 4);
    put_tokens(gen, out, row, template, way == 0 ? len : name_len, true);
    put_danger(gen, out, row);
    if (way == 1 && name_len < len) {
        put(out, " ");
        put_tokens(gen, out, row, template + name_len + 1, len - name_len - 1, false);
    }
}

static void put_words(struct gen *gen, struct text *out)
{
    const struct row *row = pick_row(gen);
    size_t len;
    const char *template = gen_pick(gen, row->templates, '|', &len);
    if (row->dangers[0] != '\0' && gen->is_hostile && gen_chance(gen, 40))
        put_dangerous(gen, out, row, template, len);
    else
        put_tokens(gen, out, row, template, len, true);
    if (gen->is_hostile && gen_chance(gen, 8)) {
        put(out, " ");
        gen_expansion(gen, out);
    }
}

static void put_inner_command(struct gen *gen, struct text *out)
{
    if (gen->depth >= DEPTH_MAX || gen_chance(gen, 25)) {
        put(out, gen_chance(gen, 70) ? "cat a.txt" : "make test");
        return;
    }
    gen->depth++;
    put_words(gen, out);
    gen->depth--;
}

/* -- around it --------------------------------------------------------------------------------- */
static void put_assignment(struct gen *gen, struct text *out)
{
    static const char hostile[] =
        "PATH=.|LC_a[$(canary)]=1|GIT_PAGER=canary|MAKEFLAGS=--eval=+:\\;canary|BASH_ENV=run.sh|"
        "ENV=run.sh|"
        "PS4='$(canary)'|IFS=a|TAR_OPTIONS=--to-command=canary|LD_PRELOAD=./"
        "evil.so|GIT_SSH_COMMAND=canary|"
        "PYTHONPATH=sub|NODE_OPTIONS=--require=./"
        "x|a[$(canary)]=1|b='a[$(canary)]'|x=-v|x=un|y=fI|LESSOPEN='|canary'|"
        "PYTHONSTARTUP=evil.py|GIT_EXTERNAL_DIFF=canary|SHELLOPTS=x|HOME=.|x+=1|a=(1 "
        "$(canary))|x=<(canary)|TMPDIR=.git|"
        "CDPATH=/|GIT_DIR=nested/"
        ".git|EDITOR=canary|MAKEFILES=trap.mk|u[0]=1|LC_ALL='x[$(canary)]'|TZ=$(canary)";
    static const char tame[] =
        "LANG=C|LC_ALL=C|x=1|y=a.txt|b='two words'|NODE_ENV=test|CI=1|tmp=src|u=$x";
    size_t len;
    const char *assignment =
        gen_pick(gen, gen->is_hostile && gen_chance(gen, 60) ? hostile : tame, '|', &len);
    put_bytes(out, assignment, len);
}

static void put_redirection(struct gen *gen, struct text *out)
{
    static const char operators[] =
        "> >> < 2> 2>> >| <> &> >& 2>&1 >&2 <&- 3< 3> 1>&2 >/dev/null 2>/dev/null &>> <<<";
    size_t len;
    const char *operator= gen_pick(gen, operators, ' ', &len);
    put(out, " ");
    put_bytes(out, operator, len);
    char last = operator[len - 1];
    if (last != '>' && last != '<' && last != '|' && last != '&')
        return;
    struct text raw = {.len = 0};
    bool is_bare;
    bool is_read = memchr(operator, '<', len) != NULL;
    const char *hole = gen->is_hostile && gen_chance(gen, 35) ? "%r" : is_read ? "%f" : "%n";
    gen_fill(gen, hole, 2, &raw, &is_bare);
    put(out, gen_chance(gen, 60) ? "" : " ");
    gen_word(gen, out, &raw, is_bare);
}

static void put_heredoc(struct gen *gen, struct text *out)
{
    bool is_quoted = gen_chance(gen, 40);
    put(out, gen_chance(gen, 80) ? " <<" : " <<-");
    put(out, is_quoted ? "'E'\n" : "E\n");
    for (size_t lines = gen_below(gen, 3); lines > 0; lines--) {
        put(out, "line ");
        if (gen->is_hostile)
            gen_expansion(gen, out);
        put(out, "\n");
    }
    put(out, gen_chance(gen, 97) ? "E\n" : "\tE\n");
}

void gen_command(struct gen *gen, struct text *out)
{
    gen->depth++;
    if (gen_chance(gen, gen->is_hostile ? 8 : 3)) {
        put_assignment(gen, out);
        put(out, " ");
    }
    put_words(gen, out);
    for (unsigned odds = gen->is_hostile ? 18 : 14; gen_chance(gen, odds); odds /= 2)
        put_redirection(gen, out);
    if (gen_chance(gen, 3))
        put_heredoc(gen, out);
    gen->depth--;
}

static void put_condition(struct gen *gen, struct text *out)
{
    static const char conditions[] =
        "true|false|[ -f a.txt ]|grep -q one a.txt|[[ a == a ]]|test -d src|((1))|! false";
    if (gen_chance(gen, 40)) {
        gen_command(gen, out);
        return;
    }
    size_t len;
    const char *condition = gen_pick(gen, conditions, '|', &len);
    put_bytes(out, condition, len);
}

static void put_loop(struct gen *gen, struct text *out)
{
    static const char heads[] = "for x in a.txt b.txt|for f in *.txt|for x in $y|for b in "
                                "'a[$(canary)]' -v|for ((x=0;x<2;x++))|for x|"
                                "while read -r x|until true|while false|select x in a";
    size_t len;
    const char *head = gen_pick(gen, heads, '|', &len);
    put_bytes(out, head, len);
    put(out, "; do ");
    gen_list(gen, out);
    put(out, "; done");
}

static void put_case(struct gen *gen, struct text *out)
{
    put(out, "case ");
    if (gen_chance(gen, 50))
        gen_expansion(gen, out);
    else
        put(out, "a");
    put(out, gen_chance(gen, 70) ? " in a) " : " in (a|*[x]) ");
    gen_list(gen, out);
    put(out, gen_chance(gen, 90) ? ";; " : ";& ");
    put(out, gen_chance(gen, 50) ? "*) " : "${x:-b}) ");
    gen_command(gen, out);
    put(out, ";; esac");
}

static void put_compound(struct gen *gen, struct text *out)
{
    gen->depth++;
    switch (gen_below(gen, 9)) {
    case 0:
        put(out, "( ");
        gen_list(gen, out);
        put(out, " )");
        break;
    case 1:
        put(out, "{ ");
        gen_list(gen, out);
        put(out, "; }");
        break;
    case 2:
    case 3:
        put(out, "if ");
        put_condition(gen, out);
        put(out, "; then ");
        gen_list(gen, out);
        if (gen_chance(gen, 40)) {
            put(out, "; else ");
            gen_command(gen, out);
        }
        put(out, "; fi");
        break;
    case 4:
    case 5:
        put_loop(gen, out);
        break;
    case 6:
        put_case(gen, out);
        break;
    case 7:
        put(out, gen_chance(gen, 70) ? "f() { " : "function f { ");
        gen_list(gen, out);
        put(out, "; }; f a");
        break;
    default:
        put(out, "! ");
        gen_command(gen, out);
    }
    if (gen_chance(gen, 10))
        put_redirection(gen, out);
    gen->depth--;
}

void gen_list(struct gen *gen, struct text *out)
{
    static const char joints[] = "; ; && || | | & \n |&";
    if (gen->depth >= DEPTH_MAX) {
        put(out, "cat a.txt");
        return;
    }
    gen->depth++;
    size_t count = 1 + (gen_chance(gen, 30) ? gen_below(gen, 3) : 0);
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            size_t len;
            const char *joint = gen_pick(gen, joints, ' ', &len);
            put(out, " ");
            put_bytes(out, joint, len);
            put(out, " ");
        }
        if (gen_chance(gen, 12))
            put_compound(gen, out);
        else
            gen_command(gen, out);
    }
    gen->depth--;
}

void generate(uint64_t seed, char text[GENERATE_BYTES_MAX], unsigned *ret_policy)
{
    static struct text body;
    struct gen gen = {.state = seed * UINT64_C(0xd1342543de82ef95) + 1};
    body.len = 0;
    body.bytes[0] = '\0';
    gen.is_hostile = gen_chance(&gen, 50);
    size_t policy = gen_below(&gen, 100);
    *ret_policy = policy < 82 ? 0 : policy < 94 ? 1 : 2;
    if (gen_chance(&gen, 8)) {
        put_assignment(&gen, &body);
        put(&body, "; ");
    }
    gen_list(&gen, &body);
    snprintf(text, GENERATE_BYTES_MAX, "%s%s", gen.head.bytes, body.bytes);
}
