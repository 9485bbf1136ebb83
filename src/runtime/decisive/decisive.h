/*
 * decisive.h — the set of files that decide what the program is and runs: what ship.json names
 * (prompts, authorities), what the servers of mcp.json run, with the folders that their programs
 * load from, and what the project's settings of git include and name. Names that decide wherever
 * they lie stand in owner_files.h, scripts of rules in policy.h; write_judge.h asks all three.
 *
 * Computed with each configuration (sma_config.decisive) and constant then. What it holds is the
 * owner's: for file tools, for commands, in the walls of commands and servers, and in consent.
 * Threads: any. Blocks: sma_decisive_add_server looks at files.
 */
#ifndef SMA_RUNTIME_DECISIVE_H
#define SMA_RUNTIME_DECISIVE_H

#include "runtime/policy/policy.h"
#include "sma/config.h"

#include <limits.h>

#define SMA_DECISIVE_COUNT_MAX 2048 /* of all together; beyond it the rest is left out, and told */
#define SMA_DECISIVE_ALL "*"        /* as suffixes: every file */
#define SMA_DECISIVE_NO_DATA "!" /* as suffixes: every file but plain data (.md, .csv, .png ...) */
/* What stands in for one that is awaited while commands run: as good as none. */
#define SMA_DECISIVE_STAND_IN \
    "# Empty: put here while commands run, so that none of them can make it.\n"
#define SMA_DECISIVE_STAND_IN_JSON "{}\n"
#define SMA_DECISIVE_VENV ".venv" /* as packages: their programs make it themselves */

/* One of the set. */
struct sma_decisive
{
    const char *path; /* relative to the project, clean; "" = the project's folder */
    /* NULL: this file alone. Else a folder, from which a program loads files with these suffixes,
     * blank-separated, at any depth */
    const char *suffixes;
    const char *server; /* of mcp.json, whose program it is; NULL: ship.json names it */
    bool is_library;    /* packages (node_modules, a venv): too much for a digest */
    bool is_unwalled;   /* left writable for commands */
    bool is_of_git;     /* the settings of git name it, which a git outside of the walls obeys */
    bool is_setting;    /* ... and include it */
    bool is_awaited;    /* it would run as soon as it is there: kept from commands before, too */
};

/* Growing; items and their texts are owned. */
struct sma_decisive_list
{
    struct sma_decisive *items;
    size_t count, capacity;
    bool is_cut; /* more than SMA_DECISIVE_COUNT_MAX */
    bool is_out_of_memory;
};
void sma_decisive_list_fini(struct sma_decisive_list *list); /* accepts a zeroed one */
/** Copies; one that is there already is not added again. path: as somebody wrote it, relative or
 *  absolute; what lies outside of the project is left out. @return false: left out */
bool sma_decisive_add(struct sma_decisive_list *list, const char *project_dir,
                      const struct sma_decisive *item);

/** Relative to the project, without ".", ".." and empty parts. @return false: it leads out, or is
 *  too long */
bool sma_decisive_clean(const char *project_dir, const char *path, char room[PATH_MAX]);

/** What the settings of git in this project include and name. Blocks: reads files. */
void sma_decisive_add_git(struct sma_decisive_list *list, const char *project_dir);

struct sma_mcp_config_server;
/**
 * What this entry of mcp.json runs that lies in the project: its command, scripts, what its options
 * and variables name as code, the folders they load from. A file that is not there yet, but named
 * as a program, is among them. Arguments that are plainly data (a database) are not.
 * Without walls, and unless its words tell that it runs nothing of the project: every file of the
 * project but plain data.
 * Only for stdio servers; others run nothing here.
 */
void sma_decisive_add_server(struct sma_decisive_list *list, const char *project_dir,
                             const struct sma_mcp_config_server *server);

/** By its suffix: nothing runs or imports such a file. */
bool sma_decisive_is_data(struct sma_str path);
/** May this server load, without walls, whatever is written in the project? */
bool sma_decisive_is_open(const struct sma_config *config, const char *server);
/** Of a server that may run what is written in the project with more than commands have: what the
 *  log, `status` and doctor say of it, and (*ret_remedy, constant) what to do. NULL: of another. */
const char *sma_decisive_warning(const struct sma_config *config,
                                 const struct sma_mcp_config_server *server,
                                 const char **ret_remedy);

/**
 * What is the file `path` to the set? OWNER: one of it, a folder above one, or what a program loads
 * from its folder, or what is not plain data right in it. ASKED: plain data there.
 * @path      clean (guard.h), or what the policy makes of a pattern: bytes 1 and 2 stand for any
 * @ret_why   not FREE: one clause for people, constant
 */
enum sma_policy_write sma_decisive_judge(const struct sma_config *config, struct sma_str path,
                                         const char **ret_why);

#endif
