/*
 * Aim: the chat on a terminal, judged by what its user sees: the line, what is sent, what stands on
 *      the screen afterwards, and that nothing but known sequences reaches the terminal.
 * Method: the client in a child process on a pseudo terminal; its bytes go into a terminal of the
 *         test's (support/vt.h); the service is the test.
 */
#include "chat_talk.h"

static char *all(const struct talk *talk)
{
    return vt_text(talk->vt);
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        count++;
    return count;
}

/* A message from typing to its end. */
static void exchange(struct talk *talk, const char *typed, const char *sent, const char *answer,
                     const char *seen)
{
    char id[64];
    type(talk, typed);
    expect_message(talk, sent, id);
    put_accepted(talk, id, 7);
    put_text(talk, 7, answer);
    put_done(talk, id, 7, "done", answer);
    wait_row(talk, seen);
    wait_line(talk, ">");
}

/* -- the line ---------------------------------------------------------------------------------- */
CASE(a_greeting_says_who_answers_and_how_to_leave)
{
    struct talk *talk = start_and_greet();
    CHECK(vt_find(talk->vt, "/exit or Ctrl-D leaves") >= 0);
    CHECK(vt_find(talk->vt, "/help") >= 0);
    CHECK(talk->vt->is_paste_on);
    type(talk, "/exit\r");
    finish(talk, 0);
    end(talk);
    close_server();
    talk = start_and_greet();
    type(talk, "/quit\r");
    finish(talk, 0);
    end(talk);
    close_server();
}

CASE(what_is_deleted_is_what_was_seen)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    char id[64];
    type(talk, "你好世界");
    wait_line(talk, "> 你好世界");
    CHECK_INT(10, talk->vt->column);
    type(talk, "\x7f\x7f");
    wait_line(talk, "> 你好");
    CHECK_INT(6, talk->vt->column);
    type(talk, "👨‍👩‍👧🇩🇪e\xCC\x81");
    type(talk, "\x7f\x7f\x7f");
    wait_line(talk, "> 你好");
    type(talk, "\x1b[D\x1b[D大\x1b[3~\r"); /* before both; one in, one out behind it */
    expect_message(talk, "大好", id);
    put_done(talk, id, 7, "done", "");
    wait_row(talk, "> 大好");
}

CASE(keys_edit_the_line)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    char id[64];
    type(talk, "one two three\x17"
               "four\x01zero \x05!"); /* Ctrl-W, Ctrl-A, Ctrl-E */
    wait_line(talk, "> zero one two four!");
    type(talk, "\x1b[1;5D\x1b[1;5D\x0b"); /* two words left, the rest goes */
    wait_line(talk, "> zero one");
    type(talk, "\x15\x19\x19"); /* Ctrl-U, and twice back */
    wait_line(talk, "> zero one zero one");
    type(talk, "\r");
    expect_message(talk, "zero one zero one ", id);
    put_done(talk, id, 7, "done", "");
}

CASE(lines_of_before_come_back_also_in_the_next_chat)
{
    char id[64], path[1200], mode[8];
    struct stat status;
    struct talk *talk = start_and_greet();
    exchange(talk, "first\r", "first", "ok one", "ok one");
    exchange(talk, "\x1b[200~a\nb\x1b[201~\r", "a\nb", "ok two", "ok two");
    exchange(talk, " secret\r", " secret", "ok three", "ok three");         /* a blank: not kept */
    exchange(talk, "use sk-12345\r", "use sk-12345", "ok four", "ok four"); /* nor is a key */
    type(talk, "half\x1b[A");
    wait_line(talk, "  b");
    type(talk, "\x1b[A\x1b[A"); /* to its first line, to the one before */
    wait_line(talk, "> first");
    type(talk, "\x1b[B\x1b[B\x1b[B");
    wait_line(talk, "> half");
    type(talk, "\x03");
    wait_line(talk, ">");
    leave(talk);
    snprintf(path, sizeof path, "%s/.ship/chat-history", dir);
    CHECK(stat(path, &status) == 0);
    snprintf(mode, sizeof mode, "%o", status.st_mode & 07777);
    CHECK_TEXT("600", mode);
    talk = start_and_greet();
    type(talk, "\x12"
               "irs"); /* Ctrl-R */
    wait_row(talk, "search: irs");
    wait_row(talk, "  first");
    type(talk, "\r");
    wait_line(talk, "> first");
    type(talk, "\r");
    expect_message(talk, "first", id);
    put_done(talk, id, 7, "done", "");
    leave(talk);
    CHECK(unlink(path) == 0);
}

CASE(three_pasted_lines_are_one_message)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    char id[64];
    type(talk, "\x1b[200~one\rtwo\r\nthr\x1b[31mee\x1b[201~");
    wait_row(talk, "> one");
    wait_line(talk, "  thr[31mee");
    CHECK(!is_ready(talk->server, 100)); /* nothing went by itself */
    type(talk, "\r");
    expect_message(talk, "one\ntwo\nthr[31mee", id);
    put_done(talk, id, 7, "done", "");
}

CASE(enter_with_a_modifier_begins_a_new_line)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    char id[64];
    type(talk, "a\x1b\rb\x1b[13;2uc\x1b[27;2;13~d\x1b[13;5u"
               "e\\\rf\r");
    expect_message(talk, "a\nb\nc\nd\ne\nf", id);
    put_done(talk, id, 7, "done", "");
}

CASE(an_interrupt_clears_the_line_then_stops_then_leaves)
{
    struct talk *talk = start_and_greet();
    char id[64];
    type(talk, "half a line");
    wait_line(talk, "> half a line");
    type(talk, "\x03");
    wait_line(talk, ">");
    type(talk, "go\r");
    expect_message(talk, "go", id);
    put_accepted(talk, id, 7);
    type(talk, "more\x1b[99;5u"); /* Ctrl-C as kitty says it */
    wait_line(talk, ">");
    type(talk, "\x03");
    json_t *stop = receive(talk);
    CHECK_TEXT("stop", json_string_value(json_object_get(stop, "type")));
    json_decref(stop);
    put_done(talk, id, 7, "cancelled", "");
    CHECK(kill(talk->pid, SIGINT) == 0); /* a signal does the same */
    finish(talk, 0);
    end(talk);
    close_server();
}

/* -- what stands above ------------------------------------------------------------------------- */
CASE(an_answer_streams_above_the_line_and_stands_once)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    char id[64];
    type(talk, "hi\r");
    expect_message(talk, "hi", id);
    put_accepted(talk, id, 7);
    put_progress(talk, 7, "started", "");
    wait_row(talk, "...");
    put_progress(talk, 7, "text", "Hel");
    wait_row(talk, "Hel");
    type(talk, "typed mean");
    put_progress(talk, 7, "text", "Hello **wor");
    wait_row(talk, "Hello **wor");
    wait_line(talk, "> typed mean");
    put_progress(talk, 7, "text", "Hello **world** and");
    int row = wait_row(talk, "Hello world and");
    CHECK(talk->vt->cells[row][6].is_bold && !talk->vt->cells[row][0].is_bold);
    type(talk, "while");
    put_progress(talk, 7, "finished", "");
    put_text(talk, 7, "Hello **world** and all");
    put_done(talk, id, 7, "done", "Hello **world** and all");
    wait_row(talk, "Hello world and all");
    wait_line(talk, "> typed meanwhile");
    char *text = all(talk);
    CHECK_INT(1, count_of(text, "Hello"));
    CHECK_INT(1, count_of(text, "typed"));
    CHECK_INT(0, count_of(text, "..."));
    free(text);
    type(talk, "\x03");
}

CASE(tools_leave_a_line_and_words_before_them_stay)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    char id[64];
    type(talk, "look\r");
    expect_message(talk, "look", id);
    put_accepted(talk, id, 7);
    put_progress(talk, 7, "text", "Let me look.");
    put_progress(talk, 7, "tool", "exec_shell");
    wait_row(talk, "· exec_shell");
    wait_row(talk, "exec_shell ...");
    put_progress(talk, 7, "text", "Two files.");
    put_text(talk, 7, "Two files.");
    put_done(talk, id, 7, "done", "Two files.");
    wait_row(talk, "Two files.");
    wait_no_row(talk, "exec_shell ...");
    wait_line(talk, ">");
    char *text = all(talk);
    CHECK_INT(1, count_of(text, "Let me look.\n· exec_shell\nTwo files.\n>"));
    free(text);
}

CASE(markdown_is_shown_as_it_is_meant)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    exchange(talk, "t\r", "t",
             "## Title\n\n| 名字 | n |\n|---|--:|\n| 你好 | 1 |\n| b | 22 |\n\n- item\n- "
             "[x](https://e.org)\n\n"
             "```c\nint  a = *b;\n```\n> said\n\n`code`",
             "code");
    char *text = all(talk);
    CHECK(strstr(text, "\nTitle\n") != NULL);
    CHECK(strstr(text, "名字 |  n\n─────┼───\n你好 |  1\nb    | 22\n") != NULL);
    CHECK(strstr(text, "x (https://e.org)") != NULL);
    CHECK(strstr(text, "\nint  a = *b;\n") != NULL);
    CHECK(strstr(text, "│ said") != NULL);
    CHECK(strstr(text, "**") == NULL && strstr(text, "##") == NULL && strstr(text, "`") == NULL);
    free(text);
    int row = vt_find(talk->vt, "Title");
    CHECK(talk->vt->cells[row][0].is_bold);
}

CASE(without_colours_an_answer_is_what_the_model_wrote)
{
    setenv("NO_COLOR", "1", 1);
    struct talk *talk = start_and_greet();
    exchange(talk, "t\r", "t", "## Title\n**b** `c`\n| a | b |", "| a | b |");
    char *text = all(talk);
    CHECK(strstr(text, "## Title\n**b** `c`\n| a | b |\n") != NULL);
    free(text);
    leave(talk);
    unsetenv("NO_COLOR");
}

CASE(a_file_that_is_sent_is_shown_with_its_path)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet_sized(200, 24); /* the path in one row */
    char wanted[1200];
    exchange(talk, "t\r", "t",
             "Here it is:\n@attach document out/plan.txt | the plan\n```\n@attach photo x\n```",
             "plan.txt (the plan)");
    char *text = all(talk);
    snprintf(wanted, sizeof wanted, "file: %s/out/plan.txt (the plan)\n", dir);
    CHECK(strstr(text, wanted) != NULL);
    CHECK(strstr(text, "@attach document") == NULL);
    CHECK(strstr(text, "\n@attach photo x\n") != NULL); /* code is no file */
    free(text);
}

CASE(hostile_sequences_stay_inert)
{
    struct talk *talk = start_and_greet();
    char id[64];
    static const char evil[] = "a\x1b[2J\x1b]0;t\x07\x1b]52;c;aGk=\x07\xC2\x9B"
                               "31m **b\x1b[8m** \r\x08 [l\x1b[1m](https://e.org/\x1b[5m)"
                               " `c\x1bPx\x1b\\` \xE2\x80\xAE"
                               "z\x0f";
    type(talk, "t\r");
    expect_message(talk, "t", id);
    put_accepted(talk, id, 7);
    put_progress(talk, 7, "tool", "ev\x1b[2Jil");
    put_progress(talk, 7, "text", evil);
    put_text(talk, 7, evil);
    put_line(talk,
             json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:[{s:s, s:s}]}", "type", "message",
                       "seq", 7, "intent", "approval", "id", "1", "title", "T\x1b[2J", "text", evil,
                       "plain", evil, "buttons", "text", "B\x1b[2J", "data", "sa1:x:1:y:z"));
    wait_row(talk, "1 B[2J");
    put_done(talk, id, 7, "done", "");
    wait_row(talk, "Ada answers with"); /* nothing has cleared the screen */
    CHECK(vt_find(talk->vt, "\\u{202E}") >= 0);
    leave(talk); /* looks whether anything but styles came through */
}

CASE(ten_thousand_lines_arrive)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    char id[64], *big = malloc(200000);
    size_t len = 0;
    CHECK(big != NULL);
    for (int i = 1; i <= 10000; i++)
        len += (size_t)sprintf(big + len, "line %d\n", i);
    type(talk, "t\r");
    expect_message(talk, "t", id);
    put_accepted(talk, id, 7);
    for (size_t part = 2000; part < len; part += len / 20) {
        char *text = strndup(big, part);
        put_progress(talk, 7, "text", text);
        free(text);
    }
    type(talk, "still here");
    wait_line(talk, "> still here");
    put_text(talk, 7, big);
    put_done(talk, id, 7, "done", big);
    wait_row(talk, "line 10000");
    wait_line(talk, "> still here");
    char *text = all(talk);
    const char *at = text;
    for (int i = 1; i <= 10000; i++) { /* each once, in order, nothing between */
        char line[32];
        int own = sprintf(line, "\nline %d\n", i);
        const char *found = strstr(at, line);
        CHECK(found != NULL && (i == 1 || found == at));
        at = found + own - 1;
    }
    free(text);
    free(big);
    type(talk, "\x03");
}

static void resize(bool is_reflowed)
{
    struct talk *talk = start_and_greet();
    char id[64];
    exchange(talk, "t\r", "t", "above", "above");
    type(talk, "a line that is longer than the window will be after it was made narrower");
    wait_row(talk, "made narrower");
    struct winsize size = {.ws_row = 12, .ws_col = 30};
    vt_resize(talk->vt, 30, 12, is_reflowed);
    CHECK(ioctl(talk->master, TIOCSWINSZ, &size) == 0 && kill(talk->pid, SIGWINCH) == 0);
    wait_row(talk, "> a line that is longer than");
    wait_line(talk, "  as made narrower");
    type(talk, "!\r");
    expect_message(talk,
                   "a line that is longer than the window will be after it was made narrower!", id);
    put_done(talk, id, 8, "done", "");
    wait_line(talk, ">");
    char *text = all(talk);
    CHECK_INT(1, count_of(text, "\n> t\nabove\n> a line that is longer"));
    CHECK_INT(1, count_of(text, "longer"));
    free(text);
    leave(talk);
}

CASE(a_window_that_changes_its_size_loses_nothing)
{
    resize(true);
    setenv("XTERM_VERSION", "test", 1); /* one of those that cut rows */
    resize(false);
    unsetenv("XTERM_VERSION");
}

/* -- questions --------------------------------------------------------------------------------- */
static void put_card(struct talk *talk, int seq, const char *id)
{
    char yes[80], no[80], always[80];
    snprintf(yes, sizeof yes, "sa1:%s:1:y:s", id);
    snprintf(no, sizeof no, "sa1:%s:1:n:s", id);
    snprintf(always, sizeof always, "sa1:%s:1:a:s", id);
    put_line(
        talk,
        json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]}",
                  "type", "message", "seq", seq, "intent", "approval", "id", id, "title",
                  "Approval needed", "text", "Run this command:\n```\nls -la\n```", "plain",
                  "Run\nReply: yes / no", "buttons", "text", "Approve", "data", yes, "text",
                  "Refuse", "data", no, "text", "Always here", "data", always));
}

static void put_outcome(struct talk *talk, int seq, const char *id)
{
    put_line(talk,
             json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s, s:[]}", "type", "message", "seq", seq,
                       "intent", "outcome", "id", id, "title", "Approved", "text", "Approved: `ls`",
                       "plain", "Approved: ls -la\nDecided by: jo", "buttons"));
}

/* As the service takes it: accepted, the outcome of this card (NULL: none), done. */
static void expect_press(struct talk *talk, const char *data, const char *card)
{
    json_t *press = receive(talk);
    CHECK_TEXT("press", json_string_value(json_object_get(press, "type")));
    CHECK_TEXT(data, json_string_value(json_object_get(press, "data")));
    CHECK(json_string_length(json_object_get(press, "id")) > 0);
    put_line(talk, json_pack("{s:s, s:s, s:i, s:s, s:s}", "type", "accepted", "id",
                             json_string_value(json_object_get(press, "id")), "seq", 9, "verdict",
                             "accepted", "notice", card == NULL ? "" : "Approved."));
    if (card != NULL)
        put_outcome(talk, 7, card);
    put_done(talk, json_string_value(json_object_get(press, "id")), 9, "done", "");
    json_decref(press);
}

CASE(a_question_is_answered_by_one_key)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    char id[64];
    type(talk, "go\r");
    expect_message(talk, "go", id);
    put_accepted(talk, id, 7);
    put_card(talk, 7, "one");
    put_done(talk, id, 7, "parked", "");
    wait_row(talk, "y/1 Approve  n/2 Refuse  3 Always here");
    CHECK(vt_find(talk->vt, "Reply: yes / no") < 0); /* how is said once */
    usleep(700000); /* the calm before a key decides: time is what is tested */
    type(talk, "y");
    expect_press(talk, "sa1:one:1:y:s", "one");
    wait_row(talk, "Approved: ls -la · Decided by: jo");
    wait_no_row(talk, "y/1 Approve");
    put_text(talk, 7, "done it");
    wait_row(talk, "done it");
    wait_line(talk, ">");
    char *text = all(talk);
    CHECK_INT(1, count_of(text, "Approved"));
    free(text);
}

CASE(several_questions_are_answered_one_by_one)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    put_card(talk, 7, "one");
    put_card(talk, 7, "two");
    wait_row(talk, "y/1 Approve");
    usleep(700000);
    type(talk, "n");
    expect_press(talk, "sa1:two:1:n:s", NULL); /* the newest; the other one is shown anew */
    usleep(700000);
    type(talk, "1");
    json_t *press = receive(talk);
    CHECK_TEXT("sa1:one:1:y:s", json_string_value(json_object_get(press, "data")));
    put_line(talk, json_pack("{s:s, s:s, s:i, s:s, s:s}", "type", "accepted", "id",
                             json_string_value(json_object_get(press, "id")), "seq", 9, "verdict",
                             "accepted", "notice", "Already decided by ann."));
    put_done(talk, json_string_value(json_object_get(press, "id")), 9, "done", "");
    json_decref(press);
    wait_row(talk, "Already decided by ann.");
    wait_no_row(talk, "y/1 Approve");
    char *text = all(talk);
    CHECK_INT(3, count_of(text, "Approval needed"));
    free(text);
}

CASE(two_chats_keep_the_lines_of_both)
{
    char path[1200], text[4096] = "";
    struct talk *first = start_and_greet();
    struct talk *second = start_sized(80, 24);
    greet(second);
    wait_row(second, "Ada answers with");
    exchange(first, "from first\r", "from first", "ok", "ok");
    exchange(second, "from second\r", "from second", "ok", "ok");
    exchange(first, "first again\r", "first again", "well", "well");
    type(second, "\x04");
    finish(second, 0);
    end(second);
    leave(first);
    snprintf(path, sizeof path, "%s/.ship/chat-history", dir);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    CHECK(strstr(text, "from\\040first\nfrom\\040second\nfirst\\040again\n") != NULL);
    CHECK(unlink(path) == 0);
}

CASE(who_types_a_sentence_decides_nothing)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    char id[64];
    type(talk, "go\r");
    expect_message(talk, "go", id);
    put_accepted(talk, id, 7);
    put_card(talk, 7, "one");
    wait_row(talk, "y/1 Approve");
    type(talk, "y"); /* typed before the card could be read */
    wait_line(talk, "> y");
    CHECK(!is_ready(talk->server, 900));
    type(talk, "\x7f");
    wait_line(talk, ">");
    type(talk, "n");
    type(talk, "ot yet");
    wait_line(talk, "> not yet");
    CHECK(!is_ready(talk->server, 600));
    type(talk, "\r");
    expect_message(talk, "not yet", id);
    type(talk, "\x1b[200~y\x1b[201~"); /* what is pasted was not pressed */
    wait_line(talk, "> y");
    CHECK(!is_ready(talk->server, 600));
    type(talk, "\x03"
               "2\r"); /* Enter decides at once */
    expect_press(talk, "sa1:one:1:n:s", NULL);
}

/* -- the service goes and comes ---------------------------------------------------------------- */
CASE(a_service_that_comes_back_gets_everything_once)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    char id[64], again[64], second[64];
    type(talk, "before\r");
    expect_message(talk, "before", id);
    put_accepted(talk, id, 7);
    put_progress(talk, 7, "text", "half an ans");
    put_text(talk, 7, "delivered before");
    wait_row(talk, "delivered before");
    type(talk, "mid-ty");
    wait_line(talk, "> mid-ty");
    close(talk->server);
    close_server();
    wait_row(talk, "The service is away.");
    type(talk, "ping\r");
    wait_row(talk, "> mid-typing");
    type(talk, "rm -rf x");
    wait_line(talk, "> rm -rf x");
    open_server();
    greet(talk);
    expect_message(talk, "before", again);
    CHECK_TEXT(id, again); /* the service knows it by its id */
    expect_message(talk, "mid-typing", second);
    wait_row(talk, "The service is back.");
    put_accepted(talk, again, 7);
    put_done(talk, again, 7, "done", "an answer"); /* delivered while nobody listened */
    wait_row(talk, "an answer");
    put_accepted(talk, second, 8);
    put_text(talk, 7, "delivered before"); /* the life before did not know that it arrived */
    put_text(talk, 8, "second answer");
    put_done(talk, second, 8, "done", "second answer");
    wait_row(talk, "second answer");
    wait_line(talk, "> rm -rf x");
    char *text = all(talk);
    CHECK_INT(1, count_of(text, "second answer"));
    CHECK_INT(1, count_of(text, "\nan answer"));
    CHECK_INT(1, count_of(text, "> before"));
    CHECK_INT(1, count_of(text, "delivered before"));
    free(text);
    type(talk, "\x03");
}

CASE(what_a_stopping_service_refuses_goes_to_its_successor)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    char id[64], again[64];
    type(talk, "now\r");
    expect_message(talk, "now", id);
    put_line(talk, json_pack("{s:s, s:s, s:s, s:b}", "type", "error", "id", id, "text",
                             "the service is stopping", "stopping", 1));
    close(talk->server);
    greet(talk);
    expect_message(talk, "now", again);
    CHECK_TEXT(id, again);
    put_accepted(talk, id, 7);
    put_text(talk, 7, "there");
    put_done(talk, id, 7, "done", "there");
    wait_row(talk, "there");
}

CASE(runs_that_stay_parked_are_forgotten_at_last)
{
    SMA_AUTO(leavep) struct talk *talk = start_and_greet();
    char id[64], text[32];
    for (int i = 0; i < 60; i++) { /* more than are kept */
        snprintf(text, sizeof text, "message %d", i);
        type(talk, text);
        type(talk, "\r");
        expect_message(talk, text, id);
        put_accepted(talk, id, i + 1);
        put_done(talk, id, i + 1, "parked", "");
    }
    CHECK(vt_find(talk->vt, "nothing was sent") < 0);
}

CASE(who_is_refused_does_not_try_again)
{
    open_server();
    struct talk *talk = start_sized(80, 24);
    CHECK(is_ready(listener, PATIENCE_MS));
    talk->server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    put_line(talk,
             json_pack("{s:s, s:s, s:s}", "type", "error", "id", "", "text", "too many terminals"));
    close(talk->server);
    talk->server = -1;
    finish(talk, 1);
    CHECK(vt_find(talk->vt, "too many terminals") >= 0);
    end(talk);
    close_server();
}

/* What comes at the keyboard is anything: the client stays, and goes when it is told to. */
CASE(noise_at_the_keyboard_ends_nothing)
{
    struct talk *talk = start_and_greet();
    const char *seconds = getenv("SMA_NOISE_SECONDS");
    unsigned seed =
        (unsigned)(getenv("SMA_NOISE_SEED") == NULL ? 1 : atoi(getenv("SMA_NOISE_SEED")));
    long long until = now_ms() + (seconds == NULL ? 2 : atoi(seconds)) * 1000LL;
    char sink[65536];
    CHECK(fcntl(talk->master, F_SETFL, O_NONBLOCK) == 0);
    while (now_ms() < until) {
        char bytes[64];
        static const char *const pieces[] = {
            "\x1b[200~", "\x1b[201~",          "\x1b[A",    "\x1b[13;2u", "\x12", "\r",
            "你",        "👨‍👩‍👧", "\x1b[1;5D", "\x17",       "\x19", "\x0b"};
        size_t len = (size_t)rand_r(&seed) % sizeof bytes;
        for (size_t i = 0; i < len; i++) {
            bytes[i] = (char)rand_r(&seed);
            if (bytes[i] == '\x04' || bytes[i] == '\x1a' || bytes[i] == '\x03')
                bytes[i] = 'x'; /* not to leave before the time */
        }
        const char *piece = pieces[(size_t)rand_r(&seed) % SMA_COUNT_OF(pieces)];
        ssize_t done = write(talk->master, bytes, len);
        done = write(talk->master, piece, strlen(piece));
        (void)done;
        if (is_ready(talk->master, 1))
            pull(talk);
        if (is_ready(talk->server, 0))
            CHECK(recv(talk->server, sink, sizeof sink, 0) > 0);
        int status;
        CHECK_INT(0, waitpid(talk->pid, &status, WNOHANG));
    }
    CHECK(kill(talk->pid, SIGTERM) == 0);
    finish(talk, 128 + SIGTERM);
    end(talk);
    close_server();
}

int main(void)
{
    char path[1200];
    snprintf(dir, sizeof dir, "%s/sma_live_XXXXXX",
             getenv("TMPDIR") == NULL ? "/tmp" : getenv("TMPDIR"));
    CHECK(mkdtemp(dir) != NULL);
    snprintf(socket_path, sizeof socket_path, "%s/%s", dir, SMA_TERMINAL_SOCKET_NAME);
    snprintf(path, sizeof path, "%s/.ship", dir);
    CHECK(mkdir(path, 0700) == 0);
    setenv("TERM", "xterm-256color", 1);
    unsetenv("NO_COLOR");
    unsetenv("TMUX");
    check_run_cases(NULL);
    (void)unlink(strcat(path, "/chat-history"));
    path[strlen(path) - strlen("/chat-history")] = '\0';
    CHECK(rmdir(path) == 0 && rmdir(dir) == 0);
    return check_summary();
}
