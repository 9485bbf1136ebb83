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

CASE(elements_become_markdown)
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

CASE(what_a_page_hides_is_not_read)
{
    static const char *const pages[] = {
        "<script>HIDDEN</script>x",
        "<style>HIDDEN</style>x",
        "<p hidden>HIDDEN</p>x",
        "<div style='Display : NONE'>HIDDEN<p>HIDDEN</p></div>x",
        "<span style='color:red;visibility:hidden'>HIDDEN</span>x",
        "<span style='font-size:0px'>HIDDEN</span>x",
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

/* What a browser does not show people is not told to the model, however it is hidden. */
CASE(what_people_cannot_see_is_not_read)
{
    static const char *const pages[] = {
        /* in the colour of its ground */
        "<p style='color:white'>HIDDEN</p>x",
        "<p style='color:#fff;background:#FFFFFF'>HIDDEN<b>HIDDEN</b></p>x",
        "<p style='color: rgb(250, 250, 250)'>HIDDEN</p>x",
        "<p style='color:rgba(0,0,0,0.02)'>HIDDEN</p>x",
        "<p style='color:hsl(0 0% 99%)'>HIDDEN</p>x",
        "<p style='color:transparent'>HIDDEN</p>x",
        "<p style='-webkit-text-fill-color:transparent'>HIDDEN</p>x",
        "<font color=white>HIDDEN</font>x",
        "<font color='#FEFEFE'>HIDDEN</font>x",
        "<div style='background:#222'><p style='color:#222'>HIDDEN</p></div>x",
        "<div style='background-color:black;color:white'><i style='color:#000'>HIDDEN</i></div>x",
        "<body bgcolor=navy text=white><font color='#000080'>HIDDEN</font>x",
        "<style>.w{color:var(--w)}:root{--w:#fff}</style><p class=w>HIDDEN</p>x",
        /* tiny */
        "<p style='font-size:1px'>HIDDEN</p>x",
        "<p style='font:0/0 a'>HIDDEN</p>x",
        "<p style='font-size:.3em'><i style='font-size:30%'>HIDDEN</i></p>x",
        "<p style='font-size:0.01rem'>HIDDEN</p>x",
        /* transparent, or not there */
        "<p style='opacity:0.01'>HIDDEN</p>x",
        "<p style='opacity:.3'><b style='opacity:.2'>HIDDEN</b></p>x",
        "<p style='filter:opacity(0)'>HIDDEN</p>x",
        "<p style='visibility:collapse'>HIDDEN</p>x",
        "<p style='content-visibility:hidden'>HIDDEN</p>x",
        "<p style='d\\69splay:none'>HIDDEN</p>x",
        "<p style='display:/**/none!important;display:block'>HIDDEN</p>x",
        /* outside, or cut away */
        "<p style='position:absolute;left:-9999px'>HIDDEN</p>x",
        "<p style='position:fixed;top:-100em'>HIDDEN</p>x",
        "<p style='position:absolute;inset:-9999px auto auto -9999px'>HIDDEN</p>x",
        "<p style='position:absolute;left:99999px'>HIDDEN</p>x",
        "<p style='text-indent:-9999px'>HIDDEN</p>x",
        "<p style='margin-left:-5000px'>HIDDEN</p>x",
        "<p style='transform:translateX(-9999px)'>HIDDEN</p>x",
        "<p style='transform:rotate(3deg) translate(0, -9999px)'>HIDDEN</p>x",
        "<p style='transform:scale(0)'>HIDDEN</p>x",
        "<p style='zoom:0.01'>HIDDEN</p>x",
        "<p style='position:absolute;clip:rect(0 0 0 0)'>HIDDEN</p>x",
        "<p style='position:absolute;clip:rect(1px, 1px, 1px, 1px)'>HIDDEN</p>x",
        "<p style='clip-path:inset(50%)'>HIDDEN</p>x",
        "<p style='clip-path:circle(0)'>HIDDEN</p>x",
        "<p style='width:1px;height:1px;overflow:hidden'>HIDDEN</p>x",
        "<p style='max-height:0;overflow-y:hidden'>HIDDEN</p>x",
        "<img alt=HIDDEN width=1 height=1 src=p>x",
        /* by a style element, wherever that stands */
        "<style>.h{display:none}</style><p class='a h'>HIDDEN</p>x",
        "<p class=h>HIDDEN</p>x<style>.h{opacity:0}</style>",
        "<style>#i,.z{color:#fff}</style><p id=i>HIDDEN</p><p class=z>HIDDEN</p>x",
        "<style>div.a .b{font-size:0}</style><div class=a><p><b class=b>HIDDEN</b></p></div>x",
        "<style>.a>em{position:absolute;left:-99em}</style><p class=a><em>HIDDEN</em></p>x",
        "<style>@media screen{.h{display:none}}</style><p class=h>HIDDEN</p>x",
        "<style>@media (min-width:600px){.h{display:none}}</style><p class=h>HIDDEN</p>x",
        "<style>/* } */ .\\68 {display:none}</style><p class=h>HIDDEN</p>x",
        "<style>.h{display:none}.h{color:red}</style><p class=H>HIDDEN</p>x",
        "<style>.h{display:none!important}</style><p class=h style='display:block'>HIDDEN</p>x",
        "<style>@import 'x';.h{display:none}</style><p class=h>HIDDEN</p>x",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(pages); i++) {
        if (strcmp(read(pages[i]), "x") != 0)
            fprintf(stderr, "%s\n", pages[i]);
        CHECK_TEXT("x", read(pages[i]));
    }
}

/* And what they can see is read. */
CASE(what_people_see_is_read)
{
    static const char *const pages[] = {
        "<p style='color:white;background:#004'>seen</p>",
        "<div style='background:black'><p style='color:#eee'>seen</p></div>",
        "<table><td bgcolor='#003366'><font color=white>seen</font></table>",
        "<body bgcolor=black text=white>seen",
        "<div style='background:url(dark.jpg)'><p style='color:#fff'>seen</p></div>",
        "<div style='background-image:linear-gradient(#000,#111)'><p style='color:#fff'>seen</div>",
        "<div style='font-size:0'><span style='font-size:14px'>seen</span></div>",
        "<div style='visibility:hidden'><span style='visibility:visible'>seen</span></div>",
        "<div style='color:#fff'><span style='color:#333'>seen</span></div>",
        "<p style='opacity:.8;color:#777'>seen</p>",
        "<p style='font-size:small'>seen</p>",
        "<p style='font:700 14px/1.5 serif'>seen</p>",
        "<p style='position:relative;left:-5px;top:10px'>seen</p>",
        "<p style='left:-9999px'>seen</p>", /* without a position it says nothing */
        "<p style='margin:0 auto;text-indent:-2em'>seen</p>",
        "<p style='transform:translate(-50%, -50%)'>seen</p>",
        "<p style='overflow:hidden;max-width:600px'>seen</p>",
        "<p style='height:0'>seen</p>",
        "<p style='clip:rect(0 200px 200px 0)'>seen</p>",
        "<p style='background:transparent;color:currentColor'>seen</p>",
        "<style>.h{display:none}</style><p class=hh>seen</p>",
        "<style>.h{display:none}.h{display:block}</style><p class=h>seen</p>",
        "<style>.a .h{display:none}</style><p class=h>seen</p>",
        "<style>p.h{display:block}.h{display:none}</style><p class=h>seen</p>",
        "<style>.h{display:none}</style><p class=h style='display:block'>seen</p>",
        "<style>@media print{p{display:none}}</style><p>seen</p>",
        "<style>@media (max-width:600px){p{display:none}}</style><p>seen</p>",
        "<style>.h{display:none}@media (min-width:40em){.h{display:block}}</style><p class=h>seen",
        "<style>@media (prefers-color-scheme:dark){p{color:#fff}}</style><p>seen</p>",
        "<style>@keyframes f{from{opacity:0}}p{animation:f 1s}</style><p>seen</p>",
        "<style>p:hover{display:none}p::before{opacity:0}</style><p>seen</p>",
        "<style>body{background:#000;color:#fff}</style><p>seen</p>",
        "<style media=print>p{display:none}</style><p>seen</p>",
        "<body style='opacity:0'>seen", /* a script shows it */
    };
    for (size_t i = 0; i < SMA_COUNT_OF(pages); i++) {
        const char *text = read(pages[i]);
        if (strstr(text, "seen") == NULL)
            fprintf(stderr, "%s\n", pages[i]);
        CHECK(strstr(text, "seen") != NULL);
    }
    CHECK_TEXT("a\n\nb", read("<p>a<script>x</script><p>b<p style='opacity:0'>c"));
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

/* No sheet makes a page cost more than its length. */
CASE(sheets_are_bounded)
{
    static const char *const pieces[] = {".a{color:red}",
                                         ".a .a .a .a .a{x:y;color:red}",
                                         "@media x{",
                                         "}",
                                         "{{{{",
                                         "/*",
                                         "a,",
                                         "--a:var(--a);",
                                         "*{color:var(--a)}",
                                         "\\",
                                         "'",
                                         "a{b:(",
                                         "@x "};
    for (size_t i = 0; i < SMA_COUNT_OF(pieces); i++) {
        size_t len, more;
        char *sheet = repeat(pieces[i], 20000, &len), *body = repeat("<b class=a>x", 500, &more);
        char *html = malloc(len + more + 64);
        CHECK(html != NULL);
        int all = snprintf(html, len + more + 64, "<style>%s</style>%s", sheet, body);
        (void)read_max(html, (size_t)all, 5000);
        free(sheet);
        free(body);
        free(html);
    }
}

CASE(depth_and_length_are_bounded)
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

CASE(a_text_is_cut_between_two_characters)
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

CASE(a_huge_attribute_is_left_out)
{
    size_t len;
    char *html = repeat("y", 3000000, &len);
    memcpy(html, "<a href='", 9);
    memcpy(html + len - 9, "'>z</a> e", 9);
    CHECK_TEXT("z e", read_max(html, len, 5000));
    free(html);
}

CASE(encodings_become_utf8)
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
}

int main(void)
{
    sma_markdown_load();
    check_run_cases(NULL);
    sma_markdown_fini(&page);
    return check_summary();
}
