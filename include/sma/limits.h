/*
 * limits.h — every bound of the program, with its unit in its name. What happens at a limit stands
 * beside it.
 */
#ifndef SMA_LIMITS_H
#define SMA_LIMITS_H

/* -- mailboxes --------------------------------------------------------------------------------- */
#define SMA_ACTOR_COUNT_MAX 25   /* ids 0..24; adapters take the upper ones */
#define SMA_ADAPTER_COUNT_MAX 16 /* adapters configured at once: start refuses more */
#define SMA_LANE_BURST_COUNT 64  /* messages taken from one lane before the next is served */
#define SMA_LANE_COUNT_MAX 65536 /* slots of one lane; a power of two */

/* -- asks an asker may have open on one edge (the answer lane is as large) --------------------- */
/* adapter -> store; at the limit the adapter stops reading */
#define SMA_ASK_INGRESS_COUNT_MAX 1024
#define SMA_ASK_AWAIT_COUNT_MAX 2048   /* http -> store, waiting callers; at the limit 503 */
#define SMA_ASK_PREPARE_COUNT_MAX 64   /* store -> one adapter; further messages wait for a place */
#define SMA_ASK_WEBHOOK_COUNT_MAX 256  /* http -> one adapter; at the limit 503 */
#define SMA_ASK_STORE_COUNT_MAX 4096   /* agent -> store */
#define SMA_ASK_SEND_COUNT_MAX 4096    /* agent -> dispatcher */
#define SMA_ASK_MODEL_COUNT_MAX 1024   /* agent -> model: equals the largest agent.concurrency */
#define SMA_ASK_TOOL_COUNT_MAX 2048    /* agent -> tools; further calls wait */
#define SMA_ASK_MCP_COUNT_MAX 512      /* agent -> mcp; further calls wait */
#define SMA_ASK_ELICIT_COUNT_MAX 32    /* mcp -> agent, questions of servers; more are declined */
#define SMA_ASK_HELD_COUNT_MAX 64      /* mcp -> store, servers that are held; more ask later */
#define SMA_ASK_SAMPLE_COUNT_MAX 8     /* mcp -> agent, requests to the model; more are refused */
#define SMA_ASK_MEMORY_COUNT_MAX 1024  /* agent -> memory; recall goes without at the limit */
#define SMA_ASK_RECEIPT_COUNT_MAX 1024 /* dispatcher -> store */
#define SMA_ASK_ATTEMPT_COUNT_MAX 64   /* dispatcher -> one adapter */
#define SMA_DELIVER_CREDIT_COUNT 64    /* outbox rows handed to the dispatcher per adapter */
/* log lines of ordinary traffic an actor writes a second; more are left out, counted */
#define SMA_TRAFFIC_LINE_COUNT_S 200
#define SMA_SIGNAL_COUNT_MAX 256 /* slots of a signal lane; dropped beyond, counted */

/* -- messages from outside --------------------------------------------------------------------- */
/* one message's text; over it the adapter refuses with a clear error */
#define SMA_TEXT_BYTES_MAX (1024 * 1024)
#define SMA_ID_BYTES_MAX 512   /* any platform id; over it BADINPUT */
#define SMA_NAME_BYTES_MAX 512 /* display names are cut to this */
#define SMA_CHAT_KEY_BYTES_MAX 1024
/* enc(chatKey) beyond this is shortened with a hash; see history.h */
#define SMA_FILE_NAME_BYTES_MAX 200
#define SMA_META_BYTES_MAX 4096
#define SMA_JSON_DEPTH_MAX 64

/* -- store ------------------------------------------------------------------------------------- */
#define SMA_BATCH_COUNT_MAX 1024 /* messages in one transaction */
/* over this, claims older than SMA_CLAIM_AGE_MIN_H go */
#define SMA_CLAIM_COUNT_SOFT 1000000
#define SMA_CLAIM_COUNT_MAX 8000000 /* at this, intake stops */
#define SMA_CLAIM_AGE_MIN_H 72
/* waiting messages of one chat; then visibly refused (adr 0030) */
#define SMA_CHAT_WAITING_COUNT_MAX 1000
/* waiting messages of all chats; then platforms have to bring them again */
#define SMA_INBOX_WAITING_COUNT_MAX 200000
/* A group is greeted when the bot has come into it, unless that was longer ago than this. */
#define SMA_GREETING_AGE_S_MAX 600
#define SMA_NOTICE_INTERVAL_S 30   /* at most one busy notice per chat in this time */
#define SMA_HISTORY_LINES_MAX 1000 /* lines of a main history file before rotation */
/* bytes of a main history file before rotation */
#define SMA_HISTORY_FILE_BYTES_MAX (16 * 1024 * 1024)
#define SMA_HISTORY_LOAD_COUNT_MAX 200     /* chat_load_history limit */
#define SMA_HISTORY_BYTES_MAX (256 * 1024) /* bytes of one chat_load_history answer */
/* a longer line of it is shortened to the beginning of its words, and others have room */
#define SMA_HISTORY_WHOLE_LINE_BYTES_MAX (128 * 1024)
#define SMA_HISTORY_SHORTENED_BYTES (16 * 1024)
#define SMA_SEARCH_SLICE_BYTES (1024 * 1024) /* read per slice between batches */
/* the newest in contacts.json; older ones are in state.db only */
#define SMA_CONTACTS_PROJECTED_MAX 10000
#define SMA_WAL_PREGROWN_BYTES (4 * 1024 * 1024)
/* below this free space no effect starts; intake stops at four times it */
#define SMA_DISK_RESERVE_BYTES (8 * 1024 * 1024)
/* unclean attempts without a step, then given up with a notice */
#define SMA_RUN_ATTEMPT_COUNT_MAX 3

/* -- people and preparation -------------------------------------------------------------------- */
/* then a run starts without what could not be fetched */
#define SMA_PREPARE_S 90
/* a file that did not get there for so long, or so often, lets the words behind it pass */
#define SMA_DELIVERY_FILE_S 10
#define SMA_DELIVERY_FILE_ATTEMPT_COUNT 4
/* an album is complete after this long without a further piece */
#define SMA_GROUP_QUIET_MS 700
/* ... of a text that the client has cut, and of what is forwarded and the words with it */
#define SMA_GROUP_GESTURE_QUIET_MS 1500
/* pieces of one album; further ones are messages of their own */
#define SMA_GROUP_COUNT_MAX 32
#define SMA_FOLLOWUP_WINDOW_MS 600000 /* default of adapters.<platform>.followupWindowMs */
/* default of backlogMaxS: older messages are recorded, not answered */
#define SMA_BACKLOG_MAX_S 86400
/* default of backlogLateS: nor are these, when a newer one of the chat is answered already */
#define SMA_BACKLOG_LATE_S 1800
/* of one message; further ones are named, not fetched */
#define SMA_ATTACHMENT_COUNT_MAX 16
/* of how they are asked for, in the history; longer is left out */
#define SMA_ATTACHMENT_META_BYTES_MAX (16 * 1024)
/* questions of one kind to the platforms, at once: files that are fetched once more; people */
#define SMA_PLATFORM_ASK_COUNT_MAX 16
/* default of adapters.<platform>.attachmentBytesMax */
#define SMA_ATTACHMENT_BYTES_MAX (20 * 1024 * 1024)

/* -- agent ------------------------------------------------------------------------------------- */
#define SMA_RUN_STEP_COUNT_MAX 30
/* sub-agents of one run at the same time (agent.helpers, whose default it is); others wait */
#define SMA_HELPER_COUNT_MAX 4
/* answers of the model that one sub-agent may have: default of agent.helperSteps */
#define SMA_HELPER_STEP_COUNT 15
/* sub-agents of one run in all; further calls are answered with an error */
#define SMA_HELPER_TOTAL_MAX 16
/* a run that has stored so many steps begins no sub-agent any more: the call gets an error */
#define SMA_HELPER_STEP_NUMBER_MAX 400
#define SMA_HELPER_INSTRUCTION_BYTES_MAX (64 * 1024) /* over it the call gets an error */
/* calls in one step; further ones are answered with an error */
#define SMA_TOOL_CALL_COUNT_MAX 32
/* of a chat's conversation, in memory and in state.db; a summary replaces older ones before that */
#define SMA_SESSION_TURN_COUNT_MAX 4096
/* of one session, cut at turns: what a window of a million tokens holds */
#define SMA_SESSION_BYTES_MAX (6 * 1024 * 1024)
#define SMA_TURN_BYTES_MAX (512 * 1024) /* of one turn; of a longer one the newest rounds stay */
#define SMA_SESSION_COUNT_MAX 4096      /* sessions in memory; the idlest goes first */
/* of those that are not in use; others come back from state.db */
#define SMA_SESSION_BYTES_TOTAL_MAX (8 * 1024 * 1024)
/* summaries asked for in one life of a run */
#define SMA_COMPACTION_COUNT_MAX 32
#define SMA_SESSION_IDLE_S 1800
/* in a row: requests made shorter before one is answered */
#define SMA_SHRINK_COUNT_MAX 6
#define SMA_CONCURRENCY_MAX 1024
/* a run keeps its place in agent.concurrency so long after a step that has opened calls, and after
 * one behind which the model is asked; then it is others' until the next step (adr 0090) */
#define SMA_PLACE_CALL_MS 1000
#define SMA_PLACE_MODEL_MS 10000
#define SMA_PLACE_OTHER_MS 2000 /* ... for a person of whom no run is open (adr 0101) */
#define SMA_TOOL_RESULT_BYTES_MAX 30000
#define SMA_SEND_WAIT_S 30 /* then chat_send answers "queued" */

/* -- skills: what is over a bound is left out and said ----------------------------------------- */
#define SMA_SKILL_PATH_COUNT_MAX 32            /* of skills.paths; more is an error at start */
#define SMA_SKILL_COUNT_MAX 300                /* of one look at the roots */
#define SMA_SKILL_ROOT_ENTRY_COUNT_MAX 5000    /* looked at in one root */
#define SMA_SKILL_MD_BYTES_MAX (256 * 1024)    /* a longer SKILL.md: the skill is broken */
#define SMA_SKILL_FRONT_BYTES_MAX (64 * 1024)  /* its front matter; longer counts as none */
#define SMA_SKILL_FRONT_NODE_COUNT_MAX 2000    /* values in it; likewise */
#define SMA_SKILL_FRONT_DEPTH_MAX 16           /* values in values; likewise */
#define SMA_SKILL_FILE_COUNT_MAX 1000          /* files and folders of a skill; else broken */
#define SMA_SKILL_DEPTH_MAX 16                 /* folders in folders; else broken */
#define SMA_SKILL_BYTES_MAX (16 * 1024 * 1024) /* of all its files; else broken */
#define SMA_SKILL_SCAN_ENTRY_COUNT_MAX 20000   /* of one look; skills beyond it are broken */
#define SMA_SKILL_SCAN_BYTES_MAX (256 * 1024 * 1024) /* read in one look; likewise */
#define SMA_SKILL_LINE_COUNT_MAX 40                  /* of the prompt; then "and N more" */
#define SMA_SKILL_SHOWN_COUNT_MAX 64    /* outside the project, found by commands; others are not */
#define SMA_SKILL_LOADED_BYTES_MAX 4096 /* folders of those a run has loaded; more have no rules */
#define SMA_SKILL_RULE_COUNT_MAX 32     /* of the skills of one run; the rest is asked about */
#define SMA_SKILL_RECORD_BYTES_MAX (1024 * 1024) /* .ship/skills.json; longer is damaged */

/* -- model ------------------------------------------------------------------------------------- */
#define SMA_REQUEST_BYTES_MAX (8 * 1024 * 1024)
#define SMA_ANSWER_BYTES_MAX (4 * 1024 * 1024)
#define SMA_SSE_LINE_BYTES_MAX (16 * 1024 * 1024)
#define SMA_SSE_ID_BYTES_MAX 255 /* of an event; a longer one is as none */
#define SMA_MODEL_RETRY_COUNT_MAX 2
#define SMA_MODEL_CONNECT_S 10
/* of a stream, from the moment the request leaves; a hang is repeated once */
#define SMA_MODEL_FIRST_BYTE_S 60
/* the same of a server on this machine or in a private network: it loads a model first, and reads
 * slowly; what it was given it is not given again */
#define SMA_MODEL_LOCAL_FIRST_BYTE_S 600
/* the same without streaming: the answer comes whole */
#define SMA_MODEL_WHOLE_S 300
#define SMA_MODEL_IDLE_S 90 /* since the last data event; comments do not count */
#define SMA_MODEL_TOTAL_S 1800

/* -- working tools ----------------------------------------------------------------------------- */
#define SMA_EXEC_COUNT_MAX 64 /* commands at once; further ones wait for a place */
/* default of exec_shell's timeout (protocols/project.md §9.4) */
/* so often a program was agreed to: then its cards offer to allow it for good */
#define SMA_PROGRAM_YES_COUNT 3
#define SMA_EXEC_PERSON_PLACE_COUNT 16 /* of them those of one person; his further ones wait */
/* persons whose time of commands is remembered; beyond it whose hour is the oldest is forgotten */
#define SMA_EXEC_PERSON_COUNT_MAX 256
#define SMA_EXEC_TIMEOUT_MS 30000
#define SMA_EXEC_TIMEOUT_MS_MAX 3600000 /* a longer one is cut to this; so is 0 */
#define SMA_EXEC_KILL_MS 2000           /* from SIGTERM to SIGKILL of the whole group */
/* of one command's output on disk; the rest is dropped and said */
#define SMA_EXEC_LOG_BYTES_MAX (64 * 1024 * 1024)
#define SMA_EXEC_PROCESS_COUNT_MAX 256 /* of one command; beyond it the command is ended */
/* default of permissions.exec_shell.memoryMb, per process */
#define SMA_EXEC_MEMORY_MB 2048
#define SMA_EXEC_MEMORY_MB_MIN 64 /* ... and what it may be */
#define SMA_EXEC_MEMORY_MB_MAX (1024 * 1024)
/* a larger file is refused by read_file and edit_file */
#define SMA_FILE_READ_BYTES_MAX (10 * 1024 * 1024)
#define SMA_FILE_WRITE_BYTES_MAX (1024 * 1024)
#define SMA_FILE_LIST_COUNT_MAX 1000 /* entries of one list_files */
/* Of a list of names by pattern: entries that are looked at, and ms; then there may be more. */
#define SMA_FILE_NAMES_LOOK_COUNT_MAX 20000
#define SMA_FILE_NAMES_MS 200
#define SMA_FILE_SEARCH_COUNT_MAX 200 /* lines of one search_files */
#define SMA_FILE_SEARCH_MS 10000      /* then it gives what it has and says so */
/* identical failing calls of one run; further ones are not carried out */
/* the same call with the same result, unknown tools: the run is summed up; told from the third */
#define SMA_LOOP_COUNT_MAX 6
/* rounds in a row that read the same but for a number: summed up; told from the sixth */
#define SMA_COUNTER_LOOP_COUNT_MAX 12
#define SMA_REPEAT_COUNT_MAX 3

/* -- MCP servers ------------------------------------------------------------------------------- */
#define SMA_MCP_SERVER_COUNT_MAX 32 /* in mcp.json; further ones are not started, which is said */
/* of one server; further ones are left out and counted, which is said */
#define SMA_MCP_TOOL_COUNT_MAX 1024
#define SMA_MCP_NAME_BYTES_MAX 128 /* of a tool or prompt; one with a longer name is left out */
/* of a name as models get it: what providers allow */
#define SMA_MCP_WIRE_BYTES_MAX 64
/* of a tool; longer ones are cut */
#define SMA_MCP_DESCRIPTION_BYTES_MAX 4096
/* of the schema of one tool; a tool with a larger or deeper one is left out */
#define SMA_MCP_SCHEMA_BYTES_MAX (32 * 1024)
#define SMA_MCP_SCHEMA_DEPTH_MAX 32
/* what all servers offer, as text; what is beyond is left out and counted */
#define SMA_MCP_CATALOGUE_BYTES_MAX (16 * 1024 * 1024)
#define SMA_MCP_PROGRESS_BYTES_MAX 200 /* of a line of progress; cut beyond */
/* not yet taken by a server; then it is started anew */
#define SMA_MCP_WRITE_BYTES_MAX (8 * 1024 * 1024)
/* of its stderr on disk, twice, and in a minute; the rest is left out and counted */
#define SMA_MCP_LOG_BYTES_MAX (1024 * 1024)
#define SMA_MCP_MEMORY_MB 4096 /* that each process of a server may write to */
/* of the pictures of one server in .ship/.cache/mcp; the oldest go */
#define SMA_MCP_PICTURES_BYTES_MAX (32 * 1024 * 1024)
#define SMA_MCP_CONFIG_BYTES_MAX (1024 * 1024) /* of mcp.json; a larger one is not read */
#define SMA_MCP_SERVER_NAME_BYTES_MAX 64       /* one with a longer name is not started */
/* of a call, since it left or since the last word of progress; default of timeoutMs */
#define SMA_MCP_TIMEOUT_MS 60000
#define SMA_MCP_TIMEOUT_MS_MIN 100 /* ... and what it may be */
#define SMA_MCP_TIMEOUT_MS_MAX 3600000
/* progress renews a call's time up to so many times it in all */
#define SMA_MCP_RENEWED_COUNT_MAX 10
/* requests open at one server; further calls are refused before they leave */
#define SMA_MCP_OPEN_COUNT_MAX 64
/* of one message of a server; a larger one is skipped and ends what it answers */
#define SMA_MCP_MESSAGE_BYTES_MAX (4 * 1024 * 1024)
/* of what a server lists, as text; what is beyond is left out and counted */
#define SMA_MCP_LIST_BYTES_MAX (4 * 1024 * 1024)
#define SMA_MCP_PAGE_COUNT_MAX 64            /* of one list; what is beyond is left out and said */
#define SMA_MCP_RESOURCE_COUNT_MAX 512       /* of one server; further ones are left out */
#define SMA_MCP_PROMPT_COUNT_MAX 128         /* the same */
#define SMA_MCP_PROMPT_BYTES_MAX (32 * 1024) /* of what one gives; what is beyond is cut */
#define SMA_MCP_PROMPT_MS 20000              /* then it is not waited for, and the chat is told */
#define SMA_MCP_CHANGED_LOG_S 60 /* between two lines that say that a server's list has changed */
/* for discovery; silence means a server of the older era */
#define SMA_MCP_PROBE_MS 3000
/* from the start to the list of tools; then it is started anew */
#define SMA_MCP_HANDSHAKE_MS 60000
#define SMA_MCP_LIST_MS 30000 /* for one page of a list */
/* between two looks at a list that a server says has changed */
#define SMA_MCP_RELIST_MS 1000
#define SMA_MCP_LISTEN_MS 5000 /* from the end of the stream that tells of changes to the next */
/* a result that asks to be repeated with its state; beyond, the call has failed */
#define SMA_MCP_ROUND_COUNT_MAX 8
/* for people to answer a question that a server asks in a call; then it is cancelled. The call's
 * own time does not run meanwhile */
#define SMA_MCP_ELICIT_MS 900000
#define SMA_MCP_ELICIT_TEXT_BYTES_MAX 2000          /* of such a question; cut beyond */
#define SMA_MCP_ELICIT_SCHEMA_BYTES_MAX (16 * 1024) /* one with a larger form is declined */
#define SMA_MCP_ELICIT_COUNT_MAX 8                  /* in one call; further ones are declined */
/* what a server may have the model asked (sampling): one request at a time, and so many in a minute
 * and in one call; what is over a bound is refused, with the reason */
#define SMA_MCP_SAMPLE_COUNT_S60 10
#define SMA_MCP_SAMPLE_COUNT_MAX 32
#define SMA_MCP_SAMPLE_BYTES_MAX (64 * 1024)        /* of all its text; over it refused */
#define SMA_MCP_SAMPLE_MESSAGE_COUNT_MAX 64         /* over it refused */
#define SMA_MCP_SAMPLE_TOKENS_MAX 4096              /* of an answer; more is made this */
#define SMA_MCP_SAMPLE_ANSWER_BYTES_MAX (64 * 1024) /* of an answer; cut beyond */
/* from the request to its answer; then it is refused. The call's own time does not run meanwhile */
#define SMA_MCP_SAMPLE_MS 120000
/* what a server says unasked (notices, requests, answers to nothing) in UNASKED_MS; then it is
 * started anew */
#define SMA_MCP_UNASKED_COUNT_MAX 20000
#define SMA_MCP_UNASKED_BYTES_MAX (64 * 1024 * 1024)
#define SMA_MCP_UNASKED_MS 10000
/* after a call's time-out, for any word at all; then the server is started anew */
#define SMA_MCP_PING_MS 10000
/* calls in a row without a readable answer; then a ping decides if the server is started anew */
#define SMA_MCP_UNCLEAR_COUNT_MAX 2
/* lines in a row that are no message; then the server is started anew */
#define SMA_MCP_GARBAGE_COUNT_MAX 10000
/* servers over HTTP: requests of one under way, with the standing stream; over it, it is lost */
#define SMA_MCP_HTTP_OPEN_COUNT_MAX 96
/* what of one server's answers is kept until it is whole; who goes over it is too large */
#define SMA_MCP_HTTP_HELD_BYTES_MAX (8 * 1024 * 1024)
#define SMA_MCP_HTTP_SESSION_BYTES_MAX 1024 /* of Mcp-Session-Id; with a longer one it is lost */
#define SMA_MCP_HTTP_ERROR_BYTES_MAX 4096   /* of an error's body; what is behind is not read */
#define SMA_MCP_URL_BYTES_MAX 4096          /* of any address that a server names */

/* -- pictures, PDFs and sounds for the model --------------------------------------------------- */
/* a larger file is not given to models; said instead */
#define SMA_PART_FILE_BYTES_MAX (64 * 1024 * 1024)
#define SMA_PICTURE_PIXELS_MAX 64000000u /* the same; 4 bytes each when it must be decoded */
#define SMA_ENCODE_COUNT_MAX 2           /* made ready at once; further ones wait */
/* of .ship/.cache/parts: over it the oldest go that were not used for two days */
#define SMA_PARTS_BYTES_SOFT (512ull * 1024 * 1024)
#define SMA_PARTS_BYTES_MAX (4096ull * 1024 * 1024) /* then none is added; said instead */

/* -- the web ----------------------------------------------------------------------------------- */
#define SMA_WEB_URL_BYTES_MAX 4000 /* of an address; a longer one is refused */
#define SMA_WEB_COUNT_MAX 4        /* pages fetched at once; further calls wait */
#define SMA_WEB_MS 30000u          /* for a page with its redirects; then the call fails */
#define SMA_WEB_REDIRECT_COUNT_MAX 5
/* of a page, unpacked; what is over it is not read, and said */
#define SMA_WEB_PAGE_BYTES_MAX (8 * 1024 * 1024)
#define SMA_WEB_TEXT_BYTES 20000     /* of its text, without maxChars */
#define SMA_WEB_TEXT_BYTES_MAX 28000 /* ... with; the result has to fit SMA_TOOL_RESULT_BYTES_MAX */
#define SMA_WEB_QUERY_BYTES_MAX 400  /* of a search; a longer one is refused */
#define SMA_WEB_RESULT_COUNT 8       /* of a search, without count */
#define SMA_WEB_RESULT_COUNT_MAX 20
#define SMA_WEB_PATTERN_COUNT_MAX 256 /* hosts in one list of ship.json */
#define SMA_WEB_PORT_COUNT_MAX 36     /* the four usual ones and those of web.ports */

/* -- approvals --------------------------------------------------------------------------------- */
/* parked runs; at it a call that must be asked about is refused */
#define SMA_APPROVAL_COUNT_MAX 10000
/* owners who are told in their own chat when nobody in the chat may decide */
#define SMA_APPROVAL_HOME_COUNT_MAX 4
/** requests that /approvals shows; of more it says how many there are */
#define SMA_APPROVAL_LIST_COUNT_MAX 20
/** lines of the log that /logs shows */
#define SMA_LOGS_SHOWN_COUNT_MAX 15
/** files of .ship/tasks that /tasks counts, and those that it names */
#define SMA_TASKS_SEEN_COUNT_MAX 200
#define SMA_TASKS_SHOWN_COUNT_MAX 20
/* of a diff shown in a request; the file on disk has up to 64 KiB */
#define SMA_APPROVAL_DIFF_BYTES_MAX 3000
#define SMA_GRANT_COUNT_MAX 256    /* of one chat; the oldest goes */
#define SMA_PAIRING_COUNT_MAX 1000 /* codes shown and not answered; the oldest goes */
#define SMA_PAIRING_S 86400        /* a code is good for this long */

/* -- memory ------------------------------------------------------------------------------------ */
/* of one file; a larger one is neither read nor written */
#define SMA_MEMORY_FILE_BYTES_MAX (1024 * 1024)
/* lines of one file that are indexed; at it nothing more is written into it */
#define SMA_MEMORY_FILE_FACT_COUNT_MAX 5000
/* of a fact that is written; what people write longer is cut where it is recalled */
#define SMA_MEMORY_TEXT_BYTES_MAX 1000
#define SMA_MEMORY_TAG_COUNT_MAX 8
#define SMA_MEMORY_TAG_BYTES_MAX 40
#define SMA_MEMORY_NAME_BYTES_MAX 200 /* of a file's name; a longer one gets a hash */
#define SMA_MEMORY_RECALL_COUNT_MAX 20
/* of the recalled facts in one request; further ones are left out */
#define SMA_MEMORY_RECALL_BYTES_MAX 6000
#define SMA_MEMORY_SEARCH_COUNT_MAX 50 /* of memory_search */
/* words of a message that are looked for: from its begin and its end */
#define SMA_MEMORY_QUERY_WORD_COUNT_MAX 32
/* every file is looked at again after this; those of who speaks, each time */
#define SMA_MEMORY_LOOK_S 300
#define SMA_MEMORY_PAGE_COUNT 15       /* facts that /memory shows at once */
#define SMA_MEMORY_PAGE_TEXT_BYTES 300 /* of each; the rest is cut */
/* facts that /memory and /forget walk through for words or a count */
#define SMA_MEMORY_WALK_COUNT_MAX 10000
#define SMA_MEMORY_KEEP_COUNT_MAX 30 /* proposals that one /memory keep makes facts */
/* chats whose numbers of the last /memory still count; the oldest goes */
#define SMA_MEMORY_SHOWN_COUNT_MAX 256
/* a run waits this long for what is recalled, then goes without */
#define SMA_MEMORY_WAIT_MS 250
/* facts that stand in the conversation and are asked about: are they still there? */
#define SMA_MEMORY_TOLD_COUNT_MAX 256
/* extraction: at most once in this time for a chat, from so many messages on, of the last so many;
 * what is less important is not kept */
#define SMA_MEMORY_EXTRACT_PAUSE_S 300
#define SMA_MEMORY_EXTRACT_MESSAGE_COUNT_MIN 6
#define SMA_MEMORY_EXTRACT_MESSAGE_COUNT_MAX 40
#define SMA_MEMORY_EXTRACT_URGENT_COUNT_MAX 200 /* ... before a compaction drops text */
#define SMA_MEMORY_EXTRACT_IMPORTANCE_MIN 4
#define SMA_MEMORY_EXTRACT_FACT_COUNT_MAX 20     /* of one answer; further ones are dropped */
#define SMA_MEMORY_EXTRACT_S 60                  /* the model is not waited for any longer */
#define SMA_MEMORY_EXTRACT_LINE_BYTES_MAX 1500   /* of one message; the rest is cut */
#define SMA_MEMORY_EXTRACT_BYTES_MAX (64 * 1024) /* of them all, and of the answer */
#define SMA_MEMORY_EXTRACT_CHAT_COUNT_MAX 20000  /* chats whose state is kept; the oldest go */
#define SMA_MEMORY_LOOK_FIRST_S 2                /* while there is nothing to recall */

/* retention.*: the longest that can be asked for; 0 = for ever */
#define SMA_KEEP_DAY_COUNT_MAX 36500
#define SMA_STRANGER_TEXT_BYTES_MAX 2048 /* kept of a message of somebody whom nobody knows */
/* of one of them in a day; more are claimed and not kept */
#define SMA_STRANGER_MESSAGE_COUNT_MAX 50
#define SMA_STRANGERS_MESSAGE_COUNT_MAX 5000 /* of all of them in a day */
/* new chats of theirs in a day; in others nothing is kept at all */
#define SMA_STRANGERS_CHAT_COUNT_MAX 2000

/* targets of which it is kept what they refuse; the longest unseen goes */
#define SMA_LEARNED_TARGET_COUNT_MAX 64
#define SMA_LEARNED_MEMBER_COUNT_MAX 16 /* of one target */
/* of the name of a target or member; longer ones are not kept */
#define SMA_LEARNED_BYTES_MAX 512
#define SMA_LEARNED_DAYS 7              /* then it is tried again: providers change */
#define SMA_PERSON_MINUTE_COUNT_MAX 600 /* highest limits.perPersonPerMinute */
#define SMA_USAGE_DAYS 400              /* sums of usage are kept for so long */
/* sums of one day; further chats and people count in one row together */
#define SMA_USAGE_DAY_ROW_COUNT_MAX 1024

/* -- delivery ---------------------------------------------------------------------------------- */
/* parts of one delivery; the rest is cut with a visible note */
#define SMA_PART_COUNT_MAX 64
/* attempts of one part, about 80 minutes of back-off; then given up */
#define SMA_ATTEMPT_COUNT_MAX 24
#define SMA_ATTEMPT_TIMEOUT_S 60
#define SMA_DELIVERY_LONG_HOLD_S \
    600 /* a delivery that may not be tried for so long waits in the store, which tells the owner */
#define SMA_RETRY_DELAY_MAX_S 300
/* open deliveries of one chat; chat_send fails beyond */
#define SMA_OUTBOX_CHAT_COUNT_MAX 1024

/* -- hooks ------------------------------------------------------------------------------------- */
#define SMA_HOOK_COUNT_MAX 8                /* hooks of ship.json: more are refused at start */
#define SMA_HOOK_CHAT_COUNT_MAX 64          /* patterns of one hook */
#define SMA_HOOK_SECRET_BYTES_MIN 16        /* a shorter key is refused at start */
#define SMA_HOOK_TEXT_BYTES_MAX (16 * 1024) /* of an answer's text in an event: cut, and said so */
#define SMA_HOOK_EVENT_BYTES_MAX (256 * 1024) /* of one event as JSON */
#define SMA_HOOK_ATTEMPT_MS 15000             /* for one attempt */
#define SMA_HOOK_RETRY_S_MAX 300              /* between attempts */
#define SMA_HOOK_FAILING_COUNT 3              /* failures in a row until /health says so */

/* -- http -------------------------------------------------------------------------------------- */
#define SMA_HTTP_HEADER_BYTES_MAX 8192
#define SMA_HTTP_BODY_BYTES_MAX (2 * 1024 * 1024)
/* of POST /api/execute, which may bring files along: one of the largest as base64, and a text */
#define SMA_HTTP_EXECUTE_BYTES_MAX (32 * 1024 * 1024)
#define SMA_HTTP_CONNECTION_COUNT_MAX 1024
#define SMA_HTTP_REQUEST_DEADLINE_S 10 /* to send headers and body */
#define SMA_HTTP_KEEPALIVE_S 60
#define SMA_HTTP_WAIT_S 900 /* a caller waits this long, then 202 with the id */

#define SMA_HTTP_FILE_BYTES_MAX (1024u * 1024) /* of what GET /api/files/<path> gives; else 413 */
#define SMA_HTTP_PATTERN_BYTES_MAX 200         /* of GET /api/files?pattern=: else 400 */

/* -- mcp, as a server ------------------------------------------------------------------------ */
/* a request id or progress token that is a string; over it the request is refused */
#define SMA_MCP_SERVE_ID_BYTES_MAX 256
/* the same as JSON, where a byte may become six */
#define SMA_MCP_SERVE_ID_JSON_BYTES_MAX (6 * SMA_MCP_SERVE_ID_BYTES_MAX + 2)
#define SMA_MCP_SERVE_CALL_COUNT_MAX 16 /* calls of one mcp-serve at a time; more are refused */
#define SMA_MCP_SERVE_PROGRESS_BYTES_MAX 200 /* of a text in notifications/progress; its end */
#define SMA_MCP_SERVE_LINE_BYTES_MAX SMA_HTTP_BODY_BYTES_MAX /* a longer one is thrown away */
#define SMA_MCP_SERVE_ANSWER_BYTES_MAX (32 * 1024 * 1024)    /* of one call; over it an error */

/* -- terminal ---------------------------------------------------------------------------------- */
#define SMA_TERMINAL_CLIENT_COUNT_MAX 16
#define SMA_TERMINAL_LINE_BYTES_MAX (2 * 1024 * 1024)

/* -- life -------------------------------------------------------------------------------------- */
/* an actor that handles one message longer than this is reported */
#define SMA_HEARTBEAT_S 10
#define SMA_COMMIT_SUSPEND_S 30
#define SMA_DRAIN_S 20 /* from SIGTERM to exit, at most */

_Static_assert((SMA_LANE_COUNT_MAX & (SMA_LANE_COUNT_MAX - 1)) == 0, "a lane is a power of two");
_Static_assert(SMA_TEXT_BYTES_MAX < SMA_HTTP_BODY_BYTES_MAX, "a body holds a whole text");
_Static_assert(SMA_ATTACHMENT_BYTES_MAX / 3 * 4 + 2 * SMA_TEXT_BYTES_MAX <
                   SMA_HTTP_EXECUTE_BYTES_MAX,
               "a body holds a whole attachment and a whole text");
_Static_assert(SMA_ASK_MODEL_COUNT_MAX >= SMA_CONCURRENCY_MAX, "every open run may ask the model");

#endif
