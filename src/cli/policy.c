/*
 * policy.c — `shipmyagent policy check [FOLDER] -- COMMAND...`: what the command policy says about
 * one command.
 */
#include "cli.h"

#include "chat_screen.h"
#include "commands.h"
#include "runtime/files/check.h"
#include "runtime/policy/shell.h"
#include "sma/buf.h"
#include "sma/config.h"
#include "sma/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FAILED 3

static int fail_usage(void)
{
    sma_cli_fail("policy: write `shipmyagent policy check [FOLDER] -- COMMAND...`; see "
                 "`shipmyagent help policy`");
    return FAILED;
}

/* Several words are those words exactly, whatever is in them; one word is a text for the shell. */
static void put_command(struct sma_buf *buf, char **words)
{
    if (words[1] == NULL) {
        sma_buf_put_text(buf, words[0]);
        return;
    }
    for (size_t i = 0; words[i] != NULL; i++) {
        if (i > 0)
            sma_buf_put_char(buf, ' ');
        sma_put_shell_word(buf, sma_str(words[i]));
    }
}

static void print_field(const char *name, const char *value)
{
    if (value[0] == '\0')
        return;
    struct sma_buf clean; /* it quotes the command, which may hold anything */
    sma_buf_init(&clean, 4096);
    sma_chat_put_clean(&clean, sma_str(value));
    for (size_t i = 0; i < clean.len; i++)
        if (clean.ptr[i] == '\n' || clean.ptr[i] == '\t')
            clean.ptr[i] = ' ';
    printf("  %-8s %s\n", name, clean.ptr == NULL ? "" : clean.ptr);
    sma_buf_fini(&clean);
}

static int print_decision(const struct sma_policy_decision *decision)
{
    puts(sma_policy_verdict_name(decision->verdict));
    print_field("rule", decision->rule);
    print_field("program", decision->program);
    print_field("why", decision->reason);
    if (decision->is_owner_only)
        puts("  only an owner may agree to it");
    if (decision->at > 0)
        printf("  %-8s byte %zu\n", "where", decision->at);
    return (int)decision->verdict;
}

static int decide(const struct sma_config *config, char **words)
{
    struct sma_tool_rules *rules = NULL;
    struct sma_error error = {0};
    if (sma_tool_rules_create(config, &rules, &error) != SMA_ERR_OK) {
        sma_cli_fail("policy: ship.json: %s", error.text);
        return FAILED;
    }
    struct sma_shell *shell = sma_shell_create();
    struct sma_buf command;
    sma_buf_init(&command, 4 * 1024 * 1024);
    put_command(&command, words);
    int status = FAILED;
    if (shell == NULL || command.err != SMA_ERR_OK) {
        sma_cli_fail("policy: the command is too long");
    } else {
        struct sma_policy_decision decision;
        sma_tool_rules_decide(rules, shell, sma_buf_str(&command), &decision);
        status = print_decision(&decision);
    }
    sma_buf_fini(&command);
    sma_shell_destroy(shell);
    sma_tool_rules_destroy(rules);
    return status;
}

int sma_cli_policy(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "check") != 0)
        return fail_usage();
    int dashes = 2;
    while (dashes < argc && strcmp(argv[dashes], "--") != 0)
        dashes++;
    if (dashes + 1 >= argc || dashes > 3 || (dashes == 3 && argv[2][0] == '-'))
        return fail_usage();
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    struct sma_config_overrides overrides = {.provider =
                                                 "offline"}; /* no key of a model is needed here */
    if (sma_config_load(dashes == 3 ? argv[2] : ".", &overrides, NULL, NULL, &config, &error) !=
        SMA_ERR_OK) {
        sma_cli_fail("%s", error.text);
        return FAILED;
    }
    int status = decide(config, argv + dashes + 1);
    sma_config_destroy(config);
    return status;
}

const struct sma_cli_command sma_cli_command_policy = {
    .name = "policy",
    .run = sma_cli_policy,
    .place = "check",
    .summary = "may this shell command run? (nothing is run)",
    .usage = "shipmyagent policy check [FOLDER] -- COMMAND...\n",
    .text = "Says what permissions.exec_shell of FOLDER's ship.json makes of a shell command: "
            "`allow`, `ask` or `refuse` on the\n"
            "first line, then the rule and the program that decided it. Nothing is run. One "
            "argument is a text for the shell,\n"
            "several are the words of one command:\n"
            "  shipmyagent policy check -- 'git log | head'\n"
            "Exit status 0: allow; 1: ask; 2: refuse; 3: the question or the configuration is "
            "wrong.\n",
    .verbs = "check",
    .second = SMA_VALUE_FOLDER,
};
