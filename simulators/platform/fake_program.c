/*
 * fake_program.c — see fake_program.h.
 */
#include "platform/fake_program.h"

#include "play/play.h"

#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define LOOK_MS 100
#define LINE_BYTES_MAX 16384
#define PATIENCE_MS 20000

int fake_program_end_fd(void)
{
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, NULL); /* threads that begin later inherit it */
    signal(SIGPIPE, SIG_IGN);
    return signalfd(-1, &ends, SFD_CLOEXEC);
}

/* -- what it says ----------------------------------------------------------------------------- */
static void print_usage(const struct fake_program *program)
{
    printf(
        "shipmyagent simulate %s [--port N] [--talk]\n"
        "shipmyagent simulate %s --play FILE [--project FOLDER] [--case NAME] [--patience S]\n"
        "A simulated %s on 127.0.0.1: as strict as the platform, and it misbehaves on demand.\n"
        "      --port N   listen there (default: any free port; the first line says which)\n"
        "      --talk     each line you type is said to the bot, and what it says is shown;\n"
        "                 !LABEL presses the button LABEL of its newest message\n"
        "      --play FILE       play a script of what people say and must see, on a service of\n"
        "                        its own, and end: 0 = all of it came true (docs/notes/talks.md)\n"
        "      --project FOLDER  with a copy of this project's configuration, without its people,\n"
        "                        secrets and addresses\n"
        "      --case NAME       only the cases whose names hold this\n"
        "      --patience S      how long each wait may take (default: 20)\n"
        "It is told what people do and what goes wrong by POST /control: a JSON object with a\n"
        "member \"do\". Members in [] may be left out:\n\n%s",
        program->name, program->name, program->name, program->commands);
}

static void print_with_port(const char *text, int port)
{
    for (; *text != '\0'; text++)
        if (*text == '@')
            printf("http://127.0.0.1:%d", port);
        else
            putchar(*text);
}

static void print_guide(const struct fake_program *program, int port)
{
    printf("PORT %d\n", port);
    fflush(stdout); /* a test reads no further */
    printf("\nFor the bot, in ship.json:\n  \"adapters\": { ");
    print_with_port(program->ship_json, port);
    printf(" }\nand in .env:\n%s\n", program->env);
    json_t *say = json_loads(program->person, 0, NULL);
    json_object_update_new(say, json_pack("{s:s,s:s}", "do", "say", "text", "Hello!"));
    char *text = json_dumps(say, JSON_COMPACT | JSON_PRESERVE_ORDER);
    printf("Somebody writes to it:\n  curl -s http://127.0.0.1:%d/control -d '%s'\n\n", port, text);
    free(text);
    json_decref(say);
    fflush(stdout);
}

/* -- commands of its own ---------------------------------------------------------------------- */
struct talk
{
    const struct fake_program *program;
    struct platform_client client;
    json_t *shown;  /* id of a message of the bot: its text as shown last */
    json_t *newest; /* id of the newest of them with buttons; NULL: none yet */
    char line[LINE_BYTES_MAX];
    size_t len;
};

/* What the person does. @return the answer, decref it */
static json_t *act(const struct talk *talk, const char *what, json_t *members)
{
    json_t *command = json_loads(talk->program->person, 0, NULL);
    json_object_set_new(command, "do", json_string(what));
    json_object_update_new(command, members);
    json_t *answer = talk->client.run(talk->client.fake, command);
    const char *error = platform_text(answer, "error", NULL);
    if (error != NULL)
        printf("(%s)\n", error);
    return answer;
}

static void show_buttons(const json_t *message)
{
    const json_t *buttons = json_object_get(message, "buttons");
    for (size_t i = 0; i < json_array_size(buttons); i++) {
        const json_t *button = json_array_get(buttons, i);
        printf("  !%s", platform_text(button, "text", platform_text(button, "label", "")));
    }
    if (json_array_size(buttons) > 0)
        printf("\n");
}

/* What the bot has said or changed since the last look. */
static void look(struct talk *talk)
{
    json_t *list = act(talk, "list", json_object());
    const json_t *messages = json_object_get(list, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i);
        const char *text = platform_text(message, "text", "");
        char *id = json_dumps(json_object_get(message, "id"), JSON_ENCODE_ANY);
        const json_t *before = json_object_get(talk->shown, id);
        if (platform_flag(message, "is_ours", false) &&
            (before == NULL || strcmp(json_string_value(before), text) != 0)) {
            printf("bot%s> %s\n", before == NULL ? "" : " (changed)", text);
            show_buttons(message);
            json_object_set_new(talk->shown, id, json_string(text));
            if (json_array_size(json_object_get(message, "buttons")) > 0) {
                json_decref(talk->newest);
                talk->newest = json_incref(json_object_get(message, "id"));
            }
        }
        free(id);
    }
    fflush(stdout);
    json_decref(list);
}

static void take_line(const struct talk *talk, const char *line)
{
    if (line[0] == '!' && talk->newest != NULL)
        json_decref(act(talk, "press",
                        json_pack("{s:O,s:s}", "message_id", talk->newest, "button", line + 1)));
    else if (line[0] != '\0')
        json_decref(act(talk, "say", json_pack("{s:s}", "text", line)));
}

/* @return false: the end of the input */
static bool take_input(struct talk *talk)
{
    SMA_ASSERT(talk->len < sizeof talk->line - 1);
    ssize_t count = read(STDIN_FILENO, talk->line + talk->len, sizeof talk->line - 1 - talk->len);
    if (count <= 0)
        return false;
    talk->len += (size_t)count;
    talk->line[talk->len] = '\0';
    char *start = talk->line;
    for (char *end; (end = strchr(start, '\n')) != NULL; start = end + 1) {
        *end = '\0';
        take_line(talk, start);
    }
    talk->len = strlen(start);
    memmove(talk->line, start, talk->len + 1);
    return talk->len < sizeof talk->line - 1; /* a line longer than any message */
}

static void talk_until_end(const struct fake_program *program, struct platform_client client,
                           int end_fd)
{
    struct talk talk = {.program = program, .client = client, .shown = json_object()};
    struct pollfd waits[2] = {{end_fd, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    nfds_t wait_count = 2;
    while (poll(waits, wait_count, LOOK_MS) >= 0 && waits[0].revents == 0) {
        if (wait_count == 2 && waits[1].revents != 0 && !take_input(&talk))
            wait_count = 1; /* what the bot still says is shown until the program is ended */
        look(&talk);
    }
    json_decref(talk.shown);
    json_decref(talk.newest);
}

/* What the words of the command line ask for. */
struct wishes
{
    struct play_options play; /* play.script NULL: serve */
    int port;
    bool is_talk;
};
static bool read_number(const char *text, long max, long *ret)
{
    char *end = NULL;
    *ret = strtol(text, &end, 10);
    return end != text && *end == '\0' && *ret >= 0 && *ret <= max;
}

/* @return false: they are wrong, or the usage was wanted: *ret_status */
static bool read_wishes(int argc, char **argv, const struct fake_program *program,
                        struct wishes *wishes, int *ret_status)
{
    static const struct option options[] = {{"port", required_argument, NULL, 'p'},
                                            {"talk", no_argument, NULL, 't'},
                                            {"help", no_argument, NULL, 'h'},
                                            {"play", required_argument, NULL, 'P'},
                                            {"project", required_argument, NULL, 'F'},
                                            {"case", required_argument, NULL, 'c'},
                                            {"patience", required_argument, NULL, 's'},
                                            {"program", required_argument, NULL, 'x'},
                                            {NULL, 0, NULL, 0}};
    bool is_right = true;
    for (int option; (option = getopt_long(argc, argv, "p:th", options, NULL)) != -1;) {
        long number = 0;
        if (option == 'p') {
            is_right &= read_number(optarg, 65535, &number);
            wishes->port = (int)number;
        } else if (option == 's') {
            is_right &= read_number(optarg, 3600, &number);
            wishes->play.patience_ms = number * 1000;
        } else if (option == 't') {
            wishes->is_talk = true;
        } else if (option == 'P') {
            wishes->play.script = optarg;
        } else if (option == 'F') {
            wishes->play.project = optarg;
        } else if (option == 'c') {
            wishes->play.only = optarg;
        } else if (option == 'x') {
            wishes->play.program = optarg;
        } else {
            print_usage(program);
            *ret_status = option == 'h' ? 0 : 2;
            return false;
        }
    }
    *ret_status = 2;
    if (!is_right || optind < argc)
        fprintf(stderr, "%s: see --help\n", argv[0]);
    else if (wishes->play.script != NULL && wishes->play.program == NULL)
        fprintf(stderr, "%s: --play is an option of `shipmyagent simulate`\n", argv[0]);
    else
        return true;
    return false;
}

int fake_program_main(int argc, char **argv, const struct fake_program *program)
{
    struct wishes wishes = {.play = {.patience_ms = PATIENCE_MS}};
    int status;
    if (!read_wishes(argc, argv, program, &wishes, &status))
        return status;
    if (wishes.play.script != NULL) {
        signal(SIGPIPE, SIG_IGN);
        return play_script(program, &wishes.play);
    }
    int end_fd = fake_program_end_fd();
    void *fake = program->start(wishes.port);
    struct platform_client client = program->client(fake);
    for (size_t i = 0; program->people[i] != NULL; i++)
        json_decref(client.run(client.fake, json_loads(program->people[i], 0, NULL)));
    print_guide(program, client.port);
    if (wishes.is_talk) {
        talk_until_end(program, client, end_fd);
    } else {
        struct pollfd wait = {end_fd, POLLIN, 0};
        (void)poll(&wait, 1, -1);
    }
    program->stop(fake);
    close(end_fd);
    return 0;
}
