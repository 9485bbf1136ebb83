/*
 * accepted.h — the program of an MCP server as it was accepted: `.ship/mcp/accepted.json`, a
 * SHA-256 for each of its files (decisive.h).
 *
 * The first look at an entry accepts what lies there: the owner wrote it. From then on another
 * content, a further module in its folder, or a missing file is a change, and the server is not
 * started until the owner has accepted it (`shipmyagent mcp accept NAME`). So it is when an entry
 * that ran nothing of the project is found to run some of it: that is recorded, too. Other words of
 * command and args begin anew. Files beyond the bounds below are known by inode, size and
 * times; packages (node_modules, a venv) are not looked into: whether there are any is known. What
 * a record does not know and is not there is no change; packages that a record of an earlier
 * version does not know are accepted as they lie there.
 * Beside it, in `accepted.d`, lie copies of short texts as they were accepted, named by their
 * digests, so that a change can be shown.
 * `.ship/mcp` is out of reach of file tools, and not there for commands in the sandbox. The file is
 * replaced whole, under a lock; a damaged one accepts nothing.
 * Threads: an instance belongs to one. Blocks: on the disk.
 */
#ifndef SMA_RUNTIME_ACCEPTED_H
#define SMA_RUNTIME_ACCEPTED_H

#include "runtime/mcp/mcp_config.h"
#include "sma/buf.h"

#define SMA_ACCEPTED_FILE ".ship/mcp/accepted.json"
#define SMA_ACCEPTED_FILE_COUNT_MAX 4000           /* of one server; those beyond are not bound */
#define SMA_ACCEPTED_BYTES_MAX (128 * 1024 * 1024) /* read of one server, and of one file: */
#define SMA_ACCEPTED_FILE_BYTES_MAX (64 * 1024 * 1024)
#define SMA_PROGRAM_DIGEST_BYTES 65

struct sma_program_look;

enum sma_program_state
{
    SMA_PROGRAM_FOREIGN, /* it runs nothing of the project */
    SMA_PROGRAM_NEW,     /* never accepted */
    SMA_PROGRAM_SAME,
    SMA_PROGRAM_CHANGED,
};

/**
 * Read the files of this entry and compare them with what was accepted.
 * @changes  CHANGED: "changed tools/srv.py\n", "new ...", "missing ..." in order of the names;
 *           NEW: "new ..." for each. May be NULL
 * @return OK, *ret_state and *ret_look (destroy it) | BADINPUT: the record is damaged (*error says
 * what to do; *ret_look is there all the same, to be accepted) | IO | NOMEM
 */
SMA_CHECKED enum sma_err
sma_program_look(const char *project_dir, const struct sma_mcp_config_server *server,
                 enum sma_program_state *ret_state, struct sma_buf *changes,
                 struct sma_program_look **ret_look, struct sma_error *error);
/** Has an entry of these words been accepted before, also as FOREIGN? */
bool sma_program_is_recorded(const struct sma_program_look *look);
void sma_program_look_destroy(struct sma_program_look *look); /* accepts NULL */
/** SHA-256 (hex) of all that would be accepted with it: another one is another program. */
void sma_program_look_digest(const struct sma_program_look *look,
                             char ret_digest[SMA_PROGRAM_DIGEST_BYTES]);
/** Record it as it was looked at. OK | BUSY | IO | NOSPACE | NOMEM with *error. */
SMA_CHECKED enum sma_err sma_program_accept(const struct sma_program_look *look,
                                            struct sma_error *error);
/** What changed since it was accepted, for the one who is to accept it: of texts of at most 64 KiB,
 *  a copy of which was kept when they were accepted, what `diff` makes of old and new; of others
 *  sizes and digests. Each line behind "| ", at most line_max of them, the last one says so. */
typedef void sma_program_diff_fn(struct sma_buf *buf, struct sma_str path, const char *before,
                                 const char *after, size_t max);
void sma_program_put_diffs(const struct sma_program_look *look, sma_program_diff_fn *diff,
                           size_t line_max, struct sma_buf *buf);
/** "tools/srv.py changed" or "tools/srv.py changed, and 3 more": the first lines of `changes` for
 *  one line of a log. */
void sma_program_put_changes(struct sma_buf *line, struct sma_str changes);

#endif
