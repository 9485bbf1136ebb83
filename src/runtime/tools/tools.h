/*
 * tools.h — what the model may call: the table with schemas, the check of arguments, and the words
 * of every result.
 *
 * Nothing here acts. A call's arguments are checked against its schema; what is wrong is said to
 * the model in one sentence that names what was expected, and the run goes on. Results are JSON
 * objects as in protocols/project.md §9.
 * Threads: any; no state.
 */
#ifndef SMA_RUNTIME_TOOLS_H
#define SMA_RUNTIME_TOOLS_H

#include "runtime/tools/tool_table.h"
#include "sma/messages.h"
#include "sma/wire.h"

enum sma_tool
{
#define X(id, name, offer, is_gated, is_work, flow, description, schema) SMA_TOOL_##id,
    SMA_TOOL_MAP(X)
#undef X
        SMA_TOOL_COUNT,
    SMA_TOOL_UNKNOWN = SMA_TOOL_COUNT,
    SMA_TOOL_MCP, /* of an MCP server, or one of ours around them: no row tells of it */
};

#define SMA_TOOL_HISTORY_LIMIT_DEFAULT 30
#define SMA_TOOL_KEYWORD_LENGTH_MAX 200 /* UTF-16 units */
#define SMA_TOOL_COMMAND_BYTES_MAX (64 * 1024)
#define SMA_TOOL_PATH_BYTES_MAX 4000
#define SMA_TOOL_PATTERN_BYTES_MAX 1000
#define SMA_TOOL_EMOJI_BYTES_MAX 64
#define SMA_TOOL_COUNT_NAMED_MAX 64 /* names in one list of tools */

/** All specs in order of name, which is the order of enum sma_tool. Static. */
const struct sma_tool_spec *sma_tool_specs(size_t *ret_count);

/* What a chat can be offered besides the tools that every chat has, and, in the bits above, what
 * `chats` of the configuration takes away. It depends on the chat and never on who speaks: tools
 * stand first in a request, and in a group the provider's cache would be lost with each other
 * speaker. What somebody may not use is refused when it is called. */
enum sma_tool_offer
{
    SMA_TOOL_OFFER_FILES = 1,     /* send_file, send_voice: a platform takes files */
    SMA_TOOL_OFFER_REACTIONS = 2, /* react: the channel has reactions */
    SMA_TOOL_OFFER_SKILLS = 4,    /* skills_list, skills_load: the project has a place for them */
    SMA_TOOL_OFFER_HELPERS = 8,   /* agent_run: agent.helpers is not 0 */
    SMA_TOOL_OFFER_WEB = 16,      /* web_fetch: permissions.web allows some of it */
    SMA_TOOL_OFFER_SEARCH = 32,   /* web_search: web.search names a provider */
    SMA_TOOL_OFFER_CARDS = 64,    /* send_card: a platform has cards */
    SMA_TOOL_OFFER_FETCH = 128,   /* download_attachment: the channel has files */
    SMA_TOOL_OFFER_ALL = 255,     /* everything that a chat may have */
    SMA_TOOL_OFFER_REFUSED = 8,   /* from this bit on: one for each tool that is not offered */
};
_Static_assert(SMA_TOOL_COUNT <= 32 && SMA_TOOL_OFFER_REFUSED + 32 <= 64, "each tool has its bit");
/** Is the tool offered to a chat with these offers? */
bool sma_tool_is_offered(enum sma_tool tool, uint64_t offers);
/** The offered specs in order of name (the order of the request, so that its bytes are stable) into
 *  ret_specs[SMA_TOOL_COUNT]. @return how many */
size_t sma_tool_specs_for(uint64_t offers, struct sma_tool_spec *ret_specs);
/** By exact name, or by another name of it (send_message: chat_send); UNKNOWN for any other. */
enum sma_tool sma_tool_find(struct sma_str name);
/** send_file, send_voice: what goes out is a file. */
static inline bool sma_tool_sends_file(enum sma_tool tool)
{
    return tool == SMA_TOOL_SEND_FILE || tool == SMA_TOOL_SEND_VOICE;
}
/** chat_send and its like: another chat may be named in the arguments. */
static inline bool sma_tool_has_destination(enum sma_tool tool)
{
    return tool == SMA_TOOL_SEND || tool == SMA_TOOL_SEND_CARD || sma_tool_sends_file(tool);
}
/** Does TOOL CHECK come before the call is carried out (exec_shell, writes, sends)? */
bool sma_tool_is_gated(enum sma_tool tool);
/** Does it leave everything as it was, so that it may be done twice? */
bool sma_tool_only_reads(enum sma_tool tool);
/* What comes in and goes out by a call, besides what people are asked about anyway. */
enum sma_tool_flow
{
    SMA_FLOW_QUIET,  /* its result tells nothing of the project, its people or another server */
    SMA_FLOW_TELLS,  /* it may; so does everything that is not in the table */
    SMA_FLOW_LEAVES, /* its address or query goes to the web, and its result is the web's */
};
enum sma_tool_flow sma_tool_flow(enum sma_tool tool);
/** Is it carried out by the tools actor (TOOL RUN)? */
bool sma_tool_is_work(enum sma_tool tool);

/* Checked arguments; slices live until sma_tool_args_fini. Members a tool does not have are
 * empty. */
struct sma_tool_args
{
    struct sma_str instructions; /* agent_run: not blank */
    struct sma_str model;        /* agent_run: empty = the chat's */
    uint32_t tools;              /* agent_run: bit = enum sma_tool; says_tools: else the usual */
    bool says_tools;
    /* agent_run: the same list, a JSON list of root, when it names tools of servers; else NULL */
    const void *server_tools;
    struct sma_str text;      /* chat_send, chat_contact_send: not blank */
    struct sma_str user_name; /* contacts: trimmed, not blank */
    struct sma_str user_id;   /* resolve_user_profile: empty = who is answered */
    struct sma_str keyword;   /* chat_load_history: trimmed; empty = recent */
    uint32_t
        /* chat_load_history: 1..200; read_file: lines, read_more: bytes, 0 = all that fits */
        limit;
    struct sma_str command; /* exec_shell: not blank */
    uint32_t timeout_ms;    /* exec_shell: 1..SMA_EXEC_TIMEOUT_MS_MAX */
    struct sma_str path;    /* files: not blank; list_files, search_files: empty = the project */
    struct sma_str content; /* write_file: may be empty; send_card: the card as JSON */
    struct sma_str old_text, new_text; /* edit_file: old_text not empty and not equal to new_text */
    struct sma_str pattern; /* search_files: not empty; list_files: a glob, empty = all */
    struct sma_str glob;    /* search_files: names of files, empty = all */
    struct sma_str handle;  /* read_more */
    /* send_file: "photo" "document" "voice" "audio"; by extension when not given */
    struct sma_str kind;
    struct sma_str caption; /* send_file: may be empty */
    /* react: message_id empty = the message that is answered; download_attachment: it or path */
    struct sma_str emoji, message_id;
    struct sma_str url;   /* web_fetch: not empty */
    struct sma_str query; /* web_search, memory_search: not empty */
    uint32_t max_bytes;   /* web_fetch: of the page's text */
    uint32_t count;       /* web_search: results */
    uint64_t offset;      /* read_file: line from 1; read_more: byte from 0 */
    bool replaces_all;    /* edit_file */
    bool is_recursive;    /* list_files */
    bool ignores_case;    /* search_files */
    struct sma_str name;  /* skills_load: not blank */
    bool refreshes;       /* skills_list, skills_load */

    /* chat_send and its like: another chat than the one that asks; each may be empty. message_id:
     * what is replied to */
    struct sma_str channel, chat_id, thread_id, chat_type;
    struct sma_str scope; /* memory_upsert: "project"; else here */
    uint32_t importance;  /* memory_upsert: 1..10, 0 = not said */
    uint64_t replaces;    /* memory_upsert: 0 = none */
    void *tags;           /* memory_upsert: a JSON list of strings of root, or NULL */
    void *root;           /* owns the slices */
};
/**
 * Check `arguments` (JSON text) of a call of `tool`.
 * @why  on BADINPUT the sentence for the model is appended
 * @return OK | BADINPUT | NOMEM. Members nobody knows are ignored. Allocates.
 */
SMA_CHECKED enum sma_err sma_tool_args_parse(enum sma_tool tool, struct sma_str arguments,
                                             struct sma_tool_args *ret_args, struct sma_buf *why);
void sma_tool_args_fini(struct sma_tool_args *args); /* accepts a zeroed struct */
/** Do these arguments name another chat than `own`? Its own, named, is its own. */
bool sma_tool_args_are_elsewhere(const struct sma_tool_args *args, const struct sma_route *own);
/** Does the call go to another chat than `own`? What cannot be read goes nowhere. Allocates. */
bool sma_tool_goes_elsewhere(enum sma_tool tool, struct sma_str arguments,
                             const struct sma_route *own);

/* -- results ----------------------------------------------------------------------------------- */
/** {"success":false,"error":...} */
void sma_tool_put_error(struct sma_buf *buf, struct sma_str error);
/** The sentence for a tool nobody has: names the ones that a chat with these offers has. */
void sma_tool_put_unknown(struct sma_buf *buf, struct sma_str name, uint64_t offers);
/** What a sub-agent reports; `error` empty: it came to its end. */
void sma_tool_put_report(struct sma_buf *buf, struct sma_str output, struct sma_str error);
/** Does a result of sma_tool_put_sent say that the platform has it? */
bool sma_tool_has_arrived(struct sma_str result);
/** The result of a text that was sent just before: it was not sent again. */
void sma_tool_put_sent_before(struct sma_buf *buf);
/** Why a chat cannot be written to: the store's sentence. */
void sma_tool_put_no_chat(struct sma_buf *buf, struct sma_str why);
/** How a delivery went. `to`: the key of another chat; empty: the chat that asks.
 *  @return false when it certainly did not arrive */
bool sma_tool_put_sent(struct sma_buf *buf, enum sma_send_state state, struct sma_str error,
                       struct sma_str to);
/**
 * History lines, oldest first. What does not fit SMA_TOOL_RESULT_BYTES_MAX is left out from the old
 * end and said.
 * @has_speakers  user lines begin with the speaker's name (groups)
 */
/** Of download_attachment. @return whether anything is there */
bool sma_tool_put_fetched(struct sma_buf *buf, const struct sma_fetched *fetched);
void sma_tool_put_history(struct sma_buf *buf, const struct sma_history_lines *lines,
                          struct sma_str keyword, bool has_speakers);
void sma_tool_put_contact(struct sma_buf *buf, struct sma_str contact_json);
/** contacts_json: a list of those who have this name. */
void sma_tool_put_namesakes(struct sma_buf *buf, struct sma_str user_name,
                            struct sma_str contacts_json);
void sma_tool_put_no_contact(struct sma_buf *buf, struct sma_str user_name);
/** `,"from":...,"note":...`: members that mark what stands in a result as written by strangers:
 *  information, never instruction. from: "web: example.com", "mcp: files". For every result whose
 *  text comes from outside. */
void sma_tool_put_foreign(struct sma_buf *buf, struct sma_str from);

#endif
