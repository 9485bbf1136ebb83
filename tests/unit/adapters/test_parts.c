/*
 * Aim: a text of the assistant asks for the same files on every platform, never where it is shown
 * as code, and what render gives has one form everywhere.
 * Method: the same texts through the three renderers, their parts read by the one reader.
 */
#include "adapters/common/part.h"
#include "adapters/feishu/feishu_out.h"
#include "adapters/qq/qq_out.h"
#include "adapters/telegram/telegram_out.h"
#include "support/check.h"

#define PART_COUNT_MAX 32

typedef enum sma_err render_fn(const struct sma_deliver *row, sma_part_fn *each, void *user);
static const struct platform
{
    const char *name;
    render_fn *render;
} platforms[] = {
    {"telegram", telegram_render},
    {"feishu", feishu_render},
    {"qq", qq_render},
};
struct seen
{
    struct sma_buf bytes[PART_COUNT_MAX];
    struct sma_rendered_part parts[PART_COUNT_MAX];
    size_t count;
};

static void on_part(void *user, struct sma_str bytes)
{
    struct seen *seen = user;
    CHECK(seen->count < PART_COUNT_MAX);
    struct sma_buf *copy = &seen->bytes[seen->count];
    sma_buf_init(copy, 1 << 20);
    sma_buf_put_str(copy, bytes);
    CHECK_OK(copy->err);
    CHECK_OK(sma_part_decode(sma_buf_str(copy), &seen->parts[seen->count++]));
}

static struct seen render(const struct platform *platform, enum sma_intent intent, const char *text)
{
    struct seen seen = {0};
    struct sma_deliver row = {
        .outbox_id = 1, .intent = intent, .text = sma_str(text), .route.chat_type = SMA_STR("c2c")};
    fprintf(stderr, "   %s\n", platform->name);
    CHECK_OK(platform->render(&row, on_part, &seen));
    return seen;
}

static void forget(struct seen *seen)
{
    for (size_t i = 0; i < seen->count; i++)
        sma_buf_fini(&seen->bytes[i]);
}

static bool holds(struct sma_str text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* How many files the text asks for; each is named "yes.png". */
static size_t count_files(const struct seen *seen)
{
    size_t count = 0;
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->parts[i].mark != SMA_RENDERED_FILE)
            continue;
        CHECK_STR("yes.png", seen->parts[i].first);
        count++;
    }
    return count;
}

static void code_is_shown_and_never_sent(void)
{
    static const char *const texts[] = {
        "Files are sent like this:\n```\n@attach photo no.png\n```\nand nothing else",
        "Like this:\n\n1. A line:\n    ~~~text\n    @attach photo no.png\n    ~~~\n2. That is all",
        "say `so\n@attach photo no.png\nand so` to send one",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(platforms) * SMA_COUNT_OF(texts); i++) {
        const char *text = texts[i / SMA_COUNT_OF(platforms)];
        struct seen seen =
            render(&platforms[i % SMA_COUNT_OF(platforms)], SMA_INTENT_ASSISTANT_TEXT, text);
        CHECK_INT(0, count_files(&seen));
        CHECK_INT(1, seen.count);
        CHECK(holds(seen.parts[0].second, "@attach photo no.png"));
        forget(&seen);
    }
}

static void every_kind_is_known_everywhere(void)
{
    static const struct
    {
        const char *word, *kind;
    } kinds[] = {{"photo", "photo"},   {"image", "photo"},    {"Document", "document"},
                 {"file", "document"}, {"video", "document"}, {"voice", "voice"},
                 {"AUDIO", "audio"}};
    for (size_t i = 0; i < SMA_COUNT_OF(platforms) * SMA_COUNT_OF(kinds); i++) {
        char text[128];
        snprintf(text, sizeof text, "here\n\t@attach %s yes.png\n",
                 kinds[i / SMA_COUNT_OF(platforms)].word);
        struct seen seen =
            render(&platforms[i % SMA_COUNT_OF(platforms)], SMA_INTENT_ASSISTANT_TEXT, text);
        CHECK_INT(2, seen.count);
        CHECK_INT(1, count_files(&seen));
        CHECK_TEXT(kinds[i / SMA_COUNT_OF(platforms)].kind, seen.parts[1].file_kind);
        CHECK(!holds(seen.parts[0].second, "@attach"));
        forget(&seen);
    }
}

static void what_is_not_the_assistants_sends_nothing(void)
{
    for (size_t i = 0; i < SMA_COUNT_OF(platforms); i++) {
        struct seen seen = render(&platforms[i], SMA_INTENT_NOTICE, "@attach photo no.png");
        CHECK_INT(1, seen.count);
        CHECK_STR("@attach photo no.png", seen.parts[0].second);
        forget(&seen);
    }
}

static void texts_have_a_marked_and_a_plain_form(void)
{
    for (size_t i = 0; i < SMA_COUNT_OF(platforms); i++) {
        struct seen seen = render(&platforms[i], SMA_INTENT_ASSISTANT_TEXT, "a **bold** word");
        CHECK_INT(1, seen.count);
        CHECK_INT(SMA_RENDERED_TEXT, seen.parts[0].mark);
        CHECK(seen.parts[0].first.len > 0 && holds(seen.parts[0].second, "bold"));
        forget(&seen);
        seen = render(&platforms[i], SMA_INTENT_ASSISTANT_TEXT, "a plain word");
        CHECK_INT(1, seen.count);
        CHECK_STR("", seen.parts[0].first);
        CHECK_STR("a plain word", seen.parts[0].second);
        forget(&seen);
    }
}

static void reactions_and_what_is_no_card(void)
{
    for (size_t i = 0; i < SMA_COUNT_OF(platforms); i++) {
        struct seen seen = render(&platforms[i], SMA_INTENT_REACTION, "\xF0\x9F\x91\x8D");
        CHECK_INT(1, seen.count);
        CHECK_INT(SMA_RENDERED_REACTION, seen.parts[0].mark);
        CHECK_STR("\xF0\x9F\x91\x8D", seen.parts[0].first);
        forget(&seen);
        seen = render(&platforms[i], SMA_INTENT_APPROVAL_REQUEST, "no card at all");
        CHECK_INT(1, seen.count);
        CHECK_STR("no card at all", seen.parts[0].second);
        forget(&seen);
    }
}

int main(void)
{
    RUN(code_is_shown_and_never_sent);
    RUN(every_kind_is_known_everywhere);
    RUN(what_is_not_the_assistants_sends_nothing);
    RUN(texts_have_a_marked_and_a_plain_form);
    RUN(reactions_and_what_is_no_card);
    return check_summary();
}
