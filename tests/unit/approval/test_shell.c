/*
 * Aim: the parser reads what stands there. Method: golden texts; one line a command,
 * `program|argument`, with ~ before a word that is not constant, > and < before targets of
 * redirections, NAME= for assignments, ^ before what a launcher starts, ? at the end when the
 * command is uncertain. Then the limits.
 */
#include "runtime/policy/shell.h"
#include "support/check.h"

#include "sma/buf.h"

static struct sma_shell *shell;

static void put_word(struct sma_buf *buf, const struct sma_shell_word *word)
{
    if (!sma_shell_word_is_constant(word))
        sma_buf_put_char(buf, '~');
    sma_buf_put_str(buf, sma_shell_word_str(word));
}

static void put_redirects(struct sma_buf *buf, int32_t command)
{
    static const char *const signs[] = {" <", " >", " =", " <<", " <<<"};
    for (uint32_t i = 0; i < shell->redirect_count; i++)
        if (shell->redirects[i].command == command) {
            sma_buf_put_text(buf, signs[shell->redirects[i].kind]);
            put_word(buf, &shell->redirects[i].target);
        }
}

static void put_assigns(struct sma_buf *buf, int32_t command)
{
    for (uint32_t i = 0; i < shell->assign_count; i++)
        if (shell->assigns[i].command == command) {
            sma_buf_put_str(buf, shell->assigns[i].name);
            sma_buf_put_char(buf, '=');
            put_word(buf, &shell->assigns[i].value);
            sma_buf_put_char(buf, ' ');
        }
}

static void read_back(struct sma_buf *buf, const char *text)
{
    sma_shell_parse(shell, sma_str(text));
    sma_shell_unwrap(shell);
    sma_buf_clear(buf);
    for (uint32_t i = 0; i < shell->command_count; i++) {
        const struct sma_shell_command *command = &shell->commands[i];
        if (i > 0)
            sma_buf_put_char(buf, '\n');
        if (command->parent >= 0)
            sma_buf_put_char(buf, '^');
        put_assigns(buf, (int32_t)i);
        for (uint32_t k = 0; k < command->word_count; k++) {
            if (k > 0)
                sma_buf_put_char(buf, '|');
            put_word(buf, &sma_shell_words(shell, command)[k]);
        }
        put_redirects(buf, (int32_t)i);
    }
    put_redirects(buf, SMA_SHELL_NO_PARENT);
    if (shell->is_uncertain)
        sma_buf_put_char(buf, '?');
    sma_buf_put_char(buf, '\0');
    CHECK_OK(buf->err);
}

static const char *const GOLDENS[][2] = {
    {"", ""},
    {"# only a comment", ""},
    {"ls", "ls"},
    {"ls -la 'a b' \"c d\" e\\ f", "ls|-la|a b|c d|e f"},
    {"a && b || c ; d & e | f\ng", "a\nb\nc\nd\ne\nf\ng"},
    {"a |& b", "a\nb"},
    {"echo '' \"\" x", "echo|||x"},
    {"echo \"a\\\"b\\$c\\\\d\\e\"", "echo|a\"b$c\\d\\e"},
    {"echo 'a\\b'\"'\"'c'", "echo|a\\b'c"},
    {"echo $x", "echo|~"},
    {"echo a$x", "echo|~a"},
    {"echo \"a${x}b\"", "echo|~a"},
    {"echo ${x:-y} ${#x} ${x%.c}", "echo|~|~|~"},
    {"echo ${x^^}", "echo|~?"},
    {"echo $", "echo|$"},
    {"echo a$ b", "echo|a$|b"},
    {"echo *.c a?b [x]", "echo|~*.c|~a?b|~[x]"},
    {"[ -f x ]", "[|-f|x|]"},
    {"echo '*' \\*", "echo|*|*"},
    {"echo {a,b} {} {x} a{1..3}", "echo|~{a,b}|{}|{x}|~a{1..3}"},
    {"echo ~ ~/x a~b", "echo|~~|~~/x|a~b"},
    {"echo a#b #c", "echo|a#b"},
    {"a=1 b='x y' cmd c=2", "a=1 b=x y cmd|c=2"},
    {"a=1", "a=1 "},
    {"\"a\"=1 x", "a=1|x"},
    {"a+=1 x", "a+=1|x?"},
    {"cmd > out 2>&1 < in >> log", "cmd >out =1 <in >log"},
    {"cmd >out arg", "cmd|arg >out"},
    {">out cmd arg", "cmd|arg >out"},
    {"cmd &> out", "cmd >out"},
    {"cmd &> out x", "cmd|x >out?"},
    {"cmd >& out", "cmd >out"},
    {"cmd 2>&- <&3", "cmd =- =3?"},
    {"cmd 3>x 2>&3", "cmd >x =3"},
    {"cmd 2>&3 3>x", "cmd =3 >x?"},
    {"cmd >&53", "cmd =53?"},
    {"cmd 3>x; cmd >&3", "cmd >x\ncmd =3?"},
    {"cmd <<< 'x y'", "cmd <<<x y"},
    {"cmd > $x", "cmd >~"},
    {"cat <<E\n$x `a b`\nE\nls", "cat <<E\na|b\nls"},
    {"cat <<'E'\n$(a)\nE\nls", "cat <<E\nls"},
    {"cat <<-E\n\tx\n\tE\nls", "cat <<E\nls"},
    {"cat <<A <<B\n$(x)\nA\n$(y)\nB\n", "cat <<A <<B\nx\ny"},
    {"cat <<E | grep x\nrm\nE", "cat <<E\ngrep|x"},
    {"echo $(a b) c", "echo|~|c\na|b"},
    {"echo \"$(a \"b c\")\"", "echo|~\na|b c"},
    {"echo $(a $(b))", "echo|~\na|~\nb"},
    {"git \"`a`\" \"x`b`y\"",
     "git|~|~x\na\nb"}, /* what comes out is not known, also between quotes */
    {"echo `a \\`b\\``", "echo|~\na|~\nb"},
    {"echo $(case x in x) a;; esac)", "echo|~\na"},
    {"echo $((1 + 2))", "echo|~"},
    {"echo $(cat <<E\n)\nE\n)", "echo|~\ncat <<E"},
    {"diff <(a) >(b)", "diff|~|~\na\nb"},
    {"(a; b) > x", "a\nb >x"},
    {"{ a; b; } 2> x", "a\nb >x"},
    {"if a; then b; elif c; then d; else e; fi", "a\nb\nc\nd\ne"},
    {"while a; do b; done < x", "a\nb <x"},
    {"until a\ndo b\ndone", "a\nb"},
    {"for x in 1 2; do a $x; done", "a|~"},
    {"for x; do a; done", "a"},
    {"case $x in a|b) c;; (d) e;; *) f; esac", "c\ne\nf"},
    {"! a", "a"},
    {"f() { a; }", "f\na?"},
    {"f() a", "f\na?"},
    {"echo if then fi", "echo|if|then|fi"},
    {"\\if x", "if|x?"},
    {"a \\\n b", "a|b"},
    {"a\\\nb", "ab?"},
    {"$'a\\x62c'", "abc?"},
    {"$'\\u00e9'", "\xc3\xa9?"},
    {"[[ x && y ]]", "x\ny|]]?"},
    {"((a))", "a?"},
    {"a [[ || b", "a|[[\nb?"},
    {"a 'b", "a|b?"},
    {"a )", "a?"},
    {"a; }", "a?"},
    {"a ;; b", "a\nb?"},
    {"&& a", "a?"},
    {"a > ", "a?"},
    {"a <<E", "a <<E?"},
    /* launchers */
    {"env -i A=1 ls -l", "A=1 env|-i|A=1|ls|-l\n^ls|-l"},
    {"timeout -k 1 5s nice -n 3 a b", "timeout|-k|1|5s|nice|-n|3|a|b\n^nice|-n|3|a|b\n^a|b"},
    {"sh -c 'a; b' c", "sh|-c|a; b|c\n^a\n^b"},
    {"bash -euo pipefail -c a", "bash|-euo|pipefail|-c|a\n^a"},
    {"eval a 'b; c'", "eval|a|b; c\n^a|b\n^c"},
    {"find . -exec a {} + -exec b ';'", "find|.|-exec|a|{}|+|-exec|b|;\n^a|~./{}\n^b"},
    {"xargs -0 -n 2 a b", "xargs|-0|-n|2|a|b\n^a|b"},
    {"xargs -I% a x%", "xargs|-I%|a|x%\n^a|~x%"},
    {"command -v a", "command|-v|a"},
    {"busybox ls", "busybox|ls\n^ls"},
    {"ssh -p 22 host 'a b'", "ssh|-p|22|host|a b\n^a|b"},
};

CASE(goldens_are_read_as_written)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    for (size_t i = 0; i < SMA_COUNT_OF(GOLDENS); i++) {
        read_back(&buf, GOLDENS[i][0]);
        if (strcmp(buf.ptr, GOLDENS[i][1]) != 0)
            fprintf(stderr, "%s\n", GOLDENS[i][0]);
        CHECK_TEXT(GOLDENS[i][1], buf.ptr);
    }
}

static char *repeat(const char *piece, size_t count, const char *end)
{
    size_t len = strlen(piece);
    char *text = malloc(len * count + strlen(end) + 1);
    CHECK(text != NULL);
    for (size_t i = 0; i < count; i++)
        memcpy(text + i * len, piece, len);
    memcpy(text + len * count, end, strlen(end) + 1);
    return text;
}

static bool is_uncertain(const char *piece, size_t count, const char *end)
{
    char *text = repeat(piece, count, end);
    sma_shell_parse(shell, sma_str(text));
    sma_shell_unwrap(shell);
    free(text);
    return shell->is_uncertain;
}

CASE(limits_raise_doubt_at_their_edge)
{
    CHECK(!is_uncertain("x", SMA_SHELL_TEXT_BYTES_MAX, ""));
    CHECK(is_uncertain("x", SMA_SHELL_TEXT_BYTES_MAX + 1, ""));
    CHECK(!is_uncertain("a;", SMA_SHELL_COMMAND_COUNT_MAX, ""));
    CHECK(is_uncertain("a;", SMA_SHELL_COMMAND_COUNT_MAX, "a"));
    CHECK(!is_uncertain("a ", SMA_SHELL_WORD_COUNT_MAX, ""));
    CHECK(is_uncertain("a ", SMA_SHELL_WORD_COUNT_MAX + 1, ""));
    CHECK(!is_uncertain(">a ", SMA_SHELL_REDIRECT_COUNT_MAX, ""));
    CHECK(is_uncertain(">a ", SMA_SHELL_REDIRECT_COUNT_MAX + 1, ""));
    CHECK(!is_uncertain("a= ", SMA_SHELL_ASSIGN_COUNT_MAX, ""));
    CHECK(is_uncertain("a= ", SMA_SHELL_ASSIGN_COUNT_MAX + 1, ""));
    CHECK(is_uncertain("(", 10000, ""));
    CHECK(is_uncertain("$(", 10000, ""));
    CHECK(is_uncertain("${x-", 10000, ""));
    CHECK(is_uncertain("`", 9999, ""));
    CHECK(is_uncertain("if ", 10000, ""));
    CHECK(is_uncertain("env ", 1000, "ls"));
    CHECK(is_uncertain("eval ", 1000, "ls"));
    CHECK(is_uncertain("f()", 10000, ""));
    CHECK(is_uncertain("$((", 5000, ""));
    CHECK(is_uncertain("<<a ", 9, ""));
}

CASE(doubt_says_where)
{
    sma_shell_parse(shell, SMA_STR("echo ok 'open"));
    CHECK(shell->is_uncertain && shell->why != NULL);
    CHECK_INT(13, shell->at);
    sma_shell_parse(shell, SMA_STR("ls a\0b"));
    CHECK(shell->is_uncertain);
    CHECK_INT(4, shell->at);
    sma_shell_parse(shell, SMA_STR("ls"));
    CHECK(!shell->is_uncertain && shell->at == 0);
}

int main(void)
{
    shell = sma_shell_create();
    CHECK(shell != NULL);
    check_run_cases(NULL);
    sma_shell_destroy(shell);
    return check_summary();
}
