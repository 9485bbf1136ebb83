/*
 * init_secret.h — keys and tokens on their way into .env: where they come from (a variable, a file,
 * the keyboard; never an argument), what they may look like, and the lines they become.
 * Source: protocols/project.md §2.1 (.env; the environment stands above it).
 */
#ifndef SMA_CLI_INIT_SECRET_H
#define SMA_CLI_INIT_SECRET_H

#include "sma/buf.h"

#define INIT_NAME_BYTES_MAX 128
#define INIT_SECRET_BYTES_MAX 4096
#define INIT_SECRET_COUNT_MAX 16

struct init_secret
{
    char name[INIT_NAME_BYTES_MAX], value[INIT_SECRET_BYTES_MAX];
};
struct init_secrets
{
    struct init_secret items[INIT_SECRET_COUNT_MAX];
    size_t count;
};

/** NULL, or why this cannot be a key: "it holds a blank ...". */
const char *init_secret_fault(const char *value);
/** A later value of one name replaces the earlier. 0, or 1 after one line on stderr. */
int init_secrets_put(struct init_secrets *secrets, const char *name, const char *value);
/** It is not to be written after all. */
void init_secrets_drop(struct init_secrets *secrets, const char *name);
/** What is to be written, else what the environment or dir's .env has. false: nothing. */
bool init_secrets_find(const struct init_secrets *secrets, const char *dir, const char *name,
                       char *value, size_t room);
/** Does this process's environment hold another value? It would stand above .env. */
bool init_secret_is_shadowed(const char *name, const char *value);
/** The first line of a file, "-" = the next line of stdin. 0, or 1 after one line on stderr. */
int init_secret_read(const char *option, const char *path, char *value, size_t room);
/** The variable NAME of the environment. 0, or 1 after one line on stderr. */
int init_secret_take(const char *option, const char *name, char *value, size_t room);
/** .env: what there was, and below it what is new. */
void init_secrets_format(const struct init_secrets *secrets, const char *dir, struct sma_str before,
                         struct sma_buf *buf);

#endif
