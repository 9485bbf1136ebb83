/*
 * pages.c — GET /ws: a WebSocket on which a page is told what GET /api/status answers, at once and
 * then whenever it has changed, once a second at most. While nothing changes nobody is woken or
 * asked: sma/news.h rings. Frames are libwebsockets' (docs/adr/0036);
 * the request has been read, and who may come in decided, like every other.
 *
 * A page that does not read holds one answer, and is told the newest when it has read that.
 */
#include "http_priv.h"

#include "sma/clock.h"
#include "sma/news.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define TELL_MS 1000
#define LEAVE_MS 5
#define LEAVE_MS_MAX 500
#define CLOSE_GOING_AWAY 1001
#define CLOSE_POLICY 1008

struct http_page
{
    struct http_page *next, *previous;
    struct sma_http *server;
    struct sma_ws_conn *conn;
    uint64_t number, told_ns; /* of what it was told last, and when */
    bool is_open;
};

/* -- telling ----------------------------------------------------------------------------------- */
/* false: it is to be told later, since it has just been told something, or does not read. */
static bool tell(struct http_page *page)
{
    struct http_pages *pages = &page->server->pages;
    if (!page->is_open || page->number == pages->number)
        return true;
    uint64_t now_ns = http_now(page->server);
    if (sma_ws_unsent(page->conn) > 0 ||
        (page->number > 0 && now_ns - page->told_ns < TELL_MS * UINT64_C(1000000)))
        return false;
    if (sma_ws_send(page->conn, sma_buf_str(&pages->text), false) != SMA_ERR_OK)
        return true; /* it is about to be closed */
    page->number = pages->number;
    page->told_ns = now_ns;
    return true;
}

static void on_timer(uv_timer_t *timer);
static void on_news(uv_poll_t *poll, int status, int events);

static void look_later(struct http_pages *pages)
{
    if (pages->count > 0 && uv_is_active((uv_handle_t *)&pages->timer) == 0)
        (void)uv_timer_start(&pages->timer, on_timer, sma_clock_wait_ms(TELL_MS), 0);
}

static void ask(struct sma_http *http)
{
    struct http_pages *pages = &http->pages;
    SMA_AUTO(sma_msg_destroyp)
    struct sma_msg *msg = sma_msg_make_query(&(struct sma_query){.kind = SMA_QUERY_STATUS});
    if (pages->is_asked || http->is_closing) {
        pages->has_news = true; /* the answer under way may be older than who asks now */
        return;
    }
    sma_news_take(); /* what changes from here on is rung again */
    (void)uv_poll_start(&pages->news, UV_READABLE, on_news); /* a descriptor of ours: cannot fail */
    pages->has_news = false;
    pages->is_asked =
        msg != NULL && http_ask_store(http, HTTP_ASK_PAGES, NULL, 0, &msg) == SMA_ERR_OK;
    if (!pages->is_asked) {
        pages->has_news = true;
        look_later(pages);
    }
}

static void tell_all(struct sma_http *http)
{
    bool are_told = true;
    for (struct http_page *page = http->pages.first, *next; page != NULL; page = next) {
        next = page->next;
        are_told &= tell(page);
    }
    if (!are_told)
        look_later(&http->pages);
}

/* The time that the answer was made at is no news. */
static uint64_t hash_of(struct sma_str text)
{
    static const char mark[] = "\"timestamp\":\"";
    static const uint8_t key[16] = {1};
    const char *at = memmem(text.ptr, text.len, mark, sizeof mark - 1);
    const char *end = at == NULL ? NULL
                                 : memchr(at + sizeof mark, '"',
                                          text.len - (size_t)(at + sizeof mark - text.ptr));
    if (end == NULL)
        return sma_siphash(key, text.ptr, text.len);
    return sma_siphash(key, text.ptr, (size_t)(at - text.ptr)) ^
           sma_siphash(key, end, text.len - (size_t)(end - text.ptr));
}

void http_pages_tell(struct sma_http *http, struct sma_str store_json)
{
    struct http_pages *pages = &http->pages;
    struct sma_buf text;
    pages->is_asked = false;
    sma_buf_init(&text, HTTP_RESPONSE_BYTES_MAX / 2);
    http_put_status(http, &text, store_json);
    uint64_t hash = text.err == SMA_ERR_OK ? hash_of(sma_buf_str(&text)) : pages->hash;
    if (hash == pages->hash) {
        sma_buf_fini(&text);
    } else {
        sma_buf_fini(&pages->text);
        pages->text = text;
        pages->hash = hash;
        pages->number++;
    }
    pages->answered_ns = http_now(http);
    tell_all(http);
    if (pages->has_news)
        look_later(pages);
}

static void on_timer(uv_timer_t *timer)
{
    struct sma_http *http = timer->data;
    if (http->pages.has_news)
        ask(http);
    else
        tell_all(http);
}

static void on_news(uv_poll_t *poll, int status, int events)
{
    struct sma_http *http = poll->data;
    struct http_pages *pages = &http->pages;
    (void)status;
    (void)events;
    (void)uv_poll_stop(poll); /* until it is asked what is new: a busy service rings all the time */
    pages->has_news = true;
    if (pages->is_asked || http_now(http) - pages->answered_ns < TELL_MS * UINT64_C(1000000))
        look_later(pages);
    else
        ask(http);
}

/* -- pages ------------------------------------------------------------------------------------- */
static void on_opened(void *user)
{
    struct http_page *page = user;
    page->is_open = true;
    ask(page->server); /* what it hears first is new */
}

static void on_message(void *user, struct sma_str bytes, bool is_binary, uint64_t read_ns)
{
    (void)user;
    (void)bytes;
    (void)is_binary;
    (void)read_ns;
}

static void on_closed(void *user, const struct sma_ws_closed *closed)
{
    struct http_page *page = user;
    struct http_pages *pages = &page->server->pages;
    (void)closed;
    if (page->previous == NULL)
        pages->first = page->next;
    else
        page->previous->next = page->next;
    if (page->next != NULL)
        page->next->previous = page->previous;
    free(page);
    if (--pages->count > 0)
        return;
    sma_news_mute();
    (void)uv_poll_stop(&pages->news);
    if (pages->leave_count == 0)
        (void)uv_timer_stop(&pages->timer);
}

static bool is_ready(struct sma_http *http)
{
    struct http_pages *pages = &http->pages;
    struct sma_error error = {0};
    if (pages->ws == NULL && sma_ws_open(http->ctx, NULL, &pages->ws, &error) != SMA_ERR_OK) {
        sma_ctx_log(http->ctx, SMA_LOG_WARN, "http: /ws: %s", error.text);
        return false;
    }
    int bell = sma_news_open();
    if (!pages->has_timer && bell >= 0 && uv_poll_init(http->loop, &pages->news, bell) == 0) {
        (void)uv_timer_init(http->loop, &pages->timer); /* cannot fail */
        pages->news.data = pages->timer.data = http;
        pages->has_timer = true;
    }
    return pages->has_timer;
}

static void adopt(struct sma_http *http, int fd, struct sma_str key, struct sma_str rest)
{
    struct http_pages *pages = &http->pages;
    struct http_page *page = calloc(1, sizeof *page);
    if (page == NULL) {
        (void)close(fd);
        return;
    }
    struct sma_ws_ask like = {.message_bytes_max = HTTP_PAGE_MESSAGE_BYTES_MAX,
                              .unsent_bytes_max = HTTP_RESPONSE_BYTES_MAX,
                              .opened = on_opened,
                              .message = on_message,
                              .closed = on_closed,
                              .user = page};
    page->server = http;
    page->next = pages->first;
    if (page->next != NULL)
        page->next->previous = page;
    pages->first = page;
    pages->count++;
    if (sma_ws_adopt(pages->ws, fd, key, rest, &like, &page->conn) != SMA_ERR_OK)
        on_closed(page, &(struct sma_ws_closed){0});
}

void http_page_open(struct http_conn *conn, const struct sma_http_request *request)
{
    struct sma_http *http = conn->server;
    struct sma_str key = sma_http_header_get(request, "Sec-WebSocket-Key");
    uv_os_fd_t fd;
    if (request->method != SMA_HTTP_GET || request->content_bytes > 0 ||
        request->has_transfer_encoding ||
        !sma_http_list_has(sma_http_header_get(request, "Upgrade"), SMA_STR("websocket")) ||
        !sma_http_list_has(sma_http_header_get(request, "Connection"), SMA_STR("upgrade")) ||
        !sma_str_is_equal(sma_http_header_get(request, "Sec-WebSocket-Version"), SMA_STR("13")) ||
        !sma_ws_is_key(key)) {
        http_respond_error(conn, 426, "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n",
                           "This is a WebSocket: ask for an upgrade");
        return;
    }
    if (http->is_intake_off || http->pages.count >= HTTP_PAGE_COUNT_MAX || !is_ready(http) ||
        uv_fileno((const uv_handle_t *)&conn->tcp, &fd) != 0) {
        http_respond_error(conn, 503, "Retry-After: 5\r\n", "No more pages now: try again later");
        return;
    }
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* the server closes its own */
    struct sma_str rest = {conn->in.ptr + request->head_bytes, conn->in.len - request->head_bytes};
    if (copy >= 0)
        adopt(http, copy, key, rest);
    http_conn_close(conn);
}

/* -- the end ----------------------------------------------------------------------------------- */
static void on_leaving(uv_timer_t *timer)
{
    struct sma_http *http = timer->data;
    if (!sma_ws_is_idle(http->pages.ws) && --http->pages.leave_count > 0)
        return;
    http->pages.leave_count = 0;
    (void)uv_timer_stop(timer);
    http_report_when_done(http);
}

void http_pages_end(struct sma_http *http)
{
    for (struct http_page *page = http->pages.first; page != NULL; page = page->next)
        if (page->conn != NULL)
            sma_ws_end(page->conn, CLOSE_POLICY);
}

/* Close frames need some turns of the loop, of a page that reads. */
void http_pages_leave(struct sma_http *http)
{
    struct http_pages *pages = &http->pages;
    for (struct http_page *page = pages->first; page != NULL; page = page->next)
        if (page->conn != NULL)
            sma_ws_end(page->conn, CLOSE_GOING_AWAY);
    if (pages->first == NULL)
        return;
    pages->leave_count = LEAVE_MS_MAX / LEAVE_MS;
    (void)uv_timer_start(&pages->timer, on_leaving, LEAVE_MS, LEAVE_MS);
}

void http_pages_stop(struct sma_http *http)
{
    struct http_pages *pages = &http->pages;
    sma_ws_close(pages->ws); /* tells nobody */
    pages->ws = NULL;
    while (pages->first != NULL) {
        struct http_page *page = pages->first;
        pages->first = page->next;
        free(page);
    }
    pages->count = 0;
    sma_news_mute();
    if (pages->has_timer) {
        uv_close((uv_handle_t *)&pages->news, NULL);
        uv_close((uv_handle_t *)&pages->timer, NULL);
    }
    sma_buf_fini(&pages->text);
}
