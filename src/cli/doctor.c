/*
 * doctor.c — `shipmyagent doctor`: look at everything that has to be right, and say what is not,
 * with its remedy.
 *
 * It changes nothing: see doctor_priv.h. What start runs of it is at the end.
 */
#include "doctor.h"

#include "cli.h"
#include "commands.h"
#include "doctor_priv.h"
#include "runtime/secrets/secrets.h"

#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>

#define EXIT_WARNINGS 2

static void look_at_all(struct doctor *doctor, bool is_offline)
{
    doctor_look_at_project(doctor);
    doctor_look_at_service(doctor);
    doctor_look_at_files(doctor);
    doctor_look_for_left(doctor);
    doctor_look_at_disk(doctor);
    doctor_look_at_port(doctor);
    doctor_look_at_sandbox(doctor);
    doctor_look_at_walls(doctor);
    doctor_look_at_helpers(doctor);
    doctor_look_at_programs(doctor);
    doctor_look_at_skills(doctor);
    doctor_look_at_memory(doctor);
    doctor_look_at_owner(doctor);
    doctor_look_at_clock(doctor);
    doctor_look_at_certificates(doctor);
    doctor_look_at_adapters(doctor);
    if (is_offline)
        doctor_look_at_keys(doctor);
    else
        doctor_look_at_network(doctor);
    doctor_look_at_versions(doctor);
}

static int finish(struct doctor *doctor, bool is_json)
{
    struct sma_secrets *secrets = NULL;
    int status = doctor_count(&doctor->report, SMA_PROBE_ERROR) > 0     ? 1
                 : doctor_count(&doctor->report, SMA_PROBE_WARNING) > 0 ? EXIT_WARNINGS
                                                                        : 0;
    if (doctor->config != NULL && sma_secrets_create(doctor->config, &secrets) != SMA_ERR_OK) {
        status = sma_cli_fail("doctor: out of memory"); /* nothing is shown that may hold one */
    } else {
        doctor_print(&doctor->report, secrets, is_json);
    }
    sma_secrets_destroy(secrets);
    doctor_report_fini(&doctor->report);
    json_decref(doctor->status);
    explicit_bzero(&doctor->api, sizeof doctor->api);
    sma_config_destroy(doctor->config);
    return status;
}

int sma_cli_doctor(int argc, char **argv)
{
    struct doctor doctor = {.folder = "."};
    bool is_json = false, is_offline = false;
    int option;
    while ((option = sma_cli_option(&sma_cli_command_doctor, argc, argv)) != -1) {
        if (option == '?')
            return 1;
        is_json = is_json || option == 'j';
        is_offline = is_offline || option == 'o';
    }
    if (argc - optind > 1)
        return sma_cli_fail("doctor: only one folder can be looked at; what is %s for?",
                            argv[optind + 1]);
    if (optind < argc)
        doctor.folder = argv[optind];
    look_at_all(&doctor, is_offline);
    return finish(&doctor, is_json);
}

/* -- at every start ---------------------------------------------------------------------------- */
void sma_doctor_at_start(const struct sma_config *config, sma_config_warn_fn *warn, void *user)
{
    char text[PATH_MAX + 128], line[sizeof text + 512];
    const char *remedy = "", *word = "", *trouble = NULL;
    struct doctor_disk disk;
    if (doctor_wants_tls(config))
        trouble = doctor_trust_trouble(text, sizeof text, &remedy);
    if (trouble != NULL) {
        (void)snprintf(line, sizeof line, "%s; %s", trouble, remedy);
        warn(user, line);
    }
    if (doctor_is_clock_unset())
        warn(user, "the clock of this machine says a year before 2025: set it, or certificates "
                   "are refused and nothing expires in time");
    if (doctor_read_disk(config->project_dir, &disk) && !doctor_is_disk_told(&disk) &&
        doctor_judge_disk(&disk, &remedy, &word) != SMA_PROBE_OK) {
        (void)snprintf(line, sizeof line, "%llu MB are free on the disk of %s: %s; %s",
                       (unsigned long long)(disk.free_bytes / 1000000), config->project_dir, word,
                       remedy);
        warn(user, line);
    }
}

static const struct sma_cli_command_option OPTIONS[] = {
    {"json", 'j', false, SMA_VALUE_NONE, NULL, NULL,
     "one object: version, errors, warnings, lines of state, name, seen, remedy"},
    {"offline", 'o', false, SMA_VALUE_NONE, NULL, NULL,
     "ask nobody: no request to a provider or a platform"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_doctor = {
    .name = "doctor",
    .run = sma_cli_doctor,
    .place = "[FOLDER]",
    .summary = "look for what is wrong, and say what to do about it",
    .usage = "shipmyagent doctor [FOLDER] [--json] [--offline]\n",
    .options = OPTIONS,
    .text =
        "Looks at the configuration, the keys and models (one short question each), the bots and\n"
        "their rights, the clock, certificates and proxies, the disk, file modes, the sandbox, "
        "the\n"
        "port, the owner, the helper programs, skills, old files, and what a running service "
        "says.\n"
        "Each line is ok, warning or error, with what to do about it.\n"
        "Changes nothing: a service that runs goes on, no message is taken from it.\n"
        "Exit status 0: all is well; 1: there are errors; 2: there are warnings alone.\n",
    .first = SMA_VALUE_FOLDER,
};
