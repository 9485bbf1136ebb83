/*
 * address.h — where requests of a target go, and with which headers.
 *
 * Threads: any; no state.
 */
#ifndef SMA_MODEL_ADDRESS_H
#define SMA_MODEL_ADDRESS_H

#include "sma/buf.h"
#include "sma/config.h"

/** base + path; a query stays behind the path, and a base that names the whole path already is
 *  taken as it is. */
void sma_model_put_url(struct sma_buf *buf, const struct sma_config_llm *llm);
/** The list of models of the same server: .../models. */
void sma_model_put_list_url(struct sma_buf *buf, const struct sma_config_llm *llm);

/** One line "Name: value". @return OK, or any error, which ends the listing */
typedef enum sma_err sma_model_header_fn(void *user, const char *name, const char *value);
/** Every header of a request with this key (NULL or "": none), those of llm.extraHeaders in the
 *  place of ours. */
SMA_CHECKED enum sma_err sma_model_headers(const struct sma_config_llm *llm, const char *key,
                                           sma_model_header_fn *each, void *user);

#endif
