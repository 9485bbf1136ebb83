/* file_tools.c — the instance, who does what, and what is too long. See file_tools.h. */
#include "runtime/files/file_tools_priv.h"

#include "sma/sys.h"
#include "sma/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WHY_BYTES_MAX 4000
#define VIEW_PATH_BYTES_MAX 200

enum sma_err sma_file_tools_create(const struct sma_config *config,
                                   struct sma_file_tools **ret_tools, struct sma_error *error)
{
    struct sma_file_tools *tools = calloc(1, sizeof *tools);
    if (tools == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    enum sma_err err = sma_guard_create(config->project_dir, &tools->guard, error);
    if (err == SMA_ERR_OK)
        err = sma_file_rules_parse(config->permissions_json, &tools->rules, error);
    if (err == SMA_ERR_OK && sma_file_rules_names_read(tools->rules))
        sma_guard_refuse_links(tools->guard);
    if (err == SMA_ERR_OK && sma_secrets_create(config, &tools->secrets) != SMA_ERR_OK)
        err = sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    if (err != SMA_ERR_OK) {
        sma_file_tools_destroy(tools);
        return err;
    }
    *ret_tools = tools;
    return SMA_ERR_OK;
}

void sma_file_tools_destroy(struct sma_file_tools *tools)
{
    if (tools == NULL)
        return;
    sma_guard_destroy(tools->guard);
    sma_file_rules_destroy(tools->rules);
    if (tools->place == NULL) /* else they are another's */
        sma_secrets_destroy(tools->secrets);
    free(tools->place);
    free(tools);
}

/* Patterns of read_repo name files of the project; what is outside is all or nothing. */
enum sma_err sma_file_tools_create_view(const struct sma_file_tools *tools, const char *folder,
                                        struct sma_file_tools **ret_view, struct sma_error *error)
{
    if (sma_file_rules_reads_nothing(tools->rules))
        return sma_fail(error, SMA_ERR_BADINPUT, "permissions.read_repo lets no file be read");
    if (strlen(folder) > VIEW_PATH_BYTES_MAX) /* it stands before every path of a result */
        return sma_fail(error, SMA_ERR_BADINPUT, "the path of its folder is too long");
    struct sma_file_tools *view = calloc(1, sizeof *view);
    if (view == NULL || (view->place = strdup(folder)) == NULL) {
        free(view);
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    }
    view->secrets = tools->secrets;
    enum sma_err err = sma_guard_create(folder, &view->guard, error);
    if (err == SMA_ERR_OK)
        err = sma_file_rules_parse(NULL, &view->rules, error);
    if (err != SMA_ERR_OK) {
        sma_file_tools_destroy(view);
        return err;
    }
    *ret_view = view;
    return SMA_ERR_OK;
}

/* -- paths ------------------------------------------------------------------------------------- */

enum sma_err sma_file_tools_open(const struct sma_file_tools *tools, struct sma_str path,
                                 int *ret_fd, struct sma_buf *why)
{
    struct sma_buf clean;
    struct stat stat;
    int fd = -1;
    char *bytes = NULL;
    size_t len = 0;
    sma_buf_init(&clean, SMA_GUARD_PATH_BYTES_MAX + 1);
    enum sma_err err = file_tools_clean_read(tools, path, &clean, why);
    if (err == SMA_ERR_OK)
        err = sma_guard_open(tools->guard, sma_buf_str(&clean), SMA_GUARD_SEND, &fd, &stat, why);
    if (err == SMA_ERR_OK && stat.st_size <= SMA_FILE_READ_BYTES_MAX) {
        /* what is given out as it is cannot have its secrets replaced */
        err = sma_guard_read_fd(fd, SMA_FILE_READ_BYTES_MAX, &bytes, &len);
        if (err == SMA_ERR_OK && sma_secrets_has(tools->secrets, (struct sma_str){bytes, len}))
            err = file_tools_say(why, sma_buf_str(&clean),
                                 " holds a secret of this agent: it is not sent.");
        free(bytes);
    }
    sma_buf_fini(&clean);
    if (err != SMA_ERR_OK) {
        if (fd >= 0)
            close(fd);
        return err;
    }
    *ret_fd = fd;
    return SMA_ERR_OK;
}

/* In pieces that overlap, so that none is cut in two. */
static bool has_secret(const struct sma_file_tools *tools, int fd)
{
    enum
    {
        PIECE_BYTES = 256 * 1024,
        OVERLAP_BYTES = 4096
    };
    SMA_AUTO(sma_freep) char *bytes = malloc(PIECE_BYTES);
    if (bytes == NULL)
        return true;
    for (off_t at = 0; at <= SMA_PART_FILE_BYTES_MAX; at += PIECE_BYTES - OVERLAP_BYTES) {
        ssize_t got = pread(fd, bytes, PIECE_BYTES, at);
        if (got <= 0)
            return got < 0;
        if (sma_secrets_has(tools->secrets, (struct sma_str){bytes, (size_t)got}))
            return true;
        if (got < PIECE_BYTES)
            return false;
    }
    return false;
}

enum sma_err sma_file_tools_open_part(const struct sma_file_tools *tools, struct sma_str path,
                                      int *ret_fd, uint64_t *ret_bytes, struct sma_buf *why)
{
    struct sma_buf clean;
    struct stat stat;
    int fd = -1;
    sma_buf_init(&clean, SMA_GUARD_PATH_BYTES_MAX + 1);
    enum sma_err err = sma_guard_clean(tools->guard, path, &clean, why);
    if (err == SMA_ERR_OK)
        err = sma_guard_open(tools->guard, sma_buf_str(&clean), SMA_GUARD_READ, &fd, &stat, why);
    if (err == SMA_ERR_OK && has_secret(tools, fd)) {
        close(fd);
        err = file_tools_say(why, sma_buf_str(&clean),
                             " holds a secret of this agent, or cannot be read.");
    }
    sma_buf_fini(&clean);
    if (err != SMA_ERR_OK)
        return err;
    *ret_fd = fd;
    *ret_bytes = (uint64_t)stat.st_size;
    return SMA_ERR_OK;
}

/* -- who does what ----------------------------------------------------------------------------- */
bool sma_file_tools_has(struct sma_str name)
{
    enum sma_tool tool = sma_tool_find(name);
    return sma_tool_is_work(tool) && tool != SMA_TOOL_EXEC_SHELL && tool != SMA_TOOL_SKILLS_LIST &&
           tool != SMA_TOOL_SKILLS_LOAD;
}

void sma_file_tools_put_target(const struct sma_file_tools *tools, struct sma_str name,
                               struct sma_str arguments, struct sma_buf *ret_path)
{
    enum sma_tool tool = sma_tool_find(name);
    struct sma_tool_args args = {0};
    struct sma_buf why;
    if (tool != SMA_TOOL_WRITE_FILE && tool != SMA_TOOL_EDIT_FILE)
        return;
    sma_buf_init(&why, WHY_BYTES_MAX);
    if (sma_tool_args_parse(tool, arguments, &args, &why) != SMA_ERR_OK ||
        sma_guard_clean(tools->guard, args.path, ret_path, &why) != SMA_ERR_OK)
        sma_buf_clear(ret_path); /* it will be refused */
    sma_tool_args_fini(&args);
    sma_buf_fini(&why);
}

/* Others change it faster than it can be read and replaced: not our turn. */
#define WRITE_TRY_COUNT_MAX 3

/* One reading, one replacing. BUSY: something else stands there by now. */
static enum sma_err write_once(const struct sma_file_tools *tools, const struct sma_file_call *call,
                               const struct sma_tool_args *args, struct sma_str path,
                               struct file_change *change, struct sma_buf *why)
{
    enum sma_tool tool = sma_tool_find(call->name);
    uint8_t digest[32];
    enum sma_err err = file_tools_change(tools, tool, args, path, change, why);
    if (err == SMA_ERR_OK && call->agreed != NULL) {
        if (!file_change_digest(tool, args, path, change, digest))
            return SMA_ERR_NOMEM;
        if (memcmp(digest, call->agreed, sizeof digest) != 0)
            return file_tools_say(why, path,
                                  " has changed since people agreed to this: nothing was written. "
                                  "Read it and call again, and they are asked anew.");
    }
    if (err == SMA_ERR_OK)
        err = sma_guard_write_over(tools->guard, path,
                                   (struct sma_str){change->before, change->before_len},
                                   (struct sma_str){change->after, change->after_len}, why);
    return err;
}

static enum sma_err put_written(const struct sma_file_tools *tools,
                                const struct sma_file_call *call, const struct sma_tool_args *args,
                                struct sma_buf *result, struct sma_buf *why)
{
    struct sma_buf path;
    struct file_change change = {0};
    enum sma_file_verdict verdict;
    sma_buf_init(&path, SMA_GUARD_PATH_BYTES_MAX + 1);
    enum sma_err err = file_tools_clean_write(tools, args->path, &path, &verdict, why);
    for (int i = 0; err == SMA_ERR_OK && i < WRITE_TRY_COUNT_MAX; i++) {
        file_change_fini(&change);
        err = write_once(tools, call, args, sma_buf_str(&path), &change, why);
        if (err != SMA_ERR_BUSY)
            break;
        err = i + 1 < WRITE_TRY_COUNT_MAX
                  ? SMA_ERR_OK
                  : file_tools_say(why, sma_buf_str(&path),
                                   " is being changed by something else: nothing was written.");
    }
    if (err == SMA_ERR_OK) {
        sma_buf_put_text(result, "{\"success\":true,\"path\":\"");
        file_tools_put_json(tools, result, sma_buf_str(&path));
        sma_buf_printf(result, "\",\"bytes\":%zu", change.after_len);
        if (sma_tool_find(call->name) == SMA_TOOL_EDIT_FILE)
            sma_buf_printf(result, ",\"replacements\":%u}", change.replaced_count);
        else
            sma_buf_printf(result, ",\"created\":%s}", change.before == NULL ? "true" : "false");
    }
    file_change_fini(&change);
    sma_buf_fini(&path);
    return err;
}

static enum sma_err run_tool(const struct sma_file_tools *tools, const struct sma_file_call *call,
                             const struct sma_tool_args *args, struct sma_buf *result,
                             struct sma_buf *why)
{
    switch (sma_tool_find(call->name)) {
    case SMA_TOOL_READ_FILE:
        return file_tools_read(tools, args, call->seen, result, why);
    case SMA_TOOL_READ_MORE:
        return file_tools_read_more(tools, args, result, why);
    case SMA_TOOL_LIST_FILES:
        return file_tools_list(tools, args, result, why);
    case SMA_TOOL_SEARCH_FILES:
        return file_tools_search(tools, args, result, why, call->is_stopped);
    default:
        return put_written(tools, call, args, result, why);
    }
}

bool sma_file_tools_run(const struct sma_file_tools *tools, const struct sma_file_call *call,
                        struct sma_buf *result)
{
    enum sma_tool tool = sma_tool_find(call->name);
    SMA_ASSERT(sma_file_tools_has(call->name));
    struct sma_buf why, clean;
    struct sma_tool_args args = {0};
    size_t start = result->len;
    sma_buf_init(&why, WHY_BYTES_MAX);
    enum sma_err err = sma_tool_args_parse(tool, call->arguments, &args, &why);
    if (err == SMA_ERR_OK)
        err = run_tool(tools, call, &args, result, &why);
    sma_tool_args_fini(&args);
    if (err != SMA_ERR_OK) {
        sma_buf_init(&clean, WHY_BYTES_MAX * 2);
        if (why.len == 0)
            sma_buf_put_text(&why, sma_err_text(err));
        sma_secrets_put(tools->secrets, &clean, sma_buf_str(&why));
        if (result->ptr != NULL) {
            result->len = start;
            result->ptr[start] = '\0';
        }
        sma_tool_put_error(result, sma_buf_str(&clean));
        sma_buf_fini(&clean);
    }
    sma_buf_fini(&why);
    return err == SMA_ERR_OK;
}
