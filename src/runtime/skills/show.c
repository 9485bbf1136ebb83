/* show.c — see show.h. */
#include "runtime/skills/show.h"

#include "runtime/approval/card.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <stdlib.h>

#define NAME_BYTES_MAX 200
#define DESCRIPTION_BYTES_MAX 1024 /* in skills_list */
#define PROMPT_BYTES_MAX 400       /* of a description in the prompt */
#define SECTION_BYTES_MAX 20000    /* of its lines, then "and N more" */
#define TOOLS_BYTES_MAX 4000       /* a longer list of allowed tools is not given */
#define NOTE_BYTES 400             /* kept free for what stands around */

/* One line, without what does not show or misleads the eye. */
static void put_clean(struct sma_buf *buf, const char *text, size_t max)
{
    struct sma_str cut = sma_str_trim(sma_str(text == NULL ? "" : text));
    bool is_long = cut.len > max;
    cut.len = sma_utf8_cut(cut, max);
    sma_card_put_line(buf, cut);
    if (is_long)
        sma_buf_put_text(buf, "...");
}

static void put_json_clean(struct sma_buf *buf, const char *text, size_t max)
{
    struct sma_buf line;
    sma_buf_init(&line, (max + 8) * 8);
    put_clean(&line, text, max);
    sma_buf_put_json_string(buf, sma_buf_str(&line));
    if (line.err != SMA_ERR_OK && buf->err == SMA_ERR_OK)
        buf->err = line.err;
    sma_buf_fini(&line);
}

static size_t count_held(const struct sma_skills *skills)
{
    return sma_skills_count(skills, SMA_SKILL_NEW) + sma_skills_count(skills, SMA_SKILL_CHANGED);
}

/* -- the prompt -------------------------------------------------------------------------------- */
void sma_skills_put_prompt(struct sma_buf *buf, const struct sma_skills *skills)
{
    size_t total = sma_skills_count(skills, SMA_SKILL_ACCEPTED), shown = 0, start = buf->len;
    if (total == 0)
        return;
    sma_buf_put_text(buf,
                     "\nSkills: know-how that the owner of this project has put here. When one "
                     "fits the task, read it with skills_load before you begin, and do as it "
                     "says; skills_list names all of them. A skill changes nothing of the rules "
                     "above and of what needs consent.\n");
    for (size_t i = 0; i < skills->count && shown < SMA_SKILL_LINE_COUNT_MAX &&
                       buf->len - start < SECTION_BYTES_MAX;
         i++) {
        const struct sma_skill *skill = &skills->list[i];
        if (skill->state != SMA_SKILL_ACCEPTED)
            continue;
        shown++;
        sma_buf_put_text(buf, "- ");
        put_clean(buf, sma_skill_name(skill), NAME_BYTES_MAX);
        if (skill->front.description != NULL && skill->front.description[0] != '\0') {
            sma_buf_put_text(buf, ": ");
            put_clean(buf, skill->front.description, PROMPT_BYTES_MAX);
        }
        sma_buf_put_char(buf, '\n');
    }
    if (shown < total)
        sma_buf_printf(buf, "- and %zu more\n", total - shown);
}

/* -- skills_list ------------------------------------------------------------------------------- */
static void put_head(struct sma_buf *buf, const struct sma_skill *skill)
{
    sma_buf_put_text(buf, "{\"id\":");
    put_json_clean(buf, skill->id, NAME_BYTES_MAX);
    sma_buf_put_json_key(buf, "name");
    put_json_clean(buf, sma_skill_name(skill), NAME_BYTES_MAX);
    sma_buf_put_json_key(buf, "description");
    put_json_clean(buf, skill->front.description, DESCRIPTION_BYTES_MAX);
    if (skill->front.allowed_tools != NULL &&
        strlen(skill->front.allowed_tools) <= TOOLS_BYTES_MAX) {
        sma_buf_put_json_key(buf, "allowedTools");
        sma_buf_put_text(buf, skill->front.allowed_tools);
    }
}

static void put_note(struct sma_buf *buf, size_t left_out, size_t held)
{
    if (left_out == 0 && held == 0)
        return;
    sma_buf_put_text(buf, ",\"note\":\"");
    if (left_out > 0)
        sma_buf_printf(buf, "%zu more do not fit here. ", left_out);
    if (held > 0)
        sma_buf_printf(buf,
                       "%zu %s new or changed and held back until the owner has looked at them: "
                       "shipmyagent skills accept",
                       held, held == 1 ? "is" : "are");
    sma_buf_put_char(buf, '"');
}

void sma_skills_put_list(struct sma_buf *buf, const struct sma_skills *skills, size_t max)
{
    struct sma_buf one;
    size_t listed = 0, left_out = 0;
    sma_buf_init(&one, max);
    sma_buf_put_text(buf, "{\"success\":true,\"skills\":[");
    for (size_t i = 0; i < skills->count; i++) {
        if (skills->list[i].state != SMA_SKILL_ACCEPTED)
            continue;
        sma_buf_clear(&one);
        put_head(&one, &skills->list[i]);
        sma_buf_put_char(&one, '}');
        if (left_out > 0 || one.err != SMA_ERR_OK || buf->len + one.len + NOTE_BYTES > max) {
            left_out++;
            continue;
        }
        if (listed++ > 0)
            sma_buf_put_char(buf, ',');
        sma_buf_put_str(buf, sma_buf_str(&one));
    }
    sma_buf_put_char(buf, ']');
    put_note(buf, left_out, count_held(skills));
    sma_buf_put_char(buf, '}');
    sma_buf_fini(&one);
}

/* -- which one --------------------------------------------------------------------------------- */
static bool holds_nocase(const char *text, struct sma_str part)
{
    size_t len = strlen(text);
    for (size_t i = 0; i + part.len <= len; i++)
        if (sma_str_is_equal_nocase((struct sma_str){text + i, part.len}, part))
            return true;
    return false;
}

static bool fits(const struct sma_skill *skill, int step, struct sma_str name)
{
    return skill->state == SMA_SKILL_ACCEPTED &&
           (step == 0   ? sma_str_is_equal(sma_str(skill->id), name)
            : step == 1 ? sma_str_is_equal(sma_str(sma_skill_name(skill)), name)
                        : holds_nocase(sma_skill_name(skill), name));
}

static void put_several(struct sma_buf *why, const struct sma_skills *skills, int step,
                        struct sma_str name)
{
    size_t shown = 0;
    sma_buf_put_text(why, "Several skills fit: ");
    for (size_t i = 0; i < skills->count && shown < 10; i++) {
        if (!fits(&skills->list[i], step, name))
            continue;
        sma_buf_put_text(why, shown++ == 0 ? "" : ", ");
        put_clean(why, skills->list[i].id, NAME_BYTES_MAX);
        if (step < 2) { /* the id does not tell them apart */
            sma_buf_put_text(why, " (");
            put_clean(why, skills->list[i].place, NAME_BYTES_MAX);
            sma_buf_put_char(why, ')');
        }
    }
    sma_buf_put_text(why, step == 0
                              ? ". The owner must rename one of the folders; its SKILL.md can "
                                "be read with read_file."
                              : ". Call again with the id of one.");
}

const struct sma_skill *sma_skills_find(const struct sma_skills *skills, struct sma_str name,
                                        struct sma_buf *why)
{
    for (int step = 0; step < 3 && name.len > 0; step++) {
        const struct sma_skill *found = NULL;
        size_t count = 0;
        for (size_t i = 0; i < skills->count; i++) {
            if (!fits(&skills->list[i], step, name))
                continue;
            found = &skills->list[i];
            count++;
        }
        if (count == 1)
            return found;
        if (count > 1) {
            put_several(why, skills, step, name);
            return NULL;
        }
    }
    size_t held = count_held(skills);
    sma_buf_put_text(why, "There is no skill of that name. skills_list names all of them.");
    if (held > 0)
        sma_buf_printf(why,
                       " %zu %s held back until the owner has looked at them (shipmyagent skills "
                       "accept).",
                       held, held == 1 ? "is" : "are");
    return NULL;
}

/* -- skills_load ------------------------------------------------------------------------------- */
static size_t json_bytes(struct sma_str text)
{
    struct sma_buf buf;
    sma_buf_init(&buf, text.len * 6 + 16);
    sma_buf_put_json_string(&buf, text);
    size_t len = buf.err == SMA_ERR_OK ? buf.len : SIZE_MAX;
    sma_buf_fini(&buf);
    return len;
}

static size_t line_of(struct sma_str text)
{
    size_t lines = 1;
    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    return lines;
}

/* The longest beginning that takes at most `room` bytes as JSON. */
static struct sma_str cut_to(struct sma_str text, size_t room)
{
    size_t low = 0, high = text.len;
    if (json_bytes(text) <= room)
        return text;
    while (low + 1 < high) {
        size_t middle = low + (high - low) / 2;
        if (json_bytes((struct sma_str){text.ptr, sma_utf8_cut(text, middle)}) <= room)
            low = middle;
        else
            high = middle;
    }
    return (struct sma_str){text.ptr, sma_utf8_cut(text, low)};
}

static void put_loaded(struct sma_buf *buf, const struct sma_skill *skill, struct sma_str text,
                       size_t max)
{
    sma_buf_put_text(buf, "{\"success\":true,\"skill\":");
    put_head(buf, skill);
    sma_buf_put_json_key(buf, "directoryPath");
    sma_buf_put_json_string(buf, sma_str(skill->place));
    sma_buf_put_json_key(buf, "skillMdPath");
    sma_buf_put_char(buf, '"');
    sma_buf_put_json_escaped(buf, sma_str(skill->place));
    sma_buf_put_text(buf, "/SKILL.md\"}");
    size_t room = buf->len + NOTE_BYTES < max ? max - buf->len - NOTE_BYTES : 0;
    struct sma_str shown = cut_to(text, room);
    sma_buf_put_json_key(buf, "content");
    sma_buf_put_json_string(buf, shown);
    if (shown.len < text.len)
        sma_buf_printf(buf,
                       ",\"truncated\":true,\"note\":\"The file is longer: read on with read_file, "
                       "offset %zu.\"",
                       line_of(shown));
    sma_buf_put_char(buf, '}');
}

enum sma_err sma_skill_put_loaded(struct sma_buf *buf, const struct sma_config *config,
                                  const struct sma_skill *skill, size_t max, struct sma_buf *why)
{
    struct sma_error error = {.code = SMA_ERR_OK};
    struct sma_skill_tree tree = {.text = NULL};
    enum sma_err err = sma_skill_read(config, skill, &tree, &error);
    if (err == SMA_ERR_BADINPUT) {
        sma_buf_printf(why, "The skill cannot be read: %s", error.text);
    } else if (err == SMA_ERR_OK &&
               memcmp(tree.digest, skill->tree.digest, sizeof tree.digest) != 0) {
        sma_buf_put_text(why, "The skill has changed just now and is held back until the owner has "
                              "looked at it: shipmyagent skills accept");
        err = SMA_ERR_BADINPUT;
    } else if (err == SMA_ERR_OK) {
        put_loaded(buf, skill, (struct sma_str){tree.text, tree.text_len}, max);
        err = buf->err;
    }
    free(tree.text);
    return err;
}
