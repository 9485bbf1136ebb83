/*
 * style.h — what the style sheets in a page and an element's own style say about it: the value of
 * each property that decides whether people can see its text, as a browser works it out.
 *
 * Read: style elements and style attributes; selectors with most of what is known while a page is
 * read once; media and support queries as for a usual screen; custom properties that are a whole
 * value. Not read: sheets in files of their own, rules in rules. A condition of which nothing is
 * known is not met.
 * Source: CSS 2.2 §6; Cascade 4; Selectors 4; Conditional 3; Media Queries 4; Variables 1.
 * Threads: one at a time. Limits: STYLE_*_MAX; beyond them style_sheets_are_spent().
 */
#ifndef SMA_PAGE_STYLE_H
#define SMA_PAGE_STYLE_H

#include "page/style_value.h"

#define STYLE_RULE_COUNT_MAX 100000
#define STYLE_SAID_COUNT_MAX 500000
#define STYLE_ELEMENT_COUNT_MAX 100000 /* that are kept for what comes behind them */
#define STYLE_STEP_COUNT_MAX 5000000 /* tests of all rules on all elements: an eighth of a second */

struct style_sheets;
/** is_quirky: the page has no doctype, classes are in any case. NULL: out of memory */
struct style_sheets *style_sheets_create(bool is_quirky);
void style_sheets_destroy(struct style_sheets *sheets);
/** Is a style element with this attribute, or NULL, for a screen? */
bool style_is_media_met(const char *media);
/** Behind those that were added before. false: out of memory */
bool style_sheets_add(struct style_sheets *sheets, const char *text, size_t len);
/** Sheets in files of their own exist: what they say is not known. */
void style_sheets_set_linked(struct style_sheets *sheets);
bool style_sheets_are_linked(const struct style_sheets *sheets);
/** The page costs more than it may: of its styles nothing is known any more. */
bool style_sheets_are_spent(const struct style_sheets *sheets);

struct style_element;
/**
 * An element begins in its parent (NULL: the page's first).
 * @attributes  name, value, ..., NULL; a value may be NULL
 * @return NULL: out of memory
 */
struct style_element *style_element_open(const struct style_sheets *sheets,
                                         struct style_element *parent, const char *name,
                                         const char *const *attributes);
/** The last that was opened ends. Returns its parent. */
struct style_element *style_element_close(struct style_sheets *sheets,
                                          struct style_element *element);
const char *style_element_attribute(const struct style_element *element, const char *name);
/**
 * @hints   declarations that every rule overrides, or ""
 * @outer   values of its parent, or NULL
 * @return false: out of memory
 */
bool style_sheets_ask(struct style_sheets *sheets, struct style_element *element, const char *hints,
                      const struct style_values *outer, struct style_values *ret_values);

#endif
