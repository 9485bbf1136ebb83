/*
 * play_words.h — what the parts of the interpreter share: where it stands in the script, what it
 * remembers, and how the words of a line are read.
 */
#ifndef SMA_PLAY_WORDS_H
#define SMA_PLAY_WORDS_H

#include "play/play_stage.h"

#define EACH_DEPTH_MAX 8 /* each within each */
#define SCRAPS_MAX 64    /* texts made for one line */

struct play_state
{
    struct play_stage stage;
    const struct fake_program *program;
    const struct play_options *options;
    unsigned number; /* of the line that is played */
    char *scraps[SCRAPS_MAX];
    size_t scrap_count;
    struct
    {
        char name[16], value[256];
    } each[EACH_DEPTH_MAX];
    size_t each_count;
    json_t *kept;     /* what `keep` and others remember: name: value */
    json_t *it;       /* what was found last */
    json_t *counters; /* at the last mark */
    char *output;     /* of the last command */
    long long mark_ms;
    unsigned talk_first, talk_next; /* numbers of what `talk` said in this world */
    const struct play_role *here;   /* whose chat `here` is; NULL: not said */
    bool is_now;                    /* look as it is, without waiting for rest */
};
extern struct play_state play;

struct play_verb
{
    const char *word;
    void (*run)(char *rest); /* what stands behind the word; it is cut up */
};
/* -- play_lines.c: a line without what stands before its verb; it is cut up ------------------- */
void play_line(char *line);
/* -- play_talk.c ----------------------------------------------------------------------------- */
extern const struct play_verb play_talk_verbs[];
extern const size_t play_talk_verb_count;
/** bot[@CHAT] [xN]: PART, card[@CHAT]: PART, message[@CHAT]: PART */
void play_see(char *line);
/** WHO[@CHAT] ...: somebody says, writes or presses something. */
void play_speak(char *line);

/* -- play_words.c ---------------------------------------------------------------------------- */

/** The stage, set up when it is not yet; and with a service on it. */
struct play_stage *play_stage(void);
struct play_stage *play_service(void);
long long play_deadline(void);
const struct play_role *play_find_role(const char *name, size_t len);
/** Ends all when nobody is called so. */
const struct play_role *play_need_role(const char *name);
void play_keep(const char *name, json_t *value);
/** What was found: takes it over, and keeps its id. */
void play_set_it(json_t *it);

/** A malloc'ed text lives until its line has been played. */
char *play_scrap(char *text);
/** $name as JSON has it, ${name} as it reads. Owned by the line. */
char *play_expand(const char *text);
/** The same for what people read: a backslash and n make a new line; with two backslashes one
 *  stays. */
char *play_expand_words(const char *text);
json_t *play_parse_json(const char *text);
/** Cuts the first word off. */
char *play_next_word(char **rest);
/** Cuts off what stands behind `mark`. @return it; NULL: no mark */
char *play_split(char *text, const char *mark);

/** Members and indices between dots; # counts; [member=value] takes those of a list. A new
 *  reference; NULL: nothing is there. */
json_t *play_find_path(const json_t *tree, const char *path);
size_t play_count_parts(const char *text, const char *part);
/** x3, x1-2, 3, >2: how many there may be. @return false: it says no number */
bool play_read_count(const char *word, long *ret_low, long *ret_high);
/** = != are the same text, ~ !~ hold it, < <= > >= are numbers, xN hold it so often. */
bool play_fits(const json_t *value, const char *op, const char *wanted);
/** PATH OP VALUE of a tree; must: else all ends. */
bool play_holds(const json_t *tree, const char *rest, bool must);

#endif
