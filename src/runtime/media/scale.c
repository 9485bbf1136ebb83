/*
 * scale.c — the helper program that decodes pictures: started, fed, bounded, waited for.
 *
 * Decoders of pictures are what hostile files are made for. The helper has no more than the open
 * file and a pipe: bubblewrap's walls where commands have them, limits of memory and time, and a
 * filter that leaves it reading, writing and computing (src/picture). Whatever becomes of it, all
 * that is taken is a head that counts its bytes, and those bytes.
 */
#include "media_priv.h"

#include "runtime/exec/exec_spawn.h"
#include "sma/limits.h"
#include "sma/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELPER_MS 20000u
#define GLANCE_MS 100
#define HEAD_BYTES 8u /* "SMAP", and 4 bytes little-endian how many follow */
#define ARGUMENT_COUNT_MAX 32

struct helper
{
    pid_t pid;
    int out;
    uint64_t until_ms;
};

/* SMA_HELPER_FROM_PROGRAM: where it is, seen from the folder of the program; CMake makes it. */
bool sma_media_find_helper(struct sma_buf *ret_path)
{
    char path[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);
    if (len <= 0)
        return false;
    path[len] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    size_t before = ret_path->len;
    sma_buf_printf(ret_path, "%s/%s/shrink-picture", path, SMA_HELPER_FROM_PROGRAM);
    return ret_path->err == SMA_ERR_OK && access(ret_path->ptr + before, X_OK) == 0;
}

static uint64_t now_ms(void)
{
    const struct sma_sys *sys = sma_sys_real();
    return sys->now_ns(sys->self) / 1000000;
}

struct words
{
    char *items[ARGUMENT_COUNT_MAX];
    size_t count;
};

static void add(struct words *words, const char *word)
{
    union
    {
        const char *from;
        char *to;
    } item = {word}; /* posix_spawn changes none of them */
    SMA_ASSERT(words->count + 1 < ARGUMENT_COUNT_MAX);
    words->items[words->count++] = item.to;
    words->items[words->count] = NULL;
}

static void add_walls(struct words *words, const struct sma_media_place *place)
{
    static const char *const walls[] = {"--unshare-all",
                                        "--die-with-parent",
                                        "--new-session",
                                        "--cap-drop",
                                        "ALL",
                                        "--ro-bind",
                                        "/",
                                        "/",
                                        "--proc",
                                        "/proc",
                                        "--dev",
                                        "/dev"};
    add(words, place->bubblewrap);
    for (size_t i = 0; i < SMA_COUNT_OF(walls); i++)
        add(words, walls[i]);
    if (place->is_userns_last) {
        add(words, "--unshare-user");
        add(words, "--disable-userns");
    }
    add(words, "--");
}

static bool start(const struct sma_media_place *place, const struct sma_media_wish *wish,
                  const struct sma_media *media, struct helper *helper)
{
    static char path[] = "PATH=/usr/bin:/bin";
    static char *const variables[] = {path, NULL};
    struct words words = {.count = 0};
    char side[16], bytes[24], orientation[8];
    snprintf(side, sizeof side, "%u", wish->max_side);
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)(wish->max_bytes / 4 * 3));
    snprintf(orientation, sizeof orientation, "%u", media->orientation);
    if (place->bubblewrap != NULL)
        add_walls(&words, place);
    const char *const own[] = {place->helper, side, bytes, orientation};
    for (size_t i = 0; i < SMA_COUNT_OF(own); i++)
        add(&words, own[i]);
    int ends[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return false;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        close(null);
        return false;
    }
    const struct sma_spawn spawn = {.arguments = words.items,
                                    .variables = variables,
                                    .dir = "/",
                                    .fds = {wish->fd, ends[1], null},
                                    .fd_count = 3};
    int status = sma_spawn(&spawn, &helper->pid);
    close(ends[1]);
    close(null);
    if (status != 0)
        close(ends[0]);
    helper->out = ends[0];
    helper->until_ms = now_ms() + HELPER_MS;
    return status == 0;
}

static bool is_unwanted(const struct sma_media_wish *wish)
{
    return wish->is_stopped != NULL && __atomic_load_n(wish->is_stopped, __ATOMIC_RELAXED) != 0;
}

/* Up to len bytes; fewer when it ended, its time is up or nobody wants it any more. */
static size_t read_some(struct helper *helper, const struct sma_media_wish *wish, char *bytes,
                        size_t len)
{
    size_t done = 0;
    while (done < len && now_ms() < helper->until_ms && !is_unwanted(wish)) {
        struct pollfd watch = {.fd = helper->out, .events = POLLIN};
        if (poll(&watch, 1, GLANCE_MS) <= 0)
            continue;
        ssize_t got = read(helper->out, bytes + done, len - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

/* @return its exit code; -1: killed. Killed it is in any case: nothing of it stays. */
static int end(struct helper *helper, const struct sma_media_wish *wish)
{
    int status = 0;
    pid_t got = 0;
    close(helper->out);
    while ((got = waitpid(helper->pid, &status, WNOHANG)) == 0 && now_ms() < helper->until_ms &&
           !is_unwanted(wish))
        (void)poll(NULL, 0, 1); /* its pipe is closed: it is about to exit */
    if (got == 0) {
        (void)kill(helper->pid, SIGKILL);
        while ((got = waitpid(helper->pid, &status, 0)) < 0 && errno == EINTR)
            ;
    }
    return got == helper->pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void say_why(const struct sma_media *media, const struct helper *helper, int code,
                    struct sma_buf *why)
{
    if (code == 2)
        sma_buf_printf(why, "it is damaged, or no %s after all", sma_media_name(media->type));
    else if (code == 3)
        sma_buf_put_text(why, "it could not be made small enough");
    else if (now_ms() >= helper->until_ms)
        sma_buf_put_text(why, "it takes too long to decode");
    else
        sma_buf_put_text(why, "it takes too much memory or time to decode, or is made to do harm");
}

char *media_scale(const struct sma_media_place *place, const struct sma_media_wish *wish,
                  const struct sma_media *media, size_t *ret_len, struct sma_buf *why)
{
    struct helper helper = {.pid = 0};
    uint8_t head[HEAD_BYTES];
    if (place->helper == NULL || !start(place, wish, media, &helper)) {
        sma_buf_put_text(why, "it has to be made smaller or into another format, and the program "
                              "for that (shrink-picture) is not installed");
        return NULL;
    }
    size_t len = 0;
    char *bytes = NULL;
    bool is_whole = read_some(&helper, wish, (char *)head, sizeof head) == sizeof head &&
                    memcmp(head, "SMAP", 4) == 0;
    if (is_whole) {
        len =
            (size_t)head[4] | (size_t)head[5] << 8 | (size_t)head[6] << 16 | (size_t)head[7] << 24;
        bytes = len == 0 || len > SMA_PART_FILE_BYTES_MAX ? NULL : malloc(len);
        is_whole = bytes != NULL && read_some(&helper, wish, bytes, len) == len;
    }
    int code = end(&helper, wish);
    if (is_whole && (code == 0 || code == -1)) { /* -1: somebody else has waited for it */
        *ret_len = len;
        return bytes;
    }
    free(bytes);
    say_why(media, &helper, code, why);
    return NULL;
}
