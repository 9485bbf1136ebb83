/*
 * The two files a user writes by hand. The first byte chooses the reader: 'e' .env, 's' ship.json.
 * Promises under test, besides not crashing: a name is one that can be set, and a refusal says
 * something.
 */
#include "fuzz.h"

#include "runtime/config/config_priv.h"
#include "sma/buf.h"
#include "support/platform_params.h"

#include <stdlib.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void take_variable(void *user, const char *name, const char *value)
{
    (void)user;
    require(name[0] != '\0' && strchr(name, '=') == NULL && value != NULL);
}

static const char *look_up(void *user, const char *name)
{
    (void)user;
    return name[0] == 'A' ? "12" : NULL;
}

static void note_missing(void *user, const char *path, const char *variable)
{
    (void)user;
    require(path != NULL && variable[0] != '\0');
}

static void warn(void *user, const char *line)
{
    (void)user;
    require(line[0] != '\0');
}

static void check_ship_json(struct sma_str text)
{
    json_t *root = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES, NULL);
    struct sma_error error = {0};
    struct sma_variables variables = {.find = look_up, .missing = note_missing};
    struct sma_buf unused, late;
    size_t unknown_count = 0;
    struct config_check check = {.file = "ship.json",
                                 .platforms = platform_params(),
                                 .warn = warn,
                                 .error = &error,
                                 .unused = &unused,
                                 .late = &late,
                                 .unknown_count = &unknown_count};
    sma_buf_init(&unused, 65536);
    sma_buf_init(&late, 65536);
    if (root != NULL && sma_config_substitute(root, &variables) == SMA_ERR_OK &&
        sma_config_validate(&check, root) != SMA_ERR_OK)
        require(error.text[0] != '\0');
    sma_buf_fini(&unused);
    sma_buf_fini(&late);
    json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    struct sma_str rest = {(const char *)bytes + 1, len - 1};
    if (bytes[0] == 'e')
        require(sma_env_parse(rest, take_variable, NULL) == SMA_ERR_OK);
    else if (bytes[0] == 's')
        check_ship_json(rest);
    return 0;
}
