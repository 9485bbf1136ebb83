/*
 * Aim: attachments are on the disk, whole and private, before a run starts; what cannot be had is
 * named.
 * Method: files said in the simulated platform's chats; the store asks to prepare what the event
 * asked for.
 */
#include "actor_world.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ADA "501"

static struct world_prepared prepared_of(uint64_t seq)
{
    struct world_prepared prepared;
    WORLD_WAIT(world_has_prepared(seq, &prepared));
    return prepared;
}

static struct world_event say_file(const char *name, const char *text)
{
    size_t before = world_event_count();
    telegram_tell(&world_platform, "{s:s,s:i,s:i,s:{s:s,s:s,s:s}}", "do", "say", "chat", WORLD_ADA,
                  "user", WORLD_ADA, "file", "kind", "document", "name", name, "text", text);
    WORLD_WAIT(world_event_count() == before + 1);
    return world_event_at(before);
}

static void fault(const char *method, const char *kind, int status)
{
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:i}", "do", "fault", "method", method, "kind",
                  kind, "status", status, "seconds", 1);
}

/* The only file in the cache: its content, "" = there is none; no half fetched ones beside it. */
static void cached(char text[256])
{
    char folder[512], path[1024];
    snprintf(folder, sizeof folder, "%s/.ship/.cache/telegram", world_dir);
    text[0] = '\0';
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.' && entry->d_name[strspn(entry->d_name, ".")] == '\0')
            continue;
        if (strncmp(entry->d_name, "commands-", 9) == 0)
            continue; /* what clients were told, no attachment */
        CHECK_TEXT("", text);
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        struct stat status;
        CHECK(stat(path, &status) == 0 && (status.st_mode & 0777) == 0600);
        FILE *file = fopen(path, "r");
        CHECK(file != NULL);
        text[fread(text, 1, 255, file)] = '\0';
        fclose(file);
    }
    if (dir != NULL)
        closedir(dir);
}

static void a_file_is_fetched_once(void)
{
    char text[256];
    struct stat status;
    world_open("");
    struct world_event event = say_file("notes.txt", "the content");
    CHECK(strstr(event.text, "@attach document .ship/.cache/telegram/") == event.text);
    struct world_prepared prepared = prepared_of(world_prepare(event.preparation, ADA, ADA, false));
    CHECK_TEXT("", prepared.context);
    CHECK_INT(SMA_ROLE_UNKNOWN, prepared.role);
    cached(text);
    CHECK_TEXT("the content", text);
    char folder[512];
    snprintf(folder, sizeof folder, "%s/.ship/.cache", world_dir);
    CHECK(stat(folder, &status) == 0 && (status.st_mode & 0777) == 0700);
    (void)prepared_of(world_prepare(event.preparation, ADA, ADA, false)); /* as after a restart */
    CHECK_INT(1, world_calls("getfile"));
    world_close();
}

/* What the person sent is a part of the message, by what it is there; also when it is asked again,
 * and not when it could not be had. */
static void what_was_fetched_is_a_part(void)
{
    static const struct
    {
        const char *kind, *name, *wanted;
    } cases[] = {{"photo", "", "image:"},
                 {"sticker", "", "image:"},
                 {"document", "notes.txt", "file:"},
                 {"voice", "", "audio:"},
                 {"audio", "song.mp3", "audio:"},
                 {"video", "", ""}};
    world_open("");
    for (size_t i = 0; i < SMA_COUNT_OF(cases); i++) {
        size_t before = world_event_count();
        telegram_tell(&world_platform, "{s:s,s:i,s:i,s:{s:s,s:s,s:s}}", "do", "say", "chat",
                      WORLD_ADA, "user", WORLD_ADA, "file", "kind", cases[i].kind, "name",
                      cases[i].name, "text", "bytes");
        WORLD_WAIT(world_event_count() == before + 1);
        struct world_event event = world_event_at(before);
        struct world_prepared prepared =
            prepared_of(world_prepare(event.preparation, ADA, ADA, false));
        size_t len = strlen(cases[i].wanted);
        CHECK(len == 0 ? prepared.parts[0] == '\0'
                       : strncmp(cases[i].wanted, prepared.parts, len) == 0 &&
                             strncmp(".ship/.cache/telegram/", prepared.parts + len, 22) == 0);
        CHECK(strchr(prepared.parts, ';') == NULL);
        struct world_prepared again =
            prepared_of(world_prepare(event.preparation, ADA, ADA, false));
        CHECK_TEXT(prepared.parts, again.parts);
    }
    struct world_event event = say_file("lost.txt", "the content");
    fault("getFile", "status", 400);
    CHECK_TEXT("", prepared_of(world_prepare(event.preparation, ADA, ADA, false)).parts);
    world_close();
}

static void trouble_that_passes_is_outlived(void)
{
    char text[256];
    world_open("");
    struct world_event event = say_file("notes.txt", "the content");
    fault("file", "cut", 0);
    fault("getFile", "status", 429);
    CHECK_TEXT("", prepared_of(world_prepare(event.preparation, ADA, ADA, false)).context);
    cached(text);
    CHECK_TEXT("the content", text);
    world_close();
}

static void what_cannot_be_had_is_named(void)
{
    char text[256];
    world_open("");
    struct world_event event = say_file("notes.txt", "the content");
    fault("getFile", "status", 400);
    struct world_prepared prepared = prepared_of(world_prepare(event.preparation, ADA, ADA, false));
    CHECK(strstr(prepared.context, "notes.txt") != NULL);
    cached(text);
    CHECK_TEXT("", text);
    WORLD_WAIT(world_log_count("an attachment could not be fetched") == 1);
    world_close();
}

static void a_file_larger_than_allowed_is_cut_off(void)
{
    char text[256];
    world_open(",\"attachmentBytesMax\":40");
    struct world_event event =
        say_file("big.txt", "this text is longer than forty bytes and not wanted here");
    CHECK_TEXT("", event.preparation); /* known to be too large: not even asked for */
    event = say_file("small.txt", "short");
    world_close();
    /* a server that says nothing of the size: the cap holds while the bytes come */
    world_open(",\"attachmentBytesMax\":40");
    event = say_file("small.txt", "short");
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i}", "do", "fault", "method", "file", "kind",
                  "html", "status", 200); /* a page instead of the file, longer than allowed */
    struct world_prepared prepared = prepared_of(world_prepare(event.preparation, ADA, ADA, false));
    CHECK(strstr(prepared.context, "small.txt") != NULL);
    CHECK(strstr(prepared.context, "attachmentBytesMax") != NULL);
    cached(text);
    CHECK_TEXT("", text);
    world_close();
}

static void many_files_stand_in_line(void)
{
    struct world_event events[12];
    uint64_t seqs[12];
    world_open("");
    for (size_t i = 0; i < SMA_COUNT_OF(events); i++) {
        char name[16];
        snprintf(name, sizeof name, "f%zu.txt", i);
        events[i] = say_file(name, name);
    }
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:i}", "do", "fault", "method", "file", "kind",
                  "delay", "ms", 50, "times", 12);
    for (size_t i = 0; i < SMA_COUNT_OF(events); i++)
        seqs[i] = world_prepare(events[i].preparation, ADA, ADA, false);
    for (size_t i = 0; i < SMA_COUNT_OF(events); i++)
        CHECK_TEXT("", prepared_of(seqs[i]).context);
    world_close();
}

static void a_preparation_that_is_none_is_no_obstacle(void)
{
    world_open("");
    CHECK_TEXT("", prepared_of(world_prepare("not JSON", ADA, ADA, false)).context);
    WORLD_WAIT(world_log_count("cannot be read") == 1); /* the log comes by its own way */
    world_close();
}

static void roles_are_looked_up(void)
{
    world_open("");
    CHECK_INT(SMA_ROLE_ADMIN, prepared_of(world_prepare("", "-1001", "501", true)).role);
    CHECK_INT(SMA_ROLE_MEMBER, prepared_of(world_prepare("", "-1001", "502", true)).role);
    CHECK_INT(SMA_ROLE_ADMIN, prepared_of(world_prepare("", "-1001", "-1001", true)).role);
    int64_t before = world_calls("getchatmember");
    CHECK_INT(2, before);
    fault("getChatMember", "status", 400);
    CHECK_INT(SMA_ROLE_UNKNOWN, prepared_of(world_prepare("", "-1001", "501", true)).role);
    CHECK_INT(SMA_ROLE_UNKNOWN, prepared_of(world_prepare("", "-1001", "501", false)).role);
    world_close();
}

static void a_role_is_asked_for_again(void)
{
    struct world_prepared prepared;
    world_open("");
    WORLD_WAIT(world_is_polled());
    fault("getChatMember", "status", 502);
    uint64_t seq = world_prepare("", "-1001", "501", true);
    WORLD_WAIT(world_has_prepared(seq, &prepared));
    CHECK_INT(SMA_ROLE_ADMIN, prepared.role);
    CHECK_INT(2, world_calls("getchatmember"));
    world_close();
}

/* One question each; what the platform refuses is said, and names are text in JSON. */
static void a_person_is_looked_up(void)
{
    world_open("");
    WORLD_WAIT(world_is_polled());
    /* a line feed, a mark that turns the line round, a control character of two bytes */
    telegram_tell(&world_platform, "{s:s,s:i,s:s,s:s,s:s,s:b}", "do", "user", "id", 503,
                  "first_name", "A\"d\na\xE2\x80\xAE\xC2\x85 \xE5\xAE\x89\n", "username", "ada",
                  "language", "zh", "is_bot", 1);
    struct world_prepared person = prepared_of(world_ask_profile("-1001", "503"));
    CHECK_TEXT("{\"name\":\"A\\\"d a  \xE5\xAE\x89\",\"username\":\"ada\",\"language\":\"zh\","
               "\"isBot\":true,\"role\":\"member\"}",
               person.profile);
    CHECK_TEXT("", person.context);
    person = prepared_of(world_ask_profile("-1001", "777777"));
    CHECK_TEXT("", person.profile);
    CHECK(strstr(person.context, "The platform does not say it: ") != NULL);
    CHECK_INT(2, world_calls("getchatmember"));
    person = prepared_of(world_ask_profile("-1001", "not a number"));
    CHECK_TEXT("The platform cannot be asked about this id.", person.context);
    CHECK_INT(2, world_calls("getchatmember"));
    fault("getChatMember", "status", 500);
    person = prepared_of(world_ask_profile("-1001", "501"));
    CHECK(strstr(person.context, "HTTP 500") != NULL);
    CHECK(strstr(person.context, "arrived") == NULL); /* nothing was sent */
    CHECK_INT(3, world_calls("getchatmember"));
    fault("getChatMember", "status", 429);
    person = prepared_of(world_ask_profile("-1001", "501"));
    CHECK_TEXT("", person.profile);
    CHECK(strstr(person.context, "try again in ") != NULL);
    CHECK_INT(4, world_calls("getchatmember"));
    world_close();
}

static void a_stop_in_mid_download_leaves_nothing(void)
{
    char text[256];
    world_open("");
    struct world_event event = say_file("notes.txt", "the content");
    telegram_tell(&world_platform, "{s:s,s:s,s:s,s:i,s:i}", "do", "fault", "method", "file", "kind",
                  "slow", "bytes", 1, "ms", 100);
    (void)world_prepare(event.preparation, ADA, ADA, false);
    WORLD_WAIT(world_calls("getfile") == 1);
    world_rest(50);
    world_stop();
    cached(text);
    CHECK_TEXT("", text);
    world_remove_project();
}

static void what_an_unclean_end_left_is_removed(void)
{
    char path[512];
    static const char *const folders[] = {".ship", ".ship/.cache", ".ship/.cache/telegram"};
    world_make_project();
    for (size_t i = 0; i < SMA_COUNT_OF(folders); i++) {
        snprintf(path, sizeof path, "%s/%s", world_dir, folders[i]);
        CHECK(mkdir(path, 0700) == 0);
    }
    snprintf(path, sizeof path, "%s/.ship/.cache/telegram/.fetch-00ff", world_dir);
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
    world_open("");
    CHECK(access(path, F_OK) != 0);
    world_close();
}

int main(void)
{
    RUN(a_file_is_fetched_once);
    RUN(what_was_fetched_is_a_part);
    RUN(trouble_that_passes_is_outlived);
    RUN(what_cannot_be_had_is_named);
    RUN(a_file_larger_than_allowed_is_cut_off);
    RUN(many_files_stand_in_line);
    RUN(a_preparation_that_is_none_is_no_obstacle);
    RUN(roles_are_looked_up);
    RUN(a_role_is_asked_for_again);
    RUN(a_person_is_looked_up);
    RUN(a_stop_in_mid_download_leaves_nothing);
    RUN(what_an_unclean_end_left_is_removed);
    return check_summary();
}
