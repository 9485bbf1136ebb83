/*
 * play_lines.c — what a line of a script does to the service, the model and the platform, and
 * what it looks for in what they left behind; and which verb a line begins with. People and
 * messages are in play_talk.c.
 */
#include "play/play_words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- the service ----------------------------------------------------------------------------- */
/* set PATH JSON: a member of ship.json; without JSON it goes. adapter: of the platform's block. */
static void set_member(json_t *at, char *path, const char *json)
{
    for (char *dot; (dot = strchr(path, '.')) != NULL; path = dot + 1) {
        *dot = '\0';
        json_t *next = json_object_get(at, path);
        if (!json_is_object(next))
            json_object_set_new(at, path, next = json_object());
        at = next;
    }
    if (*json == '\0')
        json_object_del(at, path);
    else
        json_object_set_new(at, path, play_parse_json(json));
}

static void do_set(char *rest)
{
    char *path = play_next_word(&rest);
    set_member(play_stage()->config, path, rest);
}

static void do_adapter(char *rest)
{
    char *path = play_next_word(&rest);
    json_t *block =
        json_object_get(json_object_get(play_stage()->config, "adapters"), play.program->name);
    if (json_is_array(block))
        block = json_array_get(block, play.stage.bot);
    set_member(block, path, rest);
}

static void do_access(char *rest)
{
    json_object_set_new(play_stage()->config, "access", play_parse_json(rest));
}

static void do_script(char *rest)
{
    if (play.stage.is_open)
        play_fail("a script of the model stands first in its case");
    play.stage.model_script = strdup(play_expand(rest));
}

static void do_bots(char *rest)
{
    (void)rest;
    stage_add_bot(play_stage());
}

static void do_complains(char *rest)
{
    (void)rest;
    play_stage()->may_complain = true;
}

static void do_start(char *rest)
{
    char *output = NULL, words[PATH_MAX + 32];
    if (*rest == '\0' || strcmp(rest, "first") == 0 || strcmp(rest, "unready") == 0) {
        stage_start(play_stage(), *rest == '\0' ? PLAY_BOTS_MAX : *rest == 'f' ? 1 : 0);
        return;
    }
    if (strncmp(rest, "fails ", 6) != 0) /* start fails PART: it does not come up, and says so */
        play_fail("start, start first, start unready, or start fails PART");
    stage_configure(play_stage(), false);
    snprintf(words, sizeof words, "start '%s' --port 0", play.stage.folder);
    int status = stage_run(play_stage(), words, &output);
    if (status == 0 || output == NULL || strstr(output, rest + 6) == NULL)
        play_fail("status %d: %s", status, output == NULL ? "" : output);
    free(output);
}

static void do_stop(char *rest)
{
    (void)rest;
    stage_stop(play_stage());
}

static void do_kill(char *rest)
{
    (void)rest;
    stage_kill(play_stage());
}

/* dies: it ends by itself, at a point of SMA_CRASH_AT */
static void do_dies(char *rest)
{
    (void)rest;
    stage_await_death(play_service());
}

/* environment NAME [VALUE]: of the service from its next start on; without a value it goes */
static void do_environment(char *rest)
{
    const char *name = play_next_word(&rest);
    if (*rest == '\0' ? unsetenv(name) : setenv(name, play_expand(rest), 1))
        play_fail("%s cannot be set", name);
}

static void do_reload(char *rest)
{
    (void)rest;
    stage_configure(play_service(), true);
}

static void do_rest(char *rest)
{
    (void)rest;
    stage_rest(play_service());
}

static void do_end(char *rest)
{
    if (strcmp(rest, "silence") != 0)
        play_fail("end silence");
    stage_end_silence(play_stage());
}

/* -- what it left behind --------------------------------------------------------------------- */
/* cli [STATUS] WORDS */
static void do_cli(char *rest)
{
    char *end;
    long wanted = strtol(rest, &end, 10);
    const char *words = play_expand(end == rest || *end != ' ' ? rest : end + 1);
    if (end == rest || *end != ' ')
        wanted = 0;
    free(play.output);
    int status = stage_run(play_stage(), words, &play.output);
    if (status != wanted)
        play_fail("status %d, wanted %ld: %s", status, wanted,
                  play.output == NULL ? "" : play.output);
}

/* api [METHOD] PATH [STATUS] [BODY] */
static void do_api(char *rest)
{
    char *method = isupper((unsigned char)*rest) ? play_next_word(&rest) : NULL;
    char *path = play_expand(play_next_word(&rest)), *end;
    long status = strtol(rest, &end, 10);
    if (status == 0)
        status = 200;
    end += strspn(end, " ");
    const char *body = *end == '\0' ? NULL : play_expand(end);
    struct http_answer answer = stage_ask(play_service(),
                                          method != NULL ? method
                                          : body == NULL ? "GET"
                                                         : "POST",
                                          path, body);
    free(play.output);
    play.output = strdup(answer.body == NULL ? "" : answer.body);
    play_set_it(json_loads(play.output, 0, NULL));
    if (answer.status != status)
        play_fail("HTTP status %d, wanted %ld: %s", answer.status, status, play.output);
    http_answer_fini(&answer);
}

/* http: TEXT — somebody asks over HTTP; the answer is it. */
static void do_http(char *rest)
{
    json_t *body = json_pack("{s:s,s:s,s:s}", "chatId", "d", "userId", "u", "instructions",
                             play_expand_words(rest));
    char *bytes = play_scrap(json_dumps(body, JSON_COMPACT)), *line = NULL;
    json_decref(body);
    struct http_answer answer = stage_ask(play_service(), "POST", "/api/execute", bytes);
    line = play_scrap(strdup(answer.body == NULL ? "" : answer.body));
    play_set_it(json_loads(line, 0, NULL));
    if (answer.status != 200)
        play_fail("HTTP status %d: %s", answer.status, line);
    http_answer_fini(&answer);
}

/* says [xN] PART: of the last cli or api */
static bool output_says(char *rest)
{
    long low = 1, high = LONG_MAX;
    const char *output = play.output == NULL ? "" : play.output;
    if (rest[0] == 'x' && isdigit((unsigned char)rest[1]) &&
        !play_read_count(play_next_word(&rest), &low, &high))
        play_fail("a count is written xN");
    long count = (long)play_count_parts(output, play_expand_words(rest));
    return count >= low && count <= high;
}

static void do_says(char *rest)
{
    char *copy = play_scrap(strdup(rest));
    if (!output_says(copy))
        play_fail("it does not say %s: %s", rest, play.output == NULL ? "" : play.output);
}

static void do_log(char *rest)
{
    long low = 1, high = LONG_MAX;
    if (rest[0] == 'x' && isdigit((unsigned char)rest[1]) &&
        !play_read_count(play_next_word(&rest), &low, &high))
        play_fail("a count is written xN");
    const char *part = play_expand_words(rest);
    if (low == 0)
        stage_rest(play_service());
    for (long long until = play_deadline();;) {
        char *log = stage_read(play_stage(), "service.log");
        long count = log == NULL ? 0 : (long)play_count_parts(log, part);
        free(log);
        if (count >= low && count <= high)
            return;
        if (count > high || !play_look_again(until))
            play_fail("the log says \"%s\" %ld times", part, count);
    }
}

/* lines FILE N: so many and no more */
static void do_lines(char *rest)
{
    const char *name = play_expand(play_next_word(&rest));
    long wanted = strtol(rest, NULL, 10), count = -1;
    for (long long until = play_deadline(); count < wanted;) {
        char *text = stage_read(play_stage(), name);
        count = text == NULL ? 0 : (long)play_count_parts(text, "\n");
        free(text);
        if (count < wanted && !play_look_again(until))
            break;
    }
    if (count != wanted)
        play_fail("%s has %ld lines, wanted %ld", name, count, wanted);
}

/* file PATTERN OP TEXT, file PATTERN gone, file PATTERN there, file PATTERN removed */
static void do_file(char *rest)
{
    char *pattern = play_expand(play_next_word(&rest)), *op = play_next_word(&rest);
    const char *wanted = play_expand_words(rest);
    for (long long until = play_deadline();;) {
        char *text = stage_read(play_stage(), pattern);
        json_t *value = text == NULL ? NULL : json_stringn_nocheck(text, strlen(text));
        bool is_there = strcmp(op, "there") == 0, is_gone = strcmp(op, "gone") == 0, fit;
        if (is_there || is_gone)
            fit = (text != NULL) == is_there;
        else
            fit = text != NULL && play_fits(value, op, wanted);
        json_decref(value);
        if (!fit && (op[0] == '!' || is_gone || !play_look_again(until)))
            play_fail("%s %s %s: it holds %s", pattern, op, wanted,
                      text == NULL ? "nothing, it is not there" : text);
        free(text);
        if (fit) {
            char *name = stage_find(play_stage(), pattern);
            play_keep("file", json_string(name == NULL ? pattern : name));
            free(name);
            return;
        }
    }
}

/* remove NAME: a file or folder of the project */
static void do_remove(char *rest)
{
    stage_remove(play_stage(), play_expand(rest));
}

static void do_write(char *rest)
{
    const char *name = play_expand(play_next_word(&rest));
    stage_write(play_stage(), name, play_expand_words(rest));
}

static void do_asked(char *rest)
{
    long low, high;
    if (!play_read_count(play_next_word(&rest), &low, &high))
        play_fail("asked N PART");
    const char *part = play_expand_words(rest);
    if (!play.is_now)
        stage_rest(play_service());
    json_t *list = stage_requests(play_stage(), part);
    long count = (long)json_array_size(list);
    json_decref(list);
    if (count < low || count > high)
        play_fail("%ld requests to the model hold \"%s\", wanted %ld", count, part, low);
}

/* request PART: the newest of them is it, as JSON */
static void do_request(char *rest)
{
    const char *part = play_expand_words(rest);
    for (long long until = play_deadline();;) {
        json_t *list = stage_requests(play_stage(), part);
        size_t count = json_array_size(list);
        if (count > 0)
            play_set_it(
                json_loads(platform_text(json_array_get(list, count - 1), "body", ""), 0, NULL));
        json_decref(list);
        if (count > 0)
            return;
        if (!play_look_again(until))
            play_fail("no request to the model holds \"%s\"", part);
    }
}

/* -- the platform ---------------------------------------------------------------------------- */
static void do_platform(char *rest)
{
    play_set_it(stage_tell(play_stage(), play_parse_json(rest)));
}

/* call METHOD PATH [BODY] => STATUS [PART]: as any program calls the platform; $head stands in its
 * head, the answer is it. */
static void do_call(char *rest)
{
    char *wanted = play_split(rest, " => "), *part, headers[1024];
    if (wanted == NULL)
        play_fail("call METHOD PATH [BODY] => STATUS [PART]");
    char *method = play_next_word(&rest), *path = play_expand(play_next_word(&rest));
    const char *body = *rest == '\0' ? NULL : play_expand(rest);
    json_t *head = json_object_get(play.kept, "head");
    snprintf(headers, sizeof headers, "%s%s%s",
             body == NULL ? "" : "Content-Type: application/json\r\n",
             head == NULL ? "" : json_string_value(head), head == NULL ? "" : "\r\n");
    struct http_request request = {.port = play_stage()->bots[play.stage.bot].client.port,
                                   .method = method,
                                   .path = path,
                                   .headers = headers,
                                   .body = body,
                                   .body_len = body == NULL ? 0 : strlen(body),
                                   .timeout_ms = play.options->patience_ms};
    struct http_answer answer = http_exchange(&request);
    free(play.output);
    play.output = strdup(answer.body == NULL ? "" : answer.body);
    play_set_it(json_loads(play.output, JSON_DECODE_ANY, NULL));
    long status = strtol(wanted, &part, 10);
    part = play_expand_words(part + strspn(part, " "));
    if (answer.status != status || strstr(play.output, part) == NULL)
        play_fail("HTTP status %d, wanted %ld and \"%s\": %s", answer.status, status, part,
                  play.output);
    http_answer_fini(&answer);
}

/* fault METHOD KIND|STATUS [TIMES] [name=value ...] */
static void do_fault(char *rest)
{
    rest = play_expand(rest);
    char *colon = rest + strcspn(rest, ": "); /* METHOD:KIND is one word for `each` */
    if (*colon == ':')
        *colon = ' ';
    char *method = play_next_word(&rest), *kind = play_next_word(&rest), *end;
    long status = strtol(kind, &end, 10);
    json_t *command =
        json_pack("{s:s,s:s,s:s,s:i,s:i,s:i}", "do", "fault", "method", method, "kind",
                  *end == '\0' ? "status" : kind, "times", 1, "ms", 2, "bytes", 7);
    if (*end == '\0')
        json_object_set_new(command, "status", json_integer(status));
    while (*rest != '\0') {
        char *word = play_next_word(&rest), *value = play_split(word, "=");
        json_t *tree = json_loads(value == NULL ? word : value, JSON_DECODE_ANY, NULL);
        json_object_set_new(command, value == NULL ? "times" : word,
                            tree != NULL ? tree : json_string(value == NULL ? word : value));
    }
    json_decref(stage_tell(play_stage(), command));
}

/* N, or +N: since the mark. */
static long read_number(const char *name, const char *text)
{
    const json_t *before = json_object_get(play.counters, name);
    if (strncmp(name, "calls.", 6) == 0)
        before = json_object_get(json_object_get(play.counters, "calls"), name + 6);
    return strtol(text, NULL, 10) + (*text == '+' ? (long)json_integer_value(before) : 0);
}

/* counter NAME OP N, metric NAME OP N; without OP it is = */
static void compare_number(const char *name, long actual, char *rest)
{
    char *op = play_next_word(&rest);
    if (*rest == '\0')
        rest = op, op = (char *)(uintptr_t) "=";
    json_t *value = json_integer(actual);
    char wanted[32];
    snprintf(wanted, sizeof wanted, "%ld", read_number(name, rest));
    if (!play_fits(value, op, wanted))
        play_fail("%s is %ld, wanted %s %s", name, actual, op, wanted);
    json_decref(value);
}

static void do_counter(char *rest)
{
    rest = play_expand(rest);
    const char *name = play_next_word(&rest);
    compare_number(name, (long)stage_counter(play_stage(), name), rest);
}

static void do_metric(char *rest)
{
    const char *name = play_next_word(&rest);
    compare_number(name, stage_metric(play_service(), name), rest);
}

/* process descriptors OP N, process wakes OP N: files that the service has open; how often its
 * threads went to sleep. */
static void do_process(char *rest)
{
    const char *name = play_next_word(&rest);
    if (strcmp(name, "descriptors") != 0 && strcmp(name, "wakes") != 0)
        play_fail("process descriptors OP N, or process wakes OP N");
    compare_number(name, stage_process(play_service(), name), rest);
}

/* until COUNTER N | metric NAME N | asked PART | {COMMAND} PATH OP VALUE | cli WORDS says PART |
 * api PATH says PART */
static bool is_so(char *rest)
{
    if (strncmp(rest, "asked ", 6) == 0) {
        json_t *list = stage_requests(play_stage(), play_expand_words(rest + 6));
        bool is_asked = json_array_size(list) > 0;
        json_decref(list);
        return is_asked;
    }
    if (strncmp(rest, "cli ", 4) == 0 || strncmp(rest, "api ", 4) == 0) {
        char *part = play_split(rest, " says ");
        if (part == NULL)
            play_fail("until cli WORDS says PART");
        (rest[0] == 'c' ? do_cli : do_api)(rest + 4);
        return output_says(part);
    }
    if (*rest == '{') {
        char *end = strstr(rest, "} ");
        if (end == NULL)
            play_fail("until {COMMAND} PATH OP VALUE");
        end[1] = '\0';
        do_platform(rest);
        return play_holds(play.it, end + 2, false);
    }
    bool is_metric = strncmp(rest, "metric ", 7) == 0;
    if (is_metric)
        (void)play_next_word(&rest);
    const char *name = play_next_word(&rest);
    long number =
        is_metric ? stage_metric(play_service(), name) : (long)stage_counter(play_stage(), name);
    long wanted = read_number(name, rest);
    return wanted == 0 ? number == 0 : number >= wanted;
}

static void do_until(char *rest)
{
    size_t scraps = play.scrap_count;
    for (long long until = play_deadline();;) {
        char *copy = play_scrap(strdup(rest));
        bool is_done = is_so(copy);
        while (play.scrap_count > scraps)
            free(play.scraps[--play.scrap_count]);
        if (is_done)
            return;
        if (!play_look_again(until))
            play_fail("it never comes true: %s", rest);
    }
}

static const struct play_verb verbs[] = {
    {"set", do_set},           {"adapter", do_adapter}, {"access", do_access},
    {"script", do_script},     {"bots", do_bots},       {"complains", do_complains},
    {"start", do_start},       {"stop", do_stop},       {"kill", do_kill},
    {"reload", do_reload},     {"dies", do_dies},       {"environment", do_environment},
    {"rest", do_rest},         {"end", do_end},         {"cli", do_cli},
    {"api", do_api},           {"says", do_says},       {"log", do_log},
    {"lines", do_lines},       {"file", do_file},       {"remove", do_remove},
    {"write", do_write},       {"asked", do_asked},     {"request", do_request},
    {"platform", do_platform}, {"fault", do_fault},     {"counter", do_counter},
    {"metric", do_metric},     {"until", do_until},     {"http:", do_http},
    {"call", do_call},         {"process", do_process},
};

/* @return false: it begins with none of them */
static bool run_verb(const struct play_verb *rows, size_t count, char *line)
{
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(rows[i].word);
        if (strncmp(line, rows[i].word, len) == 0 && strchr(" @", line[len]) != NULL) {
            rows[i].run(line + len + strspn(line + len, " "));
            return true;
        }
    }
    return false;
}

void play_line(char *line)
{
    for (;; line = strchr(line, ' ') + 1) { /* second, now: how the rest is meant */
        if (strncmp(line, "second ", 7) == 0)
            play_stage()->bot = 1;
        else if (strncmp(line, "now ", 4) == 0)
            play.is_now = true;
        else
            break;
    }
    if (play.stage.bot >= play.stage.bot_count && play.stage.bot > 0)
        play_fail("there is no second bot: `bots 2` first");
    if (run_verb(verbs, SMA_COUNT_OF(verbs), line) ||
        run_verb(play_talk_verbs, play_talk_verb_count, line))
        return;
    static const char *const seen[] = {"bot", "card", "message"};
    for (size_t i = 0; i < SMA_COUNT_OF(seen); i++)
        if (strncmp(line, seen[i], strlen(seen[i])) == 0 &&
            strchr(" @:", line[strlen(seen[i])]) != NULL) {
            play_see(line);
            return;
        }
    play_speak(line);
}
