/*
 * visible.h — can people see the text of this element? Each element's look is made of the one it
 * stands in, its style (style.h) and the attributes that HTML had before there were styles.
 *
 * Not seen: what is not displayed, not visible, outside of the screen, cut away, transparent, tiny,
 * or in the colour of its ground. The ground is white, as a browser's is, unless something says
 * otherwise; behind a picture, and where sheets in files of their own may have their say, nothing
 * is known of colours, and the text counts as seen. So do closed <details>, there to be opened.
 * Threads: one at a time.
 */
#ifndef SMA_PAGE_VISIBLE_H
#define SMA_PAGE_VISIBLE_H

#include "page/style.h"

struct visible; /* the elements that are open */
/** sheets: outlive it. NULL: out of memory */
struct visible *visible_create(struct style_sheets *sheets, unsigned depth_max);
void visible_destroy(struct visible *visible);

enum visible_what
{
    VISIBLE_SEEN,
    VISIBLE_GONE,   /* with all that stands in it; it is not open then */
    VISIBLE_SPENT,  /* the styles cost more than they may: nothing is known from here on */
    VISIBLE_FAILED, /* out of memory */
};
/**
 * An element begins.
 * @attributes  name, value, ..., NULL; a value may be NULL
 */
enum visible_what visible_open(struct visible *visible, const char *name,
                               const char *const *attributes);
void visible_close(struct visible *visible);
/** Is text right here seen? */
bool visible_is_text_seen(const struct visible *visible);
/** Is a picture, the element that was opened last, seen? */
bool visible_is_picture_seen(const struct visible *visible);

#endif
