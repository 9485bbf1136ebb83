/*
 * param.h — one row for each key of ship.json: its name, what it may be, what holds without it,
 * where its value goes.
 *
 * From the rows come the check at load, the value in its reader's struct, the schema for editors,
 * docs/configuration.md and the man page's section, so that no range, default or list of words
 * stands anywhere else. The core's rows: src/runtime/config/rows.c. A platform's rows stand in its
 * folder and are reached by `params` of its operations.
 *
 * Invariants: a path is unique in its table and its objects have rows before their members. Every
 *             row has a target, a reader of its own (type ANY, OBJECT, LIST) or SMA_PARAM_UNUSED:
 *             tests/unit/config/test_params.c.
 * Threads:    tables are constant; reading keeps no state.
 */
#ifndef SMA_PARAM_H
#define SMA_PARAM_H

#include "sma/base.h"

struct json_t;
struct sma_params;

enum sma_param_type
{
    SMA_PARAM_TYPE_TEXT,    /* char *; without a value the default or "" */
    SMA_PARAM_TYPE_URL,     /* char *: http(s), without query, slashes at its end taken off */
    SMA_PARAM_TYPE_SOCKET,  /* char *: ws(s) */
    SMA_PARAM_TYPE_FILE,    /* char *: made absolute with the project's folder */
    SMA_PARAM_TYPE_PROXY,   /* char *: scheme://[user@]host[:port] or "none" */
    SMA_PARAM_TYPE_INTEGER, /* any integer member; a number in a string counts, too */
    SMA_PARAM_TYPE_NUMBER,  /* double */
    SMA_PARAM_TYPE_FLAG,    /* bool */
    SMA_PARAM_TYPE_WORD,    /* bool or integer member: the index in `words` */
    SMA_PARAM_TYPE_WORDS,   /* uint32_t: one bit a word of a list */
    SMA_PARAM_TYPE_IDS,     /* struct json_t *: list of ids, text or integers; NULL = not there */
    SMA_PARAM_TYPE_ACCESS,  /* "paired", "anyone" or ids; runtime/access reads it */
    SMA_PARAM_TYPE_OBJECT,
    SMA_PARAM_TYPE_LIST,
    SMA_PARAM_TYPE_TEXTS, /* a string or a list of strings */
    SMA_PARAM_TYPE_ANY,   /* checked by its reader */
};

enum sma_param_trait
{
    SMA_PARAM_LIVE = 1,    /* a changed value counts after SIGHUP, else from the next start */
    SMA_PARAM_UNUSED = 2,  /* of older files: accepted, has no effect, is named at start */
    SMA_PARAM_OPEN = 4,    /* an object with members of any name */
    SMA_PARAM_LENIENT = 8, /* FLAG: what is neither true nor false counts as not given */
    SMA_PARAM_BLOCKS = 16, /* an object with one block for each platform */
    SMA_PARAM_PARTLY =
        32, /* does less than its name says: `doc`, which follows it, is said at start */
    SMA_PARAM_MAP = 64,      /* an object with members of any name, each an object like `members` */
    SMA_PARAM_ACCOUNT = 128, /* whose bot it is: no two bots have the same */
};

struct sma_param
{
    const char *path; /* within its table: "limits.perSecond" */
    const char *doc;  /* one line; NULL: an object that only holds others */
    enum sma_param_type type;
    unsigned traits;
    double min, max; /* INTEGER, NUMBER */
    double
        standard; /* without a value: the number, true or false, the index of the word, the bits */
    const char *text;  /* ... the text; of other types: how documents tell it */
    const char *words; /* "auto,zh,en"; of ANY, OBJECT, LIST: how documents tell what it may be */
    const char *env;   /* the variable that is taken where ship.json gives no value */
    const struct sma_params
        *members;       /* OBJECT, and LIST of objects: their members are this table's */
    const char *member; /* target: its name, where it is, how large */
    size_t offset, size;
    size_t has_offset; /* of a bool beside it that says whether there was a value; 0 = none */
};

struct sma_params
{
    const char *name; /* "telegram"; of the core's tables "" */
    const struct sma_param *rows;
    size_t count;
    const struct sma_params *shared; /* rows that siblings have, too; NULL = none */
};

/* Parts of a row. Usage: {"turns", SMA_PARAM_INTEGER(1, 30, 30), SMA_PARAM_AT(struct x, turns),
 * .doc = "..."} */
#define SMA_PARAM_INTEGER(low, high, usual) \
    .type = SMA_PARAM_TYPE_INTEGER, .min = (low), .max = (high), .standard = (usual)
#define SMA_PARAM_NUMBER(low, high) .type = SMA_PARAM_TYPE_NUMBER, .min = (low), .max = (high)
#define SMA_PARAM_FLAG(usual) .type = SMA_PARAM_TYPE_FLAG, .standard = (usual)
#define SMA_PARAM_WORD(list, usual) \
    .type = SMA_PARAM_TYPE_WORD, .words = (list), .standard = (usual)
#define SMA_PARAM_TEXT(usual) .type = SMA_PARAM_TYPE_TEXT, .text = (usual)
#define SMA_PARAM_URL(usual) .type = SMA_PARAM_TYPE_URL, .text = (usual)
#define SMA_PARAM_AT(type, where) \
    .member = #where, .offset = offsetof(type, where), .size = sizeof(((type *)0)->where)

/* Where values are read from. */
struct sma_param_source
{
    struct json_t *root;     /* borrowed; NULL: nothing is there */
    const char *file;        /* for messages: "ship.json" */
    const char *place;       /* "adapters.telegram", "llm.fallbacks.0"; "" = the whole file */
    const char *project_dir; /* FILE is relative to it */
    bool is_further_bot;     /* variables are not for it */
    char *(*keep)(void *user, const char *text); /* NULL: malloc, for sma_params_free */
    void *user;
    struct sma_error *error;
};

/** The defaults of the table's own rows (not of `shared`). OK | NOMEM */
SMA_CHECKED enum sma_err sma_params_set_defaults(const struct sma_params *table,
                                                 const struct sma_param_source *source,
                                                 void *target);
/** What is there, checked; what is not there leaves its member as it was. OK | BADINPUT with *error
 *  | NOMEM */
SMA_CHECKED enum sma_err sma_params_read(const struct sma_params *table,
                                         const struct sma_param_source *source, void *target);
/**
 * A platform's block: defaults, then what `json` says.
 * @return OK | NOTFOUND: there is no block | BADINPUT with *error. Release with sma_params_free in
 *         any case.
 */
SMA_CHECKED enum sma_err sma_params_read_block(const struct sma_params *table, const char *json,
                                               const char *project_dir, void *target,
                                               struct sma_error *error);
/** Texts are overwritten and freed, lists released, and set to NULL. For values without `keep`;
 *  target may be zeroed. */
void sma_params_free(const struct sma_params *table, void *target);
extern const struct sma_params sma_block_params; /* rows that every block under `adapters` has */
/** Fill *error: "ship.json: adapters.<name>.<path> <remedy>". @return BADINPUT */
enum sma_err sma_params_refuse(const struct sma_params *table, const char *path, const char *remedy,
                               struct sma_error *error);
/** The same of a platform's caFile, after it could not be read: *error holds why. @return BADINPUT
 *  */
enum sma_err sma_params_refuse_ca_file(const char *name, struct sma_error *error);
/** Overwrite, free, and set to NULL. */
void sma_param_wipe(char **text);
/** The value is there and of the row's type and range? OK | BADINPUT with the one line. shown: its
 *  path for people. */
SMA_CHECKED enum sma_err sma_param_check(const struct sma_param *row, const char *file,
                                         const char *shown, const struct json_t *value,
                                         struct sma_error *error);
/** The row of this path, in the table or what it shares; NULL = unknown. */
const struct sma_param *sma_params_find(const struct sma_params *table, const char *path);
/** http:// or https:// with a host, without query, fragment or blanks, below 1024 bytes. */
bool sma_param_is_url(const char *url);
/** A number, also one in a string. */
bool sma_param_number(const struct json_t *value, double *ret_number);

#endif
