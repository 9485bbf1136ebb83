/*
 * pairing.h — the rules of pairing: codes, how often one is shown, what is kept of whom until then,
 * and for how long.
 *
 * Functions of what they are given: no store, no clock, no memory of their own. Who owns the
 * records: actors/store/pairing.c.
 */
#ifndef SMA_RUNTIME_ACCESS_PAIRING_H
#define SMA_RUNTIME_ACCESS_PAIRING_H

#include "sma/base.h"

/* -- codes ------------------------------------------------------------------------------------- */
#define SMA_PAIRING_CODE_LEN 8
#define SMA_PAIRING_ALPHABET "ACDEFGHJKMNPQRTUVWXY34679" /* nothing that is mistaken for another */

struct sma_pairing_code
{
    char text[SMA_PAIRING_CODE_LEN + 1];
};
/** A code of two random numbers. A handle, no secret: only an owner can answer it. */
struct sma_pairing_code sma_pairing_draw(uint64_t first, uint64_t second);
/** A code as people type it. false: it cannot be one. */
bool sma_pairing_read_code(struct sma_str typed, struct sma_pairing_code *ret_code);
/** A code is answered within a day; one of a clock that was set back is too old as well. */
bool sma_pairing_is_old(int64_t created_ms, int64_t now_ms);

/* What an owner writes: "pair CODE", "reject CODE" ... */
struct sma_pairing_words
{
    struct sma_pairing_code code;
    bool is_approved;
    bool is_only_pairing; /* else it may be meant for another request */
};
/** The word and the code behind it, nothing else. false: something else was said. */
bool sma_pairing_read_words(struct sma_str text, struct sma_pairing_words *ret_words);

/* -- what a stranger sees ---------------------------------------------------------------------- */
#define SMA_PAIRING_SHOWN_COUNT_MAX 20      /* times that a person is shown one code, then hourly */
#define SMA_PAIRING_GROUP_SHOWN_COUNT_MAX 5 /* ... and a group */
struct sma_pairing_shown
{
    bool is_group, has_last; /* has_last: the chat was told something of this kind before */
    uint32_t count;          /* times that this code was shown */
    uint64_t last_ns, now_ns;
};
/** Once in a while, less often after many times, and in a group not for ever: each time costs a
 *  message and a line. */
bool sma_pairing_may_show(const struct sma_pairing_shown *shown);

/* What becomes of a message of somebody who has a code. */
enum sma_pairing_kept
{
    SMA_PAIRING_NOT_KEPT, /* nothing that could run */
    SMA_PAIRING_KEPT,     /* runs once the code is confirmed */
    SMA_PAIRING_IS_MORE,  /* too much: he is asked to send it again */
};
#define SMA_PAIRING_KEPT_COUNT_MAX 4 /* messages of one person that are kept */
struct sma_pairing_message
{
    bool is_message, is_group; /* no command, no press */
    bool is_whole;             /* it may run as it was recorded */
    bool has_more;             /* more was written than is kept */
    uint32_t kept_count;
};
enum sma_pairing_kept sma_pairing_keep(const struct sma_pairing_message *message);

/* -- names of strangers ------------------------------------------------------------------------ */
#define SMA_PAIRING_NAME_BYTES_MAX 64
/** A name for people: one line, cut, without what could pass for our own words or markup. text
 *  holds NAME_BYTES_MAX + 1. */
void sma_pairing_name(char *text, struct sma_str name);

/* -- how much is kept of strangers ------------------------------------------------------------- */
enum sma_stranger_fate
{
    SMA_STRANGER_KEPT,
    SMA_STRANGER_CUT, /* recorded in part; it never runs */
    /* too many of all: claimed, without text; he is still answered how to get in */
    SMA_STRANGER_UNKEPT,
    SMA_STRANGER_SILENT, /* too many of one: claimed, and that is all */
};
/** By how many messages came today, this one included: of this person, and of all whose were
 *  kept. */
enum sma_stranger_fate sma_stranger_fate(uint32_t of_one, uint32_t of_all);

#endif
