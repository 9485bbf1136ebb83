/*
 * Aim: visible.h: what people cannot see on a page is not read, and what they see is.
 * Method: hidden.rows, one page a line: the word HIDDEN may not be read of it, the word SEEN must
 * be. What SECURITY.md says does not hold are the words PASSES and LOST, so that it stays true.
 * Then pages whose sheets are made to cost.
 */
#include "page/markdown.h"
#include "support/check.h"

#include <stdlib.h>
#include <time.h>

static unsigned count(const char *text, const char *word)
{
    unsigned found = 0;
    while ((text = strstr(text, word)) != NULL) {
        text++;
        found++;
    }
    return found;
}

static void rows_are_read_as_people_see_them(void)
{
    FILE *file = fopen(HIDDEN_ROWS, "r");
    char row[2048];
    unsigned hidden_count = 0, seen_count = 0, wrong_count = 0;
    CHECK(file != NULL);
    while (file != NULL && fgets(row, sizeof row, file) != NULL) {
        struct sma_markdown page;
        unsigned hidden = count(row, "HIDDEN") + count(row, "LOST");
        unsigned seen = count(row, "SEEN"), passing = count(row, "PASSES");
        if (row[0] == '#')
            continue;
        CHECK(hidden + seen + passing > 0);
        hidden_count += hidden > 0;
        seen_count += seen > 0;
        CHECK(sma_markdown_from_html(row, strlen(row), "", 100000, &page));
        bool is_right = count(page.text, "HIDDEN") + count(page.text, "LOST") == 0 &&
                        count(page.text, "SEEN") == seen && count(page.text, "PASSES") == passing;
        if (!is_right)
            fprintf(stderr, "read as \"%s\": %s", page.text, row);
        wrong_count += !is_right;
        sma_markdown_fini(&page);
    }
    CHECK_INT(0, wrong_count);
    CHECK(hidden_count >= 290 && seen_count >= 140);
    if (file != NULL)
        (void)fclose(file);
}

/* Many rules, elements, brackets, variables: a second of work, and memory as the page is long. What
   is behind the limit is not read, and the page says that there is more. */
static void costly_styles_are_bounded(void)
{
    static const struct
    {
        const char *sheet, *body; /* repeated */
        unsigned sheet_count, body_count;
        bool is_cut;
    } rows[] = {
        {"b:not(.x){top:0}", "<b>x</b>", 10000, 10000, true},
        {"b b b b b b b b b b i{top:0}", "<b>", 1000, 300, false},
        {"b~b~b~b~i{top:0}", "<b></b>", 300, 5000, false},
        {"a,", "<a>", 101000, 100, true},
        {"*{all:unset}", "<b>x</b>", 12000, 10, true},
        {"a{& a{", "<a>x", 20000, 100, false},
        {"@media screen{", "<a>x", 8000, 10, false},
        {":is(:is(:is(", "<a>x", 8000, 10, false},
        {"*{--a:var(--b)var(--b);--b:var(--a)var(--a);color:var(--a)}", "<a>x", 500, 200, false},
        {"*{left:calc((((", "<a>x", 8000, 10, false},
        {"[x*=a]{top:0}", "<b x=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb>x</b>", 5000, 5000, true},
        {"@layer a;", "<b>x</b>", 10000, 10, false},
        {"((((", "<b>x</b>", 10000, 10, false},
        {"{{{{", "<b>x</b>", 10000, 10, false},
        {"/*", "<b>x</b>", 10000, 10, false},
        {"'", "<b>x</b>", 10000, 10, false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_markdown page;
        struct timespec begin, end;
        size_t room = strlen(rows[i].sheet) * rows[i].sheet_count +
                      strlen(rows[i].body) * rows[i].body_count + 99,
               len;
        char *html = malloc(room), *at = html;
        CHECK(html != NULL);
        at = stpcpy(at, "<style>");
        for (unsigned k = 0; k < rows[i].sheet_count; k++)
            at = stpcpy(at, rows[i].sheet);
        at = stpcpy(at, "{top:0}</style>");
        for (unsigned k = 0; k < rows[i].body_count; k++)
            at = stpcpy(at, rows[i].body);
        at = stpcpy(at, "<p style='opacity:0'>HIDDEN");
        len = (size_t)(at - html);
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
        CHECK(sma_markdown_from_html(html, len, "", 10000000, &page));
        (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
        double seconds =
            (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
        fprintf(stderr, "%.2f s: %s\n", seconds, rows[i].sheet);
        CHECK(seconds < 5); /* with sanitizers; a tenth of it without */
        CHECK(strstr(page.text, "HIDDEN") == NULL);
        CHECK(!rows[i].is_cut || page.is_cut);
        sma_markdown_fini(&page);
        free(html);
    }
}

int main(void)
{
    sma_markdown_load();
    RUN(rows_are_read_as_people_see_them);
    RUN(costly_styles_are_bounded);
    return check_summary();
}
