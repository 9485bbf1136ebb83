/* rules.c — see rules.h. */
#include "runtime/web/rules.h"

#include "runtime/web/named.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>

#define ALLOW_RULE "permissions.web.allow"
#define DENY_RULE "permissions.web.deny"
#define MODE_RULE "permissions.web"

struct pattern
{
    char host[SMA_WEB_HOST_BYTES];
    bool is_below; /* "*.host" */
    unsigned port; /* 0 = any that is allowed */
};
struct patterns
{
    struct pattern *items;
    size_t count;
};

struct sma_web_rules
{
    enum sma_web_verdict mode;
    struct patterns allow, deny, private_hosts;
    unsigned ports[SMA_WEB_PORT_COUNT_MAX];
    size_t port_count;
    enum sma_web_provider provider;
    char *search_url, *search_key;
};

/* -- reading ----------------------------------------------------------------------------------- */
static bool read_pattern(const char *text, bool may_have_port, struct pattern *pattern)
{
    struct sma_str host = sma_str(text);
    *pattern = (struct pattern){.port = 0};
    if (sma_str_starts_with(host, SMA_STR("*."))) {
        pattern->is_below = true;
        host.ptr += 2;
        host.len -= 2;
    }
    bool is_bracketed = host.len > 0 && host.ptr[0] == '[';
    const char *end = is_bracketed ? memchr(host.ptr, ']', host.len) : NULL;
    const char *colon = memrchr(host.ptr, ':', host.len);
    bool is_6 = !is_bracketed && colon != NULL && memchr(host.ptr, ':', host.len) != colon;
    if ((is_bracketed && end == NULL) || (is_bracketed && colon < end))
        colon = NULL;
    if (colon != NULL && !is_6) {
        int64_t port;
        struct sma_str number = {colon + 1, (size_t)(host.ptr + host.len - colon) - 1};
        if (!may_have_port || sma_parse_i64(number, 1, 65535, &port) != SMA_ERR_OK)
            return false;
        pattern->port = (unsigned)port;
        host.len = (size_t)(colon - host.ptr);
    }
    if (is_bracketed) {
        if (end == NULL)
            return false;
        host = (struct sma_str){host.ptr + 1, (size_t)(end - host.ptr) - 1};
    }
    return sma_web_host_read(host, pattern->host);
}

static enum sma_err read_patterns(const json_t *list, const char *member, bool may_have_port,
                                  struct patterns *patterns, struct sma_error *error)
{
    size_t count = json_array_size(list);
    if (list == NULL)
        return SMA_ERR_OK;
    if (!json_is_array(list) || count > SMA_WEB_PATTERN_COUNT_MAX)
        return sma_fail(error, SMA_ERR_BADINPUT, "%s must be a list of at most %d hosts", member,
                        SMA_WEB_PATTERN_COUNT_MAX);
    patterns->items = calloc(count + 1, sizeof *patterns->items);
    if (patterns->items == NULL)
        return sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (text == NULL || !read_pattern(text, may_have_port, &patterns->items[i]))
            return sma_fail(
                error, SMA_ERR_BADINPUT,
                "%s: item %zu must be a host like \"example.com\" or \"*.example.com\"%s", member,
                i + 1, may_have_port ? ", or one with \":port\"" : "");
        patterns->count = i + 1;
    }
    return SMA_ERR_OK;
}

static enum sma_err read_mode(const json_t *value, enum sma_web_verdict *ret_mode,
                              struct sma_error *error)
{
    static const char *const words[] = {"allow", "ask", "refuse"}; /* in the order of the enum */
    for (size_t i = 0; json_is_string(value) && i < SMA_COUNT_OF(words); i++)
        if (strcmp(json_string_value(value), words[i]) == 0) {
            *ret_mode = (enum sma_web_verdict)i;
            return SMA_ERR_OK;
        }
    return value == NULL ? SMA_ERR_OK
                         : sma_fail(error, SMA_ERR_BADINPUT,
                                    "permissions.web must be \"ask\", \"allow\", \"refuse\" or an "
                                    "object with mode, allow and deny");
}

static enum sma_err read_permissions(struct sma_web_rules *rules, const json_t *root,
                                     struct sma_error *error)
{
    const json_t *web = json_object_get(root, "web");
    rules->mode = SMA_WEB_ASK;
    if (!json_is_object(web))
        return read_mode(web, &rules->mode, error);
    SMA_TRY(read_mode(json_object_get(web, "mode"), &rules->mode, error));
    SMA_TRY(read_patterns(json_object_get(web, "allow"), ALLOW_RULE, false, &rules->allow, error));
    return read_patterns(json_object_get(web, "deny"), DENY_RULE, false, &rules->deny, error);
}

static enum sma_err read_ports(struct sma_web_rules *rules, const json_t *list,
                               struct sma_error *error)
{
    static const unsigned usual[] = {80, 443, 8080, 8443};
    for (size_t i = 0; i < SMA_COUNT_OF(usual); i++)
        rules->ports[rules->port_count++] = usual[i];
    if (list == NULL)
        return SMA_ERR_OK;
    bool is_good =
        json_is_array(list) && json_array_size(list) + rules->port_count <= SMA_WEB_PORT_COUNT_MAX;
    for (size_t i = 0; is_good && i < json_array_size(list); i++) {
        json_int_t port = json_integer_value(json_array_get(list, i));
        is_good = port >= 1 && port <= 65535;
        rules->ports[rules->port_count++] = (unsigned)port;
    }
    return is_good ? SMA_ERR_OK
                   : sma_fail(error, SMA_ERR_BADINPUT,
                              "web.ports must be a list of at most %zu numbers from 1 to 65535",
                              SMA_WEB_PORT_COUNT_MAX - SMA_COUNT_OF(usual));
}

static enum sma_err read_search(struct sma_web_rules *rules, const json_t *search,
                                struct sma_error *error)
{
    static const struct
    {
        const char *word, *url;
        bool has_key;
    } providers[] = {
        [SMA_WEB_SEARCH_SEARXNG] = {"searxng", "", false},
        [SMA_WEB_SEARCH_BRAVE] = {"brave", "https://api.search.brave.com/res/v1/web/search", true},
        [SMA_WEB_SEARCH_TAVILY] = {"tavily", "https://api.tavily.com/search", true},
        [SMA_WEB_SEARCH_BING] = {"bing", "https://api.bing.microsoft.com/v7.0/search", true},
    };
    if (search == NULL)
        return SMA_ERR_OK;
    const char *word = json_string_value(json_object_get(search, "provider"));
    size_t found = 0;
    for (size_t i = 1; word != NULL && i < SMA_COUNT_OF(providers); i++)
        if (strcmp(word, providers[i].word) == 0)
            found = i;
    if (found == 0)
        return sma_fail(error, SMA_ERR_BADINPUT,
                        "web.search.provider must be \"searxng\", \"brave\", \"tavily\" or "
                        "\"bing\"");
    const char *url = json_string_value(json_object_get(search, "url"));
    const char *key = json_string_value(json_object_get(search, "apiKey"));
    if ((url == NULL || *url == '\0') && providers[found].url[0] == '\0')
        return sma_fail(error, SMA_ERR_BADINPUT, "web.search.url must name the SearXNG server");
    if ((key == NULL || *key == '\0') && providers[found].has_key)
        return sma_fail(error, SMA_ERR_BADINPUT, "web.search.apiKey must be the key for %s", word);
    rules->provider = (enum sma_web_provider)found;
    rules->search_url = strdup(url == NULL || *url == '\0' ? providers[found].url : url);
    rules->search_key = strdup(key == NULL ? "" : key);
    return rules->search_url == NULL || rules->search_key == NULL
               ? sma_fail(error, SMA_ERR_NOMEM, "out of memory")
               : SMA_ERR_OK;
}

static json_t *load(const char *text)
{
    return text == NULL || *text == '\0' ? json_object() : json_loads(text, 0, NULL);
}

enum sma_err sma_web_rules_parse(const char *permissions_json, const char *web_json,
                                 struct sma_web_rules **ret_rules, struct sma_error *error)
{
    struct sma_web_rules *rules = calloc(1, sizeof *rules);
    json_t *permissions = load(permissions_json), *web = load(web_json);
    enum sma_err err = SMA_ERR_OK;
    if (rules == NULL)
        err = sma_fail(error, SMA_ERR_NOMEM, "out of memory");
    else if (!json_is_object(permissions) || !json_is_object(web))
        err = sma_fail(error, SMA_ERR_BADINPUT, "permissions and web must be objects");
    if (err == SMA_ERR_OK)
        err = read_permissions(rules, permissions, error);
    if (err == SMA_ERR_OK)
        err = read_patterns(json_object_get(web, "allowPrivateHosts"), "web.allowPrivateHosts",
                            true, &rules->private_hosts, error);
    if (err == SMA_ERR_OK)
        err = read_ports(rules, json_object_get(web, "ports"), error);
    if (err == SMA_ERR_OK)
        err = read_search(rules, json_object_get(web, "search"), error);
    json_decref(permissions);
    json_decref(web);
    if (err != SMA_ERR_OK) {
        sma_web_rules_destroy(rules);
        return err;
    }
    *ret_rules = rules;
    return SMA_ERR_OK;
}

void sma_web_rules_destroy(struct sma_web_rules *rules)
{
    if (rules == NULL)
        return;
    if (rules->search_key != NULL)
        explicit_bzero(rules->search_key, strlen(rules->search_key));
    free(rules->search_key);
    free(rules->search_url);
    free(rules->allow.items);
    free(rules->deny.items);
    free(rules->private_hosts.items);
    free(rules);
}

/* -- judging ----------------------------------------------------------------------------------- */
static bool fits(const struct pattern *pattern, const struct sma_web_url *url)
{
    size_t len = strlen(url->host), end = strlen(pattern->host);
    if (!pattern->is_below)
        return strcmp(pattern->host, url->host) == 0;
    return !url->is_ip && len > end + 1 && url->host[len - end - 1] == '.' &&
           strcmp(url->host + len - end, pattern->host) == 0;
}

static const struct pattern *find(const struct patterns *patterns, const struct sma_web_url *url)
{
    for (size_t i = 0; i < patterns->count; i++)
        if (fits(&patterns->items[i], url))
            return &patterns->items[i];
    return NULL;
}

/* With a port of its own it is that one server. */
static const struct pattern *find_private(const struct sma_web_rules *rules,
                                          const struct sma_web_url *url)
{
    for (size_t i = 0; i < rules->private_hosts.count; i++) {
        const struct pattern *pattern = &rules->private_hosts.items[i];
        if (fits(pattern, url) && (pattern->port == 0 || pattern->port == url->port))
            return pattern;
    }
    return NULL;
}

static bool has_port(const struct sma_web_rules *rules, unsigned port)
{
    for (size_t i = 0; i < rules->port_count; i++)
        if (rules->ports[i] == port)
            return true;
    return false;
}

struct sma_web_judgement sma_web_rules_judge(const struct sma_web_rules *rules,
                                             const struct sma_web_url *url, struct sma_str words)
{
    const struct pattern *inner = find_private(rules, url);
    struct sma_web_judgement judgement = {
        .verdict = rules->mode, .rule = MODE_RULE, .is_private_allowed = inner != NULL};
    if (find(&rules->deny, url) != NULL) {
        judgement.verdict = SMA_WEB_REFUSE;
        judgement.rule = DENY_RULE;
        judgement.reason = "this host is not to be fetched from";
    } else if (!has_port(rules, url->port) && (inner == NULL || inner->port != url->port)) {
        judgement.verdict = SMA_WEB_REFUSE;
        judgement.rule = "web.ports";
        judgement.reason = "its port is none of those that pages are fetched from";
    } else if (find(&rules->allow, url) != NULL) {
        judgement.verdict = SMA_WEB_ALLOW;
        judgement.rule = ALLOW_RULE;
        judgement.reason = "this host is allowed";
        judgement.is_host_allowed = true;
    } else if (rules->mode == SMA_WEB_ASK && sma_web_is_named(words, url->host)) {
        judgement.verdict = SMA_WEB_ALLOW;
        judgement.reason = "the person named this host";
    } else {
        judgement.reason = rules->mode == SMA_WEB_ALLOW ? "the web is allowed"
                           : rules->mode == SMA_WEB_ASK ? "nobody named this host"
                                                        : "the web is switched off";
    }
    return judgement;
}

enum sma_web_provider sma_web_rules_search(const struct sma_web_rules *rules, const char **ret_url,
                                           const char **ret_key)
{
    *ret_url = rules->search_url;
    *ret_key = rules->search_key;
    return rules->provider;
}

bool sma_web_rules_has_fetch(const struct sma_web_rules *rules)
{
    return rules->mode != SMA_WEB_REFUSE || rules->allow.count > 0;
}
