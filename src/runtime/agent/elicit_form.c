/* elicit_form.c — see elicit_form.h. */
#include "runtime/agent/elicit_form.h"

#include "runtime/json/json_read.h"
#include "runtime/tools/schema_check.h"
#include "sma/text.h"

#include <stdlib.h>
#include <strings.h>

#define LABEL_BYTES_MAX 200
#define CHOICE_COUNT_MAX 40 /* shown; any may be said */

/* -- the form ---------------------------------------------------------------------------------- */
static const json_t *fields_of(const json_t *form)
{
    return sma_json_get(form, "properties");
}

static bool is_required(const json_t *form, const char *name)
{
    const json_t *list = sma_json_get(form, "required");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        if (word != NULL && strcmp(word, name) == 0)
            return true;
    }
    return false;
}

bool sma_elicit_can_ask(struct sma_str schema)
{
    SMA_AUTO(sma_json_freep) json_t *form = NULL;
    if (schema.len == 0)
        return true;
    return sma_json_load(schema, &form) == SMA_ERR_OK && json_is_object(form) &&
           json_object_size(fields_of(form)) <= SMA_ELICIT_FIELD_COUNT_MAX;
}

/* The values that it takes, by name: `enum`, or `oneOf` / `anyOf` with const and title; of a list,
 * those of its items. NULL: any. */
static const json_t *choices_of(const json_t *field)
{
    static const char *const keys[] = {"enum", "oneOf", "anyOf"};
    const json_t *items = sma_json_get(field, "items");
    const json_t *from = json_is_object(items) ? items : field;
    for (size_t i = 0; i < SMA_COUNT_OF(keys); i++)
        if (json_is_array(sma_json_get(from, keys[i])))
            return sma_json_get(from, keys[i]);
    return NULL;
}

static struct sma_str value_of(const json_t *choice)
{
    return json_is_object(choice) ? sma_json_str(choice, "const") : sma_json_str_of(choice);
}

static struct sma_str title_of(const json_t *field, const json_t *choice, size_t index)
{
    if (json_is_object(choice))
        return sma_json_str(choice, "title");
    return sma_json_str_of(json_array_get(sma_json_get(field, "enumNames"), index));
}

/* -- the question ------------------------------------------------------------------------------ */
/* On one line, cut. */
static void put_label(struct sma_buf *buf, struct sma_str text)
{
    text = sma_str_trim((struct sma_str){text.ptr, sma_utf8_cut(text, LABEL_BYTES_MAX)});
    for (size_t i = 0; i < text.len; i++)
        sma_buf_put_char(buf, (unsigned char)text.ptr[i] < ' ' ? ' ' : text.ptr[i]);
}

static void put_choices(struct sma_buf *buf, const json_t *field)
{
    const json_t *choices = choices_of(field);
    for (size_t i = 0; i < json_array_size(choices) && i < CHOICE_COUNT_MAX; i++) {
        const json_t *choice = json_array_get(choices, i);
        struct sma_str title = title_of(field, choice, i);
        sma_buf_put_text(buf, i == 0 ? " [" : " / ");
        put_label(buf, value_of(choice));
        if (title.len > 0 && !sma_str_is_equal(title, value_of(choice))) {
            sma_buf_put_text(buf, " = ");
            put_label(buf, title);
        }
    }
    if (json_array_size(choices) > 0)
        sma_buf_put_char(buf, ']');
    else if (sma_str_is_equal(sma_json_str(field, "type"), SMA_STR("boolean")))
        sma_buf_put_text(buf, " [yes / no, 是 / 否]");
}

static void put_field(struct sma_buf *buf, enum sma_language language, const json_t *form,
                      const char *name)
{
    const json_t *field = json_object_get(fields_of(form), name);
    struct sma_str title = sma_json_str(field, "title");
    struct sma_str more = sma_json_str(field, "description");
    sma_buf_put_text(buf, "\n- ");
    put_label(buf, sma_str(name));
    if (!is_required(form, name))
        sma_notice_format(buf, language, SMA_NOTICE_ELICIT_MAY);
    put_choices(buf, field);
    if (title.len > 0 && !sma_str_is_equal(title, sma_str(name))) {
        sma_buf_put_text(buf, ": ");
        put_label(buf, title);
    }
    if (more.len > 0) {
        sma_buf_put_text(buf, " - ");
        put_label(buf, more);
    }
}

void sma_elicit_put_question(struct sma_buf *buf, enum sma_language language,
                             const struct sma_mcp_elicit *asked)
{
    SMA_AUTO(sma_json_freep) json_t *form = NULL;
    char server[LABEL_BYTES_MAX + 1];
    size_t len = sma_utf8_cut(asked->server, LABEL_BYTES_MAX);
    if (asked->schema.len > 0 && sma_json_load(asked->schema, &form) != SMA_ERR_OK)
        buf->err = SMA_ERR_NOMEM;
    memcpy(server, asked->server.ptr, len);
    server[len] = '\0';
    sma_notice_format(buf, language, SMA_NOTICE_ELICIT_HEAD, server);
    sma_buf_put_char(buf, '\n');
    sma_buf_put_str(buf, asked->text);
    const json_t *fields = fields_of(form);
    for (void *at = json_object_iter((json_t *)(uintptr_t)fields); at != NULL;
         at = json_object_iter_next((json_t *)(uintptr_t)fields, at))
        put_field(buf, language, form, json_object_iter_key(at));
    size_t count = json_object_size(fields);
    sma_buf_put_text(buf, "\n\n");
    sma_notice_format(buf, language,
                      count == 0   ? SMA_NOTICE_ELICIT_YES
                      : count == 1 ? SMA_NOTICE_ELICIT_ONE
                                   : SMA_NOTICE_ELICIT_MANY);
}

/* -- the answer -------------------------------------------------------------------------------- */
static bool is_word(struct sma_str text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (text.len == strlen(*words) && strncasecmp(text.ptr, *words, text.len) == 0)
            return true;
    return false;
}

static const char *const yes_words[] = {"yes", "y", "ok", "true", "是", "好", "好的", "同意", NULL};
static const char *const no_words[] = {"no", "n", "false", "否", "不", "不是", NULL};
static const char *const decline_words[] = {"decline", "refuse", "拒绝", NULL};
static const char *const cancel_words[] = {"cancel", "取消", NULL};

static struct sma_str without_stop(struct sma_str text)
{
    static const char *const stops[] = {".", "!", "。", "！"};
    for (size_t i = 0; i < SMA_COUNT_OF(stops); i++) {
        size_t len = strlen(stops[i]);
        if (text.len > len && memcmp(text.ptr + text.len - len, stops[i], len) == 0)
            return (struct sma_str){text.ptr, text.len - len};
    }
    return text;
}

static bool is_same(struct sma_str left, struct sma_str right)
{
    return left.len > 0 && left.len == right.len && strncasecmp(left.ptr, right.ptr, left.len) == 0;
}

static json_t *text_value(struct sma_str text)
{
    return json_stringn(text.ptr, text.len);
}

/* As the form spells it: people say titles, and other cases. */
static json_t *choice_value(const json_t *field, struct sma_str text)
{
    const json_t *choices = choices_of(field);
    for (size_t i = 0; i < json_array_size(choices); i++) {
        const json_t *choice = json_array_get(choices, i);
        if (is_same(text, value_of(choice)) || is_same(text, title_of(field, choice, i)))
            return text_value(value_of(choice));
    }
    return text_value(text);
}

static json_t *list_value(const json_t *field, struct sma_str text)
{
    json_t *list = json_array();
    for (size_t at = 0, from = 0; list != NULL && at <= text.len; at++) {
        bool is_wide = at + 3 <= text.len &&
                       (memcmp(text.ptr + at, "，", 3) == 0 || memcmp(text.ptr + at, "、", 3) == 0);
        if (at < text.len && text.ptr[at] != ',' && text.ptr[at] != '\n' && !is_wide)
            continue;
        struct sma_str word = sma_str_trim((struct sma_str){text.ptr + from, at - from});
        if (word.len > 0)
            (void)json_array_append_new(list, choice_value(field, word));
        at += is_wide ? 2 : 0;
        from = at + 1;
    }
    return list;
}

/* What it is not stays words: the check of the form then says what was expected. */
static json_t *value_from(const json_t *field, struct sma_str text)
{
    struct sma_str type = sma_json_str(field, "type");
    json_t *number = NULL;
    if (sma_str_is_equal(type, SMA_STR("boolean")) && is_word(without_stop(text), yes_words))
        return json_true();
    if (sma_str_is_equal(type, SMA_STR("boolean")) && is_word(without_stop(text), no_words))
        return json_false();
    if ((sma_str_is_equal(type, SMA_STR("integer")) || sma_str_is_equal(type, SMA_STR("number"))) &&
        sma_json_load(text, &number) == SMA_ERR_OK && json_is_number(number))
        return number;
    json_decref(number);
    if (sma_str_is_equal(type, SMA_STR("array")))
        return list_value(field, text);
    return choice_value(field, text);
}

static const char *field_named(const json_t *fields, struct sma_str name)
{
    for (void *at = json_object_iter((json_t *)(uintptr_t)fields); at != NULL;
         at = json_object_iter_next((json_t *)(uintptr_t)fields, at)) {
        const char *key = json_object_iter_key(at);
        if (is_same(name, sma_str(key)) ||
            is_same(name, sma_json_str(json_object_iter_value(at), "title")))
            return key;
    }
    return NULL;
}

/* "name: value" lines; false: a line that is none. */
static bool read_lines(const json_t *fields, struct sma_str words, json_t *object)
{
    while (words.len > 0) {
        const char *end = memchr(words.ptr, '\n', words.len);
        struct sma_str line = {words.ptr, end == NULL ? words.len : (size_t)(end - words.ptr)};
        size_t passed = line.len + (end != NULL);
        words = (struct sma_str){words.ptr + passed, words.len - passed};
        line = sma_str_trim(line);
        if (line.len == 0)
            continue;
        const char *colon = memchr(line.ptr, ':', line.len);
        const char *wide = memmem(line.ptr, line.len, "：", 3);
        bool is_wide = wide != NULL && (colon == NULL || wide < colon);
        const char *at = is_wide ? wide : colon;
        if (at == NULL)
            return false;
        const char *key =
            field_named(fields, sma_str_trim((struct sma_str){line.ptr, (size_t)(at - line.ptr)}));
        if (key == NULL)
            return false;
        at += is_wide ? 3 : 1;
        struct sma_str value =
            sma_str_trim((struct sma_str){at, (size_t)(line.ptr + line.len - at)});
        (void)json_object_set_new(object, key, value_from(json_object_get(fields, key), value));
    }
    return true;
}

/* The one field that they must fill in, or the only one. */
static const char *only_field(const json_t *form)
{
    const json_t *fields = fields_of(form);
    const char *found = NULL;
    for (void *at = json_object_iter((json_t *)(uintptr_t)fields); at != NULL;
         at = json_object_iter_next((json_t *)(uintptr_t)fields, at)) {
        const char *key = json_object_iter_key(at);
        if (json_object_size(fields) > 1 && !is_required(form, key))
            continue;
        if (found != NULL)
            return NULL;
        found = key;
    }
    return found;
}

static json_t *object_from(const json_t *form, struct sma_str words)
{
    const json_t *fields = fields_of(form);
    json_t *object = NULL;
    if (words.len > 0 && words.ptr[0] == '{' && sma_json_load(words, &object) == SMA_ERR_OK &&
        json_is_object(object))
        return object;
    json_decref(object);
    object = json_object();
    const char *only = only_field(form);
    if (object == NULL || read_lines(fields, words, object))
        return object;
    (void)json_object_clear(object);
    if (only != NULL)
        (void)json_object_set_new(object, only, value_from(json_object_get(fields, only), words));
    return object;
}

enum sma_elicit_said sma_elicit_read(struct sma_str schema, struct sma_str words,
                                     struct sma_buf *content, struct sma_buf *why)
{
    SMA_AUTO(sma_json_freep) json_t *form = NULL;
    SMA_AUTO(sma_json_freep) json_t *object = NULL;
    words = sma_str_trim(words);
    struct sma_str word = without_stop(words);
    if (is_word(word, decline_words))
        return SMA_ELICIT_DECLINED;
    if (is_word(word, cancel_words))
        return SMA_ELICIT_LEFT;
    if (schema.len > 0 && sma_json_load(schema, &form) != SMA_ERR_OK)
        return SMA_ELICIT_LEFT;
    if (json_object_size(fields_of(form)) == 0) {
        if (is_word(word, no_words))
            return SMA_ELICIT_DECLINED;
        if (is_word(word, yes_words)) {
            sma_buf_put_text(content, "{}");
            return SMA_ELICIT_FITS;
        }
        sma_buf_put_text(why, "yes / no");
        return SMA_ELICIT_MISFIT;
    }
    object = object_from(form, words);
    if (object == NULL)
        return SMA_ELICIT_LEFT;
    if (!sma_schema_fits(form, object, why))
        return SMA_ELICIT_MISFIT;
    sma_json_put(content, object);
    return content->err == SMA_ERR_OK ? SMA_ELICIT_FITS : SMA_ELICIT_LEFT;
}
