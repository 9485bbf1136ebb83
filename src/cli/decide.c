/*
 * decide.c — `shipmyagent approvals`, `grants` and `pair`: what waits for a decision, and the
 * decision, by the running service's own HTTP API.
 */
#include "cli.h"

#include "api.h"
#include "commands.h"
#include "runtime/json/json_read.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define SHOWN_ID_LEN 12
#define WHOLE_BYTES_MAX 8000 /* of one text of an item */
#define ID_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

/* What the words of the command line say. */
struct order
{
    const char *command;
    const char *verb; /* "list", "approve", "reject", "revoke" */
    const char *id, *folder;
    const char *response, *items, *duration, *role;
    bool is_always, is_json;
};
struct command
{
    const char *name;
    const char *path;  /* below /api/ */
    const char *verbs; /* besides list; each with a blank behind it */
    const char *what;  /* is missing when there is no id */
    void (*print)(const json_t *root);
    const struct sma_cli_command *row;
};

/* -- words ------------------------------------------------------------------------------------- */
static int take_options(const struct command *command, struct order *order, int argc, char **argv)
{
    int option;
    while ((option = sma_cli_option(command->row, argc, argv)) != -1) {
        if (option == 'j')
            order->is_json = true;
        else if (option == 'a')
            order->is_always = true;
        else if (option == 'f')
            order->duration = optarg;
        else if (option == 'i')
            order->items = optarg;
        else if (option == 'r')
            order->response = optarg;
        else if (option == 'o')
            order->role = optarg;
        else
            return 1;
    }
    return 0;
}

static bool is_verb(const struct command *command, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = command->verbs; *at != '\0'; at = strchr(at, ' ') + 1)
        if (strncmp(at, word, len) == 0 && at[len] == ' ')
            return true;
    return false;
}

static int take_words(const struct command *command, struct order *order, int argc, char **argv)
{
    int at = optind;
    order->verb = "list";
    if (at < argc && is_verb(command, argv[at])) {
        order->verb = argv[at++];
        if (at == argc)
            return sma_cli_fail("%s %s: %s is missing; `shipmyagent %s` lists them", command->name,
                                order->verb, command->what, command->name);
        order->id = argv[at++];
    } else if (at < argc && strcmp(argv[at], "list") == 0) {
        at++;
    }
    order->folder = at < argc ? argv[at++] : ".";
    if (at < argc)
        return sma_cli_fail("%s: %s is not expected here; see `shipmyagent help %s`", command->name,
                            argv[at], command->name);
    return 0;
}

/* An option that would change nothing was meant to change something. */
static int check_options(const struct order *order)
{
    bool is_approval = strcmp(order->command, "approvals") == 0 && order->id != NULL;
    bool is_pairing = strcmp(order->command, "pair") == 0 && order->id != NULL;
    bool is_approve = strcmp(order->verb, "approve") == 0;
    if ((order->items != NULL || order->response != NULL) && !is_approval)
        return sma_cli_fail("%s: --items and --response go with `approvals approve` and "
                            "`approvals reject`",
                            order->command);
    if ((order->is_always || order->duration != NULL) && !(is_approval && is_approve))
        return sma_cli_fail("%s: --always and --for go with `approvals approve`", order->command);
    if (order->is_always && order->duration != NULL)
        return sma_cli_fail("%s: --always or --for, not both", order->command);
    if (order->role != NULL && !(is_pairing && is_approve))
        return sma_cli_fail("%s: --role goes with `pair approve`", order->command);
    if (order->id != NULL &&
        (order->id[0] == '\0' || strlen(order->id) > 96 ||
         order->id[strspn(order->id, is_pairing ? ID_CHARACTERS ":_@" : ID_CHARACTERS)] != '\0'))
        return sma_cli_fail("%s: \"%s\" is not %s; `shipmyagent %s` lists them", order->command,
                            order->id, is_pairing ? "a code, person or group" : "an id",
                            order->command);
    return 0;
}

/* -- the body ---------------------------------------------------------------------------------- */
/* "1,3": false when it is no list of numbers. */
static bool put_items(struct sma_buf *body, const char *items)
{
    sma_buf_put_json_key(body, "items");
    sma_buf_put_char(body, '[');
    for (const char *at = items;; at++) {
        int64_t number = 0;
        size_t len = strcspn(at, ",");
        if (sma_parse_i64(sma_str_trim((struct sma_str){at, len}), 1, SMA_TOOL_CALL_COUNT_MAX,
                          &number) != SMA_ERR_OK)
            return false;
        sma_buf_put_text(body, at == items ? "" : ",");
        sma_buf_put_i64(body, number);
        at += len;
        if (*at == '\0')
            break;
    }
    sma_buf_put_char(body, ']');
    return true;
}

static int put_body(struct sma_buf *body, const struct order *order)
{
    sma_buf_put_char(body, '{');
    if (order->items != NULL && !put_items(body, order->items))
        return sma_cli_fail("%s: --items takes numbers from 1 to %d, for example 1,3, not %s",
                            order->command, SMA_TOOL_CALL_COUNT_MAX, order->items);
    if (order->response != NULL) {
        sma_buf_put_json_key(body, "response");
        sma_buf_put_json_string(body, sma_str(order->response));
    }
    if (order->is_always || order->duration != NULL) {
        sma_buf_put_json_key(body, "grant");
        sma_buf_put_json_string(body, sma_str(order->is_always ? "always" : order->duration));
    }
    if (order->role != NULL) {
        sma_buf_put_json_key(body, "role");
        sma_buf_put_json_string(body, sma_str(order->role));
    }
    sma_buf_put_char(body, '}');
    return body->err == SMA_ERR_OK ? 0 : sma_cli_fail("%s: out of memory", order->command);
}

/* -- lists ------------------------------------------------------------------------------------- */
static struct sma_str text_of(const json_t *object, const char *key)
{
    return sma_json_str(object, key);
}

static void print_field(const char *name, struct sma_str text)
{
    if (text.len == 0)
        return;
    printf("     %s ", name);
    sma_cli_print_clean(text);
    putchar('\n');
}

/* Line for line, because a title is one line and short: what it leaves out may be what matters. */
static void print_whole(const json_t *item)
{
    const json_t *details = json_object_get(item, "details");
    static const char *const members[] = {"command", "receiver", "text", "content"};
    for (size_t i = 0; i < SMA_COUNT_OF(members); i++) {
        struct sma_str text = text_of(details, members[i]);
        if (text.len == 0 || sma_str_is_equal(text, text_of(item, "title")))
            continue;
        struct sma_str rest = text;
        rest.len = sma_utf8_cut(rest, WHOLE_BYTES_MAX);
        size_t left = text.len - rest.len;
        while (rest.len > 0) {
            const char *newline = memchr(rest.ptr, '\n', rest.len);
            size_t len = newline == NULL ? rest.len : (size_t)(newline - rest.ptr);
            printf("     | ");
            sma_cli_print_clean((struct sma_str){rest.ptr, len});
            putchar('\n');
            len += newline != NULL;
            rest = (struct sma_str){rest.ptr + len, rest.len - len};
        }
        if (left > 0)
            printf("     [cut: %zu more bytes; --json shows them]\n", left);
    }
}

static void print_item(const json_t *item)
{
    printf("  %2lld %-12s ", (long long)json_integer_value(json_object_get(item, "item")),
           json_string_value(json_object_get(item, "tool")) == NULL
               ? ""
               : json_string_value(json_object_get(item, "tool")));
    sma_cli_print_clean(text_of(item, "title"));
    struct sma_str status = text_of(item, "status");
    if (status.len > 0 && !sma_str_is_equal(status, SMA_STR("pending"))) {
        printf("  (");
        sma_cli_print_clean(status);
        putchar(')');
    }
    putchar('\n');
    print_whole(item);
    print_field("rule:", text_of(item, "rule"));
    print_field("why:", text_of(item, "reason"));
}

static void print_approvals(const json_t *root)
{
    const json_t *approvals = json_object_get(root, "approvals");
    if (json_array_size(approvals) == 0)
        puts("nothing waits for a decision");
    for (size_t i = 0; i < json_array_size(approvals); i++) {
        const json_t *approval = json_array_get(approvals, i);
        struct sma_str id = text_of(approval, "id");
        id.len = id.len > SHOWN_ID_LEN ? SHOWN_ID_LEN : id.len;
        sma_cli_print_clean(id);
        printf("  ");
        sma_cli_print_clean(text_of(approval, "chatKey"));
        printf("  since ");
        sma_cli_print_clean(text_of(approval, "createdAt"));
        putchar('\n');
        const json_t *items = json_object_get(approval, "items");
        for (size_t k = 0; k < json_array_size(items); k++)
            print_item(json_array_get(items, k));
    }
}

static void print_grants(const json_t *root)
{
    const json_t *grants = json_object_get(root, "grants");
    if (json_array_size(grants) == 0)
        puts("nothing is granted");
    for (size_t i = 0; i < json_array_size(grants); i++) {
        const json_t *grant = json_array_get(grants, i);
        struct sma_str until = text_of(grant, "until");
        sma_cli_print_clean(text_of(grant, "id"));
        putchar('\n');
        print_field("tool:", text_of(grant, "tool"));
        print_field("rule:", text_of(grant, "rule"));
        print_field("chat:", text_of(grant, "chatKey"));
        print_field("until:", until.len > 0 ? until : SMA_STR("it is revoked"));
        print_field("by:", text_of(grant, "by"));
    }
}

static void print_time(const json_t *value)
{
    struct sma_buf text;
    sma_buf_init(&text, 64);
    if (json_is_integer(value))
        sma_buf_put_iso_time(&text, json_integer_value(value));
    sma_cli_print_clean(json_is_integer(value) ? sma_buf_str(&text) : sma_json_str_of(value));
    sma_buf_fini(&text);
}

static void print_groups(const json_t *groups)
{
    if (json_array_size(groups) > 0)
        puts("groups");
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i);
        bool is_rejected = sma_str_is_equal(text_of(group, "via"), SMA_STR("rejected"));
        printf("  %s  ", is_rejected ? "refused" : "let in");
        sma_cli_print_clean(text_of(group, "channel"));
        printf(":chat:");
        sma_cli_print_clean(text_of(group, "chatId"));
        printf("  (");
        sma_cli_print_clean(text_of(group, "via"));
        puts(")");
    }
}

static void print_people(const json_t *root)
{
    const json_t *pairings = json_object_get(root, "pairings");
    const json_t *people = json_object_get(root, "people");
    if (json_array_size(pairings) == 0)
        puts("nobody waits to be let in");
    for (size_t i = 0; i < json_array_size(pairings); i++) {
        const json_t *pairing = json_array_get(pairings, i);
        sma_cli_print_clean(text_of(pairing, "code"));
        printf("  ");
        sma_cli_print_clean(text_of(pairing, "channel"));
        putchar(':');
        sma_cli_print_clean(text_of(pairing, "userId"));
        printf("  ");
        sma_cli_print_clean(text_of(pairing, "userName"));
        if (text_of(pairing, "group").len > 0) {
            printf("  for the group ");
            sma_cli_print_clean(text_of(pairing, "group"));
        }
        printf("  since ");
        print_time(json_object_get(pairing, "created"));
        putchar('\n');
    }
    if (json_array_size(people) > 0)
        puts("people");
    for (size_t i = 0; i < json_array_size(people); i++) {
        const json_t *person = json_array_get(people, i);
        printf("  ");
        sma_cli_print_clean(text_of(person, "role"));
        printf("  ");
        sma_cli_print_clean(text_of(person, "channel"));
        putchar(':');
        sma_cli_print_clean(text_of(person, "userId"));
        printf("  ");
        sma_cli_print_clean(text_of(person, "userName"));
        printf("%s(", text_of(person, "userName").len > 0 ? " " : "");
        sma_cli_print_clean(text_of(person, "via"));
        puts(")");
    }
    print_groups(json_object_get(root, "groups"));
}

/* -- asking ------------------------------------------------------------------------------------ */
static int fail_answer(const struct order *order, const json_t *root, long status)
{
    struct sma_str message = text_of(root, "message");
    if (message.len == 0)
        return sma_cli_fail("%s: the service answered HTTP %ld", order->command, status);
    return sma_cli_fail("%s: %.*s", order->command, (int)(message.len < 1500 ? message.len : 1500),
                        message.ptr);
}

static int show_answer(const struct command *command, const struct order *order,
                       const struct sma_buf *answer, long status)
{
    SMA_AUTO(sma_json_freep) json_t *root = NULL;
    json_error_t problem;
    if (answer->len > 0)
        root = json_loadb(answer->ptr, answer->len, JSON_ALLOW_NUL, &problem);
    if (status != 200 || !json_is_object(root))
        return fail_answer(order, root, status);
    if (order->is_json)
        return fwrite(answer->ptr, 1, answer->len, stdout) != answer->len || puts("") < 0;
    if (order->id == NULL) {
        command->print(root);
        return 0;
    }
    struct sma_str message = text_of(root, "message");
    sma_cli_print_clean(message.len > 0 ? message : SMA_STR("done"));
    putchar('\n');
    return 0;
}

static int ask(const struct command *command, const struct order *order, const char *body)
{
    struct sma_cli_api api;
    char path[256];
    int status = sma_cli_api_open(order->command, order->folder, &api);
    if (status == SMA_CLI_NOT_RUNNING) {
        (void)sma_cli_fail("%s: no service runs for %s; start it with `shipmyagent start %s`",
                           order->command, order->folder, order->folder);
        return status;
    }
    if (status != 0)
        return status;
    if (order->id == NULL)
        snprintf(path, sizeof path, "/api/%s", command->path);
    else
        snprintf(path, sizeof path, "/api/%s/%s/%s", command->path, order->id, order->verb);
    struct sma_buf answer;
    long http = 0;
    sma_buf_init(&answer, SMA_CLI_ANSWER_BYTES_MAX);
    status = sma_cli_api_call(&api, order->command, path, order->id == NULL ? NULL : body, &answer,
                              &http);
    if (status == 0)
        status = show_answer(command, order, &answer, http);
    sma_buf_fini(&answer);
    return status;
}

static int run(const struct command *command, int argc, char **argv)
{
    struct order order = {.command = command->name};
    struct sma_buf body;
    int status = take_options(command, &order, argc, argv);
    if (status == 0)
        status = take_words(command, &order, argc, argv);
    if (status == 0)
        status = check_options(&order);
    sma_buf_init(&body, 1024 * 1024);
    if (status == 0)
        status = put_body(&body, &order);
    if (status == 0)
        status = ask(command, &order, body.ptr);
    sma_buf_fini(&body);
    return status;
}

int sma_cli_approvals(int argc, char **argv)
{
    static const struct command command = {"approvals",       "approvals",
                                           "approve reject ", "the id of the approval",
                                           print_approvals,   &sma_cli_command_approvals};
    return run(&command, argc, argv);
}

int sma_cli_grants(int argc, char **argv)
{
    static const struct command command = {"grants",     "grants",
                                           "revoke ",    "the id of the grant",
                                           print_grants, &sma_cli_command_grants};
    return run(&command, argc, argv);
}

int sma_cli_pair(int argc, char **argv)
{
    static const struct command command = {"pair",     "pairings",   "approve reject ",
                                           "the code", print_people, &sma_cli_command_pair};
    return run(&command, argc, argv);
}
