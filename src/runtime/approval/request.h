/*
 * request.h — what people are asked: one request with one item for each call of an answer that
 * needs their consent.
 *
 * As JSON it goes from the agent to the store with the step that parks the run, into state.db, and
 * from there into cards, lists and the file of protocols/project.md §10.4. Only this file knows its
 * members.
 * Untrusted: everything in it was written by a model. Reading it checks every member.
 * Threads: any; no state.
 */
#ifndef SMA_APPROVAL_REQUEST_H
#define SMA_APPROVAL_REQUEST_H

#include "sma/buf.h"
#include "sma/limits.h"

enum sma_request_outcome
{
    SMA_REQUEST_OPEN,
    SMA_REQUEST_APPROVED,
    SMA_REQUEST_REFUSED,
    SMA_REQUEST_EXPIRED,
    SMA_REQUEST_CANCELLED, /* /stop, /clear */
};
/** "pending" "approved" "rejected" "expired" "cancelled". */
const char *sma_request_outcome_name(enum sma_request_outcome outcome);

/* Member "sandbox" of the details of a command: the walls that it will run between. */
#define SMA_REQUEST_SANDBOX_OFFLINE "no-network"
#define SMA_REQUEST_SANDBOX_ONLINE "network"
#define SMA_REQUEST_SANDBOX_NONE "off"

/* Member "binding" of the same: it reads files that the digest cannot hold, by words whose meaning
 * is not known; or its words are held, and its program reads others by itself. */
#define SMA_REQUEST_BINDING_OPEN "open"
#define SMA_REQUEST_BINDING_BESIDE "beside"

struct sma_request_item
{
    uint32_t call; /* index of the call in its answer */
    /* "exec_shell" "write_repo" "mcp_tool" "send" "web" (protocols/project.md §10.4, and ours) */
    struct sma_str type;
    struct sma_str tool; /* name of the tool; of a server's: "server:tool" */
    /* one line for people, at most 200 bytes: the command, the path, the receiver */
    struct sma_str title;
    struct sma_str input_json; /* the call's arguments */
    /* protocols/project.md §10.4: {command}, {filePath,content}, {toolName,args},
     * {receiver,text} */
    struct sma_str details_json;
    struct sma_str diff;                  /* unified, for writes; may be empty */
    struct sma_str rule, program, reason; /* of the policy's decision, may be empty */
    struct sma_str grant_rule; /* what "always" would allow; empty: this can only be allowed once */
    /* the rule for its program that would let it run, too (read_rules.h); empty: there is none that
     * is safe */
    struct sma_str program_rule;
    uint8_t digest[32]; /* what exactly is agreed to */
    bool is_admin_only; /* only an owner or administrator may agree; else also who asked for it */
    bool is_by_helper;  /* a sub-agent wants it: the card says so */
    bool
        /* only an owner: it changes what the agent is and may do, or what programs run */
        is_owner_only;
};
struct sma_request
{
    uint32_t item_count; /* 1..SMA_TOOL_CALL_COUNT_MAX */
    struct sma_request_item items[SMA_TOOL_CALL_COUNT_MAX];
    void *root; /* owns the slices */
};

/** Append one item as a JSON object. Cuts nothing: the caller keeps to the bounds. */
void sma_request_put_item(struct sma_buf *buf, const struct sma_request_item *item);
/** The same item, as one that a sub-agent wants. */
void sma_request_put_by_helper(struct sma_buf *buf, struct sma_str item_json);
/** The whole: {"items":[...]} of `count` ready items, each with its call index set to calls[i]. OK
 *  | BADINPUT | NOMEM. */
SMA_CHECKED enum sma_err sma_request_put(struct sma_buf *buf, const struct sma_str *item_jsons,
                                         const uint32_t *calls, uint32_t count);
/** OK | BADINPUT | NOMEM. Release with sma_request_fini. */
SMA_CHECKED enum sma_err sma_request_parse(struct sma_str json, struct sma_request *ret_request);
void sma_request_fini(struct sma_request *request); /* accepts a zeroed struct */

#endif
