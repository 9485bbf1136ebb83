/*
 * The SKILL.md of a stranger.
 * Promises: it ends; what is refused says why and gives nothing; what is taken is text, and JSON
 * where JSON is promised.
 */
#include "fuzz.h"

#include "runtime/skills/front.h"

#include <jansson.h>
#include <stdlib.h>

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void require_json(const char *text)
{
    if (text == NULL)
        return;
    json_t *value = json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    require(value != NULL);
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct sma_skill_front front = {.name = NULL};
    struct sma_error error = {.code = SMA_ERR_OK};
    enum sma_err err =
        sma_skill_front_parse((struct sma_str){(const char *)bytes, len}, &front, &error);
    if (err == SMA_ERR_BADINPUT) {
        require(error.text[0] != '\0');
        require(front.name == NULL && front.description == NULL && front.allowed_tools == NULL);
        return 0;
    }
    require(err == SMA_ERR_OK);
    require_json(front.allowed_tools);
    require_json(front.metadata);
    sma_skill_front_fini(&front);
    return 0;
}
