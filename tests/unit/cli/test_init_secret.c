/*
 * Aim: what `init` writes into .env is what the program reads from it, whatever a key looks like,
 *   and nothing of what was there is lost.
 * Method: lines are formatted into a folder and read back as the program reads them.
 */
#include "cli/cli.h"
#include "cli/init_secret.h"
#include "sma/config.h"
#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/sma-secret-XXXXXX";
static char path[64];

/* main.c has it; nothing here fails. */
int sma_cli_fail(const char *format, ...)
{
    fprintf(stderr, "%s\n", format);
    return 1;
}

static void write_env(const struct init_secrets *secrets, const char *before)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 65536);
    init_secrets_format(secrets, dir, sma_str(before), &buf);
    CHECK_INT(SMA_ERR_OK, buf.err);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fwrite(buf.ptr, 1, buf.len, file) == buf.len && fclose(file) == 0);
}

static void expect_value(const char *name, const char *wanted)
{
    const char *const names[] = {name, NULL};
    char value[INIT_SECRET_BYTES_MAX] = "";
    CHECK(sma_config_find_variable(dir, names, value, sizeof value));
    CHECK_TEXT(wanted, value);
}

CASE(what_is_written_is_what_is_read)
{
    static const char *const values[] = {
        "sk-abc", "7001234567:AAE-f_o", "with#sharp",   "#begins",  "ends#", "a=b==", "export",
        "$HOME",  "a,b;c|d&e",          "(paren){}[]~", "!%^*?/.<>"};
    for (size_t i = 0; i < SMA_COUNT_OF(values); i++) {
        static struct init_secrets secrets;
        secrets = (struct init_secrets){0};
        CHECK(init_secret_fault(values[i]) == NULL);
        CHECK_INT(0, init_secrets_put(&secrets, "A_KEY", values[i]));
        CHECK_INT(0, init_secrets_put(&secrets, "B_KEY", "after"));
        write_env(&secrets, "MINE='two\nlines'\nA_KEY=old # not this\nLAST=1");
        expect_value("A_KEY", values[i]);
        expect_value("B_KEY", "after");
        expect_value("MINE", "two\nlines");
        expect_value("LAST", "1");
        unlink(path);
    }
}

CASE(what_cannot_be_a_key_is_refused)
{
    static const char *const values[] = {"",         "a b",        "a\tb", "a\nb",
                                         "'quoted'", "\"quoted",   "a`b",  "a\\nb",
                                         "${KEY}",   "k\xc3\xa4y", "\x7f", "a\rb"};
    for (size_t i = 0; i < SMA_COUNT_OF(values); i++)
        CHECK(init_secret_fault(values[i]) != NULL);
}

CASE(a_key_that_is_there_is_not_written_twice)
{
    static struct init_secrets secrets;
    char command[128];
    CHECK_INT(0, init_secrets_put(&secrets, "A_KEY", "first"));
    CHECK_INT(0, init_secrets_put(&secrets, "A_KEY", "same"));
    write_env(&secrets, "");
    write_env(&secrets, "A_KEY=same\n");
    snprintf(command, sizeof command, "test $(grep -c . %s) = 1", path);
    CHECK_INT(0, system(command)); /* NOLINT: a path of our own */
    setenv("A_KEY", "other", 1);
    CHECK(init_secret_is_shadowed("A_KEY", "same") && !init_secret_is_shadowed("A_KEY", "other"));
    unsetenv("A_KEY");
    CHECK(!init_secret_is_shadowed("A_KEY", "same"));
    init_secrets_drop(&secrets, "A_KEY");
    CHECK_INT(0, secrets.count);
    unlink(path);
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    snprintf(path, sizeof path, "%s/.env", dir);
    unsetenv("A_KEY");
    check_run_cases(NULL);
    CHECK_INT(0, rmdir(dir));
    return 0;
}
