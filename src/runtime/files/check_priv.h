/* check_priv.h — one check while it is made: what check.c, check_memory.c and check_web.c share. */
#ifndef SMA_TOOLS_CHECK_PRIV_H
#define SMA_TOOLS_CHECK_PRIV_H

#include "runtime/files/check.h"
#include "runtime/files/file_tools_priv.h"
#include "runtime/web/rules.h"

#include <stdatomic.h>

#define CHECK_TITLE_BYTES_MAX 200

struct sma_tool_rules
{
    const struct sma_config *config;
    struct sma_policy *policy;
    struct sma_file_tools *files;
    struct sma_web_rules *web;
    char *project_dir;
    atomic_bool is_unhidden;
    const char *walls; /* SMA_REQUEST_SANDBOX_*, NULL: not known */
};

/* One check while it is made. */
struct checking
{
    const struct sma_tool_rules *rules;
    const struct sma_tool_ask *ask;
    enum sma_tool tool;
    struct sma_tool_args args;
    int64_t wall_ms;
    struct sma_shell *shell;
    struct sma_tool_check check;
    bool is_owner_only;       /* what is asked is for owners */
    const char *program_rule; /* see struct sma_request_item; NULL: none */
    struct sma_buf *item, *why;
};

/* The texts an item is made of. */
struct check_texts
{
    struct sma_buf title, input, details, diff, grant_rule;
};

void check_init_texts(struct check_texts *texts);
void check_fini_texts(struct check_texts *texts);

void check_decide(struct checking *checking, enum sma_tool_verdict verdict, const char *rule,
                  const char *reason);
/* Cut at a character. */
void check_set_text(char *to, size_t size, struct sma_str text);
/* Is the grant not over? */
bool check_holds_now(const struct checking *checking, const struct sma_grant *grant);
/* A text for people: one line without control characters, what misleads the eye escaped, no
 * secret. */
void check_put_line(const struct checking *checking, struct sma_buf *buf, struct sma_str text,
                    size_t max);
/* Two members as a JSON object, secrets replaced, the second one cut. other_name may be NULL. */
void check_put_details(const struct checking *checking, struct sma_buf *buf, const char *name,
                       struct sma_str value, const char *other_name, struct sma_str other);
/* The item of request.h that people decide. OK | NOMEM. */
SMA_CHECKED enum sma_err check_put_item(struct checking *checking, struct check_texts *texts,
                                        const char *type, bool is_admin_only);

/* One tool each. OK | BADINPUT (an argument; why says it) | NOMEM. */
SMA_CHECKED enum sma_err check_memory(struct checking *checking);
SMA_CHECKED enum sma_err check_web_fetch(struct checking *checking);
SMA_CHECKED enum sma_err check_web_search(struct checking *checking);

#endif
