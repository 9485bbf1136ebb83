/* err.c — error names and texts, the one way to fill struct sma_error, and the end of a broken
 * invariant. */
#include "sma/base.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const texts[SMA_ERR_COUNT] = {
#define X(name, text) text,
    SMA_ERR_MAP(X)
#undef X
};
static const char *const names[SMA_ERR_COUNT] = {
#define X(name, text) #name,
    SMA_ERR_MAP(X)
#undef X
};

const char *sma_err_text(enum sma_err err)
{
    return (unsigned)err < SMA_ERR_COUNT ? texts[err] : "unknown error";
}

const char *sma_err_name(enum sma_err err)
{
    return (unsigned)err < SMA_ERR_COUNT ? names[err] : "UNKNOWN";
}

enum sma_err sma_fail(struct sma_error *error, enum sma_err code, const char *format, ...)
{
    if (error == NULL)
        return code;
    error->code = code;
    error->os_errno = 0;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->text, sizeof error->text, format,
                    arguments); /* a cut text is still a text */
    va_end(arguments);
    return code;
}

static enum sma_err code_of(int os_errno)
{
    switch (os_errno) {
    case ENOSPC:
    case EDQUOT:
        return SMA_ERR_NOSPACE;
    case ENOMEM:
        return SMA_ERR_NOMEM;
    case ENOENT:
        return SMA_ERR_NOTFOUND;
    default:
        return SMA_ERR_IO;
    }
}

enum sma_err sma_fail_os(struct sma_error *error, int os_errno, const char *format, ...)
{
    enum sma_err code = code_of(os_errno);
    if (error == NULL)
        return code;
    error->code = code;
    error->os_errno = os_errno;
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    if (len < 0)
        len = 0;
    if ((size_t)len >= sizeof error->text)
        return code;
    char reason[128];
    const char *text = strerror_r(os_errno, reason, sizeof reason);
    (void)snprintf(error->text + len, sizeof error->text - (size_t)len, ": %s", text);
    return code;
}

void sma_assert_failed(const char *expression, const char *file, int line)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    abort();
}

/*
 * The thread sanitizer takes descriptor numbers for variables, but does not see every call that
 * opens or closes one: libuv closes sockets, libcrypto opens the folder of certificates, openat
 * opens files, all out of its sight. A number that another thread gets next seems to be shared.
 * Nothing else is left out by these.
 */
#ifdef __SANITIZE_THREAD__
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:OPENSSL_DIR_end\nrace:interceptor_close\nrace:interceptor_accept4\n"
           "race:interceptor_pipe2\nrace:real_open\nrace:interceptor_fstat\n"
           "race:interceptor_fopen\n";
}
#endif
