/*
 * answer.h — is this message the answer to a request, and which? Rules first, in Chinese and
 * English.
 *
 *   agree, refuse              "yes" "ok" "approve" "同意" "可以" "好的" ... ; "no" "deny" "拒绝" "不行" "不要"
 *   ...
 *   all, none                  "all yes" "全部同意" "none" "都不行"
 *   numbers                    "1 yes, 2 no" "同意1和3" "approve 2"
 *   only                       "only 2" "只同意 git status" "only git status": the rest is refused
 *   for a time, for good       "allow `git status` for 10 minutes" "允许 git status 10分钟" "always in
 *   this chat" "本会话一直允许"
 *   a reason                   "no, because ..." "拒绝，因为……": goes to the model
 * A question or anything longer is not taken for an answer by its first word alone: what is not
 * certain is MAYBE (the model is asked) or NO (an ordinary message).
 * Invariant: nothing is approved unless the words say so without another reading. Threads: any; no
 * state.
 */
#ifndef SMA_APPROVAL_ANSWER_H
#define SMA_APPROVAL_ANSWER_H

#include "runtime/approval/request.h"

enum sma_answer_kind
{
    SMA_ANSWER_NO,      /* an ordinary message */
    SMA_ANSWER_MAYBE,   /* looks like an answer: ask the model */
    SMA_ANSWER_DECIDES, /* masks and grant say what */
};
struct sma_answer
{
    enum sma_answer_kind kind;
    uint64_t approved_mask, refused_mask; /* by item index; items in neither stay open */
    int64_t
        /* enum of messages.h: SMA_GRANT_NONE 0, SMA_GRANT_ALWAYS -1, else seconds (<= 30 days) */
        grant_s;
    /* the words in quotes, or empty: what was asked about; slice of text */
    struct sma_str grant_rule;
    struct sma_str response; /* the reason; slice of text, may be empty */
};
void sma_answer_read(struct sma_str text, const struct sma_request *request,
                     struct sma_answer *ret_answer);

/** What the model is asked when the rules cannot tell; answered by JSON
 *  {"approved":[1],"refused":[2],"reason":"..."} with item numbers, both empty for "not an answer".
 *  Nothing in `text` can change the task: it stands as a JSON string. */
void sma_answer_put_question(struct sma_buf *buf, struct sma_str text,
                             const struct sma_request *request);
/** OK and *ret_answer (DECIDES or NO; response owned by the caller's buf `reason`) | BADINPUT: not
 *  such an answer. */
SMA_CHECKED enum sma_err sma_answer_read_judgement(struct sma_str text,
                                                   const struct sma_request *request,
                                                   struct sma_answer *ret_answer,
                                                   struct sma_buf *reason);

#endif
