/*
 * tools.h — what the model may call: the table with schemas, the check of arguments, and the words of every result.
 *
 * Nothing here acts. A call's arguments are checked against its schema; what is wrong is said to the model in one
 * sentence that names what was expected, and the run goes on. Results are JSON objects as in the reference §9.
 * Threads: any; no state.
 */
#ifndef SMA_RUNTIME_TOOLS_H
#define SMA_RUNTIME_TOOLS_H

#include "sma/messages.h"
#include "sma/wire.h"

enum sma_tool
{
    SMA_TOOL_CONTACT_LOOKUP,
    SMA_TOOL_CONTACT_SEND,
    SMA_TOOL_LOAD_HISTORY,
    SMA_TOOL_SEND,
    SMA_TOOL_COUNT,
    SMA_TOOL_UNKNOWN = SMA_TOOL_COUNT,
};

#define SMA_TOOL_HISTORY_LIMIT_DEFAULT 30
#define SMA_TOOL_KEYWORD_LENGTH_MAX 200 /* UTF-16 units */

/** The specs in order of name (the order of the request, so that its bytes are stable). Static. */
const struct sma_tool_spec *sma_tool_specs(size_t *ret_count);
/** By exact name; UNKNOWN for any other. */
enum sma_tool sma_tool_find(struct sma_str name);

/* Checked arguments; slices live until sma_tool_args_fini. Members a tool does not have are empty. */
struct sma_tool_args
{
    struct sma_str text;      /* chat_send, chat_contact_send: not blank */
    struct sma_str user_name; /* contacts: trimmed, not blank */
    struct sma_str keyword;   /* chat_load_history: trimmed; empty = recent */
    uint32_t limit;           /* chat_load_history: 1..200 */
    void *root;               /* owns the slices */
};
/**
 * Check `arguments` (JSON text) of a call of `tool`.
 * @why  on BADINPUT the sentence for the model is appended
 * @return OK | BADINPUT | NOMEM. Members nobody knows are ignored. Allocates.
 */
SMA_CHECKED enum sma_err sma_tool_args_parse(enum sma_tool tool, struct sma_str arguments,
                                             struct sma_tool_args *ret_args, struct sma_buf *why);
void sma_tool_args_fini(struct sma_tool_args *args); /* accepts a zeroed struct */

/* -- results ---------------------------------------------------------------------------------------------------- */
/** {"success":false,"error":...} */
void sma_tool_put_error(struct sma_buf *buf, struct sma_str error);
/** The sentence for a tool nobody has: names the ones there are. */
void sma_tool_put_unknown(struct sma_buf *buf, struct sma_str name);
/** How a delivery went. @return false when it certainly did not arrive */
bool sma_tool_put_sent(struct sma_buf *buf, enum sma_send_state state, struct sma_str error);
/**
 * History lines, oldest first. What does not fit SMA_TOOL_RESULT_BYTES_MAX is left out from the old end and said.
 * @has_speakers  user lines begin with the speaker's name (groups)
 */
void sma_tool_put_history(struct sma_buf *buf, const struct sma_history_lines *lines,
                          struct sma_str keyword, bool has_speakers);
void sma_tool_put_contact(struct sma_buf *buf, struct sma_str contact_json);
void sma_tool_put_no_contact(struct sma_buf *buf, struct sma_str user_name);

#endif
