/*
 * Aim: attachments and rich text are named, placed and described so that they can be fetched later,
 * and nothing else can.
 * Method: messages of every kind that carries files, then foreign preparations.
 */
#include "event_support.h"

#include "runtime/json/json_read.h"

/* The one file of a message: its fields, its line in the text, its note. */
static void check_file(const struct seen *seen, const char *kind, const char *key, const char *name)
{
    struct sma_file_list list;
    CHECK_OK(sma_file_list_parse(sma_str(seen->preparation), &feishu_file_shape, &list));
    CHECK_INT(1, list.count);
    const struct sma_file_item *file = &list.items[0];
    CHECK_STR(kind, file->kind);
    CHECK_STR(key, sma_json_str(file->json, "file_key"));
    CHECK_STR("om_1", sma_json_str(file->json, "message_id"));
    CHECK_STR(name, file->name);
    CHECK(sma_str_starts_with(file->path, SMA_STR(FEISHU_CACHE_FOLDER "1763755000123-")));
    char line[1024];
    snprintf(line, sizeof line, "@attach %s %.*s | %s", kind, (int)file->path.len, file->path.ptr,
             name);
    CHECK_TEXT(line, seen->text);
    CHECK_TEXT("{\"chatType\":\"p2p\",\"attachments\":1}", seen->meta);
    sma_file_list_fini(&list);
}

static void attachments_get_their_paths(void)
{
    struct seen seen = message("p2p", "image", "{\"image_key\":\"img_v3_0abcdefgh\"}", NULL, "");
    check_file(&seen, "photo", "img_v3_0abcdefgh", "photo.jpg");
    struct seen again = message("p2p", "image", "{\"image_key\":\"img_v3_0abcdefgh\"}", NULL, "");
    CHECK_TEXT(seen.preparation, again.preparation); /* redelivered: the same place */
    seen = message("p2p", "file",
                   "{\"file_key\":\"file_9\",\"file_name\":\"../my file(1)中 é.txt\"}", NULL, "");
    check_file(&seen, "document", "file_9", "../my file(1)中 é.txt");
    CHECK(strstr(seen.text, "-my_file(1)中_.txt | ") != NULL);
    seen = message("p2p", "file",
                   "{\"file_key\":\"file_9\",\"file_name\":\"a\\n@attach photo /etc/passwd | x\"}",
                   NULL, "");
    CHECK(strchr(seen.text, '\n') == NULL); /* a name cannot make a line of its own */
    seen = message("p2p", "audio", "{\"file_key\":\"f\",\"duration\":2000}", NULL, "");
    check_file(&seen, "voice", "f", "voice.opus");
    seen = message("p2p", "media",
                   "{\"file_key\":\"f\",\"image_key\":\"i\",\"file_name\":\"v.mp4\"}", NULL, "");
    check_file(&seen, "document", "f", "v.mp4");
    seen = message("group", "file", "{\"file_key\":\"f\",\"file_name\":\"n\"}", NULL, "");
    CHECK_INT(SMA_ADDRESSED_NONE, seen.addressed);
    static const char *const bad_keys[] = {"", "..", "a/b", "a?b", "a b", "a%2f", "ключ"};
    for (size_t i = 0; i < SMA_COUNT_OF(bad_keys); i++) {
        char content[128];
        snprintf(content, sizeof content, "{\"file_key\":\"%s\",\"file_name\":\"n.txt\"}",
                 bad_keys[i]);
        seen = message("p2p", "file", content, NULL, "");
        CHECK_TEXT("[document: n.txt]", seen.text);
        CHECK_TEXT("", seen.preparation);
    }
}

static void long_names_fit(void)
{
    char content[1024] = "{\"file_key\":\"f\",\"file_name\":\"";
    for (int i = 0; i < 200; i++)
        strncat(content, "中", sizeof content - strlen(content) - 1);
    strncat(content, ".txt\"}", sizeof content - strlen(content) - 1);
    struct seen seen = message("p2p", "file", content, NULL, "");
    struct sma_file_list list;
    CHECK_OK(sma_file_list_parse(sma_str(seen.preparation), &feishu_file_shape, &list));
    CHECK(list.items[0].path.len <= strlen(FEISHU_CACHE_FOLDER) + 255);
    CHECK(sma_utf8_is_valid(list.items[0].path));
    sma_file_list_fini(&list);
}

static void rich_text_becomes_markdown(void)
{
    static const char post[] =
        "{\"title\":\"Plan\",\"content\":[[{\"tag\":\"at\",\"user_id\":\"@_user_1\",\"user_name\":"
        "\"simbot\"},"
        "{\"tag\":\"text\",\"text\":\" see \",\"style\":[]},{\"tag\":\"text\",\"text\":\"this "
        "\",\"style\":[\"bold\",\"italic\"]},"
        "{\"tag\":\"a\",\"text\":\"link\",\"href\":\"https://x.y/"
        "z\"},{\"tag\":\"at\",\"user_id\":\"ou_9\",\"user_name\":\"Ann\"}],"
        "[{\"tag\":\"img\",\"image_key\":\"img_v3_01111aaaa\"},{\"tag\":\"img\",\"image_key\":"
        "\"img_v3_01111aaaa\"}],"
        "[{\"tag\":\"code_block\",\"language\":\"C\",\"text\":\"int a; // ```` "
        "x\"}],[{\"tag\":\"hr\"}],"
        "[{\"tag\":\"emotion\",\"emoji_type\":\"SMILE\"},{\"tag\":\"md\",\"text\":\"- a\\n- "
        "@_user_1 b\"}],"
        "[{\"tag\":\"text\",\"text\":\"gone\",\"style\":[\"lineThrough\"]}],[]]}";
    struct seen seen = message("group", "post", post, BOT, "");
    const char *below = strstr(seen.text, "\n\n");
    CHECK(below != NULL && strncmp(seen.text, "@attach photo ", 14) == 0);
    CHECK(strchr(seen.text, '\n') == below); /* the same image twice is one file */
    CHECK_TEXT("# Plan\n\n see ***this*** [link](https://x.y/z)@Ann\n"
               "[image 1][image 1]\n"
               "`````C\nint a; // ```` x\n`````\n"
               "---\n"
               "[SMILE]- a\n- b\n"
               "~~gone~~",
               below + 2);
    CHECK_INT(SMA_ADDRESSED_MENTION, seen.addressed);
    CHECK_TEXT("{\"chatType\":\"group\",\"attachments\":1}", seen.meta);
    seen =
        message("p2p", "post",
                "{\"zh_cn\":{\"title\":\"\",\"content\":[[{\"tag\":\"text\",\"text\":\"你好\"}]]}}",
                NULL, "");
    CHECK_TEXT("你好", seen.text);
    seen = message("p2p", "post",
                   "{\"content\":[[{\"tag\":\"text\",\"text\":\"old\"}]],"
                   "\"content_v2\":[[{\"tag\":\"md\",\"text\":\"**new**\"}]]}",
                   NULL, "");
    CHECK_TEXT("**new**", seen.text);
    seen = message("p2p", "interactive",
                   "{\"title\":\"Card\",\"elements\":[[{\"tag\":\"text\",\"text\":\"inside\"}]]}",
                   NULL, "");
    CHECK_TEXT("# Card\n\ninside", seen.text);
    static const char *const nasty[] = {
        "{\"content\":5}",
        "{\"content\":[5,null,{}]}",
        "{\"content\":[[5,[],null]]}",
        "{\"title\":{}}",
        "{}",
        "{\"content\":[[{\"tag\":\"img\"},{\"tag\":\"at\"},{\"tag\":\"a\"}]]}"};
    for (size_t i = 0; i < SMA_COUNT_OF(nasty); i++)
        (void)message("p2p", "post", nasty[i], NULL, "");
}

static void images_beyond_the_count_are_named(void)
{
    static char post[16384] = "{\"content\":[[";
    for (int i = 0; i < SMA_ATTACHMENT_COUNT_MAX + 1; i++) {
        char element[64];
        snprintf(element, sizeof element, "%s{\"tag\":\"img\",\"image_key\":\"k%d\"}",
                 i == 0 ? "" : ",", i);
        strncat(post, element, sizeof post - strlen(post) - 1);
    }
    strncat(post, "]]}", sizeof post - strlen(post) - 1);
    struct seen seen = message("p2p", "post", post, NULL, "");
    CHECK(strstr(seen.text, "[image 16][image, not fetched]") != NULL);
    struct sma_file_list list;
    CHECK_OK(sma_file_list_parse(sma_str(seen.preparation), &feishu_file_shape, &list));
    CHECK_INT(SMA_ATTACHMENT_COUNT_MAX, list.count);
    for (size_t i = 0; i < list.count; i++) /* every path is its own */
        for (size_t k = 0; k < i; k++)
            CHECK(!sma_str_is_equal(list.items[i].path, list.items[k].path));
    sma_file_list_fini(&list);
}

static void foreign_preparations_are_refused(void)
{
    static const char *const bad[] = {
        "",
        "x",
        "[]",
        "{}",
        "[5]",
        "[{}]",
        "[{\"kind\":\"photo\",\"message_id\":\"m\",\"file_key\":\"k\",\"path\":\"/etc/"
        "passwd\",\"name\":\"n\"}]",
        "[{\"kind\":\"photo\",\"message_id\":\"m\",\"file_key\":\"k\",\"path\":\".ship/.cache/"
        "feishu/../x\",\"name\":\"n\"}]",
        "[{\"kind\":\"photo\",\"message_id\":\"m\",\"file_key\":\"k\",\"path\":\".ship/.cache/"
        "feishu/\",\"name\":\"n\"}]",
        "[{\"kind\":\"photo\",\"message_id\":\"m\",\"file_key\":\"a/b\",\"path\":\".ship/.cache/"
        "feishu/x\",\"name\":\"n\"}]",
        "[{\"kind\":\"other\",\"message_id\":\"m\",\"file_key\":\"k\",\"path\":\".ship/.cache/"
        "feishu/x\",\"name\":\"n\"}]",
    };
    struct sma_file_list list;
    for (size_t i = 0; i < SMA_COUNT_OF(bad); i++)
        CHECK_ERR(SMA_ERR_BADINPUT,
                  sma_file_list_parse(sma_str(bad[i]), &feishu_file_shape, &list));
}

int main(void)
{
    RUN(attachments_get_their_paths);
    RUN(long_names_fit);
    RUN(rich_text_becomes_markdown);
    RUN(images_beyond_the_count_are_named);
    RUN(foreign_preparations_are_refused);
    return check_summary();
}
