/*
 * settings.h — reading an adapter's block of ship.json, member by member, with errors for people.
 *
 * Every error names the member: "ship.json: adapters.<name>.<member> must be ...". A missing member
 * leaves the out- parameter as it was, so a default is what stood there before. Placeholders are
 * already replaced.
 * Threads: no state; main's, before the actors start.
 */
#ifndef SMA_ADAPTERS_COMMON_SETTINGS_H
#define SMA_ADAPTERS_COMMON_SETTINGS_H

#include "sma/base.h"

struct json_t;
struct sma_settings
{
    const char *name; /* of the adapter, constant */
    struct json_t *root;
    struct sma_error *error; /* borrowed */
};
/** @return OK; close it | NOTFOUND: there is no block | BADINPUT: it is no object, with *error.
 *  Allocates. */
SMA_CHECKED enum sma_err sma_settings_open(struct sma_settings *settings, const char *name,
                                           const char *json, struct sma_error *error);
void sma_settings_close(struct sma_settings *settings); /* accepts a zeroed struct */
/** Fill *error: "ship.json: adapters.<name>.<key> <remedy>". @return BADINPUT */
enum sma_err sma_settings_refuse(const struct sma_settings *settings, const char *key,
                                 const char *remedy);
/** The same for caFile, after sma_ws_open could not read it: *error holds why. @return BADINPUT */
enum sma_err sma_settings_refuse_ca_file(const char *name, struct sma_error *error);
/** A string, copied; "" when it is missing or null. *ret_text is replaced (freed before). OK |
 *  BADINPUT | NOMEM. */
SMA_CHECKED enum sma_err sma_settings_text(const struct sma_settings *settings, const char *key,
                                           char **ret_text);
/** One of the words, NULL-terminated. OK | BADINPUT. */
SMA_CHECKED enum sma_err sma_settings_word(const struct sma_settings *settings, const char *key,
                                           const char *const *words, unsigned *ret_index);
/**
 * A whole number, also written as a string; key may be "object.member".
 * @ret_number  the default before, which is also the example in the error when the object is
 * something else
 * @return      OK | BADINPUT
 */
SMA_CHECKED enum sma_err sma_settings_number(const struct sma_settings *settings, const char *key,
                                             int64_t low, int64_t high, int64_t *ret_number);
/** Whether url is http:// or https:// with a host, without query, fragment or blanks, below 1024
 *  bytes. */
bool sma_settings_is_http_url(const char *url);
/** Remove slashes at the end. */
void sma_settings_trim_slashes(char *url);
/** Overwrite, free, and set to NULL. */
void sma_settings_wipe(char **text);

#endif
