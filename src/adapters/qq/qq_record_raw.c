/*
 * qq_record_raw.c — payloads kept as they came, to look into what the platform really sends. Only
 * with SHIP_QQ_CAPTURE_EVENTS: "dispatch" events alone, "all" everything. A capture that fails is
 * said once and disturbs nothing; the files hold what people wrote and are for their owner only.
 */
#include "qq_priv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define PATH_BYTES_MAX 4096
#define TAG_LEN_MAX 80

/* Runs of anything but letters, digits, dot, underscore and hyphen become one underscore. */
static void make_tag(struct sma_str text, char tag[TAG_LEN_MAX + 1])
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    size_t len = 0;
    bool is_in_run = false;
    for (size_t i = 0; i < text.len && len < TAG_LEN_MAX; i++) {
        bool is_plain = text.ptr[i] != '\0' && strchr(plain, text.ptr[i]) != NULL;
        if (is_plain || !is_in_run)
            tag[len++] = is_plain ? text.ptr[i] : '_';
        is_in_run = !is_plain;
    }
    tag[len] = '\0';
}

static enum sma_err write_capture(struct qq *qq, const struct qq_frame *frame, struct sma_str bytes,
                                  struct sma_error *error)
{
    char path[PATH_BYTES_MAX], tag[TAG_LEN_MAX + 1], number[24] = "";
    const struct sma_sys *sys = sma_ctx_sys(qq->ctx);
    bool is_absolute = qq->capture_folder[0] == '/';
    make_tag(frame->type.len > 0 ? frame->type : SMA_STR("none"), tag);
    if (frame->seq != QQ_SEQ_NONE)
        snprintf(number, sizeof number, "_%lld", (long long)frame->seq);
    int folder_len =
        snprintf(path, sizeof path, "%s%s%s", is_absolute ? "" : qq->base.config->project_dir,
                 is_absolute ? "" : "/", qq->capture_folder);
    if (folder_len <= 0 || (size_t)folder_len + TAG_LEN_MAX + 64 >= sizeof path)
        return sma_fail(error, SMA_ERR_TOOBIG, "the folder's name is too long");
    enum sma_err err = sma_sys_make_dirs(sys, path, error);
    if (err != SMA_ERR_OK)
        return err;
    snprintf(path + folder_len, sizeof path - (size_t)folder_len, "/%lld_%d_%s%s.json",
             (long long)sma_ctx_wall(qq->ctx), frame->op, tag, number);
    int fd = sys->open(sys->self, path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return sma_fail(error, SMA_ERR_IO, "cannot write %s", path);
    err = sma_sys_write_all(sys, fd, bytes.ptr, bytes.len, 0, error);
    (void)sys->close(sys->self, fd);
    return err;
}

void qq_record_raw(struct qq *qq, const struct qq_frame *frame, struct sma_str bytes)
{
    struct sma_error error = {0};
    if (qq->capture == 0 || (qq->capture == 1 && frame->op != QQ_OP_DISPATCH))
        return;
    if (write_capture(qq, frame, bytes, &error) == SMA_ERR_OK)
        return;
    qq->capture = 0;
    sma_platform_log(&qq->base, SMA_LOG_WARN, "SHIP_QQ_CAPTURE_EVENTS: %s; capturing no more",
                     error.text);
}

void qq_capture_begin(struct qq *qq)
{
    static const char *const offs[] = {"", "0", "false", "off", "no"};
    const char *wish = getenv("SHIP_QQ_CAPTURE_EVENTS"), *folder = getenv("SHIP_QQ_CAPTURE_DIR");
    qq->capture_folder = folder == NULL || folder[0] == '\0' ? ".ship/.debug/qq-events" : folder;
    if (wish == NULL)
        return;
    for (size_t i = 0; i < SMA_COUNT_OF(offs); i++)
        if (strcasecmp(wish, offs[i]) == 0)
            return;
    qq->capture = strcasecmp(wish, "all") == 0 ? 2 : 1;
}
