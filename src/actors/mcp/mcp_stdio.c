/*
 * mcp_stdio.c — a server that is a process of ours: one JSON text a line on its stdin and stdout,
 * free text on its stderr.
 *
 * Its end: stdin is closed, after MCP_ENDING_MS it gets SIGTERM, after as much again SIGKILL,
 * always as a whole group; in the sandbox everything ends with the outermost process, elsewhere
 * what left the group is found by the mark in its environment. Whoever else holds its pipes writes
 * into nothing. It is waited for, and so is what it leaves to us.
 */
#include "mcp_priv.h"

#include "sma/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MCP_ENDING_MS 1000
#define MCP_REAP_MS 10         /* between two looks at what is still to be waited for */
#define MCP_REAP_COUNT_MAX 200 /* looks; then the kernel keeps it */
#define MCP_LINGER_MS 100      /* from its end to that of its pipes, which others may hold */
#define MCP_READ_BYTES 65536
#define MCP_EDGE_BYTES 512 /* of a message that is too long: its beginning and its end */
#define MCP_LINE_KEPT_BYTES (256 * 1024) /* a buffer that grew larger is given back */
#define MCP_SAID_BYTES 4096
#define MCP_LEFT_COUNT_MAX 64 /* of its processes that are waited for one by one */
#define MCP_QUIET_MS 100      /* between two pieces of its stderr when it writes too much */

enum stage
{
    STAGE_RUNS,
    STAGE_LINGERS, /* it has ended: what it wrote is still read */
    STAGE_EOF,     /* closing: told by the end of its stdin */
    STAGE_TERM,
    STAGE_KILL,
    STAGE_REAPS, /* it has been waited for; what it left is not */
    STAGE_GONE,
};

struct stdio_link
{
    struct mcp_server *server;
    enum stage stage;
    pid_t pid;    /* 0 = waited for */
    pid_t group;  /* its first pid */
    pid_t inside; /* first process of the sandbox; 0 = none, or not known */
    int info_fd;
    struct sma_sandbox_plan plan;
    uv_pipe_t in, out, err;
    uv_timer_t timer;
    bool has_in, has_out, has_err, has_timer, is_closing;
    unsigned handles; /* open libuv handles */
    unsigned looks;
    size_t write_bytes; /* not yet taken by the pipe */
    struct sma_buf line;
    bool is_skipping;
    char head[MCP_EDGE_BYTES], tail[MCP_EDGE_BYTES];
    size_t head_len, tail_len;
    struct mcp_stderr log;
    uv_timer_t quiet; /* its stderr is not read meanwhile */
    bool has_quiet;
    pid_t left[MCP_LEFT_COUNT_MAX]; /* what it left behind without a sandbox, killed */
    size_t left_count;
    size_t skipped_bytes; /* of the line that is too long */
    char bytes[MCP_READ_BYTES];
};

struct write_request
{
    uv_write_t request;
    struct stdio_link *link;
    size_t len;
    char bytes[];
};

static void close_link(struct mcp_server *server, bool is_at_once);
static void step(struct stdio_link *link);

/* -- handles ----------------------------------------------------------------------------------- */
static void destroy_link(struct stdio_link *link)
{
    struct mcp_server *server = link->server;
    mcp_stderr_fini(server, &link->log);
    sma_sandbox_plan_fini(&link->plan);
    sma_buf_fini(&link->line);
    if (link->info_fd >= 0)
        close(link->info_fd);
    free(link);
    server->link = NULL;
    if (server->phase == MCP_CLOSING)
        mcp_link_closed(server);
}

static void on_closed(uv_handle_t *handle)
{
    struct stdio_link *link = handle->data;
    link->handles--;
    if (link->handles == 0 && link->stage == STAGE_GONE)
        destroy_link(link);
}

static void close_handle(bool *is_open, uv_handle_t *handle)
{
    if (!*is_open)
        return;
    *is_open = false;
    uv_close(handle, on_closed);
}

static void close_pipes(struct stdio_link *link)
{
    close_handle(&link->has_in, (uv_handle_t *)&link->in);
    close_handle(&link->has_out, (uv_handle_t *)&link->out);
    close_handle(&link->has_err, (uv_handle_t *)&link->err);
}

static void on_timer(uv_timer_t *timer)
{
    step(timer->data);
}

static void arm(struct stdio_link *link, unsigned ms)
{
    if (!link->has_timer)
        return;
    uv_update_time(sma_ctx_loop(link->server->mcp->ctx));
    SMA_ASSERT(uv_timer_start(&link->timer, on_timer, sma_clock_wait_ms(ms), 0) == 0);
}

/* -- reading ----------------------------------------------------------------------------------- */
static void lend_bytes(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
    struct stdio_link *link = handle->data;
    (void)wanted;
    *buf = uv_buf_init(link->bytes, MCP_READ_BYTES);
}

static void keep_tail(struct stdio_link *link, struct sma_str text)
{
    if (text.len >= MCP_EDGE_BYTES) {
        memcpy(link->tail, text.ptr + text.len - MCP_EDGE_BYTES, MCP_EDGE_BYTES);
        link->tail_len = MCP_EDGE_BYTES;
        return;
    }
    size_t kept =
        link->tail_len + text.len > MCP_EDGE_BYTES ? MCP_EDGE_BYTES - text.len : link->tail_len;
    memmove(link->tail, link->tail + link->tail_len - kept, kept);
    if (text.len > 0)
        memcpy(link->tail + kept, text.ptr, text.len);
    link->tail_len = kept + text.len;
}

static void skip(struct stdio_link *link, struct sma_str text)
{
    if (!link->is_skipping) {
        size_t len = link->line.len < MCP_EDGE_BYTES ? link->line.len : MCP_EDGE_BYTES;
        memcpy(link->head, link->line.ptr, len);
        link->head_len = len;
        link->tail_len = 0;
        link->skipped_bytes = link->line.len;
        link->is_skipping = true;
        sma_buf_fini(&link->line);
        sma_buf_init(&link->line, SMA_MCP_MESSAGE_BYTES_MAX);
    }
    keep_tail(link, text);
    link->skipped_bytes += text.len;
    if (link->skipped_bytes > SMA_MCP_UNASKED_BYTES_MAX)
        mcp_link_lost(link->server, "it writes a line without end");
}

/* A part of a line that is not whole yet. */
static void hold(struct stdio_link *link, struct sma_str text)
{
    if (link->is_skipping || link->line.len + text.len > SMA_MCP_MESSAGE_BYTES_MAX) {
        skip(link, text);
        return;
    }
    sma_buf_put_str(&link->line, text);
    if (link->line.err != SMA_ERR_OK)
        mcp_link_lost(link->server, "no memory for what it writes");
}

static void end_line(struct stdio_link *link, struct sma_str rest)
{
    if (!link->is_skipping && link->line.len == 0) {
        mcp_link_message(link->server, rest); /* whole in one piece: not copied */
        return;
    }
    hold(link, rest);
    if (link->is_skipping) {
        link->is_skipping = false;
        mcp_link_skipped(link->server, (struct sma_str){link->head, link->head_len},
                         (struct sma_str){link->tail, link->tail_len});
        return;
    }
    mcp_link_message(link->server, sma_buf_str(&link->line));
    sma_buf_clear(&link->line);
    if (link->line.cap > MCP_LINE_KEPT_BYTES) {
        sma_buf_fini(&link->line);
        sma_buf_init(&link->line, SMA_MCP_MESSAGE_BYTES_MAX);
    }
}

static void take(struct stdio_link *link, struct sma_str text)
{
    while (text.len > 0 && !link->is_closing && !link->server->is_lost) {
        const char *end = memchr(text.ptr, '\n', text.len);
        size_t len = end == NULL ? text.len : (size_t)(end - text.ptr);
        if (end == NULL) {
            hold(link, text);
            return;
        }
        end_line(link, (struct sma_str){text.ptr, len});
        text.ptr += len + 1;
        text.len -= len + 1;
    }
}

/* What people can do something with. */
static void lose(struct stdio_link *link, const char *what)
{
    char why[MCP_TROUBLE_BYTES_MAX];
    (void)snprintf(why, sizeof why, "%s%s%s", what,
                   link->log.last_len == 0 ? "" : "; it said: ", link->log.last);
    mcp_link_lost(link->server, why);
}

static void on_out(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct stdio_link *link = stream->data;
    if (len > 0)
        take(link, (struct sma_str){buf->base, (size_t)len});
    if (len >= 0 || link->is_closing)
        return;
    close_handle(&link->has_out, (uv_handle_t *)&link->out);
    if (link->stage == STAGE_RUNS) /* it may just be about to end: how, says more */
        arm(link, MCP_LINGER_MS);
    else if (link->stage == STAGE_LINGERS)
        step(link);
}

static void on_err(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf);

static void on_quiet(uv_timer_t *timer)
{
    struct stdio_link *link = timer->data;
    if (link->has_err)
        (void)uv_read_start((uv_stream_t *)&link->err, lend_bytes, on_err); /* never fails here */
}

/* Who writes more than is kept has to wait: reading it all would cost more than the server. */
static void on_err(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
    struct stdio_link *link = stream->data;
    if (len > 0)
        mcp_stderr_put(link->server, &link->log, (struct sma_str){buf->base, (size_t)len});
    if (len > 0 && link->log.budget == 0 && link->has_quiet) {
        (void)uv_read_stop(stream); /* never fails */
        SMA_ASSERT(uv_timer_start(&link->quiet, on_quiet, sma_clock_wait_ms(MCP_QUIET_MS), 0) == 0);
    }
    if (len < 0)
        close_handle(&link->has_err, (uv_handle_t *)&link->err);
}

/* -- writing ----------------------------------------------------------------------------------- */
static void on_written(uv_write_t *request, int status)
{
    struct write_request *write = request->data;
    struct stdio_link *link = write->link;
    link->write_bytes -= write->len;
    free(write);
    if (status != 0 && status != UV_ECANCELED && !link->is_closing && link->stage == STAGE_RUNS)
        arm(link, MCP_LINGER_MS); /* nobody reads: it has closed its stdin, or ended */
}

static void send_text(struct mcp_server *server, const struct sma_mcp_out *out)
{
    struct stdio_link *link = server->link;
    if (link == NULL || link->is_closing || !link->has_in)
        return;
    if (link->write_bytes + out->text.len > SMA_MCP_WRITE_BYTES_MAX) {
        mcp_link_lost(server, "it does not read what it is asked");
        return;
    }
    uv_buf_t pieces[] = {uv_buf_init((char *)(uintptr_t)out->text.ptr, (unsigned)out->text.len),
                         uv_buf_init((char *)(uintptr_t) "\n", 1)};
    int written = link->write_bytes > 0 ? 0 : uv_try_write((uv_stream_t *)&link->in, pieces, 2);
    size_t done = written < 0 ? 0 : (size_t)written, len = out->text.len + 1 - done;
    if (len == 0)
        return;
    struct write_request *write = malloc(sizeof *write + len);
    if (write == NULL) {
        mcp_link_lost(server, "no memory for what it is asked");
        return;
    }
    write->link = link;
    write->len = len;
    write->request.data = write;
    if (len > 1)
        memcpy(write->bytes, out->text.ptr + done, len - 1);
    write->bytes[len - 1] = '\n';
    uv_buf_t piece = uv_buf_init(write->bytes, (unsigned)len);
    link->write_bytes += len;
    if (uv_write(&write->request, (uv_stream_t *)&link->in, &piece, 1, on_written) == 0)
        return;
    link->write_bytes -= len;
    free(write);
    mcp_link_lost(server, "its stdin cannot be written");
}

static bool is_outgrown(struct mcp_server *server, char why[MCP_TROUBLE_BYTES_MAX])
{
    struct stdio_link *link = server->link;
    char path[PATH_MAX];
    const char *breach = link == NULL ? NULL : sma_sandbox_plan_breach(&link->plan);
    bool is_behind = link != NULL && breach == NULL && link->plan.is_boxed &&
                     mcp_spawn_is_outgrown(server, &link->plan, path);
    if (breach != NULL)
        (void)snprintf(why, MCP_TROUBLE_BYTES_MAX,
                       "%.150s, which is kept from it, was replaced: it is started anew", breach);
    else if (is_behind)
        (void)snprintf(why, MCP_TROUBLE_BYTES_MAX,
                       "its walls do not know %.150s yet: it is started anew", path);
    return breach != NULL || is_behind;
}

/* -- start ------------------------------------------------------------------------------------- */
struct ends
{
    int child[4], own[4]; /* in, out, err, info */
};

static void close_ends(struct ends *ends)
{
    for (size_t i = 0; i < 4; i++) {
        if (ends->child[i] >= 0)
            close(ends->child[i]);
        if (ends->own[i] >= 0)
            close(ends->own[i]);
        ends->child[i] = ends->own[i] = -1;
    }
}

static bool open_ends(struct ends *ends)
{
    *ends = (struct ends){{-1, -1, -1, -1}, {-1, -1, -1, -1}};
    for (size_t i = 0; i < 4; i++) {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC) != 0) {
            close_ends(ends);
            return false;
        }
        ends->child[i] = pair[i == 0 ? 0 : 1];
        ends->own[i] = pair[i == 0 ? 1 : 0];
    }
    return true;
}

static bool open_pipe(struct stdio_link *link, uv_pipe_t *pipe, bool *is_open, int *fd)
{
    SMA_ASSERT(uv_pipe_init(sma_ctx_loop(link->server->mcp->ctx), pipe, 0) == 0);
    pipe->data = link;
    *is_open = true;
    link->handles++;
    if (uv_pipe_open(pipe, *fd) != 0)
        return false;
    *fd = -1;
    return true;
}

static void open_handles(struct stdio_link *link, struct ends *ends)
{
    SMA_ASSERT(uv_timer_init(sma_ctx_loop(link->server->mcp->ctx), &link->timer) == 0);
    SMA_ASSERT(uv_timer_init(sma_ctx_loop(link->server->mcp->ctx), &link->quiet) == 0);
    link->timer.data = link->quiet.data = link;
    link->has_timer = link->has_quiet = true;
    link->handles += 2;
    bool is_open = open_pipe(link, &link->in, &link->has_in, &ends->own[0]) &&
                   open_pipe(link, &link->out, &link->has_out, &ends->own[1]) &&
                   open_pipe(link, &link->err, &link->has_err, &ends->own[2]) &&
                   uv_read_start((uv_stream_t *)&link->out, lend_bytes, on_out) == 0 &&
                   uv_read_start((uv_stream_t *)&link->err, lend_bytes, on_err) == 0;
    link->info_fd = ends->own[3];
    ends->own[3] = -1;
    if (!is_open)
        mcp_link_lost(link->server, "its pipes cannot be used");
}

static enum sma_err open_link(struct mcp_server *server, struct sma_error *error)
{
    struct stdio_link *link = calloc(1, sizeof *link);
    struct ends ends;
    if (link == NULL || !open_ends(&ends)) {
        free(link);
        return sma_fail(error, SMA_ERR_IO, "it cannot be started: no memory or descriptor is free");
    }
    link->server = server;
    link->info_fd = -1;
    enum sma_err err = mcp_spawn(server, ends.child, &link->plan, &link->pid, error);
    if (err != SMA_ERR_OK) {
        close_ends(&ends);
        free(link);
        return err;
    }
    link->group = link->pid;
    sma_buf_init(&link->line, SMA_MCP_MESSAGE_BYTES_MAX);
    mcp_stderr_init(&link->log);
    server->link = link;
    open_handles(link, &ends);
    close_ends(&ends);
    mcp_link_opened(server);
    return SMA_ERR_OK;
}

/* -- end --------------------------------------------------------------------------------------- */
/* bubblewrap says {"child-pid": 123 ...}. */
static void find_inside(struct stdio_link *link)
{
    char said[MCP_SAID_BYTES];
    int flags = link->info_fd < 0 ? -1 : fcntl(link->info_fd, F_GETFL);
    if (flags < 0 || !link->plan.is_boxed || link->inside > 0 ||
        fcntl(link->info_fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return;
    ssize_t len = read(link->info_fd, said, sizeof said - 1);
    said[len < 0 ? 0 : len] = '\0';
    const char *child = strstr(said, "\"child-pid\":");
    int pid = 0;
    if (child != NULL && sscanf(child + 12, " %d", &pid) == 1 && pid > 1)
        link->inside = pid;
}

/* What it left to us, now that it has been waited for. @return is there nothing any more? */
static bool has_reaped(struct stdio_link *link)
{
    pid_t pid;
    while ((pid = waitpid(-link->group, NULL, WNOHANG)) > 0)
        continue;
    bool has_group = pid == 0;
    if (!link->plan.is_boxed && link->left_count == 0 && link->looks == 0)
        link->left_count = mcp_spawn_end_marked(link->server, link->left, MCP_LEFT_COUNT_MAX);
    for (size_t i = 0; i < link->left_count;) {
        pid_t left = link->left[i];
        if (waitpid(left, NULL, WNOHANG) <= 0 && kill(left, 0) == 0)
            i++; /* lives, or its parent has to end first */
        else
            link->left[i] = link->left[--link->left_count];
    }
    if (link->inside > 0 && waitpid(link->inside, NULL, WNOHANG) != 0)
        link->inside = 0; /* now, or by bubblewrap before */
    return !has_group && link->inside == 0 && link->left_count == 0;
}

static void go(struct stdio_link *link)
{
    link->stage = STAGE_GONE;
    close_pipes(link);
    close_handle(&link->has_timer, (uv_handle_t *)&link->timer);
    close_handle(&link->has_quiet, (uv_handle_t *)&link->quiet);
}

/* Its process has ended and is not waited for yet: the group's number is still its own. */
static void on_exit_of(struct stdio_link *link)
{
    int status = 0;
    char what[64] = "it ended";
    find_inside(link);
    (void)kill(-link->group, SIGKILL); /* nobody else is in it: as well */
    if (waitpid(link->pid, &status, 0) == link->pid) {
        if (WIFEXITED(status))
            (void)snprintf(what, sizeof what, "it ended with exit status %d", WEXITSTATUS(status));
        else if (WIFSIGNALED(status))
            (void)snprintf(what, sizeof what, "it was ended by signal %d", WTERMSIG(status));
    }
    link->pid = 0;
    if (!link->plan.is_boxed)
        link->left_count = mcp_spawn_end_marked(link->server, link->left, MCP_LEFT_COUNT_MAX);
    if (link->is_closing) {
        link->stage = STAGE_REAPS;
        step(link);
        return;
    }
    link->stage = STAGE_LINGERS;
    (void)snprintf(link->head, sizeof link->head, "%s", what); /* for the moment after */
    link->is_skipping = false;
    arm(link, link->has_out ? MCP_LINGER_MS : 0);
}

static bool has_exited(const struct stdio_link *link)
{
    siginfo_t info = {.si_pid = 0};
    return link->pid > 0 &&
           waitid(P_PID, (id_t)link->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           info.si_pid == link->pid;
}

void mcp_stdio_children(struct sma_mcp *mcp)
{
    for (size_t i = 0; i < mcp->server_count; i++) {
        struct mcp_server *server = mcp->servers[i];
        if (server->transport == &mcp_stdio && server->link != NULL && has_exited(server->link))
            on_exit_of(server->link);
    }
}

static void signal_group(struct stdio_link *link, int signo)
{
    if (link->pid > 0)
        (void)kill(-link->group, signo); /* gone already: as well */
}

/* Its time is over at this stage. */
static void step(struct stdio_link *link)
{
    switch (link->stage) {
    case STAGE_RUNS:
        lose(link, "it closed its stdin or stdout");
        break;
    case STAGE_LINGERS:
        lose(link, link->head);
        break;
    case STAGE_EOF:
        link->stage = STAGE_TERM;
        signal_group(link, SIGTERM);
        arm(link, MCP_ENDING_MS);
        break;
    case STAGE_TERM:
    case STAGE_KILL: /* a process that the kernel holds: again */
        link->stage = STAGE_KILL;
        signal_group(link, SIGKILL);
        arm(link, MCP_ENDING_MS);
        break;
    case STAGE_REAPS:
        if (has_reaped(link) || ++link->looks > MCP_REAP_COUNT_MAX)
            go(link);
        else
            arm(link, MCP_REAP_MS);
        break;
    case STAGE_GONE:
        break;
    }
}

/* The actor's end: nobody steps any more. */
static void abandon(struct stdio_link *link)
{
    if (link->stage == STAGE_GONE)
        return;
    signal_group(link, SIGKILL);
    go(link);
}

static void close_link(struct mcp_server *server, bool is_at_once)
{
    struct stdio_link *link = server->link;
    if (is_at_once) {
        abandon(link);
        return;
    }
    link->is_closing = true;
    close_pipes(link);
    link->stage = link->pid > 0 ? STAGE_EOF : STAGE_REAPS;
    arm(link, link->pid > 0 ? MCP_ENDING_MS : 0);
}

const struct mcp_transport mcp_stdio = {.probes_modern = true,
                                        .open = open_link,
                                        .send = send_text,
                                        .is_outgrown = is_outgrown,
                                        .close = close_link};
