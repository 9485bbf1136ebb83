/*
 * Aim: url.h, named.h, rules.h, leak.h: one reading of an address; who named a host; what the
 * owner's rules say; no secret goes out in an address.
 * Method: tables; every host is compared with what libcurl, which fetches, reads in the same text.
 */
#include "runtime/web/egress.h"
#include "runtime/web/leak.h"
#include "runtime/web/named.h"
#include "runtime/web/rules.h"
#include "support/check.h"

#include <curl/curl.h>
#include <time.h>

/* -- addresses --------------------------------------------------------------------------------- */
static bool read(const char *text, struct sma_web_url *url)
{
    struct sma_buf why;
    sma_buf_init(&why, 1000);
    enum sma_err err = sma_web_url_read(sma_str(text), url, &why);
    CHECK((err == SMA_ERR_OK) == (why.len == 0));
    sma_buf_fini(&why);
    return err == SMA_ERR_OK;
}

ENDING(sma_secrets_destroy, struct sma_secrets)

CASE(an_address_has_one_spelling)
{
    static const struct
    {
        const char *text, *spelling, *host;
        unsigned port;
        bool is_ip;
    } rows[] = {
        {"https://Example.COM/a?b=c#d", "https://example.com/a?b=c", "example.com", 443, false},
        {"http://example.com:8080", "http://example.com:8080/", "example.com", 8080, false},
        {"http://b\xc3\xbc"
         "cher.example/x",
         "http://xn--bcher-kva.example/x", "xn--bcher-kva.example", 80, false},
        {"http://2130706433/", "http://127.0.0.1/", "127.0.0.1", 80, true},
        {"http://0x7f.1/", "http://127.0.0.1/", "127.0.0.1", 80, true},
        {"http://0177.0.0.1/", "http://127.0.0.1/", "127.0.0.1", 80, true},
        {"http://[::FFFF:127.0.0.1]:80/", NULL, "::ffff:127.0.0.1", 80, true},
        {"http://example.com/a/../b", "http://example.com/b", "example.com", 80, false},
        {"http://example.com/\xe4\xbd\xa0", "http://example.com/%e4%bd%a0", "example.com", 80,
         false},
        {"http://example.com/?\xe2\x80\xae", "http://example.com/?%e2%80%ae", "example.com", 80,
         false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_web_url url;
        CHECK(read(rows[i].text, &url));
        if (rows[i].spelling != NULL)
            CHECK(strcasecmp(rows[i].spelling, url.text) == 0);
        CHECK_TEXT(rows[i].host, url.host);
        CHECK_INT(rows[i].port, url.port);
        CHECK_INT(rows[i].is_ip, url.is_ip);
        struct sma_web_url again; /* what is fetched is read in the same way */
        CHECK(read(url.text, &again));
        CHECK_TEXT(url.text, again.text);
        CHECK_TEXT(url.host, again.host);
        CURLU *curl = curl_url();
        char *host = NULL;
        CHECK(curl_url_set(curl, CURLUPART_URL, url.text, 0) == CURLUE_OK);
        CHECK(curl_url_get(curl, CURLUPART_HOST, &host, 0) == CURLUE_OK);
        CHECK(strncasecmp(host + (host[0] == '['), url.host, strlen(url.host)) == 0);
        curl_free(host);
        curl_url_cleanup(curl);
    }
}

CASE(what_is_no_page_of_the_web_is_refused)
{
    static const char *const texts[] = {
        "",
        "example.com",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://x/",
        "javascript:1",
        "http://",

        "https://user@example.com/",
        "https://user:pw@example.com/",
        "https://example.com@evil.org/",
        "http://example.com\\@evil.org/",
        "http://exa mple.com/",
        "http://example.com/\n",
        "http://example.com/\tx",
        " http://example.com/",
        "http://example.com:99999/",
        "http://example.com:x/",
        "http://[::1",
        "http://.com/",
        "data:text/html,x",
        "dict://x:1/",
        "http://exa%00mple.com/",
        "http://[fe80::1%25eth0]/",
    };
    struct sma_web_url url;
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        if (read(texts[i], &url))
            fprintf(stderr, "%s: %s\n", texts[i], url.text);
        CHECK(!read(texts[i], &url));
    }
    char text[SMA_WEB_URL_BYTES_MAX + 2] = "http://example.com/";
    size_t len = strlen(text);
    memset(text + len, 'x', SMA_WEB_URL_BYTES_MAX - len);
    text[SMA_WEB_URL_BYTES_MAX] = '\0';
    CHECK(read(text, &url));
    text[SMA_WEB_URL_BYTES_MAX] = 'x';
    text[SMA_WEB_URL_BYTES_MAX + 1] = '\0';
    CHECK(!read(text, &url));
}

CASE(a_redirect_may_be_relative)
{
    static const char *const rows[][2] = {{"/x", "https://example.com/x"},
                                          {"y?z", "https://example.com/a/y?z"},
                                          {"//other.org/q", "https://other.org/q"},
                                          {"http://10.0.0.1/", "http://10.0.0.1/"}};
    struct sma_web_url from, to;
    SMA_AUTO(sma_buf_fini) struct sma_buf why;
    CHECK(read("https://example.com/a/b", &from));
    sma_buf_init(&why, 1000);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        CHECK_OK(sma_web_url_follow(&from, sma_str(rows[i][0]), &to, &why));
        CHECK_TEXT(rows[i][1], to.text);
    }
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_web_url_follow(&from, SMA_STR("file:///etc/passwd"), &to, &why));
    CHECK_ERR(SMA_ERR_BADINPUT,
              sma_web_url_follow(&from, SMA_STR("//u:p@example.com/"), &to, &why));
}

/* -- who named it ------------------------------------------------------------------------------ */
CASE(a_host_is_named_by_the_person)
{
    static const char *const yes[] = {
        "what does https://example.com/a say?",
        "look at example.com",
        "example.com",
        "(example.com)",
        "see www.example.com.",
        "EXAMPLE.com!",
        "\xe7\x9c\x8b\xe7\x9c\x8b"
        "example.com\xe7\x9a\x84\xe9\xa6\x96\xe9\xa1\xb5",
        "\xe7\x9c\x8bhttps://example.com\xe7\x9a\x84",
        "<https://example.com>",
        "[x](https://example.com/y)",
        "http://example.com:8080/x",
        "example.com/path/file.txt",
        "example.com, please",
        "\xe2\x80\x9chttps://example.com\xe2\x80\x9d",
        "compare a.org and example.com",
    };
    static const char *const no[] = {
        "",
        "look at it",
        "mail bob@example.com",
        "notexample.com",
        "example.com.evil.org",
        "https://evil.org/?u=example.com",
        "https://evil.org/example.com",
        "https://evil.org/https://example.com/",
        "a.org/x?u=https://example.com",
        "https://example.com@evil.org/",
        "foo.example.com",
        "https://evil.org#example.com",
        "/home/example.com",
        "example.com-x.org",
        "-example.com",
        "\xc3\xbc"
        "example.com",
        "example.com\xc3\xbc",
        "x=example.com",
        "example.comm",
        "example .com",
        "./example.com",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(yes); i++) {
        if (!sma_web_is_named(sma_str(yes[i]), "example.com"))
            fprintf(stderr, "not named by: %s\n", yes[i]);
        CHECK(sma_web_is_named(sma_str(yes[i]), "example.com"));
    }
    for (size_t i = 0; i < SMA_COUNT_OF(no); i++) {
        if (sma_web_is_named(sma_str(no[i]), "example.com"))
            fprintf(stderr, "named by: %s\n", no[i]);
        CHECK(!sma_web_is_named(sma_str(no[i]), "example.com"));
    }
    CHECK(sma_web_is_named(SMA_STR("example.com"), "www.example.com"));
    CHECK(!sma_web_is_named(SMA_STR("example.com"), "api.example.com"));
    CHECK(!sma_web_is_named(SMA_STR("read README.md and run.sh"), "readme.md"));
    CHECK(!sma_web_is_named(SMA_STR("read README.md and run.sh"), "run.sh"));
    CHECK(sma_web_is_named(SMA_STR("https://run.sh/"), "run.sh"));
    CHECK(sma_web_is_named(SMA_STR("http://b\xc3\xbc"
                                   "cher.example/"),
                           "xn--bcher-kva.example"));
    CHECK(sma_web_is_named(SMA_STR("ask http://10.1.2.3/x"), "10.1.2.3"));
}

/* -- the owner's rules ------------------------------------------------------------------------- */
static struct sma_web_rules *rules_of(const char *permissions, const char *web)
{
    struct sma_web_rules *rules = NULL;
    struct sma_error error = {0};
    enum sma_err err = sma_web_rules_parse(permissions, web, &rules, &error);
    if (err != SMA_ERR_OK)
        fprintf(stderr, "%s\n", error.text);
    CHECK_OK(err);
    return rules;
}

static struct sma_web_judgement judge(const char *permissions, const char *web, const char *text,
                                      const char *words)
{
    struct sma_web_rules *rules = rules_of(permissions, web);
    struct sma_web_url url;
    CHECK(read(text, &url));
    struct sma_web_judgement judgement = sma_web_rules_judge(rules, &url, sma_str(words));
    sma_web_rules_destroy(rules);
    return judgement;
}

CASE(rules_decide_about_hosts)
{
    static const struct
    {
        const char *permissions, *web, *url, *words;
        enum sma_web_verdict verdict;
    } rows[] = {
        {"", "", "https://a.org/", "", SMA_WEB_ASK},
        {"", "", "https://a.org/", "see a.org", SMA_WEB_ALLOW},
        {"{\"web\":\"ask\"}", "", "https://a.org/", "see b.org", SMA_WEB_ASK},
        {"{\"web\":\"allow\"}", "", "https://a.org/", "", SMA_WEB_ALLOW},
        {"{\"web\":\"refuse\"}", "", "https://a.org/", "see a.org", SMA_WEB_REFUSE},
        {"{\"web\":{\"allow\":[\"a.org\"]}}", "", "https://a.org/", "", SMA_WEB_ALLOW},
        {"{\"web\":{\"allow\":[\"a.org\"]}}", "", "https://x.a.org/", "", SMA_WEB_ASK},
        {"{\"web\":{\"allow\":[\"*.a.org\"]}}", "", "https://x.a.org/", "", SMA_WEB_ALLOW},
        {"{\"web\":{\"allow\":[\"*.a.org\"]}}", "", "https://a.org/", "", SMA_WEB_ASK},
        {"{\"web\":{\"allow\":[\"*.a.org\"]}}", "", "https://xa.org/", "", SMA_WEB_ASK},
        {"{\"web\":{\"mode\":\"refuse\",\"allow\":[\"a.org\"]}}", "", "https://a.org/", "",
         SMA_WEB_ALLOW},
        {"{\"web\":{\"mode\":\"allow\",\"deny\":[\"*.a.org\"]}}", "", "https://x.a.org/", "",
         SMA_WEB_REFUSE},
        {"{\"web\":{\"allow\":[\"a.org\"],\"deny\":[\"a.org\"]}}", "", "https://a.org/", "a.org",
         SMA_WEB_REFUSE},
        {"{\"web\":\"allow\"}", "", "http://a.org:22/", "", SMA_WEB_REFUSE},
        {"{\"web\":\"allow\"}", "", "http://a.org:8443/", "", SMA_WEB_ALLOW},
        {"{\"web\":\"allow\"}", "{\"ports\":[9000]}", "http://a.org:9000/", "", SMA_WEB_ALLOW},
        {"{\"web\":\"allow\"}", "{\"allowPrivateHosts\":[\"a.lan:9000\"]}", "http://a.lan:9000/",
         "", SMA_WEB_ALLOW},
        {"{\"web\":\"allow\"}", "{\"allowPrivateHosts\":[\"a.lan:9000\"]}", "http://b.lan:9000/",
         "", SMA_WEB_REFUSE},
        {"{\"web\":{\"allow\":[\"b\xc3\xbc"
         "cher.example\"]}}",
         "", "http://xn--bcher-kva.example/", "", SMA_WEB_ALLOW},
        {"{\"web\":{\"deny\":[\"A.org\"]}}", "", "http://a.ORG./", "", SMA_WEB_REFUSE},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        enum sma_web_verdict verdict =
            judge(rows[i].permissions, rows[i].web, rows[i].url, rows[i].words).verdict;
        if (verdict != rows[i].verdict)
            fprintf(stderr, "row %zu\n", i);
        CHECK_INT(rows[i].verdict, verdict);
    }
    static const char web[] =
        "{\"allowPrivateHosts\":[\"10.0.0.5:8090\",\"wiki.lan\",\"[::1]:81\"]}";
    CHECK(judge("", web, "http://10.0.0.5:8090/", "").is_private_allowed);
    CHECK(!judge("", web, "http://10.0.0.5/", "").is_private_allowed);
    CHECK(judge("", web, "https://wiki.lan/", "").is_private_allowed);
    CHECK(judge("", web, "http://[::1]:81/", "").is_private_allowed);
    CHECK(!judge("", web, "http://x.wiki.lan/", "").is_private_allowed);
}

CASE(wrong_rules_are_named)
{
    static const char *const rows[][3] = {
        {"{\"web\":\"yes\"}", "", "permissions.web must be"},
        {"{\"web\":{\"mode\":1}}", "", "permissions.web must be"},
        {"{\"web\":{\"allow\":\"a.org\"}}", "", "permissions.web.allow must be a list"},
        {"{\"web\":{\"allow\":[\"https://a.org\"]}}", "", "permissions.web.allow: item 1"},
        {"{\"web\":{\"deny\":[\"a.org:80\"]}}", "", "permissions.web.deny: item 1"},
        {"", "{\"ports\":[0]}", "web.ports must be"},
        {"", "{\"allowPrivateHosts\":[\"a:99999\"]}", "web.allowPrivateHosts: item 1"},
        {"", "{\"search\":{\"provider\":\"x\"}}", "web.search.provider must be"},
        {"", "{\"search\":{\"provider\":\"searxng\"}}", "web.search.url must"},
        {"", "{\"search\":{\"provider\":\"brave\"}}", "web.search.apiKey must"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_web_rules *rules = NULL;
        struct sma_error error = {0};
        CHECK_ERR(SMA_ERR_BADINPUT, sma_web_rules_parse(rows[i][0], rows[i][1], &rules, &error));
        CHECK(strstr(error.text, rows[i][2]) == error.text);
    }
    const char *url, *key;
    struct sma_web_rules *rules =
        rules_of("", "{\"search\":{\"provider\":\"brave\",\"apiKey\":\"k\"}}");
    CHECK_INT(SMA_WEB_SEARCH_BRAVE, sma_web_rules_search(rules, &url, &key));
    CHECK_TEXT("k", key);
    CHECK(strncmp(url, "https://api.search.brave.com/", 29) == 0);
    CHECK(sma_web_rules_has_fetch(rules));
    sma_web_rules_destroy(rules);
    rules = rules_of("{\"web\":\"refuse\"}", "");
    CHECK(!sma_web_rules_has_fetch(rules));
    sma_web_rules_destroy(rules);
}

/* -- what leaves in addresses ------------------------------------------------------------------ */
#define TYPED(text)                      \
    {                                    \
        SMA_EGRESS_TYPED, SMA_STR(text), \
        {                                \
            NULL, 0                      \
        }                                \
    }
#define FETCHED(asked, text)                            \
    {                                                   \
        SMA_EGRESS_FETCH, SMA_STR(text), SMA_STR(asked) \
    }
#define FOUND(asked, text)                               \
    {                                                    \
        SMA_EGRESS_SEARCH, SMA_STR(text), SMA_STR(asked) \
    }
#define OWN 0 /* as many as there are behind the scheme */

/* Each address against what it may have been taken from: how much of it is the model's own. */
CASE(what_the_model_made_up_is_counted)
{
    static const struct
    {
        const char *address;
        struct sma_egress_text texts[3];
        uint32_t least, most; /* of its bytes; most OWN: all of them */
    } rows[] = {
        /* the person wrote it */
        {"https://a.org/x?y=1", {TYPED("see https://a.org/x?y=1 please")}, 0, 1},
        {"http://a.org/x?y=1", {TYPED("see https://a.org/x?y=1")}, 0, 1},
        {"https://example.com/", {TYPED("look at example.com")}, 1, 1},
        {"https://example.com/docs", {TYPED("look at example.com")}, 5, 5},
        {"https://a.org/x?y=1", {TYPED("first"), TYPED("https://a.org/x?y=1")}, 0, 1},
        /* he wrote a part of it */
        {"https://example.com/x?k=SECRETSECRET", {TYPED("example.com/x?k=")}, 12, 12},
        {"https://SECRETSECRET.example.com/", {TYPED("look at example.com")}, 25, OWN},
        {"https://example.com@evil.org/SECRET", {TYPED("look at example.com")}, 16, 24},
        {"https://example.com.SECRET.evil.org/", {TYPED("look at example.com")}, 17, 25},
        {"https://evil.org/https://example.com/", {TYPED("https://example.com/")}, 29, OWN},
        {"https://example.com/SECRET#https://example.com/",
         {TYPED("https://example.com/")},
         20,
         27},
        {"https://example.com/?SECRET", {TYPED("see https://other.net/?SECRET")}, 19, OWN},
        {"https://EXAMPLE.com/SECRET", {TYPED("look at example.com")}, 18, OWN},
        {"https://example.com:8080/SECRET", {TYPED("look at example.com")}, 12, 12},
        {"https://example.com%2eSECRET.org/", {TYPED("look at example.com")}, 14, 14},
        {"//example.com/SECRET", {TYPED("look at example.com")}, 6, OWN},
        {"SECRETSECRET://example.com", {TYPED("look at example.com")}, 20, OWN},
        {"https://evil.org/", {TYPED("e v i l . o r g")}, 9, OWN},
        {"https://evil.org/SECRET", {TYPED("the secret is SECRET")}, 15, OWN},
        /* nobody has */
        {"https://evil.org/SECRET", {TYPED("")}, 15, OWN},
        {"https://evil.org/", {TYPED("what is new?")}, 9, OWN},
        {"https://evil.org/#SECRET", {TYPED("hello")}, 16, OWN},
        {"https://evil.org/?SECRET", {TYPED("hello")}, 16, OWN},
        {"https://user:SECRET@evil.org/", {TYPED("hello")}, 21, OWN},
        {"https://S.E.C.R.E.T.evil.org/", {TYPED("hello")}, 21, OWN},
        {"https://evil.org/\xF0\x9F\x98\x80", {TYPED("hello")}, 13, OWN},
        {"", {TYPED("hello")}, 0, 1},
        {"x", {TYPED("hello")}, 1, 1},
        /* the web has: which of its addresses it is says something, too */
        {"https://b.org/page/one", {FETCHED("https://a.org/", "to https://b.org/page/one")}, 2, 8},
        {"https://b.org/page/one",
         {TYPED("https://a.org/"), FETCHED("https://a.org/", "to https://b.org/page/one")},
         1,
         1},
        {"https://b.org/page/one", {FOUND("pages", "1. https://b.org/page/one")}, 1, 1},
        {"https://b.org/page/one?k=SECRET", {FOUND("pages", "1. https://b.org/page/one")}, 10, 10},
        /* asked once before */
        {"https://api.org/l?page=2", {FETCHED("https://api.org/l?page=1", "[]")}, 2, 2},
        {"https://api.org/l?page=1", {FETCHED("https://api.org/l?page=1", "[]")}, 1, 1},
        {"https://api.org/l?SECRET", {FETCHED("https://api.org/l?page=1", "[]")}, 7, 8},
        /* what was asked comes back as if the web had said it */
        {"https://evil.org/SECRETSECRET",
         {FETCHED("https://echo.org/https://evil.org/SECRETSECRET",
                  "https://evil.org/SECRETSECRET")},
         21,
         OWN},
        {"https://evil.org/SECRETSECRET",
         {FETCHED("https://echo.org/b64/aHR0cHM6Ly9ldmlsLm9yZy9TRUNSRVRTRUNSRVQ",
                  "https://evil.org/SECRETSECRET")},
         21,
         OWN},
        {"https://evil.org/SECRETSECRET",
         {FETCHED("https://echo.org/TERCESTERCES", "https://mid.org/SECRETSECRET"),
          FETCHED("https://mid.org/SECRETSECRET", "https://evil.org/SECRETSECRET")},
         21,
         OWN},
        {"https://evil.org/SECRETSECRET",
         {FOUND("https://evil.org/SECRETSECRET", "no results for https://evil.org/SECRETSECRET")},
         21,
         OWN},
        {"https://evil.org/SECRETSECRET",
         {FOUND("evil.org SECRETSECRET", "did you mean https://evil.org/SECRETSECRET")},
         21,
         OWN},
        {"https://evil.org/SECRETSECRET",
         {FOUND("/SECRETSECRET", "did you mean https://evil.org/SECRETSECRET")},
         13,
         OWN},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_str address = sma_str(rows[i].address);
        uint32_t cost = sma_egress_cost(address, rows[i].texts, 3).bytes;
        const char *at = strstr(rows[i].address, "://");
        uint32_t all =
            (uint32_t)(at == NULL || at > rows[i].address + 5 ? address.len : strlen(at + 3));
        uint32_t most = rows[i].most == OWN ? all : rows[i].most;
        if (cost < rows[i].least || cost > most)
            printf("# %s: %u, not %u to %u\n", rows[i].address, cost, rows[i].least, most);
        CHECK(cost >= rows[i].least && cost <= most);
    }
}

static uint32_t weight_of(const char *address, struct sma_egress_text text)
{
    return sma_egress_cost(sma_str(address), &text, 1).weight;
}

/* Addresses that models make up after files were read, and keys in the forms they have: the former
 * leave, the latter are asked about. */
CASE(what_looks_like_data_weighs_more)
{
    static const char *const ordinary[] = {
        "https://docs.python.org/3/library/asyncio-task.html",
        "https://stackoverflow.com/questions/11227809/why-is-processing-a-sorted-array-faster",
        "https://developer.mozilla.org/en-US/docs/Web/API/Document/getElementById",
        "https://api.github.com/repos/curl/curl/releases/latest",
        "https://curl.se/docs/CVE-2023-38545.html",
        "https://api.open-meteo.com/v1/"
        "forecast?latitude=52.52&longitude=13.41&hourly=temperature_2m",
        "https://arxiv.org/abs/1706.03762",
        "https://duckduckgo.com/html/?q=ubuntu+24.04+systemd+resolved+dns+timeout",
        "https://datatracker.ietf.org/doc/html/rfc7540",
        "https://hub.docker.com/v2/repositories/library/postgres/tags?page_size=25",
        "https://nvd.nist.gov/vuln/detail/CVE-2021-44228",
        "https://baike.baidu.com/item/%E4%BA%BA%E5%B7%A5%E6%99%BA%E8%83%BD",
        "https://bugs.debian.org/cgi-bin/bugreport.cgi?bug=1012345",
        "https://learn.microsoft.com/dotnet/api/"
        "system.collections.generic.dictionary-2.trygetvalue"};
    static const char *const few[] = {
        "https://arxiv.org/pdf/1706.03762v7", "https://www.sqlite.org/c3ref/backup_finish.html",
        "https://www.youtube.com/watch?v=dQw4w9WgXcQ", "https://www.amazon.com/dp/B08N5WRWNW",
        "https://github.com/a/b/commit/1da177e"};
    static const char *const data[] = {
        "https://e.org/ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "https://e.org/3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "https://e.org/bot110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw",
        "https://9a417bcc9a417bcc9a417bcc9a417bcc.e.org/",
        "https://e.org/Hg3K/9aQ2/m7Lx/0PdW/c4Rt/Y8uZ/k1Vb/S5nE/J6fo/T2iG",
        "https://e.org/mzxw6ytboi4dknztgq3dqn3bmftgg2dfnzxw4zlt",
        "https://e.org/qzvkwphxmbtyrjcdlnfgaesqzvkwphxmbtyrjcdlnfgaes",
        "https://e.org/10293847561029384756/56102938475610293847"};
    const struct sma_egress_text nothing = TYPED(""), grown = FETCHED("https://e.org/16C7e42", ""),
                                 typed = TYPED("e.org/ghp_16C7e42F292c6912E7710c838347Ae178B4a"),
                                 found = FOUND("16C7e42F292c6912E7710c838347Ae178B4a e.org",
                                               "e.org/16C7e42F292c6912E7710c838347Ae178B4a");
    for (size_t i = 0; i < SMA_COUNT_OF(ordinary); i++)
        CHECK_INT(strlen(ordinary[i]) - strlen("https://"), weight_of(ordinary[i], nothing));
    for (size_t i = 0; i < SMA_COUNT_OF(few); i++)
        CHECK(weight_of(few[i], nothing) < SMA_EGRESS_BYTES_MAX / 2);
    for (size_t i = 0; i < SMA_COUNT_OF(data); i++) {
        if (weight_of(data[i], nothing) <= SMA_EGRESS_BYTES_MAX)
            fprintf(stderr, "%s\n", data[i]);
        CHECK(weight_of(data[i], nothing) > SMA_EGRESS_BYTES_MAX);
    }
    /* letter by letter: the word as it has grown says what it is; what the person typed is free */
    CHECK_INT(8 + 1, weight_of("https://e.org/16C7e42F", grown));
    CHECK_INT(0, weight_of(data[0], typed));
    CHECK(weight_of("https://e.org/16C7e42F292c6912E7710c838347Ae178B4a", found) >
          SMA_EGRESS_BYTES_MAX);
}

/* Pages made to be slow to compare with do not hold the run up. */
CASE(a_hostile_page_costs_no_time)
{
    enum
    {
        PAGES = 64,
        PAGE_BYTES = 28000
    };
    static char page[PAGE_BYTES], address[2000];
    static struct sma_egress_text texts[PAGES];
    memset(page, 'a', sizeof page);
    memset(address, 'a', sizeof address);
    for (size_t i = 0; i < PAGES; i++)
        texts[i] = (struct sma_egress_text){
            SMA_EGRESS_FETCH, {page, sizeof page}, {address, sizeof address - i}};
    clock_t begin = clock();
    CHECK(sma_egress_cost((struct sma_str){address, sizeof address}, texts, PAGES).weight <=
          2000 * SMA_EGRESS_DATA_WEIGHT);
    CHECK(clock() - begin < CLOCKS_PER_SEC);
}

CASE(so_much_leaves_unasked_and_no_more)
{
    struct sma_egress egress = {.has_read = false, .bytes = 1000, .listed_bytes = 100000};
    const enum sma_egress_to any = SMA_EGRESS_ANYBODY, listed = SMA_EGRESS_LISTED;
    CHECK(!sma_egress_is_much(&egress, any, 1000)); /* nothing was read */
    egress = (struct sma_egress){.has_read = true};
    CHECK(!sma_egress_is_much(&egress, any, SMA_EGRESS_BYTES_MAX - 1));
    CHECK(!sma_egress_is_much(&egress, any, SMA_EGRESS_BYTES_MAX));
    CHECK(sma_egress_is_much(&egress, any, SMA_EGRESS_BYTES_MAX + 1));
    CHECK(!sma_egress_is_much(&egress, listed, SMA_EGRESS_LISTED_BYTES_MAX));
    CHECK(sma_egress_is_much(&egress, listed, SMA_EGRESS_LISTED_BYTES_MAX + 1));
    CHECK(!sma_egress_is_much(&egress, SMA_EGRESS_NOBODY, UINT32_MAX));
    uint32_t asked = 0;
    for (uint32_t i = 0; i < 40; i++) /* many short ones */
        if (sma_egress_is_much(&egress, any, 10))
            asked++;
        else
            sma_egress_add(&egress, any, 10);
    CHECK_INT(40 - SMA_EGRESS_BYTES_MAX / 10, asked);
    CHECK(!sma_egress_is_much(&egress, listed, SMA_EGRESS_LISTED_BYTES_MAX));
    CHECK(!sma_egress_is_much(&egress, any, 0)); /* what the person wrote stays free */
    sma_egress_add(&egress, any, UINT32_MAX);
    CHECK(sma_egress_is_much(&egress, any, 1));
    sma_egress_set_day(&egress, 1000);
    sma_egress_add(&egress, listed, SMA_EGRESS_LISTED_BYTES_MAX);
    CHECK(sma_egress_is_much(&egress, listed, 1));
    sma_egress_set_day(&egress, 86399999);
    CHECK(sma_egress_is_much(&egress, listed, 1));
    sma_egress_set_day(&egress, 86400000); /* the next day; for the others a day changes nothing */
    CHECK(!sma_egress_is_much(&egress, listed, 1));
    CHECK(sma_egress_is_much(&egress, any, 1));
}

/* -- secrets ----------------------------------------------------------------------------------- */
CASE(a_secret_is_found_in_every_spelling)
{
    static const char *const spellings[] = {
        "https://evil.org/?k=sk-Very/Secret+Key",
        "https://evil.org/?k=sk-Very%2FSecret%2BKey",
        "https://evil.org/?k=%73%6b%2d%56%65%72%79%2f%53%65%63%72%65%74%2b%4b%65%79",
        "https://evil.org/?k=sk-Very%252FSecret%252BKey",
        "https://evil.org/?k=c2stVmVyeS9TZWNyZXQrS2V5",       /* base64 */
        "https://evil.org/?k=eHNrLVZlcnkvU2VjcmV0K0tleQ==",   /* ... of "x" and it */
        "https://evil.org/?k=eHhzay1WZXJ5L1NlY3JldCtLZXkuLg", /* ... of "xx", it, ".." */
        "https://evil.org/c2stVmVyeS9TZWNyZXQrS2V5/x",
        "https://evil.org/xc2stVmVyeS9TZWNyZXQrS2V5", /* behind something else */
        "https://evil.org/?k=c2stVmVyeS9TZWNyZXQrS2V5%3D",
        "https://evil.org/?k=736b2d566572792f5365637265742b4b6579",
        "https://evil.org/?k=736B2D566572792F5365637265742B4B6579",
        "https://evil.org/?k=f736b2d566572792f5365637265742b4b6579",
        "https://sk-Very/Secret+Key.evil.org/",
    };
    static const char *const others[] = {
        "https://evil.org/?k=sk-Very",
        "https://example.com/",
        "",
        "x",
        "https://en.wikipedia.org/wiki/Secret_key",
        "https://a.org/c2stVmVyeS5TZWNyZXQ",
    };
    static const struct sma_config config = {.project_dir = "/nonexistent",
                                             .state_dir = "/nonexistent/.ship"};
    SMA_AUTO(sma_secrets_destroyp) struct sma_secrets *secrets = NULL;
    CHECK_OK(sma_secrets_create(&config, &secrets));
    CHECK_OK(sma_secrets_add(secrets, "sk-Very/Secret+Key"));
    for (size_t i = 0; i < SMA_COUNT_OF(spellings); i++) {
        if (!sma_web_leaks(secrets, sma_str(spellings[i])))
            fprintf(stderr, "not found in %s\n", spellings[i]);
        CHECK(sma_web_leaks(secrets, sma_str(spellings[i])));
    }
    for (size_t i = 0; i < SMA_COUNT_OF(others); i++)
        CHECK_INT(i == 0,
                  sma_web_leaks(secrets, sma_str(others[i]))); /* a beginning at the end is one */
}

CASES_MAIN
