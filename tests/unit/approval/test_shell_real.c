/*
 * Aim: whatever a real shell runs, the parser has listed, unless it said that it is not certain.
 * Method: texts made of pieces of shell grammar around harmless probe programs are parsed, then run
 * by sh and by bash in a private folder where PATH holds the probes only; each probe reports its
 * words over a pipe. Skipped for a shell that is not there.
 *
 * test_shell_real [ROUNDS]: more rounds for a longer hunt.
 */
#include "runtime/policy/shell.h"
#include "support/check.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REPORT_FD 9
#define REPORT_BYTES_MAX 65536
#define WORD_MAX 256

/* One write a report, so that the reports of a pipeline do not mix. */
static const char PROBE[] = "#!/bin/sh\n"
                            "r=${0##*/}\n"
                            "for a; do r=\"$r\037$a\"; done\n"
                            "printf '%s\\036' \"$r\" >&9\n";

static const char *const PROBES[] = {"p1", "p2", "p3", "if2"};

static const char *const PIECES[] = {
    "p1",
    "p2",
    "p3",
    "p1 a",
    "p2 b c",
    " ",
    " ",
    " ",
    " ",
    "\n",
    "\n",
    ";",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "|&",
    "(",
    ")",
    "{ ",
    "; }",
    "$(",
    ")",
    "`",
    "\"",
    "\"",
    "'",
    "'",
    "\\",
    "\\\n",
    "#",
    " #",
    "$x",
    "$",
    "${x}",
    "${x:-",
    "}",
    "$((1+",
    "1))",
    "<<E",
    "<<E\n",
    "\nE\n",
    "<<'E'",
    "<<-E",
    "\tE\n",
    "E",
    ">o1",
    "2>&1",
    "<o0",
    ">>o2",
    "&>o3",
    "<(",
    ">",
    "<",
    "a=1",
    "a=1 ",
    "x=p2 ",
    "if ",
    "; then ",
    "; fi",
    "else ",
    "for i in a b; do ",
    "; done",
    "case a in ",
    "a) ",
    ";; ",
    "esac",
    "! ",
    "sh -c '",
    "eval ",
    "exec ",
    "command ",
    "env ",
    "!",
    "*",
    "?",
    "[a]",
    "{p1,p2}",
    "~",
    "=",
    "$'",
    "$\"",
    "\\'",
    "\\\"",
    "p\\1",
    "p''1",
    "p\"\"1",
    "1>&2",
    "3",
    "a",
    "-a",
    "()",
    " () ",
    "{",
    "}",
    "[[ ",
    " ]]",
    "((",
    "))",
    ";&",
    "\t",
    "time ",
    "in ",
    "do ",
    "done ",
    "then ",
    "fi ",
    "function f ",
    "f ",
    "<<<",
    "${x#",
    "${#x}",
    "$1",
    "\\$(p3)",
    "'$(p3)'",
    "\"$(p3)\"",
    "$(p3)",
    "`p3`",
    "\\`p3\\`",
    "$(p3 \"$(p1 z)\")",
    "<<E p1\n$(p2)\nE\n",
};

static char folder[] = "/tmp/shell-real-XXXXXX";
static char probe_path[256];
static uint64_t seed = 0x13198a2e03707344u;
static struct sma_shell *shell;

static size_t below(size_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed % limit);
}

static void set_up(void)
{
    CHECK(mkdtemp(folder) != NULL);
    CHECK(chdir(folder) == 0 && mkdir("bin", 0700) == 0 && mkdir("cwd", 0700) == 0);
    snprintf(probe_path, sizeof probe_path, "%s/bin", folder);
    for (size_t i = 0; i < SMA_COUNT_OF(PROBES); i++) {
        char path[64];
        snprintf(path, sizeof path, "bin/%s", PROBES[i]);
        int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0700);
        CHECK(fd >= 0 && write(fd, PROBE, sizeof PROBE - 1) == (ssize_t)sizeof PROBE - 1);
        close(fd);
    }
    /* launchers the texts use; everything they can start are probes */
    CHECK(symlink("/bin/sh", "bin/sh") == 0 && symlink("/usr/bin/env", "bin/env") == 0);
    CHECK(symlink("/bin/bash", "bin/bash") == 0);
    CHECK(chdir("cwd") == 0);
}

static void tear_down(void)
{
    CHECK(chdir("/") == 0);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/rm", "rm", "-rf", folder, (char *)NULL);
        _exit(1);
    }
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* The files a text has made would be words of the next one's patterns. */
static void empty_folder(void)
{
    DIR *directory = opendir(".");
    CHECK(directory != NULL);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            (void)unlink(entry->d_name); /* what cannot go matters only to patterns */
    closedir(directory);
}

/* Run `text` by the shell at `path`; the probes' reports, NUL-terminated. */
static void run_for_real(const char *path, const char *text, char *report)
{
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct rlimit processor = {2, 2}, files = {1 << 20, 1 << 20};
        int nothing = open("/dev/null", O_RDWR);
        setrlimit(RLIMIT_CPU, &processor);
        setrlimit(RLIMIT_FSIZE, &files);
        dup2(nothing, 0);
        dup2(nothing, 1);
        dup2(nothing, 2);
        dup2(ends[1], REPORT_FD);
        char search[300];
        snprintf(search, sizeof search, "PATH=%s", probe_path);
        char *environment[] = {search, NULL};
        const char *const words[] = {path, "-c", text, NULL};
        execve(path, (char **)(uintptr_t)words, environment);
        _exit(127);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t got; len < REPORT_BYTES_MAX - 1; len += (size_t)got) {
        got = read(ends[0], report + len, REPORT_BYTES_MAX - 1 - len);
        if (got <= 0)
            break;
    }
    close(ends[0]);
    report[len] = '\0';
    CHECK(waitpid(child, NULL, 0) == child);
}

/* Do the words [k, ...) of the command give exactly the texts? */
static bool fits(const struct sma_shell_command *command, uint32_t k, char *const *texts,
                 size_t count)
{
    if (k == command->word_count)
        return count == 0 || command->has_more_words;
    const struct sma_shell_word *word = &sma_shell_words(shell, command)[k];
    if ((word->flags & SMA_WORD_SPLITS) != 0) {
        for (size_t taken = 0; taken <= count; taken++)
            if (fits(command, k + 1, texts + taken, count - taken))
                return true;
        return false;
    }
    if (count == 0)
        return false;
    bool is_same = sma_shell_word_is_constant(word)
                       ? strcmp(word->text, texts[0]) == 0
                       : (word->flags & SMA_WORD_TILDE) != 0 ||
                             strncmp(word->text, texts[0], word->fixed_len) == 0;
    return is_same && fits(command, k + 1, texts + 1, count - 1);
}

static bool is_listed(char *record)
{
    char *texts[WORD_MAX];
    size_t count = 0;
    for (char *at = record; at != NULL && count < WORD_MAX;) {
        texts[count++] = at;
        at = strchr(at, '\037');
        if (at != NULL)
            *at++ = '\0';
    }
    for (uint32_t i = 0; i < shell->command_count; i++)
        if (shell->commands[i].word_count > 0 && fits(&shell->commands[i], 0, texts, count))
            return true;
    return false;
}

/* Certain, and no launcher that would be asked about anyway. */
static bool is_claimed(void)
{
    if (shell->is_uncertain || shell->note_count > 0)
        return false;
    for (uint32_t i = 0; i < shell->command_count; i++)
        if (shell->commands[i].word_count > 0 &&
            !sma_shell_word_is_constant(sma_shell_words(shell, &shell->commands[i])))
            return false;
    return true;
}

/* @return how many programs ran. */
static size_t compare(const char *path, const char *text)
{
    static char report[REPORT_BYTES_MAX];
    run_for_real(path, text, report);
    empty_folder();
    size_t count = 0;
    for (char *at = report; *at != '\0'; count++) {
        char *end = strchr(at, '\036');
        if (end == NULL)
            break;
        *end = '\0';
        char shown[256];
        snprintf(shown, sizeof shown, "%.250s", at);
        if (!is_listed(at)) {
            fprintf(stderr, "%s ran what was not listed: %s\n--\n%s\n--\n", path, shown, text);
            exit(1);
        }
        at = end + 1;
    }
    return count;
}

static void make_text(char *text, size_t size)
{
    size_t len = 0;
    for (size_t pieces = 1 + below(12); pieces > 0; pieces--) {
        const char *piece = PIECES[below(SMA_COUNT_OF(PIECES))];
        size_t more = strlen(piece);
        if (len + more + 1 >= size)
            break;
        memcpy(text + len, piece, more);
        len += more;
    }
    text[len] = '\0';
}

/* What may stand inside of ${x:-...}, where a shell may run it, end the word, or read text. */
static const char *const INNER[] = {
    "<(p2)", ">(p3)", "<(p1 a; p2)", "a",   " ", ";",  "|p2", "&",    "(p2)", "\n", "$(p2)", "`p3`",
    "${y:-", "}",     "*",           "[a]", "~", "{a", ",b}", "#",    "\\",   "'",  "\"",    "!",
    "$",     "$y",    "$((1+1))",    "<",   ">", "(",  ")",   "@(a)", "=",    ":-", "<<<a",  "^[b]",
};
static const char *const OPENINGS[] = {"${x:-", "${x-",  "${x+", "${y:+", "${x:?", "${x#", "${x##",
                                       "${x%",  "${x%%", "${#x", "${@:-", "${1-",  "${*",  "${?:-"};
static const char *const AROUND[] = {"p1 ",      "p1 a",        "y=",    "p1 > o",
                                     "p1 \"",    "y=1; p2 ",    "case ", "for i in ",
                                     "p1 <<E\n", "bash -c ': ", ": "};

static void put(char *text, size_t size, const char *piece)
{
    size_t len = strlen(text);
    if (len + strlen(piece) + 1 < size)
        memcpy(text + len, piece, strlen(piece) + 1);
}

static void make_braces(char *text, size_t size)
{
    text[0] = '\0';
    size_t around = below(SMA_COUNT_OF(AROUND));
    put(text, size, AROUND[around]);
    put(text, size, OPENINGS[below(SMA_COUNT_OF(OPENINGS))]);
    for (size_t pieces = 1 + below(3); pieces > 0; pieces--)
        put(text, size, INNER[below(SMA_COUNT_OF(INNER))]);
    put(text, size, "}");
    const char *begin = AROUND[around];
    put(text, size,
        strcmp(begin, "case ") == 0         ? " in a) p1;; *) p2;; esac"
        : strcmp(begin, "for i in ") == 0   ? "; do p3; done"
        : strcmp(begin, "p1 <<E\n") == 0    ? "\nE\n"
        : strcmp(begin, "p1 \"") == 0       ? "\""
        : strcmp(begin, "bash -c ': ") == 0 ? "'; p1"
                                            : "; p1");
}

static int rounds = 250;

static void hunt(const char *path)
{
    if (access(path, X_OK) != 0) {
        fprintf(stderr, "skipped: no %s\n", path);
        return;
    }
    size_t ran = 0, claimed = 0;
    for (int i = 0; i < rounds;) {
        char text[512];
        if (below(4) == 0)
            make_braces(text, sizeof text);
        else
            make_text(text, sizeof text);
        sma_shell_parse(shell, sma_str(text));
        sma_shell_unwrap(shell);
        if (!is_claimed() || strstr(text, "p") == NULL)
            continue; /* nothing is claimed about it */
        claimed++;
        ran += compare(path, text);
        i++;
    }
    fprintf(stderr, "%s: %zu texts, %zu programs\n", path, claimed, ran);
    CHECK(ran > (size_t)rounds / 4);
}

CASE(what_sh_runs_is_listed)
{
    hunt("/bin/sh");
}

/* As `ash`, which the policy reads; a link tells busybox what to be. */
CASE(what_ash_runs_is_listed)
{
    if (access("/bin/busybox", X_OK) == 0)
        CHECK(symlink("/bin/busybox", "../ash") == 0);
    char path[300];
    snprintf(path, sizeof path, "%s/ash", folder);
    hunt(path);
}

CASE(what_bash_runs_is_listed)
{
    hunt("/bin/bash");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = (int)strtol(argv[1], NULL, 10);
    if (argc > 2)
        seed = strtoull(argv[2], NULL, 10) * 2 + 1;
    shell = sma_shell_create();
    CHECK(shell != NULL);
    set_up();
    check_run_cases(NULL);
    tear_down();
    sma_shell_destroy(shell);
    return check_summary();
}
