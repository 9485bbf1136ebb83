/*
 * play_talk.c — the lines of a script in which people say something, messages are looked for,
 * and time is measured. What is looked for is kept as `it`, so that the lines after it can look
 * closer.
 */
#include "play/play_words.h"

#include "sma/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLACK_REAL_MS 2000 /* a faster clock does not make the machine faster */

static void do_it(char *rest)
{
    (void)play_holds(play.it, rest, true);
}

/* keep NAME [PATH [BYTES [behind TEXT]]]: without a path the id, which is "it" and, of what was
 * said, "said"; so many bytes of a text, and behind another. */
static void do_keep(char *rest)
{
    char *name = play_next_word(&rest), *behind = play_split(rest, " behind ");
    char *path = play_next_word(&rest);
    int size = (int)strtol(rest, NULL, 10);
    json_t *value = *path != '\0' ? play_find_path(play.it, path)
                                  : json_incref(json_object_get(play.kept, "it"));
    const char *at = json_string_value(value);
    if (at != NULL && behind != NULL && (at = strstr(at, behind)) != NULL)
        at += strlen(behind);
    if (value == NULL || (size > 0 && at == NULL))
        play_fail("there is no %s to keep", path);
    if (size > 0) {
        char bytes[256];
        snprintf(bytes, sizeof bytes, "%.*s", size, at);
        json_decref(value);
        value = json_string(bytes);
    }
    play_keep(name, value);
}

/* let NAME JSON */
static void do_let(char *rest)
{
    const char *name = play_next_word(&rest);
    play_keep(name, play_parse_json(rest));
}

/* text NAME [times N] WORDS: JSON that holds these words, as where JSON stands within JSON */
static void do_text(char *rest)
{
    const char *name = play_next_word(&rest);
    bool is_repeated = strncmp(rest, "times ", 6) == 0;
    long count = is_repeated ? strtol(rest + 6, &rest, 10) : 1;
    const char *words = play_expand_words(rest + (is_repeated && *rest == ' '));
    char *made = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&made, &size);
    while (out != NULL && count-- > 0)
        fputs(words, out);
    if (out == NULL || fclose(out) != 0)
        play_fail("out of memory");
    play_keep(name, json_stringn(made, size));
    free(made);
}

/* here ROLE: that chat is called `here`, too */
static void do_here(char *rest)
{
    play.here = play_need_role(rest);
}

/* -- messages -------------------------------------------------------------------------------- */
static json_t *chat_of(const struct play_role *role)
{
    json_t *chat = json_loads(role->chat, JSON_DECODE_ANY, NULL);
    play_keep("chat", json_incref(chat)); /* shown when something is wrong */
    return chat;
}

enum whose
{
    OURS,
    OURS_WITH_BUTTONS,
    PEOPLES,
    ANYBODYS,
};
/* Where nobody has spoken yet there may be no chat. */
static json_t *list_chat(const struct play_role *role)
{
    const struct platform_client *client = &play_stage()->bots[play.stage.bot].client;
    return client->run(client->fake, json_pack("{s:s,s:o}", "do", "list", "chat", chat_of(role)));
}

/* The newest message of the chat that holds the part, a new reference; and how many there are. */
static json_t *find_message(const struct play_role *role, enum whose whose, const char *part,
                            long *ret_count)
{
    json_t *list = list_chat(role), *found = NULL;
    const json_t *messages = json_object_get(list, "messages");
    const char *hidden = play.program->play->hidden;
    *ret_count = 0;
    for (size_t i = 0; i < json_array_size(messages); i++) {
        json_t *message = json_array_get(messages, i);
        bool is_ours = platform_flag(message, "is_ours", false);
        if (whose == OURS_WITH_BUTTONS && !is_ours) { /* older ones may hold the same words */
            json_decref(found);
            found = NULL;
        }
        if ((whose != ANYBODYS && is_ours != (whose != PEOPLES)) ||
            (whose == OURS_WITH_BUTTONS &&
             json_array_size(json_object_get(message, "buttons")) == 0) ||
            (hidden != NULL && platform_flag(message, hidden, false)) ||
            strstr(platform_text(message, "text", ""), part) == NULL)
            continue;
        json_decref(found);
        found = json_incref(message);
        ++*ret_count;
    }
    json_decref(list);
    return found;
}

static void await_message(const struct play_role *role, enum whose whose, const char *part)
{
    long count;
    for (long long until = play_deadline();;) {
        json_t *message = find_message(role, whose, part, &count);
        if (message != NULL) {
            play_set_it(message);
            return;
        }
        if (!play_look_again(until))
            play_fail("no message%s with \"%s\" came",
                      whose == OURS_WITH_BUTTONS ? " with buttons" : "", part);
    }
}

/* Exactly so many, and at rest, so that none can come. */
static void expect_messages(const struct play_role *role, const char *part, long low, long high)
{
    long count;
    for (long long until = play_deadline(); !play.is_now && low > 0;) {
        json_decref(find_message(role, OURS, part, &count));
        if (count >= low || !play_look_again(until))
            break;
    }
    if (!play.is_now)
        stage_rest(play_service());
    json_t *message = find_message(role, OURS, part, &count);
    if (count < low || count > high)
        play_fail("%ld messages of ours with \"%s\", wanted %ld", count, part, low);
    if (message != NULL)
        play_set_it(message);
}

/* Two looks: what the first one sees is committed before the second is answered. */
static void await_receipts(void)
{
    int looks = 0;
    for (long long until = play_deadline(); looks < 2;) {
        struct http_answer answer = stage_ask(play_service(), "GET", "/api/status", NULL);
        bool is_sent = answer.status == 200 && strstr(answer.body, "\"outbox\":{\"open\":0,");
        http_answer_fini(&answer);
        looks = is_sent ? looks + 1 : 0;
        if (looks < 2 && !play_look_again(until))
            play_fail("something is still to be sent");
    }
}

/* bot[@CHAT] [xN]: PART, card[@CHAT]: PART, message[@CHAT]: PART */
void play_see(char *line)
{
    char *part = play_split(line, ": ");
    if (part == NULL)
        play_fail("nothing stands behind a colon");
    part = strcmp(part, "*") == 0 ? part + 1 : play_expand_words(part);
    char *word = play_next_word(&line), *at = play_split(word, "@");
    const struct play_role *role = play_need_role(at == NULL ? "ann" : at);
    long low, high;
    if (*line != '\0' && (*line != 'x' || !play_read_count(line, &low, &high)))
        play_fail("a count is written xN or xN-M, not %s", line);
    if (strcmp(word, "bot") == 0 && *line != '\0') {
        expect_messages(role, part, low, high);
    } else if (strcmp(word, "card") == 0) { /* a newer one than what was said */
        await_message(role, OURS_WITH_BUTTONS, part);
        play_keep("card", json_incref(json_object_get(play.it, "id")));
        await_receipts();
    } else {
        await_message(role, strcmp(word, "bot") == 0 ? OURS : ANYBODYS, part);
    }
}

/* one of [xN-M] bot[@CHAT]: PART | bot[@CHAT]: PART ...: so many messages fit one of them (1). */
static void do_one_of(char *rest)
{
    long sum = 0, low = 1, high = 1, count;
    if (*rest == 'x' && !play_read_count(play_next_word(&rest), &low, &high))
        play_fail("a count is written xN or xN-M");
    stage_rest(play_service());
    for (char *one = rest, *next; one != NULL; one = next) {
        next = play_split(one, " | ");
        char *part = play_split(one, ": "), *chat = play_split(one, "@");
        if (part == NULL)
            play_fail("one of bot: PART | bot@CHAT: PART");
        json_decref(find_message(play_need_role(chat == NULL ? "ann" : chat), OURS,
                                 play_expand_words(part), &count));
        sum += count;
    }
    if (sum < low || sum > high)
        play_fail("%ld messages, wanted %ld", sum, low);
}

/* Messages of ours in the chat. */
static long count_ours(const struct play_role *role)
{
    long count;
    json_decref(find_message(role, OURS, "", &count));
    return count;
}

/* sent[@CHAT] N, N-M, >N, or +N: since the mark */
static void do_sent(char *rest)
{
    const struct play_role *role = play_need_role(*rest == '@' ? play_next_word(&rest) + 1 : "ann");
    const json_t *before = json_object_get(json_object_get(play.counters, ":sent"), role->name);
    long low, high, marked = *rest == '+' ? (long)json_integer_value(before) : 0;
    if (!play_read_count(rest + (*rest == '+'), &low, &high))
        play_fail("sent N, or sent +N since the mark");
    expect_messages(role, "", low + marked, high == LONG_MAX ? high : high + marked);
}

/* in order[@CHAT] N WORD: WORD0 WORD1 ... stand in messages of ours, each once. */
static void do_in_order(char *rest)
{
    const struct play_role *role = play_need_role(*rest == '@' ? play_next_word(&rest) + 1 : "ann");
    long count = strtol(play_expand(play_next_word(&rest)), NULL, 10), next = 0;
    stage_rest(play_service());
    json_t *list = list_chat(role);
    const json_t *messages = json_object_get(list, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *message = json_array_get(messages, i);
        const char *at = platform_text(message, "text", "");
        for (; platform_flag(message, "is_ours", false) && (at = strstr(at, rest)) != NULL; at++)
            if (strtol(at + strlen(rest), NULL, 10) != next++)
                play_fail("out of order: %.40s", at);
    }
    json_decref(list);
    if (next != count)
        play_fail("%ld of them, wanted %ld", next, count);
}

/* WHO[@CHAT] [{MEMBERS}]: TEXT; more members of the command may stand in between. */
static void say(const struct play_role *who, const struct play_role *where, json_t *members,
                const char *text)
{
    json_t *command =
        json_pack("{s:s,s:o,s:s*}", "do", "say", "chat", chat_of(where), "text", text);
    if (who->user != NULL)
        json_object_set_new(command, "user", json_loads(who->user, JSON_DECODE_ANY, NULL));
    json_object_update(command, members);
    json_decref(members);
    json_t *said = stage_tell(play_stage(), command);
    json_t *id = json_object_get(said, "message_id");
    play_keep("said", json_incref(id != NULL ? id : json_object_get(said, "id")));
    play_set_it(said);
}

/* WHO[@CHAT] writes BYTES WORD: TEXT — the text, then WORD with a number for each #, to the end.
 * */
static void write_long(const struct play_role *who, const struct play_role *where, char *rest)
{
    char *made = NULL, *prefix = play_split(rest, ": ");
    size_t size = 0, wanted = strtoul(play_next_word(&rest), NULL, 10);
    long count = 0;
    FILE *out = open_memstream(&made, &size);
    if (out == NULL || prefix == NULL)
        play_fail("WHO writes BYTES WORD: TEXT");
    for (fputs(play_expand_words(prefix), out); fflush(out) == 0 && size < wanted; count++) {
        for (const char *at = rest; *at != '\0'; at++)
            *at == '#' ? fprintf(out, "%ld", count) : fputc(*at, out);
        fputc(' ', out);
    }
    fputs("the end", out);
    fclose(out);
    play_keep("words", json_integer(count));
    say(who, where, NULL, play_scrap(made));
}

/* WHO[@CHAT] presses LABEL [of ID][: TOAST]. The newest message that has the button. */
static void press(const struct play_role *who, const struct play_role *where, char *rest)
{
    char *toast = play_split(rest, ": "), *end = rest + strlen(rest);
    if (toast == NULL && end > rest && end[-1] == ':') { /* any toast */
        toast = end;
        end[-1] = '\0';
    }
    char *of = play_split(rest, " of ");
    json_t *id = of == NULL ? NULL : play_parse_json(of);
    json_t *list = list_chat(where), *messages = json_object_get(list, "messages");
    for (size_t i = json_array_size(messages); i > 0 && id == NULL; i--) {
        json_t *message = json_array_get(messages, i - 1), *buttons, *button;
        buttons = json_object_get(message, "buttons");
        size_t j;
        json_array_foreach(buttons, j, button)
        {
            if (id == NULL &&
                strcmp(platform_text(button, "text", platform_text(button, "label", "")), rest) ==
                    0)
                id = json_incref(json_object_get(message, "id"));
        }
    }
    json_decref(list);
    if (id == NULL)
        play_fail("no message has a button %s", rest);
    json_t *command = json_pack("{s:s,s:o,s:o,s:s}", "do", "press", "chat", chat_of(where),
                                "message_id", id, "button", rest);
    if (who->user != NULL)
        json_object_set_new(command, "user", json_loads(who->user, JSON_DECODE_ANY, NULL));
    json_t *answer = stage_tell(play_stage(), command);
    id = json_object_get(answer, "id");
    play_keep("press", json_incref(id != NULL ? id : json_object_get(answer, "event_id")));
    play_set_it(answer);
    json_t *pressed = json_object_get(play.kept, "press");
    for (long long until = play_deadline(); toast != NULL;) {
        play_set_it(stage_tell(play_stage(), json_pack("{s:s,s:O,s:O}", "do", "toast", "id",
                                                       pressed, "event_id", pressed)));
        if (platform_flag(play.it, "is_answered", false))
            break;
        if (platform_flag(play.it, "is_late", false) || !play_look_again(until))
            play_fail("the press of %s was not answered in time", rest);
    }
    if (toast != NULL &&
        strstr(platform_text(play.it, "text", ""), play_expand_words(toast)) == NULL)
        play_fail("the press got \"%s\", wanted \"%s\"", platform_text(play.it, "text", ""), toast);
}

static void do_press(char *rest)
{
    press(play_need_role("ann"), play_need_role("ann"), rest);
}

void play_speak(char *line)
{
    char name[32], *words = line + strcspn(line, " :{");
    snprintf(name, sizeof name, "%.*s", (int)(words - line), line);
    char *chat = play_split(name, "@");
    const struct play_role *who = play_need_role(name),
                           *where = chat == NULL ? who : play_need_role(chat);
    if (strncmp(words, " presses ", 9) == 0) {
        press(who, where, words + 9);
    } else if (strncmp(words, " writes ", 8) == 0) {
        write_long(who, where, words + 8);
    } else {
        json_t *members = NULL;
        words += strspn(words, " ");
        if (*words == '{') {
            char *expanded = play_expand(words);
            members = json_loads(expanded, JSON_DISABLE_EOF_CHECK, NULL);
            size_t len = 0; /* of the object as it stands in the line */
            for (int depth = 0; words[len] != '\0'; len++) {
                depth += words[len] == '{' ? 1 : words[len] == '}' ? -1 : 0;
                if (depth == 0 && words[len] == '}' && ++len > 0)
                    break;
            }
            words += len;
            if (members == NULL)
                play_fail("no JSON: %s", expanded);
        }
        if (*words != ':' && *words != '\0')
            play_fail("WHO[@CHAT] [{...}]: TEXT");
        const char *text = *words == '\0' ? NULL : words + 1 + (words[1] == ' ');
        say(who, where, members, text == NULL ? NULL : play_expand_words(text));
    }
}

static void do_receipts(char *rest)
{
    (void)rest;
    await_receipts();
}

static void do_confirmed(char *rest)
{
    const char *member = play.program->play->confirmed, *part = play_expand_words(rest);
    long count;
    if (member == NULL)
        play_fail("on %s nothing says what is confirmed", play.program->name);
    for (long long until = play_deadline();;) {
        json_t *message = find_message(play_need_role("ann"), PEOPLES, part, &count);
        bool is_confirmed = platform_flag(message, member, false);
        json_decref(message);
        if (is_confirmed)
            return;
        if (!play_look_again(until))
            play_fail("\"%s\" was never confirmed", rest);
    }
}

/* -- time ------------------------------------------------------------------------------------ */
/* From now on count the counters and messages with a +, and the time. */
static void do_mark(char *rest)
{
    (void)rest;
    json_decref(play.counters);
    play.counters = stage_tell(play_stage(), json_pack("{s:s}", "do", "counters"));
    json_t *sent = json_object();
    for (size_t i = 0; i < play.program->play->cast_count; i++) {
        const struct play_role *role = &play.program->play->cast[i];
        json_object_set_new(sent, role->name, json_integer(count_ours(role)));
    }
    json_object_set_new(play.counters, ":sent", sent);
    if (play.stage.service > 0)
        json_object_set_new(play.counters, "wakes",
                            json_integer(stage_process(&play.stage, "wakes")));
    play.mark_ms = play_clock_ms();
}

/* took < MS, took > MS: since mark */
static void check_time(const char *op, long limit, long long since)
{
    long long took = play_clock_ms() - since;
    long factor = (long)sma_clock_scale();
    long slack = *op == '<' && factor > 1 ? SLACK_REAL_MS * factor : 0;
    if (*op == '<' ? took >= limit + slack : took < limit)
        play_fail("it took %lld ms, wanted %s %ld", took, op, limit);
}

static void do_took(char *rest)
{
    const char *op = play_next_word(&rest);
    check_time(op, strtol(rest, NULL, 10), play.mark_ms);
}

static void do_pause(char *rest)
{
    for (long long until = play_clock_ms() + strtol(rest, NULL, 10); play_clock_ms() < until;)
        (void)play_look_again(0);
}

/* talk [LOW-HIGH] [within MS]: Ann says something new and is answered so often; talk later: that
 * is looked for by `talks`. */
static void do_talk(char *rest)
{
    char text[64], part[80];
    long low = 1, high = 1, limit = 0;
    if (isdigit((unsigned char)*rest) && !play_read_count(play_next_word(&rest), &low, &high))
        play_fail("talk LOW-HIGH");
    if (strncmp(rest, "within ", 7) == 0)
        limit = strtol(rest + 7, NULL, 10);
    snprintf(text, sizeof text, "message %u of the storm.", play.talk_next++);
    snprintf(part, sizeof part, "You said: %s", text);
    const struct play_role *ann = play_need_role("ann");
    long long asked = play_clock_ms();
    (void)play_stage();
    say(ann, ann, NULL, text);
    if (strcmp(rest, "later") == 0)
        return;
    await_message(ann, OURS, part);
    if (limit > 0)
        check_time("<", limit, asked);
    expect_messages(ann, part, low, high);
}

/* talks: everything that `talk` said in this world is answered once, whatever the platform still
 * brings again. */
static void do_talks(char *rest)
{
    char part[80];
    (void)rest;
    stage_rest(play_service());
    for (unsigned i = play.talk_first; i < play.talk_next; i++) {
        snprintf(part, sizeof part, "You said: message %u of the storm.", i);
        expect_messages(play_need_role("ann"), part, 1, 1);
    }
}

const struct play_verb play_talk_verbs[] = {
    {"receipts", do_receipts}, {"confirmed", do_confirmed},
    {"mark", do_mark},         {"took", do_took},
    {"pause", do_pause},       {"talk", do_talk},
    {"talks", do_talks},       {"it", do_it},
    {"keep", do_keep},         {"let", do_let},
    {"here", do_here},         {"text", do_text},
    {"press", do_press},       {"sent", do_sent},
    {"in order", do_in_order}, {"one of", do_one_of},
};
const size_t play_talk_verb_count = SMA_COUNT_OF(play_talk_verbs);
