/*
 * doctor_priv.h — what the parts of `doctor` share. Each part looks at one side and says lines.
 *
 * Invariants: nothing is changed, in the project and at the other side; nothing waits for longer
 *             than its bound.
 * Threads:    the main one.
 */
#ifndef SMA_CLI_DOCTOR_PRIV_H
#define SMA_CLI_DOCTOR_PRIV_H

#include "api.h"
#include "doctor_report.h"
#include "sma/config.h"

struct json_t;
struct doctor
{
    const char *folder;        /* as given */
    struct sma_config *config; /* NULL: it cannot be read, which was said */
    struct doctor_report report;
    struct sma_cli_api api; /* of the running service, when is_running */
    bool is_running;
    struct json_t *status; /* what it answered to GET /api/status; NULL: nothing */
};

/* doctor_place.c: the folder, what lies in it, the disk below it. */
void doctor_look_at_project(struct doctor *doctor); /* sets config */
void doctor_look_at_files(struct doctor *doctor);
void doctor_look_for_left(struct doctor *doctor);
void doctor_look_at_disk(struct doctor *doctor);
/** What so much room means; level: see there. Also for start. */
struct doctor_disk
{
    uint64_t free_bytes, free_files;
    bool counts_files; /* some file systems do not */
};
/** @return the state; remedy is constant */
enum sma_probe_state doctor_judge_disk(const struct doctor_disk *disk, const char **ret_remedy,
                                       const char **ret_word);
/** The store says this itself when it starts. */
bool doctor_is_disk_told(const struct doctor_disk *disk);
bool doctor_read_disk(const char *path, struct doctor_disk *ret_disk);

/* doctor_machine.c: the sandbox, the port, the certificates, the clock, the versions. */
void doctor_look_at_sandbox(struct doctor *doctor);
void doctor_look_at_port(struct doctor *doctor);
void doctor_look_at_certificates(struct doctor *doctor);
void doctor_look_at_clock(struct doctor *doctor);
void doctor_look_at_versions(struct doctor *doctor);
/** NULL, or what is wrong with the authorities that are trusted, and what to do. */
const char *doctor_trust_trouble(char *room, size_t size, const char **ret_remedy);
/** Is the clock years behind? */
bool doctor_is_clock_unset(void);
/** Does the configuration ask for anything by https? */
bool doctor_wants_tls(const struct sma_config *config);

/* doctor_walls.c: root, hard links, folders that commands do not see. */
void doctor_look_at_walls(struct doctor *doctor);

/* doctor_programs.c: programs that rules and MCP servers name. */
void doctor_look_at_programs(struct doctor *doctor);

/* doctor_helpers.c: the programs beside this one, the skills and the memory. */
bool doctor_has_helper(const char *name);
void doctor_look_at_helpers(struct doctor *doctor);
void doctor_look_at_skills(struct doctor *doctor);
void doctor_look_at_memory(struct doctor *doctor);

/* doctor_service.c: the service that runs, the owner. */
void doctor_look_at_service(struct doctor *doctor); /* sets api, is_running, status */
void doctor_look_at_owner(struct doctor *doctor);

/* doctor_net.c: models and platforms, all at once. */
void doctor_look_at_network(struct doctor *doctor);
/** Without a request: the keys and credentials that are there at all. */
void doctor_look_at_keys(struct doctor *doctor);
/** Adapters that are on and that this program does not have. */
void doctor_look_at_adapters(struct doctor *doctor);

#endif
