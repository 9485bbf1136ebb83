/*
 * read_rules.h — the rules for programs that only look: what `init` writes into ship.json, and
 * what a card may offer to allow for good ("always allow `wc`").
 *
 * A row belongs here when the tables of options (options_*.c, unwrap_find.c) know every way in
 * which the program writes or runs something: `find -delete`, `sort -o`, `rg --pre`, `date -s` are
 * asked about under these rules all the same. tests/policy hunts through random commands under
 * them. They read whatever the walls of the sandbox show.
 */
#ifndef SMA_RUNTIME_POLICY_READ_RULES_H
#define SMA_RUNTIME_POLICY_READ_RULES_H

/* A row beginning with = is these words and no other: git branch makes and deletes branches. */
/* clang-format off */
#define SMA_POLICY_READ_RULES(FIRST, NEXT)                                                \
    FIRST("ls")                                                                           \
    NEXT("cat") NEXT("head") NEXT("tail") NEXT("grep") NEXT("rg") NEXT("find")            \
    NEXT("wc") NEXT("sort") NEXT("uniq") NEXT("cut") NEXT("tr") NEXT("jq") NEXT("diff")   \
    NEXT("stat") NEXT("file") NEXT("du") NEXT("df") NEXT("pwd") NEXT("date")              \
    NEXT("which") NEXT("md5sum") NEXT("sha256sum") NEXT("echo") NEXT("printf")            \
    NEXT("basename") NEXT("dirname") NEXT("realpath") NEXT("readlink") NEXT("nl")         \
    NEXT("seq") NEXT("nproc") NEXT("uname") NEXT("whoami") NEXT("id") NEXT("column")      \
    NEXT("paste") NEXT("comm") NEXT("strings") NEXT("hexdump") NEXT("tree")               \
    NEXT("git status") NEXT("git diff") NEXT("git log") NEXT("git show")                  \
    NEXT("git blame") NEXT("git ls-files") NEXT("git rev-parse") NEXT("git grep")         \
    NEXT("git describe") NEXT("git shortlog") NEXT("git cat-file")                        \
    NEXT("git reflog show") NEXT("=git reflog") NEXT("=git --version")                    \
    NEXT("=git remote") NEXT("=git remote -v") NEXT("git remote get-url")                 \
    NEXT("=git tag") NEXT("=git tag -l") NEXT("=git tag --list") NEXT("=git stash list")  \
    NEXT("=git branch") NEXT("=git branch -a") NEXT("=git branch -r")                     \
    NEXT("=git branch -v") NEXT("=git branch -vv") NEXT("=git branch --list")             \
    NEXT("=git branch --show-current") NEXT("=git branch --merged")                       \
    NEXT("=git branch --no-merged") NEXT("=git branch --merged main")                     \
    NEXT("=git branch --merged master")
/* clang-format on */

#define SMA_POLICY_READ_RULE_FIRST(rule) "\"" rule "\""
#define SMA_POLICY_READ_RULE_NEXT(rule) ", \"" rule "\""
/* The inside of a JSON list. */
#define SMA_POLICY_READ_RULES_JSON \
    SMA_POLICY_READ_RULES(SMA_POLICY_READ_RULE_FIRST, SMA_POLICY_READ_RULE_NEXT)

#endif
