/*
 * alias.c — `shipmyagent alias`: the short name in the shell's start file, in a block of its own.
 * Source: protocols/project.md §3 (the markers and the alias line are literal there).
 */
#include "cli.h"

#include "commands.h"
#include "sma/buf.h"
#include "sma/sys.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RC_BYTES_MAX (4 * 1024 * 1024)
static const char BEGIN[] = "# >>> shipmyagent alias >>>";
static const char END[] = "# <<< shipmyagent alias <<<";
static const char LINE[] = "alias sma=\"shipmyagent\"";

enum change
{
    CHANGE_NONE,    /* already there */
    CHANGE_FOREIGN, /* somebody else's alias sma: left alone */
    CHANGE_MADE,
    CHANGE_FAILED,
};

static bool has_foreign_alias(const char *text, const char *block_begin, const char *block_end)
{
    for (const char *at = text; (at = strstr(at, "alias sma=")) != NULL; at++) {
        bool is_line_start = at == text || at[-1] == '\n';
        bool is_in_block = block_begin != NULL && at > block_begin && at < block_end;
        if (is_line_start && !is_in_block)
            return true;
    }
    return false;
}

static void put_block(struct sma_buf *buf)
{
    sma_buf_printf(buf, "%s\n%s\n%s\n", BEGIN, LINE, END);
}

/* Our block: from the last begin before the first end, so that a begin that lost its end takes
 * nothing with it. */
static void find_block(const char *text, const char **ret_begin, const char **ret_end)
{
    const char *begin = strstr(text, BEGIN);
    const char *end = begin == NULL ? NULL : strstr(begin, END);
    for (const char *at = begin; end != NULL && (at = strstr(at + 1, BEGIN)) != NULL && at < end;)
        begin = at;
    *ret_begin = begin;
    *ret_end = end;
}

/* The file a link leads to is written, not the link, and stays as readable and as owned as it
 * was. */
static enum sma_err write_file(const char *path, struct sma_str text, struct sma_error *error)
{
    char real[PATH_MAX];
    struct stat status;
    if (realpath(path, real) == NULL) {
        if (errno != ENOENT || lstat(path, &status) == 0)
            return sma_fail_os(error, errno, "%s: cannot follow this link", path);
        return sma_sys_write_file_atomic(sma_sys_real(), path, text, 0644, error);
    }
    if (stat(real, &status) != 0)
        return sma_fail_os(error, errno, "%s: cannot be looked at", real);
    enum sma_err err =
        sma_sys_write_file_atomic(sma_sys_real(), real, text, status.st_mode & 0777, error);
    if (err == SMA_ERR_OK && (chmod(real, status.st_mode & 0777) != 0 ||
                              (geteuid() == 0 && chown(real, status.st_uid, status.st_gid) != 0)))
        err = sma_fail_os(error, errno, "%s: was changed, but its mode or owner could not be kept",
                          real);
    return err;
}

static enum change rewrite(const char *path, const char *text, bool is_dry_run)
{
    const char *begin, *end;
    find_block(text, &begin, &end);
    if (has_foreign_alias(text, begin, end))
        return CHANGE_FOREIGN;
    struct sma_buf out;
    sma_buf_init(&out, RC_BYTES_MAX + 1024);
    if (end != NULL) {
        sma_buf_put(&out, text, (size_t)(begin - text));
        put_block(&out);
        const char *rest = end + sizeof END - 1;
        sma_buf_put_text(&out, *rest == '\n' ? rest + 1 : rest);
    } else {
        size_t len = strlen(text);
        sma_buf_put(&out, text, len);
        if (len > 0 && text[len - 1] != '\n')
            sma_buf_put_char(&out, '\n');
        put_block(&out);
    }
    enum change change = CHANGE_MADE;
    struct sma_error error;
    if (out.err != SMA_ERR_OK)
        change = CHANGE_FAILED;
    else if (strcmp(out.ptr, text) == 0)
        change = CHANGE_NONE;
    else if (!is_dry_run && write_file(path, sma_buf_str(&out), &error) != SMA_ERR_OK) {
        fprintf(stderr, "shipmyagent: %s\n", error.text);
        change = CHANGE_FAILED;
    }
    sma_buf_fini(&out);
    return change;
}

static int change_file(const char *home, const char *name, bool is_dry_run)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", home, name);
    SMA_AUTO(sma_freep) char *text = NULL;
    size_t len;
    struct sma_error error;
    enum sma_err err = sma_sys_read_file(sma_sys_real(), path, RC_BYTES_MAX, &text, &len, &error);
    if (err != SMA_ERR_OK && err != SMA_ERR_NOTFOUND)
        return sma_cli_fail("alias: %s", error.text);
    if (text != NULL && memchr(text, '\0', len) != NULL)
        return sma_cli_fail(
            "alias: %s holds NUL bytes, so it is not a text file; it is left as it is", path);
    switch (rewrite(path, text == NULL ? "" : text, is_dry_run)) {
    case CHANGE_NONE:
        printf("%s: already there\n", path);
        return 0;
    case CHANGE_FOREIGN:
        printf("%s: skipped, it has an alias sma of its own\n", path);
        return 0;
    case CHANGE_MADE:
        printf("%s: %s\n", path, is_dry_run ? "would be changed" : "changed");
        return 0;
    case CHANGE_FAILED:
        break;
    }
    return 1;
}

int sma_cli_alias(int argc, char **argv)
{
    const char *shell = "both";
    bool is_dry_run = false;
    int option;
    while ((option = sma_cli_option(&sma_cli_command_alias, argc, argv)) != -1) {
        if (option == 's')
            shell = optarg;
        else if (option == 'd')
            is_dry_run = true;
        else if (option == 'p')
            return puts(LINE) < 0;
        else
            return 1;
    }
    if (optind < argc)
        return sma_cli_fail("alias: nothing is expected after the options, but there is %s",
                            argv[optind]);
    if (strcmp(shell, "bash") != 0 && strcmp(shell, "zsh") != 0 && strcmp(shell, "both") != 0)
        return sma_cli_fail("alias: --shell takes bash, zsh or both, not %s", shell);
    const char *home = getenv("HOME");
    if (home == NULL || home[0] == '\0')
        return sma_cli_fail("alias: HOME is not set, so there is no shell start file to change");
    int status = 0;
    if (strcmp(shell, "bash") != 0)
        status |= change_file(home, ".zshrc", is_dry_run);
    if (strcmp(shell, "zsh") != 0)
        status |= change_file(home, ".bashrc", is_dry_run);
    return status;
}

static const struct sma_cli_command_option OPTIONS[] = {
    {"shell", 's', false, SMA_VALUE_WORDS, "zsh|bash|both", NULL,
     "whose start file (default: both)"},
    {"dry-run", 'd', false, SMA_VALUE_NONE, NULL, NULL, "only say what would be changed"},
    {"print", 'p', false, SMA_VALUE_NONE, NULL, NULL, "print the alias, change nothing"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_alias = {
    .name = "alias",
    .run = sma_cli_alias,
    .place = "",
    .summary = "add the short name `sma` to your shell",
    .usage = "shipmyagent alias [--shell zsh|bash|both] [--dry-run] [--print]\n",
    .options = OPTIONS,
    .text = "Adds `alias sma=\"shipmyagent\"` to ~/.zshrc and ~/.bashrc in a marked block.\n",
};
