/* file_tools_priv.h — what the files of file_tools.h share, and check.c uses. */
#ifndef SMA_TOOLS_FILE_TOOLS_PRIV_H
#define SMA_TOOLS_FILE_TOOLS_PRIV_H

#include "runtime/files/file_rules.h"
#include "runtime/files/file_tools.h"
#include "runtime/files/guard.h"
#include "runtime/secrets/secrets.h"
#include "runtime/tools/tools.h"
#include "sma/limits.h"

struct sma_file_tools
{
    struct sma_guard *guard;
    struct sma_file_rules *rules;
    struct sma_secrets *secrets;
    /* of a view: its folder, which its paths are shown with; NULL: the project. Its rules and
     * secrets are those of the tools it was made of. */
    char *place;
};

/* Room for what stands around the text of a result. */
#define FILE_RESULT_TEXT_BYTES_MAX (SMA_TOOL_RESULT_BYTES_MAX - 2000)

/* The path and a reason in why. BADINPUT. */
enum sma_err file_tools_say(struct sma_buf *why, struct sma_str path, const char *reason);
/* Clean the path and ask the rules of reading. OK | BADINPUT with a sentence in why. */
SMA_CHECKED enum sma_err file_tools_clean_read(const struct sma_file_tools *tools,
                                               struct sma_str path, struct sma_buf *ret_path,
                                               struct sma_buf *why);
/* The same with the rules of writing and the names nothing may write. *ret_verdict: ALLOW or
 * ASK. */
SMA_CHECKED enum sma_err file_tools_clean_write(const struct sma_file_tools *tools,
                                                struct sma_str path, struct sma_buf *ret_path,
                                                enum sma_file_verdict *ret_verdict,
                                                struct sma_buf *why);
/* What edit_file or write_file makes of the file. *ret_before NULL: there is none. Both
 * malloc'ed. */
struct file_change
{
    char *before, *after;
    size_t before_len, after_len;
    uint32_t replaced_count;
};
SMA_CHECKED enum sma_err file_tools_change(const struct sma_file_tools *tools, enum sma_tool tool,
                                           const struct sma_tool_args *args, struct sma_str path,
                                           struct file_change *ret_change, struct sma_buf *why);
void file_change_fini(struct file_change *change);
/* What people agree to. Of an edit: path, texts and how often they are replaced, so that several
 * agreed edits of one file can all be made, on whatever the rest of it says by then. Of write_file:
 * the path and the old and new contents. false: no memory. */
bool file_change_digest(enum sma_tool tool, const struct sma_tool_args *args, struct sma_str path,
                        const struct file_change *change, uint8_t ret_digest[32]);
/* SHA-256 over fields, each with its length. false: no memory. check.c */
bool file_tools_hash(const struct sma_str *fields, size_t count, uint8_t ret_digest[32]);

/* Bytes of the longest beginning of text that takes at most budget bytes inside of a JSON string,
 * cut at a character. */
size_t file_tools_fit(struct sma_str text, size_t budget);
/* Append text between the quotes of a JSON string, with its secrets replaced. */
void file_tools_put_json(const struct sma_file_tools *tools, struct sma_buf *buf,
                         struct sma_str text);
/* The same for a path, with the folder of a view before it. */
void file_tools_put_path(const struct sma_file_tools *tools, struct sma_buf *buf,
                         struct sma_str path);
/* At most so many bytes. */
size_t file_tools_path_cost(const struct sma_file_tools *tools, struct sma_str path);
/* Replace secrets in malloc'ed text: *bytes may become another one. OK | NOMEM. */
SMA_CHECKED enum sma_err file_tools_redact(const struct sma_file_tools *tools, char **bytes,
                                           size_t *len);

/* Append the result; an error leaves the sentence in why and the result alone. */
/* seen: may be NULL. */
enum sma_err file_tools_read(const struct sma_file_tools *tools, const struct sma_tool_args *args,
                             struct sma_file_seen *seen, struct sma_buf *result,
                             struct sma_buf *why);
enum sma_err file_tools_read_more(const struct sma_file_tools *tools,
                                  const struct sma_tool_args *args, struct sma_buf *result,
                                  struct sma_buf *why);
enum sma_err file_tools_list(const struct sma_file_tools *tools, const struct sma_tool_args *args,
                             struct sma_buf *result, struct sma_buf *why);
enum sma_err file_tools_search(const struct sma_file_tools *tools, const struct sma_tool_args *args,
                               struct sma_buf *result, struct sma_buf *why,
                               const volatile int *is_stopped);

#endif
