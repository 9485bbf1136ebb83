/*
 * Aim: a line asks for a file where a person reads it as text, and never where it is shown as code.
 * Method: texts with one to three such lines; those that are to count name the file "yes".
 */
#include "runtime/text/attach_text.h"
#include "sma/text.h"
#include "support/check.h"

#define YES "@attach photo yes.png\n"
#define NO "@attach photo no.png\n"

/* Every "yes" of the text is found, no "no" is, and the rest keeps all other lines. */
static void check_text(const char *text)
{
    struct sma_attach_reader reader;
    struct sma_attach_line line;
    SMA_AUTO(sma_buf_fini) struct sma_buf rest;
    size_t wanted = 0, kept = 0, count = 0;
    for (const char *at = text; (at = strstr(at, "yes.png")) != NULL; at++)
        wanted++;
    sma_attach_reader_init(&reader, sma_str(text));
    while (sma_attach_next_file(&reader, &line)) {
        CHECK_STR("yes.png", line.target);
        count++;
    }
    if (count != wanted)
        fprintf(stderr, "in:\n%s\n", text);
    CHECK_INT(wanted, count);
    sma_buf_init(&rest, 1 << 16);
    CHECK_INT(wanted, sma_attach_put_rest(&rest, sma_str(text), false));
    CHECK_OK(rest.err);
    kept = rest.len;
    CHECK_INT(strlen(text) - wanted * strlen(YES), kept);
}

CASE(lines_of_text_count)
{
    check_text("");
    check_text("nothing here\n");
    check_text(YES);
    check_text("here it is\n" YES "\nand another\n\n" YES);
    check_text("a `code span` before\n" YES "and `another`\n");
    check_text("an odd ` tick\n" YES "\nand one in the next ` paragraph\n" YES);
    check_text("> `quoted\n" YES "# a ` heading\n" YES "- an ` item\n" YES "- a ` second\n" YES);
    check_text("an escaped \\` tick\n" YES "and ` one more\n");
    check_text("ticks of `` two lengths\n" YES "do not ` meet\n");
}

CASE(lines_of_fenced_code_do_not)
{
    check_text("```\n" NO "```\n" YES);
    check_text("~~~ text\n" NO "```\n" NO "~~~\n" YES);
    check_text("````\n" NO "```\n" NO "`````\n" YES);
    check_text("```\n" NO "``` not the end\n" NO "```   \n" YES);
    check_text("```\nnever closed\n" NO "\n\n" NO);
    check_text("1. Do this:\n    ```\n    " NO "    ```\n" YES);
    check_text("- ```sh\n  " NO "  ```\n" YES);
    check_text("```\n        ```\n" NO "```\n" YES); /* code that shows a fence */
    check_text("``` in `line` ```\n" YES);           /* a span, not a fence */
    check_text("a `span\n```\n" NO "```\nends` never\n" YES);
}

CASE(lines_inside_a_code_span_do_not)
{
    check_text("say `this\n" NO "and this` to me\n" YES);
    check_text("say ``this ` with\n" NO "a tick`` in it\n" YES);
    check_text("say `this\n" NO "` and `that\n" NO "` too\n" YES);
}

CASE(carriage_returns_change_nothing)
{
    check_text("```\r\n@attach photo no.png\r\n```\r\n" YES);
}

CASE(what_grows_hides_a_line_that_may_become_one)
{
    static const struct
    {
        const char *text, *rest;
    } rows[] = {
        {"words\n@", "words\n"},
        {"words\n  @ATT", "words\n"},
        {"words\n@attach photo a.p", "words\n"},
        {"words\n@attachment", "words\n@attachment"},
        {"words\n@ann", "words\n@ann"},
        {"```\n@att", "```\n@att"},
        {"`a span\n@att", "`a span\n"},
        {"words\n@attach photo a.png\nmore", "words\nmore"},
    };
    SMA_AUTO(sma_buf_fini) struct sma_buf rest;
    sma_buf_init(&rest, 4096);
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        sma_buf_clear(&rest);
        (void)sma_attach_put_rest(&rest, sma_str(rows[i].text), true);
        CHECK_STR(rows[i].rest, sma_buf_str(&rest));
    }
}

/* Runs of every length, none of them closed: the time must not grow with the square of the text. */
CASE(ticks_without_end_cost_little)
{
    struct sma_attach_reader reader;
    struct sma_attach_line line;
    SMA_AUTO(sma_buf_fini) struct sma_buf text;
    sma_buf_init(&text, 8 << 20);
    for (size_t i = 0; text.len < (4 << 20); i++) {
        for (size_t k = 0; k <= i % 40; k++)
            sma_buf_put_char(&text, '`');
        sma_buf_put_text(&text, i % 7 == 0 ? "\n" : " x ");
    }
    sma_attach_reader_init(&reader, sma_buf_str(&text));
    CHECK(!sma_attach_next_file(&reader, &line));
}

CASES_MAIN
