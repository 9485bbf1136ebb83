/*
 * query.h — questions to the store: AWAIT and RESULT, STATUS, HISTORY, SESSION, CONTACT. Part of
 * the store; its thread.
 */
#ifndef SMA_STORE_QUERY_H
#define SMA_STORE_QUERY_H

#include "store.h"

/* -- await.c ----------------------------------------------------------------------------------- */
void sma_store_await(struct sma_store *store, struct sma_msg **msg);
void sma_store_answer_asked(struct sma_store *store); /* after the commit */
void sma_store_answer_waiters(struct sma_store *store, uint64_t seq);
void sma_store_answer_all_waiters(struct sma_store *store);

/* -- query.c ----------------------------------------------------------------------------------- */
void sma_store_query(struct sma_store *store, struct sma_msg **msg);
void sma_store_history(struct sma_store *store, struct sma_msg **msg);
void sma_store_search_slice(struct sma_store *store);
bool sma_store_is_searching(const struct sma_store *store);
void sma_store_refuse_searches(struct sma_store *store); /* stopping: everybody gets an answer */
void sma_store_drop_searches(struct sma_store *store);
void sma_store_session(struct sma_store *store, struct sma_msg **msg);
void sma_store_contact(struct sma_store *store, struct sma_msg **msg);

/* -- fetch_again.c ----------------------------------------------------------------------------- */
void sma_store_fetch(struct sma_store *store, struct sma_msg **msg);

/* -- place.c ----------------------------------------------------------------------------------- */
/** CONTACT about a chat: answered now, or when a message of it has been searched for; then *msg is
 *  taken. */
void sma_store_place(struct sma_store *store, struct sma_msg **msg);

/* -- say.c ------------------------------------------------------------------------------------- */
/** Where messages to this chat go: as the last one that was answered there came, or as somebody
 *  was last seen in it. Slices live in rows and text. message_id: what must be replied to, so that
 *  it comes there, else empty. NOTFOUND: nobody knows. */
struct sma_state_rows;
SMA_CHECKED enum sma_err sma_store_find_route(struct sma_store *store,
                                              const struct sma_state_chat *chat,
                                              struct sma_state_rows *rows, struct sma_buf *text,
                                              struct sma_route *ret_route);

#endif
