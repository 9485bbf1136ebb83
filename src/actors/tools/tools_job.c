/*
 * tools_job.c — what every part does with a job: answer it, leave it, be woken for it.
 */
#include "tools_priv.h"

#include "actors/kernel/traffic.h"
#include "sma/labels.h"
#include "sma/metrics.h"
#include "sma/text.h"

void tools_wake_by(struct sma_tools *tools, uint64_t at_ns)
{
    if (at_ns >= tools->wake_ns)
        return;
    tools->wake_ns = at_ns;
    sma_ctx_wake_at(tools->ctx, at_ns);
}

/* Before the answer leaves: whoever sees it sees the project as the command left it. */
static void give_place_back(struct tools_job *job)
{
    struct sma_tools *tools = job->tools;
    if (!job->holds_place)
        return;
    job->holds_place = false;
    sma_sandbox_plan_leave(&job->plan);
    tools->busy[job->kind]--;
    if (job->kind == TOOLS_KIND_EXEC)
        tools_person_leave_place(job);
    if (tools->busy[TOOLS_KIND_EXEC] == 0 && tools->placeholders != 0) {
        sma_sandbox_remove_placeholders(job->setup->config, tools->placeholders);
        tools->placeholders = 0;
    }
}

/* How a call ended, or that people are asked. Of sends and questions to the store the run counts
 * the rest. */
static void count_call(const struct tools_job *job, enum sma_tool_verdict verdict, bool is_error)
{
    enum
    {
        OK, /* in the order of tool_calls_total */
        FAILED,
        ASKS,
        REFUSED,
        STOPPED
    };
    const struct sma_tool_ask *ask = job->ask;
    bool is_check = ask->mode == SMA_TOOL_CHECK;
    bool is_work = job->kind == TOOLS_KIND_EXEC || sma_file_tools_has(ask->name) ||
                   tools_skills_has(job) || tools_web_has(ask->name) ||
                   sma_str_is_equal(ask->name, SMA_STR("exec_shell"));
    unsigned word = verdict == SMA_TOOL_ASKS      ? ASKS
                    : verdict == SMA_TOOL_REFUSED ? REFUSED
                    : verdict == SMA_TOOL_STOPPED ? STOPPED
                    : is_error                    ? FAILED
                                                  : OK;
    if ((is_check && verdict == SMA_TOOL_ALLOWED) || (!is_work && verdict != SMA_TOOL_ASKS))
        return;
    unsigned label = sma_label_place(SMA_LABEL_TOOL, ask->name);
    SMA_FAMILY_ADD(tool_calls_total, label, word, 1);
    if (!is_check)
        SMA_FAMILY_ADD(tool_seconds_total, label, 0,
                       sma_ctx_now(job->tools->ctx) - job->question->sent_ns);
}

/* Sizes and outcome; what was asked for stands in the audit line. */
static void log_call(const struct tools_job *job, enum sma_tool_verdict verdict, bool is_error,
                     struct sma_str content)
{
    static const char *const words[] = {[SMA_TOOL_ALLOWED] = "allowed",
                                        [SMA_TOOL_ASKS] = "asks",
                                        [SMA_TOOL_REFUSED] = "refused",
                                        [SMA_TOOL_STOPPED] = "stopped"};
    const struct sma_tool_ask *ask = job->ask;
    bool is_check = ask->mode == SMA_TOOL_CHECK;
    if (ask->mode == SMA_TOOL_SKILLS)
        return; /* no call of a model */
    count_call(job, verdict, is_error);
    /* A check that lets the call pass is followed by its RUN, or by a send's delivery: each has a
     * line of its own. */
    bool is_usual = !is_check || verdict != SMA_TOOL_ALLOWED;
    struct sma_traffic line;
    if (!sma_traffic_begin(&line, job->tools->ctx, is_usual ? SMA_LOG_INFO : SMA_LOG_DEBUG,
                           "tool_call", ask->seq, ask->chat_key))
        return;
    sma_traffic_str(&line, "tool", ask->name);
    if (is_check)
        sma_traffic_str(&line, "mode", SMA_STR("check"));
    sma_traffic_str(&line, "verdict", sma_str(words[verdict]));
    sma_traffic_ms(&line, "ms", job->question->sent_ns, sma_ctx_now(job->tools->ctx));
    if (job->command != NULL && job->command->has_exit_code)
        sma_traffic_u64(&line, "exitCode", (uint64_t)job->command->exit_code);
    if (!is_check && verdict == SMA_TOOL_ALLOWED)
        sma_traffic_bool(&line, "isError", is_error);
    sma_traffic_u64(&line, "argumentBytes", ask->arguments.len);
    sma_traffic_u64(&line, "resultBytes", content.len);
    sma_traffic_end(&line);
}

void tools_answer(struct tools_job *job, enum sma_tool_verdict verdict, bool is_error,
                  struct sma_str content)
{
    SMA_ASSERT(job->state != TOOLS_ANSWERED);
    log_call(job, verdict, is_error, content);
    struct sma_str item = verdict == SMA_TOOL_ASKS && job->ask->mode == SMA_TOOL_CHECK
                              ? sma_buf_str(&job->item)
                              : (struct sma_str){NULL, 0};
    bool is_seen = verdict == SMA_TOOL_ALLOWED && !is_error && job->seen.kind != SMA_PART_NONE;
    struct sma_part seen = {.kind = job->seen.kind,
                            .path = sma_buf_str(&job->seen.path),
                            .mime = sma_str(job->seen.mime)};
    struct sma_msg *msg = sma_msg_make_tool_answer(&(struct sma_tool_answer){
        .seq = job->ask->seq,
        .call = job->ask->call,
        .verdict = (uint8_t)verdict,
        .is_error = is_error,
        .leaves_to = verdict == SMA_TOOL_ALLOWED ? job->check.leaves_to : 0,
        .content = content,
        .item_json = item,
        .part_count = is_seen,
        .parts = is_seen ? &seen : NULL,
    });
    if (msg == NULL)
        sma_ctx_fatal(job->tools->ctx, "out of memory: a tool's answer cannot be given");
    give_place_back(job);
    sma_ctx_answer(job->tools->ctx, job->question, &msg);
    job->state = TOOLS_ANSWERED;
}

void tools_answer_error(struct tools_job *job, enum sma_tool_verdict verdict, const char *text)
{
    struct sma_buf content;
    sma_buf_init(&content, SMA_TOOL_RESULT_BYTES_MAX);
    sma_buf_put_text(&content, "{\"success\":false,\"error\":");
    sma_buf_put_json_string(&content, sma_str(text));
    sma_buf_put_char(&content, '}');
    tools_answer(job, verdict, true,
                 content.err == SMA_ERR_OK
                     ? sma_buf_str(&content)
                     : SMA_STR("{\"success\":false,\"error\":\"out of memory\"}"));
    sma_buf_fini(&content);
}

void tools_leave(struct tools_job *job)
{
    job->tools->on_leave(job);
}
