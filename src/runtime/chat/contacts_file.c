/*
 * contacts_file.c — reading and writing `.ship/contacts.json`.
 */
#include "contacts_file.h"

#include <jansson.h>
#include <stdlib.h>

/* -- writing ----------------------------------------------------------------------------------- */
/* Members in the order of protocols/project.md §7.6, each with `separator` before it. */
struct member_writer
{
    struct sma_buf *buf;
    const char *separator; /* between members: "," or ",\n      " */
    const char *colon;     /* ":" or ": " */
    bool is_first;
};

static void begin_member(struct member_writer *writer, const char *key)
{
    if (!writer->is_first)
        sma_buf_put_char(writer->buf, ',');
    writer->is_first = false;
    sma_buf_put_text(writer->buf, writer->separator);
    sma_buf_put_json_string(writer->buf, sma_str(key));
    sma_buf_put_text(writer->buf, writer->colon);
}

static void put_member(struct member_writer *writer, const char *key, struct sma_str text,
                       bool is_required)
{
    if (text.len == 0 && !is_required)
        return;
    begin_member(writer, key);
    sma_buf_put_json_string(writer->buf, text);
}

static void put_members(struct member_writer *writer, const struct sma_contact *contact)
{
    put_member(writer, "channel", contact->channel, true);
    put_member(writer, "chatId", contact->chat_id, true);
    put_member(writer, "chatKey", contact->chat_key, true);
    put_member(writer, "messageId", contact->message_id, false);
    put_member(writer, "userId", contact->user_id, false);
    put_member(writer, "username", contact->user_name, true);
    put_member(writer, "chatType", contact->chat_type, false);
    if (contact->thread_id != 0) {
        begin_member(writer, "messageThreadId");
        sma_buf_put_i64(writer->buf, contact->thread_id);
    }
    begin_member(writer, "updatedAt");
    sma_buf_put_i64(writer->buf, contact->updated_ms);
}

void sma_contact_format(struct sma_buf *buf, const struct sma_contact *contact)
{
    struct member_writer writer = {buf, "", ":", true};
    sma_buf_put_char(buf, '{');
    put_members(&writer, contact);
    sma_buf_put_char(buf, '}');
}

void sma_contacts_begin(struct sma_buf *buf, int64_t now_ms)
{
    sma_buf_put_text(buf, "{\n  \"v\": 1,\n  \"updatedAt\": ");
    sma_buf_put_i64(buf, now_ms);
    sma_buf_put_text(buf, ",\n  \"contacts\": [");
}

void sma_contacts_item(struct sma_buf *buf, const struct sma_contact *contact, bool is_first)
{
    struct member_writer writer = {buf, "\n      ", ": ", true};
    sma_buf_put_text(buf, is_first ? "\n    {" : ",\n    {");
    put_members(&writer, contact);
    sma_buf_put_text(buf, "\n    }");
}

void sma_contacts_end(struct sma_buf *buf, bool is_empty)
{
    sma_buf_put_text(buf, is_empty ? "]\n}\n" : "\n  ]\n}\n");
}

/* -- reading ----------------------------------------------------------------------------------- */
static struct sma_str get_text(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return (struct sma_str){NULL, 0};
    return (struct sma_str){json_string_value(value), json_string_length(value)};
}

static int64_t get_integer(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double number = json_number_value(value); /* 0 when it is no number */
    if (json_is_integer(value))
        return (int64_t)json_integer_value(value);
    return number > -9e15 && number < 9e15 ? (int64_t)number : 0;
}

static bool read_contact(const json_t *object, struct sma_contact *contact)
{
    *contact = (struct sma_contact){
        .channel = get_text(object, "channel"),
        .chat_id = get_text(object, "chatId"),
        .chat_key = get_text(object, "chatKey"),
        .user_name = get_text(object, "username"),
        .message_id = get_text(object, "messageId"),
        .user_id = get_text(object, "userId"),
        .chat_type = get_text(object, "chatType"),
        .thread_id = get_integer(object, "messageThreadId"),
        .updated_ms = get_integer(object, "updatedAt"),
    };
    return contact->channel.len > 0 && contact->chat_id.len > 0 && contact->chat_key.len > 0 &&
           contact->user_name.len > 0;
}

static enum sma_err give_contacts(const json_t *root,
                                  enum sma_err (*each)(void *, const struct sma_contact *),
                                  void *self)
{
    if (json_number_value(json_object_get(root, "v")) != 1)
        return SMA_ERR_OK;
    const json_t *list = json_object_get(root, "contacts");
    for (size_t i = 0; i < json_array_size(list) && i < SMA_CONTACT_COUNT_MAX; i++) {
        struct sma_contact contact;
        if (!read_contact(json_array_get(list, i), &contact))
            continue;
        SMA_TRY(each(self, &contact));
    }
    return SMA_ERR_OK;
}

enum sma_err sma_contacts_read(const struct sma_sys *sys, const char *path,
                               enum sma_err (*each)(void *self, const struct sma_contact *contact),
                               void *self, struct sma_error *error)
{
    SMA_AUTO(sma_freep) char *bytes = NULL;
    size_t len;
    enum sma_err err =
        sma_sys_read_file(sys, path, SMA_CONTACTS_FILE_BYTES_MAX, &bytes, &len, error);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOTFOUND ? SMA_ERR_OK : err;
    size_t skip = len >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    json_error_t detail;
    json_t *root = json_loadb(bytes + skip, len - skip, JSON_ALLOW_NUL, &detail);
    if (root == NULL)
        return sma_fail(error, SMA_ERR_CORRUPT, "%s, line %d: %s; repair or remove the file", path,
                        detail.line, detail.text);
    err = give_contacts(root, each, self);
    json_decref(root);
    return err;
}
