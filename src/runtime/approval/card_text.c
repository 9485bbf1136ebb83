/* card_text.c — the words of a card: what is asked, by whom, why, until when; what became of it.
 * See card.h. */
#include "approval_priv.h"

#include "runtime/json/json_read.h"
#include "sma/notices.h"
#include "sma/text.h"

#include <stdlib.h>

#define CARD_BYTES_MAX (1024u * 1024)
#define COMMAND_BYTES_MAX 2400u /* of the only item; several share twice as much */
#define SHARE_BYTES_MIN 300u
#define LINE_BYTES_MAX 200u
#define WHOLE_UNITS_MAX \
    3000u /* of what is asked, in UTF-16: with all the rest it fits into one message everywhere */
#define ROW_COUNT_ITEMS 2u
#define BUTTON_ITEMS_MAX ((SMA_CARD_BUTTON_COUNT_MAX - 2u) / 2u)

/* One of the two texts of a card while it is written. */
struct writer
{
    struct sma_buf *buf;
    enum sma_language language;
    bool is_markdown;
    bool is_cut; /* something that is asked for is not shown whole */
};

static void say(struct writer *writer, enum sma_notice notice)
{
    sma_notice_format(writer->buf, writer->language, notice);
}

static void end_line(struct writer *writer)
{
    sma_buf_put_char(writer->buf, '\n');
}

static void show(struct writer *writer, struct sma_str text)
{
    bool is_cut =
        writer->is_markdown
            ? sma_display_span(writer->buf, text, LINE_BYTES_MAX, writer->language)
            : sma_display_text(writer->buf, text, LINE_BYTES_MAX, false, writer->language);
    writer->is_cut = writer->is_cut || is_cut;
}

static void show_block(struct writer *writer, struct sma_str text, size_t bytes_max,
                       const char *info)
{
    bool is_cut = sma_display_block(writer->buf, text, bytes_max, info, writer->is_markdown,
                                    writer->language);
    writer->is_cut = writer->is_cut || is_cut;
}

static void say_line(struct writer *writer, enum sma_notice notice, struct sma_str text)
{
    if (text.len == 0)
        return;
    say(writer, notice);
    show(writer, text);
    end_line(writer);
}

static void put_number(struct writer *writer, uint32_t index)
{
    sma_buf_printf(writer->buf, writer->is_markdown ? "**%u.** " : "%u. ", index + 1);
}

/* -- what is asked ----------------------------------------------------------------------------- */
static size_t share(size_t whole, uint32_t item_count)
{
    if (item_count == 1)
        return whole;
    size_t part = 2 * whole / item_count;
    return part < SHARE_BYTES_MIN ? SHARE_BYTES_MIN : part > whole ? whole : part;
}

static void put_write(struct writer *writer, const struct sma_request_item *item,
                      const json_t *details, uint32_t item_count)
{
    struct sma_str path = sma_json_str(details, "filePath");
    struct sma_str diff = item->diff, whole = sma_json_str(details, "content");
    bool has_diff = diff.len > 0;
    if (whole.len > diff.len)
        diff = whole; /* the same, longer: how much is left out is to be told */
    say_line(writer, SMA_NOTICE_CARD_WRITE, path.len > 0 ? path : item->title);
    show_block(writer, diff, share(SMA_APPROVAL_DIFF_BYTES_MAX, item_count),
               has_diff ? "diff" : "");
}

/* Of a command, as it was when it was asked about: its walls, what it reads (request.h). */
static void put_fact(struct writer *writer, struct sma_str word)
{
    static const struct
    {
        const char *word;
        enum sma_notice notice;
    } rows[] = {{SMA_REQUEST_SANDBOX_OFFLINE, SMA_NOTICE_CARD_NO_NETWORK},
                {SMA_REQUEST_SANDBOX_ONLINE, SMA_NOTICE_CARD_NETWORK},
                {SMA_REQUEST_SANDBOX_NONE, SMA_NOTICE_CARD_NO_SANDBOX},
                {SMA_REQUEST_BINDING_OPEN, SMA_NOTICE_CARD_UNBOUND},
                {SMA_REQUEST_BINDING_BESIDE, SMA_NOTICE_CARD_BESIDE}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        if (!sma_str_is_equal(word, sma_str(rows[i].word)))
            continue;
        say(writer, rows[i].notice);
        end_line(writer);
    }
}

/* The arguments as somebody would write them down: one member a line. */
static void put_mcp(struct writer *writer, const struct sma_request_item *item,
                    const json_t *details, size_t bytes_max)
{
    const json_t *args = json_object_get(details, "args");
    say_line(writer, SMA_NOTICE_CARD_MCP, sma_json_str(details, "toolName"));
    if (json_object_size(args) == 0)
        return;
    say(writer, SMA_NOTICE_CARD_MCP_ARGUMENTS);
    end_line(writer);
    char *text = json_dumps(args, JSON_INDENT(2));
    show_block(writer, text == NULL ? item->input_json : sma_str(text), bytes_max, "");
    free(text);
}

static void put_what(struct writer *writer, const struct sma_request_item *item,
                     uint32_t item_count)
{
    SMA_AUTO(sma_json_freep) json_t *details = NULL;
    size_t bytes_max = share(COMMAND_BYTES_MAX, item_count);
    if (sma_json_load(item->details_json, &details) != SMA_ERR_OK)
        details = NULL; /* then the call's arguments are shown as they are */
    struct sma_str command = sma_json_str(details, "command");
    struct sma_str receiver = sma_json_str(details, "receiver");
    if (item->is_by_helper) {
        say(writer, SMA_NOTICE_CARD_HELPER);
        end_line(writer);
    }
    if (sma_str_is_equal(item->type, SMA_STR("exec_shell")) && command.len > 0) {
        say(writer, SMA_NOTICE_CARD_EXEC);
        end_line(writer);
        show_block(writer, command, bytes_max, "");
        put_fact(writer, sma_json_str(details, "sandbox"));
        put_fact(writer, sma_json_str(details, "binding"));
    } else if (sma_str_is_equal(item->type, SMA_STR("write_repo")) && details != NULL) {
        put_write(writer, item, details, item_count);
    } else if (sma_str_is_equal(item->type, SMA_STR("mcp_tool")) && details != NULL) {
        put_mcp(writer, item, details, bytes_max);
    } else if (sma_str_is_equal(item->type, SMA_STR("send")) && details != NULL) {
        say_line(writer, SMA_NOTICE_CARD_SEND, receiver.len > 0 ? receiver : item->title);
        show_block(writer, sma_json_str(details, "text"), bytes_max, "");
    } else if (sma_str_is_equal(item->type, SMA_STR("memory")) && details != NULL) {
        bool is_project = sma_str_is_equal(sma_json_str(details, "scope"), SMA_STR("project"));
        say(writer, is_project ? SMA_NOTICE_CARD_MEMORY_PROJECT : SMA_NOTICE_CARD_MEMORY);
        end_line(writer);
        show_block(writer, sma_json_str(details, "content"), bytes_max, "");
    } else if (sma_str_is_equal(item->type, SMA_STR("web")) && details != NULL) {
        say_line(writer, SMA_NOTICE_CARD_WEB, sma_json_str(details, "host"));
        show_block(writer, sma_json_str(details, "url"), bytes_max, "");
    } else {
        say_line(writer, SMA_NOTICE_CARD_OTHER, item->tool);
        show_block(writer, item->input_json, bytes_max, "");
    }
}

static void put_why(struct writer *writer, const struct sma_request_item *item)
{
    if (item->rule.len == 0 && item->reason.len == 0)
        return;
    say(writer, SMA_NOTICE_CARD_REASON);
    if (item->rule.len > 0) {
        say(writer, SMA_NOTICE_CARD_RULE);
        show(writer, item->rule);
    }
    if (item->program.len > 0) {
        sma_buf_put_text(writer->buf, item->rule.len > 0 ? " (" : "(");
        show(writer, item->program);
        sma_buf_put_char(writer->buf, ')');
    }
    if (item->reason.len > 0) {
        sma_buf_put_text(writer->buf, item->rule.len + item->program.len > 0 ? ": " : "");
        /* Nearly every time; the others name what a program was found to do, in English. */
        if (sma_str_is_equal(item->reason, SMA_STR("no rule allows it")))
            say(writer, SMA_NOTICE_CARD_NO_RULE);
        else
            show(writer, item->reason);
    }
    end_line(writer);
}

static void put_expiry(struct writer *writer, int64_t expire_s)
{
    enum sma_notice notice = SMA_NOTICE_CARD_EXPIRES_MINUTES;
    int64_t unit_s = 60;
    if (expire_s <= 0)
        return;
    if (expire_s >= 2 * 86400 && expire_s % 86400 == 0) {
        notice = SMA_NOTICE_CARD_EXPIRES_DAYS;
        unit_s = 86400;
    } else if (expire_s >= 2 * 3600) {
        notice = SMA_NOTICE_CARD_EXPIRES_HOURS;
        unit_s = 3600;
    }
    int64_t count = expire_s / unit_s > 0 ? expire_s / unit_s : 1;
    sma_notice_format(writer->buf, writer->language, notice,
                      (unsigned)(count > INT32_MAX ? INT32_MAX : count));
    end_line(writer);
}

static bool may_be_granted(const struct sma_request *request)
{
    return request->item_count == 1 && request->items[0].grant_rule.len > 0 &&
           !request->items[0].is_owner_only;
}

/* The rule is one of read_rules.h, and a string of its own (request.c). */
static bool offers_program(const struct sma_card_facts *facts)
{
    return facts->offers_program && facts->request->item_count == 1 &&
           facts->request->items[0].program_rule.len > 0 && !facts->request->items[0].is_owner_only;
}

static void put_how(struct writer *writer, const struct sma_card_facts *facts)
{
    const struct sma_request *request = facts->request;
    say(writer, request->item_count == 1 ? SMA_NOTICE_CARD_HOW_ONE : SMA_NOTICE_CARD_HOW_SEVERAL);
    end_line(writer);
    if (may_be_granted(request)) {
        say(writer, SMA_NOTICE_CARD_HOW_GRANT);
        end_line(writer);
    }
    if (!offers_program(facts))
        return;
    sma_notice_format(writer->buf, writer->language, SMA_NOTICE_CARD_HOW_PROGRAM,
                      request->items[0].program_rule.ptr);
    end_line(writer);
}

bool sma_card_is_cut(const struct sma_request *request)
{
    bool is_cut = false;
    for (int i = 0; i < 2 && !is_cut; i++) {
        struct sma_buf text;
        sma_buf_init(&text, CARD_BYTES_MAX);
        struct writer writer = {&text, SMA_LANGUAGE_EN, i == 0, false};
        for (uint32_t k = 0; k < request->item_count; k++)
            put_what(&writer, &request->items[k], request->item_count);
        is_cut = writer.is_cut || text.err != SMA_ERR_OK ||
                 sma_utf16_length(sma_buf_str(&text)) > WHOLE_UNITS_MAX;
        sma_buf_fini(&text);
    }
    return is_cut;
}

static void write_request(struct writer *writer, const struct sma_card_facts *facts)
{
    const struct sma_request *request = facts->request;
    bool is_cut = sma_card_is_cut(request);
    for (uint32_t i = 0; i < request->item_count; i++) {
        if (request->item_count > 1)
            put_number(writer, i);
        put_what(writer, &request->items[i], request->item_count);
        put_why(writer, &request->items[i]);
        if (request->items[i].is_owner_only) {
            say(writer, SMA_NOTICE_CARD_OWNER_ONLY);
            end_line(writer);
        }
    }
    say_line(writer, SMA_NOTICE_CARD_ASKED_BY, facts->asker);
    say_line(writer, SMA_NOTICE_CARD_PLACE, facts->place);
    put_expiry(writer, facts->expire_s);
    if (!facts->may_chat_decide) {
        say(writer, SMA_NOTICE_CARD_OTHERS_DECIDE);
        end_line(writer);
    } else if (is_cut) {
        say(writer, SMA_NOTICE_CARD_HOW_CUT);
        end_line(writer);
    } else if (!writer->is_markdown || request->item_count > BUTTON_ITEMS_MAX) {
        put_how(writer, facts); /* what has no buttons is answered by words */
    }
}

/* -- buttons ----------------------------------------------------------------------------------- */
struct board
{
    const struct sma_card_facts *facts;
    struct sma_card *card;
    struct sma_buf texts[SMA_CARD_BUTTON_COUNT_MAX];
    char datas[SMA_CARD_BUTTON_COUNT_MAX][SMA_CARD_DATA_BYTES_MAX + 1];
};

/* @return the buffer of the button's text */
static struct sma_buf *add_button(struct board *board, uint32_t row, uint32_t item,
                                  enum sma_card_action action)
{
    uint32_t index = board->card->button_count++;
    struct sma_card_press press = {.item = item, .action = action};
    SMA_ASSERT(index < SMA_CARD_BUTTON_COUNT_MAX);
    memcpy(press.id, board->facts->id, sizeof press.id);
    sma_card_sign(board->facts->key, &press, board->datas[index]);
    board->card->buttons[index] = (struct sma_card_button){
        .data = sma_str(board->datas[index]), .is_approval = action != SMA_CARD_REFUSE, .row = row};
    return &board->texts[index];
}

static void add_named(struct board *board, uint32_t row, enum sma_card_action action,
                      enum sma_notice notice)
{
    sma_notice_format(add_button(board, row, 0, action), board->facts->language, notice);
}

static void add_buttons(struct board *board)
{
    const struct sma_request *request = board->facts->request;
    bool is_one = request->item_count == 1;
    add_named(board, 0, SMA_CARD_APPROVE,
              is_one ? SMA_NOTICE_CARD_APPROVE : SMA_NOTICE_CARD_APPROVE_ALL);
    add_named(board, 0, SMA_CARD_REFUSE,
              is_one ? SMA_NOTICE_CARD_REFUSE : SMA_NOTICE_CARD_REFUSE_ALL);
    if (may_be_granted(request)) {
        add_named(board, 1, SMA_CARD_TEN_MINUTES, SMA_NOTICE_CARD_TEN_MINUTES);
        add_named(board, 1, SMA_CARD_ALWAYS, SMA_NOTICE_CARD_ALWAYS);
    }
    if (offers_program(board->facts)) {
        sma_notice_format(add_button(board, 2, 0, SMA_CARD_PROGRAM), board->facts->language,
                          SMA_NOTICE_CARD_PROGRAM, request->items[0].program_rule.ptr);
    }
    for (uint32_t i = 0; !is_one && i < request->item_count && i < BUTTON_ITEMS_MAX; i++) {
        uint32_t row = 1 + i / ROW_COUNT_ITEMS;
        sma_buf_printf(add_button(board, row, i + 1, SMA_CARD_APPROVE), "%u ✓", i + 1);
        sma_buf_printf(add_button(board, row, i + 1, SMA_CARD_REFUSE), "%u ✗", i + 1);
    }
}

/* -- the cards --------------------------------------------------------------------------------- */
struct card_texts
{
    struct sma_buf title, text, plain;
    char id[33];
};

static void init_texts(struct card_texts *texts, const uint8_t id[16])
{
    static const char digits[] = "0123456789abcdef";
    sma_buf_init(&texts->title, CARD_BYTES_MAX);
    sma_buf_init(&texts->text, CARD_BYTES_MAX);
    sma_buf_init(&texts->plain, CARD_BYTES_MAX);
    for (size_t i = 0; i < 16; i++) {
        texts->id[2 * i] = digits[id[i] >> 4];
        texts->id[2 * i + 1] = digits[id[i] & 15];
    }
    texts->id[32] = '\0';
}

/* Put the card, or leave the error of a text that could not be made in buf; the texts are gone
 * then. */
static void put_card(struct sma_buf *buf, struct sma_card *card, struct card_texts *texts)
{
    enum sma_err err = texts->text.err != SMA_ERR_OK    ? texts->text.err
                       : texts->plain.err != SMA_ERR_OK ? texts->plain.err
                                                        : texts->title.err;
    card->id = sma_str(texts->id);
    card->title = sma_buf_str(&texts->title);
    card->text = sma_str_trim(sma_buf_str(&texts->text));
    card->plain = sma_str_trim(sma_buf_str(&texts->plain));
    if (err == SMA_ERR_OK)
        sma_card_put(buf, card);
    else if (buf->err == SMA_ERR_OK)
        buf->err = err;
    sma_buf_fini(&texts->title);
    sma_buf_fini(&texts->text);
    sma_buf_fini(&texts->plain);
}

void sma_card_put_request(struct sma_buf *buf, const struct sma_card_facts *facts)
{
    struct card_texts texts;
    struct sma_card card = {0};
    struct board board = {.facts = facts, .card = &card};
    for (size_t i = 0; i < SMA_CARD_BUTTON_COUNT_MAX; i++)
        sma_buf_init(&board.texts[i], 256);
    init_texts(&texts, facts->id);
    sma_notice_format(&texts.title, facts->language, SMA_NOTICE_CARD_TITLE);
    if (facts->request->item_count > 1)
        sma_buf_printf(&texts.title, " (%u)", facts->request->item_count);
    write_request(&(struct writer){&texts.text, facts->language, true, false}, facts);
    write_request(&(struct writer){&texts.plain, facts->language, false, false}, facts);
    if (facts->may_chat_decide)
        add_buttons(&board);
    for (uint32_t i = 0; i < card.button_count; i++) {
        card.buttons[i].text = sma_buf_str(&board.texts[i]);
        if (board.texts[i].err != SMA_ERR_OK && buf->err == SMA_ERR_OK)
            buf->err = board.texts[i].err;
    }
    put_card(buf, &card, &texts);
    for (size_t i = 0; i < SMA_CARD_BUTTON_COUNT_MAX; i++)
        sma_buf_fini(&board.texts[i]);
}

static enum sma_notice notice_of(enum sma_request_outcome outcome)
{
    static const enum sma_notice notices[] = {
        [SMA_REQUEST_OPEN] = SMA_NOTICE_CARD_IS_OPEN,
        [SMA_REQUEST_APPROVED] = SMA_NOTICE_CARD_IS_APPROVED,
        [SMA_REQUEST_REFUSED] = SMA_NOTICE_CARD_IS_REFUSED,
        [SMA_REQUEST_EXPIRED] = SMA_NOTICE_CARD_IS_EXPIRED,
        [SMA_REQUEST_CANCELLED] = SMA_NOTICE_CARD_IS_CANCELLED,
    };
    SMA_ASSERT((size_t)outcome < SMA_COUNT_OF(notices));
    return notices[outcome];
}

static void write_outcome(struct writer *writer, const struct sma_card_facts *facts,
                          const enum sma_request_outcome *outcomes, struct sma_str by)
{
    const struct sma_request *request = facts->request;
    for (uint32_t i = 0; i < request->item_count; i++) {
        if (request->item_count > 1)
            put_number(writer, i);
        say(writer, notice_of(outcomes[i]));
        sma_buf_put_text(writer->buf, writer->language == SMA_LANGUAGE_ZH ? "：" : ": ");
        show(writer, request->items[i].title);
        end_line(writer);
    }
    say_line(writer, SMA_NOTICE_CARD_DECIDED_BY, by);
}

void sma_card_put_outcome(struct sma_buf *buf, const struct sma_card_facts *facts,
                          const enum sma_request_outcome *outcomes, struct sma_str by,
                          struct sma_str message_id)
{
    struct card_texts texts;
    struct sma_card card = {.is_outcome = true, .message_id = message_id};
    enum sma_notice title = notice_of(outcomes[0]);
    for (uint32_t i = 1; i < facts->request->item_count; i++)
        if (outcomes[i] != outcomes[0])
            title = SMA_NOTICE_CARD_IS_DECIDED;
    init_texts(&texts, facts->id);
    sma_notice_format(&texts.title, facts->language, title);
    write_outcome(&(struct writer){&texts.text, facts->language, true, false}, facts, outcomes, by);
    write_outcome(&(struct writer){&texts.plain, facts->language, false, false}, facts, outcomes,
                  by);
    put_card(buf, &card, &texts);
}
