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
    int log_fd;  /* what it says: the terminal may have a live part that it must not write into */
    const struct sma_service_options *options;
    const char *state_dir;
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

/* Let it end, and pass on what it still says. A process that outlives it may hold the other end. */
static void stop_own(struct own_service *own)
{
    char bytes[4096];
    bool is_over = own->pid <= 0;
    if (is_over)
        return;
    close(own->stop_fd);
    for (ssize_t len = 0; !is_over || len > 0;) {
        struct pollfd ready = {.fd = own->log_fd, .events = POLLIN};
        is_over = is_over || waitpid(own->pid, NULL, WNOHANG) != 0;
        bool has_some = poll(&ready, 1, is_over ? 0 : SOCKET_TRY_MS) == 1;
        len = has_some ? read(own->log_fd, bytes, sizeof bytes) : 0;
        if (len > 0)
            fprintf(stderr, "%.*s", (int)len, bytes);
        if (has_some && len == 0 && !is_over) { /* it has closed it and is about to end */
            (void)waitpid(own->pid, NULL, 0);
            is_over = true;
        }
    }
    close(own->log_fd);
    *own = (struct own_service){
        .stop_fd = -1, .log_fd = -1, .options = own->options, .state_dir = own->state_dir};
}

static int start_own(const struct sma_service_options *options, struct own_service *own)
{
    int ready[2], stop[2], log[2];
    if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(stop, O_CLOEXEC) != 0 || pipe2(log, O_CLOEXEC) != 0)
        return sma_cli_fail("chat: cannot make a pipe: %s", strerror(errno));
    own->pid = fork();
    if (own->pid < 0)
        return sma_cli_fail("chat: cannot start a service: %s", strerror(errno));
    if (own->pid == 0) {
        close(ready[0]);
        close(stop[1]);
        close(log[0]);
        (void)dup2(log[1], STDERR_FILENO); /* fails only for descriptors that are not there */
        close(log[1]);
        (void)setpgid(0, 0); /* fails only for a session leader, which a fresh child is not */
        exit(serve(options, ready[1], stop[0]));
    }
    close(ready[1]);
    close(stop[0]);
    close(log[1]);
    own->stop_fd = stop[1];
    own->log_fd = log[0];
    char byte;
    ssize_t got;
    do
        got = read(ready[0], &byte, 1);
    while (got < 0 && errno == EINTR);
    close(ready[0]);
    if (got == 1)
        return 0;
    stop_own(own); /* it has said why */
    return 1;
}

/* For a chat whose service nobody answers for any more. */
static bool revive(void *user)
{
    struct own_service *own = user;
    stop_own(own);
    /* held: somebody else has started one, which is about to listen */
    return sma_lock_is_held(own->state_dir) || start_own(own->options, own) == 0;
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
    struct own_service own = {
        .stop_fd = -1, .log_fd = -1, .options = &options, .state_dir = state_dir};
    bool is_own = !await_socket(state_dir, socket_path) && !sma_lock_is_held(state_dir);
    if (is_own && (status = start_own(&options, &own)) != 0) {
        if (!await_socket(state_dir, socket_path))
            return status;
        is_own = false; /* another one was faster */
    }
    chat.log_fd = is_own ? &own.log_fd : NULL;
    chat.revive = is_own ? revive : NULL;
    chat.revive_user = &own;
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
            "Enter sends; Alt-Enter, Shift-Enter (where the terminal tells it), or \\ and Enter, "
            "begin a new line;\n"
            "what is pasted is one message. Up and Ctrl-R find lines of before "
            "(.ship/chat-history; a line that\n"
            "begins with a blank is not kept). A question is answered by the key shown with it.\n"
            "Ctrl-C clears the line; on an empty line it stops the answer being written, and a "
            "second one leaves,\n"
            "as /exit, /quit and Ctrl-D do. When the service restarts the chat connects again and "
            "sends what was\n"
            "written meanwhile. NO_COLOR: answers as the model wrote them; TERM=dumb, --plain: no "
            "escape sequences.\n"
            "In a pipe, the whole input is one message:\n"
            "  echo 'What is in this folder?' | shipmyagent chat\n"
            "A picture, PDF or sound whose path is typed or dragged into the terminal goes with "
            "the message; what\n"
            "is nothing but dragged paths takes whatever they name. A file outside of FOLDER is "
            "copied to\n"
            ".ship/.cache/cli:\n"
            "  echo 'What is wrong on this page?' | shipmyagent chat --attach page.png\n",
    .first = SMA_VALUE_FOLDER,
};
