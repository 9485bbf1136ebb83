/*
 * memory_words.h — the words of a text as the index knows them, each with the audience in front.
 *
 * A word is a run of letters and digits, or, in Chinese, Japanese and Korean, each character and
 * each pair of neighbours. In front of each stands the number of the audience that may read the
 * fact: "12zcoffee" is another word than "13zcoffee", so that a question of one audience cannot
 * even touch what another one was told, and costs as much as its own facts alone. FTS5 (porter,
 * unicode61) folds cases, accents and English endings.
 *
 * Threads: any; no state.
 */
#ifndef SMA_RUNTIME_MEMORY_WORDS_H
#define SMA_RUNTIME_MEMORY_WORDS_H

#include "sma/buf.h"

/** Append the words of a fact, blanks between them. */
void sma_memory_put_words(struct sma_buf *buf, int64_t audience, struct sma_str text);

/**
 * The words of a text that are asked for, into words[SMA_MEMORY_QUERY_WORD_COUNT_MAX]; they point
 * into it. Of a long text those at its begin and its end; a word counts once, and the commonest
 * English ones not at all.
 * @return how many
 */
uint32_t sma_memory_choose_words(struct sma_str text, struct sma_str *words);
/** Append the question of FTS5 for one of them: "12zcoffee" with its quotation marks. */
void sma_memory_put_question(struct sma_buf *buf, int64_t audience, struct sma_str word);

#endif
