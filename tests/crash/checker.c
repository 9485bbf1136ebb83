/*
 * checker.c — judges one crash loop from outside: what clients were told (clients.log), what users
 * saw (saw.log) and what is on disk (.ship/chats). It knows nothing of the program but its
 * promises:
 *   1 every accepted message is answered, or visibly given up; 2 nothing is answered twice under
 *   different keys; the same key twice is the documented window, counted; 3 order per chat holds; 4
 *   every history line parses, every accepted message stands there exactly once; 5 a repeated HTTP
 *   messageId gets the same stored result.
 *   checker DIR        exit status 0: all hold
 */
#include <dirent.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_SIZE 262144 /* a power of two, far above the messages of one loop */
#define LINE_BYTES_MAX (2 * 1024 * 1024)

struct entry
{
    char *id;
    bool is_accepted;
    unsigned history_count; /* user lines in history */
    unsigned seen_count;    /* times the platform showed an answer */
    char *key;              /* idempotency key of the first showing */
    char *result;           /* HTTP: first result */
};

static struct entry table[TABLE_SIZE];
static unsigned broken, window_count, given_up_count, accepted_count, answered_count, line_count;

static void complain(const char *what, const char *id, const char *detail)
{
    if (broken++ < 20)
        fprintf(stderr, "checker: %s: %s %.300s\n", what, id, detail);
}

static char *copy(const char *text)
{
    char *result = strdup(text);
    if (result == NULL)
        abort();
    return result;
}

static struct entry *find(const char *id)
{
    size_t hash = 5381;
    for (const char *at = id; *at != '\0'; at++)
        hash = hash * 33 + (unsigned char)*at;
    for (size_t i = hash % TABLE_SIZE;; i = (i + 1) % TABLE_SIZE) {
        if (table[i].id == NULL) {
            table[i].id = copy(id);
            return &table[i];
        }
        if (strcmp(table[i].id, id) == 0)
            return &table[i];
    }
}

/* The first "s<digits>-<digits>" or "h<digits>-<digits>" of a text. */
static bool find_id(const char *text, char letter, char *id, size_t id_max)
{
    for (const char *at = text; (at = strchr(at, letter)) != NULL; at++) {
        unsigned a, b;
        int len = 0;
        if (sscanf(at + 1, "%u-%u%n", &a, &b, &len) == 2 && len > 0) {
            snprintf(id, id_max, "%c%u-%u", letter, a, b);
            return true;
        }
    }
    return false;
}

/* -- what clients were told -------------------------------------------------------------------- */
static void take_result(char *rest)
{
    char *verdict = strchr(rest, ' ');
    if (verdict == NULL)
        return;
    *verdict++ = '\0';
    struct entry *entry = find(rest);
    if (strncmp(verdict, "ok ", 3) != 0)
        given_up_count++;
    if (entry->result == NULL) {
        entry->result = copy(verdict);
        answered_count++;
    } else if (strcmp(entry->result, verdict) != 0) {
        complain("a repeated messageId got another result", rest, verdict);
    }
}

static void read_clients(const char *dir)
{
    char path[512];
    static char line[LINE_BYTES_MAX];
    snprintf(path, sizeof path, "%s/clients.log", dir);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char id[64], verdict[32];
        if (strncmp(line, "H accepted ", 11) == 0)
            find(line + 11)->is_accepted = true;
        else if (strncmp(line, "H result ", 9) == 0)
            take_result(line + 9);
        else if (sscanf(line, "S accepted %63s %31s", id, verdict) == 2)
            find(id)->is_accepted = true;
        else if (strncmp(line, "BROKEN", 6) == 0)
            broken++;
    }
    if (file == NULL || fclose(file) != 0)
        complain("cannot read", path, "");
}

/* -- what users saw: SAW <chat> <key> <text> --------------------------------------------------- */
static void take_seen(const char *chat, const char *key, const char *text, unsigned *newest)
{
    char id[64];
    if (!find_id(text, 's', id, sizeof id)) {
        /* a notice of the program itself: that it is busy, or that it gives a message up */
        given_up_count += strstr(text, "given it up") != NULL || strstr(text, "已放弃") != NULL;
        return;
    }
    unsigned room, number;
    if (sscanf(id, "s%u-%u", &room, &number) != 2 || room >= 64)
        return;
    char expected[32];
    snprintf(expected, sizeof expected, "room%u", room);
    if (strcmp(chat, expected) != 0)
        complain("an answer landed in another chat", id, chat);
    struct entry *entry = find(id);
    if (entry->seen_count++ > 0) {
        if (strcmp(entry->key, key) != 0)
            complain("answered twice", id, text);
        else
            window_count++;
        return;
    }
    entry->key = copy(key);
    answered_count++;
    if (number < newest[room])
        complain("order in the chat is broken", id, text);
    newest[room] = number;
}

static void read_seen(const char *dir)
{
    char path[512];
    static char line[LINE_BYTES_MAX];
    static unsigned newest[64];
    snprintf(path, sizeof path, "%s/saw.log", dir);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char chat[128], key[128];
        int len = 0;
        if (sscanf(line, "SAW %127s %127s %n", chat, key, &len) != 2 || len == 0) {
            complain("a line of saw.log is damaged", "", line);
            continue;
        }
        const char *colon = strrchr(chat, ':');
        take_seen(colon == NULL ? chat : colon + 1, key, line + len, newest);
    }
    if (file == NULL || fclose(file) != 0)
        complain("cannot read", path, "");
}

/* -- what is on disk --------------------------------------------------------------------------- */
/* A platform that numbers its messages itself: then the text says which one it is. */
static void count_line(const char *id, const char *text)
{
    char found[64];
    unsigned a, b;
    bool is_named = sscanf(id, "s%u-%u", &a, &b) == 2 || sscanf(id, "h%u-%u", &a, &b) == 2;
    if (!is_named && find_id(text, 's', found, sizeof found))
        id = found;
    find(id)->history_count++;
}

static void take_history_line(const char *name, const char *line)
{
    json_error_t where;
    json_t *root = json_loads(line, JSON_REJECT_DUPLICATES, &where);
    line_count++;
    const char *role = json_string_value(json_object_get(root, "role"));
    const char *id = json_string_value(json_object_get(root, "messageId"));
    if (root == NULL || json_integer_value(json_object_get(root, "v")) != 1 || role == NULL ||
        !json_is_integer(json_object_get(root, "ts")) ||
        !json_is_string(json_object_get(root, "text")) ||
        !json_is_string(json_object_get(root, "chatKey")))
        complain("a history line does not parse", name, line);
    else if (strcmp(role, "user") == 0 && id == NULL)
        complain("a user line without messageId", name, line);
    else if (strcmp(role, "user") == 0)
        count_line(id, json_string_value(json_object_get(root, "text")));
    json_decref(root);
}

static void read_history(const char *dir)
{
    char path[1024];
    static char line[LINE_BYTES_MAX];
    snprintf(path, sizeof path, "%s/project/.ship/chats", dir);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        size_t len = strlen(entry->d_name);
        if (len < 6 || strcmp(entry->d_name + len - 6, ".jsonl") != 0) {
            if (entry->d_name[0] != '.')
                complain("a file that should not be there", entry->d_name, "");
            continue;
        }
        char file_path[2048];
        snprintf(file_path, sizeof file_path, "%s/%s", path, entry->d_name);
        FILE *file = fopen(file_path, "r");
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            size_t line_len = strlen(line);
            if (line_len == 0 || line[line_len - 1] != '\n')
                complain("a history line is torn", entry->d_name, line);
            take_history_line(entry->d_name, line);
        }
        if (file == NULL || fclose(file) != 0)
            complain("cannot read", file_path, "");
    }
    if (folder == NULL)
        complain("cannot read", path, "");
    else
        closedir(folder);
}

/* -- judgement --------------------------------------------------------------------------------- */
static void judge(void)
{
    unsigned lost = 0;
    for (size_t i = 0; i < TABLE_SIZE; i++) {
        const struct entry *entry = &table[i];
        if (entry->id == NULL)
            continue;
        bool is_answered = entry->seen_count > 0 || entry->result != NULL;
        if (entry->is_accepted) {
            accepted_count++;
            if (entry->history_count != 1)
                complain(entry->history_count == 0 ? "accepted, but not in history"
                                                   : "twice in history",
                         entry->id, "");
            lost += !is_answered;
            if (!is_answered && lost <= 5)
                fprintf(stderr, "checker: unanswered: %s\n", entry->id);
        } else if (entry->history_count > 1) {
            complain("twice in history", entry->id, "");
        }
    }
    if (lost > given_up_count)
        complain("accepted messages without an answer or a notice", "", "see above");
    printf("checker: %u accepted, %u answered, %u given up visibly, %u shown twice under one key "
           "(the window), "
           "%u history lines, %u broken promises\n",
           accepted_count, answered_count, given_up_count, window_count, line_count, broken);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: checker DIR\n");
        return 2;
    }
    json_object_seed(1);
    read_clients(argv[1]);
    read_seen(argv[1]);
    read_history(argv[1]);
    judge();
    if (accepted_count == 0)
        complain("nothing was accepted: the loop proved nothing", "", "");
    return broken == 0 ? 0 : 1;
}
