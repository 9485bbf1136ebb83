/*
 * doctor_report.h — what `doctor` found: lines with a state, what was seen, and what to do.
 *
 * Threads: the main one.
 */
#ifndef SMA_CLI_DOCTOR_REPORT_H
#define SMA_CLI_DOCTOR_REPORT_H

#include "sma/probe.h"

struct sma_secrets;
struct doctor_report
{
    struct sma_probe_line *lines;
    size_t count, capacity;
    bool is_out_of_memory;
};

/** One line more; remedy "" when there is nothing to do. */
void doctor_say(struct doctor_report *report, enum sma_probe_state state, const char *name,
                const char *remedy, const char *seen, ...) SMA_PRINTF(5, 6);
void doctor_say_line(struct doctor_report *report, const struct sma_probe_line *line);
/** On stdout. secrets: what must not be shown, NULL: nothing known. */
void doctor_print(const struct doctor_report *report, const struct sma_secrets *secrets,
                  bool is_json);
size_t doctor_count(const struct doctor_report *report, enum sma_probe_state state);
void doctor_report_fini(struct doctor_report *report);

#endif
