/*
 * harness.h — the real model actor on its thread, fake_model as a child process, and a stand-in
 * for the agent that asks on behalf of the test's thread and keeps what comes back.
 */
#ifndef SMA_TEST_MODEL_HARNESS_H
#define SMA_TEST_MODEL_HARNESS_H

#include "sma/config.h"
#include "sma/messages.h"
#include "support/check.h"

#define HARNESS_RECORD_COUNT_MAX 2048

struct harness_record
{
    bool is_answered;
    uint64_t ask_id;
    int answer_count;
    uint8_t status, finish;
    int http_status;
    char text[512], call_name[64], call_arguments[512], error[512], fragment[2048];
    uint32_t call_count;
    uint64_t asked_ns, answered_ns, out_ns, first_token_ns;
    uint64_t input_tokens;
    uint8_t trouble;
    char refused[512];
    int64_t retry_after_ms;
    struct sma_usage usage;
    unsigned delta_count;
    bool is_delta_send;
    char delta[512];
};

struct harness;

/** Start fake_model with these options (NULL-terminated, may be NULL). */
struct harness *harness_create(const struct sma_config_llm *llm, const char *const *fake_options);
/** Ordered shutdown; checks that every question was answered exactly once. */
void harness_destroy(struct harness *harness);
ENDING(harness_destroy, struct harness)
/** Ask with one user text; returns the record's number. */
size_t harness_ask(struct harness *harness, const char *text);
/** Ask with one user text at this llm (which must outlive the harness), in the name of this
 *  chat. */
size_t harness_ask_at(struct harness *harness, const struct sma_config_llm *llm,
                      const char *chat_key, const char *text);
/** Hand this configuration to every actor, as after SIGHUP; returns when the actors have taken
 *  it. */
void harness_reload(struct harness *harness, const struct sma_config *config);
/** The lines logged so far, "<level> <text> <details>\n" each; borrowed until the next call. */
const char *harness_log(struct harness *harness);
/** How often this text stands in the log by now. */
size_t harness_log_count(struct harness *harness, const char *text);
/** Wait until it stands there. */
void harness_wait_log(struct harness *harness, const char *text);
/** Where the fake is, "http://127.0.0.1:<port>/v1". */
const char *harness_url(const struct harness *harness);
/** Ask with this whole request body. */
size_t harness_ask_body(struct harness *harness, struct sma_str body);
/** The same at this llm, with files between its bytes. */
struct harness_file
{
    size_t offset, length;
    const char *path;
};
size_t harness_ask_files(struct harness *harness, const struct sma_config_llm *llm,
                         struct sma_str body, const struct harness_file *files, size_t count);
void harness_cancel(struct harness *harness, size_t record);
/** Wait (with a deadline of 20 s, failing the test) until answered; borrowed. */
const struct harness_record *harness_wait(struct harness *harness, size_t record);
/** Until some of its answer was shown. */
void harness_wait_delta(struct harness *harness, size_t record);
const struct harness_record *harness_get(struct harness *harness, size_t record);
/** Wait until fake_model has logged this many requests. */
void harness_wait_requests(struct harness *harness, size_t count);
/** Requests and different connections fake_model has logged so far. */
size_t harness_requests(struct harness *harness, size_t *ret_connections);
/** Voluntary context switches of the model actor's thread so far: how often it slept and woke. */
long harness_wakeups(struct harness *harness);
/** The model actor forgets the fake: the child is killed. */
void harness_kill_fake(struct harness *harness);

/** Settings with short times; base_url NULL = the fake. */
struct sma_config_llm harness_llm(enum sma_llm_api api);
/** The answer is the fake's default reply to this text. */
void harness_check_said(const struct harness_record *record, const char *text);

#endif
