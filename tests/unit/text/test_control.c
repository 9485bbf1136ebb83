/* Aim: which texts are commands and which are messages. */
#include "sma/adapter.h"
#include "sma/commands.h"
#include "sma/text.h"
#include "support/check.h"

CASE(table_of_texts)
{
    static const struct
    {
        const char *text;
        enum sma_control wanted;
    } rows[] = {
        {"", SMA_CONTROL_NONE},
        {"/", SMA_CONTROL_NONE},
        {"stop", SMA_CONTROL_NONE},
        {"please /stop", SMA_CONTROL_NONE},
        {"/stop", SMA_CONTROL_STOP},
        {"  /STOP \n", SMA_CONTROL_STOP},
        {"/stop now", SMA_CONTROL_STOP},
        {"/stop\tnow", SMA_CONTROL_STOP},
        {"/stop@my_bot", SMA_CONTROL_STOP},
        {"/stop@my_bot now", SMA_CONTROL_STOP},
        {"/stopp", SMA_CONTROL_UNKNOWN},
        {"/Clear", SMA_CONTROL_CLEAR},
        {"/status", SMA_CONTROL_STATUS},
        {"/help", SMA_CONTROL_HELP},
        {"/whoami", SMA_CONTROL_WHOAMI},
        {"/我是谁", SMA_CONTROL_WHOAMI},
        {"/start", SMA_CONTROL_START},
        {"/start deep_link", SMA_CONTROL_START},
        {"/停止", SMA_CONTROL_STOP},
        {"/清除", SMA_CONTROL_CLEAR},
        {"/状态", SMA_CONTROL_STATUS},
        {"/帮助 我", SMA_CONTROL_HELP},
        {"/停止一下吧", SMA_CONTROL_NONE},
        {"/tasks", SMA_CONTROL_TASKS},
        {"/任务", SMA_CONTROL_TASKS},
        {"/approve 1a2b3c", SMA_CONTROL_APPROVE},
        {"/同意 1a2b3c", SMA_CONTROL_APPROVE},
        {"/Reject@my_bot 1a2b3c", SMA_CONTROL_REJECT},
        {"/拒绝", SMA_CONTROL_REJECT},
        {"/approvals", SMA_CONTROL_APPROVALS},
        {"/审批", SMA_CONTROL_APPROVALS},
        {"/more", SMA_CONTROL_MORE},
        {"/继续", SMA_CONTROL_MORE},
        {"/full", SMA_CONTROL_FULL},
        {"/完整输出", SMA_CONTROL_FULL},
        {"/logs", SMA_CONTROL_LOGS},
        {"/日志", SMA_CONTROL_LOGS},
        {"/approv", SMA_CONTROL_UNKNOWN},
        {"/a1_b", SMA_CONTROL_UNKNOWN},
        {"/1", SMA_CONTROL_NONE},
        {"/etc/passwd", SMA_CONTROL_NONE},
        {"/usr/bin is what?", SMA_CONTROL_NONE},
        {"//", SMA_CONTROL_NONE},
        {"/@bot", SMA_CONTROL_NONE},
        {"/ stop", SMA_CONTROL_NONE},
        {"/abcdefghijklmnopqrstuvwxyzabcdef", SMA_CONTROL_UNKNOWN},
        {"/abcdefghijklmnopqrstuvwxyzabcdefg", SMA_CONTROL_NONE},
        {"/\xff\xfe", SMA_CONTROL_NONE},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        if (sma_control_parse(sma_str(rows[i].text)) != rows[i].wanted)
            fprintf(stderr, "text: %s\n", rows[i].text);
        CHECK_INT(rows[i].wanted, sma_control_parse(sma_str(rows[i].text)));
    }
}

CASE(a_few_whole_texts_ask_for_more_without_a_slash)
{
    static const struct
    {
        const char *text;
        enum sma_control wanted;
    } rows[] = {
        {"继续", SMA_CONTROL_MORE},
        {"\n 下一页 ", SMA_CONTROL_MORE},
        {"More", SMA_CONTROL_MORE},
        {"next page", SMA_CONTROL_MORE},
        {"@my_bot more", SMA_CONTROL_MORE},
        {"发完整输出", SMA_CONTROL_FULL},
        {"full output", SMA_CONTROL_FULL},
        {"/more", SMA_CONTROL_NONE}, /* that is the command */
        {"继续努力", SMA_CONTROL_NONE},
        {"more!", SMA_CONTROL_NONE},
        {"continue", SMA_CONTROL_NONE}, /* after [I stopped after 20 steps.]: the model's */
        {"full", SMA_CONTROL_NONE},
        {"@more", SMA_CONTROL_NONE},
        {"", SMA_CONTROL_NONE},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_INT(rows[i].wanted, sma_control_word(sma_str(rows[i].text)));
}

CASE(words_behind_a_command_are_its_argument)
{
    static const struct
    {
        const char *text, *wanted;
    } rows[] = {
        {"/stop", ""},
        {"/stop now", "now"},
        {" /stop \n now and \t", "now and"},
        {"/stop@my_bot now", "now"},
        {"/stop@my_bot", ""},
        {"@my_bot /stop now", "now"},
        {"@my_bot\n/停止 2", "2"},
        {"look at /etc /stop a/b", "a/b"},
        {"/usage /stop", "/stop"},
        {"no command", ""},
        {"", ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_STR(rows[i].wanted, sma_control_argument(sma_str(rows[i].text)));
}

CASE(a_prompt_of_a_server_is_known_by_its_form)
{
    static char long_server[80], long_prompt[150];
    static const struct
    {
        const char *text, *server, *prompt, *rest; /* server NULL: it is none */
    } rows[] = {
        {"/box:greet", "box", "greet", ""},
        {" /box:greet  the world \n", "box", "greet", "the world"},
        {"@my_bot @other /a-b.c_1:x:y z", "a-b.c_1", "x:y", "z"},
        {"@my_bot\n/box:早上 好", "box", "早上", "好"},
        {"/box:", NULL, NULL, NULL},
        {"/:greet", NULL, NULL, NULL},
        {"/box greet:x", NULL, NULL, NULL},
        {"/b/x:greet", NULL, NULL, NULL},
        {"see /box:greet", NULL, NULL, NULL},
        {"@my_bot", NULL, NULL, NULL},
        {"", NULL, NULL, NULL},
    };
    struct sma_str server, prompt, rest;
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        bool is_one = sma_control_prompt(sma_str(rows[i].text), &server, &prompt, &rest);
        CHECK(is_one == (rows[i].server != NULL));
        if (!is_one)
            continue;
        CHECK_INT(SMA_CONTROL_NONE, sma_control_parse(sma_str(rows[i].text)));
        CHECK_STR(rows[i].server, server);
        CHECK_STR(rows[i].prompt, prompt);
        CHECK_STR(rows[i].rest, rest);
    }
    for (size_t extra = 0; extra < 2; extra++) { /* at their limits, and one beyond */
        char text[300];
        memset(long_server, 's', SMA_MCP_SERVER_NAME_BYTES_MAX + extra);
        memset(long_prompt, 'p', SMA_MCP_NAME_BYTES_MAX + extra);
        snprintf(text, sizeof text, "/%s:p", long_server);
        CHECK(sma_control_prompt(sma_str(text), &server, &prompt, &rest) == (extra == 0));
        snprintf(text, sizeof text, "/s:%s", long_prompt);
        CHECK(sma_control_prompt(sma_str(text), &server, &prompt, &rest) == (extra == 0));
    }
}

/* A platform's list and the words that are recognised come from the same rows: they cannot differ,
 * and Telegram takes them (protocols/telegram.md, setMyCommands). */
CASE(each_row_is_recognised_and_told_in_both_languages)
{
    size_t count;
    const struct sma_command *commands = sma_commands(&count);
    SMA_AUTO(sma_buf_fini) struct sma_buf help;
    sma_buf_init(&help, 16 * 1024);
    sma_commands_put_help(&help, SMA_LANGUAGE_EN);
    sma_commands_put_help(&help, SMA_LANGUAGE_ZH);
    for (size_t i = 0; i < count; i++) {
        char text[64];
        snprintf(text, sizeof text, "/%s x", commands[i].word);
        CHECK_INT(commands[i].control, sma_control_parse(sma_str(text)));
        CHECK(strspn(commands[i].word, "abcdefghijklmnopqrstuvwxyz0123456789_") ==
              strlen(commands[i].word));
        CHECK(strlen(commands[i].doc) <= 256 && commands[i].doc[0] != '\0');
        CHECK(strlen(commands[i].chinese_doc) <= 256 && commands[i].chinese_doc[0] != '\0');
        CHECK(sma_command_of(commands[i].control) != NULL);
        snprintf(text, sizeof text, "\n/%s — ", commands[i].word);
        bool is_alias = (commands[i].traits & SMA_COMMAND_ALIAS) != 0;
        CHECK_INT(!is_alias, memmem(help.ptr, help.len, text, strlen(text)) != NULL);
        if (commands[i].chinese_word == NULL)
            continue;
        snprintf(text, sizeof text, "/%s", commands[i].chinese_word);
        CHECK_INT(commands[i].control, sma_control_parse(sma_str(text)));
        CHECK(memmem(help.ptr, help.len, text, strlen(text)) != NULL);
    }
    CHECK(sma_command_of(SMA_CONTROL_UNKNOWN) == NULL);
}

CASE(a_slice_without_nul_is_not_read_over)
{
    char bytes[5] = {'/', 's', 't', 'o', 'p'};
    char *exact = malloc(sizeof bytes);
    CHECK(exact != NULL);
    memcpy(exact, bytes, sizeof bytes);
    CHECK_INT(SMA_CONTROL_STOP, sma_control_parse((struct sma_str){exact, sizeof bytes}));
    free(exact);
    char nul[] = "/stop\0x";
    CHECK_INT(SMA_CONTROL_NONE, sma_control_parse((struct sma_str){nul, sizeof nul - 1}));
}

CASES_MAIN
