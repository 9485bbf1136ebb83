/*
 * doctor_service.c — what the running service says is wrong; and who is owner, which the service
 * tells, or state.db of a stopped one.
 *
 * state.db is read as it lies there: no lock, no file beside it is made. What the last service had
 * not yet moved into it (state.db-wal) is not seen then.
 */
#include "doctor_priv.h"

#include "adapters.h"
#include "runtime/access/roles.h"
#include "sma/clock.h"

#include <jansson.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define BUSY_MS 1000

/* -- the running service ----------------------------------------------------------------------- */
static json_t *ask(struct doctor *doctor, const char *path)
{
    struct sma_buf answer;
    json_t *root = NULL;
    long status = 0;
    sma_buf_init(&answer, SMA_CLI_ANSWER_BYTES_MAX);
    if (sma_cli_api_call(&doctor->api, "doctor", path, NULL, &answer, &status) == 0 &&
        status == 200 && answer.len > 0)
        root = json_loadb(answer.ptr, answer.len, 0, NULL);
    sma_buf_fini(&answer);
    return root;
}

static void say_reasons(struct doctor *doctor)
{
    const json_t *reasons = json_object_get(doctor->status, "degraded");
    const json_t *trouble = json_object_get(json_object_get(doctor->status, "store"), "trouble");
    const char *part;
    json_t *line;
    for (size_t i = 0; i < json_array_size(reasons); i++) {
        const char *text = json_string_value(json_array_get(reasons, i));
        if (text != NULL && strstr(text, "store.trouble") == NULL) /* those follow */
            doctor_say(&doctor->report, SMA_PROBE_ERROR, "service",
                       "see `shipmyagent status` and its log", "%s", text);
    }
    json_object_foreach((json_t *)trouble, part, line)
    {
        char name[SMA_PROBE_NAME_BYTES_MAX];
        (void)snprintf(name, sizeof name, "service %s", part);
        if (json_is_string(line))
            doctor_say(&doctor->report, SMA_PROBE_ERROR, name, "", "%s", json_string_value(line));
    }
}

static void say_links(struct doctor *doctor)
{
    const char *name;
    json_t *link;
    json_object_foreach(json_object_get(doctor->status, "platforms"), name, link)
    {
        const char *why =
            json_string_value(json_object_get(json_object_get(link, "lastError"), "text"));
        char line[SMA_PROBE_NAME_BYTES_MAX];
        (void)snprintf(line, sizeof line, "service %s", name);
        if (json_is_false(json_object_get(link, "connected")))
            doctor_say(&doctor->report, SMA_PROBE_ERROR, line,
                       "the lines of this platform below say what to do; it connects again by "
                       "itself",
                       "the service is not connected%s%s", why == NULL ? "" : ": ",
                       why == NULL ? "" : why);
    }
}

/* Tools that no model is offered: what does not work is missed otherwise, not seen. */
static void say_servers(struct doctor *doctor)
{
    const char *name;
    json_t *server;
    json_object_foreach(json_object_get(doctor->status, "mcp"), name, server)
    {
        long long count = (long long)json_integer_value(json_object_get(server, "leftOut"));
        const char *names = json_string_value(json_object_get(server, "leftOutNames"));
        char line[SMA_PROBE_NAME_BYTES_MAX];
        (void)snprintf(line, sizeof line, "mcp %s", name);
        if (count > 0)
            doctor_say(&doctor->report, SMA_PROBE_WARNING, line,
                       "the others are offered; tell who makes the server (docs/mcp.md)",
                       "%lld of what it lists cannot be offered%s%s", count,
                       names == NULL ? "" : ": ", names == NULL ? "" : names);
    }
}

void doctor_look_at_service(struct doctor *doctor)
{
    const char *folder = doctor->config != NULL ? doctor->config->project_dir : doctor->folder;
    int found = sma_cli_api_open("doctor", folder, &doctor->api);
    doctor->is_running = found == 0;
    if (found == SMA_CLI_NOT_RUNNING)
        doctor_say(&doctor->report, SMA_PROBE_OK, "service", "", "not running");
    else if (found != 0)
        doctor_say(&doctor->report, SMA_PROBE_WARNING, "service",
                   "run this as the user who runs the service", "it cannot be asked");
    if (found != 0)
        return;
    doctor->api.wait_ms = (long)sma_clock_wait_ms(SMA_PROBE_MS);
    doctor->status = ask(doctor, "/api/status");
    if (doctor->status == NULL) {
        doctor_say(&doctor->report, SMA_PROBE_ERROR, "service",
                   "look at its log; a restart costs no message",
                   "it runs at %s and does not tell its status", doctor->api.base);
        return;
    }
    size_t before = doctor->report.count;
    say_reasons(doctor);
    say_links(doctor);
    say_servers(doctor);
    if (doctor->report.count == before)
        doctor_say(&doctor->report, SMA_PROBE_OK, "service", "", "runs at %s, nothing is wrong",
                   doctor->api.base);
}

/* -- the owner --------------------------------------------------------------------------------- */
static bool is_owner(const json_t *person, const char *member)
{
    const char *role = json_string_value(json_object_get(person, member));
    return role != NULL && strcmp(role, "owner") == 0;
}

enum known
{
    NOBODY,
    SOMEBODY,
    UNKNOWN,
};

static enum known ask_service(struct doctor *doctor)
{
    /* one that did not answer the first question is not waited for again */
    json_t *root = doctor->status == NULL ? NULL : ask(doctor, "/api/pairings");
    const json_t *people = json_object_get(root, "people");
    enum known known = root == NULL ? UNKNOWN : NOBODY;
    for (size_t i = 0; i < json_array_size(people); i++)
        if (is_owner(json_array_get(people, i), "role"))
            known = SOMEBODY;
    json_decref(root);
    return known;
}

static enum known read_people(sqlite3 *db)
{
    sqlite3_stmt *rows = NULL;
    enum known known = UNKNOWN;
    if (sqlite3_prepare_v2(db,
                           "SELECT value FROM access WHERE key >= 'person/' AND key < 'person0'",
                           -1, &rows, NULL) == SQLITE_OK) {
        int step;
        known = NOBODY;
        while (known == NOBODY && (step = sqlite3_step(rows)) == SQLITE_ROW) {
            json_t *root = json_loads((const char *)sqlite3_column_text(rows, 0), 0, NULL);
            known = is_owner(root, "standing") ? SOMEBODY : NOBODY;
            json_decref(root);
        }
    }
    (void)sqlite3_finalize(rows);
    return known;
}

static void put_uri(struct sma_buf *uri, const char *path)
{
    sma_buf_put_text(uri, "file:");
    for (; *path != '\0'; path++)
        if (strchr("?#%", *path) != NULL)
            sma_buf_printf(uri, "%%%02X", (unsigned)(unsigned char)*path);
        else
            sma_buf_put_char(uri, *path);
    sma_buf_put_text(uri, "?mode=ro&immutable=1");
}

static enum known read_state(const struct sma_config *config)
{
    char path[PATH_MAX];
    struct stat facts;
    struct sma_buf uri;
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof path, "%s/state.db", config->state_dir);
    if (stat(path, &facts) != 0)
        return NOBODY;
    sma_buf_init(&uri, 3 * PATH_MAX + 64);
    put_uri(&uri, path);
    enum known known = UNKNOWN;
    if (uri.err == SMA_ERR_OK &&
        sqlite3_open_v2(uri.ptr, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) == SQLITE_OK)
        known = read_people(db);
    (void)sqlite3_close(db);
    sma_buf_fini(&uri);
    (void)snprintf(path, sizeof path, "%s/state.db-wal", config->state_dir);
    bool is_all = stat(path, &facts) != 0 || facts.st_size == 0;
    return known == NOBODY && !is_all ? UNKNOWN : known;
}

static bool names_owner(const struct sma_config *config)
{
    struct sma_access_roles *roles = NULL;
    struct sma_error error = {0};
    bool has_one =
        sma_access_roles_parse(sma_str(config->permissions_json), &roles, &error) == SMA_ERR_OK &&
        sma_access_roles_have_owner(roles);
    sma_access_roles_destroy(roles);
    return has_one;
}

/* A platform that is on; NULL: the terminal and HTTP alone, whose callers are owners. */
static const char *find_platform(const struct sma_config *config)
{
    for (size_t i = 0; i < config->adapter_count; i++)
        if (config->adapters[i].is_enabled && strcmp(config->adapters[i].name, "http") != 0 &&
            strcmp(config->adapters[i].name, "terminal") != 0)
            return config->adapters[i].name;
    return NULL;
}

void doctor_look_at_owner(struct doctor *doctor)
{
    const char *platform = doctor->config == NULL ? NULL : find_platform(doctor->config);
    char remedy[SMA_PROBE_TEXT_BYTES_MAX];
    if (platform == NULL)
        return;
    enum known known = names_owner(doctor->config) ? SOMEBODY
                       : doctor->is_running        ? ask_service(doctor)
                                                   : read_state(doctor->config);
    (void)snprintf(remedy, sizeof remedy,
                   "start the service, write to the bot on %s, then run `shipmyagent pair approve "
                   "CODE %.200s --role owner` with the code it shows",
                   platform, doctor->config->project_dir);
    if (known == SOMEBODY)
        doctor_say(&doctor->report, SMA_PROBE_OK, "owner", "", "somebody is");
    else
        doctor_say(&doctor->report, SMA_PROBE_WARNING, "owner", remedy,
                   known == NOBODY
                       ? "nobody is owner yet: nobody can approve what the agent asks for"
                       : "it is not known whether there is one while the service does not run: "
                         "its newest records are read by itself alone");
}
