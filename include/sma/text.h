/*
 * text.h — small text facts shared by rooms: UTF-8, percent encoding of file names, numbers,
 * stamps.
 * Threads: any; no state. Nothing allocates unless a sma_buf is passed.
 */
#ifndef SMA_TEXT_H
#define SMA_TEXT_H

#include "sma/base.h"
#include "sma/buf.h"

bool sma_utf8_is_valid(struct sma_str text);
/** Bytes of the longest prefix of text that is at most max_bytes and ends at a UTF-8 boundary. */
size_t sma_utf8_cut(struct sma_str text, size_t max_bytes);
/** Length in UTF-16 code units (what the platforms count). Invalid bytes count one each. */
size_t sma_utf16_length(struct sma_str text);
struct sma_str sma_str_trim(struct sma_str text); /* ASCII white space at both ends */
/** Of an address: the host with its port, without scheme, credentials and path. */
struct sma_str sma_url_host(const char *url);
/** The address without credentials and query, which may hold secrets. */
void sma_url_put_bare(struct sma_buf *buf, const char *url);
bool sma_str_starts_with(struct sma_str text, struct sma_str prefix);
bool sma_str_is_equal_nocase(struct sma_str a, struct sma_str b); /* ASCII only */
/** enc(x) of the protocols/project.md §1.3: percent-encoding with the unreserved set
 *  A-Za-z0-9-_.!~*'() and uppercase hex. */
void sma_buf_put_file_name(struct sma_buf *buf, struct sma_str text);
/** Reverse of the above. BADINPUT on a broken escape. */
SMA_CHECKED enum sma_err sma_buf_put_file_name_decoded(struct sma_buf *buf, struct sma_str name);
/** UTC ISO-8601 with milliseconds and Z, e.g. 2026-11-21T22:17:00.123Z (24 bytes). */
void sma_buf_put_iso_time(struct sma_buf *buf, int64_t wall_ms);
/** Whole string as a base-10 integer in [low, high]; BADINPUT otherwise. */
SMA_CHECKED enum sma_err sma_parse_i64(struct sma_str text, int64_t low, int64_t high,
                                       int64_t *ret_number);
/** What tells one line of a chat's history from another: the same in the file, in a message and in
 *  what a tool shows of it. */
uint64_t sma_line_mark(int64_t wall_ms, bool is_user, struct sma_str message_id);
/** The time of sma_buf_put_iso_time. BADINPUT. */
SMA_CHECKED enum sma_err sma_parse_iso_time(struct sma_str text, int64_t *ret_wall_ms);
/** Keyed 64-bit hash (SipHash-2-4). */
uint64_t sma_siphash(const uint8_t key[16], const void *bytes, size_t len);
/** Does this code point, which nobody sees, change how the text around it reads on a screen? Marks
 *  of direction, separators of lines, tags, and what has no width; joiners only behind ASCII:
 *  between others they make emoji and letters.
 *  @before  the code point in front of it, 0 = none */
bool sma_point_misleads(uint32_t point, uint32_t before);
/** Append a word so that a shell reads it as exactly these bytes: as it is, or in single quotes. */
void sma_put_shell_word(struct sma_buf *buf, struct sma_str word);
/** Edit distance capped at 8, for "did you mean". */
unsigned sma_text_distance(struct sma_str a, struct sma_str b);

#endif
