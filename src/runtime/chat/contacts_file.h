/*
 * contacts_file.h — `.ship/contacts.json`: the address book as people and the old program know it
 * (protocols/project.md §7.6).
 *
 * The truth is in the store; this file is read once, at the first start of a project, and is a
 * projection afterwards.
 * Threads: the owner only. May block on the disk.
 */
#ifndef SMA_RUNTIME_CHAT_CONTACTS_FILE_H
#define SMA_RUNTIME_CHAT_CONTACTS_FILE_H

#include "sma/buf.h"
#include "sma/sys.h"

#define SMA_CONTACTS_FILE_BYTES_MAX (32 * 1024 * 1024) /* a larger file is not read */
#define SMA_CONTACT_COUNT_MAX 100000                   /* entries beyond are not read */

struct sma_contact
{
    struct sma_str channel, chat_id, chat_key, user_name; /* never empty */
    struct sma_str message_id, user_id, chat_type;        /* empty = omitted */
    int64_t thread_id;                                    /* messageThreadId; 0 = omitted */
    int64_t updated_ms;
};

/**
 * Append one contact as a compact JSON object, keys in the order of protocols/project.md §7.6.
 * Errors: sticky in buf.
 */
void sma_contact_format(struct sma_buf *buf, const struct sma_contact *contact);

/**
 * Read the file and give each usable contact to `each`, in the order of the file. Entries that lack
 * channel, username, chatId or chatKey, and everything of a file whose v is not 1, are left out
 * silently. The contact is valid during the call only. An error from `each` ends the reading with
 * that error.
 * @return OK (also when there is no file) | CORRUPT (not JSON; *error says so) | TOOBIG | IO |
 * NOMEM | the callback's
 */
SMA_CHECKED enum sma_err sma_contacts_read(const struct sma_sys *sys, const char *path,
                                           enum sma_err (*each)(void *self,
                                                                const struct sma_contact *contact),
                                           void *self, struct sma_error *error);

/* The file in pieces, for who writes it by and by. Errors: sticky in buf. */
void sma_contacts_begin(struct sma_buf *buf, int64_t now_ms);
void sma_contacts_item(struct sma_buf *buf, const struct sma_contact *contact, bool is_first);
void sma_contacts_end(struct sma_buf *buf, bool is_empty);

#endif
