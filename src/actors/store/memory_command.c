/*
 * memory_command.c — /memory and /forget: people see and delete what is remembered of them, in a
 * group what was said there, and keep what is proposed (permissions.memory "ask").
 *
 * The files are read and written as a guest beside the actor that keeps the index. Who may: of what
 * was said by somebody else, in a group, owners and administrators; of project.md the same.
 */
#include "intake.h"
#include "memory.h"
#include "memory_shown.h"
#include "people.h"
#include "runs.h"
#include "runs_priv.h"

#include "runtime/memory/memory_scope.h"
#include "runtime/secrets/secrets.h"
#include "sma/text.h"

#include <stdlib.h>

#define WORD_COUNT_MAX 16

/* Where it is looked: facts, those of a chat's old file, and proposals of both. */
enum shelf
{
    SHELF_FACTS,
    SHELF_PROPOSED,
    SHELF_PROPOSED_HERE, /* of the chat, not of a person: old files */
    SHELF_COUNT
};

struct looking
{
    struct sma_store *store;
    const struct store_command *command;
    struct sma_memory *facts, *proposed;
    struct sma_secrets *secrets;
    struct sma_memory_scope scopes[SHELF_COUNT];
    struct sma_buf person, chat_person;
    bool is_group, is_admin, is_project;
    /* while walking */
    enum shelf shelf;
    struct sma_str words[WORD_COUNT_MAX];
    uint32_t word_count, skip, page; /* skip: facts of earlier pages */
    uint32_t counts[SHELF_COUNT], own_count;
    struct store_memory_shown shown;
    struct sma_buf lines; /* "1. tea\n" of what is shown */
};

static enum sma_err say(const struct store_command *command, enum sma_notice notice)
{
    sma_buf_clear(command->text);
    sma_notice_format(command->text, command->language, notice);
    return command->text->err;
}

static enum sma_err say_count(const struct store_command *command, enum sma_notice notice,
                              uint32_t count)
{
    sma_buf_clear(command->text);
    sma_notice_format(command->text, command->language, notice, count);
    return command->text->err;
}

/* -- opening ----------------------------------------------------------------------------------- */
static void close_looking(struct looking *looking)
{
    sma_memory_destroy(looking->facts);
    sma_memory_destroy(looking->proposed);
    sma_secrets_destroy(looking->secrets);
    sma_buf_fini(&looking->person);
    sma_buf_fini(&looking->chat_person);
    sma_buf_fini(&looking->lines);
}

static SMA_CHECKED enum sma_err open_folder(struct looking *looking, const char *name,
                                            struct sma_memory **ret_memory)
{
    char folder[4096];
    if (snprintf(folder, sizeof folder, "%s/%s", looking->store->config->state_dir, name) >=
        (int)sizeof folder)
        return SMA_ERR_TOOBIG;
    const struct sma_memory_options options = {.folder = folder,
                                               .sys = looking->store->sys,
                                               .secrets = looking->secrets,
                                               .is_guest = true};
    return sma_memory_create(&options, ret_memory);
}

static bool is_word(struct sma_str word, const char *english, const char *chinese)
{
    return sma_str_is_equal_nocase(word, sma_str(english)) ||
           sma_str_is_equal(word, sma_str(chinese));
}

static SMA_CHECKED enum sma_err
open_looking(struct sma_store *store, const struct store_command *command, struct looking *looking)
{
    const struct sma_ingress *in = command->ingress;
    *looking = (struct looking){.store = store, .command = command};
    sma_buf_init(&looking->person, 64 * 1024);
    sma_buf_init(&looking->chat_person, 64 * 1024);
    sma_buf_init(&looking->lines, 64 * 1024);
    struct sma_route route = in->route;
    route.chat_key = sma_store_chat_key(command->chat);
    looking->scopes[SHELF_FACTS] = looking->scopes[SHELF_PROPOSED] =
        sma_memory_scope_of(&route, in->is_group, &looking->person);
    looking->scopes[SHELF_PROPOSED_HERE] =
        sma_memory_scope_of_chat(route.chat_key, &looking->chat_person);
    looking->is_group = looking->scopes[SHELF_FACTS].group.len > 0;
    looking->is_admin =
        sma_store_standing(store, command->chat, &in->route, in->is_group) >= SMA_STANDING_ADMIN ||
        (in->is_group && in->role == SMA_ROLE_ADMIN && sma_store_is_let_in(store, &in->route));
    looking->shown.who = sma_store_memory_who(route.chat_key, looking->scopes[SHELF_FACTS].person);
    SMA_TRY(sma_secrets_create(store->config, &looking->secrets));
    SMA_TRY(open_folder(looking, "memory", &looking->facts));
    return open_folder(looking, "memory/proposed", &looking->proposed);
}

/* -- walking ----------------------------------------------------------------------------------- */
static bool has_part(struct sma_str text, struct sma_str part)
{
    for (size_t at = 0; at + part.len <= text.len; at++)
        if (strncasecmp(text.ptr + at, part.ptr, part.len) == 0)
            return true;
    return false;
}

static bool fits(const struct looking *looking, const struct sma_memory_fact *fact)
{
    for (uint32_t i = 0; i < looking->word_count; i++)
        if (!has_part(fact->text, looking->words[i]) && !has_part(fact->tags, looking->words[i]))
            return false;
    return true;
}

static bool is_own(const struct looking *looking, const struct sma_memory_fact *fact)
{
    const struct sma_memory_scope *scope = &looking->scopes[SHELF_FACTS];
    bool is_here = looking->shelf == SHELF_PROPOSED_HERE && !looking->is_group;
    return is_here || (scope->person.len > 0 && sma_str_is_equal(fact->person, scope->person));
}

static void put_line(struct looking *looking, const struct sma_memory_fact *fact)
{
    struct store_memory_shown *shown = &looking->shown;
    struct sma_buf *lines = &looking->lines;
    struct sma_str text = {fact->text.ptr, sma_utf8_cut(fact->text, SMA_MEMORY_PAGE_TEXT_BYTES)};
    bool is_first = shown->count == 0 || !shown->facts[shown->count - 1].is_proposal;
    if (looking->shelf != SHELF_FACTS && is_first) {
        sma_buf_put_char(lines, '\n');
        sma_notice_format(lines, looking->command->language, SMA_NOTICE_MEMORY_PROPOSED);
    }
    sma_buf_printf(lines, "\n%u. ", shown->first + shown->count);
    sma_buf_put_str(lines, text);
    if (text.len < fact->text.len)
        sma_buf_put_text(lines, " …");
    sma_buf_printf(lines, " (%s, %u)", sma_memory_kind_name(fact->kind), fact->importance);
    shown->facts[shown->count].id = fact->id;
    shown->facts[shown->count].is_proposal = looking->shelf != SHELF_FACTS;
    shown->facts[shown->count++].is_project = looking->is_project;
}

/* A page of them, and how many there are. */
static enum sma_err note_fact(void *user, const struct sma_memory_fact *fact)
{
    struct looking *looking = user;
    if (!fits(looking, fact))
        return SMA_ERR_OK;
    looking->counts[looking->shelf]++;
    looking->own_count += looking->is_admin || is_own(looking, fact);
    if (looking->skip > 0)
        looking->skip--;
    else if (looking->shown.count < SMA_MEMORY_PAGE_COUNT)
        put_line(looking, fact);
    return looking->lines.err;
}

/* Facts of the project are project.md's; of a person or group all that was said there. */
static SMA_CHECKED enum sma_err walk(struct looking *looking, sma_memory_each_fn *each, void *user)
{
    for (int i = 0; i < SHELF_COUNT; i++) {
        struct sma_memory *memory = i == SHELF_FACTS ? looking->facts : looking->proposed;
        struct sma_memory_scope scope = looking->scopes[i];
        looking->shelf = (enum shelf)i;
        if (i == SHELF_PROPOSED_HERE && looking->is_group)
            continue; /* the group's own audience, which was walked already */
        if (looking->is_project && i != SHELF_FACTS)
            continue;
        if (!sma_memory_has_any(memory, sma_ctx_now(looking->store->ctx)))
            continue;
        if (looking->is_group) /* what others have written there since */
            SMA_TRY(sma_memory_look(memory));
        scope.is_project = looking->is_project;
        scope.is_here = !looking->is_project;
        SMA_TRY(sma_memory_list(memory, &scope, 0, SMA_MEMORY_WALK_COUNT_MAX, each, user));
    }
    return SMA_ERR_OK;
}

/* -- /memory ----------------------------------------------------------------------------------- */
static uint32_t split(struct sma_str text, struct sma_str *words)
{
    uint32_t count = 0;
    while ((text = sma_str_trim(text)).len > 0 && count < WORD_COUNT_MAX) {
        size_t len = 0;
        while (len < text.len && (unsigned char)text.ptr[len] > ' ')
            len++;
        words[count++] = (struct sma_str){text.ptr, len};
        text = (struct sma_str){text.ptr + len, text.len - len};
    }
    return count;
}

static enum sma_notice nothing_of(const struct looking *looking)
{
    if (looking->word_count > 0 || looking->is_project)
        return SMA_NOTICE_MEMORY_NONE_FOUND;
    return looking->is_group ? SMA_NOTICE_MEMORY_NONE_GROUP : SMA_NOTICE_MEMORY_NONE;
}

static enum sma_err put_page(struct looking *looking, enum sma_notice head)
{
    const struct store_command *command = looking->command;
    struct sma_buf *text = command->text;
    uint32_t total = looking->counts[0] + looking->counts[1] + looking->counts[2];
    if (looking->shown.count == 0)
        return say(command, nothing_of(looking));
    sma_buf_clear(text);
    sma_notice_format(text, command->language, head, total);
    sma_buf_put_str(text, sma_buf_str(&looking->lines));
    sma_buf_put_char(text, '\n');
    if (looking->shown.first - 1 + looking->shown.count < total) {
        sma_notice_format(text, command->language, SMA_NOTICE_MEMORY_MORE, looking->page + 1);
        sma_buf_put_char(text, '\n');
    }
    sma_notice_format(text, command->language, SMA_NOTICE_MEMORY_HINT);
    sma_store_memory_keep(sma_store_memory_lists(looking->store), &looking->shown);
    return looking->lines.err != SMA_ERR_OK ? looking->lines.err : text->err;
}

static SMA_CHECKED enum sma_err list(struct looking *looking, struct sma_str *words, uint32_t count)
{
    int64_t page = 1;
    enum sma_notice head =
        looking->is_group ? SMA_NOTICE_MEMORY_HEAD_GROUP : SMA_NOTICE_MEMORY_HEAD;
    if (count > 0 && is_word(words[0], "project", "项目")) {
        looking->is_project = true;
        head = SMA_NOTICE_MEMORY_HEAD_PROJECT;
        words++;
        count--;
    }
    if (count == 1 && sma_parse_i64(words[0], 1, SMA_MEMORY_WALK_COUNT_MAX, &page) == SMA_ERR_OK)
        count = 0;
    memcpy(looking->words, words, count * sizeof *words);
    looking->word_count = count;
    looking->page = (uint32_t)page;
    looking->skip = (looking->page - 1) * SMA_MEMORY_PAGE_COUNT;
    looking->shown.first = looking->skip + 1;
    SMA_TRY(walk(looking, note_fact, looking));
    return put_page(looking, head);
}

/* -- keeping and deleting ---------------------------------------------------------------------- */
/* What is meant of all that is walked. */
struct doing
{
    struct looking *looking;
    const struct store_memory_shown *shown; /* NULL = all that fit */
    uint32_t mask;                          /* of shown->facts */
    bool keeps, was_refused;
    uint32_t count;
    struct
    {
        uint64_t id;
        bool is_proposal;
        size_t person, group; /* in names */
        size_t text, tags;
        enum sma_memory_kind kind;
        uint8_t importance;
    } * items;
    uint32_t room;
    struct sma_buf names; /* each ended by NUL */
};

static size_t put_name(struct sma_buf *names, struct sma_str text)
{
    size_t at = names->len;
    sma_buf_put_str(names, text);
    sma_buf_put_char(names, '\0');
    return at;
}

static bool is_meant(const struct doing *doing, const struct sma_memory_fact *fact)
{
    const struct looking *looking = doing->looking;
    bool is_proposal = looking->shelf != SHELF_FACTS;
    if (doing->keeps && !is_proposal)
        return false;
    if (doing->shown == NULL)
        return fits(looking, fact);
    for (uint32_t i = 0; i < doing->shown->count; i++)
        if ((doing->mask >> i & 1) != 0 && doing->shown->facts[i].id == fact->id &&
            doing->shown->facts[i].is_proposal == is_proposal)
            return true;
    return false;
}

static enum sma_err collect(void *user, const struct sma_memory_fact *fact)
{
    struct doing *doing = user;
    struct looking *looking = doing->looking;
    if (!is_meant(doing, fact))
        return SMA_ERR_OK;
    bool may = looking->is_admin || (!looking->is_project && is_own(looking, fact));
    if (!may) {
        doing->was_refused |= doing->shown != NULL;
        return SMA_ERR_OK;
    }
    if (!sma_store_grow(&doing->items, doing->count, &doing->room, sizeof *doing->items))
        return SMA_ERR_NOMEM;
    size_t i = doing->count++;
    doing->items[i].id = fact->id;
    doing->items[i].is_proposal = looking->shelf != SHELF_FACTS;
    doing->items[i].kind = fact->kind;
    doing->items[i].importance = fact->importance;
    doing->items[i].person = put_name(&doing->names, fact->person);
    doing->items[i].group = put_name(&doing->names, fact->group);
    doing->items[i].text = put_name(&doing->names, fact->text);
    doing->items[i].tags = put_name(&doing->names, fact->tags);
    return doing->names.err;
}

static struct sma_str name_at(const struct doing *doing, size_t at)
{
    return sma_str(doing->names.ptr + at);
}

/* A proposal becomes a fact of its person; one of an old file of whoever keeps it. */
static SMA_CHECKED enum sma_err keep_one(const struct doing *doing, uint32_t i)
{
    struct looking *looking = doing->looking;
    struct sma_memory_scope scope = {.person = name_at(doing, doing->items[i].person),
                                     .group = name_at(doing, doing->items[i].group)};
    uint64_t id;
    if (sma_str_starts_with(scope.person, SMA_STR("chat:")) &&
        looking->scopes[SHELF_FACTS].person.len > 0)
        scope = looking->scopes[SHELF_FACTS];
    const struct sma_memory_new fact = {.text = name_at(doing, doing->items[i].text),
                                        .tags = name_at(doing, doing->items[i].tags),
                                        .kind = doing->items[i].kind,
                                        .importance = doing->items[i].importance,
                                        .merges = true,
                                        .wall_ms = sma_ctx_wall(looking->store->ctx)};
    enum sma_err err = sma_memory_upsert(looking->facts, &scope, &fact, &id);
    return err == SMA_ERR_EXISTS ? SMA_ERR_OK : err;
}

/* Items from the i-th on that stand in one file go at once. @return how many they are */
static uint32_t same_file(const struct doing *doing, uint32_t i, uint32_t end)
{
    uint32_t count = 1;
    while (i + count < end && doing->items[i].is_proposal == doing->items[i + count].is_proposal &&
           sma_str_is_equal(name_at(doing, doing->items[i].person),
                            name_at(doing, doing->items[i + count].person)) &&
           sma_str_is_equal(name_at(doing, doing->items[i].group),
                            name_at(doing, doing->items[i + count].group)))
        count++;
    return count;
}

static SMA_CHECKED enum sma_err drop(const struct doing *doing, uint32_t end)
{
    struct looking *looking = doing->looking;
    SMA_AUTO(sma_freep) uint64_t *ids = calloc(end + 1, sizeof *ids);
    if (ids == NULL)
        return SMA_ERR_NOMEM;
    for (uint32_t i = 0; i < end; i++)
        ids[i] = doing->items[i].id;
    for (uint32_t i = 0, count; i < end; i += count) {
        struct sma_memory_scope scope = {.person = name_at(doing, doing->items[i].person),
                                         .group = name_at(doing, doing->items[i].group),
                                         .is_project = looking->is_project};
        uint32_t gone;
        count = same_file(doing, i, end);
        SMA_TRY(sma_memory_forget(doing->items[i].is_proposal ? looking->proposed : looking->facts,
                                  &scope, ids + i, count, &gone));
    }
    return SMA_ERR_OK;
}

static void audit(const struct doing *doing, uint32_t done)
{
    struct looking *looking = doing->looking;
    struct sma_buf *json = &looking->store->scratch.facts;
    sma_buf_clear(json);
    sma_buf_put_char(json, '{');
    sma_buf_put_json_member(json, "chat", sma_store_chat_key(looking->command->chat));
    sma_buf_put_json_member(json, "by", looking->command->ingress->route.user_id);
    sma_buf_put_json_number(json, "count", done);
    sma_buf_put_char(json, '}');
    if (json->err == SMA_ERR_OK)
        sma_store_audit(looking->store, doing->keeps ? "memory: kept" : "memory: deleted",
                        sma_buf_str(json));
}

static SMA_CHECKED enum sma_err carry_out(struct doing *doing)
{
    enum sma_err err = walk(doing->looking, collect, doing);
    uint32_t done = doing->count;
    if (doing->keeps && done > SMA_MEMORY_KEEP_COUNT_MAX)
        done = SMA_MEMORY_KEEP_COUNT_MAX;
    for (uint32_t i = 0; doing->keeps && err == SMA_ERR_OK && i < done; i++)
        err = keep_one(doing, i);
    if (err == SMA_ERR_OK)
        err = drop(doing, done);
    if (err == SMA_ERR_OK && done > 0)
        audit(doing, done);
    if (err == SMA_ERR_OK && done > 0)
        sma_store_tell_forgotten(doing->looking->store, done);
    const struct store_command *command = doing->looking->command;
    if (err != SMA_ERR_OK)
        return err;
    if (done == 0)
        return say(command,
                   doing->was_refused ? SMA_NOTICE_MEMORY_NOT_YOURS : SMA_NOTICE_MEMORY_NONE_FOUND);
    return say_count(command, doing->keeps ? SMA_NOTICE_MEMORY_KEPT : SMA_NOTICE_FORGOTTEN, done);
}

static SMA_CHECKED enum sma_err
do_to(struct looking *looking, const struct store_memory_shown *shown, uint32_t mask, bool keeps)
{
    struct doing doing = {.looking = looking, .shown = shown, .mask = mask, .keeps = keeps};
    sma_buf_init(&doing.names, 16 * 1024 * 1024);
    enum sma_err err = carry_out(&doing);
    sma_buf_fini(&doing.names);
    free(doing.items);
    return err;
}

/* "2", "2 3": places in what was shown last. false: these are words. *ret_mask 0: not shown. */
static bool read_numbers(const struct store_memory_shown *shown, const struct sma_str *words,
                         uint32_t count, uint32_t *ret_mask)
{
    *ret_mask = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t number;
        if (sma_parse_i64(words[i], 1, SMA_MEMORY_WALK_COUNT_MAX, &number) != SMA_ERR_OK)
            return false;
        if (shown != NULL && number >= shown->first && number < shown->first + shown->count)
            *ret_mask |= UINT32_C(1) << (number - shown->first);
    }
    return count > 0;
}

static SMA_CHECKED enum sma_err do_numbers(struct looking *looking,
                                           const struct store_memory_shown *shown, uint32_t mask,
                                           bool keeps)
{
    if (shown == NULL || mask == 0)
        return say(looking->command, SMA_NOTICE_MEMORY_SHOW_FIRST);
    struct store_memory_shown copy = *shown;
    looking->is_project = copy.facts[0].is_project;
    return do_to(looking, &copy, mask, keeps);
}

static SMA_CHECKED enum sma_err keep(struct looking *looking, const struct sma_str *words,
                                     uint32_t count)
{
    uint32_t mask;
    const struct store_memory_shown *shown =
        sma_store_memory_kept(*sma_store_memory_lists(looking->store), looking->shown.who);
    if (looking->store->config->memory == SMA_MEMORY_REFUSE)
        return say(looking->command, SMA_NOTICE_MEMORY_OFF);
    if (count == 1 && is_word(words[0], "all", "全部"))
        return do_to(looking, NULL, 0, true);
    if (!read_numbers(shown, words, count, &mask))
        mask = 0;
    return do_numbers(looking, shown, mask, true);
}

/* All that is the writer's to delete here: asked back first. */
static SMA_CHECKED enum sma_err forget_all(struct looking *looking, bool is_sure)
{
    if (is_sure)
        return do_to(looking, NULL, 0, false);
    SMA_TRY(walk(looking, note_fact, looking));
    if (looking->own_count == 0)
        return say(looking->command, nothing_of(looking));
    return say_count(looking->command, SMA_NOTICE_FORGET_SURE, looking->own_count);
}

static SMA_CHECKED enum sma_err forget_words(struct looking *looking, const struct sma_str *words,
                                             uint32_t count)
{
    memcpy(looking->words, words, count * sizeof *words);
    looking->word_count = count;
    looking->page = looking->shown.first = 1;
    SMA_TRY(walk(looking, note_fact, looking));
    if (looking->shown.count == 1)
        return do_to(looking, NULL, 0, false);
    return put_page(looking, SMA_NOTICE_MEMORY_HEAD_WHICH);
}

static enum sma_err forget(struct looking *looking, struct sma_str *words, uint32_t count)
{
    uint32_t mask;
    const struct store_memory_shown *shown =
        sma_store_memory_kept(*sma_store_memory_lists(looking->store), looking->shown.who);
    if (count == 0)
        return say(looking->command, SMA_NOTICE_FORGET_HOW);
    if (is_word(words[0], "all", "全部") && count <= 2)
        return forget_all(looking, count == 2 && is_word(words[1], "yes", "确认"));
    if (read_numbers(shown, words, count, &mask))
        return do_numbers(looking, shown, mask, false);
    return forget_words(looking, words, count);
}

/* -- the commands ------------------------------------------------------------------------------ */
typedef enum sma_err looking_fn(struct looking *looking, struct sma_str *words, uint32_t count);

static enum sma_err show(struct looking *looking, struct sma_str *words, uint32_t count)
{
    if (count > 0 && is_word(words[0], "keep", "保留"))
        return keep(looking, words + 1, count - 1);
    return list(looking, words, count);
}

/* What is wrong with the memory fails no batch: it is said. */
static enum sma_err with_memory(struct sma_store *store, const struct store_command *command,
                                looking_fn *act)
{
    struct looking looking;
    struct sma_str words[WORD_COUNT_MAX];
    enum sma_err err = open_looking(store, command, &looking);
    if (err == SMA_ERR_OK)
        err = act(&looking, words, split(command->argument, words));
    if (err != SMA_ERR_OK) {
        struct sma_str why =
            looking.facts == NULL ? SMA_STR("") : sma_memory_trouble(looking.facts);
        if (why.len == 0 && looking.proposed != NULL)
            why = sma_memory_trouble(looking.proposed);
        if (why.len == 0)
            why = sma_str(sma_err_text(err));
        sma_ctx_log(store->ctx, SMA_LOG_WARN, "memory: a command failed: %.*s", (int)why.len,
                    why.ptr);
        err = say(command, SMA_NOTICE_MEMORY_TROUBLE);
    }
    if ((looking.facts != NULL && sma_memory_is_behind(looking.facts)) ||
        (looking.proposed != NULL && sma_memory_is_behind(looking.proposed)))
        sma_store_tell_forgotten(store, 0); /* the memory looks */
    close_looking(&looking);
    return err;
}

enum sma_err sma_store_show_memory(struct sma_store *store, const struct store_command *command)
{
    return with_memory(store, command, show);
}

enum sma_err sma_store_forget(struct sma_store *store, const struct store_command *command)
{
    return with_memory(store, command, forget);
}
