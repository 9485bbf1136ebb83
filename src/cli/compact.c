/*
 * compact.c — `shipmyagent compact [FOLDER]`: let go of what is over, now, and make state.db as
 * small as what it holds. The running service does the first by itself and cannot do the second, so
 * it must not run.
 */
#include "cli.h"

#include "commands.h"
#include "lock.h"
#include "runtime/chat/keep.h"
#include "sma/config.h"
#include "sma/sys.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#define ROW_COUNT 4096 /* of one transaction */

static enum sma_err remove_rows(struct sma_state *state, struct sma_keep *keep)
{
    bool is_over = false;
    enum sma_err err = SMA_ERR_OK;
    while (!is_over && err == SMA_ERR_OK) {
        err = sma_state_begin(state);
        if (err == SMA_ERR_OK)
            err = sma_keep_slice(keep, state, ROW_COUNT, &is_over);
        if (err == SMA_ERR_OK)
            err = sma_state_commit(state);
        else if (sma_state_is_in_transaction(state))
            sma_state_rollback(state);
    }
    return err;
}

/* Closed as it was found: runs that a crash has cut must be seen as cut by the next start, too. */
static int let_go(const char *path, const struct sma_config_retention *retention)
{
    struct sma_state *state = NULL;
    struct sma_error error = {0};
    enum sma_err err = sma_state_open(&(struct sma_state_options){.path = path}, &state, &error);
    if (err != SMA_ERR_OK)
        return sma_cli_fail("compact: %s", error.text);
    const struct sma_sys *sys = sma_sys_real();
    struct sma_keep keep;
    sma_keep_begin(&keep, retention, sys->wall_ms(sys->self));
    err = remove_rows(state, &keep);
    struct sma_buf text;
    sma_buf_init(&text, 4096);
    sma_keep_format(&keep, &text);
    printf("removed: %s\n", text.len == 0 ? "nothing is old enough" : text.ptr);
    sma_buf_fini(&text);
    int status = err == SMA_ERR_OK ? 0 : sma_cli_fail("compact: %s", sma_state_error(state)->text);
    sma_state_close(state, sma_state_was_clean(state));
    return status;
}

static int make_smaller(const char *path)
{
    struct sma_state_compacted result;
    struct sma_error error = {0};
    if (sma_state_compact(path, &result, &error) != SMA_ERR_OK)
        return sma_cli_fail("compact: %s", error.text);
    printf("state.db: %.1f MB, before %.1f MB\n", (double)result.bytes_after / 1e6,
           (double)result.bytes_before / 1e6);
    return 0;
}

static int compact(const struct sma_config *config)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/state.db", config->state_dir);
    if (access(path, F_OK) != 0)
        return sma_cli_fail("compact: there is no %s: nothing was ever stored here", path);
    int lock;
    struct sma_error error = {0};
    enum sma_err err = sma_lock_take(config->state_dir, &lock, &error);
    if (err == SMA_ERR_BUSY)
        return sma_cli_fail("compact: %s (it lets go of what is old by itself; "
                            "only the file stays as large)",
                            error.text);
    if (err != SMA_ERR_OK)
        return sma_cli_fail("compact: %s", error.text);
    int status = let_go(path, &config->retention);
    if (status == 0)
        status = make_smaller(path);
    (void)close(lock); /* the program ends */
    return status;
}

int sma_cli_compact(int argc, char **argv)
{
    if (sma_cli_option(&sma_cli_command_compact, argc, argv) != -1)
        return 1;
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    struct sma_config_overrides overrides = {.provider = "offline"}; /* no model is needed here */
    if (sma_config_load(optind < argc ? argv[optind] : ".", &overrides, NULL, NULL, &config,
                        &error) != SMA_ERR_OK)
        return sma_cli_fail("%s", error.text);
    int status = compact(config);
    sma_config_destroy(config);
    return status;
}

const struct sma_cli_command sma_cli_command_compact = {
    .name = "compact",
    .run = sma_cli_compact,
    .place = "[FOLDER]",
    .summary = "remove what is over, and make state.db smaller",
    .usage = "shipmyagent compact [FOLDER]\n",
    .text = "Removes now what retention.* of ship.json no longer keeps, and writes state.db anew "
            "without its space.\n"
            "The service removes by itself, in idle moments, and uses the space again; stop it "
            "for this command.\n"
            "Needs as much free disk as the smaller file takes. Exit status 0: done; 1: not "
            "done, nothing is lost.\n",
    .first = SMA_VALUE_FOLDER,
};
