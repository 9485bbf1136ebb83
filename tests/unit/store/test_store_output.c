/*
 * Aim: /more sends exactly what the messages of the last answer in this chat had no room for, page
 * by page; /full sends the answer whole. Nobody gets what went elsewhere, nothing comes twice, and
 * the same words are the model's where nothing was cut.
 * Method: the store between actors that keep what they get, with a platform whose parts are ten
 * bytes, of which some are shown.
 */
#include "people_support.h"

#include "actors/store/upkeep_priv.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART_BYTES 10u

static struct world w;
static unsigned event;
static uint64_t last_sent; /* the row of the last answer */

/* -- a platform -------------------------------------------------------------------------------- */
static enum sma_err render(const struct sma_deliver *row, sma_part_fn *each, void *user)
{
    for (size_t at = 0; at < row->text.len; at += PART_BYTES)
        each(user, (struct sma_str){row->text.ptr + at, 1});
    return SMA_ERR_OK;
}

static enum sma_err rest_of(const struct sma_deliver *row, uint32_t part_count,
                            struct sma_buf *rest)
{
    size_t shown = (size_t)part_count * PART_BYTES;
    if (shown >= row->text.len)
        return SMA_ERR_NOTFOUND;
    sma_buf_put(rest, row->text.ptr + shown, row->text.len - shown);
    return rest->err;
}

static const struct sma_adapter_ops cutting_ops = {.name = "test",
                                                   .channel = "test",
                                                   .capabilities = {.has_files = true},
                                                   .render = render,
                                                   .rest = rest_of};
/* As most are: only the dispatcher cuts. */
#define LARGE_PART_BYTES 1500u

static enum sma_err render_large(const struct sma_deliver *row, sma_part_fn *each, void *user)
{
    for (size_t at = 0; at < row->text.len; at += LARGE_PART_BYTES)
        each(user, (struct sma_str){row->text.ptr + at, 1});
    return SMA_ERR_OK;
}

static const struct sma_adapter_ops large_ops = {
    .name = "test", .channel = "test", .render = render_large};
static const struct sma_adapter_ops plain_ops = {
    .name = "test", .channel = "test", .render = render};

static const struct sma_adapter_ops file_ops = {
    .name = "test", .channel = "test", .capabilities = {.has_files = true}, .render = render};

static void open_with(const struct sma_adapter_ops *ops)
{
    make_world(&w);
    w.adapters[0].ops = ops;
    open_world(&w);
}

/* -- talk -------------------------------------------------------------------------------------- */
struct sent
{
    char text[1 << 18];
    uint8_t intent;
    uint64_t outbox_id;
};

static void report(const struct sent *sent, uint32_t part_count)
{
    receipt(&w, &(struct sma_receipt){.outbox_id = sent->outbox_id,
                                      .part_count = part_count,
                                      .part = part_count - 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true,
                                      .platform_message_id = SMA_STR("m1")});
    run(&w);
    drop_kept(&w.dispatcher);
}

/* The next delivery; "" when there is none. */
static const struct sent *await_sent(void)
{
    static struct sent sent;
    struct sma_msg *msg = deliver(&w);
    sent = (struct sent){0};
    if (msg == NULL)
        return &sent;
    const struct sma_deliver *body = SMA_MSG_BODY(msg, struct sma_deliver);
    snprintf(sent.text, sizeof sent.text, "%.*s", (int)body->text.len, body->text.ptr);
    sent.intent = body->intent;
    sent.outbox_id = body->outbox_id;
    sma_msg_destroy(msg);
    return &sent;
}

static const char *next_key(void)
{
    static char key[16];
    snprintf(key, sizeof key, "k%u", ++event);
    return key;
}

static const struct sent *order(const char *chat, enum sma_control control)
{
    command(&w, chat, next_key(), control);
    run(&w);
    return await_sent();
}

/* The same, and it arrives. */
static const char *hear(const char *chat, enum sma_control control)
{
    const struct sent *sent = order(chat, control);
    report(sent, 1);
    return sent->text;
}

static int say_in(const struct saying *saying)
{
    (void)say_as(&w, TEST, saying);
    run(&w);
    return accepted(&w.test).verdict;
}

/* The end of a run; both are long. */
static void end_with(const char *key, uint64_t seq, const char *output, const char *text)
{
    const struct delivery said = {.key = key, .text = text, .is_fallback = true};
    struct sma_msg *msg =
        SMA_MSG_NEW(SMA_MSG_DONE, struct sma_done, 8192 + strlen(output) + strlen(text));
    struct sma_done *body = SMA_MSG_BODY(msg, struct sma_done);
    body->seq = seq;
    body->outcome = SMA_OUTCOME_OK;
    body->output = sma_msg_dup(msg, sma_str(output));
    body->tool_calls_json = SMA_STR("[]");
    body->turn = SMA_STR("{\"turn\":1}");
    body->wire = SMA_STR("chat");
    body->delivery_count = 1;
    body->deliveries = put_deliveries(msg, &said, 1);
    ask_as_agent(&w, msg);
    run(&w);
}

/* A run that answers, of whose answer so many parts are shown. */
static void answer_in(const char *chat, const char *text, uint32_t part_count)
{
    char key[64];
    drop_kept(&w.test);
    say(&w, chat, next_key(), "tell me");
    run(&w);
    uint64_t seq = run_seq(&w);
    CHECK(seq != 0);
    snprintf(key, sizeof key, "test:chat:%s", chat);
    end_with(key, seq, text, text);
    drop_kept(&w.agent);
    drop_kept(&w.test);
    const struct sent *sent = await_sent();
    CHECK_TEXT(text, sent->text);
    last_sent = sent->outbox_id;
    if (part_count > 0)
        report(sent, part_count);
}

#define NOTHING "Nothing of my last answer was cut: there is no more to send."
#define TEXT "one_______two_______three_____four______five"

/* -- /more ------------------------------------------------------------------------------------- */
static void what_was_cut_comes_page_by_page(void)
{
    open_with(&cutting_ops);
    answer_in("a", TEXT, 2);
    const struct sent *sent = order("a", SMA_CONTROL_MORE);
    CHECK_TEXT(TEXT + 20, sent->text);
    CHECK_INT(SMA_INTENT_ASSISTANT_TEXT, sent->intent);
    report(sent, 1);
    crash_world(&w); /* where it stands is on disk */
    sent = order("a", SMA_CONTROL_MORE);
    CHECK_TEXT(TEXT + 30, sent->text);
    report(sent, 2);
    CHECK_TEXT(NOTHING, hear("a", SMA_CONTROL_MORE));
    end_world(&w);
    open_with(&cutting_ops); /* a newer answer ends the old one's pages */
    answer_in("a", TEXT, 2);
    sent = order("a", SMA_CONTROL_MORE);
    report(sent, 1);
    answer_in("a", "short", 1);
    CHECK_TEXT(NOTHING, hear("a", SMA_CONTROL_MORE));
    end_world(&w);
}

static void a_chat_gets_its_own_rest_only(void)
{
    open_with(&cutting_ops);
    answer_in("a", TEXT, 2);
    CHECK_TEXT(NOTHING, hear("b", SMA_CONTROL_MORE));
    drop_kept(&w.test);
    say(&w, "b", next_key(), "tell him");
    run(&w);
    uint64_t seq = run_seq(&w);
    const struct delivery both[] = {{.key = "test:chat:c", .text = TEXT, .call = 0},
                                    {.key = "test:chat:b", .text = "done", .call = 1}};
    done(&w, seq, "done", both, 2);
    run(&w);
    for (struct sma_msg *msg; (msg = deliver(&w)) != NULL;) {
        uint64_t outbox_id = SMA_MSG_BODY(msg, struct sma_deliver)->outbox_id;
        sma_msg_destroy(msg);
        receipt(&w, &(struct sma_receipt){.outbox_id = outbox_id,
                                          .part_count = 1,
                                          .state = SMA_DELIVERY_SENT,
                                          .is_final = true,
                                          .platform_message_id = SMA_STR("m")});
        run(&w);
    }
    CHECK_TEXT(NOTHING, hear("b", SMA_CONTROL_MORE)); /* c's was cut */
    CHECK_TEXT(NOTHING, hear("c", SMA_CONTROL_MORE)); /* no run of its own */
    end_world(&w);
}

static void what_is_still_being_sent_is_not_repeated(void)
{
    open_with(&cutting_ops);
    answer_in("a", TEXT, 0);
    uint64_t answer = last_sent;
    CHECK_TEXT("", order("a", SMA_CONTROL_MORE)->text); /* it waits its turn */
    receipt(&w, &(struct sma_receipt){.outbox_id = answer,
                                      .part_count = 2,
                                      .part = 1,
                                      .state = SMA_DELIVERY_SENT,
                                      .is_final = true,
                                      .platform_message_id = SMA_STR("m1")});
    run(&w);
    const struct sent *sent = await_sent();
    CHECK_TEXT("My last answer is still being sent. Ask again when it is here.", sent->text);
    report(sent, 1);
    CHECK_TEXT(TEXT + 20, hear("a", SMA_CONTROL_MORE));
    end_world(&w);
}

static void a_cut_talk_stays_cut_off_after_clear(void)
{
    open_with(&cutting_ops);
    answer_in("a", TEXT, 2);
    report(order("a", SMA_CONTROL_CLEAR), 1);
    CHECK_TEXT(NOTHING, hear("a", SMA_CONTROL_MORE));
    end_world(&w);
}

/* The last part of 64 was a note: no line may be missing between what was shown and the page. */
static void nothing_is_missing_behind_the_dispatchers_cut(void)
{
    static char text[1 << 18];
    size_t shown = (SMA_PART_COUNT_MAX - 1) * LARGE_PART_BYTES, len = 0;
    for (unsigned i = 0; len < 2 * shown; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "line %05u\n", i);
    open_with(&large_ops);
    answer_in("a", text, SMA_PART_COUNT_MAX);
    const struct sent *sent = order("a", SMA_CONTROL_MORE);
    size_t rest = strlen(sent->text), repeated = rest + shown - len;
    CHECK(rest >= len - shown && repeated <= 2 * LARGE_PART_BYTES + 2048);
    CHECK(strcmp(text + len - rest, sent->text) == 0);
    report(sent, SMA_PART_COUNT_MAX);
    sent = order("a", SMA_CONTROL_MORE); /* it was cut in turn */
    CHECK(sent->text[0] != '\0' && strlen(sent->text) < rest / 2);
    CHECK(strcmp(text + len - strlen(sent->text), sent->text) == 0);
    report(sent, 30);
    CHECK_TEXT(NOTHING, hear("a", SMA_CONTROL_MORE));
    answer_in("a", "short", 1);
    text[SMA_PART_COUNT_MAX * LARGE_PART_BYTES] = '\0'; /* as many parts as may be, none cut */
    answer_in("a", text, SMA_PART_COUNT_MAX);
    CHECK_TEXT(NOTHING, hear("a", SMA_CONTROL_MORE));
    end_world(&w);
}

/* -- words ------------------------------------------------------------------------------------- */
static void a_word_asks_for_more_where_something_was_cut(void)
{
    static const struct
    {
        struct saying saying;
        bool is_word;
    } rows[] = {
        {{.chat = "a", .text = "more"}, true},
        {{.chat = "a", .text = " 继续 "}, true},
        {{.chat = "a", .text = "@bot 下一页"}, true},
        {{.chat = "a", .text = "more of this"}, false},
        {{.chat = "a", .text = "more", .is_forward = true}, false},
        {{.chat = "b", .text = "继续"}, false},
        {{.chat = "a",
          .text = "more",
          .is_group = true,
          .role = SMA_ROLE_MEMBER,
          .addressed = SMA_ADDRESSED_MENTION},
         true},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        fprintf(stderr, "   %s\n", rows[i].saying.text);
        open_with(&cutting_ops);
        answer_in("a", TEXT, 2);
        struct saying saying = rows[i].saying;
        saying.id = "word";
        CHECK_INT(SMA_VERDICT_ACCEPTED, say_in(&saying));
        CHECK_TEXT(rows[i].is_word ? TEXT + 20 : "", await_sent()->text);
        CHECK_INT(!rows[i].is_word, run_seq(&w) != 0);
        end_world(&w);
    }
}

/* While an answer is being made the word is for it. */
static void a_word_to_a_run_under_way_is_the_models(void)
{
    open_with(&cutting_ops);
    answer_in("a", TEXT, 2);
    say(&w, "a", "work", "do something long");
    run(&w);
    CHECK(run_seq(&w) != 0);
    drop_kept(&w.test);
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              say_in(&(struct saying){.chat = "a", .id = "word", .text = "继续"}));
    CHECK(strstr(await_sent()->text, "still working on something") != NULL);
    end_world(&w);
}

/* What nobody said to the bot is no word to it. */
static void group_talk_asks_for_nothing(void)
{
    open_with(&cutting_ops);
    answer_in("a", TEXT, 2);
    CHECK_INT(SMA_VERDICT_IGNORED, say_in(&(struct saying){.chat = "a",
                                                           .id = "talk",
                                                           .text = "more",
                                                           .user = "u2",
                                                           .is_group = true,
                                                           .role = SMA_ROLE_MEMBER,
                                                           .addressed = SMA_ADDRESSED_NONE}));
    CHECK_TEXT("", await_sent()->text);
    CHECK(run_seq(&w) == 0);
    end_world(&w);
}

/* The platform brings it again, also after a crash, when nothing is cut any more. */
static void a_repeated_word_sends_nothing_twice(void)
{
    const struct saying word = {.chat = "a", .id = "word", .text = "more"};
    open_with(&cutting_ops);
    answer_in("a", TEXT, 2);
    CHECK_INT(SMA_VERDICT_ACCEPTED, say_in(&word));
    const struct sent *sent = await_sent();
    CHECK_TEXT(TEXT + 20, sent->text);
    report(sent, 3);
    CHECK_INT(SMA_VERDICT_DUPLICATE, say_in(&word));
    crash_world(&w);
    CHECK_INT(SMA_VERDICT_DUPLICATE, say_in(&word));
    CHECK_TEXT("", await_sent()->text);
    CHECK(run_seq(&w) == 0);
    end_world(&w);
}

/* -- /full ------------------------------------------------------------------------------------- */
static size_t count_outputs(const char *content)
{
    char path[700], text[4096];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/output", w.state_dir);
    DIR *folder = opendir(path);
    for (struct dirent *item; folder != NULL && (item = readdir(folder)) != NULL;) {
        if (item->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/output/%s", w.state_dir, item->d_name);
        FILE *file = fopen(path, "r");
        CHECK(file != NULL);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        fclose(file);
        struct stat stat_of;
        CHECK(stat(path, &stat_of) == 0);
        CHECK_INT(0600, stat_of.st_mode & 0777);
        count += strcmp(text, content) == 0;
    }
    if (folder != NULL)
        closedir(folder);
    return count;
}

static void the_whole_answer_is_a_file(void)
{
    static char first[1024];
    open_with(&cutting_ops);
    CHECK_TEXT("There is no answer of mine here that I could send as a file.",
               order("z", SMA_CONTROL_FULL)->text);
    answer_in("a", TEXT, 2);
    const struct sent *sent = order("a", SMA_CONTROL_FULL);
    CHECK(strncmp(sent->text, "@attach document .ship/output/answer-",
                  strlen("@attach document .ship/output/answer-")) == 0);
    CHECK(strstr(sent->text, ".md | The whole answer") != NULL);
    CHECK_INT(SMA_INTENT_OUTPUT, sent->intent); /* who may send that file */
    CHECK_INT(1, count_outputs(TEXT));
    snprintf(first, sizeof first, "%s", sent->text);
    report(sent, 1);
    sent = order("a", SMA_CONTROL_FULL); /* costs no second file */
    CHECK_TEXT(first, sent->text);
    report(sent, 1);
    CHECK_INT(1, count_outputs(TEXT));
    sent = order("a", SMA_CONTROL_MORE); /* and is no page */
    CHECK_TEXT(TEXT + 20, sent->text);
    report(sent, 3);
    CHECK_INT(SMA_VERDICT_ACCEPTED,
              say_in(&(struct saying){.chat = "a", .id = "w", .text = "发完整输出"}));
    CHECK_TEXT(first, await_sent()->text); /* of the answer, not of its last page */
    end_world(&w);
}

/* Of more than a message may have, the run's own end cut the rest; its result has it. */
static void what_the_run_cut_itself_is_in_its_result(void)
{
    static char whole[SMA_TEXT_BYTES_MAX + 5], cut[SMA_TEXT_BYTES_MAX + 100];
    char path[700];
    memset(whole, 'x', SMA_TEXT_BYTES_MAX);
    memcpy(whole + SMA_TEXT_BYTES_MAX, "tail", 5);
    snprintf(cut, sizeof cut, "%.*s\n[cut: send more]", SMA_TEXT_BYTES_MAX, whole);
    open_with(&file_ops);
    drop_kept(&w.test);
    say(&w, "a", next_key(), "tell me");
    run(&w);
    end_with("test:chat:a", run_seq(&w), whole, cut);
    report(await_sent(), 1);
    const struct sent *sent = order("a", SMA_CONTROL_MORE);
    CHECK_TEXT("tail", sent->text);
    report(sent, 1);
    CHECK_TEXT(NOTHING, hear("a", SMA_CONTROL_MORE));
    sent = order("a", SMA_CONTROL_FULL);
    struct stat facts;
    const char *from = strstr(sent->text, "output/"), *to = strstr(sent->text, " | ");
    CHECK(from != NULL && to != NULL);
    snprintf(path, sizeof path, "%s/%.*s", w.state_dir, (int)(to - from), from);
    CHECK(stat(path, &facts) == 0);
    CHECK_INT(SMA_TEXT_BYTES_MAX + 4, facts.st_size);
    /* It goes when it is old, and not before; without a clock nothing is old. */
    int64_t now_ms = (int64_t)facts.st_mtim.tv_sec * 1000, day_ms = 86400000;
    sma_store_remove_outputs(w.store, 0);
    sma_store_remove_outputs(w.store, now_ms + 2 * day_ms);
    CHECK(stat(path, &facts) == 0);
    sma_store_remove_outputs(w.store, now_ms + 2 * day_ms + 1000);
    CHECK(stat(path, &facts) != 0);
    end_world(&w);
}

static void where_no_files_go_a_message_has_to_do(void)
{
    open_with(&plain_ops);
    answer_in("a", TEXT, 5);
    CHECK_TEXT(TEXT, order("a", SMA_CONTROL_FULL)->text);
    CHECK_INT(0, count_outputs(TEXT));
    end_world(&w);
}

static void a_file_that_cannot_be_written_is_told(void)
{
    char path[700];
    open_with(&cutting_ops);
    answer_in("a", TEXT, 2);
    snprintf(path, sizeof path, "%s/output", w.state_dir);
    CHECK(symlink("/tmp", path) == 0); /* nor does it lead elsewhere */
    CHECK_TEXT("I could not write the file. The log says why; please try again later.",
               order("a", SMA_CONTROL_FULL)->text);
    CHECK(unlink(path) == 0);
    end_world(&w);
}

int main(void)
{
    what_was_cut_comes_page_by_page();
    a_chat_gets_its_own_rest_only();
    what_is_still_being_sent_is_not_repeated();
    a_cut_talk_stays_cut_off_after_clear();
    nothing_is_missing_behind_the_dispatchers_cut();
    a_word_asks_for_more_where_something_was_cut();
    a_word_to_a_run_under_way_is_the_models();
    group_talk_asks_for_nothing();
    a_repeated_word_sends_nothing_twice();
    the_whole_answer_is_a_file();
    what_the_run_cut_itself_is_in_its_result();
    where_no_files_go_a_message_has_to_do();
    a_file_that_cannot_be_written_is_told();
    return 0;
}
