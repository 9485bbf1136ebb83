/*
 * test_http_service.c — the whole program with a platform that takes webhooks: with HTTP it is
 * wired, without it the program does not start and says why. Offline model, a project of its own,
 * port 0.
 */
#include "adapters/http/http.h"
#include "cli/adapters.h"
#include "cli/service.h"
#include "support/check.h"

#include <arpa/inet.h>
#include <ftw.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

/* -- the platform ------------------------------------------------------------------------------ */
static bool takes_webhooks;
static char dir[] = "/tmp/sma-service-XXXXXX";

static void handle(void *state, struct sma_msg **msg, struct sma_ctx *ctx)
{
    (void)state;
    if ((*msg)->kind == SMA_MSG_LIFE) {
        sma_ctx_life_done(ctx, SMA_MSG_BODY(*msg, struct sma_life)->phase);
    } else if ((*msg)->kind == SMA_MSG_WEBHOOK) {
        struct sma_msg *answer = SMA_MSG_NEW(SMA_MSG_WEBHOOK_ANSWER, struct sma_webhook_answer, 16);
        SMA_MSG_BODY(answer, struct sma_webhook_answer)->status = 200;
        SMA_MSG_BODY(answer, struct sma_webhook_answer)->body =
            sma_msg_dup(answer, SMA_STR("{\"ok\":1}"));
        sma_ctx_answer(ctx, *msg, &answer);
    }
}

static enum sma_err create(const struct sma_config *config, const struct sma_config_adapter *block,
                           void **ret_state, struct sma_error *error)
{
    (void)config;
    (void)block;
    (void)error;
    *ret_state = &takes_webhooks;
    return SMA_ERR_OK;
}

static void destroy(void *state)
{
    (void)state;
}

static enum sma_err render(const struct sma_deliver *row, sma_part_fn *each, void *user)
{
    each(user, row->text);
    return SMA_ERR_OK;
}

static bool asks_for_webhooks(const void *state)
{
    return *(const bool *)state;
}

static const struct sma_actor_ops actor = {.name = "hook", .handle = handle};
static const struct sma_adapter_ops hook = {.name = "hook",
                                            .channel = "hook",
                                            .actor = &actor,
                                            .renderer_version = 1,
                                            .create = create,
                                            .destroy = destroy,
                                            .render = render,
                                            .takes_webhooks = asks_for_webhooks};
const struct sma_adapter_entry sma_adapter_table[] = {
    {.ops = &sma_http_adapter_ops, .is_on_by_default = true, .is_http = true},
    {.ops = &hook, .is_on_by_default = true},
    {.ops = NULL},
};

/* -- the project ------------------------------------------------------------------------------- */
static void write_project(bool has_http)
{
    char path[128];
    snprintf(path, sizeof path, "%s/Agent.md", dir);
    FILE *agent = fopen(path, "w");
    CHECK(agent != NULL && fputs("Be brief.\n", agent) >= 0);
    fclose(agent);
    snprintf(path, sizeof path, "%s/ship.json", dir);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fprintf(
        file,
        "{\"name\":\"t\",\"version\":\"1\",\"llm\":{\"provider\":\"offline\",\"model\":\"offline\"}"
        ","
        "\"start\":{\"port\":0,\"host\":\"127.0.0.1\"},\"adapters\":{\"http\":{\"enabled\":%s}}}\n",
        has_http ? "true" : "false");
    fclose(file);
}

static struct sma_service *make(bool has_http, struct sma_error *error)
{
    struct sma_service_options options = {.dir = dir, .is_quiet = true, .has_http = true};
    struct sma_service *service = NULL;
    write_project(has_http);
    enum sma_err err = sma_service_create(&options, &service, error);
    CHECK((err == SMA_ERR_OK) == (service != NULL));
    if (err != SMA_ERR_OK && err != SMA_ERR_BADINPUT)
        fprintf(stderr, "%s\n", error->text);
    CHECK(err == SMA_ERR_OK || err == SMA_ERR_BADINPUT);
    return service;
}

CASE(webhooks_need_http)
{
    struct sma_error error = {0};
    takes_webhooks = true;
    CHECK(make(false, &error) == NULL);
    CHECK(strstr(error.text, "adapters.hook") != NULL &&
          strstr(error.text, "adapters.http") != NULL);
    takes_webhooks = false; /* a platform that fetches its events does not need it */
    struct sma_service *service = make(false, &error);
    CHECK(service != NULL);
    sma_service_destroy(service);
}

static int read_port(void)
{
    char path[128], text[256] = "";
    snprintf(path, sizeof path, "%s/.ship/service.json", dir);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL && fgets(text, sizeof text, file) != NULL);
    fclose(file);
    const char *at = strstr(text, "\"port\":");
    CHECK(at != NULL);
    return (int)strtol(at + 7, NULL, 10);
}

static void ask(const char *request, const char *wanted)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)read_port())};
    struct timeval limit = {.tv_sec = 10};
    char answer[2048];
    size_t len = 0;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    CHECK(send(fd, request, strlen(request), MSG_NOSIGNAL) == (ssize_t)strlen(request));
    for (ssize_t got; (got = recv(fd, answer + len, sizeof answer - 1 - len, 0)) > 0;)
        len += (size_t)got;
    answer[len] = '\0';
    CHECK(strncmp(answer, "HTTP/1.1 ", 9) == 0 && strstr(answer, wanted) != NULL);
    close(fd);
}

struct running
{
    struct sma_service *service;
    int stop_fd, status;
};

static void *supervise(void *argument)
{
    struct running *running = argument;
    running->status = sma_service_run(running->service, running->stop_fd);
    return NULL;
}

CASE(webhooks_reach_their_adapter)
{
    struct sma_error error = {0};
    int pipes[2];
    pthread_t thread;
    takes_webhooks = true;
    struct running running = {.service = make(true, &error)};
    CHECK(running.service != NULL && pipe(pipes) == 0);
    running.stop_fd = pipes[0];
    CHECK_OK(sma_service_start(running.service, &error));
    CHECK(pthread_create(&thread, NULL, supervise, &running) == 0);
    ask("POST /webhooks/hook HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
        "2\r\n\r\n{}",
        "{\"ok\":1}");
    ask("POST /webhooks/http HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: "
        "2\r\n\r\n{}",
        " 403 ");
    CHECK(write(pipes[1], "x", 1) == 1);
    pthread_join(thread, NULL);
    CHECK_INT(0, running.status);
    sma_service_destroy(running.service);
    close(pipes[0]);
    close(pipes[1]);
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *at)
{
    (void)status;
    (void)kind;
    (void)at;
    return remove(path);
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    check_run_cases(NULL);
    CHECK(nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0);
    return check_summary();
}
