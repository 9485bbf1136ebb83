/*
 * headers.c — nothing but what the precompiled headers belong to (flags.cmake).
 */
extern int sma_headers_end;
