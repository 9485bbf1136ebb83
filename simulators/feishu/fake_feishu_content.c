/*
 * fake_feishu_content.c — what may stand in a message of each type, above all in a card, and what
 * people see of it.
 */
#include "fake_feishu_priv.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define CARD_DEPTH_MAX 12
#define CARD_TABLES_MAX 3
#define CARD_ELEMENTS_MAX 200
#define ELEMENT_ID_LEN_MAX 20

struct reading
{
    const struct fake_feishu *fake;
    struct sma_buf text;
    struct fake_feishu_wrong *wrong;
    bool is_wrong, is_new; /* is_new: schema 2.0 */
    unsigned tables, elements;
    json_t *element_ids;
    json_t *buttons; /* not NULL: collect them */
};

static void refuse(struct reading *reading, int64_t code, const char *format, ...) SMA_PRINTF(3, 4);
static void refuse(struct reading *reading, int64_t code, const char *format, ...)
{
    va_list arguments;
    if (reading->is_wrong || reading->wrong == NULL)
        return;
    reading->is_wrong = true;
    reading->wrong->code = code;
    va_start(arguments, format);
    vsnprintf(reading->wrong->text, sizeof reading->wrong->text, format, arguments);
    va_end(arguments);
}

static void refuse_card(struct reading *reading, int sub_code, const char *why)
{
    refuse(reading, 230099,
           "Failed to create card content, ext=ErrCode: %d; ErrMsg: %s; ErrorValue: ;", sub_code,
           why);
}

static void show(struct reading *reading, const char *text)
{
    if (text[0] == '\0')
        return;
    if (reading->text.len > 0)
        sma_buf_put_char(&reading->text, '\n');
    sma_buf_put_text(&reading->text, text);
}

static bool is_word_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* -- cards ------------------------------------------------------------------------------------- */
/* Tables: lines of dashes between bars. Images: ![..](key). */
static void check_markdown(struct reading *reading, const char *text)
{
    bool is_code = false;
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n';
        size_t len = strcspn(line, "\n");
        is_code ^= strncmp(line, "```", 3) == 0;
        const char *dashes = memmem(line, len, "--", 2);
        bool is_rule = len > 3 && dashes != NULL && memchr(line, '|', len) != NULL &&
                       strspn(line, "|-: \t") == len;
        reading->tables += !is_code && is_rule;
        const char *image = is_code ? NULL : memmem(line, len, "![", 2),
                   *open =
                       image == NULL ? NULL : memmem(image, (size_t)(line + len - image), "](", 2);
        if (open != NULL) {
            char key[FEISHU_ID_SIZE];
            snprintf(key, sizeof key, "%.*s", (int)strcspn(open + 2, ") \n"), open + 2);
            if (fake_feishu_file(reading->fake, key) == NULL)
                refuse_card(reading, 200570, "invalid image keys");
        }
        if (*line == '\0')
            break;
    }
    if (reading->tables > CARD_TABLES_MAX)
        refuse_card(reading, 11310, "card table number over limit");
}

static void check_text(struct reading *reading, const json_t *text)
{
    const char *tag = platform_text(text, "tag", ""),
               *content = platform_text(text, "content", NULL);
    if (content == NULL || (strcmp(tag, "plain_text") != 0 && strcmp(tag, "lark_md") != 0)) {
        refuse_card(reading, 200621, "parse card json err: text");
        return;
    }
    show(reading, content);
    if (strcmp(tag, "lark_md") == 0)
        check_markdown(reading, content);
}

static void check_button(struct reading *reading, const json_t *button)
{
    static const char *const types[] = {"default",        "primary",       "danger",
                                        "text",           "primary_text",  "danger_text",
                                        "primary_filled", "danger_filled", "laser"};
    const json_t *label = json_object_get(button, "text"),
                 *behaviors = json_object_get(button, "behaviors"), *value;
    if (!is_word_of(platform_text(button, "type", "default"), types, SMA_COUNT_OF(types)))
        refuse_card(reading, 200621, "parse card json err: button type");
    check_text(reading, label);
    value = json_object_get(button, "value");
    if (reading->is_new && value != NULL)
        refuse_card(reading, 200861, "unsupported property: value");
    if (!reading->is_new && behaviors != NULL)
        refuse_card(reading, 200621, "behaviors belong to schema 2.0");
    for (size_t i = 0; i < json_array_size(behaviors); i++) {
        const json_t *behavior = json_array_get(behaviors, i);
        if (strcmp(platform_text(behavior, "type", ""), "callback") == 0)
            value = json_object_get(behavior, "value");
        else if (strcmp(platform_text(behavior, "type", ""), "open_url") != 0)
            refuse_card(reading, 200621, "parse card json err: behavior type");
    }
    if (value != NULL && !json_is_object(value) && !json_is_string(value))
        refuse_card(reading, 200621, "parse card json err: value of a button");
    if (reading->buttons != NULL && value != NULL)
        json_array_append_new(
            reading->buttons,
            json_pack("{s:s,s:O}", "label", platform_text(label, "content", ""), "value", value));
}

static void check_columns(struct reading *reading, const json_t *set)
{
    static const char *const modes[] = {"none", "stretch", "flow", "bisect", "trisect"};
    const json_t *columns = json_object_get(set, "columns");
    if (!is_word_of(platform_text(set, "flex_mode", "none"), modes, SMA_COUNT_OF(modes)))
        refuse_card(reading, 200621, "parse card json err: flex_mode");
    for (size_t i = 0; i < json_array_size(columns); i++)
        if (strcmp(platform_text(json_array_get(columns, i), "tag", ""), "column") != 0)
            refuse_card(reading, 200621, "parse card json err: a column_set holds columns");
}

static void check_element_id(struct reading *reading, const char *id)
{
    bool is_good = isalpha((unsigned char)id[0]) && strlen(id) <= ELEMENT_ID_LEN_MAX;
    for (const char *at = id; is_good && *at != '\0'; at++)
        is_good = isalnum((unsigned char)*at) || *at == '_';
    if (!is_good || json_object_get(reading->element_ids, id) != NULL)
        refuse_card(reading, 200621, "element_id is malformed or there twice");
    json_object_set_new(reading->element_ids, id, json_true());
}

static void check_elements(struct reading *reading, const json_t *elements, unsigned depth);

static void check_element(struct reading *reading, const json_t *element, unsigned depth)
{
    static const char *const common[] = {"markdown",
                                         "div",
                                         "hr",
                                         "img",
                                         "button",
                                         "column_set",
                                         "column",
                                         "table",
                                         "form",
                                         "input",
                                         "select_static",
                                         "collapsible_panel",
                                         "person",
                                         "checker",
                                         "date_picker",
                                         "multi_select_static",
                                         "overflow",
                                         "chart",
                                         "interactive_container"};
    const char *tag = platform_text(element, "tag", ""),
               *id = platform_text(element, "element_id", NULL);
    bool is_old = strcmp(tag, "action") == 0 || strcmp(tag, "note") == 0;
    if (is_old && reading->is_new)
        refuse_card(reading, 200861,
                    "cards of schema V2 no longer support this capability; unsupported tag");
    else if (!is_old && !is_word_of(tag, common, SMA_COUNT_OF(common)) &&
             !(depth > 0 && (strcmp(tag, "plain_text") == 0 || strcmp(tag, "lark_md") == 0)))
        refuse_card(reading, 200621, "parse card json err: unknown tag");
    if (++reading->elements > CARD_ELEMENTS_MAX)
        refuse_card(reading, 11310, "element exceeds the limit");
    if (id != NULL)
        check_element_id(reading, id);
    if (strcmp(tag, "markdown") == 0) {
        const char *content = platform_text(element, "content", NULL);
        if (content == NULL)
            refuse_card(reading, 200621, "parse card json err: content of markdown");
        else
            show(reading, content);
        check_markdown(reading, content == NULL ? "" : content);
    } else if (strcmp(tag, "button") == 0) {
        check_button(reading, element);
    } else if (strcmp(tag, "div") == 0) {
        check_text(reading, json_object_get(element, "text"));
    } else if (strcmp(tag, "plain_text") == 0 || strcmp(tag, "lark_md") == 0) {
        check_text(reading, element);
    } else if (strcmp(tag, "img") == 0 &&
               fake_feishu_file(reading->fake, platform_text(element, "img_key", "")) == NULL) {
        refuse_card(reading, 200570, "invalid image keys");
    } else if (strcmp(tag, "table") == 0 && ++reading->tables > CARD_TABLES_MAX) {
        refuse_card(reading, 11310, "card table number over limit");
    }
    if (strcmp(tag, "column_set") == 0)
        check_columns(reading, element);
    static const char *const inside[] = {"elements", "columns", "actions"};
    for (size_t i = 0; i < SMA_COUNT_OF(inside); i++)
        if (json_object_get(element, inside[i]) != NULL)
            check_elements(reading, json_object_get(element, inside[i]), depth + 1);
}

/* Nesting is bounded by CARD_DEPTH_MAX. */
static void check_elements(struct reading *reading, const json_t *elements, unsigned depth)
{
    size_t i;
    json_t *element;
    if (!json_is_array(elements) || depth > CARD_DEPTH_MAX) {
        refuse_card(reading, 200621, "parse card json err: elements");
        return;
    }
    json_array_foreach(elements, i, element) check_element(reading, element, depth);
}

static void check_header(struct reading *reading, const json_t *header)
{
    static const char *const colours[] = {"blue",   "wathet", "turquoise", "green",  "yellow",
                                          "orange", "red",    "carmine",   "violet", "purple",
                                          "indigo", "grey",   "default"};
    if (header == NULL)
        return;
    if (!is_word_of(platform_text(header, "template", "default"), colours, SMA_COUNT_OF(colours)))
        refuse_card(reading, 200621, "parse card json err: template");
    check_text(reading, json_object_get(header, "title"));
}

/* @return config.update_multi */
static bool check_card(struct reading *reading, const json_t *card)
{
    const char *schema = platform_text(card, "schema", "1.0");
    if (!json_is_object(card)) {
        refuse_card(reading, 200621, "parse card json err");
        return false;
    }
    reading->is_new = strcmp(schema, "2.0") == 0;
    if (!reading->is_new && strcmp(schema, "1.0") != 0)
        refuse_card(reading, 200621, "parse card json err: schema");
    check_header(reading, json_object_get(card, "header"));
    const json_t *body = json_object_get(card, "body");
    if (reading->is_new && json_object_get(card, "elements") != NULL)
        refuse_card(reading, 200861, "unsupported property: elements");
    else
        check_elements(reading, json_object_get(reading->is_new ? body : card, "elements"), 0);
    return platform_flag(json_object_get(card, "config"), "update_multi", false);
}

json_t *fake_feishu_buttons(const char *content)
{
    struct reading reading = {.buttons = json_array(), .element_ids = json_object()};
    json_t *card = json_loads(content, 0, NULL);
    sma_buf_init(&reading.text, FEISHU_JSON_MAX);
    struct fake_feishu none = {.index = NULL};
    reading.fake = &none;
    (void)check_card(&reading, card);
    sma_buf_fini(&reading.text);
    json_decref(reading.element_ids);
    json_decref(card);
    return reading.buttons;
}

/* -- reactions, answers to buttons ------------------------------------------------------------- */
bool fake_feishu_is_reaction(const char *emoji_type)
{
    /* Source: the platform's list of emoji_type; case counts */
    static const char known[] =
        " OK THUMBSUP THANKS MUSCLE FINGERHEART APPLAUSE FISTBUMP JIAYI DONE SMILE BLUSH LAUGH "
        "SMIRK LOL "
        "FACEPALM LOVE WINK PROUD WITTY SMART SCOWL THINKING SOB CRY ERROR NOSEPICK HAUGHTY SLAP "
        "SPITBLOOD TOASTED GLANCE DULL INNOCENTSMILE JOYFUL WOW TRICK YEAH ENOUGH TEARS "
        "EMBARRASSED "
        "KISS SMOOCH DROOL OBSESSED MONEY TEASE SHOWOFF COMFORT CLAP PRAISE STRIVE XBLUSH SILENT "
        "WAVE "
        "WHAT FROWN SHY DIZZY LOOKDOWN CHUCKLE WAIL CRAZY WHIMPER HUG BLUBBER WRONGED HUSKY SHHH "
        "SMUG "
        "ANGRY HAMMER SHOCKED TERROR PETRIFIED SKULL SWEAT SPEECHLESS SLEEP DROWSY YAWN SICK PUKE "
        "BETRAYED HEADSET EatingFood MeMeMe Sigh Typing Lemon Get LGTM OnIt OneSecond VRHeadset "
        "YouAreTheBest SALUTE SHAKE HIGHFIVE UPPERLEFT ThumbsDown SLIGHT TONGUE EYESCLOSED "
        "RoarForYou "
        "CALF BEAR BULL RAINBOWPUKE ROSE HEART PARTY LIPS BEER CAKE GIFT CUCUMBER Drumstick Pepper "
        "CANDIEDHAWS BubbleTea Coffee Yes No OKR CheckMark CrossMark MinusOne Hundred AWESOMEN Pin "
        "Alarm "
        "Loudspeaker Trophy Fire BOMB Music XmasTree Snowman XmasHat FIREWORKS 2022 REDPACKET "
        "FORTUNE "
        "LUCK FIRECRACKER StickyRiceBalls HEARTBROKEN POOP StatusFlashOfInspiration 18X CLEAVER "
        "Soccer "
        "Basketball GeneralDoNotDisturb Status_PrivateMessage GeneralInMeetingBusy StatusReading "
        "StatusInFlight GeneralBusinessTrip GeneralWorkFromHome StatusEnjoyLife "
        "GeneralTravellingCar "
        "StatusBus GeneralSun GeneralMoonRest MoonRabbit Mooncake JubilantRabbit TV Movie Pumpkin "
        "BeamingFace Delighted ColdSweat FullMoonFace Partying GoGoGo ThanksFace SaluteFace Shrug "
        "ClownFace HappyDragon ";
    char word[64];
    if (emoji_type[0] == '\0' || strchr(emoji_type, ' ') != NULL ||
        strlen(emoji_type) > sizeof word - 3)
        return false;
    snprintf(word, sizeof word, " %s ", emoji_type);
    return strstr(known, word) != NULL;
}

const char *fake_feishu_check_answer(const struct fake_feishu *fake, const json_t *answer)
{
    static const char *const types[] = {"info", "success", "warning", "error"};
    const json_t *toast = json_object_get(answer, "toast"), *card = json_object_get(answer, "card");
    const char *key;
    json_t *value;
    if (!json_is_object(answer))
        return "it is no object";
    json_object_foreach((json_t *)(uintptr_t)answer, key, value)
    {
        if (strcmp(key, "toast") != 0 && strcmp(key, "card") != 0)
            return "it has a member that is neither toast nor card";
    }
    if (toast != NULL && !is_word_of(platform_text(toast, "type", ""), types, SMA_COUNT_OF(types)))
        return "the toast is of no type";
    if (toast != NULL && platform_text(toast, "content", "")[0] == '\0' &&
        json_object_size(json_object_get(toast, "i18n")) == 0)
        return "the toast says nothing";
    if (card == NULL)
        return NULL;
    if (strcmp(platform_text(card, "type", ""), "raw") != 0)
        return strcmp(platform_text(card, "type", ""), "template") == 0 ? NULL
                                                                        : "the card is of no type";
    char *text = NULL, *content = json_dumps(json_object_get(card, "data"), JSON_COMPACT);
    bool is_shared = false;
    struct fake_feishu_wrong wrong;
    bool is_good = content != NULL && fake_feishu_check_content(fake, "interactive", content, &text,
                                                                &is_shared, &wrong);
    free(text);
    free(content);
    return is_good ? NULL : "the card is refused";
}

/* -- the other types --------------------------------------------------------------------------- */
static void refuse_content(struct reading *reading, const char *what)
{
    refuse(reading, 230001,
           "Your request contains an invalid request parameter, ext=invalid message content: %s.",
           what);
}

static void check_plain(struct reading *reading, const json_t *tree)
{
    const char *text = platform_text(tree, "text", NULL);
    if (text == NULL || text[0] == '\0') {
        refuse_content(reading, "text is empty");
        return;
    }
    show(reading, text);
    for (const char *at = text; (at = strstr(at, "<at user_id=\"")) != NULL;) {
        char id[FEISHU_ID_SIZE];
        at += 13;
        snprintf(id, sizeof id, "%.*s", (int)strcspn(at, "\""), at);
        if (strcmp(id, "all") != 0 && fake_feishu_person(reading->fake, id) == NULL)
            refuse_content(reading, "invalid user resource");
    }
}

static void check_post_element(struct reading *reading, const json_t *element, size_t row_len)
{
    static const char *const tags[] = {"text",    "a",          "at", "img", "media",
                                       "emotion", "code_block", "hr", "md"};
    const char *tag = platform_text(element, "tag", "");
    if (!is_word_of(tag, tags, SMA_COUNT_OF(tags)))
        refuse_content(reading, "unknown tag in a post");
    if (strcmp(tag, "md") == 0 && row_len != 1)
        refuse_content(reading, "md must be alone in its paragraph");
    if (strcmp(tag, "img") == 0 &&
        fake_feishu_file(reading->fake, platform_text(element, "image_key", "")) == NULL)
        refuse_content(reading, "invalid image key");
    if (strcmp(tag, "a") == 0 && platform_text(element, "href", "")[0] == '\0')
        refuse_content(reading, "a link without href");
    show(reading, platform_text(element, "text", ""));
}

static void check_post(struct reading *reading, const json_t *tree)
{
    static const char *const locales[] = {"zh_cn", "en_us", "ja_jp"};
    const json_t *post = NULL;
    for (size_t i = 0; i < SMA_COUNT_OF(locales) && post == NULL; i++)
        post = json_object_get(tree, locales[i]);
    const json_t *rows = json_object_get(post, "content");
    if (!json_is_array(rows)) {
        refuse_content(reading, "a post needs a locale and content");
        return;
    }
    show(reading, platform_text(post, "title", ""));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!json_is_array(row))
            refuse_content(reading, "a paragraph is no list");
        for (size_t j = 0; j < json_array_size(row); j++)
            check_post_element(reading, json_array_get(row, j), json_array_size(row));
    }
}

static void check_file(struct reading *reading, const char *type, const json_t *tree)
{
    bool is_image = strcmp(type, "image") == 0;
    const struct file *file = fake_feishu_file(
        reading->fake, platform_text(tree, is_image ? "image_key" : "file_key", ""));
    const char *wanted = strcmp(type, "audio") == 0   ? "opus"
                         : strcmp(type, "media") == 0 ? "mp4"
                                                      : NULL;
    if (file == NULL || file->note[0] != '\0') {
        refuse_content(reading, is_image ? "invalid image_key" : "invalid file_key");
        return;
    }
    if ((strcmp(file->type, "image") == 0) != is_image ||
        (wanted != NULL && strcmp(file->type, wanted) != 0))
        refuse(reading, 230055,
               "The type of file upload does not match the type of message being sent.");
    show(reading, file->name[0] == '\0' ? file->key : file->name);
}

bool fake_feishu_check_content(const struct fake_feishu *fake, const char *type,
                               const char *content, char **ret_text, bool *ret_is_shared,
                               struct fake_feishu_wrong *ret_wrong)
{
    static const char *const files[] = {"image", "file", "audio", "media"};
    struct reading reading = {.fake = fake, .wrong = ret_wrong, .element_ids = json_object()};
    json_t *tree = json_loads(content, 0, NULL);
    bool is_shared = false;
    sma_buf_init(&reading.text, FEISHU_JSON_MAX);
    if (strcmp(type, "interactive") == 0)
        is_shared = check_card(&reading, tree);
    else if (!json_is_object(tree))
        refuse_content(&reading, "content is not a string in json format");
    else if (strcmp(type, "text") == 0)
        check_plain(&reading, tree);
    else if (strcmp(type, "post") == 0)
        check_post(&reading, tree);
    else if (is_word_of(type, files, SMA_COUNT_OF(files)))
        check_file(&reading, type, tree);
    else
        refuse(&reading, 230001,
               "Your request contains an invalid request parameter, ext=invalid msg_type.");
    if (!reading.is_wrong) {
        *ret_text = platform_copy(sma_buf_str(&reading.text));
        *ret_is_shared = is_shared;
    }
    sma_buf_fini(&reading.text);
    json_decref(reading.element_ids);
    json_decref(tree);
    return !reading.is_wrong;
}
