/*
 * Aim: .env files of existing projects are read as the old program (dotenv 16) read them.
 * Method: a table of texts and the assignments they must give, in order, as NAME=VALUE|...
 */
#include "runtime/config/config_priv.h"
#include "sma/buf.h"
#include "support/check.h"

static void record(void *user, const char *name, const char *value)
{
    struct sma_buf *buf = user;
    sma_buf_printf(buf, "%s=%s|", name, value);
}

static const struct
{
    const char *text, *expect;
} CASES[] = {
    {"A=1\nB=2\n", "A=1|B=2|"},
    {"A: yaml style\n", "A=yaml style|"},
    {"export A=1\n  export   B = 2 \n", "A=1|B=2|"},
    {"A='single # kept'\nB=\"double\\nline\"\nC=`back'\"tick`\n",
     "A=single # kept|B=double\nline|C=back'\"tick|"},
    {"A='no\\nexpansion'\n", "A=no\\nexpansion|"},
    {"A=\"spans\nlines\"\nB=1\n", "A=spans\nlines|B=1|"},
    {"# comment\nA=1 # tail\nB=x#y\n", "A=1|B=x|"},
    {"A=${B}\nB=1\n", "A=${B}|B=1|"},
    {"A=first\nA=last\n", "A=first|A=last|"},
    {"A=\nB=1", "A=|B=1|"},
    {"\xEF\xBB\xBF"
     "A=1\r\nB=2\r\n",
     "A=1|B=2|"},
    {"not an assignment\nA=1\n", "A=1|"},
    {"A=\"never closed\nB=1\n", "A=\"never closed|B=1|"},
    {"1A.b-c=ok\n", "1A.b-c=ok|"},
    {"A='it\\'s'\n", "A=it\\'s|"},
    {"", ""},
    {"A=", "A=|"},
    {"=x\n:y\nexport\n", ""},
};

CASE(every_dialect_form_is_read)
{
    for (size_t i = 0; i < SMA_COUNT_OF(CASES); i++) {
        struct sma_buf buf;
        sma_buf_init(&buf, 4096);
        CHECK_OK(sma_env_parse(sma_str(CASES[i].text), record, &buf));
        check_text_at(__FILE__, __LINE__, CASES[i].text, sma_str(CASES[i].expect),
                      sma_buf_str(&buf));
        sma_buf_fini(&buf);
    }
}

/* As editors of Windows save it: with a mark or without, either way round. */
CASE(utf16_is_read)
{
    static const struct
    {
        const char *bytes;
        size_t len;
    } rows[] = {{"\xFF\xFE"
                 "A\0=\0\x2d\x4e\n\0",
                 10},
                {"\xFE\xFF"
                 "\0A\0=\x4e\x2d\0\n",
                 10},
                {"A\0=\0\x2d\x4e\n\0", 8},
                {"\0A\0=\x4e\x2d\0\n", 8}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_buf buf;
        sma_buf_init(&buf, 1000);
        CHECK_OK(sma_env_parse((struct sma_str){rows[i].bytes, rows[i].len}, record, &buf));
        CHECK_STR("A=中|", sma_buf_str(&buf));
        sma_buf_fini(&buf);
    }
}

CASES_MAIN
