/*
 * Aim: a project goes into one file while it is served, and out of it nothing that was answered is
 *   missing; what cannot be done leaves nothing behind.
 * Method: the real binary with the offline model; messages go on while the backup is made.
 *   scenario_backup BINARY
 */
#include "http_client.h"
#include "support/check.h"
#include "talk.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHAT_COUNT 4
#define ANSWERED_MIN 60

static char *binary;
static char place[128]; /* where archives and restored projects go */

static const char *at(const char *name)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next = (next + 1) % 4];
    snprintf(path, sizeof paths[0], "%s/%s", place, name);
    return path;
}

static int run(const char *const *words, char **ret_output)
{
    char *argv[12] = {binary};
    for (size_t i = 0; words[i] != NULL; i++)
        argv[i + 1] = (char *)(uintptr_t)words[i];
    char *output = NULL;
    int status = run_to_end(argv, "", &output, 60000);
    if (ret_output != NULL)
        *ret_output = output;
    else
        free(output);
    return status;
}
#define RUN_SMA(output, ...) run((const char *const[]){__VA_ARGS__, NULL}, output)

static void expect_refusal(const char *part, const char *const *words)
{
    char *output = NULL;
    int status = run(words, &output);
    if (status != 1 || strstr(output, part) == NULL)
        fprintf(stderr, "status %d: %s", status, output);
    CHECK_INT(1, status);
    CHECK(strstr(output, part) != NULL);
    free(output);
}
#define REFUSES(part, ...) expect_refusal(part, (const char *const[]){__VA_ARGS__, NULL})

static bool is_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* -- talking ----------------------------------------------------------------------------------- */
struct writer
{
    int port;
    atomic_int answered;
    atomic_bool is_over;
};

static json_t *say(int port, int number)
{
    char chat[16], id[32], text[64];
    snprintf(chat, sizeof chat, "c%d", number % CHAT_COUNT);
    snprintf(id, sizeof id, "m-%d", number);
    snprintf(text, sizeof text, "please repeat number %d", number);
    return talk_execute(port, 200, chat, id, text);
}

static void *write_messages(void *argument)
{
    struct writer *writer = argument;
    for (int i = 0; !atomic_load(&writer->is_over); i++) {
        json_decref(say(writer->port, i));
        atomic_store(&writer->answered, i + 1);
    }
    return NULL;
}

/* Lines of people in what `export` prints; each message once. */
static size_t count_exported(const char *folder, const char *chat, int answered)
{
    char *output = NULL;
    size_t count = 0;
    CHECK_INT(0, RUN_SMA(&output, "export", chat, folder, "--jsonl"));
    char *seen = calloc((size_t)answered, 1);
    CHECK(seen != NULL);
    for (char *line = strtok(output, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        json_t *entry = json_loads(line, 0, NULL);
        CHECK(json_is_object(entry));
        int number = -1;
        if (strcmp(talk_text(entry, "role"), "user") == 0)
            CHECK_INT(1, sscanf(talk_text(entry, "messageId"), "m-%d", &number));
        if (number >= 0 && number < answered) {
            CHECK_INT(0, seen[number]);
            seen[number] = 1;
            count++;
        }
        json_decref(entry);
    }
    free(seen);
    free(output);
    return count;
}

CASE(nothing_that_was_answered_is_missing)
{
    struct folder project, copy;
    struct service service;
    struct writer writer = {0};
    pthread_t thread;
    folder_create(&project, "{\"name\":\"saved\",\"llm\":{\"provider\":\"offline\"}}");
    folder_write(&project, "notes.txt", "mine");
    service_start(&service, binary, &project);
    writer.port = service.port;
    CHECK_INT(0, pthread_create(&thread, NULL, write_messages, &writer));
    while (atomic_load(&writer.answered) < ANSWERED_MIN)
        process_pause_ms(5);
    int answered = atomic_load(&writer.answered);
    CHECK_INT(0, RUN_SMA(NULL, "backup", at("live.tar.gz"), project.path));
    CHECK(atomic_load(&writer.answered) > answered); /* it has not waited for the backup */
    atomic_store(&writer.is_over, true);
    CHECK_INT(0, pthread_join(thread, NULL));
    CHECK_INT(0, service_stop(&service));

    struct stat status;
    CHECK_INT(0, stat(at("live.tar.gz"), &status));
    CHECK_INT(0600, status.st_mode & 0777);
    CHECK_INT(0, RUN_SMA(NULL, "restore", at("live.tar.gz"), at("live")));
    CHECK(!is_there(at("live/notes.txt"))); /* is not the program's, and was not asked for */
    snprintf(copy.path, sizeof copy.path, "%s", at("live"));
    service_start(&service, binary, &copy);
    for (int i = 0; i < answered; i++) { /* known messages: answered from what is stored */
        char text[64];
        json_t *answer = say(service.port, i);
        snprintf(text, sizeof text, "You said: please repeat number %d", i);
        CHECK_TEXT(text, talk_text(answer, "output"));
        json_decref(answer);
    }
    CHECK_INT(0, service_stop(&service));
    size_t count = 0;
    for (int chat = 0; chat < CHAT_COUNT; chat++) {
        char key[32];
        snprintf(key, sizeof key, "api:chat:c%d", chat);
        count += count_exported(copy.path, key, answered);
    }
    CHECK_INT(answered, (long long)count);
    folder_remove(&project);
}

CASE(all_of_the_folder_is_taken_when_asked_for)
{
    struct folder project;
    folder_create(&project, "{\"name\":\"all\",\"llm\":{\"provider\":\"offline\"}}");
    folder_write(&project, "-notes.txt", "mine");
    char inside[200];
    snprintf(inside, sizeof inside, "%s/all.tar.gz", project.path);
    CHECK_INT(0, RUN_SMA(NULL, "backup", inside, project.path, "--all"));
    CHECK_INT(0, RUN_SMA(NULL, "restore", inside, at("all")));
    CHECK(is_there(at("all/-notes.txt")));
    CHECK(!is_there(at("all/all.tar.gz"))); /* an archive is no part of itself */
    folder_remove(&project);
}

CASE(what_cannot_be_done_leaves_nothing)
{
    struct folder project;
    folder_create(&project, "{\"name\":\"kept\",\"llm\":{\"provider\":\"offline\"}}");
    CHECK_INT(0, RUN_SMA(NULL, "backup", at("one.tar.gz"), project.path));
    REFUSES("--force", "backup", at("one.tar.gz"), project.path);
    CHECK_INT(0, RUN_SMA(NULL, "backup", at("one.tar.gz"), project.path, "--force"));
    REFUSES("is it a project", "backup", at("two.tar.gz"), place);
    CHECK(!is_there(at("two.tar.gz")));
    REFUSES("No such file", "backup", at("nowhere/two.tar.gz"), project.path);

    REFUSES("there already", "restore", at("one.tar.gz"), project.path);
    REFUSES("tar has failed", "restore", at("../../dev/null"), at("none"));
    CHECK_INT(0, mkdir(at("odd"), 0700));
    CHECK_INT(0, symlink("/tmp", at("odd/.ship")));
    CHECK_INT(0, symlink("/etc/passwd", at("odd/Agent.md")));
    const char *argv[] = {"/bin/tar", "-czf", at("odd.tar.gz"), "-C", at("odd"), ".", NULL};
    char *output = NULL;
    CHECK_INT(0, run_to_end((char *const *)(uintptr_t)argv, "", &output, 10000));
    free(output);
    REFUSES("not a backup", "restore", at("odd.tar.gz"), at("none"));
    CHECK(!is_there(at("none")));
    folder_remove(&project);
}

/* Names that begin like the archive's, a state.db of the owner's, an archive deep in the folder. */
CASE(nothing_but_itself_is_left_out_of_all)
{
    struct folder project;
    struct service service;
    char inside[200];
    folder_create(&project, "{\"name\":\"odd\",\"llm\":{\"provider\":\"offline\"}}");
    service_start(&service, binary, &project);
    json_decref(say(service.port, 1));
    CHECK_INT(0, service_stop(&service));
    folder_write(&project, "notes.txt", "mine");
    folder_write(&project, "state.db", "no database of the program");
    snprintf(inside, sizeof inside, "%s/link", project.path);
    CHECK_INT(0, symlink("state.db", inside));
    CHECK_INT(0, RUN_SMA(NULL, "backup", at("notes"), project.path, "--all"));
    CHECK_INT(0, RUN_SMA(NULL, "restore", at("notes"), at("odd-1")));
    CHECK(is_there(at("odd-1/notes.txt")));
    CHECK(is_there(at("odd-1/state.db")));
    char target[32] = "";
    CHECK_INT(8, readlink(at("odd-1/link"), target, sizeof target));
    CHECK_TEXT("state.db", target);
    snprintf(inside, sizeof inside, "%s/.ship/in[1].tar.gz", project.path);
    CHECK_INT(0, RUN_SMA(NULL, "backup", inside, project.path));
    CHECK_INT(0, RUN_SMA(NULL, "backup", inside, project.path, "--force"));
    const char *argv[] = {"/bin/tar", "-tf", inside, NULL};
    char *output = NULL;
    CHECK_INT(0, run_to_end((char *const *)(uintptr_t)argv, "", &output, 10000));
    CHECK(strstr(output, "in[1]") == NULL);
    CHECK(strstr(output, ".ship/chats/") != NULL);
    free(output);
    folder_remove(&project);
}

/* As tar reads names, the colon would name another machine. */
CASE(a_colon_in_its_name_is_no_machine)
{
    struct folder project;
    char was[200];
    folder_create(&project, "{\"name\":\"colon\",\"llm\":{\"provider\":\"offline\"}}");
    CHECK(getcwd(was, sizeof was) != NULL);
    CHECK_INT(0, chdir(place));
    CHECK_INT(0, RUN_SMA(NULL, "backup", "bot-10:30.tar.gz", project.path));
    CHECK_INT(0, RUN_SMA(NULL, "restore", "bot-10:30.tar.gz", "colon"));
    CHECK_INT(0, chdir(was));
    CHECK(is_there(at("colon/ship.json")));
    folder_remove(&project);
}

/* Renamed to /dev/null or /dev/stdout it would take the place of them, for the whole machine. */
CASE(only_files_are_replaced)
{
    struct folder project;
    struct stat status;
    folder_create(&project, "{\"name\":\"kind\",\"llm\":{\"provider\":\"offline\"}}");
    CHECK_INT(0, mkfifo(at("pipe"), 0600));
    CHECK_INT(0, symlink("/proc/self/fd/1", at("stdout")));
    REFUSES("not a file", "backup", at("pipe"), project.path, "--force");
    REFUSES("not a file", "backup", at("stdout"), project.path, "--force");
    CHECK(lstat(at("pipe"), &status) == 0 && S_ISFIFO(status.st_mode));
    CHECK(lstat(at("stdout"), &status) == 0 && S_ISLNK(status.st_mode));
    folder_remove(&project);
}

static void pack(const char *folder, const char *name)
{
    const char *argv[] = {"/bin/tar", "-czf", at(name), "-C", folder, ".", NULL};
    char *output = NULL;
    CHECK_INT(0, run_to_end((char *const *)(uintptr_t)argv, "", &output, 10000));
    free(output);
}

/* What the service writes to must be in the folder, however deep. */
CASE(links_and_pipes_in_its_state_are_refused)
{
    static const char *const names[] = {".ship", ".ship/chats", ".ship/logs/2026-11-23.jsonl"};
    struct folder bad;
    CHECK_INT(0, mkdir(at("bad"), 0700));
    snprintf(bad.path, sizeof bad.path, "%s", at("bad"));
    folder_write(&bad, "Agent.md", "You help.");
    CHECK_INT(0, symlink("elsewhere/.env", at("bad/.env"))); /* the owner's own affair */
    pack(bad.path, "fine.tar.gz");
    CHECK_INT(0, RUN_SMA(NULL, "restore", at("fine.tar.gz"), at("fine")));
    for (size_t i = 0; i < SMA_COUNT_OF(names); i++) {
        char path[64];
        snprintf(path, sizeof path, "bad/%s", names[i]);
        CHECK_INT(0, symlink("/tmp", at(path)));
        pack(bad.path, "links.tar.gz");
        REFUSES(names[i], "restore", at("links.tar.gz"), at("links"));
        CHECK_INT(0, unlink(at(path)));
        if (i < 2)
            CHECK_INT(0, mkdir(at(i == 0 ? "bad/.ship" : "bad/.ship/logs"), 0700));
    }
    CHECK_INT(0, mkfifo(at("bad/.ship/api-token"), 0600));
    pack(bad.path, "pipe.tar.gz");
    REFUSES(".ship/api-token", "restore", at("pipe.tar.gz"), at("links"));
    CHECK(!is_there(at("links")));
}

/* On another disk, say: the archive would hold the link alone. */
CASE(what_would_be_missing_is_refused)
{
    struct folder project;
    char path[200];
    folder_create(&project, "{\"name\":\"linked\",\"llm\":{\"provider\":\"offline\"}}");
    snprintf(path, sizeof path, "%s/.ship", project.path);
    (void)mkdir(path, 0700); /* or it is there */
    snprintf(path, sizeof path, "%s/.ship/chats", project.path);
    CHECK_INT(0, symlink("/tmp", path));
    REFUSES(".ship/chats is a link", "backup", at("linked.tar.gz"), project.path);
    CHECK(!is_there(at("linked.tar.gz")));
    folder_remove(&project);
}

CASE(a_damaged_database_is_refused)
{
    struct folder project;
    struct service service;
    folder_create(&project, "{\"name\":\"hurt\",\"llm\":{\"provider\":\"offline\"}}");
    service_start(&service, binary, &project);
    for (int i = 0; i < 40; i++)
        json_decref(say(service.port, i));
    CHECK_INT(0, service_stop(&service));
    CHECK_INT(0, RUN_SMA(NULL, "compact", project.path)); /* nothing is in its WAL any more */
    char path[200], noise[8192];
    snprintf(path, sizeof path, "%s/.ship/state.db", project.path);
    memset(noise, 0x5a, sizeof noise);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    CHECK(fd >= 0 && pwrite(fd, noise, sizeof noise, 4096) == sizeof noise);
    CHECK_INT(0, close(fd));
    REFUSES("damaged", "backup", at("hurt.tar.gz"), project.path);
    CHECK(!is_there(at("hurt.tar.gz")));
    folder_remove(&project);
}

CASE(a_chat_can_be_read)
{
    struct folder project;
    struct service service;
    char *output = NULL;
    folder_create(&project, "{\"name\":\"read\",\"llm\":{\"provider\":\"offline\"}}");
    service_start(&service, binary, &project);
    json_decref(say(service.port, 1));
    json_decref(say(service.port, 2));
    CHECK_INT(0, RUN_SMA(&output, "export", project.path));
    CHECK_TEXT("api:chat:c1\napi:chat:c2\n", output);
    free(output);
    CHECK_INT(0, RUN_SMA(&output, "export", "api:chat:c1", project.path));
    const char *asked = strstr(output, "please repeat number 1"),
               *answered = strstr(output, "**agent**, ");
    CHECK(asked != NULL && answered != NULL && asked < answered);
    CHECK(strstr(output, "number 2") == NULL);
    free(output);
    json_decref(talk_execute(service.port, 200, "esc", "m-esc",
                             "a\033[2Jb\xc2\x9b"
                             "31mc\nd"));
    CHECK_INT(0, RUN_SMA(&output, "export", "api:chat:esc", project.path));
    CHECK(strstr(output, "a[2Jb31mc\nd") != NULL); /* no escape reaches a terminal */
    CHECK(strchr(output, '\033') == NULL && strstr(output, "\xc2\x9b") == NULL);
    free(output);
    CHECK_INT(0, service_stop(&service));
    REFUSES("nothing is kept", "export", "api:chat:other", project.path);
    folder_remove(&project);
}

/* A folder as a killed one leaves it, so many seconds ago. */
static void leave(const char *path, int seconds, mode_t mode)
{
    char file[300];
    CHECK_INT(0, mkdir(path, 0700));
    snprintf(file, sizeof file, "%s/archive", path);
    int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
    CHECK_INT(0, chmod(path, mode));
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    CHECK_INT(0, utimensat(AT_FDCWD, path, times, 0));
}

static void doctor_names(const char *path, const char *folder, bool is_named)
{
    char *output = NULL, command[300];
    (void)RUN_SMA(&output, "doctor", "--offline", folder);
    snprintf(command, sizeof command, "rm -r '%s'", path);
    if ((strstr(output, command) != NULL) != is_named)
        fprintf(stderr, "%s: %s", command, output);
    CHECK((strstr(output, command) != NULL) == is_named);
    free(output);
}

CASE(what_killed_ones_left_is_told_and_taken_away)
{
    char left[200], kept[200], busy[200], young[200], open_to_all[200], project[200];
    struct folder folder;
    folder_create(&folder, "{\"name\":\"left\",\"llm\":{\"provider\":\"offline\"}}");
    CHECK_INT(0, RUN_SMA(NULL, "backup", at("base.tar.gz"), folder.path));
    CHECK_INT(0, RUN_SMA(NULL, "restore", at("base.tar.gz"), at("project")));
    snprintf(project, sizeof project, "%s", at("project"));
    snprintf(left, sizeof left, "%s", at("l.tar.gz.unfinished-aaaaaa"));
    snprintf(kept, sizeof kept, "%s", at("other.tar.gz.unfinished-aaaaaa")); /* another's */
    snprintf(busy, sizeof busy, "%s", at("l.tar.gz.unfinished-bbbbbb"));
    snprintf(young, sizeof young, "%s", at("l.tar.gz.unfinished-cccccc"));
    snprintf(open_to_all, sizeof open_to_all, "%s", at("l.tar.gz.unfinished-dddddd"));
    leave(left, 3600, 0700);
    leave(kept, 3600, 0700);
    leave(busy, 3600, 0700);
    leave(young, 0, 0700);
    leave(open_to_all, 3600, 0755); /* not as ours are made */
    int fd = open(busy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CHECK(fd >= 0 && flock(fd, LOCK_SH) == 0);
    doctor_names(left, project, true);
    doctor_names(kept, project, true);
    doctor_names(busy, project, false);
    doctor_names(young, project, false);
    doctor_names(open_to_all, project, false);
    CHECK(is_there(left)); /* doctor changes nothing */
    CHECK_INT(0, RUN_SMA(NULL, "backup", at("l.tar.gz"), project));
    CHECK(!is_there(left) && is_there(kept) && is_there(busy) && is_there(young));
    CHECK(is_there(open_to_all));
    close(fd);
    leave(at("again.unfinished-aaaaaa"), 3600, 0700);
    CHECK_INT(0, RUN_SMA(NULL, "restore", at("l.tar.gz"), at("again")));
    CHECK(!is_there(at("again.unfinished-aaaaaa")) && is_there(at("again")));
    doctor_names(project, project, false);
    folder_remove(&folder);
}

/* Killed in the middle, for real: what it leaves is what the next one takes away. */
CASE(a_killed_restore_leaves_what_the_next_one_takes)
{
    struct folder folder;
    char fifo[200], path[200];
    folder_create(&folder, "{\"name\":\"killed\",\"llm\":{\"provider\":\"offline\"}}");
    snprintf(fifo, sizeof fifo, "%s", at("slow.tar.gz"));
    CHECK_INT(0, mkfifo(fifo, 0600)); /* tar waits for a writer that does not come */
    char word[] = "restore", folder_path[200];
    snprintf(folder_path, sizeof folder_path, "%s", at("slow"));
    char *argv[] = {binary, word, fifo, folder_path, NULL};
    pid_t pid = fork();
    CHECK(pid >= 0);
    if (pid == 0) {
        (void)setpgid(0, 0);
        (void)execv(binary, argv);
        _exit(127);
    }
    bool has_stage = false;
    for (int i = 0; i < 2000 && !has_stage; i++) {
        DIR *dir = opendir(place);
        const struct dirent *entry;
        while ((entry = readdir(dir)) != NULL)
            if (strncmp(entry->d_name, "slow.unfinished-", 16) == 0) {
                snprintf(path, sizeof path, "%s/%.60s", place, entry->d_name);
                has_stage = true;
            }
        closedir(dir);
        process_pause_ms(5);
    }
    CHECK(has_stage);
    struct timespec times[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
    CHECK_INT(0, utimensat(AT_FDCWD, path, times, 0));
    REFUSES("tar has failed", "restore", at("../../dev/null"), at("slow"));
    CHECK(is_there(path)); /* somebody works on it */
    CHECK(kill(-pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
    CHECK(is_there(path));
    for (int i = 0; i < 400 && is_there(path); i++) { /* until its tar is gone, too */
        REFUSES("tar has failed", "restore", at("../../dev/null"), at("slow"));
        process_pause_ms(20);
    }
    CHECK(!is_there(path));
    folder_remove(&folder);
}

int main(int argc, char **argv)
{
    CHECK_INT(2, argc);
    binary = argv[1];
    snprintf(place, sizeof place, "/tmp/sma-backup-XXXXXX");
    CHECK(mkdtemp(place) != NULL);
    check_run_cases(NULL);
    struct folder folder;
    snprintf(folder.path, sizeof folder.path, "%s", place);
    folder_remove(&folder);
    return check_summary();
}
