/*
 * shell_priv.h — what the files of this folder share: the parser's state, the tables of programs,
 * path rules.
 */
#ifndef SMA_SHELL_PRIV_H
#define SMA_SHELL_PRIV_H

#include "policy.h"
#include "programs.h"
#include "shell.h"

/* -- parser (shell.c, shell_word.c, shell_parse.c) --------------------------------------------- */
struct heredoc
{
    struct sma_str delimiter;
    bool is_quoted, strips_tabs;
};

struct parser
{
    struct sma_shell *shell;
    const char *pos, *end;
    unsigned depth;
    int32_t parent; /* for the commands found */
    uint32_t origin;
    bool is_from_text;
    struct heredoc heredocs[SMA_SHELL_HEREDOC_COUNT_MAX]; /* named, body not reached yet */
    unsigned heredoc_count, heredoc_base; /* below base: those of enclosing commands */
    unsigned opened; /* descriptors that the command being read has opened itself, a bit each */
};

void sma_shell_doubt(struct sma_shell *shell, const char *at, const char *why);
/* Bytes in the arena, or NULL with doubt when it is full. */
char *sma_shell_reserve(struct sma_shell *shell, size_t len);
struct sma_shell_command *sma_shell_add_command(struct parser *parser);
void sma_shell_skip_blanks(struct parser *parser);
bool sma_shell_is_meta(char byte);
/* [A-Za-z_][A-Za-z0-9_]*: what a variable is called. Anything else is evaluated by some shells. */
bool sma_shell_is_name(struct sma_str text);
/* Read one word; false when none stands here. */
bool sma_shell_parse_word(struct parser *parser, struct sma_shell_word *ret_word);
/* The expansions in the body of a here-document: [parser->pos, parser->end). */
void sma_shell_parse_body(struct parser *parser);
/* Everything up to parser->end. */
void sma_shell_parse_all(struct parser *parser);
/* The inside of $( ... ) or ( ... ); takes the closing parenthesis. */
void sma_shell_parse_paren(struct parser *parser);
/* A reserved word of the shell, however it was written. */
bool sma_shell_is_reserved(struct sma_str word);
/* Parse a text the launcher `parent` hands to a shell; it must lie in the arena or be constant. */
void sma_shell_parse_child(struct sma_shell *shell, struct sma_str text, uint32_t parent,
                           uint32_t origin);

/* -- programs (programs.c) --------------------------------------------------------------------- */
enum program_kind
{
    PROGRAM_OTHER,
    PROGRAM_PLAIN,       /* runs nothing and writes nothing, whatever its arguments */
    PROGRAM_NEUTRAL,     /* of the shell itself, changes nothing: needs no rule */
    PROGRAM_WRITER,      /* writes its operands: they are judged like redirection targets */
    PROGRAM_SHELL,       /* unwrap_code.c */
    PROGRAM_INTERPRETER, /* unwrap_code.c */
    PROGRAM_AWK,
    PROGRAM_SED,
    PROGRAM_FIND,
    PROGRAM_GIT,
    PROGRAM_LAUNCHER, /* has a struct launcher */
    PROGRAM_RUNNER,   /* starts its first operand in ways not modelled: npx, strace, tmux */
    /* an editor, a database client, a builtin that changes the shell: never understood */
    PROGRAM_OPAQUE,
    PROGRAM_DECLARE, /* export and relatives */
    PROGRAM_CD,
};

enum launcher_flag
{
    LAUNCHER_ADDS_NOTHING = 1, /* its child alone decides */
    LAUNCHER_ASSIGNS = 2,      /* NAME=value before the program */
    LAUNCHER_APPENDS = 4,      /* xargs */
    LAUNCHER_JOINS = 8,        /* hands its words to a shell, joined with blanks */
    LAUNCHER_EVALUATES = 16,   /* the same without options: eval */
    LAUNCHER_MAKES_FILE = 32,  /* its operand is a file that it makes: flock */
};

struct launcher
{
    const char *name;
    const char *flags, *valued;           /* short options without and with a value */
    const char *long_flags, *long_valued; /* blank-separated, without -- */
    uint8_t operand_count;                /* between options and program */
    uint8_t traits;
};

struct program
{
    const char *name;
    enum program_kind kind;
};

enum program_kind sma_program_kind(struct sma_str base);
const struct launcher *sma_program_launcher(struct sma_str base);
/* May a name made of the pattern be a recipe? */
bool sma_program_may_be_recipe(struct sma_str pattern);
/* Does `program` run what some such file says at all? */
bool sma_program_has_recipes(struct sma_str program);
/* Does `program` run what such a file says? */
bool sma_program_reads(struct sma_str program, uint32_t recipes);
/* For the test of the tables: in order, and every launcher described. */
bool sma_programs_are_sorted(void);

#define NOTE_NEVER_COVERED UINT32_MAX /* as origin: not even by a rule that names every word */

/* -- unwrap (unwrap*.c) ------------------------------------------------------------------------ */
static inline const struct sma_shell_word *sma_unwrap_word_at(const struct sma_shell *shell,
                                                              uint32_t command, uint32_t index)
{
    return &shell->words[shell->commands[command].first_word + index];
}
static inline struct sma_str sma_unwrap_text_at(const struct sma_shell *shell, uint32_t command,
                                                uint32_t index)
{
    return sma_shell_word_str(sma_unwrap_word_at(shell, command, index));
}
void sma_unwrap_note(struct sma_shell *shell, uint32_t command, uint32_t origin, const char *why);
/* The same for a script in the word `origin`. */
void sma_unwrap_script(struct sma_shell *shell, uint32_t command, uint32_t origin);
/* The program touches the file `target`, a word or a part of one, by the word `origin` of the
 * command: a rule that fixes this word has allowed it. policy_write.c judges the list. */
void sma_unwrap_touch_at(struct sma_shell *shell, uint32_t command, uint32_t origin,
                         enum sma_shell_touch_kind kind, const struct sma_shell_word *target);
/* What the words [from, to) may run if they are commands, so that deny rules see it. */
void sma_unwrap_guess(struct sma_shell *shell, uint32_t command, uint32_t from, uint32_t to);
/* A child made of the parent's words [from, to). NULL with doubt at a limit. */
struct sma_shell_command *sma_unwrap_child(struct sma_shell *shell, uint32_t command, uint32_t from,
                                           uint32_t to);
void sma_unwrap_shell(struct sma_shell *shell, uint32_t command);
void sma_unwrap_interpreter(struct sma_shell *shell, uint32_t command, struct sma_str base);
void sma_unwrap_awk(struct sma_shell *shell, uint32_t command);
void sma_unwrap_find(struct sma_shell *shell, uint32_t command);
/* The words of the child that hold `replaced` (-I of xargs, {} of find) are not known. */
void sma_unwrap_mark_replaced(struct sma_shell *shell, const struct sma_shell_command *child,
                              struct sma_str replaced);
void sma_unwrap_sed(struct sma_shell *shell, uint32_t command);
void sma_unwrap_add_assign(struct sma_shell *shell, uint32_t command,
                           const struct sma_shell_word *word);
void sma_unwrap_git(struct sma_shell *shell, uint32_t command);

/* -- rules (policy.c) -------------------------------------------------------------------------- */
struct rule
{
    char *text;            /* as written */
    struct sma_str *words; /* into storage */
    struct sma_str base;   /* the last part of the first word */
    char *storage;
    char *script;            /* the script or program file it lets run; NULL: none */
    uint32_t script_program; /* the word that is the program of it */
    uint32_t word_count;
    bool is_exact;
};

struct rules
{
    struct rule *items;
    size_t count;
};

struct sma_policy
{
    struct rules deny, allow;
    bool is_off;          /* no command at all */
    bool allows_the_rest; /* what no rule names runs too */
    bool
        /* requiresApproval: true is written there: allow rules spare nobody the question */
        asks_always;
    bool deny_is_question; /* denyRequiresApproval */
};

/* Read one rule; `where` names the list in errors. *rule must be zeroed; whatever happens
 * sma_rule_fini frees it. */
SMA_CHECKED enum sma_err sma_rule_parse(struct sma_shell *shell, const char *text,
                                        const char *where, bool is_allow, struct rule *rule,
                                        struct sma_error *error);
void sma_rule_fini(struct rule *rule); /* leaves it zeroed */
void sma_rules_free(struct rules *rules);
/* How many of the command's words a rule fixes: 0 it does not match, UINT32_MAX all of them. */
uint32_t sma_rule_cover(const struct rule *rule, const struct sma_shell *shell,
                        const struct sma_shell_command *command);
/* What a child inherits of its parent's cover. */
uint32_t sma_rule_inherit(uint32_t cover, const struct sma_shell_command *child);

/* -- paths (policy_path.c) --------------------------------------------------------------------- */
/* May a redirection read or write it: inside the project, no name that begins with a dot, not
 * ship.json? */
bool sma_path_is_harmless(struct sma_str path, struct sma_str project_dir);
/* Does a name fit a name with stars as owner_files.c writes them? */
bool sma_name_fits(struct sma_str name, struct sma_str wanted);
/* ... one of a blank-separated list? */
bool sma_list_fits(const char *list, struct sma_str name);
bool sma_name_is_example(struct sma_str name); /* .env.example and its like */
/* May a file name made of this pattern be in the list? Open ends of names count as closed.
 * @counts_suffixes  also names that begin with a star: `a*` may be a.key */
bool sma_pattern_may_be_in(struct sma_str pattern, const char *list, bool counts_suffixes);
/* May a file name made of this pattern be `name`, which is written so? */
bool sma_pattern_may_be(struct sma_str pattern, const char *name);
/* The kinds of recipe of a base name, further suffixes (Makefile.sh) left away. */
uint32_t sma_file_recipes(struct sma_str base);
/* Does it name .env, .ship, ship.json or (unless for_git) .git, as a path, a pattern or behind an =
 * or :? */
bool sma_path_is_protected(struct sma_str word, bool is_pattern, bool for_git);
/* May a word with expansions, as it is written, come to name such a file? Where an expansion is
 * nothing, where it is the word behind its `:-`, and what follows a dot in a name. */
bool sma_word_may_be_protected(struct sma_str raw, bool for_git);

#endif
