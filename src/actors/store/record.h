/*
 * record.h — the history: lines, their files, the disk; what start-up repairs. Part of the store;
 * its thread.
 */
#ifndef SMA_STORE_RECORD_H
#define SMA_STORE_RECORD_H

#include "hooks.h"
#include "store.h"

/* -- lines.c: lines of the open transaction ---------------------------------------------------- */
/** Format an entry into store->scratch.line and reserve its place. */
SMA_CHECKED enum sma_err sma_store_place_line(struct sma_store *store, struct store_chat *chat,
                                              const struct sma_history_entry *entry,
                                              int64_t *ret_offset);
/** An assistant or notice line: a row of its own in the open transaction. */
SMA_CHECKED enum sma_err sma_store_add_line(struct sma_store *store, struct store_chat *chat,
                                            const struct sma_history_entry *entry,
                                            uint64_t run_seq);
/** Write the committed lines to their files. */
void sma_store_write_lines(struct sma_store *store);
/** There are lines that are not in their file. */
bool sma_store_has_lines(const struct sma_store *store);
uint64_t sma_store_line_bytes(const struct sma_store *store); /* of them */

/* -- asides.c: chats whose history files cannot be used now ------------------------------------ */
/** Lines wait because the disk is full. */
bool sma_store_is_history_stuck(const struct sma_store *store);
/** Its files are not to be moved now. */
bool sma_store_is_file_aside(const struct sma_store *store, uint32_t chat_id);
/** Why the file of this chat cannot be read; NULL = it can. */
const char *sma_store_aside_reason(const struct sma_store *store, uint32_t chat_id);

/* -- flush.c ----------------------------------------------------------------------------------- */
void sma_store_between(struct sma_store *store);   /* after the answers of a batch, in slices */
void sma_store_flush_all(struct sma_store *store); /* everything, now (drain) */
void sma_store_check_disk(struct sma_store *store);
bool sma_store_is_degraded(
    const struct sma_store *store); /* nothing new is accepted for want of disk */
void sma_store_publish_disk(const struct sma_store *store);
uint64_t sma_store_record_wake(const struct sma_store *store);
/** How full: 0 plenty, 1 nothing new, 2 no effects either. */
int sma_store_disk_level(const struct sma_store *store);
uint64_t sma_store_free_bytes(const struct sma_store *store); /* as last seen */
void sma_store_look_at_disk(struct sma_store *store);         /* with the next check */
void sma_store_count_commit(struct sma_store *store);
void sma_store_set_disk(struct sma_store *store, store_disk_fn *disk, void *user);
/** The chat's files are not rotated now. */
void sma_store_drop_rotation(struct sma_store *store, struct store_chat *chat);

/* -- recover.c --------------------------------------------------------------------------------- */
SMA_CHECKED enum sma_err sma_store_recover(struct sma_store *store, struct sma_error *error);
/** import.c: once in the life of a database, from the history and what an older program left. */
SMA_CHECKED enum sma_err sma_store_import(struct sma_store *store, struct sma_error *error);
void sma_store_report(void *self, const struct sma_history_report *report);
void sma_store_boot_line(struct sma_store *store, enum sma_log_level level, const char *format, ...)
    SMA_PRINTF(3, 4);

#endif
