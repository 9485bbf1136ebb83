/* file_result.c — what the file tools share: clean paths, what fits, results as JSON, digests.
 * See file_tools_priv.h. */
#include "runtime/files/file_tools_priv.h"
#include "sma/sys.h"
#include "sma/text.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum sma_err file_tools_say(struct sma_buf *why, struct sma_str path, const char *reason)
{
    sma_buf_put_str(why, (struct sma_str){path.ptr, sma_utf8_cut(path, 300)});
    sma_buf_put_text(why, reason);
    return SMA_ERR_BADINPUT;
}

enum sma_err file_tools_clean_read(const struct sma_file_tools *tools, struct sma_str path,
                                   struct sma_buf *ret_path, struct sma_buf *why)
{
    SMA_TRY(sma_guard_clean(tools->guard, path, ret_path, why));
    if (sma_file_rules_reads_nothing(tools->rules))
        return file_tools_say(why, SMA_STR("Reading files"),
                              " is switched off (permissions.read_repo in ship.json).");
    struct sma_str clean = sma_buf_str(ret_path);
    if (clean.len > 0 && sma_file_rules_read(tools->rules, clean) != SMA_FILE_ALLOW)
        return file_tools_say(why, clean,
                              " may not be read: permissions.read_repo.paths does not name it.");
    return SMA_ERR_OK;
}

enum sma_err file_tools_clean_write(const struct sma_file_tools *tools, struct sma_str path,
                                    struct sma_buf *ret_path, enum sma_file_verdict *ret_verdict,
                                    struct sma_buf *why)
{
    SMA_TRY(sma_guard_clean(tools->guard, path, ret_path, why));
    struct sma_str clean = sma_buf_str(ret_path);
    enum sma_guard_class class = sma_guard_classify(clean, SMA_GUARD_WRITE);
    if (clean.len == 0 || class == SMA_GUARD_PROTECTED)
        return file_tools_say(why, clean, " is protected: no tool writes it.");
    enum sma_file_verdict verdict = sma_file_rules_write(tools->rules, clean);
    if (verdict == SMA_FILE_REFUSE)
        return file_tools_say(why, clean,
                              " may not be written: permissions.write_repo does not permit it.");
    *ret_verdict = class == SMA_GUARD_CAREFUL ? SMA_FILE_ASK : verdict;
    return SMA_ERR_OK;
}

size_t file_tools_fit(struct sma_str text, size_t budget)
{
    bool is_valid = sma_utf8_is_valid(text);
    size_t used = 0, at = 0;
    for (; at < text.len; at++) {
        unsigned char byte = (unsigned char)text.ptr[at];
        size_t cost = byte >= 0x80 ? (is_valid ? 1 : 3) : 1;
        if (byte == '"' || byte == '\\' || (byte != 0 && strchr("\b\f\n\r\t", byte) != NULL))
            cost = 2;
        else if (byte < 0x20)
            cost = 6;
        if (used + cost > budget)
            break;
        used += cost;
    }
    return at == text.len ? at : sma_utf8_cut(text, at);
}

void file_tools_put_json(const struct sma_file_tools *tools, struct sma_buf *buf,
                         struct sma_str text)
{
    struct sma_buf clean;
    sma_buf_init(&clean, text.len * 2 + 64);
    sma_secrets_put(tools->secrets, &clean, text);
    if (clean.err != SMA_ERR_OK)
        buf->err = clean.err;
    sma_buf_put_json_escaped(buf, sma_buf_str(&clean));
    sma_buf_fini(&clean);
}

void file_tools_put_path(const struct sma_file_tools *tools, struct sma_buf *buf,
                         struct sma_str path)
{
    if (tools->place != NULL) {
        file_tools_put_json(tools, buf, sma_str(tools->place));
        sma_buf_put_text(buf, path.len > 0 ? "/" : "");
    }
    file_tools_put_json(tools, buf, path);
}

size_t file_tools_path_cost(const struct sma_file_tools *tools, struct sma_str path)
{
    return 6 * (path.len + (tools->place == NULL ? 0 : strlen(tools->place) + 1));
}

enum sma_err file_tools_redact(const struct sma_file_tools *tools, char **bytes, size_t *len)
{
    struct sma_str text = {*bytes, *len};
    if (!sma_secrets_has(tools->secrets, text))
        return SMA_ERR_OK;
    struct sma_buf out;
    sma_buf_init(&out,
                 *len * 2 + 64); /* "[redacted]" is shorter than two of the shortest secrets */
    sma_secrets_put(tools->secrets, &out, text);
    size_t redacted_len = out.len;
    char *redacted = out.err == SMA_ERR_OK ? sma_buf_take(&out) : NULL;
    sma_buf_fini(&out);
    if (redacted == NULL)
        return SMA_ERR_NOMEM;
    free(*bytes);
    *bytes = redacted;
    *len = redacted_len;
    return SMA_ERR_OK;
}

bool file_tools_hash(const struct sma_str *fields, size_t count, uint8_t ret_digest[32])
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_good = context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;
    for (size_t i = 0; is_good && i < count; i++) {
        uint64_t len = fields[i].len;
        is_good = EVP_DigestUpdate(context, &len, sizeof len) == 1 &&
                  (len == 0 || EVP_DigestUpdate(context, fields[i].ptr, fields[i].len) == 1);
    }
    is_good = is_good && EVP_DigestFinal_ex(context, ret_digest, NULL) == 1;
    EVP_MD_CTX_free(context);
    return is_good;
}
