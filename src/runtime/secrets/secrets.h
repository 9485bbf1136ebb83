/*
 * secrets.h — values that must not be shown: replaced by "[redacted]" wherever they occur in a
 * text.
 *
 * Known by value: keys, header values, proxy passwords and secret members of extraBody of llm, its
 * fallbacks and its judge; the API token; what stands under a secret's name in the adapters'
 * blocks; the variables of .env, and variables of the environment with a secret's name. At least 6
 * bytes (8 of the environment's); single ordinary words of .env ("production") under a harmless
 * name are left alone. Also replaced: the value as it stands in a JSON string or percent-encoded,
 * each longer line of a value of several lines, and a beginning of at least 6 bytes at the very end
 * of a text (which may have been cut).
 * Threads: adding belongs to the owner; afterwards the set is constant and may be shared. A stream
 * belongs to one thread.
 * Limits:  SMA_SECRETS_COUNT_MAX values, SMA_SECRETS_BYTES_MAX bytes each (longer ones are kept in
 * pieces).
 */
#ifndef SMA_TOOLS_SECRETS_H
#define SMA_TOOLS_SECRETS_H

#include "sma/buf.h"
#include "sma/config.h"

#define SMA_SECRETS_COUNT_MAX 2048
#define SMA_SECRETS_BYTES_MAX 4000
#define SMA_SECRETS_TEXT "[redacted]"

struct sma_secrets;
/** Everything the configuration and the environment know. OK | NOMEM. Reads .ship/api-token if it
 *  is there. Thread: any. */
SMA_CHECKED enum sma_err sma_secrets_create(const struct sma_config *config,
                                            struct sma_secrets **ret_secrets);
void sma_secrets_destroy(struct sma_secrets *secrets); /* accepts NULL; wipes the values */
/** Add what another configuration knows; the old ones stay. OK | NOMEM | FULL. */
SMA_CHECKED enum sma_err sma_secrets_add_config(struct sma_secrets *secrets,
                                                const struct sma_config *config);
/** Add one value; NULL and shorter ones than 6 bytes are ignored. OK | NOMEM | FULL. */
SMA_CHECKED enum sma_err sma_secrets_add(struct sma_secrets *secrets, const char *value);
/** Does a name (of a variable, of a member) say that its value is a secret? Words: token, secret,
 *  key, password, ... */
bool sma_secrets_is_name(const char *name);

/** Append text with every secret replaced. Thread: any. Blocks: never. */
void sma_secrets_put(const struct sma_secrets *secrets, struct sma_buf *out, struct sma_str text);
/** Is there one in the text? */
bool sma_secrets_has(const struct sma_secrets *secrets, struct sma_str text);

/* The same for a text that comes in pieces: what may be the beginning of a secret is held back
 * until it is known. */
struct sma_secrets_stream
{
    struct sma_buf held; /* at most SMA_SECRETS_BYTES_MAX between calls */
};
void sma_secrets_stream_init(struct sma_secrets_stream *stream);
void sma_secrets_stream_fini(
    struct sma_secrets_stream *stream); /* accepts a zeroed struct; wipes */
/** Take a piece (any size), append to out what is safe. A failed allocation sets out->err. */
void sma_secrets_stream_put(const struct sma_secrets *secrets, struct sma_secrets_stream *stream,
                            struct sma_buf *out, struct sma_str piece);
/** The text is over: append the rest. The stream is empty then. */
void sma_secrets_stream_end(const struct sma_secrets *secrets, struct sma_secrets_stream *stream,
                            struct sma_buf *out);

#endif
