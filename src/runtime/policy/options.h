/*
 * options.h — the options of programs, described completely: which ones take a value and what is
 * done with it.
 *
 * A description lists every option of a program by its role. What it does not list is asked about,
 * so a description that is too short costs a question, never more. options.c reads a command by its
 * description; the tables are options_*.c, each with the manual it was made from.
 */
#ifndef SMA_APPROVAL_OPTIONS_H
#define SMA_APPROVAL_OPTIONS_H

#include "shell_priv.h"

enum option_role
{
    OPTION_FLAG = 1,  /* no value, harmless */
    OPTION_MAYBE,     /* a harmless value, only behind = or in the same word */
    OPTION_TEXT,      /* a harmless value, also the next word */
    OPTION_READ,      /* its value names a file that is read */
    OPTION_WRITE,     /* its value names a file that is written */
    OPTION_BELOW,     /* its value names a folder below which is written */
    OPTION_RUN,       /* its value is a command or a program */
    OPTION_ASK,       /* no value; asked about */
    OPTION_ASK_VALUE, /* a value; asked about, whatever it is */
    OPTION_JUDGED, /* a value that has a language of its own: the description's `judge` reads it */
};

struct option_row
{
    enum option_role role;
    const char *names; /* blank-separated, without dashes; of one byte: short options */
};

enum description_trait
{
    OPTIONS_PARTIAL = 1,         /* an option that is not listed is harmless */
    OPTIONS_NUMBERS = 2,         /* -20 is an option */
    OPTIONS_SINGLE_DASH = 4,     /* -name means --name; no clusters of letters */
    OPTIONS_OLD_STYLE = 8,       /* the first word is a cluster also without its dash */
    OPTIONS_NEGATED = 16,        /* --no-name undoes --name */
    OPTIONS_STOP = 32,           /* the first operand ends the options */
    OPTIONS_CONSTANT = 64,       /* its operands say what it does: they must be constant */
    OPTIONS_NO_SHORTENING = 128, /* --na does not mean --name */
    OPTIONS_DASH_IS_OPTION =
        256, /* a word that begins with a dash is never the value of the option before it */
    OPTIONS_SIGNATURES = 512, /* --format and --pretty may ask for signatures: gpg is started */
};

struct reading;

struct description
{
    const char *programs; /* blank-separated; of git and the like: subcommands */
    const struct option_row *rows;
    uint32_t row_count;
    uint32_t traits;
    /* names of options that `finish` asks for by sma_options_saw(); NULL: none */
    const char *marks;
    void (*finish)(struct reading *reading); /* judges the operands; NULL: they are plain text */
    /* judges the value of the option `name`, which stands in the word `index` */
    void (*judge)(struct reading *reading, struct sma_str name, uint32_t index,
                  const struct sma_shell_word *value);
};

#define OPTION_MARK_COUNT_MAX 24

/* What was found out about one command. */
struct reading
{
    struct sma_shell *shell;
    const struct description *description;
    uint32_t command, first; /* words before `first` are not options: the program, subcommands */
    uint32_t operand_count;
    uint32_t seen, repeated;                             /* a bit for each mark */
    struct sma_shell_word values[OPTION_MARK_COUNT_MAX]; /* of the marks, the last ones */
};

/* The description of a program; NULL: it has none. */
const struct description *sma_options_of(struct sma_str base);
/* The description of `git NAME`. */
const struct description *sma_options_of_git(struct sma_str subcommand);
/* Does it have options that write or run something? */
bool sma_options_can_harm(const struct description *description);
/* Walk the options from word `first` on: notes and touches; then the operands. */
void sma_options_read(struct sma_shell *shell, uint32_t command, uint32_t first,
                      const struct description *description);
/* Does the description know the option, "-x" or "--name" as one writes it? For the test of
 * completeness. */
bool sma_options_know(const struct description *description, struct sma_str option);

/* -- for `finish` ------------------------------------------------------------------------------ */
/* Was one of the blank-separated options there? */
bool sma_options_saw(const struct reading *reading, const char *names);
/* Was there more than one of them? */
bool sma_options_repeated(const struct reading *reading, const char *names);
/* The value of the last one of these; NULL when there was none. */
const struct sma_shell_word *sma_options_value(const struct reading *reading, const char *names);
/* The n-th operand; NULL behind the last. Its index goes to *ret_index unless that is NULL. */
const struct sma_shell_word *sma_options_operand(const struct reading *reading, uint32_t n,
                                                 uint32_t *ret_index);
/* The operand n is touched. */
void sma_options_touch(struct reading *reading, uint32_t n, enum sma_shell_touch_kind kind);
/* A file whose name is made of two words is touched: `first`, the text between, the last part of
 * `second` (NULL: none). */
void sma_options_touch_made(struct reading *reading, enum sma_shell_touch_kind kind,
                            const struct sma_shell_word *first, const char *between,
                            const struct sma_shell_word *second);
/* The folder of the command is written below. */
void sma_options_touch_here(struct reading *reading);

#endif
