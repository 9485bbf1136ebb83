/*
 * message_bodies.h — what each message holds: the bodies of message_table.h, in its words.
 *
 * Included by message_table.h alone, each time that it is.
 */
/* clang-format off */
/* -- parts of several bodies ------------------------------------------------------------------- */
BODY(sma_route)
    FIELD(uint8_t, adapter)                  /* enum sma_actor_id */
    TEXT(channel) /* "telegram" "feishu" "qq" "api" "cli" "web" or a test's own */
    TEXT(chat_key) /* protocols/project.md §5.1; decides order and session */
    TEXT(chat_id)                            /* where the talk happens, platform's id */
    TEXT(chat_type) /* platform's word ("private", "group", "c2c" ...); may be empty */
    TEXT(thread_id)                          /* topic; may be empty */
    TEXT(message_id)                         /* what is replied to; may be empty */
    TEXT(user_id)                            /* who speaks; may be empty */
    TEXT(user_name)                          /* display or handle; may be empty */
    TEXT(language) /* what the platform says of the user: "zh..." "en..." or empty */
END

/* A picture, file or sound that belongs to a message or to a tool's result. */
BODY(sma_part)
    FIELD(uint8_t, kind)                     /* enum sma_part_kind */
    TEXT(path)                               /* of the original, relative to the project */
    TEXT(name)                               /* as its sender called it: untrusted; may be empty */
    TEXT(mime) /* once prepared by its bytes, before as the platform said; may be empty */
    TEXT(hash) /* sha256 (hex) of what the model gets; empty = not prepared */
    FIELD(uint64_t, length)                  /* of its base64: .ship/.cache/parts/<hash>.b64 */
    FIELD(uint32_t, width)                   /* IMAGE: as prepared; FILE: pages, 0 = not known */
    FIELD(uint32_t, height)
    /* not empty: the model gets this line instead (why, or what a model with eyes said of it) */
    TEXT(note)
END

/*
 * A standing permission: this tool with this rule (runtime/policy/policy.h) in this chat until
 * then.
 */
BODY(sma_grant)
    TEXT(id)
    TEXT(tool)
    TEXT(rule)
    FIELD(int64_t, until_ms)                 /* wall clock; 0 = until it is revoked */
END

BODY(sma_step_delivery)
    FIELD(uint32_t, call) /* index of the call in the step; the key is (seq, step number, call) */
    FIELD(uint8_t, intent)                   /* enum sma_intent */
    PART(sma_route, route) /* usually the run's own; another chat for chat_contact_send */
    TEXT(text)
    FIELD(bool, is_fallback)                 /* no tool sends it: the answer itself, a notice */
END

BODY(sma_step_delivery_state)
    FIELD(uint32_t, step)
    FIELD(uint32_t, call)
    FIELD(uint64_t, outbox_id)               /* > 0 */
    /* enum sma_delivery_state; SENT at once where delivery means stored (channel api) */
    FIELD(uint8_t, state)
    TEXT(error)
END

/* -- life cycle -------------------------------------------------------------------------------- */
BODY(sma_life)
    FIELD(unsigned, phase)
END

BODY(sma_reload)
    FIELD(const struct sma_config *, config) /* immutable snapshot, lives until the program ends */
END

BODY(sma_log_line)
    FIELD(int, level)                        /* enum sma_log_level */
    /* a request to a model, or its answer: for the files in .ship/logs/llm alone */
    FIELD(bool, is_block)
    /* ordinary traffic: the terminal shows the text alone, which says what the details do */
    FIELD(bool, is_traffic)
    FIELD(int64_t, wall_ms)
    TEXT(text)
    TEXT(details_json)
END

/* -- ingress ----------------------------------------------------------------------------------- */
BODY(sma_ingress)
    PART(sma_route, route)
    /* claim key besides channel, chat key and kind: message id, callback id, event id */
    TEXT(event_key)
    TEXT(text)                               /* what goes to history and to the model, untouched */
    /* more for the model (quoted message, forward, attachments), not in history; may be empty */
    TEXT(context)
    TEXT(meta_json)                          /* history entry's meta object; empty = omit */
    /* platform cursor saved with this commit, e.g. "telegram.offset"; empty = none */
    TEXT(cursor_name)
    FIELD(int64_t, cursor_value)
    FIELD(int64_t, wall_ms)                  /* history ts */
    /* of what must be equal under one event key (HTTP); 0 = not compared */
    FIELD(uint64_t, body_hash)
    FIELD(uint8_t, kind)                     /* enum sma_event_kind */
    FIELD(uint8_t, control)                  /* enum sma_control */
    FIELD(uint8_t, addressed)                /* enum sma_addressed */
    FIELD(bool, is_record_only)              /* backlog policy: claim and record, do not run */
    FIELD(bool, is_group) /* several people talk here: group access and follow-up windows apply */
    /* enum sma_role, when the event itself says what rights its author has here */
    FIELD(uint8_t, role)
    /* opaque to the core: what the adapter must fetch before the run; empty = nothing */
    TEXT(preparation)
    /* preparation brings only what it answers, or who speaks: its own words are all there */
    FIELD(bool, is_whole)
    /* messages of a chat that share it are one message (an album); empty = on its own */
    TEXT(group_key)
    /* of who speaks, to be looked for by; both empty: route.user_name is all that is known */
    TEXT(display_name)
    TEXT(handle)
    /* another id of who speaks, under which older projects know him; empty = none */
    TEXT(user_alias)
    TEXT(migrated_from) /* NOTE: the chat key that this chat had before; empty = none */
    FIELD(uint8_t, change) /* NOTE: enum sma_change of the message with this event key; its author
                            * is route.user_id, its new text `text` */
    TEXT(target_id)
    FIELD(bool, has_joined) /* NOTE: the bot has come into this group, at sent_ms: it is greeted */
    /* what came with it and is there already; what must be fetched first comes with PREPARED */
    LIST(sma_part, part_count, parts)
    /* Whose words these are and about what: consent is read from nothing else (approvals.md). */
    /* is_reply: the message it answers, as the platform names it; empty = nobody says which */
    TEXT(reply_to_id)
    FIELD(int64_t, sent_ms) /* the platform's date of it, as it came; 0 = not said */
    FIELD(bool, is_reply)                    /* it answers or quotes a message */
    FIELD(bool, is_forward) /* not its sender's own words: forwarded, or made by another program */
    FIELD(bool, is_behind)  /* forwarded with his words right before it: it goes into their run */
    FIELD(bool, is_edited)                   /* not as it was sent */
    FIELD(struct sma_stamps, stamps)
END

BODY(sma_accepted)
    FIELD(uint8_t, verdict)                  /* enum sma_verdict */
    FIELD(uint64_t, outbox_id)               /* SAY: of its delivery */
    FIELD(uint64_t, seq)                     /* 0 when REFUSED */
    FIELD(uint32_t, position)                /* waiting messages before it, 0 = next */
    FIELD(uint32_t, retry_after_ms)          /* REFUSED, BUSY */
    TEXT(reason)                             /* text for REFUSED, BUSY, CONFLICT */
    FIELD(uint64_t, durable_ns)              /* stamp */
    /* CALLBACK: what the person who pressed is shown (language chosen); may be empty */
    TEXT(notice)
    TEXT(chat_key)                           /* of the question, for the log; so the next two */
    TEXT(user_id)
    TEXT(message_id)
    FIELD(struct sma_budget_over, over)      /* BUSY: because of this budget */
    FIELD(uint8_t, why)                      /* enum sma_reason; NONE when ACCEPTED */
END

/*
 * * Store -> adapter: get ready what the run of an accepted message needs, before it starts:
 * download its attachments, look up whether its author administers the chat. Asked again after a
 * restart, so it must be repeatable. The adapter answers within SMA_PREPARE_S; without an answer
 * by then the run starts with what there is.
 */
BODY(sma_prepare)
    FIELD(uint64_t, seq)
    PART(sma_route, route)
    TEXT(preparation)                        /* as in INGRESS; empty = only the role is wanted */
    FIELD(bool, wants_role)
    FIELD(bool, is_role_open) /* with wants_role: the message runs whatever it is, and soon */
    FIELD(bool, wants_profile) /* of no message: what is route.user_id called? */
END

BODY(sma_prepared)
    FIELD(uint64_t, seq)
    FIELD(uint8_t, role)                     /* enum sma_role */
    TEXT(context) /* added to the message's context: what failed, what was found; may be empty */
    TEXT(user_name) /* of its author, known only now; empty = as it was */
    LIST(sma_part, part_count, parts)        /* what was fetched: kind, path, name, mime */
    TEXT(profile) /* of wants_profile: a JSON object; empty = context says why there is none */
END

/*
 * * http adapter -> adapter: a request to /webhooks/<adapter's name>. The body is the bytes as
 * they came; no token was checked: the adapter authenticates the platform by its own secret and
 * answers once, after the event is durable.
 */
BODY(sma_webhook)
    TEXT(path)
    TEXT(query)                              /* without '?' */
    TEXT(headers) /* the header lines as received, each ending in CR LF; see sma_webhook_header */
    TEXT(body)
    FIELD(uint64_t, read_ns)
    FIELD(bool, is_get)                      /* a challenge in the query; else POST */
END

BODY(sma_webhook_answer)
    FIELD(int, status)                       /* HTTP status */
    FIELD(uint32_t, retry_after_s)           /* header Retry-After when > 0 */
    TEXT(body)                               /* JSON, may be empty */
END

/* -- results and lists ------------------------------------------------------------------------- */
/*
 * The result of a run, as stored. An AWAIT stays open until the run is finished, or is answered
 * at once if is_peek.
 */
BODY(sma_await)
    FIELD(uint64_t, seq)
    FIELD(bool, is_peek)
    /* a message that waits behind a question of its chat is answered, too: WAITING, pending_json */
    FIELD(bool, ends_at_question)
    TEXT(user_id) /* empty = any; otherwise NOTFOUND unless the run's message came from this user */
END

BODY(sma_result)
    FIELD(uint64_t, seq)
    /* enum sma_run_state; a stopping store answers open AWAITs with the state of now */
    FIELD(uint8_t, state)
    FIELD(bool, is_success)
    FIELD(uint32_t, position)                /* when WAITING */
    TEXT(output) /* sent texts joined by a blank line, else the final text */
    TEXT(tool_calls_json)                    /* protocols/project.md §4.3: [{tool,input,output}] */
    TEXT(message_id)                         /* the event key it came under */
    TEXT(chat_id)
    /* PARKED, and WAITING behind such a run: {"id","type","description","data":{...}}
     * (protocols/project.md §10.5) */
    TEXT(pending_json)
    FIELD(struct sma_usage, usage)           /* of the whole run; zeros = not known */
    /* DONE, FAILED, CANCELLED: from its acceptance to its end; 0 = not known */
    FIELD(uint64_t, duration_ms)
END

BODY(sma_query)
    FIELD(uint8_t, kind)
    FIELD(uint32_t, limit)
    TEXT(chat_key)
    FIELD(uint8_t, filter)                   /* RUNS: enum sma_runs_filter */
    FIELD(uint64_t, before)                  /* RUNS, CHATS: numbers below it; 0 = all */
END

BODY(sma_query_result)
    TEXT(json)
END

/* -- decisions of people ----------------------------------------------------------------------- */
/*
 * From whoever the adapter has authenticated (route.channel, route.user_id). Text and buttons do
 * not come this way: they are INGRESS, and the store makes the same decision of them.
 */
BODY(sma_decide)
    FIELD(uint8_t, kind)
    PART(sma_route, route)
    TEXT(id)
    FIELD(uint64_t, approved_mask) /* items by index; APPROVAL: both 0 = all, as is_approved says */
    FIELD(uint64_t, refused_mask)
    FIELD(bool, is_approved)
    TEXT(response) /* words for the model, or the reason of a refusal; may be empty */
    FIELD(int64_t, grant_s) /* SMA_GRANT_NONE, SMA_GRANT_ALWAYS (in this chat), or seconds */
    FIELD(uint8_t, standing)                 /* PAIRING: MEMBER, ADMIN or OWNER */
END

BODY(sma_decided)
    FIELD(int, status) /* as in HTTP: 200, 400, 403, 404, 409 decided before, 410 expired, 503 */
    TEXT(text)                               /* one line for people: what happened, by whom */
END

/*
 * Store -> agent: a message came to a chat that waits for a decision and may be the answer; the
 * words alone do not tell. The agent asks the model and says JUDGED; nothing else of the message
 * is done.
 */
BODY(sma_judge)
    FIELD(uint64_t, seq)                     /* of the message */
    TEXT(approval_id)
    TEXT(chat_key)
    TEXT(text)
    TEXT(request_json)                       /* runtime/approval/request.h */
END

BODY(sma_judged)
    FIELD(uint64_t, seq)
    TEXT(approval_id)
    /* the model takes it for consent: it is asked for in words that need no reading */
    FIELD(bool, seems_to_agree)
    FIELD(uint64_t, refused_mask)            /* items; 0 = none: an ordinary message after all */
    TEXT(response)
    FIELD(struct sma_usage, usage)           /* of reading it; all 0 = no model was asked */
    TEXT(target)
END

/*
 * What a target refuses. Store -> agent: all that is known, before the first RUN of this start of
 * the program. Agent -> store: learned now, kept over restarts; not answered, and lost without
 * harm when there is no disk.
 */
BODY(sma_learned_fact)
    TEXT(target)                             /* key of runtime/model/target.h */
    TEXT(member)                             /* member of the request that it refuses */
END

BODY(sma_learned)
    LIST(sma_learned_fact, fact_count, facts)
END

/* -- runs -------------------------------------------------------------------------------------- */
BODY(sma_stored_step)
    FIELD(uint32_t, number)                  /* 1, 2, ... */
    FIELD(uint8_t, kind)                     /* enum sma_step_kind */
    TEXT(data) /* opaque to the store; written and read by runtime/agent */
END

BODY(sma_collected)
    FIELD(uint64_t, seq)
    FIELD(uint8_t, change) /* enum sma_change: of message_id, not a message of its own */
    FIELD(bool, is_behind) /* as in INGRESS */
    FIELD(bool, is_piece)  /* of a text that came in pieces: its words stand in the run's own */
    FIELD(int64_t, wall_ms)
    TEXT(user_id)
    TEXT(user_name)
    TEXT(message_id)
    TEXT(text)
    TEXT(context)
    LIST(sma_part, part_count, parts)
END

BODY(sma_seq)
    FIELD(uint64_t, seq)
END

/* Store -> agent: run this message. One credit = one open run; DONE returns it. */
BODY(sma_run_order)
    FIELD(uint64_t, seq)
    PART(sma_route, route)
    TEXT(text)
    TEXT(context)
    FIELD(int64_t, wall_ms)
    FIELD(bool, is_resumed)                  /* was begun before this start of the program */
    /* begun before an unclean exit and no step since: the attempt is committed already */
    FIELD(bool, is_suspect)
    FIELD(bool, has_past) /* the chat has stored turns: ask SESSION if no session is in memory */
    /* it has none, was never cleared, and its history goes further back: the past is in there */
    FIELD(bool, has_lines)
    FIELD(bool, is_group) /* several people talk here: ask HISTORY what was said since */
    FIELD(uint32_t, attempt)                 /* 1.. ; counts unclean attempts without a step */
    LIST(sma_stored_step, step_count, steps) /* durable steps to continue from, oldest first */
    /* outbox rows this run has already made */
    LIST(sma_step_delivery_state, delivery_count, deliveries)
    /* queue.mode collect: earlier messages that this run answers too, oldest first */
    LIST(sma_collected, collected_count, collected)
    FIELD(bool, is_compaction) /* /compact: no message; text = the command as it was written */
    /* was parked; the last step is DECISION and what it approves has not been started */
    FIELD(bool, is_decided)
    FIELD(uint8_t, standing) /* enum sma_standing: the least of those who wrote the messages */
    FIELD(struct sma_budget_over, over)      /* is_resumed: as in STEP_DONE */
    /* of this installation, always the same: by it the model knows our blocks of facts; 0 = none */
    FIELD(uint64_t, facts_word)
    /* answers to this message that the platform still takes; 0 = it counts none */
    FIELD(uint32_t, replies_left)
    LIST(sma_grant, grant_count, grants)     /* that hold in this chat now */
    LIST(sma_part, part_count, parts)        /* of this message, in its order */
    FIELD(bool, has_memory)                  /* there may be facts to recall: ask MEMORY */
    TEXT(model) /* chosen for this chat by /model: a label of chats.h; empty = none */
    FIELD(bool, is_forward)                  /* `text` is not its author's own words */
    FIELD(struct sma_stamps, stamps)
END

/*
 * Store -> agent: what the person of an open run has added meanwhile. It waits as before, for a run
 * of its own, until a step of this run holds it (STEP: added). May come again.
 */
BODY(sma_steer)
    FIELD(uint64_t, seq)                     /* of the run */
    FIELD(uint8_t, standing)                 /* enum sma_standing of who wrote it */
    FIELD(bool, is_answer)                   /* written after the question of STEP asks_words */
    LIST(sma_collected, message_count, messages)
END

/* Store -> agent, already durable. Acts on everything of the chat with seq < mark_seq. */
BODY(sma_control_order)
    /* STOP: cancel the running run. CLEAR: cancel it and drop the session. RETRY: drop the turn of
     * mark_seq */
    FIELD(uint8_t, control)
    FIELD(uint64_t, mark_seq)
    FIELD(uint64_t, only_seq)                /* STOP: this run alone; 0 = all below mark_seq */
    TEXT(chat_key)
END

/* The last turns of a chat, to rebuild its session. */
BODY(sma_session_ask)
    TEXT(chat_key)
    FIELD(uint64_t, before_seq)              /* the run that wants it */
    FIELD(uint32_t, turns_max)
    FIELD(uint32_t, bytes_max)
END

BODY(sma_turn)
    FIELD(uint64_t, seq)
    /* whose bytes they are: key of a target (model/target.h), or of old turns a wire's name */
    TEXT(wire)
    TEXT(message_id)                         /* of the user's message */
    TEXT(bytes)                              /* the turn as runtime/agent encoded it in DONE */
END

BODY(sma_session_turns)
    TEXT(chat_key)
    LIST(sma_turn, turn_count, turns) /* oldest first; only turns after the chat's clear mark */
    TEXT(past) /* what was before them: data of a COMPACTION step; empty = nothing */
END

/* -- steps ------------------------------------------------------------------------------------- */
/*
 * Agent -> store. The answer comes after the commit: it is the gate before every effect of the
 * step.
 */
BODY(sma_step)
    FIELD(uint64_t, seq)
    /* 1, 2, ...: must be the next; a number already stored is answered as stored (idempotent) */
    FIELD(uint32_t, number)
    FIELD(uint8_t, kind)                     /* enum sma_step_kind */
    TEXT(data)
    LIST(sma_step_delivery, delivery_count, deliveries)
    /* not empty: park the run and ask people (runtime/approval/request.h). ANSWER,
     * CHILD */
    TEXT(request_json)
    /* ANSWER, RESULTS: messages that were added while the run is open and are answered by it from
     * this step on; their rows say so with it */
    LIST(sma_seq, added_count, added)
    /* WAIT, CHILD, > 0: the answer is PARKED, and RUN comes again after this time, over restarts */
    FIELD(uint32_t, wait_ms)
    FIELD(struct sma_usage, usage) /* of the model requests since the step before; all 0 = none */
    TEXT(target) /* who answered them (runtime/model/target.h: key); empty = nobody */
    /* COMPACTION: the chat's turns below this seq go, the step's data is kept for them */
    FIELD(uint64_t, past_below)
    FIELD(uint64_t, past_first) /* the oldest turn it stands for; not kept when cleared since */
    /* what happened since the step before (runtime/agent/trace.h); opaque to the store */
    TEXT(trace)
    /* NOTE: its delivery is a question whose answer the run waits for: until its next RESULTS what
     * its person writes is told to it (STEER is_answer), and it takes no place of
     * agent.concurrency */
    FIELD(bool, asks_words)
    /* CHILD: a sub-agent's calls come next, not a model. The place that the run has in
     * agent.concurrency is kept for a shorter time then (limits.h, SMA_PLACE_CALL_MS) */
    FIELD(bool, opens_calls)
END

BODY(sma_step_done)
    FIELD(uint64_t, seq)
    FIELD(uint32_t, number)
    FIELD(uint8_t, verdict)                  /* enum sma_step_verdict */
    /* in the order of the question's deliveries */
    LIST(sma_step_delivery_state, delivery_count, deliveries)
    FIELD(struct sma_budget_over, over)      /* used up: no further request, a notice instead */
END

/*
 * Agent -> store: the run is over. Outcome, turn and fallback row are one transaction; the credit
 * returns.
 */
BODY(sma_done)
    FIELD(uint64_t, seq)
    FIELD(uint8_t, outcome)                  /* enum sma_outcome */
    TEXT(output)                             /* final text of the run, for the stored result */
    TEXT(tool_calls_json)                    /* [{tool,input,output}] */
    TEXT(turn)                               /* the session's new turn, empty = none */
    TEXT(wire) /* its format: key of the target (runtime/model/target.h) whose bytes it holds */
    /* fallback text or notice: 0 or 1 row; call = 0, step = last step + 1 */
    LIST(sma_step_delivery, delivery_count, deliveries)
    FIELD(struct sma_usage, usage)           /* as in STEP: since the last one */
    TEXT(target)
    TEXT(trace)
    FIELD(struct sma_stamps, stamps)
END

/* -- tools answered by the store --------------------------------------------------------------- */
/*
 * * Newest entries first considered, given back in chronological order. Excluded: lines at or
 * after the current message's place by its own id; and, from the line of session_first_seq on,
 * assistant lines and the user lines whose messageId is in `session_ids` (they are in the live
 * session already). Notices are never given.
 */
BODY(sma_history_ask)
    TEXT(chat_key)
    FIELD(uint32_t, limit)                   /* 1..200 */
    /* empty = recent; else a regular expression (PCRE2 with match limits), or a plain substring
     * when it does not compile; case-insensitive */
    TEXT(keyword)
    FIELD(uint64_t, current_seq)
    FIELD(uint64_t, session_first_seq)       /* 0 = the session is empty */
    TEXTS(session_id_count, session_ids)
    TEXT(given) /* lines not to be given: their sma_line_mark, 8 bytes each */
    FIELD(bool, is_session)                  /* only what was said since it was cleared last */
    /* only what people said since our last text, without those whom policy keeps out */
    FIELD(bool, is_chatter)
    PART(sma_route, route)                   /* is_chatter: of the run */
END

BODY(sma_history_line)
    FIELD(int64_t, wall_ms)
    FIELD(bool, is_user)                     /* else assistant */
    TEXT(message_id)                         /* of the platform; may be empty */
    TEXT(user_id)
    TEXT(user_name)
    TEXT(text)
END

BODY(sma_history_lines)
    FIELD(uint8_t, err)                      /* enum sma_err; OK, or what went wrong with `error` */
    TEXT(error)
    LIST(sma_history_line, line_count, lines) /* oldest first */
    FIELD(bool, is_cut)                      /* more matched than limit or bytes allowed */
END

/*
 * * Agent -> store: fetch once more what came with an earlier message of the chat that asks. The
 * store finds in the history how the platform calls it and has its adapter PREPARE it; what is
 * still there is not fetched. One of message_id and path is not empty.
 */
BODY(sma_fetch_ask)
    PART(sma_route, route)                   /* of the run */
    TEXT(message_id)                         /* of the platform; empty = by path alone */
    TEXT(path)                               /* of one file; empty = all of the message */
END

BODY(sma_fetched)
    FIELD(uint8_t, err)                      /* enum sma_err; NOTFOUND: no such message or file */
    TEXT(error)                              /* in words, for the model */
    TEXT(files_json) /* those that are there now: [{"path","kind","name"?,"mime"?,"bytes"}] */
    TEXT(missing)                            /* what could not be had, and why; may be empty */
END

BODY(sma_contact_ask)
    TEXT(user_name) /* or an actor key, "telegram:1001", when several share a name */
    TEXT(channel)                            /* empty = any */
    TEXT(asked_in) /* channel of the chat that asks: of several bots its own is taken */
    /* a chat instead of a person, as the platform names it, or by its chat key; thread_id: a topic
     * of it; chat_type and message_id may be empty */
    TEXT(chat_id)
    TEXT(thread_id)
    TEXT(chat_type)
    TEXT(message_id)
    FIELD(bool, wants_files) /* a file is to go there: a platform that takes none is not found */
    FIELD(bool, wants_cards) /* likewise a card */
    FIELD(bool, wants_profile) /* what the platform says of user_id, asked for asker */
    TEXT(user_id)
    PART(sma_route, asker) /* of wants_profile: of the run; without user_id he is meant himself */
    FIELD(bool, is_asker_trusted) /* an owner or administrator: may ask about everybody known */
END

BODY(sma_contact_result)
    FIELD(bool, is_found)
    PART(sma_route, route)                   /* of the contact's last message */
    TEXT(contact_json) /* protocols/project.md §7.6, and "standing"; of several a list */
    FIELD(uint32_t, count) /* people who have this name: of more than one none is meant */
    /* a stranger, or somebody who has another name by now: sending is always asked */
    FIELD(bool, is_doubtful)
    TEXT(whom) /* for people: "member, telegram:1001"; of a chat its name and key */
    TEXT(why)                                /* of a chat: why it is not found */
END

/* A fact of the memory that fits the message, for the person and the place it comes from. */
BODY(sma_recalled)
    FIELD(uint64_t, id)
    FIELD(uint8_t, kind)                     /* enum sma_memory_kind */
    TEXT(text)
END

/* Whose facts these are, the memory says by route and is_group; the call does not. */
BODY(sma_memory_ask)
    FIELD(uint8_t, op)                       /* enum sma_memory_op */
    PART(sma_route, route)                   /* of the run */
    FIELD(bool, is_group)
    TEXT(text) /* to be remembered, or looked for; EXTRACTED: what the model said */
    FIELD(bool, is_project)                  /* UPSERT: for everybody */
    FIELD(uint8_t, kind)                     /* enum sma_memory_kind */
    FIELD(uint8_t, importance)               /* 1..10; 0 = usual */
    TEXT(tags)                               /* blanks between them */
    FIELD(uint64_t, replaces)                /* id of an own fact; 0 = none */
    FIELD(uint32_t, limit)                   /* SEARCH: 1..SMA_MEMORY_SEARCH_COUNT_MAX */
    TEXT(told) /* RECALL: ids of facts that the conversation holds, 8 bytes each */
    FIELD(uint64_t, seq)                     /* TALKED: of the message */
    FIELD(uint32_t, count)                   /* TALKED: messages that were exchanged */
    FIELD(bool, is_urgent)                   /* TALKED: text is about to be summed up */
    FIELD(uint64_t, dropped_seq)             /* TALKED: what was before it is a summary; 0 = none */
    FIELD(bool, is_failed)                   /* EXTRACTED: later again */
    FIELD(bool, is_put_off)                  /* EXTRACTED: likewise, since runs came between */
    FIELD(bool, is_partial)                  /* EXTRACTED: there is more to read after until_ms */
    FIELD(int64_t, until_ms)                 /* EXTRACTED: time of the newest line that was read */
    TEXTS(speaker_count, speakers)           /* EXTRACTED: user ids, by the numbers in `text` */
END

BODY(sma_memory_result)
    FIELD(bool, is_error)
    TEXT(content)                            /* for the model: JSON */
    LIST(sma_recalled, recalled_count, recalled) /* RECALL: the most fitting first */
    TEXT(gone) /* RECALL: those of `told` that are not to be read here any more, 8 bytes each */
END

/* Memory -> agent: read this conversation for what is worth remembering, when there is time. The
 * answer is a MEMORY, EXTRACTED. */
BODY(sma_extract)
    PART(sma_route, route)                   /* of the chat's last message */
    FIELD(bool, is_group)
    FIELD(uint64_t, seq)                     /* of that message */
    FIELD(int64_t, after_ms)                 /* what was said until then is known already */
    FIELD(uint32_t, line_count_max)
END

/* Store -> memory: people have deleted something; what is left of it is to go, too. */
BODY(sma_forgotten)
    FIELD(uint32_t, count)
END

/* Agent -> store: tokens that no run's step tells of. Lost without harm when there is no disk. */
BODY(sma_spent)
    FIELD(uint64_t, seq)                     /* whose chat pays */
    FIELD(struct sma_usage, usage)
    TEXT(target)
END

/* -- tools, MCP servers, model --------------------------------------------------------------- */
#include "sma/message_bodies_work.h"

/* -- delivery ---------------------------------------------------------------------------------- */
/*
 * Agent -> dispatcher: tell me how outbox row `outbox_id` ended. Answered at the latest at the
 * deadline ("queued").
 */
BODY(sma_send)
    FIELD(uint64_t, seq)
    FIELD(uint64_t, outbox_id)
END

BODY(sma_send_result)
    FIELD(uint64_t, seq)
    FIELD(uint64_t, outbox_id)
    FIELD(uint8_t, state)
    TEXT(error)
END

/*
 * Store -> dispatcher: one outbox row, the next of its chat only when this one is over or given
 * back. One credit of the row's adapter; the final RECEIPT returns it, or one that says is_held.
 */
BODY(sma_deliver)
    FIELD(uint64_t, outbox_id)
    FIELD(uint64_t, seq)
    PART(sma_route, route)
    TEXT(text)
    TEXT(language)                           /* of notices: "zh" or "en" */
    FIELD(uint8_t, intent)                   /* enum sma_intent */
    FIELD(uint32_t, renderer_version)        /* 0 = not rendered before */
    FIELD(uint32_t, part_done_count)         /* parts with a receipt */
    /* the next part was begun before a crash: attempt it under the same key, count it */
    FIELD(bool, is_repeat)
    FIELD(bool, has_waiter)                  /* the agent will ask SEND for it */
    FIELD(uint64_t, salt) /* of the row, for its idempotency keys; 0 = it is older than salts */
    FIELD(uint32_t, attempt_count)
    /* spent on the platform's orders to wait, before the row was given back */
    FIELD(uint32_t, waited_ms)
    /* parts that answered the same message before this row, for platforms that count replies */
    FIELD(uint32_t, reply_count)
    FIELD(int64_t, made_wall_ms) /* when the row was made: how old an answer may get; 0 = unknown */
    FIELD(bool, is_interim)                  /* words before the end of their run */
    FIELD(bool, is_aside)                    /* LATE was said of it: others pass it */
    FIELD(struct sma_stamps, stamps)
END

/*
 * /stop: the store gives up the rows of this chat with seq < mark_seq that are not begun; the
 * dispatcher drops those it holds and has not attempted (RECEIPT FAILED "stopped").
 */
BODY(sma_cancel_deliver)
    TEXT(chat_key)
    FIELD(uint64_t, mark_seq)
END

/*
 * Dispatcher -> store. Answered after the commit. For a row of several parts the next part starts
 * after the answer.
 */
BODY(sma_receipt)
    FIELD(uint64_t, outbox_id)
    FIELD(uint32_t, part)                    /* part index from 0 */
    FIELD(uint32_t, part_count)
    FIELD(uint32_t, renderer_version)
    FIELD(uint8_t, state) /* enum sma_delivery_state; WAITING = still trying (attempt count kept) */
    /* WAITING: nothing is open, and nothing may be tried for hold_ms: the row is given back with
     * its credit and comes again when it is due. Answered at once, nothing is written */
    FIELD(bool, is_held)
    /* with is_held: the platform holds all its chats, not this one alone */
    FIELD(bool, is_platform_held)
    /* FAILED: as in ATTEMPT_RESULT; of a file also UNKNOWN: its person is told */
    FIELD(bool, is_content_refused)
    FIELD(uint32_t, hold_ms)
    FIELD(uint32_t, waited_ms)
    /* the row is finished: returns the credit, writes the history line if SENT or UNKNOWN */
    FIELD(bool, is_final)
    FIELD(uint32_t, attempt_count)
    TEXT(platform_message_id)
    TEXT(error)
    TEXT(reply_id)                           /* as in ATTEMPT_RESULT, with sent_ms */
    FIELD(int64_t, sent_ms)
    FIELD(uint64_t, reply_ns)
END

/* A file that is late, out or waiting: what its chat is to be sent behind it goes on. Lost, it
 * comes again with the next attempt. */
BODY(sma_late)
    FIELD(uint64_t, outbox_id)
END

BODY(sma_receipt_done)
    FIELD(uint64_t, outbox_id)
    /* enum sma_step_verdict; STOPPED = the row was cancelled, drop it; NO_DISK = ask again */
    FIELD(uint8_t, verdict)
END

BODY(sma_attempt)
    FIELD(uint64_t, outbox_id)
    FIELD(uint64_t, seq)
    FIELD(uint32_t, part)
    FIELD(uint32_t, part_count)
    PART(sma_route, route)
    TEXT(part_bytes)                         /* what render() made, adapter's own format */
    TEXT(idempotency_key) /* same for every attempt of this part, stable over restarts */
    FIELD(uint8_t, intent)
    FIELD(bool, is_repeat)
    /* as in DELIVER: before this row, so this part is reply number reply_count + part */
    FIELD(uint32_t, reply_count)
    FIELD(bool, is_interim)                  /* as in DELIVER */
    /* a file that is late, and words of its own row wait behind it: they say that it is missing */
    FIELD(bool, is_late)
END

BODY(sma_attempt_result)
    FIELD(uint64_t, outbox_id)
    FIELD(uint32_t, part)
    FIELD(uint8_t, attempt_class)            /* enum sma_attempt_class */
    FIELD(bool, is_adapter_wide)             /* of RETRY_AFTER: it holds for all chats ... */
    /* ... for this one alone; neither: the platform does not say, the dispatcher judges */
    FIELD(bool, is_chat_only)
    /* of GIVE_UP: these words, or this form of them; other words would be taken */
    FIELD(bool, is_content_refused)
    /* of UNKNOWN: the platform answered that it failed, or hides a repeat: repeat until it heals */
    FIELD(bool, is_likely_unsent)
    FIELD(uint32_t, retry_after_ms)
    TEXT(platform_message_id)
    TEXT(error)
    /* how its answers name it, where that is not platform_message_id; may be empty */
    TEXT(reply_id)
    FIELD(int64_t, sent_ms)                  /* the platform's date of it; 0 = not said */
END

BODY(sma_progress)
    FIELD(uint64_t, seq)
    FIELD(uint8_t, kind)                     /* enum sma_progress_kind */
    PART(sma_route, route)
    TEXT(text)
    TEXT(detail)                             /* of TOOL: on what; cut, may be empty */
END
    /* clang-format on */
