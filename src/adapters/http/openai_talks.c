/*
 * openai_talks.c — conversations of the OpenAI-compatible API, and the state of one request.
 *
 * A client of that API sends the whole conversation each time and names it seldom; the agent
 * remembers by itself. So a conversation is known again by its words up to our last answer: its
 * digest is kept in memory, in a table of fixed size. Of two clients whose conversations have the
 * same words, or of one that goes on twice from the same place (an edit, "try again"), one goes on;
 * the other begins a new chat and gives the words that it has. Nothing of one conversation is ever
 * shown to another that does not hold the same words. After a restart nothing is known, which costs
 * only that.
 */
#include "openai.h"

#include <stdlib.h>

/* Fixed: keys need to be the same for equal words only. Whoever can make two of them equal has the
 * token, and may name any chat. */
static const uint8_t hash_keys[2][16] = {
    {'s', 'm', 'a', '-', 'o', 'p', 'e', 'n', 'a', 'i', '-', 't', 'a', 'l', 'k', '0'},
    {'s', 'm', 'a', '-', 'o', 'p', 'e', 'n', 'a', 'i', '-', 't', 'a', 'l', 'k', '1'}};

void http_openai_key_add(struct http_openai_key *key, char role, struct sma_str text)
{
    struct sma_str plain = sma_str_trim(text);
    for (size_t i = 0; i < 2; i++) {
        uint64_t parts[3] = {key->words[i], (unsigned char)role,
                             sma_siphash(hash_keys[i], plain.ptr, plain.len)};
        key->words[i] = sma_siphash(hash_keys[i], parts, sizeof parts);
    }
}

static bool is_equal(const struct http_openai_key *a, const struct http_openai_key *b)
{
    return a->words[0] == b->words[0] && a->words[1] == b->words[1];
}

static struct http_openai_talk *first_of(struct sma_http *http, const struct http_openai_key *key)
{
    size_t sets = HTTP_OPENAI_TALK_COUNT / HTTP_OPENAI_TALK_WAYS;
    return &http->talks[key->words[0] % sets * HTTP_OPENAI_TALK_WAYS];
}

struct http_openai_talk *http_openai_talk_find(struct sma_http *http,
                                               const struct http_openai_key *key)
{
    struct http_openai_talk *set = http->talks == NULL ? NULL : first_of(http, key);
    for (size_t i = 0; set != NULL && i < HTTP_OPENAI_TALK_WAYS; i++)
        if (set[i].number != 0 && is_equal(&set[i].key, key)) {
            set[i].number = ++http->talk_count;
            return &set[i];
        }
    return NULL;
}

struct http_openai_talk *http_openai_talk_put(struct sma_http *http,
                                              const struct http_openai_key *key)
{
    if (http->talks == NULL)
        http->talks = calloc(HTTP_OPENAI_TALK_COUNT, sizeof *http->talks);
    if (http->talks == NULL)
        return NULL;
    struct http_openai_talk *talk = http_openai_talk_find(http, key);
    if (talk != NULL)
        return talk;
    struct http_openai_talk *set = talk = first_of(http, key);
    for (size_t i = 1; i < HTTP_OPENAI_TALK_WAYS; i++)
        if (set[i].number < talk->number)
            talk = &set[i];
    *talk = (struct http_openai_talk){.key = *key, .number = ++http->talk_count};
    return talk;
}

/* -- the state of one request ------------------------------------------------------------------ */
struct http_openai *http_openai_begin(struct http_conn *conn)
{
    http_openai_drop(conn);
    conn->openai = calloc(1, sizeof *conn->openai);
    if (conn->openai == NULL)
        return NULL;
    sma_buf_init(&conn->openai->text, SMA_HTTP_EXECUTE_BYTES_MAX);
    sma_buf_init(&conn->openai->told, HTTP_RESPONSE_BYTES_MAX);
    return conn->openai;
}

void http_openai_drop(struct http_conn *conn)
{
    if (conn->openai == NULL)
        return;
    sma_buf_fini(&conn->openai->text);
    sma_buf_fini(&conn->openai->told);
    free(conn->openai);
    conn->openai = NULL;
}
