/*
 * Aim: the ways to a token end with one, with everything that guards them; whatever a hostile
 * server says about itself, nothing is asked of, and nothing given to, somebody else.
 * Method: the machine without I/O, and an authorization server without sockets that checks all.
 */
#include "runtime/mcp/oauth_file.h"
#include "support/check.h"
#include "support/oauth_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASE "https://mcp.example"
#define RETURN "http://127.0.0.1:7777/callback"

static struct oauth_server fake;
static struct sma_oauth *oauth;
static unsigned asked;

static struct sma_oauth_options options_of(enum sma_oauth_grant grant)
{
    struct sma_oauth_options options = {
        .grant = grant, .server_url = BASE "/guarded", .redirect_uri = RETURN};
    for (size_t i = 0; i < sizeof options.random; i++)
        options.random[i] = (uint8_t)(i * 7 + 1);
    return options;
}

static void begin(const struct sma_oauth_options *options)
{
    oauth_server_init(&fake, BASE);
    oauth = sma_oauth_create(options);
    CHECK(oauth != NULL);
    asked = 0;
}

/* Until it wants a person, or is over. */
static void run(void)
{
    while (sma_oauth_step(oauth) == SMA_OAUTH_ASK) {
        const struct sma_oauth_ask *ask = sma_oauth_ask(oauth);
        char head[8192] = "", more[1024] = "";
        for (size_t i = 0; i < ask->header_count; i++) {
            strcat(head, ask->headers[i]);
            strcat(head, "\r\n");
        }
        CHECK(strncmp(ask->url, BASE "/", sizeof BASE) == 0); /* nobody else is asked */
        CHECK(++asked < 40);
        char *body = strndup(ask->body.len == 0 ? "" : ask->body.ptr, ask->body.len);
        int status = 0;
        char *said = oauth_server_hook(&fake, ask->method, ask->url + sizeof BASE - 1, head, body,
                                       &status, more);
        sma_oauth_answer(oauth, status, sma_str(said == NULL ? "" : said), 1000000);
        free(said);
        free(body);
    }
}

/* A browser in which somebody agrees. @return the query it comes back with */
static char *browse(void)
{
    char more[1024] = "";
    int status = 0;
    const char *url = sma_oauth_url(oauth);
    char *said = oauth_server_hook(&fake, "GET", url + sizeof BASE - 1, "", "", &status, more);
    free(said);
    CHECK_INT(302, status);
    CHECK(strncmp(more, "Location: " RETURN "?", strlen("Location: " RETURN "?")) == 0);
    more[strcspn(more, "\r")] = '\0';
    return strdup(strchr(more, '?') + 1);
}

static void end(void)
{
    sma_oauth_destroy(oauth);
    oauth = NULL;
}

static void check_failed(const char *part)
{
    CHECK_INT(SMA_OAUTH_FAILED, sma_oauth_step(oauth));
    if (strstr(sma_oauth_why(oauth), part) == NULL)
        fprintf(stderr, "%s\n", sma_oauth_why(oauth));
    CHECK(strstr(sma_oauth_why(oauth), part) != NULL);
    end();
}

static void come_back(void)
{
    char *query = browse();
    sma_oauth_came(oauth, sma_str(query));
    free(query);
}

/* -- good -------------------------------------------------------------------------------------- */
static void a_code_becomes_a_token(const char *methods)
{
    struct sma_oauth_options options = options_of(SMA_OAUTH_CODE);
    SMA_AUTO(sma_oauth_token_fini) struct sma_oauth_token token;
    begin(&options);
    fake.methods = methods;
    run();
    CHECK_INT(SMA_OAUTH_PERSON, sma_oauth_step(oauth));
    come_back();
    run();
    CHECK_INT(SMA_OAUTH_DONE, sma_oauth_step(oauth));
    sma_oauth_take_token(oauth, &token);
    CHECK_TEXT("access-canary-1", token.access_token);
    CHECK_TEXT("refresh-canary-1", token.refresh_token);
    CHECK_TEXT(BASE "/guarded", token.resource);
    CHECK_TEXT(BASE "/as", token.issuer);
    CHECK_INT(1000000 + 3600 * 1000, token.expires_ms);
    CHECK_INT(0, fake.breaches);
    end();
    options = options_of(SMA_OAUTH_REFRESH); /* and that, later, another one */
    options.known = &token;
    oauth = sma_oauth_create(&options);
    run();
    CHECK_INT(SMA_OAUTH_DONE, sma_oauth_step(oauth));
    CHECK_INT(0, fake.breaches);
    end();
    oauth = sma_oauth_create(&options); /* the refresh token was good once */
    run();
    check_failed("invalid_grant");
}

static void a_device_is_waited_for(void)
{
    struct sma_oauth_options options = options_of(SMA_OAUTH_DEVICE);
    begin(&options);
    fake.pending = 3;
    run();
    CHECK_TEXT("ABCD-EFGH", sma_oauth_user_code(oauth));
    CHECK_TEXT(BASE "/as/go", sma_oauth_url(oauth));
    CHECK_INT(SMA_OAUTH_DONE, sma_oauth_step(oauth));
    CHECK_INT(0, fake.breaches);
    end();
}

static void credentials_are_enough(void)
{
    struct sma_oauth_options options = options_of(SMA_OAUTH_CREDENTIALS);
    begin(&options);
    run();
    check_failed("oauth.clientId");
    options.client_id = "client-1";
    options.client_secret = "client-secret-canary";
    begin(&options);
    snprintf(fake.client_method, sizeof fake.client_method, "client_secret_basic");
    run();
    CHECK_INT(SMA_OAUTH_DONE, sma_oauth_step(oauth));
    CHECK_INT(0, fake.clients);
    CHECK_INT(0, fake.breaches);
    end();
}

/* -- hostile ----------------------------------------------------------------------------------- */
static void lies_of_servers_are_refused(void)
{
    static const struct
    {
        size_t place;
        const char *part;
    } lies[] = {
        {offsetof(struct oauth_server, is_of_another), "of another server"},
        {offsetof(struct oauth_server, has_no_s256), "S256"},
        {offsetof(struct oauth_server, names_another_issuer), "names another issuer"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(lies); i++) {
        struct sma_oauth_options options = options_of(SMA_OAUTH_CODE);
        begin(&options);
        *((bool *)&fake + lies[i].place) = true;
        run();
        check_failed(lies[i].part);
        CHECK_INT(0, fake.clients);
    }
}

static void a_browser_that_was_sent_by_somebody_else_is_refused(void)
{
    static const char *const queries[] = {
        "", "code=x", "code=x&state=wrong", "state=", "code=x&state=%00",
    };
    struct sma_oauth_options options = options_of(SMA_OAUTH_CODE);
    for (size_t i = 0; i < SMA_COUNT_OF(queries); i++) {
        begin(&options);
        run();
        sma_oauth_came(oauth, sma_str(queries[i]));
        check_failed("another state");
        CHECK_INT(0, fake.tokens);
    }
    begin(&options);
    fake.comes_back_as_another = true;
    run();
    come_back();
    check_failed("(iss)");
    CHECK_INT(0, fake.tokens);
}

static void other_hosts_are_asked_over_tls_alone(void)
{
    static const char *const urls[] = {
        "http://169.254.169.254/latest", "http://127.0.0.1:1/x", "file:///etc/passwd",
        "http://other.example/",         "ftp://mcp.example/",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(urls); i++) {
        struct sma_mcp_challenge challenge = {.scope = ""};
        struct sma_oauth_options options = options_of(SMA_OAUTH_CODE);
        snprintf(challenge.resource_metadata, sizeof challenge.resource_metadata, "%s", urls[i]);
        options.challenge = &challenge;
        begin(&options);
        CHECK_INT(SMA_OAUTH_FAILED, sma_oauth_step(oauth));
        end();
    }
}

static void garbage_is_refused(void)
{
    static const char *const bodies[] = {"",
                                         "[]",
                                         "{",
                                         "null",
                                         "{\"resource\":1}",
                                         "{\"resource\":\"x\",\"authorization_servers\":{}}"};
    for (size_t i = 0; i < SMA_COUNT_OF(bodies); i++) {
        struct sma_oauth_options options = options_of(SMA_OAUTH_CODE);
        begin(&options);
        for (int round = 0; sma_oauth_step(oauth) == SMA_OAUTH_ASK; round++) {
            CHECK(round < SMA_OAUTH_ASK_COUNT_MAX + 2);
            sma_oauth_answer(oauth, 200, sma_str(bodies[i]), 0);
        }
        CHECK_INT(SMA_OAUTH_FAILED, sma_oauth_step(oauth));
        end();
    }
}

/* -- headers and files ------------------------------------------------------------------------- */
static void challenges_are_read(void)
{
    static const struct
    {
        const char *header, *metadata, *scope, *error;
        bool is_bearer;
    } cases[] = {
        {"Bearer resource_metadata=\"https://a/b\", scope=\"x y\"", "https://a/b", "x y", "", true},
        {"bearer error=invalid_token", "", "", "invalid_token", true},
        {"Basic realm=\"a\", Bearer scope=\"s\"", "", "s", "", true},
        {"Bearer scope=\"s\", Basic scope=\"t\"", "", "s", "", true},
        {"Basic realm=\"Bearer scope=x\"", "", "", "", false},
        {"Bearer scope=\"a\\\"b\"", "", "a\"b", "", true},
        {"Bearer", "", "", "", true},
        {"Bearer =,\"=,", "", "", "", false},
        {"", "", "", "", false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        struct sma_mcp_challenge found;
        CHECK_INT(cases[i].is_bearer, sma_mcp_challenge_parse(sma_str(cases[i].header), &found));
        CHECK_TEXT(cases[i].metadata, found.resource_metadata);
        CHECK_TEXT(cases[i].scope, found.scope);
        CHECK_TEXT(cases[i].error, found.error);
    }
}

static void a_login_is_kept_for_us_alone(void)
{
    char dir[] = "/tmp/sma-oauth-XXXXXX", path[128];
    struct sma_error error = {.code = SMA_ERR_OK};
    struct sma_oauth_token token = {.server_url = (char *)(uintptr_t)BASE,
                                    .access_token = (char *)(uintptr_t) "a",
                                    .expires_ms = 7},
                           read;
    struct stat facts;
    CHECK(mkdtemp(dir) != NULL);
    CHECK_OK(sma_oauth_file_write(dir, "s", &token, &error));
    snprintf(path, sizeof path, "%s/.ship/mcp/tokens/s.json", dir);
    CHECK(stat(path, &facts) == 0 && (facts.st_mode & 0777) == 0600);
    CHECK_OK(sma_oauth_file_read(dir, "s", BASE, &read, &error));
    CHECK_TEXT("a", read.access_token);
    CHECK_INT(7, read.expires_ms);
    sma_oauth_token_fini(&read);
    CHECK_ERR(SMA_ERR_NOTFOUND,
              sma_oauth_file_read(dir, "s", "https://other.example", &read, &error));
    token.access_token = (char *)(uintptr_t) "a\r\nX: y"; /* somebody wrote it into the file */
    CHECK_OK(sma_oauth_file_write(dir, "s", &token, &error));
    CHECK_ERR(SMA_ERR_BADINPUT, sma_oauth_file_read(dir, "s", BASE, &read, &error));
    CHECK_OK(sma_oauth_file_remove(dir, "s", &error));
    CHECK_ERR(SMA_ERR_NOTFOUND, sma_oauth_file_remove(dir, "s", &error));
    snprintf(path, sizeof path, "rm -r '%s'", dir);
    CHECK(system(path) == 0);
}

int main(void)
{
    a_code_becomes_a_token("");
    a_code_becomes_a_token("[\"none\"]");
    a_code_becomes_a_token("[\"client_secret_basic\"]");
    a_code_becomes_a_token("[\"client_secret_post\"]");
    a_device_is_waited_for();
    credentials_are_enough();
    lies_of_servers_are_refused();
    a_browser_that_was_sent_by_somebody_else_is_refused();
    other_hosts_are_asked_over_tls_alone();
    garbage_is_refused();
    challenges_are_read();
    a_login_is_kept_for_us_alone();
    return 0;
}
