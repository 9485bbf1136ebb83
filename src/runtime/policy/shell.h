/*
 * shell.h — which programs a shell command line would run, read from its text alone.
 *
 * sma_shell_parse() reads POSIX shell and what bash adds, and lists every simple command in it:
 * those behind && and |, in substitutions, subshells, loops, functions and here-documents.
 * sma_shell_unwrap() adds the commands that known launchers (env, xargs, find -exec, sh -c, ...)
 * would start. The list is never too short without is_uncertain being set: what is not understood,
 * or means different things to different shells, is said to be uncertain, not guessed.
 *
 * Invariants: every text is NUL-terminated and lies in the struct; counts stay below the limits; a
 *             limit reached sets is_uncertain.
 * Threads:    one struct, one thread. Nothing is run, read or allocated except by
 * sma_shell_create().
 */
#ifndef SMA_APPROVAL_SHELL_H
#define SMA_APPROVAL_SHELL_H

#include "sma/base.h"

/* At each limit the command is uncertain, so it is asked about. */
#define SMA_SHELL_TEXT_BYTES_MAX (64 * 1024)
#define SMA_SHELL_ARENA_BYTES (4 * SMA_SHELL_TEXT_BYTES_MAX)
#define SMA_SHELL_COMMAND_COUNT_MAX 256
#define SMA_SHELL_WORD_COUNT_MAX 2048
#define SMA_SHELL_REDIRECT_COUNT_MAX 256
#define SMA_SHELL_ASSIGN_COUNT_MAX 256
#define SMA_SHELL_NOTE_COUNT_MAX 256
#define SMA_SHELL_TOUCH_COUNT_MAX 512
#define SMA_SHELL_HEREDOC_COUNT_MAX 8
#define SMA_SHELL_DEPTH_MAX 24

enum
{
    SMA_WORD_QUOTED = 1,   /* some of it was quoted or escaped */
    SMA_WORD_DYNAMIC = 2,  /* holds an expansion; text stops where the first one begins */
    SMA_WORD_SPLITS = 4,   /* may become several words, or none */
    SMA_WORD_GLOB = 8,     /* a pattern of file names; text is the pattern */
    SMA_WORD_BRACE = 16,   /* {a,b}: several words in some shells */
    SMA_WORD_TILDE = 32,   /* begins with a home directory */
    SMA_WORD_FOREIGN = 64, /* has bytes outside ASCII */
    /* set while options are read (options.c) */
    SMA_WORD_OPERAND = 128, /* no option, nor the value of one */
    SMA_WORD_VOUCHED =
        256, /* whatever it becomes, it is not another option than the one that was judged */
};
#define SMA_WORD_NOT_CONSTANT \
    (SMA_WORD_DYNAMIC | SMA_WORD_SPLITS | SMA_WORD_GLOB | SMA_WORD_BRACE | SMA_WORD_TILDE)

struct sma_shell_word
{
    const char *text; /* after quote removal */
    const char *raw;  /* as written, raw_len bytes */
    uint32_t len, raw_len;
    uint32_t fixed_len; /* so many first bytes are the same whatever the expansions give */
    uint32_t flags;
};

#define SMA_SHELL_NO_PARENT (-1)
#define SMA_SHELL_WHOLE_TEXT UINT32_MAX

struct sma_shell_command
{
    uint32_t first_word, word_count; /* into words[]; no words: only assignments or redirections */
    int32_t parent;                  /* the launcher's command, or SMA_SHELL_NO_PARENT */
    uint32_t origin;                 /* the parent's word that says which program this is */
    uint16_t depth;
    bool is_from_text;   /* made from the text of the parent's word `origin`, not from its words */
    bool is_transparent; /* a launcher that adds nothing of its own: its children decide */
    bool has_more_words; /* the launcher appends arguments that are not known (xargs) */
};

enum sma_shell_redirect_kind
{
    SMA_REDIRECT_READ,
    SMA_REDIRECT_WRITE,
    SMA_REDIRECT_DUP, /* n>&m, n<&-, harmless in itself */
    SMA_REDIRECT_HEREDOC,
    SMA_REDIRECT_HERESTRING,
};

struct sma_shell_redirect
{
    enum sma_shell_redirect_kind kind;
    int32_t command; /* or SMA_SHELL_NO_PARENT behind a compound command */
    struct sma_shell_word target;
};

struct sma_shell_assign
{
    struct sma_str name;
    struct sma_shell_word value;
    int32_t command;  /* or SMA_SHELL_NO_PARENT for the variable of a loop */
    bool is_exported; /* seen by the program it stands before */
};

/* A command that may run something that cannot be seen, from its word `origin` on (origin ==
 * word_count: by what it is). */
struct sma_shell_note
{
    uint32_t command, origin;
    const char *why;
    bool is_script; /* the word `origin` names a file whose contents are run */
};

enum sma_shell_touch_kind
{
    SMA_TOUCH_READ,        /* as data */
    SMA_TOUCH_WRITE,       /* made, changed, replaced or removed */
    SMA_TOUCH_WRITE_BELOW, /* a folder: files of names that cannot be told are written below it */
    /* a target of make: a built-in rule may write it (`a` of a.sh); free unless more than a plain
     * file */
    SMA_TOUCH_MAKE,
};

/* A file that a program touches by an operand or by the value of an option: `cp a b`, `curl -o b`,
 * `tar -C b`. */
struct sma_shell_touch
{
    enum sma_shell_touch_kind kind;
    uint32_t command,
        origin; /* the word that a rule must fix to have said so; UINT32_MAX: none does */
    struct sma_shell_word target;
};

struct sma_shell
{
    bool is_uncertain;
    const char *why; /* constant text, NULL when certain */
    size_t at;       /* byte offset in the command text */
    uint32_t command_count, word_count, redirect_count, assign_count, note_count;
    uint32_t touch_count;
    uint32_t pending_count;
    size_t arena_len, source_len;
    struct sma_shell_command commands[SMA_SHELL_COMMAND_COUNT_MAX];
    struct sma_shell_word words[SMA_SHELL_WORD_COUNT_MAX];
    struct sma_shell_redirect redirects[SMA_SHELL_REDIRECT_COUNT_MAX];
    struct sma_shell_assign assigns[SMA_SHELL_ASSIGN_COUNT_MAX];
    struct sma_shell_note notes[SMA_SHELL_NOTE_COUNT_MAX];
    struct sma_shell_touch touches[SMA_SHELL_TOUCH_COUNT_MAX];
    /* words of commands still being read */
    struct sma_shell_word pending[SMA_SHELL_WORD_COUNT_MAX];
    char arena[SMA_SHELL_ARENA_BYTES]; /* the source, then every text */
};

/** @return a struct to parse into again and again, or NULL without memory. Destroy with
 *  sma_shell_destroy(). */
struct sma_shell *sma_shell_create(void);
void sma_shell_destroy(struct sma_shell *shell); /* accepts NULL */

/**
 * Read `text` (copied) and forget what was read before. Every outcome is in *shell; text that is
 * too long, not UTF-8 or not a shell command is uncertain.  Thread: the owner.  Blocks, allocates:
 * never.
 */
void sma_shell_parse(struct sma_shell *shell, struct sma_str text);

/** Add the commands that launchers in the list would start, and notes about what cannot be seen.
 *  Once after parse. */
void sma_shell_unwrap(struct sma_shell *shell);

static inline const struct sma_shell_word *sma_shell_words(const struct sma_shell *shell,
                                                           const struct sma_shell_command *command)
{
    return &shell->words[command->first_word];
}

static inline struct sma_str sma_shell_word_str(const struct sma_shell_word *word)
{
    return (struct sma_str){word->text, word->len};
}

static inline bool sma_shell_word_is_constant(const struct sma_shell_word *word)
{
    return (word->flags & SMA_WORD_NOT_CONSTANT) == 0;
}

#endif
