/*
 * Rendering for Telegram against golden files: tests/golden/telegram/markdown/<case>.md and what it
 * becomes, <case>.html. Each part is also read back by a strict reader of the platform's HTML.
 * `--write` writes the expected files anew (read them before you believe them).
 */
#include "html_reader.h"
#include "support/check.h"

#include "adapters/telegram/telegram_out.h"
#include "sma/text.h"

#include <dirent.h>

#define FOLDER SMA_SOURCE_DIR "/tests/golden/telegram/markdown"
#define FILE_BYTES_MAX (2u << 20)

static struct html html;
static bool is_writing;

static struct sma_str load(const char *path)
{
    FILE *file = fopen(path, "rbe");
    if (file == NULL)
        return (struct sma_str){NULL, 0};
    char *bytes = malloc(FILE_BYTES_MAX);
    CHECK(bytes != NULL);
    size_t len = fread(bytes, 1, FILE_BYTES_MAX, file);
    fclose(file);
    return (struct sma_str){bytes, len};
}

/* The plain form says behind the words of a link where it leads: "words (https://...)". */
static bool is_equal_but_for_targets(struct sma_str plain, struct sma_str shown)
{
    static const struct sma_str opening = {" (", 2};
    size_t at = 0, i = 0;
    while (at < plain.len) {
        struct sma_str rest = {plain.ptr + at, plain.len - at};
        if (i < shown.len && plain.ptr[at] == shown.ptr[i] &&
            !(sma_str_starts_with(rest, opening) &&
              !sma_str_starts_with((struct sma_str){shown.ptr + i, shown.len - i}, opening))) {
            at++;
            i++;
            continue;
        }
        const char *end =
            sma_str_starts_with(rest, opening) ? memchr(rest.ptr, ')', rest.len) : NULL;
        if (end == NULL || memmem(rest.ptr, (size_t)(end - rest.ptr), ":", 1) == NULL)
            return false;
        at += (size_t)(end - rest.ptr) + 1;
    }
    return i == shown.len;
}

static void check_html(struct sma_str source, struct sma_str plain)
{
    const char *wrong = html_read(source, &html);
    if (wrong != NULL)
        fprintf(stderr, "the platform would refuse: %s\n%.*s\n", wrong, (int)source.len,
                source.ptr);
    CHECK(wrong == NULL);
    CHECK(is_equal_but_for_targets(plain, sma_buf_str(&html.text)));
    CHECK(source.len <= 32768);
    html_free(&html);
}

static void put_part(void *user, struct sma_str part_bytes)
{
    struct sma_buf *buf = user;
    struct telegram_part part;
    CHECK_OK(telegram_part_decode(part_bytes, &part));
    if (buf->len > 0)
        sma_buf_put_text(buf, "\n=====\n");
    if (part.kind == TELEGRAM_PART_FILE) {
        sma_buf_put_text(buf, "FILE ");
        sma_buf_put_str(buf, part.file_kind);
        sma_buf_put_text(buf, "\n");
        sma_buf_put_str(buf, part.target);
        sma_buf_put_text(buf, "\n");
        sma_buf_put_str(buf, part.caption);
        return;
    }
    CHECK(part.plain.len > 0 && !sma_text_is_blank(part.plain));
    CHECK(sma_utf8_is_valid(part.plain));
    CHECK(sma_utf16_length(part.plain) <= TELEGRAM_PART_UNITS);
    if (part.html.len > 0)
        check_html(part.html, part.plain);
    else
        sma_buf_put_text(buf, "PLAIN\n");
    sma_buf_put_str(buf, part.html.len > 0 ? part.html : part.plain);
}

static void check_case(const char *name)
{
    char source_path[512], wanted_path[512];
    snprintf(source_path, sizeof source_path, FOLDER "/%s.md", name);
    snprintf(wanted_path, sizeof wanted_path, FOLDER "/%s.html", name);
    struct sma_str source = load(source_path);
    CHECK(source.ptr != NULL);
    struct sma_deliver row = {.text = source, .intent = SMA_INTENT_ASSISTANT_TEXT};
    struct sma_buf actual;
    sma_buf_init(&actual, FILE_BYTES_MAX);
    CHECK_OK(telegram_render(&row, put_part, &actual));
    sma_buf_put_char(&actual, '\n');
    if (is_writing) {
        FILE *file = fopen(wanted_path, "wbe");
        CHECK(file != NULL && fwrite(actual.ptr, 1, actual.len, file) == actual.len);
        CHECK(fclose(file) == 0);
    }
    struct sma_str wanted = load(wanted_path);
    if (!sma_str_is_equal(wanted, sma_buf_str(&actual)))
        fprintf(stderr, "golden case %s:\n", name);
    check_text_at(__FILE__, __LINE__, name, wanted, sma_buf_str(&actual));
    sma_buf_fini(&actual);
    free((void *)(uintptr_t)source.ptr);
    free((void *)(uintptr_t)wanted.ptr);
}

static void golden_files_render_as_expected(void)
{
    DIR *directory = opendir(FOLDER);
    CHECK(directory != NULL);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        char name[256];
        size_t len = strlen(entry->d_name);
        if (len < 4 || len >= sizeof name || strcmp(entry->d_name + len - 3, ".md") != 0)
            continue;
        memcpy(name, entry->d_name, len - 3);
        name[len - 3] = '\0';
        check_case(name);
        count++;
    }
    closedir(directory);
    CHECK(count >= 20);
}

/* -- long texts -------------------------------------------------------------------------------- */
/* Lines that differ in a number, and what they become: '#' in a line is it, '#3' takes three
 * columns. A message ends before each of the cuts, where the platform's limit is and nowhere else,
 * with closing, and the next begins with opening. */
struct series
{
    const char *name;
    int count;
    const char *head, *line, *tail; /* Markdown */
    const char *html_head, *html_line, *html_tail, *closing, *opening;
    int cuts[4];
};

#define CODE_OPENING "<pre><code class=\"language-python\">"
#define CODE_CLOSING "</code></pre>"
#define WORDS " word and more text to fill the line"

static const struct series all_series[] = {
    {"code",
     300,
     "Before the code:\n\n```python\n",
     "    print(\"line #\", # < 7)",
     "\n```\n\nAfter **it**.",
     "Before the code:\n\n" CODE_OPENING,
     "    print(\"line #\", # &lt; 7)",
     CODE_CLOSING "\n\nAfter <b>it</b>.",
     CODE_CLOSING,
     CODE_OPENING,
     {135, 264}},
    {"table",
     300,
     "|a|b|c|\n|---|---|---|\n",
     "|**row #|*some value #|x|",
     "",
     "<pre>a         | b               | c\n----------+-----------------+--\n",
     "**row #3 | *some value #3 | x",
     "</pre>",
     "</pre>",
     "<pre>",
     {123, 248}},
    {"list",
     200,
     "",
     "- item # has a **bold #**" WORDS,
     "",
     "",
     "\xE2\x80\xA2 item # has a <b>bold #</b>" WORDS,
     "",
     "",
     "",
     {67, 132, 196}},
    {"quote",
     160,
     "",
     "> quoted line # with some more words in it",
     "",
     "<blockquote>",
     "quoted line # with some more words in it",
     "</blockquote>",
     "</blockquote>",
     "<blockquote>",
     {95}},
};

static void put_line(struct sma_buf *buf, const char *line, int number)
{
    for (; *line != '\0'; line++) {
        if (*line != '#')
            sma_buf_put_char(buf, *line);
        else if (line[1] >= '1' && line[1] <= '9')
            sma_buf_printf(buf, "%-*d", *++line - '0', number);
        else
            sma_buf_printf(buf, "%d", number);
    }
}

static void put_source(struct sma_buf *buf, const struct series *series)
{
    sma_buf_put_text(buf, series->head);
    for (int i = 0; i < series->count; i++) {
        sma_buf_put_text(buf, i > 0 ? "\n" : "");
        put_line(buf, series->line, i);
    }
    sma_buf_put_text(buf, series->tail);
}

static void long_texts_are_parted_between_lines(void)
{
    struct sma_buf source, wanted, actual;
    sma_buf_init(&source, FILE_BYTES_MAX);
    sma_buf_init(&wanted, FILE_BYTES_MAX);
    sma_buf_init(&actual, FILE_BYTES_MAX);
    for (size_t at = 0; at < SMA_COUNT_OF(all_series); at++) {
        const struct series *series = &all_series[at];
        const int *cut = series->cuts;
        sma_buf_clear(&source);
        sma_buf_clear(&wanted);
        sma_buf_clear(&actual);
        put_source(&source, series);
        sma_buf_put_text(&wanted, series->html_head);
        for (int i = 0; i < series->count; i++) {
            bool is_cut = i > 0 && i == *cut;
            cut += is_cut;
            if (is_cut)
                sma_buf_printf(&wanted, "%s\n=====\n%s", series->closing, series->opening);
            else
                sma_buf_put_text(&wanted, i > 0 ? "\n" : "");
            put_line(&wanted, series->html_line, i);
        }
        sma_buf_put_text(&wanted, series->html_tail);
        struct sma_deliver row = {.text = sma_buf_str(&source),
                                  .intent = SMA_INTENT_ASSISTANT_TEXT};
        CHECK_OK(telegram_render(&row, put_part, &actual));
        check_text_at(__FILE__, __LINE__, series->name, sma_buf_str(&wanted), sma_buf_str(&actual));
    }
    sma_buf_fini(&source);
    sma_buf_fini(&wanted);
    sma_buf_fini(&actual);
}

/* Ten thousand lines: a list and a quotation in turns, parted where the platform's limit is and
 * nowhere else. */
static void a_text_of_10000_lines_is_parted_between_its_blocks(void)
{
    enum
    {
        BLOCK_COUNT = 4000,
        BLOCKS_A_PART = 385
    };
    struct sma_buf source, wanted, actual;
    sma_buf_init(&source, FILE_BYTES_MAX);
    sma_buf_init(&wanted, FILE_BYTES_MAX);
    sma_buf_init(&actual, FILE_BYTES_MAX);
    for (int i = 0; i < BLOCK_COUNT; i++) {
        if (i > 0) {
            sma_buf_put_char(&source, '\n');
            sma_buf_put_text(&wanted, i % BLOCKS_A_PART == 0 ? "\n=====\n" : "\n\n");
        }
        sma_buf_put_text(&source, i % 2 == 0 ? "- a\n  - **b**" : "> c\nd\n`e`");
        sma_buf_put_text(&wanted, i % 2 == 0 ? "• a\n  ◦ <b>b</b>"
                                             : "<blockquote>c\nd\n<code>e</code></blockquote>");
    }
    struct sma_deliver row = {.text = sma_buf_str(&source), .intent = SMA_INTENT_ASSISTANT_TEXT};
    CHECK_OK(telegram_render(&row, put_part, &actual));
    check_text_at(__FILE__, __LINE__, "lines", sma_buf_str(&wanted), sma_buf_str(&actual));
    sma_buf_fini(&source);
    sma_buf_fini(&wanted);
    sma_buf_fini(&actual);
}

/* -- random mixtures --------------------------------------------------------------------------- */
#define MIXTURE_COUNT 800
#define SOURCE_COUNT_MAX 128

static uint64_t seed = 0x2545F4914F6CDD1Du;

static size_t below(size_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (size_t)(seed % limit);
}

static size_t load_sources(struct sma_str *sources)
{
    DIR *directory = opendir(FOLDER);
    CHECK(directory != NULL);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        size_t len = strlen(entry->d_name);
        if (len < 4 || strcmp(entry->d_name + len - 3, ".md") != 0)
            continue;
        char path[512];
        CHECK(count < SOURCE_COUNT_MAX);
        snprintf(path, sizeof path, FOLDER "/%s", entry->d_name);
        sources[count++] = load(path);
    }
    closedir(directory);
    for (size_t at = 0; at < SMA_COUNT_OF(all_series); at++) {
        struct sma_buf text;
        sma_buf_init(&text, FILE_BYTES_MAX);
        put_source(&text, &all_series[at]);
        CHECK(count < SOURCE_COUNT_MAX && text.err == SMA_ERR_OK);
        sources[count++] = (struct sma_str){strndup(text.ptr, text.len), text.len};
        sma_buf_fini(&text);
    }
    return count;
}

static void put_slice(struct sma_buf *buf, struct sma_str source)
{
    size_t from = below(source.len), len = 1 + below(3000);
    len = len < source.len - from ? len : source.len - from;
    sma_buf_put(buf, source.ptr + from, len);
    if (below(2) == 0)
        sma_buf_put_char(buf, '\n');
}

/* Pieces of the golden texts, cut anywhere and joined: every part is still HTML that the platform
 * takes. */
static void mixtures_never_give_html_that_is_refused(void)
{
    struct sma_str sources[SOURCE_COUNT_MAX];
    size_t count = load_sources(sources);
    struct sma_buf mixture, output;
    sma_buf_init(&mixture, 1 << 20);
    sma_buf_init(&output, FILE_BYTES_MAX);
    for (int round = 0; round < MIXTURE_COUNT; round++) {
        sma_buf_clear(&mixture);
        sma_buf_clear(&output);
        for (size_t i = below(6) + 1; i > 0; i--)
            put_slice(&mixture, sources[below(count)]);
        struct sma_deliver row = {.text = sma_buf_str(&mixture),
                                  .intent = SMA_INTENT_ASSISTANT_TEXT};
        CHECK_OK(telegram_render(&row, put_part, &output)); /* put_part reads the HTML back */
    }
    sma_buf_fini(&mixture);
    sma_buf_fini(&output);
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)sources[i].ptr);
}

static void expect_refused(const char *source)
{
    if (html_read(sma_str(source), &html) == NULL) {
        fprintf(stderr, "accepted: %s\n", source);
        CHECK(false);
    }
    html_free(&html);
}

/* The reader itself: a test that accepts everything would prove nothing. */
static void reader_refuses_what_the_platform_refuses(void)
{
    static const char *const bad[] = {"<b>a",
                                      "a</b>",
                                      "<b><i>a</b></i>",
                                      "<u2>a</u2>",
                                      "<br>",
                                      "a < b",
                                      "a > b",
                                      "a & b",
                                      "&nbsp;",
                                      "<a>x</a>",
                                      "<a href=\"\">x</a>",
                                      "<a href=\"x>y</a>",
                                      "<code><b>x</b></code>",
                                      "<b><b>x</b></b>",
                                      "<blockquote>a<blockquote>b</blockquote></blockquote>",
                                      "<pre><code class=\"language-c\">x</pre>",
                                      "<b></b>",
                                      "\xFF",
                                      "<b>x</b",
                                      "<",
                                      "<b class=\"x\">y</b>"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        expect_refused(bad[i]);
    CHECK(
        html_read(sma_str("<b>a <i>b</i></b> &lt; <pre><code class=\"language-c\">x</code></pre>"),
                  &html) == NULL);
    CHECK_STR("a b < x", sma_buf_str(&html.text));
    CHECK_INT(3, html.mark_count);
    html_free(&html);
}

int main(int argc, char **argv)
{
    is_writing = argc > 1 && strcmp(argv[1], "--write") == 0;
    RUN(reader_refuses_what_the_platform_refuses);
    RUN(golden_files_render_as_expected);
    RUN(long_texts_are_parted_between_lines);
    RUN(a_text_of_10000_lines_is_parted_between_its_blocks);
    RUN(mixtures_never_give_html_that_is_refused);
    return check_summary();
}
