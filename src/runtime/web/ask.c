/* ask.c — one question to the program fetch-page. See web_priv.h. */
#include "web_priv.h"

#include "runtime/exec/helper.h"
#include "sma/clock.h"
#include "sma/text.h"

#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUEST_BYTES_MAX (128 * 1024)
#define ANSWER_BYTES_MAX (4 * 1024 * 1024) /* escapes included */
#define GRACE_MS 3000u                     /* to say that its own time is up */
#define CHUNK_BYTES 65536
#define PROXY_BYTES_MAX 2000

static void put_request(struct sma_buf *buf, const struct sma_web_place *place,
                        const struct web_question *question)
{
    struct sma_buf proxy;
    sma_buf_init(&proxy, PROXY_BYTES_MAX);
    if (place->put_proxy != NULL)
        place->put_proxy(place->proxy, question->url, &proxy);
    if (proxy.err != SMA_ERR_OK)
        buf->err = proxy.err;
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_member(buf, "url", sma_str(question->url->text));
    sma_buf_put_json_number(buf, "timeMs", sma_clock_wait_ms(question->time_ms));
    sma_buf_put_json_number(buf, "bytesMax", SMA_WEB_PAGE_BYTES_MAX);
    sma_buf_put_json_number(buf, "textMax", question->text_max);
    if (proxy.len > 0)
        sma_buf_put_json_member(buf, "proxy", sma_buf_str(&proxy));
    if (proxy.ptr != NULL)
        explicit_bzero(proxy.ptr, proxy.cap); /* it may hold a password */
    sma_buf_fini(&proxy);
    if (question->method != NULL)
        sma_buf_put_json_member(buf, "method", sma_str(question->method));
    if (question->body != NULL)
        sma_buf_put_json_member(buf, "body", sma_str(question->body));
    sma_buf_put_json_key(buf, "headers");
    sma_buf_put_char(buf, '[');
    for (size_t i = 0; i < SMA_COUNT_OF(question->headers) && question->headers[i] != NULL; i++) {
        sma_buf_put_text(buf, i > 0 ? "," : "");
        sma_buf_put_json_string(buf, sma_str(question->headers[i]));
    }
    sma_buf_put_char(buf, ']');
    if (question->is_private_allowed)
        sma_buf_put_text(buf, ",\"isPrivate\":true");
    if (question->is_raw)
        sma_buf_put_text(buf, ",\"isRaw\":true");
    sma_buf_put_char(buf, '}');
}

/* In memory, so that nobody waits for a reader and nothing stands in a file or an argument. */
static int open_request(struct sma_buf *request)
{
    int fd = memfd_create("fetch-page", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t done = 0;
    while (done < request->len) {
        ssize_t got = write(fd, request->ptr + done, request->len - done);
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    if (done < request->len || lseek(fd, 0, SEEK_SET) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static struct sma_str text_of(const json_t *root, const char *name)
{
    const json_t *value = json_object_get(root, name);
    return (struct sma_str){json_string_value(value), json_string_length(value)};
}

static bool read_answer(struct sma_helper *helper, struct sma_buf *bytes)
{
    size_t got = CHUNK_BYTES;
    while (got == CHUNK_BYTES && bytes->err == SMA_ERR_OK) {
        char *room = sma_buf_reserve(bytes, CHUNK_BYTES);
        got = room == NULL ? 0 : sma_helper_read(helper, room, CHUNK_BYTES);
        bytes->len += got;
    }
    return bytes->err == SMA_ERR_OK;
}

static bool take(struct sma_buf *bytes, struct web_answer *answer)
{
    json_t *root = json_loadb(bytes->ptr == NULL ? "" : bytes->ptr, bytes->len, 0, NULL);
    if (!json_is_object(root)) {
        json_decref(root);
        return false;
    }
    *answer =
        (struct web_answer){.root = root,
                            .status = (int)json_integer_value(json_object_get(root, "status")),
                            .location = text_of(root, "location"),
                            .title = text_of(root, "title"),
                            .content = text_of(root, "content"),
                            .error = text_of(root, "error"),
                            .is_cut = json_is_true(json_object_get(root, "isCut"))};
    return true;
}

static bool run(const struct sma_web_place *place, const struct web_question *question, int in,
                struct web_answer *answer, struct sma_buf *why)
{
    const struct sma_helper_place where = {.program = place->program,
                                           .bubblewrap = place->bubblewrap,
                                           .is_userns_last = place->is_userns_last,
                                           .has_network = true};
    static const char *const none[] = {NULL};
    struct sma_helper helper = {.is_stopped = place->is_stopped};
    struct sma_buf bytes;
    if (!sma_helper_start(&where, none, in,
                          (uint32_t)sma_clock_wait_ms(question->time_ms) + GRACE_MS, &helper)) {
        sma_buf_put_text(why, "The program that fetches pages could not be started.");
        return false;
    }
    sma_buf_init(&bytes, ANSWER_BYTES_MAX);
    bool is_whole = read_answer(&helper, &bytes);
    bool is_late = sma_helper_is_late(&helper);
    (void)sma_helper_end(&helper);
    bool is_good = is_whole && take(&bytes, answer);
    sma_buf_fini(&bytes);
    if (!is_good && place->is_stopped != NULL &&
        __atomic_load_n(place->is_stopped, __ATOMIC_RELAXED) != 0)
        sma_buf_put_text(why, "It was stopped.");
    else if (!is_good)
        sma_buf_put_text(why, is_late ? "It took too long."
                                      : "The page takes too much memory or time to read, or is "
                                        "made to do harm.");
    return is_good;
}

bool web_ask(const struct sma_web_place *place, const struct web_question *question,
             struct web_answer *ret_answer, struct sma_buf *why)
{
    struct sma_buf request;
    *ret_answer = (struct web_answer){.root = NULL};
    if (place->program == NULL) {
        sma_buf_put_text(why, "The program that fetches pages (fetch-page) is not installed.");
        return false;
    }
    sma_buf_init(&request, REQUEST_BYTES_MAX);
    put_request(&request, place, question);
    int in = request.err == SMA_ERR_OK ? open_request(&request) : -1;
    if (request.ptr != NULL)
        explicit_bzero(request.ptr, request.cap); /* a key for searches */
    sma_buf_fini(&request);
    if (in < 0) {
        sma_buf_put_text(why, "There is no memory to ask for it.");
        return false;
    }
    bool is_good = run(place, question, in, ret_answer, why);
    close(in);
    return is_good;
}

void web_answer_fini(struct web_answer *answer)
{
    json_decref(answer->root);
    answer->root = NULL;
}

bool web_put_error(struct sma_buf *result, struct sma_str error, const char *url)
{
    sma_buf_put_text(result, "{\"success\":false");
    sma_buf_put_json_member(result, "error", error);
    if (url != NULL)
        sma_buf_put_json_member(result, "url", sma_str(url));
    sma_buf_put_char(result, '}');
    return false;
}
