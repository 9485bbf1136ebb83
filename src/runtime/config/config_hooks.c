/* config_hooks.c — `hooks` of ship.json: who is told when a run has ended. */
#include "config_load.h"

#include "sma/hooks.h"
#include "sma/limits.h"

#include <openssl/evp.h>

#include <ctype.h>

#define URL_BYTES_MAX 2048
#define SECRET_BYTES_MAX 512
#define PATTERN_BYTES_MAX 200
#define PLACE_BYTES_MAX 64

struct entry
{
    struct loading *loading;
    const char *name;
    const json_t *json;
    struct sma_hook *hook;
};

static enum sma_err refuse(const struct entry *entry, const char *member, const char *remedy)
{
    return sma_fail(entry->loading->error, SMA_ERR_BADINPUT, "%s: hooks.%s.%s %s",
                    entry->loading->file, entry->name, member, remedy);
}

/* Named by a variable that nobody has set: that is what is to be done. */
static enum sma_err refuse_missing(const struct entry *entry, const char *member,
                                   const char *remedy)
{
    char path[PLACE_BYTES_MAX + 32];
    (void)snprintf(path, sizeof path, "hooks.%s.%s", entry->name, member);
    const char *variable = config_missing_variable(entry->loading, path);
    if (variable == NULL)
        return refuse(entry, member, remedy);
    return sma_fail(entry->loading->error, SMA_ERR_BADINPUT,
                    "%s: %s waits for the variable %s: set it in .env or in the environment",
                    entry->loading->file, path, variable);
}

/* -- url --------------------------------------------------------------------------------------- */
/* Whatever host the owner writes, of an inner network, too; a query is often the receiver's key. */
static bool is_address(const char *url)
{
    const char *host = strncmp(url, "http://", 7) == 0    ? url + 7
                       : strncmp(url, "https://", 8) == 0 ? url + 8
                                                          : NULL;
    if (host == NULL || !(isalnum((unsigned char)host[0]) || host[0] == '['))
        return false;
    size_t len = strlen(url);
    for (size_t i = 0; i < len; i++)
        if (url[i] <= ' ' || url[i] >= 0x7f || strchr("#\"<>\\", url[i]) != NULL)
            return false;
    return len <= URL_BYTES_MAX && memchr(host, '@', strcspn(host, "/?")) == NULL;
}

static bool is_own_machine(const char *url)
{
    static const char *const hosts[] = {"localhost", "127.", "[::1]"};
    for (size_t i = 0; i < SMA_COUNT_OF(hosts); i++)
        if (strncmp(url + strlen("http://"), hosts[i], strlen(hosts[i])) == 0)
            return true;
    return false;
}

static SMA_CHECKED enum sma_err check_url(const struct entry *entry)
{
    const char *url = entry->hook->url;
    if (url[0] == '\0')
        return refuse_missing(entry, "url", "is missing: write where events are sent to");
    if (!is_address(url))
        return refuse(entry, "url",
                      "must be an http:// or https:// URL without user, password and fragment");
    if (strncmp(url, "http://", 7) == 0 && !is_own_machine(url))
        config_warn(entry->loading,
                    "hooks.%s.url is http://: what the agent answers leaves this machine "
                    "unencrypted; use https://, or set \"text\" to false",
                    entry->name);
    return SMA_ERR_OK;
}

/* -- secret ------------------------------------------------------------------------------------ */
static bool is_base64_key(const char *text)
{
    unsigned char bytes[SECRET_BYTES_MAX];
    size_t len = strlen(text);
    if (len == 0 || len % 4 != 0)
        return false;
    int count = EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)len);
    explicit_bzero(bytes, sizeof bytes);
    return count >= SMA_HOOK_SECRET_BYTES_MIN + 2; /* padding is counted, too */
}

static SMA_CHECKED enum sma_err check_secret(const struct entry *entry)
{
    const char *secret = entry->hook->secret;
    size_t head = strlen(SMA_HOOK_SECRET_PREFIX), len = strlen(secret);
    if (len == 0)
        return refuse_missing(entry, "secret",
                              "is missing: receivers know by it that an event is yours. Make one "
                              "with `openssl rand -hex 32`, write it to .env as HOOK_SECRET=..., "
                              "and \"${HOOK_SECRET}\" here");
    if (len > SECRET_BYTES_MAX)
        return refuse(entry, "secret", "has more than 512 bytes");
    bool is_key = strncmp(secret, SMA_HOOK_SECRET_PREFIX, head) == 0;
    if (is_key && !is_base64_key(secret + head))
        return refuse(entry, "secret",
                      "begins with whsec_, and what follows is no base64 of at least 18 bytes");
    if (!is_key && len < SMA_HOOK_SECRET_BYTES_MIN)
        return refuse(entry, "secret",
                      "has fewer than 16 bytes: make one with `openssl rand -hex 32`");
    return SMA_ERR_OK;
}

/* -- chats ------------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err read_chats(const struct entry *entry)
{
    const json_t *list = json_object_get(entry->json, "chats"), *item;
    size_t count = json_array_size(list), i;
    if (count == 0)
        return SMA_ERR_OK;
    if (count > SMA_HOOK_CHAT_COUNT_MAX)
        return refuse(entry, "chats", "has more than 64 patterns");
    const char **chats = config_keep_room(entry->loading, count * sizeof *chats);
    if (chats == NULL)
        return SMA_ERR_NOMEM;
    json_array_foreach((json_t *)(uintptr_t)list, i, item)
    {
        const char *pattern = json_string_value(item);
        if (pattern == NULL || pattern[0] == '\0' || strlen(pattern) > PATTERN_BYTES_MAX)
            return refuse(entry, "chats",
                          "must be a list of patterns like telegram:group:* or api");
        chats[i] = config_keep_text(entry->loading, pattern);
    }
    entry->hook->chats = chats;
    entry->hook->chat_count = count;
    return SMA_ERR_OK;
}

/* -- the whole --------------------------------------------------------------------------------- */
static SMA_CHECKED enum sma_err read_hook(const struct entry *entry)
{
    char place[PLACE_BYTES_MAX];
    if (!sma_bot_id_is_good(sma_str(entry->name)))
        return sma_fail(entry->loading->error, SMA_ERR_BADINPUT,
                        "%s: hooks: a name has %s; \"%.40s\" has not", entry->loading->file,
                        SMA_BOT_ID_RULE, entry->name);
    (void)snprintf(place, sizeof place, "hooks.%s", entry->name);
    struct sma_param_source source = config_source(entry->loading, entry->json, place);
    entry->hook->name = config_keep_text(entry->loading, entry->name);
    SMA_TRY(sma_params_set_defaults(&config_hook_params, &source, entry->hook));
    SMA_TRY(sma_params_read(&config_hook_params, &source, entry->hook));
    SMA_TRY(check_url(entry));
    SMA_TRY(check_secret(entry));
    return read_chats(entry);
}

enum sma_err config_read_hooks(struct loading *loading)
{
    const json_t *hooks = json_object_get(loading->root, "hooks");
    size_t count = json_object_size(hooks), index = 0;
    const char *name;
    const json_t *json;
    if (count == 0)
        return SMA_ERR_OK;
    if (count > SMA_HOOK_COUNT_MAX)
        return sma_fail(loading->error, SMA_ERR_TOOBIG, "%s: hooks has more than %d members",
                        loading->file, SMA_HOOK_COUNT_MAX);
    struct sma_hook *list = config_keep_room(loading, count * sizeof *list);
    if (list == NULL)
        return sma_fail(loading->error, SMA_ERR_NOMEM, "out of memory");
    memset(list, 0, count * sizeof *list);
    json_object_foreach((json_t *)(uintptr_t)hooks, name, json)
    {
        struct entry entry = {loading, name, json, &list[index++]};
        SMA_TRY(read_hook(&entry));
    }
    loading->config->hooks = list;
    loading->config->hook_count = count;
    return SMA_ERR_OK;
}
