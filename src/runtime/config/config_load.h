/*
 * config_load.h — one load of a configuration, shared by the files that read its parts.
 *
 * Invariants: everything kept lives as long as the configuration. `root` is ship.json with
 *             placeholders replaced.
 * Threads:    the loader only.
 */
#ifndef SMA_CONFIG_LOAD_H
#define SMA_CONFIG_LOAD_H

#include "config_priv.h"
#include "sma/bot.h"
#include "sma/buf.h"

#define CONFIG_FILE_BYTES_MAX (4 * 1024 * 1024)

/* The assignments of a .env file. */
struct env_variable
{
    char *name, *value;
};
struct env_table
{
    struct env_variable *items;
    size_t count, capacity;
    bool is_out_of_memory;
};

struct loading
{
    struct sma_config *config;
    struct env_table env;
    json_t *root;
    json_t *llm_written;   /* "llm" as it is written, with its placeholders; NULL: there is none */
    json_t *chats_written; /* likewise */
    const char *file;      /* as shown in messages */
    const struct sma_params *const *platforms; /* NULL: their blocks are not looked into */
    struct sma_buf late, live;                 /* as in struct config_check */
    struct sma_buf unused; /* names of what is there and has no effect, with commas */
    sma_config_warn_fn *warn;
    void *user;
    struct sma_error *error;
    char missing_path[8][128]; /* first few placeholders without a variable */
    char missing_name[8][128];
    size_t missing_count;
    bool is_out_of_memory;
};

/* -- config_keep.c ----------------------------------------------------------------------------- */
/** Room that lives as long as the configuration, aligned for pointers; NULL without memory. */
void *config_keep_room(struct loading *loading, size_t len);
/** All of it. */
void config_free_room(struct sma_config *config);
/** A copy of the text; "" without memory. */
const char *config_keep_text(struct loading *loading, const char *text);
void config_warn(struct loading *loading, const char *format, ...) SMA_PRINTF(2, 3);
/** Rows of `place` are read from root; texts live as long as the configuration. */
struct sma_param_source config_source(struct loading *loading, const json_t *root,
                                      const char *place);
void config_note_missing(void *user, const char *path, const char *variable);
/** The variable whose absence removed `path`, or NULL. */
const char *config_missing_variable(const struct loading *loading, const char *path);
SMA_CHECKED enum sma_err config_read_project_file(struct loading *loading, const char *name,
                                                  char **ret_bytes, size_t *ret_len);
/** A text file of the project, trimmed, valid UTF-8: Agent.md and what stands in its place. */
SMA_CHECKED enum sma_err config_read_prompt(struct loading *loading, const char *name,
                                            const char **ret_text);

/* -- config_env.c ------------------------------------------------------------------------------ */
SMA_CHECKED enum sma_err config_load_env(struct loading *loading);
/** The value of a variable of the environment or of .env (struct loading *user); NULL = not set. */
const char *config_find_variable(void *user, const char *name);
void config_env_fini(struct env_table *table);

/* -- unused.c ---------------------------------------------------------------------------------- */
/** One line that names what ship.json and the folder hold that this version does not use. */
void config_warn_unused(struct loading *loading);
/** One line, if a budget of cost is set and no price of a model that is asked is known. */
void config_warn_prices(const struct sma_config *config, sma_config_warn_fn *warn, void *user);

/* -- config_bots.c ----------------------------------------------------------------------------- */
/** The blocks of `adapters` or `integrations`, one for each bot. */
SMA_CHECKED enum sma_err config_add_adapters(struct loading *loading, const char *block);
/** One line for each variable that a bot which is switched on waits for. */
void config_warn_missing_secrets(struct loading *loading);
/** Is there a bot of this id in the list of its platform? root: ship.json. */
bool config_has_bot(const json_t *root, struct sma_str name);

/* -- config_llm.c ------------------------------------------------------------------------------ */
/** llm, its fallbacks and its judge. Writes llm, llm_targets, llm_judge, llm_vision,
 *  llm_patience_s. */
SMA_CHECKED enum sma_err config_read_llm(struct loading *loading,
                                         const struct sma_config_overrides *overrides);
/** One more model: the object `json` (`written`: with its placeholders) at `path`. What it does not
 *  say is as with a fallback. */
SMA_CHECKED enum sma_err config_read_model(struct loading *loading, const json_t *json,
                                           const json_t *written, const char *path,
                                           const struct sma_config_llm **ret_llm);
/** A key stands in a header line, of ours or of a caller. */
SMA_CHECKED enum sma_err config_check_header_value(struct loading *loading, const char *path,
                                                   const char *value);

/* -- config_chats.c ---------------------------------------------------------------------------- */
/** `chats`, and the list of models. After config_read_llm. is_alone: the command line has chosen
 *  the model, which is then everybody's. */
SMA_CHECKED enum sma_err config_read_chats(struct loading *loading, bool is_alone);

/* -- config_cors.c ----------------------------------------------------------------------------- */
SMA_CHECKED enum sma_err config_read_cors(struct loading *loading);

/* -- config_hooks.c ---------------------------------------------------------------------------- */
SMA_CHECKED enum sma_err config_read_hooks(struct loading *loading);

/* -- config_decisive.c ------------------------------------------------------------------------- */
/** config->decisive. After all that names files. */
SMA_CHECKED enum sma_err config_read_decisive(struct loading *loading);

/* -- config_skills.c --------------------------------------------------------------------------- */
SMA_CHECKED enum sma_err config_read_skills(struct loading *loading);

#endif
