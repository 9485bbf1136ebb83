/*
 * generate_priv.h — what generate.c (grammar), generate_word.c (words) and generate_tables.c
 * (programs) share.
 *
 * A template is a command with holes. Its tokens are separated by blanks; a hole is % and a letter:
 *   %f file  %n new file  %d folder  %p pattern of files  %h file that is named like something else
 *   %r guarded file %t text  %i number  %v value of an option  %e subscript  %V name of a variable
 *   %C code that must not run  %c its text %u address  %b word of a test  %g revision  %j word of
 *   sed  %k program of awk
 * A token that is only %o, %P, %S or %L is options of the program, a command, a text for a shell,
 * or a launcher's command.
 */
#ifndef SMA_TESTS_POLICY_GENERATE_PRIV_H
#define SMA_TESTS_POLICY_GENERATE_PRIV_H

#include "generate.h"

#include <stdbool.h>

struct text
{
    char bytes[GENERATE_BYTES_MAX];
    size_t len;
    bool is_full;
};

struct gen
{
    uint64_t state;
    struct text head; /* assignments in front of everything */
    unsigned depth, head_count;
    bool is_hostile;
    bool is_danger; /* within what should not be allowed: hide it more often */
};

struct row
{
    const char *name;
    unsigned weight;
    const char *flags, *valued; /* short options */
    const char *longs;          /* blank-separated; "name=" has a value, "name[=" may have one */
    const char *templates;      /* separated by | */
    const char *dangers;        /* templates of words that run or write something; separated by | */
};

extern const struct row GENERATE_ROWS[];
extern const size_t GENERATE_ROW_COUNT;

uint64_t gen_next(struct gen *gen);
size_t gen_below(struct gen *gen, size_t limit);
bool gen_chance(struct gen *gen, unsigned percent);
/* One of the blank-separated words of `list`, as a length. */
const char *gen_pick(struct gen *gen, const char *list, char separator, size_t *ret_len);

void put_bytes(struct text *text, const char *bytes, size_t len);
void put(struct text *text, const char *string);

/* -- generate_word.c -- */
/* The word `raw` (what the program shall see) in some spelling of the shell's. `is_bare`: its
 * pattern bytes stay patterns. */
void gen_word(struct gen *gen, struct text *out, const struct text *raw, bool is_bare);
/* Fill the holes of one token. */
void gen_fill(struct gen *gen, const char *token, size_t len, struct text *raw, bool *is_bare);
void gen_quoted(struct gen *gen, struct text *out, const struct text *raw);
void gen_expansion(struct gen *gen, struct text *out);

/* -- generate.c -- */
void gen_list(struct gen *gen, struct text *out);
void gen_command(struct gen *gen, struct text *out);
void gen_payload(struct gen *gen, struct text *out);

#endif
