/*
 * param_text.c — the tables for people and editors: JSON Schema, docs/configuration.md, the man
 * page's section.
 */
#include "config_priv.h"
#include "param_priv.h"

#include "sma/buf.h"

#include <stdlib.h>

/* -- values and defaults in words -------------------------------------------------------------- */
/* "a,b" as `a`, `b` */
static void put_words(struct sma_buf *buf, const char *words)
{
    sma_buf_put_char(buf, '`');
    for (const char *at = words; *at != '\0'; at++)
        if (*at == ',')
            sma_buf_put_text(buf, "`, `");
        else
            sma_buf_put_char(buf, *at);
    sma_buf_put_char(buf, '`');
}

static const char *name_type(enum sma_param_type type)
{
    switch (type) {
    case SMA_PARAM_TYPE_URL:
        return "URL";
    case SMA_PARAM_TYPE_SOCKET:
        return "ws:// or wss:// URL";
    case SMA_PARAM_TYPE_FILE:
        return "file, relative to the project";
    case SMA_PARAM_TYPE_PROXY:
        return "`http://` `https://` `socks5://` `socks5h://` ..., `none`, `environment`";
    case SMA_PARAM_TYPE_FLAG:
        return "`true`, `false`";
    case SMA_PARAM_TYPE_IDS:
        return "list of ids";
    case SMA_PARAM_TYPE_ACCESS:
        return "`paired`, `anyone`, list of user ids";
    case SMA_PARAM_TYPE_TEXTS:
        return "text or list of texts";
    case SMA_PARAM_TYPE_LIST:
        return "list";
    case SMA_PARAM_TYPE_OBJECT:
        return "object";
    case SMA_PARAM_TYPE_TEXT:
    case SMA_PARAM_TYPE_INTEGER:
    case SMA_PARAM_TYPE_NUMBER:
    case SMA_PARAM_TYPE_WORD:
    case SMA_PARAM_TYPE_WORDS:
    case SMA_PARAM_TYPE_ANY:
        break;
    }
    return "text";
}

static void put_values(struct sma_buf *buf, const struct sma_param *row)
{
    if (row->type == SMA_PARAM_TYPE_INTEGER || row->type == SMA_PARAM_TYPE_NUMBER) {
        sma_buf_printf(buf, "%.15g to %.15g", row->min, row->max);
    } else if (row->type == SMA_PARAM_TYPE_WORD) {
        put_words(buf, row->words);
    } else if (row->type == SMA_PARAM_TYPE_WORDS) {
        sma_buf_put_text(buf, "list of ");
        put_words(buf, row->words);
    } else {
        sma_buf_put_text(buf, row->words != NULL ? row->words : name_type(row->type));
    }
}

static void put_default(struct sma_buf *buf, const struct sma_param *row)
{
    if (row->text != NULL) {
        bool is_value = row->type == SMA_PARAM_TYPE_TEXT || row->type == SMA_PARAM_TYPE_URL;
        sma_buf_printf(buf, is_value ? " (`%s`)" : " (%s)", row->text);
    } else if (row->type == SMA_PARAM_TYPE_INTEGER) {
        sma_buf_printf(buf, " (%.15g)", row->standard);
    } else if (row->type == SMA_PARAM_TYPE_FLAG) {
        sma_buf_put_text(buf, row->standard != 0 ? " (true)" : " (false)");
    } else if (row->type == SMA_PARAM_TYPE_WORD) {
        const char *word = row->words;
        for (int i = 0; i < (int)row->standard; i++)
            word += strcspn(word, ",") + 1;
        sma_buf_printf(buf, " (%.*s)", (int)strcspn(word, ","), word);
    }
}

static bool is_told(const struct sma_param *row)
{
    return row->doc != NULL && (row->traits & SMA_PARAM_UNUSED) == 0;
}

/* -- walking ----------------------------------------------------------------------------------- */
/* One row for people; place: what its path begins with, "llm." */
typedef void row_fn(struct sma_buf *buf, const char *place, const struct sma_param *row);

static void put_rows(struct sma_buf *buf, const char *place, const struct sma_params *table,
                     row_fn *put)
{
    for (size_t i = 0; i < table->count; i++)
        if (is_told(&table->rows[i]))
            put(buf, place, &table->rows[i]);
}

static bool is_below(const char *path, const char *object)
{
    size_t len = strlen(object);
    return strncmp(path, object, len) == 0 && (path[len] == '.' || path[len] == '\0');
}

static const char *const CHAPTERS[] = {"permissions", "retention"};

/* The core's rows of a chapter, or with NULL those of none. */
static void put_chapter(struct sma_buf *buf, const char *chapter, row_fn *put)
{
    for (size_t i = 0; i < config_params.count; i++) {
        const struct sma_param *row = &config_params.rows[i];
        bool is_here = chapter == NULL;
        for (size_t k = 0; chapter == NULL && k < SMA_COUNT_OF(CHAPTERS); k++)
            is_here = is_here && !is_below(row->path, CHAPTERS[k]);
        if (chapter != NULL)
            is_here = is_below(row->path, chapter);
        if (is_here && is_told(row))
            put(buf, "", row);
    }
}

struct form
{
    void (*head)(struct sma_buf *buf, const char *title);
    row_fn *row;
};

/* What the platforms share comes once, as `adapters.<platform>.`: of the first one that has it. */
static void put_shared(struct sma_buf *buf, const struct sma_params *const *platforms,
                       const struct form *form)
{
    const struct sma_params *shared = NULL;
    for (size_t i = 0; platforms[i] != NULL; i++)
        if (shared == NULL || shared->shared == NULL)
            shared = platforms[i]->shared;
    form->head(buf, "Every platform");
    for (; shared != NULL; shared = shared->shared)
        put_rows(buf, "adapters.<platform>.", shared, form->row);
}

static void put_everything(struct sma_buf *buf, const struct sma_params *const *platforms,
                           const struct form *form)
{
    form->head(buf, "General");
    put_chapter(buf, NULL, form->row);
    form->head(buf, "Models");
    put_rows(buf, "llm.", &config_target_params, form->row);
    put_rows(buf, "llm.", &config_llm_params, form->row);
    form->head(buf, "Some chats");
    put_rows(buf, "chats.<pattern>.", &config_chat_params, form->row);
    form->head(buf, "Hooks");
    put_rows(buf, "hooks.<name>.", &config_hook_params, form->row);
    form->head(buf, "Permissions");
    put_chapter(buf, "permissions", form->row);
    form->head(buf, "What is kept, and how long");
    put_chapter(buf, "retention", form->row);
    put_shared(buf, platforms, form);
    for (size_t i = 0; platforms[i] != NULL; i++) {
        char place[64];
        (void)snprintf(place, sizeof place, "adapters.%s.", platforms[i]->name);
        if (platforms[i]->count == 0)
            continue;
        form->head(buf, platforms[i]->name);
        put_rows(buf, place, platforms[i], form->row);
    }
}

static void put_unused_of(struct sma_buf *buf, const char *place, const struct sma_params *table)
{
    for (size_t i = 0; i < table->count; i++)
        if ((table->rows[i].traits & SMA_PARAM_UNUSED) != 0)
            sma_buf_printf(buf, "%s`%s%s`", buf->ptr[buf->len - 1] == ':' ? " " : ", ", place,
                           table->rows[i].path);
}

/* -- docs/configuration.md --------------------------------------------------------------------- */
static void put_md_head(struct sma_buf *buf, const char *title)
{
    sma_buf_printf(
        buf, "\n## %s\n\n| key | values (default) | meaning | counts from |\n|---|---|---|---|\n",
        title);
}

static void put_md_row(struct sma_buf *buf, const char *place, const struct sma_param *row)
{
    sma_buf_printf(buf, "| `%s%s` | ", place, row->path);
    put_values(buf, row);
    put_default(buf, row);
    sma_buf_printf(buf, " | %s", row->doc);
    if (row->env != NULL)
        sma_buf_printf(buf, "; variable `%s`", row->env);
    sma_buf_printf(buf, " | %s |\n", (row->traits & SMA_PARAM_LIVE) != 0 ? "SIGHUP" : "start");
}

void sma_config_format_docs(struct sma_buf *buf, const struct sma_params *const *platforms)
{
    static const struct form form = {put_md_head, put_md_row};
    sma_buf_put_text(buf, "# Configuration\n\n"
                          "<!-- Made from the tables of src/runtime/config/rows.c and the adapters "
                          "by scripts/generate. -->\n\n"
                          "Only `Agent.md` is required. `ship.json` may be missing, and every key "
                          "of it may be left out.\n"
                          "A string value `${NAME}` is replaced by the variable of that name, from "
                          "the environment or\n"
                          "`.env`; the real environment wins; `${NAME:-x}` is `x` where it is not "
                          "set or empty. A wrong\n"
                          "value is one line with file, path and remedy; an unknown key is a "
                          "warning with the nearest\nknown one.\n\n"
                          "SIGHUP makes the service read `Agent.md`, `ship.json` and `.env` again. "
                          "The last column says\n"
                          "what counts from then on (for new messages, runs and calls) and what "
                          "from the next start.\n");
    put_everything(buf, platforms, &form);
    sma_buf_put_text(buf, "\n## Accepted from older projects, without effect\n\n"
                          "One line at start names those that ask for something:");
    put_unused_of(buf, "", &config_params);
    for (size_t i = 0; platforms[i] != NULL; i++) {
        char place[64];
        (void)snprintf(place, sizeof place, "adapters.%s.", platforms[i]->name);
        put_unused_of(buf, place, platforms[i]);
    }
    sma_buf_put_text(buf, ".\n");
}

/* -- the man page ------------------------------------------------------------------------------ */
/* roff takes a period at a line's begin for a request, a backslash for an escape, and hyphens for
 * hyphens. */
static void put_roff(struct sma_buf *buf, const char *text)
{
    if (text[0] == '.' || text[0] == '\'')
        sma_buf_put_text(buf, "\\&");
    for (const char *at = text; *at != '\0'; at++)
        if (*at == '\\')
            sma_buf_put_text(buf, "\\e");
        else if (*at == '-')
            sma_buf_put_text(buf, "\\-");
        else if (*at != '`')
            sma_buf_put_char(buf, *at);
}

static void put_man_head(struct sma_buf *buf, const char *title)
{
    sma_buf_printf(buf, ".SS %s\n", title);
}

static void put_man_row(struct sma_buf *buf, const char *place, const struct sma_param *row)
{
    struct sma_buf values;
    sma_buf_init(&values, 4096);
    put_values(&values, row);
    put_default(&values, row);
    sma_buf_printf(buf, ".TP\n.B %s%s\n", place, row->path);
    put_roff(buf, values.err == SMA_ERR_OK ? values.ptr : "");
    sma_buf_put_text(buf, ".\n");
    put_roff(buf, row->doc);
    sma_buf_put_text(buf, ".\n");
    sma_buf_fini(&values);
}

void sma_config_format_man(struct sma_buf *buf, const struct sma_params *const *platforms)
{
    static const struct form form = {put_man_head, put_man_row};
    sma_buf_put_text(
        buf, ".SH CONFIGURATION\nKeys of\n.IR ship.json ,\nwith their defaults in brackets.\n");
    put_everything(buf, platforms, &form);
}

/* -- the schema for editors -------------------------------------------------------------------- */
static json_t *make_table(const struct sma_params *table);
static json_t *make_object(const struct sma_params *table, const char *path);

static json_t *make_words(const char *words)
{
    json_t *list = json_array();
    for (const char *at = words;; at++) {
        size_t len = strcspn(at, ",");
        json_array_append_new(list, json_stringn(at, len));
        at += len;
        if (*at == '\0')
            return list;
    }
}

static json_t *make_type(const struct sma_param *row)
{
    switch (row->type) {
    case SMA_PARAM_TYPE_TEXT:
    case SMA_PARAM_TYPE_URL:
    case SMA_PARAM_TYPE_SOCKET:
    case SMA_PARAM_TYPE_FILE:
    case SMA_PARAM_TYPE_PROXY:
        return json_pack("{ss}", "type", "string");
    case SMA_PARAM_TYPE_INTEGER:
        return json_pack("{sssIsI}", "type", "integer", "minimum", (json_int_t)row->min, "maximum",
                         (json_int_t)row->max);
    case SMA_PARAM_TYPE_NUMBER:
        return json_pack("{sssfsf}", "type", "number", "minimum", row->min, "maximum", row->max);
    case SMA_PARAM_TYPE_FLAG:
        return json_pack("{ss}", "type", "boolean");
    case SMA_PARAM_TYPE_WORD:
        return json_pack("{so}", "enum", make_words(row->words));
    case SMA_PARAM_TYPE_WORDS:
        return json_pack("{sss{so}}", "type", "array", "items", "enum", make_words(row->words));
    case SMA_PARAM_TYPE_IDS:
        return json_pack("{sss{s[ss]}}", "type", "array", "items", "type", "string", "integer");
    case SMA_PARAM_TYPE_LIST:
        return json_pack("{ss}", "type", "array");
    case SMA_PARAM_TYPE_TEXTS:
        return json_pack("{s[ss]s{ss}}", "type", "string", "array", "items", "type", "string");
    case SMA_PARAM_TYPE_OBJECT:
        return json_pack("{ss}", "type", "object");
    case SMA_PARAM_TYPE_ACCESS:
    case SMA_PARAM_TYPE_ANY:
        break;
    }
    return json_object();
}

static bool is_child_of(const char *path, const char *parent)
{
    size_t len = strlen(parent);
    if (len > 0 && (strncmp(path, parent, len) != 0 || path[len] != '.'))
        return false;
    return strchr(path + (len == 0 ? 0 : len + 1), '.') == NULL;
}

static json_t *make_row(const struct sma_params *table, const struct sma_param *row)
{
    json_t *made;
    if (row->members != NULL && row->type == SMA_PARAM_TYPE_LIST)
        made = json_pack("{ssso}", "type", "array", "items", make_table(row->members));
    else if ((row->traits & SMA_PARAM_MAP) != 0)
        made =
            json_pack("{ssso}", "type", "object", "additionalProperties", make_table(row->members));
    else if (row->members != NULL && row->type != SMA_PARAM_TYPE_ANY)
        made = make_table(row->members);
    else if (row->type == SMA_PARAM_TYPE_OBJECT && (row->traits & SMA_PARAM_OPEN) == 0)
        made = make_object(table, row->path);
    else
        made = make_type(row);
    if (is_told(row))
        json_object_set_new(made, "description", json_string(row->doc));
    return made;
}

/* The object at `path` of the table: "" is the table itself. The tables are three levels deep, and
 * so is this. */
static json_t *make_object(const struct sma_params *table, const char *path)
{
    json_t *members = json_object();
    for (const struct sma_params *at = table; at != NULL; at = at->shared)
        for (size_t i = 0; i < at->count; i++) {
            const struct sma_param *row = &at->rows[i];
            const char *dot = strrchr(row->path, '.');
            if (is_child_of(row->path, path))
                json_object_set_new(members, dot == NULL ? row->path : dot + 1, make_row(at, row));
        }
    return json_pack("{ssso}", "type", "object", "properties", members);
}

static json_t *make_table(const struct sma_params *table)
{
    return make_object(table, "");
}

/* One bot, or a list of them. */
static json_t *make_platform(const struct sma_params *table)
{
    char place[96];
    json_t *made = make_table(table);
    if (sma_params_find(table, "id") == NULL)
        return made;
    (void)snprintf(place, sizeof place, "#/properties/adapters/properties/%s", table->name);
    json_object_set_new(made, "type", json_pack("[ss]", "object", "array"));
    json_object_set_new(made, "items", json_pack("{ss}", "$ref", place));
    return made;
}

static json_t *make_platforms(const struct sma_params *const *platforms)
{
    json_t *members = json_object();
    for (size_t i = 0; platforms[i] != NULL; i++)
        json_object_set_new(members, platforms[i]->name, make_platform(platforms[i]));
    return json_pack("{ssso}", "type", "object", "properties", members);
}

void sma_config_format_schema(struct sma_buf *buf, const struct sma_params *const *platforms)
{
    json_t *root = make_table(&config_params);
    json_t *members = json_object_get(root, "properties");
    json_object_set_new(root, "$schema", json_string("http://json-schema.org/draft-07/schema#"));
    json_object_set_new(root, "title", json_string("ship.json"));
    for (size_t i = 0; i < config_params.count; i++)
        if ((config_params.rows[i].traits & SMA_PARAM_BLOCKS) != 0)
            json_object_set_new(members, config_params.rows[i].path, make_platforms(platforms));
    char *text = json_dumps(root, JSON_INDENT(1));
    json_decref(root);
    sma_buf_put_text(buf, text == NULL ? "" : text);
    sma_buf_put_char(buf, '\n');
    free(text);
}
