/* secrets.c — the set of values that must not be shown, and how they are found in a text. See
 * secrets.h. */
#include "runtime/secrets/secrets.h"

#include "sma/hooks.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#define VALUE_LEN_MIN 6 /* shorter values would redact ordinary words */
#define ENVIRONMENT_LEN_MIN 8
#define LINE_LEN_MIN 16 /* of a value of several lines */
#define FORM_BYTES_MAX (6 * 65536)
#define TOKEN_FILE_BYTES_MAX 4096

struct form
{
    char *text;
    uint32_t len;
    uint32_t next; /* of those with the same first byte: index + 1, 0 = none */
};

struct sma_secrets
{
    size_t count;
    uint32_t heads[256]; /* index + 1 */
    struct form forms[SMA_SECRETS_COUNT_MAX];
};

/* -- the set ----------------------------------------------------------------------------------- */
static enum sma_err add_piece(struct sma_secrets *secrets, struct sma_str piece)
{
    uint32_t *head = &secrets->heads[(unsigned char)piece.ptr[0]];
    for (uint32_t i = *head; i > 0; i = secrets->forms[i - 1].next)
        if (sma_str_is_equal(
                (struct sma_str){secrets->forms[i - 1].text, secrets->forms[i - 1].len}, piece))
            return SMA_ERR_OK;
    if (secrets->count == SMA_SECRETS_COUNT_MAX)
        return SMA_ERR_FULL;
    char *copy = strndup(piece.ptr, piece.len);
    if (copy == NULL)
        return SMA_ERR_NOMEM;
    secrets->forms[secrets->count] = (struct form){copy, (uint32_t)piece.len, *head};
    *head = (uint32_t)++secrets->count;
    return SMA_ERR_OK;
}

/* A form longer than a stream may hold back is kept in pieces, each of which is replaced. */
static enum sma_err add_form(struct sma_secrets *secrets, struct sma_str form)
{
    enum sma_err err = SMA_ERR_OK;
    while (err == SMA_ERR_OK && form.len >= VALUE_LEN_MIN) {
        size_t len = form.len < SMA_SECRETS_BYTES_MAX ? form.len : SMA_SECRETS_BYTES_MAX;
        err = add_piece(secrets, (struct sma_str){form.ptr, len});
        form.ptr += len;
        form.len -= len;
    }
    return err;
}

/* As it is, as it stands between the quotes of a JSON string, and percent-encoded. */
static enum sma_err add_forms(struct sma_secrets *secrets, struct sma_str value)
{
    struct sma_buf other;
    sma_buf_init(&other, FORM_BYTES_MAX);
    enum sma_err err = add_form(secrets, value);
    sma_buf_put_json_escaped(&other, value);
    if (err == SMA_ERR_OK && other.err == SMA_ERR_OK)
        err = add_form(secrets, sma_buf_str(&other));
    sma_buf_clear(&other);
    sma_buf_put_file_name(&other, value);
    if (err == SMA_ERR_OK && other.err == SMA_ERR_OK)
        err = add_form(secrets, sma_buf_str(&other));
    if (other.ptr != NULL)
        explicit_bzero(other.ptr, other.cap);
    sma_buf_fini(&other);
    return err;
}

enum sma_err sma_secrets_add(struct sma_secrets *secrets, const char *value)
{
    if (value == NULL || strlen(value) < VALUE_LEN_MIN)
        return SMA_ERR_OK;
    enum sma_err err = add_forms(secrets, sma_str(value));
    const char *line = strchr(value, '\n') == NULL ? NULL : value;
    while (err == SMA_ERR_OK && line != NULL) { /* a key in PEM: seen line by line, too */
        const char *end = strchrnul(line, '\n');
        struct sma_str text = sma_str_trim((struct sma_str){line, (size_t)(end - line)});
        if (text.len >= LINE_LEN_MIN && !sma_str_starts_with(text, SMA_STR("-----")))
            err = add_form(secrets, text);
        line = *end == '\0' ? NULL : end + 1;
    }
    return err;
}

static bool has_word(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcasestr(name, words[i]) != NULL)
            return true;
    return false;
}

bool sma_secrets_is_name(const char *name)
{
    static const char *const words[] = {"token",  "secret",     "key",        "password",
                                        "passwd", "passphrase", "credential", "private"};
    return has_word(name, words, SMA_COUNT_OF(words));
}

static bool is_all_of(const char *value, const char *bytes)
{
    return value[strspn(value, bytes)] == '\0';
}

/* "production", "300000", a model's name: known to everybody, and replaced everywhere they would
 * only confuse. */
static bool is_ordinary(const char *name, const char *value)
{
    static const char *const harmless[] = {"MODEL",    "PORT",     "HOST",     "LANG",
                                           "LEVEL",    "DEBUG",    "PROVIDER", "NODE_ENV",
                                           "BASE_URL", "ENDPOINT", "DOMAIN"};
    if (sma_secrets_is_name(name) || has_word(name, (const char *const[]){"PASS", "PWD"}, 2))
        return false;
    return is_all_of(value, "abcdefghijklmnopqrstuvwxyz") || is_all_of(value, "0123456789.") ||
           (strlen(value) <= 64 && strpbrk(value, "@?") == NULL &&
            has_word(name, harmless, SMA_COUNT_OF(harmless)));
}

/* Strings under a secret's name, also in blocks and lists below it. The configuration bounds the
 * depth. */
static enum sma_err add_json(struct sma_secrets *secrets, const json_t *node, bool is_secret)
{
    const char *name;
    size_t index;
    json_t *value;
    enum sma_err err = SMA_ERR_OK;
    if (json_is_string(node) && is_secret)
        return sma_secrets_add(secrets, json_string_value(node));
    json_object_foreach((json_t *)(uintptr_t)node, name, value)
    {
        if (err == SMA_ERR_OK)
            err = add_json(secrets, value, is_secret || sma_secrets_is_name(name));
    }
    json_array_foreach(node, index, value)
    {
        if (err == SMA_ERR_OK)
            err = add_json(secrets, value, is_secret);
    }
    return err;
}

/* The token that the program made itself when none was configured. */
static enum sma_err add_token_file(struct sma_secrets *secrets, const struct sma_config *config)
{
    char *path = NULL, *bytes = NULL;
    size_t len;
    struct sma_error error;
    if (asprintf(&path, "%s/api-token", config->state_dir) < 0)
        return SMA_ERR_NOMEM;
    enum sma_err err =
        sma_sys_read_file(sma_sys_real(), path, TOKEN_FILE_BYTES_MAX, &bytes, &len, &error);
    free(path);
    if (err != SMA_ERR_OK)
        return err == SMA_ERR_NOMEM ? err : SMA_ERR_OK; /* not made yet */
    bytes[strcspn(bytes, "\r\n")] = '\0';
    err = sma_secrets_add(secrets, bytes);
    explicit_bzero(bytes, len);
    free(bytes);
    return err;
}

static enum sma_err add_environment(struct sma_secrets *secrets, const struct sma_config *config)
{
    enum sma_err err = SMA_ERR_OK;
    for (size_t i = 0; err == SMA_ERR_OK && i < config->dotenv_count; i++) {
        const char *value = getenv(config->dotenv_names[i]);
        if (value != NULL && !is_ordinary(config->dotenv_names[i], value))
            err = sma_secrets_add(secrets, value);
    }
    for (char **entry = environ; err == SMA_ERR_OK && entry != NULL && *entry != NULL; entry++) {
        const char *equals = strchr(*entry, '=');
        if (equals == NULL || strlen(equals + 1) < ENVIRONMENT_LEN_MIN || equals[1] == '/')
            continue;
        char *name = strndup(*entry, (size_t)(equals - *entry));
        if (name == NULL)
            return SMA_ERR_NOMEM;
        if (sma_secrets_is_name(name))
            err = sma_secrets_add(secrets, equals + 1);
        free(name);
    }
    return err;
}

/* The password of scheme://name:password@host, alone and with its name as it stands there. */
static enum sma_err add_password(struct sma_secrets *secrets, const char *url)
{
    const char *rest = url == NULL ? NULL : strstr(url, "://");
    const char *at = rest == NULL ? NULL : memrchr(rest + 3, '@', strcspn(rest + 3, "/?#"));
    const char *colon = at == NULL ? NULL : memchr(rest + 3, ':', (size_t)(at - rest - 3));
    if (colon == NULL)
        return SMA_ERR_OK;
    char *password = strndup(colon + 1, (size_t)(at - colon - 1));
    if (password == NULL)
        return SMA_ERR_NOMEM;
    enum sma_err err = sma_secrets_add(secrets, password);
    explicit_bzero(password, strlen(password));
    free(password);
    return err;
}

static enum sma_err add_llm(struct sma_secrets *secrets, const struct sma_config_llm *llm)
{
    enum sma_err err = sma_secrets_add(secrets, llm->api_key);
    for (size_t i = 0; err == SMA_ERR_OK && i < llm->api_key_count; i++)
        err = sma_secrets_add(secrets, llm->api_keys[i]);
    for (size_t i = 0; err == SMA_ERR_OK && i < llm->extra_header_count; i++) {
        const char *value = strchr(llm->extra_headers[i], ':');
        value = value == NULL ? NULL : value + 1 + strspn(value + 1, " \t");
        err = sma_secrets_add(secrets, value);
        const char *word = value == NULL ? NULL : strrchr(value, ' '); /* "Bearer <token>" */
        if (err == SMA_ERR_OK && word != NULL)
            err = sma_secrets_add(secrets, word + 1);
    }
    if (err == SMA_ERR_OK && llm->extra_body_json != NULL) {
        json_t *root = json_loads(llm->extra_body_json, 0, NULL);
        err = add_json(secrets, root, false);
        json_decref(root);
    }
    return err == SMA_ERR_OK ? add_password(secrets, llm->proxy) : err;
}

static enum sma_err add_llms(struct sma_secrets *secrets, const struct sma_config *config)
{
    SMA_TRY(add_llm(secrets, &config->llm));
    for (size_t i = 0; i < config->llm_target_count; i++)
        SMA_TRY(add_llm(secrets, config->llm_targets[i]));
    for (size_t i = config->llm_target_count; i < config->model_count; i++)
        SMA_TRY(add_llm(secrets, config->models[i]));
    if (config->llm_judge != NULL)
        SMA_TRY(add_llm(secrets, config->llm_judge));
    if (config->llm_vision != NULL)
        SMA_TRY(add_llm(secrets, config->llm_vision));
    if (config->llm_small != NULL)
        SMA_TRY(add_llm(secrets, config->llm_small));
    return SMA_ERR_OK;
}

enum sma_err sma_secrets_add_config(struct sma_secrets *secrets, const struct sma_config *config)
{
    enum sma_err err = add_llms(secrets, config);
    if (err == SMA_ERR_OK)
        err = sma_secrets_add(secrets, config->api_token);
    if (err == SMA_ERR_OK)
        err = add_token_file(secrets, config);
    for (size_t i = 0; err == SMA_ERR_OK && i < config->adapter_count; i++) {
        json_t *root = json_loads(config->adapters[i].json, 0, NULL);
        err = add_json(secrets, root, false);
        json_decref(root);
    }
    for (size_t i = 0; err == SMA_ERR_OK && i < config->hook_count; i++)
        err = sma_secrets_add(secrets, config->hooks[i].secret);
    if (err == SMA_ERR_OK && config->web.json != NULL) {
        json_t *root = json_loads(config->web.json, 0, NULL);
        /* its key; allowPrivateHosts beside it is a secret by its name alone */
        err = add_json(secrets, json_object_get(root, "search"), false);
        json_decref(root);
    }
    return err == SMA_ERR_OK ? add_environment(secrets, config) : err;
}

enum sma_err sma_secrets_create(const struct sma_config *config, struct sma_secrets **ret_secrets)
{
    struct sma_secrets *secrets = calloc(1, sizeof *secrets);
    if (secrets == NULL)
        return SMA_ERR_NOMEM;
    enum sma_err err = sma_secrets_add_config(secrets, config);
    if (err == SMA_ERR_NOMEM) {
        sma_secrets_destroy(secrets);
        return err;
    }
    *ret_secrets = secrets; /* FULL: as many as can be kept */
    return SMA_ERR_OK;
}

void sma_secrets_destroy(struct sma_secrets *secrets)
{
    if (secrets == NULL)
        return;
    for (size_t i = 0; i < secrets->count; i++) {
        explicit_bzero(secrets->forms[i].text, secrets->forms[i].len);
        free(secrets->forms[i].text);
    }
    free(secrets);
}

/* -- texts ------------------------------------------------------------------------------------- */
/* Length of the secret that begins at text, the longest of several; 0 = none. The beginning of one
 * at the very end counts when nothing follows (*ret_may_go_on: when something may follow, it is not
 * known yet). */
static size_t match_at(const struct sma_secrets *secrets, struct sma_str text, bool is_end,
                       bool *ret_may_go_on)
{
    size_t best = 0;
    for (uint32_t i = secrets->heads[(unsigned char)text.ptr[0]]; i > 0;
         i = secrets->forms[i - 1].next) {
        const struct form *form = &secrets->forms[i - 1];
        size_t len = form->len < text.len ? form->len : text.len;
        if (memcmp(text.ptr, form->text, len) != 0)
            continue;
        bool is_whole = len == form->len;
        *ret_may_go_on |= !is_whole && !is_end;
        if (len > best && (is_whole || (is_end && len >= VALUE_LEN_MIN)))
            best = len;
    }
    return best;
}

/* @return how many bytes are done with: all of them at the end */
static size_t put_safe(const struct sma_secrets *secrets, struct sma_buf *out, struct sma_str text,
                       bool is_end)
{
    size_t kept = 0, at = 0;
    while (at < text.len) {
        bool may_go_on = false;
        size_t len =
            match_at(secrets, (struct sma_str){text.ptr + at, text.len - at}, is_end, &may_go_on);
        if (may_go_on)
            break;
        if (len == 0) {
            at++;
            continue;
        }
        sma_buf_put(out, text.ptr + kept, at - kept);
        sma_buf_put_text(out, SMA_SECRETS_TEXT);
        kept = at += len;
    }
    sma_buf_put(out, text.ptr + kept, at - kept);
    return at;
}

void sma_secrets_put(const struct sma_secrets *secrets, struct sma_buf *out, struct sma_str text)
{
    (void)put_safe(secrets, out, text, true); /* everything */
}

bool sma_secrets_has(const struct sma_secrets *secrets, struct sma_str text)
{
    bool may_go_on = false;
    for (size_t at = 0; at < text.len; at++)
        if (match_at(secrets, (struct sma_str){text.ptr + at, text.len - at}, true, &may_go_on) > 0)
            return true;
    return false;
}

void sma_secrets_stream_init(struct sma_secrets_stream *stream)
{
    sma_buf_init(&stream->held, SIZE_MAX / 2); /* holds a piece at most besides what is held back */
}

void sma_secrets_stream_fini(struct sma_secrets_stream *stream)
{
    if (stream->held.ptr != NULL)
        explicit_bzero(stream->held.ptr, stream->held.cap);
    sma_buf_fini(&stream->held);
}

void sma_secrets_stream_put(const struct sma_secrets *secrets, struct sma_secrets_stream *stream,
                            struct sma_buf *out, struct sma_str piece)
{
    struct sma_str text = piece;
    if (stream->held.len > 0) {
        sma_buf_put_str(&stream->held, piece);
        text = sma_buf_str(&stream->held);
    }
    if (stream->held.err != SMA_ERR_OK) {
        out->err = stream->held.err;
        return;
    }
    size_t done = put_safe(secrets, out, text, false);
    if (stream->held.len > 0) {
        memmove(stream->held.ptr, stream->held.ptr + done, text.len - done);
        stream->held.len = text.len - done;
    } else {
        sma_buf_put(&stream->held, text.ptr + done, text.len - done);
    }
    if (stream->held.err != SMA_ERR_OK)
        out->err = stream->held.err;
}

void sma_secrets_stream_end(const struct sma_secrets *secrets, struct sma_secrets_stream *stream,
                            struct sma_buf *out)
{
    sma_secrets_put(secrets, out, sma_buf_str(&stream->held));
    sma_buf_clear(&stream->held);
}
