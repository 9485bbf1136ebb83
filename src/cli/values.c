/*
 * values.c — `shipmyagent values KIND [FOLDER]`: the ids that a shell completes, one a line, from
 * the running service. It is asked between two key strokes: it is quick, and says nothing when
 * there is nothing to say.
 */
#include "api.h"
#include "cli.h"
#include "commands.h"
#include "runtime/json/json_read.h"

#include <jansson.h>
#include <stdio.h>

#define VALUE_WAIT_MS 1000
#define SHOWN_ID_LEN 12

static const struct
{
    const char *kind, *path, *list, *member;
    const char *people; /* a second list of the answer: people by their platform and userId */
} ROWS[] = {
    {"approval", "/api/approvals", "approvals", "id", NULL},
    {"grant", "/api/grants", "grants", "id", NULL},
    {"pairing", "/api/pairings", "pairings", "code", "people"},
    {"run", "/api/runs", "runs", "runId", NULL},
    {"chat", "/api/chats", "chats", "chatKey", NULL},
};

static void print_id(const json_t *value)
{
    struct sma_str text = sma_json_str_of(value);
    if (text.len > SHOWN_ID_LEN && memchr(text.ptr, ':', text.len) == NULL)
        text.len = SHOWN_ID_LEN; /* of an approval: as the list shows it */
    if (json_is_integer(value))
        printf("%lld\n", (long long)json_integer_value(value));
    else if (text.len > 0) {
        sma_cli_print_clean(text);
        putchar('\n');
    }
}

static void print_answer(size_t row, const json_t *root)
{
    const json_t *list = json_object_get(root, ROWS[row].list);
    for (size_t i = 0; i < json_array_size(list); i++)
        print_id(json_object_get(json_array_get(list, i), ROWS[row].member));
    list = ROWS[row].people == NULL ? NULL : json_object_get(root, ROWS[row].people);
    for (size_t i = 0; i < json_array_size(list); i++) {
        sma_cli_print_clean(sma_json_str(json_array_get(list, i), "channel"));
        putchar(':');
        sma_cli_print_clean(sma_json_str(json_array_get(list, i), "userId"));
        putchar('\n');
    }
}

static int ask(size_t row, const char *folder)
{
    struct sma_cli_api api;
    struct sma_buf answer;
    long http = 0;
    if (sma_cli_api_open("values", folder, &api) != 0)
        return 1;
    api.wait_ms = VALUE_WAIT_MS;
    sma_buf_init(&answer, SMA_CLI_ANSWER_BYTES_MAX);
    int status = sma_cli_api_call(&api, "values", ROWS[row].path, NULL, &answer, &http);
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    if (status == 0 && http == 200 && answer.len > 0)
        root = json_loadb(answer.ptr, answer.len, JSON_ALLOW_NUL, NULL);
    print_answer(row, root);
    sma_buf_fini(&answer);
    return root == NULL;
}

int sma_cli_values(int argc, char **argv)
{
    if (argc < 2 || freopen("/dev/null", "w", stderr) == NULL)
        return 1;
    for (size_t i = 0; i < SMA_COUNT_OF(ROWS); i++)
        if (strcmp(argv[1], ROWS[i].kind) == 0)
            return ask(i, argc > 2 ? argv[2] : ".");
    return 1;
}

const struct sma_cli_command sma_cli_command_values = {.name = "values", .run = sma_cli_values};
