/*
 * Aim: every provider of the table works: whatever its rules, its words and its troubles, a person
 *      gets exactly the right answer once, nothing is refused that need not be, a plain answer is
 *      one request, and the bytes of a conversation only grow.
 * Method: the real binary against fake_model in the guise of each provider, real requests over
 *      sockets. Each cell is a chat of its own whose text says what the model does
 *      (simulators/model/README.md); all cells of a provider at once, some providers at a time. The
 *      server's log tells what was asked and refused.
 *   scenario_model_matrix BINARY FAKE_MODEL [ROW]
 */
#include "support/check.h"
#include "support/patience.h"
#include "talk.h"
#include "world.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_COUNT 3
#define BIG_BYTES 60000
#define HALF_BYTES 13000

static const char *binary, *fake_model;

/* -- rows -------------------------------------------------------------------------------------- */
struct row
{
    const char *name, *provider, *profile, *api, *model, *more;
};
/* Where a row fails over to, and switches to: another wire. */
static const struct row CLAUDE = {"claude",   "anthropic",        "anthropic",
                                  "messages", "claude-haiku-5-5", ""},
                        WHALE = {"whale", "deepseek", "deepseek", "chat", "deepseek-v4-pro", ""};

static const struct row ROWS[] = {
    {"anthropic-sonnet-5-5", "anthropic", "anthropic", "messages", "claude-sonnet-5-5", ""},
    {"anthropic-opus-5-5", "anthropic", "anthropic", "messages", "claude-opus-5-5",
     ",\"effort\":\"low\""},
    {"anthropic-fable-5-2", "anthropic", "anthropic", "messages", "claude-fable-5-2",
     ",\"temperature\":0.7"},
    {"anthropic-opus-5", "anthropic", "anthropic", "messages", "claude-opus-5",
     ",\"effort\":\"none\""},
    {"anthropic-haiku-4-5", "anthropic", "anthropic", "messages", "claude-haiku-4-5",
     ",\"effort\":\"high\""},
    {"openai-4o", "openai", "openai", "responses", "gpt-4o", ",\"temperature\":0.7"},
    {"openai-4o-chat", "openai", "openai", "chat", "gpt-4o", ",\"maxTokens\":4000"},
    {"openai-5.4", "openai", "openai", "responses", "gpt-5.4", ",\"temperature\":0.7"},
    {"openai-5.4-chat", "openai", "openai", "chat", "gpt-5.4", ",\"maxTokens\":4000"},
    {"openai-5.6", "openai", "openai", "responses", "gpt-5.6-sol", ",\"effort\":\"max\""},
    {"openai-5.6-chat", "openai", "openai", "chat", "gpt-5.6-sol", ",\"effort\":\"high\""},
    {"openai-6-astra", "openai", "openai", "responses", "gpt-6-astra", ",\"effort\":\"none\""},
    {"deepseek", "deepseek", "deepseek", "chat", "deepseek-flash", ""},
    {"deepseek-off", "deepseek", "deepseek", "chat", "deepseek-flash", ",\"effort\":\"none\""},
    {"kimi-k3", "moonshot", "kimi", "chat", "kimi-k3", ",\"temperature\":0.7"},
    {"kimi-k2.7", "moonshot", "kimi", "chat", "kimi-k2.7-code", ",\"effort\":\"high\""},
    {"kimi-k2.6", "moonshot", "kimi", "chat", "kimi-k2.6", ""},
    {"qwen", "qwen", "qwen", "chat", "qwen3.8-max", ",\"effort\":\"medium\""},
    {"glm-5.3", "zhipu", "glm", "chat", "glm-5.3", ",\"effort\":\"medium\""},
    {"glm-4.7", "zhipu", "glm", "chat", "glm-4.7", ""},
    {"gemini-3.8", "gemini", "gemini", "chat", "gemini-3.8-flash", ""},
    {"gemini-4", "gemini", "gemini", "chat", "gemini-4-argon", ",\"effort\":\"minimal\""},
    {"openrouter-claude", "openrouter", "openrouter", "chat", "anthropic/claude-sonnet-5.5", ""},
    {"openrouter-openai", "openrouter", "openrouter", "chat", "openai/gpt-6.1-sol", ""},
    {"ollama", "ollama", "ollama", "chat", "qwen3:8b", ""},
    {"llamacpp", "custom", "llamacpp", "chat", "local", ",\"contextTokens\":32000"},
    {"vllm", "custom", "vllm", "chat", "local", ""},
    {"groq", "custom", "groq", "chat", "openai/gpt-oss-120b", ""},
    {"strict", "custom", "strict", "chat", "unknown-1", ""},
    {"whole-anthropic", "anthropic", "anthropic", "messages", "claude-sonnet-5-5",
     ",\"stream\":false"},
    {"whole-openai", "openai", "openai", "responses", "gpt-5.4", ",\"stream\":false"},
    {"whole-deepseek", "deepseek", "deepseek", "chat", "deepseek-flash", ",\"stream\":false"},
};

/* -- cells ------------------------------------------------------------------------------------- */
struct cell
{
    const char *name, *text;
    const char *output;    /* what the person reads; NULL: a notice */
    const char *never;     /* and what it must not be */
    int request_count;     /* that the server took or failed; 0 = any */
    int refusal_count;     /* wanted ones */
    bool may_prefix_move;  /* it is rebuilt */
    bool may_drop_thought; /* one, of models that bind it to what has been shortened */
    bool may_fail;         /* as a run: what counts is what the person reads */
};

static const struct cell CELLS[] = {
    {.name = "plain",
     .text = "[[do: text A plain answer.]]",
     .output = "A plain answer.",
     .request_count = 1},
    {.name = "tool",
     .text = "[[do: call read_file {\"path\":\"note.txt\"}; text One tool was used.]]",
     .output = "One tool was used.",
     .request_count = 2},
    {.name = "parallel",
     .text =
         "[[do: call read_file {\"path\":\"note.txt\"} & read_file {\"path\":\"big.txt\"}; call "
         "read_file {\"path\":\"note.txt\"}; text Three were used.]]",
     .output = "Three were used.",
     .request_count = 3},
    {.name = "split",
     .text = "[[fault:split=7 split]] [[do: text Ünd so weiter: 好.]]",
     .output = "Ünd so weiter: 好.",
     .request_count = 1},
    {.name = "cutcall",
     .text =
         "[[do: cutcall write_file {\"path\":\"cut.txt\",\"content\":\"0123456789012345678901\"}"
         "; text The call was cut.]]",
     .output = "The call was cut.",
     .request_count = 2},
    {.name = "cuttext",
     .text = "[[do: cuttext This begins; text and this ends.]]",
     .output = "This begins and this ends.",
     .request_count = 2},
    {.name = "refusal",
     .text = "[[do: refuse]]",
     .never = "I have no answer",
     .may_fail = true}, /* where it is an empty answer it is asked for once more */
    {.name = "empty",
     .text = "[[do: call read_file {\"path\":\"note.txt\"}; empty; text After a nudge.]]",
     .output = "After a nudge.",
     .request_count = 3},
    {.name = "overloaded",
     .text = "[[fault:overloaded]] [[do: text After a moment.]]",
     .output = "After a moment.",
     .request_count = 2},
    {.name = "rate",
     .text = "[[fault:rate retry-after=1 wait-ms=1000]] [[do: text After a second.]]",
     .output = "After a second.",
     .request_count = 2},
};

/* One after the other: what one learns of the window holds for all. */
static const struct cell TIGHT[] = {
    {.name = "overflow",
     .text = "[[window 8000]] [[do: call read_file {\"path\":\"big.txt\"}; text It was too big.]]",
     .output = "It was too big.",
     .may_prefix_move = true},
    {.name = "overflow-later",
     .text = "[[window 8000]] [[do: call read_file {\"path\":\"half.txt\"}; call read_file "
             "{\"path\":\"half.txt\",\"offset\":2}; text Both were too big.]]",
     .output = "Both were too big.",
     .may_prefix_move = true,
     .may_drop_thought = true},
};
/* With the session of "tool", at another provider. */
static const struct cell SWITCHED = {.name = "tool",
                                     .text = "switched-now [[do: call read_file "
                                             "{\"path\":\"note.txt\"}; text Still here.]]",
                                     .output = "Still here.",
                                     .may_prefix_move = true};
/* With a fallback. FIRST stands for the profile that fails. */
static const struct cell FAILING[] = {
    {.name = "failover",
     .text = "[[fault:overloaded times=99 on=FIRST]] [[do: text Failed over.]]",
     .output = "Failed over.",
     .may_prefix_move = true},
    {.name = "gone",
     .text =
         "[[fault:nomodel times=99 at=1 on=FIRST]] [[do: call read_file {\"path\":\"note.txt\"}; "
         "text Went on elsewhere.]]",
     .output = "Went on elsewhere.",
     .may_prefix_move = true},
    {.name = "cut-off",
     .text = "[[fault:503 times=99 at=1 on=FIRST]] [[do: call read_file {\"path\":\"note.txt\"} & "
             "read_file {\"path\":\"note.txt\"}; text And so did this.]]",
     .output = "And so did this.",
     .may_prefix_move = true},
};
static const struct cell WAITING = {.name = "waiting",
                                    .text = "[[fault:503 at=1 for=4000]] [[do: call read_file "
                                            "{\"path\":\"note.txt\"}; text It was worth it.]]",
                                    .output = "It was worth it.",
                                    .may_prefix_move = true};

/* -- what the server saw ----------------------------------------------------------------------- */
static json_t *asked(const struct world *world, const char *part)
{
    char *log = folder_read(&world->folder, "model.log"), *left = log;
    json_t *list = json_array();
    for (char *end; left != NULL && (end = strchr(left, '\n')) != NULL; left = end + 1) {
        json_t *entry = json_loadb(left, (size_t)(end - left), 0, NULL);
        CHECK(entry != NULL);
        if (strstr(talk_text(entry, "body"), part) != NULL)
            json_array_append(list, entry);
        json_decref(entry);
    }
    free(log);
    return list;
}

/* A request up to its last message, without the marks, which move. Free it. */
static char *bare_body(const char *body)
{
    static const char mark[] = ",\"cache_control\":{";
    const char *start = strstr(body, "\"messages\":[");
    start = start == NULL ? strstr(body, "\"input\":[") : start;
    char *bare = calloc(1, strlen(body) + 1);
    CHECK(start != NULL && bare != NULL);
    size_t len = 0;
    int depth = 0;
    bool is_in_string = false;
    for (const char *at = body; *at != '\0'; at++) {
        if (!is_in_string && strncmp(at, mark, sizeof mark - 1) == 0) {
            at = strchr(at, '}');
            continue;
        }
        if (is_in_string && *at == '\\')
            bare[len++] = *at++;
        else if (*at == '"')
            is_in_string = !is_in_string;
        else if (!is_in_string && at > start && *at == '[')
            depth++;
        else if (!is_in_string && at > start && *at == ']' && --depth == 0)
            return bare;
        bare[len++] = *at;
    }
    return bare;
}

static bool only_grows(const json_t *list)
{
    bool is_right = true;
    char *before = NULL;
    for (size_t i = 0; i < json_array_size(list); i++) {
        char *bare = bare_body(talk_text(json_array_get(list, i), "body"));
        is_right &= before == NULL || strncmp(bare, before, strlen(before)) == 0;
        if (before != NULL && strncmp(bare, before, strlen(before)) != 0)
            fprintf(stderr, "  moved:\n%s\n%s\n", before, bare);
        free(before);
        before = bare;
    }
    free(before);
    return is_right;
}

/* A provider that refuses a member of which the table does not know: each chat may be refused once,
 * and learns. */
static bool learns(const struct row *row)
{
    return strcmp(row->name, "strict") == 0;
}

/* Whose thinking is good only behind the very words it came after. Source: protocols/models.md
 * §5. */
static bool binds_thinking(const struct row *row)
{
    static const char *const models[] = {"claude-sonnet-5-5", "claude-opus-5-5", "claude-fable-5-2",
                                         "claude-haiku-5-5"};
    for (size_t i = 0; i < SMA_COUNT_OF(models); i++)
        if (strcmp(row->model, models[i]) == 0)
            return true;
    return false;
}

static bool is_traffic_right(const struct world *world, const struct row *row,
                             const struct cell *cell)
{
    char part[60];
    snprintf(part, sizeof part, "cell-%s ", cell->name);
    json_t *list = asked(world, part);
    int refusal_count = 0;
    json_int_t miss_count = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        miss_count += json_integer_value(json_object_get(entry, "misses"));
        if (talk_text(entry, "complaint")[0] == '\0')
            continue;
        refusal_count++;
        const char *body = talk_text(entry, "body");
        size_t len = strlen(body), skip = len > 1500 ? len - 1500 : 0; /* the end tells more */
        fprintf(stderr, "  refused: %s\n...%s\n", talk_text(entry, "complaint"), body + skip);
    }
    int request_count = (int)json_array_size(list) - refusal_count;
    bool is_right = refusal_count >= cell->refusal_count &&
                    refusal_count <= cell->refusal_count + learns(row) &&
                    miss_count <= (int)(cell->may_drop_thought && binds_thinking(row)) &&
                    (cell->request_count == 0 || cell->request_count == request_count) &&
                    (cell->may_prefix_move || learns(row) || only_grows(list));
    if (!is_right)
        fprintf(stderr, "  %d requests, %d refused, %d thoughts not returned\n", request_count,
                refusal_count, (int)miss_count);
    json_decref(list);
    return is_right;
}

static bool is_answer_right(const struct cell *cell, const struct http_answer *answer)
{
    json_t *root = talk_json(answer);
    const char *output = talk_text(root, "output");
    bool is_right =
        (cell->may_fail || json_is_true(json_object_get(root, "success"))) &&
        (cell->output != NULL ? strcmp(cell->output, output) == 0
                              : output[0] != '\0' && strstr(output, cell->never) == NULL);
    if (!is_right)
        fprintf(stderr, "  answer: %s\n", answer->body);
    json_decref(root);
    return is_right;
}

/* -- one row ----------------------------------------------------------------------------------- */
static int judge(const struct world *world, const struct row *row, const struct cell *cell,
                 const struct http_answer *answer)
{
    bool is_answered = is_answer_right(cell, answer),
         is_right = is_traffic_right(world, row, cell) && is_answered;
    if (!is_right)
        fprintf(stderr, "WRONG: %s x %s\n", row->name, cell->name);
    return !is_right;
}

static void put_target(const struct world *world, const struct row *row, char *json, size_t size)
{
    snprintf(json, size,
             "\"provider\":\"%s\",\"model\":\"%s\",\"api\":\"%s\","
             "\"baseUrl\":\"http://127.0.0.1:%d/%s/v1\",\"apiKey\":\"" WORLD_API_KEY "\"%s",
             row->provider, row->model, row->api, world->fake_port, row->profile, row->more);
}

static const struct row *other_of(const struct row *row)
{
    return strcmp(row->api, "messages") == 0 ? &WHALE : &CLAUDE;
}

static void configure(const struct world *world, const struct row *row, const struct row *fallback)
{
    char json[2048], first[600], second[600] = "";
    put_target(world, row, first, sizeof first);
    if (fallback != NULL)
        put_target(world, fallback, second, sizeof second);
    snprintf(json, sizeof json,
             "{\"name\":\"tested\",\"llm\":{%s,\"fallbacks\":[%s%s%s]},"
             "\"agent\":{\"concurrency\":32}}",
             first, fallback == NULL ? "" : "{", second, fallback == NULL ? "" : "}");
    folder_write(&world->folder, "ship.json", json);
}

static bool is_asked_now(const struct world *world, const struct row *row)
{
    talk_expect(world->service.port, "probe", "cell-probe [[do: text probed]]", "probed");
    json_t *list = asked(world, "cell-probe ");
    const json_t *newest = json_array_get(list, json_array_size(list) - 1);
    bool is_now = strcmp(talk_text(newest, "model"), row->model) == 0;
    json_decref(list);
    return is_now;
}

/* The service takes the new settings while it runs. */
static void reconfigure(const struct world *world, const struct row *row,
                        const struct row *fallback)
{
    configure(world, row, fallback);
    CHECK(kill(world->service.pid, SIGHUP) == 0);
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS; !is_asked_now(world, row);)
        CHECK(process_now_ms() < until);
}

static void create_world(struct world *world, const struct row *row)
{
    static char big[BIG_BYTES + 1];
    for (size_t i = 0; i < BIG_BYTES; i++)
        big[i] = i % 60 == 59 ? '\n' : (char)('a' + i % 26);
    folder_create(&world->folder, NULL);
    folder_write(&world->folder, "note.txt", "A small note.\n");
    folder_write(&world->folder, "big.txt", big);
    big[HALF_BYTES] = '\0';
    folder_write(&world->folder, "half.txt", big);
    big[HALF_BYTES] = '\n';
    world_model_start(world, fake_model, NULL);
    configure(world, row, NULL);
    service_start(&world->service, binary, &world->folder);
}

static void start_cell(const struct world *world, const struct row *row, const struct cell *cell,
                       const char *message_id, struct talk *talk)
{
    const char *first = strstr(cell->text, "FIRST"),
               *rest = first == NULL ? "" : first + strlen("FIRST");
    char text[700];
    int len = first == NULL ? (int)strlen(cell->text) : (int)(first - cell->text);
    snprintf(text, sizeof text, "cell-%s %.*s%s%s", cell->name, len, cell->text,
             first == NULL ? "" : row->profile, rest);
    char *body = talk_body(cell->name, message_id, text);
    talk_start(talk, world->service.port, "/api/execute", "", body);
    free(body);
}

static int end_cell(const struct world *world, const struct row *row, const struct cell *cell,
                    struct talk *talk)
{
    talk_wait(talk);
    int wrong_count = judge(world, row, cell, &talk->answer);
    talk_fini(talk);
    return wrong_count;
}

static int play_cells(const struct world *world, const struct row *row, const struct cell *cells,
                      size_t count)
{
    struct talk talks[SMA_COUNT_OF(CELLS)];
    int wrong_count = 0;
    for (size_t i = 0; i < count; i++)
        start_cell(world, row, &cells[i], NULL, &talks[i]);
    for (size_t i = 0; i < count; i++)
        wrong_count += end_cell(world, row, &cells[i], &talks[i]);
    return wrong_count;
}

/* The provider is down in the middle of a run; the service ends, and begins again. */
static int play_restart(struct world *world, const struct row *row)
{
    struct talk talk;
    start_cell(world, row, &WAITING, "waiting-1", &talk);
    for (long long until = process_now_ms() + PATIENCE_AWAIT_MS;; process_pause_ms(20)) {
        json_t *list = asked(world, "cell-waiting ");
        size_t count = json_array_size(list);
        json_decref(list);
        if (count >= 3)
            break;
        CHECK(process_now_ms() < until);
    }
    CHECK_INT(0, service_stop(&world->service));
    talk_wait(&talk);
    talk_fini(&talk);
    service_start(&world->service, binary, &world->folder);
    start_cell(world, row, &WAITING, "waiting-1", &talk);
    return end_cell(world, row, &WAITING, &talk);
}

static bool waits(const struct row *row)
{
    static const char *const names[] = {"anthropic-sonnet-5-5", "openai-5.4", "deepseek",
                                        "gemini-3.8", "openrouter-claude"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        if (strcmp(names[i], row->name) == 0)
            return true;
    return false;
}

static int play_row(const struct row *row)
{
    struct world world = {.fake = 0};
    long long begun_ms = process_now_ms();
    create_world(&world, row);
    int wrong_count = play_cells(&world, row, CELLS, SMA_COUNT_OF(CELLS));
    for (size_t i = 0; i < SMA_COUNT_OF(TIGHT); i++)
        wrong_count += play_cells(&world, row, &TIGHT[i], 1);
    reconfigure(&world, other_of(row), NULL);
    wrong_count += play_cells(&world, row, &SWITCHED, 1);
    reconfigure(&world, row, other_of(row));
    wrong_count += play_cells(&world, row, FAILING, SMA_COUNT_OF(FAILING));
    if (waits(row)) {
        CHECK_INT(0, service_stop(&world.service));
        configure(&world, row, NULL);
        service_start(&world.service, binary, &world.folder);
        wrong_count += play_restart(&world, row);
    }
    world_stop(&world);
    fprintf(stderr, "%s %s (%lld ms)\n", wrong_count == 0 ? "ok" : "FAILED", row->name,
            process_now_ms() - begun_ms);
    return wrong_count;
}

/* -- all rows, some at a time ------------------------------------------------------------------ */
static void end_one(size_t *running_count, int *failed_count)
{
    int status = 0;
    CHECK(wait(&status) > 0);
    (*running_count)--;
    *failed_count += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3 || argc == 4);
    binary = argv[1];
    fake_model = argv[2];
    size_t running_count = 0;
    int failed_count = 0;
    for (size_t i = 0; i < SMA_COUNT_OF(ROWS); i++) {
        if (argc == 4 && strcmp(argv[3], ROWS[i].name) != 0)
            continue;
        if (running_count == CHILD_COUNT)
            end_one(&running_count, &failed_count);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0)
            _exit(play_row(&ROWS[i]) != 0);
        running_count++;
    }
    while (running_count > 0)
        end_one(&running_count, &failed_count);
    CHECK_INT(0, failed_count);
    return 0;
}
