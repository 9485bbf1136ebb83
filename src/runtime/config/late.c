/*
 * late.c — values that count from the next start only: what changed of them is named when the file
 * is read again.
 */
#include "config_load.h"

#include "sma/text.h"

#include <stdio.h>
#include <stdlib.h>

void config_note_late(struct sma_buf *late, const char *shown, const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    sma_buf_printf(late, "%s %s\n", shown, text == NULL ? "" : text);
    free(text);
}

/* A hash for comparing within one process: whoever reads its memory reads the value anyway. */
void config_note_live(struct sma_buf *live, const char *shown, const json_t *value)
{
    static const uint8_t key[16] = "live values";
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    uint64_t hash = text == NULL ? 0 : sma_siphash(key, text, strlen(text));
    sma_buf_printf(live, "%s %016llx\n", shown, (unsigned long long)hash);
    free(text);
}

static bool has_line(const char *lines, struct sma_str line)
{
    for (const char *at = lines; *at != '\0'; at += strcspn(at, "\n") + 1)
        if (sma_str_is_equal((struct sma_str){at, strcspn(at, "\n")}, line))
            return true;
    return false;
}

/* Has `names` it already? It is "a, b". */
static bool is_named(const struct sma_buf *names, struct sma_str name)
{
    struct sma_str rest = sma_buf_str(names);
    while (rest.len > 0) {
        const char *end = memchr(rest.ptr, ',', rest.len);
        size_t len = end == NULL ? rest.len : (size_t)(end - rest.ptr);
        if (sma_str_is_equal((struct sma_str){rest.ptr, len}, name))
            return true;
        size_t skip = end == NULL ? rest.len : len + 2;
        rest.ptr += skip;
        rest.len -= skip;
    }
    return false;
}

/* The names of the lines of `lines` that are not in `others`. */
static void add_changed(struct sma_buf *names, const char *lines, const char *others)
{
    for (const char *at = lines; *at != '\0'; at += strcspn(at, "\n") + 1) {
        struct sma_str name = {at, strcspn(at, " ")};
        if (has_line(others, (struct sma_str){at, strcspn(at, "\n")}) || is_named(names, name))
            continue;
        sma_buf_put_text(names, names->len == 0 ? "" : ", ");
        sma_buf_put_str(names, name);
    }
}

void sma_config_put_live(const struct sma_config *before, const struct sma_config *fresh,
                         struct sma_buf *names)
{
    add_changed(names, before->live_values, fresh->live_values);
    add_changed(names, fresh->live_values, before->live_values);
    if (strcmp(before->agent_md, fresh->agent_md) != 0)
        sma_buf_printf(names, "%sAgent.md", names->len == 0 ? "" : ", ");
}

void sma_config_warn_late(const struct sma_config *started, const struct sma_config *fresh,
                          sma_config_warn_fn *warn, void *user)
{
    struct sma_buf names;
    sma_buf_init(&names, 65536);
    add_changed(&names, started->late_values, fresh->late_values);
    add_changed(&names, fresh->late_values, started->late_values);
    if (names.len > 0 && names.err == SMA_ERR_OK) {
        char line[2048];
        (void)snprintf(line, sizeof line,
                       "%s/ship.json: changed, but counts from the next start: %s",
                       fresh->project_dir, names.ptr);
        warn(user, line);
    }
    sma_buf_fini(&names);
}
