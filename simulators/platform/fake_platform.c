/*
 * fake_platform.c — commands, the handle for tests, forms. See fake_platform.h; weather:
 * fake_platform_rest.c.
 */
#include "fake_platform.h"

#include "sma/buf.h"
#include "sma/clock.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t platform_now_ns(void)
{
    return sma_clock_now_ns();
}

int64_t platform_wall_ms(void)
{
    return sma_clock_wall_ms();
}

void *platform_grow(void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return list;
    *room = *room == 0 ? 16 : *room * 2;
    void *grown = realloc(list, *room * size);
    if (grown == NULL)
        abort();
    memset((char *)grown + count * size, 0, (*room - count) * size);
    return grown;
}

char *platform_copy(struct sma_str text)
{
    char *copy = malloc(text.len + 1);
    if (copy == NULL)
        abort();
    if (text.len > 0)
        memcpy(copy, text.ptr, text.len);
    copy[text.len] = '\0';
    return copy;
}

int64_t platform_number(const json_t *tree, const char *member, int64_t fallback)
{
    const json_t *value = json_object_get(tree, member);
    return json_is_number(value) ? (int64_t)json_number_value(value) : fallback;
}

const char *platform_text(const json_t *tree, const char *member, const char *fallback)
{
    const char *text = json_string_value(json_object_get(tree, member));
    return text == NULL ? fallback : text;
}

bool platform_flag(const json_t *tree, const char *member, bool fallback)
{
    const json_t *value = json_object_get(tree, member);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

static size_t decode_base64(const char *text, char *bytes)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = 0;
    uint32_t bits = 0;
    for (unsigned count = 1; *text != '\0' && *text != '='; text++, count++) {
        const char *letter = strchr(letters, *text);
        bits = bits << 6 | (letter == NULL ? 0 : (uint32_t)(letter - letters));
        if (count % 4 != 1)
            bytes[len++] = (char)(bits >> (6 - 2 * ((count - 1) % 4)));
    }
    return len;
}

char *platform_bytes(const json_t *about, int64_t size, size_t *ret_len)
{
    const char *text = platform_text(about, "text", NULL),
               *base64 = platform_text(about, "base64", NULL);
    size_t len = text != NULL     ? strlen(text)
                 : base64 != NULL ? strlen(base64)
                                  : (size_t)platform_number(about, "size", size);
    char *bytes = malloc(len + 1);
    if (bytes == NULL)
        abort();
    for (size_t i = 0; base64 == NULL && i < len; i++)
        bytes[i] = text != NULL ? text[i] : (char)('a' + i % 26);
    *ret_len = base64 != NULL ? decode_base64(base64, bytes) : len;
    return bytes;
}

/* -- commands ---------------------------------------------------------------------------------- */
json_t *platform_problem(const char *text)
{
    return json_pack("{s:s}", "error", text);
}

json_t *platform_done(void)
{
    return json_object();
}

json_t *platform_run(const struct platform_command *commands, size_t count, void *fake,
                     const json_t *command)
{
    const char *name = platform_text(command, "do", "");
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, commands[i].name) == 0)
            return commands[i].run(fake, command);
    return platform_problem("no such command");
}

static json_t *ask(const struct platform_client *client, json_t *command)
{
    if (client->run != NULL)
        return client->run(client->fake, command);
    char *text = json_dumps(command, JSON_COMPACT);
    struct http_answer answer = http_post(client->port, "/control", "", text, 20000);
    json_t *tree = answer.status == 200 ? json_loadb(answer.body, answer.len, 0, NULL) : NULL;
    http_answer_fini(&answer);
    free(text);
    json_decref(command);
    return tree;
}

json_t *platform_vdo(const struct platform_client *client, const char *format, va_list arguments)
{
    json_error_t wrong;
    json_t *command = json_vpack_ex(&wrong, 0, format, arguments);
    if (command == NULL) {
        fprintf(stderr, "the command %s cannot be made: %s\n", format, wrong.text);
        exit(1);
    }
    char *shown = json_dumps(command, JSON_COMPACT);
    json_t *answer = ask(client, command);
    const char *error = json_string_value(json_object_get(answer, "error"));
    if (answer == NULL || error != NULL) {
        fprintf(stderr, "%s: %s\n", shown, error == NULL ? "no answer" : error);
        exit(1);
    }
    free(shown);
    return answer;
}

json_t *platform_do(const struct platform_client *client, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *answer = platform_vdo(client, format, arguments);
    va_end(arguments);
    return answer;
}

void platform_tell(const struct platform_client *client, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_decref(platform_vdo(client, format, arguments));
    va_end(arguments);
}

int64_t platform_get(const struct platform_client *client, const char *member, const char *format,
                     ...)
{
    va_list arguments;
    va_start(arguments, format);
    json_t *answer = platform_vdo(client, format, arguments);
    va_end(arguments);
    int64_t number = json_integer_value(json_object_get(answer, member));
    json_decref(answer);
    return number;
}

/* -- forms ------------------------------------------------------------------------------------- */
void platform_decode_form(json_t *params, struct sma_str form)
{
    while (form.len > 0) {
        const char *end = memchr(form.ptr, '&', form.len);
        size_t len = end == NULL ? form.len : (size_t)(end - form.ptr);
        struct sma_buf parts[2];
        size_t part = 0;
        sma_buf_init(&parts[0], 1024);
        sma_buf_init(&parts[1], 64u << 20);
        for (size_t i = 0; i < len; i++) {
            char byte = form.ptr[i];
            if (byte == '=' && part == 0) {
                part = 1;
                continue;
            }
            if (byte == '%' && i + 2 < len && isxdigit((unsigned char)form.ptr[i + 1])) {
                char hex[3] = {form.ptr[i + 1], form.ptr[i + 2], '\0'};
                byte = (char)strtol(hex, NULL, 16);
                i += 2;
            } else if (byte == '+') {
                byte = ' ';
            }
            sma_buf_put_char(&parts[part], byte);
        }
        if (parts[0].len > 0 && parts[0].err == SMA_ERR_OK)
            json_object_set_new(
                params, parts[0].ptr,
                json_stringn(parts[1].ptr == NULL ? "" : parts[1].ptr, parts[1].len));
        sma_buf_fini(&parts[0]);
        sma_buf_fini(&parts[1]);
        form =
            end == NULL ? (struct sma_str){"", 0} : (struct sma_str){end + 1, form.len - len - 1};
    }
}

static bool take_attribute(struct sma_str head, const char *name, char *ret, size_t size)
{
    const char *at = memmem(head.ptr, head.len, name, strlen(name));
    ret[0] = '\0';
    if (at == NULL)
        return false;
    at += strlen(name);
    const char *end = memchr(at, '"', (size_t)(head.ptr + head.len - at));
    if (end != NULL)
        snprintf(ret, size, "%.*s", (int)(end - at), at);
    return true;
}

static bool is_listed(const char *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list; len > 0 && (at = strstr(at, name)) != NULL; at += len)
        if ((at == list || at[-1] == ',') && (at[len] == '\0' || at[len] == ','))
            return true;
    return false;
}

size_t platform_decode_multipart(json_t *params, struct sma_str body, const char *boundary,
                                 const char *files, struct platform_upload *uploads,
                                 size_t count_max)
{
    char mark[160];
    size_t count = 0, mark_len = (size_t)snprintf(mark, sizeof mark, "--%s", boundary);
    const char *at = memmem(body.ptr, body.len, mark, mark_len), *limit = body.ptr + body.len;
    while (at != NULL && at + mark_len + 4 < limit) {
        at += mark_len + 2;
        const char *content = memmem(at, (size_t)(limit - at), "\r\n\r\n", 4);
        const char *next =
            content == NULL ? NULL : memmem(content, (size_t)(limit - content), mark, mark_len);
        if (next == NULL)
            break;
        struct sma_str head = {at, (size_t)(content - at)},
                       value = {content + 4, (size_t)(next - content) - 6};
        char name[64], file_name[256];
        (void)take_attribute(head, " name=\"", name, sizeof name);
        bool is_file = take_attribute(head, "filename=\"", file_name, sizeof file_name);
        if ((is_file || is_listed(files, name)) && count < count_max) {
            struct platform_upload *upload = &uploads[count++];
            *upload = (struct platform_upload){.has_file_name = is_file, .bytes = value};
            memcpy(upload->name, name, sizeof name);
            memcpy(upload->file_name, file_name, sizeof file_name);
        } else {
            json_object_set_new(params, name, json_stringn(value.ptr, value.len));
        }
        at = next;
    }
    return count;
}

void platform_make_unknown(int64_t seed, int64_t *code, char *text, size_t text_size)
{
    uint64_t state = (uint64_t)seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    size_t len = 0;
    if (code != NULL)
        *code = 70000000 + (int64_t)(state >> 40) % 9000000;
    for (; len < 24 && len + 1 < text_size; len++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        text[len] = len % 6 == 5 ? ' ' : (char)('p' + (state >> 60) % 10); /* no word of a list */
    }
    text[len] = '\0';
}
