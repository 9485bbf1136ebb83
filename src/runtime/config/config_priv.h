/*
 * config_priv.h — the parts of runtime/config among themselves.
 */
#ifndef SMA_CONFIG_PRIV_H
#define SMA_CONFIG_PRIV_H

#include "runtime/model/profile.h"
#include "sma/bot.h"
#include "sma/config.h"
#include "sma/param.h"
#include <jansson.h>

/* -- env_file.c -------------------------------------------------------------------------------- */
typedef void sma_env_fn(void *user, const char *name, const char *value);
/**
 * Parse the text of a .env file (protocols/project.md §2.1, the dialect of dotenv 16): every
 * assignment in order, so that a later duplicate overrides an earlier one in the callback's hands.
 * Lines that are no assignment are skipped, as there.
 * @return OK | NOMEM
 */
SMA_CHECKED enum sma_err sma_env_parse(struct sma_str text, sma_env_fn *each, void *user);

/* -- placeholders.c ---------------------------------------------------------------------------- */
/** Where the variables of `${NAME}` come from, and who hears of those that are not set. */
struct sma_variables
{
    const char *(*find)(void *user, const char *name); /* NULL = not set */
    void (*missing)(void *user, const char *path, const char *variable);
    void *user;
    /* `${NAME}` inside of a longer text, which stays as it is. May be NULL. */
    void (*inside)(void *user, const char *path, const char *variable);
    /* What looks like a placeholder and is none, and stays as it is. May be NULL. */
    void (*unknown)(void *user, const char *path, const char *text);
};
/** Replace `${NAME}` values in place (protocols/project.md §2.2). Members whose variable is missing
 *  are removed; their paths are passed to `missing`. `${NAME:-text}` is the text then. */
SMA_CHECKED enum sma_err sma_config_substitute(json_t *root, const struct sma_variables *variables);

/* -- rows.c ------------------------------------------------------------------------------------ */
extern const struct sma_params config_params;     /* the file, into struct sma_config */
extern const struct sma_params config_llm_params; /* what only llm has, into struct sma_config */
extern const struct sma_params
    config_target_params; /* llm, a fallback, the judge: struct sma_config_llm */

extern const struct sma_params
    config_chat_params; /* what is different in some chats: config_chats.c */
extern const struct sma_params config_hook_params; /* who is told of ends: struct sma_hook */

/* -- config_check.c ---------------------------------------------------------------------------- */
struct sma_buf;
struct config_check
{
    const char *file; /* for messages */
    const struct sma_params *const
        *platforms; /* NULL ends the list; NULL: blocks are not looked into */
    sma_config_warn_fn *warn;
    void *user;
    struct sma_error *error;
    struct sma_buf *unused; /* names of what has no effect are added to it */
    struct sma_buf *late;   /* names and values that count from the next start; lines */
    size_t *unknown_count;  /* of sma_config_validate */
    struct sma_buf *live;   /* names and hashes of what counts at once; lines. May be NULL */
};
void config_note_late(struct sma_buf *late, const char *shown, const json_t *value); /* late.c */
/** The same with a hash in the place of the value, which may be a secret. */
void config_note_live(struct sma_buf *live, const char *shown, const json_t *value);
/** Check types and ranges of every known member. BADINPUT with the one line; unknown members go to
 *  `warn`. */
SMA_CHECKED enum sma_err sma_config_validate(const struct config_check *check, const json_t *root);

/* -- config_bots.c ----------------------------------------------------------------------------- */
/** What this bot of a list is called: "telegram@support", "telegram" without an id. */
void config_put_bot_name(char room[SMA_BOT_NAME_BYTES_MAX], const char *platform,
                         const json_t *bot);
/** A list of bots: objects, each but the first with an id, no id twice. OK | BADINPUT */
SMA_CHECKED enum sma_err config_check_bots(const struct config_check *check, const char *shown,
                                           const json_t *list);

/* -- providers.c ------------------------------------------------------------------------------- */
/** The variables that hold a key of this provider, the first one first; ends with NULL. "custom"
 *  and unknown ones: what no provider calls its own. */
const char *const *sma_provider_variables(const char *provider);

#endif
