/*
 * export.c — `shipmyagent export CHAT [FOLDER]`: what was said in one chat, oldest first, for
 * reading or for another program. It reads the history files alone, so a service may run or not.
 */
#include "api.h"
#include "chat_screen.h"
#include "cli.h"
#include "commands.h"
#include "runtime/chat/history.h"
#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define ENDING ".jsonl"

struct export
{
    char folder[PATH_MAX]; /* .ship/chats */
    bool is_jsonl, is_terminal;
    size_t line_count, bad_count;
};

/* -- one line ---------------------------------------------------------------------------------- */
static const char *member(const json_t *line, const char *name)
{
    const char *text = json_string_value(json_object_get(line, name));
    return text == NULL ? "" : text;
}

static void print_time(const json_t *line)
{
    char text[32];
    time_t second = (time_t)(json_integer_value(json_object_get(line, "ts")) / 1000);
    struct tm parts;
    if (gmtime_r(&second, &parts) != NULL && strftime(text, sizeof text, "%F %T UTC", &parts) > 0)
        printf("%s", text);
}

/* People and models wrote it, and it is read in a terminal, at once or later. */
static void print_text(const char *text)
{
    struct sma_buf clean;
    sma_buf_init(&clean, SIZE_MAX);
    sma_chat_put_clean(&clean, sma_str(text));
    if (clean.len > 0)
        (void)fwrite(clean.ptr, 1, clean.len, stdout); /* seen by the last fflush */
    sma_buf_fini(&clean);
}

static void print_markdown(const json_t *line)
{
    const json_t *meta = json_object_get(line, "meta");
    bool is_agent = strcmp(member(line, "role"), "assistant") == 0;
    const char *names[] = {is_agent ? "agent" : "", member(meta, "name"), member(meta, "username"),
                           member(line, "userId"), "?"};
    size_t first = 0;
    while (names[first][0] == '\0')
        first++;
    printf("**");
    sma_cli_print_clean(sma_str(names[first]));
    printf("**, ");
    print_time(line);
    printf("\n\n");
    print_text(member(line, "text"));
    printf("\n\n");
}

static void print_line_clean(const char *text, size_t len)
{
    sma_cli_print_clean((struct sma_str){text, len});
    putchar('\n');
}

static void print_line(struct export *export, const char *text, size_t len)
{
    json_t *line = json_loadb(text, len, 0, NULL);
    if (!json_is_object(line)) {
        export->bad_count++;
    } else {
        export->line_count++;
        if (export->is_jsonl && export->is_terminal) /* it may hold C1 as they are */
            print_line_clean(text, len);
        else if (export->is_jsonl)
            printf("%.*s\n", (int)len, text);
        else
            print_markdown(line);
    }
    json_decref(line);
}

/* -- files of a chat --------------------------------------------------------------------------- */
static SMA_CHECKED int print_file(struct export *export, const char *name)
{
    char path[PATH_MAX];
    int len = snprintf(path, sizeof path, "%s/%s", export->folder, name);
    FILE *file = len > 0 && (size_t)len < sizeof path ? fopen(path, "re") : NULL;
    if (file == NULL)
        return errno == ENOENT ? 0
                               : sma_cli_fail("export: cannot read %s: %s", path, strerror(errno));
    char *text = NULL;
    size_t room = 0;
    ssize_t got;
    while ((got = getline(&text, &room, file)) > 0) {
        size_t bytes = (size_t)got - (text[got - 1] == '\n');
        if (bytes > 0)
            print_line(export, text, bytes);
    }
    bool is_read = feof(file) != 0;
    free(text);
    (void)fclose(file); /* was only read */
    return is_read ? 0 : sma_cli_fail("export: cannot read %s", path);
}

/* "STEM.archive-7.jsonl" of this stem: 7; anything else: 0. */
static uint32_t archive_number(const char *name, struct sma_str stem)
{
    static const char mark[] = ".archive-";
    struct sma_str text = sma_str(name);
    int64_t number;
    bool is_of_stem = sma_str_starts_with(text, stem) && text.len > stem.len + sizeof ENDING &&
                      strcmp(name + text.len - (sizeof ENDING - 1), ENDING) == 0;
    if (!is_of_stem)
        return 0;
    text = (struct sma_str){text.ptr + stem.len, text.len - stem.len - (sizeof ENDING - 1)};
    if (!sma_str_starts_with(text, sma_str(mark)))
        return 0;
    text = (struct sma_str){text.ptr + sizeof mark - 1, text.len - (sizeof mark - 1)};
    return sma_parse_i64(text, 1, 999999, &number) == SMA_ERR_OK ? (uint32_t)number : 0;
}

static int compare(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

/* Numbers of the chat's archives, oldest first. */
static uint32_t *list_archives(DIR *dir, struct sma_str stem, size_t *ret_count)
{
    uint32_t *numbers = NULL;
    size_t room = 0;
    const struct dirent *entry;
    *ret_count = 0;
    while ((entry = readdir(dir)) != NULL) {
        uint32_t number = archive_number(entry->d_name, stem);
        if (number == 0)
            continue;
        if (*ret_count == room) {
            uint32_t *more = realloc(numbers, (room = room * 2 + 16) * sizeof *more);
            if (more == NULL)
                break;
            numbers = more;
        }
        numbers[(*ret_count)++] = number;
    }
    if (*ret_count > 0)
        qsort(numbers, *ret_count, sizeof *numbers, compare);
    return numbers;
}

static int print_chat(struct export *export, DIR *dir, struct sma_str stem)
{
    char name[NAME_MAX + 32];
    size_t count;
    int status = 0;
    uint32_t *numbers = list_archives(dir, stem, &count);
    for (size_t i = 0; i < count && status == 0; i++) {
        snprintf(name, sizeof name, "%.*s.archive-%u" ENDING, (int)stem.len, stem.ptr, numbers[i]);
        status = print_file(export, name);
    }
    snprintf(name, sizeof name, "%.*s" ENDING, (int)stem.len, stem.ptr);
    if (status == 0)
        status = print_file(export, name);
    free(numbers);
    return status;
}

/* -- which chats there are --------------------------------------------------------------------- */
static void print_key(const struct export *export, const char *name)
{
    char path[PATH_MAX], *text = NULL;
    size_t room = 0;
    int len = snprintf(path, sizeof path, "%s/%s", export->folder, name);
    FILE *file = len > 0 && (size_t)len < sizeof path ? fopen(path, "re") : NULL;
    ssize_t got = file == NULL ? -1 : getline(&text, &room, file);
    json_t *line = got <= 0 ? NULL : json_loadb(text, (size_t)got, 0, NULL);
    const char *key = member(line, "chatKey");
    if (key[0] != '\0' && export->is_terminal)
        print_line_clean(key, strlen(key));
    else if (key[0] != '\0')
        printf("%s\n", key); /* as it is, for the program that asks for it next */
    json_decref(line);
    free(text);
    if (file != NULL)
        (void)fclose(file); /* was only read */
}

static int list_chats(const struct export *export)
{
    struct dirent **names = NULL;
    int count = scandir(export->folder, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        size_t len = strlen(names[i]->d_name);
        bool is_main = len > sizeof ENDING - 1 &&
                       strcmp(names[i]->d_name + len - (sizeof ENDING - 1), ENDING) == 0 &&
                       strstr(names[i]->d_name, ".archive-") == NULL;
        if (is_main)
            print_key(export, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return count < 0 ? sma_cli_fail("export: cannot read %s: %s", export->folder, strerror(errno))
                     : 0;
}

static int export_chat(struct export *export, const char *chat_key)
{
    struct sma_buf stem;
    sma_buf_init(&stem, NAME_MAX + 1);
    sma_history_put_file_stem(&stem, sma_str(chat_key));
    DIR *dir = opendir(export->folder);
    int status = dir == NULL
                     ? sma_cli_fail("export: cannot read %s: %s", export->folder, strerror(errno))
                     : print_chat(export, dir, sma_buf_str(&stem));
    if (dir != NULL)
        (void)closedir(dir); /* was only read */
    sma_buf_fini(&stem);
    if (status != 0)
        return status;
    if (export->bad_count > 0)
        fprintf(stderr, "shipmyagent: export: %zu damaged lines were left out\n",
                export->bad_count);
    if (export->line_count == 0)
        return sma_cli_fail("export: nothing is kept of a chat %s; `shipmyagent export` lists them",
                            chat_key);
    return fflush(stdout) == 0 ? 0 : sma_cli_fail("export: cannot write: %s", strerror(errno));
}

static int sma_cli_export(int argc, char **argv)
{
    struct export export = {.is_terminal = isatty(STDOUT_FILENO) == 1};
    int option;
    while ((option = sma_cli_option(&sma_cli_command_export, argc, argv)) != -1) {
        if (option == '?')
            return 1;
        export.is_jsonl |= option == 'j';
    }
    /* a key holds a colon; a folder of such a name is written ./a:b */
    const char *key =
        optind < argc && strchr(argv[optind], ':') != NULL && strchr("./", argv[optind][0]) == NULL
            ? argv[optind++]
            : NULL;
    if (argc - optind > 1)
        return sma_cli_fail("export: name one chat, and perhaps the folder of the project; see "
                            "`shipmyagent help export`");
    int len = snprintf(export.folder, sizeof export.folder, "%s/.ship/chats",
                       optind < argc ? argv[optind] : ".");
    if (len < 0 || (size_t)len >= sizeof export.folder)
        return sma_cli_fail("export: the path of the folder is too long");
    return key == NULL ? list_chats(&export) : export_chat(&export, key);
}

const struct sma_cli_command sma_cli_command_export = {
    .name = "export",
    .run = sma_cli_export,
    .place = "[CHAT] [FOLDER]",
    .summary = "what was said in a chat, as Markdown",
    .usage = "shipmyagent export CHAT [FOLDER] [--jsonl]\n"
             "shipmyagent export [FOLDER]\n",
    .options =
        (const struct sma_cli_command_option[]){
            {"jsonl", 'j', .text = "the lines as they are kept: one JSON object each"}, {0}},
    .text =
        "Oldest first, on standard output; CHAT is a key like telegram:chat:1001. Without CHAT: "
        "the keys of all chats.\n"
        "Exit status 0: done; 1: not done, or nothing is kept of that chat.\n",
    .first = SMA_VALUE_CHAT,
    .second = SMA_VALUE_FOLDER,
};
