/*
 * Aim: url.h, named.h, rules.h, leak.h: one reading of an address; who named a host; what the
 * owner's rules say; no secret goes out in an address.
 * Method: tables; every host is compared with what libcurl, which fetches, reads in the same text.
 */
#include "runtime/web/leak.h"
#include "runtime/web/named.h"
#include "runtime/web/rules.h"
#include "support/check.h"

#include <curl/curl.h>

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

static void an_address_has_one_spelling(void)
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

static void what_is_no_page_of_the_web_is_refused(void)
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

static void a_redirect_may_be_relative(void)
{
    static const char *const rows[][2] = {{"/x", "https://example.com/x"},
                                          {"y?z", "https://example.com/a/y?z"},
                                          {"//other.org/q", "https://other.org/q"},
                                          {"http://10.0.0.1/", "http://10.0.0.1/"}};
    struct sma_web_url from, to;
    struct sma_buf why;
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
    sma_buf_fini(&why);
}

/* -- who named it ------------------------------------------------------------------------------ */
static void a_host_is_named_by_the_person(void)
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

static void rules_decide_about_hosts(void)
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

static void wrong_rules_are_named(void)
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

/* -- secrets ----------------------------------------------------------------------------------- */
static void a_secret_is_found_in_every_spelling(void)
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
    struct sma_secrets *secrets = NULL;
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
    sma_secrets_destroy(secrets);
}

int main(void)
{
    RUN(an_address_has_one_spelling);
    RUN(what_is_no_page_of_the_web_is_refused);
    RUN(a_redirect_may_be_relative);
    RUN(a_host_is_named_by_the_person);
    RUN(rules_decide_about_hosts);
    RUN(wrong_rules_are_named);
    RUN(a_secret_is_found_in_every_spelling);
    return check_summary();
}
