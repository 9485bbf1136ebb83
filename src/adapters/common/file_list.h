/*
 * file_list.h — ingress.preparation read back: what is to be fetched before a message's run.
 *
 * One shape for every platform: a JSON array of {"kind","path","name","size","mime"} and the
 * platform's own members, which say how the file is asked for. The store kept it, maybe over a
 * restart of another version, so it is checked again: a path leaves the adapter's folder in no
 * case.
 * Threads: no state. Limits: SMA_ATTACHMENT_COUNT_MAX files.
 */
#ifndef SMA_ADAPTERS_COMMON_FILE_LIST_H
#define SMA_ADAPTERS_COMMON_FILE_LIST_H

#include "sma/base.h"
#include "sma/limits.h"

struct json_t;
struct sma_part;
struct sma_file_item
{
    struct sma_str kind;       /* "photo" "document" "voice" "audio" ...; never empty */
    struct sma_str path;       /* relative to the project: the folder and one plain name */
    struct sma_str name;       /* as the sender called it, untrusted; may be empty */
    struct sma_str mime;       /* type, as the platform said, untrusted; may be empty */
    int64_t size;              /* as the platform said; -1 = not said */
    bool is_lookup;            /* words are asked for, no file: without a path */
    const struct json_t *json; /* all of it */
};
struct sma_file_list
{
    struct json_t *root; /* what the slices point into */
    struct sma_file_item items[SMA_ATTACHMENT_COUNT_MAX];
    size_t count;
};
/* What a platform's list must hold. */
struct sma_file_shape
{
    const char *folder; /* of its attachments, relative to the project, with a slash at its end */
    bool (*is_good)(const struct sma_file_item *item); /* its own members can be asked for */
    /* What has no path asks for words, and can be asked for. NULL: nothing does. */
    bool (*is_lookup)(const struct sma_file_item *item);
};

/** OK: release with sma_file_list_fini | BADINPUT: not ours, or empty | NOMEM */
SMA_CHECKED enum sma_err sma_file_list_parse(struct sma_str text,
                                             const struct sma_file_shape *shape,
                                             struct sma_file_list *ret_list);
/** One more, as it would stand in the text; takes a reference to it. false: no room, or not
 *  ours. */
SMA_CHECKED bool sma_file_list_add(struct sma_file_list *list, const struct sma_file_shape *shape,
                                   struct json_t *json);
/**
 * The part of a message that this file is, once it is there. By its kind and by what the platform
 * calls its type; what its bytes are is looked at later.
 * @return false: it is none that a model may be given (a look-up, a video)
 */
SMA_CHECKED bool sma_file_item_part(const struct sma_file_item *item, struct sma_part *ret_part);
void sma_file_list_fini(struct sma_file_list *list); /* accepts a zeroed struct */

#endif
