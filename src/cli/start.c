/*
 * start.c — `shipmyagent start`: serve one project until told to stop.
 */
#include "cli.h"

#include "commands.h"
#include "doctor.h"
#include "port_holder.h"
#include "service.h"
#include "sma/text.h"

#include <getopt.h>
#include <stdio.h>

static int parse_port(const char *text, int *ret_port)
{
    int64_t port;
    if (sma_parse_i64(sma_str(text), 0, 65535, &port) != SMA_ERR_OK)
        return sma_cli_fail("start: port %s is not a number from 0 (any free port) to 65535", text);
    *ret_port = port == 0 ? -1 : (int)port;
    return 0;
}

/* Old scripts give these. The page is on the port of the API: their form is checked, and said. */
static int check_interactive(int option, const char *text)
{
    bool is_wanted = true;
    int port;
    if (option == 'w' && text != NULL && !sma_cli_parse_bool(text, &is_wanted))
        return sma_cli_fail("start: --interactive-web takes true or false, not %s", text);
    if (option == 'i' && parse_port(text, &port) != 0)
        return 1;
    if (is_wanted)
        fprintf(stderr, "shipmyagent: found --interactive-%s, which this version does not use\n",
                option == 'w' ? "web" : "port");
    return 0;
}

static int parse_sandbox(const char *text, struct sma_service_options *options)
{
    if (strcmp(text, "auto") != 0 && strcmp(text, "require") != 0)
        return sma_cli_fail("start: --sandbox takes auto or require, not %s", text);
    options->overrides.sandbox = text;
    return 0;
}

static int parse_options(int argc, char **argv, struct sma_service_options *options)
{
    int option;
    while ((option = sma_cli_option(&sma_cli_command_start, argc, argv)) != -1) {
        int status = 0;
        bool value; /* `--interactive-web false`: it stands as an argument of its own */
        if (option == 'w' && optarg == NULL && optind < argc &&
            sma_cli_parse_bool(argv[optind], &value))
            optarg = argv[optind++];
        if (option == 'p')
            status = parse_port(optarg, &options->overrides.port);
        else if (option == 'h')
            options->overrides.host = optarg;
        else if (option == 'o')
            options->overrides.provider = optarg;
        else if (option == 's')
            status = parse_sandbox(optarg, options);
        else if (option == 'w' || option == 'i')
            status = check_interactive(option, optarg);
        else
            status = 1;
        if (status != 0)
            return status;
    }
    if (argc - optind > 1)
        return sma_cli_fail("start: only one folder can be served; what is %s for?",
                            argv[optind + 1]);
    if (optind < argc)
        options->dir = argv[optind];
    return 0;
}

static void warn_on_stderr(void *user, const char *line)
{
    (void)user;
    (void)sma_cli_fail("%s", line);
}

static int fail(const struct sma_error *error, const char *dir)
{
    (void)sma_cli_fail("%s", error->text);
    return sma_cli_fail("`shipmyagent doctor %s` looks at all that a start needs", dir);
}

/* What the adapter knows of a port that is taken, and who has it. */
static int fail_at_port(const struct sma_error *error, const char *dir, int port)
{
    char holder[SMA_PORT_HOLDER_BYTES_MAX];
    sma_port_holder(port, holder);
    (void)sma_cli_fail("%s", error->text);
    return sma_cli_fail("it is %s; `shipmyagent doctor %s` looks at all that a start needs", holder,
                        dir);
}

int sma_cli_start(int argc, char **argv)
{
    struct sma_service_options options = {.dir = ".", .has_http = true};
    int status = parse_options(argc, argv, &options);
    if (status != 0)
        return status;
    struct sma_error error;
    struct sma_service *service = NULL;
    enum sma_err err = sma_service_create(&options, &service, &error);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_BUSY ? sma_cli_fail("%s", error.text) : fail(&error, options.dir);
    const struct sma_config *config = sma_service_config(service);
    printf("shipmyagent %s  %s  (%s, %s)\n", SMA_VERSION, config->project_dir, config->llm.provider,
           config->llm.model);
    fflush(stdout);
    sma_doctor_at_start(config, warn_on_stderr, NULL);
    int port = config->start_port;
    err = sma_service_start(service, &error);
    if (err != SMA_ERR_OK) {
        sma_service_destroy(service);
        if (err == SMA_ERR_BUSY && port != 0)
            return fail_at_port(&error, options.dir, port);
        return fail(&error, options.dir);
    }
    status = sma_service_run(service, -1);
    sma_service_destroy(service);
    return status;
}

static const struct sma_cli_command_option OPTIONS[] = {
    {"port", 'p', true, SMA_VALUE_TEXT, NULL, "PORT",
     "HTTP port (default: start.port of ship.json, else 3000; 0 = any free one)"},
    {"host", 'h', true, SMA_VALUE_TEXT, NULL, "HOST",
     "address to listen on (default: start.host, else 127.0.0.1);\n"
     "on any other than loopback put a TLS proxy in front"},
    {"provider", 'o', false, SMA_VALUE_PROVIDER, NULL, "NAME",
     "use this provider instead of llm.provider (e.g. offline)"},
    {"sandbox", 's', false, SMA_VALUE_WORDS, "auto|require", NULL,
     "how commands run where ship.json does not say (permissions.exec_shell.sandbox);\n"
     "require: no start without a working sandbox (default: auto)"},
    {"interactive-web", 'w', false, SMA_VALUE_BOOL, "true|false", "BOOL",
     "accepted for old scripts; the page is always there: `shipmyagent page`"},
    {"interactive-port", 'i', false, SMA_VALUE_TEXT, NULL, "PORT", "likewise"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_start = {
    .name = "start",
    .run = sma_cli_start,
    .place = "[FOLDER]",
    .summary = "serve the project in FOLDER (default: this folder)",
    .usage = "shipmyagent [start] [FOLDER] [options]\n",
    .options = OPTIONS,
    .text = "Serves the project until SIGTERM or Ctrl-C, and stops in order: nothing accepted is "
            "lost.\n"
            "SIGHUP re-reads the configuration. A second process on the same project is refused.\n"
            "What ship.json says in permissions.exec_shell.sandbox stands above --sandbox.\n",
    .first = SMA_VALUE_FOLDER,
};
