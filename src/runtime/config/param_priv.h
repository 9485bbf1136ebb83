/*
 * param_priv.h — what the files behind param.h share.
 */
#ifndef SMA_PARAM_PRIV_H
#define SMA_PARAM_PRIV_H

#include "sma/param.h"

/** Index of word in "a,b,c"; -1 = none of them. word may be NULL. */
int config_word_index(const char *words, const char *word);
/** true, false, or a string of either. */
bool config_is_flag(const struct json_t *value);
/** As sma_param_is_url, of ws:// or wss://. */
bool config_is_socket_url(const char *url);

#endif
