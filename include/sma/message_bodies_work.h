/*
 * message_bodies_work.h — what messages between the agent and those who work for it hold: tools,
 * MCP servers, the model. The middle of message_bodies.h, in its words.
 *
 * Included by message_bodies.h alone, each time that it is.
 */
/* clang-format off */
/* -- working tools ----------------------------------------------------------------------------- */
BODY(sma_tool_ask)
    FIELD(uint64_t, seq)
    FIELD(uint32_t, call)
    FIELD(uint8_t, mode)                     /* enum sma_tool_mode */
    FIELD(uint8_t, standing)                 /* enum sma_standing of whom it is done for */
    FIELD(bool, is_approved)                 /* RUN: people agreed to what has this digest */
    FIELD(bool, is_by_owner)                 /* is_approved: it was an owner who agreed */
    FIXED(uint8_t, digest, 32)
    TEXT(name)
    TEXT(arguments)                          /* JSON that the schema allows */
    TEXT(chat_key)                           /* whose run it is */
    FIELD(bool, is_group)                    /* several people talk there */
    FIELD(uint64_t, person)                  /* hash of whom it is done for; 0 = nobody is known */
    TEXT(receiver) /* sends elsewhere: chat key it goes to, then a blank and the name for people */
    FIELD(bool, is_receiver_doubtful)        /* as in struct sma_contact_result */
    LIST(sma_grant, grant_count, grants)
    TEXT(words) /* web_fetch: the person's own of the message that is answered; else empty */
    /* CHECK, web_fetch and web_search, as struct sma_egress of runtime/web/egress.h: */
    FIELD(bool, has_read)                    /* contents of the project came into the session */
    FIELD(uint32_t, leaving_bytes)           /* of the model's own making in this call */
    FIELD(uint32_t, leaving_weight)          /* ... those that look like data for more (egress.h) */
    FIELD(uint32_t, left_bytes)
    FIELD(uint32_t, left_listed_bytes)
    TEXT(skills) /* exec_shell: folders of the skills that this run has loaded, a line each */
END

BODY(sma_tool_answer)
    FIELD(uint64_t, seq)
    FIELD(uint32_t, call)
    FIELD(uint8_t, verdict)                  /* enum sma_tool_verdict */
    FIELD(bool, is_error)
    FIELD(uint8_t, leaves_to)                /* CHECK, ALLOWED: enum sma_egress_to; else 0 */
    TEXT(content) /* for the model: JSON, at most SMA_TOOL_RESULT_BYTES_MAX */
    TEXT(item_json) /* ASKS in CHECK: one item of runtime/approval/request.h */
    LIST(sma_part, part_count, parts)        /* RUN: what the model is to see; not prepared */
END

BODY(sma_tool_cancel)
    FIELD(uint64_t, seq) /* every open TOOL question of this run: killed, still answered */
END

/*
 * Make a part ready for a request: its type by its bytes, scaled when over the limits, its base64
 * in the cache. Answered with the same part, hash and length or a note filled in; never an error.
 */
BODY(sma_encode_ask)
    FIELD(uint64_t, seq)
    FIELD(uint32_t, index)                   /* of the asker, returned */
    FIELD(uint32_t, max_side)                /* pixels, for pictures; 0 = any */
    FIELD(uint64_t, max_bytes)               /* of its base64; 0 = any */
    PART(sma_part, part)
END

BODY(sma_encoded)
    FIELD(uint64_t, seq)
    FIELD(uint32_t, index)
    PART(sma_part, part)
END

/* -- MCP servers ------------------------------------------------------------------------------- */
/* What all servers offer now (runtime/mcp/catalogue.h). The mcp actor holds a reference until this
 * is answered: whoever wants to keep it takes one of its own first. At most one is open; what
 * changes meanwhile comes in one more behind it. */
BODY(sma_mcp_offer)
    FIELD(const struct sma_mcp_catalogue *, catalogue)
END

BODY(sma_mcp_taken)
    FIELD(uint64_t, version)                 /* of the catalogue */
END

BODY(sma_mcp_call)
    FIELD(uint64_t, seq)
    FIELD(uint32_t, call)
    FIELD(uint8_t, kind)                     /* enum sma_mcp_call_kind */
    TEXT(server)
    TEXT(name)                               /* as the server knows it; RESOURCE: its uri */
    TEXT(arguments)                          /* JSON object text; empty = {} */
    TEXT(chat_key)                           /* whose run it is, for logs */
    FIELD(uint32_t, timeout_ms)              /* 0 = as mcp.json says of the server */
END

BODY(sma_mcp_answer)
    FIELD(uint64_t, seq)
    FIELD(uint32_t, call)
    FIELD(uint8_t, outcome)                  /* enum sma_mcp_outcome */
    TEXT(text) /* for the model, clean, at most SMA_TOOL_RESULT_BYTES_MAX; else what went wrong */
    LIST(sma_part, part_count, parts)        /* pictures of it, in files; not prepared */
END

BODY(sma_mcp_cancel)
    FIELD(uint64_t, seq) /* open MCP_CALL questions of this run: cancelled, still answered */
    FIELD(uint32_t, call)                    /* SMA_MCP_CALL_ALL: all of them */
END

BODY(sma_mcp_progress)
    FIELD(uint64_t, seq)
    FIELD(uint32_t, call)
    TEXT(text)                               /* clean, at most SMA_MCP_PROGRESS_BYTES_MAX */
END

/*
 * A server asks people something while it works on a call (elicitation). Asked of the run whose
 * call it is, which puts it into its chat. Answered once: when its call is answered first, anything
 * may be answered, and nobody hears it. After deadline_ns DISMISS is as good as any answer.
 * Everything in it was said by a server; what people answer goes to that server.
 */
BODY(sma_mcp_elicit)
    FIELD(uint64_t, seq)                     /* of the open MCP_CALL */
    FIELD(uint32_t, call)
    TEXT(server)                             /* which one asks: people must be told */
    TEXT(text)                               /* clean, at most SMA_MCP_ELICIT_TEXT_BYTES_MAX */
    /* the form: a flat JSON Schema {"type":"object","properties":{..},"required":[..]} whose
     * properties are strings (maybe with enum), numbers, integers or booleans */
    TEXT(schema)
    FIELD(uint64_t, deadline_ns)
END

BODY(sma_mcp_elicited)
    FIELD(uint64_t, seq)
    FIELD(uint32_t, call)
    FIELD(uint8_t, action)                   /* enum sma_mcp_action */
    TEXT(content)                            /* ACCEPT: a JSON object that fits the form */
END

/*
 * The program of a server is not the one that was accepted: it is not started. Asked each time it
 * is looked at; the store asks its owners once for each digest, and answers at once with what they
 * have said of this one so far.
 */
BODY(sma_mcp_held)
    TEXT(server)
    TEXT(digest)                             /* of all of its files as they lie there */
    TEXT(changes)                            /* lines "changed PATH", "new PATH", "missing PATH" */
END

BODY(sma_mcp_ruled)
    TEXT(server)
    TEXT(digest)                             /* accepted if it is still the same */
    FIELD(bool, is_accepted)                 /* by an owner; false: not yet, or refused */
END

/*
 * A server wants a model asked while it works on a call (sampling); mcp.json allows it. The model
 * is told what stands here and nothing else. Answered once: early when the call or its run ends.
 * Everything in it was said by a server; what the model answers goes to that server.
 */
BODY(sma_mcp_sample_line)
    FIELD(bool, is_user)                     /* else what the model is to have said before */
    TEXT(text)                               /* clean, not empty */
END

BODY(sma_mcp_sample)
    FIELD(uint64_t, seq)                     /* of the open MCP_CALL */
    FIELD(uint32_t, call)
    TEXT(server)
    TEXT(system)                             /* may be empty */
    /* by turns, the first and the last from the user; all texts at most SMA_MCP_SAMPLE_BYTES_MAX */
    LIST(sma_mcp_sample_line, line_count, lines)
    FIELD(uint32_t, tokens_max)              /* 1 to SMA_MCP_SAMPLE_TOKENS_MAX */
    FIELD(uint64_t, deadline_ns)
END

BODY(sma_mcp_sampled)
    FIELD(uint64_t, seq)
    FIELD(uint32_t, call)
    TEXT(why)                                /* not empty: there is no answer, and this is why */
    TEXT(text)                               /* at most SMA_MCP_SAMPLE_ANSWER_BYTES_MAX */
    TEXT(model)
    FIELD(bool, is_cut)                      /* by tokens_max or the bound of text */
END

/* -- model ------------------------------------------------------------------------------------- */
/* A file whose bytes stand in a request's body, without being copied into the message. */
BODY(sma_body_file)
    FIELD(uint64_t, offset)                  /* in body: before this byte; rising */
    TEXT(path)                               /* absolute */
    FIELD(uint64_t, length)                  /* it must have this many bytes still */
END

BODY(sma_model_ask)
    /* where it goes: of an immutable configuration, lives until the program ends */
    FIELD(const struct sma_config_llm *, llm)
    FIELD(uint64_t, seq)
    TEXT(chat_key) /* whose run it is, for logs; empty = nobody's (the judge) */
    FIELD(uint32_t, round)                   /* 0 = first request of the run */
    TEXT(body)                               /* the whole request, ready for the wire */
    /* body[turn_offset, turn_end): the current turn's messages, comma-joined JSON */
    FIELD(uint32_t, turn_offset)
    FIELD(uint32_t, turn_end)
    LIST(sma_body_file, file_count, files)
    FIELD(uint64_t, read_ns)                 /* when the bytes of the user's message were read */
    FIELD(uint8_t, forms) /* how the answer goes back: SMA_ANSWER_* (sma/wire.h) */
END

BODY(sma_model_call)
    TEXT(id)
    TEXT(name)
    TEXT(arguments)                          /* JSON text, "{}" when the model sent none */
    FIELD(bool, is_invalid)                  /* arguments are not a JSON object */
    FIELD(bool, is_cut)                      /* the answer ended inside of them */
    TEXT(problem) /* is_invalid: what is wrong and where, for the model; may be empty */
END

BODY(sma_model_answer)
    FIELD(uint64_t, seq)
    FIELD(uint8_t, status)                   /* enum sma_model_status */
    FIELD(uint8_t, finish)                   /* enum sma_finish */
    TEXT(text)                               /* visible text, may be empty */
    TEXT(reasoning) /* of a clean stop that says nothing else: it may be the answer */
    TEXT(fragment) /* the assistant message(s) as they go back on the wire, comma-joined JSON */
    LIST(sma_model_call, call_count, calls)
    /* FAILED: one line for the owner and the log: what, where, what to do. Not for strangers */
    TEXT(error)
    FIELD(int, http_status)
    FIELD(uint8_t, trouble)                  /* FAILED: enum sma_model_failure */
    /* FAILED: what the server asked for, or when a key is back; -1 = not said */
    FIELD(int64_t, retry_after_ms)
    TEXT(refused_member) /* FAILURE_MEMBER: name or path ("temperature", "reasoning.effort") */
    FIELD(bool, is_unexplained)              /* FAILURE_SESSION: no rule knows why */
    /* CONTEXT_LENGTH: the model's window when the server told it, else 0 */
    FIELD(uint64_t, window_tokens)
    FIELD(struct sma_usage, usage)           /* OK; all attempts together */
    FIELD(bool, is_usage_guessed)            /* the provider counted nothing: by bytes */
    FIELD(uint64_t, out_ns)                  /* stamp */
    FIELD(uint64_t, first_token_ns)          /* stamp */
END

BODY(sma_model_cancel)
    /* of the MODEL question; it is still answered, with CANCELLED (or what came first) */
    FIELD(uint64_t, ask_id)
END

BODY(sma_model_delta)
    FIELD(uint64_t, seq)
    FIELD(bool, is_send_text) /* text of a chat_send call being written, else plain content */
    TEXT(text) /* everything so far of this answer, not only the new piece */
END
/* clang-format on */
