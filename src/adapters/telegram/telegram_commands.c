/*
 * telegram_commands.c — the list of commands that clients show, told to the platform when it is not
 * what was told last.
 *
 * Each telling counts against the bot's rate, also when nothing changed, and takes away a list that
 * somebody has written at @BotFather since. What was told is kept in a file of the bot; without the
 * file it is told again.
 */
#include "telegram_priv.h"

#include <stdio.h>

#define LIST_BYTES_MAX 16384
#define PATH_BYTES_MAX 4096

static bool make_path(const struct telegram *telegram, char path[PATH_BYTES_MAX])
{
    int len =
        snprintf(path, PATH_BYTES_MAX, "%s/%scommands-%lld.txt", telegram->base.config->project_dir,
                 telegram->base.home.folder, (long long)telegram->bot.id);
    return len > 0 && len < PATH_BYTES_MAX;
}

/* Both lists, and whom they were told. */
static void put_told(struct sma_buf *buf, const struct telegram *telegram)
{
    sma_buf_put_text(buf, telegram->settings.api_root);
    sma_buf_put_char(buf, '\n');
    telegram_put_commands(buf, false);
    sma_buf_put_char(buf, '\n');
    telegram_put_commands(buf, true);
    sma_buf_put_char(buf, '\n');
}

static bool is_told(const struct telegram *telegram, struct sma_str told)
{
    char path[PATH_BYTES_MAX];
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    return make_path(telegram, path) &&
           sma_sys_read_file(sma_ctx_sys(telegram->ctx), path, 2 * LIST_BYTES_MAX, &bytes, &len,
                             NULL) == SMA_ERR_OK &&
           sma_str_is_equal((struct sma_str){bytes, len}, told);
}

/* What cannot be written is told again at the next start: no more than that is lost. */
static void keep_told(const struct telegram *telegram)
{
    char path[PATH_BYTES_MAX];
    const struct sma_sys *sys = sma_ctx_sys(telegram->ctx);
    struct sma_buf told;
    sma_buf_init(&told, 2 * LIST_BYTES_MAX);
    put_told(&told, telegram);
    char *slash = make_path(telegram, path) ? strrchr(path, '/') : NULL;
    if (slash != NULL && told.err == SMA_ERR_OK) {
        *slash = '\0';
        enum sma_err err = sma_sys_make_dirs(sys, path, NULL);
        *slash = '/';
        if (err == SMA_ERR_OK)
            err = sma_sys_write_file_atomic(sys, path, sma_buf_str(&told), 0600, NULL);
        if (err != SMA_ERR_OK)
            sma_platform_log(&telegram->base, SMA_LOG_DEBUG, "cannot write %s: %s", path,
                             sma_err_text(err));
    }
    sma_buf_fini(&told);
}

static void on_told(void *state, void *user, const struct sma_net_answer *answer)
{
    struct telegram *telegram = state;
    (void)user;
    if (answer->end == SMA_NET_ANSWERED && answer->status == 200 && ++telegram->told_count == 2)
        keep_told(telegram);
}

static void tell(struct telegram *telegram, bool is_chinese)
{
    struct sma_buf body;
    sma_buf_init(&body, LIST_BYTES_MAX);
    telegram_put_commands(&body, is_chinese);
    (void)sma_call_start(telegram->base.calls, /* a list that is not shown costs nothing else */
                         &(struct sma_call_options){.method = "POST",
                                                    .path = SMA_STR("setMyCommands"),
                                                    .body = &body,
                                                    .may_repeat = true,
                                                    .total_ms = TELEGRAM_CONTROL_MS,
                                                    .done = on_told});
    sma_buf_fini(&body);
}

void telegram_commands_tell(struct telegram *telegram)
{
    struct sma_buf told;
    sma_buf_init(&told, 2 * LIST_BYTES_MAX);
    put_told(&told, telegram);
    telegram->told_count = 0;
    if (told.err != SMA_ERR_OK || !is_told(telegram, sma_buf_str(&told))) {
        tell(telegram, false);
        tell(telegram, true);
    }
    sma_buf_fini(&told);
}
