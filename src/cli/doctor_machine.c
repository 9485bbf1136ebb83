/*
 * doctor_machine.c — what the machine gives: walls around commands, the port, authorities to trust,
 * the time, and which libraries these are.
 */
#include "doctor_priv.h"

#include "port_holder.h"
#include "runtime/exec/exec_options.h"
#include "runtime/exec/sandbox.h"
#include "sma/sys.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* -- sandbox ----------------------------------------------------------------------------------- */
static bool exists(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat facts;
    return snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
           lstat(path, &facts) == 0;
}

/* Laying out the sandbox makes files that are missing. Here nothing is to be made, so a project
 * that was never started is not what it is tried on. */
static bool may_try_here(const struct sma_config *config)
{
    return exists(config->project_dir, ".env") && exists(config->project_dir, "ship.json") &&
           exists(config->state_dir, ".empty") &&
           (!exists(config->state_dir, ".cache") || exists(config->state_dir, ".cache/parts")) &&
           (!exists(config->project_dir, ".git") || exists(config->project_dir, ".git/commondir"));
}

static void remove_place(const char *dir)
{
    static const char *const names[] = {".ship/.empty", ".ship", ".env", "ship.json"};
    char path[PATH_MAX];
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        (void)snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        (void)remove(path); /* what is not there is as good as gone */
    }
    (void)rmdir(dir);
}

/* An empty project of its own; false: there is no room for one. */
static bool make_place(struct sma_config *config, char dir[PATH_MAX], char state_dir[PATH_MAX])
{
    const char *temporary = getenv("TMPDIR");
    (void)snprintf(dir, PATH_MAX, "%s/shipmyagent-doctor-XXXXXX",
                   temporary == NULL || temporary[0] != '/' ? "/tmp" : temporary);
    if (mkdtemp(dir) == NULL)
        return false;
    (void)snprintf(state_dir, PATH_MAX, "%s/.ship", dir);
    config->project_dir = dir;
    config->state_dir = state_dir;
    return mkdir(state_dir, 0700) == 0;
}

static SMA_CHECKED enum sma_err try_sandbox(const struct sma_config *config,
                                            const struct sma_exec_options *options,
                                            struct sma_sandbox *sandbox, bool *is_elsewhere,
                                            struct sma_error *error)
{
    char dir[PATH_MAX], state_dir[PATH_MAX];
    struct sma_config elsewhere = *config;
    *is_elsewhere = !may_try_here(config);
    if (!*is_elsewhere)
        return sma_sandbox_find(config, options, sandbox, error);
    enum sma_err err = make_place(&elsewhere, dir, state_dir)
                           ? sma_sandbox_find(&elsewhere, options, sandbox, error)
                           : sma_fail_os(error, errno, "%s cannot be made to try it in", dir);
    remove_place(dir);
    return err;
}

static const char *sandbox_remedy(const char *why)
{
    char text[32] = "";
    int fd = open("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!read(fd, text, sizeof text - 1);
        (void)close(fd);
    }
    if (strstr(why, "not installed") != NULL)
        return "apt install bubblewrap";
    if (text[0] == '1')
        return "this system keeps users from making namespaces (AppArmor): allow it for bwrap with "
               "a profile, or sysctl kernel.apparmor_restrict_unprivileged_userns=0";
    if (strstr(why, "NETLINK") != NULL)
        return "let the unit have AF_NETLINK (RestrictAddressFamilies): install the unit of this "
               "version";
    return "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1 and "
           "user.max_user_namespaces above 0; in a container, run it with --security-opt "
           "seccomp=unconfined or a profile that allows them";
}

static const char *const UNIT_FOLDERS[] = {"/etc/systemd/system", "/usr/local/lib/systemd/system",
                                           "/usr/lib/systemd/system", "/lib/systemd/system"};

/* Under the unit commands run as it restricts them, which nobody sees from here. What its file says
 * can be read. */
static void look_at_unit(struct doctor *doctor)
{
    for (size_t i = 0; i < SMA_COUNT_OF(UNIT_FOLDERS); i++) {
        char path[PATH_MAX];
        SMA_AUTO(sma_freep) char *text = NULL;
        size_t len;
        (void)snprintf(path, sizeof path, "%s/shipmyagent@.service", UNIT_FOLDERS[i]);
        if (sma_sys_read_file(sma_sys_real(), path, 65536, &text, &len, NULL) != SMA_ERR_OK)
            continue;
        const char *families = strstr(text, "\nRestrictAddressFamilies=");
        bool is_walled = families == NULL || strstr(families, "AF_NETLINK") != NULL;
        bool requires_one = strstr(text, "--sandbox require") != NULL;
        if (is_walled && requires_one)
            doctor_say(&doctor->report, SMA_PROBE_OK, "systemd unit", "",
                       "%s lets the sandbox work, and starts nothing without it", path);
        else
            doctor_say(&doctor->report, SMA_PROBE_WARNING, "systemd unit",
                       "install the unit of this version and run systemctl daemon-reload", "%s %s",
                       path,
                       is_walled ? "starts the service without a sandbox, too"
                                 : "keeps the sandbox from working (no AF_NETLINK)");
        return;
    }
}

static void say_sandbox(struct doctor *doctor, const struct sma_sandbox *sandbox, bool is_elsewhere)
{
    if (sandbox->is_on && sandbox->hole[0] != '\0')
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "sandbox",
                   "run the service as a user of its own, who may not write it", "%s",
                   sandbox->why);
    else if (sandbox->is_on && sandbox->is_blocked)
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "sandbox",
                   "take away what keeps it from starting: links and files .env* of the project's "
                   "folder, folders of permissions.exec_shell.paths",
                   "%s", sandbox->why);
    else if (sandbox->is_on)
        doctor_say(&doctor->report, sandbox->is_filtered ? SMA_PROBE_OK : SMA_PROBE_WARNING,
                   "sandbox", sandbox->is_filtered ? "" : "a newer bubblewrap or kernel has it",
                   "bubblewrap works%s%s", is_elsewhere ? " (tried in an empty folder)" : "",
                   sandbox->is_filtered ? "" : ", without a filter of system calls");
    else
        doctor_say(
            &doctor->report, SMA_PROBE_ERROR, "sandbox", sandbox_remedy(sandbox->why),
            "commands are NOT kept apart: %s. They can read what you can read, and reach the "
            "network",
            sandbox->why);
}

static void try_it(struct doctor *doctor, const struct sma_exec_options *options)
{
    struct sma_error error = {0};
    struct sma_sandbox sandbox = {0};
    bool is_elsewhere = false;
    enum sma_err err = try_sandbox(doctor->config, options, &sandbox, &is_elsewhere, &error);
    if (err == SMA_ERR_OK)
        say_sandbox(doctor, &sandbox, is_elsewhere);
    else
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "sandbox", sandbox_remedy(error.text), "%s",
                   error.text);
    if (sma_sandbox_refuse_links(doctor->config, &error) != SMA_ERR_OK)
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "sandbox",
                   "put the file itself there, in the place of the link", "%s", error.text);
}

void doctor_look_at_sandbox(struct doctor *doctor)
{
    struct sma_exec_options options;
    struct sma_error error = {0};
    const char *told = json_string_value(json_object_get(doctor->status, "sandbox"));
    if (doctor->config == NULL)
        return;
    if (sma_exec_options_parse(doctor->config->permissions_json, doctor->config->project_dir,
                               &options, &error) != SMA_ERR_OK) {
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "sandbox", "correct it", "ship.json: %s",
                   error.text);
        return;
    }
    if (!options.is_possible)
        doctor_say(&doctor->report, SMA_PROBE_OK, "sandbox", "",
                   "exec_shell is switched off: there are no commands");
    else if (told != NULL)
        doctor_say(&doctor->report, strcmp(told, "on") == 0 ? SMA_PROBE_OK : SMA_PROBE_ERROR,
                   "sandbox",
                   strcmp(told, "on") == 0 ? ""
                                           : "its first lines of log say why; stop it and run "
                                             "`shipmyagent doctor` again to have it tried",
                   "the running service says: %s", told);
    else if (options.mode == SMA_SANDBOX_OFF)
        doctor_say(&doctor->report, SMA_PROBE_WARNING, "sandbox",
                   "take permissions.exec_shell.sandbox out of ship.json, unless you mean it",
                   "switched off in ship.json: commands can read what you can read, and reach the "
                   "network");
    else
        try_it(doctor, &options);
    look_at_unit(doctor);
    sma_exec_options_fini(&options);
}

/* -- the port ---------------------------------------------------------------------------------- */
/* Bound as the service binds, and given back at once: nothing listens for an instant. @return 0 or
 * errno */
static int try_bind(const struct addrinfo *address)
{
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, problem = 0;
    if (fd < 0)
        return errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0)
        problem = errno;
    (void)close(fd);
    return problem;
}

static void say_port(struct doctor *doctor, const char *host, int port, int problem)
{
    char holder[SMA_PORT_HOLDER_BYTES_MAX];
    if (problem == 0) {
        doctor_say(&doctor->report, SMA_PROBE_OK, "port", "", "%d on %s is free", port, host);
        return;
    }
    if (problem != EADDRINUSE) {
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "port",
                   problem == EACCES ? "choose one above 1023: start.port in ship.json"
                                     : "correct start.host in ship.json",
                   "%s:%d cannot be listened on: %s", host, port, strerror(problem));
        return;
    }
    sma_port_holder(port, holder);
    doctor_say(&doctor->report, SMA_PROBE_ERROR, "port",
               "stop it, or set start.port in ship.json to another one (0: any that is free)",
               "%d on %s is taken by %s", port, host, holder);
}

void doctor_look_at_port(struct doctor *doctor)
{
    char port[16];
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
                    *list = NULL;
    if (doctor->config == NULL)
        return;
    const char *host = doctor->config->start_host;
    int number = doctor->config->start_port;
    if (doctor->is_running) {
        doctor_say(&doctor->report, SMA_PROBE_OK, "port", "",
                   "the service of this project listens at %s", doctor->api.base);
        return;
    }
    if (number == 0) {
        doctor_say(&doctor->report, SMA_PROBE_OK, "port", "", "any that is free (start.port is 0)");
        return;
    }
    (void)snprintf(port, sizeof port, "%d", number);
    int failed =
        getaddrinfo(strcasecmp(host, "localhost") == 0 ? "127.0.0.1" : host, port, &hints, &list);
    if (failed != 0 || list == NULL) {
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "port", "correct start.host in ship.json",
                   "%s is not an address of this machine: %s", host, gai_strerror(failed));
        return;
    }
    say_port(doctor, host, number, try_bind(list));
    freeaddrinfo(list);
}

/* -- whom we trust ----------------------------------------------------------------------------- */
bool doctor_wants_tls(const struct sma_config *config)
{
    bool wants = false;
    for (size_t i = 0; i < config->llm_target_count && !wants; i++)
        wants = strncasecmp(config->llm_targets[i]->base_url, "https://", 8) == 0;
    for (size_t i = 0; i < config->adapter_count && !wants; i++)
        wants = config->adapters[i].is_enabled && strcmp(config->adapters[i].name, "http") != 0 &&
                strcmp(config->adapters[i].name, "terminal") != 0;
    return wants;
}

const char *doctor_trust_trouble(char *room, size_t size, const char **ret_remedy)
{
    const char *file = getenv("SSL_CERT_FILE"), *dir = getenv("SSL_CERT_DIR");
    bool has_file = file != NULL && file[0] != '\0';
    if (dir == NULL || dir[0] == '\0')
        dir = curl_version_info(CURLVERSION_NOW)->capath;
    *ret_remedy = "";
    if (has_file && access(file, R_OK) != 0) {
        (void)snprintf(room, size, "SSL_CERT_FILE names %s, which cannot be read: %s", file,
                       strerror(errno));
        *ret_remedy =
            "correct the variable, or unset it: nothing on https:// is reached until then";
        return room;
    }
    if (has_file || dir == NULL || access(dir, R_OK) == 0)
        return NULL;
    (void)snprintf(room, size, "there are no certificate authorities in %s", dir);
    *ret_remedy = "apt install ca-certificates: nothing on https:// is reached without them";
    return room;
}

void doctor_look_at_certificates(struct doctor *doctor)
{
    char text[PATH_MAX + 128];
    const char *remedy;
    if (doctor->config == NULL || !doctor_wants_tls(doctor->config))
        return;
    const char *trouble = doctor_trust_trouble(text, sizeof text, &remedy);
    if (trouble != NULL)
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "certificates", remedy, "%s", trouble);
    else
        doctor_say(&doctor->report, SMA_PROBE_OK, "certificates", "",
                   "there are authorities to trust");
}

/* -- time and versions ------------------------------------------------------------------------- */
#define TIME_LEAST 1735689600 /* 2025: this program is younger */

bool doctor_is_clock_unset(void)
{
    return time(NULL) < TIME_LEAST;
}

void doctor_look_at_clock(struct doctor *doctor)
{
    if (doctor_is_clock_unset())
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "clock",
                   "set it: timedatectl set-ntp true, or date -s", "it says a year before 2025");
}

void doctor_look_at_versions(struct doctor *doctor)
{
    const curl_version_info_data *curl = curl_version_info(CURLVERSION_NOW);
    doctor_say(&doctor->report, SMA_PROBE_OK, "versions", "", "shipmyagent %s, libcurl %s, %s",
               SMA_VERSION, curl->version,
               curl->ssl_version == NULL ? "no TLS" : curl->ssl_version);
}
