/* session_view.c — see session_view.h. */
#include "runtime/agent/session_view.h"

#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>

/* -- shorter results --------------------------------------------------------------------------- */
static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

bool sma_view_put_short(struct sma_buf *buf, struct sma_str content, size_t head_bytes,
                        size_t tail_bytes)
{
    if (content.len <= head_bytes + tail_bytes + 400) { /* the note itself has a length */
        sma_buf_put_str(buf, content);
        return false;
    }
    size_t head = sma_utf8_cut(content, head_bytes), tail = content.len - tail_bytes;
    while (tail < content.len && is_continuation(content.ptr[tail]))
        tail++;
    sma_buf_put(buf, content.ptr, head);
    sma_buf_put_text(buf, "\n[");
    sma_buf_put_u64(buf, tail - head);
    sma_buf_put_text(buf, " bytes are left out here: the conversation had become too long for the "
                          "model. What is still needed of them: ask for that part alone (a part of "
                          "the file, a narrower search or command), not for all of it again.]\n");
    sma_buf_put(buf, content.ptr + tail, content.len - tail);
    return true;
}

/* What is done with each result of a turn. */
typedef void result_fn(json_t *holder, const char *name, void *user);

static void shorten_member(json_t *object, const char *name, void *user)
{
    json_t *value = json_object_get(object, name);
    struct sma_str text = {json_string_value(value), json_string_length(value)};
    (void)user;
    if (!json_is_string(value))
        return;
    struct sma_buf buf;
    sma_buf_init(&buf, text.len + 1024);
    if (sma_view_put_short(&buf, text, SMA_SHORT_HEAD_BYTES, SMA_SHORT_TAIL_BYTES) &&
        buf.err == SMA_ERR_OK)
        json_object_set_new(object, name, json_stringn(buf.ptr, buf.len));
    sma_buf_fini(&buf);
}

/* Bytes of a result in the request: text, or a list with pictures. */
static size_t result_bytes(const json_t *value)
{
    if (json_is_string(value))
        return json_string_length(value);
    return value == NULL ? 0 : json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
}

static void clear_member(json_t *object, const char *name, void *user)
{
    (void)user;
    if (result_bytes(json_object_get(object, name)) > SMA_VIEW_CLEARED_MIN)
        json_object_set_new(object, name, json_string(SMA_VIEW_CLEARED_TEXT));
}

static void count_member(json_t *object, const char *name, void *user)
{
    size_t *gain = user, bytes = result_bytes(json_object_get(object, name));
    if (bytes > SMA_VIEW_CLEARED_MIN)
        *gain += bytes - (sizeof SMA_VIEW_CLEARED_TEXT - 1);
}

/* -- without what belongs to one model --------------------------------------------------------- */
static void keep_members(json_t *object, const char *const *names)
{
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, name, value)
    {
        size_t i = 0;
        while (names[i] != NULL && strcmp(names[i], name) != 0)
            i++;
        if (names[i] == NULL)
            json_object_del(object, name);
    }
}

static void fit_id(json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    if (!json_is_string(value))
        return;
    struct sma_buf buf;
    sma_buf_init(&buf, 256);
    sma_wire_put_call_id(&buf,
                         (struct sma_str){json_string_value(value), json_string_length(value)});
    if (buf.err == SMA_ERR_OK)
        json_object_set_new(object, name, json_stringn(buf.ptr, buf.len));
    sma_buf_fini(&buf);
}

static bool has_text(const json_t *object, const char *name, const char *wanted)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL && strcmp(text, wanted) == 0;
}

/* One message of the chat wire. */
static void strip_chat(json_t *message)
{
    static const char *const of_message[] = {"role",         "content", "tool_calls",
                                             "tool_call_id", "name",    NULL};
    static const char *const of_call[] = {"id", "type", "function", NULL};
    size_t i;
    json_t *call;
    keep_members(message, of_message);
    fit_id(message, "tool_call_id");
    json_array_foreach(json_object_get(message, "tool_calls"), i, call)
    {
        keep_members(call, of_call);
        fit_id(call, "id");
    }
}

/* One message of the messages wire. false: nothing is left of it. */
static bool strip_messages(json_t *message)
{
    json_t *content = json_object_get(message, "content");
    for (size_t i = 0; i < json_array_size(content);) {
        json_t *block = json_array_get(content, i);
        if (has_text(block, "type", "thinking") || has_text(block, "type", "redacted_thinking")) {
            json_array_remove(content, i);
            continue;
        }
        if (has_text(block, "type", "tool_use"))
            fit_id(block, "id");
        fit_id(block, "tool_use_id");
        json_object_del(block, "cache_control");
        i++;
    }
    return !json_is_array(content) || json_array_size(content) > 0;
}

/* One item of the responses wire. false: nothing is left of it. */
static bool strip_responses(json_t *item)
{
    if (has_text(item, "type", "reasoning"))
        return false;
    json_object_del(item, "id");
    json_object_del(item, "status");
    fit_id(item, "call_id");
    return true;
}

static void each_result(json_t *message, const char *wire, result_fn *each, void *user)
{
    size_t i;
    json_t *block;
    if (strcmp(wire, "responses") == 0) {
        if (has_text(message, "type", "function_call_output"))
            each(message, "output", user);
    } else if (strcmp(wire, "messages") == 0) {
        json_array_foreach(json_object_get(message, "content"), i, block)
        {
            if (has_text(block, "type", "tool_result"))
                each(block, "content", user);
        }
    } else if (has_text(message, "role", "tool")) {
        each(message, "content", user);
    }
}

static bool strip(json_t *message, const char *wire)
{
    if (strcmp(wire, "messages") == 0)
        return strip_messages(message);
    if (strcmp(wire, "responses") == 0)
        return strip_responses(message);
    strip_chat(message);
    return true;
}

/* -- pictures, files, sounds ------------------------------------------------------------------- */
#define HIDDEN_NOTE "not sent again; it was shown earlier"

static bool is_shown(const struct sma_stored_part *stored, const struct sma_target *target)
{
    return !stored->is_hidden && sma_part_is_shown(target, &stored->part);
}

uint64_t sma_view_parts_key(const struct sma_stored_turn *turn, const struct sma_target *target)
{
    bool is_bare = sma_target_refuses(target, SMA_REFUSES_DATA_URLS), is_other = is_bare;
    uint64_t key = is_bare ? 7 : 5;
    for (uint32_t i = 0; i < turn->part_count; i++) {
        bool was_line = turn->parts[i].part.note.len > 0 || turn->parts[i].part.hash.len == 0;
        bool is_line = !was_line && !is_shown(&turn->parts[i], target);
        is_other |= is_line;
        key = key * 3 + is_line;
    }
    return turn->part_count > 0 && is_other ? key | (uint64_t)1 << 63 : 0;
}

/* The member of an element of content that holds a part's bytes; NULL: it is none. */
static json_t *bytes_of(json_t *element, const char **ret_member)
{
    static const char *const rows[][2] = {
        {"image_url", "url"}, {"file", "file_data"}, {"input_audio", "data"}, {"source", "data"}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        json_t *holder = json_object_get(element, rows[i][0]);
        *ret_member = rows[i][1];
        if (json_is_string(json_object_get(holder, rows[i][1])))
            return holder;
    }
    *ret_member = json_is_string(json_object_get(element, "image_url")) ? "image_url" : "file_data";
    return json_is_string(json_object_get(element, *ret_member)) ? element : NULL;
}

static const struct sma_stored_part *find_part(const struct sma_stored_turn *turn, const char *text)
{
    const char *marker = strstr(text, SMA_PART_MARKER);
    if (marker == NULL)
        return NULL;
    struct sma_str hash = sma_str(marker + strlen(SMA_PART_MARKER));
    for (uint32_t i = 0; i < turn->part_count; i++)
        if (sma_str_is_equal(hash, turn->parts[i].part.hash))
            return &turn->parts[i];
    return NULL;
}

static json_t *make_line(const struct sma_stored_part *stored, const struct sma_target *target)
{
    struct sma_part part = stored->part;
    struct sma_buf line;
    sma_buf_init(&line, SMA_STEP_BYTES_MAX);
    if (part.note.len == 0 && stored->is_hidden)
        part.note = SMA_STR(HIDDEN_NOTE);
    sma_part_put_line(&line, target, &part);
    json_t *made =
        line.err != SMA_ERR_OK
            ? NULL
            : json_pack("{s:s, s:s%}", "type", target->wire->text_type, "text", line.ptr, line.len);
    sma_buf_fini(&line);
    return made;
}

static void fit_list(json_t *list, const struct sma_stored_turn *turn,
                     const struct sma_target *target)
{
    size_t i;
    json_t *element;
    json_array_foreach(list, i, element)
    {
        const char *member;
        json_t *holder = bytes_of(element, &member);
        const struct sma_stored_part *part =
            holder == NULL ? NULL
                           : find_part(turn, json_string_value(json_object_get(holder, member)));
        if (part == NULL)
            continue;
        if (!is_shown(part, target)) {
            (void)json_array_set_new(list, i, make_line(part, target)); /* NULL: it stays */
        } else if (strcmp(member, "url") == 0 &&
                   sma_target_refuses(target, SMA_REFUSES_DATA_URLS)) {
            const char *url = json_string_value(json_object_get(holder, member));
            (void)json_object_set_new(holder, member, json_string(strstr(url, SMA_PART_MARKER)));
        }
    }
}

/* Where lists of content are: of a message, of a result in it, of an item's output. */
static void fit_parts(json_t *message, const struct sma_stored_turn *turn,
                      const struct sma_target *target)
{
    size_t i;
    json_t *block, *content = json_object_get(message, "content");
    json_array_foreach(content, i, block) fit_list(json_object_get(block, "content"), turn, target);
    fit_list(content, turn, target);
    fit_list(json_object_get(message, "output"), turn, target);
}

/* -- the forms --------------------------------------------------------------------------------- */
static bool is_same_wire(struct sma_str key, const char *wire)
{
    size_t len = strlen(wire);
    return key.len >= len && memcmp(key.ptr, wire, len) == 0 &&
           (key.len == len || key.ptr[len] == ' ');
}

enum sma_view_form sma_view_form_for(const struct sma_stored_turn *turn,
                                     const struct sma_target *target,
                                     const struct sma_view_state *state)
{
    if (state->is_plain || !is_same_wire(turn->key, target->wire->name))
        return SMA_VIEW_PLAIN;
    bool is_bound = state->is_moved && strcmp(target->wire->name, "messages") == 0;
    bool is_stripped = is_bound || !sma_str_is_equal(turn->key, sma_str(target->key));
    if (state->is_cleared)
        return is_stripped ? SMA_VIEW_STRIPPED_CLEARED : SMA_VIEW_CLEARED;
    if (state->is_short)
        return is_stripped ? SMA_VIEW_STRIPPED_SHORT : SMA_VIEW_SHORT;
    return is_stripped ? SMA_VIEW_STRIPPED : SMA_VIEW_STORED;
}

/* The fragments as a list of messages; NULL when they cannot be read. */
static json_t *parse_fragments(const struct sma_stored_turn *turn)
{
    struct sma_buf list;
    sma_buf_init(&list, SMA_STEP_BYTES_MAX);
    for (uint32_t i = 0; i < turn->fragment_count; i++) {
        sma_buf_put_char(&list, i == 0 ? '[' : ',');
        sma_buf_put_str(&list, turn->fragments[i]);
    }
    sma_buf_put_char(&list, ']');
    json_t *root =
        list.err == SMA_ERR_OK
            ? json_loadb(list.ptr, list.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL)
            : NULL;
    sma_buf_fini(&list);
    return root;
}

size_t sma_view_clear_gain(const struct sma_stored_turn *turn)
{
    static const char *const wires[] = {"chat", "messages", "responses"};
    size_t gain = 0, i;
    json_t *message;
    if (turn->fragment_count < 3)
        return 0; /* a message and its answer: there was no call */
    for (size_t k = 0; k < SMA_COUNT_OF(wires); k++) {
        if (!is_same_wire(turn->key, wires[k]))
            continue;
        json_t *list = parse_fragments(turn);
        json_array_foreach(list, i, message)
        {
            each_result(message, wires[k], count_member, &gain);
        }
        json_decref(list);
    }
    return gain;
}

static bool put_rewritten(struct sma_buf *buf, const struct sma_stored_turn *turn,
                          const struct sma_target *target, enum sma_view_form form)
{
    const char *wire = target->wire->name;
    bool strips = form == SMA_VIEW_STRIPPED || form == SMA_VIEW_STRIPPED_SHORT ||
                  form == SMA_VIEW_STRIPPED_CLEARED;
    result_fn *const cuts[] = {[SMA_VIEW_SHORT] = shorten_member,
                               [SMA_VIEW_STRIPPED_SHORT] = shorten_member,
                               [SMA_VIEW_CLEARED] = clear_member,
                               [SMA_VIEW_STRIPPED_CLEARED] = clear_member,
                               [SMA_VIEW_PLAIN] = NULL};
    bool is_good = true;
    json_t *list = parse_fragments(turn), *message;
    size_t i, before = buf->len;
    json_array_foreach(list, i, message)
    {
        is_good &= json_is_object(message);
        if (!is_good || (strips && !strip(message, wire)))
            continue;
        if (cuts[form] != NULL)
            each_result(message, wire, cuts[form], NULL);
        if (turn->part_count > 0)
            fit_parts(message, turn, target);
        char *text = json_dumps(message, JSON_COMPACT);
        is_good &= text != NULL;
        if (buf->len > before)
            sma_buf_put_char(buf, ',');
        if (text != NULL)
            sma_buf_put_text(buf, text);
        free(text);
    }
    is_good &= list != NULL && buf->len > before;
    json_decref(list);
    if (!is_good && buf->err == SMA_ERR_OK)
        buf->len = before;
    return is_good;
}

/* The user's message with its own parts: those of results are not in what was said. */
static enum sma_err put_user(struct sma_buf *buf, const struct sma_stored_turn *turn,
                             const struct sma_target *target)
{
    struct sma_part *copies = calloc((size_t)turn->part_count + 1, sizeof *copies);
    struct sma_block_part *parts = calloc((size_t)turn->part_count + 1, sizeof *parts);
    size_t count = 0;
    for (uint32_t i = 0; copies != NULL && parts != NULL && i < turn->part_count; i++) {
        const struct sma_stored_part *stored = &turn->parts[i];
        if (stored->block == SMA_BLOCK_NONE)
            continue;
        copies[count] = stored->part;
        if (stored->is_hidden && stored->part.note.len == 0)
            copies[count].note = SMA_STR(HIDDEN_NOTE);
        parts[count] = (struct sma_block_part){&copies[count], stored->block};
        count++;
    }
    enum sma_err err = copies == NULL || parts == NULL ? SMA_ERR_NOMEM : SMA_ERR_OK;
    if (err == SMA_ERR_OK)
        sma_wire_put_user_parts(buf, target->wire, target, turn->blocks, turn->block_count, parts,
                                count);
    free(copies);
    free(parts);
    return err;
}

enum sma_err sma_view_put(struct sma_buf *buf, const struct sma_stored_turn *turn,
                          const struct sma_target *target, enum sma_view_form form)
{
    SMA_ASSERT(form != SMA_VIEW_STORED || turn->part_count > 0);
    if (form != SMA_VIEW_PLAIN && put_rewritten(buf, turn, target, form))
        return buf->err;
    if (turn->block_count == 0)
        return SMA_ERR_CORRUPT;
    SMA_TRY(put_user(buf, turn, target));
    if (sma_str_trim(turn->text).len > 0) { /* providers refuse a blank message */
        sma_buf_put_char(buf, ',');
        target->wire->put_assistant_text(buf, target, turn->text);
    }
    return buf->err;
}
