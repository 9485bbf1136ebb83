/*
 * Aim: every command explains itself, by --help and -h; `-h HOST` of old scripts is a host still;
 *   what packaging/ holds is what the table of commands says; completion offers commands, options
 *   and values.
 * Method: run the real binary, compare its words with the files; run the completion in a real bash.
 *   commands BINARY
 */
#include "process.h"
#include "support/check.h"

#include <libgen.h>
#include <stdlib.h>
#include <unistd.h>

static char *binary;

static char *run(int status, const char *const *words)
{
    char *argv[16] = {binary}, *output = NULL;
    for (int i = 0; words[i] != NULL; i++)
        argv[i + 1] = (char *)words[i];
    CHECK_INT(status, run_to_end(argv, "", &output, 30000));
    return output;
}
#define SAY(status, ...) run((status), (const char *const[]){__VA_ARGS__, NULL})

static char *read_source(const char *name)
{
    char path[512], *bytes = NULL;
    size_t len = 0;
    snprintf(path, sizeof path, "%s/%s", SMA_SOURCE_DIR, name);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && getdelim(&bytes, &len, '\0', file) > 0 && fclose(file) == 0);
    return bytes;
}

static void expect_in(const char *whole, const char *part)
{
    if (strstr(whole, part) == NULL)
        fprintf(stderr, "\"%s\" is not in:\n%s\n", part, whole);
    CHECK(strstr(whole, part) != NULL);
}

/* For every command of the overview. */
static void for_each_command(void (*check)(const char *name))
{
    char *overview = SAY(0, "help");
    int count = 0;
    for (char *at = overview; (at = strstr(at, "\n  shipmyagent ")) != NULL; count++) {
        char name[40];
        at += strlen("\n  shipmyagent ");
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + (*at == '['), "] "),
                 at + (*at == '['));
        check(name);
    }
    CHECK(count > 12);
    free(overview);
}

/* `help NAME`, `NAME --help` and `NAME -h` are the same text. */
static void explains_itself(const char *name)
{
    char usage[80];
    char *text = SAY(0, "help", name), *by_long = SAY(0, name, "--help"),
         *by_short = SAY(0, name, "-h");
    snprintf(usage, sizeof usage, "shipmyagent %s%s%s", strcmp(name, "start") == 0 ? "[" : "", name,
             strcmp(name, "start") == 0 ? "]" : "");
    CHECK(strncmp(text, usage, strlen(usage)) == 0);
    CHECK_TEXT(text, by_long);
    CHECK_TEXT(text, by_short);
    free(text);
    free(by_long);
    free(by_short);
}

CASE(every_command_explains_itself)
{
    for_each_command(explains_itself);
    char *overview = SAY(0, "help"), *by_short = SAY(0, "-h"), *by_long = SAY(0, "--help");
    CHECK_TEXT(overview, by_short);
    CHECK_TEXT(overview, by_long);
    free(overview);
    free(by_short);
    free(by_long);
}

CASE(help_is_found_behind_other_words)
{
    char *text = SAY(0, "chat", "/nonexistent", "--name", "x", "-h");
    expect_in(text, "shipmyagent chat [FOLDER]");
    free(text);
    text = SAY(0, "-p", "0", "--help");
    expect_in(text, "shipmyagent [start]");
    free(text);
    /* the value of an option and the words of a command are themselves */
    text = SAY(3, "approvals", "reject", "abcdef", "/nonexistent", "--response", "--help");
    expect_in(text, "no service runs");
    free(text);
    text = SAY(3, "policy", "check", "/nonexistent", "--", "ls", "--help");
    expect_in(text, "/nonexistent");
    free(text);
}

CASE(an_old_script_says_the_host_with_h)
{
    static const char *const rows[][5] = {{"-h", "203.0.113.9", "--port", "0", NULL},
                                          {"start", "-h", "203.0.113.9", "-p0", NULL},
                                          {"start", "-h203.0.113.9", "-p0", NULL, NULL}};
    struct folder folder;
    folder_create(&folder, "{\"llm\":{\"provider\":\"offline\"}}");
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char *argv[8] = {binary};
        char *output = NULL, here[500];
        for (int k = 0; rows[i][k] != NULL; k++)
            argv[k + 1] = (char *)rows[i][k];
        CHECK(getcwd(here, sizeof here) != NULL && chdir(folder.path) == 0);
        CHECK_INT(1, run_to_end(argv, "", &output, 30000)); /* no address of this machine */
        CHECK(chdir(here) == 0);
        expect_in(output, "203.0.113.9");
        expect_in(output, "listen");
        free(output);
    }
    folder_remove(&folder);
}

CASE(the_version_has_all_its_names)
{
    static const char *const names[] = {"version", "-V", "-v", "--version"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        char *text = SAY(0, names[i]);
        CHECK_TEXT(SMA_VERSION "\n", text);
        free(text);
    }
}

CASE(packaging_says_what_the_table_says)
{
    static const char *const rows[][2] = {{"bash", "packaging/shipmyagent.bash"},
                                          {"zsh", "packaging/shipmyagent.zsh"},
                                          {"fish", "packaging/shipmyagent.fish"},
                                          {"man", "packaging/shipmyagent.1"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char *made = SAY(0, "completion", rows[i][0]), *kept = read_source(rows[i][1]);
        if (strstr(kept, made) == NULL)
            fprintf(stderr, "%s is not what the table says: run scripts/generate\n", rows[i][1]);
        CHECK(strstr(kept, made) != NULL);
        free(made);
        free(kept);
    }
    char *refused = SAY(1, "completion", "tcsh");
    expect_in(refused, "only for bash, zsh and fish");
    free(refused);
}

/* -- what bash offers for words, the last of them being typed ---------------------------------- */
static char *complete(const char *words)
{
    char script[2048], folder[500], *output = NULL;
    snprintf(folder, sizeof folder, "%s", binary);
    snprintf(script, sizeof script,
             "PATH=%s:$PATH; source %s/packaging/shipmyagent.bash; COMP_WORDS=(%s); "
             "COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _shipmyagent; printf '%%s\\n' "
             "\"${COMPREPLY[@]}\"",
             dirname(folder), SMA_SOURCE_DIR, words);
    char *argv[] = {(char *)"/bin/bash", (char *)"-c", script, NULL};
    CHECK_INT(0, run_to_end(argv, "", &output, 30000));
    return output;
}

CASE(bash_completes_words_and_values)
{
    static const struct
    {
        const char *words, *offered;
    } rows[] = {
        {"shipmyagent sta", "start\nstatus\n"},
        {"shipmyagent start --sand", "--sandbox\n"},
        {"shipmyagent start --sandbox ''", "auto\nrequire\n"},
        {"sma --sandbox r", "require\n"},
        {"shipmyagent start --sandbox = a", "auto\n"},
        {"shipmyagent init --adapter t", "telegram\n"},
        {"shipmyagent init --adapter n", "none\n"},
        {"shipmyagent init --provider deep", "deepseek\n"},
        {"shipmyagent init --model deepseek-f", "deepseek-flash\n"},
        {"shipmyagent chat /tmp --provider off", "offline\n"},
        {"shipmyagent pair approve X --role o", "owner\n"},
        {"shipmyagent pair app", "approve\n"},
        {"shipmyagent usage --by p", "person\nplatform\n"},
        {"shipmyagent alias --shell z", "zsh\n"},
        {"shipmyagent simulate q", "qq\n"},
        {"shipmyagent bench --platform t", "telegram\n"},
        {"shipmyagent help grant", "grants\n"},
        {"shipmyagent completion f", "fish\n"},
        {"shipmyagent policy c", "check\n"},
        {"shipmyagent approvals reject X --resp", "--response\n"},
        {"shipmyagent approvals reject X --response ''", "\n"},
        {"shipmyagent trace ''", "\n"}, /* no service runs here: nothing, and no word about it */
        {"shipmyagent start /us", "/usr\n"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char *offered = complete(rows[i].words);
        if (strcmp(offered, rows[i].offered) != 0)
            fprintf(stderr, "words: %s\n", rows[i].words);
        CHECK_TEXT(rows[i].offered, offered);
        free(offered);
    }
}

/* Where the shells are there, they at least can read them. */
CASE(shells_can_read_their_completion)
{
    static const char *const rows[][3] = {{"bash", "-n", "packaging/shipmyagent.bash"},
                                          {"zsh", "-n", "packaging/shipmyagent.zsh"},
                                          {"fish", "-n", "packaging/shipmyagent.fish"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        char command[700], *output = NULL;
        snprintf(command, sizeof command, "command -v %s >/dev/null || exit 0; %s %s %s/%s",
                 rows[i][0], rows[i][0], rows[i][1], SMA_SOURCE_DIR, rows[i][2]);
        char *argv[] = {(char *)"/bin/sh", (char *)"-c", command, NULL};
        CHECK_INT(0, run_to_end(argv, "", &output, 30000));
        CHECK_TEXT("", output);
        free(output);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    binary = argv[1];
    check_run_cases(NULL);
    return check_summary();
}
