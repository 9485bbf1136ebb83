/* Text to parts: both forms, sizes, the number of answers left, attachment lines, and what must not
 * get through. */
#include "adapters/qq/qq_out.h"
#include "sma/text.h"
#include "support/check.h"

#define PART_COUNT_MAX 128

struct parts
{
    size_t count;
    struct
    {
        struct sma_buf bytes;
        struct qq_part part;
    } all[PART_COUNT_MAX];
};
static struct parts parts;

static void forget(void)
{
    for (size_t i = 0; i < parts.count; i++)
        sma_buf_fini(&parts.all[i].bytes);
    parts.count = 0;
}

static void keep(void *user, struct sma_str part_bytes)
{
    (void)user;
    CHECK(parts.count < PART_COUNT_MAX);
    struct sma_buf *bytes = &parts.all[parts.count].bytes;
    sma_buf_init(bytes, 1024 * 1024);
    sma_buf_put_str(bytes, part_bytes);
    CHECK_OK(qq_part_decode(sma_buf_str(bytes), &parts.all[parts.count].part));
    parts.count++;
}

static struct sma_deliver row_of(struct sma_str text, const char *chat_type)
{
    return (struct sma_deliver){.outbox_id = 7,
                                .route = {.chat_type = sma_str(chat_type),
                                          .chat_id = SMA_STR("C"),
                                          .message_id = SMA_STR("m")},
                                .text = text,
                                .intent = SMA_INTENT_ASSISTANT_TEXT};
}

static void render_row(const struct sma_deliver *row)
{
    forget();
    CHECK_OK(qq_render(row, keep, NULL));
}

static void render(const char *text)
{
    struct sma_deliver row = row_of(sma_str(text), "c2c");
    render_row(&row);
}

static struct sma_str plain(size_t i)
{
    CHECK(i < parts.count && parts.all[i].part.kind == QQ_PART_TEXT);
    return parts.all[i].part.plain;
}

static struct sma_str markdown(size_t i)
{
    CHECK(i < parts.count && parts.all[i].part.kind == QQ_PART_TEXT);
    return parts.all[i].part.markdown;
}

/* -- forms ------------------------------------------------------------------------------------- */
static void plain_words_have_one_form(void)
{
    render("  Hello,\n\nworld 你好  \n");
    CHECK_INT(1, parts.count);
    CHECK_STR("Hello,\n\nworld 你好", sma_str_trim(plain(0)));
    render("a");
    CHECK_STR("a", plain(0));
    CHECK_STR("", markdown(0));
}

static void markdown_has_two(void)
{
    static const struct
    {
        const char *source, *plain;
    } rows[] = {
        {"**bold** and *more*", "bold and more"},
        {"# Title\n\ntext", "Title\n\ntext"},
        {"see [docs](https://a.b/c)", "see docs (https://a.b/c)"},
        {"`code`", "code"},
        {"- one\n- two", "• one\n• two"},
        {"> said", "> said"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        render(rows[i].source);
        CHECK_INT(1, parts.count);
        CHECK_STR(rows[i].plain, plain(0));
        if (strcmp(rows[i].source, rows[i].plain) != 0)
            CHECK_STR(rows[i].source, markdown(0));
    }
}

static void images_become_links(void)
{
    render("look ![a cat](https://a.b/c.png) and ![](https://a.b/d.png)");
    CHECK_STR("look [a cat](https://a.b/c.png) and [image](https://a.b/d.png)", markdown(0));
    CHECK_STR("look a cat (https://a.b/c.png) and image (https://a.b/d.png)", plain(0));
    render("```\nlet v = vec![1](2);\n```");
    CHECK(memmem(markdown(0).ptr, markdown(0).len, "vec![1](2)", 10) != NULL);
    render("wow![1] ![ no");
    CHECK_STR("wow![1] ![ no", plain(0));
}

static bool calls_all(struct sma_str text)
{
    return memmem(text.ptr, text.len, "@everyone", 9) != NULL ||
           memmem(text.ptr, text.len, "<qqbot-at-everyone", 18) != NULL;
}

static void nobody_calls_everybody(void)
{
    static const char *const texts[] = {"hello @everyone",
                                        "x <qqbot-at-everyone />",
                                        "&#64;everyone",
                                        "**@**everyone",
                                        "@**every**one",
                                        "a\n\n```\n@everyone\n```",
                                        "@\x01"
                                        "everyone",
                                        "\\<qqbot-at-everyone />"};
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        for (int intent = 0; intent <= SMA_INTENT_ERROR; intent++) {
            struct sma_deliver row = row_of(sma_str(texts[i]), "channel");
            row.intent = (uint8_t)intent;
            render_row(&row);
            CHECK_INT(1, parts.count);
            CHECK(!calls_all(plain(0)));
            CHECK(!calls_all(markdown(0)) || intent != SMA_INTENT_ASSISTANT_TEXT);
        }
    }
}

static void notices_are_taken_as_they_are(void)
{
    struct sma_deliver row = row_of(SMA_STR("**not** bold\n@attach photo a.png"), "c2c");
    row.intent = SMA_INTENT_NOTICE;
    render_row(&row);
    CHECK_INT(1, parts.count);
    CHECK_STR("**not** bold\n@attach photo a.png", plain(0));
    CHECK_STR("", markdown(0));
}

static void blank_texts_give_no_part(void)
{
    static const char *const texts[] = {"", " ", "\n\n", "\xE2\x80\x8B", "\x01\x02"};
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        render(texts[i]);
        CHECK_INT(0, parts.count);
    }
}

/* -- sizes ------------------------------------------------------------------------------------- */
/* Lines of 50 units, each with its number: what is lost or doubled is seen. */
static void put_lines(struct sma_buf *buf, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sma_buf_printf(buf, "line %06zu ......................................\n", i);
    CHECK_OK(buf->err);
}

static size_t units_of_largest(void)
{
    size_t largest = 0;
    for (size_t i = 0; i < parts.count; i++) {
        size_t units = sma_utf16_length(plain(i)), other = sma_utf16_length(markdown(i));
        largest = units > largest ? units : largest;
        largest = other > largest ? other : largest;
    }
    return largest;
}

static size_t count_lines(void)
{
    size_t next = 0;
    for (size_t i = 0; i < parts.count; i++) {
        struct sma_str rest = plain(i);
        const char *at;
        while (rest.len > 0 && (at = memmem(rest.ptr, rest.len, "line ", 5)) != NULL) {
            CHECK_INT(next, strtol(at + 5, NULL, 10));
            next++;
            rest = (struct sma_str){at + 11, (size_t)(rest.ptr + rest.len - at - 11)};
        }
    }
    return next;
}

static bool ends_with(struct sma_str text, const char *end)
{
    size_t len = strlen(end);
    return text.len >= len && memcmp(text.ptr + text.len - len, end, len) == 0;
}

static bool is_cut(void)
{
    return ends_with(plain(parts.count - 1), "［未完：发送“继续”看下文，发送 /full 收全文］");
}

/* What the parts of this row left out begins behind their last line and ends with the text. */
static void check_rest(const struct sma_deliver *row, size_t lines)
{
    struct sma_buf rest;
    sma_buf_init(&rest, 1024 * 1024);
    size_t next = count_lines();
    enum sma_err err = qq_rest(row, (uint32_t)parts.count, &rest);
    if (!is_cut()) {
        CHECK_INT(SMA_ERR_NOTFOUND, err);
        CHECK_INT(0, rest.len);
    } else {
        CHECK_OK(err);
        struct sma_str text = sma_buf_str(&rest);
        for (const char *at; (at = memmem(text.ptr, text.len, "line ", 5)) != NULL; next++) {
            CHECK_INT(next, strtol(at + 5, NULL, 10));
            text = (struct sma_str){at + 5, (size_t)(text.ptr + text.len - at - 5)};
        }
        CHECK_INT(lines, next);
    }
    sma_buf_fini(&rest);
}

static void render_lines(size_t count, const char *chat_type, uint32_t reply_count, bool is_answer)
{
    struct sma_buf text;
    sma_buf_init(&text, 1024 * 1024);
    put_lines(&text, count);
    struct sma_deliver row = row_of(sma_buf_str(&text), chat_type);
    row.reply_count = reply_count;
    if (!is_answer)
        row.route.message_id = SMA_STR("");
    render_row(&row);
    check_rest(&row, count);
    sma_buf_fini(&text);
}

static void parts_have_a_size(void)
{
    for (size_t len = QQ_PART_UNITS - 1; len <= QQ_PART_UNITS + 1; len++) {
        struct sma_buf text;
        sma_buf_init(&text, 10000);
        for (size_t i = 0; i < len; i++)
            sma_buf_put_char(&text, 'x');
        struct sma_deliver row = row_of(sma_buf_str(&text), "group");
        render_row(&row);
        CHECK_INT(len <= QQ_PART_UNITS ? 1 : 2, parts.count);
        CHECK(units_of_largest() <= QQ_PART_UNITS);
        sma_buf_fini(&text);
    }
}

static void parts_keep_to_the_answers_left(void)
{
    static const struct
    {
        const char *chat_type;
        size_t lines;
        uint32_t reply_count;
        size_t parts;
        bool is_large, is_cut;
    } rows[] = {
        {"c2c", 100, 0, 3, false, false},
        {"c2c", 156, 0, 4, false, false},
        {"c2c", 200, 0, 3, true, false},
        {"c2c", 310, 0, 4, true, false},
        {"c2c", 400, 0, 4, true, true},
        {"c2c", 100, 2, 2, true, false},
        {"c2c", 100, 3, 1, true, true},
        {"c2c", 39, 3, 1, false, false},
        {"group", 190, 0, 5, false, false},
        {"group", 400, 0, 5, true, true},
        {"group", 100, 4, 1, true, true},
        {"channel", 190, 0, 5, false, false},
        {"dm", 400, 0, 5, true, true},
        {"c2c", 60, 4, 2, false, false},
        {"c2c", 60, 4000000000u, 2, false, false},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        render_lines(rows[i].lines, rows[i].chat_type, rows[i].reply_count, true);
        fprintf(stderr, "  row %zu: %zu parts, %zu units\n", i, parts.count, units_of_largest());
        CHECK_INT(rows[i].parts, parts.count);
        CHECK_INT(rows[i].is_cut, is_cut());
        CHECK_INT(rows[i].is_large, units_of_largest() > QQ_PART_UNITS);
        CHECK(units_of_largest() <= QQ_PART_UNITS_LARGE);
        CHECK(rows[i].is_cut || count_lines() == rows[i].lines);
        CHECK(!rows[i].is_cut || count_lines() < rows[i].lines);
    }
}

static void active_messages_are_not_numbered(void)
{
    render_lines(1000, "c2c", 0, false);
    CHECK(parts.count > 20 && !is_cut());
    CHECK_INT(1000, count_lines());
    /* Fewer parts than there are: they were cut by somebody else, who knows where. */
    static char text[100000];
    memset(text, 'x', sizeof text - 1);
    struct sma_deliver row = row_of(sma_str(text), "c2c");
    struct sma_buf rest;
    sma_buf_init(&rest, sizeof text);
    CHECK_OK(qq_rest(&row, 2, &rest));
    CHECK(rest.len > 90000);
    row.route.message_id = SMA_STR("");
    CHECK_INT(SMA_ERR_NOTFOUND, qq_rest(&row, 2, &rest));
    sma_buf_fini(&rest);
}

static void the_note_speaks_the_users_language(void)
{
    struct sma_buf text;
    sma_buf_init(&text, 1024 * 1024);
    put_lines(&text, 400);
    struct sma_deliver row = row_of(sma_buf_str(&text), "c2c");
    row.language = SMA_STR("en");
    render_row(&row);
    CHECK(ends_with(plain(3), "[cut: send \"more\" for the rest, /full for all of it]"));
    sma_buf_fini(&text);
}

/* A table is longer as columns than as Markdown; it is cut finer, not sent too long. */
static void wide_tables_stay_within_the_size(void)
{
    struct sma_buf text;
    sma_buf_init(&text, 1024 * 1024);
    sma_buf_put_text(&text, "|a|b|\n|-|-|\n");
    for (int i = 0; i < 150; i++)
        sma_buf_printf(&text, "|%d|x|\n", i);
    sma_buf_put_text(
        &text, "|a cell that makes the whole column wide, wider and still wider than others|y|\n");
    struct sma_deliver row = row_of(sma_buf_str(&text), "group");
    row.route.message_id = SMA_STR("");
    render_row(&row);
    CHECK(parts.count > 1);
    CHECK(units_of_largest() <= QQ_PART_UNITS);
    sma_buf_fini(&text);
}

static void fences_are_closed_and_opened_again(void)
{
    struct sma_buf text;
    sma_buf_init(&text, 1024 * 1024);
    sma_buf_put_text(&text, "```c\n");
    put_lines(&text, 60);
    sma_buf_put_text(&text, "```\n");
    struct sma_deliver row = row_of(sma_buf_str(&text), "c2c");
    render_row(&row);
    CHECK_INT(2, parts.count);
    for (size_t i = 0; i < 2; i++) {
        CHECK(sma_str_starts_with(markdown(i), SMA_STR("```c\n")));
        CHECK(ends_with(markdown(i), "```"));
    }
    CHECK_INT(60, count_lines());
    sma_buf_fini(&text);
}

/* -- files ------------------------------------------------------------------------------------- */
static void attachment_lines_become_files(void)
{
    render("Here it is.\n@attach photo out/a.png | the plan\n@ATTACH file https://a.b/c.pdf\nBye.");
    CHECK_INT(3, parts.count);
    CHECK_STR("Here it is.\nBye.", plain(0));
    CHECK(parts.all[1].part.kind == QQ_PART_FILE);
    CHECK_STR("photo", parts.all[1].part.file_kind);
    CHECK_STR("out/a.png", parts.all[1].part.target);
    CHECK_STR("the plan", parts.all[1].part.caption);
    CHECK_STR("document", parts.all[2].part.file_kind);
    CHECK_STR("https://a.b/c.pdf", parts.all[2].part.target);
    CHECK_STR("", parts.all[2].part.caption);
    render("@attach voice a.silk");
    CHECK_INT(1, parts.count);
    render("@attach\n@attach photo\n@attach dance a.b");
    CHECK_INT(1, parts.count);
    CHECK_STR("@attach\n@attach photo\n@attach dance a.b", plain(0));
}

/* Files keep their answers; the text takes what is left, but at least one. */
static void files_count_as_answers(void)
{
    struct sma_buf text;
    sma_buf_init(&text, 1024 * 1024);
    put_lines(&text, 190);
    sma_buf_put_text(&text, "@attach photo a.png\n@attach photo b.png\n");
    struct sma_deliver row = row_of(sma_buf_str(&text), "group");
    render_row(&row);
    CHECK_INT(5, parts.count);
    CHECK(parts.all[2].part.kind == QQ_PART_TEXT && parts.all[3].part.kind == QQ_PART_FILE);
    row.reply_count = 4;
    render_row(&row);
    CHECK_INT(3, parts.count);
    sma_buf_fini(&text);
}

static void captions_have_a_size(void)
{
    struct sma_buf text;
    sma_buf_init(&text, 10000);
    sma_buf_put_text(&text, "@attach photo a.png | ");
    for (int i = 0; i < QQ_CAPTION_UNITS_MAX + 1; i++)
        sma_buf_put_char(&text, 'x');
    struct sma_deliver row = row_of(sma_buf_str(&text), "c2c");
    render_row(&row);
    CHECK_INT(QQ_CAPTION_UNITS_MAX + 1, sma_utf16_length(parts.all[0].part.caption));
    CHECK(ends_with(parts.all[0].part.caption, "x…"));
    sma_buf_fini(&text);
}

/* -- bytes ------------------------------------------------------------------------------------- */
static void bytes_that_are_no_part_are_refused(void)
{
    static const struct sma_str wrong[] = {{"", 0},
                                           {"T", 1},
                                           {"X\0\0\0\0a", 6},
                                           {"T\0\0\0\0", 5},
                                           {"T\x09\0\0\0a", 6},
                                           {"T\xff\xff\xff\xff"
                                            "a",
                                            6},
                                           {"F\0\0\0\0\0", 6},
                                           {"F\x04\x01\0\0\0a", 7},
                                           {"F\0\x02\0\0\0a", 7}};
    struct qq_part part;
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++)
        CHECK_ERR(SMA_ERR_BADINPUT, qq_part_decode(wrong[i], &part));
}

static void invalid_bytes_do_no_harm(void)
{
    struct sma_deliver row = row_of((struct sma_str){"a\xff\xc3 **b**\0c", 11}, "c2c");
    render_row(&row);
    CHECK_INT(1, parts.count);
    CHECK(sma_utf8_is_valid(plain(0)));
}

/* -- passive or active ------------------------------------------------------------------------- */
static struct sma_attempt attempt_of(const char *chat_type, uint32_t reply_count, uint32_t part)
{
    return (struct sma_attempt){
        .route = {.chat_type = sma_str(chat_type), .message_id = SMA_STR("m")},
        .reply_count = reply_count,
        .part = part,
        .intent = SMA_INTENT_ASSISTANT_TEXT};
}

static void answers_are_counted(void)
{
    static const struct
    {
        const char *chat_type;
        uint32_t reply_count, part;
        enum qq_way text, notice;
    } rows[] = {
        {"c2c", 0, 0, QQ_PASSIVE, QQ_PASSIVE},        {"c2c", 2, 0, QQ_PASSIVE, QQ_PASSIVE},
        {"c2c", 3, 0, QQ_PASSIVE, QQ_ACTIVE},         {"c2c", 4, 0, QQ_ACTIVE, QQ_ACTIVE},
        {"c2c", 1, 2, QQ_PASSIVE, QQ_ACTIVE},         {"c2c", 1, 3, QQ_ACTIVE, QQ_ACTIVE},
        {"group", 4, 0, QQ_PASSIVE, QQ_ACTIVE},       {"group", 5, 0, QQ_ACTIVE, QQ_ACTIVE},
        {"dm", 0, 4, QQ_PASSIVE, QQ_ACTIVE},          {"c2c", UINT32_MAX, 5, QQ_ACTIVE, QQ_ACTIVE},
        {"c2c", 0, UINT32_MAX, QQ_ACTIVE, QQ_ACTIVE},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_attempt attempt =
            attempt_of(rows[i].chat_type, rows[i].reply_count, rows[i].part);
        CHECK_INT(rows[i].text, qq_way_choose(&attempt));
        attempt.intent = SMA_INTENT_NOTICE;
        CHECK_INT(rows[i].notice, qq_way_choose(&attempt));
    }
    struct sma_attempt attempt = attempt_of("c2c", 0, 0);
    attempt.route.message_id = SMA_STR("");
    CHECK_INT(QQ_ACTIVE, qq_way_choose(&attempt));
}

/* The last answer is for the run's end, and a long first text does not take all of them. */
static void texts_before_the_end_leave_one_answer(void)
{
    struct sma_attempt attempt = attempt_of("c2c", 2, 0);
    attempt.is_interim = true;
    CHECK_INT(QQ_PASSIVE, qq_way_choose(&attempt));
    attempt.reply_count = 3;
    CHECK_INT(QQ_ACTIVE, qq_way_choose(&attempt));
    attempt.is_interim = false;
    CHECK_INT(QQ_PASSIVE, qq_way_choose(&attempt));
    char text[40000];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = i % 50 == 49 ? '\n' : 'x';
    struct sma_deliver row = row_of((struct sma_str){text, sizeof text}, "c2c");
    render_row(&row);
    CHECK_INT(QQ_REPLIES_C2C, parts.count);
    row.is_interim = true;
    render_row(&row);
    CHECK_INT(QQ_REPLIES_C2C - 1, parts.count);
}

static int compare(const void *a, const void *b)
{
    uint32_t one = *(const uint32_t *)a, other = *(const uint32_t *)b;
    return one < other ? -1 : one > other;
}

/* All rows of one run; then the first rows of many runs: no number twice, and the same again when
 * asked again. */
static void message_numbers_differ(void)
{
    static uint32_t seen[QQ_FORM_COUNT_MAX << 15];
    static const struct
    {
        uint64_t first, step;
        size_t rows;
        uint32_t parts;
    } sets[] = {
        {UINT64_C(1) << 16, 1, 512, 64},                  /* one run */
        {UINT64_C(0xffffffff) << 16, 97, 512, 64},        /* a late one, rows far apart */
        {UINT64_C(5) << 16, UINT64_C(256) << 16, 200, 5}, /* many runs, even distances */
        {UINT64_C(5) << 16, UINT64_C(1) << 16, 200, 5},
        {UINT64_C(1) << 40, UINT64_C(32768) << 16, 200, 5},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(sets); i++) {
        size_t count = 0;
        for (size_t row = 0; row < sets[i].rows; row++)
            for (uint32_t part = 0; part < sets[i].parts; part++)
                for (uint32_t form = 0; form < QQ_FORM_COUNT_MAX; form++) {
                    uint64_t id = sets[i].first + row * sets[i].step;
                    uint32_t number = qq_msg_seq(id, part, form);
                    CHECK(number >= 1 && number <= INT32_MAX);
                    CHECK_INT(number, qq_msg_seq(id, part, form));
                    seen[count++] = number;
                }
        qsort(seen, count, sizeof *seen, compare);
        for (size_t k = 1; k < count; k++)
            CHECK(seen[k] != seen[k - 1]);
    }
}

int main(void)
{
    RUN(plain_words_have_one_form);
    RUN(markdown_has_two);
    RUN(images_become_links);
    RUN(nobody_calls_everybody);
    RUN(notices_are_taken_as_they_are);
    RUN(blank_texts_give_no_part);
    RUN(parts_have_a_size);
    RUN(parts_keep_to_the_answers_left);
    RUN(active_messages_are_not_numbered);
    RUN(the_note_speaks_the_users_language);
    RUN(wide_tables_stay_within_the_size);
    RUN(fences_are_closed_and_opened_again);
    RUN(attachment_lines_become_files);
    RUN(files_count_as_answers);
    RUN(captions_have_a_size);
    RUN(bytes_that_are_no_part_are_refused);
    RUN(invalid_bytes_do_no_harm);
    RUN(answers_are_counted);
    RUN(texts_before_the_end_leave_one_answer);
    RUN(message_numbers_differ);
    forget();
    return check_summary();
}
