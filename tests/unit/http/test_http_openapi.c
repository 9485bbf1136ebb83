/*
 * test_http_openapi.c — docs/openapi.json is what the program serves: the same paths and methods as
 * the table of routes, the same bytes at /openapi.json, and no schema that lets everything through.
 * That answers fit it is checked by the harness, for each request of all tests of this folder.
 */
#include "harness.h"

#include "adapters/http/http_priv.h"
#include "support/openapi.h"

#include <stdio.h>
#include <stdlib.h>

static struct harness *harness;

/* "/api/runs/:id/events" -> "/api/runs/{id}/events" */
static void template_of(const char *pattern, char path[200])
{
    size_t at = 0;
    while (*pattern != '\0') {
        bool is_name = *pattern == ':' || *pattern == '*';
        size_t len = is_name ? strcspn(++pattern, "/") : strcspn(pattern, ":*");
        at += (size_t)snprintf(path + at, 200 - at, is_name ? "{%.*s}" : "%.*s", (int)len, pattern);
        pattern += len;
    }
}

static const char *word_of(enum sma_http_method method)
{
    return method == SMA_HTTP_GET ? "get" : method == SMA_HTTP_POST ? "post" : "delete";
}

static const json_t *operation_of(const struct http_route_row *row)
{
    char path[200];
    template_of(row->pattern, path);
    const json_t *paths = json_object_get(openapi_document(), "paths");
    return json_object_get(json_object_get(paths, path), word_of(row->method));
}

CASE(every_route_is_described_and_nothing_else)
{
    size_t count, described = 0;
    const struct http_route_row *rows = http_route_rows(&count);
    for (size_t i = 0; i < count; i++) {
        const json_t *operation = operation_of(&rows[i]);
        if (operation == NULL)
            fprintf(stderr, "%s %s is not in docs/openapi.json\n", word_of(rows[i].method),
                    rows[i].pattern);
        CHECK(operation != NULL);
        /* What needs no token says so, and nothing else does. */
        const json_t *security = json_object_get(operation, "security");
        bool is_open = security != NULL && json_array_size(security) == 0;
        CHECK(is_open == ((rows[i].traits & HTTP_ROUTE_IS_OPEN) != 0));
        bool takes_ticket = json_array_size(security) == 3;
        CHECK(takes_ticket == ((rows[i].traits & HTTP_ROUTE_TAKES_TICKET) != 0));
        CHECK((json_object_get(operation, "requestBody") != NULL) ==
              (rows[i].method != SMA_HTTP_GET));
    }
    const char *path;
    json_t *methods;
    json_object_foreach(json_object_get(openapi_document(), "paths"), path, methods) described +=
        json_object_size(methods);
    CHECK_INT(count, described);
}

/* A name in a path is a parameter, and ids of operations are each one's own. */
CASE(paths_and_ids_are_in_order)
{
    size_t count;
    const struct http_route_row *rows = http_route_rows(&count);
    for (size_t i = 0; i < count; i++) {
        const json_t *operation = operation_of(&rows[i]), *one;
        const char *id = json_string_value(json_object_get(operation, "operationId"));
        size_t names = 0, k;
        CHECK(id != NULL);
        for (size_t j = 0; j < i; j++)
            CHECK(strcmp(id, json_string_value(
                                 json_object_get(operation_of(&rows[j]), "operationId"))) != 0);
        json_array_foreach(json_object_get(operation, "parameters"), k, one)
        {
            const char *in = json_string_value(json_object_get(one, "in"));
            names += strcmp(in, "path") == 0;
        }
        CHECK_INT(strpbrk(rows[i].pattern, ":*") != NULL, names);
    }
}

CASE(the_program_serves_this_document)
{
    struct reply reply = request_once(harness, "GET /openapi.json", "", NULL);
    CHECK_INT(200, reply.status);
    json_t *served = json_loads(reply.body, 0, NULL);
    CHECK(served != NULL && json_equal(served, openapi_document()));
    CHECK_TEXT("3.1.0", json_string_value(json_object_get(served, "openapi")));
    json_decref(served);
    reply_free(&reply);
}

/* The reader of schemas refuses what does not fit. */
CASE(what_does_not_fit_is_seen)
{
    static const struct
    {
        const char *request, *type, *body;
        int status;
    } wrong[] = {
        {"GET /api/runs", "application/json", "{\"runs\":[{}]}", 200},
        {"GET /api/runs", "application/json", "[]", 200},
        {"GET /api/runs", "application/json", "{", 200},
        {"GET /api/runs", "text/plain", "x", 200},
        {"GET /api/runs", "application/json", "{\"runs\":[]}", 201},
        {"GET /api/chats", "application/json", "{\"chats\":[],\"more\":1}", 200},
        {"GET /api/runs/17?wait=1", "application/json",
         "{\"status\":\"lost\",\"runId\":\"17\",\"messageId\":\"1\"}", 200},
        {"GET /api/runs/17", "application/json",
         "{\"status\":\"done\",\"runId\":17,\"messageId\":\"1\"}", 200},
        {"GET /api/runs/17", "application/json", "{\"message\":\"x\"}", 404},
        {"GET /api/runs/17", "application/json", "{\"success\":true,\"message\":\"x\"}", 404},
        {"GET /api/nothing", "application/json", "{}", 200},
        {"PUT /api/runs", "application/json", "{}", 200},
        {"GET /api/runs/17/events", "application/json", "{}", 204},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++) {
        char why[200] = "";
        bool is_described =
            openapi_describes(wrong[i].request, wrong[i].status, wrong[i].type, wrong[i].body, why);
        if (is_described)
            fprintf(stderr, "case %zu\n", i);
        CHECK(!is_described && why[0] != '\0');
    }
    char why[200] = "";
    CHECK(openapi_describes("GET /api/runs/17", 200, "application/json; charset=utf-8",
                            "{\"status\":\"done\",\"runId\":\"17\",\"messageId\":\"1\"}", why));
}

int main(void)
{
    harness = harness_start(&(struct harness_options){0});
    check_run_cases(NULL);
    harness_stop(harness);
    return 0;
}
