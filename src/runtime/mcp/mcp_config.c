/*
 * mcp_config.c — mcp.json into plain structs. The tree lives as long as the structs, which borrow
 * from it.
 */
#include "mcp_config.h"

#include "runtime/json/json_read.h"
#include "sma/beneath.h"
#include "sma/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NEAR_DISTANCE_MAX 3
#define TROUBLE_BYTES_MAX 400

struct storage
{
    json_t *root;
    char *troubles[SMA_MCP_SERVER_COUNT_MAX];
    char *permissions[SMA_MCP_SERVER_COUNT_MAX];
};

/* One server while it is read; the first trouble stays. */
struct reading
{
    const struct sma_mcp_config_options *options;
    struct sma_mcp_config_server *server;
    struct sma_buf trouble;
    enum sma_err err; /* NOMEM */
};

const char *sma_mcp_transport_name(enum sma_mcp_transport transport)
{
    static const char *const names[] = {
        [SMA_MCP_STDIO] = "stdio", [SMA_MCP_HTTP] = "http", [SMA_MCP_SSE] = "sse"};
    SMA_ASSERT((size_t)transport < SMA_COUNT_OF(names));
    return names[transport];
}

/* -- words to people --------------------------------------------------------------------------- */
static void warn(const struct sma_mcp_config_options *options, const char *format, ...)
    SMA_PRINTF(2, 3);
static void warn(const struct sma_mcp_config_options *options, const char *format, ...)
{
    char text[TROUBLE_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* cut: as well */
    va_end(arguments);
    struct sma_buf line; /* the line quotes names of the file, which may hold anything */
    sma_buf_init(&line, 2048);
    sma_buf_put_text(&line, SMA_MCP_CONFIG_FILE ": ");
    sma_buf_put_str(&line, sma_str(text));
    if (options->warn != NULL && line.err == SMA_ERR_OK)
        options->warn(options->user, line.ptr);
    sma_buf_fini(&line);
}

static void trouble(struct reading *reading, const char *format, ...) SMA_PRINTF(2, 3);
static void trouble(struct reading *reading, const char *format, ...)
{
    if (reading->trouble.len > 0)
        return;
    char text[TROUBLE_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* cut: as well */
    va_end(arguments);
    sma_buf_printf(&reading->trouble, "servers.%s: %s", reading->server->name, text);
}

/* Members nobody knows are named with the nearest one that somebody does. */
static void warn_unknown(const struct sma_mcp_config_options *options, const json_t *object,
                         const char *where, const char *const *known)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        const char *nearest = NULL;
        unsigned best = NEAR_DISTANCE_MAX + 1;
        for (size_t i = 0; known[i] != NULL && best > 0; i++) {
            unsigned distance = sma_text_distance(sma_str(key), sma_str(known[i]));
            if (distance < best) {
                best = distance;
                nearest = known[i];
            }
        }
        if (best == 0)
            continue;
        warn(options, "%s%.100s is not known%s%s%s; it has no effect", where, key,
             nearest == NULL ? "" : "; is \"", nearest == NULL ? "" : nearest,
             nearest == NULL ? "" : "\" meant?");
    }
}

/* -- values ------------------------------------------------------------------------------------ */
/* `${NAME}`, `${NAME:-x}` and `${NAME-x}` anywhere; what is no name stays as it is. */
static char *substitute(struct reading *reading, const char *where, const char *value)
{
    struct sma_buf text;
    sma_buf_init(&text, SMA_MCP_CONFIG_BYTES_MAX);
    sma_buf_put_text(&text, "");
    for (const char *at = value; *at != '\0';) {
        const char *end = at[0] == '$' && at[1] == '{' ? strchr(at, '}') : NULL;
        char name[512];
        size_t len = end == NULL ? 0 : (size_t)(end - at) - 2;
        if (len == 0 || len >= sizeof name) {
            sma_buf_put_char(&text, *at++);
            continue;
        }
        memcpy(name, at + 2, len);
        name[len] = '\0';
        char *instead = strchr(name, '-'); /* no name holds one */
        bool is_empty_too = instead != NULL && instead > name && instead[-1] == ':';
        if (instead != NULL) {
            instead[is_empty_too ? -1 : 0] = '\0';
            instead++;
        }
        const char *found = reading->options->find(reading->options->user, name);
        if (instead != NULL && (found == NULL || (is_empty_too && found[0] == '\0')))
            found = instead;
        if (found == NULL)
            warn(reading->options,
                 "servers.%s.%s: the variable %s is not set, so it is empty; set it in .env",
                 reading->server->name, where, name);
        sma_buf_put_text(&text, found == NULL ? "" : found);
        at = end + 1;
    }
    char *taken = text.err == SMA_ERR_OK ? sma_buf_take(&text) : NULL;
    sma_buf_fini(&text);
    if (taken == NULL)
        reading->err = SMA_ERR_NOMEM;
    return taken;
}

static bool has_line_end(const char *text)
{
    return strpbrk(text, "\r\n") != NULL;
}

static bool make_room(struct reading *reading, struct sma_mcp_words *words, size_t count)
{
    words->items = calloc(count + 1, sizeof *words->items);
    if (words->items == NULL)
        reading->err = SMA_ERR_NOMEM;
    return words->items != NULL;
}

/* An object of texts as "NAME=value" or "Name: value"; owned. */
static void read_pairs(struct reading *reading, const json_t *object, const char *member,
                       const char *between, struct sma_mcp_words *words)
{
    const json_t *pairs = sma_json_get(object, member);
    if (pairs == NULL)
        return;
    if (!json_is_object(pairs)) {
        trouble(reading, "%s must be an object of texts", member);
        return;
    }
    if (!make_room(reading, words, json_object_size(pairs)))
        return;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)pairs, key, value)
    {
        char where[160];
        (void)snprintf(where, sizeof where, "%s.%.100s", member, key);
        if (!json_is_string(value) || key[0] == '\0' || strpbrk(key, "=:\r\n \t") != NULL) {
            trouble(reading, "%s must be a text under a plain name", where);
            return;
        }
        SMA_AUTO(sma_freep) char *text = substitute(reading, where, json_string_value(value));
        char *pair = NULL;
        if (text == NULL || asprintf(&pair, "%s%s%s", key, between, text) < 0) {
            reading->err = SMA_ERR_NOMEM;
            return;
        }
        words->items[words->count++] = pair;
        if (between[0] == ':' && has_line_end(text))
            trouble(reading, "%s holds a line end, which a header cannot", where);
    }
}

/* A list of texts; each owned. */
static void read_list(struct reading *reading, const json_t *object, const char *member,
                      const char *where, struct sma_mcp_words *words)
{
    const json_t *list = sma_json_get(object, member);
    if (list == NULL)
        return;
    if (!json_is_array(list)) {
        trouble(reading, "%s must be a list of texts", where);
        return;
    }
    if (!make_room(reading, words, json_array_size(list)))
        return;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text == NULL) {
            trouble(reading, "%s must be a list of texts", where);
            return;
        }
        char *copy = strdup(text);
        if (copy == NULL) {
            reading->err = SMA_ERR_NOMEM;
            return;
        }
        words->items[words->count++] = copy;
    }
}

static bool read_bool(struct reading *reading, const json_t *object, const char *member,
                      bool otherwise)
{
    const json_t *value = sma_json_get(object, member);
    if (value != NULL && !json_is_boolean(value))
        trouble(reading, "sandbox.%s must be true or false", member);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

/* -- one server -------------------------------------------------------------------------------- */
static void read_stdio(struct reading *reading, const json_t *object)
{
    static const char *const known[] = {"type",        "command",   "args",  "env",
                                        "permissions", "timeoutMs", "tools", "sandbox",
                                        "$schema",     "sampling",  NULL};
    static const char *const known_sandbox[] = {"enabled", "network", NULL};
    struct sma_mcp_config_server *server = reading->server;
    char where[SMA_MCP_SERVER_NAME_BYTES_MAX + 32];
    (void)snprintf(where, sizeof where, "servers.%s.", server->name);
    warn_unknown(reading->options, object, where, known);
    server->command = json_string_value(sma_json_get(object, "command"));
    if (server->command == NULL || server->command[0] == '\0')
        trouble(reading, "command is missing: the program that is the server, as a text");
    read_list(reading, object, "args", "args", &server->args);
    read_pairs(reading, object, "env", "=", &server->env);
    const json_t *sandbox = sma_json_get(object, "sandbox");
    if (sandbox != NULL && !json_is_object(sandbox))
        trouble(reading, "sandbox must be an object: {\"enabled\":true,\"network\":false}");
    server->is_sandboxed = read_bool(reading, sandbox, "enabled", true);
    server->has_network = read_bool(reading, sandbox, "network", false);
    (void)snprintf(where, sizeof where, "servers.%s.sandbox.", server->name);
    if (json_is_object(sandbox))
        warn_unknown(reading->options, sandbox, where, known_sandbox);
}

static const char *read_secret(struct reading *reading, const json_t *oauth, const char *member)
{
    char where[32];
    const json_t *value = sma_json_get(oauth, member);
    (void)snprintf(where, sizeof where, "oauth.%s", member);
    if (value != NULL && !json_is_string(value))
        trouble(reading, "%s must be a text", where);
    return json_is_string(value) ? substitute(reading, where, json_string_value(value)) : NULL;
}

static void read_oauth(struct reading *reading, const json_t *oauth)
{
    static const char *const known[] = {"clientId", "clientSecret", "scope", "grant", NULL};
    struct sma_mcp_config_server *server = reading->server;
    char where[SMA_MCP_SERVER_NAME_BYTES_MAX + 24];
    if (oauth == NULL)
        return;
    if (!json_is_object(oauth)) {
        trouble(reading, "oauth must be an object: {\"clientId\":\"...\"}");
        return;
    }
    (void)snprintf(where, sizeof where, "servers.%s.oauth.", server->name);
    warn_unknown(reading->options, oauth, where, known);
    server->client_id = read_secret(reading, oauth, "clientId");
    server->client_secret = read_secret(reading, oauth, "clientSecret");
    server->scope = read_secret(reading, oauth, "scope");
    struct sma_str grant = sma_json_str(oauth, "grant");
    server->has_credentials_grant = sma_str_is_equal(grant, SMA_STR("client_credentials"));
    if (grant.len > 0 && !server->has_credentials_grant &&
        !sma_str_is_equal(grant, SMA_STR("authorization_code")))
        trouble(reading, "oauth.grant must be \"authorization_code\" or \"client_credentials\"");
}

/* "user:password@" before the host: it would stand in logs, and is nowhere sent. */
static bool has_user(const char *url)
{
    const char *host = url == NULL ? NULL : strstr(url, "://");
    size_t len = host == NULL ? 0 : strcspn(host + 3, "/?#");
    return len > 0 && memchr(host + 3, '@', len) != NULL;
}

static void read_remote(struct reading *reading, const json_t *object)
{
    static const char *const known[] = {"type",  "url",     "headers", "permissions", "timeoutMs",
                                        "tools", "$schema", "oauth",   "sampling",    NULL};
    struct sma_mcp_config_server *server = reading->server;
    char where[SMA_MCP_SERVER_NAME_BYTES_MAX + 16];
    (void)snprintf(where, sizeof where, "servers.%s.", server->name);
    warn_unknown(reading->options, object, where, known);
    const char *url = json_string_value(sma_json_get(object, "url"));
    server->url = substitute(reading, "url", url == NULL ? "" : url);
    struct sma_str text = sma_str(server->url);
    if (server->url != NULL && !sma_str_starts_with(text, SMA_STR("http://")) &&
        !sma_str_starts_with(text, SMA_STR("https://")))
        trouble(reading, "url is missing or wrong: it begins with https:// or http://");
    if (has_user(server->url))
        trouble(reading, "url holds a user or a password: take them out, and write \"headers\": "
                         "{\"Authorization\": \"Basic ${NAME}\"}, with the base64 of user:password "
                         "in .env");
    read_pairs(reading, object, "headers", ": ", &server->headers);
    read_oauth(reading, sma_json_get(object, "oauth"));
}

static void read_common(struct reading *reading, const json_t *object)
{
    static const char *const known_tools[] = {"allow", "deny", NULL};
    struct sma_mcp_config_server *server = reading->server;
    const json_t *timeout = sma_json_get(object, "timeoutMs");
    server->timeout_ms = SMA_MCP_TIMEOUT_MS;
    if (timeout != NULL) {
        server->timeout_ms =
            sma_json_int(object, "timeoutMs", SMA_MCP_TIMEOUT_MS_MIN, SMA_MCP_TIMEOUT_MS_MAX, 0);
        if (!json_is_integer(timeout) || server->timeout_ms == 0)
            trouble(reading, "timeoutMs must be a whole number from %d to %d",
                    SMA_MCP_TIMEOUT_MS_MIN, SMA_MCP_TIMEOUT_MS_MAX);
    }
    const json_t *sampling = sma_json_get(object, "sampling");
    struct sma_str word = sma_json_str_of(sampling);
    server->may_sample = sma_str_is_equal(word, SMA_STR("allow"));
    if (sampling != NULL && !server->may_sample && !sma_str_is_equal(word, SMA_STR("refuse")))
        trouble(reading, "sampling must be \"allow\" or \"refuse\"");
    const json_t *tools = sma_json_get(object, "tools");
    if (tools != NULL && !json_is_object(tools))
        trouble(reading, "tools must be an object: {\"allow\":[\"read_*\"],\"deny\":[]}");
    read_list(reading, tools, "allow", "tools.allow", &server->allow);
    read_list(reading, tools, "deny", "tools.deny", &server->deny);
    char where[SMA_MCP_SERVER_NAME_BYTES_MAX + 32];
    (void)snprintf(where, sizeof where, "servers.%s.tools.", server->name);
    if (json_is_object(tools))
        warn_unknown(reading->options, tools, where, known_tools);
}

static bool is_server_name(const char *name)
{
    size_t len = strlen(name);
    return len > 0 && len <= SMA_MCP_SERVER_NAME_BYTES_MAX && name[0] != '.' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") == len;
}

static void read_server(struct reading *reading, const json_t *object)
{
    if (!json_is_object(object)) {
        trouble(reading, "it must be an object with \"type\" and \"command\" or \"url\"");
        return;
    }
    const char *type = json_string_value(sma_json_get(object, "type"));
    size_t found = 0;
    while (found < SMA_MCP_TRANSPORT_COUNT &&
           (type == NULL || strcmp(type, sma_mcp_transport_name(found)) != 0))
        found++;
    if (found == SMA_MCP_TRANSPORT_COUNT) {
        trouble(reading, "type is %s%.40s; it must be \"stdio\", \"http\" or \"sse\"",
                type == NULL ? "missing" : "", type == NULL ? "" : type);
        return;
    }
    reading->server->transport = (enum sma_mcp_transport)found;
    if (found == SMA_MCP_STDIO)
        read_stdio(reading, object);
    else
        read_remote(reading, object);
    read_common(reading, object);
}

/* -- the file ---------------------------------------------------------------------------------- */
static uint64_t add_text(uint64_t sum, const char *text)
{
    uint8_t key[16] = "mcp.json";
    memcpy(key + 8, &sum, sizeof sum);
    return sma_siphash(key, text == NULL ? "" : text, text == NULL ? 0 : strlen(text));
}

static uint64_t add_words(uint64_t sum, const struct sma_mcp_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        sum = add_text(sum, words->items[i]);
    return add_text(sum, "|");
}

static uint64_t fingerprint(const struct sma_mcp_config_server *server)
{
    char numbers[80];
    (void)snprintf(numbers, sizeof numbers, "%d %lld %d %d %d %d", (int)server->transport,
                   (long long)server->timeout_ms, server->is_sandboxed, server->has_network,
                   server->has_credentials_grant, server->may_sample);
    uint64_t sum = add_text(0, numbers);
    sum = add_text(add_text(add_text(sum, server->command), server->url), server->trouble);
    sum = add_words(add_words(add_words(sum, &server->args), &server->env), &server->headers);
    sum = add_words(add_words(sum, &server->allow), &server->deny);
    sum =
        add_text(add_text(add_text(sum, server->client_id), server->client_secret), server->scope);
    return add_text(sum, server->permissions_json);
}

static enum sma_err add_server(const struct sma_mcp_config_options *options,
                               struct sma_mcp_config *config, const char *name,
                               const json_t *object)
{
    struct storage *storage = config->storage;
    size_t index = config->server_count;
    struct sma_mcp_config_server *server = &config->servers[config->server_count++];
    struct reading reading = {.options = options, .server = server};
    server->name = name;
    server->permissions_json = "";
    sma_buf_init(&reading.trouble, 1024);
    read_server(&reading, object);
    const json_t *permissions = sma_json_get(object, "permissions");
    if (permissions != NULL && reading.err == SMA_ERR_OK) {
        storage->permissions[index] = json_dumps(permissions, JSON_COMPACT | JSON_ENCODE_ANY);
        server->permissions_json = storage->permissions[index];
        if (storage->permissions[index] == NULL)
            reading.err = SMA_ERR_NOMEM;
    }
    if (reading.trouble.len > 0) {
        storage->troubles[index] = sma_buf_take(&reading.trouble);
        server->trouble = storage->troubles[index];
        if (server->trouble == NULL)
            reading.err = SMA_ERR_NOMEM;
        else
            warn(options, "%s; this server is not started", server->trouble);
    }
    sma_buf_fini(&reading.trouble);
    server->fingerprint = fingerprint(server);
    return reading.err;
}

static enum sma_err add_servers(const struct sma_mcp_config_options *options,
                                struct sma_mcp_config *config, const json_t *root,
                                struct sma_error *error)
{
    static const char *const known[] = {"servers", "$schema", NULL};
    const json_t *servers = sma_json_get(root, "servers");
    if (!json_is_object(root) || (servers != NULL && !json_is_object(servers)))
        return sma_fail(error, SMA_ERR_BADINPUT,
                        SMA_MCP_CONFIG_FILE ": it must be {\"servers\":{\"name\":{...}}}");
    if (sma_json_get(root, "mcpServers") != NULL)
        warn(options, "mcpServers has no effect: write it as \"servers\"");
    else
        warn_unknown(options, root, "", known);
    const char *name;
    json_t *object;
    json_object_foreach((json_t *)(uintptr_t)servers, name, object)
    {
        if (!is_server_name(name)) {
            warn(options,
                 "the name \"%.80s\" cannot be a server's: 1 to %d of A-Z a-z 0-9 _ . -, not "
                 "beginning with a dot; this server is not started",
                 name, SMA_MCP_SERVER_NAME_BYTES_MAX);
            continue;
        }
        if (config->server_count == SMA_MCP_SERVER_COUNT_MAX) {
            warn(options, "more than %d servers; \"%s\" and those behind it are not started",
                 SMA_MCP_SERVER_COUNT_MAX, name);
            break;
        }
        enum sma_err err = add_server(options, config, name, object);
        if (err != SMA_ERR_OK)
            return sma_fail(error, err, SMA_MCP_CONFIG_FILE ": out of memory");
    }
    return SMA_ERR_OK;
}

static enum sma_err load(const struct sma_mcp_config_options *options,
                         struct sma_mcp_config *config, struct sma_error *error)
{
    struct storage *storage = config->storage;
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len = 0;
    enum sma_err err = sma_read_beneath(options->project_dir, SMA_MCP_CONFIG_FILE,
                                        SMA_MCP_CONFIG_BYTES_MAX, &bytes, &len, error);
    if (err == SMA_ERR_NOTFOUND)
        return SMA_ERR_OK;
    if (err == SMA_ERR_TOOBIG)
        return sma_fail(error, err, SMA_MCP_CONFIG_FILE ": larger than %d bytes",
                        SMA_MCP_CONFIG_BYTES_MAX);
    if (err != SMA_ERR_OK)
        return err;
    json_error_t where;
    storage->root = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &where);
    if (storage->root == NULL)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        SMA_MCP_CONFIG_FILE ": line %d: %s; no server is started before it is "
                                            "right",
                        where.line, where.text);
    return add_servers(options, config, storage->root, error);
}

enum sma_err sma_mcp_config_load(const struct sma_mcp_config_options *options,
                                 struct sma_mcp_config **ret_config, struct sma_error *error)
{
    struct sma_mcp_config *config = calloc(1, sizeof *config);
    if (config != NULL)
        config->storage = calloc(1, sizeof(struct storage));
    if (config == NULL || config->storage == NULL) {
        free(config);
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    }
    enum sma_err err = load(options, config, error);
    if (err != SMA_ERR_OK) {
        sma_mcp_config_destroy(config);
        return err;
    }
    *ret_config = config;
    return SMA_ERR_OK;
}

static void free_words(struct sma_mcp_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free((char *)(uintptr_t)words->items[i]);
    free(words->items);
}

void sma_mcp_config_destroy(struct sma_mcp_config *config)
{
    if (config == NULL)
        return;
    struct storage *storage = config->storage;
    for (size_t i = 0; i < config->server_count; i++) {
        struct sma_mcp_config_server *server = &config->servers[i];
        free_words(&server->args);
        free_words(&server->env);
        free_words(&server->headers);
        free_words(&server->allow);
        free_words(&server->deny);
        free((char *)(uintptr_t)server->url);
        free((char *)(uintptr_t)server->client_id);
        free((char *)(uintptr_t)server->client_secret);
        free((char *)(uintptr_t)server->scope);
        free(storage->troubles[i]);
        free(storage->permissions[i]);
    }
    json_decref(storage->root);
    free(storage);
    free(config);
}

const struct sma_mcp_config_server *sma_mcp_config_find(const struct sma_mcp_config *config,
                                                        const char *name)
{
    for (size_t i = 0; i < config->server_count; i++)
        if (strcmp(config->servers[i].name, name) == 0)
            return &config->servers[i];
    return NULL;
}

/* -- patterns ---------------------------------------------------------------------------------- */
bool sma_mcp_matches(struct sma_str pattern, struct sma_str text)
{
    size_t at = 0, in = 0, star = SIZE_MAX, star_in = 0;
    while (in < text.len) {
        if (at < pattern.len && pattern.ptr[at] == '*') {
            star = at++;
            star_in = in;
        } else if (at < pattern.len && pattern.ptr[at] == text.ptr[in]) {
            at++;
            in++;
        } else if (star != SIZE_MAX) {
            at = star + 1;
            in = ++star_in;
        } else {
            return false;
        }
    }
    while (at < pattern.len && pattern.ptr[at] == '*')
        at++;
    return at == pattern.len;
}

static bool has_match(const struct sma_mcp_words *patterns, struct sma_str text)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (sma_mcp_matches(sma_str(patterns->items[i]), text))
            return true;
    return false;
}

bool sma_mcp_config_allows(const struct sma_mcp_config_server *server, struct sma_str tool)
{
    bool has_allow = server->allow.items != NULL;
    return !has_match(&server->deny, tool) && (!has_allow || has_match(&server->allow, tool));
}
