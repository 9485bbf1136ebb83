/*
 * memory.c — `shipmyagent memory`: what is remembered of people, for the owner. Works on
 * the files of .ship/memory, beside a running service or without one.
 */
#include "runtime/memory/memory.h"
#include "api.h"
#include "cli.h"
#include "commands.h"
#include "prompt.h"
#include "sma/config.h"
#include "sma/limits.h"
#include "sma/text.h"

#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORD_COUNT_MAX 64
#define FOLDER_BYTES_MAX 3500

/* What was said on the command line, and what is walked. */
struct memory_command
{
    const char *verb, *folder, *user; /* user: NULL = everybody's and the project's */
    const char *words[WORD_COUNT_MAX];
    size_t word_count;
    bool is_yes;
    char memory_folder[FOLDER_BYTES_MAX];
    struct sma_memory *memory;
    size_t shown, gone;
    /* forget: of the file that is walked */
    uint64_t *ids;
    struct sma_buf groups; /* ended by NUL, one an id */
    size_t count, room;
};

/* -- facts ------------------------------------------------------------------------------------- */
static bool has_part(struct sma_str text, const char *part)
{
    size_t len = strlen(part);
    for (size_t at = 0; at + len <= text.len; at++)
        if (strncasecmp(text.ptr + at, part, len) == 0)
            return true;
    return false;
}

static bool fits(const struct memory_command *command, const struct sma_memory_fact *fact)
{
    for (size_t i = 0; i < command->word_count; i++)
        if (!has_part(fact->text, command->words[i]) && !has_part(fact->tags, command->words[i]))
            return false;
    return true;
}

static enum sma_err print_fact(void *user, const struct sma_memory_fact *fact)
{
    struct memory_command *command = user;
    if (strcmp(command->verb, "search") == 0 && !fits(command, fact))
        return SMA_ERR_OK;
    command->shown++;
    printf("m%016llx  ", (unsigned long long)fact->id);
    sma_cli_print_clean(fact->person.len > 0 ? fact->person : SMA_STR("project"));
    if (fact->group.len > 0) {
        fputs(" in ", stdout);
        sma_cli_print_clean(fact->group);
    }
    printf(" (%s, %u): ", sma_memory_kind_name(fact->kind), fact->importance);
    sma_cli_print_clean(fact->text);
    putchar('\n');
    return SMA_ERR_OK;
}

static bool is_named(const struct memory_command *command, uint64_t id)
{
    char name[18];
    snprintf(name, sizeof name, "m%016llx", (unsigned long long)id);
    for (size_t i = 0; i < command->word_count; i++)
        if (strcasecmp(command->words[i], name) == 0 || strcmp(command->words[i], "all") == 0)
            return true;
    return false;
}

static enum sma_err collect_fact(void *user, const struct sma_memory_fact *fact)
{
    struct memory_command *command = user;
    if (!is_named(command, fact->id))
        return SMA_ERR_OK;
    if (command->count == command->room) {
        size_t room = command->room == 0 ? 64 : 2 * command->room;
        uint64_t *more = realloc(command->ids, room * sizeof *more);
        if (more == NULL)
            return SMA_ERR_NOMEM;
        command->ids = more;
        command->room = room;
    }
    command->ids[command->count++] = fact->id;
    sma_buf_put_str(&command->groups, fact->group);
    sma_buf_put_char(&command->groups, '\0');
    return command->groups.err;
}

/* -- files ------------------------------------------------------------------------------------- */
/* Deletes what was named in one file: lines of one group at a time. */
static SMA_CHECKED enum sma_err forget_in(struct memory_command *command, struct sma_str person)
{
    command->count = 0;
    sma_buf_clear(&command->groups);
    SMA_TRY(sma_memory_list_file(command->memory, person, collect_fact, command));
    size_t at = 0;
    for (size_t i = 0, next; i < command->count; i = next) {
        struct sma_str group = sma_str(command->groups.ptr + at);
        uint32_t gone = 0;
        for (next = i;
             next < command->count && sma_str_is_equal(sma_str(command->groups.ptr + at), group);
             next++)
            at += group.len + 1;
        const struct sma_memory_scope scope = {
            .person = person, .group = group, .is_project = person.len == 0};
        SMA_TRY(sma_memory_forget(command->memory, &scope, command->ids + i, (uint32_t)(next - i),
                                  &gone));
        command->gone += gone;
    }
    return SMA_ERR_OK;
}

static SMA_CHECKED enum sma_err look_into(struct memory_command *command, struct sma_str person)
{
    return strcmp(command->verb, "forget") == 0
               ? forget_in(command, person)
               : sma_memory_list_file(command->memory, person, print_fact, command);
}

static SMA_CHECKED enum sma_err look_into_entry(struct memory_command *command, const char *name)
{
    size_t len = strlen(name);
    struct sma_buf person;
    if (len <= 3 || name[0] == '.' || strcmp(name + len - 3, ".md") != 0)
        return SMA_ERR_OK;
    sma_buf_init(&person, 4096);
    enum sma_err err =
        sma_buf_put_file_name_decoded(&person, (struct sma_str){name, len - 3}) == SMA_ERR_OK &&
                person.err == SMA_ERR_OK
            ? look_into(command, sma_buf_str(&person))
            : SMA_ERR_OK;
    sma_buf_fini(&person);
    return err;
}

static SMA_CHECKED enum sma_err look_into_all(struct memory_command *command)
{
    char path[FOLDER_BYTES_MAX + 16];
    if (command->user != NULL)
        return look_into(command, strcmp(command->user, "project") == 0 ? SMA_STR("")
                                                                        : sma_str(command->user));
    SMA_TRY(look_into(command, SMA_STR("")));
    snprintf(path, sizeof path, "%s/users", command->memory_folder);
    DIR *folder = opendir(path);
    enum sma_err err = SMA_ERR_OK;
    for (const struct dirent *entry;
         folder != NULL && err == SMA_ERR_OK && (entry = readdir(folder)) != NULL;)
        err = look_into_entry(command, entry->d_name);
    if (folder != NULL)
        closedir(folder);
    return err;
}

/* -- verbs ------------------------------------------------------------------------------------- */
static int print_path(const struct memory_command *command)
{
    struct sma_buf name;
    sma_buf_init(&name, 8192);
    if (command->user != NULL && strcmp(command->user, "project") == 0)
        sma_buf_put_text(&name, "/project.md");
    if (command->user != NULL && strcmp(command->user, "project") != 0) {
        sma_buf_put_text(&name, "/users/");
        sma_memory_put_file_name(&name, sma_str(command->user));
    }
    printf("%s%.*s\n", command->memory_folder, (int)name.len, name.len == 0 ? "" : name.ptr);
    sma_buf_fini(&name);
    return 0;
}

/* What is left of it in the index is to go at once: nothing else waits for this program. */
static void scrub(struct memory_command *command)
{
    bool is_done = false;
    while (!is_done && sma_memory_scrub(command->memory, &is_done) == SMA_ERR_OK)
        ;
}

static bool agrees(const struct memory_command *command)
{
    bool is_all = false, is_yes = false;
    for (size_t i = 0; i < command->word_count; i++)
        is_all |= strcmp(command->words[i], "all") == 0;
    if (!is_all || command->is_yes)
        return true;
    if (isatty(STDIN_FILENO) == 0) {
        (void)sma_cli_fail("memory: nothing was deleted; say --yes to delete all of it");
        return false;
    }
    sma_prompt_open("nothing was deleted\n");
    is_yes = sma_prompt_yes("Delete all of it?", false, &is_yes) && is_yes;
    sma_prompt_close();
    return is_yes;
}

static int work(struct memory_command *command)
{
    struct stat stat;
    bool is_forget = strcmp(command->verb, "forget") == 0;
    if (strcmp(command->verb, "path") == 0)
        return print_path(command);
    if (lstat(command->memory_folder, &stat) != 0) {
        puts("Nothing is remembered yet.");
        return 0;
    }
    if (is_forget && !agrees(command))
        return 1;
    const struct sma_memory_options options = {.folder = command->memory_folder,
                                               .sys = sma_sys_real(),
                                               .is_guest = true,
                                               .is_thorough = true};
    enum sma_err err = sma_memory_create(&options, &command->memory);
    if (err == SMA_ERR_OK)
        err = look_into_all(command);
    if (err != SMA_ERR_OK) {
        struct sma_str why =
            command->memory == NULL ? SMA_STR("") : sma_memory_trouble(command->memory);
        return why.len > 0 ? sma_cli_fail("memory: %.*s", (int)why.len, why.ptr)
                           : sma_cli_fail("memory: %s", sma_err_text(err));
    }
    if (is_forget) {
        scrub(command);
        printf("%zu deleted.\n", command->gone);
        return command->gone > 0 ? 0 : 1;
    }
    if (command->shown == 0)
        puts(strcmp(command->verb, "search") == 0 ? "Nothing fits." : "Nothing is remembered.");
    return 0;
}

/* -- the command ------------------------------------------------------------------------------- */
static int read_words(int argc, char **argv, struct memory_command *command)
{
    static const char *const verbs[] = {"list", "search", "forget", "path"};
    int at = optind;
    for (size_t i = 0; at < argc && i < SMA_COUNT_OF(verbs); i++)
        if (strcmp(argv[at], verbs[i]) == 0)
            command->verb = verbs[i];
    at += at < argc && strcmp(argv[at], command->verb) == 0;
    bool has_words = strcmp(command->verb, "search") == 0 || strcmp(command->verb, "forget") == 0;
    for (; has_words && at < argc && command->word_count < WORD_COUNT_MAX; at++)
        command->words[command->word_count++] = argv[at];
    if (!has_words && at < argc)
        command->folder = argv[at++];
    if (at < argc)
        return sma_cli_fail("memory: too many words at %s; see `shipmyagent help memory`",
                            argv[at]);
    if (has_words && command->word_count == 0)
        return sma_cli_fail("memory: %s what? See `shipmyagent help memory`", command->verb);
    return 0;
}

static int sma_cli_memory(int argc, char **argv)
{
    struct memory_command command = {.verb = "list", .folder = "."};
    int option;
    while ((option = sma_cli_option(&sma_cli_command_memory, argc, argv)) != -1) {
        if (option == '?')
            return 1;
        if (option == 'u')
            command.user = optarg;
        if (option == 'f')
            command.folder = optarg;
        command.is_yes |= option == 'y';
    }
    int status = read_words(argc, argv, &command);
    struct sma_config *config = NULL;
    struct sma_error error = {0};
    struct sma_config_overrides overrides = {.provider = "offline"}; /* no model is needed here */
    if (status != 0)
        return status;
    if (sma_config_load(command.folder, &overrides, NULL, NULL, &config, &error) != SMA_ERR_OK)
        return sma_cli_fail("%s", error.text);
    sma_buf_init(&command.groups, 16 * 1024 * 1024);
    if (snprintf(command.memory_folder, sizeof command.memory_folder, "%s/memory",
                 config->state_dir) >= (int)sizeof command.memory_folder)
        status = sma_cli_fail("memory: the folder has too long a name");
    else
        status = work(&command);
    sma_memory_destroy(command.memory);
    sma_buf_fini(&command.groups);
    free(command.ids);
    sma_config_destroy(config);
    return status;
}

static const struct sma_cli_command_option MEMORY_OPTIONS[] = {
    {"user", 'u', false, SMA_VALUE_TEXT, NULL, "KEY",
     "of one person, as /whoami shows (telegram:1001), or project"},
    {"folder", 'f', false, SMA_VALUE_FOLDER, NULL, "FOLDER", "the project; default: this folder"},
    {"yes", 'y', false, SMA_VALUE_NONE, NULL, NULL, "forget all: without a question"},
    {.name = NULL},
};

const struct sma_cli_command sma_cli_command_memory = {
    .name = "memory",
    .run = sma_cli_memory,
    .place = "[list|search|forget|path]",
    .summary = "what the agent remembers of people",
    .usage = "shipmyagent memory [list] [FOLDER] [--user KEY]\n"
             "shipmyagent memory search WORDS [--user KEY]\n"
             "shipmyagent memory forget ID...|all [--user KEY] [--yes]\n"
             "shipmyagent memory path [--user KEY]\n",
    .options = MEMORY_OPTIONS,
    .text = "The files are Markdown and can be edited by hand; the service follows. In a chat "
            "people have /memory and\n"
            "/forget. Exit status 1: nothing was deleted, or the files cannot be read.\n",
    .verbs = "list|search|forget|path",
    .first = SMA_VALUE_FOLDER,
    .second = SMA_VALUE_TEXT,
};
