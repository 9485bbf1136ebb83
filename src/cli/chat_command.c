/*
 * chat_command.c — `shipmyagent chat`: talk to the running service, or to one that lives as long as
 * the chat.
 *
 * The own service is a forked child (docs/adr/0007): the same image, a process group of its own so
 * that Ctrl-C is the client's, and a pipe whose closing end tells it to stop, also when this
 * process dies.
 */
#include "cli.h"

#include "adapters/terminal/terminal.h"
#include "chat.h"
#include "commands.h"
#include "lock.h"
#include "service.h"
#include "sma/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SOCKET_TRY_COUNT 250 /* five seconds */
#define SOCKET_TRY_MS 20

struct own_service
{
    pid_t pid;
    int stop_fd; /* closing it stops the child */
};

/* The child: serve until the pipe closes. ready_fd gets one byte once the socket answers, or is
 * closed. */
static int serve(const struct sma_service_options *options, int ready_fd, int stop_fd)
{
    struct sma_error error;
    struct sma_service *service = NULL;
    if (sma_service_create(options, &service, &error) != SMA_ERR_OK)
        return sma_cli_fail("%s", error.text);
    if (sma_service_start(service, &error) != SMA_ERR_OK) {
        sma_service_destroy(service);
        return sma_cli_fail("%s", error.text);
    }
    if (write(ready_fd, "1", 1) != 1) {
        /* the parent has gone; the stop pipe is closed too and ends what follows */
    }
    close(ready_fd);
    int status = sma_service_run(service, stop_fd);
    sma_service_destroy(service);
    return status;
}

static int start_own(const struct sma_service_options *options, struct own_service *own)
{
    int ready[2], stop[2];
    if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(stop, O_CLOEXEC) != 0)
        return sma_cli_fail("chat: cannot make a pipe: %s", strerror(errno));
    own->pid = fork();
    if (own->pid < 0)
        return sma_cli_fail("chat: cannot start a service: %s", strerror(errno));
    if (own->pid == 0) {
        close(ready[0]);
        close(stop[1]);
        (void)setpgid(0, 0); /* fails only for a session leader, which a fresh child is not */
        exit(serve(options, ready[1], stop[0]));
    }
    close(ready[1]);
    close(stop[0]);
    own->stop_fd = stop[1];
    char byte;
    ssize_t got;
    do
        got = read(ready[0], &byte, 1);
    while (got < 0 && errno == EINTR);
    close(ready[0]);
    if (got == 1)
        return 0;
    close(own->stop_fd);
    (void)waitpid(own->pid, NULL, 0); /* it has said why */
    return 1;
}

static void stop_own(struct own_service *own)
{
    close(own->stop_fd);
    while (waitpid(own->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* A service that holds the lock may not listen yet: it is given a moment. false: there is none, or
 * it does not listen. */
static bool await_socket(const char *state_dir, const char *socket_path)
{
    for (int tries = 0; tries < SOCKET_TRY_COUNT && sma_lock_is_held(state_dir); tries++) {
        int fd;
        if (sma_terminal_connect(socket_path, &fd, NULL) == SMA_ERR_OK) {
            close(fd);
            return true;
        }
        (void)poll(NULL, 0, SOCKET_TRY_MS);
    }
    return false;
}

/* attached: room for SMA_ATTACHMENT_COUNT_MAX */
static int parse_options(int argc, char **argv, struct sma_service_options *options,
                         struct sma_chat_options *chat, const char **attached)
{
    int option;
    while ((option = sma_cli_option(&sma_cli_command_chat, argc, argv)) != -1) {
        if (option == 'n')
            chat->chat = optarg;
        else if (option == 'o')
            options->overrides.provider = optarg;
        else if (option == 'P')
            chat->is_plain = true;
        else if (option == 'a' && chat->attach_count < SMA_ATTACHMENT_COUNT_MAX)
            attached[chat->attach_count++] = optarg;
        else if (option == 'a')
            return sma_cli_fail("chat: a message takes at most %d files", SMA_ATTACHMENT_COUNT_MAX);
        else
            return 1;
    }
    if (argc - optind > 1)
        return sma_cli_fail("chat: only one folder can be talked to; what is %s for?",
                            argv[optind + 1]);
    if (optind < argc)
        options->dir = argv[optind];
    if (chat->chat != NULL &&
        (chat->chat[0] == '\0' || strlen(chat->chat) > SMA_TERMINAL_CHAT_BYTES_MAX))
        return sma_cli_fail("chat: --name takes 1 to %d bytes", SMA_TERMINAL_CHAT_BYTES_MAX);
    return 0;
}

int sma_cli_chat(int argc, char **argv)
{
    struct sma_service_options options = {.dir = ".", .is_quiet = true};
    const char *attached[SMA_ATTACHMENT_COUNT_MAX];
    struct sma_chat_options chat = {.attach = attached};
    int status = parse_options(argc, argv, &options, &chat, attached);
    if (status != 0)
        return status;
    char dir[PATH_MAX], state_dir[PATH_MAX + 8], socket_path[PATH_MAX + 32];
    if (realpath(options.dir, dir) == NULL)
        return sma_cli_fail("%s: not a folder: %s", options.dir, strerror(errno));
    chat.project_dir = dir;
    snprintf(state_dir, sizeof state_dir, "%s/.ship", dir);
    snprintf(socket_path, sizeof socket_path, "%s/%s", state_dir, SMA_TERMINAL_SOCKET_NAME);
    struct own_service own = {0, -1};
    bool is_own = !await_socket(state_dir, socket_path) && !sma_lock_is_held(state_dir);
    if (is_own && (status = start_own(&options, &own)) != 0) {
        if (!await_socket(state_dir, socket_path))
            return status;
        is_own = false; /* another one was faster */
    }
    status = sma_chat_client(socket_path, &chat);
    if (is_own)
        stop_own(&own);
    return status;
}

static const struct sma_cli_command_option OPTIONS[] = {
    {"name", 'n', true, SMA_VALUE_TEXT, NULL, "NAME", "name of the conversation (default: main)"},
    {"provider", 'o', false, SMA_VALUE_PROVIDER, NULL, "NAME",
     "when a service has to be started: use this provider"},
    {"attach", 'a', true, SMA_VALUE_FILE, NULL, "FILE",
     "with the first message; again for more files"},
    {"plain", 'P', false, SMA_VALUE_NONE, NULL, NULL, NULL},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_chat = {
    .name = "chat",
    .run = sma_cli_chat,
    .place = "[FOLDER]",
    .summary = "talk to it in the terminal, or in a pipe",
    .usage = "shipmyagent chat [FOLDER] [options]\n",
    .options = OPTIONS,
    .text = "Talks to the running service of FOLDER, or starts one for the time of the chat.\n"
            "Ctrl-C stops the answer being written, a second one leaves. In a pipe, the whole "
            "input is one message:\n"
            "  echo 'What is in this folder?' | shipmyagent chat\n"
            "A picture, PDF or sound whose path is typed or dragged into the terminal goes with "
            "the message; what\n"
            "is nothing but dragged paths takes whatever they name. A file outside of FOLDER is "
            "copied to\n"
            ".ship/.cache/cli:\n"
            "  echo 'What is wrong on this page?' | shipmyagent chat --attach page.png\n",
    .first = SMA_VALUE_FOLDER,
};
