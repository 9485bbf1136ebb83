/*
 * patience.h — a sanitizer makes everything slower by this: what may take so long in a plain build
 * may take PATIENCE times as long in this one. For bounds in wall time only; what can be waited for
 * is waited for.
 */
#ifndef SMA_TEST_PATIENCE_H
#define SMA_TEST_PATIENCE_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PATIENCE 4
#elif __has_feature(address_sanitizer)
#define PATIENCE 2
#endif
#elif defined(__SANITIZE_THREAD__)
#define PATIENCE 4
#elif defined(__SANITIZE_ADDRESS__)
#define PATIENCE 2
#endif
#ifndef PATIENCE
#define PATIENCE 1
#endif

/* Milliseconds after which something that must happen will not happen any more: far more than it
 * ever takes. */
#define PATIENCE_AWAIT_MS (20000 * PATIENCE)

#endif
