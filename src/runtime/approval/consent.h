/*
 * consent.h — the rules of consent: who may decide which item of a request, what follows from what he says, and which
 * permissions hold. No store, no clock, no I/O: everything they need is told them.
 * Story: docs/notes/approvals.md. Threads: any.
 */
#ifndef SMA_APPROVAL_CONSENT_H
#define SMA_APPROVAL_CONSENT_H

#include "sma/base.h"

/* -- permissions that last -------------------------------------------------------------------------------------- */
/** Until when one holds that is given now for length_s seconds (SMA_GRANT_ALWAYS: 0, for good). Ten years at most; a negative
 *  length ends at once. */
int64_t sma_grant_until(int64_t now_ms, int64_t length_s);
/** Does it hold? A clock that was set back gives nobody more time than he was given. */
bool sma_grant_holds(int64_t created_ms, int64_t until_ms, int64_t now_ms);

#endif
