/* sandbox_priv.h — what the files of sandbox.h share. */
#ifndef SMA_TOOLS_SANDBOX_PRIV_H
#define SMA_TOOLS_SANDBOX_PRIV_H

#include "sandbox.h"

/* Files and folders that are read-only because they are an owner's; with more all of the project
 * is. */
#define SANDBOX_KEPT_COUNT_MAX 192
#define SANDBOX_EMPTY ".empty" /* of the state folder: in the place of files that are hidden */

/* -- arguments: texts are copied; what goes wrong stays in the plan -- */
void sandbox_add(struct sma_sandbox_plan *plan, const char *text);
void sandbox_add_all(struct sma_sandbox_plan *plan, const char *const *texts); /* NULL at the end */
/* Take away what was added behind these. */
void sandbox_cut(struct sma_sandbox_plan *plan, size_t argument_count, size_t guard_count);
void sandbox_add_bind(struct sma_sandbox_plan *plan, const char *how, const char *from,
                      const char *to);
void sandbox_add_tmpfs(struct sma_sandbox_plan *plan, const char *path, const char *size);
/* In the place of what is hidden: nothing can be put into it. */
void sandbox_add_empty_folder(struct sma_sandbox_plan *plan, const char *path);
void sandbox_add_data(struct sma_sandbox_plan *plan, const char *option, int fd); /* moves fd */

/* -- the machine: sandbox_machine.c -- */
/* bubblewrap itself, the namespaces, /proc whose settings are read-only, and an empty /dev. */
void sandbox_add_machine(struct sma_sandbox_plan *plan, const struct sma_sandbox *sandbox,
                         bool has_network);
/* The folders of the system. @project  what is in it is shown whatever its modes are; may be ""
 * @known  what of them is hidden, when it was looked for before; may be NULL */
void sandbox_add_system(struct sma_sandbox_plan *plan, const struct sma_sandbox_private *known,
                        const char *project, bool has_network);
/* Look for what is to be hidden, for those that come later. */
void sandbox_find_private(struct sma_sandbox_private *private, const char *project);
/* Folders in memory, those of the system, HOME, and what the owner shows besides. */
void sandbox_add_folders(struct sma_sandbox_plan *plan, const struct sma_sandbox *sandbox,
                         const struct sma_config *config, const struct sma_exec_options *options);
/* Read-only where it lies, and where its name leads. What is not there is left out. */
void sandbox_show(struct sma_sandbox_plan *plan, const char *path, const char *real);
/* What git knows of the person, for the HOME in there. *ret_text: NULL = nothing; free() it.
 * OK | NOMEM. Blocks: reads files. */
SMA_CHECKED enum sma_err sma_sandbox_git_settings(const char *home, char **ret_text);

/* -- the project -- */
/* Read-only for the command, and watched. What is not there is left alone. */
SMA_CHECKED enum sma_err sandbox_keep(struct sma_sandbox_plan *plan, const char *path,
                                      struct sma_error *error);
/* Watched: whoever replaces it ends the command. */
SMA_CHECKED enum sma_err sandbox_guard(struct sma_sandbox_plan *plan, const char *path,
                                       struct sma_error *error);
bool sandbox_join(char path[PATH_MAX], const char *dir, const char *name); /* false: too long */
bool sandbox_is_folder(const char *path);                                  /* itself, no link */
/* Its contents may be changed, its name may not. */
void sandbox_pin(struct sma_sandbox_plan *plan, const char *path);
/* The folders between the project and what is mounted there, before it is: else one of them could
 * be moved away and another be put in its place, or be away just while others are started. */
void sandbox_pin_above(struct sma_sandbox_plan *plan, const char *project_dir, const char *path);
/* Whatever only an owner may change (owner_files.h) in the project's folder, hooks and
 * configuration of its repository, and the scripts that rules run: see sandbox_owner.c.
 * @is_top_known  the folder itself need not be listed */
SMA_CHECKED enum sma_err sandbox_keep_owner_files(struct sma_sandbox_plan *plan,
                                                  const struct sma_config *config,
                                                  const struct sma_policy *policy,
                                                  bool is_top_known, struct sma_error *error);

/* -- secrets: sandbox_secrets.c -- */
/* An empty file or folder lies over it, or over what it leads to in the project. */
void sandbox_hide(struct sma_sandbox_plan *plan, const char *project_dir, const char *empty,
                  const char *path);
/* OK | NOMEM | IO | TOOBIG | FULL: not all were looked for, and nobody has agreed. Behind whatever
 * else is mounted. */
SMA_CHECKED enum sma_err sandbox_hide_secrets(struct sma_sandbox_plan *plan,
                                              const struct sma_config *config,
                                              const struct sma_exec_options *options,
                                              const struct sma_sandbox_limits *limits,
                                              struct sma_error *error);
/* Is there one in the project that the plan does not know? */
bool sandbox_has_new_secret(const struct sma_sandbox_plan *plan, const char *project_dir,
                            char ret_path[PATH_MAX]);

#endif
