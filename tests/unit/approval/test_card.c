/*
 * Aim: a card says what is asked and cannot be made to say something else by what it shows; buttons
 * cannot be made up.
 * Method: cards of small requests in both languages read back, hostile texts in every place, and
 * the button data changed byte by byte.
 */
#include "runtime/approval/card.h"
#include "support/check.h"

static const uint8_t key[SMA_CARD_KEY_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
static const uint8_t other_key[SMA_CARD_KEY_BYTES] = {9};

static struct sma_request_item item_of(const char *type, const char *tool, const char *title,
                                       const char *details)
{
    return (struct sma_request_item){.type = sma_str(type),
                                     .tool = sma_str(tool),
                                     .title = sma_str(title),
                                     .input_json = SMA_STR("{\"a\":1}"),
                                     .details_json = sma_str(details)};
}

static struct sma_card_facts facts_of(const struct sma_request *request)
{
    struct sma_card_facts facts = {.key = key,
                                   .request = request,
                                   .language = SMA_LANGUAGE_EN,
                                   .asker = SMA_STR("Alice"),
                                   .expire_s = 86400,
                                   .may_chat_decide = true};
    for (size_t i = 0; i < sizeof facts.id; i++)
        facts.id[i] = (uint8_t)(i * 17);
    return facts;
}

static struct sma_card make(struct sma_buf *buf, const struct sma_card_facts *facts)
{
    struct sma_card card;
    sma_buf_init(buf, 4 * 1024 * 1024);
    sma_card_put_request(buf, facts);
    CHECK_INT(SMA_ERR_OK, buf->err);
    CHECK_OK(sma_card_parse(sma_buf_str(buf), &card));
    CHECK(!card.is_outcome);
    return card;
}

static bool has(struct sma_str text, const char *piece)
{
    return memmem(text.ptr, text.len, piece, strlen(piece)) != NULL;
}

static void end(struct sma_buf *buf, struct sma_card *card)
{
    sma_card_fini(card);
    sma_buf_fini(buf);
}

/* -- buttons ----------------------------------------------------------------------------------- */
CASE(presses_are_signed)
{
    static const enum sma_card_action actions[] = {SMA_CARD_APPROVE, SMA_CARD_REFUSE,
                                                   SMA_CARD_TEN_MINUTES, SMA_CARD_ALWAYS};
    for (uint32_t item = 0; item <= SMA_TOOL_CALL_COUNT_MAX; item++)
        for (size_t i = 0; i < SMA_COUNT_OF(actions); i++) {
            struct sma_card_press press = {.item = item, .action = actions[i]}, read;
            char data[SMA_CARD_DATA_BYTES_MAX + 1];
            memset(press.id, (int)(item * 7 + i + 200), sizeof press.id);
            sma_card_sign(key, &press, data);
            CHECK(strlen(data) <= SMA_CARD_DATA_BYTES_MAX);
            CHECK(sma_card_is_ours(sma_str(data)));
            CHECK_OK(sma_card_verify(key, sma_str(data), &read));
            CHECK_INT(item, read.item);
            CHECK_INT(actions[i], read.action);
            CHECK(memcmp(press.id, read.id, sizeof read.id) == 0);
            CHECK_ERR(SMA_ERR_BADINPUT, sma_card_verify(other_key, sma_str(data), &read));
        }
}

CASE(no_byte_of_a_press_can_be_changed)
{
    static const char bytes[] = "An*09:ya_-=\0~";
    struct sma_card_press press = {.id = {1, 2, 3}, .item = 12, .action = SMA_CARD_APPROVE}, read;
    char data[SMA_CARD_DATA_BYTES_MAX + 1], changed[SMA_CARD_DATA_BYTES_MAX + 2];
    sma_card_sign(key, &press, data);
    size_t len = strlen(data);
    for (size_t at = 0; at < len; at++)
        for (size_t i = 0; i < sizeof bytes; i++) {
            memcpy(changed, data, len + 1);
            changed[at] = bytes[i];
            bool is_same = bytes[i] == data[at];
            CHECK_INT(is_same ? SMA_ERR_OK : SMA_ERR_BADINPUT,
                      sma_card_verify(key, (struct sma_str){changed, len}, &read));
        }
    for (size_t cut = 0; cut < len; cut++)
        CHECK_ERR(SMA_ERR_BADINPUT, sma_card_verify(key, (struct sma_str){data, cut}, &read));
    memcpy(changed, data, len);
    changed[len] = 'A';
    CHECK_ERR(SMA_ERR_BADINPUT, sma_card_verify(key, (struct sma_str){changed, len + 1}, &read));
    CHECK(!sma_card_is_ours(SMA_STR("sa2:x")));
    CHECK(!sma_card_is_ours(SMA_STR("")));
}

static void check_button(const struct sma_card *card, uint32_t index, const char *text,
                         uint32_t row, uint32_t item, enum sma_card_action action)
{
    struct sma_card_press press;
    CHECK(index < card->button_count);
    CHECK_STR(text, card->buttons[index].text);
    CHECK_INT(row, card->buttons[index].row);
    CHECK_INT(action != SMA_CARD_REFUSE, card->buttons[index].is_approval);
    CHECK_OK(sma_card_verify(key, card->buttons[index].data, &press));
    CHECK_INT(item, press.item);
    CHECK_INT(action, press.action);
}

/* With the command: may it reach anything, and what holds it? */
CASE(the_walls_are_told)
{
    static const struct
    {
        const char *details, *en, *zh;
    } rows[] = {
        {"{\"command\":\"ls\",\"sandbox\":\"no-network\"}", "In the sandbox, without network.\n",
         "在沙箱内运行，没有网络。\n"},
        {"{\"command\":\"ls\",\"sandbox\":\"network\"}", "In the sandbox, with network.\n",
         "在沙箱内运行，可访问网络。\n"},
        {"{\"command\":\"ls\",\"sandbox\":\"off\"}",
         "WITHOUT a sandbox: it can read what the service can read, and reach the network.\n",
         "没有沙箱：命令可以读取本服务能读取的一切，并访问网络。\n"},
        {"{\"command\":\"ls\",\"sandbox\":\"other\"}", "ls\n", "ls\n"},
        {"{\"command\":\"make\",\"sandbox\":\"off\",\"binding\":\"open\"}",
         "It reads files that cannot be named: what they hold is not part of what you approve.\n",
         "它会读取无法列出的文件，这些文件的内容不在你同意的范围内。\n"},
        {"{\"command\":\"make\",\"sandbox\":\"off\",\"binding\":\"beside\"}",
         "Files that the command names are part of what you approve; what its program reads "
         "besides is not.\n",
         "命令中写明的文件在你同意的范围内；程序自行读取的其他文件不在。\n"},
    };
    for (size_t i = 0; i < 2 * SMA_COUNT_OF(rows); i++) {
        struct sma_request request = {.item_count = 1};
        struct sma_buf buf;
        request.items[0] = item_of("exec_shell", "exec_shell", "ls", rows[i / 2].details);
        struct sma_card_facts facts = facts_of(&request);
        facts.language = i % 2 == 0 ? SMA_LANGUAGE_EN : SMA_LANGUAGE_ZH;
        struct sma_card card = make(&buf, &facts);
        const char *wanted = i % 2 == 0 ? rows[i / 2].en : rows[i / 2].zh;
        CHECK(has(card.text, wanted) && has(card.plain, wanted));
        sma_card_fini(&card);
        sma_buf_fini(&buf);
    }
}

/* -- what is asked ----------------------------------------------------------------------------- */
CASE(one_command_is_asked_about)
{
    struct sma_request request = {.item_count = 1};
    struct sma_buf buf;
    request.items[0] =
        item_of("exec_shell", "exec_shell", "git push", "{\"command\":\"git push origin\\nmain\"}");
    request.items[0].rule = SMA_STR("git push*");
    request.items[0].program = SMA_STR("git");
    request.items[0].reason = SMA_STR("it changes the remote");
    struct sma_card_facts facts = facts_of(&request);
    struct sma_card card = make(&buf, &facts);
    CHECK_STR("00112233445566778899aabbccddeeff", card.id);
    CHECK_STR("Approval needed", card.title);
    CHECK_STR("Run this command:\n```\ngit push origin\nmain\n```\n"
              "Why I ask: rule `git push*` (`git`): `it changes the remote`\n"
              "Asked for by: `Alice`\nExpires in 24 hours; no answer means no.",
              card.text);
    CHECK_STR("Run this command:\n| git push origin\n| main\n"
              "Why I ask: rule git push* (git): it changes the remote\n"
              "Asked for by: Alice\nExpires in 24 hours; no answer means no.\n"
              "Reply: yes / no, because ...",
              card.plain);
    CHECK_INT(2, card.button_count);
    check_button(&card, 0, "Approve", 0, 0, SMA_CARD_APPROVE);
    check_button(&card, 1, "Refuse", 0, 0, SMA_CARD_REFUSE);
    end(&buf, &card);

    request.items[0].grant_rule = SMA_STR("git push");
    facts.language = SMA_LANGUAGE_ZH;
    card = make(&buf, &facts);
    CHECK_STR("需要确认", card.title);
    CHECK(has(card.text, "执行命令：\n```\n"));
    CHECK(has(card.plain, "请回复：同意 / 拒绝"));
    CHECK(has(card.plain, "允许10分钟"));
    CHECK_INT(4, card.button_count);
    check_button(&card, 2, "允许10分钟", 1, 0, SMA_CARD_TEN_MINUTES);
    check_button(&card, 3, "本会话一直允许", 1, 0, SMA_CARD_ALWAYS);
    end(&buf, &card);

    /* why it is asked, nearly every time, is no English to a Chinese reader */
    request.items[0].rule = SMA_STR("");
    request.items[0].reason = SMA_STR("no rule allows it");
    card = make(&buf, &facts);
    CHECK(has(card.plain, "为何询问：(git): 没有规则允许它\n"));
    end(&buf, &card);
}

CASE(several_items_are_answered_one_by_one)
{
    struct sma_request request = {.item_count = 3};
    struct sma_buf buf;
    request.items[0] = item_of("exec_shell", "exec_shell", "ls", "{\"command\":\"ls\"}");
    request.items[0].grant_rule = SMA_STR("ls");
    request.items[1] = item_of("write_repo", "write_file", "a.md",
                               "{\"filePath\":\"docs/a.md\",\"content\":\"new\"}");
    request.items[1].diff = SMA_STR("--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n");
    request.items[2] = item_of("send", "chat_contact_send", "Bob",
                               "{\"receiver\":\"telegram:chat:5 Bob\",\"text\":\"hello\"}");
    struct sma_card_facts facts = facts_of(&request);
    facts.place = SMA_STR("the team");
    struct sma_card card = make(&buf, &facts);
    CHECK_STR("Approval needed (3)", card.title);
    CHECK(has(card.text, "**1.** Run this command:\n```\nls\n```\n"));
    CHECK(has(card.text, "**2.** Change this file: `docs/a.md`\n```diff\n--- a\n"));
    CHECK(has(card.text, "**3.** Send to: `telegram:chat:5 Bob`\n```\nhello\n```\n"));
    CHECK(has(card.text, "Chat: `the team`"));
    CHECK(has(card.plain, "2. Change this file: docs/a.md\n| --- a\n"));
    CHECK(has(card.plain, "Reply: all yes / all no / 1 yes, 2 no / only 2"));
    CHECK_INT(8, card.button_count);
    check_button(&card, 0, "Approve all", 0, 0, SMA_CARD_APPROVE);
    check_button(&card, 1, "Refuse all", 0, 0, SMA_CARD_REFUSE);
    check_button(&card, 2, "1 ✓", 1, 1, SMA_CARD_APPROVE);
    check_button(&card, 5, "2 ✗", 1, 2, SMA_CARD_REFUSE);
    check_button(&card, 6, "3 ✓", 2, 3, SMA_CARD_APPROVE);
    end(&buf, &card);

    facts.may_chat_decide = false;
    card = make(&buf, &facts);
    CHECK_INT(0, card.button_count);
    CHECK(has(card.text, "An owner or administrator decides this"));
    CHECK(has(card.plain, "shipmyagent approvals"));
    CHECK(!has(card.plain, "Reply:"));
    end(&buf, &card);
}

CASE(buttons_have_an_end)
{
    for (uint32_t count = 10; count <= SMA_TOOL_CALL_COUNT_MAX; count++) {
        struct sma_request request = {.item_count = count};
        struct sma_buf buf;
        for (uint32_t i = 0; i < count; i++)
            request.items[i] = item_of("other", "react", "x", "{}");
        struct sma_card_facts facts = facts_of(&request);
        struct sma_card card = make(&buf, &facts);
        CHECK_INT(count <= 11 ? 2 + 2 * count : SMA_CARD_BUTTON_COUNT_MAX, card.button_count);
        CHECK_INT(count > 11, has(card.text, "Reply:")); /* the others by words */
        CHECK(has(card.text, "**10.** Use this tool: `react`\n```\n{\"a\":1}\n```"));
        end(&buf, &card);
    }
}

/* -- hostile texts ----------------------------------------------------------------------------- */
/* The text without what stands in fences; every fence must be closed by one of its own length. */
static void put_outside(struct sma_buf *outside, struct sma_str text)
{
    size_t fence = 0;
    for (size_t at = 0; at < text.len;) {
        const char *feed = memchr(text.ptr + at, '\n', text.len - at);
        size_t line_end = feed == NULL ? text.len : (size_t)(feed - text.ptr);
        size_t ticks = 0;
        while (at + ticks < line_end && text.ptr[at + ticks] == '`')
            ticks++;
        if (fence == 0 && ticks >= 3)
            fence = ticks;
        else if (fence != 0 && ticks >= fence && at + ticks == line_end)
            fence = 0;
        else if (fence == 0)
            sma_buf_put(outside, text.ptr + at, line_end - at + 1);
        at = line_end + 1;
    }
    CHECK_INT(0, fence);
}

static void check_no_escape(const char *hostile)
{
    struct sma_request request = {.item_count = 1};
    struct sma_buf buf, outside, details;
    sma_buf_init(&details, 100000);
    sma_buf_put_text(&details, "{\"command\":");
    sma_buf_put_json_string(&details, sma_str(hostile));
    sma_buf_put_char(&details, '}');
    request.items[0] = item_of("exec_shell", "exec_shell", hostile, details.ptr);
    request.items[0].reason = sma_str(hostile);
    request.items[0].rule = sma_str(hostile);
    struct sma_card_facts facts = facts_of(&request);
    facts.asker = facts.place = sma_str(hostile);
    struct sma_card card = make(&buf, &facts);
    sma_buf_init(&outside, 100000);
    put_outside(&outside, card.text);
    static const char *const unseen[] = {"\xe2\x80\xae", "\xe2\x81\xa6", "\x1b",        "\r",
                                         "\xe2\x80\x8b", "\xc2\x85",     "\xe2\x80\xa8"};
    for (size_t i = 0; i < SMA_COUNT_OF(unseen); i++) {
        CHECK(!has(card.text, unseen[i]));
        CHECK(!has(card.plain, unseen[i]));
    }
    /* a line of its own outside of a block is ours alone */
    CHECK(!has(sma_buf_str(&outside), "\nEVIL"));
    CHECK(!has(card.plain, "\nEVIL"));
    CHECK_INT(hostile[0] != 0, has(card.plain, "Asked for by: "));
    sma_buf_fini(&outside);
    sma_buf_fini(&details);
    end(&buf, &card);
}

CASE(what_is_shown_cannot_break_out)
{
    static const char *const hostile[] = {
        "ls\n```\nEVIL\n```",
        "ls\n````\nEVIL",
        "``````````\nEVIL\n``",
        "`\nEVIL\n`",
        "a` EVIL `b\nEVIL",
        "x\r\nEVIL\rEVIL",
        "x\xe2\x80\xa8"
        "EVIL\xc2\x85"
        "EVIL",
        "a \xe2\x80\xae"
        "b \xe2\x81\xa6 c\x1b[2K\x1b[1A d \xe2\x80\x8b",
        "\xff\xfe\nEVIL",
        "",
        "`",
        "\n\n\nEVIL\n\n",
        "| x\nEVIL\nExpires in 24 hours; no answer means no.",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(hostile); i++)
        check_no_escape(hostile[i]);
    SMA_AUTO(sma_buf_fini) struct sma_buf ticks;
    sma_buf_init(&ticks, 1000);
    for (size_t i = 0; i < 200; i++) {
        sma_buf_put_char(&ticks, '`');
        if (i % 20 == 19 || (i > 50 && i < 75))
            check_no_escape(ticks.ptr);
    }
    sma_buf_put_text(&ticks, "\nEVIL");
    check_no_escape(ticks.ptr);
}

CASE(the_invisible_is_shown)
{
    struct sma_request request = {.item_count = 1};
    struct sma_buf buf;
    request.items[0] = item_of("exec_shell", "exec_shell", "x",
                               "{\"command\":\"a\\u202eb\\u001bc\\u0000d\\te\\u00a0f\"}");
    struct sma_card_facts facts = facts_of(&request);
    struct sma_card card = make(&buf, &facts);
    CHECK(has(card.text, "\na\\u{202E}b\\x1bc\\x00d\te\\u{00A0}f\n"));
    end(&buf, &card);
}

CASE(what_is_long_is_cut_visibly)
{
    struct sma_request request = {.item_count = 1};
    struct sma_buf buf, details, diff;
    sma_buf_init(&details, 100000);
    sma_buf_init(&diff, 100000);
    sma_buf_put_text(&details, "{\"filePath\":\"a\",\"content\":\"x\"}");
    for (size_t i = 0; i < 5000; i++)
        sma_buf_put_text(&diff, "你");
    request.items[0] = item_of("write_repo", "write_file", "a", details.ptr);
    for (int more = -1; more <= 1; more++) {
        request.items[0].diff =
            (struct sma_str){diff.ptr, (size_t)(SMA_APPROVAL_DIFF_BYTES_MAX + 3 * more)};
        struct sma_card_facts facts = facts_of(&request);
        struct sma_card card = make(&buf, &facts);
        CHECK_INT(more == 1, has(card.text, "[cut: 3 more bytes are not shown]"));
        CHECK_INT(more == 1, has(card.plain, "[cut: 3 more bytes are not shown]"));
        end(&buf, &card);
    }
    request.items[0].diff = sma_buf_str(&diff);
    struct sma_card_facts facts = facts_of(&request);
    struct sma_card card = make(&buf, &facts);
    CHECK(has(card.text, "[cut: 12000 more bytes are not shown]\n你"));
    end(&buf, &card);
    /* What the item itself shows of it is cut already: the whole tells how much is missing. */
    sma_buf_clear(&details);
    sma_buf_put_text(&details, "{\"filePath\":\"a\",\"content\":");
    sma_buf_put_json_string(&details, sma_buf_str(&diff));
    sma_buf_put_char(&details, '}');
    request.items[0].details_json = sma_buf_str(&details);
    request.items[0].diff = SMA_STR("--- a\n...");
    facts = facts_of(&request);
    card = make(&buf, &facts);
    CHECK(has(card.text, "[cut: 12000 more bytes are not shown]\n你"));
    end(&buf, &card);
    sma_buf_fini(&details);
    sma_buf_fini(&diff);
}

/* What is pushed out of sight, by blanks or by length, is the first thing that somebody hides. */
CASE(the_end_of_a_command_is_seen)
{
    static const size_t fills[] = {41, 6000};
    for (size_t i = 0; i < 3; i++) {
        struct sma_request request = {.item_count = 1};
        struct sma_buf buf, command, details;
        sma_buf_init(&command, 100000);
        sma_buf_init(&details, 100000);
        sma_buf_put_text(&command, "ls");
        for (size_t k = 0; k < (i < 2 ? fills[i] : 4000); k++)
            sma_buf_put_char(&command, i < 2 ? " \t\n"[k % 3] : 'x');
        sma_buf_put_text(&command, "; touch HIDDEN_TAIL");
        sma_buf_put_text(&details, "{\"command\":");
        sma_buf_put_json_string(&details, sma_buf_str(&command));
        sma_buf_put_char(&details, '}');
        request.items[0] = item_of("exec_shell", "exec_shell", "ls", details.ptr);
        struct sma_card_facts facts = facts_of(&request);
        struct sma_card card = make(&buf, &facts);
        CHECK(has(card.text, "; touch HIDDEN_TAIL") && has(card.plain, "; touch HIDDEN_TAIL"));
        CHECK_INT(i == 0, has(card.text, "ls[41 blanks]; touch"));
        CHECK_INT(i == 1, has(card.text, "ls[6000 blanks]; touch"));
        CHECK_INT(i == 2, has(card.text, "more bytes are not shown]"));
        CHECK_INT(i == 2, sma_card_is_cut(&request));
        CHECK_INT(i == 2, has(card.text, "only the button approves it"));
        CHECK_INT(i == 2, !has(card.plain, "yes"));
        end(&buf, &card);
        sma_buf_fini(&command);
        sma_buf_fini(&details);
    }
}

CASE(the_time_is_told)
{
    static const struct
    {
        int64_t expire_s;
        const char *text;
    } rows[] = {{0, NULL},           {30, "in 1 minutes"},        {600, "in 10 minutes"},
                {7200, "2 hours"},   {172800, "in 2 days"},       {604800, "in 7 days"},
                {90000, "25 hours"}, {INT64_MAX, "in 2147483647"}};
    struct sma_request request = {.item_count = 1};
    request.items[0] = item_of("exec_shell", "exec_shell", "x", "{\"command\":\"x\"}");
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_buf buf;
        struct sma_card_facts facts = facts_of(&request);
        facts.expire_s = rows[i].expire_s;
        struct sma_card card = make(&buf, &facts);
        CHECK(rows[i].text == NULL ? !has(card.text, "Expires") : has(card.text, rows[i].text));
        end(&buf, &card);
    }
}

/* -- outcomes ---------------------------------------------------------------------------------- */
CASE(an_outcome_says_what_and_by_whom)
{
    struct sma_request request = {.item_count = 2};
    struct sma_buf buf;
    struct sma_card card;
    request.items[0] = item_of("exec_shell", "exec_shell", "git `push`", "{}");
    request.items[1] = item_of("exec_shell", "exec_shell", "ls", "{}");
    struct sma_card_facts facts = facts_of(&request);
    facts.key = NULL;
    enum sma_request_outcome outcomes[] = {SMA_REQUEST_APPROVED, SMA_REQUEST_REFUSED};
    sma_buf_init(&buf, 100000);
    sma_card_put_outcome(&buf, &facts, outcomes, SMA_STR("Bob\nEVIL"), SMA_STR("m1"));
    CHECK_OK(sma_card_parse(sma_buf_str(&buf), &card));
    CHECK(card.is_outcome);
    CHECK_INT(0, card.button_count);
    CHECK_STR("m1", card.message_id);
    CHECK_STR("Decided", card.title);
    CHECK_STR("**1.** Approved: `` git `push` ``\n**2.** Refused: `ls`\nDecided by: `Bob\\nEVIL`",
              card.text);
    CHECK_STR("1. Approved: git `push`\n2. Refused: ls\nDecided by: Bob\\nEVIL", card.plain);
    end(&buf, &card);

    outcomes[0] = outcomes[1] = SMA_REQUEST_EXPIRED;
    facts.language = SMA_LANGUAGE_ZH;
    sma_buf_init(&buf, 100000);
    sma_card_put_outcome(&buf, &facts, outcomes, SMA_STR(""), SMA_STR(""));
    CHECK_OK(sma_card_parse(sma_buf_str(&buf), &card));
    CHECK_STR("已过期", card.title);
    CHECK_STR("1. 已过期：git `push`\n2. 已过期：ls", card.plain);
    end(&buf, &card);
}

CASE(what_is_no_card_is_refused)
{
    static const char *const bad[] = {
        "",
        "yes",
        "[]",
        "{}",
        "{\"id\":\"x\",\"title\":\"\",\"text\":\"\",\"plain\":\"\",\"messageId\":\"\","
        "\"isOutcome\":false,\"buttons\":[]}",
        "{\"id\":\"00112233445566778899aabbccddeeff\",\"title\":\"\",\"text\":\"\",\"plain\":\"\","
        "\"messageId\":\"\",\"isOutcome\":true,\"buttons\":[{\"text\":\"a\",\"data\":\"b\","
        "\"isApproval\":true,\"row\":0}]}",
        "{\"id\":\"00112233445566778899aabbccddeeff\",\"title\":\"\",\"text\":\"\",\"plain\":\"\","
        "\"messageId\":\"\",\"isOutcome\":false,\"buttons\":[{\"text\":\"a\",\"data\":\"b\","
        "\"isApproval\":true,\"row\":24}]}",
        "{\"id\":\"00112233445566778899aabbccddeeff\",\"title\":\"\",\"text\":\"\",\"plain\":\"\","
        "\"messageId\":\"\",\"isOutcome\":0,\"buttons\":[]}",
        "{\"id\":\"00112233445566778899aabbccddeeff\",\"title\":\"\",\"text\":1,\"plain\":\"\","
        "\"messageId\":\"\",\"isOutcome\":false,\"buttons\":[]}",
    };
    struct sma_card card;
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, sma_card_parse(sma_str(bad[i]), &card));
    for (size_t len = SMA_ID_BYTES_MAX; len <= SMA_ID_BYTES_MAX + 1; len++) {
        char json[SMA_ID_BYTES_MAX + 256];
        snprintf(
            json, sizeof json,
            "{\"id\":\"00112233445566778899aabbccddeeff\",\"title\":\"\",\"text\":\"\",\"plain\":"
            "\"\",\"messageId\":\"%0*d\",\"isOutcome\":false,\"buttons\":[]}",
            (int)len, 7);
        bool is_fit = len == SMA_ID_BYTES_MAX;
        CHECK_ERR(is_fit ? SMA_ERR_OK : SMA_ERR_BADINPUT, sma_card_parse(sma_str(json), &card));
        if (is_fit)
            sma_card_fini(&card);
    }
}

CASES_MAIN
