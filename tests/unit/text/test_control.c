/* Aim: which texts are commands and which are messages. */
#include "sma/adapter.h"
#include "support/check.h"

static void table_of_texts(void)
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
        {"/start", SMA_CONTROL_HELP},
        {"/start deep_link", SMA_CONTROL_HELP},
        {"/停止", SMA_CONTROL_STOP},
        {"/清除", SMA_CONTROL_CLEAR},
        {"/状态", SMA_CONTROL_STATUS},
        {"/帮助 我", SMA_CONTROL_HELP},
        {"/停止一下吧", SMA_CONTROL_NONE},
        {"/tasks", SMA_CONTROL_UNKNOWN},
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

static void a_slice_without_nul_is_not_read_over(void)
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

int main(void)
{
    RUN(table_of_texts);
    RUN(a_slice_without_nul_is_not_read_over);
    return check_summary();
}
