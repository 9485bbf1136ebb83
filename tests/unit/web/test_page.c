/*
 * Aim: markdown.h and charset.h: a page's text comes as Markdown in UTF-8, without what the page
 * hides, and no page is too deep or too large to be read.
 * Method: pages made here, each with the text that is expected of it.
 */
#include "page/charset.h"
#include "page/markdown.h"
#include "support/check.h"

#include <stdlib.h>

static struct sma_markdown page;

static const char *read_max(const char *html, size_t len, size_t max)
{
    sma_markdown_fini(&page);
    CHECK(sma_markdown_from_html(html, len, "https://example.com/a/b.html", max, &page));
    return page.text;
}

static const char *read(const char *html)
{
    return read_max(html, strlen(html), 100000);
}

static void elements_become_markdown(void)
{
    static const char *const rows[][2] = {
        {"<h1>One</h1><h3> Two\n </h3>text", "# One\n\n### Two\n\ntext"},
        {"<p>a <b>b</b>  c<p>d<br>e", "a b c\n\nd\ne"},
        {"<a href='../x?q=1#f'> go </a>!", "[go](https://example.com/x?q=1#f) !"},
        {"<a href='//other.org/'>o</a> <a href='#top'>top</a>", "[o](https://other.org/) top"},
        {"<ul><li>a<li><p>b</p><ol start=3><li>c<li>d</ol></ul>e",
         "- a\n- b\n\n  3. c\n  4. d\n\ne"},
        {"<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n\n> b\n\nc"},
        {"<pre>\nint x;\n\n  y &lt; 1\n</pre>z", "```\nint x;\n\n  y < 1\n```\n\nz"},
        {"run <code>ls -l</code> now", "run `ls -l` now"},
        {"<table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td><p>2</p></td></tr></table>",
         "| k | v |\n| --- | --- |\n| 1 | 2 |"},
        {"a<hr>b", "a\n\n---\n\nb"},
        {"<img alt='a  cat' src=x> <img src=y>", "[Image: a cat]"},
        {"x &amp; y &copy; &#x4f60;&nbsp;z", "x & y \xc2\xa9 \xe4\xbd\xa0 z"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_TEXT(rows[i][1], read(rows[i][0]));
    (void)read("<head><title> The\n title &lt;x&gt; </title><title>no</title></head><body>b");
    CHECK_TEXT("The title <x>", page.title);
    CHECK_TEXT("b", page.text);
    CHECK(!page.is_cut);
}

static void what_a_page_hides_is_not_read(void)
{
    static const char *const pages[] = {
        "<script>HIDDEN</script>x",
        "<style>HIDDEN</style>x",
        "<p hidden>HIDDEN</p>x",
        "<div style='Display : NONE'>HIDDEN<p>HIDDEN</p></div>x",
        "<span style='color:red;visibility:hidden'>HIDDEN</span>x",
        "<span style='font-size:0px'>HIDDEN</span>x",
        "<span aria-hidden='TRUE'>HIDDEN</span>x",
        "<noscript>HIDDEN</noscript>x",
        "<template>HIDDEN</template>x",
        "<textarea>HIDDEN</textarea>x",
        "<!-- HIDDEN -->x",
        "<iframe>HIDDEN</iframe>x",
        "<a href='javascript:HIDDEN'>x</a>",
        "<a href='data:text/html,HIDDEN'>x</a>",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(pages); i++)
        CHECK_TEXT("x", read(pages[i]));
    /* zero width, right-to-left, tags that spell letters */
    CHECK_TEXT("abc", read("a\xe2\x80\x8b"
                           "b\xe2\x80\xae"
                           "\xf3\xa0\x81\xa1"
                           "c"));
}

static char *repeat(const char *text, size_t count, size_t *ret_len)
{
    size_t len = strlen(text);
    char *bytes = malloc(len * count + 1);
    CHECK(bytes != NULL);
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + i * len, text, len + 1);
    *ret_len = len * count;
    return bytes;
}

static void depth_and_length_are_bounded(void)
{
    static const char *const pieces[] = {
        "<div>",      "<b>x",     "<ul><li>", "<blockquote>", "<table>", "<table><tr><td>",
        "<a href=x>", "</p>",     "<p>",      "<pre>",        "<li>",    "&lt;",
        "<![CDATA[",  "<svg><a>", "<i></b>",  "<!--"};
    for (size_t i = 0; i < SMA_COUNT_OF(pieces); i++) {
        size_t len;
        char *html = repeat(pieces[i], 100000, &len);
        const char *text = read_max(html, len, 5000);
        CHECK(strlen(text) == page.len && page.len <= 5000);
        free(html);
    }
    size_t len;
    char *html = repeat("<div>", SMA_MARKDOWN_DEPTH_MAX - 3, &len); /* html, body, div... */
    (void)read_max(html, len, 5000);
    CHECK(!page.is_cut);
    free(html);
    html = repeat("<div>", SMA_MARKDOWN_DEPTH_MAX + 1, &len);
    (void)read_max(html, len, 5000);
    CHECK(page.is_cut);
    free(html);
}

static void a_text_is_cut_between_two_characters(void)
{
    CHECK_TEXT("\xe4\xbd\xa0", read_max("\xe4\xbd\xa0\xe5\xa5\xbd", 6, 5));
    CHECK(page.is_cut);
    CHECK_TEXT("\xe4\xbd\xa0\xe5\xa5\xbd", read_max("\xe4\xbd\xa0\xe5\xa5\xbd", 6, 6));
    CHECK(!page.is_cut);
    sma_markdown_fini(&page);
    CHECK(sma_markdown_from_text("{\"a\":\r\n 1}\xe2\x80\x8b", 13, 100, &page));
    CHECK_TEXT("{\"a\":\n 1}", page.text);
    sma_markdown_fini(&page);
    CHECK(sma_markdown_from_text("abc", 3, 2, &page));
    CHECK(page.is_cut && page.len == 2);
}

static void a_huge_attribute_is_left_out(void)
{
    size_t len;
    char *html = repeat("y", 3000000, &len);
    memcpy(html, "<a href='", 9);
    memcpy(html + len - 9, "'>z</a> e", 9);
    CHECK_TEXT("z e", read_max(html, len, 5000));
    free(html);
}

static void encodings_become_utf8(void)
{
    static const struct
    {
        const char *bytes, *label;
        size_t len;
        bool is_html;
        const char *expected;
    } rows[] = {
        {"caf\xc3\xa9", "utf-8", 5, false, "caf\xc3\xa9"},
        {"caf\xc3\xa9", NULL, 5, false, "caf\xc3\xa9"},
        {"caf\xe9", NULL, 4, false, "caf\xc3\xa9"},
        {"caf\xe9", "ISO-8859-1", 4, false, "caf\xc3\xa9"},
        {"\xc4\xe3\xba\xc3", "GB2312", 4, false, "\xe4\xbd\xa0\xe5\xa5\xbd"},
        {"\xa7\x41\xa6\x6e", "big5", 4, false, "\xe4\xbd\xa0\xe5\xa5\xbd"},
        {"\x82\xb1", "Shift_JIS", 2, false, "\xe3\x81\x93"},
        {"\xb0\xa1", "euc-kr", 2, false, "\xea\xb0\x80"},
        {"\xf0\xd2", "koi8-r", 2, false, "\xd0\x9f\xd1\x80"},
        {"\xff\xfe\x60\x4f", "utf-8", 4, false, "\xe4\xbd\xa0"},
        {"\xfe\xff\x4f\x60", NULL, 4, false, "\xe4\xbd\xa0"},
        {"\xef\xbb\xbfx", "gbk", 4, false, "x"},
        {"<meta charset=\"gbk\">\xc4\xe3", "", 22, true, "<meta charset=\"gbk\">\xe4\xbd\xa0"},
        {"<meta http-equiv=x content='text/html; charset=windows-1251'>\xcf", NULL, 62, true,
         "<meta http-equiv=x content='text/html; charset=windows-1251'>\xd0\x9f"},
        {"a\xff"
         "b",
         "utf-8", 3, false,
         "a\xef\xbf\xbd"
         "b"},
        {"a\0b", "utf-8", 3, false, "a b"},
        {"\xed\xa0\x80", "utf-8", 3, false, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xc4", "gbk", 1, false, "\xef\xbf\xbd"},
        {"x", "no-such-thing", 1, false, "x"},
        {"", "utf-16", 0, false, ""},
    };
    sma_charset_load();
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        size_t len;
        char *text =
            sma_charset_to_utf8(rows[i].bytes, rows[i].len, rows[i].label, rows[i].is_html, &len);
        CHECK(text != NULL && len == strlen(text));
        CHECK_TEXT(rows[i].expected, text);
        free(text);
    }
    sma_charset_unload();
}

int main(void)
{
    sma_markdown_load();
    RUN(elements_become_markdown);
    RUN(what_a_page_hides_is_not_read);
    RUN(depth_and_length_are_bounded);
    RUN(a_text_is_cut_between_two_characters);
    RUN(a_huge_attribute_is_left_out);
    RUN(encodings_become_utf8);
    sma_markdown_fini(&page);
    return check_summary();
}
