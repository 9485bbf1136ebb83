/* Aim: what a SKILL.md says of itself is read, and a hostile one costs nothing. Method: texts, and
 * what is taken from them. */
#include "runtime/skills/front.h"
#include "sma/buf.h"
#include "sma/limits.h"
#include "support/check.h"

#include <stdlib.h>

static struct sma_skill_front front;
static struct sma_error error;

static enum sma_err parse(const char *text)
{
    sma_skill_front_fini(&front);
    error = (struct sma_error){.code = SMA_ERR_OK};
    return sma_skill_front_parse(sma_str(text), &front, &error);
}

CASE(keys_are_read)
{
    CHECK_OK(parse("---\r\nname: pdf \r\ndescription: >-\r\n  Fill in\r\n  forms\r\n"
                   "license: MIT\r\nmetadata:\r\n  version: 3\r\n  on: true\r\n---\r\n# Text\r\n"));
    CHECK_TEXT("pdf", front.name);
    CHECK_TEXT("Fill in forms", front.description);
    CHECK_TEXT("MIT", front.license);
    CHECK_TEXT("{\"version\":3,\"on\":true}", front.metadata);
    CHECK(front.allowed_tools == NULL);
    CHECK_OK(parse("\xef\xbb\xbf---\nname: \"\\u4e2d\"\n...\n"));
    CHECK_TEXT("\xe4\xb8\xad", front.name);
    CHECK_OK(parse("---\nname: 7\ndescription: [a]\n---"));
    CHECK_TEXT("7", front.name);
    CHECK(front.description == NULL);
}

/* All three ways to write it, in one order, as whatever value it is. */
CASE(allowed_tools_are_read)
{
    CHECK_OK(
        parse("---\nallowed_tools: x\nallowedTools: y\nallowed-tools: Bash(git:*), Read\n---\n"));
    CHECK_TEXT("\"Bash(git:*), Read\"", front.allowed_tools);
    CHECK_OK(parse("---\nallowed_tools: x\nallowedTools: [Read, 'Bash']\n---\n"));
    CHECK_TEXT("[\"Read\",\"Bash\"]", front.allowed_tools);
    CHECK_OK(parse("---\nallowed_tools: {a: [1, ~]}\n---\n"));
    CHECK_TEXT("{\"a\":[1,null]}", front.allowed_tools);
}

CASE(none_is_no_fault)
{
    const char *const texts[] = {"",
                                 "# Text\n",
                                 "----\nname: x\n---\n",
                                 "name: x\n---\n",
                                 "---\n---\n",
                                 "---\n# nothing\n---\n",
                                 "\n---\nname: x\n---\n"};
    for (size_t i = 0; i < SMA_COUNT_OF(texts); i++) {
        CHECK_OK(parse(texts[i]));
        CHECK(front.name == NULL && front.description == NULL);
    }
}

CASE(bad_ones_are_refused_with_their_line)
{
    CHECK_ERR(SMA_ERR_BADINPUT, parse("---\nname: x\n"));
    CHECK(strstr(error.text, "no end") != NULL);
    CHECK_ERR(SMA_ERR_BADINPUT, parse("---\nname: x\nbad: [1\n---\n"));
    CHECK(strstr(error.text, "not YAML: line 4") != NULL);
    CHECK_ERR(SMA_ERR_BADINPUT, parse("---\n- a\n- b\n---\n"));
    CHECK_ERR(SMA_ERR_BADINPUT, parse("---\n? [a]\n: b\n---\n"));
    CHECK_ERR(SMA_ERR_BADINPUT, parse("---\nname: \"a\\0b\"\n---\n"));
    CHECK_ERR(SMA_ERR_BADINPUT, parse("---\nname: \xff\n---\n"));
    CHECK(strstr(error.text, "UTF-8") != NULL);
    CHECK(front.name == NULL);
}

/* Nine lines of this stand for 10^9 values. */
CASE(aliases_are_refused)
{
    CHECK_ERR(SMA_ERR_BADINPUT,
              parse("---\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                    "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nname: x\n---\n"));
    CHECK(strstr(error.text, "line 3: aliases") != NULL);
    CHECK_ERR(SMA_ERR_BADINPUT, parse("---\na: &a {x: 1}\n<<: *a\n---\n"));
    CHECK_OK(parse("---\nname: &unused x\n---\n")); /* an anchor alone is nothing */
    CHECK_TEXT("x", front.name);
}

static enum sma_err parse_repeated(const char *head, const char *part, size_t count)
{
    struct sma_buf text;
    sma_buf_init(&text, 4 * SMA_SKILL_FRONT_BYTES_MAX);
    sma_buf_put_text(&text, "---\n");
    sma_buf_put_text(&text, head);
    for (size_t i = 0; i < count; i++)
        sma_buf_put_text(&text, part);
    sma_buf_put_text(&text, "\n---\n");
    sma_buf_put_char(&text, '\0');
    CHECK_OK(text.err);
    enum sma_err err = parse(text.ptr);
    sma_buf_fini(&text);
    return err;
}

CASE(size_is_bounded)
{
    /* the root and the list of it are two values */
    CHECK_OK(parse_repeated("a:", "\n- x", SMA_SKILL_FRONT_NODE_COUNT_MAX - 2));
    CHECK_ERR(SMA_ERR_BADINPUT, parse_repeated("a:", "\n- x", SMA_SKILL_FRONT_NODE_COUNT_MAX - 1));
    CHECK_OK(parse_repeated("", "# 89012345\n", SMA_SKILL_FRONT_BYTES_MAX / 11));
    CHECK_ERR(SMA_ERR_BADINPUT,
              parse_repeated("", "# 89012345\n", SMA_SKILL_FRONT_BYTES_MAX / 11 + 1));
}

CASE(depth_is_bounded)
{
    char text[8 * 1024];
    for (int depth = SMA_SKILL_FRONT_DEPTH_MAX - 2; depth <= SMA_SKILL_FRONT_DEPTH_MAX; depth++) {
        char *at = stpcpy(text, "---\na: "); /* the root is the first level */
        for (int i = 0; i < depth; i++)
            *at++ = '[';
        for (int i = 0; i < depth; i++)
            *at++ = ']';
        (void)stpcpy(at, "\n---\n");
        CHECK_ERR(depth < SMA_SKILL_FRONT_DEPTH_MAX ? SMA_ERR_OK : SMA_ERR_BADINPUT, parse(text));
    }
    CHECK_ERR(SMA_ERR_BADINPUT, parse_repeated("a: ", "[", 60000));
    CHECK_ERR(SMA_ERR_BADINPUT, parse_repeated("a: ", "{a: ", 16000));
}

int main(void)
{
    check_run_cases(NULL);
    sma_skill_front_fini(&front);
    return 0;
}
