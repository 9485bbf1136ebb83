/*
 * secret_names.h — which files hold secrets, by their names: the one table of file tools, of what
 * is asked about of commands, and of what commands in the sandbox do not see (secret_files.h).
 *
 * `.env*` (but .env.example and its like), private keys, logins of programs, keys of services; of a
 * repository its configuration. Some hold one only when their bytes say so (`*.pem`, `.npmrc`,
 * `.git/config`). At any depth, without case.
 * Threads: any; no state. Blocks, allocates: never.
 */
#ifndef SMA_RUNTIME_POLICY_SECRET_NAMES_H
#define SMA_RUNTIME_POLICY_SECRET_NAMES_H

#include "sma/base.h"

struct sma_secret_row
{
    bool is_of_git; /* in a folder .git or *.git */
    bool is_file;   /* the last name of a path; else a folder of this name counts, too */
    /* "": it is one whatever it holds. Else when it holds this in small letters ("_" a blank, too);
     * is_login: when the name of one of its settings holds one of these, blank-separated, or an
     * address in it has a login: that line is the secret, not the file */
    const char *holds;
    bool is_login;
    const char *names; /* as owner_files.c writes them */
};

/** The row of a name in a folder; NULL: it is no secret.
 *  @is_in_git  one of the folders above is .git or *.git */
const struct sma_secret_row *sma_secret_find(struct sma_str name, bool is_in_git, bool is_file);
bool sma_secret_is_git(struct sma_str name); /* .git, x.git */

#endif
