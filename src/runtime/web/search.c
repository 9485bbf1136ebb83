/* search.c — web_search: four providers, asked in their ways, answered in one. See fetch.h. */
#include "web_priv.h"

#include "runtime/tools/tools.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define URL_ROOM (SMA_WEB_URL_BYTES_MAX + 1)
#define HEADER_BYTES_MAX 600
#define ANSWER_TEXT_MAX (1024 * 1024)
#define TITLE_BYTES_MAX 200
#define SNIPPET_BYTES_MAX 600
#define TAIL_BYTES 100

/* How each is asked. Source: docs.searxng.org "Search API"; api-dashboard.search.brave.com "Web
 * Search API"; docs.tavily.com "Search"; Bing Web Search API v7. */
struct provider
{
    const char *query, *count; /* names of the query's members; count NULL = it has none */
    const char *more;          /* behind them */
    const char *key_header;    /* "Name: " in front of the key; NULL = none */
    const char *path[2];       /* to the list of results */
    const char *title, *url, *snippet;
    bool is_post; /* JSON in the body in place of a query */
};
static const struct provider providers[] = {
    [SMA_WEB_SEARCH_SEARXNG] =
        {"q", NULL, "&format=json", NULL, {"results", NULL}, "title", "url", "content", false},
    [SMA_WEB_SEARCH_BRAVE] = {"q",
                              "count",
                              "",
                              "X-Subscription-Token: ",
                              {"web", "results"},
                              "title",
                              "url",
                              "description",
                              false},
    [SMA_WEB_SEARCH_TAVILY] = {"query",
                               "max_results",
                               "",
                               "Authorization: Bearer ",
                               {"results", NULL},
                               "title",
                               "url",
                               "content",
                               true},
    [SMA_WEB_SEARCH_BING] = {"q",
                             "count",
                             "&textDecorations=false",
                             "Ocp-Apim-Subscription-Key: ",
                             {"webPages", "value"},
                             "name",
                             "url",
                             "snippet",
                             false},
};

static void put_body(struct sma_buf *buf, const struct provider *provider, struct sma_str query,
                     unsigned count)
{
    sma_buf_put_char(buf, '{');
    sma_buf_put_json_member(buf, provider->query, query);
    sma_buf_put_json_number(buf, provider->count, count);
    sma_buf_put_char(buf, '}');
}

/* SearXNG's address is its front page or its search page. */
static void put_address(struct sma_buf *buf, enum sma_web_provider which, const char *base,
                        struct sma_str query, unsigned count)
{
    const struct provider *provider = &providers[which];
    struct sma_str text = sma_str(base);
    while (text.len > 0 && text.ptr[text.len - 1] == '/')
        text.len--;
    sma_buf_put_str(buf, text);
    if (which == SMA_WEB_SEARCH_SEARXNG &&
        (text.len < 7 || memcmp(text.ptr + text.len - 7, "/search", 7) != 0))
        sma_buf_put_text(buf, "/search");
    if (provider->is_post)
        return;
    sma_buf_printf(buf, "?%s=", provider->query);
    for (size_t i = 0; i < query.len; i++)
        sma_buf_printf(buf, "%%%02X", (unsigned)(unsigned char)query.ptr[i]);
    if (provider->count != NULL)
        sma_buf_printf(buf, "&%s=%u", provider->count, count);
    sma_buf_put_text(buf, provider->more);
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

static void put_cut(struct sma_buf *buf, const char *key, const char *text, size_t max)
{
    struct sma_str whole = sma_str(text);
    sma_buf_put_json_member(buf, key, (struct sma_str){text, sma_utf8_cut(whole, max)});
}

/* Only what leads to a page; what does not fit any more is left out. */
static unsigned put_results(struct sma_buf *result, const struct provider *provider,
                            const json_t *list, unsigned count)
{
    unsigned done = 0;
    for (size_t i = 0; i < json_array_size(list) && done < count; i++) {
        const json_t *item = json_array_get(list, i);
        struct sma_web_url url;
        struct sma_buf one, why;
        sma_buf_init(&one, 16 * 1024);
        sma_buf_init(&why, 1000);
        if (sma_web_url_read(sma_str(text_of(item, provider->url)), &url, &why) == SMA_ERR_OK) {
            sma_buf_put_char(&one, '{');
            put_cut(&one, "title", text_of(item, provider->title), TITLE_BYTES_MAX);
            sma_buf_put_json_member(&one, "url", sma_str(url.text));
            put_cut(&one, "snippet", text_of(item, provider->snippet), SNIPPET_BYTES_MAX);
            sma_buf_put_char(&one, '}');
        }
        if (one.len > 0 && one.err == SMA_ERR_OK &&
            result->len + one.len + TAIL_BYTES < result->max) {
            sma_buf_put_text(result, done++ > 0 ? "," : "");
            sma_buf_put_str(result, sma_buf_str(&one));
        }
        sma_buf_fini(&one);
        sma_buf_fini(&why);
    }
    return done;
}

static bool put_answer(struct sma_buf *result, const struct provider *provider,
                       const struct web_answer *answer, struct sma_str query, unsigned count)
{
    json_t *root = json_loadb(answer->content.ptr == NULL ? "" : answer->content.ptr,
                              answer->content.len, 0, NULL);
    const json_t *list = json_object_get(root, provider->path[0]);
    if (provider->path[1] != NULL)
        list = json_object_get(list, provider->path[1]);
    bool is_good = json_is_object(root) && (list == NULL || json_is_array(list));
    if (is_good) {
        sma_buf_put_text(result, "{\"success\":true");
        sma_tool_put_foreign(result, SMA_STR("web: search"));
        sma_buf_put_json_member(result, "query", query);
        sma_buf_put_text(result, ",\"results\":[");
        (void)put_results(result, provider, list, count);
        sma_buf_put_text(result, "]}");
    } else {
        (void)web_put_error(result,
                            SMA_STR("The search server's answer is not what was expected of it; "
                                    "the owner may look at web.search in ship.json."),
                            NULL);
    }
    json_decref(root);
    return is_good;
}

static bool put_failure(struct sma_buf *result, const struct web_answer *answer)
{
    char line[200];
    if (answer->error.len > 0)
        return web_put_error(result, answer->error, NULL);
    (void)snprintf(line, sizeof line, "The search server answered with HTTP status %d%s.",
                   answer->status,
                   answer->status == 401 || answer->status == 403
                       ? ": the owner has to look at web.search.apiKey in ship.json"
                   : answer->status == 429 ? ": too many searches, try later"
                                           : "");
    return web_put_error(result, sma_str(line), NULL);
}

bool sma_web_search(const struct sma_web_place *place, struct sma_str query, unsigned count,
                    struct sma_buf *result)
{
    const char *base, *key;
    enum sma_web_provider which = sma_web_rules_search(place->rules, &base, &key);
    if (which == SMA_WEB_SEARCH_NONE)
        return web_put_error(result, SMA_STR("No search is configured."), NULL);
    const struct provider *provider = &providers[which];
    char header[HEADER_BYTES_MAX] = "";
    struct sma_web_url url;
    struct sma_buf address, body, why;
    sma_buf_init(&address, URL_ROOM);
    sma_buf_init(&body, SMA_WEB_QUERY_BYTES_MAX * 8);
    sma_buf_init(&why, 4000);
    put_address(&address, which, base, query, count);
    if (provider->is_post)
        put_body(&body, provider, query, count);
    if (provider->key_header != NULL)
        (void)snprintf(header, sizeof header, "%s%s", provider->key_header, key);
    struct web_answer answer = {.root = NULL};
    bool is_good = address.err == SMA_ERR_OK && body.err == SMA_ERR_OK;
    if (!is_good)
        sma_buf_put_text(&why, "The query is too long.");
    is_good = is_good && sma_web_url_read(sma_buf_str(&address), &url, &why) == SMA_ERR_OK;
    if (is_good) {
        const struct web_question question = {
            .url = &url,
            .body = provider->is_post ? body.ptr : NULL,
            .headers = {"Accept: application/json",
                        provider->is_post ? "Content-Type: application/json" : "DNT: 1",
                        header[0] == '\0' ? NULL : header},
            .text_max = ANSWER_TEXT_MAX,
            .time_ms = SMA_WEB_MS,
            /* the owner wrote where SearXNG is */
            .is_private_allowed =
                which == SMA_WEB_SEARCH_SEARXNG ||
                sma_web_rules_judge(place->rules, &url, SMA_STR("")).is_private_allowed,
            .is_raw = true};
        is_good = web_ask(place, &question, &answer, &why);
    }
    explicit_bzero(header, sizeof header);
    if (!is_good)
        (void)web_put_error(result, sma_buf_str(&why), NULL);
    else if (answer.error.len > 0 || answer.status != 200)
        is_good = put_failure(result, &answer);
    else
        is_good = put_answer(result, provider, &answer, query, count);
    web_answer_fini(&answer);
    sma_buf_fini(&address);
    sma_buf_fini(&body);
    sma_buf_fini(&why);
    return is_good;
}
