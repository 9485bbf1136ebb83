/*
 * tools_web.c — web_fetch and web_search: a thread of their own waits for the helper.
 *
 * A page may take half a minute; libuv's few workers are for what is short. So a fetch gets a
 * thread for as long as it takes, at most SMA_WEB_COUNT_MAX of them, and none when nothing is
 * fetched. It works on a copy of what it needs and on the job's result, which nobody else touches
 * meanwhile.
 */
#include "tools_priv.h"

#include "runtime/tools/tools.h"
#include "runtime/web/fetch.h"
#include "sma/proxy.h"
#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

#define STACK_BYTES ((size_t)512 * 1024)

struct tools_web
{
    struct tools_job *job;
    uv_thread_t thread;
    uv_async_t done;
    bool has_thread;
    bool is_search;
    struct sma_tool_args args; /* slices of the question */
    struct sma_web_url url;
};

/* -- the proxy --------------------------------------------------------------------------------- */
static void put_user(struct sma_buf *buf, const char *text)
{
    for (; *text != '\0'; text++)
        sma_buf_printf(buf, "%%%02X", (unsigned)(unsigned char)*text);
}

/* Kinds that are libcurl's alone are given as they are written. */
static void put_proxy(const char *text, const struct sma_web_url *url, struct sma_buf *ret_proxy)
{
    struct sma_proxy configured, proxy;
    if (text == NULL || sma_proxy_parse(sma_str(text), &configured) != SMA_ERR_OK)
        return;
    enum sma_err err = sma_proxy_choose(&configured, url->host, url->is_tls, &proxy);
    if (err != SMA_ERR_OK && configured.kind == SMA_PROXY_OTHER) {
        sma_buf_put_text(ret_proxy, text);
    } else if (err == SMA_ERR_OK && proxy.kind != SMA_PROXY_NONE) {
        bool is_6 = strchr(proxy.host, ':') != NULL;
        sma_buf_put_text(ret_proxy, proxy.kind == SMA_PROXY_SOCKS5H ? "socks5h://" : "http://");
        put_user(ret_proxy, proxy.user);
        if (proxy.password[0] != '\0') {
            sma_buf_put_char(ret_proxy, ':');
            put_user(ret_proxy, proxy.password);
        }
        sma_buf_printf(ret_proxy, "%s%s%s%s:%s", proxy.user[0] != '\0' ? "@" : "", is_6 ? "[" : "",
                       proxy.host, is_6 ? "]" : "", proxy.port);
    }
    explicit_bzero(&configured, sizeof configured);
    explicit_bzero(&proxy, sizeof proxy);
}

/* -- the work ---------------------------------------------------------------------------------- */
static void work(void *user)
{
    struct tools_web *web = user;
    struct tools_job *job = web->job;
    const struct tools_setup *setup = job->setup;
    const struct sma_web_place place = {
        .rules = setup->web,
        .secrets = setup->secrets,
        .program = setup->web_helper.len > 0 ? setup->web_helper.ptr : NULL,
        .bubblewrap = setup->sandbox.is_on ? setup->sandbox.path : NULL,
        .is_userns_last = setup->sandbox.is_userns_last,
        .proxy = setup->config->proxy,
        .put_proxy = put_proxy,
        .is_stopped = &job->is_stopped};
    job->is_success =
        web->is_search
            ? sma_web_search(&place, web->args.query, web->args.count, &job->result)
            : sma_web_fetch(&place, &web->url, job->ask->words, web->args.max_bytes, &job->result);
    job->is_done = true;
    (void)uv_async_send(&web->done); /* fails only on a handle that is closed */
}

static void on_closed(uv_handle_t *handle)
{
    struct tools_web *web = handle->data;
    web->job->handles--;
    tools_leave(web->job);
}

static void join(struct tools_web *web)
{
    if (web->has_thread)
        (void)uv_thread_join(&web->thread);
    web->has_thread = false;
}

static void on_done(uv_async_t *handle)
{
    struct tools_web *web = handle->data;
    struct tools_job *job = web->job;
    join(web);
    if (job->is_stopped != 0)
        tools_answer_error(job, SMA_TOOL_STOPPED, "stopped");
    else
        tools_answer_run(job);
    uv_close((uv_handle_t *)handle, on_closed);
}

void tools_web_plan(struct tools_job *job)
{
    struct tools_web *web = calloc(1, sizeof *web);
    if (web == NULL) {
        job->err = SMA_ERR_NOMEM;
        return;
    }
    job->web = web;
    web->job = job;
    web->is_search = sma_tool_find(job->ask->name) == SMA_TOOL_WEB_SEARCH;
    job->err = sma_tool_args_parse(sma_tool_find(job->ask->name), job->ask->arguments, &web->args,
                                   &job->why);
    if (job->err == SMA_ERR_OK && !web->is_search)
        job->err = sma_web_url_read(web->args.url, &web->url, &job->why);
}

void tools_web_start(struct tools_job *job)
{
    struct tools_web *web = job->web;
    int status = uv_async_init(sma_ctx_loop(job->tools->ctx), &web->done, on_done);
    web->done.data = web;
    if (status != 0) {
        tools_answer_error(job, SMA_TOOL_ALLOWED, "out of memory");
        return;
    }
    job->handles++;
    job->state = TOOLS_FETCHES;
    const uv_thread_options_t options = {.flags = UV_THREAD_HAS_STACK_SIZE,
                                         .stack_size = STACK_BYTES};
    web->has_thread = uv_thread_create_ex(&web->thread, &options, work, web) == 0;
    if (web->has_thread)
        return;
    tools_answer_error(job, SMA_TOOL_ALLOWED, "the machine has no room for another thread");
    uv_close((uv_handle_t *)&web->done, on_closed);
}

void tools_web_destroy(struct tools_job *job)
{
    struct tools_web *web = job->web;
    if (web == NULL)
        return;
    __atomic_store_n(&job->is_stopped, 1, __ATOMIC_RELAXED);
    join(web);
    sma_tool_args_fini(&web->args);
    free(web);
    job->web = NULL;
}

void tools_web_begin(const struct sma_tools *tools)
{
    const struct tools_setup *setup = tools->setup;
    if (setup->web_helper.len == 0 &&
        (setup->config->web.has_fetch || setup->config->web.has_search))
        sma_ctx_log(tools->ctx, SMA_LOG_WARN,
                    "fetch-page is not installed beside this program: web_fetch and web_search "
                    "cannot be done. Install the whole package (scripts/install, or the .deb)");
    if (setup->helper.len == 0)
        sma_ctx_log(tools->ctx, SMA_LOG_WARN,
                    "shrink-picture is not installed beside this program: pictures that a model "
                    "does not take as they are are not shown to it. Install the whole package");
}
