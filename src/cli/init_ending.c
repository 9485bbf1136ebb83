/*
 * init_ending.c — what comes after `shipmyagent init`: a chat, the service here, a unit, or a list
 * of what may come next.
 */
#include "init.h"

#include "cli.h"
#include "prompt.h"
#include "sma/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool init_ask_ending(struct init_answers *answers)
{
    static const enum init_ending endings[] = {INIT_ENDS_CHAT, INIT_ENDS_START, INIT_ENDS_SERVICE,
                                               INIT_ENDS_ASKED};
    const char *const choices[] = {
        "chat with it in this terminal", "start it in this terminal, until Ctrl-C",
        "service of systemd, which starts it after each boot", "nothing now"};
    size_t index;
    if (answers->ending != INIT_ENDS_ASKED)
        return true;
    do
        if (!sma_prompt_choice("And then?", choices, SMA_COUNT_OF(choices),
                               answers->platform_count > 0 ? 1 : 0, &index))
            return false;
    while (endings[index] == INIT_ENDS_SERVICE && init_check_service() != 0);
    answers->ending = endings[index];
    return true;
}

int init_check_ending(const struct init_answers *answers)
{
    return answers->ending == INIT_ENDS_SERVICE ? init_check_service() : 0;
}

/* -- a list of what may come next -------------------------------------------------------------- */
static void print_key_step(const struct init_answers *answers)
{
    const struct init_model *model = &answers->model;
    char key[INIT_SECRET_BYTES_MAX];
    bool may_need_none =
        strcmp(model->provider, "custom") == 0 || strcmp(model->provider, "ollama") == 0;
    bool is_there =
        init_secrets_find(&answers->secrets, answers->dir, model->variable, key, sizeof key);
    if (strcmp(model->provider, "offline") == 0 || model->is_key_given || model->key[0] != '\0')
        return;
    if (is_there && getenv(model->variable) != NULL)
        printf("  Its key is %s of this shell; what is started elsewhere needs it in %s/.env.\n",
               model->variable, answers->dir);
    else if (!is_there)
        printf("  (umask 077; echo '%s=...' >> %s/.env)     your provider's key%s\n",
               model->variable, answers->dir, may_need_none ? ", if it wants one" : "");
}

/* What a bot needs before it answers its owner. */
static void print_platform_steps(const struct init_answers *answers)
{
    for (size_t i = 0; i < answers->platform_count; i++) {
        const struct sma_adapter_ops *ops = answers->platforms[i].ops;
        bool has_secrets = init_has_secrets(answers, ops);
        if (!has_secrets)
            printf("\nOn %s: put %s into %s/.env.\n", ops->name, ops->setup.variables,
                   answers->dir);
        if (init_has_owner(answers, ops))
            printf("\nOn %s you are its owner: write to it.\n", ops->name);
        else
            printf("\nOn %s: start it, write to the bot, and become its owner with the code it "
                   "shows:\n  shipmyagent pair approve CODE %s --role owner\n",
                   ops->name, answers->dir);
    }
}

static void print_next_steps(const struct init_answers *answers)
{
    if (answers->ending == INIT_ENDS_ASKED) {
        puts("\nNext:");
        print_key_step(answers);
        printf("  shipmyagent chat %s      talk to it here\n  shipmyagent start %s     serve it\n",
               answers->dir, answers->dir);
    }
    print_platform_steps(answers);
    puts("");
    fflush(stdout);
}

/* -- the end ----------------------------------------------------------------------------------- */
static int become(const char *command, const char *dir)
{
    /* By its own name, which `ps` shows; a program that was replaced meanwhile has none. */
    char program[PATH_MAX];
    if (sma_cli_self(program, sizeof program))
        execl(program, "shipmyagent", command, dir, (char *)NULL);
    execl("/proc/self/exe", "shipmyagent", command, dir, (char *)NULL);
    return sma_cli_fail("init: cannot start `shipmyagent %s %s`: %s", command, dir,
                        strerror(errno));
}

int init_end(const struct init_answers *answers)
{
    print_next_steps(answers);
    switch (answers->ending) {
    case INIT_ENDS_CHAT:
        return become("chat", answers->dir);
    case INIT_ENDS_START:
        return become("start", answers->dir);
    case INIT_ENDS_SERVICE:
        return init_install_service(answers->dir);
    default:
        return 0;
    }
}
