/*
 * options_tables.h — the tables of descriptions, one file each, and how a row of them is written.
 */
#ifndef SMA_APPROVAL_OPTIONS_TABLES_H
#define SMA_APPROVAL_OPTIONS_TABLES_H

#include "options.h"

#define DESCRIBE_JUDGED(programs_, rows_, traits_, marks_, finish_, judge_)            \
    {                                                                                  \
        .programs = (programs_), .rows = (rows_), .row_count = SMA_COUNT_OF(rows_),    \
        .traits = (traits_), .marks = (marks_), .finish = (finish_), .judge = (judge_) \
    }
#define DESCRIBE(programs_, rows_, traits_, marks_, finish_)                        \
    {                                                                               \
        .programs = (programs_), .rows = (rows_), .row_count = SMA_COUNT_OF(rows_), \
        .traits = (traits_), .marks = (marks_), .finish = (finish_)                 \
    }

extern const struct description SMA_OPTIONS_FILES[];
extern const size_t SMA_OPTIONS_FILES_COUNT;
extern const struct description SMA_OPTIONS_NET[];
extern const size_t SMA_OPTIONS_NET_COUNT;
extern const struct description SMA_OPTIONS_BUILD[];
extern const size_t SMA_OPTIONS_BUILD_COUNT;

#endif
