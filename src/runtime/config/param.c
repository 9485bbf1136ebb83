/*
 * param.c — one value against its row: is it of the type, in the range, one of the words.
 */
#include "param_priv.h"

#include "sma/buf.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

const struct sma_param *sma_params_find(const struct sma_params *table, const char *path)
{
    for (; table != NULL; table = table->shared)
        for (size_t i = 0; i < table->count; i++)
            if (strcmp(table->rows[i].path, path) == 0)
                return &table->rows[i];
    return NULL;
}

int config_word_index(const char *words, const char *word)
{
    size_t len = word == NULL || strchr(word, ',') != NULL ? 0 : strlen(word);
    int index = 0;
    for (const char *at = words; len > 0; index++) {
        size_t this_len = strcspn(at, ",");
        if (this_len == len && memcmp(at, word, len) == 0)
            return index;
        if (at[this_len] == '\0')
            break;
        at += this_len + 1;
    }
    return -1;
}

/* -- forms ------------------------------------------------------------------------------------- */
/* A placeholder yields a string; numbers and booleans written in it are accepted. */
bool sma_param_number(const json_t *value, double *ret_number)
{
    if (json_is_number(value)) {
        *ret_number = json_number_value(value);
        return true;
    }
    if (!json_is_string(value) || json_string_length(value) == 0)
        return false;
    char *end;
    *ret_number = strtod(json_string_value(value), &end);
    return *end == '\0';
}

bool config_is_flag(const json_t *value)
{
    return json_is_boolean(value) ||
           (json_is_string(value) &&
            config_word_index("true,false", json_string_value(value)) >= 0);
}

static bool has_only_visible(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at <= 0x20 || *at == 0x7f)
            return false;
    return true;
}

/* The text behind one of the schemes (ending with NULL); NULL: none of them. */
static const char *behind_scheme(const char *text, const char *const *schemes)
{
    for (; *schemes != NULL; schemes++)
        if (strncmp(text, *schemes, strlen(*schemes)) == 0)
            return text + strlen(*schemes);
    return NULL;
}

bool sma_param_is_url(const char *url)
{
    static const char *const schemes[] = {"https://", "http://", NULL};
    const char *rest = behind_scheme(url, schemes);
    return rest != NULL && rest[0] != '\0' && rest[0] != '/' && has_only_visible(url) &&
           strlen(url) < 1024 && strpbrk(url, "?#") == NULL;
}

bool config_is_socket_url(const char *url)
{
    static const char *const schemes[] = {"wss://", "ws://", NULL};
    const char *rest = behind_scheme(url, schemes);
    return rest != NULL && rest[0] != '\0' && rest[0] != '/' && has_only_visible(url) &&
           strlen(url) < 1024;
}

/* scheme://[user@]host[:port] with a host, and a port that there can be. */
static bool is_proxy(const char *proxy)
{
    static const char *const schemes[] = {"http://",   "https://",   "socks4://", "socks4a://",
                                          "socks5://", "socks5h://", NULL};
    const char *rest = behind_scheme(proxy, schemes);
    if (rest == NULL || !has_only_visible(proxy))
        return false;
    size_t len = strcspn(rest, "/?#");
    const char *user_end = memrchr(rest, '@', len), *end = rest + len;
    const char *host = user_end == NULL ? rest : user_end + 1;
    const char *bracket = memchr(host, ']', (size_t)(end - host));
    const char *name_end = bracket == NULL ? host : bracket;
    const char *colon = memchr(name_end, ':', (size_t)(end - name_end));
    if (host == end || host == colon)
        return false;
    char *port_end = NULL;
    unsigned long port = colon == NULL ? 1 : strtoul(colon + 1, &port_end, 10);
    return colon == NULL ||
           (colon[1] >= '0' && colon[1] <= '9' && port_end == end && port > 0 && port <= 65535);
}

/* "@ann" is a name, which changes hands, and never an id. */
static bool is_id(const json_t *item)
{
    return json_is_integer(item) ||
           (json_is_string(item) && json_string_length(item) > 0 &&
            json_string_value(item)[0] != '@' && strstr(json_string_value(item), ":@") == NULL);
}

static bool are_items(const json_t *list, bool (*is_good)(const json_t *item))
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!is_good(json_array_get(list, i)))
            return false;
    return json_is_array(list);
}

static bool is_string(const json_t *item)
{
    return json_is_string(item);
}

static bool are_words(const char *words, const json_t *list)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        if (config_word_index(words, json_string_value(json_array_get(list, i))) < 0)
            return false;
    return json_array_size(list) > 0;
}

/* -- one value --------------------------------------------------------------------------------- */
static bool is_of_type(const struct sma_param *row, const json_t *value)
{
    const char *text = json_string_value(value);
    switch (row->type) {
    case SMA_PARAM_TYPE_TEXT:
    case SMA_PARAM_TYPE_URL: /* its form counts only where it is used: see sma_params_read */
    case SMA_PARAM_TYPE_SOCKET:
    case SMA_PARAM_TYPE_FILE:
        return text != NULL;
    case SMA_PARAM_TYPE_PROXY:
        return text != NULL && (text[0] == '\0' || strcmp(text, "none") == 0 ||
                                strcmp(text, "environment") == 0 || is_proxy(text));
    case SMA_PARAM_TYPE_FLAG:
        return (row->traits & SMA_PARAM_LENIENT) != 0 || config_is_flag(value);
    case SMA_PARAM_TYPE_WORD:
        return config_word_index(row->words, text) >= 0;
    case SMA_PARAM_TYPE_WORDS:
        return are_words(row->words, value);
    case SMA_PARAM_TYPE_ACCESS:
        return config_word_index("paired,anyone", text) >= 0 || are_items(value, is_id);
    case SMA_PARAM_TYPE_IDS:
        return are_items(value, is_id);
    case SMA_PARAM_TYPE_OBJECT:
        return json_is_object(value);
    case SMA_PARAM_TYPE_LIST:
        return json_is_array(value);
    case SMA_PARAM_TYPE_TEXTS:
        return text != NULL || are_items(value, is_string);
    case SMA_PARAM_TYPE_INTEGER:
    case SMA_PARAM_TYPE_NUMBER:
    case SMA_PARAM_TYPE_ANY:
        break;
    }
    return true;
}

static const char *describe_type(enum sma_param_type type)
{
    switch (type) {
    case SMA_PARAM_TYPE_TEXT:
    case SMA_PARAM_TYPE_URL:
    case SMA_PARAM_TYPE_SOCKET:
    case SMA_PARAM_TYPE_FILE:
        return "a string";
    case SMA_PARAM_TYPE_PROXY:
        return "an address like http://host:port or socks5h://host:port, \"none\" or "
               "\"environment\"";
    case SMA_PARAM_TYPE_INTEGER:
        return "a whole number";
    case SMA_PARAM_TYPE_NUMBER:
        return "a number";
    case SMA_PARAM_TYPE_FLAG:
        return "true or false";
    case SMA_PARAM_TYPE_WORD:
        return "one of ";
    case SMA_PARAM_TYPE_WORDS:
        return "a list of ";
    case SMA_PARAM_TYPE_ACCESS:
        return "\"paired\", \"anyone\" or a list of user ids such as [\"1001\"], not of names such "
               "as \"@ann\"";
    case SMA_PARAM_TYPE_IDS:
        return "a list of ids such as [\"1001\"], not of names such as \"@ann\"";
    case SMA_PARAM_TYPE_OBJECT:
        return "an object";
    case SMA_PARAM_TYPE_LIST:
        return "a list";
    case SMA_PARAM_TYPE_TEXTS:
        return "a string or a list of strings";
    case SMA_PARAM_TYPE_ANY:
        break;
    }
    return "any value";
}

static enum sma_err check_number(const struct sma_param *row, const char *file, const char *shown,
                                 const json_t *value, struct sma_error *error)
{
    double number;
    bool is_whole = row->type == SMA_PARAM_TYPE_INTEGER;
    if (!sma_param_number(value, &number) ||
        (is_whole && (number != number || number > 9e15 || number < -9e15 ||
                      number != (double)(int64_t)number)))
        return sma_fail(error, SMA_ERR_BADINPUT, "%s: %s must be %s", file, shown,
                        describe_type(row->type));
    if (!(number >= row->min && number <= row->max))
        return sma_fail(error, SMA_ERR_BADINPUT, "%s: %s must be between %.15g and %.15g", file,
                        shown, row->min, row->max);
    return SMA_ERR_OK;
}

/* ": {"perSecond": 50}" for an object whose first member is a number; its row is the next one. */
static void put_example(const struct sma_param *row, char *room, size_t size)
{
    if (row->members != NULL || (row->traits & (SMA_PARAM_OPEN | SMA_PARAM_BLOCKS)) != 0)
        return;
    const struct sma_param *first = row + 1;
    if (first->type == SMA_PARAM_TYPE_INTEGER)
        (void)snprintf(room, size, ": {\"%s\": %.15g}", strrchr(first->path, '.') + 1,
                       first->standard);
}

enum sma_err sma_param_check(const struct sma_param *row, const char *file, const char *shown,
                             const json_t *value, struct sma_error *error)
{
    if (json_is_null(value)) /* as if it were not there */
        return SMA_ERR_OK;
    if (row->type == SMA_PARAM_TYPE_INTEGER || row->type == SMA_PARAM_TYPE_NUMBER)
        return check_number(row, file, shown, value, error);
    if (is_of_type(row, value))
        return SMA_ERR_OK;
    bool has_words = row->type == SMA_PARAM_TYPE_WORD || row->type == SMA_PARAM_TYPE_WORDS;
    char example[128] = "";
    if (row->type == SMA_PARAM_TYPE_OBJECT)
        put_example(row, example, sizeof example);
    return sma_fail(error, SMA_ERR_BADINPUT, "%s: %s must be %s%s%s", file, shown,
                    describe_type(row->type), has_words ? row->words : "", example);
}

/* -- every block under `adapters` -------------------------------------------------------------- */
static const struct sma_param BLOCK_ROWS[] = {
    {"enabled", SMA_PARAM_FLAG(0), .text = "false; of `http` and `terminal` true",
     .doc = "the platform is connected"},
};
const struct sma_params sma_block_params = {"", BLOCK_ROWS, SMA_COUNT_OF(BLOCK_ROWS), NULL};
