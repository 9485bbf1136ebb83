/*
 * play_words.c — see play_words.h.
 */
#include "play/play_words.h"

#include "sma/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long long play_deadline(void)
{
    return play_real_ms() + play.options->patience_ms;
}

struct play_stage *play_stage(void)
{
    if (!play.stage.is_open) {
        stage_open(&play.stage, play.program, play.options);
        play.talk_first = play.talk_next;
    }
    return &play.stage;
}

struct play_stage *play_service(void)
{
    if (play_stage()->service <= 0)
        play_fail("the service does not run: `start` first");
    return &play.stage;
}

/* -- words ----------------------------------------------------------------------------------- */
char *play_scrap(char *text)
{
    if (text == NULL || play.scrap_count == SCRAPS_MAX)
        play_fail("too much for one line");
    return play.scraps[play.scrap_count++] = text;
}

void play_keep(const char *name, json_t *value)
{
    json_object_set_new(play.kept, name, value == NULL ? json_null() : value);
}

void play_set_it(json_t *it)
{
    json_decref(play.it);
    play.it = it;
    const json_t *id = json_object_get(it, "id");
    if (id == NULL)
        id = json_object_get(it, "message_id");
    if (id != NULL)
        play_keep("it", json_incref((json_t *)(uintptr_t)id));
}

const struct play_role *play_find_role(const char *name, size_t len)
{
    if (len == 4 && strncmp(name, "here", 4) == 0)
        return play.here;
    for (size_t i = 0; i < play.program->play->cast_count; i++) {
        const struct play_role *role = &play.program->play->cast[i];
        if (strlen(role->name) == len && strncmp(role->name, name, len) == 0)
            return role;
    }
    return NULL;
}

const struct play_role *play_need_role(const char *name)
{
    const struct play_role *role = play_find_role(name, strlen(name));
    if (role == NULL)
        play_fail("nobody is called %s on %s, and it is no verb", name, play.program->name);
    return role;
}

/* @return a new reference; NULL: nothing has this name */
static json_t *look_up(const char *name, size_t len)
{
    char word[64];
    snprintf(word, sizeof word, "%.*s", (int)len, name);
    json_t *kept = json_object_get(play.kept, word);
    if (kept != NULL)
        return json_incref(kept);
    if (strcmp(word, "platform") == 0)
        return json_string(play.program->name);
    if (strcmp(word, "platform.port") == 0)
        return json_integer(play_stage()->bots[play.stage.bot].client.port);
    if (strcmp(word, "port") == 0)
        return json_integer(play_stage()->port);
    if (strcmp(word, "project") == 0)
        return json_string(play_stage()->folder);
    if (strncmp(word, "now", 3) == 0 && strchr("+-", word[3]) != NULL)
        return json_integer((json_int_t)(sma_clock_wall_ms() / 1000) + strtol(word + 3, NULL, 10));
    const char *dot = memchr(word, '.', strlen(word));
    const struct play_role *role = play_find_role(word, dot == NULL ? len : (size_t)(dot - word));
    if (role == NULL)
        return NULL;
    if (dot == NULL)
        return json_loads(role->chat, JSON_DECODE_ANY, NULL);
    if (strcmp(dot, ".user") == 0 && role->user != NULL)
        return json_loads(role->user, JSON_DECODE_ANY, NULL);
    const char *text = strcmp(dot, ".id") == 0       ? strrchr(role->key, ':') + 1
                       : strcmp(dot, ".key") == 0    ? role->key
                       : strcmp(dot, ".person") == 0 ? role->person
                                                     : NULL;
    return text == NULL ? NULL : json_string(text);
}

/* $name as JSON has it, ${name} as it reads; %name of an `each`. Owned by the line. */
char *play_expand(const char *text)
{
    char *made = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&made, &size);
    if (out == NULL)
        play_fail("out of memory");
    while (*text != '\0') {
        bool is_bare = strncmp(text, "${", 2) == 0 && islower((unsigned char)text[2]);
        const char *name = text + 1 + is_bare;
        size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.+-");
        if (!is_bare) /* a dot may end a sentence */
            for (len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
                 name[len] == '.' && islower((unsigned char)name[len + 1]);)
                len += 1 + strspn(name + len + 1, "abcdefghijklmnopqrstuvwxyz");
        json_t *value = *text == '$' && len > 0 ? look_up(name, len) : NULL;
        if (is_bare && (value == NULL || name[len] != '}')) {
            fclose(out);
            play_fail("nothing is called ${%.*s} here", (int)len, name);
        }
        if (value == NULL) {
            fputc(*text++, out);
            continue;
        }
        char *dump = is_bare && json_is_string(value) ? strdup(json_string_value(value))
                                                      : json_dumps(value, JSON_ENCODE_ANY);
        fputs(dump, out);
        free(dump);
        json_decref(value);
        text = name + len + is_bare;
    }
    fclose(out);
    return play_scrap(made);
}

/* The same for what people read: \n is a new line, and \\n what it says. */
char *play_expand_words(const char *text)
{
    char *made = play_expand(text), *to = made;
    for (const char *from = made; (*to = *from) != '\0'; from++, to++)
        if (strncmp(from, "\\\\n", 3) == 0)
            from++;
        else if (strncmp(from, "\\n", 2) == 0)
            *to = '\n', from++;
        else if (strncmp(from, "\\t", 2) == 0)
            *to = '\t', from++;
    return made;
}

json_t *play_parse_json(const char *text)
{
    json_error_t error;
    json_t *tree = json_loads(play_expand(text), JSON_DECODE_ANY, &error);
    if (tree == NULL)
        play_fail("no JSON: %s: %s", text, error.text);
    return tree;
}

/* Cuts the first word off. */
char *play_next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " ");
    size_t len = strcspn(word, " ");
    *rest = word + len + strspn(word + len, " ");
    if (word[len] != '\0')
        word[len] = '\0';
    return word;
}

/* Cuts off what stands behind `mark`. @return it; NULL: no mark */
char *play_split(char *text, const char *mark)
{
    char *at = strstr(text, mark);
    if (at == NULL)
        return NULL;
    *at = '\0';
    return at + strlen(mark);
}

/* -- looking closer -------------------------------------------------------------------------- */
/* Members and indices between dots; # counts; [member=value] takes those of a list. `.`: all. A
 * new reference; NULL: nothing is there. */
json_t *play_find_path(const json_t *tree, const char *path)
{
    json_t *at = json_incref((json_t *)(uintptr_t)tree);
    char word[128];
    for (path += *path == '.'; at != NULL && *path != '\0'; path += *path == '.') {
        bool is_choice = *path == '[';
        size_t len = strcspn(path, is_choice ? "]" : ".") + is_choice;
        snprintf(word, sizeof word, "%.*s", (int)len, path);
        path += len;
        json_t *next = NULL;
        char *wanted = is_choice ? play_split(word, "=") : NULL;
        if (is_choice && wanted != NULL) {
            wanted[strcspn(wanted, "]")] = '\0';
            next = json_array();
            for (size_t i = 0; i < json_array_size(at); i++) {
                json_t *value = play_find_path(json_array_get(at, i), word + 1);
                char *text = json_is_string(value) ? strdup(json_string_value(value))
                                                   : json_dumps(value, JSON_ENCODE_ANY);
                if (text != NULL && strcmp(text, wanted) == 0)
                    json_array_append(next, json_array_get(at, i));
                free(text);
                json_decref(value);
            }
        } else if (strcmp(word, "#") == 0) {
            next = json_integer((json_int_t)json_array_size(at));
        } else if (json_is_array(at)) {
            char *end;
            long index = strtol(word, &end, 10), size = (long)json_array_size(at);
            bool is_number = *end == '\0';
            index = !is_number ? size - 1 : index < 0 ? index + size : index; /* else: the last */
            next = index < 0 ? NULL : json_incref(json_array_get(at, (size_t)index));
            if (!is_number && next != NULL) {
                json_t *member = json_incref(json_object_get(next, word));
                json_decref(next);
                next = member;
            }
        } else {
            next = json_incref(json_object_get(at, word));
        }
        json_decref(at);
        at = next;
    }
    return at;
}

size_t play_count_parts(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = text; part[0] != '\0' && (at = strstr(at, part)) != NULL; at++)
        count++;
    return count;
}

/* x3, x1-2, 3, >2: how many there may be. @return false: it says no number */
bool play_read_count(const char *word, long *ret_low, long *ret_high)
{
    char *end;
    word += *word == 'x';
    bool is_more = *word == '>';
    word += is_more;
    *ret_low = strtol(word, &end, 10) + is_more;
    if (end == word)
        return false;
    *ret_high = is_more ? LONG_MAX : *ret_low;
    if (*end == '-')
        *ret_high = strtol(end + 1, &end, 10);
    return *end == '\0';
}

/* = != are the same text, ~ !~ hold it, < <= > >= are numbers, xN hold it so often. */
bool play_fits(const json_t *value, const char *op, const char *wanted)
{
    char *text = value == NULL           ? strdup("")
                 : json_is_string(value) ? strdup(json_string_value(value))
                                         : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    double number = strtod(text, NULL), limit = strtod(wanted, NULL);
    long low, high;
    bool is_equal = strcmp(text, wanted) == 0, holds = strstr(text, wanted) != NULL, fit;
    if (strcmp(op, "=") == 0)
        fit = is_equal;
    else if (strcmp(op, "!=") == 0)
        fit = !is_equal;
    else if (strcmp(op, "len") == 0)
        fit = strlen(text) == strtoul(wanted, NULL, 10);
    else if (strcmp(op, "~") == 0)
        fit = holds;
    else if (strcmp(op, "!~") == 0)
        fit = !holds;
    else if (strcmp(op, "<") == 0 || strcmp(op, "<=") == 0)
        fit = value != NULL && (number < limit || (op[1] == '=' && number == limit));
    else if (strcmp(op, ">") == 0 || strcmp(op, ">=") == 0)
        fit = value != NULL && (number > limit || (op[1] == '=' && number == limit));
    else if (op[0] == 'x' && play_read_count(op, &low, &high))
        fit = (long)play_count_parts(text, wanted) >= low &&
              (long)play_count_parts(text, wanted) <= high;
    else
        play_fail("no comparison: %s", op);
    free(text);
    return fit;
}

/* PATH OP VALUE of a tree. */
bool play_holds(const json_t *tree, const char *rest, bool must)
{
    char *line = play_scrap(strdup(rest)), *path = play_expand(play_next_word(&line)),
         *op = play_next_word(&line);
    const char *wanted = play_expand_words(line);
    for (char *gap = path; (gap = strchr(gap, ';')) != NULL;)
        *gap = ' '; /* as in the items of `each` */
    json_t *value = play_find_path(tree, path);
    bool fit = play_fits(value, op, wanted);
    if (!fit && must) {
        char *text = json_dumps(value, JSON_ENCODE_ANY), *all = json_dumps(tree, JSON_INDENT(1));
        fprintf(stderr, "in %s\n", all == NULL ? "nothing" : all);
        play_fail("%s is %s, wanted %s %s", path, text == NULL ? "not there" : text, op, wanted);
    }
    json_decref(value);
    return fit;
}
