/* log_read.c — see log_read.h. */
#include "log_read.h"

#include "cli.h"
#include "sma/actor.h"
#include "sma/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY_BYTES 10 /* "2026-11-23" */
#define DAY_COUNT_MAX 4096
#define FOLLOW_MS 200 /* how often a file that is followed is looked at */

struct days
{
    char (*names)[DAY_BYTES + 1];
    size_t count;
};
struct reading
{
    const char *dir; /* .ship/logs */
    const struct sma_cli_log_wanted *wanted;
    sma_cli_log_fn *each;
    void *user;
    char since[DAY_BYTES + 1]; /* UTC date before which nothing is wanted */
    bool is_over;              /* `each` wants no more */
    /* the newest file, and how far it was read */
    char day[DAY_BYTES + 1];
    off_t at;
};

/* -- words and times --------------------------------------------------------------------------- */
const char *sma_cli_log_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

int sma_cli_log_level(const char *word)
{
    static const char *const words[] = {
        [SMA_LOG_DEBUG] = "debug", [SMA_LOG_INFO] = "info",   [SMA_LOG_ACTION] = "action",
        [SMA_LOG_WARN] = "warn",   [SMA_LOG_ERROR] = "error",
    };
    for (size_t i = 0; i < SMA_COUNT_OF(words); i++)
        if (strcmp(words[i], word) == 0)
            return (int)i;
    return -1;
}

int64_t sma_cli_log_parse_time(const char *text)
{
    struct tm parts = {0};
    int ms = 0;
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
               &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &ms) != 7)
        return 0;
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    return (int64_t)timegm(&parts) * 1000 + ms;
}

void sma_cli_log_local_time(const char *text, char buf[32])
{
    int64_t ms = sma_cli_log_parse_time(text);
    time_t seconds = (time_t)(ms / 1000);
    struct tm local;
    if (ms == 0 || localtime_r(&seconds, &local) == NULL ||
        strftime(buf, 32, "%Y-%m-%d %H:%M:%S", &local) == 0)
        snprintf(buf, 32, "%s", text[0] == '\0' ? "" : "?");
}

static bool parse_ago(const char *text, int64_t now_ms, int64_t *ret_ms)
{
    static const struct
    {
        char unit;
        int64_t ms;
    } units[] = {{'s', 1000}, {'m', 60 * 1000}, {'h', 3600 * 1000}, {'d', 86400 * 1000}};
    size_t len = strlen(text);
    int64_t number;
    if (len < 2 ||
        sma_parse_i64((struct sma_str){text, len - 1}, 0, 1000000, &number) != SMA_ERR_OK)
        return false;
    for (size_t i = 0; i < SMA_COUNT_OF(units); i++)
        if (units[i].unit == text[len - 1]) {
            *ret_ms = now_ms - number * units[i].ms;
            return true;
        }
    return false;
}

bool sma_cli_log_parse_since(const char *text, int64_t now_ms, int64_t *ret_ms)
{
    struct tm parts = {.tm_isdst = -1};
    const char *end = NULL;
    if (parse_ago(text, now_ms, ret_ms))
        return true;
    static const char *const forms[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
    for (size_t i = 0; i < SMA_COUNT_OF(forms); i++) {
        parts = (struct tm){.tm_isdst = -1};
        end = strptime(text, forms[i], &parts);
        if (end != NULL && (*end == '\0' || strcmp(end, "Z") == 0))
            break;
        end = NULL;
    }
    if (end == NULL)
        return false;
    time_t seconds = *end == 'Z' ? timegm(&parts) : mktime(&parts);
    *ret_ms = (int64_t)seconds * 1000;
    return true;
}

/* -- which lines ------------------------------------------------------------------------------- */
static bool is_chat(const char *pattern, const char *chat)
{
    size_t len = strlen(pattern);
    return len > 0 && pattern[len - 1] == '*' ? strncmp(pattern, chat, len - 1) == 0
                                              : strcmp(pattern, chat) == 0;
}

static bool is_wanted(const struct sma_cli_log_wanted *wanted, const json_t *root)
{
    const json_t *details = json_object_get(root, "details");
    if (sma_cli_log_level(sma_cli_log_text(root, "level")) < wanted->level)
        return false;
    if (wanted->since_ms != 0 &&
        sma_cli_log_parse_time(sma_cli_log_text(root, "timestamp")) < wanted->since_ms)
        return false;
    if (wanted->chat != NULL && !is_chat(wanted->chat, sma_cli_log_text(details, "chatKey")))
        return false;
    if (wanted->run != NULL && strcmp(wanted->run, sma_cli_log_text(details, "runId")) != 0)
        return false;
    return wanted->message == NULL ||
           strcmp(wanted->message, sma_cli_log_text(details, "messageId")) == 0;
}

/* NULL: nothing is wanted. What JSON may write in another way is not looked for here. */
static bool may_hold(const char *line, const char *wanted)
{
    size_t len = wanted == NULL ? 0 : strlen(wanted);
    if (len > 0 && wanted[len - 1] == '*')
        len--; /* of a chat; else one byte less is looked for */
    for (size_t i = 0; i < len; i++)
        if (wanted[i] == '"' || wanted[i] == '\\' || wanted[i] == '/' ||
            (unsigned char)wanted[i] < 0x20 || (unsigned char)wanted[i] >= 0x7f)
            return true;
    return len == 0 || memmem(line, strlen(line), wanted, len) != NULL;
}

/* Most lines are not: JSON is read of those alone that may be. A month of files is 2 GB. */
static bool may_be_wanted(const struct sma_cli_log_wanted *wanted, const char *line)
{
    return may_hold(line, wanted->run) && may_hold(line, wanted->message) &&
           may_hold(line, wanted->chat);
}

/* A new reference, or NULL. */
static json_t *read_line(const struct sma_cli_log_wanted *wanted, const char *line, size_t len)
{
    if (len > SMA_CLI_LOG_LINE_BYTES_MAX || !may_be_wanted(wanted, line))
        return NULL;
    json_t *root = json_loadb(line, len, JSON_ALLOW_NUL, NULL);
    if (json_is_object(root) && is_wanted(wanted, root))
        return root;
    json_decref(root);
    return NULL;
}

/* -- files ------------------------------------------------------------------------------------- */
static int compare_days(const void *left, const void *right)
{
    return strcmp(left, right);
}

/* Dates, oldest first. */
static int list_days(const char *dir, struct days *ret_days)
{
    DIR *files = opendir(dir);
    *ret_days = (struct days){0};
    if (files == NULL)
        return errno == ENOENT
                   ? sma_cli_fail("logs: there is no %s: the service has never run here", dir)
                   : sma_cli_fail("logs: %s cannot be read: %s", dir, strerror(errno));
    ret_days->names = calloc(DAY_COUNT_MAX, sizeof *ret_days->names);
    for (struct dirent *entry; ret_days->names != NULL && (entry = readdir(files)) != NULL;) {
        size_t len = strlen(entry->d_name);
        if (len == DAY_BYTES + 6 && strcmp(entry->d_name + DAY_BYTES, ".jsonl") == 0 &&
            ret_days->count < DAY_COUNT_MAX)
            memcpy(ret_days->names[ret_days->count++], entry->d_name, DAY_BYTES);
    }
    closedir(files);
    if (ret_days->names == NULL)
        return sma_cli_fail("logs: out of memory");
    qsort(ret_days->names, ret_days->count, sizeof *ret_days->names, compare_days);
    return 0;
}

static FILE *open_day(const struct reading *reading, const char *day)
{
    char path[4400];
    struct stat facts;
    snprintf(path, sizeof path, "%s/%s.jsonl", reading->dir, day);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* of a pipe it would wait for ever */
    if (fd < 0)
        return NULL; /* gone meanwhile: it was the oldest */
    FILE *file = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) ? fdopen(fd, "r") : NULL;
    if (file == NULL)
        (void)close(fd); /* was only read */
    return file;
}

/* Hand on the wanted whole lines from *at on; *at: behind the last whole line. */
static void read_day(struct reading *reading, const char *day, off_t *at)
{
    FILE *file = open_day(reading, day);
    char *line = NULL;
    size_t cap = 0;
    ssize_t len;
    if (file == NULL)
        return;
    struct stat facts;
    if (fstat(fileno(file), &facts) == 0 && facts.st_size < *at)
        *at = 0; /* it was cut, or is a new one */
    if (*at > 0 && fseeko(file, *at, SEEK_SET) != 0)
        *at = 0;
    while (!reading->is_over && (len = getline(&line, &cap, file)) > 0 && line[len - 1] == '\n') {
        *at += len;
        json_t *root = read_line(reading->wanted, line, (size_t)len);
        if (root != NULL)
            reading->is_over = !reading->each(reading->user, root);
        json_decref(root);
    }
    free(line);
    fclose(file);
}

/* -- the last ones ----------------------------------------------------------------------------- */
/* A ring of lines: the newest `cap`. */
struct ring
{
    json_t **lines;
    size_t cap, first, count;
};

static bool push(void *user, json_t *root)
{
    struct ring *ring = user;
    size_t place = (ring->first + ring->count) % ring->cap;
    if (ring->count == ring->cap) {
        json_decref(ring->lines[ring->first]);
        ring->first = (ring->first + 1) % ring->cap;
    } else {
        ring->count++;
    }
    ring->lines[place] = json_incref(root);
    return true;
}

/* Days from the newest back, until there are enough. */
static int give_last(struct reading *reading, const struct days *days, size_t count_max)
{
    sma_cli_log_fn *each = reading->each;
    void *user = reading->user;
    struct ring *rings = calloc(days->count + 1, sizeof *rings);
    size_t have = 0, first = days->count;
    bool has_room = rings != NULL;
    while (has_room && first > 0 && have < count_max &&
           strcmp(days->names[first - 1], reading->since) >= 0) {
        struct ring *ring = &rings[--first];
        off_t at = 0;
        *ring = (struct ring){.cap = count_max - have};
        ring->lines = calloc(ring->cap, sizeof *ring->lines);
        has_room = ring->lines != NULL;
        reading->each = push;
        reading->user = ring;
        if (has_room)
            read_day(reading, days->names[first], &at);
        have += ring->count;
        if (first == days->count - 1)
            reading->at = at;
    }
    reading->each = each;
    reading->user = user;
    for (size_t i = first; rings != NULL && i < days->count; i++) {
        for (size_t k = 0; k < rings[i].count; k++) {
            json_t *root = rings[i].lines[(rings[i].first + k) % rings[i].cap];
            reading->is_over = reading->is_over || !each(user, root);
            json_decref(root);
        }
        free(rings[i].lines);
    }
    free(rings);
    return has_room ? 0 : sma_cli_fail("logs: out of memory");
}

static void give_all(struct reading *reading, const struct days *days)
{
    for (size_t i = 0; i < days->count && !reading->is_over; i++) {
        if (strcmp(days->names[i], reading->since) < 0)
            continue;
        off_t at = 0;
        read_day(reading, days->names[i], &at);
        if (i + 1 == days->count)
            reading->at = at;
    }
}

static int give(struct reading *reading, size_t count_max)
{
    struct days days;
    time_t since = (time_t)(reading->wanted->since_ms / 1000);
    struct tm utc;
    int status = list_days(reading->dir, &days);
    if (status != 0)
        return status;
    if (since > 0 && gmtime_r(&since, &utc) != NULL)
        (void)strftime(reading->since, sizeof reading->since, "%Y-%m-%d", &utc);
    if (days.count > 0)
        memcpy(reading->day, days.names[days.count - 1], sizeof reading->day);
    if (count_max == SIZE_MAX)
        give_all(reading, &days);
    else if (count_max > 0)
        status = give_last(reading, &days, count_max);
    free(days.names);
    return status;
}

int sma_cli_log_each(const char *state_dir, const struct sma_cli_log_wanted *wanted,
                     size_t count_max, sma_cli_log_fn *each, void *user)
{
    char dir[4200];
    snprintf(dir, sizeof dir, "%s/logs", state_dir);
    struct reading reading = {.dir = dir, .wanted = wanted, .each = each, .user = user};
    return give(&reading, count_max);
}

/* -- what comes -------------------------------------------------------------------------------- */
/* The old day is read to its end before the new one is begun: whoever writes closes it first. */
static int go_on(struct reading *reading)
{
    struct days days;
    int status = list_days(reading->dir, &days);
    if (status != 0)
        return status;
    if (reading->day[0] != '\0')
        read_day(reading, reading->day, &reading->at);
    for (size_t i = 0; i < days.count && !reading->is_over; i++) {
        if (strcmp(days.names[i], reading->day) <= 0)
            continue;
        memcpy(reading->day, days.names[i], sizeof reading->day);
        reading->at = 0;
        read_day(reading, reading->day, &reading->at);
    }
    free(days.names);
    return 0;
}

int sma_cli_log_follow(const char *state_dir, const struct sma_cli_log_wanted *wanted,
                       size_t count_max, sma_cli_log_fn *each, void *user)
{
    char dir[4200];
    snprintf(dir, sizeof dir, "%s/logs", state_dir);
    struct reading reading = {.dir = dir, .wanted = wanted, .each = each, .user = user};
    int status = give(&reading, count_max);
    if (count_max == 0 && status == 0) { /* from its end on */
        struct stat facts;
        FILE *file = reading.day[0] == '\0' ? NULL : open_day(&reading, reading.day);
        if (file != NULL && fstat(fileno(file), &facts) == 0)
            reading.at = facts.st_size;
        if (file != NULL)
            fclose(file);
    }
    const struct timespec pause = {.tv_nsec = FOLLOW_MS * 1000000L};
    while (status == 0 && !reading.is_over) {
        fflush(stdout);
        nanosleep(&pause, NULL);
        status = go_on(&reading);
    }
    return status;
}
