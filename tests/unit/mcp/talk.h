/*
 * talk.h — one session and the server in the test's place: what was said, what came of it.
 */
#ifndef SMA_TEST_MCP_TALK_H
#define SMA_TEST_MCP_TALK_H

#include "runtime/mcp/session.h"
#include "support/check.h"

#define TALK_COUNT_MAX 256
#define MS UINT64_C(1000000)

struct talk
{
    struct sma_mcp_session *session;
    uint64_t now;
    json_t *said[TALK_COUNT_MAX]; /* by the session, newest last */
    size_t said_count;
    unsigned answered_count, listed_count, log_count, failed_count;
    uint64_t answered_id;
    enum sma_mcp_outcome outcome;
    char text[512], progress[512], why[512], log[512];
    uint64_t question, question_call;
    unsigned question_count;
    char question_text[4096], question_form[4096];
    bool is_deaf; /* nobody can be asked */
    uint64_t wish, wish_call;
    unsigned wish_count, wish_tokens;
    char wish_text[1024]; /* system|u:text|a:text */
    const char *wish_why; /* it is refused */
};

/** A session that has begun. */
void talk_begin(struct talk *talk, bool probes_modern);
/** ... whose server may sample. */
void talk_begin_sampling(struct talk *talk, bool probes_modern);
void talk_end(struct talk *talk);
/** The server says this. */
void talk_hear(struct talk *talk, const char *message);
/** The server answers the newest request of this method; %lld in result_or_error is not there:
 *  text like "\"result\":{}". */
void talk_answer(struct talk *talk, const char *method, const char *member);
/** The newest of what was said, as compact JSON; freed by the next call. */
const char *talk_newest(struct talk *talk);
/** How often this method was said. */
size_t talk_count(const struct talk *talk, const char *method);
/** Through the legacy handshake, with these tools (JSON list). */
void talk_connect(struct talk *talk, const char *tools);
/** talk_connect of a session that has begun. */
void talk_shake_hands(struct talk *talk, const char *tools);
uint64_t talk_call(struct talk *talk, const char *name, const char *arguments);

#endif
