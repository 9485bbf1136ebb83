/* Attachments: names that stay names, paths that stay in their folder, lines out and in. */
#include "runtime/text/attach.h"
#include "sma/text.h"
#include "support/check.h"

#define FOLDER ".ship/.cache/x/"

static struct sma_buf out;

static struct sma_str name_of(struct sma_str name)
{
    sma_buf_clear(&out);
    sma_attach_put_name(&out, name);
    CHECK_OK(out.err);
    return sma_buf_str(&out);
}

CASE(names_are_one_plain_component)
{
    static const struct
    {
        const char *name, *cleaned;
    } rows[] = {
        {"a.png", "a.png"},
        {"../../etc/passwd", "passwd"},
        {"C:\\temp\\b.txt", "b.txt"},
        {"a  b\tc.txt", "a_b_c.txt"},
        {"季度 报告(1).pdf", "季度_报告(1).pdf"},
        {"日本語かな.txt", "日本語_.txt"},
        {"", "_"},
        {"/", "_"},
        {"..", ".."},
        {"a\n@attach photo /etc/passwd", "passwd"},
        {"\xff\xfe", "_"},
        {"\xe4\xb8", "_"},
        {"x|y;z&$(rm)", "x_y_z_(rm)"},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++)
        CHECK_STR(rows[i].cleaned, name_of(sma_str(rows[i].name)));
}

CASE(names_have_a_length)
{
    char name[2000];
    memset(name, 'a', sizeof name);
    CHECK_INT(SMA_ATTACH_NAME_CHARS_MAX,
              name_of((struct sma_str){name, SMA_ATTACH_NAME_CHARS_MAX}).len);
    CHECK_INT(SMA_ATTACH_NAME_CHARS_MAX,
              name_of((struct sma_str){name, SMA_ATTACH_NAME_CHARS_MAX + 1}).len);
    for (size_t i = 0; i + 3 <= sizeof name; i += 3)
        memcpy(name + i, "文", 3);
    struct sma_str cut = name_of((struct sma_str){name, sizeof name});
    CHECK(cut.len <= SMA_ATTACH_NAME_BYTES_MAX && cut.len % 3 == 0);
    CHECK(sma_utf8_is_valid(cut));
}

static void path_of(struct sma_str id, struct sma_str salt, struct sma_str name, char *ret_path,
                    size_t size)
{
    sma_buf_clear(&out);
    sma_attach_put_path(&out, FOLDER, 1700000000123, id, salt, name);
    CHECK_OK(out.err);
    CHECK(sma_attach_is_path(FOLDER, sma_buf_str(&out)));
    snprintf(ret_path, size, "%.*s", (int)out.len, out.ptr);
}

CASE(paths_are_the_files_own)
{
    char one[512], again[512], other[512];
    path_of(SMA_STR("file-id-1"), SMA_STR("m1"), SMA_STR("a.png"), one, sizeof one);
    CHECK(strncmp(one, FOLDER "1700000000123-file-id-", strlen(FOLDER) + 22) == 0);
    path_of(SMA_STR("file-id-1"), SMA_STR("m1"), SMA_STR("a.png"), again, sizeof again);
    CHECK_TEXT(one, again);
    path_of(SMA_STR("file-id-2"), SMA_STR("m1"), SMA_STR("a.png"), other, sizeof other);
    CHECK(strcmp(one, other) != 0);
    path_of(SMA_STR("file-id-1"), SMA_STR("m2"), SMA_STR("a.png"), other, sizeof other);
    CHECK(strcmp(one, other) != 0);
    path_of(SMA_STR("../../.."), SMA_STR(""), SMA_STR("../.."), other, sizeof other);
    path_of(SMA_STR(""), SMA_STR(""), SMA_STR(""), other, sizeof other);
}

CASE(only_our_own_paths_are_taken)
{
    static const char *const wrong[] = {
        "",           FOLDER,        FOLDER ".",     FOLDER "..",        FOLDER ".hidden",
        FOLDER "a/b", FOLDER "../x", "/" FOLDER "a", ".ship/.cache/y/a", FOLDER "a b",
        FOLDER "a\n", FOLDER "\xff", FOLDER "a\\b",  "x" FOLDER "a"};
    for (size_t i = 0; i < SMA_COUNT_OF(wrong); i++)
        CHECK(!sma_attach_is_path(FOLDER, sma_str(wrong[i])));
    CHECK(!sma_attach_is_path(FOLDER, (struct sma_str){FOLDER "a\0b", sizeof FOLDER + 2}));
    CHECK(sma_attach_is_path(FOLDER, SMA_STR(FOLDER "1-a-文.png")));
    char longest[400] = FOLDER;
    memset(longest + strlen(FOLDER), 'a', 256);
    CHECK(!sma_attach_is_path(FOLDER, (struct sma_str){longest, strlen(FOLDER) + 256}));
    CHECK(sma_attach_is_path(FOLDER, (struct sma_str){longest, strlen(FOLDER) + 255}));
}

CASE(lines_are_lines)
{
    sma_buf_clear(&out);
    sma_attach_put_line(&out, "photo", SMA_STR("p/a"), SMA_STR(" a\nb\tc "));
    sma_attach_put_line(&out, "voice", SMA_STR("p/b"), SMA_STR(""));
    CHECK_STR("@attach photo p/a | a b c\n@attach voice p/b | voice", sma_buf_str(&out));
    sma_attach_put_missing(&out, SMA_STR("a"), SMA_STR("p/a"), "the server said no");
    CHECK_STR(
        "@attach photo p/a | a b c\n@attach voice p/b | voice\n"
        "The attachment \"a\" could not be fetched (the server said no); there is no file at p/a.",
        sma_buf_str(&out));
    char label[1000];
    memset(label, 'x', sizeof label);
    sma_buf_clear(&out);
    sma_attach_put_line(&out, "photo", SMA_STR("p"), (struct sma_str){label, sizeof label});
    CHECK_INT(strlen("@attach photo p | ") + SMA_ATTACH_LABEL_BYTES_MAX, out.len);
}

CASE(lines_are_read_again)
{
    static const struct
    {
        const char *line, *kind, *target, *caption;
    } rows[] = {
        {"@attach photo a.png", "photo", "a.png", ""},
        {"  @ATTACH  Image\ta b.png | c | d \r\n", "photo", "a b.png", "c | d"},
        {"@attach file https://x/y|z", "document", "https://x/y", "z"},
        {"@attach document d |", "document", "d", ""},
        {"@attach video v.mp4", "document", "v.mp4", ""},
        {"@attach voice v", "voice", "v", ""},
        {"@attach audio v", "audio", "v", ""},
        {"@attach", NULL, "", ""},
        {"@attach photo", NULL, "", ""},
        {"@attach photo | caption", NULL, "", ""},
        {"@attach dance a", NULL, "", ""},
        {"@attachphoto a", NULL, "", ""},
        {"attach photo a", NULL, "", ""},
        {"see @attach photo a", NULL, "", ""},
        {"", NULL, "", ""},
    };
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_attach_line line = {0};
        CHECK_INT(rows[i].kind != NULL, sma_attach_read_line(sma_str(rows[i].line), &line));
        if (rows[i].kind == NULL)
            continue;
        CHECK_TEXT(rows[i].kind, line.kind);
        CHECK_STR(rows[i].target, line.target);
        CHECK_STR(rows[i].caption, line.caption);
    }
}

int main(void)
{
    sma_buf_init(&out, 1024 * 1024);
    check_run_cases(NULL);
    sma_buf_fini(&out);
    return check_summary();
}
