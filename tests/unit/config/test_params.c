/*
 * Aim: each key of ship.json is one row, and the row is the truth: what it allows is taken and
 *      arrives, what it does not allow is refused with its range, what has no effect is named at
 *      start, and what the documents say is what it says.
 * Method: walk the tables. That a value has a reader is looked up in the sources outside of the
 *         tables: the member of config, llm, settings or rules, or the key's name in quotes.
 */
#include "runtime/config/config_priv.h"
#include "runtime/exec/exec_options.h"
#include "runtime/files/file_rules.h"
#include "runtime/policy/policy.h"
#include "runtime/policy/policy_mcp.h"
#include "runtime/web/rules.h"
#include "sma/buf.h"
#include "support/check.h"
#include "support/platform_params.h"

#include <ctype.h>
#include <ftw.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* -- walking ----------------------------------------------------------------------------------- */
typedef void row_fn(const struct sma_params *table, const struct sma_param *row, const char *place);

static void each_of(const struct sma_params *table, const char *place, row_fn *visit)
{
    for (size_t i = 0; i < table->count; i++)
        visit(table, &table->rows[i], place);
}

/* Every table once; place: what stands before its paths in the file. */
static void each_row(row_fn *visit)
{
    each_of(&config_params, "", visit);
    each_of(&config_llm_params, "llm.", visit);
    each_of(&config_target_params, "llm.", visit);
    each_of(&config_chat_params, "chats.qq.", visit);
    each_of(&sma_block_params, "adapters.telegram.", visit);
    for (const struct sma_params *const *at = platform_params(); *at != NULL; at++) {
        char place[64];
        snprintf(place, sizeof place, "adapters.%s.", (*at)->name);
        each_of(*at, place, visit);
        if ((*at)->count > 0)
            each_of((*at)->shared, place, visit);
    }
}

static bool is_kept_as_text(const struct sma_param *row)
{
    return row->type <= SMA_PARAM_TYPE_PROXY;
}

/* -- the rows themselves ----------------------------------------------------------------------- */
static double room_of(const struct sma_param *row)
{
    return row->size >= 8 ? 9e15 : ldexp(1, (int)row->size * 8) - 1;
}

static void check_row(const struct sma_params *table, const struct sma_param *row,
                      const char *place)
{
    bool is_number = row->type == SMA_PARAM_TYPE_INTEGER || row->type == SMA_PARAM_TYPE_NUMBER;
    fprintf(stderr, "%s%s\n", place, row->path);
    CHECK(sma_params_find(table, row->path) == row); /* no path stands there twice */
    CHECK(row->doc != NULL || row->type == SMA_PARAM_TYPE_OBJECT);
    if (is_number)
        CHECK(row->min < row->max);
    if (row->type == SMA_PARAM_TYPE_INTEGER && row->size > 0) {
        CHECK(row->max <= room_of(row));
        CHECK(row->text != NULL || (row->standard >= row->min && row->standard <= row->max));
    }
    if (row->size > 0 && (is_kept_as_text(row) || row->type == SMA_PARAM_TYPE_IDS))
        CHECK_INT((int)sizeof(char *), (int)row->size);
    if (row->type == SMA_PARAM_TYPE_FLAG && row->size > 0)
        CHECK_INT((int)sizeof(bool), (int)row->size);
    bool holds_rows = row->type == SMA_PARAM_TYPE_OBJECT && row->members == NULL &&
                      (row->traits & (SMA_PARAM_OPEN | SMA_PARAM_BLOCKS)) == 0;
    if (holds_rows) { /* the next row is its first member: errors take their example from it */
        size_t len = strlen(row->path);
        CHECK(row + 1 < table->rows + table->count);
        CHECK(strncmp(row[1].path, row->path, len) == 0 && row[1].path[len] == '.');
    }
}

CASE(rows_are_well_formed)
{
    each_row(check_row);
}

/* -- values ------------------------------------------------------------------------------------ */
static struct sma_error error;
static enum sma_err check_value(const struct sma_param *row, json_t *value)
{
    error = (struct sma_error){0};
    enum sma_err err = sma_param_check(row, "ship.json", row->path, value, &error);
    json_decref(value);
    return err;
}

static void check_bounds(const struct sma_params *table, const struct sma_param *row,
                         const char *place)
{
    (void)table;
    (void)place;
    char range[200];
    if (row->type == SMA_PARAM_TYPE_WORD) {
        CHECK_ERR(SMA_ERR_BADINPUT, check_value(row, json_string("no such word")));
        CHECK(strstr(error.text, row->words) != NULL);
    }
    if (row->type != SMA_PARAM_TYPE_INTEGER && row->type != SMA_PARAM_TYPE_NUMBER)
        return;
    snprintf(range, sizeof range, "%s must be between %.15g and %.15g", row->path, row->min,
             row->max);
    CHECK_OK(check_value(row, json_real(row->min)));
    CHECK_OK(check_value(row, json_real(row->max)));
    CHECK_ERR(SMA_ERR_BADINPUT, check_value(row, json_real(row->min - 1)));
    CHECK(strstr(error.text, range) != NULL);
    CHECK_ERR(SMA_ERR_BADINPUT, check_value(row, json_real(row->max + 1)));
    CHECK(strstr(error.text, range) != NULL);
}

CASE(what_is_outside_is_refused_with_the_range)
{
    each_row(check_bounds);
}

/* A value that is right and not the default. */
static json_t *other_value(const struct sma_param *row)
{
    switch (row->type) {
    case SMA_PARAM_TYPE_TEXT:
    case SMA_PARAM_TYPE_FILE:
        return json_string("other");
    case SMA_PARAM_TYPE_URL:
        return json_string("https://other.example");
    case SMA_PARAM_TYPE_SOCKET:
        return json_string("wss://other.example");
    case SMA_PARAM_TYPE_PROXY:
        return json_string("http://other.example:8080");
    case SMA_PARAM_TYPE_INTEGER:
    case SMA_PARAM_TYPE_NUMBER:
        return json_real(row->standard == row->max ? row->min : row->max);
    case SMA_PARAM_TYPE_FLAG:
        return json_boolean(row->standard == 0);
    case SMA_PARAM_TYPE_WORD: {
        const char *second = strchr(row->words, ',') + 1;
        bool is_first = row->standard != 0;
        return is_first ? json_stringn(row->words, strcspn(row->words, ","))
                        : json_stringn(second, strcspn(second, ","));
    }
    case SMA_PARAM_TYPE_WORDS:
        return json_pack("[s#]", row->words, (int)strcspn(row->words, ","));
    default: /* api.cors: origins of pages */
        return json_pack("[s]", strcmp(row->path, "api.cors") == 0 ? "https://a.example" : "1001");
    }
}

/* {"a":{"b":value}} for "a.b" */
static json_t *wrap(const char *path, json_t *value)
{
    const char *dot = strchr(path, '.');
    if (dot == NULL)
        return json_pack("{so}", path, value);
    return json_pack("{s#o}", path, (int)(dot - path), wrap(dot + 1, value));
}

static void check_arrival(const struct sma_params *table, const struct sma_param *row,
                          const char *place)
{
    (void)place;
    static _Alignas(16) char before[4096], after[4096];
    if (row->size == 0)
        return;
    memset(before, 0, sizeof before);
    memset(after, 0, sizeof after);
    struct sma_param_source source = {
        .file = "ship.json", .place = "", .project_dir = "/", .error = &error};
    CHECK(row->offset + row->size <= sizeof after);
    CHECK_OK(sma_params_set_defaults(table, &source, before));
    CHECK_OK(sma_params_set_defaults(table, &source, after));
    source.root = wrap(row->path, other_value(row));
    CHECK_OK(sma_params_read(table, &source, after));
    bool is_same = memcmp(before + row->offset, after + row->offset, row->size) == 0;
    if (is_kept_as_text(row)) {
        char *old, *fresh;
        memcpy(&old, before + row->offset, sizeof old);
        memcpy(&fresh, after + row->offset, sizeof fresh);
        is_same = strcmp(old, fresh) == 0;
    }
    CHECK(!is_same);
    json_decref(source.root);
    sma_params_free(table, before);
    sma_params_free(table, after);
}

CASE(a_value_arrives_in_its_member)
{
    each_row(check_arrival);
}

/* -- readers ----------------------------------------------------------------------------------- */
static struct sma_buf sources; /* all of src but tables and what writes into their members */

static bool is_table(const char *path)
{
    static const char *const names[] = {"/rows.c", "_config.c", "/param.c", "/param_read.c",
                                        "/init.c"};
    size_t len = strlen(path);
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++)
        if (len > strlen(names[i]) && strcmp(path + len - strlen(names[i]), names[i]) == 0)
            return true;
    return false;
}

static int add_source(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)place;
    size_t len = strlen(path);
    if (type != FTW_F || len < 2 || strcmp(path + len - 2, ".c") != 0 || is_table(path))
        return 0;
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    char bytes[4096];
    for (size_t count; (count = fread(bytes, 1, sizeof bytes, file)) > 0;)
        sma_buf_put_str(&sources, (struct sma_str){bytes, count});
    CHECK(fclose(file) == 0);
    return 0;
}

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* Ends here the name of what holds settings? Other structs have members of the same names. */
static bool is_settings(const char *end)
{
    static const char *const names[] = {"config", "llm", "settings", "rules", "retention"};
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        const char *start = end - strlen(names[i]);
        if (strncmp(start, names[i], strlen(names[i])) == 0 && !is_name_byte(start[-1]))
            return true;
    }
    return false;
}

/* Is it read somewhere: "config->name" or "settings.name", not as the target of an assignment? */
static bool is_member_read(const char *name)
{
    size_t len = strlen(name);
    for (const char *at = sources.ptr; (at = strstr(at, name)) != NULL; at++) {
        const char *end = at + len;
        const char *object = at[-1] == '.'                    ? at - 1
                             : at[-1] == '>' && at[-2] == '-' ? at - 2
                                                              : NULL;
        while (*end == ' ')
            end++;
        bool is_written = end[0] == '=' && end[1] != '=';
        if (object != NULL && is_settings(object) && !is_name_byte(at[len]) && !is_written)
            return true;
    }
    return false;
}

static bool is_key_read(const char *path)
{
    char quoted[128];
    const char *dot = strrchr(path, '.');
    snprintf(quoted, sizeof quoted, "\"%s\"", dot == NULL ? path : dot + 1);
    return strstr(sources.ptr, quoted) != NULL;
}

static unsigned unread_count;
static void check_reader(const struct sma_params *table, const struct sma_param *row,
                         const char *place)
{
    (void)table;
    if ((row->traits & SMA_PARAM_UNUSED) != 0 || row->doc == NULL ||
        strcmp(row->path, "$schema") == 0) /* of editors */
        return;
    const char *dot = row->member == NULL ? NULL : strrchr(row->member, '.');
    const char *member = dot == NULL ? row->member : dot + 1;
    if (member != NULL ? is_member_read(member) : is_key_read(row->path))
        return;
    fprintf(stderr, "%s%s (%s) has no reader: give it one, or SMA_PARAM_UNUSED\n", place, row->path,
            member == NULL ? "a key" : member);
    unread_count++;
}

CASE(every_key_has_a_reader)
{
    sma_buf_init(&sources, 64 * 1024 * 1024);
    CHECK(nftw(SMA_SOURCE_DIR "/src", add_source, 16, FTW_PHYS) == 0);
    sma_buf_put_char(&sources, '\0');
    CHECK_OK(sources.err);
    CHECK(!is_member_read("no_such_member") && !is_key_read("noSuchKey"));
    each_row(check_reader);
    CHECK_INT(0, (int)unread_count);
    sma_buf_fini(&sources);
}

/* -- what has no effect ------------------------------------------------------------------------ */
static char dir[] = "/tmp/sma-params-XXXXXX";
static char warnings[4096];

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void collect(void *user, const char *line)
{
    (void)user;
    size_t len = strlen(warnings);
    snprintf(warnings + len, sizeof warnings - len, "%s\n", line);
}

/* Takes root. */
static void load(json_t *root)
{
    json_object_set_new(root, "llm", json_pack("{ss}", "provider", "offline"));
    SMA_AUTO(sma_freep) char *text = json_dumps(root, 0);
    write_file("ship.json", text);
    json_decref(root);
    struct sma_config_overrides overrides = {.platforms = platform_params()};
    struct sma_config *config = NULL;
    warnings[0] = '\0';
    CHECK_OK(sma_config_load(dir, &overrides, collect, NULL, &config, &error));
    sma_config_destroy(config);
}

static unsigned unused_count;
static void check_unused(const struct sma_params *table, const struct sma_param *row,
                         const char *place)
{
    (void)table;
    char path[128], line[256];
    if ((row->traits & SMA_PARAM_UNUSED) == 0)
        return;
    unused_count++;
    snprintf(path, sizeof path, "%s%s", place, row->path);
    snprintf(line, sizeof line, "found %s, which this version does not use\n", path);
    json_t *value = row->type == SMA_PARAM_TYPE_OBJECT ? json_pack("{ss}", "bucket", "b")
                    : row->type == SMA_PARAM_TYPE_ANY  ? json_true()
                                                       : other_value(row);
    load(wrap(path, value));
    CHECK(strstr(warnings, line) != NULL);
}

CASE(what_has_no_effect_is_named_in_one_line)
{
    each_row(check_unused);
    CHECK(unused_count >= 7);
    load(json_pack("{s{sbsi}s{s[]sb}s{sb}s{sbsb}}", "start", "interactiveWeb", 0, "interactivePort",
                   3001, "skills", "paths", "allowExternalPaths", 0, "oss", "enabled", 0,
                   "permissions", "open_pr", 0, "merge", 0));
    CHECK_TEXT("", warnings); /* what the old program's `init` wrote asks for nothing */
}

CASE(what_does_less_than_its_name_says_so)
{
    load(json_pack("{s{s{sssb}}}", "integrations", "telegram", "chatId", "7", "enabled", 0));
    CHECK(strstr(warnings, "integrations.telegram.chatId only makes this person a member") != NULL);
    load(json_pack("{s{s{sssb}}}", "integrations", "telegram", "chatId", "", "enabled", 0));
    CHECK_TEXT("", warnings);
}

/* -- permissions: rows for the check at load, readers of their own ----------------------------- */
static bool is_read(const char *path, json_t *value)
{
    json_t *root = wrap(path + strlen("permissions."), value);
    SMA_AUTO(sma_freep) char *text = json_dumps(root, 0);
    json_decref(root);
    struct sma_exec_options options = {0};
    struct sma_file_rules *rules = NULL;
    struct sma_policy *policy = NULL;
    struct sma_mcp_policy *mcp = NULL;
    struct sma_web_rules *web = NULL;
    bool is_good = sma_exec_options_parse(text, NULL, &options, &error) == SMA_ERR_OK;
    is_good = is_good && sma_file_rules_parse(text, &rules, &error) == SMA_ERR_OK;
    is_good = is_good && sma_policy_load(text, &policy, &error) == SMA_ERR_OK;
    is_good = is_good && sma_mcp_policy_load(text, &mcp, &error) == SMA_ERR_OK;
    if (is_good)
        sma_exec_options_fini(&options);
    is_good = is_good && sma_web_rules_parse(text, "", &web, &error) == SMA_ERR_OK;
    sma_web_rules_destroy(web);
    sma_file_rules_destroy(rules);
    sma_policy_destroy(policy);
    sma_mcp_policy_destroy(mcp);
    return is_good;
}

static unsigned permission_count;
static void check_permission(const struct sma_params *table, const struct sma_param *row,
                             const char *place)
{
    (void)table;
    (void)place;
    if (strncmp(row->path, "permissions.", 12) != 0 || (row->traits & SMA_PARAM_UNUSED) != 0 ||
        strcmp(row->path, "permissions.roles") == 0 || /* read at load: test_config */
        row->size != 0)                                /* a value like any other */
        return;
    permission_count++;
    CHECK(!is_read(row->path, json_integer(7))); /* it has a reader */
    if (row->type == SMA_PARAM_TYPE_INTEGER) {
        CHECK(is_read(row->path, json_integer((json_int_t)row->min)));
        CHECK(is_read(row->path, json_integer((json_int_t)row->max)));
        CHECK(!is_read(row->path, json_integer((json_int_t)row->min - 1)));
        CHECK(!is_read(row->path, json_integer((json_int_t)row->max + 1)));
    }
    if (row->type == SMA_PARAM_TYPE_FLAG)
        CHECK(is_read(row->path, json_true()) && is_read(row->path, json_false()));
    for (const char *at = row->words; row->type == SMA_PARAM_TYPE_WORD && *at != '\0';
         at += strspn(at, ",")) {
        CHECK(is_read(row->path, json_stringn(at, strcspn(at, ","))));
        at += strcspn(at, ",");
    }
}

CASE(permissions_are_what_their_readers_take)
{
    each_row(check_permission);
    CHECK(permission_count > 10);
}

static void make_folder(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    CHECK(mkdir(path, 0700) == 0);
}

CASE(files_of_features_that_are_not_there_are_named)
{
    static const char *const folders[] = {".ship", ".ship/tasks", ".ship/mcp", ".ship/public"};
    for (size_t i = 0; i < SMA_COUNT_OF(folders) - 1; i++)
        make_folder(folders[i]);
    write_file(".ship/mcp/mcp.json", "{\"servers\":{}}");
    load(json_object());
    CHECK_TEXT("", warnings); /* as `init` leaves it */
    make_folder(folders[SMA_COUNT_OF(folders) - 1]);
    write_file(".ship/tasks/nightly.md", "cron: 0 9 * * *");
    load(json_pack("{s{sb}}", "permissions", "merge", 1));
    CHECK(strstr(warnings, ": found permissions.merge, .ship/tasks, which"
                           " this version does not use\n") != NULL);
    write_file(".ship/mcp/mcp.json", "");
    char command[300];
    snprintf(command, sizeof command, "rm -r %s/.ship", dir);
    CHECK(system(command) == 0);
}

/* -- what counts from the next start ----------------------------------------------------------- */
static struct sma_config *read_config(json_t *root)
{
    struct sma_config_overrides overrides = {.platforms = platform_params(), .provider = "offline"};
    struct sma_config *config = NULL;
    SMA_AUTO(sma_freep) char *text = json_dumps(root, 0);
    write_file("ship.json", text);
    json_decref(root);
    error.text[0] = '\0';
    if (sma_config_load(dir, &overrides, NULL, NULL, &config, &error) != SMA_ERR_OK)
        fprintf(stderr, "%s\n%s\n", text, error.text);
    return config;
}

static struct sma_config *started;
static unsigned late_count;
static void check_late(const struct sma_params *table, const struct sma_param *row,
                       const char *place)
{
    char path[128], line[512];
    bool has_value = row->type != SMA_PARAM_TYPE_OBJECT && row->type != SMA_PARAM_TYPE_ANY &&
                     (row->traits & SMA_PARAM_UNUSED) == 0 && table != &config_llm_params &&
                     table != &config_target_params && table != &config_chat_params;
    if (!has_value)
        return;
    snprintf(path, sizeof path, "%s%s", place, row->path);
    struct sma_config *config = read_config(wrap(path, other_value(row)));
    CHECK(config != NULL);
    warnings[0] = '\0';
    sma_config_warn_late(started, config, collect, NULL);
    snprintf(line, sizeof line, "%s/ship.json: changed, but counts from the next start: %s\n",
             config->project_dir, path);
    bool is_late = (row->traits & SMA_PARAM_LIVE) == 0;
    CHECK_TEXT(is_late ? line : "", warnings);
    warnings[0] = '\0';
    sma_config_warn_late(config, started, collect, NULL); /* taken away again */
    CHECK_TEXT(is_late ? line : "", warnings);
    late_count += is_late;
    sma_config_destroy(config);
}

CASE(a_change_that_waits_for_the_next_start_is_named)
{
    started = read_config(json_object());
    CHECK(started != NULL);
    each_row(check_late);
    CHECK(late_count > 30);
    struct sma_config *config = read_config(json_pack("{s{si}s{ss}ss}", "start", "port", 1, "queue",
                                                      "order", "fifo", "language", "zh"));
    warnings[0] = '\0';
    sma_config_warn_late(started, config, collect, NULL);
    CHECK(strstr(warnings, ": start.port, queue.order\n") != NULL);
    sma_config_destroy(config);
    sma_config_destroy(started);
}

/* -- what counts at once ----------------------------------------------------------------------- */
static unsigned live_count;
static void check_live(const struct sma_params *table, const struct sma_param *row,
                       const char *place)
{
    char path[128];
    bool has_value = row->type != SMA_PARAM_TYPE_OBJECT && row->type != SMA_PARAM_TYPE_ANY &&
                     (row->traits & SMA_PARAM_UNUSED) == 0 && table != &config_llm_params &&
                     table != &config_target_params && table != &config_chat_params;
    if (!has_value)
        return;
    snprintf(path, sizeof path, "%s%s", place, row->path);
    struct sma_config *config = read_config(wrap(path, other_value(row)));
    struct sma_buf names;
    CHECK(config != NULL);
    sma_buf_init(&names, 65536);
    bool is_live = (row->traits & SMA_PARAM_LIVE) != 0;
    sma_config_put_live(started, config, &names);
    CHECK_TEXT(is_live ? path : "", names.len == 0 ? "" : names.ptr);
    sma_buf_clear(&names);
    sma_config_put_live(config, started, &names); /* taken away again */
    CHECK_TEXT(is_live ? path : "", names.len == 0 ? "" : names.ptr);
    sma_buf_clear(&names);
    sma_config_put_live(config, config, &names);
    CHECK_INT(0, (long long)names.len);
    live_count += is_live;
    sma_buf_fini(&names);
    sma_config_destroy(config);
}

CASE(a_change_that_counts_at_once_is_named)
{
    started = read_config(json_object());
    CHECK(started != NULL);
    each_row(check_live);
    CHECK(live_count > 10);
    sma_config_destroy(started);
}

/* -- documents --------------------------------------------------------------------------------- */
static char *read_document(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", SMA_SOURCE_DIR, name);
    char *bytes = NULL;
    size_t len = 0;
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    CHECK(getdelim(&bytes, &len, '\0', file) > 0);
    CHECK(fclose(file) == 0);
    return bytes;
}

CASE(the_documents_say_what_the_tables_say)
{
    static const struct
    {
        const char *name;
        void (*format)(struct sma_buf *buf, const struct sma_params *const *platforms);
    } rows[] = {{"docs/configuration.md", sma_config_format_docs},
                {"docs/ship.schema.json", sma_config_format_schema},
                {"packaging/shipmyagent.1", sma_config_format_man}};
    for (size_t i = 0; i < SMA_COUNT_OF(rows); i++) {
        struct sma_buf buf;
        sma_buf_init(&buf, 1 << 20);
        rows[i].format(&buf, platform_params());
        CHECK_OK(buf.err);
        SMA_AUTO(sma_freep) char *text = read_document(rows[i].name);
        if (strstr(text, buf.ptr) == NULL)
            fprintf(stderr, "%s is not what the tables say: run scripts/generate\n", rows[i].name);
        CHECK(strstr(text, buf.ptr) != NULL);
        sma_buf_fini(&buf);
    }
}

/* The object behind names; '/' between them. */
static const json_t *look(const json_t *root, const char *names)
{
    char name[64];
    for (; *names != '\0'; names += strcspn(names, "/") + (strchr(names, '/') != NULL)) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(names, "/"), names);
        root = json_object_get(root, name);
    }
    return root;
}

CASE(the_editor_schema_knows_platforms_and_targets)
{
    SMA_AUTO(sma_buf_fini) struct sma_buf buf;
    sma_buf_init(&buf, 1 << 20);
    sma_config_format_schema(&buf, platform_params());
    json_t *root = json_loadb(buf.ptr, buf.len, 0, NULL);
    const json_t *llm = look(root, "properties/llm/properties");
    const json_t *qq = look(root, "properties/adapters/properties/qq/properties");
    CHECK_TEXT("websocket", json_string_value(json_array_get(look(qq, "mode/enum"), 0)));
    CHECK_TEXT("integer", json_string_value(look(qq, "limits/properties/perSecond/type")));
    CHECK_TEXT("boolean", json_string_value(look(qq, "enabled/type")));
    CHECK_INT(16, json_integer_value(look(qq, "shards/maximum")));
    CHECK(look(root, "properties/integrations/properties/telegram/properties/groups") != NULL);
    CHECK_TEXT("number", json_string_value(look(llm, "judge/properties/temperature/type")));
    CHECK_TEXT("string", json_string_value(look(llm, "fallbacks/items/properties/provider/type")));
    CHECK(look(llm, "judge/properties/patienceS") == NULL && look(llm, "patienceS") != NULL);
    CHECK_INT(2, (int)json_array_size(look(llm, "apiKey/type")));
    CHECK_TEXT("object", json_string_value(look(llm, "extraBody/type")));
    json_decref(root);
}

int main(void)
{
    CHECK(mkdtemp(dir) != NULL);
    write_file("Agent.md", "a");
    check_run_cases(NULL);
    return check_summary();
}
