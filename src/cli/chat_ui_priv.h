/* chat_ui_priv.h — what the files of the terminal chat share: chat_ui.c the loop, chat_ui_keys.c
 * what keys do, chat_ui_on.c what the service says, chat_ui_show.c how it looks. Calls go from the
 * first to the last. */
#ifndef SMA_CLI_CHAT_UI_PRIV_H
#define SMA_CLI_CHAT_UI_PRIV_H

#include "chat_card.h"
#include "chat_keys.h"
#include "chat_ui.h"

#define UI_TEXT_BYTES_MAX (32u * 1024 * 1024)
#define UI_STATUS_RUNNING (-1)
#define UI_HINT_NS 3000000000ull      /* a hint, and the second Ctrl-C that leaves */
#define UI_RETRY_NS 200000000ull      /* the first try to connect again; doubles */
#define UI_RETRY_NS_MAX 2000000000ull /* within the service's TERMINAL_GRACE_NS */
#define UI_REVIVE_COUNT_MAX 3
#define UI_CHOICE_NONE 0

struct ui_search
{
    bool is_on;
    struct sma_buf part;
    unsigned skip;
};
struct sma_chat_ui
{
    struct sma_chat_ui_options options;
    struct sma_chat_edit *edit;
    struct sma_chat_keys keys;
    struct sma_chat_cards cards;
    struct ui_search search;
    struct sma_buf progress; /* the answer while it is written */
    json_int_t progress_seq;
    struct sma_buf working; /* what is done meanwhile, for the line above the user's */
    struct sma_buf scratch;
    struct sma_buf log;    /* of our own service, up to the next line end */
    struct sma_buf notice; /* what a press was answered with, unless its outcome says it */
    struct sma_buf hint;   /* shown until hint_until_ns */
    uint64_t hint_until_ns;
    uint64_t leave_until_ns; /* a Ctrl-C before then leaves; 0 = none */
    uint64_t choice_ns;      /* when the key on the line decides; 0 = none does */
    uint64_t retry_ns;       /* when to connect again; 0 = connected */
    uint64_t retry_wait_ns;
    unsigned revive_count;
    bool is_stop_sent, was_welcomed, is_lost, is_refused;
    bool is_log_over;
    bool is_answered; /* a text came; whether more is to come is not known */
    int status;       /* UI_STATUS_RUNNING, then the exit status */
};

uint64_t ui_now(void);

/* -- chat_ui_show.c ---------------------------------------------------------------------------- */
/** Draw the live part. */
void ui_show(struct sma_chat_ui *ui);
/** Print a text that stays: clean text in this style ("" = none). */
void ui_print(struct sma_chat_ui *ui, const char *style, struct sma_str clean);
/** Print a text of the model: Markdown where styles are wanted. */
void ui_print_answer(struct sma_chat_ui *ui, struct sma_str text);
void ui_print_card(struct sma_chat_ui *ui, const json_t *root);
/** Print the text in progress as one that stays, if there is one. */
void ui_keep_progress(struct sma_chat_ui *ui);
/** A sentence of the program's that stays, dim. */
void ui_say(struct sma_chat_ui *ui, const char *format, ...) SMA_PRINTF(2, 3);
/** A sentence that goes away. */
void ui_hint(struct sma_chat_ui *ui, const char *text);

/* -- chat_ui_keys.c ---------------------------------------------------------------------------- */
void ui_on_key(struct sma_chat_ui *ui, enum sma_chat_key key, struct sma_str text);
/** Ctrl-C, as a key or as a signal. */
void ui_interrupt(struct sma_chat_ui *ui);
/** The key on the line decides. */
void ui_choose(struct sma_chat_ui *ui);
/** Ctrl-Z was pressed: the loop gives the terminal back and stops the process. */
#define UI_STATUS_SUSPEND (-2)

#endif
